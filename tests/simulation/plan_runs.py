"""What the schedules of plans share: a folder for journals, two writers beside the plan, and the audit of them."""

from __future__ import annotations

import contextlib
import itertools
import random
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import bson

from model.foundation.records import ServerFacts
from model.layouts.registry import bind
from model.profile import CollectionProfile
from tests.simulation.histories import Entry
from tests.simulation.machine import Machine
from tests.simulation.schedule import Schedule, WriterPort
from tests.simulation.writers import Edit, stamp, work

WRITERS = 2
KINDS = ("end", "log", "nested", "toggle")


@contextlib.contextmanager
def folder(name: str) -> Iterator[Path]:
    """A folder for journals and plans, in memory where that is to be had."""
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=base) as made:
        yield Path(made)


def edits_of_writers(rng: random.Random, writers: int = WRITERS) -> list[list[Edit]]:
    """What each writer wants to change."""
    return [[Edit(f"w{n}e{at}", rng.choice(KINDS)) for at in range(rng.choice((1, 2)))] for n in range(writers)]


def writing(
    schedule: Schedule, profile: CollectionProfile, todo: list[list[Edit]], facts: ServerFacts, first: int = 0
) -> list[Callable[[], None]]:
    """The writers as jobs of a schedule, in which they have the numbers from ``first`` on."""
    numbers = itertools.count(100 * (first + 1))
    bound = [bind(WriterPort(schedule, first + n, facts), profile) for n in range(len(todo))]
    return [partial(work, bound[n], edits, lambda: stamp(next(numbers))) for n, edits in enumerate(todo)]


def times(content: bytes, edit: Edit) -> int:
    """How often an edit is in a content."""
    now = bson.decode(content)
    if edit.kind == "log":
        return now["log"].count(edit.mark)
    return int((now["who"] if edit.kind == "nested" else now).get(edit.mark, 0))


def edit_faults(entries: list[Entry], todo: list[list[Edit]]) -> list[str]:
    """What was acknowledged and is no version, or several, and what the newest content has otherwise."""
    tokens, said = [entry.token for entry in entries], []
    for edit in itertools.chain(*todo):
        landed = sum(tokens.count(attempt.token) for attempt in edit.attempts)
        if any(a.outcome is not None and a.outcome.kind == "applied" for a in edit.attempts) and landed != 1:
            said.append(f"{edit.mark} was acknowledged and is {landed} versions")
        if edit.kind != "toggle" and times(entries[-1].content, edit) != landed:
            said.append(f"{edit.mark} made {landed} versions, and the newest has it otherwise")
    return said


def everything(machine: Machine) -> dict[str, list[bytes]]:
    """All stored documents, sorted, by the collections that have some."""
    return {ns: sorted(machine.documents(ns)) for ns in sorted(machine.collections) if machine.documents(ns)}
