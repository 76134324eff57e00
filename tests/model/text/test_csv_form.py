"""Documents as CSV: every type comes back, and documents that a table cannot hold are counted."""

from __future__ import annotations

import datetime as dt
import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from bson import Binary, Code, Decimal128, Int64, MaxKey, ObjectId, Regex, Timestamp

from model import text
from model.errors import Cancelled, Refused, Unreadable
from model.foundation.records import Row
from model.text import csv_form
from model.text.csv_form import ColumnPlan, document, heads
from model.text.file_documents import documents_in, documents_of
from model.text.row_file import Written, write_rows
from model.values import canonical
from model.values.canonical import Value
from tests import support

WHEN = dt.datetime(2026, 11, 20, 14, 26, 3, 123000, tzinfo=dt.UTC)
EVERY: dict[str, Any] = {
    "_id": "K-1", "int": 5, "long": Int64(5), "double": 5.0, "decimal": Decimal128("5.00"), "yes": True, "none": None,
    "date": WHEN, "oid": ObjectId("65f0a1c29b1e8a0012c4d7aa"), "bytes": Binary(b"\x00\x01", 5),
    "re": Regex("^a,b", "i"),
    "ts": Timestamp(7, 1), "code": Code("f()"), "max": MaxKey(), "list": [1, {"a": Int64(2)}], "empty": {},
    "holder": {"name": "Ada", "address": {"zip": "01067"}}, "text": 'line one\nline "two", and more', "blank": "",
    "digits": "007", "quoted": '"x"', "a.b": 1, "odd": {"$x": 1, "y z": 2},
}  # fmt: skip


def row(raw: bytes) -> Row:
    return Row(Value.of(1), None, None, len(raw), raw)


def through(tmp_path: Path, *raws: bytes) -> tuple[Written, list[bytes], str]:
    path = tmp_path / "table.csv"
    written = write_rows(map(row, raws), path)
    return written, list(documents_of(path)), path.read_text("utf-8")


def test_every_type_comes_back_from_a_table(tmp_path: Path) -> None:
    raw = canonical.encode(EVERY)
    written, back, _ = through(tmp_path, raw)
    assert back == [raw]
    assert (written.documents, written.left_out, written.rearranged) == (1, 0, 0)


def test_a_head_names_path_and_type_and_cells_are_plain(tmp_path: Path) -> None:
    _, _, table = through(tmp_path, canonical.encode({"_id": "K-1", "premium": {"gross": Decimal128("491.23")}}))
    assert table == "_id (String),premium.gross (Decimal128)\nK-1,491.23\n"


def test_a_column_of_several_types_holds_extended_json(tmp_path: Path) -> None:
    raws = [canonical.encode({"n": n}) for n in (1, "1", 1.0, None)]
    _, back, table = through(tmp_path, *raws)
    assert back == raws
    assert table.splitlines()[0] == "n"
    assert '"{""$numberInt"": ""1""}"' in table


def test_a_field_that_is_missing_stays_missing_and_new_ones_go_to_their_place(tmp_path: Path) -> None:
    raws = [canonical.encode(each) for each in ({"a": 1, "c": 3}, {"a": 1, "b": 2, "c": 3}, {"a": 1})]
    written, back, table = through(tmp_path, *raws)
    assert back == raws
    assert table.splitlines()[0] == "a (Int32),b (Int32),c (Int32)"
    assert written.rearranged == 0


