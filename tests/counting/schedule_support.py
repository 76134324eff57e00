"""One schedule of counting: a machine, writers with the real code as their library, and what they were told."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bson

from model.catalogue.catalogue import Catalogue
from model.foundation.records import Outcome, ServerFacts
from model.profile import CollectionProfile, Profile
from model.server.retry import Port
from model.session.exactly_once import Once
from model.userdata.journal import Intent, Journal
from model.writing.writer import Writer
from tests.simulation.machine import Machine
from tests.simulation.schedule import Crew, Odds, Schedule, SoundPort, WriterPort

WRITERS = 4
SIMULATED = ServerFacts("simulated", "8.0", "standalone", 1, 25, True)
Doc = dict[str, Any]


class Kept(Journal):
    """A journal that only counts its entries: a file for each of a million writes would be most of the time."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere"))
        self._numbers = itertools.count(1)

    def begin(self, intent: Intent) -> str:
        return str(next(self._numbers))

    def end(self, entry: str, outcome: Outcome, stored_content: bytes | None = None) -> None:
        pass


@dataclass
class Told:
    """One thing that a writer wanted, and what it was told: None where it died first."""

    what: Any
    outcome: Outcome | None = None

    @property
    def kind(self) -> str:
        """``died`` where nobody was told."""
        return self.outcome.kind if self.outcome is not None else "died"


@dataclass
class Run:
    """A schedule under way: its machine, its jobs and what was told."""

    seed: int
    subject: str
    profiles: Sequence[CollectionProfile]
    crew: Crew
    shown: bool = False
    strict: bool = True
    odds: Odds = field(default_factory=Odds)

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.subject} {self.seed}")
        self.machine = Machine(strict=self.strict)
        self.schedule = Schedule(self.crew, self.machine, self.rng, self.odds, [] if self.shown else None)
        self.told: list[Told] = []
        self.jobs: list[Callable[[], None]] = []

    def insert(self, ns: str, *docs: Mapping[str, Any]) -> None:
        """Put documents there before anybody begins."""
        for doc in docs:
            self.machine.collection(ns).insert(bson.encode(doc))

    def docs(self, ns: str) -> list[Doc]:
        """What is stored, plainly decoded."""
        return [bson.decode(raw) for raw in self.machine.documents(ns)]

    def port(self) -> WriterPort:
        """The server as the next writer sees it."""
        return WriterPort(self.schedule, len(self.jobs), SIMULATED)

    def writer(self, port: Port) -> Writer:
        """The real writer over a port."""
        server: Any = port  # the catalogue asks it for nothing that a profile states
        catalogue = Catalogue(server, port, Profile(tuple(self.profiles)), "simulated")
        for profile in self.profiles:
            catalogue.hold(profile, "It was looked at before the schedule began.")
        return Writer(catalogue, port, Kept(), "simulated")

    def once(self, port: Port) -> Once:
        """The library over a port."""
        return Once(self.writer(port))

    def sound(self) -> SoundPort:
        """The server without faults, to look and to clean up afterwards."""
        return SoundPort(self.machine, SIMULATED)

    def add(self, deeds: Sequence[tuple[Any, Callable[[], Outcome]]]) -> None:
        """A writer that does one thing after another, and notes what it is told."""

        def job() -> None:
            for what, deed in deeds:
                told = Told(what)
                self.told.append(told)
                told.outcome = deed()
                self.schedule.say("", f"was told {told.kind} for {what}: {told.outcome.detail}")

        self.jobs.append(job)

    def run(self) -> list[str]:
        """Let all of them run to their ends; what failed in the code itself."""
        self.schedule.run(self.jobs)
        return [f"the code failed: {type(error).__name__}: {error}" for error in self.schedule.crashed]


@dataclass(frozen=True)
class Result:
    """How one schedule ended."""

    seed: int
    subject: str
    wrong: tuple[str, ...]
    kinds: tuple[str, ...]
    steps: int
    trace: tuple[str, ...] = ()


def result(run: Run, wrong: Sequence[str]) -> Result:
    """What a run came to."""
    kinds = tuple(told.kind for told in run.told)
    return Result(run.seed, run.subject, tuple(wrong), kinds, run.schedule.steps, tuple(run.schedule.trace or ()))


def exactly_once(told: Sequence[Told], there: Callable[[Any], int]) -> list[str]:
    """Acknowledged means once, refused and conflict mean not at all, and nothing is there twice."""
    said = []
    for each in told:
        count = there(each.what)
        if count > 1:
            said.append(f"{each.what} is there {count} times")
        if each.kind in ("applied", "skipped") and count != 1:
            said.append(f"{each.what} was acknowledged and is there {count} times")
        if each.kind in ("refused", "conflict") and count:
            said.append(f"{each.what} was told {each.kind} and is there")
    return said
