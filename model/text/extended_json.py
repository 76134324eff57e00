"""Extended JSON of whole documents and values, and reading of what people type."""

from __future__ import annotations

from model.errors import Unreadable
from model.text.json_reader import read, read_any
from model.text.json_tree import tree
from model.text.json_writer import Style, encoded, write
from model.values import canonical as c
from model.values.canonical import Value


def to_text(raw: bytes, indent: int | None = None) -> str:
    """Canonical Extended JSON of a document, on one line or indented by ``indent`` blanks.

    Raises ``Unreadable`` if the bytes are not BSON.
    """
    return value_text(Value(c.OBJECT, raw), indent)


def to_utf8(raw: bytes, indent: int | None = None) -> bytes:
    """:func:`to_text` in UTF-8: a large document takes half as long, and other threads can run meanwhile."""
    return encoded(Value(c.OBJECT, raw), Style(indent=None if indent is None else " " * indent))


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


def relaxed_value(value: Value) -> str:
    """Relaxed Extended JSON of one value, on one line."""
    return write(value, Style("relaxed", None))


def readable(raw: bytes, indent: int | None = 2) -> str:
    """Extended JSON for editing: relaxed where :func:`from_text` reads back an equal value, else canonical."""
    return write(Value(c.OBJECT, raw), Style("exact", None if indent is None else " " * indent))


def loose(text: str) -> bytes:
    """The document that a person typed into a filter bar, as Extended JSON or in mongosh's notation; no text means
    ``{}``.

    Raises ``Unreadable`` with line, column and what to do.
    """
    if not text.strip():
        return c.EMPTY
    value = read(text, loose=True)
    if value.type != c.OBJECT:
        raise Unreadable(f'Line 1, column 1: this is a value of type {value.kind}; write a document, as in {{"a": 1}}.')
    return value.data


def loose_value(text: str) -> Value:
    """The value that a person typed, in any notation that :func:`loose` reads."""
    return read(text, loose=True)


def any_document(text: str) -> bytes:
    """A document from a person or a program, in any notation that :func:`any_notation` reads."""
    value = read_any(text)
    if value.type != c.OBJECT:
        raise Unreadable(f"Line 1, column 1: this is a value of type {value.kind}; a document is written {{…}}.")
    return value.data


def any_notation(text: str) -> Value:
    """A value from a person or a program: Extended JSON, else the notation of shells.

    Raises ``Unreadable`` with line, column and what to do.
    """
    return read_any(text)


def json_object(value: Value) -> object:
    """The Python objects that ``json.loads`` would make of a value's canonical Extended JSON, at any depth."""
    return tree(value_text(value))
