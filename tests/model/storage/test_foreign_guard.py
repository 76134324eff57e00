"""The lock field of another program: guarded as read, moved by every write, and not part of the content."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest
from bson import Binary, Int64, ObjectId, Timestamp

from model.catalogue.recognise import recognise
from model.foundation.collection_profile import LockField
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE
from model.server.retry import Server, Write
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from tests.model.layouts.layout_support import doc, layout_of, raw_find
from tests.model.server.faulty_server import FaultyServer

ID = Value.of("K-1")
OWN_DOCUMENTS = ("versions", "flagged", "deltas")
IN_PLACE = [name for name in WRITABLE if name not in OWN_DOCUMENTS]
INC = LockField("__v", "inc")


@pytest.fixture(params=IN_PLACE)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def document(server: Server, layout: Layout) -> dict[str, Any]:
    (found,) = raw_find(server, layout.ns, **{layout.profile.id: "K-1"})
    return found


def put(server: Server, layout: Layout, value: Any, field: str = "__v") -> None:
    """Give the document a lock's value, as the other program."""
    physical = document(server, layout)["_id"]
    assert server.send(Write(layout.ns, "update", {"_id": physical}, {"$set": {field: None}})).applied == "yes"
    assert server.send(Write(layout.ns, "update", {"_id": physical}, {"$set": {field: value}})).applied == "yes"


@pytest.mark.parametrize("content", [doc(a=2, b=1), doc(b=1, a=2), doc(a=1)], ids=["operators", "whole", "unset"])
def test_every_edit_raises_it_by_one_in_the_write_that_is_guarded_by_it(
    name: str, content: bytes, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name, guard=INC)
    assert layout.create(doc(a=1, b=1), ID).kind == "applied"
    assert document(server, layout)["__v"] == 0
    put(server, layout, 7)
    base = layout.version(ID)
    outcome = layout.swap(ID, base, content)
    assert outcome.kind == "applied", outcome
    now = document(server, layout)["__v"]
    assert now == 8 if "order" not in outcome.detail else now in (8, 9)  # its hash is set once more there
    assert layout.version(ID).content == content or "order" in outcome.detail
    assert layout.swap(ID, base, content).kind == "conflict", "from a base that is gone"


def test_a_save_of_the_other_program_in_between_is_a_conflict_and_leaves_nothing_behind(
    name: str, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name, guard=INC)
    layout.create(doc(a=1, tags=["x"]), ID)
    base = layout.version(ID)
    put(server, layout, 1)  # it pushed onto a list, say, and raised its lock
    before = [raw_find(server, ns) for ns in (layout.ns, layout.profile.archive) if ns]
    outcome = layout.swap(ID, base, doc(a=2, tags=["x"]))
    assert (outcome.kind, "in place" in outcome.detail) == ("conflict", True), outcome
    assert layout.delete(ID, base).kind == "conflict"
    assert [raw_find(server, ns) for ns in (layout.ns, layout.profile.archive) if ns] == before


def test_it_is_no_content_and_an_old_state_does_not_bring_its_old_number_back(
    name: str, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name, guard=INC)
    layout.create(doc(a=1), ID)
    first = layout.version(ID)
    assert first.content == doc(a=1)
    assert "__v" not in [field for field, _ in c.fields(first.content or b"")]
    layout.swap(ID, first, doc(a=2))
    assert layout.swap(ID, layout.version(ID), first.content or b"").kind == "applied"
    assert document(server, layout)["__v"] == 2
    assert all("__v" not in c.decode(each.content or c.EMPTY) for each in layout.history(ID, contents=True))
    if layout.name != "embedded":
        assert "__v" in layout.locked
        assert "kept by the layout" in layout.unfit(doc(__v=9))


@pytest.mark.parametrize(
    ("how", "value"),
    [
        ("inc", 7),
        ("inc", Int64(7)),
        ("inc", Int64(2**40)),
        ("inc", 2**31 - 1),
        ("inc", 7.0),
        ("uuid", "6fea6152-0988-4410-9107-c570910e7173"),
        ("uuid", "D1FF40BF-0D3E-4EA8-9114-C1E6394C6F9C"),
        ("uuid", Binary(b"0123456789abcdef", 4)),
        ("uuid", Binary(b"0123456789abcdef", 3)),
        ("uuid", ObjectId("5f0000000000000000000001")),
        ("uuid", "0" * 40),
    ],
    ids=repr,
)
def test_it_keeps_its_type_and_form_and_a_new_document_gets_one_of_that_type(
    how: str, value: Any, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, "plain", guard=LockField("lock", how))
    layout.create(doc(a=1), ID)
    put(server, layout, value, "lock")
    before = document(server, layout)["lock"]
    assert layout.swap(ID, layout.version(ID), doc(a=2)).kind == "applied"
    after = document(server, layout)["lock"]
    assert after != before
    if how == "inc":
        assert after == before + 1
        assert type(after) is (type(before) if before != 2**31 - 1 else Int64)
    else:
        assert type(after) is type(before)
        assert getattr(after, "subtype", None) == getattr(before, "subtype", None)
        if isinstance(before, str):
            assert [ch == "-" for ch in after] == [ch == "-" for ch in before]
            assert after in (after.upper() if before.isupper() else after.lower(), after)
    assert layout.create(doc(a=1), Value.of("K-2")).kind == "applied"
    (other,) = raw_find(server, layout.ns, _id="K-2")
    assert type(other["lock"]) is type(after if how == "uuid" else before if before != 2**31 - 1 else after)


