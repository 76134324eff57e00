"""The arguments of a command as a source, a document and its layout."""

from __future__ import annotations

import argparse

from model.session import Session
from model.values.canonical import Value


def open_session(args: argparse.Namespace, source: str | None = None) -> Session:
    """The session of the command's SOURCE, or of another one."""
    return Session.open(source or args.source, profile=args.profile, into_memory=args.into_memory)


def document(args: argparse.Namespace, session: Session) -> Value:
    """The id that NS and ID name, in the layout that was asked for."""
    choose_layout(args, session)
    return session.find_id(args.ns, args.id)


def choose_layout(args: argparse.Namespace, session: Session) -> None:
    """Use ``--layout`` for NS."""
    if args.layout:
        session.set_layout(args.ns, args.layout)
