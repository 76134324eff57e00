"""The memory of the program: what libraries keep in vain is given back."""

from __future__ import annotations

import builtins
import ctypes
import linecache
import sys
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of glibc's mallopt(3)
_LARGE = 1 << 20  # bytes


def import_plainly() -> None:
    """Take PySide6's hook off imports, which reads the source of every module that comes, and keeps it.

    It serves ``from __feature__ import …``, which nothing here says.
    """
    import PySide6.QtCore  # noqa: F401  # it brings the hook

    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)
    linecache.clearcache()


def keep_little() -> None:
    """Have glibc return what is freed: else it keeps room for the largest documents there ever were, for each thread.

    It is to be called before there are threads. They share one heap then, which costs nothing: of Python's threads one
    runs at a time.
    """
    if (libc := _glibc()) is not None:
        libc.mallopt(_MMAP_THRESHOLD, _LARGE)
        libc.mallopt(_TRIM_THRESHOLD, _LARGE)
        libc.mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Return to the system what was freed since; it takes a few milliseconds."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform.startswith("linux") else None
    return libc if libc is not None and hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim") else None
