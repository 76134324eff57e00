"""Passwords of commands: from a file, from the terminal, and not in the list of processes."""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.command_support import Run
from tests.support import ROOT

SECRET = "s3cret-of-eva"
NOBODY = "mongodb://eva@127.0.0.1:1/?serverSelectionTimeoutMS=50"


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
    ("content", "said"), [(None, "cannot be read"), (b"", "has no password"), (b"\xff\xfe", "is no UTF-8")]
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
