"""Diffs for other programs: these can load them, and nothing is lost on the way."""

from __future__ import annotations

import json
import time
from typing import Any

import bson
import pytest
from bson.codec_options import CodecOptions, DatetimeConversion
from deepdiff import Delta
from hypothesis import example, given

from model import text
from model.diff import diff
from model.diff.export import to_deepdiff, to_delta, to_json_patch, to_lines, to_words
from model.errors import Refused
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.laws.rfc6902 import applied
from tests.model.diff.bson_strategies import related


def _patch_law(a: bytes, b: bytes) -> list[dict[str, Any]]:
    patch: list[dict[str, Any]] = json.loads(to_json_patch(diff(a, b), a, b))
    assert applied(patch, json.loads(text.relaxed(a))) == json.loads(text.relaxed(b))
    return patch


@given(related())
@support.examples(100)
def test_json_patch_leads_from_the_one_relaxed_json_to_the_other(both: tuple[bytes, bytes]) -> None:
    _patch_law(*both)


def test_json_patch_says_moves_as_moves() -> None:
    patch = _patch_law(text.loose("{a: [1, 2, 3, 4]}"), text.loose("{a: [2, 3, 4, 1]}"))
    assert patch == [{"op": "move", "from": "/a/0", "path": "/a/3"}]


@pytest.mark.deep
def test_json_patch_of_many_moves_takes_no_time_for_each_pair_of_them() -> None:
    a, b = (c.document([("a", c.array(map(Value.of, numbers)))]) for numbers in (range(60_000), range(59_999, -1, -1)))
    changes = diff(a, b)
    start = time.process_time()
    patch = json.loads(to_json_patch(changes, a, b))
    assert time.process_time() - start < 8  # an eighth of it is enough, and twice as much is not for each pair
    assert len(patch) == 59_999
    assert applied(patch, json.loads(text.relaxed(a))) == json.loads(text.relaxed(b))


def test_json_patch_has_relaxed_values_and_escaped_names() -> None:
    a, b = text.loose("{'a/b': {'x~y': 1}}"), text.loose("{'a/b': {'x~y': NumberLong(2)}, d: ISODate('2026-01-01')}")
    assert _patch_law(a, b) == [
        {"op": "replace", "path": "/a~1b/x~0y", "value": 2},
        {"op": "add", "path": "/d", "value": {"$date": "2026-01-01T00:00:00Z"}},
    ]


def test_json_patch_replaces_what_stands_in_an_escape_form() -> None:
    a, b = text.loose("{a: {x: 1}}"), text.loose("{a: {$fields: [['$oid', 'no id'], ['x', 1]]}}")
    assert [op["path"] for op in _patch_law(a, b)] == ["/a"]


def test_json_patch_of_nothing_is_an_empty_array() -> None:
    assert to_json_patch(diff(c.EMPTY, c.EMPTY), c.EMPTY, c.EMPTY) == "[]"


def test_what_deepdiff_loads_leads_from_the_one_canonical_json_to_the_other() -> None:
    a = text.loose("{a: 1, b: [1, 2, {c: ObjectId('65f0a1c29b1e8a0012c4d7aa')}], d: {x: 1, y: 2}, z: 1}")
    b = text.loose("{a: 1.0, b: [2, {c: ObjectId('65f0a1c29b1e8a0012c4d7ab')}, 5, 6], d: {y: 2, x: 1}, q: {r: 1}}")
    found = json.loads(to_deepdiff(a, b))
    assert found["type_changes"]["root['a']"]["old_type"] == "Int32"
    assert found["key_order_changed"] == {"root['d']": {"old_order": ["x", "y"], "new_order": ["y", "x"]}}
    assert json.loads(text.to_text(a)) + Delta(found, raise_errors=True) == json.loads(text.to_text(b))


@given(related())
@support.examples(80)
def test_a_delta_of_any_two_documents_leads_to_the_exact_target(both: tuple[bytes, bytes]) -> None:
    a, b = both
    found = json.loads(to_deepdiff(a, b))
    assert bool(found) == (a != b)
    assert json.loads(text.to_text(a)) + Delta(found, raise_errors=True) == json.loads(text.to_text(b))


