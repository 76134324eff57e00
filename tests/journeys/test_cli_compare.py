"""Two collections compared on the command line: rows, statuses, one sentence of trouble."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.values import canonical
from tests.journeys.command_support import Rows, Run


@pytest.fixture
def pair(database: Any) -> tuple[str, str]:
    """Two collections of three orders, of which one is the same."""
    database["l"].insert_many([{"_id": n, "n": n, "no": f"N{n}"} for n in (1, 2, 3)])
    database["r"].insert_many([{"_id": n, "n": float(n) if n < 3 else 7, "no": f"N{n}"} for n in (2, 3, 4)])
    return f"{database.name}.l", f"{database.name}.r"


def test_what_differs_is_told_and_counted(run: Run, rows: Rows, server_uri: str, pair: tuple[str, str]) -> None:
    here, there = pair
    asked = ("compare", server_uri, here, server_uri, there)
    status, found = rows(*asked)
    assert status == 1
    assert [(row["key"], row["change"]) for row in found] == [
        ({"$numberInt": "1"}, "only here"),
        ({"$numberInt": "2"}, "changed"),
        ({"$numberInt": "3"}, "changed"),
        ({"$numberInt": "4"}, "only there"),
    ]
    assert list(found[0]) == ["key", "id", "other_id", "change", "from", "to", "since"]
    status, out, err = run(*asked, "--numbers-by-value", "--key", "no")
    assert (status, err) == (1, "")
    assert out.startswith("Compared by rules: numbers by value.\n")
    assert out.endswith("1 same, 1 only here, 1 changed, 1 only there.\n")
    assert run("compare", server_uri, here, server_uri, here) == (0, "3 same.\n", "")
    for wrong in (("--key", "a..b"), ("--key", "nothing"), ("--key", "."), ("--ignore", "")):
        status, out, err = run(*asked, *wrong)
        assert (status, out, err.count("\n")) == (2, "", 1)
    assert run("compare", server_uri, here, server_uri, f"{there}_not")[0] == 2


def test_what_a_plan_ticks_is_copied_across_and_undone(
    run: Run, rows: Rows, server_uri: str, pair: tuple[str, str], database: Any, tmp_path: Path
) -> None:
    here, there = pair
    plan, asked = str(tmp_path / "plan.json"), ("compare", server_uri, here, server_uri, there)
    before = list(database["r"].find())
    assert run(*asked, "--apply")[0] == 2
    assert run(*asked, "--plan", plan, "--apply")[0] == 2  # not there yet
    assert rows(*asked, "--plan", plan)[0] == 1
    assert list(database["r"].find()) == before  # the plan alone writes nothing
    assert run(*asked, "--plan", plan, "--apply", "--ignore", "n")[0] == 2
    assert run(*asked, "--plan", plan, "--apply", "--read-only")[0] == 2
    assert run("compare", server_uri, there, server_uri, here, "--plan", plan, "--apply")[0] == 2  # not these two
    status, found = rows(*asked, "--plan", plan, "--apply")
    assert (status, {row["outcome"] for row in found}) == (0, {"applied"})
    assert [row["_id"] for row in database["r"].find()] == [2, 3, 4, 1]
    assert {row["change"] for row in rows(*asked)[1]} == {"only there"}
    status, again = rows(*asked, "--plan", plan, "--apply")
    assert (status, {row["outcome"] for row in again}) == (0, {"skipped"}), "once more it writes nothing"
    assert run("undo", found[0]["run"])[0] == 0
    assert list(database["r"].find()) == before


def test_a_filter_is_named_and_compares_what_matches_on_either_side(
    run: Run, rows: Rows, server_uri: str, pair: tuple[str, str], tmp_path: Path
) -> None:
    asked = ("compare", server_uri, pair[0], server_uri, pair[1], "--filter", '{"n": {"$lt": 4}}')
    status, out, err = run(*asked)
    assert (status, err) == (1, "")
    assert out.startswith('Compared where {"n": {"$lt": 4}} matches on either side.\n')
    assert out.endswith("0 same, 1 only here, 2 changed. 1 of these match the filter on one side only.\n"), (
        "4 matches on no side, 3 matches here alone"
    )
    assert [row["change"] for row in rows(*asked)[1]] == ["only here", "changed", "changed"]
    assert run(*asked, "--plan", str(tmp_path / "plan"), "--apply")[0] == 2, "the plan says what is copied"
    assert run(*asked[:-1], "{n")[0] == 2


def test_differing_indexes_are_told_at_the_top(
    run: Run, rows: Rows, server_uri: str, pair: tuple[str, str], database: Any
) -> None:
    database["l"].create_index("no", unique=True)
    asked = ("compare", server_uri, pair[0], server_uri, pair[1])
    status, out, err = run(*asked)
    assert (status, err, out.partition("\n")[0]) == (1, "", "Index { no: 1 }, unique is only here.")
    assert rows(*asked)[1][0] == {"setup": "index", "name": "{ no: 1 }", "here": "unique", "there": None}
    database["r"].delete_many({})
    database["l"].delete_many({})
    assert run(*asked)[0] == 0, "the status is that of the documents"


def test_what_a_unique_index_there_would_reject_is_not_ticked(
    run: Run, server_uri: str, pair: tuple[str, str], database: Any, tmp_path: Path
) -> None:
    here, there = pair
    database["r"].create_index("no", unique=True, name="no_1")
    database["r"].update_one({"_id": 4}, {"$set": {"no": "N1"}})
    plan, asked = str(tmp_path / "plan.json"), ("compare", server_uri, here, server_uri, there)
    status, _, err = run(*asked, "--plan", plan)
    assert (status, err) == (
        1,
        '1 document would be refused there and not ticked in the plan, the first: 1: 4 holds no "N1" already, and the '
        "unique index no_1 lets no other document have it; choose another value.\n",
    )
    assert run(*asked, "--plan", plan, "--apply")[0] == 0, "the others are copied"
    assert [row["_id"] for row in database["r"].find()] == [2, 3, 4]


@pytest.mark.deep
def test_a_server_is_compared_with_a_dump(
    run: Run, rows: Rows, server_uri: str, pair: tuple[str, str], database: Any, tmp_path: Path
) -> None:
    file = tmp_path / "shop" / "r.bson"
    file.parent.mkdir()
    file.write_bytes(b"".join(canonical.encode(row) for row in database["r"].find()))
    assert run("compare", server_uri, pair[1], str(file), "shop.r") == (0, "3 same.\n", "")
    assert rows("compare", str(file), "shop.r", server_uri, pair[0])[0] == 1
