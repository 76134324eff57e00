"""One change in many documents, in every layout that can be written: planned, resumed, undone as one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from model import text
from model.errors import Refused
from model.foundation.records import Outcome
from model.layouts.registry import WRITABLE
from model.operations.changing import ChangePlan, in_words
from model.operations.update import written
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.text.paths import path_text
from model.values import canonical as c
from model.values.canonical import Value

PROFILE = '[[collection]]\nns = "{ns}"\nlayout = "{layout}"\n'
OWN = ("versions", "flagged", "deltas")  # a version is a document of its own
QUICK = ("archive", "plain")
LAYOUTS = [pytest.param(name, marks=() if name in QUICK else pytest.mark.deep) for name in WRITABLE if name != "hashed"]
IDS = ("P-1", "P-2", "P-3")
FIRST: dict[str, dict[str, Any]] = {
    "P-1": {"price": {"net": 10}, "open": True, "n": 1},
    "P-2": {"price": {"net": 20, "gross": 24}, "open": True, "n": 2},
    "P-3": {"price": {"net": 30}, "open": False, "n": 3},
}
Scene = tuple[Session, str, Callable[[], None]]
"""A session, its collection, and what a feed would do after a write."""


@pytest.fixture(params=LAYOUTS)
def products(request: pytest.FixtureRequest, server_uri: str, database: Any, tmp_path: Path) -> Iterator[Scene]:
    """Three products, two of which are open; one has a field that the rename of the tests would take."""
    layout, ns, file = str(request.param), f"{database.name}.products", tmp_path / "profile.toml"
    said = PROFILE.format(ns=ns, layout=layout)
    said += 'id = "docId"\n' if layout in OWN else ""
    said += 'removed = "gone"\n' if layout == "deltas" else ""
    file.write_text(said + (f'archive = "{ns}_past"\n' if layout in ("archive", "stream") else ""))

    def feed() -> None:
        if layout == "stream":
            for row in database["products"].find():
                row["docId"] = row.pop("_id")
                database["products_past"].update_one({"docId": row["docId"], "v": row["v"]}, {"$set": row}, True)

    with Session.open(server_uri, file, home=tmp_path) as session:
        if session.catalogue.layout(ns).missing_index():
            session.catalogue.layout(ns).create_index()
        for id, content in FIRST.items():
            assert session.writing.create(ns, c.encode(content), Value.of(id)).kind == "applied"
        feed()
        yield session, ns, feed


def contents(session: Session, ns: str) -> dict[str, Any]:
    return {id: c.decode(session.history.version(ns, Value.of(id)).content or c.EMPTY) for id in IDS}


def planned(session: Session, ns: str, filter: str, update: str, path: Path) -> ChangePlan:
    work = session.changing
    plan = work.listed(ns, filter, written(update))
    work.save(str(path), plan, work.drawn(plan))
    return work.load(str(path), ns)


def ends(outcomes: Iterator[Outcome] | list[Outcome]) -> list[tuple[str, str]]:
    return [(str(each.id.python()) if each.id else "", each.kind) for each in outcomes]


class Killed(BaseException):
    """The end of a process."""


def killed(server: Server, send: Callable[[Server, Write], Reply], ns: str, behind: bool, write: Write) -> Reply:
    """Send a write, unless it is to a collection: the process ends before that, or behind it."""
    if write.ns != ns:
        return send(server, write)
    if behind:
        send(server, write)
    raise Killed


def test_what_matches_is_changed_and_the_run_undone(products: Scene) -> None:
    session, ns, feed = products
    change = written('{$set: {"price.tax": 0.2}, $rename: {"price.net": "price.gross"}, $unset: {n: ""}}')
    plan = session.changing.listed(ns, "{open: true}", change)
    drawn = {str(each.id.python()): each for each in session.changing.drawn(plan)}
    assert {id: each.kind for id, each in drawn.items()} == {"P-1": "applied", "P-2": "refused"}
    assert "price.gross exists already" in drawn["P-2"].detail
    assert {path for path, *_ in drawn["P-1"].values} == {"price.net", "price.gross", "price.tax", "n"}
    assert contents(session, ns) == FIRST, "nothing is written before"
    assert sorted(ends([*session.changing.apply(plan)])) == [("P-1", "applied"), ("P-2", "refused")]
    feed()
    assert contents(session, ns) == {**FIRST, "P-1": {"price": {"gross": 10, "tax": 0.2}, "open": True}}
    again = session.changing.apply(session.changing.listed(ns, "{open: true}", change))
    assert sorted(ends([*again])) == [("P-1", "skipped"), ("P-2", "refused")], "once more it writes nothing"
    assert ends([*session.way_back.undo_run(plan.run)]) == [("P-1", "applied")]
    feed()
    assert contents(session, ns) == FIRST


def test_a_plan_that_was_stopped_is_carried_on_and_counts_once(
    products: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, ns, feed = products
    plan = planned(session, ns, "{}", "{$inc: {n: 10}, $push: {seen: 1}}", tmp_path / "plan")
    done = [outcome for _, outcome in zip(range(1), session.changing.apply(plan), strict=False)]  # then it is killed
    assert [each.kind for each in done] == ["applied"]
    feed()
    for behind in (False, True):
        with monkeypatch.context() as patch:
            patch.setattr(Server, "send", partialmethod(killed, Server.send, ns, behind))
            with pytest.raises(Killed):
                list(session.changing.apply(plan))
        feed()
    rest = sorted(
        kind for _, kind in ends([*session.changing.apply(session.changing.load(str(tmp_path / "plan"), ns))])
    )
    assert rest == ["applied", "skipped", "skipped"]
    feed()
    assert {id: (it["n"], it["seen"]) for id, it in contents(session, ns).items()} == {
        "P-1": (11, [1]),
        "P-2": (12, [1]),
        "P-3": (13, [1]),
    }
    assert {kind for _, kind in ends([*session.changing.apply(plan)])} == {"skipped"}
    assert {kind for _, kind in ends([*session.way_back.undo_run(plan.run)])} == {"applied"}, "all of it is one run"
    feed()
    assert contents(session, ns) == FIRST


def test_what_moves_meanwhile_is_told_and_left_alone(products: Scene, tmp_path: Path) -> None:
    session, ns, feed = products
    kept = planned(session, ns, "{open: true}", '{$set: {open: false, why: "sold"}}', tmp_path / "plan")
    listed = session.changing.listed(ns, "{open: true}", written('{$set: {open: false, why: "sold"}}'))
    assert session.edit(ns, "P-1", set={"open": False}).kind == "applied"
    assert session.edit(ns, "P-3", set={"open": True}).kind == "applied"
    feed()
    before = contents(session, ns)
    first = next(session.changing.drawn(listed))
    assert (first.kind, first.detail) == ("skipped", "P-1 does not match the filter any more.")
    assert session.changing.missed(kept) == ["1 document that matches the filter now came after the plan, such as P-3."]
    assert ends([*session.changing.apply(kept)]) == [("P-1", "conflict"), ("P-2", "applied")]
    feed()
    assert contents(session, ns) == {**before, "P-2": {**before["P-2"], "open": False, "why": "sold"}}


# --- the change of one content


@pytest.mark.parametrize(
    ("update", "before", "said"),
    [
        ('{$set: {"l.$[].q": 9}}', '{"l": [{"p": 1, "q": 2}]}', "l[0].q: 2 → 9."),
        ("{$pull: {t: 'a'}, $set: {n: 1}}", '{"t": ["a", "b"]}', 't[0]: "a" → taken out; n: missing → 1.'),
        ("{$set: {t: ['b', 'a']}}", '{"t": ["a", "b"]}', 't[0] moved to t[1]; it is "a".'),
        ("{$set: {a: {y: 1, x: 1}}}", '{"a": {"x": 1, "y": 1}}', "The fields of a stand in another order: y, x."),
        (
            f"{{$set: {{s: '{'a' * 900}c'}}}}",
            f'{{"s": "{"a" * 900}b"}}',
            'The text of s changed in 1 place: "b" became "c".',
        ),
    ],
)
def test_a_dry_run_says_what_differs_where_values_look_alike(update: str, before: str, said: str) -> None:
    content = text.from_text(before)
    assert in_words(content, written(update).of(content)) == said


@pytest.mark.parametrize(
    ("update", "before", "after"),
    [
        ('{"$set": {"a.b": 1, "c": 2}}', '{"a": {"x": 0}}', '{"a": {"x": 0, "b": 1}, "c": 2}'),
        ('{"$set": {"a.1": 9}}', '{"a": [1, 2]}', '{"a": [1, 9]}'),
        ('{"$rename": {"a.b": "c"}}', '{"a": {"b": 1}, "d": 2}', '{"a": {}, "d": 2, "c": 1}'),
        ('{"$rename": {"a": "b"}}', '{"d": 2}', '{"d": 2}'),
        ('{"$inc": {"n": NumberLong(2)}}', '{"n": {"$numberLong": "40"}}', '{"n": {"$numberLong": "42"}}'),
        ('{"$mul": {"n": 3}, "$max": {"m": 7}}', '{"n": 2, "m": 5}', '{"n": 6, "m": 7}'),
        ('{"$pull": {"t": "a"}, "$addToSet": {"u": 1}}', '{"t": ["a", "b"], "u": [1]}', '{"t": ["b"], "u": [1]}'),
        ('{"$set": {"l.$[].x": 1}}', '{"l": [{"x": 0}, {}]}', '{"l": [{"x": 1}, {"x": 1}]}'),
    ],
)
def test_an_update_is_applied_as_a_server_would(update: str, before: str, after: str) -> None:
    assert written(update).of(text.from_text(before)) == text.from_text(after)


@pytest.mark.parametrize(
    ("update", "why"),
    [
        ("[]", "pipeline"),
        ("{a: 1}", "a is no operator"),
        ("{$setOnInsert: {a: 1}}", "nothing is inserted"),
        ("{$currentDate: {a: true}}", "another time"),
        ("{$set: {}}", "names the fields"),
        ("{$what: {a: 1}}", "taken are"),
        ('{$set: {"l.$.x": 1}}', "by a condition"),
        ('{$set: {"l.$[e].x": 1}}', "by a condition"),
        ("{$rename: {a: 1}}", "what a is called"),
        ("{$inc: {a: 'x'}}", "non-numeric"),
        ("{}", "Nothing to change"),
    ],
)
def test_what_is_not_taken_is_refused_in_one_sentence(update: str, why: str) -> None:
    with pytest.raises(Refused, match=why) as caught:
        written(update)
    assert str(caught.value).count(". ") == 0


@pytest.mark.parametrize(
    ("update", "content", "why"),
    [
        ("{$rename: {a: 'b'}}", '{"a": 1, "b": 2}', "b exists already, so a cannot take its name."),
        ('{$set: {"l.$[].x": 1}}', '{"l": {"x": 0}}', "Cannot apply array updates to non-array element l"),
        ('{$unset: {"l.$[].x": 1}}', '{"l": 5}', "Cannot apply array updates to non-array element l"),
        ("{$rename: {'l.a': 'b'}}", '{"l": [{"a": 1}]}', "l is a list, and a rename"),
        ("{$inc: {a: 1}}", '{"a": "x"}', "non-numeric type"),
        ("{$set: {'a.b': 1}}", '{"a": 1}', "Cannot create field"),
    ],
)
def test_a_document_that_cannot_take_the_change_says_why(update: str, content: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        written(update).of(text.from_text(content))


def test_a_change_names_no_field_of_the_layout_and_no_place_twice() -> None:
    change = written('{"$set": {"a.b": 1}, "$inc": {"c.2": 1}}')
    assert [path_text(path) for path in change.paths] == ["a.b", "c[2]"]
    with pytest.raises(Refused, match="kept by the layout"):
        written('{"$rename": {"x": "v"}}').check(["v"])
    with pytest.raises(Refused, match="one place twice"):
        written('{"$set": {"a": 1}, "$unset": {"a.b": ""}}').check([])
