"""One version of a long history of deltas is read from a state that is kept near it, which is no proof of it."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest
from bson import ObjectId

from model.errors import Refused
from model.foundation import kept_files
from model.foundation.records import Version
from model.localserver import LocalServer
from model.operations.retaining import Rule
from model.profile import Profile, stated
from model.server.retry import Server
from model.session import Session
from model.storage import delta_states, kept_states
from model.storage.delta_folding import rebuilt
from model.storage.delta_states import DeltaStates
from model.storage.kept_states import StateFiles, StatesOf, kept_from
from model.text.paths import path_from_text
from model.values.canonical import Value
from tests import support
from tests.model.command_log import CommandLog, listening
from tests.model.layouts.layout_support import layout_of
from tests.model.storage.test_delta_states import damaged, life

NS, ID = "shop.things", Value.of("K")
STATED = Profile((stated(NS, "deltas", id="docId"),))
MANY = 420  # versions, and from 400 on a history is long


@pytest.fixture
def log() -> Iterator[CommandLog]:
    with listening() as made:
        yield made


@pytest.fixture
def local() -> Iterator[LocalServer]:
    with LocalServer() as made:
        fill(made, MANY)
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Histories are long from fewer versions on, and no notices are left."""
    monkeypatch.setattr(delta_states, "LONG", 400)
    monkeypatch.delenv("PALIMPSEST_CACHE", raising=False)
    kept_files.notices.forget()
    yield
    kept_files.notices.forget()


class Past:
    """The clock of more than a day ago."""

    @staticmethod
    def time() -> float:
        return time.time() - kept_states.LASTS - 1


def fill(local: LocalServer, versions: int, first: str = "Ann") -> None:
    rows = [{"_id": ObjectId(), "docId": "K", "v": v, f"n{v % 7}": v} for v in range(1, versions + 1)]
    rows[0]["name"] = first
    local.load(NS, map(bson.encode, rows))
    local.index(NS, [("docId", 1), ("v", 1)], unique=True)


@pytest.fixture
def things(local: LocalServer) -> Iterator[Any]:
    with pymongo.MongoClient[dict[str, Any]](local.uri) as client:
        yield client.shop.things


def opened(local: LocalServer, home: Path) -> Session:
    home.mkdir(exist_ok=True)
    return Session.open(local.uri, STATED, home=home)


def seen(local: LocalServer, home: Path, v: int | None) -> Version:
    """A version as somebody sees it who opens the server anew."""
    with opened(local, home) as session:
        return session.history.seen(NS, ID, None if v is None else Value.of(v))


def name_in(version: Version) -> str:
    return str(bson.decode(version.content or b"")["name"])


def files(home: Path) -> list[Path]:
    return sorted((home / "cache").glob("states-*"))


