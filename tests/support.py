"""Where the tests find the project and their cases, and how deep they go."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent
CASES = Path(__file__).parent / "cases"
deep = False
"""Whether ``--deep`` was given; set before any test is imported."""
T = TypeVar("T")


def by_depth(quick: T, whole: T) -> T:
    """How much a test does: a slice of it, or with ``--deep`` the whole."""
    return whole if deep else quick


def examples(number: int) -> settings:
    """Settings of hypothesis for a law: so many examples with ``--deep``, else a tenth of them."""
    return settings(max_examples=by_depth(max(number // 10, 5), number))


def every(step: int, cases: Iterable[object]) -> list[object]:
    """Cases for ``parametrize``: the first and each ``step``-th after it, and with ``--deep`` all of them."""
    return [case if at % step == 0 else pytest.param(case, marks=pytest.mark.deep) for at, case in enumerate(cases)]


def naming(uri: str, database: str) -> str:
    """A server's URI that names a database."""
    head, mark, options = uri.partition("?")
    return f"{head.rstrip('/')}/{database}{mark}{options}"
