"""The changes of a collection's documents as one list: who set which fields of which document, when, and why.

A document's versions are read once, newest first, with at most two contents in memory. A version above a gap is
``unknown``: nobody can tell what it changed. A version whose content equals an earlier one, but not the previous one,
is ``restored``.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from model.checks.external_sort import ExternalSort
from model.errors import NotFound, Unreadable
from model.foundation.records import Checkpoint, Version, no_checkpoint
from model.layouts.base import Layout
from model.layouts.history_batches import together
from model.over_time.span import Span, dated_in, everyone, narrows
from model.text.paths import path_text
from model.text.plain_values import plain_moment, plain_value
from model.values import canonical as c
from model.values.canonical import Path, Value

Deed: TypeAlias = Literal["created", "edited", "merged", "restored", "deleted", "unknown"]
"""merged: an edit that this computer's journal knows as a merge; documents alone never show that."""
Fields: TypeAlias = dict[str, Value]
SHORT, TOLD = 64, 6  # a change tells this many values, of up to this many bytes each
_LAST = b"\xff" * 9  # after every time


class ChangedValue(Struct, frozen=True):
    """A changed field with both values; None if it was not there."""

    path: Path
    old: Value | None
    new: Value | None


class Activity(Struct, frozen=True):
    """One change of one document: a version, and what it did.

    ``paths`` lead into sub-documents: an added or removed sub-document is one path, and so is an array. ``v`` is None
    if only the document's absence shows that it was deleted; then time and author are unknown. ``older`` is the
    previous existing version. ``astray``: its time is before that of an earlier version. Not ``landed``: the version
    is above the current one, so its edit never reached the document; nobody counts it. ``values`` are those of some of
    the ``paths``: the first ones that are short.
    """

    ns: str
    id: Value
    v: Value | None
    at: dt.datetime | None
    author: str | None
    reason: str | None
    kind: Deed
    paths: tuple[Path, ...] = ()
    older: Value | None = None
    astray: bool = False
    landed: bool = True
    values: tuple[ChangedValue, ...] = ()

    def touches(self, paths: Iterable[Path]) -> bool:
        """Whether it changed one of some fields, or something above or below it; of none it is always true."""
        asked = tuple(paths)
        return not asked or any(_touches(path, each) for path in self.paths for each in asked)


class ActivityList(Struct):
    """The changes of some collections, newest first; iterate over it once, then its counts are complete."""

    layouts: Sequence[Layout]
    span: Span = field(default_factory=Span)
    author: str | None = None  # exactly
    path: Path = ()  # changes at, below or above it
    id: Value | None = None
    checkpoint: Checkpoint = no_checkpoint
    documents: int = 0  # that were read
    undated: int = 0  # changes without a time, left out of a span
    authors: set[str] = field(default_factory=set)  # of all changes read, including those left out
    notes: list[str] = field(default_factory=list)  # sentences: missing indexes, documents that could not be read
    _narrowed: dict[str, bool] = field(default_factory=dict)  # collection -> whether the span limits what is read

    def __iter__(self) -> Iterator[Activity]:
        """Every requested change; those without a time come last."""
        with ExternalSort() as sorted_ones:
            for several in self.as_read():
                for at, each in enumerate(several):
                    sorted_ones.add(newest_first(each) + at.to_bytes(8), (pickle.dumps(each),))
            for _, rows in sorted_ones.groups():
                for (packed,) in rows:
                    yield pickle.loads(packed)

    def as_read(self) -> Iterator[list[Activity]]:
        """The changes document by document, each document's newest first, in the order of reading."""
        for layout in self.layouts:
            ids = iter([self.id]) if self.id is not None else self._candidates(layout)
            for id, read in together(layout, ids):
                self.documents += 1
                self.checkpoint(self.documents, None)
                try:
                    yield [each for each in changes(read, id, self._is_in_span) if self._wanted(each)]
                except NotFound:  # deleted since it was listed
                    continue

    def expected(self) -> int | None:
        """The approximate number of documents to read; None if counting takes too long."""
        if self.id is not None:
            return 1
        if any(map(self._is_narrowed, self.layouts)):
            return None
        counts = [layout.count() for layout in self.layouts]
        return None if None in counts else sum(filter(None, counts))

    def frame(self) -> list[dict[str, Any]]:
        """The changes as plain rows for a pandas data frame, newest first.

        Columns: at, author, reason, ns, id, v, kind, and paths, a list of texts such as ``premium.gross``.
        """
        return [
            {
                "at": plain_moment(each.at),
                "author": each.author,
                "reason": each.reason,
                "ns": each.ns,
                "id": plain_value(each.id),
                "v": None if each.v is None else plain_value(each.v),
                "kind": each.kind,
                "paths": [path_text(path) for path in each.paths],
            }
            for each in self
        ]

    def _is_narrowed(self, layout: Layout) -> bool:
        if layout.ns not in self._narrowed:  # a look at the first and the last row
            self._narrowed[layout.ns] = narrows(layout, self.span)
        return self._narrowed[layout.ns]

    def _candidates(self, layout: Layout) -> Iterator[Value]:
        if self._is_narrowed(layout):
            return dated_in(layout, self.span, self.notes)
        return everyone(layout)

    def _is_in_span(self, version: Version) -> bool:
        return version.at is None or version.at in self.span

    def _wanted(self, each: Activity) -> bool:
        if each.author is not None:
            self.authors.add(each.author)
        if self.author is not None and each.author != self.author:
            return False
        if not each.touches([self.path] if self.path else ()):
            return False
        if each.at is None and self.span:
            self.undated += 1
            return False
        return each.at is None or each.at in self.span


