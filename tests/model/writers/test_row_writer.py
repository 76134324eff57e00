"""Edits beside a program with a history of its own: refused, overtaken, lost, late, dead, and always reported truly."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bson import CodecOptions, ObjectId
from bson.json_util import dumps
from bson.raw_bson import RawBSONDocument
from msgspec.structs import replace
from pymongo.errors import DuplicateKeyError

from model.foundation.records import Outcome, Version
from model.layouts.base import Layout
from model.layouts.registry import bind
from model.profile import Profile
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.storage.current_writer import VersionGuard
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from model.writers.row_keys import profile_of
from model.writers.row_writer import RowWriter
from tests import support
from tests.model.layouts.layout_support import doc
from tests.model.server.faulty_server import Dead, Fault, FaultyServer

FAULTS: tuple[Fault, ...] = ("none", "never", "lost", "late")
TWO: list[tuple[Fault, Fault]] = list(itertools.product(FAULTS, FAULTS))
ID = ObjectId()
KEY = Value.of(ID)
NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
Stored = dict[str, Any]


class VersionTaken(Exception):
    """The program's save failed, as another one was first."""


@dataclass
class Program:
    """A program that saves one document as its library does; its clock goes on by a second with each save."""

    things: Any
    rows: Any
    saves: int = 0

    def at(self) -> dt.datetime:
        self.saves += 1
        return NOW - dt.timedelta(hours=1) + dt.timedelta(seconds=self.saves)

    def later(self) -> dt.datetime:
        """As :meth:`at`; behind all that an edit from here may have written, once the document is there."""
        return self.at() + dt.timedelta(days=self.saves > 3)

    def save(self, **changes: Any) -> None:
        """Load the document, change some fields and save it."""
        raise NotImplementedError


class History(Program):
    """mongoose-history: a row with the whole state, then the fields that changed, without a guard."""

    def save(self, **changes: Any) -> None:
        found = self.things.find_one({"_id": ID})
        state = {name: each for name, each in ((found or {"_id": ID}) | changes).items() if name != "__v"}
        self.rows.insert_one({"t": self.later(), "o": "u" if found else "i", "d": state})
        if found is None:
            self.things.insert_one({**state, "__v": 0})
        else:
            self.things.update_one({"_id": ID}, {"$set": changes})


class Versions(Program):
    """mongoose-version: a row with the whole state, then the fields that changed, without a guard."""

    def save(self, **changes: Any) -> None:
        self.at()
        found = self.things.find_one({"_id": ID})
        state = {name: each for name, each in ((found or {}) | changes).items() if name not in ("_id", "__v")}
        told = {"refVersion": found["__v"]} if found else {}
        self.rows.insert_one({**state, **told, "refId": ID, "__v": 0})
        if found is None:
            self.things.insert_one({"_id": ID, **state, "__v": 0})
        else:
            self.things.update_one({"_id": ID}, {"$set": changes, "$inc": {"__v": 1}})


class Elements(Program):
    """mongoose-version with an array: as in a collection of its own."""

    def save(self, **changes: Any) -> None:
        found = self.things.find_one({"_id": ID})
        state = {name: each for name, each in ((found or {}) | changes).items() if name not in ("_id", "__v")}
        row = {"_id": ObjectId(), **state, "refVersion": found["__v"] + 1 if found else 0}
        if found is None:
            at = self.at()
            self.rows.insert_one({"refId": ID, "versions": [row], "created": at, "modified": at, "__v": 0})
            self.things.insert_one({"_id": ID, **state, "__v": 0})
        else:
            change = {"$push": {"versions": row}, "$set": {"modified": self.at()}, "$inc": {"__v": 1}}
            self.rows.update_one({"refId": ID}, change)
            self.things.update_one({"_id": ID}, {"$set": changes, "$inc": {"__v": 1}})


class Vermongo(Program):
    """Vermongo: the state before under its id and version, which lets one save in; then the fields that changed."""

    def save(self, **changes: Any) -> None:
        found = self.things.find_one({"_id": ID})
        if found is None:
            self.things.insert_one({"_id": ID, **changes, **self.fresh(1)})
            return
        try:
            self.rows.insert_one(found | {"_id": {"_id": ID, "_version": found["_version"]}} | self.ended(found))
        except DuplicateKeyError:
            raise VersionTaken from None
        self.things.update_one({"_id": ID}, {"$set": {**changes, **self.fresh(found["_version"] + 1)}})

    def fresh(self, version: int) -> Stored:
        return {"_version": version}

    def ended(self, found: Stored) -> Stored:
        return {}


