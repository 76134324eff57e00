"""One value on one line, for people: exact enough to recognise, but not to be read back.

:mod:`model.text.value_editing` writes text that can be read back.
"""

from __future__ import annotations

import base64
from collections.abc import Callable

from model.foundation.hidden_characters import plain
from model.text import legacy_uuids, scalars
from model.text.dates import date_text
from model.text.paths import name_text
from model.text.sizes import size_text
from model.values import canonical as c
from model.values import kinds
from model.values.canonical import Value

_SIZE_FROM = 1024
_NOT_SHOWN_FROM = 1 << 20


def cut(text: str, limit: int) -> str:
    """The first ``limit`` characters; if something was cut off, the last one is an ellipsis."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def shown(value: Value, zone: str = "UTC", limit: int = 200) -> str:
    """One line of about ``limit`` characters at most. A string above 1 KB ends with its size; one above 1 MB is only
    its size.

    Raises ``Unreadable`` if a container's bytes are not BSON.
    """
    if value.is_container:
        return _container(value, zone, limit)
    if value.type == c.STRING:
        return string_shown(value.data, zone, limit)
    made = _SHOWN.get(value.type)
    return cut(_WORDS.get(value.type, value.kind) if made is None else made(value.data, zone, limit), limit)


def string_shown(data: bytes, zone: str, limit: int) -> str:
    """A string in quotes, with its size if it is long."""
    size = len(data) - 5
    if size >= _NOT_SHOWN_FROM:
        return f"String of {size_text(size)}"
    # A character has at most four bytes: decode enough to fill the line, however long the string is.
    enough = data[4 : 4 + min(size, 4 * limit + 4)]
    text = enough.decode("utf-8", "surrogateescape")
    whole = len(enough) == size and len(text) <= limit
    body = plain(text[:limit].replace("\\", "\\\\").replace('"', '\\"'))
    if whole:
        return f'"{body}"'
    return f'"{body}…"' + (f" {size_text(size)}" if size > _SIZE_FROM else "")


def date_shown(data: bytes, zone: str, limit: int) -> str:
    """A date in a zone."""
    return date_text(scalars.int64.unpack(data)[0], zone)


def integer_shown(data: bytes, zone: str, limit: int) -> str:
    """An Int32 or Int64."""
    return scalars.integer_digits(data)


def double_shown(data: bytes, zone: str, limit: int) -> str:
    """A double."""
    return number_shown(data)


def decimal_shown(data: bytes, zone: str, limit: int) -> str:
    """A decimal; its bytes if it is not in normal form."""
    return scalars.decimal_text(data) or f"{kinds.BY_CODE[c.DECIMAL128].name}(0x{data[::-1].hex()})"


def object_id_shown(data: bytes, zone: str, limit: int) -> str:
    """An ObjectId as shells write it."""
    return f'ObjectId("{data.hex()}")'


def boolean_shown(data: bytes, zone: str, limit: int) -> str:
    """A boolean; one that is neither 0 nor 1 shows its byte."""
    return scalars.boolean_text(data, False) or f"Boolean({data.hex()})"


def binary_shown(data: bytes, zone: str, limit: int) -> str:
    """A binary as shells write it; a long one as its size."""
    parts = scalars.binary_parts(data)
    subtype, content = parts if parts is not None else (data[4], data[5:])
    if (called := legacy_uuids.written(subtype, content)) is not None:
        return called
    if len(content) * 4 // 3 + 20 > limit:
        return f"BinData({subtype}, {size_text(len(content))})"
    return f'BinData({subtype}, "{base64.b64encode(content).decode()}")'


def regex_shown(data: bytes, zone: str, limit: int) -> str:
    """A regular expression between slashes."""
    pattern, flags = scalars.regex_parts(data)
    return plain(f"/{pattern}/{flags}")


def timestamp_shown(data: bytes, zone: str, limit: int) -> str:
    """A timestamp as shells write it."""
    return "Timestamp({}, {})".format(*scalars.timestamp_parts(data))


def code_shown(data: bytes, zone: str, limit: int) -> str:
    """Code without a scope."""
    return f'Code("{_text(data, limit)}")'


def symbol_shown(data: bytes, zone: str, limit: int) -> str:
    """A symbol."""
    return f'Symbol("{_text(data, limit)}")'


def pointer_shown(data: bytes, zone: str, limit: int) -> str:
    """A DBPointer: the collection, and the id."""
    return f'DBPointer("{_text(data, limit)}", {data[-12:].hex()})'


def _text(data: bytes, limit: int) -> str:
    found = scalars.string_of(data)
    return plain(found[0][:limit]) if found else "…"


def scoped_code_shown(data: bytes, zone: str, limit: int) -> str:
    """Code with its scope, field by field: two that differ only in the scope must not look alike."""
    scope = scalars.scope_parts(data)
    if scope is None:
        return "Code(…)"
    return f'Code("{plain(scope[0])}", {_container(Value(c.OBJECT, scope[1]), zone, limit)})'


def number_shown(data: bytes) -> str:
    """A double: ``150.0``, ``1.5E+18``, ``NaN``; a NaN with a payload is written with it."""
    number: float = scalars.double.unpack(data)[0]
    if number != number:
        return "NaN" if data == scalars.NAN else f"NaN(0x{data[::-1].hex()})"
    return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(number) or scalars.number_text(number)


def _container(value: Value, zone: str, limit: int) -> str:
    """A container on one line, ``{ street: "Elbchaussee 96", zip: "22763" }``; those inside it show only their size."""
    is_array = value.type == c.ARRAY
    text, close = ("[", " ]") if is_array else ("{", " }")
    for i, (name, kind, a, b) in enumerate(c.elements(value.data)):
        if len(text) > limit:
            return text[: max(limit - 3, 1)].rstrip() + "…" + close
        inner = Value(kind, value.data[a:b])
        if kind == c.OBJECT_ID:
            body = f"…{inner.data.hex()[-4:]}"
        elif inner.is_container:
            count = sum(1 for _ in c.elements(inner.data))  # no noun, so that the line needs no translation
            size = f" {count} " if count else " "
            body = f"[{size}]" if kind == c.ARRAY else f"{{{size}}}"
        else:
            body = shown(inner, zone, limit)
        label = "" if is_array else f"{plain(name_text(c.name_of(name)))}: "
        text += f"{',' if i else ''} {label}{body}"
    if len(text) + 2 > limit and text not in "{[":
        return text[: max(limit - 3, 1)].rstrip() + "…" + close
    return text + close


_SHOWN: dict[int, Callable[[bytes, str, int], str]] = kinds.functions("shown")
_WORDS = {kind.code: kind.word for kind in kinds.KINDS if kind.word}
