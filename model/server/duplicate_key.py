"""The duplicate key for which a unique index rejected a write, as servers report it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from model import text
from model.errors import Unreadable
from model.values.canonical import Value

_SAID = re.compile(r"index: (?P<index>.*?) dup key: \{ (?P<keys>.*) \}", re.DOTALL)
_NAMED = re.compile(r"\bindex(?: '(?P<quoted>.+)'|: (?P<bare>\S+))", re.IGNORECASE | re.DOTALL)
"""How servers other than MongoDB name the index: DocumentDB within quotes, others without the key."""
_OF_IDS = "_id_"  # on every server
_LONGEST = 80


class DuplicateKey(Struct, frozen=True):
    """A unique index, its fields, and another document's values in them; empty where a server omits them."""

    index: str = ""  # its name
    fields: tuple[str, ...] = ()  # paths
    values: tuple[str, ...] = ()  # one per field, as people read them

    @classmethod
    def told(cls, details: Mapping[str, Any]) -> DuplicateKey:
        """The key in an error reply; MongoDB before 4.2, and other servers, name it only in the message."""
        message = str(details.get("errmsg") or "")
        found = _SAID.search(message)
        # Before MongoDB 4.2 the name follows the collection: `db.things.$by_email`.
        index = found["index"].rpartition("$")[2] if found else ""
        if not found and (named := _NAMED.search(message)) is not None:
            index = named["quoted"] or named["bare"].rstrip(".,")
        pattern, there = details.get("keyPattern"), details.get("keyValue")
        if isinstance(pattern, Mapping) and pattern:
            fields = tuple(map(str, pattern))
            values = tuple(_shown(there.get(name)) for name in fields) if isinstance(there, Mapping) else ()
            return cls(index, fields, values)
        pairs = [_named(part) for part in _parts(found["keys"])] if found else []
        fields = tuple(name for name, _ in pairs) if all(name for name, _ in pairs) else ()
        return cls(index, fields, tuple(value for _, value in pairs))

    def among(self, indexes: Sequence[Mapping[str, Any]]) -> DuplicateKey:
        """This key, with its fields looked up in the indexes if the server reported only the index's name."""
        listed = {each.get("name"): tuple(each["key"]) for each in indexes if isinstance(each.get("key"), Mapping)}
        keys = (listed | {_OF_IDS: ("_id",)}).get(self.index, ())
        return replace(self, fields=keys) if keys and not self.fields else self

    @property
    def sentence(self) -> str:
        """The sentence for people."""
        if not self.fields:
            name = f" ({self.index})" if self.index else ""
            return f"A unique index{name} holds this value already; choose another one."
        return f"The unique index {self.index or 'on these fields'} holds {self.key} already; choose another value."

    @property
    def key(self) -> str:
        """The fields with their values, as in ``email "a@b.c" and tenant 7``."""
        values = self.values if len(self.values) == len(self.fields) else ("",) * len(self.fields)
        return " and ".join(f"{name} {value}".strip() for name, value in zip(self.fields, values, strict=True))


def shown(value: Value | None) -> str:
    """A value of a key for a sentence; a missing field counts as null."""
    return text.shown(Value.of(None) if value is None else value, limit=_LONGEST)


def _shown(value: object) -> str:
    try:
        return shown(value if isinstance(value, Value) else Value.of(value))
    except (Unreadable, TypeError, ValueError, OverflowError):
        return str(value)[:_LONGEST]


def _parts(keys: str) -> list[str]:
    """The parts of ``a: 1, b: { c: "x, y" }``, split at top-level commas."""
    parts, depth, quoted, begun = [], 0, False, 0
    for at, sign in enumerate(keys):
        if sign == '"' and (at == 0 or keys[at - 1] != "\\"):
            quoted = not quoted
        elif quoted:
            continue
        elif sign in "{[(":
            depth += 1
        elif sign in "}])":
            depth -= 1
        elif sign == "," and not depth:
            parts.append(keys[begun:at])
            begun = at + 1
    return [*parts, keys[begun:]]


def _named(part: str) -> tuple[str, str]:
    name, _, value = part.partition(":")
    return name.strip(), value.strip()[:_LONGEST]
