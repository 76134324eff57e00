"""The shape of a merged document: certain parts, parts that depend on a decision, and how it is built from them.

The leaves are stretches of the three documents, or decisions; a container knows its parts and each side's order of
them. Building uses a stack instead of recursion, so depth does not matter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, field

from model.diff.array_elements import Elements, names
from model.diff.common_order import arranged
from model.diff.walk import Pair, Span
from model.merge.decision import Decision
from model.values import canonical as c
from model.values.canonical import Value

_LETTERS = [bytes((kind,)) for kind in range(256)]


class Stretch(Struct, frozen=True):
    """A value in the bytes of one of the three documents; ``side`` is 0 for base, 1 for mine, 2 for theirs."""

    raw: bytes
    side: int
    kind: int
    start: int
    end: int

    def value(self) -> Value:
        """A copy of the value."""
        return Value(self.kind, self.raw[self.start : self.end])


Side: TypeAlias = "Stretch | None"


class Three:
    """The three documents, with comparisons of stretches in two of them."""

    def __init__(self, base: bytes, mine: bytes, theirs: bytes) -> None:
        first, second, third = Pair(base, mine), Pair(base, theirs), Pair(mine, theirs)
        self.pairs = {(0, 1): first, (0, 2): second, (1, 2): third}
        self.tops = (
            Stretch(base, 0, c.OBJECT, 0, len(base)),
            Stretch(mine, 1, c.OBJECT, 0, len(mine)),
            Stretch(theirs, 2, c.OBJECT, 0, len(theirs)),
        )

    def same(self, x: Side, y: Side) -> bool:
        """Whether two stretches are equal bytes, or both missing; ``x`` must be from the lower side."""
        if x is None or y is None:
            return x is y
        return x.kind == y.kind and self.pairs[x.side, y.side].equal(x.start, x.end, y.start, y.end)

    def all_same(self, base: Side, mine: Side, theirs: Side) -> bool:
        """Whether nobody changed a value."""
        return self.same(base, mine) and self.same(base, theirs)


class DecidedValue(Struct, frozen=True):
    """A value from a decision; with ``many``, an array whose elements are inserted one by one."""

    index: int
    many: bool = False


Key: TypeAlias = Hashable
Part: TypeAlias = "Stretch | DecidedValue | Container | Patched"


class Container(Struct):
    """A document with its parts by name, or an array with its parts by element number.

    ``orders`` maps actions to that side's order of the parts that all three have; mine and theirs also include parts
    that both added alike. ``order`` is the decision on them. ``sides`` lists all parts in the order of mine, theirs
    and base. ``rest`` is the base's array, for elements that are equal on all sides and so have no part.
    """

    kind: int
    parts: dict[Key, Part] = field(default_factory=dict)
    sides: tuple[Sequence[Key], ...] = ()
    orders: dict[str, list[Key]] = field(default_factory=dict)
    order: int | None = None
    rank: dict[Key, int] = field(default_factory=dict)
    weight: Callable[[Any], Any] = lambda _: 0
    rest: Elements | None = None
    _members: dict[int, frozenset[Key]] = field(default_factory=dict)

    def members(self, side: int) -> frozenset[Key]:
        """The parts on a side."""
        if side not in self._members:
            self._members[side] = frozenset(self.sides[side])
        return self._members[side]


def old_ones(side: list[Key], base: list[Key]) -> list[Key]:
    """A side's order without the parts that the base lacks."""
    if len(side) == len(base):
        return side
    known = set(base)
    return [key for key in side if key in known]


def settled(orders: dict[str, list[Key]]) -> bool:
    """Whether nobody changed the order. If so, parts that both added alike in one place also enter the base's order."""
    if orders["mine"] != orders["theirs"] or old_ones(orders["mine"], orders["base"]) != orders["base"]:
        return False
    orders["base"] = orders["mine"]
    return True


class Patched(Struct):
    """A document with equal names in equal order on all sides: the base's bytes except for some fields.

    ``spots`` are the changed fields, in order, as they are in the base.
    """

    base: Stretch
    spots: list[Span]
    parts: dict[Key, Part] = field(default_factory=dict)

    def built(self, done: dict[Key, list[Value]]) -> Value:
        """The document with these values; an empty list removes the field."""
        raw, at = self.base.raw, self.base.start + 4
        pieces: list[bytes] = []
        for name, _, start, end in self.spots:
            values = done[c.name_of(name)]
            pieces.append(raw[at : start - len(name) - 2])
            if values:
                pieces += (bytes((values[0].type,)), name, b"\x00", values[0].data)
            at = end
        pieces.append(raw[at : self.base.end])
        size = sum(map(len, pieces)) + 4
        return Value(c.OBJECT, b"".join((size.to_bytes(4, "little"), *pieces)))


class _BuiltContainer(Struct):
    container: Container | Patched
    todo: list[tuple[Key, Part]]
    done: dict[Key, list[Value]] = field(default_factory=dict)
    key: Key = None  # its key in the parent


