"""``python -m tests.benchmarks.starting``: what a start costs, and for how long the window is then silent.

Commands run as a person runs them; their processor time is printed, the middle one of several runs with the least and
the most. Windows open on a display of their own and are watched from outside: when the first one is drawn, when nothing
changes any more, how much memory they then hold, and how long they take to answer a ping every 20 ms, at rest and
during keys, scrolling and resizing. They start with the sample, with nothing, and on a server of a process of its own,
which was open before and whose tab comes back. ``--peer PROGRAM`` runs git-cola, or another program with its arguments,
in turn with ours. The peer should use Qt for Python like ours: ``pip install git-cola PySide6`` in an environment of
its own, and ``QT_API=pyside6``.

Installed programs are compiled; so byte code is kept here too, and each first run is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from operator import ne
from pathlib import Path
from statistics import median

from model.local_process import Served, ServerProcess
from tests.benchmarks.timing import RUNS
from tests.benchmarks.x_display import HEIGHT, WIDTH, XDisplay
from tests.support import ROOT

Environment = Mapping[str, str]
COMMANDS = (
    (0.05, ["--version"]),
    (0.2, ["diff", "{one}", "{two}"]),
    (0.25, ["history", "sample:", "insurance.contracts", "K-204117"]),
)
BEFORE = "Control_L+k c u s t o m e r s Return"
"""The keys that open a collection, before the start on a server with its tab."""
MEGABYTES, IDLE, DRIVEN = 100, 20, 50
PAINTED, SETTLED = 0.5, 1.0  # times the peer's time
QUIET = 3.0  # seconds without a change after which a window has settled
BLINK = 200  # pixels: a cursor that blinks is no change
_TICKS = os.sysconf("SC_CLK_TCK")


def ours(*words: str) -> list[str]:
    """The program's command line."""
    return [sys.executable, "-m", "gui", *words]


def on_a_clone(peer: list[str]) -> list[str]:
    """The peer's command line; without arguments of its own, it opens this repository."""
    return [*peer, *([] if len(peer) > 1 else ["--repo", str(ROOT)])]


def processor_seconds(words: list[str], environment: Environment) -> float:
    """What a command costs, until it has ended."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@dataclass
class Start:
    """One start of a window: seconds since it was asked for, and processor seconds of all its processes till then."""

    drawn: float = 0.0
    drawn_cpu: float = 0.0
    settled: float = 0.0
    settled_cpu: float = 0.0
    megabytes: float = 0.0  # of the process with the window
    all_megabytes: float = 0.0  # of all its processes, what they share counted once
    idle: list[float] = field(default_factory=list)
    driven: list[float] = field(default_factory=list)


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    children: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*"):
        try:
            told = (each / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(told[1]), []).append(int(each.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def cpu_of(pid: int) -> float:
    """The processor seconds of a process and all that it started."""
    seconds = 0.0
    for each in family(pid):
        try:
            told = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        seconds += sum(map(int, told[11:15])) / _TICKS
    return seconds


def megabytes_of(pid: int, what: str) -> float:
    """Memory of one process: ``Rss``, or ``Pss``, in which shared pages are divided."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:")) / 1024


def changed(a: bytes, b: bytes) -> int:
    """About how many pixels differ."""
    if a == b:
        return 0
    one, other = memoryview(a).cast("I"), memoryview(b).cast("I")
    return sum(map(ne, one[::7], other[::7])) * 7


