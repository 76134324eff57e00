"""The attack on what the program keeps: one file of a home is damaged or hostile, and the program starts on it.

A damaged file may cost itself. The start goes on, everything else is as it was, the loss is told in a sentence, and the
file can be written again.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import resource
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import bson
import pymongo
from PySide6.QtCore import QCoreApplication, QEvent, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from gui import app, tasks
from gui.pages.page_request import PageRequest
from gui.style import preferences
from gui.tour.tour_views import settle
from gui.window.open_windows import OpenWindows
from model.errors import Cancelled, Refused
from model.foundation import kept_files
from model.foundation.records import Draft
from model.localserver import LocalServer
from model.session import Session
from model.session.health import Counted
from model.userdata import folders
from model.userdata.connections import Connections, SavedConnection
from model.userdata.lock import held
from model.values.canonical import Value
from tests.model import session_scenes

NS = "shop.contracts"
OTHER = "mongodb://other.example/"
NOW = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)
COUNTED = Counted(NOW, NS, "", 4, 0.5, True, {"V2": 1})
SLOW = 90.0  # seconds of one start on a busy machine; without damage it takes less than one
ROOM = 256 << 20  # bytes that the process may grow by in one start
HUGE = 40 << 30  # bytes, of which the disk holds none
DEEP = 100_000
OFTEN = 4  # of so many starts, one opens a source as well

T = TypeVar("T")
Damage = Callable[[Path, random.Random], None]


class Home:
    """A home in which every file has its content, about a server with two documents."""

    def __init__(self, folder: Path, server: LocalServer) -> None:
        self.folder, self.uri = folder, server.uri
        with pymongo.MongoClient[dict[str, Any]](server.uri) as client:
            session_scenes.archive(client["shop"])
        with lived_in(folder):
            self._fill()
        self.files = sorted(each.relative_to(folder) for each in folder.rglob("*") if each.is_file())

    def _fill(self) -> None:
        connections = Connections()
        connections.save(SavedConnection("here", self.uri, production=True))
        connections.save(SavedConnection("other", OTHER, read_only=True))
        connections.used("other")
        with Session.open(self.uri) as session:
            for id in ("K-1", "K-2"):
                session.drafts.keep(draft(session.source, id))
            for steps in (7, 8, 9):
                session.writing.edit(NS, Value.of("K-2"), {("steps",): Value.of(steps)})
            list(session.trust.check(quick=True))
            session.health.keep(COUNTED)
        with held("cleanup", self.uri):
            lock = next((folders.folder(None, "locks")).iterdir())
            dead = lock.read_bytes()
        lock.write_bytes(dead)
        windows = OpenWindows()
        first = windows.restore(True)
        settle()
        first.connecting.open_source(self.uri)
        settle()
        for kind in ("journal", "drafts"):
            first.workspace.open(first.sessions[0], PageRequest(kind))
        settle()
        first.connecting.open_source("sample:")
        settle()
        end(windows)
        preferences.put("zoom", 110)
        preferences.forget()

    def drawn(self, rng: random.Random) -> tuple[Path, Damage]:
        """A file of the home and a damage of it; each kind of file is as likely."""
        first = rng.choice(sorted({each.parts[0] for each in self.files}))
        file = rng.choice([each for each in self.files if each.parts[0] == first])
        return file, rng.choice(damages(file))

    def damaged(self, copy: Path, file: Path, damage: Damage, rng: random.Random) -> Case:
        """A copy of the home with one damaged file."""
        shutil.copytree(self.folder, copy)
        damage(copy / file, rng)
        return Case(copy, file, damage.__name__)


@dataclass(frozen=True)
class Case:
    """A home with one damaged file."""

    home: Path
    file: Path  # inside the home
    damage: str

    @property
    def path(self) -> Path:
        """The damaged file."""
        return self.home / self.file


def draft(source: str, id: str) -> Draft:
    """An unsaved edit of a document."""
    content = bson.encode({"steps": 1})
    return Draft(source, NS, Value.of(id), Value.of(4), content, content, NOW)


@contextmanager
def lived_in(home: Path) -> Iterator[None]:
    """Let the program live in a home."""
    preferences.forget()
    with patch.dict(os.environ, {"PALIMPSEST_HOME": str(home)}):
        os.environ.pop("PALIMPSEST_CACHE", None)
        yield
        preferences.forget()


# --- damages of any file


def empty(path: Path, _: random.Random) -> None:
    path.write_bytes(b"")


def cut_off(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(1, max(2, len(data)))])  # what is cut to nothing is empty


def random_bytes(path: Path, rng: random.Random) -> None:
    path.write_bytes(rng.randbytes(rng.choice((1, 100, 5000))))


def changed_bytes(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 3, 50))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(data)


def zeros(path: Path, _: random.Random) -> None:
    """As after a power cut."""
    path.write_bytes(bytes(path.stat().st_size))


def huge(path: Path, _: random.Random) -> None:
    os.truncate(path, HUGE)


def nested(path: Path, rng: random.Random) -> None:
    begin, end = rng.choice((("[", "]"), ('{"a":', "}")))
    path.write_text(begin * DEEP + "1" + end * DEEP, "utf-8")


def another_encoding(path: Path, _: random.Random) -> None:
    path.write_bytes(path.read_bytes().decode("latin-1").encode("utf-16"))


def a_folder(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()
    (path / "file").write_text("", "utf-8")


def a_pipe(path: Path, _: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def a_socket(path: Path, _: random.Random) -> None:
    path.unlink()
    short = Path(tempfile.mkdtemp(dir="/tmp"), "s")  # the name of a socket has a hundred bytes at most
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(short))
    os.replace(short, path)
    short.parent.rmdir()


def a_device(path: Path, _: random.Random) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def unreadable(path: Path, _: random.Random) -> None:
    """Not even root may read a link that leads to itself."""
    path.unlink()
    path.symlink_to(path.name)


def a_file_in_place_of_the_folder(path: Path, _: random.Random) -> None:
    if path.parent.name in ("drafts", "servers", "locks", "cache"):
        shutil.rmtree(path.parent)
        path.parent.write_text("", "utf-8")
    else:
        path.write_text("", "utf-8")


ANY: tuple[Damage, ...] = (
    *(empty, cut_off, random_bytes, changed_bytes, zeros, huge, nested, another_encoding),
    *(a_folder, a_pipe, a_socket, a_device, unreadable, a_file_in_place_of_the_folder),
)

# --- damages of JSON


ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**30, -(10**400), 1.5, 1e999, [], {}, [[]], ["a"], {"a": {}}),
    *("", "x" * 100_000, "\ud800", "\0", "\x1b[2J", "../../..", "mongodb://[", "%", "2026-01-01"),
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"),
)


def odd_value(rng: random.Random) -> Any:
    """A value that nothing expects."""
    return rng.choice(ODD)


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place inside a value: its container and its key."""
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield value, key
        yield from places_in(each)


