"""``stream``: the current version in one collection; an archive fed from a change stream or the oplog.

Stored: ``{_id, v, …}``, and in the archive a row for each version, including the current one once the feeder has seen
it. Indexes: ``_id``; the archive's belong to its feeder: ``palimpsest feed`` (``model.feed``), or another program.

The swap, one write: filter ``_id``, version and token, by type, and the values that the edit replaces; operators name
only the changes. The archive is never written from here.

Crash points: before the write nothing has happened, after it everything has. In doubt the token is searched in the
current document and in the archive; if the feeder is behind and others have written since, the outcome is unknown.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from model.checks.chains import Chains
from model.checks.rules import DamageDraft
from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Contents, Outcome, Version
from model.layouts.archive_reader import BEHIND, PHANTOM, ArchiveReader
from model.layouts.base import Layout
from model.server import guards
from model.server.retry import Port
from model.storage import document_ids, feed_state, numbering
from model.storage.current_documents import CurrentDocuments
from model.storage.current_writer import CurrentWriter, Landing, VersionGuard, guarded_besides
from model.storage.gaps import missing
from model.storage.reserved_fields import own_of, place_of
from model.storage.swap_steps import Stamp, SwapSteps
from model.text.names import version_name
from model.values import canonical as c
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.recognition.sampling import Proposal, Sample

_WAITING = "not in the archive yet"
_OVERWRITTEN = "lost: overwritten before it could be archived"
_TAKEN_BACK = "taken back by a failover or a restored backup, or of a document before this one"
_DELETED = "lost: deleted before it could be archived"


class Stream(Layout):
    """Current documents, with an archive that others feed."""

    name = "stream"
    about = "an archive fed by a change stream"
    where = "every version is copied to {archive}"
    roles = ("id", "version", "token", "archive", "archive_id")
    defaults: ClassVar[Mapping[str, str]] = {"archive": "{ns}_history"}
    lacks = "no second collection with versions of its documents was found."
    fed = True
    holds_current = True

    archive: ArchiveReader

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        self.own = own_of(profile)
        current = CurrentDocuments(server, profile, self.own)
        self.reader = self.archive = ArchiveReader(current, self.holds_current)
        landing = Landing(self.archive.landed_before, history=self.archive.history, lags=True)
        self.writer = self._writer = CurrentWriter(server, current, VersionGuard(current), landing)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest second collection."""
        from model.recognition import find_archives

        return find_archives.picked(server, sample, others, find_archives.FED)

    # --- the place of the feed

    @property
    def standing(self) -> str:
        """How far the archive's feed has come, one sentence; "" if it records no place that we know."""
        place = feed_state.place(self.server, self.ns, self.archive.ns)
        if place is None:
            return feed_state.unread(self.server, self.ns, self.archive.ns)
        way = ", by polling" if place.way == "polling" else ""
        return f"{place.words[0].upper()}{place.words[1:]}{way}."

    def history(self, id: Value, contents: Contents = False) -> Iterator[Version]:
        """The versions in document and archive, with notes on those that the feed has not delivered."""
        known: dict[tuple[str, int | None], dt.datetime | None] | None = None
        waiting = lost = False
        top: Version | None = None
        for version in self.archive.history(id, contents):
            if version.current and version.detail.startswith(BEHIND):
                waiting = True
                if place := feed_state.place(self.server, self.ns, self.archive.ns):
                    version = version.but(detail=f"{version.detail}; {place.words}")
            elif not version.current and known is None:
                known = feed_state.notes(self.server, self.ns, self.archive.ns, id)
                if top is None:  # no current version, so only the notes tell of versions lost at the end
                    yield from _lost_above(place_of(version.v), known)
            top = top or version
            if version.state == "missing" and version.v is not None:
                lost = lost or (feed_state.LOST, place_of(version.v)) in (known or ())
                if lost or waiting:
                    version = version.but(detail=_OVERWRITTEN if lost else _WAITING)
            elif not version.current:
                waiting = lost = False
                version = _as_noted(version, known or {})
            yield version

    @property
    def check(self) -> Chains:
        """The check of an archive; adds when a document was deleted, if its feed saw that."""
        return replace(self.archive.check, more=self._ended_when)

    def _ended_when(self, draft: DamageDraft) -> str:
        if draft.code != "A5" or not draft.rests_on or (v := draft.rests_on[0].v) is None:
            return ""
        at = self.ended_at(draft.id, v)
        return f"deleted {at:%Y-%m-%d %H:%M:%S} UTC as its feed saw" if at is not None else ""

    def follows(self, id: Value, base: Version) -> Version | None:
        """The newest archived version."""
        return self.archive.newest(id)

    def ended_at(self, id: Value, v: Value) -> dt.datetime | None:
        """When the feed saw that a document was deleted; None if it did not."""
        return feed_state.deleted(self.server, self.ns, self.archive.ns, id, v)

    # --- writing

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """A single guarded update."""
        raw, _ = self._check(base)
        v = v or numbering.following(base.v, self.profile, stamp.at)
        return self._writer.swap(base, content, self._writer.own_values(raw, content, stamp, v))

    def explain(self, base: Version) -> str:
        """The guard of the swap, and who archives."""
        also = guarded_besides(self.profile)
        return (
            f"The swap applies only if {self.profile.version} is still {version_name(base.v).removeprefix('v')}{also}."
            f" {self.archive.ns} follows by its own feed."
        )

    def purgeable(self, version: Version) -> str:
        """The reason why nothing is purged: the archive belongs to its feeder, so nobody removes its rows from here."""
        return (
            f"The earlier versions are rows of {self.archive.ns}, which belong to its feed and are not removed from "
            "here; delete the document, and remove the rows where the feed is run."
        )

    def put_back(self, removed: Sequence[tuple[str, bytes]]) -> Outcome:
        """Insert a removed document again; ``conflict`` if the archive has later versions, whose numbers are taken."""
        p, ((_, raw),) = self.profile, removed
        id = document_ids.id_of(raw, p.id) or guards.physical_id(raw)
        above = guards.exact(p.archive_id, id) | {p.version: {"$gt": c.get(raw, (p.version,))}}
        try:
            return self.archive.lived_again(id) if self.archive.any(above) else super().put_back(removed)
        except Refused as error:
            return Outcome("refused", self.ns, id, str(error))

    def _first_number(self, id: Value, content: bytes, stamp: Stamp) -> Value | None:
        return numbering.draw(self.server, self.profile, id, self.archive.above_archive(id, stamp))

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """The archive's rows first, so that a document never appears without its history."""
        return self.archive.as_stored(id, versions)


