"""Opens this program's own SQLite files; one that is damaged, hostile or from another version is set aside."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from model.errors import Refused
from model.foundation import kept_files
from model.foundation.whole_files import whole_file

PATIENCE = 10.0
"""Seconds to wait for another process's write."""

PAUSE = 0.02  # seconds until another look at a file that seems cut off
_LEAST = 512  # bytes of the smallest page
_LOGS = ("-wal", "-journal")
_BESIDE = (*_LOGS, "-shm")  # SQLite's own files
_FOREIGN = re.compile(r"\b(CHECK|GENERATED|AS|REFERENCES|UNIQUE|CONFLICT|COLLATE|VIRTUAL)\b", re.IGNORECASE)


FOREIGN = "its tables are those of another program or version"


class OtherForm(sqlite3.DatabaseError):
    """A file whose table has another form than this program's."""


def connected(
    path: Path, schema: str, table: str, widen: Callable[[sqlite3.Connection], object] = lambda _: None
) -> sqlite3.Connection:
    """A connection to a file with the tables of a schema, which are created if missing; the file is 0600.

    ``widen`` adds what a file of an earlier version lacks. Raises ``sqlite3.Error`` and ``OSError``.
    """
    seen = _begun(path, schema)
    try:
        return _connected(path, schema, table, widen)
    except sqlite3.DatabaseError as error:
        if not _is_damage(error) or not _set_aside(path, seen):
            raise
    _begun(path, schema)
    return _connected(path, schema, table, widen)


def trouble(error: sqlite3.Error | OSError, path: Path, seen: os.stat_result | None) -> Refused:
    """What to say about an error of a file; a damaged file is set aside, so that the next use begins anew.

    ``seen`` is the file that was open (by ``stat``), None if none was.
    """
    if _is_damage(error) and seen is not None and _set_aside(path, seen):
        return Refused(f"{path} is damaged and was set aside, so this could not be done; try again.")
    locked = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
    todo = "another program holds it; try again" if locked else "make room there or move it away"
    return Refused(f"{path} cannot be used ({error}): {todo}.")


def _begun(path: Path, schema: str) -> os.stat_result:
    """The file to be opened, which is created if missing."""
    for each in (path, *_beside(path)):
        kept_files.clear(each)
    # In this order: what was there before the file was missing is not the log of one that was begun since.
    logs = _logs(path)
    if not path.exists():
        for log, seen in logs.items():
            kept_files.set_aside(log, seen)  # SQLite would take it for the log of the new file
        _create(path, schema)
    return path.stat()


def _create(path: Path, schema: str) -> None:
    """Create a file with its tables, unless another process is faster; until it is whole it has another name.

    So an empty file is never a new one: it has lost what it held.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as made:
        made.executescript(schema)
        whole = made.serialize()
    with contextlib.suppress(FileExistsError), whole_file(path, new=True) as file:
        file.write(whole)


def _connected(
    path: Path, schema: str, table: str, widen: Callable[[sqlite3.Connection], object]
) -> sqlite3.Connection:
    if path.stat().st_size < _LEAST and not _logs(path):
        raise OtherForm(FOREIGN)  # SQLite takes it for an empty file
    db = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
    try:
        db.row_factory = sqlite3.Row
        db.text_factory = lambda data: str(data, "utf-8", "backslashreplace")  # else one damaged text hides all rows
        # A file from elsewhere may define functions and triggers, which would run with this user's rights.
        db.execute("PRAGMA trusted_schema = OFF")
        _prepare(db, "")
        if _is_cut_off(db, path):
            time.sleep(PAUSE)  # another process may be writing its last page
            if _is_cut_off(db, path):
                raise OtherForm(FOREIGN)
        if db.execute("SELECT 1 FROM sqlite_master").fetchone():
            widen(db)
            _check(db, schema, table)
        _prepare(db, schema)
    except UnicodeDecodeError:  # Python cannot even read SQLite's message on damaged names
        db.close()
        raise OtherForm(FOREIGN) from None
    except BaseException:
        db.close()
        raise
    return db


def _is_cut_off(db: sqlite3.Connection, path: Path) -> bool:
    """Whether a file ends within a page, where SQLite reads zeros.

    The size of a page is SQLite's answer: closing the file after a look at its head would end the locks of every other
    connection of this process. A crash may leave a part of a page, which SQLite mends from its log beside the file.
    """
    (page,) = db.execute("PRAGMA page_size").fetchone()
    return path.stat().st_size % page != 0 and not _logs(path)


def _logs(path: Path) -> dict[Path, os.stat_result]:
    """SQLite's logs beside a file that hold something."""
    found = {}
    for log in (path.with_name(path.name + ending) for ending in _LOGS):
        with contextlib.suppress(FileNotFoundError):  # another process may be done with it
            if (seen := log.stat()).st_size:
                found[log] = seen
    return found


def _prepare(db: sqlite3.Connection, schema: str) -> None:
    """Create write-ahead log and tables. SQLite itself does not wait when several processes create a file together."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(schema)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.005)


def _check(db: sqlite3.Connection, schema: str, table: str) -> None:
    """Raise :class:`OtherForm` if rows of this program cannot be written to the table, or anything acts on them."""
    for kind, sql in db.execute("SELECT type, sql FROM sqlite_master"):
        # A constraint or trigger of somebody else could refuse or change the note of a write that is already done.
        if kind in ("trigger", "view") or _FOREIGN.search(sql or ""):
            raise OtherForm(FOREIGN)
    body = schema[schema.index("(") + 1 : schema.index(");")]
    wanted = {column.split()[0] for column in body.split(",")}
    columns = {row["name"]: row for row in db.execute(f"PRAGMA table_info({table})")}
    if columns and wanted - columns.keys():
        raise OtherForm(FOREIGN)
    # Further columns are welcome, as of a newer version, unless rows without a value for them are refused.
    if any(columns[name]["notnull"] and columns[name]["dflt_value"] is None for name in columns.keys() - wanted):
        raise OtherForm(FOREIGN)


def _is_damage(error: Exception) -> bool:
    if isinstance(error, OtherForm):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _set_aside(path: Path, seen: os.stat_result) -> bool:
    """Set aside the damaged file that was ``seen``; whether it is gone from its place, also by another process.

    What another process has begun there since is in use.
    """
    with contextlib.suppress(OSError):
        if _is_at(path, seen):
            kept_files.set_aside(path, path.lstat(), *_beside(path))
    return not _is_at(path, seen)


def _is_at(path: Path, seen: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), seen)
    except OSError:
        return False


def _beside(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in _BESIDE]
