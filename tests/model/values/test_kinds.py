"""Every kind of value through every column of the table; the cases are in ``tests/cases/kinds.json``."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from itertools import groupby
from typing import Any

import pymongo
import pytest
from bson.raw_bson import RawBSONDocument
from msgspec import Struct, convert

from model import text
from model.errors import Refused
from model.mql import order
from model.server import code_preview
from model.text import csv_form, json_writer
from model.values import canonical as c
from model.values import kinds
from model.values.canonical import Value
from tests.support import CASES, ROOT
from tests.walker.building import using

SORTED = (
    *(("MinKey",), ("Undefined",), ("Null",), ("Int32", "Int64", "Double", "Decimal128"), ("String", "Symbol")),
    *(("Object",), ("Array",), ("Binary",), ("ObjectId",), ("Boolean",), ("Date",), ("Timestamp",), ("Regex",)),
    *(("DBPointer",), ("Code",), ("Code with scope",), ("MaxKey",)),
)
"""The kinds as MongoDB sorts them, from its manual."""


class Case(Struct, frozen=True):
    """One value with its form in each column; the cases of a kind stand in the order in which servers sort them."""

    hex: str
    text: str
    relaxed: str
    shown: str
    typed: list[str]  # the first is what a person is given to edit
    shell: list[str]
    python: str
    mongosh: str
    driver: str | None  # the class that PyMongo decodes to; None where it decodes nothing
    csv: dict[str, str]


BY_KIND: dict[str, list[Case]] = convert(json.loads((CASES / "kinds.json").read_text("utf-8")), dict[str, list[Case]])
GIVEN = [(kind, case) for kind in kinds.KINDS for case in BY_KIND.get(kind.name, [])]
VALUES = [Value(kind.code, bytes.fromhex(case.hex)) for kind, case in GIVEN]


def wrong(made: Callable[[Value], Any], stated: Callable[[Case], Any]) -> list[tuple[str, Any, Any]]:
    """The cases for which something is not what it should be, by kind, with both."""
    found = [(kind.name, made(value), stated(case)) for (kind, case), value in zip(GIVEN, VALUES, strict=True)]
    return [(name, is_, should) for name, is_, should in found if is_ != should]


def test_every_kind_has_its_cases_and_its_place_in_the_order_of_servers() -> None:
    names = [kind.name for kind in kinds.KINDS]
    assert [name for name in names if not BY_KIND.get(name)] == [], "tests/cases/kinds.json lacks these kinds"
    assert [name for name in BY_KIND if name not in names] == []
    placed = [name for rank in SORTED for name in rank]
    assert sorted(placed) == sorted(names), "SORTED lacks a kind"
    assert len(kinds.BY_CODE) == len(kinds.BY_NAME) == len({kind.alias for kind in kinds.KINDS}) == len(names)


def test_every_kind_has_a_row_in_the_manual_whose_example_is_one() -> None:
    page = (ROOT / "resources/help/editing.md").read_text("utf-8").partition("## Types")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| ([^|`]+?) \| `([^`]+)`", page, re.MULTILINE))
    assert [kind.name for kind in kinds.KINDS if kind.name not in rows] == [], "resources/help/editing.md lacks these"
    assert [name for name in rows if name not in kinds.BY_NAME] == []
    for name, example in rows.items():
        assert text.parsed(example, name).kind == name


def test_every_function_that_a_row_names_is_there() -> None:
    columns = ("text", "relaxed", "shown", "editable", "typed", "python", "mongosh", "order", "cell")
    for column in columns:
        assert all(map(callable, kinds.functions(column).values())), column
    for kind in kinds.KINDS:
        assert all(callable(kinds.function(each.read)) for each in (*kind.wrappers, *kind.helpers)), kind.name


@pytest.mark.parametrize("walker", [True, False])
def test_a_payload_is_as_long_as_its_row_says(walker: bool) -> None:
    if walker and c.walker is None:
        pytest.skip("there is no walker in C")
    with using(c.walker if walker else None):
        for (kind, _), value in zip(GIVEN, VALUES, strict=True):
            raw = c.document([("before", Value.of(1)), ("f", value), ("after", Value.of("x"))])
            assert c.fields(raw)[1:] == [("f", value), ("after", Value.of("x"))], kind.name
            assert c.element_end(value.data, kind.code, 0) == len(value.data), kind.name
            assert list(c.elements(raw)) == list(c.walked(raw)), kind.name


def test_the_walker_in_c_knows_the_length_of_every_kind() -> None:
    if c.walker is None:
        pytest.skip("there is no walker in C")
    unknown = {value.kind for value in VALUES if c.walker.fields(c.document([("f", value)])) is None}
    assert unknown == set(), "model/values/_walker.c leaves these to Python"


def test_extended_json_is_exact_both_ways() -> None:
    assert wrong(text.value_text, lambda case: case.text) == []
    assert wrong(lambda value: json_writer.write(value, json_writer.Style("relaxed")), lambda case: case.relaxed) == []
    for (kind, case), value in zip(GIVEN, VALUES, strict=True):
        assert text.value_from_text(case.text) == value, kind.name


def test_a_row_that_names_no_function_is_told() -> None:
    with pytest.raises(LookupError, match=r"names text\.scalars:nothing, and there is no such function"):
        kinds.function("text.scalars:nothing")


def test_a_value_is_shown_on_one_line() -> None:
    assert wrong(text.shown, lambda case: case.shown) == []


def test_a_value_is_typed_as_it_is_given_to_edit_and_in_other_ways() -> None:
    assert wrong(text.editable, lambda case: case.typed[0]) == []
    for (kind, case), value in zip(GIVEN, VALUES, strict=True):
        for typed in case.typed:
            assert text.parsed(typed, kind.name) == value, (kind.name, typed)


def test_every_kind_has_a_blank_value_and_says_what_to_type_instead_of_something_else() -> None:
    for kind in kinds.KINDS:
        assert text.blank(kind.name).kind == kind.name
        if kind.hint:
            with pytest.raises(Refused, match=re.escape(kind.hint)):
                text.parsed("5" if kind.code in (c.OBJECT, c.ARRAY) else "@", kind.name)


def test_a_shell_writes_a_value_in_several_ways() -> None:
    for (kind, case), value in zip(GIVEN, VALUES, strict=True):
        for written in case.shell:
            assert text.loose_value(written) == value, (kind.name, written)
    for kind in kinds.KINDS:
        for helper in kind.helpers:
            made = kinds.BY_NAME[text.loose_value(helper.example).kind]
            assert helper in made.helpers, helper.name
        if kind.offered:
            assert kind.offered.partition("(")[0] in {helper.name for helper in kind.helpers}


def test_code_to_copy_is_that_of_pymongo_and_mongosh() -> None:
    scalars = [(kind.name, case, value) for (kind, case), value in zip(GIVEN, VALUES, strict=True)]
    for name, case, value in (each for each in scalars if not each[2].is_container):
        assert code_preview.PYTHON.value(value, True) == case.python, name
        assert code_preview.SHELL.value(value, True) == case.mongosh, name


def _decoded(value: Value) -> str | None:
    try:
        return type(value.python()).__name__
    except Refused:
        return None


def test_the_driver_decodes_a_value_to_the_class_of_its_row() -> None:
    assert wrong(_decoded, lambda case: case.driver) == []
    for kind in kinds.KINDS:
        assert not kind.driver or kind.driver in {case.driver for case in BY_KIND[kind.name]}, kind.name


def test_a_cell_of_csv_is_read_back() -> None:
    for (kind, case), value in zip(GIVEN, VALUES, strict=True):
        raw = c.document([("f", value)])
        plan = csv_form.ColumnPlan()
        plan.note(raw)
        cells = csv_form.cells(raw, plan.columns)
        assert dict(zip([each.head for each in plan.columns], cells, strict=True)) == case.csv, kind.name
        file = io.StringIO(newline="")
        assert csv_form.write([raw], plan.columns, file) == csv_form.TableCounts(1)
        file.seek(0)
        assert list(csv_form.read(file, "a.csv")) == [raw], kind.name


def test_values_sort_as_on_a_server(local_uri: str) -> None:
    # Each in a document of its own: of an array a server takes the least element.
    inner = [Value.document(c.document([("f", value)])) for value in VALUES]
    documents = [c.document([("_id", Value.of(at)), ("v", value)]) for at, value in enumerate(inner)]
    with pymongo.MongoClient(local_uri, document_class=RawBSONDocument) as client:
        ids = client["kinds"]["sorted"]
        ids.insert_many([RawBSONDocument(raw) for raw in reversed(documents)])
        try:
            found = [each["_id"] for each in ids.find({}, {"_id": 1}).sort([("v", 1), ("_id", 1)])]
        finally:
            client.drop_database("kinds")
    assert found == sorted(range(len(VALUES)), key=lambda at: order.value_key(VALUES[at]))
    place = {name: at for at, rank in enumerate(SORTED) for name in rank}
    assert [SORTED[rank] for rank, _ in groupby(place[VALUES[at].kind] for at in found)] == [*SORTED]
    for kind in kinds.KINDS:
        own = [at for at in found if VALUES[at].type == kind.code]
        assert own == sorted(own), f"the cases of {kind.name} do not stand in the order of their values"
