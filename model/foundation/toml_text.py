"""Values as TOML on one line, and back."""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from model.foundation.hidden_characters import escaped_once

_BARE = re.compile(r"[A-Za-z0-9_-]+")


DEEPEST = 32
"""The most parts that a dotted key has; the parser takes memory for the square of them."""

_NO_KEYS = re.compile(
    r""""{3}(?:[^\\"]|\\.|"(?!"")|)*+(?:"{3,5}|\Z)?|'{3}.*?(?:'{3,5}|\Z)|"(?:[^"\\\n]|\\.|)*+"?|'[^'\n]*+'?|#[^\n]*+""",
    re.S,
)
# strings and comments; an unfinished one reaches to the end
_DEEP = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*\.[ \t]*){{{DEEPEST}}}")


def tables(text: str) -> dict[str, Any]:
    """The tables of a TOML file; raises ``ValueError`` with what is wrong, and ``RecursionError``."""
    bare = _NO_KEYS.sub(lambda found: "" if found[0].startswith("#") else "_", text)
    if _DEEP.search(bare) is not None:
        raise ValueError(f"a key has more than {DEEPEST} parts")
    return tomllib.loads(text)


def to_line(value: Any) -> str:
    """The TOML of a text, number, boolean, date, or an array or table of these, on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key_text(name)} = {to_line(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(to_line, value))}]"
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    return escaped_once(json.dumps(value, ensure_ascii=False))


def key_text(name: str) -> str:
    """A TOML key, quoted if necessary."""
    return name if _BARE.fullmatch(name) else to_line(name)


def from_line(text: str) -> Any:
    """Parse a value; raises ``ValueError`` that says what is wrong."""
    if "\n" in text:
        raise ValueError("must be on one line")
    try:
        return tables(f"value = {text}")["value"]
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"is not TOML: {str(error).partition(' (at')[0]}") from None
