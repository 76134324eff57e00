"""Editing a name or a value in place: the text is accepted, or the editor stays open with the reason below it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import QObject, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QApplication,
    QCompleter,
    QLineEdit,
    QPlainTextEdit,
    QTreeView,
    QWidget,
)

from gui.language import tr, translated
from gui.parts.fields.field_model import FIELD, VALUE, FieldModel
from gui.parts.fields.field_values import as_lines
from gui.style import theme
from gui.style.states import PlainLabel
from model import text
from model.errors import Refused
from model.values.canonical import Value, name_bytes

if TYPE_CHECKING:
    from gui.parts.fields.field_nodes import FieldNode
    from gui.style.cells import Index

LINES = 6  # rows that a multi-line editor covers
HINT = tr("Ctrl+Enter keeps what you typed, Esc discards it")


class Typing(Struct):
    """The cell of an open editor; ``kind`` is the type that the typed value shall have."""

    node: FieldNode
    column: int
    kind: str
    start: str


class CellEditor(QObject):
    """The only editor that a tree may have open, and the line below it."""

    value_typed = Signal(object, object)  # FieldNode, Value
    name_typed = Signal(object, object)  # FieldNode, str
    stepped = Signal(object, bool)  # Typing, and whether forward: Tab was pressed in the editor
    changed = Signal()

    def __init__(self, tree: QTreeView, fields: FieldModel) -> None:
        super().__init__(tree)
        self._tree, self._fields = tree, fields
        self._had_text = False
        self.typing: Typing | None = None
        self.widget: QLineEdit | QPlainTextEdit | None = None
        self._line = PlainLabel(parent=tree.viewport())
        self._line.setProperty("role", "celltip")
        self._line.hide()

    # --- what is typed

    @property
    def has_text(self) -> bool:
        """Whether the typed text or type differs from the cell's."""
        here = self.typing
        return here is not None and (self.text != here.start or here.kind != here.node.value.kind)

    @property
    def text(self) -> str:
        """The typed text."""
        if isinstance(self.widget, QPlainTextEdit):
            return _raw(self.widget)
        return self.widget.text() if self.widget is not None else ""

    def begin(self, node: FieldNode, column: int, kind: str, start: str | None) -> Index:
        """Prepare an editor for a cell; the view then asks for :meth:`made`."""
        if start is None:
            start = str(node.name) if column == FIELD else text.editable(node.value, self._fields.zone)
        self.typing = Typing(node, column, kind or node.value.kind, start)
        return self._fields.index_of(node, column)

    def made(self, parent: QWidget) -> QWidget:
        """The editor widget; long text gets several lines."""
        here = self.typing
        assert here is not None
        own = here.column == VALUE and here.kind == here.node.value.kind
        whole = as_lines(here.node.value) if own else None
        widget: QLineEdit | QPlainTextEdit
        if whole is not None or "\n" in here.start:
            widget = QPlainTextEdit(parent)
            widget.setPlainText(here.start if whole is None else whole)
            here.start = _raw(widget)
            widget.textChanged.connect(self._edited)
            widget.moveCursor(QTextCursor.MoveOperation.Start)
        else:
            widget = QLineEdit(here.start, parent)
            widget.textEdited.connect(self._edited)
            widget.selectAll()
        widget.setFont(theme.mono(12))
        widget.setProperty("cell", True)
        name = text.path_text(self._fields.path(here.node))
        widget.setAccessibleName(
            tr("Name of {name}", name=name)
            if here.column == FIELD
            else tr("Value of {name}, {kind}", name=name, kind=here.kind)
        )
        self.widget = widget
        self.offer_names()
        if isinstance(widget, QPlainTextEdit):
            self._say(HINT, "hint")
        return widget

    def offer_names(self) -> None:
        """Offer names that other documents have at this place and this one lacks."""
        here, widget = self.typing, self.widget
        if here is None or here.column != FIELD or not isinstance(widget, QLineEdit):
            return
        node = here.node
        above = node.parent.container if node.parent is not None else None
        there = {found[0] for found in above.walked()} if above is not None else set()
        names = [n for n in self._fields.usual_names(self._fields.path(node)[:-1]) if name_bytes(n) not in there]
        if names:
            offer = QCompleter(names, widget)
            offer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
            offer.setFilterMode(Qt.MatchFlag.MatchContains)
            widget.setCompleter(offer)

    def _edited(self) -> None:
        self.clear_line()
        if isinstance(self.widget, QPlainTextEdit):
            self._say(HINT, "hint")  # Enter, which accepts the text elsewhere, breaks the line here
        if self.has_text != self._had_text:  # from now on there is something to save, or no longer
            self._had_text = self.has_text
            self.changed.emit()

    def place(self, cell: QRect) -> None:
        """Cover a cell; a multi-line editor covers the rows below it as well."""
        if self.widget is None or self.typing is None:
            return
        rect = cell.adjusted(0 if self.typing.column == VALUE else -theme.px(2), 0, -theme.px(4), 0)
        if isinstance(self.widget, QPlainTextEdit):
            room = self._tree.viewport().height()
            height = min(theme.px(24) * LINES, room)
            rect = QRect(rect.left(), max(0, min(rect.top(), room - height)), rect.width(), height)
        self.widget.setGeometry(rect)
        self._place_line()

    def commit(self, then: str = "") -> bool:
        """Accept the typed text; False, with the reason below it, if it is invalid. ``then``: here, next, previous."""
        here = self.typing
        if here is None:
            return True
        taken: Value | str | None = None
        if self.has_text:
            try:
                taken = self.read()
            except Refused as refusal:
                self.refuse(translated(str(refusal)))
                return False
        self.close()
        if isinstance(taken, Value):
            self.value_typed.emit(here.node, taken)
        elif taken is not None:
            self.name_typed.emit(here.node, taken)
        if then in ("next", "previous"):
            self.stepped.emit(here, then == "next")
        elif then:
            self._tree.setFocus()
        return True

    def read(self) -> Value | str:
        """The typed text as a value or a name; raises ``Refused`` if it is neither."""
        here = self.typing
        assert here is not None
        typed = self.text
        if here.column == FIELD:
            name_bytes(typed)
            above = here.node.parent.container if here.node.parent is not None else None
            names = above.walked() if above is not None else []
            locked = above is self._fields.root and typed in self._fields.locked_names
            if locked or any(found[0] == name_bytes(typed) for found in names):
                raise Refused(
                    tr(
                        "There is a field called {typed} here already; choose another name.",
                        typed=text.name_text(typed),
                    )
                )
            return typed
        if isinstance(self.widget, QPlainTextEdit) and here.kind == "String":
            typed = json.dumps(typed)
        return text.parsed(typed, here.kind, self._fields.zone)

    def give_up(self) -> None:
        """Close and forget the typed text; if the editor had the focus, the tree gets it."""
        if self.typing is not None:
            here = self.widget is not None and self.widget.hasFocus()
            self.close()
            if here:
                self._tree.setFocus()

    def close(self) -> None:
        """Close the editor; its text was accepted or is not wanted."""
        widget, self.widget, self.typing = self.widget, None, None
        self._had_text = False
        self._line.hide()
        if widget is not None:
            self._tree.closeEditor(widget, QAbstractItemDelegate.EndEditHint.NoHint)
        self._tree.viewport().update()
        self.changed.emit()

    def left(self) -> None:
        """Accept the typed text when the focus leaves; an invalid one stays open with its error."""
        if QApplication.activePopupWidget() is None and self._tree.isVisible():
            QTimer.singleShot(0, self, self._commit_left)  # only then has the focus its new place

    def _commit_left(self) -> None:
        away = self.widget is not None and QApplication.focusWidget() is not self.widget
        # Half a word is not accepted because another window comes to front or a menu drops down.
        if away and self._tree.window().isActiveWindow() and QApplication.activePopupWidget() is None:
            self.commit()

    # --- the line below

    @property
    def line(self) -> str:
        """The text of the line below."""
        return "" if self._line.isHidden() else self._line.text()

    def refuse(self, sentence: str) -> None:
        """Say why the typed text is not accepted; the editor stays open, and gets the focus if it is visible."""
        if self.widget is not None:
            self.widget.setProperty("bad", True)
            _restyle(self.widget)
            if self.widget.isVisible():
                self.widget.setFocus()
            self.widget.setAccessibleDescription(sentence)
        self._say(sentence.rstrip("."), "err")

    def check(self) -> None:
        """Say at once whether the typed text fits the type just chosen."""
        self.clear_line()
        try:
            self.read()
        except Refused as refusal:
            self.refuse(translated(str(refusal)))

    def _say(self, sentence: str, kind: str) -> None:
        self._line.setProperty("kind", kind)
        self._line.setText(sentence)
        _restyle(self._line)
        self._line.show()
        self._place_line()

    def _place_line(self) -> None:
        """Put the line below the editor, or above it if there is no room."""
        if self.widget is None or self._line.isHidden():
            return
        self._line.adjustSize()
        box, room = self.widget.geometry(), self._tree.viewport().rect()
        width, height = min(self._line.width(), room.width() - theme.px(16)), self._line.height()
        top = box.bottom() + 2
        if top + height > room.height():
            top = box.top() - height - 2
        self._line.setGeometry(max(0, min(box.left(), room.width() - width - theme.px(8))), top, width, height)
        self._line.raise_()

    def clear_line(self) -> None:
        """Clear the line: there is no error."""
        self._line.hide()
        if self.widget is not None and self.widget.property("bad"):
            self.widget.setProperty("bad", False)
            _restyle(self.widget)


def _raw(editor: QPlainTextEdit) -> str:
    """The text with its no-break spaces, which ``QPlainTextEdit.toPlainText`` turns into blanks."""
    return editor.document().toRawText().replace("\u2029", "\n")


def _restyle(widget: QWidget) -> None:
    # Qt evaluates the style sheet's property selectors only while polishing.
    widget.style().unpolish(widget)
    widget.style().polish(widget)
