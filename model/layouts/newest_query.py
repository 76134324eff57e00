"""The newest versions, in the order of a list, where every version is a document of its own.

The newest version of a document is the one with the highest number, and it is picked before any filter looks at it. A
list walks the ids through the index on id and version and leaps over long histories, or streams the keys of
versions that match the filter and keeps those that are the newest; it never loads all versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from model.collection_profile import CollectionProfile
from model.errors import NotFound
from model.layouts.checks.id_order import key_of
from model.layouts.reserved_fields import number_of
from model.server.retry import Port, Terms
from model.values import canonical as c
from model.values.canonical import Value

LEAP = 8
"""Versions of one document that are passed over one by one before the index is entered anew behind them."""

KEPT = 10_000
"""Documents whose newest version is remembered while a list is made."""

BRACKETS = (
    (c.MIN_KEY,), (c.NULL, c.UNDEFINED), (c.INT32, c.INT64, c.DOUBLE, c.DECIMAL128), (c.STRING, c.SYMBOL), (c.OBJECT,),
    (c.ARRAY,), (c.BINARY,), (c.OBJECT_ID,), (c.BOOLEAN,), (c.DATE,), (c.TIMESTAMP,), (c.REGEX,), (c.MAX_KEY,),
)  # fmt: skip
"""Types in the order in which a server sorts them; ``$gt`` compares within one of them only."""


DEPRECATED = (c.UNDEFINED, c.SYMBOL)


@dataclass(frozen=True)
class NewestQuery:
    """The newest versions of one collection; ``newest`` reads one of them whatever the types of its numbers."""

    server: Port
    profile: CollectionProfile
    newest: Callable[[Value], bytes]

    @property
    def _keys(self) -> dict[str, int]:
        """The fields that are read of each version: its key, and the marker by which a tombstone is known."""
        p = self.profile
        return {name: 1 for name in (p.id, p.version, p.deleted) if name}

    def picked(self, filter: Terms | None, sort: Terms | None, any_version: bool) -> Iterator[bytes]:
        """The keys of the newest versions to list, in order."""
        p = self.profile
        if (not filter or any_version) and (not sort or list(sort) == [p.id]):
            down = sort is not None and _down(sort)
            for raw in self.heads(filter, down):
                if not filter:
                    yield raw
                elif (id := c.get(raw, (p.id,))) is not None:
                    yield self.newest(id)
            return
        keys = self._keys
        seen: set[Value] = set()
        heads: dict[Value, Value | None] = {}
        order: Terms = sort or {p.id: 1, p.version: -1}
        for raw in self.server.find(self.profile.ns, filter, sort=order, projection=keys):
            id = c.get(raw, (p.id,))
            if id is None or id in seen:
                continue
            if id not in heads:
                if len(heads) > KEPT:
                    heads.clear()
                heads[id] = self._head(id)
            if any_version or heads[id] == c.get(raw, ("_id",)):
                seen.add(id)
                yield raw

    def _head(self, id: Value) -> Value | None:
        """The physical id of a document's newest version; reads one key through the index where all is well."""
        p = self.profile
        filter, order = {p.id: {"$eq": id}}, {p.id: 1, p.version: -1}
        for raw in self.server.find(self.profile.ns, filter, order, {p.id: 1, p.version: 1}, limit=1):
            v = c.get(raw, (p.version,))
            if c.get(raw, (p.id,)) == id and v is not None and v.type in (c.INT32, c.INT64, c.DATE):
                return c.get(raw, ("_id",))
        try:
            return c.get(self.newest(id), ("_id",))
        except NotFound:
            return None

    def heads(self, filter: Terms | None, down: bool = False) -> Iterator[bytes]:
        """The key of the highest version of each document that matches, by id; long histories are leapt over."""
        p, keys = self.profile, self._keys
        order = {p.id: -1 if down else 1, p.version: -1}
        behind: Terms | None = None
        last: Value | None = None
        alike: set[Value] = set()  # the ids that the server finds equal to the last one: 1 and 1.0 come mixed
        while True:
            where = {"$and": [part for part in (filter, behind) if part]} if filter and behind else filter or behind
            passed = 0
            for raw in self.server.find(self.profile.ns, where, sort=order, projection=keys):
                id = c.get(raw, (p.id,))
                if id is None:
                    continue
                if id in alike:
                    passed += 1
                    if passed > LEAP and leapable(id) and not _has_twins(id):
                        break
                    continue
                if last is None or key_of(id) != key_of(last):
                    alike = set()
                passed, last = 0, id
                alike.add(id)
                yield self._right(raw, id)
            else:
                return
            assert last is not None
            behind = beyond(p.id, last, down, "gitVersion" in self.server.facts().extra)
            if others := [kind for kind in _TYPED if last.type in _TYPED and kind not in {id.type for id in alike}]:
                behind = {"$or": [{p.id: {"$eq": last, "$type": others}}, *behind["$or"]]}

    def _right(self, key: bytes, id: Value) -> bytes:
        v = c.get(key, (self.profile.version,))
        if v is not None and v.type in (c.INT32, c.INT64, c.DATE):
            return key
        return self.newest(id)  # a text sorts above every number


def _down(sort: Terms) -> bool:
    value = next(iter(sort.values()))
    return (number_of(value) if isinstance(value, Value) else int(value)) == -1


_TYPED = (c.INT32, c.INT64, c.DOUBLE, c.DECIMAL128)


def _has_twins(id: Value) -> bool:
    """Whether a server may find another id of this id's type equal to it: 0.0 and -0.0, 1.0 and 1.00, {a: 1}."""
    if id.is_container:
        return any(_has_twins(each) or each.type in _TYPED for each in c.items(id))
    return id.type == c.DECIMAL128 or (id.type == c.DOUBLE and id.python() == 0)


def leapable(id: Value) -> bool:
    """Whether :func:`beyond` can express the ids behind an id. No filter finds ids greater than NaN."""
    if id.type in (c.DOUBLE, c.DECIMAL128) and key_of(id)[1] == 0:
        return False
    return any(id.type in types for types in BRACKETS) and id.type not in (c.REGEX, c.ARRAY, c.NULL, c.UNDEFINED)


def beyond(name: str, last: Value, down: bool, all_types: bool) -> Terms:
    """The filter for ids that a server sorts behind an id: those of its types beyond it, and the types that follow.

    Without ``all_types`` those that are deprecated are left out: a server that cannot store them refuses their numbers.
    """
    at = next(i for i, types in enumerate(BRACKETS) if last.type in types)
    rest = BRACKETS[:at] if down else BRACKETS[at + 1 :]
    kinds = [kind for types in rest for kind in types if all_types or kind not in DEPRECATED]
    numbers = [-1 if kind == c.MIN_KEY else kind for kind in kinds]
    beyond: list[Terms] = [{name: {"$lt" if down else "$gt": last}}]
    return {"$or": beyond + [{name: {"$type": number}} for number in numbers]}
