"""The newest version of each document is listed once, in order, however ids and histories are mixed."""

from __future__ import annotations

import datetime as dt
import random

import bson
import pytest
from bson import Code, Decimal128, Int64, ObjectId

from model.layouts.versions import Versions
from model.localserver import LocalServer
from model.mql.order import key
from model.profile import stated
from model.server.retry import Server
from model.storage import newest_query
from model.storage.newest_query import NewestQuery
from model.storage.version_documents import VersionDocuments
from model.values import canonical as c
from model.values.canonical import Value
from tests import support

IDS = (
    1, 1.0, Int64(1), Decimal128("1"), Decimal128("1.0"), 2, Int64(2), 2.5, 0.0, -0.0, 3, 4, "a", "b", "c", None, True,
    {"x": 1}, {"x": 1.0}, ObjectId(b"a" * 12), dt.datetime(2020, 1, 1),
)  # fmt: skip
"""A server finds some of these equal, and their versions come mixed."""


@support.table("seed", range(support.by_depth(2, 4)))
@support.table("far", [4, 100])
def test_each_document_is_listed_once_by_its_newest_version(
    seed: int, far: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest_query, "FAR", far)
    dice = random.Random(seed)
    rows = [(id, v) for id in dice.sample(IDS, dice.randint(1, 12)) for v in range(dice.choice((1, 2, 3, 10, 150)))]
    dice.shuffle(rows)
    newest: dict[Value | None, int] = {}
    with LocalServer() as local, Server.connect(local.uri) as server:
        stored = [bson.encode({"_id": n, "docId": id, "v": v}) for n, (id, v) in enumerate(rows)]
        local.load("db.things", [*stored, bson.encode({"_id": -1, "v": 3})])
        local.index("db.things", [("docId", 1), ("v", 1)])
        for raw, (_, v) in zip(stored, rows, strict=True):
            id = c.get(raw, ("docId",))
            newest[id] = max(newest.get(id, 0), v)
        profile = stated("db.things", "versions")
        documents = VersionDocuments(server, profile, Versions(server, profile).own)
        for down in (False, True):
            for wanted in (1, 3, 51):
                heads = list(NewestQuery(server, profile, documents.newest).heads(None, down, wanted))
                listed = [(c.get(raw, ("docId",)), Value.python(c.get(raw, ("v",)) or Value.of(None))) for raw in heads]
                assert len(listed) == len(newest)
                assert dict(listed) == newest
                order = [key(id.type, id.data) for id, _ in listed if id is not None]
                assert order == sorted(order, reverse=down)


def test_an_id_that_is_code_is_listed_behind_one_with_a_long_history() -> None:
    rows = [*((1, v) for v in range(300)), (Code("f"), 0), (Code("f", {"x": 1}), 0)]
    with LocalServer() as local, Server.connect(local.uri) as server:
        local.load("db.things", [bson.encode({"_id": n, "docId": id, "v": v}) for n, (id, v) in enumerate(rows)])
        local.index("db.things", [("docId", 1), ("v", 1)])
        profile = stated("db.things", "versions")
        documents = VersionDocuments(server, profile, Versions(server, profile).own)
        heads = list(NewestQuery(server, profile, documents.newest).heads(None, wanted=2))
    assert [id.kind for raw in heads if (id := c.get(raw, ("docId",)))] == ["Int32", "Code", "Code with scope"]
