"""One collection with planted histories, some with gaps; people who edit it; and an audit of the migration."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model.catalogue.catalogue import Catalogue
from model.foundation.records import Version
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE, bind, has_archive, stated
from model.operations.migration import Migration, target_profile
from model.profile import Profile
from model.repair.steps import RepairContext
from model.server.retry import Reply, Server, Write
from model.storage.newest_query import PageQuery
from model.userdata.journal import Journal
from model.values import canonical as c
from model.values.canonical import Value
from model.writing.writer import Writer

PAIRS = [(a, b) for a in WRITABLE for b in WRITABLE if a != b]
START = dt.datetime(2026, 3, 1, 8, 30, tzinfo=dt.UTC)
History = dict[int, bytes]


class Killed(Exception):
    """The process died."""


class Dying:
    """A server for a process that dies before or behind its nth write."""

    def __init__(self, server: Server, at: int = -1, behind: bool = False) -> None:
        self._server, self._left, self._behind = server, at, behind
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def send(self, write: Write) -> Reply:
        self.writes += 1
        if self._left == 0 and not self._behind:
            raise Killed
        reply = self._server.send(write)
        if self._left == 0:
            raise Killed
        self._left -= 1
        return reply


@dataclass
class Place:
    """The collection, its way to the other layout, and what is known to be in it."""

    server: Server
    source: Layout
    target: Layout
    rng: random.Random
    home: Path
    known: dict[Value, History] = field(default_factory=dict)
    edits: int = 0

    @property
    def numbered(self) -> bool:
        """Whether the source tells versions by number."""
        return self.source.numbered

    def migration(self, port: Any = None, kind: type[Migration] = Migration) -> Migration:
        """The migration, over another port on request."""
        port = port or self.server
        catalogue = Catalogue(self.server, port, Profile((self.source.profile, self.target.profile)), "here")
        writer = Writer(catalogue, port, Journal(self.home), "here")
        ground = RepairContext(port, catalogue.layout, lambda: dt.datetime.now(dt.UTC), "tester")
        source, target = bind(port, self.source.profile), bind(port, self.target.profile)
        return kind(writer, ground, source, target, True, lambda: None)

    def plant(self, count: int) -> None:
        """Histories of one to nine versions, with gaps where there is more than one."""
        for n in range(count):
            id = Value.of(f"d{n:04}") if n % 3 else Value.of(n)
            history: History = {}
            versions: list[Version] = []
            content = c.encode({"name": f"document {n}", "n": n, "tags": ["a", "b"]})
            numbers = range(1, self.rng.randint(1, 9) + 1)
            for number in numbers if self.source.numbered else (1,):
                content = changed(content, self.rng, number)
                if self.source.numbered and number != numbers[-1] and self.rng.random() < 0.15:
                    continue
                history[number] = content
                at = START + dt.timedelta(minutes=n, hours=number)
                versions.append(_version(number, content, at))
            for ns, raw in self.source.as_stored(id, versions):
                reply = self.server.send(Write(ns, "insert", {}, raw))
                assert reply.applied == "yes", reply.sentence
            self.known[id] = history
        if self.source.missing_index():
            self.source.create_index()

    def live(self, share: float) -> None:
        """Somebody edits, creates or deletes a document through the old layout, now and then."""
        if self.rng.random() >= share:
            return
        dice = self.rng.random()
        if dice < 0.1:
            self._create()
        elif dice < 0.2 and len(self.known) > 3 and self.source.name not in ("archive", "stream"):
            self._delete()
        else:
            self._edit()

    def _edit(self) -> None:
        id = self.rng.choice(list(self.known))
        base = self.source.version(id)
        content = changed(base.content or c.EMPTY, self.rng, self.edits + 100)
        outcome = self.source.swap(id, base, content)
        assert outcome.kind == "applied", outcome.detail
        history = self.known[id]
        if self.source.numbered:
            assert outcome.version is not None
            history[int(outcome.version.python())] = content
        else:
            history[1] = content
        self.edits += 1
        self._feed(id)

    def _feed(self, id: Value) -> None:
        """A stream's archive follows, as its feeder would have it."""
        if self.source.name == "stream":
            p = self.source.profile
            now = self.source.version(id)
            own = [("_id", Value.of(f"fed {self.edits}")), (p.archive_id, id)]
            rest = [(name, value) for name, value in c.fields(now.raw or c.EMPTY) if name != "_id"]
            self.server.send(Write(p.archive, "insert", {}, c.document([*own, *rest])))

    def _create(self) -> None:
        self.edits += 1
        id = Value.of(f"new{self.edits}")
        content = c.encode({"name": f"new {self.edits}"})
        assert self.source.create(content, id).kind == "applied"
        self.known[id] = {1: content}
        self._feed(id)

    def _delete(self) -> None:
        id = self.rng.choice(list(self.known))
        base = self.source.version(id)
        assert self.source.delete(id, base).kind == "applied"
        del self.known[id]

    def ended(self) -> set[Value]:
        """The documents that a tombstone ends, where the new place cannot say so."""
        if not self.source.own_documents or self.target.own_documents:
            return set()
        return {row.id for row in self.source.page(PageQuery(limit=10**6, any_version=True))} - set(self.known)

    # --- the audit: by documents as they are stored, and by what was planted and edited

    def wrong(self) -> Iterator[str]:
        """What is not as it must be in the new place."""
        fresh = bind(self.server, self.target.profile)
        for id, history in self.known.items():
            try:
                found = list(fresh.history(id, contents=True))
            except Exception as error:
                yield f"{id.python()}: {error}"
                continue
            there = {_number(each, self.target): each.content for each in found if each.state != "missing"}
            wanted = history if self.target.numbered else {max(history): history[max(history)]}
            if not self.target.numbered:
                there = {max(history): content for content in there.values()}
            if there != wanted:
                yield f"{id.python()}: {sorted(there)} instead of {sorted(wanted)}, or other contents"
            gaps = {int(e.v.python()) for e in found if e.state == "missing" and e.v is not None}
            if self.target.numbered and gaps != set(range(1, max(history) + 1)) - set(history):
                yield f"{id.python()}: gaps {sorted(gaps)}"
        extra = {row.id for row in fresh.page(PageQuery(limit=10**6))} - set(self.known)
        for id in extra:
            yield f"{id.python()} is in the new place and nowhere else"


