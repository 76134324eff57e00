"""An optional line for the reason of a write; earlier reasons are offered while the program runs."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from gui.language import tr
from gui.parts.completing_line import CompletingLine
from gui.parts.completion import Completion, Offer
from gui.style import theme

_given: list[str] = []
MOST = 40  # reasons that are remembered


class ReasonLine(CompletingLine):
    """Takes a reason; :meth:`take` hands it to a write and remembers it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_offered, parent)
        self.setProperty("mono", False)
        self.setPlaceholderText(tr("Reason, if you like"))
        self.setAccessibleName(tr("Reason for this write, if you like"))
        self.setMinimumWidth(theme.px(120))

    def take(self) -> str:
        """The reason for a write that starts now; "" if none is given, or the line is hidden."""
        said = "" if self.isHidden() else self.text().strip()
        if said:
            _given[:] = [said, *(each for each in _given if each != said)][:MOST]
        return said


def _offered(typed: str, at: int, asked: bool) -> Offer | None:
    """Earlier reasons that begin with the typed text, or contain it if the person asked for words."""
    part = typed.strip().casefold()
    found = [
        each
        for each in _given
        if each != typed and (part in each.casefold() if asked else part and each.casefold().startswith(part))
    ]
    return Offer(0, len(typed), tuple(Completion(each, "", each) for each in found)) if found else None
