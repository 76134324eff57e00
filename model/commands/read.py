"""Commands that only read: collections, history, show and find."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from model import text
from model.commands.arguments import choose_layout, document, open_session, tell_doubt, tell_unseen, use_layout
from model.commands.output import NEVER, Progress, json_row, moment, number, size, table, tell_kept
from model.commands.standard_streams import say
from model.errors import NotFound, Refused, Unreadable
from model.foundation.records import CollectionInfo, Row, Version
from model.session import Session
from model.storage.current_documents import REPEATED
from model.storage.numbering_ways import WAYS
from model.text.names import id_name, version_name
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.catalogue.offers import Offer


def collections(args: argparse.Namespace) -> int:
    """Print each collection with its layout and the reason for it."""
    with open_session(args) as session, Progress("Looking at collection") as progress:
        found: Iterable[CollectionInfo] = session.catalogue.collections(checkpoint=progress)
        offers: Mapping[str, Offer] | None = None
        if args.offers:
            found = list(found)
            offers = {each.profile.ns: each for each in session.catalogue.offers([it.ns for it in found], progress)}
        if args.json:
            for info in found:
                progress.make_way()
                say(_collection_json(info, offers))
        else:
            rows = (
                (
                    info.ns,
                    info.layout,
                    number(info.documents),
                    f"{info.confidence:.0%}",
                    _named(info.fields.items()),
                    _said(info, (offers or {}).get(info.ns)),
                )
                for info in found
            )
            table(("Collection", "Layout", "Documents", "Sure", "Fields", "Why"), rows, right=(2, 3), progress=progress)
        tell_unseen(session, documents=False)  # the rows tell about documents
    return 0


def _collection_json(info: CollectionInfo, offers: Mapping[str, Offer] | None) -> str:
    row: dict[str, Any] = {"ns": info.ns, "layout": info.layout, "fields": dict(info.fields)}
    row |= {"documents": info.documents, "confidence": info.confidence, "why": _grounds(info)}
    if info.writer:
        row["writer"] = info.writer
    if offers is not None:
        row["offers"] = [_offer_json(offers[info.ns])] if info.ns in offers else []
    return json_row(**row)


def _offer_json(offer: Offer) -> dict[str, Any]:
    """An offer with the keys of the profile that would state it."""
    from model.profile import minimal

    return {"said": offer.said, "right": offer.right, "looked": offer.looked, "profile": minimal(offer.profile)}


def _said(info: CollectionInfo, offer: Offer | None) -> str:
    """Why a layout was proposed, how versions are numbered if it is unusual, and what is offered."""
    numbering = "" if info.numbering == WAYS["next"] else info.numbering
    offered = f"Offered, not proven: {offer.said} `palimpsest profile` prints it." if offer is not None else ""
    return " ".join(filter(None, (_grounds(info), numbering, offered)))


def _grounds(info: CollectionInfo) -> str:
    """Why the layout was proposed, and which other layouts fit as well."""
    also = " or ".join(filter(None, (", ".join(info.alternatives[:-1]), *info.alternatives[-1:])))
    return f"{info.why} It fits {also} as well." if also else info.why


def _named(fields: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"{role}={name}" for role, name in fields)


def history(args: argparse.Namespace) -> int:
    """Print the versions of a document, newest first."""
    with open_session(args) as session, Progress("Reading version") as progress:
        id = document(args, session)
        versions = session.history.versions(args.ns, id, progress, changed=not args.json)
        if args.json:
            for version in versions:
                progress.make_way()
                say(_history_json(version))
            return 0
        named = session.catalogue.known(args.ns)[0].fields
        said = [role for role in ("author", "reason") if role in named]  # columns only for what is recorded
        rows = (
            (
                version_name(v.v) + (" (current)" if v.current else ""),
                v.stored if v.state != "missing" else "",
                v.state,
                size(v.bytes),
                number(v.changed),
                moment(v.at),
                *(getattr(v, role) or "" for role in said),
                (v.hash or "")[:12],
                v.detail,
            )
            for v in versions
        )
        beside = [{"author": "By", "reason": "Reason"}[role] for role in said]
        header = ("Version", "Stored", "State", "Size", "Changed", "At", *beside, "Hash", "")
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
        author=version.author,
        reason=version.reason,
        operation=version.operation,
        detail=version.detail,
        **NEVER if not version.landed else {},
    )


def show(args: argparse.Namespace) -> int:
    """Print one version's content, or the stored document."""
    with open_session(args) as session:
        use_layout(args, session)
        id, version = _version_meant(session, args.ns, args.id, args.of_version)
        tell_doubt(args, session)
        raw = version.content
        if args.stored:
            raw = None if version.raw is None else session.history.stored(args.ns, version.raw)
    if raw is None:
        what = "stored document" if args.stored else "content"
        raise Refused(
            f"{version_name(version.v)} of {id_name(id)} has no {what} to show: {version.detail or version.state}."
        )
    try:
        written = text.to_text(raw, None if args.json else 2)
    except Unreadable as error:
        damage = str(error).rstrip(".")
        raise Unreadable(
            f"{id_name(id)} does not decode, so it has no Extended JSON ({damage}); "
            "`palimpsest history` tells its size and hash."
        ) from None
    if version.detail == REPEATED:
        say(f"{id_name(id)} is {REPEATED}.", file=sys.stderr)
    tell_kept(version)
    say(written)
    return 0


def find(args: argparse.Namespace) -> int:
    """Print the documents that match, as they arrive; 1 if there are none."""
    count = 0
    damaged = 0
    with open_session(args) as session, Progress("Reading document") as progress:
        choose_layout(args, session)
        for row in session.documents.matching_now(args.ns, args.filter, args.sort, args.fields, args.limit):
            progress(count, args.limit or None)
            written = _document_text(row, None if args.json else 2)
            if written is None:
                damaged += 1
                continue
            if not count:
                progress.make_way()
            say(written)
            count += 1
    if damaged:
        those = "document does" if damaged == 1 else "documents do"
        say(f"{damaged:,} {those} not decode and were left out; `palimpsest scan` finds them.", file=sys.stderr)
    return 0 if count else 1


def _document_text(row: Row, indent: int | None) -> str | None:
    """A document as Extended JSON; None if it does not decode."""
    if not row.readable:
        return None
    try:
        return text.to_text(row.raw, indent)
    except Unreadable:
        return None


def _version_meant(session: Session, ns: str, written: str, of_version: str | None) -> tuple[Value, Version]:
    """The document and version that ID[@V] means: text after the last @ is a version only if the document has it."""
    if of_version is not None:
        id = session.documents.find_id(ns, written)
        return id, session.catalogue.reading.version_meant(ns, id, of_version)
    head, at, tail = written.rpartition("@")
    why: Refused | None = None
    if at and head and tail:
        try:
            id = session.documents.find_id(ns, head)
        except NotFound:
            pass
        except Refused as error:
            why = error  # several ids are written like this
        else:
            try:
                return id, session.catalogue.reading.version_meant(ns, id, tail)
            except NotFound as error:
                why = error
    try:
        return session.documents.find_current(ns, written, seen=True)
    except NotFound:
        if why is not None:
            raise why from None
        raise
