"""The newest changes of a list as far as it was read, and how many there were on each day: parts of a long reading.

A list is sorted once all of it was read. Whoever looks on meanwhile takes these parts: each holds the newest changes
so far, at most as many as were asked for, and counts all of them.
"""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from model.over_time.activity import Activity, ActivityList, newest_first

EVERY = 0.25  # seconds between two parts


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest changes so far. What is counted are all that were found, on show or not."""

    rows: tuple[Activity, ...] = ()
    found: int = 0
    documents: int = 0  # that were read
    days: tuple[tuple[dt.date, int], ...] = ()  # with changes, the oldest first
    authors: tuple[str, ...] = ()  # in the order of the alphabet
    unknown: int = 0  # changes above a gap
    astray: int = 0  # changes whose time contradicts the order of versions
    undated: int = 0  # changes without a time, those left out of a span among them
    left_out: int = 0  # changes without a time that a span leaves out
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it holds every change that was found."""
        return len(self.rows) == self.found


def newest(listed: ActivityList, most: int, zone: dt.tzinfo, every: float = EVERY) -> Iterator[Newest]:
    """A part every now and then while a list is read, and one at its end; days are those of a zone."""
    kept: list[Activity] = []
    days: Counter[dt.date] = Counter()
    found = unknown = astray = undated = 0
    said = time.monotonic()

    def part() -> Newest:
        return Newest(
            tuple(kept),
            found,
            listed.documents,
            tuple(sorted(days.items())),
            tuple(sorted(listed.authors)),
            unknown,
            astray,
            undated + listed.undated,
            listed.undated,
            tuple(dict.fromkeys(listed.notes)),
        )

    waiting: list[list[Activity]] = []
    for several in listed.as_read():
        found += len(several)
        unknown += sum(each.kind == "unknown" for each in several)
        astray += sum(each.astray for each in several)
        undated += sum(each.at is None for each in several)
        days.update(each.at.astimezone(zone).date() for each in several if each.at is not None)
        waiting.append(several)
        if time.monotonic() - said >= every:
            kept, waiting = _merged(kept, waiting, most), []
            yield part()
            said = time.monotonic()
    kept = _merged(kept, waiting, most)
    yield part()


def _merged(kept: list[Activity], waiting: list[list[Activity]], most: int) -> list[Activity]:
    return sorted(chain(kept, *waiting), key=newest_first)[:most]
