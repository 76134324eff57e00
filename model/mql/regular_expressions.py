"""Regular expressions with a time limit: a pattern that backtracks endlessly raises an error that names it."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from model.mql.command_error import CommandError

SECONDS = 1.0
"""The processor seconds for one text: a pattern that needs more would need years for a slightly longer text."""

_REPEATS = ("*", "+", "?", "{")


def compiled(source: str, flags: str) -> Callable[[str], bool]:
    """The test whether a text has a match; ``flags`` are letters as on a server.

    Raises ``CommandError`` if the pattern is invalid; so does the test if it takes too long.
    """
    import regex  # slow to import, and most filters do not need it

    known = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL, "x": regex.VERBOSE}
    bits = 0
    for letter in flags:
        bits |= known.get(letter, 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about other syntax, which the pattern does not use
            search = regex.compile(source, bits).search
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise CommandError(51091, f"Regular expression is invalid: {error}") from None
    if not any(sign in source for sign in _REPEATS):
        return lambda text: search(text) is not None

    def found(text: str) -> bool:
        try:
            # Release the interpreter lock, so that other threads such as the window's continue meanwhile.
            return search(text, timeout=SECONDS, concurrent=True) is not None
        except TimeoutError:
            raise CommandError(
                51156, f"Regular expression takes too long on a text of {len(text):,} characters; make it simpler"
            ) from None

    return found
