"""The words offered while a person types a filter, an order or a list of fields."""

from __future__ import annotations

import pytest

from gui.parts.completion import in_fields, in_filter, in_order
from model.browsing.field_survey import FieldUse


def use(path: str, kind: str) -> FieldUse:
    return FieldUse(path, ((kind, 1),), 1)


FIELDS = (
    use("_id", "String"), use("status", "String"), use("state", "Int32"), use("at", "Date"), use("premium", "Object"),
    use("premium.gross", "Decimal128"), use("riders", "Array"), use("riders.code", "String"), use("net.eur", "Double"),
)  # fmt: skip


def offered(typed: str, asked: bool = False) -> list[str]:
    """The words at the place of the bar in a filter."""
    offer = in_filter(typed.replace("|", ""), typed.index("|"), FIELDS, asked)
    return [] if offer is None else [each.word for each in offer.choices]


def taken(typed: str, word: str) -> str:
    """The filter once a word was taken."""
    text = typed.replace("|", "")
    offer = in_filter(text, typed.index("|"), FIELDS, True)
    assert offer is not None
    text_of = {each.word: each.text for each in offer.choices}
    return text[: offer.start] + text_of[word] + text[offer.end :]


def test_a_field_is_offered_by_its_beginning_and_then_by_any_part() -> None:
    assert offered("{ sta|") == ["status", "state"]
    assert offered("{ gross|") == ["premium.gross"]
    assert offered("{ a: 1, st|") == ["status", "state"]


def test_nothing_is_offered_before_a_letter_is_typed_unless_somebody_asks() -> None:
    assert offered("{ |") == []
    assert offered("{ |", asked=True)[: len(FIELDS)] == [each.path for each in FIELDS]
    assert offered("|") == []
    assert offered("|", asked=True) == [each.path for each in FIELDS]


def test_behind_a_field_operators_are_offered_and_at_the_top_those_that_join_conditions() -> None:
    assert offered("{ status: { $g|") == ["$gt", "$gte", "$regex"][:2]
    assert offered("{ $an|") == ["$and"]
    assert offered("{ $or: [ { sta|") == ["status", "state"]
    assert "$gt" not in offered("{ $or: [ { $|")


def test_inside_an_element_of_an_array_its_own_fields_are_offered() -> None:
    assert offered("{ riders: { $elemMatch: { c|") == ["code"]


def test_a_value_is_offered_in_the_notation_of_the_type_that_the_field_has() -> None:
    assert offered("{ at: I|") == ['ISODate("")']
    assert offered("{ 'premium.gross': { $gte: N|")[0] == 'NumberDecimal("")'
    assert offered("{ status: t|") == ["true"]
    assert offered('{ status: "t|') == []  # inside a text


def test_a_word_that_is_whole_already_is_not_offered() -> None:
    assert offered("{ status|") == []


@pytest.mark.parametrize(
    ("typed", "word", "becomes"),
    [
        ("{ sta|", "status", "{ status: "),
        ("{ gr|", "premium.gross", '{ "premium.gross": '),
        ('{ "gr|', "premium.gross", '{ "premium.gross": '),
        ('{ "gr|"', "premium.gross", '{ "premium.gross"'),
        ("{ sta|: 1 }", "status", "{ status: 1 }"),
        ("{ status: { $e|", "$eq", "{ status: { $eq: "),
        ("{ at: I|", 'ISODate("")', '{ at: ISODate("")'),
        ("sta|", "status", "{ status: "),
        ("prem|", "premium.gross", '{ "premium.gross": '),
    ],
)
def test_a_word_takes_the_place_of_what_was_typed_with_the_quotes_it_needs(typed: str, word: str, becomes: str) -> None:
    assert taken(typed, word) == becomes


def test_in_an_order_the_ways_are_offered_behind_a_field() -> None:
    def words(typed: str) -> list[str]:
        offer = in_order(typed, len(typed), FIELDS)
        return [] if offer is None else [each.word for each in offer.choices]

    assert words("sta") == ["status", "state"]
    assert words("status de") == ["descending"]
    assert words("status descending, -gro") == ["premium.gross"]
    assert words("{ gro") == ["premium.gross"]


def test_in_a_list_of_fields_the_one_that_is_typed_is_completed() -> None:
    typed = "status, gro"
    offer = in_fields(typed, len(typed), FIELDS)
    assert offer is not None
    assert typed[: offer.start] + offer.choices[0].text == "status, premium.gross"
