"""Blame and bisect as scripts and people call them: rows, exit statuses, one sentence of trouble."""

from __future__ import annotations

import json
from collections.abc import Callable

import pymongo.database
import pytest

from tests.journeys.command_support import Run
from tests.model import session_scenes

Told = Callable[..., tuple[int, list[str], str]]
SAMPLE = ("sample:", "insurance.contracts", "K-118240")


@pytest.fixture
def told(run: Run) -> Told:
    """Run a command here; exit status, lines of standard output, standard error."""

    def called(*argv: str) -> tuple[int, list[str], str]:
        status, out, err = run(*argv)
        return status, out.splitlines(), err

    return called


def test_blame_names_the_version_that_last_set_each_field(told: Told) -> None:
    status, lines, err = told("blame", *SAMPLE, "--json")
    assert (status, err) == (0, "")
    rows = {tuple(row["path"]): row for row in map(json.loads, lines)}
    assert all(list(row) == ["path", "v", "at", "author", "reason", "before", "before_bytes"] for row in rows.values())
    assert rows["premium", "gross"]["v"] == {"$numberInt": "57"}
    assert rows["riders", 0, "premium"]["v"] == {"$numberInt": "57"}
    assert rows["riders", 1, "premium"]["v"] == {"$numberInt": "52"}
    assert rows["period", "from"]["v"] == {"$numberInt": "1"}
    assert (rows["period", "from"]["before"], rows["period", "from"]["before_bytes"]) == (None, None)
    assert rows["status",]["before"] == "cancelled"
    assert rows["deductible",]["at"] == {"$date": {"$numberLong": "1758014640000"}}
    assert ("premium", "discount") not in rows


def test_blame_is_a_table_for_people(told: Told) -> None:
    status, lines, _ = told("blame", *SAMPLE)
    assert status == 0
    assert lines[0].split() == ["Field", "Set", "in", "At", "By", "Before", "Value"]
    assert next(line for line in lines if line.startswith("riders[FLOOD].premium")).split()[1] == "v52"


def test_bisect_prints_where_the_condition_turns(told: Told) -> None:
    status, lines, _ = told("bisect", *SAMPLE, '{"status": "active"}', "--json")
    rows = list(map(json.loads, lines))
    assert status == 0
    assert [(row["v"]["$numberInt"], row["holds"]) for row in rows] == [("5", False), ("7", True), ("46", False)]
    status, lines, _ = told("bisect", *SAMPLE, '{"premium.gross": {"$gt": 350}}')
    assert status == 0
    assert lines[1].startswith("v20 ")
    assert lines[1].endswith("or in one of the 3 missing versions after v16")


@pytest.mark.deep
@pytest.mark.parametrize(
    ("condition", "says"), [('{"status": "never"}', "in any"), ('{"status": {"$ne": 1}}', "in each")]
)
def test_a_condition_that_never_turns_is_exit_1(told: Told, condition: str, says: str) -> None:
    status, lines, _ = told("bisect", *SAMPLE, condition)
    assert status == 1
    assert says in lines[0]
    assert told("bisect", *SAMPLE, condition, "--json")[:2] == (1, [])


NEVER = '{"$expr": {"$divide": [1, 0]}}'  # it can be read, and evaluated on no version


@pytest.mark.parametrize("condition", ['{"$where": "1"}', "{status", '{"status": {"$foo": 1}}', NEVER])
def test_a_condition_that_is_not_understood_is_exit_2(told: Told, condition: str) -> None:
    status, lines, err = told("bisect", *SAMPLE, condition)
    assert (status, lines, len(err.splitlines())) == (2, [], 1)
    assert "defect" not in err


@pytest.mark.deep
def test_a_document_that_is_not_there_is_exit_2(told: Told) -> None:
    assert told("blame", "sample:", "insurance.contracts", "nobody")[0] == 2
    assert told("bisect", "sample:", "insurance.contracts", "nobody", "{}")[0] == 2


def test_both_servers_are_blamed_alike(
    told: Told, server_uri: str, database: pymongo.database.Database, database_name: str
) -> None:
    session_scenes.archive(database)
    status, lines, _ = told("blame", server_uri, f"{database_name}.contracts", "K-1", "--json")
    rows = {tuple(row["path"]): row["v"]["$numberInt"] for row in map(json.loads, lines)}
    assert status == 0
    assert rows == {
        ("status",): "2",
        ("premium", "net"): "1",
        ("premium", "gross"): "1",
        ("tags",): "1",
        ("steps",): "4",
    }
    status, lines, _ = told(
        "bisect", server_uri, f"{database_name}.contracts", "K-1", "{notes: 'call ahead'}", "--json"
    )
    assert status == 0
    assert [json.loads(line)["v"]["$numberInt"] for line in lines] == ["2", "4"]
