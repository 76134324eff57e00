"""Unique indexes besides a layout's own: a collision is reported with index, field and value."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from bson import Int64

from model.catalogue.recognise import bind
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE
from model.server.retry import Server
from model.values.canonical import Value
from tests.model.layouts.layout_support import doc, layout_of, raw_find
from tests.model.server.faulty_server import FaultyServer
from tests.servers import odd

OWN_DOCUMENTS = ("versions", "flagged", "deltas")
IN_PLACE = [name for name in WRITABLE if name not in OWN_DOCUMENTS]
ONE, TWO = Value.of("K-1"), Value.of("K-2")


def field_of(layout: Layout, name: str) -> str:
    return f"{layout.profile.current}.{name}" if layout.name == "embedded" else name


def unique(server: Server, layout: Layout, *names: str, **options: Any) -> None:
    """A unique index on some fields of the content."""
    collection = server._client[layout.ns.partition(".")[0]][layout.ns.partition(".")[2]]
    collection.create_index([(field_of(layout, name), 1) for name in names], unique=True, **options)


def everything(server: Server, layout: Layout) -> list[list[dict[str, Any]]]:
    """All documents of the collection and of its archive, as stored."""
    return [raw_find(server, ns) for ns in (layout.ns, layout.profile.archive) if ns]


@pytest.mark.parametrize("name", IN_PLACE)
def test_an_edit_to_a_value_in_use_names_who_has_it_and_writes_nothing(
    name: str, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name)
    unique(server, layout, "email")
    assert layout.create(doc(email="x", n=1), ONE).kind == "applied"
    assert layout.create(doc(email="y", n=1), TWO).kind == "applied"
    before = everything(server, layout)
    outcome = layout.swap(TWO, layout.version(TWO), doc(email="x", n=2))
    assert outcome.kind == "refused", outcome
    assert f'K-1 holds {field_of(layout, "email")} "x" already' in outcome.detail
    assert f"{field_of(layout, 'email')}_1" in outcome.detail, "the index"
    assert everything(server, layout) == before, "no copy is left in an archive either"
    assert layout.swap(TWO, layout.version(TWO), doc(email="y", n=2)).kind == "applied", "its own value is no obstacle"
    assert layout.swap(TWO, layout.version(TWO), doc(email="z", n=2)).kind == "applied"


@pytest.mark.parametrize("name", list(WRITABLE))
def test_an_insert_with_a_value_in_use_does_not_speak_of_its_id(name: str, server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, name)
    unique(server, layout, "email")
    assert layout.create(doc(email="x"), ONE).kind == "applied"
    outcome = layout.create(doc(email="x"), TWO)
    assert outcome.kind == "refused", outcome
    assert f'K-1 holds {field_of(layout, "email")} "x" already' in outcome.detail
    assert "There is a document" not in outcome.detail
    again = layout.create(doc(email="z"), ONE)
    assert (again.kind, "There is a document K-1 already" in again.detail) == ("refused", True)


@pytest.mark.parametrize("name", list(WRITABLE))
def test_a_value_that_is_taken_in_the_very_moment_is_told_by_the_reply(
    name: str, server: Server, database_name: str
) -> None:
    sound = layout_of(server, database_name, name)
    unique(server, sound, "email")
    port = FaultyServer(server)
    layout = bind(port, sound.profile)
    assert layout.create(doc(email="y"), TWO).kind == "applied"
    base, port.operations = layout.version(TWO), 0
    layout.swap(TWO, base, doc(email="z"))
    by_the_reply = 0
    for at in range(port.operations):
        wanted = f"at {at}"
        base, port.operations = layout.version(TWO), 0
        port.between = {at: partial(sound.create, doc(email=wanted), Value.of(wanted))}
        outcome = layout.swap(TWO, base, doc(email=wanted))
        assert "finds the document changed" not in outcome.detail
        if outcome.kind == "applied":
            continue
        assert outcome.kind == "refused", outcome
        assert f'{field_of(layout, "email")} "{wanted}" already' in outcome.detail
        assert layout.version(TWO).content == base.content
        by_the_reply += f"{wanted} holds" not in outcome.detail
    # Where a swap is one write alone, the server decides, and only what it rejects is looked for.
    assert bool(by_the_reply) != (name in ("plain", "hashed", "embedded", "nested", "stream"))


def test_several_fields_of_any_type_and_inside_lists_are_looked_for_as_the_index_does(
    server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, "archive")
    unique(server, layout, "of.kind", "tags")
    first = doc(of={"kind": Int64(3)}, tags=["a", "b"])
    assert layout.create(first, ONE).kind == "applied"
    for content, kind in (
        (doc(of={"kind": 3.0}, tags=["c", "b"]), "refused"),
        (doc(of={"kind": 3}, tags="a"), "refused"),
        (doc(of={"kind": "3"}, tags=["a"]), "applied"),
        (doc(of={}, tags=["a"]), "applied"),
    ):
        outcome = layout.create(content, TWO)
        assert outcome.kind == kind, outcome
        if kind == "applied":
            layout.delete(TWO, layout.version(TWO))
            server._client[database_name]["things_past"].delete_many({})


def test_a_missing_field_counts_as_null_and_a_sparse_or_partial_index_does_not_ask(local_uri: str) -> None:
    with Server.connect(local_uri) as server:
        layout = layout_of(server, "nulls", "plain")
        unique(server, layout, "email")
        assert layout.create(doc(n=1), ONE).kind == "applied"
        outcome = layout.create(doc(n=1), TWO)
        assert (outcome.kind, "email null" in outcome.detail) == ("refused", True), outcome
        server._client["nulls"]["things"].drop_indexes()
        unique(server, layout, "email", sparse=True)
        assert layout.create(doc(n=1), TWO).kind == "applied"
        server._client["nulls"]["things"].drop_indexes()
        unique(server, layout, "n", partialFilterExpression={"live": True})
        assert layout.create(doc(n=1), Value.of("K-3")).kind == "applied"
        assert layout.create(doc(n=1, live=True), Value.of("K-4")).kind == "applied"
        outcome = layout.create(doc(n=1, live=True), Value.of("K-5"))
        assert (outcome.kind, "K-4 holds n 1 already" in outcome.detail) == ("refused", True), outcome
        server._client.drop_database("nulls")


@pytest.mark.parametrize("name", OWN_DOCUMENTS)
def test_a_unique_index_on_content_lets_no_second_version_in_and_that_is_said(
    name: str, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name)
    unique(server, layout, "email")
    layout.create(doc(email="x", n=1), ONE)
    outcome = layout.swap(ONE, layout.version(ONE), doc(email="x", n=2))
    if name == "deltas":  # a delta without the field has null there, which is free the first time
        assert outcome.kind == "applied"
        outcome = layout.swap(ONE, layout.version(ONE), doc(email="x", n=3))
    assert outcome.kind == "refused", outcome
    assert "email_1 lets one version of a document have email" in outcome.detail
    assert layout.swap(ONE, layout.version(ONE), doc(email="y", n=2)).kind == "applied"


@pytest.mark.parametrize(
    ("keys", "partial"), [(("docId",), {"current": True}), (("docId", "current"), None), (("docId",), None)]
)
def test_an_index_that_lets_one_version_be_flagged_is_told_before_anything_is_typed(
    keys: tuple[str, ...], partial: dict[str, Any] | None, local_uri: str, database_name: str
) -> None:
    with Server.connect(local_uri) as server:
        layout = layout_of(server, database_name, "flagged")
        assert layout.create(doc(a=1), ONE).kind == "applied"
        assert layout.writable(layout.version(ONE)) == ""
        unique(server, layout, *keys, name="one_current", **({"partialFilterExpression": partial} if partial else {}))
        why = layout.writable(layout.version(ONE))
        assert "one_current" in why
        assert ("current" in why.replace("one_current", "")) == (keys != ("docId",) or partial is not None)
        before = raw_find(server, layout.ns)
        outcome = layout.swap(ONE, layout.version(ONE), doc(a=2))
        assert (outcome.kind, outcome.detail) == ("refused", why)
        assert raw_find(server, layout.ns) == before
        deleted = layout.delete(ONE, layout.version(ONE))
        assert (deleted.kind, deleted.detail) == ("refused", why), "a tombstone is a version too"
        assert layout.purge(ONE, layout.version(ONE)).kind == "applied"
        server._client.drop_database(database_name)


def test_an_index_of_the_archive_that_turns_the_copy_away_is_named_and_nothing_is_changed(
    server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, "archive")
    server._client[database_name]["things_past"].create_index("email", unique=True)
    layout.create(doc(email="x", n=1), ONE)
    assert layout.swap(ONE, layout.version(ONE), doc(email="x", n=2)).kind == "applied"
    before = everything(server, layout)
    outcome = layout.swap(ONE, layout.version(ONE), doc(email="x", n=3))
    assert outcome.kind == "refused", outcome
    assert 'email_1 holds email "x" already' in outcome.detail
    assert everything(server, layout) == before


@pytest.mark.parametrize("name", list(WRITABLE))
def test_what_was_deleted_is_not_put_back_over_a_value_in_use(name: str, server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, name)
    unique(server, layout, "email")
    layout.create(doc(email="x"), ONE)
    base = layout.version(ONE)
    removed = layout.all_stored(ONE, base)
    remove = layout.delete if name == "stream" else layout.purge
    assert remove(ONE, base).kind == "applied"
    assert layout.create(doc(email="x"), TWO).kind == "applied"
    back = layout.put_back(removed)
    assert (back.kind, "email" in back.detail) == ("refused", True), back


@pytest.mark.parametrize(
    ("words", "named"), [(odd.duplicates_name_their_index, True), (odd.duplicates_name_nothing, False)]
)
def test_a_server_that_does_not_name_the_fields_makes_nobody_else_the_writer(
    words: Callable[[pytest.MonkeyPatch], None],
    named: bool,
    local_uri: str,
    database_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words(monkeypatch)
    with Server.connect(local_uri) as server:
        for name in WRITABLE:
            sound = layout_of(server, f"{database_name}_{name}", name)
            unique(server, sound, "email")
            taken_at_any_moment(server, sound, named)
            raced_at_any_moment(server, sound)
            assert sound.create(doc(email="wanted"), Value.of("K-8")).kind == "applied"
            removed = sound.all_stored(Value.of("K-8"), base := sound.version(Value.of("K-8")))
            gone = (sound.delete if name == "stream" else sound.purge)(Value.of("K-8"), base)
            assert gone.kind == "applied", gone
            assert sound.create(doc(email="wanted"), Value.of("K-9")).kind == "applied"
            back = sound.put_back(removed)
            assert (back.kind, "taken by another" in back.detail) == ("refused", False), back
            server._client.drop_database(f"{database_name}_{name}")


def taken_at_any_moment(server: Server, sound: Layout, named: bool) -> None:
    """Edits whose value is taken by another document before each of their operations."""
    port = FaultyServer(server)
    layout = bind(port, sound.profile)
    assert layout.create(doc(email="y"), TWO).kind == "applied"
    base, port.operations = layout.version(TWO), 0
    layout.swap(TWO, base, doc(email="z"))
    for at in range(port.operations):
        wanted = f"at {at}"
        base, port.operations = layout.version(TWO), 0
        port.between = {at: partial(sound.create, doc(email=wanted), Value.of(wanted))}
        outcome = layout.swap(TWO, base, doc(email=wanted))
        assert outcome.kind in ("applied", "refused"), (layout.name, outcome)
        assert (f'email "{wanted}" already' in outcome.detail) or not named or outcome.kind == "applied", outcome


def raced_at_any_moment(server: Server, sound: Layout) -> None:
    """Edits before whose operations somebody else writes the same version; who is there is still seen."""
    port = FaultyServer(server)
    layout = bind(port, sound.profile)
    base, port.operations = layout.version(TWO), 0
    layout.swap(TWO, base, doc(email="free"))
    for at in range(port.operations):
        base, port.operations = layout.version(TWO), 0
        port.between = {at: partial(sound.swap, TWO, base, doc(email=f"first {at}"))}
        outcome = layout.swap(TWO, base, doc(email=f"raced {at}"))
        assert outcome.kind in ("applied", "conflict"), (layout.name, at, outcome)
