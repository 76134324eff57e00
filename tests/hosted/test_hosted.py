"""On every server that people use, each action works, or says why not and writes nothing."""

from __future__ import annotations

import contextlib
import functools
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest
from bson import Decimal128, Int64, ObjectId
from pymongo.errors import OperationFailure

from model import guarantees
from model.commands import command_line
from model.errors import NotAllowed, NotFound, Refused, Unreachable
from model.localserver.wire import Command
from model.mql.command_error import CommandError
from model.profile import Profile, stated
from model.server import change_stream, guards
from model.server.retry import Server
from model.session import Session
from model.storage import update_operators
from model.userdata.journal import Journal
from model.values import canonical
from model.values.canonical import EMPTY, Value
from tests.guarded_server import GuardedServer
from tests.hosted import said
from tests.hosted.__main__ import rows
from tests.hosted.actions import ACTIONS, Action
from tests.hosted.bench import SHOP, Bench, fill
from tests.hosted.matrix import MODEL, Cell, cells, done
from tests.privileges import Privilege
from tests.servers.hosted_server import PROFILES, HostedServer, Refusal, ServerProfile
from tests.support import ROOT, every

deep = functools.partial(pytest.param, marks=pytest.mark.deep)
NAMED = {action.name: action for action in ACTIONS}
SHORT = ("page versions", "count", "save archive", "undo embedded")


def wrong(actions: list[Action], names: list[str]) -> list[tuple[str, str, Cell]]:
    """The cells of the matrix that are neither works nor a sentence."""
    return [(name, action.name, cell) for action, name, cell in cells(actions, names) if cell.verdict == "wrong"]


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("action", every(2, SHORT, in_slice=True))
def test_what_people_do_every_day_works_on_every_server_or_says_why_not(action: str) -> None:
    assert not wrong([NAMED[action]], list(PROFILES))


@pytest.mark.deep
@pytest.mark.slice
def test_actions_that_are_drawn_work_on_a_server_that_is_drawn_or_say_why_not(seed: int) -> None:
    draw = random.Random(seed)
    name = draw.choice(sorted(PROFILES))
    drawn = draw.sample([action for action in ACTIONS if action.name not in SHORT], 20)
    print(f"{name}, {', '.join(action.name for action in drawn)}")
    assert not wrong(drawn, [name])


@pytest.mark.deep
@pytest.mark.long
@pytest.mark.parametrize("name", PROFILES)
def test_a_tenth_of_all_actions_works_on_every_server_or_says_why_not(name: str, seed: int) -> None:
    drawn = random.Random(seed).sample(ACTIONS, len(ACTIONS) // 10)
    print(", ".join(action.name for action in drawn))
    assert not wrong(drawn, [name])


# --- what a server gives up

SORTED = "Executor error during find command :: caused by :: Sort exceeded memory limit of 104857600 bytes"
GIVE_UP = {
    "memory": (Refusal("option", 292, SORTED, ("find.sort",)), Refusal("stage", 292, SORTED, ("$sort", "$group"))),
    "time": (Refusal("command", 50, "operation exceeded time limit", ("find", "aggregate", "count")),),
}
SAID_OTHERWISE = ("collections", "count", "scan", "repair", "feed")
"""What goes on without the answer and names it as missing, or has written before as it was asked to."""


def unsaid(actions: list[Action], monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, Cell]]:
    """The actions that end in no sentence with what to do where a server gives up their queries."""
    for name, refused in GIVE_UP.items():
        monkeypatch.setitem(PROFILES, name, replace(MODEL, refuses=refused))
    return [
        (name, action.name, cell)
        for action, name, cell in cells(actions, list(GIVE_UP))
        if cell.verdict == "wrong"
        or (cell.verdict == "says" and not ("create the index {" in cell.said or "ask for less" in cell.said))
    ]


@pytest.mark.deep
@pytest.mark.slice
def test_a_query_that_a_server_gives_up_is_told_with_what_helps_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not unsaid([NAMED[name] for name in ("page versions", "save archive", "blame", "migrate")], monkeypatch)


