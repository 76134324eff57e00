"""What people type for a version, a filter, an order or a choice of fields."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bson import Binary

from model import text
from model.errors import Unreadable
from model.values import canonical
from model.values.canonical import Value

_SORT_WORDS = {"ascending": 1, "asc": 1, "descending": -1, "desc": -1}
SHORTEST_HASH = 32  # digits of an MD5, the shortest hash


def versions_meant(written: str) -> Iterator[Value]:
    """The values that a typed version may mean: a number, a hash or other string, Extended JSON."""
    # As versions are shown: a `v` before the number.
    bare = written[1:] if written[:1] in "vV" and written[1:].isdigit() else written
    try:
        number = int(bare)
    except ValueError:
        pass
    else:
        if -(2**63) <= number < 2**63:
            yield Value.of(number)
    with contextlib.suppress(Unreadable):
        yield text.value_from_text(written)
    yield Value.of(written)
    if re.fullmatch(f"[0-9a-fA-F]{{{SHORTEST_HASH},}}", written):
        for subtype in (0, 5):  # the digits of a hash stored as Binary
            yield Value.of(Binary(bytes.fromhex(written), subtype))


def filter_terms(written: str) -> Mapping[str, Any] | None:
    """A filter as typed; None if empty. Raises ``Unreadable`` with the position."""
    return dict(canonical.fields(text.loose(written))) or None


def sort_terms(written: str) -> Mapping[str, Any] | None:
    """An order as typed: ``{at: -1}``, ``at descending`` or ``status, -at``."""
    written = written.strip()
    if not written.startswith("{"):
        return _words(written, -1) or None
    terms: dict[str, int] = {}
    for name, value in canonical.fields(text.loose(written)):
        direction = value.python()
        # In Python `True == 1`, but servers refuse true as an order.
        if isinstance(direction, bool) or direction not in (1, -1):
            raise Unreadable(f"The order of {name} is 1, ascending, or -1, descending; {text.shown(value)} is neither.")
        terms[name] = int(direction)
    return terms or None


def field_terms(written: str) -> Mapping[str, Any] | None:
    """The fields to list, as typed: ``{status: 1}``, ``status, premium.net`` or ``-notes``."""
    written = written.strip()
    if not written.startswith("{"):
        return _words(written, 0) or None
    return dict(canonical.fields(text.loose(written))) or None


def _words(written: str, minus: int) -> dict[str, int]:
    terms: dict[str, int] = {}
    for part in filter(None, (p.strip() for p in written.split(","))):
        name, _, word = part.partition(" ")
        value = _SORT_WORDS.get(word.strip().lower(), 0) if word else 1
        if word and not value:
            raise Unreadable(f"{part} is not a field; write field names with commas between them.")
        terms[name.removeprefix("-")] = minus if name.startswith("-") else value
    return terms
