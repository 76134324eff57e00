"""The sources that can be opened: a MongoDB URI, a dump, the sample. Each becomes a server.

Dumps and the sample are served by the in-process server and are gone when it closes.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from model import local_process
from model.errors import NotFound, Refused, Unreachable
from model.foundation.address import unquoted
from model.local_process import Served, ServerProcess
from model.userdata import connections, folders
from model.userdata.connections import Connections
from model.userdata.given_password import given_password

if TYPE_CHECKING:  # imported on connection, so that a window appears before it
    from model.foundation.checkpoints import Checkpoint
    from model.foundation.records import ConnectionStep
    from model.server.retry import Server

SAMPLE = "sample:"
_LOOK_EVERY = 0.05  # seconds between two checks of the progress
LONGEST_ANSWER = 600_000
"""Milliseconds for a query of a large dump: nobody else uses its server, and no connection drops."""


class Source(Struct, frozen=True):
    """An open source."""

    server: Server
    text: str  # as given, without password; for a dump the absolute path
    name: str
    is_local: bool
    closers: tuple[Callable[[], object], ...]
    fixed: str = ""  # why this source is always read-only, else ""
    database: str = ""  # the database in the URI, unless it is one of the server's own

    def read_on(self, checkpoint: Checkpoint) -> None:
        """Read the large files of a dump; the checkpoint counts bytes, and its error stops. Raises ``Refused``."""
        checkpoint(0, None)
        state = self.server.dump("begin")
        try:
            while state["reading"]:
                if state["total"]:
                    checkpoint(state["done"], state["total"])
                time.sleep(_LOOK_EVERY)
                state = self.server.dump("look")
        except BaseException:
            while self.server.dump("stop")["reading"]:
                time.sleep(_LOOK_EVERY)
            raise
        if state["error"]:
            raise Refused(state["error"])
        if state["total"]:
            checkpoint(state["total"], state["total"])

    def close(self) -> None:
        """Close everything, the connection first."""
        for close in self.closers:
            close()


def connect(
    source: str, read_only: bool, into_memory: bool, password: str | None, home: Path | None, apart: bool = False
) -> Source:
    """Open a source; raises ``Unreachable``, ``NotFound``, ``Unreadable`` or ``Refused``.

    ``apart`` serves in-memory data from a separate process.
    """
    source = unquoted(source).strip()
    if source == SAMPLE:
        return _local(source, SAMPLE, read_only, True, home, apart)
    if "://" in source:
        if into_memory:
            raise Refused("Only a dump can be opened into memory; leave --into-memory out for a server.")
        return _remote(source, read_only, password, home)
    path = _dump(source)
    return _local(str(path.resolve()), path.name or source, read_only, into_memory, home, apart)


def named(source: str) -> str:
    """The :attr:`Source.text` that a source would have, without opening it; raises ``NotFound``."""
    source = unquoted(source).strip()
    if source == SAMPLE:
        return source
    return connections.without_password(source) if "://" in source else str(_dump(source).resolve())


def is_source(word: str) -> bool:
    """Whether a word names something to open: the sample, an address, an existing file or folder."""
    return word.strip() == SAMPLE or "://" in word or (bool(word) and Path(word).expanduser().exists())


def shown(source: str) -> str:
    """A source for quoting in a sentence; hides a password even if mongodb:// was forgotten."""
    return re.sub(r"^([^\s:/@]+):\S+@", r"\1:…@", connections.hidden(source))


def _dump(source: str) -> Path:
    path = Path(source).expanduser()
    if not source or not path.exists():
        raise NotFound(
            f"{shown(source) or 'Nothing'} is not a source: give a mongodb:// URI, a dump's folder or file, or sample:."
        )
    return path


def _remote(source: str, read_only: bool, password: str | None, home: Path | None) -> Source:
    if not source.startswith(("mongodb://", "mongodb+srv://")):
        raise Refused(
            f"{connections.label(source)} is not a MongoDB address: a URI begins with mongodb:// or mongodb+srv://."
        )
    clean = connections.without_password(source)
    uri = connections.with_password(source, password) if password else source
    uri = with_kept_password(uri, home)
    if connections.needs_password(uri):
        raise Unreachable(
            f"{clean} names a user and no password; set PALIMPSEST_PASSWORD, give --password-file FILE, "
            "or save the connection with its password in the window."
        )
    from model.server.retry import Server
    from model.server.server import OWN_DATABASES

    server = Server.connect(uri, read_only=read_only, name=connections.label(clean))
    named = connections.database_of(clean)
    database = "" if named in OWN_DATABASES else named  # these are named for login
    return Source(server, clean, connections.label(clean), False, (server.close,), database=database)


def with_kept_password(uri: str, home: Path | None = None) -> str:
    """The URI with secrets from environment and keyring; unchanged if it needs none."""
    kept = given_password()
    if kept and connections.needs_password(uri):
        uri = connections.with_password(uri, kept)
    return Connections(home).complete(uri)


def try_source(source: str, home: Path | None = None) -> Iterator[ConnectionStep]:
    """Test a server's address step by step, with its kept secrets; nothing is written or saved."""
    from model.foundation.records import ConnectionStep
    from model.server.connection_steps import try_connection

    try:
        uri = with_kept_password(unquoted(source).strip(), home)
    except Refused as refusal:
        yield ConnectionStep("Keyring", "failed", str(refusal))
        return
    yield from try_connection(uri)


def address_trouble(source: str) -> str:
    """Why an address cannot be used as written, one sentence; "" if it can. Uses no network."""
    from model.server.retry import Server

    try:
        Server.check_address(unquoted(source).strip())
    except Refused as refusal:
        return str(refusal)
    return ""


def start_early(source: str, into_memory: bool) -> None:
    """Start the process for a source that will be opened apart, so that it gets ready meanwhile."""
    with contextlib.suppress(Refused, OSError):
        if source == SAMPLE or "://" not in source:
            served = _served(source if source == SAMPLE else named(source), source == SAMPLE or into_memory, None)
            _early[served] = ServerProcess(served)


_early: dict[Served, ServerProcess] = {}


def _served(source: str, writable: bool, home: Path | None) -> Served:
    return Served("" if source == SAMPLE else source, writable, str(folders.kept_again(home)))


def _local(source: str, name: str, read_only: bool, writable: bool, home: Path | None, apart: bool) -> Source:
    from model.server.retry import Server

    served = _served(source, writable, home)
    local = (_process(served) if apart else None) or local_process.opened(served)
    try:
        server = Server.connect(local.uri, read_only=read_only or not writable, socket_ms=LONGEST_ANSWER, name=name)
    except BaseException:
        local.close()
        raise
    fixed = (
        "" if writable else f"{name} is a dump, opened read-only; open it into memory (--into-memory) to try changes."
    )
    return Source(server, source, name, True, (server.close, local.close), fixed)


def _process(served: Served) -> ServerProcess | None:
    """A process that serves a source; None if none can be started."""
    try:
        return _ready(_early.pop(served) if served in _early else ServerProcess(served))
    except OSError:
        return None


def _ready(process: ServerProcess) -> ServerProcess:
    try:
        process.wait()
    except BaseException:
        process.close()
        raise
    return process
