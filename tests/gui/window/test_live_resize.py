"""A window while it is resized: lists stand still, then fit and repaint once it rests."""

from __future__ import annotations

from collections import Counter

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QStyleOptionViewItem, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gui.pages.page_request import PageRequest
from gui.paging import RowsModel
from gui.style import theme
from gui.style.cells import Cell, CellDelegate, CellTree, plain
from gui.style.live_resize import LiveResize
from gui.views.timeline.strip import Strip
from gui.window.window import Window
from model.values.canonical import Value


class Names(RowsModel[str]):
    headers = ("Name", "Words")

    def key(self, row: str) -> str:
        return row

    def cell(self, index: QModelIndex | QPersistentModelIndex) -> Cell:
        return plain(self.rows[index.row()])


class Counted(CellDelegate):
    """Counts the cells that it paints."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.many = 0

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        self.many += 1
        super().paint(painter, option, index)


class Shown:
    """A window with two lists, as it stands on the screen."""

    def __init__(self, qtbot: QtBot) -> None:
        self.window = QWidget()
        self.views: list[CellTree] = []
        column = QVBoxLayout(self.window)
        for _ in range(2):
            model = Names()
            model.fill([f"row {n}" for n in range(30)])
            view = CellTree(self.window)
            view.setItemDelegate(Counted(view))
            view.as_list(model, "names", [120])
            column.addWidget(view)
            self.views.append(view)
        qtbot.addWidget(self.window)
        self.window.resize(600, 400)
        with qtbot.waitExposed(self.window):
            self.window.show()
        LiveResize(self.window)
        QApplication.processEvents()

    @property
    def painted(self) -> list[int]:
        return [view.itemDelegate().many for view in self.views]  # type: ignore[attr-defined]

    def of_the_system(self, width: int, height: int) -> None:
        self.window.windowHandle().resize(width, height)
        QApplication.processEvents()

    def picture(self, view: CellTree) -> QImage:
        """What the screen has of a list's rows."""
        drawn = self.window.backingStore().paintDevice()
        assert isinstance(drawn, QImage)
        port = view.viewport()
        return drawn.copy(QRect(port.mapTo(self.window, port.rect().topLeft()), port.size()))


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    return Shown(qtbot)


def test_rows_stand_still_while_sizes_come_and_are_right_once_it_rests(shown: Shown, qtbot: QtBot) -> None:
    before, pictures = shown.painted, [shown.picture(view) for view in shown.views]
    widths = [view.header().length() for view in shown.views]
    for step in range(5):
        shown.of_the_system(610 + 20 * step, 410 + 10 * step)
    assert shown.window.size().toTuple() == (690, 450)
    assert shown.painted == before
    for view, was in zip(shown.views, pictures, strict=True):
        assert shown.picture(view).copy(was.rect()) == was
    qtbot.waitUntil(lambda: all(view.still is None for view in shown.views))
    assert [view.header().length() for view in shown.views] == [view.viewport().width() for view in shown.views]
    assert widths != [view.header().length() for view in shown.views]
    for view in shown.views:
        fresh = view.viewport().grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
        assert shown.picture(view).convertToFormat(QImage.Format.Format_RGB32) == fresh


def test_lists_are_painted_one_at_a_time(shown: Shown, qtbot: QtBot) -> None:
    before = shown.painted
    shown.of_the_system(700, 500)
    qtbot.waitUntil(lambda: shown.views[0].still is None)
    assert shown.painted[0] > before[0]
    assert shown.painted[1] == before[1]
    shown.of_the_system(720, 500)
    assert all(view.still is not None for view in shown.views), "the first is held again"
    qtbot.waitUntil(lambda: all(view.still is None for view in shown.views))


def test_a_size_that_the_program_chose_is_painted_at_once(shown: Shown) -> None:
    before = Counter(dict(enumerate(shown.painted)))
    shown.window.resize(700, 500)
    QApplication.processEvents()
    assert all(view.still is None for view in shown.views)
    assert all(shown.painted[at] > before[at] for at in before)


def test_a_list_that_goes_meanwhile_is_left_out(shown: Shown, qtbot: QtBot) -> None:
    shown.of_the_system(700, 500)
    gone, left = shown.views
    gone.setParent(None)
    gone.deleteLater()
    del gone, shown.views[0]
    qtbot.waitUntil(lambda: left.still is None)


@pytest.mark.deep
@pytest.mark.slice
def test_the_window_holds_its_lists_and_the_strip(window: Window, qtbot: QtBot) -> None:
    window.workspace.open(window.sessions[0], PageRequest("collection", "insurance.contracts", Value.of("K-204117")))
    qtbot.waitUntil(lambda: bool(window.findChildren(LiveResize)))
    qtbot.waitUntil(lambda: any(view.isVisible() for view in window.findChildren(Strip)))
    lists = [view for view in window.findChildren(CellTree) if view.isVisible()]
    strips = [view for view in window.findChildren(Strip) if view.isVisible()]
    assert lists
    assert strips
    window.windowHandle().resize(window.width() + 40, window.height() + theme.px(10))
    QApplication.processEvents()
    assert all(view.still is not None for view in (*lists, *strips))
    qtbot.waitUntil(lambda: all(view.still is None for view in (*lists, *strips)))
