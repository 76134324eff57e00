"""``python -m tests.benchmarks.merging``: the merge cases, by us and by other programs, in one run.

Each case is merged both ways round and counted as right, as needlessly refused, as silently wrong (a conflict was
merged, or the result differs, including key order), or as right except for lost BSON types. The others get the
documents as relaxed Extended JSON; ours gets BSON. Ends with 1 if ours is not right everywhere.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from model import text
from model.errors import Refused
from model.merge import merge
from tests import support
from tests.benchmarks import peers
from tests.laws.confirming import same

CASES = support.CASES / "merge.json"
VERDICTS = ("right", "needlessly refused", "silently wrong", "types lost")
Sides = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Case:
    """Base, mine and theirs as BSON, and the merged document; None where it is a conflict."""

    name: str
    sides: tuple[bytes, bytes, bytes]
    merged: bytes | None

    def plain(self) -> Sides:
        """What other programs get."""
        base, mine, theirs = (json.loads(text.relaxed(side)) for side in self.sides)
        return base, mine, theirs


class Conflict(Exception):
    """A program says that it cannot merge."""


def cases() -> list[Case]:
    """All cases, each also with the sides changed."""
    found = []
    for case in json.loads(CASES.read_text("utf-8")):
        base, mine, theirs = (text.loose(case[side]) for side in ("base", "mine", "theirs"))
        merged = None if case.get("conflicts") else case["merged"]
        swapped = merged and case.get("merged_swapped", merged)
        found.append(Case(case["name"], (base, mine, theirs), merged and text.loose(merged)))
        found.append(Case(f"{case['name']}, swapped", (base, theirs, mine), swapped and text.loose(swapped)))
    return found


def _nbdime(sides: Sides) -> Any:
    from nbdime.merging.decisions import apply_decisions
    from nbdime.merging.generic import decide_merge

    decisions = decide_merge(*sides)
    if any(decision.conflict for decision in decisions):
        raise Conflict
    return apply_decisions(sides[0], decisions)


def _jsonpatch(sides: Sides) -> Any:
    import jsonpatch

    base, mine, theirs = sides
    return jsonpatch.make_patch(base, mine).apply(theirs)


def _git(sides: Sides) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, side in zip(("base", "mine", "theirs"), sides, strict=True):
            (Path(folder) / name).write_text(json.dumps(side, indent=2, ensure_ascii=False) + "\n", "utf-8")
            names.append(name)
        command = ["git", "merge-file", "-p", "mine", "base", "theirs"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        if done.returncode:
            raise Conflict
        return json.loads(done.stdout)


def _run(work: Callable[[Sides], Any], case: Case) -> Any:
    return work(case.plain())


def verdict(case: Case, work: Callable[[], Any]) -> str:
    """How a program's merge of plain JSON turns out."""
    try:
        merged = work()
    except json.JSONDecodeError:  # what it merged is no JSON any more
        return "silently wrong"
    except Exception:  # refusing has many names
        return "right" if case.merged is None else "needlessly refused"
    if case.merged is None or not same(merged, json.loads(text.relaxed(case.merged))):
        return "silently wrong"
    try:
        exact = text.from_text(json.dumps(merged)) == case.merged
    except Refused:
        exact = False
    return "right" if exact else "types lost"


def ours(case: Case) -> str:
    """How ours turns out, byte for byte."""
    found = merge(*case.sides)
    if found.conflicts:
        return "right" if case.merged is None else "needlessly refused"
    return "right" if found.document() == case.merged else "silently wrong"


def _jsondiffpatch(found: list[Case]) -> list[Callable[[], Any]] | str:
    """The merges by jsondiffpatch, all of them at once; or why there are none."""
    node = peers.Node()
    if node.missing:
        return node.missing
    script = shutil.copy(Path(__file__).with_name("merging.mjs"), node.folder / "merging.mjs")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases"
        file.write_text("\n".join(json.dumps(case.plain()) for case in found), "utf-8")
        done = subprocess.run(["node", script, str(file)], capture_output=True, text=True, check=True)
    return [lambda line=line: json.loads(line)["merged"] for line in done.stdout.splitlines()]  # type: ignore[misc]


def main() -> int:
    """Print the table."""
    found = cases()
    print(f"{len(found)} merges, {len(found) // 2} cases both ways round\n")
    print(f"{'':<30}" + "".join(f"{name:>20}" for name in VERDICTS))

    def row(name: str, verdicts: list[str]) -> None:
        counts = Counter(verdicts)
        print(f"{name:<30}" + "".join(f"{counts[name]:>20}" for name in VERDICTS), flush=True)

    mine = [ours(case) for case in found]
    row("Palimpsest", mine)
    for name, work in (("nbdime", _nbdime), ("jsonpatch", _jsonpatch), ("git on indented JSON", _git)):
        try:
            work(({}, {}, {}))
        except ImportError:
            print(f"{name:<30}not installed (pip install palimpsest[bench])")
            continue
        row(name, [verdict(case, partial(_run, work, case)) for case in found])
    node = _jsondiffpatch(found)
    if isinstance(node, str):
        print(f"{'jsondiffpatch':<30}{node}")
    else:
        row("jsondiffpatch", [verdict(case, one) for case, one in zip(found, node, strict=True)])
    for case, said in zip(found, mine, strict=True):
        if said != "right":
            print(f"    {case.name}: {said}")
    return 0 if set(mine) == {"right"} else 1


if __name__ == "__main__":
    sys.exit(main())
