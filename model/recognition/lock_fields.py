"""Lock fields that other programs keep in the documents of a collection: by their own names, else by likeness.

The names of mongoose, Spring Data and Eve say how the field moves. Another field that looks like a lock is named, and a
person states how it moves, as a wrong guess would let that program overwrite an edit.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec.structs import replace

from model.foundation.collection_profile import CollectionProfile, LockField
from model.recognition.field_names import bare
from model.recognition.sampling import Sample, Shape
from model.storage.content_hashes import Sealed, fits
from model.storage.reserved_fields import WHOLE_NUMBERS, number_of
from model.values import canonical as c
from model.values.canonical import Value


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


LOCKS = _set(
    """
    lockversion versionlock lock optlock optimisticlock optimisticlockversion lockno locknumber lockcounter locktoken
    rowversion rowver recordversion concurrencyversion concurrencystamp concurrencytoken changevector changetoken
    etag entitytag rev revisiontoken versiontoken updatetoken
    """
)
"""Names that say lock, whatever they hold."""
NUMBERS = _set("version revision revisionnumber versionnumber editversion docversion")
"""Names of numbers that are a lock only where they move."""
_TAGS = re.compile(rb"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z|[0-9a-f]{16,128}\Z|[0-9A-F]{16,128}\Z")
_MOST = 0.8  # the part of the documents that must have it


def with_lock(
    profile: CollectionProfile, sample: Sample, taken: Collection[str], edited: bool
) -> tuple[CollectionProfile, str]:
    """The profile with the lock field of another program, and a sentence on it; as it was where there is none.

    ``taken`` are the fields that the layout uses itself. Only where documents are ``edited`` in place a field that
    looks like a lock is asked for.
    """
    if profile.guard is not None:
        return profile, ""
    lock, said = _known(sample, taken)
    if lock is None and edited:
        lock, said = _alike(sample, taken)
    if lock is None:
        return profile, ""
    if lock.how in ("inc", "uuid") and _sealed(sample, profile, lock):
        lock, said = LockField(lock.field), f"{lock.field} is a lock field that the hash in {profile.hash} covers."
    return replace(profile, guard=lock), said


def _known(sample: Sample, taken: Collection[str]) -> tuple[LockField | None, str]:
    shapes = sample.shapes
    if "__v" not in taken and (shape := shapes.get("__v")) is not None and _counts(shape):
        return LockField("__v", "inc"), "__v is the lock of mongoose: guarded, and raised with every edit."
    version, entity = shapes.get("version"), shapes.get("_class")
    if version is not None and entity is not None and "version" not in taken:
        both = [d for d in sample.documents if d.get("version") is not None and d.get("_class") is not None]
        if both and entity.share(c.STRING) == entity.share() and _counts(version):
            said = "version is the lock of Spring Data (@Version): guarded, and raised with every edit."
            return LockField("version", "inc"), said
    tag, updated = shapes.get("_etag"), shapes.get("_updated")
    if tag is not None and updated is not None and all(map(_is_tag, tag.values)) and updated.share(c.DATE):
        said = "_etag is the lock of Eve, which alone can make the next one, so documents are read-only here."
        return LockField("_etag", "closed"), said
    return None, ""


def _alike(sample: Sample, taken: Collection[str]) -> tuple[LockField | None, str]:
    for name, shape in sample.shapes.items():
        if name in taken or name == "_id" or not _like(shape):
            continue
        said = (
            f"{name} looks like the lock of another program, and nothing states how it moves: see guard in a profile."
        )
        return LockField(name), said
    return None, ""


def _like(shape: Shape) -> bool:
    name = bare(shape.name)
    if name not in LOCKS and name not in NUMBERS:
        return False
    if shape.share(*WHOLE_NUMBERS) >= _MOST and _counts(shape):
        return name in LOCKS or (shape.distinct > 1) or (shape.total == 1 and number_of(shape.values[0]) not in (0, 1))
    tags = [value for value in shape.values if _is_tag(value)]
    return name in LOCKS and len(tags) >= _MOST * shape.total and len(set(tags)) > 0.9 * len(tags)


def _counts(shape: Shape) -> bool:
    """Whether all its values are whole numbers from 0 on."""
    numbers = [number_of(v) for v in shape.values if v.type in (*WHOLE_NUMBERS, c.DOUBLE)]
    return len(numbers) == len(shape.values) and all(n is not None and n >= 0 for n in numbers)


def _is_tag(value: Value) -> bool:
    if value.type == c.STRING:
        return _TAGS.match(value.data[4:-1]) is not None
    return value.type == c.OBJECT_ID or (value.type == c.BINARY and len(value.data) == 21)


def _sealed(sample: Sample, profile: CollectionProfile, lock: LockField) -> bool:
    """Whether a stored hash is that of a content with the lock field in it, which must not be moved alone then."""
    own = {"_id", profile.id, profile.version, profile.token, profile.at, profile.hash}
    for document in sample.documents[:12] if profile.hash and lock.field not in profile.hash_exclude else ():
        stored = document.get(profile.hash)
        if stored is not None and document.get(lock.field) is not None:
            return fits(Sealed(c.without(document.raw, own), stored, document.get("_id")), profile)
    return False