@pytest.mark.parametrize("versions", [MANY, pytest.param(100_000, marks=pytest.mark.deep)])
def test_one_version_of_many_takes_the_rows_from_the_nearest_kept_state_on(
    versions: int, home: Path, log: CommandLog
) -> None:
    with LocalServer() as local:
        fill(local, versions)
        whole = seen(local, home, versions - 10)
        assert whole.kept_on is None
        assert log.rows >= versions
        for v, current in ((versions - 10, False), (versions // 2, False), (versions, True), (None, True), (3, False)):
            log.clear()
            found = seen(local, home, v)
            assert found.kept_on is not None
            assert found.current is current
            assert log.rows <= 2 * kept_states.STEP
            assert len(log.names) <= 3
            with opened(local, home) as session:
                proven = session.history.version(NS, ID, None if v is None else Value.of(v))
            assert proven.kept_on is None
            assert found.but(kept_on=None) == proven
        log.clear()
        with opened(local, home) as session:
            first = next(session.history.versions(NS, session.documents.find_id(NS, "K"), early=True))
        assert first.kept_on is not None
        assert log.rows < 160
        log.clear()
        with opened(local, home) as session:
            all = list(session.history.versions(NS, ID))
        assert [each.kept_on for each in all] == [None] * versions
        assert log.rows >= versions


def test_a_history_that_begins_with_a_kept_state_goes_on_with_what_is_stored(
    local: LocalServer, things: Any, home: Path
) -> None:
    seen(local, home, 1)
    with opened(local, home) as session:
        whole = list(session.history.versions(NS, ID))
        early = session.history.versions(NS, ID, early=True)
        begun = next(early)
        things.insert_one({"docId": "K", "v": MANY + 1, "late": True})
        rest = [begun, *early]
    assert [each.but(kept_on=None) for each in rest] == whole
    assert {each.kept_on is None for each in rest[:100]} == {False}
    assert {each.kept_on is None for each in rest[200:]} == {True}


def test_a_version_changed_before_the_kept_state_is_found_by_who_reads_all(
    local: LocalServer, things: Any, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seen(local, home, 1)
    things.update_one({"docId": "K", "v": 1}, {"$set": {"name": "Eve"}})
    before = seen(local, home, MANY - 10)
    assert (name_in(before), before.kept_on is None) == ("Ann", False)
    with opened(local, home) as session:
        early = session.history.versions(NS, ID, early=True)
        assert next(early).kept_on is not None
        with pytest.raises(
            Refused, match=r"Earlier versions of K in shop.things were changed or removed since .*again"
        ):
            list(early)
    after = seen(local, home, MANY - 10)
    assert name_in(after) == "Eve"
    assert after.kept_on is not None
    assert "What was kept of it then is not used any more." in caplog.text
    things.delete_one({"docId": "K", "v": 5})
    with opened(local, home) as session:
        assert next(session.history.versions(NS, ID)).state == "unproven"
    assert files(home) == []
    assert seen(local, home, MANY - 10).state == "unproven"


def test_a_version_changed_after_the_kept_state_is_seen_at_once(local: LocalServer, things: Any, home: Path) -> None:
    seen(local, home, 1)
    near = MANY - MANY % kept_states.STEP
    things.update_one({"docId": "K", "v": near - kept_states.STEP}, {"$set": {"name": "Eve"}})
    assert name_in(seen(local, home, near - 3)) == "Eve"  # the row with which the state was kept is another
    things.update_one({"docId": "K", "v": near - 2}, {"$set": {"name": "Kim"}})
    assert name_in(seen(local, home, near - 1)) == "Kim"


@pytest.mark.parametrize(
    "how", ["cut off", "emptied", "garbled", "with another state", "of another document", "a folder", "too old"]
)
def test_a_file_that_is_not_what_was_kept_is_not_used(
    how: str, local: LocalServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.load(NS, [bson.encode({"docId": "other", "v": v, "name": "Zoe"}) for v in range(1, MANY + 1)])
    if how == "too old":
        monkeypatch.setattr(delta_states, "time", Past)
    seen(local, home, 1)
    monkeypatch.setattr(delta_states, "time", time)
    (file,) = files(home)
    data = file.read_bytes()
    if how == "cut off":
        file.write_bytes(data[:-1])
    elif how == "emptied":
        file.write_bytes(b"")
    elif how in ("garbled", "with another state"):
        at = 60 if how == "garbled" else len(data) - 3
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    elif how == "of another document":
        with opened(local, home) as session:
            session.history.seen(NS, Value.of("other"), Value.of(2))
        (another,) = set(files(home)) - {file}
        shutil.copy(another, file)
    elif how == "a folder":
        file.unlink()
        file.mkdir()
    found = seen(local, home, MANY - 1)
    assert (name_in(found), found.kept_on) == ("Ann", None)
    assert seen(local, home, MANY - 1).kept_on is not None, "it was kept anew"


def test_a_collection_that_was_dropped_and_made_again_has_no_kept_states(
    local: LocalServer, things: Any, home: Path
) -> None:
    seen(local, home, 1)
    rows = list(things.find())
    with opened(local, home) as open_meanwhile:
        assert open_meanwhile.history.seen(NS, ID, Value.of(MANY - 10)).kept_on is not None
        things.drop()
        # The rows near the state are the same to the byte, as from a backup, and only an earlier one is not.
        things.insert_many([rows[0] | {"name": "Eve"}, *rows[1:]])
        things.create_index([("docId", 1), ("v", 1)], unique=True)
        found = seen(local, home, MANY - 10)
        assert (name_in(found), found.kept_on) == ("Eve", None)
        things.drop()
        fill(local, MANY, "Zoe")
        assert name_in(open_meanwhile.history.seen(NS, ID, Value.of(MANY - 10))) == "Zoe"


def test_nothing_is_written_from_a_kept_state(local: LocalServer, things: Any, home: Path) -> None:
    seen(local, home, 1)
    things.update_one({"docId": "K", "v": 1}, {"$set": {"name": "Eve"}})
    with opened(local, home) as session:
        base = session.history.seen(NS, ID)
        assert name_in(base) == "Ann"
        outcome = session.writing.save(NS, ID, base, bson.encode({"name": "Ann", "n": 1}))
        assert outcome.kind == "refused"
        assert "kept" in outcome.detail
        assert session.writing.restore(NS, ID, Value.of(MANY - 10)).kind == "applied"
        assert name_in(session.history.version(NS, ID)) == "Eve"
        assert session.edit(NS, ID, set={"more": 1}).kind == "applied"
        assert name_in(session.history.version(NS, ID)) == "Eve"


def test_erasing_and_purging_empty_what_is_kept(local: LocalServer, home: Path) -> None:
    seen(local, home, 1)
    with opened(local, home) as session:
        paths = [path_from_text("name")]
        assert [each.place for each in session.erasing.traces(NS, ID, paths)] == ["versions", "states"]
        done = session.erasing.apply(NS, ID, paths)
        assert {each.place: each.count for each in done.erased} == {"versions": 1, "states": 1}
        assert (done.found, files(home)) == ((), [])
        assert "name" not in bson.decode(session.history.seen(NS, ID).content or b"")
        assert len(files(home)) == 1
        assert session.writing.purge(NS, ID, session.history.last(NS, ID)).kind == "applied"
        assert files(home) == []


def test_removing_earlier_versions_by_a_rule_empties_what_is_kept(local: LocalServer, home: Path) -> None:
    home.mkdir()
    with Session.open(local.uri, Profile((stated(NS, "deltas", id="docId", after_gap="whole"),)), home=home) as session:
        session.history.seen(NS, ID, Value.of(9))
        assert len(files(home)) == 1
        plan = session.retaining.listed(NS, Rule(keep=MANY - 5), ID)
        assert [each.kind for each in session.retaining.apply(plan)] == ["applied"]
        assert files(home) == []


def test_who_has_no_folder_is_given_none(local: LocalServer, tmp_path: Path) -> None:
    with Session.open(local.uri, STATED, home=tmp_path / "none") as session:
        assert session.history.seen(NS, ID, Value.of(9)).kept_on is None
        assert session.history.seen(NS, ID, Value.of(9)).kept_on is None
    assert not (tmp_path / "none").exists()


def test_all_files_together_take_no_more_than_they_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_states, "MOST", 80_000)
    monkeypatch.setattr(kept_states, "ALL", 400_000)
    stored = [bson.encode({"_id": v, "v": v, f"n{v % 300}": "x" * 10}) for v in range(3000, 0, -1)]
    found = kept_from(stored, ["_id", "v"], time.time())
    assert len(found.states) <= 80_000 + 7_000
    assert len(found.ends) > 5
    assert found.step * len(found.ends) == found.highest <= 3000
    assert found.state(found.step) == rebuilt(stored[: -found.step - 1 : -1], ["_id", "v"])
    assert found.is_of(stored)
    assert not found.is_of(stored[:-1])
    assert found.holds(1, stored[::-1])
    kept = StateFiles(tmp_path / "cache", "mongodb://x", lambda *told: str(hash(told)))
    for n in range(12):
        kept.write(NS, "u", Value.of(n), "", found)
    again = kept.read(NS, "u", Value.of(11), "")
    assert again is not None
    assert [*again.ends] == found.ends
    assert (again.at, again.step, again.digests, again.states) == (found.at, found.step, found.digests, found.states)
    assert kept.read(NS, "u", Value.of(0), "") is None
    assert sum(path.stat().st_size for path in (tmp_path / "cache").iterdir()) <= 400_000


def test_a_version_from_a_kept_state_is_the_one_that_stands_in_the_history(
    seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(delta_states, "LONG", 3)
    monkeypatch.setattr(kept_states, "STEP", 2)
    rng, used = random.Random(seed), 0
    kept = StateFiles(tmp_path / "cache", "mongodb://x", lambda *told: f"{len(told)}")
    with LocalServer() as local, Server.connect(local.uri) as server:
        for n in range(support.by_depth(25, 600)):
            rows = life(rng, rng.randint(6, 14))
            least = rng.randint(4, len(rows))
            local.load(f"shop{n}.things", map(bson.encode, rows[:least]))
            layout = layout_of(server, f"shop{n}", "deltas", indexed=False, removed=rng.choice(["", "gone"]))
            reader = layout.reader
            assert isinstance(reader, DeltaStates)
            of: StatesOf = kept.of(layout.ns, lambda: "u", "")
            list(reader.seen_history(ID, True, of, early=True))
            # What is damaged came after the states were kept; what has no number is not looked for among numbers.
            late = damaged(rng, rows[least:]) if least < len(rows) else []
            late = [raw for raw in late if b"\x10v\x00" in raw or b"\x12v\x00" in raw]
            local.load(f"shop{n}.things", late)
            for each in list(layout.history(ID, contents=True)):
                if each.state == "missing" or each.v is None:
                    continue
                found = reader.seen(ID, each.v, of)
                used += found.kept_on is not None
                assert found.but(kept_on=None) == layout.version(ID, each.v)
    assert used > support.by_depth(20, 400)
