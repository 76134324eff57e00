"""Every answer about a version says who made it and why, if the version does."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

import pymongo.database
import pytest

from tests.journeys.command_support import Rows, Run

Db = pymongo.database.Database[dict[str, Any]]
STATED = """
[[collection]]
ns = "{db}.{name}"
layout = "{layout}"
archive = "{db}.{name}_history"
id = "{id}"
author = "who"
reason = "why"
"""
CHANGES = [("ann", "opened"), ("ben", "typo"), (None, None)]


def stated(database: Db, folder: Path, name: str, layout: str, id: str) -> str:
    text = STATED.format(db=database.name, name=name, layout=layout, id=id)
    if layout != "archive":
        text = text.replace(f'archive = "{database.name}.{name}_history"\n', "")
    file = folder / "layouts.toml"
    file.write_text(text)
    return str(file)


def made(v: int) -> dict[str, Any]:
    who, why = CHANGES[v - 1]
    return {"v": v, "total": v * 10, **({"who": who, "why": why} if who else {})}


@pytest.fixture
def rows_documents(database: Db, tmp_path: Path) -> tuple[str, str]:
    """Three versions as documents: two say who and why, the newest says neither."""
    database["orders"].insert_many([{"docId": "A", **made(v)} for v in (1, 2, 3)])
    database["orders"].create_index([("docId", 1), ("v", 1)], unique=True)
    return f"{database.name}.orders", stated(database, tmp_path, "orders", "versions", "docId")


def test_each_version_says_who_made_it_and_why(rows: Rows, server_uri: str, rows_documents: tuple[str, str]) -> None:
    ns, profile = rows_documents
    _, told = rows("history", server_uri, ns, "A", "--profile", profile)
    assert [(row["author"], row["reason"]) for row in told] == [(None, None), ("ben", "typo"), ("ann", "opened")]
    assert list(told[0])[:7] == ["v", "at", "hash", "bytes", "stored", "current", "state"]


def test_versions_in_an_archive_say_so_too(rows: Rows, server_uri: str, database: Db, tmp_path: Path) -> None:
    database["orders_history"].insert_one({"docId": "A", **made(1)})
    database["orders"].insert_one({"_id": "A", **made(2)})
    profile = stated(database, tmp_path, "orders", "archive", "_id")
    _, told = rows("history", server_uri, f"{database.name}.orders", "A", "--profile", profile)
    assert [(row["author"], row["reason"]) for row in told] == [("ben", "typo"), ("ann", "opened")]


def test_blame_and_bisect_say_who_and_why(rows: Rows, server_uri: str, rows_documents: tuple[str, str]) -> None:
    ns, profile = rows_documents
    _, told = rows("blame", server_uri, ns, "A", "--profile", profile)
    assert [(row["path"], row["author"], row["reason"]) for row in told] == [(["total"], None, None)]
    _, turns = rows("bisect", server_uri, ns, "A", "{total: {$gte: 20}}", "--profile", profile)
    assert [(row["v"], row["author"], row["reason"]) for row in turns] == [({"$numberInt": "2"}, "ben", "typo")]


def test_the_columns_for_people_are_there_where_the_profile_names_the_fields(
    run: Run, server_uri: str, rows_documents: tuple[str, str]
) -> None:
    ns, profile = rows_documents
    _, out, _ = run("history", server_uri, ns, "A", "--profile", profile)
    head, *lines = out.splitlines()
    assert "By" in head.split()
    assert "Reason" in head.split()
    assert "ben" in lines[1]
    assert "typo" in lines[1]


# --- versions made from here


def test_an_edit_and_a_restore_keep_the_reason_in_the_version_and_in_the_journal(
    run: Run, rows: Rows, server_uri: str, rows_documents: tuple[str, str]
) -> None:
    ns, profile = rows_documents
    edit = ("edit", server_uri, ns, "A", "--set", "total=7", "--reason", "the customer called", "--profile", profile)
    assert run(*edit)[0] == 0
    assert run("restore", server_uri, ns, "A", "1", "--reason", "a mistake", "--profile", profile)[0] == 0
    _, told = rows("history", server_uri, ns, "A", "--profile", profile)
    assert [row["reason"] for row in told[:2]] == ["a mistake", "the customer called"]
    assert told[0]["author"] == getpass.getuser()
    _, entries = rows("journal")
    assert [row["reason"] for row in entries[:2]] == ["a mistake", "the customer called"]


def test_a_reason_is_refused_where_no_field_takes_it(run: Run, server_uri: str, database: Db) -> None:
    database["things"].insert_one({"_id": "A", "total": 1})
    status, _, err = run("edit", server_uri, f"{database.name}.things", "A", "--set", "total=2", "--reason", "why not")
    assert status == 2
    assert 'name it in a profile, as in reason = "why"' in err
    assert database["things"].find_one() == {"_id": "A", "total": 1}


@pytest.mark.parametrize(("is_", "named", "who"), [
    ("login", (), None),
    ("name:Night job", ("--as", "somebody else"), "Night job"),
    ("asked", ("--as", "Ada Lovelace"), "Ada Lovelace"),
])  # fmt: skip
def test_the_author_is_who_the_profile_says(
    run: Run, rows: Rows, server_uri: str, rows_documents: tuple[str, str], is_: str, named: tuple[str, ...],
    who: str | None,
) -> None:  # fmt: skip
    ns, profile = rows_documents
    file = Path(profile)
    file.write_text(f'{file.read_text()}author_is = "{is_}"\n')
    assert run("edit", server_uri, ns, "A", "--set", "total=7", *named, "--profile", profile)[0] == 0
    _, told = rows("history", server_uri, ns, "A", "--profile", profile)
    assert told[0]["author"] == (who or getpass.getuser())


def test_a_name_that_is_asked_for_has_to_be_given_once(
    run: Run, server_uri: str, rows_documents: tuple[str, str], database: Db
) -> None:
    ns, profile = rows_documents
    file = Path(profile)
    text = file.read_text()
    file.write_text(f'{text}author_is = "asked"\n')
    status, _, err = run("edit", server_uri, ns, "A", "--set", "total=7", "--profile", profile)
    assert status == 2
    assert (
        err == f"Who writes to {ns} is asked once, as its profile says; give your name first: "
        "Sign as… in the menu File, or --as NAME.\n"
    )
    assert database["orders"].count_documents({}) == 3
    for wrong in ("", "name:", "somebody"):
        file.write_text(f'{text}author_is = "{wrong}"\n')
        status, _, err = run("history", server_uri, ns, "A", "--profile", profile)
        assert status == 2
        assert 'author_is must be "login", "asked" or "name:" with a name' in err
