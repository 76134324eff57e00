"""Filters for ids that people type in place of a filter."""

from __future__ import annotations

import pytest

from model.session.query_help import filter_by_id

OID = "64b0f0000000000000000001"


@pytest.mark.parametrize(
    ("typed", "filter"),
    [
        (" K-204117 ", '{"_id": "K-204117"}'),
        (OID, f'{{"_id": {{"$in": [{{"$oid": "{OID}"}}, "{OID}"]}}}}'),
        (f'ObjectId("{OID}")', f'{{"_id": {{"$oid": "{OID}"}}}}'),
        (f'{{"$oid": "{OID}"}}', f'{{"_id": {{"$oid": "{OID}"}}}}'),
        ('"42"', '{"_id": "42"}'),
        ("42", '{"_id": {"$in": [42, "42"]}}'),
        ("urn:order:7", '{"_id": "urn:order:7"}'),
        ("Main Street 5", '{"_id": "Main Street 5"}'),
    ],
)
def test_an_id_becomes_the_filter_that_finds_it_in_every_type_it_may_have(typed: str, filter: str) -> None:
    assert filter_by_id(typed, "_id") == filter


@pytest.mark.parametrize("typed", ["", "  ", "{}", '{ "a": 1 }', '{ "a": ', 'status: "active"', '"a": 1', "[1]"])
def test_filters_and_what_was_to_become_one_are_left_as_they_are(typed: str) -> None:
    assert filter_by_id(typed, "_id") == ""
