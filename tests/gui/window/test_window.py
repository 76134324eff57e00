"""The window as a whole: tabs, title row, keys, writes with undo, and closing without loss."""

from __future__ import annotations

import datetime as dt
import gc
import json
import os
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QFontMetrics, QKeySequence, QMouseEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QScrollArea,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from gui import messages, tasks
from gui.actions import MENUS
from gui.messages import Question
from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage
from gui.pages.page_request import PageRequest
from gui.parts.fields.field_model import LAST_SET
from gui.style import focus_ring, preferences, theme
from gui.style.cells import CELL
from gui.views.browse.query import Query
from gui.views.compare.restore_sheet import RestoreSheet
from gui.views.edit.new_document import NewDocument
from gui.window.activity_dialog import ActivityDialog
from gui.window.key_sheet import KeySheet
from gui.window.opening import Opening
from gui.window.palette import Palette
from gui.window.tabs import Tabs, shortened
from gui.window.window import Window
from gui.window.window_commands import COMMANDS
from model import text
from model.commands import grammar
from model.foundation.address import DOTS
from model.foundation.news import News, tell
from model.foundation.records import Draft, Outcome
from model.local_process import ServerProcess
from model.localserver import LocalServer
from model.session import Session
from model.things_to_try import THINGS
from model.userdata.journal import Intent, Journal
from model.values import canonical
from model.values.canonical import Value
from tests.gui.field_support import open_paths
from tests.gui.menus import offered
from tests.gui.window.windows import (
    ID,
    NS,
    adopt,
    collection,
    document,
    every_page,
    filled_page,
    new_window,
    open_sample,
    open_source,
    sheet,
    told,
    wait_idle,
)

ACCESSIBLE = Qt.ItemDataRole.AccessibleTextRole


@pytest.fixture
def own(qtbot: QtBot) -> Window:
    """A window with a sample of its own, to write in."""
    made = new_window(qtbot)
    open_sample(qtbot, made)
    return made


def press(window: Window, keys: str) -> None:
    """Trigger the action that has these keys."""
    wanted = QKeySequence(keys)
    action = next(action for action in window.actions() if wanted in action.shortcuts())
    action.trigger()


def choose(window: Window, id: str, qtbot: QtBot) -> None:
    page = collection(window)
    page.show_document(Value.of(id))
    wait_idle(qtbot, lambda: page.browser.row is not None and page.browser.row.id == Value.of(id))


def edit(window: Window, qtbot: QtBot, id: str = "K-204109") -> None:
    """Open a document with an edit that is not saved."""
    session = window.sessions[0]
    found = session.documents.find_id(NS, id)
    base = session.history.version(NS, found)
    assert base.content is not None
    content = canonical.put(base.content, ("status",), Value.of("lapsed"))
    session.drafts.keep(Draft(session.source, NS, found, base.v, base.content, content, dt.datetime.now(dt.UTC)))
    page = window.workspace.open(session, PageRequest("document", NS, found))
    wait_idle(qtbot, lambda: page.dirty)


# --- what is in front


def test_the_sample_opens_on_something_to_see(window: Window) -> None:
    page = collection(window)
    assert page.ns == NS
    assert page.browser.row is not None
    assert page.browser.row.id == Value.of(ID)
    assert page.diff.comparison is not None
    assert page.browser.list.hasFocus()


@pytest.mark.deep
def test_the_title_row_says_which_connection_and_whether_it_may_write(window: Window) -> None:
    assert window.title._name.text() == "sample:"
    assert window.title._facts.text().startswith("in memory")
    assert window.title.badge.text() == "Writes allowed"
    title, facts, seen = window.title, window.title._all_facts, set[str]()
    for wide in range(1440, 600, -4):  # each fact is there whole or not at all
        title.resize(wide, title.height())
        seen.add(title._facts.text())
    title.resize(window.width(), title.height())
    assert seen == {facts, "in memory", ""}


def test_a_page_that_opens_tells_the_window_once_and_the_window_fits_it(window: Window, qtbot: QtBot) -> None:
    told: list[bool] = []
    window.workspace.changed.connect(lambda: told.append(window.workspace.is_opening))
    session = window.workspace.session
    assert session is not None
    page = window.workspace.open(session, PageRequest("activity", "insurance.contracts", way="beside"))
    assert told.count(False) == 1
    assert window.windowTitle().startswith(page.tip)
    window.workspace.tab_area.close_page(page)


def test_the_status_line_says_collection_layout_guard_and_zone(window: Window) -> None:
    assert [part._whole for part in window.status._left if not part.isHidden()] == [
        "insurance.contracts",
        "Archive layout: earlier versions in contracts_history",
        "Every write is guarded by v and _w",
    ]
    assert window.status._right[0].text() == "Europe/Berlin"
    assert window.status.tasks.text() == "No tasks running"


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["blame", "field", "activity", "repair"])
def test_the_status_line_has_place_and_keys_at_the_left_and_zone_and_tasks_at_the_right(
    qtbot: QtBot, window: Window, kind: str
) -> None:
    page = filled_page(qtbot, window, window.sessions[-1], kind)
    left, right = page.status()
    assert len(left) >= 2
    assert "sample:" not in left[0]
    assert right == ["Europe/Berlin"]
    assert not window.status.tasks.isHidden()
    window.resize(900, 640)
    path = window.status._left[0]
    path.resize(80, path.height())
    assert path.text()[-2:] == left[0][-2:]  # cut in its middle


@pytest.mark.deep
def test_a_tab_s_text_stays_where_it_is_when_it_is_chosen_or_unsaved(window: Window, qtbot: QtBot) -> None:
    bar = window.workspace.tab_area.tabs.bar
    window.workspace.open(window.sessions[0], PageRequest("collection", "insurance.agents"))
    wait_idle(qtbot)
    before = [bar.tabRect(at) for at in range(bar.count())]
    bar.setCurrentIndex(0)
    bar.dirty[0] = True
    bar.update()
    assert [bar.tabRect(at) for at in range(bar.count())] == before


