"""Drafts: an unsaved edit survives whatever happens to the window."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest
from bson import Int64

from model.foundation import kept_files
from model.foundation.records import Draft
from model.userdata.drafts import Drafts
from model.values import canonical
from model.values.canonical import Value

AT = dt.datetime(2026, 11, 20, 14, 31, tzinfo=dt.UTC)


def draft(id: object = "K-1", content: object = 2, at: dt.datetime = AT) -> Draft:
    return Draft(
        source="mongodb://db/",
        ns="insurance.contracts",
        id=Value.of(id),
        base_v=Value.of(Int64(12)),
        base_content=canonical.encode({"z": 1, "a": -0.0}),
        content=canonical.encode({"z": content, "a": float("nan")}),
        kept_at=at,
    )


def test_a_draft_comes_back_byte_for_byte(tmp_path: Path) -> None:
    Drafts(tmp_path).keep(draft())
    assert Drafts(tmp_path).get("mongodb://db/", "insurance.contracts", Value.of("K-1")) == draft()


def test_keeping_again_replaces_the_draft_of_that_document(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    drafts.keep(draft())
    drafts.keep(draft(content=3))
    assert drafts.all() == [draft(content=3)]


def test_ids_of_different_types_are_different_documents(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    for i, id in enumerate((1, 1.0, Int64(1), "1")):
        drafts.keep(draft(id=id, content=i))
    assert len(drafts.all()) == 4
    assert drafts.get("mongodb://db/", "insurance.contracts", Value.of(1.0)) == draft(id=1.0, content=1)


def test_the_newest_draft_comes_first(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    drafts.keep(draft(id="new", at=AT + dt.timedelta(hours=1)))
    drafts.keep(draft(id="old"))
    assert [d.id.python() for d in drafts.all()] == ["new", "old"]


def test_a_discarded_draft_is_gone_and_discarding_twice_is_fine(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    drafts.keep(draft())
    for _ in range(2):
        drafts.discard("mongodb://db/", "insurance.contracts", Value.of("K-1"))
    assert drafts.all() == []
    assert drafts.get("mongodb://db/", "insurance.contracts", Value.of("K-1")) is None


def test_a_draft_that_another_window_forgets_while_it_is_read_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    drafts, whole_text = Drafts(tmp_path), kept_files.whole_text

    def forgotten(path: Path, most: int) -> str:
        path.unlink()
        return whole_text(path, most)

    monkeypatch.setattr(kept_files, "whole_text", forgotten)
    drafts.keep(draft())
    assert drafts.get("mongodb://db/", "insurance.contracts", Value.of("K-1")) is None
    drafts.keep(draft())
    assert (drafts.all(), caplog.records) == ([], [])


def test_one_damaged_draft_does_not_hide_the_others_and_is_not_thrown_away(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    drafts.keep(draft())
    path = next((tmp_path / "drafts").glob("*.json"))
    drafts.keep(draft(id="K-2"))
    path.write_text("{ cut off")
    assert [d.id.python() for d in drafts.all()] == ["K-2"]
    assert drafts.get("mongodb://db/", "insurance.contracts", Value.of("K-1")) is None
    assert path.with_name(f"{path.name}.damaged").read_text() == "{ cut off"


def test_a_draft_in_the_place_of_another_is_set_aside(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    drafts.keep(draft())
    path = next((tmp_path / "drafts").glob("*.json"))
    path.rename(path.with_name(f"{'a' * 32}.json"))
    assert drafts.all() == []
    assert [each.name for each in (tmp_path / "drafts").iterdir()] == [f"{'a' * 32}.json.damaged"]


def test_drafts_with_times_with_and_without_a_zone_are_listed_together(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    drafts.keep(draft())
    path = next((tmp_path / "drafts").glob("*.json"))
    path.write_text(path.read_text("utf-8").replace("+00:00", ""), "utf-8")
    drafts.keep(draft(id="K-2"))
    assert {each.id.python() for each in drafts.all()} == {"K-1", "K-2"}


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps rights elsewhere")
def test_drafts_are_for_their_owner_only(tmp_path: Path) -> None:
    Drafts(tmp_path).keep(draft())
    assert (tmp_path / "drafts").stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o777 for p in (tmp_path / "drafts").iterdir()} == {0o600}
