"""The draft of an edit being merged: kept and forgotten with it. Another edit's draft is left alone."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from gui import tasks
from gui.language import tr
from gui.parts.draft_saver import DraftSaver
from model.errors import Refused
from model.foundation.records import Version
from model.session import Session
from model.values.canonical import Value


class MergeDraft(QObject):
    """The draft of one merge. The editor's edits have one already; an undo or a restore gets its own.

    ``kept``: whether the document's draft is this edit, or there was none; ``said`` is the text for that. ``changed``
    is emitted once both are known.
    """

    changed = Signal()

    def __init__(self, session: Session, ns: str, id: Value, base: Version, mine: bytes, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._ns, self._id = session, ns, id
        self._base, self._mine = base, mine
        self._keeper = DraftSaver(session, ns, id, self)
        self._known = False
        self.kept, self.said = True, tr("Your edit is kept as a draft")
        tasks.run(lambda _: self._is_mine(), done=self._look, failed=self._unreadable, owner=self, key="draft")

    def _is_mine(self) -> bool | None:
        """Whether the draft on disk is this edit; None if there is no draft."""
        there = self._session.drafts.get(self._session.source, self._ns, self._id)
        return None if there is None else there.content == self._mine

    def _look(self, is_mine: bool | None) -> None:
        if is_mine is None:
            self._keeper.keep(self._base, self._mine)
        self._learn(is_mine is not False, tr("The draft is of another edit"))

    def _unreadable(self, error: BaseException) -> None:
        self._learn(False, tr("The draft cannot be read"))

    def _learn(self, kept: bool, else_said: str) -> None:
        self._known, self.kept = True, kept
        if not kept:
            self.said = else_said
        self.changed.emit()

    def flush(self) -> None:
        """Write the waiting draft now, because the tab closes."""
        self._keeper.flush()

    def go_on(self, base: Version, content: bytes) -> bool:
        """Keep what was chosen after the edit had been sent, as an edit of the saved version; whether that is kept."""
        if self._is_ours():
            self._keeper.keep(base, content)
            self._keeper.flush()
        return self.kept

    def forget(self) -> None:
        """Forget the draft: the edit was saved or discarded."""
        if self._is_ours():
            self._keeper.forget()
            self._keeper.flush()

    def _is_ours(self) -> bool:
        """Whether the draft on disk may be replaced; whoever asks decides what is kept from now on."""
        tasks.drop(self, "draft")
        if not self._known:
            try:
                self.kept = self._is_mine() is not False
            except Refused:
                self.kept = False
        return self.kept


__all__ = ["MergeDraft"]
