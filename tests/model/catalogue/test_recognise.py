"""Every layout and pattern is recognised with its fields, whatever their names, and says why."""

from __future__ import annotations

import contextlib
import gc
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import bson
import pytest
from bson import Binary, Decimal128, Int64, ObjectId
from msgspec import structs
from pymongo.errors import PyMongoError

from model.catalogue.recognise import LAYOUTS, as_stated, bind, profile_for, recognise
from model.catalogue.verdict import SURE
from model.errors import NotAllowed, Refused
from model.localserver import LocalServer
from model.profile import Profile, stated
from model.recognition.sampling import JOINED_BYTES, take
from model.recognition.small_collections import SmallCollections
from model.server.retry import Server, Terms
from model.session import Session
from model.values import canonical as c
from tests import support
from tests.model.catalogue import recognition_scenes as ground
from tests.model.catalogue.recognition_scenes import NAMES, SEEDS, Db, Names, known
from tests.model.test_command_counts import stored

READS = ("model.recognition.sampling", "model.recognition.small_collections")


@pytest.fixture(params=support.some(NAMES, "others"))
def names(request: pytest.FixtureRequest) -> Names:
    return NAMES[request.param]


def stamps(names: Names) -> dict[str, str]:
    return {"version": names.version, "token": names.token, "at": names.at, "author": names.author}


@pytest.mark.parametrize("index", [True, False], ids=["index", "no index"])
def test_a_document_for_every_version_is_versions(server: Server, database: Db, names: Names, index: bool) -> None:
    ground.versions(database, names, index)
    info, profile = known(server, database.name)[names.things]
    assert (info.layout, dict(info.fields)) == ("versions", {"id": names.id, **stamps(names)})
    assert info.confidence >= (0.95 if index else 0.8)
    assert info.documents == sum(most for _, most in ground.story())
    assert not info.alternatives
    assert profile.ns == info.ns
    assert ("Unique index" in info.why) == index


@pytest.mark.parametrize("lowered", [True, False], ids=["false on others", "absent from others"])
@pytest.mark.parametrize("index", [True, False], ids=["index", "no index"])
def test_a_mark_on_just_the_newest_is_flagged(
    server: Server, database: Db, names: Names, index: bool, lowered: bool
) -> None:
    ground.flagged(database, names, index, lowered)
    info, _ = known(server, database.name)[names.things]
    assert (info.layout, dict(info.fields)) == ("flagged", {"id": names.id, **stamps(names), "current": names.flag})
    assert names.flag in info.why
    assert info.confidence >= 0.8


@pytest.mark.parametrize("index", [True, False], ids=["index", "no index"])
def test_later_versions_with_just_what_changed_are_deltas(
    server: Server, database: Db, names: Names, index: bool
) -> None:
    ground.deltas(database, names, index)
    info, _ = known(server, database.name)[names.things]
    assert (info.layout, dict(info.fields)) == ("deltas", {"id": names.id, **stamps(names)})
    assert not info.alternatives


def test_a_document_with_its_past_inside_is_embedded(server: Server, database: Db, names: Names) -> None:
    ground.embedded(database, names)
    info, _ = known(server, database.name)[names.things]
    expected = {"id": "_id", **stamps(names), "current": names.current, "prev": names.prev}
    assert (info.layout, dict(info.fields)) == ("embedded", expected)
    assert info.confidence > 0.9


def test_a_document_that_holds_what_it_was_is_nested(server: Server, database: Db, names: Names) -> None:
    ground.nested(database, names)
    info, _ = known(server, database.name)[names.things]
    assert (info.layout, dict(info.fields)) == ("nested", {"id": "_id", **stamps(names), "prev": names.prev})
    assert info.confidence > 0.9
    assert not info.alternatives


def test_lists_of_things_beside_a_version_are_no_nested_history(server: Server, database: Db) -> None:
    lines = [{"v": n, "article": f"A{n}", "price": 3 * n} for n in range(1, 4)]
    replies = [{"version": n, "text": "so it is", "by": "Jonas", "read": True} for n in (1, 2)]
    for number in range(8):
        database["orders"].insert_one({"_id": number, "v": 4, "customer": "Marta", "total": 7, "lines": lines})
        database["posts"].insert_one({"_id": number, "version": 3, "title": "x", "body": "y", "versions": replies})
    assert {info.layout for info, _ in known(server, database.name).values()} == {"plain"}


