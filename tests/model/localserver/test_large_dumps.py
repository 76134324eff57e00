"""A dump too large for memory is read from disk: its first documents at once, all of them after reading."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest
from bson import Decimal128, Int64, ObjectId
from pymongo.collection import Collection

from model.errors import Cancelled, Refused, Unreadable
from model.localserver import LocalServer, dumps, large_file, mongodump_archive, open_dump
from model.localserver.disk_order import DiskEntries, sorted_on_disk, write_entries
from model.localserver.dump_reading import COMMAND
from tests import support
from tests.hostile import damaged_homes
from tests.model.localserver.local_client import split
from tests.model.localserver.test_dumps_in_part import archive

MIXED: list[Any] = [3, 1.5, Int64(2), Decimal128("2.25"), "b", "a", None, [7, 2], {"x": 1}, True, ObjectId(b"0" * 12)]
ROWS = [
    bson.encode({"_id": i, "docId": f"d{i * 7 % 40}", "v": i // 40, "mixed": MIXED[i % len(MIXED)], "text": "x" * 90})
    for i in range(400)
]
METADATA = """{"indexes": [{"v": 2, "unique": true, "key": {"docId": 1, "v": 1}, "name": "versions"}]}"""


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "IN_MEMORY", 0)
    monkeypatch.setattr(large_file, "HEAD_MOST", 12)
    monkeypatch.setattr(large_file, "CHUNK", 1000)
    monkeypatch.setattr("model.localserver.documents_on_disk.CHUNK", 700)
    monkeypatch.setattr("model.localserver.disk_order.TOGETHER", 30)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "dump" / "shop" / "contracts.bson"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(ROWS))
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def nothing(done: int, total: int) -> None:
    pass


def unread(server: LocalServer) -> list[str]:
    return [each.ns for each in server.store.collections("shop") if each.unread]


def read_on(server: LocalServer, step: Callable[[int, int], None] = nothing) -> None:
    for database in server.store.databases():
        for collection in server.store.collections(database):
            collection.read_on(step)


def troubles(server: LocalServer) -> list[str]:
    return [each.file.trouble for each in server.store.collections("shop") if each.file is not None]


def stop_at(part: float) -> Callable[[int, int], None]:
    def step(done: int, total: int) -> None:
        if done >= part * total:
            raise Cancelled

    return step


def everything(server: LocalServer) -> list[bytes]:
    with pymongo.MongoClient[Any](server.uri) as client:
        return [raw for batch in client.shop.contracts.find_raw_batches() for raw in split(batch)]


def asked(server: LocalServer, ask: Callable[[Collection[Any]], Any]) -> Any:
    with pymongo.MongoClient[Any](server.uri) as client:
        return ask(client.shop.contracts)


@pytest.fixture
def small(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    with monkeypatch.context() as patch:
        patch.setattr(dumps, "IN_MEMORY", 1 << 20)
        server = open_dump(file)
    assert unread(server) == []
    with server:
        yield server


QUERIES: dict[str, Callable[[Collection[Any]], Any]] = {
    "a document": lambda c: list(c.find({"_id": 77})),
    "by id": lambda c: list(c.find().sort("_id", 1)),
    "by id behind one": lambda c: list(c.find({"_id": {"$gt": 100, "$lte": 300}}).sort("_id", 1).limit(20)),
    "by id, the last ones": lambda c: list(c.find().sort("_id", -1).limit(300)),
    "versions": lambda c: list(c.find({"docId": "d21"}).sort([("docId", 1), ("v", -1)])),
    "page": lambda c: list(c.find({}, {"v": 1}).sort([("docId", 1), ("v", 1)]).limit(90)),
    "several": lambda c: list(c.find({"docId": {"$in": ["d1", "d2", "none"]}}).sort("_id", 1)),
    "any types": lambda c: [row["mixed"] for row in c.find().sort([("mixed", 1), ("_id", 1)])],
    "mixed directions": lambda c: [row["_id"] for row in c.find().sort([("docId", -1), ("v", 1)])],
    "an array's field, descending": lambda c: [row["_id"] for row in c.find().sort([("mixed", -1), ("_id", -1)])],
    "filter": lambda c: list(c.find({"mixed": {"$gt": 1}}).limit(30)),
    "natural, backwards": lambda c: list(c.find().sort("$natural", -1).limit(5)),
    "count": lambda c: (c.estimated_document_count(), c.count_documents({"v": 3})),
    "distinct": lambda c: c.distinct("docId"),
    "groups": lambda c: sorted(c.aggregate([{"$group": {"_id": "$v", "n": {"$sum": 1}}}]), key=lambda g: g["_id"]),
    "indexes": lambda c: {name: index["key"] for name, index in c.index_information().items()},
}


@pytest.mark.parametrize("with_index", support.every(2, [True, False]), ids=["index in the metadata", "no index"])
def test_queries_are_answered_as_from_memory(
    file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, with_index: bool
) -> None:
    if with_index:
        (file.parent / "contracts.metadata.json").write_text(METADATA)
    with monkeypatch.context() as patch:
        patch.setattr(dumps, "IN_MEMORY", 1 << 20)
        small = open_dump(file)
    with small, open_dump(file, cache=cache) as large:
        read_on(large)
        for name, ask in QUERIES.items():
            for _ in range(2):  # the second time there may be an index for it
                assert asked(large, ask) == asked(small, ask), name


def test_its_first_documents_are_there_before_it_was_read(file: Path, cache: Path) -> None:
    with open_dump(file, cache=cache) as server:
        assert unread(server) == ["shop.contracts"]
        assert everything(server) == ROWS[:12]
        with pytest.raises(pymongo.errors.ExecutionTimeout):
            asked(server, lambda c: c.estimated_document_count())
        seen: list[tuple[int, int]] = []
        read_on(server, lambda done, total: seen.append((done, total)))
        assert {total for _, total in seen} == {file.stat().st_size}
        assert unread(server) == []
        assert everything(server) == ROWS


def test_reading_goes_on_where_it_was_stopped_also_in_another_process(
    file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in (0.3, 0.6):
        with open_dump(file, cache=cache) as server:
            with pytest.raises(Cancelled):
                read_on(server, stop_at(part))
            assert unread(server), "what was not read is not taken for all"
            assert everything(server) == ROWS[:12]
    seen: list[int] = []
    with open_dump(file, cache=cache) as server:
        read_on(server, lambda done, _: seen.append(done))
        assert seen[0] > 0.5 * file.stat().st_size
        assert everything(server) == ROWS
    with open_dump(file, cache=cache) as server:
        read_on(server, stop_at(0))  # there is nothing left to be stopped
        assert everything(server) == ROWS


def test_what_was_kept_is_not_believed_of_a_file_that_changed(file: Path, cache: Path) -> None:
    with open_dump(file, cache=cache) as server:
        read_on(server)
    before = file.stat()
    other = [bson.encode({**bson.decode(raw), "text": "y" * 90}) for raw in reversed(ROWS)]
    file.write_bytes(b"".join(other))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    with open_dump(file, cache=cache) as server:
        read_on(server)
        assert everything(server) == other
        assert asked(server, lambda c: [row["_id"] for row in c.find().sort("_id", 1)]) == list(range(400))


def test_a_file_that_is_written_to_while_it_is_open_is_said(file: Path, cache: Path) -> None:
    with open_dump(file, cache=cache) as server:
        read_on(server)
        file.write_bytes(b"".join(ROWS[5:]))
        with pytest.raises(pymongo.errors.OperationFailure, match="has changed since it was opened; open it again"):
            everything(server)


def test_notes_that_were_lost_or_cut_are_made_again(file: Path, cache: Path) -> None:
    with open_dump(file, cache=cache) as server:
        read_on(server)
        asked(server, QUERIES["page"])
    (folder,) = cache.iterdir()
    for name in ("places", "noted.json", *(f.name for f in folder.glob("*.places"))):
        os.truncate(folder / name, 10)
        with open_dump(file, cache=cache) as server:
            read_on(server)
            assert everything(server) == ROWS
            assert len(asked(server, QUERIES["page"])) == 90


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes and links of this kind")
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_damaged_file_of_the_cache_costs_itself(
    packed: bool, file: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Damaged marshalled keys could end the process; a pipe would never be opened, and a link written through."""
    monkeypatch.chdir(tmp_path)
    if packed:
        file.write_bytes(gzip.compress(file.read_bytes()))
    with open_dump(file, cache=cache) as server:
        read_on(server)
        asked(server, QUERIES["page"])
    shutil.copytree(cache, tmp_path / "sound")
    rng = random.Random(seed)
    names = sorted(each.name for each in next(cache.iterdir()).iterdir())
    kinds = [*damaged_homes.ANY, *damaged_homes.JSON]
    for _ in range(support.by_depth(12, 150, 30)):
        shutil.rmtree(cache)
        shutil.copytree(tmp_path / "sound", cache)
        name = rng.choice(names)
        damage = rng.choice(kinds if name.endswith(".json") else damaged_homes.ANY)
        damage(next(cache.iterdir()) / name, rng)
        for last in (False, True):
            with open_dump(file, cache=cache) as server:
                read_on(server)
                assert everything(server) == ROWS, (name, damage.__name__)
                try:
                    found = asked(server, QUERIES["page"])
                except pymongo.errors.OperationFailure as refusal:
                    if last or "is damaged and was removed" not in str(refusal):
                        raise
                else:
                    assert len(found) == 90, (name, damage.__name__)


