"""The manual's table of what each action needs of a server matches the commands that really arrive there."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import pytest

from model.localserver.sample import layout_samples
from resources import manual
from tests.hosted.actions import ACTIONS, ROWS, actions_of
from tests.hosted.bench import Bench, fill
from tests.hosted.matrix import MODEL
from tests.resources.manual_text import rows, section
from tests.servers.asked import Part
from tests.servers.hosted_server import HostedServer

ALWAYS = {"ping", "buildInfo", "getMore", "killCursors", "endSessions"}
HEAVY = ("scan", "repair", "check the server")
SLOW = ("list collections", "list documents", "open, compare, blame", "edit, restore, undo", "create a document")
MARKS = dict.fromkeys(HEAVY, (pytest.mark.deep,)) | dict.fromkeys(SLOW, (pytest.mark.deep, pytest.mark.slice))


@cache
def page() -> str:
    """What the manual says of this."""
    return section(manual.page("servers"), "## What each action asks of a server")


@cache
def table() -> dict[str, tuple[str, ...]]:
    """The rows of its table, by the action."""
    told = rows(page(), "action", "commands", "stages and operators", "without them")
    return {row[0]: row[1:] for row in told}


def asked(row: str, folder: Path) -> set[Part]:
    """All that arrives at a server for the actions of a row."""
    parts: set[Part] = set()
    random.seed(row)  # what a server picks at random decides how much is looked up
    for action in actions_of(row):
        with HostedServer(MODEL) as server:
            fill(server, MODEL)
            if row == "list collections":
                server.load("shop.many", layout_samples.claims())  # of which only a sample is looked at
            place = folder / action.name.replace(" ", "-")
            place.mkdir()
            action.work(Bench(server.uri, place))
            parts |= server.asked
    return parts


def named(cell: str) -> set[str]:
    """The words in back quotes."""
    return set(re.findall(r"`([^`]+)`", f"`{cell}`" if "`" not in cell and cell else cell))


def sentence(beginning: str) -> set[str]:
    """The words in back quotes in the page's paragraph that begins so."""
    (found,) = (part for part in page().split("\n\n") if part.startswith(beginning))
    return named(found)


def test_every_action_has_one_row() -> None:
    assert list(table()) == list(ROWS)
    assert sorted(action.name for row in ROWS for action in actions_of(row)) == sorted(a.name for a in ACTIONS)
    assert all(without.strip(" |") for _, _, without in table().values())


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("row", [pytest.param(row, marks=MARKS.get(row, ())) for row in ROWS])
def test_a_row_names_what_arrives_at_a_server(row: str, tmp_path: Path) -> None:
    commands, operators, _ = table()[row]
    found = asked(row, tmp_path)
    assert named(commands) == {name for kind, name in found if kind == "command"} - ALWAYS
    wanted = ("stage", "clause", "accumulator", "operator")
    assert named(operators) == {name for kind, name in found if kind in wanted and name != "pipeline"}
    expressions = {name for kind, name in found if kind == "expression"}
    assert expressions in (set(), sentence("Inside `$expr`") - {"$expr"})


def test_a_part_that_the_page_does_not_name_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table(), "explain a query", ("`explain`", "`$eq`", "."))
    with pytest.raises(AssertionError):
        test_a_row_names_what_arrives_at_a_server("explain a query", tmp_path)
