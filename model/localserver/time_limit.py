"""The time that a sender allows for a command, ``maxTimeMS``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TypeVar

from model.mql.command_error import CommandError

T = TypeVar("T")
clock = time.monotonic
"""The clock of commands, in seconds."""


class TimeLimit:
    """A time on the clock after which work ends with code 50; 0 milliseconds mean no limit."""

    def __init__(self, milliseconds: int) -> None:
        self._until = clock() + milliseconds / 1000 if milliseconds > 0 else None

    @property
    def left(self) -> float | None:
        """The seconds left; None without a limit."""
        return None if self._until is None else max(0.0, self._until - clock())

    def lift(self) -> None:
        """Remove the limit: a cursor that waits for its reader does not work meanwhile."""
        self._until = None

    def watch(self, rows: Iterator[T]) -> Iterator[T]:
        """Pass on rows until the time is up."""
        return rows if self._until is None else self._watched(rows)

    def _watched(self, rows: Iterator[T]) -> Iterator[T]:
        for i, row in enumerate(rows):
            if i % 128 == 0 and self._until is not None and clock() > self._until:
                raise CommandError(50, "operation exceeded time limit")
            yield row


UNLIMITED = TimeLimit(0)
