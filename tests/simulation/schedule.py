"""The scheduler: one writer runs at a time, and at every operation on the server the seed chooses the next one.

Writers are threads that pass the turn on, because layouts are plain code that cannot be stepped. Only the one with
the turn runs, so a seed always gives the same schedule.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bson import ObjectId

from model.errors import Unreachable
from model.foundation.records import ServerFacts
from model.server.retry import Reply, Terms, Write, bson_of
from tests.simulation.machine import Machine

DEATH = 0.06
DOUBT = 0.12
READ_FAILS = 0.01
LANDS = 0.12
"""The chance at each operation that something which is on its way arrives."""

IN_DOUBT = Reply(
    "unknown", retry=True, sentence="The connection was lost while the write was on its way.", error=Unreachable("lost")
)


class Dead(BaseException):
    """The writer's process has ended, here and now."""


@dataclass
class Odds:
    """How often something goes wrong: at each write the writer dies, or the outcome stays in doubt."""

    death: float = DEATH
    doubt: float = DOUBT
    read_fails: float = READ_FAILS


class Crew:
    """Threads that run jobs in turn; made once, used for many schedules."""

    def __init__(self, size: int) -> None:
        self.turns = [threading.Lock() for _ in range(size)]
        self.home = threading.Lock()
        self.jobs: list[Callable[[], None] | None] = [None] * size
        for lock in (*self.turns, self.home):
            lock.acquire()
        for number in range(size):
            threading.Thread(target=self._serve, args=(number,), daemon=True).start()

    def _serve(self, number: int) -> None:
        while True:
            self.turns[number].acquire()
            job = self.jobs[number]
            if job is None:
                return
            job()

    def close(self) -> None:
        """End the threads."""
        self.jobs = [None] * len(self.turns)
        for turn in self.turns:
            turn.release()


@dataclass
class Schedule:
    """One run: a machine, its writers, what is still on its way, and who has the turn."""

    crew: Crew
    machine: Machine
    rng: random.Random
    odds: Odds = field(default_factory=Odds)
    trace: list[str] | None = None  # filled where a schedule is to be shown
    background: Callable[[], str] | None = None  # a process beside the writers: one step of it, and what it did
    late: list[tuple[str, Write, ObjectId | None]] = field(default_factory=list)
    alive: list[int] = field(default_factory=list)
    steps: int = 0
    crashed: list[BaseException] = field(default_factory=list)
    arrived: list[bytes] = field(default_factory=list)  # what was inserted late, and the filters of late deletes
    came_late: set[ObjectId] = field(default_factory=set)
    """The tokens of the attempts of which a write arrived late."""
    inserted: dict[int, Write] = field(default_factory=dict)  # by identity: a second try sends the same one

    def run(self, writers: Sequence[Callable[[], None]]) -> None:
        """Run the writers to their ends or deaths; then all that is on its way lands."""
        self.alive = list(range(len(writers)))
        for number, writer in enumerate(writers):
            self.crew.jobs[number] = self._job(number, writer)
        self.crew.turns[self.rng.choice(self.alive)].release()
        self.crew.home.acquire()
        while self.late:
            self._land()

    def _job(self, number: int, writer: Callable[[], None]) -> Callable[[], None]:
        def job() -> None:
            try:
                writer()
            except Dead:
                self.say(f"writer {number}", "is dead")
            except BaseException as error:
                self.crashed.append(error)
            self.alive.remove(number)
            if self.alive:
                self.crew.turns[self.rng.choice(self.alive)].release()
            else:
                self.crew.home.release()

        return job

    def say(self, who: str, what: str) -> None:
        """Note a step of the schedule."""
        if self.trace is not None:
            self.trace.append(f"{self.steps:4}  {who:10} {what}")

    def turn(self, number: int) -> None:
        """Called by a writer before each operation: others may go first."""
        self.steps += 1
        rng = self.rng
        if self.late and rng.random() < LANDS:
            self._land()
        if self.background is not None and rng.random() < 0.2 and (did := self.background()):
            self.say("beside", did)
        following = self.alive[int(rng.random() * len(self.alive))]
        if following != number:
            turns = self.crew.turns
            turns[following].release()
            turns[number].acquire()

    def apply(self, write: Write, by: ObjectId | None = None) -> Reply:
        """Do a write now; an insert that is done a second time, its document deleted in between, arrives late."""
        reply = self._applied(write, by)
        if reply.applied == "yes" and write.kind == "insert" and isinstance(write.body, bytes):
            if id(write) in self.inserted:
                self._arrives(write.body, by)
            self.inserted[id(write)] = write
        return reply

    def _applied(self, write: Write, by: ObjectId | None) -> Reply:
        self.machine.by = by
        try:
            return self.machine.apply(write)
        finally:
            self.machine.by = None

    def _arrives(self, what: bytes, by: ObjectId | None) -> None:
        self.arrived += [what] if by is None else [what, by.binary]

    def _land(self) -> None:
        who, write, by = self.late.pop(int(self.rng.random() * len(self.late)))
        reply = self._applied(write, by)
        if reply.applied == "yes" and write.kind in ("insert", "delete"):
            self._arrives(write.body if isinstance(write.body, bytes) else bson_of(write.filter), by)
        if reply.applied == "yes" and by is not None:
            self.came_late.add(by)
        self.say(who, f"   landing late: {_told(write)} → {_answer(reply)}")


