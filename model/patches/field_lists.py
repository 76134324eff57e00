"""Changes as two lists of fields, what they were and what they became: ``{original: {…}, modified: {…}}``.

A field of ``original`` alone was taken out, one of ``modified`` alone is new. Names may have dots, for fields inside of
others. Source: the trackers of Mongoid::History.
"""

from __future__ import annotations

from model.patches.tree import DoesNotApply, Node, alike, copied, shown


def apply(tree: Node, patch: Node) -> Node:
    """The state behind a change, from the one before it."""
    return _exchanged(tree, *_sides(patch))


def unapply(tree: Node, patch: Node) -> Node:
    """The state before a change, from the one behind it."""
    before, after = _sides(patch)
    return _exchanged(tree, after, before)


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
