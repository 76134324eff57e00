"""The memory of the program: returns what libraries hold without use."""

from __future__ import annotations

import builtins
import ctypes
import linecache
import sys
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of glibc's mallopt(3)
_LARGE = 1 << 20  # bytes


def import_plainly() -> None:
    """Remove PySide6's hook from imports: it reads the source of every imported module, and keeps it.

    The hook serves ``from __feature__ import …``, which is not used here.
    """
    import PySide6.QtCore  # noqa: F401  # it brings the hook

    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)
    linecache.clearcache()


def keep_little() -> None:
    """Make glibc return freed memory: else each thread keeps room for the largest documents it ever had.

    Call it before there are threads. They then share one heap, which costs nothing: only one Python thread runs at a
    time.
    """
    if (libc := _glibc()) is not None:
        libc.mallopt(_MMAP_THRESHOLD, _LARGE)
        libc.mallopt(_TRIM_THRESHOLD, _LARGE)
        libc.mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Return memory freed since then to the system; takes a few milliseconds."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform.startswith("linux") else None
    return libc if libc is not None and hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim") else None
