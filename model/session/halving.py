"""Finds the version at which a condition turned by halving a long history, if it turned once.

What cannot be told by halving is None, and then the whole history has to be read.
"""

from __future__ import annotations

from collections.abc import Callable

from model.foundation.records import Condition, Version
from model.history.chain import Bisection, Turn
from model.storage.reserved_fields import number_of

LONG = 1000
"""Versions from which on a history is halved; fewer are read in a command or two."""


def halved(newest: Version, first_of: Callable[[int, int], Version | None], condition: Condition) -> Bisection | None:
    """The turn of a condition between the oldest version and the newest.

    None if the history is short or not numbered, if the condition holds at both ends or at neither, or if a version
    cannot be read. ``first_of`` returns the lowest version with a number from one up to below another, None if there
    is none.
    """
    high, holds = number_of(newest.v), newest.meets(condition)
    if high is None or holds is None or (oldest := first_of(-(2**63), high)) is None:
        return None
    low = number_of(oldest.v)
    if low is None or high - low < LONG or oldest.meets(condition) in (None, holds):
        return None
    above, below, looked, open_to = newest, oldest, 2, high
    while open_to - low > 1:
        middle = (low + open_to) // 2
        found = first_of(middle, open_to)
        if found is None:
            open_to = middle  # nothing is stored from the middle up to there
            continue
        at, held = number_of(found.v), found.meets(condition)
        if at is None or held is None:
            return None
        looked += 1
        if held != holds:
            low, below = at, found
        else:  # nothing is stored from the middle up to this one
            high, above, open_to = at, found, middle
    turn = Turn(above.without_content(), holds, below.without_content(), high - low - 1)
    return Bisection((turn,), holds, looked, oldest.without_content(), halved=True)
