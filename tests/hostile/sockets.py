"""A watch over the network: the only sockets go to the server that was named."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote

CONNECT, LOOK_UP = socket.socket.connect, socket.getaddrinfo


@contextmanager
def watched(uri: str, found: list[str]) -> Iterator[None]:
    """Note every address that is asked for, and is not the server's."""
    server = unquote(uri.partition("://")[2].partition("/?")[0].rstrip("/"))

    def note(asked: str) -> None:
        if asked != server and asked != server.rpartition(":")[0]:
            found.append(f"network: {asked}")

    def connect(self: socket.socket, address: Any) -> None:
        note(":".join(map(str, address[:2])) if isinstance(address, tuple) else str(address))
        CONNECT(self, address)

    def look_up(host: Any, *more: Any, **named: Any) -> Any:
        note(str(host))
        return LOOK_UP(host, *more, **named)

    with patch.object(socket.socket, "connect", connect), patch.object(socket, "getaddrinfo", look_up):
        yield
