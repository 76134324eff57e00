"""A server that speaks the protocol and lets two writers win one swap; a check must convict it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import pytest

from model.localserver import LocalServer
from model.localserver.store import Collection, Index
from model.localserver.wire import Command
from model.localserver.write_commands import WriteCommands
from model.mql.filters import compile_filter
from model.values import canonical as c
from model.values.canonical import Value

_TOGETHER = 0.005  # seconds that a writer waits for a second one, between looking and writing


@contextlib.contextmanager
def torn_server(monkeypatch: pytest.MonkeyPatch, swaps: bool = False, unique: bool = True) -> Iterator[LocalServer]:
    """An in-process server without atomic ``swaps``, or without ``unique`` indexes that hold."""
    update, add_index = WriteCommands._update, Collection.add_index
    meeting = threading.Barrier(2)

    def torn_update(
        self: WriteCommands, command: Command, name: str, raw: bytes, numbered: bool = False
    ) -> tuple[int, int, tuple[int, bytes] | None]:
        statement = dict(c.fields(raw))
        collection = self.store.get(command.database, name)
        matcher = compile_filter(statement["q"].data)
        hit = (
            next((each for _, each in collection.find(matcher)[0] if matcher.matches(each)), None)
            if collection
            else None
        )
        if hit is None:
            return update(self, command, name, raw, numbered)
        try:
            meeting.wait(_TOGETHER)
        except threading.BrokenBarrierError:
            meeting.reset()
        # What was found is written whatever became of it meanwhile.
        statement["q"] = Value.document(c.only(hit, ("_id",)))
        return update(self, command, name, c.document(statement.items()), numbered)

    def loose(self: Collection, index: Index) -> None:
        index.unique = False
        add_index(self, index)

    with monkeypatch.context() as patch:
        if not swaps:
            patch.setattr(WriteCommands, "_update", torn_update)
        if not unique:
            patch.setattr(Collection, "add_index", loose)
        with LocalServer() as server:
            yield server
