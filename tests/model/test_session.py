"""The one door, on every server: what it says is true, and plain PyMongo finds what it writes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymongo.database
import pytest
from bson import Decimal128, Int64, ObjectId

from model.catalogue import catalogue
from model.errors import NotAllowed, NotFound, Refused, Unreachable, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Outcome, Version
from model.layouts.base import Layout
from model.layouts.registry import bind
from model.server.retry import Port, Reply, Server, Write
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests import support
from tests.model import session_scenes

Db = pymongo.database.Database
K1 = Value.of("K-1")


@pytest.fixture
def session(server_uri: str, database: Db) -> Iterator[Session]:
    session_scenes.archive(database)
    session_scenes.versions(database)
    session_scenes.plain(database)
    session_scenes.pending(database)
    with Session.open(server_uri) as made:
        yield made


@pytest.fixture
def contracts(database_name: str) -> str:
    return f"{database_name}.contracts"


def current(database: Db, id: str = "K-1") -> dict[str, Any]:
    found = database["contracts"].find_one({"_id": id})
    assert found is not None
    return found


def put(version: Version, **fields: Any) -> bytes:
    """The version's content with some top-level fields set."""
    content = version.content
    assert content is not None
    for name, value in fields.items():
        content = canonical.put(content, (name,), Value.of(value))
    return content


# --- reading


