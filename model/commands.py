"""The command line, without Qt and without a display: ``palimpsest COMMAND …``.

Exit 0 is success, 1 a difference, a conflict or something skipped, 2 trouble (one sentence on standard error), 3 an
outcome that is not known. Nothing is written without ``--apply``, save by ``edit``, ``restore`` and ``undo``.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence

from model import canonical, export, files, text
from model.canonical import Path, Value
from model.command_parser import parser
from model.connections import needs_password
from model.diff import Diff, diff
from model.errors import Cancelled, Refused, Unreadable
from model.journal import Journal
from model.merge import Decision, merge
from model.names import id_name, version_name
from model.printing import Progress, json_row, moment, number, size, table
from model.records import Entry, Outcome, PendingToken, Version
from model.session import Session
from model.sources import with_kept_password

NAMES = ("collections", "history", "show", "diff", "merge", "edit", "restore", "cleanup", "journal", "undo")
_EXITS = {"applied": 0, "skipped": 0, "conflict": 1, "refused": 2, "unknown": 3}
_STOPPED, _READER_GONE = 130, 141  # as a shell says it of SIGINT and SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status, whatever happens."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Half characters of a damaged string are shown as their escapes instead of ending the output.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        args = parser().parse_args(argv)
        status = COMMANDS[args.command](args)
        sys.stdout.flush()
        return status
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 2
    except Refused as error:
        return _trouble(str(error))
    except (Cancelled, KeyboardInterrupt):
        _trouble("Stopped.")
        return _STOPPED
    except BrokenPipeError:
        # The reader has seen enough; what is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _READER_GONE
    except Exception as error:
        if os.environ.get("PALIMPSEST_DEBUG"):
            traceback.print_exc()
        kind = type(error).__name__
        return _trouble(f"This is a defect of palimpsest ({kind}): set PALIMPSEST_DEBUG=1 for details to report.")


def _trouble(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2


def _open(args: argparse.Namespace, source: str | None = None) -> Session:
    return Session.open(source or args.source, profile=args.profile, into_memory=args.into_memory)


def _document(args: argparse.Namespace, session: Session) -> Value:
    _choose_layout(args, session)
    return session.find_id(args.ns, args.id)


def _choose_layout(args: argparse.Namespace, session: Session) -> None:
    if args.layout:
        session.set_layout(args.ns, args.layout)


# --- reading


def collections(args: argparse.Namespace) -> int:
    """Each collection with its layout and the grounds for it."""
    with _open(args) as session, Progress("Looking at collection") as progress:
        found = session.collections(checkpoint=progress)
        if args.json:
            for info in found:
                progress.make_way()
                row = {"ns": info.ns, "layout": info.layout, "fields": dict(info.fields), "documents": info.documents}
                print(json_row(**row, confidence=info.confidence, why=info.why))
            return 0
        rows = (
            (
                info.ns,
                info.layout,
                number(info.documents),
                f"{info.confidence:.0%}",
                _named(info.fields.items()),
                info.why,
            )
            for info in found
        )
        table(("Collection", "Layout", "Documents", "Sure", "Fields", "Why"), rows, right=(2, 3), progress=progress)
    return 0


def _named(fields: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"{role}={name}" for role, name in fields)


def history(args: argparse.Namespace) -> int:
    """The versions of a document, newest first."""
    with _open(args) as session, Progress("Reading version") as progress:
        versions = session.history(args.ns, _document(args, session), progress, changed=not args.json)
        if args.json:
            for version in versions:
                progress.make_way()
                print(_history_json(version))
            return 0
        rows = (
            (
                version_name(v.v) + (" (current)" if v.current else ""),
                v.stored if v.state != "missing" else "",
                v.state,
                size(v.bytes),
                number(v.changed),
                moment(v.at),
                (v.hash or "")[:12],
                v.detail,
            )
            for v in versions
        )
        header = ("Version", "Stored", "State", "Size", "Changed", "At", "Hash", "")
        table(header, rows, right=(3, 4), progress=progress)
    return 0


def _history_json(version: Version) -> str:
    return json_row(
        v=version.v,
        at=version.at,
        hash=version.hash,
        bytes=version.bytes,
        stored=version.stored,
        current=version.current,
        state=version.state,
    )


def show(args: argparse.Namespace) -> int:
    """One version's content, or the document as it is stored."""
    with _open(args) as session:
        _choose_layout(args, session)
        id, v = _id_at_version(session, args.ns, args.id, args.of_version)
        version = session.version(args.ns, id, v)
    raw = version.raw if args.stored else version.content
    if raw is None:
        what = "stored document" if args.stored else "content"
        raise Refused(
            f"{version_name(version.v)} of {id_name(id)} has no {what} to show: {version.detail or version.state}."
        )
    print(text.to_text(raw, None if args.json else 2))
    return 0


def _id_at_version(session: Session, ns: str, written: str, of_version: str | None) -> tuple[Value, Value | None]:
    """What ID[@V] means: behind the last @ stands a version only where the document before it has that one."""
    if of_version is not None:
        id = session.find_id(ns, written)
        return id, session.find_version(ns, id, of_version)
    head, at, tail = written.rpartition("@")
    if at and head and tail:
        try:
            id = session.find_id(ns, head)
            return id, session.find_version(ns, id, tail)
        except Refused:
            pass
    return session.find_id(ns, written), None


