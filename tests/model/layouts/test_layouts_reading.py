"""Histories, lists and ids: gaps, damage, the newest version before any filter, and one id for one text."""

from __future__ import annotations

import datetime as dt
import random
import time
from typing import Any

import pytest
from bson import Decimal128, Int64, ObjectId, Regex

from model.errors import NotFound, Refused
from model.foundation.hash_recipe import HashRecipe
from model.foundation.records import Version
from model.mql import filters
from model.server.retry import Server, Write
from model.storage.gaps import newest_first, with_gaps
from model.storage.newest_query import PageQuery
from model.storage.reserved_fields import number_of, place_of, unreadable
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import doc, layout_of, v

ID = Value.of("K-1")


def put(server: Server, ns: str, *documents: dict[str, Any]) -> None:
    for document in documents:
        reply = server.send(Write(ns, "insert", {}, c.encode(document)))
        assert reply.applied == "yes", reply


def told(layout: Any, id: Value = ID) -> list[tuple[int | None, str, str, bool]]:
    return [(number_of(each.v), each.stored, each.state, each.current) for each in layout.history(id)]


def health(layout: Any, *ids: Value) -> list[tuple[str, str]]:
    return [(outline.health, outline.severity) for outline in layout.outline(list(ids) or [ID])]


# --- ids that a server finds equal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, Int64(1)),
        (2.0, Int64(2)),
        (Decimal128("1.0"), Decimal128("1.00")),
        ({"a": 1}, {"a": 1.0}),
        (0.0, -0.0),
    ],
)
def test_documents_with_ids_that_a_server_finds_equal_are_listed_once_each(
    server: Server, database_name: str, one: object, other: object
) -> None:
    layout = layout_of(server, database_name, "versions")
    put(server, layout.ns, *({"docId": one, "v": n} for n in range(40, 9, -2)))
    put(server, layout.ns, *({"docId": other, "v": n} for n in (37, 35, 3, 2, 1)), {"docId": 7, "v": 1})
    listed = [(row.id, row.version) for row in layout.page()]
    if len({id for id, _ in listed}) == 3:  # some servers keep one for the other: then there is nothing to tell apart
        assert sorted(v.python() for _, v in listed if v is not None) == [1, 37, 40]
    assert len({id for id, _ in listed}) == len(listed)


def test_a_long_history_of_nan_hides_no_other_document(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "versions")
    put(server, layout.ns, *({"docId": float("nan"), "v": n} for n in range(1, 15)))
    put(server, layout.ns, {"docId": 1, "v": 1}, {"docId": "x", "v": 1})
    assert sorted(row.version.python() for row in layout.page() if row.version) == [1, 1, 14]


# --- archive


def test_an_archive_is_read_with_its_gaps_residues_and_phantoms(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "archive")
    past = f"{database_name}.things_past"
    put(
        server,
        layout.ns,
        {"_id": "K-1", "v": 5, "a": 5},
        {"_id": "K-2", "v": 2, "a": 2},
        {"_id": "K-3", "v": 1, "a": 1},
    )
    put(server, past, *({"docId": "K-1", "v": n, "a": n} for n in (2, 4, 7)))
    put(
        server,
        past,
        {"docId": "K-2", "v": 1, "a": 1},
        {"docId": "K-2", "v": 2, "a": 2},
        {"docId": "K-3", "v": 1, "a": 9},
    )
    assert told(layout) == [
        (7, "archive", "damaged", False),
        (6, "none", "missing", False),
        (5, "document", "present", True),
        (4, "archive", "present", False),
        (3, "none", "missing", False),
        (2, "archive", "present", False),
        (1, "none", "missing", False),
    ]
    ids = [Value.of(name) for name in ("K-1", "K-2", "K-3")]
    assert [each[0] for each in health(layout, *ids)] == [
        "Phantom v7 blocks edits, 3 missing",
        "Also in the archive",
        "The archive holds another v1",
    ]
    assert [each[1] for each in health(layout, *ids)] == ["error", "warn", "warn"]


