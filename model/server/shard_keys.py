"""The shard keys of a cluster, and filters that contain them.

A sharded cluster accepts a write of one document only if its filter names the shard, by equality on every field of
the shard key. A guard without these is completed with the document's current values, which only narrows it: if the
values have changed by then, the write does not match.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from model.errors import NotAllowed, Refused
from model.server.port import Terms, Write
from model.values import canonical as c
from model.values.canonical import Path, Value

REMEMBERED = 30.0  # seconds; a collection may be sharded meanwhile


class Cluster(Protocol):
    """Questions to a cluster, answered by its shards' primaries."""

    def look(self, ns: str, filter: Terms, projection: Terms | None = None) -> Iterator[bytes]:
        """The matching documents."""

    def is_sharded(self, ns: str) -> bool | None:
        """Whether a collection is sharded, by its statistics; None if they may not be read."""


class ShardKey(Struct, frozen=True):
    """The fields of a collection's shard key, as dotted paths."""

    ns: str
    fields: tuple[str, ...]

    def missing(self, filter: Terms) -> tuple[str, ...]:
        """The fields for which a filter names no value."""
        named = set(_named(filter))
        return tuple(field for field in self.fields if field not in named)

    def completed(self, filter: Terms, found: bytes) -> dict[str, Any]:
        """The filter plus the document's values in fields that the filter does not name."""
        added = {field: {"$eq": _value(found, field)} for field in self.missing(filter)}
        free = {field: clause for field, clause in added.items() if field not in filter}
        # A clause on the field is there already, as a comparison of its type; one name cannot stand twice in a filter.
        taken = [{field: clause} for field, clause in added.items() if field in filter]
        made = {**filter, **free}
        return {**made, "$and": [*made.get("$and", ()), *taken]} if taken else made

    def refuse_change(self, write: Write, found: bytes) -> None:
        """Raise ``Refused`` if a write would change a field of the key; pipelines are not examined."""
        for field in self.fields:
            if field != "_id" and _changes(write, _path(field), c.get(found, _path(field))):
                raise Refused(
                    f"{field} is part of the shard key of {self.ns}, and its value decides where the document lies: "
                    "a guarded write cannot change it, and nothing was written. Leave it as it is, or save as a new "
                    "document and delete this one."
                )


class ShardKeys:
    """The shard keys of a cluster's collections, read again after a while."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[str, tuple[float, ShardKey | None]] = {}

    def of(self, ns: str) -> ShardKey | None:
        """A collection's shard key, None if it is not sharded; raises ``NotAllowed`` if nobody may see it.

        It is read from ``config.collections``. Users who may not read that may still read the collection's
        statistics, which tell whether there is a key.
        """
        at, key = self._known.get(ns, (0.0, None))
        if not at or time.monotonic() - at > REMEMBERED:
            key = self._read(ns)
            self._known[ns] = time.monotonic(), key
        return key

    def forget(self, ns: str) -> None:
        """Read the key again before the next write."""
        self._known.pop(ns, None)

    def _read(self, ns: str) -> ShardKey | None:
        try:
            rows = [c.decode(raw) for raw in self._cluster.look("config.collections", {"_id": ns})]
        except NotAllowed:
            if self._cluster.is_sharded(ns) is False:
                return None
            raise NotAllowed(
                f"This cluster is sharded, and the shard key of {ns} cannot be seen, without which no write of one "
                "document is safe: let this user read config.collections (the role clusterMonitor does), and try "
                "again. Nothing was written."
            ) from None
        for row in rows:
            # Since MongoDB 7, collections that are not sharded are listed too, as unsplittable.
            if row.get("key") and not row.get("dropped") and not row.get("unsplittable"):
                return ShardKey(ns, tuple(row["key"]))
        return None

    def routed(self, write: Write) -> Write | None:
        """A write as a sharded cluster accepts it; None if no document matches its guard any more.

        Raises ``Refused`` for a change of the key, and for an upsert whose shard is unknown.
        """
        key = None if write.kind == "insert" else self.of(write.ns)
        if key is None:
            return write
        missing = key.missing(write.filter)
        # Nothing to complete and nothing to refuse, so the document need not be read.
        if not missing and (write.kind == "delete" or not _may_change(write, key.fields)):
            return write
        found = next(self._cluster.look(write.ns, write.filter, dict.fromkeys(("_id", *key.fields), 1)), None)
        if found is None:
            if write.kind == "upsert" and missing:
                raise Refused(
                    f"{write.ns} is sharded by {', '.join(key.fields)}, and the document that would be created has no "
                    f"{missing[0]} yet; create it with one first. Nothing was written."
                )
            return write if not missing else None
        key.refuse_change(write, found)
        return replace(write, filter=key.completed(write.filter, found))


def _value(found: bytes, field: str) -> Value:
    """The value of a key field; a missing one is stored where null is, and equality with null matches it."""
    value = c.get(found, _path(field))
    return Value(c.NULL, b"") if value is None else value


def _path(field: str) -> Path:
    return tuple(field.split("."))


def _named(filter: Terms) -> Iterator[str]:
    """The fields that a filter compares with a single value."""
    for name, clause in filter.items():
        if name == "$and":
            for each in clause:
                yield from _named(each)
        elif not name.startswith("$") and _is_equality(clause):
            yield name


def _is_equality(clause: object) -> bool:
    if isinstance(clause, Mapping):
        return "$eq" in clause or not any(str(name).startswith("$") for name in clause)
    # A pattern matches many values, and an array also an element.
    return not (isinstance(clause, Value) and clause.type in (c.REGEX, c.ARRAY))


def _may_change(write: Write, fields: Iterable[str]) -> bool:
    """Whether a write changes some of these fields, or may."""
    if write.kind == "replace" or not isinstance(write.body, Mapping):
        return True
    return any(_overlap(_path(name), _path(field)) for name in _touched(write.body) for field in fields)


def _touched(operators: Terms) -> Iterator[str]:
    for operator, fields in operators.items():
        if operator != "$setOnInsert" and isinstance(fields, Mapping):
            yield from map(str, fields)
            if operator == "$rename":
                yield from map(str, fields.values())


def _overlap(one: Path, other: Path) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _changes(write: Write, path: Path, now: Value | None) -> bool:
    """Whether a write changes the value at a path."""
    if write.kind == "delete":
        return False
    if isinstance(write.body, bytes):
        return c.get(write.body, path) != now
    if not isinstance(write.body, Mapping):
        return False  # the server rejects it
    for operator, fields in write.body.items():
        if operator == "$setOnInsert" or not isinstance(fields, Mapping):
            continue
        for name, given in fields.items():
            at = _path(str(name))
            if operator == "$rename" and _overlap(_path(str(given)), path):
                return True
            if not _overlap(at, path):
                continue
            # Any other operator on the key, or a value inside of it, is taken for a change: its result is not computed
            # here.
            if operator != "$set" or len(at) > len(path):
                return True
            value = given if isinstance(given, Value) else Value.of(given)
            inside = c.get(c.document([("v", value)]), ("v", *path[len(at) :]))
            if inside != now:
                return True
    return False


__all__ = ["REMEMBERED", "Cluster", "ShardKey", "ShardKeys"]
