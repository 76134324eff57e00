"""Commands that may be repeated, but count once: next, insert, count and process."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable

from bson import ObjectId

from model import text
from model.commands.arguments import choose_layout, find_id, open_session
from model.commands.write import report
from model.errors import Refused
from model.foundation.input_files import SMALL
from model.foundation.records import Outcome
from model.session import Session
from model.session.exactly_once import BY_HASH
from model.storage.document_ids import meant
from model.values.canonical import Value


def next_number(args: argparse.Namespace) -> int:
    """Hand out the next number of a counter."""

    def do(session: Session) -> Outcome:
        counter = find_id(session, args.ns, args.counter, args.create)
        return session.once.next(args.ns, counter, args.create)

    return _one_write(args, do)


def insert(args: argparse.Namespace) -> int:
    """Insert a document with a given id, the hash of its content, or the next number."""
    if args.id is not None and args.next:
        raise Refused("Say --id or --next; the next number is the id, unless --field names another place for it.")
    if args.id_by_hash and (args.id is not None or args.next):
        raise Refused("With --id-by-hash the hash of the content is the id; leave out --id and --next.")
    if (args.field or args.counter) and not args.next:
        raise Refused("--field and --counter say where the number of --next goes and comes from; add --next.")
    content = text.loose(_typed() if args.document == "-" else args.document)

    def do(session: Session) -> Outcome:
        if args.id_by_hash:
            return session.once.insert(args.ns, content, BY_HASH)
        if not args.next:
            return session.once.insert(args.ns, content, None if args.id is None else meant(args.id))
        return session.once.insert_next(args.ns, content, args.field or "", _counter(session, args.counter))

    return _one_write(args, do)


def _typed() -> str:
    """A document on standard input; raises ``Refused`` if it never ends."""
    said = sys.stdin.read(SMALL + 1)
    if len(said) > SMALL:
        raise Refused(f"Standard input has more than {SMALL >> 20} MB, which is more than a document; pass a document.")
    return said


def _counter(session: Session, written: str | None) -> tuple[str, Value] | None:
    if written is None:
        return None
    ns, colon, name = written.rpartition(":")
    if not colon or "." not in ns or not name:
        raise Refused(f"{written} is not a counter; write it as database.collection:name.")
    return ns, session.documents.find_id(ns, name)


def count(args: argparse.Namespace) -> int:
    """Raise a two-step counter once."""

    def do(session: Session) -> Outcome:
        token = None if args.token is None else _token(args.token)
        id = find_id(session, args.ns, args.id, args.create)
        return session.once.count(args.ns, id, token, args.by, args.owner, args.create)

    return _one_write(args, do)


def process(args: argparse.Namespace) -> int:
    """Raise a total for an entry, once."""

    def do(session: Session) -> Outcome:
        key = find_id(session, args.ns, args.key, args.create)
        return session.once.process(args.ns, key, meant(args.entry), args.by, args.field or "", args.create)

    return _one_write(args, do)


def _one_write(args: argparse.Namespace, write: Callable[[Session], Outcome]) -> int:
    with open_session(args) as session:
        try:
            choose_layout(args, session)
            outcome = write(session)
        except Refused as error:
            outcome = Outcome("refused", args.ns, None, str(error))
    return report(outcome, args.json, with_value=True)


def _token(written: str) -> Value:
    """A token: the digits of an ObjectId as the window shows them, Extended JSON, else plain text."""
    if re.fullmatch(r"[0-9a-f]{24}", written):
        return Value.of(ObjectId(written))
    return Value.of(written) if written.isdigit() else meant(written)
