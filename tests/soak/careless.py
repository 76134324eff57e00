"""Programs that are wrong in one respect each, derived from the sound one: the audit must convict them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from model.operations.migration import Checked, Migration
from model.repair.running import Running
from model.server.retry import Reply, Write
from model.server.server import Server
from model.userdata.journal import Intent, Journal


def unguarded() -> None:
    """Swap whatever document is there now, not only the one that was read."""
    send = Server.send

    def sent(self: Server, write: Write) -> Reply:
        if "_id" in write.filter:
            write = replace(write, filter={"_id": write.filter["_id"]})
        return send(self, write)

    _put(Server, "send", sent)


def believing() -> None:
    """Take silence for success."""
    send = Server.send

    def sent(self: Server, write: Write) -> Reply:
        reply = send(self, write)
        return Reply("yes", matched=1, modified=1) if reply.applied == "unknown" else reply

    _put(Server, "send", sent)


def unjournalled() -> None:
    """Forget to note one write of five."""
    begin = Journal.begin

    def begun(self: Journal, intent: Intent) -> str:
        entry = begin(self, intent)
        if int(entry) % 5 == 0:
            with self._file() as db:
                db.execute("DELETE FROM entries WHERE id = ?", (int(entry),))
        return entry

    _put(Journal, "begin", begun)


def sweeping() -> None:
    """Delete whatever document is there now, not only the one that was read and kept."""
    send = Server.send

    def sent(self: Server, write: Write) -> Reply:
        if write.kind == "delete" and "_id" in write.filter:
            write = replace(write, filter={"_id": write.filter["_id"]})
        return send(self, write)

    _put(Server, "send", sent)


def discarding() -> None:
    """Keep nothing of what is deleted."""
    begin = Journal.begin
    _put(Journal, "begin", lambda self, intent: begin(self, replace(intent, stored=None)))


def copyless() -> None:
    """Remove without a copy in the quarantine."""
    _put(Running, "_keep", lambda self, step: None)


def hasty() -> None:
    """Remove what was moved without looking whether all of it has arrived."""
    _put(Migration, "compared", lambda self, id, later=False: Checked(id, 1))


def forgetting() -> None:
    """Prune what is in doubt as well."""

    def prune(self: Journal, age: dt.timedelta, apply: bool = False) -> tuple[int, int]:
        with self._file() as db:
            return db.execute("DELETE FROM entries").rowcount, 0

    _put(Journal, "prune", prune)


def _put(of: type, name: str, function: Callable[..., Any]) -> None:
    setattr(of, name, function)


PROGRAMS: dict[str, Callable[[], None]] = {
    "retrying": lambda: None,  # the worker itself does that: it edits once more where it was not told how that ended
    "unguarded": unguarded,
    "believing": believing,
    "unjournalled": unjournalled,
    "sweeping": sweeping,
    "discarding": discarding,
    "copyless": copyless,
    "hasty": hasty,
    "forgetting": forgetting,
}


OFTEN = {
    "copyless": ("damage", "repair"),
    "hasty": ("edit_vacated", "vacate"),
    "forgetting": ("prune",),
}
"""The jobs of a worker at which a program is wrong, where these are rare: it does them often."""


def make(name: str) -> None:
    """Make this process careless; "" leaves it as it is."""
    if name:
        PROGRAMS[name]()
