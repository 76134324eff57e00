"""Earlier versions removed by a rule, in every layout that keeps whole ones: previewed, resumed, undone as one run."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from model.errors import Refused
from model.foundation.findings import Finding
from model.foundation.records import Outcome, Version
from model.operations.retaining import Rule
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value

PROFILE = '[[collection]]\nns = "{ns}"\nlayout = "{layout}"\n'
OWN = ("versions", "flagged", "deltas")  # a version is a document of its own
QUICK = ("archive", "deltas")
WHOLE = ("archive", "deltas", "embedded", "flagged", "nested", "stream", "versions")
IDS = tuple(f"P-{n}" for n in range(1, 8))
Scene = tuple[Session, str, Callable[[], None]]


def scene(
    layout: str, server_uri: str, database: Any, tmp_path: Path, more: str = 'after_gap = "whole"\n'
) -> Iterator[Scene]:
    """Seven products with four versions each; n is the version, and P-7 is on hold."""
    ns, file = f"{database.name}.products", tmp_path / "profile.toml"
    said = PROFILE.format(ns=ns, layout=layout) + ('id = "docId"\n' if layout in OWN else "")
    said += 'removed = "gone"\n' + more if layout == "deltas" else ""
    file.write_text(said + (f'archive = "{ns}_past"\n' if layout in ("archive", "stream") else ""))

    def feed() -> None:
        if layout == "stream":
            for row in database["products"].find():
                row["docId"] = row.pop("_id")
                database["products_past"].update_one({"docId": row["docId"], "v": row["v"]}, {"$set": row}, True)

    with Session.open(server_uri, file, home=tmp_path) as session:
        if session.catalogue.layout(ns).missing_index():
            session.catalogue.layout(ns).create_index()
        for id in IDS:
            first = {"n": 1, "name": id, "held": id == "P-7"}
            assert session.writing.create(ns, c.encode(first), Value.of(id)).kind == "applied"
            feed()
            for n in (2, 3, 4):
                assert session.edit(ns, id, set={"n": n}).kind == "applied"
                feed()
        yield session, ns, feed


@pytest.fixture(params=[pytest.param(each, marks=() if each in QUICK else pytest.mark.deep) for each in WHOLE])
def products(request: pytest.FixtureRequest, server_uri: str, database: Any, tmp_path: Path) -> Iterator[Scene]:
    yield from scene(str(request.param), server_uri, database, tmp_path)


def there(session: Session, ns: str) -> dict[str, list[int]]:
    """The field n of each stored version, newest first."""
    found = {}
    for id in IDS:
        versions = session.catalogue.layout(ns).history(Value.of(id), contents="all")
        found[id] = [c.decode(each.content)["n"] for each in versions if each.content is not None]
    return found


def ends(outcomes: Iterator[Outcome]) -> list[str]:
    return [each.kind for each in outcomes]


ALL_OF_IT = {id: [4, 3, 2, 1] for id in IDS}
THINNED = {**ALL_OF_IT, **{id: [4, 3] for id in IDS[:6]}}


def test_the_newest_stay_and_the_run_is_undone(products: Scene, tmp_path: Path) -> None:
    session, ns, feed = products
    work = session.retaining
    plan = work.listed(ns, Rule(keep=2, hold="{held: true}"))
    drawn = list(work.drawn(plan))
    assert [each.kind for each in drawn] == ["applied"] * 6 + ["skipped"]
    assert all(each.bytes > 0 for each in drawn[:6])
    assert there(session, ns) == ALL_OF_IT, "nothing is written before"
    work.save(str(tmp_path / "plan"), plan, drawn)
    assert session.edit(ns, "P-1", set={"name": "other"}).kind == "applied"
    feed()
    kept = work.load(str(tmp_path / "plan"), ns)
    assert ends(iter(work.apply(kept))) == ["applied"] * 6
    assert there(session, ns) == {**THINNED, "P-1": [4, 4, 3]}, "what became old since the plan is not its business"
    again = list(work.apply(kept))
    assert [each.kind for each in again] == ["skipped"] * 6, "once more it writes nothing, and says so of each"
    assert again[0].detail == "P-1 has none of these versions any more."
    scanned = [each for each in session.scans.scan([ns]) if isinstance(each, Finding)]
    assert {each.doubt for each in scanned} == {""}, "beginnings that lack are no doubt"
    assert sum("missing" in each.detail for each in scanned) == 6, [each.detail for each in scanned]
    assert session.edit(ns, "P-2", set={"n": 5}).kind == "applied", "the documents stay editable"
    feed()
    back = ends(session.way_back.undo_run(kept.run))
    inside = session.catalogue.layout(ns).name in ("embedded", "nested")
    assert back.count("conflict") == (1 if inside else 0), "an array that has grown since is left as it is"
    assert there(session, ns) == {
        **ALL_OF_IT, "P-1": [4, 4, 3, 2, 1], "P-2": [5, 4, 3] if inside else [5, 4, 3, 2, 1]
    }  # fmt: skip


class Killed(BaseException):
    """The end of a process."""


class Countdown:
    """Kills at one write, before it is sent or behind it."""

    def __init__(self, at: int, behind: bool) -> None:
        self.left, self.behind = at, behind

    def send(self, server: Server, send: Callable[[Server, Write], Reply], write: Write) -> Reply:
        self.left -= 1
        if self.left >= 0:
            return send(server, write)
        if self.behind:
            send(server, write)
        raise Killed


@pytest.mark.deep
@pytest.mark.parametrize("behind", [False, True])
def test_killed_at_every_write_it_is_carried_on(
    products: Scene, behind: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, ns, _ = products
    work, real = session.retaining, Server.send
    plan = work.listed(ns, Rule(keep=2, hold="{held: true}"))
    for _ in range(60):
        count = Countdown(1, behind)
        with monkeypatch.context() as patch:
            patch.setattr(Server, "send", partialmethod(lambda self, write, c=count: c.send(self, real, write)))
            try:
                ended = ends(iter(work.apply(plan)))
                break
            except Killed:
                pass
    assert set(ended) <= {"applied", "skipped"}
    assert there(session, ns) == THINNED
    assert set(ends(session.way_back.undo_run(plan.run))) <= {"applied", "skipped"}
    assert there(session, ns) == ALL_OF_IT


def test_a_version_alone_goes_and_its_neighbour_is_named(products: Scene) -> None:
    session, ns, _ = products
    if session.catalogue.layout(ns).holds_changes:
        v = session.catalogue.reading.find_version(ns, Value.of("P-1"), "2")
        (drawn,) = session.retaining.drawn(session.retaining.listed(ns, Rule(only=v), Value.of("P-1")))
        assert drawn.detail == "v2 of P-1 stays: it holds only changes, and older versions stay."
        return
    v = session.catalogue.reading.find_version(ns, Value.of("P-1"), "2")
    plan = session.retaining.listed(ns, Rule(only=v), Value.of("P-1"))
    (drawn,) = session.retaining.drawn(plan)
    assert drawn.detail == "P-1 loses v2; what it changed (n) is then shown as a change of v3."
    assert ends(iter(session.retaining.apply(plan))) == ["applied"]
    assert there(session, ns) == {**ALL_OF_IT, "P-1": [4, 3, 1]}
    for only, why in (("4", "the current one"), ("3", "a hold names it")):
        v = session.catalogue.reading.find_version(ns, Value.of("P-1"), only)
        (drawn,) = session.retaining.drawn(session.retaining.listed(ns, Rule(only=v, hold="{n: 3}"), Value.of("P-1")))
        assert (drawn.kind, why in drawn.detail) == ("refused", True)


@pytest.mark.parametrize(("layout", "why"), [("deltas", 'state after_gap = "whole"'), ("plain", "no earlier versions")])
def test_versions_that_prove_others_are_never_removed(
    layout: str, why: str, server_uri: str, database: Any, tmp_path: Path
) -> None:
    for session, ns, _ in scene(layout, server_uri, database, tmp_path, more=""):
        with pytest.raises(Refused, match=why):
            session.retaining.listed(ns, Rule(keep=1))


# --- versions that hold changes


@pytest.fixture
def deltas(server_uri: str, database: Any, tmp_path: Path) -> Iterator[Scene]:
    yield from scene("deltas", server_uri, database, tmp_path)


def states(session: Session, ns: str, id: str) -> dict[Any, tuple[bytes | None, str]]:
    versions = session.catalogue.layout(ns).history(Value.of(id), contents="all")
    return {
        (each.v.python() if each.v else None): (each.content, each.state)
        for each in versions
        if each.state != "missing"
    }


def folded(database: Any, id: str) -> dict[str, Any]:
    """What a program of the team reads: the fields of all versions, the highest one's last."""
    state: dict[str, Any] = {}
    for row in database["products"].find({"docId": id}).sort("v", 1):
        for name in row.get("gone", ()):
            state.pop(name, None)
        state |= {name: value for name, value in row.items() if name not in ("_id", "docId", "v", "gone")}
    return state


