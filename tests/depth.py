"""Which tests a run with a time limit does, and in which order.

First come those that take long, while others run beside them, and those on the second server: one that cannot be
started is to fail the run. Then, of each test, as many cases as ``CASES`` says; they are drawn, and so is the file at
which the run begins, to go round from there. Then all other cases and the deep tests, test by test in an order that is
drawn as well. The seed is printed: where a machine is too slow for all of it, another run does what this one left.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import pytest

CASES = 3
"""Cases that each test has before any test has more."""
REST = 60.0
"""Seconds for what is not deep, once the time for deeper tests is over."""
T = TypeVar("T", bound=pytest.Item)


class Order(NamedTuple):
    """The tests of a run, each once."""

    always: list[pytest.Item]
    slice: list[pytest.Item]
    """Done unless the time is over by more than ``REST``."""
    deeper: list[pytest.Item]
    """Done as long as there is time."""

    def ends(self, until: float) -> dict[str, tuple[float, str]]:
        """Until when each test is begun that can be left out, by its id, and what is said where it is too late."""
        too_late = "the time for deeper tests is over: another run draws others, and --deep runs all"
        much_too_late = "the time is over: another run begins at another file, and one without --deep-until runs all"
        deeper = {item.nodeid: (until, too_late) for item in self.deeper}
        return deeper | {item.nodeid: (until + REST, much_too_late) for item in self.slice}


def is_deep(item: pytest.Item) -> bool:
    """Whether a test is only run where it is asked for, or where there is time."""
    second = on_second_server(item) and item.get_closest_marker("second_server") is None
    return second or item.get_closest_marker("deep") is not None


def on_second_server(item: pytest.Item) -> bool:
    """Whether a case is the one that its test has on the Java server."""
    return bool(getattr(item, "callspec", None) and item.callspec.params.get("server_name") == "java")  # type: ignore[attr-defined]


def is_short(item: pytest.Item) -> bool:
    """Whether a test is not one of those that are begun before all others."""
    return item.get_closest_marker("long") is None


def drawn(items: Iterable[pytest.Item], seed: int) -> Order:
    """The order that a seed draws, the same in every process."""
    draws = random.Random(seed)
    quick, deep = _parted(items, is_deep)
    others, always = _parted(quick, lambda item: not is_short(item) or on_second_server(item))
    more, few = _parted(others, few_cases(others, draws).__contains__)
    return Order(sorted(always, key=is_short), gone_round(few, draws), shuffled([*more, *deep], draws))


def _parted(items: Iterable[T], on: Callable[[T], bool]) -> tuple[list[T], list[T]]:
    """Those for which something does not hold, and those for which it does; both as they stood."""
    parted: tuple[list[T], list[T]] = ([], [])
    for item in items:
        parted[on(item)].append(item)
    return parted


def few_cases(items: Iterable[T], draws: random.Random) -> set[T]:
    """A few cases of each test."""
    by_test = _by_test(items).values()
    return {item for cases in by_test for item in draws.sample(cases, min(CASES, len(cases)))}


def gone_round(items: list[T], draws: random.Random) -> list[T]:
    """All of them from the first test of some file on; tests of one file stay together, as what they share does."""
    files = list(dict.fromkeys(_file(item) for item in items))
    if not files:
        return items
    file = draws.choice(files)
    begin = next(at for at, item in enumerate(items) if _file(item) == file)
    return items[begin:] + items[:begin]


def shuffled(items: list[T], draws: random.Random) -> list[T]:
    """All of them test by test in some order; the cases of one test stay together."""
    by_test = _by_test(items)
    tests = sorted(by_test)
    draws.shuffle(tests)
    return [case for test in tests for case in by_test[test]]


def _by_test(items: Iterable[T]) -> dict[str, list[T]]:
    by_test: dict[str, list[T]] = {}
    for item in items:
        by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return by_test


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