def build(top: Part, decisions: Sequence[Decision]) -> Value | None:
    """The value that follows from the decisions; None for nothing."""
    if not isinstance(top, (Container, Patched)):
        return next(iter(_values(top, decisions)), None)
    # A stack of its own instead of recursion: BSON may be nested deeper than Python calls functions.
    stack = [_BuiltContainer(top, list(top.parts.items()))]
    while True:
        frame = stack[-1]
        while frame.todo:
            key, part = frame.todo.pop()
            if isinstance(part, (Container, Patched)):
                stack.append(_BuiltContainer(part, list(part.parts.items()), key=key))
                break
            frame.done[key] = _values(part, decisions)
        else:
            stack.pop()
            built = _built(frame, decisions)
            if not stack:
                return built
            stack[-1].done[frame.key] = [built]


def _values(part: Stretch | DecidedValue, decisions: Sequence[Decision]) -> list[Value]:
    if isinstance(part, Stretch):
        return [part.value()]
    result = decisions[part.index].result
    if result is None:
        return []
    return c.items(result) if part.many else [result]


def _built(frame: _BuiltContainer, decisions: Sequence[Decision]) -> Value:
    container, done = frame.container, frame.done
    if isinstance(container, Patched):
        return container.built(done)
    skeleton = _skeleton(container, decisions)
    if container.order is not None and container.kind == c.ARRAY:
        # Parts that both added stand where the sides agree; until the order is decided, they stand at the end.
        open_ones = set(container.orders["mine"]).difference(skeleton)
        skeleton = [*skeleton, *sorted(open_ones, key=container.weight)]
    if not all(done.values()):
        skeleton = [key for key in skeleton if done.get(key, True)]
    extra = {key: _origin(container, key, decisions) for key in done.keys() - set(skeleton) if done[key]}
    order = arranged(skeleton, container.sides, extra, container.rank, container.weight)
    if container.kind == c.OBJECT:
        return Value(c.OBJECT, c.document((str(key), done[key][0]) for key in order))
    return _array(order, done, container.rest)


def _array(order: list[Key], done: dict[Key, list[Value]], rest: Elements | None) -> Value:
    if rest is None:
        return c.array(value for key in order for value in done[key])
    pieces: list[bytes] = []
    at = place = 0  # positions in the order, and in the new array
    own = sorted(key for key in done if isinstance(key, int))
    while at < len(order):
        key = order[at]
        if key in done or not isinstance(key, int):
            for value in done.get(key, ()):
                pieces += (_LETTERS[value.type], b"%d\x00" % place, value.data)
                place += 1
            at += 1
            continue
        # Copy consecutive elements of the base at once, as long as their order is the base's.
        size = 1
        if at + 1 < len(order) and order[at + 1] == key + 1:
            k = bisect_left(own, key)
            end = min(own[k], len(rest)) if k < len(own) else len(rest)
            size = _following(order, at, key, min(len(order) - at, end - key))
        start, stop = rest.starts[key], rest.starts[key + size]
        # At their old positions even the names of elements stay, so all their bytes are copied at once.
        if place == key:
            pieces.append(rest.raw[start:stop])
        elif size == 1:
            pieces += (rest.raw[start : start + 1], b"%d\x00" % place, rest.raw[start + len(str(key)) + 2 : stop])
        else:
            some = rest.part(key, key + size)
            both = [b""] * (size * 3)
            both[::3] = map(_LETTERS.__getitem__, some.types())
            both[1::3] = names(place, place + size)
            both[2::3] = some.payloads()
            pieces += both
        at, place = at + size, place + size
    size = sum(map(len, pieces)) + 5
    return Value(c.ARRAY, b"".join((size.to_bytes(4, "little"), *pieces, b"\x00")))


def _following(order: list[Key], at: int, first: int, most: int) -> int:
    """How many keys from ``at`` on count up from ``first``, at most ``most``.

    It compares slices, growing until they differ, then shrinking.
    """
    done, step, grown = 1, 4, True
    while step:
        step = min(step, most - done)
        if step and order[at + done : at + done + step] == list(range(first + done, first + done + step)):
            done += step
            step *= 4 if grown else 1
        else:
            grown = False
            step //= 4 if step > 3 else 2
    return done


def _origin(container: Container, key: Key, decisions: Sequence[Decision]) -> int:
    """The side whose order places a part: the side whose value is taken, else the first one that has the part."""
    part = container.parts[key]
    action = decisions[part.index].action if isinstance(part, DecidedValue) else ""
    wanted = {"mine": 0, "theirs": 1, "base": 2}.get(action, 0) if isinstance(action, str) else 0
    if key in container.members(wanted):
        return wanted
    return next(i for i in range(len(container.sides)) if key in container.members(i))


def _skeleton(container: Container, decisions: Sequence[Decision]) -> list[Key]:
    """The parts that all three have, in the order decided."""
    if container.order is None:
        return container.orders["base"]
    decision = decisions[container.order]
    if not isinstance(decision.action, Value):
        return container.orders[decision.action]
    # Elements with equal names are told apart by their order in the base.
    waiting: dict[Value, list[Key]] = {}
    known = set(container.orders["base"])
    for values, keys in ((decision.base, container.orders["base"]), (decision.mine, container.orders["mine"])):
        for value, key in zip(c.items(values) if values is not None else (), keys, strict=True):
            if values is decision.base or key not in known:
                waiting.setdefault(value, []).append(key)
    return [waiting[value].pop(0) for value in c.items(decision.action)]
