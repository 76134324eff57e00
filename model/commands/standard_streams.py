"""Standard output and error: the one way to them, and what becomes of them where nobody reads them."""

from __future__ import annotations

import contextlib
import os
import sys

from model.foundation.hidden_characters import visible

TYPE_CHECKING = False  # that of the standard library takes longer to import than all that is imported here
if TYPE_CHECKING:
    from typing import TextIO


def say(words: str = "", file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print words, on standard output where nothing else is said; the one door from a command to a terminal.

    A terminal acts on some characters, and a text from a document, a server or a file may hold them: they become codes.
    """
    print(visible(words), file=file, end=end, flush=flush)


def hand_on(file_text: str) -> None:
    """Print the text of a file, to the byte where it does not go to a terminal."""
    if sys.stdout.isatty():
        say(file_text)
    else:
        print(file_text)


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
