"""Hashes of versions out of which fields are erased: rebuilt if they fitted, left as evidence if they did not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Finding
from model.operations.cleaned_documents import Cleaned
from model.operations.erasing import Trace
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.storage.content_hashes import content_hash
from model.text.paths import path_from_text
from model.values import canonical as c
from model.values.canonical import Value

STATED = '[[collection]]\nns = "{ns}"\nlayout = "{layout}"\nhash = "seal"\n'
LAYOUTS = ("archive", "embedded", "nested", "versions", "deltas")
QUICK = ("archive", "nested", "deltas")
PATHS = (path_from_text("holder.phone"),)
ID = Value.of("P-1")
STATES = [
    {"holder": {"name": "Ann", "phone": "0151-1111"}, "n": 1},
    {"holder": {"name": "Ann", "phone": "0151-1111"}, "n": 2},
    {"holder": {"name": "Ann", "phone": "0151-2222"}, "n": 2},
    {"holder": {"name": "Ann", "phone": "0151-2222"}, "n": 4},
]
Scene = tuple[Session, str]


def seal(content: dict[str, Any], damaged: bool = False) -> str:
    made = content_hash(c.encode({**content, "n": 99} if damaged else content), CollectionProfile("a.b", "archive"))
    return str(made.python())


def stored(layout: str, damaged: int = 0) -> dict[str, list[dict[str, Any]]]:
    """The document's versions, by collections; the hash of the ``damaged`` one is of another content."""
    rows = [{"v": v, **state, "seal": seal(state, v == damaged)} for v, state in enumerate(STATES, 1)]
    if layout == "archive":
        return {"people": [{"_id": "P-1", **rows[-1]}], "people_past": [{"docId": "P-1", **row} for row in rows[:-1]]}
    if layout == "embedded":
        return {"people": [{"_id": "P-1", "current": rows[-1], "prev": rows[:-1]}]}
    if layout == "nested":
        return {"people": [{"_id": "P-1", **rows[-1], "versions": rows[:-1]}]}
    if layout == "deltas":
        for row, before in zip(rows[:0:-1], STATES[-2::-1], strict=True):
            for name, value in before.items():
                if row[name] == value:
                    del row[name]
    return {"people": [{"docId": "P-1", **row} for row in rows]}


@pytest.fixture(params=[pytest.param(each, marks=() if each in QUICK else pytest.mark.deep) for each in LAYOUTS])
def layout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def people(layout: str, server_uri: str, database: Any, tmp_path: Path) -> Iterator[Scene]:
    """A person with four versions, each with its hash."""
    ns, file = f"{database.name}.people", tmp_path / "profile.toml"
    said = STATED.format(ns=ns, layout=layout) + ('id = "docId"\n' if layout in ("versions", "deltas") else "")
    said += 'version = "v"\n'
    file.write_text(said + (f'archive = "{ns}_past"\n' if layout == "archive" else ""))
    with Session.open(server_uri, file, home=tmp_path / "home") as session:
        put(database, layout)
        if session.catalogue.layout(ns).missing_index():
            session.catalogue.layout(ns).create_index()
        yield session, ns


def put(database: Any, layout: str, damaged: int = 0) -> None:
    for name, rows in stored(layout, damaged).items():
        database[name].delete_many({})
        database[name].insert_many(rows)


def wrong(session: Session, ns: str) -> list[tuple[str, tuple[Value, ...]]]:
    """What a scan says of the hashes."""
    found = session.scans.scan([ns])
    return sorted((each.code, each.versions) for each in found if isinstance(each, Finding) and "hash" in each.detail)


def seals(database: Any) -> dict[int, str]:
    """The stored hash of each version."""
    rows: list[dict[str, Any]] = [row for name in ("people", "people_past") for row in database[name].find()]
    rows += [part for row in rows if "prev" in row for part in (*row["prev"], row["current"])]
    rows += [part for row in rows for part in row.get("versions", ())]
    return {row["v"]: row["seal"] for row in rows if "v" in row}


def test_hashes_that_fitted_fit_what_is_left(people: Scene, database: Any) -> None:
    session, ns = people
    assert wrong(session, ns) == []
    assert session.erasing.look(ns, ID, PATHS).misfits == ()
    done = session.erasing.apply(ns, ID, PATHS)
    assert (done.found, done.left) == ((), ())
    assert wrong(session, ns) == []
    left = [{**state, "holder": {"name": "Ann"}} for state in STATES]
    assert seals(database) == {v: seal(state) for v, state in enumerate(left, 1)}
    assert session.erasing.apply(ns, ID, PATHS).erased == ()


