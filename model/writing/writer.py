"""Every write of the product: journalled, sent, its outcome journalled; and undo.

The intent is journalled before anything is sent, so that a process that dies in between leaves a trace. Removed
documents are stored there completely. An undo is a write like any other, guarded by the state that the entry left.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any

from bson import ObjectId
from msgspec import Struct
from msgspec.structs import replace

from model.catalogue.catalogue import BY_HAND, Catalogue
from model.counting import pending, processed
from model.diff import Reorder, diff
from model.errors import InDoubt, NotFound, Refused, Unreachable
from model.foundation.news import News, tell
from model.foundation.records import EDIT_IN_DOUBT, UNDO_IN_DOUBT, Checkpoint, Outcome, PendingToken, Version
from model.layouts.base import Layout
from model.layouts.registry import counts_of
from model.profile import table
from model.server.retry import Port
from model.storage.swap_steps import Stamp
from model.text.names import id_name, version_name
from model.userdata.journal import Intent, Journal, Record
from model.values import canonical
from model.values.canonical import Value
from model.writing import edit

LOOKED_AT = 1000
"""Documents behind the number tried first that an insert in doubt is looked for among."""

SETTLED_AFTER = dt.timedelta(minutes=2)
"""A write that has not arrived by then counts as lost; before, it may still be on its way."""

FOLLOWING = frozenset(("edit", "restore", "create", "change"))
"""Actions that add a version and leave the earlier ones as they are, so that states kept of these stay true."""


class Writer(Struct, frozen=True):
    """Writes to one source; the caller has checked that writing is allowed."""

    catalogue: Catalogue
    port: Port
    journal: Journal
    source: str  # without password
    author: str | None = None  # the user's login
    data: str = ""  # identifies the written data in the news of a write
    reason: str | None = None  # why, if the profile names a field for that
    run: str = ""  # the run that the writes belong to, if several were requested at once
    named: str | None = None  # the author name that the user entered, for collections that ask for one

    def save(
        self,
        ns: str,
        id: Value,
        base: Version,
        content: bytes,
        action: str = "edit",
        undoes: str | None = None,
        read_at: float = 0.0,
    ) -> Outcome:
        """Swap ``base`` for a version with this content.

        ``read_at`` is when the base was read for this write, by the monotonic clock; 0.0 if for anything else.
        """
        layout = self.catalogue.layout(ns)
        if base.content == content:
            return Outcome("skipped", ns, id, "Nothing was changed, so nothing was written.", base.v)
        if reason := self.catalogue.objection(ns, base) or layout.writable(base):
            # Another program writes here: with the values spelled out, a person can make the edit there.
            if layout.read_only and base.content is not None:
                reason = f"{reason} The values to enter there: {edit.spelled(base.content, content)}."
            return Outcome("refused", ns, id, reason)
        # Signed before it is judged: author and reason may be fields of the content, and hashed with it.
        content = self.signed(layout, content)
        if reason := layout.unfit(content):
            return Outcome("refused", ns, id, reason)
        # If the outcome stays unknown, rows of other programs need the stored base to be completed or cleaned up.
        stored = _packed(((ns, base.raw),)) if layout.rows is not None and base.raw is not None else None
        intent = self._intent(layout, ns, id, action, base, content, undoes, stored)
        outcome = self._send(
            layout,
            intent,
            lambda stamp: layout.swap_writable(id, base, content, replace(stamp, read_at=read_at)),
            lambda outcome: _as_stored(layout, id, outcome, content),
        )
        if outcome.kind == "applied":
            self.catalogue.keep_learned(ns)
        return outcome

    def create(
        self,
        ns: str,
        content: bytes,
        id: Value | None,
        action: str = "create",
        undoes: str | None = None,
        unless_there: bool = False,
        known: Version | None = None,
    ) -> Outcome:
        """Insert a document as its first version, or after the tombstone of a deleted one.

        ``unless_there``: somebody has checked that its id was free, so an id that is now taken is a conflict.
        ``known`` is the last version that was read of a deleted document, whose history then continues.
        """
        layout = self.catalogue.layout(ns)
        id = id if id is not None else Value.of(ObjectId())
        # Asked afresh, not remembered: without the index, two creations of one id would both succeed.
        if reason := self.catalogue.objection(ns) or layout.missing_index():
            return Outcome("refused", ns, id, reason)
        content = self.signed(layout, content)
        if reason := layout.unfit(content):
            return Outcome("refused", ns, id, reason)
        intent = self._intent(layout, ns, id, action, None, content, undoes)

        def insert(stamp: Stamp) -> Outcome:
            outcome = layout.create_again(id, known, content, stamp) if known else layout.create(content, id, stamp)
            # The person was shown that the id is free, so that it is taken now is news and no mistake of theirs.
            if unless_there and outcome.kind == "refused" and self._current(ns, id) is not None:
                said = f"{id_name(id)} was created by somebody else meanwhile; nothing was written."
                return replace(outcome, kind="conflict", detail=said)
            return outcome

        return self.send(intent, insert)

    def signed(self, layout: Layout, content: bytes) -> bytes:
        """A content with author and reason, if they belong to the content."""
        return layout.signed(content, self.author_of(layout), self.reason)

    def author_of(self, layout: Layout) -> str | None:
        """The author of a new version in this layout."""
        return layout.profile.author_for(self.author, self.named)

    def delete(self, ns: str, id: Value, base: Version, undoes: str | None = None) -> Outcome:
        """Delete a document, after saving every stored document that will be removed."""
        layout = self.catalogue.layout(ns)
        if reason := self.catalogue.objection(ns) or layout.removable(base):
            return Outcome("refused", ns, id, reason)
        # Read before anything is sent: afterwards nobody could say what has to be put back.
        kept = layout.removal(id, base)
        intent = self._removing(layout, id, base, "delete", kept, undoes)
        return self.send(intent, lambda stamp: layout.delete(id, base, stamp))

    def purge(self, ns: str, id: Value, base: Version) -> Outcome:
        """Remove a document and all its versions, after saving every stored document."""
        layout = self.catalogue.layout(ns)
        if reason := layout.purgeable(base):
            return Outcome("refused", ns, id, reason)
        kept = layout.all_stored(id, base)
        intent = self._removing(layout, id, base, "purge", kept)
        return self.send(intent, lambda stamp: layout.purge(id, base, stamp, kept))

    def _removing(
        self,
        layout: Layout,
        id: Value,
        base: Version,
        action: str,
        kept: Sequence[tuple[str, bytes]],
        undoes: str | None = None,
    ) -> Intent:
        """The intent of a delete or purge; if nothing is removed, a tombstone is inserted."""
        return self._intent(layout, layout.ns, id, action, base, None, undoes, _packed(kept) if kept else None)

    def create_index(self, ns: str) -> Outcome:
        """Create the unique index that the layout's safety depends on."""
        layout = self.catalogue.layout(ns)
        reason = layout.missing_index()
        if reason is None:
            return Outcome("skipped", ns, None, f"{ns} has the index it needs.")

        def create(stamp: Stamp) -> Outcome:
            done = Outcome("applied", ns, None, f"{ns} has the unique index now.")
            try:
                layout.create_index()
            # A server may have built the index although its answer was lost, so it is looked for before doubt is
            # reported.
            except InDoubt as error:
                with suppress(Refused):
                    if layout.missing_index() is None:
                        return done
                return Outcome("unknown", ns, None, f"It is not known whether the index was created. {error}")
            return done

        return self.send(Intent(self.source, ns, None, "create index", layout.name), create)

    def tokens(
        self, tokens: Sequence[PendingToken], what: pending.Step, confirmed: bool, step: Checkpoint
    ) -> Iterator[Outcome]:
        """Finish or drop each token, unless it may still belong to a living writer."""
        known: dict[str, pending.TwoStepCounters] = {}
        for done, token in enumerate(tokens):
            step(done, len(tokens))
            of = known.get(token.ns)
            if of is None:
                of = known[token.ns] = pending.counters(self.port, self.catalogue.known(token.ns)[1])
            yield self._settle(token, of, what, confirmed)
        step(len(tokens), len(tokens))

    def _settle(self, token: PendingToken, of: pending.TwoStepCounters, what: pending.Step, confirmed: bool) -> Outcome:
        who = f"Token {pending.token_name(token.token)} of {id_name(token.id)}"
        if not (token.stale or token.applied or confirmed) and not token.problem:
            age = "of unknown age" if token.at is None else "young"
            return Outcome("skipped", token.ns, token.id, f"{who} is {age}; its writer may still be at work.")
        # Another token of this document may have been finished since this one was listed.
        raw, _, _ = pending.stand(self.port, of, token.id, token.token)
        # Which optional lists a counter has is a fact of each document, not of the collection.
        of = pending.within(of, raw) if raw is not None else of
        token = pending.token_in(raw, of, token.token) or token
        if token.problem:
            dropped = f"{who} cannot be dropped: {token.problem}"
            said = f"{who} cannot be finished: {token.problem}" if what == "finish" else dropped
            return Outcome("refused", token.ns, token.id, said)
        if token.applied:
            what = "finish"  # it was counted, so nothing is forgotten: it is only removed from the list
        return self.step(token, of, what)

    def step(self, token: PendingToken, of: pending.TwoStepCounters, what: pending.Step) -> Outcome:
        """One step of a two-step counter, for a token in its current state."""
        if reason := self.catalogue.layout(token.ns).foreign.uncounted():
            return Outcome("refused", token.ns, token.id, reason)
        before, after = (token.counter, token.after) if what == "finish" else (token.counter, token.counter)
        intent = Intent(
            self.source,
            token.ns,
            token.id,
            _ACTIONS[what],
            "pending",
            before=_seen(token, of, before, what != "add"),
            after=_seen(token, of, after, what == "add"),
            extra=pending.to_fields(token, of) | {"step": what},
        )
        return self.send(intent, lambda stamp: pending.send(self.port, token, of, what))

    def _intent(
        self,
        layout: Layout,
        ns: str,
        id: Value,
        action: str,
        base: Version | None,
        after: bytes | None,
        undoes: str | None,
        stored: bytes | None = None,
    ) -> Intent:
        action = "undo" if undoes else action
        if base is None:
            return Intent(self.source, ns, id, action, layout.name, after=after, undoes=undoes)
        # Kept so that whoever looks for a write in doubt can tell whether its base is still there, and it may still
        # arrive.
        told = {"base": _base_hash(layout, base)}
        return Intent(
            self.source, ns, id, action, layout.name, base.content, after, base.v, stored, extra=told, undoes=undoes
        )

    def send(
        self,
        intent: Intent,
        write: Callable[[Stamp], Outcome],
        stored: Callable[[Outcome], bytes | None] = lambda outcome: None,
    ) -> Outcome:
        """Do one write, with its intent journalled before and its outcome after."""
        layout = self._layout(intent.ns)
        if reason := self.catalogue.objection(intent.ns):
            return Outcome("refused", intent.ns, intent.document, reason)
        return self._send(layout, intent, write, stored)

    def _send(
        self,
        layout: Layout,
        intent: Intent,
        write: Callable[[Stamp], Outcome],
        stored: Callable[[Outcome], bytes | None],
    ) -> Outcome:
        """Do :meth:`send`, after all objections to this layout are checked."""
        # Here and not in the window, because commands, batches and undo end here too.
        if reason := self._unsigned(layout):
            return Outcome("refused", intent.ns, intent.document, reason)
        token = ObjectId()
        # From here on the process may die at any point: the entry holds the token by which the write is found again.
        entry = self.journal.begin(self._noted(intent, token))
        try:
            outcome = write(Stamp(token, self.author_of(layout), reason=self.reason))
        except Refused as error:
            # Layouts raise this only before they write, so nothing has been sent.
            outcome = Outcome("refused", intent.ns, intent.document, str(error))
        if outcome.kind == "unknown":
            said = outcome.detail.replace(EDIT_IN_DOUBT, UNDO_IN_DOUBT) if intent.undoes else outcome.detail
            outcome = replace(outcome, token=str(token), detail=said)
        outcome = replace(outcome, entry=entry)
        if intent.action not in FOLLOWING and intent.document is not None:
            self.catalogue.forget_states(intent.ns, intent.document)
        try:
            self.end(entry, outcome, stored(outcome))
        except Refused as error:
            # The write is done and its outcome stands; only its note is missing, so it cannot be undone.
            outcome = replace(outcome, entry=None, detail=f"{outcome.detail} {error}")
        return outcome

    def end(self, entry: str, outcome: Outcome, stored: bytes | None = None) -> None:
        """Journal how a write ended, and tell the views that show the data; raises ``Refused``."""
        try:
            self.journal.end(entry, outcome, stored)
        except Refused as error:
            self.journal.lost.append(str(error))
            raise
        finally:
            # Also if the journal failed: the data have changed, and no view may go on showing them as they were.
            tell(News(self.data, outcome))

    def _layout(self, ns: str) -> Layout:
        """The layout of a collection, which need not exist yet."""
        try:
            return self.catalogue.layout(ns)
        except NotFound:
            return self.catalogue.begun(ns)

    def _unsigned(self, layout: Layout) -> str:
        """Why nothing is written without an author name, one sentence; "" if none is needed."""
        if not layout.profile.asks_author or self.named:
            return ""
        return (
            f"Who writes to {layout.ns} is asked once, as its profile says; give your name first: Sign as… in the menu "
            "File, or --as NAME."
        )

    def _noted(self, intent: Intent, token: ObjectId) -> Intent:
        """The intent with its token, its run, and the option by which its collection is read, if any."""
        told = {name: said for name, said in (("run", self.run), ("reason", self.reason)) if said}
        # Counters are found again by the fields noted with them, whatever their collection is taken for.
        if not counts_of(intent.layout) and (option := self.catalogue.asked_for(intent.ns)):
            told |= {"option": option, "stated": self._stated(intent.ns)}
        return replace(intent, token=str(token), extra={**intent.extra, **told})

    def _stated(self, ns: str) -> str:
        """The layout of a collection with its fields, as comparable text."""
        return json.dumps(table(self.catalogue.known(ns)[1]), sort_keys=True)

    def _lacking(self, record: Record) -> str:
        """A sentence if an entry was written with an option that this session lacks; "" otherwise."""
        option, ns = record.extra.get("option"), record.entry.ns
        # Another option, or none, will do if it leads to the same layout with the same fields.
        if not option or option == self.catalogue.asked_for(ns) or record.extra.get("stated") == self._stated(ns):
            return ""
        said = f"Entry {record.entry.id} was written with {option}, and {ns} is read otherwise without it; "
        if option == BY_HAND:
            return f"{said}state it again in the window."
        return f"{said}open the source with it, as in `palimpsest undo {record.entry.id} {option}`."

    # --- the way back

    def undo(self, entry: str, elsewhere: bool = False) -> Outcome:
        """Write the inverse of an entry, if the document is still as that entry left it."""
        record = self._undoable(entry, elsewhere)
        ns, id = record.entry.ns, record.document
        assert id is not None  # only entries with a document can be undone
        match counts_of(record.layout):
            case "tokens":
                return self._undo_step(record, id)
            case "entries":
                return self._undo_entry(record, id)
        if record.after is None:
            # Without a content afterwards it was a delete: of stored documents, or by a tombstone, which removes
            # nothing.
            return self._put_back(record, id) if record.stored else self._revive(record, id)
        current = self._current(ns, id)
        if current is None:
            return self._moved_on(record, id, "was deleted since")
        # Both have to fit: an equal content may have come back by later edits, and a number can be rewritten in place.
        if current.v != record.version_after or current.content != record.after:
            now = "its content" if current.v is None else version_name(current.v)
            return self._moved_on(record, id, f"changed since ({version_name(record.version_after)} → {now})")
        if record.before is None:
            return self.delete(ns, id, current, undoes=entry)
        return _undone(self.save(ns, id, current, record.before, undoes=entry), record.version_before)

    def undo_conflict(self, entry: str) -> edit.Conflict:
        """The undo of an edit as a merge: its content, the content before it, and the current one.

        Raises ``Refused`` if the document is gone, or the entry is another kind of write.
        """
        record = self._undoable(entry)
        if record.before is None or record.after is None or record.document is None or counts_of(record.layout):
            raise Refused("Only an edit can be undone by a merge; this entry is another kind of write.")
        base = _version(record.version_after, record.after, record)
        found = edit.conflict(self.catalogue.layout(record.entry.ns), record.document, base, record.before)
        if found.theirs is None:
            name = id_name(record.document)
            raise Refused(f"{name} was deleted since; undo its deletion first, or restore one of its versions.")
        return found

    def hindrance(self, record: Record, found: Version | None = None) -> str:
        """Why this server cannot undo an entry, one sentence; "" if it can.

        ``found`` is the document as the write left it, if it was read since. Raises ``Unreachable`` if it could not
        be asked.
        """
        ns, id = record.entry.ns, record.document
        if record.after is None or id is None or counts_of(record.layout):
            return ""  # a deleted document is inserted again
        try:
            layout = self._layout(ns)
            # The document is read only if its guard depends on what is in it.
            current = None if layout.guards_any(len(record.after)) else found or self._current(ns, id)
            if current is None or current.content != record.after:
                return ""
            if record.before is None:
                return layout.removable(current)
            # Composed and thrown away: a guard that this server cannot express is refused while the steps are made.
            layout.steps(id, current, record.before, Stamp())
        except Unreachable:
            raise
        except Refused as error:
            return str(error)
        return ""

    def _undoable(self, entry: str, elsewhere: bool = False) -> Record:
        record = self.journal.record(entry)
        if record.entry.source != self.source and not elsewhere:
            raise Refused(f"Entry {entry} was written to {record.entry.source}; open that source to undo it.")
        if not record.entry.undoable:
            raise Refused(f"Entry {entry} cannot be undone. {record.entry.why_not}")
        if not counts_of(record.layout):
            if lacking := self._lacking(record):
                raise Refused(lacking)
            if (now := self.catalogue.layout(record.entry.ns).name) != record.layout:
                raise Refused(
                    f"Entry {entry} was written in the layout {record.layout}, and {record.entry.ns} is taken for "
                    f"{now} now; choose the layout {record.layout} for it first (--layout {record.layout})."
                )
        return record

    def _current(self, ns: str, id: Value) -> Version | None:
        try:
            return self.catalogue.layout(ns).version(id)
        except NotFound:
            return None

    def _moved_on(self, record: Record, id: Value, how: str) -> Outcome:
        ways = ""
        if record.before is not None and how.startswith("changed"):
            ways = " Merge the undo with it, or restore the earlier version or some of its fields."
        return Outcome("conflict", record.entry.ns, id, f"{id_name(id)} {how}; nothing was written.{ways}")

    def _put_back(self, record: Record, id: Value) -> Outcome:
        layout = self.catalogue.layout(record.entry.ns)
        # What a person has removed for good must not come back by the undo of an earlier delete.
        if record.entry.action == "delete" and layout.is_purged(id):
            return self._moved_on(record, id, "was purged since")
        removed = _unpacked(record.stored or canonical.EMPTY)
        intent = self._intent(layout, record.entry.ns, id, "undo", None, record.before, record.entry.id)

        def put_back(stamp: Stamp) -> Outcome:
            outcome = layout.put_back(removed)
            if outcome.kind == "applied":
                with suppress(Refused):  # it exists, though its version cannot be read
                    there = self._current(record.entry.ns, id)
                    return replace(outcome, version=there.v) if there is not None else outcome
            return outcome

        return self.send(intent, put_back)

    def _revive(self, record: Record, id: Value) -> Outcome:
        """Insert the deleted content after its tombstone, if that is still the newest version."""
        ns = record.entry.ns
        assert record.before is not None
        if self._current(ns, id) is not None:
            return self._moved_on(record, id, "was created again since")
        try:
            last = self.catalogue.layout(ns).last(id)
        except NotFound:
            return self._moved_on(record, id, "was purged since")
        # Only behind the tombstone of this very delete: after another life its content would be an old state.
        if not last.deleted or last.v != record.version_after:
            return self._moved_on(record, id, "was created and deleted again since")
        return self.create(ns, record.before, id, undoes=record.entry.id)

    def _undo_step(self, record: Record, id: Value) -> Outcome:
        kept = dict(record.extra)
        what = pending.INVERSE[pending.step_of(kept)]
        token, of = pending.from_fields(record.entry.ns, id, kept, dt.timedelta(0))
        if what in ("finish", "drop"):
            found = pending.find(self.port, of, id, token.token, dt.datetime.now(dt.UTC))
            if found is None:
                return Outcome("conflict", of.ns, id, "The token is not pending any more; nothing was written.")
            token = found
        elif what == "add":
            raw, _, _ = pending.stand(self.port, of, id, token.token)
            of = (
                replace(of, keeps_applied=False)
                if raw is None
                else pending.within(replace(of, keeps_applied=False), raw)
            )
        intent = Intent(
            self.source,
            of.ns,
            id,
            "undo",
            "pending",
            before=record.after,
            after=record.before,
            extra=kept | {"step": what},
            undoes=record.entry.id,
        )
        return self.send(intent, lambda stamp: pending.send(self.port, token, of, what))

    def _undo_entry(self, record: Record, id: Value) -> Outcome:
        kept = dict(record.extra)
        back = kept.get("way") != "back"
        of = processed.from_fields(record.entry.ns, id, kept)
        extra = kept | {"way": "back" if back else "forth"}
        intent = Intent(
            self.source,
            of.ns,
            id,
            "undo",
            "processed",
            record.after,
            record.before,
            extra=extra,
            undoes=record.entry.id,
        )
        do = processed.take_back if back else processed.apply
        return self.send(intent, lambda stamp: do(self.port, of))

    # --- doubt

    def look_again(self, entry: str) -> Outcome:
        """Look for a write whose outcome was unknown, and journal how it ended."""
        record = self.journal.record(entry)
        if record.entry.source != self.source:
            raise Refused(f"Entry {entry} was written to {record.entry.source}; open that source to look for it.")
        if record.entry.kind != "begun" and record.entry.kind != "unknown":
            return Outcome(
                record.entry.kind, record.entry.ns, record.document, record.entry.detail, record.version_after, entry
            )
        if lacking := self._lacking(record):
            return Outcome("unknown", record.entry.ns, record.document, lacking, entry=entry, token=record.token)
        outcome = self._found(record)
        outcome = replace(outcome, entry=entry, token=record.token if outcome.kind == "unknown" else None)
        self.end(entry, outcome)
        return outcome

    def _found(self, record: Record) -> Outcome:
        ns, id = record.entry.ns, record.document
        if record.entry.action == "migrate":
            # The old collection shows what was migrated, so there is nothing to look for.
            said = f"It stopped on its way to {record.extra.get('to')}: run it again to continue, or take it back."
            return Outcome("applied", ns, None, said)
        if record.entry.action == "erase":
            return Outcome("applied", ns, id, "It may have stopped half-way: run the erasure again, for what is left.")
        if id is None:
            missing = self.catalogue.layout(ns).missing_index() is not None
            return not_there(record, None) if missing else Outcome("applied", ns, None, "The index is there.")
        if counts_of(record.layout):
            return self._found_count(record, id)
        if record.extra.get("numbered"):
            return self._found_numbered(record, id)
        # Something was created to undo an entry: if that had removed documents, these were put back.
        back = record.undoes if record.before is None and record.after is not None else None
        if back is not None and self.journal.record(back).stored:
            return self._found_back(record, back, id)
        if record.after is None and record.stored:
            return self._found_removal(record, id)
        return self._found_edit(record, id)

    def _found_edit(self, record: Record, id: Value) -> Outcome:
        """How a swap or a creation in doubt has ended."""
        ns = record.entry.ns
        layout, current = self.catalogue.layout(ns), self._current(ns, id)
        at_base = current is not None and _base_hash(layout, current) == record.extra.get("base")
        landed = layout.landed(id, ObjectId(record.token), self._base(record), record.after) if record.token else None
        # Without a token the content itself tells: one that is just what was sent is what the write wanted.
        told = record.before is None or (landed is None and current is not None and current.v is not None)
        if landed or (told and current is not None and current.content == record.after):
            return self._settled(record, layout, id) or Outcome(
                "applied", ns, id, "It arrived.", self._arrived(record, layout, id, self._current(ns, id))
            )
        if at_base or (record.before is None and current is None):
            waiting = not_there(record, id)
            return (self._settled(record, layout, id, False) or waiting) if waiting.kind == "conflict" else waiting
        if landed is None:
            text = f"{id_name(id)} has changed since, and it is not known whether this write was among the changes."
            return Outcome("unknown", ns, id, text)
        return self._settled(record, layout, id, False) or self._missed(record, id)

    def _settled(self, record: Record, layout: Layout, id: Value, arrived: bool = True) -> Outcome | None:
        """Complete a swap that arrived, or clean up after one that did not; an outcome if that has to wait."""
        if record.after is None or not record.stored or record.token is None:
            return None
        ((_, base),) = _unpacked(record.stored)
        reason = layout.settle(id, base, Stamp(ObjectId(record.token), self.author, record.entry.at), arrived)
        return Outcome("unknown", record.entry.ns, id, reason) if reason else None

    def _arrived(self, record: Record, layout: Layout, id: Value, current: Version | None) -> Value | None:
        """The version that a write made, even if others have followed it; None if it is not there."""
        with suppress(NotFound):  # a document deleted meanwhile may have no history
            if record.after is None and record.token is not None:
                made = Value.of(ObjectId(record.token))
                for each in layout.history(id, contents=True):
                    if each.deleted and canonical.get(each.raw or canonical.EMPTY, ("_id",)) == made:
                        return each.v
                return current.v if current is not None else None
            # The guard let it follow only its base; without a base it began the document's present life. It may be
            # missing there for a while, if others feed the archive.
            life = takewhile(lambda each: not each.deleted, layout.history(id, contents=True))
            since = list(takewhile(lambda each: each.v != record.version_before, life))
            alike = [each for each in since if each.content == record.after]
            if since:
                return (alike or since)[-1].v
        return current.v if current is not None else None

    def _missed(self, record: Record, id: Value) -> Outcome:
        said = f"The write to {id_name(id)} is not in the database, and cannot arrive any more: its base is gone."
        return Outcome("conflict", record.entry.ns, id, said)

    def _base(self, record: Record) -> Version | None:
        """The version that a write started from, as the journal knows it."""
        if record.before is None:
            return None
        return _version(record.version_before, record.before, record)

    def _found_count(self, record: Record, id: Value) -> Outcome:
        """How a write in doubt to a sequence, a two-step counter or an apply-once list has ended."""
        ns, kept, counted = record.entry.ns, dict(record.extra), counts_of(record.layout)
        if counted == "numbers":
            return Outcome("skipped", ns, id, "Its number was given to nobody, and is left out if the counter moved.")
        if counted == "entries":
            there = processed.found(self.port, processed.from_fields(ns, id, kept))
            done, said = there is (kept.get("way") != "back"), "The entry is in the list." if there else "It is gone."
        else:
            token, of = pending.from_fields(ns, id, kept, dt.timedelta(0))
            what = pending.step_of(kept)
            landed = pending.landed(self.port, token, of, what)
            if landed is None:
                gone = f"{id_name(id)} is gone, and it is not known what happened to the token."
                return Outcome("unknown", ns, id, gone)
            done, said = landed, f"The token {pending.DONE[what]}."
        return Outcome("applied", ns, id, said) if done else not_there(record, id)

    def _found_numbered(self, record: Record, id: Value) -> Outcome:
        """How an insert with the next number has ended; the number may differ from the first one tried."""
        ns, field = record.entry.ns, record.extra["numbered"]
        try:
            layout = self.catalogue.layout(ns)
        except NotFound:  # it would have been the collection's first document
            return not_there(record, id)
        mark = {layout.profile.token: ObjectId(record.token or "")} if layout.profile.token else {}
        for raw in self.port.find(ns, mark, limit=1) if mark else self._alike(layout, field, id, record):
            number = canonical.get(raw, (field,))
            where = canonical.get(raw, (layout.profile.id,)) or id
            if mark or where == id or canonical.get(raw, ("_id",)) == Value.of(ObjectId(record.token or "")):
                return Outcome("applied", ns, where, "It arrived.", value=number)
            said = f"An equal document is there as {id_name(where)}, and it is not known whose it is."
            return Outcome("unknown", ns, id, said)
        return not_there(record, id)

    def _alike(self, layout: Layout, field: str, id: Value, record: Record) -> Iterator[bytes]:
        """The document that an insert made, where none carries a token: by its own ``_id``, else by its content.

        One under another number than the first tried may be somebody else's.
        """
        if record.token:
            yield from self.port.find(layout.ns, {"_id": ObjectId(record.token)}, limit=1)
        wanted = canonical.without(record.after or canonical.EMPTY, [field])
        later: dict[str, Any] = {field: {"$gte": id}}
        for raw in self.port.find(layout.ns, later, sort={field: 1}, limit=LOOKED_AT):
            if canonical.without(layout.content(raw), [field]) == wanted:
                yield raw

    def _found_removal(self, record: Record, id: Value) -> Outcome:
        """How a delete or purge in doubt has ended."""
        ns, layout = record.entry.ns, self.catalogue.layout(record.entry.ns)
        there = self._stand(layout, record.stored)
        gone = there.count(False)
        if gone:  # a purge removes the current document first, so another one with its id came later
            gone += there.count(None)
        if gone == len(there) and not (record.entry.action == "purge" and self._is_left(record, layout, id)):
            return Outcome("applied", ns, id, f"{id_name(id)} is gone.")
        if gone:
            some = f"{gone} of {len(there)} documents of {id_name(id)} are deleted; purge it once more."
            return Outcome("unknown", ns, id, some)
        if None in there:
            return Outcome("unknown", ns, id, _another(id))
        at_base = _base_hash(layout, layout.last(id)) == record.extra.get("base")
        return not_there(record, id) if at_base else self._missed(record, id)

    def _is_left(self, record: Record, layout: Layout, id: Value) -> bool:
        """Whether a document's last version still exists as a copy, which a purge makes before it removes anything."""
        with suppress(NotFound):
            last = layout.last(id)
            return last.v == record.version_before and last.content == record.before
        return False

    def _found_back(self, record: Record, deleted: str, id: Value) -> Outcome:
        """How an undo in doubt of a delete has ended."""
        ns = record.entry.ns
        there = self._stand(self.catalogue.layout(ns), self.journal.record(deleted).stored)
        if all(there):
            current = self._current(ns, id)
            return Outcome("applied", ns, id, "It is there again.", current.v if current else None)
        if any(there):
            back = there.count(True)
            some = f"{back} of {len(there)} documents of {id_name(id)} are there again; undo the delete once more."
            return Outcome("unknown", ns, id, some)
        if None in there:
            return Outcome("unknown", ns, id, _another(id))
        return not_there(record, id)

    def _stand(self, layout: Layout, removed: bytes | None) -> list[bool | None]:
        """Whether each document of a delete, or a later state of it, exists; None if nobody can tell."""
        return [layout.stands(ns, raw) for ns, raw in _unpacked(removed or canonical.EMPTY)]


