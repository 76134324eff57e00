"""A new document: its id, and its content as Extended JSON. Errors are shown below; the text stays as typed."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from gui import tasks
from gui.language import tr
from gui.style import theme
from gui.style.sheet import Sheet
from gui.style.states import PlainLabel, button, words
from model import text
from model.errors import Refused
from model.text.file_documents import documents_in
from model.values import canonical
from model.values.canonical import Value


def typed_id(typed: str) -> Value | None:
    """The id that a person typed: Extended JSON if it is valid, otherwise plain text; None for nothing."""
    if not typed.strip():
        return None
    try:
        return text.loose_value(typed)
    except Refused:
        return Value.of(typed.strip())


class NewDocument(Sheet):
    """Asks for a document; ``agreed`` carries id (or None) and content. It stays open until the write is done."""

    agreed = Signal(object, object)
    several = Signal(object)  # documents, each with its id inside

    def __init__(self, parent: QWidget, ns: str, content: bytes | None = None, numbered: bool = False) -> None:
        super().__init__(parent, 640)
        self._numbered = numbered
        self._has_content = content is not None
        self.setAccessibleName(tr("New document in {ns}", ns=ns))
        self.id = QLineEdit()
        self.id.setPlaceholderText(tr("left empty: a new ObjectId"))
        self.id.setProperty("mono", True)
        if numbered:
            self.id.setPlaceholderText(tr("the next number, when it is inserted"))
            self.id.setEnabled(False)
        self.id.textChanged.connect(self._say_kind)
        self.kind = words("", "hint")
        id_label = PlainLabel(tr("Id"))
        id_label.setBuddy(self.id)
        self.editor = QPlainTextEdit()
        self.editor.document().setDocumentMargin(theme.px(8))
        self.editor.setProperty("mono", True)
        self.editor.setAccessibleName(tr("Content as Extended JSON"))
        self.editor.setTabChangesFocus(True)
        self.editor.setPlainText(text.to_text(content, 2) if content is not None else "{\n  \n}")
        if content is None:
            self.editor.moveCursor(QTextCursor.MoveOperation.Down)
            self.editor.moveCursor(QTextCursor.MoveOperation.EndOfLine)
        content_label = PlainLabel(tr("Content, as Extended JSON"))
        content_label.setBuddy(self.editor)
        self.trouble = words("", "error", wrap=True)
        self.insert = button(tr("Insert 1 document"), self._agree, "main")
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(8))
        column.addWidget(words(tr("New document in {ns}", ns=ns), "title"))
        head = QHBoxLayout()
        head.addWidget(id_label)
        head.addWidget(self.id, 1)
        head.addWidget(self.kind)
        column.addLayout(head)
        column.addWidget(content_label)
        column.addWidget(self.editor, 1)
        column.addWidget(self.trouble)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(button(tr("Cancel"), self.reject))
        row.addWidget(self.insert)
        column.addLayout(row)
        self.id.returnPressed.connect(self.insert.click)
        self.editor.setMinimumHeight(self.fitting(280, 300))
        self._say_kind()

    def first(self) -> QWidget | None:
        return self.id if self._has_content else self.editor

    def _say_kind(self) -> None:
        id = typed_id(self.id.text())
        self.kind.setText("" if self._numbered else "ObjectId" if id is None else id.kind)

    def _agree(self) -> None:
        try:
            found = documents_in(self.editor.toPlainText()) or [canonical.EMPTY]
            if len(found) > 1 and (self._numbered or self.id.text().strip()):
                raise Refused(
                    tr("Several documents cannot share one id; leave its line empty, or insert a single document.")
                )
            content, id = found[0], typed_id(self.id.text())
            inside = canonical.get(content, ("_id",))
            if inside is not None and len(found) == 1:
                if self._numbered or id not in (None, inside):
                    raise Refused(tr("Its _id is not the one in the line above; empty that line, or take _id out."))
                content, id = canonical.without(content, ["_id"]), inside
        except Refused as error:
            self.refuse(error)
            return
        self.trouble.setText("")
        if len(found) > 1:
            self.accept()
            self.several.emit(found)
            return
        self.insert.setEnabled(False)
        self.agreed.emit(id, content)

    def refuse(self, error: BaseException) -> None:
        """Say why nothing was inserted."""
        self.trouble.setText(tasks.describe(error)[0])
        self.insert.setEnabled(True)
