"""Eight processes swap one document through ``palimpsest edit`` while a proxy cuts their connections."""

from __future__ import annotations

from pathlib import Path

import pymongo
import pytest

from model.pipe.proxy import PASSED
from tests.processes.editor import APPLIED
from tests.processes.swarm import Doc, Told, audit, lines, run


@pytest.mark.deep
@pytest.mark.slice
def test_what_eight_processes_were_told_is_what_the_database_holds(java_uri: str, tmp_path: Path, seed: int) -> None:
    with pymongo.MongoClient(java_uri) as client:
        database = client[f"palimpsest_swarm_{seed}"]
        try:
            told = run(java_uri, database, "archive", tmp_path, seed, processes=8, edits=10, fresh=1)
        finally:
            client.drop_database(database.name)
    print(*lines("archive", told), sep="\n")
    assert not told.wrong, f"seed {seed}: {told.wrong}"
    assert told.statuses[APPLIED] >= 40, told.statuses
    assert sum(n for what, n in told.wire.items() if what != PASSED) >= 20, told.wire


def marked(v: int, *marks: str) -> Doc:
    return {"v": v, "marks": dict.fromkeys(marks, 1)}


@pytest.mark.parametrize(
    ("found", "status", "wrong"),
    [
        ([marked(1), marked(2, "a")], 0, ""),
        ([marked(1), marked(2)], 0, "began in 0 versions"),
        ([marked(1), marked(2, "a")], 1, "began in 1 versions"),
        ([marked(1), marked(2, "a")], 3, ""),
        ([marked(1)], 3, ""),
        ([marked(1), marked(3, "a")], 0, "the versions are"),
        ([marked(1), marked(2, "a"), marked(3), marked(4, "a")], 0, "lost"),
        ([marked(1), marked(2, "a", "b")], 0, "nobody made"),
    ],
)
def test_the_audit_convicts_what_is_wrong(found: list[Doc], status: int, wrong: str) -> None:
    told = Told()
    audit(told, [{"mark": "a", "status": status, "said": ""}], found)
    assert any(wrong in each for each in told.wrong) if wrong else not told.wrong
