"""The newest changes while a list is still being read, and the number of changes per day.

A list is sorted only after all of it was read. Until then views show these parts: each has the newest changes so far,
at most as many as requested, and counts them all.
"""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from model.over_time.activity import Activity, ActivityList, newest_first
from model.values.canonical import Value

EVERY = 0.25  # seconds until the first part
SLOWER = 1.5  # factor between parts: showing one goes through everything read so far
LONGEST = 5.0  # most seconds between two parts


class Newest(Struct, frozen=True):
    """The newest changes so far. Counts cover all changes found, also those not in ``rows``.

    Versions that never landed are among the rows, and counted only by themselves.
    """

    rows: tuple[Activity, ...] = ()
    found: int = 0
    documents: int = 0  # that were read
    days: tuple[tuple[dt.date, int], ...] = ()  # days with changes, oldest first
    authors: tuple[str, ...] = ()  # sorted
    unknown: int = 0  # changes above a gap
    astray: int = 0  # changes whose time contradicts the order of versions
    undated: int = 0  # changes without a time, including those left out of a span
    left_out: int = 0  # changes without a time, left out of a span
    notes: tuple[str, ...] = ()
    never_landed: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether it contains every change that was found."""
        return len(self.rows) == self.found + self.never_landed


Merges: TypeAlias = Collection[tuple[str, Value, Value]]
"""Versions known to be merges: collection, document and version."""


def newest(
    listed: ActivityList, most: int, zone: dt.tzinfo, merges: Merges = (), every: float = EVERY
) -> Iterator[Newest]:
    """Parts from time to time while a list is read, at growing intervals, and one at the end; days are in ``zone``."""
    kept: list[Activity] = []
    days: Counter[dt.date] = Counter()
    found = unknown = astray = undated = never_landed = 0
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
            never_landed,
        )

    waiting: list[list[Activity]] = []
    for read in listed.as_read():
        several = [known(each, merges) for each in read] if merges else read
        landed = [each for each in several if each.landed]
        found += len(landed)
        never_landed += len(several) - len(landed)
        unknown += sum(each.kind == "unknown" for each in landed)
        astray += sum(each.astray for each in landed)
        undated += sum(each.at is None for each in landed)
        days.update(_days(landed, zone))
        waiting.append(several)
        if time.monotonic() - said >= every:
            kept, waiting = _merged(kept, waiting, most), []
            yield part()
            said, every = time.monotonic(), min(every * SLOWER, LONGEST)
    kept = _merged(kept, waiting, most)
    yield part()


def known(each: Activity, merges: Merges) -> Activity:
    """A change with the kind "merged" if it is known to be a merge."""
    is_merge = each.kind == "edited" and (each.ns, each.id, each.v) in merges
    return replace(each, kind="merged") if is_merge else each


def _merged(kept: list[Activity], waiting: list[list[Activity]], most: int) -> list[Activity]:
    return sorted(chain(kept, *waiting), key=newest_first)[:most]


def updated(before: Newest, ns: str, id: Value, several: Sequence[Activity], most: int, zone: dt.tzinfo) -> Newest:
    """The newest changes after one document was read again and has the changes ``several``.

    If it has counted changes that are not in ``rows``, the counts remain approximate.
    """
    gone = [each for each in before.rows if (each.ns, each.id) == (ns, id)]
    end = newest_first(before.rows[-1]) if before.rows and not before.is_whole else None
    came = [each for each in several if end is None or newest_first(each) <= end]
    days = Counter(dict(before.days))
    days.subtract(_days(gone, zone))
    days.update(_days(came, zone))
    kept = [each for each in before.rows if (each.ns, each.id) != (ns, id)]

    def change(counts: Callable[[Activity], bool]) -> int:
        return sum(map(counts, came)) - sum(map(counts, gone))

    authors = {*before.authors, *(each.author for each in several if each.author is not None)}
    return replace(
        before,
        rows=tuple(_merged(kept, [came], most)),
        found=before.found + change(lambda each: each.landed),
        days=tuple(sorted((day, count) for day, count in days.items() if count > 0)),
        authors=tuple(sorted(authors)),
        unknown=before.unknown + change(lambda each: each.landed and each.kind == "unknown"),
        astray=before.astray + change(lambda each: each.landed and each.astray),
        undated=before.undated + change(lambda each: each.landed and each.at is None),
        documents=before.documents + (bool(came) and not gone and before.is_whole),
        never_landed=before.never_landed + change(lambda each: not each.landed),
    )


def _days(several: Iterable[Activity], zone: dt.tzinfo) -> Iterator[dt.date]:
    """The day of each change that landed and has a time."""
    return (each.at.astimezone(zone).date() for each in several if each.landed and each.at is not None)
