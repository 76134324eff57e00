"""The field for a server's address, which shows no secret in clear text."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from gui.window.opening import completed
from model.foundation.address import Address


class AddressField(QLineEdit):
    """Takes an address as it is typed or pasted. Dots replace its secrets, which :attr:`source` contains.

    A typed secret is covered when the focus leaves the field; a pasted one at once.
    """

    changed = Signal()  # a person changed it

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setProperty("mono", True)
        self._address: Address | None = None
        self._length = 0
        self._putting = False
        self.textChanged.connect(self._typed)

    @property
    def address(self) -> Address | None:
        """The address with its secrets; None if there is none, as for a path."""
        return self._address

    @property
    def source(self) -> str:
        """The text with its secrets and its scheme."""
        if self._address is not None:
            return str(self._address)
        return completed(self.text()) if self.text().strip() else ""

    def put(self, source: str) -> None:
        """Show another address, with dots for its secrets."""
        self._address = Address.parse(source.strip())
        self._show(source if self._address is None else str(self._address.masked()))
        self.home(False)  # scheme, user and host tell servers apart

    def cover(self) -> None:
        """Replace typed secrets by dots."""
        if self._address is not None and (masked := str(self._address.masked())) != completed(self.text()):
            self._show(masked)

    def _show(self, text: str) -> None:
        self._putting = True
        self.setText(text)  # undo must not bring back the former text
        self._putting = False
        self._length = len(text)

    def _typed(self, text: str) -> None:
        if self._putting:
            return
        pasted = abs(len(text) - self._length) > 1
        self._length = len(text)
        address = Address.parse(completed(text)) if text.strip() else None
        self._address = None if address is None else address.unmasked(self._address)
        if pasted:
            self.cover()
        if pasted and not self.hasFocus():
            self.home(False)
        self.changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.cover()
        if event.reason() not in (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason):
            self.home(False)
        super().focusOutEvent(event)
