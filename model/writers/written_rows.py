"""The rows that another program wrote about a document: found, ordered, and read by a profile's paths.

A row is a stored document, or an element of an array in one. Paths are names separated by dots; a number selects an
array element.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise, starmap
from operator import lt
from struct import iter_unpack
from typing import Any, overload

from msgspec import Struct

from model.errors import TooMuch, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.patches import DoesNotApply, Node, field_lists, tree_of
from model.patches.meaning import ids_of, iso_time, text_of
from model.patches.tree import node_of
from model.server.retry import Port, Terms
from model.storage.numbering import VersionPlace
from model.storage.reserved_fields import place_of, time_of, words
from model.storage.row_paths import value_at
from model.text import json_reader
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS
from model.writers.object_parts import assembled

_FORMS = {c.DOUBLE: "<d", c.INT32: "<i", c.INT64: "<q", c.DATE: "<q", c.OBJECT_ID: "12s"}
"""Struct formats for comparing values of one type by their bytes."""


class WrittenRow(Struct, frozen=True, dict=True):
    """One row of a document's history; its fields are read on first use."""

    raw: bytes
    profile: CollectionProfile

    @property
    def v(self) -> Value | None:
        """Its version, if rows have one; for a row that removes the document, its position."""
        p = self.profile
        path = p.order if p.version and self.removes else p.version
        return value_at(self.raw, path) if path else None

    @property
    def at(self) -> dt.datetime | None:
        """When it was written."""
        at = moment(value_at(self.raw, self.profile.at)) if self.profile.at else None
        return at or time_of(c.get(self.raw, ("_id",)))

    @property
    def author(self) -> str | None:
        """Who made the change."""
        return words(value_at(self.raw, self.profile.author)) if self.profile.author else None

    @property
    def reason(self) -> str | None:
        """Why it was made."""
        return words(value_at(self.raw, self.profile.reason)) if self.profile.reason else None

    @property
    def operation(self) -> str | None:
        """What was done to the document; single letters of a program are spelt out."""
        operation = self.profile.operation
        said = value_at(self.raw, operation.field) if operation is not None else None
        if operation is None or said is None or said.type != c.STRING:
            return None
        word = str(said.python())
        if len(word) > 1:
            return word.lower()
        return "insert" if word in operation.insert else "remove" if word in operation.remove else "update"

    @cached_property
    def removes(self) -> bool:
        """Whether it says that the document was deleted."""
        operation = self.profile.operation
        return operation is not None and words(value_at(self.raw, operation.field)) in operation.remove

    @cached_property
    def change(self) -> Node:
        """Its patch; raises ``DoesNotApply`` if it has none."""
        found = told_at(self.raw, self.profile.changes, self.profile)
        if found is None:
            raise DoesNotApply(f"the row has no {self.profile.changes}")
        return node_of(found)

    @cached_property
    def snapshot(self) -> dict[str, Node] | None:
        """The whole state, which a row of patches may also contain; None if it does not."""
        found = told_at(self.raw, self.profile.content, self.profile) if self.profile.content else None
        return tree_of(found.data) if found is not None and found.type == c.OBJECT else None

    @property
    def aside(self) -> str:
        """Why it cannot be the current state, in the row's own word; "" if it can."""
        return next(filter(None, starmap(self._speaks_against, self.profile.current_where.items())), "")

    def _speaks_against(self, path: str, wanted: str) -> str:
        """The word in a field by which a row cannot be the current state; "" if it is the wanted one or missing."""
        return other_word(value_at(self.raw, path), wanted)


def told_at(raw: bytes, path: str, profile: CollectionProfile) -> Value | None:
    """The state or patch at a path of a row, read from its JSON text if the profile says that it is one."""
    found = value_at(raw, path)
    if not profile.notation or found is None or found.type != c.STRING:
        return found
    try:
        return json_reader.read(str(found.python()))
    except Unreadable:
        return found


def other_word(value: Value | None, wanted: str) -> str:
    """The word of a field, or the first word of a field with one for each language, unless it is the wanted one."""
    said = [words(each) for each in c.items(value)] if value is not None and value.type == c.OBJECT else [words(value)]
    return "" if {None, wanted} & set(said) or not said else str(said[0])