def test_a_version_is_the_current_one_whatever_the_archive_holds_at_its_number_and_above(
    server: Server, database_name: str
) -> None:
    layout, past = layout_of(server, database_name, "archive"), f"{database_name}.things_past"
    put(server, layout.ns, {"_id": "K-1", "v": 5, "a": 5}, {"_id": 1, "v": 2, "a": 2})
    put(server, past, *({"docId": "K-1", "v": n, "a": n} for n in (1, 2, 3, 4, 5, 6)), {"docId": 1, "v": 1, "a": 1})
    for _ in range(2):  # with the document as it was read last, and without
        found = [layout.version(ID, v(n)) for n in (5, 1, 4, 6)]
        assert [(each.current, each.content) for each in found] == [(n == 5, doc(a=n)) for n in (5, 1, 4, 6)]
    with pytest.raises(NotFound):
        layout.version(ID, v(7))
    assert layout.version(Value.of(1), v(1)).content == doc(a=1)
    with pytest.raises(NotFound):
        layout.version(Value.of(1.0), v(1))


def test_a_document_that_is_gone_keeps_its_history(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "archive")
    put(server, f"{database_name}.things_past", {"docId": "K-1", "v": 1, "a": 1}, {"docId": "K-1", "v": 2, "a": 2})
    assert told(layout) == [(2, "archive", "present", False), (1, "archive", "present", False)]
    assert layout.version(ID, v(1)).content == doc(a=1)
    assert layout.find_id("K-1") == ID
    with pytest.raises(NotFound):
        layout.version(ID)
    again = layout.create(doc(a=3), ID)
    assert (again.kind, again.version) == ("applied", v(3))


def test_a_residue_that_differs_and_a_phantom_refuse_an_edit_and_are_left_as_they_are(
    server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, "archive")
    past = f"{database_name}.things_past"
    put(server, layout.ns, {"_id": "K-1", "v": 3, "a": 3}, {"_id": "K-2", "v": 3, "a": 3})
    put(server, past, {"docId": "K-1", "v": 3, "a": "another"}, {"docId": "K-2", "v": 4, "a": "above"})
    rows = sorted(server.find(past))
    for name, word in (("K-1", "another v3"), ("K-2", "phantom")):
        id = Value.of(name)
        outcome = layout.swap(id, layout.version(id), doc(a=4))
        assert outcome.kind == "refused"
        assert word in outcome.detail
        assert layout.version(id).v == v(3)
    kept = [raw for raw in sorted(server.find(past)) if c.get(raw, ("a",)) != Value.of(3)]
    assert kept == rows


def test_an_equal_residue_is_absorbed(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "archive")
    put(server, layout.ns, {"_id": "K-1", "v": 3, "a": 3})
    put(server, f"{database_name}.things_past", {"docId": "K-1", "v": 3, "a": 3})
    assert layout.swap(ID, layout.version(ID), doc(a=4)).kind == "applied"
    assert [each[:3] for each in told(layout)][:2] == [(4, "document", "present"), (3, "archive", "present")]
    assert server.count(f"{database_name}.things_past") == 1


# --- versions, flagged, deltas


def test_versions_of_a_wrong_type_count_where_they_stand_and_cannot_be_edited(
    server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, "versions")
    rows = [{"docId": "K-1", "v": n, "a": i} for i, n in enumerate([1, 2.0, "3", Int64(4)])]
    put(server, layout.ns, *rows, {"docId": "K-2", "v": "2", "a": 0}, {"docId": "K-2", "v": 1, "a": 0})
    assert [each[:3] for each in told(layout)] == [
        (4, "document", "present"),
        (3, "document", "damaged"),
        (2, "document", "damaged"),
        (1, "document", "present"),
    ]
    assert health(layout) == [("2 of a wrong type", "warn")]
    outcome = layout.swap(ID, layout.version(ID), doc(a=9))
    assert outcome.version == Value.of(Int64(5)), "Int64 stays Int64"
    newest = layout.version(Value.of("K-2"))
    assert newest.v == Value.of("2")
    refused = layout.swap(Value.of("K-2"), newest, doc(a=9))
    assert refused.kind == "refused"
    assert "String" in refused.detail


