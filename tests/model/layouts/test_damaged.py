"""A document that is damaged somewhere can be listed by its id, opened and viewed, and is never written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bson
import pytest
from bson import ObjectId

from model.localserver import LocalServer
from model.session import Session
from model.storage.reserved_fields import legible
from model.values.canonical import Value

_UNKNOWN_TYPE = b"\x2a"


def broken(document: dict[str, Any]) -> bytes:
    """The document with a value of an unknown type in the field ``broken``."""
    raw = bson.encode(document)
    at = raw.index(b"broken\x00")
    return raw[: at - 1] + _UNKNOWN_TYPE + raw[at:]


def version(v: int, **more: Any) -> dict[str, Any]:
    return {"_id": ObjectId(), "docId": "c", "v": v, "_w": ObjectId(), "a": v, **more}


INSIDE = {"v": 2, "_w": ObjectId(), "a": 1}
STORED: dict[str, list[bytes]] = {
    "plain": [broken({"_id": "c", "a": 1, "broken": 1, "z": 2})],
    "hashed": [broken({"_id": "c", "_versioned_id": "00", "broken": 1})],
    "embedded": [broken({"_id": "c", "current": {**INSIDE, "broken": 2}, "prev": [{"v": 1, "a": 1}]})],
    "embedded, behind the current": [broken({"_id": "c", "current": INSIDE, "broken": 1, "prev": []})],
    "embedded, in an earlier version": [broken({"_id": "c", "current": INSIDE, "prev": [{"v": 1, "broken": 1}]})],
    "embedded, before the current": [broken({"_id": "c", "broken": 1, "current": INSIDE, "prev": []})],
    "versions": [bson.encode(version(1)), broken(version(2, broken=1))],
    "flagged": [bson.encode(version(1)), broken(version(2, current=True, broken=1))],
    "archive": [broken({"_id": "c", "v": 2, "_w": ObjectId(), "broken": 1})],
    "stream": [broken({"_id": "c", "v": 2, "_w": ObjectId(), "broken": 1})],
    "deltas": [bson.encode(version(1)), broken(version(2, broken=1))],
}


@pytest.fixture(params=STORED)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    layout = request.param.partition(",")[0]
    profile = tmp_path / "profile.toml"
    archive = 'archive = "d.history"' if layout in ("archive", "stream") else ""
    profile.write_text(f'[[collection]]\nns = "d.things"\nlayout = "{layout}"\n{archive}\n')
    with LocalServer() as server:
        server.load("d.things", STORED[request.param])
        with Session.open(server.uri, profile=profile, home=tmp_path) as opened:
            yield opened


def test_a_broken_document_is_listed_opened_and_shown_by_its_id_and_never_written(session: Session) -> None:
    id = Value.of("c")
    assert [row.id for row in session.documents.page("d.things").rows] == [id]
    assert session.documents.find_id("d.things", "c") == id
    assert len(list(session.documents.outlines("d.things", [id]))) == 1
    newest = next(iter(session.history.versions("d.things", id)))
    assert (newest.state, newest.current) == ("damaged", True)
    opened = session.writing.open("d.things", id)
    assert not opened.writable
    assert opened.base.raw
    assert b"broken" in opened.base.raw
    assert opened.document
    assert session.edit("d.things", id, set={"a": 5}).kind == "refused"
    assert session.writing.delete("d.things", id, opened.base).kind == "refused"


def test_what_stands_before_the_damage_is_legible_and_the_first_of_two_names_counts() -> None:
    assert legible(broken({"_id": 1, "a": 2, "broken": 1, "b": 3})) == {"_id": Value.of(1), "a": Value.of(2)}
    twice = bson.encode({"a": 1, "b": 2}).replace(b"b\x00", b"a\x00")
    assert legible(twice) == {"a": Value.of(1)}
    assert legible(b"\x05") == {}
