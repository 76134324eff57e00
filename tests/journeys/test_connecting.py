"""A person connects to a guarded production server: pastes, tries, saves, opens again, agrees to a scan."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import bson
import keyring
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from gui import app, tasks
from gui.pages.page_request import PageRequest
from gui.pages.repair_pages import RepairPage
from gui.style import preferences
from gui.window.connect_dialog import ConnectDialog
from gui.window.window import Window
from model.foundation.address import DOTS
from tests.certificates import Authority
from tests.guarded_server import GuardedServer
from tests.gui.window.windows import new_window, sheet, wait_idle
from tests.memory_keyring import Memory

PASSWORD = "s3cret/p@ss w0rd"
NS = "shop.orders"


@pytest.fixture
def ring() -> Iterator[Memory]:
    before, made = keyring.get_keyring(), Memory()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def server(authority: Authority) -> Iterator[GuardedServer]:
    with GuardedServer({"eva": PASSWORD}, certificate=authority.signed("server", "127.0.0.1")) as made:
        made.store.load(NS, [bson.encode({"_id": at, "v": 1, "total": at}) for at in range(50)])
        yield made


@pytest.fixture(autouse=True)
def window_ready(qapp: QApplication, home: Path) -> Iterator[None]:
    preferences.forget()
    app.application()
    yield
    tasks.tasks.stop_all()
    preferences.forget()


def opened(qtbot: QtBot, window: Window) -> None:
    wait_idle(qtbot, lambda: bool(window.sessions) and bool(window.workspace.sidebar.ns_known(window.sessions[0])))


def connections() -> set[threading.Thread]:
    """The threads of servers in this process that serve a connection."""
    return {each for each in threading.enumerate() if each.name.startswith("palimpsest-connection")}


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_guarded_server_from_a_pasted_address_to_the_second_scan(
    qtbot: QtBot, ring: Memory, authority: Authority, server: GuardedServer, home: Path
) -> None:
    before = connections()
    window = new_window(qtbot)
    address = f"mongodb://eva:{quote(PASSWORD, safe='')}@{server.host}/?tls=true&tlsCAFile={quote(str(authority.file))}"
    QApplication.clipboard().setText(address)
    window.connecting.ask()
    dialog = sheet(window)
    assert isinstance(dialog, ConnectDialog)
    dialog.uri.paste()
    assert dialog.uri.text() == address.replace(quote(PASSWORD, safe=""), DOTS)
    assert (dialog.login.user.text(), dialog.tls.tls.isChecked()) == ("eva", True)
    dialog.test.click()
    wait_idle(qtbot, lambda: len(dialog.steps.steps) == 7)
    assert {step.result for step in dialog.steps.steps} == {"ok"}
    dialog.name.setText("orders")
    dialog.production.setChecked(True)
    qtbot.keyClick(dialog.name, Qt.Key.Key_Return)
    opened(qtbot, window)
    window.workspace.open(window.sessions[0], PageRequest("collection", NS))
    wait_idle(qtbot)

    # What is kept holds no secret, and the keyring brings it back.
    kept = "".join(path.read_text("utf-8", "replace") for path in home.rglob("*") if path.is_file())
    assert "s3cret" not in kept
    assert "s3cret" not in " ".join(label.text() for label in window.findChildren(QLabel))
    window.close_quietly()
    again = new_window(qtbot)
    assert [line.text() for line in again.workspace.welcome.recent] == ["orders"]
    again.workspace.welcome.recent[0].click()
    opened(qtbot, again)
    wait_idle(qtbot, lambda: again.workspace.tab_area.page is not None)
    assert [page.ns for page in again.workspace.tab_area.pages] == [NS], "the tab came back with the connection"

    # The first scan of production asks, gently; the second goes.
    again.actions_.trigger("repairs")
    page = again.workspace.tab_area.page
    assert isinstance(page, RepairPage)
    assert page.panel.consent is not None
    assert page.panel.consent.gently
    page.panel.consent.go.click()
    wait_idle(qtbot, lambda: page.panel.scanner.whole)
    page.do_refresh()
    wait_idle(qtbot, lambda: len(again.sessions[0].health.scans()) == 2)
    assert page.panel.consent is None
    again.close_quietly()
    qtbot.waitUntil(lambda: not connections() - before)
