"""Reads this program's own files, and sets aside those that are damaged, hostile or from another version.

A file that is set aside keeps its bytes under another name beside the old one, and its work begins anew. That is told
in one sentence, to the window if there is one, else to the log.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import logging
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec import MsgspecError

from model.errors import Refused
from model.foundation.hidden_characters import visible
from model.foundation.input_files import whole_input, whole_text

T = TypeVar("T")
Listener = Callable[[str], object]

MOST = 64 << 20
"""Bytes of the largest file that is read as a whole; a draft holds two documents."""

DAMAGE = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError),
    *(MsgspecError, Refused),
)
"""What code raises that reads a damaged file."""

_log = logging.getLogger(__name__)
_NO_FILE = (errno.EISDIR, errno.ENXIO, errno.ENODEV)  # of folders and sockets in the place of a file


class Notices:
    """What became of damaged files, one sentence each; each is told once in a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: dict[str, None] = {}
        self._listener: Listener | None = None

    def tell(self, sentence: str) -> None:
        """Tell a sentence to the listener; without one, to the log."""
        with self._lock:
            if sentence in self._told:
                return
            self._told[sentence] = None
            listener = self._listener
        if listener is None:
            _log.warning("%s", visible(sentence))
        else:
            listener(sentence)

    def listen(self, listener: Listener | None) -> None:
        """Call this with what was told so far, and with each later sentence; None ends that. Any thread may call it."""
        with self._lock:
            self._listener, told = listener, [*self._told]
        if listener is not None:
            for sentence in told:
                listener(sentence)

    @property
    def told(self) -> list[str]:
        """What was told so far."""
        with self._lock:
            return [*self._told]

    def forget(self) -> None:
        """Forget what was told."""
        with self._lock:
            self._told.clear()


notices = Notices()


def content(path: Path, parsed: Callable[[str], T]) -> T | None:
    """What ``parsed`` makes of a file's text; None if the file is missing or damaged, and then it is set aside.

    Raises ``Refused`` if the file may not be read.
    """
    try:
        before = os.lstat(path)
        return parsed(whole_text(path, MOST))
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in _NO_FILE:
            raise Refused(f"{path} cannot be read ({error.strerror or error}); allow reading it.") from None
    except DAMAGE:
        pass
    set_aside(path, before)
    return None


def clear(path: Path, links: bool = True) -> None:
    """Set aside what is no file in the place of one, such as a folder or a pipe; a link too, unless ``links`` may be.

    Opening a pipe waits for somebody at its other end. Call this before a file is written.
    """
    with contextlib.suppress(OSError):
        there = path.lstat()
        if not stat.S_ISREG((path.stat() if links else there).st_mode):
            set_aside(path, there)


def bytes_of(path: Path, most: int) -> bytes | None:
    """The bytes of a file that can be made again; None if there is none of at most ``most`` bytes."""
    try:
        return whole_input(path, most)
    except (OSError, Refused):
        clear(path)
        return None


def set_aside(path: Path, seen: os.stat_result, *beside: Path) -> Path | None:
    """Rename a damaged file, with files that belong to it, and tell where it is; None if that is not possible.

    If the file is no longer the one that was ``seen`` (by ``lstat``), another process has replaced it: nothing is
    renamed then.
    """
    target = _free(path)
    try:
        now = os.lstat(path)
        if (now.st_dev, now.st_ino, now.st_mtime_ns) != (seen.st_dev, seen.st_ino, seen.st_mtime_ns):
            return None
        os.rename(path, target)
        for each in beside:
            if os.path.lexists(each):
                os.rename(each, f"{target}{each.name.removeprefix(path.name)}")
    except FileNotFoundError:  # another process was faster
        return None
    except OSError as error:
        notices.tell(f"{path} is damaged and cannot be set aside ({error.strerror or error}); move it away.")
        return None
    notices.tell(
        f"{path} is damaged or from another version of the program; it was set aside as {target.name} and is not used."
    )
    return target


def moment(text: str) -> dt.datetime:
    """A time that was kept, in UTC, which is also the zone of a time without one; raises ``ValueError``."""
    at = dt.datetime.fromisoformat(text)
    try:
        return at.replace(tzinfo=dt.UTC) if at.tzinfo is None else at.astimezone(dt.UTC)
    except OverflowError:
        raise ValueError(text) from None


def text_in(row: object, name: str, default: str | None = None) -> str:
    """A text in a row that was kept, ``default`` for null; raises one of ``DAMAGE``."""
    if not isinstance(row, dict):
        raise TypeError(name)
    found = default if (said := row.get(name)) is None else said
    if not isinstance(found, str):
        raise TypeError(name)
    return found


def flag_in(row: object, name: str) -> bool:
    """A boolean in a row that was kept, False if it is missing; raises one of ``DAMAGE``."""
    found = row.get(name, False) if isinstance(row, dict) else None
    if not isinstance(found, bool):
        raise TypeError(name)
    return found


def _free(path: Path) -> Path:
    """A name beside a file that no other file has."""
    number = 1
    while os.path.lexists(found := path.with_name(f"{path.name}.damaged{'' if number == 1 else f'-{number}'}")):
        number += 1
    return found
