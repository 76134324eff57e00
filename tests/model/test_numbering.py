"""Numbers from the clock or a counter: what keeps two writers apart who began from the same version."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from model import canonical as c
from model.canonical import Value
from model.layouts.base import Layout, Stamp
from model.layouts.fields import number_of, place_of
from model.layouts.listed import LAYOUTS, bind, info_of, stated
from model.records import Version
from model.resilient import Server, Write
from model.session import Session
from tests.model.faults import FaultyServer
from tests.model.layout_ground import doc, layout_of, raw_find

ID = Value.of("K-1")
NOW = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)


@pytest.fixture
def server(local_uri: str) -> Iterator[Server]:
    with Server.connect(local_uri) as connected:
        yield connected
        connected._client.drop_database("numbers")


@pytest.fixture(params=["time", "counter:numbers.seq"])
def numbering(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["versions", "flagged", "deltas"])
def layout(request: pytest.FixtureRequest, numbering: str, server: Server) -> Layout:
    made = layout_of(server, "numbers", str(request.param), numbering=numbering)
    assert made.create(doc(a=1), ID, Stamp(at=NOW)).kind == "applied"
    return made


def later(seconds: int) -> Stamp:
    return Stamp(at=NOW + dt.timedelta(seconds=seconds))


def test_two_edits_of_one_version_do_not_both_go_through(layout: Layout, server: Server) -> None:
    port = FaultyServer(server)
    slow = bind(port, layout.profile)
    for place in range(40):  # the other edit comes in before each operation of this one
        base, ours, kinds = layout.version(ID), doc(a=place + 100), []

        def overtake(base: Version = base, place: int = place, kinds: list[str] = kinds) -> None:
            kinds.append(layout.swap(ID, base, doc(a=-place), later(2 * place + 1)).kind)

        port.operations, port.between = 0, {place: overtake}
        kinds.append(slow.swap(ID, base, ours, later(2 * place + 2)).kind)
        if port.between:
            return
        assert sorted(kinds) == ["applied", "conflict"], f"at operation {place}"
    raise AssertionError("a swap of more than forty operations")


def test_the_mark_of_the_next_number_is_no_part_of_the_content(layout: Layout) -> None:
    outcome = layout.swap(ID, layout.version(ID), doc(a=2), later(1))
    assert outcome.kind == "applied"
    first, second = reversed(list(layout.history(ID, contents=True)))
    assert (first.content, second.content) == (doc(a=1), doc(a=2))
    assert c.get(first.raw or c.EMPTY, ("_w_next",)) == second.v
    assert c.get(second.raw or c.EMPTY, ("_w_next",)) is None
    assert "_w_next" in layout.locked


def test_where_no_field_may_be_added_such_numbers_are_refused_with_the_reason(server: Server, numbering: str) -> None:
    layout = layout_of(server, "numbers", "versions", numbering=numbering, token="")
    layout.create(doc(a=1), ID, Stamp(at=NOW))
    outcome = layout.swap(ID, layout.version(ID), doc(a=2), later(1))
    assert outcome.kind == "refused"
    assert "do not keep two writers apart" in outcome.detail


def test_a_document_is_begun_once_whatever_the_counter_says(server: Server) -> None:
    layout = layout_of(server, "numbers", "versions", numbering="counter:numbers.seq")
    port = FaultyServer(server)
    slow = bind(port, layout.profile)
    for place in range(20):
        id = Value.of(f"K-{place}")
        port.operations = 0
        port.between = {place: lambda id=id: layout.create(doc(a=1), id)}  # type: ignore[misc]
        outcome = slow.create(doc(a=2), id)
        if port.between:
            return
        assert outcome.kind in ("refused", "applied")
        assert len(list(layout.history(id))) == 1
    raise AssertionError("a creation of more than twenty operations")


@pytest.mark.parametrize("name", ["versions", "flagged", "deltas"])
def test_two_documents_begun_at_different_times_under_one_id_are_not_both_begun(server: Server, name: str) -> None:
    layout = layout_of(server, "numbers", name, numbering="time")
    port = FaultyServer(server)
    slow = bind(port, layout.profile)
    for place in range(20):
        id = Value.of(f"T-{place}")
        port.operations = 0
        kinds: list[str] = []

        def overtake(id: Value = id, place: int = place, kinds: list[str] = kinds) -> None:
            kinds.append(layout.create(doc(a=1), id, later(2 * place + 1)).kind)

        port.between = {place: overtake}
        kinds.append(slow.create(doc(a=2), id, later(2 * place + 2)).kind)
        if port.between:
            return
        assert sorted(kinds) == ["applied", "refused"]
        assert len(list(layout.history(id))) == 1
    raise AssertionError("a creation of more than twenty operations")


def test_a_delete_takes_no_version_that_came_after_the_one_it_was_asked_for(server: Server) -> None:
    layout = layout_of(server, "numbers", "deltas")
    port = FaultyServer(server)
    slow = bind(port, layout.profile)
    for place in range(12):
        id = Value.of(f"D-{place}")
        layout.create(doc(a=1), id)
        base = layout.version(id)
        port.operations, kinds = 0, []

        def overtake(id: Value = id, base: Version = base, kinds: list[str] = kinds) -> None:
            kinds.append(layout.swap(id, base, doc(a=2)).kind)

        port.between = {place: overtake}
        deleted = slow.delete(id, base).kind
        if port.between:
            return
        assert (deleted, kinds) in (("conflict", ["applied"]), ("applied", ["conflict"])), f"at operation {place}"
        left = [found["v"] for found in raw_find(server, layout.ns, docId=id)]
        assert sorted(left) == ([1, 2] if kinds == ["applied"] else []), f"at operation {place}"
    raise AssertionError("a delete of more than twelve operations")


WAYS_TRIED = ("next", "loop", "counter:numbers.seq", "time")


@pytest.mark.parametrize("way", WAYS_TRIED)
@pytest.mark.parametrize("name", [name for name, layout in LAYOUTS.items() if layout.numbered])
def test_every_way_gives_each_version_a_later_number_and_the_preview_is_what_is_sent(
    server: Server, name: str, way: str
) -> None:
    layout = layout_of(server, "numbers", name, numbering=way)
    port = FaultyServer(server)
    watched = bind(port, layout.profile)
    assert layout.create(doc(a=0), ID, Stamp(at=NOW)).kind == "applied"
    for n in (1, 2, 3):
        base, stamp = watched.version(ID), later(n)
        foreseen = watched.foreseen(ID, base, doc(a=n), stamp)
        port.sent.clear()
        assert watched.swap(ID, base, doc(a=n), stamp).kind == "applied"
        assert [(each.ns, each.kind, each.filter, each.body) for each in port.sent] == [
            (each.ns, each.kind, each.filter, each.body) for each in foreseen
        ]
        assert place_of(watched.version(ID).v) > place_of(base.v)  # type: ignore[operator]


def test_the_loop_reads_and_tries_again_until_every_writer_has_a_number(local_uri: str, tmp_path: Path) -> None:
    profile = tmp_path / "layouts.toml"
    profile.write_text('[[collection]]\nns = "numbers.things"\nlayout = "versions"\nnumbering = "loop"\n')
    with Server.connect(local_uri) as server:
        layout_of(server, "numbers", "versions").create(doc(a=0), ID)

    def writer(number: int) -> list[str]:
        with Session.open(local_uri, profile=profile) as session:
            return [session.edit("numbers.things", "K-1", {f"w{number}": n}).kind for n in range(6)]

    with ThreadPoolExecutor(4) as pool:
        kinds = [kind for each in pool.map(writer, range(4)) for kind in each]
    assert kinds == ["applied"] * 24
    with Server.connect(local_uri) as server:
        found = raw_find(server, "numbers.things", docId=ID)
        server._client.drop_database("numbers")
    assert sorted(each["v"] for each in found) == list(range(1, 26))


def test_what_a_way_promises_is_told_with_the_collection(server: Server) -> None:
    told = {way: info_of(stated("s.t", "versions", numbering=way), 1, 1.0, "").numbering for way in WAYS_TRIED}
    assert len(set(told.values())) == 4
    assert all(said.endswith(".") for said in told.values())
    assert "_w_next" in told["time"]
    assert "_w_next" not in told["loop"]
    assert "edits are refused" in info_of(stated("s.t", "deltas", numbering="time", token=""), 1, 1.0, "").numbering
    assert "_w_next" not in info_of(stated("s.t", "embedded", numbering="time"), 1, 1.0, "").numbering
    assert info_of(stated("s.t", "plain"), 1, 1.0, "").numbering == ""


def test_a_number_that_a_counter_handed_out_in_vain_leaves_the_states_of_deltas_proven(server: Server) -> None:
    layout = layout_of(server, "numbers", "deltas", numbering="counter:numbers.seq")
    layout.create(doc(a=1), ID, Stamp(at=NOW))
    server.send(Write("numbers.seq", "insert", {}, doc(_id="K-1", seq=6)))
    assert layout.swap(ID, layout.version(ID), doc(a=2), later(1)).kind == "applied"
    newest = next(iter(layout.history(ID)))
    assert (number_of(newest.v), newest.state) == (7, "present")
    server._client["numbers"]["things"].update_many({}, {"$unset": {"_w_next": ""}})
    assert next(iter(layout.history(ID))).state == "unproven"