def test_the_chosen_tab_is_whole_however_wide_the_row_is(qtbot: QtBot) -> None:
    tabs = Tabs()
    qtbot.addWidget(tabs)
    tabs.show()
    for at, title in enumerate(("contracts", *("a rather long title",) * 4, "another long title")):
        tabs.insert(at, title, "table")
    tabs.bar.setCurrentIndex(5)
    need = sum(tabs.bar.minimumTabSizeHint(at).width() for at in range(6))
    around = tabs.width() - tabs.bar.width()
    for wide in range(need - 4, need + 5):
        tabs.resize(wide + around, tabs.height())
        QApplication.processEvents()
        arrows = [one.x() for one in tabs.bar.findChildren(QToolButton) if one.isVisible()]
        assert tabs.bar.tabRect(5).right() <= min([*arrows, tabs.bar.width()]), wide


def test_a_tab_that_is_scrolled_out_in_part_fades_away(qtbot: QtBot) -> None:
    tabs = Tabs()
    qtbot.addWidget(tabs)
    tabs.resize(500, 40)
    tabs.show()
    for at in range(6):
        tabs.insert(at, "a rather long title", "table")

    def inks() -> set[str]:
        shown = tabs.bar.grab().toImage()
        left = shown.copy(0, 4, theme.px(6), shown.height() - 8)
        return {left.pixelColor(x, y).name() for x in range(left.width()) for y in range(left.height())}

    ground = theme.colour("canvas").name()
    for chosen in range(6):
        tabs.bar.setCurrentIndex(chosen)
        QApplication.processEvents()
        if tabs.bar.tabRect(0).left() < 0:
            assert inks() == {ground}, chosen
    assert tabs.bar.tabRect(0).left() < 0
    tabs.bar.setCurrentIndex(0)
    QApplication.processEvents()
    assert inks() != {ground}  # the first tab begins there


def test_a_title_that_is_cut_takes_all_the_room_of_its_tab(qtbot: QtBot) -> None:
    metrics = QFontMetrics(theme.font(13))
    title = "Find when: K-118240"
    assert shortened(title, metrics, metrics.horizontalAdvance(title)) == title
    for room in range(metrics.horizontalAdvance("Fi…40"), metrics.horizontalAdvance(title)):
        head, tail = shortened(title, metrics, room).split("…")
        assert title.startswith(head)
        assert title.endswith(tail)
        assert abs(len(head) - len(tail)) <= 1
        assert metrics.horizontalAdvance(f"{head}…{tail}") <= room
        more = (len(head) + len(tail) + 2) // 2
        wider = f"{title[:more]}…{title[more - len(head) - len(tail) - 1 :]}"
        assert metrics.horizontalAdvance(wider) > room


@pytest.mark.deep
def test_the_menu_of_what_has_the_focus_opens_by_key(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    for part, words in (
        (page.browser.list, "Copy"),
        (page.diff.table, "Copy"),
        (page.timeline.strip, "Set"),
    ):
        part.setFocus()
        qtbot.waitUntil(part.hasFocus)
        press(window, "Shift+F10")
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        assert any(words in action.text() for action in menu.actions())
        assert part.mapFromGlobal(menu.pos()).y() < part.height()
        menu.close()


@pytest.mark.parametrize("id", ["K-204111", pytest.param("K-204109", marks=pytest.mark.deep)])
def test_a_row_s_menu_by_key_is_about_that_row(window: Window, id: str, qtbot: QtBot) -> None:
    page = collection(window)
    choose(window, id, qtbot)
    page.browser.list.setFocus()
    qtbot.waitUntil(page.browser.list.hasFocus)
    press(window, "Shift+F10")
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    offered(menu)["Copy the id"].trigger()
    menu.close()
    assert QApplication.clipboard().text() == id


@pytest.mark.deep
def test_tab_goes_to_every_control_of_a_page_in_the_order_they_stand(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    first = page.browser.bar.input
    first.setFocus()
    seen: list[QWidget] = []
    while first not in seen:
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
        seen.append(window.focusWidget())
    wanted = [page.browser.bar.run_button, page.browser.list, *page._chain_buttons, page.timeline.strip]
    wanted += [page.diff.box_a, page.diff.box_b, page.diff.down, page.diff.only, page.diff.restore, page.diff.table]
    assert [one for one in seen if one in wanted] == wanted
    assert {one for one in page.findChildren(QWidget) if focus_ring.takes(one) and one.focusProxy() is None} <= {*seen}
    back = [first]
    while len(back) < len(seen):
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab, Qt.KeyboardModifier.ShiftModifier)
        back.append(window.focusWidget())
    assert back == seen[::-1]


def test_tab_stops_only_where_the_focus_is_seen_on_the_first_page(qtbot: QtBot) -> None:
    made = new_window(qtbot)
    made.workspace.show_welcome()
    stops: list[QWidget] = []
    while made.focusWidget() not in stops:
        stops.append(made.focusWidget())
        qtbot.keyClick(made.focusWidget(), Qt.Key.Key_Tab)
    assert made.workspace.welcome.sample in stops
    assert made.workspace.welcome.uri in stops
    assert not [one for one in stops if isinstance(one, QScrollArea)]


@pytest.mark.deep
def test_tabs_are_gone_through_and_closed_by_key(window: Window, qtbot: QtBot) -> None:
    window.workspace.open(window.sessions[0], PageRequest("collection", "insurance.agents"))
    wait_idle(qtbot)
    press(window, "Ctrl+Tab")
    assert collection(window).ns == NS
    press(window, "Ctrl+Shift+Tab")
    assert collection(window).ns == "insurance.agents"
    press(window, "Ctrl+W")
    assert [page.ns for page in window.workspace.tab_area.pages] == [NS]
    press(window, "Ctrl+W")
    assert window.workspace.tab_area.page is None
    assert window.workspace.tab_area.empty.title == "No collection is open"


@pytest.mark.deep
def test_a_cross_closes_its_own_tab(window: Window, qtbot: QtBot) -> None:
    window.workspace.open(window.sessions[0], PageRequest("collection", "insurance.agents"))
    wait_idle(qtbot)
    bar = window.workspace.tab_area.tabs.bar
    qtbot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.cross(0).center())
    assert [page.ns for page in window.workspace.tab_area.pages] == ["insurance.agents"]


