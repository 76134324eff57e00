"""Histories, activity and past states as plain rows: only Python's own values, whatever BSON holds."""

from __future__ import annotations

import datetime as dt
import importlib.util
import itertools
import uuid
from decimal import Decimal
from typing import Any

import bson
import pytest

from model.errors import NotFound, Refused
from model.session import Session
from model.text.plain_values import plain_document
from model.values.canonical import Value
from resources import manual
from tests.resources.manual_text import blocks

PLAIN = (int, float, str, bool, type(None), Decimal, uuid.UUID, bytes, dt.datetime)
CONTRACTS, ID = "insurance.contracts", "K-204117"


def strange(value: Any) -> list[Any]:
    """What in a value is none of Python's own, its very type and not a subclass."""
    if type(value) is dict:
        return [found for each in (*value.keys(), *value.values()) for found in strange(each)]
    if type(value) is list:
        return [found for each in value for found in strange(each)]
    return [] if type(value) in PLAIN else [value]


@pytest.mark.deep
def test_the_example_of_the_manual_gives_plain_rows() -> None:
    (code,) = [each for each in blocks(manual.page("python"), "python") if ".frame(" in each]
    here: dict[str, Any] = {}
    exec(compile(code, "python.md", "exec"), here)
    frames = {name: here[name] for name in ("versions", "changes", "then")}
    for rows in frames.values():
        assert len(rows) > 10
        assert len({tuple(row) for row in rows}) == 1, "each row has the same columns"
        assert not list(itertools.islice(strange(rows), 3))
    assert [row["v"] for row in frames["versions"]] == list(range(14, 0, -1))
    assert {row["v"] for row in frames["versions"] if row["state"] == "missing"} == {4, 5, 6}
    assert here["premiums"][0] == (14, Decimal("521.93"))
    assert {path.partition(".")[0] for row in frames["changes"] for path in row["paths"]} >= {"premium"}
    assert sum(here["authors"].values()) == len(frames["changes"])
    assert {row["content"]["status"] for row in frames["then"] if row["proven"]} == {"reported"}
    assert here["unproven"] == len([row for row in frames["then"] if not row["proven"]])


@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="pandas is not installed, and is not needed")
def test_pandas_takes_the_rows() -> None:
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]

    with Session.open("sample:") as session:
        frame = pandas.DataFrame(session.history.versions(CONTRACTS, ID).frame())
        changes = pandas.DataFrame(session.time.activity(CONTRACTS, id=ID).frame())
    assert list(frame["v"]) == list(range(14, 0, -1))
    assert str(frame["at"].dtype).endswith("UTC]")
    assert changes.groupby("author").size().sum() == len(changes)


def test_every_bson_type_becomes_a_plain_value() -> None:
    moment = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    odd = {
        "long": bson.Int64(5), "money": bson.Decimal128("12.50"), "nan": bson.Decimal128("NaN"), "at": moment,
        "far": bson.DatetimeMS(2**60), "id": bson.ObjectId("65f0a1c29b1e8a0012c4d7aa"), "uuid": uuid.UUID(int=7),
        "raw": b"x", "sub": bson.Binary(b"y", 5), "re": bson.Regex("a", "i"), "ts": bson.Timestamp(1, 2),
        "code": bson.Code("f"), "min": bson.MinKey(), "inside": [{"n": bson.Int64(1)}, None, True, 1.5],
    }  # fmt: skip
    raw = bson.encode(odd, codec_options=bson.CodecOptions(uuid_representation=4))
    found = plain_document(raw)
    assert list(found) == list(odd)
    assert not strange(found)
    assert found["long"] == 5
    assert (found["money"], found["at"], found["uuid"]) == (Decimal("12.50"), moment, uuid.UUID(int=7))
    assert (found["raw"], found["sub"]) == (b"x", b"y")
    assert (found["id"], found["nan"]) == ("65f0a1c29b1e8a0012c4d7aa", '{"$numberDecimal": "NaN"}')
    assert found["re"].startswith('{"$regularExpression"')
    assert found["far"].startswith('{"$date"')
    assert found["inside"] == [{"n": 1}, None, True, 1.5]


def test_an_id_is_text_or_a_value_and_a_time_without_a_zone_is_in_utc() -> None:
    with Session.open("sample:") as session:
        id = session.documents.find_id(CONTRACTS, ID)
        versions = [each.v for each in session.history.versions(CONTRACTS, id)]
        assert [each.v for each in session.history.versions(CONTRACTS, ID)] == versions
        begun = session.history.versions(CONTRACTS, ID)
        assert next(begun).v == versions[0]
        assert [row["v"] for row in begun.frame()] == [v.python() for v in versions[1:] if v is not None]
        whole = session.time.activity(CONTRACTS, id=id).frame()
        assert session.time.activity([CONTRACTS], id=ID).frame() == whole
        naive, aware = dt.datetime(2026, 10, 1), dt.datetime(2026, 10, 1, tzinfo=dt.UTC)
        for since in (naive, "2026-10-01", "2026-10-01T02:00+02:00"):
            assert session.time.activity(CONTRACTS, since=since, id=ID).frame() == [
                r for r in whole if r["at"] >= aware
            ]
        tariffs = session.time.asof("insurance.tariffs", naive).frame()
        assert tariffs == session.time.asof("insurance.tariffs", aware).frame()
        assert [each.id for each in session.time.as_of("insurance.tariffs", naive)]
        assert list(session.time.as_of_both("insurance.tariffs", naive, aware)) == []
        for row in tariffs:
            (version,) = [
                v for v in session.history.versions("insurance.tariffs", row["id"]) if v.v == Value.of(row["v"])
            ]
            assert version.at == row["at"] <= aware
        for wrong in (lambda: session.time.activity(id=ID), lambda: session.time.asof(CONTRACTS, "soon")):
            with pytest.raises(Refused):
                wrong()
        with pytest.raises(NotFound):
            session.history.versions(CONTRACTS, "K-none").frame()
