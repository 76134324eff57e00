"""Values at the limits of their types: none of them ends a scan, a cleanup or a repair of the others."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymongo
import pymongo.database
import pytest
from bson import Decimal128, Int64, ObjectId

from model.foundation.findings import Finding
from model.profile import Profile
from model.session import Session
from tests import support

Db = pymongo.database.Database[dict[str, Any]]
HUGE = "99999999999999999999"


@pytest.fixture
def db(local_uri: str) -> Iterator[Db]:
    """A database of this test's own, in the in-process server."""
    with pymongo.MongoClient[dict[str, Any]](local_uri) as client:
        name = f"odd_{uuid.uuid4().hex[:8]}"
        yield client[name]
        client.drop_database(name)


@contextmanager
def session(db: Db, uri: str, layout: str, **names: Any) -> Iterator[Session]:
    stated = Profile.read({"collection": [{"ns": f"{db.name}.things", "layout": layout, **names}]}, "the profile")
    with Session.open(uri, stated) as opened:
        yield opened


def findings(here: Session, db: Db) -> list[Finding]:
    return [each for each in here.scans.scan([f"{db.name}.things"]) if isinstance(each, Finding)]


@pytest.mark.parametrize("v", [HUGE, "-" + HUGE, 1e300, Decimal128("1E+300"), Decimal128("sNaN")])
def test_a_version_beyond_all_numbers_is_a_version_of_a_wrong_type(db: Db, local_uri: str, v: object) -> None:
    db.things.insert_many([{"docId": 1, "v": 1}, {"docId": 1, "v": v}])
    db.things.create_index([("docId", 1), ("v", 1)], unique=True)
    with session(db, local_uri, "versions", id="docId") as here:
        (found,) = findings(here, db)
        assert found.code == "V3"
        (item,) = here.repairs.plan([found]).items
        assert [choice.name for choice in item.choices] == ["leave"]  # there is no number to convert it to


def test_a_row_with_a_version_beyond_all_numbers_does_not_stop_a_new_document(db: Db, local_uri: str) -> None:
    db.past.insert_many([{"docId": 1, "v": 3}, {"docId": 1, "v": HUGE}])
    db.past.create_index([("docId", 1), ("v", 1)], unique=True)
    with session(db, local_uri, "archive", archive=f"{db.name}.past") as here:
        made = here.once.insert(f"{db.name}.things", {"x": 1}, 1)
        assert made.kind == "applied"
        assert made.version is not None
        assert made.version.python() == 4


@pytest.mark.parametrize("number", [Decimal128("9"), 8.5, Decimal128("8.5")])
@pytest.mark.parametrize("seq", support.every(3, [5, 5.0, Int64(5), Decimal128("5")]))
def test_a_counter_is_raised_above_numbers_of_every_type_and_keeps_its_own(
    db: Db, local_uri: str, number: object, seq: object
) -> None:
    db.things.insert_one({"_id": "bills", "seq": seq})
    db.bills.insert_many([{"_id": 1, "number": 6}, {"_id": 2, "number": number}, {"_id": 3, "number": float("inf")}])
    with session(db, local_uri, "sequence", targets={"bills": f"{db.name}.bills:number"}) as here:
        (found,) = [each for each in findings(here, db) if each.code == "S1"]
        ((_, outcome),) = here.repairs.apply(here.repairs.plan([found]))
        assert outcome.kind == "applied"
        assert "S1" not in {each.code for each in findings(here, db)}
    now = db.things.find_one({})
    assert now is not None
    assert type(now["seq"]) is type(seq)
    assert float(str(now["seq"])) == 9


def test_a_counter_is_not_raised_to_a_number_that_it_cannot_hold(db: Db, local_uri: str) -> None:
    db.things.insert_one({"_id": "bills", "seq": 5})
    db.bills.insert_one({"_id": 1, "number": 1e300})
    with session(db, local_uri, "sequence", targets={"bills": f"{db.name}.bills:number"}) as here:
        (found,) = [each for each in findings(here, db) if each.code == "S1"]
        ((_, outcome),) = here.repairs.apply(here.repairs.plan([found]))
    assert outcome.kind == "refused"
    assert "larger than any counter" in outcome.detail


