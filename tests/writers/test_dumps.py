"""Dumps of programs, with our edits among their saves: each state as it was, no damage invented, damage reported."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import bson
import pytest
from bson import ObjectId

from model.catalogue.recognise import recognise, recognise_one
from model.commands import command_line
from model.localserver import open_dump
from model.server.retry import Server
from model.session import Session
from model.values.canonical import Value
from model.writers.writers import presets
from tests.support import every
from tests.writers.judging import judged
from tests.writers.libraries import HERE, NAMES, VARIANTS, told

SMALLEST = "mongoose-diff-history"
BESIDE = {"mongoid-history", "payload-globals"}
"""A Ruby gem, whose rows are made by hand in tests/model/layouts, and what is in the dump of Payload."""


def test_there_is_a_dump_of_every_known_writer() -> None:
    assert {*NAMES} | BESIDE == {*presets()}


@pytest.mark.parametrize("name", every(len(NAMES), sorted(NAMES, key=SMALLEST.__ne__), in_slice=True))
def test_every_state_is_shown_as_it_was_and_nothing_is_found(name: str) -> None:
    verdict = judged(name, HERE)
    assert not verdict.wrong
    assert verdict.findings == 0
    assert verdict.states == sum(each.kind != "removed" for each in told(name) if each.id not in _purged(name))


@pytest.mark.parametrize("name", every(2, VARIANTS, in_slice=True))
def test_what_a_program_was_told_to_leave_out_or_delete_hides_nothing_else(name: str) -> None:
    verdict = judged(name, HERE)
    assert not verdict.wrong
    assert verdict.findings == 0
    rows, items = (
        bson.decode_all(gzip.decompress((HERE / name / "shop" / f"{collection}.bson.gz").read_bytes()))
        for collection in ("history", "items")
    )
    begun = {row["collectionId"] for row in rows if row["op"] == "create"}
    # The state before the oldest row that is left, or the document alone.
    others = {row["collectionId"] for row in rows} | {item["_id"] for item in items}
    assert verdict.states == sum(row["op"] in ("create", "update") for row in rows) + len(others - begun)


def test_a_list_tells_as_many_versions_as_the_history_where_the_oldest_rows_are_gone() -> None:
    with Session.open(str(HERE / "ts-patch-mongoose" / "expired")) as session:
        ids = list({str(each.id): Value.of(each.id) for each in told("ts-patch-mongoose/expired")}.values())
        layout = session.catalogue.layout("shop.items")
        there = [id for id in ids if layout.reader.exists(id)]
        told_in_list = [len(each.marks) for each in layout.outline(there)]
        assert told_in_list == [len(list(layout.history(id))) for id in there]
        assert max(told_in_list) > 3


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("name", every(3, NAMES))
def test_each_collection_of_a_dump_is_told_alone_as_it_is_among_all_others(name: str) -> None:
    with open_dump(HERE / name) as local, Server.connect(local.uri) as server:
        for info, profile in recognise(server, "shop"):
            alone = recognise_one(server, info.ns)
            if alone is None:  # rows whose documents may be anywhere, so that all are looked at
                assert info.belongs_to
            else:
                assert alone[1] == profile
                assert (alone[0].writer, alone[0].belongs_to) == (info.writer, info.belongs_to)


def _purged(name: str) -> list[Any]:
    return [each.id for each in told(name) if each.kind == "purged"]


@pytest.fixture
def dump(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A dump of one program to write in."""
    shutil.copytree(HERE / request.param / "shop", tmp_path / "shop")
    return tmp_path


def changed(path: Path, change: Any) -> None:
    """Write a collection of a dump anew, its documents changed."""
    rows = bson.decode_all(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(b"".join(map(bson.encode, change(rows)))))


def found(dump: Path, ns: str, id: Any) -> list[str]:
    with Session.open(str(dump)) as session:
        assert {info.ns: info.layout for info in session.catalogue.collections()}[ns] in ("shadow", "patches")
        return [each.code for each in session.scans.scan([ns], [Value.of(id)]) if hasattr(each, "code")]


def longest(name: str) -> tuple[str, Any]:
    """The document with the most saves among those that are still there."""
    lives: dict[tuple[str, str], list[Any]] = {}
    for each in told(name):
        lives.setdefault((each.ns, str(each.id)), []).append(each)
    still = [life for life in lives.values() if life[-1].kind not in ("removed", "purged")]
    life = max(still, key=len)
    return life[0].ns, life[0].id


HOLD_CURRENT = sorted(n for n, each in presets().items() if n in NAMES and each.keys.get("kept", "all") == "all")


@pytest.mark.parametrize(
    ("dump", "name"), every(4, [pytest.param(n, n) for n in HOLD_CURRENT], in_slice=True), indirect=["dump"]
)
def test_a_document_that_somebody_changed_beside_its_history_is_told(dump: Path, name: str) -> None:
    ns, id = longest(name)

    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        key = presets()[name].keys.get("id", "_id")
        return [{**row, "title": "changed in a shell"} if row[key] == id else row for row in rows]

    changed(dump / "shop" / f"{ns.partition('.')[2]}.bson.gz", change)
    assert found(dump, ns, id) in (["A2"], ["D1"])


SILENT = {"mongoose-patch-history"}  # its patches say nothing of what they replace, so one less may fit as well
NOTICED = [
    name
    for name in NAMES
    if name not in SILENT and (presets()[name].keys.get("version") or presets()[name].keys["layout"] == "patches")
]


