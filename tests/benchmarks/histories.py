"""``python -m tests.benchmarks.histories REPOSITORY PATH``: all versions of a JSON file, each compared with the next.

Takes a git repository and the path of a file in it. Prints for each program its total time for all pairs of
consecutive versions, the operations it finds, and the pairs that it wrongly calls equal. Ours start from BSON bytes
and are confirmed by an independent comparison. Ends with 1 if a difference is listed wrongly or missing, if a peer
that aligns arrays is faster, or from 100 KB on, if one that does not is faster.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import bson

from model.diff import Diff, diff
from model.values.canonical import Path as Place
from tests.benchmarks import peers
from tests.benchmarks.timing import CLOCKS
from tests.laws.confirming import confirm, same

FEW = {"jsondiffpatch": "elements as wholes", "jsondiffpatch, by position": "without key order"}
"""Whose operations are comparable to ours, and how ours are counted then: it takes an element that changed inside out
and puts another in, or looks inside all elements, and never sees another order of keys."""
ALIGNING = ("DeepDiff", "nbdime", "jsondiff", "jsonpatch", "jsondiffpatch", "jsondiffpatch, by position")
LARGE = 100_000  # bytes from which on ours is faster than those, too, that do not align arrays


def versions(repository: Path, path: str) -> Iterator[bytes]:
    """The contents of the file, newest first; what the repository does not hold is left out."""
    git = ["git", "-C", str(repository)]
    log = [*git, "log", "--format=%H", "--", path]
    commits = subprocess.run(log, capture_output=True, text=True, check=True).stdout.split()
    with subprocess.Popen([*git, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as blobs:
        assert blobs.stdin
        assert blobs.stdout
        for commit in commits:
            blobs.stdin.write(f"{commit}:{path}\n".encode())
            blobs.stdin.flush()
            head = blobs.stdout.readline().split()
            if head[-1] != b"missing":
                yield blobs.stdout.read(int(head[2]) + 1)[:-1]
        blobs.stdin.close()


def documents(repository: Path, path: str, least: int, most: int, last: int) -> list[str]:
    """The versions that are JSON within these sizes and not equal to the one before, as lines of JSON.

    A file that holds no object at the top is put into a field of one.
    """
    found: list[str] = []
    after: Any = None
    for raw in versions(repository, path):
        if len(found) == last:
            break
        if not least <= len(raw) <= most:
            continue
        try:
            value = json.loads(raw)
        except ValueError:
            continue
        value = value if isinstance(value, dict) else {"top": value}
        if after is None or not same(value, after):
            found.append(json.dumps(value, ensure_ascii=False))
        after = value
    found.reverse()
    return found


class Ours:
    """What we find in all pairs, and how long it takes in milliseconds."""

    def __init__(self, lines: list[str]) -> None:
        self.parsing = self.encoding = 0.0
        self.time = math.inf
        self.raws = [self.encoded(line) for line in lines]
        self.found = [diff(a, b) for a, b in pairwise(self.raws)]
        self.grown = [any(op.op == "add" and isinstance(op.path[-1], int) for op in found) for found in self.found]
        self.wrong = [
            f"pair {number}: {what}"
            for number, (old, new) in enumerate(pairwise(map(json.loads, lines)))
            for what in confirm(old, new, self.found[number])
        ]

    def encoded(self, line: str) -> bytes:
        """A version as BSON; notes how long reading and encoding took."""
        start = time.perf_counter()
        value = json.loads(line)
        parsed = time.perf_counter()
        raw = bson.encode(value)
        self.parsing += (parsed - start) * 1000
        self.encoding += (time.perf_counter() - parsed) * 1000
        return raw

    def run(self, clock: str) -> None:
        """Compare all pairs once more."""
        now = CLOCKS[clock]
        start = now()
        for a, b in pairwise(self.raws):
            diff(a, b)
        self.time = min(self.time, (now() - start) * 1000)


class Peer:
    """Another program: ``pairs`` are its figures of the fastest pass, ``why`` says why there are none."""

    def __init__(self, name: str, file: Path, limit: float, node: peers.Node) -> None:
        self.name, self.file, self.limit, self.node = name, file, limit, node
        self.pairs: peers.Pairs = []
        self.time, self.why = math.inf, ""

    def run(self, clock: str) -> None:
        """Compare all pairs once, unless that takes too long to be done again."""
        if self.why or self.limit * 300 < self.time < math.inf:
            return
        source = self.node if self.name in peers.NODE_PEERS else peers
        found = source.pairs(self.name, self.file, self.limit, clock)
        if isinstance(found, str):
            self.why = found
        elif (took := sum(milliseconds for milliseconds, _ in found)) < self.time:
            self.time, self.pairs = took, found


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.histories", description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("path")
    parser.add_argument("--least", type=int, default=0, help="bytes that a version has at least")
    parser.add_argument("--most", type=int, default=sys.maxsize, help="and at most")
    parser.add_argument("--last", type=int, default=sys.maxsize, help="only the last so many versions")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a peer is cut off")
    parser.add_argument("--passes", type=int, default=3, help="over all pairs, of which the fastest counts")
    parser.add_argument("--ours", action="store_true", help="leave the peers out")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="cpu suits a busy machine")
    arguments = parser.parse_args()
    lines = documents(arguments.repository, arguments.path, arguments.least, arguments.most, arguments.last)
    if len(lines) < 2:
        print("There are fewer than two versions to compare.")
        return 2
    sizes = sorted(len(line.encode()) for line in lines)
    print(f"{arguments.path}: {len(lines) - 1:,} pairs, {sizes[0]:,} to {sizes[-1]:,} bytes without white space\n")
    ours = Ours(lines)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "versions"
        file.write_text("\n".join(lines))
        node = peers.Node()
        names = () if arguments.ours else (*peers.NODE_PEERS, *peers.DIFFS)
        others = [Peer(name, file, arguments.limit, node) for name in names]
        for _ in range(arguments.passes):
            ours.run(arguments.clock)
            for peer in others:
                peer.run(arguments.clock)
    missed = shown(ours, others, sizes[len(sizes) // 2] >= LARGE)
    print("Missed:" if missed else "Right, and faster than every peer that it has to be.")
    for line in missed:
        print(f"    {line}")
    return 1 if missed else 0


def shown(ours: Ours, others: list[Peer], large: bool) -> list[str]:
    """Print the table; gives what was missed."""
    print(f"{'':<28} {'in all':>12} {'operations':>12} {'where inserted':>15} {'called equal':>13}")
    missed = ours.wrong[:20]

    def row(name: str, milliseconds: float, counts: list[int]) -> int:
        inserted = sum(count for count, grown in zip(counts, ours.grown, strict=True) if grown)
        print(f"{name:<28} {milliseconds:>9,.0f} ms {sum(counts):>12,} {inserted:>15,} {counts.count(0):>13,}")
        return inserted

    orders = [found.counts().get("reorder", 0) for found in ours.found]
    row("Palimpsest, from BSON", ours.time, [len(found) for found in ours.found])
    seen = [len(found) - order for found, order in zip(ours.found, orders, strict=True)]
    least = {
        "without key order": row("  without key order", ours.time, seen),
        "elements as wholes": row("  elements as wholes", ours.time, list(map(_as_wholes, ours.found))),
    }
    for peer in others:
        if peer.why:
            print(f"{peer.name:<28} {peer.why}")
            continue
        inserted = row(peer.name, peer.time, [count for _, count in peer.pairs])
        if peer.time < ours.time and (large or peer.name in ALIGNING):
            missed.append(f"{peer.name} is faster: {peer.time:,.0f} ms against {ours.time:,.0f}")
        if peer.name in FEW and inserted < least[FEW[peer.name]]:
            missed.append(f"{peer.name} has fewer operations where elements were inserted: {inserted:,}")
    coarse = sum(found.coarse for found in ours.found)
    print(f"\n{sum(orders):,} of ours are another order of keys; {coarse:,} pairs were compared coarsely")
    print(f"Reading the JSON took {ours.parsing:,.0f} ms, encoding it as BSON {ours.encoding:,.0f} ms")
    print(f"{sum(map(len, ours.found)):,} differences compared leaf by leaf: {len(ours.wrong)} wrong or missing")
    return missed


def _as_wholes(found: Diff) -> int:
    """The operations but for key order, where an element of an outermost array that changed inside counts as two."""
    inside: Counter[Place] = Counter()
    for op in found:
        if op.op != "reorder":
            depth = next((n for n, step in enumerate(op.path, 1) if isinstance(step, int)), len(op.path))
            inside[op.path[:depth]] += 1 if depth < len(op.path) else 2**40
    return sum(min(2, count % 2**40) + count // 2**40 for count in inside.values())


if __name__ == "__main__":
    sys.exit(main())
