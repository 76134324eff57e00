"""Documents with every class of damage that a scan knows, among sound ones: their layout is still recognised."""

from __future__ import annotations

import pytest

from model.catalogue.recognise import recognise
from model.server.retry import Server
from tests import support
from tests.recognition import harness
from tests.recognition.harness import Client
from tests.scanning import clean, scenes
from tests.scanning.support import SETS
from tests.scanning.troubles import SCENES

HISTORIES = ("versions", "flagged", "deltas", "archive", "stream", "embedded", "nested")
LARGE = ("E2",)  # documents of 15 MiB each
CONTRADICTING = ("B1", "M1 times of numbers")
"""Scenes whose numbers fall against the time of their rows: nobody can tell these from numbers that are no versions."""
NO_ROOM = {"V2 counted versions", "D1 counted deltas", "V3 a date among numbers", "M1 versions", "H1 deltas"}
"""Scenes with an index under which sound documents of another kind find no room."""
PLANTED = [
    name
    for name, (layout, _) in SCENES.items()
    if layout in HISTORIES and not name.startswith((*LARGE, *CONTRADICTING)) and name not in NO_ROOM
]


@pytest.mark.parametrize("names", SETS)
@pytest.mark.parametrize("name", support.every(4, PLANTED))
def test_a_few_damaged_documents_hide_no_layout(server: Server, client: Client, name: str, names: str) -> None:
    with harness.database(client) as db:
        it = scenes.made(name, db.name, SETS[names], 3, 3)
        sound = clean.clean(it.layout, db.name, SETS[names], 3, 120, first=1000)
        for ns, rows in sound.stored.items():
            it.stored.setdefault(ns, []).extend(rows)
        it.indexes = sound.indexes
        it.fill(client)
        found = {info.ns: info for info, _ in recognise(server, db.name)}[it.ns]
        # No feeder keeps its place beside the archive of these scenes, and no index does its rows apart.
        expected = "shadow" if it.layout == "stream" else it.layout
        assert found.layout == expected, found.why
