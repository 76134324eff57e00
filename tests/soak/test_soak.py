"""A slice of the soak; and programs that are wrong in one respect, which the audit must convict even there."""

from __future__ import annotations

import json
import sys
from typing import Any

import bson
import pytest

from model.userdata.packed_document import pack
from tests.simulation.histories import Entry, stored
from tests.soak.auditing import as_noted
from tests.soak.conductor import Soak, Told, lines, run
from tests.soak.departures import Item, Move, Passage, _gone
from tests.soak.ground import Book, profiles
from tests.soak.makers import Makers, Row, sha1, stays_in_doubt

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of a process's files are Linux's")

FREQUENT = ("believing", "unjournalled", "discarding")
CLEARING = ("copyless", "hasty", "forgetting")  # these are wrong at what most faults keep from being done at all
RARE = ("retrying", "unguarded", "sweeping")  # these do harm where two meet, which not every small soak has
ROUNDS = 10  # the first mostly convicts


def _move(kind: str, began: float, *items: Item) -> Move:
    return Move("entry 1 of home0", "1-1", kind, Book({}), frozenset(items), began, began + 1)


@pytest.mark.parametrize(("returned", "is_wrong"), [("aa", False), ("bb", True)])
def test_a_purged_version_may_be_in_the_archive_where_it_was_brought_back_and_edited(
    returned: str, is_wrong: bool
) -> None:
    p = profiles("soak")["left_archive"]
    purge = _move("applied", 1.0, (p.archive, "aa"), (p.archive, "bb"))
    passage = Passage([purge], [_move("applied", 3.0, (p.ns, returned))])
    assert bool(list(_gone(p, {(p.archive, "aa"), (p.ns, "cc")}, passage, [], []))) is is_wrong


A, B = {"w0": "a"}, {"w0": "b"}


def _entry(action: str, kind: str, v: int, before: dict[str, Any] | None, after: dict[str, Any]) -> Row:
    """An entry of a journal, of a write that was to make version ``v``; its token is in no document."""
    ended = {"kind": kind, "detail": "", "version_after": json.dumps(v) if kind == "applied" else None}
    began = None if before is None else sha1(bson.encode(before))
    hashes = {"hash_before": began, "hash_after": sha1(bson.encode(after))}
    numbered = {"version_before": None if before is None else json.dumps(v - 1)}
    row = {"id": v, "home": "home0", "action": action, "document": '"K"', "token": f"{v}"}
    return row | ended | hashes | numbered


MADE = [_entry("create", "applied", 1, None, A), _entry("edit", "applied", 2, A, B)]
BACK = _entry("restore", "applied", 3, B, A)
JOURNALS: dict[str, tuple[list[Row], str]] = {
    "one entry each": ([*MADE, BACK], ""),
    "two equal restores": ([*MADE, BACK, BACK], ""),
    "an equal restore that came too late": ([*MADE, BACK, BACK | {"kind": "conflict", "version_after": None}], ""),
    "two edits": ([*MADE, MADE[1], BACK], "version 2 has 2 entries in the journals"),
    "an edit and a restore": ([*MADE, BACK, BACK | {"action": "edit"}], "version 3 has 2 entries in the journals"),
    "a restore without an entry": (MADE, "version 3 has 0 entries in the journals"),
    "an edit that says conflict": ([MADE[0], MADE[1] | {"kind": "conflict"}, BACK], "is there, and it says conflict"),
    "a restore that says conflict": ([*MADE, BACK | {"kind": "conflict"}], "is there, and it says conflict"),
    "a restore of another base": ([*MADE, BACK, _entry("undo", "applied", 3, A, A)], "does not follow the version"),
    "an edit that is not there": ([*MADE, BACK, _entry("edit", "applied", 4, A, B)], "its version is there 0 times"),
    "another number": ([*MADE, BACK | {"version_after": "4"}], "version 3 has 0 entries in the journals"),
    "nothing of it": ([], "version 1 has 0 entries in the journals"),
}


@pytest.mark.parametrize("case", JOURNALS)
def test_versions_without_tokens_are_held_against_the_journals_by_number_and_content(case: str) -> None:
    rows, said = JOURNALS[case]
    p = profiles("soak")["embedded"]
    document = {"_id": "K", "current": {"v": 3, **A}, "prev": [{"v": 1, **A}, {"v": 2, **B}]}
    entries = stored(Book({p.ns: [bson.encode(document)]}), p, "K")
    found = list(as_noted("embedded", {"K": entries}, rows, Makers(p, rows)))
    assert any(said in each for each in found) if said else not found, found


@pytest.mark.parametrize(
    ("follower", "stays"),
    [
        ({"w0": "c", "total": 2}, True),  # another edit of the same field, or the write's own, changed in place
        ({"w0": "a", "w1": "c", "total": 2}, False),  # the write's field is as it was
        ({"w0": "c", "total": 3}, False),  # nothing of the write is there
    ],
)
def test_only_what_shares_a_value_and_is_changed_wherever_the_write_changes_it_may_stay_in_doubt(
    follower: dict[str, Any], stays: bool
) -> None:
    before, after = {"w0": "a", "total": 1}, {"w0": "b", "total": 2}
    kept = {"before": pack(bson.encode(before)), "after": pack(bson.encode(after))}
    versions = [Entry(1, None, bson.encode(before)), Entry(2, None, bson.encode(follower))]
    assert stays_in_doubt(_entry("edit", "unknown", 2, before, after) | kept, versions) is stays


def soaked(soak: Soak) -> Told:
    told = run(soak)
    print(*lines(soak, told), sep="\n")
    return told


def small(seed: int, writes: int, doubt: float, careless: str = "", tokens: bool = False) -> Soak:
    return Soak(
        seed, 0.0, 2, writes, pause=0.4, doubt=doubt, documents=1, careless=careless, tokens=tokens, mounted=False
    )


@pytest.mark.deep
@pytest.mark.slice
def test_a_soak_of_a_few_writes_is_audited_to_its_end() -> None:
    told = soaked(small(1, 20, doubt=0.1))
    assert not told.wrong, told.wrong
    assert told.outcomes["edit applied"] > 5


@pytest.mark.deep
@pytest.mark.parametrize("tokens", [False, True], ids=["by default", "with tokens"])
def test_a_slice_of_the_soak_loses_nothing_and_doubles_nothing(tokens: bool, seed: int) -> None:
    told = soaked(small(seed, 60, doubt=0.2, tokens=tokens))
    assert not told.wrong, told.wrong
    assert told.did["entries in journals"] > 50


@pytest.mark.deep
@pytest.mark.parametrize("careless", [*FREQUENT, *CLEARING, *RARE])
def test_a_soak_convicts_whoever_is_careless(careless: str, seed: int) -> None:
    writes = 80 if careless in RARE else 30
    doubt = 0.2 if careless in CLEARING else 0.6
    assert any(soaked(small(seed + each, writes, doubt, careless)).wrong for each in range(ROUNDS))