@pytest.mark.deep
def test_a_third_of_all_actions_on_a_server_that_gives_up_ends_in_a_sentence_or_works(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    drawn = random.Random(seed).sample([each for each in ACTIONS if each.name not in SAID_OTHERWISE], len(ACTIONS) // 3)
    print(", ".join(action.name for action in drawn))
    assert not unsaid(drawn, monkeypatch)


def test_a_collection_that_does_not_come_in_time_is_not_called_empty() -> None:
    profile = replace(MODEL, refuses=GIVE_UP["time"])
    with HostedServer(profile) as server:
        server.load("shop.things", [bson.encode({"_id": 1})])
        server.load("shop.nothing", [])
        with Session.open(server.uri) as session:
            told = {info.ns: info.why for info in session.catalogue.collections()}
    assert "arrived in time" in told["shop.things"]


# --- values that a server cannot take


@pytest.mark.parametrize("layout", ["versions", deep("archive"), deep("embedded")])
def test_an_id_of_digits_is_found_without_a_value_that_closes_the_connection(layout: str, tmp_path: Path) -> None:
    with HostedServer(PROFILES["ferretdb-1"]) as server:
        bench = Bench(server.address, tmp_path)
        with Session.open(server.address, bench.profile, home=tmp_path) as session:
            if session.indexes.missing(SHOP[layout]):
                session.indexes.create(SHOP[layout])
            for id in (3, "004", ObjectId()):
                made = session.writing.create(SHOP[layout], canonical.encode({"price": 1}), Value.of(id))
                assert made.kind == "applied", made
            assert session.documents.find_id(SHOP[layout], "3") == Value.of(3)
            assert session.documents.find_current(SHOP[layout], "004")[0] == Value.of("004")
            with pytest.raises(NotFound):
                session.documents.find_id(SHOP[layout], "1.50")
            outcome = session.edit(SHOP[layout], "3", {"price": Decimal128("1.5")})
            assert (outcome.kind, "This server takes no values of the type Decimal128" in outcome.detail) == (
                "refused",
                True,
            )
        bench.shop("history", SHOP[layout], "3")
        assert (bench.status, bench.err) == (0, "")
        assert server.hung_up_at == []


@pytest.mark.deep
def test_a_check_comes_to_its_end_where_a_value_would_close_the_connection(tmp_path: Path) -> None:
    with HostedServer(PROFILES["ferretdb-1"]) as server:
        bench = Bench(server.address, tmp_path)
        rows = [json.loads(line) for line in bench.run("check", "--json").splitlines()]
        assert bench.status == 0, bench.err
        assert [row["check"] for row in rows] == list(guarantees._TITLES)
        assert not [row for row in rows if row["verdict"] == "unknown"]
        assert server.hung_up_at == []


# --- what the matrix convicts


def _lost_history(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(change_stream, "_SWITCHED_OFF", "no such words")


def _set_equal_numbers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(update_operators, "equal_numbers", lambda a, b: False)


def _with_id(patch: pytest.MonkeyPatch) -> None:
    whole = update_operators.Whole
    body = property(
        lambda self: [{"$replaceWith": {"$literal": Value.document(self.raw)}}] if self.pipeline else self.raw
    )
    patch.setattr(whole, "body", body)


@pytest.mark.parametrize(
    ("habit", "action", "name"),
    [
        (_lost_history, "feed", "documentdb-5"),
        (_set_equal_numbers, "change a type", "cosmos-vcore"),
        (_with_id, "set a name with a dollar", "documentdb-postgres"),
    ],
)
@pytest.mark.deep
@pytest.mark.slice
def test_forms_of_the_program_that_were_wrong_are_convicted(
    monkeypatch: pytest.MonkeyPatch, habit: Callable[[pytest.MonkeyPatch], None], action: str, name: str
) -> None:
    assert not wrong([NAMED[action]], [name])
    habit(monkeypatch)
    assert wrong([NAMED[action]], [name])


@pytest.mark.deep
@pytest.mark.slice
def test_a_matrix_that_is_stopped_blames_no_server_and_goes_on_with_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, names, asked = tmp_path / "matrix.jsonl", ["mongodb", "ferretdb-1"], 0
    run = command_line.main

    def stopped_once(words: list[str]) -> int:
        nonlocal asked
        asked += 1
        return 143 if asked == 3 else run(words)  # each server comes after a MongoDB with the same documents

    monkeypatch.setattr(command_line, "main", stopped_once)
    with pytest.raises(KeyboardInterrupt):
        list(rows([NAMED["collections"]], names, kept))
    assert (asked, len(kept.read_text().splitlines())) == (3, 1)
    for _ in range(2):  # the second time nothing is left to be asked
        ((_, row),) = rows([NAMED["collections"]], names, kept)
        assert (asked, [cell.verdict for cell in row]) == (5, ["works", "works"])


# --- what DocumentDB on PostgreSQL does in its own way


@pytest.mark.parametrize("name", [name for name, each in PROFILES.items() if "both_branches" in each.habits])
def test_digits_inside_arrays_are_guarded_where_a_server_works_both_branches_out(name: str) -> None:
    with HostedServer(PROFILES[name]) as server:
        server.load("shop.things", [bson.encode({"_id": 1})])
        with Server.connect(server.uri) as connected:
            assert guards.abilities(connected, "shop.things", Value.of(1)).forms


@pytest.mark.parametrize("action", ["save archive", "delete plain"])
def test_a_write_that_a_deadlock_ends_is_made_once_at_the_next_try(
    action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = PROFILES["documentdb-postgres"]
    _, undisturbed = done(NAMED[action], profile)
    tries: Counter[str] = Counter()
    check = ServerProfile.check

    def ending_each_first_try(self: ServerProfile, command: Command) -> None:
        check(self, command)
        if command.name in ("insert", "update", "delete", "findAndModify"):
            tries[command.name] += 1
            if tries[command.name] % 2:
                raise CommandError(112, "deadlock detected")

    monkeypatch.setattr(ServerProfile, "check", ending_each_first_try)
    _, here = done(NAMED[action], profile)
    assert tries
    assert (here.status, here.documents) == (0, undisturbed.documents), here.sentences


# --- who is not let in

PASSWORD = "s3cret-of-eva"
READS: list[Privilege] = [
    {"resource": {"db": "shop", "collection": ""}, "actions": ["find", "listCollections", "collStats"]}
]
WRONG = "does not accept this user name and password"


@pytest.mark.parametrize("name", ["mongodb", "documentdb-5", "documentdb-postgres", "cosmos-vcore", "atlas-free"])
def test_who_is_not_let_in_is_told_which_of_password_user_and_right_it_is(name: str) -> None:
    with GuardedServer({"eva": PASSWORD}, {"eva": READS}, profile=PROFILES[name]) as server:
        server.store.load("shop.things", [bson.encode({"_id": 1, "n": 1})])

        def address(who: str) -> str:
            options = filter(None, ("directConnection=true", PROFILES[name].options))
            return f"mongodb://{who}{server.host}/shop?{'&'.join(options)}"

        for stranger in ("eva:mistyped@", f"nobody:{PASSWORD}@"):
            with pytest.raises(Unreachable, match=WRONG):
                Session.open(address(stranger))
        with Session.open(address("")) as session, pytest.raises(NotAllowed, match="name a user in the address"):
            session.documents.page("shop.things")
        with Session.open(address(f"eva:{PASSWORD}@"), Profile((stated("shop.things", "plain"),))) as session:
            outcome = session.edit("shop.things", Value.of(1), {"n": 2})
            assert (outcome.kind, "privilege update on shop.things" in outcome.detail) == ("refused", True), outcome
            server.change_password("eva", "another")
            server.hang_up()
            # Which of them depends on whether the driver's monitor has met the closed connection already.
            with pytest.raises(Unreachable, match=rf"connection to \S+ was lost|{WRONG} any more"):
                session.documents.page("shop.things")
            with pytest.raises(Unreachable, match=f"{WRONG} any more; connect again"):
                session.documents.page("shop.things")
            with pytest.raises(Unreachable, match=f"{WRONG} any more; connect again"):
                session.edit("shop.things", Value.of(1), {"n": 2})


# --- the tests themselves on such a server

ANYWHERE = "tests/model/server/test_servers.py::test_every_server_answers_and_speaks_a_protocol_that_the_driver_knows"
NOT_WITHOUT_EXPRESSIONS = (
    "tests/model/server/test_guards.py::test_a_replacement_is_turned_away_where_somebody_added_a_field"
)


@pytest.mark.deep
def test_the_tests_run_on_a_server_that_is_played_and_tell_what_it_lacks() -> None:
    command = [sys.executable, "-m", "tests.hosted.suite", "--server", "ferretdb-1", "-n", "0"]
    done = subprocess.run(
        [*command, ANYWHERE, NOT_WITHOUT_EXPRESSIONS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "This server cannot count fields" in done.stdout
    assert "1 passed, 1 skipped" in done.stdout


def test_a_failure_is_a_skip_only_where_the_lack_was_told() -> None:
    said.told.clear()
    said.skip_if_told(AssertionError("a number is wrong"))
    said.skip_if_told(Refused("K-1 was changed meanwhile; nothing was written."))
    with pytest.raises(pytest.skip.Exception, match="count fields"):
        said.skip_if_told(Refused("This server cannot count fields; nothing was written."))


@pytest.mark.parametrize(("by", "skipped"), [("tests/a.py", True), ("model/a.py", False)])
def test_an_error_of_the_driver_is_a_skip_where_a_test_asked_the_server_and_not_the_product(
    by: str, skipped: bool
) -> None:
    said.told.clear()
    error = OperationFailure("not implemented yet", 238)

    def asks() -> None:
        exec(compile("raise error", str(ROOT / by), "exec"), {"error": error})

    with pytest.raises(OperationFailure):
        exec(compile("asks()", str(ROOT / "model/b.py"), "exec"), {"asks": asks})  # a test that the product calls
    with pytest.raises(pytest.skip.Exception) if skipped else contextlib.nullcontext():
        said.skip_if_told(error)


# --- what cannot be undone

UNABLE = ["documentdb-elastic", "ferretdb-1"]
SERVERS = every(2, [UNABLE[0], UNABLE[1], "mongodb"])  # one that is unable and one that is not, in a quick run too
UNGUARDED = "This server cannot count fields, so no replacement or removal can be guarded"


@contextlib.contextmanager
def bench_of(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A filled server of this profile, with a journal of its own."""
    monkeypatch.setenv("PALIMPSEST_HOME", str(folder / "home"))
    with HostedServer(PROFILES[name]) as server:
        fill(server, PROFILES[name])
        yield Bench(server.address, folder)


def undone(bench: Bench, what: str) -> Counter[str]:
    """The outcomes of undoing a run, those apart that the server cannot guard."""
    rows = bench.call("undo", what, "--source", bench.uri, "--profile", bench.profile, "--json").splitlines()
    return Counter("unguarded" if UNGUARDED in row["detail"] else row["outcome"] for row in map(json.loads, rows))


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("action", every(2, ["import", "repair"], in_slice=True))
def test_a_run_says_how_many_of_its_writes_cannot_be_undone_on_this_server(
    action: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench_of(name, tmp_path, monkeypatch) as bench:
        NAMED[action].work(bench)
        said = bench.out + bench.err
        (run,) = {entry.run for entry in Journal().entries() if entry.run}
        ends = undone(bench, run)
    lacking, way = ends["unguarded"], f"palimpsest undo {run}." in said
    assert bool(lacking) == (name in UNABLE)
    assert (f"{lacking} writes of this cannot be undone on this server. {UNGUARDED}." in said) == bool(lacking), said
    assert (way, "ll of it" in said) == (ends["applied"] > 0, not lacking), said


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.deep
@pytest.mark.slice
def test_a_report_says_what_cannot_be_undone_where_it_was_repaired(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, plan = tmp_path / "report.html", tmp_path / "plan.json"
    with bench_of(name, tmp_path, monkeypatch) as bench:
        bench.run("scan", "insurance_2019", "--plan", plan)
        bench.run("repair", "--plan", plan, "--apply", "--report", page)
    assert (UNGUARDED in page.read_text("utf-8")) == (name in UNABLE)
    assert ("Undo the others:" in page.read_text("utf-8")) == (name in UNABLE)


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("name", ["mongodb", *UNABLE])
@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (("K-9", "--create", "--set", "price=1"), False),
        (("K-2", "--unset", "name"), False),
        (("K-2", "--set", "price=9"), True),
    ],
    ids=["a new document", "a field taken out before others", "a field set"],
)
def test_an_undo_is_offered_only_where_this_server_can_do_it(
    name: str, words: Sequence[str], kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench_of(name, tmp_path, monkeypatch) as bench:
        bench.shop("edit", SHOP["plain"], *words)
        offered = "(palimpsest undo 1)" in bench.out
        assert (bench.status, UNGUARDED in bench.out) == (0, not offered), bench.out
        bench.call("undo", 1, "--source", bench.uri, "--profile", bench.profile)
    assert offered == (bench.status == 0) == (kept or name not in UNABLE)


@pytest.mark.parametrize("name", ["mongodb", *UNABLE])
def test_the_way_back_of_documents_inserted_at_once_is_told_as_far_as_there_is_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench_of(name, tmp_path, monkeypatch) as bench, Session.open(bench.uri, bench.profile) as session:
        for ns, versioned in ((SHOP["plain"], False), (SHOP["embedded"], True)):
            run = session.batches.insert(ns, lambda: [bson.encode({"_id": "K-8", "price": 1})], confirmed=True)
            assert [outcome.kind for outcome in run] == ["applied"]
            can = versioned or name not in UNABLE
            lacking, others = session.way_back.lacking(run.id)
            assert (UNGUARDED in lacking, others) == (not can, can)
            assert [outcome.kind for outcome in session.way_back.undo_run(run.id)] == ["applied" if can else "refused"]


# --- what servers say of themselves


@pytest.mark.parametrize(
    ("profile", "others"),
    [(replace(MODEL, facts=("version",)), True), (PROFILES["ferretdb-1"], False)],
    ids=["one that tells no gitVersion and has symbols", "one that tells it and refuses their number"],
)
def test_which_types_a_filter_may_name_is_asked_and_not_read_off_a_version(
    profile: ServerProfile, others: bool
) -> None:
    symbol = Value(canonical.SYMBOL, Value.of("z").data)
    ids = [*(Value.of(n) for n in range(5)), symbol if others else Value.of("a")]
    with HostedServer(profile) as server:
        rows = [(id, v) for id in ids for v in range(1, 130)]  # so many versions are leapt over
        server.load(
            "shop.things",
            [
                canonical.document([("_id", Value.of(at)), ("docId", id), ("v", Value.of(v))])
                for at, (id, v) in enumerate(rows)
            ],
        )
        with Session.open(server.uri, Profile((stated("shop.things", "versions"),))) as session:
            page = session.documents.page("shop.things")
    assert [row.id for row in page.rows] == ids


@pytest.mark.parametrize("layout", ["plain", "embedded", "nested"])
def test_arrays_of_numbers_are_written_on_a_server_that_has_no_word_for_decimal128(layout: str) -> None:
    with HostedServer(PROFILES["ferretdb-1"]) as server:
        server.load("shop.things", [])
        with Session.open(server.uri, Profile((stated("shop.things", layout, token="_w"),))) as session:
            if session.indexes.missing("shop.things"):
                session.indexes.create("shop.things")
            kinds = [
                session.writing.create("shop.things", canonical.encode({"rates": [1.5, 2.5], "n": 1}), Value.of(1)).kind
            ]
            for change in ({"n": 2}, {"rates": [3.5]}, {"rates": [4]}):
                kinds.append(session.edit("shop.things", Value.of(1), change).kind)
            now = session.history.version("shop.things", Value.of(1)).content
    assert kinds == ["applied"] * 4
    assert now == canonical.encode({"rates": [4], "n": 2})


def test_an_array_of_numbers_that_somebody_changed_is_a_conflict_without_a_word_for_decimal128_too() -> None:
    with HostedServer(PROFILES["ferretdb-1"]) as server:
        server.load("shop.things", [bson.encode({"_id": 1, "rates": [1.0, 2.0], "n": 1})])
        with Session.open(server.uri, Profile((stated("shop.things", "plain"),))) as session:
            base = session.history.last("shop.things", Value.of(1))
            with pymongo.MongoClient(server.uri) as other:
                other["shop"]["things"].update_one({"_id": 1}, {"$set": {"rates": [Int64(1), Int64(2)]}})
            outcome = session.writing.save(
                "shop.things", Value.of(1), base, canonical.encode({"rates": [1.0, 2.0], "n": 2})
            )
    assert outcome.kind == "conflict"


def test_a_number_is_an_id_and_the_next_one_is_found_on_a_server_that_refuses_decimal128() -> None:
    with HostedServer(PROFILES["ferretdb-1"]) as server:
        server.load("shop.things", [bson.encode({"_id": 7, "n": 1})])
        with Session.open(server.uri, Profile((stated("shop.things", "plain"),))) as session:
            assert session.documents.find_id("shop.things", "7") == Value.of(7)
            assert session.once.insert_next("shop.things", {"n": 2}).value == Value.of(8)
            with pytest.raises(NotFound):
                session.documents.find_id("shop.things", "8.5")


def test_documents_of_a_log_are_counted_on_a_server_that_groups_in_no_such_way() -> None:
    entries = [{"_id": at, "docId": id, "n": n} for at, (id, n) in enumerate([("K-1", 2), ("K-2", 1), ("K-1", 1)])]
    with HostedServer(PROFILES["ferretdb-1"]) as server:
        server.load("shop.log", [bson.encode(entry) for entry in [*entries, {"_id": 9}]])
        profile = Profile((stated("shop.log", "log", id="docId", at="n"),))
        with Session.open(server.uri, profile) as session:
            asked = [("", False), ('{"n": 1}', False), ('{"n": 1}', True), ('{"n": 2}', False), ('{"n": 3}', False)]
            assert [session.documents.count("shop.log", *each)[0] for each in asked] == [2, 1, 2, 1, 0]


def test_a_history_that_contradicts_is_seen_on_a_server_whose_groups_only_count() -> None:
    ids = [f"K-{number}" for number in range(10)]
    ids[5] = "short"  # and far from the first rows and the last ones
    rows = [(id, v) for id in ids for v in (range(1, 301) if id != "short" else (4, 4, 4))]
    with HostedServer(PROFILES["ferretdb-1"]) as server:
        server.load(
            "shop.things",
            [bson.encode({"_id": at, "docId": id, "v": v, "n": at}) for at, (id, v) in enumerate(rows)],
        )
        with Session.open(server.uri) as session:
            (info,) = session.catalogue.collections()
    assert info.layout == "plain"
    assert "short has v 4 in all of its 3 rows" in info.why


@pytest.mark.parametrize("wire", [6, 7, 8])
def test_a_server_too_old_for_the_driver_is_told_with_what_helps(wire: int) -> None:
    with HostedServer(replace(MODEL, wire=wire)) as server, pytest.raises(Exception, match="too old") as refusal:
        Session.open(server.uri)
    assert f"speaks version {wire} of the protocol" in str(refusal.value)
    assert "PyMongo 4.11 still speaks to MongoDB 4.0" in str(refusal.value)


@pytest.mark.parametrize("wire", [9, 13, 17, 21, 25])
def test_every_version_of_the_protocol_that_the_driver_speaks_is_enough(wire: int) -> None:
    with HostedServer(replace(MODEL, wire=wire)) as server:
        server.load("shop.things", [])
        with Session.open(server.uri) as session:
            assert session.facts.wire == wire
            assert session.writing.create("shop.things", EMPTY, Value.of(1)).kind == "applied"


def test_a_server_without_retryable_writes_says_which_option_its_address_needs() -> None:
    with HostedServer(PROFILES["documentdb-5"]) as server:
        server.load("shop.things", [])
        with Session.open(server.uri) as session:
            outcome: Any = session.writing.create("shop.things", EMPTY, Value.of(1))
            assert outcome.kind == "refused"
            assert "retryWrites=false" in outcome.detail
        with Session.open(f"{server.uri}&retryWrites=false") as session:
            assert session.writing.create("shop.things", EMPTY, Value.of(1)).kind == "applied"


@pytest.mark.parametrize(
    ("profile", "kind"),
    [(replace(MODEL, facts=("version",)), "applied"), (PROFILES["mongodb-4"], "refused")],
    ids=["one that tells no gitVersion", "one without $getField"],
)
def test_whether_a_name_with_a_dot_is_safe_is_asked_and_not_read_off_a_version(
    profile: ServerProfile, kind: str
) -> None:
    with HostedServer(profile) as server:
        server.load("shop.things", [bson.encode({"_id": 1, "a.b": 1, "n": 1})])
        with Session.open(server.uri) as session:
            outcome = session.edit("shop.things", Value.of(1), {"n": 2})
        assert outcome.kind == kind
        assert ("'a.b'" in outcome.detail) == (kind == "refused")
