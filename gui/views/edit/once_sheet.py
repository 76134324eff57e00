"""Asks for a count or an entry: a few lines to fill in, and why repeating it does no harm.

The sheet stays open until the write has ended; a refusal is shown below, and the lines stay as typed.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gui import tasks
from gui.language import tr
from gui.style import theme
from gui.style.scrolling import Scrolling
from gui.style.sheet import Sheet
from gui.style.states import button, words
from model import text
from model.errors import Refused
from model.values.canonical import Value


class FormLine(Struct, frozen=True):
    """A line of the form: ``kind`` is ``value`` (Extended JSON or plain text), ``text``, ``field`` or ``number``."""

    name: str
    label: str
    value: str = ""
    hint: str = ""
    kind: str = "value"
    needed: bool = True


class OnceSheet(Sheet):
    """The sheet. ``agreed`` carries the values by the lines' names; an optional line left empty is None."""

    agreed = Signal(object)

    def __init__(self, parent: QWidget, title: str, about: str, lines: Sequence[FormLine], verb: str) -> None:
        super().__init__(parent, 520)
        self._lines = lines
        self.setAccessibleName(title)
        column = QVBoxLayout(self)
        column.setContentsMargins(*(self.inset,) * 4)
        column.setSpacing(theme.px(8))
        column.addWidget(words(title, "title", wrap=True))
        column.addWidget(words(about, "second", wrap=True))
        column.addSpacing(theme.px(4))
        asked = QWidget()
        form = QFormLayout(asked)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(theme.px(12))
        form.setVerticalSpacing(theme.px(8))
        self.fields: dict[str, QLineEdit] = {}
        for line in lines:
            field = QLineEdit(line.value)
            field.setProperty("mono", line.kind != "text")
            field.setPlaceholderText(line.hint)
            field.setAccessibleName(line.label)
            field.textChanged.connect(self._filled)
            field.returnPressed.connect(self._agree)
            form.addRow(line.label, field)
            self.fields[line.name] = field
        column.addWidget(Scrolling(asked))
        self.trouble = words("", "error", wrap=True)
        self.trouble.hide()
        column.addWidget(self.trouble)
        column.addSpacing(theme.px(8))
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        row.addStretch(1)
        row.addWidget(button(tr("Cancel"), self.reject))
        self.verb = button(verb, self._agree, "main")
        row.addWidget(self.verb)
        column.addLayout(row)
        self._filled()

    def first(self) -> QWidget | None:
        in_turn = sorted(self._lines, key=lambda line: not line.needed)
        empty = (field for line in in_turn if not (field := self.fields[line.name]).text())
        return next(empty, self.fields[self._lines[-1].name])

    def _filled(self) -> None:
        self.verb.setEnabled(all(self.fields[line.name].text().strip() for line in self._lines if line.needed))

    def _agree(self) -> None:
        if not self.verb.isEnabled():
            return
        try:
            said = {line.name: _read(line, self.fields[line.name].text().strip()) for line in self._lines}
        except Refused as error:
            self.refuse(error)
            return
        self.trouble.hide()
        self.verb.setEnabled(False)
        self.agreed.emit(said)

    def refuse(self, error: BaseException | str) -> None:
        """Say why nothing was written."""
        self.trouble.setText(error if isinstance(error, str) else tasks.describe(error)[0])
        self.trouble.show()
        self._filled()
        self._place()


def _read(line: FormLine, typed: str) -> Value | str | int | None:
    if not typed:
        return None
    if line.kind in ("text", "field"):
        return typed
    if line.kind == "number":
        try:
            return int(typed)
        except ValueError:
            raise Refused(tr("{label} is a whole number; {typed} is none.", label=line.label, typed=typed)) from None
    try:
        return text.loose_value(typed)
    except Refused:
        return Value.of(typed)
