"""Every dump opens: an unreadable part is left out, and a sentence says so."""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest

from model.errors import Refused, Unreadable
from model.localserver import dumps, open_dump
from model.session import Session
from model.values import canonical
from tests import support

ORDERS = [bson.encode({"_id": i, "n": i}) for i in range(3)]
BYTES = b"".join(ORDERS)


def seen(path: Path) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """The documents of every collection that a session lists, and all that it tells of the dump."""
    with Session.open(str(path)) as session:
        listed, told = [info.ns.split(".", 1) for info in session.catalogue.collections()], session.dump.troubles
    with open_dump(path) as server, pymongo.MongoClient(server.uri) as client:
        return {f"{db}.{name}": list(client[db][name].find()) for db, name in listed}, " ".join(told)


def folder(tmp_path: Path, **files: bytes | str) -> Path:
    """A dump of one database, shop, with these files; a name's double underscore is its dot."""
    place = tmp_path / "dump" / "shop"
    place.mkdir(parents=True)
    for name, data in files.items():
        path = place / name.replace("__", ".")
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return tmp_path / "dump"


def index(key: str, more: str = "") -> str:
    return f'{{"options": {{}}, "indexes": [{{"v": 1, "key": {{"a": {key}}}, "name": "a_1"{more}}}]}}'


METADATA = {
    "true": (index("true"), "index a_1 of shop.orders is left out"),
    "zero": (index("0"), "index a_1 of shop.orders is left out"),
    "null": (index("null"), "index a_1 of shop.orders is left out"),
    "object": (index("{}"), "index a_1 of shop.orders is left out"),
    "infinite": (index("NaN"), "index a_1 of shop.orders is left out"),
    "filter": (index("1", ', "partialFilterExpression": {"$no": 1}'), "index a_1 of shop.orders is left out"),
    "number": ('{"indexes": [5]}', "Index 1 of shop.orders is left out"),
    "without a key": ('{"indexes": [{"name": "b"}]}', "index b of shop.orders is left out"),
    "empty": ("", "so orders is shown without its indexes"),
    "half": ("{", "so orders is shown without its indexes"),
    "list": ("[]", "so orders is shown without its indexes"),
    "noise": ("\0\1\2", "so orders is shown without its indexes"),
    "not a number": ('{"options": {"a": NaN}, "indexes": []}', ""),
    "of a shell": ("{options: {}, indexes: [{key: {a: NumberInt(1)}, name: 'a_1'}]}", ""),
    "odd": ('{"options": 5, "indexes": 7, "collectionName": 8}', ""),
}


@support.table("name", METADATA)
def test_metadata_that_make_no_sense_cost_themselves_alone(tmp_path: Path, name: str) -> None:
    written, said = METADATA[name]
    dump = folder(tmp_path, orders__bson=BYTES, orders__metadata__json=written, other__bson=ORDERS[0])
    found, told = seen(dump)
    assert {ns: len(rows) for ns, rows in found.items()} == {"shop.orders": 3, "shop.other": 1}
    assert said in told
    assert bool(told) == bool(said)


def test_a_sound_index_beside_a_legacy_one_is_kept(tmp_path: Path) -> None:
    both = '{"indexes": [{"key": {"a": true}, "name": "a"}, {"key": {"n": 1}, "name": "n", "unique": true}]}'
    dump = folder(tmp_path, orders__bson=BYTES, orders__metadata__json=both)
    with open_dump(dump) as server, pymongo.MongoClient(server.uri) as client:
        assert set(client.shop.orders.index_information()) == {"_id_", "n"}


FILES: dict[str, tuple[bytes, int, str]] = {
    "cut.bson": (BYTES[:-5], 2, "document 3, which begins at byte"),
    "cut.bson.gz": (gzip.compress(bytes(BYTES) * 20_000, 1)[:-200], 1, "the documents before that"),
    "shifted.bson": (BYTES + b"\xff" * 9, 3, "document 4, at byte"),
    "line.json": (b'{"_id": 1}\n{"_id": }\n{"_id": 3}', 2, "Line 2 of "),
    "first line.json": (b'{"_id": }\n{"_id": 2}\n{"_id": 3}', 2, "The document at line 1 of "),
    "two lines.json": (b'{"_id": 1}\n{"_id": }\nx\n{"_id": 3}', 2, "2 cannot be read in all"),
    "latin line.json": (b'{"_id": 1}\n{"_id": "\xe4"}\n{"_id": 3}', 2, "Line 2 of "),
    "first latin line.json": (b'{"_id": "\xe4"}\n{"_id": "\xc3\xa4"}\n{"_id": 3}', 2, "Line 1 of "),
    "array.json": (b'[{"_id": 1},\n {"_id": },\n {"_id": 3}]', 2, "The document at line 2 of "),
    "deep array.json": (b'[\n {\n  "_id": 1\n },\n {\n  "_id": [{]\n },\n {\n  "_id": 3\n }\n]', 2, "at line 5 of "),
    "cut array.json": (b'[{"_id": 1},\n {"_id": 2', 1, "begins in line 2 does not end"),
    "wide.json": (b'{\n"a": 1\n}\n{\n"a": x\n}\n{"a": 3}', 2, "Line 5, column 6"),
    "twice.bson": (BYTES + ORDERS[1], 4, "several documents with the _id 1;"),
    "thrice.bson": (BYTES * 2, 6, "with the _id 0, and 2 more like it;"),
}


