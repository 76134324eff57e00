"""Facts about stored versions, for a scan: a few dozen bytes each, enough to find damage."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

from bson import ObjectId
from msgspec import Struct

from model.checks.bson_damage import damage_of
from model.errors import Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.storage.content_hashes import Sealed, hash_trouble
from model.storage.field_reader import NUMBER_AT, FieldReader
from model.storage.outlines import is_flagged
from model.storage.reserved_fields import WHOLE_NUMBERS, Own, legible, number_of
from model.values import canonical as c
from model.values.canonical import Value


class Fact(NamedTuple):
    """A stored version without its content. It is a tuple, because a scan makes one for each version."""

    id: Value
    physical: Value
    archived: bool  # a row of the archive
    v: Value | None
    digest: bytes  # of the content; equal for equal contents
    sealed: str = ""  # what is wrong with the stored hash; "" if it is right or missing
    carries_hash: bool = False
    flagged: bool = False
    at: int | None = None  # milliseconds, by the profile's `at`
    made: bytes = b""  # the ObjectId that tells when it was written: its own `_id`, else its token
    next: int | None = None  # the number announced for the next version; numbers before that were never used
    damaged: bool = False  # it cannot be decoded, so only the fields before the damage are known

    @property
    def whole(self) -> Fact:
        """The fact itself."""
        return self

    @property
    def counted(self) -> int | None:
        """The version's number, if it has the right type; else None."""
        v = self.v
        return None if v is None or v.type not in WHOLE_NUMBERS else int.from_bytes(v.data, "little", signed=True)

    @property
    def number(self) -> int | None:
        """The number that the version counts as: "3" and 3.0 count as 3."""
        return number_of(self.v)

    @property
    def written(self) -> dt.datetime | None:
        """The time of writing in its ObjectId; None if there is none."""
        return ObjectId(self.made).generation_time if self.made else None

    def packed(self) -> tuple[Any, ...]:
        """The fact as plain values, for the disk."""
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


_Glance: TypeAlias = tuple[int | None, bytes | None, int | None, int | None]
"""A document's id as type and payload, its version if that is a whole number, and its time if that is a date."""


class _Seen(NamedTuple):
    id: Value
    counted: int | None  # the version's number, if it has the right type
    at: int | None
    archived: bool
    raw: bytes
    reader: FactReader


class LazyFact(_Seen):
    """A fact of a sound document without a hash; of the document only what a complete history needs is read."""

    __slots__ = ()
    sealed, damaged, carries_hash = "", False, False

    @classmethod
    def made(cls, id: Value, seen: _Glance, raw: bytes, reader: FactReader) -> LazyFact:
        """A new fact; avoids the constructor, which takes twice as long and is called for each version."""
        return tuple.__new__(cls, (id, seen[2], seen[3], reader.archived, raw, reader))

    @property
    def flagged(self) -> bool:
        """Whether it has the layout's flag."""
        return is_flagged(c.get(self.raw, (self.reader.flag,))) if self.reader.flag else False

    @property
    def whole(self) -> Fact:
        """All of it, read anew each time."""
        return self.reader.fact(self.id, self.raw)


SomeFact: TypeAlias = Fact | LazyFact


def right_type(v: Value | None, dated: bool) -> bool:
    """Whether a version has the type of its collection's versions."""
    return v is not None and (v.type == c.DATE if dated else v.type in WHOLE_NUMBERS)


def place(v: Value | None, dated: bool) -> int | None:
    """A version's position among others: its number, or a date's milliseconds in a collection of dates."""
    if dated:
        return int.from_bytes(v.data, "little", signed=True) if v is not None and v.type == c.DATE else None
    return number_of(v)


def are_whole(facts: Iterable[SomeFact]) -> bool:
    """Whether versions are numbered 1, 2, 3 … in the given order, with rising times and no wrong hash.

    Such a history, and most are, can only have damage in features that its layout adds.
    """
    latest = -(1 << 63)
    for expected, fact in enumerate(facts, 1):
        if fact.counted != expected or fact.sealed:
            return False
        if (at := fact.at) is not None:
            if at < latest:
                return False
            latest = at
    return True


