"""An event of a change stream, and the document that follows from it, where that is certain."""

from __future__ import annotations

import datetime as dt

from msgspec import Struct

from model.errors import Unreadable
from model.values import canonical as c
from model.values.canonical import Path, Value

_OF_DOCUMENTS = ("insert", "update", "replace", "delete")


class ChangeEvent(Struct, frozen=True):
    """One change of a document; or of the whole collection, if ``key`` is None."""

    kind: str  # insert, update, replace, delete, drop, rename, invalidate, …
    token: bytes
    at: dt.datetime
    key: Value | None  # the document's _id
    document: bytes | None  # after the change; for an update, perhaps after a later one
    updated: tuple[tuple[str, Value], ...] = ()
    removed: tuple[str, ...] = ()
    truncated: tuple[tuple[str, int], ...] = ()
    ns: str = ""

    @property
    def lacks(self) -> str:
        """What a change of a document does not say although it must; "" if nothing. An update may lack its document,
        and so may other events that were requested without it.
        """
        return "which document" if self.key is None and self.kind in _OF_DOCUMENTS else ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The dotted paths of what an update changed."""
        return (*(path for path, _ in self.updated), *self.removed, *(path for path, _ in self.truncated))

    @property
    def touched(self) -> frozenset[str]:
        """The top-level fields that an update changed."""
        return frozenset(path.partition(".")[0] for path in self.paths)

    def set_to(self, name: str) -> Value | None:
        """The value that an update gave a top-level field; None if it did not set it."""
        return next((value for path, value in self.updated if path == name), None)

    def applied(self, before: bytes) -> bytes | None:
        """The document after the update, made from the one before; None if it is not certain."""
        try:
            after = before
            for path, length in self.truncated:
                steps = _steps(after, path)
                array = None if steps is None else c.get(after, steps)
                if steps is None or array is None or array.type != c.ARRAY:
                    return None
                after = c.put(after, steps, c.array(c.items(array)[:length]))
            for path in self.removed:
                steps = _steps(after, path)
                # An `$unset` of an element leaves null in its place, which a removal here would not.
                if steps is None or isinstance(steps[-1], int):
                    return None
                after = c.drop(after, steps)
            for path, value in self.updated:
                steps = _steps(after, path)
                if steps is None:
                    return None
                after = c.put(after, steps, value)
            return after
        except Unreadable:
            return None


def _steps(raw: bytes, dotted: str) -> Path | None:
    """The path that an update's dotted name means in a document; None if it is ambiguous."""
    here = Value(c.OBJECT, raw)
    steps: list[str | int] = []
    parts = dotted.split(".")
    for i, part in enumerate(parts):
        if here.type == c.ARRAY:
            if not part.isdigit() or int(part) > len(c.items(here)):
                return None
            steps.append(int(part))
        elif here.type == c.OBJECT and part:
            names = [name for name, _ in c.fields(here.data)]
            rest = ".".join(parts[i:])
            # With a dot in a name, the path may mean that field or one inside another; the event does not say which.
            if len(set(names)) != len(names) or any("." in name and rest.startswith(name) for name in names):
                return None
            steps.append(part)
        else:
            return None
        if i < len(parts) - 1:
            inner = c.get(here.data, (part,)) if here.type == c.OBJECT else _element(here, int(part))
            if inner is None:
                return None  # the parent is missing: this is not the document that was changed
            here = inner
    return tuple(steps)


def _element(array: Value, at: int) -> Value | None:
    items = c.items(array)
    return items[at] if at < len(items) else None


def read(raw: bytes) -> ChangeEvent:
    """The event in a server's document; raises ``Unreadable`` if it is not in the form of one."""
    try:
        return _read(raw)
    except (Unreadable, LookupError, ValueError, TypeError, AttributeError) as error:
        raise Unreadable(f"The server tells of a change in a form that cannot be read ({error}).") from None


def _read(raw: bytes) -> ChangeEvent:
    found = dict(c.fields(raw))
    key = c.get(raw, ("documentKey", "_id"))
    full = found.get("fullDocument")
    description = found.get("updateDescription")
    said = dict(c.fields(description.data)) if description is not None and description.type == c.OBJECT else {}
    return ChangeEvent(
        kind=str(found["operationType"].python()),
        token=_inner(found["_id"]),
        at=_time(found),
        key=key,
        document=full.data if full is not None and full.type == c.OBJECT else None,
        updated=tuple(c.fields(_inner(said["updatedFields"]))) if "updatedFields" in said else (),
        removed=tuple(str(each.python()) for each in c.items(said["removedFields"])) if "removedFields" in said else (),
        truncated=tuple(_cut(each) for each in c.items(said["truncatedArrays"])) if "truncatedArrays" in said else (),
        ns=_place(raw),
    )


def _place(raw: bytes) -> str:
    named = (c.get(raw, ("ns", part)) for part in ("db", "coll"))
    return ".".join(str(each.python()) for each in named if each is not None)


def _inner(value: Value) -> bytes:
    """The bytes of a sub-document."""
    if value.type != c.OBJECT:
        raise Unreadable(f"a value of type {value.kind} instead of a document")
    return value.data


def _cut(entry: Value) -> tuple[str, int]:
    parts = dict(c.fields(_inner(entry)))
    return str(parts["field"].python()), int(parts["newSize"].python())


def _time(found: dict[str, Value]) -> dt.datetime:
    wall, cluster = found.get("wallTime"), found.get("clusterTime")
    # `wallTime` has milliseconds, but only since MongoDB 6; `clusterTime` counts whole seconds.
    if wall is not None and wall.type == c.DATE:
        at = wall.python()
        if isinstance(at, dt.datetime):
            return at
    if cluster is not None and cluster.type == c.TIMESTAMP:
        # A timestamp stores its counter first, then the seconds.
        return dt.datetime.fromtimestamp(int.from_bytes(cluster.data[4:], "little"), dt.UTC)
    return dt.datetime.now(dt.UTC)
