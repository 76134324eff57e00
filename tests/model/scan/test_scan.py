"""Scans: in order, cut short, stopped and continued, gentle, beside living writers, and what they leave out."""

from __future__ import annotations

import datetime as dt
import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import bson
import pymongo
import pymongo.database
import pytest
from bson import Binary, Decimal128, Int64, MaxKey, MinKey, ObjectId, Timestamp
from bson.raw_bson import RawBSONDocument

from model.catalogue.catalogue import Catalogue
from model.checks.bson_damage import damage_of
from model.checks.external_sort import ExternalSort
from model.checks.ordered_reading import OrderedReading
from model.errors import Cancelled, NotAllowed, NotFound, Refused, Unreadable
from model.foundation.findings import Finding, Unchecked
from model.mql.order import value_key
from model.profile import Profile, stated
from model.repair.damage_classes import class_of
from model.scan import Mark, Scan
from model.server.retry import Server, Terms
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.scanning import scenes
from tests.scanning.support import NOW, RAW, SEEDS, Dice, Scene, opened, scanned, value_bytes

Db = pymongo.database.Database
Key = tuple[str, bytes, tuple[bytes, ...], str | None]


class Faulty(Server):
    """A server that breaks off its answers, or refuses a collection."""

    after = 0  # documents of an answer, then it breaks off
    times = 0  # how often
    left: int | None = None  # documents of all answers; then there are no more
    forbidden = ""
    unsorted = False  # nothing is sorted in time

    def find(self, ns: str, filter: Terms | None = None, *args: Any, **more: Any) -> Iterator[bytes]:
        if ns == self.forbidden:
            raise NotAllowed(f"Not allowed to read {ns}.")
        if self.unsorted and more.get("sort"):
            raise Refused("The server did not answer within 30 s.")
        for count, raw in enumerate(super().find(ns, filter, *args, **more)):
            if self.after and count >= self.after and self.times and not more.get("limit"):
                self.times -= 1
                raise Refused("The cursor is gone.")
            if self.left is not None and not more.get("limit"):
                self.left -= 1
                if self.left < 0:
                    raise Refused("The cursor is gone.")
            yield raw


@pytest.fixture
def faulty(server_uri: str) -> Iterator[Faulty]:
    server = Faulty.connect(server_uri)
    assert isinstance(server, Faulty)
    with server:
        yield server


def keys(found: Sequence[Finding | Unchecked]) -> Counter[Key]:
    return Counter(
        (f.code, b"" if f.id is None else value_bytes(f.id), tuple(map(value_bytes, f.versions)), f.repair)
        for f in found
        if isinstance(f, Finding)
    )


def scene(client: pymongo.MongoClient, database_name: str, name: str, count: int = 40) -> Scene:
    it = scenes.made(name, database_name, SEEDS, 11, count)
    it.fill(client)
    return it


def empty(layout: str, database_name: str) -> Scene:
    """A scene with nothing in it yet."""
    return Scene("empty", database_name, SEEDS, Dice(3), layout, dict(scenes._FIELDS[layout](database_name, SEEDS)))


# --- what is told


@pytest.mark.parametrize(
    ("layout", "made", "v"),
    [
        ("embedded", {"_id": "K", "current": {"v": 3, "a": 1}, "prev": [], "x": 1}, 3),
        ("nested", {"_id": "K", "version": 2, "versions": [], "x": 1}, 2),
        ("hashed", {"_id": "K", "_versioned_id": "ab" * 20, "x": 1}, "ab" * 20),
        ("plain", {"_id": "K", "x": 1}, None),
    ],
)
def test_a_document_that_cannot_be_read_is_named_with_its_version(
    server_uri: str, client: pymongo.MongoClient, database_name: str, layout: str, made: dict[str, Any], v: Any
) -> None:
    raw = c.put(bson.encode(made), ("x",), Value(c.DATE, (253_402_300_800_000).to_bytes(8, "little")))  # year 10000
    client[database_name].get_collection("things", codec_options=RAW).insert_one(RawBSONDocument(raw, RAW))
    profile = Profile((stated(f"{database_name}.things", layout),))
    with Session.open(server_uri, profile=profile) as session:
        found = [each for each in session.scans.scan([database_name]) if isinstance(each, Finding)]
    told = [(each.id, each.versions) for each in found if each.code == "B1"]
    assert told == [(Value.of("K"), () if v is None else (Value.of(v),))]


