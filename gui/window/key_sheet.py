"""Every key on one sheet: those of the menus, and those inside views."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from gui.actions import MENUS, TITLES, Item, keys_text
from gui.language import tr
from gui.style import boxes, theme
from gui.style.sheet import Sheet
from gui.style.states import button, words

Line = tuple[str, str]  # what it does, its keys
VIEWS: tuple[tuple[str, tuple[Line, ...]], ...] = (
    (
        tr("Everywhere"),
        (
            (tr("A menu, by its first letter"), tr("Alt+F, Alt+E …")),
            (tr("To the next control, the one before"), tr("Tab, Shift+Tab")), (tr("Press, or tick"), tr("Space")),
            (tr("Close what is on top"), tr("Esc")),
        ),
    ),
    (
        tr("In the list of documents"),
        (
            (tr("Possible words"), tr("Ctrl+Space")), (tr("Choose one"), tr("Up, Down")),
                (tr("Take it"), tr("Enter, Tab")),
            (tr("Run the query"), tr("Enter")), (tr("Earlier queries"), tr("Down")), (tr("Open the document"),
                tr("Enter")), (tr("Copy the picked documents"), tr("Ctrl+C")),
        ),
    ),
    (
        tr("In the timeline"),
        (
            (tr("To an older, a newer version"), tr("Left, Right")), (tr("To the oldest, the newest"), tr("Home, End")),
            (tr("Make it B"), tr("Space")), (tr("Make it A"), tr("Shift+Space")), (tr("Wider, narrower"), "+, -"),
        ),
    ),
    (
        tr("In a list with ticks"),
        ((tr("Tick, untick"), tr("Space")), (tr("Choose several"), tr("Shift+Up, Shift+Down"))),
    ),
    (
        tr("In a comparison"),
        (
            (tr("The whole value"), tr("Space")), (tr("Copy the value, or the path"), tr("Ctrl+C")),
            (tr("Take A's value into the draft"), tr("Alt+Right")), (tr("Take B's value into the draft"),
                tr("Alt+Left")),
        ),
    ),
    (
        tr("In a merge"),
        (
            (tr("Take the side"), tr("Space")), (tr("Open it again"), tr("Del")),
            (tr("The whole values, on a field's name"), tr("Space")),
        ),
    ),
    (
        tr("In the change map"),
        (
            (tr("The change before, the next one"), tr("Ctrl+Left, Ctrl+Right")),
                (tr("The first, the last change"), tr("Home, End")),
            (tr("Compare with the version before"), tr("Enter")), (tr("The whole value"), tr("Space")),
            (tr("Wider, narrower columns"), "+, -"),
        ),
    ),
    (
        tr("In the editor"),
        (
            (tr("Type over a value or name"), tr("any character")), (tr("Change the value, the name"),
                tr("F2, Shift+F2")),
            (tr("Choose the type"), "F4"), (tr("Who set each field"), tr("Ctrl+L")),
            (tr("Take it, and on to the next"), tr("Tab")), (tr("Leave it as it was"), tr("Esc")),
            (tr("Add, remove a field"), tr("Ins, Del")), (tr("Move a field"), tr("Alt+Up, Alt+Down")),
            (tr("Into the field above, out of its own"), tr("Alt+Right, Alt+Left")),
            (tr("Take a change back"), tr("Alt+Backspace")), (tr("Keep a text of several lines"), tr("Ctrl+Enter")),
            (tr("The pane beside it"), tr("Ctrl+B")), (tr("The whole value"), tr("Space")),
            (tr("Fold, unfold in the JSON"), tr("Ctrl+Shift+[, Ctrl+Shift+]")),
        ),
    ),
    (
        tr("In the manual"),
        (
            (tr("Find in all pages"), tr("Ctrl+F")), (tr("The next hit, the one before"), tr("F3, Shift+F3")),
            (tr("Back, forward"), tr("Alt+Left, Alt+Right")), (tr("Close"), tr("Esc")),
        ),
    ),
)  # fmt: skip


class KeySheet(Sheet):
    """The sheet of keys; arrows and page keys scroll it if it is higher than the window."""

    def __init__(self, parent: QWidget, table: Sequence[Item]) -> None:
        super().__init__(parent, 840)
        self.setAccessibleName(tr("Keyboard"))
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(12))
        column.addWidget(words(tr("Keyboard"), "title"))
        inside = boxes.ground(QWidget(), "surface")
        self._grid = QGridLayout(inside)
        self._grid.setContentsMargins(0, 0, theme.px(12), 0)
        self._grid.setHorizontalSpacing(theme.px(16))
        self._grid.setVerticalSpacing(theme.px(4))
        self._beside = 2 if self.room >= theme.px(800) else 1  # columns
        for at in range(self._beside):
            self._grid.setColumnStretch(2 * at, 1)
        for menu in MENUS:
            self._add(
                TITLES[menu].replace("&", ""),
                [(item.text.rstrip("…"), keys_text(item)) for item in table if item.menu == menu],
            )
        for name, lines in VIEWS:
            self._add(name, lines)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setWidget(inside)
        self.area.setMinimumHeight(min(inside.sizeHint().height(), parent.window().height() - theme.px(180)))
        column.addWidget(self.area, 1)
        self._close = button(tr("Close"), self.accept, "main")
        self._close.installEventFilter(self)
        column.addWidget(self._close, 0, Qt.AlignmentFlag.AlignRight)

    def _add(self, title: str, lines: Sequence[Line]) -> None:
        lines = [line for line in lines if line[1]]
        if not lines:
            return
        row = self._grid.rowCount()
        head = words(title, "head")
        head.setContentsMargins(0, theme.px(8) if row > 1 else 0, 0, 0)
        self._grid.addWidget(head, row, 0, 1, 4)
        for at, (said, keys) in enumerate(lines):
            place = row + 1 + at // self._beside
            self._grid.addWidget(words(said), place, at % self._beside * 2)
            label = words(keys, "second")
            label.setAccessibleName(f"{said}: {keys}")
            self._grid.addWidget(label, place, at % self._beside * 2 + 1)

    def first(self) -> QWidget | None:
        return self._close

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._close and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            bar = self.area.verticalScrollBar()
            line, page = theme.px(48), bar.pageStep()
            steps = {Qt.Key.Key_Up: -line, Qt.Key.Key_Down: line, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}
            if event.key() in steps:
                bar.setValue(bar.value() + steps[Qt.Key(event.key())])
                return True
        return super().eventFilter(watched, event)


__all__ = ["KeySheet"]