def _lost_above(place: int | None, known: Collection[tuple[str, int | None]]) -> Iterator[Version]:
    """The versions above the newest archived one that the feed could not archive, newest first."""
    above = {
        at for what, at in known if what == feed_state.LOST and at is not None and place is not None and at > place
    }
    for at in sorted(above, reverse=True):
        yield missing(at, _DELETED)


def _as_noted(version: Version, known: Mapping[tuple[str, int | None], dt.datetime | None]) -> Version:
    """An archived version with what the feed noted of it later."""
    place = place_of(version.v)
    if version.detail == PHANTOM and (feed_state.TAKEN_BACK, place) in known:
        return version.but(detail=f"{_TAKEN_BACK}; {PHANTOM}")
    if version.state == "present" and not version.detail:
        return version.but(detail=_what_became(place, known))
    return version


def _what_became(place: int | None, known: Mapping[tuple[str, int | None], dt.datetime | None]) -> str:
    """The feed's later note on an archived version; "" if there is none."""
    words = ["changed in place later, before the next version"] if (feed_state.IN_PLACE, place) in known else []
    if (feed_state.TAKEN_BACK, place) in known:
        words.append(_TAKEN_BACK)
    if (feed_state.DELETED, place) in known:
        at = known[feed_state.DELETED, place]
        words.append("the document was deleted after it" + (f", {at:%Y-%m-%d %H:%M:%S} UTC" if at else ""))
    return "; ".join(words)
