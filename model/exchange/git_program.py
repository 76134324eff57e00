"""The program ``git``, run on a repository without the settings, hooks and programs that the repository may name."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

from model.errors import Refused

_WITHOUT = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")


class GitProgram(Struct, frozen=True):
    """One repository and its git program. Methods raise ``Refused`` with git's own message."""

    folder: Path
    inner: Path  # where its objects are; in a bare repository, the folder itself

    @property
    def bare(self) -> bool:
        """Whether it has no work tree."""
        return self.inner == self.folder

    def answer(self, *words: str) -> str | None:
        """The output of a command; None if it failed."""
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(self._command(words), stdout=subprocess.PIPE, stderr=said, env=_environment())
        return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None

    def do(self, *words: str) -> None:
        """Run a command and ignore its output."""
        with self.running(words) as process:
            assert process.stdout is not None
            process.stdout.read()

    @contextmanager
    def running(self, words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        """A running command with pipes for input and output; stopped if the work inside raises an error."""
        with tempfile.TemporaryFile() as said:
            pipe = subprocess.PIPE
            try:
                process = subprocess.Popen(
                    self._command(words), stdin=pipe, stdout=pipe, stderr=said, env=_environment()
                )
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

    def _command(self, words: Sequence[str]) -> list[str]:
        tree = [] if self.bare else [f"--work-tree={self.folder}"]
        return [program(), *_WITHOUT, f"--git-dir={self.inner}", *tree, *words]


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
            return GitProgram(folder, inner)
    return None


def begun(folder: Path) -> GitProgram:
    """A new repository in an empty or missing folder."""
    made = GitProgram(folder, folder / ".git")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"{folder} cannot be made ({error.strerror}); choose another place.") from None
    made.do("init", "--quiet", "--initial-branch=main", "--template=")
    return made


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    lines = [line for line in said.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("fatal: ").rstrip(".") if lines else "it ended without a word"
