"""Extended JSON text to BSON bytes, strictly or as people type it.

Strict reading takes JSON with canonical and relaxed Extended JSON and the escape forms of ``model.text.json_writer``.
Loose reading also takes the notation of shells: names without quotes, single quotes, trailing commas, comments,
``ObjectId("…")`` and its kin, ``/pattern/i``. Both take bare NaN and Infinity. Nesting may be of any depth, because
nothing recurses.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Literal, TypeAlias

from msgspec import Struct, field

from model.errors import Unreadable
from model.text import scalars
from model.text.shell_calls import CONSTANTS, HELPERS, NotThat, call
from model.text.typed_values import WRAPPERS, unwrap
from model.values import canonical as c
from model.values.canonical import Value

_SPACE = re.compile(r"[ \t\r\n]*")
_LOOSE_SPACE = re.compile(r"(?:[\s\ufeff]++|//[^\n]*+|/\*.*?\*/|)*+", re.S)
_PLAIN_STRING = re.compile(r'"([^"\\\x00-\x1f\ud800-\udfff]*)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LOOSE_NUMBER = re.compile(r"[+-]?(?:[0-9]+(\.[0-9]*)?|(\.[0-9]+))([eE][+-]?[0-9]+)?(?![\w.])")
_WORD = re.compile(r"[^\W\d][\w$]*(?:\.\w+)?|\$[\w$]*")
_LOOSE_NAME = re.compile(r"[\w$][\w$.]*")
_SINGLE = re.compile(r"'((?:[^'\\\n]++|\\.|)*+)'", re.S)
_PATTERN = re.compile(r"/((?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/(\w*)")
_TYPED = re.compile(r'\{ ?"\$(oid|numberInt|numberLong|numberDouble)": ?"([0-9a-f.E+-]{1,24})" ?\}')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_raw_string = json.JSONDecoder(strict=True).raw_decode

_LITERALS = {"true": Value(c.BOOLEAN, b"\x01"), "false": Value(c.BOOLEAN, b"\x00"), "null": Value(c.NULL, b"")}
_Shape: TypeAlias = Literal["object", "array", "call"]


class _ReadContainer(Struct):
    """A container being read: its values so far; for objects also their names and where these are."""

    shape: _Shape
    start: int
    word: str = ""
    values: list[Value] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


_CLOSING = {"object": "}", "array": "]", "call": ")"}


class _Reader:
    def __init__(self, text: str, loose: bool) -> None:
        self.text, self.loose, self.at = text, loose, 0
        self.space = _LOOSE_SPACE if loose else _SPACE

    def fail(self, what: str, at: int | None = None) -> Unreadable:
        """The error to raise, with its place."""
        place = self.at if at is None else at
        line = self.text.count("\n", 0, place) + 1
        column = place - self.text.rfind("\n", 0, place)
        return Unreadable(f"Line {line}, column {column}: {what}")

    def peek(self) -> str:
        """The next character that is no blank or comment; "" at the end."""
        found = self.space.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return self.text[self.at : self.at + 1]

    def read(self, alone: bool = True) -> Value:
        """The next value; if ``alone``, the text must hold no other."""
        stack: list[_ReadContainer] = []
        while True:
            value = self.open_or_scalar(stack)
            while True:  # once more for each container that ends here
                if value is not None:
                    if not stack:
                        if alone and self.peek():
                            raise self.fail("the value has ended here; remove what follows.")
                        return value
                    stack[-1].values.append(value)
                frame = stack[-1]
                more = self.next_in(frame, opened=value is None)
                if more:
                    break
                stack.pop()
                value = self.closed(frame)

    def next_in(self, frame: _ReadContainer, opened: bool) -> bool:
        """Go to the next value of a container; False if it ends here."""
        closing = _CLOSING[frame.shape]
        here = self.peek()
        if here == closing:
            self.at += 1
            return False
        if not opened:
            if here != ",":
                raise self.fail(f"{self.found(here)}; expected a comma or {closing}.")
            self.at += 1
            here = self.peek()
            if here == closing:
                if not self.loose:
                    raise self.fail(f"a comma before {closing} is not JSON; remove it.")
                self.at += 1
                return False
        if frame.shape == "object":
            place = self.at
            name = self.name(here)
            if name in frame.seen:
                raise self.fail(f"the name {scalars.quoted(name)} occurs twice in one document; rename one.", place)
            frame.seen.add(name)
            frame.names.append(name)
            frame.places.append(place)
            if self.peek() != ":":
                raise self.fail(f"{self.found(self.peek())}; expected a colon after the name {scalars.quoted(name)}.")
            self.at += 1
        return True

    def found(self, here: str) -> str:
        return f"{here!r} is not expected here" if here else "the text ends too early"

    def name(self, here: str) -> str:
        if here == '"':
            return self.checked_name(self.string())
        if self.loose:
            if here == "'":
                return self.checked_name(self.single())
            found = _LOOSE_NAME.match(self.text, self.at)
            if found is not None:
                self.at = found.end()
                return found.group()
        raise self.fail(f"{self.found(here)}; expected a name in double quotes.")

    def checked_name(self, name: str) -> str:
        try:
            c.name_bytes(name)
        except Unreadable as error:
            raise self.fail(str(error), self.at) from None
        return name

    def string(self) -> str:
        found = _PLAIN_STRING.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
            return found.group(1)
        try:
            value, end = _raw_string(self.text, self.at)
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated"):
                raise self.fail('the string that begins here does not end; close it with ".') from None
            if error.msg.startswith("Invalid control"):
                what = "a line break or control character inside a string; write it as \\n, \\t or \\u00XX."
            else:
                what = "an escape that JSON does not know; write a backslash as \\\\."
            raise self.fail(what, error.pos) from None
        self.check_text(value)
        self.at = end
        return str(value)

    def check_text(self, value: str) -> None:
        try:
            # In Extended JSON, lone surrogates may stand for stored bytes that are not UTF-8.
            value.encode("utf-8", "strict" if self.loose else "surrogateescape")
        except UnicodeEncodeError:
            raise self.fail("half a character (a lone surrogate); retype it.") from None

    def single(self) -> str:
        found = _SINGLE.match(self.text, self.at)
        if found is None:
            raise self.fail("the string that begins here does not end; close it with '.")
        value = re.sub(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", _unescaped, found.group(1), flags=re.S)
        self.check_text(value)
        self.at = found.end()
        return value

    def open_or_scalar(self, stack: list[_ReadContainer]) -> Value | None:
        """Read a scalar, or push an opened container onto the stack and return None."""
        here = self.peek()
        if here == '"':
            return Value(c.STRING, self.string_data(self.string()))
        if here == "{":
            # Nearly all objects with a reserved name are ids and numbers: one match reads these.
            quick = _TYPED.match(self.text, self.at)
            value = _typed(*quick.groups()) if quick is not None else None
            if quick is not None and value is not None:
                self.at = quick.end()
                return value
        if here == "{" or here == "[":
            stack.append(_ReadContainer("object" if here == "{" else "array", self.at))
            self.at += 1
            return None
        if here and (here in "-0123456789" or (self.loose and here in "+.")):
            return self.number()
        if self.loose and here == "'":
            return Value(c.STRING, self.string_data(self.single()))
        if self.loose and here == "/":
            return self.pattern()
        return self.word(here, stack)

    def string_data(self, text: str) -> bytes:
        try:
            return scalars.string_data(text)
        except Unreadable as error:
            raise self.fail(str(error)) from None

    def number(self) -> Value:
        found = (_LOOSE_NUMBER if self.loose else _NUMBER).match(self.text, self.at)
        if found is None:
            if self.text.startswith("-Infinity" if not self.loose else ("-Infinity", "+Infinity"), self.at):
                start, self.at = self.at, self.at + 9
                data = scalars.parse_double(self.text[start : self.at].lstrip("+"))
                return Value(c.DOUBLE, data or b"")
            raise self.fail("this is not a number.")
        text = found.group()
        if any(found.groups()):
            data = scalars.parse_double(text)
            if data is None:
                raise self.fail(f'{text} is too large for a Double; write it as {{"$numberDecimal": "{text}"}}.')
            self.at = found.end()
            return Value(c.DOUBLE, data)
        value = integer(text)
        if value is None:
            raise self.fail(f'{text[:60]} does not fit an Int64; write it as {{"$numberDecimal": "…"}}.')
        self.at = found.end()
        return value

    def pattern(self) -> Value:
        found = _PATTERN.match(self.text, self.at)
        if found is None:
            raise self.fail("the regular expression that begins here does not end; close it with /.")
        pattern, flags = found.group(1).replace("\\/", "/"), "".join(sorted(set(found.group(2))))
        if set(flags) - set("ilmsux"):
            raise self.fail(
                "a regular expression takes the flags i, l, m, s, u and x; remove the others.", found.start(2)
            )
        if "\x00" in pattern:
            raise self.fail("a regular expression cannot hold a NUL character; remove it.")
        self.check_text(pattern)
        self.at = found.end()
        return Value(c.REGEX, pattern.encode() + b"\x00" + flags.encode() + b"\x00")

    def word(self, here: str, stack: list[_ReadContainer]) -> Value | None:
        start = self.at
        found = _WORD.match(self.text, start)
        if found is None:
            hint = "write the text in double quotes" if here == "'" else "expected a value"
            raise self.fail(f"{self.found(here)}; {hint}.")
        word = found.group()
        if word in _LITERALS:
            self.at = found.end()
            return _LITERALS[word]
        if word in ("NaN", "Infinity"):  # not JSON, but Python, Java and old exporters write these doubles so
            self.at = found.end()
            return CONSTANTS[word]
        if not self.loose:
            raise self.fail(f"{word} is not a JSON value; write text in double quotes.")
        if word == "new":
            self.at = found.end()
            self.peek()
            found = _WORD.match(self.text, self.at)
            word = found.group() if found is not None else "new"
        if found is not None:
            self.at = found.end()
        if word in HELPERS and self.peek() == "(":
            self.at += 1
            stack.append(_ReadContainer("call", start, word))
            return None
        if word in CONSTANTS:
            return CONSTANTS[word]
        if word in HELPERS:
            raise self.fail(f"{word} needs a value in brackets, as in {HELPERS[word].example}.", start)
        raise self.fail(f"{word} is not known here; write text in double quotes.", start)

    def closed(self, frame: _ReadContainer) -> Value:
        try:
            if frame.shape == "array":
                return c.array(frame.values)
            if frame.shape == "call":
                return call(frame.word, frame.values)
            pairs = list(zip(frame.names, frame.values, strict=True))
            # A reserved name makes the object a typed value or an error, but never a plain document.
            for i, name in enumerate(frame.names):
                if name in WRAPPERS:
                    return self.wrapped(frame, pairs, i)
            return Value(c.OBJECT, c.document(pairs))
        except NotThat as error:
            raise self.fail(str(error), frame.start) from None

    def wrapped(self, frame: _ReadContainer, pairs: list[tuple[str, Value]], at: int) -> Value:
        try:
            return unwrap(frame.names[at], pairs)
        except Unreadable as error:
            raise self.fail(str(error), frame.places[at]) from None


def integer(text: str) -> Value | None:
    """The Int32, else Int64, else Double with exactly these digits; None if no type holds them.

    JavaScript writes a large Double without an exponent, as its shortest digits and zeros: 1e20 is
    100000000000000000000 in relaxed Extended JSON. Other long digits come from no Double, so a person meant a whole
    number.
    """
    if len(text) > 4000:  # Python itself refuses longer ones
        return None
    number = int(text)
    if scalars.INT32_MIN <= number <= scalars.INT32_MAX:
        return Value(c.INT32, scalars.int32.pack(number))
    if scalars.INT64_MIN <= number <= scalars.INT64_MAX:
        return Value(c.INT64, scalars.int64.pack(number))
    double = float(text)
    if math.isfinite(double) and number == Decimal(repr(double)):
        return Value(c.DOUBLE, scalars.double.pack(double))
    return None


def _typed(name: str, text: str) -> Value | None:
    """The most common typed values, read fast; None leaves the text to the slow way, which makes the error messages."""
    if name == "oid":
        return Value(c.OBJECT_ID, bytes.fromhex(text)) if len(text) == 24 and text.isalnum() else None
    if name == "numberDouble":
        data = scalars.parse_double(text)
        return None if data is None else Value(c.DOUBLE, data)
    digits = text[1:] if text[0] == "-" else text
    if not digits.isdecimal() or len(digits) > 19:
        return None
    number, bits = int(text), 32 if name == "numberInt" else 64
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        return None
    return Value(c.INT32 if bits == 32 else c.INT64, number.to_bytes(bits // 8, "little", signed=True))


def _unescaped(found: re.Match[str]) -> str:
    escape = found.group(1)
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _ESCAPES.get(escape, escape)


def read(text: str, loose: bool = False) -> Value:
    """The only value in the text; raises ``Unreadable`` with line, column and what to do."""
    return _Reader(text, loose).read()


def read_any(text: str) -> Value:
    """The only value in the text, as Extended JSON, else in the notation of shells."""
    try:
        return _Reader(text, loose=False).read()
    except Unreadable:
        return _Reader(text, loose=True).read()


def read_all(text: str) -> list[Value]:
    """All values in a text, with or without commas between them, in any notation."""
    reader, found = _Reader(text, loose=True), []
    while reader.peek():
        found.append(reader.read(alone=False))
        if reader.peek() == ",":
            reader.at += 1
    return found


class Unread(Struct, frozen=True):
    """A value among others that cannot be read: the reason, and whether the text ends inside it."""

    error: Unreadable
    is_cut_off: bool


def read_each(text: str) -> Iterator[tuple[int, int, Value | Unread]]:
    """The values of a text, one after the other or in one array, in any notation, with their start and end.

    After a value that cannot be read, it continues at the next line that begins like a document at this level.
    """
    readers = [_Reader(text, loose=False), _Reader(text, loose=True)]  # first the one that read the last value
    loose = readers[1]
    level = loose.peek() == "["
    loose.at += level
    while here := loose.peek():
        if here == "," or (here == "]" and level):
            loose.at += 1
            continue
        start = loose.at
        value = _next_value(readers, start, loose)
        yield start, loose.at, value
        if isinstance(value, Unread):
            column, end = start - text.rfind("\n", 0, start) - 1, text.find("\n", start)
            # A line that begins deeper than the broken value is a part of it.
            beginning = re.compile(rf"^[ \t]{{0,{column}}}(?:[,\[][ \t]*)?(?=\{{)", re.M)
            after = None if end < 0 else beginning.search(text, end + 1)
            if after is None:
                return
            loose.at = after.end()


def _next_value(readers: list[_Reader], start: int, loose: _Reader) -> Value | Unread:
    for reader in list(readers):
        reader.at = start
        try:
            value = reader.read(alone=False)
        except Unreadable as error:
            if reader is loose:
                failed = Unread(error, not reader.peek())
            continue
        loose.at = reader.at
        if reader is not readers[0]:
            readers.reverse()
        return value
    return failed


def is_blank(text: str) -> bool:
    """Whether a text holds only blanks and comments."""
    return not _Reader(text, loose=True).peek()
