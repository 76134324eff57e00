"""The in-process server in which samples and dumps are opened: MongoDB's wire protocol over documents in memory.

Whoever looks through documents as the server does, without one, imports the parts for that alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from model.localserver.dumps import open_dump
    from model.localserver.local_server import LocalServer

__all__ = ["LocalServer", "open_dump", "open_sample"]


def __getattr__(name: str) -> object:
    """Import the server when somebody asks for it."""
    if name == "LocalServer":
        from model.localserver.local_server import LocalServer

        return LocalServer
    if name == "open_dump":
        from model.localserver.dumps import open_dump

        return open_dump
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def open_sample(kept: Path | None = None) -> LocalServer:
    """Open the sample data in a server of its own, writable; they are gone when the server is closed.

    ``kept`` is the folder in which they are kept as they were built.
    """
    from model.localserver import kept_sample
    from model.localserver.local_server import LocalServer

    server = LocalServer()
    kept_sample.fill(server, kept)
    return server
