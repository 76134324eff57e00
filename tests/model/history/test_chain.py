"""Chains: what set each field, followed over all versions of a document in a single pass."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pymongo.database
import pytest
from bson import Int64
from hypothesis import example, given
from hypothesis import strategies as st

from model.errors import Cancelled, NotFound, Refused, Unreadable
from model.foundation.records import Checkpoint, Version
from model.history.chain import Chain, Follower, Track, bisect, key_text, locate
from model.history.following import blamed
from model.localserver.sample.k118240 import CHANGES, MISSING
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests import support
from tests.model import session_scenes

Db = pymongo.database.Database
NS, ID = "insurance.contracts", Value.of("K-118240")


def version(v: int, content: dict[str, Any] | bytes | None, current: bool = False, **more: Any) -> Version:
    raw = canonical.encode(content) if isinstance(content, dict) else content
    at = dt.datetime(2026, 1, v, tzinfo=dt.UTC)
    state: Any = more.pop("state", "present" if raw is not None else "missing")
    return Version(Value.of(v), at, f"p{v}", "archive", state, current, None, len(raw or b""), content=raw, **more)


def history(*contents: dict[str, Any] | None) -> list[Version]:
    """Versions 1, 2, … of these contents, newest first; None is missing."""
    made = [version(v, content, v == len(contents)) for v, content in enumerate(contents, 1)]
    return made[::-1]


def chain(versions: list[Version], keys: tuple[str, ...] = ("_id",)) -> Chain:
    follower = Follower(keys)
    for one in versions:
        follower.take(one)
    return follower.chain()


def numbers(found: Chain, track: Track) -> list[tuple[int, str]]:
    """Which version did what to a field, oldest first."""
    said = [(found.versions[one.age].v, one.op) for one in reversed(track.changes)]
    return [(v.python(), op) for v, op in said if v is not None]


def told(found: Chain) -> dict[str, list[tuple[int, str]]]:
    return {key_text(track.key): numbers(found, track) for track in found.tracks}


@pytest.fixture(scope="module")
def sample(homes: object) -> Iterator[Session]:
    with Session.open("sample:") as session:
        yield session


def test_each_field_knows_what_each_version_did_to_it() -> None:
    found = chain(history({"a": 1, "b": {"c": 1}}, {"a": 2, "b": {"c": 1, "d": 0}}, {"a": Int64(2), "b": {"d": 0}}))
    assert told(found) == {"a": [(2, "set"), (3, "retype")], "b.c": [(3, "remove")], "b.d": [(2, "add")]}
    assert [track.from_start for track in found.tracks] == [True, True, False]
    assert [track.path for track in found.tracks] == [("a",), None, ("b", "d")]


def test_values_before_and_after_are_kept_while_they_are_small() -> None:
    found = chain(history({"a": 1, "n": "x" * 5000}, {"a": "one", "n": "y" * 6000}))
    small, large = (track.changes[0] for track in found.tracks)
    assert small.before is not None
    assert small.after is not None
    assert (small.before.value, small.after.value) == (Value.of(1), Value.of("one"))
    assert large.after is not None
    assert (large.after.value, large.after.size, large.after.kind) == (None, 6005, "String")


def test_elements_with_an_identity_are_followed_wherever_they_stand() -> None:
    glass, bike = {"_id": "GLASS", "premium": 1}, {"_id": "BIKE", "premium": 5}
    found = chain(history({"r": [glass]}, {"r": [bike, glass]}, {"r": [bike, glass | {"premium": 2}]}, {"r": [glass]}))
    assert told(found) == {
        "r[GLASS]._id": [],
        "r[GLASS].premium": [(3, "set"), (4, "set")],
        "r[BIKE]._id": [(2, "add"), (4, "remove")],
        "r[BIKE].premium": [(2, "add"), (4, "remove")],
    }
    assert [key_text(track.key) for track in found.tracks if track.identity] == ["r[BIKE]._id", "r[GLASS]._id"]


def test_a_configured_key_stands_in_where_elements_have_no_id() -> None:
    versions = history({"r": [{"code": 1, "n": 1}]}, {"r": [{"code": 2, "n": 7}, {"code": 1, "n": 2}]})
    assert told(chain(versions)) == {"r": [(2, "set")]}
    assert told(chain(versions, ("_id", "code")))["r[1].n"] == [(2, "set")]


@support.table(
    "array",
    [[1, 2], [], [{"_id": 1}, {"_id": 1}], [{"_id": 1}, 5], [{"n": 1}]],
    ids=["numbers", "empty", "twice", "mixed", "bare"],
)
def test_any_other_array_is_one_field(array: list[Any]) -> None:
    assert told(chain(history({"a": array}, {"a": [0]}))) == {"a": [(2, "set")]}


def test_an_array_that_gains_its_first_element_is_another_field_from_then_on() -> None:
    found = told(chain(history({"r": []}, {"r": [{"_id": 1, "n": 1}]})))
    assert found == {"r": [(2, "remove")], "r[1]._id": [(2, "add")], "r[1].n": [(2, "add")]}


def test_a_change_of_order_alone_is_not_overlooked() -> None:
    found = chain(history({"a": 1, "b": 2}, {"b": 2, "a": 1}))
    assert told(found) == {"b": [], "a": [], "order of fields": [(2, "reorder")]}
    assert [key_text(one.key) for one in found.blame()] == ["b", "a"]


def test_what_changed_over_a_gap_is_known_to_have_changed_somewhere_in_it() -> None:
    found = chain(history({"a": 1, "b": 1}, None, None, {"a": 2, "b": 1}, {"a": 2, "b": 2}))
    a, b = found.tracks
    assert [(one.age, one.gap) for one in a.changes] == [(1, 2)]
    assert [(one.age, one.gap) for one in b.changes] == [(0, 0)]
    first, second = found.blame()
    assert (first.version.v, first.since and first.since.v) == (Value.of(4), Value.of(2))
    assert (second.version.v, second.since) == (Value.of(5), None)


def test_what_is_older_than_the_oldest_kept_version_says_so() -> None:
    (only,) = chain(history(None, None, {"a": 1}, {"a": 1})).blame()
    assert (only.version.v, only.since and only.since.v, only.op) == (Value.of(3), Value.of(1), "")


def test_versions_above_the_current_one_take_no_part() -> None:
    phantom = version(3, {"a": 9}, state="damaged", detail="above the current version")
    found = chain([phantom, version(2, {"a": 2}, current=True), version(1, {"a": 1})])
    assert (found.start, told(found)) == (1, {"a": [(2, "set")]})


def test_a_version_that_cannot_be_read_counts_as_missing_and_is_marked() -> None:
    broken = canonical.encode({"a": 5})[:-3] + b"\xff\xff\x00"
    found = chain([version(3, {"a": 2}, current=True), version(2, broken[:6]), version(1, {"a": 1})])
    assert [(one.age, one.gap) for one in found.tracks[0].changes] == [(0, 1)]
    assert found.versions[1].state == "damaged"
    assert found.read == {0, 2}


def test_an_earlier_version_is_not_blamed_for_a_current_one_that_cannot_be_read() -> None:
    twice = canonical.document([("a", Value.of(1)), ("a", Value.of(2))])
    for content, state in ((twice, "present"), (None, "damaged")):
        current = version(3, content, current=True, state=state, detail="holds the field a twice")
        versions = [current, version(2, {"a": 2}), version(1, {"a": 1})]
        assert chain(versions).blame() == ()
        with pytest.raises(Unreadable, match=r"^The current version, v3, has no fields .*holds the field a twice"):
            blamed(versions, ("_id",))
    assert [one.path for one in blamed([version(4, {"b": 1}), *history({"a": 1}, {"a": 2})], ("_id",))] == [("a",)]


def test_fields_that_every_version_changes_are_known() -> None:
    found = chain(history(*({"n": v, "s": v // 4} for v in range(8))))
    assert [(key_text(track.key), track.every_time) for track in found.tracks] == [("n", True), ("s", False)]


def test_fields_stand_as_in_the_document_and_gone_ones_where_they_stood() -> None:
    found = chain(history({"a": 1, "x": {"y": 1, "z": 1}, "b": 1}, {"a": 1, "x": {"z": 1}, "c": 1, "b": 1}))
    assert [key_text(track.key) for track in found.tracks] == ["a", "x.y", "x.z", "c", "b"]


def test_fields_of_a_thousand_levels_are_told_in_time() -> None:
    def deep(number: int) -> bytes:
        value = Value.of(number)
        for _ in range(1000):
            beside = ((f"b{i}", Value.of(i)) for i in range(5))
            value = Value(canonical.OBJECT, canonical.document([("a", value), *beside]))
        return value.data

    start = time.process_time()
    found = chain([version(2, deep(2), current=True), version(1, deep(1))])
    assert time.process_time() - start < 2
    assert [track.key for track in found.tracks if track.changes] == [("a",) * 1000]
    assert len(found.tracks) == 5001


@support.examples(60)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("abc"),
            st.one_of(st.integers(0, 2), st.lists(st.integers(0, 1), max_size=2), st.just({}))
            | st.dictionaries(st.sampled_from("xy"), st.integers(0, 1), max_size=2),
            max_size=3,
        )
        | st.none(),
        min_size=1,
        max_size=7,
    )
)
@example(contents=[{"a": {"x": 0}}])
def test_blame_names_the_version_from_which_on_a_field_never_changed(contents: list[dict[str, Any] | None]) -> None:
    contents.append({"a": 0, "b": {"x": 1}, "c": []})
    versions = history(*contents)
    for one in chain(versions).blame():
        now = canonical.get(versions[0].content or b"", one.path)
        expected = earlier = None
        for older in versions:
            if older.content is None:
                continue
            if (there := canonical.get(older.content, one.path)) != now:
                # The fields of a sub-document are followed one by one, and the sub-document itself is no value.
                earlier = (
                    None if there is not None and there.type == canonical.OBJECT and len(there.data) > 5 else there
                )
                break
            expected = older.v
        assert one.version.v == expected
        assert (one.before.value if one.before else None) == earlier


def test_a_field_is_found_where_it_stands_in_one_version() -> None:
    raw = canonical.encode({"r": [{"_id": 1}, {"_id": 2, "n": 5}]})
    keys = {key_text(track.key): track.key for track in chain([version(1, raw, current=True)]).tracks}
    assert locate(raw, keys["r[2].n"], ["_id"]) == ("r", 1, "n")
    assert locate(canonical.encode({"r": []}), keys["r[2].n"], ["_id"]) is None


def test_a_condition_may_turn_more_than_once_and_gaps_are_told() -> None:
    versions = history({"n": 1}, {"n": 5}, {"n": 5}, None, {"n": 0}, {"n": 9})
    found = bisect(versions, lambda raw: canonical.decode(raw)["n"] > 3)
    assert [(t.version.v, t.holds, t.before.v, t.gap) for t in found.turns] == [
        (Value.of(2), True, Value.of(1), 0),
        (Value.of(5), False, Value.of(3), 1),
        (Value.of(6), True, Value.of(5), 0),
    ]
    assert (found.holds, found.looked) == (True, 5)


# --- through a session


def test_the_sample_is_told_as_it_was_made(sample: Session) -> None:
    found = sample.history.chain(NS, ID)
    assert len(found.versions) == 60
    assert len(found.read) == 60 - len(MISSING)
    fields = [track for track in found.tracks if not track.identity and not track.every_time]
    assert len(fields) == 30
    assert [key_text(track.key) for track in found.tracks if track.every_time] == ["letter", "changedBy"]
    made = told(found)
    for path, values in CHANGES.items():
        name = path if not path.startswith("riders.") else f"riders[{path[7:]}].premium"
        expected = [20 if v in MISSING else v for v in values if v > 1]
        assert [v for v, _ in made[name]] == expected, name
    assert dict(made["insured.sum"])[34] == "retype"
    assert made["premium.discount"][-1] == (57, "remove")


def test_nothing_is_read_further_once_the_blame_of_all_fields_is_known(sample: Session) -> None:
    seen: list[tuple[int, int | None]] = []
    sample.history.blame(NS, ID, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (60, 60)  # period.from is as it was from the start
    follower = Follower()
    for one in history({"a": 1}, {"a": 2}, {"a": 3}):
        follower.take(one)
        if follower.settled:
            break
    assert len(follower.chain().versions) == 2


def test_following_can_be_stopped(sample: Session) -> None:
    def stop(done: int, total: int | None) -> None:
        if done == 5:
            raise Cancelled

    with pytest.raises(Cancelled):
        sample.history.chain(NS, ID, stop)


def test_a_reading_that_was_stopped_goes_on_where_it_was(sample: Session) -> None:
    whole = sample.history.chain(NS, ID)
    reading, steps = sample.history.chain_reading(NS, ID), list[int]()
    for at in (1, 7, 30):
        with pytest.raises(Cancelled):
            reading.read(stopping(steps, at))
    assert reading.read(stopping(steps)) == whole
    assert in_turn(steps) == list(range(1, len(whole.versions) + 1)), "none is read again but where it was stopped"


def test_a_reading_that_was_stopped_begins_anew_where_the_document_was_written_meanwhile(homes: object) -> None:
    steps: list[int] = []
    with Session.open("sample:") as session:
        reading = session.history.chain_reading(NS, ID)
        with pytest.raises(Cancelled):
            reading.read(stopping(steps, 7))
        assert session.edit(NS, ID, set={"notes": "written meanwhile"}).kind == "applied"
        assert reading.read(stopping(steps)) == session.history.chain(NS, ID)
    assert in_turn(steps)[:8] == [1, 2, 3, 4, 5, 6, 7, 1]


def in_turn(steps: list[int]) -> list[int]:
    """The steps, of which each may be told several times in a row: a version can take long."""
    return [step for step, _ in groupby(steps)]


def stopping(steps: list[int], at: int = 0) -> Checkpoint:
    """A checkpoint that notes what it is told, and stops before a version."""

    def step(done: int, total: int | None) -> None:
        steps.append(done)
        if done == at:
            raise Cancelled

    return step


def test_following_can_be_stopped_in_the_middle_of_a_large_version(
    sample: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model.history.chain.PAUSE", 0)
    steps: list[int] = []

    def stop_within_the_second(done: int, total: int | None) -> None:
        steps.append(done)
        if steps[-2:] == [2, 2]:
            raise Cancelled

    for follow in (sample.history.chain, sample.history.blame):
        steps.clear()
        with pytest.raises(Cancelled):
            follow(NS, ID, stop_within_the_second)
        assert steps[-2:] == [2, 2]
    pauses: list[int] = []
    large = version(1, {"r": [{"_id": i} for i in range(20_000)]}, current=True)
    follower = Follower(pause=lambda: pauses.append(1))
    follower.take(large)
    assert len(pauses) > 20_000 / 1000


def test_what_is_known_so_far_is_handed_on(sample: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.history.chain_reading._FIRST", -1.0)
    monkeypatch.setattr("model.history.chain_reading._PARTIAL", -1.0)
    parts: list[Chain] = []
    whole = sample.history.chain(NS, ID, partial=parts.append)
    assert [len(part.versions) for part in parts] == list(range(1, 61))
    assert not parts[0].complete
    assert parts[30].tracks[0].changes == whole.tracks[0].changes[: len(parts[30].tracks[0].changes)]


def test_a_condition_that_is_not_understood_is_refused_in_a_sentence(sample: Session) -> None:
    with pytest.raises(Refused, match="not understood"):
        sample.history.bisect(NS, ID, '{"$where": "1"}')
    with pytest.raises(Refused, match="column"):
        sample.history.bisect(NS, ID, "{status")
    with pytest.raises(NotFound):
        sample.history.bisect(NS, Value.of("nobody"), "{}")


def test_both_servers_give_the_same_blame(server_uri: str, database: Db, database_name: str) -> None:
    session_scenes.archive(database)
    session_scenes.versions(database)
    with Session.open(server_uri) as session:
        contracts, claims = f"{database_name}.contracts", f"{database_name}.claims"
        found = {
            key_text(one.key): (one.version.v, one.since and one.since.v)
            for one in session.history.blame(contracts, Value.of("K-1"))
        }
        assert found == {
            "status": (Value.of(2), None),
            "premium.net": (Value.of(1), None),
            "premium.gross": (Value.of(1), None),
            "tags": (Value.of(1), None),
            "steps": (Value.of(4), Value.of(3)),
        }
        turns = session.history.bisect(claims, Value.of("C-1"), "{open: false}").turns
        assert [(t.version.v, t.holds) for t in turns] == [(Value.of(3), True)]
        turns = session.history.bisect(contracts, Value.of("K-1"), "{notes: {$exists: false}}").turns
        assert [(t.version.v, t.holds, t.gap) for t in turns] == [(Value.of(2), False, 0), (Value.of(4), True, 1)]


def test_money_is_compared_as_a_server_compares_it(sample: Session) -> None:
    found = sample.history.bisect(NS, ID, '{"premium.gross": {"$gte": 500}}')
    assert [(t.version.v, t.holds) for t in found.turns] == [(Value.of(47), True)]


def test_blame_of_an_earlier_version_leaves_out_what_came_later() -> None:
    second = {"a": 2, "r": [{"_id": 2, "n": 0}, {"_id": 1, "n": 5}]}
    follower = Follower()
    for one in history({"a": 2}, second, {"a": 3, "r": [{"_id": 1, "n": 5}]}):
        follower.take(one)
    raw = canonical.encode(second)
    found = {one.path: (one.version.author, one.op) for one in follower.chain().blame_at(raw, Value.of(2))}
    assert found == {("a",): ("p1", ""), ("r", 0, "n"): ("p2", "add"), ("r", 1, "n"): ("p2", "add")}
    assert follower.chain(complete=False).blame_at(raw, Value.of(2))[0].path == ("r", 0, "n")  # a may be older
    assert follower.chain().blame_at(raw, Value.of(9)) == ()


def test_blame_of_an_earlier_version_looks_at_its_content_once() -> None:
    versions = [
        version(v, {"r": [{"_id": i, "n": v, "same": i} for i in range(1500)]}, current=v == 3) for v in (3, 2, 1)
    ]
    found = chain(versions)
    start = time.process_time()
    blames = found.blame_at(versions[1].content or b"", Value.of(2))
    assert time.process_time() - start < 2
    assert {one.path: one.version.v for one in blames} == {
        ("r", i, name): Value.of(2 if name == "n" else 1) for i in range(1500) for name in ("n", "same")
    }
    assert found.blame_at(b"", Value.of(2)) == ()
