"""Dumps open as they were written; a damaged one says where, and what to do."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest
from bson import Int64

from model.errors import NotFound, Refused, Unreadable
from model.localserver import LocalServer, open_dump
from tests import support
from tests.model.localserver.local_client import split

ROWS = [bson.encode({"_id": i, "docId": i // 3, "v": i % 3, "n": Int64(i)}) for i in range(9)]
BYTES = b"".join(ROWS)
METADATA = """{"options": {"validationLevel": "off"}, "indexes": [
    {"v": {"$numberInt": "2"}, "key": {"_id": {"$numberInt": "1"}}, "name": "_id_"},
    {"v": {"$numberInt": "2"}, "unique": true, "key": {"docId": {"$numberInt": "1"}, "v": {"$numberDouble": "-1.0"}},
     "name": "versions"}
  ], "uuid": "00", "collectionName": "contracts", "type": "collection"}"""


def contents(server: LocalServer) -> dict[str, list[bytes]]:
    with pymongo.MongoClient(server.uri) as client:
        return {
            f"{db}.{name}": [raw for batch in client[db][name].find_raw_batches() for raw in split(batch)]
            for db in client.list_database_names()
            for name in client[db].list_collection_names()
        }


def opened(path: Path) -> dict[str, list[bytes]]:
    with open_dump(path) as server:
        return contents(server)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    folder = tmp_path / "dump" / "shop"
    folder.mkdir(parents=True)
    (folder / "contracts.bson").write_bytes(BYTES)
    (folder / "contracts.metadata.json").write_text(METADATA)
    (folder / "old.bson.gz").write_bytes(gzip.compress(BYTES))
    (folder / "old.metadata.json.gz").write_bytes(gzip.compress(METADATA.replace("contracts", "old").encode()))
    (folder / "empty.bson").write_bytes(b"")
    return tmp_path / "dump"


def test_a_dumps_root_and_one_databases_folder_open_alike(dump: Path) -> None:
    everything = {"shop.contracts": ROWS, "shop.old": ROWS, "shop.empty": []}
    assert opened(dump) == everything
    assert opened(dump / "shop") == everything


def test_one_file_brings_its_indexes_and_its_databases_name(dump: Path) -> None:
    with open_dump(dump / "shop" / "contracts.bson") as server, pymongo.MongoClient(server.uri) as client:
        assert client.shop.contracts.index_information()["versions"] == {
            "v": 2,
            "key": [("docId", 1), ("v", -1)],
            "unique": True,
        }
    assert opened(dump / "shop" / "old.bson.gz") == {"shop.old": ROWS}


def test_a_dump_is_read_only_unless_it_is_opened_into_memory(dump: Path) -> None:
    before = {path: path.read_bytes() for path in dump.rglob("*") if path.is_file()}
    with open_dump(dump) as server, pymongo.MongoClient(server.uri) as client:
        with pytest.raises(pymongo.errors.OperationFailure) as caught:
            client.shop.contracts.insert_one({})
        assert caught.value.code == 13
    with open_dump(dump, writable=True) as server, pymongo.MongoClient(server.uri) as client:
        client.shop.contracts.delete_many({})
        assert client.shop.contracts.count_documents({}) == 0
    assert {path: path.read_bytes() for path in dump.rglob("*") if path.is_file()} == before


def test_an_index_that_the_documents_contradict_is_no_guarantee_here(dump: Path) -> None:
    (dump / "shop" / "contracts.bson").write_bytes(BYTES + bson.encode({"_id": 99, "docId": 0, "v": 0}))
    with open_dump(dump) as server, pymongo.MongoClient(server.uri) as client:
        assert "unique" not in client.shop.contracts.index_information()["versions"]
        assert client.shop.contracts.count_documents({}) == 10


def test_a_damaged_document_inside_a_whole_file_is_kept(dump: Path) -> None:
    damaged = bytearray(ROWS[4])
    damaged[damaged.index(b"docId") - 1] = 0x02  # now a string with a senseless length
    (dump / "shop" / "contracts.bson").write_bytes(BYTES + bytes(damaged))
    assert opened(dump / "shop" / "contracts.bson")["shop.contracts"] == [*ROWS, bytes(damaged)]


@support.table(
    "name, written, ns",
    [
        ("lines.json", '{"_id": 1, "a": {"$numberLong": "5"}}\n\n{"_id": 2}\n', "home.lines"),
        ("lines.jsonl", '\ufeff{"_id": 1, "a": {"$numberLong": "5"}}\r\n{"_id": 2}', "home.lines"),
        ("shop.contracts.json", '{"_id": 1, "a": {"$numberLong": "5"}}\n{"_id": 2}\n', "shop.contracts"),
        ("array.json", '[{"_id": 1, "a": {"$numberLong": "5"}},\n {"_id": 2}]', "home.array"),
        ("one line.json", '[{"_id": 1, "a": {"$numberLong": "5"}}, {"_id": 2}]', "home.one line"),
        ("wide.json", '{\n "_id": 1,\n "a": {"$numberLong": "5"}\n}\n{\n "_id": 2\n}\n', "home.wide"),
        ("nameless", '{"_id": 1, "a": {"$numberLong": "5"}}\n{"_id": 2}\n', "home.nameless"),
    ],
)
def test_extended_json_opens_a_document_a_line(tmp_path: Path, name: str, written: str, ns: str) -> None:
    path = tmp_path / "home" / name
    path.parent.mkdir()
    path.write_text(written, "utf-8", newline="")
    expected = {ns: [bson.encode({"_id": 1, "a": Int64(5)}), bson.encode({"_id": 2})]}
    assert opened(path) == expected
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert opened(path) == expected


BROKEN: dict[str, tuple[bytes, Any, str]] = {
    "short.bson": (BYTES[:3], Unreadable, "is not BSON"),
    "first.bson": (BYTES[:9], Unreadable, "is not BSON, or is cut off inside its first document"),
    "text.bson": (b"hello world", Unreadable, "is not BSON"),
    "picture.png": (b"\x89PNG\r\n\x1a\n\x00\x00", Unreadable, "is not BSON"),
    "cut.bson.gz": (gzip.compress(BYTES)[:12], Unreadable, "cut off"),
    "mixed.bson.gz": (gzip.compress(BYTES)[:20] + b"\xff" * 40, Unreadable, "gzip"),
    "cut.json": (b'{"a": ', Unreadable, "cut.json is cut off: the document that begins in line 1 does not end"),
    "bad.json": (b'{"a": }\n{a: b}', Unreadable, "line 1 of .*bad.json"),
    "type.json": (b'{"a": {"$oid": "5"}}\n', Unreadable, "type.json"),
    "latin.json": (b'{"a": "\xe9"}\n', Unreadable, "Line 1 .*UTF-8"),
    "scalars.json": (b"[1, 2]", Unreadable, "not a document"),
    "wide.json": (b'{\n"a": [', Unreadable, "begins in line 1 does not end"),
    "x.metadata.json": (b"{}", Refused, "no documents"),
    "archive": (b"\x6d\xe2\x99\x81abc", Unreadable, "archive"),
}


@support.table("name", BROKEN)
def test_a_broken_file_says_what_where_and_what_to_do(tmp_path: Path, name: str) -> None:
    written, kind, expected = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(written)
    with pytest.raises(kind, match=expected) as caught:
        open_dump(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == written


def test_what_is_not_there_or_holds_nothing_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        open_dump(tmp_path / "nothing")
    with pytest.raises(Refused, match=r"no \.bson file"):
        open_dump(tmp_path)


def test_a_file_and_its_packed_twin_are_not_taken_for_one(dump: Path) -> None:
    (dump / "shop" / "contracts.bson.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(Refused, match="twin"):
        open_dump(dump)


def test_odd_names_are_names_and_lead_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "my shop.v2"
    folder.mkdir()
    names = ["a b", "%2E%2E%2Fescape", "$cmd", "_cmd", "fs.files", "ü", "a..b", ".b", "c.%2E"]
    for name in names:
        (folder / f"{name}.bson").write_bytes(ROWS[0])
    found = opened(folder)
    given = {"a b", "_./escape", "_cmd", "_cmd_2", "fs.files", "ü", "a_.b", "c__"}
    assert set(found) == {f"my_shop_v2.{name}" for name in given}, "a hidden file is none of a dump"
    assert all(rows == [ROWS[0]] for rows in found.values())


def test_a_long_name_comes_from_the_metadata(tmp_path: Path) -> None:
    (tmp_path / "long%24hash.bson").write_bytes(BYTES)
    (tmp_path / "long%24hash.metadata.json").write_text('{"collectionName": "the.whole.name", "indexes": []}')
    assert list(opened(tmp_path)) == [f"{tmp_path.name}.the.whole.name"]
