"""A door before a server: a network that fails and returns, and that records what passes."""

from __future__ import annotations

import contextlib
import socket
import threading
from urllib.parse import unquote, urlsplit

from tests.servers.listener import Listener, end


class Door(Listener):
    """Forwards a port of the loopback interface to an address, or to a host and port.

    ``seen`` has every byte of both directions, as somebody on the way sees them. With ``cut_after`` only so many bytes
    of the server come through on a connection, which then ends.
    """

    def __init__(self, target: str, cut_after: int | None = None) -> None:
        super().__init__()
        self._target, self._cut_after = target, cut_after
        self._shut = threading.Event()
        self.seen = bytearray()

    @property
    def uri(self) -> str:
        """Where to knock; impatient, so that a test does not wait for long."""
        return f"mongodb://{self.host}/?directConnection=true&serverSelectionTimeoutMS=300&connectTimeoutMS=300"

    def shut(self) -> None:
        """Cut what goes through and refuse what comes."""
        self._shut.set()
        self.hang_up()

    def open(self) -> None:
        """Let through again."""
        self._shut.clear()

    def serve(self, connection: socket.socket) -> None:
        if self._shut.is_set():
            return
        with self.kept(connected(self._target)) as server:
            if self._shut.is_set():
                return
            back = self.run(self._carry, server, connection, self._cut_after)
            self._carry(connection, server, None)
            back.join()

    def _carry(self, source: socket.socket, target: socket.socket, most: int | None) -> None:
        carried = 0
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                data = data if most is None else data[: most - carried]
                self.seen += data
                target.sendall(data)
                carried += len(data)
                if carried == most:
                    end(source)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


def connected(target: str) -> socket.socket:
    """A connection to an address, which may name a socket file, or to a host and port."""
    hosts = urlsplit(target).netloc.rpartition("@")[2] or target
    if "%2F" in hosts:
        made = socket.socket(socket.AF_UNIX)
        made.connect(unquote(hosts))
        return made
    host, _, port = hosts.rpartition(":")
    return socket.create_connection((host, int(port)))
