"""The list of processes, which everybody can read: no secret in the rows of the program and its children."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the list is read in /proc")

SECRET = "s3cret-of-eva"
OPTIONS = [
    "ssh=bastion",
    "tls=true",
    f"tlsCertificateKeyFilePassword={SECRET}",
    f"authMechanismProperties=AWS_SESSION_TOKEN:{SECRET}",
    "authMechanism=MONGODB-AWS",
]
FAR = f"mongodb://eva:{SECRET}@db.internal:27017/?" + "&".join(OPTIONS)
PATIENCE = 120.0  # seconds for a program to start on a busy machine


@contextmanager
def program(*words: str, folder: Path) -> Iterator[int]:
    """The program with some words, and with an ``ssh`` that never gets through; its number."""
    ssh = folder / "ssh"
    ssh.write_text("#!/bin/sh\nwhile :; do sleep 600; done\n")
    ssh.chmod(ssh.stat().st_mode | stat.S_IXUSR)
    own = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": "", "PALIMPSEST_PASSWORD": SECRET}
    command = [sys.executable, "-m", "gui", *words]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=ROOT, stdin=quiet, stdout=quiet, stderr=quiet, env=os.environ | own) as run:
        rows = [run.pid]
        try:
            yield run.pid
        finally:
            rows += children(run.pid)
            run.kill()
            for each in rows[1:]:
                subprocess.run(["kill", "-9", str(each)], stderr=quiet, check=False)


def children(of: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    parents: dict[int, int] = {}
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(each.name)] = int((each / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    found = [of]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def row(process: int) -> bytes:
    """What the list shows of a process; nothing of one that has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return b""


def rows_with(pid: int, there: Callable[[bytes], bool]) -> list[bytes]:
    """The rows of a program and its children, as soon as one of the children is there."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = [row(each) for each in children(pid)]
        if any(map(there, found)):
            return [row(pid), *found]
        time.sleep(0.02)
    raise AssertionError(f"{row(pid)!r} started {[row(each) for each in children(pid)]}")


@pytest.mark.parametrize("words", [("collections", FAR), (FAR,)], ids=["command", "window"])
@pytest.mark.deep
@pytest.mark.slice
def test_a_connection_through_ssh_shows_no_secret(words: tuple[str, ...], tmp_path: Path) -> None:
    with program(*words, folder=tmp_path) as pid:
        found = rows_with(pid, lambda said: said.endswith(b"-- bastion "))
    assert any(b"mongodb://eva:............." in said for said in found), found
    assert not [said for said in found if SECRET.encode() in said]


def test_the_server_of_the_sample_shows_no_secret(tmp_path: Path) -> None:
    with program("sample:", folder=tmp_path) as pid:
        found = rows_with(pid, lambda said: b"model.local_process" in said)
    assert not [said for said in found if SECRET.encode() in said]