# --- going on


@pytest.mark.parametrize(
    "name",
    support.some(
        ["A3 archive", "V1 versions by an index", "V1 versions", "H1 hashed", "R1 stream"],
        "A3 archive",
        "V1 versions by an index",
    ),
)
def test_a_scan_whose_cursors_are_lost_finds_the_same(
    name: str, client: pymongo.MongoClient, database_name: str, faulty: Faulty, server_uri: str
) -> None:
    it = scene(client, database_name, name)
    whole = keys(scanned(server_uri, it))
    assert whole
    with opened(server_uri, it) as session:
        layout = session.catalogue.layout(it.ns)
        faulty.after, faulty.times = 9, 6
        reading = OrderedReading(faulty)
        found = list(layout.findings(now=NOW, reading=reading))
        assert not faulty.times
        assert keys(found) == whole
        assert not [each for each in found if isinstance(each, Unchecked)]


@pytest.mark.parametrize("name", ["A3 archive", "V1 versions", "E1 embedded", "T1 pending", "P2 processed"])
def test_what_could_not_be_read_to_its_end_is_said(
    name: str, client: pymongo.MongoClient, database_name: str, faulty: Faulty, server_uri: str
) -> None:
    it = scene(client, database_name, name)
    with opened(server_uri, it) as session:
        catalogue = Catalogue(faulty, faulty, it.profile(), server_uri)
        session.catalogue.info(it.ns)
        faulty.left = 30
        found = list(Scan(catalogue, faulty, class_of, [it.ns], now=NOW))
    said = [each.why for each in found if isinstance(each, Unchecked)]
    assert any("broke off" in why and "The cursor is gone." in why for why in said), said


@pytest.mark.parametrize(
    "name", support.every(5, ["A3 archive", "V1 versions by an index", "V1 versions", "E1 embedded", "H2 hashed"])
)
def test_a_stopped_scan_goes_on_from_its_mark(
    name: str, client: pymongo.MongoClient, database_name: str, server_uri: str
) -> None:
    it = scene(client, database_name, name, 140)
    it.expected.clear()
    with opened(server_uri, it) as session:
        whole = keys(list(session.scans.scan([database_name], now=NOW)))
        for stop in (1, 2):
            steps = 0

            def checkpoint(done: int, total: int | None, stop: int = stop) -> None:
                nonlocal steps
                steps += 1
                if steps == stop:
                    raise Cancelled

            first: list[Finding | Unchecked] = []
            begun = session.scans.scan([database_name], checkpoint=checkpoint, now=NOW)
            with pytest.raises(Cancelled):
                first.extend(begun)
            assert not begun.summary.whole
            mark = Mark.from_text(begun.mark.to_text())
            assert mark == begun.mark
            rest = session.scans.scan([database_name], now=NOW, mark=mark)
            second = list(rest)
            assert rest.summary.whole
            assert set(keys(first)) | set(keys(second)) == set(whole)
        assert begun.summary.documents < sum(map(len, it.stored.values()))


def test_a_mark_lets_a_finished_collection_alone(session_of_two: tuple[Session, str]) -> None:
    session, db = session_of_two
    work = session.scans.scan([db], now=NOW)
    seen = [each.ns for each in work if isinstance(each, Finding)]
    assert set(seen) == {f"{db}.one", f"{db}.two"}
    again = session.scans.scan([db], now=NOW, mark=Mark((f"{db}.one",)))
    assert {each.ns for each in again} == {f"{db}.two"}
    assert list(session.scans.scan([db], now=NOW, mark=work.mark)) == []


