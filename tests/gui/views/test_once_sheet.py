"""The next number, a count, an entry and a numbered document, requested in the window over the sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from gui.messages import MessageArea, Question
from gui.pages.collection_page import CollectionPage
from gui.views.edit.new_document import NewDocument
from gui.views.edit.once_sheet import OnceSheet
from model.session import Session
from model.values import canonical
from model.values.canonical import Value


@pytest.fixture
def session() -> Iterator[Session]:
    with Session.open("sample:") as made:
        yield made


@pytest.fixture
def page(session: Session, qtbot: QtBot, idle: Callable[[], None]) -> Callable[[str, object], CollectionPage]:
    """The page of a collection with one document chosen."""

    def opened(ns: str, id: object) -> CollectionPage:
        made = CollectionPage(session, ns)
        qtbot.addWidget(made)
        made.resize(1100, 760)
        made.show()
        made.show_document(Value.of(id))
        qtbot.waitUntil(lambda: made.browser.info is not None and made.id == Value.of(id))
        idle()
        return made

    return opened


def sheet(page: CollectionPage) -> OnceSheet:
    return next(each for each in page.window().findChildren(OnceSheet) if each.isVisible())


def said(page: CollectionPage) -> str:
    area = page.window().findChild(MessageArea)
    assert area is not None
    return area.lines[-1].text


def stored(session: Session, ns: str, id: object, field: str) -> object:
    raw = session.history.version(ns, Value.of(id)).raw
    assert raw is not None
    found = canonical.get(raw, (field,))
    return None if found is None else found.python()


@pytest.mark.deep
def test_the_menu_of_a_counter_hands_out_its_next_number(
    page: Callable[[str, object], CollectionPage], session: Session, idle: Callable[[], None]
) -> None:
    ns = "insurance.counters"
    here = page(ns, "letters")
    menu = QMenu()
    assert here._chosen_row is not None
    here._fill_menu(menu, here._chosen_row)
    more = next(
        found for action in menu.actions() if isinstance(found := action.menu(), QMenu) and action.text() == "More"
    )
    assert "Take the next number…" in [action.text() for action in more.actions()]
    before = stored(session, ns, "letters", "seq")
    assert isinstance(before, int)
    here.do_next_number()
    asked = next(each for each in here.window().findChildren(Question) if each.isVisible())
    assert "cannot be given back" in asked.text
    asked.verb.click()
    idle()
    assert stored(session, ns, "letters", "seq") == before + 1
    assert said(here) == f"letters handed out {before + 1}."
    area = here.window().findChild(MessageArea)
    assert area is not None
    area.lines[-1].buttons[0].click()
    assert QApplication.clipboard().text() == str(before + 1)


def test_an_event_is_counted_once_however_often_it_is_entered(
    page: Callable[[str, object], CollectionPage], session: Session, idle: Callable[[], None]
) -> None:
    ns, id = "insurance.stats", "2026-11-03 calls"
    here = page(ns, id)
    before = stored(session, ns, id, "count")
    assert isinstance(before, int)
    for told in ("was finished", "was counted already"):
        here.do_count_once()
        asked = sheet(here)
        assert asked.fields["id"].text() == id
        asked.fields["token"].setText("call-4711")
        asked.verb.click()
        idle()
        assert told in said(here)
    assert stored(session, ns, id, "count") == before + 1


@pytest.mark.deep
def test_what_is_refused_is_said_in_the_sheet_and_what_was_typed_stays(
    page: Callable[[str, object], CollectionPage], session: Session, idle: Callable[[], None]
) -> None:
    here = page("insurance.stats", "2026-11-03 calls")
    here.do_count_once()
    asked = sheet(here)
    asked.fields["by"].setText("some")
    asked.verb.click()
    assert "whole number" in asked.trouble.text()
    asked.fields["by"].setText("0")
    asked.verb.click()
    idle()
    assert asked.isVisible()
    assert "never 0" in asked.trouble.text()
    assert asked.verb.isEnabled()
    assert not session.journal.entries()


def test_an_entry_raises_the_total_once_and_undo_takes_it_back(
    page: Callable[[str, object], CollectionPage], session: Session, idle: Callable[[], None]
) -> None:
    ns = "reporting.campaigns"
    here = page(ns, 2)
    before = stored(session, ns, 2, "answers")
    assert isinstance(before, int)
    here.do_process_entry()
    asked = sheet(here)
    assert (asked.fields["key"].text(), asked.fields["field"].text()) == ("2", "answers")
    assert not asked.verb.isEnabled()
    asked.fields["entry"].setText("2027-01")
    asked.fields["by"].setText("12")
    asked.verb.click()
    idle()
    assert stored(session, ns, 2, "answers") == before + 12
    area = here.window().findChild(MessageArea)
    assert area is not None
    area.lines[-1].buttons[0].click()
    idle()
    assert stored(session, ns, 2, "answers") == before


def test_a_document_gets_the_number_after_the_highest(
    page: Callable[[str, object], CollectionPage], session: Session, idle: Callable[[], None]
) -> None:
    here = page("reporting.campaigns", 2)
    here.do_insert_next()
    asked = next(each for each in here.window().findChildren(NewDocument) if each.isVisible())
    assert not asked.id.isEnabled()
    asked.editor.setPlainText('{name: "Sixth", answers: 0, processed: []}')
    asked.insert.click()
    idle()
    assert stored(session, "reporting.campaigns", 6, "name") == "Sixth"


def test_the_list_of_counters_shows_what_they_count(page: Callable[[str, object], CollectionPage]) -> None:
    model = page("insurance.counters", "letters").browser.model
    assert model.headerData(1, Qt.Orientation.Horizontal) == "seq"
    shown = ["".join(span.text for span in model.cell(model.index(row, 1)).spans) for row in range(3)]
    assert shown == ["430", "202600700", "118240"]


@pytest.mark.deep
def test_only_what_fits_the_collection_is_offered(page: Callable[[str, object], CollectionPage]) -> None:
    here = page("insurance.agents", "A-07")
    assert not {"numbers", "tokens", "entries"} & here.facts()
    assert "no counters" in here.reasons()["numbers"]
    assert "numbers" in page("insurance.counters", "claims").facts()
