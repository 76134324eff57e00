"""Changes as lists of fields with the values before and after, in the notations that programs use.

::

    {original: {qty: 1}, modified: {qty: 2}}      the two sides of a change; also before and after, old and new …
    {qty: {from: 1, to: 2}}                       each field with its two values, at any depth
    [{field: "qty", old: 1, new: 2}]              a list of them; also path, key, property …
    {field: "qty", changedTo: 2}                  one field with its new value
    {A: {qty: 1}, U: {size: 2}, R: ["note"]}      what is added, updated and removed; {I: null} begins
    {changes: [{field: "qty", changedTo: 2}]}     rows that were written at once

Those that do not say what they replace are only applied forwards. A field without a value before was added, one without
a value after was removed; so was one whose value is null. Names may have dots, for fields inside others and for places
in arrays. Source: the trackers of Mongoid::History, historical-collection, mongoose-trackable, and audit logs of many
programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from itertools import pairwise
from typing import TypeAlias

from model.patches.tree import DoesNotApply, Node, alike, copied, shown, text
from model.values import canonical as c
from model.values.canonical import Value

PAIRS = (
    ("original", "modified"),
    ("before", "after"),
    ("old", "new"),
    ("from", "to"),
    ("oldValue", "newValue"),
    ("old_value", "new_value"),
    ("from_value", "to_value"),
    ("previous", "current"),
    ("previousValue", "newValue"),
    ("lhs", "rhs"),
    ("was", "now"),
)
"""What the values before and after a change are called; the first pair of which there is a name counts."""
FIELDS = ("field", "path", "key", "property", "fieldName", "field_name", "attribute", "name")
"""What the name of a changed field is called in a list."""

ADDED, UPDATED, REMOVED, BEGUN = "A", "U", "R", "I"
"""The letters of a change that does not say what it replaces."""
CHANGED_TO = "changedTo"
"""What the new value is called where there is no old one."""
NAMES = frozenset([CHANGED_TO, *FIELDS, *(name for pair in PAIRS for name in pair)])
"""The names of fields and values in a change that is a row by itself."""
JOINED = "changes"
"""The list of changes of one field each that were written at once."""
_UNKNOWN: Node = Value(c.UNDEFINED, b"")
"""The value before a change that does not say it; told apart by identity."""
_ANYTHING: Node = Value(c.UNDEFINED, b"")
"""The value before a change that may have been the first of its field."""

_Sides: TypeAlias = tuple[dict[str, Node], dict[str, Node]]
_Change: TypeAlias = "tuple[str, Node | None, Node | None]"


def apply(tree: Node, patch: Node) -> Node:
    """The state after a change, from the one before it."""
    return _exchanged(tree, *_sides(patch))


def unapply(tree: Node, patch: Node) -> Node:
    """The state before a change, from the one after it."""
    before, after = _sides(patch)
    if any(_is_unsaid(old) for old in before.values()):
        raise DoesNotApply("the change does not say what it replaced")
    return _exchanged(tree, after, before)


def begins(patch: Node) -> bool:
    """Whether a change says only that a history begins."""
    return isinstance(patch, dict) and set(patch) == {BEGUN}


def without(patch: Node, left: Set[str]) -> Node:
    """A change without what it says of some top-level fields."""
    before, after = ({k: v for k, v in each.items() if _first(k) not in left} for each in _sides(patch))
    return {"original": before, "modified": after}


def names(patch: Node) -> list[str]:
    """The top-level fields that a change is about."""
    return [_first(path) for side in _sides(patch) for path in side]


def about(patch: Node, name: str) -> tuple[bool, Node]:
    """The part of a change that is about one top-level field, and whether it fits any value there before."""
    before, after = ({k: v for k, v in side.items() if _first(k) == name} for side in _sides(patch))
    if name in before or name in after:
        return True, {"original": {}, "modified": {k: v for k, v in after.items() if k == name}}
    return False, {"original": before, "modified": after} if before or after else {}


def mark(name: str) -> bytes:
    """Bytes in every change of a top-level field."""
    return name.encode()


def may_remove(row: bytes) -> bool:
    """Whether a change in these bytes may remove a field."""
    found = c.decode(row)
    before, after = found.get("original"), found.get("modified")
    return not isinstance(before, dict) or not isinstance(after, dict) or not before.keys() <= after.keys()


REMOVAL_MARK = b""
"""Empty: every change has both lists."""


def _first(path: str) -> str:
    return path.partition(".")[0]


def _sides(patch: Node) -> _Sides:
    """The fields with their values before and after; a null stands for no value."""
    before: dict[str, Node] = {}
    after: dict[str, Node] = {}
    for path, old, new in _changes(patch):
        if old is not None and (_is_unsaid(old) or not _is_null(old)):
            before[path] = old
        if new is not None and not _is_null(new):
            after[path] = new
    return before, after


def _changes(patch: Node) -> Iterator[_Change]:
    """Each changed field with its value before and after."""
    if isinstance(patch, list):
        yield from map(_of_list, patch)
    elif isinstance(patch, dict) and (sides := _two_sides(patch)) is not None:
        before, after = sides
        yield from ((path, before.get(path), after.get(path)) for path in {**before, **after})
    elif isinstance(patch, dict) and isinstance(joined := patch.get(JOINED), list):
        yield from map(_of_list, joined)
    elif isinstance(patch, dict) and is_of_one_field(patch):
        yield _of_list(patch)
    elif isinstance(patch, dict) and is_in_letters(patch):
        yield from _of_letters(patch)
    elif isinstance(patch, dict):
        yield from _of_tree(patch, "")
    else:
        raise DoesNotApply("the change has no original and modified fields")


def _two_sides(patch: Mapping[str, Node]) -> _Sides | None:
    """The two sides, if the change is written as such; one of them may be missing or null."""
    for names in PAIRS:
        there = [patch[name] for name in names if name in patch and not _is_null(patch[name])]
        if there and names == PAIRS[0]:
            break
        if there and patch.keys() <= {*names} and all(isinstance(x, dict) and _values(x) is None for x in there):
            break
    else:
        return None
    before, after = (patch.get(name) for name in names)
    return before if isinstance(before, dict) else {}, after if isinstance(after, dict) else {}


def is_of_one_field(patch: Mapping[str, Node]) -> bool:
    """Whether a change is about one field, which it names, and says its values."""
    named = any(isinstance(each := patch.get(name), Value) and bool(text(each)) for name in FIELDS)
    return named and _values(patch) is not None


def _is_unsaid(old: Node) -> bool:
    return old is _UNKNOWN or old is _ANYTHING


def is_in_letters(patch: Mapping[str, Node]) -> bool:
    """Whether a change is written with the letters for added, updated and removed fields."""
    lists = isinstance(patch.get(REMOVED, []), list)
    trees = all(isinstance(patch.get(letter, {}), dict) for letter in (ADDED, UPDATED))
    return set(patch) == {BEGUN} or (lists and trees and {ADDED, UPDATED, REMOVED} >= patch.keys() >= {UPDATED})


def _of_letters(patch: Mapping[str, Node]) -> Iterator[_Change]:
    added, updated, removed = (patch.get(letter) for letter in (ADDED, UPDATED, REMOVED))
    yield from ((name, None, value) for name, value in (added.items() if isinstance(added, dict) else ()))
    yield from ((name, _UNKNOWN, value) for name, value in (updated.items() if isinstance(updated, dict) else ()))
    yield from (
        (text(name) or "", _UNKNOWN, None)
        for name in (removed if isinstance(removed, list) else ())
        if isinstance(name, Value)
    )


def _of_list(change: Node) -> _Change:
    if isinstance(change, dict):
        path = next((_path(change[name]) for name in FIELDS if name in change), "")
        values = _values(change)
        if path and values is not None:
            return path, *values
    raise DoesNotApply(f"a change of the list is {shown(change)}")


def _of_tree(node: Node, at: str) -> Iterator[_Change]:
    """The changes in a tree of fields, whose leaves say the values before and after."""
    if isinstance(node, Value):
        raise DoesNotApply(f"the change of {at} does not say its values before and after")
    if at and isinstance(node, dict) and (values := _values(node)) is not None:
        yield at, *values
        return
    parts = node.items() if isinstance(node, dict) else ((str(place), each) for place, each in enumerate(node))
    for name, each in parts:
        yield from _of_tree(each, f"{at}.{name}" if at else name)


def _path(node: Node) -> str:
    """A field's path, written with dots or as a list of steps."""
    if isinstance(node, list):
        steps = [text(step) or str(step.python()) if isinstance(step, Value) else "" for step in node]
        return ".".join(steps) if all(steps) else ""
    return text(node) or ""


