"""The question before a plan for several documents is carried out."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from gui.language import tr
from gui.style import boxes, theme
from gui.style.sheet import Sheet
from gui.style.states import PlainLabel, StateStack, button, words

HEAD, ROW, AIR = 28, 24, 8  # u


class PlanSheet(Sheet):
    """Base of these questions: a title, the rows of the plan, a report on it, and the button that carries it out.

    ``agreed`` carries the plan. The focus is on Cancel. A subclass calls :meth:`_build` with its rows, and
    :meth:`_offer` with the plan, once it is made.
    """

    agreed = Signal(object)

    def __init__(self, parent: QWidget, width: float, ns: str, title: str) -> None:
        super().__init__(parent, width)
        self._name = ns.partition(".")[2]
        self._typed = False
        self._plan: object = None
        self._would = 0
        self.setAccessibleName(title)
        self._title = words(title, "title", wrap=True)
        self.report = words("", "second", wrap=True)
        self.field = QLineEdit()
        self.ask = PlainLabel(tr("Type {name} to go on", name=self._name))
        self.field.setAccessibleName(self.ask.text())
        self.ask.setBuddy(self.field)
        self.field.textChanged.connect(self._fit)
        self.cancel = button(tr("Cancel"), self.reject)

    def _build(self, content: QWidget, rows: int, go: QPushButton, typed: bool, source: str = "") -> None:
        """Build the sheet; ``typed`` requires the collection's name before ``go`` can be pressed."""
        self._typed = typed
        self.go = go
        self.go.clicked.connect(self._agree)
        self.go.setEnabled(False)
        self.states = StateStack(content)
        self.states.setMinimumHeight(self.fitting(HEAD + ROW * rows, 320))
        column = QVBoxLayout(self)
        column.setContentsMargins(self.inset, self.inset, self.inset, self.inset)
        column.setSpacing(theme.px(8))
        column.addWidget(self._title)
        if source:
            column.addWidget(words(source, "second", wrap=True))
        column.addWidget(self.states, 1)
        column.addWidget(self.report)
        if typed:
            column.addWidget(self.ask)
            column.addWidget(self.field)
        foot = boxes.wrapping(x=0, y=0)
        foot.addWidget(words(tr("Nothing has been written yet."), "hint"))
        foot.addStretch(1)
        ends = boxes.row(x=0, y=0)
        ends.addWidget(self.cancel)
        ends.addWidget(self.go)
        foot.addLayout(ends)
        column.addSpacing(theme.px(8))
        column.addLayout(foot)
        self.states.show_loading(tr("Reading the documents"), self.reject)

    def first(self) -> QWidget | None:
        return self.cancel

    def _give_up_room(self, rows: int) -> None:
        """Leave no empty room below a short plan."""
        self.states.setFixedHeight(min(self.states.minimumHeight(), theme.px(HEAD + ROW * rows + AIR)))
        self._place()

    def _offer(self, plan: object, would: int, verb: str) -> None:
        """Show on the button what the plan ``would`` do; from now on it can be agreed to."""
        self._plan, self._would = plan, would
        self.go.setText(verb)
        self._fit()

    def _fit(self) -> None:
        named = not self._typed or self.field.text().strip() == self._name
        self.go.setEnabled(self._would > 0 and named)

    def _agree(self) -> None:
        self.accept()
        self.agreed.emit(self._plan)
