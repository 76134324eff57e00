"""The in-process server in which samples and dumps are opened: MongoDB's wire protocol over documents in memory."""

from __future__ import annotations

from pathlib import Path

from model.localserver.dumps import open_dump
from model.localserver.local_server import LocalServer

__all__ = ["LocalServer", "open_dump", "open_sample"]


def open_sample(kept: Path | None = None) -> LocalServer:
    """Open the sample data in a server of its own, writable; they are gone when the server is closed.

    ``kept`` is the folder in which they are kept as they were built.
    """
    from model.localserver import kept_sample

    server = LocalServer()
    kept_sample.fill(server, kept)
    return server
