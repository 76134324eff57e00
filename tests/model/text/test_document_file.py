"""Documents in files: one per file, in a form that is kept."""

from __future__ import annotations

import datetime as dt
import tracemalloc
from pathlib import Path

import pytest
from bson import Decimal128, Int64, ObjectId, Timestamp
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from model import text
from model.errors import Refused, Unreadable
from model.text import document_file
from model.values import canonical
from tests import support
from tests.model.diff.bson_strategies import related

DOCUMENT = canonical.encode(
    {
        "_id": ObjectId("64f0a1c29b1e8a0012c4d7aa"),
        "n": 5,
        "big": Int64(5),
        "huge": Int64(2**40),
        "f": 1.0,
        "price": Decimal128("1.00"),
        "at": dt.datetime(2026, 11, 20, tzinfo=dt.UTC),
        "t": Timestamp(1, 2),
        "name": 'Jörg "J" {\n',
        "list": [1, [], {}],
    }
)

CANONICAL_LINE = '{"n": {"$numberInt": "1"}, "s": "x"}\n'
TEXTS = [
    CANONICAL_LINE,
    '{"n": {"$numberInt": "1"}, "s": "x"}',
    '{"n": 1, "s": "$numberInt"}\n',
    '{"n":1,"deep":{"s":"x"}}\n',
    '{\n  "n": 1,\n  "deep": {\n    "f": 1.5\n  }\n}\n',
    '{\n\t"n": 1099511627776\n}\n',
    '{\n    "s": "J\\u00f6rg"\n}\n',
    '{"t": {"$timestamp": {"t": 1, "i": 2}}, "n": {"$numberInt": "1"}}',
    '{"least": {"$minKey": 1}, "n": {"$numberInt": "1"}, "most": [{"$maxKey": 1}]}',
    '{"s": "only text"}\n',
    '{"n":{"$numberInt":"1"},"t":{"$timestamp":{"t":1,"i":2}},"s":"a: b, {c}"}',
    '{\n  "n": {\n    "$numberLong": "1"\n  },\n  "list": [\n    {},\n    [],\n    "},{:"\n  ]\n}\n',
    '{\r\n  "n": 1,\r\n  "s": "a\\r\\n"\r\n}\r\n',
    '\ufeff{"n": 1}\n',
]


@support.table("written", TEXTS)
def test_a_text_is_written_again_as_it_was(tmp_path: Path, written: str) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(written.encode())
    raw, form = document_file.read(str(path))
    assert document_file.written(raw, form).decode() == written
    assert document_file.written(raw, replace(form, source=None)).decode() == written


@support.table("indent", [None, 2])
def test_every_type_survives_in_every_form(tmp_path: Path, indent: int | None) -> None:
    from model import text

    for kept in (text.to_text(DOCUMENT, indent), text.to_text(canonical.encode({"n": 1})), '{"n": 1}'):
        (tmp_path / "form.json").write_text(kept, encoding="utf-8")
        _, form = document_file.read(str(tmp_path / "form.json"))
        (tmp_path / "out.json").write_bytes(document_file.written(DOCUMENT, form))
        assert document_file.read(str(tmp_path / "out.json"))[0] == DOCUMENT


def test_bson_stays_bson_whatever_the_file_is_called(tmp_path: Path) -> None:
    for name in ("a.bson", ".merge_file_x7"):
        (tmp_path / name).write_bytes(DOCUMENT)
        raw, form = document_file.read(str(tmp_path / name))
        assert raw == DOCUMENT
        document_file.write(str(tmp_path / "out"), raw, form)
        assert (tmp_path / "out").read_bytes() == DOCUMENT


@support.table(
    "name, data, said",
    [
        ("two.bson", DOCUMENT + DOCUMENT, "more than one document"),
        ("cut.bson", DOCUMENT[:-9], "not a whole BSON"),
        ("empty.bson", b"", "not a whole BSON"),
        ("noise.bson", b"\x0a\x00\x00\x00hello\x00", "noise.bson: "),
        ("latin.json", b'{"a": "\xe4"}', "neither BSON nor text"),
        ("broken.json", b'{"a": 1,,}', "broken.json: Line 1, column"),
        ("lines.json", b'{"a": 1}\n{"a": 2}\n', "lines.json: Line 2"),
        ("list.json", b"[1, 2]", "document"),
    ],
)
def test_what_is_no_single_document_is_said_with_the_file(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises((Refused, Unreadable), match=said):
        document_file.read(str(tmp_path / name))


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no file"):
        document_file.read(str(tmp_path / "none.json"))


def test_an_empty_base_is_an_empty_document_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "base").write_bytes(b"")
    assert document_file.read(str(tmp_path / "base"), empty=True)[0] == canonical.EMPTY
    with pytest.raises(Unreadable):
        document_file.read(str(tmp_path / "base"))


BY_HAND = """{
  "tags": ["a", "b"],  "ratio": 1.50,
  "when" : {"$date": "2020-01-01T00:00:00.000Z"}, "n": {"$numberInt": "1"},
  "url": "http:\\/\\/x",
  "rows": [
    {"_id": 1, "q": [ 1,2 ]},
    {"_id": 2, "q": []}
  ],
  "none": {}
}
"""


