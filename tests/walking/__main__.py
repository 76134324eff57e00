"""``python -m tests.walking``: writes beside every pair of views, random walks by mouse and key, and walks that type.

    python -m tests.walking --sequences 500                    two views, a write, and all that is shown compared
    python -m tests.walking --sequences 40 --cut collection    with a view that hears no news, which is convicted
    python -m tests.walking --sequences 100 --served           each window with a connection, beside another program
    python -m tests.walking --walks 2000                       by mouse and key, 60 actions each
    python -m tests.walking --typings 1000                     typing into an editor beside another program
    python -m tests.walking --typings 40 --fault rows          with an editor that is wrong, which is convicted

The seeds begin at ``--first``, else at random, and are printed. Exit status: 0 where nothing is wrong.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

from tests.walking.sequences import run_all
from tests.walking.typing_walks import FAULTS, type_all
from tests.walking.walks import ACTIONS, walk_all

CHUNK = 20  # walks of one world: to make a world takes as long as half a walk
T = TypeVar("T")


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.walking", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sequences", type=int, default=0, help="how many sequences of writes")
    parser.add_argument("--served", action="store_true", help="sequences beside another program, on one server")
    parser.add_argument("--walks", type=int, default=0, help="how many random walks")
    parser.add_argument("--actions", type=int, default=ACTIONS, help="actions of one walk")
    parser.add_argument("--cut", default="", help="a kind of page that hears no news, to be convicted")
    parser.add_argument("--typings", type=int, default=0, help="how many walks that type beside another program")
    parser.add_argument(
        "--fault", default="", choices=("", *FAULTS), help="what is wrong with the editor they type into"
    )
    parser.add_argument("--first", type=int, default=random.randrange(10**6), help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args()
    if not asked.walks and not asked.sequences and not asked.typings:
        asked.sequences, asked.walks, asked.typings = 500, 2000, 1000
    print(f"Seeds from {asked.first}", flush=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(asked.jobs, context) as pool:  # its workers may start a process of their own

        def told(what: str, work: Callable[[tuple[list[int], T]], list[Any]], count: int, beside: T) -> int:
            return _told(what, as_completed([pool.submit(work, part) for part in _parts(asked.first, count, beside)]))

        stale = told("sequences", run_all, asked.sequences, (asked.cut, asked.served))
        lost = told("walks", walk_all, asked.walks, asked.actions)
        astray = told("walks that type", type_all, asked.typings, asked.fault)
    return 1 if stale or lost or astray else 0


def _parts(first: int, count: int, beside: T) -> list[tuple[list[int], T]]:
    """Chunks of seeds, each for one world."""
    seeds = range(first, first + count)
    return [(list(seeds[at : at + CHUNK]), beside) for at in range(0, count, CHUNK)]


def _told(what: str, found: Iterable[Future[list[Any]]]) -> int:
    """Print what is wrong as it comes; returns how many were."""
    began, done, wrong = time.monotonic(), 0, 0
    for result in (each for results in found for each in results.result()):
        done += 1
        if done % 30 == 0:
            print(
                f"{done:,} {what} so far, {wrong:,} with something wrong, {time.monotonic() - began:.0f} s", flush=True
            )
        if result.wrong:
            wrong += 1
            print(f"seed {result.seed}, after {result.done[-8:]}:", *result.wrong, sep="\n  ", flush=True)
    if done:
        print(f"{done:,} {what}, {wrong:,} with something wrong, {time.monotonic() - began:.0f} s", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
