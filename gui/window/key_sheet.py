"""Every key on one sheet: those of the menus, and those that work inside a view."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from gui.actions import MENUS, TITLES, Item, keys_text
from gui.style import boxes, theme
from gui.style.sheet import Sheet
from gui.style.states import button, words

Line = tuple[str, str]  # what it does, its keys
VIEWS: tuple[tuple[str, tuple[Line, ...]], ...] = (
    (
        "Everywhere",
        (
            ("A menu, by its first letter", "Alt+F, Alt+E …"),
            ("To the next control, the one before", "Tab, Shift+Tab"), ("Press, or tick", "Space"),
            ("Close what is on top", "Esc"),
        ),
    ),
    (
        "In the list of documents",
        (
            ("Words that can stand here", "Ctrl+Space"), ("Choose one", "Up, Down"), ("Take it", "Enter, Tab"),
            ("Run the query", "Enter"), ("Earlier queries", "Down"), ("Open the document", "Enter"),
        ),
    ),
    (
        "In the timeline",
        (
            ("To an older, a newer version", "Left, Right"), ("To the oldest, the newest", "Home, End"),
            ("Make it B", "Space"), ("Make it A", "Shift+Space"), ("Wider, narrower", "+, -"),
        ),
    ),
    (
        "In a list with ticks",
        (("Tick, untick", "Space"), ("Choose several", "Shift+Up, Shift+Down")),
    ),
    (
        "In a comparison",
        (
            ("The whole value", "Space"), ("Copy the value, or the path", "Ctrl+C"),
            ("Take A's value into the draft", "Alt+Right"), ("Take B's value into the draft", "Alt+Left"),
        ),
    ),
    (
        "In a merge",
        (
            ("Take the side", "Space"), ("Open it again", "Del"),
            ("The whole values, on a field's name", "Space"),
        ),
    ),
    (
        "In the change map",
        (
            ("The change before, the next one", "Ctrl+Left, Ctrl+Right"), ("The first, the last change", "Home, End"),
            ("Compare with the version before", "Enter"), ("The whole value", "Space"),
            ("Wider, narrower columns", "+, -"),
        ),
    ),
    (
        "In the editor",
        (
            ("Type over a value or name", "any character"), ("Change the value, the name", "F2, Shift+F2"),
            ("Choose the type", "F4"), ("Who set each field", "Ctrl+L"),
            ("Take it, and on to the next", "Tab"), ("Leave it as it was", "Esc"),
            ("Add, remove a field", "Ins, Del"), ("Move a field", "Alt+Up, Alt+Down"),
            ("Into the field above, out of its own", "Alt+Right, Alt+Left"),
            ("Take a change back", "Alt+Backspace"), ("Keep a text of several lines", "Ctrl+Enter"),
            ("The pane beside it", "Ctrl+B"), ("The whole value", "Space"),
            ("Fold, unfold in the JSON", "Ctrl+Shift+[, Ctrl+Shift+]"),
        ),
    ),
    (
        "In the manual",
        (
            ("Find in all pages", "Ctrl+F"), ("The next hit, the one before", "F3, Shift+F3"),
            ("Back, forward", "Alt+Left, Alt+Right"), ("Close", "Esc"),
        ),
    ),
)  # fmt: skip


class KeySheet(Sheet):
    """The sheet of keys; arrows and page keys scroll it where it is higher than the window."""

    def __init__(self, parent: QWidget, table: Sequence[Item]) -> None:
        super().__init__(parent, 840)
        self.setAccessibleName("Keyboard")
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(12))
        column.addWidget(words("Keyboard", "title"))
        inside = boxes.ground(QWidget(), "surface")
        self._grid = QGridLayout(inside)
        self._grid.setContentsMargins(0, 0, theme.px(12), 0)
        self._grid.setHorizontalSpacing(theme.px(16))
        self._grid.setVerticalSpacing(theme.px(4))
        for at in (0, 2):
            self._grid.setColumnStretch(at, 1)
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
        self._close = button("Close", self.accept, "main")
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
            place = row + 1 + at // 2
            self._grid.addWidget(words(said), place, at % 2 * 2)
            label = words(keys, "second")
            label.setAccessibleName(f"{said}: {keys}")
            self._grid.addWidget(label, place, at % 2 * 2 + 1)

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
