"""Writes the manual's page How fast, its tables and plot, from one run of ``python -m tests.benchmarks --page``.

Both axes of the plot are logarithmic. A line is an action; a dashed one is the driver reading what the action needs.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Sequence

from tests.benchmarks.rates import Rate
from tests.benchmarks.scale import Cost, Growth
from tests.benchmarks.starting import Found, least
from tests.support import ROOT

PAGE, PLOT = ROOT / "resources/help/speed.md", ROOT / "resources/pictures/speed.svg"
COLOURS = ("#0f8a7e", "#b4570b", "#7a4fd0", "#c0336e")  # each seen on a light ground and on a dark one
PLOTTED = ("a page of 50 documents", "one of many versions", "the first 100 of a history", "a bisection")
LAYOUT = "versions"
WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 720, 330, 56, 204, 14, 40
APART = 15  # pixels between two names

TEXT = """\
# How fast

What actions cost as data grows, compared with the bare driver that reads just what they need.

The commands and rows of an action are the same on every server, and tests check them. The times come
from one machine, on the server in memory, as {clock}; so they are told as a ratio: *Driver* is how many
times as long as the bare driver an action takes, both measured in turns: the middle one of five runs,
with the least and the most. In the plot both axes are logarithmic; broken lines are the driver's.

![Time over size for four actions, and for the driver's own reading](../pictures/speed.svg)

## One action

The size counts documents for pages, edits and lists, and versions of one document for the rest.
*Growth* is the power of the size with which the time grows: 0 is flat, 1 in proportion.

| Action | Size | Commands | Rows | Driver | Growth |
| --- | --- | --- | --- | --- | --- |
{actions}

*From a kept state* is beside the driver that reads only those rows: of the version alone, or of the hundred;
reading all that lead to it takes the driver hundreds of times as long.

The last rows are commands and sessions that start anew; *by look-ups* is a server without `$unionWith`,
*the same again* a session after another one, with the layout that was kept, and an edit by a command has
its journal with it.

An edit is a guarded swap and its entry in the journal, each in its own row. For the swap, the driver
reads the same document and sends the same commands, guards included; the journal is compared with SQLite,
which stores the same bytes, with one wait for the disk as well.

## All there is

A scan reads every version, blame every version of one document, a comparison the documents of two
collections, of which one in a hundred differs; the driver beside them reads the
same rows into dictionaries and does nothing with them. The times are taken as those above, the
middle one of five runs, each in a process of its own.

| Work | Layout | In Python | With the walker |
| --- | --- | --- | --- |
{readings}

The walker is a small extension in C. It is built where a compiler is and comes with the wheels;
without it nothing is missing but speed.

{window}## Measure it yourself

From a clone, this measures the same on your machine, and rewrites this page and its plot; `--peer PROGRAM` names the
program beside which windows are measured:

```sh
.venv/bin/python -m tests.benchmarks --page
```

Measured with Python {python}, {machine}.
"""
WINDOW = """\
## The window

A start is measured until something is drawn, and until nothing changes any more{beside}.
The memory is that of the process that draws.

| Start | First paint | Settled | Memory |
| --- | --- | --- | --- |
{starts}

"""
COMMANDS = """\
## A command

This much processor time passes from its start to its end; the middle one of five runs again.

| Command | Seconds |
| --- | --- |
{commands}

"""
STARTS = {
    "empty": "With nothing open",
    "sample": "The sample",
    "server": "A server that was open before, with its tab",
}
CLOCK = {"wall": "wall-clock time", "cpu": "processor time, the server's included"}


def write(growths: Sequence[Growth], rates: Sequence[Rate], started: Found, clock: str) -> None:
    """Write the page and its plot into the manual."""
    readings = [
        f"| {work} | `{layout}` | {_said(rates, work, layout, 'in Python')} "
        f"| {_said(rates, work, layout, 'with the walker')} |"
        for work, layout in dict.fromkeys((each.work, each.layout) for each in rates)
    ]
    PAGE.write_text(
        TEXT.format(
            clock=CLOCK[clock],
            actions="\n".join(map(_row, growths)),
            readings="\n".join(readings),
            window=_window(started, clock) + _commands(started),
            python=platform.python_version(),
            machine=platform.machine(),
        ),
        encoding="utf-8",
    )
    PLOT.write_text(plot([each for name in PLOTTED for each in growths if each.name == f"{name}, {LAYOUT}"]), "utf-8")


def _window(started: Found, clock: str) -> str:
    """The section on the window; "" where none was watched."""
    if not started.starts:
        return ""
    unit = "×" if started.peer else "s"
    end = "_cpu" if clock == "cpu" else ""
    lines = []
    for name, said in STARTS.items():
        figures = [
            _spread(f"{{:.{1 if started.peer else 2}f}}", unit, *started.beside(name, figure + end))
            for figure in ("drawn", "settled")
        ]
        lines.append(f"| {said} | {' | '.join(figures)} | {least(started.starts[name], 'megabytes'):.0f} MB |")
    beside = ""
    if started.peer:
        lines.append(f"| {started.peer} | 1 × | 1 × | {least(started.starts['peer'], 'megabytes'):.0f} MB |")
        beside = f",\nin times of what {started.peer} takes to show a repository, with both started in turns"
    return WINDOW.format(beside=beside, starts="\n".join(lines))


def _commands(started: Found) -> str:
    rows = [
        f"| `palimpsest {each.words}` | {_spread('{:.2f}', 's', each.middle, each.seconds[0], each.seconds[-1])} |"
        for each in started.commands
        if each.words.startswith(("--version", "history"))
    ]
    return COMMANDS.format(commands="\n".join(rows)) if rows else ""


def _spread(figure: str, unit: str, middle: float, least: float, most: float) -> str:
    """A figure with the least and the most of its runs."""
    return f"{figure.format(middle)} {unit} ({figure.format(least)} to {figure.format(most)})"


def _said(rates: Sequence[Rate], work: str, layout: str, way: str) -> str:
    return next((each.said for each in rates if (each.work, each.layout, each.way) == (work, layout, way)), "–")


def _row(growth: Growth) -> str:
    last, (name, _, layout) = growth.costs[-1], growth.name.partition(", ")
    words = f"{name[0].upper()}{name[1:]}{f', `{layout}`' if layout else ''}"
    figures = (
        f"{last.size:,}",
        f"{last.commands:,}",
        f"{last.rows:,}",
        _spread("{:.1f}", "×", last.times, *last.spread),
    )
    return f"| {words} | {' | '.join(figures)} | {max(0.0, growth.power):.1f} |"


def plot(growths: Sequence[Growth]) -> str:
    """Time over size, as SVG whose ink is ``currentColor``."""
    costs = [cost for each in growths for cost in each.costs]
    sizes = _powers(cost.size for cost in costs)
    times = _powers(time for cost in costs for time in (cost.milliseconds, cost.bare))
    return "\n".join(_drawn(growths, sizes, times))


def _powers(figures: Iterator[float] | Sequence[float]) -> range:
    logs = [math.log10(each) for each in figures]
    return range(math.floor(min(logs)), math.ceil(max(logs)) + 1)


def _drawn(growths: Sequence[Growth], sizes: range, times: range) -> Iterator[str]:
    def x(size: float) -> float:
        return LEFT + (math.log10(size) - sizes[0]) / (len(sizes) - 1) * (WIDE - LEFT - RIGHT)

    def y(time: float) -> float:
        return HIGH - BOTTOM - (math.log10(time) - times[0]) / (len(times) - 1) * (HIGH - TOP - BOTTOM)

    def line(points: Sequence[tuple[float, float]], look: str) -> str:
        return f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}" fill="none" {look}/>'

    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" '
        'color="#57564f" font-family="sans-serif" font-size="12">'
    )
    faint = 'stroke="currentColor" stroke-opacity="0.22"'
    for power in times:
        yield line([(LEFT, y(10**power)), (WIDE - RIGHT, y(10**power))], faint)
        said = f"{10**power:g} ms" if power < 3 else f"{10 ** (power - 3)} s"
        yield f'<text x="{LEFT - 8}" y="{y(10**power) + 4:.1f}" text-anchor="end" fill="currentColor">{said}</text>'
    for power in sizes:
        yield line([(x(10**power), TOP), (x(10**power), HIGH - BOTTOM)], faint)
        said = f"{10**power:,}"
        below = HIGH - BOTTOM + 18
        yield f'<text x="{x(10**power):.1f}" y="{below}" text-anchor="middle" fill="currentColor">{said}</text>'
    middle = (LEFT + WIDE - RIGHT) / 2
    said = "documents, or versions of one document"
    yield f'<text x="{middle}" y="{HIGH - 6}" text-anchor="middle" fill="currentColor">{said}</text>'
    names: list[tuple[float, float, str, str]] = []
    for each, colour in zip(growths, COLOURS, strict=True):
        for broken in (True, False):

            def time(cost: Cost, broken: bool = broken) -> float:
                return cost.bare if broken else cost.milliseconds

            points = [(x(cost.size), y(time(cost))) for cost in each.costs]
            dashes = 'stroke-width="1.5" stroke-dasharray="4 4"' if broken else 'stroke-width="2.5"'
            yield line(points, f'stroke="{colour}" {dashes}')
        for a, b in points:
            yield f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"/>'
        names.append((points[-1][1], points[-1][0], each.name.partition(", ")[0], colour))
    lowest = -math.inf
    for end, right, name, colour in sorted(names):
        lowest = max(end, lowest + APART)
        near, far = right + 6, WIDE - RIGHT + 8
        yield line([(near, end), (far, lowest)], f'stroke="{colour}" stroke-width="1"')
        yield f'<text x="{far + 5}" y="{lowest + 4:.1f}" fill="currentColor">{name}</text>'
    yield "</svg>\n"


__all__ = ["PAGE", "PLOT", "plot", "write"]
