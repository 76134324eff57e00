"""The health of a source over time: for each scan made from here, the number of findings of each class.

One SQLite file (``health.sqlite3``, 0600) in the data folder. A row holds only counts, no document and no password.
The newest 400 scans of a place stay, and 5,000 in all. Scans of data in memory (the sample, a dump opened into memory)
are remembered by their session and not written: the next session has other data. Scans of a dump in place are
kept by its path, so that nightly dumps can be compared.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, convert, field

from model import text
from model.foundation import kept_files
from model.userdata import folders as homes
from model.userdata import kept_tables
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.scan import Summary

MOST, MOST_OF_ALL = 400, 5000
MOST_IDS = 5  # ids of scanned documents that are named
_SCHEMA = """
CREATE TABLE IF NOT EXISTS scans (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL, source TEXT NOT NULL, place TEXT NOT NULL, ids TEXT NOT NULL, documents INTEGER NOT NULL,
    seconds REAL NOT NULL, whole INTEGER NOT NULL, counts TEXT NOT NULL, unchecked INTEGER NOT NULL,
    watched TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX IF NOT EXISTS by_place ON scans (source, place, ids);
"""


class Counted(Struct, frozen=True):
    """The result of one scan, in numbers."""

    at: dt.datetime  # when it ended
    place: str  # a database, a collection, several with ", " between; "" for all databases
    ids: str  # the documents looked at, as Extended JSON with ", " between; "" for all
    documents: int  # stored documents looked at, archives included
    seconds: float
    whole: bool  # it was completed; else the counts are of the part scanned
    counts: Mapping[str, int] = field(default_factory=dict)  # findings by class
    unchecked: int = 0  # documents and collections that could not be scanned
    watched: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By collection and watched condition: the number of scanned documents that meet it."""

    @property
    def findings(self) -> int:
        """All of its findings."""
        return sum(self.counts.values())

    @property
    def subject(self) -> tuple[str, str]:
        """The subject of the scan; only scans of one subject can be compared."""
        return self.place, self.ids

    @property
    def where(self) -> str:
        """The subject of the scan, for people."""
        place = self.place or "all databases"
        return f"{place} / {self.ids}" if self.ids else place


class Course(Struct, frozen=True):
    """The findings of one class over the scans of one subject."""

    code: str
    counts: tuple[int | None, ...]  # one per scan, oldest first; None if that scan was stopped

    @property
    def known(self) -> tuple[int, ...]:
        """The counts of the completed scans."""
        return tuple(count for count in self.counts if count is not None)

    @property
    def first(self) -> int:
        """The count in the first completed scan; 0 without one."""
        return self.known[0] if self.known else 0

    @property
    def last(self) -> int:
        """The count in the last completed scan; 0 without one."""
        return self.known[-1] if self.known else 0


def counted(
    at: dt.datetime,
    places: Sequence[str],
    ids: Sequence[Value] | None,
    summary: Summary,
    watched: Mapping[str, Mapping[str, int]] | None = None,
) -> Counted:
    """The row for a scan, from its summary and the watched conditions."""
    place, shown = subject(places, ids)
    done = (summary.documents, summary.seconds, summary.whole, dict(summary.counts), len(summary.unchecked))
    return Counted(at, place, shown, *done, watched or {})


def subject(places: Sequence[str], ids: Sequence[Value] | None) -> tuple[str, str]:
    """The subject of a scan, as :attr:`Counted.subject` gives it."""
    shown = "" if ids is None else ", ".join(map(text.value_text, ids[:MOST_IDS]))
    if ids is not None and len(ids) > MOST_IDS:
        rest = hashlib.sha256(repr(ids).encode()).hexdigest()[:6]  # tells other documents apart
        shown += f" and {len(ids) - MOST_IDS} more ({rest})"
    return ", ".join(places), shown


def courses(scans: Iterable[Counted]) -> list[Course]:
    """The counts of each class over scans of one subject, given oldest first; in the order of CLASSES."""
    from model.repair.damage_classes import CLASSES

    listed = list(scans)
    seen = {code for scan in listed for code in scan.counts}
    codes = [*(code for code in CLASSES if code in seen), *sorted(seen - set(CLASSES))]
    return [Course(code, tuple(s.counts.get(code, 0) if s.whole else None for s in listed)) for code in codes]


def compared(scans: Sequence[Counted]) -> list[tuple[Counted, Counted | None]]:
    """Scans, newest first, each with the completed scan of its subject before it; None for a stopped scan."""
    last: dict[tuple[str, str], Counted] = {}
    found: list[tuple[Counted, Counted | None]] = []
    for scan in reversed(scans):
        found.append((scan, last.get(scan.subject) if scan.whole else None))
        if scan.whole:
            last[scan.subject] = scan
    return found[::-1]


def steps(scan: Counted, before: Counted | None) -> list[tuple[str, int, int]]:
    """The counts of each class in a scan and the one before: (class, old, new); a watched condition counts as a class.

    A condition is only compared if both scans tested it.
    """
    from model.repair.damage_classes import CLASSES

    was = before.counts if before is not None else scan.counts
    codes = {code: None for code in (*CLASSES, *scan.counts, *was) if scan.counts.get(code) or was.get(code)}
    found = [(code, was.get(code, 0), scan.counts.get(code, 0)) for code in codes]
    for ns, holding in scan.watched.items():
        earlier = (before.watched if before is not None else scan.watched).get(ns, {})
        found += [(name, earlier.get(name, now), now) for name, now in holding.items() if now or earlier.get(name)]
    return found


def step_text(code: str, old: int, new: int) -> str:
    """``A3 15 → 1``, or ``V1 2`` if nothing changed."""
    return f"{code} {new:,}" if old == new else f"{code} {old:,} → {new:,}"


def told(scan: Counted, before: Counted | None) -> str:
    """A scan's findings by class, with the change since another: ``A3 15 → 1, V1 2``."""
    return ", ".join(step_text(*step) for step in steps(scan, before))


class Health:
    """The scans of one source. Each call opens the file anew, so several threads can use it."""

    def __init__(self, source: str, home: Path | None = None, kept: bool = True) -> None:
        """Without ``kept``, scans are only kept in memory."""
        self._source, self._home, self.kept = source, homes.chosen(home), kept
        self._here: list[Counted] = []

    @property
    def path(self) -> Path:
        """The path of the file; creates its folder if missing."""
        return homes.folder(self._home) / "health.sqlite3"

    def keep(self, scan: Counted) -> None:
        """Add a scan, and delete the oldest if there are too many; raises ``Refused`` if it cannot be written."""
        if not self.kept:
            self._here = [*self._here, scan][-MOST:]
            return
        at = scan.at.astimezone(dt.UTC).isoformat(timespec="milliseconds")
        row = (at, self._source, scan.place, scan.ids, scan.documents, scan.seconds, scan.whole)
        with self._file() as db:
            db.execute(
                "INSERT INTO scans (at, source, place, ids, documents, seconds, whole, counts, unchecked, watched)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, json.dumps(dict(scan.counts)), scan.unchecked, json.dumps(scan.watched)),
            )
            db.execute(
                "DELETE FROM scans WHERE id IN (SELECT id FROM scans WHERE source = ? AND place = ? AND ids = ?"
                " ORDER BY id DESC LIMIT -1 OFFSET ?)",
                (self._source, scan.place, scan.ids, MOST),
            )
            db.execute("DELETE FROM scans WHERE id <= (SELECT max(id) FROM scans) - ?", (MOST_OF_ALL,))

    def scans(self, place: str | None = None, ids: str | None = None) -> list[Counted]:
        """The scans, newest first; optionally of one place, and of some documents in it ("" for all of them)."""
        if not self.kept:
            found = self._here[::-1]
        elif not os.path.lexists(self.path):
            found = []
        else:
            with self._file() as db:
                rows = db.execute("SELECT * FROM scans WHERE source = ? ORDER BY id DESC", (self._source,)).fetchall()
            found = [*_sound(rows, self.path)]
        return [s for s in found if place in (None, s.place) and ids in (None, s.ids)]

    @contextmanager
    def _file(self) -> Iterator[sqlite3.Connection]:
        path, seen = self.path, None
        try:
            db = kept_tables.connected(path, _SCHEMA, "scans", _widen)
            try:
                seen = path.stat()
                with db:
                    yield db
            finally:
                db.close()
        except (sqlite3.Error, OSError) as error:
            raise kept_tables.trouble(error, path, seen) from None


def _widen(db: sqlite3.Connection) -> None:
    """Add a column that a file of an earlier version lacks."""
    if not any(column["name"] == "watched" for column in db.execute("PRAGMA table_info(scans)")):
        with suppress(sqlite3.OperationalError):  # another process has just done it
            db.execute("ALTER TABLE scans ADD COLUMN watched TEXT NOT NULL DEFAULT '{}'")


def _sound(rows: Iterable[sqlite3.Row], path: Path) -> Iterator[Counted]:
    """The scans in rows; damaged ones are left out and told."""
    for row in rows:
        try:
            yield _counted(row)
        except kept_files.DAMAGE:
            kept_files.notices.tell(f"Scan {row['id']} in {path} is damaged; it is left out.")


def _counted(row: sqlite3.Row) -> Counted:
    """The scan in a row; raises one of ``kept_files.DAMAGE``."""
    kept = {name: row[name] for name in ("place", "ids", "documents", "seconds", "unchecked")}
    counts, watched = json.loads(row["counts"]), json.loads(row["watched"])
    made = {"at": kept_files.moment(row["at"]), "whole": bool(row["whole"]), "counts": counts, "watched": watched}
    return convert(kept | made, Counted)
