"""Layouts that a person states: filled in from the data, tried on three documents, used, and saved in a profile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymongo.database
import pytest

from model.errors import Refused
from model.session import Session
from model.values.canonical import Value
from tests import support
from tests.support import ROOT

Db = pymongo.database.Database[dict[str, Any]]


@pytest.fixture
def sheets(database: Db) -> str:
    """Documents of versions under names that say nothing; five of them, the third with the longest history."""
    for n, id in enumerate("ABCDE"):
        for at in range(1, 3 + (n == 2) * 4 + (n % 2)):
            database["sheets"].insert_one({"thing": id, "pos": at, "total": at * 10, "note": "n" * at})
    return f"{database.name}.sheets"


@pytest.fixture
def session(server_uri: str, sheets: str) -> Iterator[Session]:
    with Session.open(server_uri) as made:
        yield made


STATED = {"layout": "versions", "id": "thing", "version": "pos", "token": ""}


def test_a_statement_begins_with_what_was_recognised_and_the_names_that_are_there(
    session: Session, database: Db, sheets: str
) -> None:
    database["claims"].insert_many([{"claimId": id, "rev": v, "sum": v} for id in "ABC" for v in (1, 2, 3)])
    begun = session.statements.begin(sheets)
    assert begun.info.ns == sheets
    assert not begun.stated
    assert set(begun.names) == {"_id", "thing", "pos", "total", "note"}
    assert begun.texts["layout"] == begun.info.layout
    assert f"{database.name}.claims" in begun.collections
    filled, why = session.statements.filled(f"{database.name}.claims", "versions")
    assert {role: filled[role] for role in ("layout", "id", "version", "at", "author", "numbering", "grace")} == {
        "layout": "versions", "id": "claimId", "version": "rev", "at": "", "author": "", "numbering": "next",
        "grace": "1d",
    }  # fmt: skip
    assert not why


def test_a_layout_that_cannot_be_recognised_is_filled_in_with_its_defaults_and_the_reason(
    session: Session, sheets: str
) -> None:
    filled, why = session.statements.filled(sheets, "embedded")
    assert (filled["layout"], filled["current"], filled["prev"]) == ("embedded", "current", "prev")
    assert "cannot be read as embedded" in why


def test_three_documents_are_tried_those_with_the_longest_histories(session: Session, sheets: str) -> None:
    trial = session.statements.tried(sheets, STATED)
    assert [(str(one.id.python()), one.versions, one.missing) for one in trial.documents] == [
        ("B", 3, 0), ("C", 6, 0), ("D", 3, 0),
    ]  # fmt: skip
    longest = trial.documents[1]
    assert longest.first is not None
    assert longest.last is not None
    assert (longest.first.a.v, longest.first.b.v) == (Value.of(1), Value.of(2))
    assert (longest.last.a.v, longest.last.b.v) == (Value.of(5), Value.of(6))
    assert {operation.path for operation in longest.first.diff} == {("total",), ("note",)}
    assert trial.against == ()
    assert trial.toml == (
        f'[[collection]]\nns = "{sheets}"\nlayout = "versions"\nid = "thing"\nversion = "pos"\ntoken = ""\n'
    )


def test_trying_states_nothing(session: Session, sheets: str) -> None:
    before = session.catalogue.info(sheets)
    session.statements.tried(sheets, {**STATED, "layout": "flagged", "current": "note"})
    assert session.catalogue.info(sheets) == before


def test_what_contradicts_is_said_with_an_example(session: Session, database: Db, sheets: str) -> None:
    def against(**more: Any) -> str:
        return " ".join(session.statements.tried(sheets, {**STATED, **more}).against)

    assert not against()
    assert f"No document sampled in {sheets} has rev, which is stated as version." in against(version="rev")
    assert "note is of the type String, not a whole number or a date" in against(version="note")
    assert "documents sampled are v1 of" in against(id="total", version="pos") or not against(id="total", version="pos")
    database["sheets"].insert_one({"_id": "odd", "thing": "F"})
    assert "lacks pos, odd for one" in against()
    database["sheets"].insert_many([{"thing": "G", "pos": 7}, {"thing": "G", "pos": 7}])
    assert "2 documents sampled are v7 of G." in against()
    assert f"There is no collection {database.name}.gone." in against(
        layout="archive", id="_id", archive=f"{database.name}.gone"
    )
    database["other"].insert_many([{"docId": n, "pos": 1} for n in range(5)])
    assert "names a document of" in against(layout="archive", id="_id", archive=f"{database.name}.other")


def test_a_statement_that_says_nothing_possible_is_refused_in_one_sentence(session: Session, sheets: str) -> None:
    with pytest.raises(Refused, match="cannot both be 'thing'"):
        session.statements.tried(sheets, {**STATED, "version": "thing"})


def test_what_people_type_becomes_the_table_of_a_profile(session: Session) -> None:
    typed = {
        "layout": "archive", "version": " rev ", "token": "", "at": "", "id": "", "keys": "sku, name", "grace": "2h",
        "hash_fields": '{ exclude = ["a b"] }',
    }  # fmt: skip
    entry, troubles = session.statements.entry(typed)
    assert troubles == {}
    assert entry == {
        "layout": "archive", "version": "rev", "token": "", "at": "", "author": "", "reason": "", "hash": "",
        "keys": ["sku", "name"], "grace": "2h", "hash_fields": {"exclude": ["a b"]},
    }  # fmt: skip
    again = {**session.statements.defaults("a.b", "archive"), **typed}
    assert session.statements.entry(again)[0]["archive"] == "a.b_history"


@pytest.mark.parametrize(
    ("key", "typed", "said"),
    [
        ("version", "a.b", "without dots"),
        ("grace", "soon", "24h"),
        ("hash_fields", "{ exclude", "is not TOML"),
        ("hash_fields", '["a"]', "must be { include"),
        ("archive", "here", "database.collection"),
        ("numbering", "up", '"counter:database.collection"'),
    ],
)
def test_what_cannot_be_typed_is_said_beside_its_key(session: Session, key: str, typed: str, said: str) -> None:
    entry, troubles = session.statements.entry({"layout": "archive", key: typed})
    assert key not in entry
    assert said in troubles[key]


def test_what_is_used_is_read_by_at_once_and_until_the_session_ends(
    session: Session, server_uri: str, sheets: str
) -> None:
    info = session.statements.use(sheets, STATED)
    assert (info.layout, info.why) == ("versions", "Stated by hand, and in no profile yet.")
    assert [v.v for v in session.history.versions(sheets, Value.of("A"))] == [Value.of(2), Value.of(1)]
    (again,) = (each for each in session.catalogue.collections(sheets.partition(".")[0]) if each.ns == sheets)
    assert (again.layout, again.why) == ("versions", "Stated by hand, and in no profile yet.")
    with Session.open(server_uri) as other:
        assert other.catalogue.info(sheets).why != again.why


def test_a_stated_archive_belongs_to_its_collection(session: Session, database: Db) -> None:
    database["now"].insert_many([{"_id": n, "pos": 2} for n in range(4)])
    database["then"].insert_many([{"of": n, "pos": 1} for n in range(4)])
    ns = f"{database.name}.now"
    list(session.catalogue.collections(database.name))
    session.statements.use(
        ns, {"layout": "archive", "archive": f"{database.name}.then", "archive_id": "of", "version": "pos"}
    )
    found = {each.ns: each for each in session.catalogue.collections(database.name)}
    assert found[f"{database.name}.then"].belongs_to == ns
    assert session.statements.begin(f"{database.name}.then").info.ns == ns


def test_what_is_kept_in_a_profile_is_used_by_whoever_opens_with_it(
    session: Session, server_uri: str, sheets: str, tmp_path: Path
) -> None:
    file = tmp_path / "layouts.toml"
    edit = session.statements.in_file(file, sheets, STATED)
    assert session.catalogue.profile_file is None
    assert session.statements.keep(edit, sheets)
    assert session.catalogue.profile_file == file
    assert session.catalogue.info(sheets).why == "The profile states it."
    with Session.open(server_uri, profile=file) as other:
        assert other.catalogue.info(sheets).fields == session.catalogue.info(sheets).fields
        assert other.statements.begin(sheets).stated


def test_with_another_profile_in_use_the_collection_alone_is_read_by_what_was_kept(
    server_uri: str, database: Db, sheets: str, tmp_path: Path
) -> None:
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    database["logs"].insert_one({"_id": 1})
    one.write_text(f'[[collection]]\nns = "{database.name}.logs"\nlayout = "hashed"\n')
    two.write_text(f'[[collection]]\nns = "{database.name}.logs"\nlayout = "plain"\n')
    with Session.open(server_uri, profile=one) as session:
        assert not session.statements.keep(session.statements.in_file(two, sheets, STATED), sheets)
        assert session.catalogue.profile_file == one
        assert session.catalogue.info(f"{database.name}.logs").layout == "hashed"
        assert session.catalogue.info(sheets).layout == "versions"


def test_what_else_was_stated_by_hand_goes_on_when_one_collection_is_kept(
    session: Session, database: Db, sheets: str, tmp_path: Path
) -> None:
    database["logs"].insert_one({"_id": 1, "sum": "x"})
    logs = f"{database.name}.logs"
    session.statements.use(logs, {"layout": "hashed", "hash": "sum"})
    session.statements.keep(session.statements.in_file(tmp_path / "layouts.toml", sheets, STATED), sheets)
    assert session.catalogue.info(logs).why.startswith("Stated by hand")
    assert session.catalogue.info(logs).fields["hash"] == "sum"


def test_the_paths_of_sub_documents_come_after_the_names_at_the_top(session: Session, database: Db) -> None:
    database["deep"].insert_one({"_id": 1, "meta": {"by": {"name": "ann"}}, "x": 1})
    assert session.statements.names(f"{database.name}.deep") == ("_id", "meta", "x", "meta.by", "meta.by.name")
    assert session.statements.names(f"{database.name}.deep", "meta") == ("by", "by.name")
    assert session.statements.names(f"{database.name}.gone") == ()


def test_an_undo_without_what_was_stated_by_hand_says_so(
    session: Session, server_uri: str, database: Db, sheets: str
) -> None:
    database["sheets"].create_index([("thing", 1), ("pos", 1)], unique=True)
    session.statements.use(sheets, STATED)
    outcome = session.edit(sheets, Value.of("A"), set={"total": 1})
    assert outcome.entry is not None
    database["sheets"].drop_indexes()
    database["sheets"].insert_many([{"thing": n, "pos": 7} for n in range(20)])
    with Session.open(server_uri) as other, pytest.raises(Refused, match="stated by hand"):
        other.way_back.undo(outcome.entry)
    database["sheets"].delete_many({"pos": 7})
    database["sheets"].create_index([("thing", 1), ("pos", 1)], unique=True)
    assert session.way_back.undo(outcome.entry).kind == "applied"


DUMPS = sorted(each.parent for each in (ROOT / "tests" / "writers").glob("*/shop"))


@support.table("dump", support.every(4, DUMPS), ids=lambda dump: dump.name)
def test_the_histories_of_other_programs_are_stated_as_they_were_recognised(dump: Path) -> None:
    with Session.open(dump) as session:
        ns = next(info.ns for info in session.catalogue.collections("shop") if info.writer and info.belongs_to is None)
        begun = session.statements.begin(ns)
        entry, troubles = session.statements.entry(begun.texts)
        assert troubles == {}
        trial = session.statements.tried(ns, entry)
        assert trial.against == ()
        assert [one.versions for one in trial.documents] == [
            sum(1 for _ in session.history.versions(ns, one.id)) for one in trial.documents
        ]
        assert min(one.versions for one in trial.documents) > 1
        lines = {line.partition(" = ")[0] for line in trial.toml.splitlines()[1:]}
        assert {"ns", "layout", "writer"} <= lines <= {"ns", "layout", "writer", "id", "archive", "where"}
        layout, texts = session.statements.of_writer(ns, str(entry["writer"]))
        assert layout == begun.info.layout
        alike = {name: text for name, text in texts.items() if name not in ("archive", "where")}
        assert alike == {name: text for name, text in begun.texts.items() if name not in ("archive", "where")}
