"""The benchmark of long histories: it reads the history that it has made."""

from __future__ import annotations

import pytest

from tests.benchmarks.patches import measure


@pytest.mark.deep
def test_the_first_page_that_is_measured_is_what_was_written() -> None:
    assert measure("__histories", 600, "cpu") > 0
