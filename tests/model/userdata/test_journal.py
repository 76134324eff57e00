"""The journal: every write is noted before it is sent, with what undoing needs."""

from __future__ import annotations

import datetime as dt
import errno
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bson import Int64
from msgspec.structs import replace

from model import text
from model.commands import command_line
from model.errors import NotFound, Refused
from model.foundation.records import Outcome
from model.userdata import kept_tables
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
    assert (entry.had_before, entry.has_after, entry.contents()) == (True, True, (BEFORE, AFTER))
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


def test_a_journal_of_text_is_read_on_and_written_on(tmp_path: Path) -> None:
    half = canonical.document([("name", Value(canonical.STRING, b"\x03\x00\x00\x00\xff\xfe\x00"))])
    journal = Journal(tmp_path)
    old, new = journal.begin(INTENT), journal.begin(INTENT)
    journal.end(old, APPLIED)
    written = text.to_text(half).encode("utf-8", "surrogatepass")
    with sqlite3.connect(tmp_path / "journal.sqlite3") as db:
        db.execute(
            "UPDATE entries SET before = ?, after = ?, stored = ? WHERE id = ?",
            (text.to_text(BEFORE), text.to_text(AFTER), written, int(old)),
        )
    db.close()
    record = Journal(tmp_path).record(old)
    assert (record.before, record.after, record.stored) == (BEFORE, AFTER, half)
    assert record.entry.contents() == (BEFORE, AFTER)
    assert [entry.id for entry in Journal(tmp_path).entries()] == [new, old]


