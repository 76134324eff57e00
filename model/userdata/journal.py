"""The journal of writes: an intent before each, its outcome afterwards, and the data to undo it.

It is one SQLite file (``journal.sqlite3``, 0600) in the data folder, which several processes can share (write-ahead
log, 10 s of patience). A process that dies between intent and outcome leaves an entry of kind ``begun``; somebody
must look to know whether its write arrived. An intent is on disk before its write is sent; an outcome may be lost in
a power cut, because it can be found again. Documents are stored as BSON; large ones are compressed, and if a write
changes little, the common part is stored once. Older journals with Extended JSON can be read. Sources have no
password.

An entry on data that are only in memory has the session's ``lifetime``; it can only be undone in that session.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import socket
import sqlite3
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, convert, field

from model import text
from model.errors import NotFound, Refused, Unreadable
from model.foundation import kept_files
from model.foundation.records import Entry, Outcome
from model.userdata import folders as homes
from model.userdata import kept_tables, packed_document
from model.userdata.journal_rows import check, valued, written
from model.values import canonical
from model.values.canonical import Value

T = TypeVar("T")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL, ended TEXT, pid INTEGER NOT NULL, host TEXT NOT NULL,
    source TEXT NOT NULL, lifetime TEXT NOT NULL, ns TEXT NOT NULL, document TEXT NOT NULL, layout TEXT NOT NULL,
    action TEXT NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL, token TEXT,
    before, after, stored, hash_before TEXT, hash_after TEXT, version_before TEXT, version_after TEXT,
    extra TEXT NOT NULL, undoes INTEGER, undone_by INTEGER
);
CREATE INDEX IF NOT EXISTS by_kind ON entries (kind) WHERE kind IN ('begun', 'unknown');
"""
_LISTED = (
    "id, at, pid, host, source, lifetime, ns, document, layout, action, kind, detail, token, hash_before, hash_after,"
    " version_before, version_after, extra, undoes, undone_by, before IS NOT NULL AS had_before,"
    " after IS NOT NULL AS has_after"
)
_DOCUMENTS = "before, after, stored"  # may be large, so read only if needed
_FOR_GOOD = {
    "migrate": "Take a whole move back with `palimpsest migrate … --take-back --apply`.",
    "create index": "An index is not dropped from here; drop it with your own tools.",
    "erase": "An erasure has no way back.",
    "next number": "A number that was handed out is not taken back: somebody may use it already.",
}
_DIED = "Not known: the process ended before the answer came."
_ERASED = "erased"  # a key of ``extra``: its contents were taken out for good
_UPTIME = "uptime"  # a key of ``extra``: for how many seconds the computer was up


class Intent(Struct, frozen=True):
    """A write about to be sent."""

    source: str  # without password
    ns: str
    document: Value | None  # its id; None if the write is about the collection
    action: str
    layout: str
    before: bytes | None = None  # contents; None if there was none
    after: bytes | None = None
    version_before: Value | None = None
    stored: bytes | None = None  # the stored document that goes, if undo needs more than its content
    token: str | None = None  # the write token, hex
    extra: Mapping[str, str] = field(default_factory=dict)  # Extended JSON of values that only this action has
    undoes: str | None = None


class Record(Struct, frozen=True):
    """An entry with everything needed to undo it or to look for its write."""

    entry: Entry
    document: Value | None
    layout: str
    before: bytes | None
    after: bytes | None
    version_before: Value | None
    version_after: Value | None
    stored: bytes | None
    token: str | None
    extra: Mapping[str, str]
    undoes: str | None
    age: dt.timedelta
    """The minimal time since it began: setting the clock does not make a write look older."""


