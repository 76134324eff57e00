"""The commands scan, which looks for damage, and health, which shows earlier scans."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from model.commands.arguments import open_session
from model.commands.output import Progress, json_row, moment, number, table
from model.commands.repair import keep_plan
from model.commands.standard_streams import say
from model.errors import Refused
from model.foundation.findings import Finding, Unchecked
from model.foundation.input_files import LARGEST, whole_text
from model.foundation.records import WatchTurn
from model.over_time.watched import Watched
from model.repair.damage_classes import CLASSES, class_of, waits
from model.repair.plan import slim
from model.scan import Summary, parts
from model.session import Session, sources
from model.session.health import Health, compared, counted, told
from model.text.names import id_name, version_name
from model.values.canonical import Value

TURNS = 1000  # changes of watched conditions in a table; --json has no limit
LISTED = 5  # unchecked documents that are named one by one


def scan(args: argparse.Namespace) -> int:
    """Print findings as rows, or by class with each one's meaning; 0 without findings, 1 with some.

    Raises ``Refused`` if nothing could be checked: that must not look like 0.
    """
    places = [place for place in args.places if place]
    _refuse_at_odds(args, places)
    if args.range or args.merge:
        return _joined(args, places) if args.merge else _in_part(args, places)
    with open_session(args) as session, Progress("Looking at document") as progress:
        for ns in places if args.layout else ():
            session.catalogue.set_layout(ns, args.layout)
        ids = [session.documents.find_id(places[0], each) for each in args.ids] if args.ids else None
        work = session.scans.scan(places, ids, "gentle" if args.gentle else "fast", progress)
        watched = session.time.watched(places, ids, progress, args.gentle)
        try:
            if args.plan:
                kept = [slim(each) if isinstance(each, Finding) else each for each in work]
                found: Iterable[Finding | Unchecked] = kept
            else:
                kept, found = [], work
            findings = (each for each in found if isinstance(each, Finding))
            count = _rows(findings, progress) if args.json else _classes(findings, progress)
            (_turn_rows if args.json else _turns)(watched, progress)
        finally:
            _remember(session, places, ids, work.summary, watched.holding)
        plan = _plan(session, args.plan, kept) if args.plan else ""
        _sum_up(work.summary, plan, args.json)
    return 1 if count else 0


def _refuse_at_odds(args: argparse.Namespace, places: Sequence[str]) -> None:
    """Refuse options that contradict each other, or need a collection."""
    if args.range or args.merge:
        for option, given in (("--id", args.ids), ("--plan", args.plan), ("--range", args.merge and args.range)):
            if given:
                raise Refused(f"{option} does not go with {'--merge' if args.merge else '--range'}.")
    elif (args.layout or args.ids) and (not places or not all("." in place for place in places)):
        option = "--layout" if args.layout else "--id"
        raise Refused(f"Name the collection that {option} is for, as in `palimpsest scan SOURCE shop.contracts`.")


def _in_part(args: argparse.Namespace, places: Sequence[str]) -> int:
    """Print the rows of a part of a scan; exit status and errors as in :func:`scan`."""
    number, of = parts.part_of(args.range)
    with open_session(args) as session, Progress("Looking at document") as progress:
        for ns in places if args.layout else ():
            session.catalogue.set_layout(ns, args.layout)
        work = session.scans.scan(places, None, "gentle" if args.gentle else "fast", progress)
        count = 0
        for line in parts.rows(work.in_part(number, of), number, of, places):
            count += line.startswith('{"finding"')
            progress.make_way()
            say(line, flush=True)
        _refuse_in_vain(work.summary)
    return 1 if count else 0


def _joined(args: argparse.Namespace, places: Sequence[str]) -> int:
    """Print the joined findings of a scan's parts, as the whole scan prints them."""
    began = time.monotonic()
    try:
        texts = [(path, whole_text(path, LARGEST).splitlines()) for path in args.merge]
    except (OSError, UnicodeError) as error:
        raise Refused(f"A part of the scan cannot be read: {error}.") from None
    joined = parts.JoinedScan(texts, class_of)
    if places and tuple(places) != joined.places:
        raise Refused("These are parts of a scan of other places; leave the places out.")
    with open_session(args) as session, Progress("Looking at document") as progress:
        findings = (each for each in joined if isinstance(each, Finding))
        watched = session.time.watched(joined.places, None, progress, args.gentle)
        count = _rows(findings, progress) if args.json else _classes(findings, progress)
        (_turn_rows if args.json else _turns)(watched, progress)
        seconds, counts = time.monotonic() - began, dict(joined.counts)
        unchecked = tuple(joined.unchecked)
        summary = Summary(joined.documents, seconds, count, unchecked, True, counts, joined.read_in_vain)
        _remember(session, joined.places, None, summary, watched.holding)
        _sum_up(summary, "", args.json)
    return 1 if count else 0


