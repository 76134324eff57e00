"""The outcome of a write, for its sender: applied, refused, conflict or unknown, each as one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bson import ObjectId
from msgspec.structs import replace

from model.errors import NotFound, Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import EDIT_IN_DOUBT, Outcome, Version
from model.server import guards
from model.server.retry import End, Port, Write, run
from model.storage import document_ids, update_operators
from model.storage.swap_steps import Stamp
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value


class Outcomes:
    """The outcomes of one collection's writes; after a conflict the document is read to describe it."""

    def __init__(
        self,
        ns: str,
        read: Callable[[Value], Version],
        bears: Callable[[bytes, ObjectId], bool],
        made: Callable[[bytes], Version] | None = None,
        behind: Callable[[Version], str] = lambda base: "",
    ) -> None:
        """``read`` returns the current version; ``bears`` says whether a stored document has a token.

        ``made`` converts a stored document to its current version, if nothing else is needed for that. ``behind`` says
        after an insert what has become of its base meanwhile, one sentence or "", where no filter could guard it.
        """
        self._ns, self._read, self._bears, self._made, self._behind = ns, read, bears, made, behind

    # --- a swap

    def swapped(self, end: End, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None) -> Outcome:
        """The outcome of the write that decides a swap from ``base`` to ``content`` as version ``v``."""
        if end.kind == "applied":
            did = "Created" if base.deleted else "Saved"
            said = f"{did} as {version_name(v)}." if v is not None else f"{did}."
            found = self._left(end) or self._read_back(id, stamp, v)
            back = ""
            if found is not None and found.content is not None:
                back = update_operators.differences(content, found.content, base.content or c.EMPTY)
            return Outcome(
                "applied", self._ns, id, _joined(said, end.sentence, back, self._behind(base)), v, found=found
            )
        if end.kind == "conflict":
            met = self.conflict(id, base)
            if met.kind == "conflict":
                return met
            if not end.retried and end.reply is not None and end.reply.duplicate:
                # The unique index refused, not a guard: the version with this number is not readable yet, or not any
                # more.
                said = f"Somebody else has written {version_name(v)} of {id_name(id)}; nothing was written."
                return Outcome("conflict", self._ns, id, said)
            if not end.retried:
                return met
            # Deleted before the second try and put back since, byte for byte: the first try may still arrive.
            end = replace(end, kind="unknown", sentence=f"{id_name(id)} is as it was read, and the edit may arrive.")
        if end.kind == "unknown":
            detail = _joined(EDIT_IN_DOUBT, end.sentence)
            return Outcome("unknown", self._ns, id, detail, token=str(stamp.token))
        return Outcome("refused", self._ns, id, end.sentence)

    def _left(self, end: End) -> Version | None:
        """The version in the reply to the write; None if the reply has none."""
        stored = end.reply.stored if end.reply is not None else None
        if self._made is None or stored is None:
            return None
        try:
            return self._made(stored)
        except Unreadable:
            return None

    def _read_back(self, id: Value, stamp: Stamp, v: Value | None) -> Version | None:
        """The version just written, as the server stored it; None if it cannot be read or is already replaced."""
        try:
            now = self._read(id)
        except Refused:
            return None
        if now.raw is None or now.content is None:
            return None
        return now if self._bears(now.raw, stamp.token) or (v is not None and now.v == v) else None

    def conflict(self, id: Value, base: Version) -> Outcome:
        """The outcome of a swap that found another state than ``base``, or whose guard the server cannot evaluate."""
        try:
            now = self._read(id)
        except NotFound:
            said = f"{id_name(id)} was deleted since it was opened; nothing was written."
            return Outcome("conflict", self._ns, id, said)
        except Refused as error:
            said = f"{id_name(id)} is not as it was opened; nothing was written. {error}"
            return Outcome("conflict", self._ns, id, said)
        if now.raw == base.raw:
            return self.refused(
                id,
                "This server finds the document changed although it is not: it cannot compare all values exactly, so "
                "this edit cannot be guarded; nothing was written.",
            )
        if now.v == base.v:
            return Outcome("conflict", self._ns, id, f"{id_name(id)} was changed in place since; nothing was written.")
        moved = f"{id_name(id)} changed since ({version_name(base.v)} → {version_name(now.v)}); nothing was written."
        return Outcome("conflict", self._ns, id, moved)

    def hindered(self, id: Value, base: Version, sentence: str) -> Outcome:
        """The outcome of a swap that another document prevents; a conflict if the base is no longer current either."""
        met = self.conflict(id, base)
        return met if met.kind == "conflict" else self.refused(id, sentence)

    def refused(self, id: Value, sentence: str) -> Outcome:
        """The outcome of a write that was not sent, or that the server rejected."""
        return Outcome("refused", self._ns, id, sentence)

    # --- a new document

    def taken(self, id: Value) -> Outcome:
        """The outcome of creating a document whose id exists."""
        return self.refused(id, f"There is a document {id_name(id)} already; choose another id.")

    def created(self, end: End, id: Value, v: Value | None, stamp: Stamp) -> Outcome:
        """The outcome of the insert that decides a creation.

        Unknown if only a second try found the id taken: the first may have been applied and deleted since, or may
        still arrive once the other document is deleted.
        """
        if end.kind == "applied":
            said = f"Created as {version_name(v)}." if v is not None else "Created."
            return Outcome("applied", self._ns, id, _joined(said, end.sentence), v)
        if end.kind == "conflict" and not end.retried:
            return self.taken(id)
        if end.kind in ("conflict", "unknown"):
            other = f"Another document has the id {id_name(id)}; it is not known whether yours was there before it."
            lost = _joined("It is not known whether the document was created.", end.sentence)
            detail = other if end.kind == "conflict" else lost
            return Outcome("unknown", self._ns, id, detail, token=str(stamp.token))
        return self.refused(id, end.sentence)

    # --- a delete

    def buried(self, end: End, id: Value, base: Version, stamp: Stamp, v: Value | None) -> Outcome:
        """The outcome of inserting a tombstone as version ``v`` after ``base``."""
        if end.kind == "applied":
            said = (
                f"{id_name(id)} is deleted as {version_name(v)}. All its versions stay; restore one to bring it back."
            )
            return Outcome("applied", self._ns, id, _joined(said, end.sentence, self._behind(base)), v)
        if end.kind == "unknown":
            return self._delete_in_doubt(end, id, stamp)
        return self.swapped(end, id, base, c.EMPTY, stamp, v)

    def deleted(self, end: End, id: Value, base: Version, stamp: Stamp) -> Outcome:
        """The outcome of the one guarded delete of a document."""
        if end.kind == "applied":
            return Outcome("applied", self._ns, id, f"{id_name(id)} is deleted. {end.sentence}".strip())
        if end.kind == "conflict":
            met = self.conflict(id, base)
            if met.kind == "conflict" or not end.retried:
                return met
            # Deleted before the second try and put back since, byte for byte: the first try may still arrive.
            end = replace(end, kind="unknown", sentence=f"{id_name(id)} is as it was read, and the delete may arrive.")
        if end.kind == "unknown":
            return self._delete_in_doubt(end, id, stamp)
        return Outcome(end.kind, self._ns, id, end.sentence)

    def _delete_in_doubt(self, end: End, id: Value, stamp: Stamp) -> Outcome:
        detail = _joined("It is not known whether the delete was applied.", end.sentence)
        return Outcome("unknown", self._ns, id, detail, token=str(stamp.token))


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def put_back(
    server: Port, profile: CollectionProfile, removed: Sequence[tuple[str, bytes]], unique: tuple[str, ...]
) -> Outcome:
    """Insert every (ns, stored document) that a delete removed; ``conflict`` if the id is taken.

    Existing documents stay; in doubt, one with exactly these bytes counts as ours. ``unknown`` if only some of
    several could be put back; another try continues. ``unique`` names the fields, besides ``_id``, whose values must
    be free.
    """
    key: Value | None = None
    for done, (ns, raw) in enumerate(removed):
        physical = guards.physical_id(raw)
        key = key or document_ids.id_of(raw, profile.id if ns == profile.ns else profile.archive_id) or physical

        places = unique if ns == profile.ns else (profile.archive_id, profile.version)

        def there(ns: str = ns, raw: bytes = raw, physical: Value = physical) -> bool:
            return next(iter(server.find(ns, guards.by_id(physical), limit=1)), None) == raw

        try:
            if there():
                continue
            end = run(server, Write(ns, "insert", {}, raw, "put back what was deleted", places), there)
        except Refused as error:
            end = End("refused", str(error))
        if end.kind == "applied":
            continue
        sentence = end.sentence
        if end.kind == "conflict":
            sentence = "Its place is taken by another document; nothing was put back."
        if not done or end.kind == "unknown":
            return Outcome(end.kind, profile.ns, key, sentence)
        said = f"{done} of {len(removed)} documents are there again, the next one is not."
        return Outcome("unknown", profile.ns, key, said)
    return Outcome("applied", profile.ns, key, "What was deleted is there again.")