def _values(change: Mapping[str, Node]) -> tuple[Node | None, Node | None] | None:
    """The values before and after a change, None for none; None if the change does not say them."""
    pair = next((pair for pair in PAIRS if any(name in change for name in pair)), None)
    if pair is None:
        return (_ANYTHING, change[CHANGED_TO]) if CHANGED_TO in change else None
    return change.get(pair[0]), change.get(pair[1])


def _is_null(node: Node) -> bool:
    return isinstance(node, Value) and node.type in (c.NULL, c.UNDEFINED)


def _exchanged(tree: Node, old: dict[str, Node], new: dict[str, Node]) -> Node:
    gone = [path for path in old if path not in new]
    for path in (*reversed(gone), *new):  # elements leave an array from its end
        parent, step = _parent(tree, path, path in new)
        now = _at(parent, step)
        now = None if now is None or _is_null(now) else now
        if path in old:
            if old[path] is _ANYTHING:
                now = None
            elif now is None:
                raise DoesNotApply(f"there is no {path}")
            elif old[path] is not _UNKNOWN and not alike(now, old[path]):
                raise DoesNotApply(f"{path} is {shown(now)} and should be {shown(old[path])}")
        elif now is not None:
            raise DoesNotApply(f"there is already a {path}")
        _put(parent, step, copied(new[path]) if path in new else None)
    return tree


