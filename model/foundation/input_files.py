"""Reads files: only regular ones, and whole ones up to a size, because a device or pipe may never end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from model.errors import Refused

SMALL = 16 << 20
"""Bytes of the largest file that is read whole, unless its reader says otherwise."""

LARGEST_PROFILE = 2 << 20
"""Bytes of the largest profile: its tables take up to 200 times as much memory."""

LARGEST_CERTIFICATES = 8 << 20
"""Bytes of the largest file with certificates or keys; those of a whole system are half a megabyte."""

LARGEST = 256 << 20
"""Bytes of the largest plan, or part of a scan: it holds many findings."""


_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # opening a pipe waits for its other end


def whole_input(path: str | Path, most: int = SMALL) -> bytes:
    """The bytes of a file; the null device has none.

    Raises ``OSError``, and ``Refused`` if it is not a regular file or has more than ``most`` bytes.
    """
    with opened(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        size = f"{most >> 20:,} MB" if most >= 1 << 20 else f"{most:,} bytes"
        raise Refused(f"{path} is larger than {size}, which is more than such a file holds; name another one.")
    return data


def whole_text(path: str | Path, most: int = SMALL) -> str:
    """The text of a file in UTF-8, without a byte order mark; raises as :func:`whole_input`, and ``ValueError``."""
    return whole_input(path, most).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def opened(path: str | Path) -> IO[bytes]:
    """A file to read from; raises as :func:`check_input`.

    It is looked at before it is opened and again afterwards: another file may have taken its place.
    """
    check_input(path)
    file = os.fdopen(os.open(path, os.O_RDONLY | _AT_ONCE), "rb")
    try:
        _check_kind(path, os.fstat(file.fileno()).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def check_input(path: str | Path) -> None:
    """Raise ``Refused`` if a file is neither regular nor the null device, and ``OSError`` if it is missing."""
    _check_kind(path, os.stat(path).st_mode)


def _check_kind(path: str | Path, mode: int) -> None:
    if stat.S_ISREG(mode) or os.fspath(path) == os.devnull:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, "Is a directory", os.fspath(path))
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise Refused(f"{path} is {kind}, not a file; copy what it gives into a file, and name that.")
