"""`palimpsest health`: the results of a source's scans over time."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import bson
import pytest

from model.userdata import kept_tables
from tests.journeys.command_support import Rows, Run


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A dump of versions, one of them stored twice."""
    made = tmp_path / "dump"
    (made / "shop").mkdir(parents=True)
    write(made, (1, 2, 2, 3))
    return made


def write(dump: Path, versions: tuple[int, ...]) -> None:
    rows = [
        {"_id": bson.ObjectId(), "docId": f"K-{n}", "v": v, "_w": bson.ObjectId(), "title": f"as of {v}"}
        for n in range(3)
        for v in versions
    ]
    (dump / "shop" / "contracts.bson").write_bytes(b"".join(map(bson.encode, rows)))


def test_the_scans_of_a_dump_tell_whether_the_next_one_is_better(run: Run, rows: Rows, dump: Path) -> None:
    scan = ("scan", str(dump), "shop.contracts", "--layout", "versions")
    status, out, err = run("health", str(dump))
    assert (status, out) == (0, "")
    assert "palimpsest scan" in err
    assert run(*scan)[0] == 1
    write(dump, (1, 2, 3))
    assert run(*scan)[0] == 0
    status, out, err = run("health", str(dump))
    assert status == 0, err
    head, last, first = out.splitlines()
    assert head.startswith("When")
    assert last.endswith("V1 3 → 0")
    assert first.endswith("V1 3")
    _, found = rows("health", str(dump))
    assert [(row["classes"], row["before"], row["whole"]) for row in found] == [
        ({}, {"V1": 3}, True),
        ({"V1": 3}, None, True),
    ]
    assert run("health", str(dump), "shop.other")[1] == ""


def test_a_scan_goes_on_where_its_line_cannot_be_kept(
    run: Run, home: Path, dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_tables, "PATIENCE", 0.05)
    with sqlite3.connect(home / "health.sqlite3") as other:
        other.execute("BEGIN EXCLUSIVE")
        status, _, err = run("scan", str(dump), "shop.contracts", "--layout", "versions")
        assert status == 1
        assert "will be missing in `palimpsest health`" in err
        assert run("health", str(dump))[0] == 2
    other.close()


def test_a_record_of_scans_that_is_none_is_set_aside_and_begins_anew(run: Run, home: Path, dump: Path) -> None:
    (home / "health.sqlite3").write_text("no database at all, but a text of some length")
    assert run("scan", str(dump), "shop.contracts", "--layout", "versions")[0] == 1
    assert (home / "health.sqlite3.damaged").read_text().startswith("no database")
    assert run("health", str(dump), "--json")[1].count("\n") == 1


def test_a_damaged_row_of_the_record_costs_itself_alone(run: Run, home: Path, dump: Path) -> None:
    for _ in range(3):
        run("scan", str(dump), "shop.contracts", "--layout", "versions")
    with sqlite3.connect(home / "health.sqlite3") as db:
        db.execute("UPDATE scans SET counts = '[' WHERE id = 1")
        db.execute("UPDATE scans SET at = '2026-01-01T00:00:00' WHERE id = 2")
    db.close()
    status, out, _ = run("health", str(dump), "--json")
    assert (status, out.count("\n")) == (0, 2)


def test_the_sample_says_why_nothing_is_kept(run: Run, tmp_path: Path) -> None:
    status, _, err = run("health", "sample:")
    assert status == 0
    assert "created again at each start" in err
    status, _, err = run("health", str(tmp_path / "nowhere"))
    assert status == 2
    assert "is not a source" in err
