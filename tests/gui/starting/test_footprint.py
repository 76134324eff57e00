"""How much memory the program keeps, measured from another process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gui.starting import footprint
from tests import support

START = """
import linecache, os, sys
from PySide6.QtWidgets import QApplication
from gui.__main__ import main
QApplication.exec = lambda *_: 0
status = main(["--new-window"])
print(status, len(linecache.cache), flush=True)
os._exit(0)
"""
TASKS = """
import os, sys
from pathlib import Path
from gui.starting import footprint
if sys.argv[1:]:
    footprint.keep_little()
resident = lambda: int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
documents = bytearray(30 << 20)
del documents
before = resident()
documents, kept = [], []
for _ in range(10):
    documents.append(bytearray(b"x" * (4 << 20)))
    kept.append(bytearray(600))
documents.clear()
print(resident() - before)
"""


def told(code: str, *words: str) -> str:
    run = [sys.executable, "-c", code, *words]
    return subprocess.run(run, cwd=support.ROOT, capture_output=True, text=True, check=True).stdout


def test_a_window_keeps_no_source_of_the_modules_that_it_is_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert told(START) == "0 0\n"


@pytest.mark.skipif(footprint._glibc() is None, reason="only glibc can be told")
def test_the_room_of_large_documents_is_returned_when_they_are_gone() -> None:
    assert int(told(TASKS)) > int(told(TASKS, "little")) + 20
    footprint.give_back()
