"""The sidebar: its list, what stays open, and folding."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pymongo
import pytest
from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton
from pytestqt.qtbot import QtBot

from gui.pages.activity_page import ActivityPage
from gui.pages.page_request import PageRequest
from gui.pages.tool_pages import PendingPage
from gui.style import preferences
from gui.style.cells import CELL
from gui.views.browse.explain_sheet import ExplainSheet
from gui.views.browse.insert_sheet import InsertSheet
from gui.window.opening import Opening
from gui.window.palette import Palette
from gui.window.sidebar import RAIL, SHARE, WIDTH, Sidebar
from gui.window.source_model import SourceModel, SourceNode, plan
from gui.window.window import Window
from model.catalogue.catalogue import Catalogue
from model.foundation.records import Checkpoint, CollectionInfo
from model.localserver import LocalServer
from model.localserver.command_table import CommandTable
from model.mql.command_error import CommandError
from model.userdata.connections import SavedConnection
from model.values.canonical import Value
from tests.gui.window.windows import (
    NS,
    collection,
    new_window,
    open_sample,
    open_source,
    sheet,
    told,
    wait_idle,
)
from tests.support import naming


def info(ns: str, layout: str = "plain", belongs: str | None = None) -> CollectionInfo:
    return CollectionInfo(ns, layout, {}, 1, 1.0, "it says so", belongs)


def names(model: SourceModel, above: QModelIndex | None = None) -> list[object]:
    found: list[object] = []
    above = above or QModelIndex()
    for row in range(model.rowCount(above)):
        index = model.index(row, 0, above)
        below = names(model, index)
        found.append([model.data(index), below] if below else model.data(index))
    return found


@pytest.fixture
def empty_window(qtbot: QtBot) -> Window:
    return new_window(qtbot)


def test_archives_stand_below_the_collection_that_they_belong_to() -> None:
    root = SourceNode("connection", "staging")
    root.children = plan(
        [info("shop.b"), info("shop.a", "archive"), info("shop.a_old", "plain", "shop.a"), info("blog.posts")],
        ["shop", "blog", "empty"],
        root,
    )
    model = SourceModel()
    model.put_roots([root])
    assert names(model) == [["staging", [["blog", ["posts"]], "empty", ["shop", [["a", ["a_old"]], "b"]]]]]


def test_an_archive_whose_owner_is_not_there_is_listed_by_itself() -> None:
    root = SourceNode("connection", "staging")
    root.children = plan([info("shop.a_old", "plain", "shop.a")], ["shop"], root)
    model = SourceModel()
    model.put_roots([root])
    assert names(model) == [["staging", [["shop", ["a_old"]]]]]


@pytest.mark.deep
def test_the_layout_is_a_badge_at_the_right_and_the_reason_in_the_tooltip(window: Window) -> None:
    sidebar = window.workspace.sidebar
    node = sidebar.model.roots[0].find(NS)
    assert node is not None
    cell = sidebar.model.index_of(node).data(CELL)
    assert [badge.text for badge in cell.badges] == ["archive"]
    assert cell.badges_right
    assert cell.tip.startswith("archive: earlier versions in a second collection")
    assert "\nNumbers: One above the version that was read" in cell.tip
    assert cell.accessible == "collection contracts, layout archive"


@pytest.mark.deep
def test_how_a_hash_is_made_stands_in_the_tooltip(window: Window) -> None:
    sidebar = window.workspace.sidebar
    node = sidebar.model.roots[0].find("insurance.invoices")
    assert node is not None
    tip = sidebar.model.index_of(node).data(CELL).tip
    assert "\nHash: SHA-1 of the content as BSON." in tip


@pytest.mark.deep
def test_a_refresh_leaves_open_what_was_opened_and_closed_what_was_closed(window: Window, qtbot: QtBot) -> None:
    sidebar = window.workspace.sidebar

    def opened() -> list[bool]:
        return [sidebar.tree.isExpanded(sidebar.model.index_of(child)) for child in sidebar.model.roots[0].children]

    databases = sidebar.model.roots[0].children
    assert len(databases) >= 2
    sidebar.tree.expand(sidebar.model.index_of(databases[-1]))
    before = opened()
    assert before[-1]
    sidebar.refresh()
    wait_idle(qtbot)
    assert opened() == before


@pytest.mark.deep
def test_a_refresh_keeps_the_line_of_the_keys_and_the_place(window: Window, qtbot: QtBot) -> None:
    sidebar = window.workspace.sidebar
    window.resize(1000, 420)
    sidebar.tree.expandAll()
    (root,) = (each for each in sidebar.model.roots if each.session is not None)
    line = root.find("insurance.tariffs")
    assert line is not None
    sidebar.tree.setCurrentIndex(sidebar.model.index_of(line))
    bar = sidebar.tree.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    place = bar.value()
    assert place > 0
    sidebar.refresh()
    wait_idle(qtbot)
    assert root.find("insurance.tariffs") is not line
    chosen = sidebar.model.node(sidebar.tree.currentIndex())
    assert chosen is root.find("insurance.tariffs")
    assert sidebar.tree.selectionModel().isSelected(sidebar.tree.currentIndex())
    assert bar.value() == place


@pytest.mark.deep
def test_the_sidebar_is_drawn_again_only_where_it_says_something_else(window: Window, qtbot: QtBot) -> None:
    sidebar, session = window.workspace.sidebar, window.sessions[0]
    drawn: list[bool] = []

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            drawn.extend([True] * (event.type() == QEvent.Type.Paint))
            return False

    watch = Watch()
    QApplication.processEvents()
    sidebar.tree.viewport().installEventFilter(watch)
    window.update_state()
    sidebar.set_current(*sidebar.model.current)
    QApplication.processEvents()
    assert not drawn
    for change in (
        lambda: sidebar.touch([session]),
        lambda: sidebar.touch(),
        lambda: sidebar.set_current(session, "insurance.claims"),
        lambda: sidebar.set_current(session, "insurance.contracts"),
    ):
        drawn.clear()
        change()
        QApplication.processEvents()
        assert drawn


@pytest.mark.parametrize("typed", ["insurance_2019.claims", "insurance_2019 claims", "2019 clai", "2019.cl"])
def test_a_collection_is_found_by_its_database_and_its_name_in_sidebar_and_palette(
    window: Window, qtbot: QtBot, typed: str
) -> None:
    sidebar = window.workspace.sidebar
    sidebar.search.setText(typed)
    node = sidebar.model.node(sidebar.tree.currentIndex())
    assert node is not None
    assert node.info is not None
    assert node.info.ns == "insurance_2019.claims"
    sidebar.search.clear()
    window.commands.do_palette()
    palette = sheet(window)
    assert isinstance(palette, Palette)
    palette.input.setText(typed)
    assert [(hit.text, hit.remark) for hit in palette.model.rows] == [("claims", "insurance_2019")]
    palette.reject()


def test_searching_shows_only_what_matches_and_enter_opens_it(window: Window, qtbot: QtBot) -> None:
    sidebar = window.workspace.sidebar
    qtbot.keyClicks(sidebar.search, "claim")
    shown = str(names(sidebar.model))
    assert "claims" in shown
    assert "agents" not in shown
    assert sidebar.unfound.isHidden()
    sidebar.search.setText("no such thing")
    assert sidebar.unfound.isVisible()
    assert sidebar.unfound.text() == "No collection has this in its name"
    sidebar.search.setText("claim")
    assert sidebar.unfound.isHidden()
    qtbot.keyClick(sidebar.search, Qt.Key.Key_Return)
    wait_idle(qtbot)
    assert collection(window).ns.endswith(".claims")
    qtbot.keyClick(sidebar.search, Qt.Key.Key_Escape)
    assert sidebar.search.text() == ""
    assert "agents" in str(names(sidebar.model))


def test_a_click_opens_a_collection_and_a_second_one_finds_its_tab_again(window: Window, qtbot: QtBot) -> None:
    sidebar = window.workspace.sidebar
    node = sidebar.model.roots[0].find("insurance.agents")
    assert node is not None
    for _ in range(2):
        where = sidebar.tree.visualRect(sidebar.model.index_of(node)).center()
        qtbot.mouseClick(sidebar.tree.viewport(), Qt.MouseButton.LeftButton, pos=where)
        wait_idle(qtbot)
    assert [page.ns for page in window.workspace.tab_area.pages] == [NS, "insurance.agents"]


@pytest.mark.deep
def test_with_control_a_click_opens_another_tab(window: Window, qtbot: QtBot) -> None:
    sidebar = window.workspace.sidebar
    node = sidebar.model.roots[0].find(NS)
    assert node is not None
    where = sidebar.tree.visualRect(sidebar.model.index_of(node)).center()
    control = Qt.KeyboardModifier.ControlModifier
    qtbot.mouseClick(sidebar.tree.viewport(), Qt.MouseButton.LeftButton, control, where)
    wait_idle(qtbot)
    assert [page.ns for page in window.workspace.tab_area.pages] == [NS, NS]


@pytest.mark.deep
def test_the_collection_in_front_is_the_one_marked(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    assert window.workspace.sidebar.model.current == (session, NS)
    window.workspace.open(session, PageRequest("collection", "insurance.agents"))
    wait_idle(qtbot)
    assert window.workspace.sidebar.model.current == (session, "insurance.agents")


def test_saved_connections_are_listed_with_what_they_are(qtbot: QtBot) -> None:
    sidebar = Sidebar()
    qtbot.addWidget(sidebar)
    sidebar.set_saved(
        [SavedConnection("production", "mongodb://db/", read_only=True), SavedConnection("dump", "/dumps/x")]
    )
    cells = [sidebar.model.index(row, 0).data(CELL) for row in range(3)]
    assert [cell.text for cell in cells] == ["production", "dump", "sample:"]
    assert [cell.badges[0].text for cell in cells] == ["read-only", "file", "in memory"]
    assert [cell.icon for cell in cells] == ["hard-drives", "folder", "flask"]
    assert cells[0].accessible == "production, not connected"


def test_unfolding_a_saved_connection_connects(qtbot: QtBot) -> None:
    sidebar = Sidebar()
    qtbot.addWidget(sidebar)
    saved = SavedConnection("dump", "/dumps/x")
    sidebar.set_saved([saved])
    with qtbot.waitSignal(sidebar.connection_asked) as asked:
        sidebar.tree.expand(sidebar.model.index(0, 0))
    assert asked.args == [saved]


@pytest.mark.deep
def test_it_folds_to_a_rail_and_back(window: Window) -> None:
    window.workspace.toggle_sidebar()
    assert window.workspace.sidebar.width() == RAIL
    assert window.workspace.sidebar.rail_open.isVisible()
    assert preferences.get("sidebar") == "folded"
    window.workspace.sidebar.rail_open.click()
    assert window.workspace.sidebar.width() == WIDTH
    assert preferences.get("sidebar") == "open"


def test_only_a_person_folds_it_and_every_window_begins_as_that_was_chosen(qtbot: QtBot) -> None:
    window, small = new_window(qtbot), new_window(qtbot, 1024, 640)
    sidebar, other = window.workspace.sidebar, small.workspace.sidebar
    assert (sidebar.folded, other.folded) == (False, True)  # nobody has chosen: by the width at the start
    window.workspace.show_work()
    for width in (1440, 1024, 720, 1440):
        window.resize(width, 640)
        qtbot.waitUntil(lambda width=width: sidebar.width() == min(WIDTH, round(SHARE * width)))
        assert not sidebar.folded
    small.resize(1440, 900)
    assert other.folded
    small.workspace.toggle_sidebar()
    third = new_window(qtbot, 1024, 640)
    assert not third.workspace.sidebar.folded


@pytest.mark.deep
def test_another_layout_can_be_chosen_and_one_that_does_not_fit_is_refused(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    session = open_sample(qtbot, window)
    window.workspace.sidebar.set_layout(session, "insurance.agents", "hashed")
    wait_idle(qtbot)
    assert any("cannot be read as hashed" in text for text in told(window))
    window.workspace.sidebar.set_layout(session, "insurance.claims", "plain")
    wait_idle(qtbot)
    found = [window.workspace.sidebar.model.roots[0].find(ns) for ns in ("insurance.agents", "insurance.claims")]
    assert [node.info.layout for node in found if node is not None and node.info is not None] == ["plain", "plain"]


@pytest.mark.deep
def test_the_menu_of_a_collection_offers_every_layout(window: Window) -> None:
    node = window.workspace.sidebar.model.roots[0].find(NS)
    assert node is not None
    menu = window.workspace.sidebar.menu_for(node)
    layouts = next(action.menu() for action in menu.actions() if action.text() == "Layout")
    said = [action.text().partition(":")[0] for action in layouts.actions() if action.text()]
    assert said[:2] == ["Layout and its grounds…", "archive"]
    assert {"versions", "flagged", "embedded", "deltas", "stream", "hashed", "plain"} <= set(said)


@pytest.mark.deep
def test_the_menu_of_a_collection_leads_to_its_export_import_and_indexes(
    window: Window, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ns, asked = "insurance.agents", {"out": str(tmp_path / "agents.csv"), "in": ""}
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (asked["out"], ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (asked["in"], ""))
    node = window.workspace.sidebar.model.roots[0].find(ns)
    assert node is not None
    menu = {action.text(): action for action in window.workspace.sidebar.menu_for(node).actions()}
    menu["Export…"].trigger()
    wait_idle(qtbot, lambda: Path(asked["out"]).exists())
    assert collection(window).ns == ns
    assert Path(asked["out"]).read_text("utf-8").startswith("_id (String),")
    asked["in"] = asked["out"]
    menu["Import documents…"].trigger()
    plan = sheet(window)
    assert isinstance(plan, InsertSheet)
    wait_idle(qtbot, lambda: bool(plan.staying.rows))  # all of them are there
    assert not plan.go.isEnabled()
    plan.reject()
    menu["Indexes and their use…"].trigger()
    listed = sheet(window)
    assert isinstance(listed, ExplainSheet)
    wait_idle(qtbot, lambda: [row.name for row in listed.model.rows] == ["_id_"])


def test_an_address_with_a_database_lists_that_one_and_leads_to_the_others(
    qtbot: QtBot, empty_window: Window, local_uri: str, home: Path
) -> None:
    shop, blog = (f"palimpsest_test_{word}_{home.name[:8]}" for word in ("shop", "blog"))
    with pymongo.MongoClient(local_uri) as client:
        client[shop]["orders"].insert_one({"_id": 1})
        client[blog]["posts"].insert_one({"_id": 1})
        session = open_source(qtbot, empty_window, Opening(naming(local_uri, shop)))
        sidebar = empty_window.workspace.sidebar
        (connection,) = (root for root in sidebar.model.roots if root.session is session)
        assert [child.name for child in connection.children] == [shop, "Other databases"]
        sidebar.tree.entered_anew.emit(sidebar.model.index_of(connection.children[1]), False)
        wait_idle(qtbot)
        assert {child.name for child in connection.children} >= {shop, blog}
        assert "Other databases" not in [child.name for child in connection.children]
        only = next(a for a in sidebar.menu_for(connection).actions() if a.text() == f"Only the database {shop}")
        assert not only.isChecked()
        only.trigger()
        wait_idle(qtbot)
        assert [child.name for child in connection.children] == [shop, "Other databases"]
        for name in (shop, blog):
            client.drop_database(name)


def test_where_no_other_database_can_be_seen_the_tree_says_so(
    qtbot: QtBot, empty_window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: CommandTable, command: object) -> object:
        raise CommandError(13, "not authorized on admin to execute command { listDatabases: 1 }")

    monkeypatch.setattr(CommandTable, "_list_databases", refused)
    with LocalServer() as server, pymongo.MongoClient(server.uri) as client:
        client["shop"]["orders"].insert_one({"_id": 1})
        session = open_source(qtbot, empty_window, Opening(naming(server.uri, "shop")))
        sidebar = empty_window.workspace.sidebar
        (connection,) = (root for root in sidebar.model.roots if root.session is session)
        sidebar.look_at(session, "")
        wait_idle(qtbot)
        missing = "There may be other databases: this user lacks the privilege listDatabases on the cluster."
        assert [child.name for child in connection.children] == ["shop", missing]
        empty_window.close_quietly()  # while its server is there


@pytest.mark.deep
def test_the_number_beside_pending_tokens_is_of_those_that_the_page_lists(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    session = open_sample(qtbot, window)
    entry = window.workspace.sidebar.entries["repair"]
    qtbot.waitUntil(lambda: entry.count > 0)
    page = window.workspace.open(session, PageRequest("pending"))
    assert isinstance(page, PendingPage)
    wait_idle(qtbot, lambda: bool(page.panel.tokens))
    assert entry.count == len(page.panel.tokens) == len(page.panel.model.rows)
    assert entry.toolTip() == f"{entry.count} pending tokens"
    assert entry.accessibleName() == f"Repairs, {entry.count} pending tokens"


@pytest.fixture
def going(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Collections are recognised only once this is set; reading can be stopped meanwhile."""
    go, recognised = threading.Event(), Catalogue.collections

    def held(self: Catalogue, db: str | None, checkpoint: Checkpoint) -> Iterator[CollectionInfo]:
        while not go.wait(0.01):
            checkpoint(0, None)
        return recognised(self, db, checkpoint)

    monkeypatch.setattr(Catalogue, "collections", held)
    yield go
    go.set()


