"""A proxy that keeps every byte between a client and a server, as somebody on the way would see them."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType


class Wiretap:
    """Listens on a port of its own, and passes on what comes; with ``cut_after`` only so many bytes of the server."""

    def __init__(self, target: str, cut_after: int | None = None) -> None:
        host, _, port = target.rpartition(":")
        self._target, self._cut_after = (host, int(port)), cut_after
        self.seen = bytearray()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Wiretap:
        self._threads[0].start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._open:
            _end(each)
        for thread in self._threads:
            thread.join(10)
        for each in self._open:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            self._open += [client, server]
            for pair in ((client, server, None), (server, client, self._cut_after)):
                thread = threading.Thread(target=self._carry, args=pair, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _carry(self, source: socket.socket, target: socket.socket, most: int | None) -> None:
        carried = 0
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                data = data if most is None else data[: most - carried]
                self.seen += data
                target.sendall(data)
                carried += len(data)
                if most is not None and carried >= most:
                    _end(source)
                    break
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


def _end(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
