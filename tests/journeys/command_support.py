"""The answer of a command run by a journey: exit status, standard output and standard error, or its rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Run = Callable[..., tuple[int, str, str]]
"""Runs a command in this process; exit status, standard output, standard error."""
Rows = Callable[..., tuple[int, list[dict[str, Any]]]]
"""Runs a command with ``--json``; exit status and rows."""


def rows_of(out: str) -> list[dict[str, Any]]:
    """What ``--json`` printed: one object a line."""
    return [json.loads(line) for line in out.splitlines()]
