"""Writes as the code that would send them, for PyMongo and mongosh: to read and to copy, never executed here."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from model.foundation.hidden_characters import escaped, escaped_once
from model.foundation.records import Sending
from model.server.retry import Terms, Write, bson_of
from model.values import canonical as c
from model.values.canonical import Value
from model.values.decimals import digits
from model.values.kinds import BY_CODE, functions

WIDTH = 76  # the longest line before a container is split
SHORT = 40  # displayed characters of a string, and bytes of a binary
MOST = 5  # displayed fields or elements of one container
FEWER = 2  # for copies made before the deciding write

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
    """The code of some writes in sending order: complete for copying, and with long values shortened for display."""
    return Sending(
        _code(writes, PYTHON, full=True),
        _code(writes, SHELL, full=True),
        explanation,
        _code(writes, PYTHON, full=False),
        _code(writes, SHELL, full=False),
    )


class _Dialect(Struct, frozen=True):
    value: Callable[[Value, bool], str]  # a value that is not a container
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
    """A value as lines: one if it fits, else one per element, at most ``most`` of them (None: all)."""
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
        under = " " * min(len(key), 16)  # indented under its first element while there is room
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
    # JSON's form without surrogate pairs, which Python would read as two characters.
    return escaped_once(json.dumps(text, ensure_ascii=False))


def _shell_string(text: str, full: bool) -> str:
    """A string in JavaScript, which has surrogate pairs but no longer codes."""
    if not full and len(text) > SHORT:
        text = text[:SHORT] + "…"
    return escaped(json.dumps(text, ensure_ascii=False))


def _text(data: bytes) -> str:
    return data[4:-1].decode("utf-8", "surrogateescape")


def _integer(value: Value) -> int:
    return int.from_bytes(value.data, "little", signed=True)


def _moment(value: Value) -> dt.datetime | None:
    try:
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=_integer(value))
    except OverflowError:
        return None


def _binary(value: Value, full: bool) -> tuple[str, int]:
    data = value.data[5:]
    shown = base64.b64encode(data if full else data[:SHORT]).decode()
    return shown if full or len(data) <= SHORT else shown + "…", value.data[4]


def _regex(value: Value) -> tuple[str, str]:
    pattern, flags, _ = value.data.split(b"\x00")
    return pattern.decode("utf-8", "surrogateescape"), flags.decode("utf-8", "surrogateescape")


def _scope(value: Value) -> tuple[str, Value]:
    end = 8 + int.from_bytes(value.data[4:8], "little")
    return _text(value.data[4:end]), Value.document(value.data[end:])


def _driver(value: Value) -> str:
    return BY_CODE[value.type].driver


# --- as PyMongo writes a value


def python_double(value: Value, full: bool) -> str:
    """A number, or a call for infinities and NaN."""
    number = struct.unpack("<d", value.data)[0]
    return repr(number) if math.isfinite(number) else f'float("{number}")'


def python_string(value: Value, full: bool) -> str:
    """A text in quotes."""
    return _string(_text(value.data), full)


def python_binary(value: Value, full: bool) -> str:
    """The bytes as base64, and the subtype."""
    shown, subtype = _binary(value, full)
    return f'Binary(b64decode("{shown}"), {subtype})'


def python_object_id(value: Value, full: bool) -> str:
    """The hexadecimal digits."""
    return f'{_driver(value)}("{value.data.hex()}")'


def python_boolean(value: Value, full: bool) -> str:
    """One of two words."""
    return "True" if value.data != b"\x00" else "False"


def python_date(value: Value, full: bool) -> str:
    """A date with its zone, as milliseconds where Python has no such year."""
    at = _moment(value)
    if at is None:
        return f"DatetimeMS({_integer(value)})"
    parts = [at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond]
    while len(parts) > 3 and parts[-1] == 0:
        parts.pop()
    return f"{_driver(value)}({', '.join(map(str, parts))}, tzinfo=timezone.utc)"


def python_null(value: Value, full: bool) -> str:
    """The word for nothing."""
    return "None"


def python_regex(value: Value, full: bool) -> str:
    """Pattern and flags."""
    pattern, flags = _regex(value)
    return f"{_driver(value)}({_string(pattern, full)}, {_string(flags, full)})"


def python_code(value: Value, full: bool) -> str:
    """A text of JavaScript."""
    return f"{_driver(value)}({_string(_text(value.data), full)})"


def python_scoped_code(value: Value, full: bool) -> str:
    """A text of JavaScript with its scope."""
    code, scope = _scope(value)
    return f"{_driver(value)}({_string(code, full)}, {_flat(scope, PYTHON, full)})"


def python_int32(value: Value, full: bool) -> str:
    """The digits."""
    return str(_integer(value))


def python_int64(value: Value, full: bool) -> str:
    """The digits in a call: PyMongo would store a small number as an Int32."""
    return f"{_driver(value)}({_integer(value)})"


def python_timestamp(value: Value, full: bool) -> str:
    """Seconds and increment."""
    step, seconds = struct.unpack("<II", value.data)
    return f"{_driver(value)}({seconds}, {step})"


def python_decimal(value: Value, full: bool) -> str:
    """All digits, as a text."""
    return f'{_driver(value)}("{digits(value.data)}")'


def python_end(value: Value, full: bool) -> str:
    """The constructor of MinKey or MaxKey."""
    return f"{_driver(value)}()"


# --- as mongosh writes it, where that differs


def mongosh_double(value: Value, full: bool) -> str:
    """A number; in a call if mongosh would store it as Int32."""
    number = struct.unpack("<d", value.data)[0]
    if not math.isfinite(number):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(number, "NaN")
    return f'Double("{number!r}")' if number.is_integer() else repr(number)


def mongosh_string(value: Value, full: bool) -> str:
    """A text in quotes."""
    return _shell_string(_text(value.data), full)


def mongosh_code(value: Value, full: bool) -> str:
    """A text of JavaScript."""
    return f"Code({_shell_string(_text(value.data), full)})"


def mongosh_binary(value: Value, full: bool) -> str:
    """The bytes as base64, and the subtype."""
    shown, subtype = _binary(value, full)
    return f'Binary.createFromBase64("{shown}", {subtype})'


def mongosh_boolean(value: Value, full: bool) -> str:
    """One of two words."""
    return "true" if value.data != b"\x00" else "false"


def mongosh_date(value: Value, full: bool) -> str:
    """A date in UTC; as milliseconds if its year has more than four digits."""
    at = _moment(value)
    if at is None:
        return f"new Date({_integer(value)})"
    return f'ISODate("{at.strftime("%Y-%m-%dT%H:%M:%S")}.{at.microsecond // 1000:03d}Z")'


def mongosh_word(value: Value, full: bool) -> str:
    """The only word of this kind."""
    return BY_CODE[value.type].word


def mongosh_regex(value: Value, full: bool) -> str:
    """Pattern and flags."""
    pattern, flags = _regex(value)
    return f"BSONRegExp({_shell_string(pattern, full)}, {_shell_string(flags, full)})"


def mongosh_scoped_code(value: Value, full: bool) -> str:
    """A text of JavaScript with its scope."""
    code, scope = _scope(value)
    return f"Code({_shell_string(code, full)}, {_flat(scope, SHELL, full)})"


def mongosh_int64(value: Value, full: bool) -> str:
    """The digits as text, which JavaScript does not round."""
    return f'Long("{_integer(value)}")'


def mongosh_timestamp(value: Value, full: bool) -> str:
    """Seconds and increment by their names."""
    step, seconds = struct.unpack("<II", value.data)
    return f"Timestamp({{t: {seconds}, i: {step}}})"


def mongosh_symbol(value: Value, full: bool) -> str:
    """A symbol."""
    return f"BSONSymbol({_shell_string(_text(value.data), full)})"


def mongosh_nothing(value: Value, full: bool) -> str:
    """A placeholder: mongosh cannot send this kind."""
    return f"<{value.kind}: mongosh cannot send it>"


_PYTHON: dict[int, Callable[[Value, bool], str]] = functions("python")
_MONGOSH: dict[int, Callable[[Value, bool], str]] = functions("mongosh")


def _python(value: Value, full: bool) -> str:
    made = _PYTHON.get(value.type)
    return f"<{value.kind}: PyMongo cannot send it>" if made is None else made(value, full)


def _mongosh(value: Value, full: bool) -> str:
    return _MONGOSH.get(value.type, _python)(value, full)


def _flat(value: Value, dialect: _Dialect, full: bool) -> str:
    return "".join(line.strip() for line in _container(value, dialect, None if full else MOST))


PYTHON = _Dialect(_python, _string, "db = client[{}]", "#", 0, "upsert=True", "return_document=True")
SHELL = _Dialect(
    _mongosh, _shell_string, "db = db.getSiblingDB({})", "//", 1, "{upsert: true}", '{returnDocument: "after"}'
)
