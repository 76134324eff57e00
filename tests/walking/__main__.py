"""``python -m tests.walking``: writes beside every pair of views, and random walks by mouse and key over the sample.

    python -m tests.walking --sequences 500                    two views, a write, and all that is shown compared
    python -m tests.walking --sequences 40 --cut collection    with a view that hears no news, which is convicted

The seeds begin at ``--first``, else at random, and are printed. Exit status: 0 where nothing is wrong.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time

from tests.walking.sequences import run_all

CHUNK = 12


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.walking", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sequences", type=int, default=500, help="how many sequences of writes")
    parser.add_argument("--cut", default="", help="a kind of page that hears no news, to be convicted")
    parser.add_argument("--first", type=int, default=random.randrange(10**6), help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.sequences)
    began, done, wrong = time.monotonic(), 0, 0
    print(f"Seeds from {asked.first}", flush=True)
    parts = [(list(seeds[at : at + CHUNK]), asked.cut) for at in range(0, len(seeds), CHUNK)]
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        for results in pool.imap_unordered(run_all, parts):
            for result in results:
                done += 1
                if result.wrong:
                    wrong += 1
                    print(f"seed {result.seed}, {result.views}, {result.done}:", *result.wrong, sep="\n  ", flush=True)
    print(f"{done:,} sequences, {wrong:,} with something stale or wrong, {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