def _any(_: Version) -> bool:
    return True


def newest_first(each: Activity) -> bytes:
    """A key that sorts changes newest first, those without a time last."""
    if each.at is None:
        return _LAST
    since = round((each.at - dt.datetime(1, 1, 1, tzinfo=dt.UTC)) / dt.timedelta(microseconds=1))
    return b"\x00" + (2**63 - since).to_bytes(8)


def _touches(path: Path, asked: Path) -> bool:
    shorter = min(len(path), len(asked))
    return path[:shorter] == asked[:shorter]


# --- one document


def changes(layout: Layout, id: Value, wanted: Callable[[Version], bool] = _any) -> Iterator[Activity]:
    """What each version of a document did, newest first; raises ``NotFound``.

    Of a version that is not ``wanted`` it is unknown what changed: it is not compared with the one before.
    """
    versions = (unsigned(layout, each) for each in layout.history(id, contents="all"))
    made = [_Made(*step) for step in _steps(versions, wanted)]
    if made and not (made[0].version.deleted or any(each.version.current for each in made)):
        yield Activity(layout.ns, id, None, None, None, None, "deleted")
    yield from _activities(layout.ns, id, made)


def unsigned(layout: Layout, version: Version) -> Version:
    """A version without author and reason in its content, if a hash covers them: they are not a change.

    A tombstone has no content then: the deleted content is that of the version before.
    """
    p = layout.profile
    if version.deleted:
        return version.but(content=None)
    if version.content is None or not p.seals_author:
        return version
    return version.but(content=c.without(version.content, {p.author, p.reason} - {""}))


class _Made(Struct, frozen=True):
    """A version without its content, and the paths changed since the previous one, None if unknown, with values."""

    version: Version
    paths: tuple[Path, ...] | None
    values: tuple[ChangedValue, ...]


class _Parted:
    """A version, and the fields of its content: taken apart once, to be compared with both neighbours."""

    def __init__(self, version: Version) -> None:
        self.version = version

    @cached_property
    def fields(self) -> Fields | None:
        """The fields; None if they cannot be read."""
        content = self.version.content
        try:
            return dict(c.fields(content)) if content is not None else {}
        except Unreadable:
            return None


def _steps(
    versions: Iterable[Version], wanted: Callable[[Version], bool]
) -> Iterator[tuple[Version, tuple[Path, ...] | None, tuple[ChangedValue, ...]]]:
    newer: _Parted | None = None
    for older in chain(map(_Parted, versions), [None]):
        if newer is not None:
            paths, values = _compared(older, newer) if wanted(newer.version) else (None, ())
            yield _without_content(newer.version), paths, values
        newer = older


def _compared(older: _Parted | None, newer: _Parted) -> tuple[tuple[Path, ...] | None, tuple[ChangedValue, ...]]:
    if older is None:
        return _between(None, newer.version, {}, newer.fields), ()
    paths = _between(older.version, newer.version, older.fields, newer.fields)
    return paths, _valued(paths, older.fields, newer.fields)


