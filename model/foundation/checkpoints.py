"""Checkpoints: how long work tells of its progress, and how it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Checkpoint: TypeAlias = Callable[[int, int | None], None]
"""Called between steps of long work with (done, of how many or None); raises ``Cancelled`` to stop it."""


def no_checkpoint(done: int, total: int | None) -> None:
    """The checkpoint of work that nobody watches."""
