"""The modules that PySide6 compiles at each start are compiled once per Python, and again when they change."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gui.starting import kept_code
from tests import support

START = """
import builtins
compiled, plain = [], builtins.compile
def compile(source, name, *others, **named):
    compiled.append(str(name))
    return plain(source, name, *others, **named)
builtins.compile = compile
from gui.starting.kept_code import kept_code
with kept_code():
    from PySide6 import QtWidgets
assert builtins.compile is compile
from PySide6.support.signature import get_signature
print(get_signature(QtWidgets.QLabel.setText))
print(*(name for name in compiled if name.startswith(("shibokensupport/", "signature_bootstrap"))))
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALIMPSEST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "qt-modules"


def start() -> tuple[str, list[str]]:
    """What a signature is, which these modules tell, and the names of those that were compiled."""
    run = [sys.executable, "-c", START]
    said = subprocess.run(run, cwd=support.ROOT, capture_output=True, text=True, check=True).stdout
    signature, names = said.split("\n")[:2]
    return signature, names.split()


def test_a_second_start_compiles_none_of_them_and_does_the_same(kept: Path) -> None:
    signature, names = start()
    assert len(names) > 5
    assert "str" in signature
    assert start() == (signature, [])


@pytest.mark.deep
def test_what_is_damaged_or_of_another_python_is_made_anew(kept: Path) -> None:
    signature, names = start()
    whole = kept.read_bytes()
    for damaged in (b"", whole[:1000], b"no byte code", b"\0\0\0\0" + whole[4:], whole[:4] + marshal.dumps([1, "two"])):
        kept.write_bytes(damaged)
        assert start() == (signature, names)
        assert start() == (signature, [])


@pytest.mark.skipif(os.name != "posix", reason="rights are told otherwise there")
@pytest.mark.parametrize("which", ["the file", pytest.param("the folder", marks=pytest.mark.deep)])
def test_what_others_can_have_written_is_not_run(kept: Path, which: str) -> None:
    told = start()
    (kept if which == "the file" else kept.parent).chmod(0o777)
    assert start() == told
    (kept if which == "the file" else kept.parent).chmod(0o700)
    assert start() == (told[0], [])


def test_a_module_whose_source_is_another_one_is_compiled(kept: Path) -> None:
    made: list[bytes] = []
    known: kept_code.Kept = {}

    def plain(source: bytes, name: str, mode: str) -> object:
        made.append(source)
        return compile(source, name, mode)

    for source in (b"a = 1", b"a = 2", b"a = 2"):
        fresh: kept_code.Kept = {}
        there: dict[str, int] = {}
        exec(kept_code._keeping(plain, known, fresh)(source, "shibokensupport/a.py", "exec"), there)
        assert there["a"] == int(source[-1:])
        known |= fresh
    assert made == [b"a = 1", b"a = 2"]


def test_where_nothing_can_be_written_it_starts_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PALIMPSEST_CACHE", str(tmp_path / "file" / "cache"))
    signature, names = start()
    assert start() == (signature, names)
