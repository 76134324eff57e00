"""Reads whole files that a person names: only regular ones up to a size, because a device or pipe may never end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from model.errors import Refused

SMALL = 16 << 20
"""Bytes of the largest profile that is read."""

LARGEST = 256 << 20
"""Bytes of the largest plan, or part of a scan: it holds many findings."""


def whole_input(path: str | Path, most: int = SMALL) -> bytes:
    """The bytes of a file; the null device has none.

    Raises ``OSError``, and ``Refused`` if it is not a regular file or has more than ``most`` bytes.
    """
    check_input(path)
    with open(path, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        size = f"{most >> 20:,} MB" if most >= 1 << 20 else f"{most:,} bytes"
        raise Refused(f"{path} is larger than {size}, which is more than such a file holds; name another one.")
    return data


def whole_text(path: str | Path, most: int = SMALL) -> str:
    """The text of a file in UTF-8, without a byte order mark; raises as :func:`whole_input`, and ``ValueError``."""
    return whole_input(path, most).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def check_input(path: str | Path) -> None:
    """Raise ``Refused`` if a file is neither regular nor the null device, and ``OSError`` if it is missing."""
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode) or os.fspath(path) == os.devnull:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, "Is a directory", os.fspath(path))
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise Refused(f"{path} is {kind}, not a file; copy what it gives into a file, and name that.")