@pytest.mark.parametrize("index", [True, False], ids=["index", "no index"])
def test_a_second_collection_of_earlier_versions_is_an_archive(
    server: Server, database: Db, names: Names, index: bool
) -> None:
    ground.archive(database, names, index=index)
    found = known(server, database.name)
    info, profile = found[names.things]
    past = f"{database.name}.{names.past}"
    expected = {"id": "_id", **stamps(names), "archive": past, "archive_id": names.id}
    assert (info.layout, dict(info.fields)) == ("archive", expected)
    assert profile.archive == past
    rows, as_they_are = found[names.past]
    assert (rows.layout, rows.belongs_to) == ("archive", info.ns)
    assert as_they_are.layout == "plain"


def test_an_archive_with_the_current_version_too_is_a_streams(server: Server, database: Db, names: Names) -> None:
    ground.archive(database, names, fed=True)
    found = known(server, database.name)
    info, _ = found[names.things]
    expected = {"id": "_id", **stamps(names), "archive": f"{database.name}.{names.past}", "archive_id": names.id}
    assert (info.layout, dict(info.fields)) == ("stream", expected)
    assert (found[names.past][0].layout, found[names.past][0].belongs_to) == ("stream", info.ns)


def test_an_archive_is_found_under_any_name(server: Server, database: Db, names: Names) -> None:
    ground.archive(database, replace(names, past="drawer"))
    database["other"].insert_many([{"_id": n, "v": 1, "text": "x"} for n in range(5)])
    found = known(server, database.name)
    assert found[names.things][0].layout == "archive"
    assert found["drawer"][0].belongs_to == f"{database.name}.{names.things}"
    assert found["other"][0].layout == "plain"


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_the_hash_of_the_content_is_hashed(server: Server, database: Db, names: Names, algorithm: str) -> None:
    ground.hashed(database, names, algorithm)
    info, profile = known(server, database.name)[names.things]
    assert (info.layout, dict(info.fields)) == ("hashed", {"id": "_id", "hash": names.hash})
    assert profile.hash == names.hash
    assert info.confidence > 0.9


def test_patterns_are_recognised(server: Server, database: Db, names: Names) -> None:
    ground.sequence(database, names)
    ground.pending(database, names)
    ground.processed(database, names)
    found = {name: (info.layout, dict(info.fields)) for name, (info, _) in known(server, database.name).items()}
    tokens = {"id": "_id", "pending": names.pending, "applied": names.applied, "counter": names.count}
    assert found == {
        names.counters: ("sequence", {"id": "_id", "counter": names.counter}),
        "stats": ("pending", tokens),
        "totals": ("processed", {"id": "_id", "processed": names.processed}),
    }


def test_the_layout_bound_by_what_was_recognised_reads_the_history(server: Server, database: Db, names: Names) -> None:
    ground.archive(database, names)
    _, profile = known(server, database.name)[names.things]
    layout = bind(server, profile)
    history = list(layout.history(layout.find_id("K-4")))
    assert [str(version.v and version.v.python()) for version in history] == ["5", "4", "3", "2", "1"]
    assert {version.state for version in history} == {"present"}
    assert history[0].at == ground.when(4, 5)


# --- what belongs to the content


def test_a_hash_says_whether_the_time_belongs_to_the_content(server: Server, database: Db) -> None:
    things = database["things"]
    things.create_index([("docId", 1), ("v", 1)], unique=True)
    for number, most in ground.story():
        for v in range(1, most + 1):
            made = {**ground.content(number, v), "changedAt": ground.when(number, v)}
            things.insert_one({"docId": number, "v": v, **made, "checksum": ground.sha1(made)})
    info, profile = known(server, database.name)["things"]
    assert (info.layout, profile.hash, profile.at) == ("versions", "checksum", "")


def test_a_date_of_the_business_is_content(server: Server, database: Db) -> None:
    things = database["things"]
    for number, most in ground.story():
        for v in range(1, most + 1):
            made = {**ground.content(number, v), "validFrom": ground.when(number, v)}
            things.insert_one({"docId": number, "v": v, **made})
    info, profile = known(server, database.name)["things"]
    assert (info.layout, profile.at, profile.author) == ("versions", "", "")


def test_a_collection_gains_no_token_unless_nearly_all_of_its_documents_carry_one(server: Server, database: Db) -> None:
    ground.versions(database, SEEDS)
    assert known(server, database.name)["contracts"][1].token == "_w"
    few = [row["_id"] for row in database["contracts"].find().limit(12)]
    database["contracts"].update_many({"_id": {"$nin": few}}, {"$unset": {"_w": 1}})
    assert known(server, database.name)["contracts"][1].token == ""
    database["contracts"].update_many({}, {"$unset": {"_w": 1}})
    assert known(server, database.name)["contracts"][1].token == ""


