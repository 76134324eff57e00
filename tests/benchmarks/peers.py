"""Other programs at the same work, each in a process of its own, so that it can be stopped.

They get decoded objects, as they need them; the time for decoding is not counted against them.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import platformdirs

from tests import support
from tests.benchmarks.timing import BUDGET, CLOCKS, best
from tests.benchmarks.workloads import WORKLOADS, Workload

LIMIT = 30  # seconds
NODE_PACKAGES = ("jsondiffpatch", "fast-json-patch")
NODE_PEERS = (*NODE_PACKAGES, "jsondiffpatch, by position")
_SCRIPT = Path(__file__).with_name("peers.mjs")

Docs = tuple[dict[str, Any], ...]
Pairs: TypeAlias = list[tuple[float, int]]
"""For each pair of documents the milliseconds and how many operations were found."""


def _deepdiff(docs: Docs) -> object:
    import deepdiff

    return deepdiff.DeepDiff(*docs)


def _nbdime(docs: Docs) -> object:
    import nbdime

    return nbdime.diff(*docs)


def _jsondiff(docs: Docs) -> object:
    import jsondiff

    return jsondiff.diff(*docs)


def _dictdiffer(docs: Docs) -> object:
    import dictdiffer

    return list(dictdiffer.diff(*docs))


def _jsonpatch(docs: Docs) -> object:
    import jsonpatch

    return jsonpatch.make_patch(*docs)


def _nbdime_count(op: Any) -> int:
    if op["op"] == "patch":
        return sum(_nbdime_count(inner) for inner in op["diff"])
    return len(op["valuelist"]) if op["op"] == "addrange" else op.get("length", 1)


def _jsondiff_count(found: Any) -> int:
    import jsondiff

    if not isinstance(found, dict):
        return 1
    listed = (jsondiff.symbols.delete, jsondiff.symbols.insert)
    return sum(len(inner) if name in listed else _jsondiff_count(inner) for name, inner in found.items())


def _difflib(docs: Docs) -> object:
    old, new = (doc["text"] for doc in docs)
    return difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def _nbdime_merge(docs: Docs) -> object:
    from nbdime.merging.generic import decide_merge

    return decide_merge(*docs)


DIFFS: dict[str, Callable[[Docs], object]] = {
    "DeepDiff": _deepdiff,
    "nbdime": _nbdime,
    "jsondiff": _jsondiff,
    "dictdiffer": _dictdiffer,
    "jsonpatch": _jsonpatch,
}
COUNTS: dict[str, Callable[[Any], int]] = {
    "DeepDiff": lambda found: sum(map(len, found.values())),
    "nbdime": lambda found: sum(_nbdime_count(op) for op in found),
    "jsondiff": lambda found: _jsondiff_count(found),
    "dictdiffer": lambda found: sum(1 if kind == "change" else len(values) for kind, _, values in found),
    "jsonpatch": lambda found: len(found.patch),
}
MERGES: dict[str, Callable[[Docs], object]] = {"nbdime": _nbdime_merge}
TEXTS: dict[str, Callable[[Docs], object]] = {"difflib": _difflib}


def python_peers(workload: Workload) -> dict[str, Callable[[Docs], object]]:
    """The peers written in Python that can do it."""
    if workload.merged:
        return MERGES
    return TEXTS if "text" in workload.name else DIFFS


class Node:
    """The peers written in JavaScript: their packages are installed into a cache folder when they are first needed."""

    def __init__(self) -> None:
        self.folder = Path(platformdirs.user_cache_dir("palimpsest")) / "benchmarks"
        self.missing = self._install()

    def _install(self) -> str:
        """Why they cannot be had; empty where they can."""
        node, npm = shutil.which("node"), shutil.which("npm")
        if node is None or npm is None:
            return "node or npm is not here"
        if not all((self.folder / "node_modules" / name).is_dir() for name in NODE_PACKAGES):
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "package.json").write_text('{"private": true}\n')
            command = [npm, "install", "--no-audit", "--no-fund", *NODE_PACKAGES]
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
            if done.returncode:
                return f"npm does not install them: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
        # Packages are looked for beside the script.
        shutil.copy(_SCRIPT, self.folder / _SCRIPT.name)
        return ""

    def run(self, peer: str, docs: Docs, clock: str = "wall") -> str:
        """What it takes, in words."""
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data.json"
            data.write_text("\n".join(map(json.dumps, docs)))
            found = self.pairs(peer, data, LIMIT, clock, BUDGET)
        return found if isinstance(found, str) else f"{found[0][0]:,.3g} ms"

    def pairs(self, peer: str, lines: Path, limit: float, clock: str = "wall", budget: float = 0) -> Pairs | str:
        """What it takes for each two neighbours among the documents in a file, one a line; or why there is nothing.

        With a budget of seconds each pair is compared several times, and the fastest counts.
        """
        if self.missing:
            return self.missing
        script = str(self.folder / _SCRIPT.name)
        return _pairs(["node", "--stack-size=4000", script, peer, str(lines), str(budget), clock], self.folder, limit)


def run(peer: str, number: int, clock: str = "wall") -> str:
    """What a peer in Python takes for a workload, in words."""
    found = _python(peer, [str(number), clock], LIMIT)
    return found if isinstance(found, str) else f"{found[0][0]:,.3g} ms"


def pairs(peer: str, lines: Path, limit: float, clock: str = "wall") -> Pairs | str:
    """What a peer in Python takes for each two neighbours among the documents in a file, one a line, all once."""
    return _python(peer, [str(lines), clock], limit)


def _python(peer: str, arguments: list[str], limit: float) -> Pairs | str:
    if peer != "difflib" and importlib.util.find_spec(peer.lower()) is None:
        return "not installed (pip install palimpsest[bench])"
    root = support.ROOT
    return _pairs([sys.executable, "-m", "tests.benchmarks.peers", peer, *arguments], root, limit)


def _pairs(command: list[str], folder: Path, limit: float) -> Pairs | str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"> {limit:g} s, cut off"
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1][:60]}"
    return [(float(time), int(count)) for time, count in map(json.loads, done.stdout.splitlines())]


def main() -> None:
    """Measure the peer that comes first, at the workload of a number, or once at each two lines of a file."""
    name = sys.argv[1]
    if sys.argv[2].isdigit():
        workload = WORKLOADS[int(sys.argv[2])]
        docs, work = workload.make(), python_peers(workload)[name]
        print([best(lambda: work(docs), sys.argv[3]), 0])
        return
    with open(sys.argv[2], encoding="utf-8") as lines:
        old = json.loads(next(lines))
        for line in lines:
            docs = old, json.loads(line)
            start = CLOCKS[sys.argv[3]]()
            found = DIFFS[name](docs)
            took = CLOCKS[sys.argv[3]]() - start
            print([took * 1000, COUNTS[name](found)], flush=True)
            old = docs[1]


if __name__ == "__main__":
    main()
