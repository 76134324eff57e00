"""Other programs at the same work. Each runs in a process of its own, so that it can be cut off.

They get what they want to have, decoded objects; the time for decoding is not counted against them.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import platformdirs

from tests.benchmarks.timing import best
from tests.benchmarks.workloads import WORKLOADS, Workload

LIMIT = 30  # seconds
NODE_PACKAGES = ("jsondiffpatch", "fast-json-patch")
_SCRIPT = Path(__file__).with_name("peers.mjs")

Docs = tuple[dict[str, Any], ...]


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

    def run(self, peer: str, docs: Docs) -> str:
        """What it takes, in words."""
        data = self.folder / "data.json"
        data.write_text(json.dumps(docs))
        return _outcome(["node", "--stack-size=4000", str(self.folder / _SCRIPT.name), peer, str(data)], None)


def run(peer: str, number: int) -> str:
    """What a peer in Python takes for a workload, in words."""
    if peer != "difflib" and importlib.util.find_spec(peer.lower()) is None:
        return "not installed (pip install palimpsest[bench])"
    root = Path(__file__).parents[2]
    return _outcome([sys.executable, "-m", "tests.benchmarks.peers", peer, str(number)], root)


def _outcome(command: list[str], folder: Path | None) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return f"> {LIMIT} s, cut off"
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1][:60]}"
    return f"{float(done.stdout.split()[-1]):,.3g} ms"


def main() -> None:
    """Measure the peer named by the first argument at the workload with the number that is the second."""
    workload = WORKLOADS[int(sys.argv[2])]
    docs, work = workload.make(), python_peers(workload)[sys.argv[1]]
    print(best(lambda: work(docs)))


if __name__ == "__main__":
    main()
