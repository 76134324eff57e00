"""``python -m tests.counting``: many seeds over every subject, the published forms for comparison, and a replay.

    python -m tests.counting --seeds 4000                  all subjects, that many schedules each
    python -m tests.counting --subject cleanup --seed 17   one schedule, shown step by step

Exit status: 0 where every subject is sound and every published form is convicted, else 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator

from tests.counting.published import PUBLISHED
from tests.counting.subjects import SUBJECTS
from tests.counting.tally import ALL, CONVICTED, CREW, Tally, begin, jobs, work
from tests.simulation.schedule import Crew


def _table(tallies: dict[str, Tally]) -> Iterator[str]:
    yield f"{'subject':52} {'seeds':>8} {'wrong':>7} {'%':>7}  what writers were told"
    for name, made in tallies.items():
        told = ", ".join(f"{kind} {count}" for kind, count in made.kinds.most_common())
        yield f"{name:52} {made.seeds:8} {made.convicted:7} {100 * made.convicted / max(1, made.seeds):7.2f}  {told}"


def _replay(name: str, seed: int) -> int:
    found = ALL[name](seed, Crew(CREW), True)
    print("\n".join(found.trace))
    print("\n".join(f"WRONG: {each}" for each in found.wrong) or "sound")
    return 1 if found.wrong else 0


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.counting", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=4000, help="schedules of each subject; a tenth of the published")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--subject", choices=list(ALL), help="one of them; else all")
    parser.add_argument("--seed", type=int, help="one seed, shown step by step")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args()
    names = [asked.subject] if asked.subject else list(ALL)
    if asked.seed is not None:
        return max(_replay(name, asked.seed) for name in names)
    tallies = {name: Tally() for name in names}
    began = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(asked.jobs, begin) as pool:
        for name, made in pool.imap_unordered(work, jobs(names, asked.first, asked.seeds)):
            tallies[name].join(made)
            if made.wrong and name in SUBJECTS:
                print(f"{name}, seed {made.wrong[0].seed}: {made.wrong[0].wrong}", flush=True)
    print(f"--- {time.monotonic() - began:.0f} s, seeds {asked.first} to {asked.first + asked.seeds - 1}")
    print(*_table(tallies), sep="\n")
    wrong = [f"{name}: {made.wrong[0].wrong}" for name, made in tallies.items() if name in SUBJECTS and made.convicted]
    for name, made in tallies.items():
        if name in PUBLISHED and 100 * made.convicted < CONVICTED * made.seeds:
            wrong.append(f"{name} is wrong on {made.convicted} of {made.seeds} seeds only: the harness sees too little")
    print("\n".join(f"WRONG: {each}" for each in wrong) or "All is as it must be.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
