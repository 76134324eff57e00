"""The report of a plan and its results, as a page to send around and as JSON for programs.

The page needs nothing beside itself, follows the reader's light or dark setting, and holds no markup but its own:
everything out of a database is escaped.
"""

from __future__ import annotations

import datetime as dt
import html as markup
import json
from collections import Counter
from collections.abc import Sequence

from model import text
from model.names import id_name
from model.repair.damage_classes import CLASSES
from model.repair.items import Item
from model.repair.plan import Plan

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1d22; --soft: #62656f; --paper: #ffffff; --card: #f5f5f7; --line: #dfe0e5;
  --good: #14713d; --warn: #8f5a00; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6ea; --soft: #9b9ea9; --paper: #17181c; --card: #202127;
  --line: #34363e; --good: #5fcf8e; --warn: #e3ad4f; --bad: #ff8a80; } }
body { margin: 0 auto; max-width: 72rem; padding: 2.5rem 1.5rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .3rem; }
p { margin: .25rem 0; max-width: 60rem; } .soft { color: var(--soft); }
ul.sums { list-style: none; display: flex; flex-wrap: wrap; gap: .6rem; padding: 0; margin: 1.2rem 0; }
ul.sums li { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .5rem .9rem; }
ul.sums b { font-size: 1.25rem; margin-right: .35rem; }
table { border-collapse: collapse; width: 100%; margin-top: .6rem; } td, th { text-align: left; vertical-align: top;
  padding: .4rem .7rem .4rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 500; white-space: nowrap; } td.no { color: var(--soft); width: 3rem; }
td.how { width: 9rem; white-space: nowrap; } code { font: 13px/1.5 ui-monospace, Consolas, monospace; }
.applied, .would { color: var(--good); } .skipped, .young, .asks, .nothing { color: var(--soft); }
.conflict, .changed, .advice { color: var(--warn); } .refused, .unknown { color: var(--bad); }
"""
_WORDS = {
    "applied": "Done",
    "skipped": "Skipped",
    "conflict": "Changed meanwhile",
    "refused": "Refused",
    "unknown": "Not known",
    "would": "Would be done",
    "young": "Too young",
    "changed": "Changed since",
    "asks": "Waits for an answer",
    "nothing": "Nothing to do",
    "advice": "For a person",
}

Result = tuple[int, str, str]
"""An item's number, its outcome or verdict, and the detail."""


def html(plan: Plan, results: Sequence[Result], applied: bool, run: str, now: dt.datetime) -> str:
    """The page."""
    said = {no: (how, detail) for no, how, detail in results}
    title = "Repairs done" if applied else "Repair plan"
    counts = Counter(_how(item, said)[0] for item in plan.items)
    there = [how for how in _WORDS if counts[how]]
    sums = "".join(f'<li><b class="{how}">{counts[how]:,}</b>{_WORDS[how]}</li>' for how in there)
    parts = [_section(code, plan, said) for code in plan.counts]
    if plan.unchecked:
        rows = "".join(
            f"<tr><td><code>{_e(each.ns)}</code></td><td>{_e(id_name(each.id)) if each.id else ''}</td>"
            f"<td>{_e(each.why)}</td></tr>"
            for each in plan.unchecked
        )
        parts.append(f"<h2>Not checked</h2><table><tr><th>Collection<th>Document<th>Why</tr>{rows}</table>")
    undo = f'<p class="soft">Undo all of it: <code>palimpsest undo {_e(run)}</code></p>' if run and applied else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f'<p class="soft">{_e(plan.source)} · scanned {_moment(plan.made)} · this report {_moment(now)}</p>'
        f'<ul class="sums">{sums}</ul>{undo}{"".join(parts)}</body></html>\n'
    )


def _section(code: str, plan: Plan, said: dict[int, tuple[str, str]]) -> str:
    of = CLASSES[code]
    rows = []
    for item in plan.items:
        if item.finding.code == code:
            how, detail = _how(item, said)
            who = _e(id_name(item.finding.id)) if item.finding.id is not None else ""
            what = _e(item.finding.detail)
            rows.append(
                f'<tr><td class="no">{item.no}</td><td><code>{_e(item.finding.ns)}</code><br>{who}</td><td>{what}</td>'
                f'<td class="how {how}">{_WORDS.get(how, how)}</td><td>{_e(detail)}</td></tr>'
            )
    return (
        f'<h2>{code} · {_e(of.title)}</h2><p class="soft">{_e(of.meaning)} {_e(of.today)}</p>'
        f"<table><tr><th>Item<th>Document<th>Found<th>Outcome<th></tr>{''.join(rows)}</table>"
    )


def _how(item: Item, said: dict[int, tuple[str, str]]) -> tuple[str, str]:
    return said.get(item.no) or (("advice", item.advice) if item.repair is None else ("skipped", "It was not reached."))


def _e(said: str) -> str:
    """Text as HTML that holds no markup, and no half characters, which no file can hold."""
    return markup.escape(said).encode("utf-8", "backslashreplace").decode()


def _moment(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")


def json_text(plan: Plan, results: Sequence[Result], applied: bool, run: str, now: dt.datetime) -> str:
    """The report for programs: one JSON object, values as canonical Extended JSON."""
    said = {no: (how, detail) for no, how, detail in results}
    items = []
    for item in plan.items:
        how, detail = _how(item, said)
        finding = item.finding
        items.append(
            {
                "item": item.no,
                "class": finding.code,
                "ns": finding.ns,
                "id": None if finding.id is None else text.json_object(finding.id),
                "versions": [text.json_object(v) for v in finding.versions],
                "found": finding.detail,
                "repair": item.repair,
                "outcome": how,
                "detail": detail,
            }
        )
    unchecked = [
        {"ns": each.ns, "id": None if each.id is None else text.json_object(each.id), "why": each.why}
        for each in plan.unchecked
    ]
    data = {
        "source": plan.source,
        "plan": plan.id,
        "scanned": plan.made.isoformat(timespec="milliseconds"),
        "reported": now.isoformat(timespec="milliseconds"),
        "applied": applied,
        "run": run or None,
        "summary": dict(Counter(str(item["outcome"]) for item in items)),
        "items": items,
        "not checked": unchecked,
    }
    return json.dumps(data, indent=2) + "\n"
