"""Blame inside arrays whose elements have no identity: they are followed as the diff aligns them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from model.history.chain import key_text
from model.history.following import blamed
from model.values import canonical
from tests import support
from tests.model.history.test_chain import chain, history


def setters(*contents: dict[str, Any] | None) -> dict[str, str]:
    """The version that set each field of the last content, and what it did; with a range over a gap."""
    said = {}
    for one in chain(history(*contents)).blame():
        since = f"{one.since.v.python()}-" if one.since is not None and one.since.v is not None else ""
        assert one.version.v is not None
        said[key_text(one.key)] = f"{since}{one.version.v.python()} {one.op}".strip()
    return said


def test_elements_keep_their_version_while_others_come_and_go_before_them() -> None:
    found = setters(
        {"tags": ["red", "blue"]},
        {"tags": ["new", "red", "blue"]},
        {"tags": ["new", "blue", "last"]},
    )
    assert found == {"tags": "3 set", "tags[0]": "2 add", "tags[1]": "1", "tags[2]": "3 add"}


def test_a_field_of_an_element_is_followed_with_its_element() -> None:
    a, b = {"sku": "ink", "n": 1, "note": "blue"}, {"sku": "pen", "n": 2, "note": "fine"}
    found = setters({"lines": [a, b]}, {"lines": [b, a]}, {"lines": [{**b, "n": 3}, a]})
    assert found["lines[0].n"] == "3 set"
    assert found["lines[0].sku"] == "1"
    assert found["lines[1].n"] == "1"


def test_elements_of_one_and_the_same_version_are_not_listed() -> None:
    assert setters({"tags": ["red", "blue"]}, {"x": 1, "tags": ["red", "blue"]}) == {"x": "2 add", "tags": "1"}
    assert setters({"x": 1}, {"x": 1, "tags": ["red", "blue"]}) == {"x": "1", "tags": "2 add"}


def test_a_change_over_a_gap_is_a_range_for_elements_too() -> None:
    found = setters({"tags": ["red"]}, None, {"tags": ["red", "blue"]}, {"tags": ["red", "blue", "tan"]})
    assert found["tags[0]"] == "1"
    assert found["tags[1]"] == "2-3 add"
    assert found["tags[2]"] == "4 add"


def test_an_array_that_was_something_else_before_was_set_there_as_a_whole() -> None:
    found = setters({"tags": "red"}, {"tags": ["red"]}, {"tags": ["red", "blue"]})
    assert (found["tags[0]"], found["tags[1]"]) == ("2 set", "3 add")
    found = setters({}, {"in": {"tags": ["red"]}}, {"in": {"tags": ["red", "blue"]}})
    assert (found["in.tags[0]"], found["in.tags[1]"]) == ("2 add", "3 add")


def test_a_long_array_stays_one_field() -> None:
    long = list(range(1001))
    assert setters({"n": long}, {"n": [*long, 7]}) == {"n": "2 set"}


def test_reading_goes_on_until_the_elements_are_known_too() -> None:
    seen: list[int] = []

    def versions() -> Any:
        for one in history({"t": [1]}, {"t": [1, 2]}, {"t": [1, 2, 3]}, {"t": [1, 2, 4]}):
            assert one.v is not None
            seen.append(one.v.python())
            yield one

    assert [key_text(one.key) for one in blamed(versions(), ("_id",))] == ["t", "t[0]", "t[1]", "t[2]"]
    assert seen == [4, 3, 2, 1]


@given(st.lists(st.lists(st.integers(0, 6), max_size=6), min_size=1, max_size=6))
@support.examples(200)
def test_an_element_has_its_value_from_the_version_that_set_it_on(arrays: list[list[int]]) -> None:
    contents = [{"t": each} for each in arrays]
    for one in chain(history(*contents)).blame():
        if len(one.path) == 2 and one.op:
            assert one.version.v is not None
            at = int(one.version.v.python()) - 1
            value = canonical.get(canonical.encode(contents[-1]), one.path)
            assert value is not None
            assert value.python() in contents[at]["t"]
