"""A clock that somebody sets while processes use it: an offset to the real one, in a file that all of them map."""

from __future__ import annotations

import datetime
import mmap
import struct
import time
from pathlib import Path
from typing import Any

_FORM = struct.Struct("d")


class JumpingClock:
    """The seconds by which a clock is wrong; settable by any process that has the file open."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(_FORM.pack(0.0))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _FORM.size)

    @property
    def offset(self) -> float:
        """The seconds; above 0 the clock is fast."""
        return float(_FORM.unpack(self._map[:])[0])

    @offset.setter
    def offset(self, seconds: float) -> None:
        self._map[:] = _FORM.pack(seconds)


def follow(clock: JumpingClock) -> None:
    """Let this process have the time from that clock, wherever it asks for the time of day.

    Pauses and time limits are measured by ``time.monotonic``, which no clock that is set changes.
    """
    real, time_of_day = datetime.datetime, time.time

    class Kind(type):
        """Makes every time one of the class that stands in for theirs."""

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real)

    class Jumping(real, metaclass=Kind):
        """The times as ever, and another now."""

        def __new__(cls, *parts: Any, **named: Any) -> Any:
            return real.__new__(real, *parts, **named)

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return real.fromtimestamp(time.time(), tz)

    time.time = lambda: time_of_day() + clock.offset
    datetime.datetime = Jumping  # type: ignore[misc]