def test_without_the_unique_index_writing_is_refused_and_offered(server: Server, database_name: str) -> None:
    for name in ("versions", "flagged", "deltas", "archive"):
        layout = layout_of(server, f"{database_name}", name, indexed=False)
        target = f"{database_name}.things_past" if name == "archive" else layout.ns
        server._client[database_name][target.partition(".")[2]].drop()
        key = "docId"
        put(server, target, {key: "K-1", "v": 1, "a": 1}, {key: "K-1", "v": 1, "a": 1})
        reason = layout.missing_index()
        assert reason is not None
        assert "unique index" in reason
        assert layout.create(doc(a=1), Value.of("new")).detail == reason
        with pytest.raises(Refused, match=r"K-1.*1.*duplicates"):
            layout.create_index()
        server._client[database_name][target.partition(".")[2]].delete_one({key: "K-1"})
        layout.create_index()
        assert layout.missing_index() is None
        server._client[database_name][target.partition(".")[2]].drop()


def test_flags_are_checked_and_set_right_by_the_next_edit(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "flagged")
    put(
        server,
        layout.ns,
        {"docId": "K-1", "v": 1, "a": 1, "current": True},
        {"docId": "K-1", "v": 2, "a": 2, "current": True},
        {"docId": "K-2", "v": 1, "a": 1},
        {"docId": "K-3", "v": 1, "a": 1, "current": True},
        {"docId": "K-3", "v": 2, "a": 2, "current": False},
        {"docId": "K-4", "v": 1, "a": 1, "current": True},
    )
    ids = [Value.of(f"K-{n}") for n in (1, 2, 3, 4)]
    assert [each[0] for each in health(layout, *ids)] == [
        "2 flagged as current",
        "No version is flagged as current",
        "An old version is flagged as current",
        "Sound",
    ]
    assert [number_of(row.version) for row in layout.page(PageQuery(sort={"docId": 1}))] == [2, 1, 2, 1]
    for id in ids:
        assert layout.swap(id, layout.version(id), doc(a=9)).kind == "applied"
    assert {each[0] for each in health(layout, *ids)} == {"Sound"}
    falsified = list(server.find(layout.ns, {"docId": "K-3", "v": {"$lt": 3}}))
    assert {c.get(raw, ("current",)) for raw in falsified} == {Value.of(False)}, "as this document says it"


def test_deltas_are_folded_and_unproven_behind_a_gap(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "deltas", removed="gone")
    put(
        server,
        layout.ns,
        {"docId": "K-1", "v": 1, "a": 1, "b": {"x": 1, "y": 2}, "c": None},
        {"docId": "K-1", "v": 2, "d": 4, "a": 2},
        {"docId": "K-1", "v": 3, "gone": ["b.y", "c"], "a": None},
        {"docId": "K-2", "v": 1, "a": 1},
        {"docId": "K-2", "v": 3, "b": 3},
        {"docId": "K-3", "v": 2, "a": 1},
    )
    assert layout.version(ID, v(1)).content == doc(a=1, b={"x": 1, "y": 2}, c=None)
    assert layout.version(ID, v(2)).content == doc(a=2, b={"x": 1, "y": 2}, c=None, d=4)
    assert layout.version(ID).content == doc(a=None, b={"x": 1}, d=4)
    assert [each[:3] for each in told(layout, Value.of("K-2"))] == [
        (3, "delta", "unproven"),
        (2, "none", "missing"),
        (1, "delta", "present"),
    ]
    assert told(layout, Value.of("K-3"))[0][2] == "unproven"
    assert health(layout, ID, Value.of("K-2")) == [("Sound", "sound"), ("1 missing, 1 unproven", "warn")]
    raw = layout.version(ID).raw
    assert raw is not None
    assert layout.content(raw) == layout.version(ID).content
    assert c.get(layout.document(raw), ("d",)) == Value.of(4)


