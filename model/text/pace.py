"""The speed of long work and the time left, from its progress."""

from __future__ import annotations

import time
from collections import deque
from typing import Literal

WINDOW = 5.0  # seconds over which the pace is measured
SOON = 0.5  # seconds before a pace is told


class Pace:
    """The pace over the last seconds, measured from calls of :meth:`reached`."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()
        self._total: int | None = None

    def reached(self, done: int, total: int | None, now: float | None = None) -> None:
        """Note the progress; less than before means that other work has begun."""
        now = time.monotonic() if now is None else now
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()
        if len(self._seen) > 1 and now - self._seen[-2][0] < 0.1:
            self._seen.pop()  # a few notes per second are enough
        self._seen.append((now, done))
        self._total = total
        while now - self._seen[0][0] > WINDOW:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """The amount per second; None if too little was seen."""
        if not self._seen or self._seen[-1][0] - self._seen[0][0] < SOON:
            return None
        (began, first), (now, last) = self._seen[0], self._seen[-1]
        return (last - first) / (now - began)

    @property
    def left(self) -> float | None:
        """The seconds left at this pace; None if unknown."""
        rate = self.rate
        if not rate or self._total is None:
            return None
        return max(0, self._total - self._seen[-1][1]) / rate

    def words(self, unit: Literal["rows", "bytes"]) -> list[str]:
        """The pace and the time left as people read them, as far as known."""
        from model.text.sizes import size_text  # a window starts without it

        rate, left = self.rate, self.left
        pace = [] if rate is None else [f"{size_text(round(rate))}/s" if unit == "bytes" else f"{round(rate):,}/s"]
        return pace + ([] if left is None else [f"{duration(left)} left"])


def duration(seconds: float) -> str:
    """A time as people say it: ``8 s``, ``3 min``, ``2 h 5 min``."""
    whole = max(1, round(seconds))
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
