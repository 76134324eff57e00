"""Extended JSON written and read without loss, what people type, and the errors for what cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from model import text
from model.errors import Refused, Unreadable
from model.text.typed_values import WRAPPERS
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.diff.bson_strategies import documents, values


def _deep(levels: int) -> bytes:
    raw = c.EMPTY
    for i in range(levels):
        raw = c.document([("a", Value(c.OBJECT, raw) if i % 2 else c.array([Value(c.OBJECT, raw)]))])
    return raw


@given(documents())
@support.examples(300)
def test_every_document_goes_to_text_and_back_byte_for_byte(raw: bytes) -> None:
    assert text.from_text(text.to_text(raw)) == raw
    assert text.from_text(text.to_text(raw, 2)) == raw
    assert text.from_text(text.readable(raw)) == raw
    text.to_text(raw).encode()


@given(documents())
@support.examples(100)
def test_the_text_is_json_without_duplicate_names(raw: bytes) -> None:
    def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    parsed = json.loads(text.to_text(raw), object_pairs_hook=checked)
    assert parsed == text.json_object(Value.document(raw))


@given(values())
@support.examples(200)
def test_the_text_that_a_person_edits_reads_back_as_the_same_value(value: Value) -> None:
    for zone in ("UTC", "Europe/Berlin", "America/Sao_Paulo"):
        assert text.parsed(text.editable(value, zone), value.kind, zone) == value


@given(values())
@support.examples(100)
def test_every_value_can_be_shown_on_one_line(value: Value) -> None:
    line = text.shown(value, "Asia/Kathmandu", 60)
    assert "\n" not in line
    assert len(line) < 100
    line.encode()


def test_a_document_of_5000_levels_goes_both_ways() -> None:
    raw = _deep(2500)
    written = text.to_text(raw)
    assert text.from_text(written) == raw
    assert text.from_text(text.to_text(raw, 1)) == raw
    assert text.json_object(Value.document(raw))
    assert text.loose(written) == raw


def test_fields_that_look_like_typed_values_keep_their_plain_meaning() -> None:
    raw = c.encode({"x": {"$oid": "5"}, "y": {"$fields": []}, "z": {"$id": 1, "$ref": "c"}})
    written = text.to_text(raw)
    assert '"x": {"$fields": [["$oid", "5"]]}' in written
    assert text.from_text(written) == raw


def test_a_reference_is_written_as_every_driver_does() -> None:
    raw = c.document([("r", Value.document(c.document([("$ref", Value.of("c")), ("$id", Value.of(1))])))])
    assert text.to_text(raw) == '{"r": {"$ref": "c", "$id": {"$numberInt": "1"}}}'
    assert text.from_text(text.to_text(raw)) == raw


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", "{}"),
        ("  ", "{}"),
        ("{a: 1}", '{"a": {"$numberInt": "1"}}'),
        ("{'a b': 'it\\'s', c: \"x\",}", '{"a b": "it\'s", "c": "x"}'),
        ("{a: 3000000000, b: 1.5, c: -2, d: 1e3, e: .5}", None),
        ("{_id: ObjectId('64f0a1c29b1e8a0012c4d7aa')}", '{"_id": {"$oid": "64f0a1c29b1e8a0012c4d7aa"}}'),
        ("{d: ISODate('2026-11-20T14:26:00+01:00')}", '{"d": {"$date": {"$numberLong": "1795181160000"}}}'),
        ("{d: new Date('2026-11-20')}", '{"d": {"$date": {"$numberLong": "1795132800000"}}}'),
        ("{n: NumberLong(5), m: NumberLong('-7')}", '{"n": {"$numberLong": "5"}, "m": {"$numberLong": "-7"}}'),
        ("{n: NumberDecimal('1.10')}", '{"n": {"$numberDecimal": "1.10"}}'),
        ("{n: /^a\\/b/mi}", '{"n": {"$regularExpression": {"pattern": "^a/b", "options": "im"}}}'),
        ("{t: Timestamp(5, 6), u: Timestamp({t: 5, i: 6})}", None),
        ("{a: {$gt: 5, $in: [1, 2,]}, // why not\n b: null}", None),
        ("{u: UUID('73ffd264-44b3-4c69-90e8-e7d1dfc035d4')}", None),
        ("{premium.gross: {$gte: 400}}", '{"premium.gross": {"$gte": {"$numberInt": "400"}}}'),
        ("{a: MinKey, b: MaxKey(), c: undefined, d: NaN, e: -Infinity, f: True, g: None}", None),
        ('{"a": {"$numberDouble": "1.0"}, "b": {"$date": "2026-01-01T00:00:00Z"}}', None),
    ],
)
def test_what_people_type_in_a_filter_is_understood(given: str, expected: str | None) -> None:
    raw = text.loose(given)
    if expected is not None:
        assert text.to_text(raw) == expected
    assert text.loose(text.to_text(raw)) == raw


@pytest.mark.parametrize(
    ("given", "place", "hint"),
    [
        ("{a: }", "Line 1, column 5", "expected a value"),
        ("{a: 1", "Line 1, column 6", "ends too early"),
        ("{a: 1} x", "Line 1, column 8", "remove what follows"),
        ("{a: 1,\n b: yes}", "Line 2, column 5", "double quotes"),
        ('{a: "x}', "Line 1, column 5", 'close it with "'),
        ("{a: ObjectId('12')}", "Line 1, column 5", 'ObjectId("'),
        ("{a: ObjectId}", "Line 1, column 5", "brackets"),
        ("{a: {$oid: 5}}", "Line 1, column 6", '{"$oid": "'),
        ("{a: 1, a: 2}", "Line 1, column 8", "occurs twice"),
        ("{a: 99999999999999999999}", "Line 1, column 5", "$numberDecimal"),
        ("[1]", "Line 1, column 1", "write a document"),
        ('{a: "\\ud800"}', "Line 1, column 5", "half a character"),
        ("{a: /x/g}", "Line 1, column 8", "flags"),
        ("{a: /\udcff/}", "Line 1, column 5", "half a character"),
    ],
)
def test_what_does_not_read_is_said_with_its_place_and_what_to_do(given: str, place: str, hint: str) -> None:
    with pytest.raises(Unreadable) as caught:
        text.loose(given)
    assert str(caught.value).startswith(place + ":")
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    "given", ["", "5", "[1]", "{", '{"a": 1,}', "{a: 1}", '{"a": 01}', '{"a": "\n"}', '{"a": 1e999}']
)
def test_strict_reading_takes_documents_in_json_only(given: str) -> None:
    with pytest.raises(Unreadable, match="Line "):
        text.from_text(given)


@support.table("name", sorted(WRAPPERS))
@support.table("other", ["a", "n", "", "$", "t", '"', "other", "$ref"])
def test_what_stands_beside_a_typed_value_is_named(name: str, other: str) -> None:
    for pairs in ([(name, "x"), (other, 1)], [(other, 1), (name, "x")]):
        with pytest.raises(Unreadable) as refused:
            text.from_text(json.dumps({"d": dict(pairs)}))
        assert name == "$code" or json.dumps(other) in str(refused.value)


def test_relaxed_input_gets_the_types_that_servers_give_it() -> None:
    raw = text.from_text('{"i": 1, "l": 2147483648, "d": 1.0, "t": {"$date": "1970-01-01T00:00:00.001Z"}}')
    assert [v.kind for _, v in c.fields(raw)] == ["Int32", "Int64", "Double", "Date"]
    assert text.relaxed(raw) == '{"i": 1, "l": 2147483648, "d": 1.0, "t": {"$date": "1970-01-01T00:00:00.001Z"}}'


@support.table("written", ["100000000000000000000", "-123456789012345670000", "18446744073709552000"])
def test_a_large_double_that_javascript_wrote_is_a_double(written: str) -> None:
    assert text.from_text(f'{{"a": {written}}}') == c.encode({"a": float(written)})


@support.table(
    "written", ["18446744073709551615", "9223372036854775808", "-9223372036854775809", "123456789012345678900"]
)
def test_a_large_whole_number_that_no_type_holds_is_refused(written: str) -> None:
    with pytest.raises(Unreadable, match="numberDecimal"):
        text.from_text(f'{{"a": {written}}}')


@support.table(
    "value, line",
    [
        (Value.of("a\nb"), '"a↵b"'),
        (Value.of('say "hi"'), '"say \\"hi\\""'),
        (Value.of("x" * 300), '"' + "x" * 200 + '…"'),
        (Value.of("x" * 3000), '"' + "x" * 200 + '…" 2.9 KB'),
        (Value.of("x" * (2 << 20)), "String of 2.0 MB"),
        (text.parsed("412.80", "Decimal128"), "412.80"),
        (Value.of(150.0), "150.0"),
        (text.parsed("1984-06-02", "Date"), "1984-06-02"),
        (text.parsed("2026-11-30 23:00 UTC", "Date"), "2026-12-01 00:00 CET"),
        (text.parsed("2026-06-30 23:00:01.5 UTC", "Date"), "2026-07-01 01:00:01.500 CEST"),
        (Value.of(None), "null"),
        (text.loose_value('ObjectId("65f0a1c29b1e8a0012c4d7aa")'), 'ObjectId("65f0a1c29b1e8a0012c4d7aa")'),
        (Value.document(c.EMPTY), "{ }"),
        (text.loose_value('{_id: ObjectId("65f0a1c29b1e8a0012c4e41c"), code: "FLOOD", n: NumberDecimal("36.20")}'),
         '{ _id: …e41c, code: "FLOOD", n: 36.20 }'),
        (text.loose_value('["household", {a: 1}, [1, 2]]'), '[ "household", { 1 }, [ 2 ] ]'),
        (text.loose_value("/^a/i"), "/^a/i"),
        (text.value_from_text('{"$code": "f(x)", "$scope": {"x": 1, "y": {"z": 2}}}'),
         'Code("f(x)", { x: 1, y: { 1 } })'),
    ],
)  # fmt: skip
def test_values_are_shown_as_people_know_them(value: Value, line: str) -> None:
    assert text.shown(value, "Europe/Berlin") == line


def test_containers_are_cut() -> None:
    value = text.loose_value("{street: 'Elbchaussee 96', zip: '22763', city: 'Hamburg'}")
    assert text.shown(value, limit=40) == '{ street: "Elbchaussee 96", zip: "227… }'


@support.table(
    "typed, kind, hint",
    [
        ("412,80", "Decimal128", "Not a Decimal128: use a point."),
        ("1.234,50", "Decimal128", "leave out the separators"),
        ("abc", "Double", "Not a Double: write a number, Infinity or NaN."),
        ("1.5", "Int32", "choose Double or Decimal128"),
        ("3000000000", "Int32", "choose Int64 or Decimal128"),
        ("2026-02-30", "Date", "there is no day 30"),
        ("2026-03-29 02:30", "Date", "clocks in Europe/Berlin skip that time"),
        ("2026-12-01 00:00 CEST", "Date", "is at CET then, not CEST"),
        ("yes", "Boolean", "write true or false"),
        ("12", "ObjectId", "24 hexadecimal digits"),
        ("{a: }", "Object", "Not an Object: line 1, column 5"),
        ('"a"b"', "String", "Inside quotes"),
        ("1", "Nonsense", "is not a type"),
    ],
)
def test_what_is_no_value_of_the_type_is_refused_with_a_hint(typed: str, kind: str, hint: str) -> None:
    with pytest.raises(Refused) as caught:
        text.parsed(typed, kind, "Europe/Berlin")
    assert hint in str(caught.value)


@support.table(
    "typed, kind, meant",
    [
        ("2026-10-25 02:30 CEST", "Date", "2026-10-25T00:30:00Z"),
        ("2026-10-25 02:30 CET", "Date", "2026-10-25T01:30:00Z"),
        ("2026-10-25 02:30", "Date", "2026-10-25T00:30:00Z"),
        ("2026-10-25T02:30:00+05:30", "Date", "2026-10-24T21:00:00Z"),
        ("2026-10-25 02:30Z", "Date", "2026-10-25T02:30:00Z"),
    ],
)
def test_a_date_means_the_zone_that_it_is_shown_in(typed: str, kind: str, meant: str) -> None:
    assert text.parsed(typed, kind, "Europe/Berlin") == text.loose_value(f"ISODate('{meant}')")


def test_a_field_can_change_its_type_by_its_own_text() -> None:
    assert text.parsed(text.editable(Value.of(150.0)), "Decimal128") == text.parsed("150.0", "Decimal128")
    assert text.parsed(text.editable(Value.of("42")), "Int32") == Value.of(42)
    assert text.parsed("quarterly", "String") == text.parsed('"quarterly"', "String") == Value.of("quarterly")


def test_every_type_offered_has_a_blank_value() -> None:
    for kind in text.KINDS:
        assert text.blank(kind).kind == kind


@support.table(
    "path, written",
    [
        (("premium", "gross"), "premium.gross"),
        (("riders", 2), "riders[2]"),
        (("riders", 2, "code"), "riders[2].code"),
        (("a.b", "c"), '"a.b".c'),
        (("", "x"), '"".x'),
        (("0",), '"0"'),
        (('q"uote', "[x]"), '"q\\"uote"."[x]"'),
        (("first name", "$set", "naïve"), "first name.$set.naïve"),
        ((0, 1), "[0][1]"),
    ],
)
def test_paths_are_written_so_that_they_read_back(path: c.Path, written: str) -> None:
    assert text.path_text(path) == written
    assert text.path_from_text(written) == path


def test_plain_digits_fit_arrays_and_documents() -> None:
    raw = text.loose("{a: {b: [1, {c: 2}]}, d: {'0': 3}}")
    assert text.fitted(raw, text.path_from_text("a.b.1.c")) == ("a", "b", 1, "c")
    assert text.fitted(raw, text.path_from_text("d.0")) == ("d", "0")


@support.table("written", ["", "a.", ".a", "a..b", "a[x]", 'a."b', "a]", "a[0]b"])
def test_an_unclear_path_is_refused_with_its_column(written: str) -> None:
    with pytest.raises(Unreadable, match="column"):
        text.path_from_text(written)
