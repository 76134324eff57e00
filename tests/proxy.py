"""A proxy before a MongoDB server that cuts connections: before a write is sent, before its reply, or while it is
late.

It handles whole messages of the wire protocol, one request and one reply at a time, as drivers without sessions do.
"""

from __future__ import annotations

import random
import socket
import time
from collections import Counter
from contextlib import ExitStack, suppress
from types import TracebackType
from urllib.parse import urlsplit

from tests.servers.door import connected
from tests.servers.listener import Listener

WRITES = (b"insert\x00", b"update\x00", b"delete\x00", b"findAndModify\x00")
HEADER = 16
FLAGS = 4
FIRST_NAME = HEADER + FLAGS + 1 + 4 + 1  # flags, kind of section, length of the document, type of its first field


class Proxy(Listener):
    """Stands before a server's address; ``doubt`` is the chance that a write's outcome is not told."""

    def __init__(self, target: str, seed: int, doubt: float = 0.3, cuts: float = 0.01) -> None:
        super().__init__()
        self.target = target
        self.doubt = doubt
        self.cuts = cuts
        self.did: Counter[str] = Counter()
        self._rng = random.Random(seed)
        self._late: list[tuple[ExitStack, socket.socket, bytes]] = []
        self.arrived: list[tuple[float, bytes]] = []
        """Inserts and deletes that landed late, each with the time by `time.monotonic` when it did."""

    @property
    def uri(self) -> str:
        """Where clients connect, with the user of the server's own address."""
        user, at, _ = urlsplit(self.target).netloc.rpartition("@")
        return f"mongodb://{user}{at}{self.host}/?directConnection=true"

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.settle()
        super().__exit__(kind, error, at)

    def calm(self) -> None:
        """Cut nothing any more, and let all that is on its way arrive."""
        self.doubt = self.cuts = 0.0
        self.settle()

    def settle(self) -> None:
        """Let all that is on its way arrive."""
        while self._land(1.0):
            pass

    def serve(self, connection: socket.socket) -> None:
        with ExitStack() as ends:
            server = ends.enter_context(self.kept(connected(self.target)))
            while request := _message(connection):
                self._land(0.08)
                what = self._fate(request)
                if what == "landing late":
                    with self._lock:
                        self._late.append((ends.pop_all(), server, request))
                if what in ("landing late", "never sent", "cut"):
                    return
                server.sendall(request)
                reply = _message(server)
                if what == "reply lost" or not reply:
                    return
                connection.sendall(reply)

    def _fate(self, request: bytes) -> str:
        with self._lock:
            what = "told"
            if request.startswith(WRITES, FIRST_NAME):
                if self._rng.random() < self.doubt:
                    what = self._rng.choice(("never sent", "reply lost", "landing late"))
                self.did[f"writes {what}"] += 1
            elif self._rng.random() < self.cuts:
                what = "cut"
                self.did["other messages cut"] += 1
            return what

    def _land(self, chance: float) -> bool:
        """Perhaps send what is on its way longest, and wait until it is done."""
        with self._lock:
            if not self._late or self._rng.random() > chance:
                return False
            ends, server, request = self._late.pop(0)
        with ends, suppress(OSError):
            server.sendall(request)
            _message(server)
            if request.startswith((b"insert\x00", b"delete\x00"), FIRST_NAME):
                self.arrived.append((time.monotonic(), request))
        return True


def _message(of: socket.socket) -> bytes:
    """The next whole message; b"" where the other side is gone."""
    head = _bytes(of, HEADER)
    if not head:
        return b""
    rest = _bytes(of, int.from_bytes(head[:4], "little") - HEADER)
    return head + rest if rest else b""


def _bytes(of: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = of.recv(count - len(parts))
        if not part:
            return b""
        parts += part
    return bytes(parts)
