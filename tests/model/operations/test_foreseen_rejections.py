"""Rules and unique indexes that would reject a planned write are told by the plan, before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymongo.errors
import pytest

from model.operations.update import written
from model.session import Session
from model.storage import foresight
from model.values.canonical import Value

OWN = ("versions", "flagged", "deltas")
LAYOUTS = [
    pytest.param(name, marks=() if name in ("archive", "plain", "versions") else pytest.mark.deep)
    for name in ("archive", "deltas", "embedded", "flagged", "nested", "plain", "versions")
]
Make = Callable[[str], Session]
RULES = {"n": {"$not": {"$gte": 900}}}
BROKEN = "{}: The collection has rules for its documents, and this one does not meet them."
GIVEN = (
    "{}: {} is given {} by this plan too, and the unique index code_1 lets no other document have it; choose another "
    "value."
)
HELD = "{}: {} holds {} already, and the unique index code_1 lets no other document have it; choose another value."


@pytest.fixture
def rules(database: Any) -> Callable[..., None]:
    """States rules for a collection; leaves out a server that has none."""

    def stated(name: str, rules: dict[str, Any], **more: Any) -> None:
        try:
            database.command("collMod", name, validator=rules, **more)
        except pymongo.errors.OperationFailure:
            pytest.skip("this server has no rules for documents")

    return stated


@pytest.fixture
def make(server_uri: str, database: Any, tmp_path: Path) -> Iterator[Make]:
    """Opens a session with a layout for the collections one and other."""
    opened: list[Session] = []

    def session(layout: str) -> Session:
        file = tmp_path / "profile.toml"
        said = f'layout = "{layout}"\n' + ('id = "docId"\n' if layout in OWN else "")
        names = ("one", "other")
        archive = {each: f'archive = "{database.name}.{each}_past"\n' if layout == "archive" else "" for each in names}
        file.write_text("".join(f'[[collection]]\nns = "{database.name}.{n}"\n{said}{archive[n]}' for n in names))
        found = Session.open(server_uri, file, home=tmp_path)
        opened.append(found)
        for name in names:
            if found.catalogue.layout(f"{database.name}.{name}").missing_index():
                found.catalogue.layout(f"{database.name}.{name}").create_index()
        return found

    yield session
    for each in opened:
        each.close()


def fill(session: Session, ns: str, numbers: range, **more: Any) -> None:
    from model.values import canonical as c

    for n in numbers:
        content = c.encode({"n": n, **{name: value(n) for name, value in more.items()}})
        assert session.writing.create(ns, content, Value.of(f"P-{n}")).kind == "applied"


def drawn(session: Session, ns: str, update: str, filter: str = "{}") -> dict[str, str]:
    """The documents that a plan refuses, with its sentences."""
    plan = session.changing.listed(ns, filter, written(update))
    return {str(each.id.python()): each.detail for each in session.changing.drawn(plan) if each.kind == "refused"}


def applied(session: Session, ns: str, update: str, filter: str = "{}") -> set[str]:
    """The documents that the same change, carried out, does not change."""
    plan = session.changing.listed(ns, filter, written(update))
    return {str(each.id.python()) for each in session.changing.apply(plan) if each.id and each.kind == "refused"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_plan_names_what_the_rules_would_reject(
    layout: str, make: Make, database: Any, rules: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foresight, "TOGETHER", 3)  # several queries
    session, ns = make(layout), f"{database.name}.one"
    fill(session, ns, range(1, 8))
    inside = {"current.n": RULES["n"]} if layout == "embedded" else RULES
    rules("one", inside)
    before = [*database["one"].find()]
    found = drawn(session, ns, '{"$set": {"m": 1, "n": 900}}', '{"n": {"$in": [2, 7]}}')
    assert found == {id: BROKEN.format(id) for id in ("P-2", "P-7")}
    assert drawn(session, ns, '{"$set": {"m": 1}}') == {}
    assert [*database["one"].find()] == before, "nothing is written by looking"
    assert applied(session, ns, '{"$set": {"m": 1, "n": 900}}', '{"n": {"$in": [2, 7]}}') == set(found)


def test_documents_that_broke_moderate_rules_before_may_go_on(
    make: Make, database: Any, rules: Callable[..., None]
) -> None:
    session, ns = make("plain"), f"{database.name}.one"
    database["one"].insert_many([{"_id": "A", "n": 950}, {"_id": "B", "n": 1}])
    rules("one", RULES, validationLevel="moderate")
    assert set(drawn(session, ns, '{"$set": {"n": 960}}')) == {"B"} == applied(session, ns, '{"$set": {"n": 960}}')


def test_rules_that_are_off_reject_nothing(make: Make, database: Any, rules: Callable[..., None]) -> None:
    session, ns = make("plain"), f"{database.name}.one"
    fill(session, ns, range(1, 3))
    rules("one", RULES, validationAction="warn")
    assert drawn(session, ns, '{"$set": {"n": 960}}') == {}


@pytest.mark.parametrize("layout", [each for each in LAYOUTS if each.values[0] not in OWN])
def test_the_plan_names_whose_unique_key_is_held_or_given_twice(layout: str, make: Make, database: Any) -> None:
    session, ns = make(layout), f"{database.name}.one"
    fill(session, ns, range(1, 6), code=lambda n: f"c{n}")
    path = "current.code" if layout == "embedded" else "code"
    database["one"].create_index([(path, 1)], unique=True, name="code_1")
    found = drawn(session, ns, '{"$set": {"code": "c5"}}', '{"n": {"$lt": 3}}')
    assert [*found] == ["P-1", "P-2"], "it is there already"
    assert found["P-1"] == HELD.format("P-1", "P-5", f'{path} "c5"')
    both = drawn(session, ns, '{"$set": {"code": "new"}}', '{"n": {"$lt": 3}}')
    assert both == {"P-2": GIVEN.format("P-2", "P-1", f'{path} "new"')}
    assert drawn(session, ns, '{"$set": {"code": "c1"}}', '{"n": 1}') == {}, "it keeps its own"
    assert applied(session, ns, '{"$set": {"code": "new"}}', '{"n": {"$lt": 3}}') == {"P-2"}


def test_a_key_that_the_plan_takes_away_first_is_free(make: Make, database: Any) -> None:
    session, ns = make("plain"), f"{database.name}.one"
    database["one"].insert_many([{"_id": "A", "code": 2}, {"_id": "B", "code": 1}])
    database["one"].create_index("code", unique=True)
    assert [*drawn(session, ns, '{"$inc": {"code": -1}}')] == ["A"], "B has 1 until A is done"
    assert [*drawn(session, ns, '{"$inc": {"code": 1}}')] == [], "A goes to 3 before B takes 2"
    assert [*drawn(session, ns, '{"$mul": {"code": 2}}')] == [], "A goes to 4 before B takes 2"
    assert applied(session, ns, '{"$inc": {"code": -1}}') == {"A"}


def test_keys_of_several_fields_and_of_partial_indexes(make: Make, database: Any) -> None:
    session, ns = make("plain"), f"{database.name}.one"
    database["one"].insert_many([{"_id": n, "a": n % 2, "b": n, "tags": [n, n + 10], "on": n < 3} for n in range(1, 5)])
    database["one"].create_index([("a", 1), ("b", 1)], unique=True)
    database["one"].create_index("tags", unique=True)
    assert [*drawn(session, ns, '{"$set": {"b": 1}}', '{"_id": {"$gt": 1}}')] == ["3", "4"]
    assert [*drawn(session, ns, '{"$push": {"tags": 12}}', '{"_id": {"$gt": 2}}')] == ["3", "4"]
    try:
        database["one"].create_index("on", unique=True, partialFilterExpression={"on": True})
    except pymongo.errors.OperationFailure:
        return  # two documents have it, as is to be
    pytest.fail("the index was to be refused")


def test_a_copy_across_is_foreseen_and_not_ticked(
    make: Make, database: Any, rules: Callable[..., None], tmp_path: Path
) -> None:
    session, here, there = make("archive"), f"{database.name}.one", f"{database.name}.other"
    fill(session, here, range(898, 902), code=lambda n: n // 2)
    database["other"].insert_one({"_id": "X", "code": 449, "n": 1, "v": 1})
    database["other"].create_index("code", unique=True, name="code_1")
    rules("other", RULES)
    two, path = session.beside(here, session, there), tmp_path / "plan.json"
    plan = two.copying.save(str(path), two.compare())
    assert {str(each.id.python()): each.detail for each in plan.rejected} == {
        **{id: HELD.format(id, "X", "code 449") for id in ("P-898", "P-899")},
        **{id: BROKEN.format(id) for id in ("P-900", "P-901")},
    }
    assert {each["key"]: each["copy"] for each in json.loads(path.read_text())["items"]} == dict.fromkeys(
        ("P-898", "P-899", "P-900", "P-901", "X"), False
    )
    assert database["other"].count_documents({}) == 1


def test_a_copy_into_an_empty_collection_asks_its_rules(
    make: Make, database: Any, rules: Callable[..., None], tmp_path: Path
) -> None:
    session, here, there = make("plain"), f"{database.name}.one", f"{database.name}.other"
    fill(session, here, range(899, 901))
    database.create_collection("other")
    rules("other", RULES)
    two = session.beside(here, session, there)
    plan = two.copying.save(str(tmp_path / "p"), two.compare())
    assert [str(each.id.python()) for each in plan.rejected] == ["P-900"]


def test_a_collection_without_rules_is_asked_nothing_more(
    make: Make, database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, ns = make("archive"), f"{database.name}.one"
    fill(session, ns, range(1, 4))
    monkeypatch.setattr(foresight.Foresight, "why_not", lambda *_: pytest.fail("nothing can reject these"))
    assert drawn(session, ns, '{"$set": {"n": 960}}') == {}
