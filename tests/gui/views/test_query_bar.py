"""The query above a document list: words offered, order by header, columns, limits, earlier and saved queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QLineEdit, QMenu, QPushButton
from pytestqt.qtbot import QtBot

from gui.style import preferences, theme
from gui.style.cells import full_width
from gui.views.browse.browser_panel import BrowserPanel
from gui.views.browse.explain_sheet import ExplainSheet
from gui.views.browse.query import Query
from gui.views.browse.query_options import QueryOptions
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.gui.window.windows import NS, sheet, wait_idle


@pytest.fixture(scope="module")
def session(homes: Path) -> Iterator[Session]:
    with Session.open("sample:", home=homes / "query bar") as made:
        yield made


@pytest.fixture
def panel(session: Session, qtbot: QtBot) -> BrowserPanel:
    return shown(session, NS, qtbot)


def shown(session: Session, ns: str, qtbot: QtBot) -> BrowserPanel:
    made = BrowserPanel(session, ns)
    qtbot.addWidget(made)
    made.resize(1160, 700)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    wait_idle(qtbot, lambda: made.page is not None)
    return made


def typing(panel: BrowserPanel, qtbot: QtBot) -> None:
    """Put the focus into the filter, and wait for the fields to be known."""
    panel.bar.input.setFocus()
    wait_idle(qtbot)


def press(line: QLineEdit, qtbot: QtBot, *keys: Qt.Key) -> None:
    for key in keys:
        qtbot.keyClick(line, key)


def ids(panel: BrowserPanel) -> list[object]:
    return [row.id.python() for row in panel.model.rows]


def column(panel: BrowserPanel, name: str) -> QPoint:
    header = panel.list.header()
    at = panel.model.columns.index(name)
    return QPoint(header.sectionViewportPosition(at) + 20, header.height() // 2)


# --- words


def test_a_filter_is_typed_with_the_words_that_are_offered_and_then_runs(panel: BrowserPanel, qtbot: QtBot) -> None:
    line = panel.bar.input
    typing(panel, qtbot)
    qtbot.keyClicks(line, "{ gros")
    assert [each.word for each in line.offered] == ["premium.gross"]
    press(line, qtbot, Qt.Key.Key_Tab)
    assert line.hasFocus()
    qtbot.keyClicks(line, "{ $gt")
    assert [each.word for each in line.offered] == ["$gt", "$gte"]
    press(line, qtbot, Qt.Key.Key_Down)
    assert line.accessibleDescription() == "$gte, one of 2 words"
    press(line, qtbot, Qt.Key.Key_Return)
    assert line.accessibleDescription() == ""
    qtbot.keyClicks(line, "400 } }")
    assert line.text() == '{ "premium.gross": { $gte: 400 } }'
    assert not line.offered
    press(line, qtbot, Qt.Key.Key_Return)
    wait_idle(qtbot)
    assert panel.ran.filter == line.text()
    gross = [canonical.get(row.raw, ("premium", "gross")) for row in panel.model.rows]
    assert gross
    assert all(each is not None and float(str(each.python())) >= 400 for each in gross)


def test_escape_takes_the_words_away_and_ctrl_space_asks_for_all(panel: BrowserPanel, qtbot: QtBot) -> None:
    line = panel.bar.input
    typing(panel, qtbot)
    qtbot.keyClicks(line, "{ sta")
    assert line.offered
    press(line, qtbot, Qt.Key.Key_Escape)
    assert not line.offered
    line.clear()
    qtbot.keyClicks(line, "{ ")
    assert not line.offered
    qtbot.keyClick(line, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    assert "holder.name" in [each.word for each in line.offered]
    row = line.list.visualRect(line.model.index(0, 0)).height()
    assert line.list.viewport().height() % row == 0  # the last word is not cut


@pytest.mark.deep
def test_a_text_can_be_typed_to_its_end_without_taking_a_word(panel: BrowserPanel, qtbot: QtBot) -> None:
    typing(panel, qtbot)
    qtbot.keyClicks(panel.bar.input, "{ status: 'active', v: 1 }")
    press(panel.bar.input, qtbot, Qt.Key.Key_Return)
    wait_idle(qtbot)
    assert panel.ran.filter == "{ status: 'active', v: 1 }"


@pytest.mark.deep
def test_fields_of_a_content_inside_a_document_are_offered_as_a_filter_names_them(
    session: Session, qtbot: QtBot
) -> None:
    panel = shown(session, "insurance.customers", qtbot)
    typing(panel, qtbot)
    qtbot.keyClicks(panel.bar.input, "{ ema")
    assert [each.word for each in panel.bar.input.offered] == ["email", "consent.email"]
    panel.bar.input.clear()
    panel.bar.set_fields("email")
    wait_idle(qtbot)
    at = panel.model.columns.index("field:email")
    assert "@" in panel.model.cell(panel.model.index(0, at)).text


def test_words_are_offered_as_soon_as_the_fields_are_known(panel: BrowserPanel, qtbot: QtBot) -> None:
    panel.bar.input.setFocus()
    qtbot.keyClicks(panel.bar.input, "hold")
    assert not panel.bar.input.offered  # the fields are still being read
    wait_idle(qtbot)
    assert panel.bar.input.offered[0].word == "holder"
    press(panel.bar.input, qtbot, Qt.Key.Key_Tab)
    assert panel.bar.input.text() == "{ holder: "


def test_an_id_that_is_pasted_into_the_filter_finds_its_document(panel: BrowserPanel, qtbot: QtBot) -> None:
    QGuiApplication.clipboard().setText(" K-204117\n")
    panel.bar.input.setFocus()
    panel.bar.input.paste()
    press(panel.bar.input, qtbot, Qt.Key.Key_Return)
    wait_idle(qtbot)
    assert ids(panel) == ["K-204117"]
    assert panel.bar.input.text() == '{"_id": "K-204117"}'


def test_an_id_pasted_into_the_filter_of_an_archive_finds_all_its_versions(session: Session, qtbot: QtBot) -> None:
    panel = shown(session, f"{NS}_history", qtbot)
    panel.bar.input.setText("K-204117")
    panel.bar.run_button.click()
    wait_idle(qtbot)
    assert len(panel.model.rows) > 1
    assert {row.of.python() for row in panel.model.rows if row.of is not None} == {"K-204117"}


# --- order


@pytest.mark.deep
def test_a_click_on_a_header_orders_by_it_then_the_other_way_then_as_at_first(
    panel: BrowserPanel, qtbot: QtBot
) -> None:
    viewport, at_first = panel.list.header().viewport(), ids(panel)
    qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=column(panel, "version"))
    wait_idle(qtbot)
    versions = [row.version.python() for row in panel.model.rows if row.version is not None]
    assert versions == sorted(versions)
    assert panel.bar.shape_button.toolTip().startswith("v ascending\n")
    qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=column(panel, "version"))
    wait_idle(qtbot)
    versions = [row.version.python() for row in panel.model.rows if row.version is not None]
    assert versions == sorted(versions, reverse=True)
    assert panel.list.header().sortIndicatorOrder() == Qt.SortOrder.DescendingOrder
    qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=column(panel, "version"))
    wait_idle(qtbot)
    assert ids(panel) == at_first


def test_a_header_that_is_no_field_orders_nothing(panel: BrowserPanel, qtbot: QtBot) -> None:
    before = panel.bar.query
    qtbot.mouseClick(panel.list.header().viewport(), Qt.MouseButton.LeftButton, pos=column(panel, "health"))
    wait_idle(qtbot)
    assert panel.bar.query == before


# --- columns and limits


def options(panel: BrowserPanel, qtbot: QtBot) -> QueryOptions:
    panel.bar.choose("columns")
    asked = sheet(panel)
    assert isinstance(asked, QueryOptions)
    wait_idle(qtbot, lambda: bool(asked.model.rows))
    return asked


@pytest.mark.deep
def test_columns_are_picked_from_the_fields_there_are_with_their_types(panel: BrowserPanel, qtbot: QtBot) -> None:
    asked = options(panel, qtbot)
    assert asked.focusWidget() is asked.search
    qtbot.keyClicks(asked.search, "premium")
    names = [use.path for use in asked.model.rows]
    assert "premium.gross" in names
    assert all("premium" in name for name in names)
    at = names.index("premium.gross")
    assert asked.model.cell(asked.model.index(at, 1)).text == "Decimal128"
    assert asked.about.text() == "Found in 200 documents of the collection"
    assert asked.trouble.isHidden()  # without words it takes no room
    asked.list.setCurrentIndex(asked.model.index(at, 0))
    asked.list.setFocus()
    qtbot.keyClick(asked.list, Qt.Key.Key_Space)
    assert asked.columns.text() == "status, product, holder.name, holder.email, premium.gross"
    qtbot.keyClick(asked.list, Qt.Key.Key_Return)
    wait_idle(qtbot)
    assert "premium.gross" in panel.model.headers
    assert panel.bar.shape_button.toolTip().endswith(
        "\nColumns: status, product, holder.name, holder.email, premium.gross"
    )


@pytest.mark.deep
def test_skip_and_limit_bound_the_list_its_pages_and_its_count(panel: BrowserPanel, qtbot: QtBot) -> None:
    preferences.put("page_size", 50)
    wait_idle(qtbot, lambda: len(panel.model.rows) == 50)
    everything = ids(panel)
    asked = options(panel, qtbot)
    asked.skip.setText("2")
    asked.limit.setText("30")
    asked.run.click()
    wait_idle(qtbot)
    panel.pager.set_size(25)
    wait_idle(qtbot)
    assert ids(panel) == everything[2:27]
    assert panel.pager.text == "1–25 of 30 documents"
    panel.show_page(1)
    wait_idle(qtbot)
    assert ids(panel) == everything[27:32]
    assert not panel.pager._on.isEnabled()
    assert "skip 2, limit 30" in panel.bar.shape_button.toolTip()


@pytest.mark.deep
def test_a_limit_that_is_no_number_is_refused_in_the_sheet(panel: BrowserPanel, qtbot: QtBot) -> None:
    asked = options(panel, qtbot)
    asked.limit.setText("many")
    asked.run.click()
    assert asked.trouble.text() == "Limit is a whole number of documents, and many is none."
    assert asked.isVisible()


# --- earlier and saved queries


def entries(menu: QMenu) -> list[str]:
    return [action.text() for action in menu.actions() if not action.isSeparator()]


@pytest.mark.deep
def test_a_saved_query_comes_back_whole_and_can_be_forgotten(panel: BrowserPanel, qtbot: QtBot) -> None:
    wanted = Query('{ "status": "active" }', "_id descending", "status, v", any_version=True, limit=7, skip=1)
    panel.bar.take(wanted)
    wait_idle(qtbot)
    listed = ids(panel)
    {action.text(): action for action in panel.bar.past_menu().actions()}["Save this query…"].trigger()
    asked = sheet(panel)
    name = asked.focusWidget()
    assert isinstance(name, QLineEdit)
    qtbot.keyClicks(name, "open ones")
    qtbot.keyClick(name, Qt.Key.Key_Return)
    panel.bar.take(Query())
    wait_idle(qtbot)
    assert ids(panel) != listed
    again = shown(panel._session, NS, qtbot)  # another tab of the same collection
    first = again.bar.past_menu().actions()[0]
    assert first.text().startswith('open ones:  { "status"')
    first.trigger()
    wait_idle(qtbot)
    assert again.ran == wanted
    assert ids(again) == listed
    forget = next(action.menu() for action in again.bar.past_menu().actions() if action.menu() is not None)
    forget.actions()[0].trigger()
    assert again.bar.past.saved() == {}


@pytest.mark.deep
def test_the_history_holds_whole_queries_and_reads_those_of_an_older_version(panel: BrowserPanel, qtbot: QtBot) -> None:
    preferences.remember(f"queries/{panel._session.source}/{NS}", ['{ "old": 1 }', {"filter": "{}", "limit": "x"}, 7])
    assert panel.bar.past.ran() == [Query('{ "old": 1 }'), Query("{}")]
    panel.bar.set_sort('{ "v": -1 }')
    wait_idle(qtbot)
    assert panel.bar.past.ran()[0] == Query(sort='{ "v": -1 }')
    assert entries(panel.bar.past_menu())[0] == "all documents, v descending"


# --- a look, and an explanation


@pytest.mark.deep
def test_pointing_at_a_row_shows_the_beginning_of_its_document(panel: BrowserPanel) -> None:
    at = panel.model.row_of(Value.of("K-204117"))
    shown = panel.model.index(at, 0).data(Qt.ItemDataRole.ToolTipRole)
    lines = shown.splitlines()
    assert lines[0] == '"K-204117"'
    assert 'status: "active"' in lines
    assert not [line for line in lines if line.startswith(("v:", "_w:"))]  # which its columns say already


def test_a_query_is_explained_in_words_with_the_index_that_is_missing_and_those_there_are(
    panel: BrowserPanel, qtbot: QtBot
) -> None:
    panel.set_filter('{ "status": "active" }')
    wait_idle(qtbot)
    panel.bar.explain_button.click()
    asked = sheet(panel)
    assert isinstance(asked, ExplainSheet)
    wait_idle(qtbot, lambda: asked.states.kind == "content" and bool(asked.model.rows))
    assert [row.name for row in asked.model.rows] == ["_id_", "changedAt_1"]
    (said,) = (each for each in asked.states.findChildren(QLabel) if each.text().startswith("Scans 2,483 documents"))
    assert _plain(said.text()).endswith("Index missing: { status: 1 }.")
    assert said.text().split(" ")[-1] == "{\N{NO-BREAK SPACE}status:\N{NO-BREAK SPACE}1\N{NO-BREAK SPACE}}."
    copy = next(made for made in asked.findChildren(QPushButton) if made.text() == "Copy the command")
    copy.click()
    said = QGuiApplication.clipboard().text()
    assert said == 'db.getSiblingDB("insurance").getCollection("contracts").createIndex({ status: 1 })'


@pytest.mark.deep
def test_what_finds_no_room_beside_the_filter_stands_below_it(panel: BrowserPanel, qtbot: QtBot) -> None:
    bar = panel.bar
    panel.resize(560, 700)
    qtbot.waitUntil(lambda: bar.run_button.y() > bar.input.geometry().bottom())
    beside = (bar.shape_button, bar.explain_button, bar.run_button)
    below = [part for part in beside if part.y() > bar.input.geometry().bottom()]
    assert min(part.x() for part in below) == bar.input.x()


def _plain(said: str) -> str:
    return said.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.deep
@pytest.mark.parametrize("width", [1160, 620])
def test_the_indexes_stand_right_below_the_explanation_and_none_of_their_columns_is_cut(
    panel: BrowserPanel, width: int, qtbot: QtBot
) -> None:
    panel.resize(width, 1000)
    asked = panel.explain()
    wait_idle(qtbot, lambda: asked.states.kind == "content" and bool(asked.model.rows))
    header, since = asked.list.header(), asked.model.cell(asked.model.index(0, 4))
    qtbot.waitUntil(lambda: header.sectionSize(4) >= max(full_width(since), header.sectionSizeHint(4)))
    assert header.length() <= asked.list.viewport().width()
    (said,) = (each for each in asked.states.findChildren(QLabel) if "2,483 documents" in each.text())

    def between() -> int:
        return asked.list.mapTo(asked, QPoint()).y() - said.mapTo(asked, said.rect().bottomLeft()).y()

    qtbot.waitUntil(lambda: 0 < between() < theme.px(56))
    asked.accept()


def test_a_filter_that_cannot_be_explained_says_why_and_the_indexes_are_listed(
    panel: BrowserPanel, qtbot: QtBot
) -> None:
    panel.bar.input.setText("{ status: { $nonsense: 1 } }")
    asked = panel.explain()
    wait_idle(qtbot, lambda: asked.states.kind == "failed" and bool(asked.model.rows))
    assert "nonsense" in asked.states.state.help
