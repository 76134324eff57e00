"""A home that goes away, is taken over or cannot be written while a write is under way."""

from __future__ import annotations

import datetime as dt
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pymongo.database
import pytest

from model.records import Outcome
from model.userdata.journal import Intent, Journal
from tests import support
from tests.journeys.command_support import Run
from tests.model import session_scenes

Db = pymongo.database.Database
OTHER = Intent("mongodb://other/", "x.y", None, "edit", "plain", None, None, token="0" * 24)
BEGIN = Journal.begin  # as it is where a test has put something in its place


def deleted(home: Path) -> None:
    shutil.rmtree(home)


def taken_over(home: Path) -> None:
    """Another program begins a journal there, whose first entry has the number of ours."""
    shutil.rmtree(home)
    other = Journal(home)
    BEGIN(other, OTHER)
    other.close()


def a_file_in_its_place(home: Path) -> None:
    shutil.rmtree(home)
    home.write_text("")


@pytest.mark.parametrize("fault", [deleted, taken_over, a_file_in_its_place], ids=lambda fault: fault.__name__)
def test_an_edit_whose_entry_is_gone_names_the_file_and_offers_no_undo(
    run: Run, server_uri: str, database: Db, home: Path, fault: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    session_scenes.archive(database)

    def begin_and_lose(journal: Journal, intent: Intent) -> str:
        entry = BEGIN(journal, intent)
        fault(home)
        return entry

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "begin", begin_and_lose)
        status, out, _ = run("edit", server_uri, f"{database.name}.contracts", "K-2", "--set", "steps=9")
    assert (status, out.partition(":")[0]) == (0, "applied")
    assert database["contracts"].find_one({"_id": "K-2"})["steps"] == 9
    assert str(home) in out
    assert "palimpsest undo" not in out
    if fault is taken_over:
        (entry,) = Journal(home).entries()
        assert (entry.source, entry.kind) == (OTHER.source, "begun"), "the entry of the other program is as it was"


FULL = """
import resource, sys
from model.commands import command_line
from model.userdata.journal import Journal
begin = Journal.begin
def begin_and_fill(journal, intent):
    entry = begin(journal, intent)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
    return entry
Journal.begin = begin_and_fill
sys.exit(command_line.main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of a file")
def test_an_edit_on_a_disk_that_fills_up_names_the_file_and_is_found_again(
    run: Run, server_uri: str, database: Db, home: Path
) -> None:
    session_scenes.archive(database)
    argv = ["edit", server_uri, f"{database.name}.contracts", "K-2", "--set", "steps=9"]
    done = subprocess.run(
        [sys.executable, "-c", f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n{FULL}", *argv],
        cwd=support.ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.partition(":")[0]) == (0, "applied"), done
    assert str(home / "journal.sqlite3") in done.stdout
    assert "palimpsest undo" not in done.stdout
    (entry,) = Journal(home).unsettled()
    assert entry.kind == "begun", "the intent is there, and is settled by what is in the database"


def test_what_a_killed_clean_up_left_in_the_file_goes_with_the_next_one(home: Path) -> None:
    journal = Journal(home)
    for _ in range(40):
        id = journal.begin(Intent("mongodb://s/", "a.b", None, "edit", "plain", b"\5\0\0\0\0", bytes(range(256)) * 40))
        journal.end(id, Outcome("applied", "a.b", None, ""))
    journal.close()
    path = home / "journal.sqlite3"
    with sqlite3.connect(path) as db:  # the first half of a clean-up
        db.execute("DELETE FROM entries")
    db.close()
    before = path.stat().st_size
    assert journal.prune(dt.timedelta(days=1), apply=True) == (0, 0)
    assert path.stat().st_size < before / 2
