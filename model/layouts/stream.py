"""``stream``: the current version in one collection; an archive that is fed by a change stream or the oplog.

Stored: as in ``archive``, but the archive holds the current version too, once the feeder has come by. Indexes: ``_id``;
the archive's belong to its feeder: ``palimpsest feed`` (``model.feed``), or another program.

The swap, one write: filter ``_id``, version and token, by type, and what the edit replaces; operators name only what
changed. The archive is never written from here.

Crash points: before the write nothing has happened, after it everything has. In doubt the token is looked for in the
current document and in the archive; where the feeder is behind and others have written since, the outcome is unknown.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import ClassVar

from model.layouts import feed_state, numbering
from model.layouts.archive_reader import WithArchive
from model.layouts.base import Stamp
from model.layouts.checks.chains import Chains
from model.layouts.checks.rules import DamageDraft
from model.layouts.gaps import missing, outlined, with_gaps
from model.layouts.recognition import find_archives
from model.layouts.recognition.sampling import Proposal, Sample
from model.layouts.reserved_fields import number_of, place_of
from model.names import version_name
from model.records import Outline, Version
from model.server.retry import Port, Write
from model.values.canonical import Value

_BEHIND = "archive "
_WAITING = "not in the archive yet"
_OVERWRITTEN = "lost: overwritten before it could be archived"
_DELETED = "lost: deleted before it could be archived"


class Stream(WithArchive):
    """Current documents with an archive that others feed."""

    name = "stream"
    about = "an archive fed by a change stream"
    where = "every version is copied to {archive}"
    roles = ("id", "version", "token", "archive", "archive_id")
    defaults: ClassVar[Mapping[str, str]] = {"archive": "{ns}_history"}
    lacks = "no second collection with versions of its documents was found."
    holds_current = True

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest second collection."""
        return find_archives.picked(server, sample, others, cls.name)

    # --- how far the archive is

    @property
    def standing(self) -> str:
        """How far the archive's feed has come, a sentence; "" where it keeps no place that we know."""
        place = feed_state.place(self.server, self.ns, self.archive)
        if place is None:
            return ""
        way = ", by polling" if place.way == "polling" else ""
        return f"{place.words[0].upper()}{place.words[1:]}{way}."

    def history(self, id: Value, contents: bool = False) -> Iterator[Version]:
        """As of any archive; what the feed has not brought yet, or never could, says so."""
        known: dict[tuple[str, int | None], dt.datetime | None] | None = None
        waiting = lost = False
        top: Version | None = None
        for version in super().history(id, contents):
            if version.current and version.detail.startswith(_BEHIND):
                place = feed_state.place(self.server, self.ns, self.archive)
                waiting = True
                version = replace(version, detail=f"{version.detail}; {place.words}" if place else version.detail)
            elif not version.current and known is None:
                known = feed_state.notes(self.server, self.ns, self.archive, id)
                if top is None:  # no current version: what was lost at the end is told by nothing else
                    yield from _lost_above(place_of(version.v), known)
            top = top or version
            if version.state == "missing" and version.v is not None:
                lost = lost or (feed_state.LOST, place_of(version.v)) in (known or ())
                if lost or waiting:
                    version = replace(version, detail=_OVERWRITTEN if lost else _WAITING)
            elif not version.current:
                waiting = lost = False
                if version.state == "present" and not version.detail:
                    version = replace(version, detail=_what_became(place_of(version.v), known or {}))
            yield version

    def _joined(self, current: Version | None, rows: Iterator[Version]) -> Iterator[Version]:
        first = next(rows, None)
        if current is not None and current.state == "present" and (said := _behind(current, first)):
            current = replace(current, detail=said)
        return super()._joined(current, rows if first is None else chain([first], rows))

    def _outlined(self, id: Value, currents: list[Version], rows: list[Version]) -> Outline:
        made = super()._outlined(id, currents, rows)
        current, first = next(iter(currents), None), next(iter(rows), None)
        if current is None or current.state != "present" or not _behind(current, first):
            return made
        top = (place_of(first.v) if first is not None else None) or 0
        versions = with_gaps(self._joined(current, iter(rows)))
        # What is between the archive and the current version is not missing: it has not come yet.
        kept = [one for one in versions if one.state != "missing" or (number_of(one.v) or 0) < top]
        return replace(outlined(id, kept), marks=made.marks)

    @property
    def check(self) -> Chains:
        """As of any archive; of a document that is gone it tells when, where its feed saw that."""
        return replace(super().check, more=self._ended_when)

    def _ended_when(self, draft: DamageDraft) -> str:
        if draft.code != "A5" or not draft.rests_on or (v := draft.rests_on[0].v) is None:
            return ""
        at = feed_state.deleted(self.server, self.ns, self.archive, draft.id, v)
        return f"deleted {at:%Y-%m-%d %H:%M:%S} UTC as its feed saw" if at is not None else ""

    # --- writing

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> list[Write]:
        """The one guarded update."""
        v = v or numbering.following(base.v, self.profile, stamp.at)
        return [self._swap_write(base, content, self._own_values(base, content, stamp, v), "the swap")]

    def explain(self, base: Version) -> str:
        """What the swap is guarded by, and who archives."""
        token = f" and {self.profile.token} is unchanged" if self.profile.token else ""
        return (
            f"The swap applies only if {self.profile.version} is still {version_name(base.v).removeprefix('v')}{token}."
            f" {self.archive} follows by its own feed."
        )

    def _next(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> Value | None:
        proposed = numbering.following(base.v, self.profile, stamp.at)
        return numbering.draw(self.server, self.profile, id, proposed)

    def _first(self, id: Value, content: bytes, stamp: Stamp) -> Value | None:
        return numbering.draw(self.server, self.profile, id, self.above_archive(id, stamp))


def _lost_above(place: int | None, known: Collection[tuple[str, int | None]]) -> Iterator[Version]:
    """The versions that the feed could not archive above the newest one that it did, newest first."""
    above = {
        at for what, at in known if what == feed_state.LOST and at is not None and place is not None and at > place
    }
    for at in sorted(above, reverse=True):
        yield missing(at, _DELETED)


def _what_became(place: int | None, known: Mapping[tuple[str, int | None], dt.datetime | None]) -> str:
    """What the feed saw of an archived version later; "" where that is nothing but the next one."""
    words = ["changed in place later, before the next version"] if (feed_state.IN_PLACE, place) in known else []
    if (feed_state.DELETED, place) in known:
        at = known[feed_state.DELETED, place]
        words.append("the document was deleted after it" + (f", {at:%Y-%m-%d %H:%M:%S} UTC" if at else ""))
    return "; ".join(words)


def _behind(current: Version, newest: Version | None) -> str:
    """How far the archive is behind, in a few words; "" where it holds the current version, or more."""
    here, there = place_of(current.v), place_of(newest.v) if newest is not None else None
    if here is None or (there is not None and there >= here):
        return ""
    number = number_of(current.v)
    if number is None:
        return f"{_BEHIND}behind"
    lag = number - (there or 0)
    return f"{_BEHIND}{lag:,} version{'' if lag == 1 else 's'} behind"