def test_a_delta_refuses_what_it_cannot_say_and_says_it_with_a_field_for_it(server: Server, database_name: str) -> None:
    mute, able = (layout_of(server, database_name, "deltas", removed=name) for name in ("", "gone"))
    mute.create(doc(a=1, b=2, c=3), ID)
    for content in (doc(a=1, b=2), doc(b=2, a=1, c=3), doc(a=1, x=9, b=2, c=3)):
        outcome = mute.swap(ID, mute.version(ID), content)
        assert outcome.kind == "refused", outcome
        assert "delta cannot say" in outcome.detail
        assert able.swap(ID, able.version(ID), content).kind == "applied"
        assert able.version(ID).content == content
        back = able.swap(ID, able.version(ID), doc(a=1, b=2, c=3))
        assert (back.kind, able.version(ID).content) == ("applied", doc(a=1, b=2, c=3))
    stored = list(server.find(mute.ns, {"docId": "K-1", "v": 2}))
    assert [name for name, _ in c.fields(stored[0])] == ["_id", "docId", "v", "_w", "gone"], "only what changed"


# --- the newest, before any filter


@pytest.mark.parametrize("name", ["versions", "flagged", "deltas", "archive", "embedded", "nested"])
def test_a_filter_looks_at_the_newest_version_and_at_earlier_ones_only_when_asked(
    name: str, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name)
    for n in range(6):
        id = Value.of(f"K-{n}")
        layout.create(doc(status="draft", n=n, price=Decimal128(f"{n}.50")), id)
        if n % 2:
            layout.swap(id, layout.version(id), doc(status="active", n=n, price=Decimal128(f"{n}.50")))

    def ids(**how: Any) -> list[str]:
        return [str(row.id.python()) for row in layout.page(PageQuery(**how))]

    assert ids() == [f"K-{n}" for n in range(6)]
    assert ids(filter={"status": "draft"}) == ["K-0", "K-2", "K-4"]
    assert ids(filter={"status": "active"}) == ["K-1", "K-3", "K-5"]
    assert sorted(ids(filter={"status": "draft"}, any_version=True)) == [f"K-{n}" for n in range(6)]
    named = {"docId": "K-1"} if layout.profile.id == "docId" else {"_id": "K-1"}
    for terms in (
        {"status": "draft", **named},
        {"$and": [named, {"status": "draft"}]},
        {"status": "draft", "$or": [named, {layout.profile.id: "none"}]},
        {"status": "draft", layout.profile.id: {"$in": ["K-1", "none"]}},
    ):
        assert ids(filter=terms) == []
        assert ids(filter=terms, any_version=True) == ["K-1"]
        assert ids(filter={**terms, "n": 2}, any_version=True) == []
    assert ids(filter={"status": "draft"}, skip=1, limit=1) == ["K-2"]
    assert ids(sort={"n": -1}, limit=2) == ["K-5", "K-4"]
    assert ids(filter={"price": {"$gte": Decimal128("3.5")}}) == ["K-3", "K-4", "K-5"]
    assert ids(filter={"$or": [{"n": 0}, {"status": "active"}]}) == ["K-0", "K-1", "K-3", "K-5"]
    assert layout.count() == 6
    assert layout.count({"status": "draft"}) == 3
    assert layout.count({"status": "draft"}, any_version=True) == len(
        list(layout.page(PageQuery({"status": "draft"}, limit=100, any_version=True)))
    )
    (row,) = layout.page(PageQuery(filter={"n": 3}, projection={"n": 1}))
    assert row.version == v(2)
    assert b"price" not in row.raw


