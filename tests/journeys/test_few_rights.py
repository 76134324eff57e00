"""Users who may only see a part: what is hidden is named with the missing privilege, and the rest works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import bson
import pytest
from bson import ObjectId
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from gui.pages.page_request import PageRequest
from gui.pages.repair_pages import RepairPage
from gui.pages.tool_pages import CheckPage
from gui.views.repair.repair_panel import RepairPanel
from gui.window.opening import Opening
from gui.window.source_model import SourceNode
from model.commands import grammar
from model.errors import NotAllowed, Refused
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.guarded_server import GuardedServer
from tests.gui.conftest import look
from tests.gui.window.windows import collection, document, new_window, wait_idle
from tests.journeys.command_support import Rows, Run
from tests.journeys.test_main_journey import type_into
from tests.privileges import ANYTHING, Privilege, may

__all__ = ["look"]  # a fixture

PASSWORD = "s3cret-of-eva"
EVERYTHING = ("find", "insert", "update", "remove", "listIndexes")
ORDERS = may("shop", *EVERYTHING, collection="orders")
ARCHIVE = may("shop", *EVERYTHING, collection="orders_archive")
BOTH = (ORDERS, ARCHIVE)


def orders(server: GuardedServer) -> None:
    """A collection with its archive, beside others."""
    for at, name in enumerate(("Ada", "Bob", "Cyd", "Dan")):
        for v in (1, 2, 3):
            body = {"v": v, "customer": name, "city": "Rome" if v < 2 else "Oslo", "total": at * 10 + v}
            place = "orders" if v == 3 else "orders_archive"
            key = {"_id": at} if v == 3 else {"_id": ObjectId(), "docId": at}
            server.store.load(f"shop.{place}", [bson.encode(key | body | {"_w": ObjectId()})])
    server.store.index("shop.orders_archive", [("docId", 1), ("v", 1)], unique=True)
    server.store.load("shop.payroll", [bson.encode({"_id": 1, "salary": 1})])
    server.store.load("staff.people", [bson.encode({"_id": 1})])


@pytest.fixture
def server() -> Iterator[GuardedServer]:
    with GuardedServer({"eva": PASSWORD}, {"eva": BOTH}) as made:
        made.lists_databases = False
        orders(made)
        yield made


def address(server: GuardedServer) -> str:
    return f"mongodb://eva:{PASSWORD}@{server.host}/?serverSelectionTimeoutMS=60000"


def test_one_collection_and_its_archive_are_enough_to_read_edit_and_undo(
    server: GuardedServer, run: Run, rows: Rows
) -> None:
    uri = address(server)
    status, out, err = run("collections", uri)
    assert status == 0
    assert "shop.orders" in out
    assert "archive=shop.orders_archive" in out
    assert "payroll" not in out + err
    assert err.splitlines() == [
        "There may be other databases: this user lacks the privilege listDatabases on the cluster.",
        "There may be other collections in shop: this user lacks the privilege listCollections on shop.",
    ]
    assert [row["state"] for row in rows("history", uri, "shop.orders", "1")[1]] == ["present"] * 3
    assert run("edit", uri, "shop.orders", "1", "--set", "total=5")[0] == 0
    assert run("undo", "1", "--source", uri)[0] == 0
    status, out, err = run("scan", uri)
    assert status == 0
    assert "Not checked: shop: There may be other collections in shop" in out
    assert run("activity", uri, "--json")[0] == 0
    assert not {"collStats", "dbStats", "hostInfo", "serverStatus", "getParameter"} & {
        *server.answered,
        *server.refused,
    }
    status, _, err = run("history", uri, "shop.payroll", "1")
    assert (status, err) == (
        2,
        "This user lacks the privilege find on shop.payroll; ask for it, or use another user.\n",
    )


BESIDE = may("shop", "find", collection="staff")


@pytest.mark.parametrize(
    ("rights", "places"),
    [((), ("shop",)), ((ORDERS, may("shop", "listCollections")), ("shop.orders",)), ((BESIDE,), ())],
    ids=["no rights", "no archive", "another collection"],
)
def test_a_scan_that_could_check_nothing_does_not_say_that_nothing_was_found(
    server: GuardedServer, run: Run, rights: tuple[Privilege, ...], places: tuple[str, ...]
) -> None:
    server.allow("eva", rights)
    status, out, err = run("scan", address(server), *places)
    assert status == 2, out
    assert "0 findings" not in out
    assert err.count("\n") == 1
    assert "this user lacks the privilege" in err.lower()


ALONE = (ORDERS, may("shop", "listCollections"))


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize(
    ("rights", "places", "more", "ends"),
    [
        ((), ("shop",), 0, (2, 2)),
        (ALONE, ("shop.orders",), 0, (2, 0)),
        (ALONE, ("shop.orders",), 1200, (2, 2)),
        ((BESIDE,), (), 0, (2, 2)),
        (BOTH, ("shop.orders",), 0, (0, 0)),
        (BOTH, ("shop.orders",), 1200, (0, 0)),
    ],
    ids=[
        "no rights",
        "no archive, and no documents in the second part",
        "no archive, divided",
        "another collection",
        "all rights, and no documents in the second part",
        "all rights, divided",
    ],
)
def test_a_part_of_a_scan_and_parts_that_are_joined_refuse_where_nothing_could_be_checked(
    server: GuardedServer,
    run: Run,
    tmp_path: Path,
    rights: tuple[Privilege, ...],
    places: tuple[str, ...],
    more: int,
    ends: tuple[int, ...],
) -> None:
    server.allow("eva", rights)
    server.store.load("shop.orders", [bson.encode({"_id": 9 + at, "v": 1, "_w": ObjectId()}) for at in range(more)])
    files = []
    for number, end in enumerate(ends, 1):
        status, out, err = run("scan", address(server), *places, "--range", f"{number}/2")
        assert (status, "this user lacks the privilege" in err.lower(), err.count("\n")) == (end, end == 2, end // 2)
        files.append(tmp_path / str(number))
        files[-1].write_text(out, "utf-8")
    whole, joined = run("scan", address(server), *places), run("scan", address(server), "--merge", *map(str, files))
    assert joined[0] == whole[0] == max(ends)
    assert bool(joined[2]) == bool(whole[2]) == (max(ends) == 2)
    assert ("0 findings" in joined[1]) == (whole[0] == 0)


def test_the_repair_centre_does_not_call_sound_what_could_not_be_checked(qtbot: QtBot, server: GuardedServer) -> None:
    server.allow("eva", (ORDERS, may("shop", "listCollections")))
    with Session.open(address(server)) as session:
        panel = RepairPanel(session, ["shop.orders"])
        qtbot.addWidget(panel)
        qtbot.waitUntil(lambda: panel.plan is not None)
        assert panel.states.state.title == "Nothing could be checked"
        assert "find on shop.orders_archive" in panel.states.state.help


def test_collections_are_found_in_the_privileges_where_the_server_lists_none(server: GuardedServer, run: Run) -> None:
    server.lists_collections = False
    _, out, _ = run("collections", address(server))
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["shop.orders", "shop.orders_archive"]


@pytest.mark.parametrize("rights", [(ORDERS,), (ORDERS, may("shop", "listCollections"))], ids=["unseen", "listed"])
def test_a_collection_whose_archive_is_out_of_sight_is_read_and_not_written(
    server: GuardedServer, run: Run, rights: tuple[Privilege, ...]
) -> None:
    server.allow("eva", rights)
    before = server.store.store.get("shop", "orders").docs.copy()  # type: ignore[union-attr]
    uri = address(server)
    assert run("show", uri, "shop.orders", "1")[0] == 0
    status, _, err = run("edit", uri, "shop.orders", "1", "--set", "total=5")
    assert status == 2
    missing = "find on shop.orders_archive" if len(rights) > 1 else "listCollections on shop"
    assert f"lacks the privilege {missing}" in err
    assert "nothing is written there until" in err
    assert server.store.store.get("shop", "orders").docs == before  # type: ignore[union-attr]
    _, out, _ = run("scan", uri, "shop.orders")
    assert "Not checked: shop.orders: " in out
    assert missing in out


def test_an_archive_by_itself_is_not_taken_for_all_there_is(server: GuardedServer, run: Run) -> None:
    server.allow("eva", (ARCHIVE,))
    status, _, err = run("edit", address(server), "shop.orders_archive", "1", "--set", "total=5")
    assert status == 2
    assert "is named as the history of another collection" in err


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (("edit", "URI", "shop.orders", "1", "--set", "total=5"), "insert on shop.orders_archive"),
        (("insert", "URI", "shop.orders", '{"total": 5}', "--id", "77"), "insert on shop.orders"),
        (("restore", "URI", "shop.orders", "1", "1"), "insert on shop.orders_archive"),
    ],
)
def test_who_may_only_read_hears_what_a_write_lacks(
    server: GuardedServer, run: Run, command: tuple[str, ...], missing: str
) -> None:
    server.allow("eva", [may("shop", "find", "listCollections", "listIndexes")])
    status, _, err = run(*(word.replace("URI", address(server)) for word in command))
    assert status == 2
    assert f"This user lacks the privilege {missing}; ask for it" in err


def test_what_a_user_may_not_have_measured_is_unknown_and_not_unsafe(server: GuardedServer, run: Run) -> None:
    server.allow("eva", [may("", "find", "insert", "update", "dropDatabase")])
    status, out, _ = run("check", address(server), "--quick")
    assert (status, "UNSAFE" in out) == (0, False)
    assert re.search(
        r"unknown +Unique indexes: It could not be measured: This user lacks the privilege createIndex", out
    )


def test_a_user_without_any_right_hears_why_there_is_nothing_to_see(server: GuardedServer, run: Run) -> None:
    server.allow("eva", [])
    status, _, err = run("collections", address(server))
    assert (status, "lacks the privilege listDatabases on the cluster" in err) == (2, True)
    server.lists_databases = True
    status, _, err = run("collections", address(server))
    assert (status, err) == (
        0,
        "No database can be seen: there is none, or this user has no privilege on any.\n",
    )
    status, _, err = run("show", address(server), "shop.orders", "1")
    assert (status, "lacks the privilege listCollections on shop" in err) == (2, True)


def test_a_right_that_is_taken_away_in_mid_work_ends_what_it_allowed_and_no_more(server: GuardedServer) -> None:
    with Session.open(address(server)) as session:
        id = session.documents.find_id("shop.orders", "1")
        base = session.history.version("shop.orders", id)
        content = canonical.put(base.content or b"", ("total",), Value.of(5))
        server.allow("eva", [may("shop", "find", collection="orders"), ARCHIVE])
        outcome = session.writing.save("shop.orders", id, base, content)
        assert (outcome.kind, "lacks the privilege update on shop.orders;" in outcome.detail) == ("refused", True)
        assert session.history.version("shop.orders", id).v == base.v
        server.allow("eva", [ORDERS])
        with pytest.raises(NotAllowed, match=re.escape("lacks the privilege find on shop.orders_archive;")):
            session.history.version("shop.orders", id, Value.of(1))
        server.allow("eva", BOTH)
        assert session.writing.save("shop.orders", id, base, content).kind == "applied"


WRITING = [
    "edit URI shop.orders 1 --set total=5",
    "restore URI shop.orders 1 1",
    "change URI shop.orders {} --set total=5 --apply",
    "retain URI shop.orders --keep 1 --apply",
    "erase URI shop.orders 1 --path total --apply",
    "revert URI shop.orders --id 1 --version 3 --apply",
    'insert URI shop.orders {"total":5} --id 77',
    "import DIR/lines URI shop.orders --apply",
    "repair URI --plan DIR/plan --apply",
    "cleanup URI shop.hits --layout pending --apply --older-than 1h",
    "migrate URI shop.orders --to versions --apply",
    "feed URI shop.orders --layout stream --once",
    "next URI shop.counters orders --layout sequence",
    "count URI shop.hits a t0k --layout pending",
    "process URI shop.seen a x --field total --layout processed",
    "undo 1 --source URI",
    "check URI --quick",
    "pipe 127.0.0.1:0 URI --for 1s",
]
LOOKS = {"collections", "history", "show", "diff", "blame", "bisect"}
READING = LOOKS | {"activity", "tail", "asof", "report", "export", "scan", "profile", "adopt", "find", "compare"}
ALONE = {"merge", "health", "journal", "help"}  # these open no source


def test_read_only_goes_with_every_command_and_stops_those_that_would_write(
    server: GuardedServer, run: Run, tmp_path: Path
) -> None:
    assert {line.split()[0] for line in WRITING} | READING | ALONE == {*grammar.names()}
    old = ObjectId("65a1b2c30000000000000003")
    server.store.load("shop.hits", [bson.encode({"_id": "a", "count": 5, "pending": [old]})])
    server.store.load("shop.seen", [bson.encode({"_id": "a", "total": 5, "processed": ["y"]})])
    server.store.load("shop.counters", [bson.encode({"_id": "orders", "seq": 5})])
    server.store.load("shop.orders_archive", [bson.encode({"docId": 2, "v": 9, "customer": "Cyd", "_w": ObjectId()})])
    server.allow("eva", [ANYTHING])
    values = {"URI": address(server), "DIR": str(tmp_path)}
    made = ["edit URI shop.orders 3 --set total=9", "export URI shop.orders --jsonl DIR/lines"]
    for line in (*made, "scan URI shop.orders --plan DIR/plan"):
        assert run(*_words(line, values))[0] in (0, 1)
    server.answered.clear()
    for line in WRITING:
        status, out, err = run(*_words(line, values), "--read-only")
        assert (status, "read-only" in err) == (2, True), (line, out, err)
    commands = grammar.parser(*grammar.names()).commands
    assert all("--read-only" in each.format_help() and "--profile" in each.format_help() for each in commands.values())
    assert not {"insert", "update", "delete", "createIndexes", "create", "drop"} & {*server.answered}


def test_a_journal_is_not_pruned_with_read_only(server: GuardedServer, run: Run) -> None:
    assert run("edit", address(server), "shop.orders", "3", "--set", "total=9")[0] == 0
    assert run("journal", "--prune", "0s", "--read-only")[0] == 0
    status, out, err = run("journal", "--prune", "0s", "--apply", "--read-only", "--profile", "layouts.toml")
    assert (status, out, "--read-only" in err) == (2, "", True)
    assert "edit" in run("journal", "--read-only")[1]


def _words(line: str, values: dict[str, str]) -> list[str]:
    return [word.replace("URI", values["URI"]).replace("DIR", values["DIR"]) for word in line.split()]


def test_a_login_that_runs_out_is_renewed_and_one_that_cannot_be_is_said(server: GuardedServer) -> None:
    with Session.open(address(server)) as session:
        id = session.documents.find_id("shop.orders", "1")
        server.expired.add("eva")
        base = session.history.version("shop.orders", id)
        content = canonical.put(base.content or b"", ("total",), Value.of(5))
        assert not server.expired, "the driver logs in once more by itself"
        server.change_password("eva", "another")
        server.expired.add("eva")
        with pytest.raises(Refused, match="does not accept this user name and password any more; connect again"):
            session.history.version("shop.orders", id)
        with pytest.raises(Refused, match="does not accept this user name and password any more; connect again"):
            session.writing.save("shop.orders", id, base, content)
    server.change_password("eva", PASSWORD)
    with Session.open(address(server)) as session:
        assert session.writing.save("shop.orders", id, base, content).kind == "applied"


def lines(nodes: list[SourceNode]) -> Iterator[str]:
    """The lines of the sidebar, one below another."""
    for node in nodes:
        yield node.name
        yield from lines(node.children)


@pytest.mark.usefixtures("look")
@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_the_window_shows_what_may_be_seen_says_what_may_not_and_keeps_the_edit_that_is_refused(
    qtbot: QtBot, server: GuardedServer
) -> None:
    window = new_window(qtbot)
    window.open(Opening(address(server), "shop"))
    wait_idle(qtbot, lambda: bool(window.sessions) and bool(window.workspace.sidebar.ns_known(window.sessions[0])))
    session = window.sessions[0]
    (root,) = [root for root in window.workspace.sidebar.model.roots if root.session is session]
    shown = list(lines(root.children))
    assert shown[:3] == ["shop", "orders", "orders_archive"]
    assert shown[3:] == [
        "There may be other collections in shop: this user lacks the privilege listCollections on shop.",
        "There may be other databases: this user lacks the privilege listDatabases on the cluster.",
    ]
    window.workspace.open(session, PageRequest("document", "shop.orders", Value.of(1)))
    wait_idle(qtbot)
    page = document(window)
    qtbot.waitUntil(lambda: page.editor.is_loaded)
    type_into(page, ("total",), "5")
    server.allow("eva", [may("shop", "find", "listIndexes", collection="orders"), ARCHIVE])
    page.editor.save()
    wait_idle(qtbot)
    assert page.dirty
    said = "Nothing was saved. This user lacks the privilege update on shop.orders; ask for it, or use another user."
    assert page.editor.notices.lines["refused"].text.startswith(said)
    server.allow("eva", BOTH)
    page.editor.save()
    wait_idle(qtbot)
    assert not page.dirty
    assert "refused" not in page.editor.notices.lines
    window.close_quietly()


def shown(page: QWidget) -> str:
    """The texts that stand on a page."""
    return "\n".join(label.text() for label in page.findChildren(QLabel) if label.isVisible())


@pytest.mark.usefixtures("look")
@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
@pytest.mark.deep
@pytest.mark.slice
def test_each_view_names_what_is_missing_and_shows_the_rest(qtbot: QtBot, server: GuardedServer) -> None:
    server.allow("eva", [may("shop", "listCollections"), may("shop", "find", "update", collection="orders")])
    window = new_window(qtbot)
    window.open(Opening(address(server), "shop"))
    wait_idle(qtbot, lambda: bool(window.sessions) and bool(window.workspace.sidebar.ns_known(window.sessions[0])))
    session, tabs = window.sessions[0], window.workspace.tab_area
    window.workspace.open(session, PageRequest("collection", "shop.payroll"))
    wait_idle(qtbot)
    assert "lacks the privilege find on shop.payroll" in shown(collection(window))
    window.workspace.open(session, PageRequest("collection", "shop.orders"))
    wait_idle(qtbot, lambda: bool(collection(window).browser.model.rows))
    assert len(collection(window).browser.model.rows) == 4
    window.workspace.open(session, PageRequest("document", "shop.orders", Value.of(1)))
    wait_idle(qtbot, lambda: document(window).editor.is_loaded)
    hidden = "orders_archive may hold the earlier versions of orders, and cannot be read."
    assert hidden in shown(document(window))
    window.actions_.trigger("repairs")
    page = tabs.page
    assert isinstance(page, RepairPage)
    wait_idle(qtbot, lambda: page.panel.scanner.whole)
    left = {each.ns: each.why for each in page.panel.scanner.unchecked}
    assert {"shop.orders", "shop.orders_archive", "shop.payroll"} <= {*left}
    assert "lacks the privilege find on shop.payroll" in left["shop.payroll"]
    assert "find on shop.payroll" in shown(page)
    assert not server.answered["update"]
    window.close_quietly()


@pytest.mark.usefixtures("look")
@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
@pytest.mark.parametrize("may_write", [False, True])
def test_who_may_only_read_is_offered_neither_writing_nor_measuring(
    qtbot: QtBot, server: GuardedServer, may_write: bool
) -> None:
    writing = ("insert", "update", "remove") if may_write else ()
    server.allow("eva", [may("shop", "find", "listCollections", "listIndexes", *writing)])
    window = new_window(qtbot)
    window.open(Opening(address(server), "shop"))
    wait_idle(qtbot, lambda: bool(window.sessions) and bool(window.workspace.sidebar.ns_known(window.sessions[0])))
    badge = window.title.badge
    assert (badge.read_only, badge.isEnabled()) == (not may_write, may_write)
    assert window.status.advice.isVisible() == may_write
    page = window.workspace.open(window.sessions[0], PageRequest("check"))
    assert isinstance(page, CheckPage)
    assert page.panel.run.isEnabled() == may_write
    if not may_write:
        said = "This user may only read: no privilege allows insert, update or remove."
        assert said in badge.accessibleName()
        assert said in page.panel.run.toolTip()
        opened = window.sessions[0].writing.open("shop.orders", Value.of(1))
        assert (opened.writable, opened.reason) == (False, said)
    window.close_quietly()
