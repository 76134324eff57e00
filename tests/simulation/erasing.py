"""Fields erased from all versions of a document while two writers continue: found again 0, or it is said.

Two people erase the same fields, each with a journal of their own, beside two writers who may save what they read
before. The oracle reads every stored document: what nobody has written back is gone, what somebody wrote back before
it was looked for again is told, every edit is there, and versions are neither lost nor doubled; hashes, by one of
several recipes, fit what is left. A run that is killed at any of its writes is run again.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import bson
from bson import ObjectId

from model.errors import Refused
from model.foundation.findings import Finding
from model.layouts.registry import bind
from model.operations.erasing import Certificate, Erasing, Trace
from model.operations.retaining import Rule
from model.profile import CollectionProfile
from model.repair.embedded_repairs import rebuild_hash
from model.repair.items import Item
from model.repair.steps import RepairContext, seen
from model.server.retry import Write
from model.text.paths import path_from_text
from model.userdata.drafts import Drafts
from model.values.canonical import Value
from tests.simulation import retaining
from tests.simulation.hashes import drawn, misfits
from tests.simulation.histories import UNNUMBERED, history
from tests.simulation.machine import Machine
from tests.simulation.plan_runs import KINDS, WRITERS, edit_faults, edits_of_writers, folder, writing
from tests.simulation.run import Result
from tests.simulation.schedule import Crew, Dead, Odds, Schedule, SoundPort, WriterPort
from tests.simulation.taking_back import Killed, copied, edited
from tests.simulation.writers import EPOCH, ID, MONGODB, NS, OTHER, PAST, Edit, Feeder, Variant

LAYOUTS = ("versions", "flagged", "embedded", "nested", "archive", "deltas", "stream", "hashed", "plain")
SUBJECT = "erasing, {}"
SUBJECTS = {SUBJECT.format(layout): layout for layout in LAYOUTS}
ERASERS = 2
READ_FAILS = 0.002  # an erasure has many reads, and ends at the first one that fails
PATHS = tuple(map(path_from_text, ("title", "who.zip")))
SECRETS = (b"Versicherung", b"22763")
QUARANTINED = ("versions", "flagged", "archive", "stream")
"""Layouts of which a removed version goes to the quarantine."""


def _erasing(port: Any, profile: CollectionProfile, home: Path) -> Erasing:
    """The product's part, for one person with a journal of their own."""
    return Erasing(retaining.writer(port, profile, home), Drafts(home), lambda ns, **_: None)


def secret(raw: bytes) -> bool:
    """Whether some bytes hold what is to be erased."""
    return any(each in raw for each in SECRETS)


def holding(machine: Machine) -> list[tuple[str, bytes]]:
    """The stored documents that hold what is to be erased."""
    return [(ns, raw) for ns in sorted(machine.collections) for raw in machine.documents(ns) if secret(raw)]


def _ground(of: Variant, kinds: tuple[str, ...], home: Path) -> Machine:
    """A document with some versions, one of which is in the quarantine and in the journals of both people."""
    machine = copied(edited(of, kinds))
    if of.layout in QUARANTINED:
        work = retaining.retaining(SoundPort(machine, MONGODB), of.profile, home)
        ended = [each.kind for each in work.apply(work.listed(NS, Rule(only=Value.of(1)), ID))]
        assert ended == ["applied"], ended
    return machine


@dataclass
class _Eraser:
    """One person who erases, and what the log held when it was looked for again."""

    home: Path
    profile: CollectionProfile
    certificate: Certificate | None = None
    looked: int = 0
    refused: list[str] = field(default_factory=list)

    def erase(self, port: Any, machine: Machine) -> None:
        """Erase once; an unread or rejected one may be repeated."""
        noted: list[int] = []

        class Noting(Erasing):
            def traces(self, *asked: Any) -> list[Trace]:
                noted.append(len(machine.log))
                return super().traces(*asked)

        work = _erasing(port, self.profile, self.home)
        noting = Noting(work.writer, work.drafts, work.allowed)
        try:
            self.certificate = noting.apply(NS, ID, PATHS)
            self.looked = noted[-1]
        except Refused as error:  # a read that failed, or a write in doubt
            self.refused.append(str(error))


Script = Callable[[WriterPort, Variant], None]
"""Erases in place of the product, and is to be convicted."""


def forgetful(port: WriterPort, of: Variant) -> None:
    """A script that takes the fields out of the collection alone, and forgets where else they are."""
    for raw in port.find(NS):
        where = {"_id": bson.decode(raw)["_id"]}
        port.schedule.machine.apply(Write(NS, "update", where, {"$unset": {"title": 1, "who.zip": 1}}, "a script"))


