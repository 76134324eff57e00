"""``python -m tests.hosted``: every action on every server that people use, simulated in this process.

    python -m tests.hosted                                     the whole matrix, some minutes
    python -m tests.hosted --server documentdb-5 --action feed --action scan
    python -m tests.hosted --kept matrix.jsonl                 in pieces: a run that was stopped goes on

Exit status: 0 where each action works or says why not, 130 where it was stopped, else 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.hosted.actions import ACTIONS, Action
from tests.hosted.matrix import Cell, Verdict, cells
from tests.servers.hosted_server import PROFILES

_SIGNS: dict[Verdict, str] = {"works": "+", "part": "~", "says": "-", "wrong": "WRONG"}


def rows(actions: Sequence[Action], names: Sequence[str], kept: Path | None) -> Iterator[tuple[Action, list[Cell]]]:
    """Each action with its cells: those that a file keeps are not run again, save wrong ones; new ones join it."""
    known: dict[tuple[str, str], Cell] = {}
    for line in kept.read_text("utf-8").splitlines() if kept and kept.exists() else ():
        action, name, verdict, said = json.loads(line)
        known[action, name] = Cell(verdict, said)
    for each in actions:
        open_cells = [name for name in names if known.get((each.name, name), Cell("wrong")).verdict == "wrong"]
        for _, name, cell in cells([each], open_cells):
            known[each.name, name] = cell
            if kept:
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([each.name, name, cell.verdict, cell.said]) + "\n")
        yield each, [known[each.name, name] for name in names]


def main() -> int:
    """Run what the command line asks for, and print it as a table with what was said below it."""
    parser = argparse.ArgumentParser(prog="python -m tests.hosted", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--server", action="append", choices=list(PROFILES), help="one of them; else all")
    parser.add_argument("--action", action="append", default=[], help="actions whose names hold this; else all")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="a file of verdicts that are not asked for again")
    asked = parser.parse_args()
    names = asked.server or list(PROFILES)
    actions = [each for each in ACTIONS if not asked.action or any(part in each.name for part in asked.action)]
    print("+ works   ~ in part, each with its reason   - says why not, and nothing is written\n")
    print(f"{'':24}", *names)
    counts: Counter[Verdict] = Counter()
    sayings: dict[str, list[str]] = {}
    stopped = False
    try:
        for action, row in rows(actions, names, asked.kept):
            signs = (f"{_SIGNS[cell.verdict]:^{len(name)}}" for name, cell in zip(names, row, strict=True))
            print(f"{action.name:24}", *signs, flush=True)
            for name, cell in zip(names, row, strict=True):
                counts[cell.verdict] += 1
                if cell.said:
                    sayings.setdefault(cell.said, []).append(f"{name}: {action.name}")
    except KeyboardInterrupt:
        stopped = True
    print()
    for said, places in sayings.items():
        print(f"{said[:600]}\n    {'; '.join(places)}")
    print("\n" + ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common()))
    if stopped:
        print("Stopped; with --kept the next run goes on from here." if asked.kept else "Stopped.")
        return 130
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
