"""The draft as editable Extended JSON. An error is shown in a line below with its place; the text stays as typed.

Relaxed notation does not tell an Int32 from an Int64, nor always from a Double. Its text is therefore compared with
the relaxed form of the content, and only the difference is applied to the content: a number that nobody touched keeps
its type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

from msgspec import Struct
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QHBoxLayout,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from gui import tasks
from gui.language import tr
from gui.style import boxes, theme
from gui.style.states import button, words
from gui.style.wording import size
from gui.views.edit.json_text import JsonText
from model import diff, text
from model.errors import Refused
from model.values import canonical
from model.values.canonical import Value

PAUSE = 250  # milliseconds of silence before the text is read
SMALL = 128 * 1024  # bytes; a larger text is read in a task
HUGE = 1024 * 1024  # bytes; a larger document is shown only when asked for


def written(content: bytes, relaxed: bool) -> str:
    """A document's text, as it is put into the editor."""
    made = text.relaxed(content, 2) if relaxed else text.to_text(content, 2)
    # A text document takes these for line breaks or its own marks; in JSON strings they can be escaped.
    for odd in ("\u2028", "\u2029", "\ufdd0", "\ufdd1", "\ufffc"):
        if odd in made:
            made = made.replace(odd, f"\\u{ord(odd):04x}")
    return made


def taken(typed: str, content: bytes, relaxed: bool) -> bytes:
    """The document for a text, given the content it began from; raises ``Refused`` with line and column."""
    made = text.from_text(typed)
    if not relaxed:
        return made
    image = text.from_text(text.relaxed(content))
    return diff.patch(content, diff.diff(image, made))


class _Writing(Struct, frozen=True):
    """A text written from a content; ``depth`` is the number of steps in the text's own undo below it."""

    depth: int
    content: bytes
    relaxed: bool


