"""Histories read together equal those read for each document alone, with far fewer commands."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import bson
import pytest
from bson import Int64, ObjectId
from bson.regex import Regex

from model.errors import Refused
from model.foundation.findings import Finding
from model.foundation.records import Version
from model.layouts import history_batches
from model.layouts.base import Layout
from model.layouts.history_batches import together
from model.layouts.registry import LAYOUTS, bind
from model.localserver import LocalServer, open_dump
from model.over_time.span import everyone
from model.profile import Profile, stated
from model.server.retry import Server, Write
from model.session import Session
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.command_log import listening
from tests.model.layouts.layout_support import doc, layout_of
from tests.support import every
from tests.writers.libraries import HERE, NAMES

Row = dict[str, Any]
IDS: Sequence[Any] = (
    *(f"d{n:02}" for n in range(40)), 1, 1.0, Int64(1), 2, None, True, [1, 2], {"a": 1, "b": 2}, {"b": 2, "a": 1},
    ObjectId(b"\x01" * 12), b"\x00", "",
)  # fmt: skip
"""Also ids that a server finds equal, or finds in others."""
NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
PATTERN = Value.of(Regex("^d0"))
OWN = [name for name, kind in LAYOUTS.items() if not kind.written_by_others and name != "log"]


def told(layout: Layout, id: Value) -> list[object]:
    """All that is read of one document: its versions, each of them again by its number, and the current one."""
    found: list[object] = []

    def add(read: Any) -> None:
        try:
            found.append(read())
        except Refused as error:
            found.append(str(error))

    versions: list[Version] = []
    add(lambda: versions.extend(layout.history(id, contents=True)))
    found += versions
    add(lambda: list(layout.history(id)))
    for each in versions:
        if each.v is not None:
            add(lambda v=each.v: layout.version(id, v))
    add(lambda: layout.version(id))
    return found


def rows_of(chance: random.Random, layout: str, id: Any, odd: bool) -> tuple[list[Row], list[Row]]:
    """Documents of both collections: a history with losses; an ``odd`` one with types and numbers amiss as well."""
    versions: list[Row] = []
    for v in range(1, chance.randrange(2, 12)):
        number: Any = v
        match chance.randrange(25):
            case 0 if v > 1:
                continue
            case 1 if odd:
                number = chance.choice([str(v), float(v), None, Int64(v), v + 0.5, float("nan")])
            case 2 if odd:
                versions.append({"v": v, "name": "twice", "_w": ObjectId()})
        versions.append({"v": number, "name": f"n{v % 3}", "_w": ObjectId()})
    versions = versions or [{"v": 1}]
    if layout in ("versions", "flagged", "deltas"):
        return [{"_id": ObjectId(), "docId": id, **each} for each in versions], []
    if isinstance(id, list):
        return [], []
    if layout == "embedded":
        return [{"_id": id, "current": versions[-1], "prev": versions[:-1]}], []
    if layout == "nested":
        return [{"_id": id, **versions[-1], "versions": versions[:-1]}], []
    past = versions if layout == "stream" or chance.random() < 0.2 else versions[:-1]
    past = [{"_id": ObjectId(), "docId": id, **each} for each in past]
    return [] if chance.random() < 0.1 else [{"_id": id, **versions[-1]}], past if layout in LAYOUTS else []


@pytest.fixture
def local() -> Iterator[LocalServer]:
    with LocalServer() as made:
        yield made


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("name", support.some(OWN, "archive", "embedded"))
def test_any_history_is_the_same_alone_and_among_others(
    name: str, seed: int, server: Server, server_name: str, database_name: str
) -> None:
    chance = random.Random(seed)
    layout = layout_of(server, database_name, name, indexed=False)
    odd = server_name != "java"  # which orders values of several types, and equal ones, otherwise each time
    for id in IDS[support.by_depth(24, 0) :] if odd else IDS[:40]:
        things, past = rows_of(chance, name, id, odd)
        for ns, rows in ((layout.ns, things), (f"{layout.ns}_past", past)):
            for row in rows:
                server.send(Write(ns, "insert", {}, bson.encode({"_id": ObjectId(), **row})))
    ids = list(everyone(layout))
    assert len(ids) >= support.by_depth(13, 25)
    ids.insert(12, PATTERN)
    for id, of in together(layout, ids):
        assert told(of, id) == told(layout, id), id


@pytest.mark.deep
@pytest.mark.slice
@support.table("name", every(len(NAMES), NAMES))
def test_what_other_programs_wrote_is_the_same_alone_and_among_others(name: str) -> None:
    with open_dump(HERE / name) as local, Session.open(local.uri) as session:
        layouts = [
            session.catalogue.layout(info.ns) for info in session.catalogue.collections() if info.belongs_to is None
        ]
        for layout in layouts:
            ids = list(everyone(layout))
            assert [told(of, id) for id, of in together(layout, ids)] == [told(layout, id) for id in ids]


def test_histories_of_many_documents_take_a_few_commands(local: LocalServer) -> None:
    rows = [{"_id": n, "v": 3, "_w": ObjectId()} for n in range(300)]
    local.load("db.things", map(bson.encode, rows))
    past = [{"_id": ObjectId(), "docId": n, "v": v, "_w": ObjectId()} for n in range(300) for v in (1, 2)]
    local.load("db.things_past", map(bson.encode, past))
    with listening() as log, Server.connect(local.uri) as server:
        layout = layout_of(server, "db", "archive")
        ids = list(everyone(layout))
        log.clear()
        assert sum(len(list(of.history(id))) for id, of in together(layout, ids)) == 900
        commands, rows_read = len(log.names), log.rows
        assert all("maxTimeMS" in each for each in log.sent)
    assert commands < 30  # 600 one by one
    assert rows_read == 900 + 300  # each row, and once more what tells that a document stayed as it was


READERS: dict[str, Callable[[Session, Path], Iterable[object]]] = {
    "activity": lambda session, _: session.time.activity(["db.things"]).as_read(),
    "as it stood": lambda session, _: session.time.as_of("db.things", NOON, contents=True),
    "at two times": lambda session, _: session.time.as_of_both("db.things", NOON, NOON + dt.timedelta(hours=1)),
    "export": lambda session, folder: session.exchange.export_history("db.things", folder / "all.jsonl", "jsonl"),
}


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("name", READERS)
def test_whoever_reads_all_histories_reads_them_together(name: str, local: LocalServer, tmp_path: Path) -> None:
    at = [NOON + dt.timedelta(minutes=20 * n) for n in range(3)]
    local.load("db.things", [bson.encode({"_id": n, "v": 3, "at": at[2], "n": 3}) for n in range(300)])
    past = [{"_id": ObjectId(), "docId": n, "v": v, "at": at[v - 1], "n": v} for n in range(300) for v in (1, 2)]
    local.load("db.things_past", map(bson.encode, past))
    local.index("db.things_past", [("docId", 1), ("v", 1)], unique=True)
    profile = Profile((stated("db.things", "archive", archive="db.things_past", token="", at="at"),))
    with listening() as log, Session.open(local.uri, profile, home=tmp_path) as session:
        log.clear()
        assert len(list(READERS[name](session, tmp_path))) == 300
        assert len(log.names) < 40
        assert log.unbounded == []


class Interrupted:
    """A server on which somebody writes once, before the archive is read."""

    def __init__(self, server: Server, ns: str, write: Any) -> None:
        self._server, self._ns, self._write = server, ns, write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def find(self, ns: str, *asked: Any, **more: Any) -> Iterator[bytes]:
        if ns == self._ns and self._write is not None:
            write, self._write = self._write, None
            write()
        return self._server.find(ns, *asked, **more)


def test_a_document_that_is_written_between_both_readings_is_read_again(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "archive")
    ids = [Value.of(name) for name in ("a", "b", "c", "gone")]
    for id in ids:
        layout.create(doc(n=1), id, Stamp())

    def write() -> None:
        for n in (2, 3):
            assert layout.swap(ids[1], layout.version(ids[1]), doc(n=n), Stamp()).kind == "applied"
        assert layout.delete(ids[3], layout.version(ids[3]), Stamp()).kind == "applied"

    beside: Any = Interrupted(server, layout.archive.ns if layout.archive else "", write)
    found = {id: list(of.history(id)) for id, of in together(bind(beside, layout.profile), ids)}
    assert [(each.v, each.state, each.detail) for each in found[ids[1]]] == [
        (Value.of(v), "present", "") for v in (3, 2, 1)
    ]
    assert not any(each.current for each in found[ids[3]])
    assert [len(found[id]) for id in ids] == [1, 3, 1, 1]


def test_large_documents_are_read_a_few_at_a_time(
    server: Server, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_batches, "ROOM", 10_000)
    layout = layout_of(server, database_name, "versions")
    ids = [Value.of(n) for n in range(30)]
    for n, id in enumerate(ids):
        layout.create(doc(text="x" * (20_000 if n == 9 else 700)), id, Stamp())
    held: list[int] = []
    hold = history_batches._HeldRows.hold

    def noted(self: Any, some: Sequence[Value]) -> bool:
        fits = hold(self, some)
        held.append(sum(len(raw) for rows in self._held.values() for raw in rows))
        return fits

    monkeypatch.setattr(history_batches._HeldRows, "hold", noted)
    assert [id for id, of in together(layout, ids) for each in of.history(id) if each.current] == ids
    assert max(held) <= 10_000
    assert sum(size > 0 for size in held) >= 2


def test_whoever_takes_long_over_a_document_is_told_how_the_next_one_stands_then(
    server: Server, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = layout_of(server, database_name, "hashed")
    ids = [Value.of(n) for n in range(3)]
    for id in ids:
        layout.create(doc(n=1), id, Stamp())
    now = 1000.0
    monkeypatch.setattr(history_batches.time, "monotonic", lambda: now)
    found = []
    for id, of in together(layout, ids):
        found.append(c.get(of.version(id).content or c.EMPTY, ("n",)))
        if id == ids[0]:
            layout.swap(ids[1], layout.version(ids[1]), doc(n=2), Stamp())
            now += history_batches.FRESH + 1
    assert found == [Value.of(n) for n in (1, 2, 1)]


def test_a_scan_of_what_another_program_wrote_reads_histories_together(local: LocalServer, tmp_path: Path) -> None:
    local.load("db.things", [bson.encode({"_id": n, "n": 3}) for n in range(300)])
    rows = [{"_id": ObjectId(), "of": n, "v": v, "n": v} for n in range(300) for v in (1, 2, 3) if (n, v) != (123, 2)]
    local.load("db.things_rows", map(bson.encode, rows))
    stating = stated("db.things", "shadow", archive="db.things_rows", archive_id="of", version="v", kept="all")
    with listening() as log, Session.open(local.uri, Profile((stating,)), home=tmp_path) as session:
        found = list(session.scans.scan(["db.things"]))
        assert [(each.code, each.id) for each in found if isinstance(each, Finding)] == [("V2", Value.of(123))]
        assert len(log.names) < 60
