"""The newest time of a current version, which an index has to lead to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest

from model.errors import NotAllowed
from model.localserver import LocalServer
from model.over_time import span
from model.session import Session
from tests.gui.activity_scenes import DAY, orders

NS = "shop.orders"


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as made:
        yield made


@pytest.fixture
def client(server: LocalServer, tmp_path: Path) -> Iterator[pymongo.MongoClient[dict[str, Any]]]:
    with pymongo.MongoClient[dict[str, Any]](server.uri) as made:
        orders(made["shop"], tmp_path)
        yield made


@pytest.fixture
def session(server: LocalServer, client: pymongo.MongoClient[dict[str, Any]], tmp_path: Path) -> Iterator[Session]:
    with Session.open(server.uri, tmp_path / "profile.toml", home=tmp_path) as made:
        yield made


def test_it_is_the_time_of_the_newest_change(session: Session) -> None:
    assert session.time.last_change(NS) == DAY[4]


def test_without_an_index_it_is_not_looked_for(session: Session, client: pymongo.MongoClient[dict[str, Any]]) -> None:
    client["shop"]["orders"].drop_index("changedAt_1")
    assert session.time.last_change(NS) is None


def test_nor_is_it_if_nobody_may_know_whether_there_is_one(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = session.catalogue.layout(NS)

    def refused(*_: object) -> list[dict[str, Any]]:
        raise NotAllowed("not authorized on shop to execute listIndexes")

    monkeypatch.setattr(type(layout.server), "indexes", refused)
    assert span.last_change(layout) is None


def test_an_activity_of_a_span_looks_once_whether_times_are_fields(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    dated = span._dated
    monkeypatch.setattr(span, "_dated", lambda layout: (looks.append(layout.ns), dated(layout))[1])
    listed = session.time.activity([NS], DAY[4])
    assert listed.expected() is None
    assert [each.at for each in listed] == [DAY[4]]
    assert looks == [NS]
