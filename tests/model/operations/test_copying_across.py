"""Documents copied from one collection to another by a plan: with histories, guarded, resumable, undone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model.errors import Refused, Unreadable
from model.layouts.registry import WRITABLE
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.session.two_collections import TwoCollections
from model.values import canonical as c
from model.values.canonical import Value

OWN = ("versions", "flagged", "deltas")
QUICK = ("archive", "plain")
LAYOUTS = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.deep)
    for name in WRITABLE
    if name not in ("hashed", "stream")
]
Scene = tuple[Session, TwoCollections, str, str]
"""A session, its two collections as a pair, and their names."""


def write(session: Session, ns: str, id: str, *values: int) -> None:
    first, *rest = values
    assert session.writing.create(ns, c.encode({"n": first}), Value.of(id)).kind == "applied"
    for n in rest:
        assert session.edit(ns, Value.of(id), {"n": n}).kind == "applied"


def contents(session: Session, ns: str) -> dict[str, list[object]]:
    """The values of every document's versions, oldest first."""
    found = {}
    for row in session.documents.page(ns).rows:
        versions = session.catalogue.layout(ns).history(row.id, contents="all")
        found[str(row.id.python())] = [c.decode(v.content or c.EMPTY)["n"] for v in versions][::-1]
    return found


@pytest.fixture(params=LAYOUTS)
def scene(request: pytest.FixtureRequest, server_uri: str, database: Any, tmp_path: Path) -> Iterator[Scene]:
    """One document in each standing: missing there, ahead, behind, diverged, only there, the same."""
    layout, here, there = str(request.param), f"{database.name}.l", f"{database.name}.r"
    said = 'id = "docId"\n' if layout in OWN else ""
    said += 'removed = "gone"\n' if layout == "deltas" else ""
    file = tmp_path / "profile.toml"
    file.write_text(
        "".join(
            f'[[collection]]\nns = "{ns}"\nlayout = "{layout}"\n{said}'
            + (f'archive = "{ns}_past"\n' if layout == "archive" else "")
            for ns in (here, there)
        )
    )
    with Session.open(server_uri, file, home=tmp_path) as session:
        for ns in (here, there):
            if session.catalogue.layout(ns).missing_index():
                session.catalogue.layout(ns).create_index()
        for id, one, other in (
            ("A", (1, 2, 3), ()),
            ("B", (1, 2, 3, 4), (1, 2)),
            ("C", (1, 2), (1, 2, 3)),
            ("D", (1, 2, 3), (1, 2, 9)),
            ("E", (), (1,)),
            ("F", (1, 2), (1, 2)),
        ):
            if one:
                write(session, here, id, *one)
            if other:
                write(session, there, id, *other)
        yield session, session.beside(here, session, there), here, there


def test_what_is_ticked_is_copied_with_its_history_and_undone(scene: Scene, tmp_path: Path) -> None:
    session, two, here, there = scene
    before, path = contents(session, there), str(tmp_path / "plan.json")
    two.copying.save(path, two.compare())
    plan = json.loads(Path(path).read_text())
    versioned = "version" in session.catalogue.info(here).fields
    wanted = {"A": True, "B": True, "C": not versioned, "D": not versioned, "E": False}
    assert {each["key"]: each["copy"] for each in plan["items"]} == wanted
    for each in plan["items"]:
        each["copy"] = each["key"] in ("A", "B")
    Path(path).write_text(json.dumps(plan))
    loaded = two.copying.load(path)
    assert {each.detail: each.kind for each in two.copying.apply(loaded)}.keys()
    after = contents(session, there)
    assert after == {**before, "A": contents(session, here)["A"], "B": contents(session, here)["B"]}
    assert {each.kind for each in two.copying.apply(two.copying.load(path))} == {"skipped"}  # nothing twice
    assert contents(session, there) == after
    assert {each.kind for each in session.way_back.undo_run(plan["run"])} == {"applied"}
    undone = contents(session, there)
    assert "A" not in undone
    assert undone["B"] == before["B"] or not versioned
    assert undone["B"][-1] == before["B"][-1]


def stored(session: Session, ns: str) -> dict[str, list[bytes]]:
    """Every stored document of a collection and of what keeps its history."""
    port = session.catalogue.layout(ns).server
    return {name: sorted(port.find(name)) for name in (ns, f"{ns}_past")}


