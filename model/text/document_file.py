"""One document in a file, as BSON or Extended JSON, and the form in which it is written, to save it in that form.

The form of a text: canonical or relaxed, on one line or indented, with or without blanks, its line ends and byte
order mark. When the document changes, its unchanged parts keep their text.
"""

from __future__ import annotations

import codecs
import re
import struct
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from model import text
from model.errors import NotFound, Refused, Unreadable
from model.foundation.input_files import whole_input
from model.foundation.whole_files import whole_file
from model.text import Style, json_writer, kept_form, scalars
from model.text.encodings import unicode_of
from model.values import canonical
from model.values.canonical import Value

LARGEST = 1 << 30
"""The largest file read at once, in bytes. A document has at most 16 MB, but an array holds many."""

_STRING = re.compile(scalars.QUOTED, re.DOTALL)
# Canonical notation has bare numbers too, inside these wrappers.
_NUMBERED = re.compile(r'"\$timestamp"\s*:\s*\{[^{}]*\}|"\$(?:min|max)Key"\s*:\s*1')
_BARE_NUMBER = re.compile(r"[:\[,]\s*-?\d")
_CANONICAL = re.compile(r'"\$number(Int|Double|Long)"|"\$date"\s*:\s*\{')
_INDENT = re.compile(r"\{\r?\n([ \t]+)\S")
_SPREAD = re.compile(r'\{\r?\n[ \t]+"\$(?:oid|date|number\w+|binary|uuid|timestamp|regularExpression|code|symbol)"')
_ESCAPED = re.compile(r"\\u(?!00[01])[0-9a-fA-F]{4}")


class Form(Struct, frozen=True):
    """The form in which a document stands in its file."""

    binary: bool
    style: Style
    end: str = "\n"
    lines: str = "\n"
    spread: bool = False  # typed values are indented like documents
    marked: bool = False  # with a byte order mark
    encoding: str = "utf-8"
    source: tuple[str, bytes] | None = None  # the text and the document that it stands for


def read(path: str, empty: bool = False) -> tuple[bytes, Form]:
    """The only document of a file, and its form; with ``empty``, an empty file is ``{}``.

    Raises ``NotFound``, ``Unreadable`` or ``Refused``, naming the file.
    """
    value, form = _read(path, empty)
    if value.type != canonical.OBJECT:
        what = f"this is a value of type {value.kind}; a document is written {{…}}"
        raise Unreadable(f"{path}: Line 1, column 1: {what}.")
    return value.data, form


def read_value(path: str, empty: bool = False) -> Value:
    """The document or array in a file, such as mongoexport writes with ``--jsonArray``; raises like :func:`read`."""
    value, _ = _read(path, empty)
    if not value.is_container:
        what = f"this is a value of type {value.kind}; write a document {{…}} or an array […]"
        raise Unreadable(f"{path}: Line 1, column 1: {what}.")
    return value


def _read(path: str, empty: bool) -> tuple[Value, Form]:
    data = _bytes(path)
    if empty and not data.strip():
        return Value.document(canonical.EMPTY), Form(False, Style())
    length = struct.unpack_from("<i", data)[0] if len(data) >= 5 else -1
    if path.lower().endswith(".bson") or (length == len(data) and data[-1:] == b"\0"):
        return Value.document(_binary(path, data, length)), Form(True, Style())
    encoding = unicode_of(data[:4])
    try:
        written = data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Unreadable(f"{path} is neither BSON nor text in UTF-8; give a file with one document.") from None
    try:
        value = text.any_notation(written)
    except Unreadable as error:
        raise Unreadable(f"{path}: {error}") from None
    marked = data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    source = (written, value.data) if value.type == canonical.OBJECT else None
    return value, replace(form_of(written, marked), source=source, encoding=encoding)


def _bytes(path: str) -> bytes:
    try:
        return whole_input(path, LARGEST)
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}; check its name.") from None
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror}).") from None


def _binary(path: str, data: bytes, length: int) -> bytes:
    if 5 <= length < len(data):
        raise Refused(f"{path} holds more than one document; give a file with one.")
    if length != len(data):
        raise Unreadable(f"{path} is not a whole BSON document: it ends after {len(data)} bytes.")
    try:
        for _ in canonical.elements(data):
            pass
    except Unreadable as error:
        raise Unreadable(f"{path}: {error}") from None
    return data


def form_of(written: str, marked: bool = False) -> Form:
    """The form of a document's text; ``marked`` if a byte order mark precedes it."""
    bare = _STRING.sub('""', _NUMBERED.sub("", written))
    relaxed = bool(_BARE_NUMBER.search(bare)) or not _CANONICAL.search(written)
    indent = _INDENT.search(written)
    style = Style(
        # "exact" writes relaxed notation only where it reads back as an equal value.
        mode="exact" if relaxed else "canonical",
        indent=indent[1] if indent else None,
        compact=not indent and '"":' in bare and '"": ' not in bare,
        ascii_only=written.isascii() and bool(_ESCAPED.search(written)),
    )
    lines = "\r\n" if "\r\n" in written else "\n"
    return Form(False, style, lines if written.endswith("\n") else "", lines, bool(_SPREAD.search(written)), marked)


def written(raw: bytes, form: Form) -> bytes:
    """A document as a file of this form."""
    if form.binary:
        return raw
    whole = _kept(raw, *form.source, form) if form.source is not None else None
    if whole is None:
        whole = _laid_out(Value.document(raw), None if form.style.indent is None else "", form) + form.end
    return (("\ufeff" if form.marked else "") + whole).encode(form.encoding, "surrogatepass")


def _kept(raw: bytes, before: str, was: bytes, form: Form) -> str | None:
    """The file's earlier text with the document's changes in it; None if that would not read back as the document."""
    kept = kept_form.rewritten(before, was, raw, form.style, partial(_laid_out, form=form))
    return kept if _means(kept, raw) else None


def _means(written: str, raw: bytes) -> bool:
    try:
        return text.from_text(written) == raw
    except Unreadable:
        return False


def _laid_out(value: Value, indent: str | None, form: Form) -> str:
    """A value as text of this form: indented by ``indent``, or on one line if that is None."""
    style = form.style if indent is not None else replace(form.style, indent=None)
    found = json_writer.write(value, style)
    if style.compact:
        found = "".join(kept_form.TOKEN.findall(found))
    elif form.spread and style.indent is not None:
        found = _spread(found, style.indent)
    return found.replace("\n", form.lines + (indent or ""))


def _spread(written: str, indent: str) -> str:
    """JSON text with every field and element on a line of its own."""
    out: list[str] = []
    depth, opened = 0, False
    for token in kept_form.TOKEN.findall(written):
        if token in "}]":
            depth -= 1
        if (opened and token not in "}]") or (not opened and token in "}]"):
            out.append("\n" + indent * depth)
        opened = token in "{["
        depth += opened
        out.append(token)
        if token == ",":
            out.append("\n" + indent * depth)
        elif token == ":":
            out.append(" ")
    return "".join(out)


def write(path: str, raw: bytes, form: Form) -> None:
    """Write a document to a file; raises ``Refused``."""
    try:
        data = written(raw, form)
        with whole_file(Path(path)) as file:
            file.write(data)
    except OSError as error:
        raise Refused(f"{path} cannot be written ({error.strerror}); name another file.") from None
