"""The findings of a check: sound servers pass, each broken promise is told apart, and nothing stays behind."""

from __future__ import annotations

import datetime as dt
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import ANY

import pymongo
import pytest
from bson import Int64
from msgspec.structs import replace

from model import guarantees, text
from model.commands import command_line
from model.errors import Cancelled, NotAllowed, Refused
from model.foundation import kept_files
from model.foundation.guarantee import NEEDS, Guarantee, Verdict
from model.guarantees import check, races, replies, server_verdicts
from model.guarantees.scratch import Scratch
from model.guarantees.server_verdicts import ServerVerdicts
from model.layouts import registry
from model.layouts.registry import WRITABLE
from model.localserver import LocalServer
from model.profile import Profile
from model.server.retry import Write
from model.server.server import SCRATCH, Server
from model.session import Session
from model.userdata import folders as homes
from model.values import canonical as c
from tests import support
from tests.servers import odd
from tests.servers.hosted_server import PROFILES, HostedServer
from tests.servers.torn import torn_server


def verdicts(found: list[Guarantee]) -> dict[str, str]:
    return {each.check: each.verdict for each in found}


def test_a_sound_server_has_nothing_unsafe_and_keeps_nothing(
    server_uri: str, server_name: str, client: pymongo.MongoClient
) -> None:
    with Server.connect(server_uri) as server:
        found = verdicts(list(check(server)))
    assert found.keys() == {"swaps", "unique", "types", "order", "exact", "names", "retries", "streams", "clock"}
    assert {found["swaps"], found["unique"], found["clock"]} == {"safe"}
    assert "unknown" not in found.values()
    assert "unsafe" not in found.values() or server_name == "given"  # which may be an unsound one
    assert not [name for name in client.list_database_names() if name.startswith(SCRATCH)]


