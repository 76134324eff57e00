"""The parts of a command that a server may lack: its name, options, stages, operators, and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from model.localserver.wire import Command
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import BY_CODE

Kind: TypeAlias = Literal[
    "command", "option", "stage", "clause", "type number", "expression", "accumulator", "operator", "value", "stored",
    "login",
]  # fmt: skip
Turned: TypeAlias = Literal["password", "user", "nobody", "right"]
"""Why somebody is turned away: a wrong password, an unknown user, nobody logged in, a right that is missing."""
Part: TypeAlias = tuple[Kind, str]
"""A kind and a name, as in ``("stage", "$match")``.

``clause``: an operator of a filter. ``operator``: one of an update, or ``pipeline`` for an update that is one.
``option``: ``command.field``, where ``numbered`` stands for the number of a write that may be repeated. ``value``: a
type that is sent. ``stored``: what a document that is to be stored has in it: a field's name with a ``dot``, with a
``dollar`` in front, an ``empty`` one, or a ``nested array``. ``login``: see :data:`Turned`.
"""

_ENVELOPE = ("$db", "lsid", "$clusterTime", "$readPreference", "readConcern", "writeConcern", "ordered")
_JOINED = ("$and", "$or", "$nor")
_FILTERS = {"find": "filter", "count": "query", "distinct": "query", "findAndModify": "query", "findandmodify": "query"}
_EXPRESSIVE = ("$project", "$addFields", "$set", "$replaceRoot", "$replaceWith", "$unwind")


def parts_of(command: Command) -> Iterator[Part]:
    """What a command asks for, in its order; a part may come more than once."""
    yield "command", command.name
    for name, value in command.fields.items():
        if name == "txnNumber":
            yield "option", f"{command.name}.numbered"
        elif name not in _ENVELOPE and name != command.name:
            yield "option", f"{command.name}.{name}"
        yield from _values(value)
    for documents in command.sequences.values():
        for raw in documents:
            yield from _values(Value.document(raw))
    if command.name in _FILTERS:
        yield from _filter(command.document(_FILTERS[command.name]))
    if command.name == "aggregate":
        yield from _pipeline(command.fields["pipeline"])
    if command.name == "explain":
        inner = dict(c.fields(command.document("explain")))
        yield from parts_of(Command(0, False, False, next(iter(inner)), command.database, inner))
    if command.name == "insert":
        for raw in command.documents("documents"):
            yield from _stored(raw)
    for raw in command.documents("updates") if command.name == "update" else ():
        statement = dict(c.fields(raw))
        yield from (("option", f"update.{name}") for name in statement if name not in ("q", "u", "multi"))
        yield from _filter(statement["q"].data)
        yield from _update(statement["u"])
    for raw in command.documents("deletes") if command.name == "delete" else ():
        yield from _filter(dict(c.fields(raw))["q"].data)
    if command.name.lower() == "findandmodify" and "update" in command.fields:
        yield from _update(command.fields["update"])


def parts_of_document(raw: bytes) -> Iterator[Part]:
    """What a document asks for that is to be stored."""
    yield from _stored(raw)
    yield from _values(Value.document(raw))


def _filter(raw: bytes) -> Iterator[Part]:
    for name, value in c.fields(raw):
        if name in _JOINED:
            yield "clause", name
            for each in c.items(value):
                yield from _filter(each.data)
        elif name == "$expr":
            yield "clause", name
            yield from _expression(value)
        elif name.startswith("$"):
            yield "clause", name
        else:
            yield from _clauses(value)


def _clauses(value: Value) -> Iterator[Part]:
    if not _operated(value):
        return
    for name, operand in c.fields(value.data):
        yield "clause", name
        if name == "$not":
            yield from _clauses(operand)
        elif name == "$elemMatch":
            yield from _clauses(operand) if _operated(operand) else _filter(operand.data)
        elif name == "$type":
            for each in c.items(operand) if operand.type == c.ARRAY else [operand]:
                yield "type number", str(each.python())


def _pipeline(value: Value) -> Iterator[Part]:
    for stage in c.items(value):
        name, operand = c.fields(stage.data)[0]
        yield "stage", name
        if name == "$match":
            yield from _filter(operand.data)
        elif name == "$group":
            for field, each in c.fields(operand.data):
                if field == "_id":
                    yield from _expression(each)
                else:
                    accumulator, given = c.fields(each.data)[0]
                    yield "accumulator", accumulator
                    yield from _expression(given)
        elif name in _EXPRESSIVE:
            yield from _expression(operand)
        elif name in ("$lookup", "$unionWith") and operand.type == c.OBJECT:
            inner: Mapping[str, Value] = dict(c.fields(operand.data))
            yield from _pipeline(inner["pipeline"]) if "pipeline" in inner else ()


def _expression(value: Value) -> Iterator[Part]:
    if value.type == c.ARRAY:
        for each in c.items(value):
            yield from _expression(each)
    elif value.type == c.OBJECT:
        for name, operand in c.fields(value.data):
            if name.startswith("$"):
                yield "expression", name
            if name != "$literal":
                yield from _expression(operand)


def _update(value: Value) -> Iterator[Part]:
    if value.type == c.ARRAY:
        yield "operator", "pipeline"
        yield from _pipeline(value)
    elif _operated(value):
        for name, operand in c.fields(value.data):
            yield "operator", name
            for _, each in c.fields(operand.data):
                if each.is_container:
                    yield from _stored(each.data)
    else:
        yield from _stored(value.data)


def _stored(raw: bytes) -> Iterator[Part]:
    """The odd parts of a document or array that is to be stored."""
    for name, value in c.fields(raw):
        if "." in name:
            yield "stored", "dot"
        if name.startswith("$"):
            yield "stored", "dollar"
        if not name:
            yield "stored", "empty"
        if value.type == c.ARRAY and any(each.type == c.ARRAY for each in c.items(value)):
            yield "stored", "nested array"
        if value.is_container:
            yield from _stored(value.data)


def _values(value: Value) -> Iterator[Part]:
    """The types that are sent, at any depth."""
    if value.type in BY_CODE:
        yield "value", value.kind
    if value.is_container:
        for each in c.items(value):
            yield from _values(each)


def _operated(value: Value) -> bool:
    """Whether a value is a document of operators."""
    return value.type == c.OBJECT and value.data != c.EMPTY and c.fields(value.data)[0][0].startswith("$")
