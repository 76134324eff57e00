"""Checkpoints: long work reports its progress at them, and can be stopped there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Checkpoint: TypeAlias = Callable[[int, int | None], None]
"""Called between the steps of long work with (done, total or None); raises ``Cancelled`` to stop the work."""


def no_checkpoint(done: int, total: int | None) -> None:
    """The checkpoint of work whose progress nobody watches."""
