"""The in-process server that opens samples and dumps: MongoDB's wire protocol over documents in memory.

Code that only filters documents like a server imports the parts for that, and not the server.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from model.localserver.dumps import open_dump
    from model.localserver.local_server import LocalServer

__all__ = ["LocalServer", "open_dump", "open_sample"]


def __getattr__(name: str) -> object:
    """Import the server on first use."""
    if name == "LocalServer":
        from model.localserver.local_server import LocalServer

        return LocalServer
    if name == "open_dump":
        from model.localserver.dumps import open_dump

        return open_dump
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def open_sample(kept: Path | None = None) -> LocalServer:
    """Open the sample data in a server of its own. It is writable, and its data end when it is closed.

    ``kept`` is a folder for the built sample, so that the next start need not build it.
    """
    from model.localserver import kept_sample
    from model.localserver.local_server import LocalServer

    server = LocalServer()
    kept_sample.fill(server, kept)
    return server
