"""The one question that a repair needs answered first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from gui.language import tr, translated
from gui.style import boxes, theme, wording
from gui.style.states import Glyph, button, words
from model.errors import Refused
from model.session.repairs import Item


class QuestionBar(QWidget):
    """Shown for an item with a question; ``answered`` carries the answer, and whether all similar ones get it."""

    answered = Signal(object, bool)  # str or None, for all

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "lostline")
        self._text = words("", wrap=True)
        self._wrong = words("", "second", wrap=True)
        self.field = QLineEdit()
        self.field.setMaximumWidth(theme.px(180))
        self.field.returnPressed.connect(self._typed)
        self._row = QHBoxLayout()
        self._row.setSpacing(theme.px(8))
        column = QVBoxLayout()
        column.setSpacing(theme.px(6))
        column.addWidget(self._text)
        column.addLayout(self._row)
        column.addWidget(self._wrong)
        whole = boxes.row(self, 16, 8)
        whole.addWidget(Glyph("question", "warn"), 0, Qt.AlignmentFlag.AlignTop)
        whole.addLayout(column, 1)
        self.buttons: dict[str, QPushButton] = {}
        self.hide()

    def put(self, item: Item | None, alike: int) -> None:
        """Show an item's question; ``alike`` is the number of ticked items of this kind with a question."""
        while (part := self._row.takeAt(0)) is not None:
            if (widget := part.widget()) is not None and widget is not self.field:
                widget.hide()
                widget.deleteLater()
        self.buttons = {}
        self._wrong.hide()
        if item is None or not item.question:
            self.hide()
            return
        said = {choice.name: translated(choice.label) for choice in item.choices}
        if item.answer is None:
            self._text.setText(translated(item.question))
        else:
            self._text.setText(
                tr(
                    "{question}  Answered: {said}.",
                    question=translated(item.question),
                    said=said.get(item.answer, item.answer),
                )
            )
        if item.wants:
            self.field.setPlaceholderText(f"a {item.wants}")
            self.field.setAccessibleName(translated(item.question))
            self.field.setText("" if item.answer in (None, *said) else item.answer or "")
            self._row.addWidget(self.field)
            self._add(tr("Answer"), "", self._typed)
        self.field.setVisible(bool(item.wants))
        for choice in item.choices:
            self._add(translated(choice.label), choice.name, partial(self.answered.emit, choice.name, False))
        if alike > 1 and item.choices and not item.wants:
            first = item.choices[0]
            label = tr(
                "{label}, for all {alike}", label=translated(first.label).partition(":")[0], alike=wording.count(alike)
            )
            self._add(
                label, tr("all {name}", name=first.name), partial(self.answered.emit, first.name, True), quiet=True
            )
        if item.answer is not None:
            self._add(tr("Take the answer back"), "back", partial(self.answered.emit, None, False), quiet=True)
        self._row.addStretch(1)
        self.setAccessibleName(translated(item.question))
        self.show()

    def refuse(self, error: Refused) -> None:
        """Say why the typed text is not an answer."""
        self._wrong.setText(translated(str(error)))
        self._wrong.show()

    def _add(self, label: str, name: str, call: Callable[[], object], quiet: bool = False) -> None:
        made = button(label, call, "small", *(("quiet",) if quiet else ()))
        self._row.addWidget(made)
        self.buttons[name] = made

    def _typed(self) -> None:
        self.answered.emit(self.field.text().strip() or None, False)
