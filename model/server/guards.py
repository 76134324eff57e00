"""Filters that match exactly one state of a document: with types, never through an array, null unlike missing.

A server's equality is looser than a swap needs: ``{f: 1}`` also matches 1.0, ``{f: null}`` a missing field, ``{f:
5}`` the array ``[5]``. So a guard also names the BSON type, and excludes arrays. Values that equality cannot
distinguish, the decimals ``1.0`` and ``1.00``, ``-0.0`` and ``0.0``, are compared as text that the server makes of
both, if it can (:class:`Abilities`); otherwise the guard mentions it in ``notes``.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from model import text
from model.errors import Refused, Unreachable, Unreadable
from model.server.retry import Port, bson_of
from model.values import canonical as c
from model.values.canonical import Path, Value
from model.values.decimals import decimal_value
from model.values.kinds import BY_CODE, NUMBERS
from model.values.leaves import (
    Group,
    Leaf,
    addressable,
    alike,
    child,
    dotted,
    has_arrays,
    leaves,
    nameable,
    needs_text,
    number_types,
    of_another_type,
)

LARGEST = 16 << 20
"""The most bytes of a guard together with its write, which share one command."""

SMALL = 1 << 10
"""Bytes of a document whose guard is always small enough: it grows at most quadratically."""

FEW = 3
"""So few numbers in a field of an array's documents are named one by one; a clause for all would read every element."""
SINGLY = 64
"""So few array elements of differing types are named one by one, which every server understands."""

_ZERO = struct.pack("<d", 0.0)
_MINUS_ZERO = struct.pack("<d", -0.0)


class Abilities(Struct, frozen=True):
    """The expressions that a server understands, as tested by :func:`abilities`."""

    texts: bool = False  # $toString distinguishes 1.0 from 1.00 and -0.0 from 0.0
    fields: bool = False  # $getField reaches names with dots and dollars, $type names a type
    counts: bool = False  # $objectToArray counts the fields of a document
    root: bool = False  # $$ROOT compares a whole document, order included
    arrays: bool = False  # and arrays inside it
    forms: bool = False  # $map iterates over arrays, and $cond, $isArray and $type distinguish their elements


class Guard(Struct, frozen=True):
    """A filter for one document, and the differences that it cannot detect on this server."""

    filter: dict[str, Any]
    notes: tuple[str, ...] = ()


def abilities(server: Port, ns: str, id: Value) -> Abilities:
    """Test on one existing document which values the server's expressions can distinguish; reads only.

    Raises ``Unreachable`` if it could not be asked.
    """
    one, other = decimal_value("1.0"), decimal_value("1.00")
    zero, minus = Value(c.DOUBLE, _ZERO), Value(c.DOUBLE, _MINUS_ZERO)
    odd = {"a.b": Value.of(1)}

    def says(expression: object) -> bool:
        try:
            found = server.find(ns, {"_id": id, "$expr": expression}, projection={"_id": 1}, limit=1)
            return next(iter(found), None) is not None
        except Unreachable:
            raise  # no answer; a wrong result would be kept for long
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

    # Each ability needs a test that must succeed and ones that must fail: some servers answer every comparison with
    # true.
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
        forms=says({"$and": [_form_is(_SAMPLE, True), *(_form_is(other, False) for other in _OTHERS)]}),
    )


_TENTHS, _HUNDREDTHS = decimal_value("1.0").python(), decimal_value("1.00").python()
_SAMPLE: list[Any] = [1, 1.0, _TENTHS, 0.0, "x", None, [1], {"v": 1, "w": [0.0]}]
_OTHERS: list[list[Any]] = [
    [*_SAMPLE[:at], other, *_SAMPLE[at + 1 :]]
    for at, other in (
        (0, 1.0),
        (1, 1),
        (2, _HUNDREDTHS),
        (3, -0.0),
        (6, 1),
        (7, {"v": 1.0}),
        (7, {"v": 1}),
    )
] + [[*_SAMPLE[:-1], {"v": 1, "w": [-0.0]}]]


