"""The command that applies a plan, or shows what it would do: ``palimpsest repair SOURCE --plan FILE [--apply]``."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from model.commands.arguments import open_session
from model.commands.output import Progress, json_row, table
from model.commands.printed_outcomes import DONE, exit_status, say_way_back
from model.commands.standard_streams import say
from model.errors import NotFound, Refused
from model.foundation.findings import Finding, Unchecked
from model.foundation.records import Kind, Outcome
from model.repair.items import Item
from model.repair.plan import Plan
from model.repair.running import DryItem
from model.repair.steps import DocumentChange, physical
from model.session import Session
from model.session.sources import with_kept_password
from model.text.names import id_name
from model.userdata import folders
from model.userdata.connections import needs_password
from model.userdata.journal import Journal
from model.values.canonical import EMPTY

Line = tuple[Item, Kind, str, str, tuple[DocumentChange, ...]]
"""An item, its outcome, the word for it, the detail, and the writes shown by a dry run."""

_REPORTS = (".html", ".htm", ".json")
_WORDS = {"young": "too young", "changed": "changed", "asks": "asks", "nothing": "nothing to do", "refused": "refused"}


def keep_plan(session: Session, path: str, findings: Iterable[Finding], unchecked: Sequence[Unchecked]) -> str:
    """Write the plan for the findings of a scan; returns a sentence on its content."""
    plan = session.repairs.plan(findings, unchecked)
    plan.save(path)
    done = sum(item.ticked for item in plan.items)
    asks = sum(item.asks for item in plan.items)
    left = len(plan.items) - done - asks
    said = f"The plan {path} has {len(plan.items):,} item{'' if len(plan.items) == 1 else 's'}: {done:,} to be done"
    said += f", {asks:,} that ask a person first" if asks else ""
    return said + (f", {left:,} without a repair." if left else ".")


def repair(args: argparse.Namespace) -> int:
    """Apply the items of a plan one by one, or say how each would end."""
    for path in args.report:
        if Path(path).suffix.lower() not in _REPORTS:
            raise Refused(f"A report is a page or JSON: call it {path}.html or {path}.json.")
    with open_session(args) as session, Progress("Looking at item") as progress:
        plan = session.repairs.load(args.plan)
        for ns in plan.layouts if args.layout else ():
            session.catalogue.set_layout(ns, args.layout)
        ended = _applied(session, plan, args, progress) if args.apply else _dry(session, plan, args.json, progress)
        run = "" if session.is_local else ended.run
        for path in args.report:
            _report(session, plan, ended.lines, args.apply, run, path)
        if not args.json:
            undo = session.way_back.not_undoable(run) if run else ""
            _sum_up(plan, ended.lines, args.apply, run, ended.offers, undo)
            if ended.differ:
                say(
                    f"{ended.differ:,} of them {'differs' if ended.differ == 1 else 'differ'} from what a scan of "
                    "today proposes: scan again, or --apply --confirm-differences does the others alone."
                )
    kinds = [kind for _, kind, *_ in ended.lines]
    if args.apply or "unknown" in kinds:
        return exit_status(kinds)
    return 1 if any(word != "would" for _, _, word, *_ in ended.lines) else 0


class _Ended(NamedTuple):
    """How a plan's items ended, and remarks on them."""

    lines: list[Line]
    run: str = ""
    offers: Sequence[str] = ()
    differ: int = 0  # ticked items that a scan would not propose today


def _applied(session: Session, plan: Plan, args: argparse.Namespace, progress: Progress) -> _Ended:
    """Apply a plan's items and print how each ended; if that stops early, say how to undo what was done."""
    lines: list[Line] = []
    reason, differing = args.reason or "", args.differing
    running = session.repairs.apply(plan, progress, confirmed=True, reason=reason, differing=differing)
    done = ((plan.item(no), outcome.kind, outcome.kind, outcome.detail, ()) for no, outcome in running)
    try:
        _print(done, lines, args.json, progress, running.id)
    except BaseException:
        if any(kind == "applied" for _, kind, *_ in lines):
            say_way_back(session, running.id, so_far=True)
        raise
    return _Ended(lines, running.id, running.offers)


def _dry(session: Session, plan: Plan, as_json: bool, progress: Progress) -> _Ended:
    """Print how each item of a plan would end."""
    lines: list[Line] = []
    dried: list[DryItem] = []
    _print(_drawn(plan, session.repairs.dry_run(plan, progress), dried), lines, as_json, progress)
    return _Ended(lines, differ=sum(dry.differs and plan.item(dry.no).ticked for dry in dried))


