"""Recognised layouts of a server's collections, kept for a day with what they were earned by.

A verdict belongs to a server, to the collection's UUID, to all collections listed beside it, to what the profile
states, and to the code that made it. Every document that is read by it is held against it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from model.catalogue import kept_recognition, verdict
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import CollectionInfo, Row, Version
from model.layouts.registry import declared, fields_of, versions_told
from model.recognition.field_names import is_version_name
from model.recognition.find_version_documents import near_miss
from model.recognition.key_candidates import is_id_name
from model.recognition.lock_fields import SAYS_LOCK
from model.recognition.sampling import Document, Sample, is_hash, read
from model.storage.lazy_version import LazyVersion
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
"""The BSON types with which each top-level field occurred."""
Collections: TypeAlias = Sequence[tuple[str, str, str]]
"""Name, kind and UUID of each collection of a database; the UUID is "" if the server reports none."""

LASTS = 24 * 3600
"""Seconds until a verdict is earned anew."""
_ORDINARY = frozenset((*NUMBERS, c.STRING, c.DATE, c.NULL))
"""Types of values by which no layout is told, save under names that say otherwise."""
_MOST_NAMES = 500  # fields of documents that are kept; others have values for names, and every one differs


def stored_in(version: Version, profile: CollectionProfile) -> bytes | None:
    """The document or row that stores a version; None if there is none, or if it is a part of the current one.

    A version that is read only when it is used stays unread.
    """
    if not version.current and "prev" in declared(profile.layout).roles:
        return None
    raw = version.document if isinstance(version, LazyVersion) else version.raw
    return None if raw is None else bytes(raw)


class KeptVerdict(Struct, frozen=True):
    """The layout of a collection, and the shape of the documents that it was earned by."""

    info: CollectionInfo
    profile: CollectionProfile
    shapes: Shapes = {}
    always: tuple[str, ...] = ()
    """The fields that every document had and has to have."""
    rows: Shapes = {}
    """The BSON types in the rows of the second collection, likewise."""
    at: float = 0.0
    told: bool = False
    """Whether documents of these shapes cannot be versions of one another in a way that the layout does not say."""
    undamaged: bool = False
    """Whether a look for damage found none."""
    proven: CollectionProfile | None = None
    """The profile with the recipe that the collection's hashes prove."""
    indexes: Mapping[str, tuple[float, list[Any]]] = {}
    """The indexes of collections, and when they were listed."""
    provisional: bool = False
    """A statement of a profile that no sample was held against yet."""

    def fits(self, version: Version) -> bool:
        """Whether a document or row that was read has the shape that the verdict was earned by."""
        if (stored := stored_in(version, self.profile)) is None:
            return True
        document = read(stored)
        if document is None:
            return False
        if self.profile.archive and not version.current:
            return _within(document, self.rows, {self.profile.archive_id, self.profile.version})
        if not _within(document, self.shapes, {*fields_of(self.profile).values()}):
            return False
        return all(name in document.fields for name in self.always)

    def fits_row(self, row: Row) -> bool:
        """Whether a listed document has that shape; one of which only a part was read, as far as that shows it."""
        if not row.readable:
            return True
        document = read(row.raw)
        fields = fields_of(self.profile)
        if document is None or not _within(document, self.shapes, {*fields.values()}):
            return False
        return not row.whole or all(name in document.fields for name in self.always)

    def widened(self, version: Version) -> KeptVerdict:
        """The verdict after it was earned again among documents of which one has another shape."""
        stored = stored_in(version, self.profile)
        document = None if stored is None else read(stored)
        if document is None:
            return self
        if self.profile.archive and not version.current:
            return replace(self, rows=_joined(self.rows, _shape(document)))
        always = tuple(name for name in self.always if name in document.fields)
        return replace(self, shapes=_joined(self.shapes, _shape(document)), always=always)


def earned(
    info: CollectionInfo, profile: CollectionProfile, sample: Sample | None, rows: Sample | None
) -> KeptVerdict | None:
    """The verdict to keep; None if it is in doubt, or too little or too much was seen."""
    if sample is None or not sample.documents or sample.unreadable or _is_unsure(info, profile):
        return None
    if (profile.archive and rows is None) or _has_shared_rows(profile):
        return None  # a document says too little about rows that are shared with others
    shapes, versions = sample.types, versions_told(info.layout)
    if len(shapes) > _MOST_NAMES:
        return None
    needed = shapes if declared(info.layout).own_documents else [n for n in shapes if n in fields_of(profile).values()]
    always = tuple(filter(sample.is_in_all, needed))
    seen = replace(sample, ask_indexes=lambda: ())  # nothing more is asked only to keep a verdict
    told = not info.doubt and (versions or not (any(map(is_version_name, shapes)) or near_miss(seen)))
    beside = rows.types if rows is not None else {}
    kept = replace(info, documents=None)
    return KeptVerdict(kept, profile, shapes, always, beside, time.time(), told)