@pytest.mark.deep
def test_f6_goes_from_pane_to_pane_and_back(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    panes = [window.workspace.sidebar.tree, *page.panes()]
    window.activateWindow()
    window.workspace.sidebar.tree.setFocus()

    def here() -> int:
        now = window.focusWidget()
        return next(at for at, pane in enumerate(panes) if now is not None and (pane is now or pane.isAncestorOf(now)))

    seen = [here()]
    for _ in panes:
        press(window, "F6")
        seen.append(here())
    assert seen == [*range(len(panes)), 0]
    press(window, "Shift+F6")
    assert here() == len(panes) - 1


@pytest.mark.deep
def test_a_comparison_has_its_keys_on_its_buttons_and_ticks_too(window: Window, qtbot: QtBot) -> None:
    page = window.workspace.tab_area.page
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    page.diff.only.setFocus()  # a tick, from which Ctrl+Down would go to the next button
    qtbot.keyClick(page.diff.only, Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert page.diff.model.current == 1
    page.diff.inline.click()
    assert window.actions_.by_id["inline"].isChecked()
    page.diff.inline.click()


@pytest.mark.deep
def test_a_high_window_gives_the_comparison_what_the_list_does_not_need_until_a_line_is_drawn(
    window: Window, qtbot: QtBot
) -> None:
    page = window.workspace.tab_area.page
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)

    def heights(high: int) -> tuple[int, int]:
        window.resize(1440, high)
        wait_idle(qtbot)
        return page.browser.height(), page.diff.height()

    low, below = heights(900)
    assert below < theme.px(150)  # its tools and three rows: the list of documents comes first
    listed, compared = heights(1440)
    assert listed == page.browser.height_for(25)  # a page of documents needs no more
    assert compared - below > listed - low > 100
    listed, compared = heights(700)
    assert (listed < low, compared) == (True, theme.px(142))  # the list gives way
    page.split.moveSplitter(page.split.handle(2).y() - 50, 2)
    by_hand = page.diff.height()
    assert heights(1440)[1] == by_hand != below


@pytest.mark.deep
def test_room_that_is_given_away_above_the_strip_goes_to_the_comparison(window: Window, qtbot: QtBot) -> None:
    page = window.workspace.tab_area.page
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    own, below = page.timeline.height(), page.diff.height()
    page.split.moveSplitter(page.split.handle(1).y() - 120, 1)
    qtbot.waitUntil(lambda: page.diff.height() > below)
    assert page.timeline.height() == own == theme.px(144)
    sizes = page.split.sizes()
    page.timeline.as_list.click()
    assert page.split.sizes()[1] > own
    page.timeline.as_list.click()
    assert page.split.sizes() == sizes


def test_the_palette_finds_collections_and_commands(window: Window, qtbot: QtBot) -> None:
    press(window, "Ctrl+K")
    palette = sheet(window)
    assert isinstance(palette, Palette)
    qtbot.keyClicks(palette.input, "agen")
    qtbot.keyClick(palette.input, Qt.Key.Key_Return)
    wait_idle(qtbot)
    assert collection(window).ns == "insurance.agents"
    press(window, "Ctrl+K")
    palette = sheet(window)
    assert isinstance(palette, Palette)
    qtbot.keyClicks(palette.input, "close tab")
    qtbot.keyClick(palette.input, Qt.Key.Key_Return)
    assert [page.ns for page in window.workspace.tab_area.pages] == [NS]


def test_the_palette_finds_what_a_command_of_the_command_line_does(window: Window) -> None:
    every = {command for commands in COMMANDS.values() for command in commands.split()}
    assert every <= grammar._COMMANDS.keys()
    assert COMMANDS.keys() <= window.actions_.by_id.keys()
    press(window, "Ctrl+K")
    palette = sheet(window)
    assert isinstance(palette, Palette)
    for typed, named in (("adopt", "Move to another layout"), ("blame", "Who changed what")):
        palette.input.setText(typed)
        assert palette.model.rows[0].text == named
    palette.reject()


@pytest.mark.deep
def test_a_command_that_cannot_be_done_is_found_with_the_reason(window: Window, qtbot: QtBot) -> None:
    press(window, "Ctrl+K")
    palette = sheet(window)
    assert isinstance(palette, Palette)
    qtbot.keyClicks(palette.input, "use mine")
    said = [palette.model.index(row, 0).data(ACCESSIBLE) for row in range(palette.model.rowCount())]
    assert said[0] == "Use mine, not possible now: No merge is in front"
    qtbot.keyClick(palette.input, Qt.Key.Key_Return)
    assert palette.isVisible()
    palette.input.clear()
    possible = [not hit.why for hit in palette.model.rows]
    assert possible == sorted(possible, reverse=True)
    assert not all(possible)


@pytest.mark.deep
def test_keys_of_what_cannot_be_done_say_why(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    page = window.workspace.open(session, PageRequest("document", NS, session.documents.find_id(NS, ID)))
    wait_idle(qtbot, lambda: "readable" in page.facts())
    page.setFocus()
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert told(window)[-1] == "Nothing is changed"
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    assert told(window)[-1] == "No merge is in front"


def test_alt_and_its_letter_open_a_menu(window: Window, qtbot: QtBot) -> None:
    page = window.workspace.page
    assert page is not None
    for name in MENUS:
        page.setFocus()
        here = window.focusWidget()
        qtbot.keyClick(here, getattr(Qt.Key, f"Key_{name[0]}"), Qt.KeyboardModifier.AltModifier)
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu), name
        assert menu.title() == f"&{name}"
        qtbot.keyClick(menu, Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: QApplication.activePopupWidget() is None)


@pytest.mark.deep
def test_f10_opens_the_first_menu_and_arrows_lead_on(window: Window, qtbot: QtBot) -> None:
    page = window.workspace.page
    assert page is not None
    page.setFocus()
    here = window.focusWidget()
    qtbot.keyClick(here, Qt.Key.Key_F10)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert menu.title() == "&File"
    qtbot.keyClick(menu, Qt.Key.Key_Right)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert menu.title() == "&Edit"
    qtbot.keyClick(menu, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: QApplication.activePopupWidget() is None)
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window.focusWidget() is here)


