"""A line for a time, with the meaning of the typed words beside it."""

from __future__ import annotations

import datetime as dt

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

from gui.language import tr, translated
from gui.style import preferences, theme, wording
from gui.style.states import OneLine, words
from model.errors import Refused
from model.text.moments import Moment, moment_from_text


class TimeLine(QLineEdit):
    """Takes ISO 8601, a date, or an age; a time without a zone is in the zone of the settings.

    ``meant`` is emitted with each change. ``said`` is the label that shows the time, or why there is none.
    """

    meant = Signal()

    def __init__(self, name: str, empty: str = "", low: bool = False, parent: QWidget | None = None) -> None:
        """``empty`` is the meaning of an empty line; without it a time is needed. ``low``: keep to one line."""
        super().__init__(parent)
        self._empty, self._low = empty, low
        self.setAccessibleName(name)
        self.setProperty("mono", True)
        self.setPlaceholderText(empty or tr("2026-11-20 14:30"))
        self.setMinimumWidth(theme.px(150))
        self.said: QLabel = OneLine("hint", middle=True) if low else words("", "hint", wrap=True)
        self.textChanged.connect(self._say)
        self._say()

    @property
    def moment(self) -> Moment | None:
        """The time; None if the line is empty. Raises ``Refused``."""
        typed = self.text().strip()
        return moment_from_text(typed, zone=preferences.zone()) if typed else None

    @property
    def is_fine(self) -> bool:
        """Whether it holds a time, or is empty and may be."""
        try:
            return self.moment is not None or bool(self._empty)
        except Refused:
            return False

    def put(self, at: dt.datetime | None) -> None:
        """Show a time, with its seconds if it has any, in the zone of the settings."""
        said = "" if at is None else f"{preferences.local(at):%Y-%m-%d %H:%M:%S}"
        self.setText(said.removesuffix(":00"))
        self.setCursorPosition(0)  # show the day if the line is too short

    def _say(self, _: str = "") -> None:
        found = None
        try:
            found = self.moment
        except Refused as error:
            said = translated(str(error))
        else:
            if found is None:
                said = self._empty or tr("A date, with a time or without, or an age such as 36h.")
            else:
                at = tr("{moment}, {zone}.", moment=wording.moment(found.at, exact=True), zone=preferences.zone())
                noted = f"{at} {translated(found.doubt)}".rstrip() if self._low else translated(found.note)
                said = noted or at
        if isinstance(self.said, OneLine):
            self.said.keep_room("" if found is None else wording.moment(found.at, exact=True))
        self.said.setText(said)
        self.setAccessibleDescription(said)
        self.meant.emit()