@pytest.fixture
def shop(qtbot: QtBot, empty_window: Window, going: threading.Event) -> Iterator[SourceNode]:
    """The line of a server with two collections that are being read."""
    with LocalServer() as server, pymongo.MongoClient(server.uri) as client:
        for name in ("orders", "customers"):
            client["shop"][name].insert_one({"_id": 1})
        empty_window.open(Opening(server.uri, "shop"))
        model = empty_window.workspace.sidebar.model
        qtbot.waitUntil(lambda: any(root.find("shop.orders") for root in model.roots))
        yield next(root for root in model.roots if root.find("shop.orders"))
        going.set()
        empty_window.close_quietly()  # while its server is there


def test_names_are_listed_found_and_opened_before_layouts_are_recognised(
    qtbot: QtBot, empty_window: Window, shop: SourceNode, going: threading.Event
) -> None:
    sidebar = empty_window.workspace.sidebar
    empty_window.commands.do_palette()
    palette = sheet(empty_window)
    assert isinstance(palette, Palette)
    palette.input.setText("shop.ord")
    assert [(hit.text, hit.badge) for hit in palette.model.rows] == [("orders", "")]
    sidebar.search.setText("no such thing")
    assert sidebar.unfound.text() == "No collection found so far; names are still coming"
    sidebar.search.setText("shop cust")
    qtbot.keyClick(sidebar.search, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: empty_window.workspace.page is not None)
    assert collection(empty_window).ns == "shop.customers"
    going.set()
    wait_idle(qtbot)
    assert [(hit.text, hit.badge) for hit in palette.model.rows] == [("orders", "plain")]
    assert collection(empty_window).ns == "shop.customers"
    (found,) = [node for node in (shop.find("shop.orders"),) if node is not None]
    assert found.info is not None
    assert found.info.layout == "plain"
    palette.reject()


