"""What leaves for a server and what comes back: the number of commands and rows does not depend on the machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymongo
import pymongo.monitoring
import pytest

GREETINGS = ("hello", "isMaster", "ping", "buildInfo", "endSessions")


class CommandLog(pymongo.monitoring.CommandListener):
    """The commands of all connections that were opened under :meth:`listening`, but for greetings."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.rows = 0

    def clear(self) -> None:
        """Begin anew."""
        self.names, self.rows = [], 0

    def started(self, event: pymongo.monitoring.CommandStartedEvent) -> None:
        """Note a command that leaves."""
        if event.command_name not in GREETINGS:
            self.names.append(event.command_name)

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