def test_a_profile_that_says_nothing_of_tokens_keeps_those_that_documents_carry(server: Server, database: Db) -> None:
    ground.archive(database, SEEDS)
    for said, token in (({}, "_w"), ({"token": ""}, ""), ({"token": "mark"}, "mark")):
        entry = {"ns": f"{database.name}.contracts", "layout": "archive", **said}
        profile = Profile.read({"collection": [entry]}, "x")
        assert known(server, database.name, profile)["contracts"][1].token == token
    database["contracts"].update_many({}, {"$unset": {"_w": 1}})
    open = Profile.read({"collection": [{"ns": f"{database.name}.contracts", "layout": "archive"}]}, "x")
    assert known(server, database.name, open)["contracts"][1].token == ""


def test_a_field_of_other_use_is_never_overwritten_by_a_token(server: Server, database: Db) -> None:
    database["windows"].insert_many([{"_id": n, "_w": 80 + n, "_h": 120} for n in range(9)])
    info, profile = known(server, database.name)["windows"]
    assert (info.layout, profile.token) == ("plain", "")


def test_versions_numbered_by_time_say_so(server: Server, database: Db) -> None:
    for number in range(1, 9):
        for v in range(1, 5):
            made = {"docId": f"Q-{number}", "v": ground.when(number, v), **ground.content(number, v)}
            database["quotes"].insert_one(made)
    info, profile = known(server, database.name)["quotes"]
    assert (info.layout, profile.version, profile.numbering) == ("versions", "v", "time")


def test_the_hash_of_archived_rows_is_found_under_any_name(server: Server, database: Db) -> None:
    ground.archive(database, SEEDS)
    past = database["contracts_history"]
    for row in list(past.find(projection={"_id": 1})):
        raw = next(server.find(f"{database.name}.contracts_history", {"_id": row["_id"]}))
        seal = c.hash_of(c.without(raw, ("_id", "docId", "v", "_w", "changedAt")))
        past.update_one({"_id": row["_id"]}, {"$set": {"seal": seal}})
    info, profile = known(server, database.name)["contracts"]
    assert (info.layout, profile.hash, profile.at) == ("archive", "seal", "changedAt")
    assert "seal is the hash of the content" in info.why


def test_a_field_of_the_default_name_that_is_no_hash_is_content(server: Server, database: Db) -> None:
    ground.versions(database, SEEDS)
    database["contracts"].update_many({}, {"$set": {"_versioned_id": "contract 7"}})
    info, profile = known(server, database.name)["contracts"]
    assert (info.layout, profile.hash) == ("versions", "")


# --- what a profile states, and what a person picks


def test_what_a_profile_states_is_taken_as_it_is(server: Server, database: Db) -> None:
    ground.archive(database, SEEDS)
    ns = f"{database.name}.contracts"
    given = stated(ns, "archive", token="", at="changedAt")
    found = known(server, database.name, Profile((given,)))
    info, profile = found["contracts"]
    assert (info.confidence, profile, info.documents) == (1.0, given, 24)
    assert "profile" in info.why
    assert found["contracts_history"][0].belongs_to == ns


@pytest.mark.parametrize("layout", ["versions", "flagged", "deltas"])
def test_a_picked_layout_gets_the_fields_found(server: Server, database: Db, names: Names, layout: str) -> None:
    ground.versions(database, names)
    info, _ = known(server, database.name)[names.things]
    profile = profile_for(server, info, layout)
    assert (profile.layout, profile.id, profile.version, profile.token) == (
        layout,
        names.id,
        names.version,
        names.token,
    )


def test_picking_the_layout_in_use_keeps_its_names(server: Server, database: Db) -> None:
    for number in range(1, 9):
        for v in range(1, 5):
            made = {"docId": f"Q-{number}", "v": ground.when(number, v), **ground.content(number, v)}
            database["quotes"].insert_one(made)
    info, profile = known(server, database.name)["quotes"]
    assert profile_for(server, info, "versions") == profile
    named = structs.replace(info, fields={**info.fields, "token": "", "author": "holder"})
    again = profile_for(server, named, "versions")
    assert (again.author, again.numbering) == ("holder", "time")


