"""Versions in a git repository, a folder and lines of JSON: written, and read back byte for byte."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Cancelled, Refused
from model.exchange.file_names import file_name, folder_name
from model.exchange.git_history import GitHistory, git_export
from model.exchange.history_files import Form, by_document, history_files
from model.exchange.history_origin import HistoryOrigin
from model.exchange.kept_version import KeptVersion
from model.exchange.version_folder import folder_export
from model.exchange.version_lines import lines_export
from model.foundation.records import no_checkpoint
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.diff import bson_strategies
from tests.support import examples

FORMS: tuple[Form, ...] = ("git", "folder", "jsonl")
ORIGIN = HistoryOrigin("shop.orders", {"layout": "versions"})
DAY = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def write(
    path: Path, form: Form, several: Iterable[KeptVersion], origin: HistoryOrigin = ORIGIN
) -> tuple[int, list[str]]:
    """Export some versions, newest first; how many were written, and the names of those that stand otherwise."""
    forms = {"git": git_export, "folder": folder_export, "jsonl": lines_export}
    with forms[form](path, origin, no_checkpoint) as into:  # type: ignore[operator]
        for kept in several:
            into.add(kept)
    return into.written, into.other


def read(path: Path) -> list[KeptVersion]:
    """All versions of all documents, oldest first."""
    files = history_files(path)
    assert files.origin == ORIGIN
    return [kept for _, refs in by_document(files, no_checkpoint) for kept in files.read(refs)]


def version(v: int, id: str = "A", at: dt.datetime | None = None, **fields: object) -> KeptVersion:
    content = c.document((name, Value.of(value)) for name, value in (fields or {"total": v}).items())
    return KeptVersion(Value.of(id), Value.of(v), at or DAY + dt.timedelta(hours=v), Value.of("ann"), None, content)


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True).stdout


texts = st.none() | bson_strategies.texts.map(Value.of) | bson_strategies.values()
times = st.none() | st.datetimes(dt.datetime(1960, 1, 1), dt.datetime(2200, 1, 1)).map(
    lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000, tzinfo=dt.UTC)
)


@st.composite
def histories(draw: st.DrawFn) -> list[KeptVersion]:
    """The versions of two documents, newest first."""
    found = []
    for id in draw(st.lists(bson_strategies.values(), min_size=2, max_size=2, unique=True)):
        for v in draw(st.sets(st.integers(-3, 2**40), min_size=1, max_size=3).map(lambda s: sorted(s, reverse=True))):
            content = draw(bson_strategies.documents() | st.none())
            author, reason = (
                None if each is None or each.type == c.NULL else each for each in draw(st.tuples(texts, texts))
            )
            gap, unproven = draw(st.sampled_from(["", "v7 is missing before it."])), draw(st.sampled_from(["", "torn"]))
            found.append(KeptVersion(id, Value.of(v), draw(times), author, reason, content, None, gap, unproven))
    return found


def by_id(kept: KeptVersion) -> tuple[int, bytes, int]:
    return kept.id.type, kept.id.data, kept.v.python() if kept.v is not None else 0


@pytest.mark.deep
@pytest.mark.slice
@given(history=histories())
@examples(60)
def test_versions_of_every_type_of_bson_come_back_byte_for_byte(history: list[KeptVersion]) -> None:
    wanted = sorted(history, key=by_id)
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMS:
            path = Path(folder) / form
            assert write(path, form, history) == (len(history), [])
            found = sorted(read(path), key=by_id)
            assert found == wanted, form
            assert write(path, form, history) == (0, []), "once more it writes nothing"


def test_git_has_a_commit_for_each_version_in_the_order_of_their_times(tmp_path: Path) -> None:
    two = [version(2, "a"), version(1, "a"), version(3, "b"), version(1, "b", at=DAY)]
    write(tmp_path / "g", "git", two)
    told = git(tmp_path / "g", "log", "--reverse", "--format=%an %at %s").splitlines()
    seconds = [int((DAY + dt.timedelta(hours=hours)).timestamp()) for hours in (0, 1, 2, 3)]
    assert told == [f"ann {at} {what}" for at, what in zip(seconds, ("b: v1", "a: v1", "a: v2", "b: v3"), strict=True)]
    files = git(tmp_path / "g", "ls-files").split()
    assert files == sorted(f"{folder_name(Value.of(id))}/{id}.json" for id in "ab"), "one file a document"
    assert git(tmp_path / "g", "status", "--porcelain") == "", "the files are there"
    git(tmp_path / "g", "fsck", "--strict", "--no-dangling")
    shown = git(tmp_path / "g", "diff", "HEAD~1~1", "--", "*a.json").splitlines()
    assert [line for line in shown if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        '-  "total": {"$numberInt": "1"}',
        '+  "total": {"$numberInt": "2"}',
    ]


def test_git_is_told_what_is_missing_unproven_deleted_and_why(tmp_path: Path) -> None:
    why = Value.of("the invoice was wrong\n\nPalimpsest-Version: 9\nDocument: {}\n\nPalimpsest-Version: 1")
    who, gap, torn = Value.of("ann <ann@x>\nHidden: 1"), "v4 is missing before it.", "rebuilt over a gap"
    odd = KeptVersion(Value.of("a"), Value.of(5), None, who, why, c.EMPTY, None, gap, torn)
    gone = KeptVersion(Value.of("a"), None, None, None, None, None, gap="It was deleted after v5.")
    early = version(3, "a", at=DAY + dt.timedelta(days=9))
    several = [odd, version(4, "a"), early, gone]
    write(tmp_path / "g", "git", several)
    messages = git(tmp_path / "g", "log", "--reverse", "--format=%an%n%B%x00").split("\0")
    assert "The version after it has an earlier time." in messages[0]
    assert messages[2].strip().startswith("ann ann@x Hidden: 1\na: v5, the invoice was wrong\n")
    assert "v4 is missing before it.\nIt is not proven: rebuilt over a gap.\nIts time is not known." in messages[2]
    assert "a: deleted\n\nIt was deleted after v5." in messages[3]
    assert git(tmp_path / "g", "ls-files") == "", "a deletion is one"
    assert read(tmp_path / "g") == [early, version(4, "a"), odd, gone]


def test_an_export_appends_what_is_new_and_leaves_what_stands_otherwise(tmp_path: Path) -> None:
    for form in FORMS:
        path = tmp_path / form
        write(path, form, [version(2), version(1)])
        other = version(1, total=7)
        assert write(path, form, [version(3), version(2), other]) == (1, ["v1 of A"]), form
        assert [kept.v.python() for kept in read(path) if kept.v] == [1, 2, 3]
    assert git(tmp_path / "git", "rev-list", "--count", "HEAD").strip() == "3"


def test_a_place_that_no_export_wrote_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    for form in FORMS:
        folder = tmp_path / f"{form}-full"
        folder.mkdir()
        (folder / "letter.txt").write_text("dear")
        with pytest.raises(Refused, match="no export wrote"):
            write(folder, form, [version(1)])
        assert [each.name for each in folder.iterdir()] == ["letter.txt"]
        write(tmp_path / form, form, [version(1)])
        with pytest.raises(Refused, match=r"holds the history of shop\.orders"):
            write(tmp_path / form, form, [version(1)], HistoryOrigin("shop.items"))
    (tmp_path / "git" / "mine.txt").write_text("mine")
    with pytest.raises(Refused, match="files that no export wrote"):
        write(tmp_path / "git", "git", [version(2)])
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    git(foreign, "init", "-q")
    who = ("-c", "user.name=x", "-c", "user.email=x@x")
    git(foreign, *who, "commit", "-q", "--allow-empty", "-m", "begun")
    with pytest.raises(Refused, match="a git repository that no export wrote"):
        write(foreign, "git", [version(1)])


def test_a_stopped_export_leaves_nothing(tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        raise Cancelled

    write(tmp_path / "there", "git", [version(1)])
    before = git(tmp_path / "there", "rev-parse", "HEAD")

    def export(folder: Path) -> None:
        with git_export(folder, ORIGIN, stop) as into:
            into.add(version(2))

    for folder in (tmp_path / "new", tmp_path / "there"):
        with pytest.raises(Cancelled):
            export(folder)
    assert not (tmp_path / "new").exists()
    assert git(tmp_path / "there", "rev-parse", "HEAD") == before


def test_a_repository_that_was_changed_by_hand_is_told_at_its_commit(tmp_path: Path) -> None:
    write(tmp_path, "git", [version(1)])
    (file,) = tmp_path.glob("*/*.json")
    file.write_text('{"_id": "A", "total": {"$numberInt": "8"}}')
    message = git(tmp_path, "log", "-1", "--format=%B")
    git(tmp_path, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "-a", "--amend", "-m", message)
    with pytest.raises(Refused, match=r"Commit [0-9a-f]{12} of .* has been changed since the export"):
        read(tmp_path)


def test_settings_of_the_caller_and_of_the_repository_run_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "g", "git", [version(1)])
    hook = tmp_path / "g" / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    assert write(tmp_path / "g", "git", [version(2)]) == (1, [])
    assert not (tmp_path / "ran").exists()


def test_without_git_a_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Refused, match="git is not installed"):
        write(tmp_path / "g", "git", [version(1)])
    assert not (tmp_path / "g").exists()
    with pytest.raises(Refused, match="git is not installed"):
        GitHistory.opened(tmp_path)


@support.table(
    "ids",
    [
        ["con", "CON", "nul", "", ".", "..", "a/b", "a\\b", "a:b", "x" * 300, "ä", "Ä", "a", "A", " a", "a ", "-rf"],
        [1, "1", 1.0, -1, True, None, dt.datetime(2020, 1, 1), b"1", {"a": 1}, [1], 2**40],
        ["5f0000000000000000000001", "d" * 24],
    ],
)
def test_no_two_ids_share_a_file_and_every_name_is_safe(ids: Sequence[object]) -> None:
    values = [Value.of(id) for id in ids] + [Value(c.OBJECT_ID, bytes.fromhex("d" * 24))]
    names = [file_name(each) for each in values]
    assert len({name.lower() for name in names}) == len(values), "not even where A is a"
    for name in names:
        assert name.isascii()
        assert len(name) < 100
        assert not set(name) & set('/\\:*?"<>|\0 ')
        assert name.partition(".")[0].lower() not in ("con", "nul", "")
        assert os.path.basename(name) == name
        assert name[0] not in "-."
