"""The registry of pages: every page has its row, every request finds one, and what is kept of a page brings it back."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from gui.messages import MessageLine, Question
from gui.pages import page_registry
from gui.pages.base import Page
from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage
from gui.pages.page_registry import ACTIONS, PAGES
from gui.pages.page_request import CollectionStart, PageRequest
from gui.views.browse.query import Query
from gui.views.compare.restore_sheet import RestoreSheet
from gui.window.tab_area import TabArea
from gui.window.view_switch import ViewSwitch
from model.errors import NotFound
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from model.writing.edit import spelled
from resources import manual
from tests import support
from tests.gui.window.windows import sheet, wait_idle
from tests.resources.manual_text import NAMES
from tests.writers.libraries import told

NS = "insurance.contracts"
ID = Value.of("K-204117")
BEGUN = ("merge", "pair", "taking-back")
"""Kinds of page that begin with what another page hands over."""


@pytest.fixture(scope="module")
def session(homes: Path) -> Iterator[Session]:
    made = Session.open("sample:", home=homes / "pages")
    yield made
    made.close()


def tabs(qtbot: QtBot, production: bool = False) -> TabArea:
    made = TabArea(lambda _: production)
    qtbot.addWidget(made)
    made.resize(1300, 800)
    made.show()
    return made


def pages(above: type[Page] = Page) -> set[type[Page]]:
    """The classes of pages that are shown: those that say their kind."""
    below = above.__subclasses__()
    return {each for each in below if each.kind} | {one for each in below for one in pages(each)}


def n_of(session: Session, ns: str, id: Value) -> Value | None:
    """The number in a document that a test has made."""
    return canonical.get(session.history.version(ns, id).content or canonical.EMPTY, ("n",))


def kinds_asked_for() -> set[str]:
    """Every kind that is written out in a request, anywhere in the window's code."""
    calls = [
        node
        for path in (support.ROOT / "gui").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "PageRequest"
    ]
    return {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}


def test_every_page_has_one_row() -> None:
    for file in (support.ROOT / "gui/pages").glob("*.py"):
        importlib.import_module(f"gui.pages.{file.stem}")  # also those that no row names
    shown = [row.page.__name__ for row in PAGES.values()]
    assert support.all_named([each.__name__ for each in pages()], shown, "PAGES in gui/pages/page_registry.py")
    assert {row.kind: row.page.kind for row in PAGES.values()} == {kind: kind for kind in PAGES}
    other = [row.kind for row in PAGES.values() if row.entry is not None and row.actions[0].icon != row.page.icon]
    assert not other, "the first action of a page with an entry in the sidebar has the page's icon"


def test_every_row_names_a_page_of_the_manual() -> None:
    topics = {row.kind: row.topic for row in PAGES.values()}
    there = set(NAMES) - {manual.FIRST}
    assert not {kind: topic for kind, topic in topics.items() if topic not in there}, "pages of resources/help"


@pytest.mark.parametrize("kind", [kind for kind in PAGES if kind not in BEGUN])
def test_every_row_makes_its_page_with_what_that_takes(kind: str, session: Session) -> None:
    row, made = PAGES[kind], Mock(spec=Page)

    def make(*given: object, **named: object) -> Page:
        inspect.signature(row.page).bind(*given, parent=None, **named)  # raises where they do not fit
        return made

    assert row.making(make, session, PageRequest(kind, NS, ID), False) is made


def test_every_icon_of_a_page_and_its_actions_is_drawn() -> None:
    named = {f"{row.page.__name__}.icon": row.page.icon for row in PAGES.values()}
    named |= {f"action {item.id}": item.icon for row in PAGES.values() for item in row.actions if item.icon}
    drawn = {file.stem for file in (support.ROOT / "resources/icons").glob("*.svg")}
    assert not {what: icon for what, icon in named.items() if icon not in drawn}, "files of resources/icons"


def test_every_panel_is_shown_by_a_page() -> None:
    panels = {path.stem for path in (support.ROOT / "gui/views").rglob("*_panel.py")}
    sources = [path.read_text("utf-8") for path in (support.ROOT / "gui").rglob("*.py")]
    shown = {panel for panel in panels if any(f".{panel} import" in source for source in sources)}
    assert support.all_named(panels, shown, "what pages of gui/pages import")