def _rewritten(path: Path, change: Callable[[Any, list[tuple[Any, Any]]], object]) -> None:
    found = json.loads(path.read_text("utf-8"))
    places = [*places_in(found)]
    if places:
        change(found, places)
    path.write_text(json.dumps(found), "utf-8")


def another_type(path: Path, rng: random.Random) -> None:
    def change(_: Any, places: list[tuple[Any, Any]]) -> None:
        for _ in range(rng.choice((1, 1, 4))):
            within, key = rng.choice(places)
            within[key] = odd_value(rng)

    _rewritten(path, change)


def a_missing_field(path: Path, rng: random.Random) -> None:
    def change(_: Any, places: list[tuple[Any, Any]]) -> None:
        objects = [place for place in places if isinstance(place[0], dict)]  # nobody misses a row of a list
        if objects:
            within, key = rng.choice(objects)
            del within[key]

    _rewritten(path, change)


def a_later_version(path: Path, rng: random.Random) -> None:
    """Fields that nobody knows yet, in every object."""

    def change(found: Any, places: list[tuple[Any, Any]]) -> None:
        for each in [found, *(within[key] for within, key in places)]:
            if isinstance(each, dict):
                each["form"] = 99
                each["of a later version"] = odd_value(rng)

    _rewritten(path, change)