def test_a_filter_and_an_order_mean_of_states_that_are_folded_what_they_mean_to_a_server(
    server: Server, database_name: str
) -> None:
    folded, whole = (layout_of(server, database_name, name) for name in ("deltas", "versions"))
    contents: list[dict[str, Any]] = [
        {"a": 1, "sub": {"x": 1, "y": 2}, "tags": [3, 9]},
        {"a": True, "sub": {"y": 2, "x": 1}, "tags": [5]},
        {"a": Int64(1), "pattern": Regex("(?<name>x)(?#PCRE)"), "tags": [4, 4]},
        {"a": Decimal128("sNaN"), "items": [{"n": 7}, {"n": 2}]},
        {"a": 2.0, "items": [{"n": 3}], "tags": []},
    ]
    for n, content in enumerate(contents):
        document = {"docId": f"K-{n}", "v": 1, **content}
        put(server, folded.ns, document, {**document, "v": 2, "n": n})

    def ids(layout: Any, **how: Any) -> list[object]:
        return [row.id.python() for row in layout.page(PageQuery(**how))]

    filters: list[dict[str, Any]] = [
        {"a": 1}, {"a": True}, {"a": {"$type": "long"}}, {"a": {"$lte": 1}}, {"sub": {"x": 1, "y": 2}}, {"sub.x": 1},
        {"tags": 4}, {"items.n": {"$lt": 3}}, {"v": 2, "n": {"$gte": 3}}, {"v": 1}, {"docId": {"$ne": "K-1"}},
    ]  # fmt: skip
    for filter in filters:
        assert ids(folded, filter=filter) == ids(whole, filter=filter), filter
        assert folded.count(filter) == len(ids(whole, filter=filter)), filter
    for sort in ({"tags": 1}, {"tags": -1}, {"items.n": 1, "docId": -1}, {"n": -1}):
        assert ids(folded, sort=sort)[-1] == ids(whole, sort=sort)[-1], sort
    assert ids(folded, filter={"v": 1}, any_version=True) == [f"K-{n}" for n in range(5)]


def _random_filter(chance: random.Random, id_name: str, depth: int) -> dict[str, Any]:
    terms: dict[str, Any] = {}
    for _ in range(chance.randrange(1, 3)):
        if depth and chance.random() < 0.6:
            parts = [_random_filter(chance, id_name, depth - 1) for _ in range(chance.randrange(1, 3))]
            terms[chance.choice(["$and", "$or", "$nor"])] = parts
        elif chance.random() < 0.5:
            terms[id_name] = chance.choice([f"K-{chance.randrange(4)}", {"$ne": f"K-{chance.randrange(4)}"}])
        else:
            terms[chance.choice("xy")] = chance.choice([chance.randrange(3), {"$gt": chance.randrange(3)}])
    return terms


@pytest.mark.parametrize("name", support.every(3, ["versions", "flagged", "deltas", "archive", "embedded", "nested"]))
def test_a_filter_on_id_and_content_finds_each_document_of_which_some_version_meets_all_of_it(
    name: str, server: Server, database_name: str
) -> None:
    chance = random.Random(7)
    layout = layout_of(server, database_name, name)
    contents: dict[str, list[dict[str, Any]]] = {}
    for n in range(4):
        versions = [{"x": chance.randrange(3), "y": chance.randrange(3), "n": at} for at in range(3)]
        contents[f"K-{n}"] = versions
        layout.create(c.encode(versions[0]), Value.of(f"K-{n}"))
        for content in versions[1:]:
            layout.swap(Value.of(f"K-{n}"), layout.version(Value.of(f"K-{n}")), c.encode(content))
    for _ in range(150):
        terms = _random_filter(chance, layout.profile.id, 2)
        meets = filters.compile_filter(c.encode(terms)).matches
        expected = [
            id
            for id, versions in contents.items()
            if any(meets(c.encode({layout.profile.id: id, **content})) for content in versions)
        ]
        found = [str(row.id.python()) for row in layout.page(PageQuery(terms, any_version=True))]
        assert sorted(found) == expected, terms


