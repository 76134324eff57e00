"""Long reads from the secondary of a set, which lags behind: nothing is reported that the lag alone explains.

The in-process server plays both members; the secondary has what the primary had when it last caught up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pymongo
import pytest
from pymongo.errors import NotPrimaryError

from model.foundation.findings import Finding
from model.localserver import LocalServer
from model.scan import Scan
from model.server.server import STALE
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import doc
from tests.scanning.scenes import SCENES, made
from tests.scanning.support import SETS, scanned

NS, PAST = "shop.things", "shop.things_past"
ID = Value.of("K-1")
LISTS = "shop.lists"
PROFILE = f"""
[[collection]]
ns = "{NS}"
layout = "archive"
archive = "{PAST}"
token = "_w"

[[collection]]
ns = "{LISTS}"
layout = "processed"
processed = "seen"
"""


class Set:
    """A primary with a secondary, and their address."""

    def __init__(self, primary: LocalServer, secondary: LocalServer) -> None:
        self.primary, self.secondary = primary, secondary
        places = [
            quote(each.uri.removeprefix("mongodb://").partition("/?")[0], safe="%:") for each in (primary, secondary)
        ]
        self.uri = f"mongodb://{','.join(places)}/?replicaSet=rs0"


@pytest.fixture
def members() -> Iterator[Set]:
    with LocalServer(replica_set="rs0") as primary, LocalServer(replica_set="rs0", follows=primary) as secondary:
        primary.load(NS, [doc(_id="K-1", v=2, _w="b", n=2), doc(_id="K-2", v=2, _w="d", n=2)])
        primary.load(PAST, [doc(_id=1, docId="K-1", v=1, _w="a", n=1)])  # K-2 lacks its first version
        primary.load(LISTS, [doc(_id="L-1", seen=["a", "b", "a"]), doc(_id="L-2", seen=["a", "a"])])
        made = Set(primary, secondary)
        secondary.catch_up()
        yield made


@contextmanager
def opened(uri: str, home: Path) -> Iterator[Session]:
    profile = home / "profile.toml"
    profile.write_text(PROFILE)
    with Session.open(uri, profile=profile, home=home) as session:
        yield session


def found(session: Session, pace: Any = "gentle") -> list[tuple[str, Any]]:
    rows = [each for each in session.scans.scan(["shop"], pace=pace) if isinstance(each, Finding)]
    return sorted((each.code, None if each.id is None else each.id.python()) for each in rows)


def n_of(port: Any) -> list[int]:
    return sorted(int(canonical.decode(raw)["n"]) for raw in port.find(NS))


def meet(session: Session) -> None:
    """Let the driver find the secondary; until then reads go to the primary."""
    port: Any = session._connection.opened.server
    with pymongo.timeout(30):
        port._client.get_database("shop").with_options(read_preference=pymongo.ReadPreference.SECONDARY).command(
            "ping", read_preference=pymongo.ReadPreference.SECONDARY
        )


def test_a_secondary_takes_no_writes_and_has_what_was_there_when_it_caught_up(members: Set) -> None:
    members.primary.load(NS, [doc(_id="K-3", v=1, _w="e", n=3)])
    with pymongo.MongoClient[Any](members.secondary.uri) as client:
        assert client.shop.things.count_documents({}) == 2
        with pytest.raises(NotPrimaryError):
            client.shop.things.insert_one({"_id": 1})
    members.secondary.catch_up()
    with pymongo.MongoClient[Any](members.secondary.uri) as client:
        assert client.shop.things.count_documents({}) == 3


def test_long_reads_go_where_the_address_says_and_gentle_ones_to_a_secondary(members: Set, tmp_path: Path) -> None:
    for n, (option, aside) in enumerate((("", False), ("&readPreference=secondaryPreferred", True)), 8):
        with opened(members.uri + option, tmp_path) as session:
            meet(session)
            port = session._connection.port
            assert port.reads_aside is False
            assert port.aside().reads_aside is aside
            assert port.gentle().reads_aside is True
            members.primary.load(NS, [doc(_id=f"K-{n}", v=1, _w="z", n=n)])
            assert n_of(port)[-1] == n  # what is looked at is the primary's
            assert (n_of(port.aside())[-1] == n) is not aside
            members.secondary.catch_up()


ALL = [("A4", "K-2"), ("P2", "L-1"), ("P2", "L-2")]


def settle(members: Set) -> None:
    """Mend two of three at the primary: the secondary does not have it yet."""
    members.primary.store.make("shop", "things_past").load([doc(_id=2, docId="K-2", v=1, _w="c", n=1)])
    members.primary.store.make("shop", "lists").replace(0, doc(_id="L-1", seen=["a", "b"]))


def test_a_finding_that_only_the_lag_explains_is_not_told(members: Set, tmp_path: Path) -> None:
    with opened(members.uri + "&readPreference=secondaryPreferred", tmp_path) as session:
        meet(session)
        assert found(session) == found(session, "fast") == ALL
        settle(members)
        assert session._connection.port.gentle().reads_aside
        assert found(session) == found(session, "fast") == [("P2", "L-2")]


def test_a_scan_that_asks_the_primary_nothing_again_is_convicted(
    members: Set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scan, "_confirmed", lambda self, ns, rows, primary: rows)
    with opened(members.uri, tmp_path) as session:
        meet(session)
        settle(members)
        assert ("P2", "L-1") in found(session)  # which is not so any more


def test_a_secondary_that_lags_behind_too_far_is_not_read(members: Set, tmp_path: Path) -> None:
    members.secondary.lag(STALE * 4)
    with opened(members.uri, tmp_path) as session:
        meet(session)
        members.primary.load(NS, [doc(_id="K-9", v=1, _w="z", n=9)])
        assert n_of(session._connection.port.gentle())[-1] == 9


def test_after_a_write_of_ones_own_the_primary_is_read_for_a_while(members: Set, tmp_path: Path) -> None:
    with opened(members.uri + "&readPreference=secondaryPreferred", tmp_path) as session:
        meet(session)
        session.indexes.create(NS)
        outcome = session.edit(NS, "K-1", set={"n": 7})
        assert outcome.kind == "applied", outcome
        assert not session._connection.port.aside().reads_aside
        changes = list(session.time.activity([NS], id="K-1"))
        assert changes[0].v == Value.of(3)
        assert {row.version.v for row in session.history.blame(NS, ID)} >= {Value.of(3)}


@support.table("name", support.every(5, sorted(SCENES)))
def test_what_the_primary_confirms_is_all_that_a_scan_of_it_finds(name: str) -> None:
    with LocalServer(replica_set="rs0") as alone, pymongo.MongoClient[Any](alone.uri) as client:
        it = made(name, "shop", SETS["default"], 7, 2)
        it.fill(client)
        assert not it.wrong(scanned(alone.uri, it, gentle=True))
