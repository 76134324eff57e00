"""The view of a document's fields: its keys, its drop-down of types, and where typing starts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QApplication,
    QHeaderView,
    QMenu,
    QPlainTextEdit,
    QStyleOptionViewItem,
    QWidget,
)

from gui.language import tr, translated
from gui.parts.fields.cell_editor import CellEditor, Typing
from gui.parts.fields.field_model import ACTION, FIELD, SYMBOL_COLUMN, TYPE, VALUE, FieldModel
from gui.parts.fields.field_values import are_numbers, converted
from gui.style import icons, theme
from gui.style.cells import LONG, MEASURED, CellDelegate, CellTree, Index, full_width, plain
from model import text
from model.errors import Refused
from model.values.canonical import NULL, UNDEFINED, Value
from model.values.kinds import BY_NAME

if TYPE_CHECKING:
    from gui.parts.fields.field_nodes import FieldNode

ACTIONS_FROM, TYPES_FROM = 600, 520  # from these widths on, there is room for these columns
TYPE_WIDTH = 120  # room for the longest usual type, in bold and with its caret
TOP = QPoint(0, 0)


OFFERED, SHOWN = 1024, 28  # bytes of a value that is tried in every type; characters of it that are shown


class FieldDelegate(CellDelegate):
    """Paints cells, and passes the keys of an open editor to it."""

    def __init__(self, tree: FieldTree) -> None:
        super().__init__(tree)
        self._tree = tree

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if index.column() == FIELD:
            option.rect = option.rect.adjusted(-theme.px(4), 0, 0, 0)
        if index.column() in (VALUE, TYPE):
            option.rect = option.rect.adjusted(0, 0, -theme.px(4), 0)
        if index.column() == TYPE and self._tree.is_typing_into(index):
            self._drop_down(painter, option)
            return
        super().paint(painter, option, index)

    def _drop_down(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("ctl"), 1))
        painter.setBrush(theme.colour("surface"))
        box = QRectF(option.rect)
        painter.drawRoundedRect(box.adjusted(0.5, 1.5, -0.5, -1.5), theme.px(4), theme.px(4))
        typing = self._tree.editor.typing
        cell = plain(typing.kind if typing is not None else "", size=12, caret=True)
        self._content(painter, box.adjusted(theme.px(8), 0, -theme.px(8), 0), cell, option)
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        return self._tree.editor.made(parent)

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        # The editor was filled when it was made: Qt asks again at every change of the model, which would undo typing.
        return

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        return

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        self._tree.editor.place(QRect(option.rect))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(watched, QWidget):
            return False
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            mine = event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F4)
            if mine:  # else a shortcut of the window would take the keys
                event.accept()
            return mine
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._key(watched, event)
        if event.type() == QEvent.Type.FocusOut:
            self._tree.editor.left()
        return False

    def _key(self, widget: QWidget, event: QKeyEvent) -> bool:
        key, held, editor = event.key(), event.modifiers(), self._tree.editor
        if key == Qt.Key.Key_Escape:
            editor.give_up()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if isinstance(widget, QPlainTextEdit) and not held & Qt.KeyboardModifier.ControlModifier:
                return False
            editor.commit(then="here")
        elif key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            editor.commit(then="next" if key == Qt.Key.Key_Tab else "previous")
        elif key == Qt.Key.Key_F4 or (key == Qt.Key.Key_Down and held & Qt.KeyboardModifier.AltModifier):
            self._tree.choose_kind()
        else:
            return False
        return True


def _is_typed(event: QKeyEvent) -> bool:
    """Whether a key makes a character, also with AltGr, which some systems report as Ctrl+Alt."""
    held = event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
    by_alt_gr = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    plain = held in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.GroupSwitchModifier, by_alt_gr)
    return plain and event.text().isprintable() and bool(event.text().strip())


def _index(kept: QPersistentModelIndex) -> QModelIndex:
    return kept.model().index(kept.row(), kept.column(), kept.parent())


class _Place(NamedTuple):
    """The row that was chosen, and one that was in view, with where it stood."""

    node: FieldNode | None
    anchor: QPersistentModelIndex
    top: int


class FieldTree(CellTree):
    """The tree of a :class:`FieldModel`. It changes nothing itself: typed names and values are emitted as signals."""

    value_typed = Signal(object, object)  # FieldNode, Value
    name_typed = Signal(object, object)  # FieldNode, str
    revert_asked = Signal(object)  # FieldNode
    menu_asked = Signal(object, object)  # FieldNode or None, QPoint on the screen
    key_asked = Signal(object, object)  # FieldNode, what: remove, add, up, down, revert, copy
    whole_asked = Signal(object)  # FieldNode; Space was pressed
    typing_changed = Signal()
    has_actions = True  # whether the last column can be pressed

    def __init__(self, model: FieldModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fields = model
        self.editor = CellEditor(self, model)
        self.editor.value_typed.connect(self.value_typed)
        model.value_set.connect(self._value_set)
        model.fitting.connect(self._hold_place)
        model.fitted.connect(self._keep_place)
        self._held: _Place | None = None
        self._beside = QPersistentModelIndex()  # the row that the arrow keys begin at where none is chosen
        self.editor.name_typed.connect(self.name_typed)
        self.editor.changed.connect(self.typing_changed)
        self.editor.stepped.connect(self._step)
        self._menu: QMenu | None = None
        self._menu_node: FieldNode | None = None
        self.setItemDelegate(FieldDelegate(self))
        self.setModel(model)
        self.setTreePosition(FIELD)
        self.setEditTriggers(FieldTree.EditTrigger.NoEditTriggers)
        self.setIndentation(theme.px(16))
        self.customContextMenuRequested.connect(self._menu_at)
        self.expanded.connect(self._opened)
        self.collapsed.connect(self._closed)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        self.resize_columns((40, 192, 160, TYPE_WIDTH, 104))
        header.setSectionResizeMode(SYMBOL_COLUMN, QHeaderView.ResizeMode.Fixed)
        self.setAccessibleName(tr("Fields"))

    @property
    def may_edit(self) -> bool:
        """Whether anything can be edited."""
        return self.fields.may_edit

    @may_edit.setter
    def may_edit(self, may: bool) -> None:
        if may != self.fields.may_edit:
            self.fields.may_edit = may
            self.fields.refresh()

    # --- looks

    def resizeEvent(self, event: QResizeEvent) -> None:
        if self.has_actions:  # with little room, values are more important than what menus and keys do as well
            self.setColumnHidden(ACTION, self.width() < theme.px(ACTIONS_FROM))
            self.setColumnHidden(TYPE, self.width() < theme.px(TYPES_FROM))
        super().resizeEvent(event)  # this fits the columns that are visible now

    def _needs(self, columns: int) -> tuple[list[int], list[int]]:
        """As in any list, but with the types of expanded rows further in: long ones are few."""
        words, whole = super()._needs(columns)
        index = self.fields.index(0, TYPE)
        for _ in range(MEASURED):
            if not index.isValid():
                break
            wide = math.ceil(full_width(self.fields.cell(index)))
            words[TYPE], whole[TYPE] = max(words[TYPE], min(wide, theme.px(LONG))), max(whole[TYPE], wide)
            index = self.indexBelow(index).siblingAtColumn(TYPE)
        return words, whole

    def drawBranches(self, painter: QPainter, rect: QRect, index: Index) -> None:
        # A line down from each expanded parent, under its chevron.
        step, middle = self.indentation(), theme.px(12)
        depth = 0
        above = index.parent()
        while above.isValid():
            x = rect.right() + 1 - (depth + 2) * step + middle
            painter.fillRect(QRect(x, rect.top(), 1, rect.height()), theme.colour("border"))
            depth += 1
            above = above.parent()
        row = index.sibling(index.row(), 0)
        if self.fields.hasChildren(row):
            side = theme.px(12)
            x = rect.right() + 1 - step + middle
            box = QRectF(x - side / 2, rect.center().y() - side / 2 + 0.5, side, side)
            icons.paint(painter, box, "caret-down" if self.isExpanded(row) else "caret-right", "text2")

    def _opened(self, index: QModelIndex) -> None:
        self.fields.set_open(index, True)

    def _closed(self, index: QModelIndex) -> None:
        self.fields.set_open(index, False)

    # --- rows that come and go

    def _hold_place(self) -> None:
        """Note which row is chosen, and which row stands where in the view."""
        current = self.currentIndex()
        seen = self.visualRect(current)
        anchor = current if current.isValid() and self.viewport().rect().contains(seen.center()) else self.indexAt(TOP)
        top = self.visualRect(anchor).top()
        self._held = _Place(self.fields.node(current), QPersistentModelIndex(anchor), top)

    def _keep_place(self) -> None:
        """Choose the row that was chosen, or none where it has gone: what is typed next must not land beside it."""
        held, self._held = self._held, None
        if held is None:
            return
        if held.node is not None and not self.fields.index_of(held.node).isValid():
            self._beside = QPersistentModelIndex(self.currentIndex())  # Qt has chosen the next one
            self.selectionModel().clear()
        if held.anchor.isValid() and (moved := self.visualRect(_index(held.anchor)).top() - held.top):
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + moved)

    def moveCursor(self, action: FieldTree.CursorAction, held: Qt.KeyboardModifier) -> QModelIndex:
        if not self.currentIndex().isValid() and self._beside.isValid():
            return _index(self._beside)
        here: QModelIndex = super().moveCursor(action, held)
        return here

    def keyboardSearch(self, search: str) -> None:
        """Go to no row by its first letters where something can be typed: the next letter would be typed into it."""
        if not self.may_edit:
            super().keyboardSearch(search)

    # --- typing

    @property
    def is_typing(self) -> bool:
        """Whether text was typed into an open editor."""
        return self.editor.has_text

    @property
    def has_editor(self) -> bool:
        """Whether an editor is open."""
        return self.editor.typing is not None

    def is_typing_into(self, index: Index) -> bool:
        """Whether the row's value is being edited."""
        here = self.editor.typing
        return here is not None and here.column == VALUE and self.fields.node(index) is here.node

    def edit_cell(self, index: Index, kind: str = "", start: str | None = None, wrong: str = "") -> bool:
        """Open the editor of a name or a value; ``kind`` is the type that the typed value shall have."""
        node = self.fields.node(index)
        if node is None or not self.may_edit or not (index.flags() & Qt.ItemFlag.ItemIsEditable):
            return False
        if not self.editor.commit():
            return False
        cell = self.editor.begin(node, index.column(), kind, start)
        self.setCurrentIndex(cell)
        self.scrollTo(cell)
        self.edit(cell)
        if wrong:
            self.editor.refuse(wrong)
        self.viewport().update()
        self.typing_changed.emit()
        return True

    def _value_set(self, node: FieldNode, value: Value) -> None:
        if self.may_edit and self.commit():
            self.value_typed.emit(node, value)

    def commit(self) -> bool:
        """Accept the typed text; False if it is invalid, and the editor says why."""
        return self.editor.commit()

    def give_up(self) -> None:
        """Discard the typed text."""
        self.editor.give_up()

    def _step(self, typing: Typing, forward: bool) -> None:
        """Go from a name to its value, from a value to the next one that can be edited."""
        index = self.fields.index_of(typing.node, VALUE)
        if typing.column == FIELD and forward:
            self.edit_cell(index)
            return
        while index.isValid():
            index = self.indexBelow(index) if forward else self.indexAbove(index)
            index = index.siblingAtColumn(VALUE)
            node = self.fields.node(index)
            if node is not None and not node.value.is_container and index.flags() & Qt.ItemFlag.ItemIsEditable:
                self.edit_cell(index)
                return
        self.setFocus()

    # --- types

    def choose_kind(self, index: Index | None = None) -> None:
        """Drop down the types for a row, or for the value being edited."""
        typing = self.editor.typing
        if index is None:
            if typing is None or typing.column != VALUE:
                return
            index = self.fields.index_of(typing.node, TYPE)
        node = self.fields.node(index)
        if node is None or not self.may_edit or not self.fields.can_retype(node):
            return
        if typing is not None and typing.node is not node and not self.commit():
            return
        typing = self.editor.typing
        now = typing.kind if typing is not None else node.value.kind
        self._menu_node, self._menu = node, self._kinds(now, node.value)
        below = self.visualRect(self.fields.index_of(node, TYPE)).bottomLeft()
        self._menu.popup(self.viewport().mapToGlobal(below + QPoint(0, 1)))

    def _kinds(self, now: str, value: Value) -> QMenu:
        """The menu of types; beside each type stands the value converted to it, if that is exact."""
        menu = QMenu(self)
        menu.setAccessibleName(tr("Type"))
        menu.setMinimumWidth(self.columnWidth(TYPE))
        for kind in text.KINDS:
            becomes = "" if kind == now else self._as(value, kind)
            action = QAction(f"{kind}\t{becomes}" if becomes else kind, menu)
            action.setData(kind)
            action.setCheckable(True)
            action.setChecked(kind == now)
            menu.addAction(action)
            if kind == now:
                menu.setActiveAction(action)
        menu.triggered.connect(self._kind_chosen)
        menu.aboutToHide.connect(self._menu_gone)
        return menu

    def _menu_gone(self) -> None:
        menu, self._menu = self._menu, None
        if menu is not None:
            menu.deleteLater()
        if self.editor.widget is not None:
            self.editor.widget.setFocus()

    def _kind_chosen(self, action: QAction) -> None:
        if self._menu_node is not None:
            self.retype(self._menu_node, str(action.data()))

    def _as(self, value: Value, kind: str) -> str:
        if value.is_container or len(value.data) > OFFERED or BY_NAME[kind].word:
            return ""
        try:
            made = converted(value, kind, self.fields.zone)
        except Refused:
            return tr("not exact") if are_numbers(value, kind) else ""
        return text.shown(made, self.fields.zone, SHOWN)

    def retype(self, node: FieldNode, kind: str) -> None:
        """Give a value another type: at once if that is exact, else by asking for the value."""
        here = self.editor.typing
        if here is not None and here.node is node and here.column == VALUE:
            here.kind = kind
            self.editor.check()
            self.viewport().update()
        elif kind != node.value.kind:
            try:
                self.value_typed.emit(node, converted(node.value, kind, self.fields.zone))
            except Refused as refusal:
                self._ask(node, kind, translated(str(refusal)))

    def _ask(self, node: FieldNode, kind: str, wrong: str) -> None:
        value, zone = node.value, self.fields.zone
        start = text.editable(value, zone)
        if value.type in (NULL, UNDEFINED):
            start, wrong = text.editable(text.blank(kind), zone), ""
        elif value.is_container:
            start = text.editable(text.blank(kind), zone)
            wrong = tr("Type the {kind}: the {kind2} cannot be converted into it.", kind=kind, kind2=value.kind)
        self.edit_cell(self.fields.index_of(node, VALUE), kind, start, wrong)

    # --- keys and the mouse

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        node = self.fields.node(index)
        if node is None or not self._command(event, index, node):
            super().keyPressEvent(event)

    def _command(self, event: QKeyEvent, index: QModelIndex, node: FieldNode) -> bool:
        key, held = event.key(), event.modifiers()
        alt = bool(held & Qt.KeyboardModifier.AltModifier)
        if key == Qt.Key.Key_F2:
            shift = bool(held & Qt.KeyboardModifier.ShiftModifier)
            self.edit_cell(index.siblingAtColumn(FIELD if shift or index.column() == FIELD else VALUE))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._enter(index, node)
        elif key == Qt.Key.Key_F4:
            self.choose_kind(index)
        elif key == Qt.Key.Key_Space:
            self.whole_asked.emit(node)
        elif key == Qt.Key.Key_Menu or (key == Qt.Key.Key_F10 and held & Qt.KeyboardModifier.ShiftModifier):
            self.menu_asked.emit(node, self.viewport().mapToGlobal(self.visualRect(index).bottomLeft()))
        elif _is_typed(event) and self._type_into(event, index, node):
            pass
        else:
            what = {
                Qt.Key.Key_Delete: "remove",
                Qt.Key.Key_Insert: "add",
                Qt.Key.Key_Up: "up" if alt else "",
                Qt.Key.Key_Down: "down" if alt else "",
                Qt.Key.Key_Right: "in" if alt else "",
                Qt.Key.Key_Left: "out" if alt else "",
                Qt.Key.Key_Backspace: "revert" if alt else "",
                Qt.Key.Key_C: "copy" if held == Qt.KeyboardModifier.ControlModifier else "",
            }.get(Qt.Key(key), "")
            if not what:
                return False
            self.key_asked.emit(node, what)
        return True

    def _type_into(self, event: QKeyEvent, index: QModelIndex, node: FieldNode) -> bool:
        """Start typing over a name or a value; Esc brings back the old one. False if nothing can be typed there."""
        column = FIELD if index.column() == FIELD and self.fields.can_edit(node, FIELD) else VALUE
        if column == VALUE and self.fields.hasChildren(index.siblingAtColumn(0)):
            return False
        empty = column == VALUE and node.value.type in (NULL, UNDEFINED)
        if not self.edit_cell(index.siblingAtColumn(column), "String" if empty else ""):
            return False
        widget = self.editor.widget
        if widget is not None:
            widget.selectAll()
            QApplication.sendEvent(widget, event)
        return True

    def _enter(self, index: QModelIndex, node: FieldNode) -> None:
        if index.column() == TYPE:
            self.choose_kind(index)
        elif index.column() == ACTION:
            self._act(node)
        elif index.column() == FIELD and self.fields.can_edit(node, FIELD):
            self.edit_cell(index)
        elif node.value.is_container:
            row = index.siblingAtColumn(0)
            self.setExpanded(row, not self.isExpanded(row))
        else:
            self.edit_cell(index.siblingAtColumn(VALUE))

    def _act(self, node: FieldNode) -> None:
        cell = self.fields.drawn(node, ACTION)
        if not self.has_actions:
            return
        if cell.text == tr("Load anyway"):
            self.fields.load_anyway(self.fields.index_of(node, ACTION))
        elif cell.text:
            self.revert_asked.emit(node)

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        if editor is self.editor.widget:  # Qt asks for it because another row becomes current
            QTimer.singleShot(0, self, self._take_typed)
        else:
            super().closeEditor(editor, hint)

    def _take_typed(self) -> None:
        """Accept the typed text; if it is invalid, the editor stays open and says why."""
        self.commit()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if self.has_editor and not self.is_typing_into(self.indexAt(point)) and not self.commit():
            return
        index = self.indexAt(point)
        node = self.fields.node(index)
        if event.button() == Qt.MouseButton.LeftButton and node is not None:
            caret = point.x() > self.visualRect(index).right() - theme.px(36)
            if index.column() == TYPE and (self.is_typing_into(index) or (caret and self.fields.can_retype(node))):
                self.setCurrentIndex(index)
                self.choose_kind(index)
                return
            if self.has_actions and index.column() == ACTION and self.fields.drawn(node, ACTION).text:
                self.setCurrentIndex(index)
                self._act(node)
                return
        super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        node = self.fields.node(index)
        if node is None or event.button() != Qt.MouseButton.LeftButton or index.column() == ACTION:
            super().mouseDoubleClickEvent(event)
        elif index.column() == TYPE:
            self.choose_kind(index)
        elif (node.value.is_container and index.column() != FIELD) or not self.edit_cell(index):
            super().mouseDoubleClickEvent(event)

    def _menu_at(self, point: QPoint) -> None:
        if not self.commit():
            return
        self.menu_asked.emit(self.fields.node(self.indexAt(point)), self.viewport().mapToGlobal(point))
