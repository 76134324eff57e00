"""A pytest plugin for :mod:`tests.hosted.suite`: a failure is skipped if the program said what the server lacks.

Outcomes say so, commands in their error messages, and refusals that a test does not expect. So does the server
itself, if a test uses plain PyMongo to store what the server does not support.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Generator
from typing import Any

import pytest
from pymongo.errors import DuplicateKeyError, OperationFailure

from model.commands import command_line
from model.foundation.records import Outcome
from tests.support import ROOT

LACKS = re.compile(
    r"[Tt]his server (cannot|has no|takes no|does not)|The server (refuses|does not accept the query|has no room left)"
)
_PRODUCT, _TESTS = (str(ROOT / room) + os.sep for room in ("model", "tests"))
told: list[str] = []
"""The sentences of this test so far."""
_made, _trouble = Outcome.__init__, command_line._trouble


def _noted(self: Outcome, *args: Any, **named: Any) -> None:
    _made(self, *args, **named)
    told.append(self.detail)


def _printed(sentence: str) -> int:
    told.append(sentence)
    return _trouble(sentence)


def pytest_configure() -> None:
    """Listen to the product."""
    setattr(Outcome, "__init__", _noted)  # noqa: B010
    setattr(command_line, "_trouble", _printed)  # noqa: B010


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None]:
    """Begin anew with each test."""
    told.clear()
    try:
        return (yield)
    except Exception as error:
        skip_if_told(error)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Make a skip of a failure that was told."""
    try:
        return (yield)
    except (Exception, pytest.fail.Exception) as error:
        skip_if_told(error)
        raise


def skip_if_told(error: BaseException) -> None:
    """Skip a test that has failed by an error where a lack was told, by the error itself too."""
    at: BaseException | None = error
    while at is not None:
        if isinstance(at, OperationFailure) and not isinstance(at, DuplicateKeyError) and not _from_the_product(at):
            pytest.skip(f"the server says: {str(at).partition(', full error')[0]}")
        told.append(str(at))
        at = at.__context__
    for sentence in told:
        if LACKS.search(sentence):
            pytest.skip(sentence)


def _from_the_product(error: BaseException) -> bool:
    """Whether the product let an error of the driver through, which it never should: none of a test that it calls."""
    names = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    own = [name for name in names if name.startswith((_PRODUCT, _TESTS))]
    return own[-1:] != [] and own[-1].startswith(_PRODUCT)
