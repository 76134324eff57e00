"""The number of changes on each day as a bar, old to new. A click chooses the day.

It is a list view, so that screen readers meet a list, and arrow keys, scrolling and tooltips work as everywhere. A
break replaces long stretches without changes.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Hashable, Sequence

from msgspec import Struct
from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListView, QStyle, QStyleOptionViewItem

from gui.language import tr
from gui.paging import RowsModel
from gui.style import symbols, theme, wording
from gui.style.cells import Cell, CellDelegate, Index
from gui.views.activity.activity_model import day_said

WIDE = 30  # of a day, or of a break: equal sizes are laid out at once, and thousands in no time
NUMBER, BARS, DAYS, MONTHS = 16, 30, 15, 15
HEIGHT = NUMBER + BARS + DAYS + MONTHS
TOGETHER = 10  # up to so many days without a change are drawn one by one
AT_ONCE = 100  # bars while days are being read; a wide window shows as many
_CENTRED = int(Qt.AlignmentFlag.AlignCenter)


class DayBar(Struct, frozen=True):
    """A day and its changes; or, with ``skipped``, a break for that many days before ``day``."""

    day: dt.date
    count: int = 0
    skipped: int = 0


def bars(days: Sequence[tuple[dt.date, int]]) -> list[DayBar]:
    """Days, oldest first, with the days between them or a break."""
    made: list[DayBar] = []
    for day, count in days:
        between = (day - made[-1].day).days - 1 if made else 0
        if between > TOGETHER:
            made.append(DayBar(day, skipped=between))
        else:
            made += [DayBar(day - dt.timedelta(days=n)) for n in range(between, 0, -1)]
        made.append(DayBar(day, count))
    return made


def short(number: int) -> str:
    """A number in at most four characters: ``999``, ``1.2k``, ``34k``, ``5M``."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            amount = number / size
            return f"{amount:.1f}{unit}" if amount < 9.95 else f"{min(999, round(amount))}{unit}"
    return str(number)


class DaysModel(RowsModel[DayBar]):
    """The bars; the chosen day is marked in words as well."""

    headers = ("",)

    def __init__(self) -> None:
        super().__init__()
        self.chosen: dt.date | None = None
        self.most = 0

    def key(self, row: DayBar) -> Hashable:
        return row

    def put(self, days: Sequence[tuple[dt.date, int]], newest: int) -> None:
        """Show only these days: the ``newest`` bars of them."""
        self.most = max((count for _, count in days), default=0)
        self.fill(bars(days)[-newest:])

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        if row.skipped:
            return Cell(tip=tr("{days} without a change", days=wording.many(row.skipped, "day")))
        counted = wording.many(row.count, "change") if row.count else tr("no change")
        said = f"{day_said(row.day)}, {counted}"
        said = tr("{said}, chosen", said=said) if row.day == self.chosen else said
        return Cell(tip=said, accessible=said)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.AccessibleTextRole and index.isValid():
            return self.cell(index).tip
        return super().data(index, role)


class _BarDelegate(CellDelegate):
    def __init__(self, model: DaysModel, strip: DayStrip) -> None:
        super().__init__(strip)
        self._days = model

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(theme.px(WIDE), theme.px(HEIGHT))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = self._days.rows[index.row()]
        box = QRectF(option.rect)
        top, foot = box.top() + theme.px(NUMBER), box.top() + theme.px(NUMBER + BARS)
        if row.skipped:
            inner = QRectF(box.left() + theme.px(8), top, box.width() - theme.px(16), theme.px(BARS))
            symbols.hatch(painter, inner, step=5)
            return
        painter.save()
        chosen = row.day == self._days.chosen
        if chosen or option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(box.adjusted(1, 0, -1, 0), theme.colour("sel" if chosen else "hover"))
        painter.fillRect(QRectF(box.left(), round(foot), box.width(), 1), theme.colour("border"))
        if row.count:
            high = max(3.0, math.sqrt(row.count / self._days.most) * theme.px(BARS))
            bar = QRectF(box.left() + theme.px(6), round(foot - high), box.width() - theme.px(12), round(high))
            painter.fillRect(bar, theme.colour("acc" if chosen else "ctl"))
            painter.setFont(theme.mono(10))
            painter.setPen(theme.colour("text2"))
            painter.drawText(QRectF(box.left(), bar.top() - theme.px(15), box.width(), theme.px(14)), _CENTRED,
                             short(row.count))  # fmt: skip
        painter.setFont(theme.font(11, 600 if chosen else 400))
        painter.setPen(theme.colour("text" if row.count else "text3"))
        painter.drawText(QRectF(box.left(), foot + 1, box.width(), theme.px(DAYS)), _CENTRED, str(row.day.day))
        focused = bool(option.state & QStyle.StateFlag.State_HasFocus)
        if focused and option.state & QStyle.StateFlag.State_Active:
            painter.setPen(QPen(theme.colour("acc"), 2))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -theme.px(MONTHS) - 1), theme.px(4), theme.px(4))
        painter.restore()


