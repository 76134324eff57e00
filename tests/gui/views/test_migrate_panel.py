"""Moving a collection to another layout, from the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pymongo.database
import pytest
from PySide6.QtCore import Qt, QThread
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit, QStackedWidget, QWidget
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.messages import Question
from gui.views.tools.migrate_panel import MigratePanel
from model.errors import Unreachable
from model.foundation.records import Kind, Outcome
from model.operations.migration import Migration
from model.session import Session
from model.session.data_exchange import DataExchange
from model.values.canonical import Value
from tests.gui.refusals import silent, try_again

NS = "insurance.tariffs"


@pytest.fixture
def session() -> Iterator[Session]:
    with Session.open("sample:") as made:
        yield made


@pytest.fixture
def panel(qtbot: QtBot, session: Session) -> MigratePanel:
    made = MigratePanel(session, NS)
    qtbot.addWidget(made)
    made.resize(1100, 760)
    made.show()
    made.layout_choice.setCurrentIndex(made.layout_choice.findData("archive"))
    idle(qtbot)
    return made


def said(panel: MigratePanel) -> list[str]:
    return [label.text() for label in panel.findChildren(QLabel) if label.isVisible()]


def idle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not tasks.tasks.running)


def test_before_the_first_try_and_over_an_empty_collection_the_list_says_why_it_is_empty(
    qtbot: QtBot, server_uri: str, database: pymongo.database.Database[dict[str, object]], tmp_path: Path
) -> None:
    database.create_collection("nothing")
    with Session.open(server_uri, home=tmp_path) as session:
        panel = MigratePanel(session, f"{database.name}.nothing")
        qtbot.addWidget(panel)
        panel.show()
        idle(qtbot)
        assert "What would be copied?" in said(panel)
        panel.dry.click()
        idle(qtbot)
        assert "There is no document to copy" in said(panel)


def test_the_focus_comes_back_to_the_button_that_was_pressed(qtbot: QtBot, panel: MigratePanel) -> None:
    panel.activateWindow()
    panel.dry.setFocus()
    qtbot.waitUntil(panel.dry.hasFocus)
    qtbot.keyClick(panel.dry, Qt.Key.Key_Space)
    assert panel.states.hasFocus()  # and none of the buttons further down
    idle(qtbot)
    qtbot.waitUntil(panel.dry.hasFocus)


@pytest.mark.deep
def test_a_dry_run_writes_nothing_and_names_what_cannot_be_held(
    qtbot: QtBot, session: Session, panel: MigratePanel
) -> None:
    panel.dry.click()
    idle(qtbot)
    assert "10 documents would be copied, 2 cannot be held" in panel.report.text()
    assert [row.kind for row in panel.model.rows[:3]] == ["refused", "refused", "applied"]
    assert "insurance.tariffs_archive" not in [info.ns for info in session.catalogue.collections("insurance")]
    assert 'layout = "archive"' in panel.toml.toPlainText()


def test_copying_compares_every_version_and_can_be_taken_back(
    qtbot: QtBot, session: Session, panel: MigratePanel
) -> None:
    id = next(
        row.id for row in session.documents.page(NS).rows if row.id not in (Value.of("BIKE"), Value.of("HH-BASIC"))
    )
    panel.go.click()
    idle(qtbot)
    assert "versions of 10 documents are equal in both places, 2 documents cannot be held" in panel.report.text()
    assert "are not" not in panel.report.text()
    old = [v.v for v in session.history.versions(NS, id)]
    session.catalogue.set_layout("insurance.tariffs_archive", "archive")
    assert [v.v for v in session.history.versions("insurance.tariffs_archive", id)] == old
    panel.back.click()
    (question,) = panel.window().findChildren(Question)
    question.verb.click()
    idle(qtbot)
    assert panel.report.text().startswith("10 documents taken back")
    assert session.documents.page(NS).rows


@pytest.mark.deep
def test_a_layout_without_histories_asks_to_leave_the_earlier_versions(qtbot: QtBot, panel: MigratePanel) -> None:
    panel.layout_choice.setCurrentIndex(panel.layout_choice.findData("plain"))
    assert panel.newest.isVisible()
    panel.dry.click()
    idle(qtbot)
    assert "cannot be held" in panel.report.text()
    panel.newest.setChecked(True)
    panel.dry.click()
    idle(qtbot)
    assert "10 documents would be copied" in panel.report.text()


@pytest.mark.deep
def test_what_is_compared_is_what_was_copied_whatever_tab_is_in_front_by_then(qtbot: QtBot, session: Session) -> None:
    tabs = QStackedWidget()
    qtbot.addWidget(tabs)
    made = MigratePanel(session, NS)
    tabs.addWidget(made)
    tabs.addWidget(QWidget())
    tabs.show()
    made.layout_choice.setCurrentIndex(made.layout_choice.findData("plain"))
    made.newest.setChecked(True)
    idle(qtbot)
    made.go.click()
    tabs.setCurrentIndex(1)
    idle(qtbot)
    assert "10 versions of 10 documents are equal in both places" in made.report.text()


@pytest.mark.deep
def test_another_name_is_another_profile_and_no_name_is_none(qtbot: QtBot, panel: MigratePanel) -> None:
    panel.dry.click()
    idle(qtbot)
    panel.target.setText("insurance.other")
    idle(qtbot)
    assert 'ns = "insurance.other"' in panel.toml.toPlainText()
    assert panel.report.text() == ""
    assert not panel.model.rows
    for wrong in ("", "other", "insurance."):
        panel.target.setText(wrong)
        idle(qtbot)
        assert not panel.dry.isEnabled()
        assert not panel.go.isEnabled()
        assert panel.go.toolTip() == "Name the new collection as database.collection."
        assert panel.toml.toPlainText() == ""
    panel.target.setText("insurance.other")
    assert panel.go.isEnabled()


@pytest.mark.deep
def test_a_dry_run_that_is_stopped_has_written_nothing(qtbot: QtBot, panel: MigratePanel) -> None:
    panel.dry.click()
    panel.stop()
    idle(qtbot)
    assert panel.report.text() == "Stopped. Nothing has been written."


def test_the_window_is_not_looked_at_from_a_task(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[QThread] = []
    for widget, name in ((QComboBox, "currentData"), (QLineEdit, "text"), (QCheckBox, "isChecked")):
        asked = getattr(widget, name)

        def look(self: QWidget, *all: object, asked: Callable[..., object] = asked) -> object:
            threads.append(QThread.currentThread())
            return asked(self, *all)

        monkeypatch.setattr(widget, name, look)
    made = MigratePanel(session, NS)
    qtbot.addWidget(made)
    idle(qtbot)
    made.dry.click()
    idle(qtbot)
    assert set(threads) == {made.thread()}


def test_a_read_only_connection_can_look_and_not_copy(qtbot: QtBot, session: Session) -> None:
    session.trust.read_only = True
    made = MigratePanel(session, NS)
    qtbot.addWidget(made)
    idle(qtbot)
    assert not made.go.isEnabled()
    assert "read-only" in made.go.toolTip()
    assert made.dry.isEnabled()


def test_nothing_is_tried_or_copied_without_an_answer(panel: MigratePanel) -> None:
    panel.say_answering(False)
    assert [each.isEnabled() for each in (panel.dry, panel.go, panel.back)] == [False] * 3
    assert panel.dry.toolTip() == "The sample does not answer now, so nothing can be read."
    assert panel.go.toolTip() == "The sample does not answer now, so nothing can be written."
    panel.say_answering(True)
    assert [each.isEnabled() for each in (panel.dry, panel.go, panel.back)] == [True] * 3


def test_a_dry_run_that_broke_off_shows_no_empty_list_as_what_it_found(
    qtbot: QtBot, panel: MigratePanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.try_it()
    idle(qtbot)
    said_before = panel.report.text()
    with monkeypatch.context() as patched:
        patched.setattr(DataExchange, "migration", silent)
        panel.try_it()
        assert not panel.layout_choice.isEnabled()
        idle(qtbot)
        assert panel.report.text() == "Nothing has been written."
        assert panel.states.state.title == "The dry run did not come to its end"
    try_again(panel.states)
    idle(qtbot)
    assert panel.report.text() == said_before


@pytest.mark.parametrize("then", [(), ("unknown",)])
def test_a_copy_that_broke_off_says_how_far_it_came(
    qtbot: QtBot, panel: MigratePanel, monkeypatch: pytest.MonkeyPatch, then: tuple[Kind, ...]
) -> None:
    def some_then_silence(*_: object) -> Iterator[Outcome]:
        for at, kind in enumerate(("applied", "applied", "skipped", *then)):
            yield Outcome(kind, NS, Value.of(at), "So it ended.")
        raise Unreachable("db:27017 does not answer.")

    monkeypatch.setattr(Migration, "run", some_then_silence)
    panel.copy()
    idle(qtbot)
    assert panel.states.state.title == f"Moving {NS} did not come to its end"
    doubt = "; whether 1 document arrived is not known" if then else ""
    assert (
        panel.report.text()
        == f"2 documents done before it broke off{doubt}. Run it again to continue where it stopped."
    )


def test_a_collection_without_versions_gets_a_layout_with_reasons_and_code(qtbot: QtBot, session: Session) -> None:
    panel = MigratePanel(session, "insurance.agents")
    qtbot.addWidget(panel)
    panel.show()
    idle(qtbot)
    assert panel.layout_choice.currentData() == "embedded"
    assert any(each.startswith("embedded suits it: ") for each in said(panel))
    assert 'token = "_w"' in panel.toml.toPlainText()
    panel.language.setCurrentIndex(panel.language.findData("node"))
    panel.copy_code.click()
    idle(qtbot)
    assert 'collection("agents_embedded")' in QGuiApplication.clipboard().text()
    panel.layout_choice.setCurrentIndex(panel.layout_choice.findData("hashed"))
    assert not panel.copy_code.isVisible()


def test_a_collection_with_versions_is_offered_no_code(panel: MigratePanel) -> None:
    assert not panel.copy_code.isVisible()
    assert not panel.why.isVisible()
