"""MongoDB's published BSON corpus through Extended JSON, both ways."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from bson.datetime_ms import DatetimeMS

from model import text
from model.diff import diff, patch
from model.errors import Unreadable
from model.merge import merge
from model.values import canonical as c
from model.values.canonical import Value
from tests import support

FOLDER = support.CASES / "bson-corpus"
FILES = sorted(FOLDER.glob("*.json"))


def _cases(section: str) -> list[Any]:
    found = []
    for file in FILES:
        corpus = json.loads(file.read_text())
        for i, case in enumerate(corpus.get(section, [])):
            found.append(pytest.param(case, corpus, id=f"{file.stem}-{i}"))
    return found


def _plain(written: str) -> Any:
    """JSON text in a form that can be compared: doubles by value, the order of names kept."""

    def pairs(found: list[tuple[str, Any]]) -> Any:
        if len(found) == 1 and found[0][0] == "$numberDouble":
            return ("double", repr(float(found[0][1])))
        return ("document", found)

    return json.loads(written, object_pairs_hook=pairs)


def test_the_corpus_is_there() -> None:
    assert len(FILES) == 31


@support.table("case, corpus", _cases("valid"))
def test_valid_documents_go_both_ways(case: dict[str, Any], corpus: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["canonical_bson"])
    written = text.to_text(raw)
    assert text.from_text(written) == raw
    assert text.from_text(text.readable(raw)) == raw
    if case.get("lossy"):
        assert text.value_from_text(case["canonical_extjson"]).data == text.from_text(case["canonical_extjson"])
        return
    assert _plain(written) == _plain(case["canonical_extjson"])
    assert text.from_text(case["canonical_extjson"]) == raw
    if "degenerate_extjson" in case:
        assert text.from_text(case["degenerate_extjson"]) == raw
    if "relaxed_extjson" in case:
        assert _plain(text.relaxed(raw)) == _plain(case["relaxed_extjson"])
        assert _plain(text.relaxed(text.from_text(case["relaxed_extjson"]))) == _plain(case["relaxed_extjson"])
    if "degenerate_bson" in case:  # what is stored out of order is shown so
        degenerate = bytes.fromhex(case["degenerate_bson"])
        assert text.from_text(text.to_text(degenerate)) == degenerate


@support.table("case, corpus", _cases("valid"))
def test_values_can_be_shown_and_edited(case: dict[str, Any], corpus: dict[str, Any]) -> None:
    for _, value in c.fields(bytes.fromhex(case["canonical_bson"])):
        assert text.shown(value)
        assert text.parsed(text.editable(value), value.kind) == value


def test_the_corpus_is_told_apart_and_merged_exactly() -> None:
    found = [bytes.fromhex(p.values[0]["canonical_bson"]) for p in _cases("valid")]
    for a, b in itertools.pairwise(found):
        changes = diff(a, b)
        assert bool(changes) == (a != b)
        assert patch(a, changes) == b
        assert patch(b, changes.inverse()) == a
        assert all(changes.row_texts())
        assert merge(a, b, a).document() == merge(a, a, b).document() == merge(a, b, b).document() == b


@support.table("case, corpus", _cases("decodeErrors"))
def test_damaged_documents_are_refused_or_kept_exactly(case: dict[str, Any], corpus: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["bson"])
    try:
        written = text.to_text(raw)
    except Unreadable:
        return
    assert text.from_text(written) == raw
    text.shown(Value.document(raw))


@support.table("case, corpus", _cases("parseErrors"))
def test_what_is_no_value_is_refused_with_its_place(case: dict[str, Any], corpus: dict[str, Any]) -> None:
    given = case["string"]
    if case["description"] == "Bad $date (number, not string or hash)":  # the form of mongoexport 2.4, and of others
        assert text.from_text(given) == c.encode({"a": DatetimeMS(42)})
        return
    if corpus["bson_type"] == "0x13":
        given = json.dumps({"d": {"$numberDecimal": given}})
    with pytest.raises(Unreadable, match="Line 1, column"):
        text.from_text(given)
