"""Makes rows as another program writes them, from the template in its preset or a team's profile.

A template is a table of fields. A text that starts with a dollar stands for a value of the edit, by :data:`WORDS` and
:data:`PATHS`; everything else is written literally. A field without a value is omitted; of a list the first existing
value is used. The key ``*`` inserts the fields of its value.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from model.errors import Refused
from model.storage.reserved_fields import date, number_of, whole_number
from model.storage.row_paths import value_at
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value

SPREAD = "*"
WORDS = {
    "id": "the document's id",
    "token": "an ObjectId that no other row has",
    "now": "the time, later than that of any row that is there",
    "second": "the same in whole seconds",
    "author": "who makes the edit",
    "reason": "why, where a person says so",
    "content": "the state: without _id, and without what is ignored",
    "document": "the same with _id",
    "patch": "a JSON Patch from the state before to the new one",
    "tested": "a JSON Patch between the stored documents, with a test before all that it takes away; lock aside",
    "raised": "one more than it was, of a field around the rows",
    "none": "nothing: the program may store the field, and does without it",
    "hash": "the hash of the new document, and of the hash that it had, by hash_recipe",
}
PATHS = {
    "base": "a value of the stored document before the edit",
    "new": "a value of the stored document behind it",
    "last": "a value of the newest row that is there",
    "next": "one more than the highest number of the rows that are there",
}


class RowValues(Struct, frozen=True):
    """The values of one edit that a template may use."""

    id: Value
    stamp: Stamp
    at: dt.datetime
    base: bytes  # the stored document before the edit
    new: bytes = c.EMPTY  # the stored document after it
    state: bytes = c.EMPTY  # the content that the row records
    rows: Sequence[bytes] = ()  # existing rows, oldest first
    patch: Callable[[bool], Value] | None = None  # with tests or without

    def made(self, template: Mapping[str, Any]) -> bytes:
        """The document that a template produces."""
        return c.document(self._fields(template))

    def _fields(self, template: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
        for name, said in template.items():
            value = self.value(said)
            if value is None:
                continue
            if name == SPREAD:
                yield from c.fields(value.data)
            else:
                yield name, value

    def value(self, said: Any) -> Value | None:
        """The value of a template's field; None if there is none."""
        if isinstance(said, Mapping):
            return Value.document(self.made(said))
        if isinstance(said, list | tuple):
            return next((value for each in said if (value := self.value(each)) is not None), None)
        if not isinstance(said, str) or not said.startswith("$"):
            return Value.of(said)
        word, dot, path = said[1:].partition(".")
        if word in PATHS and dot:
            return self._at(word, path)
        return self._word(word)

    def _at(self, word: str, path: str) -> Value | None:
        if word == "last":
            return value_at(self.rows[-1], path) if self.rows else None
        if word != "next":
            return value_at(self.base if word == "base" else self.new, path)
        found = [number for raw in self.rows if (number := number_of(value_at(raw, path))) is not None]
        return whole_number(max(found, default=-1) + 1)

    def _word(self, word: str) -> Value | None:
        if word == "id":
            return self.id
        if word == "token":
            return Value.of(self.stamp.token)
        if word == "now":
            return date(self.at)
        if word == "second":
            return date(self.at.replace(microsecond=0))
        if word == "author":
            return Value.of(self.stamp.author) if self.stamp.author else None
        if word == "reason":
            return Value.of(self.stamp.reason) if self.stamp.reason else None
        if word == "content":
            return Value.document(self.state)
        if word == "document":
            return Value.document(c.document([("_id", self.id), *c.fields(self.state)]))
        if word == "none":
            return None
        if word in ("patch", "tested") and self.patch is not None:
            return self.patch(word == "tested")
        raise Refused(f"A row cannot be made with ${word} here; check the template in the profile.")


def read_template(value: Any) -> dict[str, Any]:
    """A template from TOML; raises ``ValueError`` that says what is wrong with it."""
    if not isinstance(value, dict) or not value:
        raise ValueError('must be a table of fields, as in { t = "$now", d = "$document" }')
    for said in _texts(value):
        word, dot, path = said[1:].partition(".")
        if not (word in PATHS and path) and (word not in WORDS or dot):
            known = ", ".join((*(f"${each}" for each in WORDS), *(f"${each}.<path>" for each in PATHS)))
            raise ValueError(f"knows no {said}; it may hold {known}")
    return dict(value)


def _texts(said: Any) -> Iterator[str]:
    """All texts of a template that stand for values."""
    if isinstance(said, Mapping):
        for each in said.values():
            yield from _texts(each)
    elif isinstance(said, list | tuple):
        for each in said:
            yield from _texts(each)
    elif isinstance(said, str) and said.startswith("$"):
        yield said
