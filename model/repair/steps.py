"""The writes of repairs: each changes one stored document and is guarded by all of its bytes.

A step contains the document before and after, so that a dry run can show it, doubt can be settled by reading, and
undo can restore the bytes. A document to be removed is first copied to the quarantine.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct, field

from model.errors import NotFound, Refused
from model.layouts.base import Layout
from model.repair import quarantine
from model.repair.items import Item, Seen, digest
from model.repair.today import Today
from model.server import guards
from model.server.retry import Port, Write, bson_of
from model.storage import update_operators
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value

Verdict: TypeAlias = Literal["would", "young", "changed", "refused", "asks", "nothing"]
GONE = "gone"
"""In place of a digest: the document does not exist."""


class DocumentChange(NamedTuple):
    """One stored document before and after a step; None: it does not exist."""

    ns: str
    label: str  # for people
    before: bytes | None
    after: bytes | None

    @property
    def kind(self) -> Literal["insert", "update", "delete"]:
        """The kind of the write."""
        return "insert" if self.before is None else "delete" if self.after is None else "update"


class Step(Struct, frozen=True):
    """One guarded write of a repair, with everything to preview, send, journal and undo it."""

    write: Write
    change: DocumentChange
    keep: Write | None = None  # sent first: the copy of the document that this step removes
    clear: Write | None = None  # sent afterwards if nothing depends on it: removes the copy that is no longer needed
    last: Callable[[], str] | None = None  # checks again afterwards: why the step must be undone, else ""
    landed: Callable[[], bool | None] | None = None  # used if comparing the whole document cannot tell
    beside: tuple[Seen, ...] = ()  # documents that must be unchanged when the step is undone
    extra: Mapping[str, str] = field(default_factory=dict)  # kept in the journal for undo

    @property
    def physical(self) -> Value:
        """The ``_id`` of the document."""
        return physical(self.change.before or self.change.after or c.EMPTY)


class Prepared(Struct, frozen=True):
    """The steps of a repair for the documents as they are now; the dry run shows them, the repair sends them."""

    verdict: Verdict
    text: str  # one clause or sentence
    done: str = ""  # the sentence after it is done
    steps: tuple[Step, ...] = ()
    explanation: str = ""  # the order of the writes and the guard, in one or two sentences
    lost: bool = False  # refused because the server could not be reached
    differs: bool = False  # possible, but refused because a scan of today would not propose it


class RepairContext(Struct, frozen=True):
    """What a repair works with: the server, the layouts, the time, and its plan's earlier writes."""

    server: Port
    layouts: Callable[[str], Layout]
    now: Callable[[], dt.datetime]
    author: str
    ours: dict[tuple[str, Value], set[str]] = field(default_factory=dict)  # digests (or GONE) that our writes left
    ables: dict[str, guards.Abilities] = field(default_factory=dict)
    pretended: dict[tuple[str, Value], bytes | None] = field(default_factory=dict)  # of a dry run
    today: Today | None = None  # None: nothing was scanned, as for undo

    # --- reading

    def at(self, ns: str, physical: Value) -> bytes | None:
        """The stored document with exactly this ``_id``; None if there is none."""
        if (ns, physical) in self.pretended:
            return self.pretended[ns, physical]
        # Two, because a server may find another id equal, such as 1.0 for 1; the unique index allows no more.
        for raw in self.server.find(ns, guards.by_id(physical), limit=2):
            if c.get(raw, ("_id",)) == physical:
                return raw
        return None

    def having(self, ns: str, name: str, value: Value) -> Iterator[bytes]:
        """The stored documents with exactly this value in a field."""
        mine = {id: raw for (where, id), raw in self.pretended.items() if where == ns} if self.pretended else {}
        for raw in self.server.find(ns, {name: {"$eq": value}}):
            if c.get(raw, (name,)) == value and physical(raw) not in mine:
                yield raw
        for pretended in mine.values():
            if pretended is not None and c.get(pretended, (name,)) == value:
                yield pretended

    def pretend(self, step: Step) -> None:
        """Treat a step as done in a dry run, so that later steps are shown as they would follow it."""
        change, id = step.change, step.physical
        self.pretended[change.ns, id] = change.after
        self.leave(change.ns, id, change.after)

    def current(self, layout: Layout, id: Value) -> bytes | None:
        """The stored current document of a layout with one per id; None if there is none."""
        return next(self.having(layout.ns, layout.profile.id, id), None)

    def stale(self, item: Item) -> Seen | None:
        """The first document of an item that has changed since the scan, other than by this plan."""
        for seen in item.seen:
            if not self.known(seen, self.at(seen.ns, seen.id)):
                return seen
        return None

    def known(self, seen: Seen, raw: bytes | None) -> bool:
        """Whether a document is as the scan saw it, or as this plan left it."""
        now = GONE if raw is None else digest(raw)
        return now == seen.sha256 or now in self.ours.get((seen.ns, seen.id), ())

    def ours_at(self, ns: str, physical: Value) -> bool:
        """Whether this plan has written a document."""
        return (ns, physical) in self.ours

    def leave(self, ns: str, physical: Value, raw: bytes | None) -> None:
        """Note the state in which this plan's write left a document."""
        self.ours.setdefault((ns, physical), set()).add(GONE if raw is None else digest(raw))

    def stamp(self) -> Stamp:
        """A new token and the time, for a repair that makes a version."""
        return Stamp(at=self.now())

    # --- writing

    def able(self, ns: str, physical: Value) -> guards.Abilities:
        """What this server's expressions can distinguish, tested once per collection."""
        found = self.ables.get(ns) or guards.abilities(self.server, ns, physical)
        if found.counts or self._stored(ns, physical):  # without the document, a server seems unable
            self.ables[ns] = found
        return found

    def _stored(self, ns: str, physical: Value) -> bool:
        """Whether the server has a document, regardless of a dry run."""
        return any(True for _ in self.server.find(ns, guards.by_id(physical), projection={"_id": 1}, limit=1))

    def exactly(self, ns: str, raw: bytes, beside: int = 0, all_goes: bool = True) -> dict[str, Any]:
        """The filter that a document is byte for byte as it was read; raises ``Refused`` if none can say that.

        ``all_goes=False`` tolerates a field that somebody added, if this server cannot count fields.
        """
        one = physical(raw)
        able = self.able(ns, one)
        return guards.by_id(one) | guards.whole(raw, lambda: able, all_goes or able.counts or able.root, beside).filter

    def swapped(self, ns: str, label: str, before: bytes, after: bytes, note: str, **more: Any) -> Step:
        """The step that replaces ``before`` by ``after``, guarded; also moves another program's lock."""
        for name, value in self._moved(ns, before).items():
            after = c.put(after, (name,), value)
        update_operators.check_size(after)
        dots = [name for name, _ in (*c.fields(before), *c.fields(after)) if "." in name]
        if dots and not self.able(ns, physical(before)).fields:
            raise update_operators.dotted(dots[0])
        edit = update_operators.operators(before, after)
        if edit is not None:
            body = edit.body({})
            write = Write(ns, "update", self.exactly(ns, before, len(bson_of(body)), False), body, note)
        else:
            whole = update_operators.Whole(after)
            write = Write(ns, whole.kind, self.exactly(ns, before, len(after)), whole.body, note)
        return Step(write, DocumentChange(ns, label, before, after), **more)

    def operated(self, ns: str, label: str, before: bytes, after: bytes, body: dict[str, Any], note: str) -> Step:
        """The step that changes a document by given operators, for changes that the result does not show."""
        if moved := self._moved(ns, before):
            body = body | {"$set": body.get("$set", {}) | moved}
            for name, value in moved.items():
                after = c.put(after, (name,), value)
        write = Write(ns, "update", self.exactly(ns, before, len(bson_of(body)), False), body, note)
        return Step(write, DocumentChange(ns, label, before, after))

    def alike(self, ns: str, a: bytes | None, b: bytes | None) -> bool:
        """Whether two states of a document are equal except for another program's lock."""
        if a is None or b is None or a == b:
            return a == b
        try:
            names = self.layouts(ns).profile.lock_names
        except NotFound:
            return False
        # A program that only renews its lock has not changed the content.
        return bool(names) and c.without(a, names) == c.without(b, names)

    def _moved(self, ns: str, before: bytes) -> dict[str, Value]:
        """The lock field of another program with its next value; raises ``Refused`` if that is unknown."""
        try:
            foreign = self.layouts(ns).foreign
        except NotFound:
            return {}
        if reason := foreign.objection(before):
            raise Refused(reason)
        foreign.refuse_inside()
        return foreign.moved(before)

    def removed(self, ns: str, label: str, raw: bytes, note: str, **more: Any) -> Step:
        """The step that deletes a document, if it is unchanged, after copying it to the quarantine."""
        with suppress(NotFound):
            if reason := self.layouts(ns).foreign.closed():
                raise Refused(reason)
        keep = quarantine.keeping(ns, raw, self.now(), self.author)
        write = Write(ns, "delete", self.exactly(ns, raw), None, note)
        return Step(write, DocumentChange(ns, label, raw, None), keep, **more)

    def inserted(self, ns: str, label: str, raw: bytes, note: str, **more: Any) -> Step:
        """The step that inserts a document; the unique index on ``_id`` rejects a second one."""
        update_operators.check_size(raw)
        return Step(Write(ns, "insert", {}, raw, note), DocumentChange(ns, label, None, raw), **more)


def physical(raw: bytes) -> Value:
    """The ``_id`` of a stored document; raises ``Refused`` if it has none."""
    found = c.get(raw, ("_id",))
    if found is None:
        raise Refused("A stored document has no _id, so no write can name it.")
    return found


def seen(ns: str, raw: bytes) -> Seen:
    """A stored document as it is now."""
    return Seen(ns, physical(raw), digest(raw))


def nothing(text: str = "Nothing is left to do.") -> Prepared:
    """A repair with nothing to do, because the state is already right."""
    return Prepared("nothing", text)


def refused(text: str) -> Prepared:
    """A repair that is impossible here; the reason is one sentence."""
    return Prepared("refused", text)


def kept_in(ns: str) -> str:
    """A clause that says where a removed document's copy is."""
    return f"a copy is in {quarantine.place(ns)}"


def named(item: Item, ns: str, raws: Collection[bytes]) -> list[bytes]:
    """The stored documents among these that the plan names: no other is ever removed."""
    ids = {each.id for each in item.seen if each.ns == ns}
    return [raw for raw in raws if physical(raw) in ids]
