"""Finds the lock fields of other programs in a collection's documents: known ones by name, others by likeness.

The names used by mongoose, Spring Data, Beanie and Eve tell how the field moves. Another field that looks like a lock
is reported, and a person states how it moves: after a wrong guess, that program would overwrite an edit. A false alarm
costs a question; a lock that is missed costs an edit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from model.foundation.collection_profile import MOVED, CollectionProfile, LockField
from model.recognition.field_names import bare, can_play_a_role, words
from model.recognition.sampling import Sample
from model.storage.content_hashes import Sealed, fits
from model.storage.reserved_fields import WHOLE_NUMBERS, number_of
from model.values import canonical as c
from model.values.canonical import Value


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_TAGS = re.compile(rb"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z|[0-9a-f]{16,128}\Z|[0-9A-F]{16,128}\Z")
_NUMBERED_TAGS = re.compile(rb"[0-9]+-[0-9a-f]{8,128}\Z")  # of CouchDB and PouchDB
SAYS_LOCK = re.compile(rb"lock|ver|revision|concurrency|change|token", re.IGNORECASE)
"""Finds a part of each name of a lock."""
_MOST = 0.8  # the share of documents that must have it
_DEEPEST = 4  # levels of sub-documents that are searched


class LockName(NamedTuple):
    """Names of locks, in small letters without separators, and a test of their values."""

    names: frozenset[str]
    fits: Callable[[Sequence[Value], int], bool]
    """Takes the values found, and the number of documents sampled."""
    below: frozenset[str] | None = None
    """The names of the sub-documents in which such a name counts; empty: at the top; None: anywhere."""


def _any_scalar(values: Sequence[Value], total: int) -> bool:
    plain = [value for value in values if not value.is_container and value.type not in (c.BOOLEAN, c.NULL)]
    return len(plain) >= _MOST * total


def _moving(values: Sequence[Value], total: int) -> bool:
    """Whether these are numbers of which some have risen or none has yet, or tags that each write renews."""
    if len(values) < _MOST * total:
        return False
    if _counts(values):
        risen = len(set(values)) > 1 or (total == 1 and number_of(values[0]) not in (0, 1))
        # Versions of schemas stay as they are too, but are rarely written as the long of Java and C#.
        return risen or all(v.type == c.INT64 and number_of(v) in (0, 1) for v in values)
    tags = [value for value in values if _is_tag(value)]
    return len(tags) >= _MOST * total and len(set(tags)) > 0.9 * len(tags)


SAID = frozenset(("version", "lock"))
"""Words in the name of a lock, for a field next to `_class`."""

LOCK_NAMES = (
    LockName(
        _set(
            """
            lockversion versionlock lock optlock optimisticlock optimisticlockversion optlockversion lockno locknumber
            lockcounter locktoken rowversion rowver recordversion entityversion concurrencyversion concurrencystamp
            concurrencytoken changevector changetoken etag entitytag revisionid revisiontoken versiontoken updatetoken
            """
        ),
        _any_scalar,
    ),
    LockName(_set("version revision rev revisionnumber versionnumber editversion docversion"), _moving, frozenset()),
    LockName(
        _set("version revision rev revisionnumber versionnumber v"),
        _moving,
        _set("meta metadata sys system audit lock locking concurrency entity header internal"),
    ),
)
"""First names of locks with any values, then names of locks if the values move, at the top or in metadata."""


SAID_IN_ARRAYS = LOCK_NAMES[0].names - frozenset(("etag", "entitytag", "lock"))
"""The names that say lock in the elements of an array too, where tags are those of files."""


def with_lock(
    profile: CollectionProfile, sample: Sample, taken: Collection[str], edited: bool
) -> tuple[CollectionProfile, str]:
    """The profile with another program's lock field, and a sentence about it; unchanged if there is none.

    ``taken`` are the layout's own fields. A field that only looks like a lock is reported only if documents are
    ``edited`` in place.
    """
    if profile.guard is not None:
        return profile, ""
    lock, said = _known(sample, taken)
    if edited and (lock is None or lock.how in MOVED):
        lock, said = _with_others(sample, taken, lock, said)
    if lock is None:
        return profile, ""
    if lock.how in MOVED and _sealed(sample, profile, lock):
        lock, said = LockField(lock.field), f"{lock.field} is a lock field that the hash in {profile.hash} covers."
    return replace(profile, guard=lock), said


def _mongoose(sample: Sample) -> tuple[LockField, str] | None:
    shape = sample.shapes.get("__v")
    if shape is None or not _counts(shape.values):
        return None
    return LockField("__v", "inc"), "__v is the lock of mongoose: guarded, and raised with every edit."


def _spring(sample: Sample) -> tuple[LockField, str] | None:
    version, entity = sample.shapes.get("version"), sample.shapes.get("_class")
    if version is None or entity is None or entity.share(c.STRING) != entity.share() or not _counts(version.values):
        return None
    if not any(d.get("version") is not None and d.get("_class") is not None for d in sample.documents):
        return None
    said = "version is the lock of Spring Data (@Version): guarded, and raised with every edit."
    return LockField("version", "inc"), said


def _beanie(sample: Sample) -> tuple[LockField, str] | None:
    revision = sample.shapes.get("revision_id")
    if revision is None or not revision.values or not all(map(_is_uuid, revision.values)):
        return None
    said = "revision_id is the lock of Beanie (use_revision): guarded, and renewed with every edit."
    return LockField("revision_id", "uuid"), said


def _eve(sample: Sample) -> tuple[LockField, str] | None:
    tag, updated = sample.shapes.get("_etag"), sample.shapes.get("_updated")
    if tag is None or updated is None or not all(map(_is_tag, tag.values)) or not updated.share(c.DATE):
        return None
    said = "_etag is the lock of Eve, which alone can make the next one, so documents are read-only here."
    return LockField("_etag", "closed"), said


KNOWN = (_mongoose, _spring, _beanie, _eve)
"""Known programs: each function finds its program's lock by name and neighbouring fields; None if there is none."""


