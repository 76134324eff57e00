"""Ids of several fields: read, written, scanned and taken back like any other, and stored as these fields."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bson
import pymongo.database
import pytest
from bson import Int64

from model.commands import command_line
from model.errors import NotFound, Refused
from model.foundation.findings import Finding, Unchecked
from model.foundation.records import Outcome
from model.layouts.registry import LAYOUTS
from model.profile import Profile, table
from model.server import guards
from model.server.duplicate_key import DuplicateKey
from model.server.retry import Write
from model.session import Session
from model.storage.composite_ids import CompositeId
from model.values import canonical as c
from model.values.canonical import Value
from model.writing.writer import Writer
from tests import support
from tests.model.layouts.layout_support import doc

Db = pymongo.database.Database[dict[str, Any]]
OWN = [name for name, layout in LAYOUTS.items() if layout.own_documents and not layout.read_only]
ID = Value.document(doc(tenant="a", number=7))
OTHER = Value.document(doc(tenant="b", number=7))


def profile(database: Db, name: str, parts: str = '["tenant", "number"]') -> Profile:
    ns = f"{database.name}.things"
    said = f'[[collection]]\nns = "{ns}"\nlayout = "{name}"\nid = {parts}\ntoken = "_w"\n'
    return Profile.read(tomllib.loads(said + ('removed = "gone"\n' if name == "deltas" else "")), "here")


@pytest.fixture(params=OWN)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def session(server_uri: str, database: Db, name: str, tmp_path: Path) -> Iterator[Session]:
    """Three documents that share halves of their ids, with three versions each."""
    things = database["things"]
    things.create_index([("tenant", 1), ("number", 1), ("v", 1)], unique=True)
    for tenant, number in (("a", 7), ("a", 8), ("b", 7)):
        for v in (1, 2, 3):
            row: dict[str, Any] = {"tenant": tenant, "v": v, "number": number}
            row |= {"title": f"{tenant}{number}"} if v == 1 or name != "deltas" else {}
            things.insert_one(row | {"n": v} | ({"current": True} if name == "flagged" and v == 3 else {}))
    with Session.open(server_uri, profile(database, name), home=tmp_path / "home") as made:
        yield made


def ns_of(database: Db) -> str:
    return f"{database.name}.things"


def content(session: Session, database: Db, id: Value = ID) -> Any:
    return Value.document(session.history.version(ns_of(database), id).content or b"").python()


def rows(database: Db, tenant: str = "a", number: int = 7) -> list[dict[str, Any]]:
    return list(database["things"].find({"tenant": tenant, "number": number}).sort("v"))


def test_documents_are_listed_and_read_by_all_parts_of_their_ids(session: Session, database: Db) -> None:
    ns = ns_of(database)
    assert [row.id for row in session.documents.page(ns).rows] == [
        ID,
        Value.document(doc(tenant="a", number=8)),
        OTHER,
    ]
    assert session.documents.count(ns)[0] == 3
    assert [row.id for row in session.documents.page(ns, filter="{number: 7}").rows] == [ID, OTHER]
    assert session.documents.page(ns, sort="{number: -1}").rows[0].id == Value.document(doc(tenant="a", number=8))
    assert [row.id for row in session.documents.page(ns, skip=2, limit=1).rows] == [OTHER]
    history = list(session.history.versions(ns, ID))
    assert [(each.v, each.state) for each in history] == [(Value.of(v), "present") for v in (3, 2, 1)]
    assert content(session, database) == {"title": "a7", "n": 3}, "the parts of the id are not content"
    assert content(session, database, OTHER) == {"title": "b7", "n": 3}
    assert [outline.id for outline in session.documents.outlines(ns, [ID, OTHER])] == [ID, OTHER]


@pytest.mark.parametrize("typed", ['{"tenant": "a", "number": 7}', '{"number": {"$numberInt": "7"}, "tenant": "a"}'])
def test_an_id_is_typed_as_extended_json_in_any_order(session: Session, database: Db, typed: str) -> None:
    assert session.documents.find_id(ns_of(database), typed) == ID
    for wrong in ('{"tenant": "a"}', '{"tenant": "a", "number": 9}', "a", '{"tenant": "a", "number": 7, "x": 1}'):
        with pytest.raises(NotFound):
            session.documents.find_id(ns_of(database), wrong)


def test_an_edit_writes_the_parts_as_they_stood_and_nothing_else(session: Session, database: Db) -> None:
    ns, before = ns_of(database), rows(database)
    outcome = session.edit(ns, ID, {"n": 50}, base=3)
    assert (outcome.kind, outcome.version) == ("applied", Value.of(4)), outcome
    now = rows(database)
    flagless = [{k: v for k, v in row.items() if k != "current"} for row in now[:3]]
    assert flagless == [{k: v for k, v in row.items() if k != "current"} for row in before]
    assert {name: now[3][name] for name in ("tenant", "number", "v", "n")} == {
        "tenant": "a", "number": 7, "v": 4, "n": 50,
    }  # fmt: skip
    assert [name for name in now[3] if name in ("tenant", "v", "number")] == ["tenant", "v", "number"]
    assert not any("+" in name for row in now for name in row)
    assert content(session, database) == {"title": "a7", "n": 50}
    assert content(session, database, OTHER) == {"title": "b7", "n": 3}
    assert session.edit(ns, ID, {"n": 51}, base=3).kind == "conflict"
    assert outcome.entry is not None
    assert session.way_back.undo(outcome.entry).kind == "applied"
    assert content(session, database) == {"title": "a7", "n": 3}


def test_a_new_document_has_the_parts_as_fields(session: Session, database: Db) -> None:
    ns, id = ns_of(database), Value.document(doc(tenant="c", number=Int64(1)))
    assert session.writing.create(ns, doc(n=1), id).kind == "applied"
    (row,) = rows(database, "c", 1)
    assert {name: row[name] for name in row if name not in ("_id", "_w", "current")} == {
        "tenant": "c", "number": 1, "v": 1, "n": 1,
    }  # fmt: skip
    assert session.writing.create(ns, doc(n=2), id).kind == "refused"
    assert session.edit(ns, '{"tenant": "d", "number": 1}', {"n": 1}, create=True).kind == "applied"
    assert len(rows(database, "d", 1)) == 1
    for wrong in (Value.of("e"), Value.document(doc(tenant="e")), Value.document(doc(tenant="e", number=1, x=1))):
        end = session.writing.create(ns, doc(n=1), wrong)
        assert end.kind == "refused"
        assert "An id here has the parts tenant and number" in end.detail


def test_the_parts_of_an_id_cannot_be_edited(session: Session, database: Db) -> None:
    opened = session.writing.open(ns_of(database), ID)
    assert {"tenant", "number"} <= set(opened.locked)
    assert not any("+" in field for field, _ in c.fields(opened.document))
    with pytest.raises(Refused, match="tenant is kept by the layout"):
        session.edit(ns_of(database), ID, {"tenant": "z"})


def test_a_purged_document_is_gone_alone_and_comes_back_to_the_byte(session: Session, database: Db) -> None:
    ns, before = ns_of(database), list(database["things"].find())
    end = session.writing.purge(ns, ID, session.history.version(ns, ID))
    assert end.kind == "applied", end
    assert rows(database) == []
    assert database["things"].count_documents({}) == 6
    assert end.entry is not None
    assert session.way_back.undo(end.entry).kind == "applied"
    key = lambda row: str(row["_id"])  # noqa: E731
    after = sorted(database["things"].find(), key=key)
    assert [bson.encode(row) for row in after] == [bson.encode(row) for row in sorted(before, key=key)]


def test_a_delete_ends_one_document_by_all_parts_of_its_id(session: Session, database: Db) -> None:
    ns, before = ns_of(database), rows(database)
    assert session.writing.delete(ns, ID, session.history.version(ns, ID)).kind == "applied"
    *kept, tombstone = rows(database)
    assert [(row["v"], row["n"]) for row in kept] == [(row["v"], row["n"]) for row in before]
    own = {"_id", "tenant", "number", "v", "_w", "_deleted"} | ({"current"} if "current" in before[-1] else set())
    assert (set(tombstone), tombstone["v"]) == (own, 4)
    assert [row.id for row in session.documents.page(ns).rows] == [Value.document(doc(tenant="a", number=8)), OTHER]
    assert session.documents.count(ns)[0] == 2
    assert not list(session.scans.scan([ns]))
    assert session.writing.restore(ns, ID, Value.of(1)).kind == "applied"
    assert content(session, database) == {"title": "a7", "n": 1}
    assert [each.v for each in session.history.versions(ns, ID)] == [Value.of(v) for v in (5, 4, 3, 2, 1)]


def test_of_two_writers_one_has_the_next_version(
    session: Session, database: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[..., Outcome] = Writer.save
    ns = ns_of(database)

    def overtaken(self: Writer, *args: Any, **more: Any) -> Outcome:
        monkeypatch.undo()
        assert session.edit(ns, ID, {"n": 60}).kind == "applied"
        return real(self, *args, **more)

    monkeypatch.setattr(Writer, "save", overtaken)
    assert session.edit(ns, ID, {"n": 61}).kind == "conflict"

    def work(number: int) -> list[Outcome]:
        return [session.edit(ns, (ID, OTHER)[number % 2], {f"w{number}": n}, tries=100) for n in range(3)]

    with ThreadPoolExecutor(4) as pool:
        ends = [end for each in pool.map(work, range(4)) for end in each]
    assert {end.kind for end in ends} == {"applied"}, ends
    assert [row["v"] for row in rows(database)] == list(range(1, 11))


def test_the_index_that_writing_needs_is_over_the_parts(session: Session, database: Db) -> None:
    ns, things = ns_of(database), database["things"]
    assert session.indexes.missing(ns) is None
    things.drop_index("tenant_1_number_1_v_1")
    said = session.indexes.missing(ns)
    assert said is not None
    assert session.edit(ns, ID, {"n": 9}).kind == "refused"
    assert session.indexes.create(ns).kind == "applied"
    keys = [[name for name, _ in index["key"]] for index in things.index_information().values()]
    assert ["tenant", "number", "v"] in keys
    assert session.edit(ns, ID, {"n": 9}).kind == "applied"


def test_a_preview_shows_what_is_sent_and_the_stored_document_what_is_stored(session: Session, database: Db) -> None:
    ns = ns_of(database)
    opened = session.writing.open(ns, ID)
    assert opened.base.content is not None
    shown = session.writing.preview(ns, ID, opened.base, c.put(opened.base.content, ("n",), Value.of(5)))
    assert "tenant+number" not in shown.pymongo + shown.mongosh
    assert '"tenant": "a"' in shown.pymongo
    assert opened.base.raw is not None
    (stored,) = [row for row in rows(database) if row["v"] == 3]
    assert session.history.stored(ns, opened.base.raw) == bson.encode(stored)


def test_a_scan_tells_damage_by_the_whole_id_and_its_repair_touches_nothing_else(
    session: Session, database: Db, name: str
) -> None:
    ns, things = ns_of(database), database["things"]
    assert not [each for each in session.scans.scan([ns]) if isinstance(each, Finding)]
    things.delete_one({"tenant": "a", "number": 7, "v": 2})
    found = [each for each in session.scans.scan([ns]) if isinstance(each, Finding)]
    assert [(each.code, each.id, each.versions) for each in found] == [
        ("D1" if name == "deltas" else "V2", ID, (Value.of(2),))
    ]
    if name != "flagged":
        return
    things.update_one({"tenant": "b", "number": 7, "v": 1}, {"$set": {"current": True}})
    found = [each for each in session.scans.scan([ns]) if isinstance(each, Finding) and each.code == "C1"]
    assert [each.id for each in found] == [OTHER]
    ends = [end.kind for _, end in session.repairs.apply(session.repairs.plan(found))]
    assert ends == ["applied"]
    assert [row.get("current") for row in rows(database, "b", 7)] == [None, None, True]
    assert [row.get("current") for row in rows(database, "a", 8)] == [None, None, True]


def test_a_version_without_a_part_of_the_id_is_left_out_and_said(session: Session, database: Db) -> None:
    database["things"].insert_one({"tenant": "a", "v": 1, "n": 1})
    said = [each.why for each in session.scans.scan([ns_of(database)]) if isinstance(each, Unchecked)]
    assert said == ["1 document has no tenant+number, so only the bytes were looked at."]
    assert session.documents.count(ns_of(database))[0] in (3, 4)
    assert len(session.documents.page(ns_of(database)).rows) == 3


# --- the terms themselves


COMPOSITE = CompositeId(("tenant", "meta.number"))
ONE = Value.document(doc(tenant="a", **{"meta.number": 7}))


def test_a_filter_on_the_field_is_one_on_its_parts() -> None:
    name = COMPOSITE.name
    a, number = Value.of("a"), Value.of(7)
    assert COMPOSITE.filter({name: {"$eq": ONE}, "n": 1}) == {
        "n": 1, "tenant": {"$eq": a}, "meta.number": {"$eq": number},
    }  # fmt: skip
    assert COMPOSITE.filter({"tenant": "b", name: ONE}) == {
        "tenant": "b", "$and": [{"tenant": {"$eq": a}, "meta.number": {"$eq": number}}],
    }, "what somebody else asks of a part stays"  # fmt: skip
    exact = COMPOSITE.filter(guards.exact(name, ONE))
    assert exact == guards.exact("tenant", a) | guards.exact("meta.number", number)
    assert COMPOSITE.filter({name: {"$exists": False}}) == {
        "$nor": [{"tenant": {"$exists": True}, "meta.number": {"$exists": True}}]
    }
    behind = COMPOSITE.filter({name: {"$gt": ONE}})
    assert behind is not None
    assert behind["$or"][0]["$and"][0] == {}
    assert behind["$or"][1]["$and"][0] == {"tenant": {"$eq": a}}


def test_an_expression_on_the_whole_document_is_one_on_what_is_stored() -> None:
    raw = doc(tenant="a", meta={"number": 7}, price=1)
    shown = COMPOSITE.shown(raw)
    able = guards.Abilities(True, True, True, True, True, True)
    counted = COMPOSITE.filter(guards.whole(shown, lambda: able, additions=True).filter)
    assert counted is not None
    assert counted["$expr"]["$and"][0] == {"$eq": [{"$size": {"$objectToArray": "$$ROOT"}}, 3]}
    assert COMPOSITE.filter({"$expr": {"$eq": ["$$ROOT", {"$literal": Value.document(shown)}]}}) == {
        "$expr": {"$eq": ["$$ROOT", {"$literal": Value.document(raw)}]}
    }
    assert COMPOSITE.filter({"$expr": [f"${COMPOSITE.name}", f"${COMPOSITE.name}.tenant", "$n"]}) == {
        "$expr": [{"tenant": "$tenant", "meta.number": "$meta.number"}, "$tenant", "$n"]
    }


def test_a_part_may_stand_in_a_sub_document(server_uri: str, database: Db, tmp_path: Path) -> None:
    things = database["things"]
    things.create_index([("tenant", 1), ("meta.number", 1), ("v", 1)], unique=True)
    things.insert_one({"tenant": "a", "meta": {"number": 7, "by": "x"}, "v": 1, "n": 1})
    ns, id = ns_of(database), Value.document(doc(tenant="a", **{"meta.number": 7}))
    with Session.open(server_uri, profile(database, "versions", '["tenant", "meta.number"]'), home=tmp_path) as session:
        assert session.documents.find_id(ns, '{"tenant": "a", "meta.number": 7}') == id
        assert session.edit(ns, id, {"meta.by": "y"}).kind == "applied"
        end = session.edit(ns, id, {"meta.number": 8})
        assert end.kind == "refused"
        assert "meta.number is a part of the document's id" in end.detail
        assert (
            session.writing.create(ns, doc(n=1), Value.document(doc(tenant="b", **{"meta.number": 1}))).kind
            == "applied"
        )
    assert [row["meta"] for row in things.find().sort([("tenant", 1), ("v", 1)])] == [
        {"number": 7, "by": "x"}, {"number": 7, "by": "y"}, {"number": 1},
    ]  # fmt: skip


def test_other_questions_of_the_field_are_refused_and_name_the_parts() -> None:
    with pytest.raises(Refused, match=r"ask it of tenant or meta\.number"):
        COMPOSITE.filter({COMPOSITE.name: {"$regex": "a"}})
    assert COMPOSITE.filter({"$or": [{COMPOSITE.name: Value.of(1)}, {"n": 1}]}) == {
        "$or": [{"_id": {"$exists": False}}, {"n": 1}]
    }


def test_an_index_with_the_parts_apart_is_none_of_the_ids() -> None:
    apart = {"tenant": 1, "v": 1, "meta.number": 1}
    assert COMPOSITE.index(apart) == apart
    mixed = {"tenant": 1, "meta.number": -1, "v": 1}
    assert COMPOSITE.index(mixed) == mixed
    assert COMPOSITE.index({"tenant": 1, "meta.number": 1, "v": -1}) == {COMPOSITE.name: 1, "v": -1}
    taken = DuplicateKey("i", ("tenant", "meta.number", "v"), ("a", "7", "1"))
    assert COMPOSITE.duplicate(taken).fields == (COMPOSITE.name, "v")


def test_a_document_written_whole_in_a_pipeline_loses_the_field_too() -> None:
    raw = doc(tenant="a", meta={"number": 1}, v=1)
    whole = [{"$replaceWith": {"$literal": Value.document(COMPOSITE.shown(raw))}}]
    sent = COMPOSITE.write(Write("a.b", "update", {}, whole))
    assert sent.body == [{"$replaceWith": {"$literal": Value.document(raw)}}]


@support.table(
    "keys, said",
    [
        ('layout = "versions"\nid = ["tenant"]', "must be one name, or list several different ones"),
        ('layout = "versions"\nid = ["tenant", "tenant"]', "must be one name, or list several different ones"),
        ('layout = "versions"\nid = ["tenant", 3]', "must be a field's name in quotes"),
        ('layout = "versions"\nid = ["tenant", "_id"]', "cannot be _id"),
        ('layout = "versions"\nid = ["tenant", "v"]', "id and version cannot both be 'v'"),
        ('layout = "archive"\nid = ["tenant", "number"]', "only where versions are documents"),
        ('layout = "plain"\nid = ["tenant", "number"]', "only where versions are documents"),
    ],
)
def test_a_list_that_is_no_id_is_refused_in_one_sentence(keys: str, said: str) -> None:
    with pytest.raises(Refused) as raised:
        Profile.read(tomllib.loads(f'[[collection]]\nns = "a.b"\n{keys}\n'), "p.toml")
    assert said in str(raised.value)


def test_a_profile_with_a_list_is_written_as_it_was_read(database: Db) -> None:
    (made,) = profile(database, "versions").collections
    assert made.id_parts == ("tenant", "number")
    assert table(made)["id"] == ["tenant", "number"]
    assert Profile.read({"collection": [{"ns": made.ns, **table(made)}]}, "x").collections == (made,)


def test_long_histories_are_leapt_over_in_a_list(server_uri: str, database: Db, tmp_path: Path) -> None:
    things = database["things"]
    things.create_index([("tenant", 1), ("code", 1), ("v", 1)], unique=True)
    keys = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "z")]
    things.insert_many([{"tenant": t, "code": k, "v": v, "n": v} for t, k in keys for v in range(1, 31)])
    ns = ns_of(database)
    with Session.open(server_uri, profile(database, "versions", '["tenant", "code"]'), home=tmp_path) as session:
        wanted = [Value.document(doc(tenant=t, code=k)) for t, k in keys]
        assert [row.id for row in session.documents.page(ns).rows] == wanted
        down = session.documents.page(ns, sort='{"tenant+code": -1}').rows
        assert [(row.id, row.version) for row in down] == [(id, Value.of(30)) for id in reversed(wanted)]


def test_the_command_line_takes_such_an_id_as_extended_json(
    server_uri: str, database: Db, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*argv: str) -> tuple[int, str, str]:
        return command_line.main(list(argv)), *capsys.readouterr()

    things = database["things"]
    things.create_index([("tenant", 1), ("number", 1), ("v", 1)], unique=True)
    things.insert_one({"tenant": "a", "number": 7, "v": 1, "n": 1})
    ns, file = ns_of(database), tmp_path / "p.toml"
    file.write_text(f'[[collection]]\nns = "{ns}"\nlayout = "versions"\nid = ["tenant", "number"]\n', encoding="utf-8")
    id = ('{"tenant": "a", "number": 7}', "--profile", str(file))
    status, out, err = run("edit", server_uri, ns, *id, "--set", "n=2", "--json")
    assert status == 0, err
    assert json.loads(out)["id"] == {"tenant": "a", "number": {"$numberInt": "7"}}
    status, out, _ = run("show", server_uri, ns, *id, "--stored", "--json")
    assert set(json.loads(out)) == {"_id", "tenant", "number", "v", "n"}
    status, out, _ = run("history", server_uri, ns, *id, "--json")
    assert [json.loads(line)["v"] for line in out.splitlines()] == [{"$numberInt": "2"}, {"$numberInt": "1"}]
    assert run("show", server_uri, ns, '{"tenant": "a"}', "--profile", str(file))[0] == 2
    rows = map(json.loads, run("collections", server_uri, "--profile", str(file), "--json")[1].splitlines())
    assert [row["fields"]["id"] for row in rows if row["ns"] == ns] == ["tenant+number"]


def test_such_an_id_is_stated_in_the_sheet_with_commas_and_tried(server_uri: str, database: Db, tmp_path: Path) -> None:
    for tenant, v in (("a", 1), ("a", 2), ("b", 1)):
        database["things"].insert_one({"tenant": tenant, "number": 7, "v": v, "n": v})
    ns = ns_of(database)
    with Session.open(server_uri, home=tmp_path) as session:
        texts = {**session.statements.defaults(ns, "versions"), "id": "tenant, number"}
        entry, troubles = session.statements.entry(texts)
        assert (entry["id"], troubles) == (["tenant", "number"], {})
        trial = session.statements.tried(ns, entry)
        assert [(each.id, each.versions) for each in trial.documents] == [
            (Value.document(doc(tenant="a", number=7)), 2),
            (Value.document(doc(tenant="b", number=7)), 1),
        ]
        assert 'id = ["tenant", "number"]' in trial.toml
        session.statements.use(ns, entry)
        assert len(session.documents.page(ns).rows) == 2
        begun = session.statements.begin(ns)
        assert begun.texts["id"] == "tenant, number"
        assert not [each for each in begun.names if "+" in each]
