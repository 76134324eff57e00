"""``python -m tests.benchmarks``: every workload, with our and the peers' figures in one run, and how costs grow.

``--ours`` leaves the peers out; ``--clock cpu`` counts the processor's time, for a machine that others use too;
numbers choose workloads, and leave out the rest; ``--page`` writes the manual's page on what grows; ``--clones`` is a
folder with git clones of the real files. The yardsticks are ``memcmp`` over equal bytes and ``bson.decode`` of all that
is compared. Starts and silences of the window follow where Xvfb is, beside ``--peer PROGRAM``; what they need says
:mod:`tests.benchmarks.starting`. Ends with 1 where a target was missed.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import bson

from model.diff import diff
from model.merge import merge
from tests.benchmarks import page, peers, rates, real_files, scale, starting, volumes
from tests.benchmarks.timing import CLOCKS, best, peak
from tests.benchmarks.workloads import WORKLOADS, Workload
from tests.support import ROOT


def ours(workload: Workload, raws: list[bytes]) -> Callable[[], object]:
    """The work from bytes to operations, or to the merged bytes."""
    if workload.merged:
        base, mine, theirs = raws
        return lambda: merge(base, mine, theirs).document()
    a, b = raws
    return lambda: diff(a, b)


def measure(workload: Workload, clock: str) -> list[str]:
    """Measure ours, print it, and say what was missed."""
    raws = [bson.encode(doc) for doc in workload.make()]
    work = ours(workload, raws)
    same = bytes(bytearray(raws[0]))
    memcmp, decode = best(lambda: raws[0] == same, clock), best(lambda: list(map(bson.decode, raws)), clock)
    missed: list[str] = []

    def against(figure: float, target: float | None, unit: str) -> str:
        if target is None:
            return f"{figure:,.3g}{unit}"
        met = figure <= target
        if not met:
            missed.append(f"{workload.name}: {figure:.3g}{unit}, target {target:g}{unit}")
        return f"{figure:,.3g}{unit} (target {target:g}{unit}, {'met' if met else 'MISSED'})"

    time = best(work, clock)
    yardsticks = f"memcmp {memcmp:.3g} ms, bson.decode of {'all' if workload.merged else 'both'} {decode:.3g} ms"
    print(f"\n{workload.name} — {len(raws[0]) / 1e6:,.3f} MB, {yardsticks}")
    print(f"    {'Palimpsest':<16} {against(time, workload.milliseconds, ' ms')}")
    print(f"    {'  to memcmp':<16} {time / memcmp:,.3g} times")
    print(f"    {'  to decoding':<16} {against(time / decode, workload.ratio, ' times')}")
    print(f"    {'  memory':<16} {against(peak(work), workload.megabytes, ' MB')}")
    if not workload.merged:
        found = diff(*raws)
        note = " (coarse)" if found.coarse else ""
        print(f"    {'  operations':<16} {len(found):,}{note}")
        if workload.operations is not None and len(found) != workload.operations:
            missed.append(f"{workload.name}: {len(found)} operations instead of {workload.operations}")
    return missed


def silences(peer: str) -> list[str]:
    """Measure for how long the window is silent, in a process of its own, and say whether it was too long."""
    print(flush=True)
    words = [sys.executable, "-m", "tests.benchmarks.silences", *(["--peer", peer] if peer else [])]
    return ["silences of the window"] if subprocess.run(words, cwd=ROOT, check=False).returncode else []


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--ours", action="store_true", help="leave the peers out")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="cpu suits a busy machine")
    parser.add_argument("--page", action="store_true", help="write the manual's page How fast from what grows, alone")
    parser.add_argument("--clones", type=Path, help="a folder with clones, such as DIR/stripe/openapi")
    starting.add_peer(parser)
    parser.add_argument("numbers", nargs="*", type=int, help=f"workloads, 0 to {len(WORKLOADS) - 1}; all by default")
    arguments = parser.parse_args()
    print(
        f"Python {platform.python_version()}, {platform.machine()}; the best of several runs, peers on decoded objects"
    )
    node = None if arguments.ours or arguments.page else peers.Node()
    if node is not None and node.missing:
        print(f"{' and '.join(peers.NODE_PACKAGES)} are left out: {node.missing}")
    missed: list[str] = []
    for number in arguments.numbers or (() if arguments.page else range(len(WORKLOADS))):
        workload = WORKLOADS[number]
        missed += measure(workload, arguments.clock)
        if node is None:
            continue
        for peer in peers.python_peers(workload):
            print(f"    {peer:<16} {peers.run(peer, number, arguments.clock)}", flush=True)
        for peer in () if workload.merged or node.missing else peers.NODE_PACKAGES:
            print(f"    {peer:<16} {node.run(peer, workload.make(), arguments.clock)}", flush=True)
    if not arguments.numbers:
        files = [] if node is None else list(real_files.measured(node, arguments.clones, arguments.clock))
        growths, read = list(scale.measured(arguments.clock)), list(rates.measured(arguments.clock))
        large = [] if arguments.page else list(volumes.measured(arguments.clock))
        started = starting.measured(arguments.peer)
        missed += [line for each in (*files, *growths, *read, *large, started) for line in each.missed]
        if arguments.page:
            page.write(growths, read, started, arguments.clock)
        elif started.starts:
            missed += silences(arguments.peer)
    print("\nMissed:" if missed else "\nEvery target is met.")
    for line in missed:
        print(f"    {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