def overwriting(port: WriterPort, of: Variant) -> None:
    """A script that reads documents, takes the fields out, and puts them back over what is there by then."""
    for ns in (NS, PAST):
        for raw in port.find(ns):
            cleaned = _without(bson.decode(raw))
            port.send(Write(ns, "update", {"_id": cleaned["_id"]}, bson.encode(cleaned), "a script"))


def _without(part: Any) -> Any:
    if isinstance(part, list):
        return [_without(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {name: _without(each) for name, each in part.items() if name not in ("title", "zip")}


def run_erasing(subject: str, seed: int, crew: Crew, script: Script | None = None) -> Result:
    """Erase under one seed; by a ``script`` if one is given, which is to be convicted."""
    with folder("erasing") as home:
        return _run(SUBJECTS[subject], seed, crew, home, script)


def _run(layout: str, seed: int, crew: Crew, home: Path, script: Script | None) -> Result:
    rng = random.Random(f"erasing {layout} {seed}")
    of = Variant(layout, rng.random() < 0.5, "next", True, rng.random() < 0.75)
    of = drawn(of, f"erasing {layout} {seed}")
    facts = MONGODB if of.mongodb else OTHER
    kinds = tuple(rng.choice(KINDS) for _ in range(rng.randint(1, 2)))
    erasers = [_Eraser(home / f"e{number}", of.profile) for number in range(ERASERS)]
    machine = _ground(of, kinds, erasers[0].home)
    machine.strict = script is None
    began, gone = len(machine.log), {1} if of.layout in QUARANTINED else set[int]()
    first = {raw for _, raw in holding(machine)}
    schedule = Schedule(crew, machine, rng, Odds(read_fails=READ_FAILS))
    feeder = Feeder(machine, of.profile, len(machine.log)) if layout == "stream" else None
    schedule.background = feeder.step if feeder is not None else None
    todo = edits_of_writers(rng)

    def eraser(number: int) -> None:
        port = WriterPort(schedule, WRITERS + number, facts)
        if script is not None:
            script(port, of)
        else:
            erasers[number].erase(port, machine)

    schedule.run([*writing(schedule, of.profile, todo, facts), *(partial(eraser, n) for n in range(ERASERS))])
    wrong = [f"the code failed: {type(error).__name__}: {error}" for error in schedule.crashed]
    if feeder is not None:
        feeder.drain()
    wrong += _edits(machine, of, todo, gone, half_done=True)
    if script is not None:
        left = [ns for ns, raw in holding(machine) if raw in first]
        wrong += [f"a script has forgotten what is in {ns}" for ns in left]
        return Result(seed, SUBJECT.format(layout), wrong, steps=schedule.steps)
    wrong += _left(machine, began, first, erasers)
    told = tuple("found again" if e.certificate.found else "erased" for e in erasers if e.certificate is not None)
    for each in erasers:
        each.erase(SoundPort(machine, facts), machine)
    wrong += [*_clean(machine, of, erasers, _unproven(of, todo)), *_edits(machine, of, todo, gone)]
    written = len(machine.log)
    for each in erasers:
        each.erase(SoundPort(machine, facts), machine)
        if each.certificate is None or each.certificate.erased:
            wrong.append("run again it erases more")
    if len(machine.log) != written:
        wrong.append("run again it writes")
    wrong += _killed(Variant(layout, of.names, recipe=of.recipe), kinds)
    return Result(seed, SUBJECT.format(layout), wrong, steps=schedule.steps, outcomes=told, about=f"{of} {kinds}")


def _edits(machine: Machine, of: Variant, todo: list[list[Edit]], gone: set[int], half_done: bool = False) -> list[str]:
    """What became of the edits, and of the versions; of one that is ``half_done``, a second copy may differ."""
    entries = history(machine, of.profile)
    if half_done and of.layout in ("archive", "stream"):
        entries = list({(each.v, each.token): each for each in entries}.values())
    said = edit_faults(entries, todo) if of.layout not in UNNUMBERED else _lost(machine, todo)
    numbers = [entry.v for entry in entries]
    if of.layout not in UNNUMBERED and numbers != [v for v in range(1, numbers[-1] + 1) if v not in gone]:
        said.append(f"versions are missing or doubled: {numbers}")
    return said


def _lost(machine: Machine, todo: list[list[Edit]]) -> list[str]:
    """The acknowledged edits that are not in the document, where no history is kept."""
    (raw,) = machine.documents(NS)
    now = bson.decode(raw)
    said = []
    for edit in itertools.chain(*todo):
        there = {"log": now["log"].count(edit.mark), "nested": now["who"].get(edit.mark, 0)}
        acknowledged = any(a.outcome is not None and a.outcome.kind == "applied" for a in edit.attempts)
        if acknowledged and edit.kind != "toggle" and there.get(edit.kind, now.get(edit.mark, 0)) != 1:
            said.append(f"{edit.mark} was acknowledged, and is not there once")
    return said


def _left(machine: Machine, began: int, first: set[bytes], erasers: Iterable[_Eraser]) -> Iterator[str]:
    """What is wrong with what is left behind the schedule, in which writers may have brought the person back."""
    for change in machine.log[began:]:
        if change.by is None and change.after is not None and secret(change.after):
            yield f"an erasure has written what it erases to {change.ns}"
    wrote: dict[bytes, int] = {}
    for at, change in enumerate(machine.log):
        if change.after is not None:
            wrote[change.after] = at
    for each in erasers:
        if each.certificate is None or each.certificate.found:
            continue
        for ns, raw in holding(machine):
            if raw in first and wrote.get(raw, 0) < began:
                yield f"it is in {ns}, where nobody has written it since, and the certificate says 0"
            elif wrote.get(raw, len(machine.log)) < each.looked:
                yield f"it was in {ns} when it was looked for again, and the certificate says 0"


def _unproven(of: Variant, todo: list[list[Edit]]) -> dict[ObjectId, bytes]:
    """The contents that writers saved with what is erased, by their tokens, where versions hold only changes.

    Once an erasure has ended, or two of them have cleaned different parts, nothing stored leads to such a state any
    more; whether its hash fitted can then be told by nobody, so it stays, and a scan leaves it to a person.
    """
    if of.layout != "deltas":
        return {}
    return {a.token: a.content for edit in itertools.chain(*todo) for a in edit.attempts if secret(a.content)}


def _clean(
    machine: Machine, of: Variant, erasers: Iterable[_Eraser], unproven: Mapping[ObjectId, bytes]
) -> Iterator[str]:
    """What is wrong behind a run that nobody disturbed."""
    yield from misfits(machine, of, unproven)
    if unproven and (left := misfits(machine, of)):
        yield from _told(machine, of, left)
    for each in erasers:
        if each.certificate is None:
            yield f"undisturbed it is refused: {each.refused}"
        elif each.certificate.found:
            yield f"undisturbed it is found again: {each.certificate.found}"
        elif each.certificate.left and not unproven:
            yield f"hashes are left that fitted: {each.certificate.left}"
        for path in each.home.rglob("*"):
            if path.is_file() and SECRETS[0] in path.read_bytes():
                yield f"it is in {path.name}"
    for ns, _ in holding(machine):
        yield f"undisturbed it is left in {ns}"


def _told(machine: Machine, of: Variant, left: list[str]) -> Iterator[str]:
    """What is wrong with how a scan tells hashes that are ``left``, and with its repair of them."""
    twin = machine.copy()
    layout = bind(SoundPort(twin, MONGODB), of.profile)
    found = [each for each in layout.findings([ID]) if isinstance(each, Finding)]
    told = {f"the hash of version {v.python()} in {each.ns} does not fit" for each in found for v in each.versions}
    if {each.code for each in found} != {"H1"} or told != {*left}:
        yield f"a scan tells {[(each.code, each.detail) for each in found]}, and {left}"
        return
    ground = RepairContext(layout.server, lambda ns: layout, lambda: EPOCH, "tester")
    for each in found:
        item = Item(1, each, "rebuild-hash", "yes", tuple(seen(it.ns, it.raw) for it in each.evidence))
        for step in rebuild_hash(ground, item).steps:
            layout.server.send(step.write)
    yield from (f"repaired, {each}" for each in misfits(twin, of))


@lru_cache(maxsize=4096)
def _killed(of: Variant, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Kill a run at each of its writes and run it again; what is wrong. Each document is tried once."""
    said: list[str] = []
    with folder("erasing-killed") as home:
        for at, behind in ((n // 2, n % 2 == 1) for n in itertools.count()):
            eraser = _Eraser(home / f"{at}{behind}", of.profile)
            machine, ended = _ground(of, kinds, eraser.home), False
            with contextlib.suppress(Dead):
                eraser.erase(Killed(machine, at, behind), machine)
                ended = True  # it has fewer writes than that
            eraser.erase(SoundPort(machine, MONGODB), machine)
            said += [f"killed at write {at} ({behind=}), {each}" for each in _clean(machine, of, [eraser], {})]
            written = len(machine.log)
            eraser.erase(SoundPort(machine, MONGODB), machine)
            if len(machine.log) != written:
                said.append(f"killed at write {at} ({behind=}), the third run writes")
            if ended:
                return tuple(said)
    raise AssertionError("a run has an end")
