"""The manual's page How fast: it states what was measured, and agrees with the tests."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from resources import manual
from tests.benchmarks import page
from tests.benchmarks.rates import Rate
from tests.benchmarks.scale import ACTIONS, Cost, Growth
from tests.benchmarks.starting import Command, Found, Start
from tests.resources.manual_text import rows, section

STARTED = Found(
    (Command("--version", (0.02, 0.03, 0.05), 0.05), Command("diff one two", (0.1,), 0.2)),
    {
        name: [
            Start(pace * drawn, pace * drawn / 4, pace * drawn * 4, pace * drawn, 91 - pace) for pace in (0.8, 1.0, 2.0)
        ]
        for name, drawn in (("sample", 2.0), ("empty", 1.0), ("server", 3.0))
    }
    | {"peer": [Start(2.0, 1.0, 4.0, 2.0, 120.0)] * 3},
    "git-cola",
    [],
)
HEADER = ("Action", "Size", "Commands", "Rows", "Driver", "Growth")


def growth(name: str, *times: float) -> Growth:
    costs = tuple(Cost(10 ** (3 + at), 2, 51, time, time / 2, (1.8, 2.24)) for at, time in enumerate(times))
    return Growth(name, costs, lambda _: 1, 1.5)


def test_the_page_has_a_row_for_each_action_and_its_times_beside_the_drivers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "PAGE", tmp_path / "speed.md")
    monkeypatch.setattr(page, "PLOT", tmp_path / "speed.svg")
    measured = [growth(f"{name}, {page.LAYOUT}", 0.5, 5, 500) for name in page.PLOTTED]
    rates = [
        Rate("a scan", "plain", "in Python", 2.0, 1.0, (1.6, 2.5)),
        Rate("blame", "plain", "with the walker", 2.0, 1.0, (1.6, 2.5)),
    ]
    page.write([*measured, growth("a list of collections", 12, 12)], rates, STARTED, "wall")
    text = (tmp_path / "speed.md").read_text("utf-8")
    told = rows(section(text, "## One action"), *HEADER)
    assert len(told) == len(measured) + 1
    assert told[0] == ("A page of 50 documents, `versions`", "100,000", "2", "51", "2.0 × (1.8 to 2.2)", "1.5")
    assert told[-1][:2] == ("A list of collections", "10,000")
    assert "| a scan | `plain` | 50% (40% to 62%) of the driver's rate | – |" in text
    assert "| blame | `plain` | – | 2.0 (1.6 to 2.5) times the driver's time |" in text
    assert rows(section(text, "## A command"), "Command", "Seconds") == [
        ("palimpsest --version", "0.03 s (0.02 to 0.05)")
    ]
    drawn = ElementTree.fromstring((tmp_path / "speed.svg").read_text("utf-8"))
    names = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert set(page.PLOTTED) < set(names)
    assert {"1,000", "100,000", "0.1 ms", "100 ms", "1 s"} < set(names)


@pytest.mark.parametrize(
    ("peer", "clock", "told"),
    [
        ("git-cola", "wall", ("0.5 × (0.4 to 1.0)", "1.0 × (0.8 to 2.0)", "89 MB")),
        ("git-cola", "cpu", ("0.2 × (0.2 to 0.5)", "0.5 × (0.4 to 1.0)", "89 MB")),
        ("", "wall", ("1.00 s (0.80 to 2.00)", "4.00 s (3.20 to 8.00)", "89 MB")),
    ],
)
def test_the_page_tells_a_start_of_the_window_beside_the_other_program_of_the_same_run(
    peer: str, clock: str, told: tuple[str, ...]
) -> None:
    starts = {name: each for name, each in STARTED.starts.items() if peer or name != "peer"}
    text = page._window(replace(STARTED, starts=starts, peer=peer), clock)
    lines = rows(text, "Start", "First paint", "Settled", "Memory")
    assert [line[0] for line in lines] == [*page.STARTS.values(), *([peer] if peer else [])]
    assert lines[0][1:] == told
    assert page._window(replace(STARTED, starts={}), clock) == ""


def test_what_misses_its_commands_its_time_or_its_growth_is_told() -> None:
    assert growth("a swap", 0.5, 5).missed == [
        "a swap: 2 commands at 1,000, target 1",
        "a swap: 2 commands at 10,000, target 1",
        "a swap: 2.0 times the driver's time, target 1.5",
    ]
    spread = (1.0, 4.0)
    costs = (Cost(1000, 1, 1, 1, 1, spread), Cost(10_000, 1, 1, 10, 10 ** (0.5), spread))
    steep = Growth("a page", costs, lambda _: 1, 9.0)
    assert steep.missed == ["a page: grows with the power 1.00, target 0.75"]


def test_the_page_in_the_manual_is_of_the_actions_that_are_measured_and_within_their_commands() -> None:
    told = {
        row[0].lower().replace("`", ""): row for row in rows(section(manual.page("speed"), "## One action"), *HEADER)
    }
    assert list(told) == [action[0] for action in ACTIONS]
    for name, _, _, sizes, most, _ in ACTIONS:
        assert told[name][1] == f"{sizes[-1]:,}"
        assert int(told[name][2].replace(",", "")) <= most(sizes[-1])
