"""Processes that are killed at the nth message they send, and what the next start says of their writes."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import multiprocessing
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import bson

from model.commands import command_line as commands
from model.errors import Refused
from model.foundation.records import Outcome
from model.session import Session
from model.userdata.journal import Journal
from model.writing import writer
from tests.blackpipe.cases import in_a_hurry
from tests.blackpipe.operations import Operation, operations
from tests.blackpipe.pipe import Plan
from tests.blackpipe.scenes import BESIDE, HELD_APART, NS, OLD, STATS, Ground, State, ground

SEVERAL = ("delete", "undo a delete")  # as many writes as there are versions: some may be done and others not
MOMENTS = ("kill before", "kill after")
PATIENCE = 60.0  # seconds for an answer: whoever is killed waits for none
PROCESSES = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Death:
    """Where a process is killed."""

    layout: str
    operation: str
    message: int
    moment: str

    def __str__(self) -> str:
        return f"{self.layout}/{self.operation}: {self.moment} message {self.message}"


def cleanup(uri: str, home: Path) -> int:
    """The nightly job, as cron would start it."""
    arguments = ["cleanup", uri, STATS, "--apply", "--profile", str(home / "profile.toml")]
    os.environ["PALIMPSEST_HOME"] = str(home)
    with contextlib.redirect_stdout(io.StringIO()):
        return commands.main(arguments)


def _work(uri: str, home: Path, layout: str, name: str, given: Any) -> None:
    """What the process does that will be killed."""
    if name == "cleanup":
        cleanup(uri, home)
        return
    act = next(each.act for each in operations() if (each.layout, each.name) == (layout, name))
    with Session.open(uri, profile=home / "profile.toml", home=home) as session:
        act(Ground(None, session, None, home, layout), given)  # type: ignore[arg-type]


class Bench:
    """One operation, to be killed again and again."""

    def __init__(self, layout: str, name: str, at: Ground, given: Any, act: Callable[[], Outcome]) -> None:
        self.layout, self.name, self.at, self.given = layout, name, at, given
        at.keep()
        self.before = at.state()
        at.pipe.plan = Plan()
        self._again(Plan())
        self.messages = list(at.pipe.plan.seen)
        self.after = at.state()
        self.act = act
        assert self.before != self.after

    def _again(self, plan: Plan) -> bool:
        """Do it in a process of its own; whether that was killed."""
        at = self.at
        at.again()
        uri = at.session._connection.opened.server._uri
        process = PROCESSES.Process(target=_work, args=(uri, at.home, self.layout, self.name, self.given))
        at.pipe.plan = plan
        plan.kill = lambda: os.kill(process.pid or 0, signal.SIGKILL)
        process.start()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL), f"{self.layout}/{self.name} ended with {process.exitcode}"
        return process.exitcode != 0

    def deaths(self) -> list[Death]:
        """Before and after each message."""
        return [Death(self.layout, self.name, n, m) for n in range(len(self.messages)) for m in MOMENTS]

    def run(self, death: Death) -> tuple[str, list[str]]:
        """Kill it there; what the next start says, and what is wrong."""
        plan = Plan(death.message, death.moment, 1, random.Random(0))
        killed = self._again(plan)
        self.at.pipe.plan = Plan()
        if not killed:  # this time it took fewer messages
            return "was done before", [] if self.at.state() == self.after else ["it ended, and nothing was done"]
        state = self.at.state()
        return self._counted(state) if self.name == "cleanup" else self._told(state)

    def _told(self, state: State) -> tuple[str, list[str]]:
        at, wrong = self.at, []
        found = "before" if state == self.before else "after" if state == self.after else "between"
        if found == "between" and (self.name not in SEVERAL or self.layout not in HELD_APART):
            wrong.append(f"the database is {state}")
        left = Journal(at.home).unsettled()
        wrote = any(e.kind == "begun" for e in left)
        if found == "after" and not wrote:
            wrong.append("it was written, and the journal does not know")
        told = "nothing was begun"
        for entry in left:
            if (shown := _journal(at.home, entry.id)) != "begun":
                wrong.append(f"`palimpsest journal` says {shown}")
            if not entry.detail.startswith("Not known"):
                wrong.append(f"the journal says: {entry.detail}")
            again = at.session.way_back.look_again(entry.id)
            told = again.kind
            wrong += _lies(again, found)
            with _patience(0):
                later = at.session.way_back.look_again(entry.id)
            if later.kind == "unknown" and found == "before":
                wrong.append(f"for ever unknown: {later.detail}")
            wrong += _lies(later, found)
        try:
            then = self.act()
        except Refused as error:  # it is done already
            then = Outcome("refused", NS, None, str(error))
        if then.kind not in ("applied", "skipped") and found != "after":
            wrong.append(f"doing it again ended in {then}")
        if found == "between" and at.state() != self.after:
            wrong.append(f"doing it again left {at.state()}")
        return f"{found}, {told}", wrong

    def _counted(self, state: State) -> tuple[str, list[str]]:
        """Every token is either pending or counted, and the next night finishes the rest."""
        (doc,) = self.at.eyes["pipe"]["stats"].find()
        wrong = []
        if doc["count"] + len(doc["pending"]) != 41 + len(OLD):
            wrong.append(f"{doc['count']} and {len(doc['pending'])} pending")
        begun = Journal(self.at.home).unsettled()
        for entry in begun:
            with _patience(0):
                told = self.at.session.way_back.look_again(entry.id)
            token = json.loads(Journal(self.at.home).record(entry.id).extra["token"])["$oid"]
            waiting = bson.ObjectId(token) in doc["pending"]
            if (told.kind == "applied") == waiting:
                wrong.append(f"looking again says {told.kind} of a token that is {'' if waiting else 'not '}pending")
        cleanup(self.at.session._connection.opened.server._uri, self.at.home)
        (doc,) = self.at.eyes["pipe"]["stats"].find()
        if (doc["count"], doc["pending"]) != (41 + len(OLD), []):
            wrong.append(f"the next night leaves {doc}")
        return f"{len(begun)} begun", wrong


def _lies(told: Outcome, found: str) -> list[str]:
    if (told.kind == "applied" and found != "after") or (told.kind == "conflict" and found != "before"):
        return [f"looking again says {told.kind} ({told.detail}), and the database is {found}"]
    return []


@contextlib.contextmanager
def _patience(seconds: float) -> Iterator[None]:
    before = writer.SETTLED_AFTER
    writer.SETTLED_AFTER = dt.timedelta(seconds=seconds)
    try:
        yield
    finally:
        writer.SETTLED_AFTER = before


def _journal(home: Path, entry: str) -> str:
    """What ``palimpsest journal`` says of an entry."""
    os.environ["PALIMPSEST_HOME"] = str(home)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert commands.main(["journal", "--json"]) == 0
    rows = [json.loads(line) for line in said.getvalue().splitlines()]
    return next(str(row["outcome"]) for row in rows if row["entry"] == entry)


def _killable() -> list[Operation]:
    # What a dead edit beside a program leaves is settled by the journal: tests/model/writers/test_row_writer.py.
    names = ("edit", "undo an edit", "finish", *SEVERAL)
    return [each for each in operations() if each.name in names and each.layout not in BESIDE]


def benches(only: str = "") -> Iterator[Bench]:
    """An edit and an undo in each layout, and the cleanup; ``only`` names a layout, or layout/operation."""
    PROCESSES.set_forkserver_preload(["tests.blackpipe.killed"])
    with in_a_hurry():
        for each in _killable():
            if f"{each.layout}/{each.name}/".startswith(only.rstrip("/") + "/" if only else ""):
                with ground(each.layout, patience=PATIENCE) as at:
                    given = each.prepare(at)
                    yield Bench(each.layout, each.name, at, given, partial(each.act, at, given))
        if "pending/cleanup/".startswith(only.rstrip("/") + "/" if only else ""):
            with ground("pending", patience=PATIENCE) as at:
                at.clear()
                at.pipe.load(STATS, [bson.encode({"_id": "day", "count": 41, "pending": OLD})])
                yield Bench("pending", "cleanup", at, None, partial(Outcome, "applied", STATS, None, ""))


def main(share: float, seed: int) -> int:
    """The long form."""
    done, bad, told = 0, 0, Counter[str]()
    for bench in benches():
        for death in bench.deaths():
            if random.Random(f"{seed} {death}").random() < share:
                done += 1
                said, wrong = bench.run(death)
                told[said if bench.name != "cleanup" else "in a cleanup"] += 1
                if wrong:
                    bad += 1
                    print(f"{death}\n  {said}\n  WRONG: {wrong}", flush=True)
    print(f"{done} processes killed, {bad} times something was wrong")
    print("\n".join(f"{number:5}  {said}" for said, number in sorted(told.items())))
    return 1 if bad else 0
