"""Values as bytes: typed equality, reading and changing documents without decoding them."""

from __future__ import annotations

import contextlib
import hashlib
import math
import struct
from typing import Any

import bson
import pytest
from bson import ObjectId
from hypothesis import given
from hypothesis import strategies as st

from model import text
from model.diff import diff
from model.diff.walk import spans
from model.errors import Unreadable
from model.merge import merge
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.diff.bson_strategies import documents, leaves, related

pytestmark = pytest.mark.usefixtures("each_walk")


@given(documents())
@support.examples(100)
def test_fields_put_together_again_are_the_same_bytes(raw: bytes) -> None:
    assert c.document(c.fields(raw)) == raw
    assert c.fields(raw) == [(c.name_of(name), Value(kind, raw[a:b])) for name, kind, a, b in spans(raw)]


@given(st.binary(max_size=60), st.integers(0, 255), documents())
@support.examples(300)
def test_damaged_bytes_are_unreadable_or_fields_and_never_a_bug(noise: bytes, at: int, raw: bytes) -> None:
    damaged = bytearray(raw)
    damaged[at % len(raw)] ^= 0x41
    for candidate in (noise, bytes(damaged), raw[: at % len(raw)]):
        try:
            slow: Any = list(c.elements(candidate))
        except Unreadable:
            slow = Unreadable
        try:
            fast: Any = spans(candidate)
        except Unreadable:
            fast = Unreadable
        assert slow == fast
        for reader in (text.to_text, text.relaxed, _shown, lambda raw: diff(raw, c.EMPTY), lambda raw: diff(GOOD, raw)):
            with contextlib.suppress(Unreadable):
                reader(candidate)
        with contextlib.suppress(Unreadable):
            merge(GOOD, candidate, c.EMPTY).preview()


GOOD = text.loose("{a: {a: 1, b: [1, 2]}, b: 'x', c: [{_id: 1}]}")


def _shown(raw: bytes) -> list[str]:
    values = [value for _, value in c.fields(raw)]
    return [text.shown(value) + text.editable(value) for value in values]


@given(leaves)
@support.examples(100)
def test_a_value_put_into_a_document_is_there_exactly(value: Value) -> None:
    raw = text.loose("{a: {b: [1, 2]}, c: 3}")
    for path in (("a", "b", 1), ("a", "x"), ("new",), ("new", "inner"), ("a", "b", 2)):
        changed = c.put(raw, path, value)
        assert c.get(changed, path) == value
        assert c.get(c.drop(changed, path), path) is None


@support.table(
    "one, other",
    [(1, 1.0), (1, True), (1, bson.Int64(1)), (0.0, -0.0), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (None, "")],
)
def test_what_python_calls_equal_is_not(one: Any, other: Any) -> None:
    assert Value.of(one) != Value.of(other)


def test_nan_is_equal_to_itself() -> None:
    assert Value.of(math.nan) == Value.of(math.nan)


def test_a_value_goes_to_python_and_back() -> None:
    for python in (1, 1.5, "x", None, True, [1, {"a": 2}], bson.Int64(5), bson.ObjectId(), bson.MinKey()):
        assert Value.of(Value.of(python).python()) == Value.of(python)


@support.table(
    "python",
    [
        *("", "x", "x\0y", "ä", "x" * 127, "x" * 300, ObjectId(b"a" * 12), True, False, None),
        *(0, 1, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, bson.Int64(1)),
        *(type("Name", (str,), {})("n"), type("Number", (int,), {})(7)),
    ],
)
def test_a_value_is_what_pymongo_stores_and_reads(python: object) -> None:
    raw = bson.encode({"": python})
    assert Value.of(python) == Value(raw[4], raw[6:-1])
    found, wanted = Value.of(python).python(), bson.decode(raw)[""]
    assert found == wanted
    assert type(found) is type(wanted)


@support.table("data", [b"\x02\0\0\0xy", b"\x02\0\0\0\xff\0", b"\x01\0\0\0", b""])
def test_a_text_that_is_none_is_read_as_pymongo_reads_it(data: bytes) -> None:
    raw = struct.pack("<i", len(data) + 7) + b"\x02\0" + data + b"\0"
    try:
        wanted = c.decode(raw)[""]
    except Unreadable:
        with pytest.raises(Unreadable):
            Value(c.STRING, data).python()
    else:
        assert Value(c.STRING, data).python() == wanted


def test_an_index_leads_into_arrays_and_a_name_into_documents() -> None:
    raw = text.loose("{a: [7, 8]}")
    assert c.get(raw, (0,)) is None
    assert c.get(raw, ()) == Value.document(raw)
    assert c.get(raw, ("a",)) == Value.of([7, 8])
    assert c.get(raw, ("a", 1)) == Value.of(8)
    assert c.get(raw, ("a", "1")) is None


@support.table("raw", [b"\x0c\0\0\0\x0aa\0\x0ab\0\x01", b"\x0b\0\0\0\x0aa\0\x63b\0\0"])
def test_no_field_is_set_in_a_document_that_is_broken_behind_it(raw: bytes) -> None:
    with pytest.raises(Unreadable):
        c.put(raw, ("a",), Value.of(1))