def _is_unsure(info: CollectionInfo, profile: CollectionProfile) -> bool:
    """Whether a person may have to say more before anything is written by this layout."""
    # A profile's statement that the data contradict is kept with that, so that every reading of the day says it.
    if (info.doubt and info.confidence < 1.0) or profile.token_doubt or profile.hash_doubt:
        return True
    if info.belongs_to or info.read_only:
        return True
    return versions_told(info.layout) and info.confidence < verdict.SURE


def _has_shared_rows(profile: CollectionProfile) -> bool:
    return bool(profile.where or profile.parts or profile.elements) or declared(profile.layout).written_by_others


def _within(document: Document, shapes: Shapes, own: Set[str]) -> bool:
    return all(
        value.type in shapes.get(name, ()) or (name not in own and _is_ordinary(name, value, shapes.get(name, ())))
        for name, value in document.fields.items()
    )


def _is_ordinary(name: str, value: Value, types: Sequence[int]) -> bool:
    """Whether a field with a new name or type has no part in telling layouts apart."""
    if value.type not in _ORDINARY or is_hash(value) or not _ORDINARY.issuperset(types):
        return False
    return not (name.startswith("_") or is_version_name(name) or is_id_name(name) or SAYS_LOCK.search(name.encode()))


def _joined(a: Shapes, b: Shapes) -> Shapes:
    return {name: tuple(sorted({*a.get(name, ()), *b.get(name, ())})) for name in (*a, *b)}


def _shape(document: Document) -> Shapes:
    return {name: (value.type,) for name, value in document.fields.items()}


class KeptVerdicts:
    """The files in a folder, for one server and user."""

    def __init__(self, folder: Path, source: str) -> None:
        """``source`` is the server's address without a password."""
        self._folder, self._source = folder, source

    def get(self, ns: str, listed: Collections, stated: Sequence[CollectionProfile]) -> KeptVerdict | None:
        """The verdict on a collection that is as it was when this was earned; None if there is none."""
        for path in self._paths(ns, listed, stated):
            for kept in kept_recognition.read(path, KeptVerdict):
                if kept.info.ns == ns:
                    return kept if 0 <= time.time() - kept.at < LASTS else None
        return None

    def keep(self, found: Sequence[KeptVerdict], listed: Collections, stated: Sequence[CollectionProfile]) -> None:
        """Keep one verdict, or those on all collections of a database together."""
        if not found or not self._folder.parent.is_dir():
            return  # who only reads needs no home, and is given none
        own, shared = self._paths(found[0].info.ns, listed, stated) or (None, None)
        if (path := own if len(found) == 1 else shared) is not None:
            kept_recognition.write(path, found, KeptVerdict, LASTS)

    def left(self, db: str, listed: Collections, stated: Sequence[CollectionProfile]) -> dict[str, CollectionInfo]:
        """The collections of a database by name, as all of them were recognised last; {} if they are not the same."""
        found = kept_recognition.read(self._list(db, listed, stated), CollectionInfo) if listed else []
        return {info.ns: info for info in found}

    def leave(
        self, db: str, found: Sequence[CollectionInfo], listed: Collections, stated: Sequence[CollectionProfile]
    ) -> None:
        """Keep how all collections of a database were recognised, to be shown while they are recognised again."""
        if found and listed and self._folder.parent.is_dir():
            kept_recognition.write(self._list(db, listed, stated), found, CollectionInfo, LASTS)

    def _list(self, db: str, listed: Collections, stated: Sequence[CollectionProfile]) -> Path:
        return self._folder / f"lists-{self._named(db, db, listed, stated)}"

    def drop(self, ns: str, listed: Collections, stated: Sequence[CollectionProfile]) -> None:
        """Throw away the verdict on a collection."""
        for path in self._paths(ns, listed, stated):
            found = kept_recognition.read(path, KeptVerdict)
            others = [each for each in found if each.info.ns != ns]
            if others and len(others) < len(found):
                kept_recognition.write(path, others, KeptVerdict, LASTS)
            elif not others:
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    def _paths(self, ns: str, listed: Collections, stated: Sequence[CollectionProfile]) -> list[Path]:
        """The file of a collection and that of its database; none if it is not listed.

        A few servers report no UUIDs, and there its name has to do: each document that is read bears the verdict out.
        """
        db, _, name = ns.partition(".")
        if not any(each == name for each, _, _ in listed):
            return []
        return [self._folder / f"verdicts-{self._named(place, db, listed, stated)}" for place in (ns, db)]

    def _named(self, place: str, db: str, listed: Collections, stated: Sequence[CollectionProfile]) -> str:
        about = [each for each in stated if each.ns.partition(".")[0] == db]
        return kept_recognition.name_for(self._source, place, repr([sorted(listed), about]))
