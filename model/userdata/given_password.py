"""The password that a person gave for the source: by ``PALIMPSEST_PASSWORD``, in a file or on a terminal.

While a command or the window runs, it is kept here and in no environment, which every program that we start, or that
the system starts for us, could read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "PALIMPSEST_PASSWORD"

_given: list[str] = []


def given_password() -> str:
    """The password; "" if none was given."""
    return _given[-1] if _given else os.environ.get(VARIABLE, "")


@contextmanager
def kept_from_children(password: str | None = None) -> Iterator[None]:
    """Until the end of the block the password is this one, or that of the environment, and not in the environment."""
    before = os.environ.pop(VARIABLE, None)
    _given.append(password or before or given_password())
    try:
        yield
    finally:
        _given.pop()
        if before is not None:
            os.environ[VARIABLE] = before
