"""A single version: its fields with their types, like in the editor but read-only."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QWidget

from gui import copying
from gui.language import tr
from gui.parts.fields.content_tree import ContentModel, ContentTree
from gui.parts.fields.field_model import VALUE
from gui.parts.fields.field_nodes import FieldNode
from gui.parts.fields.field_values import add_ways
from gui.parts.notices import Pill
from gui.parts.values.pane_room import PaneRoom
from gui.parts.values.value_pane import ValuePane
from gui.parts.versions_model import PLACES, name_of
from gui.style import boxes, preferences, states, theme, wording
from model import text
from model.foundation.records import Opened
from model.values import canonical
from model.values.canonical import Path


class DocumentView(QWidget):
    """The fields of one version, a line above them, and the pane of a whole value below."""

    open_asked = Signal()
    compare_asked = Signal()
    field_asked = Signal(object, object)  # path, and the number of the version that it is in
    find_asked = Signal(str)  # a filter

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "surface")
        self.opened: Opened | None = None
        self.model = ContentModel(self, preferences.zone())
        self.title = states.words(tr("Document"), "head")
        self.name = states.words("", "second")
        self.name.setFont(theme.mono(12))
        self.mark = Pill()
        self.said = states.words("", "second")
        self.compare = states.button(tr("Compare with current"), self.compare_asked.emit, "small", icon="git-diff")
        self.copy = states.button(tr("Copy"), self.copy_document, "small", "quiet", icon="copy")
        self.copy.setToolTip(tr("Copy the document as Extended JSON"))
        self.edit = states.button(tr("Edit"), self.open_asked.emit, "small", icon="pencil-simple")
        head = QWidget(self)
        row = boxes.wrapping(head, 16, 7)
        for part in (self.title, self.name, self.mark):
            row.addWidget(part)
        row.addWidget(self.said, 1)
        for made in (self.compare, self.copy, self.edit):
            row.addWidget(made)
        column = boxes.column(self)
        column.addWidget(head)
        column.addWidget(states.hair())
        self._split = boxes.split()
        column.addWidget(self._split, 1)
        self.tree = ContentTree(self.model)
        self._split.addWidget(self.tree)
        self.value = ValuePane(self._split)
        self.value.hide()
        self._split.setStretchFactor(0, 3)
        self._split.setStretchFactor(1, 2)
        PaneRoom(self._split, self.value)
        self.tree.whole_asked.connect(self._toggle_value)
        self.tree.selectionModel().currentRowChanged.connect(self._follow)
        self.tree.doubleClicked.connect(self._double_clicked)
        self.value.closed.connect(self.hide_value)
        self.tree.field_menu.connect(self._fill_menu)
        self.setFocusProxy(self.tree)
        preferences.signals.changed.connect(self._preference)

    def show_document(self, opened: Opened, alone: bool, name: str = "") -> None:
        """Show a version; ``alone`` if the document has no other, ``name`` if it is not shown by its id."""
        same = self.opened is not None and (self.opened.ns, self.opened.id) == (opened.ns, opened.id)
        self.opened = opened
        if not same:
            self.hide_value()
            self.tree.scrollToTop()
            self.tree.setCurrentIndex(self.model.index(-1, -1))
            self.model.set_content(canonical.EMPTY, None)  # else rows would be expanded as in the former document
        there = self.tree.top  # rows stay expanded or collapsed as they were left
        self.model.show_document(opened)
        version = opened.base
        numbered = version.v is not None
        self.name.setText(name or (name_of(version) if numbered else wording.plain(opened.id)))
        self.mark.put(tr("current") if numbered and version.current and not alone else "", "acc", "accTint")
        stored = tr("stored in {places}", places=PLACES[version.stored]) if numbered and not version.current else ""
        raw = version.raw if version.raw is not None else version.content or b""
        date = wording.moment(version.at)
        kept = tr("as kept on {when}", when=wording.moment(version.kept_on)) if version.kept_on is not None else ""
        size = tr("{raw} as stored", raw=wording.size(len(raw)))
        self.said.setText(", ".join(filter(None, (kept, date, stored, size))))
        self.compare.setVisible(not alone and not version.current)
        self.edit.setVisible(version.current and not name)
        self.tree.setAccessibleName(tr("Fields of {name}", name=self.name.text()))
        self.tree.open_short(there)
        if not self.value.isHidden():
            self._show_value(self.model.node(self.tree.currentIndex()))

    def copy_document(self) -> None:
        """Put the document on the clipboard as canonical Extended JSON."""
        if self.opened is not None:
            raw = self.opened.document
            copying.copy(
                self,
                len(raw),
                lambda: text.to_utf8(raw, 2),
                tr("{name} is copied as Extended JSON", name=self.name.text()),
            )

    def _fill_menu(self, menu: QMenu, node: FieldNode) -> None:
        if self.opened is not None and node.kind == "field":
            menu.addSeparator()
            path, v = self.model.path(node), self.opened.base.v
            add_ways(menu, path, node.value, v, self.field_asked, self.find_asked)

    # --- the whole value below

    def toggle_value(self) -> None:
        """Show the whole value of the current field below, or hide it."""
        self._toggle_value(self.model.node(self.tree.currentIndex()))

    def hide_value(self) -> None:
        """Close the value below."""
        if not self.value.isHidden():
            self.value.hide()
            self.tree.setFocus()

    def _toggle_value(self, node: FieldNode | None) -> None:
        if not self.value.isHidden():
            self.hide_value()
        elif node is not None and node.kind != "group":
            self.value.show()
            self._show_value(node)

    def _show_value(self, node: FieldNode | None) -> None:
        if node is not None and node.kind != "group":
            self.value.show_value(text.path_text(self.model.path(node)), node.value)

    def _follow(self, *_: object) -> None:
        if not self.value.isHidden():
            self._show_value(self.model.node(self.tree.currentIndex()))

    def _double_clicked(self, *_: object) -> None:
        node = self.model.node(self.tree.currentIndex())
        if node is not None and not node.value.is_container and self.value.isHidden():
            self._toggle_value(node)

    def reveal(self, path: Path) -> None:
        """Choose a field's row and scroll to it."""
        index = self.model.find(path, VALUE)
        above = index.parent()
        while above.isValid():
            self.tree.expand(above)
            above = above.parent()
        if index.isValid():
            self.tree.setCurrentIndex(index)
            self.tree.scrollTo(index)

    def _preference(self, name: str) -> None:
        if name == "zone":
            self.model.zone = preferences.zone()
            self.model.refresh()

    @property
    def parts(self) -> Sequence[QWidget]:
        """The widgets that F6 visits."""
        return [self.tree]