PICKED: dict[str, tuple[Callable[[Db, Names], None], dict[str, str]]] = {
    "embedded": (ground.embedded, {"current": "current", "prev": "prev"}),
    "nested": (ground.nested, {"prev": "prev", "version": "version"}),
    "archive": (ground.archive, {"archive_id": "id", "version": "version"}),
    "stream": (ground.archive, {"archive_id": "id", "version": "version"}),
    "hashed": (ground.hashed, {"hash": "hash"}),
}


@pytest.mark.parametrize("layout", PICKED)
def test_every_history_can_be_picked_back(server: Server, database: Db, names: Names, layout: str) -> None:
    make, expected = PICKED[layout]
    make(database, names)
    info, _ = known(server, database.name)[names.things]
    plain = profile_for(server, info, "plain")
    assert plain.layout == "plain"
    profile = profile_for(server, info, layout)
    assert profile.layout == layout
    assert {role: getattr(profile, role) for role in expected} == {
        role: getattr(names, name) for role, name in expected.items()
    }


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "plain"])
def test_a_layout_that_cannot_be_is_refused_with_the_reason(server: Server, database: Db, layout: str) -> None:
    database["people"].insert_many([{"_id": f"p{n}", "name": f"Name {n}"} for n in range(6)])
    info, _ = known(server, database.name)["people"]
    with pytest.raises(Refused, match=rf"people cannot be read as {layout}: .* in a profile\."):
        profile_for(server, info, layout)


def test_an_empty_collection_may_become_any_layout(server: Server, database: Db) -> None:
    database.create_collection("fresh")
    info, _ = known(server, database.name)["fresh"]
    assert (info.layout, info.confidence < 0.5) == ("plain", True)
    assert "empty" in info.why
    for layout in LAYOUTS:
        assert profile_for(server, info, layout).layout == layout


def test_an_empty_collection_is_judged_by_its_unique_index(server: Server, database: Db, names: Names) -> None:
    database[names.things].create_index([(names.id, 1), (names.version, -1)], unique=True)
    info, profile = known(server, database.name)[names.things]
    assert (info.layout, profile.id, profile.version) == ("versions", names.id, names.version)
    assert info.confidence < 0.5
    assert "plain" in info.alternatives


def test_an_archive_that_is_still_empty_is_found_by_name_and_index(server: Server, database: Db, names: Names) -> None:
    database[names.past].create_index([(names.id, 1), (names.version, 1)], unique=True)
    for number in range(5):
        made = {**ground.stamped(names, number, 1), **ground.content(number, 1)}
        database[names.things].insert_one({"_id": f"K-{number}", **made})
    info, profile = known(server, database.name)[names.things]
    assert (info.layout, profile.archive_id, profile.version) == ("archive", names.id, names.version)
    assert info.confidence == SURE  # nothing is in it that a write could harm


# --- odd data


def test_damage_does_not_hide_a_layout(server: Server, database: Db, names: Names) -> None:
    ground.versions(database, names, index=False)
    things = database[names.things]
    twice = things.find_one({names.id: "K-4", names.version: 2})
    assert twice is not None
    things.insert_one({**twice, "_id": ObjectId()})
    things.delete_one({names.id: "K-9", names.version: 2})
    things.update_one({names.id: "K-3", names.version: 2}, {"$set": {names.version: "2"}})
    things.insert_many([{"_id": f"odd {n}", "": 1, "a b": [1, {"x": None}]} for n in range(2)])
    with contextlib.suppress(PyMongoError):  # which MongoDB before 5 does not store
        things.insert_one({"_id": "a reference", "$ref": "x"})
    info, _ = known(server, database.name)[names.things]
    assert (info.layout, info.fields["id"], info.fields["version"]) == ("versions", names.id, names.version)


def test_versions_thinned_out_by_retention_are_versions_still(server: Server, database: Db, names: Names) -> None:
    things = database[names.things]
    for number in range(1, 13):
        for v in (20, 25, 26, 29, 30):
            things.insert_one({names.id: number, **ground.stamped(names, number, v), **ground.content(number, v)})
    info, _ = known(server, database.name)[names.things]
    assert (info.layout, info.fields["id"]) == ("versions", names.id)


@pytest.mark.parametrize("amount", [Decimal128, float], ids=["decimal", "double"])
def test_an_amount_that_never_changes_is_no_id(server: Server, database: Db, amount: Callable[[str], object]) -> None:
    rows = [
        {"net": amount(f"{document * 37 + 101}.{document % 9 + 1}"), "revision": revision, "name": f"draft {revision}"}
        for document in range(15)
        for revision in (1, 2, 3)
    ]
    database.things.insert_many(rows)
    info, _ = known(server, database.name)["things"]
    assert info.layout == "plain"
    for row in rows:
        database.things.update_one({"_id": row["_id"]}, {"$set": {"net": int(float(str(row["net"])))}})
    info, _ = known(server, database.name)["things"]
    assert info.layout == "versions"  # it is the fraction that speaks against it


