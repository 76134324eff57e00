"""The sheet that asks once for the name to sign versions with, if a profile says that they are signed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gui.language import tr
from gui.style import preferences, theme
from gui.style.sheet import Sheet
from gui.style.states import button, words

if TYPE_CHECKING:
    from model.session import Session

REMEMBERED = "author"


class AuthorSheet(Sheet):
    """Asks for a name; ``agreed`` carries it."""

    agreed = Signal(str)

    def __init__(self, parent: QWidget, name: str) -> None:
        super().__init__(parent, 460)
        self.setAccessibleName(tr("Sign as"))
        self.line = QLineEdit(name)
        self.line.setAccessibleName(tr("Your name"))
        self.line.setPlaceholderText(tr("Your name"))
        self.line.selectAll()
        self.sign = button(tr("Sign"), self._agree, "main")
        self.line.textChanged.connect(self._typed)
        self.line.returnPressed.connect(self._agree)
        foot = QHBoxLayout()
        foot.setSpacing(theme.px(8))
        foot.addStretch(1)
        foot.addWidget(button(tr("Cancel"), self.reject))
        foot.addWidget(self.sign)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(12))
        column.addWidget(words(tr("Sign as"), "title"))
        about = tr("Some collections ask who writes, as their profile says. This name stands in each version made from "
                   "here on this connection, until you give another one.")  # fmt: skip
        column.addWidget(words(about, "second", wrap=True))
        column.addWidget(self.line)
        column.addLayout(foot)
        self._typed()

    def first(self) -> QWidget | None:
        return self.line

    def _typed(self) -> None:
        self.sign.setEnabled(bool(self.line.text().strip()))

    def _agree(self) -> None:
        if name := self.line.text().strip():
            self.accept()
            self.agreed.emit(name)


def ask_author(parent: QWidget, session: Session, then: Callable[[], object] = lambda: None) -> AuthorSheet:
    """Ask for the author's name on a connection, remember it, and continue."""
    sheet = AuthorSheet(parent, session.authorship.author or str(preferences.remembered(REMEMBERED, "")))
    sheet.agreed.connect(partial(_signed, session, then))
    sheet.open()
    return sheet


def _signed(session: Session, then: Callable[[], object], name: str) -> None:
    session.authorship.author = name
    preferences.remember(REMEMBERED, name)
    then()
