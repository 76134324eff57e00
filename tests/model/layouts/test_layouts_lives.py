"""Documents created and deleted by several writers at once: each is told the truth, and the next edit works."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import bson
import pytest

from model.catalogue.recognise import bind
from model.errors import NotFound
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE
from model.server.retry import Server
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import doc, layout_of
from tests.model.server.faulty_server import Fault, FaultyServer

ID = Value.of("K-1")
OWN = ("versions", "flagged", "deltas")


@pytest.fixture(scope="module")
def server(local_uri: str) -> Iterator[Server]:
    with Server.connect(local_uri) as connected:
        yield connected


def empty(server: Server, name: str, **fields: str) -> Layout:
    """A layout without a document."""
    layout = layout_of(server, "lives", name, **fields)
    for collection in ("things", "things_past"):
        server._client["lives"][collection].delete_many({})
    return layout


def lived(layout: Layout) -> None:
    """Another one creates the document, edits it and deletes it."""
    if layout.create(doc(theirs=1), ID).kind == "applied":
        assert layout.swap(ID, layout.version(ID), doc(theirs=2)).kind == "applied"
        assert layout.delete(ID, layout.version(ID)).kind == "applied"


def is_there(layout: Layout) -> bool:
    try:
        return layout.version(ID).current
    except NotFound:
        return False


def places(server: Server, layout: Layout, faults: tuple[Fault, ...], act: Callable[[], None]) -> Iterator[Layout]:
    """A layout that is overtaken at one operation after another, until an operation is not reached any more."""
    for place in range(60):
        faulty = FaultyServer(server, faults)
        faulty.between[place] = act
        yield bind(faulty, layout.profile)
        if faulty.between:
            return
    raise AssertionError("more than sixty operations")


@pytest.mark.parametrize("faults", [(), ("never",)], ids=["sound", "never sent"])
@pytest.mark.parametrize("numbering", ["next", "time"])
def test_a_new_document_stands_above_a_life_that_began_and_ended_while_it_was_created(
    numbering: str, faults: tuple[Fault, ...], server: Server
) -> None:
    sound = empty(server, "archive", numbering=numbering)
    for writing in places(server, sound, faults, lambda: lived(sound)):
        outcome = writing.create(doc(mine=1), ID)
        assert outcome.kind == "applied", outcome
        base = sound.version(ID)
        assert base.v == outcome.version
        edit = sound.swap(ID, base, doc(mine=2))
        assert edit.kind == "applied", edit
        empty(server, "archive", numbering=numbering)


def test_a_new_document_that_could_not_be_raised_above_another_life_says_so(server: Server) -> None:
    sound = empty(server, "archive")
    told = []
    for writing in places(server, sound, ("none", "never", "never", "never"), lambda: lived(sound)):
        outcome = writing.create(doc(mine=1), ID)
        assert outcome.kind == "applied", outcome
        told.append("earlier life" in outcome.detail)
        empty(server, "archive")
    assert any(told)


def test_what_was_deleted_is_not_put_back_below_a_later_life(server: Server) -> None:
    sound = empty(server, "archive")
    for writing in places(server, sound, (), lambda: lived(sound)):
        assert sound.create(doc(mine=1), ID).kind == "applied"
        base = sound.version(ID)
        removed = sound.removal(ID, base)
        assert sound.delete(ID, base).kind == "applied"
        outcome = writing.put_back(removed)
        assert is_there(sound) == (outcome.kind == "applied"), outcome
        again = sound.swap(ID, sound.version(ID), doc(x=1)) if is_there(sound) else sound.create(doc(x=1), ID)
        assert again.kind == "applied", again
        empty(server, "archive")


def begun_anew(server: Server, sound: Layout, ended: bool = False) -> None:
    """Another one removes what is left of the document, and creates it anew; or that has ended too."""
    if is_there(sound):
        return
    server._client["lives"]["things_past"].delete_many({})
    assert sound.create(doc(theirs=1), ID).kind == "applied"
    if ended:
        assert sound.delete(ID, sound.version(ID)).kind == "applied"


def lives_of(layout: Layout) -> list[set[str]]:
    """The names of the fields in each version of the document, newest first; [] where it is gone."""
    try:
        return [{name for name, _ in c.fields(each.content or b"")} for each in layout.history(ID, contents=True)]
    except NotFound:
        return []


@pytest.mark.parametrize("purged", [False, True], ids=["deleted", "purged"])
@pytest.mark.parametrize("ended", [False, True], ids=["there", "ended"])
def test_what_was_removed_is_not_put_back_above_the_archive_of_another_life(
    ended: bool, purged: bool, server: Server
) -> None:
    sound = empty(server, "archive")
    told = set()
    for writing in places(server, sound, (), lambda: begun_anew(server, sound, ended)):
        assert sound.create(doc(mine=1), ID).kind == "applied"
        assert sound.swap(ID, sound.version(ID), doc(mine=2)).kind == "applied"
        base = sound.version(ID)
        removed = sound.all_stored(ID, base) if purged else sound.removal(ID, base)
        assert (sound.purge if purged else sound.delete)(ID, base).kind == "applied"
        outcome = writing.put_back(removed)
        told.add(outcome.kind)
        names = lives_of(sound)
        assert {"theirs"} not in names or {"mine"} not in names, (outcome, names)
        assert ({"mine"} in names and is_there(sound)) == (outcome.kind == "applied"), (outcome, names)
        again = sound.swap(ID, sound.version(ID), doc(x=1)) if is_there(sound) else sound.create(doc(x=1), ID)
        assert again.kind == "applied", again
        empty(server, "archive")
    assert told == {"applied", "conflict"}


def test_the_versions_of_a_purged_document_are_not_put_back_under_one_that_began_anew(server: Server) -> None:
    sound = empty(server, "archive")
    told = set()
    for writing in places(server, sound, (), lambda: begun_anew(server, sound)):
        assert sound.create(doc(mine=1), ID).kind == "applied"
        assert sound.delete(ID, sound.version(ID)).kind == "applied"
        last = sound.last(ID)
        removed = sound.all_stored(ID, last)
        assert sound.purge(ID, last).kind == "applied"
        outcome = writing.put_back(removed)
        told.add(outcome.kind)
        names = lives_of(sound)
        assert {"theirs"} not in names or {"mine"} not in names, (outcome, names)
        assert ({"mine"} in names) == (outcome.kind == "applied"), (outcome, names)
        empty(server, "archive")
    assert told == {"applied", "conflict"}


@pytest.mark.parametrize("what", ["followed a part that was put back", "began anew"])
@pytest.mark.parametrize("name", OWN)
def test_purged_versions_are_not_put_back_among_those_written_since(name: str, what: str, server: Server) -> None:
    layout = empty(server, name)
    assert layout.create(doc(n=1), ID).kind == "applied"
    for number in (2, 3, 4):
        assert layout.swap(ID, layout.version(ID), doc(n=number)).kind == "applied"
    removed = layout.all_stored(ID, layout.version(ID))
    assert layout.purge(ID, layout.version(ID)).kind == "applied"
    if what == "began anew":
        assert layout.create(doc(theirs=1), ID).kind == "applied"
    else:
        assert layout.put_back(removed[:2]).kind == "applied"
        assert layout.put_back(removed[:2]).kind == "applied", "a second try goes on with what is there"
        assert layout.swap(ID, layout.version(ID), doc(n=2, theirs=3)).kind == "applied"
        assert layout.swap(ID, layout.version(ID), doc(n=2, theirs=4)).kind == "applied"
        server._client["lives"]["things"].delete_one({layout.profile.version: 3})  # by a purge that was ended half-way
    there = layout.all_stored(ID, layout.version(ID))
    outcome = layout.put_back(removed)
    assert (outcome.kind, layout.all_stored(ID, layout.version(ID))) == ("conflict", there)
    assert outcome.detail == "K-1 was written again since; nothing more was put back."
    empty(server, name)


def test_what_was_deleted_is_not_put_back_below_a_life_that_a_feed_has_archived(server: Server) -> None:
    layout = empty(server, "stream")
    assert layout.create(doc(mine=1), ID).kind == "applied"
    base = layout.version(ID)
    removed = layout.removal(ID, base)
    assert layout.delete(ID, base).kind == "applied"
    fed = [layout.archive.row_of(Value.of(n), ID, removed[0][1]) for n in (1, 2)]  # type: ignore[attr-defined]
    past = server._client["lives"]["things_past"]
    past.insert_one(bson.decode(fed[0]))
    assert layout.put_back(removed).kind == "applied"
    assert layout.delete(ID, layout.version(ID)).kind == "applied"
    past.insert_one(bson.decode(fed[1]) | {layout.profile.version: 2})
    outcome = layout.put_back(removed)
    assert (outcome.kind, is_there(layout)) == ("conflict", False)
    assert "created and deleted again since" in outcome.detail


@pytest.mark.parametrize("numbering", ["next", "time"])
def test_a_document_created_beside_a_purge_can_be_edited_after_it(numbering: str, server: Server) -> None:
    sound = empty(server, "archive", numbering=numbering)

    def created() -> None:
        if not is_there(sound):
            assert sound.create(doc(theirs=1), ID).kind == "applied"

    told = set()
    for writing in places(server, sound, (), created):
        assert sound.create(doc(mine=1), ID).kind == "applied"
        assert sound.swap(ID, sound.version(ID), doc(mine=2)).kind == "applied"
        base = sound.version(ID)
        outcome = writing.purge(ID, base)
        told.add(outcome.kind)
        names = lives_of(sound)
        assert {"mine"} not in names or outcome.kind != "applied", (outcome, names)
        assert names.count({"mine"}) in (0, 2), (outcome, names)
        again = sound.swap(ID, sound.version(ID), doc(x=1)) if is_there(sound) else sound.create(doc(x=1), ID)
        assert again.kind == "applied", again
        empty(server, "archive", numbering=numbering)
    assert told == {"applied", "unknown"}


@pytest.mark.parametrize("name", support.some(WRITABLE, "archive", "embedded"))
def test_a_delete_without_an_answer_is_not_denied_where_another_document_has_the_id_by_now(
    name: str, server: Server
) -> None:
    fields = {"numbering": "time"} if name in OWN else {}  # whose first ``_id`` is that of the id
    sound = empty(server, name, **fields)

    def replaced() -> None:
        if not is_there(sound):
            sound.create(doc(theirs=1), ID)

    for writing in places(server, sound, ("none", "lost") if name == "archive" else ("lost",), replaced):
        assert sound.create(doc(mine=1), ID).kind == "applied"
        assert writing.delete(ID, sound.version(ID)).kind in ("applied", "unknown")
        empty(server, name, **fields)


@pytest.mark.parametrize("name", ["embedded", "nested"])
def test_an_edit_without_an_answer_is_not_denied_where_its_document_was_deleted_and_created_again(
    name: str, server: Server
) -> None:
    sound = empty(server, name)

    def reborn() -> None:
        if b"mine" in (sound.version(ID).content or b""):
            assert sound.delete(ID, sound.version(ID)).kind == "applied"
            assert sound.create(doc(theirs=1), ID).kind == "applied"

    for writing in places(server, sound, ("lost",), reborn):
        assert sound.create(doc(n=1), ID).kind == "applied"
        assert writing.swap(ID, sound.version(ID), doc(n=1, mine=1)).kind in ("applied", "unknown")
        empty(server, name)


def test_an_edit_without_an_answer_is_not_denied_where_its_document_was_deleted(server: Server) -> None:
    sound = empty(server, "hashed", token="")

    def ended() -> None:
        if is_there(sound) and b"mine" in (sound.version(ID).content or b""):
            assert sound.delete(ID, sound.version(ID)).kind == "applied"

    for writing in places(server, sound, ("lost",), ended):
        assert sound.create(doc(n=1), ID).kind == "applied"
        assert writing.swap(ID, sound.version(ID), doc(n=1, mine=1)).kind in ("applied", "unknown")
        empty(server, "hashed", token="")


@pytest.mark.parametrize("faults", [(), ("lost",), ("none", "lost")], ids=["sound", "first lost", "second lost"])
@pytest.mark.parametrize("name", support.some(OWN, "versions", "deltas"))
def test_a_purge_beside_another_one_puts_nothing_back(name: str, faults: tuple[Fault, ...], server: Server) -> None:
    sound = empty(server, name)

    def purged() -> None:
        if is_there(sound):
            assert sound.purge(ID, sound.version(ID)).kind == "applied"

    for writing in places(server, sound, faults, purged):
        assert sound.create(doc(n=1), ID).kind == "applied"
        for number in (2, 3):
            assert sound.swap(ID, sound.version(ID), doc(n=number)).kind == "applied"
        outcome = writing.purge(ID, sound.version(ID))
        assert outcome.kind in ("applied", "conflict", "refused"), outcome
        assert not is_there(sound), outcome
        empty(server, name)


def test_a_purge_that_was_put_back_and_may_still_arrive_is_unknown(server: Server) -> None:
    sound = empty(server, "versions")
    said = set()

    def edited() -> None:
        if is_there(sound):
            sound.swap(ID, sound.version(ID), doc(n=3))

    for writing in places(server, sound, ("late",), edited):
        assert sound.create(doc(n=1), ID).kind == "applied"
        assert sound.swap(ID, sound.version(ID), doc(n=2)).kind == "applied"
        base = sound.version(ID)
        outcome = writing.purge(ID, base)
        before = len(sound.all_stored(ID, base))
        assert isinstance(writing.server, FaultyServer)
        writing.server.land()
        if outcome.kind == "conflict":
            assert len(sound.all_stored(ID, base)) == before
        said.add(outcome.kind)
        empty(server, "versions")
    assert said == {"applied", "conflict", "unknown"}


@pytest.mark.parametrize("what", ["edit", "delete"])
@pytest.mark.parametrize("name", support.some(["embedded", "nested"], "embedded"))
def test_what_may_still_arrive_at_a_document_that_was_put_back_is_unknown(name: str, what: str, server: Server) -> None:
    said = set()
    for first, second in itertools.combinations(range(8), 2):
        sound = empty(server, name)
        assert sound.create(doc(n=1), ID).kind == "applied"
        base = sound.version(ID)
        removed = sound.removal(ID, base)
        faulty = FaultyServer(server, ("late",))
        faulty.between[first] = partial(sound.delete, ID, base)
        faulty.between[second] = partial(sound.put_back, removed)
        writing = bind(faulty, sound.profile)
        outcome = writing.swap(ID, base, doc(n=2)) if what == "edit" else writing.delete(ID, base)
        if faulty.between:
            continue  # it was deleted and stays so
        faulty.land()
        if outcome.kind in ("conflict", "refused"):
            assert sound.version(ID).v == base.v, outcome
        said.add(outcome.kind)
    assert "unknown" in said


@pytest.mark.parametrize("name", support.some(["embedded", "nested", "stream"], "embedded"))
def test_an_edit_that_arrives_at_what_was_put_back_while_it_is_looked_for_is_not_denied(
    name: str, server: Server
) -> None:
    said = set()
    for first, second, third in itertools.combinations(range(8), 3):
        sound = empty(server, name)
        assert sound.create(doc(n=1), ID).kind == "applied"
        base = sound.version(ID)
        faulty = FaultyServer(server, ("late",))
        faulty.between[first] = partial(sound.delete, ID, base)
        faulty.between[second] = partial(sound.put_back, sound.removal(ID, base))
        faulty.between[third] = faulty.land
        outcome = bind(faulty, sound.profile).swap(ID, base, doc(n=2))
        if not faulty.between:
            arrived = sound.version(ID).v != base.v
            said.add((outcome.kind, arrived))
    assert True in {arrived for _, arrived in said}
    assert not {("conflict", True), ("refused", True), ("applied", False)} & said


@pytest.mark.parametrize("name", support.some(WRITABLE, "archive", "versions", "embedded", "hashed", "plain"))
def test_a_creation_without_an_answer_is_not_denied_where_its_id_was_deleted_and_taken_by_now(
    name: str, server: Server
) -> None:
    sound = empty(server, name)

    landed = []

    def mine() -> bool:
        return is_there(sound) and c.get(sound.version(ID).content or c.EMPTY, ("mine",)) is not None

    def reborn() -> None:
        if mine():
            landed.append(True)
            assert sound.delete(ID, sound.version(ID)).kind == "applied"
        sound.create(doc(theirs=1), ID)

    told = set()
    for writing in places(server, sound, ("lost",), reborn):
        outcome = writing.create(doc(mine=1), ID)
        told.add((outcome.kind, bool(landed) or mine()))
        landed.clear()
        empty(server, name)
    assert ("unknown", True) in told or name in ("archive", *OWN)  # which still hold what was deleted
    assert not {("applied", False), ("refused", True), ("conflict", True)} & told
