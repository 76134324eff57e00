"""Hypothesis strategies for BSON as bytes: every type, odd payloads included, nested, with duplicate names."""

from __future__ import annotations

import struct

from hypothesis import strategies as st

from model.text import scalars
from model.values import canonical as c
from model.values.canonical import Value

_NAMES = ["a", "b", "c", "d", "_id", "", "0", "1", "a.b", "$set", "naïve", "\udcff"]
_TYPED = ["$oid", "$ref", "$id", "$db", "$numberInt", "$date", "$fields", "$raw"]
texts = st.text(st.characters(codec="utf-8"), max_size=8)
_cstrings = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5)


def names(typed: bool = True) -> st.SearchStrategy[str]:
    """Field names: few, so that both sides of a comparison share them; ``typed`` adds those of typed values."""
    return st.sampled_from(_NAMES + _TYPED if typed else _NAMES)


def _int(kind: int, packer: struct.Struct, bits: int) -> st.SearchStrategy[Value]:
    small = st.integers(-3, 3)
    return st.one_of(small, st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)).map(
        lambda n: Value(kind, packer.pack(n))
    )


def _scoped(parts: tuple[str, bytes]) -> Value:
    body = scalars.string_data(parts[0]) + parts[1]
    return Value(c.SCOPED_CODE, scalars.int32.pack(len(body) + 4) + body)


_odd = st.sampled_from(
    [
        Value(c.DOUBLE, bytes.fromhex("010000000000f87f")),
        Value(c.DOUBLE, bytes.fromhex("000000000000f8ff")),
        Value(c.DOUBLE, scalars.double.pack(-0.0)),
        Value(c.DOUBLE, scalars.double.pack(0.0)),
        Value(c.BOOLEAN, b"\x02"),
        Value(c.STRING, b"\x03\x00\x00\x00\xc3\x28\x00"),
        Value(c.STRING, b"\x02\x00\x00\x00aa"),
        Value(c.REGEX, b"a\x00xi\x00"),
        Value(c.REGEX, b"\xff\x00\x00"),
        Value(c.BINARY, b"\x01\x00\x00\x00\x02a"),
        Value(c.DECIMAL128, b"\xff" * 16),
        Value(c.DATE, scalars.int64.pack(scalars.INT64_MIN)),
        Value(c.DATE, scalars.int64.pack(scalars.YEAR_10000)),
    ]
)
BY_KIND: dict[int, st.SearchStrategy[Value]] = {
    c.INT32: _int(c.INT32, scalars.int32, 32),
    c.INT64: _int(c.INT64, scalars.int64, 64),
    c.DATE: _int(c.DATE, scalars.int64, 64),
    c.DOUBLE: st.one_of(st.floats(), st.integers(-3, 3).map(float)).map(
        lambda f: Value(c.DOUBLE, scalars.double.pack(f))
    ),
    c.STRING: texts.map(lambda t: Value(c.STRING, scalars.string_data(t))),
    c.SYMBOL: texts.map(lambda t: Value(c.SYMBOL, scalars.string_data(t))),
    c.CODE: texts.map(lambda t: Value(c.CODE, scalars.string_data(t))),
    c.SCOPED_CODE: st.tuples(texts, st.just(c.EMPTY)).map(_scoped),
    c.OBJECT_ID: st.binary(min_size=12, max_size=12).map(lambda b: Value(c.OBJECT_ID, b)),
    c.DB_POINTER: st.tuples(texts, st.binary(min_size=12, max_size=12)).map(
        lambda p: Value(c.DB_POINTER, scalars.string_data(p[0]) + p[1])
    ),
    c.BINARY: st.tuples(st.sampled_from([0, 2, 3, 4, 5, 128]), st.binary(max_size=17)).map(
        lambda p: Value(c.BINARY, scalars.binary_data(*p))
    ),
    c.REGEX: st.tuples(_cstrings, st.sampled_from(["", "i", "im", "mi", "ilmsux"])).map(
        lambda p: Value(c.REGEX, p[0].encode() + b"\x00" + p[1].encode() + b"\x00")
    ),
    c.TIMESTAMP: st.binary(min_size=8, max_size=8).map(lambda b: Value(c.TIMESTAMP, b)),
    c.DECIMAL128: st.one_of(
        st.binary(min_size=16, max_size=16),
        st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-1000, max_value=1000).map(
            lambda d: scalars.parse_decimal(str(d)) or b""
        ),
    ).map(lambda b: Value(c.DECIMAL128, b)),
    c.BOOLEAN: st.sampled_from([Value(c.BOOLEAN, b"\x00"), Value(c.BOOLEAN, b"\x01")]),
    c.NULL: st.just(Value(c.NULL, b"")),
    c.UNDEFINED: st.just(Value(c.UNDEFINED, b"")),
    c.MIN_KEY: st.just(Value(c.MIN_KEY, b"")),
    c.MAX_KEY: st.just(Value(c.MAX_KEY, b"")),
}
"""Values of every kind but documents and arrays, which hold these."""
leaves = st.one_of(_odd, *BY_KIND.values())


