"""The attacks by name, each with the guards that stop it."""

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


GUARDS_OF_THE_WINDOW = (
    careless.rich_labels,
    careless.rich_tooltips,
    careless.keys_in_names,
    careless.told_passwords,
    careless.chatty_copies,
    careless.painted_passwords,
)
ATTACKS = (
    Attack("terminal", terminal.attack, (careless.raw_terminal, careless.raw_json, careless.calls_home)),
    Attack("window", window_walk.attack, GUARDS_OF_THE_WINDOW),
)
