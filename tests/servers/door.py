"""A door before a server, which can be shut and opened again: what a network does that goes away and comes back."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from urllib.parse import unquote, urlsplit


class Door:
    """Forwards a port of the loopback interface to a server; a context manager."""

    def __init__(self, uri: str) -> None:
        self._target = uri
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = threading.Event()
        self._open.set()
        self._pairs: list[socket.socket] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def uri(self) -> str:
        """Where to knock; impatient, so that a test does not wait for long."""
        port = self._listener.getsockname()[1]
        return f"mongodb://127.0.0.1:{port}/?directConnection=true&serverSelectionTimeoutMS=300&connectTimeoutMS=300"

    def shut(self) -> None:
        """Cut what goes through and refuse what comes."""
        self._open.clear()
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for each in pairs:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def open(self) -> None:
        """Let through again."""
        self._open.set()

    def __enter__(self) -> Door:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.shut()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if not self._open.is_set():
                client.close()
                continue
            try:
                server = self._connected()
            except OSError:
                client.close()
                continue
            with self._lock:
                self._pairs += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=_pass, args=(one, other), daemon=True).start()

    def _connected(self) -> socket.socket:
        hosts = urlsplit(self._target).netloc.rpartition("@")[2]
        if "%2F" in hosts:
            made = socket.socket(socket.AF_UNIX)
            made.connect(unquote(hosts))
            return made
        host, _, port = hosts.partition(":")
        return socket.create_connection((host, int(port)))


def _pass(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    for each in (one, other):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
