"""Histories that other programs write: cases that the dumps of real programs do not contain."""

from __future__ import annotations

import datetime as dt
from itertools import islice, pairwise
from typing import Any

import pymongo.database
import pytest
from bson import ObjectId
from msgspec.structs import replace

from model.catalogue.recognise import recognise
from model.diff import diff
from model.errors import NotFound, Refused
from model.foundation.findings import Finding
from model.layouts.base import Layout
from model.layouts.registry import bind
from model.over_time.as_of import AsOf
from model.patches import FORMS, rfc6902
from model.server.retry import Server
from model.session import Session
from model.storage.newest_query import PageQuery
from model.values import canonical
from model.values.canonical import Value
from model.writers import written_rows, written_states
from model.writers.row_keys import fields_of_keys, profile_of
from model.writers.writers import presets
from model.writers.written_rows import WrittenRows
from tests import support
from tests.model.layouts.layout_support import doc
from tests.writers.libraries import HERE, NAMES

Db = pymongo.database.Database[dict[str, Any]]
DAY = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)


def hour(n: int) -> dt.datetime:
    return DAY + dt.timedelta(hours=n)


def trackers(database: Db) -> list[ObjectId]:
    """Items as Mongoid::History tracks them: each save with the fields that it found and left."""
    ids = [ObjectId() for _ in range(6)]
    for at, id in enumerate(ids):
        lives = [
            {"name": "a", "n": at},
            {"name": "b", "n": at},
            {"name": "b", "n": 7, "note": "x"},
            {"name": "b", "n": 7},
        ]
        before: dict[str, Any] = {}
        for number, state in enumerate(lives, 1):
            names = [name for name in {**before, **state} if before.get(name) != state.get(name)]
            database["history_trackers"].insert_one(
                {
                    "association_chain": [{"name": "Item", "id": id}],
                    "scope": "item",
                    "original": {name: before[name] for name in names if name in before},
                    "modified": {name: state[name] for name in names if name in state},
                    "version": number,
                    "action": "create" if number == 1 else "update",
                    "modifier_id": "ana",
                    "created_at": hour(number),
                }
            )
            before = state
        database["items"].insert_one({"_id": id, **before, "version": len(lives)})
    return ids


def test_the_trackers_of_mongoid_history_are_read_field_by_field(server: Server, database: Db) -> None:
    ids = trackers(database)
    found = {info.ns.partition(".")[2]: (info, profile) for info, profile in recognise(server, database.name)}
    info, profile = found["items"]
    assert (info.layout, info.writer, info.read_only) == ("patches", "Mongoid::History", True)
    layout = bind(server, profile)
    told = [
        (each.content, each.author, each.at, each.current) for each in layout.history(Value.of(ids[2]), contents=True)
    ]
    assert told == [
        (doc(name="b", n=7), "ana", hour(4), True),
        (doc(name="b", n=7, note="x"), "ana", hour(3), False),
        (doc(name="b", n=2), "ana", hour(2), False),
        (doc(name="a", n=2), "ana", hour(1), False),
    ]
    assert not list(layout.findings())


def snapshots(database: Db, **more: Any) -> None:
    """An item with three states in rows, the last of them a draft, and one of which only rows are left."""
    rows = [("K-1", 1, "published"), ("K-1", 2, "published"), ("K-1", 3, "draft"), ("K-2", 1, "published")]
    for id, n, status in rows:
        state = {"n": n, "_status": status}
        database["_items_versions"].insert_one(
            {"parent": id, "version": state, "createdAt": hour(n), "updatedAt": hour(n)}
        )
    database["items"].insert_one({"_id": "K-1", "n": 2, "_status": "published", **more})


def test_a_draft_stands_above_the_current_version_and_says_so(server: Server, database: Db) -> None:
    snapshots(database)
    layout = bind(server, profile_of("payload", f"{database.name}.items", f"{database.name}._items_versions"))
    told = [(each.v and each.v.python(), each.current, each.detail) for each in layout.history(Value.of("K-1"))]
    assert told == [(3, False, "draft"), (2, True, ""), (1, False, "")]
    assert layout.version(Value.of("K-1")).content == doc(n=2, _status="published")


