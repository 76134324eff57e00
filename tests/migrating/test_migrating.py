"""A slice of the migrations, the careless one convicted, and the command by hand."""

from __future__ import annotations

import json
import random
import tomllib
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymongo
import pytest
from bson import Int64
from msgspec.structs import replace

from model.commands import command_line
from model.errors import Unreachable
from model.foundation.records import Version
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE
from model.operations.migration import Checked, Migration
from model.profile import Profile
from model.repair.steps import Step
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.migrating.run import Careless, killed, moved
from tests.migrating.scenes import PAIRS, START, Dying, Killed, _version, place

NUMBER = support.by_depth(3, 12, 12)


@pytest.mark.slice
def test_every_version_arrives_while_people_write(local_uri: str, tmp_path: Path, seed: int) -> None:
    for number, pair in enumerate(random.Random(seed).sample(PAIRS, NUMBER)):
        wrong, _ = moved(local_uri, pair, 6, seed, tmp_path / str(number))
        assert not wrong, f"python -m tests.migrating --pair {' '.join(pair)} --seed {seed}: {wrong}"


@pytest.mark.slice
def test_a_migration_that_dies_goes_on(local_uri: str, tmp_path: Path, seed: int) -> None:
    for number, pair in enumerate(random.Random(seed).sample(PAIRS, NUMBER // 3)):
        assert not killed(local_uri, pair, seed, tmp_path / str(number), most=3), f"{' '.join(pair)}, seed {seed}"


def test_a_careless_migration_is_convicted(local_uri: str, home: Path) -> None:
    assert any(moved(local_uri, ("versions", "archive"), 12, seed, home, Careless)[0] for seed in range(3))


@pytest.mark.parametrize("name", list(WRITABLE))
def test_a_layout_reads_back_what_it_is_said_to_keep(
    name: str, server_uri: str, database_name: str, home: Path
) -> None:
    with Server.connect(server_uri) as server:
        here = place(server, database_name, (name, "plain" if name != "plain" else "hashed"), 5, home)
        here.plant(4)
        for id, history in here.known.items():
            found = [each for each in here.source.history(id, contents=True) if each.state != "missing"]
            assert [each.content for each in reversed(found)] == list(history.values())
            outcome = here.source.swap(id, here.source.version(id), b"\x05\x00\x00\x00\x00")
            if name != "deltas":  # which cannot say that fields are gone
                assert outcome.kind == "applied", outcome.detail


@pytest.mark.parametrize("name", ["at", 'at "noon"', "C:\\new", "a'b", "two\nlines", "\x7f", "días"])
def test_what_to_put_into_a_profile_reads_back_whatever_the_fields_are_called(
    name: str, local_uri: str, database_name: str, home: Path
) -> None:
    with Server.connect(local_uri) as server:
        here = place(server, database_name, ("versions", "archive"), 3, home)
        migration = here.migration()
        for layout in (migration.source, migration.target):
            layout.profile = replace(layout.profile, at=name)
        read = Profile.read(tomllib.loads(migration.toml), "profile.toml")
        found = [read.get(layout.profile.ns) for layout in (migration.source, migration.target)]
        assert [each and each.at for each in found] == [name, name]


def test_what_somebody_changed_in_the_new_place_is_never_overwritten(
    local_uri: str, database_name: str, home: Path
) -> None:
    with Server.connect(local_uri) as server:
        here = place(server, database_name, ("versions", "archive"), 3, home)
        here.plant(4)
        list(here.migration().run())
        id = next(iter(here.known))
        mine = here.target.version(id)
        assert here.target.swap(id, mine, b"\x05\x00\x00\x00\x00").kind == "applied"
        base = here.source.version(id)
        assert here.source.swap(id, base, c.encode({"n": 77})).kind == "applied"
        refused = [each for each in here.migration().copy() if each.kind == "refused"]
        assert [each.id for each in refused] == [id]
        assert here.target.version(id).content == b"\x05\x00\x00\x00\x00"
        assert any(each.wrong for each in here.migration().verify())


def test_a_target_that_is_in_use_is_refused_and_left_alone(local_uri: str, database_name: str, home: Path) -> None:
    with Server.connect(local_uri) as server, pymongo.MongoClient(local_uri) as client:
        here = place(server, database_name, ("versions", "archive"), 3, home)
        here.plant(3)
        client[database_name].moved.insert_one({"_id": "theirs"})
        with pytest.raises(Exception, match="holds documents already"):
            list(here.migration().run())
        assert list(client[database_name].moved.find()) == [{"_id": "theirs"}]


def test_taking_back_and_removing_the_old_leave_what_is_not_exactly_theirs(
    local_uri: str, database_name: str, home: Path
) -> None:
    with Server.connect(local_uri) as server, pymongo.MongoClient(local_uri) as client:
        here = place(server, database_name, ("embedded", "versions"), 9, home)
        here.plant(5)
        list(here.migration().run())
        id, other = list(here.known)[:2]
        moved = client[database_name][here.target.ns.partition(".")[2]]
        assert moved.update_many({"docId": id.python()}, {"$set": {"theirs": True}}).modified_count
        assert here.target.swap(other, here.target.version(other), b"\x05\x00\x00\x00\x00").kind == "applied"
        kinds = {each.id: each.kind for each in here.migration().remove_old()}
        assert kinds.pop(id) == "skipped"
        assert set(kinds.values()) == {"applied"}, "later versions in the new place are not a difference"
        assert [row.id for row in here.source.page()] == [id]
        kinds = {each.id: each.kind for each in here.migration().take_back()}
        assert kinds == {id: "conflict"}


def test_a_layout_without_histories_takes_the_newest_only_where_that_is_accepted(
    local_uri: str, database_name: str, home: Path
) -> None:
    with Server.connect(local_uri) as server:
        here = place(server, database_name, ("versions", "hashed"), 4, home)
        here.plant(6)
        strict = here.migration()
        strict.newest_only = False
        many = [id for id, history in here.known.items() if len(history) > 1]
        refused = [each for each in strict.dry_run() if each.kind == "refused"]
        assert many
        assert {each.id for each in refused} == set(many)
        assert all("--newest-only" in each.detail for each in refused)


def test_the_command_says_first_and_writes_only_when_told(
    local_uri: str, database_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ns = f"{database_name}.contracts"
    with pymongo.MongoClient(local_uri) as client:
        rows = [{"docId": f"K{n}", "v": v, "net": n * v} for n in range(3) for v in (1, 2, 3)]
        client[database_name].contracts.insert_many(rows)
        client[database_name].contracts.create_index([("docId", 1), ("v", 1)], unique=True)
        asked = ["migrate", local_uri, ns, "--to", "archive"]
        assert command_line.main(asked) == 0
        assert "3 would be copied" in capsys.readouterr().out
        assert client[database_name].list_collection_names() == ["contracts"]
        assert command_line.main([*asked, "--apply"]) == 0
        out = capsys.readouterr().out
        assert "9 versions of 3 documents are equal in both places, 0 are not." in out
        assert 'layout = "archive"' in out
        assert client[database_name].contracts.count_documents({}) == 9
        assert client[database_name].contracts_archive.count_documents({}) == 3
        assert command_line.main([*asked, "--apply", "--json"]) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert {row["outcome"] for row in rows} == {"skipped"}
        assert command_line.main([*asked, "--remove-old"]) == 2
        assert command_line.main([*asked, "--remove-old", "--apply"]) == 0
        assert client[database_name].contracts.count_documents({}) == 0
    with Session.open(local_uri) as session:
        versions = session.history.versions(f"{database_name}.contracts_archive", Value.of("K1"))
        assert [v.v.python() for v in versions if v.v is not None] == [3, 2, 1]


def test_a_migration_stands_in_the_journal_as_one_row(local_uri: str, database_name: str, home: Path) -> None:
    with Server.connect(local_uri) as server:
        here = place(server, database_name, ("versions", "flagged"), 2, home)
        here.plant(3)
        migration = here.migration()
        list(migration.run())
        (row,) = migration._writer.journal.entries()
        assert (row.action, row.kind, row.undoable) == ("migrate", "applied", False)
        assert "--take-back" in row.why_not


def test_a_move_that_lost_its_server_half_way_is_not_said_to_have_written_nothing(
    local_uri: str, database_name: str, home: Path
) -> None:
    class Gone(Dying):
        def send(self, write: Write) -> Reply:
            try:
                return super().send(write)
            except Killed:
                raise Unreachable("The server did not answer in time; try again.") from None

        def find(self, *args: Any, **named: Any) -> Any:
            if self._left == 0:
                raise Unreachable("The server did not answer in time; try again.")
            return self._server.find(*args, **named)

    with Server.connect(local_uri) as server:
        here = place(server, database_name, ("plain", "hashed"), 2, home)
        here.plant(3)
        migration = here.migration(Gone(server, 1))
        outcomes: list[str] = []
        with pytest.raises(Unreachable):
            outcomes.extend(outcome.kind for outcome in migration.run())
        (row,) = migration._writer.journal.entries()
        assert "applied" in outcomes
        assert "Nothing was written" not in row.why_not


def test_migration_is_refused_where_writing_is(local_uri: str, database_name: str) -> None:
    with pymongo.MongoClient(local_uri) as client:
        client[database_name].things.insert_one({"docId": 1, "v": 1})
    with Session.open(local_uri, read_only=True) as session:
        session.catalogue.set_layout(f"{database_name}.things", "versions")
        moving: Migration = session.exchange.migration(f"{database_name}.things", "archive")
        with pytest.raises(Exception, match="read-only"):
            list(moving.run())


@pytest.mark.parametrize("source", ["archive", "versions", "embedded"])
def test_an_edit_while_the_old_is_removed_stays(
    source: str, local_uri: str, database_name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server.connect(local_uri) as server:
        here = place(server, database_name, (source, "versions" if source != "versions" else "archive"), 4, home)
        here.plant(1)
        (id,) = here.known
        migration = here.migration()
        list(migration.run())
        compared = migration.compared

        def edited_behind(each: Value, later: bool = False) -> Checked:
            found = compared(each, later)
            assert here.source.swap(id, here.source.version(id), c.encode({"n": "precious"})).kind == "applied"
            return found

        monkeypatch.setattr(migration, "compared", edited_behind)
        assert [each.kind for each in migration.remove_old()] == ["conflict"]
        assert here.source.version(id).content == c.encode({"n": "precious"})


@pytest.mark.parametrize(
    "pair", [pair for pair in PAIRS if pair[0] in ("versions", "flagged") and pair[1] not in ("plain", "hashed")]
)
def test_a_version_that_came_behind_the_removal_of_what_it_follows_is_brought_after_it(
    pair: tuple[str, str], local_uri: str, database_name: str, home: Path
) -> None:
    with Server.connect(local_uri) as server:
        here = place(server, database_name, pair, 4, home)
        here.plant(1)
        (id,) = here.known
        edited(here.source, id, 1)
        migration = here.migration()
        list(migration.run())
        base = here.source.version(id)
        late = here.source.steps(id, base, numbered(base, 2), Stamp()).decides
        assert [each.kind for each in migration.remove_old()] == ["applied"]
        assert server.send(late).applied == "yes"
        edited(here.source, id, 3)

        again = here.migration()
        assert [each.kind for each in again.take_back()] == ["refused"], "what is in the new place alone stays there"
        assert [each.kind for each in again.copy()] == ["applied"]
        assert not any(each.wrong for each in again.verify())
        assert [each.kind for each in again.remove_old()] == ["applied"]
        assert not here.source.exists(id)
        kept = [c.get(each.content or c.EMPTY, ("edit",)) for each in here.target.history(id, contents="all")]
        assert kept[:4] == [*map(Value.of, (3, 2, 1)), None]


def numbered(base: Version, n: int) -> bytes:
    """The content of a version with a number in it."""
    return c.put(base.content or c.EMPTY, ("edit",), Value.of(n))


def edited(layout: Layout, id: Value, n: int) -> None:
    base = layout.version(id)
    assert layout.swap(id, base, numbered(base, n)).kind == "applied"


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("name", ["versions", "flagged", "deltas", "archive", "stream"])
def test_the_removal_of_the_old_goes_on_where_it_died(
    name: str, local_uri: str, database_name: str, home: Path
) -> None:
    with Server.connect(local_uri) as server, pymongo.MongoClient(local_uri) as client:
        here = place(server, database_name, (name, "embedded"), 4, home)
        here.plant(4)
        list(here.migration().run())
        for writes in (1, 2):
            with pytest.raises(Killed):
                list(here.migration(Dying(server, writes)).remove_old())
        assert "conflict" not in {each.kind for each in here.migration().remove_old()}
        p = here.source.profile
        left = [list(client[database_name][ns.partition(".")[2]].find()) for ns in (p.ns, p.archive) if ns]
        assert not any(left), left
        assert here.target.count() == 4


def test_what_stands_beside_embedded_versions_is_not_left_behind_unsaid(
    local_uri: str, database_name: str, home: Path
) -> None:
    with Server.connect(local_uri) as server, pymongo.MongoClient(local_uri) as client:
        here = place(server, database_name, ("embedded", "versions"), 4, home)
        here.plant(2)
        list(here.migration().run())
        things = client[here.source.ns.partition(".")[0]][here.source.ns.partition(".")[2]]
        whose = things.find_one_and_update({}, {"$set": {"tenant": "acme"}}) or {}
        wrong = [each for each in here.migration().verify() if each.wrong]
        assert [each.id.python() for each in wrong] == [whose["_id"]]
        assert "tenant" in wrong[0].wrong
        assert sorted(each.kind for each in here.migration().remove_old()) == ["applied", "skipped"]
        assert [each["tenant"] for each in things.find()] == ["acme"]
        assert [each.kind for each in here.migration().dry_run()] == ["refused"]


def test_a_document_of_which_only_the_archive_has_come_is_not_said_to_be_there(
    local_uri: str, database_name: str, home: Path
) -> None:
    with Server.connect(local_uri) as server:
        here = place(server, database_name, ("versions", "stream"), 4, home)
        here.plant(1)
        (id,) = here.known
        steps = here.migration().steps(id)
        dying = here.migration(Dying(server, len(steps) - 1))
        with pytest.raises(Killed):
            list(dying.copy())
        assert ["no current document" in each.wrong for each in here.migration().verify()] == [True]
        assert [each.kind for each in here.migration().remove_old()] == ["skipped"]
        assert here.source.exists(id)


def test_documents_without_an_id_are_told_by_verifying(local_uri: str, database_name: str, home: Path) -> None:
    with Server.connect(local_uri) as server, pymongo.MongoClient(local_uri) as client:
        here = place(server, database_name, ("versions", "archive"), 4, home)
        here.plant(2)
        client[database_name][here.source.ns.partition(".")[2]].insert_one({"v": 1})
        list(here.migration().run())
        assert ["without docId" in each.wrong for each in here.migration().verify()] == [False, False, True]


@pytest.mark.deep
@pytest.mark.slice
def test_bringing_a_long_history_up_to_date_holds_no_more_than_one_state_of_it(
    local_uri: str, database_name: str, home: Path
) -> None:
    with Server.connect(local_uri) as server:
        here = place(server, database_name, ("versions", "nested"), 4, home)
        id, size = Value.of("long"), 50_000
        versions = [_version(n, c.encode({"n": n, "text": "x" * size}), START) for n in range(1, 61)]
        tracemalloc.start()
        try:
            left: set[str] = set()
            for each in here.migration()._left_before(id, versions):
                left |= each
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(left) == 59
        assert peak < 10 * 60 * size  # all of the states together are thirty times one of them


@pytest.mark.parametrize("name", ["archive", "embedded", "flagged"])
@pytest.mark.deep
@pytest.mark.slice
def test_bringing_a_long_history_up_to_date_does_not_make_all_that_it_ever_was(
    name: str, local_uri: str, database_name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server.connect(local_uri) as server:
        here = place(server, database_name, ("versions", name), 4, home)
        here.plant(1)
        (id,) = here.known
        for n in range(30):
            assert here.source.swap(id, here.source.version(id), c.encode({"n": n})).kind == "applied"
        list(here.migration().run())
        assert here.source.swap(id, here.source.version(id), c.encode({"n": 30})).kind == "applied"
        migration = here.migration()
        asked: list[int] = []
        plain = migration.target.as_stored

        def counted(of: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
            asked.append(len(versions))
            return plain(of, versions)

        monkeypatch.setattr(migration.target, "as_stored", counted)
        assert [each.kind for each in migration.copy()] == ["applied"]
        assert migration.compared(id).wrong == ""
        count = len(here.known[id]) + 31
        assert set(asked) <= {count, count - 1}
        asked.clear()
        assert [each.kind for each in migration.take_back()] == ["applied"]
        assert asked == [count]


def test_a_migration_that_was_stopped_is_not_taken_for_an_index(local_uri: str, database_name: str) -> None:
    with pymongo.MongoClient(local_uri) as client:
        client[database_name].things.insert_many([{"docId": n, "v": 1} for n in range(3)])
        client[database_name].things.create_index([("docId", 1), ("v", 1)], unique=True)
    with Session.open(local_uri) as session:
        session.catalogue.set_layout(f"{database_name}.things", "versions")
        moving = session.exchange.migration(f"{database_name}.things", "archive").run()
        next(iter(moving))
        moving.close()  # type: ignore[attr-defined]
        (row,) = session.journal.entries()
        assert row.kind == "unknown"
        outcome = session.way_back.look_again(row.id)
        assert "run it again" in outcome.detail
        assert "take" in session.journal.entry(row.id).why_not.lower()


def test_what_was_in_doubt_and_arrived_is_told_by_the_next_round(
    local_uri: str, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pymongo.MongoClient(local_uri) as client:
        client[database_name].things.insert_one({"_id": 1, "name": "x"})
    with Session.open(local_uri) as session:
        moving = session.exchange.migration(f"{database_name}.things", "versions")
        send, answers = moving._sent, ["unknown"]

        def sent(step: Step) -> str:
            return answers.pop() if send(step) == "applied" and answers else "applied"

        monkeypatch.setattr(moving, "_sent", sent)
        assert [each.kind for each in moving.run()] == ["unknown", "applied"]
        assert session.journal.entries()[0].kind == "applied"
        assert [each.wrong for each in moving.verify() if each.wrong] == []


@pytest.mark.parametrize("to", ["archive", "embedded", "plain", "nested"])
def test_the_lock_of_another_program_begins_anew_in_the_new_place(to: str, server_uri: str, database: Any) -> None:
    database["items"].insert_many(
        [{"_id": n, "name": f"n{n}", "version": Int64(n % 2), "_class": "x.Item"} for n in range(3)]
    )
    ns = f"{database.name}.items"
    with Session.open(server_uri) as session:
        moving = session.exchange.migration(ns, to)
        assert {outcome.kind for outcome in moving.run()} == {"applied"}
        assert [each.wrong for each in moving.verify() if each.wrong] == []
        assert {outcome.kind for outcome in session.exchange.migration(ns, to).run()} <= {"skipped"}
    made = list(database[f"items_{to}"].find())
    assert [each["version"] for each in made] == ([1, 1, 1] if to == "nested" else [0, 0, 0])  # its own version there
    assert {type(each["version"]) for each in made} == {int if to == "nested" else Int64}
