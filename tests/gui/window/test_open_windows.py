"""Several windows in one program: a later start opens its source in the running one; all windows are restored."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtNetwork import QLocalSocket
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.pages.page_request import PageRequest
from gui.starting import running_instance
from gui.starting.running_instance import RunningInstance
from gui.style import preferences
from gui.window.open_windows import OpenWindows
from gui.window.opening import Opening
from model.foundation import kept_files
from tests import support
from tests.gui.window.windows import PATIENCE, open_source, wait_idle

GONE = QLocalSocket.LocalSocketState.UnconnectedState
START = "import sys; from gui.__main__ import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture
def windows(qtbot: QtBot) -> Iterator[OpenWindows]:
    made = OpenWindows()
    yield made
    for window in list(made.all):
        window.close_quietly()


@pytest.fixture
def instance(windows: OpenWindows) -> Iterator[RunningInstance]:
    made = RunningInstance()
    made.asked.connect(windows.serve)
    assert made.listen()
    yield made
    made.close()


def dump(tmp_path: Path, name: str) -> Path:
    (file := tmp_path / f"{name}.json").write_text(json.dumps({"_id": 1, "name": name}) + "\n")
    return file


def later_start(source: str, cwd: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", START, *([source] if source else [])]
    inherited = {**os.environ, "PYTHONPATH": str(support.ROOT)}
    return subprocess.Popen(command, cwd=cwd, env=inherited, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_later_start_opens_its_source_in_the_window_that_is_open(
    qtbot: QtBot, windows: OpenWindows, instance: RunningInstance, tmp_path: Path
) -> None:
    window = windows.open()
    dump(tmp_path, "people")
    process = later_start("people.json", tmp_path)
    qtbot.waitUntil(lambda: process.poll() is not None and bool(window.sessions))
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out == "It is in the window that is open already; --new-window opens another one.\n"
    assert [session.source for session in window.sessions] == [str(tmp_path / "people.json")]
    process = later_start("", tmp_path)
    qtbot.waitUntil(lambda: process.poll() is not None)
    process.communicate()
    assert process.returncode == 0
    assert len(windows.all) == 1, "a start without a source brings the window to the front"
    wait_idle(qtbot)


def test_a_request_that_is_none_is_not_served(qtbot: QtBot, windows: OpenWindows, instance: RunningInstance) -> None:
    window = windows.open()
    for said in (b"no request\n", b"[1]\n"):
        visitor = QLocalSocket()
        visitor.connectToServer(running_instance.door())
        assert visitor.waitForConnected(PATIENCE)
        visitor.write(said)
        qtbot.waitUntil(lambda visitor=visitor: visitor.state() == GONE)
        assert not visitor.readAll().data()
    assert not window.sessions


def test_without_a_running_program_nothing_is_handed_over_and_only_one_can_listen(windows: OpenWindows) -> None:
    assert not running_instance.hand_over({"source": "sample:"})
    first, second = RunningInstance(), RunningInstance()
    assert first.listen()
    if os.name == "posix":
        assert Path(first._server.fullServerName()).stat().st_mode & 0o077 == 0, "for this user alone"
    assert not second.listen(), "the first one is alive"
    first.close()
    assert second.listen()
    second.close()


@pytest.mark.skipif(os.name != "posix", reason="a socket that is left behind is a file there")
def test_the_door_of_a_process_that_was_killed_is_opened_again(windows: OpenWindows) -> None:
    first = RunningInstance()
    assert first.listen()
    path = first._server.fullServerName()
    first.close()
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(path)
    assert Path(path).exists()
    assert first.listen()
    first.close()


def test_each_window_has_a_place_and_tabs_of_its_own_and_all_come_back(
    qtbot: QtBot, windows: OpenWindows, tmp_path: Path
) -> None:
    source, other = dump(tmp_path, "people"), dump(tmp_path, "things")
    first, second = windows.open(), windows.open()
    assert (first.number, second.number) == (1, 2)
    assert first.pos() != second.pos()
    for window, files in ((first, [source]), (second, [source, other])):
        for file in files:
            session = open_source(qtbot, window, Opening(str(file)))
            qtbot.waitUntil(lambda w=window, s=session: bool(w.workspace.sidebar.ns_known(s)))
    (ns,) = [info.ns for info in first.workspace.sidebar.ns_known(first.sessions[0])]
    second.workspace.open(second.sessions[0], PageRequest("activity", ns))
    wait_idle(qtbot)
    second.resize(760, 600)
    windows.quit()
    assert not windows.all
    assert preferences.remembered("windows") == 2
    again = OpenWindows()
    again.restore()
    try:
        one, two = again.all
        assert two.size().width() == 760
        for window in (one, two):
            open_source(qtbot, window, Opening(str(source)))
            wait_idle(qtbot)
        # The only collection of a file was opened by itself.
        assert [page.kind for page in two.workspace.tab_area.pages] == ["collection", "activity"]
        assert [page.kind for page in one.workspace.tab_area.pages] == ["collection"]
        two.close_quietly()
        assert [window.number for window in again.all] == [1]
        assert one.sessions[0].catalogue.databases(), "the other one goes on"
    finally:
        for window in list(again.all):
            window.close_quietly()


def test_windows_that_were_never_moved_lie_beside_each_other_wholly_on_the_screen(windows: OpenWindows) -> None:
    made = [windows.open() for _ in range(4)]
    screen = QApplication.primaryScreen().availableGeometry()
    assert [window for window in made if not screen.contains(window.geometry())] == []
    assert len({window.pos().toTuple() for window in made}) == len(made)


def test_the_commands_open_another_window_and_close_one_or_all(qtbot: QtBot, windows: OpenWindows) -> None:
    window = windows.open()
    window.actions_.trigger("new-window")
    assert len(windows.all) == 2
    windows.all[1].actions_.trigger("close-window")
    assert windows.all == [window]
    window.actions_.trigger("new-window")
    window.actions_.trigger("quit")
    assert not windows.all


def test_a_file_that_the_system_hands_over_is_opened_in_the_window_in_front(
    qtbot: QtBot, windows: OpenWindows, tmp_path: Path
) -> None:
    windows.open()
    application = QApplication.instance()
    assert application is not None
    application.installEventFilter(windows)  # as on macOS, for a file that is double-clicked
    try:
        QApplication.sendEvent(application, QFileOpenEvent(str(dump(tmp_path, "dropped"))))
    finally:
        application.removeEventFilter(windows)
    wait_idle(qtbot, lambda: [session.name for session in windows.in_front.sessions] == ["dropped.json"])
    assert windows.in_front.sessions[0].trust.read_only


IMPORTED_IN_A_THREAD = """
import gc, sys, threading
from PySide6.QtCore import QCoreApplication, QObject, QThread
from gui.starting import early_imports
from gui.window import open_windows
names = (*early_imports.SOON, *early_imports.LATER, *early_imports.TOUCHED, *early_imports.AT_WORK)
app = QCoreApplication([])
before = set(sys.modules)
thread = threading.Thread(target=early_imports.bring, args=(names,))
thread.start()
thread.join()
assert set(names) <= set(sys.modules) - before
gc.unfreeze()
modules = [sys.modules[name] for name in set(sys.modules) - before if sys.modules[name] is not None]
held = [each for module in modules for each in vars(module).values()]
made = [each for each in held + gc.get_objects() if isinstance(each, QObject)]
print([each for each in made if each.thread() is not app.thread()])
"""


@pytest.mark.deep
def test_what_is_imported_in_a_thread_makes_no_object_of_qt_there() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED_IN_A_THREAD], cwd=support.ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


STARTED = """
import gc
from gui import __main__ as program
looks = []
def begun(why_no_window=program.why_no_window):
    gc.callbacks.append(lambda phase, info: looks.append(phase))
    return why_no_window()
program.why_no_window = begun
from PySide6.QtWidgets import QApplication
QApplication.exec = lambda *_: print(len(looks), gc.get_freeze_count() > 10_000) or 0
program.main(["--new-window"])
"""


def test_nobody_looks_for_garbage_until_a_window_is_shown(tmp_path: Path) -> None:
    environment = {**os.environ, "PALIMPSEST_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", STARTED],
        cwd=support.ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "0 True\n", done.stderr


def test_a_window_says_which_damaged_file_was_set_aside(windows: OpenWindows, qtbot: QtBot, home: Path) -> None:
    (home / "connections.json").write_text("[", "utf-8")
    first = windows.restore()
    qtbot.waitUntil(lambda: any("connections.json.damaged" in line.text for line in first.messages.lines))
    kept_files.notices.tell("Something else happened later.")
    assert first.messages.lines[-1].text == "Something else happened later."
