"""The rows of ``python -m tests.benchmarks`` on other people's files: consecutive versions from their git histories.

Each pair is compared by us, from BSON bytes, and by fast-json-patch, which aligns nothing: once on decoded objects,
and once from the text, because decoding is part of our time. The clones are searched in a folder (``--clones``) under
their names on GitHub; missing ones are cloned into the cache if the network allows it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import bson

from model.diff import diff
from tests.benchmarks.histories import documents
from tests.benchmarks.peers import Node
from tests.benchmarks.timing import best

FILES = (
    ("stripe/openapi", "openapi/spec3.json", 6),
    ("github/gemoji", "db/emoji.json", 11),
    ("webpack/webpack", "schemas/WebpackOptions.json", 41),
    ("prettier/prettier", "package.json", 41),
)
"""Repository and file, and how many of its newest versions are compared."""
TIMES = 2.0  # those of fast-json-patch on decoded objects, that a comparison may take
PEER = "fast-json-patch"
LIMIT = 120.0  # seconds for one file


@dataclass(frozen=True)
class Pairs:
    """All pairs of one file, in milliseconds: ours, and the peer's without and with decoding."""

    file: str
    count: int
    ours: float
    peer: float
    decoding: float

    @property
    def missed(self) -> list[str]:
        """What is not reached, a sentence each."""
        found = []
        if self.ours > TIMES * self.peer:
            found.append(f"{self.file}: {self.ours / self.peer:.1f} times {PEER}, target {TIMES:g}")
        if self.ours > self.decoding:
            found.append(f"{self.file}: {self.ours:,.1f} ms, {PEER} with decoding {self.decoding:,.1f} ms")
        return found


def clone(repository: str, clones: Path | None, cache: Path) -> Path | str:
    """Where a repository is, or why it cannot be had."""
    if clones is not None and (there := clones / repository).is_dir():
        return there
    place = cache / "clones" / repository
    if not place.is_dir():
        url = f"https://github.com/{repository}.git"
        command = ["git", "clone", "--quiet", "--bare", "--filter=blob:none", "--single-branch", url, str(place)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["git gave no reason"])[-1]
    return place


def measured(node: Node, clones: Path | None, clock: str) -> Iterator[Pairs]:
    """Measure all files, and print each."""
    print("\nversions of real files that follow one another")
    for repository, path, last in FILES:
        file = f"{repository}, {path}"
        where = node.missing or clone(repository, clones, node.folder)
        if isinstance(where, str):
            print(f"    {file} is left out: {where}", flush=True)
            continue
        lines = documents(where, path, 0, sys.maxsize, last)
        raws = [bson.encode(json.loads(line)) for line in lines]
        ours = sum(best(lambda a=a, b=b: diff(a, b), clock, 0.2) for a, b in pairwise(raws))  # type: ignore[misc]
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder) / "versions"
            written.write_text("\n".join(lines))
            took = [node.pairs(peer, written, LIMIT, clock, 0.2) for peer in (PEER, f"{PEER}, decoding")]
        if why := next((each for each in took if isinstance(each, str)), ""):
            print(f"    {file} is left out: {PEER} {why}", flush=True)
            continue
        peer, decoding = (sum(milliseconds for milliseconds, _ in each) for each in took if not isinstance(each, str))
        found = Pairs(file, len(raws) - 1, ours, peer, decoding)
        print(
            f"    {file}: {found.count} pairs, {sum(map(len, raws)) / len(raws) / 1e6:.3f} MB each: {ours:,.2f} ms; "
            f"{PEER} {peer:,.2f} ms, with decoding {decoding:,.2f} ms",
            flush=True,
        )
        yield found