def _form_is(other: list[Any], wanted: bool) -> dict[str, Any]:
    groups: list[Group] = [(None,), (None, "v"), (None, "w", None)]
    compared = alike({"$literal": other}, Value.of(_SAMPLE), groups)
    return compared if wanted else {"$not": [compared]}


def exact(path: str, value: Value | None) -> dict[str, Any]:
    """The clause that a field has exactly this value, or is missing (None).

    ``path`` is dotted and must lead through documents only. Unlike :func:`whole` it does not distinguish decimals and
    zeros by their digits, and compares numbers in containers across types.
    """
    return {path: _exactly(value)}


def _exactly(value: Value | None) -> dict[str, Any]:
    if value is None:
        return {"$exists": False}
    # In `$type` MinKey is -1, although its byte in a document is 255.
    number = -1 if value.type == c.MIN_KEY else value.type
    if value.type == c.ARRAY:
        # An array of such arrays also matches. Excluding nested arrays is the cheaper test, if there are none.
        nested = any(kind == c.ARRAY for _, kind, _, _ in c.elements(value.data))
        inside = {"$eq": value} if nested else {"$type": c.ARRAY}
        return {"$eq": value, "$type": number, "$not": {"$elemMatch": inside}}
    if value.type in (c.NULL, c.UNDEFINED):  # equality would match a missing field for null, and refuses undefined
        return {"$type": number, "$not": {"$type": c.ARRAY}}
    # `$eq` also matches an array that contains the value, and `$type` one with such an element.
    return {"$eq": value, "$type": number, "$not": {"$type": c.ARRAY}}


def exact_in(path: str, values: Sequence[Value]) -> dict[str, Any]:
    """The clause that a field has exactly one of these values, compared as by :func:`exact`."""
    return exact(path, values[0]) if len(values) == 1 else {"$or": [exact(path, value) for value in values]}


def physical_id(raw: bytes) -> Value:
    """The ``_id`` of a stored document; raises ``Unreadable`` if it has none, which no healthy server returns."""
    found = c.get(raw, ("_id",))
    if found is None:
        raise Unreadable("The server answered with a document that has no _id; read it again.")
    return found


def refuse_twin(server: Port, ns: str, name: str, id: Value) -> None:
    """Raise ``Refused`` if a document has another id that the server finds equal, such as 1 and 1.0.

    Under a unique index nobody can then create a document with this id.
    """
    for raw in server.find(ns, {name: {"$eq": id}}):
        there = c.get(raw, (name,))
        if there is not None and there != id and there.type != c.ARRAY:
            raise Refused(
                f"{ns} has a document {text.shown(there)} ({there.kind}), and the server finds {text.shown(id)} "
                f"({id.kind}) equal to it; write the id as it is stored."
            )


def by_id(id: Value, name: str = "_id") -> dict[str, Any]:
    """The clause for a document's id: plain equality if that is exact, so that every server uses its index."""
    # An `_id` cannot be an array, and of these types only String has an equal in another, the deprecated Symbol.
    if name == "_id" and id.type in (c.OBJECT_ID, c.STRING, c.BINARY, c.BOOLEAN, c.DATE, c.TIMESTAMP):
        return {name: id}
    return exact(name, id) | _number_types((name,), id)


def both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """A filter that matches what both filters match; ``|`` would drop clauses of the first one about the same path."""
    made, beside = dict(one), []
    for path, clause in other.items():
        here = made.get(path, clause)
        if here == clause:
            made[path] = clause
        elif not isinstance(here, dict) or any(here.get(name, said) != said for name, said in clause.items()):
            beside.append({path: clause})
        else:
            made[path] = here | clause
    return made | {"$and": [*made.get("$and", ()), *beside]} if beside else made


def unchanged(raw: bytes, names: Iterable[str]) -> dict[str, Any]:
    """The clauses that a stored document exists and some of its fields are as they were read; ignores the name ""."""
    where = by_id(physical_id(raw))
    for name in filter(None, names):
        where |= exact(name, c.get(raw, (name,)))
    return where


