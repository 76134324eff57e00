"""Documents in the notations of other programs: shells, old exporters, Robo 3T, PowerShell."""

from __future__ import annotations

import codecs
import datetime as dt
import uuid
from pathlib import Path
from typing import Any

import pytest
from bson import Binary, Code, DatetimeMS, DBRef, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp

from model import text
from model.errors import Unreadable
from model.storage.document_ids import candidates, meant
from model.text.file_documents import documents_of
from model.values import canonical as c
from model.values.canonical import Value
from tests import support

OID = "56e1fc72e0c917e9c4714161"
UUID = uuid.UUID("73ffd264-44b3-4c69-90e8-e7d1dfc035d4")
YEAR_10000 = 253402300800000

VALUES: dict[str, Any] = {
    '{"$date": 0}': DatetimeMS(0),
    '{"$date": -1}': DatetimeMS(-1),
    '{"$date": 86400000}': DatetimeMS(86400000),
    '{"$date": 2147483648}': DatetimeMS(2147483648),
    '{"$date": 1.5E12}': DatetimeMS(1500000000000),
    '{"$date": -9223372036854775808}': DatetimeMS(-(2**63)),
    '{"$date": "+010000-01-01T00:00:00Z"}': DatetimeMS(YEAR_10000),
    '{"$date": "+10000-01-01"}': DatetimeMS(YEAR_10000),
    '{"$date": "+292278994-08-17T07:12:55.807Z"}': DatetimeMS(2**63 - 1),
    '{"$date": "-000001-01-01T00:00:00.000Z"}': DatetimeMS(-62198755200000),
    '{"$date": "0000-01-01T00:00:00Z"}': DatetimeMS(-62167219200000),
    '{"$date": "2024-02-29T12:00:00.5+01:00"}': dt.datetime(2024, 2, 29, 11, 0, 0, 500000, tzinfo=dt.UTC),
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
    f'ObjectId("{OID}")': ObjectId(OID),
    f"ObjectId('{OID}')": ObjectId(OID),
    'ISODate("2020-01-01")': dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    'new Date("2020-01-01T00:00:00.000Z")': dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    "new Date(-1)": DatetimeMS(-1),
    'ISODate("+010000-01-01T00:00:00Z")': DatetimeMS(YEAR_10000),
    "NumberLong(5)": Int64(5),
    'NumberLong("9223372036854775807")': Int64(2**63 - 1),
    "NumberInt(5)": 5,
    'NumberDecimal("1.10")': Decimal128("1.10"),
    "Decimal128('1.10')": Decimal128("1.10"),
    "Long('5')": Int64(5),
    "Int32(5)": 5,
    "Double(5)": 5.0,
    'BinData(0, "SGVsbG8=")': Binary(b"Hello", 0),
    'HexData(0, "48656c6c6f")': Binary(b"Hello", 0),
    "Binary.createFromBase64('SGVsbG8=', 0)": Binary(b"Hello", 0),
    "Binary.createFromBase64('SGVsbG8=')": Binary(b"Hello", 0),
    f'UUID("{UUID}")': Binary(UUID.bytes, 4),
    f'PYUUID("{UUID}")': Binary(UUID.bytes, 3),
    f'LUUID("{UUID}")': Binary(UUID.bytes, 3),
    f'JUUID("{UUID}")': Binary.from_uuid(UUID, 5),
    f'NUUID("{UUID}")': Binary.from_uuid(UUID, 6),
    f'CSUUID("{UUID}")': Binary.from_uuid(UUID, 6),
    "Timestamp(5, 6)": Timestamp(5, 6),
    "Timestamp({ t: 5, i: 6 })": Timestamp(5, 6),
    "/^a\\/b/i": Regex("^a/b", "i"),
    'BSONRegExp("^a", "i")': Regex("^a", "i"),
    "MinKey": MinKey(),
    "MinKey()": MinKey(),
    "MaxKey": MaxKey(),
    "undefined": Value(c.UNDEFINED, b""),
    "null": None,
    'Code("f()")': Code("f()"),
    f'DBRef("people", ObjectId("{OID}"))': DBRef("people", ObjectId(OID)),
    "'single'": "single",
    "[1, 2,]": [1, 2],
    "{ plain: 1, 'quoted': 2, }": {"plain": 1, "quoted": 2},
    "1 // one": 1,
    "/* one */ 1": 1,
}
"""A value as other programs write it, and what it is."""