def test_numbers_too_large_for_versions_do_no_harm(server: Server, database: Db) -> None:
    odd = [1e300, float("inf"), float("nan"), "9" * 40, -3, 2**62]
    rows = [{"_id": f"K-{n}", "v": [*odd, n][n % 7] if n < 30 else n} for n in range(60)]
    database["contracts"].insert_many(rows)
    database["contracts_history"].insert_many([{"docId": row["_id"], "v": row["v"]} for row in rows])
    assert set(known(server, database.name)) == {"contracts", "contracts_history"}


def test_a_view_is_listed_and_not_looked_into(server: Server, database: Db) -> None:
    ground.versions(database, SEEDS)

    class WithView(Counting):
        def collections(self, db: str) -> list[tuple[str, str, dict[str, Any]]]:
            return [*self.server.collections(db), ("open_contracts", "view", {"viewOn": "contracts"})]

        def find(self, ns: str, *args: Any, **options: Any) -> Iterator[bytes]:
            assert not ns.endswith(".open_contracts")
            return super().find(ns, *args, **options)

        def aggregate(self, ns: str, pipeline: Sequence[Terms], *args: Any, **options: Any) -> Iterator[bytes]:
            if ns.endswith(".secret") or "secret" in str(pipeline):
                raise NotAllowed("This user may not read secret.")
            return super().aggregate(ns, pipeline, *args, **options)

    found = {info.ns.partition(".")[2]: info for info, _ in recognise(WithView(server), database.name)}
    view = found["open_contracts"]
    assert (view.layout, view.documents, view.why) == ("plain", None, "A view, which can only be read.")
    with pytest.raises(Refused, match="is a view"):
        profile_for(WithView(server), view, "versions")


def test_work_says_how_far_it_is_and_can_be_stopped(server: Server, database: Db) -> None:
    ground.sequence(database, SEEDS)
    ground.pending(database, SEEDS)
    seen: list[tuple[int, int | None]] = []
    list(recognise(server, database.name, checkpoint=lambda done, total: seen.append((done, total))))
    assert [done for done, _ in seen] == [0, 1, 2, 3]
    assert {total for _, total in seen} == {4}

    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(recognise(server, database.name, checkpoint=stop))