def another_whole(path: Path, rng: random.Random) -> None:
    path.write_text(json.dumps(odd_value(rng)), "utf-8")


def times_without_zone(path: Path, _: random.Random) -> None:
    path.write_bytes(path.read_bytes().replace(b"+00:00", b""))


JSON: tuple[Damage, ...] = (
    another_type,
    another_type,
    a_missing_field,
    a_later_version,
    another_whole,
    times_without_zone,
)

# --- damages of tables


def _table_of(path: Path) -> str:
    return "entries" if path.name.startswith("journal") else "scans"


def _sql(path: Path, *statements: tuple[str, tuple[Any, ...]]) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        for statement, values in statements:
            db.execute(statement, values)


def another_type_in_a_row(path: Path, rng: random.Random) -> None:
    table = _table_of(path)
    with closing(sqlite3.connect(path)) as db:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    values = (0, -1, 1.5, b"\xff", "", "x" * 100_000, "[" * 5000, "{}", "[]", "null", "2026-01-01", "\x1b[2J", 2**62)
    column = rng.choice(columns[1:])
    where = f"WHERE id = (SELECT max(id) FROM {table})"
    _sql(path, (f"UPDATE {table} SET {column} = ? {where}", (rng.choice(values),)))


def rows_without_zone(path: Path, _: random.Random) -> None:
    _sql(path, (f"UPDATE {_table_of(path)} SET at = replace(at, '+00:00', '')", ()))


def text_that_is_none(path: Path, rng: random.Random) -> None:
    column = rng.choice(("at", "source"))
    _sql(path, (f"UPDATE {_table_of(path)} SET {column} = CAST(x'ff' AS TEXT)", ()))


def other_columns(path: Path, rng: random.Random) -> None:
    table = _table_of(path)
    _sql(
        path,
        rng.choice(
            (
                (f"ALTER TABLE {table} RENAME COLUMN source TO origin", ()),
                (f"ALTER TABLE {table} ADD COLUMN later TEXT NOT NULL DEFAULT 'x'", ()),
                (f"DROP TABLE {table}", ()),
                (f"CREATE TRIGGER gone AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END", ()),
                (f"CREATE UNIQUE INDEX one ON {table} (source)", ())
                if table == "other"
                else ("PRAGMA user_version = 99", ()),
            )
        ),
    )


def a_view(path: Path, _: random.Random) -> None:
    """Whoever asks it for rows waits for ever."""
    table = _table_of(path)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS source FROM n"
    _sql(path, (f"DROP TABLE {table}", ()), (f"CREATE VIEW {table} AS {endless}", ()))


def a_folder_beside(path: Path, rng: random.Random) -> None:
    path.with_name(path.name + rng.choice(("-wal", "-shm", "-journal"))).mkdir()


def a_wrong_log(path: Path, rng: random.Random) -> None:
    path.with_name(path.name + rng.choice(("-wal", "-shm", "-journal"))).write_bytes(rng.randbytes(5000))


def damages(file: Path) -> Sequence[Damage]:
    """What can happen to a file, by its kind."""
    return [*ANY, *(JSON if file.suffix in (".json", ".lock") else TABLES if file.suffix == ".sqlite3" else ())]


