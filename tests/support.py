"""Where the tests find the project and their cases, and how deep they go."""

from __future__ import annotations

import functools
import inspect
import json
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import settings

ROOT = Path(__file__).parent.parent
CASES = Path(__file__).parent / "cases"
deep = sliced = False
"""Whether ``--deep`` or ``--slice`` was given; set before any test is imported."""
seed = 0
"""What all that is drawn is drawn from; 0 in a quick run, and ``--seed`` says another."""
T = TypeVar("T")


def by_depth(quick: T, whole: T, a_slice: T | None = None) -> T:
    """How much a test does: a little of it, with ``--deep`` the whole, and with ``--slice`` what is named for that."""
    if deep:
        return whole
    return a_slice if sliced and a_slice is not None else quick


def seed_of(test: str) -> int:
    """The seed from which a test draws."""
    return zlib.crc32(f"{seed} {test}".encode())


@cache
def red_seeds() -> dict[str, list[int]]:
    """The seeds with which tests failed once, by the tests' ids without their cases."""
    red: dict[str, list[int]] = json.loads((CASES / "seeds.json").read_text("utf-8"))
    return red


def examples(number: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Try a law on so many examples with ``--deep``, on half with ``--slice``, else on a tenth of them."""
    times = settings(max_examples=by_depth(max(number // 10, 5), number, max(number // 2, 5)))

    def tried(law: Callable[..., None]) -> Callable[..., None]:
        return pytest.mark.slice(times(law))

    return tried


def every(step: int, cases: Iterable[object], in_slice: bool = False) -> list[object]:
    """Cases for ``parametrize``: the first and each ``step``-th after it, and with ``--deep`` all of them.

    With ``in_slice`` the others are run with ``--slice`` too.
    """
    marks = [pytest.mark.deep, pytest.mark.slice] if in_slice else [pytest.mark.deep]
    return [case if at % step == 0 else _marked(case, marks) for at, case in enumerate(cases)]


def _marked(case: object, marks: list[pytest.MarkDecorator]) -> ParameterSet:
    if isinstance(case, ParameterSet):
        return pytest.param(*case.values, marks=[*case.marks, *marks], id=case.id)
    return pytest.param(case, marks=marks)


def some(cases: Iterable[str], *quick: str) -> list[object]:
    """Cases for ``parametrize``: those that are named, and with ``--deep`` all of them."""
    found = list(cases)
    assert set(quick) <= set(found), f"no case is called {sorted({*quick} - {*found})}"
    return [case if case in quick else pytest.param(case, marks=pytest.mark.deep) for case in found]


def all_named(there: Iterable[str], told: Iterable[str], where: str) -> bool:
    """True where a place names all that there is and nothing beside; else an error that says what it has to gain."""
    known, named = set(there), set(told)
    assert known <= named, f"{where} lacks {', '.join(sorted(known - named))}; see Recipes in .github/CONTRIBUTING.md"
    assert named <= known, f"{where} names {', '.join(sorted(named - known))}, which there is not"
    return True


def naming(uri: str, database: str) -> str:
    """A server's URI that names a database."""
    head, mark, options = uri.partition("?")
    return f"{head.rstrip('/')}/{database}{mark}{options}"


def table(
    names: str, cases: Iterable[object], ids: Iterable[str] | Callable[[Any], str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on every case of a table, as one test: ``parametrize`` for many cases that share their fixtures.

    All cases run, each with a ``monkeypatch`` and a ``tmp_path`` of its own; they share the other fixtures. The first
    failure is raised, and names all that failed. A case that is marked for the slice takes the test into it.
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
        if _is_run({mark.name for mark in case.marks})
    ]

    def over_all(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def whole(**fixtures: object) -> None:
            failed: list[tuple[str, BaseException]] = []
            skipped: list[BaseException] = []
            for at, (name, case) in enumerate(run):
                try:
                    with pytest.MonkeyPatch.context() as patch:
                        test(**_own(fixtures, patch, at), **case)
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
        in_slice = any(mark.name == "slice" for case in marked for mark in case.marks)
        return pytest.mark.slice(whole) if in_slice else whole

    return over_all


def _is_run(marks: set[str]) -> bool:
    """Whether a case with these marks is run as deep as this run goes."""
    return deep or "deep" not in marks or (sliced and "slice" in marks)


def _own(fixtures: dict[str, object], patch: pytest.MonkeyPatch, at: int) -> dict[str, object]:
    """The fixtures for one case: those that no two cases may share are its own."""
    own: dict[str, object] = {}
    if "monkeypatch" in fixtures:
        own["monkeypatch"] = patch
    if isinstance(folder := fixtures.get("tmp_path"), Path):
        own["tmp_path"] = folder / f"case {at}"
        (folder / f"case {at}").mkdir(exist_ok=True)
    return fixtures | own


def _said(row: Iterable[object]) -> str:
    """What names a case: its values, shortened."""
    return "-".join(str(getattr(value, "__name__", value))[:40] for value in row)
