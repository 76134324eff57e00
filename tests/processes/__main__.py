"""``python -m tests.processes``: eight processes edit one document while a proxy cuts their connections.

Exit status: 0 if the audit confirms what every process was told, else 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

import pymongo

from tests.processes.swarm import lines, run
from tests.servers import java_server

LAYOUTS = ("archive", "versions", "flagged", "embedded", "nested", "deltas")


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.processes", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--layout", choices=LAYOUTS, help="one layout; else all")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--edits", type=int, default=40, help="edits of each process")
    parser.add_argument("--fresh", type=int, default=2, help="edits of each process that start a process of their own")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31), help="for the proxy's cuts")
    asked = parser.parse_args()
    wrong = False
    with java_server() as uri, pymongo.MongoClient(uri) as client:
        for layout in (asked.layout,) if asked.layout else LAYOUTS:
            with tempfile.TemporaryDirectory() as home:
                told = run(
                    uri,
                    client[f"swarm_{layout}"],
                    layout,
                    Path(home),
                    asked.seed,
                    asked.processes,
                    asked.edits,
                    asked.fresh,
                )
            print(f"seed {asked.seed}", *lines(layout, told), sep="\n", flush=True)
            wrong = wrong or bool(told.wrong)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
