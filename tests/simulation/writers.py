"""The writers of the simulation: each edits one document with the real layout code, and notes what it was told."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import Any, ClassVar

import bson
from bson import ObjectId

from model.catalogue.recognise import bind
from model.errors import NotFound, Refused
from model.foundation.hash_recipe import HashRecipe
from model.foundation.records import Outcome, ServerFacts, Version
from model.layouts.base import Layout
from model.profile import CollectionProfile, stated
from model.server import guards
from model.server.retry import Port, Write
from model.storage.current_writer import CurrentWriter
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from tests.simulation.machine import Machine
from tests.simulation.schedule import SoundPort, WriterPort

ID, NEW, BESIDE = Value.of("K-1"), Value.of("K-2"), Value.of("K-3")
NS, PAST, COUNTERS = "shop.things", "shop.things_past", "shop.counters"
EPOCH = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
TRIES = 6
FIRST: dict[str, Any] = {"title": "Versicherung", "t": 1, "log": ["begun"], "who": {"name": "Eva", "zip": "22763"}}
KINDS = ("end", "front", "log", "nested", "toggle")

MONGODB = ServerFacts("simulated", "8.0", "standalone", 1, 25, True)
OTHER = ServerFacts("simulated", "1.0", "standalone", 1, 6, False)


@dataclass(frozen=True)
class Variant:
    """What else differs between schedules of one layout."""

    layout: str
    names: bool = False  # other field names than the usual ones
    numbering: str = "next"
    removes: bool = True  # deltas have a field for removed paths
    mongodb: bool = True
    excludes: bool = False  # what a stranger bumps is no part of the hash
    tokens: bool = True  # documents carry write tokens
    checkpoints: bool = False  # deltas after missing numbers hold their whole state
    recipe: HashRecipe | None = None  # how hashes are made, where versions have some

    @property
    def profile(self) -> CollectionProfile:
        """The profile of the collection."""
        fields: dict[str, Any] = {
            "numbering": self.numbering,
            "token": "_w",
            "hash_recipe": self.recipe or HashRecipe(),
        }
        if self.layout in ("archive", "stream"):
            fields["archive"] = PAST
        if self.layout == "deltas" and self.removes:
            fields["removed"] = "gone"
        if self.layout == "deltas" and self.checkpoints:
            fields["after_gap"] = "whole"
        if self.excludes:
            fields["hash_exclude"] = ("views",)
        if self.names:
            fields |= {"version": "rev", "token": "writeToken", "archive_id": "of", "current": "now", "prev": "before"}
        if not self.tokens:
            fields["token"] = ""
        return stated(NS, self.layout, **fields)

    @property
    def dense(self) -> bool:
        """Whether versions count without gaps."""
        return self.numbering == "next"


@dataclass
class OneCollection:
    """Stands where a catalogue does: one collection, bound to a port."""

    port: Port
    profile: CollectionProfile
    states: ClassVar[None] = None  # nothing is kept of long histories

    def layout(self, ns: str) -> Layout:
        return bind(self.port, self.profile)

    def keep_learned(self, ns: str) -> None:
        """Keep nothing: each schedule is its own."""

    def forget_states(self, ns: str, id: Value) -> int:
        """Nothing is kept of long histories."""
        return 0

    def info(self, ns: str) -> Any:
        return SimpleNamespace(belongs_to=None)

    def asked_for(self, ns: str) -> str:
        return ""

    def objection(self, ns: str, base: Any = None) -> str:
        return ""


def variant(layout: str, rng: random.Random, seed: int) -> Variant:
    """The variant of one schedule."""
    numbering = "next"
    if layout not in ("hashed", "plain"):
        numbering = rng.choice(("next",) * 6 + ("time", f"counter:{COUNTERS}"))
    of = Variant(layout, rng.random() < 0.5, numbering, rng.random() < 0.5, rng.random() < 0.75)
    tokens = random.Random(f"{layout} {seed} tokens").random() < 0.5
    if not tokens and layout in BESIDE_ONE_ANOTHER:
        of = replace(of, numbering="next")  # other numbers do not keep two writers apart there
    return replace(of, tokens=tokens)


@dataclass
class Attempt:
    """One swap that was tried, and its outcome; None where the writer died first."""

    token: ObjectId
    base: Version
    content: bytes
    outcome: Outcome | None = None


@dataclass
class Edit:
    """What one writer wants to change, and how often it tried."""

    mark: str
    kind: str
    attempts: list[Attempt] = field(default_factory=list)


def stamp(number: int) -> Stamp:
    """A stamp that is the same in every run: its token, its time and the id of a further row."""
    at = EPOCH + dt.timedelta(milliseconds=7 * number)
    return _NumberedStamp(_object_id(2 * number), None, at)


class _NumberedStamp(Stamp):
    """A stamp whose further row has the number behind its token's."""

    @cached_property
    def row(self) -> ObjectId:
        return _object_id(int.from_bytes(self.token.binary[1:], "big") + 1)


