"""The deltas of jsondiffpatch (its version 0.2 and later), forwards and backwards.

::

    [new]              added                      {name: delta}          inside of an object
    [old, new]         replaced                   {_t: "a", …}           inside of an array
    [old, 0, 0]        removed                      "3": delta or [new]    at its place behind the change
    [patch, 0, 2]      a text changed inside        "_3": [old, 0, 0]      removed from its place before it
                                                    "_3": ["", to, 3]      moved from its place before it

Source: https://github.com/benjamine/jsondiffpatch/blob/master/docs/deltas.md
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TypeAlias

from model.patches import text_patch
from model.patches.tree import DoesNotApply, Node, alike, copied, shown, text, whole
from model.values.canonical import Value

_Step: TypeAlias = Callable[[Node, Node, tuple[str, ...]], Node]
_TextStep: TypeAlias = Callable[[str, str], str]

_GONE: Node = {"": []}
"""Stands for a missing value while a delta is applied; recognised by identity."""


def apply(tree: Node, delta: Node) -> Node:
    """The state after a change, from the one before it."""
    return _forwards(tree, delta, ())


def unapply(tree: Node, delta: Node) -> Node:
    """The state before a change, from the one after it."""
    return _backwards(tree, delta, ())


def without(delta: Node, left: Set[str]) -> Node:
    """A delta without what it says of some top-level fields."""
    return {name: change for name, change in _fields(delta).items() if name not in left}


def names(delta: Node) -> list[str]:
    """The top-level fields that a delta is about; raises ``DoesNotApply`` if it is about the whole document."""
    return list(_fields(delta))


def about(delta: Node, name: str) -> tuple[bool, Node]:
    """The part of a delta that is about one top-level field, and whether it fits any value there before."""
    change = _fields(delta).get(name)
    if not isinstance(change, list) or _text_change(change) is not None:
        return False, {} if change is None else {name: change}
    _, new = _sides(change, (name,))
    return True, {} if new is _GONE else {name: [new]}


def mark(name: str) -> bytes:
    """Bytes in every delta about a top-level field."""
    return name.encode() + b"\x00"


def may_remove(row: bytes) -> bool:
    """Whether a delta in these bytes may remove a field: the third element of a removal is 0."""
    # The element named 2 with the value 0, as an Int32 or as a Double.
    return b"\x102\x00\x00\x00\x00\x00" in row or b"\x012\x00\x00\x00\x00\x00\x00\x00\x00\x00" in row


REMOVAL_MARK = b"2\x00\x00\x00\x00\x00"
"""A 0 as the third element of an array."""


def _fields(delta: Node) -> dict[str, Node]:
    if not isinstance(delta, dict) or _is_array(delta):
        raise DoesNotApply("the delta is about the whole document")
    return delta


def _forwards(node: Node, delta: Node, at: tuple[str, ...]) -> Node:
    if isinstance(delta, list):
        if (pair := _text_change(delta)) is not None:
            return _text(node, pair, at, text_patch.apply)
        old, new = _sides(delta, at)
        _expect(node, old, at)
        return new if new is _GONE else copied(new)
    if isinstance(delta, dict) and _is_array(delta):
        return _array_forwards(node, delta, at)
    return _object(node, delta, at, _forwards)


def _backwards(node: Node, delta: Node, at: tuple[str, ...]) -> Node:
    if isinstance(delta, list):
        if (pair := _text_change(delta)) is not None:
            return _text(node, pair, at, text_patch.unapply)
        old, new = _sides(delta, at)
        _expect(node, new, at)
        return old if old is _GONE else copied(old)
    if isinstance(delta, dict) and _is_array(delta):
        return _array_backwards(node, delta, at)
    return _object(node, delta, at, _backwards)


def _object(node: Node, delta: Node, at: tuple[str, ...], step: _Step) -> Node:
    if not isinstance(delta, dict):
        raise DoesNotApply(f"the delta at {_said(at)} is {shown(delta)}")
    if not isinstance(node, dict) or node is _GONE:
        raise DoesNotApply(f"{_said(at)} is not an object")
    for name, inner in delta.items():
        changed = step(node.get(name, _GONE), inner, (*at, name))
        if changed is _GONE:
            node.pop(name, None)
        else:
            node[name] = changed
    return node


def _array_forwards(node: Node, delta: dict[str, Node], at: tuple[str, ...]) -> Node:
    array, gone, placed, inner = _array(node, delta, at)
    # In the order that old and new places imply: what leaves, from the end; what arrives, from the start; then changes
    # inside.
    moved: dict[int, Node] = {}
    for origin in sorted(gone, reverse=True):
        taken = _taken(array, origin, at)
        old, to = gone[origin]
        if to is None:
            _expect(taken, old, (*at, f"_{origin}"))
        else:
            moved[to] = taken
    arriving = {**{place: copied(new) for place, new in placed.items()}, **moved}
    for place in sorted(arriving):
        if place > len(array):
            raise DoesNotApply(f"{_said(at)} has no place {place}")
        array.insert(place, arriving[place])
    for place, change in inner.items():
        if place >= len(array):
            raise DoesNotApply(f"{_said(at)} has no element {place}")
        array[place] = _forwards(array[place], change, (*at, str(place)))
    return array


def _array_backwards(node: Node, delta: dict[str, Node], at: tuple[str, ...]) -> Node:
    array, gone, placed, inner = _array(node, delta, at)
    for place, change in inner.items():
        if place >= len(array):
            raise DoesNotApply(f"{_said(at)} has no element {place}")
        array[place] = _backwards(array[place], change, (*at, str(place)))
    returning: dict[int, Node] = {}
    origins = {to: origin for origin, (_, to) in gone.items() if to is not None}
    for place in sorted({*placed, *origins}, reverse=True):
        taken = _taken(array, place, at)
        if place in origins:
            returning[origins[place]] = taken
        else:
            _expect(taken, placed[place], (*at, str(place)))
    returning |= {origin: copied(old) for origin, (old, to) in gone.items() if to is None}
    for origin in sorted(returning):
        if origin > len(array):
            raise DoesNotApply(f"{_said(at)} has no place {origin}")
        array.insert(origin, returning[origin])
    return array


def _array(
    node: Node, delta: dict[str, Node], at: tuple[str, ...]
) -> tuple[list[Node], dict[int, tuple[Node, int | None]], dict[int, Node], dict[int, Node]]:
    """The array; the elements that leave it, by old place; those that join or change inside, by new place."""
    if not isinstance(node, list):
        raise DoesNotApply(f"{_said(at)} is not an array")
    gone: dict[int, tuple[Node, int | None]] = {}
    placed: dict[int, Node] = {}
    inner: dict[int, Node] = {}
    for name, change in delta.items():
        if name == "_t":
            continue
        digits = name.removeprefix("_")
        if not (digits.isascii() and digits.isdigit()):
            raise DoesNotApply(f"{_said(at)} has no place {name}")
        place = int(digits)
        if not name.startswith("_"):
            if isinstance(change, list) and len(change) == 1:
                placed[place] = change[0]
            else:
                inner[place] = change
            continue
        if not isinstance(change, list) or len(change) != 3:
            raise DoesNotApply(f"what left {_said(at)} at {place} is {shown(change)}")
        kind, to = whole(change[2]), whole(change[1])
        if kind == 3 and to is not None:
            gone[place] = (_GONE, to)
        elif kind == 0:
            gone[place] = (change[0], None)
        else:
            raise DoesNotApply(f"what left {_said(at)} at {place} is said in an unknown way")
    return node, gone, placed, inner


def _taken(array: list[Node], place: int, at: tuple[str, ...]) -> Node:
    if place >= len(array):
        raise DoesNotApply(f"{_said(at)} has no element {place}")
    return array.pop(place)


def _is_array(delta: dict[str, Node]) -> bool:
    return text(delta.get("_t")) == "a"


def _sides(delta: list[Node], at: tuple[str, ...]) -> tuple[Node, Node]:
    """The value before and after a change, as a delta records them."""
    if len(delta) == 1:
        return _GONE, delta[0]
    if len(delta) == 2:
        return delta[0], delta[1]
    if len(delta) == 3 and whole(delta[1]) == 0 and whole(delta[2]) == 0:
        return delta[0], _GONE
    raise DoesNotApply(f"the delta at {_said(at)} is said in an unknown way")


def _text_change(delta: list[Node]) -> str | None:
    return text(delta[0]) if len(delta) == 3 and whole(delta[2]) == 2 else None


def _text(node: Node, patch: str, at: tuple[str, ...], way: _TextStep) -> Node:
    here = text(node)
    if here is None:
        raise DoesNotApply(f"{_said(at)} is not text")
    try:
        return Value.of(way(here, patch))
    except DoesNotApply as reason:
        raise DoesNotApply(f"{_said(at)}: {reason}") from None


def _expect(found: Node, wanted: Node, at: tuple[str, ...]) -> None:
    if (found is _GONE) != (wanted is _GONE):
        raise DoesNotApply(f"there is {'no' if found is _GONE else 'already a'} {_said(at)}")
    if found is not _GONE and not alike(found, wanted):
        raise DoesNotApply(f"{_said(at)} is {shown(found)} and should be {shown(wanted)}")


def _said(at: tuple[str, ...]) -> str:
    return ".".join(at) or "the document"
