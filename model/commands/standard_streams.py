"""Standard output and error where they were closed before the start, and where nobody reads them any more."""

from __future__ import annotations

import contextlib
import os
import sys


def fill_closed() -> None:
    """Put the null device in place of an output that was closed before the start: a file opened later would take it."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it stays open
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def drop_output() -> None:
    """Send the rest of standard output nowhere, so that it does not fail once more at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
