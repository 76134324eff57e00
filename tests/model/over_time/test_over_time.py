"""Activity and states at a moment against an oracle that remembers every edit, in every layout that keeps versions."""

from __future__ import annotations

import copy
import datetime as dt
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import bson
import pytest

from model.layouts.base import Layout
from model.layouts.stamp import Stamp
from model.over_time.activity import ActivityList, changed_paths
from model.over_time.as_of import AsOf, compared
from model.over_time.span import Span
from model.server.retry import Server, Write
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import layout_of

LAYOUTS = ("versions", "flagged", "embedded", "nested", "archive", "deltas")
AUTHORS = [f"user-{n}" for n in range(20)]
START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
Doc = dict[str, Any]


@dataclass
class Event:
    """One version as the oracle remembers it."""

    id: str
    v: int
    at: dt.datetime
    author: str
    content: Doc | None  # None: deleted
    kind: str = ""
    paths: set[tuple[str, ...]] = field(default_factory=set)


def paths(before: Doc, after: Doc, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name in {**before, **after}:
        was, now = before.get(name), after.get(name)
        if isinstance(was, dict) and isinstance(now, dict):
            yield from paths(was, now, (*above, name))
        elif name not in before or name not in after or bson.encode({"": was}) != bson.encode({"": now}):
            yield (*above, name)


class Oracle:
    """Edits documents at random through a layout, and remembers everything."""

    def __init__(self, layout: Layout, seed: object) -> None:
        self.layout, self.dice = layout, random.Random(f"{seed}")
        self.now = START
        self.lives: dict[str, list[Event]] = {}

    def run(self, edits: int) -> None:
        for _ in range(edits):
            self.now += dt.timedelta(milliseconds=self.dice.choice((1, 1000, 60_000, 3_600_000)))
            id = f"K-{self.dice.randrange(max(2, edits // 8))}"
            life = self.lives.setdefault(id, [])
            author = self.dice.choice(AUTHORS)
            stamp = Stamp(author=author, at=self.now)
            if not life or life[-1].content is None:
                self._create(id, life, stamp)
            elif self.layout.own_documents and self.dice.random() < 0.05:
                outcome = self.layout.delete(Value.of(id), self.layout.version(Value.of(id)), stamp)
                assert outcome.kind == "applied", outcome
                self._note(life, Event(id, life[-1].v + 1, self.now, author, None))
            else:
                self._edit(id, life, stamp)

    def _create(self, id: str, life: list[Event], stamp: Stamp) -> None:
        content = {"n": self.dice.randrange(9), "deep": {"a": 1, "b": {"c": "x"}}, "tags": ["a"]}
        outcome = self.layout.create(c.encode(content), Value.of(id), stamp)
        assert outcome.kind == "applied", outcome
        self._note(life, Event(id, life[-1].v + 1 if life else 1, stamp.at, str(stamp.author), content))

    def _edit(self, id: str, life: list[Event], stamp: Stamp) -> None:
        content = copy.deepcopy(life[-1].content or {})
        old = [each.content for each in life[:-1] if each.content is not None]
        if old and self.dice.random() < 0.2:
            content = copy.deepcopy(self.dice.choice(old))
        else:
            for change in self.dice.sample(("n", "deep", "tags", "note"), self.dice.randrange(1, 3)):
                if change == "n":
                    content["n"] = self.dice.randrange(9)
                elif change == "deep":
                    content["deep"] = {**content["deep"], "a": self.dice.randrange(9)}
                elif change == "tags":
                    content["tags"] = self.dice.sample(["a", "b", "c"], self.dice.randrange(3))
                else:
                    content["note"] = {"text": self.dice.choice("xyz")}
        base = self.layout.version(Value.of(id))
        if {**content} == life[-1].content:
            return
        outcome = self.layout.swap(Value.of(id), base, c.encode(content), stamp)
        assert outcome.kind == "applied", outcome
        self._note(life, Event(id, life[-1].v + 1, stamp.at, str(stamp.author), content))

    def _note(self, life: list[Event], event: Event) -> None:
        before = life[-1].content if life else None
        if event.content is None:
            event.kind = "deleted"
        else:
            event.paths = set(paths(before or {}, event.content))
            earlier = [each.content for each in life[:-1]]
            event.kind = "restored" if event.content in earlier else "edited" if before is not None else "created"
        life.append(event)

    @property
    def events(self) -> list[Event]:
        return sorted((each for life in self.lives.values() for each in life), key=lambda each: each.at, reverse=True)

    def between(self) -> tuple[str, list[Event], Event]:
        """The longest life, and its version nearest to the middle that has contents on both sides."""
        for id, life in sorted(self.lives.items(), key=lambda pair: -len(pair[1])):
            inner = [n for n in range(1, len(life) - 1) if None not in [each.content for each in life[n - 1 : n + 2]]]
            if inner:
                return id, life, life[min(inner, key=lambda n: abs(n - len(life) // 2))]
        raise AssertionError("no life has three contents in a row")

    def at(self, moment: dt.datetime) -> dict[str, int]:
        found = {}
        for id, life in self.lives.items():
            past = [each for each in life if each.at <= moment]
            if past and past[-1].content is not None:
                found[id] = past[-1].v
        return found


def number(v: Value | None) -> int:
    assert v is not None
    return int(v.python())  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def oracle(name: str, server: Server, database_name: str) -> Oracle:
    removed = {"removed": "gone"} if name == "deltas" else {}
    layout = layout_of(server, database_name, name, at="changedAt", author="changedBy", **removed)
    seed = random.SystemRandom().randrange(10**6)
    print(f"{name}, seed {seed}")
    made = Oracle(layout, seed)
    made.run(support.by_depth(80, 250))
    return made


@pytest.mark.parametrize("name", LAYOUTS)
def test_activity_tells_each_edit_once_newest_first(oracle: Oracle) -> None:
    told = [
        (str(each.id.python()), number(each.v), each.at, each.author, each.kind, set(each.paths))
        for each in ActivityList([oracle.layout])
    ]
    assert told == [(e.id, e.v, e.at, e.author, e.kind, e.paths) for e in oracle.events]


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_span_an_author_and_a_path_leave_out_all_others(oracle: Oracle) -> None:
    events = oracle.events
    since, until = events[-20].at, events[10].at
    found = ActivityList([oracle.layout], Span(since, until))
    assert [(each.id.python(), number(each.v)) for each in found] == [
        (e.id, e.v) for e in events if since <= e.at <= until
    ]
    if oracle.layout.own_documents or oracle.layout.name == "archive":
        assert "create one on {changedAt: 1}" in found.notes[0]
    by = events[0].author
    assert {each.author for each in ActivityList([oracle.layout], author=by)} == {by}
    deep = [(e.id, e.v) for e in events if any(path[:1] == ("deep",) for path in e.paths)]
    for asked in (("deep",), ("deep", "a")):
        assert [(each.id.python(), number(each.v)) for each in ActivityList([oracle.layout], path=asked)] == deep


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_states_at_random_moments_are_right_and_proven(oracle: Oracle) -> None:
    last = oracle.events[0].at
    for _ in range(support.by_depth(15, 60)):
        moment = START + (last - START) * oracle.dice.random() * 1.1
        wanted = oracle.at(moment)
        found = list(AsOf(oracle.layout, moment, contents=True))
        assert {str(each.id.python()): number(each.v) for each in found} == wanted
        for each in found:
            life = oracle.lives[str(each.id.python())]
            assert each.proven
            content = next(e.content for e in life if e.v == number(each.v))
            assert bson.decode(each.content or b"") == content


@pytest.mark.parametrize("name", LAYOUTS)
def test_two_moments_are_compared_by_what_stood_there(oracle: Oracle) -> None:
    events = oracle.events
    first, then = events[len(events) * 2 // 3].at, events[len(events) // 4].at
    before, after = oracle.at(first), oracle.at(then)
    content = {(e.id, e.v): e.content for e in events}
    wanted = {}
    for id in {*before, *after}:
        if id not in before or id not in after:
            wanted[id] = "added" if id in after else "removed"
        elif content[id, before[id]] != content[id, after[id]]:
            wanted[id] = "changed"
    assert {str(each.id.python()): each.change for each in compared(oracle.layout, first, then)} == wanted


@pytest.mark.parametrize("name", ["versions", "archive"])
def test_a_gap_is_unknown_above_and_unproven_until_the_next_version(oracle: Oracle, server: Server) -> None:
    id, life, missing = oracle.between()
    ns, key = (oracle.layout.ns, "docId") if oracle.layout.own_documents else (oracle.layout.profile.archive, "docId")
    assert server.send(Write(ns, "delete", {key: id, "v": missing.v})).applied == "yes"
    told = {number(each.v): each for each in ActivityList([oracle.layout], id=Value.of(id))}
    assert missing.v not in told
    assert (told[missing.v + 1].kind, told[missing.v + 1].paths) == ("unknown", ())
    assert all(each.kind != "unknown" for v, each in told.items() if v != missing.v + 1)
    for event in life:
        (found,) = [s for s in AsOf(oracle.layout, event.at) if s.id == Value.of(id)] or [None]
        if event.v in (missing.v - 1, missing.v):
            assert found is not None
            assert (number(found.v), found.proven) == (missing.v - 1, False)
        elif found is not None:
            assert (number(found.v), found.proven) == (event.v, True)


def test_times_that_contradict_the_order_are_unproven_just_between_them(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "versions", at="changedAt")
    hours = (1, 4, 2, 5)
    times = [START + dt.timedelta(hours=each) for each in hours]
    layout.create(c.encode({"n": 0}), Value.of("K"), Stamp(at=times[0]))
    for n, at in enumerate(times[1:], 1):
        layout.swap(Value.of("K"), layout.version(Value.of("K")), c.encode({"n": n}), Stamp(at=at))
    proven = {}
    for hour in range(7):
        found = list(AsOf(layout, START + dt.timedelta(hours=hour)))
        proven[hour] = [(number(each.v), each.proven) for each in found]
    assert proven == {
        0: [],
        1: [(1, True)],
        2: [(3, False)],
        3: [(3, False)],
        4: [(3, True)],
        5: [(4, True)],
        6: [(4, True)],
    }


def test_a_document_that_is_gone_is_told_once_and_unproven_since(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "archive", at="changedAt")
    layout.create(c.encode({"n": 1}), Value.of("K"), Stamp(at=START))
    later = START + dt.timedelta(hours=1)
    layout.swap(Value.of("K"), layout.version(Value.of("K")), c.encode({"n": 2}), Stamp(at=later))
    layout.delete(Value.of("K"), layout.version(Value.of("K")), Stamp(at=later + dt.timedelta(hours=1)))
    told = [(each.kind, each.v, each.at) for each in ActivityList([layout])]
    assert told == [("edited", Value.of(2), later), ("created", Value.of(1), START), ("deleted", None, None)]
    assert [each.proven for each in AsOf(layout, START)] == [True]
    assert [each.doubt for each in AsOf(layout, later)] == ["deleted"]


def test_a_version_above_the_current_one_is_not_taken_for_a_deleted_document(
    server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, "archive", at="changedAt")
    layout.create(c.encode({"n": 1}), Value.of("K"), Stamp(at=START))
    row = {"docId": "K", "v": 2, "changedAt": START + dt.timedelta(hours=1), "n": 2}
    assert server.send(Write(layout.profile.archive, "insert", {}, c.encode(row))).applied == "yes"
    assert [each.doubt for each in AsOf(layout, START + dt.timedelta(hours=2))] == ["above"]


def test_order_and_sub_documents_make_the_paths() -> None:
    before = c.encode({"a": {"x": 1, "y": {"z": 1}}, "b": [1, 2], "c": 1, "gone": {"q": 1}})
    after = c.encode({"b": [1, 3], "a": {"y": {"z": 2}, "x": 1}, "c": 1.0, "new": {"r": 1}})
    assert list(changed_paths(before, after)) == [("b",), ("a", "y", "z"), ("c",), ("new",), ("gone",)]
