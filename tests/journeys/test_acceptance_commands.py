"""What scripts rely on, command by command: rows and their keys, exit statuses, awkward ids, guards."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import bson
import pymongo.database
import pytest
from bson import Int64, ObjectId
from bson.json_util import CANONICAL_JSON_OPTIONS, loads

from model import text
from model.values import canonical
from tests import support
from tests.journeys.command_support import Run
from tests.model import session_scenes

Db = pymongo.database.Database[dict[str, Any]]
ROOT = support.ROOT


@pytest.fixture
def source(server_uri: str, database: Db) -> str:
    session_scenes.archive(database)
    session_scenes.versions(database)
    return server_uri


# --- ids and versions


@pytest.fixture
def ids(server_uri: str, database: Db) -> list[Any]:
    """Ids of many types, some of which look alike, each in a document that names it."""
    made: list[Any] = [
        1, "1", 3.5, Int64(2**40), "a@b", "a", "x@1", "x", "", " sp ", True, "-5", "é😀", '"quoted"', "{}", "null",
        None,
        bson.SON([("k", 1), ("l", "z")]), ObjectId("64f0a1c29b1e8a0012c4d7aa"), "64f0a1c29b1e8a0012c4d7ab",
        dt.datetime(2024, 1, 1), "z" * 900,
    ]  # fmt: skip
    database["ids"].insert_many([{"_id": id, "name": str(n)} for n, id in enumerate(made)])
    return made


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ('"1"', 1), ('{"$numberInt": "1"}', 0), ("3.5", 2), ("1099511627776", 3), ("a@b", 4), ("a", 5), ("x@1", 6),
        ("", 8), ('""', 8), (" sp ", 9), ('" sp "', 9), ("true", 10), ("null", 16), ("-5", 11), ("é😀", 12),
        ('"\\"quoted\\""', 13),
        ('"{}"', 14), ('"null"', 15), ('{"k": 1, "l": "z"}', 17), ("64f0a1c29b1e8a0012c4d7aa", 18),
        ('{"$oid": "64f0a1c29b1e8a0012c4d7aa"}', 18), ("64f0a1c29b1e8a0012c4d7ab", 19), ("2024-01-01", 20),
        ('{"$date": {"$numberLong": "1704067200000"}}', 20), ("z" * 900, 21),
    ],
)  # fmt: skip
def test_an_id_is_plain_text_or_extended_json(
    run: Run, server_uri: str, database: Db, ids: list[Any], typed: str, wanted: int
) -> None:
    status, out, err = run("show", server_uri, f"{database.name}.ids", typed)
    assert (status, err) == (0, "")
    assert json.loads(out) == {"name": str(wanted)}


@pytest.mark.parametrize("typed", ["1"])
def test_what_may_mean_two_ids_is_answered_with_both_in_forms_that_work(
    run: Run, server_uri: str, database: Db, ids: list[Any], typed: str
) -> None:
    ns = f"{database.name}.ids"
    status, out, err = run("show", server_uri, ns, typed)
    assert (status, out, err.count("\n")) == (2, "", 1)
    ways = err.strip().removesuffix(".").partition("say which: ")[2].split(" or ")
    assert len(ways) == 2
    for way in ways:
        assert run("show", server_uri, ns, way)[0] == 0


@pytest.mark.parametrize("typed", ["1.0", "sp ace", "{}", '{"l": "z", "k": 1}', "9" * 5000, "z" * 100_000, "a@"])
def test_an_id_that_matches_nothing_is_one_short_sentence(run: Run, server_uri: str, database: Db, typed: str) -> None:
    database["ids"].insert_one({"_id": 1})
    status, out, err = run("show", server_uri, f"{database.name}.ids", typed)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert len(err) < 300


def test_a_missing_version_behind_an_at_is_not_taken_for_a_missing_document(
    run: Run, source: str, database: Db
) -> None:
    ns = f"{database.name}.contracts"
    status, _, err = run("show", source, ns, "K-1@3")
    assert (status, "K-1 has no version 3" in err) == (2, True)
    status, _, err = run("show", source, ns, "K-9@3")
    assert (status, "K-9@3" in err) == (2, True)


# --- rows


def test_a_history_row_holds_the_hash_and_the_length_of_what_plain_pymongo_reads(
    run: Run, source: str, database: Db
) -> None:
    _, out, _ = run("history", source, f"{database.name}.claims", "C-1", "--json")
    rows = [loads(line, json_options=CANONICAL_JSON_OPTIONS) for line in out.splitlines()]
    stored = list(database["claims"].find({"docId": "C-1"}).sort("v", -1))
    assert len(rows) == len(stored) == 3
    for row, document in zip(rows, stored, strict=True):
        content = bson.encode({k: w for k, w in document.items() if k not in ("_id", "docId", "v", "_w")})
        assert row["hash"] == hashlib.sha1(content).hexdigest()
        assert (row["v"], row["bytes"], row["stored"]) == (document["v"], len(content), "document")
        assert row["at"].replace(tzinfo=None) == document["_id"].generation_time.replace(tzinfo=None)


def test_rows_are_one_object_a_line_whatever_the_values_hold(run: Run, server_uri: str, database: Db) -> None:
    odd = "line\nbreak\r\u2028\u0085 \x1b[31m \x00 end"
    database["odd"].insert_one({"_id": odd, "v": 1, "text": odd})
    ns = f"{database.name}.odd"
    for command in ("show", "history"):
        status, out, _ = run(command, server_uri, ns, json.dumps(odd), "--json")
        assert (status, out.count("\n")) == (0, 1)
        assert json.loads(out)
    _, out, _ = run("history", server_uri, ns, json.dumps(odd))
    assert "\x1b" not in out
    assert len(out.split("\n")) == 3


# --- editing


def test_an_edit_from_a_base_that_is_gone_is_a_conflict(run: Run, server_uri: str, database: Db) -> None:
    session_scenes.archive(database)
    database["hashes"].insert_one({"_id": 1, "n": 1, "_versioned_id": hashlib.sha1(bson.encode({"n": 1})).hexdigest()})
    old = database["hashes"].find_one({"_id": 1})
    assert old is not None
    hashes = (server_uri, f"{database.name}.hashes", "1", "--layout", "hashed")
    assert run("edit", *hashes, "--base", old["_versioned_id"], "--set", "n=2")[0] == 0
    assert run("edit", *hashes, "--base", old["_versioned_id"], "--set", "n=3")[0] == 1
    now = database["hashes"].find_one({"_id": 1})
    assert now is not None
    assert (now["n"], now["_versioned_id"]) == (2, hashlib.sha1(bson.encode({"n": 2})).hexdigest())
    contracts = (server_uri, f"{database.name}.contracts", "K-1")
    for base in ("3", "1", "77", "nonsense"):  # fallen to retention, earlier, never there, no version at all
        status, out, _ = run("edit", *contracts, "--base", base, "--set", "steps=9", "--json")
        assert (status, json.loads(out)["outcome"]) == (1, "conflict")
    assert run("edit", *contracts, "--base", "v4", "--set", "steps=9")[0] == 0


def test_a_base_for_documents_without_versions_is_refused(run: Run, server_uri: str, database: Db) -> None:
    database["bare"].insert_one({"_id": 1, "n": 1})
    status, _, err = run("edit", server_uri, f"{database.name}.bare", "1", "--base", "1", "--set", "n=2")
    assert (status, "no versions" in err) == (2, True)


@pytest.mark.parametrize(
    "changes",
    [
        ["--set", "steps=1", "--set", "steps=2"],
        ["--set", "steps=1", "--unset", "steps"],
        ["--set", "premium.net=1", "premium={}"],
        ["--set", "tags[0]=1", "--unset", "tags"],
        ["--set", "tags[5]=1"],
        ["--set", "status.inner=1"],
        ["--set", "v=9"],
        ["--set", "=1"],
        ["--set", "k=9223372036854775808"],
        ["--set", 'k={"a": 1, "a": 2}'],
    ],
)
def test_changes_that_contradict_each_other_or_fit_nowhere_change_nothing(
    run: Run, source: str, database: Db, changes: list[str]
) -> None:
    before = database["contracts"].find_one({"_id": "K-1"})
    status, out, err = run("edit", source, f"{database.name}.contracts", "K-1", *changes)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert database["contracts"].find_one({"_id": "K-1"}) == before


# --- from process to process


def program(*argv: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gui", *argv], cwd=ROOT, capture_output=True, text=True, check=False, **options
    )


@pytest.mark.deep
def test_another_process_undoes_what_this_one_wrote(source: str, database: Db, run: Run) -> None:
    ns = f"{database.name}.contracts"
    before = database["contracts"].find_one({"_id": "K-1"})
    assert before is not None
    assert program("edit", source, ns, "K-1", "--set", "steps=77", "--unset", "premium.net").returncode == 0
    entry = json.loads(program("journal", "--json").stdout.splitlines()[0])
    done = program("undo", entry["entry"], "--json")
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (0, "applied"), done.stderr
    after = database["contracts"].find_one({"_id": "K-1"})
    assert after is not None
    own = ("v", "_w")
    assert {k: w for k, w in after.items() if k not in own} == {k: w for k, w in before.items() if k not in own}
    assert after["v"] == before["v"] + 2
    assert [r["v"] for r in database["contracts_history"].find({"docId": "K-1"}).sort("v", 1)] == [1, 2, 4, 5]


def test_what_was_in_memory_cannot_be_undone_later(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "one.bson"
    path.write_bytes(bson.encode({"_id": 1, "n": 1}))
    for words in (("sample:", "insurance.contracts", "K-204117"), (str(path), f"{tmp_path.name}.one", "1")):
        run("edit", *words, "--set", "n=2", *(["--into-memory"] if words[0] != "sample:" else []))
        _, out, _ = run("journal", "--json")
        entry = json.loads(out.splitlines()[0])
        assert (entry["outcome"], entry["undoable"]) == ("applied", False)
        status, _, err = run("undo", entry["entry"])
        assert (status, err.count("\n")) == (2, 1)
    assert path.read_bytes() == bson.encode({"_id": 1, "n": 1})


@pytest.mark.deep
@pytest.mark.skipif(os.name == "nt", reason="other systems have no such locale")
def test_a_locale_that_is_not_utf_8_changes_no_output(tmp_path: Path) -> None:
    path = tmp_path / "häuser.json"
    path.write_text('{"_id": "é😀", "name": "Jörg\\udce9"}\n', encoding="utf-8")
    env = {**os.environ, "LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0"}
    argv = [sys.executable, "-m", "gui", "show", str(path), f"{tmp_path.name}.häuser", "é😀"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"name": "Jörg\udce9"}


def test_a_document_that_does_not_decode_is_listed_and_not_shown_as_something_else(run: Run, tmp_path: Path) -> None:
    good, bad = bson.encode({"_id": 1, "s": "ok"}), bytearray(bson.encode({"_id": 7, "s": "abcdef"}))
    at = bad.index(b"s\0") + 2
    bad[at : at + 4] = b"\xff\xff\xff\x7f"  # a text that would reach far behind the end
    (tmp_path / "bad.bson").write_bytes(good + bytes(bad) + bson.encode({"_id": 2, "s": "ok"}))
    source, ns = str(tmp_path / "bad.bson"), f"{tmp_path.name}.bad"
    status, out, err = run("show", source, ns, "7")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "does not decode" in err
    _, out, _ = run("history", source, ns, "7", "--json")
    assert json.loads(out)["state"] == "damaged"
    status, _, err = run("edit", source, ns, "7", "--set", "n=1", "--into-memory")
    assert (status, err.count("\n")) == (2, 1)
    _, out, _ = run("show", source, ns, "2")
    assert text.from_text(out) == canonical.encode({"s": "ok"})
