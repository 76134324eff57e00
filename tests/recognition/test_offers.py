"""Histories of unknown programs are offered as they are, and those that nobody keeps are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest

from model.catalogue import offers
from model.catalogue.offers import Offers
from model.commands import command_line
from model.layouts.registry import bind
from model.server.retry import Server
from model.session import Session
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import doc
from tests.recognition import harness
from tests.recognition.ordinary import application
from tests.recognition.unknown_programs import SHAPES, Program, program
from tests.support import every
from tests.writers.judging import OFFERED, offered
from tests.writers.libraries import HERE

Client = pymongo.MongoClient[dict[str, Any]]


def read_by_an_offer(server: Server, client: Client, it: Program) -> list[str]:
    """The documents whose history is not what the program has written, or that nothing is offered."""
    with harness.database(client) as db:
        for name, rows in it.collections.items():
            db[name].insert_many(rows)
        others = [f"{db.name}.{name}" for name in it.collections if name != it.things]
        found = Offers(server).of(f"{db.name}.{it.things}", others)
        if found is None:
            return [f"seed {it.seed}: nothing is offered for {it.shape}"]
        layout, key = bind(server, found.profile), found.profile.id
        wrong = []
        for id, states in it.states.items():
            known = Value.of(states[-1].get(key, id))
            told = [each.content for each in layout.history(known, contents=True)]
            if told[::-1] != [doc(**{name: x for name, x in state.items() if name != key}) for state in states]:
                wrong.append(f"seed {it.seed}: {id} of {it.shape}: {found.said}")
        return wrong


@pytest.mark.slice
def test_a_history_of_an_unknown_program_is_offered_as_it_is(server: Server, client: Client, seed: int) -> None:
    count = support.by_depth(len(SHAPES), 20 * len(SHAPES), 6 * len(SHAPES))
    wrong = [each for n in range(count) for each in read_by_an_offer(server, client, program(seed + n))]
    assert not wrong


@pytest.mark.slice
def test_an_ordinary_collection_is_offered_no_history(server: Server, client: Client, seed: int) -> None:
    offered, looked, count = [], 0, support.by_depth(20, 2000, 300)
    while looked < count:
        it = application(seed)
        with harness.database(client) as db:
            places = [f"{db.name}.{name}" for name, rows in it.collections.items() if rows]
            for name, rows in it.collections.items():
                if rows:
                    db[name].insert_many(rows)
            looking = Offers(server)
            for ns in places:
                looked += 1
                if (made := looking.of(ns, [each for each in places if each != ns])) is not None:
                    offered.append(f"seed {seed}: {made.said}")
        seed += 1
    assert len(offered) <= looked // 100, offered


@pytest.mark.parametrize("name", every(3, OFFERED, in_slice=True))
def test_what_is_offered_of_a_real_library_is_what_it_has_saved(name: str) -> None:
    verdict = offered(name, HERE)
    assert not verdict.wrong
    assert verdict.states > 30


def test_nothing_is_offered_where_rows_name_no_document() -> None:
    with Session.open(str(HERE / "unknown" / "mongoose-user-history-plugin")) as session:
        assert not list(session.catalogue.offers([info.ns for info in session.catalogue.collections()]))


@pytest.mark.deep
@pytest.mark.slice
def test_whoever_replays_nothing_is_found_out(server: Server, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offers, "_fits", lambda *_: True)
    assert [each for n in range(28) for each in read_by_an_offer(server, client, program(n))]


UNCLAIMED = [shape for shape in SHAPES if shape != "composite key"]  # with a version's name, that is a claim


@pytest.fixture(params=map(SHAPES.index, UNCLAIMED), ids=UNCLAIMED)
def dump(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Program]:
    """A dump of what an unknown program wrote."""
    it = program(request.param)
    (tmp_path / "shop").mkdir()
    for name, rows in it.collections.items():
        (tmp_path / "shop" / f"{name}.bson").write_bytes(b"".join(map(bson.encode, rows)))
    return str(tmp_path), it


def test_an_offer_is_printed_and_read_once_it_is_stated(
    dump: tuple[str, Program], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, it = dump
    ns = f"shop.{it.things}"
    assert command_line.main(["collections", source, "--offers", "--json"]) == 0
    rows = {row["ns"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    (offer,) = rows[ns]["offers"]
    assert rows[ns]["layout"] == "plain"
    assert offer["right"] == offer["looked"] == 9
    assert not any(row["offers"] for name, row in rows.items() if name != ns)
    assert command_line.main(["profile", source, ns]) == 0
    stated = tmp_path / "team.toml"
    stated.write_text(capsys.readouterr().out)
    id, states = max(it.states.items(), key=lambda each: len(each[1]))
    id = states[0].get(offer["profile"].get("id", "_id"), id)
    assert command_line.main(["history", source, ns, str(id), "--profile", str(stated), "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(states)


def test_nothing_claimed_and_nothing_offered_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "things.jsonl").write_text('{"_id": 1, "a": 2}\n')
    assert command_line.main(["profile", str(tmp_path / "things.jsonl")]) == 1
    assert capsys.readouterr().out == ""


def test_a_preset_is_printed_so_that_a_team_can_change_a_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["profile", "--writer", "payload", "cms.pages"]) == 0
    said = capsys.readouterr().out
    assert 'writer = "payload"' in said
    assert 'archive = "cms._pages_versions"' in said
    stated = tmp_path / "team.toml"
    stated.write_text(said)
    (tmp_path / "pages.jsonl").write_text('{"_id": 1}\n')
    assert command_line.main(["collections", str(tmp_path / "pages.jsonl"), "--profile", str(stated)]) == 0
    assert command_line.main(["profile", "--writer", "nobody"]) == 2
    assert "the writers are django-simple-history, eve, javers" in capsys.readouterr().err


def test_no_reading_is_offered_of_what_is_claimed_or_stated(dump: tuple[str, Program], tmp_path: Path) -> None:
    source, it = dump
    with Session.open(source) as session:
        ns = f"shop.{it.things}"
        assert [each.profile.ns for each in session.catalogue.offers([ns])] == [ns]
        session.catalogue.set_layout(ns, "plain")
        assert not list(session.catalogue.offers([ns]))
