"""A slice of ``python -m tests.over_time``: every source, and each careless subject."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from model.server.retry import Server
from tests import support
from tests.over_time.judging import SUBJECTS, judged
from tests.over_time.oracle import Oracle
from tests.over_time.sources import NAMES, source


@pytest.fixture(scope="module")
def server(local_uri: str) -> Iterator[Server]:
    with Server.connect(local_uri) as connected:
        yield connected


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("name", NAMES)
def test_every_change_is_told_once_and_every_state_is_right_or_marked(name: str, server: Server, seed: int) -> None:
    oracle = Oracle(source(server, f"over_time_{name}", name), seed)
    oracle.run(support.by_depth(30, 150, 80))
    found = judged(oracle, support.by_depth(3, 15, 8))
    assert not found.wrong, found.wrong[:5]
    assert found.changes
    assert found.states


@pytest.mark.parametrize("subject", support.every(len(SUBJECTS), SUBJECTS, in_slice=True))
def test_whoever_forgets_mistakes_or_marks_wrongly_is_convicted(subject: str, server: Server) -> None:
    oracle = Oracle(source(server, f"subject_{list(SUBJECTS).index(subject)}", "versions"), 7)
    oracle.run(115)
    assert judged(oracle, 5, *SUBJECTS[subject]).wrong


def test_a_run_ends_once_all_its_documents_are_gone(server: Server) -> None:
    oracle = Oracle(source(server, "over_time_gone", "archive"), 12)
    oracle.run(45)
    assert all(life.gone for life in oracle.lives.values())
    assert oracle.edits < 45
    assert not judged(oracle, 4).wrong
