"""Changes as two lists of fields, before and after: ``{original: {…}, modified: {…}}``.

A field only in ``original`` was removed, one only in ``modified`` was added. Names may have dots, for fields inside
others. Source: the trackers of Mongoid::History.
"""

from __future__ import annotations

from collections.abc import Set

from model.patches.tree import DoesNotApply, Node, alike, copied, shown
from model.values import canonical as c


def apply(tree: Node, patch: Node) -> Node:
    """The state after a change, from the one before it."""
    return _exchanged(tree, *_sides(patch))


def unapply(tree: Node, patch: Node) -> Node:
    """The state before a change, from the one after it."""
    before, after = _sides(patch)
    return _exchanged(tree, after, before)


def without(patch: Node, left: Set[str]) -> Node:
    """A change without what it says of some top-level fields."""
    before, after = ({k: v for k, v in each.items() if k.partition(".")[0] not in left} for each in _sides(patch))
    return {"original": before, "modified": after}


def names(patch: Node) -> list[str]:
    """The top-level fields that a change is about."""
    return [path.partition(".")[0] for side in _sides(patch) for path in side]


def about(patch: Node, name: str) -> tuple[bool, Node]:
    """The part of a change that is about one top-level field, and whether it fits any value there before."""
    before, after = ({k: v for k, v in side.items() if k.partition(".")[0] == name} for side in _sides(patch))
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


def _sides(patch: Node) -> tuple[dict[str, Node], dict[str, Node]]:
    before, after = (patch.get(name, {}) if isinstance(patch, dict) else None for name in ("original", "modified"))
    if not isinstance(before, dict) or not isinstance(after, dict):
        raise DoesNotApply("the change has no original and modified fields")
    return before, after


def _exchanged(tree: Node, old: dict[str, Node], new: dict[str, Node]) -> Node:
    for path in {**old, **new}:
        parent, name = _parent(tree, path)
        if path in old:
            if name not in parent:
                raise DoesNotApply(f"there is no {path}")
            if not alike(parent[name], old[path]):
                raise DoesNotApply(f"{path} is {shown(parent[name])} and should be {shown(old[path])}")
        elif name in parent:
            raise DoesNotApply(f"there is already a {path}")
        if path in new:
            parent[name] = copied(new[path])
        else:
            del parent[name]
    return tree


def _parent(tree: Node, path: str) -> tuple[dict[str, Node], str]:
    *above, name = path.split(".")
    for step in above:
        inner = tree.get(step) if isinstance(tree, dict) else None
        if inner is None:
            raise DoesNotApply(f"there is no {path}")
        tree = inner
    if not isinstance(tree, dict):
        raise DoesNotApply(f"{path} is inside of {shown(tree)}")
    return tree, name
