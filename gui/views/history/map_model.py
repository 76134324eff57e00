"""A document's versions as a table: fields down, versions across from old to new, changes in the cells.

It is an item model, so that each cell has an accessible name; :mod:`gui.views.history.map_painter` decides how cells
look.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt

from gui.language import tr, translated
from gui.style import wording
from gui.style.cells import Index
from model.foundation.records import Version
from model.session.history_reading import Chain, FieldChange, SeenValue, Track, TrackedElement, key_parts, key_text
from model.values.canonical import OBJECT_ID

ORDERS = (("document", tr("As in the document")), ("last", tr("Last set")), ("most", tr("Most changed")))
WORDS = {
    "set": tr("changed"),
    "add": tr("added"),
    "remove": tr("removed"),
    "retype": tr("type only"),
    "reorder": tr("reordered"),
}
DID = {
    "set": tr("set"),
    "add": tr("added"),
    "remove": tr("removed"),
    "retype": tr("given another type"),
    "reorder": tr("reordered"),
}


class MapMark(Struct, frozen=True):
    """A change in its cell. ``first`` is the leftmost column that it may belong to, its own column if that is
    certain.

    ``force`` means that nothing has changed it since.
    """

    column: int
    first: int
    change: FieldChange
    force: bool

    @property
    def op(self) -> str:
        """The operation's name."""
        return self.change.op


