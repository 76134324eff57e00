"""The attack of a server that answers badly: each kind of lie, to each command that reads or writes.

A command must end in time and in little memory, with one sentence if it fails; no thread may die of an answer.
"""

from __future__ import annotations

import contextlib
import io
import random
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bson
import pymongo

from model.commands import command_line
from tests.hostile.damaged_homes import lived_in, maxrss
from tests.model import session_scenes
from tests.servers.lying import GREETING, Lie, LyingServer, damaged, in_cursor, raw, rows, saying, without_end

NS = "shop.contracts"
SLOW = 60  # seconds on a busy machine; a server that lies may waste its reader's time, and not for ever
INTRODUCED = 2  # lines of an error; a check says first where it measures
ROOM = 400 << 20  # bytes
EVIL = "\x1b[2J\x1b]0;taken\x07\u202e"
ODD: Mapping[str, Any] = {
    "a text": "x",
    "an object": {},
    "an array": [7],
    "a negative number": -1,
    "a large number": bson.Int64(2**62),
    "a fraction without value": float("nan"),
    "an endless fraction": float("inf"),
    "nothing": None,
    "a long text": "x" * (4 << 20),
    "commands to a terminal": EVIL,
    "bytes": b"\xff",
    "missing": ...,
}
GREETED = (
    *("maxWireVersion", "minWireVersion", "maxBsonObjectSize", "maxMessageSizeBytes", "maxWriteBatchSize", "ok"),
    *("logicalSessionTimeoutMinutes", "setName", "hosts", "me", "primary", "topologyVersion", "isWritablePrimary"),
    *("compression", "saslSupportedMechs", "setVersion", "electionId", "lastWrite", "tags", "readOnly", "$clusterTime"),
)
FIELDS: Mapping[str, Sequence[str]] = {
    GREETING: GREETED,
    "ping": ("ok", "$clusterTime", "operationTime"),
    "buildInfo": ("ok", "version", "versionArray"),
    "listDatabases": ("ok", "databases"),
    "listCollections": ("ok", "cursor"),
    "listIndexes": ("ok", "cursor"),
    "find": ("ok", "cursor", "$clusterTime"),
    "aggregate": ("ok", "cursor"),
    "count": ("ok", "n"),
    "update": ("ok", "n", "nModified", "upserted", "writeErrors", "writeConcernError"),
    "findAndModify": ("ok", "value", "lastErrorObject"),
    "insert": ("ok", "n", "writeErrors"),
}
CURSOR = ("id", "ns", "firstBatch")
NAMES = (7, None, {}, "", " ", ".", "a.b", "a b", "a/b", "a\0b", "$a", "x" * 70_000, EVIL, "\ud83d", b"\xff")
INVALID = bson.encode({"_id": 1, "a": "text"})


def _named(name: Any) -> dict[str, Any]:
    return {"name": name} if name != "\ud83d" else {"name": bson.Binary(b"\xed\xa0\x80")}


def lies() -> Iterator[tuple[str, str, Lie]]:
    """Each lie with its name and the command that is answered so."""
    for command, fields in FIELDS.items():
        for field in fields:
            for kind, value in ODD.items():
                yield f"{field} is {kind}", command, saying(**{field: value})
    for command in ("listCollections", "listIndexes", "find", "aggregate"):
        for field in CURSOR:
            for kind, value in ODD.items():
                if value is not ...:
                    yield f"cursor.{field} is {kind}", command, in_cursor(**{field: value})
        yield "the rows are numbers", command, rows(1, 2, 3)
        yield "the rows are empty", command, rows({}, {})
        yield "there are many rows", command, rows(*({"_id": n, "name": f"n{n}"} for n in range(2_000)))
    for name in NAMES:
        yield f"a database is called {name!a:.30}", "listDatabases", saying(databases=[_named(name), {"name": "shop"}])
        yield f"a collection is called {name!a:.30}", "listCollections", rows(_named(name), _named("contracts"))
        yield f"an index is called {name!a:.30}", "listIndexes", rows({"key": {"_id": 1}, **_named(name)})
    yield "many databases", "listDatabases", saying(databases=[{"name": f"d{n}"} for n in range(20_000)])
    for kind, value in ODD.items():
        if value is not ...:
            yield f"the key of an index is {kind}", "listIndexes", rows({"key": value, "name": "x"})
            yield f"a database is {kind}", "listDatabases", saying(databases=[value])
            yield f"options are {kind}", "listCollections", rows({"name": "contracts", "options": value, "type": value})
    for number in (0, 1, 1000):
        for command in ("find", "aggregate", "listCollections", "listIndexes"):
            yield f"a cursor without end, {number} rows in each answer", f"{command} getMore", without_end(number)
    for said, answer in (
        ("nothing", b""),
        ("cut off", INVALID[:-3]),
        ("too long a length", (1 << 30).to_bytes(4, "little") + INVALID[4:]),
        ("too long a text", INVALID.replace(b"\5\0\0\0text", b"\xff\xff\xff\x7ftext")),
        ("an unknown type", INVALID.replace(b"\2a", b"\x66a")),
        ("deep", bson.encode({"ok": 1}).replace(b"\x05\0\0\0\0", b"")),
    ):
        yield f"the answer is {said}", "*", raw(answer)
    for at in (1, 2, 5, 9, 17, 40):
        for byte in (0, 1, 3, 255):
            yield f"byte {-at} is {byte}", "*", damaged(at, byte)
    for kind, value in ODD.items():
        yield f"an error with {kind}", "*", saying(ok=0.0, errmsg=value, code=value, codeName=value)
    for kind, value in ODD.items():
        yield (
            f"an error 11000 with {kind}",
            "*",
            saying(ok=0.0, errmsg="no", code=11000, keyPattern=value, keyValue=value),
        )


