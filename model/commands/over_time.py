"""Commands that look at collections over time: activity, tail, asof and report."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from model.commands.arguments import choose_layout, document, open_session, tell_unseen
from model.commands.output import NEVER, Progress, json_row, moment, table
from model.commands.standard_streams import say
from model.commands.stop_signals import until_stopped
from model.errors import Refused, Unreachable
from model.foundation.records import Row
from model.over_time.activity import Activity, ActivityList
from model.over_time.as_of import DOUBTS, AsOf, Compared, StateAt
from model.over_time.span import Span
from model.session import Session
from model.text.moments import moment_from_text
from model.text.names import id_name, version_name
from model.text.paths import path_from_text, path_text
from model.text.row_file import write_rows
from model.userdata import folders
from model.values import canonical as c

SHOWN = 1000  # changes in a table; --json has no limit
FIELDS = 6  # paths in one line of it
REST = 2.0  # seconds between two looks for new changes
NAMED = 3  # collections named in one line
TRIES = (1.0, 2.0, 5.0, 10.0, 30.0)  # seconds between attempts to reach a server that is followed


def activity(args: argparse.Namespace) -> int:
    """Print who changed what, newest first; 1 if there are no changes."""
    _refuse_at_odds(args)
    since, until = moment_given(args.since), moment_given(args.until)
    with open_session(args) as session, Progress("Reading document") as progress:
        if args.layout:
            session.catalogue.set_layout(args.places[0], args.layout)
        if args.deleted:
            return _deleted(session, args, Span(since, until), progress)
        id = session.documents.find_id(args.places[0], args.id) if args.id else None
        path = path_from_text(args.path) if args.path else ()
        asked = {"since": since, "until": until, "author": args.author, "path": path, "id": id}
        found = session.time.activity(args.places, **asked, checkpoint=progress)
        count = 0
        shown: set[object] = set()
        rows = _counted(found, shown) if args.follow else iter(found)
        if args.json:
            for each in rows:
                progress.make_way()
                say(_activity_json(each), flush=args.follow)
                count += each.landed
        else:
            count = _activity_table(rows, progress)
        _say_beside(session, args, found, count)
        if args.follow:
            _follow(session, args, asked, shown)
    return 0 if count else 1


def _refuse_at_odds(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    if (args.layout or args.id) and (len(args.places) != 1 or "." not in args.places[0]):
        option = "--layout" if args.layout else "--id"
        raise Refused(f"Name the collection that {option} is for, as in `palimpsest activity SOURCE shop.contracts`.")
    if args.deleted and (args.follow or args.path):
        raise Refused("--deleted goes with neither --follow nor --path; leave these out.")


def _say_beside(session: Session, args: argparse.Namespace, found: ActivityList, count: int) -> None:
    """Say what a list of changes leaves out."""
    for note in found.notes:
        say(note, file=sys.stderr)
    if not all("." in place for place in args.places) or not args.places:
        tell_unseen(session)
    if found.undated:
        says = "change has no time and is" if found.undated == 1 else "changes have no time and are"
        say(f"{found.undated:,} {says} left out.", file=sys.stderr)
    if not count and args.author:
        say(f"Nothing was changed by {args.author} there; an author's name matches as a whole.", file=sys.stderr)


def _deleted(session: Session, args: argparse.Namespace, span: Span, progress: Progress) -> int:
    """Print the deleted documents; each row is about the deletion, with the version that can be restored."""
    count = 0
    notes: list[str] = []
    wanted = session.documents.find_id(args.places[0], args.id) if args.id else None

    def rows() -> Iterator[Activity]:
        nonlocal count
        for ns in session.catalogue.with_versions(args.places):
            found = session.time.deleted(ns)
            for row in found.all(progress):
                gone = Activity(ns, row.id, row.version, row.at, row.author, row.reason, "deleted")
                if (
                    gone.author == (args.author or gone.author)
                    and row.id == (wanted or row.id)
                    and (not span or (gone.at is not None and gone.at in span))
                ):
                    count += 1
                    yield gone
            notes.extend(f"{ns}: {note}" for note in found.notes)

    if args.json:
        for each in rows():
            progress.make_way()
            say(_activity_json(each))
    else:
        header = ("At", "By", "Collection", "Document", "Version", "Reason")
        table(header, (_gone_cells(each) for each in rows()), progress=progress)
    for note in notes:
        say(note, file=sys.stderr)
    return 0 if count else 1


def _gone_cells(each: Activity) -> tuple[str, ...]:
    version = version_name(each.v) if each.v is not None else ""
    return moment(each.at), each.author or "", each.ns, id_name(each.id), version, each.reason or ""


def moment_given(written: str | None) -> dt.datetime | None:
    """The moment that an option states; says on standard error what was assumed."""
    if written is None:
        return None
    found = moment_from_text(written)
    if found.note:
        say(found.note, file=sys.stderr)
    return found.at


def _activity_json(each: Activity) -> str:
    return json_row(
        at=each.at,
        author=each.author,
        reason=each.reason,
        ns=each.ns,
        id=each.id,
        v=each.v,
        kind=each.kind,
        paths=[list(path) for path in each.paths],
        values=[{"path": list(one.path), "from": one.old, "to": one.new} for one in each.values],
        **NEVER if not each.landed else {},
    )


def _activity_table(rows: Iterator[Activity], progress: Progress) -> int:
    several: list[Activity] = []
    more = count = 0
    for each in rows:
        count += each.landed
        if len(several) < SHOWN:
            several.append(each)
        else:
            more += 1
    reasons = any(each.reason for each in several)
    header = ("At", "By", "Collection", "Document", "Version", "What", *(["Reason"] if reasons else []), "Fields")
    table(header, (_activity_cells(each, reasons) for each in several), progress=progress)
    if more:
        say(
            f"{more:,} older ones are not shown; narrow it with --since, or take them all with --json.", file=sys.stderr
        )
    return count


def _activity_cells(each: Activity, reasons: bool) -> tuple[str, ...]:
    fields = ", ".join(map(path_text, each.paths[:FIELDS]))
    more = f" and {len(each.paths) - FIELDS} more" if len(each.paths) > FIELDS else ""
    version = version_name(each.v) if each.v is not None else ""
    why = [each.reason or ""] if reasons else []
    what = each.kind if each.landed else NEVER["note"]
    return moment(each.at), each.author or "", each.ns, id_name(each.id), version, what, *why, fields + more


def _counted(found: Iterable[Activity], shown: set[object]) -> Iterator[Activity]:
    for each in found:
        shown.add((each.ns, each.id, each.v))
        yield each


def _follow(session: Session, args: argparse.Namespace, asked: dict[str, object], shown: set[object]) -> None:
    """Print changes as they come, until the command is stopped."""
    rest = threading.Event()
    while not rest.wait(REST):
        several = [e for e in session.time.activity(args.places, **asked) if (e.ns, e.id, e.v) not in shown]  # type: ignore[arg-type]
        for each in reversed(several):
            shown.add((each.ns, each.id, each.v))
            say(_activity_json(each) if args.json else "  ".join(filter(None, _activity_cells(each, True))), flush=True)


def tail(args: argparse.Namespace) -> int:
    """Print new versions as they come, until the command is stopped; that counts as success."""
    if args.layout and (len(args.places) != 1 or "." not in args.places[0]):
        raise Refused("Name the collection that --layout is for, as in `palimpsest tail SOURCE shop.contracts`.")
    tried, told = 0, False
    with until_stopped() as stop, open_session(args) as session:
        if args.layout:
            session.catalogue.set_layout(args.places[0], args.layout)
        followed = session.time.tail(args.places)
        while not stop.is_set():
            try:
                batch = followed.more()
                if not told:
                    places = ", ".join(followed.places[:NAMED]) + (" and others" if followed.places[NAMED:] else "")
                    say(f"New versions of {places} follow as they come; Ctrl+C ends it.", file=sys.stderr, flush=True)
                tried, told = 0, True
            except Unreachable as error:
                if not tried:
                    say(f"palimpsest: {error} Trying again.", file=sys.stderr, flush=True)
                stop.wait(TRIES[min(tried, len(TRIES) - 1)])
                tried += 1
                continue
            for note in batch.notes:
                say(f"palimpsest: {note}", file=sys.stderr, flush=True)
            if batch.left_out:
                more = "version that" if batch.left_out == 1 else "versions that"
                say(f"palimpsest: {batch.left_out:,} {more} came at once are not shown.", file=sys.stderr, flush=True)
            for each in batch.rows:
                line = _activity_json(each) if args.json else "  ".join(filter(None, _activity_cells(each, True)))
                say(line, flush=each is batch.rows[-1])
            stop.wait(batch.pause)
    return 0


def as_of(args: argparse.Namespace) -> int:
    """Print a collection as it was at a moment, or the differences between two moments; 1 if there are any."""
    first = moment_given(args.times[0])
    further = args.times[1] if len(args.times) > 1 else ""
    second = moment_given(further) if args.compare and further else None
    condition = "" if args.compare else further
    if args.compare and second is None:
        raise Refused("--compare needs two times, as in `palimpsest asof SOURCE NS 2026-11-01 2026-11-08 --compare`.")
    if len(args.times) > 2:
        raise Refused("asof takes one time and a filter, or two times with --compare.")
    assert first is not None
    with open_session(args) as session, Progress("Reading document") as progress:
        choose_layout(args, session)
        if second is not None:
            return _differences(args, session.time.as_of_both(args.ns, first, second, progress), progress)
        found = session.time.as_of(
            args.ns, first, condition, contents=bool(args.content or args.export), checkpoint=progress
        )
        if args.export:
            written = write_rows(_proven(found), Path(args.export), None, progress)
            progress.make_way()
            say(f"{written.documents:,} documents were written to {written.path}.", file=sys.stderr)
            for note in written.notes:
                say(note, file=sys.stderr)
        elif args.json:
            for each in found:
                progress.make_way()
                content = (
                    {"content": None if each.content is None else c.Value.document(each.content)}
                    if args.content
                    else {}
                )
                say(json_row(ns=each.ns, id=each.id, v=each.v, at=each.at, proven=each.proven, **content))
        else:
            table(("Document", "Version", "At", ""), map(_state_cells, found), progress=progress)
        for note in found.notes:
            say(note, file=sys.stderr)
        if found.unproven:
            left = ", and were not written" if args.export else ""
            say(
                f"{found.unproven:,} of them cannot be proven{left}: a version or its time is missing.", file=sys.stderr
            )
    return 0


def report(args: argparse.Namespace) -> int:
    """Print the history of a document, or of a collection in a span of time, as a page, or write it to a file."""
    since, until = moment_given(args.since), moment_given(args.until)
    if args.id is not None and (since or until or args.author):
        raise Refused("--since, --until and --author are for the page on a collection: leave the ID out.")
    with open_session(args) as session, Progress("Reading version") as progress:
        if args.id is not None:
            made = session.time.report(args.ns, document(args, session), progress)
        else:
            choose_layout(args, session)
            made = session.time.report_of_span(args.ns, since, until, args.author, progress)
    if args.out:
        folders.write(Path(args.out), made)
    else:
        say(made, end="")
    return 0


def _proven(found: AsOf) -> Iterator[Row]:
    for each in found:
        if each.proven and each.content is not None:
            raw = c.document([("_id", each.id), *c.fields(each.content)])
            yield Row(each.id, each.v, each.at, len(raw), raw)


def _state_cells(each: StateAt) -> tuple[str, ...]:
    version = version_name(each.v) if each.v is not None else "?"
    return id_name(each.id), version, moment(each.at), f"not proven: {DOUBTS[each.doubt]}" if each.doubt else ""


def _differences(args: argparse.Namespace, found: Iterator[Compared], progress: Progress) -> int:
    count = 0

    def seen() -> Iterator[Compared]:
        nonlocal count
        for each in found:
            count += 1
            yield each

    if args.json:
        for each in seen():
            progress.make_way()
            versions = {"from": each.before.v if each.before else None, "to": each.after.v if each.after else None}
            say(json_row(ns=each.ns, id=each.id, change=each.change, **versions))
    else:
        table(("Document", "What", "From", "To"), map(_compared_cells, seen()), progress=progress)
    return 1 if count else 0


def _compared_cells(each: Compared) -> tuple[str, ...]:
    sides = [
        version_name(side.v) if side is not None and side.v is not None else "" for side in (each.before, each.after)
    ]
    return id_name(each.id), each.change, *sides