def order_of(raw: bytes, path: str) -> float:
    """The number in a field that orders rows: a version, a commit number, or a time; 0 if there is none."""
    found = value_at(raw, path) if path else None
    if found is None:
        return 0.0
    if found.type in NUMBERS:
        return float(str(found.python()))
    at = moment(found)
    return at.timestamp() if at is not None else float(place_of(found) or 0)


def moment(value: Value | None) -> dt.datetime | None:
    """The time in a Date, an ObjectId, or an ISO 8601 text; UTC if the text has no zone."""
    if value is None or value.type != c.STRING:
        return time_of(value)
    found = iso_time(str(value.python()))
    return found if found is None or found.tzinfo is not None else found.replace(tzinfo=dt.UTC)


def _projected(path: str) -> str:
    """The part of a path that a server can project, without array elements."""
    steps = path.split(".")
    return ".".join(steps[: next((at for at, step in enumerate(steps) if step.isdigit()), len(steps))])


_NO_ID = Value.of(None)
NEWEST_FIRST = "newest first"
"""The order of an array that grows at its beginning."""
WITHIN_MS = 30_000  # for the rows of one document
MANY = 10_000  # rows of a collection: searching fewer than that is never slow
PLACE = re.compile(r"\{([^{}]+)\}")
"""The field in a collection's name, if each document has its own collection of rows."""


def _leads(index: object, keys: Mapping[str, int]) -> bool:
    """Whether an index finds rows by the last of these keys, preceded only by others of them."""
    *before, last = keys
    names = list(map(str, index)) if isinstance(index, Mapping) else []
    return last in names and set(names[: names.index(last)]) <= set(before)


def _joined(raws: list[bytes], profile: CollectionProfile) -> list[bytes]:
    """Rows in order, in which those of one field each with one time are one: a program wrote them at once."""
    if profile.patch != "fields" or profile.changes or not profile.at:
        return raws
    found: list[bytes] = []
    for at, together in groupby(raws, key=lambda raw: value_at(raw, profile.at)):
        several = list(together)
        if at is None or len(several) == 1:
            found += several
            continue
        beside = [(name, value) for name, value in c.fields(several[0]) if name != field_lists.JOINED]
        found.append(c.document([*beside, (field_lists.JOINED, c.array(map(Value.document, several)))]))
    return found


class RowsInOrder(Sequence[WrittenRow]):
    """Rows from oldest to newest, each created from its bytes on request."""

    def __init__(self, raws: Sequence[bytes], profile: CollectionProfile) -> None:
        self.raws, self.profile = raws, profile

    def __len__(self) -> int:
        return len(self.raws)

    @overload
    def __getitem__(self, at: int) -> WrittenRow: ...

    @overload
    def __getitem__(self, at: slice) -> RowsInOrder: ...

    def __getitem__(self, at: int | slice) -> WrittenRow | RowsInOrder:
        if isinstance(at, slice):
            return RowsInOrder(self.raws[at], self.profile)
        return WrittenRow(self.raws[at], self.profile)