def _valued(paths: Sequence[Path] | None, before: Fields | None, after: Fields | None) -> tuple[ChangedValue, ...]:
    """The values of the first changed fields, of those that are short."""
    both = ((path, _at(path, before), _at(path, after)) for path in (paths or ())[:TOLD])
    return tuple(ChangedValue(*each) for each in both if all(map(_is_short, each[1:])))


def _at(path: Path, fields: Fields | None) -> Value | None:
    top = (fields or {}).get(str(path[0]))
    if top is None or len(path) == 1:
        return top
    return c.get(top.data, path[1:]) if top.type == c.OBJECT else None


def _is_short(value: Value | None) -> bool:
    return value is None or (not value.is_container and len(value.data) <= SHORT)


def _without_content(version: Version) -> Version:
    known = version.content is not None and version.state != "unproven"
    digest = hashlib.sha1(version.content or b"", usedforsecurity=False).hexdigest() if known else None
    return Version(
        version.v,
        version.at,
        version.author,
        version.stored,
        version.state,
        version.current,
        digest,
        version.bytes,
        reason=version.reason,
        deleted=version.deleted,
        landed=version.landed,
    )


def _between(
    older: Version | None, newer: Version, before: Fields | None, after: Fields | None
) -> tuple[Path, ...] | None:
    if newer.deleted:
        return ()
    if newer.content is None or (older is not None and older.content is None and not older.deleted):
        return None
    if before is None or after is None:
        return None  # unreadable
    if "unproven" in (newer.state, older.state if older is not None else ""):
        return None  # a delta above a missing one says what it set, but not what was there before
    try:
        return tuple(_differing(before, after, ()))
    except Unreadable:
        return None


def _activities(ns: str, id: Value, made: Sequence[_Made]) -> Iterator[Activity]:
    """Each version with its kind, newest first."""
    seen: dict[str, int] = {}  # content -> how many earlier versions have it
    for each in made:
        if each.version.hash is not None:
            seen[each.version.hash] = seen.get(each.version.hash, 0) + 1
    older_ones = _older_there(made)
    astray = _out_of_order(made)
    for at, (each, older) in enumerate(zip(made, [*made[1:], None], strict=True)):
        digest = each.version.hash
        if digest is not None:
            seen[digest] -= 1
        if each.version.state == "missing":
            continue
        kind: Deed = "edited"
        if each.version.deleted:
            kind = "deleted"
        elif each.paths is None:
            kind = "unknown"
        elif digest is not None and seen[digest] > (older is not None and older.version.hash == digest):
            kind = "restored"
        elif older is None or older.version.deleted:
            kind = "created"
        v = each.version
        paths, older_v, is_astray = each.paths or (), older_ones[at], at in astray
        told = (v.v, v.at, v.author, v.reason, kind, paths, older_v, is_astray, v.landed, each.values)
        yield Activity(ns, id, *told)


def _older_there(made: Sequence[_Made]) -> list[Value | None]:
    """For each version the next older existing one."""
    found: list[Value | None] = []
    older: Value | None = None
    for each in reversed(made):
        found.append(older)
        if each.version.state != "missing":
            older = each.version.v
    return found[::-1]


def _out_of_order(made: Sequence[_Made]) -> set[int]:
    """The versions whose time is before that of an earlier version."""
    found: set[int] = set()
    latest: dt.datetime | None = None
    for at in reversed(range(len(made))):
        time = made[at].version.at
        if time is None:
            continue
        if latest is not None and time < latest:
            found.add(at)
        else:
            latest = time
    return found


def changed_paths(before: bytes, after: bytes) -> Iterator[Path]:
    """The paths at which two documents differ, in the second one's order, then removed ones.

    Looks into sub-documents that both have; any other different value is one path. Order is ignored. Raises
    ``Unreadable``.
    """
    return _differing(dict(c.fields(before)), dict(c.fields(after)), ())


def _differing(was: Fields, now: Fields, above: Path) -> Iterator[Path]:
    for name, value in now.items():
        old = was.get(name)
        if old is not None and old.type == value.type:
            if old.data == value.data:
                continue
            if value.type == c.OBJECT:
                yield from _differing(dict(c.fields(old.data)), dict(c.fields(value.data)), (*above, name))
                continue
        yield (*above, name)
    yield from ((*above, name) for name in was if name not in now)
