"""A past list whose filter names ids: only their documents are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from model.session import Session

NS, THEN = "insurance.contracts", "2026-10-01"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    home: Path = tmp_path_factory.mktemp("home")
    with Session.open("sample:", home=home) as made:
        yield made


@pytest.mark.parametrize(
    ("filter", "read", "listed"),
    [
        ('{ "_id": "K-204117" }', 1, 1),
        ('{ "_id": { "$in": ["K-204117", "K-118240", "K-204117"] } }', 2, 2),
        ('{ "_id": "K-204117", "status": "no such status" }', 1, 0),
        ('{ "_id": "nobody" }', 1, 0),
    ],
)
def test_a_filter_that_names_ids_reads_no_other_document(sample: Session, filter: str, read: int, listed: int) -> None:
    found = sample.time.as_of(NS, THEN, filter)
    assert len(list(found)) == listed
    assert found.documents == read


@pytest.mark.deep
@pytest.mark.parametrize("named", ['"K-204117"', '{ "$in": ["K-204117", 7] }', '{ "$gte": "K-204117" }'])
def test_documents_named_by_their_ids_are_those_that_a_whole_reading_finds(sample: Session, named: str) -> None:
    found = sample.time.as_of(NS, THEN, f'{{ "_id": {named} }}')
    whole = sample.time.as_of(NS, THEN, f'{{ "$and": [{{ "_id": {named} }}] }}')
    assert {each.id: each.v for each in found} == {each.id: each.v for each in whole}
    assert whole.documents > 2000
