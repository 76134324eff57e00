"""The attacks by name, each with the guards that stop it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.hostile import bad_files, careless, damaged_homes, foreign_files, lying_answers, terminal, window_walk


@dataclass(frozen=True)
class Attack:
    """An attack: it gets a folder of its own, and answers what came through; each guard lies in its way."""

    name: str
    run: Callable[[Path], list[str]]
    short: Callable[[Path], list[str]]
    """As much of it as convicts without a guard."""
    guards: Sequence[careless.Taken] = ()


GUARDS_OF_THE_WINDOW = (
    careless.rich_labels,
    careless.rich_tooltips,
    careless.keys_in_names,
    careless.told_passwords,
    careless.chatty_copies,
    careless.painted_passwords,
)
GUARDS_OF_THE_TERMINAL = (careless.raw_terminal, careless.raw_json, careless.calls_home)
GUARDS_OF_HOMES = (careless.trusting_files, careless.zoneless_times)
GUARDS_OF_FILES = (careless.unproven_exports, careless.settings_of_others, careless.whole_environment, careless.any_row)
ATTACKS = (
    Attack("terminal", terminal.attack, terminal.attack, GUARDS_OF_THE_TERMINAL),
    Attack("window", window_walk.attack, partial(window_walk.attack, most=2), GUARDS_OF_THE_WINDOW),
    Attack("homes", damaged_homes.attack, damaged_homes.first_found, GUARDS_OF_HOMES),
    Attack("files", foreign_files.attack, foreign_files.attack, GUARDS_OF_FILES),
    Attack("inputs", bad_files.attack, partial(bad_files.attack, number=20)),
    Attack("answers", lying_answers.attack, partial(lying_answers.attack, number=200)),
)