def test_every_page_is_in_the_tour() -> None:
    """Asked for by its kind, or met on the way, and then named."""
    sources = [path.read_text("utf-8") for path in (support.ROOT / "gui/tour").glob("*.py")]
    toured = [
        row.kind
        for row in PAGES.values()
        if any(f'PageRequest("{row.kind}"' in source or f", {row.page.__name__})" in source for source in sources)
    ]
    assert support.all_named(PAGES, toured, "TourViews.views in gui/tour/tour_views.py")


def test_every_kind_that_is_asked_for_has_a_row() -> None:
    asked = kinds_asked_for()
    assert {"collection", "document", "merge"} <= asked
    assert support.all_named(asked | set(PAGES), PAGES, "PAGES in gui/pages/page_registry.py")


def test_what_a_row_names_of_others_is_there() -> None:
    aimless = [item.id for row in PAGES.values() for item in row.actions if item.id and not item.about]
    assert not aimless, "an action that opens a page says what the page is about: about="
    assert {row.tab_of for row in PAGES.values() if row.tab_of} <= set(PAGES)
    assert not [row.kind for row in PAGES.values() if row.entry_of and PAGES[row.entry_of].entry is None]
    without = [row.kind for row in PAGES.values() if row.entry is not None and not row.actions]
    assert not without, "an entry in the sidebar is the first action of its page"


def test_each_action_asks_for_a_page_about_what_is_in_front(session: Session, qtbot: QtBot) -> None:
    page = tabs(qtbot).open(session, PageRequest("collection", NS, ID))
    wait_idle(qtbot, lambda: page.id == ID)
    wanted = {
        "check": PageRequest("check"),
        "drafts": PageRequest("drafts"),
        "journal": PageRequest("journal"),
        "change-map": PageRequest("map", NS, ID),
        "blame": PageRequest("blame", NS, ID),
        "repairs": PageRequest("repair", "insurance"),
        "repairs-collection": PageRequest("repair", NS),
        "repairs-document": PageRequest("repair", NS, ID),
        "health": PageRequest("health", "insurance"),
        "pending": PageRequest("pending"),
        "migrate": PageRequest("migrate", NS),
    }
    items = {item.id: item for item in ACTIONS if item.about}
    assert {id: page_registry.asked_by(items[id], page) for id in wanted} == wanted
    without_a_page = {item.id for item in items.values() if page_registry.asked_by(item, None) is not None}
    assert without_a_page == {item.id for item in items.values() if item.about in ("connection", "database")}


@pytest.mark.parametrize(
    "asked",
    [
        PageRequest(
            "collection",
            NS,
            start=CollectionStart(Query('{ "status": "active" }', "v descending", "status", True, 40, 2)),
            way="beside",
        ),
        PageRequest("document", NS, ID),
        PageRequest("map", NS, Value.of(7)),
        PageRequest("blame", NS, ID),
        PageRequest("pending"),
        PageRequest("pending", "reporting.stats"),
        PageRequest("journal"),
        PageRequest("drafts"),
    ],
    ids=lambda asked: f"{asked.kind} {asked.ns}",
)
def test_what_is_kept_of_a_page_asks_for_it_again(asked: PageRequest) -> None:
    assert page_registry.remembered(page_registry.kept(asked)) == asked


@pytest.mark.parametrize(
    "memory",
    [
        None,
        "journal",
        {},
        {"kind": "of another release"},
        {"kind": "collection"},
        {"kind": "document", "ns": NS},
        {"kind": "document", "ns": NS, "id": "{"},
        {"kind": "check"},
        {"kind": "repair", "ns": "insurance"},
    ],
    ids=str,
)
def test_what_cannot_be_brought_back_is_left_out(memory: object) -> None:
    assert page_registry.remembered(memory) is None


@pytest.mark.deep
def test_a_page_is_shown_again_beside_or_instead(session: Session, qtbot: QtBot) -> None:
    area = tabs(qtbot)
    first = area.open(session, PageRequest("collection", NS))
    assert area.open(session, PageRequest("collection", NS)) is first
    second = area.open(session, PageRequest("collection", NS, way="beside"))
    assert area.pages == [first, second]
    edited = area.open(session, PageRequest("document", NS, ID))
    wait_idle(qtbot)
    area.tabs.bar.moveTab(2, 1)
    anew = area.open(session, PageRequest("document", NS, ID, way="instead"))
    assert area.pages == [first, anew, second]
    assert edited not in area.pages
    wait_idle(qtbot)


