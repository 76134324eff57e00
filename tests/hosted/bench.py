"""One server with data in every layout, and the program on it: what an action says and leaves behind."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import io
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bson
from bson import Decimal128, ObjectId

from model.commands import command_line
from model.errors import Refused, Unreadable
from model.foundation.records import Outcome
from model.layouts.registry import WRITABLE
from model.localserver import LocalServer
from model.localserver.sample import build
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value
from tests.servers.hosted_server import HostedServer, ServerProfile

NOW = 1_790_000_000
"""The moment that young documents of the sample are dated from."""
SHOP = {name: f"shop.{name}" for name in WRITABLE}
IDS = ("K-1", "K-2", EXACT := "K-3")
"""The documents of the shop; the last has a Decimal128, which not every server takes."""
STOPPED = (130, 143)
"""The exit statuses of a command that Ctrl+C or SIGTERM has ended."""
STATED = (
    "".join(
        f'[[collection]]\nns = "{ns}"\nlayout = "{name}"\ntoken = "_w"\n'
        + ("" if WRITABLE[name].newest_alone else 'at = "at"\nauthor = "by"\n')
        for name, ns in SHOP.items()
    )
    + """
[[collection]]
ns = "shop.numbered"
layout = "plain"

[[collection]]
ns = "shop.sequence"
layout = "sequence"
counter = "seq"

[[collection]]
ns = "shop.pending"
layout = "pending"

[[collection]]
ns = "shop.processed"
layout = "processed"
counter = "total"
"""
)
_NEW = [
    (re.compile(r"run-\d{8}-\d{6}-[0-9a-f]{6}"), "RUN"),
    (re.compile(r"/\S*/(shop\.toml|history\.jsonl|out\.jsonl|plan\.json|git)"), r"\1"),
    (re.compile(r"mongodb://\S+?/\?\S*"), "ADDRESS"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "HEX"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|seconds?|MB)\b"), "SPAN"),
]


@dataclass(frozen=True)
class Told:
    """What an action came to: the exit status of its last command, what was said, and every document afterwards."""

    status: int
    out: str
    err: str
    documents: dict[str, tuple[str, ...]] = field(repr=False)
    hung_up_at: tuple[str, ...] = ()
    """The commands at which the server closed the connection, because of a value that it cannot take."""

    @property
    def lines(self) -> list[str]:
        """What was said, line by line."""
        return [" ".join(line.split()) for line in (self.out + self.err).splitlines()]

    @property
    def sentences(self) -> str:
        """Why it did not do what it was asked for."""
        return " ".join(self.err.split()) or " ".join(self.out.split())


@dataclass
class Bench:
    """A server under one address, a folder for files, and the text of what was said."""

    uri: str
    folder: Path
    status: int = 0
    out: str = ""
    err: str = ""

    @property
    def profile(self) -> str:
        """The file that states the layouts of the shop."""
        path = self.folder / "shop.toml"
        if not path.exists():
            path.write_text(STATED, encoding="utf-8")
        return str(path)

    def call(self, *words: object) -> str:
        """Run a command of the program; what it prints."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.status = command_line.main([*map(str, words)])
        if self.status in STOPPED:
            raise KeyboardInterrupt  # whoever stops this process means all of it, and not the command in it
        self.out += out.getvalue()
        self.err += err.getvalue()
        return out.getvalue()

    def run(self, name: str, *words: object) -> str:
        """Run a command on this server."""
        return self.call(name, self.uri, *words)

    def shop(self, name: str, *words: object) -> str:
        """Run a command on the shop, whose layouts are stated."""
        return self.run(name, *words, "--profile", self.profile)

    def ask(self, question: Callable[[Session], Any]) -> None:
        """Ask a session what only the window asks, and note the answer; an outcome tells by itself how it went."""
        try:
            with Session.open(self.uri, self.profile) as session:
                answer = question(session)
                if isinstance(answer, Outcome):
                    self.status = 0 if answer.kind == "applied" else 2
                    self.err += answer.detail if self.status else ""
                else:
                    self.status = 0
                    self.out += f"{answer}\n"
        except Refused as refusal:
            self.err += f"{refusal}\n"
            self.status = 2