@pytest.mark.deep
def test_whatever_is_enabled_does_something_on_every_page(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    window.workspace.open(session, PageRequest("document", NS, session.documents.find_id(NS, ID)))
    for kind in ("pending", "journal", "drafts"):
        window.workspace.open(session, PageRequest(kind))
    wait_idle(qtbot)
    for page in window.workspace.tab_area.pages:
        window.workspace.tab_area.show_page(page)
        can = [item for item, action in window.actions_.all() if action.isEnabled()]
        idle = [item.id for item in can if window.commands.call_for(item) is None]
        assert (page.kind, idle) == (page.kind, [])


@pytest.mark.deep
def test_the_theme_changes_with_one_press_and_is_remembered(window: Window, qtbot: QtBot) -> None:
    window.title.theme.click()
    qtbot.waitUntil(theme.is_dark)
    assert preferences.get("theme") == "dark"
    window.title.theme.click()
    qtbot.waitUntil(lambda: not theme.is_dark())


@pytest.mark.deep
def test_the_tasks_are_listed_on_request(window: Window) -> None:
    window.title.tasks.click()
    assert isinstance(sheet(window), ActivityDialog)


@pytest.mark.deep
def test_no_part_of_the_window_ever_shows_as_a_window_of_its_own(qtbot: QtBot, sample: Session) -> None:
    seen: list[QWidget] = []

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
                seen.append(watched)
            return False

    watch = Watch()
    QApplication.instance().installEventFilter(watch)
    window = new_window(qtbot)
    adopt(qtbot, window, sample)
    window.workspace.open(sample, PageRequest("document", NS, sample.documents.find_id(NS, ID)))
    window.workspace.open(sample, PageRequest("pending"))
    wait_idle(qtbot)
    QApplication.instance().removeEventFilter(watch)
    assert seen == [window]


# --- narrow and wide


@pytest.mark.deep
def test_at_1024_by_640_nothing_is_wider_than_the_window(window: Window, qtbot: QtBot) -> None:
    window.resize(1024, 640)
    wait_idle(qtbot)
    assert (window.width(), window.height()) == (1024, 640)
    page = collection(window)
    assert page.mapTo(window, page.rect().topRight()).x() < 1024
    assert page.diff.height() >= 100
    assert page.browser.list.height() >= 80


@pytest.mark.deep
@pytest.mark.parametrize("size", [(1024, 640), (1440, 900)])
def test_every_key_can_be_read_whole_and_by_key(own: Window, qtbot: QtBot, size: tuple[int, int]) -> None:
    own.resize(*size)
    press(own, "Ctrl+F1")
    sheet = own.findChildren(KeySheet)[0]
    labels = sheet.area.widget().findChildren(QLabel)
    assert {"Ctrl+Shift+PgDown", "Ctrl+R, F5", "Space"} <= {one.text() for one in labels}
    room = sheet.area.viewport().rect()
    for one in labels:
        assert one.width() >= one.sizeHint().width(), one.text()
        assert one.mapTo(sheet.area.viewport(), one.rect().topRight()).x() <= room.right()
    while (bar := sheet.area.verticalScrollBar()).value() < bar.maximum():
        qtbot.keyClick(own.focusWidget(), Qt.Key.Key_Down)
    last = labels[-1]
    assert room.contains(last.mapTo(sheet.area.viewport(), last.rect().center()))
    sheet.reject()


@pytest.mark.deep
def test_every_control_has_a_name_for_screen_readers(window: Window) -> None:
    nameless = [
        part
        for part in window.findChildren(QWidget)
        if isinstance(part, QAbstractButton | QLineEdit)
        and part.isVisible()
        and not (part.accessibleName() or (part.text() if isinstance(part, QAbstractButton) else "") or part.toolTip())
    ]
    assert not nameless


@pytest.mark.deep
def test_every_icon_alone_has_a_tooltip(window: Window) -> None:
    silent = [
        part
        for part in window.findChildren(QAbstractButton)
        if part.isVisible() and not part.text() and not part.toolTip() and not part.icon().isNull()
    ]
    assert not silent


# --- read-only


@pytest.mark.deep
def test_read_only_is_one_press_and_writing_again_is_asked(own: Window, qtbot: QtBot) -> None:
    session = own.sessions[0]
    own.title.badge.click()
    assert session.trust.read_only
    assert own.title.badge.text() == "read-only"
    assert not own.actions_.by_id["delete"].isEnabled()
    assert own.actions_.by_id["delete"].toolTip() == "The sample is open read-only"
    own.title.badge.click()
    asked = sheet(own)
    assert isinstance(asked, Question)
    assert session.trust.read_only
    asked.verb.click()
    assert not session.trust.read_only
    assert own.actions_.by_id["delete"].isEnabled()


@pytest.mark.deep
def test_what_is_open_follows_when_writes_are_allowed_and_forbidden(own: Window, qtbot: QtBot) -> None:
    session, page = own.sessions[0], collection(own)
    page.show_document(Value.of(ID))
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    own.workspace.open(session, PageRequest("document", NS, Value.of(ID)))
    editor = document(own).editor
    wait_idle(qtbot, lambda: editor.is_loaded)
    for allowed in (False, True, False):
        _set_writes(own, session, allowed)
        wait_idle(qtbot)
        assert page.diff.restore.isEnabled() is allowed
        assert editor.tree.may_edit is allowed


def _set_writes(window: Window, session: Session, allowed: bool) -> None:
    window.actions_.trigger("allow-writes")
    if allowed:
        asked = sheet(window)
        assert isinstance(asked, Question)
        asked.verb.click()
    assert session.trust.read_only is not allowed


@pytest.mark.deep
def test_the_way_back_from_read_only_is_of_that_connection_whatever_is_in_front(
    own: Window, qtbot: QtBot, tmp_path: Path
) -> None:
    first = own.sessions[0]
    own.title.badge.click()
    (line,) = [line for line in own.messages.lines if "is read-only now" in line.text]
    assert line.buttons[0].text() == "Allow writes"
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "c.bson").write_bytes(canonical.encode({"_id": 1}))
    other = open_source(qtbot, own, Opening(str(tmp_path), into_memory=True))
    other.trust.read_only = True
    own.workspace.open(other, PageRequest("collection", "db.c"))
    assert own.workspace.session is other
    line.buttons[0].click()
    assert other.trust.read_only
    assert not first.trust.read_only


