"""The only way to standard output and error, also if nobody reads them."""

from __future__ import annotations

import contextlib
import os
import sys

from model.foundation.hidden_characters import visible

TYPE_CHECKING = False  # importing it from typing takes longer than all imports here
if TYPE_CHECKING:
    from typing import TextIO


def say(words: str = "", file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print words to a terminal, by default on standard output; all commands print through here.

    A terminal acts on some characters, which a document, server or file may contain: they are printed as codes.
    """
    print(visible(words), file=file, end=end, flush=flush)


def hand_on(file_text: str) -> None:
    """Print the text of a file; unchanged unless it goes to a terminal."""
    if sys.stdout.isatty():
        say(file_text)
    else:
        print(file_text)


def fill_closed() -> None:
    """Open the null device in place of a closed standard stream: the next file opened would take its number."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it stays open
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def drop_output() -> None:
    """Discard the rest of standard output, so that it does not fail again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
