"""Filters that match exactly one state of a document: by type, never through an array, null apart from missing.

A server's equality is looser than a swap may be: ``{f: 1}`` also matches 1.0, ``{f: null}`` a missing field,
``{f: 5}`` the array ``[5]``. A guard therefore names the BSON type as well, and says that an array is none. What
equality cannot tell at all, ``1.0`` from ``1.00`` in Decimal128 and ``-0.0`` from ``0.0``, is compared as the text that
the server itself makes of both, where it can (:class:`Abilities`); else the guard says so in its ``notes``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bson.decimal128 import Decimal128

from model import canonical as c
from model.canonical import Path, Value
from model.errors import Refused
from model.resilient import Port, bson_of

LARGEST = 16 << 20
"""Bytes of a guard and of the write that it belongs to, together: one command holds no more."""

NUMBERS = (c.INT32, c.INT64, c.DOUBLE, c.DECIMAL128)
_ZERO = struct.pack("<d", 0.0)
_MINUS_ZERO = struct.pack("<d", -0.0)
_AGGREGATION_TYPES = {c.INT32: "int", c.INT64: "long", c.DOUBLE: "double", c.DECIMAL128: "decimal"}


@dataclass(frozen=True)
class Abilities:
    """What expressions a server understands, as :func:`abilities` found out."""

    texts: bool = False  # $toString tells 1.0 from 1.00 and -0.0 from 0.0
    fields: bool = False  # $getField reaches names with dots and dollars, $type names a type
    counts: bool = False  # $objectToArray counts the fields of a document
    root: bool = False  # $$ROOT compares a whole document, order included
    arrays: bool = False  # and arrays inside it


@dataclass(frozen=True)
class Guard:
    """A filter for one document, and what it cannot tell apart on this server."""

    filter: dict[str, Any]
    notes: tuple[str, ...] = ()


def abilities(server: Port, ns: str, id: Value) -> Abilities:
    """Ask the server, over one document that exists, what its expressions can tell apart; reads only."""
    one, other = Value.of(Decimal128("1.0")), Value.of(Decimal128("1.00"))
    zero, minus = Value(c.DOUBLE, _ZERO), Value(c.DOUBLE, _MINUS_ZERO)
    odd = {"a.b": Value.of(1)}

    def says(expression: object) -> bool:
        try:
            found = server.find(ns, {"_id": id, "$expr": expression}, projection={"_id": 1}, limit=1)
            return next(iter(found), None) is not None
        except Refused:
            return False

    def texts(a: Value, b: Value) -> bool:
        return says({"$eq": [{"$toString": {"$literal": a}}, {"$toString": {"$literal": b}}]})

    def field(name: str, kind: str) -> bool:
        got = {"$getField": {"field": {"$literal": name}, "input": {"$literal": odd}}}
        return says({"$and": [{"$eq": [got, odd["a.b"]]}, {"$eq": [{"$type": got}, kind]}]})

    def same(a: object, b: object) -> bool:
        return says({"$eq": [{"$literal": {"f": a}}, {"$literal": {"f": b}}]})

    def count(number: int) -> bool:
        return says({"$eq": [{"$size": {"$objectToArray": {"$literal": {"a": 1, "b": 2}}}}, number]})

    nothing: list[int] = []
    root = says({"$eq": ["$$ROOT", "$$ROOT"]}) and not says({"$eq": ["$$ROOT", {"$literal": odd}]})
    return Abilities(
        texts=texts(one, one) and not texts(one, other) and texts(minus, minus) and not texts(zero, minus),
        fields=field("a.b", "int") and not field("a", "int") and not field("a.b", "double"),
        counts=count(2) and not count(1) and not count(3),
        root=root and same({"a": 1, "b": 2}, {"a": 1, "b": 2}) and not same({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        arrays=same(nothing, nothing)
        and same([1, [2]], [1, [2]])
        and not any(same(*pair) for pair in (([1], [[1]]), ([1], [1, 2]), ([1, 2], [2, 1]), ([[1]], [1]))),
    )


def addressable(name: str) -> bool:
    """Whether operators can name the field: paths are cut at dots, and a dollar begins an operator."""
    return bool(name) and "." not in name and not name.startswith("$")


def dotted(path: Path) -> str:
    """The path as filters and operators write it."""
    return ".".join(map(str, path))


def exact(path: str, value: Value | None) -> dict[str, Any]:
    """The clause that a field has exactly this value, or with None that it is missing.

    ``path`` is dotted and must lead through documents only. In Decimal128 and zero it tells less than
    :func:`whole`; in containers it compares numbers across types, see :func:`within`.
    """
    if value is None:
        return {path: {"$exists": False}}
    number = -1 if value.type == c.MIN_KEY else value.type
    if value.type == c.ARRAY:
        return {path: {"$eq": value, "$type": number, "$not": {"$elemMatch": {"$eq": value}}}}
    scalar = {"$type": number, "$not": {"$type": c.ARRAY}}
    if value.type in (c.NULL, c.UNDEFINED):  # equality would take a missing field for null, and refuses undefined
        return {path: scalar}
    return {path: {"$eq": value, **scalar}}


def by_id(id: Value, name: str = "_id") -> dict[str, Any]:
    """The clause for a document's id: plain equality where that is exact, so that every server uses its index."""
    if name == "_id" and id.type in (c.OBJECT_ID, c.STRING, c.BINARY, c.BOOLEAN, c.DATE, c.TIMESTAMP):
        return {name: id}
    return exact(name, id) | _number_types((name,), id)


