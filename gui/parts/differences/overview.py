"""The overview beside a comparison: where in the document the changes are, and which are in sight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.language import tr
from gui.style import symbols, theme, wording

if TYPE_CHECKING:
    from gui.parts.differences.diff_grouping import Plan

WIDE, TALL, SEEN = 16, 3, 3  # the width of the strip, a mark's height, and the width of the bracket
MOST = 4000  # marks that are drawn; if there are more, only every n-th


class Overview(QWidget):
    """The strip. ``chosen`` carries the number of the change nearest to a click.

    It is for the mouse only: keys and screen readers reach the changes as rows.
    """

    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._plan: Plan | None = None
        self.marks: tuple[tuple[str, float], ...] = ()
        self.seen = (0, -1)
        self._beside: tuple[float, ...] = ()
        self._current = -1
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName(tr("Overview of the changes"))
        theme.signals.changed.connect(self.updateGeometry)

    def put(self, plan: Plan | None) -> None:
        """Show the changes of another comparison."""
        if plan is self._plan:
            return
        self._plan, self.marks = plan, () if plan is None else plan.marks
        self.setToolTip(
            wording.tip(
                tr(
                    "{changes} in the document; a click goes to the nearest",
                    changes=wording.many(len(self.marks), "change"),
                )
            )
        )
        self.setVisible(bool(self.marks))
        self.update()

    def see(self, first: int, last: int, beside: Sequence[float] = ()) -> None:
        """Bracket the changes in sight, by their numbers.

        If all rows are in sight, ``beside`` has the middle of each change's row; the marks are drawn there.
        """
        if (first, last, tuple(beside)) != (*self.seen, self._beside):
            self.seen, self._beside = (first, last), tuple(beside)
            self.update()

    def mark(self, number: int) -> None:
        """Mark the current change."""
        if number != self._current:
            self._current = number
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme.px(WIDE), theme.px(80))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme.px(WIDE), theme.px(20))

    def y_of(self, number: int) -> float:
        """The vertical position of a change's mark."""
        if len(self._beside) == len(self.marks):
            return self._beside[number] - theme.px(TALL) / 2
        room = self.height() - theme.px(TALL) - 4
        return 2 + self.marks[number][1] * room

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.marks:
            y = event.position().y() - theme.px(TALL) / 2
            self.chosen.emit(min(range(len(self.marks)), key=lambda number: abs(self.y_of(number) - y)))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.colour("sunken"))
        painter.fillRect(QRectF(0, 0, 1, self.height()), theme.colour("border"))
        left, wide, tall = theme.px(SEEN) + 2.0, self.width() - theme.px(SEEN) - 4.0, theme.px(TALL)
        first, last = max(0, self.seen[0]), min(len(self.marks) - 1, self.seen[1])
        if first <= last:
            ends = sorted((self.y_of(first), self.y_of(last)))
            bracket = QRectF(1, ends[0] - 1, theme.px(SEEN) - 1, ends[1] - ends[0] + tall + 2)
            painter.fillRect(bracket, theme.colour("ctl"))
        for number in range(0, len(self.marks), max(1, len(self.marks) // MOST)):
            op = self.marks[number][0]
            # Removed values belong to A, at the left; added ones to B, at the right.
            start = left + (wide / 2 if op == "add" else 0)
            box = QRectF(start, self.y_of(number), wide / 2 if op in ("add", "remove") else wide, tall)
            painter.fillRect(box, theme.colour(symbols.CHANGES[op][0]))
        if 0 <= self._current < len(self.marks):
            y = self.y_of(self._current)
            painter.setPen(theme.colour("acc"))
            painter.drawRect(QRectF(left - 1.5, y - 1.5, wide + 2, tall + 2))
        painter.end()