def test_a_cache_that_cannot_be_written_is_done_without(file: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("no folder")
    with open_dump(file, cache=tmp_path / "taken" / "cache") as server:
        read_on(server)
        assert everything(server) == ROWS


def test_a_packed_file_is_unpacked_on_its_way(file: Path, cache: Path) -> None:
    packed = file.with_name("contracts.bson.gz")
    packed.write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    with open_dump(packed, cache=cache) as server:
        assert everything(server) == ROWS[:12]
        with pytest.raises(Cancelled):
            read_on(server, stop_at(0.5))
        read_on(server)
        assert everything(server) == ROWS
    with open_dump(packed, cache=cache) as server:
        read_on(server, stop_at(0))
        assert asked(server, QUERIES["a document"]) == [bson.decode(ROWS[77])]


@pytest.mark.parametrize(
    ("damage", "said", "left"),
    [
        (lambda data: data[:-50], "is cut off: document 400, which begins at byte", 399),
        (lambda data: data[: len(b"".join(ROWS[:200]))] + b"\xff\xff\xff\x7f" + data, "document 201, at byte", 200),
        (lambda data: data[: len(b"".join(ROWS[:20])) - 1] + b"\x01" + data, "document 20, at byte", 19),
        (lambda data: data[: len(b"".join(ROWS[:300])) + 2], "document 301, which begins at byte", 300),
    ],
    ids=["cut", "no document", "a wrong end", "cut in a length"],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_damage_is_said_with_its_place_and_what_comes_before_it_is_shown(
    file: Path, cache: Path, damage: Callable[[bytes], bytes], said: str, left: int, packed: bool
) -> None:
    data = damage(file.read_bytes())
    file.write_bytes(gzip.compress(data) if packed else data)
    for _ in range(2):  # also out of the cache
        with open_dump(file, cache=cache) as server:
            read_on(server)
            assert everything(server) == ROWS[:left]
            (trouble,) = troubles(server)
            assert said in trouble
            assert f"The {left} documents before that are shown." in trouble


def test_packed_data_that_end_too_early_are_said(file: Path, cache: Path) -> None:
    file.write_bytes(gzip.compress(os.urandom(8) + b"".join(ROWS))[:200])
    with pytest.raises(Unreadable, match="cut off"):
        open_dump(file, cache=cache)
    whole = gzip.compress(b"".join(bson.encode({"_id": i, "data": os.urandom(90)}) for i in range(400)))
    file.write_bytes(whole[: len(whole) // 2])
    with open_dump(file, cache=cache) as server:
        read_on(server)
        assert 150 < len(everything(server)) < 250
        assert "gzip data end too early" in troubles(server)[0]


def test_a_bomb_is_not_unpacked(file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_file, "BOMB_FROM", 20_000)
    monkeypatch.setattr(large_file, "BOMB_TIMES", 3)
    file.write_bytes(gzip.compress(ROWS[0] * 1000))
    with open_dump(file, cache=cache) as server:
        with pytest.raises(Refused, match="unpacks to more than 3 times its size"):
            read_on(server)
        assert unread(server)


def test_a_disk_without_room_is_said(file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_file, "SPARE", 1 << 60)
    file.write_bytes(gzip.compress(file.read_bytes()))
    with open_dump(file, cache=cache) as server, pytest.raises(Refused, match="no room to unpack"):
        read_on(server)


def test_documents_without_an_id_keep_the_one_they_are_given(file: Path, cache: Path) -> None:
    rows = [bson.encode({"n": i}) for i in range(50)]
    file.write_bytes(b"".join(rows))
    with open_dump(file, cache=cache) as server:
        first = asked(server, lambda c: list(c.find()))
        read_on(server)
        found = asked(server, lambda c: list(c.find().sort("_id", 1)))
        assert [row["n"] for row in found] == list(range(50))
        assert found[:12] == first
        assert asked(server, lambda c: c.find_one({"_id": found[30]["_id"]})) == found[30]


def test_the_oldest_folders_of_a_full_cache_are_forgotten(
    file: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model.localserver.dump_cache.KEPT_BYTES", 5000)
    for number in range(4):
        other = tmp_path / f"other{number}.bson"
        other.write_bytes(b"".join(ROWS[number:]))
        with open_dump(other, cache=cache) as server:
            read_on(server)
        for folder in cache.iterdir():
            os.utime(folder, (number, number) if folder.stat().st_mtime > 1000 else None)
    assert len(list(cache.iterdir())) < 4


def test_rows_are_sorted_on_disk_as_in_memory() -> None:
    rows = [(((10, 1, i * 7 % 11), (15, bytes([i % 5]))), i) for i in range(500)]
    assert list(sorted_on_disk(rows, together=7)) == sorted(rows)
    down = sorted(rows, key=lambda row: (row[0][1], row[1]))
    down.sort(key=lambda row: row[0][0], reverse=True)
    assert list(sorted_on_disk(rows, [True, False], together=7)) == down


def test_entries_on_disk_are_cut_as_a_list_is(tmp_path: Path) -> None:
    made = [(((2, 1, n),), n) for n in range(7)]
    written, places = tmp_path / "entries", tmp_path / "places"
    count, unique = write_entries(made, written, places)
    assert (count, unique) == (7, True)
    entries = DiskEntries(written, places, count)
    try:
        for cut in (slice(None), slice(2, 5), slice(-3, None), slice(1, 6, 2), slice(None, None, -1), slice(5, 1, -3)):
            assert entries[cut] == made[cut]
        assert entries[4:4] == entries[9:] == []
        assert (entries[0], entries[-1]) == (made[0], made[-1])
        with pytest.raises(IndexError):
            entries[7]
    finally:
        entries.close()


REPEATED: dict[str, tuple[list[Any], str]] = {
    "ascending": ([1, 2, 2, 3, 5, 5, 5], "the _id 2, and 2 more like it;"),
    "ObjectIds": ([ObjectId(b"%012d" % n) for n in (1, 2, 2, 3)], 'the _id ObjectId("303030303030303030303032");'),
    "in no order": ([9, 4, 7, 4, 1], "the _id 4;"),
    "none": ([9, 4, 7, 1], ""),
}


@support.table("name", REPEATED)
def test_an_id_that_several_documents_have_is_told_once_all_was_read(tmp_path: Path, name: str) -> None:
    ids, said = REPEATED[name]
    path = tmp_path / "things.bson"
    path.write_bytes(b"".join(bson.encode({"_id": id, "n": n}) for n, id in enumerate(ids)))
    for _ in range(2):  # the second time from the notes
        with open_dump(path, cache=tmp_path / "cache") as server, pymongo.MongoClient[Any](server.uri) as client:
            database = server.store.databases()[0]
            for collection in server.store.collections(database):
                collection.read_on(nothing)
            told = client.admin.command(COMMAND, do="look")["troubles"]
            assert [each.partition("documents with ")[2].partition(" its list")[0] for each in told] == [said] * bool(
                said
            )


def archived(tmp_path: Path, packed: bool = False) -> Path:
    """An archive in which blocks of two collections take turns."""
    blocks = [("shop", "contracts", ROWS[n : n + 7]) for n in range(0, 400, 7)]
    others = [("shop", "notes", [bson.encode({"_id": n})]) for n in range(len(blocks))]
    data = archive(
        *(each for pair in zip(blocks, others, strict=True) for each in pair), contracts=METADATA, notes="{}"
    )
    path = tmp_path / "all.archive"
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


@support.table("packed", [False, True])
def test_a_large_archive_is_sorted_into_files_and_read_from_these(tmp_path: Path, cache: Path, packed: bool) -> None:
    path = archived(tmp_path, packed)
    for again in (False, True):
        if again:  # its files are there already
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(mongodump_archive, "_fill", None)
                server = open_dump(path, cache=cache)
        else:
            server = open_dump(path, cache=cache)
        with server:
            assert sorted(unread(server)) == ["shop.contracts", "shop.notes"]
            read_on(server)
            assert everything(server) == ROWS
            assert asked(server, lambda c: len(list(c.database.notes.find()))) == 58
            assert asked(server, lambda c: c.index_information()["versions"]["unique"])


def test_a_large_archive_without_a_cache_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    with open_dump(archived(tmp_path)) as server:
        read_on(server)
        assert everything(server) == ROWS
    assert not [each for each in (tmp_path / "temporary").iterdir() if each.name.startswith("palimpsest-")]


def test_a_large_archive_that_is_cut_off_shows_what_comes_before(tmp_path: Path, cache: Path) -> None:
    path = archived(tmp_path)
    path.write_bytes(path.read_bytes()[:-9000])
    for _ in range(2):
        with open_dump(path, cache=cache) as server, pymongo.MongoClient[Any](server.uri) as client:
            read_on(server)
            found = everything(server)
            assert found == ROWS[: len(found)]
            assert 200 < len(found) < 400
            assert "is cut off or damaged" in str(client.admin.command(COMMAND, do="look")["troubles"])


def test_an_archive_is_refused_where_there_is_no_room_or_no_end(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(mongodump_archive, "SPARE", 1 << 60)
        with pytest.raises(Refused, match="no room to sort"):
            open_dump(archived(tmp_path), cache=cache)
    with monkeypatch.context() as patch:
        patch.setattr(large_file, "BOMB_FROM", 1000)
        patch.setattr(large_file, "BOMB_TIMES", 2)
        with pytest.raises(Refused, match="as no dump does"):
            open_dump(archived(tmp_path, packed=True), cache=cache)
    with monkeypatch.context() as patch:
        patch.setattr(mongodump_archive, "MOST", 1000)
        with pytest.raises(Refused, match="do not fit into memory; open it without --into-memory"):
            open_dump(archived(tmp_path), writable=True)
