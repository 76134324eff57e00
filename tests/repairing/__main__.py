"""``python -m tests.repairing``: every class planted, killed, undone; and many schedules beside living writers.

    python -m tests.repairing --runs 10000          all of it: proofs, kills, and so many schedules in all
    python -m tests.repairing --runs 200 --only living --damage residue --seed 17   one schedule, step by step

Exit status: 0 where nothing is lost, everything converges and every careless script is convicted, else 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter

import pymongo.common

from model.localserver import LocalServer
from tests import servers
from tests.repairing.careless import SCRIPTS
from tests.repairing.killing import killed, writes_of
from tests.repairing.living import DAMAGES, Chunk, Result, chunk, homes, run
from tests.repairing.planting import CASES, NAMES
from tests.repairing.proving import prove
from tests.simulation.memory import remember
from tests.simulation.schedule import Crew

CHUNK = 50
CONVICTED = 5.0
"""Percent of the schedules on which a careless script must be found wrong; else the harness proves nothing."""


def living(runs: int, first: int, jobs: int) -> list[str]:
    """Schedules of every kind of damage, and some of each careless script beside them."""
    each = max(1, runs // len(DAMAGES)) + 1
    todo: list[Chunk] = []
    for start in range(first, first + each, CHUNK):
        todo += [(name, range(start, min(start + CHUNK, first + each)), False) for name in DAMAGES]
    todo += [(name, range(first, first + CHUNK * 2), True) for name in SCRIPTS]
    bad: dict[tuple[str, bool], list[Result]] = {}
    count: Counter[tuple[str, bool]] = Counter()
    told: dict[str, Counter[str]] = {name: Counter() for name in DAMAGES}
    wrong: list[str] = []
    with multiprocessing.get_context("spawn").Pool(jobs, remember) as pool:
        for name, careless, results in pool.imap_unordered(chunk, todo):
            count[name, careless] += len(results)
            bad.setdefault((name, careless), []).extend(result for result in results if result.wrong)
            if not careless:
                for result in results:
                    told[name].update(result.told)
                    if result.wrong:
                        print(f"{name}, seed {result.seed}: {result.wrong}", flush=True)
    print(f"--- beside living writers, seeds from {first}")
    for name in DAMAGES:
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in told[name].most_common())
        print(f"{name:22} {count[name, False]:7,} runs {len(bad[name, False]):5,} harmed  {kinds}")
        wrong += [f"{name}, seed {result.seed}: {result.wrong}" for result in bad[name, False][:5]]
    for name in SCRIPTS:
        rate = 100 * len(bad[name, True]) / count[name, True]
        print(f"{name:22} {count[name, True]:7,} runs {rate:4.0f} % harmed by a careless script")
        if rate < CONVICTED:
            wrong.append(f"the careless script for {name} is convicted on {rate:.0f} % only")
    print(f"{sum(n for (_, careless), n in count.items() if not careless):,} runs in all")
    return wrong


def proofs(count: int, kill: bool, only: str) -> list[str]:
    """Every case on both servers under both sets of names; and every case killed at every write."""
    wrong: list[str] = []
    with homes() as home, LocalServer() as local, servers.java_server() as java:
        for case in CASES:
            if only and case.name != only:
                continue
            began = time.monotonic()
            found = [each for uri in (local.uri, java) for n in NAMES for each in prove(case, uri, n, count, home)]
            found = [each for each in found if ": order: " not in each]  # the Java server keeps an order of its own
            kills = 0
            if kill:
                for name in NAMES:
                    for at in range(writes_of(case, local.uri, name, home)):
                        for behind in (False, True):
                            kills += 1
                            found += killed(case, local.uri, name, home / f"k{kills}", at, behind)
                            found += killed(case, local.uri, name, home / f"f{kills}", at, behind, forgotten=True)
                found += killed(case, local.uri, "default", home / "real", 0, True, really=True)
            print(f"{case.name:12} {len(found):3} wrong, {kills:3} kills, {time.monotonic() - began:.1f} s", flush=True)
            wrong += found
    return wrong


def _replay(name: str, seed: int, careless: bool) -> int:
    with homes() as home:
        result = run(name, seed, Crew(4), home, shown=True, careless=careless)
    print(*result.trace, sep="\n")
    print("\n".join(f"WRONG: {wrong}" for wrong in result.wrong) or "sound")
    return 1 if result.wrong else 0


def main() -> int:
    """Run what the command line asks for."""
    pymongo.common.MIN_HEARTBEAT_INTERVAL = 0.02
    parser = argparse.ArgumentParser(prog="python -m tests.repairing", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000, help="schedules beside living writers, in all")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="documents that are planted of each case")
    parser.add_argument("--only", choices=("living", "proofs", "kills"), help="only this part")
    parser.add_argument("--case", default="", help="only this case")
    parser.add_argument("--damage", choices=list(DAMAGES), help="with --seed: the damage of one schedule")
    parser.add_argument("--seed", type=int, help="one schedule, shown step by step")
    parser.add_argument("--careless", action="store_true", help="with --seed: the careless script instead")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args()
    if asked.seed is not None:
        return _replay(asked.damage or "residue", asked.seed, asked.careless)
    wrong: list[str] = []
    if asked.only != "living":
        wrong += proofs(1 if asked.only == "kills" else asked.count, asked.only != "proofs", asked.case)
    if asked.only in (None, "living"):
        wrong += living(asked.runs, asked.first, asked.jobs)
    print("\n".join(f"WRONG: {each}" for each in wrong) or "All is as it must be.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
