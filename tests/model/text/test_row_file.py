"""Lists written to files: exact in all forms, and complete or not there at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from model import text
from model.errors import Cancelled, Refused
from model.foundation.records import Row
from model.session import Session
from model.values.canonical import Value

NS = "insurance.contracts"


@pytest.fixture(scope="module")
def sample(homes: Path) -> Iterator[Session]:
    with Session.open("sample:", home=homes / "listing") as made:
        yield made


def raws(session: Session, filter: str = "") -> list[bytes]:
    return [bytes(row.raw) for row in session.documents.page(NS, filter, limit=10_000).rows if row.readable]


@pytest.mark.deep
def test_lines_of_json_are_what_is_listed_exactly(sample: Session, tmp_path: Path) -> None:
    path = tmp_path / "contracts.jsonl"
    found = sample.exchange.export(NS, str(path), '{ "status": "active" }')
    lines = path.read_text("utf-8").splitlines()
    assert [text.from_text(line) for line in lines] == raws(sample, '{ "status": "active" }')
    assert (found.documents, found.bytes, found.left_out) == (len(lines), path.stat().st_size, 0)
    assert 0 < len(lines) < len(raws(sample))


@pytest.mark.deep
def test_bson_opens_as_a_dump(sample: Session, tmp_path: Path) -> None:
    path = tmp_path / "contracts.bson"
    sample.exchange.export(NS, str(path))
    assert path.read_bytes() == b"".join(raws(sample))
    with Session.open(path) as dump:
        assert next(iter(dump.catalogue.collections())).documents == len(raws(sample))


def test_stopping_leaves_the_older_file_and_nothing_else(sample: Session, tmp_path: Path) -> None:
    path = tmp_path / "contracts.jsonl"
    path.write_text("older")

    def stop(done: int, total: int | None) -> None:
        assert total is not None
        if done == 40:
            raise Cancelled

    with pytest.raises(Cancelled):
        sample.exchange.export(NS, str(path), checkpoint=stop)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("contracts.jsonl", "older")]


def test_a_place_that_cannot_be_written_is_refused_in_one_sentence(sample: Session, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be written"):
        sample.exchange.export(NS, str(tmp_path / "nowhere" / "x.bson"))


def test_what_does_not_decode_is_counted_and_left_out(tmp_path: Path) -> None:
    from model.text.row_file import write_rows

    whole = Value.of({"a": 1}).data
    rows = [Row(Value.of(1), None, None, 5, whole), Row(Value.of(2), None, None, 5, b"\x05\x00", readable=False)]
    found = write_rows(rows, tmp_path / "x.bson")
    assert (found.documents, found.left_out) == (1, 1)
    assert (tmp_path / "x.bson").read_bytes() == whole