@pytest.mark.parametrize(
    ("dump", "name"), every(4, [pytest.param(n, n) for n in NOTICED], in_slice=True), indirect=["dump"]
)
def test_a_row_that_somebody_took_out_of_a_history_is_told(dump: Path, name: str) -> None:
    ns, id = longest(name)
    known = presets()[name]
    path = known.keys["archive_id"].split(".")

    def names(row: Any) -> Any:
        for step in path:
            row = row.get(step) if isinstance(row, dict) else row[int(step)]
        return row

    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        mine = [at for at, row in enumerate(rows) if names(row) == id]
        rows.pop(mine[len(mine) // 2])
        return rows

    with Session.open(str(dump)) as session:
        archive = next(info.fields["archive"] for info in session.catalogue.collections() if info.ns == ns)
    changed(dump / "shop" / f"{archive.partition('.')[2]}.bson.gz", change)
    assert set(found(dump, ns, id)) & {"V2", "D1", "A2"}


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("name", every(6, NAMES, in_slice=True))
def test_every_version_moves_into_an_archive_of_ours(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    ns, _ = longest(name)
    words = ["migrate", str(HERE / name), ns, "--to", "archive", "--into-memory", "--apply", "--json"]
    assert command_line.main(words) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["outcome"] for row in rows if "outcome" in row} == {"applied"}


def test_the_globals_of_payload_have_their_histories_and_drafts() -> None:
    with Session.open(str(HERE / "payload")) as session:
        known = {info.ns: info for info in session.catalogue.collections()}
        assert (known["shop.globals"].layout, known["shop.globals"].writer) == ("shadow", "Payload")
        assert {ns for ns, info in known.items() if info.belongs_to == "shop.globals"} == {
            "shop._header_versions", "shop._footer_versions",
        }  # fmt: skip
        footer = next(each.id for each in told("payload") if each.ns == "shop.globals" and each.kind == "draft")
        history = list(session.history.versions("shop.globals", Value.of(footer)))
        assert [each.detail for each in history] == ["draft", "", "", "draft", "", "", ""]
        assert [each.current for each in history].index(True) == 1


@pytest.mark.parametrize(("dump", "name"), [("payload", "payload")], indirect=["dump"])
def test_globals_that_are_no_payload_are_not_taken_for_such(dump: Path, name: str) -> None:
    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, "stock": 99} for row in rows]

    changed(dump / "shop" / "globals.bson.gz", change)
    with Session.open(str(dump)) as session:
        assert {info.ns: info.layout for info in session.catalogue.collections()}["shop.globals"] == "plain"


@pytest.mark.parametrize(
    ("dump", "name"), [("mongoose-history-plugin",) * 2, ("ts-patch-mongoose",) * 2], indirect=["dump"]
)
def test_models_that_share_a_collection_of_rows_have_each_their_own_histories(dump: Path, name: str) -> None:
    archive = {"mongoose-history-plugin": "__histories", "ts-patch-mongoose": "history"}[name]
    items = dump / "shop" / "items.bson.gz"
    shutil.copy(items, dump / "shop" / "things.bson.gz")
    changed(
        dump / "shop" / f"{archive}.bson.gz",
        lambda rows: [*rows, *({**row, "_id": ObjectId(), "collectionName": "things"} for row in rows)],
    )
    with Session.open(str(dump)) as session:
        known = {info.ns: info for info in session.catalogue.collections()}
        assert {known[ns].writer for ns in ("shop.items", "shop.things")} == {name}
        ns, id = longest(name)
        here = [(each.v, each.hash) for each in session.history.versions(ns, Value.of(id))]
        assert here == [(each.v, each.hash) for each in session.history.versions("shop.things", Value.of(id))]
        assert len(here) > 3


def test_an_object_inside_of_an_item_of_javers_is_shown_as_it_was_at_each_commit() -> None:
    with Session.open(str(HERE / "javers")) as session:
        ns, id = longest("javers")
        saves = [each.state for each in told("javers") if each.id == id and each.state is not None]
        versions = [
            session.history.version(ns, Value.of(id), each.v) for each in session.history.versions(ns, Value.of(id))
        ][::-1]
        parts = [bson.decode(each.content or b"")["lines"] for each in versions]
        assert parts == [save["lines"] for save in saves]
        assert len({json.dumps(each) for each in parts}) > 2


COLUMNS = {
    "django-simple-history": {"at", "reason", "operation"},
    "eve": {"at"},
    "javers": {"at", "author", "reason", "operation"},
    "mongoose-diff-history": {"at", "author", "reason"},
    "mongoose-history": {"at", "operation"},
    "mongoose-history-plugin": {"at", "reason", "operation"},
    "mongoose-patch-history": {"at"},
    "mongoose-version-array": {"at"},
    "mongoose-version-collection": {"at"},
    "mongoose-versioned": {"at", "author"},
    "payload": {"at"},
    "sharedb": {"at", "author"},
    "ts-patch-mongoose": {"at", "author", "reason", "operation"},
    "vermongo": set(),
}
"""What each program tells of a version beside its state."""


@pytest.mark.parametrize("name", every(2, NAMES))
def test_what_a_program_tells_beside_a_state_is_a_column_and_no_difference(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ns, id = longest(name)
    assert command_line.main(["history", str(HERE / name), ns, str(id), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = {column for column in ("at", "author", "reason", "operation") if any(row[column] for row in rows)}
    assert told == COLUMNS[name]
    ignored = {each for each in presets()[name].keys["ignored"] if not each.startswith("**")}
    assert command_line.main(["blame", str(HERE / name), ns, str(id), "--json"]) == 0
    tops = {json.loads(line)["path"][0] for line in capsys.readouterr().out.splitlines()}
    assert tops
    assert not tops & ignored
