"""New versions as rows, newest first: as many as are kept, and those waiting while nothing may move."""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Sequence

from PySide6.QtCore import QModelIndex

from gui.paging import RowsModel
from gui.style import preferences, wording
from gui.style.cells import Cell, Index, plain
from gui.views.activity.activity_model import ActivityModel
from gui.views.activity.activity_words import change_cell
from model.session.through_time import Activity

KEPT = 3000  # rows; the oldest are dropped
OVER = 500  # rows above that, dropped all at once


class LiveModel(RowsModel[Activity]):
    """The shown rows and the waiting ones; the newest of each are kept, the others only counted."""

    headers = ActivityModel.headers

    def __init__(self) -> None:
        super().__init__()
        self.waiting: deque[Activity] = deque(maxlen=KEPT)  # oldest first
        self.waited = 0  # versions that came since rows began to wait, including dropped ones
        self.fell_out = 0

    def key(self, row: Activity) -> int:
        return id(row)  # rows are never read again

    def wait(self, rows: Sequence[Activity], came: int) -> None:
        """Add new versions, oldest first; they are the newest of ``came``."""
        over = max(0, len(self.waiting) + len(rows) - KEPT)
        self.fell_out += came - len(rows) + over
        self.waiting.extend(rows)
        self.waited += came

    def take_in(self) -> None:
        """Show the waiting rows above all others."""
        new = list(reversed(self.waiting))
        self.waiting.clear()
        self.waited = 0
        if not new:
            return
        if len(new) >= KEPT:
            self.fell_out += len(self.rows)
            self.beginResetModel()
            self.rows = new
            self.endResetModel()
            return
        self.beginInsertRows(QModelIndex(), 0, len(new) - 1)
        self.rows[:0] = new
        self.endInsertRows()
        if len(self.rows) > KEPT + OVER:
            self.fell_out += len(self.rows) - KEPT
            self.beginRemoveRows(QModelIndex(), KEPT, len(self.rows) - 1)
            del self.rows[KEPT:]
            self.endRemoveRows()

    def clear(self) -> None:
        """Remove all rows, and count from zero."""
        self.waiting.clear()
        self.waited = self.fell_out = 0
        self.fill(())

    def cell(self, index: Index) -> Cell:
        return live_cell(self.rows[index.row()], index.column())


def live_cell(row: Activity, column: int) -> Cell:
    """A new version's cell in a column."""
    if column == 0:
        return plain(_time(row.at), size=12, indent=8, tip=wording.second(row.at))
    return change_cell(row, column)


def _time(at: dt.datetime | None) -> str:
    """The time with its seconds, and the day if that is not today."""
    if at is None:
        return ""
    here = preferences.local(at)
    if here.date() != preferences.local(dt.datetime.now(dt.UTC)).date():
        return wording.second(at)
    return f"{here:%H:%M:%S}"