PAGES: list[tuple[str, dict[str, Any], list[tuple[int, dict[str, Any]]], list[tuple[object, bool, str]]]] = [
    (
        "never published",
        {"n": 1, "_status": "draft", "updatedAt": hour(1)},
        [(1, {"n": 1, "_status": "draft"}), (2, {"n": 2, "_status": "draft"})],
        [(2, False, "draft"), (1, True, "")],
    ),
    (
        "unpublished",
        {"n": 2, "_status": "draft", "updatedAt": hour(2)},
        [(1, {"n": 1, "_status": "published"}), (2, {"n": 2, "_status": "draft"}), (3, {"n": 2, "_status": "draft"})],
        [(3, False, "draft"), (2, True, ""), (1, False, "")],
    ),
    (
        "published, and its row is gone",
        {"n": 1, "_status": "published", "updatedAt": hour(1)},
        [(2, {"n": 2, "_status": "draft"}), (3, {"n": 3, "_status": "draft"})],
        [(2, False, "draft"), (1, False, "draft"), (None, True, "")],
    ),
    (
        "a draft whose row is gone, between others",
        {"n": 2, "_status": "draft", "updatedAt": hour(2)},
        [(1, {"n": 1, "_status": "draft"}), (3, {"n": 3, "_status": "draft"})],
        [(2, False, "draft"), (None, True, ""), (1, False, "draft")],
    ),
    (
        "published in one language",
        {"n": 1, "_status": {"en": "published", "de": "draft"}, "updatedAt": hour(1)},
        [
            (1, {"n": 1, "_status": {"en": "published", "de": "draft"}}),
            (2, {"n": 2, "_status": {"en": "draft", "de": "draft"}}),
        ],
        [(2, False, "draft"), (1, True, "")],
    ),
]


@support.table("said, page, rows, told", PAGES, ids=[said for said, *_ in PAGES])
def test_a_page_is_the_row_that_it_was_saved_with_or_a_version_of_its_own(
    said: str,
    page: dict[str, Any],
    rows: list[tuple[int, dict[str, Any]]],
    told: list[tuple[object, bool, str]],
    server: Server,
    database: Db,
) -> None:
    id = said.replace(" ", "-")  # all cases share one database
    database["items"].insert_one({"_id": id, **page})
    for at, state in rows:
        row = {"parent": id, "version": state, "createdAt": hour(at)}
        database["_items_versions"].insert_one(row | {"updatedAt": hour(at) + dt.timedelta(milliseconds=7)})
    layout = bind(server, profile_of("payload", f"{database.name}.items", f"{database.name}._items_versions"))
    versions = list(layout.history(Value.of(id)))
    assert [(each.v and each.v.python(), each.current, each.detail) for each in versions] == told
    [outline] = layout.outline([Value.of(id)])
    assert outline.health == "Sound"
    assert [now for *_, now in outline.marks] == [each.current for each in reversed(versions)]
    assert not list(layout.findings())
    stands = layout.version(Value.of(id))
    [state] = [each for each in AsOf(layout, hour(9), contents=True) if each.id == Value.of(id)]
    assert (state.at, state.content) == (stands.at, stands.content)  # no draft that came later


def test_a_list_says_when_a_document_was_written_where_it_carries_that_itself(server: Server, database: Db) -> None:
    snapshots(database, updatedAt=hour(2))
    layout = bind(server, profile_of("payload", f"{database.name}.items", f"{database.name}._items_versions"))
    assert [row.at for row in layout.page()] == [hour(2)]


def test_a_document_of_which_only_rows_are_left_is_listed_last_as_deleted(server: Server, database: Db) -> None:
    snapshots(database)
    layout = bind(server, profile_of("payload", f"{database.name}.items", f"{database.name}._items_versions"))
    assert [row.id.python() for row in layout.page()] == ["K-1"]
    assert [row.id.python() for row in layout.page(PageQuery(deleted=True))] == ["K-1", "K-2"]
    assert [row.id.python() for row in layout.page(PageQuery(skip=1, deleted=True))] == ["K-2"]
    assert [outline.health for outline in layout.outline([Value.of("K-1"), Value.of("K-2")])] == ["Sound", "Deleted"]
    assert layout.version(Value.of("K-2")).content == doc(n=1, _status="published")


def test_a_refusal_names_the_program_and_what_to_do(server: Server, database: Db) -> None:
    snapshots(database)
    layout = bind(server, profile_of("payload", f"{database.name}.items", f"{database.name}._items_versions"))
    base = layout.version(Value.of("K-1"))
    outcome = layout.swap(Value.of("K-1"), base, doc(n=9))
    assert (outcome.kind, outcome.detail) == ("refused", "Payload keeps its own versions; edit there.")
    assert database["items"].find_one({"_id": "K-1"})["n"] == 2  # type: ignore[index]