def test_a_request_that_lacks_what_its_page_begins_with_is_a_mistake(session: Session, qtbot: QtBot) -> None:
    area = tabs(qtbot)
    with pytest.raises(ValueError, match="begins with a conflict"):
        area.open(session, PageRequest("merge", NS, ID))
    with pytest.raises(ValueError, match="none was named"):
        area.open(session, PageRequest("document", NS))


@pytest.mark.deep
def test_a_collection_that_comes_back_knows_that_mistakes_are_dear(session: Session, qtbot: QtBot) -> None:
    area = tabs(qtbot, production=True)
    assert area.restore(session, [{"kind": "collection", "ns": NS}]) == 1
    page = area.page
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot)
    page.writes.delete(ID)
    wait_idle(qtbot)
    question = sheet(area)
    assert isinstance(question, Question)
    assert question.field is not None
    assert not question.verb.isEnabled()
    assert not question.verb.icon().isNull()  # the bin, as on the button that deletes several
    question.field.setText("K-204117")
    assert question.verb.isEnabled()
    question.reject()


def test_a_delete_says_what_stays_and_a_restore_brings_the_document_back(session: Session, qtbot: QtBot) -> None:
    for ns, id, v in (("insurance.claims", Value.of("C-1"), 1), (NS, Value.of("K-9001"), 2)):
        assert session.writing.create(ns, canonical.encode({"n": 1}), id).kind == "applied"
        assert session.edit(ns, id, {"n": 2}).kind == "applied"
        area = tabs(qtbot)
        page = area.open(session, PageRequest("document", ns, id))
        assert isinstance(page, DocumentPage)
        wait_idle(qtbot)
        page.do_delete()
        wait_idle(qtbot)
        question = sheet(area)
        assert isinstance(question, Question)
        assert "restoring" in "".join(label.text() for label in question.findChildren(QLabel))
        question.verb.click()
        wait_idle(qtbot)
        with pytest.raises(NotFound):
            session.history.version(ns, id)
        page.writes.restore(id, Value.of(v))
        wait_idle(qtbot)
        restoring = sheet(area)
        assert isinstance(restoring, RestoreSheet)
        restoring.verb.click()
        wait_idle(qtbot)
        assert n_of(session, ns, id) == Value.of(v)


@pytest.mark.deep
def test_a_purge_is_done_only_once_the_name_is_typed(session: Session, qtbot: QtBot) -> None:
    id = Value.of("K-9002")
    assert session.writing.create(NS, canonical.encode({"n": 1}), id).kind == "applied"
    assert session.edit(NS, id, {"n": 2}).kind == "applied"
    area = tabs(qtbot)
    page = area.open(session, PageRequest("collection", NS, id))
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot)
    page.writes.purge(id)
    wait_idle(qtbot)
    question = sheet(area)
    assert isinstance(question, Question)
    assert question.field is not None
    assert not question.verb.isEnabled()
    question.field.setText("K-9002")
    question.verb.click()
    wait_idle(qtbot)
    with pytest.raises(NotFound):
        session.history.last(NS, id)
    entry = session.journal.entries(limit=1)[0]
    assert (entry.action, entry.kind) == ("purge", "applied")
    assert session.way_back.undo(entry.id).kind == "applied"
    assert n_of(session, NS, id) == Value.of(2)


@pytest.mark.deep
def test_one_version_is_removed_once_it_is_shown_what_that_does(session: Session, qtbot: QtBot) -> None:
    id = Value.of("K-9003")
    assert session.writing.create(NS, canonical.encode({"n": 1}), id).kind == "applied"
    for n in (2, 3):
        assert session.edit(NS, id, {"n": n}).kind == "applied"
    page = tabs(qtbot).open(session, PageRequest("collection", NS, id))
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot)
    page.writes.remove_version(id, session.catalogue.reading.find_version(NS, id, "2"))
    wait_idle(qtbot)
    question = sheet(page.window())
    assert isinstance(question, Question)
    question.verb.click()
    wait_idle(qtbot)
    there = [each.state for each in session.history.versions(NS, id)]
    assert there == ["present", "missing", "present"]
    entry = session.journal.entries(limit=1)[0]
    assert (entry.action, session.way_back.undo(entry.id).kind) == ("retain", "applied")
    assert [each.state for each in session.history.versions(NS, id)] == ["present"] * 3


