"""Escapes invisible characters, and characters that a terminal or a line of text would act on.

These are control characters (C0, C1 and delete), changes of writing direction, characters without width, line
separators, lone surrogates, and code points that Unicode does not assign. A joiner stays between letters or pictures
that it joins.
"""

from __future__ import annotations

import re
from functools import cache

_ACTING = (
    r"\x00-\x1f\x7f-\x9f"  # C0, delete and C1: a terminal takes them for commands
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Joiners belong to Arabic, Indian and Mongolian writing, and to emoji composed of several.
_JOINED = r"\u0600-\u109f\u1780-\u18af\u200d\u2190-\u2bff\u3030\ufe0f\U0001f000-\U0001faff"
_FIRST = "\u034f"
"""All printable characters below this one are visible."""
_MARKS = str.maketrans({"\n": "↵", "\t": "⇥"})


@cache
def _hidden() -> re.Pattern[str]:
    """Made on first use: the texts of a start never need it."""
    return re.compile(rf"[{_ACTING}]|(?<![{_JOINED}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}])")


def escaped(text: str) -> str:
    r"""The text with each such character as its JSON escape: ``\\u202e``, two of them beyond ``\\uffff``."""
    if text.isprintable() and (text.isascii() or max(text) < _FIRST):
        return text
    return _hidden().sub(_code, text)


def visible(text: str) -> str:
    """Text of several lines for people: escaped except for line breaks and tabs."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join("\t".join(map(escaped, line.split("\t"))) for line in text.split("\n"))


def plain(text: str) -> str:
    """Text on one line: line breaks as ↵, tabs as ⇥, other hidden characters escaped."""
    return escaped(text) if text.isprintable() else escaped(text.translate(_MARKS))


def escaped_once(text: str) -> str:
    r"""Escape as :func:`escaped` does, in the form of Python and TOML: one longer code beyond ``\\uffff``."""
    return _hidden().sub(
        lambda found: _code(found) if found.group() < "\U00010000" else f"\\U{ord(found.group()):08x}", text
    )


def _long_code(found: re.Match[str]) -> str:
    return _code(found) if found.group() < "\U00010000" else f"\\U{ord(found.group()):08x}"


def _code(found: re.Match[str]) -> str:
    at = ord(found.group())
    if at < 0x10000:
        return f"\\u{at:04x}"
    return f"\\u{0xD7C0 + (at >> 10):04x}\\u{0xDC00 + (at & 0x3FF):04x}"
