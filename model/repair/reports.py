"""The report of a plan and its results, as a page for people and as JSON for programs.

The page is self-contained, follows the reader's light or dark setting, and contains only its own markup: all text
from a database is escaped.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Sequence

from model import text
from model.repair.damage_classes import CLASSES
from model.repair.items import Item
from model.repair.plan import Plan
from model.text import web_page
from model.text.names import id_name
from model.text.web_page import escaped as _e
from model.text.web_page import moment as _moment

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


def html(
    plan: Plan,
    results: Sequence[Result],
    applied: bool,
    run: str,
    now: dt.datetime,
    lacking: str = "",
    way: bool = True,
) -> str:
    """The page. ``lacking`` says which writes cannot be undone, ``way`` whether any can."""
    said = {no: (how, detail) for no, how, detail in results}
    title = "Repairs done" if applied else "Repair plan"
    counts = Counter(_ending(item, said)[0] for item in plan.items)
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
    how = f"Undo {'the others' if lacking else 'all of it'}: <code>palimpsest undo {_e(run)}</code>" if way else ""
    undo = f'<p class="soft">{" ".join(filter(None, (_e(lacking), how)))}</p>' if run and applied else ""
    return web_page.page(
        title,
        f'<p class="soft">{_e(plan.source)} · scanned {_moment(plan.made)} · this report {_moment(now)}</p>'
        f'<ul class="sums">{sums}</ul>{undo}{"".join(parts)}',
    )


def _section(code: str, plan: Plan, said: dict[int, tuple[str, str]]) -> str:
    of = CLASSES[code]
    rows = []
    for item in plan.items:
        if item.finding.code == code:
            how, detail = _ending(item, said)
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


def _ending(item: Item, said: dict[int, tuple[str, str]]) -> tuple[str, str]:
    return said.get(item.no) or (("advice", item.advice) if item.repair is None else ("skipped", "It was not reached."))


def json_text(plan: Plan, results: Sequence[Result], applied: bool, run: str, now: dt.datetime) -> str:
    """The report as one JSON object, with values as canonical Extended JSON."""
    said = {no: (how, detail) for no, how, detail in results}
    items = []
    for item in plan.items:
        how, detail = _ending(item, said)
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
