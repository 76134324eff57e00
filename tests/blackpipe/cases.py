"""The cases: operation × point on the wire × fault × how often × kind of server, and what the audit says of each."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pymongo.common

from model.errors import Refused
from model.foundation.records import Outcome
from model.server import retry
from tests.blackpipe.operations import Operation, done, operations
from tests.blackpipe.pipe import ALWAYS, FAULTS, WRITES, WRITES_ALONE, Plan
from tests.blackpipe.scenes import BESIDE, Ground, State, ground

TIMES = {"once": 1, "twice": 2, "always": ALWAYS}
SERVERS = ("standalone", "replica set")
DONE, NOTHING = ("applied",), ("conflict", "refused", "skipped")


@dataclass(frozen=True)
class Case:
    """One run of one operation."""

    layout: str
    operation: str
    point: int
    fault: str
    times: str
    server: str

    def __str__(self) -> str:
        return f"{self.server}/{self.layout}/{self.operation}/{self.point}/{self.fault}/{self.times}"


@dataclass
class Result:
    """How a case ended: what the person was told, what is in the database, and what is wrong about that."""

    case: Case
    told: str
    detail: str
    found: str  # before, after, between
    wrong: list[str] = field(default_factory=list)
    hit: list[str] = field(default_factory=list)
    seconds: float = 0.0


@contextmanager
def in_a_hurry() -> Iterator[None]:
    """Short waits, so that thousands of time-outs fit into minutes; nothing else is changed."""
    heartbeat, grace = pymongo.common.MIN_HEARTBEAT_INTERVAL, retry.GRACE
    pymongo.common.MIN_HEARTBEAT_INTERVAL, retry.GRACE = 0.01, 0.15
    try:
        yield
    finally:
        pymongo.common.MIN_HEARTBEAT_INTERVAL, retry.GRACE = heartbeat, grace


class Bench:
    """One operation on one kind of server, ready to be run again and again."""

    def __init__(self, operation: Operation, at: Ground, server: str) -> None:
        self.operation, self.at, self.server = operation, at, server
        with at.patiently():
            self._learn()
        with suppress(Refused):  # at the first time more is asked, which is remembered
            at.again()
            operation.act(at, self.given)
            at.pipe.settle()
        assert self.after != self.before, operation

    def _learn(self) -> None:
        """See the operation done without a fault: which messages it sends, and what it changes."""
        at = self.at
        at.pipe.plan = Plan()
        self.given = self.operation.prepare(at)
        at.pipe.settle()
        at.keep()
        self.before = at.state()
        for _ in range(2):  # at the first time more is asked, which is remembered
            at.again()
            at.pipe.plan = Plan()
            done(self.operation.act(at, self.given))
            at.pipe.settle()
        self.messages = list(at.pipe.plan.seen)
        self.after = at.state()

    def cases(self) -> Iterator[Case]:
        """Every case of it: each write and what follows the first of them, and the last read before."""
        first = next(n for n, name in enumerate(self.messages) if name in WRITES)
        for point in range(max(0, first - 1), len(self.messages)):
            for fault in FAULTS:
                if fault in WRITES_ALONE and self.messages[point] not in WRITES:
                    continue
                for times in TIMES:
                    yield Case(self.operation.layout, self.operation.name, point, fault, times, self.server)

    def run(self, case: Case, seed: int) -> Result:
        """Run one case and judge it."""
        at, began = self.at, time.monotonic()
        at.again()
        at.pipe.plan = plan = Plan(case.point, case.fault, TIMES[case.times], random.Random(f"{case} {seed}"))
        outcome: Outcome | None = None
        told, detail, wrong = "", "", []
        try:
            outcome = self.operation.act(at, self.given)
            told, detail = outcome.kind, outcome.detail
        except Refused as error:
            told, detail = "refused", str(error)
        except Exception as error:
            told, wrong = "crashed", [f"{type(error).__name__}: {error}"]
        took = time.monotonic() - began
        at.pipe.plan = Plan()
        at.pipe.settle()
        state = at.state()
        found = "before" if state == self.before else "after" if state == self.after else "between"
        wrong += self._judged(told, found, state)
        if outcome is not None:
            wrong += self._looked_at_again(outcome, found)
        if self.operation.repeatable and told != "crashed":
            with suppress(Refused):
                self.operation.act(at, self.given)
            if at.state() != self.after:  # on a busy machine a time-out may come by itself
                with at.patiently():
                    self.operation.act(at, self.given)
            if (twice := at.state()) != self.after:
                wrong.append(f"doing it again leaves {twice}")
        if wrong:
            detail += f"\n  before {self.before}\n  after  {self.after}\n  found  {state}"
        return Result(case, told, detail, found, wrong, plan.hit, took)

    def _judged(self, told: str, found: str, state: State) -> list[str]:
        if told in DONE and found != "after":
            return [f"acknowledged, and the database is {found}"]
        if told in NOTHING and found != "before" and not self._only_drawn(state):
            return [f"{told}, and the database is {found}"]
        if told == "unknown" and found == "between" and not self.operation.in_steps:
            known = [*self.before, *self.after]
            if strange := [row for row in state if row not in known]:
                return [f"unknown, and there is what nobody wrote: {strange}"]
        return []

    def _only_drawn(self, state: State) -> bool:
        """Whether nothing came of it but a number that nobody gets: numbers have gaps."""
        return [row for row in state if row[0] != "counters"] == [
            row for row in self.before if row[0] != "counters"
        ] and (self.operation.name == "insert by counter")

    def _settled(self, outcome: Outcome) -> Outcome:
        """The outcome of looking for a write again, once the server answers: on a busy machine it may be late."""
        with suppress(Refused):
            return self.at.session.way_back.settle(outcome)
        with self.at.patiently():
            return self.at.session.way_back.settle(outcome)

    def _looked_at_again(self, outcome: Outcome, found: str) -> list[str]:
        """The journal says the same, and looking again tells no lie."""
        if outcome.entry is None:
            return []
        said = self.at.session.journal.entry(outcome.entry).kind
        wrong = (
            [] if said == outcome.kind or self.operation.in_steps else [f"the journal says {said} of {outcome.kind}"]
        )
        if outcome.kind != "unknown":
            return wrong
        again = self._settled(outcome)
        if self.at.layout in BESIDE:  # looking finishes the edit, or takes back what was left of it
            state = self.at.state()
            found = "before" if state == self.before else "after" if state == self.after else "between"
        if again.kind == "applied" and found != "after" and not self.operation.in_steps:
            wrong.append(f"looking again says applied, and the database is {found}: {again.detail}")
        if again.kind == "conflict" and found != "before":
            wrong.append(f"looking again says it is not there, and the database is {found}: {again.detail}")
        return wrong


@contextmanager
def benches(server: str, only: str = "", tokens: bool = False) -> Iterator[Iterator[Bench]]:
    """The operations on one kind of server, one after another; ``only`` names a layout, or layout/operation.

    Documents carry write tokens only with ``tokens``.
    """
    places: dict[tuple[str, str], Ground] = {}
    with in_a_hurry(), ExitStack() as open_ones:

        def each() -> Iterator[Bench]:
            for operation in operations():
                if only and not f"{operation.layout}/{operation.name}/".startswith(only.rstrip("/") + "/"):
                    continue
                key = (operation.layout, operation.numbering)
                if key not in places:
                    made: Any = ground(*key, replica_set=server == "replica set", tokens=tokens)
                    places[key] = open_ones.enter_context(made)
                yield Bench(operation, places[key], server)

        yield each()
