"""The sample tells the story of the pictures, and the same one every time."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import bson
import pytest

from model.diff import changed_fields, diff
from model.localserver.sample import (
    COLLEAGUE,
    THINGS,
    build,
    building_blocks,
    colleague_change,
    contracts,
    k118240,
    k204117,
)
from model.text import path_text
from model.values import canonical as c
from model.values.canonical import Value

NOW = 1_795_232_700  # 21 November 2026
Built = dict[str, list[bytes]]


@pytest.fixture(scope="module")
def built() -> Built:
    return {ns: list(raws) for ns, _, raws in build(NOW)}


@pytest.fixture(scope="module")
def decoded(built: Built) -> Callable[[str], list[dict[str, Any]]]:
    return lambda ns: [c.decode(raw) for raw in built[ns]]


def stored(built: Built, ns: str, id: str) -> bytes:
    return next(raw for raw in built[ns] if c.get(raw, ("_id",)) == Value.of(id))


def rows(built: Built, id: str) -> dict[int, bytes]:
    """The archive of a contract by version."""
    wanted = [raw for raw in built["insurance.contracts_history"] if c.get(raw, ("docId",)) == Value.of(id)]
    return {c.decode(raw)["v"]: raw for raw in wanted}


def leaves(raw: bytes, path: tuple[str, ...] = ()) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, value in c.fields(raw):
        here = (*path, name)
        if value.is_container and value.data != c.EMPTY:
            found |= leaves(value.data, here)
        else:
            found[".".join(here)] = value
    return found


def changed(a: bytes, b: bytes) -> set[str]:
    before, after = leaves(building_blocks.content_of(a)), leaves(building_blocks.content_of(b))
    return {path for path in before | after if before.get(path) != after.get(path)}


def test_two_builds_are_equal_byte_for_byte(built: Built) -> None:
    assert {ns: list(raws) for ns, _, raws in build(NOW)} == built


def test_only_what_has_to_be_young_depends_on_the_clock(built: Built) -> None:
    later = {ns: list(raws) for ns, _, raws in build(NOW + 3600)}
    differing = {ns: sum(a != b for a, b in zip(raws, later[ns], strict=True)) for ns, raws in built.items()}
    assert {ns: n for ns, n in differing.items() if n} == {
        "insurance.contracts_history": 1,
        "insurance.stats": 1,
        "insurance_2019.contracts_history": 1,
    }


def test_ids_are_unique_and_every_document_is_whole(built: Built) -> None:
    for ns, raws in built.items():
        ids = Counter(next(c.elements(raw))[0] + c.get(raw, ("_id",)).data for raw in raws)  # type: ignore[union-attr]
        assert not [id for id, n in ids.items() if n > 1], ns
        assert all(int.from_bytes(raw[:4], "little") == len(raw) for raw in raws)


def test_versions_follow_one_another_in_time(built: Built) -> None:
    for ns in ("insurance.contracts_history", "insurance.claims", "insurance.partners"):
        told: dict[str, list[tuple[int, dt.datetime]]] = defaultdict(list)
        for document in map(c.decode, built[ns]):
            if document["docId"] not in contracts.PHANTOMS:
                told[document["docId"]].append((document["v"], document["changedAt"]))
        assert told
        for versions in told.values():
            times = [at for _, at in sorted(versions)]
            assert times == sorted(times)


def test_unique_indexes_hold(built: Built) -> None:
    for ns, indexes, _ in build(NOW):
        for keys, unique in indexes:
            seen = Counter(tuple(c.get(raw, (name,)) for name, _ in keys) for raw in built[ns])
            assert not unique or max(seen.values()) == 1, ns


def test_the_first_page_is_the_pictured_one(decoded: Callable[[str], list[dict[str, Any]]]) -> None:
    matching = [
        d
        for d in decoded("insurance.contracts")
        if d["status"] == "active" and d["premium"]["gross"].to_decimal() >= 400
    ]
    assert len(matching) == 2318
    page = sorted(matching, key=lambda d: str(d["_id"]))[:8]
    assert [
        (d["_id"], d["v"], d["changedAt"].astimezone(building_blocks.ZONE).strftime("%d %b %Y %H:%M")) for d in page
    ] == [
        ("K-204109", 6, "18 Nov 2026 09:12"),
        ("K-204111", 3, "17 Nov 2026 16:40"),
        ("K-204112", 22, "20 Nov 2026 11:03"),
        ("K-204115", 9, "12 Nov 2026 08:55"),
        ("K-204117", 14, "20 Nov 2026 14:26"),
        ("K-204118", 1, "03 Nov 2026 10:00"),
        ("K-204120", 8, "18 Nov 2026 17:31"),
        ("K-204121", 31, "20 Nov 2026 13:58"),
    ]


def test_documents_are_as_large_as_told(built: Built) -> None:
    for id, told in contracts.TOLD.items():
        assert len(stored(built, "insurance.contracts", id)) == told.size
    assert len(stored(built, "insurance.contracts", "K-204117")) == k204117.SIZE


def test_seven_fields_differ_between_v11_and_v14(built: Built) -> None:
    old, new = rows(built, "K-204117")[11], stored(built, "insurance.contracts", "K-204117")
    found = diff(building_blocks.content_of(old), building_blocks.content_of(new))
    assert found.counts() == {"replace": 4, "remove": 1, "retype": 1, "add": 1}
    assert {path_text(op.path): (op.op, *(str(v.python()) if v else "" for v in (op.old, op.new))) for op in found} == {
        "premium.net": ("replace", "412.80", "438.60"),
        "premium.gross": ("replace", "491.23", "521.93"),
        "premium.discount": ("remove", "0.05", ""),
        "deductible": ("retype", "150.0", "150.00"),
        "billing.interval": ("replace", "yearly", "monthly"),
        "holder.phone": ("replace", "+49 40 555 0117", "+49 40 555 0192"),
        "riders[2]": (
            "add",
            "",
            "{'_id': ObjectId('65f0a1c29b1e8a0012c4e41c'), 'code': 'FLOOD', 'premium': Decimal128('36.20')}",
        ),
    }


def test_each_step_of_the_told_contract_changes_as_many_fields_as_pictured() -> None:
    contents = [building_blocks.content_of(raw) for _, raw in k204117.versions()]
    counts = [changed_fields(a, b) for a, b in pairwise(contents)]
    assert counts[:2] + counts[6:] == [2, 1, 1, 2, 3, 5, 3, 2, 2]


def test_a_person_who_opened_v12_finds_four_fields_changed(built: Built) -> None:
    old, new = rows(built, "K-204117")[12], stored(built, "insurance.contracts", "K-204117")
    found = {path_text(op.path): op.op for op in diff(building_blocks.content_of(old), building_blocks.content_of(new))}
    assert found == {
        "billing.interval": "replace",
        "deductible": "retype",
        "holder.phone": "replace",
        "riders[2]": "add",
    }
    assert c.get(old, ("deductible",)) == Value.of(150.0)
    assert c.get(old, ("notes",)) == Value.of("Roof redone 2019. Call ahead.")
    assert str(c.get(old, ("_w",)).python()).endswith("07c2")  # type: ignore[union-attr]


def test_versions_are_missing_where_the_pictures_say_so(built: Built) -> None:
    gaps = {"K-204112": {8, 9}, "K-204117": {4, 5, 6}, "K-118240": {17, 18, 19}}
    have: dict[str, set[int]] = defaultdict(set)
    for raw in built["insurance.contracts_history"]:
        have[c.get(raw, ("docId",)).python()].add(c.get(raw, ("v",)).python())  # type: ignore[union-attr]
    current = {d["_id"]: d["v"] for d in map(c.decode, built["insurance.contracts"])}
    missing = {id: set(range(1, v)) - have[id] for id, v in current.items()}
    assert {id: gap for id, gap in missing.items() if gap} == gaps
    above = {id: max(have[id]) for id, v in current.items() if have[id] and max(have[id]) > v}
    assert above == {id: current[id] + 1 for id in contracts.PHANTOMS}
    equal = {id for id, v in current.items() if v in have[id]}
    assert equal == {*contracts.EDITED_IN_PLACE, contracts.RESIDUE}
    assert set(have) - set(current) == {contracts.ORPHAN}
    assert max(current.values()) > 1000


def test_rows_that_stand_beside_the_current_version_differ_from_it_or_do_not(built: Built) -> None:
    for id, v in (*((id, None) for id in contracts.PHANTOMS), *((id, 0) for id in contracts.EDITED_IN_PLACE)):
        current = stored(built, "insurance.contracts", id)
        number = c.decode(current)["v"]
        differing = changed(current, rows(built, id)[number + 1 if v is None else number])
        assert differing == {"premium.net", "premium.gross", "changedBy"} if v is None else differing
    current = stored(built, "insurance.contracts", contracts.RESIDUE)
    assert not changed(current, rows(built, contracts.RESIDUE)[c.decode(current)["v"]])


def test_stored_hashes_are_right_but_for_three(built: Built) -> None:
    wrong = []
    for ns in ("insurance.contracts_history", "insurance.invoices"):
        for raw in built[ns]:
            told = c.get(raw, (building_blocks.HASH,))
            if told is not None and told.python() != c.hash_of(building_blocks.content_of(raw)):
                wrong.append((ns, c.decode(raw).get("v", c.decode(raw).get("number"))))
    assert wrong == [
        ("insurance.contracts_history", 9),
        ("insurance.invoices", 202_600_417),
        ("insurance.invoices", 202_600_583),
    ]


def test_tokens_and_dates_are_in_step(built: Built) -> None:
    for ns in ("insurance.contracts", "insurance.claims", "insurance.partners", "insurance.policy_feed"):
        for document in map(c.decode, built[ns]):
            assert document["_w"].generation_time == document["changedAt"]
    assert max(d["changedAt"] for d in map(c.decode, built["insurance.contracts"])) <= dt.datetime.fromtimestamp(
        NOW, dt.UTC
    )


def test_five_tokens_are_stale_by_any_clock_and_one_is_young(decoded: Callable[[str], list[dict[str, Any]]]) -> None:
    pending = {d["_id"]: d["pending"] for d in decoded("insurance.stats") if d["pending"]}
    ages = {id: [NOW - int(t.generation_time.timestamp()) for t in tokens] for id, tokens in pending.items()}
    assert sorted(len(a) for a in ages.values()) == [2, 4]
    assert [age for a in ages.values() for age in a if age < 300 * building_blocks.DAY] == [240]


def test_the_long_contract_changes_where_the_map_says_so() -> None:
    versions = [raw for _, raw in k118240.versions()]
    when: dict[str, set[int]] = defaultdict(set)
    for v, (a, b) in enumerate(pairwise(versions), 2):
        before, after = ({r["_id"]: r["premium"] for r in c.decode(raw).get("riders", [])} for raw in (a, b))
        for code in before | after:
            if before.get(code) != after.get(code):
                when[f"riders.{code}"].add(v)
        for path in changed(a, b):
            if not path.startswith("riders"):
                when["tags" if path.startswith("tags") else path].add(v)
    every = set(range(2, 61))
    assert {path for path, at in when.items() if at == every} == {"letter", "changedBy"}
    expected = {path: set(values) - {1} for path, values in k118240.CHANGES.items() if set(values) - {1}}
    assert {path: at for path, at in when.items() if at != every} == expected
    assert len(k118240.CHANGES) == 30


def test_what_does_not_survive_a_round_trip_is_kept_apart(built: Built) -> None:
    def survives(raw: bytes) -> bool:
        try:
            return bson.encode(bson.decode(raw)) == raw
        except bson.errors.InvalidBSON:
            return False

    assert not any(map(survives, built["insurance_2019.scans"]))
    for ns, raws in built.items():
        if not ns.endswith((".scans", ".bson_types")):
            assert all(map(survives, raws)), ns


def test_a_colleague_repeats_the_story_and_then_does_something_else(built: Built) -> None:
    id = Value.of("K-204118")
    content = building_blocks.content_of(stored(built, "insurance.contracts", "K-204118"))
    once = colleague_change("insurance.contracts", id, content)
    paths = {path.split(".")[0] if path.startswith("riders") else path for path in changed(content, once)}
    assert paths - {"changedBy"} == {"billing.interval", "deductible", "holder.phone", "riders"}
    twice = colleague_change("insurance.contracts", id, once)
    assert changed(once, twice) == {"premium.net", "premium.gross", "deductible", "notes"}


@pytest.mark.deep
def test_a_colleague_always_changes_something_and_never_the_same_way_back(built: Built) -> None:
    for ns, raws in built.items():
        if ns.endswith((".scans", ".bson_types", ".texts")):
            continue
        for raw in raws[:40]:
            content = building_blocks.content_of(raw)
            for _ in range(4):
                after = colleague_change(ns, Value.of("x"), content)
                assert after != content, (ns, c.decode(raw))
                content = after
            author = c.get(content, (building_blocks.AUTHOR,))
            assert author is None or author == Value.of(COLLEAGUE)


def test_a_colleague_copes_with_any_content() -> None:
    odd = [
        c.EMPTY,
        c.encode({"riders": 3, "deductible": None, "billing": [], "holder": {"phone": 7}}),
        c.encode({"": {"$a": 1}}),
    ]
    for content in odd:
        once = colleague_change("insurance.contracts", Value.of(1), content)
        assert colleague_change("insurance.contracts", Value.of(1), once) not in (content, once)


def test_the_five_things_are_there(built: Built) -> None:
    assert len(THINGS) == 5
    for thing in THINGS:
        assert thing.ns in built or any(ns.startswith(f"{thing.ns}.") for ns in built)
        if thing.id:
            have = {*rows(built, thing.id), c.get(stored(built, thing.ns, thing.id), ("v",)).python()}  # type: ignore[union-attr]
            assert set(thing.versions) <= have