def _nested(inner: st.SearchStrategy[Value], typed: bool, unique: bool) -> st.SearchStrategy[Value]:
    pair = st.tuples(names(typed), inner)
    by_name = (lambda p: p[0]) if unique else None
    documents = st.lists(pair, max_size=5, unique_by=by_name).map(lambda p: Value(c.OBJECT, c.document(p)))
    arrays = st.lists(inner, max_size=6).map(c.array)
    if not typed:
        return documents | arrays
    odd = st.lists(pair, max_size=3).map(lambda p: Value(c.ARRAY, c.document(p)))
    return documents | arrays | odd


def values(typed: bool = True, unique: bool = False) -> st.SearchStrategy[Value]:
    """Values of every type; ``unique`` leaves out duplicate names, ``typed=False`` also odd arrays."""
    return st.recursive(leaves, lambda inner: _nested(inner, typed, unique), max_leaves=12)


def documents(typed: bool = True, unique: bool = False) -> st.SearchStrategy[bytes]:
    """Whole documents."""
    by_name = (lambda p: p[0]) if unique else None
    pairs = st.lists(st.tuples(names(typed), values(typed, unique)), max_size=6, unique_by=by_name)
    return pairs.map(c.document)


@st.composite
def changed(draw: st.DrawFn, value: Value) -> Value:
    """A value with something done to it somewhere: what a person, or a careless program, does to a document."""
    if not value.is_container or draw(st.integers(0, 5)) == 0:
        return draw(values(typed=False, unique=True))
    pairs = c.fields(value.data)
    for _ in range(draw(st.integers(1, 2))):
        action = draw(st.sampled_from(["inside", "inside", "remove", "insert", "move", "shuffle"]))
        at = draw(st.integers(0, max(len(pairs) - 1, 0)))
        if action == "insert" or not pairs:
            name = draw(names(typed=False))
            if value.type == c.ARRAY or all(name != known for known, _ in pairs):
                pairs.insert(at, (name, draw(values(typed=False, unique=True))))
        elif action == "inside":
            pairs[at] = (pairs[at][0], draw(changed(pairs[at][1])))
        elif action == "remove":
            del pairs[at]
        elif action == "move":
            pairs.insert(draw(st.integers(0, len(pairs) - 1)), pairs.pop(at))
        else:
            pairs = draw(st.permutations(pairs))
    if value.type == c.ARRAY:
        return c.array(v for _, v in pairs)
    return Value(c.OBJECT, c.document(pairs))


@st.composite
def keyed_arrays(draw: st.DrawFn) -> Value:
    """Arrays of sub-documents with an identity key, some without."""
    ids = draw(st.lists(st.integers(0, 9), max_size=6, unique=True))
    inner = documents(typed=False, unique=True)
    elements = [c.document([("_id", Value.of(i)), *(p for p in c.fields(draw(inner)) if p[0] != "_id")]) for i in ids]
    return c.array(Value(c.OBJECT, raw) for raw in elements)


@st.composite
def related(draw: st.DrawFn, count: int = 2) -> tuple[bytes, ...]:
    """A document and others that come of it by changes, one each."""
    pairs = st.tuples(names(False), values(False, True) | keyed_arrays())
    raw = c.document(draw(st.lists(pairs, max_size=5, unique_by=lambda p: p[0])))
    others = []
    for _ in range(count - 1):
        value = draw(changed(Value(c.OBJECT, raw)))
        others.append(value.data if value.type == c.OBJECT else c.document([("a", value)]))
    return raw, *others
