"""No query leaves the window without a limit or a time: a server ends each by itself, whatever became of the window."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from gui import app
from gui.tour.tour_views import TourViews
from model.session import Session
from tests.model.command_log import is_bounded, listening


def test_no_query_of_the_first_views_is_without_a_limit_or_a_time(home: Path) -> None:
    app.application()
    with listening() as log:
        views = TourViews((1200, 800))
        try:
            assert len(list(islice(views.views(), 9))) == 9
        finally:
            views.close()
    assert log.names.count("find") > 20
    assert log.unbounded == []


def test_long_reads_have_a_time_as_well(home: Path) -> None:
    with listening() as log, Session.open("sample:", home=home) as session:
        assert list(session.scan(["insurance.contracts"]))
        assert session.activity(["insurance.contracts"])
        for id in [row.id for row in session.documents("insurance.claims", limit=3).rows]:
            session.chain("insurance.claims", id)
    assert log.names.count("find") > 20
    assert log.unbounded == []


def test_a_query_without_a_limit_or_a_time_is_found() -> None:
    assert not is_bounded("find", {"find": "things", "filter": {}})
    assert not is_bounded("aggregate", {"aggregate": "things", "pipeline": [{"$match": {}}]})
    assert not is_bounded("count", {"count": "things"})
    assert not is_bounded("distinct", {"distinct": "things"})
    assert is_bounded("find", {"find": "things", "maxTimeMS": 100})
    assert is_bounded("aggregate", {"aggregate": "things", "pipeline": [{"$changeStream": {}}]})
