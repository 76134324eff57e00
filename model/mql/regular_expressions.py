"""Regular expressions that end: a pattern that backtracks without end is given up, and named."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from model.mql.command_error import CommandError

SECONDS = 1.0
"""The time for one text, of the process: a pattern that needs more would need years for a text a little longer."""

_REPEATS = ("*", "+", "?", "{")


def compiled(source: str, flags: str) -> Callable[[str], bool]:
    """The test whether a text has a match; ``flags`` are letters as a server knows them.

    Raises ``CommandError`` if the pattern is none; so does the test where it takes too long.
    """
    import regex  # slower to load than all else here, and most filters need it not

    known = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL, "x": regex.VERBOSE}
    bits = 0
    for letter in flags:
        bits |= known.get(letter, 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of another syntax, which the pattern is not in
            search = regex.compile(source, bits).search
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise CommandError(51091, f"Regular expression is invalid: {error}") from None
    if not any(sign in source for sign in _REPEATS):
        return lambda text: search(text) is not None

    def found(text: str) -> bool:
        try:
            # Other threads, the window's among them, go on meanwhile.
            return search(text, timeout=SECONDS, concurrent=True) is not None
        except TimeoutError:
            raise CommandError(
                51156, f"Regular expression takes too long on a text of {len(text):,} characters; make it simpler"
            ) from None

    return found