def not_there(record: Record, id: Value | None) -> Outcome:
    """The outcome of a write that is not in the database: unknown while it may arrive, then a conflict."""
    ns = record.entry.ns
    name = ns if id is None else id_name(id)
    if record.age < SETTLED_AFTER:
        said = f"The write to {name} is not in the database so far, and may still arrive."
        return Outcome("unknown", ns, id, said)
    said = f"The write to {name} is not in the database: it did not arrive in two minutes."
    return Outcome("conflict", ns, id, said)


def _undone(outcome: Outcome, before: Value | None) -> Outcome:
    """The outcome of an undo, which names the new version and the version whose content it has."""
    if outcome.kind != "applied":
        return outcome
    what = "the content that it had before"
    if outcome.version is not None and before is not None:
        what = f"the content of {version_name(before)}"
    who = version_name(outcome.version) if outcome.version is not None else id_name(outcome.id) if outcome.id else "it"
    return replace(outcome, detail=f"Undone: {who} has {what}. {outcome.detail.partition('. ')[2]}".strip())


def _another(id: Value) -> str:
    return f"{id_name(id)} is there, and it is not known whether it is the same document or one that was made since."


def _version(v: Value | None, content: bytes, record: Record) -> Version:
    """A version that only the journal has."""
    return Version(
        v=v,
        at=record.entry.at,
        author=None,
        stored="none",
        state="present",
        current=False,
        hash=canonical.hash_of(content),
        bytes=len(content),
        content=content,
    )