class WrittenRows:
    """The rows about the documents of one collection."""

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        self.server, self.profile = server, profile
        self.ns = profile.archive

    @property
    def places(self) -> tuple[VersionPlace, ...]:
        """The collection with the rows, if a document's id alone leads to them; else ()."""
        p = self.profile
        if p.id_parts or p.parts or not p.archive_id or PLACE.search(self.ns):
            return ()
        return (VersionPlace(self.ns, p.archive_id, self.where()),)

    def place(self, id: Value) -> str:
        """The collection with a document's rows; "" if only the document names it and it is gone."""
        field = PLACE.search(self.ns)
        if field is None:
            return self.ns
        found = self.server.find(self.profile.ns, {self.profile.id: {"$eq": id}}, projection={field[1]: 1}, limit=1)
        name = next((value_at(raw, field[1]) for raw in found), None)
        return PLACE.sub(str(name.python()), self.ns) if name is not None and name.type == c.STRING else ""

    def where(self, id: Value | None = None) -> dict[str, Any]:
        """The filter for a document's rows, or for all rows of this collection's documents."""
        p = self.profile
        found: dict[str, Any] = {name: {"$eq": Value.of(said)} for name, said in p.where.items()}
        if id is not None and p.archive_id:
            is_other = p.notation and id.type != c.STRING
            written = text_of(id) if is_other or (p.parts and id.type in (c.OBJECT_ID, c.BINARY)) else None
            if written is None:
                found[p.archive_id] = {"$eq": id}
            elif p.parts:
                found[p.archive_id] = {"$eq": Value.of(written)}
            else:
                found[p.archive_id] = {"$in": [id, Value.of(written)]}
        return found

    def unindexed(self) -> str:
        """The index whose lack makes searching a document's rows slow, one sentence; "" if none is missing."""
        keys = self._index()
        if not keys or PLACE.search(self.ns) or (self.server.count(self.ns) or MANY) < MANY:
            return ""
        if any(_leads(index.get("key"), keys) for index in self.server.indexes(self.ns)):
            return ""
        name = self.ns.partition(".")[2]
        return f"For each document all of {name} is read, as it has no index on {json.dumps(keys)}: create one."

    def _index(self) -> dict[str, int]:
        """The keys of an index by which a document's rows are found."""
        p = self.profile
        return dict.fromkeys([p.parts] if p.parts else [*p.where, *filter(None, [p.archive_id])], 1)

    def _found(self, ns: str, filter: Terms) -> Iterator[bytes]:
        """Stored rows; raises ``TooMuch`` that names the missing index if the search takes too long."""
        try:
            yield from self.server.find(ns, filter, max_ms=WITHIN_MS)
        except TooMuch as error:
            if unindexed := self.unindexed():
                raise TooMuch(f"{str(error).partition(';')[0]}. {unindexed}") from None
            raise

    def any(self, id: Value) -> bool:
        """Whether there is a row about this document."""
        return next(self._stored(id), None) is not None

    def of(self, id: Value) -> RowsInOrder:
        """The rows of a document, oldest to newest."""
        p = self.profile
        if p.elements:
            raws = [element for raw in self._stored(id) for element in self._elements(raw)]
            raws = raws[::-1] if p.order == NEWEST_FIRST else raws
        elif p.parts:
            raws = list(assembled(self._parts(id), p))
        else:
            raws = self._in_order(list(self._stored(id)))
        return RowsInOrder(_joined(raws, p), p)

    def in_order(self, rows: Iterable[WrittenRow]) -> RowsInOrder:
        """Rows that are stored documents, oldest to newest."""
        return RowsInOrder(self._in_order([row.raw for row in rows]), self.profile)

    def tells_of(self, row: WrittenRow, id: Value) -> bool:
        """Whether a row would be found as one about this document."""
        p = self.profile
        there = all(value_at(row.raw, name) == Value.of(said) for name, said in p.where.items())
        return there and value_at(row.raw, p.archive_id) == id

    def holder(self, id: Value) -> bytes | None:
        """The stored document that holds a document's rows in an array."""
        return next(self._stored(id), None)

    def _in_order(self, raws: list[bytes]) -> list[bytes]:
        """Stored rows from oldest to newest; sorted only if they are not yet in order."""
        path = self.profile.order or self.profile.version or "_id"
        if "." not in path:
            found = c.column(raws, path)
            if found is not None and len(found) == len(raws):
                kind = value_at(raws[0], path)
                assert kind is not None
                if form := _FORMS.get(kind.type):
                    places = [place for (place,) in iter_unpack(form, b"".join(found))]
                    if all(map(lt, places, places[1:])):
                        return raws
        return sorted(raws, key=self._place)

    def outlined(self, ids: Sequence[Value]) -> Mapping[Value, Sequence[WrittenRow]]:
        """The rows of each document from oldest to newest, reduced to what distinguishes versions."""
        p = self.profile
        if p.parts or PLACE.search(self.ns):
            return {id: self.of(id) for id in ids}
        found: dict[Value, list[bytes]] = {id: [] for id in ids}
        named = {Value.of(text): id for id in ids if p.notation and (text := text_of(id)) is not None}
        named |= {id: id for id in ids}
        where = self.where() | {p.archive_id: {"$in": list(named)}}
        for raw in self.server.find(self.ns, where, projection=self._outline_fields()) if ids else ():
            if (id := named.get(value_at(raw, p.archive_id) or _NO_ID)) is not None:
                found[id] += self._elements(raw) if p.elements else [raw]
                if p.order == NEWEST_FIRST:
                    found[id].reverse()
        return {
            id: [WrittenRow(raw, p) for raw in _joined(raws if p.elements else sorted(raws, key=self._place), p)]
            for id, raws in found.items()
        }

    def _outline_fields(self) -> dict[str, int]:
        """The fields that tell versions apart, without those inside of others among them."""
        p = self.profile
        operation = p.operation.field if p.operation else ""
        told = (p.version, p.at, p.author, p.reason, p.order, operation, *p.current_where)
        inside = f"{p.elements}." if p.elements else ""
        wanted = {_projected(path) for path in (p.archive_id, *(f"{inside}{path}" for path in told if path))}
        if p.elements:
            wanted.add(f"{p.elements}._id")
        if p.patch and p.content:
            wanted.add(f"{p.content}._id")  # which rows hold a state
        return {path: 1 for path in sorted(wanted) if not any(path.startswith(f"{other}.") for other in wanted)}

    def _stored(self, id: Value) -> Iterator[bytes]:
        """The stored documents about exactly this document, in the server's order."""
        path, ns = self.profile.archive_id, self.place(id)
        if not ns:
            return
        # The server also finds 1.0 for 1. A row that contains these bytes has the right type, and need not be decoded.
        there = bytes([id.type]) + path.rpartition(".")[2].encode() + b"\x00" + id.data
        known = self._key_of(id)
        if known is not None:
            rows = list(self._found(ns, self.where() | {self.profile.parts: {"$eq": known}}))
            if rows:
                yield from (raw for raw in rows if self._is_of(value_at(raw, path), id))
                return
        for raw in self._found(ns, self.where(id)):
            if not path or there in raw or self._is_of(value_at(raw, path), id):
                yield raw

    def _key_of(self, id: Value) -> Value | None:
        """The key of a document's own row in JaVers' form, which is indexed; None for other rows."""
        p = self.profile
        written = text_of(id) if p.parts and len(p.where) == 1 else None
        return Value.of(f"{next(iter(p.where.values()))}/{written}") if written is not None else None

    def _is_of(self, row: Value | None, id: Value) -> bool:
        """Whether a row's id is a document's; rows in other types may have it as text."""
        return row == id or (self.profile.is_in_other_types and row is not None and id in ids_of(row))

    def _elements(self, raw: bytes) -> Iterator[bytes]:
        """The rows inside a stored document."""
        array = value_at(raw, self.profile.elements)
        if array is not None and array.type == c.ARRAY:
            yield from (each.data for each in c.items(array) if each.type == c.OBJECT)

    def _parts(self, id: Value) -> list[bytes]:
        """The rows of a document and its parts, in order; a part's key starts with the document's."""
        p = self.profile
        own = next((value_at(raw, p.parts) for raw in self._stored(id)), None)
        if own is None or own.type != c.STRING:
            return []
        below = {"$regex": f"^{re.escape(str(own.python()))}#"}
        found = list(self._found(self.ns, {"$or": [{p.parts: {"$eq": own}}, {p.parts: below}]}))
        return sorted(found, key=self._place if self._is_numbered(found, own) else self._moment)

    def _is_numbered(self, rows: Sequence[bytes], own: Value) -> bool:
        """Whether commits have numbers that rise; programs with several instances draw them by lot."""
        versions = sorted(
            (order_of(raw, "version"), order_of(raw, self.profile.order)) for raw in rows if self._is_own(raw, own)
        )
        return all(older <= newer for (_, older), (_, newer) in pairwise(versions))

    def _is_own(self, raw: bytes, own: Value) -> bool:
        return value_at(raw, self.profile.parts) == own

    def _moment(self, raw: bytes) -> tuple[float, float, float]:
        """A row's position by its time, for commits without rising numbers; one commit stays together."""
        at = moment(value_at(raw, self.profile.at)) if self.profile.at else None
        return at.timestamp() if at else 0.0, order_of(raw, self.profile.order), order_of(raw, "version")

    def _place(self, raw: bytes) -> tuple[float, bytes]:
        """A row's position: by the ordering field, then by its ``_id``."""
        physical = c.get(raw, ("_id",))
        return order_of(raw, self.profile.order or self.profile.version), physical.data if physical is not None else b""

    def ids(self, most: int) -> Iterator[Value]:
        """The documents that the first ``most`` rows are about, each once."""
        seen: set[Value] = set()
        if not self.profile.archive_id:
            return
        wanted = {self.profile.archive_id: 1}
        for raw in self.server.find(self.ns, self.where(), projection=wanted, limit=most):
            id = value_at(raw, self.profile.archive_id)
            if id is not None and id not in seen:
                seen.add(id)
                yield id
