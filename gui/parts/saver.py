"""One save at a time, and its end: applied, conflict, refused, or unknown until it is settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal

from gui import tasks
from gui.language import tr, translated
from gui.style import wording
from model.errors import Refused
from model.values.canonical import INT32, INT64, Value

if TYPE_CHECKING:
    from model.foundation.records import Outcome, Version
    from model.session import Session
    from model.session.guarded_writing import Conflict


def following(v: Value | None) -> str:
    """The name of the version that a save over ``v`` makes, ``v15``; "" if versions are not numbers."""
    if v is None or v.type not in (INT32, INT64):
        return ""
    return f"v{int.from_bytes(v.data, 'little', signed=True) + 1}"


class _Answer(Struct, frozen=True):
    outcome: Outcome | None
    conflict: Conflict | None = None
    there: Version | None = None


class Saver(QObject):
    """Sends one document's saves. While one is under way or its outcome is unknown, it sends no other."""

    applied = Signal(object, object)  # Outcome; the present Version, None if it could not be read
    conflicted = Signal(object)  # Conflict
    refused = Signal(str)
    unknown = Signal(object)  # Outcome
    changed = Signal()  # busy or held changed

    def __init__(self, session: Session, ns: str, id: Value, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._ns, self._id = session, ns, id
        self.busy = False
        self.held: Outcome | None = None
        self.known: Version | None = None  # the last version that was read of the document
        self._sent: tuple[Version | None, bytes, str] = (None, b"", "")

    @property
    def hold_reason(self) -> str:
        """Why nothing can be saved now; "" if it can."""
        if self.busy:
            return tr("A save is under way")
        return tr("Saving waits until the outcome of the last save is known") if self.held is not None else ""

    @property
    def is_writing(self) -> bool:
        """Whether a save is under way, and not a look for one."""
        return self.busy and self.held is None and self._sent[2] != "look"

    @property
    def sent(self) -> bytes:
        """The content that was sent last."""
        return self._sent[1]

    @property
    def sent_name(self) -> str:
        """The name of the save under way or in doubt: ``v15``, or "your edit"."""
        base, _, action = self._sent
        return (following(base.v) if base is not None and action != "create" else "") or tr("your edit")

    def save(self, base: Version, content: bytes, reason: str = "", action: str = "edit") -> None:
        """Swap ``base`` for a version with this content, for a reason; the journal names the ``action``."""
        session, ns, id = self._session, self._ns, self._id
        self._sent = (base, content, action)
        self._run(lambda: session.writing.save(ns, id, base, content, action, reason), base, content, reason)

    def create(self, content: bytes, id: Value | None, reason: str = "", known: Version | None = None) -> None:
        """Insert a document with this content, under ``id`` or a new one.

        ``known`` is the last version that was read of a deleted document, which is created again.
        """
        session, ns = self._session, self._ns
        self._sent = (None, content, "create")
        self._run(lambda: session.writing.create(ns, content, id, reason, known), None, content)

    def look(self, base: Version, content: bytes, reason: str = "", typed_on: bool = False) -> None:
        """Find out without a write whether the document moved on from ``base``; ends as a conflict or a refusal.

        ``typed_on`` says that the content was changed after a first one had been sent.
        """
        session, ns, id, known = self._session, self._ns, self._id, self.known
        self._sent = (base, content, "look")

        def look(_: tasks.Progress) -> _Answer:
            found = session.writing.conflict(ns, id, base, content, known)
            return _Answer(None, replace(found, reason=reason, typed_on=typed_on))

        self._start(look)

    def settle(self) -> None:
        """Look again for a save whose outcome is unknown."""
        outcome = self.held
        base, content, _ = self._sent
        if outcome is None or self.busy:
            return
        session = self._session
        self._run(lambda: session.way_back.settle(outcome), base, content)

    def _run(self, send: Callable[[], Outcome], base: Version | None, content: bytes, reason: str = "") -> None:
        session, ns, id, known = self._session, self._ns, self._id, self.known

        def save(_: tasks.Progress) -> _Answer:
            outcome = send()
            if outcome.kind == "conflict" and base is not None:
                found = session.writing.conflict(ns, id, base, content, known)
                return _Answer(outcome, replace(found, reason=reason))
            if outcome.kind != "applied" or outcome.id != id:
                return _Answer(outcome)
            try:  # the stored version may hold more than was sent, such as who saved it
                there = session.history.version(ns, id)
            except Refused:
                return _Answer(outcome)
            return _Answer(outcome, None, there if there.v == outcome.version else None)

        self._start(save)

    def _start(self, work: Callable[[tasks.Progress], _Answer]) -> None:
        if self.busy:
            return
        self.busy = True
        self.changed.emit()
        tasks.run(
            work, done=self._done, failed=self._failed, owner=self, title=tr("Saving {id}", id=wording.plain(self._id))
        )

    def _done(self, answer: _Answer) -> None:
        outcome, conflict = answer.outcome, answer.conflict
        self.busy = False
        self.held = outcome if outcome is not None and outcome.kind == "unknown" else None
        if conflict is not None and conflict.theirs is not None:
            self.known = conflict.theirs
        elif outcome is not None and outcome.kind == "applied" and outcome.id == self._id:
            self.known = answer.there
        self.changed.emit()
        if conflict is not None and outcome is not None and _nothing_moved(conflict):
            self.refused.emit(translated(outcome.detail) or tr("It did not arrive; save again."))
        elif conflict is not None:
            self.conflicted.emit(conflict)
        elif outcome is None:
            return
        elif outcome.kind in ("applied", "skipped"):
            self.applied.emit(outcome, answer.there)
        elif outcome.kind == "unknown":
            self.unknown.emit(outcome)
        else:
            self.refused.emit(translated(outcome.detail))

    def _failed(self, error: BaseException) -> None:
        self.busy = False
        self.changed.emit()
        self.refused.emit(tasks.describe(error)[0])


def _nothing_moved(conflict: Conflict) -> bool:
    """Whether the database still has the version that the edit began from: no write arrived."""
    theirs, base = conflict.theirs, conflict.base
    return theirs is not None and (theirs.v, theirs.content) == (base.v, base.content)
