"""Files that are written whole: through links, with their earlier rights, and not at all if something fails."""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bson
import pytest

from model.foundation.records import Row
from model.foundation.whole_files import whole_file
from model.text import document_file
from model.text.row_file import write_rows
from model.userdata import folders
from model.values.canonical import Value
from tests import support

RAW = bson.encode({"_id": 1, "n": 2})
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, rights and pipes are Unix's")


def a_plan(path: Path) -> None:
    folders.write(path, "a plan\n")


def rows(path: Path) -> None:
    write_rows([Row(Value.of(1), None, None, len(RAW), RAW)], path)


def a_document(path: Path) -> None:
    document_file.write(str(path), RAW, document_file.form_of("{}"))


WRITERS: list[Callable[[Path], None]] = [a_plan, rows, a_document]


@support.table("write", WRITERS)
@support.table("name", ["out.jsonl", "out.csv"])
def test_a_link_is_followed_and_rights_are_kept(write: Callable[[Path], None], name: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / name, tmp_path / name
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write(link)
    assert link.is_symlink()
    assert real.read_text() != "old"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert os.listdir(real.parent) == [name]


@support.table("write", WRITERS)
def test_what_is_no_file_is_written_as_it_is(write: Callable[[Path], None], tmp_path: Path) -> None:
    pipe, came = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: came.append(pipe.read_bytes()))
    reader.start()
    write(pipe)
    reader.join(60)
    assert came[0]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_new_file_is_its_owners_and_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with whole_file(path) as file:
        file.write(b"first")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    unfit: Any = "no bytes"
    with pytest.raises(TypeError), whole_file(path) as file:
        file.write(unfit)
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("lasting", [True, False])
def test_only_what_has_to_last_waits_for_the_disk(
    lasting: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[int] = []
    monkeypatch.setattr(os, "fsync", waited.append)
    with whole_file(tmp_path / "file", lasting=lasting) as file:
        file.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert len(waited) == lasting
