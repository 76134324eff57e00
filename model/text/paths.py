"""Paths as people write them: ``premium.gross``, ``riders[2]``, ``prices."net.eur"``."""

from __future__ import annotations

import json
import re

from model.errors import Unreadable
from model.foundation.hidden_characters import escaped
from model.text import scalars
from model.values import canonical as c
from model.values.canonical import Path

_NEEDS_QUOTES = re.compile(r'^$|^\s|\s$|[.\[\]"]|^[0-9]+$')
_POSITION = re.compile(r"\[([0-9]{1,10})\]")
_NAME = re.compile(r'[^.\[\]"]+')
_raw_string = json.JSONDecoder().raw_decode


def name_text(name: str) -> str:
    """A field name as it is written in a path: in quotes if it could be read as something else."""
    return scalars.quoted(name) if _NEEDS_QUOTES.search(name) or escaped(name) != name else name


def path_text(path: Path) -> str:
    """A path for people; "" is the whole document. :func:`path_from_text` reads it back."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{name_text(step)}" if text else name_text(step)
    return text


def path_from_text(text: str) -> Path:
    """The path that a person wrote: ``a.b.0``, ``a[0]``, ``a."b.c"``. Plain digits are positions in an array.

    Raises ``Unreadable`` with the column. For digits that are a field's name, see :func:`fitted`.
    """
    path: list[str | int] = []
    at, expect_name = 0, True
    while at < len(text):
        position = _POSITION.match(text, at)
        if position is not None and (path or expect_name):
            if expect_name and path:
                raise _wrong(text, at, "a name is missing between . and [")
            path.append(int(position.group(1)))
            at, expect_name = position.end(), False
            continue
        if not expect_name:
            if text[at] != ".":
                raise _wrong(text, at, "expected . or [")
            at, expect_name = at + 1, True
            continue
        if text[at] == '"':
            try:
                name, at = _raw_string(text, at)
            except json.JSONDecodeError:
                raise _wrong(text, at, 'the quoted name does not end; close it with "') from None
            path.append(name)
        else:
            found = _NAME.match(text, at)
            if found is None:
                raise _wrong(text, at, 'a name is missing; an empty one is written ""')
            word = found.group()
            path.append(int(word) if re.fullmatch("0|[1-9][0-9]{0,9}", word) else word)
            at = found.end()
        expect_name = False
    if expect_name:
        raise _wrong(text, at, 'a name is missing; an empty one is written ""')
    for step in path:
        if isinstance(step, str):
            c.name_bytes(step)
    return tuple(path)


def _wrong(text: str, at: int, what: str) -> Unreadable:
    return Unreadable(f"The path {text!r} is unclear at column {at + 1}: {what}.")


def fitted(raw: bytes, path: Path) -> Path:
    """The path, with plain digits read as field names wherever the document has no array."""
    steps: list[str | int] = []
    for step in path:
        parent = c.get(raw, tuple(steps))
        is_array = parent is not None and parent.type == c.ARRAY
        steps.append(str(step) if isinstance(step, int) and parent is not None and not is_array else step)
    return tuple(steps)
