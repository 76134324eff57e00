"""``python -m tests.soak``: an hour of all kinds of writes by eight processes, while everything goes wrong that can.

    python -m tests.soak --minutes 20 --processes 4 --seed 17
    python -m tests.soak --minutes 20 --tokens                  where a profile states a write token
    python -m tests.soak --minutes 1 --careless unguarded       the audit has to convict it

Exit status: 0 where nothing is lost and nothing doubled, and journals and database agree; else 1.
"""

from __future__ import annotations

import argparse
import random
import sys
from functools import partial
from pathlib import Path

from tests.soak.careless import PROGRAMS
from tests.soak.conductor import Soak, lines, run


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--careless", choices=list(PROGRAMS), default="", help="workers that are wrong in one respect")
    parser.add_argument("--tokens", action="store_true", help="state a write token for every collection")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between two faults, in the mean")
    parser.add_argument("--writes", type=int, default=0, help="go on until so many writes were acknowledged")
    parser.add_argument("--doubt", type=float, default=0.15, help="the share of writes whose outcome is not told")
    parser.add_argument("--documents", type=int, default=3, help="of each collection, at any time")
    parser.add_argument("--keep", type=Path, help="a folder for homes and ledgers, where something is wrong")
    asked = parser.parse_args()
    soak = Soak(
        seed=asked.seed,
        minutes=asked.minutes,
        processes=asked.processes,
        writes=asked.writes,
        pause=asked.pause,
        doubt=asked.doubt,
        documents=asked.documents,
        careless=asked.careless,
        tokens=asked.tokens,
    )
    print(f"seed {asked.seed}", flush=True)
    told = run(soak, partial(print, flush=True), asked.keep)
    print(*lines(soak, told), sep="\n")
    return int(bool(told.wrong))


if __name__ == "__main__":
    sys.exit(main())