def nested(path: str, value: Value | None) -> dict[str, Any]:
    """The clauses of :func:`exact` for a path inside documents: parents stay documents, numbers keep their type."""
    if "." not in path and (value is None or not value.is_container):
        return exact(path, value)
    steps = path.split(".")
    clauses: dict[str, Any] = {}
    for depth in range(1, len(steps)):
        # A dotted path also leads through arrays, into each of their documents: the parents have to be documents.
        clauses[".".join(steps[:depth])] = {"$type": c.OBJECT, "$not": {"$type": c.ARRAY}}
    clauses |= exact(path, value)
    return clauses if value is None else clauses | _number_types(tuple(steps), value)


def _number_types(path: Path, value: Value) -> dict[str, Any]:
    if not value.is_container:
        return {}
    found = list(leaves(path, value))
    clauses, said = _flat_arrays(path, value, found)
    for leaf in found:
        if leaf.reachable and leaf.value.type in NUMBERS and leaf.group not in said:
            clauses[dotted(leaf.path)] = {"$type": leaf.value.type}
    return clauses


def _flat_arrays(path: Path, value: Value, found: Sequence[Leaf]) -> tuple[dict[str, Any], set[Group]]:
    """A clause for each unnested array whose numbers share one type, and the groups that these clauses cover."""
    clauses: dict[str, Any] = {}
    said: set[Group] = set()
    for group, types in number_types(found).items():
        if len(types) > 1 or group.index(None) != len(group) - 1 or not nameable(group):
            continue
        wrong = [number for number in NUMBERS if number not in types]
        if len(group) == len(path) + 1:  # the value itself, which must not become an element of an equal array
            if any(each.type == c.ARRAY for each in c.items(value)):
                continue
            equal: dict[str, Any] = exact(dotted(path), value)[dotted(path)]
            clauses[dotted(path)] = equal | {"$not": {"$elemMatch": {"$type": [c.ARRAY, *wrong]}}}
        else:
            clauses[dotted(group[:-1])] = {"$not": {"$elemMatch": {"$type": wrong}}}
        said.add(group)
    return clauses, said


def whole(raw: bytes, able: Callable[[], Abilities], additions: bool = False, beside: int = 0) -> Guard:
    """The guard that each top-level field of a document is still as it was read.

    ``additions`` also detects a field that somebody added, as a replacement needs; operators tolerate it. ``beside``
    is the size of the write in bytes. ``able`` asks the server what it can compare, and is called only if a field
    needs that. Raises ``Refused`` if the server cannot be asked, or if guard and write would be too large for one
    command.
    """
    pairs = c.fields(raw)
    rooted = _only_as_one(raw, pairs, able)
    if additions and not (rooted or able().counts):
        raise Refused("This server cannot count fields, so no replacement or removal can be guarded.")
    made = _Whole(able)
    if rooted:
        made.expressions.append({"$eq": ["$$ROOT", {"$literal": Value.document(raw)}]})
    elif additions:
        made.expressions.append({"$eq": [{"$size": {"$objectToArray": "$$ROOT"}}, len(pairs)]})
    for name, value in pairs:
        if name == "_id":
            made.clauses |= by_id(value)
        else:
            made.field(name, value, rooted)
    clauses = made.clauses
    if made.never:
        clauses["$nor"] = made.never
    if made.expressions:
        clauses["$expr"] = {"$and": made.expressions}
    if len(raw) + beside > SMALL and len(bson_of(clauses)) + beside > LARGEST:
        raise Refused("The document is too large to be compared whole in one write, so this edit cannot be guarded.")
    return Guard(clauses, tuple(made.notes))


def _only_as_one(raw: bytes, pairs: Sequence[tuple[str, Value]], able: Callable[[], Abilities]) -> bool:
    """Whether a document has a field that this server cannot name, so that it compares the document as one value."""
    odd = next((name for name, _ in pairs if not addressable(name)), None)
    if odd is None or able().fields:
        return False
    if not (able().root and (able().arrays or not has_arrays(raw))):
        raise Refused(
            f"This server cannot compare the field {odd!r}, so the edit cannot be guarded; nothing was written."
        )
    return True