# --- writes and the way back


@pytest.mark.deep
def test_deleting_asks_with_focus_on_cancel_and_can_be_undone(own: Window, qtbot: QtBot) -> None:
    choose(own, "K-204118", qtbot)
    own.actions_.trigger("delete")
    wait_idle(qtbot)
    asked = sheet(own)
    assert isinstance(asked, Question)
    assert asked.cancel.hasFocus()
    assert asked.verb.text() == "Delete 1 document"
    asked.verb.click()
    wait_idle(qtbot)
    page = collection(own)
    wait_idle(qtbot, lambda: page.browser.model.row_of(Value.of("K-204118")) == -1)
    line = own.messages.lines[-1]
    assert line.buttons[0].text() == "Undo this write"
    line.buttons[0].click()
    wait_idle(qtbot, lambda: page.browser.model.row_of(Value.of("K-204118")) >= 0)


@pytest.mark.deep
def test_restoring_shows_what_would_change_and_makes_a_new_version(own: Window, qtbot: QtBot) -> None:
    page = collection(own)
    page.writes.restore(
        Value.of("K-204109"), own.sessions[0].catalogue.reading.find_version(NS, Value.of("K-204109"), "3")
    )
    wait_idle(qtbot)
    asked = sheet(own)
    assert isinstance(asked, RestoreSheet)
    assert asked.title == "Restore v3 of K-204109?"
    asked.verb.click()
    wait_idle(qtbot)
    assert any("v7" in text for text in told(own))
    row = page.browser.model.rows[page.browser.model.row_of(Value.of("K-204109"))]
    assert row.version == Value.of(7)


@pytest.mark.deep
def test_a_new_document_is_asked_for_as_json_and_a_mistake_stays_typed(own: Window, qtbot: QtBot) -> None:
    own.actions_.trigger("new-document")
    asked = sheet(own)
    assert isinstance(asked, NewDocument)
    assert json.loads(asked.editor.toPlainText()) == {}  # no field is named for anybody
    assert asked.editor.textCursor().blockNumber() == 1
    asked.id.setText("K-900001")
    asked.editor.setPlainText('{ "status": ')
    asked.insert.click()
    assert "line 1" in asked.trouble.text().lower()
    asked.editor.setPlainText('{ "status": "new" }')
    asked.insert.click()
    wait_idle(qtbot, lambda: not isValid(asked) or not asked.isVisible())
    assert own.sessions[0].history.version(NS, Value.of("K-900001")).v == Value.of(1)


@pytest.mark.deep
def test_an_id_that_is_taken_is_refused_in_the_dialog(own: Window, qtbot: QtBot) -> None:
    own.actions_.trigger("new-document")
    asked = sheet(own)
    assert isinstance(asked, NewDocument)
    asked.id.setText(ID)
    asked.editor.setPlainText("{}")
    asked.insert.click()
    wait_idle(qtbot, lambda: bool(asked.trouble.text()))
    assert asked.isVisible()
    assert asked.editor.toPlainText() == "{}"


def test_the_colleague_s_change_reaches_the_list_at_once(own: Window, qtbot: QtBot) -> None:
    choose(own, "K-204109", qtbot)
    own.actions_.trigger("colleague")
    wait_idle(qtbot)
    assert any("A colleague has just changed K-204109" in text for text in told(own))
    page = collection(own)
    assert page.browser.row is not None
    assert page.browser.row.version == Value.of(7)


# --- nothing is lost


def test_closing_a_tab_with_an_edit_keeps_the_draft_and_says_so(own: Window, qtbot: QtBot) -> None:
    edit(own, qtbot)
    assert own.workspace.tab_area.tabs.bar.dirty == [False, True]
    press(own, "Ctrl+W")
    assert told(own)[-1] == "Your edit of K-204109 is kept as a draft"
    assert len(own.sessions[0].drafts.all()) == 1
    own.messages.lines[-1].buttons[0].click()
    wait_idle(qtbot, lambda: document(own).dirty)


@pytest.mark.deep
def test_closing_the_window_with_an_edit_says_first_that_it_is_kept(own: Window, qtbot: QtBot) -> None:
    edit(own, qtbot)
    session = own.sessions[0]
    own.close()
    assert own.isVisible()
    asked = sheet(own)
    assert isinstance(asked, Question)
    assert "1 edit is not saved" in asked.text
    assert "It is kept as a draft" in asked.text
    assert asked.verb.text() == "Close and keep the draft"
    asked.verb.click()
    assert not own.isVisible()
    assert len(session.drafts.all()) == 1


