"""``python -m tests.simulation``: many seeds over every layout, plans and the published protocols; a replay.

    python -m tests.simulation --seeds 100000            all layouts, that many schedules each
    python -m tests.simulation --layout "retaining, archive"  one plan over documents in one layout
    python -m tests.simulation --layout archive --seed 17  one schedule, shown step by step

Exit status: 0 where every layout is sound and every published protocol is convicted, else 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator

from tests.simulation.plans import PLANS
from tests.simulation.published import PROTOCOLS
from tests.simulation.run import run, run_published, subjects
from tests.simulation.schedule import Crew
from tests.simulation.tally import Tally, begin, table, verdict, work

CHUNK = 250


def _jobs(names: list[str], first: int, seeds: int) -> Iterator[tuple[str, range]]:
    for start in range(first, first + seeds, CHUNK):
        for name in names:
            if name in subjects() or len(names) == 1 or start - first < max(1000, seeds // 10):
                yield name, range(start, min(start + CHUNK, first + seeds))


def _replay(subject: str, seed: int) -> int:
    published = {of.name: of for of in PROTOCOLS}
    crew = Crew(4)
    of = published.get(subject)
    if subject in PLANS:
        result = PLANS[subject](subject, seed, crew)
    else:
        result = run_published(of, seed, crew, shown=True) if of else run(subject, seed, crew, shown=True)
    print(f"seed {seed}: {result.about}")
    print("\n".join(result.trace))
    print("\n".join(f"WRONG: {wrong}" for wrong in result.wrong) or "sound")
    return 1 if result.wrong else 0


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--seeds", type=int, default=1000, help="schedules of each layout; a tenth of that of the protocols"
    )
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--layout", help="a layout, or the name of another subject; else all")
    parser.add_argument("--seed", type=int, help="one seed, shown step by step")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args()
    names = [asked.layout] if asked.layout else [*subjects(), *PLANS, *(of.name for of in PROTOCOLS)]
    if asked.seed is not None:
        return max(_replay(name, asked.seed) for name in names)
    tallies = {name: Tally() for name in names}
    began = said_at = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(asked.jobs, begin) as pool:
        for name, made in pool.imap_unordered(work, _jobs(names, asked.first, asked.seeds)):
            tallies[name].join(made)
            if made.wrong and (name in subjects() or name in PLANS):
                print(f"{name}, seed {made.wrong[0].seed}: {made.wrong[0].wrong}", flush=True)
            if time.monotonic() - said_at > 60:
                said_at = time.monotonic()
                print(f"--- after {said_at - began:.0f} s", *table(tallies), sep="\n", flush=True)
    print(f"--- {time.monotonic() - began:.0f} s, seeds {asked.first} to {asked.first + asked.seeds - 1}")
    print(*table(tallies), sep="\n")
    wrong = verdict(tallies)
    print("\n".join(f"WRONG: {each}" for each in wrong) or "All is as it must be.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
