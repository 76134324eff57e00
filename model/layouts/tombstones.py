"""Tombstones: versions that say that their document was deleted after the version before them.

A tombstone is a stored version with the profile's marker (``deleted``) set to true, and no content. The same marker
beside any content is content itself: many applications keep such a flag of their own.
"""

from __future__ import annotations

from model.collection_profile import CollectionProfile
from model.errors import Unreadable
from model.layouts.reserved_fields import Own
from model.values import canonical as c
from model.values.canonical import Value

SAID = "deleted"
"""The detail of a tombstone in a history."""
MARK = Value.of(True)


def is_tombstone(raw: bytes, own: Own, profile: CollectionProfile) -> bool:
    """Whether a stored version says that its document is deleted."""
    try:
        return is_marked(raw, profile) and says_deleted(own.content(raw), profile)
    except Unreadable:
        return False


def is_marked(raw: bytes, profile: CollectionProfile) -> bool:
    """Whether a stored version, or the part of it that was read, has the marker."""
    name = profile.deleted
    return bool(name) and c.name_bytes(name) + b"\x00" in raw and c.get(raw, (name,)) == MARK


def says_deleted(content: bytes, profile: CollectionProfile) -> bool:
    """Whether a content would be read as a tombstone: it is the marker, with at most an author and a reason beside."""
    names = {profile.deleted, profile.author, profile.reason}
    return is_marked(content, profile) and all(name in names for name, _ in c.fields(content))