@pytest.mark.parametrize(
    ("how", "value"), [("inc", "seven"), ("inc", 1.5), ("uuid", 7), ("uuid", "a word"), ("inc", [1])]
)
def test_a_value_that_does_not_move_as_stated_is_refused_in_a_sentence(
    name: str, how: str, value: Any, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name, guard=LockField("__v", how))
    layout.create(doc(a=1), ID)
    put(server, layout, value)
    base = layout.version(ID)
    outcome = layout.swap(ID, base, doc(a=2))
    assert (outcome.kind, outcome.detail) == ("refused", layout.writable(base))
    assert "__v of this document is " in outcome.detail
    assert layout.version(ID).content == doc(a=1)


def test_a_document_that_lacks_it_is_edited_without_one_and_keeps_lacking_it(
    name: str, server: Server, database_name: str
) -> None:
    layout = layout_of(server, database_name, name, guard=INC)
    layout.create(doc(a=1), ID)
    server.send(Write(layout.ns, "update", {"_id": document(server, layout)["_id"]}, {"$unset": {"__v": ""}}))
    base = layout.version(ID)
    assert layout.swap(ID, base, doc(a=2)).kind == "applied"
    assert "__v" not in document(server, layout)
    base = layout.version(ID)
    put(server, layout, 1)
    assert layout.swap(ID, base, doc(a=3)).kind == "conflict", "it has one by now"


@pytest.mark.parametrize("every", list(WRITABLE))
def test_what_only_its_own_program_can_move_is_read_only_with_the_reason(
    every: str, server: Server, database_name: str
) -> None:
    sound = layout_of(server, database_name, every)
    sound.create(doc(a=1), ID)
    put(server, sound, "0" * 40, "_etag")
    layout = layout_of(server, database_name, every, guard=LockField("_etag", "closed"))
    base = layout.version(ID)
    assert "read-only here" in layout.writable(base)
    assert layout.swap(ID, base, doc(a=2)).detail == layout.writable(base)
    assert layout.delete(ID, base).kind == layout.create(doc(a=1), Value.of("n")).kind == "refused"
    assert sound.version(ID).v == base.v


def test_a_swap_in_doubt_raises_it_once(name: str, local_uri: str, database_name: str) -> None:
    with Server.connect(local_uri) as server:
        sound = layout_of(server, database_name, name, guard=INC)
        sound.create(doc(a=1), ID)
        for faults in (["lost"], ["never"], ["none", "lost"], ["none", "never"]):
            before = document(server, sound)["__v"]
            layout = type(sound)(FaultyServer(server, faults), sound.profile)  # type: ignore[arg-type]
            stamp = Stamp()
            assert layout.swap(ID, sound.version(ID), doc(a=before + 2), stamp).kind == "applied"
            assert document(server, sound)["__v"] == before + 1
        server._client.drop_database(database_name)


def test_the_preview_names_it(name: str, server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, name, guard=INC)
    layout.create(doc(a=1), ID)
    put(server, layout, 3)
    assert layout.explained(layout.version(ID)).endswith(
        "__v, the lock of another program, must still be 3, and becomes 4."
    )


def test_taking_the_flag_from_a_version_raises_it_there(server: Server, database_name: str) -> None:
    layout = layout_of(server, database_name, "flagged", guard=INC)
    layout.create(doc(a=1), ID)
    assert layout.swap(ID, layout.version(ID), doc(a=2)).kind == "applied"
    old, new = sorted(raw_find(server, layout.ns), key=lambda each: each["v"])
    assert (old["__v"], new["__v"], new["current"], old.get("current")) == (1, 0, True, None)


# --- recognised


