"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path, new: bool = False, lasting: bool = True) -> Iterator[IO[bytes]]:
    """A file to write; it replaces ``path`` when the block ends. After an error the old file stays.

    A link is followed. An existing file keeps its owner and permissions; a new one is readable by its owner only. A
    device or pipe is written directly. Without ``lasting`` it does not wait for the disk, as for what is checked and
    made again: a power failure may leave an empty file. Raises ``OSError``; with ``new``, ``FileExistsError`` if
    there is a file by then.
    """
    target = Path(os.path.realpath(path))
    there = target.stat() if target.exists() else None
    if there is not None and not stat.S_ISREG(there.st_mode):
        with target.open("wb") as special:
            yield special
        return
    # mkstemp makes the file 0600 before a byte is in it.
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if lasting:
                os.fsync(file.fileno())
        if there is not None:
            with suppress(OSError, AttributeError):  # only root gives files away, and Windows knows no owners
                os.chown(name, there.st_uid, there.st_gid)
            os.chmod(name, stat.S_IMODE(there.st_mode))
        if new:
            _give_name(Path(name), target)
        else:
            os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _give_name(made: Path, target: Path) -> None:
    """Move a file to a name that is free; raises ``FileExistsError`` if it is not."""
    try:
        os.link(made, target)
    except FileExistsError:
        raise
    except OSError:  # no links on this file system
        if target.exists():
            raise FileExistsError(target) from None
        made.rename(target)
    else:
        made.unlink()