def _object_id(number: int) -> ObjectId:
    return ObjectId(b"\x66" + number.to_bytes(11, "big"))


@lru_cache
def ground(of: Variant, beside: bool = False) -> Machine:
    """A machine with a document of two versions, and one beside it that nobody may touch; to be copied."""
    machine = Machine()
    p = of.profile
    layout = bind(SoundPort(machine, MONGODB), p)
    if layout.missing_index():
        machine.unique(*((PAST, (p.archive_id, p.version)) if p.layout == "archive" else (NS, (p.id, p.version))))
    feeder = Feeder(machine, p)
    port = layout.server
    assert isinstance(port, SoundPort)
    for number, id in enumerate((BESIDE, ID) if beside else (ID,)):
        port.token = stamp(1 + 2 * number).token
        created = layout.create(bson.encode(FIRST), id, stamp(1 + 2 * number))
        assert created.kind == "applied", created
        if of.layout == "stream":
            feeder.drain()
        port.token = stamp(2 + 2 * number).token
        second = layout.swap(id, layout.version(id), bson.encode(FIRST | {"t": 2}), stamp(2 + 2 * number))
        assert second.kind == "applied", second
    return machine


def changed(content: bytes, kind: str, mark: str) -> bytes:
    """The content after an edit. A mark counts up, so that an edit which is applied twice shows."""
    doc = bson.decode(content)
    if kind == "toggle":
        doc["t"] = 3 - doc["t"]  # a content that comes back: only version and token tell it from the first
    elif kind == "log":
        doc["log"] = [*doc["log"], mark]
    elif kind == "nested":
        doc["who"] = doc["who"] | {mark: doc["who"].get(mark, 0) + 1}
    elif kind == "front":
        doc = {mark: doc.get(mark, 0) + 1} | doc
    else:
        doc = doc | {mark: doc.get(mark, 0) + 1}
    return bson.encode(doc)


def work(layout: Layout, edits: list[Edit], stamps: Callable[[], Stamp]) -> None:
    """Do the edits one after another: read, change, swap, and from the start again where somebody was faster."""
    for edit in edits:
        for _ in range(TRIES):
            try:
                base = layout.version(ID)
            except NotFound:
                raise AssertionError("the document is gone") from None
            except Refused:
                continue
            assert base.content is not None
            brought = stamps()
            attempt = Attempt(brought.token, base, changed(base.content, edit.kind, edit.mark))
            edit.attempts.append(attempt)
            if isinstance(layout.server, WriterPort):
                layout.server.token = brought.token
            attempt.outcome = layout.swap(ID, base, attempt.content, brought)
            if attempt.outcome.kind in ("applied", "unknown"):
                break


def layout_of(port: WriterPort, of: Variant, fresh: bool = True) -> Layout:
    """The layout under test; unless ``fresh`` it knows what the server's expressions can say, as after a first edit.

    Asking takes twenty reads, in which nothing can go wrong: half of the time of a schedule.
    """
    bound = bind(port, of.profile)
    if not fresh and isinstance(bound.writer, CurrentWriter):
        bound.writer.current.known_abilities = _abilities(of)
    return bound


