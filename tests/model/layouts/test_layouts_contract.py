"""Every layout, on every server, with two sets of field names: what is written is read back as the next version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from model import text
from model.errors import NotFound
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE
from model.server.retry import Server
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import NAMES, doc, layout_of, v

pytestmark = pytest.mark.second_server

CASES = json.loads((support.CASES / "layouts.json").read_text(encoding="utf-8"))


@pytest.fixture(params=list(WRITABLE))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=list(NAMES))
def layout(name: str, request: pytest.FixtureRequest, server: Server, database_name: str) -> Layout:
    return layout_of(server, database_name, name, **NAMES[request.param])


def raw_of(part: Any) -> bytes:
    return text.from_text(json.dumps(part))


def test_a_document_is_created_read_swapped_and_read_again(layout: Layout) -> None:
    id = Value.of("K-1")
    created = layout.create(doc(status="draft", n=1), id)
    assert created.kind == "applied", created
    base = layout.version(id)
    assert base.content == doc(status="draft", n=1)
    assert base.current
    outcome = layout.swap(id, base, doc(status="active", n=1))
    assert outcome.kind == "applied", outcome
    now = layout.version(id)
    assert now.content == doc(status="active", n=1)
    assert now.v == outcome.version
    if layout.numbered:
        assert (base.v, now.v) == (v(1), v(2))


def test_a_swap_on_a_version_that_has_been_overtaken_is_a_conflict_and_writes_nothing(layout: Layout) -> None:
    id = Value.of("K-1")
    layout.create(doc(n=1), id)
    base = layout.version(id)
    assert layout.swap(id, base, doc(n=2)).kind == "applied"
    before = list(layout.history(id, contents=True))
    late = layout.swap(id, base, doc(n=3))
    assert late.kind == "conflict", late
    assert list(layout.history(id, contents=True)) == before


def test_a_content_that_comes_back_does_not_let_a_stale_edit_through(layout: Layout) -> None:
    id = Value.of("K-1")
    layout.create(doc(n=1), id)
    stale = layout.version(id)
    layout.swap(id, stale, doc(n=2))
    layout.swap(id, layout.version(id), doc(n=1))
    assert layout.version(id).content == stale.content
    assert layout.swap(id, stale, doc(n=9)).kind == "conflict"


def test_a_swap_on_a_deleted_document_is_a_conflict(layout: Layout) -> None:
    id = Value.of("K-1")
    layout.create(doc(n=1), id)
    base = layout.version(id)
    assert layout.delete(id, base).kind == "applied"
    late = layout.swap(id, base, doc(n=2))
    assert late.kind == "conflict"
    assert "deleted" in late.detail
    with pytest.raises(NotFound):
        layout.version(id)


def test_what_a_purge_removes_can_be_put_back(layout: Layout) -> None:
    id = Value.of("K-1")
    layout.create(doc(n=1), id)
    layout.swap(id, layout.version(id), doc(n=2))
    before = [(each.v, each.content, each.raw) for each in layout.history(id, contents=True)]
    base = layout.version(id)
    removed = layout.all_stored(id, base)
    if layout.name == "stream":  # its archive belongs to another program
        assert layout.purge(id, base).kind == "refused"
        return
    assert layout.purge(id, base).kind == "applied"
    assert not layout.exists(id)
    assert layout.put_back(removed).kind == "applied"
    assert layout.put_back(removed).kind == "applied"
    assert [(each.v, each.content, each.raw) for each in layout.history(id, contents=True)] == before


def test_a_delete_of_a_version_that_has_been_overtaken_is_a_conflict(layout: Layout) -> None:
    id = Value.of("K-1")
    layout.create(doc(n=1), id)
    base = layout.version(id)
    layout.swap(id, base, doc(n=2))
    assert layout.delete(id, base).kind == "conflict"
    assert layout.version(id).content == doc(n=2)


def test_an_id_is_given_once(layout: Layout) -> None:
    id = Value.of("K-1")
    assert layout.create(doc(n=1), id).kind == "applied"
    again = layout.create(doc(n=2), id)
    assert again.kind == "refused"
    assert "K-1" in again.detail
    assert layout.version(id).content == doc(n=1)


def test_equal_contents_are_not_confused(layout: Layout) -> None:
    for id in ("a", "b"):
        layout.create(doc(n=1), Value.of(id))
    layout.swap(Value.of("a"), layout.version(Value.of("a")), doc(n=2))
    assert layout.version(Value.of("b")).content == doc(n=1)


@support.table("case", support.every(8, CASES), ids=lambda case: str(case["name"]))
def test_every_edit_arrives_exactly_or_says_why_not(
    case: dict[str, Any], name: str, layout: Layout, server_name: str
) -> None:
    id, before, after = Value.of(case["name"]), raw_of(case["before"]), raw_of(case["after"])
    created = layout.create(before, id)
    assert created.kind == "applied", created
    base = layout.version(id)
    assert base.content == before
    outcome = layout.swap(id, base, after)
    now = layout.version(id)
    if outcome.kind == "refused":
        assert case.get("odd") or (name == "deltas" and (case.get("removes") or case.get("reorders"))), outcome
        assert (now.v, now.content) == (base.v, before)
        return
    assert outcome.kind == "applied", outcome
    if server_name == "java" and now.content != after:
        assert case.get("reorders") or case["sends"] == "whole", (outcome, text.to_text(now.content or b""))
        assert "order" in outcome.detail
        assert sorted(map(repr, c.fields(now.content or b""))) == sorted(map(repr, c.fields(after)))
    else:
        assert now.content == after, (outcome, text.to_text(now.content or b""))
    assert now.state == "present", now
    if layout.numbered:
        if name != "stream":
            assert layout.version(id, v(1)).content == before
        kept = [(each.v, each.state) for each in layout.history(id)]
        # A feeder would have archived the first version of a stream; nobody has.
        assert kept == [(v(2), "present"), (v(1), "missing" if name == "stream" else "present")]


@pytest.mark.parametrize("server_name", ["local"])
@support.table("case", CASES, ids=lambda case: str(case["name"]))
def test_an_edit_names_only_what_changed_where_operators_can_say_it(
    case: dict[str, Any], server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, "hashed")
    id, before, after = Value.of(case["name"]), raw_of(case["before"]), raw_of(case["after"])
    layout.create(before, id)
    (write,) = layout.steps(id, layout.version(id), after, Stamp()).all
    if case["sends"] == "operators":
        assert write.kind == "update"
        assert isinstance(write.body, dict)
    elif case["sends"] == "whole":
        assert write.kind == "replace" or isinstance(write.body, list)
