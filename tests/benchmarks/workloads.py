"""The documents to compare and merge, and the targets for them.

The data have JSON's types (text, numbers, booleans, null), so that every peer can read them, and are equal in every
run.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Data: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Workload:
    """Two documents to compare, or three to merge: ``make`` gives them, the base or the old one first.

    ``milliseconds`` is the target, ``ratio`` that to ``bson.decode`` of all of them, ``megabytes`` that of the memory
    needed at most; None where there is none. ``operations`` is how many an exact answer has, ``best`` the fastest
    peer as once measured.
    """

    name: str
    make: Callable[[], tuple[Data, ...]]
    milliseconds: float
    ratio: float | None = None
    megabytes: float | None = None
    operations: int | None = None
    merged: bool = False


def fields(count: int, seed: int = 1) -> Data:
    """A flat document with values of the usual kinds."""
    r = random.Random(seed)
    kinds: list[Callable[[int], Any]] = [
        lambda i: r.randrange(10**6),
        lambda i: f"value {i} of {r.randrange(10**6)}",
        lambda i: round(r.random() * 1000, 2),
        lambda i: r.random() < 0.5,
        lambda i: None,
    ]
    return {f"field{i:04d}": kinds[i % len(kinds)](i) for i in range(count)}


def changed_fields(count: int, changes: int) -> tuple[Data, ...]:
    """A flat document, and it with some values changed."""
    a = fields(count)
    b = copy.deepcopy(a)
    for name in random.Random(2).sample(sorted(b), changes):
        b[name] = f"changed {name}"
    return a, b


def tree(sections: int, records: int, width: int) -> Data:
    """A nested document with ``sections * records * width`` leaves."""
    r = random.Random(3)
    return {
        f"section{s}": {
            f"record{k}": {f"f{i}": r.randrange(10**6) if i % 2 else f"text {r.randrange(10**6)}" for i in range(width)}
            for k in range(records)
        }
        for s in range(sections)
    }


def changed_tree() -> tuple[Data, ...]:
    """100,000 leaves, 20 of them changed."""
    a = tree(100, 100, 10)
    b = copy.deepcopy(a)
    r = random.Random(4)
    for place in r.sample(range(10_000), 20):
        b[f"section{place // 100}"][f"record{place % 100}"][f"f{r.randrange(10)}"] = "changed"
    return a, b


def record(number: int) -> Data:
    """One sub-document with an identity key and 14 leaves."""
    return {
        "_id": number,
        "name": f"name {number}",
        "amount": number * 7 % 1000,
        "open": number % 3 == 0,
        "address": {"street": f"Street {number % 97}", "zip": f"{number % 90_000:05d}", "city": f"City {number % 53}"},
        "tags": ["new", f"tag {number % 11}"],
        "price": number / 8,
        "note": None,
        "by": f"user {number % 17}",
        "at": f"2024-05-{number % 28 + 1:02d}T10:00:00Z",
        "count": number % 5,
    }


def inserted_in_front(edits: int) -> tuple[Data, ...]:
    """10,000 sub-documents, one inserted in front of them and some edited."""
    a = [record(i) for i in range(10_000)]
    b = copy.deepcopy(a)
    for place in random.Random(5).sample(range(10_000), edits):
        b[place]["amount"] = -1
    return {"items": a}, {"items": [record(10_000), *b]}


def shuffled() -> tuple[Data, ...]:
    """10,000 numbers in another order."""
    a = list(range(10_000))
    b = list(a)
    random.Random(6).shuffle(b)
    return {"items": a}, {"items": b}


def moved() -> tuple[Data, ...]:
    """10,000 numbers, four of them elsewhere."""
    b = list(range(10_000))
    for start, end in ((100, 9000), (7000, 300), (4000, 6000), (9900, 2000)):
        b.insert(end, b.pop(start))
    return {"items": list(range(10_000))}, {"items": b}


def large() -> tuple[Data, ...]:
    """15 MB in 300,000 leaves, one string deep inside changed."""
    r = random.Random(7)
    words = [f"word{i}" for i in range(1000)]

    def page(number: int) -> Data:
        return {"number": number, "title": " ".join(r.choices(words, k=4)), "text": " ".join(r.choices(words, k=14))}

    a = {
        f"chapter{i}": {f"section{j}": {"pages": [page(n) for n in range(10)]} for j in range(100)} for i in range(100)
    }
    b = copy.deepcopy(a)
    b["chapter61"]["section44"]["pages"][7]["text"] = "another text"
    return a, b


def long_text() -> tuple[Data, ...]:
    """200 KB of text with five edits."""
    r = random.Random(8)
    words = [f"word{i}" for i in range(3000)]
    lines = [" ".join(r.choices(words, k=10)) for _ in range(2800)]
    edited = list(lines)
    for place in (100, 700, 1400, 2000, 2700):
        edited[place] = edited[place].replace(" ", " inserted ", 1)
    return {"text": "\n".join(lines)}, {"text": "\n".join(edited)}


def merged_tree() -> tuple[Data, ...]:
    """100,000 leaves; each side changed 10 others."""
    base = tree(100, 100, 10)
    mine, theirs = copy.deepcopy(base), copy.deepcopy(base)
    for n, place in enumerate(random.Random(9).sample(range(10_000), 20)):
        side = mine if n % 2 else theirs
        side[f"section{place // 100}"][f"record{place % 100}"]["f3"] = -n
    return base, mine, theirs


def merged_array() -> tuple[Data, ...]:
    """10,000 sub-documents; each side inserted one, removed one and edited five."""
    base = [record(i) for i in range(10_000)]
    mine, theirs = copy.deepcopy(base), copy.deepcopy(base)
    for n, place in enumerate(random.Random(10).sample(range(200, 9_800), 10)):
        (mine if n % 2 else theirs)[place]["amount"] = -n
    del mine[9_950]
    del theirs[50]
    mine.insert(100, record(10_001))
    theirs.insert(9_900, record(10_002))
    return {"items": base}, {"items": mine}, {"items": theirs}


WORKLOADS = (
    Workload("30 fields, 3 changed", lambda: changed_fields(30, 3), 0.05, operations=3),
    Workload("1,000 fields, 10 changed", lambda: changed_fields(1000, 10), 0.25, 1, operations=10),
    Workload("100,000 leaves, 20 changed", changed_tree, 2.5, 0.02, operations=20),
    Workload("10,000 sub-documents, 1 inserted in front", lambda: inserted_in_front(0), 20, 0.2, operations=1),
    Workload("the same and 5 edits", lambda: inserted_in_front(5), 25, 0.4, operations=6),
    Workload("10,000 scalars shuffled", shuffled, 30, 60),
    Workload("10,000 scalars, 4 moved", moved, 20, 25, operations=4),
    Workload("15 MB, one string deep inside", large, 2, 0.02, 1, operations=1),
    Workload("200 KB text, 5 edits", long_text, 10, None, 16, operations=1),
    Workload("merge, 100,000 leaves", merged_tree, 10, 0.06, merged=True),
    Workload("merge, array of 10,000", merged_array, 80, 0.6, merged=True),
)
