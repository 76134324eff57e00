"""A whole history as the documents in which a layout stores it, for a migration to that layout.

Nothing here depends on the current time: equal versions give equal bytes, so migrating again changes nothing. The
``_id`` of a version's document is derived from its time, its document's id and its number.
"""

from __future__ import annotations

import calendar
import hashlib
from collections.abc import Collection, Sequence

from bson import ObjectId

from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Version
from model.storage.reserved_fields import date
from model.storage.update_operators import check_size
from model.text.names import version_name
from model.values import canonical as c
from model.values.canonical import Value

FIRST = Value.of(1)


def key(id: Value, version: Version, v: Value) -> Value:
    """The ``_id`` of a version's document: an ObjectId with its time, else derived from the document's id and the
    number.

    The only version of a document without numbers changes its time with its content, so its ``_id`` uses no time.
    """
    said = bytes([id.type, v.type]) + id.data + v.data
    found = _timed(version, said) if version.v == v else None
    return found if found is not None else Value.document(c.document([("of", id), ("v", v)]))


def _token(id: Value, version: Version, v: Value) -> Value:
    """The token of a version. It depends on the content, so that a later change in place is not taken for ours."""
    said = b"token" + bytes([id.type, v.type]) + id.data + v.data + (version.content or c.EMPTY)
    return _timed(version, said) or Value.of(hashlib.sha256(said).digest()[:12])


def _timed(version: Version, said: bytes) -> Value | None:
    """An ObjectId with the version's time; None if that is unknown, because an invented time would be displayed."""
    seconds = calendar.timegm(version.at.utctimetuple()) if version.at is not None else -1
    if not 0 <= seconds < 2**32:
        return None
    # The rest is derived too, not random: a migration that is run again has to make equal documents.
    return Value.of(ObjectId(seconds.to_bytes(4, "big") + hashlib.sha256(said).digest()[:8]))


def lasting_key(id: Value) -> Value:
    """The ``_id`` of a document that remains while its versions change, if the profile's id is another field."""
    return Value.document(c.document([("of", id)]))


def stamps(
    profile: CollectionProfile, id: Value, version: Version, v: Value, numbered: bool = True
) -> list[tuple[str, Value]]:
    """Version, token, time, author, reason and hash of a version, as far as named and known."""
    found = [(profile.version, v)] if numbered and profile.version else []
    if profile.token:
        found.append((profile.token, _token(id, version, v)))
    if profile.at and version.at is not None:
        found.append((profile.at, date(version.at)))
    if not profile.seals_author:
        signed = zip((profile.author, profile.reason), version.signed, strict=True)
        found += [(name, value) for name, value in signed if name and value is not None]
    if profile.hash and version.seal is not None:
        found.append((profile.hash, version.seal))
    return found


def content_of(version: Version, own: Collection[str]) -> bytes:
    """The content of a version; raises ``Refused`` if it has none, or if it uses one of the layout's own names.

    Also refuses a tombstone, which only layouts with a document for every version can store.
    """
    if version.deleted:
        raise Refused(
            f"{version_name(version.v)} says that the document is deleted, which only layouts with a document for "
            "every version can say; its history stays in the old collection."
        )
    if version.content is None:
        why = version.detail or version.state
        raise Refused(f"{version_name(version.v)} cannot be read ({why}), so this history cannot be moved.")
    taken = [name for name, _ in c.fields(version.content) if name in own]
    if taken:
        raise Refused(
            f"The content has a field {taken[0]!r}, which the new layout keeps for itself; name that otherwise "
            "in a profile."
        )
    return version.content


def numbers(versions: Sequence[Version]) -> list[Value]:
    """The versions' numbers, counted from 1 if documents have none. Raises ``Refused`` for duplicates."""
    if any(each.v is None or each.v.type not in (c.INT32, c.INT64, c.DATE) for each in versions):
        if len(versions) > 1:
            raise Refused("Its versions are not whole numbers; mend that first.")
        return [FIRST]
    found = [each.v for each in versions if each.v is not None]
    if len(set(found)) != len(found):
        raise Refused("One of its versions is stored twice; repair that first.")
    return found


def made(pairs: Sequence[tuple[str, Value]], content: bytes) -> bytes:
    """The stored document; raises ``Refused`` if it is too large."""
    raw = c.document([*pairs, *c.fields(content)])
    check_size(raw)
    return raw
