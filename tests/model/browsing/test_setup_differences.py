"""Two collections side by side: which indexes, validators and options differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymongo.errors
import pytest

from model.browsing.setup_differences import SetUp, differences
from model.session import Session


def said(session: Session, database: Any) -> tuple[list[str], str]:
    found, note = session.beside(f"{database.name}.l", session, f"{database.name}.r").setup()
    return [each.said for each in found], note


def test_indexes_are_paired_by_their_keys(server_uri: str, database: Any, tmp_path: Path) -> None:
    for name in "lr":
        database[name].insert_one({"_id": 1, "no": 1, "a": 1, "b": 1, "at": None})
        database[name].create_index([("a", 1), ("b", -1)], name=f"its name is no difference {name}")
    database["l"].create_index("no", unique=True)
    database["r"].create_index("no")
    database["l"].create_index("at", expireAfterSeconds=3600)
    database["r"].create_index([("b", -1), ("a", 1)], sparse=True)
    with Session.open(server_uri, home=tmp_path) as session:
        lines, note = said(session, database)
        assert note == ""
        assert [line for line in lines if "{ at: 1 }" not in line] == [
            "Index { b: -1, a: 1 }, sparse is only there.",
            "Index { no: 1 }: unique here, plain there.",
        ]
        if len(lines) > 2:  # a server may leave out what it does not know
            assert lines[0] in (
                "Index { at: 1 }, expireAfterSeconds 3600 is only here.", "Index { at: 1 } is only here."
            )  # fmt: skip


def test_a_validator_is_compared_whatever_the_order_of_its_fields(
    server_uri: str, database: Any, tmp_path: Path
) -> None:
    for name in "lr":
        database.create_collection(name)
    try:
        database.command("collMod", "l", validator={"n": {"$gt": 1, "$lt": 9}, "a": 1}, validationLevel="moderate")
        database.command("collMod", "r", validator={"a": 1, "n": {"$lt": 9, "$gt": 1}})
    except pymongo.errors.OperationFailure:
        pytest.skip("this server has no rules for documents")
    with Session.open(server_uri, home=tmp_path) as session:
        assert said(session, database) == (['Option validationLevel: "moderate" here, none there.'], "")
        database.command("collMod", "r", validator={"a": 1, "n": {"$lt": 8, "$gt": 1}})
        assert len(said(session, database)[0]) == 2, "also one value deep inside"
        database.command("collMod", "r", validator={})
        rules = '{"a": 1, "n": {"$gt": 1, "$lt": 9}}'
        assert said(session, database)[0][1] == f"Option validator: {rules} here, none there."


def test_several_indexes_of_the_same_keys_are_told_apart() -> None:
    here = SetUp((("{ a: 1 }", "plain"), ("{ a: 1 }", "sparse"), ("{ b: 1 }", "plain")))
    there = SetUp((("{ a: 1 }", "sparse"), ("{ b: 1 }", "plain")))
    assert [each.said for each in differences(here, there)] == ["Index { a: 1 } is only here."]
    assert [*differences(here, here)] == []


def test_a_file_that_names_no_indexes_is_not_said_to_lack_them(server_uri: str, database: Any, tmp_path: Path) -> None:
    database["l"].insert_one({"_id": 1, "no": 1})
    database["l"].create_index("no")
    file = tmp_path / "lines.json"
    file.write_text('{"_id": 1, "no": 1}\n')
    with Session.open(server_uri, home=tmp_path) as session, Session.open(str(file), home=tmp_path) as lines:
        (ns,) = [each.ns for each in lines.catalogue.collections()]
        found, note = session.beside(f"{database.name}.l", lines, ns).setup()
        assert (found, note) == ((), f"Indexes and options are not compared, as the file of {ns} names none.")
