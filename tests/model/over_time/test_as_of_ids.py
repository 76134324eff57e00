"""A past list whose filter names ids: only their documents are read."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest

from model.profile import Profile
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


@pytest.fixture(scope="module")
def things(local_uri: str) -> Iterator[str]:
    """Documents with two versions each, whose numbers are of several types and repeat among the tenants."""
    with pymongo.MongoClient[dict[str, Any]](local_uri) as client:
        at = dt.datetime(2026, 10, 1, tzinfo=dt.UTC)
        ids = [("a", 7), ("b", 7.0), ("a", 8), ("c", bson.Int64(9)), ("a", "7")]
        client.asof_ids.things.insert_many(
            {"tenant": tenant, "number": number, "v": v, "at": at} for tenant, number in ids for v in (1, 2)
        )
        yield local_uri
        client.drop_database("asof_ids")


@pytest.mark.parametrize(
    ("id", "filter", "read"),
    [
        ('"number"', '{ "number": 7 }', 2),
        ('"number"', '{ "number": { "$in": [8.0, 9, "7"] } }', 3),
        ('["tenant", "number"]', '{ "number": 7, "tenant": "a" }', 1),
        ('["tenant", "number"]', '{ "number": 7, "tenant": "nobody" }', 0),
    ],
)
def test_ids_that_are_numbers_or_have_parts_are_found_by_the_index(
    things: str, tmp_path: Path, id: str, filter: str, read: int
) -> None:
    stated = f'[[collection]]\nns = "asof_ids.things"\nlayout = "versions"\nid = {id}\nversion = "v"\nat = "at"\n'
    with Session.open(things, Profile.read(tomllib.loads(stated), "p.toml"), home=tmp_path) as session:
        found = session.time.as_of("asof_ids.things", "2026-11-01", filter)
        whole = session.time.as_of("asof_ids.things", "2026-11-01", f'{{ "$and": [{filter}] }}')
        assert {each.id for each in found} == {each.id for each in whole}
        assert (found.documents, whole.documents) == (read, 5)
