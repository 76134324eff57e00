"""Facts about stored versions, for a scan: a few dozen bytes each, enough to find damage."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from bson import ObjectId

from model.collection_profile import CollectionProfile
from model.errors import Unreadable
from model.layouts.checks.bson_damage import damage_of
from model.layouts.content_hashes import Sealed, hash_trouble
from model.layouts.outlines import is_flagged
from model.layouts.reserved_fields import WHOLE_NUMBERS, Own, legible, number_of
from model.values import canonical as c
from model.values.canonical import Value


class Fact(NamedTuple):
    """A stored version without its content; a tuple, as a scan makes one of each."""

    id: Value
    physical: Value
    archived: bool  # a row of the archive
    v: Value | None
    digest: bytes  # of the content; equal where the contents are
    sealed: str = ""  # the damage of the stored hash, "" where it is right or none is stored
    carries_hash: bool = False
    flagged: bool = False
    at: int | None = None  # milliseconds, by the profile's `at`
    made: bytes = b""  # the ObjectId that tells when it was written: its own `_id`, else its token
    next: int | None = None  # the number that the version after it was to have; those before that one nobody used
    damaged: bool = False  # it does not decode, so that only the fields before the damage are known

    @property
    def number(self) -> int | None:
        """The number that the version counts as: "3" and 3.0 count as 3."""
        return number_of(self.v)

    @property
    def written(self) -> dt.datetime | None:
        """The time of writing, by its ObjectId; None where nothing tells it."""
        return ObjectId(self.made).generation_time if self.made else None

    def packed(self) -> tuple[Any, ...]:
        """The fact as plain values, to be put down on disk."""
        v = self.v
        return (
            self.id.type, self.id.data, self.physical.type, self.physical.data, self.archived,
            None if v is None else (v.type, v.data), self.digest, self.sealed, self.carries_hash, self.flagged, self.at,
            self.made, self.next, self.damaged,
        )  # fmt: skip

    @classmethod
    def unpacked(cls, row: tuple[Any, ...]) -> Fact:
        """The inverse of :meth:`packed`."""
        v = None if row[5] is None else Value(*row[5])
        return cls(Value(row[0], row[1]), Value(row[2], row[3]), row[4], v, *row[6:])


def right_type(v: Value | None, dated: bool) -> bool:
    """Whether a version has the type that versions of its collection have."""
    return v is not None and (v.type == c.DATE if dated else v.type in WHOLE_NUMBERS)


def place(v: Value | None, dated: bool) -> int | None:
    """The place of a version among the others: its number, or a date's milliseconds in a collection of dates."""
    if dated:
        return int.from_bytes(v.data, "little", signed=True) if v is not None and v.type == c.DATE else None
    return number_of(v)


def are_whole(facts: Iterable[Fact]) -> bool:
    """Whether versions are numbered 1, 2, 3 … in the order given, their times too, with no hash that is wrong.

    Nothing that is counted from 1 has any damage then but in what a layout has besides; most histories are so.
    """
    expected, latest = 0, -(1 << 63)
    for fact in facts:
        expected, v, at = expected + 1, fact.v, fact.at
        if v is None or v.type not in WHOLE_NUMBERS or fact.sealed:
            return False
        if int.from_bytes(v.data, "little", signed=True) != expected:
            return False
        if at is not None:
            if at < latest:
                return False
            latest = at
    return True


@dataclass(frozen=True)
class FactReader:
    """Makes facts of the stored documents of one collection."""

    own: Own
    profile: CollectionProfile
    id: str  # the name of the document's id in here
    archived: bool = False
    flag: str = ""
    claim: str = ""  # the field in which a version is marked with the number of the next one
    beside: str = ""  # a field that counts as content although the layout keeps it: removed paths

    def id_of(self, raw: bytes) -> Value | None:
        """The document's id, as far as it can be read."""
        try:
            return c.get(raw, (self.id,))
        except Unreadable:
            return None

    def read(self, raw: bytes) -> tuple[str, Value | None, Fact | None]:
        """What damages a document, its id and its fact, in one walk where all is well; None for what cannot be read."""
        damage = "" if c.walker is not None and c.walker.survives(raw) else damage_of(raw)
        try:
            kept, content = c.parted(raw, self.own.kept)
        except Unreadable:
            id = self.id_of(raw)
            return damage, id, None if id is None else self._damaged(id, raw)
        id = kept.get(self.id) if self.id == self.own.id else self.id_of(raw)
        return damage, id, None if id is None else self._made(id, kept, content)

    def fact(self, id: Value, raw: bytes) -> Fact:
        """The fact of a document."""
        try:
            kept, content = c.parted(raw, self.own.kept)
        except Unreadable:
            return self._damaged(id, raw)
        return self._made(id, kept, content)

    def _damaged(self, id: Value, raw: bytes) -> Fact:
        found = legible(raw)
        whole = blake2b(raw, digest_size=16).digest()
        v = found.get(self.own.version) if self.own.version else None
        return Fact(id, found.get("_id", id), self.archived, v, whole, damaged=True)

    def _made(self, id: Value, kept: Mapping[str, Value], content: bytes) -> Fact:
        own, field = self.own, kept.get  # "" names no field
        physical = field("_id", id)
        sealed, stored, at = "", field(own.hash), field(own.at)
        if stored is not None and self.profile.hash:
            sealed = hash_trouble(Sealed(content, stored, physical), self.profile)
        made = physical if physical.type == c.OBJECT_ID else field(own.token)
        digest = blake2b(content, digest_size=16)
        if self.beside and (beside := field(self.beside)) is not None:
            digest.update(beside.data)
        fact = (
            id,
            physical,
            self.archived,
            field(own.version),
            digest.digest(),
            sealed,
            stored is not None,
            is_flagged(field(self.flag)) if self.flag else False,
            int.from_bytes(at.data, "little", signed=True) if at is not None and at.type == c.DATE else None,
            made.data if made is not None and made.type == c.OBJECT_ID else b"",
            number_of(field(self.claim)) if self.claim else None,
            False,
        )
        return tuple.__new__(Fact, fact)  # its own constructor takes twice as long, and there is one for each version
