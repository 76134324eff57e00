"""From an address to its content, by mouse and key: connecting, agreeing to a scan, and finding it all again."""

from __future__ import annotations

from collections.abc import Iterator

import bson
import pytest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from gui.pages.page_request import PageRequest
from gui.pages.repair_pages import RepairPage
from gui.parts.fields.field_model import VALUE
from gui.style import preferences
from gui.style.cells import CELL
from gui.views.repair.scan_consent import ScanConsent
from gui.window.connect_dialog import ConnectDialog
from gui.window.open_windows import OpenWindows
from gui.window.opening import Opening
from model.foundation.address import DOTS
from model.localserver import LocalServer
from model.values.canonical import Value
from tests.gui.window.hands import button, click, click_row, read, strike
from tests.gui.window.windows import document, new_window, open_source, press, sheet, wait_idle


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as made:
        for name in ("orders", "customers"):
            made.load(f"shop.{name}", [bson.encode({"_id": at, "name": f"n{at}"}) for at in range(300)])
        yield made


@pytest.mark.deep
def test_an_address_is_pasted_mended_tried_and_its_first_scan_in_production_is_agreed_to(
    qtbot: QtBot, server: LocalServer
) -> None:
    window = new_window(qtbot)
    press(window, "Ctrl+N")
    asked = sheet(window)
    assert isinstance(asked, ConnectDialog)
    pasted = "mongodb://eva:s3cret@db example/?tls=true&authSource=users&authMechanism=SCRAM-SHA-1&appName=x"
    QApplication.clipboard().setText(pasted)
    press(window, "Ctrl+V")
    assert asked.uri.text() == pasted.replace("s3cret", DOTS)
    click(button(asked, "Connect"))
    assert "has a blank in it" in read(asked)
    press(window, "Ctrl+A")
    QApplication.clipboard().setText(pasted.replace("db example", "db.example"))
    press(window, "Ctrl+V")
    assert "has a blank in it" not in read(asked)
    click(button(asked, "Login"))
    assert asked.login.way.currentText() == "Password (SCRAM-SHA-1)"
    assert (asked.login.user.text(), asked.login.source.text()) == ("eva", "users")
    assert asked.login.password.echoMode() == QLineEdit.EchoMode.Password
    click(asked.login.source)
    press(window, "Ctrl+A")
    strike(window, "admin")
    click(button(asked, "TLS"))
    assert asked.tls.tls.isChecked()
    click(button(asked, "Server"))
    mended = pasted.replace("db example", "db.example").replace("users", "admin")
    assert asked.uri.text() == mended.replace("s3cret", DOTS)

    press(window, "Escape")
    press(window, "Ctrl+N")
    asked = sheet(window)
    assert isinstance(asked, ConnectDialog)
    strike(window, server.uri)
    click(asked.production)
    click(button(asked, "Test"))
    wait_idle(qtbot, lambda: asked.go.isEnabled())
    said = [label.text() for label in asked.steps.findChildren(QLabel) if label.isVisible()]
    assert {step.name for step in asked.steps.steps} <= set(said)
    assert not window.sessions
    click(button(asked, "Connect"))
    wait_idle(qtbot, lambda: bool(window.sessions))

    press(window, "Ctrl+Shift+R")
    wait_idle(qtbot)
    page = window.workspace.page
    assert isinstance(page, RepairPage)
    consent = page.findChild(ScanConsent)
    assert consent is not None
    said = read(consent)
    assert "which is marked as production" in said
    assert "600 documents: a few seconds" in said
    assert button(consent, "Gently").isChecked()
    assert not window.sessions[0].health.scans()
    click(button(consent, "Look for damage"))
    wait_idle(qtbot, lambda: bool(window.sessions[0].health.scans()))
    press(window, "Ctrl+W")
    press(window, "Ctrl+Shift+R")
    wait_idle(qtbot, lambda: len(window.sessions[0].health.scans()) == 2)
    assert not [one for one in window.findChildren(ScanConsent) if one.isVisible()]


@pytest.mark.deep
def test_two_windows_come_back_with_their_tabs_and_what_was_not_saved(qtbot: QtBot, server: LocalServer) -> None:
    windows = OpenWindows()
    first, second = windows.open(), windows.open()
    for window, ns in ((first, "shop.orders"), (second, "shop.customers")):
        session = open_source(qtbot, window, Opening(server.uri))
        window.workspace.open(session, PageRequest("document", ns, Value.of(7)))
        editor = document(window).editor
        wait_idle(qtbot, lambda e=editor: e.is_loaded)
    second.activateWindow()
    qtbot.waitUntil(second.isActiveWindow)
    click_row(editor.tree, editor.model.find(("name",), VALUE))
    strike(second, "mine")
    press(second, "Return")
    wait_idle(qtbot, lambda: bool(second.sessions[0].drafts.all()))
    press(second, "Ctrl+Q")
    assert windows.all == [second]
    press(second, "Escape")
    assert preferences.remembered("windows") == 1, "the one that stays"
    windows.open()
    second.activateWindow()
    qtbot.waitUntil(second.isActiveWindow)
    press(second, "Ctrl+Q")
    assert len(windows.all) == 2, "those behind it wait"
    click(button(sheet(second), "Close and keep the draft"))
    assert not windows.all

    again = OpenWindows()
    again.restore()
    try:
        for window, ns in zip(again.all, ("shop.orders", "shop.customers"), strict=True):
            open_source(qtbot, window, Opening(server.uri))
            wait_idle(qtbot, lambda w=window: w.workspace.page is not None)
            assert window.workspace.page.ns == ns
        back = document(again.all[1]).editor
        wait_idle(qtbot, lambda: back.is_loaded)
        assert back.model.find(("name",), VALUE).data(CELL).text == '"mine"'
        assert "Unsaved: 1 field" in read(back.foot)
    finally:
        for window in list(again.all):
            window.close_quietly()
