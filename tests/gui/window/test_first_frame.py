"""The first frame of a window, and what waits for it."""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui import app, rest, tasks, turns
from gui.starting import early_imports
from gui.window.opening import Opening
from gui.window.sidebar import Sidebar
from gui.window.startup_recovery import StartupRecovery
from gui.window.tab_area import TabArea
from gui.window.window import Window
from model.userdata.connections import Connections, SavedConnection
from tests import support
from tests.gui.window.windows import new_window, open_sample, wait_idle


def unseen(qtbot: QtBot) -> Window:
    made = Window()
    qtbot.addWidget(made, before_close_func=lambda window: window.close_quietly())
    return made


def test_a_window_begins_and_closes_without_sidebar_and_tabs(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    window.resize(800, 600)
    window.update_state()
    assert not window.workspace.is_made
    window.close()
    assert not window.workspace.is_made
    assert not window.findChildren(Sidebar) + window.findChildren(TabArea)


@pytest.mark.parametrize("width", [1440, 1000])
def test_the_sidebar_is_wired_and_fits_the_window_once_it_is_made(qtbot: QtBot, width: int) -> None:
    Connections().save(SavedConnection("orders", "mongodb://db.example"))
    window = new_window(qtbot, width)
    made: list[bool] = []
    window.workspace.made.connect(lambda: made.append(True))
    folded = window.workspace.folded
    sidebar = window.workspace.sidebar
    assert window.workspace.tab_area.window() is window
    assert (made, sidebar.folded) == ([True], folded)
    assert folded == (width < 1160)
    assert [root.name for root in sidebar.model.roots] == ["orders", "sample:"]
    sidebar.connect_asked.emit()
    assert window.connecting._dialog is not None
    window.connecting._dialog.reject()


def test_a_window_says_once_that_it_is_drawn(qtbot: QtBot) -> None:
    window = unseen(qtbot)
    drawn: list[bool] = []
    window.drawn.connect(lambda: drawn.append(True))
    window.show()
    assert not drawn
    qtbot.waitUntil(lambda: bool(drawn))
    window.hide()
    window.show()
    window.repaint()
    assert not window._drawn.isActive()
    assert drawn == [True]


def test_a_window_that_nobody_sees_is_not_waited_for(qtbot: QtBot) -> None:
    window = unseen(qtbot)
    window.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
    with qtbot.waitSignal(window.drawn):
        window.show()


def test_writes_in_doubt_are_looked_for_once_the_window_is_drawn(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[bool] = []
    monkeypatch.setattr(StartupRecovery, "look", lambda _: looks.append(True))
    window = unseen(qtbot)
    window.show()
    assert not looks
    qtbot.waitUntil(lambda: looks == [True])


def test_tokens_are_counted_as_soon_as_the_collections_are_known(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    counting: list[bool] = []
    window.workspace.sidebar.read_ended.connect(
        lambda _: counting.append(any(task.key == "counts" for task in tasks.tasks.running))
    )
    open_sample(qtbot, window)
    assert counting == [True]
    wait_idle(qtbot, lambda: window.workspace.sidebar.entries["repair"].count == 7)


def test_later_imports_wait_until_nothing_is_being_done(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    brought: list[tuple[str, ...]] = []
    monkeypatch.setattr(early_imports, "bring", brought.append)
    monkeypatch.setattr(rest, "REST", 0)
    owner = new_window(qtbot)
    imports = early_imports.EarlyImports()
    go = threading.Event()
    tasks.run(lambda _: go.wait(), done=print, failed=print, owner=owner)
    imports.begin()
    qtbot.waitUntil(lambda: brought == [early_imports.SOON])
    for _ in range(3):
        QApplication.processEvents()
    assert brought == [early_imports.SOON]
    go.set()
    qtbot.waitUntil(lambda: len(brought) == 2)
    assert brought == [early_imports.SOON, early_imports.LATER]
    rest.later(owner, partial(brought.append, ("rested",)))
    qtbot.waitUntil(lambda: len(brought) == 3)
    assert brought.pop() == ("rested",)  # a window that nobody touches holds no more
    for _ in range(2):
        QTest.keyClick(owner, Qt.Key.Key_Shift)
    qtbot.waitUntil(lambda: len(brought) == 3)
    for _ in range(2):
        imports.act()
    assert len(brought) == 3  # nor does one in which nobody does anything
    qtbot.waitUntil(lambda: len(brought) == 4)
    imports.act()
    imports.end()
    assert brought == [early_imports.SOON, early_imports.LATER, early_imports.TOUCHED, early_imports.AT_WORK]


def test_a_window_that_nobody_touches_imports_nothing_ahead(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    brought: list[tuple[str, ...]] = []
    monkeypatch.setattr(early_imports, "bring", brought.append)
    monkeypatch.setattr(rest, "REST", 0)
    window = new_window(qtbot)
    imports = early_imports.EarlyImports()
    imports.await_person()
    rest.later(window, partial(brought.append, ("rested",)))
    qtbot.waitUntil(lambda: bool(brought))
    assert brought == [("rested",)]
    QTest.keyClick(window, Qt.Key.Key_Shift)
    qtbot.waitUntil(lambda: len(brought) == 4)
    QTest.keyClick(window, Qt.Key.Key_Shift)
    imports.end()
    assert brought[1:] == [early_imports.SOON, early_imports.LATER, early_imports.TOUCHED]


FIRST = """
import sys
from gui.__main__ import main
from gui.starting import running_instance
from gui.window import open_windows
assert not running_instance.hand_over({})
from PySide6.QtWidgets import QApplication
from model.session import sources
restore, served = open_windows.OpenWindows.restore, []

def serve(self, request):
    served.append(self.all[0].workspace.is_made)
    QApplication.exit(0)

def restored(self, source_follows):
    assert source_follows
    made = restore(self, source_follows)
    print(served, len(sources._early), "PySide6.QtNetwork" in sys.modules)
    return made

open_windows.OpenWindows.serve, open_windows.OpenWindows.restore = serve, restored
main(["sample:"])
print(served, len(sources._early), "PySide6.QtNetwork" in sys.modules)
"""


def test_the_server_of_a_source_starts_before_the_first_frame_which_waits_for_nothing_else() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST], cwd=support.ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[] 1 False\n[False] 1 True\n")


def test_what_nobody_sees_yet_is_put_together_once(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window(source_follows=True)
    qtbot.addWidget(window, before_close_func=lambda made: made.close_quietly())
    put: list[str] = []
    monkeypatch.setattr(window.title, "show_session", lambda *_: put.append("title"))
    go = threading.Event()
    tasks.run(lambda _: go.wait(), done=print, failed=print, owner=window.workspace, title="Reading")
    window.workspace.begin(Opening("sample:"), "Opening")
    assert window.workspace.is_awaited
    put.clear()
    for _ in range(5):
        window.update_state()
    assert not put
    qtbot.waitUntil(lambda: not turns.turns.waiting)
    assert put == ["title"]
    go.set()
    qtbot.waitUntil(lambda: not window.workspace.is_awaited)
    window.update_state()
    window.update_state()
    assert put == ["title"] * 3


def test_threads_share_the_interpreter_in_small_pieces_once_the_window_rests(qtbot: QtBot) -> None:
    assert sys.getswitchinterval() == pytest.approx(0.0001)
    app.start_undisturbed()
    assert sys.getswitchinterval() == pytest.approx(0.005)
    qtbot.waitUntil(lambda: sys.getswitchinterval() < 0.001)
