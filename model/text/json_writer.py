"""Values as Extended JSON text: canonical, relaxed, or relaxed only where that loses nothing.

A document that a reader would take for a typed value, or that has two fields of one name, is written as the list of
its fields, and an array whose stored positions are not 0, 1, 2 … as the list of its elements::

    {"$fields": [["$oid", "no id"], ["a", {"$numberInt": "1"}], ["a", null]]}
    {"$elements": [["0", true], ["7", false]]}

Nesting may be of any depth, because nothing recurses. The walker writes all documents and arrays without oddities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from model.errors import Unreadable
from model.text import scalars
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import KINDS

Mode: TypeAlias = Literal["canonical", "relaxed", "exact"]

RESERVED = frozenset((b"$raw", *(wrapper.name.encode() for kind in KINDS for wrapper in kind.wrappers)))
_NOTATIONS = ("canonical", "relaxed", "exact")
_TRIES = 8
"""How often the walker may read all bytes without success, until the rest of the document is written without it."""

_REF = frozenset({b"$ref", b"$id"})
_HOLDERS = frozenset((c.OBJECT, c.ARRAY, c.SCOPED_CODE))

_Element: TypeAlias = tuple[bytes, int, int, int]


class Style(Struct, frozen=True):
    """The layout of the text: ``indent`` is the indentation of one level, None for one line."""

    mode: Mode = "canonical"
    indent: str | None = None
    compact: bool = False  # no blanks after commas and colons
    ascii_only: bool = False


PLAIN = Style()


def needs_fields(raw: bytes, parts: list[_Element]) -> bool:
    """Whether a document must be written as the list of its fields."""
    names = [part[0] for part in parts]
    if len(set(names)) != len(names):
        return True
    dollar = [name for name in names if name[:1] == b"$"]
    if not dollar:
        return False
    if not RESERVED.isdisjoint(dollar):
        return True
    if not _REF.issubset(dollar):
        return False
    # A DBRef in the order of all drivers reads alike in both forms; in any other order, some readers would reorder
    # it.
    wanted = [b"$ref", b"$id", b"$db"][: 3 if b"$db" in dollar else 2]
    return names[: len(wanted)] != wanted


def needs_elements(parts: list[_Element]) -> bool:
    """Whether an array must be written as the list of its elements with their stored positions."""
    return any(part[0] != b"%d" % i for i, part in enumerate(parts))


class _OpenContainer:
    """A container being written: ``before`` goes before its next part, ``after`` after each part."""

    __slots__ = ("after", "before", "between", "close", "inner", "labels", "parts", "raw", "tail")

    def __init__(
        self,
        raw: bytes,
        parts: Iterator[_Element],
        labels: dict[bytes, str] | None,
        after: str,
        close: str,
        tail: str,
        inner: str,
        comma: str,
    ) -> None:
        self.raw, self.parts, self.labels, self.after = raw, parts, labels, after
        self.close, self.tail, self.inner = close, tail, inner
        self.before, self.between = inner, comma + inner


class _Writer:
    def __init__(self, style: Style) -> None:
        self.style = style
        self.out: list[str] = []
        self.colon = ":" if style.compact else ": "
        self.comma = "," if style.compact or style.indent is not None else ", "
        self.relax = style.mode != "canonical"
        self.fields: dict[bytes, str] = {}  # a name, as written before its value in an object
        self.pairs: dict[bytes, str] = {}  # the name, as written in a list of fields
        self.form = (_NOTATIONS.index(style.mode), self.colon, self.comma, style.indent)
        self.walker = None if style.ascii_only else c.walker
        self.hope = 0  # bytes that the walker may still read without success

    def encoded(self, value: Value) -> bytes:
        made = self.walked(value.type, value.data, 0, len(value.data), 0) if value.type in (c.OBJECT, c.ARRAY) else None
        return self.write(value).encode("utf-8", "replace") if made is None else made

    def write(self, value: Value) -> str:
        stack: list[_OpenContainer] = []
        self.hope = _TRIES * len(value.data)
        self.value(value.type, value.data, 0, len(value.data), stack, "")
        out = self.out
        while stack:
            frame = stack[-1]
            raw, labels, before, after = frame.raw, frame.labels, frame.before, frame.after
            for name, kind, a, b in frame.parts:
                label = "" if labels is None else labels.get(name) or self.label(labels, name)
                if kind in _HOLDERS:
                    if (text := self.at_once(kind, raw, a, b, len(stack))) is not None:
                        out.append(f"{before}{label}{text}{after}")
                        before = frame.between
                        continue
                    out.append(before + label)
                    frame.before = frame.between
                    self.value(kind, raw, a, b, stack, after)
                    break
                out.append(f"{before}{label}{self.scalar(kind, raw[a:b])}{after}")
                before = frame.between
            else:
                stack.pop()
                if before is frame.between and self.style.indent is not None:
                    out.append(frame.inner[: -len(self.style.indent) or None])
                out.append(frame.close + frame.tail)
        return "".join(out)

    def label(self, labels: dict[bytes, str], name: bytes) -> str:
        """A name with the punctuation before its value, remembered for the next time."""
        quoted = scalars.quoted(c.name_of(name), self.style.ascii_only)
        said = quoted + self.colon if labels is self.fields else f"[{quoted}{',' if self.style.compact else ', '}"
        labels[name] = said
        return said

    def value(self, kind: int, raw: bytes, start: int, end: int, stack: list[_OpenContainer], tail: str) -> None:
        """Write the value between two offsets; copying it at each level of a deep document would fill the memory."""
        if kind in (c.OBJECT, c.ARRAY):
            text = None if stack else self.at_once(kind, raw, start, end, 0)  # nested ones were tried already
            if text is None:
                self.container(kind, raw, start, end, stack, tail)
            else:
                self.out.append(text)
            return
        data = raw[start:end]
        scope = scalars.scope_parts(data) if kind == c.SCOPED_CODE else None
        if scope is not None:
            code = scalars.quoted(scope[0], self.style.ascii_only)
            self.out.append(f'{{"$code": {code}, "$scope": ')
            self.container(c.OBJECT, scope[1], 0, len(scope[1]), stack, "}" + tail)
            return
        self.out.append(self.scalar(kind, data) + tail)

    def at_once(self, kind: int, raw: bytes, start: int, end: int, level: int) -> str | None:
        """The text of a document or array, from the walker; None if it cannot write it, or has failed too often."""
        made = None if kind == c.SCOPED_CODE else self.walked(kind, raw, start, end, level)
        if made is not None:
            return made.decode()
        self.hope -= end - start
        if self.hope < 0:
            self.walker = None
        return None

    def walked(self, kind: int, raw: bytes, start: int, end: int, level: int) -> bytes | None:
        if self.walker is None:
            return None
        made: bytes | None = self.walker.text(raw, start, end, kind == c.ARRAY, self.form, level, self.scalar)
        return made

    def scalar(self, kind: int, data: bytes) -> str:
        """The text of a value that holds no other values."""
        text = scalars.relaxed_text(kind, data) if self.relax else None
        if text is not None and self.style.mode == "exact" and kind == c.INT64:
            number = int(text)
            if scalars.INT32_MIN <= number <= scalars.INT32_MAX:
                text = None
        return scalars.scalar_text(kind, data, self.style.ascii_only) if text is None else text

    def container(self, kind: int, raw: bytes, start: int, end: int, stack: list[_OpenContainer], tail: str) -> None:
        parts = list(c.elements(raw, start))
        if scalars.int32.unpack_from(raw, start)[0] != end - start:
            raise Unreadable(f"There are {end - start} bytes, and the document ends before the last of them.")
        labels, after, opening, close = (self.fields, "", "{", "}") if kind == c.OBJECT else (None, "", "[", "]")
        if kind == c.OBJECT and needs_fields(raw, parts):
            labels, after, opening, close = self.pairs, "]", f'{{"$fields"{self.colon}[', "]}"
        elif kind == c.ARRAY and needs_elements(parts):
            labels, after, opening, close = self.pairs, "]", f'{{"$elements"{self.colon}[', "]}"
        self.out.append(opening)
        inner = ""
        if self.style.indent is not None:
            inner = "\n" + self.style.indent * (len(stack) + 1)
        stack.append(_OpenContainer(raw, iter(parts), labels, after, close, tail, inner, self.comma))


def write(value: Value, style: Style = PLAIN) -> str:
    """The value as text in the given style; raises ``Unreadable`` if its bytes are no BSON."""
    return _Writer(style).write(value)


def encoded(value: Value, style: Style = PLAIN) -> bytes:
    """:func:`write` in UTF-8, which takes half as long for a large value."""
    return _Writer(style).encoded(value)
