"""``python -m tests.hosted``: every action on every server that people have, played in this process.

    python -m tests.hosted                                     the whole matrix, some minutes
    python -m tests.hosted --server documentdb-5 --action feed --action scan

Exit status: 0 where each action works or says why not, else 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.hosted.actions import ACTIONS
from tests.hosted.matrix import Verdict, cells
from tests.servers.hosted_server import PROFILES

_SIGNS: dict[Verdict, str] = {"works": "+", "part": "~", "says": "-", "wrong": "WRONG"}


def main() -> int:
    """Run what the command line asks for, and print it as a table with what was said below it."""
    parser = argparse.ArgumentParser(prog="python -m tests.hosted", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--server", action="append", choices=list(PROFILES), help="one of them; else all")
    parser.add_argument("--action", action="append", default=[], help="actions whose names hold this; else all")
    asked = parser.parse_args()
    names = asked.server or list(PROFILES)
    actions = [each for each in ACTIONS if not asked.action or any(part in each.name for part in asked.action)]
    print("+ works   ~ in part, each with its reason   - says why not, and nothing is written\n")
    print(f"{'':24}", *names)
    counts: Counter[Verdict] = Counter()
    sayings: dict[str, list[str]] = {}
    row = []
    for action, name, cell in cells(actions, names):
        counts[cell.verdict] += 1
        row.append(f"{_SIGNS[cell.verdict]:^{len(name)}}")
        if cell.said:
            sayings.setdefault(cell.said, []).append(f"{name}: {action.name}")
        if len(row) == len(names):
            print(f"{action.name:24}", *row, flush=True)
            row = []
    print()
    for said, places in sayings.items():
        print(f"{said[:600]}\n    {'; '.join(places)}")
    print("\n" + ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
