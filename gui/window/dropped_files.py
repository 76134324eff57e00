"""Files dropped on a window: a dump's file or folder is opened, a profile says how the connection in front is read."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QObject

from gui import messages, tasks
from gui.language import tr
from gui.style import wording
from gui.window.opening import Opening

if TYPE_CHECKING:
    from gui.window.connecting import Connecting
    from gui.window.open_sessions import OpenSessions
    from gui.window.workspace import Workspace
    from model.session import Session

PROFILE = ".toml"


def files_in(dropped: QMimeData) -> list[Path]:
    """The files and folders of this computer in what is dragged; [] for anything else, such as text."""
    return [Path(url.toLocalFile()) for url in dropped.urls() if url.isLocalFile()]


class DroppedFiles(QObject):
    """Opens what was dropped on one window."""

    def __init__(self, workspace: Workspace, sessions: OpenSessions, connecting: Connecting) -> None:
        super().__init__(workspace)
        self._workspace, self._sessions, self._connecting = workspace, sessions, connecting

    def open(self, files: list[Path]) -> None:
        """Open files and folders as sources. For a profile, ask about the connection in front, or for a source."""
        for file in files:
            if file.suffix.lower() != PROFILE or file.is_dir():
                self._connecting.open_source(str(file))
                continue
            tasks.run(
                partial(_checked, file),
                done=self._ask,
                failed=partial(messages.fail, self._workspace),
                owner=self,
            )

    def _ask(self, file: Path) -> None:
        session = self._workspace.session
        if session is None:
            self._connecting.ask(Opening("", profile=str(file)))
            return
        name = wording.source(session.name)
        lost = tr(" What was edited in memory is thrown away.") if _is_in_memory(session) else ""
        messages.confirm(
            self._workspace,
            tr("Read {name} by the profile {file}?", name=name, file=file.name),
            tr("The connection is opened again, with its tabs.{lost}", lost=lost),
            tr("Open it again"),
            partial(self._read_by, session, file),
            danger=bool(lost),
        )

    def _read_by(self, session: Session, file: Path) -> None:
        if session not in self._sessions.all:
            return
        opening = self._sessions.opening(session)
        self._connecting.disconnect_session(session)
        self._connecting.open(replace(opening, profile=str(file)))


def _is_in_memory(session: Session) -> bool:
    """Whether edits of a connection are lost with it."""
    return session.is_local and not session.trust.read_only


def _checked(file: Path, _: tasks.Progress) -> Path:
    """The file itself; raises ``Refused`` if it is no profile."""
    from model.session.layout_statements import check_profile

    check_profile(file)
    return file