def test_behind_a_patch_that_does_not_apply_states_are_unproven_and_the_rest_is_readable(
    server: Server, database: Db
) -> None:
    id = ObjectId()
    database["items"].insert_one({"_id": id, "n": 5})
    for n in range(5):
        patch = [{"op": "test", "path": "/n", "value": n}, {"op": "replace", "path": "/n", "value": n + 1}]
        row: dict[str, Any] = {"collectionId": id, "collectionName": "items", "op": "update", "patch": patch}
        if n == 0:
            row |= {"op": "create", "patch": [], "doc": {"_id": id, "n": 1}}
        if n == 3:
            row["patch"] = [{"op": "test", "path": "/n", "value": 99}, {"op": "replace", "path": "/n", "value": 4}]
        database["history"].insert_one({**row, "createdAt": hour(n)})
    profile = profile_of(
        "ts-patch-mongoose", f"{database.name}.items", f"{database.name}.history", {"collectionName": "items"}
    )
    layout = bind(server, profile)
    versions = list(layout.history(Value.of(id), contents=True))
    assert [each.state for each in versions] == ["present", "unproven", "present", "present", "present"]
    assert "/n is 3 and should be 99" in versions[1].detail
    assert [each.content for each in versions[2:]] == [doc(n=3), doc(n=2), doc(n=1)]
    [finding] = [each for each in layout.findings() if hasattr(each, "code")]
    assert finding.code == "D1"


