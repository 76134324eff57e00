"""A person compares any two documents: of one or two collections, of one or two connections, in any versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pymongo
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from gui.pages.collection_page import CollectionPage
from gui.pages.collections_page import CollectionsPage
from gui.pages.document_pages import DocumentPage
from gui.pages.page_request import PageRequest, PairStart
from gui.pages.pair_page import PairPage
from gui.parts.document_side import DocumentSide, remembered
from gui.views.compare.collections_panel import CollectionsPanel
from gui.views.compare.other_document import OtherDocument
from gui.window.opening import Opening
from gui.window.window import Window
from model.localserver import LocalServer
from model.session import Session
from model.session.history_reading import HistoryReading
from model.values import canonical
from model.values.canonical import Value
from tests.gui.menus import choose
from tests.gui.refusals import going_on, silent, try_again
from tests.gui.window.windows import PATIENCE, collection, document, open_source, sheet, wait_idle

NS = "insurance.contracts"


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    """Forgets the version remembered by one test before the next."""
    yield
    remembered.put(None)


@pytest.fixture
def server(homes: Path) -> Iterator[str]:
    """Another server, with a document that the sample has too; it differs in some fields."""
    with LocalServer() as made:
        client: pymongo.MongoClient[dict[str, object]]
        with pymongo.MongoClient(made.uri) as client:
            client["insurance"]["agents"].insert_one(
                {"_id": "A-02", "name": "Lars Thomsen", "region": "Nord", "only": True}
            )
        yield made.uri


def show(qtbot: QtBot, window: Window, session: Session, ns: str, id: str) -> CollectionPage:
    window.workspace.open(session, PageRequest("collection", ns, Value.of(id)))
    page = collection(window)
    wait_idle(qtbot, lambda: page.session is session and page.id == Value.of(id) and page.timeline.shown_id == page.id)
    return page


def pair(qtbot: QtBot, window: Window) -> PairPage:
    wait_idle(qtbot, lambda: isinstance(window.workspace.tab_area.page, PairPage))
    page = window.workspace.tab_area.page
    assert isinstance(page, PairPage)
    wait_idle(qtbot, lambda: page.panel.diff.comparison is not None)
    return page


def headers(page: PairPage) -> tuple[str, ...]:
    return page.panel.diff.model.headers[2:4]


def test_the_collection_of_the_same_name_in_one_other_database_is_filled_in(
    qtbot: QtBot, window: Window, sample: Session
) -> None:
    def asked(ns: str) -> CollectionsPanel:
        window.workspace.open(sample, PageRequest("collection", ns))
        wait_idle(qtbot)
        window.actions_.trigger("two-collections")
        page = window.workspace.page
        assert isinstance(page, CollectionsPage)
        return page.panel

    panel = asked("insurance.agents")  # the only one of its name
    assert (panel.collection.text(), panel.run.isEnabled()) == ("", False)
    panel = asked("reporting.campaigns")
    assert panel.collection.text() == "insurance_2019.campaigns"
    panel = asked("insurance.partners")
    panel.run.click()
    wait_idle(qtbot, lambda: bool(panel.model.rows) and not panel.reading.is_on)
    counts = panel.said.text().removesuffix(".").split(", ")
    assert sorted(counts) == ["1 the same", "2 diverged", "26 only here", "4 behind", "7 ahead"]


@pytest.mark.deep
def test_a_version_of_one_document_is_compared_with_another_document(
    qtbot: QtBot, window: Window, sample: Session
) -> None:
    page = show(qtbot, window, sample, NS, "K-204117")
    row = page.timeline.model.row_of(Value.of(11))
    assert row is not None
    menu = page.timeline.menu(row)
    assert menu is not None
    choose(menu, "Remember v11 for a comparison")
    page = show(qtbot, window, sample, NS, "K-204109")
    at = page.browser.model.rows[page.browser.model.row_of(Value.of("K-204109"))]
    choose(page.browser.menu_for(at), "Compare with K-204117 v11 of insurance.contracts on the sample")
    two = pair(qtbot, window)
    assert headers(two) == (
        "A   K-204117 v11, 03 Nov 2026 10:14, by rk-204",
        "B   K-204109 v6, current, 18 Nov 2026 09:12, by rk-204",
    )
    assert two.title == "K-204117 and K-204109"
    assert two.status()[0] == ["insurance.contracts / K-204117 and insurance.contracts / K-204109"]
    diff = two.panel.diff
    assert not diff.why_not_take("a")
    diff.say_answering(False)
    assert diff.why_not_take("a") == diff.why_not_take("b") == "This connection does not answer now."
    diff.say_answering(True)
    assert not diff.restore.isVisible()
    assert [one.v for one in diff.box_a.model().versions][:2] == [Value.of(14), Value.of(13)]  # type: ignore[attr-defined]
    diff.box_b.picked.emit(next(one for one in two.panel._versions[1] if one.v == Value.of(2)))
    wait_idle(qtbot, lambda: headers(two)[1].startswith("B   K-204109 v2"))
    diff.swap.click()
    wait_idle(qtbot, lambda: headers(two)[0].startswith("A   K-204109 v2") and diff.comparison is not None)
    assert headers(two)[1].startswith("B   K-204117 v11")


@pytest.mark.deep
@pytest.mark.slice
def test_documents_of_two_connections_are_compared_and_an_arrow_takes_one_difference_over(
    qtbot: QtBot, window: Window, sample: Session, server: str
) -> None:
    other = open_source(qtbot, window, Opening(server))
    page = show(qtbot, window, other, "insurance.agents", "A-02")
    assert "remembered" not in page.side_facts()
    page.do_remember()
    page = show(qtbot, window, sample, "insurance.agents", "A-02")
    assert "remembered" in page.side_facts()
    window.actions_.trigger("compare-remembered")
    two = pair(qtbot, window)
    diff = two.panel.diff
    assert diff.comparison is not None
    assert (diff.comparison.a.content, diff.comparison.b.content) == (
        other.history.version("insurance.agents", Value.of("A-02")).content,
        sample.history.version("insurance.agents", Value.of("A-02")).content,
    )
    plan = diff._plan
    assert plan is not None
    diff._go(next(i for i, op in enumerate(plan.changes) if op.path == ("region",)))
    assert diff.arrows.buttons["a"].isVisible()
    assert diff.arrows.buttons["b"].toolTip() == "Take B's value into the draft of A's document (Alt+Left)"
    diff.arrows.buttons["a"].click()  # from the other server's document into the draft of the sample's
    wait_idle(qtbot, lambda: isinstance(window.workspace.tab_area.page, DocumentPage))
    editor = document(window).editor
    assert document(window).session is sample
    wait_idle(qtbot, lambda: editor.is_dirty)
    assert canonical.get(editor.content, ("region",)) == Value.of("Nord")
    assert editor.changed_count == 1
    window.workspace.tab_area.show_page(two)
    diff.arrows.buttons["b"].click()
    wait_idle(qtbot, lambda: document(window).session is other and document(window).editor.is_dirty)
    assert canonical.get(document(window).editor.content, ("region",)) == Value.of("Mitte")
    window.workspace.tab_area.show_page(two)
    window.commands.do_allow_writes()  # of the connection in front, which is B's
    assert (other.trust.read_only, sample.trust.read_only) == (False, True)
    assert [diff.arrows.buttons[side].isVisible() for side in ("a", "b")] == [False, True]


@pytest.mark.deep
def test_what_is_remembered_goes_with_its_connection(qtbot: QtBot, window: Window, server: str) -> None:
    other = open_source(qtbot, window, Opening(server))
    page = show(qtbot, window, other, "insurance.agents", "A-02")
    page.do_remember()
    assert remembered.side is not None
    window.connecting.disconnect_session(other)
    assert remembered.side is None


@pytest.mark.deep
def test_a_document_that_is_gone_says_so(qtbot: QtBot, window: Window, sample: Session, server: str) -> None:
    other = open_source(qtbot, window, Opening(server))
    page = show(qtbot, window, other, "insurance.agents", "A-02")
    page.do_remember()
    there = other.history.version("insurance.agents", Value.of("A-02"))
    assert other.writing.delete("insurance.agents", Value.of("A-02"), there).kind == "applied"
    page = show(qtbot, window, sample, "insurance.agents", "A-03")
    page.do_compare_remembered()
    wait_idle(qtbot, lambda: isinstance(window.workspace.tab_area.page, PairPage))
    two = window.workspace.tab_area.page
    assert isinstance(two, PairPage)
    wait_idle(qtbot, lambda: two.panel.stack.kind == "failed")
    assert two.panel.stack.state.title == "These documents could not be read"


@pytest.mark.deep
def test_another_document_is_chosen_by_connection_collection_id_and_version(
    qtbot: QtBot, window: Window, sample: Session, server: str
) -> None:
    other = open_source(qtbot, window, Opening(server))
    page = show(qtbot, window, sample, "insurance.agents", "A-02")
    window.actions_.trigger("compare-other")
    asked = sheet(window)
    assert isinstance(asked, OtherDocument)
    assert (asked.connection.currentText(), asked.collection.text(), asked.id.text()) == (
        sample.name,
        "insurance.agents",
        "A-02",
    )
    labels = [label for label in asked.findChildren(QLabel) if label.buddy() is not None]
    assert len(labels) == 4
    for label in labels:
        assert abs(label.geometry().center().y() - label.buddy().geometry().center().y()) <= 1
    assert not asked.compare.isEnabled()
    assert asked.itself.isVisible()  # and says why
    asked.connection.setCurrentIndex(asked.connection.findText(other.name))
    assert asked.compare.isEnabled()
    assert not asked.itself.isVisible()
    asked.id.setText("A-7")
    asked.compare.click()
    qtbot.waitUntil(lambda: "A-7" in asked.trouble.text(), timeout=PATIENCE)
    asked.id.setText("A-02")
    assert asked.trouble.text() == ""
    asked.compare.click()
    two = pair(qtbot, window)
    assert (two.panel.left.session, two.panel.right.session) == (sample, other)
    assert page.id == Value.of("A-02")
    two.panel.choosers[0].click()
    asked = sheet(window)
    assert isinstance(asked, OtherDocument)
    asked.connection.setCurrentIndex(asked.connection.findText(sample.name))
    asked.collection.setFocus()
    asked.collection.selectAll()
    qtbot.keyClicks(asked.collection, "contr")
    offered = [each.word for each in asked.collection.offered]
    assert offered[:2] == [
        "insurance.contracts",
        "insurance.contracts_history",
    ]
    qtbot.keyClick(asked.collection, Qt.Key.Key_Return)
    asked.id.setText("K-204117")
    asked.version.setText("v11")
    qtbot.keyClick(asked.version, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: two.panel.left.v == Value.of(11) and two.panel.diff.comparison is not None)
    assert headers(two)[0].startswith("A   K-204117 v11")
    assert headers(two)[1].startswith("B   A-02")


@pytest.mark.deep
def test_a_pair_follows_both_connections_and_closes_with_either(
    qtbot: QtBot, window: Window, sample: Session, server: str
) -> None:
    other = open_source(qtbot, window, Opening(server))
    left = DocumentSide(other, "insurance.agents", Value.of("A-02"))
    right = DocumentSide(sample, NS, Value.of("K-204117"))
    window.workspace.open(sample, PageRequest("pair", NS, right.id, PairStart(left, right)))
    two = pair(qtbot, window)
    shown = window.remote.known
    qtbot.waitUntil(lambda: left.id in shown(other).get("insurance.agents", {}), timeout=PATIENCE)
    with pymongo.MongoClient[dict[str, object]](server) as client:  # another program
        client["insurance"]["agents"].update_one({"_id": "A-02"}, {"$set": {"name": "L. Thomsen"}})
    name = ("name",)

    def followed() -> bool:
        now = two.panel.diff.comparison
        return now is not None and canonical.get(now.a.content or b"", name) == Value.of("L. Thomsen")

    qtbot.waitUntil(followed, timeout=PATIENCE)
    window.connecting.disconnect_session(other)
    assert two not in window.workspace.tab_area.pages


def one_of_two_pairs(qtbot: QtBot, window: Window, sample: Session) -> tuple[PairPage, DocumentSide, DocumentSide]:
    """The page of two documents, the first of them, and another one to go beside that."""
    left, right, other = (DocumentSide(sample, NS, Value.of(id)) for id in ("K-204109", "K-204115", "K-204117"))
    window.workspace.open(sample, PageRequest("pair", NS, right.id, PairStart(left, right)))
    return pair(qtbot, window), left, other


@pytest.mark.deep
def test_reading_two_documents_again_that_is_stopped_leaves_what_was_read_before(
    qtbot: QtBot, window: Window, sample: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, left, other = one_of_two_pairs(qtbot, window, sample)
    with monkeypatch.context() as patched:
        patched.setattr(HistoryReading, "versions", going_on)
        page.panel.refresh()
        page.panel.reading.stop()
        wait_idle(qtbot)
        assert page.panel.stack.kind == "content"
        assert page.panel.diff.comparison is not None
        page.panel.show_pair(left, other)
        page.panel.reading.stop()
        wait_idle(qtbot)
        assert page.panel.stack.state.title == "Reading was stopped"


@pytest.mark.deep
def test_two_other_documents_that_cannot_be_read_are_not_shown_as_those_before(
    qtbot: QtBot, window: Window, sample: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, left, other = one_of_two_pairs(qtbot, window, sample)
    with monkeypatch.context() as patched:
        patched.setattr(HistoryReading, "versions", silent)
        page.panel.show_pair(left, other)
        wait_idle(qtbot)
    try_again(page.panel.stack)
    wait_idle(qtbot, lambda: page.panel.stack.kind == "content")
    assert "K-204117" in headers(page)[1]
