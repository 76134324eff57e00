"""Conditions that a profile watches: when they changed and by whom, in `palimpsest scan` and `palimpsest health`."""

from __future__ import annotations

import datetime as dt
import sqlite3
from pathlib import Path

import bson
import pytest

from tests.journeys.command_support import Rows, Run

START = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
PROFILE = """
[[collection]]
ns = "shop.contracts"
layout = "versions"
at = "at"
author = "by"

[[collection.watch]]
name = "Overdue"
filter = "{status: 'overdue'}"

[[collection.watch]]
name = "No premium"
filter = '{"premium.net": {"$exists": false}}'
"""


def write(dump: Path, histories: dict[str, dict[int, str]]) -> None:
    rows = [
        {
            "_id": bson.ObjectId(), "docId": id, "v": v, "_w": bson.ObjectId(), "status": status,
            "premium": {"net": 5} if v < 4 else {}, "at": START + dt.timedelta(hours=v), "by": f"user-{v}",
        }
        for id, history in histories.items()
        for v, status in history.items()
    ]  # fmt: skip
    (dump / "shop").mkdir(parents=True, exist_ok=True)
    (dump / "shop" / "contracts.bson").write_bytes(b"".join(map(bson.encode, rows)))


@pytest.fixture
def watched(tmp_path: Path) -> tuple[str, ...]:
    """The words of a scan of four documents whose conditions turn here and there, by a profile."""
    write(
        tmp_path / "dump",
        {
            "A": {1: "open", 2: "overdue", 3: "open", 4: "overdue"},
            "B": {1: "open", 2: "open"},
            "C": {1: "open", 2: "open", 3: "open", 5: "overdue"},  # v4 is missing
            "D": {1: "overdue"},
        },
    )
    (tmp_path / "profile.toml").write_text(PROFILE, "utf-8")
    return "scan", str(tmp_path / "dump"), "shop.contracts", "--profile", str(tmp_path / "profile.toml")


def test_a_scan_tells_where_each_condition_turned_and_by_whom(rows: Rows, watched: tuple[str, ...]) -> None:
    status, found = rows(*watched)
    assert status == 1  # for the gap; a turn is no damage
    turns = [row for row in found if "watch" in row]
    assert all("watch" in row or row["class"] == "V2" for row in found)
    told = [
        (
            t["watch"],
            t["id"],
            int(t["v"]["$numberInt"]),
            t["holds"],
            int(t["before"]["$numberInt"]),
            t["missing"],
            t["author"],
        )
        for t in turns
    ]
    assert told == [
        ("Overdue", "A", 2, True, 1, 0, "user-2"),
        ("Overdue", "A", 3, False, 2, 0, "user-3"),
        ("Overdue", "A", 4, True, 3, 0, "user-4"),
        ("No premium", "A", 4, True, 3, 0, "user-4"),
        ("Overdue", "C", 5, True, 3, 1, None),
        ("No premium", "C", 5, True, 3, 1, None),
    ]


def test_the_table_of_a_scan_says_what_holds_and_what_is_not_proven(run: Run, watched: tuple[str, ...]) -> None:
    _, out, _ = run(*watched)
    assert 'Watched in shop.contracts, "Overdue": it holds in 3 documents.' in out
    assert 'Watched in shop.contracts, "No premium": it holds in 2 documents.' in out
    lines = out.splitlines()
    (gap, _) = [line for line in lines if line.startswith("C ") and "between" in line]
    assert "between v3 and v5, not proven: holds from here on" in gap
    assert "user-5" not in gap
    assert any(line.startswith("A ") and "user-3" in line and "holds no more" in line for line in lines)
    _, only, _ = run(*watched, "--id", "B")
    assert 'Watched in shop.contracts, "Overdue": it holds in 0 documents.' in only


def test_health_tells_how_many_documents_a_condition_holds_in(
    run: Run, rows: Rows, watched: tuple[str, ...], home: Path
) -> None:
    dump = watched[1]
    run(*watched)
    write(Path(dump), {"A": {1: "open"}, "D": {1: "overdue"}})
    run(*watched)
    run("scan", dump, "shop.contracts", "--layout", "versions")  # without the profile nothing is watched
    _, found = rows("health", dump)
    assert [row["watched"] for row in found] == [
        {},
        {"shop.contracts": {"Overdue": 1, "No premium": 0}},
        {"shop.contracts": {"Overdue": 3, "No premium": 2}},
    ]
    lines = run("health", dump)[1].splitlines()
    assert lines[2].endswith("Overdue 3 → 1, No premium 2 → 0")
    with sqlite3.connect(home / "health.sqlite3") as db:  # as an earlier version made the file
        db.execute("ALTER TABLE scans DROP COLUMN watched")
    run(*watched)
    assert [row["watched"] for row in rows("health", dump)[1]] == [found[1]["watched"], {}, {}, {}]


def test_a_condition_that_fails_on_a_document_is_told_and_the_others_go_on(run: Run, watched: tuple[str, ...]) -> None:
    profile = Path(watched[-1])
    bad = """{"$expr": {"$gt": [{"$divide": ["$premium.net", "$status"]}, 1]}}"""
    profile.write_text(f"{PROFILE}[[collection.watch]]\nname = 'Ratio'\nfilter = '{bad}'\n", "utf-8")
    status, _, err = run(*watched)
    assert status == 1
    assert "The watched conditions of shop.contracts A are not known: The condition is not understood" in err


def test_a_bad_filter_is_one_sentence_with_the_line_of_the_profile(run: Run, watched: tuple[str, ...]) -> None:
    profile = Path(watched[-1])
    line = PROFILE.splitlines().index('filter = \'{"premium.net": {"$exists": false}}\'') + 1
    for bad in ('{"premium.net": {"$exits": false}}', '{"premium.net": '):
        profile.write_text(PROFILE.replace('{"premium.net": {"$exists": false}}', bad), "utf-8")
        status, out, err = run(*watched)
        assert (status, out) == (2, "")
        assert len(err.splitlines()) == 1
        assert f'profile.toml, collection 1 (shop.contracts), line {line}: watch "No premium": ' in err