def _remember(
    session: Session,
    places: Sequence[str],
    ids: Sequence[Value] | None,
    summary: Summary,
    watched: Mapping[str, Mapping[str, int]],
) -> None:
    """Record the scan for ``palimpsest health``; if that is impossible, the command does not fail."""
    if not session.health.kept or not (summary.whole or summary.documents):
        return
    now = dt.datetime.now(dt.UTC)
    try:
        session.health.keep(counted(now, places, ids, summary, watched))
    except Refused as error:
        say(f"This scan will be missing in `palimpsest health`. {error}", file=sys.stderr)


def _plan(session: Session, path: str, kept: Sequence[Finding | Unchecked]) -> str:
    unchecked = [each for each in kept if isinstance(each, Unchecked)]
    return keep_plan(session, path, [each for each in kept if isinstance(each, Finding)], unchecked)


def _rows(findings: Iterator[Finding], progress: Progress) -> int:
    count = 0
    for each in findings:
        count += 1
        progress.make_way()
        row = {"class": each.code, "ns": each.ns, "id": each.id, "versions": list(each.versions)}
        say(json_row(**row, detail=each.detail, repair=each.repair, doubt=each.doubt or None), flush=True)
    return count


def _classes(findings: Iterator[Finding], progress: Progress) -> int:
    """Print layouts in doubt, then every class with its meaning and findings; only printed findings stay in memory."""
    by_class: dict[str, list[tuple[str, ...]]] = {}
    doubts: dict[str, None] = {}
    for each in findings:
        by_class.setdefault(each.code, []).append(_cells(each))
        if each.doubt:
            doubts[each.doubt] = None
    progress.make_way()
    for doubt in doubts:
        say(f"{doubt}\n")
    for code, known in CLASSES.items():
        rows = by_class.get(code)
        if rows:
            say(f"{code}  {known.title}: {len(rows):,}\n{known.meaning} {known.today}")
            table(("Collection", "Document", "Found", "Written", "Repair"), rows)
            say()
    return sum(map(len, by_class.values()))


def _turn_rows(watched: Watched, progress: Progress) -> None:
    for each in watched:
        progress.make_way()
        row = {"watch": each.watch, "ns": each.ns, "id": each.id, "v": each.v, "at": each.at, "author": each.author}
        say(json_row(**row, reason=each.reason, holds=each.holds, before=each.before, missing=each.missing), flush=True)
    _tell(watched.unread)


def _turns(watched: Watched, progress: Progress) -> None:
    """Print, for each watched condition, how many documents meet it, and at which versions it changed."""
    turns: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    more: Counter[tuple[str, str]] = Counter()
    for each in watched:
        rows = turns.setdefault((each.ns, each.watch), [])
        if len(rows) < TURNS:
            rows.append(_turn_cells(each))
        else:
            more[each.ns, each.watch] += 1
    progress.make_way()
    for ns, holding in watched.holding.items():
        for name, count in holding.items():
            holds = f"{count:,} document" + ("" if count == 1 else "s")
            say(f'Watched in {ns}, "{name}": it holds in {holds}.')
            table(("Document", "Version", "At", "By", "Turned"), turns.get((ns, name), []))
            if rest := more[ns, name]:
                say(f"{rest:,} more turns are not shown; take them all with --json.")
            say()
    _tell(watched.unread)


