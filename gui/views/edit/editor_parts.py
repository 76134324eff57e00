"""The editor's frame: the row above the fields with its tabs and buttons, and the bar below with Save."""

from __future__ import annotations

import datetime as dt
from typing import Literal, TypeAlias

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLineEdit, QPushButton, QWidget

from gui.language import tr
from gui.parts.notices import Pill
from gui.parts.reason_line import ReasonLine
from gui.style import boxes, preferences, theme, wording
from gui.style.states import OneLine, button, say, tool, words
from gui.style.wording import many

UNCHANGED = tr("Nothing is changed")
VIEWS = (tr("Tree"), "JSON", tr("Both"))
TREE, JSON, BOTH = range(3)


class Dot(QWidget):
    """The mark of something unsaved."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(theme.px(8), theme.px(8))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("acc"))
        painter.drawEllipse(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))


class FindField(QLineEdit):
    """Finds a field or value: Enter and F3 go on, with Shift back; Esc clears it and leaves."""

    asked = Signal(str, bool)  # words, forward
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setPlaceholderText(tr("Find field or value"))
        self.setAccessibleName(tr("Find field or value"))
        self.setProperty("small", True)
        self.setToolTip(tr("Find (Ctrl+F); next and previous are F3 and Shift+F3"))
        self._count = ""
        self.setMinimumWidth(theme.px(84))
        self.setMaximumWidth(theme.px(180))

    def sizeHint(self) -> QSize:
        return QSize(theme.px(180), super().sizeHint().height())

    def say(self, count: str) -> None:
        """Show the number of the hit and of all hits at the right end."""
        self._count = count
        self.setAccessibleDescription(count)
        width = theme.px(8) + self.fontMetrics().horizontalAdvance(count) if count else 0
        self.setTextMargins(0, 0, width, 0)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.asked.emit(self.text(), not event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        elif event.key() == Qt.Key.Key_Escape:
            self.clear()
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._count:
            painter = QPainter(self)
            painter.setFont(theme.font(11))
            painter.setPen(theme.colour("text3"))
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(self.rect().adjusted(0, 0, -theme.px(8), 0), int(side), self._count)


class ReplaceRow(QWidget):
    """The row for replacement text; Enter replaces one, Esc closes it.

    Its field is below the find field, as far as the buttons after it leave room.
    """

    one_asked = Signal()
    all_asked = Signal()
    left = Signal()

    def __init__(self, finder: QWidget) -> None:
        super().__init__()
        boxes.ground(self, "toolrow")
        self._finder = finder
        finder.installEventFilter(self)
        row = boxes.row(self, 16, 5)
        self.said = OneLine("second")
        self.said.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.said, 10_000)
        self.field = QLineEdit()
        self.field.setPlaceholderText(tr("Replace with"))
        self.field.setAccessibleName(tr("Replace with"))
        self.field.setProperty("small", True)
        self.field.returnPressed.connect(self.one_asked)
        row.addWidget(self.field)
        self.one = button(tr("Replace"), self.one_asked.emit, "small")
        self.all = button(tr("Replace all"), self.all_asked.emit, "small")
        row.addWidget(self.one)
        row.addWidget(self.all)
        row.addWidget(tool("x", tr("Close (Esc)"), self.left.emit, token="text3"))
        row.addStretch(1)  # takes what is left if the text fills all before the field
        self.hide()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._stand_below()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Move, QEvent.Type.Resize) and self.isVisible():
            self._stand_below()
        return super().eventFilter(watched, event)

    def _stand_below(self) -> None:
        layout = self.layout()
        assert layout is not None
        before = self.mapFromGlobal(self._finder.mapToGlobal(QPoint())).x()
        self.field.setFixedWidth(self._finder.width())
        self.said.setMaximumWidth(max(0, before - layout.contentsMargins().left() - layout.spacing()))

    def say(self, sentence: str) -> None:
        """Say what was replaced."""
        self.said.setText(sentence)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


class EditorHead(QWidget):
    """The row above the fields: Tree | JSON | Both, version, find, and other views."""

    view_chosen = Signal(int)  # an index in VIEWS

    def __init__(self) -> None:
        super().__init__()
        boxes.ground(self, "surface")
        self.base = Pill()
        self.now = Pill()
        row = boxes.wrapping(self, 16, 4, gap=12, least=46)
        self.views = QButtonGroup(self)
        tabs = QHBoxLayout()
        tabs.setContentsMargins(0, 0, theme.px(8), 0)
        tabs.setSpacing(theme.px(12))
        for at, name in enumerate(VIEWS):
            tab = QPushButton(name)
            tab.setCheckable(True)
            tab.setChecked(at == 0)
            tab.setProperty("underlined", True)
            tab.setAccessibleName(tr("{name} view", name=name))
            self.views.addButton(tab, at)
            tabs.addWidget(tab)
        self.views.idToggled.connect(self._view)
        row.addLayout(tabs)  # first: the text after them changes while people type, and the tabs stay under the pointer
        for said in (self.base, self.now):
            row.addWidget(said)
        row.addStretch(1)
        self.finder = FindField()
        row.addWidget(self.finder)
        tools = boxes.row(x=0, y=0, gap=12)
        self.add = button(tr("Add field"), None, "small", icon="plus")
        self.compare = button(tr("Compare"), None, "small", icon="git-diff")
        self.history = button(tr("History"), None, "small", icon="clock-counter-clockwise")
        for made, tip in (
            (self.add, tr("Add a field beside the chosen one (Ins)")),
            (self.compare, tr("Compare with what is in the database (Ctrl+D)")),
            (self.history, tr("Show this document's versions (Ctrl+Shift+H)")),
        ):
            made.setToolTip(wording.tip(tip))
            tools.addWidget(made)
        self.last_set = tool("user-list", tr("Show beside each field which version last set it (Ctrl+L)"), None)
        self.last_set.setCheckable(True)
        self.last_set.setProperty("boxed", True)
        tools.addWidget(self.last_set)
        self.unfold = tool("columns", tr("Show your changes and what saving sends (Ctrl+B)"), None)
        self.unfold.setProperty("boxed", True)
        self.unfold.hide()
        tools.addWidget(self.unfold)
        row.addLayout(tools)

    def _view(self, which: int, on: bool) -> None:
        if on:
            self.view_chosen.emit(which)

    def narrow(self, is_narrow: bool) -> None:
        """With little room, show only the buttons' icons; their names are tooltips and accessible names."""
        for made, label in ((self.add, tr("Add field")), (self.compare, tr("Compare")), (self.history, tr("History"))):
            say(made, "" if is_narrow else label)
            made.setAccessibleName(label)


