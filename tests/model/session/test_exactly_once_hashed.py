"""Hash-versioned inserts and updates as a library: none of the nine flaws of the published one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pymongo.database
import pytest

from model.foundation.records import Outcome
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.session.exactly_once import Once
from model.values.canonical import Value, encode, hash_of

LOST = Reply("unknown", retry=True, sentence="The connection was lost while the write was on its way.")
REAL: Callable[[Server, Write], Reply] = Server.send


@pytest.fixture
def session(local_uri: str, local_database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Session]:
    stated = tmp_path / "layouts.toml"
    token = 'token = "_w"' if getattr(request, "param", "") == "with a token" else ""
    stated.write_text(f'[[collection]]\nns = "{local_database}.carts"\nlayout = "hashed"\n{token}\n', encoding="utf-8")
    with Session.open(local_uri, stated, home=tmp_path / "home") as made:
        yield made


@pytest.fixture
def local_database(local_uri: str) -> Iterator[str]:
    with pymongo.MongoClient(local_uri) as client:
        yield "hashed_once"
        client.drop_database("hashed_once")


@pytest.fixture
def carts(local_uri: str, local_database: str) -> Iterator[Any]:
    with pymongo.MongoClient(local_uri) as client:
        yield client[local_database]["carts"]


@pytest.fixture
def once(session: Session) -> Once:
    return session.once


NS = "hashed_once.carts"


def lose(monkeypatch: pytest.MonkeyPatch, *fates: str) -> None:
    left = list(fates)

    def send(server: Server, write: Write) -> Reply:
        fate = left.pop(0) if left else "sound"
        reply = REAL(server, write) if fate != "never" else LOST
        return reply if fate == "sound" else LOST

    monkeypatch.setattr(Server, "send", send)


def made(once: Once, id: object, **content: object) -> Value:
    outcome = once.insert(NS, content, id)
    assert outcome.kind == "applied", outcome
    assert outcome.version is not None
    return outcome.version


def sound(carts: Any) -> bool:
    docs = [{k: v for k, v in doc.items() if k not in ("_id", "_versioned_id", "_w")} for doc in carts.find()]
    return [hash_of(encode(doc)) for doc in docs] == [doc["_versioned_id"] for doc in carts.find()]


def test_1_equal_documents_are_not_confused(once: Once, carts: Any) -> None:
    first = made(once, 1, n=0)
    assert made(once, 2, n=0) == first
    assert once.update(NS, 2, first, {"n": 5}).kind == "applied"
    assert [doc["n"] for doc in carts.find().sort("_id")] == [0, 5]
    assert sound(carts)


def test_2_a_lost_reply_changes_one_document_once(once: Once, carts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(once, 1, n=0)
    made(once, 2, n=0)
    lose(monkeypatch, "lost")
    assert once.update(NS, 1, first, {"n": 5}).kind == "applied"
    assert [doc["n"] for doc in carts.find().sort("_id")] == [5, 0]


def test_3_after_an_error_the_same_save_goes_through(once: Once, carts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(once, 1, n=0)
    lose(monkeypatch, "never", "never")
    assert once.update(NS, 1, first, {"n": 5}).kind == "unknown"
    monkeypatch.undo()
    assert once.update(NS, 1, first, {"n": 5}).kind == "applied"
    again = once.update(NS, 1, first, {"n": 5})
    assert (again.kind, again.version) == ("skipped", Value.of(carts.find_one()["_versioned_id"]))


def test_4_removed_fields_are_gone_and_the_hash_fits(once: Once, carts: Any) -> None:
    first = made(once, 1, n=0, gone=1)
    assert once.update(NS, 1, first, {"n": 0}).kind == "applied"
    assert set(carts.find_one()) == {"_id", "n", "_versioned_id"}
    assert sound(carts)


def test_5_types_and_the_order_of_fields_are_part_of_the_content(once: Once, carts: Any) -> None:
    version = made(once, 1, a=1, b=2)
    for content in ({"a": 1.0, "b": 2}, {"a": True, "b": 2}, {"b": 2, "a": True}):
        outcome = once.update(NS, 1, version, content)
        assert outcome.kind == "applied", outcome
        assert outcome.version is not None
        assert outcome.version != version
        version = outcome.version
        stored = {k: v for k, v in carts.find_one().items() if k in content}
        assert encode(stored) == encode(content)
        assert sound(carts)


@pytest.mark.parametrize("session", ["with a token"], indirect=True)
def test_6_a_content_that_comes_back_does_not_take_a_stale_edit(session: Session, carts: Any) -> None:
    first = made(session.once, 1, n=0)
    opened = session.writing.open(NS, Value.of(1))
    second = session.once.update(NS, 1, first, {"n": 1})
    assert second.version is not None
    assert session.once.update(NS, 1, second.version, {"n": 0}).version == first
    assert session.once.update(NS, 1, opened.base, {"n": 9}).kind == "conflict"
    assert carts.find_one()["n"] == 0
    assert session.once.update(NS, 1, session.history.version(NS, Value.of(1)), {"n": 9}).kind == "applied"


def test_7_equal_content_can_be_inserted_as_often_as_wanted(once: Once, carts: Any) -> None:
    for _ in range(3):
        assert once.insert(NS, {"n": 0}).kind == "applied"
    assert once.insert(NS, {"n": 0}, "mine").kind == "applied"
    assert once.insert(NS, {"n": 0}, "mine").kind == "skipped", "the same under its own id is there already"
    assert once.insert(NS, {"n": 1}, "mine").kind == "refused"
    assert carts.count_documents({}) == 4


def test_by_its_hash_the_same_content_is_inserted_once_by_however_many_writers(once: Once, carts: Any) -> None:
    with ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(lambda _: once.insert(NS, {"n": 0, "of": "all"}, id="hash"), range(24)))
    assert sorted(end.kind for end in ends) == ["applied", *["skipped"] * 23]
    digest = hash_of(encode({"n": 0, "of": "all"}))
    assert list(carts.find()) == [{"_id": digest, "n": 0, "of": "all", "_versioned_id": digest}]
    assert {end.id for end in ends} == {end.version for end in ends} == {Value.of(digest)}


def test_by_its_hash_a_content_that_was_changed_since_is_refused_and_said(once: Once, carts: Any) -> None:
    first = once.insert(NS, {"n": 0}, id="hash")
    assert first.id is not None
    assert once.update(NS, first.id, first.version, {"n": 1}).kind == "applied"
    again = once.insert(NS, {"n": 0}, id="hash")
    assert again.kind == "refused"
    assert "was made of this content and was changed since" in again.detail
    assert [doc["n"] for doc in carts.find()] == [1]


def test_by_its_hash_an_insert_in_doubt_may_be_repeated(
    once: Once, carts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(monkeypatch, "lost")
    assert once.insert(NS, {"n": 0}, id="hash").kind == "applied"
    lose(monkeypatch, "never", "never")
    assert once.insert(NS, {"n": 1}, id="hash").kind == "unknown"
    monkeypatch.undo()
    assert [once.insert(NS, {"n": 1}, id="hash").kind for _ in range(2)] == ["applied", "skipped"]
    assert carts.count_documents({}) == 2


def test_an_id_that_is_the_word_hash_is_still_an_id(once: Once, carts: Any) -> None:
    assert once.insert(NS, {"n": 0}, Value.of("hash")).kind == "applied"
    assert [doc["_id"] for doc in carts.find()] == ["hash"]


def test_by_its_hash_a_content_under_another_recipe_has_that_recipes_id(once: Once, carts: Any) -> None:
    for n in range(3):
        carts.insert_one({"n": n, "_versioned_id": sha256(encode({"n": n})).hexdigest()})
    end = once.insert(NS, {"n": 9}, id="hash")
    assert (end.kind, end.id) == ("applied", Value.of(sha256(encode({"n": 9})).hexdigest()))
    carts.insert_many([{"n": n, "_versioned_id": "0" * 64} for n in range(20, 30)])
    assert once.insert(NS, {"n": 10}, id="hash").kind == "applied", "a session keeps the recipe that it has proven"


def test_8_what_is_not_allowed_is_said_as_that(once: Once, monkeypatch: pytest.MonkeyPatch) -> None:
    from model.errors import NotAllowed

    said = "This user may not do that; ask for the right to it."
    monkeypatch.setattr(Server, "send", lambda server, write: Reply("no", sentence=said, error=NotAllowed(said)))
    outcome = once.insert(NS, {"n": 0}, 1)
    assert (outcome.kind, outcome.detail) == ("refused", said)


def test_9_a_delete_is_guarded_and_dots_stay_in_names(session: Session, carts: Any) -> None:
    first = made(session.once, 1, **{"a.b": 1})
    opened = session.writing.open(NS, Value.of(1))
    outcome = session.once.update(NS, 1, first, {"a.b": 2})
    assert outcome.kind == "applied", outcome
    assert carts.find_one()["a.b"] == 2
    assert session.writing.delete(NS, Value.of(1), opened.base).kind == "conflict"
    assert carts.count_documents({}) == 1


@pytest.mark.parametrize("fate", ["lost", "never"])
def test_an_insert_in_doubt_is_there_once(once: Once, carts: Any, monkeypatch: pytest.MonkeyPatch, fate: str) -> None:
    lose(monkeypatch, fate)
    assert once.insert(NS, {"n": 0}).kind == "applied"
    assert carts.count_documents({}) == 1


def test_a_base_that_is_not_current_is_a_conflict_and_one_that_never_was_too(once: Once, carts: Any) -> None:
    first = made(once, 1, n=0)
    once.update(NS, 1, first, {"n": 1})
    ends: list[Outcome] = [once.update(NS, 1, base, {"n": 2}) for base in (first, "0" * 40)]
    assert [end.kind for end in ends] == ["conflict", "conflict"]
    assert once.update(NS, "none", first, {"n": 2}).kind == "refused"
    assert carts.find_one()["n"] == 1


def test_the_hash_of_a_content_can_be_asked_for(once: Once) -> None:
    assert hash_of(encode({"n": 0})) == str(made(once, 1, n=0).python())
