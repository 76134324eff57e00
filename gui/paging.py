"""Long lists: one model whose rows grow as they are read, and the foot with its page buttons."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QMenu, QPushButton, QTreeView, QWidget

from gui.language import tr
from gui.style import boxes, theme, wording
from gui.style.cells import CellModel, Index
from gui.style.states import tool, words

T = TypeVar("T")
SIZES = (25, 50, 100)
NARROW = 560  # u; a narrower foot leaves some words out


class RowsModel(CellModel, Generic[T]):
    """Rows of one kind; they are only added when they have arrived.

    A subclass gives ``CellModel.headers``, ``CellModel.cell`` and :meth:`key`.

    If ``more`` is true, ``wanted`` asks once for further rows when the view needs them.
    """

    wanted = Signal()
    spoken_at: int | None = 0

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[T] = []
        self.more = False
        self._asked = False

    def key(self, row: T) -> Hashable:
        """The key that identifies a row across a refresh."""
        raise NotImplementedError

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's default)
        return 0 if parent.isValid() else len(self.rows)

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        if parent.isValid() or not 0 <= row < len(self.rows):
            return QModelIndex()
        return self.createIndex(row, column)

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        return QModelIndex()

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        return not parent.isValid() and bool(self.rows)

    def canFetchMore(self, parent: Index) -> bool:
        return not parent.isValid() and self.more and not self._asked

    def fetchMore(self, parent: Index) -> None:
        if self.canFetchMore(parent):
            self._asked = True
            self.wanted.emit()

    def fill(self, rows: Sequence[T], more: bool = False) -> None:
        """Replace all rows."""
        self.more, self._asked = more, False
        if [self.key(row) for row in rows] == [self.key(row) for row in self.rows]:
            self.rows = list(rows)
            if rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, self.columnCount() - 1))
            return
        self.beginResetModel()
        self.rows = list(rows)
        self.endResetModel()

    def add(self, rows: Sequence[T], more: bool = False) -> None:
        """Append rows."""
        self.more, self._asked = more, False
        if rows:
            self.beginInsertRows(QModelIndex(), len(self.rows), len(self.rows) + len(rows) - 1)
            self.rows.extend(rows)
            self.endInsertRows()

    def row_of(self, key: Hashable) -> int:
        """The position of a row; -1 if it is not there."""
        return next((at for at, row in enumerate(self.rows) if self.key(row) == key), -1)

    def touch(self, at: int) -> None:
        """Draw a row again."""
        self.dataChanged.emit(self.index(at, 0), self.index(at, self.columnCount() - 1))

    def at(self, index: Index) -> T | None:
        """The row at an index."""
        return self.rows[index.row()] if index.isValid() and index.row() < len(self.rows) else None


def refill(
    view: QTreeView,
    model: RowsModel[T],
    rows: Sequence[T],
    more: bool = False,
    refit: Callable[[], None] = lambda: None,
) -> None:
    """Replace older rows by newer ones, keeping the selection and the scroll position.

    ``refit`` may change the model's columns first; that makes a view forget both.
    """
    current = model.at(view.currentIndex())
    kept = None if current is None else model.key(current)
    row, column = view.currentIndex().row(), max(0, view.currentIndex().column())
    place = view.verticalScrollBar().value()
    refit()
    model.fill(rows, more)
    at = -1 if kept is None else model.row_of(kept)
    if at < 0 and kept is not None:
        at = min(row, len(rows) - 1)  # it is gone: take the row now in its place
    if at >= 0 and view.currentIndex().row() != at:
        view.setCurrentIndex(model.index(at, min(column, model.columnCount() - 1)))
    view.verticalScrollBar().setValue(place)


class Pager(QWidget):
    """``1–50 of 2,318 documents  41 ms … Page 1 of 47  50 a page``."""

    page_asked = Signal(int)  # from 0
    size_chosen = Signal(int)

    def __init__(self, noun: str = "document", size: int = 50, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._noun = noun
        self._page, self._size = 0, size
        self._said = self._said_briefly = ""
        self._count = words("", "second")
        self._took = words("", "hint")
        self._page_text = words("", "second")
        self._page_text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._back = tool("caret-left", tr("Previous page"), self._go_back)
        self._on = tool("caret-right", tr("Next page"), self._go_on)
        self._sizes = QPushButton()
        self._sizes.setProperty("quiet", True)
        self._sizes.setProperty("small", True)
        self._sizes.setAccessibleName(tr("Documents a page"))
        self._sizes.clicked.connect(self._choose_size)
        self._tools = boxes.row(x=0, y=0)
        steps = boxes.row(x=0, y=0)
        for part in (self._back, self._page_text, self._on):
            steps.addWidget(part)
        row = boxes.wrapping(self, 0, 2)
        row.setContentsMargins(theme.px(16), theme.px(2), theme.px(6), theme.px(2))
        row.addWidget(self._count)
        row.addWidget(self._took)
        row.addStretch(1)
        row.addLayout(self._tools)
        row.addLayout(steps)
        row.addSpacing(theme.px(4))
        row.addWidget(self._sizes)
        self.show_page(0, 0, None, "", False, None)

    def add_tool(self, tool: QWidget) -> None:
        """Put a button in front of the arrows."""
        self._tools.addWidget(tool)

    @property
    def size(self) -> int:  # type: ignore[override]
        """Rows per page."""
        return self._size

    def show_page(self, skip: int, shown: int, total: int | None, note: str, more: bool, took: int | None) -> None:
        """Say which rows are shown; ``note`` says why there is no total."""
        self._page = skip // self._size
        span = f"{wording.count(skip + 1)}–{wording.count(skip + shown)}" if shown else "0"
        if total is not None:
            of = wording.many(total, self._noun)
            self._said = tr("{span} of {of}", span=span, of=of) if shown else of
            self._said_briefly = tr("{span} of {of}", span=span, of=wording.count(total)) if shown else of
            self._page_text.setText(self._page_of(max(1, -(-total // self._size))))
            more = more or skip + shown < total
        else:
            self._said = self._said_briefly = tr("{span} of N/A", span=span) if shown or note else ""
            self._page_text.setText(tr("Page {page}", page=wording.count(self._page + 1)))
        # So wide from the start that the buttons before it do not move when the pages have been counted.
        needed = self._page_text.fontMetrics().horizontalAdvance(self._page_of(self._page + 1))
        self._page_text.setMinimumWidth(max(needed, self._page_text.sizeHint().width(), self._page_text.minimumWidth()))
        self._note = note
        self._took.setText(note if total is None and note else f"{wording.count(took)} ms" if took is not None else "")
        self._back.setEnabled(self._page > 0)
        self._on.setEnabled(more)
        self._fit()

    def _fit(self) -> None:
        """Show all words, or in a narrow foot only the page buttons; the rest moves into tooltips."""
        is_narrow = self.width() < theme.px(NARROW)
        size = tr("{size} a page", size=self._size)
        self._count.setText(self._said_briefly if is_narrow else self._said)
        told = [self._said, self._took.text() if self._took.text() != self._note else "", self._note]
        self._count.setToolTip(wording.tip("\n".join(filter(None, told)) if is_narrow else self._note))
        self._took.setVisible(not is_narrow)
        self._sizes.setText(wording.count(self._size) if is_narrow else size)
        self._sizes.setToolTip(wording.tip(size if is_narrow else ""))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _page_of(self, pages: int) -> str:
        return tr("Page {page} of {pages}", page=wording.count(self._page + 1), pages=wording.count(pages))

    @property
    def text(self) -> str:
        """The foot's text about the rows."""
        return self._said

    def _go_back(self) -> None:
        if self._page > 0:
            self.page_asked.emit(self._page - 1)

    def _go_on(self) -> None:
        self.page_asked.emit(self._page + 1)

    def _choose_size(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for size in SIZES:
            action = QAction(tr("{size} a page", size=size), menu)
            action.setCheckable(True)
            action.setChecked(size == self._size)
            action.setData(size)
            menu.addAction(action)
        menu.triggered.connect(self._size_taken)
        menu.popup(self._sizes.mapToGlobal(self._sizes.rect().bottomLeft()))

    def _size_taken(self, action: QAction) -> None:
        self.set_size(int(action.data()))

    def set_size(self, size: int) -> None:
        """Show this many rows per page from now on."""
        if size != self._size:
            self._size = size
            self.size_chosen.emit(size)
