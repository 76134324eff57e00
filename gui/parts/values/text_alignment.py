"""The corresponding places of two texts, worked out from their differences: for views that scroll together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

Range = tuple[int, int]


class _MarkedText:
    def __init__(self, marks: Sequence[Range]) -> None:
        self.starts = [start for start, _ in marks]
        self.ends = [end for _, end in marks]
        self.gone = [0, *accumulate(end - start for start, end in marks)]  # marked characters before each mark
        self.shared = [start - gone for (start, _), gone in zip(marks, self.gone, strict=False)]

    def rank(self, place: int) -> int:
        """How many shared characters are before a place."""
        at = bisect_left(self.starts, place)
        inside = max(0, self.ends[at - 1] - place) if at else 0
        return place - self.gone[at] + inside

    def place(self, rank: int) -> int:
        """The first place with ``rank`` shared characters before it."""
        return rank + self.gone[bisect_left(self.shared, rank)]


class TextAlignment:
    """Two texts that are equal except for their marked ranges. ``stops`` are the places of the differences in both."""

    def __init__(self, left: Sequence[Range] = (), right: Sequence[Range] = ()) -> None:
        self._sides = (_MarkedText(left), _MarkedText(right))
        ranks = sorted({*self._sides[0].shared, *self._sides[1].shared})
        self.stops: tuple[tuple[int, int], ...] = tuple(
            (self._sides[0].place(rank), self._sides[1].place(rank)) for rank in ranks
        )

    def across(self, place: int, from_left: bool) -> int:
        """The place in the other text that corresponds to one in this."""
        here, there = self._sides if from_left else self._sides[::-1]
        return there.place(here.rank(place))


__all__ = ["TextAlignment"]