@support.table("name", FILES)
def test_what_cannot_be_read_costs_itself_and_not_the_file(tmp_path: Path, name: str) -> None:
    data, count, said = FILES[name]
    path = tmp_path / name
    path.write_bytes(data)
    (found,), told = seen(path)[0].values(), seen(path)[1]
    assert len(found) == count or count < len(found) < 60_000
    assert said in told
    assert path.read_bytes() == data


def test_a_broken_file_of_a_folder_costs_itself(tmp_path: Path) -> None:
    dump = folder(tmp_path, noise__bson=b"noise of no use", orders__bson=BYTES)
    found, told = seen(dump)
    assert list(found) == ["shop.orders"]
    assert "noise.bson is not BSON" in told
    (dump / "shop" / "orders.bson").unlink()
    with pytest.raises(Unreadable, match=r"noise\.bson is not BSON"):
        open_dump(dump)


OWN = ["admin.system.users", "local.oplog.rs", "config.chunks", "shop.system.js", "shop.oplog"]


@support.table("ns", OWN)
def test_what_a_server_kept_for_itself_is_listed_marked_and_only_read(tmp_path: Path, ns: str) -> None:
    db, _, name = ns.partition(".")
    (tmp_path / "dump" / db).mkdir(parents=True)
    (tmp_path / "dump" / db / f"{name}.bson").write_bytes(BYTES)
    with Session.open(str(tmp_path / "dump"), into_memory=True) as session:
        (info,) = session.catalogue.collections()
        assert (info.ns, info.layout) == (ns, "plain")
        assert info.why.startswith("Kept by the MongoDB server for itself")
        outcome = session.edit(ns, canonical.Value.of(1), {"n": 5})
        assert outcome.kind == "refused"
    with open_dump(tmp_path / "dump", writable=True) as server, pymongo.MongoClient(server.uri) as client:
        assert client[db][name].count_documents({}) == 3
        with pytest.raises(pymongo.errors.OperationFailure) as caught:
            client[db][name].delete_many({})
        assert "belongs to the server" in str(caught.value)


def bucket(**columns: list[Any]) -> bytes:
    data = {name: {str(i): v for i, v in enumerate(rows) if v is not None} for name, rows in columns.items()}
    return bson.encode({"_id": bson.ObjectId(), "control": {"version": 1}, "meta": {"device": 7}, "data": data})


TIMES = [dt.datetime(2024, 9, 1, 10, minute, tzinfo=dt.UTC) for minute in range(3)]
SERIES = json.dumps({"options": {"timeseries": {"timeField": "ts", "metaField": "meta"}}, "indexes": []})


ROWS = [
    [("ts", TIMES[0].replace(tzinfo=None)), ("meta", {"device": 7}), ("_id", 1), ("c", 5)],
    [("ts", TIMES[1].replace(tzinfo=None)), ("meta", {"device": 7}), ("_id", 2)],
    [("ts", TIMES[2].replace(tzinfo=None)), ("meta", {"device": 7}), ("_id", 3), ("c", 6)],
]


def compressed(**columns: str) -> bytes:
    """A bucket as servers from 5.2 on write it, with its columns in Base64."""
    data = {name: bson.Binary(base64.b64decode(column), 7) for name, column in columns.items()}
    return bson.encode({"_id": bson.ObjectId(), "control": {"version": 2}, "meta": {"device": 8}, "data": data})


FIVE = compressed(
    data="AgACAAAAYQCBLAAAAgAgAADOPwwAAAAAAAA=",
    ts="CQDpOGDCmwEAAICLLuFtJFWCTwA=",
    _id="BwBpaQ5kKmiNEQMoTQyAK2AAEPwXANQA",
)
"""A bucket that a server wrote, from the tests of MongoDB."""
LETTERS = [("a", 24.585), ("b", 27.005), ("c", 31.183), ("d", 32.636), ("bb", 29.0)]