def test_a_list_leaps_over_long_histories_and_meets_every_type_of_id(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "versions")
    ids: list[Any] = [None, 3, 4.5, "a", "b", {"x": 1}, ObjectId(), True, dt.datetime(2026, 1, 1, tzinfo=dt.UTC)]
    for id in ids:
        put(server, layout.ns, *({"docId": id, "v": n, "a": n} for n in range(1, 25)))
    found = [row.id for row in layout.page()]
    assert sorted(map(repr, found)) == sorted(repr(Value.of(id)) for id in ids)
    assert {number_of(row.version) for row in layout.page()} == {24}
    assert [row.id for row in layout.page(PageQuery(sort={"docId": -1}))] == found[::-1]


# --- ids


def test_a_text_means_the_one_id_that_it_is_the_usual_way_to_write(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "plain")
    oid = ObjectId()
    put(server, layout.ns, {"_id": "K-1"}, {"_id": oid}, {"_id": 7}, {"_id": "8"}, {"_id": 8}, {"_id": {"a": 1}})
    assert layout.find_id("K-1") == ID
    assert layout.find_id(f" {oid} ") == Value.of(oid)
    assert layout.find_id("7") == Value.of(7)
    assert layout.find_id('{"$numberInt": "8"}') == Value.of(8)
    assert layout.find_id('"8"') == Value.of("8")
    assert layout.find_id('{"a": {"$numberInt": "1"}}') == Value.of({"a": 1})
    with pytest.raises(Refused, match=r'"8" or \{"\$numberInt": ?"8"\}'):
        layout.find_id("8")
    for nobody in ("K-2", "", "9", "{"):
        with pytest.raises(NotFound):
            layout.find_id(nobody)


def test_ids_of_another_type_are_other_documents(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "versions")
    put(server, layout.ns, {"docId": "1", "v": 1, "a": 1}, {"docId": 1, "v": 1, "a": 2}, {"docId": [1], "v": 2, "a": 3})
    assert [each.content for each in layout.history(Value.of(1), contents=True)] == [doc(a=2)]


# --- embedded, hashed


def test_a_history_inside_a_document_is_put_in_order(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "embedded")
    put(
        server,
        layout.ns,
        {"_id": "K-1", "current": {"v": 5, "a": 5}, "prev": [{"v": 3, "a": 3}, {"v": 1, "a": 1}, {"v": 3, "a": 3}]},
    )
    assert [each[:3] for each in told(layout)] == [
        (5, "document", "present"),
        (4, "none", "missing"),
        (3, "prev", "present"),
        (3, "prev", "damaged"),
        (2, "none", "missing"),
        (1, "prev", "present"),
    ]
    assert health(layout) == [("2 missing, 1 stored twice", "warn")]
    (row,) = layout.page()
    assert c.get(row.raw, ("prev",)) is None, "the array stays out of lists"
    current = layout.version(ID)
    assert current.raw is not None
    assert layout.document(current.raw) == c.encode({"_id": "K-1", "v": 5, "a": 5})


def test_a_hash_that_differs_is_seen_and_a_new_one_fits(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "hashed", hash_recipe=HashRecipe())
    put(server, layout.ns, {"_id": 1, "a": 1, "_versioned_id": "0" * 40}, {"_id": 2, "a": 1})
    bad = layout.version(Value.of(1))
    assert (bad.state, bad.detail) == ("damaged", "hash differs")
    assert health(layout, Value.of(1), Value.of(2)) == [("1 hash differs", "warn"), ("Sound", "sound")]
    outcome = layout.swap(Value.of(1), bad, doc(a=2))
    now = layout.version(Value.of(1))
    assert (outcome.kind, now.state, now.hash) == ("applied", "present", c.hash_of(doc(a=2)))
    assert now.v == Value.of(c.hash_of(doc(a=2))) == outcome.version


