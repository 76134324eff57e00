"""Who made a version and why stands in every answer about it, where the version says so."""

from __future__ import annotations

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
