"""Versions of ``embedded`` documents that became too long for one document: rows of a second collection.

A row is like one of an archive: its own ``_id``, the document's id, then the version as it stood in the array. It is
read only if a document lacks versions below those that it holds, so other documents cost nothing extra.
"""

from __future__ import annotations

from collections.abc import Iterator

from model.errors import NotAllowed
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Version
from model.server.retry import Port
from model.storage.reserved_fields import Own, made_version, number_of, stamp_names
from model.values import canonical as c
from model.values.canonical import Value

SUFFIX = "_history"


def place(profile: CollectionProfile) -> str:
    """The ns of the rows: stated in the profile, else the collection's name plus ``_history``."""
    return profile.archive or f"{profile.ns}{SUFFIX}"


def own(profile: CollectionProfile) -> Own:
    """The fields of a row that are not content."""
    return Own(profile.archive_id, profile.version, *stamp_names(profile))


def is_row(raw: bytes, profile: CollectionProfile) -> bool:
    """Whether a stored document may be a version of one of a profile's documents."""
    return c.get(raw, (profile.archive_id,)) is not None and number_of(c.get(raw, (profile.version,))) is not None


def rows(server: Port, profile: CollectionProfile, id: Value, v: Value | None = None) -> Iterator[bytes]:
    """The rows of a document, or of one version; none if they may not be read."""
    wanted = {profile.archive_id: {"$eq": id}} | ({} if v is None else {profile.version: {"$eq": v}})
    try:
        for raw in server.find(place(profile), wanted):
            if c.get(raw, (profile.archive_id,)) == id:
                yield raw
    except NotAllowed:
        return


def numbers(server: Port, profile: CollectionProfile, id: Value) -> set[int]:
    """The numbers of a document's rows, without reading contents."""
    shown = {profile.archive_id: 1, profile.version: 1}
    found: set[int] = set()
    try:
        for raw in server.find(place(profile), {profile.archive_id: {"$eq": id}}, projection=shown):
            number = number_of(c.get(raw, (profile.version,)))
            if number is not None and c.get(raw, (profile.archive_id,)) == id:
                found.add(number)
    except NotAllowed:
        return set()
    return found


def versions(server: Port, profile: CollectionProfile, id: Value, below: int) -> Iterator[Version]:
    """The versions that were moved out and are below a number, newest first."""
    found: dict[int, Version] = {}
    for raw in rows(server, profile, id):
        made = version_of(raw, profile)
        number = number_of(made.v)
        if number is not None and number < below:
            # A row stored twice is shown once: which copy is right is for a scan to say.
            found.setdefault(number, made)
    for number in sorted(found, reverse=True):
        yield found[number]


def version_of(raw: bytes, profile: CollectionProfile) -> Version:
    """A row as a version."""
    return made_version(raw, own(profile), profile, "archive", contents=True, times=(profile.token,))