def test_fields_left_out_of_the_hash_may_change_beside_an_edit(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "hashed", hash_exclude=("views",))
    layout.create(doc(a=1, views=1), ID)
    base = layout.version(ID)
    server.send(Write(layout.ns, "update", {"_id": "K-1"}, {"$set": {"views": 2}}))
    outcome = layout.swap(ID, base, doc(a=2, views=1))
    assert outcome.kind == "applied"
    assert "views" in outcome.detail
    now = layout.version(ID)
    assert (now.content, now.state) == (doc(a=2, views=2), "present")


def test_sha_256_is_kept_where_it_is_what_stands_there(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "hashed")
    put(server, layout.ns, {"_id": "K-1", "a": 1, "_versioned_id": c.hash_of(doc(a=1), "sha256")})
    assert layout.version(ID).state == "present"
    assert layout.swap(ID, layout.version(ID), doc(a=2)).version == Value.of(c.hash_of(doc(a=2), "sha256"))


# --- small parts


def test_times_come_from_the_field_named_else_from_the_token(server: Server, database_name: str) -> None:
    when = dt.datetime(2026, 11, 20, 14, 26, tzinfo=dt.UTC)
    token = ObjectId.from_datetime(dt.datetime(2025, 1, 1, tzinfo=dt.UTC))
    rows = {"_id": "K-1", "v": 1, "_w": token, "changedAt": when, "a": 1}
    named = layout_of(server, database_name, "archive", at="changedAt")
    put(server, named.ns, rows)
    assert named.version(ID).at == when
    assert named.version(ID).content == doc(a=1)
    unnamed = layout_of(server, database_name, "archive")
    assert unnamed.version(ID).at == token.generation_time
    assert named.swap(ID, named.version(ID), doc(a=2)).kind == "applied"
    assert (named.version(ID).at or when) > when - dt.timedelta(days=3650)
    assert named.version(ID, v(1)).at == when


def test_a_gap_of_millions_is_one_entry() -> None:
    versions = [
        Version(v(number), None, None, "document", "present", number > 9, None, None) for number in (5_000_000, 3)
    ]
    shown = list(with_gaps(versions))
    assert [number_of(each.v) for each in shown] == [5_000_000, 4_999_999, 3, 2, 1]
    assert "4,999,996 versions" in shown[1].detail


@support.table(
    "value, number",
    [(1, 1), (Int64(2**40), 2**40), (3.0, 3), ("3", 3), ("x", None), (3.5, None), (None, None), (True, None)],
)
def test_what_counts_as_a_number(value: Any, number: int | None) -> None:
    assert number_of(Value.of(value)) == number


def test_dates_have_a_place_and_no_number() -> None:
    date = Value.of(dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC))
    assert (place_of(date), number_of(date)) == (1000, None)


def test_documents_that_would_not_survive_are_told_apart() -> None:
    good = c.encode({"a": "x", "b": [{"c": 1}]})
    assert unreadable(good) == ""
    assert unreadable(good.replace(b"x", b"\xff")) == "holds text that is not UTF-8"
    assert unreadable(good[:-3]) == "does not decode"
    twice = c.document([("a", v(1)), ("a", v(1))])
    assert unreadable(twice) == "holds the field a twice"
    assert unreadable(c.document([("o", Value.document(twice))])) == "holds the field a twice"
    odd = c.document([("s", Value(c.SYMBOL, b"\x02\x00\x00\x00x\x00")), ("u", Value(c.UNDEFINED, b"")), ("n", v(1))])
    assert unreadable(odd) == "", "bytes are never decoded to be written"


def test_a_long_history_of_versions_of_a_wrong_type_is_put_in_order_in_time() -> None:
    wrong = [
        Version(Value.of(str(n)), None, None, "document", "damaged", False, None, None, "version is text")
        for n in sorted(range(1, 20_001), key=str, reverse=True)
    ]
    right = Version(Value.of(9), None, None, "document", "present", False, None, None)
    start = time.process_time()
    found = list(newest_first([*wrong, right]))
    assert time.process_time() - start < 3
    assert [number_of(version.v) for version in found] == [*range(20_000, 9, -1), 9, *range(9, 0, -1)]
    assert found[-10] is right
