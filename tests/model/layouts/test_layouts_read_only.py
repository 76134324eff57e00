"""The read-only layouts: histories as in any other, and every write refused in one sentence."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from bson import ObjectId

from model.errors import NotFound, Refused
from model.layouts.base import Layout
from model.layouts.registry import LAYOUTS, WRITABLE
from model.server.retry import Server
from model.storage.newest_query import PageQuery
from model.storage.reserved_fields import number_of
from model.storage.swap_steps import Stamp
from model.values.canonical import Value
from tests.model.catalogue.recognition_scenes import Db
from tests.model.layouts.layout_support import doc, layout_of, raw_find, v

DAY = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
IDS = [Value.of(name) for name in ("K-1", "K-2")]
FIELDS: dict[str, dict[str, Any]] = {
    "shadow": {},
    "patches": {"archive_id": "docId", "order": "n", "patch": "rfc6902", "changes": "ops"},
    "log": {"at": "changedAt"},
}
LENGTHS = {"K-1": 3, "K-2": 1}
Row = dict[str, Any]


def shadow(database: Db) -> None:
    """Each document with its snapshots; the newest lacks a field that only the document has."""
    for id, most in LENGTHS.items():
        database["things"].insert_one({"_id": id, "v": most, "n": most, "made": DAY})
        database["things_past"].insert_many([{"docId": id, "v": n, "n": n} for n in range(1, most + 1)])


def log(database: Db) -> None:
    """Entries about each document, which did not arrive in the order of their time."""
    rows = [
        {"_id": ObjectId(), "docId": id, "changedAt": DAY + dt.timedelta(hours=n), "n": n}
        for id, most in LENGTHS.items()
        for n in range(most, 0, -1)
    ]
    database["things"].insert_many([*rows, {"n": 9}])


def patches(database: Db) -> None:
    """Each document with what every save did to it."""
    for id, most in LENGTHS.items():
        database["things"].insert_one({"_id": id, "n": most})
        rows = [{"docId": id, "n": n, "ops": [{"op": "add", "path": "/n", "value": n}]} for n in range(1, most + 1)]
        database["things_past"].insert_many(rows)


PLANTED = {"shadow": shadow, "patches": patches, "log": log}


@pytest.fixture(params=[name for name in LAYOUTS if name not in WRITABLE])
def layout(request: pytest.FixtureRequest, server: Server, database: Db) -> Layout:
    PLANTED[request.param](database)
    return layout_of(server, database.name, request.param, **FIELDS[request.param])


def everything(database: Db) -> list[Row]:
    return [row for name in ("things", "things_past") for row in database[name].find()]


def test_a_history_is_read_newest_first_and_each_version_by_its_number(layout: Layout) -> None:
    told = [(number_of(each.v), each.state, each.current, each.content) for each in layout.history(IDS[0])]
    assert told == [(3, "present", True, None), (2, "present", False, None), (1, "present", False, None)]
    for n in (1, 2):
        assert layout.version(IDS[0], v(n)).content == doc(n=n)
    newest = layout.version(IDS[0])
    assert (number_of(newest.v), newest.current) == (3, True)
    assert newest.content == (doc(n=3, made=DAY) if layout.name == "shadow" else doc(n=3))
    with pytest.raises(NotFound):
        layout.version(IDS[0], v(9))
    with pytest.raises(NotFound):
        list(layout.history(Value.of("K-9")))


def test_documents_are_listed_once_each_and_found_by_their_id(layout: Layout) -> None:
    assert {row.id for row in layout.page()} == set(IDS)
    assert len(list(layout.page())) == layout.count() == 2
    assert [row.id for row in layout.page(PageQuery(limit=1))] == [next(iter(layout.page())).id]
    assert len(list(layout.page(PageQuery(skip=1)))) == 1
    assert layout.find_id("K-1") == IDS[0]
    assert layout.exists(IDS[1])
    assert not layout.exists(Value.of("K-9"))


def test_a_filter_looks_at_what_is_newest_and_at_the_rest_where_asked(layout: Layout) -> None:
    assert [row.id for row in layout.page(PageQuery({"n": 1}))] == [IDS[1]]
    assert {row.id for row in layout.page(PageQuery({"n": 1}, any_version=True))} == set(IDS)
    assert layout.count({"n": 1}) == 1
    assert layout.count({"n": 1}, any_version=True) == 2
    assert [row.id for row in layout.page(PageQuery({"n": {"$lt": 9}}, {"n": -1}))] == IDS


def test_an_outline_has_a_mark_for_each_version_and_finds_nothing_wrong(layout: Layout) -> None:
    outlines = list(layout.outline(IDS))
    assert [len(each.marks) for each in outlines] == [3, 1]
    assert [(each.health, each.severity) for each in outlines] == [("Sound", "sound")] * 2
    assert not list(layout.findings())


def test_nothing_is_written_and_each_refusal_says_why(layout: Layout, server: Server, database: Db) -> None:
    before, base = everything(database), layout.version(IDS[0])
    outcomes = [
        layout.swap(IDS[0], base, doc(n=7)),
        layout.create(doc(n=7), Value.of("K-7")),
        layout.delete(IDS[0], base),
        layout.put_back([(layout.ns, base.raw or b"")]),
    ]
    assert {each.kind for each in outcomes} == {"refused"}
    assert {each.detail for each in outcomes} == {layout.read_only}
    assert layout.writable(base) == layout.explain(base) == layout.read_only
    assert layout.removal(IDS[0], base) == ()
    with pytest.raises(Refused):
        layout.foreseen(IDS[0], base, doc(n=7), Stamp())
    with pytest.raises(Refused):
        layout.create_index()
    with pytest.raises(Refused):
        layout.as_stored(IDS[0], [base])
    assert layout.missing_index() is None
    assert everything(database) == before


def test_a_log_is_listed_by_what_happened_last(server: Server, database: Db) -> None:
    log(database)
    layout = layout_of(server, database.name, "log", at="changedAt")
    assert [(row.id, row.at) for row in layout.page()] == [
        (IDS[0], DAY + dt.timedelta(hours=3)),
        (IDS[1], DAY + dt.timedelta(hours=1)),
    ]
    assert [each.at for each in layout.history(IDS[0])] == [DAY + dt.timedelta(hours=n) for n in (3, 2, 1)]


def test_the_id_in_a_log_may_stand_inside_a_sub_document(server: Server, database: Db) -> None:
    rows = [{"meta": {"of": f"K-{n % 2}"}, "n": n} for n in range(6)]
    database["things"].insert_many(rows)
    layout = layout_of(server, database.name, "log", id="meta.of")
    assert [each.content for each in layout.history(Value.of("K-1"), contents=True)] == [
        doc(meta={"of": "K-1"}, n=n) for n in (5, 3, 1)
    ]
    assert {row.id for row in layout.page(PageQuery(projection={"n": 1}))} == {Value.of("K-0"), Value.of("K-1")}
    assert len(raw_find(server, layout.ns)) == 6
