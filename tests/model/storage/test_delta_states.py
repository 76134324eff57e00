"""A state of many deltas is equal whether it is rebuilt alone or found in the whole history, sound or damaged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import bson
import pymongo
import pytest
from bson import Int64, ObjectId

from model.errors import NotFound
from model.foundation.records import Version
from model.layouts.base import Layout
from model.localserver import LocalServer
from model.server.retry import Server
from model.storage import delta_snapshots, delta_states
from model.storage.delta_snapshots import DeltaSnapshots
from model.storage.delta_states import DeltaStates
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import layout_of

NAMES = ["a", "b", "c", "to", "tags", ""]
Row = dict[str, Any]


def life(rng: random.Random, versions: int) -> list[Row]:
    """Deltas of one document: fields that come, change their types, and are removed."""
    rows: list[Row] = []
    for v in range(1, versions + 1):
        row: Row = {"_id": ObjectId(), "docId": "K", "v": Int64(v) if rng.random() < 0.2 else v, "_w": ObjectId()}
        for name in rng.sample(NAMES, rng.randint(0, 3)):
            row[name] = rng.choice([v, None, "x" * v, {"city": v, "no": 1}, [v, 2], 1.5, True])
        if rng.random() < 0.15:
            row["gone"] = rng.sample([*NAMES, "to.city", "tags.0", "nothing"], 2)
        rows.append(row)
    return rows


def damaged(rng: random.Random, rows: list[Row]) -> list[bytes]:
    """Their bytes, with one thing wrong or none."""
    rows, at = list(rows), rng.randrange(len(rows))
    what = rng.choice(["", "", "", "missing", "twice", "text", "mark", "tombstone", "hash", "no version", "garbled"])
    if what == "missing":
        del rows[at]
    elif what == "twice":
        rows.append({**rows[at], "_id": ObjectId(), "a": 7})
    elif what in ("text", "no version"):
        rows[at] = {name: value for name, value in rows[at].items() if name != "v"}
        rows[at] |= {"v": str(at + 1)} if what == "text" else {}
    elif what in ("mark", "tombstone"):
        kept = ("_id", "docId", "v", "_w") if what == "tombstone" else tuple(rows[at])
        rows[at] = {name: rows[at][name] for name in kept} | {"_deleted": True}
    elif what == "hash":
        rows[at] = rows[at] | {"_versioned_id": "0" * 40}
    raws = [bson.encode(row) for row in rows]
    if what == "garbled":
        raws[at] = raws[at][:-1].replace(b"\x02_w\x00", b"\x77_w\x00").replace(b"\x07_w\x00", b"\x77_w\x00") + b"\x00"
    rng.shuffle(raws)
    return raws


def in_history(layout: Layout) -> list[Version]:
    return [each for each in layout.history(Value.of("K"), contents=True) if each.state != "missing"]


def drawn(seed: int, lives: int) -> Iterator[tuple[Layout, DeltaStates, list[bytes]]]:
    """Lives of the document, each with what reads it and what is stored of it."""
    rng = random.Random(seed)
    with LocalServer() as local, Server.connect(local.uri) as server:
        for n in range(lives):
            local.load(f"shop{n}.things", damaged(rng, life(rng, rng.randint(1, 12))))
            layout = layout_of(server, f"shop{n}", "deltas", indexed=False, removed=rng.choice(["", "gone"]))
            reader = layout.reader
            assert isinstance(reader, DeltaStates)
            yield layout, reader, list(reader.documents.of(Value.of("K")))


@pytest.fixture(params=["as it is", "with snapshots", "with few snapshots"])
def snapshots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short histories are read as they are, or as long ones."""
    if request.param != "as it is":
        monkeypatch.setattr(delta_states, "LONG", 3)
        monkeypatch.setattr(delta_snapshots, "STEP", 2)
    if request.param == "with few snapshots":
        monkeypatch.setattr(delta_snapshots, "HELD", 30)


