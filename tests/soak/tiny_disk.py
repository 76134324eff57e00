"""A disk that is full now and then: a file system of its own if this user may mount one, else a file size limit."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

if sys.platform != "win32":  # which has neither limits nor signals of this kind; the tests of a soak are left out there
    import resource

MEGABYTES = 64
SLACK = 32 * 1024  # bytes that a ledger may still grow by while its process may write no larger files


class TinyDisk:
    """The disk of one home; a context manager. What lies on it is in the same folder afterwards."""

    def __init__(self, folder: Path, mounted: bool = True) -> None:
        self.folder = folder
        self._filler = folder / "filler"
        self._limited: set[int] = set()
        folder.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder)]
        self.mounted = False
        with contextlib.suppress(OSError):
            self.mounted = mounted and subprocess.run(command, capture_output=True, check=False).returncode == 0

    def fill(self, left: int, processes: dict[int, int]) -> None:
        """Leave so many bytes free; or let these processes, each with the size of its ledger, write no large files."""
        if self.mounted:
            with contextlib.suppress(OSError), self._filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 16))
            os.truncate(self._filler, max(0, self._filler.stat().st_size - left))
            return
        for process, ledger in processes.items():
            self._limit(process, ledger + SLACK)
            self._limited.add(process)

    def free(self) -> None:
        """Give the room back."""
        self._filler.unlink(missing_ok=True)
        for process in self._limited:
            self._limit(process, resource.RLIM_INFINITY)
        self._limited.clear()

    @staticmethod
    def _limit(process: int, size: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            _, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
            resource.prlimit(process, resource.RLIMIT_FSIZE, (size, hard))

    def __enter__(self) -> TinyDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()
        if self.mounted:
            aside = self.folder.with_name(f"{self.folder.name} kept")
            shutil.copytree(self.folder, aside, dirs_exist_ok=True)
            subprocess.run(["umount", str(self.folder)], check=True)
            shutil.copytree(aside, self.folder, dirs_exist_ok=True)
            shutil.rmtree(aside)
