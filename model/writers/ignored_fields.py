"""What documents and states hold besides content, as the profile key ``ignored`` names it.

A name is one at the top (``__v``), a name at any depth (``**._id``), or a path through objects and the elements of
arrays (``lines.note``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from bson import ObjectId
from msgspec import Struct

from model.errors import Refused
from model.values import canonical as c
from model.values.canonical import Value

DEEP = "**."


class Ignored(Struct, frozen=True):
    """The names that are no content in one object, and those inside of its fields."""

    here: frozenset[str]
    deep: frozenset[str] = frozenset()
    paths: tuple[tuple[str, ...], ...] = ()

    @property
    def is_deep(self) -> bool:
        """Whether it names anything below the top."""
        return bool(self.deep or self.paths)

    def inside(self, name: str) -> Ignored:
        """What is no content inside of a field."""
        below = tuple(path[1:] for path in self.paths if path[0] == name)
        return Ignored(
            self.deep.union(path[0] for path in below if len(path) == 1),
            self.deep,
            tuple(path for path in below if len(path) > 1),
        )

    def below_top(self) -> Ignored:
        """These names without those that count at the top alone."""
        return Ignored(self.deep, self.deep, self.paths)

    def cut(self, value: Value) -> Value:
        """A value without these names."""
        if not (self.here or self.is_deep):
            return value
        if value.type == c.ARRAY:
            return c.array(self.cut(each) for each in c.items(value))
        if value.type != c.OBJECT:
            return value
        kept = ((name, each) for name, each in c.fields(value.data) if name not in self.here)
        return Value.document(c.document((name, self.inside(name).cut(each)) for name, each in kept))

    def refilled(self, value: Value, old: Value | None) -> Value:
        """A value with these names added from the stored one, of which it has no others.

        An element of an array is matched by its other fields, by its ``_id``, then by position; a new one gets new
        ObjectIds if others have them. Raises ``Refused`` if other values might come into another element.
        """
        if value.type == c.OBJECT:
            there = dict(c.fields(old.data)) if old is not None and old.type == c.OBJECT else {}
            left = [(name, each) for name, each in there.items() if name in self.here]
            rest = ((name, each) for name, each in c.fields(value.data) if name not in self.here)
            filled = [(name, self.inside(name).refilled(each, there.get(name))) for name, each in rest]
            return Value.document(c.document([*left, *filled]))
        if value.type == c.ARRAY and old is not None and old.type == c.ARRAY:
            return c.array(self._elements(c.items(value), c.items(old)))
        return value

    def _elements(self, new: Sequence[Value], old: Sequence[Value]) -> Iterator[Value]:
        matched, left = self._matched(new, old)
        values = [value for each in old for value in self._left_out(each)]
        if len(matched) < len(new) and any(value.type != c.OBJECT_ID for value in values):
            raise Refused("The history leaves out a part of these elements, so which one has changed cannot be told.")
        fresh = sorted({name for each in old for name, _ in _fields(each) if name in self.here})
        for place, each in enumerate(new):
            at = matched.get(place, place if place in left else None)
            if at is not None:
                yield self.refilled(each, old[at])
            elif each.type == c.OBJECT:
                made = [(name, Value.of(ObjectId())) for name in fresh]
                yield Value.document(c.document([*made, *c.fields(each.data)]))
            else:
                yield each

    def _matched(self, new: Sequence[Value], old: Sequence[Value]) -> tuple[Mapping[int, int], Collection[int]]:
        """The old places of new elements that are there, by their place; and the places of all other old ones."""
        left = {at: self.cut(each) for at, each in enumerate(old)}
        matched: dict[int, int] = {}
        for same in (_equal, _same_id):
            for place, each in enumerate(new):
                found = (at for at, known in left.items() if place not in matched and same(known, each))
                if (at := next(found, None)) is not None:
                    matched[place] = at
                    del left[at]
        return matched, left

    def _left_out(self, value: Value) -> Iterator[Value]:
        """The values of these names in a value."""
        if value.type == c.ARRAY:
            yield from (found for each in c.items(value) for found in self._left_out(each))
        for name, each in _fields(value):
            if name in self.here:
                yield each
            elif each.is_container:
                yield from self.inside(name)._left_out(each)


def holds(document: bytes, path: str) -> bool:
    """Whether a document has something at a path of several names, which may lead through the elements of arrays."""
    wanted = Ignored(frozenset(), paths=(tuple(path.split(".")),))
    return wanted.cut(Value.document(document)).data != document


def _fields(value: Value) -> Sequence[tuple[str, Value]]:
    return c.fields(value.data) if value.type == c.OBJECT else ()


def _equal(one: Value, other: Value) -> bool:
    return one == other


def _same_id(one: Value, other: Value) -> bool:
    ids = [dict(_fields(each)).get("_id") for each in (one, other)]
    return ids[0] is not None and ids[0] == ids[1]


@cache
def ignored(names: tuple[str, ...]) -> Ignored:
    """What some names of a profile leave out of a document; its ``_id`` is no content either."""
    deep = frozenset(name.removeprefix(DEEP) for name in names if name.startswith(DEEP))
    others = [name for name in names if not name.startswith(DEEP)]
    top = {"_id", *(name for name in others if "." not in name)}
    return Ignored(deep | top, deep, tuple(tuple(name.split(".")) for name in others if "." in name))