def nested(path: str, value: Value | None) -> dict[str, Any]:
    """As :func:`exact`, for a path inside documents: every parent must still be a document, numbers keep their type."""
    steps = path.split(".")
    clauses: dict[str, Any] = {}
    for depth in range(1, len(steps)):
        clauses[".".join(steps[:depth])] = {"$type": c.OBJECT, "$not": {"$type": c.ARRAY}}
    clauses |= exact(path, value)
    return clauses if value is None else clauses | _number_types(tuple(steps), value)


def _number_types(path: Path, value: Value) -> dict[str, Any]:
    if not value.is_container:
        return {}
    return {
        dotted(leaf.path): {"$type": leaf.value.type}
        for leaf in _leaves(path, value, True)
        if leaf.reachable and leaf.value.type in NUMBERS
    }


def whole(raw: bytes, able: Abilities, additions: bool = False, beside: int = 0) -> Guard:
    """The guard that a document is still what was read, each top-level field of it.

    With ``additions`` a field that somebody added fails it too, as a replacement needs; without, as operators do, it
    may be there. ``beside`` is the size of the write itself, in bytes. Raises ``Refused`` where this server cannot be
    asked, or where both would be too large for one command.
    """
    pairs = c.fields(raw)
    odd = [name for name, _ in pairs if not addressable(name)]
    rooted = bool(odd) and not able.fields
    if rooted and not (able.root and (able.arrays or not _has_arrays(raw))):
        raise Refused(
            f"This server cannot compare the field {odd[0]!r}, so the edit cannot be guarded; nothing was written."
        )
    if additions and not (rooted or able.counts):
        raise Refused("This server cannot count fields, so a replacement cannot be guarded; nothing was written.")
    clauses: dict[str, Any] = {}
    expressions: list[Any] = []
    if rooted:
        expressions.append({"$eq": ["$$ROOT", {"$literal": Value.document(raw)}]})
    elif additions:
        expressions.append({"$eq": [{"$size": {"$objectToArray": "$$ROOT"}}, len(pairs)]})
    for name, value in pairs:
        if name == "_id":
            clauses |= by_id(value)
        elif addressable(name):
            clauses |= exact(name, value)
        elif not rooted:
            expressions.append({"$eq": [_expression((name,)), {"$literal": value}]})
    notes: list[str] = []
    for leaf in _leaves((), Value(c.OBJECT, raw), True):
        if leaf.path[0] == "_id":
            continue
        if leaf.value.type in NUMBERS:
            if leaf.reachable:
                clauses.setdefault(dotted(leaf.path), {})["$type"] = leaf.value.type
            elif able.fields:
                number = _AGGREGATION_TYPES[leaf.value.type]
                expressions.append({"$eq": [{"$type": _expression(leaf.path)}, number]})
            else:
                raise Refused(
                    f"The number in {dotted(leaf.path)!r} cannot be guarded on this server, as no filter can name its "
                    "field without ambiguity; nothing was written."
                )
        if _needs_text(leaf.value):
            if able.texts and (able.fields or all(isinstance(s, int) or addressable(s) for s in leaf.path)):
                texts = [{"$toString": _expression(leaf.path)}, {"$toString": {"$literal": leaf.value}}]
                expressions.append({"$eq": texts})
            else:
                notes.append(dotted(leaf.path))
    if expressions:
        clauses["$expr"] = {"$and": expressions}
    if len(bson_of(clauses)) + beside > LARGEST:
        raise Refused("The document is too large to be compared whole in one write, so this edit cannot be guarded.")
    return Guard(clauses, tuple(notes))


def _has_arrays(raw: bytes) -> bool:
    return any(
        value.type == c.ARRAY or (value.type == c.OBJECT and _has_arrays(value.data)) for _, value in c.fields(raw)
    )


def needs_expressions(raw: bytes) -> bool:
    """Whether :func:`whole` depends on what the server's expressions can do; else ``Abilities()`` will do."""
    return any(
        _needs_text(leaf.value) or not leaf.reachable for leaf in _leaves((), Value(c.OBJECT, raw), True)
    ) or any(not addressable(name) for name, _ in c.fields(raw))


def _needs_text(value: Value) -> bool:
    """Whether a value has neighbours that the server's equality takes for the same."""
    return value.type == c.DECIMAL128 or (value.type == c.DOUBLE and value.data in (_ZERO, _MINUS_ZERO))


@dataclass(frozen=True)
class _Leaf:
    path: Path
    value: Value
    reachable: bool  # False: dots, dollars or positions make its dotted path ambiguous


def _leaves(path: Path, container: Value, reachable: bool) -> Iterator[_Leaf]:
    """Every scalar below a container."""
    if container.type == c.OBJECT:
        inside: list[tuple[str | int, Value, bool]]
        inside = [(name, value, addressable(name)) for name, value in c.fields(container.data)]
    else:
        elements = c.items(container)
        names = {name for each in elements if each.type == c.OBJECT for name, _ in c.fields(each.data)}
        # "f.0" is the first element and also the field "0" of every document in the array.
        inside = [(i, value, str(i) not in names) for i, value in enumerate(elements)]
    for step, value, plain in inside:
        if value.is_container:
            yield from _leaves((*path, step), value, reachable and plain)
        else:
            yield _Leaf((*path, step), value, reachable and plain)


def _expression(path: Path) -> Any:
    """The aggregation expression for the value at a path."""
    here: Any = "$$ROOT"
    for step in path:
        if isinstance(step, int):
            here = {"$arrayElemAt": [here, step]}
        elif not addressable(step):
            here = {"$getField": {"field": {"$literal": step}, "input": here}}
        elif isinstance(here, str):
            here = f"${step}" if here == "$$ROOT" else f"{here}.{step}"
        else:
            here = {"$let": {"vars": {"x": here}, "in": f"$$x.{step}"}}
    return here
