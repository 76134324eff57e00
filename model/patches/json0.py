"""The operations of ShareDB's type json0: a list of components, each with a path ``p``, forwards and backwards.

::

    na         a number is raised           li, ld       an element is inserted, deleted; both: replaced
    oi, od     a field is set, deleted      lm           an element is moved to this place
    si, sd     text goes in, out at the offset that ends the path; t and o say so with text0

Source: https://github.com/ottypes/json0
"""

from __future__ import annotations

from collections.abc import Callable, Set

from model.patches import text_patch
from model.patches.tree import DoesNotApply, Node, alike, copied, shown, text, whole
from model.values import canonical as c
from model.values.canonical import Value

# An operation may replace the whole document, so the tree is held under a name, as if it were a field.
_ROOT = "root"


def apply(tree: Node, operation: Node) -> Node:
    """The state after an operation, from the one before it."""
    top: dict[str, Node] = {_ROOT: tree}
    for component in _components(operation):
        _done(top, component)
    return top.get(_ROOT, {})


def unapply(tree: Node, operation: Node) -> Node:
    """The state before an operation, from the one after it."""
    top: dict[str, Node] = {_ROOT: tree}
    for component in reversed(_components(operation)):
        _done(top, _inverse(component))
    return top.get(_ROOT, {})


def without(operation: Node, left: Set[str]) -> Node:
    """An operation without its components about some top-level fields."""
    return [each for each in _components(operation) if _first(each) not in left]


def names(operation: Node) -> list[str]:
    """The top-level fields that an operation is about; raises ``DoesNotApply`` if it is about the whole document."""
    return [_first(each) for each in _components(operation)]


def about(operation: Node, name: str) -> tuple[bool, Node]:
    """The part of an operation that is about one top-level field, and whether it fits any value there before."""
    mine = [each for each in _components(operation) if _first(each) == name]
    for at in range(len(mine) - 1, -1, -1):
        # From the last time that the whole field is set or removed, nothing before matters.
        if len(_path(mine[at])) == 1 and {"oi", "od"} & mine[at].keys():
            first: list[Node] = [{key: mine[at][key] for key in ("p", "oi")}] if "oi" in mine[at] else []
            return True, [*first, *mine[at + 1 :]]
    return False, list(mine)


def mark(name: str) -> bytes:
    """Bytes in every operation about a top-level field."""
    return name.encode() + b"\x00"


def may_remove(row: bytes) -> bool:
    """Whether an operation in these bytes may remove a field."""
    return b"od\x00" in row and b"oi\x00" not in row


REMOVAL_MARK = b"od\x00"


def _first(component: dict[str, Node]) -> str:
    path = _path(component)
    if not path or (first := text(path[0])) is None:
        raise DoesNotApply("the operation is about the whole document")
    return first


def _components(operation: Node) -> list[dict[str, Node]]:
    found = [each for each in operation if isinstance(each, dict)] if isinstance(operation, list) else []
    if not isinstance(operation, list) or len(found) != len(operation):
        raise DoesNotApply("the operation is not one of the type json0")
    return found


def _inverse(component: dict[str, Node]) -> dict[str, Node]:
    swapped = {"si": "sd", "sd": "si", "oi": "od", "od": "oi", "li": "ld", "ld": "li"}
    made = {swapped.get(name, name): value for name, value in component.items()}
    if "na" in made:
        made["na"] = Value.of(-_number(made["na"]))
    if "lm" in made:
        path = _path(made)
        to, origin = _place(made["lm"]), _place(path[-1])
        made["p"], made["lm"] = [*path[:-1], Value.of(to)], Value.of(origin)
    if "o" in made:
        inner = made["o"]
        if not isinstance(inner, list):
            raise DoesNotApply("the operation inside of a text is not a list")
        turned = {"i": "d", "d": "i"}
        made["o"] = [
            {turned.get(name, name): value for name, value in each.items()} if isinstance(each, dict) else each
            for each in reversed(inner)
        ]
    return made


def _done(top: dict[str, Node], component: dict[str, Node]) -> None:
    path = [Value.of(_ROOT), *_path(component)]
    for keys, do in _KINDS:
        if not keys.isdisjoint(component):
            do(top, path, component)
            return
    raise DoesNotApply(f"an operation at {_said(path)} is not known")


def _text_changed(top: dict[str, Node], path: list[Node], component: dict[str, Node]) -> None:
    _in_text(top, path[:-1], _place(path[-1]), text(component.get("sd")) or "", text(component.get("si")) or "")


