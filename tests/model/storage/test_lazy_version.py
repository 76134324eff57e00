"""Versions that are read on first use equal versions that are read at once."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import bson
import pytest
from bson import Int64, ObjectId

from model.foundation.records import Version
from model.localserver import LocalServer
from model.profile import Profile, stated
from model.session import Session
from model.storage import lazy_version, version_pages
from model.storage.lazy_row import SMALL
from model.storage.lazy_version import LazyVersion, LazyVersions
from model.storage.reserved_fields import own_of
from model.storage.version_documents import VersionDocuments
from model.values.canonical import Value
from tests import support
from tests.model.command_log import listening
from tests.support import by_depth
from tests.walker import comparing

ID = Value.of("d")
Row = dict[str, Any]


@pytest.fixture
def local() -> Iterator[LocalServer]:
    with LocalServer() as made:
        yield made


def history_of(chance: random.Random, layout: str) -> tuple[list[Row], list[Row]]:
    """A current document and its earlier versions, with losses, numbers that are there twice, and odd types."""
    versions = []
    for v in range(1, chance.randrange(2, 40)):
        number: Any = v
        match chance.randrange(40):
            case 0 if v > 1:
                continue
            case 1:
                number = chance.choice([str(v), float(v), None, Int64(v), v + 0.5, float("nan")])
            case 2:
                versions.append({"v": v, "name": "twice"})
        row = {"v": number, "name": f"n{v % 3}", "_w": ObjectId()} | ({"_deleted": True} if v % 17 == 0 else {})
        versions.append(row)
    if layout in ("versions", "flagged"):
        alike = [{"_id": ObjectId(), "docId": id, "v": v} for id in ("e", 1, 1.0) for v in (1, 2)]
        return [{"_id": ObjectId(), "docId": "d", **each} for each in versions] + alike, []
    past = versions if layout == "stream" or chance.random() < 0.2 else versions[:-1]
    current = {"_id": "d", **(versions[-1] if versions else {"v": 1})}
    return [current], [{"_id": ObjectId(), "docId": "d", **each} for each in past]


def read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read every version as it is come to."""

    def none(self: LazyVersions, rows: Iterator[bytes], *_: object) -> Iterator[LazyVersion]:
        yield from ()
        return rows, False

    monkeypatch.setattr(LazyVersions, "stretch", none)
    monkeypatch.setattr(LazyVersions, "current", lambda *asked: None)
    monkeypatch.setattr("model.layouts.archive_reader.ArchiveReader._above", lambda *asked: (None, asked[-1]))


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("layout", ["versions", "flagged", "archive", "stream"])
def test_any_history_is_the_same_whether_it_is_read_at_once_or_later(
    local: LocalServer, layout: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    later: list[list[Version]] = []
    lazy = 0
    place = {"archive": "{}_past"} if layout in ("archive", "stream") else {}
    names = [f"db.c{n}" for n in range(by_depth(12, 40))]
    for ns in names:
        things, past = history_of(chance, layout)
        local.load(ns, map(bson.encode, things))
        local.load(f"{ns}_past", map(bson.encode, past))
    profiles = [stated(ns, layout, token="_w", **{key: at.format(ns) for key, at in place.items()}) for ns in names]
    with Session.open(local.uri, Profile(tuple(profiles))) as session:
        readers = [session.catalogue.layout(ns) for ns in names]
        for layer in readers:
            for contents in (False, True):
                found = list(layer.history(ID, contents))
                lazy += sum(isinstance(each, LazyVersion) for each in found)
                later.append(found)
        later += [list(session.history.versions(ns, ID)) for ns in names]
        assert lazy > by_depth(0, 20) or layout == "stream", "a stream says of each version what became of it"
        read_at_once(monkeypatch)
        at_once = [list(layer.history(ID, contents)) for layer in readers for contents in (False, True)]
        at_once += [list(session.history.versions(ns, ID)) for ns in names]
        assert not any(isinstance(each, LazyVersion) for found in at_once for each in found)
    assert [[replace(each) for each in found] for found in later] == at_once


def test_versions_that_nobody_looks_at_are_not_read(local: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    local.load("db.things", [bson.encode({"docId": "d", "v": v, "n": v}) for v in range(1, 301)])
    local.index("db.things", [("docId", 1), ("v", 1)], unique=True)
    read: list[bytes] = []
    whole = lazy_version.LazyVersion.read.func
    with Session.open(local.uri, Profile((stated("db.things", "versions"),))) as session:
        monkeypatch.setattr(LazyVersion, "read", property(lambda self: (read.append(self.document), whole(self))[1]))
        first = list(islice(session.history.versions("db.things", ID), 100))
        assert read == []
        assert (first[7].v, first[7].changed) == (Value.of(293), 1)
        assert {bson.decode(each)["v"] for each in read} == {292, 293}


def test_versions_that_wait_to_be_read_are_bounded(local: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_version, "KEPT", 2000)
    local.load("db.things", [bson.encode({"docId": "d", "v": v, "text": "x" * 60}) for v in range(1, 101)])
    with Session.open(local.uri, Profile((stated("db.things", "versions"),))) as session:
        found = list(session.history.versions("db.things", ID))
    assert [each.v for each in found] == [Value.of(v) for v in range(100, 0, -1)]
    assert 5 < sum(isinstance(each, LazyVersion) for each in found) < 30


@pytest.mark.parametrize("odd", [[], [None, float("nan"), "text", 7.0, 7, True], [7], [None], [float("nan")]])
def test_a_long_history_goes_on_behind_its_first_query(local: LocalServer, odd: list[Any]) -> None:
    last = version_pages.PAGE  # the number at which the first query ends, or one beside it
    numbers = [*range(1, 2 * version_pages.PAGE), *odd, last, last, last + 1]
    local.load("db.things", [bson.encode({"docId": "d", "v": v}) for v in numbers])
    with listening() as log, Session.open(local.uri, Profile((stated("db.things", "versions"),))) as session:
        layer = session.catalogue.layout("db.things")
        log.clear()
        found = list(layer.history(ID))
        low = any(each is None or each != each for each in odd)
        assert log.names == ["find"] * (5 if low else 3), "one of them asks which types the server can be asked for"
    assert sum(each.state != "missing" for each in found) == len(numbers)
    assert {each.v for each in found if each.state != "missing"} == set(map(Value.of, numbers))
    assert sum(each.detail == "stored twice" for each in found) == 3 + sum(each == 7 for each in odd)


FILTERS = (
    "{price: {$gt: 3}}",
    "{price: {$exists: false}}",
    "{$or: [{name: 'n1'}, {'tags.0': 2}]}",
    "{v: {$gt: 3}}",
    "{$expr: {$gt: ['$price', 4]}}",
    "{long: /x{200}1/}",
)


@pytest.mark.parametrize("layout", ["versions", "archive"])
@pytest.mark.parametrize("filter", FILTERS)
def test_a_condition_turns_where_it_does_for_versions_that_are_read_at_once(
    local: LocalServer, layout: str, filter: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    rows: list[bytes] = []
    for v in range(1, 60):
        row: Row = {"_id": ObjectId(), "docId": "d", "v": v, "name": f"n{chance.randrange(3)}"}
        row |= {"price": chance.choice([v, 3, 4.0, "text", None])} if chance.random() < 0.8 else {}
        row |= {"tags": [chance.randrange(4)], "long": "x" * 200 + str(chance.randrange(3))}
        raw = bson.encode(row)
        rows.append(raw.replace(b"name", b"na\xffe") if chance.random() < 0.1 else raw)
    past = layout == "archive"
    if past:
        local.load("db.things", [bson.encode({"_id": "d", "v": 60, "price": 3})])
    local.load("db.things_past" if past else "db.things", rows)
    profile = stated("db.things", layout, **({"archive": "db.things_past"} if past else {}))
    with Session.open(local.uri, Profile((profile,))) as session:
        later = session.history.bisect("db.things", ID, filter)
        read_at_once(monkeypatch)
        assert session.history.bisect("db.things", ID, filter) == later
    assert later.looked == 59 + past


def test_a_condition_reads_no_version_but_those_where_it_turns(
    local: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.load("db.things", [bson.encode({"docId": "d", "v": v, "price": v // 100}) for v in range(1, 301)])
    read: list[bytes] = []
    whole = lazy_version.LazyVersion.read.func
    with Session.open(local.uri, Profile((stated("db.things", "versions"),))) as session:
        monkeypatch.setattr(LazyVersion, "read", property(lambda self: (read.append(self.document), whole(self))[1]))
        found = session.history.bisect("db.things", ID, "{price: {$gte: 2}}")
    assert [(turn.version.v, turn.holds, turn.before.v) for turn in found.turns] == [
        (Value.of(200), True, Value.of(199))
    ]
    assert (found.holds, found.looked) == (True, 300)
    assert len(set(read)) == 4, "the newest, the oldest, and the two between which it turned"


CURRENT: tuple[Row, ...] = (
    {"v": 3, "name": "n", "price": 1.5},
    {"v": "3", "name": {"first": "n"}, "by": "anna", "why": {"name": "spring"}},
    {"name": [1, {"a": 2}], "at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "by": 7},
    {"v": Int64(3), "": 1, "a.b": 2, "hash": "no hash"},
    {"v": 1, "hash": 5, "name": "x" * SMALL},
    {},
)


@pytest.mark.parametrize("layout", ["plain", "hashed", "embedded", "archive"])
def test_a_current_version_is_the_same_whether_it_is_read_at_once_or_later(
    local: LocalServer, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"at": "at", "author": "by", "reason": "why"} | ({"hash": "hash"} if layout == "hashed" else {})
    statement = stated("db.c", layout, token="_w", **names, **({"archive": "db.past"} if layout == "archive" else {}))
    inside = layout == "embedded"
    for at, row in enumerate(CURRENT):
        marked = {**row, "_w": ObjectId()}
        local.load("db.c", [bson.encode({"_id": at, **({"current": marked, "prev": []} if inside else marked)})])
    local.load("db.c", [bson.encode({"_id": len(CURRENT), "current": 5, "prev": []})])
    with Session.open(local.uri, Profile((statement,))) as session:
        ids = [Value.of(at) for at in range(len(CURRENT) + 1)]
        later = [session.history.version("db.c", id) for id in ids]
        assert [isinstance(each, LazyVersion) for each in later] == [at != 4 for at in range(len(ids))]
        assert not any("read" in vars(each) for each in later)
        assert {each.v for each in later} >= ({None, Value.of(3)} if layout in ("embedded", "archive") else {None})
        assert all(each.content is not None and each.raw is not None and each.current for each in later)
        assert not any("read" in vars(each) for each in later), "what an edit begins from is known"
        read_at_once(monkeypatch)
        at_once = [session.history.version("db.c", id) for id in ids]
    assert not any(isinstance(each, LazyVersion) for each in at_once)
    assert later == at_once
    assert [replace(each) for each in later] == at_once
    assert [each.but(v=None) for each in later] == [each.but(v=None) for each in at_once]
    assert [each.without_content() for each in later] == [each.without_content() for each in at_once]


def test_blame_reads_no_version_but_those_that_it_names(local: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [bson.encode({"docId": "d", "v": v, "name": "n", "price": v // 100}) for v in range(1, 301)]
    local.load("db.things", rows)
    read: list[bytes] = []
    whole = lazy_version.LazyVersion.read.func
    with Session.open(local.uri, Profile((stated("db.things", "versions"),))) as session:
        monkeypatch.setattr(LazyVersion, "read", property(lambda self: (read.append(self.document), whole(self))[1]))
        found = session.history.blame("db.things", ID)
        assert [each.path for each in found] == [("name",), ("price",)]
        assert {bson.decode(each)["v"] for each in read} <= {300, 1}, "the newest tells how many there are"
        assert [each.version.v for each in found] == [Value.of(1), Value.of(300)]
        assert all(each.version.content is each.version.raw is None for each in found)


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("layout", ["versions", "archive"])
@pytest.mark.parametrize("kept", support.every(2, [0, 3000, lazy_version.KEPT]))
def test_blame_names_the_versions_that_it_names_when_all_are_read_at_once(
    local: LocalServer, layout: str, kept: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_version, "KEPT", kept)
    chance, names = random.Random(seed), [f"db.c{n}" for n in range(by_depth(6, 15))]
    for ns in names:
        things, past = history_of(chance, layout)
        for row in (*things, *past):
            row |= {"by": chance.choice(("anna", 7, {"name": "b"})), "price": chance.randrange(3)}
            row |= {"tags": [chance.randrange(3), {"a": 1}], "inner": {"a": chance.randrange(2), "b": "text"}}
            row |= {"hash": chance.choice(("0" * 40, 5))} if chance.random() < 0.2 else {}
        odd = [raw.replace(b"text", b"te\xff\x0c") if chance.random() < 0.1 else raw for raw in map(bson.encode, past)]
        local.load(ns, map(bson.encode, things))
        local.load(f"{ns}_past", odd)
    roles = {"token": "_w", "author": "by", "hash": "hash"}
    place = {"archive": "{}_past"} if layout == "archive" else {}
    profiles = [stated(ns, layout, **roles, **{key: at.format(ns) for key, at in place.items()}) for ns in names]
    with Session.open(local.uri, Profile(tuple(profiles))) as session:
        later = [session.history.blame(ns, ID, inside=inside) for ns in names for inside in (False, True)]
        chains = [session.history.chain(ns, ID) for ns in names]
        read_at_once(monkeypatch)
        assert [session.history.blame(ns, ID, inside=inside) for ns in names for inside in (False, True)] == later
        assert [session.history.chain(ns, ID) for ns in names] == chains
    assert not any(isinstance(each, LazyVersion) for chain in chains for each in chain.versions)
    assert any(isinstance(each.version, LazyVersion) for found in later for each in found) == (kept > 0)


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.usefixtures("each_walk")
@support.table("hash", ["", "hash"])
def test_a_content_alone_is_that_of_the_whole_version_or_fails_as_it_does(hash: str, seed: int) -> None:
    profile = stated("db.c", "versions", token="_w", author="f1", at="f2", reason="a", hash=hash)
    layer = VersionDocuments(cast("Any", None), profile, own_of(profile))
    alone = 0
    for raw in (each for pair in comparing.inputs(seed, by_depth(300, 10_000)) for each in pair):
        alone += layer._lazily.content(raw) is not None
        made = layer._lazily._lazy(raw, True, False, False)
        assert comparing.outcome(lambda made=made: made.content) == comparing.outcome(  # type: ignore[misc]
            lambda raw=raw: layer.made(raw).content  # type: ignore[misc]
        )
    assert alone > 100
