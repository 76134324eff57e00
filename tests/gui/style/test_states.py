"""What is shown in place of missing content."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QSplitter,
    QStyleOptionComboBox,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from gui.style import preferences, symbols, theme
from gui.style.states import BusyLine, DropDown, StateStack
from gui.tour.gallery import BADGES, Gallery, _Badges
from model.errors import Unreachable


@pytest.fixture
def stack(qtbot: QtBot) -> StateStack:
    made = StateStack(QLabel("content"))
    qtbot.addWidget(made)
    made.resize(600, 300)
    made.show()
    return made


def buttons(stack: StateStack) -> list[str]:
    return [made.text() for made in stack.state.findChildren(QPushButton) if made.isVisible()]


def test_loading_is_not_mentioned_before_200_ms(stack: StateStack, qtbot: QtBot) -> None:
    stack.show_loading("Reading contracts")
    assert stack.kind == "content"
    qtbot.waitUntil(lambda: stack.kind == "loading")
    assert stack.state.title == "Reading contracts"


def test_a_state_takes_the_focus_of_its_content_to_its_first_choice_or_to_its_words(qtbot: QtBot) -> None:
    page, row, content = QWidget(), QLineEdit("a row"), QWidget()
    QVBoxLayout(content).addWidget(row)
    stack = StateStack(content)
    column = QVBoxLayout(page)
    for each in (stack, QLineEdit("the next one")):
        column.addWidget(each)
    qtbot.addWidget(page)
    with qtbot.waitActive(page):
        page.show()
    row.setFocus()
    stack.show_empty("Nothing is here")
    assert stack.state.hasFocus()
    seen, box = stack.state.grab().toImage(), stack.state.said_at()
    assert seen.pixelColor(box.left(), box.center().y()) == theme.colour("acc")  # and that is seen
    assert seen.pixelColor(0, 9) != theme.colour("acc")  # around the words, not around the whole page
    row.setFocus()  # somebody asks for a row that is not to be seen
    stack.show_empty("Still nothing is here")
    assert stack.state.hasFocus()
    stack.show_content()
    row.setFocus()
    stack.show_empty("Nothing is here", "", [("Try again", stack.show_content)])
    here = QApplication.focusWidget()
    assert isinstance(here, QPushButton)
    assert here.text() == "Try again"


def test_what_is_quick_is_never_called_loading(stack: StateStack) -> None:
    stack.show_loading("Reading contracts")
    assert stack._timer.isActive()
    stack.show_content()
    assert not stack._timer.isActive()
    assert stack.kind == "content"
    assert not stack.state.isVisible()


def test_content_that_was_shown_stays_while_it_is_read_again(stack: StateStack, qtbot: QtBot) -> None:
    stack.show_content()
    stopped: list[bool] = []
    stack.show_loading("Reading contracts", lambda: stopped.append(True))
    line = stack.findChild(BusyLine)
    assert line is not None
    qtbot.waitUntil(line.isVisible)
    assert stack.kind == "content"
    stack.progress(37, 60)
    qtbot.waitUntil(lambda: "37 of about 60" in " ".join(label.text() for label in line.findChildren(QLabel)))
    line.findChildren(QPushButton)[0].click()
    assert stopped == [True]
    stack.show_content()
    assert not line.isVisible()


def test_an_icon_alone_is_in_the_middle_of_its_badge() -> None:
    room = symbols.badge_width("", "lock-simple") - theme.px(12)  # the icon's width
    assert room == theme.px(5) * 2  # it is drawn 5 u from the left edge


def test_a_sentence_that_has_no_room_beside_its_button_ends_in_dots(qtbot: QtBot) -> None:
    line = BusyLine()
    qtbot.addWidget(line)
    said = "As of 23 Nov 2026 18:55. The sample did not answer within 5 s; check that the server is up, then try again."
    line.begin("Reading contracts", None)
    assert line._glyph._name == "hourglass"
    line.stale(said, lambda: None)
    assert line._glyph._name == "warning"  # nothing is being read
    line.resize(400, 40)
    line.show()
    qtbot.waitUntil(lambda: any(label.text().endswith("…") for label in line.findChildren(QLabel)))
    line.resize(1600, 40)
    qtbot.waitUntil(lambda: any(label.text() == said for label in line.findChildren(QLabel)))


def test_progress_says_how_much_of_how_much(stack: StateStack, qtbot: QtBot) -> None:
    stack.show_loading("Reading versions of K-118240", lambda: None)
    stack.progress(37, 60)
    qtbot.waitUntil(lambda: stack.kind == "loading")
    assert stack.state.help == "37 of about 60. Everything else can be used meanwhile."
    assert buttons(stack) == ["Stop"]


def test_a_failure_says_what_to_do_and_offers_to_try_again(stack: StateStack) -> None:
    tried: list[bool] = []
    stack.show_failed(Unreachable("staging did not answer; check it."), lambda: tried.append(True), "Not read")
    assert (stack.state.title, stack.state.help) == ("Not read", "staging did not answer; check it.")
    assert buttons(stack) == ["Try again", "Copy details"]
    retry, copy = stack.state.findChildren(QPushButton)[-2:]
    retry.click()
    copy.click()
    assert tried == [True]
    assert "Unreachable" in QGuiApplication.clipboard().text()


def test_a_defect_is_told_as_one_and_not_by_its_traceback(stack: StateStack) -> None:
    stack.show_failed(KeyError("secret"))
    assert "secret" not in stack.state.help
    assert "inside Palimpsest" in stack.state.help


@pytest.mark.parametrize("height", [400, 113, 80, 50])
def test_in_a_low_place_no_words_lie_over_others(stack: StateStack, qtbot: QtBot, height: int) -> None:
    stack.show_empty("Nothing is compared yet", "Choose a document, then two of its versions. " * 5, [("Go on", print)])
    stack.resize(460, height)
    view = stack.state
    parts = [part for part in (view._glyph, view._title, view._help) if part.isVisible()]
    qtbot.waitUntil(lambda: view._help.geometry().bottom() < view.findChildren(QPushButton)[0].geometry().top())
    for above, below in pairwise(parts):
        assert above.geometry().bottom() < below.geometry().top()
    for part in (view._title, view._help):
        assert part.height() >= part.heightForWidth(part.width())


def test_the_way_out_takes_the_keys_of_what_it_stands_for(qtbot: QtBot) -> None:
    whole, before = QWidget(), QLineEdit()
    column = QVBoxLayout(whole)
    made = StateStack(QLineEdit())
    for part in (before, made):
        column.addWidget(part)
    qtbot.addWidget(whole)
    whole.show()
    whole.activateWindow()
    qtbot.waitUntil(whole.isActiveWindow)
    made._content.setFocus()
    made.show_empty("No document matches this filter", "", [("Clear the filter", print)])
    assert made.state.findChildren(QPushButton)[0].hasFocus()
    made.show_content()
    before.setFocus()
    made.show_empty("No document matches this filter", "", [("Clear the filter", print)])
    assert before.hasFocus()


def test_a_wide_and_low_place_has_room_for_words_that_are_broken_before_its_edge(qtbot: QtBot) -> None:
    split = QSplitter(Qt.Orientation.Vertical)
    qtbot.addWidget(split)
    made = StateStack(QLabel("content"))
    split.addWidget(made)
    split.addWidget(QPlainTextEdit())
    split.resize(1200, 300)
    split.setSizes([90, 210])
    split.show()
    asked = (
        "2,483 documents are in contracts. The filter asks for something that none of them has in its current version."
    )
    made.show_empty("No document matches this filter", asked, [("Clear the filter", lambda: None)])
    way_out = made.state.findChildren(QPushButton)[0]
    qtbot.waitUntil(lambda: way_out.visibleRegion().boundingRect() == way_out.rect(), timeout=5000)


def test_a_state_needs_no_more_room_than_its_words_and_the_content_has_its_own_again(qtbot: QtBot) -> None:
    content = QLabel("content")
    content.setMinimumHeight(700)
    made = StateStack(content)
    qtbot.addWidget(made)
    made.show()
    made.show_content()
    assert made.minimumSizeHint().height() >= 700
    made.show_empty("Nothing is here", "Nothing was written.")
    qtbot.waitUntil(lambda: made.minimumSizeHint().height() < 200)
    made.show_content()
    qtbot.waitUntil(lambda: made.minimumSizeHint().height() >= 700)


def test_a_low_place_grows_so_that_loading_can_be_stopped(qtbot: QtBot) -> None:
    split = QSplitter(Qt.Orientation.Vertical)
    qtbot.addWidget(split)
    made = StateStack(QLabel("content"))
    split.addWidget(made)
    split.addWidget(QPlainTextEdit())
    split.resize(600, 300)
    split.setSizes([90, 210])
    split.show()
    made.show_loading("Reading contracts", lambda: None)
    qtbot.waitUntil(lambda: made.kind == "loading")
    made.progress(37, 60)
    stop = made.state.findChildren(QPushButton)[0]
    qtbot.waitUntil(lambda: stop.visibleRegion().boundingRect() == stop.rect())


def test_empty_has_at_most_two_ways_out(stack: StateStack) -> None:
    stack.show_empty("Nothing", "Because.", [("One", lambda: None), ("Two", lambda: None), ("Three", lambda: None)])
    assert buttons(stack) == ["One", "Two"]
    assert stack.state.accessibleName() == "Nothing"


def test_the_page_of_states_draws_hovered_and_focused_controls_and_every_badge(qtbot: QtBot) -> None:
    page = Gallery()
    qtbot.addWidget(page)
    page.resize(1024, 640)
    page.show()
    field = next(one for one in page.findChildren(QLineEdit) if one.property("drawn") == "focus")
    hovered = next(one for one in page.findChildren(QPushButton) if one.text() == "Hover")
    assert field.grab().toImage().pixelColor(field.width() // 2, 1).name() == theme.colour("acc").name()
    assert hovered.grab().toImage().pixelColor(8, 8).name() == theme.colour("hover").name()
    badges = page.findChildren(_Badges)[0]
    places = badges._lay_out()
    ends = [x + symbols.badge_width(text, symbol) for (x, _), (text, _, _, symbol) in zip(places, BADGES, strict=True)]
    assert max(ends) <= badges.width()
    assert max(middle for _, middle in places) < badges.height()


def test_a_badge_is_measured_once_and_again_at_another_zoom() -> None:
    symbols.badge_width.cache_clear()
    width = symbols.badge_width("archive", "git-diff")
    assert symbols.badge_width("archive", "git-diff") == width
    assert symbols.badge_width.cache_info().misses == 1
    preferences.put("zoom", 150)
    assert symbols.badge_width("archive", "git-diff") > width * 1.3
    preferences.put("zoom", 100)
    assert symbols.badge_width("archive", "git-diff") == width


def test_a_choice_that_is_cut_says_so_with_an_ellipsis(qtbot: QtBot) -> None:
    box = DropDown()
    box.addItem("archive: earlier versions in a second collection")
    qtbot.addWidget(box)
    box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    for width, cut in ((600, False), (160, True)):
        box.resize(width, box.sizeHint().height())
        drawn = QStyleOptionComboBox()
        box.initStyleOption(drawn)
        said = drawn.currentText
        assert (said != box.currentText(), said.endswith("…")) == (cut, cut)
