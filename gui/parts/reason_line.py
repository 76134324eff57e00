"""One optional line with the reason for a write; reasons given before are offered while the program runs."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from gui.language import tr
from gui.parts.completing_line import CompletingLine
from gui.parts.completion import Completion, Offer
from gui.style import theme

_given: list[str] = []
MOST = 40  # reasons that are offered again


class ReasonLine(CompletingLine):
    """Takes a reason; :meth:`take` gives it to a write and keeps it for the next time."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_offered, parent)
        self.setProperty("mono", False)
        self.setPlaceholderText(tr("Reason, if you like"))
        self.setAccessibleName(tr("Reason for this write, if you like"))
        self.setMinimumWidth(theme.px(120))

    def take(self) -> str:
        """The reason for a write that begins now; "" where none is given, or the line is not shown."""
        said = "" if self.isHidden() else self.text().strip()
        if said:
            _given[:] = [said, *(each for each in _given if each != said)][:MOST]
        return said


def _offered(typed: str, at: int, asked: bool) -> Offer | None:
    """The reasons given before that begin with what is typed, or hold it where words are asked for."""
    part = typed.strip().casefold()
    found = [
        each
        for each in _given
        if each != typed and (part in each.casefold() if asked else part and each.casefold().startswith(part))
    ]
    return Offer(0, len(typed), tuple(Completion(each, "", each) for each in found)) if found else None
