"""How the list of documents, the history and the comparison share the height of a window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication, QHeaderView, QStyleOptionHeader
from pytestqt.qtbot import QtBot

from gui import language
from gui.pages.collection_page import CollectionPage
from gui.pages.page_request import PageRequest
from gui.parts.differences.diff_model import A, B
from gui.style import preferences, theme
from gui.views.timeline.version_list import StripLegend
from gui.window.window import Window
from model.session import Session
from model.values.canonical import Value
from tests.gui.window.windows import adopt, collection, new_window, press, wait_idle


@pytest.fixture(params=[pytest.param("en", marks=pytest.mark.deep), "de"])
def each_language(request: pytest.FixtureRequest) -> Iterator[None]:
    """The texts of windows that are made from now on in each of the languages; those of German are longer."""
    language.choose(request.param)
    yield
    language.choose("en")


def in_sight(page: CollectionPage) -> int:
    """The rows of documents that are whole in sight."""
    rows = page.browser.list
    places = [rows.visualRect(rows.model().index(at, 0)) for at in range(rows.model().rowCount())]
    return sum(place.top() >= 0 and place.bottom() < rows.viewport().height() for place in places)


def heading(header: QHeaderView, at: int) -> str:
    """The text that is drawn above a column."""
    drawn = QStyleOptionHeader()
    header.initStyleOptionForIndex(drawn, at)
    return str(drawn.text)


def choose(qtbot: QtBot, page: CollectionPage, id: str) -> None:
    page.browser.select(Value.of(id))
    wait_idle(qtbot, lambda: page.timeline.shown_id == Value.of(id))


def page_with_history(qtbot: QtBot, window: Window, sample: Session) -> CollectionPage:
    """The first page of the sample, with the history of a document in which everything occurs."""
    adopt(qtbot, window, sample)
    page = collection(window)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    choose(qtbot, page, "K-204117")
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    return page


def everything_is_in_sight(qtbot: QtBot, page: CollectionPage, rows: int) -> None:
    """Check how many documents there are above a history that says all it has to."""
    for _ in range(8):  # all layouts have their last word
        QApplication.sendPostedEvents()
        QApplication.processEvents()
    assert in_sight(page) >= rows
    assert page.diff.tools.height() < theme.px(60)  # its tools are in one line
    assert page.timeline.strip.isVisible()
    assert page.diff.height() >= theme.px(120)  # its tools, the header and two rows
    heads = [heading(page.diff.table.header(), at) for at in (A, B)]
    assert all("rk-204" in head for head in heads), heads
    assert page.browser.bar.height() < theme.px(60)  # the query is in one line
    assert [name for name in page.browser.model.columns if name.startswith("field:")]
    legend = next(one for one in page.timeline.findChildren(StripLegend) if one.isVisible())
    assert len(legend.entries()) == 5
    qtbot.waitUntil(lambda: legend.width() >= legend.sizeHint().width())  # it says all of them


@pytest.mark.usefixtures("each_language")
def test_many_documents_are_in_sight_above_a_history_and_nine_in_a_small_window(qtbot: QtBot, sample: Session) -> None:
    for width, height, rows in ((1920, 1080, 18), (1024, 768, 9), (1440, 900, 18)):
        window = new_window(qtbot, width, height)
        page = page_with_history(qtbot, window, sample)
        assert window.workspace.folded == (width == 1024)
        everything_is_in_sight(qtbot, page, rows)
        author = page.browser.model.columns.index("author")
        assert page.browser.list.columnWidth(author) > 0  # who made the last change
    window.resize(1024, 768)
    assert not window.workspace.folded  # only a person folds it
    everything_is_in_sight(qtbot, page, 9)


@pytest.mark.deep
def test_the_query_is_never_given_two_lines_on_the_way_to_a_smaller_window(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    before = page.browser.bar.height()
    window.resize(1024, 768)
    QApplication.sendPostedEvents()  # before anything is drawn
    assert not window.workspace.folded
    assert page.browser.bar.height() == before


@pytest.mark.deep
def test_rows_are_higher_at_once_for_who_prefers_that(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    rows = page.browser.list
    assert rows.rowHeight(rows.model().index(0, 0)) == theme.px(22)
    preferences.put("rows", "roomy")
    assert rows.rowHeight(rows.model().index(0, 0)) == theme.px(28)
    preferences.put("rows", "compact")
    qtbot.waitUntil(lambda: in_sight(page) >= 18)


@pytest.mark.deep
def test_a_history_of_one_version_takes_one_line_and_the_list_stays_as_it_is(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    listed, compared, strip = page.split.sizes()[0], page.diff.height(), page.timeline.height()
    choose(qtbot, page, "K-204118")
    assert len(page.timeline.model.versions) == 1
    qtbot.waitUntil(lambda: page.timeline.height() == theme.px(40))
    assert page.split.sizes()[0] == listed
    qtbot.waitUntil(lambda: page.diff.height() == compared + strip - theme.px(40))
    press(window, "Ctrl+Shift+H")  # its history is the document itself
    assert page.diff.isAncestorOf(window.focusWidget() or window)
    choose(qtbot, page, "K-204117")
    qtbot.waitUntil(lambda: [page.split.sizes()[0], page.timeline.height()] == [listed, strip])


@pytest.mark.deep
def test_only_the_list_is_in_sight_where_a_person_wants_that_or_nothing_is_found(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    page.browser.alone.click()
    qtbot.waitUntil(lambda: page.browser.height() == page.split.height())
    assert not page.timeline.isVisible()
    assert not page.diff.isVisible()
    again = window.workspace.open(window.sessions[-1], PageRequest("collection", "insurance.claims"))
    assert isinstance(again, CollectionPage)
    assert again.browser.alone.isChecked()
    window.workspace.tab_area.show_page(page)
    press(window, "Ctrl+D")  # asks for the comparison
    wait_idle(qtbot, lambda: page.diff.comparison is not None and page.diff.isVisible())
    assert not page.browser.alone.isChecked()
    page.browser.set_filter('{ "status": "no such thing" }')
    wait_idle(qtbot, lambda: page.browser.height() == page.split.height())
    page.browser.clear_filter()
    wait_idle(qtbot, page.diff.isVisible)


@pytest.mark.deep
def test_a_short_list_leaves_its_room_to_the_comparison(window: Window, qtbot: QtBot) -> None:
    page = window.workspace.open(window.sessions[-1], PageRequest("collection", "insurance.tariffs"))
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    assert len(page.browser.model.rows) < 18
    qtbot.waitUntil(lambda: page.split.sizes()[0] == page.browser.height_for(max(9, len(page.browser.model.rows))))
    assert page.diff.height() > theme.px(142)
