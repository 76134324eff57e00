"""The document list: filter, order, pages, histories, and the states shown instead."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from pathlib import Path

import bson
import pytest
from bson import ObjectId
from msgspec.structs import replace
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from gui import copying, turns
from gui.style import preferences, theme, wording
from gui.style.cells import BRIEF, CELL, Cell, _elided, full_width
from gui.views.browse.browser_panel import BrowserPanel
from gui.views.browse.documents_model import DocumentsModel
from gui.views.browse.query import Query, field_names, sort_words
from gui.views.browse.query_options import QueryOptions
from model import text
from model.foundation.checkpoints import Checkpoint
from model.foundation.records import CollectionInfo, Outline, Row
from model.session import Session
from model.session.document_lists import DocumentLists
from model.session.through_time import ThroughTime
from model.values import canonical
from model.values.canonical import Value
from tests.gui.dragging import size_column
from tests.gui.menus import choose, offered
from tests.gui.refusals import denied, going_on, try_again
from tests.gui.window.windows import NS, wait_idle

CONTENT = ["field:product", "field:holder.name", "field:status", "field:holder.email"]
"""The columns of content in the list of contracts: nobody has chosen any."""


@pytest.fixture(autouse=True)
def _pages(look: None) -> None:
    """Pages of the size that the program begins with."""
    preferences.put("page_size", 50)


@pytest.fixture(scope="module")
def session(homes: Path) -> Session:
    with Session.open("sample:", home=homes / "browser") as made:
        yield made


@pytest.fixture
def panel(session: Session, qtbot: QtBot) -> BrowserPanel:
    return shown(session, NS, qtbot)


def shown(session: Session, ns: str, qtbot: QtBot) -> BrowserPanel:
    made = BrowserPanel(session, ns)
    qtbot.addWidget(made)
    made.resize(1160, 340)
    made.show()
    wait_idle(qtbot, lambda: made.page is not None)
    return made


def cells(panel: BrowserPanel, row: int) -> dict[str, Cell]:
    return {name: panel.model.index(row, at).data(CELL) for at, name in enumerate(panel.model.columns)}


def row_of(panel: BrowserPanel, id: str) -> int:
    return panel.model.row_of(Value.of(id))


def test_a_row_says_who_changed_it_last_and_its_tooltip_why() -> None:
    fields = {"version": "v", "current": "now", "author": "by", "reason": "why"}
    info = CollectionInfo(NS, "embedded", fields, None, 1.0, "")
    model = DocumentsModel()
    model.set_columns(info, Query())
    inside = {"_id": 1, "now": {"v": 2, "by": "rk-204", "why": "the customer called"}}
    rows = [Row(Value.of(1), Value.of(2), None, 9, canonical.encode(each)) for each in (inside, {"_id": 2, "now": {}})]
    model.fill(rows)
    named, unnamed = (model.cell(model.index(at, model.columns.index("author"))) for at in (0, 1))
    assert (named.text, named.tip, unnamed.text) == ("rk-204", "the customer called", "not known")
    model.set_columns(replace(info, signed_beside=True), Query())
    model.fill(rows)
    told = model.index(0, model.columns.index("author"))
    assert model.cell(told) == Cell()  # it stands in the rows beside, which are still being read
    beside = Outline(Value.of(1), (), "Sound", "sound", author="ann", reason="the law says so")
    model.put_outline(beside)
    assert (model.cell(told).text, model.cell(told).tip) == ("ann", "the law says so")


def test_the_histories_of_the_rows_in_sight_are_read_before_those_of_the_others(
    session: Session, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[Value]] = []
    read = DocumentLists.outlines

    def outlines(self: DocumentLists, ns: str, ids: Sequence[Value], checkpoint: Checkpoint) -> Iterator[Outline]:
        asked.append(list(ids))
        return read(self, ns, ids, checkpoint)

    monkeypatch.setattr(DocumentLists, "outlines", outlines)
    panel = BrowserPanel(session, NS)
    qtbot.addWidget(panel)
    panel.resize(1160, 340)
    panel.show()
    wait_idle(qtbot, lambda: len(panel.model.rows) == 50 and len(panel.model.outlines) == 50)
    first, others = asked
    bottom = panel.list.indexAt(panel.list.viewport().rect().bottomLeft()).row()
    assert [row.id for row in panel.model.rows[: bottom + 1]] == first[: bottom + 1]
    assert len(first) <= bottom + 2
    assert [*first, *others] == [row.id for row in panel.model.rows]


def test_what_is_read_after_the_page_renews_and_measures_only_its_own_columns(
    panel: BrowserPanel, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_idle(qtbot, lambda: len(panel.model.outlines) == len(panel.model.rows))
    qtbot.waitUntil(lambda: not (panel.list._later.isActive() or turns.turns.waiting))
    made: list[str] = []
    make = panel.model._cell
    monkeypatch.setattr(panel.model, "_cell", lambda row, column: made.append(column) or make(row, column))
    id = panel.model.rows[0].id
    panel.model.put_outline(Outline(id, (), "Sound", "sound"))
    panel.list.fit_columns()
    assert set(made) == {"at", "author", "health", "history"} & {*panel.model.columns}
    made.clear()
    panel.model.put_sizes({id: 123_456})
    panel.list.fit_columns()
    assert made == ["size"]


@pytest.mark.deep
def test_the_list_says_who_changed_a_document_last_whose_history_another_program_wrote(
    qtbot: QtBot, homes: Path
) -> None:
    with (
        as_file(files("resources").joinpath("examples", "javers")) as folder,
        Session.open(str(folder), home=homes / "signed", read_only=True) as session,
    ):
        panel = shown(session, "shop.items", qtbot)
        wait_idle(qtbot, lambda: all(bool(cells(panel, at)["health"].text) for at in range(len(panel.model.rows))))
        said = {row.id: cells(panel, at)["author"].text for at, row in enumerate(panel.model.rows)}
        newest = {id: next(iter(session.history.versions("shop.items", id))).author for id in said}
        assert said == newest
        assert any(newest.values())
        panel.close()


@pytest.mark.deep
def test_a_row_says_id_version_history_change_size_and_health(panel: BrowserPanel) -> None:
    found = cells(panel, row_of(panel, "K-204117"))
    assert list(found) == ["id", "version", *CONTENT, "history", "at", "author", "size", "health"]
    assert found["author"].text == "rk-204"
    assert found["id"].text == "K-204117"
    assert found["version"].text == "v14"
    assert found["history"].accessible == "history: 14 versions, 3 missing"
    assert found["at"].text == "20 Nov 2026 14:26"
    assert found["size"].text.endswith(" KB")
    assert [badge.text for badge in found["health"].badges] == ["3 missing, 1 hash differs"]


@pytest.mark.deep
def test_a_sound_document_has_a_tick_and_the_word(panel: BrowserPanel) -> None:
    found = cells(panel, row_of(panel, "K-204109"))["health"]
    assert (found.text, found.icon) == ("Sound", "check-bold")


@pytest.mark.deep
def test_a_deleted_document_has_no_size_and_no_tick(qtbot: QtBot, homes: Path) -> None:
    with (
        as_file(files("resources").joinpath("examples", "javers")) as folder,
        Session.open(str(folder), home=homes / "deleted", read_only=True) as session,
    ):
        panel = shown(session, "shop.items", qtbot)
        at = row_of(panel, "K-4")
        wait_idle(qtbot, lambda: bool(cells(panel, at)["health"].text))
        found = cells(panel, at)
        assert found["size"].text == ""
        assert (found["health"].text, found["health"].icon) == ("Deleted", "trash")
        panel.close()


@pytest.mark.deep
def test_numbers_and_their_headers_stand_right(panel: BrowserPanel) -> None:
    right = {panel.model.columns[at] for at in panel.model.right_headers}
    assert right == {"version", "size"}
    found = cells(panel, 0)
    assert {name for name, cell in found.items() if cell.right} == right


def test_enter_runs_the_filter(panel: BrowserPanel, qtbot: QtBot) -> None:
    panel.bar.input.clear()
    qtbot.keyClicks(panel.bar.input, "{ _id: 'K-204117' }")
    qtbot.keyClick(panel.bar.input, Qt.Key.Key_Return)
    wait_idle(qtbot)
    assert [row.id for row in panel.model.rows] == [Value.of("K-204117")]
    assert panel.pager.text == "1–1 of 1 document"


def test_a_filter_that_cannot_be_read_is_said_below_with_its_place_and_everything_stays(
    panel: BrowserPanel, qtbot: QtBot
) -> None:
    rows = list(panel.model.rows)
    panel.bar.input.setText('{ "status": "active"')
    panel.bar.run_button.click()
    assert "line 1, column" in panel.bar.error.lower()
    assert panel.bar.input.text() == '{ "status": "active"'
    assert panel.bar.input.property("bad")
    assert panel.model.rows == rows
    qtbot.keyClicks(panel.bar.input, " }")
    assert panel.bar.error == ""


@pytest.mark.deep
def test_an_operator_that_the_server_does_not_know_is_said_below_and_rows_stay(
    panel: BrowserPanel, qtbot: QtBot
) -> None:
    rows = list(panel.model.rows)
    panel.set_filter('{ "status": { "$nonsense": 1 } }')
    wait_idle(qtbot, lambda: bool(panel.bar.error))
    assert panel.model.rows == rows
    assert panel.states.kind == "content"


@pytest.mark.deep
@pytest.mark.parametrize("is_first", [True, False])
def test_a_query_that_fails_while_a_write_is_followed_leaves_no_old_rows(
    panel: BrowserPanel, session: Session, qtbot: QtBot, is_first: bool
) -> None:
    at = row_of(panel, "K-204109")
    row = panel.model.rows[at]
    base = session.history.version(NS, row.id)
    assert base.content is not None
    said = Value.of(f"written meanwhile, {is_first}")
    session.writing.save(NS, row.id, base, canonical.put(base.content, ("note",), said))
    steps = [lambda: panel.set_filter('{ "status": { "$nonsense": 1 } }'), lambda: panel.follow({row.id})]
    for step in steps if is_first else steps[::-1]:
        step()
    wait_idle(qtbot, lambda: bool(panel.bar.error))
    wait_idle(qtbot)
    assert canonical.get(panel.model.rows[at].raw, ("note",)) == said
    assert "$nonsense" in panel.bar.error
    assert "$nonsense" in panel.bar.input.text()


@pytest.mark.deep
def test_a_refresh_that_was_stopped_is_said_until_the_next_one(
    panel: BrowserPanel, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(DocumentLists, "page", going_on)
        panel.refresh()
        panel.stop()
        wait_idle(qtbot)
    assert (panel.states.kind, panel.bar.error) == ("content", "Reading was stopped; these rows were read before it.")
    panel.refresh()
    wait_idle(qtbot)
    assert panel.bar.error == ""


def test_no_match_says_how_many_there_are_and_clears_the_filter(panel: BrowserPanel, qtbot: QtBot) -> None:
    panel.set_filter('{ "status": "activ" }')
    wait_idle(qtbot)
    assert panel.states.kind == "empty"
    assert panel.states.state.title == "No document matches this filter"
    assert '"activ"' in panel.states.state.help
    panel.bar.input.setText('{ "status": "active"')
    panel.bar.run_button.click()
    assert panel.states.state.title == "The query did not run"
    assert "activ" not in panel.states.state.help
    panel.clear_filter()
    wait_idle(qtbot)
    assert panel.states.kind == "content"
    assert len(panel.model.rows) == 50


@pytest.mark.deep
@pytest.mark.parametrize("typed", ["12", '{ "$nonsense": 1 }'])
def test_a_tab_that_is_opened_again_with_words_that_never_ran_lists_what_it_listed_before(
    session: Session, qtbot: QtBot, typed: str
) -> None:
    panel = BrowserPanel(session, NS)
    qtbot.addWidget(panel)
    panel.show()
    panel.bar.put(Query(typed))
    wait_idle(qtbot, lambda: panel.page is not None)
    assert (panel.ran, panel.states.kind, len(panel.model.rows)) == (Query(), "content", 50)
    assert panel.bar.input.text() == typed
    assert panel.bar.error


def test_an_empty_collection_is_not_called_a_bad_filter(session: Session, qtbot: QtBot) -> None:
    panel = shown(session, "insurance.agents", qtbot)
    panel.model.fill([])
    panel._show_empty(panel._ran)
    assert "has no documents yet" in panel.states.state.title


def test_pages_go_on_and_back(panel: BrowserPanel, qtbot: QtBot) -> None:
    first = [row.id for row in panel.model.rows]
    panel.pager._on.click()
    wait_idle(qtbot)
    assert panel.pager.text.startswith("51–100 of ")
    assert not set(first) & {row.id for row in panel.model.rows}
    panel.pager._back.click()
    wait_idle(qtbot)
    assert [row.id for row in panel.model.rows] == first


@pytest.mark.deep
def test_rows_a_page_are_remembered(panel: BrowserPanel, qtbot: QtBot) -> None:
    panel.pager.set_size(25)
    wait_idle(qtbot)
    assert len(panel.model.rows) == 25
    assert preferences.get("page_size") == 25


def test_an_order_is_said_in_words_and_runs(panel: BrowserPanel, qtbot: QtBot) -> None:
    panel.bar.set_sort('{ "_id": -1 }')
    wait_idle(qtbot)
    assert panel.bar.shape_button.text() == "_id descending"
    menu = {action.text(): action for action in panel.bar.shape_menu().actions() if not action.isSeparator()}
    assert [name for name, action in menu.items() if action.isChecked()] == ["_id descending"]
    assert [*menu][-3:] == ["Another order…", "Columns…", "Skip and limit…"]
    ids = [row.id.python() for row in panel.model.rows]
    assert ids == sorted(ids, reverse=True)
    assert sort_words('{ "premium.gross": -1, "_id": 1 }') == "premium.gross descending, 1 more"


def test_fields_become_columns_and_absence_is_said(panel: BrowserPanel, qtbot: QtBot) -> None:
    panel.bar.set_fields("status, no.such")
    wait_idle(qtbot)
    assert panel.model.headers[:4] == ("_id", "Version", "status", "no.such")
    assert panel.model.headers is panel.model.headers, "each cell of a header asks for them"
    found = cells(panel, row_of(panel, "K-204117"))
    assert found["field:status"].text == '"active"'
    assert found["field:no.such"].text == "not there"
    assert field_names('{ "a.b": 1, c: 0, d: true }') == ["a.b", "d"]


def test_the_list_is_reset_once_where_its_columns_change(panel: BrowserPanel, qtbot: QtBot) -> None:
    resets: list[int] = []
    panel.model.modelReset.connect(lambda: resets.append(panel.model.columnCount()))
    for fields in ("status, no.such", "status", "status, product, holder.name"):
        panel.bar.set_fields(fields)
        wait_idle(qtbot)
        assert resets.pop() == panel.model.columnCount()
        assert panel.list.header().count() == panel.model.columnCount()
        assert not resets
        assert panel.list.currentIndex().isValid()


def test_fields_that_tell_documents_apart_are_columns_from_the_first_moment(session: Session, qtbot: QtBot) -> None:
    made = BrowserPanel(session, "insurance.claims")
    qtbot.addWidget(made)
    shown_first: list[tuple[str, ...]] = []
    for filled in (made.model.modelReset, made.model.rowsInserted):
        filled.connect(lambda: shown_first.append(made.model.columns) if made.model.rows else None)
    made.show()
    wait_idle(qtbot, lambda: made.page is not None)
    content = [name for name in made.model.columns if name.startswith("field:")]
    assert content == ["field:kind", "field:status", "field:number", "field:paid"]
    assert set(shown_first) == {made.model.columns}, "the columns changed while the list was shown"
    assert made.bar.shape_button.toolTip() == "docId ascending\nColumns: kind, status, number, paid"
    made.set_filter('{ "status": "closed" }')  # which no longer tells these apart
    wait_idle(qtbot)
    assert [name for name in made.model.columns if name.startswith("field:")] == content


@pytest.mark.deep
def test_the_columns_that_a_person_chose_are_there_at_the_next_opening(session: Session, qtbot: QtBot) -> None:
    first = shown(session, NS, qtbot)
    first.bar.set_fields("premium.gross, agent")
    wait_idle(qtbot)
    again = shown(session, NS, qtbot)
    assert again.model.headers[2:4] == ("premium.gross", "agent")
    again.put(Query('{ "status": "active" }'))  # as where a link opens the list
    assert again.bar.query == Query('{ "status": "active" }', fields="premium.gross, agent")
    again.bar.set_fields("")
    wait_idle(qtbot)
    assert [name for name in again.model.columns if ":" in name] == CONTENT
    assert [name for name in shown(session, NS, qtbot).model.columns if ":" in name] == CONTENT


@pytest.mark.deep
def test_all_fields_of_the_documents_can_be_columns_and_are_scrolled_to(session: Session, qtbot: QtBot) -> None:
    panel = shown(session, "insurance.agents", qtbot)
    panel.bar.choose("columns")
    sheet = panel.findChild(QueryOptions)
    assert sheet is not None
    assert sheet.columns.text() == "name, region, contracts, commission"  # those that are shown
    wait_idle(qtbot, sheet.every.isEnabled)
    sheet.every.click()
    sheet.run.click()
    wait_idle(qtbot)
    content = [name.removeprefix("field:") for name in panel.model.columns if name.startswith("field:")]
    assert content == ["active", "commission", "contracts", "languages", "name", "phone", "region", "since"]
    assert not hidden(panel)
    assert min(map(panel.list.columnWidth, range(len(panel.model.columns)))) >= 72
    assert panel.list.horizontalScrollBar().maximum() > 0
    panel.bar.set_fields("")
    wait_idle(qtbot)
    assert panel.list.horizontalScrollBar().maximum() == 0


@pytest.mark.deep
def test_a_document_of_the_past_is_shown_without_the_fields_of_the_layout(session: Session, qtbot: QtBot) -> None:
    panel = shown(session, NS, qtbot)
    panel.bar.toggle_deleted()
    wait_idle(qtbot)
    found = cells(panel, row_of(panel, "K-204099"))["preview"]
    assert b"_versioned_id" in panel.model.rows[row_of(panel, "K-204099")].raw
    assert found.text.startswith('{ status: "active", product: "Household", holder:')


def test_ids_are_cut_where_they_do_not_differ() -> None:
    model = DocumentsModel()
    ids = [ObjectId(f"6a3e3b2a9b1e8a0e0ec4{n:04x}") for n in (1, 2, 0x1F)]
    model.fill([Row(Value.of(id), None, None, 0, canonical.EMPTY) for id in ids])
    found = [model.index(row, 0).data(CELL) for row in range(3)]
    drawn = [_elided(cell.spans, (True, 12, 400), 90, cell.middle, cell.shared)[0].text for cell in found]
    assert [said.partition("…")[2] for said in drawn] == ["c40001", "c40002", "c4001f"]
    assert {said.partition("…")[0] for said in drawn} == {"6a3e3"}
    assert found[0].accessible == f'ObjectId("{ids[0]}")'


def test_a_refresh_keeps_selection_and_scroll(panel: BrowserPanel, qtbot: QtBot) -> None:
    at = row_of(panel, "K-204117") + 20
    panel.list.setCurrentIndex(panel.model.index(at, 0))
    chosen = panel.row
    panel.list.verticalScrollBar().setValue(300)
    panel.refresh()
    wait_idle(qtbot)
    assert panel.row is not None
    assert chosen is not None
    assert panel.row.id == chosen.id
    assert panel.list.verticalScrollBar().value() == 300


@pytest.mark.deep
def test_a_refresh_keeps_what_is_selected_in_the_json(panel: BrowserPanel, qtbot: QtBot) -> None:
    panel.show_json(True)
    wait_idle(qtbot)
    assert panel.json.find("K-118240")
    panel.json.verticalScrollBar().setValue(5)
    panel.refresh()
    wait_idle(qtbot)
    assert panel.json.textCursor().selectedText() == "K-118240"
    assert panel.json.verticalScrollBar().value() == 5
    panel.show_page(1)
    wait_idle(qtbot)
    assert not panel.json.textCursor().hasSelection()  # these are other documents


@pytest.mark.deep
def test_other_columns_keep_what_is_chosen_picked_and_scrolled_to(panel: BrowserPanel, qtbot: QtBot) -> None:
    at = row_of(panel, "K-204117") + 20
    selection, flags = panel.list.selectionModel(), QItemSelectionModel.SelectionFlag
    panel.list.setCurrentIndex(panel.model.index(at, 0))
    selection.select(panel.model.index(at + 2, 0), flags.Select | flags.Rows)
    before = [row.id for row in panel.picked]
    assert len(before) == 2
    panel.list.verticalScrollBar().setValue(300)
    for fields in ("status, premium", "status", ""):
        panel.bar.set_fields(fields)
        wait_idle(qtbot)
        shown = [name for name in panel.model.columns if ":" in name]
        assert shown == ([f"field:{name}" for name in field_names(fields)] or CONTENT)
        assert panel.row is not None
        assert panel.row.id == before[0]
        assert [row.id for row in panel.picked] == before
        assert panel.list.verticalScrollBar().value() == 300


@pytest.mark.deep
def test_a_document_of_another_page_is_found_by_its_id(panel: BrowserPanel, qtbot: QtBot, session: Session) -> None:
    panel.show_page(3)
    wait_idle(qtbot)
    far = panel.model.rows[7].id
    panel.show_page(0)
    wait_idle(qtbot)
    panel.select(far)
    wait_idle(qtbot)
    assert panel.row is not None
    assert panel.row.id == far


def test_choosing_a_row_is_told_and_enter_opens_it(panel: BrowserPanel, qtbot: QtBot) -> None:
    panel.list.setFocus()
    with qtbot.waitSignal(panel.chosen) as chosen:
        qtbot.keyClick(panel.list, Qt.Key.Key_Down)
    with qtbot.waitSignal(panel.open_asked) as opened:
        qtbot.keyClick(panel.list, Qt.Key.Key_Return)
    assert opened.args == [chosen.args[0].id]


@pytest.mark.deep
def test_filters_that_ran_are_offered_again_and_can_be_forgotten(panel: BrowserPanel, qtbot: QtBot) -> None:
    for filter in ('{ "status": "active" }', '{ "status": "lapsed" }', '{ "status": "active" }'):
        panel.bar.set_filter(filter)
        panel.bar.run_button.click()
        wait_idle(qtbot)
    assert panel.bar.past.ran() == [Query('{ "status": "active" }'), Query('{ "status": "lapsed" }')]
    by_text = {action.text(): action for action in panel.bar.past_menu().actions()}
    by_text["Forget the earlier queries"].trigger()
    assert panel.bar.past.ran() == []


@pytest.mark.deep
def test_the_switch_for_any_version_is_there_only_where_there_are_versions(session: Session, qtbot: QtBot) -> None:
    assert shown(session, NS, qtbot).bar._any.isVisible()
    assert not shown(session, "insurance.agents", qtbot).bar._any.isVisible()


@pytest.mark.deep
def test_in_any_version_more_documents_match(panel: BrowserPanel, qtbot: QtBot) -> None:
    filter = '{ "_id": "K-204117", "billing.interval": "yearly" }'
    panel.set_filter(filter)
    wait_idle(qtbot)
    assert panel.states.kind == "empty"
    panel.set_filter('{ "v": 40 }')
    wait_idle(qtbot)
    now = panel.page
    panel.bar._any.click()
    wait_idle(qtbot)
    assert now is not None
    assert panel.page is not None
    assert [row.id.python() for row in now.rows] == ["K-208201"]
    assert "K-208201" in [row.id.python() for row in panel.page.rows]
    assert "K-118240" in [row.id.python() for row in panel.page.rows]


def test_documents_can_be_read_as_json(panel: BrowserPanel, qtbot: QtBot) -> None:
    panel.show_json(True)
    wait_idle(qtbot)
    assert panel.json.isVisible()
    assert '"_id": "K-204117"' in panel.json.toPlainText()
    assert panel.json.firstVisibleBlock().blockNumber() == 0
    panel.show_json(False)
    assert panel.list.isVisible()


@pytest.mark.deep
def test_json_begins_at_the_chosen_document_and_stays_where_it_was_scrolled_to(
    panel: BrowserPanel, qtbot: QtBot
) -> None:
    panel.list.setCurrentIndex(panel.model.index(row_of(panel, "K-204117"), 0))
    panel.show_json(True)
    wait_idle(qtbot)
    seen = panel.json.firstVisibleBlock()
    assert seen.text() == "{"
    assert seen.next().text() == '  "_id": "K-204117",'
    assert panel.json.textCursor().block() == seen
    panel.json.verticalScrollBar().setValue(7)
    panel.refresh()
    wait_idle(qtbot)
    assert panel.json.firstVisibleBlock().blockNumber() == 7


def test_the_menu_copies_id_and_document(panel: BrowserPanel) -> None:
    row = panel.model.rows[row_of(panel, "K-204117")]
    menu = panel.menu_for(row)
    by_text = offered(menu)
    by_text["Copy the id"].trigger()
    assert QGuiApplication.clipboard().text() == "K-204117"
    by_text["Copy as Extended JSON"].trigger()
    assert '"_id": "K-204117"' in QGuiApplication.clipboard().text()


@pytest.mark.deep
def test_an_id_stays_on_the_clipboard_though_a_large_copy_begun_before_it_ends_later(
    panel: BrowserPanel, qtbot: QtBot
) -> None:
    gate = threading.Event()
    copying.copy(panel, None, lambda: "large" if gate.wait(60) else "")
    menu = panel.menu_for(panel.model.rows[row_of(panel, "K-204117")])
    choose(menu, "Copy the id")
    gate.set()
    wait_idle(qtbot)
    assert QGuiApplication.clipboard().text() == "K-204117"


def test_opening_the_menu_writes_no_document_out(panel: BrowserPanel, monkeypatch: pytest.MonkeyPatch) -> None:
    row = panel.model.rows[row_of(panel, "K-204117")]
    written: list[bytes] = []
    monkeypatch.setattr(text, "to_utf8", lambda raw, *_: written.append(raw) or b"it")
    menu = panel.menu_for(row)
    assert not written  # one of 15 MB takes a while
    choose(menu, "Copy as Extended JSON")
    assert written == [row.raw]


def test_a_document_that_does_not_decode_is_listed_and_says_so(qtbot: QtBot, tmp_path: Path, home: Path) -> None:
    good = bson.encode({"_id": 1, "name": "Ada"})
    bad = bytearray(bson.encode({"_id": 2, "name": "Bob"}))
    bad[-8:-1] = b"\xff" * 7
    (tmp_path / "people.bson").write_bytes(good + bytes(bad))
    with Session.open(str(tmp_path / "people.bson")) as session:
        ns = next(info.ns for info in session.catalogue.collections())
        panel = shown(session, ns, qtbot)
        found = [cells(panel, row)["health"] for row in range(len(panel.model.rows))]
        assert [[badge.text for badge in cell.badges] for cell in found] == [[], ["Does not decode"]]


def test_a_collection_that_is_gone_says_so_and_offers_to_try_again(session: Session, qtbot: QtBot) -> None:
    made = BrowserPanel(session, "insurance.nowhere")
    qtbot.addWidget(made)
    made.show()
    wait_idle(qtbot, lambda: made.states.kind != "content")
    assert made.states.kind in ("failed", "empty")
    assert "nowhere" in made.states.state.title + made.states.state.help


@pytest.mark.deep
def test_columns_that_were_sized_stay_so(panel: BrowserPanel, session: Session, qtbot: QtBot) -> None:
    key = panel._widths_kept
    preferences.remember(key, {"id": 222})
    again = shown(session, NS, qtbot)
    assert again.list.header().sectionSize(0) == 222


def cut(panel: BrowserPanel) -> list[str]:
    """The columns of the list that are out of sight or whose words are cut somewhere."""
    view, header = panel.list.viewport(), panel.list.header()
    seen = [at for at in range(len(panel.model.columns)) if not header.isSectionHidden(at)]
    widths = {at: header.sectionSize(at) for at in seen}
    rows = range(len(panel.model.rows))
    return [
        panel.model.columns[at]
        for at in seen
        if header.sectionViewportPosition(at) + widths[at] > view.width()
        or (
            any(full_width(panel.model.index(row, at).data(CELL)) > widths[at] for row in rows)
            and panel.model.columns[at] != "history"
        )  # of which the newest are drawn
    ]


def hidden(panel: BrowserPanel) -> list[str]:
    return [name for at, name in enumerate(panel.model.columns) if panel.list.isColumnHidden(at)]


def test_in_a_narrow_list_of_versions_only_values_and_their_ids_are_cut(session: Session, qtbot: QtBot) -> None:
    panel = shown(session, "insurance.contracts_history", qtbot)
    panel.resize(700, 340)  # a window of 1440 pixels with text at 200 %
    qtbot.waitUntil(lambda: cut(panel) == ["id", "preview"])
    assert [name for name in hidden(panel) if not name.startswith("field:")] == ["size", "health"]
    assert not panel.list.isColumnHidden(panel.model.columns.index("field:status"))  # the first one of content
    at, header = panel.model.columns.index("preview"), panel.list.header()
    others = sum(header.sectionSize(other) for other in range(header.count()) if other != at)
    assert panel.list.columnWidth(at) == panel.list.viewport().width() - others >= theme.px(BRIEF)  # in any font
    assert panel.model.index(0, panel.model.columns.index("id")).data(CELL).indent == 0  # its words begin as its header


@pytest.mark.deep
def test_in_a_narrow_list_size_and_further_content_go_before_words_are_cut(panel: BrowserPanel, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not cut(panel) and hidden(panel) == [CONTENT[-1], "size"])
    panel.resize(750, 340)
    qtbot.waitUntil(lambda: hidden(panel) == [*CONTENT[1:], "author", "size"])  # one of content stays
    assert not cut(panel)
    panel.resize(1560, 340)
    qtbot.waitUntil(lambda: not hidden(panel))


def test_who_changed_a_document_goes_only_after_further_columns_of_content(panel: BrowserPanel, qtbot: QtBot) -> None:
    for width in range(1100, 700, -20):
        panel.resize(width, 340)
        qtbot.waitUntil(lambda: not (panel.list._later.isActive() or turns.turns.waiting))
        assert "author" not in hidden(panel) or set(CONTENT[1:]) <= set(hidden(panel))
    assert "author" in hidden(panel)


@pytest.mark.deep
def test_columns_that_follow_the_width_of_the_list_are_not_taken_for_sized_by_a_person(
    panel: BrowserPanel, qtbot: QtBot
) -> None:
    key = panel._widths_kept
    kept = preferences.remembered(key, {})
    before = panel.list.columnWidth(0)
    panel.resize(700, 340)
    qtbot.waitUntil(lambda: panel.list.columnWidth(0) != before)
    assert preferences.remembered(key, {}) == kept
    size_column(panel.list, 0, 143)
    assert preferences.remembered(key, {}) == {"id": 143}
    preferences.remember(key, {})


@pytest.mark.deep
def test_a_width_that_was_kept_of_a_column_that_stretches_keeps_no_column(panel: BrowserPanel, qtbot: QtBot) -> None:
    key = panel._widths_kept
    preferences.remember(key, {"history": 27})
    panel.model.modelReset.emit()
    before = panel.list.columnWidth(0)
    panel.resize(700, 340)
    qtbot.waitUntil(lambda: panel.list.columnWidth(0) != before)
    preferences.remember(key, {})


@pytest.mark.deep
def test_a_search_in_any_version_names_the_versions_that_it_finds(panel: BrowserPanel, qtbot: QtBot) -> None:
    panel.bar._any.click()
    panel.set_filter('{ "premium.gross": { "$gte": 389.2, "$lt": 421 }, _id: "K-118240" }')
    wait_idle(qtbot, lambda: "matches" in panel.model.columns and bool(panel.model.matches))
    found = cells(panel, row_of(panel, "K-118240"))["matches"]
    assert found.text == "v25–v30"
    assert found.tip == "v25–v30: 6 versions of 57"
    panel.clear_filter()
    wait_idle(qtbot, lambda: "matches" not in panel.model.columns)


def test_versions_are_found_by_what_the_layout_keeps_beside_the_content_too(session: Session) -> None:
    id = Value.of("K-204117")
    (found,) = session.documents.matching(NS, [id], '{ "_id": "K-204117", "v": { "$in": [2, 3, 12] } }')
    assert [one.v for one in found.versions] == [Value.of(12), Value.of(3), Value.of(2)]
    assert [(a.v, b.v) for a, b in found.runs] == [(Value.of(12), Value.of(12)), (Value.of(2), Value.of(3))]
    assert found.looked == 11
    (none,) = session.documents.matching(NS, [id], '{ "_id": "another" }')
    assert none.versions == ()


@pytest.mark.deep
def test_nothing_is_said_of_rows_that_could_not_be_read_again(
    panel: BrowserPanel, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.list.setCurrentIndex(panel.model.index(3, 0))
    chosen = panel.row
    assert panel.pager.text == "1–50 of 2,483 documents"
    with monkeypatch.context() as patched:
        patched.setattr(DocumentLists, "page", denied)
        panel.refresh()
        wait_idle(qtbot)
        assert panel.pager.text == ""
        assert not panel.pager._on.isEnabled()
        assert panel.row is None
        assert panel.picked == []
    try_again(panel.states)
    wait_idle(qtbot)
    assert panel.pager.text == "1–50 of 2,483 documents"
    assert chosen is not None
    assert panel.row == chosen


@pytest.mark.parametrize("query", [Query(), Query(fields="name")], ids=["whole", "named fields"])
def test_the_size_is_that_of_the_stored_document_with_the_history_that_lists_leave_out(
    session: Session, qtbot: QtBot, query: Query
) -> None:
    panel = shown(session, "insurance.customers", qtbot)
    panel._run(query, 0)
    wait_idle(qtbot)
    row = next(row for row in panel.model.rows if row.readable)
    stored = session.history.version("insurance.customers", row.id)
    assert stored.raw is not None
    assert row.bytes < len(stored.raw)
    said = cells(panel, panel.model.row_of(row.id))["size"]
    assert said.text == wording.size(len(stored.raw))
    history = session.history.versions("insurance.customers", row.id)
    assert next(each for each in history if each.current).stored_bytes == len(stored.raw)


def test_a_size_that_the_server_cannot_tell_is_at_least_that_of_what_was_read(
    session: Session, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DocumentLists, "sizes", lambda *_: {})
    panel = shown(session, "insurance.customers", qtbot)
    row = next(row for row in panel.model.rows if row.readable)
    assert cells(panel, panel.model.row_of(row.id))["size"].text == f"≥ {wording.size(row.bytes)}"


def test_rows_that_stay_while_another_time_is_read_say_of_which_time_they_are(
    panel: BrowserPanel, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, past = threading.Event(), ThroughTime.past
    monkeypatch.setattr(ThroughTime, "past", lambda *given: go.wait() and past(*given))
    panel.bar.set_filter('{ "_id": "K-204117" }')
    panel.bar.go_to(dt.datetime(2026, 10, 1, tzinfo=dt.UTC))
    said = f"Reading {NS}; these rows are still as of now"
    qtbot.waitUntil(lambda: panel.states._reading._text.accessibleName() == said, timeout=5_000)
    assert len(panel.model.rows) > 1
    go.set()
    wait_idle(qtbot)
    assert len(panel.model.rows) == 1
    assert panel.states._reading.isHidden()