def _text_changed_by_type(top: dict[str, Node], path: list[Node], component: dict[str, Node]) -> None:
    inner = component.get("o")
    if text(component["t"]) != "text0" or not isinstance(inner, list):
        raise DoesNotApply(f"an operation of the type {shown(component['t'])} is not known")
    for each in inner:
        if not isinstance(each, dict):
            raise DoesNotApply("the operation inside of a text is not an object")
        out, into = text(each.get("d")) or "", text(each.get("i")) or ""
        _in_text(top, path, _place(each.get("p")), out, into)


def _number_raised(top: dict[str, Node], path: list[Node], component: dict[str, Node]) -> None:
    parent, step = _parent(top, path)
    now = _value(parent, step)
    _put(parent, step, Value.of(_number(now) + _number(component["na"])))


def _element_moved(top: dict[str, Node], path: list[Node], component: dict[str, Node]) -> None:
    array, place, to = *_element(top, path), _place(component["lm"])
    if place >= len(array) or to >= len(array):
        raise DoesNotApply(f"there is no element to move from {place} to {to}")
    array.insert(to, array.pop(place))


def _element_set(top: dict[str, Node], path: list[Node], component: dict[str, Node]) -> None:
    array, place = _element(top, path)
    if "ld" in component:
        if place >= len(array):
            raise DoesNotApply(f"there is no element {place}")
        _expect(array.pop(place), component["ld"], path)
    if "li" in component:
        if place > len(array):
            raise DoesNotApply(f"there is no place {place}")
        array.insert(place, copied(component["li"]))


def _field_set(top: dict[str, Node], path: list[Node], component: dict[str, Node]) -> None:
    parent, step = _parent(top, path)
    if not isinstance(parent, dict):
        raise DoesNotApply(f"{_said(path[:-1])} is not an object")
    name = text(step) or ""
    if "od" in component:
        if name not in parent:
            raise DoesNotApply(f"there is no {_said(path)}")
        _expect(parent[name], component["od"], path)
    if "oi" in component:
        parent[name] = copied(component["oi"])
    else:
        del parent[name]


_KINDS: tuple[tuple[frozenset[str], Callable[[dict[str, Node], list[Node], dict[str, Node]], None]], ...] = (
    (frozenset({"si", "sd"}), _text_changed),
    (frozenset({"t"}), _text_changed_by_type),
    (frozenset({"na"}), _number_raised),
    (frozenset({"lm"}), _element_moved),
    (frozenset({"li", "ld"}), _element_set),
    (frozenset({"oi", "od"}), _field_set),
)
"""The kinds of components by their typical keys, in the order in which these are looked for."""


def _in_text(top: dict[str, Node], path: list[Node], at: int, out: str, into: str) -> None:
    parent, step = _parent(top, path)
    here = text(_value(parent, step))
    if here is None:
        raise DoesNotApply(f"{_said(path)} is not text")
    _put(parent, step, Value.of(text_patch.exchanged(here, at, out, into)))


def _path(component: dict[str, Node]) -> list[Node]:
    found = component.get("p")
    if not isinstance(found, list):
        raise DoesNotApply("an operation has no path")
    return found


def _place(step: Node | None) -> int:
    place = whole(step)
    if place is None or place < 0:
        raise DoesNotApply("a place in an array or a text is not a number")
    return place


def _number(node: Node) -> int | float:
    if isinstance(node, Value) and node.type in (c.DOUBLE, c.INT32, c.INT64):
        found: int | float = node.python()
        return found
    raise DoesNotApply(f"{shown(node)} is not a number")


def _parent(top: dict[str, Node], path: list[Node]) -> tuple[Node, Node]:
    here: Node = top
    for step in path[:-1]:
        here = _value(here, step)
    return here, path[-1]


def _value(here: Node, step: Node) -> Node:
    if isinstance(here, dict):
        name = text(step)
        if name is not None and name in here:
            return here[name]
    elif isinstance(here, list) and (place := whole(step)) is not None and 0 <= place < len(here):
        return here[place]
    raise DoesNotApply(f"there is no {shown(step)} in {shown(here)}")


def _put(parent: Node, step: Node, value: Node) -> None:
    if isinstance(parent, dict):
        parent[text(step) or ""] = value
    elif isinstance(parent, list):
        parent[_place(step)] = value


def _element(top: dict[str, Node], path: list[Node]) -> tuple[list[Node], int]:
    parent, step = _parent(top, path)
    if not isinstance(parent, list):
        raise DoesNotApply(f"{_said(path[:-1])} is not an array")
    return parent, _place(step)


def _expect(found: Node, wanted: Node, path: list[Node]) -> None:
    if not alike(found, wanted):
        raise DoesNotApply(f"{_said(path)} is {shown(found)} and should be {shown(wanted)}")


def _said(path: list[Node]) -> str:
    return ".".join(shown(step).strip('"') for step in path[1:]) or "the document"
