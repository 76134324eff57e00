"""Rows of the journal that are damaged: they are told, and all other entries can be had, on the command line."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pymongo.database
import pytest

from tests.journeys.command_support import Rows, Run
from tests.model import session_scenes as scenes
from tests.support import every

Db = pymongo.database.Database[dict[str, Any]]

DAMAGE = {
    "at": ("at = 'long ago'", "at = 7", "at = x'ff00'"),
    "kind": ("kind = 'odd'",),
    "document": ("document = 'K-1'", "document = '{'", "document = x'ff'"),
    "source": ("source = x'ff'",),
    "detail": ("detail = x'ff'",),
    "pid": ("pid = 'me'",),
    "extra": ("extra = 'none'", "extra = '[]'", 'extra = \'{"target": "a.b"}\'', "extra = '{\"uptime\": 1}'"),
    "hash_before": ("hash_before = x'01'",),
    "version_after": ("version_after = '{'",),
    "undoes": ("undoes = 'x'",),
}
CASES = [change for several in DAMAGE.values() for change in several]


def spoil(home: Path, change: str, entry: str) -> None:
    with closing(sqlite3.connect(home / "journal.sqlite3")) as db, db:
        assert db.execute(f"UPDATE entries SET {change} WHERE id = ?", (int(entry),)).rowcount == 1


def edited(run: Run, uri: str, ns: str) -> None:
    for steps in ("7", "8"):
        assert run("edit", uri, ns, "K-2", "--set", f"steps={steps}")[0] == 0
    assert run("edit", uri, ns, "K-1", "--set", "steps=9")[0] == 0


@pytest.mark.parametrize("change", every(5, CASES, in_slice=True))
def test_one_damaged_entry_costs_itself_alone(
    change: str, run: Run, rows: Rows, server_uri: str, database: Db, home: Path
) -> None:
    scenes.archive(database)
    ns = f"{database.name}.contracts"
    edited(run, server_uri, ns)
    _, before = rows("journal")
    third, second, first = before[:3]
    spoil(home, change, second["entry"])
    status, told = rows("journal")
    assert status == 0
    assert told == [third, first, *before[3:]]
    assert run("journal")[0] == 0
    status, out, err = run("undo", second["entry"], "--source", server_uri)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"Entry {second['entry']} of the journal " in err
    assert "is damaged, so it cannot be shown or undone." in err
    assert run("undo", third["entry"], "--source", server_uri)[0] == 0
    assert run("edit", server_uri, ns, "K-2", "--set", "steps=10")[0] == 0
    assert run("asof", server_uri, ns, "2100-01-01")[0] == 0


@pytest.mark.parametrize("change", ["at = 'x'", "after = x'01'"])
def test_the_rest_of_a_run_is_undone(
    change: str, run: Run, rows: Rows, server_uri: str, database: Db, home: Path, tmp_path: Path
) -> None:
    scenes.archive(database)
    ns, again, file = f"{database.name}.contracts", f"{database.name}.again", tmp_path / "h.jsonl"
    assert run("export", server_uri, ns, "--jsonl", str(file))[0] == 0
    _, done = rows("import", str(file), server_uri, again, "--apply")
    name = done[0]["run"]
    _, written = rows("journal")
    spoil(home, change, written[0]["entry"])
    status, undone = rows("undo", name, "--source", server_uri)
    assert status == 1
    assert undone[0]["outcome"] == "refused"
    assert f"Entry {written[0]['entry']}" in undone[0]["detail"]
    assert len(undone) == len([row for row in written if row["run"] == name])
    for row in written:
        spoil(home, "extra = extra || 'x'", row["entry"])
    status, out, err = run("undo", name, "--source", server_uri)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "is damaged, so it cannot be shown or undone." in err
