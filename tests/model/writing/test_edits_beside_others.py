"""Edits of some fields without a base: repeated beside others; a conflict if their own fields have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pymongo
import pytest

from model.foundation.records import Outcome
from model.layouts.registry import WRITABLE
from model.session import Session
from model.values.canonical import Value
from model.writing.writer import Writer
from tests import support
from tests.model.layouts.layout_support import doc

DB, NS, ID = "beside", "beside.things", Value.of("K-1")
REAL: Callable[..., Outcome] = Writer.save


@pytest.fixture(params=support.some(WRITABLE, "archive", "versions", "embedded", "deltas", "hashed", "plain"))
def session(request: pytest.FixtureRequest, local_uri: str, tmp_path: Path) -> Iterator[Session]:
    name = str(request.param)
    archive = f'archive = "{DB}.things_past"' if "archive" in WRITABLE[name].roles else ""
    archive += 'removed = "gone"' if "removed" in WRITABLE[name].roles else ""
    path = tmp_path / "p.toml"
    path.write_text(f'[[collection]]\nns = "{NS}"\nlayout = "{name}"\n{archive}\n', encoding="utf-8")
    with pymongo.MongoClient[dict[str, Any]](local_uri) as client:
        client.drop_database(DB)
        with Session.open(local_uri, path, home=tmp_path / "home") as made:
            if made.indexes.missing(NS):
                made.indexes.create(NS)
            assert made.writing.create(NS, doc(a=1, b={"c": 1, "d": 1}, n=[1, 2], e=1), ID).kind == "applied"
            yield made
        client.drop_database(DB)


def overtaken(session: Session, monkeypatch: pytest.MonkeyPatch, *others: dict[str, Any] | None) -> None:
    """Before each save that comes, somebody else makes one of these edits, or a delete where it is None."""
    left = list(others)

    def save(self: Writer, *args: Any, **more: Any) -> Outcome:
        if left:
            theirs = left.pop(0)
            with monkeypatch.context() as patch:
                patch.setattr(Writer, "save", REAL)
                if theirs is None:
                    end = session.writing.delete(NS, ID, session.history.version(NS, ID))
                else:
                    end = session.edit(NS, ID, theirs)
            assert end.kind == "applied", end
        return REAL(self, *args, **more)

    monkeypatch.setattr(Writer, "save", save)


def now(session: Session) -> Any:
    return Value.document(session.history.version(NS, ID).content or b"").python()


def test_an_edit_beside_edits_of_other_fields_is_tried_again_and_says_so(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtaken(session, monkeypatch, {"a": 7}, {"b.d": 8}, {"e": 9})
    outcome = session.edit(NS, ID, {"b.c": 5}, "n")
    assert outcome.kind == "applied", outcome
    assert outcome.detail.endswith("Others wrote K-1 meanwhile, so this was tried 4 times.")
    assert now(session) == {"a": 7, "b": {"c": 5, "d": 8}, "e": 9}


def test_an_edit_alone_says_nothing_of_others(session: Session) -> None:
    assert "Others" not in session.edit(NS, ID, {"b.c": 5}).detail


@pytest.mark.parametrize(
    "theirs", [{"b.c": 8}, {"b": {"c": 2}}, {"a": 1.0}], ids=["the field", "around it", "its type"]
)
def test_an_edit_of_a_field_that_somebody_changed_is_a_conflict(
    session: Session, monkeypatch: pytest.MonkeyPatch, theirs: dict[str, Any]
) -> None:
    overtaken(session, monkeypatch, {"e": 9}, theirs)
    outcome = session.edit(NS, ID, {"b.c": 5, "a": 2})
    assert outcome.kind == "conflict", outcome
    assert "tried 2 times" in outcome.detail
    assert now(session)["e"] == 9
    assert now(session)["a"] == 1


def test_with_a_base_nothing_is_tried_again(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    base = session.history.version(NS, ID).v
    if base is None:
        pytest.skip("its documents have no versions")
    overtaken(session, monkeypatch, {"e": 9})
    outcome = session.edit(NS, ID, {"a": 5}, base=base)
    assert outcome.kind == "conflict"
    assert "tried" not in outcome.detail
    assert now(session)["a"] == 1


def test_a_document_that_is_deleted_meanwhile_is_a_conflict(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    overtaken(session, monkeypatch, {"e": 9}, None)
    outcome = session.edit(NS, ID, {"a": 5})
    assert outcome.kind == "conflict", outcome
    assert "deleted" in outcome.detail


def test_a_document_without_a_place_for_the_field_any_more_is_a_conflict(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtaken(session, monkeypatch, {"b": 3})
    outcome = session.edit(NS, ID, {"b.new": 5})
    assert outcome.kind == "conflict", outcome
    assert now(session)["b"] == 3


@pytest.mark.parametrize("session", support.some(WRITABLE, "archive", "versions", "hashed"), indirect=True)
def test_writers_of_fields_of_their_own_meet_no_conflict_and_lose_nothing(session: Session) -> None:
    def work(number: int) -> list[Outcome]:
        return [session.edit(NS, ID, {f"w{number}": n}, tries=200) for n in range(4)]

    with ThreadPoolExecutor(4) as pool:
        ends = [end for each in pool.map(work, range(4)) for end in each]
    assert [end.kind for end in ends] == ["applied"] * 16, ends
    assert {name: value for name, value in now(session).items() if name[0] == "w"} == dict.fromkeys(
        ("w0", "w1", "w2", "w3"), 3
    )
