"""A collection in which two programs keep versions, each in its own way: written only as a person states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymongo.database
import pytest
from bson import ObjectId

from tests.journeys.command_support import Rows, Run

Db = pymongo.database.Database


@pytest.fixture
def contracts(database: Db) -> Any:
    """Contracts of which one program adds a document for every version, and marks the newest."""
    for n in range(12):
        for rev in (1, 2, 3, 4):
            row = {"of": f"P-{n:02d}", "rev": rev, "title": f"title {n}", "pages": 7 * rev + n, "_w": ObjectId()}
            database["contracts"].insert_one(row | ({"latest": True} if rev == 4 else {}))
    return database["contracts"]


def another_program(contracts: Any) -> None:
    """Writes contracts that keep their past inside."""
    for n in range(12):
        past = [{"v": v, "name": f"state {v} of {n}", "city": "Bonn", "_w": ObjectId()} for v in (1, 2, 3)]
        contracts.insert_one({"_id": f"E-{n:02d}", "current": past[-1], "prev": past[:-1]})


@pytest.mark.deep
@pytest.mark.slice
def test_both_are_named_nothing_is_written_and_reading_goes_on(
    run: Run, rows: Rows, server_uri: str, contracts: Any, database_name: str, tmp_path: Path
) -> None:
    ns = f"{database_name}.contracts"
    another_program(contracts)
    before = list(contracts.find())
    (found,) = [row for row in rows("collections", server_uri)[1] if row["ns"] == ns]
    said = f"Several programs keep versions in {ns}: of 60 documents sampled "
    assert found["why"].startswith(said)
    assert " are embedded (v, current, prev)" in found["why"]
    assert " are flagged (of, rev, latest)" in found["why"]
    status, out, err = run("edit", server_uri, ns, "E-01", "--set", 'note="x"')
    assert (status, out) == (2, "")
    assert err.startswith(said)
    assert err.endswith("So nothing is written there until a profile or --layout states one of them.\n")
    assert run("insert", server_uri, ns, '{"name": "y"}', "--id", "77")[0] == 2
    assert list(contracts.find()) == before
    status, out, _ = run("show", server_uri, ns, "E-01")
    assert (status, '"state 3 of 1"' in out) == (0, True)
    assert rows("journal")[1] == []
    stated = ("--layout", "embedded")
    assert run("edit", server_uri, ns, "E-01", "--set", 'note="x"', *stated)[0] == 0
    assert contracts.find_one({"_id": "E-01"})["current"]["v"] == 4
    file = tmp_path / "profile.toml"
    file.write_text(
        f'[[collection]]\nns = "{ns}"\nlayout = "flagged"\nid = "of"\nversion = "rev"\ncurrent = "latest"\n'
    )
    status, _, err = run("edit", server_uri, ns, "P-01", "--set", "pages=1", "--profile", str(file))
    assert (status, "no unique index on of and rev" in err) == (2, True), "what the layout asks for is asked for still"
