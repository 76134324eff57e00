"""Passwords of commands: from a file, from the terminal, and not in the list of processes."""

from __future__ import annotations

import getpass
import logging
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import quote

import bson
import keyring
import pytest
from PySide6.QtWidgets import QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from gui.window.opening import Opening, keep
from model.userdata import connections
from model.userdata.connections import Connections, SavedConnection
from tests.guarded_server import GuardedServer
from tests.gui.conftest import look
from tests.gui.window.windows import new_window, wait_idle
from tests.journeys.command_support import Run
from tests.support import ROOT, every

__all__ = ["look"]  # a fixture

SECRET = "s3cret-of-eva"
NOBODY = "mongodb://eva@127.0.0.1:1/?serverSelectionTimeoutMS=800"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere a process cannot change its arguments")
@pytest.mark.parametrize("secret", [SECRET, "..."])
def test_the_list_of_processes_does_not_show_a_password(secret: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        uri = f"mongodb://eva:{secret}@127.0.0.1:{silent.getsockname()[1]}/?appName=x"
        command = [sys.executable, "-m", "gui", "collections", uri]
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": ""}) as run:
            try:
                silent.accept()[0].close()  # it connects: its arguments were read long ago
                listed = Path(f"/proc/{run.pid}/cmdline").read_bytes()
            finally:
                run.kill()
    assert SECRET.encode() not in listed
    assert f"mongodb://eva:{'.' * len(secret)}@127.0.0.1".encode() in listed
    assert listed.endswith(b"/?appName=x\0")


def test_a_command_leaves_a_keyring_that_never_answers_and_says_what_to_do(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr(keyring, "get_password", lambda *_: answers.wait())
    monkeypatch.setattr(connections, "PATIENCE", 0.05)
    try:
        status, out, err = run("collections", NOBODY)
    finally:
        answers.set()
    assert (status, out) == (2, "")
    assert err.endswith("unlock it, or give the password.\n"), err


def test_a_password_comes_from_a_file_and_leaves_no_trace(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(f"{SECRET}\nnot this\n", encoding="utf-8")
    status, _, err = run("collections", NOBODY)
    assert (status, "--password-file" in err) == (2, True)
    status, out, err = run("collections", NOBODY, "--password-file", str(file))
    assert status == 2
    assert "no password" not in err
    assert "refuses the connection" in err
    assert SECRET not in out + err
    assert "PALIMPSEST_PASSWORD" not in os.environ


@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot be read"), (b"", "has no password"), (b"\xff\xfe", "is not UTF-8")]
)
def test_a_file_without_a_password_is_one_sentence(content: bytes | None, said: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
    status, _, err = run("collections", NOBODY, "--password-file", str(file))
    assert status == 2
    assert said in err


def test_a_terminal_is_asked_where_no_password_is_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return SECRET

    monkeypatch.setattr(getpass, "getpass", ask)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    _, _, err = run("collections", NOBODY)
    assert asked == ["Password of eva: "]
    assert "refuses the connection" in err
    monkeypatch.setenv("PALIMPSEST_PASSWORD", SECRET)
    run("collections", NOBODY)
    run("collections", "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50")
    assert len(asked) == 1


PLANTED = [
    *("pl4nted", "pl4nted @/:?#", "a;b&pl4nted=c", "per%41cent-pl4nted", "pl4nted-\u00e9", "<b>pl4nted</b>"),
    "x\\pl4nted'\"",
]


@pytest.mark.parametrize("secret", every(4, PLANTED, in_slice=True))
def test_a_password_is_in_no_output_no_log_and_no_file_whatever_is_done(
    secret: str, run: Run, home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said = []
    with GuardedServer({"eva": secret}) as server:
        server.store.load("shop.orders", [bson.encode({"_id": 1, "total": 1}), bson.encode({"_id": 2, "total": 2})])
        uri = f"mongodb://eva:{quote(secret, safe='')}@{server.host}/?serverSelectionTimeoutMS=60000"
        Connections().save(SavedConnection("shop", f"mongodb://eva@{server.host}/"))
        for words in (
            ("collections", uri),
            ("edit", uri, "shop.orders", "1", "--set", "total=5"),
            ("edit", uri, "shop.orders", "1", "--set", "$bad=5"),
            ("show", uri, "shop.nothing", "1"),
            ("scan", uri, "--plan", str(tmp_path / "plan")),
            ("undo", "1", "--source", uri),
            ("health", uri),
            ("journal",),
            ("history", uri.replace("eva:", "eva:wrong"), "shop.orders", "1"),
            ("history", uri.replace("eva:", "eva:@/"), "shop.orders", "1"),
            ("history", f"{uri}&tls=maybe", "shop.orders", "1"),
            ("history", uri.replace(server.host, "no host"), "shop.orders", "1"),
        ):
            status, out, err = run(*words)
            said.append(out + err)
            assert status != 2 or err.count("\n") == 1
    paths = [path for folder in (home, tmp_path) for path in folder.rglob("*") if path.is_file()]
    files = [path.read_text("utf-8", "replace") for path in paths]
    everything = "\n".join([*said, *files, caplog.text])
    assert "shop.orders" in everything
    assert "pl4nted" not in everything


@pytest.mark.usefixtures("look")
@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_password_stands_in_no_text_of_the_window(qtbot: QtBot, home: Path) -> None:
    with GuardedServer({"eva": PLANTED[1]}) as server:
        server.store.load("shop.orders", [bson.encode({"_id": 1, "total": 1})])
        opening = Opening(f"mongodb://eva:{quote(PLANTED[1], safe='')}@{server.host}/", "shop")
        window = new_window(qtbot)
        window.open(opening)
        wait_idle(qtbot, lambda: bool(window.sessions) and bool(window.workspace.sidebar.ns_known(window.sessions[0])))
        window.connecting.ask(opening)
        shown = [label.text() + label.toolTip() for label in window.findChildren(QLabel)]
        shown += [field.displayText() + field.toolTip() for field in window.findChildren(QLineEdit)]
        shown += [root.name + root.session.source for root in window.workspace.sidebar.model.roots if root.session]
        assert any(server.host in text for text in shown)
        assert not [text for text in shown if "pl4nted" in text]
        keep(opening)
        assert "pl4nted" not in "".join(p.read_text("utf-8", "replace") for p in home.rglob("*") if p.is_file())
        window.close_quietly()
