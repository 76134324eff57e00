"""The one verdict for writing: by a layout that was recognised and is in doubt nothing is written, in any way."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import bson
import pymongo.database
import pytest
from bson import ObjectId

from model.catalogue.verdict import SURE
from model.errors import Refused
from model.foundation.records import Outcome
from model.session import Session
from model.values.canonical import Value
from tests.support import table

Db = pymongo.database.Database[Any]
Row = dict[str, Any]
ID = Value.of("s3")


def young(second: int) -> ObjectId:
    """An id made in this second."""
    return ObjectId((1_600_000_000 + second).to_bytes(4, "big") + second.to_bytes(8, "big"))


def versions(extra: Callable[[int, int], Row], ids: int = 5, rows: int = 3, step: int = 1) -> list[Row]:
    """States of documents of which each keeps most of the one before; ``extra`` gets number and last number."""
    made = []
    for n in range(ids):
        for v in range(1, rows + 1):
            state = {"docId": f"s{n}", "v": v * step, "name": f"n{n}", "city": f"c{n}", "price": v * 10}
            made.append({"_id": young(100 * n + v), **state, **extra(v, rows)})
    return made


def no_more(v: int, last: int) -> Row:
    return {}


def cache(database: Db) -> str:
    """Snapshots as an event store keeps them: one row for five events."""
    database["snapshots"].insert_many(versions(no_more, rows=6, step=5))
    database["snapshots"].create_index([("docId", 1), ("v", 1)], unique=True)
    return f"{database.name}.snapshots"


@pytest.fixture
def session(server_uri: str, tmp_path: Path) -> Iterator[Session]:
    with Session.open(server_uri, home=tmp_path) as opened:
        yield opened


WAYS: dict[str, Callable[[Session, str], object]] = {
    "edit": lambda session, ns: session.edit(ns, ID, {"price": 1}),
    "create by edit": lambda session, ns: session.edit(ns, "new", {"price": 1}, create=True),
    "restore": lambda session, ns: session.writing.restore(ns, ID, Value.of(5)),
    "insert": lambda session, ns: session.writing.create(ns, bson.encode({"price": 1})),
    "delete": lambda session, ns: session.writing.delete(ns, ID, session.history.version(ns, ID)),
    "purge": lambda session, ns: session.writing.purge(ns, ID, session.history.version(ns, ID)),
    "index": lambda session, ns: session.indexes.create(ns),
    "insert many": lambda session, ns: session.batches.insertion(ns, lambda: [bson.encode({"price": 1})]),
    "delete many": lambda session, ns: list(session.batches.delete(session.batches.deletion(ns, [ID]))),
    "insert the next": lambda session, ns: session.once.insert_next(ns, {"price": 1}),
    "migrate": lambda session, ns: session.exchange.migration(ns, "embedded").prepare(),
}


def ended(session: Session, ns: str, way: str) -> Outcome:
    """How a way of writing ends; what is refused before there is a document counts as refused too."""
    try:
        made = WAYS[way](session, ns)
    except Refused as error:
        return Outcome("refused", ns, None, str(error))
    outcome = made[0] if isinstance(made, list) else made
    assert isinstance(outcome, Outcome)
    return outcome


@table("way", WAYS)
def test_nothing_is_written_by_a_layout_that_is_not_sure_enough(session: Session, database: Db, way: str) -> None:
    database.drop_collection("snapshots")
    ns = cache(database)
    before = list(database["snapshots"].find())
    info = session.catalogue.info(ns)
    assert (info.layout, info.confidence < SURE) == ("versions", True)
    said = f"{ns} looks like versions, but half of the numbers or more are missing, as in a cache."
    outcome = ended(session, ns, way)
    if way == "index":
        assert outcome.kind == "skipped", "it is there"
    else:
        assert outcome.kind == "refused"
        assert outcome.detail.startswith(said)
        assert 'until a profile states layout = "versions" or another one' in outcome.detail
    assert list(database["snapshots"].find()) == before
    assert database.list_collection_names() == ["snapshots"]


def test_a_layout_in_doubt_asks_for_no_index_and_offers_none(session: Session, database: Db) -> None:
    ns = cache(database)
    database["snapshots"].drop_indexes()
    info = session.catalogue.info(ns)
    assert (info.layout, "not sure enough to write by it" in info.why) == ("versions", True)
    assert session.indexes.missing(ns) is None
    assert session.indexes.create(ns).kind == "refused"
    opened = session.writing.open(ns, ID)
    assert (opened.writable, "index" in opened.reason) == (False, False)
    assert opened.doubt.endswith("as in a cache.")


def test_a_person_who_states_the_layout_writes_by_it(session: Session, database: Db) -> None:
    ns = cache(database)
    session.catalogue.set_layout(ns, "versions")
    assert session.edit(ns, ID, {"price": 1}).kind == "applied"
    assert database["snapshots"].find_one({"docId": "s3", "v": 31})


def test_a_person_who_insists_in_the_window_writes_by_it(session: Session, database: Db) -> None:
    ns = cache(database)
    session.catalogue.accept(ns)
    assert session.edit(ns, ID, {"price": 1}).kind == "applied"


# --- the doubt of a scan


def planted(database: Db, phantoms: int, documents: int) -> str:
    """Documents with an archive; so many have a version above the current one in it, long ago."""
    for n in range(documents):
        database["things"].insert_one({"_id": f"s{n}", "v": 3, "net": n * 3, "name": f"n{n}"})
        for v in [1, 2, 4] if n < phantoms else [1, 2]:
            row = {"docId": f"s{n}", "v": v, "net": n * v, "name": f"n{n}"}
            database["things_history"].insert_one({"_id": young(100 * n + v), **row})
    database["things_history"].create_index([("docId", 1), ("v", 1)], unique=True)
    return f"{database.name}.things"


def test_what_a_scan_would_doubt_takes_no_edit_before_any_scan(session: Session, database: Db) -> None:
    ns = planted(database, 7, 30)
    assert session.catalogue.info(ns).layout == "archive"
    outcome = session.edit(ns, Value.of("s20"), {"net": 1})
    assert outcome.kind == "refused"
    assert outcome.detail.startswith(f"{ns} is taken for archive, which is in doubt: 7 of its 30 documents have the ")
    assert 'until a profile states layout = "archive" or another one for it' in outcome.detail
    assert database["things"].find_one({"_id": "s20"})["v"] == 3


def test_damage_in_few_documents_is_no_doubt_and_takes_edits(session: Session, database: Db) -> None:
    ns = planted(database, 6, 30)
    assert session.edit(ns, Value.of("s20"), {"net": 1}).kind == "applied"


def test_the_verdict_of_a_whole_scan_holds_from_then_on(session: Session, database: Db) -> None:
    ns = planted(database, 6, 30)
    assert session.edit(ns, Value.of("s20"), {"net": 1}).kind == "applied"
    for n in range(6, 9):
        row = {"docId": f"s{n}", "v": 4, "net": 0, "name": "x"}
        database["things_history"].insert_one({"_id": young(100 * n + 4), **row})
    assert session.edit(ns, Value.of("s21"), {"net": 1}).kind == "applied", "it was looked at once"
    assert {each.doubt for each in session.scans.scan([ns])} != {""}  # type: ignore[union-attr]
    assert session.edit(ns, Value.of("s22"), {"net": 1}).kind == "refused"


# --- rows that depend on one another


def day(number: int) -> dt.datetime:
    return dt.datetime(2024, 1, number)


TIES: dict[str, tuple[Callable[[int, int], Row], str]] = {
    "text for the newest": (
        lambda v, last: {"is_latest": "Y" if v == last else "N"},
        "is_latest marks the newest row alone, and has to be taken from the row before",
    ),
    "an open end": (
        lambda v, last: {"from": day(v), "until": None if v == last else day(v + 1)},
        "until is set in every row but the newest, and has to be set in the row before",
    ),
    "an end far away": (
        lambda v, last: {"validTo": dt.datetime(9999, 12, 31) if v == last else day(v + 1)},
        "validTo is set in every row but the newest, and has to be set in the row before",
    ),
    "an end inside": (
        lambda v, last: {"period": {"from": day(v)} if v == last else {"from": day(v), "to": day(v + 1)}},
        "period.to is set in every row but the newest, and has to be set in the row before",
    ),
    "an event": (
        lambda v, last: {"operation": "create" if v == 1 else "update"},
        "operation says what each row did, and does so otherwise in the first",
    ),
}


@table("name", TIES)
def test_rows_that_others_depend_on_are_not_written(session: Session, database: Db, name: str) -> None:
    extra, said = TIES[name]
    database.drop_collection("rows")
    database["rows"].insert_many(versions(extra))
    database["rows"].create_index([("docId", 1), ("v", 1)], unique=True)
    session.catalogue.look_anew()
    ns = f"{database.name}.rows"
    outcome = session.edit(ns, ID, {"price": 1})
    assert outcome.kind == "refused"
    assert outcome.detail.startswith(f"{ns} looks like versions, but {said}.")
    assert database["rows"].count_documents({}) == 15


def test_a_link_to_the_row_before_is_not_copied(session: Session, database: Db) -> None:
    rows = versions(no_more)
    for before, row in pairwise(rows):
        row["prev"] = before["_id"] if before["docId"] == row["docId"] else None
    database["rows"].insert_many(rows)
    database["rows"].create_index([("docId", 1), ("v", 1)], unique=True)
    outcome = session.edit(f"{database.name}.rows", ID, {"price": 1})
    assert (outcome.kind, "prev is the _id of the row before" in outcome.detail) == ("refused", True)


def test_a_flag_that_can_be_moved_is_moved(session: Session, database: Db) -> None:
    database["rows"].insert_many(versions(lambda v, last: {"is_latest": v == last}))
    database["rows"].create_index([("docId", 1), ("v", 1)], unique=True)
    assert session.edit(f"{database.name}.rows", ID, {"price": 1}).kind == "applied"
    assert [row["v"] for row in database["rows"].find({"docId": "s3", "is_latest": True})] == [4]


STATED = '[[collection]]\nns = "{0}"\nlayout = "versions"\nid = "docId"\nversion = "v"\n'


@table("name", TIES)
def test_a_profile_that_cannot_say_it_is_refused(server_uri: str, database: Db, tmp_path: Path, name: str) -> None:
    extra, said = TIES[name]
    database.drop_collection("rows")
    database["rows"].insert_many(versions(extra))
    database["rows"].create_index([("docId", 1), ("v", 1)], unique=True)
    ns, file = f"{database.name}.rows", tmp_path / "profile.toml"
    file.write_text(STATED.format(ns))
    with Session.open(server_uri, profile=file, home=tmp_path) as session:
        outcome = session.edit(ns, ID, {"price": 1})
        assert outcome.kind == "refused"
        assert outcome.detail.startswith(f"In {ns} {said}, which a write by the layout versions would not do.")
        assert "nothing is written by it without --yes-layout" in outcome.detail
        session.catalogue.accept(ns)
        assert session.edit(ns, ID, {"price": 1}).kind == "applied"


def test_an_archive_whose_rows_get_an_end_is_not_written(session: Session, database: Db) -> None:
    for n in range(8):
        database["things"].insert_one({"_id": f"s{n}", "v": 3, "net": 3, "name": f"n{n}"})
        for v in (1, 2):
            row = {"docId": f"s{n}", "v": v, "net": v, "name": f"n{n}", "replacedOn": day(v)}
            database["things_history"].insert_one({"_id": young(100 * n + v), **row})
    database["things_history"].create_index([("docId", 1), ("v", 1)], unique=True)
    ns = f"{database.name}.things"
    outcome = session.edit(ns, ID, {"net": 1})
    assert (session.catalogue.info(ns).layout, outcome.kind) == ("archive", "refused")
    assert "replacedOn is set in every row but the newest" in outcome.detail
    assert database["things_history"].count_documents({}) == 16


@pytest.mark.parametrize("stated", [False, True], ids=["recognised", "stated"])
def test_a_field_that_is_named_like_a_flag_and_holds_anything_else_depends_on_nothing(
    server_uri: str, database: Db, tmp_path: Path, stated: bool
) -> None:
    names = {1: "Byron", 2: "King", 3: "Lovelace"}
    rows = versions(lambda v, last: {"last": names[v], "actual": float(v // last)}, ids=1)
    database["rows"].insert_many(rows)
    database["rows"].create_index([("docId", 1), ("v", 1)], unique=True)
    ns, file = f"{database.name}.rows", tmp_path / "profile.toml"
    file.write_text(STATED.format(ns) if stated else "")
    with Session.open(server_uri, profile=file, home=tmp_path) as session:
        outcome = session.edit(ns, Value.of("s0"), {"price": 1})
        assert outcome.kind == "applied", outcome.detail


@pytest.mark.parametrize("name", ["last", "is_last"])
def test_an_ordinary_word_with_two_values_in_several_documents_is_a_flag(
    session: Session, database: Db, name: str
) -> None:
    database["rows"].insert_many(versions(lambda v, last: {name: "Y" if v == last else "N"}, ids=2))
    database["rows"].create_index([("docId", 1), ("v", 1)], unique=True)
    outcome = session.edit(f"{database.name}.rows", Value.of("s1"), {"price": 1})
    assert (outcome.kind, f"{name} marks the newest row alone" in outcome.detail) == ("refused", True)


def test_states_that_change_as_they_like_depend_on_nothing(session: Session, database: Db) -> None:
    closed = {1: False, 2: True, 3: True}
    database["rows"].insert_many(versions(lambda v, last: {"closed": closed[v], "due": day(v), "type": f"t{v % 2}"}))
    database["rows"].create_index([("docId", 1), ("v", 1)], unique=True)
    assert session.edit(f"{database.name}.rows", ID, {"price": 1}).kind == "applied"
