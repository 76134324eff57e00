"""The sheet for stating a layout: one click from the badge, every key, a preview that follows, a profile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QComboBox, QFileDialog, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.style import symbols, theme
from gui.style.cells import CELL
from gui.views.stating.key_row import Choice
from gui.views.stating.layout_sheet import LayoutSheet
from gui.window.opening import Opening
from gui.window.window import Window
from model.errors import Cancelled
from model.profile import Profile
from model.session import Session
from model.session.layout_statements import LayoutStatements, Trial
from model.userdata.connections import Connections
from model.values.canonical import Value
from tests.gui.menus import offered
from tests.gui.refusals import denied, try_again
from tests.gui.window.windows import new_window, open_source, sheet, told, wait_idle
from tests.recognition.unknown_programs import program
from tests.support import naming


@pytest.fixture
def shop(local_uri: str, home: Path) -> Iterator[str]:
    """A database with documents whose versions have names that say nothing, and with an archive."""
    name = f"palimpsest_test_{home.name[:10]}"
    with pymongo.MongoClient[dict[str, Any]](local_uri) as client:
        db = client[name]
        for n, id in enumerate("ABCDE"):
            db["sheets"].insert_many(
                [{"thing": id, "pos": at, "total": at * 10, "by": "ann"} for at in range(1, 4 + n % 2)]
            )
        db["orders"].insert_many([{"_id": n, "v": 2, "sum": 2} for n in range(6)])
        db["orders_history"].insert_many([{"docId": n, "v": 1, "sum": 1} for n in range(6)])
        yield name
        client.drop_database(name)


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    return new_window(qtbot)


@pytest.fixture
def session(qtbot: QtBot, window: Window, local_uri: str, shop: str) -> Session:
    return open_source(qtbot, window, Opening(naming(local_uri, shop), "shop"))


@pytest.fixture
def opened(qtbot: QtBot, window: Window, session: Session, shop: str) -> Callable[[str], LayoutSheet]:
    """Opens the sheet of a collection and waits for its preview."""

    def make(name: str = "sheets") -> LayoutSheet:
        made = window.commands.state_layout(session, f"{shop}.{name}")
        settled(qtbot, made)
        return made

    return make


def settled(qtbot: QtBot, of: LayoutSheet) -> None:
    """Wait until what was typed is tried."""
    wait_idle(qtbot, lambda: not of._still.isActive() and bool(of.form.rows))


def choose(qtbot: QtBot, of: LayoutSheet, layout: str, **texts: str) -> None:
    """Choose a layout and type some of its keys."""
    of.layout_choice.setCurrentIndex(of.layout_choice.findData(layout))
    settled(qtbot, of)
    for key, text in texts.items():
        of.form.rows[key].put(text)
    settled(qtbot, of)


def badge_of(window: Window, ns: str, session: Session) -> tuple[QPoint, str]:
    """Where the badge of a collection stands in the tree, and what it says."""
    sidebar = window.workspace.sidebar
    node = next(found for root in sidebar.model.roots if (found := root.find(ns)) is not None)
    index = sidebar.model.index_of(node)
    sidebar.tree.scrollTo(index)
    rect, badge = sidebar.tree.visualRect(index), index.data(CELL).badges[0].text
    return QPoint(rect.right() - theme.px(8) - int(symbols.badge_width(badge) / 2), rect.center().y()), badge


# --- the way there


def test_one_click_on_the_badge_shows_what_a_collection_is_taken_for_and_why(
    qtbot: QtBot, window: Window, session: Session, shop: str
) -> None:
    spot, badge = badge_of(window, f"{shop}.orders", session)
    assert badge == "archive"
    qtbot.mouseClick(window.workspace.sidebar.tree.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    found = sheet(window)
    assert isinstance(found, LayoutSheet)
    settled(qtbot, found)
    assert found.title.text() == f"Layout of {shop}.orders"
    assert found.badge.said == "archive"
    info = session.catalogue.info(f"{shop}.orders")
    assert info.why in found.grounds.text()
    assert f"{round(100 * info.confidence)} % sure" in found.grounds.text()
    assert window.workspace.tab_area.page is None  # the click opened no collection


@pytest.mark.deep
def test_a_click_beside_the_badge_opens_the_collection_as_ever(
    qtbot: QtBot, window: Window, session: Session, shop: str
) -> None:
    spot, badge = badge_of(window, f"{shop}.orders", session)
    beside = spot - QPoint(int(symbols.badge_width(badge)), 0)
    qtbot.mouseClick(window.workspace.sidebar.tree.viewport(), Qt.MouseButton.LeftButton, pos=beside)
    wait_idle(qtbot, lambda: window.workspace.tab_area.page is not None)


@pytest.mark.deep
def test_the_menus_and_the_page_lead_there_too(qtbot: QtBot, window: Window, session: Session, shop: str) -> None:
    ns = f"{shop}.orders"
    sidebar = window.workspace.sidebar
    node = next(found for root in sidebar.model.roots if (found := root.find(ns)) is not None)
    ways: list[Callable[[], object]] = [offered(sidebar.menu_for(node))["Layout and its grounds…"].trigger]
    sidebar.collection_asked.emit(session, ns, False)
    wait_idle(qtbot)
    page = window.workspace.tab_area.page
    assert page is not None
    ways += [page.layout_asked.emit, lambda: window.actions_.trigger("layout")]
    for way in ways:
        way()
        found = sheet(window)
        assert isinstance(found, LayoutSheet)
        settled(qtbot, found)
        assert found.title.text() == f"Layout of {ns}"
        qtbot.keyClick(found, Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda found=found: not found.isVisible())


@pytest.mark.deep
def test_the_sheet_of_an_archive_is_that_of_its_collection(opened: Callable[[str], LayoutSheet], shop: str) -> None:
    assert opened("orders_history").title.text() == f"Layout of {shop}.orders"


# --- what is in it


def test_every_key_of_the_layout_is_there_with_what_was_recognised(
    opened: Callable[[str], LayoutSheet], session: Session, shop: str
) -> None:
    found = opened("orders")
    assert set(found.form.rows) == {key.name for key in session.statements.keys("archive")}
    texts = found.form.texts
    assert (texts["archive"], texts["archive_id"], texts["version"]) == (f"{shop}.orders_history", "docId", "v")
    assert found.form.rows["version"].state.text() == "default"
    assert found.layout_choice.currentText() == "archive"
    assert found.layout_choice.hasFocus()


@pytest.mark.deep
def test_fields_are_chosen_from_the_names_that_are_found(
    qtbot: QtBot, opened: Callable[[str], LayoutSheet], shop: str
) -> None:
    def offered(key: str) -> set[str]:
        editor = found.form.rows[key].editor
        assert isinstance(editor, QComboBox)
        return {editor.itemText(at) for at in range(editor.count())}

    found = opened("orders")
    assert offered("version") == {"_id", "v", "sum"}
    assert offered("archive_id") == {"_id", "docId", "v", "sum"}
    assert offered("archive") == {f"{shop}.orders_history", f"{shop}.sheets"}
    assert offered("numbering") == {"next", "loop", "time", f"counter:{shop}.counters"}
    found.form.rows["archive"].put(f"{shop}.sheets")
    settled(qtbot, found)
    assert offered("archive_id") == {"_id", "thing", "pos", "total", "by"}


@pytest.mark.deep
def test_the_wheel_over_a_choice_scrolls_and_changes_nothing(opened: Callable[[str], LayoutSheet]) -> None:
    found = opened("orders")
    choice = found.form.rows["version"].editor
    assert isinstance(choice, Choice)
    assert choice.count() > 1
    middle = QPointF(choice.rect().center())
    for way in (-120, 120):
        turned = QWheelEvent(
            middle, QPointF(choice.mapToGlobal(middle)), QPoint(), QPoint(0, way), Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(choice, turned)
        assert choice.currentText() == "v"
        assert not turned.isAccepted()


def test_the_preview_follows_what_is_typed(qtbot: QtBot, opened: Callable[[str], LayoutSheet], shop: str) -> None:
    found = opened("sheets")
    choose(qtbot, found, "versions", id="thing", version="pos", token="")
    rows = found.trial.model.rows
    documents = [row.document for row in rows if row.document is not None]
    assert [(str(one.id.python()), one.versions) for one in documents] == [("A", 3), ("B", 4), ("D", 4)]
    assert [row.said for row in rows[:2]] == ["", "First difference, v1 → v2"]
    assert found.trial.toml.toPlainText().splitlines() == [
        "[[collection]]",
        f'ns = "{shop}.sheets"',
        'layout = "versions"',
        'id = "thing"',
        'version = "pos"',
        'token = ""',
    ]
    assert not found.trial.against.isVisible()
    assert found.form.rows["version"].state.text() == "stated"
    found.form.rows["author"].put("by")
    settled(qtbot, found)
    assert 'author = "by"' in found.trial.toml.toPlainText()


@pytest.mark.deep
def test_what_contradicts_stands_above_the_preview(qtbot: QtBot, opened: Callable[[str], LayoutSheet]) -> None:
    found = opened("sheets")
    choose(qtbot, found, "versions", id="thing", version="by")
    assert found.trial.against.isVisible()
    assert "by is of the type String, not a whole number or a date" in found.trial.against.accessibleName()


@pytest.mark.deep
def test_why_a_layout_was_not_recognised_is_said_below(qtbot: QtBot, opened: Callable[[str], LayoutSheet]) -> None:
    found = opened("sheets")
    choose(qtbot, found, "embedded")
    assert "cannot be read as embedded" in found.trouble.text()
    assert found.use.isEnabled()


def test_what_cannot_be_is_said_at_its_key_and_cannot_be_used(
    qtbot: QtBot, opened: Callable[[str], LayoutSheet]
) -> None:
    found = opened("orders")
    row = found.form.rows["grace"]
    row.put("soon")
    settled(qtbot, found)
    assert "24h" in row.about.text()
    assert (found.use.isEnabled(), found.keep.isEnabled()) == (False, False)
    row.put("2h")
    settled(qtbot, found)
    assert found.use.isEnabled()
    assert row.about.text() == row.key.about
    found.form.rows["token"].put("rev")
    found.form.rows["version"].put("rev")  # two roles in one field: no single key is wrong
    settled(qtbot, found)
    assert found.trial.states.state.help == "token and version cannot both be 'rev'."
    assert not found.use.isEnabled()


@pytest.mark.deep
def test_what_was_said_of_one_layout_holds_for_the_next(qtbot: QtBot, opened: Callable[[str], LayoutSheet]) -> None:
    found = opened("sheets")
    choose(qtbot, found, "versions", id="thing", version="pos")
    choose(qtbot, found, "deltas")
    assert (found.form.texts["id"], found.form.texts["version"]) == ("thing", "pos")


def test_where_the_keys_of_a_program_cannot_be_read_it_says_why_and_is_tried_again(
    qtbot: QtBot, session: Session, opened: Callable[[str], LayoutSheet], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = opened("sheets")
    found.layout_choice.setCurrentIndex(found.layout_choice.findData("shadow"))
    settled(qtbot, found)
    with monkeypatch.context() as patched:
        patched.setattr(LayoutStatements, "of_writer", denied)
        found.form.rows["writer"].put("payload")
        wait_idle(qtbot, lambda: found.trial.states.kind == "failed")
        assert "eva may not find there" in found.trial.states.state.help
    try_again(found.trial.states)
    settled(qtbot, found)
    assert found.form.texts["content"] == "version"


@pytest.mark.deep
def test_a_late_answer_is_dropped_and_one_trial_runs_at_a_time(
    qtbot: QtBot, opened: Callable[[str], LayoutSheet], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = opened("sheets")
    choose(qtbot, found, "versions", id="thing", version="pos")
    gate, asked = threading.Event(), []
    real = LayoutStatements.tried

    def slow(self: LayoutStatements, ns: str, entry: Any, *rest: Any) -> Trial:
        asked.append(entry["version"])
        if entry["version"] == "total":
            gate.wait(60)
        return real(self, ns, entry, *rest)

    monkeypatch.setattr(LayoutStatements, "tried", slow)
    found.form.rows["version"].put("total")
    qtbot.waitUntil(lambda: asked == ["total"])
    found.form.rows["version"].put("by")
    found.form.rows["version"].put("pos")
    qtbot.waitUntil(lambda: found._again)
    assert asked == ["total"]  # the server is not asked twice at once
    gate.set()
    settled(qtbot, found)
    assert asked == ["total", "pos"]
    assert 'version = "pos"' in found.trial.toml.toPlainText()


@pytest.mark.deep
@pytest.mark.parametrize("under_way", [False, True])
def test_once_the_sheet_is_closed_nothing_is_read_for_its_preview(
    qtbot: QtBot, opened: Callable[[str], LayoutSheet], monkeypatch: pytest.MonkeyPatch, under_way: bool
) -> None:
    found = opened("sheets")
    choose(qtbot, found, "versions", id="thing", version="pos")
    asked: list[str] = []

    def until_stopped(_: LayoutStatements, __: str, entry: Any, ___: object, progress: tasks.Progress) -> Trial:
        asked.append(entry["version"])
        progress.stop.wait(60)
        raise Cancelled

    monkeypatch.setattr(LayoutStatements, "tried", until_stopped)
    found.form.rows["version"].put("total")
    if under_way:
        qtbot.waitUntil(lambda: asked == ["total"])
        found.form.rows["version"].put("by")
        qtbot.waitUntil(lambda: found._still.isActive() or found._again)
    found.reject()
    assert not found._still.isActive()
    wait_idle(qtbot)
    assert asked == ["total"] * under_way


@pytest.mark.deep
def test_tab_goes_down_the_keys_then_through_the_preview_and_the_foot(
    qtbot: QtBot, window: Window, opened: Callable[[str], LayoutSheet]
) -> None:
    window.resize(1024, 640)  # most keys are out of sight
    found = opened("orders")
    met = []
    for _ in range(len(found.form.rows) + 7):
        now = found.focusWidget()
        assert now is not None
        said = now.text() if isinstance(now, QPushButton) else now.accessibleName()
        met.append(said or now.parentWidget().accessibleName())  # what is typed into stands in its choice
        shown = now.mapTo(found, now.rect().center())
        assert found.rect().contains(shown)
        if now.accessibleName() in found.form.rows:
            assert found.form.viewport().rect().contains(now.mapTo(found.form.viewport(), now.rect().center()))
        qtbot.keyClick(now, Qt.Key.Key_Tab)
    keys = list(found.form.rows)
    foot = ["Save as profile…", "Cancel", "Use this layout"]
    assert met == [
        "Layout", *keys, "Three documents as they would be read", "Copy", "The lines of a profile", *foot,
    ]  # fmt: skip
    assert found.layout_choice.hasFocus()


# --- what becomes of it


def test_what_is_used_is_how_the_collection_is_read_at_once(
    qtbot: QtBot, window: Window, session: Session, opened: Callable[[str], LayoutSheet], shop: str
) -> None:
    ns = f"{shop}.sheets"
    window.workspace.sidebar.collection_asked.emit(session, ns, False)
    wait_idle(qtbot)
    found = opened("sheets")
    choose(qtbot, found, "versions", id="thing", version="pos", token="")
    found.use.click()
    wait_idle(qtbot)
    assert not [each for each in window.findChildren(LayoutSheet) if each.isVisible()]
    assert session.catalogue.info(ns).layout == "versions"
    assert badge_of(window, ns, session)[1] == "versions"
    page = window.workspace.tab_area.page
    assert page is not None
    assert page.status()[0][1].startswith("Versions layout")
    assert any("until it is disconnected" in said for said in told(window))


@pytest.mark.deep
def test_a_stated_collection_can_be_left_to_recognition_again(
    qtbot: QtBot, session: Session, opened: Callable[[str], LayoutSheet], shop: str
) -> None:
    before = session.catalogue.info(f"{shop}.sheets").layout
    assert not opened("sheets").forget.isVisible()
    session.statements.use(f"{shop}.sheets", {"layout": "hashed", "hash": "by"})
    for open_sheet in [found for found in opened("sheets").window().findChildren(LayoutSheet) if found.isVisible()]:
        last = open_sheet
    assert "Stated by hand" in last.grounds.text()
    last.forget.click()
    wait_idle(qtbot)
    assert session.catalogue.info(f"{shop}.sheets").layout == before


def test_a_statement_is_saved_as_a_profile_and_the_connection_keeps_it(
    qtbot: QtBot, window: Window, session: Session, opened: Callable[[str], LayoutSheet], shop: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    file = tmp_path / "layouts"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(file), ""))
    found = opened("sheets")
    choose(qtbot, found, "versions", id="thing", version="pos", token="")
    found.keep.click()
    wait_idle(qtbot)
    file = file.with_suffix(".toml")
    assert Profile.load(file).get(f"{shop}.sheets") is not None
    assert session.catalogue.profile_file == file
    assert window.status.profile.text() == "Profile layouts.toml"
    assert [saved.profile for saved in Connections().all()] == [str(file)]
    assert any(str(file) in said for said in told(window))


def test_whole_versions_after_a_gap_are_stated_shown_and_kept(
    qtbot: QtBot, session: Session, local_uri: str, opened: Callable[[str], LayoutSheet], shop: str, tmp_path: Path
) -> None:
    def newest() -> tuple[str, str]:
        version = next(iter(session.catalogue.layout(ns).history(Value.of("A"), contents="all")))
        return version.state, version.detail

    ns, file = f"{shop}.parts", tmp_path / "layouts.toml"
    stated = {"layout": "deltas", "id": "thing", "version": "pos", "token": ""}
    with pymongo.MongoClient[dict[str, Any]](local_uri) as client:
        whole = {"thing": "A", "sum": 1, "by": "ann"}
        client[shop]["parts"].insert_many(
            [{**whole, "pos": 1}, {**whole, "pos": 3}, {"thing": "A", "sum": 4, "pos": 4}]
        )
    session.statements.use(ns, stated)
    assert newest() == ("unproven", "rebuilt over a gap")
    found = opened("parts")
    row = found.form.rows["after_gap"]
    assert isinstance(row.editor, QComboBox)
    assert [row.editor.itemText(at) for at in range(row.editor.count())] == ["", "whole"]
    assert (row.text, row.state.text()) == ("", "")
    row.put("whole")
    settled(qtbot, found)
    assert row.state.text() == "stated"
    assert 'after_gap = "whole"' in found.trial.toml.toPlainText().splitlines()
    found.save_to(file)
    wait_idle(qtbot)
    kept = Profile.load(file).get(ns)
    assert kept is not None
    assert kept.after_gap == "whole"
    assert newest() == ("present", "")
    assert opened("parts").form.rows["after_gap"].text == "whole"


@pytest.mark.deep
def test_a_file_that_says_otherwise_is_asked_about_before_it_is_touched(
    qtbot: QtBot, opened: Callable[[str], LayoutSheet], shop: str, tmp_path: Path
) -> None:
    file = tmp_path / "layouts.toml"
    before = f'# ours\n[[collection]]\nns = "{shop}.sheets"\nlayout = "embedded" # odd\nprev = "past"\ngrace = "1h"\n'
    file.write_text(before)
    found = opened("sheets")
    choose(qtbot, found, "versions", id="thing", version="pos")
    found.save_to(file)
    wait_idle(qtbot)
    assert found.question.isVisible()
    said = found.asked.text()
    assert 'layout = "embedded" becomes "versions"' in said
    assert 'prev = "past" is removed' in said
    assert 'grace = "1h" stays' in said
    assert file.read_text() == before
    found._drop_question()
    assert not found.question.isVisible()
    found.save_to(file)
    wait_idle(qtbot)
    found.agree.click()
    wait_idle(qtbot)
    after = file.read_text()
    assert after.startswith(f'# ours\n[[collection]]\nns = "{shop}.sheets"\nlayout = "versions" # odd\ngrace = "1h"\n')
    assert "prev" not in after


@pytest.mark.deep
def test_a_file_that_is_no_profile_is_left_alone_and_the_sheet_stays(
    qtbot: QtBot, opened: Callable[[str], LayoutSheet], tmp_path: Path
) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("[project]\n")
    found = opened("sheets")
    choose(qtbot, found, "versions", id="thing", version="pos")
    found.save_to(file)
    wait_idle(qtbot)
    assert found.isVisible()
    assert "no key 'project'" in found.trouble.text()
    assert file.read_text() == "[project]\n"
    assert found.use.isEnabled()


@pytest.mark.deep
def test_in_a_narrow_window_the_preview_begins_in_the_line_of_the_keys_above_it(
    qtbot: QtBot, window: Window, opened: Callable[[str], LayoutSheet]
) -> None:
    made = opened("sheets")

    def begins(part: QWidget) -> int:
        return part.mapTo(made, QPoint()).x()

    beside = made.trial.model.cell(made.trial.model.index(0, 0)).indent
    window.resize(620, 640)
    qtbot.waitUntil(lambda: begins(made.trial.title) == begins(made.title), timeout=5000)
    assert begins(made.trial.toml) == begins(made.trial.title)
    assert made.trial.model.cell(made.trial.model.index(0, 0)).indent == beside + 8
    window.resize(1400, 900)
    qtbot.waitUntil(lambda: made.trial.model.cell(made.trial.model.index(0, 0)).indent == beside, timeout=5000)


@pytest.mark.deep
def test_the_sheet_fits_a_small_window(qtbot: QtBot, window: Window, opened: Callable[[str], LayoutSheet]) -> None:
    window.resize(1024, 640)
    found = opened("orders")
    assert found.width() <= 1024 - 32
    assert found.height() <= 640 - 32
    for part in (found.use, found.keep, found.trial.copy, found.layout_choice):
        assert found.rect().contains(part.mapTo(found, part.rect().bottomRight()))


# --- what is offered


def test_a_history_of_an_unknown_program_is_looked_for_and_filled_in(
    qtbot: QtBot, window: Window, tmp_path: Path
) -> None:
    it = program(1)
    (tmp_path / "shop").mkdir()
    for name, rows in it.collections.items():
        (tmp_path / "shop" / f"{name}.bson").write_bytes(b"".join(map(bson.encode, rows)))
    session = open_source(qtbot, window, Opening(str(tmp_path), "shop"))
    ns = f"shop.{it.things}"
    found = window.commands.state_layout(session, ns)
    settled(qtbot, found)
    assert found.look.isVisible()
    qtbot.mouseClick(found.look, Qt.MouseButton.LeftButton)
    wait_idle(qtbot, lambda: found.layout_choice.currentData() == "shadow" and not found._still.isActive())
    assert found.grounds.text().startswith("Offered, not proven: States of the documents of tickets lie in")
    assert found.form.texts["content"] == "payload"
    assert session.catalogue.info(ns).layout == "plain"  # nothing is read by it until it is used
    settled(qtbot, found)
    qtbot.mouseClick(found.use, Qt.MouseButton.LeftButton)
    wait_idle(qtbot)
    assert session.catalogue.info(ns).layout == "shadow"


def test_where_nothing_fits_that_is_said(qtbot: QtBot, window: Window, tmp_path: Path) -> None:
    (tmp_path / "things.jsonl").write_text('{"_id": 1, "a": 2}\n')
    session = open_source(qtbot, window, Opening(str(tmp_path / "things.jsonl"), "things"))
    found = window.commands.state_layout(session, session.catalogue.databases()[0] + ".things")
    settled(qtbot, found)
    qtbot.mouseClick(found.look, Qt.MouseButton.LeftButton)
    wait_idle(qtbot, lambda: "No history was found" in found.trouble.text())
    assert found.layout_choice.currentData() == "plain"
