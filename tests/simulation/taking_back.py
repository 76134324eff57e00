"""Versions taken back while two writers continue: exactly what was requested is taken back, once.

A document has some versions, each of which set a mark of its own. Two people take back the same random set of them,
in separate runs, beside two writers; replies are lost, writes land late, some die. Hashes, by one of several recipes,
fit what is stored.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Set
from functools import lru_cache
from pathlib import Path
from typing import Any

import bson
from bson import ObjectId

from model.errors import Refused
from model.foundation.records import Outcome
from model.layouts.base import Layout
from model.layouts.registry import bind
from model.operations.batches import Batches
from model.operations.taking_back import Chosen, TakingBack
from model.profile import CollectionProfile
from model.server.retry import Reply, Write
from model.userdata.journal import Journal
from model.writing.writer import Writer
from tests.simulation.hashes import drawn, misfits, seal
from tests.simulation.histories import Entry, history
from tests.simulation.machine import Machine
from tests.simulation.run import Result
from tests.simulation.schedule import Crew, Dead, Odds, Schedule, SoundPort, WriterPort
from tests.simulation.writers import (
    ID,
    MONGODB,
    NS,
    OTHER,
    Edit,
    Feeder,
    OneCollection,
    Variant,
    changed,
    ground,
    stamp,
    work,
)

LAYOUTS = ("versions", "flagged", "embedded", "nested", "archive", "deltas", "stream")
SUBJECT = "taking back, {}"
SUBJECTS = {SUBJECT.format(layout): layout for layout in LAYOUTS}
WRITERS, REVERTERS, TRIES = 2, 2, 4
KINDS = ("end", "log", "nested", "toggle")
ENDS = ("applied", "skipped", "conflict")
"""How a run that nobody disturbs may end; elements of one array, some of which stay, may be a person's to settle."""
FEWEST, MOST = 2, 4  # versions that may be taken back


class Killed(SoundPort):
    """A port that stops its process at one of its writes: before it is sent, or behind it."""

    def __init__(self, machine: Machine, at: int, behind: bool) -> None:
        super().__init__(machine, MONGODB)
        self.at, self.behind, self.writes = at, behind, 0

    def send(self, write: Write) -> Reply:
        """Send it, unless the process ends here."""
        now, self.writes = self.writes, self.writes + 1
        if now == self.at and not self.behind:
            raise Dead
        reply = super().send(write)
        if now == self.at:
            raise Dead
        return reply


@lru_cache(maxsize=64)
def edited(of: Variant, kinds: tuple[str, ...]) -> Machine:
    """The machine of every schedule with a version for each kind of edit on top, and its hashes; to be copied."""
    first = ground(of)
    machine = first.copy()
    machine.log += first.log
    feeder = Feeder(machine, of.profile, len(machine.log) - 1) if of.layout == "stream" else None
    layout = bind(SoundPort(machine, MONGODB), of.profile)
    for number, kind in enumerate(kinds):
        if feeder is not None:
            feeder.drain()
        base = layout.version(ID)
        assert base.content is not None
        outcome = layout.swap(ID, base, changed(base.content, kind, f"b{number}"), stamp(5 + number))
        assert outcome.kind == "applied", outcome
    if feeder is not None:
        feeder.drain()
    seal(machine, of)
    return machine


def copied(machine: Machine) -> Machine:
    twin = machine.copy()
    twin.log += machine.log
    return twin


def _taking(port: Any, profile: CollectionProfile, home: Path) -> TakingBack:
    places: Any = OneCollection(port, profile)
    return TakingBack(Writer(places, port, Journal(home), "simulated", "tester"), lambda ns: None)


Script = Callable[[Layout, Chosen], None]


def _worked_out(layout: Layout, chosen: Chosen) -> tuple[dict[str, Any], dict[str, Any]]:
    """The stored document, and the state before the oldest version that is to go, as a script would look for it."""
    versions = [*layout.history(ID, contents=True)][::-1]
    oldest = min(n for n, each in enumerate(versions) if each.v in chosen.versions)
    base = layout.version(ID)
    return bson.decode(base.raw or b""), bson.decode(versions[oldest - 1].content or b"")


def rolling_back(layout: Layout, chosen: Chosen) -> None:
    """A script that puts the whole state before them back, over what is stored as it read it."""
    stored, before = _worked_out(layout, chosen)
    p = layout.profile
    kept = {name: each for name, each in stored.items() if name in ("_id", p.version, p.token)}
    layout.server.send(Write(NS, "update", {"_id": stored["_id"]}, bson.encode(kept | before), "a script"))


