"""Changes taken back on the command line: nothing else, guarded, and undoable as one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bson
import pytest
from bson import ObjectId
from pymongo.errors import WriteError

from model.server.retry import Reply, Server, Write
from model.session import Session
from model.values.canonical import Value
from tests.journeys.command_support import Rows, Run

PROFILE = """
[[collection]]
ns = "{ns}"
layout = "{layout}"
id = "{id}"
archive = "{ns}_past"
author = "by"
reason = "why"
"""
PEOPLE = {
    "A": [("ann", {"total": 1, "city": "Bonn"}), ("import", {"total": 9}), ("ben", {"city": "Ulm"})],
    "B": [("ann", {"total": 2, "city": "Bonn"}), ("import", {"total": 8}), ("ben", {"total": 3})],
    "C": [("import", {"total": 4, "city": "Köln"}), ("import", {"total": 5}), ("import", {"city": "Jena"})],
}


@pytest.fixture(params=["archive", "versions"])
def orders(request: pytest.FixtureRequest, server_uri: str, database: Any, tmp_path: Path) -> tuple[str, str]:
    """Three orders with three versions each, of which an import wrote some."""
    layout, ns = str(request.param), f"{database.name}.orders"
    key = ("docId", "orders") if layout == "versions" else ("docId", "orders_past")
    database[key[1]].create_index([(key[0], 1), ("v", 1)], unique=True)
    for id, versions in PEOPLE.items():
        content: dict[str, Any] = {}
        for v, (by, changes) in enumerate(versions, 1):
            content = {**content, **changes}
            row = {"v": v, "_w": ObjectId(), "by": by, **content}
            if layout == "archive" and v == len(versions):
                database["orders"].insert_one({"_id": id, **row})
            else:
                database[key[1]].insert_one({"docId": id, **row})
    file = tmp_path / "profile.toml"
    text = PROFILE.format(ns=ns, layout=layout, id="docId" if layout == "versions" else "_id")
    file.write_text(text if layout == "archive" else text.replace(f'archive = "{ns}_past"\n', ""))
    return ns, str(file)


def contents(server_uri: str, ns: str, profile: str) -> dict[str, dict[str, Any]]:
    with Session.open(server_uri, Path(profile)) as session:
        found = {}
        for id in PEOPLE:
            version = session.history.version(ns, Value.of(id))
            found[id] = {"v": version.v.python() if version.v else None, **Value(3, version.content or b"").python()}  # type: ignore[dict-item]
        return found


def test_what_an_import_did_is_taken_back_and_nothing_else(
    run: Run, rows: Rows, server_uri: str, orders: tuple[str, str]
) -> None:
    ns, profile = orders
    before = contents(server_uri, ns, profile)
    asked = ("revert", server_uri, ns, "--author", "import", "--profile", profile)
    status, drawn = rows(*asked)
    assert (status, {row["outcome"] for row in drawn}) == (1, {"skipped", "conflict"})
    assert contents(server_uri, ns, profile) == before, "nothing is written without --apply"
    status, done = rows(*asked, "--apply", "--reason", "a wrong file")
    assert status == 1
    assert list(done[0]) == ["outcome", "ns", "id", "detail", "run"]
    assert {(row["id"], row["outcome"]) for row in done} == {
        ("A", "applied"),
        ("B", "conflict"),
        ("C", "applied"),
        ("C", "skipped"),
    }
    now = contents(server_uri, ns, profile)
    assert now["A"] == {"v": 4, "total": 1, "city": "Ulm"}, "what ben wrote later stays"
    assert now["B"] == before["B"], "ben changed the same field"
    assert now["C"] == {"v": 4, "total": 4, "city": "Köln"}, "two versions are one write, and what created it stays"
    _, (newest, *_) = rows("history", server_uri, ns, "A", "--profile", profile)
    assert newest["reason"] == "a wrong file"
    again = rows(*asked, "--apply")[1]
    assert {row["outcome"] for row in again} <= {"skipped", "conflict"}, "once more it writes nothing"
    assert contents(server_uri, ns, profile) == now
    (name,) = {row["run"] for row in done}
    assert rows("undo", name, "--source", server_uri, "--profile", profile)[0] == 0
    undone = contents(server_uri, ns, profile)
    assert [{**each, "v": 0} for each in undone.values()] == [{**each, "v": 0} for each in before.values()]


def test_a_field_that_somebody_set_to_the_same_value_later_is_a_conflict(
    rows: Rows, server_uri: str, orders: tuple[str, str]
) -> None:
    ns, profile = orders
    with Session.open(server_uri, Path(profile)) as session:
        for total in (1, 9):  # the import's 9 was put right, and then chosen by a person
            assert session.edit(ns, "A", set={"total": total}).kind == "applied"
    _, (row,) = rows("revert", server_uri, ns, "--id", "A", "--version", "2", "--apply", "--profile", profile)
    assert (row["outcome"], row["detail"]) == ("conflict", "A was changed later in total; take v2 back by hand.")
    assert contents(server_uri, ns, profile)["A"] == {"v": 5, "total": 9, "city": "Ulm"}


def test_one_version_is_taken_back_by_its_name(rows: Rows, server_uri: str, orders: tuple[str, str]) -> None:
    ns, profile = orders
    one = ("revert", server_uri, ns, "--id", "B", "--profile", profile)
    assert [row["outcome"] for row in rows(*one, "--version", "3", "--apply")[1]] == ["applied"]
    assert contents(server_uri, ns, profile)["B"] == {"v": 4, "total": 8, "city": "Bonn"}
    (created,) = rows(*one, "--version", "1", "--apply")[1]
    assert (created["outcome"], "it created the document" in created["detail"]) == ("skipped", True)


def test_a_plan_is_carried_out_unless_a_document_moved_on(
    run: Run, rows: Rows, server_uri: str, orders: tuple[str, str], tmp_path: Path
) -> None:
    ns, profile = orders
    plan = str(tmp_path / "plan.json")
    stated = ("--profile", profile)
    assert run("revert", server_uri, ns, "--author", "import", "--plan", plan, *stated)[0] == 1
    assert {item["would"] for item in json.loads(Path(plan).read_text())["items"]} == {"applied", "conflict"}
    assert run("edit", server_uri, ns, "C", "--set", "total=77", *stated)[0] == 0
    _, done = rows("revert", server_uri, ns, "--plan", plan, "--apply", *stated)
    outcomes = {row["id"]: row["outcome"] for row in done}
    assert (outcomes["A"], outcomes["C"]) == ("applied", "conflict")
    assert contents(server_uri, ns, profile)["C"]["total"] == 77
    assert run("revert", server_uri, f"{ns}x", "--plan", plan, "--apply", *stated)[0] == 2
    assert run("revert", server_uri, ns, "--plan", str(tmp_path / "none"), "--apply", *stated)[0] == 2
    Path(plan).write_text("{}")
    assert run("revert", server_uri, ns, "--plan", plan, "--apply", *stated)[0] == 2
    assert run("revert", server_uri, ns, *stated)[0] == 2
    assert run("revert", server_uri, ns, "--version", "2", *stated)[0] == 2


def test_a_deleted_document_and_a_version_above_a_gap_are_told(
    rows: Rows, server_uri: str, orders: tuple[str, str], database: Any
) -> None:
    ns, profile = orders
    past = database["orders" if "orders_past" not in database.list_collection_names() else "orders_past"]
    past.delete_one({"docId": "A", "v": 1})
    with Session.open(server_uri, Path(profile)) as session:
        assert session.writing.delete(ns, Value.of("C"), session.history.version(ns, Value.of("C"))).kind == "applied"
    _, done = rows("revert", server_uri, ns, "--author", "import", "--apply", "--profile", profile)
    told = {row["id"]: (row["outcome"], row["detail"]) for row in done}
    assert told["A"][0] == "skipped"
    assert "is missing" in told["A"][1]
    assert told["C"] == ("skipped", "C is deleted; restore it first.")


def test_a_revert_that_would_empty_a_required_field_is_refused_by_the_rules_of_the_collection(
    rows: Rows, server_uri: str, orders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ns, profile = orders
    with Session.open(server_uri, Path(profile)) as session:
        assert session.edit(ns, "A", set={"due": 5}).kind == "applied"
    sent, unsets = Server._send, ("'$unset'", '"$unset"')

    def demanding(self: Server, write: Write) -> Reply:
        """As a server whose collection demands the field ``due``."""
        body = write.body
        if isinstance(body, bytes):
            lacks = "due" not in bson.decode(body)
        else:
            lacks = any(each in repr(body) for each in unsets) and "due" in repr(body)
        if lacks:
            raise WriteError("Document failed validation", 121)
        return sent(self, write)

    before = contents(server_uri, ns, profile)
    with monkeypatch.context() as patched:
        patched.setattr(Server, "_send", demanding)
        status, (row,) = rows("revert", server_uri, ns, "--id", "A", "--version", "4", "--apply", "--profile", profile)
    assert (status, row["outcome"]) == (1, "refused")
    said = "The collection has rules for its documents, and this one does not meet them."
    assert row["detail"].startswith(said)  # beside an archive, the copy that is left is named too
    assert contents(server_uri, ns, profile) == before
    _, (again,) = rows("revert", server_uri, ns, "--id", "A", "--version", "4", "--apply", "--profile", profile)
    assert again["outcome"] == "applied"


def test_an_author_who_does_not_occur_and_times_without_zone_or_to_come_are_one_sentence_each(
    run: Run, server_uri: str, orders: tuple[str, str]
) -> None:
    ns, profile = orders
    before = contents(server_uri, ns, profile)
    status, out, err = run("revert", server_uri, ns, "--author", "impor", "--apply", "--profile", profile)
    assert (status, out) == (0, "")
    assert "Nothing by impor was found there to take back." in err
    asked = ("--author", "import", "--since", "2999-01-01", "--apply")
    status, out, err = run("revert", server_uri, ns, *asked, "--profile", profile)
    assert (status, out) == (0, "")
    assert "2999-01-01 has no zone and is taken as 2999-01-01 00:00:00 UTC. 2999-01-01 lies in the future." in err
    assert contents(server_uri, ns, profile) == before


def test_a_field_that_would_be_empty_although_all_documents_have_it_is_named(
    rows: Rows, server_uri: str, database: Any, tmp_path: Path
) -> None:
    ns = f"{database.name}.parcels"
    for id, first in (("A", {"n": 1}), ("B", {"n": 2, "city": "Ulm"}), ("C", {"n": 3, "city": "Jena", "note": "x"})):
        database["parcels_past"].insert_one({"docId": id, "v": 1, "_w": ObjectId(), "by": "ann", **first})
        now = {"city": "Bonn", "note": "late", **first, "n": 9}
        database["parcels"].insert_one({"_id": id, "v": 2, "_w": ObjectId(), "by": "import", **now})
    database["parcels_past"].create_index([("docId", 1), ("v", 1)], unique=True)
    database["parcels"].update_one({"_id": "C"}, {"$unset": {"note": ""}})
    file = tmp_path / "parcels.toml"
    file.write_text(PROFILE.format(ns=ns, layout="archive", id="_id"))
    _, drawn = rows("revert", server_uri, ns, "--author", "import", "--profile", str(file))
    said = {str(row["id"]): str(row["detail"]) for row in drawn}
    assert said["A"].endswith("It leaves city empty, which each of the 3 documents looked at has."), said
    assert [id for id in said if "empty" in said[id]] == ["A"], "note is in two of three"