@pytest.fixture
def session_of_two(server_uri: str, database: Db, database_name: str) -> Iterator[tuple[Session, str]]:
    for name in ("one", "two"):
        database[name].insert_many(
            [{"docId": f"d{i}", "v": v, "x": i * v} for i in range(20) for v in (1, 2, 4) if (i, v) != (3, 2)]
        )
    with Session.open(server_uri) as session:
        for name in ("one", "two"):
            session.catalogue.set_layout(f"{database_name}.{name}", "versions")
        yield session, database_name


def test_documents_that_a_server_cannot_sort_are_read_in_its_own_order(
    client: pymongo.MongoClient, database_name: str, faulty: Faulty, server_uri: str
) -> None:
    it = scene(client, database_name, "V1 versions", 10)
    faulty.unsorted = True
    with opened(server_uri, it) as session:
        reading = OrderedReading(faulty)
        found = list(session.catalogue.layout(it.ns).findings(now=NOW, reading=reading))
    assert not it.wrong(found)
    assert not reading.in_order
    assert not [each for each in found if isinstance(each, Unchecked)]


def test_what_is_no_mark_is_refused() -> None:
    for written in ("", "{}", '{"done": 3, "ns": "", "after": null}', '{"done": [], "ns": "a", "after": "{"}'):
        with pytest.raises(Unreadable):
            Mark.from_text(written)


@pytest.mark.parametrize("name", ["A1 archive", "C1 flagged", "H2 hashed", "D1 deltas"])
def test_a_gentle_scan_finds_the_same(
    name: str, client: pymongo.MongoClient, database_name: str, server_uri: str
) -> None:
    it = scene(client, database_name, name, 25)
    assert not it.wrong(scanned(server_uri, it, gentle=True))


def test_progress_counts_the_stored_documents_and_knows_how_many_there_are(
    client: pymongo.MongoClient, database_name: str, server_uri: str
) -> None:
    it = scene(client, database_name, "A4 archive", 60)
    told: list[tuple[int, int | None]] = []
    with opened(server_uri, it) as session:
        work = session.scans.scan([database_name], checkpoint=lambda done, total: told.append((done, total)), now=NOW)
        list(work)
    stored = sum(map(len, it.stored.values()))
    assert work.summary.documents == stored
    assert told
    assert {total for _, total in told} == {stored}
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_scan_of_one_document_counts_what_is_stored_of_it() -> None:
    with Session.open("sample:") as session:
        counted = {}
        for name in ("agents", "claims", "customers", "partners", "invoices", "stats"):
            ns = f"insurance.{name}"
            page = session.documents.page(ns, limit=1)
            work = session.scans.scan([ns], [page.rows[0].id])
            list(work)
            counted[name] = work.summary.documents
    assert counted == {"agents": 1, "claims": 6, "customers": 1, "partners": 2, "invoices": 1, "stats": 1}


# --- order


ASTRAL = ["\uffee end", "\U0001f600 smile", "a", "é", "\U00010000", "\ue000 private"]


def test_ids_that_servers_sort_in_their_own_way_are_joined_all_the_same(
    client: pymongo.MongoClient, database_name: str, server_uri: str
) -> None:
    it = empty("archive", database_name)
    it.indexes.append((it.past, [("docId", 1), ("v", 1)]))
    for number, id in enumerate(f"{head}{i}" for head in ASTRAL for i in range(4)):
        scenes.pair(it, id, 3, (2,) if number % 3 == 0 else ())
        if number % 3 == 0:
            it.expect("A4", id, [2])
    it.fill(client)
    assert not it.wrong(scanned(server_uri, it))


def test_equal_numbers_of_other_types_are_other_documents(
    client: pymongo.MongoClient, database_name: str, server_uri: str
) -> None:
    it = empty("versions", database_name)
    it.indexes.append((it.ns, [("docId", 1), ("v", 1)]))
    for number in range(1, 12):
        scenes.life(it, number, (1, 2, 3))
        scenes.life(it, float(number), (1, 3))
        scenes.life(it, Int64(number), (1, 2))
        it.expect("V2", float(number), [2])
    it.fill(client)
    assert not it.wrong(scanned(server_uri, it))


