"""The changes as rows below their days, authors or documents."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from msgspec import Struct
from PySide6.QtCore import QModelIndex, Qt

from gui.language import tr
from gui.style import preferences, wording
from gui.style.cells import Cell, CellModel, Index, Span
from gui.views.activity.activity_words import change_cell, moment_cell
from model.session.through_time import Activity

WHEN, BY, DOCUMENT, COLLECTION, VERSION, WHAT, FIELDS, REASON = range(8)
DAY, AUTHOR, ONE_DOCUMENT = range(3)
GROUPINGS = (tr("Day"), tr("Author"), tr("Document"))
Key: TypeAlias = tuple[Hashable, ...]


class Group(Struct, frozen=True):
    """Changes under one heading, newest first."""

    key: Hashable
    name: str
    rows: tuple[Activity, ...]


def key_of(row: Activity) -> Key:
    """Identifies a change when it is read again."""
    return row.ns, row.id, row.v


def grouped(rows: Iterable[Activity], by: int, collections: bool = True) -> tuple[Group, ...]:
    """Changes under their days, authors or documents; headings are ordered by their newest changes."""
    several: dict[Hashable, list[Activity]] = {}
    zone = ZoneInfo(preferences.zone())
    for row in rows:
        several.setdefault(_heading(row, by, zone), []).append(row)
    return tuple(Group(key, _name(each[0], by, zone, collections), tuple(each)) for key, each in several.items())


def _heading(row: Activity, by: int, zone: dt.tzinfo) -> Hashable:
    if by == DAY:
        return None if row.at is None else row.at.astimezone(zone).date()
    return row.author if by == AUTHOR else (row.ns, row.id)


def _name(row: Activity, by: int, zone: dt.tzinfo, collections: bool) -> str:
    if by == DAY:
        return tr("Without a date") if row.at is None else day_said(row.at.astimezone(zone).date())
    if by == AUTHOR:
        return row.author or tr("Author not known")
    name = wording.plain(row.id)
    return f"{name}   {row.ns}" if collections else name


def day_said(day: dt.date) -> str:
    """``18 Nov 2026``, whatever the zone."""
    return tr("{day} {month} {year}", day=f"{day.day:02d}", month=wording.MONTHS[day.month - 1], year=day.year)


class ActivityModel(CellModel):
    """Two levels: the groups, and their changes."""

    headers = (
        tr("When"),
        tr("By"),
        tr("Document"),
        tr("Collection"),
        tr("Version"),
        tr("What"),
        tr("Fields"),
        tr("Reason"),
    )
    spoken_at = WHEN

    def __init__(self) -> None:
        super().__init__()
        self.groups: tuple[Group, ...] = ()
        self.by = DAY
        self._day = ""

    def say_day(self, day: str) -> None:
        """Show in the header the day of the rows below it, if their own heading is out of sight; "" if it is not."""
        if day != self._day:
            self._day = day
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, WHEN, WHEN)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        said = super().headerData(section, orientation, role)
        return self._day or said if section == WHEN and role == Qt.ItemDataRole.DisplayRole else said

    def put(self, rows: Sequence[Activity], by: int, collections: bool = True) -> bool:
        """Show only these changes; ``collections`` names them if there are several. False: they are shown already."""
        groups = grouped(rows, by, collections)
        if groups == self.groups and by == self.by:
            return False
        self.beginResetModel()
        self.groups, self.by = groups, by
        self.endResetModel()
        return True

    # --- two levels; a change's internal id is its group's position plus one

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008 (Qt's default)
        if not parent.isValid():
            return self.createIndex(row, column, 0) if 0 <= row < len(self.groups) else QModelIndex()
        if parent.internalId() or not 0 <= row < len(self.groups[parent.row()].rows):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1)

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        if not index.isValid() or not index.internalId():
            return QModelIndex()
        return self.createIndex(index.internalId() - 1, 0, 0)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        if not parent.isValid():
            return len(self.groups)
        return 0 if parent.internalId() or parent.column() else len(self.groups[parent.row()].rows)

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        # Asked for each of thousands of rows; no group is empty.
        return not (parent.internalId() or parent.column()) if parent.isValid() else bool(self.groups)

    # --- lookups

    def group(self, index: Index) -> Group | None:
        """The group at a heading's index."""
        return self.groups[index.row()] if index.isValid() and not index.internalId() else None

    def at(self, index: Index) -> Activity | None:
        """The change at a row's index; None at a heading."""
        if not index.isValid() or not index.internalId():
            return None
        return self.groups[index.internalId() - 1].rows[index.row()]

    def rows_at(self, index: Index) -> tuple[Activity, ...]:
        """The changes at an index: its own, or all below a heading."""
        group, row = self.group(index), self.at(index)
        return group.rows if group is not None else () if row is None else (row,)

    def key_at(self, index: Index) -> Hashable:
        """Identifies an index across readings; None if it is invalid."""
        group, row = self.group(index), self.at(index)
        return ("group", group.key) if group is not None else None if row is None else key_of(row)

    def places(self, keys: Collection[Hashable]) -> dict[Hashable, QModelIndex]:
        """The indexes of rows and headings, by their keys."""
        found: dict[Hashable, QModelIndex] = {}
        if not keys:
            return found
        for at, group in enumerate(self.groups):
            if (key := ("group", group.key)) in keys:
                found[key] = self.createIndex(at, 0, 0)
            for n, row in enumerate(group.rows):
                if (of_row := key_of(row)) in keys:
                    found[of_row] = self.createIndex(n, 0, at + 1)
        return found

    def cell(self, index: Index) -> Cell:
        group = self.group(index)
        if group is not None:
            return _heading_cell(group, self.by) if index.column() == WHEN else Cell()
        row = self.at(index)
        return Cell() if row is None else self.cell_of(row, index.column())

    def cell_of(self, row: Activity, column: int) -> Cell:
        """A change's cell in a column."""
        return moment_cell(row, self.by == DAY) if column == WHEN else change_cell(row, column)


def _heading_cell(group: Group, by: int) -> Cell:
    counted = wording.many(sum(row.landed for row in group.rows), "change")
    spans = (Span(group.name, weight=600), Span(f"   {counted}", "text2", sans=True))
    return Cell(spans=spans, mono=by == ONE_DOCUMENT, size=12, accessible=f"{group.name}, {counted}")
