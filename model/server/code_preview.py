"""Writes as the code that would send them: PyMongo and mongosh, to read and to copy; never to execute here."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence

from bson.decimal128 import Decimal128
from msgspec import Struct

from model.foundation.hidden_characters import escaped, escaped_once
from model.foundation.records import Sending
from model.server.retry import Terms, Write, bson_of
from model.values import canonical as c
from model.values.canonical import Value

WIDTH = 76  # characters of a line before a container is broken up
SHORT = 40  # characters of a string, and bytes of a binary, that are displayed
MOST = 5  # fields or elements of one container that are displayed
FEWER = 2  # of a copy that is made before the write that decides

_CALLS = {
    "insert": ("insert_one", "insertOne"),
    "update": ("update_one", "updateOne"),
    "upsert": ("update_one", "updateOne"),
    "replace": ("replace_one", "replaceOne"),
    "delete": ("delete_one", "deleteOne"),
}
_RETURNING = {
    "update": ("find_one_and_update", "findOneAndUpdate"),
    "replace": ("find_one_and_replace", "findOneAndReplace"),
}


def sending(writes: Sequence[Write], explanation: str) -> Sending:
    """The code of some writes in the order they are sent: spelt out to copy, and with long values elided to look at."""
    return Sending(
        _code(writes, PYTHON, full=True),
        _code(writes, SHELL, full=True),
        explanation,
        _code(writes, PYTHON, full=False),
        _code(writes, SHELL, full=False),
    )


class _Dialect(Struct, frozen=True):
    value: Callable[[Value, bool], str]  # a value that is no container
    quote: Callable[[str, bool], str]  # a text, or a name
    begin: str
    comment: str
    call: int
    upsert: str
    returns: str


def _code(writes: Sequence[Write], dialect: _Dialect, full: bool) -> str:
    lines: list[str] = []
    here = ""
    for at, write in enumerate(writes):
        prepares = write.kind == "insert" and at < len(writes) - 1
        most = None if full else FEWER if prepares else MOST
        db, _, collection = write.ns.partition(".")
        if db != here:
            lines.append(dialect.begin.format(json.dumps(db)))
            here = db
        if write.note and len(writes) > 1:
            lines.append(f"{dialect.comment} {write.note}")
        plain = collection.isidentifier() and not collection.startswith("_")
        target = f"db.{collection}" if plain else f"db[{json.dumps(collection)}]"
        arguments = [_container(part, dialect, most) for part in _arguments(write)]
        if write.kind == "upsert":
            arguments.append([dialect.upsert])
        if write.returns:
            arguments.append([dialect.returns])
        call = (_RETURNING if write.returns else _CALLS)[write.kind][dialect.call]
        lines.extend(_call(f"{target}.{call}(", arguments))
    return "\n".join(lines)


def _arguments(write: Write) -> list[Value]:
    found = [] if write.kind == "insert" else [_terms(write.filter)]
    if isinstance(write.body, bytes):
        found.append(Value.document(write.body))
    elif isinstance(write.body, Mapping):
        found.append(_terms(write.body))
    elif write.body is not None:
        found.append(c.array(_terms(stage) for stage in write.body))
    return found


def _terms(terms: Terms) -> Value:
    return Value.document(bson_of(terms))


def _call(head: str, arguments: list[list[str]]) -> list[str]:
    whole = head + ", ".join("".join(line.strip() for line in lines) for lines in arguments) + ")"
    if all(len(lines) == 1 for lines in arguments) and len(whole) <= WIDTH:
        return [whole]
    out = [head]
    for at, lines in enumerate(arguments):
        end = ")" if at == len(arguments) - 1 else ","
        out += [f"    {line}" for line in lines[:-1]] + [f"    {lines[-1]}{end}"]
    return out


def _container(value: Value, dialect: _Dialect, most: int | None, room: int = WIDTH - 4) -> list[str]:
    """A value as lines: on one where it fits, else an element a line; ``most`` of them are displayed, None for all."""
    if not value.is_container:
        return [dialect.value(value, most is None)]
    is_array = value.type == c.ARRAY
    left, right = "[]" if is_array else "{}"
    parts: list[list[str]] = []
    for at, (name, inner) in enumerate(c.fields(value.data)):
        if at == most:
            parts.append(["…"])
            break
        lines = _container(inner, dialect, most, room - 4)
        key = "" if is_array else f"{dialect.quote(name, True)}: "
        under = " " * min(len(key), 16)  # continued under its first element, as long as there is room
        parts.append([key + lines[0], *(under + line for line in lines[1:])])
    flat = left + ", ".join(lines[0] for lines in parts) + right
    if all(len(lines) == 1 for lines in parts) and len(flat) <= room:
        return [flat]
    out: list[str] = []
    for at, lines in enumerate(parts):
        closing = right if at == len(parts) - 1 else ","
        indented = [f"{' '}{line}" for line in lines]
        if at == 0:
            indented[0] = left + lines[0]
        indented[-1] += closing
        out += indented
    return out or [flat]


def _string(text: str, full: bool) -> str:
    if not full and len(text) > SHORT:
        text = text[:SHORT] + "…"
    # JSON's form, but without its pairs of surrogates: Python would read these as two characters.
    return escaped_once(json.dumps(text, ensure_ascii=False))


def _shell_string(text: str, full: bool) -> str:
    """As JavaScript writes it, which knows pairs of codes and no longer ones."""
    if not full and len(text) > SHORT:
        text = text[:SHORT] + "…"
    return escaped(json.dumps(text, ensure_ascii=False))


def _text(data: bytes) -> str:
    return data[4:-1].decode("utf-8", "surrogateescape")


def _milliseconds(value: Value) -> int:
    return int.from_bytes(value.data, "little", signed=True)


def _moment(value: Value) -> dt.datetime | None:
    try:
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=_milliseconds(value))
    except OverflowError:
        return None


def _binary(value: Value, full: bool) -> tuple[str, int]:
    data = value.data[5:]
    shown = base64.b64encode(data if full else data[:SHORT]).decode()
    return shown if full or len(data) <= SHORT else shown + "…", value.data[4]


def _regex(value: Value) -> tuple[str, str]:
    pattern, flags, _ = value.data.split(b"\x00")
    return pattern.decode("utf-8", "surrogateescape"), flags.decode("utf-8", "surrogateescape")


def _integer(value: Value) -> int:
    return int.from_bytes(value.data, "little", signed=True)


def _scope(value: Value) -> tuple[str, Value]:
    end = 8 + int.from_bytes(value.data[4:8], "little")
    return _text(value.data[4:end]), Value.document(value.data[end:])


def _python(value: Value, full: bool) -> str:
    match value.type:
        case c.DOUBLE:
            number = struct.unpack("<d", value.data)[0]
            return repr(number) if math.isfinite(number) else f'float("{number}")'
        case c.STRING:
            return _string(_text(value.data), full)
        case c.BINARY:
            shown, subtype = _binary(value, full)
            return f'Binary(b64decode("{shown}"), {subtype})'
        case c.OBJECT_ID:
            return f'ObjectId("{value.data.hex()}")'
        case c.BOOLEAN:
            return "True" if value.data != b"\x00" else "False"
        case c.DATE:
            at = _moment(value)
            if at is None:
                return f"DatetimeMS({_milliseconds(value)})"
            parts = [at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond]
            while len(parts) > 3 and parts[-1] == 0:
                parts.pop()
            return f"datetime({', '.join(map(str, parts))}, tzinfo=timezone.utc)"
        case c.NULL:
            return "None"
        case c.REGEX:
            pattern, flags = _regex(value)
            return f"Regex({_string(pattern, full)}, {_string(flags, full)})"
        case c.CODE:
            return f"Code({_string(_text(value.data), full)})"
        case c.SCOPED_CODE:
            code, scope = _scope(value)
            return f"Code({_string(code, full)}, {_flat(scope, PYTHON, full)})"
        case c.INT32:
            return str(_integer(value))
        case c.INT64:
            return f"Int64({_integer(value)})"
        case c.TIMESTAMP:
            step, seconds = struct.unpack("<II", value.data)
            return f"Timestamp({seconds}, {step})"
        case c.DECIMAL128:
            return f'Decimal128("{Decimal128.from_bid(value.data)}")'
        case c.MAX_KEY | c.MIN_KEY:
            return f"{value.kind}()"
    return f"<{value.kind}: PyMongo cannot send it>"


def _shell(value: Value, full: bool) -> str:
    match value.type:
        case c.DOUBLE:
            number = struct.unpack("<d", value.data)[0]
            if not math.isfinite(number):
                return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(number, "NaN")
            return f'Double("{number!r}")' if number.is_integer() else repr(number)
        case c.STRING:
            return _shell_string(_text(value.data), full)
        case c.CODE:
            return f"Code({_shell_string(_text(value.data), full)})"
        case c.BINARY:
            shown, subtype = _binary(value, full)
            return f'Binary.createFromBase64("{shown}", {subtype})'
        case c.BOOLEAN:
            return "true" if value.data != b"\x00" else "false"
        case c.DATE:
            at = _moment(value)
            if at is None:
                return f"new Date({_milliseconds(value)})"
            return f'ISODate("{at.strftime("%Y-%m-%dT%H:%M:%S")}.{at.microsecond // 1000:03d}Z")'
        case c.NULL:
            return "null"
        case c.REGEX:
            pattern, flags = _regex(value)
            return f"BSONRegExp({_shell_string(pattern, full)}, {_shell_string(flags, full)})"
        case c.SCOPED_CODE:
            code, scope = _scope(value)
            return f"Code({_shell_string(code, full)}, {_flat(scope, SHELL, full)})"
        case c.INT64:
            return f'Long("{_integer(value)}")'
        case c.TIMESTAMP:
            step, seconds = struct.unpack("<II", value.data)
            return f"Timestamp({{t: {seconds}, i: {step}}})"
        case c.SYMBOL:
            return f"BSONSymbol({_shell_string(_text(value.data), full)})"
        case c.UNDEFINED:
            return "undefined"
        case c.DB_POINTER:
            return "<DBPointer: mongosh cannot send it>"
    return _python(value, full)


def _flat(value: Value, dialect: _Dialect, full: bool) -> str:
    return "".join(line.strip() for line in _container(value, dialect, None if full else MOST))


PYTHON = _Dialect(_python, _string, "db = client[{}]", "#", 0, "upsert=True", "return_document=True")
SHELL = _Dialect(
    _shell, _shell_string, "db = db.getSiblingDB({})", "//", 1, "{upsert: true}", '{returnDocument: "after"}'
)