VALUES = [
    MinKey(), None, -5, 0, 3, 3.5, Int64(2**40), Decimal128("7.25"), float("-inf"), float("inf"), "", "a", "ab", "ä",
    {}, {"a": 1},
    {"a": 1, "b": 2}, {"a": "x"}, {"b": 0}, Binary(b""), Binary(b"ab"), Binary(b"b", 4), Binary(b"a" * 20),
    ObjectId("000000000000000000000001"), ObjectId("65f0a1c29b1e8a0012c4d7aa"), False, True,
    dt.datetime(1969, 1, 1), dt.datetime(2026, 1, 1), Timestamp(1, 2), Timestamp(2, 1), MaxKey(),
]  # fmt: skip


def test_the_order_known_here_is_that_of_the_server(local_uri: str) -> None:
    with pymongo.MongoClient(local_uri) as client, Server.connect(local_uri) as server:
        shuffled = random.Random(5).sample(VALUES, len(VALUES))
        client["order"]["c"].insert_many([{"_id": value} for value in shuffled])
        stored = [Value.of(bson.decode(raw)["_id"]) for raw in server.find("order.c", sort={"_id": 1})]
        client.drop_database("order")
    assert stored == sorted(map(Value.of, shuffled), key=value_key)


def test_rows_beyond_what_memory_should_hold_come_back_sorted_and_grouped() -> None:
    dice = random.Random(9)
    rows = [(bytes([dice.randrange(5)]) * dice.randrange(1, 4), (number,)) for number in range(200)]
    expected: dict[bytes, list[tuple[int]]] = {}
    for key, row in rows:
        expected.setdefault(key, []).append(row)
    with ExternalSort(together=7) as spool:
        for key, row in rows:
            spool.add(key, row)
        found = [(key, list(group)) for key, group in spool.groups()]
        runs = list(spool._runs)
    assert [key for key, _ in found] == sorted(expected)
    assert {key: sorted(group) for key, group in found} == expected
    assert len(runs) == 28
    assert all(run.closed for run in runs)


# --- one document


@pytest.mark.parametrize(
    "name",
    support.every(
        2,
        [
            "A3 archive",
            "V2 versions",
            "C1 flagged",
            "E1 embedded",
            "H1 deltas",
            "H2 hashed",
            "T3 pending",
            "P1 processed",
        ],
    ),
)
def test_one_document_is_scanned_as_among_all(
    name: str, client: pymongo.MongoClient, database_name: str, server_uri: str
) -> None:
    it = scene(client, database_name, name, 12)
    with opened(server_uri, it) as session:
        whole = [each for each in session.scans.scan([it.ns], now=NOW) if isinstance(each, Finding)]
        ids = {each.id for each in whole if each.id is not None}
        assert ids
        for id in ids:
            alone = keys(list(session.scans.scan([it.ns], [id], now=NOW)))
            assert alone == keys([each for each in whole if each.id == id])


def test_documents_are_scanned_in_one_collection_at_a_time(session_of_two: tuple[Session, str]) -> None:
    session, db = session_of_two
    with pytest.raises(Refused, match="one collection"):
        session.scans.scan([f"{db}.one", f"{db}.two"], [Value.of("d1")])


# --- what is left out


def test_a_collection_that_may_not_be_read_is_said_and_the_others_are_scanned(
    session_of_two: tuple[Session, str], faulty: Faulty, server_uri: str
) -> None:
    _, db = session_of_two
    faulty.forbidden = f"{db}.one"
    stated = [{"ns": f"{db}.{name}", "layout": "versions"} for name in ("one", "two")]
    profile = Profile.read({"collection": stated}, "")
    found = list(Scan(Catalogue(faulty, faulty, profile, server_uri), faulty, class_of, [db], now=NOW))
    assert {each.ns for each in found if isinstance(each, Finding)} == {f"{db}.two"}
    (left,) = [each for each in found if isinstance(each, Unchecked)]
    assert left.ns == f"{db}.one"
    assert "Not allowed" in left.why


