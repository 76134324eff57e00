"""An archive row above the current version is told as what it is, and nobody counts it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pymongo.database
import pytest

from tests.journeys.command_support import Rows, Run, rows_of

Db = pymongo.database.Database[dict[str, Any]]
DAY = [dt.datetime(2026, 3, day, 12, tzinfo=dt.UTC) for day in range(1, 10)]
NOTE = "never landed"


@pytest.fixture
def orders(database: Db, tmp_path: Path) -> tuple[str, tuple[str, str]]:
    """An order at v3; v4 in its archive is by mallory, whose edit never reached it. Another one has only such a row."""
    for v, who in ((1, "ann"), (2, "ben"), (4, "mallory")):
        row = {"docId": "A", "v": v, "changedAt": DAY[v], "changedBy": who, "total": v}
        database["orders_past"].insert_one(row)
    database["orders"].insert_one({"_id": "A", "v": 3, "changedAt": DAY[3], "changedBy": "ann", "total": 3})
    database["orders"].insert_one({"_id": "B", "v": 1, "changedAt": DAY[1], "changedBy": "ann", "total": 7})
    file = tmp_path / "profile.toml"
    file.write_text(
        f'[[collection]]\nns = "{database.name}.orders"\nlayout = "archive"\n'
        f'archive = "{database.name}.orders_past"\nat = "changedAt"\nauthor = "changedBy"\n'
    )
    return f"{database.name}.orders", ("--profile", str(file))


def test_activity_marks_it_and_counts_it_nowhere(
    run: Run, rows: Rows, server_uri: str, orders: tuple[str, tuple[str, str]]
) -> None:
    ns, profile = orders
    status, found = rows("activity", server_uri, ns, *profile)
    assert status == 0
    assert [(row["id"], row["v"]["$numberInt"], row.get("note")) for row in found] == [
        ("A", "4", NOTE),
        ("A", "3", None),
        ("A", "2", None),
        ("B", "1", None),
        ("A", "1", None),
    ]
    status, out, _ = run("activity", server_uri, ns, *profile, "--author", "mallory")
    assert NOTE in out
    assert "edited" not in out
    assert status == 1, "a version that never landed is no change"


def test_the_collection_as_it_stood_leaves_it_out(
    rows: Rows, server_uri: str, orders: tuple[str, tuple[str, str]]
) -> None:
    ns, profile = orders
    _, found = rows("asof", server_uri, ns, "2026-03-09", *profile)
    assert {row["id"]: (row["v"]["$numberInt"], row["proven"]) for row in found} == {"A": ("3", True), "B": ("1", True)}
    assert rows("asof", server_uri, ns, "2026-03-04T13:00:00Z", "2026-03-09", "--compare", *profile) == (0, [])


def test_history_blame_and_bisect_say_it_too(
    run: Run, rows: Rows, server_uri: str, orders: tuple[str, tuple[str, str]]
) -> None:
    ns, profile = orders
    _, found = rows("history", server_uri, ns, "A", *profile)
    assert [(row["v"]["$numberInt"], row["state"], row.get("note")) for row in found] == [
        ("4", "damaged", NOTE),
        ("3", "present", None),
        ("2", "present", None),
        ("1", "present", None),
    ]
    _, out, _ = run("history", server_uri, ns, "A", *profile)
    assert f"{NOTE}; above the current version" in out
    status, out, err = run("blame", server_uri, ns, "A", *profile, "--json")
    assert status == 0
    assert [row["v"]["$numberInt"] for row in rows_of(out)] == ["3"]
    assert err == "v4 never landed, because it is above the current version; it is left out.\n"
    _, found = rows("bisect", server_uri, ns, "A", "{total: {$gte: 2}}", *profile)
    assert [row["v"]["$numberInt"] for row in found] == ["2"]
    assert rows("bisect", server_uri, ns, "A", "{total: {$gte: 4}}", *profile) == (1, [])
