"""``python -m tests.benchmarks.silences``: for how long the window is silent after each action that opens pages.

The window is on a display of its own and driven by keys. From outside, it is asked every 20 ms whether it answers;
printed is the longest answer in milliseconds and, in brackets, how much of that time its process worked: other work on
the machine lengthens only the first. Then, in a start of its own, the screen is watched: how many milliseconds after
the key its picture changed for the last time, as the page was whole. Each figure is the least of several runs; the
very first, which compiles the code, is left out.

``--documents N`` takes a server with a collection of so many documents in place of the sample, as a million, on which
activity and damage are those of one document. ``--peer PROGRAM`` runs git-cola in turn with ours, as in
:mod:`tests.benchmarks.starting`, and takes the same actions where it has some.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct

from model.local_process import Served, ServerProcess
from tests.benchmarks import million, starting
from tests.benchmarks.starting import BLINK, DRIVEN, changed, on_a_clone, ours, settled
from tests.benchmarks.x_display import Silence, XDisplay

PAUSE, WATCHED = 0.25, 2.0  # seconds after each key that prepares an action, and after the action
WHOLE, WHOLE_ON_SERVER = 100, 150  # milliseconds
STILL, LONGEST = 1.0, 20.0  # seconds without a change after which a page is whole, and those for which it is awaited


class Action(Struct, frozen=True):
    """What is done: keys that prepare it, and those after which the window is watched; "" where there are none."""

    name: str
    before: str
    keys: str
    peer_before: str = ""
    peer: str = ""
    opens: bool = False  # a page, whose time is taken


ACTIONS = (
    Action("palette", "", "Control_L+k", "", "Control_L+t"),
    Action("palette closed", "", "Escape", "", "Escape"),
    Action("collection", "Control_L+k c u s t o m e r s", "Return", opens=True),
    Action("another collection", "Control_L+k c l a i m s", "Return", opens=True),
    Action("next document", "", "Down"),
    Action("refresh", "", "F5", "", "F5"),
    Action("document", "", "Return", opens=True),
    Action("edit", "Return Control_L+a 7", "Return"),
    Action("save", "", "Control_L+s"),
    Action("blame", "", "Control_L+Shift_L+b", opens=True),
    Action("tab closed", "", "Control_L+w"),
    Action("another document", "Control_L+w Down", "Return", opens=True),
    Action("activity", "Control_L+k c o n t r a c t s Return", "Control_L+Shift_L+g", opens=True),
    Action("all changes", "Shift_L+F6 Shift_L+F6 Control_L+a Delete", "Return"),
    Action("repairs", "", "Control_L+Shift_L+r", opens=True),
    Action("theme", "Control_L+k d a r k space c o l o u r s", "Return"),
    Action("theme back", "Control_L+k l i g h t space c o l o u r s", "Return"),
)
"""In this order, each where the one before has led."""
ON_SERVER = (
    Action("collection", "Control_L+w Control_L+k o r d e r s", "Return", opens=True),
    Action("next document", "", "Down"),
    Action("refresh", "", "F5"),
    Action("document", "", "Return", opens=True),
    Action("blame", "", "Control_L+Shift_L+b", opens=True),
    Action("activity", "Control_L+k a c t i v i t y space o f", "Return", opens=True),
    Action("repairs", "Control_L+k d a m a g e space i n space t h i s space d o c", "Return", opens=True),
)


def _press(display: XDisplay, keys: str, pause: float) -> Iterator[float]:
    """Press some keys, each followed by the seconds to the next."""
    for each in keys.split():
        display.press(*each.split("+"))
        yield pause


def _led(display: XDisplay, actions: Sequence[Action], peer: bool) -> Iterator[tuple[Action, str]]:
    """The actions that a program has, once the keys before each were pressed, and its own keys."""
    display.focus(display.window())
    for action in actions:
        before, keys = (action.peer_before, action.peer) if peer else (action.before, action.keys)
        if keys:
            for pause in _press(display, before, PAUSE):
                time.sleep(pause)
            yield action, keys


def measured(
    display: XDisplay, words: list[str], environment: dict[str, str], actions: Sequence[Action], peer: bool
) -> dict[str, Silence]:
    """The longest silence after each action, in one start of a program."""
    found = {}
    with settled(display, words, environment) as (pid, _):
        for action, keys in _led(display, actions, peer):
            silences = display.silences(display.window(), pid, WATCHED, _press(display, keys, WATCHED))
            found[action.name] = Silence(max(s.seconds for s in silences), max(s.worked for s in silences))
    return found


def whole(
    display: XDisplay, words: list[str], environment: dict[str, str], actions: Sequence[Action], peer: bool
) -> dict[str, float]:
    """The seconds until the page of each action was whole, in one start of a program."""
    with settled(display, words, environment):
        return {action.name: _until_whole(display, keys) for action, keys in _led(display, actions, peer)}


def _until_whole(display: XDisplay, keys: str) -> float:
    last = display.picture()
    begin = now = at = time.monotonic()
    for _ in _press(display, keys, 0):
        pass
    while now - at < STILL and now - begin < LONGEST:
        picture = display.picture()
        now = time.monotonic()
        if changed(picture, last) > BLINK:
            at, last = now, picture
        time.sleep(0.002)
    return at - begin


@contextmanager
def _programs(wanted: argparse.Namespace, folder: Path) -> Iterator[dict[str, list[str]]]:
    """The command lines to measure, ours first."""
    peer = {"peer": on_a_clone(shlex.split(wanted.peer))} if wanted.peer else {}
    if not wanted.documents:
        yield {"Palimpsest": ours("sample:", "--new-window"), **peer}
        return
    (folder / "dump").mkdir()
    dump = million.written(folder / "dump", wanted.documents)
    with closing(ServerProcess(Served(str(dump), True, str(folder / "server")))) as server:
        server.wait()
        yield {"Palimpsest": ours(server.uri, "--new-window"), **peer}


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.silences", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--documents", type=int, default=0, help="of a server in place of the sample, as 1000000")
    starting.add_peer(parser)
    wanted = parser.parse_args()
    actions = ON_SERVER if wanted.documents else ACTIONS
    silences: dict[str, list[dict[str, Silence]]] = {}
    wholes: dict[str, list[dict[str, float]]] = {}
    with (
        tempfile.TemporaryDirectory() as name,
        XDisplay() as display,
        _programs(wanted, Path(name)) as programs,
    ):
        for run in range(wanted.runs + 1):
            for program, words in programs.items():
                environment = os.environ | {
                    "PALIMPSEST_HOME": str(Path(name, f"home-{run}")),
                    "PYTHONPYCACHEPREFIX": str(Path(name, "compiled")),
                }
                environment.pop("PYTHONDONTWRITEBYTECODE", None)
                made = measured(display, words, environment, actions, program == "peer")
                environment["PALIMPSEST_HOME"] += "-whole"
                seen = whole(display, words, environment, actions, program == "peer")
                if run:
                    silences.setdefault(program, []).append(made)
                    wholes.setdefault(program, []).append(seen)
    missed = _told_silences(actions, silences)
    missed += _told_wholes(actions, wholes, WHOLE_ON_SERVER if wanted.documents else WHOLE)
    print(f"\nmissed: {', '.join(missed)}" if missed else "\nall reached")
    return 1 if missed else 0


def _told_silences(actions: Sequence[Action], runs: Mapping[str, list[dict[str, Silence]]]) -> list[str]:
    """Print the silences; returns what was missed."""
    print(f"{'longest silence, ms (of work)':<32}{''.join(f'{name:>16}' for name in runs)}{'to reach':>12}")
    missed = []
    for action in actions:
        cells = ""
        for name, several in runs.items():
            every = [made[action.name] for made in several if action.name in made]
            seconds = min((each.seconds for each in every), default=0.0) * 1000
            worked = min((each.worked for each in every), default=0.0) * 1000
            cells += f"{seconds:>8.0f} ({worked:>5.0f})" if every else f"{'':>16}"
            if name != "peer" and worked > DRIVEN:
                missed.append(action.name)
        print(f"{action.name:<32}{cells}{DRIVEN:>12.0f}")
    return missed


def _told_wholes(actions: Sequence[Action], runs: Mapping[str, list[dict[str, float]]], target: float) -> list[str]:
    """Print when pages were whole; returns what was missed."""
    print(f"\n{'until it is whole, ms':<32}{''.join(f'{name:>16}' for name in runs)}{'to reach':>12}")
    missed = []
    for action in actions:
        cells = ""
        for name, several in runs.items():
            every = [made[action.name] * 1000 for made in several if action.name in made]
            cells += f"{min(every):>16.0f}" if every else f"{'':>16}"
            if action.opens and every and name != "peer" and min(every) > target:
                missed.append(f"{action.name} (whole)")
        print(f"{action.name:<32}{cells}{target if action.opens else '':>12}")
    return missed


if __name__ == "__main__":
    sys.exit(main())
