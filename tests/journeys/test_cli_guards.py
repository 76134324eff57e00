"""Lock fields of other programs on the command line: every write raises them; if none is stated, it asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymongo.database
import pytest
from bson import Int64, ObjectId

from model.session import Session
from model.values.canonical import Value
from tests.journeys.command_support import Rows, Run
from tests.support import every

Db = pymongo.database.Database


@pytest.fixture
def items(database: Db) -> Any:
    """Items that mongoose keeps, with an archive that an application writes."""
    database["items_history"].create_index([("docId", 1), ("v", 1)], unique=True)
    for n in (1, 2, 3):
        for v in (1, 2):
            row = {"docId": f"I-{n}", "v": v, "name": f"{n}.{v}", "_w": ObjectId(), "__v": v - 1}
            database["items_history"].insert_one(row)
        database["items"].insert_one({"_id": f"I-{n}", "v": 3, "name": f"{n}.3", "_w": ObjectId(), "__v": 2})
    return database["items"]


@pytest.fixture
def ns(items: Any, database_name: str) -> str:
    return f"{database_name}.items"


def lock(items: Any) -> Any:
    return items.find_one({"_id": "I-1"})["__v"]


def test_every_command_that_writes_a_document_raises_it(
    run: Run, rows: Rows, server_uri: str, items: Any, ns: str
) -> None:
    assert run("edit", server_uri, ns, "I-1", "--set", 'name="new"')[0] == 0
    assert (lock(items), items.find_one({"_id": "I-1"})["v"]) == (3, 4)
    assert run("restore", server_uri, ns, "I-1", "1")[0] == 0
    assert items.find_one({"_id": "I-1"})["name"] == "1.1"
    assert lock(items) == 4, "an old state does not bring its old number back"
    entry = rows("journal")[1][0]["entry"]
    assert run("undo", entry, "--source", server_uri)[0] == 0
    assert items.find_one({"_id": "I-1"})["name"] == "new"
    assert lock(items) == 5
    assert run("insert", server_uri, ns, '{"name": "another"}', "--id", "I-9")[0] == 0
    assert items.find_one({"_id": "I-9"})["__v"] == 0


def test_it_is_no_difference_and_stands_in_the_grounds(
    run: Run, rows: Rows, server_uri: str, ns: str, database_name: str
) -> None:
    (found,) = [row for row in rows("collections", server_uri)[1] if row["ns"] == ns]
    assert found["fields"]["guard"] == "__v"
    assert "__v is the lock of mongoose: guarded, and raised with every edit." in found["why"]
    _, changes = rows("diff", server_uri, ns, "I-1", "1", "3")
    assert [row["path"] for row in changes] == [["name"]]
    assert [row["path"] for row in rows("blame", server_uri, ns, "I-1")[1]] == [["name"]]
    assert "__v" not in run("show", server_uri, ns, "I-1")[1]
    assert "__v" in run("show", server_uri, ns, "I-1", "--stored")[1]
    status, _, err = run("edit", server_uri, ns, "I-1", "--set", "__v=9")
    assert (status, "__v is kept by the layout" in err) == (2, True)


def test_where_nothing_states_how_it_moves_the_edit_says_what_to_state(
    run: Run, server_uri: str, database: Db, database_name: str, tmp_path: Path
) -> None:
    database["parts"].insert_many([{"_id": n, "name": "x", "lockVersion": Int64(n)} for n in range(4)])
    ns = f"{database_name}.parts"
    edit = ("edit", server_uri, ns, "2", "--set", 'name="y"')
    status, _, err = run(*edit)
    assert status == 2
    assert 'state guard = { field = "lockVersion", how = "inc" } in a profile' in err
    assert database["parts"].find_one({"_id": 2}) == {"_id": 2, "name": "x", "lockVersion": 2}
    file = tmp_path / "profile.toml"
    for how, after in (("none", 2), ("inc", 3)):
        file.write_text(f'[[collection]]\nns = "{ns}"\nguard = {{ field = "lockVersion", how = "{how}" }}\n')
        assert run(*edit[:-1], f'name="{how}"', "--profile", str(file))[0] == 0
        assert database["parts"].find_one({"_id": 2})["lockVersion"] == after  # type: ignore[index]


def test_a_collection_that_a_profile_states_without_its_lock_is_guarded_all_the_same(
    run: Run, server_uri: str, items: Any, ns: str, tmp_path: Path
) -> None:
    file = tmp_path / "profile.toml"
    file.write_text(f'[[collection]]\nns = "{ns}"\nlayout = "archive"\narchive = "{ns}_history"\n')
    assert run("edit", server_uri, ns, "I-1", "--set", 'name="new"', "--profile", str(file))[0] == 0
    assert lock(items) == 3


def test_a_session_asks_once_and_remembers_the_answer(server_uri: str, database: Db, database_name: str) -> None:
    database["parts"].insert_many([{"_id": n, "name": "x", "lockVersion": n} for n in range(4)])
    ns, id = f"{database_name}.parts", Value.of(2)
    with Session.open(server_uri) as session:
        opened = session.writing.open(ns, id)
        assert (opened.writable, opened.lock) == (False, "lockVersion")
        info = session.catalogue.state_guard(ns, "inc")
        assert info.fields["guard"] == "lockVersion"
        opened = session.writing.open(ns, id)
        assert (opened.writable, opened.lock) == (True, "")
        assert session.edit(ns, id, {"name": "y"}).kind == "applied"
        assert database["parts"].find_one({"_id": 2})["lockVersion"] == 3  # type: ignore[index]
        list(session.catalogue.collections(database_name))
        assert session.catalogue.set_layout(ns, "plain").fields["guard"] == "lockVersion"
        assert session.writing.open(ns, id).lock == ""


# --- profiles that the data contradict


@pytest.fixture
def contracts(database: Db) -> Any:
    """Contracts in ``archive``, of which a profile may state anything."""
    database["contracts_history"].create_index([("docId", 1), ("v", 1)], unique=True)
    for n in range(4):
        database["contracts_history"].insert_one({"docId": n, "v": 1, "name": "old", "_w": ObjectId()})
        database["contracts"].insert_one({"_id": n, "v": 2, "name": "new", "_w": ObjectId(), "tag": "x"})
    return database["contracts"]


WRONG = {
    "a path that leads nowhere": (
        'version = "ver"',
        "No document sampled in {ns} has ver, which is stated as version.",
    ),
    "another type": ('version = "name"', "In 0 of {ns}, name is of the type String, not a whole number or a date."),
    "a guard that is not there": (
        'guard = { field = "lockVersoin", how = "inc" }',
        "No document sampled in {ns} has lockVersoin, which is stated as guard.",
    ),
    "a guard that does not move so": (
        'guard = { field = "tag", how = "inc" }',
        "In 0 of {ns}, tag is of the type String and cannot go up by one.",
    ),
    "another id in the archive": (
        'archive_id = "of"',
        "No document sampled in {ns}_history has of, which is stated as archive_id.",
    ),
}


@pytest.mark.parametrize("wrong", every(3, WRONG, in_slice=True))
def test_nothing_is_written_by_a_profile_that_the_data_contradict_and_it_is_told_once(
    wrong: str, run: Run, rows: Rows, server_uri: str, contracts: Any, database_name: str, tmp_path: Path
) -> None:
    ns = f"{database_name}.contracts"
    line, said = WRONG[wrong]
    said = said.format(ns=ns)
    file = tmp_path / "profile.toml"
    stated = f'[[collection]]\nns = "{ns}"\nlayout = "archive"\n{line}\n'
    file.write_text(stated)
    profile = ("--profile", str(file))
    before = list(contracts.find())
    status, out, err = run("edit", server_uri, ns, "1", "--set", 'note="x"', *profile)
    assert (status, out) == (2, "")
    assert err.count(said) == 1
    assert "--yes-layout" in err
    assert run("insert", server_uri, ns, '{"name": "y"}', "--id", "77", *profile)[0] == 2
    assert run("migrate", server_uri, ns, "--to", "plain", "--newest-only", "--apply", *profile)[0] == 2
    assert list(contracts.find()) == before
    assert list(contracts.database.list_collection_names()).count("contracts_plain") == 0
    status, out, err = run("show", server_uri, ns, "1", *profile)
    assert status == 0, "reading goes on"
    assert out.startswith("{")
    assert err == f"palimpsest: {said} The profile states it otherwise.\n"
    (found,) = [row for row in rows("collections", server_uri, *profile)[1] if row["ns"] == ns]
    assert said in found["why"]
    assert rows("journal")[1] == []


def test_whoever_insists_writes_by_it(
    run: Run, server_uri: str, contracts: Any, database_name: str, tmp_path: Path
) -> None:
    ns = f"{database_name}.contracts"
    file = tmp_path / "profile.toml"
    file.write_text(
        f'[[collection]]\nns = "{ns}"\nlayout = "archive"\nguard = {{ field = "lockVersion", how = "inc" }}\n'
    )
    edit = ("edit", server_uri, ns, "1", "--set", 'name="x"', "--profile", str(file))
    assert run(*edit)[0] == 2
    status, _, err = run(*edit, "--yes-layout")
    assert (status, err.count("lockVersion")) == (0, 1)
    assert contracts.find_one({"_id": 1})["name"] == "x"
    with Session.open(server_uri, file) as session:
        assert session.edit(ns, Value.of(2), {"name": "y"}).kind == "refused"
        opened = session.writing.open(ns, Value.of(2))
        assert not opened.writable
        assert "lockVersion" in opened.doubt
        session.catalogue.accept(ns)
        assert session.writing.open(ns, Value.of(2)).doubt == ""
        assert session.edit(ns, Value.of(2), {"name": "y"}).kind == "applied"


def test_one_damaged_document_does_not_contradict_a_profile(
    run: Run, server_uri: str, contracts: Any, database_name: str, tmp_path: Path
) -> None:
    ns = f"{database_name}.contracts"
    contracts.update_one({"_id": 3}, {"$set": {"v": "two"}})
    contracts.update_one({"_id": 2}, {"$unset": {"v": ""}})
    file = tmp_path / "profile.toml"
    file.write_text(f'[[collection]]\nns = "{ns}"\nlayout = "archive"\n')
    status, _, err = run("edit", server_uri, ns, "1", "--set", 'name="x"', "--profile", str(file))
    assert (status, err) == (0, "")
