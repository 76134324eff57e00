"""The editor over a document that another program may lock: one question, and the answer is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from gui.views.edit.editor_panel import EditorPanel
from model.session import Session
from model.values.canonical import Value
from tests.gui.document_scenes import shown
from tests.gui.field_support import type_into


@pytest.fixture
def parts(database: Any) -> Any:
    database["parts"].insert_many([{"_id": f"P-{n}", "name": "x", "lockVersion": n} for n in range(1, 4)])
    return database["parts"]


def button(panel: EditorPanel, label: str) -> QPushButton:
    (found,) = [each for each in panel.notices.lines["lock"].findChildren(QPushButton) if each.text() == label]
    return found


@pytest.mark.parametrize(
    ("label", "after", "locked"), [("It goes up by one", 3, True), ("It is an ordinary field", 2, False)]
)
def test_the_question_is_asked_once_and_the_answer_moves_the_field_with_each_save(
    label: str,
    after: int,
    locked: bool,
    parts: Any,
    server_uri: str,
    qtbot: QtBot,
    idle: Callable[[], None],
) -> None:
    ns = f"{parts.database.name}.parts"
    with Session.open(server_uri) as session:
        panel = EditorPanel(session, ns, Value.of("P-2"))
        shown(qtbot, panel)
        qtbot.waitUntil(lambda: panel.is_loaded)
        idle()
        assert "lockVersion looks like the lock of another program" in panel.notices.lines["lock"].text
        assert "writable" not in panel.notices.lines, "the question stands in the place of the reason"
        assert "state guard" in panel.save_reason
        assert not panel.tree.edit_cell(panel.model.find(("name",)))
        qtbot.mouseClick(button(panel, label), Qt.MouseButton.LeftButton)
        idle()
        assert "lock" not in panel.notices.lines
        assert ("lockVersion" in panel._opened.locked) == locked  # type: ignore[union-attr]
        type_into(panel, ("name",), "new")
        panel.save()
        idle()
        stored = parts.find_one({"_id": "P-2"})
        assert (stored["name"], stored["lockVersion"]) == ("new", after)
        other = EditorPanel(session, ns, Value.of("P-3"))
        shown(qtbot, other)
        qtbot.waitUntil(lambda: other.is_loaded)
        idle()
        assert "lock" not in other.notices.lines
        assert other.save_reason == "Nothing is changed"


def test_where_nothing_may_be_written_nothing_is_asked(
    parts: Any, server_uri: str, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    with Session.open(server_uri, read_only=True) as session:
        panel = EditorPanel(session, f"{parts.database.name}.parts", Value.of("P-2"))
        shown(qtbot, panel)
        qtbot.waitUntil(lambda: panel.is_loaded)
        idle()
        assert "lock" not in panel.notices.lines


def test_a_profile_that_the_data_contradict_is_asked_for_before_anything_is_typed(
    parts: Any, server_uri: str, qtbot: QtBot, idle: Callable[[], None], tmp_path: Path
) -> None:
    ns = f"{parts.database.name}.parts"
    file = tmp_path / "profile.toml"
    file.write_text(f'[[collection]]\nns = "{ns}"\nguard = {{ field = "lok", how = "inc" }}\n')
    with Session.open(server_uri, file) as session:
        panel = EditorPanel(session, ns, Value.of("P-2"))
        shown(qtbot, panel)
        qtbot.waitUntil(lambda: panel.is_loaded)
        idle()
        line = panel.notices.lines["layout"]
        assert "has lok, which is stated as guard" in line.text
        assert not panel.tree.edit_cell(panel.model.find(("name",)))
        qtbot.mouseClick(line.buttons[0], Qt.MouseButton.LeftButton)
        idle()
        assert "layout" not in panel.notices.lines
        type_into(panel, ("name",), "new")
        panel.save()
        idle()
        assert parts.find_one({"_id": "P-2"})["name"] == "new"


def test_under_a_profile_that_the_data_contradict_no_index_and_no_option_of_a_command_is_offered(
    parts: Any, server_uri: str, qtbot: QtBot, idle: Callable[[], None], tmp_path: Path
) -> None:
    ns = f"{parts.database.name}.parts"
    parts.database["old"].insert_many([{"docId": f"P-{n}", "revision": 1} for n in range(1, 4)])
    file = tmp_path / "profile.toml"
    archive = f'layout = "archive"\narchive = "{parts.database.name}.old"\narchive_id = "docId"\n'
    file.write_text(f'[[collection]]\nns = "{ns}"\n{archive}version = "revision"\n')
    with Session.open(server_uri, file) as session:
        panel = EditorPanel(session, ns, Value.of("P-2"))
        shown(qtbot, panel)
        qtbot.waitUntil(lambda: panel.is_loaded)
        idle()
        assert list(panel.notices.lines) == ["layout"]
        said = panel.notices.lines["layout"].text
        assert said.endswith("has revision, which is stated as version. So this layout is not used for writing here.")
        assert "has revision, which" in panel.save_reason
        assert "--" not in panel.save_reason


def test_a_recognised_layout_in_doubt_is_asked_for_and_can_be_stated(
    server_uri: str, database: Any, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    for n in range(5):
        for v in (5, 10, 15, 20):
            database["snapshots"].insert_one({"docId": f"S-{n}", "v": v, "name": f"n{n}", "city": "Bonn", "price": v})
    with Session.open(server_uri) as session:
        panel = EditorPanel(session, f"{database.name}.snapshots", Value.of("S-2"))
        shown(qtbot, panel)
        qtbot.waitUntil(lambda: panel.is_loaded)
        idle()
        assert list(panel.notices.lines) == ["layout"], "no index is asked for"
        line = panel.notices.lines["layout"]
        assert "looks like versions, but half of the numbers or more are missing, as in a cache." in line.text
        with qtbot.waitSignal(panel.layout_asked):
            qtbot.mouseClick(line.buttons[1], Qt.MouseButton.LeftButton)