SINGLE = another_type_in_a_row.__name__
TABLES: tuple[Damage, ...] = (
    *(another_type_in_a_row, another_type_in_a_row, another_type_in_a_row, rows_without_zone, text_that_is_none),
    *(other_columns, a_view, a_folder_beside, a_wrong_log),
)

# --- a start


class Faults:
    """What goes wrong that nobody can act on: errors that nobody caught, and tasks that fail without a sentence."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def note(self, where: str, error: BaseException | None) -> None:
        """Note an error, unless a person can act on it."""
        if isinstance(error, Refused):
            if not str(error).endswith((".", ":", "?")) or "\n" in str(error):
                self.found.append(f"{where}: no sentence: {error}")
        elif not isinstance(error, Cancelled):
            self.found.append(f"{where}: {type(error).__name__}: {error}")

    def say(self, kind: QtMsgType, context: object, text: str) -> None:
        """Note a message of Qt."""
        if "This plugin does not support" not in text:
            self.found.append(f"Qt: {text}")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch for errors."""
        made = tasks._Job.__init__

        def noting(job: tasks._Job, work: Callable[[Any], Any], *rest: Any) -> None:
            def watched_work(progress: Any) -> Any:
                try:
                    return work(progress)
                except BaseException as error:
                    self.note("task", error)
                    raise

            made(job, watched_work, *rest)

        hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
        sys.excepthook = lambda kind, error, trace: self.note("window", error)
        threading.excepthook = lambda died: self.note("thread", died.exc_value)
        sys.unraisablehook = lambda died: self.note("destructor", died.exc_value)
        before = qInstallMessageHandler(self.say)
        try:
            with patch.object(tasks._Job, "__init__", noting):
                yield
        finally:
            sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
            qInstallMessageHandler(before)


def end(windows: OpenWindows) -> None:
    """Close all windows."""
    for window in list(windows.all):
        window.close_quietly()
    kept_files.notices.listen(None)
    tasks.tasks.stop_all()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QCoreApplication.processEvents()


def start(home: Home, case: Case, with_source: bool) -> list[str]:
    """Start the program on a damaged home, use each of its files, and tell what is wrong."""
    faults = Faults()
    kept_files.notices.forget()
    began, grown = time.monotonic(), maxrss()
    with faults.watched(), lived_in(case.home):
        try:
            _live(home, case, with_source, faults.found)
        except Exception as error:
            faults.note("start", error)
    if (took := time.monotonic() - began) > SLOW:
        faults.found.append(f"took {took:.1f} s")
    if (more := maxrss() - grown) > ROOM:
        faults.found.append(f"grew by {more >> 20} MB")
    return faults.found


def _live(home: Home, case: Case, with_source: bool, found: list[str]) -> None:
    windows = OpenWindows()
    first = windows.restore(with_source)
    settle()
    if with_source:
        first.connecting.open_source("sample:" if case.file.parts[0] == "cache" else home.uri)
        settle()
        if not first.sessions:
            found.append("the source did not open")
    told = kept_files.notices.told
    shown = " ".join(line.text for line in first.messages.lines)
    if told and not any(Path(sentence.split(" is damaged")[0]).name in shown for sentence in told):
        found.append(f"not shown: {told}")
    end(windows)
    found += [f"use: {each}" for each in used(home, case)]


def used(home: Home, case: Case) -> Iterator[str]:
    """Read and write each file of a home; tells what does not work, or costs more than itself."""
    with Session.open(home.uri) as session:
        reads: dict[str, tuple[Callable[[], int], int]] = {
            "connections.json": (lambda: len(Connections().all()), 2),
            "drafts": (lambda: len(session.drafts.all()), 2),
            "journal.sqlite3": (lambda: len(session.journal.entries()), 3),
            "health.sqlite3": (lambda: len(session.health.scans()), 1),
            "servers": (lambda: int(session.trust.measured is not None), 1),
            "window.json": (lambda: int(preferences.get("zoom") == 110), 1),
        }
        for name, (read, wanted) in reads.items():
            mine = name == case.file.parts[0]
            try:
                found = again(read)
            except Refused as refusal:
                if not mine or case.damage != "unreadable":
                    yield f"{name} is refused: {refusal}"
                continue
            if found < wanted and not mine:
                yield f"{name} has {found} instead of {wanted}"
            if found < wanted and mine and not kept_files.notices.told and not untold(case):
                yield f"{name} has {found} instead of {wanted}, and nobody was told"
            if found < wanted - 1 and mine and case.damage == SINGLE:
                yield f"{name} has {found} of {wanted} rows"
        if case.damage != "unreadable":
            yield from written(session)