def commands(uri: str) -> list[list[str]]:
    """What is asked of the server."""
    return [
        ["collections", uri],
        ["history", uri, NS, "K-1"],
        ["diff", uri, NS, "K-1", "1", "2"],
        ["edit", uri, NS, "K-2", "--set", "steps=9"],
        ["scan", uri, "shop"],
        ["activity", uri, "shop"],
        ["check", uri, "--quick"],
    ]


class TooSlow(BaseException):
    """A command took too long."""


@dataclass(frozen=True)
class Case:
    """A lie, and what is asked of the server that tells it."""

    name: str
    command: str
    lie: Lie
    asked: int

    def faults(self, server: LyingServer, died: list[str]) -> Iterator[str]:
        """What is wrong after the command has ended."""
        server.lies = dict.fromkeys(self.command.split(), self.lie)
        uri = f"{server.uri}&serverSelectionTimeoutMS=3000&socketTimeoutMS=5000&connectTimeoutMS=3000"
        words = commands(uri)[self.asked]
        out, err = io.StringIO(), io.StringIO()
        before, began = maxrss(), time.monotonic()
        try:
            with limited(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = command_line.main(words)
        except TooSlow:
            status = None
        finally:
            server.lies = {}
        said = err.getvalue().strip()
        if status is None:
            yield "does not end"
        elif status == 2 and (len(said.splitlines()) > INTRODUCED or not said.endswith((".", "?")) or len(said) > 2000):
            yield f"no sentence: {said[:300]!a}"
        if "defect" in said or "Traceback" in said:
            yield f"{said[:300]!a}"
        if "\x1b" in said + out.getvalue():
            yield "commands to the terminal"
        if time.monotonic() - began > SLOW:
            yield f"took {time.monotonic() - began:.0f} s"
        if maxrss() - before > ROOM:
            yield f"grew by {(maxrss() - before) >> 20} MB"
        while died:
            yield f"a thread died: {died.pop()}"

    def __str__(self) -> str:
        return f"{self.command}: {self.name}, {commands('')[self.asked][0]}"


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """End what takes too long."""

    def end(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(SLOW)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def cases() -> list[Case]:
    """Every lie with every command."""
    return [Case(name, command, lie, at) for name, command, lie in lies() for at in range(len(commands("")))]


def faults(chosen: Sequence[Case], folder: Path) -> Iterator[str]:
    """What is wrong with each case."""
    died: list[str] = []
    before = threading.excepthook
    threading.excepthook = lambda told: died.append(f"{told.thread and told.thread.name}: {told.exc_type.__name__}")
    try:
        with lived_in(folder), LyingServer() as server:
            with pymongo.MongoClient[dict[str, Any]](server.uri) as client:
                session_scenes.archive(client["shop"])
            for case in chosen:
                yield from (f"{case}: {each}" for each in case.faults(server, died))
    finally:
        threading.excepthook = before


def attack(folder: Path, number: int | None = None, seed: int = 1) -> list[str]:
    """What is wrong with all cases, or with so many that are drawn."""
    every = cases()
    return [*faults(every if number is None else random.Random(seed).sample(every, number), folder)]
