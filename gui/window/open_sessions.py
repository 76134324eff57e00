"""The open connections, each with its opening and its watch beside the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.window.opening import Opening

if TYPE_CHECKING:
    from gui.window.connection_watch import ConnectionWatch
    from model.session import Session


class OpenSessions:
    """The open connections; the sessions are in :attr:`all`, oldest first."""

    def __init__(self) -> None:
        self.all: list[Session] = []
        self._openings: dict[int, Opening] = {}
        self._watches: dict[int, ConnectionWatch] = {}

    def add(self, session: Session, opening: Opening, watch: ConnectionWatch | None) -> None:
        """Add an open connection; one to a server in this process needs no watch."""
        self.all.append(session)
        self._openings[id(session)] = opening
        if watch is not None:
            self._watches[id(session)] = watch

    def remove(self, session: Session) -> None:
        """Remove a closed connection."""
        self.all.remove(session)
        self._openings.pop(id(session), None)
        if (watch := self._watches.pop(id(session), None)) is not None:
            watch.deleteLater()

    def opening(self, session: Session) -> Opening:
        """The opening that a connection came from."""
        return self._openings.get(id(session), Opening(session.source))

    def put_opening(self, session: Session, opening: Opening) -> None:
        """Replace a connection's opening, because something about it changed."""
        self._openings[id(session)] = opening

    def production(self, session: Session) -> bool:
        """Whether a connection is marked as one where mistakes are costly."""
        return self.opening(session).production

    def watch(self, session: Session | None) -> ConnectionWatch | None:
        """The watch over a connection's server; None for a server in this process."""
        return self._watches.get(id(session))

    @property
    def silent(self) -> list[Session]:
        """The connections whose server does not answer."""
        return [watch.session for watch in self._watches.values() if watch.lost is not None]


def close_each(sessions: list[Session]) -> None:
    """Close sessions, and remove them from their list."""
    while sessions:
        sessions.pop().close()
