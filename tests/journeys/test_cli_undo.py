"""Undoing a write made with --layout or --profile: without that option, undo names it and writes nothing."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pymongo.database
import pytest

from model.session import Session
from model.userdata.journal import Journal
from tests.journeys.command_support import Run

Db = pymongo.database.Database[dict[str, Any]]
STATED = """
[[collection]]
ns = "{db}.orders"
layout = "versions"
id = "order"
version = "sheet"
"""


@pytest.fixture
def ns(database: Db) -> str:
    """Documents that are taken for plain, and that a person knows to be versions."""
    database["orders"].insert_many([{"order": "A", "sheet": 1, "total": 10}, {"order": "A", "sheet": 2, "total": 20}])
    database["orders"].create_index([("order", 1), ("sheet", 1)], unique=True)
    return f"{database.name}.orders"


@pytest.fixture
def profile(database: Db, tmp_path: Path) -> str:
    file = tmp_path / "team layouts.toml"
    file.write_text(STATED.format(db=database.name))
    return str(file)


def totals(database: Db) -> list[int]:
    return [each["total"] for each in database["orders"].find(sort=[("sheet", 1)])]


def test_undo_names_the_profile_that_it_lacks_and_goes_back_with_it(
    run: Run, server_uri: str, database: Db, ns: str, profile: str
) -> None:
    status, out, err = run("edit", server_uri, ns, "A", "--set", "total=30", "--profile", profile)
    assert (status, totals(database)) == (0, [10, 20, 30]), err
    entry = out.rpartition("palimpsest undo ")[2].rstrip(")\n")
    database["orders"].drop_indexes()  # nothing says any more what the documents are
    database["orders"].insert_many([{"order": n, "sheet": 7} for n in range(20)])
    status, out, err = run("undo", entry)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"written with --profile '{profile}'" in err
    assert f"`palimpsest undo {entry} --profile '{profile}'`" in err
    database["orders"].delete_many({"sheet": 7})
    database["orders"].create_index([("order", 1), ("sheet", 1)], unique=True)
    status, out, err = run("undo", entry, "--profile", profile)
    assert (status, err) == (0, "")
    assert totals(database) == [10, 20, 30, 20]


def test_undo_names_the_layout_that_it_lacks_and_goes_back_with_it(run: Run, server_uri: str, database: Db) -> None:
    database["notes"].insert_one({"_id": 1, "v": 1, "text": "a"})
    ns = f"{database.name}.notes"
    status, out, err = run("edit", server_uri, ns, "1", "--set", 'text="b"', "--layout", "plain")
    assert status == 0, err
    entry = out.rpartition("palimpsest undo ")[2].rstrip(")\n")
    database["notes_history"].insert_many([{"docId": n, "v": 1, "text": "a"} for n in range(1, 9)])
    database["notes"].insert_many([{"_id": n, "v": 2, "text": "b"} for n in range(2, 9)])
    status, _, err = run("undo", entry)
    assert status == 2
    assert "--layout plain" in err
    status, _, err = run("undo", entry, "--layout", "plain")
    assert (status, err) == (0, "")
    assert database["notes"].find_one({"_id": 1}, {"_id": 0, "text": 1}) == {"text": "a"}


def test_where_the_collection_is_read_in_the_same_way_without_the_option_undo_needs_none(
    run: Run, server_uri: str, database: Db
) -> None:
    database["notes"].insert_one({"_id": 1, "text": "a"})
    ns = f"{database.name}.notes"
    _, out, _ = run("edit", server_uri, ns, "1", "--set", 'text="b"', "--layout", "plain")
    entry = out.rpartition("palimpsest undo ")[2].rstrip(")\n")
    assert run("undo", entry)[0] == 0


def test_with_read_only_every_command_reads_and_none_writes(
    run: Run, server_uri: str, database: Db, ns: str, profile: str
) -> None:
    assert run("history", server_uri, ns, "A", "--profile", profile, "--read-only")[0] == 0
    status, out, err = run("edit", server_uri, ns, "A", "--set", "total=30", "--profile", profile, "--read-only")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "read-only" in err
    assert totals(database) == [10, 20]


def test_a_write_of_unknown_outcome_is_not_looked_for_in_another_layout(
    server_uri: str, database: Db, ns: str, profile: str
) -> None:
    with Session.open(server_uri, profile=profile) as session:
        outcome = session.edit(ns, "A", set={"total": 30})
        assert outcome.entry is not None
        with session.journal._file() as db:  # as if the process had died before the answer came
            db.execute("UPDATE entries SET kind = 'unknown' WHERE id = ?", (int(outcome.entry),))
    database["orders"].drop_indexes()
    database["orders"].insert_many([{"order": n, "sheet": 7} for n in range(20)])
    with Session.open(server_uri) as session:
        again = session.way_back.look_again(outcome.entry)
        assert again.kind == "unknown"
        assert "--profile" in again.detail
    with Session.open(server_uri, profile=profile) as session:
        assert session.way_back.look_again(outcome.entry).kind == "applied"


def test_an_edit_that_was_applied_is_told_though_its_entry_is_pruned_at_once(
    run: Run, server_uri: str, database: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by another program, after a clock that went wrong for a while."""
    database["things"].insert_many([{"_id": n, "total": n} for n in range(5)])
    end = Journal.end

    def end_and_prune(journal: Journal, *of: Any) -> None:
        end(journal, *of)
        Journal().prune(dt.timedelta(days=-1), apply=True)

    monkeypatch.setattr(Journal, "end", end_and_prune)
    status, out, err = run("edit", server_uri, f"{database.name}.things", "3", "--set", "total=30")
    assert (status, err) == (0, "")
    assert out.startswith("applied: Saved. Whether it can be undone is not known. The journal has no entry 1;")
    assert database["things"].find_one({"_id": 3}) == {"_id": 3, "total": 30}
