"""Trouble around a command: output that cannot be written, an unusable home, passwords in odd places."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import bson
import pymongo.database
import pytest

from model.commands import command_line
from model.userdata import kept_tables
from tests import support
from tests.model import session_scenes

Db = pymongo.database.Database[dict[str, Any]]
ROOT = support.ROOT
SECRET = "pl4nted-s3cret"
POSIX = pytest.mark.skipif(os.name == "nt", reason="files and processes are handed on otherwise")


def program(*argv: str, **options: Any) -> subprocess.CompletedProcess[str]:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT, **options}
    return subprocess.run([sys.executable, "-m", "gui", *argv], check=False, **options)


@pytest.fixture
def contracts(local_uri: str) -> Any:
    """The arguments that name contract K-1 on the in-process server, and its database."""
    name = f"palimpsest_test_{os.urandom(6).hex()}"
    with pymongo.MongoClient[dict[str, Any]](local_uri) as client:
        session_scenes.archive(client[name])
        yield (local_uri, f"{name}.contracts", "K-1"), client[name]
        client.drop_database(name)


# --- outputs


@pytest.mark.deep
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_a_full_disk_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        for more in ([], ["--json"]):
            done = program("history", "sample:", "insurance.contracts", "K-204117", *more, stdout=full)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
            assert "output cannot be written" in done.stderr


@pytest.mark.deep
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_the_status_of_an_edit_tells_how_it_ended_though_its_report_is_lost(contracts: Any) -> None:
    argv, database = contracts
    with open("/dev/full", "w") as full:
        done = program("edit", *argv, "--set", "steps=50", stdout=full)
        assert (done.returncode, "applied" in done.stderr) == (0, True), done.stderr
        assert database["contracts"].find_one({"_id": "K-1"})["steps"] == 50
        done = program("edit", *argv, "--base", "4", "--set", "steps=51", "--json", stdout=full)
        assert done.returncode == 1
    read, write = os.pipe()
    os.close(read)
    done = program("edit", *argv, "--set", "steps=52", "--json", stdout=write)
    os.close(write)
    assert done.returncode == 0
    assert database["contracts"].find_one({"_id": "K-1"})["steps"] == 52


@pytest.mark.deep
@POSIX
def test_a_closed_output_is_nothing_to_fail_over(contracts: Any) -> None:
    argv, database = contracts
    code = "import os, sys; os.close(1); os.close(2); os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", code, sys.executable, "-m", "gui", "edit", *argv, "--set", "steps=60"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    assert database["contracts"].find_one({"_id": "K-1"})["steps"] == 60


# --- signals


@pytest.mark.deep
@POSIX
def test_a_process_that_a_scheduler_ends_leaves_no_folder_behind(tmp_path: Path) -> None:
    many = tmp_path / "many.bson"
    many.write_bytes(b"".join(bson.encode({"_id": n, "docId": 1, "v": n, "t": "x" * 100}) for n in range(20_000)))
    folders = Path(tempfile.mkdtemp(prefix="ends"))  # a socket's path is short: a worker's own folder is too deep
    argv = [sys.executable, "-m", "gui", "history", str(many), f"{tmp_path.name}.many", "1", "--layout", "versions"]
    with subprocess.Popen(
        [*argv, "--json"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folders)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()  # it serves the dump and prints
        assert list(folders.iterdir())
        process.terminate()
        process.stdout.read()
        assert "Traceback" not in process.stderr.read()
    assert process.returncode == 143
    assert list(folders.iterdir()) == []
    folders.rmdir()


@pytest.mark.deep
@pytest.mark.slice
@POSIX
@pytest.mark.parametrize("after", [0.02, 0.1, 0.3])
def test_ctrl_c_at_any_time_shows_no_traceback(after: float) -> None:
    # Whether it hits the imports, the connection or the output: none of them may show a traceback.
    code = (
        "import _thread, sys, threading; from gui.__main__ import main;"
        f"threading.Timer({after}, _thread.interrupt_main).start();"
        "sys.exit(main())"
    )
    words = [sys.executable, "-c", code, "collections", "sample:", "--json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) in ((130, "Stopped.\n"), (0, ""))


def test_ctrl_c_while_python_ends_changes_nothing() -> None:
    code = (
        "import _thread, sys, threading; from gui.__main__ import main; status = main();"
        "threading.Thread(target=lambda: (threading.main_thread().join(), _thread.interrupt_main())).start();"
        "sys.exit(status)"
    )
    words = [sys.executable, "-c", code, "--version"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# --- home


def test_reading_needs_no_home_and_makes_none(
    contracts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    argv, _ = contracts
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "none"))
    assert command_line.main(["history", *argv]) == 0
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "file"))
    assert command_line.main(["show", *argv]) == 0
    assert capsys.readouterr().err == ""


def test_nothing_is_written_where_it_cannot_be_journalled(
    contracts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    argv, database = contracts
    home = tmp_path / "home"
    home.write_text("in the way")
    monkeypatch.setenv("PALIMPSEST_HOME", str(home))
    status = command_line.main(["edit", *argv, "--set", "steps=70"])
    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert str(home) in err
    assert database["contracts"].find_one({"_id": "K-1"})["steps"] == 4


def test_a_journal_that_another_program_holds_is_said_so(
    contracts: Any, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    argv, database = contracts
    assert command_line.main(["edit", *argv, "--set", "steps=80"]) == 0
    monkeypatch.setattr(kept_tables, "PATIENCE", 0.1)
    holder = sqlite3.connect(home / "journal.sqlite3", isolation_level=None)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        capsys.readouterr()
        assert command_line.main(["edit", *argv, "--set", "steps=81"]) == 2
    finally:
        holder.close()
    assert "another program holds it" in capsys.readouterr().err
    assert database["contracts"].find_one({"_id": "K-1"})["steps"] == 80
    assert command_line.main(["journal", "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


# --- passwords


@pytest.mark.parametrize(
    "argv",
    [
        ["collections", f"eva:{SECRET}@db.example"],
        ["collections", f"mongodb://eva:{SECRET}@127.0.0.1:1/?serverSelectionTimeoutMS=100"],
        ["collections", f"mongodb://eva:{SECRET}@h:99999/"],
        ["collections", f"mongodb://eva:{SECRET}@h/?foo=bar"],
        ["collections", f"mongodb://eva:{SECRET}%zz@h/"],
        ["collections", f"mongodb://eva:p/{SECRET}@h/"],
        ["collections", f"mongodb+srv://eva:{SECRET}@no.such.invalid/?serverSelectionTimeoutMS=100"],
        [
            "collections",
            f"mongodb://127.0.0.1:1/?tls=true&serverSelectionTimeoutMS=100&tlsCertificateKeyFilePassword={SECRET}",
        ],
        ["collections", "sample:", f"mongodb://eva:{SECRET}@h/"],
        [f"mongodb://eva:{SECRET}@h/", "extra"],
        ["-x", f"mongodb://eva:{SECRET}@h/"],
        ["undo", f"mongodb://eva:{SECRET}@h/"],
        ["diff", f"mongodb://eva:{SECRET}@h/", "a.json"],
        ["merge", f"mongodb://eva:{SECRET}@h/", "a.json", "b.json"],
        ["history", f"mongodb://eva:{SECRET}@127.0.0.1:1/?serverSelectionTimeoutMS=100", "a.b", "1"],
        ["collections", "sample:", "--profile", f"mongodb://eva:{SECRET}@h/"],
        ["history", "sample:", f"mongodb://eva:{SECRET}@h/", "1"],
        ["show", "sample:", "insurance.contracts", f"mongodb://eva:{SECRET}@h/"],
    ],
)
def test_a_password_is_never_repeated(argv: list[str], home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(argv) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert SECRET not in err
    assert not any(SECRET.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_the_journal_keeps_no_password(
    contracts: Any, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (uri, *rest), _ = contracts
    # The in-process server asks for no password, so nothing has to be true of this one.
    monkeypatch.setattr("pymongo.synchronous.auth.authenticate", lambda *args, **kwargs: None)
    signed = uri.replace("mongodb://", f"mongodb://eva:{SECRET}@")
    assert command_line.main(["edit", signed, *rest, "--set", "steps=90", "--json"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)["outcome"], SECRET in out + err) == ("applied", False)
    assert command_line.main(["journal", "--json"]) == 0
    assert "eva@" in json.loads(capsys.readouterr().out)["source"]
    assert not any(SECRET.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())