def test_another_order_of_fields_is_counted_as_a_table_has_but_one(tmp_path: Path) -> None:
    raws = [canonical.encode(each) for each in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    written, back, _ = through(tmp_path, *raws)
    assert written.rearranged == 1
    assert back == [raws[0], raws[0]]


def test_a_document_that_no_row_can_say_is_left_out_and_counted(tmp_path: Path) -> None:
    twice = canonical.document([("a", Value.of(1)), ("a", Value.of(2))])
    written, back, _ = through(tmp_path, twice, canonical.encode({"a": 3}))
    assert (written.documents, written.left_out) == (1, 1)
    assert back == [canonical.encode({"a": 3})]


def test_a_stopped_export_leaves_no_file(tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        if done == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        write_rows((row(canonical.encode({"a": n})) for n in range(9)), tmp_path / "t.csv", 9, stop)
    assert list(tmp_path.iterdir()) == []


# --- tables of other programs


def read(table: str) -> list[str]:
    return [text.relaxed(raw) for raw in csv_form.read(io.StringIO(table, newline=""), "t.csv")]


def test_a_table_without_types_gives_numbers_where_they_are_some_and_texts_else() -> None:
    assert read("name,age,zip,ok,holder.city\nAda,36,01067,true,Bonn\nBob,,1.5,,\n") == [
        '{"name": "Ada", "age": 36, "zip": "01067", "ok": true, "holder": {"city": "Bonn"}}',
        '{"name": "Bob", "zip": 1.5}',
    ]


@support.table(
    "table, said",
    [
        ("n (Int32)\n12,50\n", "Line 2 of t.csv: there are 2 cells under 1 heads; quote the cell that holds a comma."),
        ("n (Int32)\nmany\n", "Line 2 of t.csv, column n: "),
        ("a,a\n1,2\n", "t.csv has the column a twice; remove one of them."),
        ("a,a.b\n1,2\n", "Line 2 of t.csv, column a.b: a is a value and holds no fields."),
        ('a\n"x\n', "Line 2 of t.csv is not CSV"),
    ],
)
def test_a_bad_table_is_refused_with_the_line(table: str, said: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(table)
    assert str(caught.value).startswith(said)


def test_a_table_that_is_no_utf_8_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("name\nJürgen\n".encode("latin-1"))
    with pytest.raises(Unreadable, match="save it as UTF-8"):
        list(documents_of(tmp_path / "t.csv"))


def test_a_head_in_words_is_a_name_and_not_a_type() -> None:
    assert [column.path for column in heads(["Price (net)", "n (Int32)"], "t")] == [("Price (net)",), ("n",)]


def test_columns_are_learned_once_for_all_documents() -> None:
    plan = ColumnPlan()
    for each in ({"a": 1}, {"a": Int64(1)}):
        plan.note(canonical.encode(each))
    assert [column.head for column in plan.columns] == ["a"]
    assert document(['{"$numberLong": "1"}'], plan.columns) == canonical.encode({"a": Int64(1)})


# --- what is pasted


@support.table(
    "pasted",
    ['{a: 1}\n{a: 2}', '[{"a": 1}, {"a": 2}]', "[{a: 1}, {a: 2},]", '{"a": 1}\n\n{\n  "a": 2\n}'],
)  # fmt: skip
def test_several_documents_are_read_from_what_was_pasted(pasted: str) -> None:
    assert [text.relaxed(raw) for raw in documents_in(pasted)] == ['{"a": 1}', '{"a": 2}']


def test_one_document_may_be_in_the_notation_of_the_shell() -> None:
    assert documents_in("{ at: ISODate('2026-01-01') }") == [text.loose("{ at: ISODate('2026-01-01') }")]
    with pytest.raises(Refused, match="Line 2"):
        documents_in('{ a: 1,\n b }')  # fmt: skip


def test_a_gzipped_file_is_read_in_any_of_the_forms(tmp_path: Path) -> None:
    raw = canonical.encode({"_id": "K-1", "n": Int64(7)})
    for ending in ("csv", "jsonl", "bson"):
        write_rows([row(raw)], tmp_path / f"in.{ending}")
        packed = tmp_path / f"in.{ending}.gz"
        packed.write_bytes(gzip.compress((tmp_path / f"in.{ending}").read_bytes()))
        assert list(documents_of(packed)) == [raw]


def test_texts_that_a_spreadsheet_takes_for_formulas_are_counted_and_stay_as_they_are(tmp_path: Path) -> None:
    one = {"a": "=1+1", "b": "+49 30", "c": "-x", "d": "@SUM(A1)", "e": "\t=1", "n": -5, "f": -1.5, "t": "1-1"}
    raws = [canonical.encode({**one, "mixed": "=1"}), canonical.encode({"a": "plain", "mixed": 1})]
    written, back, _ = through(tmp_path, *raws)
    assert back == raws
    assert written.formulas == 5
    assert written.notes == ["5 cells begin with =, +, - or @, which spreadsheets take for formulas."]
    assert through(tmp_path, canonical.encode({"=cmd": 1}))[0].formulas == 1
