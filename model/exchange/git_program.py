"""The program ``git`` on a repository whose settings, filters, hooks and remotes are never read.

A repository that came from elsewhere may name programs in its configuration, and git has ever more settings that do.
So each command runs with a private git directory of our own, which borrows only the objects and the index; what is
checked out there is read from the repository's files, and written back when a command has added commits.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

from model.errors import Refused
from model.foundation.child_environment import child_environment
from model.foundation.input_files import whole_text

BRANCH = "refs/heads/main"
"""The name that the branch of any repository has for the commands."""

_REF = re.compile(r"refs/heads(?:/(?!\.)(?:(?!\.\.|@\{)[^\x00-\x20\x7f~^:?*\[\\/])+(?<!\.lock)(?<!\.))+")
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHA256 = re.compile(r"objectformat\s*=\s*\"?sha256", re.IGNORECASE)
_CONFIG = ("[core]", "repositoryformatversion=1", "filemode=false", "[gc]", "auto=0", "[extensions]")


class GitProgram(Struct, frozen=True):
    """One repository and its git program. Methods raise ``Refused`` with git's own message."""

    folder: Path
    inner: Path  # where its objects are; in a bare repository, the folder itself

    @property
    def bare(self) -> bool:
        """Whether it has no work tree."""
        return self.inner == self.folder.absolute()

    @property
    def branch(self) -> str | None:
        """The full name of the branch that is checked out; None if a commit is checked out instead."""
        said = self._read("HEAD") or ""
        if not said.startswith("ref:"):
            return None
        name = said.removeprefix("ref:").strip()
        place = self.inner.resolve()
        # A name with `..` or a link in the way would let a repository from elsewhere choose the file that is written.
        if not _REF.fullmatch(name) or (place / name).resolve() != place / name:
            raise Refused(f"{self.folder} keeps its branches in an unusual way; choose another folder.")
        return name

    @property
    def head(self) -> str | None:
        """The commit that is checked out; None if there is none yet."""
        name = self.branch
        said = self._read("HEAD" if name is None else name)
        if said is None and name is not None:
            lines = (self._read("packed-refs") or "").splitlines()
            said = next((line.partition(" ")[0] for line in lines if line.partition(" ")[2] == name), None)
        if said is not None and not _HASH.fullmatch(said):
            raise Refused(f"{self.folder} keeps its branches in an unusual way; choose another folder.")
        return said

    def output(self, *words: str) -> str:
        """The output of a command."""
        with self.running(words) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()  # what it starts may read what it inherits, and would wait for ever
            return process.stdout.read().decode("utf-8", "replace").strip()

    @contextmanager
    def running(self, words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        """A running command with pipes for input and output; stopped if the work inside raises an error.

        Commits that it adds to ``BRANCH`` are added to the branch of the repository.
        """
        with tempfile.TemporaryDirectory(prefix="palimpsest-") as private, tempfile.TemporaryFile() as said:
            head, pipe = self.head, subprocess.PIPE
            # A directory of our own: the repository's configuration and hooks could name programs, which git would run.
            own = self._private(Path(private), head)
            command = [program(), f"--git-dir={private}", *self._tree(), *words]
            environment = _environment(private) | {
                "GIT_OBJECT_DIRECTORY": str(self.inner / "objects"),
                "GIT_INDEX_FILE": str(self.inner / "index"),
            }
            try:
                process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=said, env=environment)
            except OSError as error:
                raise Refused(f"git cannot be run ({error.strerror or error}).") from None
            assert process.stdin is not None
            with process:
                try:
                    yield process
                    broken = False
                except BrokenPipeError:
                    broken = True
                except BaseException:
                    process.kill()
                    with suppress(BrokenPipeError):
                        process.stdin.close()
                    raise
                try:
                    process.stdin.close()
                except BrokenPipeError:
                    broken = True
                if process.wait() or broken:
                    raise Refused(f"git could not do it for {self.folder}: {_last_line(said)}.")
            # The objects are in the repository already; only a moved branch makes them part of it.
            after = own.read_text("ascii").strip() if own.exists() else None
            if after is not None and after != head:
                self._advance(head, after)

    def _tree(self) -> list[str]:
        return [] if self.bare else [f"--work-tree={self.folder.absolute()}"]

    def _private(self, place: Path, head: str | None) -> Path:
        """Make the private git directory of one command; returns the file of its branch."""
        is_sha256 = len(head) == 64 if head is not None else _SHA256.search(self._read("config") or "")
        hashes = "objectformat=sha256" if is_sha256 else "objectformat=sha1"
        (place / "config").write_text("\n".join([*_CONFIG, hashes, ""]), "ascii")
        own = place / BRANCH
        own.parent.mkdir(parents=True)
        (place / "HEAD").write_text(f"ref: {BRANCH}\n", "ascii")
        (place / "info").mkdir()
        (place / "info" / "exclude").write_text(self._read("info/exclude") or "", "utf-8")
        if head is not None:
            own.write_text(f"{head}\n", "ascii")
        return own

    def _advance(self, before: str | None, after: str) -> None:
        """Write the commit to which the branch has moved, unless somebody else has moved it."""
        name = self.branch
        assert name is not None
        path = self.inner / name
        lock = path.with_name(f"{path.name}.lock")  # as git itself locks it
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with lock.open("x", encoding="ascii") as file:
                file.write(f"{after}\n")
            if self.head != before:
                lock.unlink()
                raise Refused(f"{self.folder} got other commits meanwhile; export again.")
            os.replace(lock, path)
        except OSError as error:
            raise Refused(f"{path} cannot be written ({error.strerror}); export again.") from None

    def _read(self, name: str) -> str | None:
        """The text of a file in the repository, without blanks around it; None if it is missing."""
        try:
            return whole_text(self.inner / name).strip()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        except OSError as error:
            raise Refused(f"{self.inner / name} cannot be read ({error.strerror or error}).") from None
        except ValueError:
            raise Refused(f"{self.inner / name} is not text as git writes it; choose another folder.") from None


def program() -> str:
    """The path of git; raises ``Refused`` if there is none."""
    found = shutil.which("git")
    if found is None:
        raise Refused("git is not installed, or not found on the PATH; install it, or use a folder or JSON lines.")
    return found


def repository(folder: Path) -> GitProgram | None:
    """The repository in a folder, bare or with a work tree; None if the folder is not one."""
    for inner in (folder / ".git", folder):
        if (inner / "HEAD").is_file() and (inner / "objects").is_dir():
            return GitProgram(folder, inner.absolute())
    return None


def begun(folder: Path) -> GitProgram:
    """A new repository in an empty or missing folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"{folder} cannot be made ({error.strerror}); choose another place.") from None
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as home:
        command = [program(), "init", "--quiet", "--initial-branch=main", "--template=", "--", str(folder)]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, env=_environment(home))
    if done.returncode:
        raise Refused(f"git could not do it for {folder}: {_last(done.stderr)}.")
    return GitProgram(folder, folder.absolute() / ".git")


def _environment(home: str) -> dict[str, str]:
    """An environment without settings of the caller, of the person or of the system."""
    return child_environment() | {
        "HOME": home,
        "XDG_CONFIG_HOME": home,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_DEFAULT_HASH": "sha1",
        "GIT_DEFAULT_REF_FORMAT": "files",
    }


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    return _last(said.read())


def _last(said: bytes) -> str:
    lines = [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("fatal: ").rstrip(".") if lines else "it ended without a word"
