"""``python -m tests.recognition``: ordinary collections, none of which may be claimed, versioned ones, and shared
ones.

    python -m tests.recognition --ordinary 2000 --versioned 500 --shared 200 --alone 500
    python -m tests.recognition --seed 7           the same databases again

Prints its seed and what was found. Exit status: 0 where no claim is wrong and 95 of 100 versioned ones are recognised,
85 of 100 in which two programs keep versions are doubted, and each that is asked for alone is what it is among all.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time

import pymongo

from model.localserver import LocalServer
from model.server.retry import Server
from tests.recognition import harness


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.recognition", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ordinary", type=int, default=2000, help="collections of ordinary applications")
    parser.add_argument("--versioned", type=int, default=500, help="versioned collections")
    parser.add_argument("--shared", type=int, default=200, help="collections in which two programs keep versions")
    parser.add_argument("--alone", type=int, default=500, help="collections asked for one by one")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    enough = True
    with LocalServer() as local, Server.connect(local.uri) as server, pymongo.MongoClient(local.uri) as client:
        for name, judge, count in (
            ("ordinary", harness.ordinary, asked.ordinary),
            ("versioned", harness.histories, asked.versioned),
            ("shared", harness.shared, asked.shared),
            ("alone", harness.by_itself, asked.alone),
        ):
            began = time.monotonic()
            tally = judge(server, client, itertools.count(asked.seed), count)
            share = harness.DOUBTED if name == "shared" else harness.SHARE
            enough = enough and tally.enough(share)
            per = (time.monotonic() - began) / max(1, tally.collections)
            print(
                f"{name}: {tally.collections:,} collections, {len(tally.wrong)} wrong claims, {per * 1000:.0f} ms each"
            )
            if name != "ordinary":
                print(f"  {'doubted' if name == 'shared' else 'recognised'} {tally.recognised:,} of {count:,}")
            print(f"  {', '.join(f'{layout} {n:,}' for layout, n in sorted(tally.layouts.items()))}")
            for each in (*tally.wrong, *tally.missed):
                print(f"  {each}", flush=True)
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
