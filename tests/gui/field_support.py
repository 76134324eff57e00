"""What tests of the editor do with its fields: find them, read their cells, type into them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.parts.fields.field_model import VALUE
from gui.parts.fields.field_nodes import FieldNode
from gui.style.cells import CELL, Cell
from gui.views.edit.editor_panel import EditorPanel
from model.session.guarded_writing import Conflict
from model.values import canonical
from model.values.canonical import Value
from tests.gui.document_scenes import Desk

Open = Callable[[Desk], EditorPanel]


def node(panel: EditorPanel, *path: str | int) -> FieldNode:
    found = panel.model.node(panel.model.find(path))
    assert found is not None, path
    return found


def cell(panel: EditorPanel, path: tuple[str | int, ...], column: int) -> Cell:
    found = panel.model.find(path, column).data(CELL)
    assert isinstance(found, Cell)
    return found


def type_into(
    panel: EditorPanel, path: tuple[str | int, ...], said: str, column: int = VALUE, end: bool = True
) -> None:
    assert panel.tree.edit_cell(panel.model.find(path, column))
    editor = panel.tree.editor.widget
    assert editor is not None
    editor.selectAll()
    QTest.keyClicks(editor, said)
    if end:
        QTest.keyClick(editor, Qt.Key.Key_Return)


def open_paths(conflict: Conflict) -> list[canonical.Path]:
    """The paths that a person has to decide."""
    assert conflict.merge is not None
    return [each.path for each in conflict.merge.conflicts]


def get(content: bytes, *path: str | int) -> Value:
    found = canonical.get(content, path)
    assert found is not None
    return found
