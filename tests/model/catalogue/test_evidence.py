"""Rows of evidence: they add up, the lowest limit holds, and a row that rules out ends the search."""

from __future__ import annotations

from model.recognition.evidence import Grounds, Sign, fixed, unless, weighed, where

TABLE: tuple[Sign[int], ...] = (
    Sign("base", "every number", weighs=fixed(0.5), says=lambda n: f"the number is {n}"),
    Sign("even", "its last bit", weighs=where(lambda n: n % 2 == 0, 0.3, -0.1), says=lambda n: "" if n % 2 else "even"),
    Sign("large", "its size", leaves=unless(lambda n: n > 100, 0.6)),
    Sign("negative", "its sign", leaves=unless(lambda n: n < 0), says=lambda n: "below zero" if n < 0 else ""),
    Sign("end", "nothing", says=lambda n: "all asked"),
)


def test_weights_add_up_and_clauses_make_the_sentence() -> None:
    made = weighed(TABLE, 4)
    assert round(made.confidence, 2) == 0.8
    assert made.why == "The number is 4; even; all asked."
    assert made.stands
    assert made.ruled_out_by == ""


def test_what_speaks_against_a_candidate_lowers_it_or_limits_it() -> None:
    assert round(weighed(TABLE, 5).confidence, 2) == 0.4
    assert [ground.name for ground in weighed(TABLE, 5).rows if ground.against] == ["even"]
    assert weighed(TABLE, 200).confidence == 0.6
    assert [ground.name for ground in weighed(TABLE, 200).rows if ground.against] == ["large"]


def test_nothing_is_asked_behind_what_rules_a_candidate_out() -> None:
    made = weighed(TABLE, -2)
    assert made.confidence == 0.0
    assert not made.stands
    assert made.ruled_out_by == "negative"
    assert [ground.name for ground in made.rows] == ["base", "even", "large", "negative"]


def test_rows_of_two_tables_come_to_one_verdict() -> None:
    both = weighed(TABLE, 4).and_then(weighed(TABLE[2:3], 200))
    assert both.confidence == 0.6
    assert Grounds().why == ""
