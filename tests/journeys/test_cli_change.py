"""One change in many documents on the command line: nothing else, guarded, resumable, undoable as one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.command_support import Rows, Run

PROFILE = """
[[collection]]
ns = "{ns}"
layout = "archive"
archive = "{ns}_past"
author = "by"
reason = "why"
"""


@pytest.fixture
def orders(database: Any, tmp_path: Path) -> tuple[str, str]:
    """Four orders: two open, one whose state is a number, one closed."""
    ns = f"{database.name}.orders"
    database["orders_past"].create_index([("docId", 1), ("v", 1)], unique=True)
    for id, state, total in (("A", "open", 1), ("B", "open", 2), ("C", 7, 3), ("D", "closed", 4)):
        database["orders"].insert_one({"_id": id, "v": 1, "by": "ann", "state": state, "total": total})
    file = tmp_path / "profile.toml"
    file.write_text(PROFILE.format(ns=ns))
    return ns, str(file)


def stored(database: Any) -> dict[str, dict[str, Any]]:
    return {row.pop("_id"): row for row in database["orders"].find()}


def test_what_matches_is_changed_with_author_and_reason_and_undone_as_one(
    run: Run, rows: Rows, server_uri: str, database: Any, orders: tuple[str, str]
) -> None:
    ns, profile = orders
    before = stored(database)
    change = ("--set", 'state="paid"', "--unset", "total", "--rename", "v2=v3", "--profile", profile)
    asked = ("change", server_uri, ns, '{"state": "open"}', *change)
    status, drawn = rows(*asked)
    assert (status, [row["id"] for row in drawn]) == (0, ["A", "B"])
    assert list(drawn[0]) == ["outcome", "ns", "id", "detail", "changes"]
    assert drawn[0]["changes"] == [
        {"path": "state", "before": "open", "after": "paid"},
        {"path": "total", "before": {"$numberInt": "1"}},
    ]
    assert "as Int32" in run(*asked)[2], "what the filter misses by its type is told"
    assert stored(database) == before, "nothing is written without --apply"
    status, done = rows(*asked, "--apply", "--reason", "the month's end", "--as", "eva")
    assert (status, list(done[0])) == (0, ["outcome", "ns", "id", "detail", "run"])
    now = stored(database)
    assert {**now["A"], "by": ""} == {"v": 2, "by": "", "why": "the month's end", "state": "paid"}
    assert (now["C"], now["D"]) == (before["C"], before["D"])
    assert rows(*asked, "--apply") == (0, []), "once more nothing matches"
    (name,) = {row["run"] for row in done}
    assert rows("undo", name, "--source", server_uri, "--profile", profile)[0] == 0
    assert {id: (row["state"], row["total"]) for id, row in stored(database).items()} == {
        id: (row["state"], row["total"]) for id, row in before.items()
    }


def test_a_plan_of_yesterday_writes_only_what_is_still_so_and_once(
    run: Run, rows: Rows, server_uri: str, database: Any, orders: tuple[str, str], tmp_path: Path
) -> None:
    ns, profile = orders
    plan, stated = str(tmp_path / "plan.json"), ("--profile", profile)
    asked = ("change", server_uri, ns, '{"state": "open"}', "--update", "{$inc: {total: 10}}", *stated)
    assert "write a plan first" in run(*asked, "--apply")[2]
    assert run(*asked, "--plan", plan)[0] == 0
    assert [item["would"] for item in json.loads(Path(plan).read_text())["items"]] == ["applied"] * 2
    assert run("edit", server_uri, ns, "A", "--set", "total=5", *stated)[0] == 0
    assert run("edit", server_uri, ns, "D", "--set", 'state="open"', *stated)[0] == 0
    carried = ("change", server_uri, ns, "--plan", plan, "--apply", *stated)
    status, _, err = run(*carried)
    assert (status, "matches the filter now came after the plan, such as D." in err) == (1, True)
    assert {id: row["total"] for id, row in stored(database).items()} == {"A": 5, "B": 12, "C": 3, "D": 4}
    status, again = rows(*carried)
    assert (status, [(row["id"], row["outcome"]) for row in again]) == (1, [("A", "conflict"), ("B", "skipped")])
    assert stored(database)["B"]["total"] == 12
    only_b = json.loads(Path(plan).read_text())
    only_b["items"] = only_b["items"][1:]
    Path(plan).write_text(json.dumps(only_b))
    status, said, err = run(*carried)
    assert (status, "1 so already." in said, "Nothing is left to do" in err) == (0, True, True)


def test_a_unique_index_that_one_document_breaks_is_one_sentence_and_the_others_are_done(
    rows: Rows, server_uri: str, database: Any, orders: tuple[str, str]
) -> None:
    ns, profile = orders
    database["orders"].create_index("seal", unique=True, sparse=True)
    status, done = rows("change", server_uri, ns, "{}", "--set", "seal=1", "--apply", "--profile", profile)
    assert status == 1
    assert [row["outcome"] for row in done].count("applied") == 1
    refused = [row["detail"] for row in done if row["outcome"] == "refused"]
    assert len(refused) == 3
    assert all("seal" in said for said in refused)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Say which documents"),
        (["--set", "a=1"], "Say which documents"),
        ([" ", "--set", "a=1"], "write '{}'"),
        (["{}"], "Nothing to change"),
        (["{}", "--set", "a"], "is not a change"),
        (["{}", "--set", "a=1", "a=2"], "set twice"),
        (["{}", "--set", "a=1", "--unset", "a.b"], "name one place twice"),
        (["{}", "--rename", "a"], "is no rename"),
        (["{}", "--set", "v=1"], "kept by the layout"),
        (["{}", "--set", 'x."a.b"=1'], "a dot or a dollar"),
        (["{}", "--set", "a=1", "--update", "{$set: {a: 1}}"], "leave one of them out"),
        (["{}", "--update", "{$set"], "line 1"),
        (["{state", "--set", "a=1"], "line 1"),
        (["{}", "--set", "a=1", "--plan", "p", "--apply"], "leave one of them out"),
        (["--plan", "none.json", "--apply"], "There is no plan none.json"),
    ],
)
def test_bad_words_are_one_sentence(
    run: Run, server_uri: str, orders: tuple[str, str], words: list[str], said: str
) -> None:
    ns, profile = orders
    status, out, err = run("change", server_uri, ns, *words, "--profile", profile)
    assert (status, out) == (2, "")
    assert said.lower() in err.lower()
    assert len(err.strip().splitlines()) == 1