class DayStrip(QListView):
    """The strip. ``chosen`` carries a day, or None for all of them."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.days = DaysModel()
        self._from_end = 0  # distance from the end, so that older days arrive out of sight
        self._by_hand = True
        self._shown: tuple[Sequence[tuple[dt.date, int]], int] = ((), 0)
        self.setFlow(QListView.Flow.LeftToRight)
        self.setWrapping(False)
        self.setUniformItemSizes(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self.setItemDelegate(_BarDelegate(self.days, self))
        self.setModel(self.days)
        self.setAccessibleName(tr("Changes on each day, oldest first"))
        self.clicked.connect(self._take)
        self.horizontalScrollBar().valueChanged.connect(self._scrolled)
        self.horizontalScrollBar().rangeChanged.connect(self._ranged)
        self._fit()
        theme.signals.changed.connect(self._fit)

    def put(self, days: Sequence[tuple[dt.date, int]], *, reading: bool = False) -> None:
        """Show days; the newest stays in sight unless a person scrolled away from it.

        While more are being read, those far out of sight wait: Qt asks the model for each bar, and each time the
        worker that reads has to give way.
        """
        newest = AT_ONCE if reading else sys.maxsize
        if (days, newest) == self._shown:
            return
        self._shown = days, newest
        current = self.days.at(self.currentIndex())
        self._by_hand = False
        self.days.put(days, newest)
        self.doItemsLayout()
        self._by_hand = True
        row = -1 if current is None else next((n for n, b in enumerate(self.days.rows) if b.day == current.day), -1)
        if row >= 0:
            self.selectionModel().setCurrentIndex(self.days.index(row, 0), QItemSelectionModel.SelectionFlag.NoUpdate)
        self._ranged()

    def choose(self, day: dt.date | None) -> None:
        """Mark a day, or none."""
        self.days.chosen = day
        self.viewport().update()

    def _scrolled(self, value: int) -> None:
        if self._by_hand:
            self._from_end = self.horizontalScrollBar().maximum() - value

    def _ranged(self, *_: object) -> None:
        bar = self.horizontalScrollBar()
        bar.setValue(bar.maximum() - self._from_end)

    def _take(self, index: QModelIndex) -> None:
        row = self.days.at(index)
        if row is not None and row.count:
            self.chosen.emit(None if row.day == self.days.chosen else row.day)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._take(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        had = self.currentIndex().isValid() or event.reason() == Qt.FocusReason.MouseFocusReason
        super().focusInEvent(event)
        if not had and self.days.rows:  # Qt takes the oldest, which may be out of sight
            self.setCurrentIndex(self.days.index(len(self.days.rows) - 1, 0))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._by_hand = False
        super().resizeEvent(event)
        self._by_hand = True
        self._ranged()

    def _fit(self) -> None:
        self.setViewportMargins(theme.px(16), 0, theme.px(16), 0)
        self.setFixedHeight(theme.px(HEIGHT) + self.horizontalScrollBar().sizeHint().height())
        self.scheduleDelayedItemsLayout()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        painter.setFont(theme.font(11))
        painter.setPen(theme.colour("text3"))
        metrics = QFontMetricsF(theme.font(11))
        busy = -math.inf
        for at in range(self._first(), len(self.days.rows)):
            row, box = self.days.rows[at], QRectF(self.visualRect(self.days.index(at, 0)))
            if box.left() > self.viewport().width():
                break
            before = self.days.rows[at - 1] if at else None
            begins = before is None or (before.day.year, before.day.month) != (row.day.year, row.day.month)
            if row.skipped or not (begins or (before is not None and before.skipped)) or box.left() < busy:
                continue
            said = f"{wording.MONTHS[row.day.month - 1]} {row.day.year}"
            low = box.top() + theme.px(NUMBER + BARS + DAYS)
            painter.drawText(QPointF(box.left() + theme.px(6), low + metrics.ascent()), said)
            busy = box.left() + metrics.horizontalAdvance(said) + theme.px(12)
        painter.end()

    def _first(self) -> int:
        """The first bar whose month can be in sight."""
        here = self.indexAt(self.viewport().rect().topLeft())
        return max(0, here.row() - 4)
