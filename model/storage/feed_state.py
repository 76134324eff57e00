"""The state of a feed, stored beside its archive in ``<archive>_feed``; read for histories.

``{_id: <ns>, token, at, saved, way, whole, _w}`` is how far the feed has come. ``{_id: {ns, id, v, what}, at,
detail}`` is a note: either that a version could not be archived when its event came (a later run may have archived
it), or, with the event's token, that the document was deleted after that version. ``model.feed.ledger`` writes both.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

from msgspec import Struct

from model.errors import NotAllowed, Refused
from model.server import guards
from model.server.retry import Port
from model.storage.reserved_fields import place_of
from model.values import canonical as c
from model.values.canonical import Value

SUFFIX = "_feed"
LOST: Final = "lost"
IN_PLACE: Final = "changed in place"
DELETED: Final = "deleted"
TAKEN_BACK: Final = "taken back"
_NOTES = 1000
_BEYOND = Value(c.MAX_KEY, b"")


class Place(Struct, frozen=True):
    """How far a feed has come."""

    token: bytes | None = None  # None: by polling, or before the first event
    at: dt.datetime | None = None  # of the last event handled; by polling, of the last poll
    saved: dt.datetime | None = None
    way: str = "stream"  # or polling
    whole: bool = False  # no gap since it last caught up: the archive has every version since then

    @property
    def words(self) -> str:
        """How far it has come, in a few words."""
        if self.at is None:
            return "its feed has seen no change so far"
        return f"its feed has reached {self.at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"


def place_in(raw: bytes) -> Place:
    """The feed's place in a stored document."""
    token, way = c.get(raw, ("token",)), c.get(raw, ("way",))
    return Place(
        token.data if token is not None and token.type == c.OBJECT else None,
        _date(c.get(raw, ("at",))),
        _date(c.get(raw, ("saved",))),
        str(way.python()) if way is not None else "stream",
        c.get(raw, ("whole",)) == Value.of(True),
    )


def place(server: Port, ns: str, archive: str) -> Place | None:
    """How far the feed of a collection has come; None if nothing is stored, or it may not be read."""
    found = _row(server, archive, Value.of(ns))
    return None if found is None else place_in(found)


def unread(server: Port, ns: str, archive: str) -> str:
    """Why this user may not read how far the feed has come, one sentence; "" if allowed."""
    try:
        next(iter(server.find(archive + SUFFIX, guards.by_id(Value.of(ns)), limit=1)), None)
    except NotAllowed as refusal:
        return f"How far its feed has come is not known. {refusal}"
    return ""


def _row(server: Port, archive: str, key: Value) -> bytes | None:
    try:
        return next(iter(server.find(archive + SUFFIX, guards.by_id(key), limit=1)), None)
    except NotAllowed:
        return None


def note_key(ns: str, id: Value, v: Value, what: str) -> Value:
    """The ``_id`` of a note on a version."""
    return Value.document(c.document([("ns", Value.of(ns)), ("id", id), ("v", v), ("what", Value.of(what))]))


def deleted(server: Port, ns: str, archive: str, id: Value, v: Value) -> dt.datetime | None:
    """When a document was deleted after this version; None if its feed did not see that."""
    key = note_key(ns, id, v, DELETED)
    found = _row(server, archive, key)
    return _date(c.get(found, ("at",))) if found is not None else None


def notes(server: Port, ns: str, archive: str, id: Value) -> dict[tuple[str, int | None], dt.datetime | None]:
    """The notes on a document's versions: kind and version number, with the time of the note or event."""
    of = {"_id.ns": ns, "_id.id": {"$eq": id}}
    named = [("ns", Value.of(ns)), ("id", id)]
    # Documents compare field by field, so all keys that begin with these two lie between; MaxKey is above every
    # version.
    whole = {"$gte": Value.document(c.document(named)), "$lt": Value.document(c.document([*named, ("v", _BEYOND)]))}
    try:
        raws = list(server.find(archive + SUFFIX, {"_id": whole, **of}, limit=_NOTES))  # uses the index
    except NotAllowed:
        return {}
    except Refused:  # this server cannot compare documents
        raws = list(server.find(archive + SUFFIX, of, limit=_NOTES))
    found: dict[tuple[str, int | None], dt.datetime | None] = {}
    for raw in raws:
        what = c.get(raw, ("_id", "what"))
        # The comparison finds 1 and 1.0 equal, as the index does.
        if what is not None and c.get(raw, ("_id", "id")) == id:
            found[str(what.python()), place_of(c.get(raw, ("_id", "v")))] = _date(c.get(raw, ("at",)))
    return found


def _date(value: Value | None) -> dt.datetime | None:
    at = value.python() if value is not None and value.type == c.DATE else None
    return at if isinstance(at, dt.datetime) else None
