"""Kills one plan at each of its writes, runs it again, a third time, and undoes it; what is wrong about it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.killed_plans.process import KILLED, MOMENTS, Moment, Subject, command, run
from tests.killed_plans.scenes import UNNUMBERED, Kept, Scene, command_at_once, scene


@dataclass(frozen=True)
class Death:
    """Where a process is killed."""

    at: int
    moment: Moment

    def __str__(self) -> str:
        return f"write {self.at}, {self.moment}"


class Proof:
    """One scene, with what a run that nobody disturbs comes to."""

    def __init__(self, at: Scene, subject: Subject = command, again: Subject = command_at_once) -> None:
        self.scene, self.subject, self.again = at, subject, again
        self.before: Kept = at.raw()
        self.contents = at.newest()
        self.writes, status, said = run(command, at.words(carried=True), at.home)
        assert status == 0, said
        self.after = at.versions()
        assert at.raw() != self.before

    def deaths(self) -> Iterator[Death]:
        """Each write at each moment."""
        return (Death(at, moment) for at in range(self.writes) for moment in MOMENTS)

    def _reset(self) -> None:
        at = self.scene
        at.restore(self.before)
        shutil.rmtree(at.home)
        shutil.copytree(at.folder / "kept", at.home)

    def wrong(self, death: Death) -> list[str]:
        """What is wrong behind one death."""
        self._reset()
        at, words = self.scene, self.scene.words(carried=True)
        _, status, said = run(self.subject, words, at.home, death.at, death.moment)
        wrong = [] if status == KILLED else [f"nobody was killed: {status} {said}"]
        _, status, said = run(self.again, words, at.home)
        if status != 0:
            wrong.append(f"run again it ends with {status}: {said}")
        wrong += self._differs("run again", at.versions())
        writes, status, said = run(self.again, words, at.home)
        if (writes, status) != (0, 0):
            wrong.append(f"a third time it writes {writes} times and ends with {status}: {said}")
        if at.kind == "erase":
            wrong += [f"it is in {where}" for where in at.secrets()]
        elif self.subject is command:
            wrong += self._undone()
        return [f"{at.kind}, {at.layout}, killed at {death}: {each}" for each in wrong]

    def _differs(self, when: str, found: dict[str, list[tuple[object, bytes]]]) -> Iterator[str]:
        """What is lost or doubled."""
        for name in sorted({*self.after, *found}):
            wanted, there = self.after.get(name, []), found.get(name, [])
            if there != wanted:
                numbers = [[v for v, _ in rows] for rows in (there, wanted)]
                contents = "" if numbers[0] != numbers[1] else "; contents differ"
                yield f"{when}, {name} is {numbers[0]}, and is to be {numbers[1]}{contents}"

    def _undone(self) -> Iterator[str]:
        """Undo the run; all is as it was, or where a version says what was taken back, the content is."""
        at = self.scene
        if at.kind == "change":
            at.feed()  # its undo is a further version, which needs the one before in the archive
        name = str(json.loads((at.home / "plan.json").read_text("utf-8"))["run"])
        words = ["undo", name, "--source", at.uri, "--profile", str(at.profile)]
        _, status, said = run(self.again, words, at.home)
        if status != 0:
            yield f"its undo ends with {status}: {said}"
        if at.newest() != self.contents:
            yield "undone, its contents are not what they were"
        if (at.kind == "retain" or (at.kind == "copy" and at.layout not in UNNUMBERED)) and at.raw() != self.before:
            yield "undone, what is stored is not what it was"


def proved(kind: str, layout: str, folder: Path, deaths: Sequence[int] | None = None) -> tuple[int, list[str]]:
    """How often a plan was killed, at all of its deaths or at those with these numbers, and what is wrong."""
    with scene(kind, layout, folder) as at:
        proof = Proof(at)
        chosen = list(proof.deaths())
        if deaths is not None:
            chosen = [chosen[number % len(chosen)] for number in deaths]
        wrong = [each for death in chosen for each in proof.wrong(death)]
        return len(chosen), wrong


def convicted(kind: str, subject: Subject, folder: Path, layout: str = "archive") -> bool:
    """Whether a subject that is careless about plans of a kind is found out by one of its deaths."""
    with scene(kind, layout, folder) as at:
        proof = Proof(at, subject, subject)
        return any(proof.wrong(death) for death in proof.deaths())
