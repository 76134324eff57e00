"""Where the tests find the project and their cases, and how deep they go."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from _pytest.mark.structures import ParameterSet
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


def table(
    names: str, cases: Iterable[object], ids: Iterable[str] | Callable[[Any], str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on every case of a table, as one test: ``parametrize`` for many cases that share their fixtures.

    All cases run. The first failure is raised, and names its case and all others that failed.
    """
    heads = [name.strip() for name in names.split(",")]
    marked = [case if isinstance(case, ParameterSet) else pytest.param(case) for case in cases]
    rows = [tuple(case.values[0]) if len(case.values) == 1 < len(heads) else tuple(case.values) for case in marked]
    if callable(ids):
        said = ["-".join(str(ids(value)) for value in row) for row in rows]
    else:
        said = [case.id or _said(row) for case, row in zip(marked, rows, strict=True)] if ids is None else list(ids)
    run = [
        (name, dict(zip(heads, row, strict=True)))
        for name, row, case in zip(said, rows, marked, strict=True)
        if deep or all(mark.name != "deep" for mark in case.marks)
    ]

    def over_all(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def whole(**fixtures: object) -> None:
            failed: list[tuple[str, BaseException]] = []
            skipped: list[BaseException] = []
            for name, case in run:
                try:
                    test(**fixtures, **case)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception) as failure:
                    failed.append((name, failure))
            if failed:
                failure = failed[0][1]
                failure.add_note(f"{len(failed)} of {len(run)} cases failed: {', '.join(name for name, _ in failed)}")
                raise failure
            if run and len(skipped) == len(run):
                raise skipped[0]

        signature = inspect.signature(test)
        left = [each for name, each in signature.parameters.items() if name not in heads]
        whole.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return whole

    return over_all


def _said(row: Iterable[object]) -> str:
    """What names a case: its values, shortened."""
    return "-".join(str(value)[:40] for value in row)
