"""The histories of real libraries that the product does not know: none is taken for anything else."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bson
import pytest

from model.catalogue import recognise
from model.catalogue.find_writers import written
from model.foundation.records import CollectionInfo
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value
from tests.support import every
from tests.writers.judging import LAYOUTS, misjudged
from tests.writers.libraries import HERE, NAMES, UNKNOWN

PLUGIN = "unknown/mongoose-user-history-plugin"
OWN = ("_id", "_id_document", "_version")
"""What Eve keeps beside a state."""


@pytest.fixture(autouse=True)
def _unknown(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(recognise, "written", lambda server, samples: iter(()))
        yield


def collections(session: Session) -> dict[str, CollectionInfo]:
    return {info.ns.partition(".")[2]: info for info in session.catalogue.collections()}


@pytest.mark.parametrize("name", every(3, NAMES, in_slice=True))
def test_what_an_unknown_library_wrote_is_plain_a_log_or_a_shadow(name: str) -> None:
    with Session.open(str(HERE / name)) as session:
        found = collections(session)
        # Rows with id and number in their own _id are states one by one, whoever wrote them.
        others = {ns: info for ns, info in found.items() if not info.fields["id"].startswith("_id.")}
        assert {info.layout for info in others.values()} <= {"plain", "log", "shadow"}, {
            ns: info.why for ns, info in found.items()
        }
        for info in found.values():
            if info.layout == "log":
                layout = session.catalogue.layout(info.ns)
                rows = list(session.catalogue._port.find(info.ns))
                about = [c.get(raw, tuple(info.fields["id"].split("."))) for raw in rows]
                for id in {each for each in about if each is not None}:
                    told = [version.raw for version in layout.history(id, contents=True)]
                    assert sorted(told) == sorted(raw for raw, each in zip(rows, about, strict=True) if each == id)


@pytest.mark.deep
@pytest.mark.slice
def test_a_shadow_reads_each_state_as_it_was_written() -> None:
    with Session.open(str(HERE / "eve")) as session:
        info = collections(session)["items"]
        assert info.layout == "shadow"
        layout = session.catalogue.layout(info.ns)
        current = {c.get(raw, ("_id",)): raw for raw in session.catalogue._port.find(info.ns)}
        looked_at = 0
        for raw in session.catalogue._port.find("shop.items_versions"):
            id, v = c.get(raw, ("_id_document",)), c.get(raw, ("_version",))
            assert isinstance(id, Value)
            if id in current:
                shown = layout.version(id, v)
                newest = c.get(current[id], ("_version",)) == v
                assert shown.content == c.without(current[id] if newest else raw, OWN)
                looked_at += 1
        assert looked_at > 100
        assert not [found for found in session.scans.scan([info.ns]) if getattr(found, "code", "")]


# --- libraries without a preset


def test_there_is_a_word_on_every_library_that_is_not_known() -> None:
    assert {*LAYOUTS} == {*UNKNOWN}


@pytest.mark.parametrize("name", every(3, LAYOUTS, in_slice=True))
def test_a_library_without_a_preset_is_a_log_or_plain_and_nothing_is_found(name: str) -> None:
    assert not misjudged(name, HERE)
    with Session.open(str(HERE / name)) as session:
        found = collections(session)
        logs = [ns for ns, layout in LAYOUTS[name].items() if layout == "log"]
        assert all(found[ns].read_only for ns in logs)
        if logs and "items" in found:
            assert f"An edit made here has no entry in {logs[0]}." in found["items"].why


@pytest.mark.parametrize("name", every(3, LAYOUTS, in_slice=True))
def test_a_library_without_a_preset_is_not_taken_for_one_with_a_preset(name: str) -> None:
    with monkeypatched(written):
        assert not misjudged(name, HERE)


@pytest.mark.parametrize(("name", "ns"), [("unknown/historical-collection", "__deltas_users"), (PLUGIN, "histories")])
def test_changes_of_documents_that_cannot_be_told_are_said_to_be_such(name: str, ns: str) -> None:
    with Session.open(str(HERE / name)) as session:
        assert "record changes" in collections(session)[ns].why


def test_the_events_of_a_stream_come_in_the_order_of_their_numbers() -> None:
    with Session.open(str(HERE / "unknown/eventstore")) as session:
        id = Value.of("item-1")
        shown = [
            session.history.version("shop.events", id, each.v) for each in session.history.versions("shop.events", id)
        ]
        numbers = [c.get(each.content or b"", ("streamRevision",)) for each in shown]
        assert len(numbers) > 5
        assert numbers == sorted(numbers, key=lambda number: -(number.python() if number else 0))


# --- known libraries with names of their own


def renamed(name: str, folder: Path, collections: Mapping[str, str], fields: Mapping[str, str]) -> Path:
    """A dump of a library in which collections and fields at the top are called otherwise."""
    (folder / "shop").mkdir(parents=True)
    for file in (HERE / name / "shop").iterdir():
        rows = bson.decode_all(gzip.decompress(file.read_bytes()))
        called = collections.get(file.name.partition(".bson")[0], file.name.partition(".bson")[0])
        packed = b"".join(bson.encode({fields.get(key, key): value for key, value in row.items()}) for row in rows)
        (folder / "shop" / f"{called}.bson.gz").write_bytes(gzip.compress(packed))
    return folder


RENAMED = [
    ("eve", {"items_versions": "items_old"}, {}, "shadow", "Eve"),
    ("eve", {}, {"_version": "_rev", "_latest_version": "_latest_rev"}, "shadow", ""),
    ("eve", {}, {"_id_document": "_id_doc"}, "shadow", ""),
    ("eve", {}, {"_etag": "tag"}, "shadow", "Eve"),
    ("mongoose-history", {"items_history": "audit"}, {}, "shadow", "mongoose-history"),
    ("mongoose-versioned", {"items.versioning": "old"}, {}, "shadow", "mongoose-versioned"),
    ("sharedb", {"o_items": "operations"}, {}, "patches", "ShareDB"),
    ("vermongo", {"items.vermongo": "old"}, {"_version": "_v"}, "plain", ""),
    ("javers", {"jv_snapshots": "audit"}, {}, "shadow", "JaVers"),
    ("ts-patch-mongoose", {"history": "item_history"}, {}, "patches", "ts-patch-mongoose"),
]


@pytest.mark.parametrize(
    ("name", "names", "fields", "layout", "writer"), every(4, [pytest.param(*each) for each in RENAMED], in_slice=True)
)
def test_other_names_of_a_known_library_are_read_right_or_not_known(
    name: str, names: Mapping[str, str], fields: Mapping[str, str], layout: str, writer: str, tmp_path: Path
) -> None:
    with monkeypatched(written), Session.open(str(renamed(name, tmp_path / "d", names, fields))) as session:
        found = collections(session)["items"]
        assert (found.layout, found.writer) == (layout, writer)
        assert not [*session.scans.scan([])]
        assert found.read_only or not ({"_etag"} & fields.keys())


def test_milestones_of_sharedb_are_not_taken_for_records_of_changes() -> None:
    with monkeypatched(written), Session.open(str(HERE / "sharedb")) as session:
        assert "record changes" not in collections(session)["m_items"].why


@contextmanager
def monkeypatched(known: Any) -> Iterator[None]:
    """The presets as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recognise, "written", known)
        yield
