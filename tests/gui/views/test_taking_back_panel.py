"""Changes taken back in the window: the plan, its dry run, the writes, and what a person must decide."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.messages import MessageArea, Question, area
from gui.parts.differences import diff_grouping
from gui.views.repair.plan_kind import CHANGING
from gui.views.repair.taking_back_panel import TakingBackPanel
from model.errors import Unreachable
from model.foundation.records import Outcome
from model.localserver import LocalServer
from model.operations.taking_back import Chosen, TakenBack, TakingBack
from model.session import Session
from model.session.way_back import WayBack
from model.values.canonical import Value
from model.writing.edit import Conflict
from tests.gui.activity_scenes import imported, newest
from tests.gui.field_support import open_paths
from tests.gui.refusals import denied, try_again

NS = "shop.orders"
Database = pymongo.database.Database[dict[str, Any]]
SECOND = tuple(Chosen(Value.of(id), (Value.of(2),)) for id in "ABCD")
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as made:
        yield made


@pytest.fixture
def database(server: LocalServer, tmp_path: Path) -> Iterator[Database]:
    client: pymongo.MongoClient[dict[str, Any]]
    with pymongo.MongoClient(server.uri) as client:
        imported(client["shop"], tmp_path)
        yield client["shop"]


@pytest.fixture
def session(server: LocalServer, database: Database, tmp_path: Path) -> Iterator[Session]:
    with Session.open(server.uri, tmp_path / "profile.toml", home=tmp_path) as made:
        yield made


def shown(qtbot: QtBot, session: Session, production: bool = False) -> TakingBackPanel:
    panel = TakingBackPanel(session, NS, SECOND, production)
    qtbot.addWidget(panel)
    panel.resize(1200, 800)
    panel.show()
    idle(qtbot)
    return panel


def idle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not tasks.tasks.running)


def said(panel: TakingBackPanel) -> dict[str, tuple[str, bool]]:
    """What stands at each document, and whether it is ticked."""
    model = panel.model
    return {str(row.id.python()): (model.said(row)[2], model.is_ticked(row)) for row in model.rows}


def test_the_plan_ticks_what_can_be_taken_back_and_says_why_not_of_the_rest(
    qtbot: QtBot, session: Session, database: Database
) -> None:
    before = newest(database)
    panel = shown(qtbot, session)
    assert said(panel) == {
        "A": ("Can be taken back", True),
        "B": ("Changed later: decide by hand", False),
        "C": ("Nothing to take back", False),
        "D": ("Can be taken back", True),
    }
    assert panel.report.text().split("     ") == [
        "2 would be written", "1 wait for a decision", "1 with nothing left to take back"
    ]  # fmt: skip
    panel.list.setCurrentIndex(panel.model.index(1, 1))
    assert panel.decide.isVisible()
    assert "changed later in total" in panel.detail.accessibleName()
    assert newest(database) == before


def test_what_is_ticked_is_written_as_one_run_with_its_reason_and_one_undo(
    qtbot: QtBot, session: Session, database: Database
) -> None:
    before = newest(database)
    panel = shown(qtbot, session)
    panel.list.setFocus()
    panel.list.setCurrentIndex(panel.model.index(3, 1))
    QTest.keyClick(panel.list, Qt.Key.Key_Space)
    assert panel.go.text() == "Take back in 1 document"
    QTest.keyClicks(panel.reason, "a wrong file")
    QTest.mouseClick(panel.go, LEFT)
    idle(qtbot)
    now = newest(database)
    assert now == {**before, "A": {"v": 4, "total": 1, "city": "Ulm"}}
    assert database["orders"].find_one({"docId": "A", "v": 4}, {"why": 1, "_id": 0}) == {"why": "a wrong file"}
    assert (said(panel)["A"][0], panel.run.startswith("run-")) == ("Taken back", True)
    (line,) = panel.window().findChild(MessageArea).lines
    assert line.text == "Taken back in 1 document"
    QTest.mouseClick(line.buttons[0], LEFT)
    idle(qtbot)
    assert {**newest(database)["A"], "v": 3} == before["A"]


def test_one_change_in_many_is_typed_tried_written_and_undone(
    qtbot: QtBot, session: Session, database: Database
) -> None:
    before = newest(database)
    panel = TakingBackPanel(session, NS, tuple(Chosen(Value.of(id), ()) for id in "ABC"), kind=CHANGING)
    qtbot.addWidget(panel)
    panel.show()
    idle(qtbot)
    assert (panel.go.isEnabled(), said(panel)["A"]) == (False, ("", False)), "nothing is tried before it is typed"
    panel.fields.setText("{ $what: 1 }")
    panel.fields.editingFinished.emit()
    assert panel.trouble.text().startswith("$what is not taken here")
    total = {id: row["total"] for id, row in before.items()}
    panel.fields.setText(f"{{ paid: true, total: {total['B']} }}")
    panel.fields.editingFinished.emit()
    idle(qtbot)
    assert said(panel) == dict.fromkeys("ABC", ("Would be changed", True))
    assert panel.changes.rowCount() > 0
    assert session.edit(NS, "C", set={"city": "Ulm"}).kind == "applied"
    moved = newest(database)
    QTest.mouseClick(panel.go, LEFT)
    idle(qtbot)
    now = newest(database)
    assert {id: (now[id].get("paid"), now[id]["total"]) for id in "AB"} == dict.fromkeys("AB", (True, total["B"]))
    assert (now["C"], said(panel)["C"][0]) == (moved["C"], "Changed meanwhile")
    (line,) = panel.window().findChild(MessageArea).lines
    assert line.text == "Changed 2 documents"
    QTest.mouseClick(line.buttons[0], LEFT)
    idle(qtbot)
    assert {id: {**newest(database)[id], "v": 0} for id in "AB"} == {id: {**before[id], "v": 0} for id in "AB"}


def test_what_rules_and_unique_indexes_would_reject_is_told_before_anything_is_written(
    qtbot: QtBot, session: Session, database: Database
) -> None:
    people = database["people"]
    people.insert_many([{"_id": id, "age": age} for id, age in (("A", 30), ("B", 40), ("C", 50))])
    people.create_index("email", unique=True, sparse=True)
    database.command("collMod", "people", validator={"age": {"$lt": 100}})
    before = [*people.find()]
    panel = TakingBackPanel(session, "shop.people", tuple(Chosen(Value.of(id), ()) for id in "ABC"), kind=CHANGING)
    qtbot.addWidget(panel)
    panel.show()
    panel.fields.setText('{ $set: { email: "a@example.org" }, $inc: { age: 55 } }')
    panel.fields.editingFinished.emit()
    idle(qtbot)
    no = ("Cannot be changed", False)
    assert said(panel) == {"A": ("Would be changed", True), "B": no, "C": no}
    assert panel.report.text().split("     ") == ["1 would be written", "2 cannot be changed"]
    reasons = {}
    for at, id in enumerate("ABC"):
        panel.list.setCurrentIndex(panel.model.index(at, 1))
        reasons[id] = panel.detail.accessibleName()
    assert reasons == {
        "A": "",
        "B": 'A is given email "a@example.org" by this plan too, and the unique index email_1 lets no other '
        "document have it; choose another value.",
        "C": "The collection has rules for its documents, and this one does not meet them.",
    }
    assert [*people.find()] == before, "nothing is written by looking"
    QTest.mouseClick(panel.go, LEFT)
    idle(qtbot)
    assert [*people.find()] == [{**before[0], "age": 85, "email": "a@example.org"}, *before[1:]]


def test_a_document_that_moved_on_since_the_dry_run_is_left_alone(
    qtbot: QtBot, session: Session, database: Database
) -> None:
    panel = shown(qtbot, session)
    assert session.edit(NS, "A", set={"city": "Köln"}).kind == "applied"
    before = newest(database)
    QTest.mouseClick(panel.go, LEFT)
    idle(qtbot)
    assert newest(database)["A"] == before["A"]
    assert said(panel)["A"][0] == "Changed meanwhile"
    assert newest(database)["D"] == {"v": 3, "total": 7}


def test_a_document_that_was_written_is_tried_again(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    assert session.edit(NS, "A", set={"total": 77}).kind == "applied"
    panel.follow({Value.of("A")})
    idle(qtbot)
    assert said(panel)["A"] == ("Changed later: decide by hand", False)


def test_a_later_edit_in_the_way_is_a_conflict_for_a_person(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    found: list[tuple[Value, Conflict]] = []
    panel.conflict_found.connect(lambda id, conflict: found.append((id, conflict)))
    panel.list.setCurrentIndex(panel.model.index(1, 1))
    assert panel.which.text() == "B"
    assert panel.detail._whole.startswith("was changed later in total;")
    QTest.mouseClick(panel.decide, LEFT)
    qtbot.waitUntil(lambda: bool(found))
    ((id, conflict),) = found
    assert (id, open_paths(conflict)) == (Value.of("B"), [("total",)])
    assert conflict.theirs is not None
    assert (conflict.base.v, conflict.theirs.v) == (Value.of(2), Value.of(3))


def test_a_field_that_all_documents_have_is_named_before_it_goes(
    qtbot: QtBot, session: Session, database: Database
) -> None:
    panel = shown(qtbot, session)
    panel.list.setCurrentIndex(panel.model.index(3, 1))
    assert "It leaves city empty, which each of the 4 documents looked at has." in panel.detail.accessibleName()
    badges = panel.model.cell(panel.model.index(3, 3)).badges
    assert [badge.text for badge in badges] == ["empties a field"]


def test_read_only_and_production_are_minded(qtbot: QtBot, session: Session, database: Database) -> None:
    before = newest(database)
    panel = shown(qtbot, session, production=True)
    session.trust.read_only = True
    panel.say_writable()
    assert not panel.go.isEnabled()
    assert "read-only" in panel.go.toolTip()
    session.trust.read_only = False
    panel.say_writable()
    QTest.mouseClick(panel.go, LEFT)
    question = panel.findChild(Question)
    assert question is not None
    assert not question.verb.isEnabled()
    question.reject()
    idle(qtbot)
    assert newest(database) == before


def test_a_dry_run_that_breaks_off_offers_nothing_and_is_tried_again(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = shown(qtbot, session)
    assert panel.go.isEnabled()
    drawn = TakingBack.drawn

    def broken(batch: TakingBack, *given: Any) -> Iterator[TakenBack]:
        yield next(iter(drawn(batch, *given)))
        denied()

    with monkeypatch.context() as patched:
        patched.setattr(TakingBack, "drawn", broken)
        panel.dry_run()
        idle(qtbot)
        assert len(panel.model.drawn) == 1
        assert not panel.go.isEnabled()
        assert panel.report.text() == ""
        assert not panel._report_row.isVisible()
    try_again(panel.states)
    assert panel.states.kind == "content"
    idle(qtbot)
    assert panel.go.isEnabled()


def test_a_dry_run_that_takes_its_time_says_so_and_can_be_stopped(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = shown(qtbot, session)

    def until_stopped(*given: Any) -> Iterator[TakenBack]:
        while True:
            given[-1](0, None)
            threading.Event().wait(0.01)
        yield

    monkeypatch.setattr(TakingBack, "drawn", until_stopped)
    panel.dry_run()
    line = panel.states._reading
    qtbot.waitUntil(line.isVisible)
    assert line._text.text() == "Dry run"
    assert panel.report.text() == "No answer so far"
    assert panel.changes.plan is None
    qtbot.waitUntil(lambda: panel._inner.kind == "loading")  # no empty table of a comparison
    line._stop.click()
    idle(qtbot)
    assert not line.isVisible()
    assert panel.states.kind == "content"
    assert (panel._inner.kind, panel._inner.state.title) == ("empty", "Not tried")
    assert panel.again.isEnabled()


def test_a_comparison_that_failed_can_be_tried_again(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = shown(qtbot, session)
    with monkeypatch.context() as patched:
        patched.setattr(diff_grouping, "plan", denied)
        panel._look()
        idle(qtbot)
    try_again(panel._inner)
    idle(qtbot)
    assert panel._inner.kind == "content"
    assert panel.changes.plan is not None


def test_nothing_is_taken_back_or_decided_without_an_answer(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    panel.say_answering(False)
    assert not panel.go.isEnabled()
    assert not panel.decide.isEnabled()
    assert panel.go.toolTip().endswith("does not answer now, so nothing can be written.")
    assert not panel.again.isEnabled()
    assert panel.again.toolTip().endswith("does not answer now, so nothing can be read.")
    panel.say_answering(True)
    assert panel.go.isEnabled()
    assert panel.again.isEnabled()


@pytest.mark.parametrize(("kind", "left"), [("applied", "applied"), ("refused", None), ("unknown", "unknown")])
def test_check_again_looks_for_each_write_that_is_in_doubt(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch, kind: Any, left: str | None
) -> None:
    panel = shown(qtbot, session)
    id = SECOND[0].id
    panel.model.ends[id] = Outcome("unknown", NS, id, "The connection was lost.", entry="e1")
    asked: list[str] = []

    def look_again(_: Session, entry: str) -> Outcome:
        asked.append(entry)
        return Outcome(kind, NS, id, "Found out.", entry=entry)

    monkeypatch.setattr(WayBack, "look_again", look_again)
    panel._ended(["r1"])
    (check,) = [each for each in area(panel).findChildren(QPushButton) if each.text() == "Check again"]
    check.click()
    idle(qtbot)
    assert asked == ["e1"]
    end = panel.model.ends.get(id)
    assert (end.kind if end is not None else None) == left
    assert panel.model.can_tick(SECOND[0]) == (left is None)


def test_check_again_at_a_silent_server_says_both_in_one_message(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = shown(qtbot, session)
    panel.model.ends[SECOND[0].id] = Outcome("unknown", NS, SECOND[0].id, "The connection was lost.", entry="e1")

    def silent(_: Session, entry: str) -> Outcome:
        raise Unreachable("db:27017 does not answer.")

    monkeypatch.setattr(WayBack, "look_again", silent)
    panel._ended(["r1"])
    (line,) = area(panel).lines
    before = line.text
    line.buttons[0].click()
    idle(qtbot)
    assert [each.text for each in area(panel).lines] == [f"{before} db:27017 does not answer."]


def test_a_run_that_breaks_off_at_a_silent_server_says_both_in_one_message(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    panel.model.ends[SECOND[0].id] = Outcome("unknown", NS, SECOND[0].id, "The connection was lost.", entry="e1")
    panel._broke(["r1"], Unreachable("db:27017 does not answer."))
    (line,) = area(panel).lines
    assert line.text.endswith(" db:27017 does not answer.")
    panel.model.ends.clear()
    panel._broke(["r1"], Unreachable("db:27017 is still silent."))
    assert [each.text for each in area(panel).lines][1:] == ["db:27017 is still silent."]


def test_only_the_named_fields_are_taken_back(qtbot: QtBot, session: Session, database: Database) -> None:
    panel = shown(qtbot, session)
    QTest.keyClicks(panel.fields, "city, to.zip")
    QTest.keyClick(panel.fields, Qt.Key.Key_Return)
    idle(qtbot)
    assert {id: kind for id, (kind, _) in said(panel).items()} == {
        **dict.fromkeys("ABC", "Nothing to take back"),
        "D": "Can be taken back",
    }
    panel.fields.setText("total..net")
    QTest.keyClick(panel.fields, Qt.Key.Key_Return)
    assert "is unclear at column" in panel.trouble.text()
    panel.fields.setText("")
    QTest.keyClick(panel.fields, Qt.Key.Key_Return)
    idle(qtbot)
    assert (said(panel)["A"][0], panel.trouble.isHidden()) == ("Can be taken back", True)
    panel.put([Chosen(Value.of("D"), (Value.of(2),), paths=(("city",),))])
    idle(qtbot)
    assert panel.fields.text() == "city"
    QTest.mouseClick(panel.go, LEFT)
    idle(qtbot)
    assert newest(database)["D"] == {"v": 3, "total": 7}


def test_what_changed_meanwhile_can_be_tried_again(qtbot: QtBot, session: Session, database: Database) -> None:
    panel = shown(qtbot, session)
    assert session.edit(NS, "A", set={"city": "Köln"}).kind == "applied"
    QTest.mouseClick(panel.go, LEFT)
    idle(qtbot)
    assert said(panel)["A"] == ("Changed meanwhile", False)
    QTest.mouseClick(panel.again, LEFT)
    idle(qtbot)
    assert (said(panel)["A"], said(panel)["D"][0]) == (("Can be taken back", True), "Taken back")
    QTest.mouseClick(panel.go, LEFT)
    idle(qtbot)
    assert newest(database)["A"] == {"v": 5, "total": 1, "city": "Köln"}
