"""A document's text rewritten for its new content: unchanged values keep their text.

Blanks, line breaks, the notation of numbers and dates, and arrays on one line stay as they are around unchanged
values. A changed or new value is written anew, in the layout of its neighbours. Nesting may be of any depth, because
nothing recurses.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator
from operator import itemgetter
from typing import TypeAlias

from model.text.json_writer import Style, needs_elements, needs_fields
from model.text.scalars import QUOTED, string_data
from model.values import canonical as c
from model.values.canonical import Value

TOKEN = re.compile(QUOTED + r'|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)

Fresh: TypeAlias = Callable[[Value, str | None], str]
"""Writes a value anew, its lines indented by the given text; None means on one line."""
_Output: TypeAlias = "Iterator[str | _Output]"
_Part: TypeAlias = tuple[bytes, int, int, int]
"""Name, type, and start and end of the payload in the document's bytes, which are never copied."""


class _Places:
    """The places of the values in a text, numbered in order of their beginning, the outermost first.

    The numbers are in arrays, because the garbage collector would go through millions of objects again and again.
    """

    def __init__(self, text: str) -> None:
        self.begins = array("q")  # the start of each value's name, or of the value if it has none
        self.names = array("q")  # the end of that name
        self.starts, self.ends = array("q"), array("q")
        self.after = array("q")  # the number of the next value that is not inside this one
        named: tuple[int, int] | None = None
        opened: list[int] = []
        for found in TOKEN.finditer(text):
            start, end = found.span()
            first = text[start]
            if first in "}]":
                number = opened.pop()
                self.ends[number], self.after[number] = end, len(self.starts)
            elif first == ":":  # the string before it was a name, not a value
                named = self.starts.pop(), self.ends.pop()
                for numbers in (self.begins, self.names, self.after):
                    numbers.pop()
            elif first != ",":
                begin, name = named or (start, start)
                named = None
                if first in "{[":
                    opened.append(len(self.starts))
                self.begins.append(begin)
                self.names.append(name)
                self.starts.append(start)
                self.ends.append(end)
                self.after.append(len(self.starts))

    def inside(self, number: int) -> list[int]:
        """The numbers of a container's direct parts."""
        found, at = [], number + 1
        while at < self.after[number]:
            found.append(at)
            at = self.after[at]
        return found


def rewritten(text: str, was: bytes, now: bytes, style: Style, fresh: Fresh) -> str:
    """The text of a changed document; ``text`` is Extended JSON for ``was``, in about this style."""
    whole = _Rewriter(text, was, now, style, fresh)
    before, after = (b"", c.OBJECT, 0, len(was)), (b"", c.OBJECT, 0, len(now))
    out: list[str] = []
    stack: list[_Output] = [whole.value(before, after, 0, None if style.indent is None else "")]
    while stack:
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
        elif isinstance(part, str):
            out.append(part)
        else:
            stack.append(part)
    return text[: whole.places.starts[0]] + "".join(out) + text[whole.places.ends[0] :]