def test_an_archive_that_may_not_be_read_leaves_its_documents_unchecked(
    client: pymongo.MongoClient, database_name: str, faulty: Faulty, server_uri: str
) -> None:
    it = scene(client, database_name, "A3 archive", 5)
    faulty.forbidden = it.past
    found = list(Scan(Catalogue(faulty, faulty, it.profile(), server_uri), faulty, class_of, [it.ns], now=NOW))
    assert [(each.ns, "Not allowed" in each.why) for each in found if isinstance(each, Unchecked)] == [(it.ns, True)]


def test_an_archive_and_the_quarantine_are_not_scanned_as_their_own(
    client: pymongo.MongoClient, database_name: str, server_uri: str
) -> None:
    it = scene(client, database_name, "A3 archive", 6)
    client[database_name]["quarantine"].insert_one({"_id": 1, "from": it.past, "doc": {"v": "3"}})
    with opened(server_uri, it) as session:
        whole = keys(list(session.scans.scan([database_name], now=NOW)))
        assert whole == keys(list(session.scans.scan([it.past], now=NOW)))  # the archive means what it belongs to
        assert {each.ns for each in session.scans.scan([database_name], now=NOW)} == {it.ns}
        with pytest.raises(NotFound):
            list(session.scans.scan([f"{database_name}.nowhere"]))


def test_documents_without_an_id_or_beyond_reading_are_counted(
    client: pymongo.MongoClient, database: Db, database_name: str, server_uri: str
) -> None:
    it = scene(client, database_name, "V2 versions", 4)
    database["things"].insert_many(
        [{"note": "no version of anything"}, {"docId": [1, 2], "v": 1}, {"docId": [1], "v": 1}]
    )
    found = scanned(server_uri, it)
    assert not it.wrong(found)
    said = {each.why for each in found if isinstance(each, Unchecked)}
    assert said == {
        "1 document has no docId, so only the bytes were looked at.",
        "2 documents have an array as docId, so only the bytes were looked at.",
    }


def test_a_counter_of_which_nobody_knows_what_it_counts_is_left_out_and_said(
    database: Db, database_name: str, server_uri: str
) -> None:
    database["counters"].insert_many([{"_id": "invoices", "seq": 2}, {"_id": "letters", "seq": 9}])
    database["invoices"].insert_many([{"_id": ObjectId(), "number": n, "net": 4.5} for n in (1, 2, 3)])
    with Session.open(server_uri) as session:
        found = list(session.scans.scan([database_name]))
    assert [(f.code, f.ns, f.id) for f in found if isinstance(f, Finding)] == [
        ("S1", f"{database_name}.counters", Value.of("invoices"))
    ]
    assert [(u.id, "targets" in u.why) for u in found if isinstance(u, Unchecked)] == [(Value.of("letters"), True)]


# --- what is said


def test_another_order_of_fields_is_kept_apart_from_another_content(
    client: pymongo.MongoClient, database_name: str, server_uri: str
) -> None:
    it = empty("hashed", database_name)
    few = {"b": 1, "a": 2, "c": 3}
    many = {f"field {i}": i for i in range(9, -1, -1)}
    for number in range(5):
        scenes.sealed(it, many | {"field 9": number}, f"sound {number}")
    for id, content in (("few", few), ("many", many | {"field 9": 77})):
        digest = scenes.content_hash(content)
        scenes.sealed(it, {name: content[name] for name in sorted(content)}, f"{id} in another order", digest)
        scenes.sealed(it, content | {"b" if id == "few" else "field 4": -1}, f"{id} of another content", digest)
    it.fill(client)
    found = [each for each in scanned(server_uri, it) if isinstance(each, Finding) and each.code == "H1"]
    said = {each.id.python(): each.detail for each in found if each.id is not None}
    assert said == {
        "few in another order": "hash differs in field order only",
        "many in another order": "hash differs in field order only",
        "few of another content": "hash differs",
        "many of another content": "hash differs",
    }