def test_a_signalling_nan_does_not_end_a_scan(db: Db, local_uri: str) -> None:
    nan = Decimal128("sNaN")
    db.things.insert_one({"_id": "bills", "seq": 5})
    db.bills.insert_one({"_id": 1, "number": nan})
    with session(db, local_uri, "sequence", targets={"bills": f"{db.name}.bills:number"}) as here:
        assert {each.code for each in findings(here, db)} == {"S2"}
    db.things.drop()
    db.things.insert_many([{"_id": nan, "v": 1}, {"_id": 1, "v": "1"}])
    with session(db, local_uri, "archive", archive=f"{db.name}.past") as here:
        assert [each.code for each in findings(here, db)] == ["V3"]


def test_a_signalling_nan_in_a_list_of_entries_is_another_entry(db: Db, local_uri: str) -> None:
    db.things.insert_one({"_id": "a", "count": 1, "processed": [Decimal128("sNaN")]})
    with session(db, local_uri, "processed") as here:
        assert here.once.process(f"{db.name}.things", "a", 7).kind == "applied"


def test_a_counter_without_room_is_told_and_the_others_are_cleaned_up(db: Db, local_uri: str) -> None:
    old = ObjectId("5f0000000000000000000001")
    db.things.insert_many(
        {"_id": id, "count": count, "pending": [old], "applied": []}
        for id, count in (("a", Int64(2**63 - 1)), ("b", 1))
    )
    with session(db, local_uri, "pending") as here:
        full, other = here.tokens.pending(f"{db.name}.things")
        assert "has no room for 1" in full.problem
        assert [outcome.kind for outcome in here.tokens.finish([full, other])] == ["refused", "applied"]
        assert here.once.count(f"{db.name}.things", "a").kind == "refused"
        assert [each.repair for each in findings(here, db)] == [None]
    assert [(each["_id"], each["count"]) for each in db.things.find()] == [("a", 2**63 - 1), ("b", 2)]


def test_an_id_of_another_type_is_said_to_be_there_and_not_to_be_written_all_the_time(db: Db, local_uri: str) -> None:
    ns = f"{db.name}.things"
    for layout, document in (
        ("sequence", {"_id": 1.0, "seq": 5}),
        ("pending", {"_id": 1.0, "count": 1, "pending": [], "applied": []}),
        ("processed", {"_id": 1.0, "count": 1, "processed": []}),
    ):
        db.things.drop()
        db.things.insert_one(document)
        with session(db, local_uri, layout) as here:
            writes = {
                "sequence": lambda once: once.next(ns, 1, create=True),
                "pending": lambda once: once.count(ns, 1, create=True),
                "processed": lambda once: once.process(ns, 1, "entry", create=True),
            }
            outcome = writes[layout](here.once)
            assert outcome.kind == "refused"
            assert "1.0 (Double)" in outcome.detail
            assert len(here.journal.entries()) <= 2  # one a layout, and none for each of twenty tries
        assert list(db.things.find()) == [document]


def test_a_total_inside_a_document_is_one_total_from_its_first_entry_on(db: Db, local_uri: str) -> None:
    ns = f"{db.name}.things"
    with session(db, local_uri, "processed") as here:
        for n in range(3):
            outcome = here.once.process(ns, "Spain", f"cup {n}", field="wins.world", create=True)
            assert "wins.world is" in outcome.detail
            assert outcome.value is not None
            assert outcome.value.python() == n + 1
        db.things.update_one({}, {"$set": {"wins.europe": "many"}})
        assert "is not a number" in here.once.process(ns, "Spain", "cup 9", field="wins.europe").detail
        assert here.once.process(ns, "Spain", "cup 9", field="processed.x").kind == "refused"
    assert [each["wins"] for each in db.things.find()] == [{"world": 3, "europe": "many"}]