class Versioned(Vermongo):
    """mongoose-versioned: as Vermongo, with the time in which a state was current."""

    def fresh(self, version: int) -> Stored:
        return {"_version": version, "_validity": {"start": self.at()}}

    def ended(self, found: Stored) -> Stored:
        return {"_validity": {**found["_validity"], "end": self.at()}, "_editor": "default"}


class Eve(Program):
    """Eve: the fields that changed, guarded by an etag over the document and the etag before; then the whole state."""

    def save(self, **changes: Any) -> None:
        found = self.things.find_one({"_id": ID})
        new = (found or {}) | changes | {"_updated": self.at(), "_version": found["_version"] + 1 if found else 1}
        new.setdefault("_created", new["_updated"])
        new["_etag"] = hashlib.sha1(dumps(new, sort_keys=True).encode()).hexdigest()
        if found is None:
            self.things.insert_one({"_id": ID, **new})
        elif not self.things.update_one({"_id": ID, "_etag": found["_etag"]}, {"$set": new}).modified_count:
            raise VersionTaken
        row = {name: each for name, each in new.items() if name not in ("_id", "_created", "_version")}
        self.rows.insert_one({**row, "_id_document": ID, "_version": new["_version"]})


class PatchHistory(Program):
    """mongoose-patch-history: a JSON Patch, then the fields that changed, without a guard."""

    def save(self, **changes: Any) -> None:
        found = self.things.find_one({"_id": ID})
        ops = [
            {"op": "replace" if name in (found or {}) else "add", "path": f"/{name}", "value": value}
            for name, value in changes.items()
        ]
        self.rows.insert_one({"ops": ops, "ref": ID, "date": self.later(), "__v": 0})
        if found is None:
            self.things.insert_one({"_id": ID, **changes, "__v": 0})
        else:
            self.things.update_one({"_id": ID}, {"$set": changes})


class TsPatch(Program):
    """ts-patch-mongoose: the first state, then JSON Patches with tests; each before the fields that changed."""

    def save(self, **changes: Any) -> None:
        found, at = self.things.find_one({"_id": ID}), self.later()
        row: Stored = {"modelName": "Thing", "collectionName": "things", "collectionId": ID, "__v": 0}
        row |= {"createdAt": at, "updatedAt": at, "version": self.rows.count_documents({}), "patch": []}
        if found is None:
            self.rows.insert_one(row | {"op": "create", "doc": {"_id": ID, **changes, "updatedAt": at}})
            self.things.insert_one({"_id": ID, **changes, "updatedAt": at, "__v": 0})
            return
        for name, value in {"updatedAt": at, **changes}.items():
            told = {"path": f"/{name}", "value": written(value)}
            row["patch"] += [{"op": "test", **told, "value": written(found[name])}, {"op": "replace", **told}]
        self.rows.insert_one(row | {"op": "update"})
        self.things.update_one({"_id": ID}, {"$set": {"updatedAt": at, **changes}})


def written(value: Any) -> Any:
    """A value as JSON holds it."""
    if not isinstance(value, dt.datetime):
        return value
    return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03d}Z"


PROGRAMS: dict[str, type[Program]] = {
    "mongoose-history": History,
    "mongoose-version-collection": Versions,
    "mongoose-version-array": Elements,
    "vermongo": Vermongo,
    "mongoose-versioned": Versioned,
    "eve": Eve,
    "mongoose-patch-history": PatchHistory,
    "ts-patch-mongoose": TsPatch,
}
ROW_FIRST = ("vermongo", "mongoose-versioned")


@pytest.fixture(scope="module")
def server(local_uri: str) -> Iterator[Server]:
    with Server.connect(local_uri) as connected:
        yield connected


@dataclass
class Ground:
    """A document with three saves of its program, a sound layout to look with, and a faulty one to write with."""

    program: Program
    sound: Layout
    faulty: FaultyServer
    layout: Layout

    stamp: Stamp = field(default_factory=Stamp)

    def swap(self, mark: str, base: Version | None = None) -> Outcome:
        base = base or self.sound.version(KEY)
        return self.layout.swap(KEY, base, marked(base.content, mark), self.stamp)

    def times(self, mark: str) -> int:
        """In how many versions a mark first stood there: 1 where its edit is in the history once."""
        return self.times_of(mark)[0]

    def times_of(self, *marks: str) -> list[int]:
        """The same of several marks, in one reading of the history."""
        states = [c.decode(each.content or c.EMPTY) for each in self.sound.history(KEY, contents=True)][::-1]
        told = []
        for mark in marks:
            having = [mark in state.get("tags", ()) for state in states if state]
            told.append(sum(now and not before for before, now in zip([False, *having], having, strict=False)))
        return told

    def wrong(self) -> list[str]:
        """What does not hold of the history as it stands."""
        told = [f"{found}" for found in self.sound.findings([KEY])]
        contents = [each.content for each in self.sound.history(KEY, contents=True)]
        doubled = [f"{one!r} is there twice in a row" for one, other in itertools.pairwise(contents) if one == other]
        return told + doubled + ["a version is missing"] * any(each is None for each in contents)