def test_few_documents_are_read_however_many_there_are(server: Server, database: Db) -> None:
    things = database["things"]
    things.create_index([("docId", 1), ("v", 1)], unique=True)
    things.insert_many([{"docId": n // 4, "v": 1 + n % 4, "text": f"text {n // 4}"} for n in range(6000)])
    counting = Counting(server)
    ((info, _),) = recognise(counting, database.name)
    assert info.layout == "versions"
    assert info.documents == 6000
    assert counting.read < 400


def test_large_documents_are_not_read_by_the_dozen(server: Server, database: Db) -> None:
    big = "x" * 2_000_000
    database["scans"].insert_many([{"_id": n, "text": big} for n in range(12)])
    counting = Counting(server)
    ((info, _),) = recognise(counting, database.name)
    assert info.layout == "plain"
    assert counting.bytes < 12_000_000


def test_large_documents_of_several_collections_cost_one_answer_more_at_most(server: Server, database: Db) -> None:
    big = "x" * 2_000_000
    for at in range(6):
        database[f"scans{at}"].insert_many([{"_id": n, "text": big} for n in range(8)])
    database["few"].insert_one({"_id": 1})
    counting = Counting(server)
    found = list(recognise(counting, database.name))
    assert {(info.layout, info.documents) for info, _ in found} == {("plain", 8), ("plain", 1)}
    assert counting.bytes < 6 * 12_000_000 + JOINED_BYTES


def test_a_collection_that_may_not_be_read_is_listed_with_the_reason(server: Server, database: Db) -> None:
    ground.sequence(database, SEEDS)
    database["secret"].insert_one({"_id": 1})

    class Closed(Counting):
        def find(self, ns: str, *args: Any, **options: Any) -> Iterator[bytes]:
            if ns.endswith(".secret"):
                raise NotAllowed("This user may not read secret.")
            return super().find(ns, *args, **options)

        def aggregate(self, ns: str, pipeline: Sequence[Terms], *args: Any, **options: Any) -> Iterator[bytes]:
            if ns.endswith(".secret") or "secret" in str(pipeline):
                raise NotAllowed("This user may not read secret.")
            return super().aggregate(ns, pipeline, *args, **options)

    found = {info.ns.partition(".")[2]: info for info, _ in recognise(Closed(server), database.name)}
    assert found["counters"].layout == "sequence"
    assert (found["secret"].layout, found["secret"].why) == ("plain", "This user may not read secret.")


class Counting:
    """A server that counts what is read of it."""

    def __init__(self, server: Server) -> None:
        self.server, self.read, self.bytes = server, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.server, name)

    def find(self, ns: str, *args: Any, **options: Any) -> Iterator[bytes]:
        for raw in self.server.find(ns, *args, **options):
            self.read += 1
            self.bytes += len(raw)
            yield raw

    def aggregate(self, ns: str, pipeline: Sequence[Terms], *args: Any, **options: Any) -> Iterator[bytes]:
        for raw in self.server.aggregate(ns, pipeline, *args, **options):
            self.read += 1
            self.bytes += len(raw)
            yield raw


def test_a_profile_of_hashes_finds_the_token_that_documents_carry_beside_them(server: Server, database: Db) -> None:
    content = {"before": 1, "edited": "old"}
    digest = hashlib.sha1(bson.encode(content)).hexdigest()
    database["sealed"].insert_one({"_id": "a", **content, "_versioned_id": digest, "_w": ObjectId()})
    stated_one = stated(f"{database.name}.sealed", "hashed")
    _, profile = as_stated(server, stated_one)
    assert (stated_one.token, profile.token) == ("", "_w")
    other = hashlib.sha1(bson.encode({"something": "else"})).hexdigest()
    database["sealed"].update_one({}, {"$set": {"_versioned_id": other}})
    assert as_stated(server, stated_one)[1].token == ""


def test_a_small_collection_at_hand_is_asked_for_ids_as_its_server_is(server: Server, database: Db) -> None:
    stored = [1, 2.0, Int64(3), "a", ObjectId(b"palimpsest!!"), {"part": 1}, Binary(b"a"), None]
    database["ids"].insert_many([{"_id": id, "at": at} for at, id in enumerate(stored)])
    ns = f"{database.name}.ids"
    small = SmallCollections(server)
    small.hold(take(server, ns))
    asked = [Int64(1), 2, 3.0, "a", "b", ObjectId(b"palimpsest!!"), {"part": 1.0}, Binary(b"b"), 9]
    filter = {"_id": {"$in": [c.Value.of(id) for id in asked]}}
    database["ids"].delete_many({})
    assert {bson.decode(raw)["at"] for raw in small.find(ns)} == {*range(len(stored))}
    here = [bson.decode(raw)["at"] for raw in small.find(ns, filter)]
    database["ids"].insert_many([{"_id": id, "at": at} for at, id in enumerate(stored)])
    assert sorted(here) == sorted(bson.decode(raw)["at"] for raw in server.find(ns, filter)) == [0, 1, 2, 3, 4, 5]
    assert list(small.find(ns, filter, projection={"_id": 1}, skip=3, limit=1)) == [bson.encode({"_id": "a"})]


def test_the_rows_that_were_read_are_freed_once_layouts_are_known(server: Server, database: Db) -> None:
    ground.versions(database, SEEDS, True)
    database["large"].insert_one({"_id": 1, "text": "x" * 100_000})
    gc.collect()
    gc.disable()  # as in the window, where nothing is collected while a person waits
    try:
        assert known(server, database.name)
        kept = {type(each).__name__ for each in gc.get_objects() if type(each).__module__.startswith(READS)}
    finally:
        gc.enable()
    assert not kept


def test_a_partial_unique_index_is_told_as_no_unique_one() -> None:
    told = {}
    for partial in ({}, {"partialFilterExpression": {"v": {"$gt": 1}}}, {"hidden": True}):
        with LocalServer() as local, Session.open(local.uri) as session:
            for name, rows in stored("archive", 40).items():
                local.load(f"db.{name}", map(bson.encode, rows))
                if "docId" in rows[0]:
                    local.index(f"db.{name}", [("docId", 1), ("v", 1)], unique=True, **partial)
            info = session.catalogue.info("db.things")
            assert info.layout == "archive"
            told[next(iter(partial), "")] = "unique index" in info.why
    assert told == {"": True, "partialFilterExpression": False, "hidden": False}
