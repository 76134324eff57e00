"""The laws as assertions, byte for byte."""

from __future__ import annotations

import json
from typing import Any

from model.diff import Diff, diff, patch
from model.merge import merge
from model.values import canonical as c
from model.values.canonical import Value


def of_a_diff(a: bytes, b: bytes) -> Diff:
    """The diff leads there and back, and is empty exactly when the bytes are equal."""
    found = diff(a, b)
    assert patch(a, found) == b
    assert bool(found) == (a != b)
    assert patch(b, found.inverse()) == a
    assert found.inverse().inverse() == found
    return found


def of_a_merge(base: bytes, mine: bytes, theirs: bytes) -> None:
    """What only one side did is taken, nothing else is, and the order of the sides does not matter."""
    for x in (base, mine, theirs):
        assert merge(base, x, base).document() == x
        assert merge(base, base, x).document() == x
        assert merge(base, x, x).document() == x
    takes_a_side(base, mine, theirs)
    contains_what_one_side_did(base, mine, theirs)
    symmetric(base, mine, theirs)


def symmetric(base: bytes, mine: bytes, theirs: bytes) -> None:
    """Merging is symmetric but for the order of names that both sides added."""
    one, other = merge(base, mine, theirs), merge(base, theirs, mine)
    assert [d.kind for d in one.conflicts] == [d.kind for d in other.conflicts]
    assert _sorted(one.preview()) == _sorted(other.preview())


def takes_a_side(base: bytes, mine: bytes, theirs: bytes) -> None:
    """With every decision for one side the document is that side's; choices can be taken back."""
    for side, wanted in (("base", base), ("mine", mine), ("theirs", theirs)):
        found = merge(base, mine, theirs)
        for decision in found.decisions:
            found = found.choose(decision, side)
        assert found.document() == wanted
    found = merge(base, mine, theirs)
    first = found.preview()
    for decision in found.decisions:
        found = found.choose(decision, "mine").choose(decision, "theirs")
    for decision in found.decisions:
        found = found.reopen(decision)
    assert found.preview() == first
    assert found.decisions == merge(base, mine, theirs).decisions


def contains_what_one_side_did(base: bytes, mine: bytes, theirs: bytes) -> None:
    """Top-level fields that only one side touched are in a merge as that side has them."""
    old, left, right = dict(c.fields(base)), dict(c.fields(mine)), dict(c.fields(theirs))
    merged = dict(c.fields(merge(base, mine, theirs).preview()))
    for name in {*old, *left, *right}:
        if old.get(name) == left.get(name):
            assert merged.get(name) == right.get(name)
        elif old.get(name) == right.get(name):
            assert merged.get(name) == left.get(name)


def _sorted(raw: bytes) -> Any:
    def plain(value: Value) -> Any:
        if value.type == c.OBJECT:
            return sorted((name, plain(inner)) for name, inner in c.fields(value.data))
        if value.type == c.ARRAY:
            return [plain(inner) for inner in c.items(value)]
        return [(str(value.type), [value.data.hex()])]

    return json.dumps(plain(Value.document(raw)))
