"""The programs that lock: the libraries themselves in processes of their own, and imitations of their rules."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pymongo
from bson import Binary, Int64

from tests.writers.libraries import installed

HERE = Path(__file__).parent
NAMES = ("beanie", "mongoose", "spring")
IMITATED = (*NAMES, "efcore")
"""EF Core is only imitated: its row version, stored as ``_version``, is raised by one and compared by each save."""
LOST = {
    "efcore": "DbUpdateConcurrencyException",
    "beanie": "RevisionIdWasChanged",
    "mongoose": "VersionError",
    "spring": "OptimisticLockingFailureException",
}
"""What a save is told that another write has overtaken."""
FIELD = {"efcore": "_version", "beanie": "revision_id", "mongoose": "__v", "spring": "version"}


class Locker(Protocol):
    """A program with several users, each of whom holds the item that was read last."""

    def create(self, id: str, skus: Sequence[str]) -> None:
        """Make an item with a line for each sku."""

    def read(self, who: str, id: str) -> None:
        """Let one of its users read an item."""

    def save(self, who: str, sku: str) -> str:
        """Raise the quantity of a line by one in what was read, and save that: ``saved``, or an error's name first."""


class Process:
    """A library in a process of its own, which takes a command a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def _ask(self, *words: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip() or "it has ended"

    def _do(self, *words: str) -> None:
        if (said := self._ask(*words)) != "done":
            raise RuntimeError(f"{words[0]}: {said}")

    def create(self, id: str, skus: Sequence[str]) -> None:
        self._do("create", id, *skus)

    def read(self, who: str, id: str) -> None:
        self._do("read", who, id)

    def save(self, who: str, sku: str) -> str:
        return self._ask("save", who, sku)


@contextmanager
def started(name: str, uri: str) -> Iterator[Process]:
    """A library over a server on a port, installed from its registry the first time."""
    home = HERE / name
    modules = installed(home)
    if (home / "pom.xml").exists():
        command = ["java", "-Xmx256m", "-cp", str(modules / "*"), str(home / "Act.java")]
    elif (home / "requirements.txt").exists():
        command = [str(modules / "bin" / "python"), str(home / "act.py")]
    else:
        command = ["node", str(home / "act.cjs")]
    env = {**os.environ, "MONGO": uri.replace("/?", "/shop?"), "MODULES": str(modules)}
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            if (said := process.stdout.readline().strip()) != "ready":
                raise RuntimeError(f"{name} does not begin: {said}")
            yield Process(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


@dataclass
class Imitation:
    """The rules of a library, by plain PyMongo: what judges the judge where no library can be installed."""

    name: str
    items: Any
    held: dict[str, dict[str, Any]] = field(default_factory=dict)

    def create(self, id: str, skus: Sequence[str]) -> None:
        lines = [{"sku": sku, "qty": 0} for sku in skus]
        self.items.insert_one({"_id": id, "title": "new", "lines": lines, **_first_lock(self.name)})

    def read(self, who: str, id: str) -> None:
        self.held[who] = self.items.find_one({"_id": id})

    def save(self, who: str, sku: str) -> str:
        item, lock = self.held[who], FIELD[self.name]
        at = next(n for n, line in enumerate(item["lines"]) if line["sku"] == sku)
        item["lines"][at]["qty"] += 1
        where = {"_id": item["_id"], lock: item[lock]}
        if self.name == "efcore":
            change = {"$set": {"lines": item["lines"], lock: Int64(item[lock] + 1)}}
            done = self.items.update_one(where, change).matched_count
        elif self.name == "mongoose":
            change = {"$set": {f"lines.{at}.qty": item["lines"][at]["qty"]}}
            done = self.items.update_one(where, change).matched_count
        else:
            item[lock] = Int64(item[lock] + 1) if self.name == "spring" else Binary(uuid.uuid4().bytes, 4)
            done = self.items.replace_one(where, item).matched_count
        return "saved" if done else LOST[self.name]


def _first_lock(name: str) -> dict[str, Any]:
    """The lock of a new item, with what stands beside it."""
    match name:
        case "efcore":
            return {"_version": Int64(1)}
        case "mongoose":
            return {"__v": 0}
        case "spring":
            return {"version": Int64(0), "_class": "shop.Item"}
    return {"revision_id": Binary(uuid.uuid4().bytes, 4)}


@contextmanager
def imitated(name: str, uri: str) -> Iterator[Imitation]:
    """An imitation over a server."""
    with pymongo.MongoClient[dict[str, Any]](uri) as client:
        yield Imitation(name, client["shop"]["items"])