def test_a_dry_run_says_what_would_be_written_and_writes_nothing(scene: Scene) -> None:
    session, two, here, there = scene
    before = stored(session, there)
    found = {str(each.key.python()): each for each in two.compare()}
    versioned = "version" in session.catalogue.info(here).fields
    plan = two.copying.planned(found.values())
    drawn = {str(each.standing.key.python()): each for each in two.copying.drawn(plan)}
    assert {key: each.kind for key, each in drawn.items()} == {
        "A": "applied", "B": "applied", "C": "refused" if versioned else "applied", "D": "applied", "E": "refused"
    }  # fmt: skip
    assert drawn["E"].detail == "E was not copied. It is missing here, so there is nothing to copy."
    if versioned:
        assert [len(drawn[key].versions) for key in "ABD"] == [3, 2, 0]
        assert all(drawn[key].steps for key in "AB")
    assert [c.decode(drawn[key].content or c.EMPTY)["n"] for key in "ABD"] == [3, 4, 3]
    assert stored(session, there) == before
    assert next(session.journal.records("run", plan.run), None) is None


def test_one_run_is_undone_as_one(scene: Scene) -> None:
    session, two, here, there = scene
    before = contents(session, there)
    plan = two.copying.planned(each for each in two.compare() if each.change not in ("behind", "only there"))
    assert {each.kind for each in two.copying.apply(plan)} == {"applied"}
    copied = contents(session, there)
    assert [copied[id][-1] for id in "ABD"] == [3, 4, 3]
    assert {each.kind for each in two.copying.drawn(plan)} == {"skipped"}
    assert {each.kind for each in session.way_back.undo_run(plan.run)} == {"applied"}
    undone = contents(session, there)
    assert "A" not in undone
    assert {id: values[-1] for id, values in undone.items()} == {id: values[-1] for id, values in before.items()}
    if "version" in session.catalogue.info(here).fields:
        assert undone["B"] == before["B"]


def test_a_version_that_never_became_current_is_not_copied(server_uri: str, database: Any, tmp_path: Path) -> None:
    here, there = f"{database.name}.l", f"{database.name}.r"
    file = tmp_path / "profile.toml"
    file.write_text(
        "".join(f'[[collection]]\nns = "{ns}"\nlayout = "archive"\narchive = "{ns}_past"\n' for ns in (here, there))
    )
    with Session.open(server_uri, file, home=tmp_path) as session:
        for ns in (here, there):
            session.catalogue.layout(ns).create_index()
            write(session, ns, "A", 1, 2)
        row = database["l_past"].find_one()
        session.edit(here, Value.of("A"), {"n": 3})
        database["l_past"].insert_one({**row, "_id": 7, "v": 4, "n": 99})  # of a writer that died before its swap
        two = session.beside(here, session, there)
        (found,) = two.compare()
        assert {each.kind for each in two.copying.apply(two.copying.planned([found]))} == {"applied"}
        assert contents(session, there) == {"A": [1, 2, 3]}


def test_versions_bring_their_hashes_and_those_that_are_there_keep_theirs(
    server_uri: str, database: Any, tmp_path: Path
) -> None:
    def sealed(n: int, by: str, **more: Any) -> dict[str, Any]:
        return {**more, "v": n, "n": n, "seal": hashlib.new(by, c.encode({"n": n})).hexdigest()}

    here, there = f"{database.name}.l", f"{database.name}.r"
    file = tmp_path / "profile.toml"
    file.write_text(
        "".join(
            f'[[collection]]\nns = "{ns}"\nlayout = "archive"\narchive = "{ns}_past"\nhash = "seal"\n'
            f'hash_recipe = {{ algorithm = "{by}", over = "bson", keys = "stored", encoding = "hex" }}\n'
            for ns, by in ((here, "sha1"), (there, "sha256"))
        )
    )
    database["l"].insert_one(sealed(3, "sha1", _id="A"))
    damaged = {"docId": "A", "v": 2, "n": 2, "seal": "0" * 40}
    database["l_past"].insert_many([sealed(1, "sha1", docId="A"), damaged])
    database["r"].insert_one(sealed(1, "sha256", _id="A"))
    with Session.open(server_uri, file, home=tmp_path) as session:
        session.catalogue.layout(there).create_index()
        two = session.beside(here, session, there)
        (found,) = two.compare()
        assert [each.kind for each in two.copying.apply(two.copying.planned([found]))] == ["applied"]
    assert [row["seal"] for row in database["r"].find()] == [sealed(3, "sha256")["seal"]]
    seals = {row["v"]: row["seal"] for row in database["r_past"].find()}
    assert seals == {1: sealed(1, "sha256")["seal"], 2: "0" * 40}, "what did not fit is told there too"


