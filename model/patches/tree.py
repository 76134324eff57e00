"""A document as a tree that can be changed: objects are dicts, arrays are lists, other values are BSON values.

Histories of other programs went through JSON, in which dates and ObjectIds are text and all numbers are of one kind.
:func:`alike` compares accordingly; values that come from a patch stay as the patch holds them.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from typing import TypeAlias

from bson import ObjectId

from model.values import canonical as c
from model.values.canonical import Value
from model.values.decimals import digits

Node: TypeAlias = "dict[str, Node] | list[Node] | Value"

_NUMBERS = (c.DOUBLE, c.INT32, c.INT64)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class DoesNotApply(Exception):
    """A patch does not fit the state that it is applied to: one clause that says where and why."""


def tree_of(raw: bytes) -> dict[str, Node]:
    """A document's tree; raises ``DoesNotApply`` if a name occurs twice, which a dict cannot hold."""
    pairs = c.fields(raw)
    found = {name: _node(value) for name, value in pairs}
    if len(found) != len(pairs):
        raise DoesNotApply("the document holds a field twice")
    return found


def document_of(tree: Node) -> bytes:
    """The document that a tree stands for."""
    if not isinstance(tree, dict):
        raise DoesNotApply("the state is not a document")
    return c.document((name, value_of(node)) for name, node in tree.items())


def node_of(value: Value) -> Node:
    """A value's tree."""
    return _node(value)


def _node(value: Value) -> Node:
    if value.type == c.OBJECT:
        return tree_of(value.data)
    if value.type == c.ARRAY:
        return [_node(each) for each in c.items(value)]
    return value


def value_of(node: Node) -> Value:
    """The BSON value that a tree stands for."""
    if isinstance(node, dict):
        return Value.document(document_of(node))
    if isinstance(node, list):
        return c.array(value_of(each) for each in node)
    return node


def copied(node: Node) -> Node:
    """A deep copy of a tree; only immutable values are shared."""
    if isinstance(node, dict):
        return {name: copied(each) for name, each in node.items()}
    if isinstance(node, list):
        return [copied(each) for each in node]
    return node


def alike(a: Node, b: Node) -> bool:
    """Whether both are equal as JSON: 1 equals 1.0, a date its text, an ObjectId its digits."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(each, b[name]) for name, each in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, Value) and isinstance(b, Value):
        return a == b or _as_json(a) == _as_json(b)
    return False


def equal(a: Node, b: Node) -> bool:
    """Whether both have equal values under equal names; Int32 and Double are one type, as in JavaScript."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(each, b[name]) for name, each in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    # JavaScript has one type of number, and the driver stores whole ones as Int32.
    if isinstance(a, Value) and isinstance(b, Value) and {a.type, b.type} == {c.INT32, c.DOUBLE}:
        return bool(a.python() == b.python())
    return a == b


def as_json(node: Node) -> Node:
    """The tree as it is in JSON; raises ``DoesNotApply`` for a value that JSON cannot hold unchanged."""
    if isinstance(node, dict):
        return {name: as_json(each) for name, each in node.items()}
    if isinstance(node, list):
        return [as_json(each) for each in node]
    if node.type in (c.STRING, c.BOOLEAN, c.NULL, c.INT32) or (node.type == c.DOUBLE and math.isfinite(node.python())):
        return node
    written = written_as_text(node) if node.type in (c.DATE, c.OBJECT_ID) else None
    if written is None:
        raise DoesNotApply(f"a {node.kind} is not a value of JSON")
    return Value.of(written)


def whole(node: Node | None) -> int | None:
    """The whole number in a leaf, whatever its type; None if it is not one."""
    if isinstance(node, Value) and node.type in _NUMBERS:
        number = node.python()
        if number == int(number) if math.isfinite(number) else False:
            return int(number)
    return None


def text(node: Node | None) -> str | None:
    """The text in a leaf; None if it is not a string."""
    return str(node.python()) if isinstance(node, Value) and node.type == c.STRING else None


def _as_json(value: Value) -> object:
    """The leaf as it is in JSON, in a form that can be compared."""
    if value.type in _NUMBERS:
        number = value.python()
        # JavaScript writes NaN and the infinities into JSON as null.
        return ("number", number) if math.isfinite(number) else ("null",)
    if value.type == c.STRING:
        return ("text", value.data)
    if value.type in (c.NULL, c.UNDEFINED):
        return ("null",)
    if (written := written_as_text(value)) is not None:
        return ("text", Value.of(written).data)
    return (value.type, value.data)


def written_as_text(value: Value) -> str | None:
    """The text that a date, an ObjectId or bytes become in JSON; None for other values."""
    if value.type == c.OBJECT_ID:
        return str(ObjectId(value.data))
    if value.type == c.DATE:
        moment = _EPOCH + dt.timedelta(milliseconds=int.from_bytes(value.data, "little", signed=True))
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
    if value.type == c.BINARY:
        return base64.b64encode(value.data[5:]).decode()
    if value.type == c.DECIMAL128:
        return digits(value.data)
    return None


def shown(node: Node, limit: int = 40) -> str:
    """A tree in few characters, for sentences."""
    if isinstance(node, dict):
        return f"an object of {len(node)} field{'' if len(node) == 1 else 's'}"
    if isinstance(node, list):
        return f"an array of {len(node)}"
    said = written_as_text(node) or json.dumps(node.python(), default=str, ensure_ascii=False)
    return said if len(said) <= limit else f"{said[:limit]}…"
