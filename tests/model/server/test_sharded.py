"""A sharded cluster, played by the in-process server: each guarded write names its shard.

The router refuses a write of one document whose filter lacks the shard key, and a change of a value in that key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pymongo
import pytest
from msgspec.structs import replace
from pymongo.errors import OperationFailure, WriteError

from model import text
from model.errors import NotAllowed
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE
from model.localserver import LocalServer
from model.server.retry import Server, Write
from model.session import Session
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import doc, layout_of
from tests.repairing.planting import CASES, NAMES, Case
from tests.repairing.proving import prove

ID = Value.of("K-1")
KEY = ("region",)


@pytest.fixture
def cluster() -> Iterator[LocalServer]:
    with LocalServer(shard_keys={}) as made:
        yield made


@pytest.fixture
def server(cluster: LocalServer) -> Iterator[Server]:
    with Server.connect(cluster.uri) as made:
        assert made.facts().topology == "sharded"
        yield made


def shard(cluster: LocalServer, server: Server, names: Sequence[str]) -> None:
    """Shard collections by the field that their unique index begins with, else by one that no guard names."""
    for ns in names:
        unique = [each for each in server.indexes(ns) if each.get("unique")]
        cluster.shard(ns, list(unique[0]["key"])[:1] if unique else KEY)


# --- what is played


def test_the_router_refuses_each_write_of_one_document_that_names_no_shard(cluster: LocalServer) -> None:
    cluster.shard("shop.things", KEY)
    with pymongo.MongoClient[Any](cluster.uri) as client:
        things = client.shop.things
        things.insert_one({"_id": 1, "region": "eu", "n": 1})
        refused = (
            lambda: things.update_one({"_id": 1}, {"$set": {"n": 2}}),
            lambda: things.replace_one({"_id": 1}, {"region": "eu"}),
            lambda: things.delete_one({"_id": 1, "region": {"$in": ["eu"]}}),
            lambda: things.find_one_and_update({"_id": 1}, {"$set": {"n": 2}}),
            lambda: things.update_one({"_id": 2}, {"$set": {"n": 2}}, upsert=True),
        )
        for write in refused:
            with pytest.raises(OperationFailure) as caught:
                write()
            assert caught.value.code == 61
        with pytest.raises(WriteError) as moved:
            things.update_one({"_id": 1, "region": "eu"}, {"$set": {"region": "us"}})
        assert moved.value.code == 66
        assert things.update_one({"_id": 1, "region": "eu"}, {"$set": {"n": 2}}).modified_count == 1
        assert things.update_many({"_id": 1}, {"$set": {"n": 3}}).modified_count == 1
        with pytest.raises(OperationFailure, match="shard key"):
            things.create_index("n", unique=True)


# --- every layout


def lived(layout: Layout, cluster: LocalServer, server: Server) -> list[str]:
    """How the writes of a document's life ended, once its collections are sharded."""
    assert layout.create(doc(status="draft", n=1, region="eu"), ID).kind == "applied"
    assert layout.swap(ID, layout.version(ID), doc(status="active", n=1, region="eu")).kind == "applied"
    shard(cluster, server, [ns for ns in ("shop.things", "shop.things_past") if any(server.find(ns, limit=1))])
    stale = layout.version(ID)
    ends = [layout.swap(ID, stale, doc(status="lapsed", n=2, region="eu")).kind]
    late = layout.swap(ID, stale, doc(status="late", n=9, region="eu")).kind
    ends.append("applied" if late == "conflict" else f"a swap on a stale version that ends {late}")
    ends.append(layout.swap(ID, layout.version(ID), doc(status="draft", n=1, region="eu")).kind)  # as at first
    base = layout.version(ID)
    if layout.name != "stream":  # its archive belongs to another program
        removed = layout.all_stored(ID, base)
        ends += [layout.purge(ID, base).kind, layout.put_back(removed).kind]
    ends.append(layout.delete(ID, layout.version(ID)).kind)
    return ends


@pytest.mark.parametrize("name", WRITABLE)
def test_every_layout_swaps_restores_puts_back_and_deletes_by_shard_key(
    name: str, cluster: LocalServer, server: Server
) -> None:
    assert set(lived(layout_of(server, "shop", name), cluster, server)) == {"applied"}


@pytest.mark.parametrize("name", ["archive", "embedded", "nested"])
def test_a_layout_whose_writes_carry_no_key_is_convicted(
    name: str, cluster: LocalServer, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "_routed", lambda _, write: write)
    assert "refused" in lived(layout_of(server, "shop", name), cluster, server)


# --- repairs and clean-ups, and undo to the byte


def proven(case: Case, home: Path) -> list[str]:
    """What is wrong about the repair of a case whose collections are all sharded."""
    names = NAMES["default"]
    key = (names.id,) if case.unique else KEY  # a field that no document has: its value is null
    keys = dict.fromkeys(("things", "things_past", "invoices"), key) | {"quarantine": KEY}
    with LocalServer(shard_keys=keys) as made:
        return prove(case, made.uri, "default", 1, home)


@pytest.mark.parametrize("case", support.every(12, [each for each in CASES if each.name != "E2"]), ids=lambda c: c.name)
def test_repairs_and_clean_ups_carry_the_key_and_are_undone_to_the_byte(case: Case, tmp_path: Path) -> None:
    assert not proven(case, tmp_path)


