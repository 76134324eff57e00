"""A guard matches what was read, and nothing that a server merely finds equal."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from typing import Any

import bson
import pytest
from bson import Binary, Decimal128, Int64, MaxKey, MinKey, ObjectId, Timestamp
from bson.regex import Regex

from model.errors import Refused, Unreachable
from model.layouts.registry import bind
from model.server import guards
from model.server.guards import Abilities
from model.server.retry import Server, Write, bson_of
from model.values import canonical as c
from model.values.canonical import Value
from model.values.leaves import addressable
from tests import support
from tests.model.layouts.layout_support import doc, layout_of
from tests.model.server.faulty_server import FaultyServer

OID = ObjectId("65f0a1c29b1e8a0012c4d7aa")
WHEN = dt.datetime(2026, 11, 20, 14, 26, tzinfo=dt.UTC)

MISSING = object()
# Groups of values that are easily taken for one another; every one is guarded against every other.
FAMILIES: dict[str, list[Any]] = {
    "ones": [1, 1.0, Int64(1), True, Decimal128("1"), "1", [1], [[1]], [1, 2], {"a": 1}, [True], [1.0]],
    "zeros": [0, 0.0, Int64(0), False, Decimal128("0"), "", [], [[]], {}, [0], MISSING, None],
    "nothing": [MISSING, None, [None], [], {}, "", [[None]], {"a": None}],
    "texts": ["a", "A", ["a"], {"a": "a"}, "a ", [["a"]], "á", "á"],
    "ids": [OID, str(OID), [OID], Binary(OID.binary)],
    "dates": [WHEN, [WHEN], Timestamp(int(WHEN.timestamp()), 1), WHEN.isoformat(), WHEN + dt.timedelta(milliseconds=1)],
    "binaries": [Binary(b"ab"), [Binary(b"ab")], "ab", Binary(b"abc"), Binary(b"")],
    "documents": [
        {"a": 1, "b": 2},
        {"b": 2, "a": 1},
        {"a": 1},
        {"a": 1.0, "b": 2},
        {"a": 1, "b": Int64(2)},
        [{"a": 1, "b": 2}],
        {"a": 1, "b": [2]},
        {"a": {"a": 1, "b": 2}},
        {"a": 1, "b": 2, "c": None},
    ],
    "arrays": [[1, 2], [2, 1], [1, 2, 2], [[1, 2]], [1.0, 2], [1, Int64(2)], [[1, 2], 2], [[1, 2], [1, 2]], [1, [2]]],
    "arrays of documents": [[{"a": 1}], [{"a": 1.0}], [[{"a": 1}]], [{"a": 1}, {"a": 1}], {"a": 1}, [{"a": [1]}]],
    "deep": [{"a": {"b": [{"c": 1}]}}, {"a": {"b": [{"c": 1.0}]}}, {"a": {"b": {"c": 1}}}, {"a": [{"b": [{"c": 1}]}]}],
    "extremes": [MinKey(), MaxKey(), [MinKey()], None],
    "large": [2**53, Int64(2**53 + 1), float(2**53), Decimal128(str(2**53))],
}
# What plain equality cannot tell apart at all.
CLOSE: dict[str, list[Any]] = {
    "precision": [Decimal128("1.0"), Decimal128("1.00"), Decimal128("1"), Decimal128("10E-1")],
    "signs of zero": [0.0, -0.0],
    "precision deep inside": [{"net": [Decimal128("1.0")]}, {"net": [Decimal128("1.00")]}],
    "decimal zeros": [Decimal128("0"), Decimal128("-0"), Decimal128("0.0")],
    "signs deep inside": [{"a": {"b": 0.0}}, {"a": {"b": -0.0}}],
}


def pairs(families: dict[str, list[Any]]) -> list[Any]:
    return [
        pytest.param(a, b, id=f"{name}: {short(a)} against {short(b)}")
        for name, values in families.items()
        for a, b in itertools.permutations(values, 2)
    ]


def short(value: Any) -> str:
    return "missing" if value is MISSING else f"{type(value).__name__} {value}"


def stored(value: Any, name: str = "f") -> bytes:
    return bson.encode({"_id": 1} if value is MISSING else {"_id": 1, name: value})


def put(server: Server, ns: str, raw: bytes) -> None:
    server.send(Write(ns, "delete", {"_id": 1}))
    reply = server.send(Write(ns, "insert", {}, raw))
    assert reply.applied == "yes", reply


def holds(server: Server, ns: str, raw: bytes, guard: dict[str, Any]) -> bool:
    put(server, ns, raw)
    return len(list(server.find(ns, guard))) == 1


def value_of(value: Any) -> Value | None:
    return None if value is MISSING else Value.of(value)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_field_guard_tells_every_value_of_a_family_from_every_other(family: str, server: Server, ns: str) -> None:
    values = FAMILIES[family]
    wrong = []
    for there in values:
        put(server, ns, stored(there))
        for read in values:
            guard = guards.nested("f", value_of(read))
            if len(list(server.find(ns, guard))) != (stored(there) == stored(read)):
                wrong.append((short(read), short(there)))
    assert not wrong


@pytest.mark.parametrize("family", [*FAMILIES, *CLOSE])
@pytest.mark.parametrize("additions", support.every(2, [False, True]))
def test_a_guard_of_the_whole_content_tells_them_all_apart(
    family: str, additions: bool, server: Server, ns: str
) -> None:
    values = (FAMILIES | CLOSE)[family]
    holds(server, ns, stored("something"), {})
    able = guards.abilities(server, ns, Value.of(1))
    assert able.texts, "this server cannot tell digits apart"
    assert able.counts, "this server cannot count fields"
    wrong = []
    whole = [(read, guards.whole(stored(read), lambda: able, additions)) for read in values]
    assert not any(guard.notes for _, guard in whole)
    for there in values:
        put(server, ns, stored(there))
        for read, guard in whole:
            missed = read is MISSING and not additions  # a field that was added does not matter to operators
            if not missed and len(list(server.find(ns, guard.filter))) != (stored(there) == stored(read)):
                wrong.append((short(read), short(there)))
    assert not wrong


def test_without_expressions_a_guard_says_what_it_cannot_tell_apart() -> None:
    raw = bson.encode({"_id": 1, "premium": {"net": Decimal128("1.0")}, "z": 0.0, "n": 1})
    assert guards.whole(raw, Abilities).notes == ("premium.net", "z")


def test_nan_is_guarded_like_any_number(server: Server, ns: str) -> None:
    able = Abilities()
    nan = stored(float("nan"))
    assert holds(server, ns, nan, guards.whole(nan, lambda: able).filter)
    assert not holds(server, ns, stored(1.0), guards.whole(nan, lambda: able).filter)


@pytest.mark.parametrize("name", ["a.b", "$a", "", "a b", "ä", "0"])
def test_names_that_no_path_reaches_are_guarded_all_the_same_or_refused(name: str, server: Server, ns: str) -> None:
    raw = stored("x", name)
    if server.send(Write(ns, "insert", {}, raw)).applied != "yes":
        pytest.skip("this server does not take such a name at all")
    able = guards.abilities(server, ns, Value.of(1))
    guard = guards.whole(raw, lambda: able).filter
    assert holds(server, ns, raw, guard)
    assert not holds(server, ns, stored("y", name), guard)
    if not able.fields and not addressable(name):
        with pytest.raises(Refused, match="cannot be guarded"):
            guards.whole(stored(1, name), lambda: able)
        return
    number = guards.whole(stored(1, name), lambda: able).filter
    assert holds(server, ns, stored(1, name), number)
    assert not holds(server, ns, stored(1.0, name), number)


def test_a_position_that_is_a_name_too_is_not_taken_for_the_other(server: Server, ns: str) -> None:
    read, there = stored([1, {"0": 2}]), stored([1.0, {"0": 2}])
    holds(server, ns, read, {})
    able = guards.abilities(server, ns, Value.of(1))
    guard = guards.whole(read, lambda: able).filter
    assert holds(server, ns, read, guard)
    assert not holds(server, ns, there, guard)
    read, there = stored([1, 1.5, {"0": 2}]), stored([1.0, 1.5, {"0": 2}])
    if not (able.fields or able.forms):
        with pytest.raises(Refused, match="ambiguity"):
            guards.whole(read, lambda: able)
        return
    guard = guards.whole(read, lambda: able).filter
    assert holds(server, ns, read, guard)
    assert not holds(server, ns, there, guard)


def test_a_replacement_is_turned_away_where_somebody_added_a_field(server: Server, ns: str) -> None:
    read = bson.encode({"_id": 1, "a": 1})
    holds(server, ns, read, {})
    able = guards.abilities(server, ns, Value.of(1))
    grown = bson.encode({"_id": 1, "a": 1, "b": 2})
    assert holds(server, ns, grown, guards.whole(read, lambda: able).filter)
    assert not holds(server, ns, grown, guards.whole(read, lambda: able, additions=True).filter)


def test_a_field_inside_is_guarded_only_while_its_parents_are_documents(server: Server, ns: str) -> None:
    guard = guards.nested("f.a", Value.of(1))
    assert holds(server, ns, stored({"a": 1}), guard)
    assert not holds(server, ns, stored([{"a": 1}]), guard)
    assert not holds(server, ns, stored([1]), guards.nested("f.a", None))


@pytest.mark.parametrize("id", [1, 1.0, Int64(1), "1", OID, {"a": 1}, {"a": 1.0}, WHEN, Decimal128("1")], ids=short)
def test_an_id_is_matched_with_its_type(id: Any, server: Server, ns: str) -> None:
    others = [1, 1.0, Int64(1), "1", OID, {"a": 1}, {"a": 1.0}, WHEN, Decimal128("1")]
    for other in others:
        raw = bson.encode({"_id": other})
        assert (reply := server.send(Write(ns, "insert", {}, raw))).applied == "yes", reply.sentence
        found = bool(list(server.find(ns, guards.by_id(Value.of(id)))))
        assert found == (raw == bson.encode({"_id": id})), other
        server.send(Write(ns, "delete", {"_id": other}))


@pytest.mark.parametrize("raw", [stored(Regex("a", "i")), stored(c.EMPTY)], ids=["regex", "binary"])
def test_a_guard_that_does_not_match_what_is_there_is_found_out_before_anything_is_lost(
    raw: bytes, server: Server, ns: str
) -> None:
    guard = guards.whole(raw, Abilities).filter
    assert holds(server, ns, raw, guard) in (True, False)
    assert not holds(server, ns, stored("another"), guard)


def test_a_guard_that_would_not_fit_into_a_command_is_refused() -> None:
    raw = bson.encode({"_id": 1, "t": "x" * (9 << 20)})
    assert guards.whole(raw, Abilities)
    with pytest.raises(Refused, match="too large"):
        guards.whole(raw, Abilities, beside=len(raw))


LONG = 100  # elements: more than are named one by one
# Arrays too long for a clause on each element, and one change of each kind somewhere in the middle.
LONG_ARRAYS: dict[str, tuple[list[Any], dict[int, list[Any]]]] = {
    "doubles": ([n + 0.5 for n in range(LONG)], {40: [41, 40.25, [40.5], None, Decimal128("40.5")]}),
    "round doubles": ([float(n + 1) for n in range(LONG)], {40: [41, Int64(41), [41.0], Decimal128("41"), "41"]}),
    "zeros": ([0.0, -0.0] * (LONG // 2), {40: [-0.0, 0, Int64(0), Decimal128("0"), [0.0]], 41: [0.0]}),
    "mixed": ([1, 2.5] * (LONG // 2), {40: [1.0, Int64(1), [1], True], 41: [2.25]}),
    "decimals": (
        [Decimal128("1.10")] * LONG,
        {40: [Decimal128("1.1"), Decimal128("1.100"), 1.1, [Decimal128("1.10")]]},
    ),
    "documents": ([{"t": n, "v": n + 0.5} for n in range(LONG)], {40: [{"t": 40.0, "v": 40.5}, {"t": 40, "v": 40.25}]}),
    "documents that differ": (
        [{"v": n if n % 2 else float(n)} for n in range(LONG)],
        {40: [{"v": 40}, {"v": [40.0]}, [{"v": 40.0}]], 41: [{"v": 41.0}, {"v": Int64(41)}]},
    ),
    "documents with decimals": (
        [{"net": {"sum": Decimal128("1.0")}, "n": 1} for _ in range(LONG)],
        {40: [{"net": {"sum": Decimal128("1.00")}, "n": 1}, {"net": {"sum": 1}, "n": 1}]},
    ),
    "points": ([[n + 0.5, n + 1.0] for n in range(LONG)], {40: [[40.5, 41], [[40.5, 41.0]], [40.5, [41.0]]]}),
    "shapes that differ": (
        [[float(n), {"v": [n]}] for n in range(LONG)],
        {40: [[40, {"v": [40]}], [40.0, {"v": [40.0]}], [40.0, {"v": 40}], [40.0, [{"v": [40]}]]]},
    ),
    "names of their own": ([{f"k{n}": n} for n in range(LONG)], {40: [{"k40": 40.0}, {"k40": [40]}]}),
    "names that are positions": ([{"1": n + 1} for n in range(LONG)], {40: [{"1": 41.0}, [41]]}),
}


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("family", LONG_ARRAYS)
@pytest.mark.parametrize("where", support.every(2, ["f", "f.inside"]))
def test_a_long_array_is_told_from_one_with_any_element_changed(
    family: str, where: str, server: Server, ns: str
) -> None:
    def made(elements: list[Any]) -> bytes:
        return stored(elements if where == "f" else {"inside": elements})

    read, changes = LONG_ARRAYS[family]
    holds(server, ns, stored("something"), {})
    able = guards.abilities(server, ns, Value.of(1))
    try:
        guard, notes = (whole := guards.whole(made(read), lambda: able)).filter, whole.notes
    except Refused:
        assert family == "names that are positions"
        assert not able.fields
        return
    assert not notes, f"this server cannot tell digits apart, here at {len(notes)} places"
    field = guards.nested(where, Value.of(read))
    assert holds(server, ns, made(read), guard)
    assert holds(server, ns, made(read), field)
    wrong = []
    for at, others in changes.items():
        for other in others:
            there = made([*read[:at], other, *read[at + 1 :]])
            if holds(server, ns, there, guard):
                wrong.append((at, short(other)))
    assert not wrong
    assert not holds(server, ns, made([*read, 1]), guard)
    assert not holds(server, ns, made([read]), guard)


@pytest.mark.deep
def test_a_guard_grows_with_a_document_and_not_with_its_elements_times_their_places() -> None:
    able = Abilities(texts=True, fields=True, counts=True, root=True, arrays=True, forms=True)
    for elements in ([0.5], [0.0], [1, 2.5], [Decimal128("1.0")], [{"v": 0.5}], [[0.5, 1.5]]):
        sizes = [len(bson.encode(_plain(guards.whole(stored(elements * n), lambda: able).filter))) for n in (500, 5000)]
        assert sizes[1] < 11 * sizes[0]
        guard = guards.whole(stored(elements * 5000), lambda: able).filter
        assert len(guard) + len(guard.get("$nor", ())) + len(guard.get("$expr", {"$and": []})["$and"]) < 6


def _plain(guard: dict[str, Any]) -> dict[str, Any]:
    return bson.decode(bson_of(guard))


@pytest.mark.deep
def test_thousands_of_fields_are_compared_in_one_walk(server: Server, ns: str) -> None:
    read = bson.encode({"_id": 1} | {f"f{n}": n for n in range(3000)})
    there = bson.encode({"_id": 1} | {f"f{n}": n if n != 2000 else 2000.0 for n in range(3000)})
    guard = guards.whole(read, Abilities).filter
    assert holds(server, ns, read, guard)
    assert not holds(server, ns, there, guard)


def test_an_array_is_only_asked_for_expressions_where_a_clause_does_not_do() -> None:
    assert not asks([0.5] * 5000)
    assert not asks([1, 0.5])
    assert asks([1, 0.5] * 100)
    assert asks([0.0])


def asks(value: Any) -> bool:
    """Whether a guard over a document with this value asks what the server is able to do."""
    asked: list[Abilities] = []

    def able() -> Abilities:
        asked.append(Abilities())
        return asked[-1]

    guards.whole(stored(value), able)
    return bool(asked)


def test_a_hash_does_not_stand_alone_for_a_content_because_a_server_could_not_be_asked(local_uri: str) -> None:
    class Silent(FaultyServer):
        def find(self, ns: str, filter: Any = None, *args: Any, **more: Any) -> Iterator[bytes]:
            if "$expr" in (filter or {}):
                raise Unreachable("The connection was lost; try again.")
            return super().find(ns, filter, *args, **more)

    with Server.connect(local_uri) as server:
        layout = layout_of(server, "guards", "hashed")
        try:
            assert layout.create(doc(a=Decimal128("1.0"), b=1), Value.of("K-1")).kind == "applied"
            port = Silent(server)
            slow = bind(port, layout.profile)
            base = layout.version(Value.of("K-1"))
            changed = c.put(base.content or b"", ("b",), Value.of(2))
            assert slow.swap(Value.of("K-1"), base, changed).kind == "refused"
            assert not port.sent
            assert layout.swap(Value.of("K-1"), base, changed).kind == "applied"
        finally:
            server._client.drop_database("guards")


def test_a_server_that_could_not_be_asked_is_not_taken_for_one_that_can_tell_nothing(local_uri: str) -> None:
    class Unlucky(FaultyServer):
        def find(self, *args: Any, **more: Any) -> Iterator[bytes]:
            if self.operations == 5:
                self.operations += 1
                raise Unreachable("The connection was lost; try again.")
            return super().find(*args, **more)

    with Server.connect(local_uri) as server:
        layout = layout_of(server, "guards", "archive")
        assert layout.create(doc(a=1), Value.of("K-1")).kind == "applied"
        port = Unlucky(server)
        slow = bind(port, layout.profile)
        base = layout.version(Value.of("K-1"))
        try:
            front = doc(b=1, a=1)  # no operator can say this: the whole document is replaced, and guarded
            assert slow.swap(Value.of("K-1"), base, front).kind == "refused"
            assert slow.swap(Value.of("K-1"), base, front).kind == "applied"
            assert {"a", "_id"} <= set(port.sent[-1].filter), port.sent[-1].filter
        finally:
            server._client.drop_database("guards")


@pytest.mark.parametrize(
    ("one", "other", "made"),
    [
        ({"a": {"$eq": 1}}, {"b": {"$type": 16}}, {"a": {"$eq": 1}, "b": {"$type": 16}}),
        ({"a": {"$eq": 1}}, {"a": {"$type": 16}}, {"a": {"$eq": 1, "$type": 16}}),
        ({"a": {"$eq": 1}}, {"a": {"$eq": 1}}, {"a": {"$eq": 1}}),
        ({"a": {"$not": 1}}, {"a": {"$not": 2}}, {"a": {"$not": 1}, "$and": [{"a": {"$not": 2}}]}),
        ({"$and": [{"a": 1}]}, {"$and": [{"b": 2}]}, {"$and": [{"a": 1}, {"$and": [{"b": 2}]}]}),
    ],
    ids=["other paths", "other operators", "the same", "one operator with two values", "lists of clauses"],
)
def test_two_guards_hold_together(one: dict[str, Any], other: dict[str, Any], made: dict[str, Any]) -> None:
    assert guards.both(one, other) == made