def _turn_cells(each: WatchTurn) -> tuple[str, ...]:
    says = "holds from here on" if each.holds else "holds no more from here on"
    if not each.proven:
        says = f"between {version_name(each.before)} and {version_name(each.v)}, not proven: {says}"
    return id_name(each.id), version_name(each.v), moment(each.at), each.author or "", says


def _tell(unread: Sequence[str]) -> None:
    for sentence in unread[:LISTED]:
        say(sentence, file=sys.stderr)
    if len(unread) > LISTED:
        say(f"The watched conditions of {len(unread) - LISTED:,} documents more are not known.", file=sys.stderr)


def _cells(each: Finding) -> tuple[str, ...]:
    why_not = "none: layout in doubt" if each.doubt else "none yet: too young" if waits(each) else "none"
    repair = each.repair or why_not
    id = "(unreadable)" if each.id is None else id_name(each.id)
    return each.ns, id, each.detail, moment(each.at), repair


def _sum_up(summary: Summary, plan: str, as_json: bool) -> None:
    """Print the summary; with JSON rows, it goes to standard error."""
    out = sys.stderr if as_json else sys.stdout
    for line in _unchecked(summary.unchecked):
        say(line, file=out)
    _refuse_in_vain(summary)
    if as_json:
        if plan:
            say(plan, file=out)
        return
    findings = "1 finding" if summary.findings == 1 else f"{summary.findings:,} findings"
    documents = "1 document" if summary.documents == 1 else f"{summary.documents:,} documents"
    say(f"{findings}; {documents} looked at in {summary.seconds:.1f} s.")
    if plan:
        say(plan)


def _refuse_in_vain(summary: Summary) -> None:
    """Raise ``Refused`` if nothing could be checked, with the first reason."""
    if not summary.in_vain:
        return
    first, more = summary.unchecked[0], len(summary.unchecked) - 1
    which = first.ns if first.id is None else f"{first.ns} {id_name(first.id)}"
    others = f" ({more:,} more like it)" if more else ""
    why = f"{which}{others}: {first.why}"
    raise Refused(f"Nothing could be checked, so it is not known whether anything is wrong: {why}")


def _unchecked(unchecked: Sequence[Unchecked]) -> Iterator[str]:
    told = 0
    for each in unchecked:
        if each.id is not None:
            told += 1
            if told > LISTED:
                continue
        which = each.ns if each.id is None else f"{each.ns} {id_name(each.id)}"
        yield f"Not checked: {which}: {each.why}"
    if told > LISTED:
        yield f"Not checked: {told - LISTED:,} documents more."


def health(args: argparse.Namespace) -> int:
    """Print the scans of a source made on this computer, newest first; the source itself is not opened."""
    source = sources.named(args.source)
    scans = compared(Health(source).scans(args.place))
    if not scans:
        where = f"{args.place} in {source}" if args.place else source
        why = (
            "The sample is created again at each start, so its scans are only kept while a window shows it."
            if source == sources.SAMPLE
            else f"`palimpsest scan SOURCE{f' {args.place}' if args.place else ''}` makes the first."
        )
        say(f"No scan of {where} was made from here yet. {why}", file=sys.stderr)
        return 0
    if args.json:
        for scan, before in scans:
            say(
                json_row(
                    at=scan.at,
                    place=scan.place,
                    ids=scan.ids,
                    documents=scan.documents,
                    seconds=round(scan.seconds, 3),
                    whole=scan.whole,
                    findings=scan.findings,
                    classes=dict(scan.counts),
                    before=None if before is None else dict(before.counts),
                    unchecked=scan.unchecked,
                    watched={ns: dict(holding) for ns, holding in scan.watched.items()},
                )
            )
        return 0
    rows = []
    for scan, before in scans:
        said = told(scan, before) or "nothing found"
        said += "" if scan.whole else "; stopped before its end"
        rows.append((moment(scan.at), scan.where, number(scan.documents), number(scan.findings), said))
    table(("When", "Where", "Documents", "Findings", "By class, and the change since the scan before"), rows, (2, 3))
    return 0
