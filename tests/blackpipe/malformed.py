"""Malformed replies: named shapes and mutated bytes, on every path that reads or writes.

Whatever arrives, nothing crashes or hangs, memory stays bounded, and a person gets a sentence.
"""

from __future__ import annotations

import random
import resource
import struct
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import bson

from model.errors import Refused
from model.localserver import wire
from model.session import Session
from model.values.canonical import Value
from tests.blackpipe.cases import in_a_hurry
from tests.blackpipe.operations import Operation, operations
from tests.blackpipe.pipe import ALWAYS, Plan
from tests.blackpipe.scenes import DB, ID, NS, STATS, Ground, ground

LIMIT = 20.0  # seconds for anything at all, on a busy machine too; whoever forgot a limit would wait for thirty
ROOM = 768 << 20  # bytes that the process may grow by: ten sessions, and a message of at most 48 MB for each of them
Shape = Callable[[bytes, random.Random], bytes]


def _document(reply: bytes, document: bytes) -> bytes:
    """The reply with another document in it."""
    return struct.pack("<i", 21 + len(document)) + reply[4:21] + document


def _with(**fields: Any) -> Shape:
    return lambda reply, rng: _document(reply, wire.pack(**fields))


def _changed(**fields: Any) -> Shape:
    """The reply with some fields as they should not be, and without those that are None."""

    def shape(reply: bytes, rng: random.Random) -> bytes:
        said = bson.decode(reply[21:]) | fields
        return _document(reply, bson.encode({name: value for name, value in said.items() if value is not None}))

    return shape


def _length(number: int) -> Shape:
    return lambda reply, rng: struct.pack("<i", number) + reply[4:]


def _nested(reply: bytes, rng: random.Random) -> bytes:
    inner = b"\x05\x00\x00\x00\x00"
    for _ in range(5000):
        inner = struct.pack("<i", len(inner) + 8) + b"\x03a\x00" + inner + b"\x00"
    return _document(reply, inner)


def _bomb(reply: bytes, rng: random.Random) -> bytes:
    """Compressed where nothing was agreed upon, and a thousand times as large as it says."""
    squeeze, nothing = zlib.compressobj(1), bytes(1 << 20)
    body = b"".join(squeeze.compress(nothing) for _ in range(200)) + squeeze.flush()
    head = struct.pack("<iiB", 2013, 100, 2)
    return struct.pack("<i", 16 + len(head) + len(body)) + reply[4:12] + struct.pack("<i", 2012) + head + body


SHAPES: dict[str, Shape] = {
    "nothing but a header": lambda reply, rng: reply[:16],
    "a length of 0": _length(0),
    "a negative length": _length(-1),
    "a length of 2 GB": _length(2**31 - 1),
    "a length just within the limit": _length(47_000_000),
    "one byte short": lambda reply, rng: struct.pack("<i", len(reply) - 1) + reply[4:-1],
    "another opcode": lambda reply, rng: reply[:12] + struct.pack("<i", 4242) + reply[16:],
    "an old OP_REPLY": lambda reply, rng: reply[:12] + struct.pack("<i", 1) + reply[16:],
    "flags that nobody knows": lambda reply, rng: reply[:16] + b"\xff\x00\x00\x00" + reply[20:],
    "a section of a kind that is not": lambda reply, rng: reply[:20] + b"\x09" + reply[21:],
    "a document longer than its message": lambda reply, rng: reply[:21] + struct.pack("<i", 2**30) + reply[25:],
    "a document without its end": lambda reply, rng: reply[:-1] + b"\x01",
    "a name that is not UTF-8": lambda reply, rng: _document(reply, b"\x0a\x00\x00\x00\x0a\xff\xfe\x00\x00\x00"),
    "an empty document": _with(),
    "ok that is a word": _changed(ok="yes"),
    "an error without words": _with(ok=0.0),
    "an error whose code is a word": _with(ok=0.0, errmsg="no", code="eleven"),
    "a cursor that is a number": _changed(cursor=7, ok=1.0),
    "a batch that is not a list": _changed(cursor={"id": 0, "ns": "a.b", "firstBatch": "none", "nextBatch": 3}),
    "a cursor of another type": _changed(cursor={"id": "x", "ns": 5, "firstBatch": [], "nextBatch": []}),
    "counts that are words": _changed(n="one", nModified="one"),
    "write errors that are not a list": _changed(writeErrors=7),
    "write errors without codes": _changed(writeErrors=[{}]),
    "a write concern error that is a word": _changed(writeConcernError="late"),
    "5,000 documents, each in the next": _nested,
    "200 MB in 200 KB": _bomb,
    "another protocol": lambda reply, rng: b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
}


