"""Edits documents whose history another program writes: the document, and the row that the program would write.

The profile says what to write: ``guard`` and ``renewed`` for the document, ``row`` and ``holder`` for the row
(:mod:`.row_template`). A row does not show that it came from here; if it has an ``_id`` of its own, that is the write
token.

If rows hold every state, the document is swapped first, guarded by everything that was read, and its row follows: a
row above the document would describe a state that never existed. If rows hold only earlier states, the row goes
first: its ``_id`` is derived from the document's id and version, so only one writer gets the next version, as in the
program.

Crash points: a document without its row, or a row for the state that the document still has. Whoever later finds the
write in doubt completes the first or removes the second (:meth:`RowWriter.settle`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

from bson import ObjectId
from msgspec.structs import replace

from model.checks.written_histories import DIFFERS
from model.errors import NotFound, Refused
from model.foundation.hash_recipe import HashRecipe
from model.foundation.records import Outcome, Version
from model.patches import DoesNotApply, rfc6902, tree_of
from model.patches.tree import as_json, value_of
from model.server import guards
from model.server.guards import Abilities
from model.server.retry import Port, Write, run
from model.storage.current_writer import CurrentWriter, WholeGuard
from model.storage.outcomes import Outcomes
from model.storage.read_only_writer import ReadOnlyWriter
from model.storage.reserved_fields import number_of, time_of, whole_number
from model.storage.row_paths import value_at
from model.storage.swap_steps import Made, Stamp, SwapSteps
from model.storage.update_operators import Whole
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value
from model.writers.ignored_fields import DEEP, holds, ignored
from model.writers.last_changes import names_in
from model.writers.row_shapes import retyped, strange
from model.writers.row_template import RowValues
from model.writers.writers import title, why_no_edit
from model.writers.written_history import WrittenHistory
from model.writers.written_rows import WrittenRow
from model.writers.written_states import states_of, stripped

HASH = "$hash"
NOTHING = "$none"
TICK = dt.timedelta(milliseconds=1)


def written_back(server: Port, history: WrittenHistory, refusal: str) -> tuple[str, RowWriter | None]:
    """Why nothing is written, one sentence, or "" and the writer; ``refusal`` is used if no preset gives a reason."""
    profile = history.profile
    if profile.edit == "no" or profile.notation:
        return why_no_edit(profile.writer) or refusal, None
    return "", RowWriter(server, history)


class RowWriter(ReadOnlyWriter):
    """Writes edits; only the program itself creates and deletes documents."""

    def __init__(self, server: Port, history: WrittenHistory) -> None:
        self._server, self._history = server, history
        self._current, self._rows, self._profile = history.current, history.rows, history.profile
        p = self._profile
        self._who = title(p.writer) or "the application that writes this history"
        reason = f"Documents are created and deleted through {self._who}, with rows of its own; do it there."
        super().__init__(p.ns, reason, history.version)
        self._guard = WholeGuard(self._current)
        self._documents = CurrentWriter(server, self._current, self._guard)
        self._outcomes = Outcomes(p.ns, history.version, lambda raw, token: False)
        self._row_first = p.edit == "both" and p.kept == "earlier"

    # --- numbers

    def hindrance(self, base: Version) -> str:
        """Why the document's history cannot be continued, one sentence; "" if it can."""
        if self._profile.edit != "both":
            return ""
        if base.detail == DIFFERS:
            return (
                f"This document {DIFFERS}: it was changed beside its history, and an edit from here would lose what it "
                f"is now. Save it once through {self._who}."
            )
        if base.v is None:
            return f"{self._profile.archive} has no row of this document yet; save it once through {self._who}."
        return ""

    def number(self, id: Value, base: Version, stamp: Stamp) -> Value | None:
        """The base's number plus one; the base's number if no row makes a new version."""
        number = number_of(base.v)
        return base.v if number is None or self._profile.edit != "both" else whole_number(number + 1, base.v)

    def foreseen_number(self, id: Value, base: Version, stamp: Stamp) -> tuple[Value | None, list[Write]]:
        """The number that :meth:`number` returns; no counter is involved."""
        return self.number(id, base, stamp), []

    # --- the steps

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> SwapSteps:
        """The swap of the document, and the row before or after it."""
        raw = base.raw
        assert raw is not None
        left_out = ignored(self._profile.ignored).below_top()
        if left_out.is_deep:
            self._check_recorded(content, base.content or c.EMPTY)
            stored = self._current.content(raw)
            content = left_out.refilled(Value.document(content), Value.document(stored)).data
            base = base.but(content=stored)
        needed = self._profile.edit == "both" or HASH in self._profile.renewed.values()  # rows prove a hash
        rows = self._rows.of(id) if needed else []
        at = _behind([*rows, WrittenRow(raw, self._profile)], self._now() or stamp.at)
        said = RowValues(id, stamp, at, raw)
        fields = {name for name, _ in c.fields(raw)}
        renewed = {name: each for name, each in self._profile.renewed.items() if name in fields}
        hashed = next((name for name, each in renewed.items() if each == HASH), "")
        values = {name: said.value(each) for name, each in renewed.items() if name != hashed}
        swap = self._documents.swap(base, content, values)
        if hashed:  # the previous hash is an input of the next one
            self._prove(raw, hashed, rows)
            swap = self._documents.swap(base, content, values | {hashed: self._recipe.value(swap.makes)})
        moves = self._profile.guard is not None and self._profile.guard.field in fields
        # Otherwise a base that was changed and restored looks unchanged. The new version is read with its row
        # afterwards.
        swap = replace(swap, repeatable=moves, decides=replace(swap.decides, returns=False))
        if self._profile.edit != "both":
            return swap
        write = self._row(id, raw, swap.makes, stamp, at, rows)
        return replace(swap, before=(write,)) if self._row_first else replace(swap, after=(write,))

    def _check_recorded(self, content: bytes, base: bytes) -> None:
        """Raise ``Refused`` for a content that sets what the rows leave out."""
        for path in (name for name in self._profile.ignored if "." in name and not name.startswith(DEEP)):
            if holds(content, path) and not holds(base, path):
                raise Refused(f"The rows of {self._profile.archive} leave out {path}; change it through {self._who}.")

    def _now(self) -> dt.datetime | None:
        """The server's time, because rows of several computers are ordered by it; None if unavailable."""
        try:
            told = self._server.aggregate(self._current.ns, [{"$limit": 1}, {"$project": {"now": "$$NOW"}}])
            return time_of(c.get(next(iter(told), c.EMPTY), ("now",)))
        except Refused:
            return None

    @property
    def _recipe(self) -> HashRecipe:
        return self._profile.hash_recipe or HashRecipe()

    def _prove(self, raw: bytes, name: str, rows: Sequence[WrittenRow]) -> None:
        """Raise ``Refused`` unless the recipe gives the document's hash from the previous row's."""
        now = c.get(raw, (name,))
        former = value_at(rows[-2].raw, name) if len(rows) > 1 else None
        whole = c.put(raw, (name,), former) if former is not None else c.without(raw, ("_id", name))
        if now is None or self._recipe.value(whole) != now:
            raise Refused(
                f"{name} of this document is not made in the way that is known from here, so the next one cannot be "
                f"made either; edit it through {self._who}."
            )

    def _row(
        self, id: Value, base: bytes, new: bytes, stamp: Stamp, at: dt.datetime, rows: Sequence[WrittenRow]
    ) -> Write:
        """The write of the row for the step from one stored document to the next."""
        p = self._profile
        state = stripped(base if self._row_first else new, p)
        patch = partial(self._patch, base, new, rows)
        row = RowValues(id, stamp, at, base, new, state, [each.raw for each in rows], patch).made(p.row)
        if c.get(row, ("_id",)) is None:
            row = c.document([("_id", Value.of(stamp.token)), *c.fields(row)])
        if not p.elements:
            return Write(p.archive, "insert", {}, row, "its row in the history", ())
        holder = self._rows.holder(id)
        if holder is None:
            raise Refused(f"{p.archive} has nothing of {id_name(id)} yet; save it once through {self._who}.")
        where = guards.by_id(guards.physical_id(holder)) | {f"{p.elements}._id": {"$ne": c.get(row, ("_id",))}}
        # At the position after those that were read: rows that somebody adds meanwhile are later states.
        pushed = {p.elements: {"$each": [Value.document(row)], "$position": len(rows)}}
        raised = {name: 1 for name, said in p.holder.items() if said == "$raised" and c.get(holder, (name,))}
        values = RowValues(id, stamp, at, base, new)
        others = {name: values.value(said) for name, said in p.holder.items() if said != "$raised"}
        body: dict[str, Any] = {"$push": pushed, **({"$set": others} if others else {})}
        return Write(
            p.archive,
            "update",
            where,
            body | ({"$inc": raised} if raised else {}),
            "its row in the history",
        )

    def _patch(self, base: bytes, new: bytes, rows: Sequence[WrittenRow], tested: bool) -> Value:
        """The patch from one stored document to the next; ``tested`` includes the non-content that rows record."""
        p = self._profile
        try:
            pair = [self._recorded(each, rows) if tested else stripped(each, p) for each in (base, new)]
            old, now = (as_json(tree_of(each)) for each in pair)
        except DoesNotApply as error:
            raise Refused(f"No patch can say this edit: {error}. Edit it through {self._who}.") from None
        return value_of(rfc6902.compare(old, now, tested))

    def _recorded(self, raw: bytes, rows: Sequence[WrittenRow]) -> bytes:
        """A stored document without the lock, and without non-content that no row of the document mentions."""
        p = self._profile
        lock = p.guard.field if p.guard is not None else ""
        known = names_in(rows, p).keys() - {lock}
        left_out = ignored(p.ignored)
        cut = left_out.below_top().cut(Value.document(raw)).data if left_out.is_deep else raw
        return c.without(cut, {lock, *left_out.here} - known - {"_id"})

    def retyped(self, content: bytes, base: bytes) -> bytes:
        """An earlier state with the document's types, if patches store some types as text."""
        return retyped(content, base, self._current) if self._profile.patch else content

    def explain(self, base: Version) -> str:
        """The order of the two writes, and the guard."""
        archive = self._profile.archive.partition(".")[2]
        guard = "The swap applies only if every field is still exactly as it was read."
        if self._profile.edit != "both":
            return guard
        if self._row_first:
            return f"First {version_name(base.v)} goes to {archive}, as {self._who} does it. {guard}"
        return f"{guard} Then {archive} gets the row that {self._who} would write."

    # --- before the write that decides

    def prepare(self, steps: SwapSteps, id: Value, base: Version, content: bytes) -> Outcome | None:
        """Check that the row continues the history, and send it if it goes first; an outcome if that fails."""
        if self._profile.edit != "both":
            return None
        (write,) = (*steps.before, *steps.after)
        try:
            if self._current.raw(id) != base.raw:
                return self._outcomes.conflict(id, base)
        except NotFound:
            return self._outcomes.conflict(id, base)
        if self._is(content, base.content):
            said = f"Nothing would change that shows in the rows of {self._profile.archive} tell apart."
            return self._outcomes.refused(id, said)
        rows = self._rows.of(id)
        reason = self._objection(id, rows, WrittenRow(_row_in(write), self._profile), base, steps.makes)
        if reason := reason or self._unknown_to_program(rows, base, content):
            return self._outcomes.hindered(id, base, reason)
        return self._sent_first(write, id, base) if self._row_first else None

    def _objection(self, id: Value, rows: Sequence[WrittenRow], row: WrittenRow, base: Version, new: bytes) -> str:
        """Why a row with its state would not continue these rows; "" if it would."""
        p, archive = self._profile, self._profile.archive
        if lacking := self._lacking(rows, row):
            return f"The rows in {archive} have {lacking}, which is not known from here; edit through {self._who}."
        if not p.elements and not self._rows.tells_of(row, id):
            return f"A row made by the profile would not be found as one of this document, in {archive}; check its row."
        misread = f"A row made by the profile would not be read as what it is about, in {archive}; check its row."
        if self._row_first:
            if any(each.v == base.v for each in rows):
                return (
                    f"{archive} has {version_name(base.v)} already: somebody is saving this document, or died while "
                    f"saving it. Try again; if nobody is saving, remove that row."
                )
            state = next(states_of([row], p, None))
            return "" if row.v == base.v and self._is(state.content, base.content) else misread
        before = next(states_of(rows, p, base.content), None)
        if before is None or not self._is(before.content, base.content):
            return f"The newest row in {archive} is not what this document is; save it once through {self._who}."
        following = [*rows, row] if p.elements else self._rows.in_order([*rows, row])
        if following[-1].raw != row.raw:
            return f"{archive} got another row at this very moment; try again."
        content = stripped(new, p)
        after, previous, *_ = [*islice(states_of(following, p, content), 2), None]
        is_read = after is not None and self._is(after.content, content)
        continues = previous is None or self._is(previous.content, base.content)
        return "" if is_read and continues else misread

    def _lacking(self, rows: Sequence[WrittenRow], row: WrittenRow) -> str:
        """A name in the newest similar row that the new row lacks; "" if none."""
        p = self._profile
        if not p.content and not p.patch:
            return ""  # with a state at the root, a missing name would show as a difference from the document
        kind = p.operation.field if p.operation is not None else ""
        like = (each for each in reversed(rows) if value_at(each.raw, kind) == value_at(row.raw, kind) or not kind)
        newest = next(like, row)
        names = [name for name, _ in c.fields(newest.raw)]
        spared = {name for name, said in p.row.items() if said == NOTHING}
        told = (
            {name for name, _ in c.fields(row.raw)} | spared | {p.author.partition(".")[0], p.reason.partition(".")[0]}
        )
        return next((name for name in names if name not in told), "")

    def _unknown_to_program(self, rows: Sequence[WrittenRow], base: Version, content: bytes) -> str:
        """Why the program may not know the new content; patches show no types, so they are not considered."""
        p = self._profile
        states = [] if p.patch else [each.content for each in states_of(rows, p, None) if each.content is not None]
        return strange(content, base.content or c.EMPTY, states, self._current, self._who)

    def _is(self, state: bytes | None, content: bytes | None) -> bool:
        return state is not None and content is not None and self._history.is_same(content, state)

    def _sent_first(self, write: Write, id: Value, base: Version) -> Outcome | None:
        """Send the row that decides who gets the next version; an outcome if it was rejected."""
        end = run(self._server, write, None)  # nothing in it distinguishes it from another writer's row
        if end.kind == "applied":
            return None
        if end.kind == "unknown":
            said = f"It is not known whether {self._profile.archive} got its row, so {id_name(id)} was left as it is."
            return Outcome("unknown", self._current.ns, id, f"{said} {end.sentence}".strip())
        if end.kind == "refused":
            return self._outcomes.refused(id, f"{end.sentence} Nothing was changed.")
        return self._outcomes.hindered(id, base, f"Somebody else is saving {id_name(id)}; nothing was written.")

    # --- behind it

    def finish(self, outcome: Outcome, steps: SwapSteps, id: Value, base: Version, stamp: Stamp) -> Outcome:
        """Send the row that follows, or remove the row of a swap that failed; returns the outcome."""
        if self._row_first and outcome.kind in ("refused", "conflict"):
            left = self._taken_out(_row_in(steps.before[0]))
            if not left:
                return outcome
            return replace(outcome, kind="unknown", detail=f"{outcome.detail} {left}", token=str(stamp.token))
        if not steps.after or outcome.kind != "applied":
            return outcome
        (write,) = steps.after
        end = run(self._server, write, lambda: self._has_row(stamp.token))
        if end.kind == "applied":
            return outcome
        why = f"{self._profile.archive} did not get its row"
        if end.kind != "unknown" and self._put_back(id, base, steps.makes):
            return Outcome(
                "refused", self._current.ns, id, f"{why}, so the document was put back. {end.sentence}".strip()
            )
        said = f"{id_name(id)} is changed, and {why} so far; look for this write again. {end.sentence}"
        return Outcome("unknown", self._current.ns, id, said.strip(), token=str(stamp.token))

    def _put_back(self, id: Value, base: Version, made: bytes) -> bool:
        """Restore the base over a document just swapped, unless somebody else has written since."""
        assert base.raw is not None
        try:
            now = self._current.raw(id)
            if not _equal(now, made):
                return False
            where = guards.by_id(guards.physical_id(now))
            where |= self._documents.whole_guard(self._current.made(now), len(base.raw))
        except Refused:
            return False
        whole = Whole(base.raw)
        return (
            run(self._server, Write(self._current.ns, whole.kind, where, whole.body, "as it was"), None).kind
            == "applied"
        )

    def _taken_out(self, row: bytes) -> str:
        """Delete the row of a swap that failed; returns a sentence if it may still exist."""
        archive = self._profile.archive
        physical = guards.physical_id(row)
        where = guards.by_id(physical) | guards.whole(row, Abilities).filter
        end = run(self._server, Write(archive, "delete", where, None, "the row of a swap that failed"), None)
        if end.kind in ("applied", "conflict"):
            return ""
        return f"Its row is left in {archive} and keeps others from saving; look for this write again. {end.sentence}"

    def settle(self, id: Value, base: bytes, stamp: Stamp, arrived: bool) -> str:
        """Complete a swap that arrived, or clean up after one that did not; returns why not, or "".

        ``base`` is the stored document that the swap started from.
        """
        try:
            if self._row_first:
                return "" if arrived else self._withdrawn(id, base)
            if not arrived or self._profile.edit != "both" or self._has_row(stamp.token):
                return ""
            rows = self._rows.of(id)
            now = self._current.raw(id)
            at = _behind([*rows, WrittenRow(base, self._profile)], stamp.at)
            write = self._row(id, base, now, stamp, at, rows)
        except Refused as error:
            return str(error)
        end = run(self._server, write, lambda: self._has_row(stamp.token))
        return "" if end.kind == "applied" else f"{self._profile.archive} did not get its row. {end.sentence}".strip()

    def _withdrawn(self, id: Value, base: bytes) -> str:
        """Remove the row for a state that the document still has."""
        p = self._profile
        v = value_at(base, p.version)
        if self._version_of(id) != v:
            return ""
        content = stripped(base, p)
        left = [row for row in self._rows.of(id) if row.v == v]
        left = [row for row in left if self._is(next(states_of([row], p, None)).content, content)]
        return next(filter(None, (self._taken_out(row.raw) for row in left)), "")

    def _has_row(self, token: ObjectId) -> bool:
        p = self._profile
        name = f"{p.elements}._id" if p.elements else "_id"
        found = self._server.find(p.archive, {name: {"$eq": Value.of(token)}}, projection={"_id": 1}, limit=1)
        return next(iter(found), None) is not None

    # --- did mine land?

    def asks(
        self, id: Value, stamp: Stamp, made: Made, base: Version | None = None
    ) -> Callable[[], bool | None] | None:
        """Whether the document is exactly what the write produces, or still the base."""
        answers = iter((False,))  # after a second try, an unchanged base may have been changed and restored in between

        def landed() -> bool | None:
            try:
                now = self._current.raw(id)
            except NotFound:
                return None
            if _equal(now, makes := made()):
                return True
            if base is not None and now == base.raw:
                return next(answers, None)
            return self._passed(id, makes)

        return landed

    def _passed(self, id: Value, makes: bytes) -> bool | None:
        """Whether a row records what the write produced, after the document has changed again; None if none can."""
        p = self._profile
        v = value_at(makes, p.version) if self._row_first and p.version else None
        if v is None:
            return None
        content = stripped(makes, p)
        for row in self._rows.of(id):
            if row.v == v:
                return self._is(next(states_of([row], p, None)).content, content)
        return None

    def landed(
        self, id: Value, token: ObjectId, base: Version | None = None, content: bytes | None = None
    ) -> bool | None:
        """True if a row carries the token, False if the document still has the version that was replaced."""
        if self._has_row(token):
            return True
        if base is not None and self._row_first:
            return False if self._version_of(id) == base.v else None
        return None

    def _version_of(self, id: Value) -> Value | None:
        """The document's number; None if it is deleted."""
        try:
            return value_at(self._current.raw(id), self._profile.version)
        except NotFound:
            return None


def _behind(rows: Sequence[WrittenRow], at: dt.datetime) -> dt.datetime:
    """A time later than every row's, in milliseconds."""
    at = at.replace(microsecond=at.microsecond // 1000 * 1000)
    return max([at, *(row.at + TICK for row in rows if row.at is not None)])


def _row_in(write: Write) -> bytes:
    """The row that a write contains."""
    if isinstance(write.body, bytes):
        return write.body
    assert isinstance(write.body, dict)
    (pushed,) = write.body["$push"].values()
    found: Value = pushed["$each"][0]
    return found.data


def _equal(one: bytes, other: bytes) -> bool:
    """Whether two documents have equal fields in any order."""
    try:
        return one == other or tree_of(one) == tree_of(other)
    except DoesNotApply:
        return False
