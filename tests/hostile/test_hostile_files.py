"""Files made to do harm: nested or unpacked without end, or of wrong types; each is answered with one sentence."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import sqlite3
import struct
import sys
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import bson
import pytest

from model.commands import command_line
from model.errors import Refused, Unreachable
from model.foundation.records import Outcome
from model.server.server import Server
from model.text import file_documents
from model.userdata import packed_document
from model.userdata.connections import Connections
from model.userdata.drafts import Drafts
from model.userdata.journal import Intent, Journal
from tests import support
from tests.blackpipe.pipe import BlackPipe, Plan

DEEP = 100_000
HOSTILE = {
    "deep": "[" * DEEP + "]" * DEEP,
    "deep objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "long number": '{"form": ' + "9" * 100_000 + "}",
    "infinite": '{"palimpsest": "repair plan", "form": 1e999}',
    "wrong type": '{"palimpsest": "repair plan", "form": 1, "items": 7, "plan": [], "source": {}, "made": 0}',
    "nul": '{"palimpsest": "repair plan\\u0000"}',
    "raw nul": "\0" * 100,
    "half character": '{"palimpsest": "\\ud800"}',
    "nothing": "",
    "null": "null",
}
TOML = {
    "deep": "a = " + "[" * DEEP + "]" * DEEP,
    "deep tables": "a = " + "{a = " * 5_000 + "1" + "}" * 5_000,
    "long name": ".".join(["a"] * 20_000) + " = 1",
    "long number": "a = " + "9" * 100_000,
    "wrong type": "collection = 7",
    "wrong types": "[[collection]]\nns = []\nlayout = {}",
    "nul": "a = '\0'",
}
Sentence = Callable[..., str]


@pytest.fixture
def sentence(capsys: pytest.CaptureFixture[str]) -> Sentence:
    """Run a command that must end in one sentence."""

    def called(*argv: str) -> str:
        status = command_line.main(list(argv))
        out, err = capsys.readouterr()
        assert (status, out) == (2, ""), (out[:300], err[:300])
        assert err.count("\n") == 1, err[:1000]
        assert "defect" not in err, err[:1000]
        return err

    return called


@pytest.mark.parametrize("written", HOSTILE.values(), ids=HOSTILE)
def test_a_plan_is_a_sentence(written: str, tmp_path: Path, sentence: Sentence) -> None:
    path = tmp_path / "plan.json"
    path.write_text(written, "utf-8")
    assert len(sentence("repair", "sample:", "--plan", str(path))) < 2_000
    assert len(sentence("revert", "sample:", "insurance.contracts", "--plan", str(path), "--apply")) < 2_000


@pytest.mark.parametrize("written", support.every(3, TOML.values(), in_slice=True), ids=TOML)
def test_a_profile_is_a_sentence(written: str, tmp_path: Path, sentence: Sentence) -> None:
    path = tmp_path / "layouts.toml"
    path.write_text(written, "utf-8")
    assert len(sentence("collections", "sample:", "--profile", str(path))) < 2_000


@pytest.mark.parametrize("written", HOSTILE.values(), ids=HOSTILE)
def test_drafts_and_connections_do_without_a_hostile_file(written: str, home: Path) -> None:
    (home / "drafts").mkdir(parents=True)
    (home / "drafts" / f"{'a' * 40}.json").write_text(written, "utf-8")
    (home / "connections.json").write_text(written, "utf-8")
    assert list(Drafts(home).all()) == []
    with contextlib.suppress(Refused):
        assert list(Connections().all()) == []


def test_a_packed_line_without_end_is_not_unpacked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_documents, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "bomb.json.gz"
    with gzip.open(path, "wb", 1) as file:
        for _ in range(64):
            file.write(b" " * (1 << 20))
    with pytest.raises(Refused, match="longer than any document"):
        list(file_documents.documents_of(path))


def test_a_packed_array_without_end_is_not_unpacked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_documents, "LONGEST_TEXT", 1 << 20)
    path = tmp_path / "bomb.json.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"[\n")
        for _ in range(64):
            file.write(b" " * (1 << 20))
    with pytest.raises(Refused, match="a document on each line"):
        list(file_documents.documents_of(path))


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own there")
def test_a_folder_whose_links_lead_in_circles_is_read_once(
    tmp_path: Path, sentence: Sentence, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump"
    (dump / "shop").mkdir(parents=True)
    (dump / "shop" / "things.bson").write_bytes(bson.encode({"_id": 1}))
    for link, to in (("again", dump), ("shop/up", dump), ("shop/loop.bson", "loop.bson"), ("itself", "itself")):
        (dump / link).symlink_to(to)
    assert command_line.main(["collections", str(dump), "--json"]) == 0
    assert [json.loads(line)["ns"] for line in capsys.readouterr().out.splitlines()] == ["shop.things"]
    for wrong in (dump / "itself", dump / "shop" / "loop.bson"):
        assert "is not a source" in sentence("collections", str(wrong))
    assert "holds no history" in sentence("import", str(dump), "sample:", "insurance.x")
    assert "levels of symbolic links" in sentence("import", str(dump / "itself"), "sample:", "insurance.x")


@cache
def bomb(megabytes: int) -> bytes:
    """Few bytes that are so many when they are unpacked."""
    return zlib.compress(bytes(megabytes << 20), 1)


@pytest.mark.parametrize("declared", [64 << 20, 1000])
@pytest.mark.parametrize("compressor", [0, 1, 2, 3, 99], ids=["none", "snappy", "zlib", "zstd", "unknown"])
def test_a_server_that_answers_with_a_packed_bomb_is_a_sentence_and_the_next_answer_is_read(
    compressor: int, declared: int
) -> None:
    """The driver unpacks what was not agreed on, and no more of it than a message may hold, whatever its head says."""

    def packed(reply: bytes, _: random.Random) -> bytes:
        body = struct.pack("<iiB", 2013, declared, compressor) + bomb(64)
        return struct.pack("<i", 16 + len(body)) + reply[4:12] + struct.pack("<i", 2012) + body

    with BlackPipe() as pipe, Server.connect(pipe.uri) as port:
        pipe.load("shop.things", [bson.encode({"_id": 1})])
        pipe.plan = Plan(0, "malformed", 2, shape=packed)
        with pytest.raises(Unreachable, match=r"could not be read|was lost"):
            list(port.find("shop.things"))
        pipe.plan = Plan()
        assert len(list(port.find("shop.things"))) == 1


@pytest.mark.parametrize(
    "kept",
    [
        "bomb",
        b"\1no zlib",
        b"\3\0",
        b"\2\0\0\0\0\0\0\0\0",
        b"",
        b"{" * 300_000,
        b"\xff",
    ],
    ids=["bomb", "no zlib", "cut off", "between nothing", "empty", "deep", "no text"],
)
def test_a_journal_with_a_hostile_document_is_a_sentence(kept: bytes | str, home: Path, sentence: Sentence) -> None:
    if isinstance(kept, str):
        kept = b"\1" + bomb(256)
    journal = Journal(home)
    id = journal.begin(Intent("mongodb://127.0.0.1:9/", "a.b", None, "edit", "plain", b"\5\0\0\0\0", b"\5\0\0\0\0"))
    journal.end(id, Outcome("applied", "a.b", None, ""))
    journal.close()
    with sqlite3.connect(home / "journal.sqlite3") as db:
        db.execute("UPDATE entries SET before = ?, document = ?", (kept, json.dumps({"a": 1})))
    db.close()
    with pytest.raises(Refused):
        packed_document.unpack(kept)
    sentence("undo", id)
