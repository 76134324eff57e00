"""If much of a collection has one kind of damage, its layout is in doubt, and no repair runs until it is stated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymongo
import pymongo.database
import pytest
from bson import ObjectId

from model.checks.damage_tally import FEWEST, DamageTally
from model.errors import Cancelled
from model.foundation.findings import Finding
from model.repair.damage_classes import class_of
from model.repair.plan import Plan
from model.scan import Mark, Scan
from model.session import Session
from model.values.canonical import Value
from tests import support
from tests.journeys.command_support import rows_of
from tests.servers.hosted_server import PROFILES, HostedServer

Db = pymongo.database.Database
PROFILE = (
    '[[collection]]\nns = "{0}.things"\nlayout = "archive"\narchive = "{0}.things_history"\narchive_id = "docId"\n'
)


def planted(database: Db, phantoms: int, documents: int) -> None:
    """Documents with an archive; the first so many have a version above the current one in it, long ago."""
    old = [ObjectId(f"65{number:06x}" + "0" * 16) for number in range(documents * 3)]
    for number in range(documents):
        current = {"_id": f"K-{number:03d}", "v": 3, "net": number * 3, "_w": old[3 * number]}
        rows = [1, 2, 4] if number < phantoms else [1, 2]
        database["things"].insert_one(current)
        for v in rows:
            made = {"docId": current["_id"], "v": v, "net": number * v, "_w": ObjectId()}
            database["things_history"].insert_one({"_id": ObjectId(f"65{number:06x}{v:016x}"), **made})
    database["things_history"].create_index([("docId", 1), ("v", 1)], unique=True)


@pytest.fixture
def profile(database: Db, tmp_path: Path) -> Path:
    path = tmp_path / "layouts.toml"
    path.write_text(PROFILE.format(database.name))
    return path


def found(uri: str, database: Db, profile: Path | None = None, ids: Sequence[str] = ()) -> list[Finding]:
    with Session.open(uri, profile=profile) as session:
        assert session.catalogue.info(f"{database.name}.things").layout == "archive"
        wanted = [Value.of(id) for id in ids] or None
        return [each for each in session.scans.scan([f"{database.name}.things"], wanted) if isinstance(each, Finding)]


def test_damage_in_more_than_a_fifth_of_the_documents_speaks_against_the_layout(server_uri: str, database: Db) -> None:
    planted(database, 7, 30)
    rows = found(server_uri, database)
    assert len(rows) == 7
    assert {each.repair for each in rows} == {None}
    (why,) = {each.doubt for each in rows}
    assert why.startswith(f"{database.name}.things is taken for archive, which is in doubt: 7 of its 30 documents ")
    assert "A3 (as K-000: v4 above current v3)" in why


@pytest.mark.parametrize(("phantoms", "documents"), [(6, 30), (4, 9)])
def test_a_fifth_of_the_documents_or_fewer_than_five_are_damage(
    server_uri: str, database: Db, phantoms: int, documents: int
) -> None:
    planted(database, phantoms, documents)
    rows = found(server_uri, database)
    assert [(each.repair, each.doubt) for each in rows] == [("remove-phantom", "")] * phantoms


@pytest.mark.parametrize(("code", "doubted"), [("A3", True), ("E2", False)])
def test_no_class_of_damage_is_looked_up_for_few_documents(code: str, doubted: bool) -> None:
    asked: list[str] = []
    tally = DamageTally("db.things", lambda of: asked.append(of) or class_of(of))  # type: ignore[func-returns-value]
    for number in range(1, 2 * FEWEST):
        tally.note(Finding(code, "db.things", Value.of(number), (), "something"))
        told = tally.speaks_against("archive", 2 * FEWEST)
        assert (bool(told), bool(asked)) == (doubted and number >= FEWEST, number >= FEWEST)
    assert bool(tally) == doubted, "damage in any layout says nothing about one"
    assert not DamageTally("db.things", class_of)


def test_a_layout_that_a_person_states_is_in_no_doubt(server_uri: str, database: Db, profile: Path) -> None:
    planted(database, 7, 30)
    assert {(each.repair, each.doubt) for each in found(server_uri, database, profile)} == {("remove-phantom", "")}


def test_one_document_is_not_repaired_in_a_collection_that_is_in_doubt(server_uri: str, database: Db) -> None:
    planted(database, 28, 30)
    (row,) = found(server_uri, database, ids=["K-003"])
    assert row.repair is None
    assert "in doubt" in row.doubt


def test_the_doubt_is_seen_as_well_where_a_server_draws_no_documents() -> None:
    with HostedServer(PROFILES["ferretdb-1"]) as server, pymongo.MongoClient[Any](server.uri) as client:
        planted(client["shop"], 28, 30)
        (row,) = found(server.uri, client["shop"], ids=["K-003"])
    assert row.repair is None
    assert "in doubt" in row.doubt


def test_one_damaged_document_among_sound_ones_is_repaired(server_uri: str, database: Db) -> None:
    planted(database, 2, 30)
    (row,) = found(server_uri, database, ids=["K-001"])
    assert (row.repair, row.doubt) == ("remove-phantom", "")


@pytest.mark.parametrize("stop", support.every(2, [Cancelled, KeyboardInterrupt]))
def test_a_scan_that_is_stopped_tells_what_it_has_found_and_goes_on_behind_it(
    server_uri: str, database: Db, stop: type[BaseException]
) -> None:
    planted(database, 70, 500)

    def stopping(done: int, _: int | None) -> None:
        if done >= 700:
            raise stop

    told: list[Finding] = []

    def listen(scan: Scan) -> None:
        for each in scan:
            assert isinstance(each, Finding)
            told.append(each)

    with Session.open(server_uri) as session:
        scan = session.scans.scan([database.name], checkpoint=stopping)
        with pytest.raises(stop):
            listen(scan)
        first = len(told)
        listen(session.scans.scan([database.name], mark=Mark.from_text(scan.mark.to_text())))
    assert 0 < first < len(told)
    assert sorted(str(each.id and each.id.python()) for each in told) == [f"K-{n:03d}" for n in range(70)]


# --- plans


def written(uri: str, database: Db, path: Path, profile: Path | None = None) -> Plan:
    with Session.open(uri, profile=profile) as session:
        findings = [each for each in session.scans.scan([database.name]) if isinstance(each, Finding)]
        session.repairs.plan(findings).save(path)
        return session.repairs.load(path)


def test_a_plan_leaves_out_what_is_in_doubt_and_says_why(server_uri: str, database: Db, tmp_path: Path) -> None:
    planted(database, 7, 30)
    plan = written(server_uri, database, tmp_path / "plan.json")
    assert [item.repair for item in plan.items] == [None] * 7
    (why,) = plan.doubts.values()
    assert {item.advice for item in plan.items} == {why}
    assert list(plan.doubts) == [f"{database.name}.things"]


def test_what_was_planned_before_the_doubt_is_refused_until_the_layout_is_stated(
    server_uri: str, database: Db, tmp_path: Path, profile: Path
) -> None:
    planted(database, 7, 30)
    path = tmp_path / "plan.json"
    assert len(written(server_uri, database, path, profile).items) == 7
    data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    assert data.pop("stated") == [f"{database.name}.things"]
    data.pop("in doubt")
    path.write_text(json.dumps(data), encoding="utf-8")
    with Session.open(server_uri) as session:
        plan = session.repairs.load(path)
        assert {each.verdict for each in session.repairs.dry_run(plan)} == {"refused"}
        ends = [outcome for _, outcome in session.repairs.apply(plan)]
    assert {each.kind for each in ends} == {"refused"}
    assert all("in doubt" in each.detail for each in ends)
    assert database["things_history"].count_documents({"v": 4}) == 7
    with Session.open(server_uri, profile=profile) as session:
        assert {outcome.kind for _, outcome in session.repairs.apply(session.repairs.load(path))} == {"applied"}


# --- as it is called


def test_the_commands_say_it_first_and_repair_nothing(
    server_uri: str, database: Db, tmp_path: Path, profile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from model.commands import command_line

    def run(*argv: str) -> tuple[int, str]:
        capsys.readouterr()
        return command_line.main(list(argv)), capsys.readouterr().out

    planted(database, 7, 30)
    plan = str(tmp_path / "plan.json")
    status, out = run("scan", server_uri, database.name, "--plan", plan)
    assert status == 1
    assert out.startswith(f"{database.name}.things is taken for archive, which is in doubt")
    assert "none: layout in doubt" in out
    assert run("repair", server_uri, "--plan", plan, "--apply")[1].startswith("The plan has nothing to repair. 7 have")
    _, out = run("scan", server_uri, database.name, "--json")
    assert {(row["repair"], "in doubt" in row["doubt"]) for row in rows_of(out)} == {(None, True)}
    assert run("scan", server_uri, database.name, "--plan", plan, "--profile", str(profile))[0] == 1
    status, out = run("repair", server_uri, "--plan", plan, "--apply", "--json")
    assert (status, {row["outcome"] for row in rows_of(out)}) == (1, {"refused"}), "a plan is nobody's word"
    status, out = run("repair", server_uri, "--plan", plan, "--profile", str(profile), "--apply", "--json")
    assert (status, {row["outcome"] for row in rows_of(out)}) == (0, {"applied"})
