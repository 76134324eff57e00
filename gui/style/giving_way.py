"""Parts that give up text where that keeps a row in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QCheckBox, QLabel, QPushButton, QWidget

from gui.style import states
from gui.style.wrapping_row import WrappingRow

GivesWay: TypeAlias = QPushButton | QLabel | QCheckBox


class GivingWay(QObject):
    """Chooses the longest texts with which a row has one line; the first parts keep theirs the longest.

    Each part comes with its texts, from the longest to the shortest; with "" only the icon of a button or a tick
    stays.
    """

    def __init__(self, owner: QWidget, row: WrappingRow, *texts: tuple[GivesWay, Sequence[str]]) -> None:
        super().__init__(owner)
        self._owner, self._row, self._texts = owner, row, texts
        self._fitted = (0, 0)  # the width for which the texts were chosen, and what the other parts took of it
        owner.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._fit()
        return False

    def put(self, *texts: tuple[GivesWay, Sequence[str]]) -> None:
        """Choose among other texts from now on."""
        if texts != self._texts:
            self._texts, self._fitted = texts, (0, 0)
            self._fit()

    def _fit(self) -> None:
        width, needed = self._owner.width(), self._row.in_one_line
        shown = [(each, said) for each, said in self._texts if not each.isHidden()]
        others = needed - sum(each.minimumSizeHint().width() for each, _ in shown)
        if (width, others) == self._fitted:
            return  # the texts are what asks for another layout
        self._fitted = width, others
        for each, said in shown:
            _say(each, said[0])
        for each, said in reversed(shown):
            for shorter in said[1:]:
                if others + sum(one.minimumSizeHint().width() for one, _ in shown) <= width:
                    return
                _say(each, shorter)


def _say(part: GivesWay, said: str) -> None:
    if isinstance(part, QPushButton):
        states.say(part, said)
    else:
        part.setText(said)
