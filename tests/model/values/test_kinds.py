"""Every kind of value through every column of the table; the cases are in ``tests/cases/kinds.json``."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, groupby
from typing import Any

import pymongo
import pytest
from bson.raw_bson import RawBSONDocument
from msgspec import Struct, convert
from msgspec.structs import replace

from model import text
from model.errors import Refused
from model.guarantees import fidelity
from model.localserver.sample.corners import bson_types
from model.mql import order
from model.server import code_preview
from model.text import csv_form, json_writer
from model.values import canonical as c
from model.values import kinds
from model.values.canonical import Value
from tests.model.diff import bson_strategies
from tests.support import CASES, ROOT
from tests.walker import comparing
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


def _cases() -> dict[str, list[Case]]:
    given: dict[str, list[dict[str, Any]]] = json.loads((CASES / "kinds.json").read_text("utf-8"))
    found: dict[str, list[Case]] = {}
    for name, cases in given.items():
        try:
            found[name] = convert(cases, list[Case])
            for case in found[name]:
                bytes.fromhex(case.hex)
        except ValueError as error:
            raise ValueError(f"A case of {name} in tests/cases/kinds.json is wrong: {error}.") from None
    return found


BY_KIND = _cases()
GIVEN = [
    (kind, case, Value(kind.code, bytes.fromhex(case.hex)))
    for kind in kinds.KINDS
    for case in BY_KIND.get(kind.name, [])
]
VALUES = [value for _, _, value in GIVEN]
ROWS = "model/values/kinds.py"


def tried(work: Callable[[], Any]) -> Any:
    """What it returns, or what it raises in words."""
    try:
        return work()
    except (Refused, LookupError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def wrong(column: str, made: Callable[[Value], Any], stated: Callable[[Case], Any]) -> str:
    """A line for each case for which a column gives something else than is stated."""
    found = [(kind.name, tried(lambda value=value: made(value)), stated(case)) for kind, case, value in GIVEN]
    return "\n".join(
        f"{column} of {name} is {is_!r}, but tests/cases/kinds.json says {should!r}"
        for name, is_, should in found
        if is_ != should
    )


def lacking(place: str, found: Iterable[str], but: Iterable[str] = ()) -> str:
    """A sentence that names the kinds that a place does not have; "" if it has all."""
    names = sorted(kinds.BY_NAME.keys() - {*found, *but})
    return f"{place} lacks {', '.join(names)}" if names else ""


def test_every_kind_has_its_cases_and_its_place_in_the_order_of_servers() -> None:
    names = [kind.name for kind in kinds.KINDS]
    assert not (told := lacking("tests/cases/kinds.json", (name for name, cases in BY_KIND.items() if cases))), told
    assert [name for name in BY_KIND if name not in names] == []
    placed = [name for rank in SORTED for name in rank]
    assert not (told := lacking("SORTED in tests/model/values/test_kinds.py", placed)), told
    assert sorted(placed) == sorted(names)
    for kind, other in combinations(kinds.KINDS, 2):
        assert len({kind.code, other.code}) == len({kind.alias, other.alias}) == len({kind.name, other.name}) == 2, (
            f"{kind.name} and {other.name} in {ROWS} have one code, alias or name"
        )
    by_rank = groupby(sorted(kinds.KINDS, key=lambda kind: kind.rank), key=lambda kind: kind.rank)
    for (rank, alike), stated in zip(by_rank, SORTED, strict=False):
        found = {kind.name for kind in alike}
        assert found == {*stated}, f"rank {rank} in {ROWS} is that of {found}, but SORTED has {stated} there"


def test_every_row_has_the_columns_that_its_kind_needs() -> None:
    """A kind has one value, with a word and a notation, or many, with the functions for their forms and two cases."""
    wanted: list[str] = []
    for kind in kinds.KINDS:
        if isinstance(kind.length, int) and kind.length == 0:
            needed = ["word", "notation"]
        else:
            # Documents and arrays are written and shown by walking; code with a scope holds a document.
            walked = {c.OBJECT: ("text", "shown"), c.ARRAY: ("text", "shown"), c.SCOPED_CODE: ("text",)}
            needed = [name for name in ("text", "shown", "order", "blank") if name not in walked.get(kind.code, ())]
            if len({case.hex for case in BY_KIND.get(kind.name, [])}) < 2:
                wanted.append(f"tests/cases/kinds.json lacks two different values of {kind.name}, in a server's order")
        if not kind.driver and not kind.mongosh:
            needed.append("driver and python, or mongosh")
        elif kind.driver and not kind.python and kind.code not in (c.OBJECT, c.ARRAY):
            needed.append("python")
        wanted += [f"the row of {kind.name} in {ROWS} lacks {each}" for each in needed if not getattr(kind, each, "")]
    assert not wanted, "\n".join(wanted)


def test_every_kind_has_a_row_in_the_manual_whose_example_is_one() -> None:
    page = (ROOT / "resources/help/editing.md").read_text("utf-8").partition("## Types")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| ([^|`]+?) \| `([^`]+)`", page, re.MULTILINE))
    assert not (told := lacking("the table under Types in resources/help/editing.md", rows)), told
    assert [name for name in rows if name not in kinds.BY_NAME] == []
    for name, example in rows.items():
        assert tried(lambda name=name, example=example: text.parsed(example, name).kind) == name, (
            f"the example of {name} in resources/help/editing.md cannot be typed"
        )


def test_every_kind_is_in_the_sample_and_among_the_values_that_a_server_must_keep() -> None:
    whole = [*bson_types()][:-1]  # the last one is damaged
    kept = (*fidelity.COMMON.values(), *fidelity.RARE.values())
    sample = [value.kind for raw in whole for value in _inside(Value.document(raw))]
    told = lacking("_corners in model/localserver/sample/corners.py", sample)
    also = lacking("RARE in model/guarantees/fidelity.py", (value.kind for value in kept))
    assert not told + also, "\n".join(filter(None, (told, also)))


def _inside(value: Value) -> Iterator[Value]:
    yield value
    for each in c.items(value) if value.is_container else ():
        yield from _inside(each)


def test_every_kind_is_among_the_random_values_of_the_tests() -> None:
    r = random.Random(0)
    payloads = {kind.name: comparing.payload(r, kind.code, 3) for kind in kinds.KINDS}
    sound = [name for name, data in payloads.items() if _ends(name, data) == len(data)]
    told = lacking("payload in tests/walker/comparing.py", sound)
    drawn = (kinds.BY_CODE[code].name for code in bson_strategies.BY_KIND)
    also = lacking("BY_KIND in tests/model/diff/bson_strategies.py", drawn, but=("Object", "Array"))
    assert not told + also, "\n".join(filter(None, (told, also)))


def _ends(name: str, data: bytes) -> int:
    """Where a payload ends that other bytes follow; -1 if it cannot be read."""
    try:
        return c.element_end(data + b"\1" * 20, kinds.BY_NAME[name].code, 0)
    except Refused:
        return -1


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
        for kind, _, value in GIVEN:
            stated = f"length in the row of {kind.name} in {ROWS} is not that of its cases"
            assert _ends(kind.name, value.data) == len(value.data), stated
            raw = c.document([("before", Value.of(1)), ("f", value), ("after", Value.of("x"))])
            lengths = f"payload in model/values/_walker.c and length in {ROWS} differ for {kind.name}"
            assert tried(lambda raw=raw: c.fields(raw)[1:]) == [("f", value), ("after", Value.of("x"))], lengths
            assert list(c.elements(raw)) == list(c.walked(raw)), lengths


def test_the_walker_in_c_knows_the_length_of_every_kind() -> None:
    if c.walker is None:
        pytest.skip("there is no walker in C")
    known = (value.kind for value in VALUES if c.walker.fields(c.document([("f", value)])) is not None)
    told = lacking("payload in model/values/_walker.c, as it was when the package was last installed,", known)
    assert not told, told


def test_extended_json_is_exact_both_ways() -> None:
    assert not (told := wrong("text", text.value_text, lambda case: case.text)), told
    relaxed = json_writer.Style("relaxed")
    told = wrong("relaxed", lambda value: json_writer.write(value, relaxed), lambda case: case.relaxed)
    assert not told, told
    for kind, case, value in GIVEN:
        read = tried(lambda case=case: text.value_from_text(case.text))
        assert read == value, f"the wrappers of {kind.name} in {ROWS} read {case.text} as {read}"


def test_a_row_that_names_no_function_is_told() -> None:
    with pytest.raises(LookupError, match=r"scalars:nothing: write nothing in model/text/scalars\.py, above"):
        kinds.function("text.scalars:nothing")
    with pytest.raises(LookupError, match=r"write text in model/text/nothing\.py"):
        kinds.function("text.nothing:text")


def test_a_value_is_shown_on_one_line() -> None:
    assert not (told := wrong("shown", text.shown, lambda case: case.shown)), told


def test_a_value_is_typed_as_it_is_given_to_edit_and_in_other_ways() -> None:
    assert not (told := wrong("editable", text.editable, lambda case: case.typed[0])), told
    for kind, case, value in GIVEN:
        for typed in case.typed:
            read = tried(lambda typed=typed, kind=kind: text.parsed(typed, kind.name))
            assert read == value, f"{typed} is typed in tests/cases/kinds.json for {kind.name}, and read as {read}"


def test_every_kind_has_a_blank_value_and_says_what_to_type_instead_of_something_else() -> None:
    for kind in kinds.KINDS:
        blank = tried(lambda kind=kind: text.blank(kind.name).kind)
        assert blank == kind.name, f"blank in the row of {kind.name} in {ROWS} is no value of it: {blank}"
        if kind.hint:
            with pytest.raises(Refused, match=re.escape(kind.hint)):
                text.parsed("5" if kind.code in (c.OBJECT, c.ARRAY) else "@", kind.name)


def test_a_shell_writes_a_value_in_several_ways() -> None:
    for kind, case, value in GIVEN:
        for written in case.shell:
            read = tried(lambda written=written: text.loose_value(written))
            assert read == value, f"{written} is a call for {kind.name} in tests/cases/kinds.json, and read as {read}"
    for kind in kinds.KINDS:
        for helper in kind.helpers:
            made = kinds.BY_NAME[text.loose_value(helper.example).kind]
            assert helper in made.helpers, f"the example of the helper {helper.name} in {ROWS} is not of {kind.name}"
        if kind.offered:
            assert kind.offered.partition("(")[0] in {helper.name for helper in kind.helpers}, (
                f"what the row of {kind.name} in {ROWS} offers is none of its helpers"
            )


def test_code_to_copy_is_that_of_pymongo_and_mongosh() -> None:
    def made(code: Callable[[Value, bool], str]) -> Callable[[Value], str | None]:
        return lambda value: None if value.is_container else code(value, True)

    def stated(code: str) -> Callable[[Case], str | None]:
        return lambda case: None if case.driver in ("dict", "list") else getattr(case, code)

    assert not (told := wrong("python", made(code_preview.PYTHON.value), stated("python"))), told
    assert not (told := wrong("mongosh", made(code_preview.SHELL.value), stated("mongosh"))), told


def _decoded(value: Value) -> str | None:
    try:
        return type(value.python()).__name__
    except Refused:
        return None


def test_the_driver_decodes_a_value_to_the_class_of_its_row() -> None:
    assert not (told := wrong("driver", _decoded, lambda case: case.driver)), told
    for kind in kinds.KINDS:
        decoded = {case.driver for case in BY_KIND.get(kind.name, [])}
        assert not kind.driver or not decoded or kind.driver in decoded, (
            f"driver in the row of {kind.name} in {ROWS} is {kind.driver}, but PyMongo decodes it to {decoded}"
        )


def test_a_cell_of_csv_is_read_back() -> None:
    def cells(value: Value) -> dict[str, str]:
        raw = c.document([("f", value)])
        plan = csv_form.ColumnPlan()
        plan.note(raw)
        return dict(zip([each.head for each in plan.columns], csv_form.cells(raw, plan.columns), strict=True))

    assert not (told := wrong("the CSV", cells, lambda case: case.csv)), told
    for kind, _, value in GIVEN:
        raw = c.document([("f", value)])
        plan = csv_form.ColumnPlan()
        plan.note(raw)
        file = io.StringIO(newline="")
        assert replace(csv_form.write([raw], plan.columns, file), formulas=0) == csv_form.TableCounts(1)
        file.seek(0)
        assert list(csv_form.read(file, "a.csv")) == [raw], f"the cell of {kind.name} is read back as another value"


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
    ranks = [rank for rank, _ in groupby(place[VALUES[at].kind] for at in found if VALUES[at].kind in place)]
    assert ranks == sorted({*ranks})
    for kind in kinds.KINDS:
        own = [at for at in found if VALUES[at].type == kind.code]
        assert own == sorted(own), (
            f"order in the row of {kind.name} in {ROWS} does not sort its cases as tests/cases/kinds.json does"
        )
