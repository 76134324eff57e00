"""The walker in C returns what the walk in Python does: values, errors and their words, on any bytes."""

from __future__ import annotations

import gc
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import cast

import bson
import pytest
from bson.son import SON
from hypothesis import given, settings
from hypothesis import strategies as st

from model.checks.bson_damage import damage_of
from model.errors import Unreadable
from model.server.port import _value, bson_of
from model.text import json_writer, scalars
from model.values import canonical as c
from tests.model.diff.bson_strategies import documents
from tests.support import ROOT, by_depth
from tests.walker import building, comparing


@pytest.mark.slice
def test_both_walks_give_equal_results_and_errors_on_bytes_of_all_kinds(walker: ModuleType, seed: int) -> None:
    for a, b in comparing.inputs(seed, by_depth(300, 8_000, 4_000)):
        assert comparing.compare(walker, a, b) == [], f"python -m tests.walker --seed {seed}"


@pytest.mark.slice
@settings(max_examples=by_depth(20, 500, 250), deadline=None)
@given(documents(), documents(), st.integers(0, 300), st.binary(max_size=6))
def test_both_walks_give_equal_results_on_odd_documents_and_where_these_are_cut_and_patched(
    walker: ModuleType, a: bytes, b: bytes, at: int, patch: bytes
) -> None:
    for some in (a, a[:at] + patch + a[at:], a[:at] + patch, a[:at] + patch + a[at + len(patch) :]):
        assert comparing.compare(walker, some, b) == []


def test_a_document_that_survives_in_c_is_one_that_the_driver_writes_back_as_it_was(walker: ModuleType) -> None:
    r, sure = random.Random(4), 0
    for _ in range(400):
        raw = comparing.document(r)
        if walker.survives(raw):
            sure += 1
            with building.using(None):
                assert damage_of(raw) == ""
    assert sure > 100


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (bson.encode({"a": float("nan")}), "a NaN may come back with other bits"),
        (bson.encode({"$ref": "x", "$id": 1}), "a reference is another type to the driver"),
        (c.document([("a", c.Value(c.STRING, b"\x04\0\0\0\xed\xa0\x80\0"))]), "half a character"),
        (c.document([("a", c.Value.of(1)), ("a", c.Value.of(2))]), "two fields of one name"),
        (c.document([("a", c.Value(c.ARRAY, c.document([("7", c.Value.of(1))])))]), "another position"),
        (comparing.nested(99, c.OBJECT), "nested deeply"),
        (b"", "no bytes"),
        (bson.encode({}) + b"\0", "one byte too many"),
    ],
)
def test_what_is_in_doubt_is_left_to_the_driver(walker: ModuleType, raw: bytes, why: str) -> None:
    assert walker.survives(raw) is False, why


def test_fields_before_the_damage_come_before_the_error(walker: ModuleType) -> None:
    raw = bson.encode({"_id": 1, "a": "text"})
    broken = raw[:-2] + b"x" + raw[-1:]  # the text does not end, which no walk looks at
    cut = raw[:16] + b"\xff\xff\xff\x7f" + raw[20:]
    with building.using(walker):
        assert len(list(c.elements(broken))) == 2
        fields = c.elements(cut)
        assert next(fields)[0] == b"_id"
        with pytest.raises(Unreadable, match="extends beyond the document"):
            next(fields)


@pytest.mark.parametrize(
    "term",
    [
        *(-(2**63) - 1, -(2**63), -(2**31) - 1, -(2**31), -2, -1, 0, 255, 256, 2**31 - 1, 2**31, 2**63 - 1, 2**63),
        *(True, None, 1.5, "", "é\0x", "\ud800", b"x", re.compile("a"), bson.ObjectId(), object(), c.Value.of(3)),
        *([], {}, (1, 2), SON(b=1, a=2), [{"a": [1, "x"]}, c.Value.of("y")], {"\ud800": 1}, {"a\0": 1}, {"\udcff": 1}),
        *({1: 2}, c.Value(300, b""), c.Value(2, None)),  # type: ignore[arg-type]
    ],
)
def test_both_walks_write_the_same_terms_or_refuse_them_in_the_same_words(walker: ModuleType, term: object) -> None:
    for terms in ({"a": term}, {"a": {"$in": [term, 1]}, "b": "text" * 100}, SON(a=term), {"a": [[term]] * 3}):
        with building.using(walker):
            fast = comparing.outcome(lambda terms=terms: bson_of(terms))  # type: ignore[misc]
        with building.using(None):
            slow = comparing.outcome(lambda terms=terms: bson_of(terms))  # type: ignore[misc]
        assert fast == slow


@pytest.mark.parametrize("depth", [30, 60])
def test_both_walks_write_deep_terms_and_long_ones(walker: ModuleType, depth: int) -> None:
    terms: dict[str, object] = {f"f{at}": "x" * at for at in range(300)}
    for at in range(depth):
        terms = {"a": terms, "b": [terms if at < 3 else at]}
    with building.using(walker):
        assert (walker.terms(terms, _value) is None) == (depth > 40)
        fast = bson_of(terms)
    with building.using(None):
        assert fast == bson_of(terms)


FORM = (0, ": ", ", ", None)