@contextmanager
def settled(display: XDisplay, words: list[str], environment: Environment) -> Iterator[tuple[int, Start]]:
    """A program that was watched until its window had settled: its process, and what that took; it is ended at last."""
    found = Start()
    empty = display.picture()
    begin = time.monotonic()
    program = subprocess.Popen(
        words, cwd=ROOT, env={**environment, "DISPLAY": display.name, "QT_QPA_PLATFORM": "xcb"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        last, quiet_since = empty, begin
        while True:
            now = time.monotonic()
            cpu = cpu_of(program.pid)
            picture = display.picture()
            if changed(picture, last) > BLINK:
                if not found.drawn:
                    found.drawn, found.drawn_cpu = now - begin, cpu
                found.settled, found.settled_cpu = now - begin, cpu
                quiet_since, last = now, picture
            if found.drawn and now - quiet_since > QUIET:
                break
            if now - begin > 60 or program.poll() is not None:
                raise RuntimeError(f"{shlex.join(words)} shows no window")
            time.sleep(0.01)
        display.answered()
        yield program.pid, found
    finally:
        program.terminate()
        program.wait()


def opened(display: XDisplay, words: list[str], environment: Environment) -> Start:
    """Start a program, watch it until it has settled, ask it, drive it, and end it."""
    with settled(display, words, environment) as (pid, found):
        window = display.window()
        found.idle = [each.seconds for each in display.silences(window, pid, 2)]
        found.megabytes = megabytes_of(pid, "Rss")
        found.all_megabytes = sum(megabytes_of(each, "Pss") for each in family(pid))
        driven = display.silences(window, pid, 6, _driven(display, window))
        found.driven = [each.seconds for each in driven]
    return found


def _driven(display: XDisplay, window: int) -> Iterator[float]:
    """Keys, then the wheel, then other sizes; each followed by the seconds to the next."""
    display.focus(window)
    for key in ("Tab", "Tab", *("Down",) * 20, "Return", *("Down",) * 15, "Page_Down", "Page_Down", "End", "Home"):
        display.press(key)
        yield 0.05
    for turn in range(40):
        display.wheel(WIDTH // 2, HEIGHT // 2, turn < 25)
        yield 0.03
    for step in range(12):
        display.resize(window, WIDTH - 40 * step, HEIGHT - 20 * step)
        yield 0.06
    display.resize(window, WIDTH, HEIGHT)
    yield 0.06


def middle(starts: list[Start], figure: str) -> float:
    """A figure in the middle one of several starts."""
    return float(median(getattr(start, figure) for start in starts))


def least(starts: list[Start], figure: str) -> float:
    """The least that a figure was in any start: other work on the machine only adds to it."""
    return min(float(getattr(start, figure)) for start in starts)


def longest(starts: list[Start], figure: str) -> float:
    """The longest answer of the start in which that was shortest, in milliseconds."""
    return min(max(getattr(start, figure), default=0.0) for start in starts) * 1000


@dataclass(frozen=True)
class Command:
    """A command, and the seconds of processor time of its runs in ascending order."""

    words: str
    seconds: tuple[float, ...]
    target: float

    @property
    def middle(self) -> float:
        """The seconds of the run in the middle."""
        return self.seconds[len(self.seconds) // 2]


@dataclass(frozen=True)
class Found:
    """What was measured; without a display, of windows nothing."""

    commands: tuple[Command, ...]
    starts: Mapping[str, list[Start]]
    peer: str
    """The name of the other program; "" without one."""
    missed: list[str]

    def beside(self, name: str, figure: str) -> tuple[float, float, float]:
        """A figure in times of the peer's, or without one as it is: the run in the middle, the least and the most."""
        own = [float(getattr(start, figure)) for start in self.starts[name]]
        theirs = [float(getattr(start, figure)) for start in self.starts["peer"]] if self.peer else [1.0] * len(own)
        ratios = [a / b for a, b in zip(own, theirs, strict=True)]
        return median(ratios), min(ratios), max(ratios)


def measured(peer: str = "", runs: int = RUNS, only: str = "") -> Found:
    """Measure and print commands and windows, or ``only`` one of both; ``peer`` is a program with its arguments."""
    program, commands, starts, missed = shlex.split(peer), [], {}, []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environment = {**os.environ, "PALIMPSEST_HOME": folder, "PYTHONPYCACHEPREFIX": str(home / "compiled")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if only != "windows":
            commands = list(_commands(home, environment, runs))
            missed += [each.words for each in commands if each.middle > each.target]
        if only != "commands" and not (lack := lacking()):
            starts = _windows(home, environment, program, runs)
            missed += _told(starts)
        elif only != "commands":
            print(f"\nwindows are left out: {lack}")
    return Found(tuple(commands), starts, Path(program[0]).name if program else "", missed)


def lacking() -> str:
    """Why no window can be watched; "" where one can."""
    return "" if shutil.which("Xvfb") else "Xvfb is not installed"


def add_peer(parser: argparse.ArgumentParser) -> None:
    """Let a command line name the other program."""
    parser.add_argument("--peer", metavar="PROGRAM", default=shutil.which("git-cola") or "", help="with its arguments")


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.starting", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", choices=("commands", "windows"), default="")
    add_peer(parser)
    wanted = parser.parse_args()
    missed = measured(wanted.peer, wanted.runs, wanted.only).missed
    print(f"\nmissed: {', '.join(missed)}" if missed else "\nall reached")
    return 1 if missed else 0


def _commands(home: Path, environment: Environment, runs: int) -> Iterator[Command]:
    names = {"one": str(home / "one.json"), "two": str(home / "two.json")}
    for number, file in enumerate(names.values()):
        Path(file).write_text(json.dumps({"a": number, "b": [1, 2, 3]}))
    print(f"\n{'seconds of processor time':<52}{'':>24}{'to reach':>10}")
    for target, words in COMMANDS:
        command = ours(*(word.format_map(names) for word in words))
        took = sorted([processor_seconds(command, environment) for _ in range(runs + 1)][1:])
        found = Command(" ".join(word.strip("{}") for word in words), tuple(took), target)
        spread = f"({took[0]:.3f} to {took[-1]:.3f})"
        print(f"palimpsest {found.words:<41}{found.middle:>7.3f} {spread:>16}{target:>10.2f}", flush=True)
        yield found


def _windows(home: Path, environment: Environment, peer: list[str], runs: int) -> dict[str, list[Start]]:
    known = home / "known"
    with XDisplay() as display, closing(ServerProcess(Served("", True, str(home)))) as server:
        programs = {"sample": ours("sample:"), "empty": ours(), "server": ours(server.uri)}
        programs = {name: [*words, "--new-window"] for name, words in programs.items()}
        _know(display, programs["server"], {**environment, "PALIMPSEST_HOME": str(known)})
        if peer:
            programs["peer"] = on_a_clone(peer)
        starts: dict[str, list[Start]] = {name: [] for name in programs}
        for run in range(runs + 1):
            for name, words in programs.items():
                where = environment
                if name == "server":  # each start finds what the first one left
                    shutil.copytree(known, home / f"known-{run}")
                    where = {**environment, "PALIMPSEST_HOME": str(home / f"known-{run}")}
                made = opened(display, words, where)
                starts[name] += [made] if run else []
    return starts


def _know(display: XDisplay, words: list[str], environment: Environment) -> None:
    """Open a collection's tab on a server, so that the next start in the same home brings it back."""
    with settled(display, words, environment):
        display.focus(display.window())
        for keys in BEFORE.split():
            display.press(*keys.split("+"))
            time.sleep(0.25)
        time.sleep(QUIET)


def _told(starts: Mapping[str, list[Start]]) -> list[str]:
    """Print what windows cost; returns what was missed."""
    missed = []

    def row(said: str, unit: str, figures: dict[str, float], target: float) -> None:
        cells = "".join(f"{figures[name]:>10.0f}" if name in figures else f"{'':>10}" for name in starts)
        print(f"{f'{said}, {unit}':<42}{cells}{target:>10.0f}")
        late = [name for name, figure in figures.items() if name != "peer" and target and figure > target]
        missed.extend(f"{said} ({name})" for name in late)

    print(f"\n{'window':<42}{''.join(f'{name:>10}' for name in starts)}{'to reach':>10}")
    for said, figure, share in (("first paint", "drawn", PAINTED), ("settled", "settled", SETTLED)):
        for unit, end in (("ms", ""), ("ms of processor time", "_cpu")):
            found = {name: middle(each, figure + end) * 1000 for name, each in starts.items()}
            row(said, unit, found, share * found.get("peer", 0.0))
            for which, of in (("the least", min), ("the most", max)):
                edge = {name: of(getattr(s, figure + end) for s in each) * 1000 for name, each in starts.items()}
                row(f"  {which}", unit, edge, 0)
    row("memory of the window's process", "MB", {n: least(each, "megabytes") for n, each in starts.items()}, MEGABYTES)
    row("memory of all its processes", "MB", {n: least(each, "all_megabytes") for n, each in starts.items()}, 0)
    for said, figure, target in (
        ("longest silence, idle", "idle", IDLE),
        ("longest silence, driven", "driven", DRIVEN),
    ):
        row(said, "ms", {name: longest(each, figure) for name, each in starts.items()}, target)
    return missed


if __name__ == "__main__":
    sys.exit(main())