class Journal:
    """The journal of one person on one computer; several threads can use it, over one connection to the file."""

    def __init__(self, home: Path | None = None, lifetime: str = "") -> None:
        self._home, self._lifetime = homes.chosen(home), lifetime
        self._lock = threading.RLock()
        self._open: _OpenFile | None = None
        self._tokens: dict[str, str] = {}  # the write tokens of entries that have not ended
        self.begun: Counter[str] = Counter()
        """The number of writes of each run that were noted here before they were sent."""
        self.lost: list[str] = []
        """A sentence for each write that happened but could not be noted, and so cannot be undone from here."""
        self._close = weakref.finalize(self, lambda: None)

    @property
    def path(self) -> Path:
        """The path of the file; creates its folder if missing. A run that only reads documents needs neither."""
        return homes.folder(self._home) / "journal.sqlite3"

    def begin(self, intent: Intent) -> str:
        """Note a write before it is sent; returns the entry's id. If it raises ``Refused``, do not send the write."""
        row = {
            "at": _now(),
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "source": intent.source,
            "lifetime": self._lifetime,
            "ns": intent.ns,
            "document": "" if intent.document is None else _storable(text.value_text(intent.document)),
            "layout": intent.layout,
            "action": intent.action,
            "kind": "begun",
            "detail": "",
            "token": intent.token,
            "before": packed_document.pack(intent.before),
            "after": packed_document.pack(intent.after, intent.before),
            "stored": packed_document.pack(intent.stored),
            "hash_before": None if intent.before is None else canonical.hash_of(intent.before),
            "hash_after": None if intent.after is None else canonical.hash_of(intent.after),
            "version_before": _value(intent.version_before),
            "extra": json.dumps({**intent.extra, _UPTIME: f"{_uptime():.3f}"}),
            "undoes": None if intent.undoes is None else int(intent.undoes),
        }
        names = ", ".join(row)
        # On disk before the write is sent: after a power cut, an entry without a write does no harm, but not the
        # reverse.
        with self._file(durably=True) as db:
            marks = ", ".join(f":{name}" for name in row)
            entry = str(db.execute(f"INSERT INTO entries ({names}) VALUES ({marks})", row).lastrowid)
        if intent.token:
            self._tokens[entry] = intent.token
        if run := intent.extra.get("run"):
            self.begun[str(run)] += 1
        return entry

    def end(self, entry: str, outcome: Outcome, stored_content: bytes | None = None) -> None:
        """Note how a write ended. ``stored_content`` is the content on the server, if it differs from the one sent."""
        changes: dict[str, Any] = {
            "ended": _now(),
            "kind": outcome.kind,
            "detail": outcome.detail.encode("utf-8", "backslashreplace").decode(),  # it may quote half a character
            "version_after": _value(outcome.version),
        }
        if outcome.token is not None:
            changes["token"] = outcome.token
        if outcome.kind == "applied" and outcome.id is not None:
            changes["document"] = _storable(text.value_text(outcome.id))  # its number may have been taken meanwhile
        if stored_content is not None:
            changes |= {"after": packed_document.pack(stored_content), "hash_after": canonical.hash_of(stored_content)}
        sets = ", ".join(f"{name} = :{name}" for name in changes)
        with self._file() as db:
            # If another file took the place of this one, its entry with this number is about another write.
            asked = changes | {"entry": int(entry), "begun": self._tokens.pop(entry, None)}
            found = db.execute(
                f"UPDATE entries SET {sets} WHERE id = :entry AND (:begun IS NULL OR token IS :begun)", asked
            )
            if not found.rowcount:
                raise Refused(
                    f"Entry {entry} is not in the journal {self.path} any more: the file was moved away or started "
                    "again while this was written, so it cannot be undone from here."
                )
            if outcome.kind == "applied":
                db.execute(
                    "UPDATE entries SET undone_by = :entry WHERE id = (SELECT undoes FROM entries WHERE id = :entry)",
                    {"entry": int(entry)},
                )

    def entries(self, limit: int = 200, source: str | None = None, before: str | None = None) -> list[Entry]:
        """The entries, newest first; optionally of one source only, or only those before an entry."""
        found: list[Entry] = []
        before_id = None if before is None else _number(before)
        while len(found) < limit:
            most = limit - len(found)
            with self._file() as db:
                rows = db.execute(
                    f"SELECT {_LISTED} FROM entries WHERE (:source IS NULL OR source = :source)"
                    " AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :limit",
                    {"source": source, "before": before_id, "limit": most},
                ).fetchall()
            found += self._sound(rows, self._entry)
            if len(rows) < most:
                break
            # Damaged rows were left out, so older ones are asked for until the page is full.
            before_id = rows[-1]["id"]
        return found

    def entry(self, id: str) -> Entry:
        """One entry; raises ``NotFound``."""
        return self.record(id).entry

    def record(self, id: str) -> Record:
        """One entry with all its data; raises ``NotFound``, and ``Unreadable`` if it is damaged."""
        with self._file() as db:
            row = db.execute(f"SELECT {_LISTED}, {_DOCUMENTS} FROM entries WHERE id = ?", (_number(id),)).fetchone()
        if row is None:
            raise NotFound(f"The journal has no entry {id}; `palimpsest journal` lists them.")
        try:
            entry = self._entry(row)
        except kept_files.DAMAGE:
            raise Unreadable(
                f"Entry {id} of the journal {self.path} is damaged, so it cannot be shown or undone."
            ) from None
        try:
            return self._record(row, entry)
        except Unreadable as error:
            raise Unreadable(f"Entry {id}: {error}") from None

    def records(self, name: str, value: str) -> Iterator[Record]:
        """The entries with this value in their ``extra``, such as the run of a repair; oldest first, without damaged
        ones.
        """
        for row in self._having(name, value):
            try:
                record = self.record(str(row["id"]))
            except Unreadable as error:
                kept_files.notices.tell(str(error))
            else:
                yield record

    def damaged(self, name: str, value: str) -> list[Outcome]:
        """The entries that :meth:`records` leaves out because they are damaged, as outcomes of their undo."""
        found = []
        for row in self._having(name, value):
            try:
                self.record(str(row["id"]))
            except Unreadable as error:
                found.append(Outcome("refused", str(row["ns"]), None, str(error)))
        return found

    def _having(self, name: str, value: str) -> list[sqlite3.Row]:
        """The rows with this value in their ``extra``, or with the value's text in one that is damaged."""
        with self._file() as db:
            return db.execute(
                f"SELECT {_LISTED} FROM entries WHERE instr(extra, ?)"
                " AND CASE WHEN json_valid(extra) THEN json_extract(extra, ?) = ? ELSE 1 END ORDER BY id",
                (json.dumps(value), f'$."{name}"', value),
            ).fetchall()

    def deletions(self, source: str, ns: str) -> dict[Value, dt.datetime]:
        """When documents of a collection were last deleted from here, by id."""
        asked = (
            "SELECT id, document, at, lifetime FROM entries WHERE source = ? AND ns = ? AND action = 'delete'"
            " AND kind = 'applied' ORDER BY id"
        )
        with self._file() as db:
            rows = [row for row in db.execute(asked, (source, ns)).fetchall() if not self._is_gone(row)]
        found = self._sound(rows, lambda row: (valued(row["document"]), kept_files.moment(row["at"])))
        return {document: at for document, at in found if document is not None}

    def merges(self, source: str) -> set[tuple[str, Value, Value]]:
        """The versions in a source that were made by merging here: collection, document and version."""
        asked = (
            "SELECT id, ns, document, version_after, lifetime FROM entries WHERE source = ? AND action = 'merge'"
            " AND kind = 'applied'"
        )
        with self._file() as db:
            rows = [row for row in db.execute(asked, (source,)).fetchall() if not self._is_gone(row)]
        found = self._sound(rows, lambda row: (row["ns"], valued(row["document"]), valued(row["version_after"])))
        return {(ns, document, v) for ns, document, v in found if document is not None and v is not None}

    def _record(self, row: sqlite3.Row, entry: Entry) -> Record:
        before = packed_document.unpack(row["before"])
        return Record(
            entry=entry,
            document=valued(row["document"]),
            layout=row["layout"],
            before=before,
            after=packed_document.unpack(row["after"], before),
            version_before=valued(row["version_before"]),
            version_after=valued(row["version_after"]),
            stored=packed_document.unpack(row["stored"]),
            token=row["token"],
            extra=_extra(row),
            undoes=None if row["undoes"] is None else str(row["undoes"]),
            age=_age(row),
        )

    def prune(self, age: dt.timedelta, apply: bool = False) -> tuple[int, int]:
        """Delete entries older than ``age`` with their documents; returns how many are deleted, and how many must
        stay.

        An entry in doubt stays, and so does one that a younger entry undoes. Without ``apply`` nothing is deleted. A
        deleted entry's write cannot be undone, and nothing of it remains in the file.
        """
        try:
            before = (dt.datetime.now(dt.UTC) - age).isoformat(timespec="milliseconds")
        except OverflowError:
            return 0, 0
        needed = (
            "kind IN ('begun', 'unknown') OR id IN (SELECT undoes FROM entries"
            " WHERE undoes IS NOT NULL AND (at >= :before OR kind IN ('begun', 'unknown')))"
        )
        with self._file() as db:
            (old,) = db.execute("SELECT count(*) FROM entries WHERE at < :before", {"before": before}).fetchone()
            (kept,) = db.execute(
                f"SELECT count(*) FROM entries WHERE at < :before AND ({needed})", {"before": before}
            ).fetchone()
            if apply and old > kept:
                db.execute(f"DELETE FROM entries WHERE at < :before AND NOT ({needed})", {"before": before})
                # `VACUUM` cannot run inside a transaction.
                db.commit()
            # An earlier call may have died between deleting and this, so its documents are still in the file's free
            # pages.
            if apply and (old > kept or db.execute("PRAGMA freelist_count").fetchone()[0]):
                _forget_free_pages(db)
        return old - kept, kept

    def with_contents(self, source: str, ns: str, document: Value) -> int:
        """How many entries hold contents of one document; raises ``Refused`` as :meth:`erase` does."""
        return self._holding(source, ns, document, erased=False)

    def erase(self, source: str, ns: str, document: Value) -> int:
        """Take the contents of all writes to one document out of their entries; returns how many entries had some.

        The entries stay, without the documents by which they could be undone. Raises ``Refused`` while one of these
        writes is in doubt: whoever settles it needs its contents.
        """
        return self._holding(source, ns, document, erased=True)

    def _holding(self, source: str, ns: str, document: Value, erased: bool) -> int:
        mine = "WHERE source = :source AND ns = :ns AND document = :document AND action <> 'erase'"
        named = {"source": source, "ns": ns, "document": _storable(text.value_text(document))}
        held = "before IS NOT NULL OR after IS NOT NULL OR stored IS NOT NULL OR hash_before IS NOT NULL"
        with self._file(durably=erased) as db:
            in_doubt = f"SELECT id FROM entries {mine} AND kind IN ('begun', 'unknown')"
            if (row := db.execute(in_doubt, named).fetchone()) is not None:
                raise Refused(f"Whether entry {row['id']} of the journal was written is not known; settle that first.")
            (found,) = db.execute(f"SELECT count(*) FROM entries {mine} AND ({held})", named).fetchone()
            if erased:
                db.execute(
                    "UPDATE entries SET before = NULL, after = NULL, stored = NULL, hash_before = NULL,"
                    f" hash_after = NULL, extra = json_set(extra, '$.{_ERASED}', 'yes') {mine} AND ({held})",
                    named,
                )
                db.commit()
                _forget_free_pages(db)
        return int(found)

    def unsettled(self) -> list[Entry]:
        """Writes that may have arrived: those with an unknown outcome, and those of processes that died."""
        with self._file() as db:
            rows = db.execute(
                f"SELECT {_LISTED} FROM entries WHERE kind IN ('begun', 'unknown') ORDER BY id DESC"
            ).fetchall()
        return [
            entry
            for entry, alive in self._sound(rows, lambda row: (self._entry(row), _alive(row["pid"], row["host"])))
            if entry.kind == "unknown" or not alive
        ]

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            self._close()
            self._open = None

    def _contents(self, id: str) -> tuple[bytes | None, bytes | None]:
        record = self.record(id)
        return record.before, record.after

    @contextmanager
    def _file(self, durably: bool = False) -> Iterator[sqlite3.Connection]:
        """The file, in a transaction; with ``durably`` it is on disk at the end, else the system writes it later."""
        path = self.path
        with self._lock:
            try:
                db = self._connection(path)
                db.execute(f"PRAGMA synchronous = {'FULL' if durably else 'NORMAL'}")
                with db:
                    yield db
            except (sqlite3.Error, OSError) as error:
                seen = self._open.file if self._open is not None else None
                self.close()
                raise kept_tables.trouble(error, path, seen) from None

    def pulse(self) -> tuple[int, int]:
        """Two numbers that change when another process writes to the file. Raises ``Refused``."""
        with self._file() as db:
            # The number is per connection, so a new connection counts as a change.
            return id(db), int(db.execute("PRAGMA data_version").fetchone()[0])

    def _connection(self, path: Path) -> sqlite3.Connection:
        """The open connection; a new one if the file was moved away, or this process was forked."""
        # A forked process must not use its parent's connection: SQLite's locks are not inherited.
        if self._open is not None and self._open.is_at(path):
            return self._open.db
        self.close()
        db = kept_tables.connected(path, _SCHEMA, "entries")
        self._close = weakref.finalize(self, db.close)
        self._open = _OpenFile(db, os.getpid(), path.stat())
        return db

    def _sound(self, rows: Iterable[sqlite3.Row], made: Callable[[sqlite3.Row], T]) -> Iterator[T]:
        """What is made of each row; damaged rows are left out and told."""
        for row in rows:
            try:
                yield made(row)
            except kept_files.DAMAGE:
                kept_files.notices.tell(f"Entry {row['id']} of the journal {self.path} is damaged; it is left out.")

    def _entry(self, row: sqlite3.Row) -> Entry:
        """The entry in a row; raises one of ``kept_files.DAMAGE``."""
        extra = _extra(row)
        check(row, extra)
        why_not = self._why_not(row)
        return Entry(
            id=str(row["id"]),
            at=kept_files.moment(row["at"]),
            source=row["source"],
            ns=row["ns"],
            document=written(row["document"]) or "",
            action=row["action"],
            kind=row["kind"],
            detail=row["detail"] or (_DIED if row["kind"] == "begun" else ""),
            had_before=bool(row["had_before"]),
            has_after=bool(row["has_after"]),
            contents=partial(self._contents, str(row["id"])),
            hash_before=row["hash_before"],
            hash_after=row["hash_after"],
            undoable=not why_not,
            why_not=why_not,
            undone_by=None if row["undone_by"] is None else str(row["undone_by"]),
            version_before=written(row["version_before"]),
            version_after=written(row["version_after"]),
            gone=self._is_gone(row),
            run=extra.get("run", ""),
            reason=extra.get("reason", ""),
        )

    def _is_gone(self, row: sqlite3.Row) -> bool:
        return bool(row["lifetime"]) and row["lifetime"] != self._lifetime

    def _why_not(self, row: sqlite3.Row) -> str:
        """Why an entry cannot be undone, one sentence; "" if it can."""
        if row["kind"] in ("begun", "unknown"):
            return "It is not known whether this write arrived; check that first."
        if row["kind"] != "applied":
            return "Nothing was written, so there is nothing to undo."
        if row["undone_by"] is not None:
            return f"It was undone already, by entry {row['undone_by']}."
        if self._is_gone(row):
            return "It was written to data in memory, which are gone."
        if f'"{_ERASED}"' in row["extra"]:
            return "Fields of this document were erased, and what it was before is not kept any more."
        return _FOR_GOOD.get(row["action"], "")