@pytest.mark.deep
def test_a_connection_s_tabs_come_back_in_the_next_run(qtbot: QtBot) -> None:
    first = new_window(qtbot)
    session = open_sample(qtbot, first)
    first.workspace.open(session, PageRequest("collection", "insurance.claims"))
    first.workspace.open(session, PageRequest("document", NS, session.documents.find_id(NS, ID)))
    wait_idle(qtbot)
    first.close_quietly()
    second = new_window(qtbot)
    open_sample(qtbot, second)
    assert [page.title for page in second.workspace.tab_area.pages] == ["contracts", "claims", ID]


@pytest.mark.deep
def test_disconnecting_closes_the_tabs_and_goes_back_to_the_welcome_page(own: Window, qtbot: QtBot) -> None:
    own.actions_.trigger("disconnect")
    wait_idle(qtbot)
    assert own.workspace.at_welcome
    assert not own.workspace.tab_area.pages
    assert not own.sessions


@pytest.mark.deep
def test_a_source_that_is_open_is_brought_to_the_front_and_not_opened_twice(window: Window, qtbot: QtBot) -> None:
    window.workspace.show_welcome()
    window.open(Opening("sample:", "sample:"))
    wait_idle(qtbot)
    assert len(window.sessions) == 1
    assert not window.workspace.at_welcome


@pytest.mark.deep
def test_what_nobody_caught_is_shown_and_can_be_copied(window: Window) -> None:
    window.show_error(ZeroDivisionError("inner"))
    assert "inside Palimpsest" in told(window)[-1]
    assert "inner" not in told(window)[-1]


# --- the five things


@pytest.mark.deep
@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: thing.action)
def test_each_of_the_five_things_leads_to_its_place(own: Window, qtbot: QtBot, thing: object) -> None:
    own.workspace.show_welcome()
    own.connecting.try_thing(thing)  # type: ignore[arg-type]
    wait_idle(qtbot, lambda: bool(own.messages.lines))
    page = own.workspace.tab_area.page
    assert page is not None
    kinds = {
        "compare": "collection",
        "map": "map",
        "restore": "collection",
        "race": "document",
        "repair": "repair",
    }
    action = thing.action  # type: ignore[attr-defined]
    assert page.kind == kinds[action]
    if action == "compare":
        a, b = collection(own).timeline.chosen()
        assert (a.v, b.v) == (Value.of(11), Value.of(14))
    if action == "restore":
        a, _ = collection(own).timeline.chosen()
        assert a is not None
        assert a.v == Value.of(3)
    if action == "race":
        assert own.sessions[0].history.version(NS, Value.of(ID)).v == Value.of(
            14
        )  # the colleague waits for the first letter


@pytest.mark.deep
def test_a_hint_goes_once_what_it_asks_for_is_done(window: Window) -> None:
    messages.hint(window, "Change any field and save.")
    question = messages.hint(window, "Nobody has measured it.", [("Measure", print)])
    tell(News(window.sessions[0].data, Outcome("applied", NS, Value.of(ID), "")))  # somebody else's
    tell(News("another source", Outcome("applied", NS, Value.of(ID), "", entry="1")))
    assert len(window.messages.lines) == 2
    tell(News(window.sessions[0].data, Outcome("applied", NS, Value.of(ID), "", entry="1")))
    assert window.messages.lines == [question]


@pytest.mark.deep
def test_esc_leads_from_the_welcome_page_back_to_what_is_open(window: Window, qtbot: QtBot) -> None:
    page = window.workspace.page
    window.actions_.trigger("welcome")
    welcome = window.workspace.welcome
    assert welcome.back.isVisible()
    assert welcome.back.text() == "Back to the sample"
    assert window.status._left[0].accessibleName() == "The sample is open; Esc leads back"
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    assert not window.workspace.at_welcome
    assert window.workspace.page is page
    assert page is not None
    assert page.isAncestorOf(window.focusWidget())


@pytest.mark.deep
def test_a_hint_goes_with_the_page_that_it_is_about(own: Window, qtbot: QtBot) -> None:
    thing = next(thing for thing in THINGS if thing.action == "map")
    own.connecting.try_thing(thing)
    wait_idle(qtbot, lambda: any("Full colour" in said for said in told(own)))
    (line,) = [line for line in own.messages.lines if "Full colour" in line.text]
    assert line._timer.isActive()  # or by itself
    own.actions_.trigger("journal")
    assert not any("Full colour" in said for said in told(own))


@pytest.mark.deep
def test_the_hint_of_the_race_names_a_field_that_will_conflict(own: Window, qtbot: QtBot) -> None:
    thing = next(thing for thing in THINGS if thing.action == "race")
    own.connecting.try_thing(thing)
    wait_idle(qtbot, lambda: any("colleague" in said for said in told(own)))
    page = document(own)
    index = page.editor.tree.currentIndex()
    node = page.editor.model.node(index)
    assert node is not None
    path = page.editor.model.path(node)
    assert text.path_text(path) in next(said for said in told(own) if "colleague" in said)
    page.editor.menus.set_value(node, Value.of("something of my own"))
    wait_idle(qtbot, lambda: page.editor.is_behind)
    page.do_save()
    wait_idle(qtbot, lambda: page.prompt is not None)
    assert page.prompt is not None
    assert open_paths(page.prompt.conflict) == [path]
    page.prompt.buttons["review"].click()
    wait_idle(qtbot, lambda: not any("colleague" in said for said in told(own)))