def _number(version: Version, layout: Layout) -> int:
    return int(version.v.python()) if layout.numbered and version.v is not None else 1


def _version(number: int, content: bytes, at: dt.datetime) -> Version:
    return Version(Value.of(number), at, None, "document", "present", False, None, len(content), "", content)


def changed(content: bytes, rng: random.Random, step: int) -> bytes:
    """The content with something else in it: a field set, nulled or added; deltas can say all of these."""
    dice = rng.random()
    if dice < 0.5:
        return c.put(content, ("n",), Value.of(step * 1000 + rng.randint(0, 999)))
    if dice < 0.7:
        return c.put(content, ("note",), Value.of(None if rng.random() < 0.3 else f"note {step}"))
    if dice < 0.85:
        return c.put(content, (f"f{rng.randint(0, 5)}",), Value.of(rng.choice([1, 1.0, True, "x", step])))
    return c.put(content, ("tags",), c.array(Value.of(f"t{rng.randint(0, 3)}") for _ in range(rng.randint(0, 3))))


def place(server: Server, database: str, pair: tuple[str, str], seed: int, home: Path) -> Place:
    """A collection of one layout on its way to another."""
    rng = random.Random(seed)
    old: dict[str, Any] = {"archive": f"{database}.things_past"} if has_archive(pair[0]) else {}
    if rng.random() < 0.5:
        old |= {"version": "rev", "token": "writeToken"} if not WRITABLE[pair[0]].newest_alone else {}
    if rng.random() < 0.5:
        old["at"] = "changedAt"
    source = stated(f"{database}.things", pair[0], **old)
    target = target_profile(source, pair[1], f"{database}.moved")
    return Place(server, bind(server, source), bind(server, target), rng, home)
