"""Lists of the past: filtered, sorted, counted and exported; unproven rows are marked and counted."""

from __future__ import annotations

import datetime as dt
import getpass
from pathlib import Path

import bson
import pytest

from model.errors import Refused
from model.foundation.records import Row
from model.layouts.base import Layout
from model.over_time.history_list import HistoryList
from model.server.retry import Server, Write
from model.session import Session
from model.storage.swap_steps import Stamp
from model.text.moments import moment_from_text
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import layout_of

START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


def written(layout: Layout, id: str, n: int, hour: float, **more: object) -> None:
    stamp = Stamp(at=START + hour * HOUR)
    try:
        base = layout.version(Value.of(id))
    except Refused:
        assert layout.create(c.encode({"n": n, **more}), Value.of(id), stamp).kind == "applied"
        return
    assert layout.swap(Value.of(id), base, c.encode({"n": n, **more}), stamp).kind == "applied"


@pytest.fixture
def ns(server: Server, database_name: str) -> str:
    """Four documents: one with a gap, one whose clock jumped back, one that came later, and one without trouble."""
    layout = layout_of(server, database_name, "versions", at="changedAt")
    for n, hour in enumerate((0, 1, 2, 3)):
        written(layout, "gap", n, hour)
    assert server.send(Write(layout.ns, "delete", {"docId": "gap", "v": 3})).applied == "yes"
    for n, hour in enumerate((1, 4, 2, 5)):
        written(layout, "jump", n + 10, hour, color="red")
    written(layout, "late", 7, 9)
    written(layout, "fine", 5, 0)
    written(layout, "fine", 6, 1, color="blue")
    return layout.ns


@pytest.fixture
def session(server_uri: str, ns: str, tmp_path: Path) -> Session:
    file = tmp_path / "profile.toml"
    file.write_text(f'[[collection]]\nns = "{ns}"\nlayout = "versions"\nid = "docId"\nat = "changedAt"\n')
    with Session.open(server_uri, profile=file, home=tmp_path) as made:
        yield made


def names(rows: tuple[Row, ...]) -> list[object]:
    return [row.id.python() for row in rows]


def past(session: Session, ns: str, hour: float, filter: str = "", sort: str = "") -> HistoryList:
    return session.time.past(ns, START + hour * HOUR, filter, sort)


def test_a_list_of_the_past_is_in_the_order_asked_for_page_by_page(session: Session, ns: str) -> None:
    found = past(session, ns, 2.5, sort="-n")
    assert names(found.page(0, 50).rows) == ["jump", "fine", "gap"]
    assert names(found.page(1, 1).rows) == ["fine"]
    page = found.page(0, 2)
    assert (page.total, page.more) == (3, True)
    assert names(past(session, ns, 2.5).page(0, 50).rows) == ["fine", "gap", "jump"]


def test_rows_show_the_documents_as_they_were(session: Session, ns: str) -> None:
    row = next(row for row in past(session, ns, 0.5).page(0, 9).rows if row.id == Value.of("fine"))
    assert bson.decode(row.raw)["n"] == 5
    assert row.version == Value.of(1)
    assert row.doubt is None


def test_what_cannot_be_proven_says_why_and_is_counted(session: Session, ns: str) -> None:
    found = past(session, ns, 2.5)
    assert {row.id.python(): row.doubt for row in found.page(0, 9).rows} == {
        "fine": None,
        "gap": "gap",
        "jump": "clock",
    }
    assert found.doubts == {"gap": 1, "clock": 1}


def test_the_filter_judges_what_was_there_and_says_who_had_no_such_field(session: Session, ns: str) -> None:
    named = past(session, ns, 2.5, '{ "color": "blue", "docId": "fine" }')
    assert (names(named.page(0, 9).rows), named.count()) == (["fine"], 1)
    assert named.notes == []  # only the document that is named was looked at
    found = past(session, ns, 2.5, '{ "color": "blue", "docId": { "$gte": "fine" } }')
    assert "fine" in names(found.page(0, 9).rows)
    assert found.notes == ["1 of 3 documents had no color then."]
    assert past(session, ns, 0.5, '{ "color": "blue" }').count() == 0
    none = past(session, ns, 0.5, '{ "$or": [{ "colour": "blue" }, { "n": 5, "x": { "$exists": true } }] }')
    none.count()
    assert none.notes == ["No document had colour then."]


