"""Our edits over data of real programs: the next row is one that the program would have written."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest

from model.foundation.records import Version
from model.layouts.base import Layout
from model.localserver import LocalServer
from model.patches.tree import alike, tree_of
from model.session import Session
from model.storage.row_paths import value_at
from model.values import canonical as c
from model.values.canonical import Value
from model.writers.row_writer import NOTHING
from model.writers.writers import presets
from tests.support import every
from tests.writers.editing import NS, Edits
from tests.writers.judging import judged
from tests.writers.libraries import HERE, NAMES, VARIANTS, Told, keep, line_of, told

EDITABLE = sorted(name for name, each in presets().items() if each.keys.get("edit", "no") != "no")


@pytest.fixture(params=[*every(4, EDITABLE), *every(1, VARIANTS)])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def session(name: str, tmp_path: Path) -> Iterator[Session]:
    with Session.open(str(HERE / name), into_memory=True, home=tmp_path) as opened:
        yield opened


@pytest.fixture
def id(name: str) -> Value:
    """The document with the most saves among those that are still there."""
    lives: dict[str, list[Told]] = {}
    for each in told(name):
        lives.setdefault(str(each.id), []).append(each)
    return Value.of(max((life for life in lives.values() if life[-1].kind == "saved"), key=len)[0].id)


def layout(session: Session) -> Layout:
    return session.catalogue.layout(NS)


def rows(session: Session, id: Value) -> list[bytes]:
    writer = layout(session).rows
    assert writer is not None
    return [row.raw for row in writer._rows.of(id)]


def shape(raw: bytes, path: str = "") -> dict[str, str]:
    """The fields of a row with the kinds of their values; what users put there aside."""
    found: dict[str, str] = {}
    for name, value in c.fields(raw):
        found[f"{path}{name}"] = value.kind
        if value.type == c.OBJECT:
            found |= shape(value.data, f"{path}{name}.")
    return found


def test_some_programs_allow_edits() -> None:
    assert len(EDITABLE) >= 5


def test_an_edit_makes_a_version_and_leaves_all_others_as_they_were(session: Session, id: Value) -> None:
    before = [session.history.version(NS, id, each.v) for each in session.history.versions(NS, id)]
    assert session.edit(NS, id, {"title": "edited here", "tags": ["x", "y"]}).kind == "applied"
    after = [session.history.version(NS, id, each.v) for each in session.history.versions(NS, id)]
    assert all(same(one, other) for one, other in zip(after[1:], before, strict=True))
    assert [each.v for each in after[1:]] == [each.v for each in before]
    assert c.decode(after[0].content or c.EMPTY)["title"] == "edited here"
    assert (after[0].current, after[0].detail, after[0].state) == (True, "", "present")
    assert not list(session.scans.scan([]))


def test_its_row_is_of_the_shape_of_those_that_the_program_wrote(session: Session, id: Value) -> None:
    theirs = shape(rows(session, id)[-1])
    assert session.edit(NS, id, {"stock": 7}).kind == "applied"
    p = layout(session).profile
    spared = (name for name, said in p.row.items() if said == NOTHING)
    told = tuple(path for path in (p.author, p.reason, *spared) if path and not path.startswith("_"))  # if asked for
    assert shape(rows(session, id)[-1]) == {name: kind for name, kind in theirs.items() if not name.startswith(told)}


@pytest.mark.deep
@pytest.mark.slice
def test_an_earlier_state_is_restored_and_that_is_undone(session: Session, id: Value) -> None:
    versions = [session.history.version(NS, id, each.v) for each in session.history.versions(NS, id)]
    outcome = session.writing.restore(NS, id, versions[2].v or Value.of(None))
    assert outcome.kind == "applied", outcome
    assert same(session.history.version(NS, id), versions[2])
    assert session.way_back.undo(outcome.entry or "").kind == "applied"
    assert same(session.history.version(NS, id), versions[0])
    assert len(list(session.history.versions(NS, id))) == len(versions) + 2
    assert not list(session.scans.scan([]))


def same(one: Version, other: Version) -> bool:
    """Whether two states are the same, as JSON: patches keep dates as text."""
    return alike(tree_of(one.content or c.EMPTY), tree_of(other.content or c.EMPTY))


def test_an_edit_moves_the_lock_of_the_program(session: Session, id: Value) -> None:
    guard = layout(session).profile.guard
    assert guard is not None
    before = value_at(session.history.version(NS, id).raw or c.EMPTY, guard.field)
    assert session.edit(NS, id, {"title": "once more"}).kind == "applied"
    after = value_at(session.history.version(NS, id).raw or c.EMPTY, guard.field)
    assert (before and before.python()) + 1 == (after and after.python())


@pytest.mark.deep
def test_many_edits_are_shown_as_they_were(name: str, tmp_path: Path) -> None:
    edits = Edits(tmp_path, 3)
    with LocalServer() as server, pymongo.MongoClient[dict[str, Any]](server.uri) as client:
        for path in (HERE / name / "shop").iterdir():
            client["shop"][path.name.removesuffix(".bson.gz")].insert_many(
                bson.decode_all(gzip.decompress(path.read_bytes()))
            )
        lines = [*map(line_of, told(name)), *map(line_of, edits(server.uri))]
        keep(server.uri, tmp_path / name, lines)
    verdict = judged(name, tmp_path)
    assert not verdict.wrong
    assert verdict.findings == 0
    assert edits.done > 10


READ_ONLY = sorted(name for name in NAMES if name not in EDITABLE)


@pytest.mark.parametrize("program", READ_ONLY)
def test_where_a_program_allows_no_edit_the_reason_and_the_values_are_told(program: str, tmp_path: Path) -> None:
    life = next(each for each in told(program) if each.kind == "saved")
    with Session.open(str(HERE / program), into_memory=True, home=tmp_path) as opened:
        before = opened.history.version(life.ns, Value.of(life.id)).raw
        outcome = opened.edit(life.ns, Value.of(life.id), {"title": "edited here"}, "stock")
        assert outcome.kind == "refused"
        title = presets()[program].title
        assert outcome.detail.startswith(f"{title} ")
        assert outcome.detail.endswith('The values to enter there: title = "edited here"; stock is taken out.')
        assert opened.history.version(life.ns, Value.of(life.id)).raw == before