def _known(sample: Sample, taken: Collection[str]) -> tuple[LockField | None, str]:
    found = (lock for program in KNOWN if (lock := program(sample)) is not None)
    return next((lock for lock in found if lock[0].field not in taken or lock[0].how == "closed"), (None, ""))


def _with_others(
    sample: Sample, taken: Collection[str], known: LockField | None, said: str
) -> tuple[LockField | None, str]:
    """The lock, or the question that the fields ask which look like locks beside it."""
    alike = [path for path in _alike(sample, taken) if known is None or ".".join(path) != known.field]
    names = [*([known.field] if known is not None else []), *map(".".join, alike)]
    if len(names) > 1:
        name, second = names[:2]
        said = f"{name} and {second} both look like locks of other programs: see guard in a profile."
        return LockField(name, second=second), said
    if known is not None:
        return known, said
    if names:
        name = names[0]
        said = (
            f"{name} looks like the lock of another program, and nothing states how it moves: see guard in a profile."
        )
        return LockField(name), said
    if name := _in_arrays(sample, taken):
        said = f"{name} looks like the lock of another program inside an array: see guard in a profile."
        return LockField(name, in_array=True), said
    return None, ""


def _alike(sample: Sample, taken: Collection[str]) -> Iterator[tuple[str, ...]]:
    """The paths of fields that look like locks, those at the top first."""
    beside_class = "_class" in sample.shapes
    for path, values in _values(sample).items():
        if path[0] not in taken and path != ("_id",) and _like(path, values, len(sample.documents), beside_class):
            yield path