def test_a_list_that_was_stopped_goes_on_where_it_stood(session: Session, ns: str) -> None:
    found, asked = past(session, ns, 2.5), iter(range(2))

    def stop(done: int, total: int | None) -> None:
        if next(asked, None) is None:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        found.count(stop)
    assert found.count() == 3


def test_an_export_of_the_past_leaves_out_what_cannot_be_proven(session: Session, ns: str, tmp_path: Path) -> None:
    file = tmp_path / "then.bson"
    assert session.exchange.export_list(past(session, ns, 2.5), str(file)).documents == 1
    assert bson.decode_all(file.read_bytes()) == [{"_id": "fine", "n": 6, "color": "blue"}]


def test_deleted_documents_are_listed_with_who_and_when(server_uri: str, database_name: str, tmp_path: Path) -> None:
    server = Session.open(server_uri, home=tmp_path)
    with server:
        port = server._connection.port
        kept = layout_of(port, database_name, "versions", at="changedAt", author="changedBy")
        for id in ("gone", "back", "there"):
            written(kept, id, 1, 0)
        for id in ("gone", "back"):
            assert kept.delete(
                Value.of(id), kept.version(Value.of(id)), Stamp(author="eva", at=START + 3 * HOUR)
            ).version
        written(kept, "back", 2, 4)
    file = tmp_path / "profile.toml"
    file.write_text(
        f'[[collection]]\nns = "{kept.ns}"\nlayout = "versions"\nid = "docId"\nat = "changedAt"\nauthor = "changedBy"\n'
    )
    with Session.open(server_uri, profile=file, home=tmp_path) as session:
        (row,) = session.time.deleted(kept.ns).page(0, 9).rows
        assert (row.id.python(), row.version, row.at, row.author) == ("gone", Value.of(1), START + 3 * HOUR, "eva")
        assert session.time.deleted(kept.ns, '{ "n": 2 }').count() == 0
        assert session.writing.restore(kept.ns, row.id, row.version).kind == "applied"
        assert session.time.deleted(kept.ns).count() == 0


def test_the_journal_tells_who_deleted_a_document_of_which_only_the_archive_is_left(
    server_uri: str, server: Server, database_name: str, tmp_path: Path
) -> None:
    layout = layout_of(server, database_name, "archive", at="changedAt")
    for id in ("here", "elsewhere"):
        written(layout, id, 1, 0)
        written(layout, id, 2, 1)
    layout.delete(Value.of("elsewhere"), layout.version(Value.of("elsewhere")), Stamp())
    file = tmp_path / "profile.toml"
    file.write_text(f'[[collection]]\nns = "{layout.ns}"\nlayout = "archive"\narchive = "{layout.profile.archive}"\n')
    with Session.open(server_uri, profile=file, home=tmp_path) as session:
        assert (
            session.writing.delete(
                layout.ns, Value.of("here"), session.history.version(layout.ns, Value.of("here"))
            ).kind
            == "applied"
        )
        found = session.time.deleted(layout.ns)
        told = {row.id.python(): (row.version, row.at is not None, row.author) for row in found.page(0, 9).rows}
        assert told == {"here": (Value.of(2), True, getpass.getuser()), "elsewhere": (Value.of(2), False, None)}
        assert found.notes == ["For one of them, it is not known who deleted it, or when."]


@support.table(
    "typed, utc, said",
    [
        ("2026-07-01 12:00", "2026-07-01 10:00", "is taken as 2026-07-01 12:00:00 Europe/Berlin"),
        ("2026-03-29 02:30", "2026-03-29 01:30", "skipped 02:30"),
        ("2026-10-25 02:30", "2026-10-25 00:30", "showed 02:30 twice"),
        ("2026-07-01T12:00Z", "2026-07-01 12:00", ""),
        ("2027-01-01T00:00Z", "2027-01-01 00:00", "lies in the future"),
    ],
)
def test_a_time_without_a_zone_takes_that_of_the_settings_and_says_so(typed: str, utc: str, said: str) -> None:
    found = moment_from_text(typed, dt.datetime(2026, 12, 1, tzinfo=dt.UTC), "Europe/Berlin")
    assert f"{found.at:%Y-%m-%d %H:%M}" == utc
    assert said in found.note
    assert bool(found.note) == bool(said)
