"""Two times of a collection, compared: how what became of a document is shown."""

from __future__ import annotations

import pytest

from gui.style import symbols
from gui.views.compare.times_panel import LOOKS
from model.over_time.as_of import Difference


@pytest.mark.parametrize("change", LOOKS)
def test_what_became_of_a_document_is_told_by_a_word_with_a_symbol_and_never_in_the_accent(change: Difference) -> None:
    badge = LOOKS[change]
    assert badge.text
    assert badge.symbol in (*symbols.CHANGES, "conflict")
    assert not badge.ink.startswith("acc")
