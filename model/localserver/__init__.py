"""The in-process server in which samples and dumps are opened: MongoDB's wire protocol over documents in memory."""

from __future__ import annotations

from model.localserver.dumps import open_dump
from model.localserver.local_server import LocalServer

__all__ = ["LocalServer", "open_dump", "open_sample"]


def open_sample() -> LocalServer:
    """Open the sample data in a server of its own, writable; they are gone when the server is closed."""
    from model.localserver.sample import build

    server = LocalServer()
    for ns, indexes, raws in build():
        server.load(ns, raws)
        for keys, unique in indexes:
            server.index(ns, keys, unique)
    return server
