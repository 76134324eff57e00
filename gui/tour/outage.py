"""The tour's outages: a server that refuses, falls silent, is slow, or loses its answers to writes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from model.errors import NotAllowed, Refused, Unreachable
from model.session import Session

DENIED = "This user lacks the privilege find on insurance.contracts; ask for it, or use another user."
SILENT = "db.example:27017 does not answer in time; check the address, the network and firewalls."
UNUSABLE = (
    "The folder /home/eva/palimpsest for journal and drafts cannot be used (Permission denied); "
    "set PALIMPSEST_HOME to a folder that you can write."
)
LOST = "The connection was lost while the write was on its way."
READS = ("find", "aggregate", "count", "collections", "collection_ids", "indexes", "in_scratch", "explain")


class Outage:
    """Stands between a session and its server and files; at first everything passes."""

    def __init__(self, session: Session) -> None:
        self._server = session._connection.opened.server
        self._open = threading.Event()
        self._send, self._facts = self._server.send, self._server.facts
        for name in READS:
            setattr(self._server, name, self._guarded(getattr(self._server, name)))
        for owner, name in ((session.journal, "entries"), (session.drafts, "all"), (session.health, "scans")):
            setattr(owner, name, self._guarded(getattr(owner, name), file=True))
        for name, guarded in (("send", self._sent), ("facts", self._asked)):
            setattr(self._server, name, guarded)
        self.end()

    def end(self) -> None:
        """End the outage; waiting requests pass as well."""
        self._error: Refused | None = None
        self._loses: str | None = None
        self._open.set()

    def deny(self) -> None:
        """Refuse all reading."""
        self._error = NotAllowed(DENIED)

    def silence(self) -> None:
        """Do not answer; files can still be read."""
        self._error = Unreachable(SILENT)

    def hold(self) -> None:
        """Let every request wait until the end."""
        self._error = None
        self._open.clear()

    def lose_write(self, ns: str = "") -> None:
        """Answer until something is written, to a collection if one is named; then lose the answer and fall silent."""
        self._loses = ns

    def _pass(self, file: bool = False) -> None:
        self._open.wait()
        if self._error is not None and not (file and isinstance(self._error, Unreachable)):
            raise Refused(UNUSABLE) if file else self._error

    def _guarded(self, call: Callable[..., Any], file: bool = False) -> Callable[..., Any]:
        def guarded(*given: Any, **named: Any) -> Any:
            self._pass(file)
            return call(*given, **named)

        return guarded

    def _asked(self, refresh: bool = False) -> Any:
        if refresh:
            self._pass()
        return self._facts(refresh)

    def _sent(self, write: Any) -> Any:
        if self._loses not in ("", write.ns):
            return self._send(write)
        self.silence()
        allowed, self._server.read_only = self._server.read_only, True
        try:
            return replace(self._send(write), applied="unknown", retry=True, sentence=LOST, error=Unreachable(LOST))
        finally:
            self._server.read_only = allowed