class JsonView(QWidget):
    """The JSON side of the editor."""

    edited = Signal(object)  # bytes: the document of the text
    error_changed = Signal()
    typing_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "surface")
        self._content = b""
        self._locked: dict[str, Value] = {}
        self._writings: list[_Writing] = [_Writing(0, b"", False)]
        self._shown = False
        self._error = ""
        self._reading = False
        self._unread = self._taking = False
        self.text = JsonText()
        self.text.textChanged.connect(self._typing)
        self.line = words("", "errorline", wrap=True)
        self.line.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.line.setAccessibleName(tr("What is wrong with the text"))
        self.line.hide()
        self._large = QWidget()
        self._size = words("", "head")
        column = QVBoxLayout(self._large)
        column.setContentsMargins(theme.px(16), theme.px(16), theme.px(16), theme.px(16))
        column.addWidget(self._size)
        column.addWidget(
            words(tr("A text this long is slow to type in. The tree reads it piece by piece."), "second", wrap=True)
        )
        anyway = button(tr("Load anyway"), self._load_anyway, "small")
        column.addWidget(anyway, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        self._large.hide()
        whole = boxes.column(self)
        whole.addLayout(self._tools())
        whole.addWidget(self.text, 1)
        whole.addWidget(self._large, 1)
        whole.addWidget(self.line)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE)
        self._pause.timeout.connect(self.flush)

    def _tools(self) -> QHBoxLayout:
        row = boxes.row(y=8, gap=0)
        self.hint = words("", "hint")
        row.addWidget(self.hint)
        row.addStretch(1)
        choice, self.notations = boxes.segments(self, (tr("Canonical"), tr("Relaxed")), tr("{} Extended JSON"))
        row.addLayout(choice)
        self.notations.idToggled.connect(self._notation)
        self._hint()
        return row

    # --- content

    @property
    def error(self) -> str:
        """Why the text is not a document; "" if it is one."""
        return self._error

    @property
    def relaxed(self) -> bool:
        """Whether relaxed notation is chosen."""
        return self.notations.checkedId() == 1

    @property
    def _writing(self) -> _Writing:
        """The content that the text was written from, before anything was typed."""
        depth = self.text.document().availableUndoSteps()
        return next(each for each in reversed(self._writings) if each.depth <= depth)

    def set_locked(self, fields: Iterable[tuple[str, Value]]) -> None:
        """Set the fields that the layout keeps for itself: a text may have them as they are, and nothing else."""
        self._locked = dict(fields)

    def show_content(self, content: bytes, afresh: bool = False) -> None:
        """Show a content; a text that already means it stays as it was typed.

        The text's own undo leads back to the former text, unless it begins ``afresh``.
        """
        if self._shown and (content == self._content or self._error):
            self._content = content if not self._error else self._content
            return
        self._content = content
        if len(content) > HUGE and not self._shown:
            self._size.setText(tr("This document is {content}", content=size(len(content))))
            self._large.show()
            self.text.hide()
            return
        self._write(afresh or not self._shown)

    def _load_anyway(self) -> None:
        self._large.hide()
        self.text.show()
        self._write(afresh=True)
        self.text.setFocus()

    def _write(self, afresh: bool) -> None:
        self._stop_reading()
        self._shown = True
        content, relaxed = self._content, self.relaxed
        if len(content) <= SMALL:
            self._put(content, relaxed, afresh, written(content, relaxed))
            return
        # What is typed before the text arrives would be lost.
        self.text.setReadOnly(True)
        tasks.run(
            lambda _: written(content, relaxed),
            done=partial(self._put, content, relaxed, afresh),
            failed=self._failed,
            owner=self,
            key="write",
            title=tr("Writing JSON"),
        )

    def _put(self, content: bytes, relaxed: bool, afresh: bool, made: str) -> None:
        self._reading = True
        if afresh:
            self.text.begin_with(made)
            self._writings = []
        else:
            self._forget_undone()
            self.text.change_to(made)
        self._writings.append(_Writing(self.text.document().availableUndoSteps(), content, relaxed))
        self.text.setReadOnly(not self._may_edit)
        self._reading = self._unread = False
        self._pause.stop()
        self._say("")

    def _forget_undone(self) -> None:
        """Forget what was written after the shown text, if no redo leads to it any more."""
        depth = self.text.document().availableUndoSteps()
        self._writings = [each for each in self._writings if each.depth <= depth]

    _may_edit = True

    def set_editable(self, may: bool) -> None:
        """Set whether anything can be typed."""
        self._may_edit = may
        self.text.setReadOnly(not may)

    def forget_text(self) -> None:
        """Discard the typed text, read or not, and write the content again."""
        self._stop_reading()
        self._say("")
        if self._shown:
            self._shown = False
            self.show_content(self._content)

    def _notation(self, _: int, on: bool) -> None:
        if not on:
            return
        self.flush()
        self._hint()
        if self._shown and not self._error and not self._taking:
            self._write(afresh=True)

    def _hint(self) -> None:
        self.hint.setText(
            tr("Numbers that you do not touch keep their type.") if self.relaxed else tr("Every type is spelt out.")
        )

    # --- typing

    def _typing(self) -> None:
        if not self._reading:
            if not self.text.document().isRedoAvailable():
                self._forget_undone()
            had, self._unread = self.is_typing, True
            self._pause.start()
            if not had:
                self.typing_changed.emit()

    @property
    def is_typing(self) -> bool:
        """Whether typed text is not read yet."""
        return self._unread or self._taking

    def flush(self, wait: bool = False) -> None:
        """Read the text now; a large one in a task, unless ``wait``."""
        if not self._unread and not (wait and self._taking):
            return
        self._pause.stop()
        self._unread = False
        typed, began, relaxed = self.text.typed(), self._writing.content, self._writing.relaxed
        if wait:
            tasks.drop(self, "read")
        elif len(typed) > SMALL:
            self._taking = True
            tasks.run(
                lambda _: taken(typed, began, relaxed),
                done=self._taken,
                failed=self._failed,
                owner=self,
                key="read",
                title=tr("Reading JSON"),
            )
            return
        try:
            made = taken(typed, began, relaxed)
        except Refused as refusal:
            self._failed(refusal)
            return
        self._taken(made)

    def _stop_reading(self) -> None:
        """Stop reading the text, because another replaces it."""
        tasks.drop(self, "read")
        self._pause.stop()
        self._unread = self._taking = False

    def _taken(self, made: bytes) -> None:
        self._taking = False
        kept = [(name, value) for name, value in canonical.fields(made) if name in self._locked]
        if other := [name for name, value in kept if value != self._locked[name]]:
            self._say(tr("{name} is the layout's own field: leave it out, or as it is.", name=other[0]))
            self.typing_changed.emit()
            return
        made = canonical.without(made, [name for name, _ in kept]) if kept else made  # as of a whole one that is pasted
        self._say("")
        if made != self._content:
            self._content = made
            self.edited.emit(made)
        if self._writing.relaxed != self.relaxed:
            self._write(afresh=True)  # the other notation was chosen before this text was read
        self.typing_changed.emit()

    def _failed(self, error: BaseException) -> None:
        self._taking = False
        self._say(tasks.describe(error)[0])
        self.typing_changed.emit()

    def _say(self, sentence: str) -> None:
        before, self._error = self._error, sentence
        self.line.setText(sentence)
        self.line.setVisible(bool(sentence))
        self._underline(sentence)
        if before != sentence:
            self.error_changed.emit()

    def _underline(self, sentence: str) -> None:
        found = re.search(r"[Ll]ine (\d+), column (\d+)", sentence)
        if found is None:
            self.text.set_error([])
            return
        block = self.text.document().findBlockByNumber(int(found.group(1)) - 1)
        mark = QTextEdit.ExtraSelection()
        cursor = QTextCursor(block if block.isValid() else self.text.document().lastBlock())
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock)
        end = cursor.positionInBlock()
        start = max(0, min(int(found.group(2)) - 1, end - 1))
        cursor.setPosition(cursor.block().position() + start)
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        mark.cursor = cursor
        style = QTextCharFormat()
        style.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        style.setUnderlineColor(theme.colour("err"))
        mark.format = style
        self.text.set_error([mark])

    def go_to_error(self) -> None:
        """Put the cursor where the text becomes wrong."""
        marks = self.text.error_marks
        if marks:
            cursor = QTextCursor(marks[0].cursor)
            cursor.setPosition(cursor.selectionStart())
            self.text.setTextCursor(cursor)
        self.text.setFocus()
