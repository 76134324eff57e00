"""Documents that are created and deleted among edits: creates, deletes, purges and their undos; and the audit of
these.

What a writer was told must be true. An acknowledged edit exists once, or was among the data that a removal saw. A
removal removes exactly what it saw. If it gave up, everything is there again, and so is what an undo put back. Where
versions are documents, a delete is a write like an edit, and only a purge is a removal.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import bson
from bson import ObjectId

from model.errors import NotFound, Refused
from model.foundation.records import Outcome, Version
from model.layouts.base import Layout
from model.profile import CollectionProfile
from model.storage.swap_steps import Stamp
from model.values.canonical import Value
from tests.simulation.audit import as_read
from tests.simulation.histories import Entry, history, holds, still
from tests.simulation.machine import Machine
from tests.simulation.schedule import WriterPort
from tests.simulation.writers import BESIDE, FIRST, ID, KINDS, NEW, NS, TRIES, Variant, changed, stamp

SURELY_NOT = ("conflict", "refused")


@dataclass
class Write:
    """One attempt to make a version, and what its writer was told; None where it died first.

    ``kind`` is create, edit or delete; ``base`` the number of the version that it was to follow, None where it begins.
    """

    mark: str
    kind: str
    id: Value
    token: ObjectId
    base: object = None
    outcome: Outcome | None = None
    sent: bytes | None = None  # the content of an edit

    def is_told_of_an_equal_one(self, entries: Sequence[Entry], of: Variant) -> bool:
        """Whether an equal version followed the same base: without tokens no writer can tell whose that is."""
        if of.tokens or self.sent is None or self.outcome is None or self.outcome.kind != "applied":
            return False
        versioned = of.layout not in ("hashed", "plain")
        return any(
            (before.v == self.base or not versioned) and still(entry.content) == still(self.sent)
            for before, entry in itertools.pairwise(entries)
        )


@dataclass
class Removal:
    """One delete, or one purge, that removes documents: what it saw, and what its writer was told.

    ``back`` is what came of putting them back, where that was tried.
    """

    mark: str
    id: Value
    saw: tuple[tuple[str, bytes], ...]
    outcome: Outcome | None = None
    undone: bool = False
    back: Outcome | None = None

    @property
    def may_have_happened(self) -> bool:
        """Whether all or some of it may be gone: it was not told that nothing was deleted."""
        return self.outcome is None or self.outcome.kind not in SURELY_NOT


@dataclass
class Story:
    """What a writer means to do, and what came of it."""

    plan: list[tuple[str, Value]]
    writer: int
    writes: list[Write] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)


def story(writer: int, rng: random.Random) -> Story:
    """What one writer does: edits mostly, of the document that is there and of one that is being made."""
    kinds = rng.choice(
        (
            *(("create", "edit"), ("edit", "delete"), ("delete",), ("undo",), ("create", "delete"), ("edit",)),
            *(("delete", "create"), ("purge",), ("undo purge",), ("delete", "purge")),
        )
    )
    place = rng.choice((ID, NEW)) if kinds[0] == "delete" else None  # what follows is about the same document
    return Story(
        [(kind, place or (NEW if kind == "create" else rng.choice((ID, NEW)))) for kind in kinds],
        writer,
    )


def live(layout: Layout, told: Story, rng: random.Random, stamps: Callable[[], Stamp]) -> None:
    """Do what a story plans; whoever is overtaken reads again and tries again."""
    port = layout.server
    assert isinstance(port, WriterPort)
    for number, (kind, id) in enumerate(told.plan):
        mark = f"w{told.writer}a{number}"
        for _ in range(TRIES):
            if kind == "create":
                brought = stamps()
                write = Write(mark, kind, id, brought.token)
                told.writes.append(write)
                port.token = brought.token
                write.outcome = layout.create(bson.encode(FIRST | {"born": mark}), id, brought)
                break
            purges = kind in ("purge", "undo purge")
            try:
                base = layout.last(id) if purges else layout.version(id)
                saw = layout.all_stored(id, base) if purges else layout.removal(id, base)
            except NotFound:
                break
            except Refused:
                continue
            if purges and layout.purgeable(base):
                break
            assert base.content is not None
            ends = kind in ("delete", "undo") and layout.own_documents
            if kind == "edit" or ends:
                brought = stamps()
                write = Write(mark, "delete" if ends else kind, id, brought.token, _plain(base))
                told.writes.append(write)
                port.token = brought.token
                if ends:
                    write.outcome = layout.delete(id, base, brought)
                else:
                    edits = KINDS[:1] if layout.name == "deltas" else KINDS
                    write.sent = changed(base.content, rng.choice(edits), mark)
                    write.outcome = layout.swap(id, base, write.sent, brought)
                if write.outcome.kind == "applied" and kind == "undo":
                    brought = stamps()
                    again = Write(f"{mark} again", "create", id, brought.token)
                    told.writes.append(again)
                    port.token = brought.token
                    again.outcome = layout.create(base.content, id, brought)
                if write.outcome.kind not in SURELY_NOT:
                    break
                continue
            port.token = None
            removal = Removal(mark, id, saw)
            told.removals.append(removal)
            if purges:
                removal.outcome = layout.purge(id, base, stamps(), saw)
            else:
                removal.outcome = layout.delete(id, base, stamps())
            if removal.outcome.kind == "applied" and kind.startswith("undo"):
                removal.undone = True
                removal.back = layout.put_back(saw)
            if removal.outcome.kind not in SURELY_NOT:
                break


def faults(
    machine: Machine,
    before: Machine,
    sound: Layout,
    of: Variant,
    told: Sequence[Story],
    began: int,
    arrived: list[bytes],
) -> Iterator[str]:
    """What is wrong after such a schedule; ``began`` is where its changes begin in the machine's log.

    ``arrived`` is what was inserted or deleted late, or inserted again by a second try once it was deleted. An insert
    in doubt whose place was taken by another one can still arrive where a delete has made the place free, as can one
    that puts something back, and a delete that was sent twice where what it took was put back, to the byte, in between:
    nobody can tell a writer that. In ``archive`` a document that arrives so, or whose writer died or could not look at
    the archive again after its insert, may come to stand on, or below, a life that ended there in between: A2 or a
    phantom, for a person to settle by its repair. Nothing else that was told may turn out untrue.
    """
    writes = [write for each in told for write in each.writes]
    removals = [removal for each in told for removal in each.removals]
    yield from _beside(machine, before, of)
    for number, id in enumerate((ID, NEW)):
        yield from _of_one(
            machine,
            sound,
            of,
            id,
            stamp(10**9 + number),
            arrived,
            [write for write in writes if write.id == id],
            [removal for removal in removals if removal.id == id],
        )
    yield from _taken(machine, of, removals, began)


def _beside(machine: Machine, before: Machine, of: Variant) -> Iterator[str]:
    """Nobody named the document beside the two."""
    name = str(BESIDE.python())
    if history(machine, of.profile, name) != history(before, of.profile, name) and of.layout not in ("hashed", "plain"):
        yield "a document that nobody named was changed"


def _of_one(
    machine: Machine,
    sound: Layout,
    of: Variant,
    id: Value,
    last: Stamp,
    arrived: list[bytes],
    writes: list[Write],
    removals: list[Removal],
) -> Iterator[str]:
    entries = history(machine, of.profile, str(id.python()))
    there = Counter(entry.token for entry in entries)
    twice = [token for token, count in there.items() if count > 1 and token is not None]
    if any(each.may_have_happened for each in removals):  # an insert of two tries may arrive once the other is deleted
        twice = [token for token in twice if not any(token.binary in raw for raw in arrived)]
    if twice and of.layout not in ("hashed", "plain"):
        yield f"{twice} are there twice"
    for write in writes:
        kind = write.outcome.kind if write.outcome is not None else "died"
        excused = any(each.may_have_happened and holds(machine, of.profile, each.saw, write.token) for each in removals)
        excused = excused or write.is_told_of_an_equal_one(entries, of)
        if kind == "applied" and not there[write.token] and not excused:
            yield f"{write.mark} ({write.kind}) was acknowledged, is not there, and no delete saw it"
        freed = any(each.may_have_happened for each in removals) and any(write.token.binary in raw for raw in arrived)
        freed = freed and write.kind != "create"
        if kind in SURELY_NOT and (there[write.token] or excused) and not freed:
            yield f"{write.mark} ({write.kind}) was told {kind} and is there"
    if sound.own_documents and not removals:
        yield from _lives(entries, writes, of)
        yield from as_read(sound, entries, of, id=id)
    elif not removals and of.layout not in ("hashed", "plain"):
        begun = [write.mark for write in writes if write.kind == "create" and there[write.token]]
        if len(begun) > 1 or (begun and entries[0].token not in {w.token for w in writes if w.kind == "create"}):
            yield f"{begun} were all created under one id"
    for removal in removals:
        yield from _removed(machine, removal, removals, writes, arrived)
    try:
        base = sound.version(id)
        assert base.content is not None
        outcome = sound.swap(id, base, changed(base.content, "end", "last"), last)
    except NotFound:
        outcome = sound.create(bson.encode(FIRST), id, last)
    except Refused as error:
        yield f"nobody can go on with {id.python()}: {error}"
        return
    if outcome.kind != "applied" and not (of.layout == "archive" and _unseen(machine, id, arrived, writes, removals)):
        yield f"nobody can go on with {id.python()}: {outcome.detail}"


def _lives(entries: Sequence[Entry], writes: Sequence[Write], of: Variant) -> Iterator[str]:
    """Each version follows the one that its writer saw; a document begins once, and again only behind a tombstone."""
    by_token = {write.token: write for write in writes}
    over = True  # before the first version as after a tombstone
    for place, entry in enumerate(entries):
        write = by_token.get(entry.token) if entry.token is not None else None
        before = entries[place - 1].v if place else None
        ends = entry.content == bson.encode({of.profile.deleted: True})
        if of.dense and entry.v != (before or 0) + 1:
            yield f"version {entry.v} follows {before}"
        if write is not None and (write.kind == "create") != over:
            yield f"{write.mark} ({write.kind}) follows {'a tombstone or nothing' if over else 'a version'}"
        if write is not None and write.kind != "create" and write.base != before:
            yield f"{write.mark} ({write.kind}) began from {write.base} and follows {before}"
        if ends != (write is not None and write.kind == "delete"):
            yield f"version {entry.v} is {'' if ends else 'no '}tombstone, and its write is {write and write.kind}"
        over = ends


def _plain(base: Version) -> object:
    found = base.v.python() if base.v is not None else None
    return found.replace(tzinfo=None) if isinstance(found, dt.datetime) else found


def _unseen(machine: Machine, id: Value, arrived: list[bytes], writes: list[Write], removals: list[Removal]) -> bool:
    """Whether the current document was inserted when its writer could not look at the archive any more."""
    doubtful = [each for each in writes if each.outcome is None or _in_doubt(each.outcome)]
    lost = [each.token.binary for each in doubtful]
    left = [
        raw for each in removals if each.undone and (each.back is None or _in_doubt(each.back)) for _, raw in each.saw
    ]
    for raw in machine.documents(NS):
        if bson.decode(raw)["_id"] == id.python():
            return raw in arrived or raw in left or any(token in raw for token in lost)
    return False


def _in_doubt(outcome: Outcome) -> bool:
    return outcome.kind == "unknown" or "could not be looked at again" in outcome.detail


def _removed(
    machine: Machine, removal: Removal, removals: list[Removal], writes: list[Write], arrived: list[bytes]
) -> Iterator[str]:
    """What a delete was told against what of the documents it saw is there, by their ``_id``."""
    others = [each for each in removals if each is not removal and each.may_have_happened]
    for ns, raw in removal.saw:
        physical = bson.decode(raw)["_id"]
        there = any(bson.decode(each)["_id"] == physical for each in machine.documents(ns))
        lives = any(write.kind == "create" and write.id == removal.id for write in writes)
        again = any(each.undone for each in removals)
        kind = removal.outcome.kind if removal.outcome is not None else "died"
        if kind in SURELY_NOT and not there and not others:
            yield f"{removal.mark} was told {kind}, and {physical} is deleted"
        late = any(bson.encode({"": physical})[6:-1] in raw for raw in arrived)
        # A delete of several versions that is stopped puts back what it deleted, at times just when another delete is
        # done: then one of the two is left, and the one that has put it back is not told that nothing was deleted.
        doubtful = [each for each in others if each.outcome is None or each.outcome.kind == "unknown"]
        again = again or any((ns, physical) in _keys(each) and len(each.saw) > 1 for each in doubtful)
        if kind == "applied" and there and not again and not lives and not late:
            yield f"{removal.mark} was told applied, and {physical} is still there"
        if removal.back is not None and removal.back.kind == "applied" and not there and not others and not late:
            yield f"{removal.mark} was told that {physical} was put back, and it is not there"


def _keys(removal: Removal) -> list[tuple[str, object]]:
    """The documents that a delete saw, by collection and ``_id``: one may have been marked since another saw it."""
    return [(ns, bson.decode(raw)["_id"]) for ns, raw in removal.saw]


def _taken(machine: Machine, of: Variant, removals: list[Removal], began: int) -> Iterator[str]:
    """Every document that was deleted is, as it was then, one that a delete saw."""
    p = of.profile
    marks = ("", f"{p.token}_next", p.current if of.layout == "flagged" else "")
    seen = {_bare(raw, marks, p) for removal in removals for _, raw in removal.saw}
    for change in machine.log[began:]:
        if change.after is None and change.before is not None and _bare(change.before, marks, p) not in seen:
            yield f"a document was deleted in another state than any delete saw: {bson.decode(change.before)}"


def _bare(raw: bytes, marks: tuple[str, ...], p: CollectionProfile) -> bytes:
    """A stored document without its marks; of an archive the version, whether it is the document or its copy there."""
    doc = bson.decode(raw)
    if p.layout == "archive":
        own = doc.pop("_id")
        doc = {"": doc.pop(p.archive_id, own)} | doc
    return bson.encode({name: value for name, value in doc.items() if name not in marks})