@support.table(
    "old, new",
    [
        ("ObjectId('65f0a1c29b1e8a0012c4d7aa')", "ObjectId('65f0a1c29b1e8a0012c4d7ab')"),
        ("NumberDecimal('1.0')", "NumberDecimal('1.00')"),
        ("Timestamp(1, 1)", "Timestamp(1, 2)"),
        ("DBRef('c', 1)", "DBRef('c', 2)"),
        ("BinData(0, 'AAAA')", "BinData(5, 'AAAA')"),
        ("0.0", "-0.0"),
        ("1", "1.0"),
        ("1", "true"),
        ("1", "NumberLong(1)"),
        ("/x/", "/x/i"),
        ("MinKey", "MaxKey"),
        ("null", "undefined"),
        ("{$raw: {type: '01', hex: '010000000000f87f'}}", "NaN"),
    ],
)
def test_deepdiff_overlooks_nothing_through_its_operators(old: str, new: str) -> None:
    a, b = text.loose(f"{{a: {old}}}"), text.loose(f"{{a: {new}}}")
    assert json.loads(to_deepdiff(a, b))
    assert to_deepdiff(a, a) == "{}"


@support.table("name", ["__v", "__class__", "__type__", "a'b\"c", "x\U0001d1c0", "root['a']", "", "*"])
@support.table("old, new", [("1", "2"), ("{q: 1}", "{q: 1, r: 2}"), ("[1, {q: 1}]", "[1, {q: 2}]")])
def test_deepdiff_overlooks_no_name_and_a_delta_finds_it(name: str, old: str, new: str) -> None:
    def document(inside: str) -> bytes:
        inner = Value(c.OBJECT, c.document([(name, c.get(text.loose(f"{{a: {inside}}}"), ("a",)) or Value.of(0))]))
        return c.document([("same", Value.of(1)), ("in", inner), (name, inner)])

    a, b = document(old), document(new)
    for before, after in ((a, b), (b, a), (a, c.EMPTY), (c.EMPTY, b)):
        found = json.loads(to_deepdiff(before, after))
        assert found
        assert json.loads(text.to_text(before)) + Delta(found, raise_errors=True) == json.loads(text.to_text(after))


def test_deepdiff_looks_into_a_document_that_has_an_odd_name_where_that_is_the_same() -> None:
    a, b = text.loose("{__type__: 'x', n: {m: 1}}"), text.loose("{__type__: 'x', n: {m: 2}}")
    assert list(json.loads(to_deepdiff(a, b))["values_changed"]) == ["root['n']['m']"]


def test_deepdiff_s_limit_of_depth_is_said() -> None:
    value = Value.of(1)
    for _ in range(2000):
        value = c.array([value])
    with pytest.raises(Refused, match="nested too deep for DeepDiff"):
        to_deepdiff(c.document([("a", value)]), c.EMPTY)


def test_lines_are_for_people() -> None:
    lines = "\\n".join(f"line {i}" for i in range(60))
    a = text.loose(
        "{deductible: 150.0, premium: {net: NumberDecimal('412.80'), discount: 0.05}, riders: [{_id: 1}, {_id: 2}],"
        f" o: {{x: 1, y: 2}}, notes: '{lines}'}}"
    )
    b = text.loose(
        "{deductible: NumberDecimal('150.00'), premium: {net: NumberDecimal('438.60')},"
        " riders: [{_id: 2}, {_id: 1}, {_id: 3}], o: {y: 2, x: 1}, notes: 'NOTES'}".replace(
            "NOTES", lines.replace("line 7", "row 7")
        )
    )
    assert to_lines(diff(a, b)).splitlines() == [
        "t deductible: 150.0 -> 150.00 (Double to Decimal128)",
        "~ premium.net: 412.80 -> 438.60",
        "- premium.discount: 0.05",
        "> riders[0]: moved to riders[1]: { _id: 1 }",
        "+ riders[2]: { _id: 3 }",
        "o o: fields in another order",
        "    x, y",
        "    y, x",
        "~ notes: text changed",
        '    ~ at 49: "line" -> "row"',
    ]
    assert to_lines(diff(a, a)) == ""


def test_lines_say_where_values_differ_that_look_alike() -> None:
    a = bson.encode({"photo": bytes(range(256)) * 3, "name": "caf\u00e9"})
    b = bson.encode({"photo": bytes(range(256)) * 2 + bytes(256), "name": "cafe\u0301"})
    assert to_lines(diff(a, b)).splitlines() == [
        "~ photo: BinData(0, 768 B) -> BinData(0, 768 B)",
        "    ~ at byte 513: 01 02 03 04 05 06 07 08 … -> 00 00 00 00 00 00 00 00 …",
        '~ name: "caf\u00e9" -> "cafe\u0301"',
        "    ~ at byte 3: c3 a9 -> 65 cc 81",
    ]


