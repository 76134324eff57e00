"""Earlier versions removed on the command line: by a rule, guarded, undoable as one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.journeys.command_support import Rows, Run

PROFILE = '[[collection]]\nns = "{ns}"\nlayout = "archive"\narchive = "{ns}_past"\n'


@pytest.fixture
def orders(database: Any, tmp_path: Path) -> tuple[str, str]:
    """Two orders with four versions each."""
    ns = f"{database.name}.orders"
    database["orders_past"].create_index([("docId", 1), ("v", 1)], unique=True)
    for id in "AB":
        database["orders"].insert_one({"_id": id, "v": 4, "total": 4})
        database["orders_past"].insert_many({"docId": id, "v": v, "total": v} for v in (1, 2, 3))
    file = tmp_path / "profile.toml"
    file.write_text(PROFILE.format(ns=ns))
    return ns, str(file)


def past(database: Any) -> list[tuple[str, int]]:
    return sorted((row["docId"], row["v"]) for row in database["orders_past"].find())


def test_a_plan_is_carried_out_and_undone(
    run: Run, rows: Rows, server_uri: str, database: Any, orders: tuple[str, str], tmp_path: Path
) -> None:
    (ns, profile), plan = orders, str(tmp_path / "plan.json")
    stated, before = ("--profile", profile), past(database)
    status, drawn = rows("retain", server_uri, ns, "--keep", "2", "--plan", plan, *stated)
    assert (status, [(row["id"], row["versions"]) for row in drawn]) == (
        0,
        [(id, [{"$numberInt": "2"}, {"$numberInt": "1"}]) for id in "AB"],
    )
    assert list(drawn[0]) == ["outcome", "ns", "id", "detail", "versions", "bytes"]
    assert past(database) == before, "nothing is written without --apply"
    status, done = rows("retain", server_uri, ns, "--plan", plan, "--apply", *stated)
    assert (status, list(done[0])) == (0, ["outcome", "ns", "id", "detail", "run"])
    assert past(database) == [("A", 3), ("B", 3)]
    assert database["quarantine"].count_documents({}) == 4
    status, again = rows("retain", server_uri, ns, "--plan", plan, "--apply", *stated)
    assert (status, [row["outcome"] for row in again]) == (0, ["skipped"] * 2), "once more it writes nothing"
    _, _, err = run("retain", server_uri, ns, "--plan", plan, "--apply", *stated)
    assert "Nothing is left to do; nothing was written." in err
    assert database["quarantine"].count_documents({}) == 4
    assert run("undo", done[0]["run"], "--source", server_uri, *stated)[0] == 0
    assert (past(database), database["quarantine"].count_documents({})) == (before, 0)


def test_versions_that_a_rule_keeps_by_now_are_not_taken_for_removed(
    run: Run, rows: Rows, server_uri: str, database: Any, orders: tuple[str, str], tmp_path: Path
) -> None:
    (ns, profile), plan = orders, str(tmp_path / "plan.json")
    stated = ("--profile", profile)
    assert run("retain", server_uri, ns, "--keep", "2", "--plan", plan, *stated)[0] == 0
    database["orders_past"].delete_many({"docId": "A", "v": {"$gt": 1}})
    database["orders_past"].delete_many({"docId": "B", "v": {"$lt": 3}})
    status, done = rows("retain", server_uri, ns, "--plan", plan, "--apply", *stated)
    assert (status, [row["detail"] for row in done]) == (
        1,
        ["A keeps v1, which the rule of the plan keeps by now.", "B has none of these versions any more."],
    )
    assert past(database) == [("A", 1), ("B", 3)]


def test_bad_words_are_one_sentence(run: Run, server_uri: str, orders: tuple[str, str]) -> None:
    ns, profile = orders
    for words, said in (
        ([], "Say what stays"),
        (["--keep", "0"], "at least 1"),
        (["--version", "1"], "say --id ID with it"),
        (["--id", "A", "--version", "1", "--keep", "1"], "and no rule"),
        (["--id", "A", "--version", "9"], "has no version 9"),
        (["--keep", "1", "--hold", "{a"], "line 1"),
        (["--keep", "1", "--plan", "p", "--apply"], "leave one of them out"),
        (["--plan", "none.json", "--apply"], "There is no plan none.json"),
        (["--younger-than", "long"], "is not an age"),
    ):
        status, out, err = run("retain", server_uri, ns, *words, "--profile", profile)
        assert (status, out, said.lower() in err.lower()) == (2, "", True), (words, err)
        assert len(err.strip().splitlines()) == 1


def test_every_night_it_ends_with_0_and_writes_only_what_came(
    run: Run, rows: Rows, server_uri: str, database: Any, orders: tuple[str, str], tmp_path: Path
) -> None:
    ns, profile = orders
    rule = ("retain", server_uri, ns, "--keep", "2", "--hold", '{"_id": "B"}', "--profile", profile)
    night = (*rule, "--apply")
    assert run(*rule)[0] == 0, "a hold is what was asked for"
    status, done = rows(*night)
    assert (status, [(row["id"], row["outcome"]) for row in done]) == (0, [("A", "applied"), ("B", "skipped")])
    left = [*database["orders_past"].find(), *database["quarantine"].find()]
    for _ in range(2):
        status, done = rows(*night)
        assert (status, [(row["id"], row["outcome"]) for row in done]) == (0, [("B", "skipped")])
        assert [*database["orders_past"].find(), *database["quarantine"].find()] == left, "nothing is written"
    assert run("edit", server_uri, ns, "A", "--set", "total=5", "--profile", profile)[0] == 0
    plan = str(tmp_path / "today.json")
    assert run(*rule, "--plan", plan)[0] == 0
    assert run("retain", server_uri, ns, "--plan", plan, "--apply", "--profile", profile)[0] == 0
    assert past(database) == [("A", 4), ("B", 1), ("B", 2), ("B", 3)]
    assert run("retain", server_uri, ns, "--plan", plan, "--apply", "--profile", profile)[0] == 0, "once more"