def mutated(reply: bytes, rng: random.Random) -> bytes:
    """A reply with some of its bytes changed."""
    out = bytearray(reply)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(out)) if out else 0
        match rng.randrange(6):
            case 0:
                out[at : at + 1] = rng.randbytes(1)
            case 1:
                number = rng.choice((0, -1, 1, 5, 2**31 - 1, -(2**31), rng.getrandbits(31)))
                out[at : at + 4] = struct.pack("<i", number)
            case 2:
                del out[at : at + rng.randrange(1, 20)]
            case 3:
                out[at:at] = rng.randbytes(rng.randrange(1, 20))
            case 4:
                out[at:at] = out[max(0, at - 30) : at]
            case 5:
                out[at : at + 1] = bytes([out[at] ^ (1 << rng.randrange(8))]) if out else b"\x00"
    if rng.random() < 0.7 and len(out) >= 16:  # past the first check of lengths
        out[:4], out[8:12] = struct.pack("<i", len(out)), reply[8:12]
    return bytes(out)


@dataclass(frozen=True)
class Path:
    """Something that reads or writes, and on which layout."""

    layout: str
    name: str
    act: Callable[[Ground, Any], object]
    operation: Operation | None = None


def paths() -> list[Path]:
    """Every way in which the product speaks to a server."""
    found = [Path(each.layout, each.name, each.act, each) for each in operations() if not each.numbering]
    for layout in ("archive", "versions", "embedded", "deltas"):
        found += [
            Path(layout, "databases", lambda at, _: at.session.catalogue.databases()),
            Path(layout, "collections", lambda at, _: list(at.session.catalogue.collections(DB))),
            Path(layout, "documents", lambda at, _: at.session.documents.page(NS, "{hits: 3}", "hits")),
            Path(layout, "count", lambda at, _: at.session.documents.count(NS)),
            Path(layout, "find an id", lambda at, _: at.session.documents.find_id(NS, "K-1")),
            Path(layout, "history", lambda at, _: list(at.session.history.versions(NS, ID))),
            Path(layout, "outlines", lambda at, _: list(at.session.documents.outlines(NS, [ID]))),
            Path(layout, "compare", lambda at, _: at.session.history.compare(NS, ID, Value.of(1), None)),
            Path(layout, "blame", lambda at, _: at.session.history.blame(NS, ID)),
            Path(layout, "open", lambda at, _: at.session.writing.open(NS, ID)),
            Path(layout, "facts", lambda at, _: at.session.refresh_facts()),
        ]
    found.append(Path("pending", "list tokens", lambda at, _: list(at.session.tokens.pending(STATS))))
    found.append(
        Path("archive", "connect", lambda at, _: Session.open(at.session._connection.opened.server._uri).close())
    )
    return found


