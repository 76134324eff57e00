"""Numbers from the clock or a counter: how two writers who began from one version are kept apart."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from model.foundation.findings import Finding
from model.foundation.records import Version
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE, bind, info_of, stated
from model.server.retry import Server, Write
from model.session import Session
from model.storage.reserved_fields import number_of, place_of
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import doc, layout_of, raw_find
from tests.model.server.faulty_server import Fault, FaultyServer

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


@pytest.mark.parametrize("token", ["_w", ""])
@pytest.mark.parametrize("name", ["versions", "flagged", "deltas"])
def test_two_documents_begun_at_different_times_under_one_id_are_not_both_begun(
    server: Server, name: str, token: str
) -> None:
    layout = layout_of(server, "numbers", name, numbering="time", token=token)
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


@pytest.mark.parametrize("fault", ["lost", "never", "late"])
def test_a_creation_by_the_clock_without_a_token_that_had_no_answer_is_there_once_or_not(
    server: Server, fault: Fault
) -> None:
    layout = layout_of(server, "numbers", "versions", numbering="time", token="")
    port = FaultyServer(server, [fault])
    outcome = bind(port, layout.profile).create(doc(a=1), ID, later(0))
    assert outcome.kind == ("unknown" if fault == "lost" else "applied"), "whose it is nobody can tell without a token"
    port.land()
    assert layout.create(doc(a=2), ID, later(1)).kind == "refused"
    assert [each.content for each in layout.history(ID, contents=True)] == [doc(a=1)]


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
        assert sorted(left) == [1, 2], f"at operation {place}"  # the second is the edit, or says that it is deleted
    raise AssertionError("a delete of more than twelve operations")


WAYS_TRIED = ("next", "loop", "counter:numbers.seq", "time")


@pytest.mark.parametrize("way", WAYS_TRIED)
@pytest.mark.parametrize(
    "name",
    support.some(
        [name for name, layout in WRITABLE.items() if layout.numbered], "archive", "versions", "embedded", "deltas"
    ),
)
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
    told = {
        way: info_of(stated("s.t", "versions", numbering=way, token="_w"), 1, 1.0, "").numbering for way in WAYS_TRIED
    }
    assert len(set(told.values())) == 4
    assert all(said.endswith(".") for said in told.values())
    assert "_w_next" in told["time"]
    assert "_w_next" not in told["loop"]
    assert "edits are refused" in info_of(stated("s.t", "deltas", numbering="time"), 1, 1.0, "").numbering
    assert "_w_next" not in info_of(stated("s.t", "embedded", numbering="time", token="_w"), 1, 1.0, "").numbering
    assert info_of(stated("s.t", "plain"), 1, 1.0, "").numbering == ""


def test_whether_a_gap_can_be_told_from_a_number_that_nobody_used_is_said_where_it_is_chosen() -> None:
    def told(layout: str, token: str) -> str:
        return info_of(stated("s.t", layout, numbering="counter:s.c", token=token), 1, 1.0, "").numbering

    for layout in ("versions", "flagged", "deltas"):
        assert "is not a gap: nobody used it" in told(layout, "_w")
        assert "a gap is told as either" in told(layout, "")
    assert "a gap is told as either" in told("archive", "_w")
    assert "either" not in info_of(stated("s.t", "versions"), 1, 1.0, "").numbering


def test_a_number_that_a_counter_handed_out_in_vain_leaves_the_states_of_deltas_proven(server: Server) -> None:
    layout = layout_of(server, "numbers", "deltas", numbering="counter:numbers.seq")
    layout.create(doc(a=1), ID, Stamp(at=NOW))
    server.send(Write("numbers.seq", "insert", {}, doc(_id="K-1", seq=6)))
    assert layout.swap(ID, layout.version(ID), doc(a=2), later(1)).kind == "applied"
    assert [(number_of(each.v), each.state) for each in layout.history(ID)] == [(7, "present"), (1, "present")]
    server._client["numbers"]["things"].update_many({}, {"$unset": {"_w_next": ""}})
    assert next(iter(layout.history(ID))).state == "unproven"


OWN = ("versions", "flagged", "deltas")


def missing_numbers(layout: Layout) -> list[int]:
    """The numbers that a history, an outline and a scan miss; they have to agree."""
    gone = [number_of(each.v) or 0 for each in layout.history(ID) if each.state == "missing"][::-1]
    (outline,) = layout.outline([ID])
    assert sum(state == "missing" for _, state, _ in outline.marks) == len(gone), outline
    assert ("missing" in outline.health) == bool(gone), outline
    found = [each for each in layout.findings(now=NOW) if isinstance(each, Finding)]
    assert [each.code for each in found] == ([layout.check.gap] if gone else []), found  # type: ignore[attr-defined]
    assert [number_of(v) for each in found for v in each.versions] == gone
    assert all(each.repair is None for each in found)
    return gone


@pytest.fixture(params=OWN)
def counted(request: pytest.FixtureRequest, server: Server) -> Layout:
    """Versions 1, 4, 5, 9 and 10 of one document; the other numbers were drawn from the counter by somebody else."""
    made = layout_of(server, "numbers", str(request.param), numbering="counter:numbers.seq")
    assert made.create(doc(a=1), ID, Stamp(at=NOW)).kind == "applied"
    for n, v in enumerate((4, 5, 9, 10), 1):
        server._client["numbers"]["seq"].update_one({"_id": "K-1"}, {"$set": {"seq": v - 1}}, upsert=True)
        assert made.swap(ID, made.version(ID), doc(a=v), later(n)).kind == "applied"
    return made


def test_a_number_that_a_counter_handed_out_in_vain_is_no_gap(counted: Layout) -> None:
    assert missing_numbers(counted) == []
    assert next(iter(counted.outline([ID]))).health == "Sound"


@pytest.mark.parametrize(
    ("lost", "told"), [((5,), [5, 6, 7, 8]), ((4,), [4]), ((9,), [9]), ((4, 5), [4, 5, 6, 7, 8]), ((1,), [1, 2, 3])]
)
def test_a_version_that_is_lost_is_missed_among_numbers_that_nobody_used(
    counted: Layout, server: Server, lost: tuple[int, ...], told: list[int]
) -> None:
    server._client["numbers"]["things"].delete_many({"v": {"$in": lost}})
    assert missing_numbers(counted) == told


def test_a_mark_that_cannot_be_right_hides_no_gap(counted: Layout, server: Server) -> None:
    server._client["numbers"]["things"].update_one({"v": 5}, {"$set": {"_w_next": 4}})
    assert missing_numbers(counted) == [6, 7, 8]
    server._client["numbers"]["things"].update_one({"v": 5}, {"$set": {"_w_next": 10}})
    assert missing_numbers(counted) == [6, 7, 8]
    server._client["numbers"]["things"].update_one({"v": 5}, {"$set": {"_w_next": "9"}})
    assert missing_numbers(counted) == []


def test_of_a_version_stored_twice_either_may_carry_the_mark(counted: Layout, server: Server) -> None:
    things = server._client["numbers"]["things"]
    things.drop_indexes()
    twin = things.find_one({"v": 5})
    things.insert_one({**{name: value for name, value in twin.items() if name not in ("_id", "_w_next")}})
    (outline,) = counted.outline([ID])
    assert "missing" not in outline.health
    assert all(each.state != "missing" for each in counted.history(ID))
    assert "V2" not in [each.code for each in counted.findings(now=NOW) if isinstance(each, Finding)]


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("token", ["_w", ""])
def test_where_others_draw_from_a_counter_and_mark_nothing_a_gap_is_told_as_either(
    server: Server, name: str, token: str
) -> None:
    layout = layout_of(server, "numbers", name, numbering="counter:numbers.seq", token=token)
    server._client["numbers"]["things"].insert_many(
        [{"docId": "K-1", "v": v, "a": v, **({"current": True} if v == 6 else {})} for v in (1, 2, 6)]
    )
    assert missing_numbers(layout) == [3, 4, 5]
    either = "retention or loss, or drawn from the counter and never used"
    assert {each.detail for each in layout.history(ID) if each.state == "missing"} == {either}
    assert [each.detail for each in layout.findings(now=NOW)] == [f"v3 to v5 missing: {either}"]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["archive", "embedded", "stream"])
def test_a_gap_under_a_counter_is_told_as_either_wherever_versions_are_kept(server: Server, name: str) -> None:
    layout = layout_of(server, "numbers", name, numbering="counter:numbers.seq")
    layout.create(doc(a=1), ID, Stamp(at=NOW))
    server._client["numbers"]["seq"].update_one({"_id": "K-1"}, {"$set": {"seq": 3}}, upsert=True)
    assert layout.swap(ID, layout.version(ID), doc(a=2), later(1)).kind == "applied"
    found = [each.detail for each in layout.findings(now=NOW) if isinstance(each, Finding)]
    assert any("drawn from the counter and never used" in said for said in found), found
    gone = [each for each in layout.history(ID) if each.state == "missing"]
    assert gone
    if name != "stream":  # there the history says that the archive has not come so far
        assert all("drawn from the counter and never used" in each.detail for each in gone)


@pytest.mark.parametrize("name", OWN)
def test_between_versions_that_are_times_as_whole_numbers_none_is_missing(server: Server, name: str) -> None:
    layout = layout_of(server, "numbers", name)
    server._client["numbers"]["things"].insert_many(
        [{"docId": "K-1", "v": 1_700_000_000_000 + v, "a": v, "current": v == 3} for v in range(4)]
    )
    assert missing_numbers(layout) == []
    assert [each.state for each in layout.history(ID)] == ["present"] * 4
