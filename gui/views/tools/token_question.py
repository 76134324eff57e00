"""The question before tokens are finished or dropped: their least age, and a word to type where mistakes are costly."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gui.language import tr
from gui.style import theme, wording
from gui.style.sheet import Sheet
from gui.style.states import PlainLabel, button, words
from gui.views.tools.token_list import is_old
from gui.views.tools.token_preview import What
from model.foundation.records import PendingToken

MANY = 100
"""From this number of documents on, a confirmation has to be typed."""
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def typed_age(typed: str) -> dt.timedelta | None:
    """A typed age, such as ``24h``, ``7 days`` or ``1d 12h``; None if it is invalid."""
    found = re.findall(r"(\d{1,6})\s*([mhdw])[a-z]*", typed.lower())
    rest = re.sub(r"(\d{1,6})\s*([mhdw])[a-z]*", "", typed.lower()).strip()
    if not found or rest:
        return None
    return sum((dt.timedelta(**{_UNITS[unit]: int(number)}) for number, unit in found), dt.timedelta())


def to_type(tokens: Sequence[PendingToken], production: bool) -> str | None:
    """The word to type before these tokens are written: the collection's name, or their number; None: no word."""
    young = any(not is_old(token) for token in tokens)
    if not (young or production or len({(token.ns, token.id) for token in tokens}) >= MANY):
        return None
    places = {token.ns for token in tokens}
    return places.pop() if len(places) == 1 else str(len(tokens))


def consequences(what: What, tokens: Sequence[PendingToken]) -> str:
    """What finishing or dropping these tokens does, in a few sentences."""
    said = []
    if what == "finish":
        said.append(tr("Each is one guarded write: the step that its writer would have sent."))
    else:
        lost = sum(token.amount for token in tokens)
        said.append(
            tr(
                "They are removed without being counted: {lost} in all is lost.",
                lost=wording.count(lost),
            )
        )
    said.append(tr("Tokens finished meanwhile are skipped; undo from the journal."))
    if young := sum(not is_old(token) for token in tokens):
        who = tr("1 of them is") if young == 1 else tr("{young} of them are", young=wording.count(young))
        then = tr("finds its work done") if what == "finish" else tr("finds its token gone, and what it counts is lost")
        said.append(tr("{who} inside the grace period: a writer that is still at work {then}.", who=who, then=then))
    return " ".join(said)


class TokenQuestion(Sheet):
    """The question; ``agreed`` carries the tokens of at least the chosen age, none of unknown age."""

    agreed = Signal(object)

    def __init__(self, parent: QWidget, tokens: Sequence[PendingToken], able: Callable[[PendingToken], bool]) -> None:
        super().__init__(parent, 480)
        self._tokens = [token for token in tokens if able(token)]
        self._now = dt.datetime.now(dt.UTC)
        self.setAccessibleName(tr("Finish all older than"))
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(8))
        column.addWidget(words(tr("Finish all older than…"), "title"))
        label = PlainLabel(tr("Age, as in 24h or 7 days"))
        self.age = QLineEdit("24h")
        label.setBuddy(self.age)
        self.age.selectAll()
        self.age.textChanged.connect(self._count)
        self.age.returnPressed.connect(self._agree)
        self.said = words("", "second", wrap=True)
        column.addWidget(label)
        column.addWidget(self.age)
        column.addWidget(self.said)
        column.addSpacing(theme.px(8))
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(button(tr("Cancel"), self.reject))
        self.go = button("", self._agree, "main")
        row.addWidget(self.go)
        column.addLayout(row)
        self._count()

    def first(self) -> QWidget | None:
        return self.age

    def _chosen(self) -> list[PendingToken]:
        age = typed_age(self.age.text())
        if age is None:
            return []
        return [token for token in self._tokens if token.at is not None and self._now - token.at >= age]

    def _count(self) -> None:
        chosen = self._chosen()
        self.go.setEnabled(bool(chosen))
        self.go.setText(
            tr("Look at {tokens}", tokens=wording.many(len(chosen), "token")) if chosen else tr("Look at them")
        )
        if typed_age(self.age.text()) is None:
            self.said.setText(tr("Write it as 90m, 24h, 7d or 2 weeks."))
            return
        young = sum(not token.stale for token in chosen)
        inside = tr(" {young} of them inside the grace period.", young=wording.count(young)) if young else ""
        documents = wording.many(len({(token.ns, token.id) for token in chosen}), "document")
        said = (
            tr(
                "{tokens} of {documents}.{inside}",
                tokens=wording.many(len(chosen), "token"),
                documents=documents,
                inside=inside,
            )
            if chosen
            else tr("No token is that old.")
        )
        self.said.setText(said)

    def _agree(self) -> None:
        if chosen := self._chosen():
            self.accept()
            self.agreed.emit(chosen)
