"""A scan in parts finds, joined, what the whole scan finds; parts that do not fit are not joined."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest
from bson import ObjectId
from msgspec.structs import replace

from model.errors import Refused
from model.foundation.findings import Finding, Unchecked
from model.localserver import LocalServer
from model.profile import Profile, stated
from model.repair.damage_classes import class_of
from model.scan import parts
from model.scan.division import Division
from model.server.server import Server
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.scan.router import shards_of

PROFILE = Profile(
    (
        stated("shop.things", "versions", token="_w"),
        stated("shop.current", "archive", token="_w", archive="shop.past"),
        stated("shop.hashed", "hashed", hash="h"),
    )
)


def identity(r: random.Random, at: int) -> Any:
    """An id of some type: they do not sort as they are made."""
    return r.choice((at, float(at) + 0.5, f"K-{at:04}", ObjectId(), bson.Int64(at + 10**6)))


def row(r: random.Random, **fields: Any) -> bytes:
    """A stored version, of which some are not sound."""
    raw = bson.encode({"_id": ObjectId(), **fields, "_w": ObjectId(), "name": "n" * r.randrange(5)})
    if r.random() < 0.02:  # text that is no UTF-8, a document that does not decode, two fields of one name
        extra = r.choice((Value(c.STRING, b"\x02\0\0\0\xff\0"), Value(99, b""), None))
        pairs = c.fields(raw)
        return c.document([*pairs, pairs[-1] if extra is None else ("odd", extra)])
    return raw


def filled(r: random.Random, server: LocalServer) -> None:
    """Collections of several layouts with all kinds of damage."""
    things, current, past, hashed = [], [], [], []
    for at in range(120):
        id, top = identity(r, at), r.randrange(1, 5)
        if r.random() < 0.05:
            id = r.choice(([at, "K-0050"], None))
        gone = {r.randrange(1, 5)} if r.random() < 0.1 else set()
        versions = [v for v in range(1, top + 1) if v not in gone] * (2 if r.random() < 0.03 else 1)
        for v in versions:
            named: dict[str, Any] = {} if id is None and r.random() < 0.5 else {"docId": id}
            things.append(row(r, **named, v=v))
        if isinstance(id, list) or id is None:
            continue
        if r.random() > 0.05:
            current.append(bson.encode({"_id": id, "v": top, "_w": ObjectId(), "a": 1}))
        past += [row(r, docId=id, v=v) for v in versions if v < top or r.random() < 0.1]
        hashed.append(bson.encode({"_id": id, "h": f"{at % 50:040}", "a": at}))
    for ns, raws in (("things", things), ("current", current), ("past", past), ("hashed", hashed)):
        server.load(f"shop.{ns}", raws)
    server.index("shop.things", [("docId", 1), ("v", 1)])
    server.index("shop.past", [("docId", 1), ("v", 1)])
    server.load("other.notes", [row(r, text="t") for _ in range(60)])
    recognised = [bson.encode({"_id": ObjectId(), "docId": f"d{at:03}", "v": v}) for at in range(60) for v in (1, 3)]
    server.load("other.recognised", recognised)
    server.index("other.recognised", [("docId", 1), ("v", 1)], unique=True)


@contextmanager
def opened(r: random.Random, home: Path) -> Iterator[Session]:
    with LocalServer() as server:
        filled(r, server)
        with Session.open(server.uri, PROFILE, home=home) as session:
            yield session


@pytest.fixture(autouse=True)
def small_collections_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.scan.DIVIDED", 20)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with opened(random.Random(7), tmp_path) as session:
        yield session


def lines(session: Session, number: int, of: int, places: tuple[str, ...] = ()) -> list[str]:
    return list(parts.rows(session.scans.scan(places).in_part(number, of), number, of, places))


def told(found: list[Finding | Unchecked]) -> list[str]:
    return sorted(f"{plain(each)!r} {getattr(each, 'at', None)}" for each in found)


def plain(each: Finding | Unchecked) -> Finding | Unchecked:
    return replace(each, evidence=(), at=None) if isinstance(each, Finding) else each


@pytest.mark.deep
@pytest.mark.slice
def test_the_parts_joined_are_the_whole_scan_exactly(seed: int, tmp_path: Path) -> None:
    with opened(random.Random(seed), tmp_path) as session:
        whole = session.scans.scan()
        expected = told(list(whole))
        assert len(expected) > 20
        assert any(each.doubt for each in session.scans.scan(["other"]) if isinstance(each, Finding))
        for of in support.by_depth((3,), (1, 2, 3, 7)):
            joined = parts.JoinedScan([(f"{n}", lines(session, n, of)) for n in range(of, 0, -1)], class_of)
            assert told(list(joined)) == expected
            assert (dict(joined.counts), joined.documents) == (whole.summary.counts, whole.summary.documents)
            assert sorted(map(repr, joined.unchecked)) == sorted(map(repr, whole.summary.unchecked))


@pytest.mark.deep
def test_a_large_collection_is_divided_and_the_others_belong_to_one_part_each(session: Session) -> None:
    found = [list(session.scans.scan().in_part(n, 3)) for n in (1, 2, 3)]
    begun = [[each for each in part if isinstance(each, parts.CollectionBegun)] for part in found]
    assert all("shop.things" in {each.ns for each in part} for part in begun)
    assert sum("shop.hashed" in {each.ns for each in part} for part in begun) == 1  # hashes are compared with all
    looked = [sum(each.documents for each in part if isinstance(each, parts.CollectionDone)) for part in found]
    assert min(looked) > max(looked) / 4


@contextmanager
def a_cluster(home: Path, edges: Sequence[tuple[Sequence[object], str]]) -> Iterator[tuple[LocalServer, Session]]:
    """Ninety documents of three versions each, on shards; the third version of each is missing."""
    with LocalServer(shard_keys={}) as cluster:
        rows = [bson.encode({"_id": ObjectId(), "docId": f"d{at:03}", "v": v}) for at in range(90) for v in (1, 2, 4)]
        cluster.load("shop.things", rows)
        cluster.index("shop.things", [("docId", 1), ("v", 1)], unique=True)
        cluster.shard("shop.things", ["docId", "v"] if edges and len(edges[0][0]) > 1 else ["docId"], edges)
        with Session.open(cluster.uri, PROFILE, home=home) as session:
            yield cluster, session


FIRST = "shard 1"
CHUNKS = [([f"d{at:03}"], "abc"[at // 30]) for at in range(1, 90)]


@pytest.mark.parametrize(
    ("edges", "bounds", "second"),
    [
        ([(["d029"], "b"), (["d061"], "c")], ("d029", "d061"), {"b"}),  # near enough
        (CHUNKS, ("d030", "d060"), {"b"}),
        ([(["d003"], "b"), (["d088"], "c")], ("", ""), {"b"}),  # inside of the long one
        ([(["d030", 2], "b"), (["d060", 1], "c")], ("d030", "d060"), {FIRST, "b"}),  # d030 lies on two shards
        ([], ("", ""), {FIRST}),
    ],
    ids=["a chunk for each part", "many chunks", "one long chunk", "a document on two shards", "one chunk"],
)
def test_a_part_ends_where_chunks_meet_and_a_router_asks_their_shards_alone(
    edges: Any, bounds: tuple[str, str], second: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streamed: list[Any] = []
    find = Server.find

    def noted(server: Server, ns: str, *terms: Any, **more: Any) -> Any:
        filter, sort, _, _, limit = (*terms, *[None] * 5)[:5]
        if ns == "shop.things" and sort and not (limit or more.get("limit")):
            streamed.append(filter)
        return find(server, ns, *terms, **more)

    with a_cluster(tmp_path, edges) as (cluster, session):
        found, begun = [], []
        for number in (1, 2, 3):
            with monkeypatch.context() as patched:
                patched.setattr(Server, "find", noted)
                rows = list(session.scans.scan(["shop.things"]).in_part(number, 3))
            found += [each for each in rows if isinstance(each, Finding)]
            begun += [each for each in rows if isinstance(each, parts.CollectionBegun)]
        assert len({each.id for each in found}) == len(found) == 90
        filters = [filter for filter in streamed if filter and "docId" in filter]
        assert len(filters) == 1
        assert shards_of(filters[0], cluster.uri) == second
        assert shards_of(None, cluster.uri) == {FIRST, *(shard for _, shard in edges)}
    met = [each.before.python() for each in begun[:2] if each.before is not None]
    for at, expected in zip(met, bounds, strict=True):
        assert at == expected if expected else "d027" < at < "d064"


@pytest.mark.parametrize("why", ["may not be read", "is hashed", "begins with another field"])
def test_a_shard_key_that_says_nothing_of_the_order_of_ids_leaves_the_positions(why: str, tmp_path: Path) -> None:
    with a_cluster(tmp_path, [(["d043"], "b")]) as (cluster, _), Server.connect(cluster.uri) as server:
        division = Division(server, "shop.things", "docId", 270)
        chunks = division.bounds(2)
        cluster.hides_metadata = why == "may not be read"
        key = {"docId": "hashed"} if why == "is hashed" else {"v": 1, "docId": 1}
        with pymongo.MongoClient[Any](cluster.uri) as client:
            client.config.collections.update_one({}, {"$set": {"key": key}}) if not cluster.hides_metadata else None
        positions = division.bounds(2)
    assert positions is not None
    assert chunks != positions
    assert 43 <= int(str(positions[0].python())[1:]) <= 47


def test_chunks_are_found_on_clusters_before_5_and_under_a_key_that_a_shell_wrote(
    tmp_path: Path,
) -> None:
    with a_cluster(tmp_path, [(["d043"], "b")]) as (cluster, _), Server.connect(cluster.uri) as server:
        with pymongo.MongoClient[Any](cluster.uri) as client:
            client.config.collections.update_one({}, {"$set": {"key": {"docId": 1.0}}})
            client.config.chunks.update_many({}, {"$unset": {"uuid": 1}, "$set": {"ns": "shop.things"}})
        assert Division(server, "shop.things", "docId", 270).bounds(2) == [Value.of("d043")]


@pytest.mark.deep
def test_processes_that_divide_while_others_write_find_the_same_bounds() -> None:
    def bounds(documents: int) -> list[Value] | None:
        with Server.connect(local.uri) as server:
            return Division(server, "shop.things", "_id", documents).bounds(4)

    r = random.Random(5)
    ids = [f"{r.randrange(16**8):08x}" for _ in range(20_000)]
    with LocalServer() as local:
        local.load("shop.things", [bson.encode({"_id": id}) for id in sorted(set(ids))])
        before = bounds(20_000)
        local.load("shop.things", [bson.encode({"_id": f"{r.randrange(16**8):08x}."}) for _ in range(20)])
        assert bounds(20_020) == before
        assert bounds(19_950) == before
        with pymongo.MongoClient[Any](local.uri) as client:
            things = client.shop.things
            assert before is not None
            sure = [id.python() for id in before]
            gone = [id for id in ids[::1000] if id not in sure]
            assert things.delete_many({"_id": {"$in": gone}}).deleted_count == 20
            by_position = [row["_id"] for row in things.find().sort("_id")][5000]
        assert bounds(20_000) == before
        assert by_position not in sure


def test_parts_that_do_not_fit_are_not_joined(session: Session) -> None:
    a, b, c = ([*lines(session, n, 3)] for n in (1, 2, 3))
    other_bounds = [each.replace('"since": "', '"since": "1') if '"shop.things"' in each else each for each in b]
    assert other_bounds != b
    cases: list[tuple[list[list[str]], str]] = [
        ([a, b], "There have to be the parts 1 to 3"),
        ([a, b, b], "There have to be the parts 1 to 3"),
        ([a, b, c[:-1]], "breaks off before its end"),
        ([a, b, ["{}", "{}"]], "is not a part of a scan"),
        ([a, b, ["[" * 50_000]], "is not a part of a scan"),
        ([a, b, ['{"part": 1e999, "of": 3, "places": []}', '{"end": 1e999}']], "is not a part of a scan"),
        ([a, [each for each in b if "shop.things" not in each], c], "divided in different ways"),
        ([a, [b[0].replace('"of": 3', '"of": 4'), *b[1:]], c], "different scans"),
        ([a, other_bounds, c], "divided in different ways|is not a part of a scan"),
    ]
    for each, why in cases:
        with pytest.raises(Refused, match=why):
            parts.JoinedScan([(f"part {n}", some) for n, some in enumerate(each, 1)], class_of)


@support.table("written", ["0/4", "5/4", "1", "a/b", "/", "1/0", "-1/2"])
def test_what_is_no_part_is_refused_with_an_example(written: str) -> None:
    with pytest.raises(Refused, match="write 1/4 for the first of four"):
        parts.part_of(written)
