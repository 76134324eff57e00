"""Some fields of a change are taken back, in every layout that can be written, and what came later stays."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from bson import ObjectId

from model import text
from model.foundation.records import Version
from model.layouts.registry import WRITABLE
from model.operations.change_parts import later_stamps, only_at, without_stamps
from model.operations.taking_back import Chosen
from model.over_time.activity import changed_paths
from model.session import Session
from model.text.paths import path_from_text, path_text
from model.values import canonical as c
from model.values.canonical import Value

PROFILE = '[[collection]]\nns = "{ns}"\n{named} = "{name}"\n'
OWN = ("versions", "flagged", "deltas")  # a version is a document of its own
VERSIONED = [name for name, each in WRITABLE.items() if name not in ("plain", "hashed")]
ID = Value.of("P-1")


@pytest.fixture(params=[*VERSIONED, "vermongo"])
def product(request: pytest.FixtureRequest, server_uri: str, database: Any, tmp_path: Path) -> Iterator[Any]:
    """A session over a product whose price and unit were changed, then its stock, unit and time."""
    layout, ns, file = str(request.param), f"{database.name}.products", tmp_path / "profile.toml"
    said = PROFILE.format(ns=ns, named="layout" if layout in VERSIONED else "writer", name=layout)
    said += 'id = "docId"\n' if layout in OWN else ""
    said += 'removed = "gone"\n' if layout == "deltas" else ""
    file.write_text(said + (f'archive = "{ns}_past"\n' if layout in ("archive", "stream", "vermongo") else ""))
    with Session.open(server_uri, file, home=tmp_path) as session:
        first = {"price": {"net": 10, "unit": "EUR"}, "stock": 3, "updatedAt": 1, "lines": [{"_id": 1, "n": 1}]}
        if session.catalogue.layout(ns).missing_index():
            session.catalogue.layout(ns).create_index()
        if layout == "vermongo":  # its programs create their documents
            database["products"].insert_one({"_id": "P-1", "_version": 1, **first})
        else:
            assert session.writing.create(ns, c.encode(first), ID).kind == "applied"
        kept(session, ns, database)
        for changes in (
            {"price.net": 12, "price.unit": "USD", "updatedAt": 2, "lines": [{"_id": 2, "n": 5}, {"_id": 1, "n": 7}]},
            {"stock": 9, "price.unit": "CHF", "updatedAt": 3},
        ):
            assert session.edit(ns, "P-1", set=changes).kind == "applied"
            kept(session, ns, database)
        yield session, ns


def kept(session: Session, ns: str, database: Any) -> None:
    """Put the current version into the archive, if a feed would."""
    if session.catalogue.layout(ns).name == "stream":
        row = database["products"].find_one({"_id": "P-1"})
        database["products_past"].insert_one({"docId": row.pop("_id"), **row})


def now(session: Session, ns: str) -> dict[str, Any]:
    return c.decode(session.history.version(ns, ID).content or c.EMPTY)


def taken(session: Session, ns: str, *paths: str, of: int = 1) -> Chosen:
    """The version that is ``of`` before the newest, limited to some fields."""
    versions = [each for each in session.history.versions(ns, ID) if each.v is not None]
    assert versions[of].v is not None
    return Chosen(ID, (versions[of].v,), paths=tuple(map(path_from_text, paths)))


def test_one_field_of_a_change_goes_back_and_the_run_is_undone(product: tuple[Session, str], database: Any) -> None:
    session, ns = product
    before = now(session, ns)
    (whole,) = session.taking_back.drawn(ns, [taken(session, ns)])
    assert (whole.kind, "price.unit" in whole.detail) == ("conflict", True)
    chosen = taken(session, ns, "price.net", "lines.n")
    run = session.taking_back.apply(ns, [chosen])
    assert [each.kind for each in run] == ["applied"]
    lines = [{"_id": 2}, {"_id": 1, "n": 1}]
    assert now(session, ns) == {**before, "price": {"net": 10, "unit": "CHF"}, "lines": lines}
    kept(session, ns, database)
    assert [each.kind for each in session.taking_back.apply(ns, [taken(session, ns, "stock", of=0)])] == ["skipped"]
    assert [each.kind for each in session.way_back.undo_run(run.id)] == ["applied"]
    assert now(session, ns) == before


def test_a_conflict_in_one_field_is_decided_without_the_others(product: tuple[Session, str]) -> None:
    session, ns = product
    (drawn,) = session.taking_back.drawn(ns, [taken(session, ns, "price.unit")])
    assert drawn.kind == "conflict"
    conflict = session.taking_back.conflict(ns, drawn)
    assert conflict.merge is not None
    assert [each.path for each in conflict.merge.conflicts] == [("price", "unit")]
    assert [*changed_paths(conflict.base.content or c.EMPTY, conflict.mine)] == [("price", "unit")]


# --- the parts of a change


@pytest.mark.parametrize(
    ("before", "after", "paths", "expected"),
    [
        ('{"a": 1, "b": 2}', '{"a": 3, "b": 4}', ["a"], '{"a": 1, "b": 4}'),
        ('{"a": {"x": 1}}', '{"a": {"x": 2, "y": 3}, "b": 1}', ["a.y", "b"], '{"a": {"x": 2}}'),
        ('{"a": {"x": 1}, "b": 1}', '{"b": 2}', ["a.x"], '{"b": 2, "a": {"x": 1}}'),
        ('{"a": 1}', '{"a": 2}', ["b"], '{"a": 2}'),
        ('{"a": [{"n": 1}]}', '{"a": [{"n": 2}, {"n": 3, "m": 4}]}', ["a.n"], '{"a": [{"n": 1}, {"m": 4}]}'),
        ('{"a": [1, 2]}', '{"a": [1, 3, 4]}', ["a[1]"], '{"a": [1, 2, 4]}'),
        ('{"a": [{"_id": 7, "n": 1}]}', '{"a": [{"_id": 8, "n": 9}, {"_id": 7, "n": 2}]}', ["a[1].n"],
         '{"a": [{"_id": 8, "n": 9}, {"_id": 7, "n": 1}]}'),
        ('{"a": {"0": 1}}', '{"a": {"0": 2}}', ["a.0"], '{"a": {"0": 1}}'),
    ],
)  # fmt: skip
def test_only_named_fields_have_the_values_before(before: str, after: str, paths: Sequence[str], expected: str) -> None:
    a, b, wanted = map(text.from_text, (before, after, expected))
    assert only_at(map(path_from_text, paths), a, b, ["_id"]) == wanted


def stamps(*contents: dict[str, Any]) -> list[str]:
    """The stamps of the second of some contents, the last of which is current."""
    raws = [c.encode(each) for each in contents]
    versions = [
        Version(Value.of(v), None, None, "document", "present", False, None, len(raw), content=raw)
        for v, raw in enumerate(raws, 1)
    ]
    return [path_text(path) for path in later_stamps(lambda: versions[::-1], raws[0], raws[1], raws[-1])]


def test_a_stamp_has_its_name_and_is_set_by_most_versions() -> None:
    on = [dt.datetime(2026, 3, day, tzinfo=dt.UTC) for day in range(1, 9)]
    assert stamps(*({"n": n, "updatedAt": on[n], "by": {"modifiedBy": f"p{n}"}} for n in range(3))) == [
        "updatedAt",
        "by.modifiedBy",
    ]
    assert stamps(*({"n": n, "rev": n, "edition": n, "token": ObjectId()} for n in range(3))) == ["rev", "token"]
    visited = ({"n": n, "updated": on[min(n, 1)] if n < 4 else on[5]} for n in range(5))
    assert stamps(*visited) == [], "two of four versions set it: it may be about something else"
    assert stamps({"n": 1, "at": on[1]}, {"n": 2, "at": on[2]}, {"n": 3, "at": on[3]}) == [], "an appointment's time"
    assert stamps({"n": 1, "updatedAt": on[1]}, {"n": 2, "updatedAt": on[2]}, {"n": 3, "updatedAt": on[2]}) == []


def test_a_change_without_its_stamps_leaves_them_as_they_are() -> None:
    now = c.encode({"n": 3, "updatedAt": 3, "by": "cy"})
    before, after = c.encode({"n": 1, "by": "ann"}), c.encode({"n": 2, "updatedAt": 2, "by": "ben"})
    parts = without_stamps(before, after, [("updatedAt",), ("by",)], now)
    assert [c.decode(each) for each in parts] == [{"n": 1, "by": "cy"}, {"n": 2, "by": "cy"}]