@support.table(
    "key, value, said",
    [
        ("kept", "some", "kept must be 'all' or 'earlier'"),
        ("patch", "xml", "patch must be"),
        ("operation", {"insert": "i"}, "operation must be written"),
        ("where", {"a": 1}, "where must be written"),
        ("ignored", "__v", "ignored must list"),
        ("archive_id", "a..b", "archive_id must be a path"),
        ("direction", "up", "direction must be"),
    ],
)
def test_a_key_that_says_nothing_sensible_is_named(key: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fields_of_keys({key: value})


def test_types_that_a_program_lost_come_back_only_where_the_document_proves_them(server: Server, database: Db) -> None:
    id = ObjectId()
    database["items"].insert_one({"_id": id, "due": hour(5), "n": 2})
    base = {"collectionId": id, "collectionName": "Item", "version": "0.0.0"}
    first = {"_id": [str(id)], "due": ["2024-05-01T05:00:00.000Z"], "n": [1]}
    database["__histories"].insert_many(
        [
            {**base, "diff": {**first, "due": ["2024-05-01T01:00:00.000Z"]}, "timestamp": hour(1)},
            {**base, "diff": {"due": ["2024-05-01T01:00:00.000Z", "2024-05-01T05:00:00.000Z"]}, "timestamp": hour(2)},
            {**base, "diff": {"n": [1, 2]}, "timestamp": hour(3)},
        ]
    )
    names = (f"{database.name}.items", f"{database.name}.__histories")
    layout = bind(server, profile_of("mongoose-history-plugin", *names, {"collectionName": "Item"}))
    kinds = []
    for each in layout.history(Value.of(id), contents=True):
        assert each.content is not None
        due = canonical.get(each.content, ("due",))
        kinds.append(due and due.kind)
    assert kinds == ["Date", "Date", "String"]


class Counted:
    """A server of which is known how often it was asked."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._server, name)
        if name not in ("find", "count", "aggregate"):
            return found

        def ask(*args: Any, **more: Any) -> Any:
            self.asked.append(name)
            return found(*args, **more)

        return ask


@support.table("name", support.every(3, [each for each in NAMES if each != "javers"]))
def test_outlines_of_many_documents_take_two_queries(name: str) -> None:
    with Session.open(str(HERE / name)) as session:
        for info in session.catalogue.collections():
            profile = session.catalogue.layout(info.ns).profile
            each_apart = "{" in profile.archive  # each global of Payload has a collection of rows
            if info.layout in ("shadow", "patches") and info.belongs_to is None and not each_apart:
                counted = Counted(session.catalogue._port)
                layout = bind(counted, profile)  # type: ignore[arg-type]
                ids = [row.id for row in layout.page(PageQuery(limit=50, deleted=True))]
                counted.asked.clear()
                outlines = list(layout.outline(ids))
                assert counted.asked == ["find", "find"]
                for id, outline in zip(ids, outlines, strict=True):
                    whole = list(layout.history(id))
                    assert len(outline.marks) == len(whole)
                    assert [state for _, state, _ in outline.marks] == [each.state for each in reversed(whole)]
                    assert [now for *_, now in outline.marks] == [each.current for each in reversed(whole)]
                    if profile.kept != "earlier":  # else the document itself tells it
                        assert outline.at == next((each.at for each in whole if each.current), None)


def test_snapshots_without_an_order_of_fields_differ_in_no_order() -> None:
    with Session.open(str(HERE / "javers")) as session:
        layout = session.catalogue.layout("shop.items")
        steps = 0
        for row in layout.page(PageQuery(limit=50)):
            contents = [each.content for each in layout.history(row.id, contents=True) if each.content is not None]
            for newer, older in pairwise(contents):
                assert "reorder" not in diff(older, newer).counts()
                steps += 1
        assert steps > 50


def test_few_histories_are_counted_to_recognise_a_program(server: Server, database: Db) -> None:
    trackers(database)
    trackers(database)
    trackers(database)
    counted = Counted(server)
    found = {info.ns: info.writer for info, _ in recognise(counted, database.name)}  # type: ignore[arg-type]
    assert found[f"{database.name}.items"] == "Mongoid::History"
    assert counted.asked.count("count") <= 6 + 2 + 1  # of histories, of the two collections, and of rows to be indexed


# --- long histories

PATCHED = sorted(name for name, known in presets().items() if known.keys["layout"] == "patches" and name in NAMES)


@support.table("name", support.every(3, PATCHED))
def test_the_last_changes_of_fields_lead_to_what_all_changes_lead_to(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session.open(str(HERE / name)) as session:
        info = next(
            each for each in session.catalogue.collections() if each.layout == "patches" and each.belongs_to is None
        )
        layout = session.catalogue.layout(info.ns)
        ids = [row.id for row in layout.page(PageQuery(limit=50))]
        whole = [[(v.v, v.state, v.content) for v in layout.history(id, contents=True)] for id in ids]
        assert sum(map(len, whole)) > 50
        monkeypatch.setattr(written_states, "LONG", 3)
        for page in (1, 2, 5):
            monkeypatch.setattr(written_states, "PAGE", page)
            quick = [[(v.v, v.state, v.content) for v in layout.history(id, contents=True)] for id in ids]
            assert quick == whole


def changed_patches(database: Db, count: int) -> Value:
    """An item with so many JSON Patches, each of which says nothing of what it replaces."""
    id = ObjectId()
    state: dict[str, Any] = {"name": "a", "n": 0, "note": "first"}
    rows = [[{"op": "add", "path": f"/{name}", "value": value} for name, value in state.items()]]
    rows += [[{"op": "replace", "path": "/n", "value": n}] for n in range(1, count)]
    database["items_patches"].insert_many({"ref": id, "ops": ops, "date": hour(n)} for n, ops in enumerate(rows))
    database["items"].insert_one({"_id": id, **state, "n": count - 1})
    return Value.of(id)


def patched(server: Server, database: Db) -> Layout:
    profile = profile_of("mongoose-patch-history", f"{database.name}.items", f"{database.name}.items_patches")
    return bind(server, profile)


def test_the_newest_states_of_a_long_history_read_few_of_its_patches(
    server: Server, database: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = changed_patches(database, 700)
    applied: list[Any] = []
    real = rfc6902.apply
    monkeypatch.setitem(FORMS, "rfc6902", replace(FORMS["rfc6902"], apply=lambda *a: applied.append(a) or real(*a)))
    newest = list(islice(patched(server, database).history(id, contents=True), 100))
    assert [each.content for each in newest] == [doc(name="a", n=n, note="first") for n in range(699, 599, -1)]
    assert newest[0].current
    assert not newest[0].detail
    assert len(applied) < 120


def test_a_document_that_somebody_changed_beside_a_long_history_is_told(server: Server, database: Db) -> None:
    id = changed_patches(database, 700)
    database["items"].update_one({}, {"$set": {"note": "changed in a shell"}})
    versions = list(patched(server, database).history(id, contents=True))
    assert versions[0].detail == "differs from its newest row"
    assert versions[1].content == doc(name="a", n=698, note="first")


def test_a_row_out_of_order_stands_where_its_time_says(server: Server, database: Db) -> None:
    id = changed_patches(database, 700)
    early = database["items_patches"].find_one_and_delete({"date": hour(650)})
    database["items_patches"].insert_one(early)
    versions = list(patched(server, database).history(id, contents=True))
    assert [each.content for each in versions] == [doc(name="a", n=n, note="first") for n in range(699, -1, -1)]


def test_a_field_that_was_taken_out_by_hand_is_noticed_behind_the_newest_states(server: Server, database: Db) -> None:
    id = changed_patches(database, 700)
    rows = database["items_patches"]
    rows.update_one({"date": hour(300)}, {"$set": {"ops": [{"op": "add", "path": "/late", "value": 1}]}})
    versions = list(patched(server, database).history(id, contents=True))
    assert {each.state for each in versions} == {"present", "unproven"}
    assert {each.code for each in patched(server, database).findings() if isinstance(each, Finding)} == {"D1"}


def test_a_state_in_the_middle_is_found_from_the_nearest_that_is_kept(
    server: Server, database: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = changed_patches(database, 700)
    layout = patched(server, database)
    assert layout.version(id, Value.of(300)).content == doc(name="a", n=299, note="first")
    applied: list[Any] = []
    real = rfc6902.apply
    monkeypatch.setitem(FORMS, "rfc6902", replace(FORMS["rfc6902"], apply=lambda *a: applied.append(a) or real(*a)))
    assert layout.version(id, Value.of(301)).content == doc(name="a", n=300, note="first")
    assert len(applied) <= 64
    rows = database["items_patches"]
    rows.update_one({"date": hour(100)}, {"$set": {"ops": [{"op": "replace", "path": "/note", "value": "other"}]}})
    assert layout.version(id, Value.of(301)).content == doc(name="a", n=300, note="other")
    with pytest.raises(NotFound):
        layout.version(id, Value.of(701))


# --- very many rows


@pytest.fixture
def shared(database: Db) -> tuple[ObjectId, Db]:
    """An item whose five rows are among twelve thousand of others."""
    ids = [ObjectId() for _ in range(2_400)]
    rows = [
        {"collectionName": "items", "collectionId": id, "diff": {"n": [n, n + 1]}, "version": n, "createdAt": hour(n)}
        for id in ids
        for n in range(5)
    ]
    database["histories"].insert_many(rows)
    database["items"].insert_many({"_id": id, "n": 5} for id in ids)
    return ids[1_000], database


@pytest.mark.deep
@pytest.mark.slice
def test_a_missing_index_is_named_with_its_keys(server: Server, shared: tuple[ObjectId, Db]) -> None:
    _, database = shared
    said = 'For each document all of histories is read, as it has no index on {"collectionName": 1, "collectionId": 1}'
    ns = f"{database.name}.items"
    assert said in {info.ns: info.why for info, _ in recognise(server, database.name)}[ns]
    database["histories"].create_index([("collectionId", 1), ("createdAt", 1)])
    info, profile = {info.ns: (info, profile) for info, profile in recognise(server, database.name)}[ns]
    assert said not in info.why
    assert info.writer == "mongoose-diff-history"
    assert len(list(bind(server, profile).history(Value.of(shared[0])))) == 6


@pytest.mark.parametrize("server_name", ["local"])  # the other one knows neither limits nor explain
def test_looking_for_rows_without_an_index_ends_and_says_which_is_missing(
    server: Server, shared: tuple[ObjectId, Db], monkeypatch: pytest.MonkeyPatch
) -> None:
    id, database = shared
    ns, rows = f"{database.name}.items", f"{database.name}.histories"
    layout = bind(server, profile_of("mongoose-diff-history", ns, rows, {"collectionName": "items"}))
    monkeypatch.setattr(written_rows, "WITHIN_MS", 1)
    with pytest.raises(Refused) as told:
        list(layout.history(Value.of(id)))
    assert "longer than allowed" in str(told.value)
    assert 'no index on {"collectionName": 1, "collectionId": 1}' in str(told.value)


@pytest.mark.parametrize("server_name", ["local"])  # the other one knows neither limits nor explain
def test_the_rows_of_one_document_are_found_by_their_index(server: Server, shared: tuple[ObjectId, Db]) -> None:
    id, database = shared
    database["histories"].create_index([("collectionName", 1), ("collectionId", 1)])
    ns, rows = f"{database.name}.items", f"{database.name}.histories"
    where = WrittenRows(server, profile_of("mongoose-diff-history", ns, rows, {"collectionName": "items"})).where(
        Value.of(id)
    )
    stats = server.explain(rows, {"find": "histories", "filter": where}, 10_000)["executionStats"]
    assert stats["totalDocsExamined"] == 5
