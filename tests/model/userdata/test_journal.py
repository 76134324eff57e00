"""The journal: every write leaves a trace before it is sent, and what undoing needs."""

from __future__ import annotations

import datetime as dt
import json
import os
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from bson import Int64

from model.commands import command_line
from model.errors import NotFound, Refused
from model.records import Outcome
from model.userdata.journal import Intent, Journal
from model.values import canonical
from model.values.canonical import Value

BEFORE, AFTER = canonical.encode({"status": "open", "n": 1}), canonical.encode({"status": "closed", "n": Int64(1)})
INTENT = Intent(
    source="mongodb://eva@db/",
    ns="shop.orders",
    document=Value.of("A-1"),
    action="edit",
    layout="archive",
    before=BEFORE,
    after=AFTER,
    version_before=Value.of(3),
    token="64f0a1c29b1e8a0012c4d7aa",
)
APPLIED = Outcome("applied", "shop.orders", Value.of("A-1"), "v3 → v4", Value.of(4))


def test_an_entry_says_before_and_after_exactly(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    id = journal.begin(INTENT)
    journal.end(id, APPLIED)
    record = Journal(tmp_path).record(id)
    assert (record.before, record.after, record.document) == (BEFORE, AFTER, Value.of("A-1"))
    assert (record.version_before, record.version_after) == (Value.of(3), Value.of(4))
    entry = record.entry
    assert (entry.kind, entry.action, entry.ns, entry.detail) == ("applied", "edit", "shop.orders", "v3 → v4")
    assert (entry.hash_before, entry.hash_after) == (canonical.hash_of(BEFORE), canonical.hash_of(AFTER))
    assert entry.before == '{"status": "open", "n": {"$numberInt": "1"}}'
    assert entry.undoable


def test_the_newest_entry_comes_first_and_older_pages_follow(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    ids = [journal.begin(replace(INTENT, ns=f"shop.c{i}")) for i in range(5)]
    assert [e.id for e in journal.entries(limit=2)] == [ids[4], ids[3]]
    assert [e.id for e in journal.entries(limit=9, before=ids[3])] == [ids[2], ids[1], ids[0]]


def test_entries_of_one_source_can_be_asked_for(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.begin(INTENT)
    other = journal.begin(replace(INTENT, source="mongodb://other/"))
    assert [e.id for e in journal.entries(source="mongodb://other/")] == [other]


def test_an_entry_that_is_not_there_is_said(tmp_path: Path) -> None:
    for id in ("99", "none", "9" * 30):
        with pytest.raises(NotFound, match=f"no entry {id}"):
            Journal(tmp_path).entry(id)


def test_only_what_was_applied_and_not_undone_can_be_undone(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    begun = journal.begin(INTENT)
    unknown, conflict, done = (journal.begin(INTENT) for _ in range(3))
    journal.end(unknown, replace(APPLIED, kind="unknown"))
    journal.end(conflict, replace(APPLIED, kind="conflict"))
    journal.end(done, APPLIED)
    undo = journal.begin(replace(INTENT, action="undo", undoes=done))
    assert journal.entry(done).undoable  # the undo has not happened so far
    journal.end(undo, APPLIED)
    assert [journal.entry(i).undoable for i in (begun, unknown, conflict, done, undo)] == [False] * 4 + [True]
    assert journal.entry(done).undone_by == undo
    assert "already" in journal.entry(done).why_not


def test_what_was_in_memory_can_be_undone_by_its_own_session_only(tmp_path: Path) -> None:
    mine = Journal(tmp_path, lifetime="now")
    id = mine.begin(INTENT)
    mine.end(id, APPLIED)
    assert mine.entry(id).undoable
    assert "in memory" in Journal(tmp_path).entry(id).why_not


@pytest.mark.deep
def test_a_process_that_died_in_between_is_told_as_not_known(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from tests.model.userdata.test_journal import INTENT
from model.userdata.journal import Journal
Journal(Path(sys.argv[1])).begin(INTENT)
os._exit(9)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == 9
    (left,) = Journal(tmp_path).unsettled()
    assert left.kind == "begun"
    assert left.detail.startswith("Not known")


def test_a_write_that_is_still_going_on_is_not_told_as_lost(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.begin(INTENT)
    assert journal.unsettled() == []


def test_threads_and_journals_of_one_file_do_not_lose_entries(tmp_path: Path) -> None:
    Journal(tmp_path)

    def work() -> None:
        for _ in range(10):
            mine = Journal(tmp_path)
            mine.end(mine.begin(INTENT), APPLIED)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    entries = Journal(tmp_path).entries(limit=1000)
    assert len({e.id for e in entries}) == 80
    assert {e.kind for e in entries} == {"applied"}


def test_half_characters_survive(tmp_path: Path) -> None:
    broken = canonical.document([("name", Value(canonical.STRING, b"\x03\x00\x00\x00\xff\xfe\x00"))])
    journal = Journal(tmp_path)
    id = journal.begin(replace(INTENT, before=broken))
    assert journal.record(id).before == broken


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps rights elsewhere")
def test_the_journal_is_for_its_owner_only(tmp_path: Path) -> None:
    home = tmp_path / "new"
    journal = Journal(home)
    journal.begin(INTENT)
    assert home.stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o777 for p in home.iterdir()} == {0o600}


def test_a_file_that_is_no_journal_is_said_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite3").write_text("something else, long enough to be looked at as a database file")
    with pytest.raises(Refused, match="move it away"):
        Journal(tmp_path).entries()
    assert (tmp_path / "journal.sqlite3").read_text().startswith("something else")


def test_a_journal_that_cannot_be_written_stops_the_write_before_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)

    def full(*args: object, **kwargs: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(Refused, match="disk is full"):
        journal.begin(INTENT)


def aged(home: Path, id: str, days: int) -> None:
    """Make an entry look as old as that."""
    at = (dt.datetime.now(dt.UTC) - dt.timedelta(days=days)).isoformat(timespec="milliseconds")
    with sqlite3.connect(home / "journal.sqlite3") as db:
        db.execute("UPDATE entries SET at = ? WHERE id = ?", (at, int(id)))
    db.close()


def test_old_entries_are_forgotten_with_their_documents_and_those_that_matter_stay(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    old, refused, begun, unknown, undone, young = (journal.begin(INTENT) for _ in range(6))
    for id, kind in (
        (old, "applied"),
        (refused, "refused"),
        (unknown, "unknown"),
        (undone, "applied"),
        (young, "applied"),
    ):
        journal.end(id, replace(APPLIED, kind=kind))
    undo = journal.begin(replace(INTENT, action="undo", undoes=undone))
    for id in (old, refused, begun, unknown, undone):
        aged(tmp_path, id, 100)
    assert journal.prune(dt.timedelta(days=90)) == (2, 3)
    assert len(journal.entries()) == 7, "nothing goes without being asked to"
    assert journal.prune(dt.timedelta(days=90), apply=True) == (2, 3)
    assert [e.id for e in journal.entries()] == [undo, young, undone, unknown, begun]
    assert journal.prune(dt.timedelta(days=90), apply=True) == (0, 3)
    assert journal.prune(dt.timedelta(days=10**6), apply=True) == (0, 0)
    assert int(journal.begin(INTENT)) > int(undo), "a number is not given twice"


def test_what_is_pruned_is_not_in_the_file_any_more(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    secret = canonical.encode({"note": "pl4nted-c0ntent"})
    id = journal.begin(replace(INTENT, before=secret, after=secret))
    journal.end(id, APPLIED)
    aged(tmp_path, id, 400)
    assert any(b"pl4nted-c0ntent" in file.read_bytes() for file in tmp_path.iterdir())
    journal.prune(dt.timedelta(days=365), apply=True)
    assert not any(b"pl4nted-c0ntent" in file.read_bytes() for file in tmp_path.iterdir())


def test_the_command_says_what_it_would_forget_and_does_it_on_request(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = Journal()
    id = journal.begin(INTENT)
    journal.end(id, APPLIED)
    aged(home, id, 100)
    assert command_line.main(["journal", "--prune", "90d"]) == 0
    assert "1 entry is old enough; nothing was forgotten" in capsys.readouterr().out
    assert command_line.main(["journal", "--prune", "90d", "--apply", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"entries": 1, "kept": 0, "applied": True}
    assert journal.entries() == []
    assert command_line.main(["journal", "--apply"]) == 2
    assert "--prune" in capsys.readouterr().err


def test_half_characters_in_ids_versions_and_sentences_do_not_end_a_write_in_an_error(tmp_path: Path) -> None:
    half = Value(canonical.STRING, b"\x05\x00\x00\x00K-1\xcd\x00")
    journal = Journal(tmp_path)
    id = journal.begin(replace(INTENT, document=half, version_before=half))
    journal.end(id, replace(APPLIED, id=half, detail="Saved, but hi\udccds differs.", version=half))
    record = journal.record(id)
    assert (record.document, record.version_before, record.version_after) == (half, half, half)
    assert record.entry.detail == "Saved, but hi\\udccds differs."
    assert "udccd" in record.entry.document