class _OpenFile(Struct, frozen=True):
    """A connection, the process that opened it, and its file."""

    db: sqlite3.Connection
    process: int
    file: os.stat_result

    def is_at(self, path: Path) -> bool:
        """Whether its file is the one at this path now."""
        try:
            now = path.stat()
        except OSError:
            return False
        return self.process == os.getpid() and (now.st_ino, now.st_dev) == (self.file.st_ino, self.file.st_dev)


def _forget_free_pages(db: sqlite3.Connection) -> None:
    """Write the file anew, so that nothing that was deleted can be read in it."""
    db.execute("VACUUM")
    # The write-ahead log holds pages too: without this, what was deleted could still be read from it.
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")


def _uptime() -> float:
    """The seconds since this computer started, which nobody can set."""
    return time.monotonic()


def _age(row: sqlite3.Row) -> dt.timedelta:
    """The age by the computer's uptime if that was noted on this computer, else by the clock."""
    noted = _extra(row).get(_UPTIME)
    if noted is None or row["host"] != socket.gethostname():
        return dt.datetime.now(dt.UTC) - kept_files.moment(row["at"])
    up = _uptime()
    return dt.timedelta(seconds=up - float(noted) if up >= float(noted) else up)  # it was restarted since


def _extra(row: sqlite3.Row) -> dict[str, str]:
    """The values that only some actions have; raises one of ``kept_files.DAMAGE``."""
    return convert(json.loads(row["extra"]), dict[str, str])


def _number(id: str) -> int:
    try:
        number = int(id)
        if abs(number) < 2**63:  # SQLite has no larger numbers
            return number
        raise ValueError
    except ValueError:
        raise NotFound(
            f"The journal has no entry {id[:80]}; entries are numbers, `palimpsest journal` lists them."
        ) from None


def _storable(said: str) -> str | bytes:
    try:
        said.encode()
    except UnicodeEncodeError:
        return said.encode("utf-8", "surrogatepass")
    return said


def _value(value: Value | None) -> str | bytes | None:
    return None if value is None else _storable(text.value_text(value))


def _alive(pid: int, host: str) -> bool:
    """Whether the process that began a write may still be waiting for its answer."""
    if host != socket.gethostname():
        return False
    if pid == os.getpid():
        return True
    if os.name == "nt":
        return False  # signal 0 would end the process on Windows
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
