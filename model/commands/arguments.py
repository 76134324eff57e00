"""Turns the arguments of a command into a source, a document and its layout."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time

from model.commands.output import Progress
from model.commands.standard_streams import say
from model.errors import NotFound
from model.foundation.records import Version
from model.session import Session
from model.storage import document_ids
from model.values.canonical import Value


def open_session(args: argparse.Namespace, source: str | None = None) -> Session:
    """A session on the command's SOURCE, or on another source."""
    with Progress("Reading", unit="bytes") as progress:
        session = Session.open(
            source or args.source,
            profile=args.profile,
            read_only=args.read_only,
            into_memory=args.into_memory,
            checkpoint=progress,
        )
    for trouble in session.dump.troubles:
        say(f"palimpsest: {trouble}", file=sys.stderr)
    if _overrides_doubt(args):
        session.catalogue.accept()
    if signed := getattr(args, "signed_as", None):
        session.authorship.author = signed
    return session


def document(args: argparse.Namespace, session: Session, create: bool = False) -> Value:
    """The id that NS and ID name, with the requested layout; with ``create``, an id that nothing has is allowed."""
    use_layout(args, session)
    id = find_id(session, args.ns, args.id, create)
    tell_doubt(args, session)
    return id


def current_document(
    args: argparse.Namespace, session: Session, create: bool = False
) -> tuple[Value, tuple[Version, float] | None]:
    """The id as :func:`document` finds it, and the current version, if there is one, with the time of its reading."""
    use_layout(args, session)
    now, current = time.monotonic(), None
    try:
        id, current = session.documents.find_current(args.ns, args.id)
    except NotFound:
        id = find_id(session, args.ns, args.id, create)
    tell_doubt(args, session)
    return id, None if current is None else (current, now)


def find_id(session: Session, ns: str, written: str, create: bool) -> Value:
    """The stored id that a text means; with ``create``, a new id if nothing has it."""
    try:
        return session.documents.find_id(ns, written)
    except NotFound:
        if not create:
            raise
        return document_ids.meant(written)


def choose_layout(args: argparse.Namespace, session: Session) -> None:
    """Use ``--layout`` for NS; say once if the data contradict the profile's statement on it."""
    use_layout(args, session)
    tell_doubt(args, session)


def use_layout(args: argparse.Namespace, session: Session) -> None:
    """Use ``--layout`` for NS."""
    if args.layout:
        session.catalogue.set_layout(args.ns, args.layout)


def tell_doubt(args: argparse.Namespace, session: Session) -> None:
    """Say once if the data contradict the profile's statement on NS; after reading, as far as what was read tells."""
    if args.profile and (_overrides_doubt(args) or not hasattr(args, "yes_layout")):  # others are refused
        with contextlib.suppress(NotFound):
            if doubt := session.catalogue.known(args.ns)[0].doubt:
                say(f"palimpsest: {doubt} The profile states it otherwise.", file=sys.stderr)


def tell_unseen(session: Session, documents: bool = True) -> None:
    """Say on standard error what this user may not see: databases, collections, with ``documents`` also documents."""
    for place, sentence in session.catalogue.unseen.items():
        if "." not in place:
            say(sentence, file=sys.stderr)
        elif documents:
            say(f"{place} was left out: {sentence}", file=sys.stderr)


def _overrides_doubt(args: argparse.Namespace) -> bool:
    return getattr(args, "yes_layout", False)