def test_a_stop_in_the_middle_of_a_text_is_no_doubt(walker: ModuleType) -> None:
    def stopped(*_: object) -> str:
        raise KeyboardInterrupt

    raw = bson.encode({"a": "\u202e"})
    with pytest.raises(KeyboardInterrupt):
        walker.text(raw, 0, len(raw), False, FORM, 0, stopped)
    assert walker.text(raw, 0, len(raw), False, FORM, 0, len) is None
    assert walker.text(raw, 3, len(raw), False, FORM, 0, scalars.scalar_text) is None
    assert walker.text(raw, 0, len(raw) + 1, False, FORM, 0, scalars.scalar_text) is None


def test_every_character_is_written_alike_by_both(walker: ModuleType) -> None:
    # C leaves all that is higher to Python.
    every = [chr(at) for at in range(0x20000) if not 0xD800 <= at < 0xE000]
    lists = [
        bson.encode({"a": every[at : at + 4096], "b": "".join(every[at : at + 4096])})
        for at in range(0, len(every), 4096)
    ]
    for raw in lists:
        with building.using(walker):
            fast = json_writer.write(c.Value(c.OBJECT, raw))
        with building.using(None):
            assert fast == json_writer.write(c.Value(c.OBJECT, raw))


def test_other_threads_have_their_turn_while_a_long_text_is_written(walker: ModuleType) -> None:
    raw = bson.encode({f"f{at}": {"text": "x" * 1000, "n": at} for at in range(30_000)})
    written, turns = threading.Event(), 0

    def write() -> None:
        walker.text(raw, 0, len(raw), False, FORM, 0, scalars.scalar_text)
        written.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not written.wait(0.0001):
        turns += 1
    thread.join()
    assert turns > 2


def test_depths_that_are_odd_are_not_walked_again_and_again(walker: ModuleType) -> None:
    asked = 0

    def counted(*given: object) -> object:
        nonlocal asked
        asked += 1
        return walker.text(*given)

    raw = bson.encode({"$oid": "x"})
    for _ in range(3000):
        raw = c.document([("a", c.Value.of("x" * 100)), ("b", c.Value(c.OBJECT, raw))])
    with building.using(cast("ModuleType", SimpleNamespace(**vars(walker) | {"text": counted}))):
        fast = json_writer.write(c.Value(c.OBJECT, raw))
    with building.using(None):
        assert fast == json_writer.write(c.Value(c.OBJECT, raw))
    assert 3 < asked < 30


@pytest.mark.deep
@pytest.mark.slice
def test_walking_leaves_nothing_behind(walker: ModuleType) -> None:
    raw = bson.encode({"_id": 1, "a": "text", "b": [1, 2, 3], "c": {"d": 1}})
    wide = bson.encode({f"f{at}": "\u202e" for at in range(300)})
    twice = c.document([("a", c.Value.of(1)), ("a", c.Value.of(2))])
    works: list[Callable[[], object]] = [
        lambda: list(walker.elements(raw)),
        lambda: next(walker.elements(raw)),
        lambda: walker.spans(raw, 0),
        lambda: walker.parted(raw, ("_id", "a"), True),
        lambda: walker.places(raw[24:-1], 0),
        lambda: walker.changed(raw, 0, raw.replace(b"text", b"next"), 0),
        lambda: walker.survives(raw),
        lambda: [walker.text(some, 0, len(some), False, FORM, 0, scalars.scalar_text) for some in (raw, wide, twice)],
        lambda: [
            walker.glance(raw, names) for names in (("a", "_id", "z", ""), ("", "a", "b", "c"), ("z", "z", "", "\0"))
        ],
        lambda: [walker.field(raw, name) for name in ("b", "z", "\ud800")],
        lambda: walker.terms({"a": [raw, {"b": c.Value.of(1)}, 1, "x", 1.5]}, _value),
        lambda: walker.terms({"a": [{"b": "\ud800"}]}, _value),
    ]
    for work in works:
        work()
    gc.collect()
    before = sys.getrefcount(raw), sys.getallocatedblocks()
    for _ in range(500):
        for work in works:
            work()
    gc.collect()
    assert sys.getrefcount(raw) == before[0]
    assert sys.getallocatedblocks() - before[1] < 300


@pytest.mark.parametrize("there", ["None", "type(sys)('built_from_an_older_source')"])
def test_without_the_walker_of_this_source_everything_works_in_python(there: str) -> None:
    code = (
        f"import sys; sys.modules['model.values._walker'] = {there}\n"
        "from model.values import canonical as c\n"
        "assert c.walker is None\n"
        "print(c.parted(c.document([('a', c.Value.of(1)), ('b', c.Value.of(2))]), ('a',))[1].hex())"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert found.stdout.strip() == bson.encode({"b": 2}).hex(), found.stderr


@pytest.mark.deep
@pytest.mark.skipif(not building.compiler() or sys.platform != "linux", reason="needs a compiler with AddressSanitizer")
def test_careless_walkers_are_convicted_under_the_address_sanitizer() -> None:
    command = [sys.executable, "-m", "tests.walker", "--inputs", "2000", "--seed", "3"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "NOT CONVICTED" not in found.stdout