def _in_arrays(sample: Sample, taken: Collection[str]) -> str:
    """A field of an array's elements that says lock whatever it holds, by its dotted path; "" if there is none."""
    for name, shape in sample.shapes.items():
        if name in taken or not shape.share(c.ARRAY):
            continue
        found: dict[str, list[Value]] = {}
        arrays = (v for v in shape.values if v.type == c.ARRAY and SAYS_LOCK.search(v.data))
        elements = [each for v in arrays for each in c.items(v) if each.type == c.OBJECT]
        for element in elements:
            for inner, value in c.fields(element.data):
                if bare(inner) in SAID_IN_ARRAYS:
                    found.setdefault(inner, []).append(value)
        for inner, values in found.items():
            if "." not in inner and not inner.startswith("$") and _any_scalar(values, len(elements)):
                return f"{name}.{inner}"
    return ""


def _values(sample: Sample) -> dict[tuple[str, ...], list[Value]]:
    """The values at each path through sub-documents only, if its name may be that of a lock; top-level fields first."""
    found: dict[tuple[str, ...], list[Value]] = {}
    for name, shape in sample.shapes.items():
        if _says_lock(name):
            found[name,] = list(shape.values)
    nested = any(c.OBJECT in shape.types for shape in sample.shapes.values())
    for document in sample.documents if nested else ():
        for name, value in document.fields.items():
            if value.type == c.OBJECT and can_play_a_role(name):
                for path, inner in _paths(value.data, (name,)):
                    found.setdefault(path, []).append(inner)
    return dict(sorted(found.items(), key=lambda each: len(each[0])))


def _paths(raw: bytes, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Value]]:
    for name, value in c.fields(raw):
        if "." in name or name.startswith("$"):
            continue
        if _says_lock(name):  # keeps only few fields of wide documents
            yield (*above, name), value
        if value.type == c.OBJECT and len(above) < _DEEPEST:
            yield from _paths(value.data, (*above, name))


@lru_cache(20_000)
def _says_lock(name: str) -> bool:
    """Whether a field's name may be that of a lock, anywhere in a document."""
    return any(bare(name) in row.names for row in LOCK_NAMES) or bool(SAID & {*words(name)})


def _like(path: tuple[str, ...], values: Sequence[Value], total: int, beside_class: bool) -> bool:
    name, above = bare(path[-1]), bare(path[-2]) if len(path) > 1 else ""
    if any(
        name in row.names
        and (row.below is None or above in row.below or (not row.below and not above))
        and row.fits(values, total)
        for row in LOCK_NAMES
    ):
        return True
    said = SAID & {*words(path[-1])}
    return bool(beside_class and len(path) == 1 and said and _counts(values) and len(values) >= _MOST * total)


def _counts(values: Sequence[Value]) -> bool:
    """Whether all are whole numbers from 0 on."""
    numbers = [number_of(v) for v in values if v.type in (*WHOLE_NUMBERS, c.DOUBLE)]
    return len(numbers) == len(values) and all(n is not None and n >= 0 for n in numbers)


def _is_uuid(value: Value) -> bool:
    return value.type == c.BINARY and len(value.data) == 21 and value.data[4] in (3, 4)


def _is_tag(value: Value) -> bool:
    if value.type == c.STRING:
        written = value.data[4:-1]
        return (_TAGS.match(written) or _NUMBERED_TAGS.match(written)) is not None
    return value.type in (c.OBJECT_ID, c.TIMESTAMP) or (value.type == c.BINARY and len(value.data) == 21)


def _sealed(sample: Sample, profile: CollectionProfile, lock: LockField) -> bool:
    """Whether a stored hash covers the lock field, which then must not move without the hash."""
    own = {"_id", profile.id, profile.version, profile.token, profile.at, profile.hash}
    for document in sample.documents[:12] if profile.hash and lock.field not in profile.hash_exclude else ():
        stored = document.get(profile.hash)
        if stored is not None and document.get(lock.field) is not None:
            return fits(Sealed(c.without(document.raw, own), stored, document.get("_id")), profile)
    return False