def test_the_oldest_change_left_is_stored_whole_before_those_it_needs_go(deltas: Scene, database: Any) -> None:
    session, ns, _ = deltas
    assert session.edit(ns, "P-1", set={"added": 1}, unset=["name"]).kind == "applied"
    assert session.edit(ns, "P-1", set={"name": "again"}).kind == "applied"
    assert session.edit(ns, "P-1", unset=["added"]).kind == "applied"
    before, raws, team = states(session, ns, "P-1"), [*database["products"].find()], folded(database, "P-1")
    plan = session.retaining.listed(ns, Rule(keep=2), Value.of("P-1"))
    (drawn,) = session.retaining.drawn(plan)
    assert drawn.detail == "P-1 loses 5 versions from v1 to v5; v6, the oldest one left, is stored whole first."
    assert ends(iter(session.retaining.apply(plan))) == ["applied"]
    now = states(session, ns, "P-1")
    assert list(now) == [7, 6]
    assert now.items() <= before.items(), "content and proof are what they were"
    assert [*folded(database, "P-1").items()] == [*team.items()], "who folds reads the same, in the same order"
    stored = database["products"].find_one({"docId": "P-1", "v": 6})
    assert set(stored) - {"gone"} == {"_id", "docId", "v", "n", "held", "added", "name"}, "no field of ours"
    assert session.edit(ns, "P-1", set={"n": 9}).kind == "applied"
    assert {each.kind for each in session.way_back.undo_run(plan.run)} == {"applied"}
    assert sorted(map(str, database["products"].find({"v": {"$lt": 8}}))) == sorted(map(str, raws)), "as it was"


