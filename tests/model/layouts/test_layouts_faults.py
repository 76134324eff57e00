"""Swaps whose writes are lost, unanswered, late, or overtaken at every operation: the outcome is always true."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from model.catalogue.recognise import bind
from model.foundation.records import Outcome
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE
from model.server.retry import Reply, Server, Write
from model.storage.reserved_fields import number_of
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import doc, layout_of, raw_find
from tests.model.server.faulty_server import Dead, Fault, FaultyServer

FAULTS: tuple[Fault, ...] = ("none", "never", "lost", "late")
TWO: list[tuple[Fault, Fault]] = list(itertools.product(FAULTS, FAULTS))
ID = Value.of("K-1")
WITHOUT = " without a token"
TOKENLESS = f"hashed{WITHOUT}"
MARKED = [name for name in WRITABLE if name not in ("versions", "flagged", "deltas")]
"""Layouts whose writes are told by a token, where documents carry one: the others know theirs by their own ``_id``."""
HISTORIES = [
    each
    for name, layout in WRITABLE.items()
    if layout.numbered and not layout.fed
    for each in (name, f"{name}{WITHOUT}")
]


@pytest.fixture(scope="module")
def server(local_uri: str) -> Iterator[Server]:
    with Server.connect(local_uri) as connected:
        yield connected


@pytest.fixture(params=[*WRITABLE, *(f"{name}{WITHOUT}" for name in MARKED)])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@dataclass
class Ground:
    """A document with two versions, a sound layout to look with, and a faulty one to write with."""

    sound: Layout
    faulty: FaultyServer
    layout: Layout

    def swap(self, key: str) -> Outcome:
        base = self.sound.version(ID)
        return self.layout.swap(ID, base, edited(base.content, key))

    def times(self, key: str) -> int:
        """In how many versions an edit began: 1 where it is in the history once, however many carry it on."""
        contents = [each.content for each in reversed(list(self.sound.history(ID, contents=True)))]
        having = [key in dict(c.fields(content)) for content in contents if content is not None]
        return sum(now and not before for before, now in zip([False, *having], having, strict=False))


def edited(content: bytes | None, key: str) -> bytes:
    """The content with one more mark; a mark says whose edits are in it."""
    assert content is not None
    number = c.get(content, (key,))
    mark = Value.of(1 if number is None else number.python() + 1)
    return c.document(sorted(dict([*c.fields(content), (key, mark)]).items()))


def ground(server: Server, name: str, faults: tuple[Fault, ...] = (), **fields: str) -> Ground:
    if name.endswith(WITHOUT):
        name, fields = name.removesuffix(WITHOUT), {"token": "", **fields}
    sound = layout_of(server, "faults", name, **fields)
    for ns in ("faults.things", "faults.things_past"):
        for raw in list(server.find(ns)):
            server._client["faults"][ns.partition(".")[2]].delete_one({"_id": c.decode(raw)["_id"]})
    assert sound.create(doc(a=1), ID).kind == "applied"
    assert sound.swap(ID, sound.version(ID), doc(a=2)).kind == "applied"
    faulty = FaultyServer(server, faults)
    return Ground(sound, faulty, bind(faulty, sound.profile))


def is_sound(layout: Layout) -> bool:
    """No version twice, and none missing."""
    numbers = [number_of(each.v) for each in layout.history(ID) if each.detail != "also in the archive"]
    return all(each.state == "present" for each in layout.history(ID)) and len(set(numbers)) == len(numbers)


@support.table("at", [0, 1], ids=["first write", "second write"])
@support.table("faults", support.every(4, TWO), ids="+".join)
def test_an_outcome_is_true_whatever_happens_to_write_and_retry(
    faults: tuple[Fault, ...], at: int, name: str, server: Server
) -> None:
    here = ground(server, name, (*("none",) * at, *faults))
    outcome = here.swap("mine")
    held = here.times("mine") if name in HISTORIES else int(b"mine" in (here.sound.version(ID).content or b""))
    if outcome.kind == "applied":
        assert held == 1
    elif outcome.kind in ("conflict", "refused"):
        assert held == 0
    here.faulty.land()
    after = here.times("mine") if name in HISTORIES else int(b"mine" in (here.sound.version(ID).content or b""))
    assert after <= 1
    if outcome.kind in ("conflict", "refused"):
        assert after == 0, "it landed after all"
    if outcome.kind == "unknown":
        assert outcome.token
    if name in HISTORIES:
        assert is_sound(here.sound), list(here.sound.history(ID))


def test_a_flag_that_may_still_stand_on_an_earlier_version_is_told(server: Server) -> None:
    here = ground(server, "flagged", ("none", "never", "never", "never"))
    outcome = here.swap("mine")
    flagged = [raw for raw in server.find("faults.things") if c.get(raw, ("current",)) == Value.of(True)]
    assert (outcome.kind, len(flagged)) == ("applied", 2)
    assert "current" in outcome.detail, outcome


@support.table("faults", support.every(15, TWO), ids="+".join)
def test_two_edits_are_both_told_the_truth_wherever_one_overtakes_the_other(
    faults: tuple[Fault, ...], name: str, server: Server
) -> None:
    for at, place in itertools.product((0, 1), range(40)):
        here = ground(server, name, (*("none",) * at, *faults))
        theirs: list[Outcome] = []

        def overtake(here: Ground = here, theirs: list[Outcome] = theirs) -> None:
            base = here.sound.version(ID)
            theirs.append(here.sound.swap(ID, base, edited(base.content, "theirs")))

        here.faulty.between[place] = overtake
        mine = here.swap("mine")
        if not theirs:
            return  # the swap has fewer operations than that
        here.faulty.land()
        assert theirs[0].kind == "applied", theirs
        if name in HISTORIES:
            assert here.times("theirs") == 1
            held = here.times("mine")
            assert held == 1 if mine.kind == "applied" else held == 0 if mine.kind != "unknown" else held <= 1, mine
            assert is_sound(here.sound), (place, list(here.sound.history(ID)))
        elif mine.kind in ("conflict", "refused"):
            assert b"mine" not in (here.sound.version(ID).content or b""), mine
    raise AssertionError("a swap of more than forty operations")


def test_what_a_dead_writer_leaves_is_absorbed_by_the_next_edit(name: str, server: Server) -> None:
    for at in range(4):
        here = ground(server, name, (*("none",) * at, "dead"))
        try:
            here.swap("dead")
        except Dead:
            died = True
        else:
            died = False
        base = here.sound.version(ID)
        outcome = here.sound.swap(ID, base, edited(base.content, "next"))
        assert outcome.kind == "applied", (at, outcome)
        if name in HISTORIES:
            assert here.times("next") == 1
            assert is_sound(here.sound), (at, list(here.sound.history(ID)))
        if name == "flagged":
            flagged = list(server.find("faults.things", {"current": {"$exists": True}}))
            assert [c.get(raw, ("v",)) for raw in flagged] == [outcome.version]
        if not died:
            return
    raise AssertionError("a swap of more than four writes")


def test_without_a_token_the_stored_state_says_how_a_write_in_doubt_has_ended(server: Server) -> None:
    for name, fault in itertools.product(MARKED, ("lost", "never")):
        before: tuple[Fault, ...] = ("none",) if name == "archive" else ()
        here = ground(server, f"{name}{WITHOUT}", (*before, fault))
        outcome = here.swap("mine")
        again = fault == "never" and name != "hashed"  # where the base is still there, the write is sent once more
        assert outcome.kind == ("unknown" if (name, fault) == ("hashed", "never") else "applied"), (name, fault)
        assert len(here.faulty.sent) == len(before) + 1 + again, (name, fault)


def test_without_a_token_another_next_version_is_a_conflict_and_a_missing_one_is_unknown(server: Server) -> None:
    things = server._client["faults"]["things"]
    for name, kept in (("embedded", True), ("nested", True), ("embedded", False), ("nested", False)):
        for place in range(40):
            here = ground(server, f"{name}{WITHOUT}", ("never",))

            def overtake(here: Ground = here, kept: bool = kept) -> None:
                for key in ("theirs", "again"):
                    base = here.sound.version(ID)
                    assert here.sound.swap(ID, base, edited(base.content, key)).kind == "applied"
                if not kept:  # an application that keeps the newest versions alone
                    things.update_one({}, {"$set": {here.sound.profile.prev: []}})

            here.faulty.between[place] = overtake
            outcome = here.swap("mine")
            if here.faulty.between:
                assert place > 1, "the swap has fewer operations than that"
                break
            assert outcome.kind == "conflict" if kept else outcome.kind in ("conflict", "unknown"), (name, place)
            assert b"mine" not in (here.sound.version(ID).raw or b"")


def test_without_a_token_a_plain_document_tells_by_the_values_that_were_set(server: Server) -> None:
    for set_by_others, kind in (({"x": 5, "y": 5}, "conflict"), ({"x": 5}, "unknown"), ({"z": 5}, "applied")):
        here = ground(server, f"plain{WITHOUT}", ("lost",))
        base = here.sound.version(ID)

        def overtake(values: dict[str, int] = set_by_others) -> None:
            server._client["faults"]["things"].update_one({}, {"$set": values})

        sent = here.faulty.send

        def then(write: object, overtake: object = overtake, sent: object = sent) -> object:
            reply = sent(write)  # type: ignore[operator]
            overtake()  # type: ignore[operator]
            return reply

        here.faulty.send = then  # type: ignore[method-assign, assignment]
        content = c.put(c.put(base.content or b"", ("x",), Value.of(1)), ("y",), Value.of(1))
        assert here.layout.swap(ID, base, content).kind == kind, set_by_others


@pytest.mark.parametrize("name", list(WRITABLE))
def test_no_write_adds_a_field_of_ours_to_documents_that_lack_it(name: str, server: Server) -> None:
    here = ground(server, name, token="")
    names = {"things": names_in(server, "things"), "things_past": names_in(server, "things_past")}
    base = here.sound.version(ID)
    for content in (doc(a=3), doc(a="3"), doc(a=1)):  # by operators, whole, and an old state restored
        assert here.sound.swap(ID, here.sound.version(ID), content).kind == "applied"
    removed = here.sound.removal(ID, here.sound.version(ID))
    assert here.sound.delete(ID, here.sound.version(ID)).kind == "applied"
    if removed:
        assert here.sound.put_back(removed).kind == "applied"
    ends = {here.sound.profile.deleted} if here.sound.own_documents else set()  # the version that says it is deleted
    assert names_in(server, "things") - ends == names["things"]
    assert names_in(server, "things_past") in (names["things_past"], names["things_past"] | {"docId"} | names["things"])
    assert base.content == doc(a=2)


def names_in(server: Server, collection: str) -> set[str]:
    """The names in the documents of a collection, and in their sub-documents."""
    found: set[str] = set()
    queue: list[object] = list(server._client["faults"][collection].find())
    while queue:
        value = queue.pop()
        if isinstance(value, dict):
            found |= value.keys()
            queue += value.values()
        elif isinstance(value, list):
            queue += value
    return found


def test_without_a_token_a_hashed_document_is_found_by_its_hash_and_nobody_is_named_for_it(server: Server) -> None:
    here = ground(server, TOKENLESS, ("lost",))
    outcome = here.swap("mine")
    assert outcome.kind == "applied"
    assert "exactly this content is there now, from this write or an equal one" in outcome.detail
    assert b"_w" not in (here.sound.version(ID).raw or b"")


def test_without_a_token_a_hashed_document_that_others_edited_after_doubt_is_unknown(server: Server) -> None:
    for fault in ("lost", "never", "late"):
        here = ground(server, TOKENLESS, (fault,))

        def overtake(here: Ground = here) -> None:
            base = here.sound.version(ID)
            assert here.sound.swap(ID, base, edited(base.content, "theirs")).kind == "applied"

        for place in range(40):
            here.faulty.between[place] = overtake
            outcome = here.swap("mine")
            if here.faulty.between:
                assert place > 2, "the swap has fewer operations than that"
                break
            held = b"mine" in (here.sound.version(ID).content or b"")
            assert outcome.kind != "conflict" or not held
            assert outcome.kind != "applied" or held
            here.faulty.land()
            assert b"theirs" in (here.sound.version(ID).content or b"")
            here = ground(server, TOKENLESS, (fault,))


def test_without_a_token_a_hashed_document_that_is_gone_after_doubt_is_unknown(server: Server) -> None:
    here = ground(server, TOKENLESS)
    base, sent = here.sound.version(ID), here.faulty.send

    def answered_in_doubt(write: Write) -> Reply:  # applied, and no majority said so in time; then it is deleted
        sent(write)
        server._client["faults"]["things"].delete_one({})
        return Reply("unknown", sentence="waiting for replication timed out")

    here.faulty.send = answered_in_doubt  # type: ignore[method-assign]
    outcome = here.layout.swap(ID, base, edited(base.content, "mine"))
    assert outcome.kind == "unknown", outcome  # it landed: "refused" would say that it never did


def test_a_plain_document_that_was_overtaken_after_doubt_is_unknown(server: Server) -> None:
    here = ground(server, "plain", ("lost",))

    def overtake() -> None:
        base = here.sound.version(ID)
        here.sound.swap(ID, base, edited(base.content, "theirs"))

    for place in range(40):
        here = ground(server, "plain", ("lost",))
        here.faulty.between[place] = overtake
        outcome = here.swap("mine")
        content = here.sound.version(ID).content or b""
        if not here.faulty.between:
            assert outcome.kind != "conflict" or b"mine" not in content


@pytest.mark.parametrize("name", ["versions", "flagged", "deltas"])
def test_a_stale_edit_does_not_slip_into_a_gap_that_retention_made(name: str, server: Server) -> None:
    here = ground(server, name)
    stale = here.sound.version(ID)
    for key in ("one", "two"):
        assert (
            here.sound.swap(ID, here.sound.version(ID), edited(here.sound.version(ID).content, key)).kind == "applied"
        )
    server._client["faults"]["things"].delete_one({"docId": "K-1", "v": 3})
    assert here.sound.swap(ID, stale, edited(stale.content, "late")).kind == "conflict"
    assert here.times("late") == 0


@pytest.mark.parametrize("name", ["versions", "flagged", "deltas"])
@pytest.mark.parametrize("deletes", [False, True], ids=["an edit", "a delete"])
def test_a_version_that_is_inserted_while_the_one_before_it_is_removed_says_so(
    deletes: bool, name: str, server: Server
) -> None:
    here = ground(server, name)
    base = here.sound.version(ID)

    def write() -> Outcome:
        return here.layout.delete(ID, base) if deletes else here.layout.swap(ID, base, edited(base.content, "mine"))

    send = here.faulty.send

    def removed_first(write: Write) -> Reply:
        if write.kind == "insert":
            server._client["faults"]["things"].delete_many({})
        return send(write)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(here.faulty, "send", removed_first)
        outcome = write()
    assert (outcome.kind, "v2, which it follows, was removed meanwhile" in outcome.detail) == ("applied", True)
    assert [found["v"] for found in raw_find(server, here.layout.ns)] == [3]
