"""A document's text rewritten for what the document has become: what did not change stays as it is written.

Blanks, line breaks, the spelling of numbers and dates, and arrays on one line stay wherever a value stayed; one that
changed or came is written anew, laid out like its neighbours. Nothing recurses, so nesting may be of any depth.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator
from operator import itemgetter
from typing import TypeAlias

from model import canonical as c
from model.canonical import Value
from model.notation.scalars import string_data
from model.notation.writing import Style, needs_elements, needs_fields

# Possessive repeats: else each character of a long text is kept to come back to, at a hundred bytes apiece.
TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)

Fresh: TypeAlias = Callable[[Value, str | None], str]
"""Writes a value anew, its lines indented by so much; None asks for one line."""
_Output: TypeAlias = "Iterator[str | _Output]"


class _Place:
    """Where a value stands in the text; a container's parts with it, and the names of an object's."""

    __slots__ = ("end", "names", "parts", "start")

    def __init__(self, start: int, end: int, parts: list[_Place] | None = None) -> None:
        self.start, self.end, self.parts = start, end, parts
        self.names: list[tuple[int, int]] = []


def rewritten(text: str, was: Value, now: Value, style: Style, fresh: Fresh) -> str:
    """The text of a value that has become another; ``text`` must be Extended JSON in about this style, for ``was``."""
    top = _places(text)
    out: list[str] = []
    stack: list[_Output] = [_Rewriter(text, style, fresh).value(was, now, top, None if style.indent is None else "")]
    while stack:
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
        elif isinstance(part, str):
            out.append(part)
        else:
            stack.append(part)
    return text[: top.start] + "".join(out) + text[top.end :]


def _places(text: str) -> _Place:
    top = _Place(0, 0, [])
    stack = [top]
    for found in TOKEN.finditer(text):
        start, inside = found.start(), stack[-1]
        first, parts = text[start], inside.parts
        assert parts is not None
        if first in "}]":
            stack.pop().end = start + 1
        elif first in "{[":
            parts.append(_Place(start, start, []))
            stack.append(parts[-1])
        elif first not in ",:":
            if inside is not top and text[inside.start] == "{" and len(inside.names) == len(parts):
                inside.names.append(found.span())
            else:
                parts.append(_Place(*found.span()))
    assert top.parts is not None
    return top.parts[0]


class _Rewriter:
    def __init__(self, text: str, style: Style, fresh: Fresh) -> None:
        self.text, self.fresh, self.indent = text, fresh, style.indent
        self.blank = "" if style.compact else " "
        self.lines = "\r\n" if "\r\n" in text else "\n"

    def value(self, was: Value, now: Value, place: _Place, indent: str | None) -> _Output:
        """The text of a value that stood at a place; ``indent`` as in :data:`Fresh`."""
        if was == now:
            yield self.text[place.start : place.end]
            return
        olds, news = self.parts(was, place), self.parts(now, None)
        if was.type != now.type or olds is None or news is None or place.parts is None:
            yield self.fresh(now, indent)
            return
        yield self.text[place.start]
        if news:
            yield self.container(olds, news, place, indent)
        yield self.text[place.end - 1]

    def parts(self, value: Value, place: _Place | None) -> list[tuple[str, Value]] | None:
        """Names and values of a container that is written as such, at the place if one is given; else None."""
        if not value.is_container:
            return None
        found = list(c.elements(value.data))
        if needs_fields(value.data, found) if value.type == c.OBJECT else needs_elements(found):
            return None
        parts = [(c.name_of(name), Value(kind, value.data[a:b])) for name, kind, a, b in found]
        if place is not None:
            names = [json.loads(self.text[a:b], strict=False) for a, b in place.names]
            if place.parts is None or len(place.parts) != len(parts) or names != [x for x, _ in parts][: len(names)]:
                return None
            if (value.type == c.OBJECT) != (self.text[place.start] == "{"):
                return None
        return parts

    def container(
        self, olds: list[tuple[str, Value]], news: list[tuple[str, Value]], place: _Place, indent: str | None
    ) -> _Output:
        """What stands between the brackets, where anything is left to stand there."""
        text, parts, names = self.text, place.parts or [], place.names
        starts = [a for a, _ in names] or [part.start for part in parts]
        gaps = [text[a:b] for a, b in zip([place.start + 1, *(part.end for part in parts)], starts, strict=False)]
        if parts:
            opening, closing = gaps[0], text[parts[-1].end : place.end - 1]
        elif indent is None or self.indent is None:
            opening = closing = ""
        else:
            closing = self.lines + indent
            opening = closing + self.indent
        usual = "," + (opening if "\n" in opening else self.blank)
        if len(gaps) > 1:
            usual = max(Counter(gaps[1:]).items(), key=itemgetter(1))[0]
        colon = text[names[0][1] : parts[0].start] if names else ":" + self.blank
        is_object = text[place.start] == "{"
        source = _fields(olds, news) if is_object else _elements(olds, news)
        for j, (name, now) in enumerate(news):
            i = source[j]
            gap = opening
            if j:
                before = source[j - 1]
                gap = gaps[i] if i is not None and before is not None and before == i - 1 else usual
            yield gap
            inside = gap.rpartition("\n")[2].replace(",", "") if "\n" in gap else None
            if i is None:
                if is_object:
                    yield self.fresh(Value(c.STRING, string_data(name)), None) + colon
                yield self.fresh(now, inside)
                continue
            if is_object:
                yield text[names[i][0] : parts[i].start]
            yield self.value(olds[i][1], now, parts[i], inside)
        yield closing


def _fields(olds: list[tuple[str, Value]], news: list[tuple[str, Value]]) -> list[int | None]:
    where = {name: i for i, (name, _) in enumerate(olds)}
    return [where.get(name) for name, _ in news]


def _elements(olds: list[tuple[str, Value]], news: list[tuple[str, Value]]) -> list[int | None]:
    """Which element each new one was: an equal one, else a container that begins alike, else the next that is left."""
    source: list[int | None] = [None] * len(news)
    head, least = 0, min(len(olds), len(news))
    while head < least and olds[head][1] == news[head][1]:
        source[head] = head
        head += 1
    left = {i: value for i, (_, value) in enumerate(olds[head:], head)}
    ways: list[Callable[[Value], Hashable]] = [lambda value: value, _beginning, lambda value: value.type]
    for alike in ways:
        waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        for i, value in left.items():
            waiting[alike(value)].append(i)
        for j, (_, value) in enumerate(news[head:], head):
            if source[j] is None and (found := waiting.get(alike(value))):
                source[j] = i = found.popleft()
                del left[i]
    return source


def _beginning(value: Value) -> Hashable:
    """The first part of a container with its name, by which it is probably known."""
    if not value.is_container:
        return value
    for name, kind, a, b in c.elements(value.data):
        return value.type, name, kind, value.data[a:b]
    return value.type
