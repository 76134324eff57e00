"""Compares what is reported of a collection over time with the oracle's memory; subjects that are wrong on purpose."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import bson
from msgspec.structs import replace

from model.foundation.records import Version
from model.layouts.base import Layout
from model.over_time.activity import Activity, ActivityList
from model.over_time.as_of import AsOf, StateAt
from model.values.canonical import Value
from tests.over_time.oracle import START, Life, Oracle

TellActivity: TypeAlias = Callable[[Layout], Iterable[Activity]]
TellStates: TypeAlias = Callable[[Layout, dt.datetime], Iterable[StateAt]]
SHOWN = 5


@dataclass
class Tally:
    """What was compared, and what was wrong about it."""

    changes: int = 0
    moments: int = 0
    states: int = 0
    marked: int = 0  # states that are marked as not proven, and cannot be
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in another one."""
        self.changes += other.changes
        self.moments += other.moments
        self.states += other.states
        self.marked += other.marked
        self.wrong += other.wrong


def activity(layout: Layout) -> Iterator[Activity]:
    """The activity as the product tells it."""
    yield from ActivityList([layout])


def states(layout: Layout, moment: dt.datetime) -> Iterator[StateAt]:
    """The states at a moment as the product tells them."""
    yield from AsOf(layout, moment, contents=True)


def judged(oracle: Oracle, moments: int, tell: TellActivity = activity, tell_states: TellStates = states) -> Tally:
    """Hold the activity and the states at random moments against the oracle."""
    tally = Tally()
    numbers = {id: _numbers(oracle.layout, id, life, tally) for id, life in oracle.lives.items()}
    if not tally.wrong:
        _judge_activity(oracle, numbers, list(tell(oracle.layout)), tally)
        last = oracle.now
        for at in range(moments):
            # Now and then the very moment of a change: both bounds count.
            event = oracle.dice.choice(oracle.events)
            moment = START + (last - START) * oracle.dice.random() * 1.1 if at % 4 or event.at is None else event.at
            _judge_states(oracle, numbers, moment, list(tell_states(oracle.layout, moment)), tally)
            tally.moments += 1
    return tally


def _numbers(layout: Layout, id: Any, life: Life, tally: Tally) -> dict[Value, int]:
    """The places of a document's versions in its life, by the names that the product has for them."""
    versions: list[Version] = [*layout.history(Value.of(id))][::-1]
    if len(versions) != len(life.events):
        told = f"{len(versions)} versions where {len(life.events)} were written"
        tally.wrong.append(f"{id}: {told}")
    return {version.v: n for n, version in enumerate(versions) if version.v is not None}


def _judge_activity(oracle: Oracle, numbers: dict[Any, dict[Value, int]], told: list[Activity], tally: Tally) -> None:
    found: Counter[tuple[Any, ...]] = Counter()
    before = None
    for each in told:
        id = each.id.python()
        n = None if each.v is None else numbers.get(id, {}).get(each.v)
        found[id, n, each.at, each.author, each.kind, frozenset(each.paths)] += 1
        key = (each.at is None, -each.at.timestamp() if each.at is not None else 0.0)
        if before is not None and key < before:
            tally.wrong.append(f"{id}: the change of {each.at} stands behind an older one")
        before = key
    wanted = Counter((e.id, e.v - 1, e.at, e.author, e.kind, frozenset(e.paths)) for e in oracle.events)
    wanted.update((id, None, None, None, "deleted", frozenset()) for id, life in oracle.lives.items() if life.gone)
    tally.changes += wanted.total()
    tally.wrong += [f"not told: {each}" for each in (wanted - found)] + [
        f"made up: {each}" for each in (found - wanted)
    ]


def _judge_states(
    oracle: Oracle, numbers: dict[Any, dict[Value, int]], moment: dt.datetime, told: list[StateAt], tally: Tally
) -> None:
    by_id = {each.id.python(): each for each in told}
    if len(by_id) != len(told):
        tally.wrong.append(f"{moment}: a document is told twice")
    for id, life in oracle.lives.items():
        each, possible = by_id.pop(id, None), life.possible(moment)
        tally.states += 1
        if possible == [-1] or (len(possible) == 1 and life.events[possible[0]].content is None):
            if each is not None:
                tally.wrong.append(f"{id} at {moment}: it was not there, and is told as {each}")
        elif each is None:
            tally.wrong.append(f"{id} at {moment}: it is left out, though it may have been any of {possible}")
        elif len(possible) == 1 and life.readable(possible[0]):
            _compare(f"{id} at {moment}", numbers[id], life, possible[0], each, tally)
        elif each.proven:
            tally.wrong.append(f"{id} at {moment}: any of {possible} is possible, and {each.v} is told as proven")
        else:
            tally.marked += 1
    tally.wrong += [f"{id} at {moment}: there is no such document" for id in by_id]


def _compare(where: str, numbers: dict[Value, int], life: Life, n: int, each: StateAt, tally: Tally) -> None:
    event = life.events[n]
    if not each.proven:
        tally.wrong.append(f"{where}: it is marked, though it can only have been version {n + 1}")
    elif each.v is None or numbers.get(each.v) != n or each.at != event.at:
        tally.wrong.append(f"{where}: it was version {n + 1} of {event.at}, and is told as {each.v} of {each.at}")
    elif each.content is None or bson.decode(each.content) != event.content:
        tally.wrong.append(f"{where}: the content of version {n + 1} is another one")


# --- wrong on purpose


def forgetful(layout: Layout) -> Iterator[Activity]:
    """An activity that drops every hundredth change."""
    for n, each in enumerate(ActivityList([layout]), 1):
        if n % 100:
            yield each


def shifted(layout: Layout) -> Iterator[Activity]:
    """An activity that names, for each change, who made the one told before it."""
    author = None
    for each in ActivityList([layout]):
        yield replace(each, author=author)
        author = each.author


def confused(layout: Layout) -> Iterator[Activity]:
    """An activity in which two neighbours changed places."""
    several = list(ActivityList([layout]))
    middle = len(several) // 2
    several[middle : middle + 2] = several[middle : middle + 2][::-1]
    yield from several


def ahead(layout: Layout, moment: dt.datetime) -> Iterator[StateAt]:
    """An as-of that takes the version after, where there is one."""
    for each in AsOf(layout, moment, contents=True):
        versions = [*layout.history(each.id, contents=True)][::-1]
        later = next((b for a, b in itertools.pairwise(versions) if a.v == each.v), None)
        if later is None or later.content is None:
            yield each
        else:
            yield replace(each, v=later.v, at=later.at, content=later.content)


def credulous(layout: Layout, moment: dt.datetime) -> Iterator[StateAt]:
    """An as-of that takes the last version with an earlier time for proven, whatever is missing."""
    for each in AsOf(layout, moment, contents=True):
        yield replace(each, doubt=None)


def timid(layout: Layout, moment: dt.datetime) -> Iterator[StateAt]:
    """An as-of that proves nothing in the minute of a change."""
    for each in AsOf(layout, moment, contents=True):
        close = each.at is not None and moment - each.at < dt.timedelta(minutes=1)
        yield replace(each, doubt="clock") if close and each.proven else each


SUBJECTS: dict[str, tuple[TellActivity, TellStates]] = {
    "an activity that drops every hundredth change": (forgetful, states),
    "an activity that names who made another change": (shifted, states),
    "an activity in which two changes are the wrong way round": (confused, states),
    "an as-of that takes the version after": (activity, ahead),
    "an as-of that marks nothing": (activity, credulous),
    "an as-of that marks what can be proven": (activity, timid),
}
