"""What a person does with the mouse beyond a click."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

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