class _Rewriter:
    def __init__(self, text: str, was: bytes, now: bytes, style: Style, fresh: Fresh) -> None:
        self.text, self.was, self.now, self.fresh, self.indent = text, was, now, fresh, style.indent
        self.places = _Places(text)
        self.blank = "" if style.compact else " "
        self.lines = "\r\n" if "\r\n" in text else "\n"

    def value(self, was: _Part, now: _Part, number: int, indent: str | None) -> _Output:
        """The new text of the value at place ``number``; ``indent`` as in :data:`Fresh`."""
        start, end = self.places.starts[number], self.places.ends[number]
        if _key(self.was, was) == _key(self.now, now):
            yield self.text[start:end]
            return
        olds = news = None
        if was[1] == now[1]:
            olds, news = _parts(self.was, was), _parts(self.now, now)
        if olds is None or news is None or not self.is_plain(olds, was[1], number):
            yield self.fresh(Value(now[1], self.now[now[2] : now[3]]), indent)
            return
        yield self.text[start]
        if news:
            yield self.container(olds, news, number, indent)
        yield self.text[end - 1]

    def is_plain(self, parts: list[_Part], kind: int, number: int) -> bool:
        """Whether the text at a place has just these parts, and is not a typed value that stands for them."""
        text, places = self.text, self.places
        if kind == c.ARRAY:
            return text[places.starts[number]] == "["
        names = [json.loads(text[places.begins[at] : places.names[at]], strict=False) for at in places.inside(number)]
        return names == [c.name_of(part[0]) for part in parts]

    def container(self, olds: list[_Part], news: list[_Part], number: int, indent: str | None) -> _Output:
        """The text between the brackets of a container that is not empty now."""
        text, places = self.text, self.places
        inside = places.inside(number)
        befores = [places.starts[number] + 1, *(places.ends[at] for at in inside)]
        gaps = [text[a : places.begins[at]] for a, at in zip(befores, inside, strict=False)]
        if inside:
            opening, closing = gaps[0], text[befores[-1] : places.ends[number] - 1]
        elif indent is None or self.indent is None:
            opening = closing = ""
        else:
            closing = self.lines + indent
            opening = closing + self.indent
        usual = "," + (opening if "\n" in opening else self.blank)
        if len(gaps) > 1:
            usual = max(Counter(gaps[1:]).items(), key=itemgetter(1))[0]
        is_object = text[places.starts[number]] == "{"
        colon = text[places.names[inside[0]] : places.starts[inside[0]]] if inside else ":" + self.blank
        source = _fields(olds, news) if is_object else _elements(self.was, olds, self.now, news)
        for j, (now, i) in enumerate(zip(news, source, strict=True)):
            gap = opening
            if j:
                gap = gaps[i] if i else usual
            yield gap
            deeper = gap.rpartition("\n")[2].replace(",", "") if "\n" in gap else None
            if i is None:
                if is_object:
                    yield self.fresh(Value(c.STRING, string_data(c.name_of(now[0]))), None) + colon
                yield self.fresh(Value(now[1], self.now[now[2] : now[3]]), deeper)
                continue
            yield text[places.begins[inside[i]] : places.starts[inside[i]]]
            yield self.value(olds[i], now, inside[i], deeper)
        yield closing


def _parts(raw: bytes, part: _Part) -> list[_Part] | None:
    """The parts of a container; None for other values, and for containers that need an escape form."""
    if part[1] not in (c.OBJECT, c.ARRAY):
        return None
    found = list(c.elements(raw, part[2]))
    needs = needs_fields(raw, found) if part[1] == c.OBJECT else needs_elements(found)
    return None if needs else found


def _key(raw: bytes, part: _Part) -> tuple[int, bytes]:
    return part[1], raw[part[2] : part[3]]


def _fields(olds: list[_Part], news: list[_Part]) -> list[int | None]:
    where = {part[0]: i for i, part in enumerate(olds)}
    return [where.get(part[0]) for part in news]


def _elements(was: bytes, olds: list[_Part], now: bytes, news: list[_Part]) -> list[int | None]:
    """The old element that each new one takes over: an equal one, else a container that begins alike, else the next
    of its type; None if none is left.
    """
    source: list[int | None] = [None] * len(news)
    head, least = 0, min(len(olds), len(news))
    while head < least and _key(was, olds[head]) == _key(now, news[head]):
        source[head] = head
        head += 1
    tail = 0
    while tail < least - head and _key(was, olds[-1 - tail]) == _key(now, news[-1 - tail]):
        source[-1 - tail] = len(olds) - 1 - tail
        tail += 1
    left = dict(enumerate(olds[head : len(olds) - tail], head))
    ways: list[Callable[[bytes, _Part], Hashable]] = [_key, _beginning, lambda _, part: part[1]]
    for alike in ways:
        waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        for i, part in left.items():
            waiting[alike(was, part)].append(i)
        for j in range(head, len(news) - tail):
            if source[j] is None and (found := waiting.get(alike(now, news[j]))):
                source[j] = i = found.popleft()
                del left[i]
    return source


def _beginning(raw: bytes, part: _Part) -> Hashable:
    """The first part of a container with its name, which probably identifies it."""
    if part[1] not in (c.OBJECT, c.ARRAY):
        return _key(raw, part)
    for first in c.elements(raw, part[2]):
        return part[1], first[0], _key(raw, first)
    return part[1]