def test_an_address_from_the_command_line_that_fails_can_be_mended(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    window.open(Opening("mongodb://anna:s3cret@127.0.0.1:9/?serverSelectionTimeoutMS=200"))
    wait_idle(qtbot, window.workspace.welcome.trouble.isVisible)
    assert window.workspace.welcome.uri.text() == f"mongodb://anna:{DOTS}@127.0.0.1:9/?serverSelectionTimeoutMS=200"
    assert "s3cret" not in window.workspace.welcome.trouble.text()


# --- tabs change places


@pytest.mark.deep
def test_a_tab_can_be_dragged_and_moved_by_keys(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    first = window.workspace.tab_area.page
    window.workspace.open(session, PageRequest("journal"))
    blame = window.workspace.open(session, PageRequest("blame", NS, Value.of(ID)))
    bar = window.workspace.tab_area.tabs.bar
    start = bar.tabRect(2).center()
    qtbot.mousePress(bar, Qt.MouseButton.LeftButton, pos=start)
    for x in range(start.x(), -1, -8):
        drag = QMouseEvent(
            QEvent.Type.MouseMove, QPointF(x, start.y()), bar.mapToGlobal(QPointF(x, start.y())),
            Qt.MouseButton.NoButton, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier,
        )  # fmt: skip
        QApplication.sendEvent(bar, drag)
    qtbot.mouseRelease(bar, Qt.MouseButton.LeftButton, pos=QPoint(0, start.y()))
    assert [page.kind for page in window.workspace.tab_area.pages] == ["blame", "collection", "journal"]
    assert [bar.tabText(at) for at in range(3)] == [f"Blame: {ID}", "contracts", "Journal"]
    assert bar.icons == ["user-list", "table", "notebook"]
    assert window.workspace.tab_area.page is blame
    window.actions_.trigger("tab-right")
    assert window.workspace.tab_area.pages[:2] == [first, blame]
    window.workspace.tab_area.close_page(blame)
    assert [page.kind for page in window.workspace.tab_area.pages] == ["collection", "journal"]


# --- blame beside the fields


@pytest.mark.deep
def test_the_editor_says_beside_each_field_which_version_last_set_it(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    id = session.documents.find_id(NS, ID)
    page = window.workspace.open(session, PageRequest("document", NS, id))
    assert isinstance(page, DocumentPage)
    wait_idle(qtbot, lambda: page.editor.is_loaded)
    tree, model = page.editor.tree, page.editor.model
    assert tree.isColumnHidden(LAST_SET)
    qtbot.keyClick(tree, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    wait_idle(qtbot)
    assert not tree.isColumnHidden(LAST_SET)
    expected = {one.path: one for one in session.history.blame(NS, id)}
    for path in (("status",), ("holder", "phone"), ("premium", "net"), ("riders", 2, "premium")):
        said = str(model.find(path, LAST_SET).data())
        assert said.split(" · ")[0].split("–")[-1].removesuffix(" or before") == f"v{expected[path].version.v.python()}"  # type: ignore[union-attr]
    assert str(model.find(("premium",), LAST_SET).data())  # the newest inside
    phone = model.find(("holder", "phone"), LAST_SET)
    before = phone.data(CELL).tip.partition("\n")[0]
    assert before == 'Before: "+49 40 555 0117"'
    assert str(phone.data(Qt.ItemDataRole.AccessibleTextRole)).endswith(before)
    assert str(phone.data()).endswith(' · was "+49 40 555 0117"')  # where it is looked for
    page.editor.head.last_set.click()
    assert tree.isColumnHidden(LAST_SET)


# --- the list as a file


@pytest.mark.deep
def test_the_list_is_exported_as_it_is_filtered(window: Window, qtbot: QtBot, tmp_path: Path) -> None:
    page = collection(window)
    page.browser.set_filter('{ "_id": "K-204117" }')
    wait_idle(qtbot)
    page.exporter.write(page.browser.ran, str(tmp_path / "some.jsonl"))
    wait_idle(qtbot, lambda: any(words.startswith("1 document, ") for words in told(window)))
    assert (tmp_path / "some.jsonl").read_text().count("\n") == 1
    assert not any(words.startswith("Exporting") for words in told(window))
    page.exporter.write(Query(), str(tmp_path / "all.jsonl"))
    (task,) = tasks.tasks.running
    task.cancel()
    wait_idle(qtbot, lambda: any(words.endswith("stopped; no file was written") for words in told(window)))
    assert not (tmp_path / "all.jsonl").exists()


# --- writes of earlier runs


def test_writes_of_unknown_outcome_are_named_at_the_start_and_looked_for_once_connected(
    qtbot: QtBot, home: Path
) -> None:
    with LocalServer() as server:
        server.load("shop.things", [canonical.encode({"_id": 1, "a": 1})])
        with Session.open(server.uri) as session:
            source = session.source
        journal = Journal()
        intent = Intent(source, "shop.things", Value.of(1), "edit", "plain", canonical.EMPTY, canonical.EMPTY)
        lost = Outcome("unknown", "shop.things", Value.of(1), "The connection was lost.")
        journal.end(journal.begin(intent), lost)
        made = new_window(qtbot)
        wait_idle(qtbot, lambda: bool(made.messages.lines))
        assert told(made) == [f"1 write from before has no known outcome; it went to {source}."]
        made.messages.lines[0].buttons[0].click()
        qtbot.waitUntil(lambda: "1 write from before has no known outcome." in told(made))
        line = next(line for line in made.messages.lines if "1 write" in line.text)
        assert [one.text() for one in line.buttons] == ["Look again", "Show"]
        line.buttons[1].click()
        assert made.workspace.tab_area.page is not None
        assert made.workspace.tab_area.page.kind == "journal"
        made.recovery.opened(made.sessions[0])
        qtbot.waitUntil(lambda: "1 write from before has no known outcome." in told(made))
        next(line for line in made.messages.lines if "1 write" in line.text).buttons[0].click()
        qtbot.waitUntil(lambda: any(words.startswith("Looked for 1 write: ") for words in told(made)))
        made.close_quietly()


def test_a_window_that_is_dropped_without_being_closed_lets_go_of_its_connections(qtbot: QtBot) -> None:
    closed: list[Session] = []

    def dropped() -> Session:
        window = Window()
        session = open_source(qtbot, window, Opening("sample:", "sample:"))
        session.close = partial(closed.append, session)  # type: ignore[method-assign]
        window.deleteLater()
        return session

    session = dropped()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def is_closed() -> bool:
        gc.collect()
        return closed == [session]

    qtbot.waitUntil(is_closed)  # work that was under way knows its window until it has ended
    Session.close(session)


# --- closed tabs, the list of tabs, the size of text


@pytest.mark.deep
def test_a_closed_tab_opens_again_at_its_place_with_filter_and_document(window: Window, qtbot: QtBot) -> None:
    area = window.workspace.tab_area
    page = collection(window)
    page.browser.bar.take(Query('{ "status": "active" }', "v descending", "status", limit=30))
    wait_idle(qtbot)
    chosen, query = page.browser.model.rows[3].id, page.browser.ran
    page.show_document(chosen)
    window.workspace.open(window.sessions[0], PageRequest("journal"))
    wait_idle(qtbot)
    area.close_at(0)
    assert [each.kind for each in area.pages] == ["journal"]
    press(window, "Ctrl+Shift+T")
    wait_idle(qtbot, lambda: collection(window).browser.row is not None)
    assert [each.kind for each in area.pages] == ["collection", "journal"]
    assert collection(window).browser.ran == query
    wait_idle(qtbot, lambda: collection(window).id == chosen)


@pytest.mark.deep
def test_a_closed_tab_of_any_kind_is_opened_again_as_it_began(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    session = open_sample(qtbot, window)
    area = window.workspace.tab_area
    for request in every_page(session):
        page = window.workspace.open(session, request)
        wait_idle(qtbot)
        asked, title = page.memory(), page.title
        area.close_page(page)
        area.reopen()
        wait_idle(qtbot)
        assert area.page is not None
        assert area.page is not page
        assert (area.page.memory(), area.page.kind) == (asked, asked.kind)
        if asked.kind == request.kind:
            assert area.page.title == title
        if asked.kind == "field":
            assert asked.start == request.start


@pytest.mark.deep
def test_opening_a_closed_tab_is_offered_only_after_one_was_closed(window: Window, qtbot: QtBot) -> None:
    action = window.actions_.by_id["reopen-tab"]
    assert (action.isEnabled(), action.toolTip()) == (False, "No tab was closed so far")
    press(window, "Ctrl+W")
    assert action.isEnabled()
    window.connecting.disconnect_session(window.sessions[0])
    window.update_state()
    assert not action.isEnabled()  # its connection is gone


@pytest.mark.deep
def test_the_list_of_tabs_finds_one_by_its_name_and_shows_it(window: Window, qtbot: QtBot) -> None:
    area = window.workspace.tab_area
    assert area.tabs.all.isHidden()  # one tab needs no list
    for ns in ("insurance.agents", "insurance.claims"):
        window.workspace.open(window.sessions[0], PageRequest("collection", ns))
    wait_idle(qtbot)
    area.tabs.all.click()
    palette = sheet(window)
    assert isinstance(palette, Palette)
    assert [hit.text for hit in palette.model.rows] == ["contracts", "agents", "claims"]
    qtbot.keyClicks(palette.input, "agen")
    qtbot.keyClick(palette.input, Qt.Key.Key_Return)
    assert collection(window).ns == "insurance.agents"


@pytest.mark.deep
def test_larger_text_makes_everything_larger_and_the_way_back_is_exact(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    fitting = page.browser.list.findChildren(QTimer)  # once texts have come, columns are fitted to them a little later
    wait_idle(qtbot, lambda: page.diff.comparison is not None and not any(timer.isActive() for timer in fitting))

    def sizes() -> list[int]:
        bar, header = page.browser.bar, page.browser.list.header()
        margins = [layout.contentsMargins().left() for layout in bar.findChildren(QHBoxLayout)]
        words, tabs = window.status.tasks.fontMetrics(), window.workspace.tab_area.tabs
        high = [bar.run_button.sizeHint().height(), header.height(), words.height(), tabs.height()]
        return [*high, *margins]

    before, header = sizes(), page.browser.list.header()
    columns = [header.sectionSize(at) for at in range(header.count())]
    for _ in range(3):
        press(window, "Ctrl++")
    wait_idle(qtbot)
    larger = sizes()
    assert preferences.get("zoom") == 150
    assert all(1.25 * old <= new <= 1.75 * old for old, new in zip(before, larger, strict=True) if old > 8)
    press(window, "Ctrl+-")
    press(window, "Ctrl+0")
    assert sizes() == before
    assert preferences.get("zoom") == 100
    qtbot.waitUntil(lambda: [header.sectionSize(at) for at in range(header.count())] == columns)


@pytest.mark.deep
def test_text_as_large_as_it_gets_stays_inside_the_window(window: Window, qtbot: QtBot) -> None:
    size = window.size()
    for _ in range(9):
        press(window, "Ctrl+=")
    wait_idle(qtbot)
    assert preferences.get("zoom") == 200
    assert window.size() == size
    assert not window.workspace.sidebar.folded  # only a person folds it
    assert window.workspace.sidebar.width() < window.width() // 3


@pytest.mark.deep
def test_the_sample_is_served_by_another_process_that_ends_with_the_window(
    qtbot: QtBot, server_processes: list[ServerProcess]
) -> None:
    window = new_window(qtbot)
    open_sample(qtbot, window)
    (process,) = server_processes
    assert process.pid != os.getpid()
    window.close_quietly()
    wait_idle(qtbot)
    qtbot.waitUntil(lambda: process.ended)
