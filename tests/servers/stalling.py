"""The in-process server that accepts connections but, from some command on, answers nobody."""

from __future__ import annotations

import socket
import threading

from model.localserver.local_server import LocalServer
from model.localserver.wire import Command

GREETINGS = ("hello", "isMaster", "ismaster")


class StallingServer(LocalServer):
    """A member of a replica set that can fall silent, to those who are connected and to those who come."""

    def __init__(self) -> None:
        super().__init__(replica_set="rs0")
        self.answered = 0
        """Commands that were answered so far, without greetings."""
        self._until: int | None = None
        self._counting = threading.Lock()

    def stall(self, after: int = 0) -> None:
        """Answer so many commands more, and then nothing, greetings included."""
        with self._counting:
            self._until = self.answered + after

    def wake(self) -> None:
        """Answer again whoever comes from now on."""
        with self._counting:
            self._until = None

    def _reply(self, connection: socket.socket, command: Command) -> None:
        if self._is_silent(command):
            while connection.recv(4096):
                pass
        else:
            super()._reply(connection, command)

    def _is_silent(self, command: Command) -> bool:
        with self._counting:
            if self._until is not None and self.answered >= self._until:
                return True
            self.answered += command.name not in GREETINGS
            return False