class _Latest:
    """The id read last: all versions of a document share one object."""

    id = Value(c.NULL, b"")

    def like(self, kind: int, data: bytes) -> Value:
        id = self.id
        if id.data != data or id.type != kind:
            id = self.id = Value(kind, data)
        return id


class FactReader(Struct, frozen=True, dict=True):
    """Makes facts of one collection's stored documents."""

    own: Own
    profile: CollectionProfile
    id: str  # the name of the id field in these documents
    archived: bool = False
    flag: str = ""
    claim: str = ""  # the field that marks a version with the number of the next one
    beside: str = ""  # a layout field that nevertheless counts as content: removed paths

    # --- at a glance

    @cached_property
    def _names(self) -> tuple[str, str, str, str]:
        return self.id, self.own.version, self.own.at, self.own.hash

    @cached_property
    def _fields(self) -> FieldReader:
        return FieldReader(*self._names[:3])

    @cached_property
    def _latest(self) -> _Latest:
        return _Latest()

    def _glance_again(self, raw: bytes) -> _Glance | None:
        """Checks a document again that the walker doubted; None if it may have a hash."""
        if self.own.hash and c.name_bytes(self.own.hash) + b"\x00" in raw:
            return None
        of, v, at = self._fields.spans(raw)
        number = None if v is None else NUMBER_AT.get(v[0])
        return (
            None if of is None else of[0],
            None if of is None else raw[of[1] : of[2]],
            None if v is None or number is None else number(raw, v[1])[0],
            None if at is None or at[0] != c.DATE else int.from_bytes(raw[at[1] : at[2]], "little", signed=True),
        )

    def at_a_glance(self, id: Value, raw: bytes) -> SomeFact:
        """The fact of an undamaged document or part; decoded later if possible."""
        seen: _Glance | None = None if c.walker is None else c.walker.glance(raw, self._names)
        if seen is None and (seen := self._glance_again(raw)) is None:
            return self.fact(id, raw)
        return LazyFact.made(id, seen, raw, self)

    @cached_property
    def taken_at_once(self) -> Callable[[bytes], tuple[Value, LazyFact] | None] | None:
        """Makes the id and the fact of a sound document by one walk; None in doubt, or for an array as id.

        None without the walker. It is called for each version of a scan, so it calls nothing that it need not.
        """
        if c.walker is None:
            return None
        glance, names, latest = c.walker.glance, self._names, self._latest
        archived, new = self.archived, tuple.__new__

        def taken(raw: bytes) -> tuple[Value, LazyFact] | None:
            if (seen := glance(raw, names)) is None:
                return None
            kind, data, counted, at = seen
            if kind is None or kind == c.ARRAY:
                return None
            id = latest.id
            if id.data != data or id.type != kind:
                id = latest.id = Value(kind, data)
            return id, new(LazyFact, (id, counted, at, archived, raw, self))

        return taken

    # --- read

    def id_of(self, raw: bytes) -> Value | None:
        """The document's id; None if it is missing or unreadable."""
        try:
            return c.get(raw, (self.id,))
        except Unreadable:
            return None

    def read(self, raw: bytes, lazily: bool = False) -> tuple[str, Value | None, SomeFact | None]:
        """The damage of a document, its id and its fact; None for what cannot be read. One walk if it is sound.

        ``lazily`` allows a sound document's fact to keep the document, and to be read later.
        """
        seen: _Glance | None = c.walker.glance(raw, self._names) if lazily and c.walker is not None else None
        damage = "" if seen is not None else damage_of(raw)
        if lazily and seen is None and not damage:
            seen = self._glance_again(raw)
        if seen is not None:
            if seen[0] is None or seen[1] is None:
                return damage, None, None
            named = self._latest.like(seen[0], seen[1])
            return damage, named, LazyFact.made(named, seen, raw, self)
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
        return tuple.__new__(Fact, fact)  # the constructor takes twice as long, and is called for each version
