"""The speed of long work and the time left, from its progress."""

from __future__ import annotations

import pytest

from model.text.pace import Pace, duration
from tests import support


def test_nothing_is_said_before_enough_was_seen() -> None:
    pace = Pace()
    pace.reached(0, 100, now=0.0)
    pace.reached(10, 100, now=0.3)
    assert (pace.rate, pace.left, pace.words("rows")) == (None, None, [])


def test_the_pace_is_that_of_the_last_seconds() -> None:
    pace = Pace()
    for second in range(20):
        pace.reached(second * (10 if second < 10 else 1000), 100_000, now=float(second))
    assert pace.rate == pytest.approx(1000)
    assert pace.left == pytest.approx(81)
    assert pace.words("rows") == ["1,000/s", "81 s left"]
    assert pace.words("bytes") == ["1000 B/s", "81 s left"]


def test_without_a_total_nothing_is_said_of_what_is_left() -> None:
    pace = Pace()
    for second in range(3):
        pace.reached(second * 5, None, now=float(second))
    assert pace.words("rows") == ["5/s"]


def test_a_count_that_falls_back_begins_anew() -> None:
    pace = Pace()
    pace.reached(500, 1000, now=0.0)
    pace.reached(900, 1000, now=1.0)
    pace.reached(10, 1000, now=1.2)
    assert pace.rate is None


def test_many_steps_a_second_are_held_in_little() -> None:
    pace = Pace()
    for step in range(100_000):
        pace.reached(step, None, now=step / 10_000)
    assert len(pace._seen) < 100
    assert pace.rate == pytest.approx(10_000, rel=0.05)


@support.table("seconds, said", [(0.2, "1 s"), (89, "89 s"), (100, "2 min"), (7500, "2 h 5 min")])
def test_times_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert duration(seconds) == said