def _base_hash(layout: Layout, base: Version) -> str:
    """A hash that shows whether a document is still the base of a write, which may then still arrive."""
    return canonical.hash_of(layout.identity(base)) if base.raw is not None else ""


def _as_stored(layout: Layout, id: Value, outcome: Outcome, sent: bytes) -> bytes | None:
    """The content as the server stores it, if it changed the order of fields; else None."""
    if outcome.kind != "applied":
        return None
    try:
        found = (outcome.found or layout.version(id, outcome.version)).content
    except Refused:
        return None
    # Any other difference is somebody's next edit, which is not ours.
    if found is None or found == sent or not all(isinstance(op, Reorder) for op in diff(sent, found)):
        return None
    return found


_ACTIONS: dict[pending.Step, str] = {
    "add": "add token",
    "finish": "finish",
    "drop": "drop token",
    "back": "put token back",
}


def _seen(token: PendingToken, of: pending.TwoStepCounters, counter: Value | None, waiting: bool) -> bytes:
    """A counter's document as the journal shows it, before or after a token is finished."""
    shown = canonical.document([("_id", token.id)])
    if counter is not None:
        shown = canonical.put(shown, tuple(of.counter.split(".")), counter)
    return canonical.put(shown, tuple(of.pending.split(".")), canonical.array([token.token] if waiting else []))


def _packed(removed: Sequence[tuple[str, bytes]]) -> bytes:
    return canonical.document(
        (str(i), Value.document(canonical.document([("ns", Value.of(ns)), ("document", Value.document(raw))])))
        for i, (ns, raw) in enumerate(removed)
    )


def _unpacked(packed: bytes) -> list[tuple[str, bytes]]:
    parts = [dict(canonical.fields(value.data)) for _, value in canonical.fields(packed)]
    return [(str(part["ns"].python()), part["document"].data) for part in parts]
