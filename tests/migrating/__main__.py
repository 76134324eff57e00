"""``python -m tests.migrating``: every pair of layouts, with people at work; killed at every write; and a careless
one.

    python -m tests.migrating --documents 10000      that many documents over all pairs
    python -m tests.migrating --pair versions archive --seed 7

Exit status: 0 where every migration is right and the careless one is convicted, else 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from model.localserver import LocalServer
from tests.migrating.run import Careless, killed, moved
from tests.migrating.scenes import PAIRS


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.migrating", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--documents", type=int, default=1000, help="over all pairs together")
    parser.add_argument("--pair", nargs=2, metavar="LAYOUT")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--kills", type=int, default=10**6, help="at so many writes at most")
    asked = parser.parse_args()
    pairs = [tuple(asked.pair)] if asked.pair else PAIRS
    count = max(3, asked.documents // len(pairs))
    print(f"seed {asked.seed}, {count} documents a pair")
    bad = convicted = 0
    with LocalServer() as server, tempfile.TemporaryDirectory() as home:
        for pair in pairs:
            began = time.monotonic()
            wrong, edits = moved(server.uri, pair, count, asked.seed, Path(home))
            wrong += killed(server.uri, pair, asked.seed, Path(home), asked.kills)
            careless, _ = moved(server.uri, pair, max(count, 20), asked.seed, Path(home), Careless)
            convicted += bool(careless)
            bad += bool(wrong)
            took = time.monotonic() - began
            print(f"{' → '.join(pair):22} {edits:5} edits meanwhile  {len(wrong)} wrong  {took:.1f} s", flush=True)
            for each in wrong[:5]:
                print(f"    {each}")
    print(f"{len(pairs)} pairs, {bad} with something wrong; the careless migration was convicted in {convicted}")
    return 1 if bad or convicted < len(pairs) * 0.8 else 0


if __name__ == "__main__":
    sys.exit(main())
