"""A window too low or narrow for its page: the page scrolls and rows wrap; nothing is squeezed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import pytest
from bson import Decimal128
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QEvent, QModelIndex, QPoint, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QScrollArea, QScrollBar, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gui import language, messages
from gui.actions import TITLES
from gui.pages.activity_page import ActivityPage
from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage, MergePage
from gui.pages.history_pages import BlamePage, FieldPage
from gui.pages.page_registry import PAGES
from gui.pages.page_request import CollectionStart, FieldStart, PageRequest, TakingBackStart
from gui.pages.repair_pages import HealthPage, RepairPage, TakingBackPage
from gui.pages.times_page import TimesPage
from gui.pages.tool_pages import CheckPage, DraftsPage, JournalPage, PendingPage
from gui.parts.differences.diff_model import FIELD
from gui.parts.versions_model import AT, VersionsModel
from gui.style import theme, zooming
from gui.style.cells import CELL, Cell, CellTree, full_width
from gui.style.scrolling import Scrolling
from gui.style.sheet import Sheet
from gui.style.wrapping_row import WrappingRow
from gui.views.activity.activity_model import FIELDS, ActivityModel
from gui.views.activity.live_model import LiveModel
from gui.views.browse.delete_sheet import DeleteSheet
from gui.views.browse.insert_sheet import InsertSheet
from gui.views.browse.query_options import QueryOptions
from gui.views.compare.restore_sheet import RestoreSheet
from gui.views.compare.times_panel import AT as AFTER_AT
from gui.views.edit.editor_parts import BOTH, EditorFoot
from gui.views.edit.once_sheet import OnceSheet
from gui.views.history.blame_panel import BY, SET
from gui.views.history.blame_panel import FIELD as FIELD_NAME
from gui.views.history.blame_panel import VALUE as VALUE_NOW
from gui.views.history.blame_panel import WHEN as SET_AT
from gui.views.history.field_panel import WHEN as SET_ON
from gui.views.merge.conflict_prompt import ClashModel, ConflictPrompt
from gui.views.merge.decision_table import DECISION, SIDES, DecisionTable
from gui.views.repair.taking_back_model import SAID
from gui.views.timeline.version_list import VersionList
from gui.views.tools.journal_panel import WHEN
from gui.window.connect_dialog import ConnectDialog
from gui.window.opening import Opening
from gui.window.palette import Palette
from gui.window.window import Window
from model.foundation.records import Draft, Outcome, Version
from model.operations.taking_back import Chosen
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.gui.window.windows import ID, NS, collection, every_page, new_window, open_sample, press, sheet, wait_idle

RECURSIVE = Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive


def _page_view(window: Window) -> QScrollArea:
    """What shows the page in front, and scrolls it where the window is too low."""
    area = window.workspace.tab_area.findChild(QScrollArea, "pageview")
    assert area is not None
    return area


def _has_room(part: QWidget) -> bool:
    return part.height() >= part.minimumSizeHint().height()


def test_a_page_is_never_squeezed_below_its_parts_and_scrolls_instead(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    session = open_sample(qtbot, window)
    page = window.workspace.open(session, PageRequest("collection", NS))
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot, lambda: bool(page.timeline.model.versions))
    area = _page_view(window)
    bar = area.verticalScrollBar()
    assert bar.maximum() == 0
    window.resize(theme.px(720), theme.px(480))
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    for part in (page.browser.bar, page.timeline.strip, page.diff.tools):
        qtbot.waitUntil(partial(_has_room, part))
    qtbot.waitUntil(lambda: page.browser.bar.input.width() >= theme.px(160))  # the sidebar gives way
    assert page.diff.tools.restore.geometry().right() <= page.diff.tools.width()
    plain = window.workspace.open(session, PageRequest("drafts"))
    qtbot.waitUntil(lambda: plain.height() == area.viewport().height())  # not as high as the page behind it
    window.resize(1440, 900)
    window.workspace.tab_area.show_page(page)
    qtbot.waitUntil(lambda: bar.maximum() == 0)


@pytest.fixture
def twice_as_large() -> Iterator[None]:
    """Text of 200 %, also in what is made from now on."""
    zooming.apply(200)
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # what is closed need not be drawn again
    zooming.apply(100)


@pytest.mark.usefixtures("twice_as_large")
def test_with_text_twice_as_large_a_window_fits_the_smallest_screen_and_nothing_is_out_of_reach(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    assert (window.width(), window.height()) == (1024, 640)
    open_sample(qtbot, window)
    title = window.title
    qtbot.waitUntil(title.more.isVisible)
    shown = [action.menu().title() for action in title.menus.actions() if action.isVisible()]
    assert shown + [menu.title() for menu in title.rest()] == list(TITLES.values())
    for left, right in pairwise((title.menus, title.more, title.badge, title.search, title.tasks, title.theme)):
        assert left.geometry().right() < right.x()
    assert title.theme.geometry().right() < title.width()
    area = _page_view(window)
    across = area.horizontalScrollBar()
    page = window.workspace.page
    assert isinstance(page, CollectionPage)
    messages.note(page, "A document was saved.")
    page.diff.value.setVisible(True)
    for one in window.findChildren(QAbstractButton):
        assert one.isHidden() or one.icon().isNull() or one.iconSize().height() >= theme.px(14), one.accessibleName()
    for line in list(window.messages.lines):
        line.leave()
    qtbot.waitUntil(lambda: across.maximum() == 0)
    while not page.browser.bar.run_button.hasFocus():
        press(window, "Shift+Tab")
    assert page.browser.bar.run_button.visibleRegion().boundingRect() == page.browser.bar.run_button.rect()
    window.resize(1600, 1000)
    qtbot.waitUntil(lambda: not title.more.isVisible())
    assert all(action.isVisible() for action in title.menus.actions())


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large")
def test_a_page_opens_at_its_top_and_follows_the_focus_from_the_first_key_on(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    area = _page_view(window)
    across, down = area.horizontalScrollBar(), area.verticalScrollBar()
    first = window.workspace.page
    assert first is not None
    for kind in ("check", "repair", "migrate"):
        window.workspace.tab_area.show_page(first)
        qtbot.waitUntil(lambda: down.maximum() > 0)
        down.setValue(left := down.maximum())  # the page that is left was scrolled
        page = window.workspace.open(session, PageRequest(kind, "insurance.claims" if kind == "migrate" else ""))
        qtbot.waitUntil(lambda page=page: page.isAncestorOf(window.focusWidget() or window))
        if isinstance(page, CheckPage):
            page.do_refresh()  # its button has the focus, and cannot be pressed meanwhile
        wait_idle(qtbot)
        assert (across.maximum(), down.value()) == (0, 0), kind
        press(window, "Tab")
        now = window.focusWidget()
        assert now is not None
        assert page.isAncestorOf(now)
        shown = now.visibleRegion().boundingRect()
        assert shown.width() >= min(now.width(), area.viewport().width() - theme.px(16)), kind
        assert shown.height() >= min(now.height(), area.viewport().height() - theme.px(48)), kind
        window.workspace.tab_area.show_page(first)
        assert down.value() == left


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large")
def test_with_text_twice_as_large_no_row_of_buttons_or_filters_is_cut(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    session = open_sample(qtbot, window)
    pending = window.workspace.open(session, PageRequest("pending"))
    assert isinstance(pending, PendingPage)
    places = pending.panel.places
    wait_idle(qtbot, places.isVisible)
    qtbot.waitUntil(lambda: places.y() > pending.panel.search.geometry().bottom())  # the filters need two lines
    qtbot.waitUntil(lambda: places.geometry().bottom() < places.parentWidget().height())
    page = window.workspace.open(session, PageRequest("activity", "insurance.claims"))
    assert isinstance(page, ActivityPage)
    wait_idle(qtbot, page.panel.compare_button.isEnabled)
    for one in (*page.panel.grouping.buttons(), page.panel.compare_button, page.panel.take_back_button):
        qtbot.waitUntil(lambda one=one: one.width() >= one.minimumSizeHint().width())


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_of_the_keys_of_a_layout_those_without_room_scroll_and_the_buttons_stay_in_sight(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    open_sample(qtbot, window)
    sheet = window.commands.state_layout(window.sessions[0], "insurance.claims")
    wait_idle(qtbot, lambda: bool(sheet.form.rows))
    assert sheet.width() < window.width()  # the preview stands below the keys
    qtbot.waitUntil(lambda: not sheet.is_scrolled)
    buttons = (sheet.title, sheet.keep, sheet.cancel, sheet.use)
    area = sheet.findChildren(Scrolling)[0]
    for row in sheet.form.rows.values():
        while not row.editor.hasFocus():
            press(window, "Tab")
        assert row.editor.visibleRegion().boundingRect() == row.editor.rect(), row.key.name
    assert area.verticalScrollBar().value() > 0
    for part in buttons:
        assert part.visibleRegion().boundingRect() == part.rect()
    for part in area.widget().findChildren(QWidget):
        if part.isVisible() and part.parentWidget() is area.widget():
            qtbot.waitUntil(partial(_has_room, part))
    sheet.cancel.click()


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large")
def test_a_dialog_larger_than_its_window_is_not_squeezed_and_scrolls_to_what_has_the_focus(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    open_sample(qtbot, window)
    sheet = _Long(window)
    sheet.open()
    assert sheet.is_scrolled
    for part in sheet.lines:
        qtbot.waitUntil(partial(_has_room, part))
    while not sheet.lines[-1].hasFocus():
        press(window, "Shift+Tab")
    assert sheet.lines[-1].visibleRegion().boundingRect() == sheet.lines[-1].rect()
    assert sheet.mapTo(window, QPoint()).y() < 0
    sheet.reject()


class _Long(Sheet):
    """A dialog of more lines than a low window has room for."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, 400)
        self.lines = [QLineEdit() for _ in range(20)]
        column = QVBoxLayout(self)
        for line in self.lines:
            column.addWidget(line)

    def first(self) -> QWidget:
        return self.lines[0]


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_a_plan_of_few_documents_is_in_the_window_with_its_buttons_and_leaves_no_room_empty(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    open_sample(qtbot, window)
    page = collection(window)
    wait_idle(qtbot, lambda: len(page.browser.model.rows) > 4)
    picks = page.browser.list.selectionModel()
    picks.clearSelection()
    for at in (1, 4):
        picks.select(page.browser.model.index(at, 0), picks.SelectionFlag.Select | picks.SelectionFlag.Rows)
    page.do_delete_picked()
    asked = sheet(window)
    assert isinstance(asked, DeleteSheet)
    wait_idle(qtbot, lambda: len(asked.model.rows) == 2)
    qtbot.waitUntil(lambda: asked.width() < window.width())
    for part in (asked.cancel, asked.go):
        qtbot.waitUntil(lambda part=part: part.visibleRegion().boundingRect() == part.rect())
    last = asked.list.visualRect(asked.model.index(1, 0))
    assert last.bottom() <= asked.list.viewport().height() < last.bottom() + last.height()
    asked.reject()


@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_with_text_twice_as_large_all_of_connecting_is_in_the_window(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    window.connecting.ask(Opening("mongodb://eva:secret@db.example/?authMechanism=MONGODB-AWS", "production"))
    dialog = window.findChildren(ConnectDialog)[-1]
    area = dialog.findChildren(Scrolling)[0]
    for button in dialog.parts.buttons():
        button.click()
        qtbot.waitUntil(lambda: area.widget().width() <= area.viewport().width())
        assert dialog.go.visibleRegion().boundingRect() == dialog.go.rect(), button.text()
        assert not dialog.is_scrolled
    dialog.reject()


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_in_a_low_window_an_explanation_leaves_no_empty_room_before_its_buttons(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    open_sample(qtbot, window)
    collection(window).browser.set_filter('{ "status": "active" }')  # for which there is no index
    wait_idle(qtbot)
    asked = collection(window).browser.explain()
    wait_idle(qtbot, lambda: bool(asked.model.rows) and asked.states.kind == "content")
    qtbot.waitUntil(lambda: asked._close.visibleRegion().boundingRect() == asked._close.rect())
    asked.accept()


def _cut(page: QWidget) -> list[str]:
    """The buttons and lines of a page that are not in sight from side to side, or narrower than they can be."""
    return [
        one.accessibleName() or one.objectName()
        for one in page.findChildren(QWidget)
        if isinstance(one, QAbstractButton | QLineEdit) and one.isVisible()
        if one.width() < (one.minimumWidth() or one.minimumSizeHint().width())
        or not 0 <= one.mapTo(page, QPoint()).x() <= page.width() - one.width()
    ]


@pytest.fixture(params=[pytest.param("en", marks=pytest.mark.deep), "de"])
def each_language(request: pytest.FixtureRequest) -> Iterator[None]:
    """The texts of pages that are made from now on in each of the languages; those of German are longer."""
    language.choose(request.param)
    yield
    language.choose("en")


@pytest.mark.deep
@pytest.mark.parametrize(
    "kinds",
    [("collection", "document", "pending"), pytest.param(tuple(PAGES), marks=pytest.mark.deep)],
    ids=["few pages", "all pages"],
)
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_with_text_twice_as_large_no_page_is_scrolled_sideways_and_none_of_their_buttons_is_cut(
    qtbot: QtBot, kinds: tuple[str, ...]
) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    outcome = session.edit(NS, "K-204111", set={"status": "lapsed"})  # of which the journal has an entry
    assert outcome.entry is not None
    area = _page_view(window)
    for request in every_page(session):
        if request.kind not in kinds:
            continue
        page = window.workspace.open(session, request)
        wait_idle(qtbot)
        qtbot.waitUntil(lambda page=page: page.width() == area.viewport().width())
        assert area.horizontalScrollBar().maximum() == 0, request.kind
        qtbot.waitUntil(lambda page=page: not _cut(page))
        for row in page.findChildren(WrappingRow):
            owner = row.parentWidget()
            if owner is not None and owner.isVisible() and owner.layout() is row:
                qtbot.waitUntil(partial(_has_room, owner))


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large")
def test_a_comparison_that_is_asked_for_in_a_low_window_is_in_sight_until_somebody_scrolls(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    area = _page_view(window)
    down = area.verticalScrollBar()
    first = collection(window)
    wait_idle(qtbot, lambda: first.diff.comparison is not None)
    assert down.value() == 0  # nobody asked for it here
    a, b = (session.catalogue.reading.find_version(NS, Value.of(ID), v) for v in ("9", "12"))
    start = CollectionStart(a=a, b=b)
    page = window.workspace.open(session, PageRequest("collection", NS, Value.of(ID), start, "beside"))
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)

    def top() -> int:
        return page.diff.mapTo(area.viewport(), QPoint()).y()

    qtbot.waitUntil(lambda: top() == 0)
    assert page.diff.table.viewport().height() >= 4 * theme.px(24)
    assert page.diff.tools.restore.visibleRegion().boundingRect() == page.diff.tools.restore.rect()
    down.triggerAction(QScrollBar.SliderAction.SliderSingleStepSub)
    assert top() > 0
    page.do_history()
    qtbot.waitUntil(lambda: page.timeline.mapTo(area.viewport(), QPoint()).y() == 0)


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large")
def test_in_a_narrow_list_times_are_read_and_the_histories_give_way_before_them(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    open_sample(qtbot, window)
    page = collection(window)
    browser = page.browser
    columns = browser.model.columns
    wait_idle(qtbot, lambda: browser.list.isColumnHidden(columns.index("history")))
    at = columns.index("at")
    for row in range(3):
        index = browser.model.index(row, at)
        assert full_width(browser.model.cell(index)) <= browser.list.visualRect(index).width() + 1
    foot = browser.pager
    assert foot.height() < theme.px(40)  # one line
    assert "2,483 documents" in foot.text
    assert browser.bar.shape_button.text() == ""
    assert browser.bar.shape_button.toolTip().startswith("_id ascending\n")
    window.resize(1920, 1000)
    qtbot.waitUntil(lambda: not browser.list.isColumnHidden(columns.index("history")))
    assert browser.bar.shape_button.text() == "_id ascending"


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large")
def test_in_narrow_lists_times_of_versions_classes_and_verdicts_are_read(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)

    def is_whole(view: CellTree, column: int) -> bool:
        index = view.model().index(0, column)
        cell = index.data(CELL)
        return isinstance(cell, Cell) and bool(cell.text) and full_width(cell) <= view.visualRect(index).width() + 1

    timeline = collection(window).timeline
    wait_idle(qtbot, lambda: bool(timeline.model.versions))
    timeline.as_list.click()
    qtbot.waitUntil(lambda: is_whole(timeline.list, AT))
    repairs = window.workspace.open(session, PageRequest("repair", "insurance"))
    assert isinstance(repairs, RepairPage)
    wait_idle(qtbot, lambda: repairs.panel.plan is not None)
    health = window.workspace.open(session, PageRequest("health", "insurance"))
    assert isinstance(health, HealthPage)
    wait_idle(qtbot, lambda: bool(health.panel.classes.rows))
    qtbot.waitUntil(lambda: is_whole(health.panel.class_list, 0))
    ids = [(session.documents.find_id(NS, id), v) for id, v in ((ID, "14"), ("K-204109", "6"))]
    chosen = tuple(Chosen(id, (session.catalogue.reading.find_version(NS, id, v),)) for id, v in ids)
    plan = window.workspace.open(session, PageRequest("taking-back", NS, None, TakingBackStart(chosen)))
    assert isinstance(plan, TakingBackPage)
    wait_idle(qtbot, lambda: bool(plan.panel.model.drawn))
    qtbot.waitUntil(lambda: is_whole(plan.panel.list, SAID))
    pending = window.workspace.open(session, PageRequest("pending"))
    assert isinstance(pending, PendingPage)
    verdict = pending.panel.model.columnCount() - 1
    wait_idle(qtbot, lambda: bool(pending.panel.model.rows))
    qtbot.waitUntil(lambda: is_whole(pending.panel.list, verdict))


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large")
def test_in_a_narrow_window_classes_of_damage_and_fields_stand_above_or_below_what_they_show(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    repairs = window.workspace.open(session, PageRequest("repair", "insurance"))
    assert isinstance(repairs, RepairPage)
    panel = repairs.panel
    wait_idle(qtbot, lambda: panel.plan is not None)
    qtbot.waitUntil(lambda: panel.states.y() > panel.pane.geometry().bottom())
    tree, model = panel.pane.tree, panel.pane.model
    name = model.first()
    assert full_width(model.cell(name)) <= tree.visualRect(name).width()
    assert tree.isVisible()
    sound = window.workspace.open(session, PageRequest("repair", "insurance.customers"))
    assert isinstance(sound, RepairPage)
    wait_idle(qtbot, lambda: sound.panel.states.kind == "empty")
    assert not sound.panel.pane.tree.isVisible()  # there is nothing in it
    start = FieldStart(("premium", "gross"))
    followed = window.workspace.open(session, PageRequest("field", NS, session.documents.find_id(NS, ID), start))
    assert isinstance(followed, FieldPage)
    wait_idle(qtbot, lambda: followed.panel.chain is not None)
    split = followed.panel.split
    qtbot.waitUntil(lambda: split.is_low)
    assert followed.panel.list.mapTo(split, QPoint()).y() > followed.panel.plot.mapTo(split, QPoint()).y()
    window.resize(1920, 1000)
    qtbot.waitUntil(lambda: not split.is_low)
    assert followed.panel.list.mapTo(split, QPoint()).x() < followed.panel.plot.mapTo(split, QPoint()).x()


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large")
def test_with_text_twice_as_large_times_in_the_history_of_a_field_are_read(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1440, 900)
    session = open_sample(qtbot, window)
    start = FieldStart(("premium", "gross"))
    page = window.workspace.open(session, PageRequest("field", NS, session.documents.find_id(NS, "K-118240"), start))
    assert isinstance(page, FieldPage)
    wait_idle(qtbot, lambda: bool(page.panel.model.rows))
    table, model = page.panel.settings, page.panel.model
    times = [full_width(model.cell(model.index(row, SET_ON))) for row in range(len(model.rows))]
    qtbot.waitUntil(lambda: table.columnWidth(SET_ON) >= max(times), timeout=5000)


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large")
def test_with_text_twice_as_large_the_editor_shows_all_of_a_notice_and_square_icons_and_json_below(
    qtbot: QtBot,
) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    page = window.workspace.open(session, PageRequest("document", NS, session.documents.find_id(NS, ID)))
    assert isinstance(page, DocumentPage)
    editor = page.editor
    wait_idle(qtbot, lambda: editor.is_loaded)
    lost = "The connection was lost after the write was sent. It may still arrive; saving is held until then."
    editor.notices.doubt("It is not known", Outcome("unknown", NS, Value.of(ID), lost, token="6b00"), lambda: None)
    said = next(one for one in editor.notices.findChildren(QLabel) if "still arrive" in one.text())
    qtbot.waitUntil(lambda: said.height() >= said.heightForWidth(said.width()) > 0)
    for made in (editor.head.add, editor.head.compare, editor.head.history):
        assert made.width() == made.height() <= theme.px(26)
    assert editor.head.add.y() > editor.head.finder.y()  # in a line of their own, which the head is high enough for
    assert editor.head.add.geometry().bottom() < editor.head.height()
    editor.show_view(BOTH)
    qtbot.waitUntil(lambda: editor.json.y() > editor.tree.geometry().bottom())
    qtbot.waitUntil(lambda: editor.tree.height() >= theme.px(100) <= editor.json.height())
    window.resize(1920, 1000)
    qtbot.waitUntil(lambda: editor.json.x() > editor.tree.geometry().right())
    assert abs(editor.json.width() - editor.tree.width()) <= 2


@pytest.mark.usefixtures("twice_as_large")
def test_with_text_twice_as_large_a_long_message_has_its_buttons_below_its_words(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    said = "It is not known whether v15 was saved: the connection was lost behind the write. It may still arrive."
    line = messages.doubt(window.messages, said, lambda: None, token="6b00")
    words = line.findChild(QLabel)
    assert words is not None
    qtbot.waitUntil(lambda: line.buttons[0].y() > words.geometry().bottom())
    assert words.height() >= words.heightForWidth(words.width())
    assert line.height() <= theme.px(80)  # two lines of words, one of buttons
    short = messages.tell(window.messages, "Saved as v15.", lambda: None)
    qtbot.waitUntil(lambda: 0 < short.height() <= theme.px(40))
    beside = short.findChild(QLabel)
    assert beside is not None
    assert short.buttons[0].x() > beside.geometry().right()


@pytest.mark.deep
@pytest.mark.parametrize("zoom", [100, 200])
def test_a_message_lies_at_the_foot_beside_the_rail_and_above_the_buttons_there(qtbot: QtBot, zoom: int) -> None:
    zooming.apply(zoom)
    try:
        window = new_window(qtbot, 1024, 640)
        session = open_sample(qtbot, window)
        page = window.workspace.open(session, PageRequest("document", NS, session.documents.find_id(NS, ID)))
        assert isinstance(page, DocumentPage)
        wait_idle(qtbot, lambda: page.editor.is_loaded)
        qtbot.waitUntil(lambda: page.editor.foot.save.isVisible())
        window.focusWidget().clearFocus()  # a message leaves the row free that has it
        line, area = messages.tell(page, "Done", lambda: None), window.messages
        save = page.editor.foot.save
        foot = save.mapTo(window, QPoint()).y()
        qtbot.waitUntil(lambda: area.mapTo(window, QPoint(0, area.height())).y() <= foot)
        assert foot - area.mapTo(window, QPoint(0, area.height())).y() <= theme.px(16)
        assert area.x() >= window.workspace.tab_area.mapTo(window, QPoint()).x()
        window.workspace.open(session, PageRequest("activity", NS))
        wait_idle(qtbot)
        window.focusWidget().clearFocus()
        status = window.status.mapTo(window, QPoint()).y()
        qtbot.waitUntil(lambda: 0 <= status - area.mapTo(window, QPoint(0, area.height())).y() <= theme.px(16))
        line.leave()
    finally:
        zooming.apply(100)


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large")
def test_with_text_twice_as_large_names_of_fields_to_restore_are_read(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    collection(window).writes.restore(Value.of(ID), session.catalogue.reading.find_version(NS, Value.of(ID), "11"))
    wait_idle(qtbot, lambda: bool(window.findChildren(RestoreSheet)))
    asked = sheet(window)
    assert isinstance(asked, RestoreSheet)
    table, model = asked.table, asked.model

    def is_whole(name: str) -> bool:
        found = model.match(model.index(0, FIELD), Qt.ItemDataRole.DisplayRole, name, 1, RECURSIVE)
        return bool(found) and full_width(model.cell(found[0])) <= table.visualRect(found[0]).width()

    for name in ("premium", "net", "gross", "discount", "deductible"):
        qtbot.waitUntil(partial(is_whole, name))


@pytest.mark.usefixtures("twice_as_large")
def test_of_the_parts_of_a_connection_only_those_without_room_scroll(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    window.connecting.ask(Opening("mongodb://db.example/"))
    dialog = window.findChildren(ConnectDialog)[-1]
    area = dialog.findChildren(Scrolling)[0]
    bar = area.verticalScrollBar()
    for part, scrolls in (("SSH", False), ("TLS", True), ("SSH", False)):
        dialog.show_part(part)
        qtbot.waitUntil(lambda scrolls=scrolls: (bar.maximum() > 0) is scrolls)
        qtbot.waitUntil(lambda: area.widget().width() <= area.viewport().width())  # no box is cut beside the bar
    dialog.reject()


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_in_narrow_lists_times_of_the_journal_changes_of_two_times_and_versions_found_are_read(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    outcome = session.edit(NS, "K-204111", set={"status": "lapsed"})
    assert outcome.entry is not None
    session.way_back.undo(outcome.entry)  # so that the end of an entry has many words

    def is_whole(view: CellTree, row: int, column: int) -> bool:
        index = view.model().index(row, column)
        return 0 < full_width(index.data(CELL)) <= view.visualRect(index).width() + 1

    journal = window.workspace.open(session, PageRequest("journal"))
    assert isinstance(journal, JournalPage)
    wait_idle(qtbot, lambda: len(journal.panel.model.rows) == 2)
    qtbot.waitUntil(lambda: all(is_whole(journal.panel.list, row, WHEN) for row in range(2)))
    page = window.workspace.open(session, PageRequest("collection", NS))
    assert isinstance(page, CollectionPage)
    page.browser.bar._any.click()
    page.browser.set_filter('{ "premium.gross": { "$gte": 500 } }')
    wait_idle(qtbot, lambda: len(page.browser.model.matches) > 3)
    found = page.browser.model.columns.index("matches")
    qtbot.waitUntil(lambda: all(is_whole(page.browser.list, row, found) for row in range(3)))
    claims = window.workspace.open(session, PageRequest("collection", "insurance.claims"))
    assert isinstance(claims, CollectionPage)
    claims.do_two_times()
    times = window.workspace.page
    assert isinstance(times, TimesPage)
    times.panel.first.put(dt.datetime(2026, 11, 18, 20, tzinfo=dt.UTC))
    times.panel.then.put(dt.datetime(2026, 11, 20, 20, tzinfo=dt.UTC))
    times.panel.run.click()
    wait_idle(qtbot, lambda: len(times.panel.model.rows) > 3)
    for column in (0, 1, AFTER_AT):
        qtbot.waitUntil(lambda column=column: all(is_whole(times.panel.list, row, column) for row in range(3)))


def edited_from_v12(session: Session) -> Draft:
    """An edit of the sample's document that meets what others have changed since."""
    id = session.documents.find_id(NS, ID)
    base = session.history.version(NS, id, session.catalogue.reading.find_version(NS, id, "12"))
    assert base.content is not None
    mine = canonical.put(base.content, ("deductible",), Value.of(Decimal128("250.00")))
    return Draft(session.source, NS, id, base.v, base.content, mine, dt.datetime.now(dt.UTC))


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_in_a_narrow_resolver_types_and_versions_of_the_sides_are_read(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    draft = edited_from_v12(session)
    session.drafts.keep(draft)
    page = window.workspace.open(session, PageRequest("document", NS, draft.id))
    assert isinstance(page, DocumentPage)
    wait_idle(qtbot, lambda: page.editor.is_loaded)
    page.do_save()
    wait_idle(qtbot, lambda: page.prompt is not None)
    assert page.prompt is not None
    page.prompt.buttons["review"].click()
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, MergePage))
    merging = window.workspace.page
    assert isinstance(merging, MergePage)
    table = merging.findChildren(DecisionTable)[0]
    qtbot.waitUntil(lambda: table.isColumnHidden(DECISION))
    row = next(at for at, one in enumerate(table.rows.resolution.rows) if table.rows.resolution.decision(at).open)
    for column in SIDES:
        index = table.rows.index(row, column)
        cell = table.rows.cell(index)
        room = table.visualRect(index).width() - theme.px(16 + 21)
        assert cell.spans[-1].sans
        assert QFontMetricsF(theme.font(12)).horizontalAdvance(cell.spans[-1].text.strip()) <= room
        assert table._head_width(column) <= table.header().sectionSize(column)


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_questions_about_a_version_and_a_query_are_no_wider_than_the_window(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    page = collection(window)
    page.writes.restore(Value.of(ID), session.catalogue.reading.find_version(NS, Value.of(ID), "11"))
    wait_idle(qtbot, lambda: bool(window.findChildren(RestoreSheet)))
    asked = sheet(window)
    qtbot.waitUntil(lambda: asked.width() < window.width())
    asked.reject()
    page.browser.bar.choose("columns")
    options = window.findChildren(QueryOptions)[-1]
    qtbot.waitUntil(lambda: options.width() < window.width())
    options.reject()


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_in_a_narrow_window_the_error_of_a_filter_stands_below_all_buttons_of_the_bar(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    open_sample(qtbot, window)
    bar = collection(window).browser.bar
    bar.set_filter('{ "status": "active"')
    bar.run_button.click()
    said = next(one for one in bar.findChildren(QLabel) if one.text() == bar.error)
    qtbot.waitUntil(lambda: said.y() > bar.run_button.geometry().bottom())
    qtbot.waitUntil(lambda: said.height() >= said.heightForWidth(said.width()))


@pytest.mark.usefixtures("twice_as_large")
def test_in_a_narrow_window_a_reason_stands_beside_the_buttons_and_makes_them_no_lower(qtbot: QtBot) -> None:
    foot = EditorFoot()
    qtbot.addWidget(foot)
    foot.show_state(True, 1, "v1", "")
    foot.draft_kept(dt.datetime.now(dt.UTC))
    foot.ask_reason(True)
    foot.resize(880, 200)
    foot.show()
    qtbot.waitUntil(lambda: abs(foot.reason.geometry().center().y() - foot.save.geometry().center().y()) < 4)
    assert foot.said.geometry().bottom() < foot.reason.y()
    assert foot.reason.width() >= theme.px(130)
    asked = foot.minimumSizeHint().height()
    assert foot.undo.text() == ""
    foot.resize(1800, 200)
    foot.reason.setText("Moved to the agency in Bremen, letter of 17 November")
    qtbot.waitUntil(lambda: foot.reason.width() > foot.reason.fontMetrics().horizontalAdvance(foot.reason.text()))
    foot.resize(880, 200)
    foot.ask_reason(False)
    assert foot.undo.text() == foot.undo.accessibleName() == "Undo"
    qtbot.waitUntil(lambda: foot.minimumSizeHint().height() <= asked)


def _is_in_sight(part: QWidget) -> bool:
    return not part.rect().isEmpty() and part.visibleRegion().boundingRect() == part.rect()


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_of_a_connection_that_is_tried_the_last_step_and_the_buttons_are_in_sight(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    window.connecting.ask(Opening("mongodb://eva:secret@127.0.0.1:9/shop?tls=true&authMechanism=MONGODB-AWS"))
    dialog = window.findChildren(ConnectDialog)[-1]
    dialog.show_part("TLS")
    dialog.test.click()
    wait_idle(qtbot, lambda: bool(dialog.steps.steps) and dialog.steps.steps[-1].result == "failed")
    last = dialog.steps.findChildren(QLabel)[-1]
    for part in (last, dialog.uri, dialog.test, dialog.go):
        qtbot.waitUntil(partial(_is_in_sight, part))
    dialog.reject()


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_the_buttons_of_a_conflict_and_of_an_entry_are_in_sight_in_a_low_window(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    mine = edited_from_v12(session)
    conflict = session.writing.conflict(NS, mine.id, session.history.version(NS, mine.id, mine.base_v), mine.content)
    prompt = ConflictPrompt(window, conflict, NS, mine.id)
    prompt.open()
    for _ in range(2):
        for part in prompt.buttons.values():
            qtbot.waitUntil(partial(_is_in_sight, part))
        if "ask_overwrite" in prompt.buttons:
            prompt.buttons["ask_overwrite"].click()
    assert "overwrite" in prompt.buttons
    prompt.reject()
    page = window.workspace.open(session, PageRequest("collection", "reporting.campaigns"))
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot, lambda: page.id is not None)
    page.do_process_entry()
    asked = sheet(window)
    assert isinstance(asked, OnceSheet)
    qtbot.waitUntil(lambda: not asked.is_scrolled)
    first = asked.first()
    assert first is not None
    for part in (first, asked.verb):
        qtbot.waitUntil(partial(_is_in_sight, part))
    asked.reject()


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_in_a_narrow_list_of_blame_fields_times_and_authors_are_read(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    page = window.workspace.open(session, PageRequest("blame", NS, session.documents.find_id(NS, "K-118240")))
    assert isinstance(page, BlamePage)
    view, model = page.panel.list, page.panel.model
    wait_idle(qtbot, lambda: len(model.rows) > 3)

    def is_whole(row: int, column: int) -> bool:
        index = model.index(row, column)
        return full_width(model.cell(index)) <= view.visualRect(index).width() + 1

    qtbot.waitUntil(lambda: all(is_whole(row, column) for row in range(3) for column in (FIELD_NAME, SET, BY, SET_AT)))
    window.resize(1920, 1000)
    qtbot.waitUntil(lambda: not view.isColumnHidden(VALUE_NOW))


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_in_a_narrow_list_of_drafts_all_is_read_and_a_source_that_is_not_open_is_named(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    draft = edited_from_v12(session)
    session.drafts.keep(draft)
    page = window.workspace.open(session, PageRequest("drafts"))
    assert isinstance(page, DraftsPage)
    view, model = page.panel.list, page.panel.model
    wait_idle(qtbot, lambda: bool(model.rows))

    def is_read(column: int) -> bool:
        wanted = max(view._head_width(column), full_width(model.cell(model.index(0, column))))
        return wanted <= view.visualRect(model.index(0, column)).width()

    qtbot.waitUntil(lambda: all(is_read(at) for at in range(len(model.headers)) if not view.isColumnHidden(at)))
    source = len(model.headers) - 1
    assert view.isColumnHidden(source)
    session.drafts.keep(replace(draft, source="mongodb://127.0.0.1/"))
    page.panel.refresh()
    wait_idle(qtbot, lambda: len(model.rows) > 1)
    assert not view.isColumnHidden(source)


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_of_an_import_into_a_low_window_whole_rows_are_shown_and_all_is_in_sight(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    open_sample(qtbot, window)
    page = collection(window)
    wait_idle(qtbot, lambda: bool(page.browser.model.rows))
    row = page.browser.model.rows[0]
    new = canonical.document([("_id", Value.of("K-900001")), *canonical.fields(row.raw)[1:]])
    page.batches.insert(lambda: [new, row.raw], "contracts.jsonl")
    asked = sheet(window)
    assert isinstance(asked, InsertSheet)
    wait_idle(qtbot, lambda: bool(asked.staying.rows))
    for width, height in ((1024, 640), (1440, 900), (1024, 640)):
        window.resize(width, height)
        for view in (asked.list, asked.reasons):
            qtbot.waitUntil(lambda view=view: view.viewport().height() > 0 == view.viewport().height() % theme.px(24))
        qtbot.waitUntil(lambda: not asked.is_scrolled)
        for part in (asked.reasons, asked.cancel, asked.go):
            qtbot.waitUntil(partial(_is_in_sight, part))
    asked.reject()


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_in_a_narrow_conflict_headers_and_both_sides_are_read_and_screen_readers_hear_all(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    mine = edited_from_v12(session)
    conflict = session.writing.conflict(NS, mine.id, session.history.version(NS, mine.id, mine.base_v), mine.content)
    prompt = ConflictPrompt(window, conflict, NS, mine.id)
    prompt.open()
    view = prompt.table
    assert view is not None
    model = view.model()
    for column in range(4):
        qtbot.waitUntil(lambda column=column: view.columnWidth(column) >= view._head_width(column))
    for column in (1, 2, 3):
        index = model.index(0, column)
        qtbot.waitUntil(lambda index=index: full_width(index.data(CELL)) <= view.visualRect(index).width() + 1)
    heard = model.index(0, 3).data(Qt.ItemDataRole.AccessibleTextRole)
    assert len(heard) > len(model.index(0, 3).data(CELL).badges[0].text)
    header = model.headerData(0, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert ClashModel.headers[0] in header
    prompt.reject()


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_in_narrow_lists_of_changes_what_is_shown_is_read_and_the_collection_is_named(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    session = open_sample(qtbot, window)
    page = window.workspace.open(session, PageRequest("activity", "insurance.claims"))
    assert isinstance(page, ActivityPage)
    wait_idle(qtbot, page.panel.compare_button.isEnabled)
    tree, model = page.panel.tree, page.panel.model

    def cut(view: CellTree, heads: ActivityModel | LiveModel, first: QModelIndex) -> list[str]:
        return [
            said
            for at, said in enumerate(heads.headers)
            if not view.isColumnHidden(at) and at != FIELDS
            for cell in [first.siblingAtColumn(at).data(CELL)]
            if view.columnWidth(at) < max(view._head_width(at), full_width(cell))
        ]

    qtbot.waitUntil(lambda: not cut(tree, model, model.index(0, 0, model.index(0, 0))))
    assert sum(tree.columnWidth(at) for at in range(len(model.headers))) <= tree.viewport().width()
    assert page.title.endswith(": claims")  # on its tab, and once
    assert page.panel.newest is not None
    rows = page.panel.newest.rows[:9]
    page.show_live()
    live = page.live
    assert live is not None
    qtbot.waitUntil(lambda: live.since is not None)
    live.pause_button.click()
    live.take(rows[::-1])
    qtbot.waitUntil(lambda: bool(live.model.rows) and not cut(live.view, live.model, live.model.index(0, 0)))
    assert sum(live.view.columnWidth(at) for at in range(len(live.model.headers))) <= live.view.viewport().width()
    window.resize(2400, 1000)
    qtbot.waitUntil(lambda: not live.view.isColumnHidden(FIELDS))
    wait_idle(qtbot)


@pytest.mark.deep
@pytest.mark.usefixtures("twice_as_large", "each_language")
def test_the_notice_of_deleted_documents_leaves_rows_in_sight_and_says_all_in_its_tooltip(qtbot: QtBot) -> None:
    window = new_window(qtbot, 1024, 640)
    open_sample(qtbot, window)
    browser = collection(window).browser
    browser.bar.toggle_deleted()
    wait_idle(qtbot, lambda: "times" in browser.notices.lines and bool(browser.model.rows))
    line = browser.notices.lines["times"]
    told, brief = line.toolTip(), line.text
    assert len(told) > 2 * len(brief)
    row = browser.list.visualRect(browser.model.index(0, 0))
    corner = browser.list.viewport().mapTo(window, row.bottomLeft())
    qtbot.waitUntil(lambda: _page_view(window).mapTo(window, QPoint(0, _page_view(window).height())).y() >= corner.y())
    window.resize(1920, 1000)
    qtbot.waitUntil(lambda: browser.notices.lines["times"].text == told)
    assert browser.notices.lines["times"].toolTip() == ""


@pytest.mark.usefixtures("twice_as_large")
def test_in_a_narrow_list_of_versions_headers_and_times_are_read_beside_operations(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = {"Changed": "Geändert", "Date": "Datum", "Stored in": "Gespeichert in"}
    monkeypatch.setattr(VersionsModel, "headers", tuple(longer.get(said, said) for said in VersionsModel.headers))
    model = VersionsModel()
    listed = VersionList(model)
    qtbot.addWidget(listed)
    listed.resize(860, 300)
    listed.show()
    at = dt.datetime(2026, 11, 22, 16, 53, tzinfo=dt.UTC)
    plain = Version(Value.of(18), at, None, "document", "present", True, None, None, changed=8)
    draft = plain.but(v=Value.of(17), stored="archive", current=False, detail="draft")
    signed = plain.but(author="ana", reason="edit 18", operation="update")

    def cut() -> list[int]:
        return [
            column
            for column in range(len(model.headers))
            if not listed.isColumnHidden(column)
            if listed.columnWidth(column)
            < max(listed._head_width(column), full_width(model.cell(model.index(0, column))))
        ]

    for versions in ([plain, draft], [signed]):
        model.reset(versions)
        model.choose(None, 0)
        listed.fit()
        qtbot.waitUntil(lambda: not cut())


@pytest.mark.usefixtures("twice_as_large")
def test_the_palette_is_no_higher_than_a_low_window_and_names_the_menus_as_they_are_shown(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TITLES, "File", "&Datei")
    window = new_window(qtbot, 1024, 640)
    window.commands.do_palette()
    found = sheet(window)
    assert isinstance(found, Palette)
    assert not found.is_scrolled
    assert found.list.height() % theme.px(28) == 0
    assert {hit.remark for hit in found.model.rows} >= {said.replace("&", "") for said in TITLES.values()}
    found.reject()
