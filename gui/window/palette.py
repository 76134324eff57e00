"""The palette: finds a command or collection by a part of its name."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from gui.language import tr
from gui.paging import RowsModel
from gui.style import theme
from gui.style.cells import Badge, Cell, CellTree, Index, Span
from gui.style.sheet import Sheet
from gui.style.states import hair, words
from gui.window.hit import Hit

SHOWN = 200
ROW, ROWS, BESIDE = 28, 11, 112  # u; rows visible at once, fewer in a low window


def matches(hit: Hit, needle: str) -> bool:
    """Whether every typed word occurs in the name, in what is beside it, or in the command that does the same.

    A collection is also ``db.collection``.
    """
    said = f"{hit.text} {hit.remark}.{hit.text} {hit.command}".lower()
    return all(part in said for part in needle.lower().split())


class _Model(RowsModel[Hit]):
    headers = ("",)

    def key(self, row: Hit) -> Hashable:
        return row

    def cell(self, index: Index) -> Cell:
        hit = self.rows[index.row()]
        beside = f"   {hit.why or hit.remark}" if hit.why or hit.remark else ""
        spans = (Span(hit.text, "text3" if hit.why else "text"), *((Span(beside, "text3"),) if beside else ()))
        badges = (Badge(hit.badge),) if hit.badge else ()
        said = tr("{text}, not possible now: {why}", text=hit.text, why=hit.why) if hit.why else ""
        indent = 4 if hit.icon else 28
        return Cell(
            spans=spans, icon=hit.icon, icon_token="ctl" if hit.why else "text2", badges=badges, badges_right=True,
            indent=indent, accessible=said, tip=said,
        )  # fmt: skip


class Palette(Sheet):
    """A line to type into, and the hits; Enter runs the chosen one."""

    def __init__(self, parent: QWidget, hits: Sequence[Hit], example: str) -> None:
        super().__init__(parent, 600)
        self._hits = list(hits)
        self.setAccessibleName(example)
        self.input = QLineEdit()
        self.input.setPlaceholderText(example)
        self.input.setAccessibleName(example)
        self.input.textChanged.connect(self._search)
        self.input.installEventFilter(self)
        self.model = _Model()
        self.list = CellTree(row_height=ROW)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setIndentation(0)
        self.list.setModel(self.model)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.led = True
        self.list.clicked.connect(self._take)
        self.none = words(tr("Nothing is called that"), "second")
        self.none.setContentsMargins(theme.px(24), theme.px(4), 0, 0)  # below the typed words
        column = QVBoxLayout(self)
        column.setContentsMargins(1, theme.px(12), 1, theme.px(8))
        column.setSpacing(theme.px(8))
        edge = QVBoxLayout()
        edge.setContentsMargins(theme.px(12), 0, theme.px(12), 0)
        edge.addWidget(self.input)
        column.addLayout(edge)
        column.addWidget(hair())
        column.addWidget(self.none)
        column.addWidget(self.list)
        column.addStretch(1)
        self._search("")

    def renew(self, hits: Sequence[Hit]) -> None:
        """Search in other hits, because more are known; the chosen one stays chosen."""
        self._hits = list(hits)
        chosen = self.model.at(self.list.currentIndex())
        self._search(self.input.text())
        for at, hit in enumerate(self.model.rows):
            if chosen is not None and (hit.text, hit.remark) == (chosen.text, chosen.remark):
                self.list.setCurrentIndex(self.model.index(at, 0))

    def first(self) -> QWidget | None:
        return self.input

    def _place(self) -> None:
        room = (self._host.height() - theme.px(BESIDE)) // theme.px(ROW)
        self.list.setFixedHeight(theme.px(ROW) * max(2, min(ROWS, room)))
        super()._place()

    def _search(self, needle: str) -> None:
        found = [hit for hit in self._hits if matches(hit, needle)]
        found.sort(key=lambda hit: (bool(hit.why), not hit.text.lower().startswith(needle.lower())))
        self.model.fill(found[:SHOWN])
        self.none.setVisible(not found)
        self.list.setVisible(bool(found))
        if found:
            self.list.setCurrentIndex(self.model.index(0, 0))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.input and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 10, Qt.Key.Key_PageUp: -10}
            if event.key() in step:
                row = self.list.currentIndex().row() + step[Qt.Key(event.key())]
                row = max(0, min(row, len(self.model.rows) - 1))
                self.list.setCurrentIndex(self.model.index(row, 0))
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._take(self.list.currentIndex())
                return True
        return super().eventFilter(watched, event)

    def _take(self, index: QModelIndex) -> None:
        hit = self.model.at(index)
        if hit is not None and not hit.why:
            self.accept()
            hit.call()
