"""Numbers, counts, apply-once entries and hashed documents as a library: what each writes, once, and its undo."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pymongo.database
import pytest
from bson import Int64, ObjectId

from model.errors import NotAllowed, NotFound, Refused
from model.foundation.records import Outcome
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.session.exactly_once import Once
from model.userdata.journal import Intent, Journal
from model.values.canonical import Value

PROFILE = """
[[collection]]
ns = "{db}.counters"
layout = "sequence"
counter = "seq"

[[collection]]
ns = "{db}.stats"
layout = "pending"
counter = "count"

[[collection]]
ns = "{db}.teams"
layout = "processed"
id = "id"
counter = "wins"
processed = "history"

[[collection]]
ns = "{db}.days"
layout = "processed"
counter = "wins"

[[collection]]
ns = "{db}.carts"
layout = "hashed"

[[collection]]
ns = "{db}.users"
layout = "plain"
"""
LOST = Reply("unknown", retry=True, sentence="The connection was lost while the write was on its way.")
REAL: Callable[[Server, Write], Reply] = Server.send


@pytest.fixture
def session(server_uri: str, database_name: str, tmp_path: Path) -> Iterator[Session]:
    stated = tmp_path / "layouts.toml"
    stated.write_text(PROFILE.format(db=database_name), encoding="utf-8")
    with Session.open(server_uri, stated, home=tmp_path / "home") as made:
        yield made


@pytest.fixture
def once(session: Session) -> Once:
    return session.once


@pytest.fixture
def db(database_name: str) -> str:
    return database_name


def lose(monkeypatch: pytest.MonkeyPatch, *fates: str) -> None:
    """The next writes are ``never`` sent, or applied and the reply ``lost``; those after them are sound."""
    left = list(fates)

    def send(server: Server, write: Write) -> Reply:
        fate = left.pop(0) if left else "sound"
        if fate in ("sound", "lost"):
            reply = REAL(server, write)
        return reply if fate == "sound" else LOST

    monkeypatch.setattr(Server, "send", send)


# --- numbers


@pytest.mark.parametrize("last", [0, Int64(41), 41.0])
def test_a_counter_hands_out_the_next_number_and_keeps_its_type(
    once: Once, db: str, database: pymongo.database.Database, last: float
) -> None:
    database["counters"].insert_one({"_id": "orders", "seq": last, "note": "kept"})
    drawn = once.next(f"{db}.counters", "orders")
    assert (drawn.kind, drawn.value) == ("applied", Value.of(type(last)(last + 1)))
    stored = database["counters"].find_one()
    assert stored == {"_id": "orders", "seq": last + 1, "note": "kept"}
    assert type(stored["seq"]) is type(last)


def test_a_counter_that_is_not_there_is_made_on_request_only(
    once: Once, db: str, database: pymongo.database.Database
) -> None:
    refused = once.next(f"{db}.counters", "ordres")
    assert refused.kind == "refused"
    assert "check its name" in refused.detail
    assert database["counters"].count_documents({}) == 0
    assert once.next(f"{db}.counters", "orders", create=True).value == Value.of(1)
    assert once.next(f"{db}.counters", "orders", create=True).value == Value.of(2)


@pytest.mark.parametrize("damage", ["7", None, 7.5, [7], float("inf")])
def test_a_counter_that_is_no_whole_number_is_not_guessed_at(
    once: Once, db: str, database: pymongo.database.Database, damage: object
) -> None:
    database["counters"].insert_one({"_id": "orders", "seq": damage})
    refused = once.next(f"{db}.counters", "orders")
    assert refused.kind == "refused"
    assert "not a whole number" in refused.detail
    assert database["counters"].find_one() == {"_id": "orders", "seq": damage}


def test_eight_threads_get_a_hundred_numbers_and_none_twice(
    session: Session, db: str, database: pymongo.database.Database
) -> None:
    database["counters"].insert_one({"_id": "orders", "seq": 0})
    drawn: list[Outcome] = []

    def draw() -> None:
        drawn.extend(session.once.next(f"{db}.counters", "orders") for _ in range(12))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.kind for each in drawn} == {"applied"}
    numbers = [int(each.value.python()) for each in drawn if each.value is not None]
    assert sorted(numbers) == list(range(1, 97))


def test_a_number_in_doubt_goes_to_nobody(
    once: Once, db: str, database: pymongo.database.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database["counters"].insert_one({"_id": "orders", "seq": 4})
    lose(monkeypatch, "lost")
    assert once.next(f"{db}.counters", "orders").value == Value.of(6)
    lose(monkeypatch, "never")
    assert once.next(f"{db}.counters", "orders").value == Value.of(7)
    lose(monkeypatch, "lost", "lost")
    doubtful = once.next(f"{db}.counters", "orders")
    assert (doubtful.kind, doubtful.value) == ("unknown", None)
    monkeypatch.undo()
    assert once.next(f"{db}.counters", "orders").value == Value.of(10)


def test_a_number_that_was_handed_out_is_not_taken_back(
    session: Session, db: str, database: pymongo.database.Database
) -> None:
    database["counters"].insert_one({"_id": "orders", "seq": 4})
    drawn = session.once.next(f"{db}.counters", "orders")
    (entry,) = session.journal.entries()
    assert (entry.action, entry.kind, entry.undoable) == ("next number", "applied", False)
    assert "use it already" in entry.why_not
    assert drawn.entry == entry.id


def test_a_document_is_inserted_under_the_number_after_the_highest(
    session: Session, db: str, database: pymongo.database.Database
) -> None:
    first = session.once.insert_next(f"{db}.users", {"name": "Grace H."})
    second = session.once.insert_next(f"{db}.users", {"name": "Ted R."})
    assert [first.value, second.value] == [Value.of(1), Value.of(2)]
    assert [(each["_id"], each["name"]) for each in database["users"].find()] == [(1, "Grace H."), (2, "Ted R.")]
    assert second.entry is not None
    assert session.way_back.undo(second.entry).kind == "applied"
    assert [each["_id"] for each in database["users"].find()] == [1]


def test_a_collection_that_is_not_there_yet_begins_with_1(
    session: Session, db: str, database: pymongo.database.Database, client: pymongo.MongoClient
) -> None:
    first = session.once.insert_next(f"{db}.fresh", {"name": "Grace H."})
    assert (first.kind, first.value) == ("applied", Value.of(1))
    assert f"The collection {db}.fresh is new." in first.detail
    second = session.once.insert_next(f"{db}.fresh", {"name": "Ted R."})
    assert second.value == Value.of(2)
    assert "is new" not in second.detail
    assert [(each["_id"], each["name"]) for each in database["fresh"].find()] == [(1, "Grace H."), (2, "Ted R.")]
    assert session.once.insert_next(f"{db}.later", {"a": 1}, field="number").kind == "refused"
    with pytest.raises(Refused, match="is not a collection"):
        session.once.insert_next("nowhere", {"a": 1})
    with pytest.raises(NotFound):
        session.catalogue.info(f"{db}.later")
    try:
        assert session.once.insert_next(f"{db}_too.fresh", {"a": 1}).value == Value.of(1), "in a new database too"
    finally:
        client.drop_database(f"{db}_too")


def test_an_insert_that_would_have_begun_a_collection_and_never_arrived_may_still_arrive(
    session: Session, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "send", lambda server, write: LOST)
    outcome = session.once.insert_next(f"{db}.fresh", {"name": "Grace H."})
    assert outcome.kind == "unknown"
    settled = session.way_back.settle(outcome)
    assert (settled.kind, "may still arrive" in settled.detail) == ("unknown", True)


def test_a_lost_reply_inserts_no_second_document(
    once: Once, db: str, database: pymongo.database.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for fate in ("lost", "never"):
        lose(monkeypatch, fate)
        assert once.insert_next(f"{db}.users", {"name": fate}).kind == "applied"
    assert [each["name"] for each in database["users"].find().sort("_id")] == ["lost", "never"]


def test_a_number_in_a_field_needs_a_unique_index(once: Once, db: str, database: pymongo.database.Database) -> None:
    refused = once.insert_next(f"{db}.users", {"name": "Ann"}, field="number")
    assert refused.kind == "refused"
    assert "unique index on number" in refused.detail
    database["users"].create_index("number", unique=True)
    database["users"].insert_one({"_id": "first", "number": 9})
    assert once.insert_next(f"{db}.users", {"name": "Ann"}, field="number").value == Value.of(10)
    assert database["users"].find_one({"name": "Ann"})["number"] == 10


def test_where_no_id_is_a_number_none_is_made_up(once: Once, db: str, database: pymongo.database.Database) -> None:
    database["users"].insert_one({"_id": "ann"})
    refused = once.insert_next(f"{db}.users", {"name": "Ted R."})
    assert (refused.kind, "name a counter" in refused.detail) == ("refused", True)
    assert database["users"].count_documents({}) == 1


def test_with_a_counter_the_number_of_a_deleted_document_is_not_used_again(
    once: Once, db: str, database: pymongo.database.Database
) -> None:
    database["counters"].insert_one({"_id": "users", "seq": 3})
    database["users"].insert_one({"_id": 7})  # class S1: the counter is behind
    counter = (f"{db}.counters", "users")
    assert once.insert_next(f"{db}.users", {"n": 1}, counter=counter).value == Value.of(8)
    database["users"].delete_one({"_id": 8})
    assert once.insert_next(f"{db}.users", {"n": 2}, counter=counter).value == Value.of(9)
    assert once.insert_next(f"{db}.users", {"n": 3}).value == Value.of(10)
    database["users"].delete_one({"_id": 10})
    assert once.insert_next(f"{db}.users", {"n": 4}).value == Value.of(10), "without one it is, as the manual says"


# --- counts


def test_a_count_takes_two_steps_and_notes_its_token(
    session: Session, db: str, database: pymongo.database.Database
) -> None:
    database["stats"].insert_one({"_id": "2016-06-28", "count": 41})
    token = ObjectId()
    done = session.once.count(f"{db}.stats", "2016-06-28", token)
    assert (done.kind, done.value) == ("applied", Value.of(42))
    assert database["stats"].find_one() == {"_id": "2016-06-28", "count": 42, "pending": [], "applied": [token]}
    assert [entry.action for entry in session.journal.entries()] == ["finish", "add token"]
    again = session.once.count(f"{db}.stats", "2016-06-28", token)
    assert (again.kind, again.value) == ("skipped", Value.of(42))


def test_a_count_is_undone_step_by_step(session: Session, db: str, database: pymongo.database.Database) -> None:
    database["stats"].insert_one({"_id": "day", "count": 41, "pending": [], "applied": []})
    session.once.count(f"{db}.stats", "day", by=5, owner="billing-3")
    assert database["stats"].find_one()["count"] == 46
    finished, added = session.journal.entries()
    assert session.way_back.undo(finished.id).kind == "applied"
    (token,) = session.tokens.pending(f"{db}.stats")
    assert (token.amount, token.owner, token.counter) == (5, "billing-3", Value.of(41))
    assert session.way_back.undo(added.id).kind == "applied"
    assert database["stats"].find_one() == {"_id": "day", "count": 41, "pending": [], "applied": []}


@pytest.mark.parametrize("applied", [{}, {"applied": []}])
def test_a_dropped_token_is_gone_uncounted_and_comes_back(
    session: Session, db: str, database: pymongo.database.Database, applied: dict[str, object]
) -> None:
    old, young = ObjectId("650000000000000000000000"), ObjectId()
    before = {"_id": "day", "count": 41, "pending": [old, young], **applied}
    database["stats"].insert_one(before)
    ends = list(session.tokens.drop(list(session.tokens.pending(f"{db}.stats"))))
    assert [end.kind for end in ends] == ["applied", "skipped"]
    assert "may still be at work" in ends[1].detail
    assert database["stats"].find_one() == before | {"pending": [young]}
    assert ends[0].entry is not None
    assert session.way_back.undo(ends[0].entry).kind == "applied"
    stored = database["stats"].find_one()
    assert (stored["count"], stored["pending"]) == (41, [young, old])
    assert session.way_back.undo(session.journal.entries()[0].id).kind == "applied"
    assert database["stats"].find_one()["pending"] == [young]


def test_dropping_a_token_that_was_counted_only_takes_it_out(
    session: Session, db: str, database: pymongo.database.Database
) -> None:
    old = ObjectId("650000000000000000000000")
    database["stats"].insert_one({"_id": "day", "count": 42, "pending": [old], "applied": [old]})
    (end,) = session.tokens.drop(list(session.tokens.pending(f"{db}.stats")))
    assert (end.kind, "counted already" in end.detail) == ("applied", True)
    assert database["stats"].find_one() == {"_id": "day", "count": 42, "pending": [], "applied": [old]}


@pytest.mark.parametrize("token", [{"t": ObjectId("650000000000000000000000"), "owner": "a"}, "text"])
@pytest.mark.parametrize("fate", ["lost", "never"])
def test_a_drop_in_doubt_is_looked_for_and_spares_its_neighbours(
    session: Session,
    db: str,
    database: pymongo.database.Database,
    monkeypatch: pytest.MonkeyPatch,
    token: object,
    fate: str,
) -> None:
    neighbours = ["t-2", {"t": ObjectId("650000000000000000000000")}]
    database["stats"].insert_one({"_id": "day", "count": 1, "pending": [token, *neighbours]})
    listed = list(session.tokens.pending(f"{db}.stats"))
    lose(monkeypatch, fate)
    (end,) = session.tokens.drop(listed[:1], confirmed=True)
    assert end.kind == "applied"
    assert database["stats"].find_one()["pending"] == neighbours


def test_what_dropping_would_send_can_be_read_first(
    session: Session, db: str, database: pymongo.database.Database
) -> None:
    database["stats"].insert_one({"_id": "day", "count": 41, "pending": [ObjectId()], "applied": []})
    (token,) = session.tokens.pending(f"{db}.stats")
    shown = session.tokens.preview(token, drop=True)
    assert "$pull" in shown.pymongo
    assert "$inc" not in shown.pymongo
    assert "will not be counted" in shown.explanation


def test_a_document_without_counter_is_made_on_request_only(
    once: Once, db: str, database: pymongo.database.Database
) -> None:
    assert once.count(f"{db}.stats", "day").kind == "refused"
    assert database["stats"].count_documents({}) == 0
    assert once.count(f"{db}.stats", "day", create=True).value == Value.of(1)
    assert once.count(f"{db}.stats", "day", create=True).value == Value.of(2)
    database["stats"].insert_one({"_id": "null", "count": None})
    assert once.count(f"{db}.stats", "null").value == Value.of(1)


@pytest.mark.parametrize(("step", "fate"), [(0, "lost"), (0, "never"), (1, "lost"), (1, "never")])
@pytest.mark.parametrize("there", [True, False])
def test_a_fault_at_either_step_counts_once(
    once: Once,
    db: str,
    database: pymongo.database.Database,
    monkeypatch: pytest.MonkeyPatch,
    step: int,
    fate: str,
    there: bool,
) -> None:
    if there:
        database["stats"].insert_one({"_id": "day", "count": 0})
    lose(monkeypatch, *["sound"] * step, fate)
    assert once.count(f"{db}.stats", "day", create=True).kind == "applied"
    assert database["stats"].find_one()["count"] == 1


def test_a_writer_that_dies_between_the_steps_goes_on_with_the_same_token(
    once: Once, db: str, database: pymongo.database.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database["stats"].insert_one({"_id": "day", "count": 0})
    lose(monkeypatch, "sound", "never", "never")
    assert once.count(f"{db}.stats", "day", "order-7").kind == "unknown"
    monkeypatch.undo()
    assert database["stats"].find_one()["pending"] == ["order-7"]
    assert once.count(f"{db}.stats", "day", "order-7").kind == "applied"
    assert once.count(f"{db}.stats", "day", "order-7").kind == "skipped"
    assert database["stats"].find_one()["count"] == 1


def test_a_count_whose_journal_is_full_behind_step_one_says_that_the_token_waits(
    once: Once, db: str, database: pymongo.database.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.stats.insert_one({"_id": "day", "count": 0, "pending": [], "applied": []})
    begin, left = Journal.begin, [1]

    def full(self: Journal, intent: Intent) -> str:
        if not left:
            raise Refused("The journal cannot be used (database or disk is full): make room there.")
        left.pop()
        return begin(self, intent)

    monkeypatch.setattr(Journal, "begin", full)
    outcome = once.count(f"{db}.stats", "day", "order-7")
    assert database.stats.find_one() == {"_id": "day", "count": 0, "pending": ["order-7"], "applied": []}
    assert outcome.kind == "unknown", "a cleanup will count it"
    assert "waits in pending and is not counted yet" in outcome.detail
    assert "disk is full" in outcome.detail


def test_a_late_duplicate_of_step_one_does_not_count_twice(
    session: Session,
    db: str,
    server_uri: str,
    database: pymongo.database.Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database["stats"].insert_one({"_id": "day", "count": 0})
    sent: list[Write] = []

    def send(server: Server, write: Write) -> Reply:
        sent.append(write)
        return REAL(server, write)

    monkeypatch.setattr(Server, "send", send)
    session.once.count(f"{db}.stats", "day")
    with Server.connect(server_uri) as server:
        assert [REAL(server, write).applied for write in sent] == ["no", "no"]
    assert database["stats"].find_one()["count"] == 1
    assert not list(session.tokens.pending(f"{db}.stats"))


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"count": "41"}, "not a number"),
        ({"count": 1, "pending": "x"}, "not a list"),
        ({"count": 1, "applied": 3}, "not a list"),
    ],
)
def test_a_document_that_cannot_be_counted_in_gets_no_token(
    once: Once, db: str, database: pymongo.database.Database, document: dict[str, object], said: str
) -> None:
    database["stats"].insert_one({"_id": "day", **document})
    refused = once.count(f"{db}.stats", "day")
    assert refused.kind == "refused"
    assert said in refused.detail
    assert database["stats"].find_one() == {"_id": "day", **document}


def test_a_collection_that_is_nothing_of_the_kind_is_refused(
    once: Once, db: str, database: pymongo.database.Database
) -> None:
    database["users"].insert_one({"_id": "day", "count": 1})
    for refused in (once.count(f"{db}.users", "day"), once.process(f"{db}.users", "day", "e")):
        assert refused.kind == "refused"
        assert "taken for plain" in refused.detail


# --- apply-once lists


def test_an_entry_raises_the_total_once_and_is_taken_back(
    session: Session, db: str, database: pymongo.database.Database
) -> None:
    spain = {"_id": 1, "id": 9999, "name": "Spain", "wins": 0, "history": ["germany-2006"]}
    database["teams"].insert_one(spain)
    ends = [session.once.process(f"{db}.teams", 9999, "south-africa-2010") for _ in range(3)]
    assert [end.kind for end in ends] == ["applied", "skipped", "skipped"]
    assert {end.value for end in ends} == {Value.of(1)}
    stored = database["teams"].find_one()
    assert (stored["wins"], stored["history"]) == (1, ["germany-2006", "south-africa-2010"])
    (entry,) = session.journal.entries()
    assert session.way_back.undo(entry.id).kind == "applied"
    assert database["teams"].find_one() == spain
    assert session.way_back.undo(session.journal.entries()[0].id).kind == "applied"
    assert database["teams"].find_one()["wins"] == 1


def test_a_document_for_a_key_is_made_once_however_often_it_is_asked_for(
    once: Once, db: str, database: pymongo.database.Database
) -> None:
    refused = once.process(f"{db}.teams", 9999, "brasil-2014", create=True)
    assert "unique index on id" in refused.detail
    database["teams"].create_index("id", unique=True)
    entries = ("brasil-2014", "germany-2006", "brasil-2014", "germany-2006")
    kinds = [once.process(f"{db}.teams", 9999, each, create=True).kind for each in entries]
    assert kinds == ["applied", "applied", "skipped", "skipped"]
    (stored,) = database["teams"].find()
    assert (stored["wins"], stored["history"]) == (2, ["brasil-2014", "germany-2006"])


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("fate", ["lost", "never"])
def test_a_lost_reply_raises_the_total_once(
    once: Once, db: str, database: pymongo.database.Database, monkeypatch: pytest.MonkeyPatch, fate: str, there: bool
) -> None:
    if there:
        database["days"].insert_one({"_id": "monday", "wins": 0})
    lose(monkeypatch, fate)
    assert once.process(f"{db}.days", "monday", "e", create=True).kind == "applied"
    assert [each["wins"] for each in database["days"].find()] == [1]


def test_two_that_make_the_same_document_both_count(
    once: Once, db: str, database: pymongo.database.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(server: Server, write: Write) -> Reply:
        if write.kind == "insert":
            database["days"].insert_one({"_id": "monday", "wins": 1, "processed": ["theirs"]})
        return REAL(server, write)

    monkeypatch.setattr(Server, "send", send)
    assert once.process(f"{db}.days", "monday", "mine", create=True).kind == "applied"
    assert database["days"].find_one() == {"_id": "monday", "wins": 2, "processed": ["theirs", "mine"]}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"wins": "3"}, "not a number"),
        ({"wins": 3, "history": "x"}, "not a list"),
        ({"points": 3, "history": []}, "say which field is the total (points)"),
    ],
)
def test_a_total_is_not_guessed_at(
    once: Once, db: str, database: pymongo.database.Database, document: dict[str, object], said: str
) -> None:
    database["teams"].insert_one({"_id": 1, "id": 9999, **document})
    refused = once.process(f"{db}.teams", 9999, "e")
    assert refused.kind == "refused"
    assert said in refused.detail


def test_two_documents_for_one_key_are_a_persons_matter(
    once: Once, db: str, database: pymongo.database.Database
) -> None:
    database["teams"].insert_many([{"id": 9999, "wins": 0}, {"id": 9999, "wins": 0}])
    assert "several documents" in once.process(f"{db}.teams", 9999, "e").detail


def test_an_entry_in_doubt_can_be_looked_for(
    session: Session, db: str, database: pymongo.database.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database["days"].insert_one({"_id": "monday", "wins": 0})
    lose(monkeypatch, "never", "never")
    doubtful = session.once.process(f"{db}.days", "monday", "e")
    assert doubtful.kind == "unknown"
    assert session.way_back.settle(doubtful).kind == "unknown", "it may still arrive"
    database["days"].update_one({"_id": "monday"}, {"$inc": {"wins": 1}, "$addToSet": {"processed": "e"}})
    assert session.way_back.settle(doubtful).kind == "applied"


def test_a_read_only_session_counts_nothing(session: Session, db: str) -> None:
    session.trust.read_only = True
    once = session.once
    acts: list[Callable[[], Outcome]] = [
        lambda: once.next(f"{db}.counters", "a", create=True),
        lambda: once.count(f"{db}.stats", "a", create=True),
        lambda: once.process(f"{db}.days", "a", "e", create=True),
        lambda: once.insert_next(f"{db}.users", {"a": 1}),
        lambda: once.insert(f"{db}.carts", {"a": 1}),
    ]
    for act in acts:
        with pytest.raises(NotAllowed):
            act()


class Killed(BaseException):
    """The process is gone."""


ACTS: dict[str, tuple[int, Callable[[Once, str], Outcome]]] = {
    "next": (0, lambda once, db: once.next(f"{db}.counters", "orders")),
    "insert next": (0, lambda once, db: once.insert_next(f"{db}.users", {"mark": "mine"})),
    "step one": (0, lambda once, db: once.count(f"{db}.stats", "day", "t")),
    "step two": (1, lambda once, db: once.count(f"{db}.stats", "day", "t")),
    "first of its day": (0, lambda once, db: once.count(f"{db}.stats", "new", "t", create=True)),
    "process": (0, lambda once, db: once.process(f"{db}.days", "monday", "e")),
}


@pytest.mark.parametrize("arrived", [True, False])
@pytest.mark.parametrize("act", ACTS)
def test_what_a_killed_process_wrote_is_told_and_repeating_it_is_safe(
    session: Session,
    db: str,
    database: pymongo.database.Database,
    monkeypatch: pytest.MonkeyPatch,
    act: str,
    arrived: bool,
) -> None:
    database["counters"].insert_one({"_id": "orders", "seq": 4})
    database["stats"].insert_one({"_id": "day", "count": 0, "applied": []})
    database["days"].insert_one({"_id": "monday", "wins": 0})
    left, do = ACTS[act]

    def send(server: Server, write: Write) -> Reply:
        nonlocal left
        left -= 1
        if left >= 0 or arrived:
            reply = REAL(server, write)
        if left < 0:
            raise Killed
        return reply

    monkeypatch.setattr(Server, "send", send)
    with pytest.raises(Killed):
        do(session.once, db)
    monkeypatch.undo()
    entry = session.journal.entries()[0]
    assert entry.kind == "begun"
    found = session.way_back.look_again(entry.id)
    expected = {"next": "skipped"}.get(act, "applied" if arrived else "unknown")
    assert found.kind == expected, found
    if act == "insert next":
        assert database["users"].count_documents({"mark": "mine"}) == int(arrived)
        return
    assert do(session.once, db).kind in ("applied", "skipped")
    if act != "next":
        assert database["days"].find_one()["wins"] == (act == "process")
        assert sum(doc["count"] for doc in database["stats"].find()) == (act != "process")
