"""Reading a large dump to its end while its first documents are shown: announced, stopped, continued."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal

from gui import messages, tasks
from gui.language import tr, translated
from gui.messages import MessageLine
from gui.style import wording
from gui.style.states import Choice
from gui.window.workspace import Workspace
from model.session import Session


class LargeDumps(QObject):
    """Reads large dumps that were opened; ``read`` is emitted when all of one is there."""

    read = Signal(object)  # Session

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._lines: dict[int, MessageLine] = {}

    def begin(self, session: Session) -> None:
        """Read a dump to its end, and say so; what is already read is shown at once."""
        if not session.dump.unread:
            self._tell_troubles(session)
            return
        task = tasks.run(
            session.dump.read_on,
            done=partial(self._done, session),
            failed=partial(self._failed, session),
            cancelled=partial(self._stopped, session),
            owner=self,
            key=f"dump {id(session)}",
            title=tr("Reading {name}", name=wording.source(session.name)),
            unit="bytes",
        )
        said = tr("The first documents of {name} are here; all of it is being read.", name=wording.source(session.name))
        self._say(session, said, [(tr("Stop reading"), task.cancel)])

    def _say(self, session: Session, said: str, choices: list[Choice]) -> None:
        self._unsay(session)
        self._lines[id(session)] = line = messages.hint(self._workspace, said, choices)
        line.gone.connect(partial(self._gone, id(session)))

    def _gone(self, key: int, *_: object) -> None:
        self._lines.pop(key, None)

    def _unsay(self, session: Session) -> None:
        line = self._lines.pop(id(session), None)
        if line is not None:
            line.leave()

    def _done(self, session: Session, _: object) -> None:
        self._unsay(session)
        self._tell_troubles(session)
        self.read.emit(session)

    def _tell_troubles(self, session: Session) -> None:
        for trouble in session.dump.troubles:
            messages.note(self._workspace, translated(trouble))

    def _stopped(self, session: Session) -> None:
        self._say(
            session,
            tr("Reading {name} was stopped: only its first documents are here.", name=wording.source(session.name)),
            [(tr("Read on"), partial(self.begin, session))],
        )

    def _failed(self, session: Session, error: BaseException) -> None:
        self._unsay(session)
        messages.fail(self._workspace, error, [(tr("Read on"), partial(self.begin, session))])