class MapRow:
    """One field: its label, where it exists, and its changes by column."""

    def __init__(self, track: Track, count: int, oldest: int, newest: int) -> None:
        self.track = track
        self._count, self._oldest, self.newest = count, oldest, newest

    @cached_property
    def label(self) -> tuple[str, str]:
        """The path above the field, muted, and the field's own name."""
        parts = key_parts(self.track.key)
        for at, step in enumerate(self.track.key):
            if isinstance(step, TrackedElement) and step.id.type == OBJECT_ID:
                parts[at] = f"[…{step.id.data.hex()[-6:]}]"
        own = parts[-1]
        lead = "".join(parts[:-1])
        return (lead + ".", own[1:]) if own.startswith(".") else (lead, own)

    @cached_property
    def name(self) -> str:
        """The whole path."""
        return key_text(self.track.key)

    @cached_property
    def marks(self) -> tuple[MapMark, ...]:
        """The changes, oldest first."""
        made = []
        for at, change in enumerate(self.track.changes):
            column = self._count - 1 - change.age
            made.append(MapMark(column, column - change.gap, change, at == 0))
        return tuple(reversed(made))

    @cached_property
    def by_column(self) -> dict[int, MapMark]:
        """The change shown in each column; a change over a gap is shown in all of its columns."""
        return {column: mark for mark in self.marks for column in range(mark.first, mark.column + 1)}

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The runs of columns in which the field exists."""
        made: list[tuple[int, int]] = []
        end: int | None = self.newest if self.track.now is not None else None
        for mark in reversed(self.marks):
            if mark.op == "remove":
                end = mark.column
            elif mark.op == "add" and end is not None:
                made.append((mark.column, end))
                end = None
        if end is not None and (self.track.now is not None or self.track.from_start or self.marks):
            made.append((self._oldest, end))
        return tuple(reversed(made))

    @property
    def ring(self) -> int | None:
        """The column of the ring, which means "from the start"."""
        return self._oldest if self.track.from_start else None

    @property
    def count(self) -> int:
        """How many versions changed it."""
        return len(self.track.changes)

    @property
    def last_column(self) -> int:
        """The column where it was last set; the oldest if it never was."""
        return self.marks[-1].column if self.marks else self._oldest

    def seen(self, column: int) -> SeenValue | None:
        """The value in force at a column; None if the field is missing there."""
        after = [mark for mark in self.marks if mark.column <= column]
        if after:
            return after[-1].change.after
        if self.marks:
            return self.marks[0].change.before
        return self.track.now

    def setter(self, column: int) -> MapMark | None:
        """The change that set the value in force at a column."""
        found = [mark for mark in self.marks if mark.column <= column]
        return found[-1] if found else None


class MapModel(QAbstractTableModel):
    """Rows are fields, columns versions, oldest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.chain = Chain((), (), 0, frozenset(), False)
        self.versions: list[Version] = []  # oldest first
        self.rows: list[MapRow] = []
        self.order, self.unfolded = "document", False
        self.folded = 0  # the number of fields that change in every version
        self.most = 0
        self.revision = 0  # counts the repaints that were needed
        self._changed: dict[int, list[MapRow]] | None = None  # the rows that a column changed, once computed

    # --- filling

    def put(self, chain: Chain) -> None:
        """Show versions: all, or those read so far."""
        self.beginResetModel()
        self.chain = chain
        self.versions = list(reversed(chain.versions))
        self._fill()
        self.endResetModel()

    def arrange(self, order: str, unfolded: bool) -> None:
        """Reorder the rows, or show or hide the fields that change in every version."""
        if (order, unfolded) != (self.order, self.unfolded):
            self.beginResetModel()
            self.order, self.unfolded = order, unfolded
            self._fill()
            self.endResetModel()

    def still(self) -> MapModel:
        """A copy that does not change, for a picture drawn in a task."""
        made = MapModel()
        made.chain, made.versions, made.rows, made.most = self.chain, self.versions, self.rows, self.most
        made.order, made.unfolded, made.folded = self.order, self.unfolded, self.folded
        return made

    def _fill(self) -> None:
        count = len(self.versions)
        oldest = count - 1 - max(self.chain.read, default=0)
        newest = count - 1 - self.chain.start
        shown = [track for track in self.chain.tracks if not track.identity]
        self.folded = sum(track.every_time for track in shown)
        rows = [MapRow(track, count, oldest, newest) for track in shown if self.unfolded or not track.every_time]
        if self.order == "last":
            rows.sort(key=lambda row: -row.last_column)
        elif self.order == "most":
            rows.sort(key=lambda row: -row.count)
        self.rows = rows
        self._changed = None
        self.most = max((row.count for row in rows), default=0)
        self.revision += 1

    # --- lookups

    @property
    def newest(self) -> int:
        """The column of the current version."""
        return len(self.versions) - 1 - self.chain.start

    def column_of(self, version: Version) -> int:
        """The column of a version; -1 if it is not shown."""
        return next((i for i, one in enumerate(self.versions) if one.v == version.v), -1)

    def readable(self, column: int) -> bool:
        """Whether a version's content was read."""
        return len(self.versions) - 1 - column in self.chain.read

    def before(self, column: int) -> int | None:
        """The next older column whose content was read."""
        return next((i for i in range(column - 1, -1, -1) if self.readable(i)), None)

    def gaps(self, first: int, last: int) -> list[tuple[int, int]]:
        """The runs of missing versions that touch a range of columns."""
        made: list[tuple[int, int]] = []
        column = first
        while column <= last and column < len(self.versions):
            if self.versions[column].state != "missing":
                column += 1
                continue
            start = end = column
            while start > 0 and self.versions[start - 1].state == "missing":
                start -= 1
            while end + 1 < len(self.versions) and self.versions[end + 1].state == "missing":
                end += 1
            made.append((start, end))
            column = end + 1
        return made

    def summary(self) -> str:
        """``60 versions, 57 kept. 30 fields; 2 that change in every version are folded away.``"""
        missing = sum(one.state == "missing" for one in self.versions)
        kept = (
            tr(", {versions} kept", versions=wording.count(sum(one.landed for one in self.versions) - missing))
            if missing
            else ""
        )
        landed = sum(one.landed for one in self.versions)
        said = f"{wording.many(landed, 'version')}{kept}. {wording.many(len(self.rows), 'field')}"
        if self.folded and not self.unfolded:
            verbs = tr("changes") if self.folded == 1 else tr("change"), tr("is") if self.folded == 1 else tr("are")
            return tr(
                "{said}; {folded} that {verbs} in every version {verbs2} folded away.",
                said=said,
                folded=wording.count(self.folded),
                verbs=verbs[0],
                verbs2=verbs[1],
            )
        return f"{said}." if self.chain.complete else tr("{said} so far.", said=said)

    def together(self, row: MapRow, column: int) -> list[str]:
        """The other shown fields that the same version changed."""
        if self._changed is None:
            self._changed = {}
            for other in self.rows:
                for change in other.track.changes:
                    self._changed.setdefault(len(self.versions) - 1 - change.age, []).append(other)
        return [other.name for other in self._changed.get(column, ()) if other is not row]

    def words(self, row: int, column: int) -> str:
        """A cell in words: ``premium.gross, v43, changed, overwritten since``."""
        one, version = self.rows[row], self.versions[column]
        name = wording.version(version.v) or tr("current")
        mark = one.by_column.get(column)
        if mark is not None and mark.first < mark.column:
            since = wording.version(self.versions[mark.first].v)
            state = tr(
                "{words} somewhere in {since}–{v}",
                words=WORDS[mark.op],
                since=since,
                v=wording.version(self.versions[mark.column].v),
            )
        elif mark is not None:
            state = WORDS[mark.op]
        elif version.state == "missing":
            return tr("{name}, {name2}, version missing", name=one.name, name2=name)
        elif not self.readable(column):
            return f"{one.name}, {name}, {translated(version.detail) or translated(version.state)}"
        elif one.seen(column) is None:
            return tr("{name}, {name2}, not there", name=one.name, name2=name)
        else:
            from_start = column == one.ring
            return f"{one.name}, {name}, {(tr('there from the start') if from_start else tr('not changed'))}"
        if mark.op == "remove":
            return f"{one.name}, {name}, {state}" + ("" if mark.force else tr(", added again since"))
        return f"{one.name}, {name}, {state}, {(tr('in force now') if mark.force else tr('overwritten since'))}"

    # --- Qt's interface

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's default)
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.versions)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.AccessibleTextRole and index.isValid():
            return self.words(index.row(), index.column())
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return None
        if orientation == Qt.Orientation.Vertical:
            return self.rows[section].name if section < len(self.rows) else None
        return wording.version(self.versions[section].v) if section < len(self.versions) else None


def listed(names: Sequence[str], most: int = 4) -> str:
    """``a, b, c and 3 more``."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return tr("{names} and {names2} more", names=", ".join(names[:most]), names2=wording.count(len(names) - most))
