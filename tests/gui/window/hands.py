"""The hands of a person: clicks on what can be seen, and keys where the focus is."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QApplication, QHeaderView, QLabel, QMenu, QWidget
from pytestqt.qtbot import QtBot

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def click(widget: QWidget, at: QPoint | None = None, held: Qt.KeyboardModifier = NONE, times: int = 1) -> None:
    """A click on a widget that is enabled, at a place of it that nothing covers."""
    at = at or widget.rect().center()
    top = widget.window()
    assert widget.isVisible(), widget
    assert widget.isEnabled(), widget
    under = top.childAt(widget.mapTo(top, at))
    assert under is not None, "outside of the window"
    assert under is widget or widget.isAncestorOf(under), under
    if times > 1:
        QTest.mouseDClick(widget, LEFT, held, at)
    else:
        QTest.mouseClick(widget, LEFT, held, at)


def click_row(view: QAbstractItemView, index: QModelIndex, held: Qt.KeyboardModifier = NONE, times: int = 1) -> None:
    """A click on a row that is in sight, at the beginning of one of its cells."""
    cell = view.visualRect(index)
    at = QPoint(cell.left() + min(40, cell.width() // 2), cell.center().y())
    assert view.viewport().rect().contains(at)
    click(view.viewport(), at, held, times)


def click_head(header: QHeaderView, column: int) -> None:
    """A click on the head of a column."""
    click(header.viewport(), QPoint(header.sectionViewportPosition(column) + 20, header.height() // 2))


def button(where: QWidget, said: str) -> QAbstractButton:
    """The button in sight that says something, or is called so where it is an icon."""
    found = [
        one
        for one in where.findChildren(QAbstractButton)
        if one.isVisible() and said in (one.text(), one.accessibleName())
    ]
    assert len(found) == 1, [one.text() or one.accessibleName() for one in where.findChildren(QAbstractButton)]
    return found[0]


def choose(qtbot: QtBot, begins: str) -> None:
    """A click on the entry of the open menu that begins so."""
    qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    found = [action for action in menu.actions() if action.text().startswith(begins)]
    assert len(found) == 1, [action.text() for action in menu.actions()]
    assert found[0].isEnabled()
    parent = menu.parentWidget()
    assert parent is not None
    window = parent.window()
    QTest.mouseClick(menu, LEFT, NONE, menu.actionGeometry(found[0]).center())
    window.activateWindow()  # where no window manager does
    qtbot.waitUntil(window.isActiveWindow)


def strike(window: QWidget, letters: str) -> None:
    """Letters where the focus is, which the first of them may move."""
    for letter in letters:
        at = window.focusWidget()
        assert at is not None
        QTest.keyClick(at, letter)


def read(where: QWidget) -> str:
    """All words in sight, with single blanks."""
    labels = (label.text() for label in where.findChildren(QLabel) if label.isVisible())
    return " ".join(" ".join(labels).split())
