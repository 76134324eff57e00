"""Exported histories that were damaged or edited before their import, which then writes nothing, by command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymongo.database
import pytest

from tests.journeys.command_support import Run
from tests.model import session_scenes as scenes

Db = pymongo.database.Database[dict[str, Any]]
Change = Callable[[Path], object]


def git(folder: Path, *words: str, said: str | None = None) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@x")
    words = ("git", "-C", str(folder), *who, *words)
    return subprocess.run(words, input=said, capture_output=True, text=True, check=True).stdout.strip()


def amended(folder: Path, old: str = "", new: str = "") -> None:
    """Commit what is staged in place of the last commit, with text replaced in its message."""
    message = git(folder, "log", "-1", "--format=%B")
    assert old in message, message
    git(folder, "commit", "-q", "--allow-empty", "--amend", "-F", "-", said=message.replace(old, new))


def without_blob(folder: Path) -> None:
    blob = git(folder, "rev-parse", f"HEAD:{git(folder, 'ls-files').splitlines()[0]}")
    (folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()


def moved_in_git(folder: Path) -> None:
    changed = git(folder, "show", "--format=", "--name-only", "HEAD")
    (folder / "elsewhere").mkdir()
    git(folder, "mv", changed, "elsewhere")
    amended(folder)


def edited_in_git(folder: Path) -> None:
    changed = git(folder, "show", "--format=", "--name-only", "HEAD")
    replaced(folder / changed, '",\n', '",\n  "extra": 1,\n')
    git(folder, "add", "-A")
    amended(folder)


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def one(folder: Path, which: int = 0) -> Path:
    return sorted(folder.glob("*/*/*.json"))[which]


def on_lines(change: Callable[[list[str]], list[str]]) -> Change:
    return lambda file: file.write_text("".join(change(file.read_text().splitlines(keepends=True))))


def without_hash(line: str) -> str:
    """A line as an earlier edition wrote it."""
    return json.dumps({name: each for name, each in json.loads(line).items() if name != "sha256"}) + "\n"


CHANGES: dict[str, dict[str, tuple[Change, str]]] = {
    "git": {
        "a file in another folder": (moved_in_git, "lacks the file"),
        "a blob that is not there": (without_blob, "lacks the file"),
        "an edited file": (edited_in_git, "has been changed since the export"),
        "another author": (lambda at: amended(at, "Version-SHA", 'Author: "ann"\nVersion-SHA'), "been changed"),
        "a commit without its hash": (lambda at: amended(at, "Version-SHA-256", "Other"), "lacks the hash"),
        "the last commit cut off": (lambda at: git(at, "reset", "-q", "--hard", "HEAD~1"), "its end was lost"),
        "the last commit twice": (
            lambda at: git(
                at, "commit", "-q", "--allow-empty", "-F", "-", said=git(at, "log", "-1", "--format=%B")
            ),
            "it holds 5 versions, but 4 were exported",
        ),
    },
    "folder": {
        "an edited file": (lambda at: replaced(one(at), '"K-1"', '"K-9"'), "has been changed since the export"),
        "an edited time": (lambda at: replaced(one(at, 1), '"$numberLong": "1', '"$numberLong": "2'), "been changed"),
        "a file without its hash": (lambda at: replaced(one(at), '"sha256"', '"other"'), "lacks the hash"),
        "the oldest file lost": (lambda at: one(at).unlink(), "it holds 3 versions, but 4 were exported"),
        "the newest file lost": (lambda at: one(at, -2).unlink(), "it holds 3 versions, but 4 were exported"),
        "a document lost": (lambda at: shutil.rmtree(one(at, -1).parent), "it holds 3 versions, but 4"),
        "a file renamed": (lambda at: one(at).rename(one(at).with_name("v9.json")), "moved or renamed"),
        "a file copied": (lambda at: shutil.copy(one(at), one(at).with_name("v9.json")), "moved or renamed"),
        "a file moved up": (lambda at: one(at).rename(at / "v1.json"), "moved or renamed"),
        "another origin": (lambda at: replaced(at / "palimpsest-history.json", ".contracts", ".c"), "been changed"),
        "not finished": (lambda at: replaced(at / "palimpsest-history.json", '"total"', '"t"'), "been changed"),
    },
    "jsonl": {
        "an edited line": (on_lines(lambda all: [all[0], all[1].replace("K-1", "K-9"), *all[2:]]), "been changed"),
        "lines without a hash": (on_lines(lambda all: [all[0], *map(without_hash, all[1:])]), "lacks the hash"),
        "the last line lost": (on_lines(lambda all: all[:-1]), "its end was lost after 3 versions"),
        "a line in between lost": (on_lines(lambda all: [all[0], *all[2:]]), "holds 3 versions, but 4 were exported"),
        "a line twice": (on_lines(lambda all: [all[0], all[1], *all[1:]]), "holds 5 versions, but 4 were exported"),
        "one line for another": (on_lines(lambda all: [all[0], all[1], all[1], all[3]]), "not the ones that were"),
        "half a line": (on_lines(lambda all: [*all[:-1], all[-1][:50]]), "cannot be imported"),
        "another origin": (on_lines(lambda all: [all[0].replace(".contracts", ".c"), *all[1:]]), "been changed"),
    },
}  # fmt: skip


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("form", CHANGES)
def test_an_export_that_was_changed_is_refused_before_anything_is_written(
    run: Run, server_uri: str, database: Db, tmp_path: Path, form: str
) -> None:
    scenes.archive(database)
    ns, again = f"{database.name}.contracts", f"{database.name}.again"
    whole = tmp_path / "whole"
    assert run("export", server_uri, ns, f"--{form}", str(whole))[0] == 0
    for what, (change, why) in CHANGES[form].items():
        copy = tmp_path / "copy"
        (shutil.copytree if whole.is_dir() else shutil.copy)(whole, copy)
        change(copy)
        status, out, err = run("import", str(copy), server_uri, again, "--apply")
        assert (status, out) == (2, ""), what
        assert why in err, what
        assert len(err.splitlines()) == 1, what
        assert "again" not in database.list_collection_names(), what
        (shutil.rmtree if copy.is_dir() else os.unlink)(copy)
    assert run("import", str(whole), server_uri, again, "--apply")[0] == 0


@pytest.mark.parametrize("form", ["folder", "jsonl"])
def test_the_files_of_an_export_are_for_their_owner_only(
    run: Run, server_uri: str, database: Db, tmp_path: Path, form: str
) -> None:
    scenes.archive(database)
    place = tmp_path / "out"
    assert run("export", server_uri, f"{database.name}.contracts", f"--{form}", str(place))[0] == 0
    files = [each for each in place.rglob("*") if each.is_file()] if place.is_dir() else [place]
    assert files
    assert {each.stat().st_mode & 0o777 for each in files} <= ({0o600} if os.name != "nt" else {0o666})


def test_an_export_into_a_folder_finishes_one_that_was_broken_off(
    run: Run, server_uri: str, database: Db, tmp_path: Path
) -> None:
    scenes.archive(database)
    ns, place = f"{database.name}.contracts", tmp_path / "f"
    assert run("export", server_uri, ns, "K-1", "--folder", str(place))[0] == 0
    said = (place / "palimpsest-history.json").read_bytes()
    assert run("export", server_uri, ns, "--folder", str(place))[0] == 0
    (place / "palimpsest-history.json").write_bytes(said)  # as a kill before the end leaves it
    status, _, err = run("import", str(place), server_uri, f"{database.name}.again")
    assert (status, "it holds 4 versions, but 3 were exported" in err) == (2, True)
    assert run("export", server_uri, ns, "--folder", str(place))[0] == 0
    assert run("import", str(place), server_uri, f"{database.name}.again")[0] == 0