@support.table(
    "changed, line, becomes",
    [
        ("{$.n: 2}", '"n": {"$numberInt": "1"},', '"n": 2,'),
        ("{$.tags: ['a', 'x', 'b']}", '["a", "b"]', '["a", "x", "b"]'),
        ("{$.tags: []}", '["a", "b"]', "[]"),
        ("{$.url: {a: 1}}", '"http:\\/\\/x"', '{\n    "a": 1\n  }'),
        ("{$.rows: [{_id: 2, q: []}]}", '    {"_id": 1, "q": [ 1,2 ]},\n', ""),
        ("{$.rows: [{_id: 2, q: []}, {_id: 1, q: [2]}]}",
         '{"_id": 1, "q": [ 1,2 ]},\n    {"_id": 2, "q": []}', '{"_id": 2, "q": []},\n    {"_id": 1, "q": [ 2 ]}'),
        ("{$.rows: [{_id: 1, q: [1, 2]}, {_id: 2, q: [3, [4]], r: 5}]}", '"q": []}', '"q": [3, [4]], "r": 5}'),
        ("{$.none: {a: {b: 1}}}", '"none": {}', '"none": {\n    "a": {\n      "b": 1\n    }\n  }'),
        ("{$.more: 'é'}", '"none": {}', '"none": {},\n  "more": "é"'),
    ],
)  # fmt: skip
def test_what_did_not_change_keeps_its_very_text(tmp_path: Path, changed: str, line: str, becomes: str) -> None:
    path = tmp_path / "by hand.json"
    for lines in ("\n", "\r\n"):
        path.write_bytes(BY_HAND.replace("\n", lines).encode())
        raw, form = document_file.read(str(path))
        name, value = next(iter(canonical.fields(text.loose(changed.replace("$.", "")))))
        pairs = dict(canonical.fields(raw)) | {name: value}
        found = document_file.written(canonical.document(list(pairs.items())), form).decode()
        assert found == BY_HAND.replace(line, becomes).replace("\n", lines)
        assert BY_HAND.count(line) == 1


@given(related(), st.sampled_from([None, 2]), st.booleans())
@support.examples(100)
def test_a_kept_text_stands_for_the_changed_document(
    both: tuple[bytes, bytes], indent: int | None, exact: bool
) -> None:
    a, b = both
    written = text.to_text(a, indent) if exact else text.relaxed(a, indent)
    was = text.from_text(written)
    form = replace(document_file.form_of(written), source=(written, was))
    assert text.from_text(document_file.written(b, form).decode("utf-8", "surrogatepass")) == b


def test_commas_at_the_beginning_of_lines_stay_there() -> None:
    written = '{ "a": 1\n, "b": [2\n  ,3]\n, "c": {}\n}'
    form = replace(document_file.form_of(written), source=(written, text.from_text(written)))
    found = document_file.written(text.from_text('{"a": 1, "b": [2, 4, [5]], "c": {}, "d": [6]}'), form).decode()
    assert found == '{ "a": 1\n, "b": [2\n  ,4\n  ,[5]]\n, "c": {}\n, "d": [6]\n}'


@pytest.mark.deep
def test_a_text_of_any_depth_is_kept() -> None:
    written = '{"a":  ' * 5000 + '{ "x":1 }' + "}" * 5000
    form = replace(document_file.form_of(written), source=(written, text.from_text(written)))
    now = text.from_text(written.replace("1", "2"))
    assert document_file.written(now, form).decode() == written.replace("1", "2")


@pytest.mark.deep
def test_a_text_of_many_levels_takes_no_memory_for_the_whole_inside_of_each() -> None:
    written = '{"a":  ' * 5000 + '{ "x":1 }' + "}" * 5000
    form = replace(document_file.form_of(written), source=(written, text.from_text(written)))
    now = text.from_text(written.replace("1", "2"))
    tracemalloc.start()
    document_file.written(now, form)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


@support.table(
    "before, after, becomes",
    [
        ('{"a": 1}', '{"x": 0, "a": 1}', None),
        ('{\n  "a": 1,\n\n  "b": 2,\n  "c": 3,\n  "d": 4\n}', '{"a": 1, "x": 0, "b": 2, "c": 3, "d": 4}',
         '{\n  "a": 1,\n  "x": 0,\n\n  "b": 2,\n  "c": 3,\n  "d": 4\n}'),
        ('{\n  "a": [1, 2, 3,\n        4, 5, 6]\n}', '{"a": [1, 2, 7, 3, 4, 5, 6]}',
         '{\n  "a": [1, 2, 7, 3,\n        4, 5, 6]\n}'),
        ('{\n  "a": [1, 2, 3,\n        4, 5, 6]\n}', '{"a": [1, 2, 4, 5, 6]}', '{\n  "a": [1, 2,\n        4, 5, 6]\n}'),
        ('{"a":  [1.0, 2, 1.00, 3]}', '{"a": [2, 1.0, 3]}', '{"a":  [2, 1.00, 3]}'),
    ],
)  # fmt: skip
def test_lines_beside_what_came_and_went_stay(before: str, after: str, becomes: str | None) -> None:
    form = replace(document_file.form_of(before), source=(before, text.from_text(before)))
    assert document_file.written(text.from_text(after), form).decode() == (becomes or after)