def test_fields_are_set_in_place_or_at_the_end() -> None:
    raw = text.loose("{a: 1, b: {c: 2}, d: [1, 2]}")
    assert text.relaxed(c.put(raw, ("a",), Value.of("x"))) == '{"a": "x", "b": {"c": 2}, "d": [1, 2]}'
    assert text.relaxed(c.put(raw, ("b", "n"), Value.of(1))) == '{"a": 1, "b": {"c": 2, "n": 1}, "d": [1, 2]}'
    assert text.relaxed(c.put(raw, ("d", 2), Value.of(3))) == '{"a": 1, "b": {"c": 2}, "d": [1, 2, 3]}'
    assert text.relaxed(c.drop(raw, ("d", 0))) == '{"a": 1, "b": {"c": 2}, "d": [2]}'
    assert text.relaxed(c.put(c.EMPTY, ("x", "y"), Value.of(1))) == '{"x": {"y": 1}}'
    assert c.drop(raw, ("nothing",)) == raw


@support.table("path", [("a", "x"), ("d", "x"), ("d", 9), ("b", 0)])
def test_a_path_through_something_else_is_refused(path: c.Path) -> None:
    with pytest.raises(Unreadable):
        c.put(text.loose("{a: 1, b: {c: 2}, d: [1, 2]}"), path, Value.of(1))


@given(related(1))
@support.examples(50)
def test_without_and_only_share_a_document_between_them(one: tuple[bytes]) -> None:
    (raw,) = one
    names = {name for name, _ in c.fields(raw)}
    some = {name for name in names if len(name) % 2}
    assert c.only(raw, some) == c.document(p for p in c.fields(raw) if p[0] in some)
    assert c.without(raw, some) == c.document(p for p in c.fields(raw) if p[0] not in some)
    assert c.without(raw, ()) == c.only(raw, names) == raw


@support.table("count", [0, 1, 9, 10, 11, 120])
def test_an_element_more_leaves_those_before_it_as_they_are(count: int) -> None:
    values = [c.Value.of(each) for each in ([1, "two", {"three": [4]}, None] * count)[:count]]
    more = c.Value.of({"v": 7})
    assert c.appended(c.array(values), more) == c.array([*values, more])


def test_the_hash_is_of_the_bytes() -> None:
    raw = text.loose("{a: 1, b: 2}")
    assert c.hash_of(raw) == hashlib.sha1(raw, usedforsecurity=False).hexdigest()
    assert c.hash_of(raw) != c.hash_of(text.loose("{b: 2, a: 1}"))
    assert len(c.hash_of(raw, "sha256")) == 64


@support.table("name", ["a\x00b", "\ud800"])
def test_names_that_bson_cannot_hold_are_refused(name: str) -> None:
    with pytest.raises(Unreadable, match="field name"):
        c.name_bytes(name)


def test_a_value_is_set_and_taken_out_below_thousands_of_levels() -> None:
    path = ("a", 0) * 2000
    raw = c.put(c.EMPTY, (*path, "b"), Value.of(1))
    assert c.get(raw, (*path, "b")) == Value.of(1)
    assert c.get(c.put(raw, (*path, "b"), Value.of(2)), (*path, "b")) == Value.of(2)
    assert c.get(c.drop(raw, (*path, "b")), path) == Value.of({})
    assert c.drop(raw, (*path, "c", "d")) == raw


@support.table("cut", [0, 1, 12])
@support.table("around", ["nothing", "a document", "an array", "a scope"])
def test_pymongo_gets_no_reference_that_is_cut_short_and_behind_which_it_would_read(
    cut: int, around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = _enclosed(b"\x0cp\0" + struct.pack("<i", 5) + b"coll\0" + b"x" * (12 - cut))
    if around in ("a document", "an array"):
        raw = _enclosed((b"\x03" if around == "a document" else b"\x04") + b"a\0" + raw)
    elif around == "a scope":
        code = struct.pack("<i", 2) + b"f\0" + raw
        raw = _enclosed(b"\x0fa\0" + struct.pack("<i", len(code) + 4) + code)
    read: list[bytes] = []
    decoded = bson.decode
    monkeypatch.setattr(bson, "decode", lambda data, options: [read.append(data), decoded(data, options)][1])
    if cut:
        with pytest.raises(Unreadable):
            c.decode(raw)
    else:
        assert "coll" in str(c.decode(raw))
    assert read == ([] if cut else [raw])


@support.table("kind", [c.OBJECT_ID, c.DECIMAL128])
@support.table("cut", [0, 1, 2, 5])
def test_pymongo_reads_bytes_of_ours_behind_an_array_whose_last_value_is_cut_short(
    kind: int, cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 12 if kind == c.OBJECT_ID else 16
    inside = _enclosed(bytes((kind,)) + b"0\0" + b"x" * (size - cut))
    behind: list[int] = []
    decoded = bson.decode

    def noted(data: memoryview, options: Any) -> Any:
        assert isinstance(data.obj, bytes)
        behind.append(len(data.obj) - len(data))
        return decoded(data, options)

    monkeypatch.setattr(bson, "decode", noted)
    for raw in (_enclosed(b"\x04a\0" + inside), _enclosed(b"\x03a\0" + _enclosed(b"\x04a\0" + inside))):
        with pytest.raises(Unreadable) if cut else contextlib.nullcontext():
            assert "a" in c.decode(raw)
    assert behind == [16, 16]


def _enclosed(body: bytes) -> bytes:
    return struct.pack("<i", len(body) + 5) + body + b"\0"
