"""Completions for a filter, an order or a list of fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from gui.language import tr

if TYPE_CHECKING:
    from model.session.query_help import FieldUse

MOST = 60
OPERATORS = {
    "$eq": tr("equal"), "$ne": tr("not equal"), "$gt": tr("greater"), "$gte": tr("greater or equal"), "$lt": tr("less"),
    "$lte": tr("less or equal"), "$in": tr("one of"), "$nin": tr("none of"), "$exists": tr("there or not"),
        "$type": tr("of a type"),
    "$regex": tr("matches a pattern"), "$not": tr("the opposite"), "$elemMatch": tr("an element with all of"),
        "$size": tr("elements"),
    "$all": tr("holds all of"), "$mod": tr("remainder"),
}  # fmt: skip
LOGICAL = {"$and": tr("all of"), "$or": tr("any of"), "$nor": tr("none of"), "$expr": tr("an expression")}
PLAIN = ("true", "false", "null")
_WORD = re.compile(r"[\w$.\-]*$")
_BARE = re.compile(r"[A-Za-z_$][\w$]*")


class Completion(Struct, frozen=True):
    """A possible word, a remark about it, and the text that is inserted for it."""

    word: str
    remark: str
    text: str


class Offer(Struct, frozen=True):
    """The words for one place: they replace the text from ``start`` to ``end``."""

    start: int
    end: int
    choices: tuple[Completion, ...]


class _Open(Struct):
    """An open bracket: the field before it, the name read last in it, and whether a value is expected."""

    bracket: str
    under: str
    name: str = ""
    value: bool = False
    prefix: str = field(default="")  # the path of the fields around it, with a dot at the end


def in_filter(typed: str, at: int, fields: Sequence[FieldUse], asked: bool = False) -> Offer | None:
    """The words for position ``at`` of a filter; None if there are none, or nothing is typed yet and not ``asked``.

    The first field may be typed without its bracket, which is inserted with it.
    """
    stack, quote, start = _place(typed[:at])
    word = typed[start:at]
    if not stack:
        return _first_field(typed, at, start, fields, asked)
    here = stack[-1]
    if not word and not quote and not asked:
        return None
    if here.bracket == "{" and not here.value:
        found = _named(_keys(here, fields), word)
        return _offer(typed, at, start, quote, found, word, colon=True)
    if quote or here.bracket == "(":
        return None
    path = here.under if here.name.startswith("$") or here.bracket == "[" else f"{here.prefix}{here.name}"
    kinds = next((use.types for use in fields if use.path == path), ())
    from model.values.kinds import BY_NAME  # imported here: the window has to open before the values are loaded

    offered = [(BY_NAME[kind].offered, kind) for kind, _ in kinds if kind in BY_NAME]
    literals = [(call, tr("{kind} as {path} has", kind=kind, path=path)) for call, kind in offered if call]
    words = [*literals, *((plain, "") for plain in PLAIN)]
    return _offer(typed, at, start, "", _named(words, word), word, colon=False)


def _first_field(typed: str, at: int, start: int, fields: Sequence[FieldUse], asked: bool) -> Offer | None:
    """The words for a filter without a bracket: fields that begin so, as the text may be an id."""
    word = typed[start:at]
    if typed.strip() != word or not (word or asked):
        return None
    begun = _named([(use.path, use.kinds) for use in fields if use.path.lower().startswith(word.lower())], word)
    choices = [
        Completion(name, remark, f"{{ {name}: " if _BARE.fullmatch(name) else f'{{ "{name}": ')
        for name, remark in begun
    ]
    return Offer(start, at, tuple(choices)) if choices else None


def in_order(typed: str, at: int, fields: Sequence[FieldUse], asked: bool = False) -> Offer | None:
    """The words for a position of an order: fields, and after a field the two directions."""
    if typed.lstrip().startswith("{"):
        return in_filter(typed, at, fields, asked)
    part = re.split(r"[,]", typed[:at])[-1]
    if (behind := re.fullmatch(r"\s*\S+\s+(\w*)", part)) is not None:
        ways = [("ascending", ""), ("descending", "")]
        return _offer(typed, at, at - len(behind[1]), "", _named(ways, behind[1]), behind[1], colon=False)
    return in_fields(typed, at, fields, asked)


def in_fields(typed: str, at: int, fields: Sequence[FieldUse], asked: bool = False) -> Offer | None:
    """The words for a position in a list of fields separated by commas."""
    if typed.lstrip().startswith("{"):
        return in_filter(typed, at, fields, asked)
    before = typed[:at]
    start = at - len(_WORD.findall(before)[0])
    start += before[start:].startswith("-")  # descending
    word = typed[start:at]
    if not word and not asked:
        return None
    named = _named([(use.path, use.kinds) for use in fields], word)
    return _whole(typed, at, start, word, [Completion(name, remark, name) for name, remark in named])


def _place(typed: str) -> tuple[list[_Open], str, int]:
    """The brackets and the quote that are open at the end of a text, and where the last word begins."""
    stack: list[_Open] = []
    quote, start, at = "", 0, 0
    while at < len(typed):
        sign = typed[at]
        if quote:
            if sign == "\\":
                at += 1
            elif sign == quote:
                _read(stack, typed[start:at])
                quote = ""
        elif sign in "\"'":
            quote, start = sign, at + 1
        elif sign in "{[(":
            stack.append(_opened(sign, stack))
        elif sign in "}])":
            if stack:
                stack.pop()
        elif sign == ":" and stack:
            stack[-1].value = True
        elif sign == "," and stack:
            stack[-1].value = False
        elif re.match(r"[\w$.\-]", sign):
            end = at
            while end < len(typed) and re.match(r"[\w$.\-]", typed[end]):
                end += 1
            if end < len(typed):
                _read(stack, typed[at:end])
            start, at = at, end - 1
        at += 1
    if not quote:
        word = _WORD.search(typed)
        start = word.start() if word is not None else len(typed)
    return stack, quote, start


def _read(stack: list[_Open], word: str) -> None:
    if stack and not stack[-1].value:
        stack[-1].name = word


def _opened(bracket: str, stack: list[_Open]) -> _Open:
    if not stack:
        return _Open(bracket, "")
    above = stack[-1]
    if above.bracket == "{" and above.name == "$elemMatch":
        return _Open(bracket, "", prefix=f"{above.under}.")
    if above.bracket == "{" and above.name and not above.name.startswith("$"):
        return _Open(bracket, f"{above.prefix}{above.name}", prefix=above.prefix)
    return _Open(bracket, "" if above.name in LOGICAL else above.under, prefix=above.prefix)


def _keys(here: _Open, fields: Sequence[FieldUse]) -> list[tuple[str, str]]:
    """The names that a bracket can hold, with remarks."""
    if here.under:  # inside a field are conditions on it
        return list(OPERATORS.items())
    inside = [(use.path.removeprefix(here.prefix), use.kinds) for use in fields if use.path.startswith(here.prefix)]
    return [*inside, *LOGICAL.items()]


def _named(words: Sequence[tuple[str, str]], word: str) -> list[tuple[str, str]]:
    """The words that begin with the typed text, then those that contain it."""
    needle = word.lower()
    first = [each for each in words if each[0].lower().startswith(needle)]
    then = [each for each in words if needle in each[0].lower() and each not in first]
    if not needle.startswith("$"):
        then += [each for each in first if each[0].startswith("$")]
        first = [each for each in first if not each[0].startswith("$")]
    return [*first, *then][:MOST]


def _offer(
    typed: str, at: int, start: int, quote: str, found: Sequence[tuple[str, str]], word: str, colon: bool
) -> Offer | None:
    return _whole(typed, at, start, word, list(_completions(typed, at, quote, found, colon)))


def _completions(
    typed: str, at: int, quote: str, found: Sequence[tuple[str, str]], colon: bool
) -> Iterator[Completion]:
    rest = typed[at:]
    for name, remark in found:
        text = name
        if quote:
            text += "" if rest.startswith(quote) else quote
        elif colon and not _BARE.fullmatch(name):
            text = f'"{name}"'
        if colon and not rest.removeprefix(quote).lstrip().startswith(":") and not (quote and rest.startswith(quote)):
            text += ": "
        yield Completion(name, remark, text)


def _whole(typed: str, at: int, start: int, word: str, choices: list[Completion]) -> Offer | None:
    if not choices or [each.word for each in choices] == [word]:
        return None
    return Offer(start, at, tuple(choices))
