"""The fields in which two documents differ, found without looking at equal ones.

Stretches of equal bytes are skipped. If names differ, both sides are read until they meet again, so that an added or
removed field only costs a look at its neighbours, not at the whole document.
"""

from __future__ import annotations

from typing import TypeAlias

from model.diff.walk import Pair, Span, document_end, field_around, field_at, names_of
from model.values import canonical as c

Change: TypeAlias = tuple[Span, Span]
"""A field in the old document and in the new one."""

Difference: TypeAlias = tuple[Span | None, Span | None]
"""A field in the old document and in the new one; None if that document lacks it."""

_SMALL = 256  # bytes; in smaller documents, comparing fields by name is as fast
_SEARCHED = 1 << 18  # bytes searched for a repeated name; beyond that, all names are listed
_MANY = 16  # names searched for one by one


def changes(pair: Pair, at: int, to: int) -> list[Change] | None:
    """The fields that differ between the old document at ``at`` and the new one at ``to``.

    None if the names or their order differ, or if the name of a differing field is repeated.
    """
    differing = differences(pair, at, to)
    if differing is None:
        return None
    found: list[Change] = []
    for x, y in differing:
        if x is None or y is None:
            return None
        found.append((x, y))
    return found


def differences(pair: Pair, at: int, to: int) -> list[Difference] | None:
    """The fields that differ, in order; in one place, removed fields come before added ones.

    None if common fields have different orders, or if the name of a differing field is repeated.
    """
    a, b = pair.a, pair.b
    end, stop = document_end(a, at), document_end(b, to)
    if c.walker is not None and (changed := c.walker.changed(a, at, b, to)) is not None:
        pairs: list[Difference] = changed[0]
        return pairs if changed[1] or _occur_once(a, at, end, [x for x, _ in changed[0]]) else None
    if end - at < _SMALL and at + 4 < end and to + 4 < stop and a[at + 5] != b[to + 5]:
        return None  # the first names differ already
    if (walked := _walked(pair, at, to, end, stop)) is None:
        return None
    found, same_names = walked
    return found if not found or _have_unique_names(pair, found, same_names, (at, end), (to, stop)) else None


def _walked(pair: Pair, at: int, to: int, end: int, stop: int) -> tuple[list[Difference], bool] | None:
    """The fields that differ, and whether both documents have equal names in equal order.

    None if common fields have different orders; in a small document, also if names differ at all.
    """
    a, b, common = pair.a, pair.b, pair.common
    i, j = at + 4, to + 4
    found: list[Difference] = []
    names: tuple[set[bytes], set[bytes]] | None = None  # names that so far only the old, or only the new document has
    while True:
        equal = common(i, j, end - i if end - i < stop - j else stop - j)
        place = i + equal
        if place == end and j + equal == stop:
            return found, names is None
        # The first different byte may be anywhere in a field, whose beginning is behind it.
        x = field_around(a, i, place, end) if place < end else None
        start = end if x is None else x[2] - len(x[0]) - 2
        j += start - i
        i = start
        if x is not None and j < stop:
            y = field_at(b, j, stop)
            if x[0] == y[0]:
                found.append((x, y))
                i, j = x[3], y[3]
                continue
        if names is None and end - at < _SMALL:
            return None
        names = names or (set(), set())
        gone, come = _gap(a, i, end, b, j, stop)
        if not _are_apart(names, gone, come):
            return None  # another order
        found += [(x, None) for x in gone]
        found += [(None, y) for y in come]
        i, j = gone[-1][3] if gone else i, come[-1][3] if come else j


def _are_apart(names: tuple[set[bytes], set[bytes]], gone: list[Span], come: list[Span]) -> bool:
    """Whether fields that seem to be on one side only never appear on the other; adds them to ``names``."""
    left, right = names
    old_names, new_names = [x[0] for x in gone], [y[0] for y in come]
    left.update(old_names)
    right.update(new_names)
    return right.isdisjoint(old_names) and left.isdisjoint(new_names)


def _have_unique_names(
    pair: Pair, found: list[Difference], same_names: bool, old: tuple[int, int], new: tuple[int, int]
) -> bool:
    """Whether differing fields' names occur once in their documents; ``old`` and ``new`` are their start and end."""
    if same_names:
        return _occur_once(pair.a, *old, [x for x, _ in found if x is not None])
    # A common field is equal or among these, so checking it in the new document is enough; removed fields are in the
    # old one.
    news, gone = [y for _, y in found if y is not None], [x for x, y in found if x is not None and y is None]
    return _occur_once(pair.b, *new, news) and _occur_once(pair.a, *old, gone)


def _gap(a: bytes, i: int, end: int, b: bytes, j: int, stop: int) -> tuple[list[Span], list[Span]]:
    """The fields on each side before both have a field of one name again; the names at ``i`` and ``j`` differ."""
    left: list[Span] = []
    right: list[Span] = []
    here: dict[bytes, int] = {}
    there: dict[bytes, int] = {}
    # Read both sides in turn: so the nearest name that both have is found after few fields.
    while i < end or j < stop:
        if i < end:
            x = field_at(a, i, end)
            if x[0] in there:
                return left, right[: there[x[0]]]
            here.setdefault(x[0], len(left))
            left.append(x)
            i = x[3]
        if j < stop:
            y = field_at(b, j, stop)
            if y[0] in here:
                return left[: here[y[0]]], right
            there.setdefault(y[0], len(right))
            right.append(y)
            j = y[3]
    return left, right


def _occur_once(raw: bytes, at: int, end: int, some: list[Span]) -> bool:
    """Whether the names of these fields occur once in the document that ends at ``end``."""
    if len(some) > _MANY or (end - at) * len(some) > _SEARCHED:
        wanted = {x[0] for x in some}
        return len(wanted) == len(some) == sum([name in wanted for name in names_of(raw, at + 4, end)])
    search = raw.rfind  # searching backwards is faster; only hits are then examined
    for name, _, begin, stop in some:
        marked = name + b"\x00"
        before = begin - len(marked) - 1
        if search(marked, stop, end) >= 0 and _occurs(raw, marked, stop, end):
            return False
        if search(marked, at + 4, before) >= 0 and _occurs(raw, marked, at + 4, before):
            return False
    return True


def _occurs(raw: bytes, name: bytes, at: int, end: int) -> bool:
    """Whether a field between ``at`` and ``end`` has this name, given with its NUL byte."""
    hit = raw.find(name, at, end)
    while hit >= 0:
        around = field_around(raw, at, hit - 1, end)
        if around is None or around[2] - len(around[0]) - 1 == hit:
            return around is not None
        at = around[3]
        hit = raw.find(name, at, end)
    return False