def test_lines_hold_nothing_that_moves_the_cursor_and_no_name_is_lost_in_them() -> None:
    odd = "a\n\x1b[31m\x9b2J\u202e"

    def document(*names: str) -> bytes:
        return c.document([(name, Value.of(f"{names[0]}{odd}")) for name in names])

    lines = to_lines(diff(document("", odd, "b, c"), document(odd, "", "b, c"))).splitlines()
    assert all(line.isprintable() for line in lines)
    shown = '"a\\n\\u001b[31m\\u009b2J\\u202e"'
    assert lines[:3] == [
        "o the whole document: fields in another order",
        f'    "", {shown}, b, c',
        f'    {shown}, "", b, c',
    ]
    assert [line.partition(":")[0] for line in lines[3:]] == ['~ ""', f"~ {shown}", "~ b, c"]


def test_lines_say_where_texts_differ_in_what_is_not_seen() -> None:
    a, b, hidden = (c.document([("a", Value.of(word))]) for word in ("word", "w\uff4frd", "wo\u200brd"))
    assert to_lines(diff(a, b)).splitlines()[1] == "    ~ at byte 1: 6f 72 64 -> ef bd 8f 72 64"
    assert to_lines(diff(a, hidden)) == '~ a: "word" -> "wo\\u200brd"'


def applied_program(program: str, before: bytes) -> bytes:
    """The document that somebody gets who runs the program over what PyMongo decodes, also dates of any year."""
    there: dict[str, Any] = {}
    exec(compile(program, "delta", "exec"), there)
    any_year: CodecOptions[dict[str, Any]] = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_AUTO)
    return bson.encode(there["apply"](bson.decode(before, any_year)))


def test_a_delta_program_leads_from_the_one_document_to_the_other_byte_for_byte() -> None:
    a = text.loose("{n: 1, o: ObjectId('65f0a1c29b1e8a0012c4d7aa'), l: [1, 2, {x: 1}], p: {a: 1, b: 2}, gone: null}")
    b = text.loose(
        "{n: NumberLong(1), p: {b: 2, a: NumberDecimal('1.00')}, o: ObjectId('65f0a1c29b1e8a0012c4d7ab'),"
        " l: [2, {x: 1.0}, ISODate('2026-01-01')], d: UUID('01234567-89ab-cdef-0123-456789abcdef')}"
    )
    program = to_delta(a, b, "From v1 to v2")
    assert applied_program(program, a) == b
    assert program.startswith("# From v1 to v2\n# pip install deepdiff pymongo\n")
    assert "ORDERS = [([], ['n', 'p', 'o', 'l', 'd'])" in program


@given(related())
@example((bson.encode({"before the year 1": bson.DatetimeMS(-(10**14))}), bson.encode({})))
@support.examples(60)
def test_a_delta_program_is_exact_or_refused(both: tuple[bytes, bytes]) -> None:
    a, b = both
    try:
        program = to_delta(a, b)
    except Refused:
        return
    assert applied_program(program, a) == b


def test_a_difference_that_a_delta_cannot_say_is_refused() -> None:
    a, b = bson.encode({"a": {"$oid": "no id"}}), bson.encode({"a": {"$oid": "nor this"}})
    with pytest.raises(Refused, match="cannot say this difference exactly"):
        to_delta(a, b)


def test_words_are_a_sentence_for_each_change() -> None:
    a = text.loose("{s: 'draft', n: 1, p: {a: 1, b: 2}, gone: 5, l: [1, 2, 3], same: 'a\u00e9'}")
    b = text.loose("{s: 'active', n: NumberLong(1), p: {b: 2, a: 1}, l: [2, 3, 1], new: true, same: 7}")
    assert to_words(diff(a, b)).splitlines() == [
        's changed from "draft" to "active".',
        "n is an Int64 now instead of an Int32; its value, 1, is the same.",
        "The fields of p stand in another order: b, a.",
        "gone was removed; it was 5.",
        "l[0] moved to l[2]; it is 1.",
        "new was added: true.",
        'same changed from "a\u00e9", a String, to 7, an Int32.',
    ]
    assert to_words(diff(a, a)) == "Nothing changed."


@given(related())
@support.examples(60)
def test_every_change_has_its_sentence(both: tuple[bytes, bytes]) -> None:
    changes = diff(*both)
    sentences = to_words(changes).splitlines()
    assert len(sentences) >= max(1, len(changes))
    assert all(sentences)
