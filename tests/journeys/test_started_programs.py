"""Programs that commands start: nothing that a repository's settings name runs, and no child gets a password."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pymongo.database
import pytest

from tests.journeys.command_support import Run
from tests.model import session_scenes as scenes

Db = pymongo.database.Database[dict[str, Any]]
SECRET = "s3cret-of-eva"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-ins for programs are scripts")


def script(path: Path, does: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def git(folder: Path, *words: str) -> str:
    words = ("git", "-C", str(folder), *words)
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


SETTINGS = {
    **{f"filter.own.{name}": "{}" for name in ("clean", "smudge", "process")},
    "filter.own.required": "true",
    "diff.own.textconv": "{}",
    "diff.external": "{}",
    "merge.own.driver": "{}",
    "core.fsmonitor": "{}",
    "core.sshCommand": "{}",
    "core.gitProxy": "{}",
    "core.askPass": "{}",
    "core.pager": "{}",
    "core.editor": "{}",
    "core.hooksPath": "{hooks}",
    "credential.helper": "{}",
    "gpg.program": "{}",
    "log.showSignature": "true",
    "gc.auto": "1",
    "remote.origin.url": "ext::{} %S",
    "remote.origin.promisor": "true",
    "remote.origin.uploadpack": "{}",
    "remote.origin.partialclonefilter": "blob:none",
    "extensions.partialClone": "origin",
    "protocol.allow": "always",
    "submodule.recurse": "true",
    "alias.fast-import": "!{}",
    "hook.own.command": "{}",
    "hook.own.event": "reference-transaction",
    "include.path": "{more}",
}
HOOKS = ("reference-transaction", "post-checkout", "post-index-change", "pre-auto-gc", "post-commit", "pre-commit")


def made_hostile(repository: Path, folder: Path) -> Path:
    """Have everything in a repository's settings that may name a program name one; returns the file it makes."""
    ran = folder / "ran"
    runs = script(folder / "own", f'echo "$0 $*" >> {ran}; cat')
    for name in HOOKS:
        script(folder / "hooks" / name, f"echo {name} >> {ran}")
        shutil.copy(folder / "hooks" / name, script(repository / ".git" / "hooks" / name, ""))
    more = folder / "more"
    more.write_text(f'[filter "own"]\n\tclean = {runs}\n')
    for name, value in SETTINGS.items():
        git(repository, "config", name, value.format(runs, hooks=folder / "hooks", more=more))
    attributes = repository / ".git" / "info" / "attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("* filter=own diff=own merge=own\n")
    for file in repository.glob("*/*.json"):
        os.utime(file, (1, 1))  # so that git compares contents
    return ran


@pytest.mark.deep
@pytest.mark.slice
def test_nothing_that_a_repository_names_is_run(run: Run, server_uri: str, database: Db, tmp_path: Path) -> None:
    scenes.archive(database)
    ns, place = f"{database.name}.contracts", tmp_path / "g"
    assert run("export", server_uri, ns, "K-1", "--git", str(place))[0] == 0
    ran = made_hostile(place, tmp_path)
    before = git(place, "rev-parse", "HEAD")
    ran.unlink(missing_ok=True)
    status, _, err = run("export", server_uri, ns, "--git", str(place))
    assert (status, "1 version " in err) == (0, True), err
    assert run("import", str(place), server_uri, f"{database.name}.again", "--apply")[0] == 0
    assert not ran.exists(), ran.read_text()
    (place / ".git" / "config").write_text("[core]\n\tbare = false\n")
    assert git(place, "rev-list", "--count", "HEAD") == "4"
    assert git(place, "rev-parse", "HEAD~1") == before
    assert git(place, "status", "--porcelain") == ""
    blob = git(place, "rev-parse", f"HEAD:{git(place, 'ls-files').splitlines()[0]}")
    made_hostile(place, tmp_path)
    (place / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    ran.unlink(missing_ok=True)
    status, _, err = run("import", str(place), server_uri, f"{database.name}.more")
    assert (status, "lacks the file" in err) == (2, True), err
    assert not ran.exists(), ran.read_text()


@pytest.mark.deep
def test_a_branch_outside_of_the_repository_is_never_written(
    run: Run, server_uri: str, database: Db, tmp_path: Path
) -> None:
    scenes.archive(database)
    ns, place = f"{database.name}.contracts", tmp_path / "g"
    assert run("export", server_uri, ns, "K-1", "--git", str(place))[0] == 0
    (tmp_path / "mine").write_text(git(place, "rev-parse", "HEAD"))
    before = (tmp_path / "mine").read_text()
    (place / ".git" / "refs" / "heads" / "away").symlink_to(tmp_path)
    for name in ("refs/heads/../../../mine", "refs/heads/away/mine", "refs/heads/a.lock", "../mine"):
        (place / ".git" / "HEAD").write_text(f"ref: {name}\n")
        status, _, err = run("export", server_uri, ns, "--git", str(place))
        assert (status, err.count("\n")) == (2, 1), name
        assert "in an unusual way" in err
    assert (tmp_path / "mine").read_text() == before


@pytest.mark.parametrize("by", ["file", "environment"])
def test_no_program_gets_a_password(
    by: str, run: Run, server_uri: str, database: Db, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenes.archive(database)
    seen, file = tmp_path / "seen", tmp_path / "password"
    script(tmp_path / "bin" / "git", f'env >> {seen}; echo "git $*" >> {seen}; exec {shutil.which("git")} "$@"')
    script(tmp_path / "bin" / "ssh", f'env >> {seen}; echo "ssh $*" >> {seen}; exit 255')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    file.write_text(SECRET)
    words: tuple[str, ...] = ()
    if by == "file":
        words = ("--password-file", str(file))
    else:
        monkeypatch.setenv("PALIMPSEST_PASSWORD", SECRET)
    status, _, err = run("export", server_uri, f"{database.name}.contracts", "--git", str(tmp_path / "g"), *words)
    assert status == 0, err
    status, _, err = run("collections", "mongodb://eva@db.internal/?ssh=bastion", *words)
    assert (status, "ssh to bastion ended" in err) == (2, True), err
    said = seen.read_text()
    assert "git " in said
    assert "ssh " in said
    assert SECRET not in said
    assert ("PALIMPSEST_PASSWORD" in os.environ) == (by == "environment")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the environment is read in /proc")
def test_the_server_of_the_sample_gets_no_password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from model.local_process import Served, ServerProcess

    monkeypatch.setenv("PALIMPSEST_PASSWORD", SECRET)
    server = ServerProcess(Served("", False, str(tmp_path)))
    try:
        assert SECRET.encode() not in Path(f"/proc/{server.pid}/environ").read_bytes()
    finally:
        server.close()


@pytest.mark.parametrize("option", ["ssh=eva:{}@bastion", "ssh=eva%3A{}%40bastion", "ssh=eva:a%40{}@bastion"])
def test_a_password_for_ssh_is_refused_and_not_repeated(run: Run, option: str, tmp_path: Path) -> None:
    uri = f"mongodb://db.internal:27017/?{option.format(SECRET)}"
    for words in (("collections", uri), ("show", uri, "a.b", "1"), ("scan", uri)):
        status, out, err = run(*words)
        assert (status, err.count("\n")) == (2, 1), words
        assert "Write no password into ssh" in err
        assert SECRET not in out + err
    from model.foundation.address import Address
    from model.userdata.connections import hidden, without_password

    address = Address.parse(uri)
    assert address is not None
    assert any(SECRET in each for each in address.secrets)
    assert SECRET not in without_password(uri) + str(address.masked()) + hidden(f"{uri} is wrong.")
