"""A session on a dump too large for memory: first on its first documents, then on all of them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import bson
import pytest
from bson import ObjectId

from model.errors import Cancelled, Refused
from model.localserver import dumps, large_file
from model.session import Session

VERSIONS = [
    bson.encode({"_id": ObjectId(n.to_bytes(12, "big")), "docId": f"d{n // 4 * 37 % 80:02}", "v": n % 4, "n": n})
    for n in range(320)
]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "IN_MEMORY", 0)
    monkeypatch.setattr(large_file, "HEAD_MOST", 120)
    monkeypatch.setattr(large_file, "CHUNK", 1000)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop" / "contracts.bson"
    path.parent.mkdir()
    path.write_bytes(b"".join(VERSIONS))
    return path


def test_an_open_session_has_read_all_of_a_large_dump(file: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    with Session.open(file, home=tmp_path / "home", checkpoint=lambda *at: seen.append(at)) as session:
        assert session.dump.unread == ()
        assert session.catalogue.info("shop.contracts").layout == "versions"
        assert session.documents.count("shop.contracts") == (80, "")
        assert [row.id.python() for row in session.documents.page("shop.contracts", limit=3).rows] == [
            "d00",
            "d01",
            "d02",
        ]
        assert len(list(session.history.versions("shop.contracts", "d77"))) == 4
        assert list(session.scans.scan()) == []
    assert seen[-1][1] == file.stat().st_size


def test_what_needs_all_documents_waits_until_a_large_dump_is_read(file: Path, tmp_path: Path) -> None:
    with Session.open(file, home=tmp_path / "home", at_once=True) as session:
        assert session.dump.unread == ("shop.contracts",)
        page = session.documents.page("shop.contracts", limit=5)
        assert len(page.rows) == 5
        assert page.total is None
        assert "not read yet" in page.total_note
        id, now = page.rows[0].id, dt.datetime.now(dt.UTC)
        assert list(session.documents.outlines("shop.contracts", [id])) == []
        for ask in (
            lambda: list(session.scans.scan()),
            lambda: session.time.activity(),
            lambda: session.history.versions("shop.contracts", id),
            lambda: session.history.chain("shop.contracts", id),
            lambda: session.history.bisect("shop.contracts", id, '{"n": 3}'),
            lambda: session.time.as_of("shop.contracts", now),
            lambda: session.time.deleted("shop.contracts"),
            lambda: session.time.as_of_both("shop.contracts", now, now),
            lambda: session.time.report("shop.contracts", id),
            lambda: session.time.report_of_span("shop.contracts"),
            lambda: session.exchange.export_history("shop.contracts", tmp_path / "out", "folder"),
            lambda: session.exchange.export("shop.contracts", str(tmp_path / "out.bson")),
        ):
            with pytest.raises(Refused, match="Only the first documents"):
                ask()

        def stop(done: int, total: int | None) -> None:
            raise Cancelled

        with pytest.raises(Cancelled):
            session.dump.read_on(stop)
        assert session.dump.unread
        session.dump.read_on()
        assert session.dump.unread == ()
        assert [outline.health for outline in session.documents.outlines("shop.contracts", [id])] == ["Sound"]
        assert session.documents.page("shop.contracts", limit=5).total in (None, 80)
        assert session.exchange.export("shop.contracts", str(tmp_path / "out.bson")).documents == 80


def test_a_dump_that_is_cut_off_is_said_beside_what_comes_before(file: Path) -> None:
    file.write_bytes(b"".join(VERSIONS)[:-5])
    with Session.open(file) as session:
        assert len(session.dump.troubles) == 1
        assert "is cut off: document 320," in session.dump.troubles[0]
        assert (
            session.history.version("shop.contracts", session.documents.find_id("shop.contracts", "d00")).v is not None
        )


def test_a_large_dump_is_held_in_memory_where_it_is_to_be_edited(file: Path, tmp_path: Path) -> None:
    with Session.open(file, home=tmp_path / "home", into_memory=True) as session:
        assert session.dump.unread == ()
        session.catalogue.set_layout("shop.contracts", "versions")  # its versions share too little to be claimed
        assert session.indexes.create("shop.contracts").kind == "applied"
        found = session.edit("shop.contracts", "d05", {"n": -1})
        assert found.kind == "applied", found.detail
