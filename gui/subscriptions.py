"""News on the UI thread: writes, and what happened to drafts. Every page of every window hears of them here.

Pages learn of a write only from :attr:`Signals.written`, whoever sent it: a page, another window, another program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import QObject, Signal
from shiboken6 import isValid

from model.foundation import news

if TYPE_CHECKING:
    from model.foundation.news import News
    from model.values.canonical import Value


class DraftNews(Struct, frozen=True):
    """A draft was kept or forgotten; ``discarded``: a person discarded it, so its editor must forget it too."""

    source: str
    ns: str
    id: Value
    discarded: bool = False


class Signals(QObject):
    """The news as signals: receivers on the UI thread are called there."""

    written = Signal(object)  # News
    drafts = Signal(object)  # DraftNews

    def hear(self, item: News) -> None:
        """Report a write; called in the thread that sent it."""
        if isValid(self):
            self.written.emit(item)


signals = Signals()
news.listen(signals.hear)