def marked(content: bytes | None, mark: str) -> bytes:
    """The content with one more mark; a mark says whose edits are in it."""
    state = c.decode(content or c.EMPTY)
    return c.encode({**state, "tags": [*state["tags"], mark]})


SAVED: dict[str, tuple[int, dict[str, list[RawBSONDocument]]]] = {}
"""What each program's three saves left, so that they are made once: how often it saved, and its documents."""


def ground(
    server: Server, name: str, faults: tuple[Fault, ...] = (), database: str = "programs", **keys: Any
) -> Ground:
    database = "programs"
    db = server._client.get_database(database, CodecOptions(tz_aware=True))
    raw = db.with_options(CodecOptions(document_class=RawBSONDocument))
    for collection in ("things", "rows"):
        db[collection].delete_many({})
    program = PROGRAMS[name](db["things"], db["rows"])
    if name in SAVED:
        program.saves, kept = SAVED[name]
        for collection, documents in kept.items():
            raw[collection].insert_many(documents)
    else:
        for changes in ({"tags": ["first"], "n": 1}, {"n": 2}, {"tags": ["first", "second"]}):
            program.save(**changes)
        SAVED[name] = program.saves, {each: list(raw[each].find()) for each in ("things", "rows")}
    where = {"collectionName": "things"} if name == "ts-patch-mongoose" else {}
    profile = replace(profile_of(name, f"{database}.things", f"{database}.rows", where), **keys)
    sound, faulty = bind(server, profile), FaultyServer(server, faults)
    here = Ground(program, sound, faulty, bind(faulty, profile))
    assert not here.wrong(), here.wrong()
    return here


def settle(here: Ground, token: ObjectId, mark: str, base: Version) -> None:
    """Look for a write in doubt again, as the journal has it done once two minutes have passed."""
    now = here.sound.version(KEY)
    arrived = here.sound.landed(KEY, token, base) or (now.content or c.EMPTY) == marked(base.content, mark)
    if arrived or now.raw == base.raw:
        assert here.sound.settle(KEY, base.raw or c.EMPTY, Stamp(token), bool(arrived)) == ""


@pytest.mark.parametrize(
    "name", support.some(PROGRAMS, "mongoose-history", "mongoose-version-array", "vermongo", "eve")
)
@support.table("at", [0, 1], ids=["first write", "second write"])
@support.table("faults", support.every(4, TWO), ids="+".join)
def test_an_outcome_is_true_whatever_happens_to_each_write(
    faults: tuple[Fault, Fault], at: int, name: str, server: Server
) -> None:
    here = ground(server, name, (*("none",) * at, *faults))  # type: ignore[arg-type]
    base = here.sound.version(KEY)
    outcome = here.swap("mine", base)
    here.faulty.land()
    if outcome.kind == "unknown":
        settle(here, here.stamp.token, "mine", base)
    assert here.times("mine") <= 1
    if outcome.kind in ("applied", "conflict", "refused"):
        assert here.times("mine") == (outcome.kind == "applied"), outcome
    assert not here.wrong(), (outcome, here.wrong())
    here.program.save(n=9)
    assert not here.wrong()


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("name", support.some(PROGRAMS, "mongoose-history", "vermongo", "eve"))
@support.table("by", ["its program", "another edit from here"])
@support.table("faults", support.every(15, TWO), ids="+".join)
def test_both_are_told_the_truth_wherever_one_overtakes_the_other(
    by: str, faults: tuple[Fault, Fault], name: str, server: Server
) -> None:
    for at, place in itertools.product((0, 1), range(60)):
        here = ground(server, name, (*("none",) * at, *faults))  # type: ignore[arg-type]
        base = here.sound.version(KEY)
        theirs: list[bool] = []
        here.faulty.between[place] = lambda here=here, theirs=theirs: theirs.append(overtaken(here, by))
        mine = here.swap("mine", base)
        if not theirs:
            break  # the swap has fewer operations than that
        here.faulty.land()
        if mine.kind == "unknown":
            settle(here, here.stamp.token, "mine", base)
        my_times, their_times = here.times_of("mine", "theirs")
        assert their_times == theirs[0], (place, mine)
        if mine.kind in ("applied", "conflict", "refused"):
            assert my_times == (mine.kind == "applied"), (place, mine)
        assert my_times <= 1
        if mine.kind != "unknown":
            assert not here.wrong(), (place, mine, here.wrong())
    else:
        raise AssertionError("a swap of more than sixty operations")


