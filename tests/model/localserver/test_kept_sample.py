"""The sample from its file: exactly the bytes that are built, and never those of a damaged file or of other code."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import bson
import pymongo
import pytest

import model
from model.localserver import LocalServer, kept_sample, open_sample, sample
from model.localserver.store import Collection

NOW = 1_760_000_123


Held = dict[str, tuple[list[bytes], list[tuple[object, bool]]]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def built() -> Held:
    """The documents of each collection as they are built, and its indexes."""
    server = LocalServer()
    for ns, indexes, raws in sample.build(NOW):
        server.load(ns, raws)
        for keys, unique in indexes:
            server.index(ns, keys, unique)
    return held(server)


@pytest.fixture(scope="module")
def packed() -> bytes:
    return kept_sample._packed()


@pytest.fixture
def opened(folder: Path, packed: bytes, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], LocalServer]:
    """Opens the sample at ``NOW``; whether it had to be built is as expected."""
    built: list[bytes] = []
    monkeypatch.setattr(time, "time", lambda: float(NOW))
    monkeypatch.setattr(kept_sample, "_packed", lambda: built.append(packed) or packed)

    def open_it(building: bool) -> LocalServer:
        built.clear()
        server = open_sample(folder)
        assert bool(built) == building
        return server

    return open_it


def collections(server: LocalServer) -> Iterator[Collection]:
    return (each for name in server.store.databases() for each in server.store.collections(name))


def held(server: LocalServer) -> Held:
    return {
        each.ns: (list(each.docs.values()), [(index.keys, index.unique) for index in each.indexes.values()])
        for each in collections(server)
    }


@pytest.mark.deep
@pytest.mark.slice
def test_the_kept_sample_is_the_built_one_byte_for_byte_and_dated_from_its_opening(
    folder: Path, opened: Callable[[bool], LocalServer], built: Held
) -> None:
    assert held(opened(True)) == built
    assert held(opened(False)) == built
    assert os.name == "nt" or [file.stat().st_mode & 0o777 for file in folder.iterdir()] == [0o600]


def test_counts_and_sizes_are_told_before_a_document_is_unpacked(
    opened: Callable[[bool], LocalServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = opened(True)
    with monkeypatch.context() as patch:
        patch.setattr(zlib, "decompress", None)
        told = {each.ns: (each.count, each.size) for each in collections(server)}
    assert told == {each.ns: (len(each.docs), sum(map(len, each.docs.values()))) for each in collections(server)}
    assert told == {each.ns: (each.count, each.size) for each in collections(server)}


def test_a_damaged_file_is_not_read_and_is_written_anew(
    folder: Path, opened: Callable[[bool], LocalServer], packed: bytes
) -> None:
    opened(True)
    (file,) = folder.iterdir()
    assert file.read_bytes() == packed
    flipped = [packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :] for at in (0, 40, len(packed) // 2, -1)]
    for damaged in (b"", packed[:-100], packed + b"\0", *(one[: len(packed)] for one in flipped)):
        file.write_bytes(damaged)
        opened(True)
        assert file.read_bytes() == packed
        opened(False)


def test_other_code_keeps_another_file_and_old_ones_go(
    folder: Path, opened: Callable[[bool], LocalServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(True)
    (first,) = folder.iterdir()
    monkeypatch.setattr(model, "__version__", "0.0.1")
    opened(True)
    assert len(list(folder.iterdir())) == 2
    os.utime(first, (0, 0))
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "changed.py").write_text("x = 1\n")
    monkeypatch.setattr(kept_sample, "__file__", str(tmp_path / "kept_sample.py"))
    opened(True)
    assert len(list(folder.iterdir())) == 2
    assert not first.exists()


def test_without_a_folder_that_can_be_written_the_sample_is_built(
    folder: Path, opened: Callable[[bool], LocalServer], built: Held
) -> None:
    folder.write_text("")
    assert held(opened(True)) == built


@pytest.mark.deep
def test_the_kept_order_of_each_index_is_the_one_that_is_built(opened: Callable[[bool], LocalServer]) -> None:
    kept = 0
    for each in collections(opened(True)):
        for index in each.indexes.values():
            found = each._built(index)
            kept += not isinstance(found, list)
            made = sorted((key, at) for at, raw in each.docs.items() for key in index.keys_of(raw))
            assert list(found) == made, (each.ns, index.name)
            assert not index.multikey or isinstance(found, list)
    assert kept > 30


def test_an_index_is_right_after_documents_came_moved_and_went(opened: Callable[[bool], LocalServer]) -> None:
    collection = opened(True).store.get("insurance", "contracts_history")
    assert collection is not None
    for index in collection.indexes.values():
        assert not isinstance(collection._built(index), list)
    first, second, third = list(collection.docs)[5:8]
    others = [bson.decode(collection.docs[at]) for at in (first, second)]
    collection.insert(bson.encode({"_id": "new", "docId": "A-1", "v": 1}))
    collection.replace(first, bson.encode({**others[0], "docId": "ZZ-1"}))
    collection.replace(second, bson.encode({**others[1], "note": "no key of an index"}))
    collection.remove([third])
    for index in collection.indexes.values():
        made = sorted((key, at) for at, raw in collection.docs.items() for key in index.keys_of(raw))
        assert list(collection._built(index)) == made, index.name


def test_a_look_at_one_document_unpacks_a_few_blocks_and_sorts_nothing(
    opened: Callable[[bool], LocalServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = opened(True)
    unpacked: list[int] = []
    whole = zlib.decompress
    monkeypatch.setattr(zlib, "decompress", lambda data: unpacked.append(len(data)) or whole(data))
    with pymongo.MongoClient(server.uri) as client, server:
        history = client["insurance"]["contracts_history"]
        assert history.count_documents({"docId": "K-204117"}) == 10
        assert history.estimated_document_count() > 8000
        assert len(unpacked) <= 20
        assert len(list(history.find())) > 8000
    assert len(unpacked) > 100
