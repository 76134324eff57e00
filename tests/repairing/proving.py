"""One case from planting to undo; returns a list of faults, empty if the repair is right."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bson
import pymongo

from model.catalogue.catalogue import Catalogue
from model.foundation.findings import Finding, Unchecked
from model.profile import Profile
from model.repair.plan import Plan
from model.repair.running import DryItem
from model.server.retry import Port, Reply, Server, Write
from model.session import Session
from model.session.repairs import Repairs
from model.storage.update_operators import reordered
from model.writing.writer import Writer
from tests.repairing.planting import NAMES, Case, Db, Names, contents, snapshot
from tests.simulation.machine import check


@dataclass
class Place:
    """A planted database, and a session on it."""

    database: Db
    names: Names
    case: Case
    session: Session
    profile: Path
    home: Path

    def scan(self) -> list[Finding | Unchecked]:
        """What a scan of the collection says."""
        return list(self.session.scans.scan([f"{self.database.name}.things"]))

    def findings(self, told: bool = True) -> list[Finding]:
        """The findings among it; with ``told`` only those that have a repair."""
        found = [each for each in self.scan() if isinstance(each, Finding)]
        return [each for each in found if each.repair or not told]

    def plan(self) -> Plan:
        """A plan for all that has a repair, with the answers that the case gives, through its file."""
        path = self.home / "plan.json"
        self.session.repairs.plan(self.findings()).save(path)
        plan = self.session.repairs.load(path)
        for item in plan.items:
            if item.asks:
                plan = plan.with_answer(item.no, self.case.answers.get(item.finding.code, "leave"))
        return plan

    def repairs(self, port: Port | None = None) -> Repairs:
        """The repair centre over another port, as a process of its own would have it."""
        server = self.session._connection.opened.server
        through = port or server
        catalogue = Catalogue(server, through, Profile.load(self.profile), self.session.source)
        return Repairs(Writer(catalogue, through, self.session.journal, self.session.source, "tester"), lambda *_: None)


@contextmanager
def place(case: Case, uri: str, names: str, count: int, home: Path, seed: int = 1) -> Iterator[Place]:
    """A database of its own with the case planted in it; dropped afterwards."""
    with pymongo.MongoClient(uri) as client:
        database = client[f"repairing_{uuid.uuid4().hex[:10]}"]
        try:
            case.put(database, NAMES[names], count, seed)
            folder = home / database.name
            folder.mkdir(parents=True)
            profile = folder / "layouts.toml"
            profile.write_text(case.profile(database.name, NAMES[names]), encoding="utf-8")
            with Session.open(uri, profile=profile, home=folder) as session:
                yield Place(database, NAMES[names], case, session, profile, folder)
        finally:
            client.drop_database(database.name)


class Counting:
    """A port that counts writes, and stops its process at one of them: before it is sent, or behind it."""

    def __init__(
        self, server: Server, at: int | None = None, behind: bool = False, stop: Callable[[], Any] | None = None
    ):
        self.server, self.at, self.behind = server, at, behind
        self.stop = stop or _die
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.server, name)

    def send(self, write: Write) -> Reply:
        """Send it, unless the process ends here."""
        check(write)
        now, self.writes = self.writes, self.writes + 1
        if now == self.at and not self.behind:
            self.stop()
        reply = self.server.send(write)
        if now == self.at:
            self.stop()
        return reply


class Dead(BaseException):
    """The process has ended, here and now."""


def _die() -> None:
    raise Dead


def prove(case: Case, uri: str, names: str, count: int, home: Path) -> list[str]:
    """Scan, plan, dry run, apply, scan, apply again, undo; what is wrong about any of it."""
    wrong: list[str] = []
    with place(case, uri, names, count, home) as here:
        before, kept = snapshot(here.database), contents(here.database, here.names)
        found = {each.code for each in here.findings()}
        if found != set(case.finds):
            wrong.append(f"the scan finds {sorted(found)} with a repair, and not {case.finds}")
        runs: list[str] = []
        for _ in range(case.rounds):
            plan = here.plan()
            runs.append(_round(here, plan, wrong))
        if left := here.findings():
            wrong.append(f"the damage is still there: {[(each.code, each.detail) for each in left[:3]]}")
        if not case.counts and (lost := kept - contents(here.database, here.names)):
            wrong.append(f"{len(lost)} contents of {sorted({id for id, _ in lost})[:3]} are lost")
        again = Counting(here.session._connection.opened.server)
        repeated = list(here.repairs(again).apply(plan))
        if again.writes or any(o.kind != "skipped" for _, o in repeated):
            wrong.append(f"the second run wrote {again.writes} times: {[(o.kind, o.detail) for _, o in repeated[:3]]}")
        for run in reversed(runs):
            undone = list(here.repairs().undo(run))
            wrong += [f"undo ended {o.kind}: {o.detail}" for o in undone if o.kind != "applied"]
        wrong += same(before, snapshot(here.database))
    return [f"{case.name}, {names}: {each}" for each in wrong]


def _round(here: Place, plan: Plan, wrong: list[str]) -> str:
    """A dry run and a run; the run's name."""
    before = snapshot(here.database)
    port = Counting(here.session._connection.opened.server)
    repairs = here.repairs(port)
    dry = list(repairs.dry_run(plan))
    if port.writes or snapshot(here.database) != before:
        wrong.append("the dry run wrote")
    wrong += [f"item {each.no} {each.verdict}: {each.text}" for each in dry if each.verdict != "would"]
    running = repairs.apply(plan)
    wrong += [f"item {no} ended {o.kind}: {o.detail}" for no, o in running if o.kind != "applied"]
    wrong += _as_drawn(here, plan, dry)
    return running.id


FRESH = ("save-as-version", "restore-document", "archive-current")
"""Repairs that make a version: its token is another one each time."""


def _as_drawn(here: Place, plan: Plan, dry: list[DryItem]) -> list[str]:
    """Whether each document is now as the dry run has drawn it in the end."""
    if any(item.repair in FRESH for item in plan.items):
        return []
    kept = f"{here.database.name}.quarantine"  # its rows tell when they were kept
    drawn = [change for each in dry for change in each.changes if change.ns != kept]
    last = {(change.ns, bson.decode(change.before or change.after or b"")["_id"]): change for change in drawn}
    said = []
    for (ns, id), change in last.items():
        now = next((raw for raw in here.session._connection.opened.server.find(ns, {"_id": id})), None)
        if now != change.after and not (now and change.after and reordered(now, change.after)):
            said.append(f"{ns} {id} is not as the dry run drew it")
    return said


def same(before: dict[str, list[bytes]], now: dict[str, list[bytes]]) -> list[str]:
    """What undo has not restored byte for byte; another order of fields is what some servers make of it."""
    said = []
    for name in sorted({*before, *now}):
        was, is_ = before.get(name, []), now.get(name, [])
        if was == is_:
            continue
        gone, new = [raw for raw in was if raw not in is_], [raw for raw in is_ if raw not in was]
        if len(gone) == len(new) and all(any(reordered(a, b) for b in new) for a in gone):
            said.append(f"order: after undo {len(gone)} documents of {name} have their fields in another order")
        else:
            said.append(f"after undo {name} has {len(is_)} documents, {len(gone)} of {len(was)} are not as they were")
    return said
