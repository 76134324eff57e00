"""The commands as scripts and people call them: rows, exit statuses, one sentence of trouble."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import bson
import pymongo.database
import pytest
from bson import Int64, ObjectId

from model import text
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.journeys.command_support import Rows, Run
from tests.model import session_scenes

Db = pymongo.database.Database
pytestmark = pytest.mark.second_server  # every command, on a server that is not ours


@pytest.fixture
def source(server_uri: str, database: Db) -> str:
    session_scenes.archive(database)
    session_scenes.versions(database)
    session_scenes.plain(database)
    session_scenes.pending(database)
    return server_uri


@pytest.fixture
def ns(source: str, database_name: str) -> str:
    return f"{database_name}.contracts"


def current(database: Db, id: str = "K-1") -> dict[str, Any]:
    found = database["contracts"].find_one({"_id": id})
    assert found is not None
    return found


# --- reading


def test_collections_say_layout_fields_and_grounds(rows: Rows, source: str, database_name: str) -> None:
    status, found = rows("collections", source)
    mine = {row["ns"].partition(".")[2]: row for row in found if row["ns"].startswith(database_name)}
    assert status == 0
    assert mine["contracts"]["layout"] == "archive"
    assert mine["contracts"]["documents"] == 2
    assert 0 < mine["contracts"]["confidence"] <= 1
    assert list(mine["contracts"]) == ["ns", "layout", "fields", "documents", "confidence", "why"]


def test_a_collection_that_fits_two_layouts_says_so(
    run: Run, rows: Rows, source: str, database: Db, database_name: str
) -> None:
    for n in range(10):
        told = {"docId": n, "v": 1, "a": 1, "b": 2, "c": 3}, {"docId": n, "v": 2, "a": 2, "c": 3}
        database["either"].insert_many(told)
    _, found = rows("collections", source)
    (why,) = [row["why"] for row in found if row["ns"] == f"{database_name}.either"]
    assert why.endswith("It fits deltas as well.")
    assert why in run("collections", source)[1]


def test_a_history_is_rows_with_gaps(rows: Rows, source: str, ns: str) -> None:
    status, found = rows("history", source, ns, "K-1")
    assert status == 0
    assert [list(row) for row in found] == [
        ["v", "at", "hash", "bytes", "stored", "current", "state", "author", "reason", "operation", "detail"]
    ] * 4
    assert [(r["v"], r["stored"], r["state"], r["current"]) for r in found] == [
        ({"$numberInt": "4"}, "document", "present", True),
        ({"$numberInt": "3"}, "none", "missing", False),
        ({"$numberInt": "2"}, "archive", "present", False),
        ({"$numberInt": "1"}, "archive", "present", False),
    ]
    content = canonical.encode(session_scenes.contract(4))
    assert (found[0]["hash"], found[0]["bytes"]) == (canonical.hash_of(content), len(content))
    assert list(found[0]["at"]) == ["$date"]
    assert (found[1]["hash"], found[1]["bytes"], found[1]["at"]) == (None, None, None)


def test_people_see_columns(run: Run, source: str, ns: str) -> None:
    status, out, err = run("history", source, ns, "K-1")
    assert (status, err) == (0, "")
    header, *lines = out.splitlines()
    assert header.split()[:3] == ["Version", "Stored", "State"]
    at = header.index("State")
    assert [line[at:].split()[0] for line in lines] == ["present", "missing", "present", "present"]


def test_show_prints_content_that_reads_back_exactly(run: Run, source: str, ns: str) -> None:
    status, out, _ = run("show", source, ns, "K-1")
    assert status == 0
    assert text.from_text(out) == canonical.encode(session_scenes.contract(4))


def test_a_profile_as_it_is_printed_reads_every_hash_as_before(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "layouts.toml"
    file.write_text(run("profile", "sample:")[1], "utf-8")
    for ns, id in (("contracts", "K-204109"), ("contracts", "K-204117"), ("customers", "5fc661629b1e8a0707c40115")):
        plainly, stated = (
            run("history", "sample:", f"insurance.{ns}", id, *how) for how in ([], ["--profile", str(file)])
        )
        assert plainly[0] == 0
        assert stated == plainly


@pytest.mark.parametrize("how", [["K-1@2"], ["K-1@v2"], ["K-1", "--version", "2"], ['"K-1"@2']])
def test_show_takes_a_version_behind_an_at(run: Run, source: str, ns: str, how: list[str]) -> None:
    _, out, _ = run("show", source, ns, *how)
    assert text.from_text(out) == canonical.encode(session_scenes.contract(2, notes="call ahead"))


def test_an_id_may_hold_an_at(run: Run, source: str, database: Db, ns: str, database_name: str) -> None:
    _, out, _ = run("show", source, f"{database_name}.agents", "eva@example.com")
    assert text.from_text(out) == canonical.encode({"name": "Eva", "visits": Int64(3)})
    database["contracts"].insert_one({"_id": "K-2@1", "v": 1, "odd": True})
    _, out, _ = run("show", source, ns, "K-2@1", "--version", "1")
    assert text.from_text(out) == canonical.encode({"odd": True})


def test_show_stored_prints_the_document_as_it_is_stored(run: Run, source: str, database: Db, ns: str) -> None:
    _, out, _ = run("show", source, ns, "K-1", "--stored", "--json")
    assert out.count("\n") == 1
    assert canonical.decode(text.from_text(out)) == current(database)


def test_find_prints_the_current_documents_that_match(run: Run, rows: Rows, source: str, ns: str, database: Db) -> None:
    contents = [{"_id": n, "n": n, "at": dt.datetime(2026, 1, n + 1), "deep": {"a": n, "b": n}} for n in range(3)]
    database["things"].insert_many(contents)
    things = f"{database.name}.things"
    status, out, err = run("find", source, things, "{at: {$gte: ISODate('2026-01-02')}}", "--sort=-n", "--json")
    assert (status, err) == (0, "")
    found = [text.from_text(line) for line in out.splitlines()]
    assert found == [canonical.encode(contents[2]), canonical.encode(contents[1])]
    assert run("find", source, things, '{"n": {"$numberInt": "1"}}')[1] == text.to_text(found[1], 2) + "\n"
    assert rows("find", source, things, "--fields", "deep.a", "--limit", "1")[1] == [
        {"_id": {"$numberInt": "0"}, "deep": {"a": {"$numberInt": "0"}}}
    ]
    (current,) = rows("find", source, ns, "{_id: 'K-1'}")[1]  # the newest version, without its history
    assert current["v"] == {"$numberInt": "4"}
    assert run("find", source, things, "{n: 7}") == (1, "", "")
    for wrong in (("{n: ",), ("{n: {$foo: 1}}",), ("--sort", "{n: 7}"), ("--limit", "0")):
        status, out, err = run("find", source, things, *wrong)
        assert (status, out, err.count("\n")) == (2, "", 1)


@pytest.mark.deep
def test_find_reads_dumps(run: Run, tmp_path: Path) -> None:
    whole = [canonical.encode({"_id": n, "n": n}) for n in range(3)]
    file = tmp_path / "shop" / "orders.bson"
    file.parent.mkdir()
    file.write_bytes(b"".join(whole))
    status, out, _ = run("find", str(file), "shop.orders", "{n: {$lt: 2}}", "--json")
    assert (status, [text.from_text(line) for line in out.splitlines()]) == (0, whole[:2])


def test_diff_between_versions_says_what_changed(run: Run, rows: Rows, source: str, ns: str) -> None:
    status, found = rows("diff", source, ns, "K-1", "1", "2")
    assert status == 1
    assert {"op": "replace", "path": ["status"], "from": "draft", "to": "active"} in found
    status, out, _ = run("diff", source, ns, "K-1", "1", "2")
    assert status == 1
    assert "status" in out
    assert run("diff", source, ns, "K-1", "2", "2") == (0, "", "")


def test_diff_exports_json_patch_and_deepdiff(run: Run, source: str, ns: str) -> None:
    _, out, _ = run("diff", source, ns, "K-1", "1", "2", "--format", "json-patch")
    assert {"op": "replace", "path": "/status", "value": "active"} in json.loads(out)
    status, out, _ = run("diff", source, ns, "K-1", "1", "2", "--format", "deepdiff")
    assert status == 1
    assert "status" in out


def test_diff_speaks_in_words_and_as_a_delta_that_python_applies(run: Run, source: str, ns: str) -> None:
    status, out, _ = run("diff", source, ns, "K-1", "1", "2", "--format", "words")
    assert status == 1
    assert 'status changed from "draft" to "active".' in out
    status, out, _ = run("diff", source, ns, "K-1", "1", "2", "--format", "delta")
    assert status == 1
    there: dict[str, Any] = {}
    exec(out, there)
    _, before, _ = run("show", source, ns, "K-1", "--version", "1", "--json")
    _, after, _ = run("show", source, ns, "K-1", "--version", "2", "--json")
    changed = there["apply"](bson.decode(text.from_text(before)))
    assert bson.encode(changed) == text.from_text(after)


# --- files


def write(folder: Path, **contents: str) -> list[str]:
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")
    return [str(folder / name) for name in contents]


def test_diff_takes_two_files(rows: Rows, tmp_path: Path) -> None:
    a, b = write(tmp_path, a='{"n": 1}', b='{"n": {"$numberLong": "1"}}')
    status, found = rows("diff", a, b)
    one = {"$numberInt": "1"}
    assert (status, found) == (1, [{"op": "retype", "path": ["n"], "from": one, "to": {"$numberLong": "1"}}])
    assert rows("diff", a, a) == (0, [])


def test_diff_by_rules_says_which(run: Run, rows: Rows, source: str, ns: str, database: Db, tmp_path: Path) -> None:
    a, b = write(tmp_path, a='{"n": 1, "l": [1, 2], "seen": 1}', b='{"n": 1.0, "l": [2, 1], "seen": 2}')
    rules = ("--numbers-by-value", "--unordered", "l", "--ignore", "seen")
    said = "Compared by rules: seen left out, l in any order, numbers by value.\n"
    assert run("diff", a, b, *rules) == (0, said, "")
    assert run("diff", a, b, *rules[1:], "--json")[1].count("\n") == 1
    status, out, err = run("diff", a, b, *rules, "--format", "json-patch")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert run("diff", a, b, "--ignore", "a..b")[0] == 2
    database["tagged"].insert_many([{"docId": "T", "v": v, "tags": ["x", "y"][:: 3 - 2 * v]} for v in (1, 2)])
    stated = f'[[collection]]\nns = "{database.name}.tagged"\nlayout = "versions"\nid = "docId"\n'
    profile = tmp_path / "profile.toml"
    profile.write_text(stated)
    versions = ("diff", source, f"{database.name}.tagged", "T", "1", "2", "--profile", str(profile))
    assert rows(*versions)[0] == 1
    profile.write_text(f'{stated}unordered = ["tags"]\n')
    assert rows(*versions) == (0, [])
    assert "tags in any order" in run(*versions)[1]
    assert run(*versions, "--format", "json-patch")[0] == 1  # exact all the same


def test_merge_writes_the_form_of_mine(run: Run, tmp_path: Path) -> None:
    base, mine, theirs = write(
        tmp_path,
        base='{"a": 1, "b": 1}',
        mine='{\n  "a": 2,\n  "b": 1\n}\n',
        theirs='{"a": {"$numberInt": "1"}, "b": {"$numberInt": "9"}}',
    )
    merged = '{\n  "a": 2,\n  "b": 9\n}\n'
    assert run("merge", base, mine, theirs) == (0, merged, "")
    out = tmp_path / "out"
    assert run("merge", base, mine, theirs, "-o", str(out)) == (0, "", "")
    assert out.read_text() == merged


def test_merge_conflicts_are_rows_and_nothing_is_written(run: Run, rows: Rows, tmp_path: Path) -> None:
    base, mine, theirs = write(tmp_path, base='{"a": 1}', mine='{"a": 2}', theirs='{"a": 3}')
    status, (row,) = rows("merge", base, mine, theirs)
    assert status == 1
    assert list(row) == ["path", "base", "mine", "theirs", "kind"]
    assert (row["path"], row["mine"]) == (["a"], {"$numberInt": "2"})
    status, out, _ = run("merge", base, mine, theirs, "-o", str(tmp_path / "out"))
    assert status == 1
    assert "a" in out
    assert not (tmp_path / "out").exists()


def test_a_conflict_of_the_whole_document_has_a_name_too(run: Run, tmp_path: Path) -> None:
    files = write(tmp_path, base='{"a": 1, "b": 2, "c": 3}', m='{"b": 2, "a": 1, "c": 3}', t='{"a": 1, "c": 3, "b": 2}')
    status, out, _ = run("merge", *files)
    assert (status, out.splitlines()[1][:20]) == (1, "the whole document  ")


def test_merge_keeps_bson(run: Run, tmp_path: Path) -> None:
    for name, document in {"base": {"a": 1}, "mine": {"a": 2}, "theirs": {"a": 1, "b": Int64(3)}}.items():
        (tmp_path / f"{name}.bson").write_bytes(canonical.encode(document))
    paths = [str(tmp_path / f"{name}.bson") for name in ("base", "mine", "theirs")]
    assert run("merge", *paths, "-o", str(tmp_path / "out"))[0] == 0
    assert (tmp_path / "out").read_bytes() == canonical.encode({"a": 2, "b": Int64(3)})


def test_elements_are_recognised_by_another_field_where_that_is_named(run: Run, rows: Rows, tmp_path: Path) -> None:
    old, new = '{"l": [{"id": 1, "q": 1}, {"id": 2, "q": 2}]}', '{"l": [{"id": 2, "q": 2}, {"id": 1, "q": 7}]}'
    files = write(tmp_path, old=old, new=new)
    moved = ["move", "replace"]
    assert [row["op"] for row in rows("diff", *files)[1]] == ["remove", "add"]
    assert [row["op"] for row in rows("diff", *files, "--key", "id")[1]] == moved
    added = write(tmp_path, none='{"l": []}', left='{"l": [{"id": 1}]}', right='{"l": [{"id": 2}]}')
    assert run("merge", *added)[0] == 1
    assert run("merge", *added, "--key", "none", "--key", "id") == (0, '{"l": [{"id": 1}, {"id": 2}]}\n', "")

    dump = tmp_path / "dump" / "shop"
    dump.mkdir(parents=True)
    contents = enumerate(map(canonical.decode, map(text.from_text, (old, new))), 1)
    versions = [{"_id": n, "docId": "A", "v": n, **content} for n, content in contents]
    (dump / "lists.bson").write_bytes(b"".join(map(canonical.encode, versions)))
    blame = ("blame", str(dump.parent), "shop.lists", "A", "--layout", "versions")
    where = [["l", i, name] for i in (0, 1) for name in ("id", "q")]
    for key, found in (([], [(["l"], 2)]), (["--key", "id"], list(zip(where, (1, 1, 1, 2), strict=True)))):
        assert [(row["path"], int(row["v"]["$numberInt"])) for row in rows(*blame, *key)[1]] == found
    assert [row["op"] for row in rows("diff", *blame[1:4], "1", "2", *blame[4:], "--key", "id")[1]] == [
        "move",
        "replace",
    ]


# --- writing


def test_edit_is_one_guarded_write(rows: Rows, source: str, database: Db, ns: str) -> None:
    status, (row,) = rows(
        "edit", source, ns, "K-1", "--base", "4", "--set", 'status="cancelled"', "premium.net=1.5", "--unset", "tags"
    )
    assert status == 0
    assert (row["outcome"], row["ns"], row["id"]) == ("applied", ns, "K-1")
    assert list(row) == ["outcome", "ns", "id", "detail"]
    after = current(database)
    assert (after["status"], after["premium"]["net"], after["v"]) == ("cancelled", 1.5, 5)
    assert "tags" not in after


def test_edit_of_another_base_is_a_conflict(rows: Rows, source: str, database: Db, ns: str) -> None:
    status, (row,) = rows("edit", source, ns, "K-1", "--base", "2", "--set", "steps=9")
    assert (status, row["outcome"]) == (1, "conflict")
    assert current(database)["v"] == 4


def test_edit_that_changes_nothing_says_so(rows: Rows, source: str, database: Db, ns: str) -> None:
    status, (row,) = rows("edit", source, ns, "K-1", "--set", 'status="active"')
    assert (status, row["outcome"]) == (0, "skipped")
    assert current(database)["v"] == 4


def test_edit_sets_types_and_quoted_names(run: Run, source: str, database: Db, ns: str) -> None:
    status, _, err = run("edit", source, ns, "K-1", "--set", 'n={"$numberLong": "5"}', "--set", '"a=b"=true')
    assert (status, err) == (0, "")
    after = current(database)
    assert isinstance(after["n"], Int64)
    assert after["a=b"] is True


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--set", "status=active"], "The value for status is not Extended JSON"),
        (["--set", "status"], "PATH=EJSON"),
        (["--set", 'n={"$numberInt": "many"}'], "The value for n is not Extended JSON"),
        (["--set", "_id=1"], "_id"),
        (["--unset", "a..b"], "a name is missing"),
        ([], "Nothing to change"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(
    run: Run, source: str, database: Db, ns: str, change: list[str], said: str
) -> None:
    status, _, err = run("edit", source, ns, "K-1", *change)
    assert status == 2
    assert said in err
    assert err.count("\n") == 1
    assert current(database)["v"] == 4


def test_a_refusal_is_a_row_too(rows: Rows, source: str, ns: str) -> None:
    status, (row,) = rows("edit", source, ns, "K-1", "--set", "_id=1")
    assert (status, row["outcome"]) == (2, "refused")
    status, (row,) = rows("edit", source, ns, "nobody", "--set", "a=1")
    assert (status, row["outcome"], row["id"]) == (2, "refused", None)


def test_restore_brings_back_a_version_or_some_fields(rows: Rows, source: str, database: Db, ns: str) -> None:
    assert rows("restore", source, ns, "K-1", "1", "--fields", "status")[0] == 0
    assert (current(database)["status"], current(database)["steps"], current(database)["v"]) == ("draft", 4, 5)
    assert rows("restore", source, ns, "K-1", "2")[0] == 0
    assert (current(database)["notes"], current(database)["steps"]) == ("call ahead", 2)


def test_the_journal_lists_what_was_written_and_undo_takes_it_back(
    run: Run, rows: Rows, source: str, database: Db, ns: str
) -> None:
    assert run("journal")[1] == "Nothing was written from here so far.\n"
    rows("edit", source, ns, "K-1", "--set", 'status="cancelled"')
    _, (entry,) = rows("journal")
    assert (entry["action"], entry["outcome"], entry["ns"], entry["id"]) == ("edit", "applied", ns, "K-1")
    status, (row,) = rows("undo", entry["entry"])
    assert (status, row["outcome"]) == (0, "applied")
    assert (current(database)["status"], current(database)["v"]) == ("active", 6)
    status, (row,) = rows("undo", entry["entry"])
    assert (status, row["outcome"]) == (2, "refused")
    _, listed = rows("journal")
    assert [e["undone_by"] for e in listed] == [None, listed[0]["entry"]]
    assert "cancelled" not in run("journal")[1]


def test_undo_of_what_moved_on_is_a_conflict(rows: Rows, source: str, database: Db, ns: str) -> None:
    rows("edit", source, ns, "K-1", "--set", 'status="cancelled"')
    _, (entry,) = rows("journal")
    rows("edit", source, ns, "K-1", "--set", "steps=9")
    status, (row,) = rows("undo", entry["entry"])
    assert (status, row["outcome"]) == (1, "conflict")
    assert current(database)["v"] == 6


def test_cleanup_writes_nothing_without_apply(run: Run, rows: Rows, source: str, database: Db, ns: str) -> None:
    stats = f"{ns.partition('.')[0]}.stats"
    before = list(database["stats"].find())
    status, found = rows("cleanup", source, stats)
    assert status == 0
    assert [row["outcome"] for row in found] == ["skipped"] * 2
    assert "would be finished" in found[0]["detail"]
    _, out, _ = run("cleanup", source, stats)
    assert "--apply" in out
    assert "1 younger was left alone" in out
    assert list(database["stats"].find()) == before


def test_cleanup_finishes_stale_tokens_once(rows: Rows, source: str, database: Db, ns: str) -> None:
    stats = f"{ns.partition('.')[0]}.stats"
    status, found = rows("cleanup", source, stats, "--apply")
    assert (status, [row["outcome"] for row in found]) == (0, ["applied"] * 2)
    assert database["stats"].count_documents({"_id": "2020-07-04", "count": 43, "pending": []}) == 1
    assert database["stats"].count_documents({"_id": "today", "count": 3}) == 1
    assert rows("cleanup", source, stats, "--apply") == (0, [])


def test_cleanup_takes_an_age(rows: Rows, source: str, database: Db, ns: str) -> None:
    stats = f"{ns.partition('.')[0]}.stats"
    assert rows("cleanup", source, stats, "--older-than", "5200w", "--apply") == (0, [])
    status, found = rows("cleanup", source, stats, "--older-than", "0s", "--apply")
    assert (status, len(found)) == (0, 3)
    assert database["stats"].count_documents({"pending.0": {"$exists": True}}) == 0


def test_a_token_that_cannot_be_finished_is_said_and_the_others_are_finished(
    rows: Rows, source: str, database: Db, ns: str
) -> None:
    stats = f"{ns.partition('.')[0]}.stats"
    database["stats"].insert_one(
        {"_id": "2020-07-06", "count": "41", "pending": [ObjectId("5f00000000000000000000aa")]}
    )
    assert rows("cleanup", source, stats)[0] == 1
    status, found = rows("cleanup", source, stats, "--apply")
    assert (status, sorted(row["outcome"] for row in found)) == (1, ["applied", "applied", "refused"])


# --- options


def test_a_profile_states_what_recognition_cannot_know(rows: Rows, source: str, database: Db, tmp_path: Path) -> None:
    database["odd"].insert_one({"_id": 1, "current": {"rev": 3, "name": "x"}, "older": [{"rev": 2, "name": "y"}]})
    profile = tmp_path / "p.toml"
    profile.write_text(
        f'[[collection]]\nns = "{database.name}.odd"\nlayout = "embedded"\nversion = "rev"\nprev = "older"\n'
    )
    status, found = rows("history", source, f"{database.name}.odd", "1", "--profile", str(profile))
    assert status == 0
    assert [(r["v"], r["stored"]) for r in found][:2] == [
        ({"$numberInt": "3"}, "document"),
        ({"$numberInt": "2"}, "prev"),
    ]


def test_a_layout_can_be_named(rows: Rows, source: str, ns: str) -> None:
    status, found = rows("history", source, ns, "K-1", "--layout", "plain")
    assert (status, [row["current"] for row in found]) == (0, [True])


def test_the_sample_and_dumps_are_sources_like_any_other(rows: Rows, run: Run, tmp_path: Path) -> None:
    status, found = rows("history", "sample:", "insurance.contracts", "K-204117")
    assert status == 0
    assert len(found) == 14
    orders = tmp_path / "shop" / "orders.bson"
    orders.parent.mkdir()
    orders.write_bytes(canonical.encode({"_id": 1, "n": 1}))
    for source in (orders.parent.parent, orders.parent, orders):
        status, out, _ = run("show", str(source), "shop.orders", "1")
        assert (status, text.from_text(out)) == (0, canonical.encode({"n": 1}))
    status, _, err = run("edit", str(orders), "shop.orders", "1", "--set", "n=2")
    assert status == 2
    assert "--into-memory" in err
    assert rows("edit", str(orders), "shop.orders", "1", "--set", "n=2", "--into-memory")[0] == 0
    _, (entry,) = rows("journal")
    status, _, err = run("undo", entry["entry"])
    assert status == 2
    assert "in memory" in err


def test_a_deleted_document_is_told_and_restored(run: Run, rows: Rows, server_uri: str, database: Db) -> None:
    ns = f"{database.name}.claims"
    database["claims"].create_index([("docId", 1), ("v", 1)], unique=True)
    for number in range(1, 4):
        database["claims"].insert_one({"docId": "C-1", "v": number, "_w": ObjectId(), "amount": number, "open": True})
    with Session.open(server_uri) as session:
        assert (
            session.writing.delete(ns, Value.of("C-1"), session.history.version(ns, Value.of("C-1"))).kind == "applied"
        )
    status, found = rows("history", server_uri, ns, "C-1", "--layout", "versions")
    said = [(row["v"]["$numberInt"], row["state"], row["current"], row["detail"]) for row in found]
    assert (status, said[0]) == (0, ("4", "present", False, "deleted"))
    assert said[1:] == [(number, "present", False, "") for number in "321"]
    status, out, _ = run("history", server_uri, ns, "C-1", "--layout", "versions")
    assert "deleted" in out
    status, _, err = run("show", server_uri, ns, "C-1", "--layout", "versions")
    assert (status, err.count("\n"), "was deleted as v4" in err) == (2, 1, True)
    status, out, err = run("edit", server_uri, ns, "C-1", "--set", "amount=9", "--layout", "versions")
    assert (status, "restore one of them" in err) == (2, True), out
    status, found = rows("scan", server_uri, ns, "--layout", "versions")
    assert (status, found) == (0, [])
    status, out, err = run("restore", server_uri, ns, "C-1", "2", "--layout", "versions")
    assert (status, "Created as v5" in out) == (0, True), err
    assert [doc["v"] for doc in database["claims"].find(sort=[("v", 1)])] == [1, 2, 3, 4, 5]
