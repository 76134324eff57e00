"""Records the commands sent to a server and the rows returned, whose numbers are equal on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymongo
import pymongo.monitoring
import pytest

GREETINGS = ("hello", "isMaster", "ping", "buildInfo", "endSessions")


LASTING = {
    "hello", "isMaster", "ping", "buildInfo", "endSessions", "serverStatus", "connectionStatus", "getParameter",
    "listDatabases", "listCollections", "listIndexes",  # they read what a server knows of itself, and no documents
    "getMore", "killCursors",  # they go on with a query that has a time of its own
    "insert", "update", "delete", "findAndModify",  # guarded by an index; one that is given up is in doubt
    "createIndexes", "dropIndexes", "create", "drop", "dropDatabase",  # asked for by a person
    "palimpsestDump",  # looks at how far a local server has come
    "palimpsestLoaded",  # asks a local server what it holds
}  # fmt: skip
"""Commands that need neither a limit nor a time."""


def is_bounded(name: str, command: Any) -> bool:
    """Whether a server ends a command by itself: it has a limit or a time, or is none that reads documents."""
    parts = dict(command)
    if name in LASTING or "maxTimeMS" in parts or "limit" in parts:
        return True
    stages = [next(iter(dict(stage))) for stage in parts.get("pipeline", ())]
    return stages[:1] == ["$changeStream"]  # it waits for what is going to happen, by maxAwaitTimeMS


class CommandLog(pymongo.monitoring.CommandListener):
    """The commands of all connections that were opened under :meth:`listening`, but for greetings."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.sent: list[dict[str, Any]] = []
        self.unbounded: list[str] = []  # queries without a limit and without a time
        self.rows = 0

    def clear(self) -> None:
        """Begin anew."""
        self.names, self.sent, self.unbounded, self.rows = [], [], [], 0

    def started(self, event: pymongo.monitoring.CommandStartedEvent) -> None:
        """Note a command that leaves."""
        if event.command_name not in GREETINGS:
            self.names.append(event.command_name)
            self.sent.append(dict(event.command))
            if not is_bounded(event.command_name, event.command):
                self.unbounded.append(str(event.command)[:300])

    def succeeded(self, event: pymongo.monitoring.CommandSucceededEvent) -> None:
        """Count the rows of an answer."""
        cursor: Any = dict(event.reply).get("cursor")
        if cursor is not None and event.command_name in ("find", "aggregate", "getMore"):
            parts = dict(cursor)
            self.rows += len(parts.get("firstBatch", parts.get("nextBatch", ())))

    def failed(self, event: pymongo.monitoring.CommandFailedEvent) -> None:
        """A command that failed has left all the same."""


@contextmanager
def listening() -> Iterator[CommandLog]:
    """A log of the connections that are opened inside."""
    log, plain = CommandLog(), pymongo.MongoClient

    def listened(*arguments: Any, event_listeners: Any = (), **options: Any) -> Any:
        return plain(*arguments, event_listeners=[*event_listeners, log], **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pymongo, "MongoClient", listened)
        yield log
