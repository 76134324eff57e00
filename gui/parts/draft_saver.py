"""Keeps one document's draft on disk, shortly after each change and at once when its panel closes."""

from __future__ import annotations

import datetime as dt
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from PySide6.QtCore import QObject, QTimer, Signal

from gui import subscriptions, tasks
from gui.subscriptions import DraftNews
from model.foundation.records import Draft, Version

if TYPE_CHECKING:
    from model.session import Session
    from model.values.canonical import Value

PAUSE = 300  # milliseconds of silence before a draft is written

_log = logging.getLogger(__name__)


class DraftSaver(QObject):
    """Writes the draft of one document. ``kept`` carries the time, or None after the draft was forgotten."""

    kept = Signal(object)
    failed = Signal(str)

    def __init__(self, session: Session, ns: str, id: Value, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._ns, self._id = session, ns, id
        self._waiting: Draft | None = None
        self._forget = False
        self._order = _order_of(session.source, ns, id)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(PAUSE)
        self._timer.timeout.connect(self._write)

    def keep(self, base: Version, content: bytes) -> None:
        """Keep this content soon; content equal to the base's forgets the draft."""
        # Undone to the base: nothing is left to keep.
        self._forget = content == base.content
        self._waiting = None
        if not self._forget:
            self._waiting = self._draft(base, content)
        self._timer.start()

    def _draft(self, base: Version, content: bytes) -> Draft:
        now = dt.datetime.now(dt.UTC)
        return Draft(self._session.source, self._ns, self._id, base.v, base.content or b"", content, now)

    def forget(self) -> None:
        """Forget the draft: the edit was saved or discarded."""
        self._waiting, self._forget = None, True
        self._timer.start(0)

    def _write(self) -> None:
        write = self._next()
        tasks.run(lambda _: write(), done=self._written, failed=self._failed, owner=self)

    def _written(self, kept_at: dt.datetime | None) -> None:
        self.kept.emit(kept_at)
        self._tell()

    def _tell(self) -> None:
        subscriptions.signals.drafts.emit(DraftNews(self._session.source, self._ns, self._id))

    def _next(self) -> Callable[[], dt.datetime | None]:
        """A call that writes the waiting draft, unless a newer one was written first."""
        draft, forget, session, order = self._waiting, self._forget, self._session, self._order
        ns, id, number = self._ns, self._id, order.number()
        self._waiting, self._forget = None, False

        def write() -> dt.datetime | None:
            # Two workers may come here in either order.
            with order.lock:
                if number < order.written:
                    return None
                order.written = number
                if draft is not None:
                    session.drafts.keep(draft)
                    return draft.kept_at
                if forget:
                    session.drafts.discard(session.source, ns, id)
                return None

        return write

    def flush(self) -> None:
        """Write the waiting draft now, because its panel is closing."""
        if not self._timer.isActive():
            return
        self._timer.stop()
        try:
            self._next()()
            self._tell()
        # The panel is closing: nobody is left to read a message.
        except OSError as error:
            _log.warning("The draft of a document in %s could not be kept: %s", self._ns, error)

    def _failed(self, error: BaseException) -> None:
        self.failed.emit(tasks.describe(error)[0])


class _Order:
    """Numbers the drafts of one document: when two workers write at the same time, the older draft must not win."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.written = 0
        self._made = 0

    def number(self) -> int:
        """The next number. Call it on the UI thread."""
        self._made += 1
        return self._made


_orders: WeakValueDictionary[tuple[str, str, Value], _Order] = WeakValueDictionary()


def _order_of(source: str, ns: str, id: Value) -> _Order:
    """The order of a document's drafts, one for its editor and for whoever decides its conflict."""
    return _orders.setdefault((source, ns, id), _Order())
