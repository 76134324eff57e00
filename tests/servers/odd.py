"""Servers that speak the protocol but behave in ways of their own, such as DocumentDB on PostgreSQL."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TypeVar

import pytest
from bson.int64 import Int64

from model.localserver import update_values, updates, write_commands
from model.localserver.command_table import CommandTable
from model.localserver.retryable_writes import Statements
from model.localserver.store import Collection, Index
from model.localserver.wire import Command
from model.mql import expressions, order
from model.mql.command_error import CommandError
from model.mql.filters import Matcher
from model.mql.order import Element
from model.values import canonical as c
from model.values.canonical import Value

T = TypeVar("T")


def two_ids(patch: pytest.MonkeyPatch) -> None:
    """A document that a pipeline writes whole with its ``_id`` gets a second one."""
    compiled = updates.compile_update

    def with_two(kind: int, data: bytes, filters: list[bytes] | None = None) -> updates.Update:
        update = compiled(kind, data, filters)
        if kind != c.ARRAY or b"$literal" not in data or not re.search(rb"[\x01-\x13]_id\x00", data):
            return update

        def doubled(old: bytes, inserting: bool, matcher: Matcher | None) -> bytes:
            kept = order.field(old, b"_id\x00")
            new = c.fields(update(old, inserting, matcher))
            return c.document(new if kept is None else [("_id", Value(*kept)), *new])

        return doubled

    patch.setattr(write_commands, "compile_update", with_two)


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


def duplicates_name_their_index(patch: pytest.MonkeyPatch) -> None:
    """A duplicate key is told by the index's name alone, in words of its own."""
    _duplicates_told(patch, "Duplicate key violation on the requested collection: Index '{index}'")


def duplicates_name_nothing(patch: pytest.MonkeyPatch) -> None:
    """A duplicate key is told by the collection's name alone."""
    _duplicates_told(patch, "E11000 duplicate key error collection: {ns}")


def _duplicates_told(patch: pytest.MonkeyPatch, words: str) -> None:
    def told(self: Collection, index: Index, raw: bytes) -> CommandError:
        return CommandError(11000, words.format(index=index.name, ns=self.ns))

    patch.setattr(Collection, "_duplicate", told)


def both_branches(patch: pytest.MonkeyPatch) -> None:
    """``$cond`` works both of its branches out, and fails where the one that is not taken does."""
    chosen = expressions._cond

    def eager(operand: Element) -> expressions.Expression:
        evaluate = chosen(operand)
        parts = [e for e in order.items(operand[1]) if e is not None]
        branches = [expressions.compile_expression(part) for part in parts]

        def work(scope: expressions.Scope) -> Element | None:
            for branch in branches:
                branch(scope)
            return evaluate(scope)

        return work

    patch.setitem(expressions._SPECIAL, "$cond", eager)


def equal_numbers_stay(patch: pytest.MonkeyPatch) -> None:
    """A ``$set`` to a value that differs in number types or digits alone changes nothing."""
    plain = update_values.setter

    def setter(value: Element) -> update_values.Change:
        change = plain(value)

        def kept(old: Element | None) -> Element | None:
            return old if old is not None and order.key(*old) == order.key(*value) else change(old)

        return kept

    patch.setitem(update_values.MAKE, "$set", lambda path, operand: setter(operand))


def time_in_milliseconds(patch: pytest.MonkeyPatch) -> None:
    """The server's greeting has its time as a number."""
    hello = CommandTable._hello

    def greeted(self: CommandTable, command: Command) -> bytes:
        return c.put(hello(self, command), ("localTime",), Value.of(Int64(time.time() * 1000)))

    patch.setattr(CommandTable, "_hello", greeted)


def dots_are_lost(patch: pytest.MonkeyPatch) -> None:
    """An update takes the fields out of a document whose names have a dot."""
    compiled = write_commands.compile_update

    def losing(kind: int, data: bytes, filters: list[bytes] | None = None) -> updates.Update:
        update = compiled(kind, data, filters)

        def kept(old: bytes, inserting: bool, matcher: Matcher | None) -> bytes:
            new = update(old, inserting, matcher)
            return c.without(new, [name for name, _ in c.fields(old) if "." in name])

        return kept

    patch.setattr(write_commands, "compile_update", losing)
