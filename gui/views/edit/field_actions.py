"""The actions on a field except typing: add, remove, duplicate, move, copy; as keys, buttons and a menu."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QModelIndex, QObject, QPoint, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu

from gui import copying
from gui.language import tr
from gui.parts.fields import edit_steps
from gui.parts.fields.edit_steps import Edit, Spot
from gui.parts.fields.field_model import FIELD, VALUE, FieldModel
from gui.parts.fields.field_nodes import FieldNode
from gui.parts.fields.field_tree import FieldTree
from gui.parts.fields.field_values import add_ways
from gui.style.wording import many
from model import text
from model.values import canonical
from model.values.canonical import ARRAY, OBJECT, Value

NEW = "field"
MOST_OPEN = 5000  # rows that "expand all" expands at most


class FieldActions(QObject):
    """Changes an edit through its tree. ``edited`` follows each change, with the spot to show."""

    edited = Signal(object)  # Spot or None
    revert_asked = Signal(object)  # FieldNode
    told = Signal(str)
    field_asked = Signal(object, object)  # path, None: show the history of a field
    find_asked = Signal(str)  # a filter

    def __init__(self, tree: FieldTree, edit: Callable[[], Edit]) -> None:
        super().__init__(tree)
        self._tree, self._edit = tree, edit
        self._added = 0
        tree.value_typed.connect(self.set_value)
        tree.name_typed.connect(self.rename)
        tree.key_asked.connect(self._key)
        tree.menu_asked.connect(self._menu)

    @property
    def _model(self) -> FieldModel:
        return self._tree.fields

    def _apply(self, content: bytes, title: str, spot: Spot | None, join: str = "") -> None:
        if self._edit().apply(content, title, spot, join):
            self.edited.emit(spot)

    def _name(self, node: FieldNode) -> str:
        return text.path_text(self._model.path(node))

    # --- one field

    def set_value(self, node: FieldNode, value: Value) -> None:
        """Set a field's value, of any type."""
        spot = self._model.spot(node)
        if spot is not None:
            title = (
                tr("change {name}", name=self._name(node))
                if value.type == node.value.type
                else tr("make {name} a {kind}", name=self._name(node), kind=value.kind)
            )
            self._apply(edit_steps.replaced(self._edit().content, spot, value), title, spot, self._joined(node))

    def rename(self, node: FieldNode, name: str) -> None:
        """Rename a field; it keeps its place."""
        spot = self._model.spot(node)
        if spot is not None:
            made = edit_steps.renamed(self._edit().content, spot, name)
            usual = self._model.usual_kind(edit_steps.path_of(made, spot))
            if usual and spot == self._new and node.value == text.blank("String"):  # the type that its neighbours have
                made = edit_steps.replaced(made, spot, text.blank(usual))
            self._apply(made, tr("rename {name}", name=self._name(node)), spot, self._joined(node))

    def _joined(self, node: FieldNode) -> str:
        # A new field, its name and its first value are one step.
        return tr("add {added}", added=self._added) if self._model.spot(node) == self._new else ""

    _new: Spot | None = None

    def remove(self, node: FieldNode) -> None:
        """Remove a field or an element."""
        spot = self._model.spot(node)
        if spot:
            self._apply(
                edit_steps.removed(self._edit().content, spot), tr("remove {name}", name=self._name(node)), None
            )

    def duplicate(self, node: FieldNode) -> None:
        """Insert a copy after a field or an element; the name of a field's copy gets a number."""
        spot = self._model.spot(node)
        if not spot:
            return
        content = self._edit().content
        name = edit_steps.free_name(content, spot[:-1], str(node.name)) if isinstance(node.name, str) else ""
        made = edit_steps.inserted(content, spot[:-1], spot[-1] + 1, name, node.value)
        self._apply(made, tr("duplicate {name}", name=self._name(node)), (*spot[:-1], spot[-1] + 1))

    def move(self, node: FieldNode, by: int) -> None:
        """Move a field or an element up or down among its siblings."""
        spot = self._model.spot(node)
        if not spot:
            return
        count = len(canonical.fields(edit_steps.value_at(self._edit().content, spot[:-1]).data))
        to = spot[-1] + by
        if 0 <= to < count:
            made = edit_steps.moved(self._edit().content, spot, to)
            self._apply(
                made,
                tr("move {name} {how}", name=self._name(node), how=tr("up") if by < 0 else tr("down")),
                (*spot[:-1], to),
            )

    def carry(self, node: FieldNode, inward: bool) -> None:
        """Move a field or element out of its container, or to the end of the container above it; its value stays."""
        spot, content = self._model.spot(node), self._edit().content
        if not spot or (not inward and len(spot) < 2) or (inward and not spot[-1]):
            return
        above = (*spot[:-1], spot[-1] - 1)
        target = above if inward else spot[:-2]
        within = edit_steps.value_at(content, target)
        if not within.is_container:
            self.told.emit(tr("The field above is not an object or a list, so nothing can be moved into it"))
            return
        there = [name for name, _ in canonical.fields(within.data)]
        name = node.name if isinstance(node.name, str) else edit_steps.free_name(content, target, NEW)
        if within.type == OBJECT and name in there:
            self.told.emit(
                tr("There is a field called {name} already; rename one of them first", name=text.name_text(name))
            )
            return
        at = len(there) if inward else spot[-2] + 1
        made = edit_steps.inserted(content, target, at, name, node.value)  # after the field itself, which stays
        made = edit_steps.removed(made, spot)
        where = tr("into the field above") if inward else tr("out of its container")
        self._apply(made, tr("move {name} {where}", name=self._name(node), where=where), (*target, at))

    # --- adding

    def add(self, node: FieldNode | None = None, inside: bool = False) -> None:
        """Add a field at the end of the document, or of the container that ``node`` is in (or is, with ``inside``).

        An element is added after ``node``. Its name, then its value, can be typed at once.
        """
        container = self._container(node, inside)
        content = self._edit().content
        within = edit_steps.value_at(content, container)
        count = len(canonical.fields(within.data))
        at = count
        if within.type == ARRAY and not inside and node is not None and (spot := self._model.spot(node)) is not None:
            at = spot[-1] + 1
        name = edit_steps.free_name(content, container, NEW)
        value = self._like(within, at)
        self._added += 1
        self._new = (*container, at)
        where = text.path_text(edit_steps.path_of(content, container))
        kind = tr("an element") if within.type == ARRAY else tr("a field")
        title = tr("add {kind} to {where}", kind=kind, where=where) if where else tr("add {kind}", kind=kind)
        self._apply(
            edit_steps.inserted(content, container, at, name, value),
            title,
            self._new,
            tr("add {added}", added=self._added),
        )
        made = edit_steps.inserted(content, container, at, name, value)
        index = self._model.find(edit_steps.path_of(made, self._new), VALUE if within.type == ARRAY else FIELD)
        if index.isValid():
            self._tree.edit_cell(index)

    @staticmethod
    def _like(within: Value, at: int) -> Value:
        """A blank of the type of the elements before it; a String in a document."""
        items = canonical.items(within)
        if within.type == ARRAY and items:
            return text.blank(items[min(at, len(items)) - 1].kind)
        return text.blank("String")

    def _container(self, node: FieldNode | None, inside: bool) -> Spot:
        spot = self._model.spot(node.container) if node is not None else None
        if node is None or spot is None:
            return ()
        if node.kind == "group" or (inside and node.value.is_container):
            return spot
        return spot[:-1]

    # --- copying, opening

    def copy(self, node: FieldNode, what: str = "value") -> None:
        """Put a value (as Extended JSON), a field or a path on the clipboard."""
        name, value = node.name, node.value
        if what == "path":
            said = self._name(node)
            copying.copy(self._tree, 0, lambda: said, tr("Copied the path {said}", said=said))
        elif what == "field":
            words = lambda: text.to_text(canonical.document([(str(name), value)]))  # noqa: E731 (made when it is wanted)
            copying.copy(self._tree, len(value.data), words, tr("Copied {name}", name=self._name(node)))
        else:
            told = tr("Copied {name}", name=self._name(node) or tr("the document"))
            copying.copy(self._tree, len(value.data), lambda: text.value_text(value), told)

    def copy_document(self) -> None:
        """Put the whole content on the clipboard as canonical Extended JSON."""
        content = self._edit().content
        copying.copy(
            self._tree, len(content), lambda: text.to_utf8(content, 2), tr("Copied the document as Extended JSON")
        )

    def expand_all(self) -> None:
        """Expand every container, within a limit."""
        waiting = [self._model.index(row, 0) for row in range(self._model.rowCount())]
        opened = 0
        while waiting and opened < MOST_OPEN:
            index = waiting.pop(0)
            if not self._model.hasChildren(index):
                continue
            self._tree.expand(index)
            opened += 1 + self._model.rowCount(index)
            waiting += [self._model.index(row, 0, index) for row in range(self._model.rowCount(index))]
        if waiting and opened >= MOST_OPEN:
            self.told.emit(
                tr("The first {rows} are open; open the others as you need them", rows=many(MOST_OPEN, "row"))
            )

    # --- keys and menu

    def _key(self, node: FieldNode, what: str) -> None:
        if what == "copy":
            self.copy(node)
        elif what == "revert":
            self.revert_asked.emit(node)
        elif node.kind == "field" and self._tree.may_edit:
            act: dict[str, Callable[[], None]] = {
                "remove": lambda: self.remove(node),
                "add": lambda: self.add(node),
                "up": lambda: self.move(node, -1),
                "down": lambda: self.move(node, 1),
                "in": lambda: self.carry(node, True),
                "out": lambda: self.carry(node, False),
                "duplicate": lambda: self.duplicate(node),
            }
            act[what]()

    def _menu(self, node: FieldNode | None, point: QPoint) -> None:
        menu = self.menu(node)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(point)

    def menu(self, node: FieldNode | None) -> QMenu:
        """The menu of a row, or of the empty space below the rows."""
        menu = QMenu(self._tree)
        menu.setAccessibleName(tr("Field"))
        tree, model = self._tree, self._model
        may = tree.may_edit

        def entry(
            label: str, call: Callable[[], object], keys: str = "", on: bool = True, within: QMenu | None = None
        ) -> None:
            action = QAction(label, menu)
            if keys:
                action.setShortcut(QKeySequence(keys))
                action.setShortcutVisibleInContextMenu(True)
            action.setEnabled(on)
            action.triggered.connect(lambda: call())
            (within or menu).addAction(action)

        if node is not None and node.kind == "field":
            index = model.index_of(node, VALUE)
            element = isinstance(node.name, int)
            entry(tr("Edit value"), lambda: tree.edit_cell(index), "F2", may)
            change, add, move = (menu.addMenu(title) for title in (tr("Change"), tr("Add"), tr("Move")))
            name = partial(tree.edit_cell, model.index_of(node, FIELD))
            entry(tr("Rename"), name, "Shift+F2", may and not element, within=change)
            entry(tr("Change type…"), lambda: tree.choose_kind(index), "F4", may, within=change)
            behind = tr("Add element behind") if element else tr("Add field")
            entry(behind, lambda: self.add(node), "Ins", may, within=add)
            if node.value.is_container:
                inner = tr("Add field inside") if node.value.type == OBJECT else tr("Add element inside")
                entry(inner, lambda: self.add(node, inside=True), on=may, within=add)
            entry(tr("Duplicate"), lambda: self.duplicate(node), on=may, within=add)
            entry(tr("Move up"), lambda: self.move(node, -1), "Alt+Up", may, within=move)
            entry(tr("Move down"), lambda: self.move(node, 1), "Alt+Down", may, within=move)
            entry(tr("Move into the field above"), lambda: self.carry(node, True), "Alt+Right", may, within=move)
            entry(tr("Move out"), lambda: self.carry(node, False), "Alt+Left", may, within=move)
            entry(tr("Remove"), lambda: self.remove(node), "Del", may)
            self._revert_entry(node, partial(entry, within=change))
        elif node is None or node.kind == "group":
            entry(tr("Add field") if node is None else tr("Add to this list"), lambda: self.add(node), "Ins", may)
        else:
            self._revert_entry(node, entry)
        menu.addSeparator()
        copies = menu.addMenu(tr("Copy"))
        if node is not None and node.kind != "group":
            whole = isinstance(node.name, str)
            entry(tr("Copy value as Extended JSON"), lambda: self.copy(node), "Ctrl+C", within=copies)
            entry(tr("Copy field as Extended JSON"), lambda: self.copy(node, "field"), on=whole, within=copies)
            entry(tr("Copy path"), lambda: self.copy(node, "path"), within=copies)
        entry(tr("Copy document as Extended JSON"), self.copy_document, within=copies)
        menu.addSeparator()
        if node is not None and node.kind == "field":
            add_ways(menu, model.path(node), node.value, None, self.field_asked, self.find_asked)
        else:
            entry(tr("Expand all"), self.expand_all)
            entry(tr("Collapse all"), tree.collapseAll)
        return menu

    def _revert_entry(self, node: FieldNode, entry: Callable[..., None]) -> None:
        may = self._tree.may_edit and self._model.change_of(node) is not None
        entry(tr("Revert this field"), lambda: self.revert_asked.emit(node), "Alt+Backspace", may)

    def show_spot(self, spot: Spot | None) -> None:
        """Scroll to a spot's row and choose it."""
        if spot is None:
            return
        try:
            path = edit_steps.path_of(self._edit().content, spot)
        except LookupError:
            return
        index = self._model.find(path, VALUE)
        if index.isValid():
            self.reveal(index)

    def reveal(self, index: QModelIndex) -> None:
        """Expand the rows above a row, choose it and scroll to it."""
        above = index.parent()
        while above.isValid():
            self._tree.expand(above)
            above = above.parent()
        self._tree.setCurrentIndex(index)
        self._tree.scrollTo(index)
