"""A version of a document on its way to a file and back.

As a document it is ``{"id", "v", "at", "author", "reason", "hash", "deleted", "gap", "unproven", "content",
"sha256"}``; author, reason and hash are the stored values, of any type, and ``sha256`` proves all fields before it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from model.errors import Unreadable
from model.foundation.records import Raw, Version
from model.layouts.base import Layout
from model.storage.reserved_fields import time_of
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

NULL = Value.of(None)
_PROOF = "sha256"


def with_proof(fields: Sequence[tuple[str, Value]]) -> bytes:
    """These fields as a document, with their hash as the last one."""
    return c.document([*fields, (_PROOF, Value.of(c.hash_of(c.document(fields), _PROOF)))])


def check_proof(found: Mapping[str, Value], is_same: bool) -> None:
    """Raise ``Unreadable`` if the fields of a document lack their hash or, going by ``is_same``, were changed."""
    proof = found.get(_PROOF)
    if proof is None or proof.type != c.STRING:
        raise Unreadable("it lacks the hash that proves it; an earlier edition wrote it, or it was changed")
    if not is_same:
        raise Unreadable("it has been changed since the export")


def not_importable(where: object, why: object) -> Unreadable:
    """The error for a place in the files of an export."""
    return Unreadable(
        f"{where} cannot be imported: {str(why).rstrip('.')}; export the history again, to another place."
    )


class KeptVersion(Struct, frozen=True):
    """One version; without content, it means that the document was deleted.

    ``v`` is None if only the document's absence shows its deletion: nobody recorded when and by whom.
    """

    id: Value
    v: Value | None
    at: dt.datetime | None
    author: Value | None
    reason: Value | None
    content: Raw | None
    seal: Value | None = None  # the hash stored for the content, if there is one
    gap: str = ""  # a sentence on versions missing before it
    unproven: str = ""  # why its content is not proven

    @property
    def document(self) -> bytes:
        """The version as a document; :func:`kept_version` reads it back."""
        return with_proof(
            [
                ("id", self.id),
                ("v", self.v or NULL),
                ("at", NULL if self.at is None else Value.of(self.at)),
                ("author", self.author or NULL),
                ("reason", self.reason or NULL),
                ("hash", self.seal or NULL),
                ("deleted", Value.of(self.content is None)),
                ("gap", Value.of(self.gap)),
                ("unproven", Value.of(self.unproven)),
                ("content", NULL if self.content is None else Value.document(self.content)),
            ]
        )

    @property
    def proof(self) -> str:
        """The SHA-256 of all that is known of it, in hexadecimal digits."""
        return str(c.fields(self.document)[-1][1].python())

    def version(self, current: bool) -> Version:
        """The version in a form that a layout can store."""
        whole = self.content
        return Version(
            self.v,
            self.at,
            as_name(self.author),
            "document",
            "present",
            current,
            None if whole is None else c.hash_of(whole),
            None if whole is None else len(whole),
            content=whole,
            reason=as_name(self.reason),
            signed=(self.author, self.reason),
            seal=self.seal,
            deleted=whole is None,
        )


def kept_version(raw: bytes) -> KeptVersion:
    """The version in a document; raises ``Unreadable`` naming the wrong field, or if the document was changed."""
    found = dict(c.fields(raw))
    values = {name: None if value.type == c.NULL else value for name, value in found.items()}
    id, content, gone = found.get("id"), values.get("content"), found.get("deleted")  # an id may be null
    if id is None:
        raise Unreadable('there is no "id"')
    if content is not None and content.type != c.OBJECT:
        raise Unreadable(f'"content" is a value of type {content.kind}, not a document')
    if content is None and (gone is None or gone != Value.of(True)):
        raise Unreadable('there is no "content", and "deleted" is not true')
    if content is not None and values.get("v") is None:
        raise Unreadable('there is no "v", by which versions are told apart')
    at = values.get("at")
    if at is not None and (at.type != c.DATE or time_of(at) is None):
        raise Unreadable(f'"at" is a value of type {at.kind}, not a date')
    kept = KeptVersion(
        id,
        values.get("v"),
        time_of(at),
        values.get("author"),
        values.get("reason"),
        None if content is None else content.data,
        values.get("hash"),
        as_name(values.get("gap")) or "",
        as_name(values.get("unproven")) or "",
    )
    check_proof(found, kept.document == raw)
    return kept


def as_name(value: Value | None) -> str | None:
    """An author or a reason as people read it."""
    return None if value is None else id_name(value)


def kept_versions(layout: Layout, id: Value, left: list[str]) -> Iterator[KeptVersion]:
    """A document's versions for a file, one by one, newest first; a deletion without a version comes last.

    ``left`` gets a sentence for each version that cannot be read. Raises ``NotFound``.
    """
    held: Version | None = None
    newest: Version | None = None
    is_there = False
    missing: list[Version] = []  # the first and last one missing before the held version
    for version in layout.history(id, contents="all"):
        newest, is_there = newest or version, is_there or version.current
        if version.content is None and not version.deleted:
            missing = [*missing[:1], version]
            if version.state != "missing":
                why = version.detail or version.state
                left.append(f"{version_name(version.v)} of {id_name(id)} cannot be read ({why}) and was left out.")
            continue
        if held is not None:
            yield _kept(layout, id, held, missing)
        held, missing = version, []
    if held is None:
        return
    yield _kept(layout, id, held, missing)
    if newest is not None and not newest.deleted and not is_there:
        yield KeptVersion(id, None, None, None, None, None, gap=f"It was deleted after {version_name(newest.v)}.")


def _kept(layout: Layout, id: Value, version: Version, missing: list[Version]) -> KeptVersion:
    author, reason = version.signed
    name, gap = layout.profile.hash if layout.numbered and not layout.written_by_others else "", ""
    if missing:
        first, last = version_name(missing[-1].v), version_name(missing[0].v)
        gap = f"{first} is missing before it." if first == last else f"{first} to {last} are missing before it."
    return KeptVersion(
        id,
        version.v,
        version.at,
        author or (Value.of(version.author) if version.author is not None else None),
        reason or (Value.of(version.reason) if version.reason is not None else None),
        None if version.deleted else version.content,
        c.get(version.raw, (name,)) if name and version.raw is not None else None,
        gap,
        version.detail or version.state if version.state != "present" else "",
    )
