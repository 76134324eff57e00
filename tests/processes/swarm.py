"""Eight editors, a proxy that cuts, and an audit of the database afterwards by plain PyMongo."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymongo.database
from bson import ObjectId

from model.pipe import Drawn, Pipe
from model.server.retry import Server
from tests import support
from tests.processes.editor import APPLIED, UNKNOWN

ROOT = support.ROOT
DOUBTS = ("lose-request", "lose-reply", "late")
Db = pymongo.database.Database[dict[str, Any]]
Doc = dict[str, Any]


@dataclass
class Told:
    """What the editors were told and the database holds."""

    statuses: Counter[int] = field(default_factory=Counter)
    versions: int = 0
    unknown_in: int = 0
    unknown_out: int = 0
    wire: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def prepare(database: Db, layout: str) -> None:
    """A document of one version."""
    things, past = database["things"], database["things_past"]
    first: Doc = {"title": "shared", "marks": {}}
    if layout == "archive":
        past.create_index([("docId", 1), ("v", 1)], unique=True)
        things.insert_one({"_id": "K-1", **first, "v": 1, "_w": ObjectId()})
    elif layout == "embedded":
        things.insert_one({"_id": "K-1", "current": {"v": 1, "_w": ObjectId(), **first}, "prev": []})
    elif layout == "nested":
        things.insert_one({"_id": "K-1", "v": 1, "_w": ObjectId(), **first})
    else:
        things.create_index([("docId", 1), ("v", 1)], unique=True)
        flag = {"current": True} if layout == "flagged" else {}
        things.insert_one({"docId": "K-1", "v": 1, "_w": ObjectId(), **first, **flag})


def versions(database: Db, layout: str) -> list[Doc]:
    """The versions, oldest first, as they are stored."""
    things = list(database["things"].find())
    if layout == "embedded":
        return [*things[0]["prev"], things[0]["current"]]
    if layout == "nested":
        return [*things[0].get("versions", ()), things[0]]
    if layout == "archive":
        past = list(database["things_past"].find({"v": {"$ne": things[0]["v"]}}))
        return sorted([*past, *things], key=lambda doc: int(doc["v"]))
    found = sorted(things, key=lambda doc: int(doc["v"]))
    if layout == "deltas":
        for before, doc in itertools.pairwise(found):
            doc["marks"] = doc.get("marks", before["marks"])
    return found


def run(
    uri: str, database: Db, layout: str, home: Path, seed: int, processes: int = 8, edits: int = 12, fresh: int = 1
) -> Told:
    """Let the editors work on ``database`` behind a proxy, then audit."""
    prepare(database, layout)
    ns = f"{database.name}.things"
    profile = home / "layouts.toml"
    lines = ["[[collection]]", f'ns = "{ns}"', f'layout = "{layout}"']
    lines += [f'archive = "{ns}_past"'] if layout == "archive" else []
    lines += ['version = "v"'] if layout == "nested" else []
    lines += ['id = "docId"'] if layout in ("versions", "flagged", "deltas") else []
    profile.write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = Told()
    with Server.connect(uri) as server, Pipe(server.dial, Drawn(seed, kinds=DOUBTS)) as proxy:
        through = proxy.uri_like(uri)
        started = [_start(through, ns, profile, home, f"w{number}", edits, fresh) for number in range(processes)]
        attempts = [json.loads(line) for process in started for line in _lines(process)]
        proxy.settle()
        told.wire = proxy.did
    told.statuses = Counter(attempt["status"] for attempt in attempts)
    audit(told, attempts, versions(database, layout))
    return told


def _start(uri: str, ns: str, profile: Path, home: Path, name: str, edits: int, fresh: int) -> subprocess.Popen[str]:
    own = home / name
    own.mkdir()
    environment = os.environ | {"PALIMPSEST_HOME": str(own), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.processes.editor", uri, ns, str(profile), name, str(edits), str(fresh)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    said, _ = process.communicate()
    if process.returncode:
        raise AssertionError(f"an editor ended with {process.returncode}")
    return iter(said.splitlines())


def audit(told: Told, attempts: list[Doc], found: list[Doc]) -> None:
    """Every acknowledged edit began in just one version; numbers are dense; unknown is in or out; the rest is out."""
    told.versions = len(found)
    numbers = [doc["v"] for doc in found]
    if numbers != list(range(1, len(found) + 1)):
        told.wrong.append(f"the versions are {numbers}")
    began: Counter[str] = Counter()
    for before, doc in zip([{"marks": {}}, *found], found, strict=False):
        began.update(set(doc["marks"]) - set(before["marks"]))
        if gone := set(before["marks"]) - set(doc["marks"]):
            told.wrong.append(f"version {doc['v']} lost {sorted(gone)}")
    for attempt in attempts:
        mark, status, times = attempt["mark"], attempt["status"], began.pop(attempt["mark"], 0)
        if status == UNKNOWN and times in (0, 1):
            told.unknown_in += times
            told.unknown_out += 1 - times
        elif times != int(status == APPLIED):
            told.wrong.append(f"{mark} ended with {status} and began in {times} versions: {attempt['said']}")
        if "Traceback" in attempt["said"]:
            told.wrong.append(f"{mark}: {attempt['said']}")
    if began:
        told.wrong.append(f"nobody made {dict(began)}")


def lines(layout: str, told: Told) -> Iterator[str]:
    """What came of it, for people."""
    names = {0: "applied", 1: "conflict", 2: "trouble", 3: "unknown"}
    outcomes = ", ".join(f"{names.get(status, status)} {n}" for status, n in sorted(told.statuses.items()))
    yield f"{layout}: {told.versions} versions; {outcomes}"
    yield f"  of the unknown ones {told.unknown_in} are in and {told.unknown_out} are not"
    yield "  " + ", ".join(f"{what} {n}" for what, n in sorted(told.wire.items()))
    yield from (f"  WRONG: {wrong}" for wrong in told.wrong)
