"""Documents and values as text, for programs and for people, and back in without loss.

:func:`to_text` is canonical Extended JSON, exact both ways for every document whose bytes can be walked. Three
escape forms of its own write documents that Extended JSON cannot:

``{"$fields": [["name", value], …]}``
    a document that would be read as a typed value (a plain field called ``$oid``, or ``$ref`` and ``$id`` out of
    their order), or that has several fields of one name;
``{"$elements": [["position", value], …]}``
    an array whose stored positions are not 0, 1, 2 …;
``{"$raw": {"type": "01", "hex": "010000000000f87f"}}``
    a payload without a notation: NaN with a payload, a Decimal128 not in normal form, a boolean of 2, regex flags
    out of order. The type is BSON's element type.

Bytes of a string or name that are no UTF-8 are half characters, ``\\udc80`` to ``\\udcff``, one for each byte.
"""

from __future__ import annotations

from model.errors import Unreadable
from model.hidden_characters import visible
from model.text.display import plain, shown
from model.text.json_reader import read
from model.text.json_tree import tree
from model.text.json_writer import Style, write
from model.text.paths import fitted, name_text, path_from_text, path_text
from model.text.value_editing import KINDS, blank, editable, parsed
from model.values import canonical as c
from model.values.canonical import Value

__all__ = [
    "KINDS",
    "Style",
    "blank",
    "editable",
    "fitted",
    "from_text",
    "json_object",
    "loose",
    "loose_value",
    "name_text",
    "parsed",
    "path_from_text",
    "path_text",
    "plain",
    "readable",
    "relaxed",
    "shown",
    "to_text",
    "value_from_text",
    "value_text",
    "visible",
]


def to_text(raw: bytes, indent: int | None = None) -> str:
    """Canonical Extended JSON of a document, on one line or indented by so many blanks.

    Raises ``Unreadable`` where the bytes are no BSON.
    """
    return value_text(Value(c.OBJECT, raw), indent)


def from_text(text: str) -> bytes:
    """The document that Extended JSON stands for, canonical or relaxed; the inverse of :func:`to_text`.

    Raises ``Unreadable`` with line, column and what to do.
    """
    value = read(text)
    if value.type != c.OBJECT:
        raise Unreadable(f"Line 1, column 1: this is a value of type {value.kind}; a document is written {{…}}.")
    return value.data


def value_text(value: Value, indent: int | None = None) -> str:
    """Canonical Extended JSON of one value."""
    return write(value, Style(indent=None if indent is None else " " * indent))


def value_from_text(text: str) -> Value:
    """The value that Extended JSON stands for; the inverse of :func:`value_text`."""
    return read(text)


def relaxed(raw: bytes, indent: int | None = None) -> str:
    """Relaxed Extended JSON of a document: plain numbers and readable dates; Int32 and Int64 look alike in it."""
    return write(Value(c.OBJECT, raw), Style("relaxed", None if indent is None else " " * indent))


def readable(raw: bytes, indent: int | None = 2) -> str:
    """Extended JSON for editing: relaxed wherever :func:`from_text` reads the very value from it, else canonical."""
    return write(Value(c.OBJECT, raw), Style("exact", None if indent is None else " " * indent))


def loose(text: str) -> bytes:
    """The document that a person typed in a filter bar: Extended JSON or mongosh's notation; no text is ``{}``.

    Raises ``Unreadable`` with line, column and what to do.
    """
    if not text.strip():
        return c.EMPTY
    value = read(text, loose=True)
    if value.type != c.OBJECT:
        raise Unreadable(f'Line 1, column 1: this is a value of type {value.kind}; write a document, as in {{"a": 1}}.')
    return value.data


def loose_value(text: str) -> Value:
    """The value that a person typed, in any notation that :func:`loose` takes."""
    return read(text, loose=True)


def json_object(value: Value) -> object:
    """Canonical Extended JSON of a value as the Python objects that ``json.loads`` would give, of any depth."""
    return tree(value_text(value))
