"""The scalars in a value that a server's equality confuses with others, and the clauses that distinguish them.

Inside containers servers compare numbers across types: ``[1]`` equals ``[1.0]``. If all elements of an array have one
type, one clause excludes the other types for all of them. If types differ, one expression lists types and digits of
the stored value and of the value that was read, and compares both lists. A guard therefore grows linearly with a
document: with a clause for each element, a server would walk the array from its start for each of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

from msgspec import Struct, field

from model.values import canonical as c
from model.values.canonical import Path, Value
from model.values.kinds import NUMBERS

_ZEROS = (struct.pack("<d", 0.0), struct.pack("<d", -0.0))

Group: TypeAlias = tuple[str | None, ...]
"""A path for many leaves at once: None stands for every position in an array."""


class Leaf(Struct, frozen=True):
    """A scalar, its path, and whether its dotted path is unambiguous."""

    path: Path
    value: Value
    reachable: bool  # False: dots, dollars or positions make its dotted path ambiguous
    group: Group

    @property
    def loose(self) -> bool:
        """Whether equality confuses it even with values of its own type."""
        return needs_text(self.value)


@lru_cache(maxsize=4096)
def addressable(name: str) -> bool:
    """Whether operators can name the field: a dot separates paths, a dollar starts an operator."""
    return bool(name) and "." not in name and not name.startswith("$")


def dotted(path: Iterable[str | int | None]) -> str:
    """The path in the notation of filters and operators."""
    return ".".join(map(str, path))


def needs_text(value: Value) -> bool:
    """Whether equality confuses it with other values of its type: 1.0 and 1.00, -0.0 and 0.0."""
    return value.type == c.DECIMAL128 or (value.type == c.DOUBLE and value.data in _ZEROS)


def leaves(path: Path, container: Value, reachable: bool = True, group: Group | None = None) -> Iterator[Leaf]:
    """Every scalar below a container, in stored order."""
    group = tuple(str(step) for step in path) if group is None else group
    inside: Iterable[tuple[str | int, Value, bool, Group]]
    if container.type == c.OBJECT:
        inside = ((name, value, addressable(name), (*group, name)) for name, value in c.fields(container.data))
    else:
        elements = c.items(container)
        names = {name for each in elements if each.type == c.OBJECT for name, _ in c.fields(each.data)}
        below = (*group, None)
        # "f.0" is the first element and also the field "0" of every document in the array.
        inside = ((i, value, str(i) not in names, below) for i, value in enumerate(elements))
    for step, value, plain, here in inside:
        if value.is_container:
            yield from leaves((*path, step), value, reachable and plain, here)
        else:
            yield Leaf((*path, step), value, reachable and plain, here)


def has_arrays(raw: bytes) -> bool:
    """Whether a document contains an array at any depth."""
    return any(
        value.type == c.ARRAY or (value.type == c.OBJECT and has_arrays(value.data)) for _, value in c.fields(raw)
    )


# --- one clause for all elements


def number_types(found: Iterable[Leaf]) -> dict[Group, set[int]]:
    """The types of the numbers in each group inside an array.

    Groups that differ only in the number of arrays on the way share their set: some servers look through nested
    arrays.
    """
    shared: dict[Group, set[int]] = {}
    out: dict[Group, set[int]] = {}
    for leaf in found:
        if leaf.value.type in NUMBERS and None in leaf.group:
            types = out.get(leaf.group)
            if types is None:
                names = tuple(step for step in leaf.group if step is not None)
                types = out[leaf.group] = shared.setdefault(names, set())
            types.add(leaf.value.type)
    return out


def nameable(group: Group) -> bool:
    """Whether a clause can reach all leaves of a group and nothing else."""
    below = False
    for step in group:
        if step is None:
            below = True
        elif not addressable(step) or (below and step.isdigit()):
            return False
    return True


def of_another_type(group: Group, types: set[int]) -> dict[str, Any]:
    """The clause that some element of a group is a number of none of these types."""
    clause: dict[str, Any] = {"$type": [number for number in NUMBERS if number not in types]}
    names: list[str] = []
    for step in reversed(group):
        if step is None:  # a clause for each array: not every server looks through nested arrays
            clause = {"$elemMatch": {dotted(names): clause} if names else clause}
            names = []
        else:
            names.insert(0, step)
    return {dotted(names): clause}


# --- one expression for a whole value


class _Shape(Struct):
    """The relevant groups inside a value, as a tree."""

    here: bool = False
    names: dict[str, _Shape] = field(default_factory=dict)
    each: _Shape | None = None

    def put(self, group: Group) -> None:
        """Add a group, relative to this node."""
        if not group:
            self.here = True
        elif group[0] is None:
            self.each = self.each or _Shape()
            self.each.put(group[1:])
        else:
            self.names.setdefault(group[0], _Shape()).put(group[1:])


def alike(stored: Any, read: Value, groups: Iterable[Group]) -> dict[str, Any]:
    """An expression that tests whether groups inside a value have the number types and digits that were read.

    ``stored`` is the expression for the value; the groups are relative to it.
    """
    shape = _Shape()
    for group in groups:
        shape.put(group)
    form = _form(shape, "$$x0", 1)
    return {"$eq": [_mapped([stored], "x0", form), _mapped([{"$literal": read}], "x0", form)]}


def _mapped(source: Any, variable: str, body: Any) -> dict[str, Any]:
    return {"$map": {"input": source, "as": variable, "in": body}}


def _form(shape: _Shape, here: Any, depth: int) -> Any:
    kind = {"$type": here}
    out: Any = kind
    if shape.here:
        precise = {"$or": [{"$eq": [kind, "double"]}, {"$eq": [kind, "decimal"]}]}
        digits = {"$toString": {"$cond": [precise, here, ""]}}  # some servers evaluate this for containers as well
        out = {"$concat": [kind, digits]}
    if shape.names:
        parts = [_form(inner, child(here, name), depth) for name, inner in shape.names.items()]
        out = {"$cond": [{"$eq": [kind, "object"]}, parts, out]}
    if shape.each is not None:
        array = {"$cond": [{"$isArray": [here]}, here, []]}  # some servers evaluate the other branch as well
        each = _mapped(array, f"x{depth}", _form(shape.each, f"$$x{depth}", depth + 1))
        out = {"$cond": [{"$isArray": [here]}, each, out]}
    return out


def child(here: Any, name: str) -> Any:
    """The expression for a field of another expression's result."""
    if not addressable(name):
        return {"$getField": {"field": {"$literal": name}, "input": here}}
    if isinstance(here, str):
        return f"${name}" if here == "$$ROOT" else f"{here}.{name}"
    # A $let would be simpler, but only $map works on every server.
    return {"$arrayElemAt": [_mapped([here], "x", f"$$x.{name}"), 0]}
