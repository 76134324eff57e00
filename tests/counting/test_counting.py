"""A slice of the counting schedules; ``python -m tests.counting`` runs all.

What is wrong on purpose is convicted with seeds that never change: others would leave that to chance.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from model.counting import counters, pending, processed
from model.foundation.records import PendingToken
from model.server.retry import End, Port, Write
from tests import support
from tests.counting.published import PUBLISHED
from tests.counting.subjects import SUBJECTS
from tests.counting.tally import CREW
from tests.simulation.schedule import Crew

SEEDS = support.by_depth(4, 80, 40)
"""Schedules for each subject."""


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    made = Crew(CREW)
    yield made
    made.close()


@pytest.mark.slice
@pytest.mark.parametrize("subject", SUBJECTS)
def test_nothing_is_counted_twice_or_lost_whatever_happens_to_four_writers(subject: str, crew: Crew, seed: int) -> None:
    for each in range(seed, seed + SEEDS):
        result = SUBJECTS[subject](each, crew)
        assert not result.wrong, f'python -m tests.counting --subject "{subject}" --seed {each}: {result.wrong}'


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_same_schedules_convict_each_published_form(name: str, crew: Crew) -> None:
    wrong = (seed for seed in range(200) if PUBLISHED[name](seed, crew).wrong)
    assert len(list(itertools.islice(wrong, 3))) == 3


def test_a_seed_gives_the_same_schedule_again(crew: Crew, seed: int) -> None:
    for subject in SUBJECTS.values():
        first, again = (subject(seed, crew, True) for _ in range(2))
        assert (first.wrong, first.kinds, first.steps) == (again.wrong, again.kinds, again.steps)
        assert len(first.trace) > 8, first.trace


def _convicted(subject: str, crew: Crew, seeds: int = 200) -> bool:
    return any(SUBJECTS[subject](seed, crew).wrong for seed in range(seeds))


def test_they_convict_a_step_one_that_forgets_what_was_applied(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = pending.step_one

    def forgetful(token: PendingToken, of: pending.TwoStepCounters) -> Write:
        write = sound(token, of)
        return Write(write.ns, write.kind, {"_id": token.id, of.pending: {"$ne": token.token}}, write.body)

    monkeypatch.setattr(pending, "step_one", forgetful)
    assert _convicted("two-step counts", crew, 400)


def _without_guard(write: Write) -> Write:
    return Write(write.ns, write.kind, {"_id": write.filter["_id"], "nothing": {"$exists": False}}, write.body)


@pytest.mark.parametrize(
    ("subject", "module", "name"),
    [("sequence", counters, "following"), ("apply once", processed, "forth"), ("cleanup", pending, "step_two")],
)
def test_they_convict_a_write_without_its_guard(
    subject: str, module: Any, name: str, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = getattr(module, name)

    def unguarded(*args: Any) -> Any:
        made = sound(*args)
        if isinstance(made, Write):
            return _without_guard(made)
        number, write = made
        return number, _without_guard(write) if write.kind == "update" else write

    monkeypatch.setattr(module, name, unguarded)
    assert _convicted(subject, crew)


def test_they_convict_one_who_takes_doubt_for_failure(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(server: Port, write: Write, landed: object) -> End:
        reply = server.send(write)
        return End("applied" if reply.applied == "yes" else "refused", reply=reply)

    monkeypatch.setattr(processed, "run", hasty)
    monkeypatch.setattr(pending, "run", hasty)
    assert _convicted("two-step counts", crew)
