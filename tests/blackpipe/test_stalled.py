"""A server that accepts and then says nothing is left within the time-outs, by every command and wherever it stops."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

import pytest

from model.errors import Unreachable
from model.guarantees import check
from model.server.server import Server
from tests.hosted.actions import ACTIONS, Action
from tests.hosted.bench import Bench, Told, fill, told
from tests.hosted.matrix import MODEL
from tests.servers.stalling import StallingServer

LIMITS = ("socketTimeoutMS", "connectTimeoutMS", "serverSelectionTimeoutMS")
PATIENCE = 0.4
"""Seconds that the address allows for finding a server, for connecting and for an answer."""
SLACK = 12.0
"""Seconds for some answers that do not come, one after the other, and for a busy machine."""
SHORT = ("open a document", "save archive")
LONG = ("quick check", "check", "scan", "repair", "collections")
"""What takes seconds by itself, also where the server answers."""


def done(action: Action, after: int | None) -> tuple[int, float, Told]:
    """How many commands were answered, for how many seconds an action took, and what it came to."""
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        StallingServer() as server,
    ):
        patch.setenv("PALIMPSEST_HOME", str(Path(folder) / "home"))
        fill(server, MODEL)
        limits = "".join(f"&{name}={PATIENCE * 1000:.0f}" for name in LIMITS)
        bench = Bench(server.uri + limits, Path(folder))
        if after is not None:
            server.stall(after)
        began = time.monotonic()
        action.work(bench)
        return server.answered, time.monotonic() - began, told(bench, server)


def wrong(action: Action, parts: tuple[float, ...]) -> list[str]:
    """The places of an action, as parts of its commands, at which a silent server is not left with a sentence."""
    whole, alone, _ = done(action, None)
    found = []
    for part in parts:
        _, took, end = done(action, int(whole * part))
        said = end.sentences
        if took > SLACK + 3 * alone:
            found.append(f"{action.name} at {part}: {took:.1f} s, {said}")
        elif "Traceback" in said or "defect of palimpsest" in said or "MongoClient" in said:
            found.append(f"{action.name} at {part}: {said}")
        elif not part and (end.status != 2 or "does not answer in time" not in said):
            found.append(f"{action.name} before it began: {end.status}, {said}")
        elif end.status > 1 and not said.endswith("."):
            found.append(f"{action.name} at {part}: {end.status}, {said}")
    return found


@pytest.mark.deep
@pytest.mark.slice
def test_a_server_that_says_nothing_is_left_with_a_sentence() -> None:
    draw = random.SystemRandom()
    drawn = draw.sample([each for each in ACTIONS if each.name not in (*SHORT, *LONG)], 2)
    part = draw.choice((0.3, 0.5, 0.7, 0.9))
    print([each.name for each in drawn], part)
    first, *short = (each for each in ACTIONS if each.name in SHORT)
    assert not wrong(first, (0,))
    assert not [said for each in (*short, *drawn) for said in wrong(each, (part,))]


@pytest.mark.deep
@pytest.mark.slice
def test_a_check_of_a_server_that_falls_silent_claims_nothing_and_names_what_it_left() -> None:
    limits = "".join(f"&{name}=1500" for name in LIMITS)
    with StallingServer() as server, Server.connect(server.uri + limits) as port:
        found = []

        def measured() -> None:
            for each in check(port):
                found.append(each)
                server.stall()

        with pytest.raises(Unreachable, match="drop it by hand"):
            measured()
    assert [each.check for each in found] == ["swaps"]


@pytest.mark.deep
@pytest.mark.parametrize("share", range(4))
def test_a_sixth_of_all_actions_leaves_a_server_that_falls_silent_anywhere(share: int) -> None:
    draw = random.SystemRandom()
    drawn = [(each, draw.choice((0.2, 0.5, 0.8, 0.95))) for each in draw.sample(ACTIONS[share::4], len(ACTIONS) // 24)]
    print([(each.name, part) for each, part in drawn])
    assert not [said for each, part in drawn for said in wrong(each, (0, part))]
