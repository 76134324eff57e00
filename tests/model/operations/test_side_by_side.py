"""Two collections side by side: what differs, how histories stand, in flat memory, against a comparison of all."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from model.diff.comparison_rules import ComparisonRules
from model.errors import Refused
from model.foundation.records import Version
from model.layouts.registry import WRITABLE
from model.operations import side_by_side
from model.operations.side_by_side import standing
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value
from tests.model.command_log import listening

OWN = ("versions", "flagged", "deltas")
QUICK = ("archive", "versions")
LAYOUTS = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.deep)
    for name in WRITABLE
    if name not in ("hashed", "plain", "stream")
]


def compared(
    session: Session, ns: str, other: str, key: str = "", filter: str = "", **rules: Any
) -> list[tuple[object, str]]:
    found = session.beside(ns, session, other, key, filter).compare(ComparisonRules(**rules))
    return [(each.key.python(), each.change) for each in found]


def test_differences_come_in_the_order_of_the_key(server_uri: str, database: Any, tmp_path: Path) -> None:
    left = [{"_id": n, "n": 20 - n, "x": {"y": n}} for n in range(8)]
    right = [{**each, "x": {"y": 9.0}} if each["_id"] in (2, 5) else each for each in left]
    database["l"].insert_many(left[1:])
    database["r"].insert_many([*right[:7], {"_id": "text", "n": -1}])
    ns, other = f"{database.name}.l", f"{database.name}.r"
    with Session.open(server_uri, home=tmp_path) as session:
        differs = [(0, "only there"), (2, "changed"), (5, "changed"), (7, "only here"), ("text", "only there")]
        assert compared(session, ns, other) == differs
        assert compared(session, other, other) == []
        by_n = [(-1, "only there"), (13, "only here"), (15, "changed"), (18, "changed"), (20, "only there")]
        assert compared(session, ns, other, "n") == by_n
        assert [what for _, what in compared(session, ns, other, ignored=(("x",),))].count("changed") == 0
        with pytest.raises(Refused, match=r"\.l has null in x\.z several times"):
            compared(session, ns, other, "x.z")  # nobody has it
        database["r"].update_many({}, {"$set": {"n": 1}})
        with pytest.raises(Refused, match=r"\.r has 1 in n several times, so documents cannot be paired by it"):
            compared(session, ns, other, "n")
        database["r"].update_many({}, {"$set": {"n": [1, 2]}})
        with pytest.raises(Refused, match=r"\.r has an array in n"):
            compared(session, ns, other, "n")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_histories_tell_which_side_is_behind(layout: str, server_uri: str, database: Any, tmp_path: Path) -> None:
    here, there, file = f"{database.name}.l", f"{database.name}.r", tmp_path / "profile.toml"
    said = 'id = "docId"\n' if layout in OWN else ""
    said += 'removed = "gone"\n' if layout == "deltas" else ""
    file.write_text(
        "".join(
            f'[[collection]]\nns = "{ns}"\nlayout = "{layout}"\n{said}'
            + (f'archive = "{ns}_past"\n' if layout == "archive" else "")
            for ns in (here, there)
        )
    )
    with Session.open(server_uri, file, home=tmp_path) as session:
        for ns in (here, there):
            if session.catalogue.layout(ns).missing_index():
                session.catalogue.layout(ns).create_index()

        def write(ns: str, id: str, *values: int) -> None:
            first, *rest = values
            assert session.writing.create(ns, c.encode({"n": first}), Value.of(id)).kind == "applied"
            for n in rest:
                assert session.edit(ns, Value.of(id), {"n": n}).kind == "applied"

        for id, one, other in (
            ("A", (1, 2), (1, 2, 3)),
            ("B", (1, 2, 3), (1, 2)),
            ("C", (1, 2, 3), (1, 2, 9)),
            ("D", (1,), ()),
            ("E", (1, 2), (1, 2)),
            ("F", (5, 1), (6, 1)),
            ("G", (5,), (6,)),
        ):
            write(here, id, *one)
            if other:
                write(there, id, *other)
        found = {each.key.python(): each for each in session.beside(here, session, there).compare()}
        assert {id: each.change for id, each in found.items()} == {
            "A": "behind", "B": "ahead", "C": "diverged", "D": "only here", "G": "diverged",
        }  # fmt: skip
        since = {id: None if each.since is None else each.since.python() for id, each in found.items()}
        assert since == {"A": 2, "B": 2, "C": 2, "D": None, "G": None}
        assert (found["A"].v, found["A"].w) == (Value.of(2), Value.of(3))


def archives(session: Session, database: Any, versions: dict[str, tuple[int, int]]) -> tuple[str, str]:
    """Two archives; on each side the documents have so many versions."""
    here, there = f"{database.name}.l", f"{database.name}.r"
    for at, ns in enumerate((here, there)):
        rows = [(id, v) for id, count in versions.items() for v in range(1, count[at] + 1)]
        for id, v in rows:
            name = ns.partition(".")[2] if v == versions[id][at] else f"{ns.partition('.')[2]}_past"
            own = {"_id": id} if v == versions[id][at] else {"docId": id}
            database[name].insert_one({**own, "v": v, "n": v})
        session.catalogue.set_layout(ns, "archive")
    return here, there


def test_histories_are_read_together(server_uri: str, database: Any, tmp_path: Path) -> None:
    differing = {f"D{n:02}": (2, 2 + n % 2) for n in range(40)}
    with listening() as log, Session.open(server_uri, home=tmp_path) as session:
        here, there = archives(session, database, differing)
        comparison = session.beside(here, session, there)
        log.clear()
        found = {each.key.python(): each.change for each in comparison.compare()}
    assert found == {id: "behind" for id, (one, other) in differing.items() if one < other}
    assert len(log.names) < 40  # two queries for each document of each side would be 80


def test_a_difference_is_told_before_all_is_read(
    server_uri: str, database: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_by_side, "PATIENCE", 10)
    versions = {f"D{n:02}": (1, 1) for n in range(100)} | {"D00": (1, 2), "D75": (2, 1)}
    with Session.open(server_uri, home=tmp_path) as session:
        here, there = archives(session, database, versions)
        comparison = session.beside(here, session, there).compare()
        told = iter(comparison)
        assert next(told).key == Value.of("D00")
        assert comparison.same == 10
        assert [each.key.python() for each in told] == ["D75"]
        assert comparison.same == 98


@pytest.mark.parametrize("layout", ["plain", *LAYOUTS])
@pytest.mark.parametrize("together", [2, 200])
def test_a_filter_compares_what_matches_on_either_side(
    layout: str, together: int, server_uri: str, database: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_by_side, "TOGETHER", together)
    here, there, file = f"{database.name}.l", f"{database.name}.r", tmp_path / "profile.toml"
    said = f'layout = "{layout}"\n' + ('id = "docId"\n' if layout in OWN else "")
    archive = 'archive = "{}_past"\n' if layout == "archive" else ""
    file.write_text("".join(f'[[collection]]\nns = "{ns}"\n{said}{archive.format(ns)}' for ns in (here, there)))
    rows = {  # the states on both sides; what matches is open
        "A": ((True, 1), (True, 1)),
        "B": ((True, 1), (True, 2)),
        "C": ((True, 1), (False, 1)),  # matches only here
        "D": ((False, 1), (True, 1)),  # matches only there
        "E": ((True, 1), None),
        "F": (None, (True, 1)),
        "G": ((False, 1), (False, 2)),
        "H": ((False, 1), None),
        "I": ((False, 1), (True, 1)),
    }
    with Session.open(server_uri, file, home=tmp_path) as session:
        for ns in (here, there):
            if session.catalogue.layout(ns).missing_index():
                session.catalogue.layout(ns).create_index()
        for id, states in rows.items():
            for ns, state in zip((here, there), states, strict=True):
                if state is not None:
                    content = c.encode({"no": f"N{id}", "open": state[0], "n": state[1]})
                    assert session.writing.create(ns, content, Value.of(id)).kind == "applied"
        changed = "changed" if layout == "plain" else "diverged"
        wanted = {"B": changed, "C": changed, "D": changed, "E": "only here", "F": "only there", "I": changed}
        found = session.beside(here, session, there, filter="{open: true}").compare()
        assert [(each.key.python(), each.change) for each in found] == [*wanted.items()], "in the order of the ids"
        assert (found.same, found.half) == (1, 3)
        by_key = session.beside(here, session, there, "no", "{open: true}").compare()
        assert [(each.key.python(), each.change) for each in by_key] == [(f"N{id}", it) for id, it in wanted.items()]
        assert compared(session, here, there, filter="{n: 9}") == []


def test_a_document_without_the_key_is_looked_up_too(server_uri: str, database: Any, tmp_path: Path) -> None:
    database["l"].insert_many([{"_id": 1, "open": True}, {"_id": 2, "k": 1, "open": True}])
    database["r"].insert_many([{"_id": 3, "open": False}, {"_id": 4, "k": 1.0, "open": False}])
    with Session.open(server_uri, home=tmp_path) as session:
        found = compared(session, f"{database.name}.l", f"{database.name}.r", "k", "{open: true}")
        assert found == [(None, "changed"), (1, "changed")], "1.0 is the same key as 1, as without a filter"
        database["r"].insert_one({"_id": 5, "open": False})
        with pytest.raises(Refused, match=r"\.r has null in k several times"):
            compared(session, f"{database.name}.l", f"{database.name}.r", "k", "{open: true}")


def test_a_history_that_was_trimmed_still_tells() -> None:
    def history(*numbers: int, other: int = 0) -> dict[object, Version]:
        contents = {n: c.encode({"n": n if n != other else 0}) for n in numbers}
        made = (
            Version(Value.of(n), None, None, "document", "present", False, None, None, content=raw)
            for n, raw in contents.items()
        )
        return {each.v.python(): each for each in made if each.v is not None}

    assert standing(history(3, 4, 5), history(1, 2, 3)) == ("ahead", Value.of(3))
    assert standing(history(1, 2), history(4, 5)) == ("diverged", None)
    assert standing(history(1, 2, 3, other=3), history(1, 2, 3, 4)) == ("diverged", Value.of(2))


@pytest.mark.deep
def test_random_collections_against_a_comparison_in_memory(server_uri: str, database: Any, tmp_path: Path) -> None:
    chance = random.Random(45)
    ids: list[Any] = [*range(60), *(f"k{n}" for n in range(40)), *(n / 2 for n in range(1, 40, 2)), None, b"x"]
    left = {c.hash_of(c.encode({"i": id})): {"_id": id, "n": chance.randint(0, 2)} for id in chance.sample(ids, 90)}
    right = {key: {**row, "n": chance.choice([row["n"], 7])} for key, row in left.items() if chance.random() < 0.8}
    right |= {c.hash_of(c.encode({"i": id})): {"_id": id, "n": 1} for id in chance.sample(ids, 30)}
    database["l"].insert_many(left.values())
    database["r"].insert_many(right.values())
    wanted = dict.fromkeys(left.keys() - right.keys(), "only here")
    wanted |= dict.fromkeys(right.keys() - left.keys(), "only there")
    wanted |= {key: "changed" for key in left.keys() & right.keys() if left[key] != right[key]}
    with Session.open(server_uri, home=tmp_path) as session:
        found = session.beside(f"{database.name}.l", session, f"{database.name}.r").compare()
        assert {c.hash_of(c.document([("i", each.key)])): each.change for each in found} == wanted
        assert found.same == len(left.keys() & right.keys()) - sum(what == "changed" for what in wanted.values())


@pytest.mark.deep
def test_memory_does_not_grow_with_the_collections(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in "lr":
        with (folder / f"{name}.bson").open("wb") as file:
            for n in range(40_000):
                file.write(c.encode({"_id": n, "n": n, "odd": name if n % 997 == 0 else "", "text": "x" * 80}))
    with Session.open(folder) as session:
        found = session.beside("shop.l", session, "shop.r").compare()
        coming = iter(found)
        next(coming)
        tracemalloc.start()
        try:
            assert sum(1 for _ in coming) == 40
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert found.same == 40_000 - 41
    assert most < 40 << 20  # two batches and what the driver holds of them, of 10 MB on either side
