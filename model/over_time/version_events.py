"""Converts an event of a change stream, or a row found by polling, to a version.

Nothing else is read: the layout's own fields are in the event. So a change is reported as created, edited or deleted,
with the fields that the event names; whether it restored an earlier state stays open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from model.feed.change_event import ChangeEvent
from model.layouts.base import Layout
from model.layouts.registry import within
from model.over_time.activity import Activity, Deed
from model.server.guards import by_id
from model.storage.composite_ids import CompositeId, KeyInId
from model.storage.reserved_fields import is_marked, is_tombstone, legible_field, number_of, time_of, words
from model.values import canonical as c
from model.values.canonical import Path, Value

FIELDS = 30  # paths of one change to report
LONGEST = 200  # letters of a name, author or reason, so that stored rows stay small
TOLD = ("operationType", "clusterTime", "wallTime", "ns", "documentKey", "updateDescription")
"""The parts of an event that are requested besides fields of its document."""


class VersionEvents:
    """Converts events and rows of one collection to versions."""

    def __init__(self, layout: Layout) -> None:
        self.layout, own, p = layout, layout.own, layout.profile
        self.ns = layout.ns
        self.inside = within(p)
        self.version, self._at, self._token = own.version, own.at, own.token
        sealed = ("", "") if not p.seals_author else (p.author, p.reason)
        self._author, self._reason = own.author or sealed[0], own.reason or sealed[1]
        self._skipped = {"_id", *own.names, *p.ignored} | ({p.id} if p.id else set())
        self._composite = CompositeId(p.id_parts) if p.id_parts else None
        self._keys = KeyInId(p.key_in_id)
        self.names_id = bool(layout.own_documents or p.id == "_id")
        """Whether an update event names its document; otherwise only the document's ``_id`` is known from it."""

    @property
    def fields(self) -> list[str]:
        """The paths in a stored document that are read."""
        p = self.layout.profile
        own = (self.version, self._at, self._token, self._author, self._reason)
        ids = p.id_parts or (p.id,)
        marks = (p.deleted,) if self.layout.own_documents else ()
        return ["_id", *filter(None, (*ids, *marks)), *(self._path(name) for name in own if name)]

    def of(self, event: ChangeEvent) -> Activity | None:
        """The version that an event reports; None for other events."""
        if event.key is None:
            return None
        if event.document is not None and event.kind in ("insert", "replace"):
            if self.layout.own_documents and event.kind != "insert":
                return None
            return self._dated(self.in_row(event.document, "created" if event.kind == "insert" else "edited"), event)
        if self.layout.own_documents:
            return None  # a flag or a version was removed
        if event.kind == "delete":
            return Activity(self.ns, event.key, None, event.at, None, None, "deleted")
        return self._updated(event) if event.kind == "update" else None

    def in_row(self, raw: bytes, kind: Deed = "edited") -> Activity:
        """The version in a stored document, or in those of its fields that were read."""
        if self._keys.paths and legible_field(raw, self._keys.paths[0]) is None:
            raw = self._keys.shown(raw)  # an event has the document as it is stored
        part = self._part(raw)
        v = self._value(part, self.version)
        if self.layout.own_documents:
            kind = "created" if number_of(v) == 1 else "edited"
            kind = "deleted" if self._ends(raw) else kind
        times = (self._value(part, self._at), self._value(part, self._token), self._physical(raw))
        at = next((at for each in times if (at := time_of(each)) is not None), None)
        author, reason = (_shortened(words(self._value(part, name))) for name in (self._author, self._reason))
        paths = self._paths((name,) for name, _ in c.fields(raw)) if self.layout.holds_changes else ()
        return Activity(self.ns, self.id_of(raw), v, at, author, reason, kind, paths)

    def id_of(self, raw: bytes) -> Value:
        """The id of the document that is stored here, or whose version is; its ``_id`` if it has none."""
        id = self._composite.of(raw) if self._composite is not None else legible_field(raw, self.layout.profile.id)
        return id or legible_field(raw, "_id") or Value.of(None)

    # --- parts of it

    def _path(self, name: str) -> str:
        return f"{self.inside}.{name}" if self.inside else name

    def _part(self, raw: bytes) -> bytes:
        if not self.inside:
            return raw
        found = legible_field(raw, self.inside)
        return found.data if found is not None and found.type == c.OBJECT else c.EMPTY

    @staticmethod
    def _value(part: bytes, name: str) -> Value | None:
        return legible_field(part, name)

    def _physical(self, raw: bytes) -> Value | None:
        return legible_field(raw, "_id") if self.layout.own_documents else None

    def _ends(self, raw: bytes) -> bool:
        """Whether a row is a tombstone; with the marker, all fields are examined."""
        p = self.layout.profile
        if not is_marked(raw, p):
            return False
        key = legible_field(raw, "_id")
        whole = next(iter(self.layout.server.find(self.ns, by_id(key), limit=1)), None) if key is not None else None
        return whole is not None and is_tombstone(whole, self.layout.own, p)

    def unsaid(self, event: ChangeEvent) -> frozenset[str]:
        """Which of ``author`` and ``reason`` an update left unchanged, so that its event does not report them."""
        if event.kind != "update" or (self.inside and event.set_to(self.inside) is not None):
            return frozenset()
        touched = set(event.paths)
        named = (("author", self._author), ("reason", self._reason))
        return frozenset(said for said, name in named if name and self._path(name) not in touched)

    @staticmethod
    def _dated(row: Activity, event: ChangeEvent) -> Activity:
        return row if row.at is not None else replace(row, at=event.at)

    def _updated(self, event: ChangeEvent) -> Activity | None:
        whole = event.set_to(self.inside) if self.inside else None
        part = whole.data if whole is not None and whole.type == c.OBJECT else None
        v, at, token, author, reason = (
            (c.get(part, (name,)) if part is not None else event.set_to(self._path(name))) if name else None
            for name in (self.version, self._at, self._token, self._author, self._reason)
        )
        if self.version and v is None:
            return None  # a change of the existing version
        steps = (path.split(".") for path in event.paths)
        before = 1 if self.inside else 0
        paths = self._paths(each[before:] for each in steps if not before or each[0] == self.inside)
        if not self.version and not paths:
            return None
        when = time_of(at) or time_of(token) or event.at
        said = _shortened(words(author)), _shortened(words(reason))
        assert event.key is not None
        return Activity(self.ns, event.key, v, when, *said, "edited", paths)

    def _paths(self, touched: Iterable[Iterable[str]]) -> tuple[Path, ...]:
        """The fields at some paths, each once, no deeper than sub-documents."""
        found: dict[Path, None] = {}
        for each in touched:
            steps = tuple(_to_array(each))
            if steps and steps[0] not in self._skipped and len(found) < FIELDS:
                found.setdefault(tuple(_shortened(step) or "" for step in steps))
        return tuple(found)


def _to_array(steps: Iterable[str]) -> Iterator[str]:
    for step in steps:
        if step.isdigit():
            return
        yield step


def _shortened(said: str | None) -> str | None:
    return said if said is None or len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"
