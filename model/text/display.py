"""One value on one line, for people: exact enough to recognise, never to be read back.

:mod:`model.text.value_editing` writes the text that is read back.
"""

from __future__ import annotations

import base64
import uuid

from model.foundation.hidden_characters import plain
from model.text import scalars
from model.text.dates import date_text
from model.text.paths import name_text
from model.text.sizes import size_text
from model.values import canonical as c
from model.values.canonical import Value

_SIZE_FROM = 1024
_NOT_SHOWN_FROM = 1 << 20


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters, an ellipsis as the last where it was cut."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def shown(value: Value, zone: str = "UTC", limit: int = 200) -> str:
    """One line of at most about ``limit`` characters; a string above 1 KB ends in its size, above 1 MB is only that.

    Raises ``Unreadable`` where a container's bytes are no BSON.
    """
    if value.is_container:
        return _container(value, zone, limit)
    if value.type == c.STRING:
        return _string(value.data, limit)
    return cut(_scalar(value, zone, limit), limit)


def _string(data: bytes, limit: int) -> str:
    size = len(data) - 5
    if size >= _NOT_SHOWN_FROM:
        return f"String of {size_text(size)}"
    # Four bytes a character at most: enough is decoded to fill the line, however long the string is.
    enough = data[4 : 4 + min(size, 4 * limit + 4)]
    text = enough.decode("utf-8", "surrogateescape")
    whole = len(enough) == size and len(text) <= limit
    body = plain(text[:limit].replace("\\", "\\\\").replace('"', '\\"'))
    if whole:
        return f'"{body}"'
    return f'"{body}…"' + (f" {size_text(size)}" if size > _SIZE_FROM else "")


def _scalar(value: Value, zone: str, limit: int) -> str:
    kind, data = value.type, value.data
    if kind == c.DATE:
        return date_text(scalars.int64.unpack(data)[0], zone)
    if kind in (c.INT32, c.INT64):
        return str(int.from_bytes(data, "little", signed=True))
    if kind == c.DOUBLE:
        return number_shown(data)
    if kind == c.DECIMAL128:
        return scalars.decimal_text(data) or f"Decimal128(0x{data[::-1].hex()})"
    if kind == c.OBJECT_ID:
        return f'ObjectId("{data.hex()}")'
    if kind == c.BOOLEAN:
        return {b"\x00": "false", b"\x01": "true"}.get(data, f"Boolean({data.hex()})")
    if kind == c.BINARY:
        return _binary(data, limit)
    if kind == c.REGEX:
        pattern, flags = scalars.regex_parts(data)
        return plain(f"/{pattern}/{flags}")
    if kind == c.TIMESTAMP:
        seconds, increment = scalars.timestamp_parts(data)
        return f"Timestamp({seconds}, {increment})"
    if kind in (c.CODE, c.SYMBOL, c.DB_POINTER):
        return _rare(kind, data, limit)
    if kind == c.SCOPED_CODE:
        scope = scalars.scope_parts(data)
        if scope is None:
            return "Code(…)"
        # The scope by its fields, not by their number: two values that differ in it alone must not look the same.
        return f'Code("{plain(scope[0])}", {_container(Value(c.OBJECT, scope[1]), zone, limit)})'
    return {c.NULL: "null", c.UNDEFINED: "undefined", c.MIN_KEY: "MinKey", c.MAX_KEY: "MaxKey"}.get(kind, value.kind)


def number_shown(data: bytes) -> str:
    """A double: ``150.0``, ``1.5E+18``, ``NaN``; a NaN with a payload shows it."""
    number: float = scalars.double.unpack(data)[0]
    if number != number:
        return "NaN" if data == scalars.NAN else f"NaN(0x{data[::-1].hex()})"
    return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(number) or scalars.number_text(number)


def _binary(data: bytes, limit: int) -> str:
    parts = scalars.binary_parts(data)
    subtype, content = parts if parts is not None else (data[4], data[5:])
    if subtype == 4 and len(content) == 16:
        return f'UUID("{uuid.UUID(bytes=content)}")'
    if len(content) * 4 // 3 + 20 > limit:
        return f"BinData({subtype}, {size_text(len(content))})"
    return f'BinData({subtype}, "{base64.b64encode(content).decode()}")'


def _rare(kind: int, data: bytes, limit: int) -> str:
    found = scalars.string_of(data)
    text = plain(found[0][:limit]) if found else "…"
    if kind == c.DB_POINTER:
        return f'DBPointer("{text}", {data[-12:].hex()})'
    return f'{"Code" if kind == c.CODE else "Symbol"}("{text}")'


def _container(value: Value, zone: str, limit: int) -> str:
    """A container on one line, ``{ street: "Elbchaussee 96", zip: "22763" }``; those inside it only by their size."""
    is_array = value.type == c.ARRAY
    text, close = ("[", " ]") if is_array else ("{", " }")
    for i, (name, kind, a, b) in enumerate(c.elements(value.data)):
        if len(text) > limit:
            return text[: max(limit - 3, 1)].rstrip() + "…" + close
        inner = Value(kind, value.data[a:b])
        if kind == c.OBJECT_ID:
            body = f"…{inner.data.hex()[-4:]}"
        elif inner.is_container:
            count = sum(1 for _ in c.elements(inner.data))  # without a word: no line is of one language
            size = f" {count} " if count else " "
            body = f"[{size}]" if kind == c.ARRAY else f"{{{size}}}"
        else:
            body = shown(inner, zone, limit)
        label = "" if is_array else f"{plain(name_text(c.name_of(name)))}: "
        text += f"{',' if i else ''} {label}{body}"
    if len(text) + 2 > limit and text not in "{[":
        return text[: max(limit - 3, 1)].rstrip() + "…" + close
    return text + close