def test_a_gap_too_long_to_list_is_told_by_its_ends(database: Db, database_name: str, server_uri: str) -> None:
    database["things"].insert_many([{"docId": i, "v": v} for i in range(9) for v in (1, 2, 3)])
    database["things"].insert_one({"docId": "far", "v": 2_000_000_000})
    with Session.open(server_uri) as session:
        session.catalogue.set_layout(f"{database_name}.things", "versions")
        (found,) = [each for each in session.scans.scan([database_name]) if isinstance(each, Finding)]
    assert [v.python() for v in found.versions] == [1, 1_999_999_999]
    assert "v1 to v1999999999 missing" in found.detail


def test_evidence_is_every_stored_document_that_a_finding_rests_on(
    client: pymongo.MongoClient, database_name: str, server_uri: str
) -> None:
    it = scene(client, database_name, "A3 archive", 6)
    found = scanned(server_uri, it)
    assert found
    for each in found:
        assert isinstance(each, Finding)
        where = Counter(evidence.ns for evidence in each.evidence)
        assert where == {it.ns: 1, it.past: len(each.versions)}
        assert {evidence.raw for evidence in each.evidence} <= {*it.stored[it.ns], *it.stored[it.past]}
        assert each.at is not None


@pytest.mark.deep
def test_the_sample_has_what_its_pictures_show() -> None:
    with Session.open("sample:") as session:
        work = session.scans.scan(["insurance"])
        found = [each for each in work if isinstance(each, Finding)]
        counts = Counter(each.code for each in found)
        assert counts == {"A3": 15, "V1": 2, "C1": 1, "H1": 3, "A2": 2, "A4": 3, "V2": 1, "A5": 1, "T1": 2, "A1": 1}
        assert sum(counts.values()) == work.summary.findings == 31
        young = [each for each in found if each.young]
        assert [(each.code, each.id and each.id.python()) for each in young] == [("A3", "K-204203")]


def test_a_document_that_survives_is_not_called_damaged() -> None:
    for value in VALUES:
        assert damage_of(bson.encode({"_id": 1, "x": value, "in": {"list": [value]}})) == ""
    assert damage_of(bson.encode({"a": 1, "in": {"_id": 2, "b": 3}})) == ""


# --- beside living writers


@pytest.mark.deep
def test_a_scan_beside_living_writers_offers_no_repair_of_what_they_are_at(
    client: pymongo.MongoClient, database: Db, database_name: str, server_uri: str
) -> None:
    ns = f"{database_name}.live"
    ids = [f"K-{i}" for i in range(30)]
    database["live"].insert_many([{"_id": id, "v": 1, "_w": ObjectId(), "net": 1} for id in ids])
    database["live_history"].create_index([("docId", 1), ("v", 1)], unique=True)

    def write(seed: int) -> None:
        dice = random.Random(seed)
        with Session.open(server_uri) as writer:
            writer.catalogue.set_layout(ns, "archive")
            layout = writer.catalogue.layout(ns)
            for _ in range(80):
                id = Value.of(dice.choice(ids))
                layout.swap(id, layout.version(id), bson.encode({"net": dice.random()}))

    with Session.open(server_uri) as session:
        session.catalogue.set_layout(ns, "archive")
        threads = [threading.Thread(target=write, args=(seed,)) for seed in (1, 2)]
        for thread in threads:
            thread.start()
        found: list[Finding | Unchecked] = []
        while any(thread.is_alive() for thread in threads):
            found += session.scans.scan([ns])
        for thread in threads:
            thread.join()
        assert [f for f in found if isinstance(f, Finding) and f.repair] == []
        assert {f.code for f in found if isinstance(f, Finding)} <= {"A1"}
        assert database["live_history"].count_documents({}) > 80
        assert not [f for f in session.scans.scan([ns]) if isinstance(f, Finding) and f.code != "A1"]