def _parent(tree: Node, path: str, makes: bool) -> tuple[Node, str]:
    """What holds the field at a path, and the last step; ``makes`` what is missing above."""
    steps = path.split(".")
    for name, following in pairwise(steps):
        inner = _at(tree, name)
        if inner is None:
            if not makes:
                raise DoesNotApply(f"there is no {path}")
            inner = [] if _is_place(following) else {}
            _put(tree, name, inner)
        tree = inner
    if isinstance(tree, Value):
        raise DoesNotApply(f"{path} is inside of {shown(tree)}")
    return tree, steps[-1]


def _at(parent: Node, step: str) -> Node | None:
    if isinstance(parent, dict):
        return parent.get(step)
    if isinstance(parent, list) and _is_place(step) and int(step) < len(parent):
        return parent[int(step)]
    return None


def _is_place(step: str) -> bool:
    return step.isascii() and step.isdigit()


def _put(parent: Node, step: str, value: Node | None) -> None:
    """Set a field or an element; None takes it out."""
    if isinstance(parent, dict):
        if value is None:
            parent.pop(step, None)
        else:
            parent[step] = value
        return
    if not isinstance(parent, list) or not _is_place(step) or int(step) > len(parent):
        raise DoesNotApply(f"there is no place {step} in {shown(parent)}")
    place = int(step)
    if value is None:
        if place < len(parent) - 1:
            raise DoesNotApply(f"an element leaves {shown(parent)} at {place}")
        del parent[place:]
    elif place == len(parent):
        parent.append(value)
    else:
        parent[place] = value