def again(work: Callable[[], T]) -> T:
    """Do something that may find a damaged file only in the middle, and then says so and asks to be tried again."""
    try:
        return work()
    except Refused as refusal:
        if not str(refusal).endswith("try again."):
            raise
        return work()


def untold(case: Case) -> bool:
    """Whether nobody can tell that something is missing.

    A setting has a default, a folder may be a new one, and a row may belong to another source or version.
    """
    no_folder = case.damage == a_file_in_place_of_the_folder.__name__
    of_others = case.damage in (SINGLE, text_that_is_none.__name__, another_type.__name__, other_columns.__name__)
    return case.file.name == "window.json" or no_folder or (of_others and case.file.parts[0] != "connections.json")


def written(session: Session) -> Iterator[str]:
    """Write each file; what is written is there."""
    Connections().save(SavedConnection("new", "mongodb://new.example/"))
    if "new" not in {each.name for each in Connections().all()}:
        yield "a connection is not kept"
    made = draft(session.source, "K-9")
    session.drafts.keep(made)
    if session.drafts.get(session.source, NS, made.id) is None:
        yield "a draft is not kept"
    steps = Value.of(random.randrange(10**9))
    outcome = again(lambda: session.writing.edit(NS, Value.of("K-2"), {("steps",): steps}))
    if outcome.kind != "applied" or outcome.entry is None or session.journal.lost:
        yield f"an edit: {outcome.kind}, {outcome.detail}, {session.journal.lost}"
    again(lambda: session.health.keep(COUNTED))
    if COUNTED not in session.health.scans():
        yield "a scan is not kept"
    session.trust.allow_unsafe(False)
    if session.trust.measured is None:
        yield "a verdict is not kept"
    with held("cleanup", session.source):
        pass


def maxrss() -> int:
    """The most memory that this process has held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def lived(folder: Path) -> Iterator[Home]:
    """A home about a running server."""
    app.application(["palimpsest"])
    with LocalServer() as server:
        yield Home(folder / "home", server)


def found_in(home: Home, file: Path, damage: Damage, rng: random.Random, with_source: bool) -> list[str]:
    """What is wrong after a start on the home with one damaged file."""
    case = home.damaged(home.folder.with_name("damaged"), file, damage, rng)
    found = start(home, case, case.file.parts[0] in ("cache", "window.json") or with_source)
    shutil.rmtree(case.home)
    return [f"{case.file}, {case.damage}: {each}" for each in found]


def attack(folder: Path, number: int = 2000, seed: int = 1) -> list[str]:
    """What is wrong after so many starts, each on a home with one damaged file drawn from ``seed``."""
    rng = random.Random(seed)
    with lived(folder) as home:
        return [each for at in range(number) for each in found_in(home, *home.drawn(rng), rng, not at % OFTEN)]


def first_found(folder: Path) -> list[str]:
    """What is wrong after the first start that anything is wrong with, of one for each damage of each file."""
    rng = random.Random(1)
    with lived(folder) as home:
        files = sorted(home.files, key=lambda file: file.suffix != ".json")  # a text is more often misread than a table
        each = ((file, damage) for file in files for damage in reversed(damages(file)))
        return next((found for file, damage in each if (found := found_in(home, file, damage, rng, False))), [])
