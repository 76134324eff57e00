"""What an edit leaves unchanged, what it adds, and what it refuses."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

import pytest
from bson import Decimal128, Int64, ObjectId
from hypothesis import given

from model.catalogue.recognise import bind
from model.errors import Refused
from model.foundation.records import Outcome
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE
from model.server.retry import Server, Write
from model.storage.reserved_fields import compose, number_of
from model.storage.swap_steps import Stamp
from model.storage.update_operators import Operators, differences, operators, reordered
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.diff.bson_strategies import related
from tests.model.layouts.layout_support import doc, layout_of, v
from tests.walker.building import using

pytestmark = pytest.mark.second_server

ID = Value.of("K-1")


@pytest.fixture(params=list(WRITABLE))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def bump(server: Server, layout: Layout, path: str, value: Any, **more: Any) -> None:
    """Change a field in place, as a writer who knows nothing of versions."""
    key = layout.profile.id
    at = f"{layout.profile.current}.{path}" if layout.name == "embedded" else path
    reply = server.send(Write(layout.ns, "update", {key: "K-1", **more}, {"$set": {at: value}}))
    assert reply.applied == "yes"


def test_what_is_composed_before_an_edit_is_what_the_edit_stores(name: str, server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, name)
    layout.create(doc(a=1, b=1), ID)
    assert layout.swap(ID, layout.version(ID), doc(a=2, b=1)).kind == "applied"
    base, stamp = layout.version(ID), Stamp()
    composed = layout.steps(ID, base, doc(a=2, b=1, c=3), stamp).makes
    assert layout.swap(ID, base, doc(a=2, b=1, c=3), stamp).kind == "applied"
    assert layout.version(ID).raw == composed


def test_a_history_that_deltas_cannot_say_is_refused_before_any_of_it_is_stored(
    server: Server, database_name: str
) -> None:
    whole = layout_of(server, database_name, "versions")
    whole.create(doc(a=1, b=1), ID)
    assert whole.swap(ID, whole.version(ID), doc(a=2)).kind == "applied"
    history = list(whole.history(ID, contents=True))[::-1]
    deltas = layout_of(server, f"{database_name}_deltas", "deltas")
    with pytest.raises(Refused, match="cannot say that b is removed"):
        deltas.as_stored(ID, history)
    assert len(deltas.as_stored(ID, history[:1])) == 1


@pytest.mark.parametrize("name", ["archive", "embedded", "nested", "stream"])
def test_a_field_that_is_bumped_in_place_survives_an_edit_of_others(
    name: str, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name)
    layout.create(doc(a=1, views=1, deep={"x": 1, "seen": 1}), ID)
    base = layout.version(ID)
    bump(server, layout, "views", 7)
    bump(server, layout, "deep.seen", 8)
    outcome = layout.swap(ID, base, doc(a=2, views=1, deep={"x": 2, "seen": 1}))
    assert outcome.kind == "applied", outcome
    assert "views" in outcome.detail
    assert layout.version(ID).content == doc(a=2, views=7, deep={"x": 2, "seen": 8})


@pytest.mark.parametrize("name", ["archive", "embedded", "nested", "stream"])
def test_a_version_that_got_another_hash_in_place_is_read_again_before_an_edit_makes_the_next(
    name: str, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name, hash="sum")
    layout.create(doc(a=1, b=1), ID)
    bump(server, layout, "sum", c.hash_of(doc(a=1, b=1)))
    base = layout.version(ID)
    bump(server, layout, "b", 7)
    bump(server, layout, "sum", c.hash_of(doc(a=1, b=7)))
    assert layout.swap(ID, base, doc(a=2, b=1)).kind == "conflict"
    assert layout.swap(ID, layout.version(ID), doc(a=2, b=7)).kind == "applied"
    now = layout.version(ID)
    assert (now.content, now.state) == (doc(a=2, b=7), "present")
    assert now.raw is not None
    assert c.hash_of(doc(a=2, b=7)).encode() in now.raw


@pytest.mark.parametrize("name", ["archive", "embedded", "stream", "plain", "hashed", "versions", "flagged", "deltas"])
def test_a_field_that_was_changed_in_place_is_not_overwritten(name: str, server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, name)
    layout.create(doc(a=1, b=1), ID)
    base = layout.version(ID)
    bump(server, layout, "a", 7)
    outcome = layout.swap(ID, base, doc(a=2, b=1))
    assert outcome.kind == "conflict", outcome
    assert "in place" in outcome.detail or "changed" in outcome.detail
    assert layout.version(ID).content == doc(a=7, b=1)


def test_a_plain_document_is_swapped_on_its_whole_content(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "plain")
    layout.create(doc(a=1, b=1), ID)
    base = layout.version(ID)
    for value in ("another", 1.0):  # by way of another value: some servers take 1.0 over 1 for no change
        bump(server, layout, "b", value)
        assert layout.swap(ID, base, doc(a=2, b=1)).kind == "conflict"


@pytest.mark.parametrize("token", support.some(["_w", "stamp", ""], "stamp", ""))
def test_the_token_stands_in_what_is_written_unless_the_collection_must_gain_no_field(
    token: str, name: str, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name, token=token)
    stamp = Stamp()
    layout.create(doc(a=1), ID)
    outcome = layout.swap(ID, layout.version(ID), doc(a=2), stamp)
    assert outcome.kind == "applied"
    raw = layout.version(ID).raw
    assert raw is not None
    inside = c.get(raw, (layout.profile.current,)) if name == "embedded" else Value.document(raw)
    assert inside is not None
    names = [field for field, _ in c.fields(inside.data)]
    assert (c.get(inside.data, (token,)) == Value.of(stamp.token)) if token else "_w" not in names
    if token:
        assert layout.landed(ID, stamp.token) is True
        assert layout.landed(ID, ObjectId()) is not True


def test_time_and_author_are_written_where_the_profile_names_fields_for_them(
    name: str, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name, at="changedAt", author="changedBy", reason="why")
    assert "changedBy" in layout.unfit(doc(a=1, changedBy="x"))
    when = dt.datetime(2026, 11, 20, 14, 26, 0, 123_000, tzinfo=dt.UTC)
    layout.create(doc(a=1), ID, Stamp(author="hb-009", at=when, reason="new"))
    first = layout.version(ID)
    assert (first.at, first.author, first.reason) == (when, "hb-009", "new")
    later = when + dt.timedelta(days=1)
    assert layout.swap(ID, first, doc(a=2), Stamp(author="rk-204", at=later)).kind == "applied"
    now = layout.version(ID)
    assert (now.at, now.author, now.reason) == (later, "rk-204", None), "the reason was that of the version before"
    assert now.content == doc(a=2), "who wrote it is not content"


@pytest.mark.parametrize("name", ["versions", "archive", "embedded"])
def test_an_author_that_a_hash_covers_stays_content(name: str, server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, name, hash="sum", author="changedBy", seals_author=True)
    content = doc(a=1, changedBy="hb-009")
    layout.create(content, ID, Stamp(author="hb-009"))
    sets = {"current.sum" if name == "embedded" else "sum": c.hash_of(content)}
    assert server.send(Write(layout.ns, "update", {layout.profile.id: "K-1"}, {"$set": sets})).applied == "yes"
    base = layout.version(ID)
    assert (base.content, base.author, base.state) == (content, "hb-009", "present")
    assert layout.swap(ID, base, doc(a=2, changedBy="hb-009"), Stamp(author="rk-204")).kind == "applied"
    now = layout.version(ID)
    assert (now.content, now.author, now.state) == (doc(a=2, changedBy="rk-204"), "rk-204", "present")


def test_the_layouts_own_fields_stay_where_they_are() -> None:
    base = c.encode({"_id": 1, "docId": "K", "a": 1, "v": 1, "b": 2, "_w": 0})
    own = {"_id", "docId", "v", "_w", "at"}
    new = compose(base, own, doc(a=9, x=0, b=8), {"v": v(2), "_w": v(5), "at": v(7)})
    assert c.decode(new) == {"_id": 1, "docId": "K", "a": 9, "v": 2, "x": 0, "b": 8, "_w": 5, "at": 7}
    assert list(c.decode(new)) == ["_id", "docId", "a", "v", "x", "b", "_w", "at"]
    assert list(c.decode(compose(base, own, doc(z=1), {}))) == ["_id", "docId", "v", "_w", "z"]


def test_the_preview_is_what_is_sent(name: str, local_uri: str, database_name: str) -> None:
    from tests.model.server.faulty_server import FaultyServer

    with Server.connect(local_uri) as server:
        layout = layout_of(server, "previews", name)
        id = Value.of(name)
        layout.create(doc(a=1), id)
        base, stamp = layout.version(id), Stamp()
        steps = layout.steps(id, base, doc(a=2), stamp).all
        port = FaultyServer(server)
        assert bind(port, layout.profile).swap(id, base, doc(a=2), stamp).kind == "applied"
        assert [write for write in port.sent if write in steps] == steps
        assert len(port.sent) == len(steps)
        assert layout.explain(base).endswith(".")
        server._client.drop_database("previews")


def test_every_write_but_an_insert_names_its_document_and_a_guard(name: str, local_uri: str) -> None:
    from tests.model.server.faulty_server import FaultyServer

    with Server.connect(local_uri) as server:
        sound = layout_of(server, "gateway", name)
        port = FaultyServer(server)
        layout = bind(port, sound.profile)
        id = Value.of(name)
        layout.create(doc(a=1), id)
        for content in (doc(a=2), doc(a=2, b=1), doc(b=1, a=2) if name != "deltas" else doc(a=3, b=1)):
            assert layout.swap(id, layout.version(id), content).kind == "applied"
        assert layout.delete(id, layout.version(id)).kind == "applied"
        for write in port.sent:
            assert write.kind == "insert" or ("_id" in write.filter and len(write.filter) > 1), write
        server._client.drop_database("gateway")


def test_numbers_come_from_a_counter_where_the_profile_says_so(server: Server, database_name: str) -> None:
    counter = f"{database_name}.counters"
    for name in ("versions", "archive", "embedded"):
        layout = layout_of(server, database_name, name, numbering=f"counter:{counter}")
        id = Value.of(name)
        assert layout.create(doc(a=1), id).version == v(1)
        assert layout.swap(id, layout.version(id), doc(a=2)).version == v(2)
        server.send(Write(counter, "update", {"_id": name}, {"$set": {"seq": 9}}))
        assert layout.swap(id, layout.version(id), doc(a=3)).version == v(10)
        server._client[database_name]["things"].drop()


def test_versions_can_be_times(server: Server, database_name: str) -> None:
    for name in ("versions", "archive"):
        layout = layout_of(server, database_name, name, numbering="time")
        id = Value.of(name)
        first = layout.create(doc(a=1), id, Stamp(at=dt.datetime(2099, 1, 1, tzinfo=dt.UTC)))
        assert first.version is not None
        assert first.version.type == c.DATE
        second = layout.swap(id, layout.version(id), doc(a=2))
        assert second.kind == "applied", second
        assert layout.version(id).content == doc(a=2), "later than the one before, whatever the clock says"
        assert [each.state for each in layout.history(id)] == ["present", "present"]
        server._client[database_name]["things"].drop()


@pytest.mark.parametrize("name", ["archive", "versions", "embedded"])
def test_int64_and_large_numbers_stay_what_they_are(name: str, server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, name)
    layout.create(doc(a=1), ID)
    for number, wanted in ((Int64(3), Int64(4)), (2**31 - 1, Int64(2**31))):
        bump(server, layout, "v", -1)  # some servers take Int64 over Int32 for no change
        bump(server, layout, "v", number)
        assert layout.swap(ID, layout.version(ID), doc(a=number)).version == Value.of(wanted)
        server._client[database_name]["things"].delete_many({})
        server._client[database_name]["things_past"].delete_many({})
        layout.create(doc(a=1), ID)


def test_a_document_that_does_not_decode_is_shown_and_never_written(name: str, local_uri: str) -> None:
    with Server.connect(local_uri) as server:
        layout = layout_of(server, "broken", name)
        id = Value.of(name)
        layout.create(doc(a="xxxx", b=1), id)
        (raw,) = server.find(layout.ns)
        server._client["broken"]["things"].delete_many({})
        bad = raw.replace(b"xxxx", b"\xff\xfe\xff\xfe")
        assert server.send(Write(layout.ns, "insert", {}, bad)).applied == "yes"
        (row,) = layout.page()
        assert not row.readable
        version = layout.version(id)
        assert (version.state, version.current) == ("damaged", True)
        outcome = layout.swap(id, version, doc(a="y", b=1))
        assert outcome.kind == "refused"
        assert "shown and not written" in outcome.detail
        assert list(server.find(layout.ns)) == [bad]
        server._client.drop_database("broken")


@pytest.mark.deep
def test_a_large_document_is_swapped_by_version_and_token(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "archive")
    large = "x" * (9 << 20)
    layout.create(doc(a=1, b=2, t=large), ID)
    assert layout.swap(ID, layout.version(ID), doc(a=2, b=2, t=large)).kind == "applied"
    turned = doc(b=2, a=2, t=large)
    outcome = layout.swap(ID, layout.version(ID), turned)
    assert outcome.kind == "applied", outcome
    now = layout.version(ID)
    assert now.content == turned or "order" in outcome.detail


@pytest.mark.parametrize("name", support.some(WRITABLE, "archive", "versions", "embedded"))
def test_a_version_beyond_16_mb_is_refused_and_nothing_is_lost(name: str, local_uri: str) -> None:
    with Server.connect(local_uri) as server:
        layout = layout_of(server, "large", name)
        id = Value.of(name)
        layout.create(doc(a=1), id)
        base = layout.version(id)
        outcome = layout.swap(id, base, doc(a=1, t="x" * (17 << 20)))
        assert outcome.kind == "refused", outcome
        assert "16 MB" in outcome.detail
        assert (layout.version(id).v, layout.version(id).content) == (base.v, base.content)
        server._client.drop_database("large")


def test_a_read_only_session_refuses_and_says_so(
    name: str, server_uri: str, server: Server, database_name: str
) -> None:
    sound = layout_of(server, database_name, name)
    sound.create(doc(a=1), ID)
    with Server.connect(server_uri, read_only=True) as closed:
        layout = bind(closed, sound.profile)
        base = layout.version(ID)
        for outcome in (
            layout.swap(ID, base, doc(a=2)),
            layout.create(doc(a=1), Value.of("n")),
            layout.delete(ID, base),
        ):
            assert outcome.kind == "refused"
            assert "read-only" in outcome.detail
    assert sound.version(ID).content == doc(a=1)


@pytest.mark.parametrize("name", support.some(WRITABLE, "archive"))
def test_eight_writers_lose_nothing(name: str, server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, name)
    made = layout.create(doc(n=0), ID)
    assert made.kind == "applied", made.detail
    outcomes: list[Outcome] = []

    def count() -> None:
        for _ in range(5):
            while True:
                base = layout.version(ID)
                assert base.content is not None
                n = c.get(base.content, ("n",))
                assert n is not None
                outcome = layout.swap(ID, base, doc(n=n.python() + 1))
                outcomes.append(outcome)
                if outcome.kind == "applied":
                    break

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    applied = [outcome for outcome in outcomes if outcome.kind == "applied"]
    assert len(applied) == 40
    assert not [outcome.detail for outcome in outcomes if outcome.kind not in ("applied", "conflict")]
    assert layout.version(ID).content == doc(n=40)
    if layout.numbered and name != "stream":
        assert [number_of(each.v) for each in layout.history(ID)] == list(range(41, 0, -1))


# --- small parts


def test_a_server_that_stores_another_order_is_told_from_someone_elses_change() -> None:
    sent, before = doc(a=1, b={"x": 1, "y": 2}), doc(a=0, b={"x": 1, "y": 2})
    assert differences(sent, sent, before) == ""
    assert "another order" in differences(sent, doc(a=1, b={"y": 2, "x": 1}), before)
    assert "b changed meanwhile" in differences(sent, doc(a=1, b=3), before)
    assert "stored a differently" in differences(sent, doc(a=1.0, b={"x": 1, "y": 2}), before)
    assert reordered(doc(a=[{"x": 1, "y": 2}]), doc(a=[{"y": 2, "x": 1}]))
    assert not reordered(doc(a=[1, 2]), doc(a=[2, 1]))
    assert not reordered(doc(a=1), doc(a=1.0))


def test_operators_give_the_new_document_or_none_at_all() -> None:
    assert operators(doc(a=1), doc(a=1)) is not None
    for old, new in (
        (doc(a=1, b=2), doc(b=2, a=1)),
        (doc(), doc(b=1, a=1)),
        (doc(), c.encode({"2": 1, "10": 1})),
        (c.encode({"a.b": 1}), c.encode({"a.b": 2})),
        (c.encode({"$a": 1}), c.encode({})),
    ):
        assert operators(old, new) is None
    assert operators(doc(a=1), doc(a=Decimal128("1.0"))) is None
    assert operators(doc(a=1), doc(a=2.0)) is not None
    edit = operators(doc(a={"x": 1, "y": 2}, b=1), doc(a={"x": 9}))
    assert edit is not None
    assert (edit.sets, edit.unsets) == ({"a.x": v(9)}, ("b", "a.y"))
    assert edit.before == {"a.x": v(1), "b": v(1), "a.y": v(2)}


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.skipif(c.walker is None, reason="there is no walker here")
@given(related())
@support.examples(200)
def test_operators_are_the_same_with_the_walker_and_without_it(documents: tuple[bytes, ...]) -> None:
    old, new = documents
    for twice in (b"", b"\x10a\x00\x01\x00\x00\x00" * 2):  # and with a name twice
        pair = [c.joined([twice, each[4:-1]]) for each in (old, new)]
        with using(None):
            without = operators(*pair), operators(*pair, retypes=True)
        assert (operators(*pair), operators(*pair, retypes=True)) == without


def test_the_walker_finds_what_differs_of_fields_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(raw: bytes) -> list[tuple[str, Value]]:
        raise AssertionError("The fields of a content were read one by one.")

    old, new = doc(a=1, b={"x": 1, "y": 2}, e=3), doc(a=2, b={"x": 9, "y": 2}, e=3)
    with monkeypatch.context() as patch:
        patch.setattr(c, "fields", read)
        edit = operators(old, new) if c.walker is not None else None
    assert edit == (Operators({"a": v(2), "b.x": v(9)}, (), {"a": v(1), "b.x": v(1)}) if c.walker is not None else None)


def test_a_version_that_came_while_the_others_were_being_kept_is_not_purged(local_uri: str, database_name: str) -> None:
    with Server.connect(local_uri) as server:
        for name in ("versions", "flagged", "deltas"):
            layout = layout_of(server, f"{database_name}_{name}", name)
            id = Value.of("a")
            assert layout.create(doc(n=1), id).kind == "applied"
            assert layout.swap(id, layout.version(id), doc(n=2)).kind == "applied"
            base = layout.version(id)
            kept = layout.all_stored(id, base)
            outcome = layout.purge(id, base, None, kept[1:])  # as if the first one had been put back only just now
            assert outcome.kind == "conflict"
            assert len(layout.all_stored(id, base)) == 2
            assert layout.purge(id, base, None, kept).kind == "applied"
