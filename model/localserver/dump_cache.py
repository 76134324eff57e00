"""The cache folder for one large file of a dump; its name changes whenever the file does.

A process works in a folder of its own. It gets its final name once the file was read completely; if reading stops, it
gets a name for unfinished ones. So nobody finds half a folder, and only one process continues an unfinished one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

from model.errors import Refused
from model.foundation.input_files import opened

KEPT_BYTES = 16 << 30
"""Above this many bytes, the folders opened longest ago are removed."""

_ENDS = 1 << 16  # bytes at both ends of a file that are part of its name
_LEFT_BEHIND = 24 * 3600  # seconds after which a dead process's folder is removed


class DumpCache:
    """The folder of one file; ``path`` is where it is now."""

    def __init__(self, file: Path, cache: Path | None, inner: str = "") -> None:
        """``cache`` is the parent folder; if it is None or cannot be used, everything is temporary.

        ``inner`` is the name of a folder inside of it in which others have their cache folders.
        """
        self._final = self._parts = None
        self._inner = inner
        self.path = Path()
        if cache is not None:
            with contextlib.suppress(OSError):
                cache.mkdir(mode=0o700, parents=True, exist_ok=True)
                name = _name_of(file)
                self._final, self._parts = cache / name, cache / f"{name}.part"
                _make_room(cache, self._final)
                self._take(cache, name)
        if self.path == Path():
            self._final = self._parts = None
            try:
                self.path = Path(tempfile.mkdtemp(prefix="palimpsest-"))
            except OSError as error:
                raise Refused(
                    f"A large dump needs room for notes ({error.strerror or error}); make room for temporary files, "
                    "or set TMPDIR to a folder that has it."
                ) from None

    def _take(self, cache: Path, name: str) -> None:
        assert self._final is not None
        assert self._parts is not None
        for kept in (self._final, self._parts):
            _discard_foreign(kept, self._inner)
        if self._final.is_dir():
            os.utime(self._final)
            self.path = self._final
            return
        own = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=cache))
        with contextlib.suppress(OSError):
            own.rmdir()
            self._parts.rename(own)
        own.mkdir(mode=0o700, exist_ok=True)
        self.path = own

    def finish(self) -> None:
        """Give the folder its final name, because it is complete."""
        if self._final is None or self.path == self._final:
            return
        with contextlib.suppress(OSError):  # another process was faster, so this one keeps its own
            self.path.rename(self._final)
            self.path = self._final

    def leave(self) -> None:
        """Leave an unfinished folder for another process to continue; remove a temporary one."""
        if self.path == self._final:
            return
        if self._parts is not None and not self._parts.exists():
            with contextlib.suppress(OSError):
                self.path.rename(self._parts)
                return
        shutil.rmtree(self.path, ignore_errors=True)


def _name_of(file: Path) -> str:
    """The name of a file's folder, from its path, size, time and both ends."""
    found = file.stat()
    digest = hashlib.sha256(
        f"{file.resolve()}\0{found.st_size}\0{found.st_mtime_ns}\0".encode("utf-8", "surrogateescape")
    )
    with opened(file) as stream:
        digest.update(stream.read(_ENDS))
        stream.seek(max(0, found.st_size - _ENDS))
        digest.update(stream.read(_ENDS))
    return digest.hexdigest()[:32]


def _discard_foreign(folder: Path, inner: str) -> None:
    """Remove a folder with anything but regular files in it: opening a pipe would wait, and a link leads elsewhere.

    The ``inner`` folder may be there; what is in it is looked at by those whose cache it is.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(folder.lstat().st_mode):
            folder.unlink()
        elif not all(_is_own(each, inner) for each in folder.iterdir()):
            shutil.rmtree(folder)


def _is_own(path: Path, inner: str) -> bool:
    mode = path.lstat().st_mode
    return stat.S_ISREG(mode) or (path.name == inner and stat.S_ISDIR(mode))


def _make_room(cache: Path, wanted: Path) -> None:
    """Remove what dead processes left, and the oldest folders beyond the limit."""
    folders = []
    for folder in cache.iterdir():
        with contextlib.suppress(OSError):
            size = sum(each.stat().st_size for each in folder.iterdir())
            folders.append((folder.stat().st_mtime, size, folder))
    left = KEPT_BYTES
    for changed, size, folder in sorted(folders, reverse=True):
        left -= size
        temporary = "." in folder.name and folder.suffix != ".part"
        dead = temporary and time.time() - changed > _LEFT_BEHIND
        if dead or (left < 0 and not temporary and folder != wanted):  # one that is open elsewhere stays readable
            shutil.rmtree(folder, ignore_errors=True)
