"""No query leaves the window without a limit or a time: the server ends each, whatever happens to the window."""

from __future__ import annotations

from pathlib import Path

from model.session import Session
from tests.model.command_log import is_bounded, listening


def test_long_reads_have_a_time_as_well(home: Path) -> None:
    with listening() as log, Session.open("sample:", home=home) as session:
        assert list(session.scans.scan(["insurance.contracts"]))
        assert session.time.activity(["insurance.contracts"])
        for id in [row.id for row in session.documents.page("insurance.claims", limit=3).rows]:
            session.history.chain("insurance.claims", id)
    assert log.names.count("find") > 20
    assert log.unbounded == []


def test_a_query_without_a_limit_or_a_time_is_found() -> None:
    assert not is_bounded("find", {"find": "things", "filter": {}})
    assert not is_bounded("aggregate", {"aggregate": "things", "pipeline": [{"$match": {}}]})
    assert not is_bounded("count", {"count": "things"})
    assert not is_bounded("distinct", {"distinct": "things"})
    assert is_bounded("find", {"find": "things", "maxTimeMS": 100})
    assert is_bounded("aggregate", {"aggregate": "things", "pipeline": [{"$changeStream": {}}]})