@pytest.mark.parametrize("damaged", [1, 2, 4])
def test_a_hash_that_did_not_fit_stays_and_is_told(people: Scene, layout: str, damaged: int, database: Any) -> None:
    session, ns = people
    put(database, layout, damaged)
    before, told = seals(database), wrong(session, ns)
    assert told, "the scan tells it"
    found = session.erasing.look(ns, ID, PATHS)
    assert sum(each.count for each in found.misfits) == 1
    done = session.erasing.apply(ns, ID, PATHS)
    assert (done.found, done.left) == ((), found.misfits)
    now = seals(database)
    assert [v for v in now if now[v] == before[v]] == [damaged], "that one alone stays"
    assert wrong(session, ns) == told, "the scan still tells it, and nothing else"
    assert done.as_json()["hashes left"]


def test_killed_at_every_write_all_hashes_fit_after_the_next_run(
    people: Scene, layout: str, database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, ns = people
    real = Server.send

    class Killed(BaseException):
        pass

    def send(server: Server, left: list[int], write: Write) -> Reply:
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        return real(server, write)

    for at in range(1, 7):
        put(database, layout)
        with monkeypatch.context() as patch:
            patch.setattr(Server, "send", partialmethod(send, [at]))
            try:
                session.erasing.apply(ns, ID, PATHS)
                break
            except Killed:
                pass
        assert session.erasing.apply(ns, ID, PATHS).left == ()
        assert wrong(session, ns) == [], f"killed at write {at}"
    assert at == {"embedded": 2, "nested": 2}.get(layout, 5)


def test_a_version_that_came_meanwhile_keeps_its_hash_right(people: Scene, layout: str, database: Any) -> None:
    session, ns = people
    edits = iter((5, 6))

    def writer(done: int, total: int | None) -> None:
        if done and (v := next(edits, None)):
            if layout != "deltas":
                assert session.edit(ns, "P-1", set={"m": v}).kind == "applied"
                return
            # An edit from here is refused for the moment; another program has read the state before, and adds to it.
            database["people"].insert_one({"docId": "P-1", "v": v, "m": v, "seal": seal({**STATES[-1], "m": v})})

    done = session.erasing.apply(ns, ID, PATHS, writer)
    assert (done.found, done.left) == ((), ())
    assert wrong(session, ns) == []


@pytest.mark.parametrize("behind", [False, True])
def test_a_version_that_comes_while_all_is_read_keeps_its_hash_right(
    behind: bool, people: Scene, layout: str, database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, ns = people
    if layout != "deltas":
        pytest.skip("what it holds is enough to know its state")
    changed = {"holder": {"name": "Ann", "phone": "0151-3333"}}
    coming = [{"docId": "P-1", "v": 5, **changed, "seal": seal({**STATES[-1], **changed})}]
    real = Cleaned.look_again

    def look_again(of: Cleaned) -> None:
        if behind:
            real(of)
        if coming:
            database["people"].insert_one(coming.pop())
        if not behind:
            real(of)

    monkeypatch.setattr(Cleaned, "look_again", look_again)
    done = session.erasing.apply(ns, ID, PATHS)
    assert (done.found, done.left) == ((), ())
    assert wrong(session, ns) == []


def test_fields_in_another_order_than_the_hash_has_keep_a_hash_in_that_order(
    people: Scene, layout: str, database: Any
) -> None:
    session, ns = people
    if layout != "archive":
        pytest.skip("one layout shows it")
    turned = {"n": 4, "holder": STATES[-1]["holder"]}
    database["people"].update_one({"_id": "P-1"}, {"$set": {"seal": seal(turned)}})
    told = wrong(session, ns)
    done = session.erasing.apply(ns, ID, PATHS)
    assert done.left == ()
    assert seals(database)[4] == seal({"n": 4, "holder": {"name": "Ann"}})
    assert wrong(session, ns) == told


def test_the_places_of_misfits_are_named(people: Scene, layout: str, database: Any) -> None:
    session, ns = people
    put(database, layout, 1)
    place = {"archive": "archive", "embedded": "current", "nested": "current"}.get(layout, "versions")
    where = f"{ns}_past" if layout == "archive" else ns
    assert session.erasing.look(ns, ID, PATHS).misfits == (Trace(place, where, 1),)