def test_a_repair_whose_writes_carry_no_key_is_convicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "_routed", lambda _, write: write)
    case = next(each for each in CASES if each.layout == "archive")
    assert any("refused" in each for each in proven(case, tmp_path))


# --- in a session


@pytest.fixture
def session(cluster: LocalServer, tmp_path: Path) -> Iterator[Session]:
    cluster.load("shop.things", [doc(_id="K-1", v=1, _w="a", region="eu", place="Rome", n=1)])
    cluster.load("shop.things_past", [])
    cluster.shard("shop.things", KEY)
    profile = tmp_path / "profile.toml"
    profile.write_text(
        '[[collection]]\nns = "shop.things"\nlayout = "archive"\narchive = "shop.things_past"\ntoken = "_w"\n'
    )
    with Session.open(cluster.uri, profile=profile, home=tmp_path) as made:
        made.indexes.create("shop.things")
        yield made


def test_an_edit_on_a_cluster_is_undone_and_its_preview_shows_the_key(session: Session) -> None:
    base = session.history.version("shop.things", ID)
    sending = session.writing.preview("shop.things", ID, base, doc(region="eu", place="Oslo", n=1))
    assert '"region": {"$eq": "eu"' in " ".join(sending.pymongo.split())
    outcome = session.edit("shop.things", "K-1", set={"n": 2})
    assert outcome.kind == "applied", outcome
    assert outcome.entry is not None
    assert session.way_back.undo(outcome.entry).kind == "applied"
    now = session.history.version("shop.things", ID)
    assert now.content == doc(region="eu", place="Rome", n=1)


def test_a_change_of_the_shard_key_is_refused_in_a_sentence_and_nothing_is_sent(session: Session) -> None:
    outcome = session.edit("shop.things", "K-1", set={"region": "us"})
    assert outcome.kind == "refused"
    assert outcome.detail.startswith("region is part of the shard key of shop.things")
    assert session.history.version("shop.things", ID).v == Value.of(1)


def test_who_may_not_see_the_shard_key_is_told_so_and_nothing_is_sent(cluster: LocalServer, session: Session) -> None:
    cluster.hides_metadata = True
    outcome = session.edit("shop.things", "K-1", set={"n": 2})
    assert outcome.kind == "refused"
    assert "let this user read config.collections" in outcome.detail
    assert session.history.version("shop.things", ID).v == Value.of(1)
    cluster.hides_metadata = False
    assert session.edit("shop.things", "K-1", set={"n": 2}).kind == "applied"


def test_statistics_say_that_there_is_no_key_where_the_metadata_is_closed(cluster: LocalServer) -> None:
    class Closed(Server):
        def look(self, ns: str, *args: Any, **terms: Any) -> Iterator[bytes]:
            if ns.startswith("config."):
                raise NotAllowed("not authorized on config")
            return super().look(ns, *args, **terms)

    cluster.load("shop.things", [doc(_id=1, n=1)])
    with Closed.connect(cluster.uri) as server:
        reply = server.send(Write("shop.things", "update", {"_id": 1}, {"$set": {"n": 2}}))
        assert reply.applied == "yes"
        cluster.shard("shop.things", KEY)
        server._shard_keys.forget("shop.things")
        reply = server.send(Write("shop.things", "update", {"_id": 1}, {"$set": {"n": 3}}))
        assert (reply.applied, isinstance(reply.error, NotAllowed)) == ("no", True)


def test_a_collection_that_is_sharded_meanwhile_is_asked_for_again(cluster: LocalServer, server: Server) -> None:
    cluster.load("shop.things", [doc(_id=1, n=1, region="eu")])
    write = Write("shop.things", "update", {"_id": 1, "n": 1}, {"$set": {"n": 2}})
    assert server.as_sent(write) == write
    cluster.shard("shop.things", KEY)
    assert server.send(write).applied == "yes"


def test_a_cluster_is_sent_updates_as_older_ones_bring_no_document_without_the_whole_key(
    cluster: LocalServer, server: Server
) -> None:
    cluster.load("shop.things", [doc(_id=1, n=1, region="eu")])
    write = Write("shop.things", "update", {"_id": 1, "n": 1}, {"$set": {"n": 2}}, returns=True)
    assert not server.as_sent(write).returns
    reply = server.send(write)
    assert (reply.applied, reply.stored) == ("yes", None)


def test_a_guard_that_nothing_meets_is_no_match_and_an_upsert_needs_a_key(cluster: LocalServer, server: Server) -> None:
    cluster.shard("shop.things", KEY)
    gone = server.send(Write("shop.things", "update", {"_id": 1}, {"$set": {"n": 2}}))
    assert (gone.applied, gone.sentence) == ("no", "")
    made = Write("shop.things", "upsert", {"_id": 1}, {"$inc": {"n": 1}})
    assert "has no region yet" in server.send(made).sentence
    assert server.send(replace(made, filter={"_id": 1, "region": "eu"})).upserted
    assert text.to_text(next(iter(server.find("shop.things")))).replace(" ", "").count('"region":"eu"') == 1
