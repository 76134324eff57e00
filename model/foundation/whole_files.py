"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which stands at ``path`` once the block has ended; an error in it leaves what was there.

    A link is followed, and a file that was there keeps its owner and its rights; a new one is for its owner alone.
    What is no file (a device, a pipe) is written as it is and stays. Raises ``OSError``.
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
            os.fsync(file.fileno())
        if there is not None:
            with suppress(OSError, AttributeError):  # only root gives files away, and Windows knows no owners
                os.chown(name, there.st_uid, there.st_gid)
            os.chmod(name, stat.S_IMODE(there.st_mode))
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