class WriterPort:
    """The server as one writer sees it."""

    read_only = False

    def __init__(self, schedule: Schedule, number: int, facts: ServerFacts) -> None:
        self.schedule = schedule
        self.number = number
        self.name = f"writer {number}"
        self.token: ObjectId | None = None
        """The token of the attempt under way, which tells the audit whose a write is."""
        self._facts = facts

    def facts(self) -> ServerFacts:
        return self._facts

    def send(self, write: Write) -> Reply:
        schedule = self.schedule
        schedule.turn(self.number)
        chance = schedule.rng.random()
        odds = schedule.odds
        if chance >= odds.death + odds.doubt:
            reply = schedule.apply(write, self.token)
            schedule.say(self.name, f"{_told(write)} → {_answer(reply)}")
            return reply
        dies = chance < odds.death
        how = schedule.rng.choice(("never sent", "reply lost", "landing late"))
        if how == "reply lost":
            reply = schedule.apply(write, self.token)
            how = f"reply lost: {_answer(reply)}"
        elif how == "landing late":
            schedule.late.append((self.name, write, self.token))
        schedule.say(self.name, f"{_told(write)} → {how}{', and dies' if dies else ''}")
        if dies:
            raise Dead
        return IN_DOUBT

    def find(
        self,
        ns: str,
        filter: Terms | None = None,
        sort: Terms | None = None,
        projection: Terms | None = None,
        skip: int = 0,
        limit: int = 0,
        max_ms: int | None = None,
        batch: int = 0,
    ) -> Iterator[bytes]:
        schedule = self.schedule
        schedule.turn(self.number)
        if schedule.rng.random() < schedule.odds.read_fails:
            schedule.say(self.name, f"find in {ns} → the connection is lost")
            raise Unreachable("The connection was lost; try again.")
        found = schedule.machine.find(ns, filter, sort, projection, skip, limit)
        if schedule.trace is not None:
            schedule.say(self.name, f"find {_short(filter)} in {ns} → {len(found)}")
        return iter(found)

    def aggregate(
        self, ns: str, pipeline: Sequence[Terms], max_ms: int | None = None, batch: int = 0
    ) -> Iterator[bytes]:
        raise NotImplementedError("no swap aggregates")

    def count(self, ns: str, filter: Terms | None = None, max_ms: int | None = 2000) -> int | None:
        return len(list(self.find(ns, filter)))

    def collections(self, db: str) -> list[tuple[str, str, dict[str, Any]]]:
        return [(ns.partition(".")[2], "collection", {}) for ns in self.schedule.machine.collections]

    def collection_ids(self, db: str) -> dict[str, str]:
        return {}

    def indexes(self, ns: str) -> list[dict[str, Any]]:
        return [index.spec() for index in self.schedule.machine.collection(ns).indexes.values()]

    def create_index(self, ns: str, keys: Terms, unique: bool = False) -> None:
        raise NotImplementedError("no swap creates an index")


class SoundPort(WriterPort):
    """The same without a scheduler and without faults: to prepare, to repair, and to look afterwards."""

    def __init__(self, machine: Machine, facts: ServerFacts) -> None:
        self.machine = machine
        self._facts = facts
        self.token = None

    def send(self, write: Write) -> Reply:
        self.machine.by = self.token
        return self.machine.apply(write)

    def find(
        self,
        ns: str,
        filter: Terms | None = None,
        sort: Terms | None = None,
        projection: Terms | None = None,
        skip: int = 0,
        limit: int = 0,
        max_ms: int | None = None,
        batch: int = 0,
    ) -> Iterator[bytes]:
        return iter(self.machine.find(ns, filter, sort, projection, skip, limit))

    def collections(self, db: str) -> list[tuple[str, str, dict[str, Any]]]:
        return [(ns.partition(".")[2], "collection", {}) for ns in self.machine.collections]

    def indexes(self, ns: str) -> list[dict[str, Any]]:
        return [index.spec() for index in self.machine.collection(ns).indexes.values()]


def _answer(reply: Reply) -> str:
    if reply.duplicate:
        return "duplicate key"
    return "applied" if reply.applied == "yes" else reply.sentence or "no match"


def _told(write: Write) -> str:
    where = f" where {_short(write.filter)}" if write.filter else ""
    return f"{write.kind} in {write.ns} ({write.note}){where}"


def _short(terms: Terms | None) -> str:
    shown = []
    for name, value in (terms or {}).items():
        if hasattr(value, "get") and not hasattr(value, "python"):
            value = value.get("$eq", "…")
        value = value.python() if hasattr(value, "python") else value
        shown.append(f"{name}: {str(value)[:26]}")
    return "{" + ", ".join(shown[:4]) + "}"