def differ(args: argparse.Namespace) -> int:
    """The changes between two versions or two files; 1 where there are any."""
    form = args.format or ("json" if args.json else "text")
    if len(args.sides) == 2:
        (a, _), (b, _) = files.read(args.sides[0]), files.read(args.sides[1])
        return _print_diff(diff(a, b), a, b, form)
    if len(args.sides) != 5:
        raise Refused("diff takes two files, or SOURCE NS ID V W; see `palimpsest diff --help`.")
    source, args.ns, args.id, v, w = args.sides
    with _open(args, source) as session:
        id = _document(args, session)
        found = session.compare(args.ns, id, session.find_version(args.ns, id, v), session.find_version(args.ns, id, w))
    return _print_diff(found.diff, found.a.content or canonical.EMPTY, found.b.content or canonical.EMPTY, form)


def _print_diff(changes: Diff, a: bytes, b: bytes, form: str) -> int:
    if form == "json":
        for row in changes.row_texts():
            print(row)
    elif form == "json-patch":
        print(export.to_json_patch(changes, a, b))
    elif form == "deepdiff":
        print(export.to_deepdiff(a, b))
    elif changes:
        print(export.to_lines(changes))
    return 1 if changes else 0


def merged(args: argparse.Namespace) -> int:
    """Three files as one document, or the conflicts."""
    # git hands an empty base to its merge driver where both sides added the file.
    base, _ = files.read(args.base, empty=True)
    mine, form = files.read(args.mine)
    theirs, _ = files.read(args.theirs)
    result = merge(base, mine, theirs)
    if result.conflicts:
        if args.json:
            for c in result.conflicts:
                print(json_row(path=list(c.path), base=c.base, mine=c.mine, theirs=c.theirs, kind=c.kind))
        else:
            table(("Conflict", "Base", "Mine", "Theirs", "Kind"), map(_conflict_cells, result.conflicts))
        return 1
    if args.out is not None:
        files.write(args.out, result.document(), form)
    elif form.binary:
        print(text.to_text(result.document()))
    else:
        print(files.written(result.document(), form).decode("utf-8", "surrogatepass").rstrip("\n"))
    return 0


def _conflict_cells(decision: Decision) -> tuple[str, ...]:
    sides = (decision.base, decision.mine, decision.theirs)
    return (
        text.path_text(decision.path),
        *("" if s is None else text.shown(s, limit=50) for s in sides),
        decision.kind,
    )


# --- writing


def edit(args: argparse.Namespace) -> int:
    """One guarded write of some fields."""
    if not args.set_fields and not args.unset_fields:
        raise Refused("Nothing to change: say --set PATH=EJSON or --unset PATH.")
    values: dict[str | Path, Value | object] = {}
    for written in args.set_fields:
        path, value = _assignment(written)
        values[path] = value
    return _one_write(
        args, lambda session, id: session.edit(args.ns, id, values, list(args.unset_fields), base=args.base)
    )


def _assignment(written: str) -> tuple[str, Value]:
    """Path and value of PATH=EJSON; an = in a field's name stands in quotes."""
    quoted = False
    for at, c in enumerate(written):
        if c == '"' and written[at - 1 : at] != "\\":
            quoted = not quoted
        if c == "=" and not quoted:
            try:
                return written[:at], text.value_from_text(written[at + 1 :])
            except Unreadable as error:
                raise Unreadable(f"The value for {written[:at]} is no Extended JSON: {error}") from None
    raise Refused(f"{written} is no change; write PATH=EJSON, as in status='\"active\"'.")


def restore(args: argparse.Namespace) -> int:
    """An old state, or some fields of it, as a new version."""
    fields = None if args.fields is None else [text.path_from_text(f) for f in args.fields]
    return _one_write(
        args,
        lambda session, id: session.restore(args.ns, id, session.find_version(args.ns, id, args.v), fields),
    )


def _one_write(args: argparse.Namespace, write: Callable[[Session, Value], Outcome]) -> int:
    with _open(args) as session:
        id: Value | None = None
        try:
            id = _document(args, session)
            outcome = write(session, id)
        except Refused as error:
            outcome = Outcome("refused", args.ns, id, str(error))
    return _report(outcome, args.json)


def _report(outcome: Outcome, as_json: bool) -> int:
    if as_json:
        print(_outcome_json(outcome))
    if outcome.kind == "refused":
        _trouble(outcome.detail)
    elif not as_json:
        print(f"{outcome.kind}: {outcome.detail}{_undo_hint(outcome)}")
    return _EXITS[outcome.kind]


def _undo_hint(outcome: Outcome) -> str:
    return f" (palimpsest undo {outcome.entry})" if outcome.kind == "applied" and outcome.entry else ""


def _outcome_json(outcome: Outcome) -> str:
    return json_row(outcome=outcome.kind, ns=outcome.ns, id=outcome.id, detail=outcome.detail)