@support.table("name", PROGRAMS)
@support.table("fault", support.every(2, FAULTS))
def test_an_edit_of_the_document_alone_moves_its_lock_and_leaves_all_rows_as_they_are(
    fault: Fault, name: str, server: Server
) -> None:
    here = ground(server, name, (fault,), edit="current")
    rows, base = list(here.program.rows.find()), here.sound.version(KEY)
    before = here.program.things.find_one()
    outcome = here.swap("mine", base)
    here.faulty.land()
    after = here.program.things.find_one()
    assert outcome.kind == "applied", outcome
    assert list(here.program.rows.find()) == rows
    assert after["tags"] == ["first", "second", "mine"]
    lock = here.layout.profile.guard
    assert lock is not None
    assert after[lock.field] == before[lock.field] + 1
    moved = {lock.field, "tags", *here.layout.profile.renewed}
    assert {each: after[each] for each in after if each not in moved} == {
        each: before[each] for each in before if each not in moved
    }
    here.program.save(n=9)
    late = here.swap("late", base)
    assert late.kind in ("conflict", "refused")  # no row proves Eve's etag any more
    assert "late" not in here.program.things.find_one()["tags"]


def overtaken(here: Ground, by: str) -> bool:
    """Whether a whole edit of somebody else got in, in the middle of one from here."""
    if by == "another edit from here":
        now = here.sound.version(KEY)
        return here.sound.swap(KEY, now, marked(now.content, "theirs")).kind == "applied"
    tags = here.program.things.find_one({"_id": ID})["tags"]
    try:
        here.program.save(tags=[*tags, "theirs"])
    except VersionTaken:
        return False
    return True


@support.table("name", PROGRAMS)
@support.table("at", range(3))
def test_what_a_dead_edit_left_is_settled_and_the_program_saves_on(at: int, name: str, server: Server) -> None:
    here = ground(server, name, (*("none",) * at, "dead"))  # type: ignore[arg-type]
    base = here.sound.version(KEY)
    try:
        here.swap("mine", base)
    except Dead:
        settle(here, here.stamp.token, "mine", base)
    assert not here.wrong()
    assert here.times("mine") == (at == 2 or (at == 1 and name not in ROW_FIRST))
    here.program.save(n=9)
    now = here.sound.version(KEY)
    assert here.sound.swap(KEY, now, marked(now.content, "next")).kind == "applied"
    assert not here.wrong()


def in_a_shell(here: Ground) -> None:
    here.program.things.update_one({"_id": ID}, {"$set": {"n": 99}})


def after_each_operation(
    server: Server, name: str, act: Callable[[Ground], object]
) -> Iterator[tuple[Ground, Outcome]]:
    """An edit with something else done before each of its operations in turn, until it has no more of these."""
    for place in range(60):
        here = ground(server, name)
        here.faulty.between[place] = lambda here=here: act(here)
        outcome = here.swap("mine")
        if here.faulty.between:
            return
        yield here, outcome


@support.table("name", PROGRAMS)
def test_a_change_in_a_shell_is_a_conflict_that_leaves_no_row_behind(name: str, server: Server) -> None:
    seen = set()
    for here, outcome in after_each_operation(server, name, in_a_shell):
        seen.add(outcome.kind)
        states = [c.decode(each.content or c.EMPTY) for each in here.sound.history(KEY, contents=True)]
        told = [state["tags"] for state in states if "mine" in state["tags"]]
        assert len(told) == (outcome.kind == "applied"), outcome
        assert len(states) == 3 + (outcome.kind == "applied")
        assert here.program.things.find_one({"_id": ID})["n"] == 99
    assert seen == {"conflict", "applied"}


class LockAlone(VersionGuard):
    """A guard that looks at the lock of the program and not at the content."""

    def clauses(self, base: Version, beside: int = 0) -> dict[str, Any]:
        return self.narrow(base)


