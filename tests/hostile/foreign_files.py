"""The attack by files from elsewhere: changed exports, a repository that names programs, damaged rows of the journal;
and passwords on their way to other programs.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pymongo
import pymongo.database

from model.commands import command_line
from model.localserver import LocalServer
from model.userdata import folders
from tests.journeys.test_changed_exports import CHANGES
from tests.journeys.test_damaged_journal import CASES
from tests.journeys.test_started_programs import made_hostile, script
from tests.model import session_scenes

Db = pymongo.database.Database[dict[str, Any]]
SECRET = "s3cret-of-eva"


def run(*words: str) -> tuple[int, str]:
    """A command in this process: its status, and all that it printed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = command_line.main(list(words))
    return status, said.getvalue()


def changed_exports(uri: str, database: Db, folder: Path) -> Iterator[str]:
    """Exports that were changed and were imported all the same."""
    for form, changes in CHANGES.items():
        whole, copy = folder / f"whole-{form}", folder / f"copy-{form}"
        run("export", uri, f"{database.name}.contracts", f"--{form}", str(whole))
        for what, (change, _) in changes.items():
            (shutil.copytree if whole.is_dir() else shutil.copy)(whole, copy)
            change(copy)
            status, _ = run("import", str(copy), uri, f"{database.name}.again", "--apply")
            if status != 2 or "again" in database.list_collection_names():
                yield f"{form}, {what}: imported with {status}"
                database.drop_collection("again")
                database.drop_collection("again_history")
            (shutil.rmtree if copy.is_dir() else os.unlink)(copy)


def foreign_programs(uri: str, database: Db, folder: Path) -> Iterator[str]:
    """What a repository's settings had run, and which program got a password."""
    place, seen, bin = folder / "g", folder / "seen", folder / "bin"
    run("export", uri, f"{database.name}.contracts", "K-1", "--git", str(place))
    ran = made_hostile(place, folder)
    ran.unlink(missing_ok=True)
    run("export", uri, f"{database.name}.contracts", "--git", str(place))
    run("import", str(place), uri, f"{database.name}.again")
    if ran.exists():
        yield f"ran {ran.read_text()!a}"
    script(bin / "ssh", f'env >> {seen}; echo "$*" >> {seen}; exit 255')
    (folder / "password").write_text(SECRET)
    told = {"PATH": f"{bin}{os.pathsep}{os.environ['PATH']}", "PALIMPSEST_PASSWORD": SECRET}
    with patch.dict(os.environ, told):
        run("collections", "mongodb://eva@db.internal/?ssh=bastion")
        run("collections", "mongodb://eva@db.internal/?ssh=bastion", "--password-file", str(folder / "password"))
        _, said = run("collections", f"mongodb://db.internal/?ssh=eva:{SECRET}@bastion")
    if SECRET in seen.read_text():
        yield "ssh got a password"
    if SECRET in said:
        yield "a password for ssh was printed"


def damaged_rows(uri: str, database: Db) -> Iterator[str]:
    """Damaged rows of the journal that cost more than themselves."""
    for change in CASES:
        for steps in ("7", "8"):
            run("edit", uri, f"{database.name}.contracts", "K-2", "--set", f"steps={steps}")
        with contextlib.closing(sqlite3.connect(folders.folder() / "journal.sqlite3")) as db:
            (newest,) = db.execute("SELECT max(id) FROM entries").fetchone()
            db.execute(f"UPDATE entries SET {change} WHERE id = ?", (newest - 1,))
            db.commit()
        for words in (("journal",), ("journal", "--json"), ("undo", str(newest), "--source", uri)):
            status, said = run(*words)
            if status or "defect" in said:
                yield f"{words[0]} with {change}: {status}, {said[-200:]!a}"
        if run("undo", str(newest - 1), "--source", uri)[0] != 2:
            yield f"undone with {change}"


def attack(folder: Path) -> list[str]:
    """What came through."""
    with LocalServer() as server, pymongo.MongoClient(server.uri) as client:
        database = client["hostile"]
        session_scenes.archive(database)
        return [
            *changed_exports(server.uri, database, folder),
            *foreign_programs(server.uri, database, folder),
            *damaged_rows(server.uri, database),
        ]
