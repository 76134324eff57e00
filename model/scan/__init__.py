"""Scans a source for broken states: one document, collections, a database or everything.

A scan streams and keeps little of what it reads. If a layout was recognised rather than stated, the findings of its
collection wait (on disk if there are many) until it is known whether they contradict the layout. A scan can be
stopped between documents and resumed from its mark. A gentle one, for production, reads in small batches with rests
between them, from a secondary if there is one; a finding is always read again from the primary before it is reported.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from model import text
from model.catalogue import recognise, verdict
from model.catalogue.catalogue import Catalogue
from model.checks.base import Check
from model.checks.chains import Chains
from model.checks.damage_tally import UNTIL_STATED, ClassOf, DamageTally
from model.checks.ordered_reading import OrderedReading
from model.checks.single_documents import SingleDocuments
from model.errors import Cancelled, NotAllowed, NotFound, Refused, Unreachable, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Finding, Unchecked
from model.foundation.records import Checkpoint, CollectionInfo, no_checkpoint
from model.layouts.registry import counts_of
from model.scan.division import Division
from model.scan.entries import Entries
from model.scan.parts import CollectionBegun, CollectionDone
from model.scan.sequences import Sequences
from model.scan.tokens import Tokens
from model.scan.waiting import Waiting
from model.server.retry import Port
from model.values import canonical
from model.values.canonical import Value

__all__ = ["Finding", "Mark", "Pace", "Scan", "ScanEstimate", "Summary", "Unchecked"]

Pace: TypeAlias = Literal["gentle", "fast"]
DIVIDED = 1000  # a collection with this many documents is read in parts
TIMED, PROBE_MS = 500, 2000  # documents read to measure the time for one
EXAMINED = 0.0001  # seconds to check one document here
QUARANTINE, COPY = "quarantine", {"from", "doc"}


class Mark(Struct, frozen=True):
    """How far a scan has come: the finished collections, and where to resume in the next."""

    done: tuple[str, ...] = ()  # collections that are done
    ns: str = ""
    after: Value | None = None  # the last finished id of that collection; None: start it from the beginning

    def to_text(self) -> str:
        """The mark as JSON."""
        after = None if self.after is None else text.value_text(self.after)
        return json.dumps({"done": list(self.done), "ns": self.ns, "after": after})

    @classmethod
    def from_text(cls, written: str) -> Mark:
        """The inverse of :meth:`to_text`; raises ``Unreadable``."""
        try:
            kept = json.loads(written)
            after = None if kept["after"] is None else text.value_from_text(kept["after"])
            return cls(tuple(map(str, kept["done"])), str(kept["ns"]), after)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Unreadable("This is not a mark of a scan; start again.") from None


class Summary(Struct, frozen=True):
    """The work of a scan so far, in numbers."""

    documents: int  # stored documents read, including archives
    seconds: float
    findings: int
    unchecked: tuple[Unchecked, ...]
    whole: bool  # it reached its end
    counts: Mapping[str, int] = field(default_factory=dict)  # findings by class
    read_in_vain: int = 0  # stored documents in collections without any judged history

    @property
    def in_vain(self) -> bool:
        """Whether nothing that was requested could be checked, so that nothing is known about it."""
        unchecked = sum(1 if each.id is not None else (each.left_out or (0, ""))[0] for each in self.unchecked)
        return bool(self.unchecked) and not self.findings and self.documents - self.read_in_vain <= unchecked


class ScanEstimate(Struct, frozen=True):
    """How much a scan would read, estimated from counts and a few timed documents."""

    collections: int
    documents: int  # stored ones, including archives, as far as counted
    uncounted: int  # collections not counted within the time limit
    each: float  # seconds that one document takes

    def seconds(self, pace: Pace) -> float:
        """Roughly how long it takes; a gentle scan rests as long as it works."""
        return self.documents * self.each * (2 if pace == "gentle" else 1)


class Scan:
    """A running scan: iterate over it once, for findings and unchecked documents as they become known."""

    def __init__(
        self,
        catalogue: Catalogue,
        server: Port,
        class_of: ClassOf,
        places: Sequence[str] = (),
        ids: Sequence[Value] | None = None,
        pace: Pace = "fast",
        checkpoint: Checkpoint = no_checkpoint,
        now: dt.datetime | None = None,
        mark: Mark | None = None,
        primary: Port | None = None,
    ) -> None:
        """``places`` are collections and databases (default: all databases); ``ids`` needs a single collection.

        ``class_of`` tells a class of damage by its code.

        ``checkpoint`` receives the documents read and their total; it may wait, and raises to stop.
        """
        if ids is not None and len(places) != 1:
            raise Refused("Documents are scanned in one collection at a time; name just that one.")
        self._catalogue, self._server, self._places, self._ids = catalogue, server, places, ids
        self._class_of = class_of
        self._primary = primary  # set if other reads may lag behind it
        self._now = now or dt.datetime.now(dt.UTC)
        self._reading = OrderedReading(server, checkpoint, pace == "gentle")
        self._mark = mark or Mark()
        self._begun = time.monotonic()
        self._seconds: float | None = None
        self._counts: Counter[str] = Counter()
        self._unchecked: list[Unchecked] = []
        self._read_in_vain = 0
        self._whole = False

    @property
    def mark(self) -> Mark:
        """Where a new scan can resume if this one is stopped now."""
        return self._mark if self._reading.last is None else replace(self._mark, after=self._reading.last)

    @property
    def summary(self) -> Summary:
        """The work done so far, in numbers."""
        seconds = time.monotonic() - self._begun if self._seconds is None else self._seconds
        counts = dict(self._counts)
        documents, findings = self._reading.documents, sum(counts.values())
        return Summary(documents, seconds, findings, tuple(self._unchecked), self._whole, counts, self._read_in_vain)

    def __iter__(self) -> Iterator[Finding | Unchecked]:
        """Scan; raises ``NotFound`` for a missing place, ``Unreachable``, and the checkpoint's errors."""
        self._begun = time.monotonic()
        try:
            for found in self._all():
                yield self._noted(found)
            self._whole = True
        finally:
            self._seconds = time.monotonic() - self._begun

    def _noted(self, found: Finding | Unchecked) -> Finding | Unchecked:
        """A result, after counting it."""
        if isinstance(found, Finding):
            self._counts[found.code] += 1
        else:
            self._unchecked.append(found)
        return found

    def estimate(self) -> ScanEstimate:
        """How much there is to read; reads only a few documents of the largest collection."""
        infos = [info for info in self._listed() if not _why_not(info)]
        counted = [info for info in infos if info.documents is not None]
        documents = _total(counted, self._catalogue) or 0
        largest = max(counted, key=lambda info: info.documents or 0, default=None)
        begun, read = time.monotonic(), 0
        # The largest, because it decides how long the whole scan takes.
        for _ in () if largest is None else self._server.find(largest.ns, limit=TIMED, max_ms=PROBE_MS):
            read += 1
        each = (time.monotonic() - begun) / read if read else 0.0
        return ScanEstimate(len(infos), documents, len(infos) - len(counted), each + EXAMINED)

    def _all(self) -> Iterator[Finding | Unchecked]:
        infos = self._listed()
        yield from self._left_out()
        self._reading.total = None if self._ids is not None else _total(infos, self._catalogue)
        begun, after = self._mark.ns, self._mark.after
        for info in infos:
            if info.ns in self._mark.done:
                continue
            self._reading.after, self._reading.last = (after, after) if info.ns == begun else (None, None)
            self._mark = Mark(self._mark.done, info.ns, self._reading.after)
            yield from self._one(info)
            self._reading.last = None
            self._mark = Mark((*self._mark.done, info.ns))

    def in_part(self, number: int, of: int) -> Iterator[CollectionBegun | Finding | Unchecked | CollectionDone]:
        """The part ``number`` of a divided scan: findings as they are read, between the bounds of each collection.

        A collection that cannot be divided belongs to one part completely. If no collection at all can be checked,
        every part's summary says so, though only one part reports it.
        """
        infos, left = self._listed(), [*self._left_out()]
        barred = all(map(_why_not, infos))
        if number == 1:
            yield from map(self._noted, left)
        elif barred:
            self._unchecked += left
        self._reading.total = None
        for at, info in enumerate(infos):
            # What cannot be divided goes to the parts in turn, so that no part gets all of it.
            bounds = self._bounds(info, of) or [None] * (at % of + 1 == number)
            whole = len(bounds) == 1
            said = self._said_before(info)
            if not bounds:
                self._unchecked += said if barred else []
                continue
            before, in_vain = self._reading.documents, self._read_in_vain
            part = (None, None) if whole else (bounds[number - 1], bounds[number])
            self._reading.after, self._reading.part = None, None if whole else part
            self._reading.histories = 0
            yield CollectionBegun(at, info.ns, info.layout, self._catalogue.is_stated(info.ns), whole, *part)
            # Told by one part alone; the others only count it, or the joined result would say it several times.
            if number == 1 or whole:
                yield from map(self._noted, said)
            else:
                self._unchecked += said
            if not _why_not(info):
                yield from map(self._noted, self._judged(info, bool(said), self._looked_through(info)))
            read, in_vain = self._reading.documents - before, self._read_in_vain - in_vain
            yield CollectionDone(self._reading.histories, read, in_vain)
            self._reading.part = None

    def _bounds(self, info: CollectionInfo, of: int) -> list[Value | None]:
        """The ids that divide a collection into parts, with None at both ends; [] if it cannot be divided."""
        check = None if _why_not(info) else self._check(info.ns)
        name = check.ordered_by if isinstance(check, Chains | SingleDocuments) else ""
        if not name or (info.documents or 0) < DIVIDED:
            return []
        found = Division(self._server, info.ns, name, info.documents or 0).bounds(of)
        return [None, *found, None] if found is not None else []

    def _said_before(self, info: CollectionInfo) -> list[Unchecked]:
        """Reports about a collection before it is read."""
        if why := _why_not(info):
            return [Unchecked(info.ns, why)]
        return [Unchecked(info.ns, info.doubt)] if info.doubt and info.unversioned else []

    def _one(self, info: CollectionInfo) -> Iterator[Finding | Unchecked]:
        said = self._said_before(info)
        yield from said
        if _why_not(info):
            return
        found = self._looked_through(info) if self._catalogue.is_stated(info.ns) else self._weighed(info)
        yield from self._judged(info, bool(said), found)

    def _judged(
        self, info: CollectionInfo, doubted: bool, found: Iterator[Finding | Unchecked]
    ) -> Iterator[Finding | Unchecked]:
        """The results from a collection; also notes how much was read without judging any history."""
        self._reading.histories, before, broken_off = 0, self._reading.documents, False
        for each in found:
            broken_off = broken_off or (isinstance(each, Unchecked) and each.id is None and each.left_out is None)
            yield each
        if doubted or (broken_off and not self._reading.histories and isinstance(self._check(info.ns), Chains)):
            self._read_in_vain += self._reading.documents - before

    def _looked_through(self, info: CollectionInfo) -> Iterator[Finding | Unchecked]:
        try:
            found = self._check(info.ns).findings(self._ids, self._now, self._reading)
            yield from found if self._primary is None else self._confirmed(info.ns, found, self._primary)
        except (Unreachable, Cancelled):
            raise
        except NotAllowed as error:
            yield Unchecked(info.ns, str(error))
        except Refused as error:
            yield Unchecked(info.ns, f"It could not be looked through to its end: {error}")

    def _confirmed(self, ns: str, found: Iterator[Finding | Unchecked], primary: Port) -> Iterator[Finding | Unchecked]:
        """The findings confirmed by the primary, without those caused by a secondary's lag.

        A document with a finding is read again from the primary, once, and these results are reported. Damaged bytes
        are never caused by a lag, and counters are always read from the primary.
        """
        looked: set[Value] = set()
        for each in found:
            if isinstance(each, Unchecked) or each.id is None or not self._class_of(each.code).may_be_lag:
                yield each
            # Once for each document: the fresh look reports all that is wrong with it.
            elif each.id not in looked:
                looked.add(each.id)
                check = self._check(ns, primary)
                yield from check.findings([each.id], self._now, OrderedReading(primary))

    def _weighed(self, info: CollectionInfo) -> Iterator[Finding | Unchecked]:
        """The findings of a collection with a recognised layout, once it is known whether they contradict it.

        An error that ends the reading is raised after the findings so far.
        """
        begun, trouble = self._reading.last, None
        tally = DamageTally(info.ns, self._class_of)
        # Held back until the end: only all findings together show whether the layout itself is wrong.
        with closing(Waiting()) as waiting:
            try:
                for each in self._looked_through(info):
                    waiting.add(each)
                    if isinstance(each, Finding):
                        tally.note(each)
            except (Unreachable, Cancelled, KeyboardInterrupt) as error:
                trouble = error
            if self._ids is None:
                why = tally.speaks_against(info.layout, self._reading.histories)
                # A part of a collection, or a broken-off look, must not become the verdict on all of it.
                if trouble is None and begun is None:
                    self._catalogue.judge(info.ns, why)
            else:
                why = self._doubt_of_others(info) if tally else ""
            why = why and f"{why} {UNTIL_STATED}"
            done, self._reading.last = self._reading.last, begun  # findings not yet reported do not count as done
            for each in waiting:
                yield replace(each, repair=None, doubt=why) if why and isinstance(each, Finding) else each
            self._reading.last = done
        if trouble is not None:
            raise trouble

    def _doubt_of_others(self, info: CollectionInfo) -> str:
        """The doubt that a complete scan would probably have, if only some documents are scanned."""
        id = self._catalogue.known(info.ns)[1].id
        try:
            check = self._check(info.ns)
            return verdict.damage_in_some(self._server, info, check, id, self._now, self._class_of)
        except (Unreachable, Cancelled):
            raise
        except Refused:
            return ""  # it takes too long to tell

    def _check(self, ns: str, port: Port | None = None) -> Check:
        profile, server = self._catalogue.known(ns)[1], port or self._server
        match counts_of(profile.layout):
            case "numbers":
                return Sequences(self._primary or server, profile, self._countable(profile))
            case "tokens":
                return Tokens(server, profile)
            case "entries":
                return Entries(server, profile)
        return self._catalogue.layout(ns).check

    def _countable(self, profile: CollectionProfile) -> Mapping[str, CollectionProfile]:
        """The collections that counters may count: those of their database, or those in the profile."""
        names = [ns for ns, _ in profile.targets.values()]
        if not names:
            names = [i.ns for i in self._catalogue.collections(profile.ns.partition(".")[0]) if i.belongs_to is None]
        found = {}
        for ns in names:
            try:
                found[ns] = self._catalogue.known(ns)[1]
            except (NotFound, NotAllowed):
                continue
        return found

    # --- where

    def _listed(self) -> list[CollectionInfo]:
        """The collections to scan, each once: an archive is scanned with the collection it belongs to."""
        found: dict[str, CollectionInfo] = {}
        places: Sequence[str | None] = self._places or [None]
        for place in places:
            if place is not None and "." in place:
                info = self._catalogue.info(place)
                if info.belongs_to is not None:
                    info = self._catalogue.info(info.belongs_to)
                found.setdefault(info.ns, info)
                continue
            for info in self._catalogue.collections(place):
                # The copies in a quarantine are damaged on purpose.
                if info.belongs_to is None and not self._keeps_copies(info):
                    found.setdefault(info.ns, info)
        return list(found.values())

    def _left_out(self) -> Iterator[Unchecked]:
        """The databases whose collections the user may not list, or only in part."""
        databases = [each for each in self._places if "." not in each]
        for place, why in self._catalogue.unseen.items():
            if "." not in place and (place in databases or not self._places):
                yield Unchecked(place or "*", why)

    def _keeps_copies(self, info: CollectionInfo) -> bool:
        """Whether a collection is the quarantine of repairs rather than another collection of that name."""
        if info.ns.partition(".")[2] != QUARANTINE or _why_not(info):
            return False
        try:
            first = next(iter(self._server.find(info.ns, limit=1)), None)
            # By its rows, not by its name alone: somebody's own collection may be called that.
            return first is None or {name for name, _ in canonical.fields(first)} >= COPY
        except Refused:
            return False  # then the scan reports why it cannot be read


def _why_not(info: CollectionInfo) -> str:
    """Why a collection is not scanned, one sentence; "" if it is."""
    no_collection = info.why in recognise.WHY_NOT.values() or info.why.startswith("Of the kind")
    unread = info.documents is None and info.unversioned
    return info.why if unread and (no_collection or info.confidence == 0.0) else ""


def _total(infos: Sequence[CollectionInfo], catalogue: Catalogue) -> int | None:
    """The number of stored documents to read; None if some were not counted."""
    total = 0
    for info in infos:
        if info.documents is None:
            if _why_not(info):
                continue
            return None
        total += info.documents
        archive = catalogue.known(info.ns)[1].archive
        if archive:
            try:
                total += catalogue.info(archive).documents or 0
            except Refused:
                continue
    return total