def unguarded(layout: Layout, chosen: Chosen) -> None:
    """A script that merges as the product does, and saves over whatever is there by then."""
    (drawn,) = _taking(layout.server, layout.profile, Path()).drawn(NS, [chosen])
    if drawn.content is None or drawn.base is None:
        return
    stored, p = bson.decode(drawn.base.raw or b""), layout.profile
    kept = {name: each for name, each in stored.items() if name in ("_id", p.version, p.token)}
    body = bson.encode(kept | bson.decode(drawn.content))
    layout.server.send(Write(NS, "update", {"_id": stored["_id"]}, body, "a script"))


def run_taking_back(subject: str, seed: int, crew: Crew, script: Script | None = None) -> Result:
    """Take versions back under one seed; by a ``script`` where one is given, which is to be convicted."""
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None  # in memory where that is to be had
    with tempfile.TemporaryDirectory(prefix="taking-back-", dir=base) as folder:
        return _run(SUBJECTS[subject], seed, crew, Path(folder), script)


def _run(layout: str, seed: int, crew: Crew, home: Path, script: Script | None) -> Result:
    rng = random.Random(f"taking back {layout} {seed}")
    of = Variant(layout, rng.random() < 0.5, "next", True, rng.random() < 0.75)
    if script is None:
        of = drawn(of, f"taking back {layout} {seed}")
    kinds = tuple(rng.choice(KINDS) for _ in range(rng.randint(FEWEST, MOST)))
    first = edited(of, kinds)
    machine = copied(first)
    machine.strict = script is None
    facts = MONGODB if of.mongodb else OTHER
    listed = [each.v for each in bind(SoundPort(machine, facts), of.profile).history(ID)][::-1]
    picked = sorted(rng.sample(range(len(kinds)), rng.randint(1, len(kinds) - 1)))
    chosen = Chosen(ID, tuple(v for n in picked if (v := listed[2 + n]) is not None))
    schedule = Schedule(crew, machine, rng, Odds())
    feeder = Feeder(machine, of.profile, len(machine.log)) if layout == "stream" else None
    schedule.background = feeder.step if feeder is not None else None
    numbers = itertools.count(100)
    todo = [
        [Edit(f"w{writer}e{n}", rng.choice(KINDS)) for n in range(rng.choice((1, 2, 3)))] for writer in range(WRITERS)
    ]
    told: list[Outcome] = []

    def writer(number: int) -> Callable[[], None]:
        bound = bind(WriterPort(schedule, number, facts), of.profile)
        return lambda: work(bound, todo[number], lambda: stamp(next(numbers)))

    def reverter(number: int) -> Callable[[], None]:
        port = WriterPort(schedule, WRITERS + number, facts)
        if script is not None:
            return lambda: script(bind(port, of.profile), chosen)

        def job() -> None:
            for _ in range(TRIES):  # a person who is told of a conflict asks again
                with contextlib.suppress(Refused):  # a read that failed
                    told.extend(_taking(port, of.profile, home / f"r{number}").apply(NS, [chosen]))
                    if told[-1].kind != "conflict":
                        break

        return job

    schedule.run([*(writer(n) for n in range(WRITERS)), *(reverter(n) for n in range(REVERTERS))])
    wrong = [f"the code failed: {type(error).__name__}: {error}" for error in schedule.crashed]
    if feeder is not None:
        feeder.drain()
    edits = list(itertools.chain(*todo))
    marks = {f"b{n}": (kind, n in picked) for n, kind in enumerate(kinds)}
    wrong += _faults(machine, of, edits, marks, told, None)
    if script is not None:
        return Result(seed, SUBJECT.format(layout), wrong, steps=schedule.steps)
    again = [*_taking(SoundPort(machine, facts), of.profile, home / "again").apply(NS, [chosen])]
    if feeder is not None:
        feeder.drain()
    wrong += _faults(machine, of, edits, marks, told, again[-1])
    written = len(machine.log)
    thrice = [*_taking(SoundPort(machine, facts), of.profile, home / "thrice").apply(NS, [chosen])]
    if len(machine.log) != written:
        wrong.append(f"run again it writes: {thrice}")
    if not wrong:
        wrong += [*_killed(first, of, chosen, home / "killed", marks), *_undone(first, of, chosen, home / "undo")]
    kinds_told = tuple(each.kind for each in (*told, *again))
    return Result(seed, SUBJECT.format(layout), wrong, steps=schedule.steps, outcomes=kinds_told)


def _times(content: dict[str, Any], mark: str, kind: str) -> int:
    """How often a mark is in a content."""
    if kind == "log":
        return content["log"].count(mark)
    return int((content["who"] if kind == "nested" else content).get(mark, 0))


