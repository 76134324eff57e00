"""The newest changes, shown in parts while a list is read: each part is right about what was read so far."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from model.layouts.base import Layout
from model.over_time.activity import Activity, ActivityList
from model.over_time.newest import newest
from model.over_time.span import Span
from model.server.retry import Server, Write
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from tests.model.layouts.layout_support import layout_of

BERLIN = ZoneInfo("Europe/Berlin")
EVENING = dt.datetime(2026, 3, 1, 22, 30, tzinfo=dt.UTC)  # half an hour before the next day in Berlin
EDITS = 8


@pytest.fixture
def layout(server: Server, database_name: str) -> Layout:
    """Four documents that two people edited in turn, an hour apart."""
    made = layout_of(server, database_name, "versions", at="changedAt", author="changedBy")
    at = EVENING
    for n in range(EDITS):
        for name in ("K-1", "K-2", "K-3", "K-4"):
            at += dt.timedelta(hours=1)
            stamp, content, id = Stamp(at=at, author=f"user-{n % 2}"), c.encode({"n": n}), Value.of(name)
            made.swap(id, made.version(id), content, stamp) if n else made.create(content, id, stamp)
    return made


def test_each_part_holds_the_newest_of_what_was_read_and_the_last_one_all_of_it(layout: Layout) -> None:
    parts = list(newest(ActivityList([layout]), 1000, BERLIN, every=0))
    whole = list(ActivityList([layout]))
    assert [part.documents for part in parts] == [1, 2, 3, 4, 4]
    for part in parts[:-1]:
        read = {each.id for each in part.rows}
        assert (list(part.rows), part.found) == ([each for each in whole if each.id in read], part.documents * EDITS)
    assert (list(parts[-1].rows), parts[-1].is_whole) == (whole, True)
    assert parts[-1].authors == ("user-0", "user-1")


def test_rows_beyond_the_most_are_the_oldest_and_still_counted(layout: Layout) -> None:
    *_, last = newest(ActivityList([layout]), 5, BERLIN)
    assert list(last.rows) == list(ActivityList([layout]))[:5]
    assert (last.found, last.is_whole, sum(count for _, count in last.days)) == (4 * EDITS, False, 4 * EDITS)


def test_an_edit_that_is_known_as_a_merge_is_told_as_one(layout: Layout) -> None:
    known = {(layout.ns, Value.of("K-1"), Value.of(v)) for v in (1, 3)}
    *_, last = newest(ActivityList([layout]), 1000, BERLIN, known)
    told = {(each.id.python(), _number(each.v)): each.kind for each in last.rows if each.kind != "edited"}
    assert told == {("K-1", 3): "merged"} | {(f"K-{n}", 1): "created" for n in (1, 2, 3, 4)}


def test_days_are_those_of_the_zone(layout: Layout) -> None:
    *_, here = newest(ActivityList([layout]), 5, BERLIN)
    *_, there = newest(ActivityList([layout]), 5, dt.UTC)
    assert here.days == ((dt.date(2026, 3, 2), 24), (dt.date(2026, 3, 3), 8))
    assert there.days == ((dt.date(2026, 3, 1), 1), (dt.date(2026, 3, 2), 24), (dt.date(2026, 3, 3), 7))


def test_an_author_left_out_is_named_all_the_same(layout: Layout) -> None:
    *_, last = newest(ActivityList([layout], author="user-1"), 1000, BERLIN)
    assert ({each.author for each in last.rows}, last.authors) == ({"user-1"}, ("user-0", "user-1"))


def test_a_change_names_the_version_before_it_that_is_there(layout: Layout, server: Server) -> None:
    assert server.send(Write(layout.ns, "delete", {"docId": "K-1", "v": 4})).applied == "yes"
    *_, last = newest(ActivityList([layout], id=Value.of("K-1")), 1000, BERLIN)
    pairs = {_number(each.v): _number(each.older) for each in last.rows}
    assert pairs == {8: 7, 7: 6, 6: 5, 5: 3, 3: 2, 2: 1, 1: None}
    assert (last.unknown, [each.v for each in last.rows if each.kind == "unknown"]) == (1, [Value.of(5)])


def test_a_time_before_that_of_an_earlier_version_is_astray_and_counted(layout: Layout) -> None:
    id = Value.of("K-1")
    layout.swap(id, layout.version(id), c.encode({"n": 99}), Stamp(at=EVENING))
    *_, last = newest(ActivityList([layout]), 1000, BERLIN)
    (one,) = [each for each in last.rows if each.astray]
    assert ((_number(one.v), one.at), last.astray) == ((9, EVENING), 1)
    assert last.rows[-1] is one


def test_parts_come_ever_more_seldom_the_more_was_read(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    now, at, found = [0.0], [], 0

    class OneDocument(ActivityList):
        def as_read(self) -> Iterator[list[Activity]]:
            (read,) = super().as_read()
            for _ in range(600):
                now[0] += 0.1
                yield read

    monkeypatch.setattr("model.over_time.newest.time.monotonic", lambda: now[0])
    for part in newest(OneDocument([layout], id=Value.of("K-1")), 1000, BERLIN):
        at.append(now[0])
        found = part.found
    waits = [later - earlier for earlier, later in pairwise([0.0, *at[:-1]])]
    assert (found, at[-1]) == (600 * len(list(ActivityList([layout], id=Value.of("K-1")))), now[0])
    assert waits == sorted(waits)
    assert waits[0] == pytest.approx(0.3)
    assert waits[-1] == pytest.approx(5.0)
    assert len(waits) < 20  # of a minute


def test_how_much_there_is_to_read_is_known_unless_a_span_says_which_documents(layout: Layout) -> None:
    assert ActivityList([layout]).expected() == 4
    assert ActivityList([layout], id=Value.of("K-1")).expected() == 1
    assert ActivityList([layout], Span(since=EVENING)).expected() is None


def test_changes_without_a_time_stand_last_and_are_counted(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "versions", at="changedAt")
    layout.create(c.encode({"n": 0}), Value.of("K"), Stamp(at=EVENING))
    timeless = c.encode({"_id": "an id that holds no time either", "docId": "L", "v": 1, "n": 0})
    assert server.send(Write(layout.ns, "insert", {}, timeless)).applied == "yes"
    *_, all_of_it = newest(ActivityList([layout]), 9, BERLIN)
    *_, since = newest(ActivityList([layout], Span(since=EVENING)), 9, BERLIN)
    assert ([each.at for each in all_of_it.rows], all_of_it.undated, all_of_it.left_out) == ([EVENING, None], 1, 0)
    assert ([each.at for each in since.rows], since.undated, since.left_out) == ([EVENING], 1, 1)
    assert all(isinstance(each, Activity) for each in since.rows)


def _number(v: Value | None) -> int | None:
    return None if v is None else int(v.python())  # type: ignore[call-overload]
