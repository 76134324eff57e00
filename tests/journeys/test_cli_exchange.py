"""Histories exported to files and imported again, on the command line."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pymongo.database

from tests.journeys.command_support import Rows, Run
from tests.model import session_scenes as scenes

Db = pymongo.database.Database[dict[str, Any]]


def git(folder: Path, *words: str) -> list[str]:
    return subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_a_history_goes_to_git_and_comes_back(
    run: Run, rows: Rows, server_uri: str, database: Db, tmp_path: Path
) -> None:
    scenes.archive(database)
    ns, again, folder = f"{database.name}.contracts", f"{database.name}.again", tmp_path / "g"
    status, told = rows("export", server_uri, ns, "--git", str(folder))
    assert status == 0
    assert list(told[0]) == ["ns", "id", "versions", "written"]
    assert {(row["id"], row["versions"], row["written"]) for row in told} == {("K-1", 3, 3), ("K-2", 1, 1)}
    assert len(git(folder, "log", "--format=%H")) == 4, "no commit for a gap"
    assert "v3 is missing before it." in "\n".join(git(folder, "log", "--format=%B"))
    assert len(git(folder, "ls-files")) == 2
    status, out, err = run("export", server_uri, ns, "K-1", "--git", str(folder))
    assert (status, out) == (0, "")
    assert err == f"0 versions of 1 document were written to {folder}; 3 were there.\n"

    status, out, _ = run("import", str(folder), server_uri, again)
    assert status == 0
    assert out.splitlines()[-1] == "2 would be written, --apply does it."
    assert "again" not in database.list_collection_names(), "nothing is written without --apply"
    status, done = rows("import", str(folder), server_uri, again, "--apply")
    assert status == 0
    assert list(done[0]) == ["outcome", "ns", "id", "detail", "run"]
    assert [row["outcome"] for row in done] == ["applied", "applied"]
    for id in ("K-1", "K-2"):
        was, now = (rows("history", server_uri, each, id)[1] for each in (ns, again))
        kept = ("v", "at", "hash", "bytes", "author", "reason", "state", "current")
        assert [[row[name] for name in kept] for row in now] == [[row[name] for name in kept] for row in was]
    status, twice = rows("import", str(folder), server_uri, again, "--apply")
    assert (status, [row["outcome"] for row in twice]) == (1, ["skipped", "skipped"])
    assert rows("undo", done[0]["run"], "--source", server_uri)[0] == 0
    assert database["again"].count_documents({}) == database["again_history"].count_documents({}) == 0


def test_what_cannot_be_taken_out_or_in_is_one_sentence(
    run: Run, server_uri: str, database: Db, tmp_path: Path
) -> None:
    scenes.versions(database)
    scenes.plain(database)
    ns, file = f"{database.name}.claims", tmp_path / "claims.jsonl"
    assert run("export", server_uri, ns, "--jsonl", str(file))[0] == 0
    assert len(file.read_text().splitlines()) == 4
    (tmp_path / "letter.txt").write_text("dear")
    for words, why in (
        (("export", server_uri, ns, "--git", str(tmp_path)), "is not empty, and no export wrote it"),
        (("export", server_uri, ns, "--jsonl", str(tmp_path / "letter.txt")), "holds no history that an export wrote"),
        (("export", server_uri, f"{database.name}.agents", "--jsonl", str(file)), "keeps no earlier versions"),
        (("export", server_uri, ns, "--jsonl", str(file), "--git", "x"), "not allowed with"),
        (("export", server_uri, ns), "--git --folder --jsonl is required"),
        (("import", str(tmp_path / "none"), server_uri, ns), "There is no file or folder"),
        (("import", str(tmp_path), server_uri, ns), "holds no history that an export wrote"),
        (("import", str(file), server_uri, f"{database.name}.agents"), "cannot take a history"),
        (("import", str(file), server_uri, ns, "--apply", "--read-only"), "read-only"),
    ):
        status, out, err = run(*words)
        assert (status, out) == (2, ""), words
        assert why in err, words
        assert len(err.splitlines()) == 1, words
    file.write_text(file.read_text().replace('"v": {"$numberInt": "2"}', '"v": null'))
    status, _, err = run("import", str(file), server_uri, f"{database.name}.again", "--apply")
    assert (status, 'there is no "v"' in err) == (2, True)
    assert "again" not in database.list_collection_names()
    database["claims"].update_one({"docId": "C-1", "v": 1}, {"$set": {"open": "maybe"}})
    status, _, err = run("export", server_uri, ns, "--folder", str(tmp_path / "f"))
    assert status == 0
    database["claims"].update_one({"docId": "C-1", "v": 1}, {"$set": {"open": "no"}})
    status, _, err = run("export", server_uri, ns, "--folder", str(tmp_path / "f"))
    assert (status, "v1 of C-1 stand otherwise" in err) == (1, True)