def test_a_collection_whose_name_comes_after_it_was_typed_is_chosen(
    qtbot: QtBot, empty_window: Window, shop: SourceNode, going: threading.Event
) -> None:
    going.set()
    wait_idle(qtbot)
    sidebar = empty_window.workspace.sidebar
    qtbot.keyClicks(sidebar.search, "shop.later")
    assert sidebar.unfound.isVisible()
    assert shop.session is not None
    with pymongo.MongoClient(shop.session.source) as client:
        client["shop"]["later"].insert_one({"_id": 1})
    sidebar.refresh()
    wait_idle(qtbot, sidebar.unfound.isHidden)
    qtbot.keyClick(sidebar.search, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: empty_window.workspace.page is not None)
    assert collection(empty_window).ns == "shop.later"


def test_reading_the_collections_can_be_stopped_and_their_names_stay(
    qtbot: QtBot, empty_window: Window, shop: SourceNode
) -> None:
    empty = empty_window.workspace.tab_area.empty
    (stop,) = [made for made in empty.findChildren(QPushButton) if made.text() == "Stop"]
    stop.click()
    wait_idle(qtbot)
    assert empty.accessibleName() == "No collection is open"
    empty_window.workspace.sidebar.collection_asked.emit(shop.session, "shop.orders", False)
    wait_idle(qtbot, lambda: bool(collection(empty_window).browser.model.rows))


@pytest.mark.deep
def test_the_activity_is_that_of_the_collection_in_front_and_widens_on_request(window: Window, qtbot: QtBot) -> None:
    session, sidebar = window.sessions[-1], window.workspace.sidebar

    def widened() -> tuple[str, str]:
        page = window.workspace.page
        assert isinstance(page, ActivityPage)
        wait_idle(qtbot)
        wider = page.panel.wider_place
        said = wider.text() if wider.isVisible() else ""
        if said:
            wider.click()
        return page.ns, said

    window.workspace.open(session, PageRequest("document", "insurance.claims", Value.of(1)))
    sidebar.entry_asked.emit("activity")
    assert widened() == ("insurance.claims", "In all of insurance")
    assert widened() == ("insurance", "In all of the sample")
    assert widened() == ("", "")
    window.workspace.open(session, PageRequest("collection", "reporting.texts"))  # keeps no versions
    sidebar.entry_asked.emit("activity")
    assert widened() == ("", "")
    wait_idle(qtbot)
