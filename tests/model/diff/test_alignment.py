"""Sequences aligned, ordered and merged by line: exact where promised, correct everywhere."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Hashable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.diff import alignment, common_order, diff, text_comparison
from model.diff.text_comparison import apply_edits, compare, inverse_edits, text_edits
from model.merge.line_merge import merge_lines
from model.values import canonical as c
from model.values.canonical import Value
from tests import support

few = st.lists(st.integers(0, 4), max_size=9)


def _longest(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """The length of the longest common subsequence, the plain way."""
    row = [0] * (len(b) + 1)
    for x in a:
        before = 0
        for j, y in enumerate(b):
            before, row[j + 1] = row[j + 1], before + 1 if x == y else max(row[j + 1], row[j])
    return row[-1]


def _check(a: Sequence[Hashable], b: Sequence[Hashable], pairs: list[tuple[int, int]]) -> None:
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(x[0] < y[0] and x[1] < y[1] for x, y in itertools.pairwise(pairs))


@given(few, few)
@support.examples(300)
def test_an_alignment_is_the_longest_there_is(a: list[int], b: list[int]) -> None:
    found = alignment.align(a, b)
    _check(a, b, found.pairs)
    assert len(found.pairs) == _longest(a, b)
    assert not found.coarse
    assert alignment.myers(a, b, 100) is not None
    assert len(alignment.lcs(a, b)) == len(alignment.myers(a, b, 100) or []) == _longest(a, b)


def test_each_method_finds_the_longest_in_longer_sequences() -> None:
    chance = random.Random(7)
    for kinds in (3, 50, 10_000):
        a = [chance.randrange(kinds) for _ in range(300)]
        b = [x for x in a if chance.random() > 0.1]
        for _ in range(20):
            b.insert(chance.randrange(len(b)), chance.randrange(kinds))
        pairs = alignment.align(a, b).pairs
        _check(a, b, pairs)
        assert len(pairs) == _longest(a, b)


def test_beyond_the_bounds_the_alignment_is_right_and_says_that_it_is_coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "LCS_BITS", 400)
    monkeypatch.setattr(alignment, "MYERS_BOUND", 3)
    chance = random.Random(8)
    a = [chance.randrange(9) for _ in range(60)] + ["anchor"] + [chance.randrange(9) for _ in range(10)]
    b = [chance.randrange(9) for _ in range(10)] + ["anchor"] + [chance.randrange(9) for _ in range(60)]
    found = alignment.align(a, b)
    _check(a, b, found.pairs)
    assert found.coarse
    assert (60, 10) in found.pairs


def test_many_equal_elements_do_not_make_it_slow() -> None:
    a = [0] * 200_000
    b = list(a)
    chance = random.Random(9)
    for _ in range(150):
        b[chance.randrange(len(b))] = 1
        a[chance.randrange(len(a))] = 1
    _check(a, b, alignment.align(a, b).pairs)


@given(st.permutations(range(5)), st.permutations(range(5)), st.permutations(range(5)))
@support.examples(300)
def test_an_agreed_order_turns_round_what_one_side_did(base: list[int], mine: list[int], theirs: list[int]) -> None:
    def before(order: list[int], x: int, y: int) -> bool:
        return order.index(x) < order.index(y)

    found = common_order.agreed(base, mine, theirs)
    assert found == common_order.agreed(base, theirs, mine)
    if found is None:
        return
    for x, y in itertools.combinations(base, 2):
        changed = before(mine, x, y) != before(base, x, y) or before(theirs, x, y) != before(base, x, y)
        assert before(found, x, y) == (before(base, x, y) != changed)


def test_an_order_of_thousands_merges_by_the_stretches_that_stay_together() -> None:
    base = list(range(5000))
    mine = [*base[100:], *base[:100]]
    theirs = [*base[:3000], 4000, *base[3000:4000], *base[4001:]]
    found = common_order.agreed(base, mine, theirs)
    assert found is not None
    assert found[0] == 100
    assert found.index(4000) == found.index(3000) - 1
    assert found[-1] == 99


@given(st.text("ab \n", max_size=30), st.text("ab \n", max_size=30))
@support.examples(300)
def test_edits_lead_there_and_back(old: str, new: str) -> None:
    found = text_edits(old, new)
    assert apply_edits(old, found) == new
    assert apply_edits(new, inverse_edits(found)) == old
    assert bool(found) == (old != new)
    ends = [(at, at + len(removed)) for at, removed, _ in found]
    assert all(x[1] < y[0] for x, y in itertools.pairwise(ends))


NAME = "A name and an address, long enough to be compared by its words: "


@support.table(
    "old, new, gone, come",
    [
        ("Cafe\u0301 noir", "Cafe\u0300 noir", "e\u0301", "e\u0300"),
        ("Cafe noir", "Cafe\u0301 noir", "e", "e\u0301"),
        ("Cafe\u0301 noir", "Caf\u0301 noir", "fe\u0301", "f\u0301"),
        ("हिन्दी में", "हिन्दु में", "दी", "दु"),
        ("the \U0001f469\u200d\U0001f469\u200d\U0001f467.", "the \U0001f469\u200d\U0001f469\u200d\U0001f466.",
         "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f469\u200d\U0001f469\u200d\U0001f466"),
        ("\U0001f44d\U0001f3fb yes", "\U0001f44d\U0001f3ff yes", "\U0001f44d\U0001f3fb", "\U0001f44d\U0001f3ff"),
        ("naïve", "naive", "ï", "i"),
        ("end\r\n", "end\n", "\r", ""),
    ],
)  # fmt: skip
def test_no_edit_parts_a_letter_from_its_mark(old: str, new: str, gone: str, come: str) -> None:
    found, _ = compare(NAME + old, NAME + new)
    assert [(removed, inserted) for _, removed, inserted in found] == [(gone, come)]
    assert apply_edits(NAME + old, found) == NAME + new


def test_lines_that_all_changed_are_not_all_compared_by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.diff.text_comparison._MOST_BITS", 2000)
    blocks = [" ".join(f"{i}w{k}" for k in range(10)) for i in range(20)]
    old, new = ("\nsame\n".join(one.replace("w1", w).replace("w8", w) for one in blocks) for w in ("w", "changed"))
    found, coarse = compare(old, new)
    assert apply_edits(old, found) == new
    assert coarse
    assert found[0][1:] == ("0w", "0changed")
    assert found[-1][1] == "19w 19w2 19w3 19w4 19w5 19w6 19w7 19w"
    assert not compare(old[:100], new[:100])[1]


def test_a_very_large_change_of_text_is_coarser_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in ("text_comparison.LCS_BITS", "alignment.LCS_BITS", "alignment.MYERS_BOUND"):
        monkeypatch.setattr(f"model.diff.{bound}", 3)
    old, new = "a b c d e f g h i j k\n" * 5, "k a j b i c h d g e f\n" * 5
    found, coarse = compare(old, new)
    assert coarse
    a, b = (c.document([("text", Value.of(text * 3))]) for text in (old, new))
    (op,) = changes = diff(a, b)
    assert op.op == "replace"  # nothing was found to be kept
    assert changes.coarse
    assert apply_edits(old, found) == new
    assert apply_edits("other", found) is None


@support.table("between", ["\n", " "])
def test_edits_far_apart_in_a_long_text_are_found(between: str) -> None:
    words = [f"w{i}" for i in range(12_000)]
    changed = ["W0", *words[1:6_000], "more", *words[6_000:-1], "last"]
    found, coarse = compare(between.join(words), between.join(changed))
    assert not coarse
    assert len(found) == 3
    assert apply_edits(between.join(words), found) == between.join(changed)


def test_lines_far_apart_in_a_long_text_merge() -> None:
    base = [f"line {i}" for i in range(12_000)]
    mine, theirs = ["first", *base[1:-1], "last"], [*base[:6_000], "theirs", *base[6_000:]]
    merged = ["first", *theirs[1:-1], "last"]
    assert merge_lines(*("\n".join(lines) for lines in (base, mine, theirs))) == ("\n".join(merged), False)


def test_changes_of_lines_that_overlap_one_another_all_along_are_one_conflict_found_in_time() -> None:
    base = [f"line {i}" for i in range(9_900)]
    mine, theirs = (
        [f"{who} {i}" if (i - shift) % 4 < 3 else line for i, line in enumerate(base)]
        for who, shift in (("mine", 0), ("theirs", 2))
    )
    start = time.process_time()
    merged, conflict = merge_lines(*("\n".join(lines) for lines in (base, mine, theirs)))
    assert time.process_time() - start < 1
    assert conflict
    assert merged == "\n".join(mine + theirs)


@given(few, few, few)
@support.examples(200)
def test_lines_merge_by_the_same_laws(base: list[int], mine: list[int], theirs: list[int]) -> None:
    b, m, t = ("\n".join(map(str, lines)) for lines in (base, mine, theirs))
    assert merge_lines(b, m, b) == merge_lines(b, b, m) == merge_lines(b, m, m) == (m, False)
    one, other = merge_lines(b, m, t), merge_lines(b, t, m)
    assert one[1] == other[1]
    if not one[1]:
        assert one == other


LINES_AND_WORDS = st.text(st.sampled_from("ab.,- \t\n\r\x0b\x85\u2028\u00e9!"), max_size=60)


@given(LINES_AND_WORDS, LINES_AND_WORDS)
def test_a_text_that_is_taken_apart_in_pieces_has_the_same_edits(old: str, new: str) -> None:
    whole = compare(old, new)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_comparison, "_AT_ONCE", 1)
        assert compare(old, new) == whole
        patch.setattr(text_comparison, "_NEAR", 2)
        assert compare(old, new) == whole


def test_a_word_in_a_line_of_millions_is_found_and_too_many_lines_are_told_as_one_stretch() -> None:
    line, word = "word and word, ", "other, "
    assert compare(line * 200_000, line * 150_000 + word + line * 50_000) == ([(len(line) * 150_000, "", word)], False)
    old, new = "a\n" * 600_000, "b\n" * 600_000
    assert compare(old, new) == ([(0, old, new)], True)