@support.table("written", VALUES)
def test_a_value_is_read_as_another_program_wrote_it(tmp_path: Path, written: str) -> None:
    value = VALUES[written]
    expected = c.document([("_id", Value.of(1)), ("a", value if isinstance(value, Value) else Value.of(value))])
    assert text.any_notation(written) == dict(c.fields(expected))["a"]
    path = tmp_path / "a.json"
    for form in (f'{{"_id": 1, "a": {written}\n}}\n', f'[{{"_id": 1, "a": {written}\n}}]'):
        path.write_text(form, "utf-8")
        assert list(documents_of(path)) == [expected]


@support.table(
    "written", ['{"$date": 1.5}', '{"$date": 1e300}', '{"$date": "+300000000-01-01"}', "ISODate(1.5)", "yes"]
)
def test_what_is_no_value_in_any_notation_is_refused_with_its_place(written: str) -> None:
    with pytest.raises(Unreadable, match="Line 1, column"):
        text.any_notation(written)


ROBO = """/* 1 */
{
    "_id" : ObjectId("56e1fc72e0c917e9c4714161"),
    "text" : "it's // no /* comment */ }"
}

/* 2 */
{
    "_id" : 2, // the second
    "deep" : [ { "a" : ISODate("2020-01-01T00:00:00.000Z") } ]
}
"""
FILES = {
    "by Robo 3T": ROBO,
    "by Robo 3T on Windows": ROBO.replace("\n", "\r\n"),
    "as an array": "[" + ROBO.replace("}\n\n/*", "},\n/*") + "]",
    "on lines with comments": "// all\n"
    + " ".join(ROBO.replace("// the second", "").split("\n")).replace("/* 2", "\n/*"),
}


@support.table("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "marked utf-16-be"])
@support.table("name", FILES)
def test_a_file_in_the_notation_of_a_shell_is_read_in_any_encoding(tmp_path: Path, name: str, encoding: str) -> None:
    path = tmp_path / "robo.txt"
    mark = codecs.BOM_UTF16_BE if "marked" in encoding else b""
    path.write_bytes(mark + FILES[name].encode(encoding.removeprefix("marked ")))
    found = [c.decode(raw) for raw in documents_of(path)]
    assert [row["_id"] for row in found] == [ObjectId(OID), 2]
    assert found[0]["text"] == "it's // no /* comment */ }"


IDS = {
    f'ObjectId("{OID}")': ObjectId(OID),
    f"  ObjectId('{OID}') ": ObjectId(OID),
    'ISODate("2020-01-01")': dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    "NumberLong(5)": Int64(5),
    "{day: ISODate('2020-01-01'), n: NumberInt(1)}": {"day": dt.datetime(2020, 1, 1, tzinfo=dt.UTC), "n": 1},
    f'UUID("{UUID}")': Binary(UUID.bytes, 4),
}


@support.table("typed", IDS)
def test_an_id_is_taken_as_a_shell_writes_it(typed: str) -> None:
    assert Value.of(IDS[typed]) in candidates(typed)
    assert meant(typed) == Value.of(IDS[typed])


@support.table("typed", ["undefined", "None", "NaN", "MinKey", "a (b)", "/a/", 'RegExp("a")', "f(1)", "{"])
def test_a_text_that_only_looks_like_a_shell_stays_a_text(typed: str) -> None:
    assert candidates(typed)[:1] == [Value.of(typed)]
    assert all(value.type not in (c.REGEX, c.UNDEFINED, c.MIN_KEY, c.NULL) for value in candidates(typed))
    assert meant(typed) == Value.of(typed)
