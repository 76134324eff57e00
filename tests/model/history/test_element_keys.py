"""Array elements that the profile identifies by another field than ``_id``: wherever two are compared."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from model.localserver import LocalServer
from model.profile import Profile
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value

NS = "shop.orders"
ID = Value.of("A-1")


def content(*lines: tuple[str, int], unit: str = "piece") -> bytes:
    """Lines of an order, of which the one of the pads is counted in a unit."""
    return c.encode({"lines": [{"sku": sku, "count": count, "unit": unit * (sku == "pad")} for sku, count in lines]})


FIRST = content(("ink", 1), ("pen", 1), ("pad", 1))
SECOND = content(("pad", 5), ("ink", 1), ("pen", 1))  # pad has moved and changed; by place all three have


@pytest.fixture(params=[["sku"], []], ids=["by sku", "by _id alone"])
def keys(request: pytest.FixtureRequest) -> list[str]:
    names: list[str] = request.param
    return names


@pytest.fixture
def session(keys: list[str]) -> Iterator[Session]:
    stated: dict[str, Any] = {"ns": NS, "layout": "embedded"} | ({"keys": keys} if keys else {})
    with LocalServer() as server, Session.open(server.uri, Profile.read({"collection": [stated]}, "x")) as opened:
        assert opened.writing.create(NS, FIRST, ID).kind == "applied"
        assert opened.writing.save(NS, ID, opened.history.version(NS, ID), SECOND).kind == "applied"
        yield opened


def test_a_comparison_and_the_count_of_what_changed(session: Session, keys: list[str]) -> None:
    found = session.history.compare(NS, ID, Value.of(1), Value.of(2))
    by_key = [op.op for op in found.diff] == ["move", "replace"]
    assert by_key is bool(keys)
    assert next(iter(session.history.versions(NS, ID))).changed == len(found.diff)


def test_the_chain_and_blame(session: Session, keys: list[str]) -> None:
    chain = session.history.chain(NS, ID)
    told = {one.path: one.version.v for one in session.history.blame(NS, ID, inside=True)}
    assert told[("lines", 1, "sku")] == Value.of(1)  # by its key, or as the diff aligns them
    assert (("lines",) in told) is not bool(keys)
    assert {one.path: one.version.v for one in chain.blame()} == told
    earlier = {one.path for one in chain.blame_at(FIRST, Value.of(1))}
    assert (("lines", 2, "count") in earlier) is bool(keys)


def test_a_conflict_merges_by_the_key(session: Session, keys: list[str]) -> None:
    base = session.history.version(NS, ID, Value.of(1))
    conflict = session.writing.conflict(NS, ID, base, content(("ink", 1), ("pen", 1), ("pad", 1), unit="box"))
    assert conflict.merge is not None
    wanted = content(("pad", 5), ("ink", 1), ("pen", 1), unit="box")
    assert (not conflict.merge.conflicts and conflict.merge.document() == wanted) is bool(keys)


def test_a_migration_takes_the_keys_along(session: Session, keys: list[str]) -> None:
    planned = session.exchange.migration(NS, "versions")
    assert Profile.read(tomllib.loads(planned.toml), "printed").collections[0].keys == ("_id", *keys)