class _Whole:
    """The parts of :func:`whole` while they are collected."""

    def __init__(self, able: Callable[[], Abilities]) -> None:
        self.able = able
        self.clauses: dict[str, Any] = {}
        self.never: list[dict[str, Any]] = []
        self.expressions: list[Any] = []
        self.notes: list[str] = []

    def field(self, name: str, value: Value, rooted: bool) -> None:
        """Guard a field at the top; ``rooted`` where an expression compares the whole document already."""
        plain = addressable(name)
        if plain:
            self.clauses[name] = _exactly(value)
        elif not rooted:
            # `$literal`, because a text with a dollar at its start would be taken for a path.
            self.expressions.append({"$eq": [_expression((name,)), {"$literal": value}]})
        if value.is_container:
            self.inside(name, value)
        elif value.type in NUMBERS and (not plain or needs_text(value)):
            self.scalar(Leaf((name,), value, plain, (name,)), typed=plain)

    def inside(self, name: str, value: Value) -> None:
        """Guard what equality ignores in a top-level container: the types and digits of its numbers."""
        found = list(leaves((name,), value, addressable(name)))
        flat, said = _flat_arrays((name,), value, found)
        self.clauses |= flat
        few = _few(found)
        for group, types in number_types(found).items():
            if group not in said and group not in few and len(types) == 1 and nameable(group):
                self.never.append(of_another_type(group, types))
                said.add(group)
        hard = _uncovered(found, said)
        # Last, because expressions use no index and older servers lack them; plain clauses reach nearly all documents.
        if hard and self.able().forms and (self.able().fields or all(map(_is_nameable, hard))):
            self.expressions.append(alike(_expression((name,)), value, [group[1:] for group in hard]))
            found = [leaf for leaf in found if leaf.group not in hard]
        for leaf in found:
            self.scalar(leaf, typed=leaf.group in said)

    def scalar(self, leaf: Leaf, typed: bool = False) -> None:
        """Guard the type and digits of one number."""
        if leaf.value.type in NUMBERS and not typed:
            if leaf.reachable:
                self.clauses.setdefault(dotted(leaf.path), {})["$type"] = leaf.value.type
            elif self.able().fields:
                number = BY_CODE[leaf.value.type].alias
                self.expressions.append({"$eq": [{"$type": _expression(leaf.path)}, number]})
            else:
                raise Refused(
                    f"The number in {dotted(leaf.path)!r} cannot be guarded on this server, as no filter can name its "
                    "field without ambiguity; nothing was written."
                )
        if leaf.loose:
            able = self.able()
            if able.texts and (able.fields or all(isinstance(s, int) or addressable(s) for s in leaf.path)):
                texts = [{"$toString": _expression(leaf.path)}, {"$toString": {"$literal": leaf.value}}]
                self.expressions.append({"$eq": texts})
            else:
                # Told and not refused: all else in the document still guards the write.
                self.notes.append(dotted(leaf.path))


def _few(found: Sequence[Leaf]) -> set[Group]:
    """The groups with few numbers, each named by position: a clause on all elements reads them all."""
    counts = Counter(leaf.group for leaf in found if leaf.value.type in NUMBERS)
    far = {leaf.group for leaf in found if not leaf.reachable}
    return {group for group, count in counts.items() if count <= FEW and group not in far}


def _uncovered(found: Sequence[Leaf], said: set[Group]) -> list[Group]:
    """The groups in arrays that no clause covers and that are too many or too odd to name one by one."""
    few = _few(found)
    singly = [
        leaf
        for leaf in found
        if None in leaf.group and leaf.value.type in NUMBERS and leaf.group not in said and leaf.group not in few
    ]
    named = len(singly) <= SINGLY and all(leaf.reachable for leaf in singly)
    groups = dict.fromkeys(leaf.group for leaf in found if None in leaf.group and leaf.loose)
    return list(groups if named else groups | dict.fromkeys(leaf.group for leaf in singly))


def _is_nameable(group: Group) -> bool:
    return all(step is None or addressable(step) for step in group)


def _expression(path: Path) -> Any:
    """The aggregation expression for the value at a path."""
    here: Any = "$$ROOT"
    for step in path:
        here = {"$arrayElemAt": [here, step]} if isinstance(step, int) else child(here, step)
    return here