NARROW = 560  # u
REASON = 480  # u: the room of a sentence; the rest stays free


Stage: TypeAlias = Literal["unsaved", "sent", "typed on"]
"""How far a draft is: nothing is under way, all of it is being saved, or it was changed since that began."""


class EditorFoot(QWidget):
    """The row below the fields: the unsaved changes, Undo, Discard…, Save."""

    def __init__(self) -> None:
        super().__init__()
        boxes.ground(self, "sunken")
        row = boxes.wrapping(self, 16, 8, least=52)
        self.dot = Dot()
        row.addWidget(self.dot)
        self.said = words("", "head")
        row.addWidget(self.said)
        self.kept = words("", "second")
        row.addWidget(self.kept)
        self.reason = ReasonLine()
        self.reason.hide()
        self.undo = button(tr("Undo"), None, "quiet", icon="arrow-counter-clockwise")
        self.undo.setAccessibleName(tr("Undo"))
        self.discard = button(tr("Discard…"), None)
        self.save = button(tr("Save   Ctrl+S"), None, "main")
        self.save.setAccessibleName(tr("Save"))
        self._ends = ends = boxes.row(x=0, y=0)
        ends.addStretch(1)
        self.reason.setMaximumWidth(theme.px(REASON))
        ends.addWidget(self.reason, 100)
        ends.addWidget(self.undo)
        ends.addSpacing(theme.px(4))
        ends.addWidget(self.discard)
        ends.addWidget(self.save)
        row.addLayout(ends, 1)

    def ask_reason(self, on: bool) -> None:
        """Show or hide the line for a reason."""
        self.reason.setVisible(on)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Leave the reason some room if the foot is narrow."""
        is_narrow = self.reason.isVisibleTo(self) and self.width() < theme.px(NARROW)
        say(self.undo, "" if is_narrow else tr("Undo"))
        self._ends.setStretch(0, not is_narrow)

    def show_state(self, dirty: bool, count: int, base: str, reason: str, stage: Stage = "unsaved") -> None:
        """Show what is unsaved or being saved, and if it cannot be saved, why."""
        self.dot.setVisible(dirty)
        self.said.setVisible(dirty)
        since = tr(", from {base}", base=base) if base else ""
        if dirty:
            fields = many(count, "field")
            if stage == "sent":
                self.said.setText(tr("Saving: {fields}{since}…", fields=fields, since=since))
            elif stage == "typed on":
                self.said.setText(tr("Saving… What you typed since is unsaved"))
            else:
                self.said.setText(tr("Unsaved: {fields}{since}", fields=fields, since=since))
            if self.kept.text() == UNCHANGED:
                self.kept.setText("")  # until the draft is kept; then that is shown
        else:
            self.said.setText("")
            self.kept.setText(UNCHANGED if reason in ("", UNCHANGED) else "")
        self.discard.setEnabled(dirty)
        self.save.setEnabled(not reason)
        self.save.setToolTip(wording.tip(reason or tr("Save; if somebody else saved first, you are asked (Ctrl+S)")))
        self.save.setAccessibleDescription(reason)

    def draft_kept(self, at: dt.datetime | None) -> None:
        """Show when the draft was written to disk."""
        if at is None:
            self.kept.setText("")
        else:
            there = preferences.local(at)
            self.kept.setText(tr("Draft kept {hour:02d}:{minute:02d}", hour=there.hour, minute=there.minute))
