"""``python -m tests.benchmarks.silences``: for how long the window is silent after each action that opens pages.

The window is on a display of its own and driven by keys. From outside, it is asked every 20 ms whether it answers;
printed is the longest answer in milliseconds and, in brackets, how much of that time its process worked: other work on
the machine lengthens only the first. Each figure is the least of several runs; the very first, which compiles the
code, is left out. ``--peer PROGRAM`` runs git-cola in turn with ours, as in :mod:`tests.benchmarks.starting`, and
takes the same actions where it has some.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tests.benchmarks.starting import DRIVEN, on_a_clone, ours, settled
from tests.benchmarks.x_display import Silence, XDisplay

PAUSE, WATCHED = 0.25, 2.0  # seconds after each key that prepares an action, and after the action


class Action(Struct, frozen=True):
    """What is done: keys that prepare it, and those after which the window is watched; "" where there are none."""

    name: str
    before: str
    keys: str
    peer_before: str = ""
    peer: str = ""


ACTIONS = (
    Action("palette", "", "Control_L+k", "", "Control_L+t"),
    Action("palette closed", "", "Escape", "", "Escape"),
    Action("collection", "Control_L+k c u s t o m e r s", "Return"),
    Action("another collection", "Control_L+k c o n t r a c t s", "Return"),
    Action("next document", "", "Down"),
    Action("refresh", "", "F5", "", "F5"),
    Action("document", "", "Return"),
    Action("blame", "", "Control_L+Shift_L+b"),
    Action("tab closed", "", "Control_L+w"),
    Action("another document", "Down", "Return"),
    Action("activity", "Control_L+k c o n t r a c t s Return", "Control_L+Shift_L+g"),
    Action("repairs", "", "Control_L+Shift_L+r"),
    Action("theme", "Control_L+k d a r k space c o l o u r s", "Return"),
    Action("theme back", "Control_L+k l i g h t space c o l o u r s", "Return"),
)
"""In this order, each where the one before has led."""


def _press(display: XDisplay, keys: str, pause: float) -> Iterator[float]:
    """Press some keys, each followed by the seconds to the next."""
    for each in keys.split():
        display.press(*each.split("+"))
        yield pause


def measured(display: XDisplay, words: list[str], environment: dict[str, str], peer: bool) -> dict[str, Silence]:
    """The longest silence after each action, in one start of a program."""
    found = {}
    with settled(display, words, environment) as (pid, _):
        window = display.window()
        display.focus(window)
        for action in ACTIONS:
            before, keys = (action.peer_before, action.peer) if peer else (action.before, action.keys)
            if not keys:
                continue
            for pause in _press(display, before, PAUSE):
                time.sleep(pause)
            silences = display.silences(window, pid, WATCHED, _press(display, keys, WATCHED))
            found[action.name] = Silence(max(s.seconds for s in silences), max(s.worked for s in silences))
    return found


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.silences", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer", metavar="PROGRAM", default=shutil.which("git-cola") or "", help="with its arguments")
    wanted = parser.parse_args()
    programs = {"Palimpsest": ours("sample:", "--new-window")}
    if wanted.peer:
        programs["peer"] = on_a_clone(shlex.split(wanted.peer))
    runs: dict[str, list[dict[str, Silence]]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as folder, XDisplay() as display:
        for run in range(wanted.runs + 1):
            for name, words in programs.items():
                environment = os.environ | {
                    "PALIMPSEST_HOME": str(Path(folder, f"home-{run}")),
                    "PYTHONPYCACHEPREFIX": str(Path(folder, "compiled")),
                }
                environment.pop("PYTHONDONTWRITEBYTECODE", None)
                made = measured(display, words, environment, name == "peer")
                runs[name] += [made] if run else []
    print(f"{'longest silence, ms (of work)':<32}{''.join(f'{name:>16}' for name in programs)}{'to reach':>12}")
    missed = []
    for action in ACTIONS:
        cells = ""
        for name in programs:
            every = [made[action.name] for made in runs[name] if action.name in made]
            seconds = min((each.seconds for each in every), default=0.0) * 1000
            worked = min((each.worked for each in every), default=0.0) * 1000
            cells += f"{seconds:>8.0f} ({worked:>5.0f})" if every else f"{'':>16}"
            if name != "peer" and worked > DRIVEN:
                missed.append(action.name)
        print(f"{action.name:<32}{cells}{DRIVEN:>12.0f}")
    print(f"\nmissed: {', '.join(missed)}" if missed else "\nall reached")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
