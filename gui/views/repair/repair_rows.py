"""The rows around the repair centre's list: the current class, the ticks, the dry run's report, the buttons."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gui import messages
from gui.language import tr
from gui.parts.reason_line import ReasonLine
from gui.style import boxes, theme, wording
from gui.style.states import OneLine, button, words
from gui.views.repair.class_pane import Tag

NOTED, WORDED = 600, 460  # the least widths with a note beside the buttons, and with text on all of them
NOTHING_YET = tr("Nothing has been written yet. Writes can be undone from the journal.")


class Rows(QWidget):
    """Parts below one another with the height of their text at this width, which a splitter does not ask for."""

    def minimumSizeHint(self) -> QSize:
        least, layout = super().minimumSizeHint(), self.layout()
        assert layout is not None
        return QSize(least.width(), layout.totalMinimumHeightForWidth(max(self.width(), least.width())))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()


class TitleRow(QVBoxLayout):
    """The current class and its meaning."""

    def __init__(self) -> None:
        super().__init__()
        self.title, self.tag, self.meaning = words("", "title"), Tag(), words("", "second", wrap=True)
        row = QHBoxLayout()
        row.setSpacing(theme.px(10))
        row.addWidget(self.title)
        row.addWidget(self.tag)
        row.addStretch(1)
        self.setContentsMargins(theme.px(16), theme.px(10), theme.px(16), theme.px(10))
        self.setSpacing(theme.px(4))
        self.addLayout(row)
        self.addWidget(self.meaning)


class TicksRow(QWidget):
    """How many items are ticked, and how each repair is guarded."""

    def __init__(self, tick_all: Callable[[], object]) -> None:
        super().__init__()
        boxes.ground(self, "toolrow")
        self.all, self.guard = button("", tick_all, "quiet", "small"), OneLine("second")
        self.guard.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.all.setIconSize(QSize(theme.px(20), theme.px(16)))  # as in `button`: wider than the box
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(4), theme.px(5), theme.px(16), theme.px(5))  # aligned with the rows' ticks
        row.setSpacing(theme.px(8))
        row.addWidget(self.all)
        row.addWidget(self.guard, 1)


class ReportRow(QHBoxLayout):
    """The report of the dry run or the repair, with its time."""

    def __init__(self, save: Callable[[], object]) -> None:
        super().__init__()
        self.head, self.time, self.report = words("", "head"), words("", "second"), messages.report()
        self.save = button(tr("Save report…"), save, "quiet", "small")
        self.setContentsMargins(theme.px(16), theme.px(9), theme.px(8), theme.px(9))
        self.setSpacing(theme.px(8))
        self.addWidget(self.head)
        self.addWidget(self.time)
        self.addSpacing(theme.px(8))
        self.addWidget(self.report, 1)
        self.addWidget(self.save)


class Foot(QWidget):
    """The buttons; with little room the note beside them goes, and the text of the one that writes nothing."""

    def __init__(self, cancel: Callable[[], object], again: Callable[[], object], go: Callable[[], object]) -> None:
        super().__init__()
        boxes.ground(self, "toolrow")
        self.note = words(NOTHING_YET, "second", wrap=True)
        self.cancel = button(tr("Cancel"), cancel)
        self.again = button(tr("Dry run again"), again, icon="play")
        self.again.setAccessibleName(tr("Dry run again"))
        self.go = button(tr("Repair"), go, "main")
        row = boxes.row(self, gap=12)
        row.addWidget(self.note, 1)
        self.reason = ReasonLine()
        self.reason.setMaximumWidth(theme.px(260))
        self.reason.hide()
        for part in (self.reason, self.cancel, self.again, self.go):
            row.addWidget(part)

        self.offer_again(False)

    def offer_again(self, able: bool, why_not: str = "") -> None:
        """Offer another dry run, or say why none is possible."""
        self.again.setEnabled(able and not why_not)
        self.again.setToolTip(wording.tip(why_not or tr("Work out again what would be written; nothing is written")))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.note.setVisible(self.width() >= theme.px(NOTED))
        self.again.setText(tr("Dry run again") if self.width() >= theme.px(WORDED) else "")
