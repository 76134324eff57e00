"""Reading at its limits: filters typed over deltas, no room for sorting, two threads with one layout."""

from __future__ import annotations

import datetime as dt
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bson
import pymongo
import pymongo.database
import pytest
from bson.raw_bson import RawBSONDocument

from model.catalogue.catalogue import Catalogue
from model.checks.external_sort import ExternalSort
from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Finding
from model.foundation.records import CollectionInfo
from model.profile import Profile
from model.server.retry import Server
from model.session import Session

Db = pymongo.database.Database[dict[str, Any]]


@pytest.fixture
def db(local_uri: str) -> Iterator[Db]:
    """A database of this test's own, in the in-process server."""
    with pymongo.MongoClient[dict[str, Any]](local_uri) as client:
        name = f"edges_{uuid.uuid4().hex[:8]}"
        yield client[name]
        client.drop_database(name)


def stated(db: Db, layout: str, **names: str) -> Profile:
    return Profile.read({"collection": [{"ns": f"{db.name}.things", "layout": layout, **names}]}, "the profile")


@pytest.mark.parametrize("fields", ["{a: {$slice: 1}}", '{a: "x"}', "{a: 0}", "a, docId"])
def test_the_fields_of_deltas_may_be_asked_for_in_every_way(db: Db, local_uri: str, fields: str) -> None:
    db.things.insert_many([{"docId": n, "v": 1, "a": [1, 2]} for n in range(3)])
    with Session.open(local_uri, stated(db, "deltas", id="docId")) as session:
        assert len(session.documents.page(f"{db.name}.things", fields=fields).rows) == 3


def test_deltas_are_put_in_order_by_a_field_that_is_undefined_null_or_missing(db: Db, local_uri: str) -> None:
    null = bson.encode({"_id": 9, "docId": 9, "v": 1, "u": None})
    at = null.index(b"\x0au\x00")
    db.things.insert_many([{"docId": 1, "v": 1, "u": None}, {"docId": 2, "v": 1}, {"docId": 3, "v": 1, "u": 1}])
    db.things.insert_one(RawBSONDocument(null[:at] + b"\x06" + null[at + 1 :]))  # type: ignore[arg-type]
    with Session.open(local_uri, stated(db, "deltas", id="docId")) as session:
        rows = session.documents.page(f"{db.name}.things", sort="-u").rows
        assert rows[0].id.python() == 3
        assert len(rows) == 4


@pytest.mark.parametrize("filter", ["{$or: 5}", "{$or: [5]}", "{$and: [{$or: {}}]}"])
def test_a_filter_over_embedded_versions_that_is_wrong_is_answered_by_the_server(
    db: Db, local_uri: str, filter: str
) -> None:
    db.things.insert_one({"_id": 1, "current": {"v": 1}, "prev": []})
    with Session.open(local_uri, stated(db, "embedded")) as session, pytest.raises(Refused, match="array"):
        session.documents.page(f"{db.name}.things", filter)


def test_no_room_for_sorting_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with ExternalSort(together=2) as spool:
        spool.add(b"a", (1,))
        with pytest.raises(Refused, match="make room for temporary files"):
            spool.add(b"b", (2,))


def test_a_layout_that_is_picked_while_another_thread_binds_the_one_before_stays(db: Db, local_uri: str) -> None:
    class Slow(Catalogue):
        """Somebody picks a layout between what is known of a collection and its layout."""

        picked = False

        def known(self, ns: str) -> tuple[CollectionInfo, CollectionProfile]:
            found = super().known(ns)
            if not self.picked:
                self.picked = True
                self.set_layout(ns, "plain")
            return found

    db.things.insert_one({"docId": 1, "v": 1})
    with Server.connect(local_uri) as server:
        catalogue = Slow(server, server, stated(db, "versions", id="docId"), "here")
        assert catalogue.layout(f"{db.name}.things").name == "plain"
        assert catalogue.layout(f"{db.name}.things").name == "plain"


def test_a_collection_of_somebody_that_is_called_quarantine_is_scanned(db: Db, local_uri: str) -> None:
    db.quarantine.insert_many([{"docId": 1, "v": 1}, {"docId": 1, "v": "2"}])
    profile = Profile.read(
        {"collection": [{"ns": f"{db.name}.quarantine", "layout": "versions", "id": "docId"}]}, "the profile"
    )
    with Session.open(local_uri, profile) as session:
        assert [each.code for each in session.scans.scan([db.name]) if isinstance(each, Finding)] == ["V3"]
        db.quarantine.drop()
        db.quarantine.insert_one(
            {"_id": "0", "from": "a.b", "at": dt.datetime.now(dt.UTC), "by": "me", "doc": {"v": "2"}}
        )
        assert list(session.scans.scan([db.name])) == []
