"""The scans over time: what is kept of each, what it is compared with, and what is not stored."""

from __future__ import annotations

import datetime as dt
import os
import stat
from pathlib import Path

import pytest

from model.errors import Refused
from model.scan import Summary
from model.session import Session, health
from model.session.health import Counted, Health, compared, counted, courses, told
from model.values.canonical import Value

SOURCE = "mongodb://db.example/"
NOON = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


def scan(day: int, place: str = "shop", whole: bool = True, ids: str = "", **counts: int) -> Counted:
    return Counted(NOON + dt.timedelta(days=day), place, ids, 100, 1.5, whole, counts, 2)


def test_scans_come_back_as_they_were_kept_newest_first_and_only_those_of_the_source(tmp_path: Path) -> None:
    kept = [scan(1, A3=15), scan(2, A3=1, V1=2), scan(3, "shop.contracts", A3=1)]
    for each in kept:
        Health(SOURCE, tmp_path).keep(each)
    Health("mongodb://other.example/", tmp_path).keep(scan(4, A3=9))
    there = Health(SOURCE, tmp_path)
    assert there.scans() == kept[::-1]
    assert there.scans("shop") == kept[1::-1]
    assert there.scans("shop", ids='"K-1"') == []
    assert stat.S_IMODE(os.stat(there.path).st_mode) == 0o600


def test_a_source_that_was_never_scanned_has_no_file_of_it(tmp_path: Path) -> None:
    there = Health(SOURCE, tmp_path)
    assert there.scans() == []
    assert not there.path.exists()


def test_only_the_newest_scans_of_a_place_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "MOST", 3)
    there = Health(SOURCE, tmp_path)
    for day in range(5):
        there.keep(scan(day))
    there.keep(scan(9, "other"))
    assert [each.at.day for each in there.scans("shop")] == [5, 4, 3]
    assert len(there.scans("other")) == 1


def test_the_file_stays_small_however_many_places_are_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "MOST_OF_ALL", 4)
    there = Health(SOURCE, tmp_path)
    for day in range(10):
        there.keep(scan(day, f"place{day}"))
    assert [each.place for each in there.scans()] == ["place9", "place8", "place7", "place6"]


def test_a_scan_is_compared_with_the_whole_scan_of_the_same_place_before_it() -> None:
    first, beside, stopped, last = scan(1, A3=15), scan(2, "other"), scan(3, whole=False, A3=2), scan(4, A3=1, V1=2)
    found = compared([last, stopped, beside, first])
    assert [before for _, before in found] == [first, None, None, None]
    assert told(last, first) == "A3 15 → 1, V1 0 → 2"
    assert told(first, None) == "A3 15"
    assert told(scan(5), last) == "A3 1 → 0, V1 2 → 0"


def test_what_a_stopped_scan_found_is_no_point_of_a_course() -> None:
    course = courses([scan(1, A3=15), scan(2, whole=False, A3=2), scan(3, V1=1)])
    assert [(each.code, each.counts) for each in course] == [("A3", (15, None, 0)), ("V1", (0, None, 1))]
    assert (course[0].first, course[0].last) == (15, 0)
    assert [each.code for each in courses([scan(1, Z9=1, V1=1)])] == ["V1", "Z9"]  # of a newer version


def test_the_documents_that_a_scan_was_for_make_a_subject_of_their_own() -> None:
    summary = Summary(3, 0.1, 1, (), True, {"A3": 1})
    ids = [Value.of(f"K-{at}") for at in range(7)]
    one, many, others = (
        counted(NOON, ["shop.contracts"], some, summary) for some in (ids[:1], ids[:6], ids[:5] + ids[6:])
    )
    assert one.where == 'shop.contracts / "K-0"'
    assert len({one.subject, many.subject, others.subject}) == 3
    assert counted(NOON, [], None, summary).where == "all databases"


def test_a_file_that_cannot_be_used_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "health.sqlite3").symlink_to("health.sqlite3")
    with pytest.raises(Refused, match="cannot be used"):
        Health(SOURCE, tmp_path).keep(scan(1))


@pytest.mark.deep
def test_data_in_memory_are_remembered_by_their_session_alone(tmp_path: Path) -> None:
    with Session.open("sample:", home=tmp_path) as session:
        work = session.scans.scan(["insurance.tariffs"])
        list(work)
        assert work.summary.counts == {"C1": 1, "V1": 2}
        session.health.keep(counted(NOON, ["insurance.tariffs"], None, work.summary))
        assert [each.counts for each in session.health.scans("insurance.tariffs")] == [{"C1": 1, "V1": 2}]
    assert not (tmp_path / "health.sqlite3").exists()
