"""Functions by which mongosh writes values: ``ObjectId("…")``, ``ISODate("…")``, ``NumberLong(…)`` and their kin."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

from model.text import legacy_uuids, scalars
from model.values import canonical as c
from model.values import kinds
from model.values.canonical import Value

CONSTANTS: dict[str, Value] = {
    "NaN": Value(c.DOUBLE, scalars.NAN),
    "Infinity": Value(c.DOUBLE, scalars.parse_double("Infinity") or b""),
    "True": Value(c.BOOLEAN, b"\x01"),
    "False": Value(c.BOOLEAN, b"\x00"),
    "None": Value(c.NULL, b""),
    **{kind.word: Value(kind.code, b"") for kind in kinds.KINDS if kind.word},
}

HELPERS = {helper.name: helper for kind in kinds.KINDS for helper in kind.helpers}


class NotThat(Exception):
    """A function was called with arguments that it does not take; ``str()`` says which it takes."""


def _string(args: list[Value], i: int = 0) -> str | None:
    found = scalars.string_of(args[i].data) if i < len(args) and args[i].type == c.STRING else None
    return None if found is None else found[0]


def _number(args: list[Value], i: int = 0) -> int | None:
    if i < len(args) and args[i].type in (c.INT32, c.INT64):
        return int.from_bytes(args[i].data, "little", signed=True)
    text = _string(args, i)
    return int(text) if text is not None and re.fullmatch(r"[+-]?[0-9]{1,20}", text) else None


def object_id(args: list[Value]) -> Value | None:
    """``ObjectId("…")``."""
    data = scalars.hex_bytes(_string(args) or "")
    return Value(c.OBJECT_ID, data) if data is not None and len(data) == 12 else None


def date(args: list[Value]) -> Value | None:
    """``ISODate("…")``, ``Date(…)``."""
    text = _string(args)
    milliseconds = _number(args) if text is None else scalars.iso_milliseconds(text)
    if milliseconds is None or not scalars.INT64_MIN <= milliseconds <= scalars.INT64_MAX:
        return None
    return Value(c.DATE, scalars.int64.pack(milliseconds))


def int32(args: list[Value]) -> Value | None:
    """``NumberInt(…)``."""
    number = _number(args)
    fits = number is not None and scalars.INT32_MIN <= number <= scalars.INT32_MAX
    return Value(c.INT32, scalars.int32.pack(number)) if fits else None


def int64(args: list[Value]) -> Value | None:
    """``NumberLong("…")``."""
    number = _number(args)
    fits = number is not None and scalars.INT64_MIN <= number <= scalars.INT64_MAX
    return Value(c.INT64, scalars.int64.pack(number)) if fits else None


def _any_number(args: list[Value]) -> str | None:
    if args and args[0].type == c.DOUBLE:
        return scalars.number_text(scalars.double.unpack(args[0].data)[0])
    number = _number(args)
    return _string(args) if number is None else str(number)


def decimal(args: list[Value]) -> Value | None:
    """``NumberDecimal("…")``."""
    data = scalars.parse_decimal(_any_number(args) or "")
    return None if data is None else Value(c.DECIMAL128, data)


def double(args: list[Value]) -> Value | None:
    """``Double(…)``."""
    if args and args[0].type == c.DOUBLE:
        return args[0]
    data = scalars.parse_double(_any_number(args) or "")
    return None if data is None else Value(c.DOUBLE, data)


def _uuid(args: list[Value]) -> bytes | None:
    text = _string(args)
    if text is None or re.fullmatch(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}", text) is None:
        return None
    return uuid.UUID(text).bytes


def uuid_binary(args: list[Value]) -> Value | None:
    """``UUID("…")``."""
    data = _uuid(args)
    return None if data is None else Value(c.BINARY, scalars.binary_data(4, data))


def old_uuid(args: list[Value]) -> Value | None:
    """``PYUUID("…")``, ``LUUID("…")``: subtype 3, the first one for UUIDs, with the bytes in written order."""
    data = _uuid(args)
    return None if data is None else Value(c.BINARY, scalars.binary_data(3, data))


def java_uuid(args: list[Value]) -> Value | None:
    """``JUUID("…")``: subtype 3 as the old Java driver wrote it, the bytes of each half reversed."""
    data = _uuid(args)
    return None if data is None else Value(c.BINARY, scalars.binary_data(3, legacy_uuids.JAVA.rearranged(data)))


def net_uuid(args: list[Value]) -> Value | None:
    """``CSUUID("…")``, ``NUUID("…")``: subtype 3 as the old .NET driver wrote it."""
    data = _uuid(args)
    return None if data is None else Value(c.BINARY, scalars.binary_data(3, legacy_uuids.NET.rearranged(data)))


def from_base64(args: list[Value]) -> Value | None:
    """``Binary.createFromBase64("…", 0)``, as mongosh writes it."""
    return base64_binary([*args[1:], args[0]] if len(args) == 2 else [Value(c.INT32, bytes(4)), *args])


def _binary(args: list[Value], decode: Callable[[str], bytes | None]) -> Value | None:
    subtype, text = _number(args), _string(args, 1)
    content = None if text is None else decode(text)
    if subtype is None or content is None or not 0 <= subtype <= 255:
        return None
    return Value(c.BINARY, scalars.binary_data(subtype, content))


def base64_binary(args: list[Value]) -> Value | None:
    """``BinData(0, "…")``."""
    return _binary(args, scalars.base64_bytes)


def hexadecimal_binary(args: list[Value]) -> Value | None:
    """``HexData(0, "…")``."""
    return _binary(args, scalars.hex_bytes)


def timestamp(args: list[Value]) -> Value | None:
    """``Timestamp(…, …)`` or ``Timestamp({t: …, i: …})``."""
    if len(args) == 1 and args[0].type == c.OBJECT:
        inner = dict(c.fields(args[0].data))
        args = [inner[name] for name in ("t", "i") if name in inner]
    seconds, increment = _number(args), _number(args, 1)
    data = None if seconds is None or increment is None else scalars.timestamp_data(seconds, increment)
    return None if data is None else Value(c.TIMESTAMP, data)


def regex(args: list[Value]) -> Value | None:
    """``RegExp("…", "…")``."""
    pattern, flags = _string(args), _string(args, 1) if len(args) > 1 else ""
    if pattern is None or flags is None or set(flags) - set("ilmsux") or "\x00" in pattern:
        return None
    return Value(c.REGEX, pattern.encode() + b"\x00" + "".join(sorted(flags)).encode() + b"\x00")


def code(args: list[Value]) -> Value | None:
    """``Code("…")``, with or without a scope."""
    code = _string(args)
    if code is None or len(args) > 2 or (len(args) == 2 and args[1].type != c.OBJECT):
        return None
    body = scalars.string_data(code)
    if len(args) == 1:
        return Value(c.CODE, body)
    body += args[1].data
    return Value(c.SCOPED_CODE, scalars.int32.pack(len(body) + 4) + body)


def symbol(args: list[Value]) -> Value | None:
    """``Symbol("…")``."""
    text = _string(args)
    return None if text is None else Value(c.SYMBOL, scalars.string_data(text))


def reference(args: list[Value]) -> Value | None:
    """``DBRef("…", …)``, which is a document."""
    if _string(args) is None or not 2 <= len(args) <= 3 or (len(args) == 3 and _string(args, 2) is None):
        return None
    return Value(c.OBJECT, c.document(zip(("$ref", "$id", "$db"), args, strict=False)))


def pointer(args: list[Value]) -> Value | None:
    """``DBPointer("…", …)``."""
    text = _string(args)
    if text is None or len(args) != 2 or args[1].type != c.OBJECT_ID:
        return None
    return Value(c.DB_POINTER, scalars.string_data(text) + args[1].data)


def least(args: list[Value]) -> Value | None:
    """``MinKey()``."""
    return None if args else Value(c.MIN_KEY, b"")


def greatest(args: list[Value]) -> Value | None:
    """``MaxKey()``."""
    return None if args else Value(c.MAX_KEY, b"")


_READ: dict[str, Callable[[list[Value]], Value | None]] = {
    name: kinds.function(helper.read) for name, helper in HELPERS.items()
}


def call(word: str, args: list[Value]) -> Value:
    """The value that a function makes of its arguments; raises ``NotThat`` with an example if they are wrong."""
    value = _READ[word](args) if len(args) <= HELPERS[word].most else None
    if value is None:
        raise NotThat(f"{word} does not accept this; write it as in {HELPERS[word].example}.")
    return value
