"""Commands that write: edit, restore, cleanup and undo; and the journal of what they wrote."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

from model import text
from model.canonical import Path, Value
from model.commands_read import choose_layout, document, open_session
from model.commands_repair import undo_run
from model.connections import needs_password
from model.errors import Refused, Unreadable
from model.journal import Journal
from model.names import id_name
from model.pending import effect, token_name
from model.printing import Progress, drop_output, json_row, moment, table
from model.records import Entry, Outcome, PendingToken
from model.session import Session
from model.sources import with_kept_password

EXITS = {"applied": 0, "skipped": 0, "conflict": 1, "refused": 2, "unknown": 3}


def edit(args: argparse.Namespace) -> int:
    """One guarded write of some fields."""
    if not args.set_fields and not args.unset_fields:
        raise Refused("Nothing to change: say --set PATH=EJSON or --unset PATH.")
    values: dict[str | Path, Value | object] = {}
    for written in args.set_fields:
        path, value = _assignment(written)
        if path in values:
            raise Refused(f"{path} is set twice; say it once.")
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
    with open_session(args) as session:
        id: Value | None = None
        try:
            id = document(args, session)
            outcome = write(session, id)
        except Refused as error:
            outcome = Outcome("refused", args.ns, id, str(error))
        # What is in memory is gone with this process, so there is nothing to undo afterwards.
        hint = f" (palimpsest undo {outcome.entry})" if outcome.kind == "applied" and not session.is_local else ""
    return _report(outcome, args.json, hint)


def _report(outcome: Outcome, as_json: bool, hint: str = "") -> int:
    said = f"{outcome.kind}: {outcome.detail}{hint}"
    try:
        if as_json:
            print(_outcome_json(outcome), flush=True)
        elif outcome.kind != "refused":
            print(said, flush=True)
    except OSError:
        drop_output()  # the status has to tell how the write ended, whatever becomes of its report
        if outcome.kind != "refused":
            print(said, file=sys.stderr)
    if outcome.kind == "refused":
        print(outcome.detail, file=sys.stderr)
    return EXITS[outcome.kind]


def _outcome_json(outcome: Outcome) -> str:
    return json_row(outcome=outcome.kind, ns=outcome.ns, id=outcome.id, detail=outcome.detail)


def cleanup(args: argparse.Namespace) -> int:
    """Finish the tokens that are old enough, or say what that would do."""
    with open_session(args) as session, Progress("Looking at token") as progress:
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
    who = f"Token {token_name(token.token)} of {id_name(token.id)}"
    if token.problem:
        return Outcome("refused", token.ns, token.id, f"{who} cannot be finished: {token.problem}")
    return Outcome("skipped", token.ns, token.id, f"{who} {effect(token)}; nothing was written.")


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
        planned = "skipped" if args.apply else "would"
        rows = ((planned if o.kind == "skipped" else o.kind, o.ns, o.detail) for o in noted())
        table(("Outcome", "Collection", "Detail"), rows, progress=progress)
    return kinds


def _cleanup_summary(kinds: Sequence[str], young: int, applied: bool) -> str:
    left = f" {young:,} younger {'was' if young == 1 else 'were'} left alone." if young else ""
    if not kinds:
        return f"No token is old enough to finish.{left}"
    if not applied:
        tokens = "stale token" if len(kinds) == 1 else "stale tokens"
        return f"{len(kinds):,} {tokens}; nothing was written, --apply finishes them.{left}"
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
        (e.id, moment(e.at), e.action, e.kind, f"by {e.undone_by}" if e.undone_by else "", e.ns, _id_of(e), e.detail)
        for e in entries
    )
    if not table(("Entry", "At", "Action", "Outcome", "Undone", "Collection", "Document", "Detail"), rows, right=(0,)):
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
    """The guarded inverse of an entry, or of a whole run of repairs."""
    if args.entry.startswith("run-"):
        return undo_run(args)
    record = Journal().record(args.entry)
    if not record.entry.undoable:
        refused = f"Entry {args.entry} cannot be undone. {record.entry.why_not}"
        return _report(Outcome("refused", record.entry.ns, record.document, refused), args.json)
    args.ns = record.entry.ns
    if args.source is None and needs_password(with_kept_password(record.entry.source)):
        raise Refused(f"{record.entry.source} wants a password that is not kept here; give --source URI with it.")
    with open_session(args, args.source or record.entry.source) as session:
        try:
            choose_layout(args, session)
            outcome = session.undo(args.entry, elsewhere=args.source is not None)
        except Refused as error:
            outcome = Outcome("refused", args.ns, record.document, str(error))
    return _report(outcome, args.json)
