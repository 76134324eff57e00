"""Local servers in processes of their own: what they serve, and that none outlives the process that started it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from model import local_process
from model.errors import Refused
from model.local_process import ServerProcess
from model.session import Session, sources
from tests import support

PATIENCE = 60.0
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")
OPENS = """
import os, signal, sys
from model.session import sources
sources.start_early("sample:", False)
(process,) = sources._early.values()
process.wait()
print(process.pid, process.uri, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")  # one that nobody waits for any more is still listed
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):  # it may end between two of these
        return True


def socket_of(uri: str) -> Path:
    return Path(unquote(uri.removeprefix("mongodb://").partition("/?")[0]))


def test_a_process_of_its_own_serves_what_this_one_would(server_processes: list[ServerProcess]) -> None:
    with Session.open("sample:") as here, Session.open("sample:", apart=True) as apart:
        (process,) = server_processes
        assert process.pid != os.getpid()
        assert [info.ns for info in apart.catalogue.collections()] == [info.ns for info in here.catalogue.collections()]
        id = here.documents.find_id("insurance.contracts", "K-204117")
        assert (
            apart.history.version("insurance.contracts", id, None).raw
            == here.history.version("insurance.contracts", id, None).raw
        )
        assert apart.is_local
        assert apart.is_sample


@POSIX
def test_a_server_ends_when_it_is_closed_and_leaves_no_socket(server_processes: list[ServerProcess]) -> None:
    session = Session.open("sample:", apart=True)
    (process,) = server_processes
    socket = socket_of(process.uri)
    assert socket.exists()
    session.close()
    until(lambda: has_ended(process.pid))
    assert not socket.exists()


@POSIX
def test_a_server_ends_when_its_starter_is_killed() -> None:
    done = subprocess.run([sys.executable, "-c", OPENS], cwd=support.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    pid, uri = done.stdout.split()
    until(lambda: has_ended(int(pid)))
    until(lambda: not socket_of(uri).exists())


@POSIX
def test_a_server_that_hangs_is_killed(server_processes: list[ServerProcess], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_process, "_PATIENCE", 0.05)
    session = Session.open("sample:", apart=True)
    (process,) = server_processes
    os.kill(process.pid, signal.SIGSTOP)
    process.close()
    until(lambda: has_ended(process.pid))
    session.close()


def test_a_dump_is_refused_in_the_same_words_and_no_process_is_left(
    tmp_path: Path, server_processes: list[ServerProcess]
) -> None:
    (tmp_path / "things.bson").write_bytes(b"no BSON at all")
    told = []
    for apart in (False, True):
        with pytest.raises(Refused) as refused:
            Session.open(tmp_path / "things.bson", into_memory=True, apart=apart)
        told.append((type(refused.value), str(refused.value)))
    assert told[0] == told[1]
    (process,) = server_processes
    if os.name == "posix":
        until(lambda: has_ended(process.pid))


def test_a_dump_is_served_apart_in_memory_and_to_be_read(tmp_path: Path, server_processes: list[ServerProcess]) -> None:
    (tmp_path / "things.json").write_text('{"_id": 1, "a": 2}\n')
    for into_memory in (False, True):
        with Session.open(tmp_path / "things.json", into_memory=into_memory, apart=True) as session:
            assert session.trust.read_only is not into_memory
            assert [info.documents for info in session.catalogue.collections()] == [1]
            assert len(server_processes) == 1 + into_memory


def test_one_that_was_started_early_is_the_one_that_serves(server_processes: list[ServerProcess]) -> None:
    sources.start_early("sample:", False)
    with Session.open("sample:", apart=True) as session:
        assert session.is_sample
        assert len(server_processes) == 1
    sources.start_early("mongodb://nowhere.invalid/", False)
    sources.start_early("no such file", False)
    assert len(server_processes) == 1


def test_where_no_process_is_to_be_had_it_is_served_from_this_one() -> None:
    with Session.open("sample:", apart=True) as session:
        assert session.is_sample


def test_where_the_process_ends_without_a_word_it_is_served_from_this_one(
    server_processes: list[ServerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_process, "_program", lambda: ([sys.executable, "-c", "raise SystemExit(3)"], None))
    with Session.open("sample:", apart=True) as session:
        assert session.is_sample
        assert len(server_processes) == 1


def test_a_folder_that_happens_to_be_called_model_is_not_imported(
    tmp_path: Path, server_processes: list[ServerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "__init__.py").write_text("raise RuntimeError('this one is not ours')\n")
    monkeypatch.chdir(tmp_path)
    with Session.open("sample:", apart=True):
        assert server_processes[0].uri


@pytest.mark.deep
def test_a_program_compiled_as_a_whole_starts_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "palimpsest"
    program.write_text("")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "argv", [str(program), "sample:"])
    assert local_process._program()[0] == [str(program), local_process.WORD]
    asked = json.dumps({"dump": "", "writable": True, "kept": str(tmp_path / "kept")})
    done = subprocess.run(
        [sys.executable, "-m", "gui", local_process.WORD],
        input=f"{asked}\n", cwd=support.ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert json.loads(done.stdout)["uri"].startswith("mongodb://")
    assert (done.returncode, done.stderr) == (0, "")
