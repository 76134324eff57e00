"""Documents and archives whose ``_id`` holds both the document's id and the number of the version."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import bson
import pytest

from model.errors import Refused
from model.profile import Profile
from model.session import Session
from model.values.canonical import Value
from tests.model.layouts.layout_support import doc

Row = dict[str, Any]
NAMES = [("id", "version"), ("version", "id"), ("docId", "v"), ("rev", "page")]
NUMBERS = {"version", "v", "rev", "n"}


def lives(seed: int) -> dict[str, list[Row]]:
    """The states of some documents, oldest first."""
    dice, made = random.Random(seed), {}
    for at in range(9):
        state = {"title": f"Title {at}", "price": dice.randrange(900), "owner": dice.choice(["ann", "bob", "eve"])}
        states = [state]
        for _ in range(dice.randrange(2, 6)):
            state = state | {"price": state["price"] + dice.randrange(1, 90)}
            states.append(state)
        made[f"D-{at}"] = states
    return made


def key(names: tuple[str, str], id: object, number: int) -> Row:
    return {name: number if name in NUMBERS else id for name in names}


def dumped(folder: Path, **collections: list[Row]) -> str:
    (folder / "shop").mkdir()
    for name, rows in collections.items():
        (folder / "shop" / f"{name}.bson").write_bytes(b"".join(map(bson.encode, rows)))
    return str(folder)


def told(session: Session, ns: str, id: str) -> list[bytes | None]:
    return [each.content for each in session.catalogue.layout(ns).history(Value.of(id), contents=True)][::-1]


@pytest.mark.parametrize("names", NAMES)
def test_documents_with_id_and_version_in_their_id_are_versions(
    names: tuple[str, str], tmp_path: Path, seed: int
) -> None:
    known = lives(seed)
    rows = [{"_id": key(names, id, n), **state} for id, life in known.items() for n, state in enumerate(life, 1)]
    with Session.open(dumped(tmp_path, states=rows), into_memory=True) as session:
        info, _ = session.catalogue.known("shop.states")
        assert (info.layout, info.read_only) == ("versions", True)
        assert {info.fields["id"], info.fields["version"]} == {f"_id.{name}" for name in names}
        for id, life in known.items():
            assert told(session, "shop.states", id) == [doc(**state) for state in life]
        assert sorted(str(row.id.python()) for row in session.catalogue.layout("shop.states").page()) == sorted(known)
        assert not [*session.scans.scan(["shop.states"])]
        layout = session.catalogue.layout("shop.states")
        base = layout.version(Value.of("D-1"))
        assert "is a part of its _id" in layout.writable(base)
        assert session.writing.save("shop.states", Value.of("D-1"), base, doc(title="other")).kind == "refused"


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("kept", ["all", "earlier"])
def test_rows_with_id_and_version_in_their_id_are_the_history_of_documents(
    names: tuple[str, str], kept: str, tmp_path: Path, seed: int
) -> None:
    known, number = lives(seed), next(name for name in names if name in NUMBERS)
    last = -1 if kept == "earlier" else None
    rows = [{"_id": key(names, id, n), **state} for id, life in known.items() for n, state in enumerate(life[:last], 1)]
    own = {number: 0} if kept == "earlier" else {}
    current = [{"_id": id, **{name: len(life) for name in own}, **life[-1]} for id, life in known.items()]
    with Session.open(dumped(tmp_path, items=current, items_old=rows)) as session:
        info, profile = session.catalogue.known("shop.items")
        assert (info.layout, info.read_only, profile.kept) == ("shadow", True, kept)
        for id, life in known.items():
            assert told(session, "shop.items", id) == [doc(**state) for state in life]
            versions = session.catalogue.layout("shop.items").history(Value.of(id))
            assert [each.v.python() for each in versions if each.v] == [*range(len(life), 0, -1)]
        assert not [*session.scans.scan([])]


def test_a_number_that_no_name_calls_a_version_is_offered(tmp_path: Path, seed: int) -> None:
    known = lives(seed)
    rows = [{"_id": {"k": id, "n": n}, **state} for id, life in known.items() for n, state in enumerate(life, 1)]
    with Session.open(dumped(tmp_path, states=rows)) as session:
        assert session.catalogue.known("shop.states")[0].layout == "plain"
        (offer,) = session.catalogue.offers(["shop.states"])
        assert (offer.profile.id, offer.profile.version) == ("_id.k", "_id.n")
        assert offer.right == offer.looked == 9
        session.catalogue.state(offer.profile)
        assert told(session, "shop.states", "D-3") == [doc(**state) for state in known["D-3"]]


def test_parts_of_one_thing_are_neither_claimed_nor_offered(tmp_path: Path, seed: int) -> None:
    dice, day = random.Random(seed), dt.datetime(2025, 1, 1)
    lines = [
        {"_id": {"order": f"O-{at}", "line": n}, "article": dice.randrange(9000), "amount": dice.randrange(1, 9)}
        for at in range(12)
        for n in range(1, dice.randrange(2, 7))
    ]
    measured = [
        {"_id": {"sensor": at, "hour": n}, "value": dice.random(), "when": day + dt.timedelta(hours=n)}
        for at in range(8)
        for n in range(12)
    ]
    likes = [{"_id": {"user": at, "item": n}, "stars": dice.randrange(6)} for at in range(9) for n in range(1, 7)]
    source = dumped(tmp_path, lines=lines, measured=measured, likes=likes)
    with Session.open(source) as session:
        found = list(session.catalogue.collections())
        assert {info.layout for info in found} == {"plain"}
        assert not list(session.catalogue.offers([info.ns for info in found]))


@pytest.mark.parametrize("layout", ["deltas", "flagged", "embedded", "archive"])
def test_a_version_in_the_id_is_stated_for_versions_alone(layout: str) -> None:
    with pytest.raises(Refused, match="only where the layout is versions"):
        Profile.read({"collection": [{"ns": "shop.a", "layout": layout, "version": "_id.version"}]}, "team.toml")
