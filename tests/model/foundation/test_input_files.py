"""Files that a person names: irregular, too large and too deeply nested ones are refused at once."""

from __future__ import annotations

import contextlib
import gzip
import os
import socket
import sys
import time
import tracemalloc
from pathlib import Path

import bson
import pytest

from model.commands import command_line
from model.errors import Refused
from model.exchange.version_lines import VersionLines
from model.foundation import input_files, toml_text
from model.foundation.input_files import check_input, whole_input
from model.localserver import large_file, open_dump
from model.profile import Profile
from model.repair.plan import Plan
from model.text import document_file
from model.text.file_documents import documents_of
from tests import support

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such devices, pipes and sockets")

READERS = {
    "profile": Profile.load,
    "plan": Plan.load,
    "one document": lambda path: document_file.read(str(path)),
    "one value": lambda path: document_file.read_value(str(path)),
    "documents": lambda path: list(documents_of(path)),
    "history": VersionLines.opened,
}


@support.table("kind", ["a device", "a pipe", "a socket"])
@support.table("reader", sorted(READERS))
def test_what_is_no_file_is_refused_before_it_is_opened(tmp_path: Path, kind: str, reader: str) -> None:
    with socket.socket(socket.AF_UNIX) as own:
        path = {"a device": Path("/dev/zero"), "a pipe": tmp_path / "pipe", "a socket": Path(f"{tmp_path}/s")}[kind]
        if kind == "a pipe":
            os.mkfifo(path)
        elif kind == "a socket":
            here = os.getcwd()
            os.chdir(tmp_path)  # a socket's whole path may be too long
            try:
                own.bind("s")
            finally:
                os.chdir(here)
        with pytest.raises(Refused, match=f"is {kind}, not a file"):
            READERS[reader](path)


COMMANDS = [
    ["collections", "sample:", "--profile", "/dev/zero"],
    ["repair", "sample:", "--plan", "/dev/zero"],
    ["collections", "mongodb://me@localhost:1/", "--password-file", "/dev/zero"],
    ["diff", "/dev/zero", "/dev/zero"],
    ["merge", "/dev/zero", "/dev/zero", "/dev/zero"],
    ["import", "/dev/zero", "sample:", "insurance.contracts"],
    ["scan", "sample:", "--merge", "/dev/zero"],
    ["collections", "mongodb://127.0.0.1:1/?tls=true&tlsCAFile=/dev/zero"],
    ["collections", "mongodb://127.0.0.1:1/?tls=true&tlsCertificateKeyFile=/dev/zero"],
]


@support.table("words", COMMANDS)
def test_a_command_says_so_in_one_sentence(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(words) == 2
    said = capsys.readouterr().err.strip()
    assert "/dev/zero is a device, not a file" in said
    assert "\n" not in said


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(3 << 20)
    with pytest.raises(Refused, match="larger than 2 MB"):
        Profile.load(path)
    with pytest.raises(Refused, match="larger than 4,096 bytes"):
        whole_input(path, 4096)
    check_input(os.devnull)
    assert whole_input(os.devnull) == b""


DEEP = {
    "a key": "a" + ".a" * 20_000 + " = 1",
    "with blanks": "a" + " . a" * 10_000 + " = 1",
    "in quotes": '"a"' + ".'a'" * 10_000 + " = 1",
    "a header": "[a" + ".a" * 20_000 + "]",
    "of many": "[[a" + ".a" * 20_000 + "]]",
    "inside": "x = {a" + ".a" * 20_000 + " = 1}",
    "behind a text": 'x = """\n"""\na' + ".a" * 20_000 + " = 1",
    "behind a quote": 'x = "\'"\na' + ".a" * 20_000 + " = '1'",
    "behind a comment": "# '''\na" + ".a" * 20_000 + " = 1",
}


@support.table("name", DEEP)
def test_a_key_of_thousands_of_levels_takes_no_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(DEEP[name], "utf-8")
    tracemalloc.start()
    try:
        with pytest.raises(Refused, match="a key has more than 32 parts"):
            Profile.load(path)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


@support.table("name", ["inside", "in quotes"])
def test_a_value_with_such_a_key_takes_no_memory(name: str) -> None:
    key = DEEP[name].removeprefix("x = {").removesuffix("}")
    with pytest.raises(ValueError, match="more than 32 parts"):
        toml_text.from_line("{" + key + "}")


def test_the_line_of_a_wrong_filter_is_not_looked_for_in_a_long_profile(tmp_path: Path) -> None:
    """Each beginning of the file would be parsed, a million times more than the file is long."""
    path = tmp_path / "p.toml"
    watch = '[[collection.watch]]\nname = "x"\nfilter = "{"\n'
    path.write_text('[[collection]]\nns = "a.b"\nlayout = "versions"\n' + "# a comment\n" * 20_000 + watch, "utf-8")
    began = time.process_time()
    with pytest.raises(Refused, match=r"a\.b"):
        Profile.load(path)
    assert time.process_time() - began < 20


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(input_files, "check_input", lambda path: None)
    with pytest.raises(Refused, match="is a pipe, not a file"):
        whole_input(tmp_path / "pipe")


def test_standard_input_without_end_is_not_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open("/dev/zero", encoding="ascii") as zeros:
        monkeypatch.setattr(sys, "stdin", zeros)
        assert command_line.main(["insert", "sample:", "insurance.contracts", "-"]) == 2
    assert "Standard input has more than 16 MB" in capsys.readouterr().err


def test_a_small_packed_dump_is_not_unpacked_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_file, "BOMB_FROM", 20_000)
    monkeypatch.setattr(large_file, "BOMB_TIMES", 3)
    for name, document in (("a.bson.gz", bson.encode({"text": "x" * 90})), ("a.json.gz", b'{"text": "xxxxxxxxx"}\n')):
        path = tmp_path / name
        path.write_bytes(gzip.compress(document * 2000))
        with pytest.raises(Refused, match="unpacks to more than"):
            open_dump(path)


@support.table("written", ['x = "%s"', "x = '%s'", 'x = """\n%s"""', "x = '''%s'''", "x = 1 # %s", "# %s"])
def test_a_text_and_a_comment_may_hold_any_number_of_dots(written: str) -> None:
    text = written % ("a.b" + ".c" * 1000)
    assert set(toml_text.tables(text)) <= {"x"}


@support.table("sign", ['"', '"""', "'''", '\\"', "'", "a", "a.", "#", "\\"])
def test_the_look_for_deep_keys_takes_no_longer_than_the_file_is_long(sign: str) -> None:
    began = time.process_time()
    with contextlib.suppress(ValueError):
        toml_text.tables(sign * (300_000 // len(sign)))
    assert time.process_time() - began < 5
