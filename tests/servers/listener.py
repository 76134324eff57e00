"""A port of the loopback interface that serves each connection in a thread; everything ends with the context."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self


class Listener:
    """Listens from the moment it is made, and serves from the moment it is entered; ``serves`` gets each connection.

    A subclass overrides :meth:`serve` instead. A connection is closed when its service has ended.
    """

    def __init__(self, serves: Callable[[socket.socket], None] | None = None) -> None:
        self._serves = serves
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.run(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # closing alone does not end a wait for a connection
        self._listener.close()
        self.hang_up()
        for thread in self._threads:
            thread.join(10)

    def serve(self, connection: socket.socket) -> None:
        """Speak with whoever has come."""
        if self._serves is not None:
            self._serves(connection)

    def hang_up(self) -> None:
        """End every connection that is open."""
        with self._lock:
            for each in self._open:
                end(each)

    def run(self, does: Callable[..., None], *args: object) -> threading.Thread:
        """Do something in a thread, which is waited for at the end."""
        thread = threading.Thread(target=does, args=args, daemon=True)
        with self._lock:
            self._threads = [each for each in self._threads if each.is_alive()]
            thread.start()
            self._threads.append(thread)
        return thread

    @contextlib.contextmanager
    def kept(self, connection: socket.socket) -> Iterator[socket.socket]:
        """Have a connection ended with the others; it is closed when it is left."""
        with self._lock:
            self._open.add(connection)
        try:
            yield connection
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.run(self._take, connection)

    def _take(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), self.kept(connection):
            self.serve(connection)


def end(connection: socket.socket) -> None:
    """End a connection in both directions; whoever reads from it wakes up."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
