"""One run at a time: a lock that the operating system releases when its process ends, even in a crash.

For each kind of work and source, a file in the data folder names the process that holds it. The lock is on the open
file, so a dead process's file blocks nobody; its text then tells that the run did not end properly. Runs on other
computers are invisible to it: their writes need guards of their own.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from msgspec import Struct

from model.errors import Refused
from model.foundation import kept_files
from model.foundation.input_files import whole_text
from model.userdata import folders as homes


class Holder(Struct, frozen=True):
    """The process that holds a lock, or was the last to hold it."""

    pid: int
    host: str
    since: dt.datetime


class Held(Refused):
    """Another process does this work."""

    def __init__(self, what: str, holder: Holder | None) -> None:
        who = "another process" if holder is None else f"process {holder.pid} on {holder.host}"
        since = f" since {holder.since:%Y-%m-%d %H:%M} UTC" if holder is not None else ""
        super().__init__(f"Another {what} of this source is at work{since} ({who}); this one did nothing.")


@contextmanager
def held(what: str, source: str, home: Path | None = None) -> Iterator[Holder | None]:
    """Hold the lock for this work on this source; yields the holder that died with it, or None.

    Raises :class:`Held` at once if another process has it; it does not wait.
    """
    path = homes.folder(home, "locks") / f"{what}-{homes.name_of(source)}.lock"
    kept_files.clear(path, links=False)
    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8")
    except OSError as error:
        raise Refused(f"The lock {path} cannot be used ({error.strerror or error}); allow writing there.") from None
    with file:
        if not _lock(file):
            raise Held(what, _read(path))
        before = _read(path)
        _write(file, Holder(os.getpid(), socket.gethostname(), dt.datetime.now(dt.UTC)))
        try:
            yield before
        finally:
            # Do not delete the file: a process that has opened it and one that creates it anew would both get the
            # lock.
            _write(file, None)


def _lock(file: IO[str]) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(_FAR)  # others can still read the text before it
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


_FAR = 1 << 20


def _read(path: Path) -> Holder | None:
    """The holder that a lock's file names; None if it names none. Its text decides nothing, so damage costs nothing."""
    try:
        said = json.loads(whole_text(path))
        return Holder(int(said["pid"]), kept_files.text_in(said, "host"), kept_files.moment(said["since"]))
    except (OSError, *kept_files.DAMAGE):
        return None


def _write(file: IO[str], holder: Holder | None) -> None:
    with contextlib.suppress(OSError):
        file.seek(0)
        file.truncate()
        if holder is not None:
            json.dump({"pid": holder.pid, "host": holder.host, "since": holder.since.isoformat()}, file)
        file.flush()
