"""A page of rows is cut out of an answer as the driver would parse it, and is complete over several answers too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest
from bson.raw_bson import RawBSONDocument
from hypothesis import given
from hypothesis import strategies as st

from model.localserver import LocalServer
from model.server.answers import RawAnswer, _cut_out, first_batch
from model.session import Session
from model.values import canonical
from tests import support
from tests.model.command_log import listening

NS = "shop.things"
NONE = bson.Int64(0)


def answer(rows: list[Any], cursor: int = NONE) -> RawAnswer:
    return RawAnswer(bson.encode({"cursor": {"firstBatch": rows, "id": cursor, "ns": NS}, "ok": 1.0}))


@support.table("walked", [True, False], ids=["by the walker", "by the driver"])
@support.table("count", [0, 1, 9, 10, 11, 99, 100, 101, 1005])
def test_rows_are_those_that_the_server_sent(monkeypatch: pytest.MonkeyPatch, walked: bool, count: int) -> None:
    if not walked:
        monkeypatch.setattr(canonical, "walker", None)
    rows = [bson.encode({"_id": n, "text": "x" * (n % 7), "inside": [{"n": n}, n]}) for n in range(count)]
    found, left = first_batch(answer([RawBSONDocument(row) for row in rows], bson.Int64(count << 33)))
    assert (found, left) == (rows, count << 33)


def test_an_answer_of_another_form_is_taken_apart_by_the_driver() -> None:
    row = {"_id": 1}
    odd: dict[str, Any] = {"firstBatch": {"5": row, "7": row}, "id": 0}
    with pytest.raises((TypeError, AttributeError)):  # the caller says that the answer is malformed
        first_batch(RawAnswer(bson.encode({"cursor": odd, "ok": 1.0})))
    with pytest.raises((TypeError, AttributeError)):
        first_batch(answer([1, row]))
    with pytest.raises(KeyError):
        first_batch(RawAnswer(bson.encode({"ok": 1.0})))
    assert first_batch(answer([row], 7)) == ([bson.encode(row)], 7)  # the number of a cursor as another integer


@given(st.lists(st.text(max_size=3), max_size=12), st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=2))
@support.examples(300)
def test_of_a_damaged_answer_no_other_rows_are_cut_out_than_the_driver_finds(
    texts: list[str], damage: list[tuple[int, int]]
) -> None:
    sent = bytearray(bytes(answer([{"_id": n, "text": said} for n, said in enumerate(texts)]).raw))
    for at, byte in damage:
        sent[at % len(sent)] = byte
    found = _cut_out(bytes(sent))
    try:
        cursor = RawAnswer(bytes(sent))["cursor"]
        told = [bytes(row.raw) for row in cursor["firstBatch"]], cursor["id"]
    except (bson.errors.BSONError, KeyError, TypeError, AttributeError):
        return  # the driver refuses an answer as a whole of which some rows can be read
    assert found is None or found == told


def test_documents_larger_than_any_before_all_come_and_no_cursor_is_left_open(tmp_path: Path) -> None:
    with LocalServer() as server, pymongo.MongoClient[dict[str, Any]](server.uri) as client:
        things = client["shop"]["things"]
        things.insert_many([{"_id": n} for n in range(60)])
        with listening() as log, Session.open(server.uri, home=tmp_path) as session:
            session.documents.page(NS, limit=50)
            for n in range(4):
                things.update_one({"_id": n}, {"$set": {"text": "x" * (6 << 20)}})
            log.clear()
            page = session.documents.page(NS, limit=50)
        assert [row.id.python() for row in page.rows] == list(range(50))
        assert "killCursors" in log.names
