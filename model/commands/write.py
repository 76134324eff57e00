"""Commands that write: edit, restore and undo; and journal, the list of their writes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias

from model import text
from model.commands.arguments import choose_layout, current_document, open_session
from model.commands.output import json_row, moment, table
from model.commands.repair import undo_run
from model.commands.standard_streams import drop_output, say
from model.errors import Refused, Unreadable
from model.foundation.records import Entry, Outcome, Version
from model.session import Session
from model.session.sources import with_kept_password
from model.text.names import id_name
from model.userdata.connections import needs_password
from model.userdata.journal import Journal
from model.values.canonical import Path, Value

EXITS = {"applied": 0, "skipped": 0, "conflict": 1, "refused": 2, "unknown": 3}


Read: TypeAlias = tuple[Version, float] | None
"""The current version of the document to write over, and when it was read, by the monotonic clock."""


def edit(args: argparse.Namespace) -> int:
    """Change fields in one guarded write."""
    if not args.set_fields and not args.unset_fields:
        raise Refused("Nothing to change: say --set PATH=EJSON or --unset PATH.")
    values: dict[str | Path, Value | object] = {}
    for written in args.set_fields:
        path, value = assignment(written)
        if path in values:
            raise Refused(f"{path} is set twice; say it once.")
        values[path] = value
    if args.create and (args.base is not None or not values):
        raise Refused(
            "--create makes a document of what --set says, and has no --base; say --set, and leave out --base."
        )

    def change(session: Session, id: Value, read: Read) -> Outcome:
        current, at = read or (None, 0.0)
        unset, create = list(args.unset_fields), args.create
        return session.edit(args.ns, id, values, unset, args.base, create=create, current=current, read_at=at)

    return _one_write(args, change, args.create)


def assignment(written: str) -> tuple[str, Value]:
    """Path and value from PATH=EJSON; in quotes, a name may contain ``=``."""
    quoted = False
    for at, c in enumerate(written):
        if c == '"' and written[at - 1 : at] != "\\":
            quoted = not quoted
        if c == "=" and not quoted:
            try:
                return written[:at], text.any_notation(written[at + 1 :])
            except Unreadable as error:
                raise Unreadable(f"The value for {written[:at]} is not Extended JSON: {error}") from None
    raise Refused(f"{written} is not a change; write PATH=EJSON, as in status='\"active\"'.")


def restore(args: argparse.Namespace) -> int:
    """Make an old state, or some of its fields, a new version."""
    fields = None if args.fields is None else [text.path_from_text(f) for f in args.fields]
    return _one_write(
        args,
        lambda session, id, _: session.writing.restore(
            args.ns, id, session.catalogue.reading.find_version(args.ns, id, args.v), fields
        ),
    )


def _one_write(args: argparse.Namespace, write: Callable[[Session, Value, Read], Outcome], create: bool = False) -> int:
    with open_session(args) as session:
        id: Value | None = None
        try:
            id, read = current_document(args, session, create)
            if args.reason:
                session.authorship.because(args.ns, args.reason)
            outcome = write(session, id, read)
        except Refused as error:
            outcome = Outcome("refused", args.ns, id, str(error))
        hint = _hint(session, args.ns, outcome) if outcome.kind == "applied" else ""
    return report(outcome, args.json, hint)


def _hint(session: Session, ns: str, outcome: Outcome) -> str:
    """What else there is to say of a write that was applied."""
    said = ""
    try:
        if names := session.writing.written_beside(ns):
            said = f" Beside the edit it wrote {', '.join(names)}."
        # Documents in memory end with this process, so they cannot be undone afterwards.
        if outcome.entry is None or session.is_local:
            return said
        why = session.way_back.hindrance(outcome.entry, outcome.found)
    except Refused as error:  # the write is done, whatever can be learned of it now
        return f"{said} Whether it can be undone is not known. {error}"
    return f"{said} This cannot be undone. {why}" if why else f"{said} (palimpsest undo {outcome.entry})"


def report(outcome: Outcome, as_json: bool, hint: str = "", with_value: bool = False) -> int:
    """Print how a write ended; returns the exit status."""
    said = f"{outcome.kind}: {outcome.detail}{hint}"
    try:
        if as_json:
            say(outcome_json(outcome, with_value), flush=True)
        elif outcome.kind != "refused":
            say(said, flush=True)
    except OSError:
        drop_output()  # the exit status must tell how the write ended, even if the report cannot be printed
        if outcome.kind != "refused":
            say(said, file=sys.stderr)
    if outcome.kind == "refused":
        say(outcome.detail, file=sys.stderr)
    return EXITS[outcome.kind]


def outcome_json(outcome: Outcome, with_value: bool = False, run: str = "") -> str:
    """An outcome as a row; optionally with its number or counter, and its run."""
    row: dict[str, object] = {"outcome": outcome.kind, "ns": outcome.ns, "id": outcome.id, "detail": outcome.detail}
    row |= ({"value": outcome.value} if with_value else {}) | ({"run": run} if run else {})
    return json_row(**row)


# --- the journal


def journal(args: argparse.Namespace) -> int:
    """Print the writes made on this computer, newest first; or delete old entries."""
    if args.prune is not None:
        return _prune(args)
    if args.apply:
        raise Refused("--apply goes with --prune AGE; the journal is only shown otherwise.")
    entries = _entries(Journal())
    if args.json:
        for e in entries:
            say(_entry_json(e))
        return 0
    rows = (
        (e.id, moment(e.at), e.action, e.kind, f"by {e.undone_by}" if e.undone_by else "", e.ns, _id_of(e), e.detail)
        for e in entries
    )
    if not table(("Entry", "At", "Action", "Outcome", "Undone", "Collection", "Document", "Detail"), rows, right=(0,)):
        say("Nothing was written from here so far.")
    return 0


def _prune(args: argparse.Namespace) -> int:
    if args.apply and args.read_only:
        raise Refused("Nothing is forgotten with --read-only; leave it out, or leave out --apply to see what would go.")
    gone, kept = Journal().prune(args.prune, args.apply)
    if args.json:
        say(json_row(entries=gone, kept=kept, applied=args.apply))
        return 0
    how = (
        "forgotten"
        if args.apply
        else "old enough; nothing was forgotten, --apply does it, and they cannot be undone then"
    )
    still = f" {kept:,} older {'one stays' if kept == 1 else 'ones stay'}: not settled, or needed by a younger entry."
    say(f"{gone:,} {'entry is' if gone == 1 else 'entries are'} {how}.{still if kept else ''}")
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
        run=entry.run or None,
        reason=entry.reason or None,
    )


def undo(args: argparse.Namespace) -> int:
    """Undo an entry, or a whole run of repairs, by guarded inverse writes."""
    if args.entry.startswith("run-"):
        return undo_run(args)
    record = Journal().record(args.entry)
    if not record.entry.undoable:
        refused = f"Entry {args.entry} cannot be undone. {record.entry.why_not}"
        return report(Outcome("refused", record.entry.ns, record.document, refused), args.json)
    args.ns = record.entry.ns
    if args.source is None and needs_password(with_kept_password(record.entry.source)):
        raise Refused(f"{record.entry.source} wants a password that is not kept here; give --source URI with it.")
    with open_session(args, args.source or record.entry.source) as session:
        try:
            choose_layout(args, session)
            outcome = session.way_back.undo(args.entry, elsewhere=args.source is not None)
        except Refused as error:
            outcome = Outcome("refused", args.ns, record.document, str(error))
    return report(outcome, args.json)
