"""Bad input on the command line: one sentence on standard error, exit status 2, never a traceback."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import bson
import pymongo.collection
import pymongo.database
import pytest
from pymongo.errors import OperationFailure

from model.commands import command_line
from model.values import canonical
from tests import support
from tests.journeys.command_support import Run
from tests.model import session_scenes
from tests.servers.listener import Listener

SECRET = "pl4nted-s3cret"
ROOT = support.ROOT
Trouble = Callable[..., str]


@pytest.fixture
def trouble(capsys: pytest.CaptureFixture[str]) -> Trouble:
    """Run a command that must fail; its one sentence."""

    def called(*argv: str) -> str:
        status = command_line.main(list(argv))
        out, err = capsys.readouterr()
        assert (status, out) == (2, "")
        assert err.count("\n") == 1, err
        assert "Traceback" not in err
        assert SECRET not in err
        return err.strip()

    return called


def program(*argv: str, env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
    """``palimpsest`` as a process of its own."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT, **options}
    return subprocess.Popen([sys.executable, "-m", "gui", *argv], env={**os.environ, **(env or {})}, **options)


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """A port where connections are taken and nothing is ever answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def no_tls() -> Listener:
    """A port that answers a TLS greeting with something else."""

    def answer(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    return Listener(answer)


# --- the connection


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("http://db.example/", "mongodb://"),
        ("mongodb://", "address"),
        ("mongodb://db.example:port/", "port"),
        ("mongodb://db.example/?tls=maybe", "tls"),
        (f"mongodb://eva:{SECRET}@", ""),
        (f"postgres://eva:{SECRET}@db/", "mongodb://"),
        ("mongodb://eva@db.example/", "password"),
    ],
)
def test_a_wrong_uri(trouble: Trouble, uri: str, said: str) -> None:
    assert said.lower() in trouble("collections", uri).lower()


def test_a_refused_connection(trouble: Trouble) -> None:
    said = trouble("collections", f"mongodb://eva:{SECRET}@127.0.0.1:1/?serverSelectionTimeoutMS=300")
    assert "127.0.0.1:1" in said


def test_a_connection_that_times_out(trouble: Trouble) -> None:
    with silent() as port:
        said = trouble("collections", f"mongodb://127.0.0.1:{port}/?serverSelectionTimeoutMS=400&connectTimeoutMS=300")
    assert str(port) in said


def test_a_server_that_speaks_no_tls(trouble: Trouble) -> None:
    with no_tls() as server:
        said = trouble("collections", f"mongodb://{server.host}/?tls=true&serverSelectionTimeoutMS=400")
    assert "TLS" in said


def test_a_host_that_does_not_exist(trouble: Trouble) -> None:
    said = trouble("collections", "mongodb://no-such-host.invalid/?serverSelectionTimeoutMS=300")
    assert "no-such-host.invalid" in said


def test_bad_credentials(trouble: Trouble, local_uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object, **kwargs: object) -> None:
        raise OperationFailure(f"Authentication failed for {SECRET}.", 18, {"codeName": "AuthenticationFailed"})

    monkeypatch.setattr("pymongo.synchronous.auth.authenticate", fails)
    said = trouble("collections", local_uri.replace("mongodb://", f"mongodb://eva:{SECRET}@"))
    assert "user name and password" in said


def test_a_user_who_may_only_read(
    trouble: Trouble,
    server_uri: str,
    database: pymongo.database.Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session_scenes.archive(database)
    before = list(database["contracts"].find())

    def fails(*args: object, **kwargs: object) -> None:
        raise OperationFailure("not authorized on shop to execute command { update: 1 }", 13)

    for write in ("update_one", "replace_one", "insert_one", "delete_one"):
        monkeypatch.setattr(pymongo.collection.Collection, write, fails)
    said = trouble("edit", server_uri, f"{database.name}.contracts", "K-1", "--set", "steps=9")
    assert "lacks the privilege" in said
    assert list(database["contracts"].find()) == before


# --- what is not there


def test_a_missing_database_collection_document_and_version(
    trouble: Trouble, server_uri: str, database: pymongo.database.Database
) -> None:
    session_scenes.archive(database)
    ns = f"{database.name}.contracts"
    assert "nowhere" in trouble("history", server_uri, "nowhere.contracts", "1")
    assert "no collection" in trouble("history", server_uri, f"{database.name}.nothing", "1")
    assert "database.collection" in trouble("history", server_uri, "contracts", "1")
    assert "K-9" in trouble("history", server_uri, ns, "K-9")
    assert "no version 9" in trouble("show", server_uri, ns, "K-1", "--version", "9")
    assert "no version 3" in trouble("show", server_uri, ns, "K-1", "--version", "3")
    assert "no version x" in trouble("diff", server_uri, ns, "K-1", "1", "x")


def test_an_id_that_matches_several_is_answered_with_all_of_them(
    trouble: Trouble, server_uri: str, database: pymongo.database.Database
) -> None:
    session_scenes.plain(database)
    said = trouble("show", server_uri, f"{database.name}.agents", "7")
    assert '"7"' in said
    assert '{"$numberInt": "7"}' in said or "Int32" in said


# --- files and dumps


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cut.bson", canonical.encode({"_id": 1, "text": "x" * 100})[:-20]),
        ("noise.bson", b"\x00\x01\x02\x03 this is not BSON at all"),
        ("lines.json", b'{"_id": 1,,}\n{"_id": 2,,}\n'),
        ("latin.json", b'{"_id": "\xe4"}\n'),
    ],
)
def test_a_dump_that_is_damaged(trouble: Trouble, tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    assert name in trouble("collections", str(tmp_path / name))


def test_a_source_that_is_nothing(trouble: Trouble, tmp_path: Path) -> None:
    assert "not a source" in trouble("collections", str(tmp_path / "nothing"))
    assert trouble("collections", str(tmp_path))  # a folder without a dump in it


def test_files_for_diff_and_merge(trouble: Trouble, tmp_path: Path) -> None:
    good, bad, none = tmp_path / "good", tmp_path / "bad", tmp_path / "none"
    good.write_text('{"a": 1}')
    bad.write_text('{"a": 1,,}')
    assert "Line 1, column 9" in trouble("diff", str(good), str(bad))
    assert "no file" in trouble("diff", str(good), str(none))
    assert "no file" in trouble("merge", str(good), str(good), str(none))
    assert "cannot be written" in trouble("merge", *[str(good)] * 3, "-o", str(tmp_path / "no" / "out"))
    assert "two files" in trouble("diff", str(good))


def test_a_profile_that_is_wrong(trouble: Trouble, tmp_path: Path) -> None:
    profile = tmp_path / "p.toml"
    profile.write_text('[[collection]]\nns = "a.b"\nlayout = "chain"\n')
    assert "chain" in trouble("collections", "sample:", "--profile", str(profile))
    profile.write_text("[[collection")
    assert "p.toml" in trouble("collections", "sample:", "--profile", str(profile))
    assert "q.toml" in trouble("collections", "sample:", "--profile", str(tmp_path / "q.toml"))


# --- arguments


@pytest.mark.parametrize(
    "argv",
    [
        ["show"],
        ["blame", "sample:", "a.b", "1"],
        ["history", "sample:", "insurance.contracts", "K-1", "--layout", "chain"],
        ["diff", "a", "b", "--format", "xml"],
        ["cleanup", "sample:", "--older-than", "yesterday"],
        ["edit", "sample:", "insurance.contracts", "K-204117"],
        ["undo", "none"],
        ["undo", "4711"],
        ["--nonsense"],
    ],
)
def test_arguments_that_are_wrong(trouble: Trouble, argv: list[str]) -> None:
    assert trouble(*argv)


@pytest.mark.deep
def test_cleanup_of_a_collection_without_tokens(trouble: Trouble) -> None:
    assert "insurance.contracts" in trouble("cleanup", "sample:", "insurance.contracts")


def test_undo_asks_for_the_source_where_a_password_is_missing(trouble: Trouble, home: Path) -> None:
    from model.userdata.journal import Journal
    from tests.model.userdata.test_journal import APPLIED, INTENT

    journal = Journal()
    entry = journal.begin(INTENT)
    journal.end(entry, APPLIED)
    said = trouble("undo", entry)
    assert "--source" in said
    assert "password" in said


def test_a_defect_is_one_sentence_too(trouble: Trouble, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(args: object) -> int:
        raise ZeroDivisionError(f"with {SECRET} in it")

    monkeypatch.setattr("model.commands.write.journal", broken)
    assert "PALIMPSEST_DEBUG" in trouble("journal")


# --- commands or the window


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ([], False),
        (["sample:"], False),
        (["mongodb://db.example/", "--read-only"], False),
        (["--read-only", "some folder"], False),
        (["some folder", "--into-memory"], False),
        (["sample:", "--profile", "layouts.toml"], False),
        (["--profile=layouts.toml", "sample:"], False),
        (["scna", "sample:"], False),
        (["journal"], True),
        (["history", "sample:", "a.b", "1"], True),
        (["--version"], True),
        (["-h"], True),
        (["blame", "sample:", "a.b", "1"], True),
    ],
)
def test_a_command_goes_to_the_command_line_and_a_source_to_the_window(words: list[str], command: bool) -> None:
    from gui.__main__ import is_command

    assert is_command(words) == command


def test_a_source_is_told_from_a_command_without_the_grammar_of_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    from gui.__main__ import is_command
    from model.commands import grammar

    assert all(is_command([name]) for name in grammar.names())
    monkeypatch.setattr(grammar, "parser", None)
    assert not is_command(["sample:"])
    assert not is_command(["mongodb://db.example"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["frobnicate"], "There is no command frobnicate, nor a file or folder to open: the nearest commands are "),
        (["scna", "sample:"], "nearest command is scan "),
        (["hist", "sample:", "a.b", "1", "--json"], "nearest command is history "),
        (["db.example:27017"], "an address begins with mongodb://"),
        (["me:secret-7@db.example"], "me:…@db.example"),
        (["sample:", "scan"], "`palimpsest scan sample:`"),
        (["sample:", "--json"], "--json is not an option of the window"),
        (["sample:", "--profile"], "--profile: expected one argument"),
        (["--profile", "layouts.toml"], "name that too"),
        (["sample:", "--profile", "gone.toml"], "There is no profile gone.toml"),
    ],
)
def test_words_that_open_nothing_are_told_on_the_terminal(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gui import __main__ as program_of

    monkeypatch.setattr(program_of, "why_no_window", lambda: pytest.fail("a window was opened"))
    assert program_of.main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
    assert "secret-7" not in err


def test_a_profile_with_an_unknown_key_is_one_sentence_before_any_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gui import __main__ as program_of

    monkeypatch.setattr(program_of, "why_no_window", lambda: pytest.fail("a window was opened"))
    profile = tmp_path / "layouts.toml"
    profile.write_text('[[collection]]\nns = "a.b"\nlayout = "versions"\nvresion = "rev"\n')
    assert program_of.main(["sample:", "--profile", str(profile)]) == 2
    _, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert "vresion" in err


# --- as a process


@pytest.mark.deep
def test_commands_import_no_window_and_need_no_display() -> None:
    code = (
        "import sys; from gui.__main__ import main; status = main(sys.argv[1:]);"
        "bad = [m for m in sys.modules if m.startswith(('PySide6', 'shiboken6', 'gui.')) and m != 'gui.__main__'];"
        "assert not bad, bad; sys.exit(status)"
    )
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
    argv = ["history", "sample:", "insurance.contracts", "K-204117", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *argv], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 14


@pytest.mark.deep
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a display")
@pytest.mark.parametrize("display", ["", ":4711"])
@pytest.mark.parametrize("platform", ["", "xcb"])
def test_without_a_display_the_window_says_what_works_instead(display: str, platform: str) -> None:
    env = {"DISPLAY": display, "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": platform}
    out, err = (process := program("sample:", env=env)).communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err.count("\n") == 1
    assert all(word in err for word in ("display", "palimpsest tour", "QT_QPA_PLATFORM=vnc"))


def test_help_and_version_are_no_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["--help"]) == 0
    assert "cleanup" in capsys.readouterr().out
    assert command_line.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("palimpsest ")


@pytest.mark.deep
@pytest.mark.skipif(os.name == "nt", reason="there are no such pipes")
def test_a_reader_that_has_seen_enough_ends_the_output_quietly(tmp_path: Path) -> None:
    many = tmp_path / "many.json"
    many.write_text("{" + ", ".join(f'"field{i}": {i}' for i in range(60_000)) + "}")
    none = tmp_path / "none.json"
    none.write_text("{}")
    process = program("diff", str(none), str(many), "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 141
    process.stderr.close()


@pytest.mark.deep
@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise")
def test_ctrl_c_stops_with_a_word() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"mongodb://127.0.0.1:{server.getsockname()[1]}/?serverSelectionTimeoutMS=30000"
        # A shell starts what runs in the background deaf to Ctrl+C, and tests may be run there.
        process = program("collections", uri, preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL))
        server.settimeout(60)
        connection, _ = server.accept()  # from here on it waits for an answer that never comes
        with connection:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "Stopped.\n")


@pytest.mark.parametrize("at_work", [False, True])
def test_a_command_waits_for_a_thread_that_is_at_work_and_for_no_other(at_work: bool) -> None:
    code = (
        "import atexit, sys, threading; from gui.__main__ import main\n"
        "atexit.register(print, 'ended by Python')  # who registers anything may wait, as the driver does\n"
        "def work():\n"
        "    sys.stdin.readline()\n"
        "    print('worked', flush=True)\n"
        f"threading.Thread(target=work, daemon={not at_work}).start()\n"
        "sys.argv = ['palimpsest', 'diff', 'nowhere.json', 'nothing.json']\n"
        "sys.exit(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stderr is not None
        assert b"nowhere.json" in process.stderr.readline()  # the command is done
        if not at_work:
            process.wait(60)  # nobody writes the line that the thread reads
        out, _ = process.communicate(b"\n" if at_work else None, timeout=60)
        assert process.returncode == 2
        assert out.startswith(b"worked\n") if at_work else not out


def test_an_address_in_quotes_is_understood_and_an_option_given_twice_prints_no_warning(
    run: Run, server_uri: str, database: pymongo.database.Database[dict[str, Any]], recwarn: pytest.WarningsRecorder
) -> None:
    database["things"].insert_one({"_id": 1})
    twice = f"{server_uri}{'&' if '?' in server_uri else '/?'}directConnection=true"
    for source in (f'"{server_uri}"', f"<{twice}>", twice):
        status, out, err = run("show", source, f"{database.name}.things", "1")
        assert (status, err) == (0, ""), source
        assert out
    assert not list(recwarn)


def test_the_first_of_several_documents_with_one_id_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.bson").write_bytes(b"".join(bson.encode({"_id": id, "n": n}) for n, id in enumerate([1, 2, 2])))
    ns = f"{tmp_path.name[:60]}.x"
    for id, is_first in (("2", True), ("1", False)):
        assert command_line.main(["show", str(tmp_path / "x.bson"), ns, id]) == 0
        assert (f"{id} is the first of several documents with this _id." in capsys.readouterr().err) == is_first
        assert command_line.main(["history", str(tmp_path / "x.bson"), ns, id]) == 0
        assert ("the first of several documents" in capsys.readouterr().out) == is_first
