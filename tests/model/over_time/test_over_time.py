"""Spans, authors, paths and comparisons over time, against an oracle of all edits; and single histories."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from model.foundation.records import Version
from model.over_time import activity
from model.over_time.activity import ActivityList, changed_paths
from model.over_time.as_of import AsOf, compared
from model.over_time.span import Span
from model.server.retry import Server, Write
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import layout_of
from tests.over_time.oracle import START, Event, Oracle
from tests.over_time.sources import OWN, source


def number(v: Value | None) -> int:
    assert v is not None
    return int(v.python())  # type: ignore[call-overload, no-any-return]


@pytest.fixture(params=support.some(OWN, "archive", "versions", "deltas"))
def oracle(request: pytest.FixtureRequest, seed: int, server: Server, database_name: str) -> Oracle:
    made = Oracle(source(server, database_name, request.param), seed, damage=False)
    made.run(support.by_depth(80, 250))
    return made


def newest_first(oracle: Oracle) -> list[Event]:
    return sorted(oracle.events, key=lambda each: each.at or START, reverse=True)


def test_a_span_finds_the_same_changes_and_compares_no_others(oracle: Oracle, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = list(ActivityList([oracle.layout]))
    since = everything[len(everything) // 4].at
    assert since is not None
    compared: list[Version] = []
    between = activity._between

    def noted(older: Version | None, newer: Version, *fields: Any) -> Any:
        compared.append(newer)
        return between(older, newer, *fields)

    monkeypatch.setattr(activity, "_between", noted)
    found = list(ActivityList([oracle.layout], Span(since)))
    assert found == [each for each in everything if each.at is not None and each.at >= since]
    assert {each.at is None or each.at >= since for each in compared} == {True}
    assert len(compared) < len(everything) / 2


@pytest.mark.deep
@pytest.mark.slice
def test_a_span_an_author_and_a_path_leave_out_all_others(oracle: Oracle) -> None:
    events = newest_first(oracle)
    since, until = events[min(20, len(events) - 1)].at, events[5].at
    assert since is not None
    assert until is not None
    found = ActivityList([oracle.layout], Span(since, until))
    assert [(each.id.python(), number(each.v)) for each in found] == [
        (e.id, e.v) for e in events if e.at is not None and since <= e.at <= until
    ]
    if oracle.layout.own_documents or oracle.layout.name in ("archive", "stream"):
        assert "create one on {changedAt: 1}" in found.notes[0]
    by = events[0].author
    assert {each.author for each in ActivityList([oracle.layout], author=by)} == {by}
    deep = [(e.id, e.v) for e in events if any(path[:1] == ("deep",) for path in e.paths)]
    for asked in (("deep",), ("deep", "a")):
        assert [(each.id.python(), number(each.v)) for each in ActivityList([oracle.layout], path=asked)] == deep


def test_two_moments_are_compared_by_what_stood_there(oracle: Oracle) -> None:
    events = newest_first(oracle)
    first, then = events[len(events) * 2 // 3].at, events[len(events) // 4].at
    assert first is not None
    assert then is not None
    wanted = {}
    for id, life in oracle.lives.items():
        before, after = life.possible(first), life.possible(then)
        if len(before) != 1 or len(after) != 1:
            wanted[id] = "unproven"
            continue
        was, now = (None if n < 0 else life.events[n].content for n in (*before, *after))
        if was != now:
            wanted[id] = "added" if was is None else "removed" if now is None else "changed"
    assert {each.id.python(): each.change for each in compared(oracle.layout, first, then)} == wanted


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


def test_a_version_above_the_current_one_was_never_there(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "archive", at="changedAt")
    layout.create(c.encode({"n": 1}), Value.of("K"), Stamp(at=START))
    row = {"docId": "K", "v": 2, "changedAt": START + dt.timedelta(hours=1), "n": 2}
    assert server.send(Write(layout.profile.archive, "insert", {}, c.encode(row))).applied == "yes"
    later = START + dt.timedelta(hours=2)
    assert [(each.v, each.doubt) for each in AsOf(layout, later)] == [(Value.of(1), None)]
    assert [(each.v, each.landed) for each in ActivityList([layout])] == [(Value.of(2), False), (Value.of(1), True)]


def test_order_and_sub_documents_make_the_paths() -> None:
    before = c.encode({"a": {"x": 1, "y": {"z": 1}}, "b": [1, 2], "c": 1, "gone": {"q": 1}})
    after = c.encode({"b": [1, 3], "a": {"y": {"z": 2}, "x": 1}, "c": 1.0, "new": {"r": 1}})
    assert list(changed_paths(before, after)) == [("b",), ("a", "y", "z"), ("c",), ("new",), ("gone",)]
