"""The attacks by name, each with the guards without which it comes through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.hostile import careless, terminal, window_walk


@dataclass(frozen=True)
class Attack:
    """An attack: it gets a folder of its own, and answers what came through; each guard lies in its way."""

    name: str
    run: Callable[[Path], list[str]]
    guards: Sequence[careless.Taken] = ()


ATTACKS = (
    Attack("terminal", terminal.attack, (careless.raw_terminal, careless.raw_json, careless.calls_home)),
    Attack("window", window_walk.attack, (careless.rich_labels, careless.rich_tooltips, careless.keys_in_names)),
)