@pytest.fixture(autouse=True)
def _few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole check races as often as a quick one, unless all is run."""
    monkeypatch.setattr(guarantees, "ROUNDS", support.by_depth(guarantees.QUICK_ROUNDS, guarantees.ROUNDS))


@pytest.mark.deep
def test_the_in_process_server_keeps_every_promise_but_those_of_a_set(local_uri: str) -> None:
    with Server.connect(local_uri) as server:
        found = verdicts(list(check(server)))
    assert {name for name, verdict in found.items() if verdict != "safe"} == {"retries", "streams"}


@pytest.mark.deep
def test_a_replica_set_keeps_every_promise() -> None:
    with LocalServer(replica_set="rs0") as local, Server.connect(local.uri) as server:
        assert set(verdicts(list(check(server))).values()) == {"safe"}


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.deep)], ids=["quick", "whole"])
def test_a_server_on_which_two_writers_win_is_convicted_though_its_indexes_hold(
    monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    with torn_server(monkeypatch) as torn, Server.connect(torn.uri) as server:
        found = {each.check: each for each in check(server, quick)}
    assert found["swaps"].verdict == "unsafe"
    assert "more than one was told that it won" in found["swaps"].detail
    assert found["unique"].verdict == "safe"


def test_a_server_whose_unique_indexes_do_not_hold_is_convicted_though_its_swaps_are_sound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with torn_server(monkeypatch, swaps=True, unique=False) as torn, Server.connect(torn.uri) as server:
        found = verdicts(list(check(server, quick=True)))
    assert found == {"swaps": "safe", "unique": "unsafe"}


def test_a_check_that_is_cancelled_drops_its_database(local_uri: str) -> None:
    def stop(done: int, total: int | None) -> None:
        if done > 3:
            raise Cancelled

    with Server.connect(local_uri) as server:
        with pytest.raises(Cancelled):
            list(check(server, checkpoint=stop))
        assert not [name for name in server.databases() if name.startswith(SCRATCH)]


def test_a_scratch_command_goes_to_no_other_database(local_uri: str) -> None:
    with Server.connect(local_uri) as server, pytest.raises(NotAllowed):
        server.in_scratch("shop", {"dropDatabase": 1})


def test_a_read_only_session_is_not_measured(local_uri: str) -> None:
    with Session.open(local_uri, read_only=True) as session, pytest.raises(NotAllowed, match="scratch database"):
        list(session.trust.check())


def test_editing_on_an_unsafe_server_is_refused_until_somebody_allows_it(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    with torn_server(monkeypatch) as torn:
        with pymongo.MongoClient(torn.uri) as client:
            client.shop.things.insert_one({"_id": "a", "v": 1, "n": 1})
        with Session.open(torn.uri) as session:
            session.catalogue.set_layout("shop.things", "plain")
            assert session.trust.measured is None
            assert session.edit("shop.things", "a", {"n": 2}).kind == "applied"  # nobody knows yet
            list(session.trust.check(quick=True))
            assert session.trust.measured is not None
            with pytest.raises(NotAllowed, match="unsafe"):
                session.edit("shop.things", "a", {"n": 3})
        with Session.open(torn.uri) as session:  # and it is remembered
            session.catalogue.set_layout("shop.things", "plain")
            opened = session.writing.open("shop.things", session.documents.find_id("shop.things", "a"))
            assert not opened.writable
            assert "more than one was told that it won" in opened.reason
            session.trust.allow_unsafe(True)
            assert session.edit("shop.things", "a", {"n": 3}).kind == "applied"
            session.trust.allow_unsafe(False)
            with pytest.raises(NotAllowed):
                session.edit("shop.things", "a", {"n": 4})


def test_what_a_check_found_unsafe_is_kept_though_it_is_stopped(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    with torn_server(monkeypatch) as torn, Session.open(torn.uri) as session:
        checking = session.trust.check(quick=True)
        assert next(checking).verdict == "unsafe"
        checking.close()  # type: ignore[attr-defined]
        assert session.trust.measured is not None
        assert session.trust.measured.unsafe


def test_a_quick_check_leaves_what_it_does_not_measure_as_it_was_found(home: Path) -> None:
    def found(check: str, verdict: Verdict) -> Guarantee:
        return Guarantee(check, check, verdict, f"{check} is {verdict}.")

    trust = ServerVerdicts(home)
    trust.keep("here", "8.0", [found("swaps", "unsafe"), found("unique", "safe"), found("types", "unsafe")])
    trust.keep("here", "8.0", [found("swaps", "safe"), found("unique", "unknown")])
    kept = trust.measured("here", "8.0")
    assert kept is not None
    assert kept.unsafe == ("types is unsafe.",)
    trust.keep("here", "8.0", [found("types", "safe")])
    assert ServerVerdicts(home).measured("here", "8.0") == replace(kept, unsafe=(), checks=(), at=ANY)


def test_a_write_that_the_server_refuses_ends_a_measurement_and_not_the_program(local_uri: str) -> None:
    with Server.connect(local_uri) as server, Scratch(server) as scratch, pytest.raises(Refused, match="dup"):
        scratch.command({"insert": "twice", "documents": [{"_id": 1}, {"_id": 1}]})


def test_what_is_found_on_two_servers_at_once_is_kept_for_both(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both, write = threading.Barrier(2), homes.write

    def write_when_both_have_read(path: Path, data: str) -> None:
        both.wait(60)
        write(path, data)

    monkeypatch.setattr(homes, "write", write_when_both_have_read)
    unsafe = [Guarantee("swaps", "swaps", "unsafe", "Two writers win one swap.")]
    with ThreadPoolExecutor(2) as two:
        list(two.map(lambda source: ServerVerdicts(home).keep(source, "8.0", unsafe), ["here", "there"]))
    for source in ("here", "there"):
        kept = ServerVerdicts(home).measured(source, "8.0")
        assert kept is not None
        assert kept.unsafe == ("Two writers win one swap.",)


def test_a_damaged_file_of_a_server_counts_as_none(local_uri: str, home: Path) -> None:
    with Session.open(local_uri) as session:
        list(session.trust.check(quick=True))
        (file,) = (home / "servers").iterdir()
        file.write_text("[1, 2", encoding="utf-8")
        assert session.trust.measured is None
        list(session.trust.check(quick=True))
        assert session.trust.measured is not None
        assert session.trust.measured.unsafe == ()


def test_verdicts_are_read_again_only_once_their_file_has_changed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    reading = kept_files.whole_text
    monkeypatch.setattr(kept_files, "whole_text", lambda file, most: (read.append(file), reading(file, most))[1])
    trust = ServerVerdicts(home)
    assert trust.measured("here", "8.0") is None
    assert not read
    for allowed in (True, False):
        ServerVerdicts(home).allow("here", "8.0", allowed)
        read.clear()
        found = [trust.measured("here", "8.0") for _ in range(3)]
        assert [each.allowed for each in found if each is not None] == [allowed] * 3
        assert len(read) == 1


def test_a_write_takes_what_was_found_a_moment_ago_unless_this_program_found_otherwise(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torn = [Guarantee("swaps", "swaps", "unsafe", "Two writers win one swap.")]
    trust, now = ServerVerdicts(home), 100.0
    monkeypatch.setattr(server_verdicts.time, "monotonic", lambda: now)
    assert trust.lately("here", "8.0") is None
    kept = ServerVerdicts(home).keep("here", "8.0", torn)
    assert trust.lately("here", "8.0") == trust.measured("here", "8.0") == replace(kept, at=ANY)
    assert trust.lately("there", "8.0") is trust.lately("here", "9.0") is None
    (file,) = (home / "servers").iterdir()
    file.unlink()  # by another program
    now += server_verdicts.LATELY / 2
    assert trust.lately("here", "8.0") is not None
    now += server_verdicts.LATELY
    assert trust.lately("here", "8.0") is None


@pytest.mark.deep
def test_the_command_prints_a_row_for_each_promise(local_uri: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["check", local_uri, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["check"] for row in rows[:2]] == ["swaps", "unique"]
    assert all(row["verdict"] in ("safe", "limited") for row in rows)


def test_the_command_ends_with_1_where_something_is_unsafe_and_edits_are_refused_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with torn_server(monkeypatch) as torn:
        with pymongo.MongoClient(torn.uri) as client:
            client.shop.things.insert_one({"_id": "a", "n": 1})
        assert command_line.main(["check", torn.uri, "--quick"]) == 1
        assert "UNSAFE" in capsys.readouterr().out
        edit = ["edit", torn.uri, "shop.things", "a", "--set", "n=2"]
        assert command_line.main(edit) == 2
        assert "--allow-edits" in capsys.readouterr().err
        assert command_line.main(["check", torn.uri, "--allow-edits"]) == 0
        assert command_line.main(edit) == 0


# --- servers with ways of their own


def test_a_pipeline_that_stores_a_second_id_is_told_and_no_edit_from_here_sends_one(
    monkeypatch: pytest.MonkeyPatch, local_uri: str, database_name: str
) -> None:
    odd.two_ids(monkeypatch)
    ns = f"{database_name}.things"
    with Session.open(local_uri) as session:
        found = {each.check: each for each in session.trust.check()}
        assert found["names"].verdict == "limited"
        assert "two fields _id" in found["names"].detail
        session._connection.opened.server.send(Write(ns, "insert", {}, text.from_text('{"_id": 1, "$price": 1}')))
        session.catalogue.set_layout(ns, "plain")
        id = session.documents.find_id(ns, "1")
        base = session.writing.open(ns, id).base
        assert session.writing.save(ns, id, base, text.from_text('{"$price": 2}')).kind == "applied"
        (raw,) = session._connection.opened.server.find(ns)
        assert [name for name, _ in c.fields(raw)] == ["_id", "$price"]
        assert c.get(raw, ("$price",)) == c.Value.of(2)


def test_a_server_that_loses_names_with_dots_in_an_update_is_told(
    monkeypatch: pytest.MonkeyPatch, local_uri: str
) -> None:
    with Server.connect(local_uri) as server, Scratch(server) as scratch:
        assert guarantees._names(scratch).verdict == "safe"
        odd.dots_are_lost(monkeypatch)
        found = guarantees._names(scratch)
    assert found.verdict == "limited"
    assert "harms a document in which a field's name has a dot" in found.detail


def test_resent_writes_are_told_as_others_may_lose_by_them_and_no_write_from_here_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd.forgetful(monkeypatch)
    with LocalServer(replica_set="rs0") as local:
        for option, said in (("true", "drivers resend on this server"), ("false", "this connection does not resend")):
            join = "&" if "?" in local.uri else "?"
            with Server.connect(f"{local.uri}{join}retryWrites={option}") as server, Scratch(server) as scratch:
                found = guarantees._retries(scratch)
                assert (found.verdict, said in found.detail) == ("limited", True)


def test_every_promise_that_may_be_unsafe_is_one_that_writes_need() -> None:
    source = Path(guarantees.__file__).read_text("utf-8")
    unsafe = [*re.findall(r'_made\(\s*"(\w+)",\s*"unsafe"', source), "clock"]
    assert {*unsafe} == {*NEEDS}


@pytest.mark.parametrize(
    ("unsafe", "refused"),
    [
        ("unique", {"versions", "flagged", "deltas", "archive"}),
        ("swaps", {"flagged", "archive", "embedded", "nested", "stream", "hashed", "plain"}),
        ("order", {"hashed"}),
        ("clock", set()),
        ("retries", set()),
        ("types", set(WRITABLE)),
    ],
)
def test_what_is_unsafe_is_refused_and_only_that(local_uri: str, home: Path, unsafe: str, refused: set[str]) -> None:
    profile = Profile(tuple(registry.stated(f"shop.{name}", name, token="_w", hash="") for name in WRITABLE))
    hashed = replace(profile.collections[list(WRITABLE).index("hashed")], hash="_versioned_id")
    profile = Profile(tuple(hashed if each.layout == "hashed" else each for each in profile.collections))
    with LocalServer() as server, Session.open(server.uri, profile, home=home) as session:
        found = Guarantee(unsafe, unsafe, "unsafe", f"{unsafe} is unsafe.")
        session.trust._verdicts.keep(session.source, session.facts.version, [found])
        met = {name for name in WRITABLE if session.trust.why_read_only(f"shop.{name}")}
        assert met == refused
        counting = session.trust.why_read_only(writes={"change"})
        assert bool(counting) == (unsafe in ("swaps", "types"))
        session.trust.allow_unsafe(True)
        assert not any(session.trust.why_read_only(f"shop.{name}") for name in WRITABLE)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["documentdb-postgres", "ferretdb-2"])
def test_a_whole_check_of_a_server_that_repeats_writes_refuses_no_edit(
    name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with HostedServer(PROFILES[name]) as server:
        server.load("shop.things", [c.encode({"_id": "a", "n": 1})])
        for depth in (["--quick"], []):
            assert command_line.main(["check", server.address, *depth]) == 0
            assert "Nothing unsafe was found" in capsys.readouterr().out
            edit = ["edit", server.address, "shop.things", "a", "--set", f"n={2 + len(depth)}", "--layout", "plain"]
            assert command_line.main(edit) == 0


def test_a_race_on_a_slow_server_ends_with_the_rounds_that_it_has(
    monkeypatch: pytest.MonkeyPatch, local_uri: str
) -> None:
    monkeypatch.setattr(races, "LIMIT", 0.0)
    with Server.connect(local_uri) as server:
        found = {each.check: each for each in check(server, quick=True)}
    assert found["swaps"].verdict == "safe"
    assert "swapped the same version 1 times" in found["swaps"].detail


@pytest.mark.parametrize("said", [1_700_000_000_000, Int64(1_700_000_000_000)])
def test_a_clock_may_be_told_in_milliseconds(monkeypatch: pytest.MonkeyPatch, local_uri: str, said: int) -> None:
    with Server.connect(local_uri) as server, Scratch(server) as scratch:
        monkeypatch.setattr(scratch, "command", lambda command: {"localTime": said})
        off = replies.clock(scratch)
        monkeypatch.undo()
    assert off is not None
    its_time, told = dt.datetime.now(dt.UTC) + off, dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)
    assert its_time - told < dt.timedelta(minutes=1)


def test_a_quick_check_does_not_hide_what_a_whole_one_found(
    local_uri: str, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    with Session.open(local_uri) as session:
        types = Guarantee("types", "Types", "unsafe", "Changed silently: date.")
        session.trust._verdicts.keep(session.source, session.facts.version, [types])
    assert command_line.main(["check", local_uri, "--quick"]) == 1
    out = capsys.readouterr().out
    assert "did not look at it again" in out
    assert "Changed silently: date." in out


def test_a_unique_index_over_duplicates_is_refused_whatever_its_code(
    monkeypatch: pytest.MonkeyPatch, local_uri: str, client: pymongo.MongoClient, database_name: str
) -> None:
    odd.duplicates_are_any_error(monkeypatch)
    with Server.connect(local_uri) as server:
        for id in (1, 2):
            server.send(Write(f"{database_name}.twice", "insert", {}, c.encode({"_id": id, "n": 1})))
        with pytest.raises(Refused, match="holds duplicates"):
            server.create_index(f"{database_name}.twice", {"n": 1}, unique=True)


def test_the_command_on_a_dump_says_why_there_is_nothing_to_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text('{"_id": 1}\n', encoding="utf-8")
    assert command_line.main(["check", str(tmp_path / "a.json")]) == 2
    assert "scratch database" in capsys.readouterr().err
