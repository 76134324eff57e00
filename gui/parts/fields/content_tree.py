"""The editor's tree for a document that is only read: its fields with their types, and a field's menu."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from gui import copying
from gui.language import tr
from gui.parts.fields.field_model import SYMBOL_COLUMN, VALUE, FieldModel
from gui.parts.fields.field_tree import FieldTree
from gui.parts.values import value_text
from gui.style import wording
from gui.style.cells import Cell
from model import text
from model.values import canonical

if TYPE_CHECKING:
    from gui.parts.fields.field_nodes import FieldNode
    from model.foundation.records import Opened
    from model.values.canonical import Path, Value

FEW = 60  # rows of a document that has its short parts expanded at once
SHORT = 12  # rows of a short part


class LockedFields(NamedTuple):
    """The fields that the layout keeps for itself, before and after the content."""

    before: tuple[tuple[str, Value], ...]
    behind: tuple[tuple[str, Value], ...]


def locked_fields(document: bytes, locked: Sequence[str]) -> LockedFields:
    """The locked fields of a stored document, in their order."""
    before: list[tuple[str, Value]] = []
    behind: list[tuple[str, Value]] = []
    here = before
    for name, value in canonical.fields(document) if document else []:
        if name in locked:
            here.append((name, value))
        else:
            here = behind
    return LockedFields(tuple(before), tuple(behind))


class ContentModel(FieldModel):
    """The fields of one version, none of which can be typed into."""

    headers = ("", tr("Field"), tr("Value"), tr("Type"), "")

    def __init__(self, parent: QObject | None = None, zone: str = "UTC") -> None:
        super().__init__(parent, zone)

    def show_document(self, opened: Opened) -> None:
        """Show a version, with the layout's own fields around it."""
        self.set_locked(*locked_fields(opened.document, opened.locked))
        self.set_content(opened.base.content or canonical.EMPTY, None)

    def can_edit(self, node: FieldNode, column: int) -> bool:
        return False

    def drawn(self, node: FieldNode, column: int) -> Cell:
        if column == SYMBOL_COLUMN:
            return Cell()
        return super().drawn(node, column)


class ContentTree(FieldTree):
    """The tree of a :class:`ContentModel`. ``field_menu`` carries a field's menu, to be added to, and its row."""

    field_menu = Signal(object, object)  # QMenu, FieldNode

    def __init__(self, model: ContentModel, parent: QWidget | None = None) -> None:
        super().__init__(model, parent)
        self.may_edit = False
        self.setAccessibleName(tr("Fields, to be read"))
        self.resize_columns((16, 240, 160, 96, 104))
        self.menu_asked.connect(self._pop_up)
        self.key_asked.connect(self._key)

    def _key(self, node: FieldNode, what: str) -> None:
        if what == "copy":
            self.copy(node)

    def copy(self, node: FieldNode) -> None:
        """Put a whole value on the clipboard."""
        value = node.value
        copying.copy(
            self, len(value.data), lambda: value_text.copied(value), tr("Copied {name}", name=self._name(node))
        )

    def _name(self, node: FieldNode) -> str:
        return text.path_text(self.fields.path(node))

    @property
    def top(self) -> set[Path]:
        """The paths of the top-level fields if there are few."""
        model = self.fields
        rows = range(model.rowCount() if model.rowCount() <= FEW else 0)
        return {model.path(node) for row in rows if (node := model.node(model.index(row, 0))) is not None}

    def open_short(self, but: Collection[Path] = ()) -> None:
        """Expand the short parts of a short document, except some; choose the first field."""
        model = self.fields
        if model.rowCount() <= FEW and not model.root.is_long:
            for index in [model.index(row, 0) for row in range(model.rowCount())]:
                node = model.node(index)
                if node is not None and model.path(node) in but:
                    continue
                if model.canFetchMore(index):
                    model.fetchMore(index)
                if 0 < model.rowCount(index) <= SHORT:
                    self.expand(index)
        if not self.currentIndex().isValid():
            self.setCurrentIndex(model.index(0, VALUE))

    def _pop_up(self, node: FieldNode | None, point: QPoint) -> None:
        if node is not None and node.kind != "group":
            menu = self.menu(node)
            menu.aboutToHide.connect(menu.deleteLater)
            menu.popup(point)

    def menu(self, node: FieldNode) -> QMenu:
        """The menu of a field."""
        menu = QMenu(self)
        menu.setAccessibleName(tr("Field"))
        whole = QAction(tr("Show the whole value"), menu)
        whole.setShortcut(QKeySequence(Qt.Key.Key_Space))
        whole.triggered.connect(lambda: self.whole_asked.emit(node))
        copied = QAction(tr("Copy value"), menu)
        copied.setShortcut(QKeySequence("Ctrl+C"))
        copied.triggered.connect(lambda: self.copy(node))
        name = self._name(node)
        path = QAction(tr("Copy path"), menu)
        path.triggered.connect(
            lambda: copying.copy(self, 0, lambda: name, tr("Copied the path {name}", name=wording.item(name)))
        )
        for action in (whole, copied, path):
            action.setShortcutVisibleInContextMenu(True)
            menu.addAction(action)
        self.field_menu.emit(menu, node)
        return menu
