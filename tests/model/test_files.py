"""Documents in files: one a file, in a form that is kept."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from bson import Decimal128, Int64, ObjectId, Timestamp

from model import canonical, files
from model.errors import Refused, Unreadable

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
    '{"s": "only text"}\n',
    '{"n":{"$numberInt":"1"},"t":{"$timestamp":{"t":1,"i":2}},"s":"a: b, {c}"}',
    '{\n  "n": {\n    "$numberLong": "1"\n  },\n  "list": [\n    {},\n    [],\n    "},{:"\n  ]\n}\n',
    '{\r\n  "n": 1,\r\n  "s": "a\\r\\n"\r\n}\r\n',
    '\ufeff{"n": 1}\n',
]


@pytest.mark.parametrize("written", TEXTS)
def test_a_text_is_written_again_as_it_was(tmp_path: Path, written: str) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(written.encode())
    raw, form = files.read(str(path))
    assert files.written(raw, form).decode() == written


@pytest.mark.parametrize("indent", [None, 2])
def test_every_type_survives_in_every_form(tmp_path: Path, indent: int | None) -> None:
    from model import text

    for kept in (text.to_text(DOCUMENT, indent), text.to_text(canonical.encode({"n": 1})), '{"n": 1}'):
        (tmp_path / "form.json").write_text(kept, encoding="utf-8")
        _, form = files.read(str(tmp_path / "form.json"))
        (tmp_path / "out.json").write_bytes(files.written(DOCUMENT, form))
        assert files.read(str(tmp_path / "out.json"))[0] == DOCUMENT


def test_bson_stays_bson_whatever_the_file_is_called(tmp_path: Path) -> None:
    for name in ("a.bson", ".merge_file_x7"):
        (tmp_path / name).write_bytes(DOCUMENT)
        raw, form = files.read(str(tmp_path / name))
        assert raw == DOCUMENT
        files.write(str(tmp_path / "out"), raw, form)
        assert (tmp_path / "out").read_bytes() == DOCUMENT


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("two.bson", DOCUMENT + DOCUMENT, "more than one document"),
        ("cut.bson", DOCUMENT[:-9], "no whole BSON"),
        ("empty.bson", b"", "no whole BSON"),
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
        files.read(str(tmp_path / name))


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no file"):
        files.read(str(tmp_path / "none.json"))


def test_an_empty_base_is_an_empty_document_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "base").write_bytes(b"")
    assert files.read(str(tmp_path / "base"), empty=True)[0] == canonical.EMPTY
    with pytest.raises(Unreadable):
        files.read(str(tmp_path / "base"))
