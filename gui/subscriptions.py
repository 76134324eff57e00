"""News on the UI thread: what was written, and what became of drafts. Every page of every window hears of it here.

A write reaches the pages by :attr:`Signals.written` alone, whoever sent it: a page, another window, another program.
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
    """A draft was kept or forgotten; with ``discarded`` a person has said so, and its editor is to forget it too."""

    source: str
    ns: str
    id: Value
    discarded: bool = False


class Signals(QObject):
    """The news, as signals: a receiver on the UI thread is called there."""

    written = Signal(object)  # News
    drafts = Signal(object)  # DraftNews

    def hear(self, item: News) -> None:
        """Pass on a write; called in the thread that sent it."""
        if isValid(self):
            self.written.emit(item)


signals = Signals()
news.listen(signals.hear)
