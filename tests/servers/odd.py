"""Servers that speak the protocol and do things in a way of their own, as DocumentDB on PostgreSQL does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from model.localserver import updates
from model.localserver.retryable_writes import Statements
from model.localserver.store import Collection, Index
from model.mql.command_error import CommandError
from model.mql.order import Element
from model.values import canonical as c

T = TypeVar("T")


def two_ids(patch: pytest.MonkeyPatch) -> None:
    """A document that is written whole with its ``_id`` gets a second one."""
    kept_once = updates.with_id

    def with_two(new: bytes, kept: Element | None) -> bytes:
        if kept is None or not new.startswith(b"_id\x00", 5):
            return kept_once(new, kept)
        return c.document([("_id", c.Value(*kept)), *c.fields(new)])

    patch.setattr(updates, "with_id", with_two)


def forgetful(patch: pytest.MonkeyPatch) -> None:
    """A write that is sent twice under one number takes effect twice."""

    def again(self: Statements, statement: int, work: Callable[[], T]) -> T:
        return work()

    patch.setattr(Statements, "once", again)


def duplicates_are_any_error(patch: pytest.MonkeyPatch) -> None:
    """A unique index over duplicates is refused with the code for any error."""
    add_index = Collection.add_index

    def refusing(self: Collection, index: Index) -> None:
        try:
            add_index(self, index)
        except CommandError as error:
            raise CommandError(1, str(error)) from None

    patch.setattr(Collection, "add_index", refusing)