@pytest.mark.usefixtures("each_walk", "snapshots")
def test_a_version_alone_is_the_one_that_stands_in_the_history(seed: int) -> None:
    rebuilt = 0
    for layout, reader, stored in drawn(seed, support.by_depth(12, 600)):
        if not stored:
            continue
        seen: set[Value | None] = set()
        for each in in_history(layout):
            if each.v is not None and each.v not in seen:
                alone = layout.version(Value.of("K"), each.v)
                assert alone == each, (each.v.python(), alone.detail, each.detail)
                seen.add(each.v)
        with pytest.raises(NotFound):
            layout.version(Value.of("K"), Value.of(99))
        rebuilt += reader._rebuilt(stored, None) is not None
    assert rebuilt > support.by_depth(0, 5), "most of them are sound, and are not judged as a whole"


@pytest.mark.usefixtures("each_walk", "snapshots")
def test_a_history_that_needs_no_judgement_is_the_one_that_is_judged(seed: int) -> None:
    undoubted = 0
    for _, reader, stored in drawn(seed, support.by_depth(30, 600)):
        found = reader._undoubted(stored) if stored else None
        if found is not None:
            undoubted += 1
            assert list(found) == list(reader._folded(reader._states(stored)))
    assert undoubted > support.by_depth(0, 10)


def test_a_version_of_a_sound_history_is_rebuilt_without_judging_the_others(
    walker: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bytes] = []
    plain = delta_states.DeltaStates._states

    def counted(self: DeltaStates, stored: Any) -> Any:
        made.extend(found := list(stored))
        return plain(self, found)

    monkeypatch.setattr(delta_states.DeltaStates, "_states", counted)
    with LocalServer() as local, Server.connect(local.uri) as server:
        local.load("shop.things", [bson.encode(row) for row in life(random.Random(3), 300)])
        layout = layout_of(server, "shop", "deltas", removed="gone")
        assert [layout.version(Value.of("K"), v).current for v in (None, Value.of(150), Value.of(1))] == [
            True, False, False
        ]  # fmt: skip
        assert made == []
        assert len(in_history(layout)) == len(made) == 300


def test_snapshots_of_a_long_history_serve_until_any_byte_of_it_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_snapshots, "STEP", 100)
    folded: list[int] = []
    rebuilt = delta_snapshots.rebuilt

    def counted(rows: Any, own: Any, base: bytes) -> bytes:
        folded.append(len(rows))
        return rebuilt(rows, own, base)

    monkeypatch.setattr(delta_snapshots, "rebuilt", counted)
    rows = [{"_id": v, "docId": "K", "v": v, "_w": v, f"n{v % 7}": v} for v in range(1, 2101)]
    with LocalServer() as local, Server.connect(local.uri) as server, pymongo.MongoClient[Any](local.uri) as client:
        local.load("shop.things", map(bson.encode, rows))
        layout = layout_of(server, "shop", "deltas")

        def state(v: int) -> dict[str, Any]:
            content = layout.version(Value.of("K"), Value.of(v)).content
            return bson.decode(content or b"")

        assert state(1299) == {f"n{n % 7}": n for n in range(1, 8)} | {f"n{n % 7}": n for n in range(1293, 1300)}
        assert folded == [100] * 21 + [99]
        folded.clear()
        assert state(2100)["n0"] == 2100
        assert [each.bytes for each in layout.history(Value.of("K"))][-1] == len(bson.encode({"n1": 1}))
        assert folded == [0]
        client.shop.things.update_one({"v": 3}, {"$set": {"late": True}})
        assert state(2) == {"n1": 1, "n2": 2}
        assert state(1299)["late"] is True
        client.shop.things.update_one({"v": 1200}, {"$set": {"n5": "other"}})
        assert state(1200)["n5"] == "other"
        client.shop.things.delete_one({"v": 1200})
        assert layout.version(Value.of("K"), Value.of(1299)).state == "unproven"


def test_snapshots_take_no_more_than_they_may() -> None:
    stored = [bson.encode({"_id": v, "v": v, f"n{v}": "x" * 100}) for v in range(3000, 0, -1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delta_snapshots, "STEP", 10)
        patch.setattr(delta_snapshots, "HELD", 2_000_000)
        found = DeltaSnapshots.of(stored, ["_id", "v"])
    assert sum(map(len, found.states)) < 2_000_000 + len(found.states[-1])
    assert len(found.states) > 5
    assert found.states[1] == found.state(stored, found.step)
    assert len(bson.decode(found.state(stored, 2999))) == 2999