def test_what_the_window_asks_is_answered_while_another_thread_loads_a_layout(
    session: Session, contracts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.catalogue.info(contracts)
    loading, go, answered = threading.Event(), threading.Event(), threading.Event()

    def load(port: Port, profile: CollectionProfile) -> Layout:
        loading.set()
        go.wait(10)
        return bind(port, profile)

    monkeypatch.setattr(catalogue, "bind", load)
    reader = threading.Thread(target=session.documents.page, args=(contracts,))
    reader.start()
    assert loading.wait(10)
    window = threading.Thread(target=lambda: answered.set() if session.catalogue.unseen == {} else None)
    window.start()
    assert answered.wait(5)
    go.set()
    reader.join()
    window.join()


def test_each_collection_is_named_with_its_layout(session: Session, database_name: str) -> None:
    found = {info.ns.partition(".")[2]: info for info in session.catalogue.collections(database_name)}
    assert {name: info.layout for name, info in found.items() if name != "contracts_history"} == {
        "contracts": "archive",
        "claims": "versions",
        "agents": "plain",
        "stats": "pending",
    }
    assert found["contracts_history"].belongs_to == f"{database_name}.contracts"
    assert session.catalogue.info(f"{database_name}.claims") == found["claims"]


def test_a_database_or_collection_that_is_not_there_is_said(session: Session, database_name: str) -> None:
    with pytest.raises(NotFound, match="no database nowhere"):
        list(session.catalogue.collections("nowhere"))
    with pytest.raises(NotFound, match="no collection"):
        session.catalogue.info(f"{database_name}.nothing")
    with pytest.raises(Refused, match=r"database\.collection"):
        session.catalogue.info("contracts")


def test_a_collection_whose_name_has_dots_is_found(session: Session, database: Db, database_name: str) -> None:
    database["a.b.c"].insert_one({"_id": 1})
    assert session.documents.page(f"{database_name}.a.b.c").total == 1


def test_documents_come_in_pages_with_filter_and_order(session: Session, database_name: str) -> None:
    agents = f"{database_name}.agents"
    page = session.documents.page(agents, filter="{visits: {$gte: 2}}", sort="visits descending", limit=2)
    assert [row.raw and canonical.get(row.raw, ("name",)) for row in page.rows] == [
        Value.of("Marta"),
        Value.of("Eva"),
    ]
    assert (page.more, page.total, page.skip) == (True, None, 0)
    assert page.total_note == "N/A: the documents are counted after the page."
    assert session.documents.count(agents, "{visits: {$gte: 2}}") == (3, "")
    rest = session.documents.page(agents, filter="{visits: {$gte: 2}}", sort="{visits: -1}", skip=2, limit=2)
    assert [canonical.get(row.raw, ("name",)) for row in rest.rows] == [Value.of("Jonas")]
    assert (rest.more, rest.total) == (False, 3)


def test_a_filter_looks_at_current_versions_only(session: Session, database_name: str) -> None:
    claims = f"{database_name}.claims"
    assert [row.id for row in session.documents.page(claims, filter="{open: true}").rows] == [Value.of("C-2")]


@pytest.mark.parametrize("wrong", [{"filter": "{a: "}, {"sort": "{a: 2}"}, {"sort": "a sideways"}, {"fields": "{a"}])
def test_a_query_that_cannot_be_read_is_said(session: Session, contracts: str, wrong: dict[str, str]) -> None:
    with pytest.raises(Unreadable):
        session.documents.page(contracts, **wrong)  # type: ignore[arg-type]


def test_an_id_is_plain_text_where_only_one_matches(session: Session, database_name: str) -> None:
    agents = f"{database_name}.agents"
    assert session.documents.find_id(agents, "eva@example.com") == Value.of("eva@example.com")
    assert session.documents.find_id(agents, "64f0a1c29b1e8a0012c4d7aa") == Value.of(
        ObjectId("64f0a1c29b1e8a0012c4d7aa")
    )
    with pytest.raises(Refused, match="7"):
        session.documents.find_id(agents, "7")
    assert session.documents.find_id(agents, '"7"') == Value.of("7")
    assert session.documents.find_id(agents, '{"$numberInt": "7"}') == Value.of(7)
    with pytest.raises(NotFound):
        session.documents.find_id(agents, "8")


def test_a_history_is_newest_first_with_gaps_and_counts_of_changes(session: Session, contracts: str) -> None:
    versions = list(session.history.versions(contracts, K1))
    assert [(v.v, v.state, v.stored, v.current) for v in versions] == [
        (Value.of(4), "present", "document", True),
        (Value.of(3), "missing", "none", False),
        (Value.of(2), "present", "archive", False),
        (Value.of(1), "present", "archive", False),
    ]
    assert [v.changed for v in versions] == [None, None, 3, None]
    assert all(v.content is None for v in versions)
    assert versions[0].hash == canonical.hash_of(canonical.encode(session_scenes.contract(4)))


def test_two_versions_are_compared(session: Session, contracts: str) -> None:
    found = session.history.compare(contracts, K1, Value.of(1), Value.of(2))
    assert (found.a.v, found.b.v) == (Value.of(1), Value.of(2))
    assert {(op.op, op.path) for op in found.diff} == {
        ("replace", ("status",)),
        ("replace", ("steps",)),
        ("add", ("notes",)),
    }


@pytest.mark.parametrize("meant", ["2", "v2", '{"$numberInt": "2"}', 2, Int64(2), Value.of(2)])
def test_a_version_is_meant_by_number_or_text(session: Session, contracts: str, meant: Any) -> None:
    assert session.catalogue.reading.find_version(contracts, K1, meant) == Value.of(2)


def test_a_version_that_is_not_there_is_said(session: Session, contracts: str) -> None:
    with pytest.raises(NotFound, match="K-1 has no version 9"):
        session.catalogue.reading.find_version(contracts, K1, "9")
    with pytest.raises(NotFound):
        session.history.compare(contracts, K1, Value.of(1), Value.of(3))


# --- writing


def test_a_save_archives_the_old_version_and_swaps_in_the_new_one(
    session: Session, contracts: str, database: Db
) -> None:
    before = current(database)
    opened = session.writing.open(contracts, K1)
    assert opened.writable
    assert {"_id", "v", "_w"} <= set(opened.locked)
    outcome = session.writing.save(contracts, K1, opened.base, put(opened.base, status="cancelled"))
    assert (outcome.kind, outcome.version) == ("applied", Value.of(5))
    after = current(database)
    assert {**after, "_w": None} == {**before, "status": "cancelled", "v": 5, "_w": None}
    assert after["_w"] != before["_w"]
    kept = database["contracts_history"].find_one({"docId": "K-1", "v": 4})
    assert kept is not None
    assert {k: v for k, v in kept.items() if k not in ("_id", "docId")} == {
        k: v for k, v in before.items() if k != "_id"
    }


def test_the_preview_says_what_would_be_sent_and_sends_nothing(session: Session, contracts: str, database: Db) -> None:
    before = current(database)
    opened = session.writing.open(contracts, K1)
    sending = session.writing.preview(contracts, K1, opened.base, put(opened.base, status="cancelled"))
    assert "cancelled" in sending.pymongo
    assert "cancelled" in sending.mongosh
    assert sending.explanation
    assert current(database) == before


def test_saving_nothing_new_writes_nothing(session: Session, contracts: str, database: Db) -> None:
    opened = session.writing.open(contracts, K1)
    outcome = session.writing.save(contracts, K1, opened.base, opened.base.content or b"")
    assert outcome.kind == "skipped"
    assert current(database)["v"] == 4
    assert session.journal.entries() == []


def test_a_field_that_an_unversioned_writer_raises_meanwhile_survives_a_save(
    session: Session, contracts: str, database: Db
) -> None:
    opened = session.writing.open(contracts, K1)
    database["contracts"].update_one({"_id": "K-1"}, {"$inc": {"steps": 100}})
    outcome = session.writing.save(contracts, K1, opened.base, put(opened.base, status="cancelled"))
    assert outcome.kind == "applied"
    assert (current(database)["status"], current(database)["steps"]) == ("cancelled", 104)


def test_a_plain_document_is_swapped_on_its_whole_content(session: Session, database: Db, database_name: str) -> None:
    agents, id = f"{database_name}.agents", Value.of("eva@example.com")
    opened = session.writing.open(agents, id)
    assert session.writing.save(agents, id, opened.base, put(opened.base, name="Eva Maria")).kind == "applied"
    database["agents"].update_one({"_id": "eva@example.com"}, {"$inc": {"visits": 1}})
    assert session.writing.save(agents, id, opened.base, put(opened.base, name="Eva Anna")).kind == "conflict"
    found = database["agents"].find_one({"_id": "eva@example.com"})
    assert found is not None
    assert (found["name"], found["visits"]) == ("Eva Maria", 4)


def overtake(database: Db, **fields: Any) -> None:
    """A second client saves K-1 as the layout says."""
    before = current(database)
    kept = {k: v for k, v in before.items() if k not in ("_id", "v")}
    place = {"docId": before["_id"], "v": before["v"]}
    database["contracts_history"].update_one(place, {"$setOnInsert": kept}, upsert=True)
    after = {**before, **fields, "v": before["v"] + 1, "_w": ObjectId()}
    assert database["contracts"].replace_one({"_id": "K-1", "v": before["v"]}, after).matched_count == 1


@pytest.mark.parametrize(
    ("theirs", "kind"),
    [
        ({"notes": "by someone else"}, "changed"),
        ({"status": "cancelled"}, "identical"),
        ({"steps": Int64(4)}, "types"),
        ({}, "aba"),
    ],
)
def test_a_save_that_was_overtaken_writes_nothing_and_says_what_happened(
    session: Session, contracts: str, database: Db, theirs: dict[str, Any], kind: str
) -> None:
    opened = session.writing.open(contracts, K1)
    mine = put(opened.base, status="cancelled")
    overtake(database, **theirs)
    between = current(database)
    assert session.writing.save(contracts, K1, opened.base, mine).kind == "conflict"
    assert current(database) == between
    conflict = session.writing.conflict(contracts, K1, opened.base, mine)
    assert conflict.kind == kind
    assert conflict.theirs is not None
    assert conflict.theirs.v == Value.of(5)


def test_disjoint_changes_merge_and_the_merge_is_saved_over_the_newest(
    session: Session, contracts: str, database: Db
) -> None:
    opened = session.writing.open(contracts, K1)
    mine = put(opened.base, status="cancelled")
    overtake(database, notes="by someone else")
    conflict = session.writing.conflict(contracts, K1, opened.base, mine)
    assert conflict.merge is not None
    assert conflict.theirs is not None
    assert not conflict.merge.conflicts
    outcome = session.writing.save(contracts, K1, conflict.theirs, conflict.merge.document(), "merge")
    assert outcome.kind == "applied"
    after = current(database)
    assert (after["status"], after["notes"], after["v"]) == ("cancelled", "by someone else", 6)
    session.edit(contracts, K1, set={"status": "active"})
    assert session.history.merges() == {(contracts, K1, Value.of(6))}


def test_a_field_that_both_changed_is_left_to_a_person(session: Session, contracts: str, database: Db) -> None:
    opened = session.writing.open(contracts, K1)
    overtake(database, status="paused", notes="n")
    conflict = session.writing.conflict(contracts, K1, opened.base, put(opened.base, status="cancelled"))
    assert conflict.merge is not None
    assert [each.path for each in conflict.merge.conflicts] == [("status",)]


def test_a_document_deleted_meanwhile_is_said_so(session: Session, contracts: str, database: Db) -> None:
    opened = session.writing.open(contracts, K1)
    mine = put(opened.base, status="cancelled")
    database["contracts"].delete_one({"_id": "K-1"})
    assert session.writing.save(contracts, K1, opened.base, mine).kind == "conflict"
    conflict = session.writing.conflict(contracts, K1, opened.base, mine)
    assert (conflict.kind, conflict.theirs, conflict.merge) == ("deleted", None, None)
    assert database["contracts"].find_one({"_id": "K-1"}) is None


def test_an_edit_sets_and_takes_out_fields_in_one_write(session: Session, contracts: str, database: Db) -> None:
    before = current(database)
    outcome = session.edit(
        contracts, "K-1", set={"premium.net": Decimal128("1.00"), "tags[0]": "moved"}, unset=["status"], base=4
    )
    assert (outcome.kind, outcome.version) == ("applied", Value.of(5))
    after = current(database)
    assert after["premium"] == {"net": Decimal128("1.00"), "gross": before["premium"]["gross"]}
    assert after["tags"] == ["moved"]
    assert "status" not in after


@pytest.mark.parametrize("base", [2, "2", Value.of(2)])
def test_an_edit_of_another_base_than_the_current_is_a_conflict(
    session: Session, contracts: str, database: Db, base: Any
) -> None:
    before = current(database)
    assert session.edit(contracts, K1, set={"status": "cancelled"}, base=base).kind == "conflict"
    assert current(database) == before


def test_an_edit_that_changes_nothing_is_skipped(session: Session, contracts: str, database: Db) -> None:
    assert session.edit(contracts, K1, set={"status": "active"}, unset=["none"]).kind == "skipped"
    assert current(database)["v"] == 4


@pytest.mark.parametrize("path", ["_id", "v", "_w", "status.deep", ""])
def test_an_edit_of_what_cannot_be_edited_is_refused(session: Session, contracts: str, database: Db, path: str) -> None:
    with pytest.raises(Refused):
        session.edit(contracts, K1, set={path: 1})
    assert current(database)["v"] == 4


def test_a_whole_version_is_restored_as_a_new_one(session: Session, contracts: str, database: Db) -> None:
    outcome = session.writing.restore(contracts, K1, Value.of(1))
    assert (outcome.kind, outcome.version) == ("applied", Value.of(5))
    after = current(database)
    assert {k: v for k, v in after.items() if k not in ("_id", "v", "_w")} == session_scenes.contract(1, status="draft")


def test_chosen_fields_are_restored_and_the_others_stay(session: Session, contracts: str, database: Db) -> None:
    outcome = session.writing.restore(contracts, K1, Value.of(2), fields=[("steps",), ("notes",)])
    assert outcome.kind == "applied"
    after = current(database)
    assert (after["steps"], after["notes"], after["v"]) == (2, "call ahead", 5)


def test_a_new_document_is_version_one_and_an_id_is_taken_once(session: Session, contracts: str, database: Db) -> None:
    content = canonical.encode({"status": "new"})
    assert session.writing.create(contracts, content, Value.of("K-9")).kind == "applied"
    assert {**current(database, "K-9"), "_w": None} == {"_id": "K-9", "status": "new", "v": 1, "_w": None}
    again = session.writing.create(contracts, content, Value.of("K-9"))
    assert again.kind in ("refused", "conflict")
    assert current(database, "K-9")["v"] == 1


def test_a_delete_is_guarded_by_the_version_that_was_seen(session: Session, contracts: str, database: Db) -> None:
    seen = session.history.version(contracts, K1)
    overtake(database, notes="n")
    assert session.writing.delete(contracts, K1, seen).kind == "conflict"
    assert current(database)["v"] == 5
    assert session.writing.delete(contracts, K1, session.history.version(contracts, K1)).kind == "applied"
    assert database["contracts"].find_one({"_id": "K-1"}) is None


def test_threads_that_share_a_session_lose_no_acknowledged_edit(session: Session, contracts: str, database: Db) -> None:
    def work() -> None:
        done = 0
        while done < 5:
            base = session.history.version(contracts, K1)
            steps = canonical.get(base.content or b"", ("steps",))
            assert steps is not None
            content = canonical.put(base.content or b"", ("steps",), Value.of(steps.python() + 1))
            done += session.writing.save(contracts, K1, base, content).kind == "applied"

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (current(database)["steps"], current(database)["v"]) == (4 + 20, 4 + 20)
    kept = {row["v"]: row["steps"] for row in database["contracts_history"].find({"docId": "K-1", "v": {"$gte": 4}})}
    assert kept == {v: v for v in range(4, 24)}
    assert len([e for e in session.journal.entries() if e.kind == "applied"]) == 20


# --- the way back


def only_entry(session: Session) -> str:
    return session.journal.entries(limit=1)[0].id


def test_an_edit_is_undone_by_a_new_version(session: Session, contracts: str, database: Db) -> None:
    before = current(database)
    session.edit(contracts, K1, set={"status": "cancelled"})
    entry = only_entry(session)
    assert session.way_back.undo(entry).kind == "applied"
    after = current(database)
    assert {**after, "_w": None} == {**before, "v": 6, "_w": None}
    with pytest.raises(Refused, match="already"):
        session.way_back.undo(entry)
    assert session.way_back.undo(only_entry(session)).kind == "applied"
    assert current(database)["status"] == "cancelled"


def test_an_undo_of_what_moved_on_writes_nothing_and_offers_a_merge(
    session: Session, contracts: str, database: Db
) -> None:
    session.edit(contracts, K1, set={"status": "cancelled"})
    entry = only_entry(session)
    overtake(database, notes="by someone else")
    between = current(database)
    outcome = session.way_back.undo(entry)
    assert outcome.kind == "conflict"
    assert "v5 → v6" in outcome.detail
    assert current(database) == between
    conflict = session.way_back.conflict(entry)
    assert conflict.merge is not None
    assert conflict.theirs is not None
    assert not conflict.merge.conflicts
    session.writing.save(contracts, K1, conflict.theirs, conflict.merge.document(), "merge")
    assert (current(database)["status"], current(database)["notes"]) == ("active", "by someone else")


def test_an_undo_of_what_was_deleted_since_offers_no_merge(session: Session, contracts: str, database: Db) -> None:
    session.edit(contracts, K1, set={"status": "cancelled"})
    entry = only_entry(session)
    session.writing.delete(contracts, K1, session.history.version(contracts, K1))
    outcome = session.way_back.undo(entry)
    assert outcome.kind == "conflict"
    assert "was deleted since" in outcome.detail
    with pytest.raises(Refused, match="was deleted since; undo its deletion first"):
        session.way_back.conflict(entry)
    assert database["contracts"].find_one({"_id": K1.python()}) is None


def test_a_create_and_a_delete_are_undone(session: Session, contracts: str, database: Db) -> None:
    session.writing.create(contracts, canonical.encode({"status": "new"}), Value.of("K-9"))
    created = only_entry(session)
    assert session.way_back.undo(created).kind == "applied"
    assert database["contracts"].find_one({"_id": "K-9"}) is None
    before = current(database)
    session.writing.delete(contracts, K1, session.history.version(contracts, K1))
    assert session.way_back.undo(only_entry(session)).kind == "applied"
    put_back = only_entry(session)
    after = current(database)
    assert {k: v for k, v in after.items() if k not in ("v", "_w")} == {
        k: v for k, v in before.items() if k not in ("v", "_w")
    }
    assert session.way_back.undo(put_back).kind == "applied"
    assert database["contracts"].find_one({"_id": "K-1"}) is None


def test_the_journal_says_before_and_after_of_every_write(session: Session, contracts: str) -> None:
    session.edit(contracts, K1, set={"status": "cancelled"})
    record = session.journal.record(only_entry(session))
    entry = record.entry
    assert (entry.kind, entry.action, entry.ns, entry.source) == ("applied", "edit", contracts, session.source)
    assert record.before == canonical.encode(session_scenes.contract(4))
    assert record.after is not None
    assert canonical.get(record.after, ("status",)) == Value.of("cancelled")
    assert (record.version_before, record.version_after) == (Value.of(4), Value.of(5))
    assert record.token is not None


# --- doubt


class Broken(Exception):
    """Stands for a process that dies."""


def test_a_lost_reply_is_unknown_until_looked_for_again(
    session: Session, contracts: str, database: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = session.writing.open(contracts, K1)
    real = Server.send

    def cut(self: Server, write: Write) -> Reply:
        if write.ns == contracts:
            real(self, write)
            monkeypatch.setattr(Server, "find", gone)
            return Reply("unknown", retry=True, sentence="The connection was lost.")
        return real(self, write)

    def gone(*args: Any, **kwargs: Any) -> Iterator[bytes]:
        raise Unreachable("The connection was lost.")

    monkeypatch.setattr(Server, "send", cut)
    outcome = session.writing.save(contracts, K1, opened.base, put(opened.base, status="cancelled"))
    assert outcome.kind == "unknown"
    assert outcome.token == str(current(database)["_w"])
    monkeypatch.undo()
    settled = session.way_back.settle(outcome)
    assert (settled.kind, settled.version) == ("applied", Value.of(5))
    assert session.journal.entry(only_entry(session)).kind == "applied"


def test_a_write_that_never_left_stays_unknown_until_it_cannot_arrive_any_more(
    session: Session, contracts: str, database: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = session.writing.open(contracts, K1)
    real = Server.send

    def swallowed(self: Server, write: Write) -> Reply:
        if write.ns == contracts:
            return Reply("unknown", retry=True, sentence="The connection was lost.")
        return real(self, write)

    with monkeypatch.context() as patch:
        patch.setattr(Server, "send", swallowed)
        outcome = session.writing.save(contracts, K1, opened.base, put(opened.base, status="cancelled"))
    assert outcome.kind == "unknown"
    assert session.way_back.settle(outcome).kind == "unknown"
    overtake(database, notes="n")
    assert session.way_back.settle(outcome).kind == "conflict"
    assert current(database)["status"] == "active"


def test_a_process_that_died_in_mid_write_is_told_and_settled(
    session: Session, contracts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Server.send

    def dies(self: Server, write: Write) -> Reply:
        reply = real(self, write)
        if write.ns == contracts:
            raise Broken
        return reply

    with monkeypatch.context() as patch:
        patch.setattr(Server, "send", dies)
        with pytest.raises(Broken):
            session.edit(contracts, K1, set={"status": "cancelled"})
    entry = session.journal.entry(only_entry(session))
    assert (entry.kind, entry.undoable) == ("begun", False)
    assert session.way_back.look_again(entry.id).kind == "applied"
    assert session.way_back.undo(entry.id).kind == "applied"


# --- indexes, read-only, tokens


def test_writing_without_the_unique_index_is_refused_until_it_is_created(
    server_uri: str, database: Db, database_name: str
) -> None:
    session_scenes.versions(database, index=False)
    ns = f"{database_name}.claims"
    with Session.open(server_uri) as session:
        if session.catalogue.info(ns).layout != "versions":
            session.catalogue.set_layout(ns, "versions")
        opened = session.writing.open(ns, Value.of("C-1"))
        assert not opened.writable
        reason = session.indexes.missing(ns)
        assert reason
        refused = session.edit(ns, "C-1", set={"open": True})
        assert (refused.kind, refused.detail) == ("refused", reason)
        assert session.journal.entries() == []
        assert session.indexes.create(ns).kind == "applied"
        assert session.indexes.missing(ns) is None
        assert session.edit(ns, "C-1", set={"open": True}).kind == "applied"
        assert session.indexes.create(ns).kind == "skipped"
    assert any(index.get("unique") for index in database["claims"].index_information().values())
    assert database["claims"].count_documents({"docId": "C-1"}) == 4


def test_a_read_only_session_refuses_every_write_in_one_sentence(
    server_uri: str, database: Db, database_name: str
) -> None:
    session_scenes.archive(database)
    session_scenes.pending(database)
    ns = f"{database_name}.contracts"
    with Session.open(server_uri, read_only=True) as session:
        opened = session.writing.open(ns, K1)
        assert not opened.writable
        assert "read-only" in opened.reason
        tokens = list(session.tokens.pending(f"{database_name}.stats"))
        for write in (
            lambda: session.writing.save(ns, K1, opened.base, put(opened.base, status="x")),
            lambda: session.edit(ns, K1, set={"status": "x"}),
            lambda: session.writing.create(ns, canonical.EMPTY),
            lambda: session.writing.delete(ns, K1, opened.base),
            lambda: session.writing.restore(ns, K1, Value.of(1)),
            lambda: session.indexes.create(ns),
            lambda: list(session.tokens.finish(tokens)),
            lambda: session.way_back.undo("1"),
        ):
            with pytest.raises(NotAllowed, match="read-only"):
                write()
        assert session.journal.entries() == []
        session.trust.read_only = False
        assert session.edit(ns, K1, set={"status": "x"}).kind == "applied"


def test_stale_tokens_are_finished_one_by_one_and_undone(session: Session, database: Db, database_name: str) -> None:
    ns = f"{database_name}.stats"
    tokens = list(session.tokens.pending())
    assert [t.stale for t in tokens if t.ns == ns] == [True, True, False]
    tokens = [t for t in tokens if t.ns == ns]
    assert "$inc" in session.tokens.preview(tokens[0]).mongosh
    outcomes = list(session.tokens.finish(tokens))
    assert [o.kind for o in outcomes] == ["applied", "applied", "skipped"]
    found = database["stats"].find_one({"_id": "2020-07-04"})
    assert found == {
        "_id": "2020-07-04",
        "count": 43,
        "pending": [],
        "applied": [session_scenes.OLD, session_scenes.OLDER],
    }
    assert [o.kind for o in session.tokens.finish(tokens[:2])] == ["skipped", "skipped"]
    assert outcomes[1].entry is not None
    undone = session.way_back.undo(outcomes[1].entry)
    assert undone.kind == "applied"
    found = database["stats"].find_one({"_id": "2020-07-04"})
    assert found == {
        "_id": "2020-07-04",
        "count": 42,
        "pending": [session_scenes.OLDER],
        "applied": [session_scenes.OLD],
    }
    assert undone.entry is not None
    assert session.way_back.undo(undone.entry).kind == "applied"
    found = database["stats"].find_one({"_id": "2020-07-04"})
    assert found is not None
    assert (found["count"], found["pending"]) == (43, [])


def test_a_young_token_is_touched_only_where_a_person_says_so(
    session: Session, database: Db, database_name: str
) -> None:
    young = [t for t in session.tokens.pending(f"{database_name}.stats") if not t.stale]
    assert [o.kind for o in session.tokens.finish(young)] == ["skipped"]
    assert database["stats"].count_documents({"_id": "today", "count": 3}) == 1
    assert [o.kind for o in session.tokens.finish(young, confirmed=True)] == ["applied"]
    assert database["stats"].count_documents({"_id": "today", "count": 4, "pending": []}) == 1


def test_pending_asks_for_a_collection_that_keeps_tokens(session: Session, contracts: str) -> None:
    with pytest.raises(Refused, match="No pending tokens were recognised"):
        list(session.tokens.pending(contracts))


# --- sources


def test_the_sample_opens_and_a_colleague_changes_a_document_behind_ones_back() -> None:
    with Session.open("sample:") as session:
        assert (session.is_sample, session.is_local, session.trust.read_only) == (True, True, False)
        ns, id = "insurance.contracts", Value.of("K-204117")
        opened = session.writing.open(ns, id)
        assert session.colleague.change(ns, id).kind == "applied"
        mine = canonical.put(opened.base.content or b"", ("notes",), Value.of("mine"))
        assert session.writing.save(ns, id, opened.base, mine).kind == "conflict"
        assert session.writing.conflict(ns, id, opened.base, mine).theirs is not None
        entry = session.edit(ns, id, set={"notes": "mine"}).entry
        assert entry is not None
    with Session.open("sample:") as another:
        assert "in memory" in another.journal.entry(entry).why_not
        with pytest.raises(Refused, match="in memory"):
            another.way_back.undo(entry)


def test_a_colleague_exists_in_the_sample_only(session: Session, contracts: str) -> None:
    with pytest.raises(NotAllowed, match="sample"):
        session.colleague.change(contracts, K1)


def test_a_dump_is_read_only_unless_opened_into_memory(tmp_path: Path) -> None:
    dump = tmp_path / "dump" / "shop"
    dump.mkdir(parents=True)
    (dump / "orders.bson").write_bytes(canonical.encode({"_id": 1, "n": 1}))
    with Session.open(str(tmp_path / "dump")) as session:
        assert (session.trust.read_only, session.name, session.is_local) == (True, "dump", True)
        session.trust.read_only = False
        with pytest.raises(NotAllowed, match="into memory"):
            session.edit("shop.orders", Value.of(1), set={"n": 2})
    with Session.open(str(tmp_path / "dump"), into_memory=True) as session:
        assert session.edit("shop.orders", Value.of(1), set={"n": 2}).kind == "applied"
        assert session.history.version("shop.orders", Value.of(1)).content == canonical.encode({"n": 2})
    assert (dump / "orders.bson").read_bytes() == canonical.encode({"_id": 1, "n": 1})


@support.table(
    "source, said",
    [
        ("http://db.example/", "mongodb://"),
        ("mongodb://", "address"),
        ("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200", "127.0.0.1"),
        ("mongodb://eva@127.0.0.1:1/", "password"),
        ("mongodb://h/?connectTimeoutMS=soon", "(?i)connectTimeoutMS"),
        ("no such folder", "not a source"),
        ("", "not a source"),
    ],
)
def test_a_source_that_cannot_be_opened_is_one_sentence(source: str, said: str) -> None:
    with pytest.raises(Refused, match=said) as caught:
        Session.open(source)
    assert "\n" not in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_a_password_reaches_the_server_and_nothing_else(
    server_uri: str,
    database: Db,
    database_name: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret = "pl4nted-s3cret"
    session_scenes.archive(database)
    used: list[str] = []

    def connect(cls: type[Server], uri: str, **options: Any) -> Server:
        used.append(uri)
        return real(server_uri, **options)

    real = Server.connect
    monkeypatch.setattr(Server, "connect", classmethod(connect))
    caplog.set_level(logging.DEBUG)
    with Session.open(f"mongodb://eva:{secret}@db.example/{database_name}") as session:
        assert session.source == f"mongodb://eva@db.example/{database_name}"
        assert secret not in repr(session.facts) + session.name
        outcome = session.edit(f"{database_name}.contracts", "K-1", set={"status": "x"})
        assert outcome.kind == "applied"
        assert secret not in repr(outcome) + repr(session.journal.entries())
    assert secret in used[0]
    assert secret not in caplog.text
    for path in home.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()


def test_a_password_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_PASSWORD", "from the environment")
    used: list[str] = []

    def connect(cls: type[Server], uri: str, **options: Any) -> Server:
        used.append(uri)
        raise Unreachable("no")

    monkeypatch.setattr(Server, "connect", classmethod(connect))
    with pytest.raises(Unreachable):
        Session.open("mongodb://eva@db.example/")
    assert used == ["mongodb://eva:from%20the%20environment@db.example/"]


def test_an_outcome_without_an_entry_cannot_be_settled(session: Session) -> None:
    with pytest.raises(Refused, match="journal"):
        session.way_back.settle(Outcome("unknown", "a.b", None, "?"))


def test_any_version_opens_for_reading_with_what_the_layout_keeps_beside_it(session: Session, contracts: str) -> None:
    old = next(one for one in session.history.versions(contracts, K1) if one.state == "present" and not one.current)
    opened = session.history.open(contracts, K1, old.v)
    assert not opened.writable
    assert opened.base.content == session.history.version(contracts, K1, old.v).content
    names = [name for name, _ in canonical.fields(opened.document)]
    assert names[0] == "_id"
    assert "v" in names
    assert [name for name in names if name not in opened.locked] == [
        name for name, _ in canonical.fields(opened.base.content or b"")
    ]
