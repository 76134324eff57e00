"""The repair centre through a session: what it asks, skips, keeps and undoes, and what it does beside other writers."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bson
import pymongo.database
import pytest
from bson import ObjectId
from msgspec import structs

from model.errors import Cancelled, NotAllowed, NotFound, Refused, Unreachable
from model.foundation.findings import Finding
from model.foundation.records import Outcome
from model.repair.plan import Plan
from model.server import guards
from model.server.retry import Reply, Server, Write
from model.userdata.connections import Connections, SavedConnection
from model.values.canonical import Value
from tests.model.server.faulty_server import FaultyServer
from tests.repairing.planting import CASES, NAMES, Maker, copied, snapshot
from tests.repairing.proving import Counting, Dead, Place, place

Db = pymongo.database.Database
At = Callable[..., Place]


@pytest.fixture
def at(server_uri: str, tmp_path: Path) -> Iterator[At]:
    """Plant a case; a session on it."""
    opened = []

    def planted(name: str, count: int = 1) -> Place:
        case = next(case for case in CASES if case.name == name)
        opened.append(place(case, server_uri, "default", count, tmp_path / str(len(opened))))
        return opened[-1].__enter__()

    yield planted
    for each in opened:
        each.__exit__(None, None, None)


class Between(FaultyServer):
    """A port behind which others act just before a write of a kind."""

    def __init__(self, server: Server, kind: str, act: Callable[[], object], behind: bool = False) -> None:
        super().__init__(server)
        self.kind, self.act, self.behind = kind, act, behind

    def send(self, write: Write) -> Reply:
        hit = write.kind == self.kind and "quarantine" not in write.ns
        if hit and not self.behind:
            self.act()
        reply = super().send(write)
        if hit and self.behind:
            self.act()
        return reply


def server_of(here: Place) -> Server:
    return here.session._connection.opened.server


def done(here: Place, port: Any = None, plan: Plan | None = None) -> list[Outcome]:
    return [outcome for _, outcome in here.repairs(port).apply(plan or here.plan())]


def test_a_server_that_is_gone_is_not_waited_for_by_every_item(at: At) -> None:
    class Gone(FaultyServer):
        """Nothing is found from the second item on."""

        looked = 0

        def send(self, write: Write) -> Reply:
            reply = super().send(write)
            self.gone = write.kind == "delete" or getattr(self, "gone", False)
            return reply

        def find(self, *args: Any, **named: Any) -> Iterator[bytes]:
            if getattr(self, "gone", False):
                self.looked += 1
                raise Unreachable("The server did not answer in time; try again.")
            return super().find(*args, **named)

    here = at("A3", 6)
    port = Gone(server_of(here))
    repairs = here.repairs(port)
    first, *others = (outcome for _, outcome in repairs.apply(here.plan()))
    assert first.kind == "applied"
    assert [each.kind for each in others] == ["refused"] * 5
    assert ["any more" in each.detail for each in others] == [False, False, True, True, True]
    port.looked = 0
    assert [each.verdict for each in repairs.dry_run(here.plan())] == ["refused"] * 5
    assert port.looked == 3  # a look at all of them, and at two items


# --- others come between


def test_an_edit_that_lands_just_before_the_delete_keeps_the_row(at: At) -> None:
    here = at("A3")
    row = here.database["things_past"].find_one({"v": 4})
    act = lambda: here.database["things_past"].update_one({"v": 4}, {"$set": {"late": 1}})  # noqa: E731
    (outcome,) = done(here, Between(server_of(here), "delete", act))
    assert outcome.kind == "conflict"
    assert here.database["things_past"].find_one({"v": 4}) == (row or {}) | {"late": 1}


@pytest.mark.parametrize("name", ["A1", "A3"])
def test_a_row_whose_document_moved_on_meanwhile_is_put_back_as_it_was(at: At, name: str) -> None:
    here = at(name)
    before = snapshot(here.database)["things_past"]
    act = lambda: here.database["things"].update_one({"_id": "K-0"}, {"$set": {"v": 4, "_w": ObjectId()}})  # noqa: E731
    (outcome,) = done(here, Between(server_of(here), "delete", act))
    assert outcome.kind == "conflict"
    assert "put back" in outcome.detail
    assert snapshot(here.database)["things_past"] == before


def test_a_copy_that_an_edit_counted_on_is_put_back_when_the_plan_is_run_again(at: At) -> None:
    here = at("A1")
    plan = here.plan()
    before = snapshot(here.database)["things_past"]
    with pytest.raises(Dead):
        done(here, Counting(server_of(here), 1, behind=True), plan)  # the row is gone, and nobody looked again
    here.database["things"].update_one({"_id": "K-0"}, {"$set": {"v": 4, "_w": ObjectId()}})
    gaps = [each for each in here.findings(told=False) if each.code == "A4"]
    (item,) = here.session.repairs.plan(gaps).items
    assert "holds v3, which a repair took out" in item.advice
    (outcome,) = done(here, plan=plan)
    assert (outcome.kind, outcome.detail.split(",")[0]) == ("applied", "It was put back")
    assert snapshot(here.database)["things_past"] == before


def test_of_duplicates_one_stays_even_where_the_other_is_deleted_by_somebody_else(at: At) -> None:
    here = at("V1")
    first, second = (doc["_id"] for doc in here.database["things"].find({"docId": "K-0", "v": 2}).sort("_id"))
    act = lambda: here.database["things"].delete_one({"_id": first})  # noqa: E731
    (outcome,) = done(here, Between(server_of(here), "delete", act))
    assert outcome.kind == "skipped", outcome
    assert [doc["_id"] for doc in here.database["things"].find({"docId": "K-0", "v": 2})] == [second]


@pytest.mark.parametrize(
    ("name", "collection", "v"), [("V1 three", "things", 2), ("A3 two", "things_past", {"$gt": 3})]
)
def test_a_document_of_which_one_row_is_gone_is_not_said_to_be_gone(at: At, name: str, collection: str, v: int) -> None:
    here = at(name)
    plan = here.plan()
    assert here.database[collection].delete_one({"docId": "K-0", "v": v}).deleted_count == 1
    (outcome,) = done(here, plan=plan)
    assert outcome.kind == "skipped"
    assert outcome.detail.startswith("A stored document that belongs to K-0 is gone since the scan")


def test_a_row_is_not_made_with_the_name_of_its_id_twice(at: At) -> None:
    here = at("R1")
    here.database["things"].update_one({"_id": "K-0"}, {"$set": {"docId": "mine"}})
    (outcome,) = done(here)
    assert (outcome.kind, "archive_id otherwise" in outcome.detail) == ("refused", True)
    assert here.database["things_past"].count_documents({"v": 3, "docId": {"$in": ["K-0", "mine"]}}) == 0


def test_a_feed_that_comes_by_at_the_same_moment_leaves_one_row(at: At) -> None:
    here = at("R1")
    current = here.database["things"].find_one({"_id": "K-0"})
    assert current is not None
    able = guards.abilities(server_of(here), f"{here.database.name}.things", Value.of("K-0"))
    assert able.counts, "this server cannot count fields, and so not take a row out again"
    row = copied(Maker(NAMES["default"], 9), current)
    act = lambda: here.database["things_past"].insert_one(row)  # noqa: E731
    (outcome,) = done(here, Between(server_of(here), "insert", act, behind=True))
    assert outcome.kind == "conflict"
    assert list(here.database["things_past"].find({"docId": "K-0", "v": 3})) == [row]


def test_a_row_that_cannot_be_taken_out_again_is_not_said_to_be_refused(at: At) -> None:
    here = at("R1")

    class Gone(FaultyServer):
        """Behind the row the feed brings its own; what looks for it still gets an answer, and then nothing does."""

        answers = 10**6

        def send(self, write: Write) -> Reply:
            reply = super().send(write)
            current = here.database["things"].find_one({"_id": "K-0"})
            here.database["things_past"].insert_one(copied(Maker(NAMES["default"], 9), current or {}))
            self.answers = 2
            return reply

        def find(self, *args: Any, **named: Any) -> Iterator[bytes]:
            self.answers -= 1
            if self.answers < 0:
                raise Unreachable("The connection was lost; try again.")
            return super().find(*args, **named)

    (outcome,) = done(here, Gone(server_of(here)))
    assert here.database["things_past"].count_documents({"docId": "K-0", "v": 3}) == 2
    assert outcome.kind == "unknown"
    assert "could not be taken out again" in outcome.detail
    assert "nothing was written" not in outcome.detail


def test_a_number_that_another_version_has_is_said_to_be_taken_and_not_to_have_changed(at: At) -> None:
    here = at("V3")
    plan = here.plan()
    wrong = here.database["things"].find_one({"docId": "K-0", "v": {"$type": "string"}})
    assert wrong is not None
    here.database["things"].create_index([("docId", 1), ("v", 1)], unique=True)
    here.database["things"].insert_one({"docId": "K-0", "v": int(wrong["v"]), "title": "another"})
    (outcome,) = done(here, plan=plan)
    assert (outcome.kind, "unique index" in outcome.detail) == ("conflict", True)


@pytest.mark.parametrize("fault", ["never", "lost", "late"])
@pytest.mark.parametrize("name", ["A3", "E1 order", "S1", "T1", "R1"])
def test_a_reply_that_is_lost_is_settled_by_looking(at: At, name: str, fault: Any) -> None:
    here = at(name)
    port = FaultyServer(server_of(here), [fault] * 1)
    outcomes = done(here, port)
    assert [outcome.kind for outcome in outcomes] == ["applied"], outcomes
    port.land()
    assert not here.findings()


def test_a_write_in_doubt_is_unknown_and_the_next_run_of_the_plan_knows_it(at: At) -> None:
    here = at("E1 order")
    plan = here.plan()
    port = FaultyServer(server_of(here), ["never", "late"])
    (outcome,) = done(here, port, plan)
    assert outcome.kind == "unknown"
    assert outcome.entry is not None
    assert here.session.way_back.look_again(outcome.entry).kind == "unknown"
    port.land()
    assert [each.kind for each in done(here, plan=plan)] == ["skipped"]
    assert here.session.journal.entry(outcome.entry).kind == "applied"
    assert here.session.way_back.undo(outcome.entry).kind == "applied"


# --- what is never done by itself


def test_versions_that_differ_are_left_to_a_person(at: At) -> None:
    here = at("V1")
    plan = here.plan()
    here.database["things"].update_one({"docId": "K-0", "v": 2}, {"$set": {"title": "another"}})
    (told,) = [each for each in here.findings(told=False) if each.code == "V1"]
    assert told.repair is None
    forced = here.session.repairs.plan([_with_repair(told, "remove-duplicate")])
    (outcome,) = done(here, plan=forced)
    assert outcome.kind == "refused"
    assert "for a person to say" in outcome.detail
    assert [each.kind for each in done(here, plan=plan)] == ["skipped"]


def _with_repair(told: Finding, repair: str) -> Finding:
    return structs.replace(told, repair=repair)


def test_nothing_is_removed_that_the_plan_does_not_name(at: At) -> None:
    here = at("A3")
    plan = here.plan()
    here.database["things_past"].insert_one({"docId": "K-0", "v": 9, "title": "a later phantom"})
    assert [each.kind for each in done(here, plan=plan)] == ["applied"]
    assert here.database["things_past"].count_documents({"v": 9}) == 1


def test_what_cannot_be_kept_exactly_is_not_removed(at: At) -> None:
    here = at("A3")
    plan = here.plan()
    port = FaultyServer(server_of(here), ["never", "never"])
    (outcome,) = done(here, port, plan)
    assert outcome.kind in ("refused", "unknown")
    assert "nothing was removed" in outcome.detail
    assert here.database["things_past"].count_documents({"v": 4}) == 1


def test_a_counter_gets_what_a_person_says_and_nothing_is_assumed(at: At) -> None:
    here = at("T3 and T1")
    (item,) = here.session.repairs.plan(here.findings()).items
    plan = here.session.repairs.plan(here.findings())
    assert item.asks
    assert [each.kind for each in done(here, plan=plan)] == ["skipped"]
    assert [each.kind for each in done(here, plan=plan.with_answer(1, "leave"))] == ["skipped"]
    assert [each.kind for each in done(here, plan=plan.with_answer(1, "7"))] == ["applied"]
    assert here.database["things"].find_one({"_id": "K-0"})["count"] == 7


def test_an_unticked_item_is_left_alone(at: At) -> None:
    here = at("A3", 2)
    plan = here.plan().with_ticked(1, False)
    assert [each.kind for each in done(here, plan=plan)] == ["skipped", "applied"]


# --- allowed, confirmed, cancelled


def test_a_read_only_session_draws_and_does_not_write(at: At) -> None:
    here = at("A3")
    plan = here.plan()
    here.session.trust.read_only = True
    drawn = list(here.session.repairs.dry_run(plan))
    assert [each.verdict for each in drawn] == ["would"], drawn[0].text
    with pytest.raises(NotAllowed):
        here.session.repairs.apply(plan)


def test_production_asks_for_confirmation(at: At) -> None:
    here = at("A3")
    plan = here.plan()
    Connections(here.home).save(SavedConnection("live", here.session.source, production=True))
    with pytest.raises(NotAllowed, match="confirm"):
        here.session.repairs.apply(plan)
    assert [outcome.kind for _, outcome in here.session.repairs.apply(plan, confirmed=True)] == ["applied"]


def test_a_run_is_stopped_between_items_and_goes_on_later(at: At) -> None:
    here = at("A3", 3)
    plan = here.plan()

    def stop(done: int, total: int | None) -> None:
        if done == 1:
            raise Cancelled

    first = iter(here.repairs().apply(plan, stop))
    assert next(first)[1].kind == "applied"
    with pytest.raises(Cancelled):
        next(first)
    assert [outcome.kind for outcome in done(here, plan=plan)] == ["skipped", "applied", "applied"]


# --- the way back


def test_an_item_is_undone_by_itself_and_the_run_remembers_what_is_left(at: At) -> None:
    here = at("A3", 2)
    before = snapshot(here.database)
    run = here.repairs().apply(here.plan())
    list(run)
    assert [outcome.kind for outcome in here.session.repairs.undo(run.id, only=2)] == ["applied"]
    left = [each for each in here.session.journal.records("run", run.id) if each.entry.undoable]
    assert [each.extra["item"] for each in left] == ["1"]
    assert [outcome.kind for outcome in here.session.repairs.undo(run.id)] == ["applied"]
    assert snapshot(here.database) == before
    with pytest.raises(NotFound):
        here.session.repairs.undo("run-none")


def test_a_row_is_not_put_back_under_a_document_that_has_moved_on(at: At) -> None:
    here = at("A3")
    run = here.repairs().apply(here.plan())
    list(run)
    here.database["things"].update_one({"_id": "K-0"}, {"$set": {"v": 4}})
    (outcome,) = here.session.repairs.undo(run.id)
    assert outcome.kind == "conflict"
    assert here.database["things_past"].count_documents({"v": 4}) == 0
    assert here.database["quarantine"].count_documents({}) == 1


def test_finished_tokens_are_put_back_though_the_counter_has_moved_since(at: At) -> None:
    here = at("T1")
    token = here.database["things"].find_one({"_id": "K-0"})["pending"]
    run = here.repairs().apply(here.plan())
    list(run)
    here.database["things"].update_one({"_id": "K-0"}, {"$inc": {"count": 100}})
    assert [outcome.kind for outcome in here.session.repairs.undo(run.id)] == ["applied", "applied"]
    doc = here.database["things"].find_one({"_id": "K-0"})
    assert (doc["count"], set(doc["pending"])) == (105, set(token))


def test_the_journal_keeps_the_bytes_and_says_what_each_write_was_for(at: At) -> None:
    here = at("E1 repeated")
    raw = snapshot(here.database)["things"]
    list(here.repairs().apply(here.plan()))
    (entry,) = here.session.journal.entries()
    record = here.session.journal.record(entry.id)
    assert (entry.action, entry.kind, record.extra["repair"]) == ("repair", "applied", "rebuild-prev")
    assert record.before in raw
    with pytest.raises(Refused, match="as a whole"):
        here.session.way_back.conflict(entry.id)


# --- what it looks like


def test_a_dry_run_of_one_item_takes_those_before_it_for_done(at: At) -> None:
    here = at("C1 and V1")
    plan = here.plan()
    (flag,) = [item.no for item in plan.items if item.finding.code == "C1"]
    (before,) = here.session.repairs.dry_run(plan, only=[1])
    assert before.verdict == "would", before.text
    (drawn,) = here.session.repairs.dry_run(plan, only=[flag])
    assert drawn.verdict == "would", drawn.text
    assert drawn.text.startswith("Would be set right")
    assert "updateOne" in drawn.sending.mongosh
    assert "update_one" in drawn.sending.pymongo
    unticked = plan.with_ticked(1, False)
    (drawn,) = here.session.repairs.dry_run(unticked, only=[flag])
    assert drawn.verdict == "refused"


def test_young_findings_have_no_repair_in_the_plan(at: At) -> None:
    here = at("A1")
    late = dt.datetime.now(dt.UTC) - dt.timedelta(days=8, hours=20)
    found = [
        each
        for each in here.session.scans.scan([f"{here.database.name}.things"], now=late)
        if isinstance(each, Finding)
    ]
    (item,) = here.session.repairs.plan(found).items
    assert item.repair is None
    assert "younger" in item.advice


def test_reports_count_what_became_of_each_item(at: At) -> None:
    here = at("A3", 2)
    plan = here.plan()
    results = [(no, outcome.kind, outcome.detail) for no, outcome in here.repairs().apply(plan)][:1]
    told = json.loads(here.session.repairs.report_json(plan, results, applied=True, run="run-1"))
    assert told["summary"] == {"applied": 1, "skipped": 1}
    page = here.session.repairs.report_html(plan, results, applied=True, run="run-1")
    assert "palimpsest undo run-1" in page
    assert "K-1" in page


def test_the_id_of_a_removed_row_names_one_copy_however_often_it_is_kept(at: At) -> None:
    here = at("A3")
    plan = here.plan()
    for behind in (True, False):  # behind the copy; then before the delete, as the copy is there
        with pytest.raises(Dead):
            done(here, Counting(server_of(here), 0, behind), plan)
    assert here.database["quarantine"].count_documents({}) == 1
    assert [each.kind for each in done(here, plan=plan)] == ["applied"]
    (row,) = here.database["quarantine"].find()
    assert set(row) == {"_id", "from", "at", "by", "doc"}
    assert bson.encode(row["doc"])
    assert Value.of(row["from"]) == Value.of(f"{here.database.name}.things_past")


def test_a_version_that_came_after_the_scan_is_not_flagged_nor_restored(at: At) -> None:
    here = at("C1 wrong")
    plan = here.plan()
    here.database["things"].insert_one({"docId": "K-0", "v": 4, "title": "later"})
    (outcome,) = done(here, plan=plan)
    assert (outcome.kind, "got v4 since the scan" in outcome.detail) == ("skipped", True)
    gone = at("A5")
    plan = gone.plan()
    gone.database["things_past"].insert_one({"docId": "K-0", "v": 4, "title": "later"})
    assert [each.kind for each in done(gone, plan=plan)] == ["skipped"]
    assert gone.database["things"].find_one({"_id": "K-0"}) is None


def test_flags_are_said_as_the_collection_says_them(at: At) -> None:
    here = at("C1 wrong")
    flags = {1: 0, 2: 1, 3: 0}
    for v, flag in flags.items():
        here.database["things"].update_one({"docId": "K-0", "v": v}, {"$set": {"current": flag}})
    assert [each.kind for each in done(here)] == ["applied"]
    found = {doc["v"]: doc["current"] for doc in here.database["things"].find({"docId": "K-0"})}
    assert found == {1: 0, 2: 0, 3: 1}


def test_a_phantom_whose_edit_lands_after_all_comes_back_with_the_next_run(at: At) -> None:
    here = at("A3")
    plan = here.plan()
    row = here.database["things_past"].find_one({"docId": "K-0", "v": 4})
    assert row is not None
    assert [each.kind for each in done(here, plan=plan)] == ["applied"]
    landed = {name: value for name, value in row.items() if name not in ("_id", "docId")}
    here.database["things"].replace_one({"_id": "K-0"}, landed)
    assert [each.kind for each in done(here, plan=plan)] == ["applied"]
    assert here.database["things_past"].find_one({"docId": "K-0", "v": 4}) == row


def test_what_is_put_back_at_the_end_of_a_run_is_told_once_more(at: At) -> None:
    here = at("A1", 2)
    run = iter(here.repairs().apply(here.plan()))
    assert next(run)[1].kind == "applied"
    here.database["things"].update_one({"_id": "K-0"}, {"$set": {"v": 4, "_w": ObjectId()}})
    told = list(run)
    assert [(no, outcome.kind) for no, outcome in told] == [(2, "applied"), (1, "conflict")]
    assert "put back" in told[-1][1].detail
    assert here.database["things_past"].count_documents({"docId": "K-0", "v": 3}) == 1
    undone = here.session.repairs.undo(here.session.journal.record(told[0][1].entry or "").extra["run"])
    assert [outcome.kind for outcome in undone] == ["applied"]
    assert here.database["things_past"].count_documents({"v": 3}) == 2
    assert [row["doc"]["docId"] for row in here.database["quarantine"].find()] == ["K-0"]
