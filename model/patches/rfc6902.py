"""JSON Patch, RFC 6902: a list of operations on JSON Pointers, including ``test``.

It can be applied backwards only if a ``test`` of the old value stands before each ``replace`` and ``remove``.
:func:`compare` makes a patch. Unknown members of an operation are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from model.patches.tree import DoesNotApply, Node, alike, copied, shown, text
from model.values.canonical import Value


def apply(tree: Node, patch: Node) -> Node:
    """The tree with all operations applied in order; raises ``DoesNotApply`` at the first that does not fit."""
    if not isinstance(patch, list):
        raise DoesNotApply("the patch is not a list of operations")
    for operation in patch:
        tree = _applied(tree, operation)
    return tree


def unapply(tree: Node, patch: Node) -> Node:
    """The tree before all operations; raises ``DoesNotApply`` at one that does not say what it replaced."""
    operations = _operations(patch)
    for at in range(len(operations) - 1, -1, -1):
        before = operations[at - 1] if at else {}
        tree = _taken_back(tree, operations[at], _old_value(operations[at], before))
    return tree


def without(patch: Node, left: Set[str]) -> Node:
    """A patch without what it says of some top-level fields."""
    return [each for each in _operations(patch) if not left & _firsts(each)]


def _old_value(operation: dict[str, Node], before: dict[str, Node]) -> Node | None:
    """What an operation replaced, by the test right before it; None if that does not say it."""
    is_test = text(before.get("op")) == "test" and text(before.get("path")) == text(operation.get("path"))
    return before.get("value") if is_test else None


def _taken_back(tree: Node, operation: dict[str, Node], old: Node | None) -> Node:
    name, at = text(operation.get("op")), text(operation.get("path"))
    if name == "move":
        origin = text(operation.get("from"))
        if at is None or origin is None:
            raise DoesNotApply("a move has no path or no from")
        value = copied(_value_at(tree, at))
        return _add(_removed(tree, at), origin, value)
    if at is None or name not in ("add", "copy", "replace", "remove"):
        return _applied(tree, operation)  # a test says the same both ways, and anything else does not apply
    if name == "remove" or name == "replace":
        if old is None:
            raise DoesNotApply(f"the patch does not say what was at {at}")
        if name == "remove":
            return _add(tree, at, copied(old))
    if name in ("add", "replace"):
        at = _last_place(tree, at) if at.endswith("/-") else at
        _test(tree, at, operation["value"] if "value" in operation else Value.of(None))
    return _set(tree, at, copied(old)) if name == "replace" and old is not None else _removed(tree, at)


def _last_place(tree: Node, at: str) -> str:
    """The pointer to the element that was put behind all others of an array."""
    above = at.removesuffix("/-")
    array = _value_at(tree, above)
    return f"{above}/{len(array) - 1}" if isinstance(array, list) else at


def compare(old: Node, new: Node, tested: bool = False) -> list[Node]:
    """The operations that lead from one JSON value to another; if ``tested``, with a test before each removal.

    Arrays are compared place by place, and elements are removed from the end, like the common JavaScript packages do.
    """
    return list(_compared(old, new, "", tested))


def _compared(old: Node, new: Node, at: str, tested: bool) -> Iterator[Node]:
    if isinstance(old, dict) and isinstance(new, dict):
        was, now = old, new
    elif isinstance(old, list) and isinstance(new, list):
        was, now = ({str(place): each for place, each in enumerate(array)} for array in (old, new))
    else:
        if not alike(old, new):
            yield from _operation("replace", at, old, new, tested)
        return
    # From the end, so that no removal shifts an element that is still to come.
    for name in reversed(was):
        path = f"{at}/{name.replace('~', '~0').replace('/', '~1')}"
        if name in now:
            yield from _compared(was[name], now[name], path, tested)
        else:
            yield from _operation("remove", path, was[name], None, tested)
    for name in now:
        if name not in was:
            yield from _operation("add", f"{at}/{name.replace('~', '~0').replace('/', '~1')}", None, now[name], False)


def _operation(name: str, at: str, old: Node | None, new: Node | None, tested: bool) -> Iterator[Node]:
    said: dict[str, Node] = {"path": Value.of(at)}
    if tested and old is not None:
        yield {"op": Value.of("test"), **said, "value": old}
    yield {"op": Value.of(name), **said, **({"value": new} if new is not None else {})}


def _applied(tree: Node, operation: Node) -> Node:
    name = text(operation.get("op")) if isinstance(operation, dict) else None
    if not isinstance(operation, dict) or name is None:
        raise DoesNotApply("an operation has no op")
    at = text(operation.get("path"))
    if at is None:
        raise DoesNotApply(f"{name} has no path")
    if name in ("add", "replace", "test"):
        if "value" not in operation:
            raise DoesNotApply(f"{name} at {at} has no value")
        value = copied(operation["value"])
        if name == "test":
            _test(tree, at, value)
            return tree
        if name == "replace":
            _value_at(tree, at)
            return _set(tree, at, value)
        return _add(tree, at, value)
    if name == "remove":
        return _removed(tree, at)
    if name in ("move", "copy"):
        origin = text(operation.get("from"))
        if origin is None:
            raise DoesNotApply(f"{name} to {at} has no from")
        value = copied(_value_at(tree, origin))
        return _add(_removed(tree, origin) if name == "move" else tree, at, value)
    raise DoesNotApply(f"there is no operation {name}")


def names(patch: Node) -> list[str]:
    """The top-level fields that a patch is about; raises ``DoesNotApply`` if it is about the whole document."""
    return [first for operation in _operations(patch) for first in sorted(_firsts(operation))]


def about(patch: Node, name: str) -> tuple[bool, Node]:
    """The part of a patch that is about one top-level field, and whether it fits any value there before."""
    mine = [each for each in _operations(patch) if name in (firsts := _firsts(each)) and _is_one_field(firsts)]
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    for at in range(len(mine) - 1, -1, -1):
        # From the last time that the whole field is set or removed, nothing before matters.
        if text(mine[at].get("path")) == pointer and (done := text(mine[at].get("op"))) in ("add", "replace", "remove"):
            first: list[Node] = [] if done == "remove" else [{**mine[at], "op": Value.of("add")}]
            return True, [*first, *mine[at + 1 :]]
    return False, list(mine)


def mark(name: str) -> bytes:
    """Bytes in every patch about a top-level field."""
    return b"/" + name.replace("~", "~0").replace("/", "~1").encode()


def may_remove(row: bytes) -> bool:
    """Whether a patch in these bytes may remove a field."""
    return REMOVAL_MARK in row


REMOVAL_MARK = b"move\x00"
"""The end of "remove" and "move"."""


def _operations(patch: Node) -> list[dict[str, Node]]:
    if not isinstance(patch, list):
        raise DoesNotApply("the patch is not a list of operations")
    return [each for each in patch if isinstance(each, dict)]


def _firsts(operation: dict[str, Node]) -> set[str]:
    """The top-level fields that an operation is about."""
    pointers = [steps(said) for key in ("path", "from") if (said := text(operation.get(key))) is not None]
    if not all(pointers):
        raise DoesNotApply("the patch is about the whole document")
    return {each[0] for each in pointers}


def _is_one_field(names: set[str]) -> bool:
    if len(names) > 1:
        raise DoesNotApply("the patch moves a value from one field to another")
    return True


def steps(pointer: str) -> list[str]:
    """The names in a JSON Pointer, RFC 6901; raises ``DoesNotApply`` if it is not one."""
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise DoesNotApply(f"{pointer} is not a pointer")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _test(tree: Node, at: str, wanted: Node) -> None:
    found = _value_at(tree, at)
    if not alike(found, wanted):
        raise DoesNotApply(f"{at} is {shown(found)} and should be {shown(wanted)}")


def _value_at(tree: Node, at: str) -> Node:
    for step in steps(at):
        if isinstance(tree, dict) and step in tree:
            tree = tree[step]
        elif isinstance(tree, list) and step.isascii() and step.isdigit() and int(step) < len(tree):
            tree = tree[int(step)]
        else:
            raise DoesNotApply(f"there is no {at}")
    return tree


def _parent(tree: Node, at: str) -> tuple[Node, str]:
    head, _, _ = at.rpartition("/")
    return _value_at(tree, head), steps(at)[-1]


def _set(tree: Node, at: str, value: Node) -> Node:
    """The tree with the value at a pointer replaced."""
    if not at:
        return value
    parent, step = _parent(tree, at)
    if isinstance(parent, dict):
        parent[step] = value
    elif isinstance(parent, list):
        parent[int(step)] = value
    return tree


def _add(tree: Node, at: str, value: Node) -> Node:
    if not at:
        return value
    parent, step = _parent(tree, at)
    if isinstance(parent, dict):
        parent[step] = value
    elif isinstance(parent, list):
        place = len(parent) if step == "-" else int(step) if step.isascii() and step.isdigit() else -1
        if not 0 <= place <= len(parent):
            raise DoesNotApply(f"there is no place {at}")
        parent.insert(place, value)
    else:
        raise DoesNotApply(f"{at} is inside of {shown(parent)}")
    return tree


def _removed(tree: Node, at: str) -> Node:
    _value_at(tree, at)
    if not at:
        return {}
    parent, step = _parent(tree, at)
    if isinstance(parent, dict):
        del parent[step]
    elif isinstance(parent, list):
        del parent[int(step)]
    return tree