def found(server: Server, database: Any, *documents: dict[str, Any]) -> tuple[LockField | None, str]:
    """What is recognised of a collection with these documents: the lock, and the grounds."""
    database["things"].insert_many(list(documents))
    ((info, profile),) = recognise(server, database.name)
    assert ("guard" in info.fields) == (profile.guard is not None and profile.guard.how != "")
    return profile.guard, info.why


MONGOOSE = [{"_id": n, "name": f"n{n}", "tags": ["a"], "__v": n % 3} for n in range(5)]
SPRING = [{"_id": n, "name": f"n{n}", "version": Int64(n % 3), "_class": "com.example.Item"} for n in range(5)]


def test_mongoose_and_spring_are_known_by_their_own_names(server: Server, database: Any) -> None:
    lock, why = found(server, database, *MONGOOSE)
    assert lock == LockField("__v", "inc")
    assert "mongoose" in why
    database["things"].delete_many({})
    lock, why = found(server, database, *SPRING)
    assert lock == LockField("version", "inc")
    assert "Spring" in why


def test_eve_is_known_and_its_fields_are_no_content(server: Server, database: Any) -> None:
    documents = [
        {"_id": n, "name": "x", "_etag": f"{n:040x}", "_updated": dt.datetime(2024, 1, n + 1), "_version": 1}
        for n in range(5)
    ]
    lock, why = found(server, database, *documents)
    assert lock == LockField("_etag", "closed")
    assert "Eve" in why
    assert lock.names == ("_etag", "_updated", "_version")


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("lockVersion", [0, 0, 0, 0, 0]),
        ("lock_version", [3, 1, 2, 5, 5]),
        ("_rev", [1, 4, 2, 9, 1]),
        ("revision", [1, 4, 2, 9, 1]),
        ("version", [Int64(1), Int64(4), Int64(2), Int64(9), Int64(1)]),
        ("_version", [Int64(1)] * 5),  # of EF Core, before the first save of any
        ("version", [Int64(0)] * 5),
        ("etag", [f"{n:032x}" for n in range(5)]),
        ("etag", [str(uuid.UUID(int=n)) for n in range(5)]),
        ("concurrencyStamp", [Binary(uuid.UUID(int=n).bytes, 4) for n in range(5)]),
        ("etag", ['W/"1"', 'W/"2"', 'W/"2"', 'W/"3"', 'W/"4"']),
        ("etag", ["0" * 40] * 5),
        ("rowVersion", [bytes([0] * 7 + [n]) for n in range(5)]),
        ("row_version", [dt.datetime(2024, 9, 1, 10, n) for n in range(5)]),
        ("RowVersion", [Timestamp(n, 1) for n in range(1, 6)]),
        ("optLockVersion", [0, 0, 1, 2, 0]),
        ("entityVersion", [0, 0, 1, 2, 0]),
        ("revisionId", [str(uuid.UUID(int=n)) for n in range(5)]),
        ("_rev", [f"{n}-{n:032x}" for n in range(1, 6)]),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_looks_like_a_lock_is_asked_for_and_nothing_is_written_until_it_is_stated(
    field: str, values: list[Any], server: Server, database: Any
) -> None:
    lock, why = found(server, database, *({"_id": n, "a": 1, field: value} for n, value in enumerate(values)))
    assert lock == LockField(field)
    assert f"{field} looks like the lock of another program" in why
    layout = layout_of(server, database.name, "plain", guard=lock)
    base = layout.version(Value.of(0))
    outcome = layout.swap(Value.of(0), base, doc(a=2))
    assert outcome.kind == "refused"
    assert f'guard = {{ field = "{field}", how = "inc" }}' in outcome.detail
    assert field in c.decode(base.content or b""), "content, as long as nobody has said that it is a lock"
    assert layout.delete(Value.of(0), base).kind == "applied", "deleting moves nothing"
    stated = layout_of(server, database.name, "plain", guard=LockField(field, "none"))
    content = c.put(stated.version(Value.of(1)).content or b"", ("a",), Value.of(2))
    assert stated.swap(Value.of(1), stated.version(Value.of(1)), content).kind == "applied"


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("qty", [1, 4, 2, 9, 1]),
        ("price", [1, 4, 2, 9, 1]),
        ("version", [3, 3, 3, 3, 3]),  # of a schema
        ("version", [1, 1, 1, 1, 1]),
        ("version", [Int64(3)] * 5),
        ("version", ["1.2", "1.3", "2.0", "2.1", "3.0"]),
        ("revision", ["A", "B", "C", "A", "B"]),
        ("etag", [True, False, True, False, True]),
        ("rev", [-1, 4, 2, 9, 1]),
        ("uuid", [str(uuid.UUID(int=n)) for n in range(5)]),
        ("orderNo", [1, 2, 3, 4, 5]),
        ("__v", ["a", "b", "c", "d", "e"]),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_does_not_look_like_one_is_left_alone(
    field: str, values: list[Any], server: Server, database: Any
) -> None:
    assert found(server, database, *({"_id": n, "a": 1, field: value} for n, value in enumerate(values)))[0] is None


