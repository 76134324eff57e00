"""Documents deleted and inserted in batches: previewed, guarded one by one, journalled, and undone as a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest
from bson import Decimal128, Int64, ObjectId

from model.commands import command_line
from model.errors import Cancelled, NotAllowed, NotFound, Refused
from model.session import Session
from model.text.file_documents import documents_of
from model.values import canonical
from model.values.canonical import Value
from tests.model import session_scenes as scenes


@pytest.fixture
def session(server_uri: str, database: pymongo.database.Database) -> Iterator[Session]:
    scenes.plain(database)
    scenes.archive(database)
    scenes.versions(database)
    with Session.open(server_uri) as made:
        yield made


def ids(*plain: Any) -> list[Value]:
    return [Value.of(each) for each in plain]


def raw(document: dict[str, Any]) -> bytes:
    return canonical.encode(document)


def without_token(raw: bytes | None) -> bytes:
    """A document as it was before it got a write token."""
    assert raw is not None
    return canonical.without(raw, ["_w"])


def kinds(run: Any) -> list[str]:
    return [outcome.kind for outcome in run]


# --- deleting


@pytest.mark.second_server
def test_a_deletion_is_drawn_with_versions_and_reasons_and_writes_nothing(session: Session, database: Any) -> None:
    plan = session.batches.deletion(f"{database.name}.contracts", ids("K-1", "K-2", "K-9"))
    assert [(item.id.python(), item.version) for item in plan.going] == [("K-1", "v4"), ("K-2", "v1")]
    assert "K-9" in plan.items[2].why_not
    assert plan.kept.startswith("Its versions stay in")
    assert database.contracts.count_documents({}) == 2


@pytest.mark.second_server
def test_a_run_deletes_each_document_and_its_undo_brings_all_of_them_back(session: Session, database: Any) -> None:
    before = list(database.agents.find().sort("name"))
    plan = session.batches.deletion(f"{database.name}.agents", ids(7, "7"))
    run = session.batches.delete(plan)
    assert kinds(run) == ["applied", "applied"]
    assert database.agents.count_documents({}) == 2
    noted = list(session.journal.records("run", run.id))
    assert [record.entry.action for record in noted] == ["delete", "delete"]
    assert kinds(session.batches.undo(run.id)) == ["applied", "applied"]
    assert sorted(database.agents.find(), key=str) == sorted(before, key=str)
    assert kinds(session.batches.undo(run.id)) == []


@pytest.mark.second_server
def test_a_document_that_moved_since_the_plan_is_a_conflict_and_stays(session: Session, database: Any) -> None:
    plan = session.batches.deletion(f"{database.name}.agents", ids(7, "7"))
    database.agents.update_one({"_id": 7}, {"$set": {"visits": 99}})
    assert kinds(session.batches.delete(plan)) == ["conflict", "applied"]
    assert database.agents.find_one({"_id": 7})["visits"] == 99


def test_a_stopped_deletion_leaves_the_rest_and_the_run_can_be_undone(session: Session, database: Any) -> None:
    plan = session.batches.deletion(f"{database.name}.agents", ids(7, "7"))

    def stop(done: int, total: int | None) -> None:
        if done == 1:
            raise Cancelled

    run = session.batches.delete(plan, stop)
    with pytest.raises(Cancelled):
        kinds(run)
    assert database.agents.count_documents({}) == 3
    assert kinds(session.batches.undo(run.id)) == ["applied"]
    assert database.agents.count_documents({}) == 4


def test_nothing_is_deleted_read_only_or_unconfirmed_on_production(session: Session, database: Any) -> None:
    plan = session.batches.deletion(f"{database.name}.agents", ids(7))
    with pytest.raises(NotAllowed, match="production"):
        type(session.batches)(session.batches.writer, lambda _: None, lambda: True).delete(plan)
    session.trust.read_only = True
    with pytest.raises(NotAllowed, match="read-only"):
        session.batches.delete(plan)
    assert database.agents.count_documents({}) == 4


def test_the_run_of_a_deletion_is_undone_by_the_command_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from model.localserver import LocalServer

    with LocalServer() as server, pymongo.MongoClient(server.uri) as client:
        scenes.plain(client.shop)
        with Session.open(server.uri) as session:
            run = session.batches.delete(session.batches.deletion("shop.agents", ids(7, "7")))
            assert kinds(run) == ["applied", "applied"]
        assert command_line.main(["undo", run.id]) == 0
        assert client.shop.agents.count_documents({}) == 4
    assert capsys.readouterr().out.count("applied") == 2


# --- inserting


@pytest.mark.second_server
def test_an_insertion_is_drawn_with_what_stays_out_and_writes_nothing(session: Session, database: Any) -> None:
    ns = f"{database.name}.agents"
    wanted = [raw({"_id": 7, "name": "Eva"}), raw({"_id": 8, "name": "Ida"}), raw({"_id": 8}), raw({"name": "Ann"})]
    plan = session.batches.insertion(ns, lambda: wanted)
    assert (plan.documents, plan.taken, plan.unfit, plan.would) == (4, 2, 0, 2)
    assert plan.reasons == (
        ("7", "A document with this id is already there."),
        ("8", "It occurs twice in what you want to insert."),
    )
    assert [each.path for each in plan.fields.fields] == ["_id", "name"]
    assert plan.begins == "", "each is stored as it came, and gains no field"
    assert database.agents.count_documents({}) == 4


@pytest.mark.second_server
def test_documents_are_inserted_byte_for_byte_and_taken_back_as_a_run(session: Session, database: Any) -> None:
    ns = f"{database.name}.agents"
    wanted = [raw({"_id": 8, "z": Int64(1), "a": Decimal128("1.50")}), raw({"_id": 7}), raw({"n": 1.0})]
    run = session.batches.insert(ns, lambda: wanted)
    assert kinds(run) == ["applied", "refused", "applied"]
    assert without_token(session.history.version(ns, Value.of(8)).raw) == wanted[0]
    assert database.agents.count_documents({}) == 6
    assert kinds(session.batches.undo(run.id)) == ["applied", "applied"]
    assert database.agents.count_documents({}) == 4


@pytest.mark.second_server
def test_in_a_layout_with_versions_each_document_begins_as_version_1(session: Session, database: Any) -> None:
    ns = f"{database.name}.contracts"
    wanted = [raw({"_id": "K-7", "status": "new", "v": 12, "_w": ObjectId()})]
    plan = session.batches.insertion(ns, lambda: wanted)
    assert plan.own == ("v", "_w")
    assert plan.begins == "Each document begins as version 1."
    assert kinds(session.batches.insert(ns, lambda: wanted)) == ["applied"]
    found = database.contracts.find_one({"_id": "K-7"})
    assert found["v"] == 1
    assert found["_w"] != canonical.decode(wanted[0])["_w"]
    assert set(found) == {"_id", "status", "v", "_w"}


def test_where_versions_are_documents_the_document_s_own_id_is_taken_over(session: Session, database: Any) -> None:
    ns = f"{database.name}.claims"
    wanted = [raw({"_id": ObjectId(), "docId": "C-7", "v": 3, "amount": Int64(7)}), raw({"_id": "C-8", "amount": 8})]
    assert kinds(session.batches.insert(ns, lambda: wanted)) == ["applied", "applied"]
    assert database.claims.find_one({"docId": "C-7"})["v"] == 1
    assert session.history.version(ns, Value.of("C-7")).content == raw({"amount": Int64(7)})
    assert session.history.version(ns, Value.of("C-8")).v == Value.of(1)


def test_an_archive_is_neither_inserted_into_nor_deleted_from(session: Session, database: Any) -> None:
    ns = f"{database.name}.contracts_history"
    said = f"{ns} holds the earlier versions of {database.name}.contracts"
    with pytest.raises(Refused, match=said):
        session.batches.insertion(ns, lambda: pytest.fail("read"))
    with pytest.raises(Refused, match=said):
        session.batches.deletion(ns, ids("K-1"))


def test_the_undo_of_an_unknown_run_is_refused(session: Session) -> None:
    with pytest.raises(NotFound, match="no run run-1"):
        list(session.batches.undo("run-1"))


@pytest.mark.parametrize("ending", ["jsonl", "csv", "bson"])
def test_a_collection_of_every_type_goes_out_and_in_again_unchanged(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"all.{ending}"
    with Session.open("sample:", home=tmp_path / "home") as sample:
        written = sample.exchange.export("reporting.bson_types", str(path))
        before = {
            row.id: row.raw for row in sample.documents.page("reporting.bson_types", limit=500).rows if row.readable
        }
        assert written.documents >= len(before) - (2 if ending == "csv" else 1)
        run = sample.batches.insert("reporting.kpi", lambda: documents_of(path))
        assert {outcome.kind for outcome in run} == {"applied"}
        after = {row.id: row.raw for row in sample.documents.page("reporting.kpi", limit=500).rows}
        came = {id: raw for id, raw in after.items() if id in before}
        assert len(came) == written.documents
        unlike = [id for id, raw in came.items() if before[id] != raw]
        assert len(unlike) == written.rearranged
        assert all(set(canonical.fields(before[id])) == set(canonical.fields(came[id])) for id in unlike)


def test_picked_rows_are_exported_whole_and_those_that_are_gone_are_left_out(tmp_path: Path) -> None:
    with Session.open("sample:", home=tmp_path / "home") as sample:
        ns = "insurance.contracts"
        rows = sample.documents.page(ns, fields="status", limit=3).rows  # which the list shows in part
        sample.writing.delete(ns, rows[1].id, sample.history.version(ns, rows[1].id))
        written = sample.exchange.export_rows(ns, str(tmp_path / "picked.bson"), rows)
        assert (written.documents, written.left_out) == (2, 1)
        first = next(iter(documents_of(tmp_path / "picked.bson")))
        assert first == sample.history.version(ns, rows[0].id).raw


def test_skip_and_limit_bound_an_export(tmp_path: Path) -> None:
    with Session.open("sample:", home=tmp_path / "home") as sample:
        path = tmp_path / "some.jsonl"
        assert sample.exchange.export("insurance.contracts", str(path), skip=2, limit=5).documents == 5
        listed = [row.id for row in sample.documents.page("insurance.contracts", skip=2, limit=5).rows]
        assert [canonical.get(raw, ("_id",)) for raw in documents_of(path)] == listed


LAYOUTS = {
    "insurance.contracts": "archive", "insurance.claims": "versions", "insurance.customers": "embedded",
    "insurance.partners": "deltas", "insurance.invoices": "hashed", "insurance.agents": "plain",
}  # fmt: skip


@pytest.mark.deep
@pytest.mark.slice
def test_what_any_layout_exports_it_takes_in_again_with_the_same_content(tmp_path: Path) -> None:
    with Session.open("sample:", home=tmp_path / "home") as sample:
        for ns, layout in LAYOUTS.items():
            assert sample.catalogue.info(ns).layout == layout
            path = tmp_path / f"{layout}.jsonl"
            rows = sample.documents.page(ns, limit=3).rows
            sample.exchange.export_rows(ns, str(path), rows)
            before = {row.id: sample.history.version(ns, row.id).content for row in rows}
            for row in rows:
                gone = sample.writing.purge(ns, row.id, sample.history.last(ns, row.id))
                assert gone.kind == "applied", (ns, gone.detail)
            plan = sample.batches.insertion(ns, lambda path=path: documents_of(path))  # type: ignore[misc]
            assert (plan.would, plan.unfit) == (3, 0), ns
            run = sample.batches.insert(ns, lambda path=path: documents_of(path))  # type: ignore[misc]
            assert kinds(run) == ["applied"] * 3, (ns, [outcome.detail for outcome in run.done])
            for id, content in before.items():
                found = sample.history.version(ns, id)
                assert unsigned(found.content) == unsigned(content), ns
                assert sum(1 for _ in sample.history.versions(ns, id)) == 1


def unsigned(content: bytes | None) -> bytes:
    """A content without the name of whoever wrote it, which is another one here."""
    assert content is not None
    return canonical.without(content, ["changedBy", "_w"])
