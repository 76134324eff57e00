"""A turn found by halving a long history, and the histories that are read whole all the same."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bson
import pytest
from bson import ObjectId

from model.commands import command_line
from model.localserver import LocalServer
from model.profile import Profile, stated
from model.profile.profile_file import block
from model.session import Session
from model.values.canonical import Value
from tests import support
from tests.model.command_log import CommandLog, listening

ID = Value.of("d")
PLACES = {"archive": {"archive": "db.past", "archive_id": "docId"}}


@pytest.fixture
def log() -> Iterator[CommandLog]:
    with listening() as made:
        yield made


def load(server: LocalServer, layout: str, versions: int, state: Callable[[int], dict[str, Any] | None]) -> Profile:
    """One document with the states that ``state`` gives by number, None for a gap."""
    rows = [{"docId": "d", "v": v, **made} for v in range(1, versions + 1) if (made := state(v)) is not None]
    flag = [{"current": each is rows[-1]} if layout == "flagged" else {} for each in rows]
    stored = [bson.encode({"_id": ObjectId(), **a, **b}) for a, b in zip(rows, flag, strict=True)]
    if layout == "archive":
        server.load("db.past", stored[:-1])
        server.load("db.things", [bson.encode({"_id": "d", **{n: v for n, v in rows[-1].items() if n != "docId"}})])
    else:
        server.load("db.things", stored)
    server.index("db.past" if layout == "archive" else "db.things", [("docId", 1), ("v", 1)], unique=True)
    return Profile((stated("db.things", layout, **PLACES.get(layout, {})),))


@pytest.mark.parametrize(
    ("layout", "versions"),
    [
        ("versions", 2000),
        *(pytest.param(each, 100_000, marks=pytest.mark.deep) for each in ("versions", "flagged", "archive")),
    ],
)
def test_one_turn_of_many_versions_is_found_in_twice_as_many_reads_as_halvings(
    layout: str, versions: int, log: CommandLog
) -> None:
    turn = versions * 7 // 9
    with LocalServer() as server:
        profile = load(server, layout, versions, lambda v: {"price": int(v >= turn)})
        with Session.open(server.uri, profile) as session:
            session.history.version("db.things", ID)
            log.clear()
            found = session.history.bisect("db.things", ID, "{price: 1}", whole=False)
        assert len(log.names) <= 2 * math.log2(versions)
        assert log.rows <= 2 * math.log2(versions)
    ((made,), holds) = found.turns, found.holds
    assert found.halved
    assert (made.version.v, made.before.v, made.holds, holds, made.gap) == (
        *(Value.of(turn), Value.of(turn - 1)),
        *(True, True, 0),
    )


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("layout", support.every(1, ["versions", "archive", "flagged"]))
def test_a_turn_found_by_halving_is_the_one_that_the_whole_history_has(layout: str, seed: int) -> None:
    r = random.Random(seed)
    versions = 1500
    turn = r.randrange(2, versions)
    gone = {v for v in range(2, versions) if r.random() < 0.3} | {*range(turn - r.randrange(40), turn)} - {1}
    with LocalServer() as server:
        profile = load(server, layout, versions, lambda v: None if v in gone else {"price": int(v >= turn)})
        with Session.open(server.uri, profile) as session:
            half, whole = (session.history.bisect("db.things", ID, "{price: 1}", whole=each) for each in (False, True))
    assert half.halved
    assert not whole.halved
    assert [(t.version.v, t.before.v, t.holds, t.gap) for t in half.turns] == [
        (t.version.v, t.before.v, t.holds, t.gap) for t in whole.turns
    ]


@pytest.mark.parametrize("price", [lambda v: int(v in (700, 701)), lambda v: 5, lambda v: None])
def test_what_halving_cannot_tell_is_read_whole(price: Callable[[int], int | None]) -> None:
    with LocalServer() as server:
        profile = load(server, "versions", 1200, lambda v: {"price": price(v)})
        with Session.open(server.uri, profile) as session:
            found = session.history.bisect("db.things", ID, "{price: 1}", whole=False)
    assert (found.halved, found.looked) == (False, 1200)
    assert len(found.turns) == (2 if price(700) == 1 else 0)


def test_the_command_says_that_it_halved_and_reads_all_where_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "team.toml"
    with LocalServer() as server:
        profile = load(server, "versions", 1500, lambda v: {"price": int(v >= 900 or v in (3, 4))})
        file.write_text(block(profile.collections[0]), "utf-8")
        told = ("bisect", server.uri, "db.things", "d", "{price: 1}", "--profile", str(file), "--json")
        assert command_line.main([*told]) == 0
        out, err = capsys.readouterr()
        assert len(out.splitlines()) == 1
        assert "--all finds every turn" in err
        assert command_line.main([*told, "--all"]) == 0
        out, err = capsys.readouterr()
        assert (len(out.splitlines()), err) == (3, "")
