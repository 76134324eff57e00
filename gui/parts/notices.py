"""Lines above a panel's foot about its document, at most one of each kind; some stay until they are settled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from gui import copying
from gui.language import tr, translated
from gui.messages import MessageLine
from gui.style import symbols, theme, wording
from gui.style.states import PlainLabel
from model.foundation.records import EDIT_IN_DOUBT, Outcome
from model.text import plain

if TYPE_CHECKING:
    from gui.style.states import Choice


class Notices(QWidget):
    """The lines of one panel, by name."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.lines: dict[str, MessageLine] = {}
        self.hide()

    def put(
        self,
        name: str,
        kind: str,
        said: str,
        choices: Sequence[Choice] = (),
        closable: bool = True,
        brief: str = "",
    ) -> MessageLine:
        """Show a line, replacing the one with the same name. ``kind``: note, failed, unknown, done, past.

        If ``brief`` is given, it is shown, and the whole text is the tooltip.
        """
        whole, said = said if brief else "", brief or said
        there = self.lines.get(name)
        if there is not None and (there.kind, there.text, there.accessibleDescription()) == (kind, said, whole):
            return there
        self.clear(name)
        line = MessageLine(kind, said, choices)
        if whole:
            line.setToolTip(wording.tip(whole))
            line.setAccessibleDescription(whole)
        line.close_button.setVisible(closable)
        if closable:  # else not even its own buttons close it
            line.gone.connect(lambda _: self.clear(name))
        self.lines[name] = line
        self._column.addWidget(line)
        self._fit()
        return line

    def doubt(self, said: str, outcome: Outcome, check: Callable[[], object]) -> None:
        """Show that an outcome is unknown; the line stays until it is known."""
        why = translated(outcome.detail.removeprefix(EDIT_IN_DOUBT).strip())
        choices: list[Choice] = [(tr("Check again"), check)]
        token = outcome.token
        if token:
            choices.append((tr("Copy the write token"), lambda: copying.put(token)))
        self.clear("doubt")
        self.put("doubt", "unknown", f"{said}. {why}".strip(), choices, closable=False)

    def clear(self, name: str) -> None:
        """Remove a line, if it is shown."""
        line = self.lines.pop(name, None)
        if line is not None:
            self._column.removeWidget(line)
            line.hide()
            line.deleteLater()
        self._fit()

    def hide_one(self, name: str, hidden: bool) -> None:
        """Hide a line while its subject is visible anyway."""
        if name in self.lines:
            self.lines[name].setVisible(not hidden)
        self._fit()

    def _fit(self) -> None:
        self.setVisible(any(not line.isHidden() for line in self.lines.values()))


class Pill(PlainLabel):
    """A badge as a widget: words in a token's colours, with an optional symbol.

    It is a label, so that screen readers read it as text.
    """

    def __init__(self, said: str = "", ink: str = "typ", ground: str = "typT", symbol: str = "") -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.put(said, ink, ground, symbol)
        theme.signals.changed.connect(self.updateGeometry)

    def put(self, said: str, ink: str = "typ", ground: str = "typT", symbol: str = "") -> None:
        """Change its words; "" hides it."""
        self.said, self._ink, self._ground, self._symbol = plain(said), ink, ground, symbol
        self.setAccessibleName(self.said)
        if self.parent() is not None or not said:  # without a parent it would become a window
            self.setVisible(bool(said))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(int(symbols.badge_width(self.said, self._symbol)) + 1, theme.px(18))

    def paintEvent(self, event: QPaintEvent) -> None:
        symbols.badge(QPainter(self), 0, self.height() / 2, self.said, self._ink, self._ground, self._symbol)