def test_a_plan_removes_none_above_one_that_changed_since(deltas: Scene, database: Any, tmp_path: Path) -> None:
    session, ns, _ = deltas
    work = session.retaining
    plan = work.listed(ns, Rule(keep=2), Value.of("P-1"))
    work.save(str(tmp_path / "plan"), plan, work.drawn(plan))
    database["products"].update_one({"docId": "P-1", "v": 1}, {"$set": {"name": "corrected"}})
    (outcome,) = work.apply(work.load(str(tmp_path / "plan"), ns))
    assert (outcome.kind, outcome.detail) == ("skipped", "P-1 keeps v2, as older versions stay.")
    assert database["products"].count_documents({"docId": "P-1"}) == 4


def test_a_lost_change_is_no_checkpoint(deltas: Scene, database: Any) -> None:
    session, ns, _ = deltas
    database["products"].delete_one({"docId": "P-2", "v": 3})
    found = states(session, ns, "P-2")
    assert [state for _, state in found.values()] == ["unproven", "present", "present"]
    (drawn,) = session.retaining.drawn(session.retaining.listed(ns, Rule(keep=1), Value.of("P-2")))
    assert (drawn.kind, drawn.detail) == ("refused", "P-2: v4 is unproven, so it cannot be stored whole.")


def test_a_hash_proves_a_checkpoint_without_a_statement(server_uri: str, database: Any, tmp_path: Path) -> None:
    recipe = 'hash = "sha"\nhash_recipe = { algorithm = "sha1", over = "bson", keys = "stored", encoding = "hex" }\n'
    rows = ({"a": 1, "b": 1}, {"a": 2}, {"b": 2})
    state: dict[str, Any] = {}
    for v, row in enumerate(rows, 1):
        state |= row
        sealed = hashlib.sha1(c.encode(state), usedforsecurity=False).hexdigest()
        database["products"].insert_one({"docId": "P-1", "v": v, **row, "sha": sealed})
    database["products"].create_index([("docId", 1), ("v", 1)], unique=True)
    ns, file = f"{database.name}.products", tmp_path / "profile.toml"
    file.write_text(PROFILE.format(ns=ns, layout="deltas") + 'id = "docId"\n' + recipe)
    with Session.open(server_uri, file, home=tmp_path) as session:
        before = states(session, ns, "P-1")
        plan = session.retaining.listed(ns, Rule(keep=2))
        assert ends(iter(session.retaining.apply(plan))) == ["applied"]
        now = states(session, ns, "P-1")
        assert list(now) == [3, 2]
        assert now.items() <= before.items()
        assert {state for _, state in now.values()} == {"present"}
        database["products"].update_one({"v": 2}, {"$unset": {"b": 1}})
        assert {state for _, state in states(session, ns, "P-1").values()} != {"present"}, "one that does not fit"


# --- rules


def versions(*days: float | None) -> list[Version]:
    """Versions of some days before now, newest first; None: without a time."""
    now = dt.datetime(2026, 5, 31, 12, tzinfo=dt.UTC)
    return [
        Version(
            Value.of(len(days) - at), None if day is None else now - dt.timedelta(days=day), None, "document",
            "present", at == 0, None, 0,
        )
        for at, day in enumerate(days)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "stay"),
    [
        (Rule(keep=1), {0}),
        (Rule(keep=3), {0, 1, 2}),
        (Rule(younger=dt.timedelta(days=2)), {0, 1, 6}),
        (Rule(keep=1, daily=True), {0, 2, 4, 5}),
        (Rule(keep=2, daily=True, younger=dt.timedelta(days=2)), {0, 1, 2, 4, 5, 6}),
        (Rule(only=Value.of(3)), {0, 1, 2, 3, 5, 6}),
    ],
)
def test_a_rule_says_what_stays(rule: Rule, stay: set[int]) -> None:
    found = versions(0, 0.1, 2, 2.1, 3, 40, None)
    now = dt.datetime(2026, 5, 31, 12, tzinfo=dt.UTC)
    assert rule.kept(found, now) - ({6} if rule.only is None else set()) == stay - ({6} if rule.only is None else set())
