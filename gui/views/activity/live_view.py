"""The list of new versions; nothing moves under the pointer, below a chosen row, or while it is scrolled."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QHeaderView

from gui import copying
from gui.language import tr
from gui.style import theme
from gui.style.cells import CellTree
from gui.views.activity.activity_model import BY, COLLECTION, DOCUMENT, FIELDS, REASON, VERSION, WHAT, WHEN
from gui.views.activity.change_columns import MEASURED, ChangeColumns, needs, shared
from gui.views.activity.live_model import LiveModel, live_cell
from model.session.through_time import Activity

WIDTHS = (168, 110, 160, 160, 84, 104, 320, 160)
NARROW = (152, 84, 120, 120, 64, 96, 170, 100)
ROOM = 1080


class LiveView(CellTree):
    """The view of a :class:`LiveModel`."""

    opened = Signal()
    freed = Signal()  # rows may move again

    def __init__(self, model: LiveModel) -> None:
        super().__init__(row_height=28)
        self._versions = model
        self._pointed_at = False
        self._there: set[int] = set()  # the columns with texts
        self._words: dict[int, int] = {}  # the widths that the texts of all rows so far need
        self._shares: ChangeColumns | None = None  # a person's widths stay until these change
        self.setModel(model)
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self.setAccessibleName(tr("New versions, newest first"))
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(FIELDS, QHeaderView.ResizeMode.Stretch)
        self.viewport().installEventFilter(self)
        self.verticalScrollBar().valueChanged.connect(self._look_again)
        self.doubleClicked.connect(self.opened)
        self._fit()

    @property
    def is_held(self) -> bool:
        """Whether new rows have to wait."""
        away = self.verticalScrollBar().value() > 0
        return bool(self._versions.rows) and (self._pointed_at or away or self.currentIndex().isValid())

    @property
    def current(self) -> Activity | None:
        """The version that is chosen."""
        return self._versions.at(self.currentIndex())

    def take_in(self) -> None:
        """Show the waiting rows, and the columns that they need."""
        came = list(self._versions.waiting)[-MEASURED:]
        for column, there in (
            (BY, any(row.author for row in self._versions.waiting)),
            (FIELDS, any(row.paths for row in self._versions.waiting)),
            (REASON, any(row.reason for row in self._versions.waiting)),
        ):
            if there:
                self._there.add(column)
        cells = ((at, live_cell(row, at)) for row in came for at in self._there if at != FIELDS)
        self._words = needs(cells, self._words)
        self._fit()
        self._versions.take_in()

    def begin(self, several: bool) -> None:
        """Start without rows, for one collection or for ``several``."""
        self._versions.clear()
        self._there = {WHEN, DOCUMENT, VERSION, WHAT, *([COLLECTION] if several else [])}
        self._words = {}
        self._fit()

    def to_newest(self) -> None:
        """Deselect the row, and scroll to the newest."""
        self.leave()
        self.scrollToTop()

    def leave(self) -> None:
        """Deselect the row."""
        self.selectionModel().clear()
        self._look_again()

    def _look_again(self, *_: object) -> None:
        if not self.is_held:
            self.freed.emit()

    # --- mouse and keys

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.viewport():
            if event.type() in (QEvent.Type.Enter, QEvent.Type.MouseMove, QEvent.Type.MouseButtonPress):
                self._pointed_at = True
            elif event.type() in (QEvent.Type.Leave, QEvent.Type.Hide):
                self._pointed_at = False
                self._look_again()
        return super().eventFilter(watched, event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        had = self.currentIndex().isValid()
        super().focusInEvent(event)
        if not had:  # Qt chooses the first row, and a chosen row holds the list
            self.selectionModel().clear()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            copying.put(self.copied())
        elif event.key() == Qt.Key.Key_Escape and self.currentIndex().isValid():
            self.leave()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.opened.emit()
        else:
            super().keyPressEvent(event)

    def copied(self) -> str:
        """The chosen row as a line of text, with tabs between the cells."""
        model, row = self._versions, self.currentIndex().row()
        cells = [model.index(row, at) for at in range(model.columnCount()) if not self.isColumnHidden(at)]
        return "\t".join(model.cell(each).text for each in cells).rstrip("\t") if row >= 0 else ""

    # --- widths

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _rescale(self) -> None:
        super()._rescale()
        rows = self._versions.rows[:MEASURED]
        self._words = needs((at, live_cell(row, at)) for row in rows for at in self._there if at != FIELDS)
        self._shares = None
        self._fit()

    def _fit(self) -> None:
        room = self.viewport().width()
        given = [theme.px(width) for width in (NARROW if room < theme.px(ROOM) else WIDTHS)]
        heads = [self._head_width(at) for at in range(len(given))]
        shares = shared(room, given, heads, self._words, self._there)
        if shares == self._shares:
            return
        self._shares = shares
        for at in range(len(given)):
            self.setColumnHidden(at, at not in shares.shown)
        self.header().setStretchLastSection(FIELDS not in shares.shown)  # fields take the rest if they are shown
        for at, width in shares.widths:
            if at != FIELDS:
                self.header().resizeSection(at, width)