def undo_run(args: argparse.Namespace) -> int:
    """Take back all writes of a run of repairs, or of several deletes or inserts, the last write first."""
    records = list(Journal().records("run", args.entry))
    if not records and (damaged := Journal().damaged("run", args.entry)):
        raise Refused(damaged[0].detail)
    if not records:
        raise NotFound(f"The journal has no run {args.entry}; `palimpsest journal` lists what was written.")
    source = records[0].entry.source
    if args.source is None and needs_password(with_kept_password(source)):
        raise Refused(f"{source} wants a password that is not kept here; give --source URI with it.")
    with open_session(args, args.source or source) as session, Progress("Undoing write") as progress:
        kinds: list[str] = []

        def noted() -> Iterator[Outcome]:
            for outcome in session.way_back.undo_run(args.entry, progress, elsewhere=args.source is not None):
                kinds.append(DONE if outcome.done else outcome.kind)
                yield outcome

        if args.json:
            for outcome in noted():
                progress.make_way()
                row = json_row(outcome=outcome.kind, ns=outcome.ns, id=outcome.id, detail=outcome.detail)
                say(row, flush=True)
        else:
            rows = ((o.kind, o.ns, "" if o.id is None else id_name(o.id), o.detail) for o in noted())
            if not table(("Outcome", "Collection", "Document", "Detail"), rows, progress=progress):
                say(f"Nothing of {args.entry} is left to undo.")
    return exit_status(kinds)


def _drawn(plan: Plan, items: Iterable[DryItem], dried: list[DryItem]) -> Iterator[Line]:
    for dry in items:
        dried.append(dry)
        item = plan.item(dry.no)
        if not item.ticked and not item.asks:
            yield item, "skipped", "not ticked", "It is not ticked in the plan.", ()
            continue
        kind: Kind = "refused" if dry.verdict == "refused" else "skipped"
        text = dry.text if dry.text.endswith(("?", ".")) else f"{dry.text}."
        yield item, kind, _WORDS.get(dry.verdict, dry.verdict), text, dry.changes


def _print(coming: Iterable[Line], lines: list[Line], as_json: bool, progress: Progress, run: str = "") -> None:
    def noted() -> Iterator[Line]:
        for line in coming:
            lines.append(line)
            yield line

    if as_json:
        for item, kind, _, detail, writes in noted():
            progress.make_way()
            row: dict[str, Any] = {"outcome": kind, "ns": item.finding.ns, "id": item.finding.id, "detail": detail}
            row |= {"run": run} if run else {"writes": [_write(each) for each in writes]}
            say(json_row(**row), flush=True)
        return
    rows = (
        (
            str(item.no),
            item.finding.code,
            word,
            item.finding.ns,
            "" if item.finding.id is None else id_name(item.finding.id),
            detail,
        )
        for item, _, word, detail, _ in noted()
    )
    table(("Item", "Class", "Outcome", "Collection", "Document", "Detail"), rows, right=(0,), progress=progress)


def _sum_up(
    plan: Plan, lines: Sequence[Line], applied: bool, run: str, offers: Sequence[str], not_undoable: str
) -> None:
    left = len(plan.items) - len(lines)
    without = f" {left:,} {'has' if left == 1 else 'have'} no repair; the plan says what to do." if left else ""
    words = [word for _, _, word, *_ in lines]
    counts = ", ".join(f"{words.count(word):,} {word}" for word in dict.fromkeys(words))
    if not lines:
        say(f"The plan has nothing to repair.{without}")
    elif applied:
        undo = not_undoable or f"Undo all of it with palimpsest undo {run}."
        say(f"{counts}.{without}" + (f" {undo}" if "applied" in words and run else ""))
    else:
        would = words.count("would")
        more = (
            f"--apply does {'it' if would == 1 else f'these {would:,}'}" if would else "and --apply would write nothing"
        )
        say(f"{counts}; nothing was written, {more}.{without}")
        for place in _places(lines):
            say(f"It would write in {place}.")
    for offer in offers:
        say(f"You may want to: {offer}")


def _write(change: DocumentChange) -> dict[str, object]:
    """One write of a dry run, as a row."""
    return {"write": change.kind, "ns": change.ns, "id": physical(change.before or change.after or EMPTY)}


def _places(lines: Sequence[Line]) -> Iterator[str]:
    """Each collection that a plan would write to, including the quarantine, with the number of writes."""
    counted = Counter((each.ns, each.kind) for *_, writes in lines for each in writes)
    for ns in dict.fromkeys(ns for ns, _ in counted):
        kinds = (f"{n:,} {kind}{'' if n == 1 else 's'}" for (of, kind), n in counted.items() if of == ns)
        yield f"{ns}: {', '.join(kinds)}"


def _report(session: Session, plan: Plan, lines: Sequence[Line], applied: bool, run: str, path: str) -> None:
    results = [(item.no, _result(kind, word, applied), detail) for item, kind, word, detail, _ in lines]
    made = session.repairs.report_json if path.lower().endswith(".json") else session.repairs.report_html
    folders.write(Path(path), made(plan, results, applied, run))


def _result(kind: Kind, word: str, applied: bool) -> str:
    verdicts = {said: verdict for verdict, said in _WORDS.items()}
    return kind if applied else verdicts.get(word, "would" if word == "would" else "skipped")