@lru_cache
def _abilities(of: Variant) -> guards.Abilities:
    machine = ground(of)
    physical = c.get(machine.documents(NS)[0], ("_id",))
    assert physical is not None
    return guards.abilities(SoundPort(machine, MONGODB if of.mongodb else OTHER), NS, physical)


BUMPED = ("embedded", "nested", "plain")
"""Layouts whose schedules draw from their own dice whether there is a stranger; for others that has its own dice."""
BESIDE_ONE_ANOTHER = ("versions", "flagged", "deltas")
"""Layouts in which the next version is inserted, whatever is changed in the one before it just then."""


def last_by(machine: Machine) -> ObjectId | None:
    """Whose the newest state of the one document is, that a stranger may have changed since."""
    return next((each.by for each in reversed(machine.log) if each.ns == NS and each.by is not None), None)


@dataclass
class Stranger:
    """An application without versions, which bumps a number in the current version now and then."""

    machine: Machine
    profile: CollectionProfile
    bumps: int = 0
    left: dict[ObjectId, int] = field(default_factory=dict)
    """What stands in each version that was bumped, by its token."""

    def step(self) -> str:
        """Bump once more; what it did."""
        p = self.profile
        docs = [doc for raw in self.machine.documents(NS) if (doc := bson.decode(raw)).get(p.id) == ID.python()]
        docs = [doc for doc in docs if p.layout != "flagged" or doc.get(p.current)] or docs  # the first that it finds
        current = max(docs, key=lambda doc: doc[p.version]) if p.layout in ("versions", "deltas") else docs[0]
        where = {"_id": current["_id"], "no such field": {"$exists": False}}
        inside = f"{p.current}." if p.layout == "embedded" else ""
        # A delta says what a field is from there on, and not by how much it grew.
        body = {"$set": {"views": self.bumps + 1}} if p.layout == "deltas" else {"$inc": {f"{inside}views": 1}}
        reply = self.machine.apply(Write(NS, "update", where, body, "a bump in place"))
        if reply.applied == "yes":
            self.bumps += 1
            there = current[p.current] if inside else current
            owner = there.get(p.token) or (current["_id"] if p.layout in BESIDE_ONE_ANOTHER else last_by(self.machine))
            self.left[owner] = self.bumps if p.layout == "deltas" else there.get("views", 0) + 1
        return f"bumps views to {self.bumps}"


def _version_in(row: dict[str, Any]) -> dict[str, Any]:
    """A row's version, without what a stranger bumps in place."""
    return {name: value for name, value in row.items() if name not in ("_id", "views")}


@dataclass
class Feeder:
    """What keeps a stream's archive: it copies each change of the current document, in order, however late."""

    machine: Machine
    profile: CollectionProfile
    at: int = 0
    fed: set[bytes] = field(default_factory=set)

    def step(self) -> str:
        """Copy the next change, if there is one; what it did."""
        while self.at < len(self.machine.log):
            change = self.machine.log[self.at]
            self.at += 1
            if change.ns == self.profile.ns and change.after is not None:
                doc = bson.decode(change.after)
                row = {"_id": _object_id(10**12 + self.at), self.profile.archive_id: doc.pop("_id")} | doc
                if change.after in self.fed or self._holds(row):
                    continue  # it was put back as it had been, or was changed in place
                self.fed.add(change.after)
                self.machine.collection(self.profile.archive).insert(bson.encode(row))
                return f"archived version {doc[self.profile.version]}"
        return ""

    def _holds(self, row: dict[str, Any]) -> bool:
        """Whether the very version is archived; what is archived is never changed."""
        p = self.profile
        rows = map(bson.decode, self.machine.documents(p.archive))
        if not p.token:  # a life that began anew has the same numbers
            return any(_version_in(each) == _version_in(row) for each in rows)
        return any(all(each[name] == row[name] for name in (p.archive_id, p.version, p.token)) for each in rows)

    def drain(self) -> None:
        """Copy all that is left."""
        while self.step():
            pass