CARELESS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "leaves its row": (
        "vermongo",
        lambda patch: patch.setattr(RowWriter, "_taken_out", lambda self, row: ""),
    ),
    "guards by the lock alone": (
        "mongoose-history",
        lambda patch: patch.setattr("model.writers.row_writer.WholeGuard", LockAlone),
    ),
    "forgets its row": (
        "mongoose-version-collection",
        lambda patch: patch.setattr(RowWriter, "finish", lambda self, outcome, *_: outcome),
    ),
    "takes a row that is there for its own": (
        "vermongo",
        lambda patch: patch.setattr(RowWriter, "_sent_first", lambda self, *_: None),
    ),
}


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("way", CARELESS)
def test_a_writer_that_is_careless_is_convicted(way: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    name, patch = CARELESS[way]
    patch(monkeypatch)
    faults = []
    here = ground(server, name)
    assert here.swap("mine").kind == "applied"
    faults.append(bool(here.wrong()))
    for here, outcome in after_each_operation(server, name, in_a_shell if name == "vermongo" else saved_by_program):
        stored = here.program.things.find_one({"_id": ID})
        rows = here.program.rows.count_documents({})
        if name == "vermongo":
            faults.append(rows != stored["_version"] - 1)
        else:
            faults.append(bool(here.wrong()) or here.times("mine") != (outcome.kind == "applied"))
    assert any(faults)


def saved_by_program(here: Ground) -> None:
    here.program.save(n=7)


# --- refused


def refused(here: Ground, content: bytes, base: Version | None = None) -> str:
    """The reason for which nothing was written."""
    before = [*here.program.things.find(), *here.program.rows.find()]
    outcome = here.sound.swap(KEY, base or here.sound.version(KEY), content)
    assert outcome.kind == "refused", outcome
    assert [*here.program.things.find(), *here.program.rows.find()] == before
    return outcome.detail


@support.table("name", PROGRAMS)
def test_a_field_that_no_document_has_is_left_to_the_program(name: str, server: Server) -> None:
    here = ground(server, name)
    assert "has a field colour" in refused(here, doc(tags=["first"], n=2, colour="red"))
    assert "n would be a String, and has been a number so far" in refused(here, doc(tags=["first"], n="2"))
    here.program.things.insert_one({"_id": "other", "colour": "blue"})
    assert here.sound.swap(KEY, here.sound.version(KEY), doc(tags=["first"], n=2, colour="red")).kind == "applied"


@support.table("name", PROGRAMS)
def test_a_document_that_its_history_does_not_tell_of_is_left_alone(name: str, server: Server) -> None:
    here = ground(server, name)
    if name in ROW_FIRST:
        found = here.program.things.find_one({"_id": ID})
        here.program.rows.insert_one({**found, "_id": {"_id": ID, "_version": found["_version"]}})
        assert "somebody is saving this document, or died" in refused(here, doc(tags=["x"], n=2))
        return
    in_a_shell(here)
    assert "it was changed beside its history" in refused(here, doc(tags=["x"], n=99))


def test_rows_with_more_in_them_than_is_known_from_here_are_left_to_the_program(server: Server) -> None:
    here = ground(server, "mongoose-history")
    here.program.rows.update_many({}, {"$set": {"who": "ana"}})
    assert "have who, which is not known from here" in refused(here, doc(tags=["x"], n=2))


def test_a_row_that_would_not_be_read_as_what_it_is_about_is_not_written(server: Server) -> None:
    for wrong in ({"t": "$now", "o": "u", "d": "$content"}, {"t": "$now", "o": "u", "d": {"_id": "$id", "n": 1}}):
        here = ground(server, "mongoose-history", row=wrong)
        assert "check its row" in refused(here, doc(tags=["x"], n=2))
    row = {**here.sound.profile.row, "d": "$document"}
    assert bind(server, replace(here.sound.profile, row=row)).swap(
        KEY, here.sound.version(KEY), doc(tags=["x"], n=2)
    ).kind == "applied"  # fmt: skip


@support.table("name", PROGRAMS)
def test_documents_are_created_and_deleted_by_the_program_alone(name: str, server: Server) -> None:
    here = ground(server, name)
    for outcome in (
        here.sound.create(doc(n=1)),
        here.sound.delete(KEY, here.sound.version(KEY)),
        here.sound.purge(KEY, here.sound.version(KEY)),
    ):
        assert outcome.kind == "refused"
        assert "Documents are created and deleted through" in outcome.detail
    assert here.program.things.count_documents({}) == 1


@support.table("name", PROGRAMS)
def test_where_the_row_is_turned_away_the_document_is_put_back(name: str, server: Server) -> None:
    here = ground(server, name)
    refusing = RefusesRows(server)
    layout = bind(refusing, here.sound.profile)  # type: ignore[arg-type]
    before = here.program.things.find_one({"_id": ID})
    outcome = layout.swap(KEY, here.sound.version(KEY), doc(tags=["x"], n=2))
    assert outcome.kind == "refused", outcome
    assert "not allowed to" in outcome.detail
    assert here.program.things.find_one({"_id": ID}) == before
    assert not here.wrong()


class RefusesRows(FaultyServer):
    """A server on which nobody may write rows."""

    def send(self, write: Write) -> Reply:
        if write.ns.endswith(".rows"):
            return Reply("no", sentence="You are not allowed to do this.")
        return super().send(write)


def test_an_etag_that_is_made_in_another_way_is_left_to_eve(server: Server) -> None:
    here = ground(server, "eve")
    here.program.things.update_one({"_id": ID}, {"$set": {"_etag": "0" * 40}})
    assert "_etag of this document is not made in the way" in refused(here, doc(tags=["x"], n=2))


@support.table("name", PROGRAMS)
def test_what_rows_do_not_tell_apart_is_no_edit_and_no_damage(name: str, server: Server) -> None:
    here = ground(server, name)
    assert "Nothing would change" in refused(here, doc(n=2, tags=["first", "second"]))
    here.program.things.update_one({"_id": ID}, {"$set": {"n": 2.0}})  # as other programs write a 2 of JavaScript
    if name != "eve":  # its etag would be another one
        assert not here.wrong()
        assert here.sound.swap(KEY, here.sound.version(KEY), doc(tags=["mine"], n=2.0)).kind == "applied"
        assert not here.wrong()


@support.table("name", PROGRAMS)
def test_rows_carry_the_time_of_the_server_whatever_the_clock_here_says(name: str, server: Server) -> None:
    for wrong in (dt.timedelta(days=-9), dt.timedelta(days=9)):
        here = ground(server, name)
        base = here.sound.version(KEY)
        stamp = Stamp(at=NOW + wrong)
        assert here.sound.swap(KEY, base, marked(base.content, "mine"), stamp).kind == "applied"
        told = [each.at for each in here.sound.history(KEY)][:2]
        assert name == "vermongo" or all(at is not None and abs(at - NOW) < dt.timedelta(days=1) for at in told)


# --- the journal


@support.table("name", PROGRAMS)
def test_an_edit_whose_document_is_gone_by_now_is_looked_for_in_vain(name: str, server: Server) -> None:
    here = ground(server, name, ("none", "dead"))
    base = here.sound.version(KEY)
    with pytest.raises(Dead):
        here.swap("mine", base)
    here.program.things.delete_one({"_id": ID})
    assert here.sound.landed(KEY, here.stamp.token, base) is None
    assert here.sound.settle(KEY, base.raw or c.EMPTY, here.stamp, arrived=False) == ""


@pytest.mark.deep
@pytest.mark.slice
@support.table("name", PROGRAMS)
@support.table("writes", [0, 1])
def test_an_edit_whose_process_died_is_finished_or_taken_back_when_it_is_looked_for(
    writes: int, name: str, server: Server, local_uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ground(server, name)
    ns = here.sound.ns
    with Session.open(local_uri, home=tmp_path / f"{name} {writes}", profile=Profile((here.sound.profile,))) as session:
        sent = 0
        send = session._connection.opened.server.send

        def dying(write: Write) -> Reply:
            nonlocal sent
            sent += 1
            if sent > writes:
                raise Dead
            return send(write)

        monkeypatch.setattr(session._connection.opened.server, "send", dying)
        with pytest.raises(Dead):
            session.edit(ns, KEY, {"tags": ["mine"]})
        monkeypatch.setattr(session._connection.opened.server, "send", send)
        monkeypatch.setattr("model.writing.writer.SETTLED_AFTER", dt.timedelta(0))
        (entry,) = session.journal.entries()
        arrived = writes == 1 and name not in ROW_FIRST
        assert session.way_back.look_again(entry.id).kind == ("applied" if arrived else "conflict")
        assert not here.wrong()
        assert here.times("mine") == arrived
        assert session.edit(ns, KEY, {"n": 5}).kind == "applied"
        assert not here.wrong()
