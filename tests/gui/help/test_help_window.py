"""The manual in its window: pages, links, the way back, finding words in all pages, and both themes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QImage, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.help import help_window, manual_dress
from gui.help.help_window import HelpWindow
from gui.style import preferences, theme
from resources import manual
from tests.resources.manual_text import NAMES
from tests.support import every


@pytest.fixture
def help(qtbot: QtBot) -> HelpWindow:
    """The window on its first page."""
    made = HelpWindow()
    qtbot.addWidget(made)
    made.resize(1080, 800)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(lambda: made.isActiveWindow() and not tasks.tasks.running)
    return made


def shown(help: HelpWindow) -> str:
    """The words of the page that is shown."""
    return help.view.document().toPlainText()


def seek(help: HelpWindow, words: str) -> None:
    help.search.setFocus()
    help.search.selectAll()
    QTest.keyClicks(help.search, words)


def selected(help: HelpWindow) -> list[str]:
    """The words that are marked."""
    return [each.cursor.selectedText() for each in help.view.extraSelections()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", every(6, NAMES))
def test_every_page_is_shown_whole_in_its_width_with_all_of_its_headings(help: HelpWindow, name: str) -> None:
    help.open_topic(name)
    assert help.topic == name
    assert shown(help).startswith(manual.headings(name)[0])
    assert help.view.document().idealWidth() <= help.view.viewport().width()
    there = {anchor for each in formats(help) for anchor in each.anchorNames()}
    assert {manual.anchor(heading) for heading in manual.headings(name)} <= there
    assert help.windowTitle() == f"{manual.headings(name)[0]} – Palimpsest"


def picture(help: HelpWindow) -> QImage:
    """The picture of the page that is shown, as it is drawn."""
    (form,) = (each for each in formats(help) if each.isImageFormat())
    drawn = help.view.document().resource(
        QTextDocument.ResourceType.ImageResource.value, QUrl(form.toImageFormat().name())
    )
    assert isinstance(drawn, QImage)
    return drawn


@pytest.mark.deep
def test_a_picture_of_the_manual_is_drawn_in_the_ink_of_the_theme_and_fits_a_narrow_window(help: HelpWindow) -> None:
    def inks() -> set[int]:
        drawn = picture(help)
        colours = (drawn.pixelColor(x, y) for x in range(drawn.width()) for y in range(drawn.height()))
        return {each.value() for each in colours if each.alpha() == 255 and each.saturation() < 40}

    help.open_topic("speed")
    heights = map(help.view.document().documentLayout().blockBoundingRect, manual_dress.blocks(help.view.document()))
    assert max(each.height() for each in heights) > theme.px(300)
    assert min(inks()) < 110
    preferences.put("theme", "dark")
    assert max(inks()) > 140
    help.resize(theme.px(600), theme.px(600))
    assert 0 < picture(help).width() <= help.view.viewport().width() - 2 * theme.px(manual_dress.MARGIN)


def formats(help: HelpWindow) -> Iterator[QTextCharFormat]:
    """The formats of all stretches of the page that is shown."""
    for block in manual_dress.blocks(help.view.document()):
        at = block.begin()
        while not at.atEnd():
            yield at.fragment().charFormat()
            at += 1


def test_the_topics_are_listed_under_their_groups_and_open_by_key(help: HelpWindow) -> None:
    assert help.topics.names == NAMES
    help.topics.setFocus()
    QTest.keyClick(help.topics, Qt.Key.Key_Down)
    assert help.topic == NAMES[1]
    QTest.keyClick(help.topics, Qt.Key.Key_End)
    assert help.topic == NAMES[-1]


def test_the_page_has_the_focus_at_first_and_shows_it_to_whoever_comes_by_tab(help: HelpWindow) -> None:
    assert help.view.hasFocus()
    assert not help.view.property("ringed")
    help.topics.setFocus()
    while not help.view.hasFocus():
        QTest.keyClick(help.focusWidget(), Qt.Key.Key_Tab)
    assert help.view.property("ringed")
    help.topics.setFocus()
    assert not help.view.property("ringed")


def test_a_link_opens_its_page_at_its_heading_and_the_way_leads_back_to_the_place(help: HelpWindow) -> None:
    help.open_topic("editing")
    help.view.place = 120
    help.view.anchorClicked.emit(QUrl("commands.md#exit-codes"))
    assert help.topic == "commands"
    at = next(b for b in manual_dress.blocks(help.view.document()) if b.text() == "Exit codes")
    assert abs(help.view.cursorRect(QTextCursor(at)).top()) < theme.px(40)
    QTest.keyClick(help, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert (help.topic, help.view.place) == ("editing", 120)
    assert help.forward.isEnabled()
    help.forward.click()
    assert help.topic == "commands"
    assert not help.forward.isEnabled()


def test_a_link_is_followed_by_a_click_on_it(help: HelpWindow, qtbot: QtBot) -> None:
    link = help.view.document().find("Layouts", 0, QTextDocument.FindFlag.FindCaseSensitively)
    inside = help.view.cursorRect(link).center() - QPoint(theme.px(10), 0)
    qtbot.mouseClick(help.view.viewport(), Qt.MouseButton.LeftButton, pos=inside)
    assert help.topic == "layouts"


def test_a_link_out_of_the_manual_goes_to_the_browser(help: HelpWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    help.open_topic("notices")
    help.view.anchorClicked.emit(QUrl("https://phosphoricons.com"))
    assert opened == ["https://phosphoricons.com"]
    assert help.topic == "notices"


@pytest.mark.deep
def test_words_are_counted_on_every_page_and_marked_on_this_one(help: HelpWindow) -> None:
    help.open_topic("layouts")
    seek(help, "TOKEN")
    assert len(selected(help)) > 2
    assert {word.lower() for word in selected(help)} == {"token"}
    assert set(help.topics.names) == {name for name in NAMES if "token" in manual.page(name).lower()}
    for name in help.topics.names:
        help.open_topic(name)
        assert help.view.hits[1] == help._hits()[name]


def test_the_next_hit_leads_through_all_pages_and_back(help: HelpWindow, qtbot: QtBot) -> None:
    seek(help, "quarantine")
    with_it = list(help.topics.names)
    assert len(with_it) > 1
    assert help.topic == manual.FIRST
    assert selected(help) == []
    QTest.keyClick(help.search, Qt.Key.Key_Return)
    assert (help.topic, help.view.hits[0]) == (with_it[0], 1)
    passed = [help.topic]
    for _ in range(sum(help._hits().values())):
        QTest.keyClick(help, Qt.Key.Key_F3)
        passed.append(help.topic)
        assert help.view.viewport().rect().contains(help.view.cursorRect().center())
    assert list(dict.fromkeys(passed)) == with_it
    assert passed[-1] == with_it[0]
    QTest.keyClick(help, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
    assert (help.topic, help.view.hits[0]) == (with_it[-1], help.view.hits[1])


def test_words_that_stand_nowhere_are_said_to_and_escape_forgets_them_then_closes(help: HelpWindow) -> None:
    seek(help, "zzzz")
    assert help.topics.names == []
    assert help._none.isVisible()
    assert not help.down.isEnabled()
    QTest.keyClick(help.search, Qt.Key.Key_Escape)
    assert help.search.text() == ""
    assert help.topics.names == NAMES
    assert help.isVisible()
    QTest.keyClick(help.view, Qt.Key.Key_Escape)
    assert not help.isVisible()


def test_a_change_of_theme_draws_the_page_in_the_other_colours_at_the_same_place(help: HelpWindow) -> None:
    help.open_topic("layouts")
    seek(help, "token")
    help.view.place = 200
    for scheme, tokens in (("dark", theme.DARK), ("light", theme.LIGHT)):
        preferences.put("theme", scheme)
        theme.apply(scheme, "normal")
        assert {each.foreground().color().name() for each in formats(help)} <= {
            getattr(tokens, each).lower() for each in ("text", "text2", "text3", "acc")
        }
        assert help.view.place == 200
        assert len(selected(help)) > 2


def test_code_keeps_its_empty_lines_and_stands_in_a_box(help: HelpWindow) -> None:
    help.open_topic("profiles")
    lines = [block for block in manual_dress.blocks(help.view.document()) if manual_dress.is_code(block)]
    empty = [block for block in lines if not block.text()]
    assert empty
    assert {block.blockFormat().lineHeight() for block in empty} == {lines[0].blockFormat().lineHeight()}
    assert len(help.view._code_boxes()) == manual.page("profiles").count("```") // 2
    assert all(box.width() <= help.view.viewport().width() for box in help.view._code_boxes())


def test_a_page_with_a_long_table_is_laid_out_a_few_times_and_not_with_each_cell(help: HelpWindow) -> None:
    laid_out: list[None] = []
    help.view.document().contentsChanged.connect(lambda: laid_out.append(None))
    help.open_topic("profiles")
    assert 0 < len(laid_out) < 10


def test_a_manual_that_cannot_be_read_says_so_and_is_read_again(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> str:
        raise OSError("gone")

    monkeypatch.setattr(help_window.manual, "page", broken)
    made = HelpWindow()
    qtbot.addWidget(made)
    made.show()
    qtbot.waitUntil(lambda: made.states.kind == "failed")
    assert made.states.state.title == "The manual could not be read"
    monkeypatch.undo()
    made._load()
    qtbot.waitUntil(lambda: made.states.kind == "content")
    assert shown(made).startswith("Start here")


def test_a_page_asked_for_before_the_manual_is_read_is_shown_then(qtbot: QtBot) -> None:
    made = HelpWindow()
    qtbot.addWidget(made)
    made.open_topic("merging")
    made.show()
    qtbot.waitUntil(lambda: bool(shown(made)))
    assert made.topic == "merging"
    assert shown(made).startswith("Merging")
    assert not made.back.isEnabled()
