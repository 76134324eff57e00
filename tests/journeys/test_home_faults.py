"""A home that disappears, is taken over or cannot be written while a write is on its way."""

from __future__ import annotations

import datetime as dt
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pymongo.database
import pytest

from model.foundation.records import Outcome
from model.userdata.journal import Intent, Journal
from tests import support
from tests.hosted.actions import ACTIONS
from tests.hosted.bench import Bench, fill
from tests.hosted.matrix import MODEL
from tests.journeys.command_support import Run
from tests.model import session_scenes
from tests.servers.hosted_server import HostedServer

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


MOUNTED = """
import subprocess, sys
from pathlib import Path
from model.commands import command_line
from model.userdata.journal import Journal
home, when, *argv = sys.argv[1:]
def mount(*way):
    subprocess.run(["mount", *way, home], check=True)
def close_off():
    mount("--bind", home)
    mount("-o", "remount,bind,ro")
def fill():
    try:
        with open(Path(home) / "other", "wb", buffering=0) as other:
            while other.write(bytes(4096)):
                pass
    except OSError:
        pass
begin = Journal.begin
def begin_and(fault):
    def acting(journal, intent):
        entry = begin(journal, intent)
        fault()
        return entry
    Journal.begin = acting
if when == "read-only":
    close_off()
elif when == "read-only in mid-write":
    begin_and(close_off)
else:
    mount("-t", "tmpfs", "-o", "size=1m", "tmpfs")
    begin_and(fill)
sys.exit(command_line.main(argv))
"""
UNSHARED = ["unshare", "--mount"]


def may_mount() -> bool:
    """Whether a process of ours may have mounts of its own, which are gone with it."""
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return False
    return subprocess.run([*UNSHARED, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.skipif(not may_mount(), reason="only root may mount, and not in every container")
@pytest.mark.parametrize(
    ("when", "status", "kind"),
    [("read-only", 2, ""), ("read-only in mid-write", 0, "applied"), ("full in mid-write", 0, "applied")],
)
def test_an_edit_with_a_home_that_is_read_only_or_full_offers_an_undo_only_where_its_entry_is_there(
    server_uri: str, database: Db, home: Path, when: str, status: int, kind: str
) -> None:
    session_scenes.archive(database)
    home.mkdir(parents=True, exist_ok=True)
    argv = ["edit", server_uri, f"{database.name}.contracts", "K-2", "--set", "steps=9"]
    command = [*UNSHARED, sys.executable, "-c", MOUNTED, str(home), when, *argv]
    done = subprocess.run(command, cwd=support.ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.partition(":")[0]) == (status, kind), done
    assert (database["contracts"].find_one({"_id": "K-2"})["steps"] == 9) == (kind == "applied")
    there = [entry for entry in Journal(home).entries() if entry.kind == "applied"]
    assert ("(palimpsest undo 1)" in done.stdout) == bool(there)
    if not there:
        assert str(home / "journal.sqlite3") in done.stdout + done.stderr


ACTING = [
    "import", "revert", "count once", "process once", "clean up", "insert", "next number", "delete archive",
    pytest.param("repair", marks=pytest.mark.deep),
]  # fmt: skip


@pytest.mark.parametrize("name", ACTING)
def test_no_command_says_that_all_of_it_is_undone_where_an_entry_is_gone(
    name: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = next(each for each in ACTIONS if each.name == name)
    lost: list[str] = []

    def begin_and_lose(journal: Journal, intent: Intent) -> str:
        entry = BEGIN(journal, intent)
        if not lost:
            deleted(home)
        lost.append(entry)
        return entry

    with HostedServer(MODEL) as server:
        fill(server, MODEL)
        bench = Bench(server.uri, tmp_path)
        monkeypatch.setattr(Journal, "begin", begin_and_lose)
        action.work(bench)
    said = bench.out + bench.err
    assert lost
    assert bench.status in (0, 1), said
    assert str(home / "journal.sqlite3") in said or not said, "whoever shows nothing has the outcome, which tells it"
    assert "ll of it is undone" not in said
    for run in re.findall(r"palimpsest undo (\S+)\.", said):
        assert [*Journal(home).records("run", run)]