class Threads:
    """Errors that threads of the driver died of; a person would see their tracebacks."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    def __enter__(self) -> Threads:
        self._before, threading.excepthook = threading.excepthook, self._note
        return self

    def __exit__(self, *_: object) -> None:
        threading.excepthook = self._before

    def _note(self, died: threading.ExceptHookArgs) -> None:
        self.errors.append(f"{died.thread and died.thread.name}: {died.exc_type.__name__}: {died.exc_value}")


def trouble(path: Path, at: Ground, given: object, plan: Plan) -> tuple[str, list[str]]:
    """Run one path over one plan; what was told, and what is wrong."""
    at.again()
    at.pipe.plan = plan
    plan.greetings = path.name == "connect"
    began, wrong = time.monotonic(), []
    try:
        path.act(at, given)
        told = "nothing"
    except Refused as error:
        told = str(error)
        if not told.endswith((".", ":", "?")) or "\n" in told or len(told) > 900:
            wrong.append(f"no sentence: {told!r}")
    except Exception as error:
        told = "crashed"
        wrong.append(f"{type(error).__name__}: {error}")
    took = time.monotonic() - began
    at.pipe.plan = Plan()
    if took > LIMIT:
        wrong.append(f"took {took:.1f} s")
    return told, wrong


class Bench:
    """The paths, each with its ground, made when it is first needed."""

    def __init__(self, rooms: ExitStack) -> None:
        self._rooms = rooms
        self._grounds: dict[str, Ground] = {}
        self._kept: dict[tuple[str, str], tuple[Any, Any, int]] = {}

    def ready(self, path: Path) -> tuple[Ground, object, int]:
        """The ground as the path needs it, what was prepared, and how many messages it takes."""
        if path.layout not in self._grounds:
            self._grounds[path.layout] = self._rooms.enter_context(ground(path.layout))
        at, key = self._grounds[path.layout], (path.layout, path.name)
        if key not in self._kept:
            prepare = path.operation or next(o for o in operations() if o.layout == path.layout)
            for _ in range(3):  # what is left of a malformed answer on a connection is read as the next one
                with suppress(Refused):
                    at.session.refresh_facts()
            with at.patiently():
                given = prepare.prepare(at)
                at.keep()
                at.pipe.plan = plan = Plan(greetings=path.name == "connect")
                path.act(at, given)
            journal = at.home / "kept"
            entries = journal.read_bytes() if journal.exists() else b""
            self._kept[key] = (given, (dict(at.kept), entries), len(plan.seen))
        given, (kept, entries), messages = self._kept[key]
        at.kept = kept
        if entries:
            (at.home / "kept").write_bytes(entries)
        return at, given, messages


def run(number: int, seed: int, share: float = 1.0) -> Iterator[tuple[str, str, list[str]]]:
    """Named shapes on a share of all paths, and that many generated replies: which, what was told, what is wrong."""
    rng = random.Random(seed)
    every = paths()
    with in_a_hurry(), ExitStack() as rooms, Threads() as threads:
        bench = Bench(rooms)
        jobs: list[tuple[str, Path, Shape, int]] = []
        jobs += [(name, path, shape, at) for name, shape in SHAPES.items() for path in every for at in range(12)]
        jobs = [job for job in jobs if rng.random() < share * (1 if job[3] == 0 else 0.1)]
        jobs += [(f"mutation {n}", rng.choice(every), mutated, rng.randrange(12)) for n in range(number)]
        if share < 1:
            rng.shuffle(jobs)
        for name, path, shape, at in jobs:
            place, given, messages = bench.ready(path)
            point = at % max(1, messages)
            times = rng.choice((1, 1, ALWAYS))
            plan = Plan(point, "malformed", times, random.Random(f"{seed} {name} {path.name}"), shape)
            told, wrong = trouble(path, place, given, plan)
            wrong += threads.errors
            threads.errors.clear()
            yield f"{name} · {path.layout}/{path.name} · message {point}{'' if times == 1 else ' on'}", told, wrong


def grown() -> int:
    """The most memory that this process has held so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(number: int, seed: int) -> int:
    """The long form."""
    began, done, bad, told = time.monotonic(), 0, 0, Counter[str]()
    before = grown()
    for which, said, wrong in run(number, seed):
        done += 1
        told["nothing" if said == "nothing" else "a sentence"] += 1
        if wrong:
            bad += 1
            print(f"{which}\n  {said}\n  WRONG: {wrong}", flush=True)
    took = time.monotonic() - began
    more = grown() - before
    print(f"{len(SHAPES)} shapes on {len(paths())} paths, and {number:,} mutations: {done:,} in {took:.0f} s")
    print(f"{dict(told)}, {bad} wrong; the process grew by {more >> 20} MB")
    return 1 if bad or more > ROOM else 0
