"""What a person does with the mouse beyond a click."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from gui.style.cells import CellTree


def size_column(tree: CellTree, column: int, width: int) -> None:
    """Drag the right edge of a column until the column is so wide."""
    header = tree.header()
    held, none = header.viewport(), Qt.KeyboardModifier.NoModifier
    edge = QPoint(header.sectionViewportPosition(column) + header.sectionSize(column) - 1, header.height() // 2)
    there = edge + QPoint(width - header.sectionSize(column), 0)
    QTest.mousePress(held, Qt.MouseButton.LeftButton, none, edge)
    QTest.mouseMove(held, there)
    QTest.mouseRelease(held, Qt.MouseButton.LeftButton, none, there)


def drop_files(target: QWidget, files: Sequence[Path]) -> bool:
    """Drop files on a widget, as a file manager does; returns whether they were taken."""
    carried = QMimeData()
    carried.setUrls([QUrl.fromLocalFile(str(file)) for file in files])
    at = QPointF(target.rect().center())
    actions, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    entered = QDragEnterEvent(at.toPoint(), actions, carried, left, none)
    QApplication.sendEvent(target, entered)
    if entered.isAccepted():
        QApplication.sendEvent(target, QDropEvent(at, actions, carried, left, none))
    return entered.isAccepted()
