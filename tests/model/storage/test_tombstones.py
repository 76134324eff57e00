"""Deleting where each version is a document: a tombstone follows, and everything else stays."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from model.catalogue.recognise import bind, recognise
from model.errors import NotFound
from model.foundation.findings import Finding
from model.foundation.records import Version
from model.layouts.base import Layout
from model.server.retry import Server, Write
from model.storage.newest_query import PageQuery
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import NAMES, doc, layout_of, raw_find, v
from tests.model.server.faulty_server import FaultyServer

ID, OTHER = Value.of("K-1"), Value.of("K-2")
OWN = ("versions", "flagged", "deltas")


@pytest.fixture(params=OWN)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=support.some(NAMES, "other"))
def fields(request: pytest.FixtureRequest) -> dict[str, str]:
    return NAMES[str(request.param)]


@pytest.fixture
def layout(name: str, fields: dict[str, str], server: Server, database_name: str) -> Layout:
    made = layout_of(server, database_name, name, **fields)
    for id in (ID, OTHER):
        assert made.create(doc(n=1, a="x"), id).kind == "applied"
        assert made.swap(id, made.version(id), doc(n=2, a="x")).kind == "applied"
    return made


def deleted(layout: Layout, id: Value = ID) -> Version:
    """Delete a document; its tombstone."""
    outcome = layout.delete(id, layout.version(id))
    assert outcome.kind == "applied", outcome
    assert outcome.version is not None
    return layout.version(id, outcome.version)


def seen(layout: Layout, id: Value = ID) -> list[tuple[Value | None, bytes | None, bool, bool, str]]:
    return [(each.v, each.content, each.current, each.deleted, each.state) for each in layout.history(id, True)]


def found(layout: Layout) -> list[Finding]:
    return [each for each in layout.findings() if isinstance(each, Finding)]


def test_a_delete_keeps_every_version_and_adds_one_that_says_so(layout: Layout, server: Server) -> None:
    before = seen(layout)
    stored = raw_find(server, layout.ns)
    outcome = layout.delete(ID, layout.version(ID))
    assert (outcome.kind, outcome.version) == ("applied", v(3))
    assert "v3" in outcome.detail
    assert "restore" in outcome.detail
    after = seen(layout)
    assert after[0] == (v(3), c.EMPTY, False, True, "present")
    assert [each[:2] for each in after[1:]] == [each[:2] for each in before]
    assert not any(current for _, _, current, _, _ in after)
    p, flag = layout.profile, {layout.profile.current} if layout.name == "flagged" else set()
    (tombstone,) = (each for each in raw_find(server, layout.ns) if each not in stored and p.deleted in each)
    assert tombstone.keys() == {"_id", p.id, p.version, p.token, p.deleted} | flag
    assert tombstone[p.deleted] is True
    with pytest.raises(NotFound, match=r"K-1 was deleted as v3.*restore"):
        layout.version(ID)
    assert layout.exists(ID)
    assert found(layout) == []


def test_a_reader_by_flag_finds_the_tombstone(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "flagged")
    layout.create(doc(n=1), ID)
    deleted(layout)
    assert [(each["v"], each.get("_deleted")) for each in raw_find(server, layout.ns, current=True)] == [(2, True)]
    assert layout.create(doc(n=2), ID).kind == "applied"
    assert [each["v"] for each in raw_find(server, layout.ns, current=True)] == [3]


def test_a_deleted_document_is_in_no_list_unless_any_version_may_match(layout: Layout) -> None:
    deleted(layout)
    queries: tuple[PageQuery, ...] = (
        PageQuery(),
        PageQuery({"n": 2}),
        PageQuery({"n": None}),
        PageQuery({layout.profile.id: "K-1"}),
        PageQuery(None, {"a": 1}),
        PageQuery(None, {layout.profile.id: -1}),
    )
    for query in queries:
        ids = [row.id for row in layout.page(query)]
        assert ID not in ids, query
        assert layout.count(query.filter) == len(ids), query
    assert [row.id for row in layout.page(PageQuery(any_version=True))] == [ID, OTHER]
    assert [row.id for row in layout.page(PageQuery({"n": 1}, any_version=True))] == [ID, OTHER]
    assert layout.count({"n": 1}, any_version=True) == 2
    (outline, sound) = layout.outline([ID, OTHER])
    assert (outline.health, outline.severity, len(outline.marks)) == ("Deleted", "sound", 3)
    assert sound.health == "Sound"


def test_a_marker_beside_content_is_content(layout: Layout) -> None:
    content = doc(n=3, a="x", _deleted=True)
    assert layout.swap(ID, layout.version(ID), content).kind == "applied"
    assert layout.version(ID).content == content
    assert [row.id for row in layout.page()] == [ID, OTHER]
    assert layout.count() == 2
    alone = doc(_deleted=True)
    assert "says that its document is deleted" in layout.unfit(alone)


def test_a_new_document_with_the_id_follows_the_tombstone(layout: Layout) -> None:
    deleted(layout)
    created = layout.create(doc(b=1), ID)
    assert (created.kind, created.version) == ("applied", v(4)), created
    assert created.detail.startswith("Created as v4")
    assert layout.version(ID).content == doc(b=1)
    assert [each[:4] for each in seen(layout)[:2]] == [(v(4), doc(b=1), True, False), (v(3), c.EMPTY, False, True)]
    assert layout.swap(ID, layout.version(ID), doc(b=2)).kind == "applied"
    assert layout.create(doc(b=3), ID).kind == "refused", "it is there again"
    assert layout.version(ID, v(2)).content == doc(n=2, a="x")
    assert deleted(layout).v == v(6)
    assert found(layout) == []


def test_one_of_two_new_documents_follows_a_tombstone(name: str, server: Server, database_name: str) -> None:
    for numbering in ("next", *support.by_depth([], ["time", f"counter:{database_name}.counters"])):
        sound = layout_of(server, database_name, name, numbering=numbering)
        for place in range(40):
            id = Value.of(f"{numbering} {place}")
            assert sound.create(doc(n=1), id).kind == "applied"
            deleted(sound, id)
            port = FaultyServer(server)
            port.between[place] = partial(sound.create, doc(theirs=1), id)
            outcome = bind(port, sound.profile).create(doc(mine=1), id)
            there = sound.version(id)
            assert (there.content == doc(mine=1)) == (outcome.kind == "applied"), outcome
            assert len(list(sound.history(id))) == 3
            if port.between:
                break
        else:
            raise AssertionError("more than forty operations")


def test_a_delete_beside_an_edit_is_a_conflict(name: str, server: Server, database_name: str) -> None:
    sound = layout_of(server, database_name, name)
    kinds = set()
    for place in range(40):
        id = Value.of(str(place))
        assert sound.create(doc(n=1), id).kind == "applied"
        base = sound.version(id)
        port = FaultyServer(server)
        port.between[place] = partial(sound.swap, id, base, doc(n=2))
        outcome = bind(port, sound.profile).delete(id, base)
        if port.between:
            assert outcome.kind == "applied"
            break
        kinds.add(outcome.kind)
        if outcome.kind == "conflict":
            assert sound.version(id).content == doc(n=2)
        else:  # the delete was first, and the edit the conflict
            assert sound.last(id).deleted
    assert "conflict" in kinds


@pytest.mark.parametrize("fault", ["lost", "never", "late"])
def test_a_delete_without_an_answer_is_found_by_its_token(
    fault: Any, name: str, server: Server, database_name: str
) -> None:
    sound = layout_of(server, database_name, name)
    assert sound.create(doc(n=1), ID).kind == "applied"
    port, stamp = FaultyServer(server, (fault,)), Stamp()
    outcome = bind(port, sound.profile).delete(ID, sound.version(ID), stamp)
    port.land()
    assert outcome.kind == "applied", outcome
    assert sound.landed(ID, stamp.token)
    assert [each.deleted for each in sound.history(ID)] == [True, False]


def test_a_purge_removes_the_tombstone_too_and_can_be_taken_back(layout: Layout) -> None:
    last = deleted(layout)
    before = seen(layout)
    assert layout.delete(ID, last).kind == "refused", "it is deleted already"
    assert layout.last(ID).v == last.v
    kept = layout.all_stored(ID, last)
    assert layout.purge(ID, layout.last(ID), None, kept).kind == "applied"
    assert not layout.exists(ID)
    assert seen(layout, OTHER)
    assert layout.put_back(kept).kind == "applied"
    assert seen(layout) == before


def test_a_purge_of_a_document_that_began_again_is_a_conflict(layout: Layout) -> None:
    last = deleted(layout)
    assert layout.create(doc(n=9), ID).kind == "applied"
    before = seen(layout)
    assert layout.purge(ID, last).kind == "conflict"
    assert seen(layout) == before


def test_without_a_marker_a_delete_is_refused_and_a_purge_is_not(name: str, server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, name, deleted="")
    assert layout.create(doc(n=1), ID).kind == "applied"
    outcome = layout.delete(ID, layout.version(ID))
    assert (outcome.kind, "purge" in outcome.detail) == ("refused", True)
    assert layout.purge(ID, layout.version(ID)).kind == "applied"


def test_a_tombstone_names_its_author_and_carries_no_hash(name: str, server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, name, author="by", at="at", deleted="gone")
    ns = server._client[database_name]["things"]
    assert layout.create(doc(n=1, _versioned_id="f" * 40), ID, Stamp(author="Eva")).kind == "applied"
    assert layout.delete(ID, layout.version(ID), Stamp(author="Ada")).kind == "applied"
    last = layout.last(ID)
    assert (last.deleted, last.author, last.content) == (True, "Ada", c.EMPTY)
    (stored,) = ns.find({"gone": True})
    assert stored["by"] == "Ada"
    assert "_versioned_id" not in stored
    assert "at" in stored


def test_deltas_of_an_application_that_takes_its_own_flag_back_go_on_below(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "deltas")
    ns = server._client[database_name]["things"]
    for number, fields in enumerate(({"a": 1}, {"_deleted": True}, {"_deleted": False}), 1):
        ns.insert_one({"docId": "K-1", "v": number} | fields)
    assert layout.version(ID).content == doc(a=1, _deleted=False)
    assert not any(each.deleted for each in layout.history(ID))
    refused = layout.swap(ID, layout.version(ID), doc(a=1, _deleted=True))
    assert (refused.kind, "_deleted" in refused.detail) == ("refused", True)


def test_a_second_tombstone_over_a_gap_takes_the_first_one_not_back(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "deltas")
    for number, fields in ((1, {"a": 1}), (2, {"_deleted": True}), (4, {"_deleted": True}), (5, {"a": 2})):
        row = {"docId": "K-1", "v": number, **fields}
        reply = server.send(Write(layout.ns, "insert", {}, c.encode(row)))
        assert reply.applied == "yes", reply.sentence
    told = [(each.v, each.deleted, each.state) for each in layout.history(ID)]
    assert told == [
        (v(5), False, "present"),
        (v(4), True, "present"),
        (v(3), False, "missing"),
        (v(2), True, "present"),
        (v(1), False, "present"),
    ]


def test_a_collection_with_tombstones_is_recognised_for_what_it_is(
    name: str, fields: dict[str, str], server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name, **fields)
    for number in range(12):
        id, content = Value.of(f"K-{number}"), {"title": f"t{number}", "net": number, "gross": number * 2, "note": "x"}
        assert layout.create(doc(**content), id).kind == "applied"
        for n in range(number % 4 + 1):
            assert layout.swap(id, layout.version(id), doc(**content | {"net": 100 + n})).kind == "applied"
        if number % 2:
            deleted(layout, id)
        if number % 4 == 3:
            assert layout.create(doc(**content), id).kind == "applied"
    (info,) = [found for found, _ in recognise(server, database_name, None) if found.ns == f"{database_name}.things"]
    assert info.layout == name, info.why