def _faults(
    machine: Machine,
    of: Variant,
    edits: list[Edit],
    marks: dict[str, tuple[str, bool]],
    told: list[Outcome],
    last: Outcome | None,
) -> list[str]:
    """What is wrong with the newest content and the versions; ``last`` ended a run that nobody disturbed."""
    entries = history(machine, of.profile)
    now = bson.decode(entries[-1].content)
    said = []
    there = Counter(entry.token for entry in entries)
    for edit in edits:
        kinds = {attempt.outcome.kind if attempt.outcome is not None else "died" for attempt in edit.attempts}
        landed = sum(there[attempt.token] for attempt in edit.attempts)
        found = landed if edit.kind == "toggle" else _times(now, edit.mark, edit.kind)
        if "applied" in kinds and landed != 1:
            said.append(f"{edit.mark} was acknowledged and is {landed} versions")
        if found != landed:
            said.append(f"{edit.mark} made {landed} versions, and the newest has it {found} times")
    asked = {stamp(5 + n).token for n, (_, picked) in enumerate(marks.values()) if picked}
    taken = {_times(now, mark, kind) for mark, (kind, picked) in marks.items() if picked and kind != "toggle"}
    for mark, (kind, picked) in marks.items():
        if not picked and kind != "toggle" and _times(now, mark, kind) != 1:
            said.append(f"{mark} was not to be taken back, and is there {_times(now, mark, kind)} times")
    own = {stamp(number).token for number in range(30)} | {a.token for edit in edits for a in edit.attempts}
    reverts = sum(entry.token not in own for entry in entries)
    if len(taken) > 1 or not taken <= {0, 1}:
        said.append(f"only some of what was asked for is taken back: {taken}")
    elif (taken and (taken == {0}) != (reverts > 0)) or reverts > 1:
        said.append(f"{reverts} versions take back what is there {taken} times")
    if any(each.kind == "applied" for each in told) and taken == {1}:
        said.append("somebody was told that it is taken back, and it is there")
    if last is not None and (last.kind not in ENDS or (last.kind != "conflict" and taken == {1})):
        said.append(f"undisturbed it ends {last.kind} ({last.detail}), and what was asked for is there {taken} times")
    toggled = _last_toggled(entries, own)
    if toggled is not None and toggled.token not in asked and bson.decode(toggled.content)["t"] != now["t"]:
        said.append(f"version {toggled.v} was the last to set t, was not to be taken back, and is lost")
    return [*said, *_chain(entries), *misfits(machine, of)]


def _last_toggled(entries: list[Entry], own: Set[ObjectId | None]) -> Entry | None:
    """The newest version that changed ``t`` and is nobody's revert."""
    found = None
    for before, entry in itertools.pairwise(entries):
        if entry.token in own and bson.decode(before.content)["t"] != bson.decode(entry.content)["t"]:
            found = entry
    return found


def _chain(entries: list[Entry]) -> list[str]:
    numbers = [entry.v for entry in entries]
    return [] if numbers == list(range(1, len(numbers) + 1)) else [f"versions are missing or doubled: {numbers}"]


def _killed(first: Machine, of: Variant, chosen: Chosen, home: Path, marks: dict[str, tuple[str, bool]]) -> list[str]:
    """Kill one run at each of its writes, before and behind it, and run it again; what is wrong."""
    said: list[str] = []
    for at in itertools.count():
        for behind in (False, True):
            machine = copied(first)
            port = Killed(machine, at, behind)
            where = home.with_name(f"{home.name}{at}{behind}")
            try:
                list(_taking(port, of.profile, where).apply(NS, [chosen]))
                return said  # it has fewer writes than that
            except Dead:
                pass
            again = [*_taking(SoundPort(machine, MONGODB), of.profile, where).apply(NS, [chosen])]
            found = _faults(machine, of, [], marks, [], again[-1])
            written = len(machine.log)
            list(_taking(SoundPort(machine, MONGODB), of.profile, where).apply(NS, [chosen]))
            if len(machine.log) != written:
                found.append("the third run writes")
            said += [f"killed {'behind' if behind else 'before'} write {at}: {each}" for each in found]
    return said


def _undone(first: Machine, of: Variant, chosen: Chosen, home: Path) -> list[str]:
    """Take back, and undo the run: the content is what it was, to the byte."""
    machine = copied(first)
    before = history(machine, of.profile)[-1].content
    taking = _taking(SoundPort(machine, MONGODB), of.profile, home)
    done = taking.apply(NS, [chosen])
    if "applied" not in [each.kind for each in done]:
        return [] if history(machine, of.profile)[-1].content == before else ["what is not applied changed something"]
    if of.layout == "stream":
        Feeder(machine, of.profile, len(first.log)).drain()
    undone = [each.kind for each in Batches(taking.writer, taking.allowed).undo(done.id)]
    after = history(machine, of.profile)[-1].content
    if undone != ["applied"]:
        return [f"the undo of the run ends {undone}"]
    if after != before:
        return [f"undone it is {bson.decode(after)}, and was {bson.decode(before)}"]
    return [f"undone, {each}" for each in misfits(machine, of)]