def large(price: float, size: int = 40_000) -> bytes:
    items = [{"n": n, "name": f"name {n}", "text": "lorem ipsum " * 8} for n in range(size // 130)]
    return canonical.encode({"price": price, "items": items, "noise": random.Random(size).randbytes(size)})


@pytest.mark.parametrize("after", [large(1.5), large(2.5), large(2.5, 90_000), BEFORE, canonical.EMPTY, None])
def test_large_documents_come_back_byte_for_byte(tmp_path: Path, after: bytes | None) -> None:
    journal = Journal(tmp_path)
    id = journal.begin(replace(INTENT, before=large(1.5), after=after, stored=large(3.5)))
    record = journal.record(id)
    assert (record.before, record.after, record.stored) == (large(1.5), after, large(3.5))
    journal.end(id, APPLIED, stored_content=large(4.5))
    assert journal.record(id).after == large(4.5)


def test_a_small_change_of_a_large_document_is_kept_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    text_alone = {"lines": [f"line {n} " + "lorem ipsum " * 8 for n in range(9000)]}
    before, after = (canonical.encode({"price": price, **text_alone}) for price in (1.5, 2.5))
    journal.begin(replace(INTENT, before=before, after=after))
    journal.close()
    assert (tmp_path / "journal.sqlite3").stat().st_size < len(before) / 4


def test_the_file_is_opened_once_and_an_intent_alone_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, plain, ran = [], sqlite3.connect, []

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        opened.append(plain(*args, **options))
        opened[-1].set_trace_callback(ran.append)
        return opened[-1]

    Journal(tmp_path).entries()  # begins the file
    monkeypatch.setattr(sqlite3, "connect", connect)
    journal = Journal(tmp_path)
    for _ in range(3):
        journal.end(journal.begin(INTENT), APPLIED)
    assert len(opened) == 1
    told = [line.split(" = ")[-1] if line.startswith("PRAGMA sync") else line.split()[0] for line in ran]
    steps = [each for each in told if each in ("FULL", "NORMAL", "INSERT", "UPDATE")][:6]
    assert steps == ["FULL", "INSERT", "NORMAL", "UPDATE", "UPDATE", "FULL"]


@pytest.mark.skipif(os.name == "nt", reason="Windows lets nobody move a file that is open")
def test_a_journal_that_was_moved_away_begins_anew(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.begin(INTENT)
    (tmp_path / "journal.sqlite3").rename(tmp_path / "kept.sqlite3")
    assert journal.entries() == []
    journal.begin(INTENT)
    assert len(journal.entries()) == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps rights elsewhere")
def test_the_journal_is_for_its_owner_only(tmp_path: Path) -> None:
    home = tmp_path / "new"
    journal = Journal(home)
    journal.begin(INTENT)
    assert home.stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o777 for p in home.iterdir()} == {0o600}


def other_columns(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, written TEXT)")
    db.close()


def a_trigger(path: Path) -> None:
    journal = Journal(path.parent)
    journal.begin(INTENT)
    journal.close()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TRIGGER gone AFTER INSERT ON entries BEGIN DELETE FROM entries; END")
    db.close()


def no_database(path: Path) -> None:
    path.write_text("something else, long enough to be looked at as a database file")


def a_folder(path: Path) -> None:
    path.mkdir()


def a_folder_beside(path: Path) -> None:
    path.with_name(f"{path.name}-wal").mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def words_that_are_none(path: Path) -> None:
    """SQLite repeats them in its message, as the bytes that they are."""
    other_columns(path)
    data = path.read_bytes()
    assert b"CREATE TABLE" in data
    path.write_bytes(data.replace(b"CREATE TABLE", b"CREATE \xb5ABLE"))


def cut_within_its_last_page(path: Path) -> None:
    """SQLite reads zeros from there on, which are rows that nobody has written."""
    Journal(path.parent).begin(INTENT)
    path.write_bytes(path.read_bytes()[:-1])


def emptied(path: Path) -> None:
    """As a file system leaves it that lost its content in a crash."""
    Journal(path.parent).begin(INTENT)
    path.write_bytes(b"")


DAMAGES = [
    *(no_database, other_columns, words_that_are_none, a_trigger, cut_within_its_last_page, emptied),
    *(a_folder, a_folder_beside, a_pipe),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_no_journal_is_set_aside_and_a_new_one_begins(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    damage(tmp_path / "journal.sqlite3")
    journal = Journal(tmp_path)
    journal.end(journal.begin(INTENT), APPLIED)
    assert [entry.kind for entry in journal.entries()] == ["applied"]
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".damaged")]


BEGINNING = """
import sys
from pathlib import Path
from tests.model.userdata.test_journal import APPLIED, INTENT
from model.userdata.journal import Journal
sys.stdin.readline()
journal = Journal(Path(sys.argv[1]))
journal.end(journal.begin(INTENT), APPLIED)
"""


@pytest.mark.parametrize("links", [True, False])
def test_programs_that_begin_a_journal_together_use_one_and_take_none_for_emptied(links: bool, tmp_path: Path) -> None:
    none = "import os\nos.link = lambda *_: os.rename('a folder that is not there', 'x')\n"
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", BEGINNING if links else none + BEGINNING, str(tmp_path / "home")],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for each in begun:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    assert [(each.communicate()[1], each.returncode) for each in begun] == [("", 0)] * 4
    assert len(Journal(tmp_path / "home").entries()) == 4
    assert {each.name.partition("-")[0] for each in (tmp_path / "home").iterdir()} == {"journal.sqlite3"}


@pytest.mark.parametrize("step", ["fsync", "link"])
def test_a_journal_that_cannot_be_begun_leaves_nothing_behind_and_is_begun_later(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        patch.setattr(Path, "rename", full)
        with pytest.raises(Refused, match="make room there"):
            Journal(tmp_path).begin(INTENT)
        assert not list(tmp_path.iterdir())
    journal = Journal(tmp_path)
    journal.end(journal.begin(INTENT), APPLIED)
    assert [entry.kind for entry in journal.entries()] == ["applied"]


@pytest.mark.skipif(os.name == "nt", reason="Windows lets nobody copy a file that is being written")
def test_a_journal_that_a_crash_cut_within_a_page_is_mended_from_its_log(tmp_path: Path) -> None:
    journal, crashed = Journal(tmp_path / "home"), tmp_path / "crashed"
    journal.end(journal.begin(INTENT), APPLIED)
    shutil.copytree(tmp_path / "home", crashed)
    path = crashed / "journal.sqlite3"
    assert path.with_name("journal.sqlite3-wal").stat().st_size
    with path.open("ab") as file:
        file.write(bytes(100))
    assert [entry.kind for entry in Journal(crashed).entries()] == ["applied"]
    assert not list(crashed.glob("*.damaged*"))


@pytest.mark.skipif(os.name == "nt", reason="only POSIX ends a process's locks with any of its files")
def test_opening_a_journal_again_leaves_the_locks_of_its_process_to_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.begin(INTENT)
    assert Journal(tmp_path).entries()
    code = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('SELECT 1 FROM entries'); db.close()"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "journal.sqlite3")], check=True)
    # Whoever is the last to close it clears the log away: without locks, another process took itself for the last.
    assert (tmp_path / "journal.sqlite3-wal").stat().st_size


def test_a_journal_that_is_found_damaged_later_is_set_aside_and_the_next_write_is_noted(tmp_path: Path) -> None:
    journal, path = Journal(tmp_path), tmp_path / "journal.sqlite3"
    for _ in range(200):
        journal.end(journal.begin(INTENT), APPLIED)
    journal.close()
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(Refused, match="damaged and was set aside"):
        journal.entries()
    journal.end(journal.begin(INTENT), APPLIED)
    assert len(journal.entries()) == 1
    assert (tmp_path / "journal.sqlite3.damaged").read_bytes()[8192:] == data[8192:]


def begun_elsewhere(home: Path) -> None:
    """Another process, which has found the damage too, sets the journal aside and notes a write in a new one."""
    for ending in ("", "-wal", "-shm"):
        if (damaged := home / f"journal.sqlite3{ending}").exists():
            damaged.replace(home / f"set aside{ending}")
    other = Journal(home)
    other.end(other.begin(INTENT), APPLIED)
    other.close()


def test_what_another_process_has_begun_in_the_place_of_a_damaged_journal_is_used_and_not_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_trigger(tmp_path / "journal.sqlite3")
    check = kept_tables._check

    def late(*of: Any) -> None:
        monkeypatch.setattr(kept_tables, "_check", check)
        begun_elsewhere(tmp_path)
        check(*of)

    monkeypatch.setattr(kept_tables, "_check", late)
    journal = Journal(tmp_path)
    assert len(journal.entries()) == 1

    def find_damage() -> None:
        with journal._file():
            begun_elsewhere(tmp_path)
            raise kept_tables.OtherForm(kept_tables.FOREIGN)

    with pytest.raises(Refused, match="damaged and was set aside"):
        find_damage()
    assert len(journal.entries()) == 1
    assert not list(tmp_path.glob("*.damaged*"))


DAMAGED_ROWS = {
    "no time": "at = 'yesterday'",
    "time of another type": "at = 7",
    "text that is none": "source = x'ff'",
    "unknown kind": "kind = 'perhaps'",
    "extra that is no JSON": "extra = '{'",
    "extra of another type": "extra = '7'",
    "extra that is deep": f"extra = '{'[' * 5000}'",
}


@pytest.mark.parametrize("change", DAMAGED_ROWS.values(), ids=DAMAGED_ROWS)
def test_a_damaged_entry_costs_itself_alone(change: str, tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for _ in range(3):
        journal.end(journal.begin(replace(INTENT, action="delete", extra={"run": "run-1"})), APPLIED)
    with sqlite3.connect(tmp_path / "journal.sqlite3") as db:
        db.execute(f"UPDATE entries SET {change} WHERE id = 2")
    db.close()
    assert [entry.id for entry in journal.entries()] == ["3", "1"]
    assert [entry.id for entry in journal.entries(limit=1, before="3")] == ["1"]
    assert journal.unsettled() == []
    with pytest.raises(Refused, match="damaged"):
        journal.record("2")
    assert journal.deletions(INTENT.source, INTENT.ns).keys() == {INTENT.document}


def test_a_time_without_a_zone_in_the_journal_is_one_in_utc(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.begin(INTENT)
    with sqlite3.connect(tmp_path / "journal.sqlite3") as db:
        db.execute("UPDATE entries SET at = '2026-01-01T00:00:00', host = 'elsewhere'")
    db.close()
    assert journal.record("1").age > dt.timedelta(0)
    assert journal.entries()[0].at == dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


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