def test_a_time_series_is_shown_as_its_measurements_and_its_buckets(tmp_path: Path) -> None:
    one = bucket(_id=[1, 2], ts=TIMES[:2], c=[5, None])
    two = bucket(_id=[3], ts=TIMES[2:], c=[6])
    broken = compressed(ts="CQDpOGDCmwEAAICLLuFtJFWC")
    parts = one + broken + two + FIVE
    dump = folder(tmp_path, **{"system.buckets.temps.bson": parts, "temps.metadata.json": SERIES})
    found, told = seen(dump)
    assert [list(row.items()) for row in found["shop.temps"][:3]] == ROWS
    assert [(row["data"], row["ts"].second + row["ts"].microsecond / 1e6) for row in found["shop.temps"][3:]] == LETTERS
    assert all(list(row) == ["ts", "meta", "data", "_id"] for row in found["shop.temps"][3:])
    assert len(found["shop.system.buckets.temps"]) == 4
    assert "in unreadable buckets of shop.temps (1) are left out" in told


@pytest.mark.parametrize("name", ["buckets", "gzipped", "archive"])
def test_the_measurements_of_large_files_are_read_from_disk(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, broken = bucket(_id=[1, 2], ts=TIMES[:2], c=[5, None]), compressed(ts="CQDpOGDCmwEAAICLLuFtJFWC")
    parts = [one, broken, bucket(_id=[3], ts=TIMES[2:], c=[6]), FIVE]
    monkeypatch.setattr(dumps, "IN_MEMORY", 100)
    if name == "archive":
        (tmp_path / "d").mkdir()
        dump = tmp_path / "d" / "all.archive"
        dump.write_bytes(archive(("shop", "system.buckets.temps", parts), temps=SERIES))
    else:
        whole = b"".join(parts)
        files = {"temps.metadata.json": SERIES}
        packed = name == "gzipped"
        files |= {f"system.buckets.temps.bson{'.gz' if packed else ''}": gzip.compress(whole) if packed else whole}
        dump = folder(tmp_path, **files)
    for _ in range(2):  # the second time from the cache
        with Session.open(str(dump), home=tmp_path / "home") as session:
            session.dump.read_on()
            rows = [bson.decode(raw) for raw in session.catalogue._port.find("shop.temps")]
            assert [list(row.items()) for row in rows[:3]] == ROWS
            assert [row["data"] for row in rows[3:]] == [letter for letter, _ in LETTERS]
            assert len(list(session.catalogue._port.find("shop.system.buckets.temps"))) == 4
            assert any("unreadable buckets of shop.temps (1)" in each for each in session.dump.troubles)


END = b"\xff\xff\xff\xff"


def archive(*blocks: tuple[str, str, list[bytes]], **metadata: str) -> bytes:
    """An archive as ``mongodump --archive`` writes it, with these blocks."""
    out = b"\x6d\xe2\x99\x81" + bson.encode({"concurrent_collections": 4, "version": "0.1", "server_version": "7.0.0"})
    for name, written in metadata.items():
        out += bson.encode({"db": "shop", "collection": name, "metadata": written, "size": 0, "type": "collection"})
    out += END
    for db, name, rows in blocks:
        out += bson.encode({"db": db, "collection": name, "EOF": not rows, "CRC": 0}) + b"".join(rows) + END
    return out


ARCHIVE = archive(
    ("shop", "orders", ORDERS[:2]),
    ("shop", "things", ORDERS[:1]),
    ("shop", "orders", ORDERS[2:]),
    ("shop", "things", []),
    ("shop", "orders", []),
    orders='{"indexes": [{"key": {"n": 1}, "name": "n_1", "unique": true}, {"key": {"a": true}, "name": "a"}]}',
    things="",
    empty="{}",
)


@support.table("packed", [False, True])
def test_an_archive_of_mongodump_is_read_where_it_lies(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "all.archive"
    path.write_bytes(gzip.compress(ARCHIVE) if packed else ARCHIVE)
    found, told = seen(path)
    assert {ns: len(rows) for ns, rows in found.items()} == {"shop.orders": 3, "shop.things": 1, "shop.empty": 0}
    assert "index a of shop.orders is left out" in told
    with open_dump(path) as server, pymongo.MongoClient(server.uri) as client:
        assert client.shop.orders.index_information()["n_1"]["unique"]


def test_an_archive_that_is_cut_off_shows_what_comes_before(tmp_path: Path) -> None:
    path = tmp_path / "all.archive"
    path.write_bytes(ARCHIVE[:-150])
    found, told = seen(path)
    assert len(found["shop.orders"]) >= 2
    assert "it ends" in told
    path.write_bytes(ARCHIVE[:9])
    with pytest.raises(Unreadable, match="not a whole archive"):
        open_dump(path)


def test_other_archives_are_named_in_the_refusal(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "dump.zip", "w") as archive:
        archive.writestr("shop/orders.bson", BYTES)
    with tarfile.open(tmp_path / "dump.tgz", "w:gz") as packed:
        packed.addfile(tarfile.TarInfo("shop/orders.bson"), io.BytesIO())
    for name, kind in (("dump.zip", "a zip archive"), ("dump.tgz", "a tar archive")):
        with pytest.raises(Refused, match=f"{name} is {kind}; unpack it"):
            open_dump(tmp_path / name)
