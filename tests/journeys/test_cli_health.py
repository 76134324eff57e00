"""`palimpsest health`: what the scans of a source came to, over time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import bson
import pytest

ROOT = Path(__file__).parents[2]


def palimpsest(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PALIMPSEST_HOME": str(home)}
    command = [sys.executable, "-m", "gui", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A dump of versions, one of them stored twice."""
    made = tmp_path / "dump"
    (made / "shop").mkdir(parents=True)
    write(made, (1, 2, 2, 3))
    return made


def scan(home: Path, dump: Path) -> subprocess.CompletedProcess[str]:
    return palimpsest(home, "scan", str(dump), "shop.contracts", "--layout", "versions")


def write(dump: Path, versions: tuple[int, ...]) -> None:
    rows = [
        {"_id": bson.ObjectId(), "docId": f"K-{n}", "v": v, "_w": bson.ObjectId(), "title": f"as of {v}"}
        for n in range(3)
        for v in versions
    ]
    (dump / "shop" / "contracts.bson").write_bytes(b"".join(map(bson.encode, rows)))


def test_the_scans_of_a_dump_tell_whether_the_next_one_is_better(tmp_path: Path, dump: Path) -> None:
    home = tmp_path / "home"
    none = palimpsest(home, "health", str(dump))
    assert (none.returncode, none.stdout) == (0, "")
    assert "palimpsest scan" in none.stderr
    assert scan(home, dump).returncode == 1
    write(dump, (1, 2, 3))
    assert scan(home, dump).returncode == 0
    told = palimpsest(home, "health", str(dump))
    assert told.returncode == 0, told.stderr
    head, last, first = told.stdout.splitlines()
    assert head.startswith("When")
    assert last.endswith("V1 3 → 0")
    assert first.endswith("V1 3")
    rows = [json.loads(line) for line in palimpsest(home, "health", str(dump), "--json").stdout.splitlines()]
    assert [(row["classes"], row["before"], row["whole"]) for row in rows] == [
        ({}, {"V1": 3}, True),
        ({"V1": 3}, None, True),
    ]
    assert palimpsest(home, "health", str(dump), "shop.other").stdout == ""


def test_a_scan_goes_on_where_its_line_cannot_be_kept(tmp_path: Path, dump: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "health.sqlite3").write_text("no database at all, but a text of some length")
    scanned = scan(home, dump)
    assert scanned.returncode == 1
    assert "will be missing in `palimpsest health`" in scanned.stderr
    assert palimpsest(home, "health", str(dump)).returncode == 2


def test_the_sample_says_why_nothing_is_kept(tmp_path: Path) -> None:
    told = palimpsest(tmp_path, "health", "sample:")
    assert told.returncode == 0
    assert "made anew each time" in told.stderr
    missing = palimpsest(tmp_path, "health", str(tmp_path / "nowhere"))
    assert missing.returncode == 2
    assert "is no source" in missing.stderr