def test_the_field_that_is_the_version_itself_is_no_lock_beside_it(server: Server, database: Any) -> None:
    for n in range(4):
        for v in range(1, 4):
            database["things_history"].insert_one({"docId": n, "version": Int64(v), "a": v, "_class": "x.Item"})
        database["things"].insert_one({"_id": n, "version": Int64(4), "a": 4, "_class": "x.Item"})
    known = {info.ns.partition(".")[2]: profile for info, profile in recognise(server, database.name)}
    assert known["things"].layout == "archive"
    assert known["things"].version == "version"
    assert known["things"].guard is None


def test_a_lock_that_the_hash_covers_is_not_moved_alone(server: Server, database: Any) -> None:
    for n in range(5):
        content = {"_id": n, "name": f"n{n}", "__v": n}
        digest = c.hash_of(c.without(c.encode(content), ["_id"]))
        database["things"].insert_one({**content, "_versioned_id": digest})
    ((_, profile),) = recognise(server, database.name)
    assert profile.layout == "hashed"
    assert profile.guard == LockField("__v")


def test_the_lock_of_beanie_is_known_and_made_anew_by_each_edit(server: Server, database: Any) -> None:
    ids = [Binary(uuid.UUID(int=n).bytes, 4) for n in range(1, 6)]
    lock, why = found(server, database, *({"_id": n, "revision_id": id, "a": n} for n, id in enumerate(ids)))
    assert lock == LockField("revision_id", "uuid")
    assert "revision_id is the lock of Beanie" in why
    layout = layout_of(server, database.name, "plain", guard=lock, token="")
    base = layout.version(Value.of(0))
    assert layout.swap(Value.of(0), base, doc(a=7)).kind == "applied"
    now = database["things"].find_one({"_id": 0})
    assert now.keys() == {"_id", "revision_id", "a"}
    assert now["revision_id"].subtype == 4
    assert now["revision_id"] != ids[0]


@pytest.mark.parametrize(
    ("how", "values", "after"),
    [("inc", [3, 4, 5], 4), ("uuid", [str(uuid.UUID(int=n)) for n in range(3)], None)],
    ids=["inc", "uuid"],
)
def test_a_lock_in_a_sub_document_is_asked_for_and_moves_with_the_edit_once_it_is_stated(
    how: str, values: list[Any], after: object, server: Server, database: Any
) -> None:
    documents = [{"_id": n, "a": n, "meta": {"revision": value, "by": "eva"}} for n, value in enumerate(values)]
    assert found(server, database, *documents)[0] == LockField("meta.revision")
    lock = LockField("meta.revision", how)
    layout = layout_of(server, database.name, "plain", guard=lock, token="")
    base = layout.version(Value.of(0))
    old = base.content or b""
    assert "meta.revision, the lock of another program" in layout.explained(base)
    assert layout.swap(Value.of(0), base, c.put(old, ("a",), Value.of(9))).kind == "applied"
    now = database["things"].find_one({"_id": 0})
    assert now["meta"].pop("revision") not in ({values[0]} if after is None else {values[0], 5})
    assert now == {"_id": 0, "a": 9, "meta": {"by": "eva"}}
    assert layout.swap(Value.of(0), base, c.put(old, ("a",), Value.of(8))).kind == "conflict"
    base = layout.version(Value.of(0))
    over = layout.swap(Value.of(0), base, c.put(base.content or b"", ("meta",), Value.of({"by": "tom"})))
    assert over.kind == "refused"
    assert "edit the fields beside it one by one" in over.detail
    beside = c.put(base.content or b"", ("meta", "by"), Value.of("tom"))
    assert layout.swap(Value.of(0), base, beside).kind == "applied"


def test_a_lock_that_is_the_time_of_the_write_becomes_a_later_time(server: Server, database: Any) -> None:
    far = dt.datetime(2100, 1, 1)
    database["things"].insert_one({"_id": 0, "a": 1, "rowVersion": far})
    layout = layout_of(server, database.name, "plain", guard=LockField("rowVersion", "time"), token="")
    base = layout.version(Value.of(0))
    assert layout.swap(Value.of(0), base, doc(a=2)).kind == "applied"
    assert database["things"].find_one()["rowVersion"] > far
    assert layout.swap(Value.of(0), base, doc(a=3)).kind == "conflict"