def told(bench: Bench, server: HostedServer) -> Told:
    """What became of the bench, with all that differs from run to run taken out."""
    known = _known()
    found = {
        coll.ns: tuple(sorted(known.get(raw) or plain(_document(raw)) for raw in coll.docs.values()))
        for db in server.store.databases()
        for coll in server.store.collections(db)
    }
    kept = {ns: rows for ns, rows in found.items() if rows and not ns.endswith("_feed")}  # a feed's own place
    return Told(bench.status, plain(bench.out), plain(bench.err), kept, tuple(getattr(server, "hung_up_at", ())))


def plain(text: str) -> str:
    """A text without what is new in each run: addresses, tokens, times."""
    for pattern, instead in _NEW:
        text = pattern.sub(instead, text)
    return text


def _document(raw: bytes) -> str:
    """A stored document as text, its fields in their order and each value with its type; a damaged one as its bytes."""
    try:
        return " ".join(f"{name}:{value.kind}={_shown(value)}" for name, value in c.fields(raw))
    except Unreadable:
        return repr(raw)


def _shown(value: Value) -> str:
    if value.is_container:
        return "{" + _document(value.data) + "}"
    if value.type == c.OBJECT_ID:
        return value.data.hex()
    return str(value.python())


@functools.cache
def stock() -> tuple[tuple[str, tuple[Any, ...], tuple[bytes, ...]], ...]:
    """Every collection as it is loaded into a bench: namespace, indexes, documents.

    ``shop`` has three sound documents in each layout with three versions each; ``insurance_2019`` of the sample has
    every damage.
    """
    with LocalServer(replica_set="rs0") as server:
        with (
            tempfile.TemporaryDirectory() as folder,
            Session.open(server.uri, Bench("", Path(folder)).profile, home=Path(folder)) as session,
        ):
            for ns in SHOP.values():
                for at, id in enumerate(IDS):
                    _history(session, ns, Value.of(id), at)
        server.load("shop.numbered", [bson.encode({"_id": 3, "name": "three"})])
        server.load("shop.sequence", [bson.encode({"_id": "orders", "seq": 7})])
        tokens = [ObjectId.from_datetime(dt.datetime(2025, 10, 31, tzinfo=dt.UTC))]
        server.load("shop.pending", [bson.encode({"_id": "day", "count": 3, "pending": tokens, "applied": []})])
        server.load("shop.processed", [bson.encode({"_id": "sum", "total": 5, "processed": ["a", "b"]})])
        made = [
            (coll.ns, tuple((i.keys, i.unique) for n, i in coll.indexes.items() if n != "_id_"), (*coll.docs.values(),))
            for coll in server.store.collections("shop")
        ]
    sample = [(ns, tuple(ix), tuple(rows)) for ns, ix, rows in build(NOW) if ns.startswith("insurance_2019.")]
    return (*made, *sample)


def _history(session: Session, ns: str, id: Value, at: int) -> None:
    if session.indexes.missing(ns):
        session.indexes.create(ns)
    content = {"name": f"thing {at}", "price": 1.0, "tags": ["a", "b"]}
    content |= {"sum": Decimal128("1.50")} if id.python() == EXACT else {}
    outcome = session.writing.create(ns, c.encode(content), id)
    assert outcome.kind == "applied", outcome
    for price in (2.0, 3.0):
        outcome = session.edit(ns, id, {"price": price})
        assert outcome.kind == "applied", outcome


@functools.cache
def _known() -> dict[bytes, str]:
    """A name for each document of the stock."""
    return {raw: f"{ns} {at}" for ns, _, rows in stock() for at, raw in enumerate(rows)}


def fill(server: LocalServer, profile: ServerProfile) -> None:
    """Load into a server what of the stock a server of this profile can hold."""
    for ns, indexes, rows in stock():
        for keys, unique in indexes:
            server.index(ns, list(keys), unique)
        server.load(ns, [raw for raw in rows if profile.holds(raw)])
