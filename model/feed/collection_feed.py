"""One collection's feed, from its change stream, or by polling if the server has none.

Events are handled one by one: the version is inserted into the archive, or the reason why that is impossible is noted
in the ledger; only then the place moves. If a feeder dies in between, the next run meets the event again, finds the
version in the archive with equal content, and continues.

An update's event carries the document as it is when the event is read, perhaps in a later version. The version in
between is rebuilt from the one before and the event's change, and archived only if that proves it. The one before is
certain if it is the document after the event before, or the archive's row with the number before. For a row, the feed
must have had no gap since, and no change in place may be noted.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from model.errors import Cancelled, NotAllowed, Refused, Unreadable
from model.feed import change_event
from model.feed.archive_comparison import compared, gap_below, told
from model.feed.archive_rows import ArchiveRows
from model.feed.change_event import ChangeEvent
from model.feed.fed import Fed
from model.feed.ledger import Ledger, What
from model.feed.recent_documents import RecentDocuments
from model.layouts.base import Layout
from model.server.change_stream import Changes, HistoryLost, NoChanges, Take, TooLarge
from model.server.guards import by_id
from model.server.retry import Port
from model.storage.feed_state import TAKEN_BACK, Place
from model.storage.reserved_fields import number_of, unreadable, version_damage, whole_number
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

FIRST, MOST = 4, 200


class BatchSize(Struct):
    """The batch size to request now, and for how many more events."""

    take: Take = "many"
    left: int = 0
    stretch: int = FIRST  # events to take singly the next time that one is too large

    def narrower(self) -> bool:
        """Request less after an answer that was too large; False if it is the minimum already."""
        if self.take == "bare":
            return False
        if self.take == "one":
            self.take, self.left = "bare", 1
        else:
            self.take, self.left, self.stretch = "one", self.stretch, min(2 * self.stretch, MOST)
        return True

    def taken(self) -> bool:
        """Count an event as handled; returns whether to request more from now on."""
        if self.take == "many":
            self.stretch = FIRST
            return False
        self.left -= 1
        if self.left:
            return False
        self.take, self.left = ("one", self.stretch) if self.take == "bare" else ("many", 0)
        return True


KEPT_EVERY = 200  # events after which the place is kept, at the latest
KEPT_AFTER = 10.0  # seconds after which a place that only moved past events of other collections is kept
LOOKED_BACK = 1000  # versions of a deleted document at which its delete may be noted already
TOLD = 100_000  # lost versions remembered as told; beyond that, the ledger is asked


class FeedPort(Port, Protocol):
    """What a feeder needs of a server."""

    def changes(
        self, ns: str, after: bytes | None = None, wait_ms: int = 1000, images: bool = False, take: Take = "many"
    ) -> Changes:
        """The changes of a collection from now on, or after a resume token."""


class CollectionFeed:
    """The feed of one collection. Each step raises ``Refused`` if it cannot continue; the next one tries again."""

    def __init__(
        self, server: FeedPort, layout: Layout, wait_ms: int, once: bool = False, stop: Callable[[], bool] = bool
    ) -> None:
        self.server, self.layout = server, layout
        self._once, self._stop = once, stop
        self.ns = layout.ns
        self.rows = ArchiveRows(server, layout)
        self.ledger = Ledger(server, layout.ns, self.rows.ns)
        self.polling = False
        self.idle = False
        """Whether the last look found nothing to feed; with ``once``, nothing from before the start."""
        self._wait_ms = wait_ms
        self._stream: Changes | None = None
        self._images = False
        self._place = Place()
        self._unkept = 0  # events since the place was kept
        self._kept: bytes | None = None
        self._kept_at = time.monotonic()
        self._quiet = 0
        self._until = ""  # the place in the stream when this feeder began, or had compared everything
        self._states = RecentDocuments()
        self._untold = False
        self._taking = BatchSize()
        self._told: set[tuple[Value | None, Value | None, What]] = set()

    # --- beginning

    def open(self) -> Iterator[Fed]:
        """Continue from the place that was kept; if none can be used, compare the archive with the collection."""
        if self._stream is not None or self.polling:
            return
        if self.rows.prepare():
            yield self._word(f"{self.rows.ns} was empty, and has its unique index now.")
        self._states.clear()
        # What is remembered was seen behind another place, and may be older than the events to come.
        kept = self.ledger.read()
        token = kept.token if kept is not None else None
        self._images = self._keeps_images()
        try:
            stream = self._changes(token)
        except HistoryLost as error:
            yield self._word(f"{error} {self._unknown_since(kept)} Comparing instead.")
            stream, token = self._changes(None), None
        except NoChanges as error:
            self.polling, self._place = True, kept or Place()
            yield self._word(
                f"{error} {self.rows.ns} is fed by polling, which compares versions: those that come and go between "
                "two looks are missed, and so are changes of a document that is deleted before the next."
            )
            return
        self._place = kept or Place()
        self._kept = self._place.token
        try:
            if token is None:
                # The stream is open already, so no change between this comparison and its first event is missed.
                yield from self._compare(first=kept is None)
                # Kept right after the comparison: a feeder that ends now need not compare everything again.
                self._place = Place(stream.token, self._place.at)
                self._keep()
                yield self._word(f"{self.rows.ns} is fed from the change stream from now on.")
            else:
                at = f" of {self._place.at:%Y-%m-%d %H:%M:%S} UTC" if self._place.at else ""
                yield self._word(f"{self.rows.ns} is fed from the change stream, going on behind the event{at}.")
            # A place in the stream is compared with this one to know when everything before the start was fed.
            self._until = self._now()
        except BaseException:
            stream.close()
            raise
        self._stream = stream

    def _changes(self, token: bytes | None) -> Changes:
        """The stream after a place; takes fewer events at once if the next ones are large."""
        while True:
            try:
                return self.server.changes(self.ns, token, self._wait_ms, self._images, self._taking.take)
            except TooLarge:
                if not self._taking.narrower():
                    raise

    def _reopen(self) -> None:
        """Open the stream again after the last event handled; remembered documents stay valid."""
        assert self._stream is not None
        self._stream.close()
        try:
            self._stream = self._changes(self._place.token)
        except HistoryLost:
            self._drop_stream()  # the next step opens or compares

    def _now(self) -> str:
        """The current place, at which a stream opened now begins; "" if places cannot be compared."""
        probe = self.server.changes(self.ns, None, self._wait_ms)
        try:
            return _comparable(probe.token)
        finally:
            probe.close()

    def _unknown_since(self, kept: Place | None) -> str:
        if kept is None or kept.at is None:
            return "What happened since is not known."
        return f"What happened since {kept.at:%Y-%m-%d %H:%M:%S} UTC is not known."

    def _keeps_images(self) -> bool:
        db, _, name = self.ns.partition(".")
        # A user who may not list collections only loses the images; documents are then looked up.
        with suppress(NotAllowed):
            for each, _, options in self.server.collections(db):
                if each == name:
                    asked = options.get("changeStreamPreAndPostImages")
                    return isinstance(asked, dict) and asked.get("enabled") is True
        return False

    def _compare(self, first: bool) -> Iterator[Fed]:
        for fed in compared(self.layout, self.rows, first, self.lag(), self._stop):
            if fed.taken_back and fed.id is not None:
                # It was deleted and created again, so these versions are of the document before.
                if self.ledger.was_deleted(fed.id, fed.taken_back):
                    continue
                # Every version is noted, although they are told in one sentence: a history looks for each by its
                # number.
                news = [v for v in fed.taken_back if self._news(fed.id, v, TAKEN_BACK, fed.detail)]
                if not news:
                    continue
            elif fed.outcome not in ("applied", "note"):
                what: What = "another content" if fed.outcome == "conflict" else "lost"
                if fed.outcome == "conflict" and fed.id is not None and fed.v is not None:
                    fed = replace(fed, detail=self._used_again(fed.id, fed.v) or fed.detail)
                if not self._news(fed.id, fed.v, what, fed.detail):
                    continue
            yield fed
            if self._stop():
                raise Cancelled

    # --- going on

    def step(self) -> Iterator[Fed]:
        """Handle some of the waiting events; when polling, look once."""
        yield from self.open()
        if self.polling:
            yield from self._compare(first=self._place.saved is None)
            now = dt.datetime.now(dt.UTC)
            self._place = Place(None, now, now, "polling")
            self._keep()
            self.idle = True
            return
        # A limit for each step, so that other collections get their turn and the place is kept.
        for _ in range(KEPT_EVERY):
            if self._stop():  # between events, so that the place is after the last one handled
                break
            assert self._stream is not None
            try:
                raw = self._stream.next()
            except HistoryLost:
                self._drop_stream()
                yield from self.open()
                return
            except TooLarge:
                if self._place.token is None or not self._taking.narrower():
                    self._drop_stream()
                    raise
                self._reopen()
                return
            except Refused:
                self._drop_stream()
                raise
            if raw is None:
                self._handle_empty()
                break
            self.idle, self._quiet = False, 0
            event = self._usable(raw)
            yield from self._event(event)
            # After the event is handled: a feeder that dies before takes it again, and finds the row there.
            self._place = replace(self._place, token=event.token, at=event.at)
            self._unkept += 1
            self._passed()
            if self._once and self.idle:
                break
            # A drop or rename ends a stream for good; a new one has to begin behind that event.
            if self._stream.ended:
                self._keep()
                self._drop_stream()
                self.idle = True
                return
            if self._taking.taken():
                self._reopen()
                if self._stream is None:
                    return
        if self._unkept >= KEPT_EVERY or (self._unkept and self.idle):
            self._keep()

    def _handle_empty(self) -> None:
        """Handle an empty answer. An event may still be on its way; after two empty answers in a row, none is."""
        assert self._stream is not None
        self._quiet += 1
        moved = self._stream.token
        self.idle = self._quiet >= 2
        # The place moves also past other collections' events, or it would fall out of the server's history while ours
        # is quiet.
        if moved is not None and moved != self._place.token:
            self._place = replace(self._place, token=moved)
            if time.monotonic() - self._kept_at > KEPT_AFTER:
                self._unkept = max(1, self._unkept)
        self._passed()

    def _passed(self) -> None:
        """Note when the place has reached the moment at which this feeder began, or had compared everything."""
        here = _comparable(self._place.token)
        there = bool(here and self._until) and here >= self._until
        if there and self._once:
            self.idle = True
        if (there or self.idle) and not self._place.whole:
            self._place = replace(self._place, whole=True)
            self._unkept = max(1, self._unkept)

    def _keep(self) -> None:
        self.ledger.save(self._place)
        self._unkept, self._kept, self._kept_at = 0, self._place.token, time.monotonic()

    def _drop_stream(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None
        self._quiet = 0
        self._taking = BatchSize()
        self._states.clear()

    def broken(self) -> None:
        """Prepare to begin again from the place that was kept, after an error."""
        self._drop_stream()
        self.polling = False

    def close(self) -> None:
        """Keep the place if the server allows it, and close the stream."""
        if self._stream is not None and (self._unkept or self._place.token != self._kept):
            with suppress(Refused):
                self._keep()
        self._drop_stream()

    def lag(self) -> float | None:
        if self.polling:
            return None
        if self.idle or self._place.at is None:
            return 0.0
        return max(0.0, (dt.datetime.now(dt.UTC) - self._place.at).total_seconds())

    # --- an event

    def _event(self, event: ChangeEvent) -> Iterator[Fed]:
        if self._taking.take == "bare" and event.key is not None and event.kind in ("insert", "replace"):
            yield from self._large(event.key)
            return
        if self._taking.take == "bare" and event.key is not None and event.kind == "update":
            event = replace(event, document=self._document(event.key))
        if event.kind in ("insert", "replace") and event.document is not None and event.key is not None:
            yield from self._version(event.key, event.document)
        elif event.kind == "update" and event.key is not None:
            yield from self._update(event.key, event)
        elif event.kind == "delete" and event.key is not None:
            yield from self._deleted(event.key, event)
        elif event.kind in ("drop", "rename", "dropDatabase"):
            self._states.clear()
            if event.kind == "rename":
                yield self._word(f"{self.ns} was renamed; {self.rows.ns} is left as it is.")
            else:
                yield self._word(f"{self.ns} was dropped; {self.rows.ns} is left as it is.")

    def _usable(self, raw: bytes) -> ChangeEvent:
        """The event; raises ``Refused`` if it cannot be used, so that the place stays before it."""
        todo = f"the feed stays before it. Delete its place in {self.ledger.ns} to go on by comparing instead."
        try:
            event = change_event.read(raw)
        except Unreadable as error:
            raise Refused(f"{str(error).rstrip('.')}; {todo}") from None
        lacks = event.lacks
        if not lacks and event.kind in ("insert", "replace") and event.document is None and self._taking.take != "bare":
            lacks = "with which content"
        if lacks:
            at = f"{event.at:%Y-%m-%d %H:%M:%S} UTC"
            raise Refused(f"The server tells of a change in {self.ns} at {at} ({event.kind}), but not {lacks}; {todo}")
        return event

    def _document(self, key: Value) -> bytes | None:
        """The document as it is now, just as a server looks it up for an update's event."""
        return next(iter(self.server.find(self.ns, by_id(key), limit=1)), None)

    def _large(self, key: Value) -> Iterator[Fed]:
        """Archive the current state of a document that was too large for its event; versions before that are lost."""
        raw = self._document(key)
        id = self._id(key, raw)
        v = c.get(raw, (self.layout.profile.version,)) if raw is not None else None
        gap = None
        if id is not None and v is not None and self.rows.row(id, v) is None:
            gap = gap_below(self.layout, self.rows, id, v)
        if raw is None or gap is not None:
            gone = f"A version of {id_name(id or key)} was deleted before it could be read."
            detail = gone if gap is None or id is None else told(gap, id, "overwritten before they could be read")
            if self._news(id or key, gap and gap[1], "lost", detail):
                yield self._fed("refused", id or key, gap and gap[1], detail)
        if raw is not None:
            yield from self._version(key, raw)
        self._states.put(key, None)  # the next event may be about a version before this one

    def _update(self, key: Value, event: ChangeEvent) -> Iterator[Fed]:
        p = self.layout.profile
        before = self._states.get(key)
        if p.version not in event.touched:
            yield from self._in_place(key, event, before)
            return
        v = event.set_to(p.version)
        # The looked-up document is the one of now, which later updates may have changed already; its number tells.
        if event.document is not None and c.get(event.document, (p.version,)) == v:
            yield from self._version(key, event.document)
            return
        id = self._id(key, event.document or before)
        if before is None and id is not None and v is not None:
            before = self._row_before(key, id, v)
        # Overwritten before it was read, but the event says what it changed, and that can be done again.
        after = event.applied(before) if before is not None else None
        if after is not None and v is not None and c.get(after, (p.version,)) == v:
            yield from self._version(key, after)
            return
        self._states.put(key, None)
        named = version_name(v) if v is not None else "A version without a number"
        detail = f"{named} of {id_name(id or key)} was overwritten before it could be read, and cannot be rebuilt."
        if event.document is None:
            detail = f"{named} of {id_name(id or key)} was deleted before it could be read, and cannot be rebuilt."
        if self._news(id or key, v, "lost", detail):
            yield self._fed("refused", id or key, v, detail)

    def _version(self, key: Value, raw: bytes) -> Iterator[Fed]:
        """Archive a version that an event proves."""
        self._states.put(key, raw)
        p = self.layout.profile
        id, v = self._id(key, raw), c.get(raw, (p.version,))
        wrong = "has no id" if id is None else version_damage(v) or unreadable(raw) or self.rows.unfit(id, raw)
        if wrong or id is None or v is None:
            wrong = wrong if wrong.startswith(("has", "does", "would")) else f"cannot be told: its {wrong}"
            detail = f"A version of {id_name(id or key)} cannot be archived: it {wrong}."
            if self._news(id or key, v, "lost", detail):
                yield self._fed("refused", id or key, v, detail)
            return
        found = self.rows.put(id, v, raw)
        if found == "new":
            yield self._fed("applied", id, v, f"{version_name(v)} of {id_name(id)} is archived.")
        elif found == "other":
            detail = (
                f"{self.rows.ns} holds another {version_name(v)} of {id_name(id)}: it was changed without a new "
                "version, or its id was used before. Nothing was overwritten."
            )
            detail = self._used_again(id, v) or detail
            if self._news(id, v, "another content", detail):
                yield self._fed("conflict", id, v, detail)

    def _used_again(self, id: Value, v: Value) -> str:
        """Why a version is not archived because its number was taken back before; "" if it was not."""
        if not self.ledger.was_taken_back(id, v):
            return ""
        return (
            f"{version_name(v)} of {id_name(id)} is not archived: {self.rows.ns} holds the one of this number that had "
            "been taken back. Nothing was overwritten."
        )

    def _in_place(self, key: Value, event: ChangeEvent, before: bytes | None) -> Iterator[Fed]:
        """Tell of an update that changed the content but not the version: there is no new version to archive."""
        p = self.layout.profile
        self._states.put(key, event.applied(before) if before is not None else None)
        # Only the layout's own fields, such as another program's lock: the content is that of the archived version.
        if event.touched <= self.layout.own.names:
            return
        id = self._id(key, event.document or before) or key
        v = c.get(before, (p.version,)) if before is not None else None
        shown = v or (self.rows.newest(id) if self._place.whole else None)
        fields = ", ".join(sorted(event.touched - self.layout.own.names)[:3])
        detail = (
            f"{id_name(id)} was changed in place ({fields}) without a new version, at {version_name(shown)}: its "
            "archived version was left as it is."
            if shown is not None
            else f"{id_name(id)} was changed in place ({fields}) without a new version: its archived version was left "
            "as it is."
        )
        news = self._news(id, v, "changed in place", detail)
        if shown is not None and shown != v:  # likely but not proven: another feeder may be ahead of this one
            self._news(id, shown, "changed in place", detail)
        if news:
            yield self._fed("conflict", id, shown, detail)

    def _deleted(self, key: Value, event: ChangeEvent) -> Iterator[Fed]:
        """Note after which version a document was deleted; its archived versions stay."""
        before = self._states.get(key)
        self._states.put(key, None)
        id = self._id(key, before)
        if id is None:
            if not self._untold:
                self._untold = True
                name = self.layout.profile.id
                yield self._word(
                    f"Documents are deleted whose {name} the server does not tell then: their versions stay in "
                    f"{self.rows.ns}, and when they were deleted is not noted."
                )
            return
        versions = self.rows.versions(id, LOOKED_BACK)
        if not versions or self.ledger.knows_delete(id, versions, event.token):
            return  # no version was archived, or an earlier run noted this and the id was used again
        was = c.get(before, (self.layout.profile.version,)) if before is not None else None
        v = was if was in versions else versions[0]
        detail = f"{id_name(id)} was deleted after {version_name(v)}; its versions stay in {self.rows.ns}."
        if self.ledger.note(id, v, "deleted", detail, event.at, event.token):
            yield Fed("note", self.ns, detail, id, v, self.lag())

    def _id(self, key: Value, raw: bytes | None) -> Value | None:
        name = self.layout.profile.id
        return key if name == "_id" else c.get(raw, (name,)) if raw is not None else None

    def _row_before(self, key: Value, id: Value, v: Value) -> bytes | None:
        """The document as it was at the version before, if the archive proves it."""
        number = number_of(v)
        if not self._place.whole or self.layout.profile.numbering != "next" or number is None or number < 2:
            return None
        previous = whole_number(number - 1, v)
        row = self.rows.row(id, previous)
        if row is None or self.ledger.changed_in_place(id, previous):
            return None
        return self.rows.document(row, key)

    # --- telling

    def _news(self, id: Value | None, v: Value | None, what: What, detail: str) -> bool:
        """Note that a version could not be archived; returns whether to tell it. Each is told once per life of this
        feeder.

        If there are very many, each is told only once per life of the archive.
        """
        if (id, v, what) in self._told:
            return False
        first = self.ledger.note(id, v, what, detail)
        # Beyond that, the ledger alone decides, at the cost of a query each, so that memory does not grow for ever.
        if len(self._told) >= TOLD:
            return first
        self._told.add((id, v, what))
        return True

    def _fed(
        self, outcome: Literal["applied", "conflict", "refused"], id: Value | None, v: Value | None, detail: str
    ) -> Fed:
        return Fed(outcome, self.ns, detail, id, v, self.lag())

    def _word(self, detail: str) -> Fed:
        return Fed("note", self.ns, detail, lag=self.lag())


def _comparable(token: bytes | None) -> str:
    """The part of a resume token that sorts places, as MongoDB promises of its hexadecimal text; "" without one."""
    data = c.get(token, ("_data",)) if token is not None else None
    return str(data.python()) if data is not None and data.type == c.STRING else ""
