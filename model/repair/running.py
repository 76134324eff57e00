"""Runs a plan: the dry run of each item, and the repair, one guarded write after another.

Dry run and repair prepare an item with the same function, from documents read at that moment. The journal shows what
a plan has already written, so a run that died resumes where it ended.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from model import text
from model.errors import Refused, Unreachable
from model.foundation.findings import Finding
from model.foundation.news import News, tell
from model.foundation.records import Checkpoint, Kind, Outcome, Sending, no_checkpoint
from model.repair import quarantine
from model.repair.damage_classes import REPAIRS, no_repair, waits
from model.repair.items import Item, Seen, digest
from model.repair.outgrown_documents import index_offer
from model.repair.plan import Plan
from model.repair.questions import LEAVE
from model.repair.steps import GONE, DocumentChange, Prepared, RepairContext, Step, Verdict
from model.repair.today import Today
from model.server.code_preview import sending
from model.server.retry import End, Write, run
from model.storage.swap_steps import Stamp
from model.storage.update_operators import equal_numbers, reordered
from model.text.names import id_name
from model.userdata.journal import Intent
from model.values.canonical import Value
from model.writing.writer import Writer

TRIES = 3
"""How often a repair with several writes is prepared again because somebody was faster."""
ROUNDS = 20
"""How often an item is prepared and done again while others write to this document."""
IN_VAIN = 2
"""After this many items in a row with an unreachable server, no other item waits for it."""
ACTION = "repair"


NAMED = 3
"""The most items that are named because they differ from a scan of today."""


class DryItem(NamedTuple):
    """The effect of one item, as a preview."""

    no: int
    verdict: Verdict
    text: str  # a clause or sentence, such as "Would be removed: v9 in shop.contracts_history"
    changes: tuple[DocumentChange, ...]  # each stored document before and after
    sending: Sending  # the writes as code, in their order
    differs: bool = False  # possible, but refused because a scan of today would not propose it


def prepare(ground: RepairContext, item: Item, begun: bool = False) -> Prepared:
    """Prepare an item's writes from the documents as they are; writes nothing.

    Once it has ``begun``, others may write concurrently: its further writes are guarded by the documents as read now.
    """
    if item.repair is None:
        return _without_repair(item)
    if (unread := _never_done(ground, item)) is not None:
        return unread
    try:
        repair = REPAIRS[item.repair]
        second = repair.second_look
        if second is not None and (wanted := second(ground, item)) is not None:
            return wanted
        # Once begun, its own writes have changed the documents, and what others changed is caught by each write's
        # guard.
        if not begun and (seen := ground.stale(item)) is not None:
            return _changed(ground, item.finding, seen)
        prepared = repair.prepare(ground, item)
    except Refused as error:
        return Prepared("refused", str(error), lost=isinstance(error, Unreachable))
    finding, today = item.finding, ground.today
    # Last, and only for what would be written: to look as a scan does costs more than all checks before.
    if prepared.verdict == "would" and not begun and today is not None and (why := _objection(ground, today, item)):
        return Prepared("refused", why, differs=today.now(finding) is not None or not today.why_not(finding))
    return prepared


def _without_repair(item: Item) -> Prepared:
    if waits(item.finding):
        return Prepared("young", "It is younger than the grace period, so its writer may still be at work")
    return Prepared("refused", item.advice or "There is no repair for it.")


def _never_done(ground: RepairContext, item: Item) -> Prepared | None:
    """Why an item must not be done, whatever state its documents are in; None if that depends on the documents."""
    today = ground.today
    if today is not None and (why := today.doubts.get(item.finding.ns)):
        return Prepared("refused", why)
    if item.asks:
        return Prepared("asks", item.question)
    if item.answer == LEAVE:
        return Prepared("nothing", "A person said to leave it as it is")
    if not item.seen:
        return Prepared("refused", "The plan does not say which documents it rests on; scan again")
    return None


def _changed(ground: RepairContext, finding: Finding, seen: Seen) -> Prepared:
    """The verdict on an item if one of its documents has changed since the scan."""
    gone = ground.at(seen.ns, seen.id) is None
    who = id_name(finding.id) if finding.id is not None else id_name(seen.id)
    where = f" (in {seen.ns})" if seen.ns != finding.ns else ""
    if gone and (where or ground.layouts(finding.ns).own_documents):  # other documents of it may well exist
        who = f"A stored document that belongs to {who}"
    return Prepared("changed", f"{who} {'is gone' if gone else 'changed'} since the scan{where}")


def _objection(ground: RepairContext, today: Today, item: Item) -> str:
    """Why a scan of today would not propose a repair, one sentence; "" if it would, or if the plan has started it."""
    finding = item.finding
    # A repair that was stopped half-way looks different from its finding, and still has to be finished.
    if any(ground.ours_at(seen.ns, seen.id) for seen in item.seen):
        return ""
    p = ground.layouts(finding.ns).profile
    # A plan is a file that anybody can edit: it must not lead a repair into another collection.
    own = {p.ns, p.archive, *(ns for ns, _ in p.targets.values())}
    now = today.now(finding)
    if now is None:
        why = today.why_not(finding)
        return f"It cannot be looked at now: {why}" if why else "A scan of today does not find this; scan again."
    if now.repair != item.repair or waits(now):
        return no_repair(now)
    own |= {each.ns for each in now.evidence}
    strange = next((seen.ns for seen in item.seen if seen.ns not in own), "")
    return f"The plan rests on {strange}, which does not belong to {finding.ns}; scan again." if strange else ""


class _Patience:
    """Prepares items, but stops waiting for the server after some items in a row could not reach it."""

    def __init__(self) -> None:
        self._in_vain = 0

    def prepare(self, ground: RepairContext, item: Item, begun: bool = False) -> Prepared:
        """Prepare an item, or report at once that the server is unreachable."""
        if self._in_vain >= IN_VAIN and item.repair is not None:
            said = "The server cannot be reached any more; run the plan again once it can."
            return Prepared("refused", said, lost=True)
        prepared = prepare(ground, item, begun)
        self._in_vain = self._in_vain + 1 if prepared.lost else 0
        return prepared


def dry(
    ground: RepairContext, plan: Plan, checkpoint: Checkpoint = no_checkpoint, only: Collection[int] | None = None
) -> Iterator[DryItem]:
    """The effect of each item with a repair (or of those in ``only``) after the ticked items before it."""
    wanted = [item for item in plan.items if (item.repair if only is None else item.no in only)]
    owners = Counter(_owner(item) for item in plan.items if item.repair is not None)
    # Only these need the items before them: what is done to one document does not change another.
    several = {_owner(item) for item in wanted if owners[_owner(item)] > 1}
    numbers = {item.no for item in wanted}
    items = [item for item in plan.items if item.no in numbers or (item.ticked and _owner(item) in several)]
    patience = _Patience()
    for done, item in enumerate(items):
        checkpoint(done, len(items))
        prepared = patience.prepare(ground, item)
        if item.ticked and _owner(item) in several:
            for step in prepared.steps:
                ground.pretend(step)
        if item.no in numbers:
            yield drawn(item, prepared)
    checkpoint(len(items), len(items))


def differences(plan: Plan, items: Sequence[DryItem]) -> str:
    """How a plan differs from what a scan of today would propose, and what to do, one sentence."""
    ticked = sum(item.ticked for item in plan.items)
    named = "; ".join(f"item {dry.no}: {dry.text.partition(';')[0].rstrip('.')}" for dry in items[:NAMED])
    named += "; …" if len(items) > NAMED else ""
    return (
        f"This plan differs from what a scan of today proposes in {len(items):,} of its {ticked:,} ticked items "
        f"({named}), so nothing was written: scan again, or confirm that the others are done alone "
        "(--confirm-differences)."
    )


def _owner(item: Item) -> tuple[str, Value | None]:
    return item.finding.ns, item.finding.id


def drawn(item: Item, prepared: Prepared) -> DryItem:
    """A prepared item as a preview."""
    writes: list[Write] = []
    for step in prepared.steps:
        writes += [step.keep, step.write] if step.keep is not None else [step.write]
    said = prepared.text
    if prepared.verdict == "would" and item.repair in REPAIRS:
        said = f"{REPAIRS[item.repair].would}: {said}"
    changes = tuple(change for step in prepared.steps for change in _changes(step))
    return DryItem(item.no, prepared.verdict, said, changes, sending(writes, prepared.explanation), prepared.differs)


def _changes(step: Step) -> Iterator[DocumentChange]:
    """The document that a step changes, and the copy of a removed one."""
    yield step.change
    if step.keep is not None and isinstance(step.keep.body, bytes):
        yield DocumentChange(step.keep.ns, "kept", None, step.keep.body)


class Running(Struct):
    """One run of a plan: an iterator over (item number, outcome) that can be cancelled between items."""

    writer: Writer
    ground: RepairContext
    plan: Plan
    id: str
    checkpoint: Checkpoint = no_checkpoint
    action: str = ACTION  # the journal's name for its writes
    _wrote: set[int] = field(default_factory=set)
    _patience: _Patience = field(default_factory=_Patience)
    offers: list[str] = field(default_factory=list)  # sentences on what a person may want to do next

    def __iter__(self) -> Iterator[tuple[int, Outcome]]:
        items = [item for item in self.plan.items if item.repair is not None]
        self.remember()
        for done, item in enumerate(items):
            self.checkpoint(done, len(items))
            yield item.no, self.do(item)
        for item in items:
            if item.no in self._wrote and (outcome := self._second_look(item)):
                yield item.no, outcome  # once more, because it has changed
        self.checkpoint(len(items), len(items))

    def differing(self) -> list[DryItem]:
        """The ticked items that a scan of today would not propose, except those whose document has changed since."""
        ground, today = self.ground, self.ground.today
        if today is None:
            return []
        self.remember()
        found: list[DryItem] = []
        for item in self.plan.items:
            with suppress(Refused):  # reported when the item is run
                if item.ticked and item.repair is not None and _objection(ground, today, item):
                    found.append(drawn(item, prepare(ground, item)))
        return [dry for dry in found if dry.differs]

    def _second_look(self, item: Item) -> Outcome | None:
        """Put back a removed document that turns out to be needed; if unknown, the plan's next run checks."""
        repair = REPAIRS[item.repair or ""]
        try:
            wanted = repair.second_look(self.ground, item) if repair.second_look is not None else None
        except Refused:
            return None
        if wanted is None:
            return None
        ends = [self.send(item, step) for step in wanted.steps]
        back = all(end.kind == "applied" for end in ends)
        return self._ends(item, "conflict" if back else ends[-1].kind, wanted.done if back else ends[-1].detail)

    def remember(self) -> None:
        """Read the writes of this plan's earlier runs from the journal, and settle those in doubt."""
        for record in self.writer.journal.records("plan", self.plan.id):
            if record.entry.kind in ("applied", "begun", "unknown"):
                ns, id = record.extra["target"], text.value_from_text(record.extra["physical"])
                left = GONE if record.after is None else digest(record.after)
                # Even a write in doubt may have left this state, so it must not count as somebody else's change.
                self.ground.leave(ns, id, record.after)
                if record.entry.kind != "applied":
                    now = self.ground.at(ns, id)
                    if (GONE if now is None else digest(now)) == left:
                        arrived = Outcome("applied", record.entry.ns, record.document, "It arrived.")
                        self.writer.end(record.entry.id, arrived)

    def do(self, item: Item) -> Outcome:
        """Do one item: prepare and send its writes until nothing is left to do."""
        if not item.ticked and not item.asks:
            return self._ends(item, "skipped", "It is not ticked in the plan; nothing was written.")
        wrote, entry, done, conflicts, rounds = 0, None, "", 0, 0
        while rounds < ROUNDS:
            prepared = self._patience.prepare(self.ground, item, begun=wrote > 0)
            if prepared.verdict != "would":
                break
            failed, done = False, done or prepared.done
            for step in prepared.steps:
                outcome = self.send(item, step)
                # A write in doubt counts as done here: if it arrived, its second look is needed.
                if outcome.kind in ("applied", "unknown"):
                    self._wrote.add(item.no)
                if outcome.kind == "applied":
                    wrote, entry = wrote + 1, outcome.entry
                    continue
                failed, conflicts = True, conflicts + 1
                if (ended := self._given_up(item, outcome, wrote, entry, conflicts)) is not None:
                    return ended
                break
            if not failed and item.repair not in _AGAIN:
                return self._done(item, done, entry)
            if failed or item.repair not in _ONE_BY_ONE:
                rounds += 1
        else:
            busy = self._ends(item, "conflict", "It is written all the time; repair it again later.", entry)
            return self._stopped(busy, wrote)
        # A repair of several writes ends like this: the last round found nothing more to do.
        if wrote and prepared.verdict == "nothing":
            return self._done(item, done, entry)
        if wrote:
            return self._stopped(self._ends(item, "refused", prepared.text, entry), wrote)
        return self._unwritten(item, prepared)

    def _given_up(self, item: Item, failed: Outcome, wrote: int, entry: str | None, conflicts: int) -> Outcome | None:
        """The end of an item if one of its writes failed; None if it should be prepared again."""
        if failed.kind == "conflict" and wrote and item.repair in _COPIES_FIRST:
            said = "It changed meanwhile and keeps all of its versions; some are copied already. Scan again."
            return self._ends(item, "conflict", said, entry)
        if failed.kind != "conflict" or item.repair not in _AGAIN or conflicts > TRIES:
            return self._stopped(failed, wrote)
        return None

    def _unwritten(self, item: Item, prepared: Prepared) -> Outcome:
        """The end of an item that needs no write."""
        kinds: dict[Verdict, Kind] = {"refused": "refused"}
        said = prepared.text if prepared.text.endswith(("?", ".")) else f"{prepared.text}; nothing was written."
        if prepared.verdict == "asks":
            said = f"It waits for an answer in the plan: {prepared.text}"
        ended = self._ends(item, kinds.get(prepared.verdict, "skipped"), said)
        return replace(ended, unsent=True) if prepared.lost else ended

    def _ends(self, item: Item, kind: Kind, said: str, entry: str | None = None) -> Outcome:
        return Outcome(kind, item.finding.ns, item.finding.id, said, entry=entry)

    def _done(self, item: Item, said: str, entry: str | None) -> Outcome:
        if item.repair == "move-to-archive" and (offer := self._rows_index(item)) and offer not in self.offers:
            self.offers.append(offer)
        if item.finding.code == "V1" and (offer := self._index(item)) and offer not in self.offers:
            self.offers.append(offer)
        return self._ends(item, "applied", said, entry)

    def _index(self, item: Item) -> str:
        """The index whose lack allowed duplicates, as an offer: it is never created automatically."""
        try:
            reason = self.ground.layouts(item.finding.ns).missing_index()
        except Refused:
            return ""
        return reason or ""

    def _rows_index(self, item: Item) -> str:
        try:
            return index_offer(self.ground, item)
        except Refused:
            return ""

    def _stopped(self, outcome: Outcome, wrote: int) -> Outcome:
        if not wrote:
            return outcome
        return replace(
            outcome, kind="unknown", detail=f"{outcome.detail} {wrote} of its writes were done; run the plan again."
        )

    # --- one step

    def send(self, item: Item, step: Step, undoes: str | None = None) -> Outcome:
        """Send one write of an item, journalled; a document to remove is copied first, a wrong write is undone."""
        change, finding = step.change, item.finding
        # What a second look inserts takes the removal back, so the journal shows the pair as undone.
        if step.extra.get("second"):
            undoes = self._removal(step)
        intent = Intent(
            self.writer.source,
            finding.ns,
            finding.id,
            "undo" if undoes else self.action,
            self.ground.layouts(finding.ns).profile.layout,
            change.before,
            change.after,
            extra={
                "run": self.id,
                "plan": self.plan.id,
                "item": str(item.no),
                "repair": item.repair or "",
                "target": change.ns,
                "physical": text.value_text(step.physical),
                "label": change.label,
                "note": step.write.note,
                "kept": "yes" if step.keep is not None else "",
                "beside": json.dumps([[s.ns, text.value_text(s.id), s.sha256] for s in step.beside]),
                **step.extra,
            },
            undoes=undoes,
        )
        after: list[bytes | None] = [None]

        def write(stamp: Stamp) -> Outcome:
            outcome, after[0] = self._written(finding.ns, finding.id, step)
            return outcome

        return self.writer.send(intent, write, lambda outcome: after[0])

    def _removal(self, step: Step) -> str | None:
        """The journal entry of the removal that a second look undoes."""
        removals = [
            record.entry.id
            for record in self.writer.journal.records("plan", self.plan.id)
            if record.extra["target"] == step.change.ns and record.before == step.change.after and record.after is None
        ]
        return removals[-1] if removals else None

    def _written(self, ns: str, id: Value | None, step: Step) -> tuple[Outcome, bytes | None]:
        """The outcome, and the stored bytes if they differ from those that were sent."""
        if step.keep is not None and (trouble := self._keep(step)):
            return Outcome(trouble.kind, ns, id, trouble.sentence), None
        end = run(self.ground.server, step.write, step.landed or (lambda: self._landed(step)))
        if end.kind != "applied":
            taken = end.kind == "refused" and end.reply is not None and end.reply.duplicate is not None
            return Outcome("conflict" if taken else end.kind, ns, id, _said(end)), None
        change = step.change
        self.ground.leave(change.ns, step.physical, change.after)
        now, unseen = change.after, ""
        with suppress(Refused):  # it is written, though it cannot be read now
            now = self.ground.at(change.ns, step.physical)
        stored = None
        if change.after is not None and now is not None and now != change.after and _as_stored(change.after, now):
            stored = now
            self.ground.leave(change.ns, step.physical, now)
        try:
            why = step.last() if step.last is not None else ""
        except Refused:
            why, unseen = "", " What it rests on could not be read again; run the plan again."
        if why:
            return self._taken_back(ns, id, step, why), stored
        if step.clear is not None:
            run(self.ground.server, step.clear, None)  # a copy that stays does no harm
            self._tell_copy(step.clear)
        note = (
            " The server stored the fields in another order than they were sent in." if stored is not None else unseen
        )
        return Outcome("applied", ns, id, f"{change.label}: {step.write.note}.{note}"), stored

    def _keep(self, step: Step) -> End | None:
        """Store the copy in the quarantine; None if it is there byte for byte, else the reason."""
        assert step.keep is not None
        before = step.change.before
        assert before is not None

        def there() -> bool:
            return quarantine.kept(self.ground.server, step.change.ns, before) is not None

        end = End("applied") if there() else run(self.ground.server, step.keep, there)
        # Looked at even after a success: what is removed next exists nowhere else, and a server may store it changed.
        if end.kind in ("applied", "conflict") and there():
            self._tell_copy(step.keep)
            return None
        if end.kind == "unknown":
            return End("unknown", f"It is not known whether a copy was kept, so nothing was removed. {end.sentence}")
        return End("refused", f"No exact copy could be kept first, so nothing was removed. {end.sentence}".strip())

    def _tell_copy(self, write: Write) -> None:
        """Tell the views that a copy entered or left the quarantine, whose collection may be new."""
        tell(News(self.writer.data, Outcome("applied", write.ns, None, write.note)))

    def _landed(self, step: Step) -> bool | None:
        now = self.ground.at(step.change.ns, step.physical)
        if now == step.change.after:
            return True
        return False if now == step.change.before else None

    def _taken_back(self, ns: str, id: Value | None, step: Step, why: str) -> Outcome:
        """Undo a step at once, because a document that it depends on has changed."""
        change, server = step.change, self.ground.server
        if change.after is None:
            assert change.before is not None
            write = Write(change.ns, "insert", {}, change.before, "put back what was removed")
            back = Step(write, DocumentChange(change.ns, change.label, None, change.before))
        else:
            try:
                back = self.ground.removed(change.ns, change.label, change.after, "take out what was added")
            except Refused:  # it is written nevertheless
                said = f"{why[:1].upper()}{why[1:]}, and {change.label} could not be taken out again; scan again later."
                return Outcome("unknown", ns, id, said)
        end = run(server, back.write, lambda: self._landed(back))
        added, why = change.after is not None, f"{why[:1].upper()}{why[1:]}"
        if end.kind == "applied":
            # It is back, so its absence would be somebody else's doing from now on.
            self.ground.ours.get((change.ns, step.physical), set()).discard(GONE)
            # The copy stays in the quarantine: a delete in doubt may still remove the document put back.
            done = "taken out again" if added else "put back as it was"
            return Outcome("conflict", ns, id, f"{why}, so {change.label} was {done}.")
        if end.kind == "conflict":
            now = "was changed by somebody since" if added else "has another in its place by now; a copy is kept"
            return Outcome("conflict", ns, id, f"{why}, and {change.label} {now}.")
        done = "taken out again" if added else "put back"
        return Outcome("unknown", ns, id, f"{why}, and it is not known whether {change.label} was {done}.")


_COPIES_FIRST = ("move-to-archive",)
"""Repairs whose writes except the last only add copies: half done, they have harmed nothing."""
_AGAIN = ("set-current-flag", "finish-token", "take-out-token", "remove-duplicate")
"""Repairs with several writes, which are prepared again until nothing is left."""
_ONE_BY_ONE = ("finish-token", "take-out-token")
"""Repairs that have less to do after every round, so that the number of rounds is not limited."""


def _as_stored(sent: bytes, now: bytes) -> bool:
    """Whether a document is the server's form of the one that was sent, not a later state."""
    return reordered(sent, now) or equal_numbers(Value.document(sent), Value.document(now))


def _said(end: End) -> str:
    if end.kind in ("conflict", "refused") and end.reply is not None and end.reply.duplicate:
        return f"{end.reply.sentence} Nothing was written."
    if end.kind == "conflict":
        return "It changed since it was read; nothing was written."
    return end.sentence or "It is not known whether it was written."


def new_run(now: Callable[[], dt.datetime], suffix: str) -> str:
    """The name of a run, by which the journal groups its entries."""
    return f"run-{now().strftime('%Y%m%d-%H%M%S')}-{suffix}"
