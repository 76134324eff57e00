"""``flagged``: a document for every version; the newest has a flag by which applications find it.

Stored: ``{_id: <own>, docId, v, current: true, …}`` for the newest version; the others have no flag, or false if the
collection does it like that. Index: a unique one on id and version, without which nothing is written. There must be
no partial unique index on the flag: it would reject the new version while the old one still has the flag.

The swap, step by step:

1. The newest version by number, flagged or not, is read again; if it is not the base, or the base was changed in
   place, it is a conflict.
2. The new version is inserted with the next number and the flag, and with the write token as its ``_id``. This
   decides.
3. The flag is removed from every lower version, by one guarded write each, including flags that a dead writer left.

A delete does the same with a tombstone, so readers of the flag see that the document is deleted.

Crash points: before 2 nothing has happened; after it two versions have the flag until the next edit, or a repair,
removes it from the lower one. Palimpsest always takes the newest by number as current.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from model.checks.chains import Chains, Part
from model.checks.facts import FactReader
from model.checks.own_documents import flagged
from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Outcome, Version
from model.layouts.base import Layout
from model.server import guards
from model.server.retry import End, Port, Write, run
from model.storage import numbering
from model.storage.outlines import is_flagged
from model.storage.reserved_fields import own_of, place_of
from model.storage.swap_steps import Stamp, SwapSteps
from model.storage.version_documents import VersionDocuments, claim_of
from model.storage.version_writer import VersionWriter
from model.text.names import version_name
from model.values import canonical as c
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.recognition.sampling import Proposal, Sample


class Flagged(Layout):
    """Documents whose newest version has a flag."""

    name = "flagged"
    about = "a document for every version, the newest carries a flag"
    where = "a document for every version, the newest carries {current}"
    roles = ("id", "version", "token", "current")
    defaults: ClassVar[Mapping[str, str]] = {"id": "docId"}
    lacks = "no field with a whole number and one with an id were found in it."
    flags_newest = True
    own_documents = True

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        self.own = own_of(profile, profile.current, claim_of(profile))
        self.reader = self._documents = VersionDocuments(server, profile, self.own, flag=profile.current)
        self.writer = self._writer = VersionWriter(server, self._documents, self._documents, flag=profile.current)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest id and version."""
        from model.recognition import find_version_documents

        return find_version_documents.wanted(server, sample, find_version_documents.FLAGGED)

    @property
    def check(self) -> Chains:
        """Checks the versions of each document, by id, and that only the newest has the flag."""
        p = self.profile
        reader = FactReader(self.own, p, p.id, flag=p.current, claim=self._documents.claim)
        return Chains(self.server, p, (Part(self.ns, reader),), flagged)

    def first_between(self, id: Value, low: int, high: int) -> Version | None:
        """The lowest version numbered ``low`` or more, below ``high``."""
        return self._documents.first_between(id, low, high)

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """The insert, then the removal of the base's flag; ``Layout.swap`` removes all other flags."""
        raw, _ = self._check(base)
        p = self.profile
        v = v or numbering.following(base.v, p, stamp.at)
        flag = c.get(raw, (p.current,))
        carried = is_flagged(flag)
        # The flag may be a number: the new version gets the same value.
        values = self._writer.own_values(stamp, v) | {p.current: flag if carried else Value.of(True)}
        insertion = self._writer.insertion(raw, content, values, v)
        # The old flag goes after the insert: for a moment two versions have it, but never none, which readers could not
        # find.
        return replace(insertion, after=(self._unflag(raw),) if carried else ())

    def explain(self, base: Version) -> str:
        """The order of the two writes, and the guard of the first."""
        p = self.profile
        return (
            f"First the new version is inserted with {p.current}; the unique index on {p.id} and {p.version} lets one "
            f"writer have its number. Then {version_name(base.v)} and all below it lose {p.current}."
        )

    def _swapped(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        """Remove the flag from all versions below the inserted one."""
        if outcome.kind != "applied" or outcome.version is None or outcome.id is None:
            return outcome
        return replace(
            outcome, detail=f"{outcome.detail} {self._remove_lower_flags(outcome.id, outcome.version)}".strip()
        )

    def _delete(self, id: Value, base: Version, stamp: Stamp) -> Outcome:
        """Insert the tombstone with the flag, then remove the flag from all lower versions."""
        return self._swapped(self.writer.delete(id, base, stamp), c.EMPTY, stamp)

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """A document for each version, the newest with the flag."""
        return self._writer.as_stored(id, versions)

    def _remove_lower_flags(self, id: Value, top: Value) -> str:
        """Remove the flag from every version below ``top``; returns a sentence if some still have it, else ""."""
        p = self.profile
        left: list[str] = []
        try:
            # All of them, not only the base's: a writer that died before its last step has left its flag too.
            flagged = list(self._documents.of(id, where={p.current: {"$exists": True}}))
        except Refused as error:
            return f"Earlier versions may still carry {p.current}: {error}"
        highest = place_of(top)
        for raw in flagged:
            v = c.get(raw, (p.version,))
            place = place_of(v)
            # A version above is somebody's next one, and keeps its flag.
            if place is None or highest is None or place >= highest or not is_flagged(c.get(raw, (p.current,))):
                continue
            try:
                physical = guards.physical_id(raw)
                end = run(self.server, self._unflag(raw), partial(self._without_flag, physical))
            except Refused as error:
                end = End("refused", str(error))
            if end.kind not in ("applied", "conflict"):  # a conflict: somebody else has removed the flag or the version
                left.append(version_name(v))
        if not left:
            return ""
        return f"{', '.join(left)} may still carry {p.current}; the next edit takes it away."

    def _unflag(self, raw: bytes) -> Write:
        """The guarded write that removes the flag from one version, in the way this collection does it."""
        p, where = self.profile, self._as_read(raw)
        flag = c.get(raw, (p.current,))
        note = f"{version_name(c.get(raw, (p.version,)))} loses {p.current}"
        moved = self.foreign.moved(raw)
        if flag is not None and self._lowers_to_false(raw):
            return Write(self.ns, "update", where, {"$set": {p.current: Value.of(False), **moved}}, note)
        sets = {"$set": moved} if moved else {}
        return Write(self.ns, "update", where, {"$unset": {p.current: Value.of("")}, **sets}, note)

    def _as_read(self, raw: bytes) -> dict[str, Any]:
        """The clauses that a version's document, number and flag are as they were read."""
        p, physical = self.profile, guards.physical_id(raw)
        where = guards.by_id(physical) | self.foreign.clauses(raw)
        for name in (p.id, p.version, p.current):
            where |= guards.exact(name, c.get(raw, (name,)))
        return where

    def _lowers_to_false(self, raw: bytes) -> bool:
        """Whether earlier versions of this document have the flag set to false instead of lacking it."""
        p = self.profile
        id = c.get(raw, (p.id,))
        # Applications that query for `false` would not find a version without the field.
        return id is not None and self._documents.any({p.id: {"$eq": id}, p.current: {"$eq": Value.of(False)}})

    def _without_flag(self, physical: Value) -> bool:
        raw = next(iter(self.server.find(self.ns, guards.by_id(physical), limit=1)), None)
        return raw is None or not is_flagged(c.get(raw, (self.profile.current,)))