def test_a_document_of_a_production_connection_is_deleted_only_once_its_name_is_typed(
    session: Session, qtbot: QtBot
) -> None:
    area = tabs(qtbot, production=True)
    page = area.open(session, PageRequest("document", NS, ID))
    assert isinstance(page, DocumentPage)
    wait_idle(qtbot)
    page.do_delete()
    wait_idle(qtbot)
    question = sheet(area)
    assert isinstance(question, Question)
    assert question.field is not None
    assert not question.verb.isEnabled()
    question.field.setText("K-204117")
    assert question.verb.isEnabled()
    question.reject()


@pytest.mark.parametrize(
    ("program", "ns", "reason"),
    [
        ("vermongo", "shop.items", "Nothing is changed"),
        ("payload", "shop.posts", "Payload keeps its own versions; edit there."),
    ],
)
def test_the_editor_says_whether_another_program_allows_an_edit(
    program: str, ns: str, reason: str, qtbot: QtBot, tmp_path: Path
) -> None:
    with Session.open(str(support.ROOT / "tests" / "writers" / program), into_memory=True, home=tmp_path) as session:
        id = Value.of(next(each.id for each in told(program) if (each.ns, each.kind) == (ns, "saved")))
        area = tabs(qtbot)
        page = area.open(session, PageRequest("document", ns, id))
        assert isinstance(page, DocumentPage)
        wait_idle(qtbot)
        assert page.editor.save_reason == reason
        area.close()


def test_what_may_not_be_restored_here_is_offered_to_be_copied(qtbot: QtBot, tmp_path: Path) -> None:
    dump = support.ROOT / "tests" / "writers" / "payload"
    with Session.open(str(dump), into_memory=True, home=tmp_path) as session:
        id = Value.of(next(each.id for each in told("payload") if (each.ns, each.kind) == ("shop.posts", "saved")))
        area = tabs(qtbot)
        page = area.open(session, PageRequest("document", "shop.posts", id))
        assert isinstance(page, DocumentPage)
        wait_idle(qtbot)
        page.writes.restore(id, Value.of(1))
        wait_idle(qtbot)
        (line,) = (each for each in area.window().findChildren(MessageLine) if each.kind == "note" and each.buttons)
        assert line.text == "Payload keeps its own versions; edit there."
        (copied,) = line.buttons
        assert copied.text() == "Copy the values"
        copied.click()
        now, old = session.history.version("shop.posts", id), session.history.version("shop.posts", id, Value.of(1))
        assert QApplication.clipboard().text() == spelled(now.content or b"", old.content or b"")
        assert "stock = " in QApplication.clipboard().text()
        assert session.history.version("shop.posts", id).raw == now.raw
        wait_idle(qtbot)
        area.close()


def test_there_are_few_kinds_of_tab() -> None:
    assert len({row.tab_of or row.kind for row in PAGES.values()}) <= 12


def test_views_share_a_tab_and_a_busy_page_keeps_its_own(session: Session, qtbot: QtBot) -> None:
    area = tabs(qtbot)
    shown = area.open(session, PageRequest("map", NS, ID))
    switch = shown.findChild(ViewSwitch)
    assert [button.text() for button in switch.findChildren(QPushButton)] == [
        "Change map", "Blame", "One field", "Find when",
    ]  # fmt: skip
    for kind in ("blame", "bisect", "map"):
        qtbot.mouseClick(area.page.findChild(ViewSwitch).button(kind), Qt.MouseButton.LeftButton)
        assert [(page.kind, page.id) for page in area.pages] == [(kind, ID)]
    assert area.open(session, PageRequest("field", NS, ID)) is area.page
    assert [page.kind for page in area.pages] == ["field"]
    repairs = area.open(session, PageRequest("repair", "insurance.tariffs"))
    wait_idle(qtbot, lambda: repairs.busy and not repairs.panel.scanner.running)
    qtbot.mouseClick(repairs.findChild(ViewSwitch).button("health"), Qt.MouseButton.LeftButton)
    assert [page.kind for page in area.pages] == ["field", "repair", "health"]