def cleanup(args: argparse.Namespace) -> int:
    """Finish the tokens that are old enough, or say what that would do."""
    with _open(args) as session, Progress("Looking at token") as progress:
        places: list[str | None] = list(args.ns) or [None]
        tokens: list[PendingToken] = []
        young = 0
        for ns in places:
            for token in session.pending(ns, checkpoint=progress):
                old = token.stale if args.older_than is None else session.is_older(token, args.older_than)
                if old or token.applied:
                    tokens.append(token)
                else:
                    young += 1
        # An age that was given is a person's word, also where it is shorter than the grace period.
        confirmed = args.older_than is not None
        outcomes = session.finish(tokens, progress, confirmed) if args.apply else map(_planned, tokens)
        kinds = _print_outcomes(outcomes, args, progress)
    if not args.json:
        print(_cleanup_summary(kinds, young, args.apply))
    if "unknown" in kinds:
        return 3
    return 1 if any(kind != "applied" for kind in kinds) and (args.apply or "refused" in kinds) else 0


def _planned(token: PendingToken) -> Outcome:
    from model.pending import effect, token_name

    who = f"Token {token_name(token.token)} of {id_name(token.id)}"
    if token.problem:
        return Outcome("refused", token.ns, token.id, f"{who} cannot be finished: {token.problem}")
    return Outcome("skipped", token.ns, token.id, f"{who} would be finished, {effect(token)}; nothing was written.")


def _print_outcomes(outcomes: Iterable[Outcome], args: argparse.Namespace, progress: Progress) -> list[str]:
    kinds: list[str] = []

    def noted() -> Iterator[Outcome]:
        for outcome in outcomes:
            kinds.append(outcome.kind)
            yield outcome

    if args.json:
        for outcome in noted():
            progress.make_way()
            print(_outcome_json(outcome), flush=True)
    else:
        said = (lambda o: o.kind) if args.apply else (lambda o: "would" if o.kind == "skipped" else o.kind)
        rows = ((said(o), o.ns, o.detail) for o in noted())
        table(("Outcome", "Collection", "Detail"), rows, progress=progress)
    return kinds


def _cleanup_summary(kinds: Sequence[str], young: int, applied: bool) -> str:
    left = f" {young:,} younger {'was' if young == 1 else 'were'} left alone." if young else ""
    if not kinds:
        return f"No token is old enough to finish.{left}"
    if not applied:
        return f"{len(kinds):,} stale; nothing was written, --apply finishes them.{left}"
    counts = ", ".join(f"{kinds.count(kind):,} {kind}" for kind in dict.fromkeys(kinds))
    return f"{counts}.{left}"


# --- the journal


def journal(args: argparse.Namespace) -> int:
    """What was written from here, newest first."""
    entries = _entries(Journal())
    if args.json:
        for e in entries:
            print(_entry_json(e))
        return 0
    rows = (
        (e.id, moment(e.at), e.action, e.kind, e.ns, _id_of(e), e.detail, f"by {e.undone_by}" if e.undone_by else "")
        for e in entries
    )
    if not table(("Entry", "At", "Action", "Outcome", "Collection", "Document", "Detail", "Undone"), rows, right=(0,)):
        print("Nothing was written from here so far.")
    return 0


def _entries(kept: Journal) -> Iterator[Entry]:
    before: str | None = None
    while page := kept.entries(limit=100, before=before):
        yield from page
        before = page[-1].id


def _id_of(entry: Entry) -> str:
    return id_name(text.value_from_text(entry.document)) if entry.document else ""


def _entry_json(entry: Entry) -> str:
    return json_row(
        entry=entry.id,
        at=entry.at,
        source=entry.source,
        ns=entry.ns,
        id=text.value_from_text(entry.document) if entry.document else None,
        action=entry.action,
        outcome=entry.kind,
        detail=entry.detail,
        hash_before=entry.hash_before,
        hash_after=entry.hash_after,
        undoable=entry.undoable,
        undone_by=entry.undone_by,
    )


def undo(args: argparse.Namespace) -> int:
    """The guarded inverse of an entry."""
    record = Journal().record(args.entry)
    if not record.entry.undoable:
        refused = f"Entry {args.entry} cannot be undone. {record.entry.why_not}"
        return _report(Outcome("refused", record.entry.ns, record.document, refused), args.json)
    args.ns = record.entry.ns
    if args.source is None and needs_password(with_kept_password(record.entry.source)):
        raise Refused(f"{record.entry.source} wants a password that is not kept here; give --source URI with it.")
    with _open(args, args.source or record.entry.source) as session:
        try:
            _choose_layout(args, session)
            outcome = session.undo(args.entry, elsewhere=args.source is not None)
        except Refused as error:
            outcome = Outcome("refused", args.ns, record.document, str(error))
    return _report(outcome, args.json)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "collections": collections,
    "history": history,
    "show": show,
    "diff": differ,
    "merge": merged,
    "edit": edit,
    "restore": restore,
    "cleanup": cleanup,
    "journal": journal,
    "undo": undo,
}