def test_a_writer_between_plan_and_copy_is_not_overwritten(scene: Scene) -> None:
    session, two, here, there = scene
    plan = two.copying.planned(each for each in two.compare() if each.change in ("changed", "ahead", "diverged"))
    copying = two.copying.apply(plan)
    assert session.edit(there, Value.of("B"), {"n": 88}).kind == "applied"
    assert session.edit(here, Value.of("D"), {"n": 77}).kind == "applied"
    assert session.edit(here, Value.of("D"), {"n": 3}).kind == "applied"  # the content comes back, as another version
    before = contents(session, there)
    ended = {str(each.id.python()): each for each in copying if each.id}
    assert (ended["B"].kind, ended["B"].detail) == ("conflict", "B moved on there since the plan.")
    versioned = "version" in session.catalogue.info(here).fields
    if versioned:
        assert (ended["D"].kind, ended["D"].detail) == ("conflict", "D moved on here since the plan.")
        assert contents(session, there) == before


def test_what_moved_since_the_plan_is_left_alone(scene: Scene, tmp_path: Path) -> None:
    session, two, here, there = scene
    path = str(tmp_path / "plan.json")
    two.copying.save(path, two.compare())
    assert session.edit(here, Value.of("A"), {"n": 77}).kind == "applied"
    assert session.edit(there, Value.of("B"), {"n": 88}).kind == "applied"
    before = contents(session, there)
    ended = {str(each.id.python()): each.kind for each in two.copying.apply(two.copying.load(path)) if each.id}
    assert (ended.get("A", "conflict"), ended["B"]) == ("conflict", "conflict")
    assert all(contents(session, there)[id] == before[id] for id in ("B", "E"))
    assert "A" not in contents(session, there)


@pytest.mark.deep
def test_a_run_that_is_killed_at_any_write_is_carried_on(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, two, here, there = scene
    path, sent, send = str(tmp_path / "plan.json"), 0, Server.send
    two.copying.save(path, two.compare())
    plan = json.loads(Path(path).read_text())
    for each in plan["items"]:
        each["copy"] = each["key"] in ("A", "B")
    Path(path).write_text(json.dumps(plan))

    def killed(self: Server, write: Write) -> Reply:
        nonlocal sent
        sent += 1
        if sent % 2 == 0:  # each run does one write and dies at the next one
            raise KeyboardInterrupt
        return send(self, write)

    monkeypatch.setattr(Server, "send", killed)
    runs = 0
    while True:
        runs += 1
        assert runs < 20
        try:
            ended = list(two.copying.apply(two.copying.load(path)))
            break
        except KeyboardInterrupt:
            continue
    monkeypatch.undo()
    assert {each.kind for each in ended} <= {"applied", "skipped"}
    for id in ("A", "B"):
        assert contents(session, there)[id] == contents(session, here)[id]
    assert {each.kind for each in session.way_back.undo_run(plan["run"])} <= {"applied", "skipped"}
    undone = contents(session, there)
    assert "A" not in undone
    assert undone["B"][-1] == 2


@pytest.mark.deep
def test_a_plan_that_somebody_damaged_is_refused(scene: Scene, tmp_path: Path) -> None:
    session, two, _, there = scene
    path = tmp_path / "plan.json"
    two.copying.save(str(path), two.compare())
    plan = json.loads(path.read_text())
    for wrong in (
        {"copy": "yes"},
        {"change": "later"},
        {"change": "only there"},
        {"id": 7},
    ):
        path.write_text(json.dumps({**plan, "items": [{**plan["items"][0], **wrong}]}))
        with pytest.raises(Unreadable):
            two.copying.load(str(path))
    path.write_text(json.dumps({**plan, "from": {"source": "x", "ns": "y", "key": ""}}))
    with pytest.raises(Refused, match="copies from x y, and this is"):
        two.copying.load(str(path))
    ticked = [{**each, "copy": True} for each in plan["items"]]
    path.write_text(json.dumps({**plan, "items": ticked}))
    ended = {each.kind for each in two.copying.apply(two.copying.load(str(path)))}
    assert "refused" in ended  # what is only there has no source
    assert contents(session, there)["E"] == [1]
