"""Retryable writes: for each session, the answers to the statements of its last numbered write.

A statement that arrives again under its number is not repeated; its first answer is sent again. A failed statement
left nothing, and is tried again. Source: "Retryable Writes" in the MongoDB manual.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec import Struct, field

from model.localserver.wire import Command
from model.mql import order
from model.mql.command_error import CommandError

T = TypeVar("T")

MOST_SESSIONS = 10_000
TOO_OLD = 225


class Statements(Struct):
    """The answers to the statements of one numbered write."""

    number: int = -1
    answers: dict[int, Any] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def once(self, statement: int, work: Callable[[], T]) -> T:
        """The statement's earlier answer, else that of ``work``, done now."""
        if statement not in self.answers:
            self.answers[statement] = work()
        answer: T = self.answers[statement]
        return answer


class Retries:
    """The sessions of a replica set; several threads can use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[bytes, Statements] = OrderedDict()

    @contextmanager
    def of(self, command: Command) -> Iterator[Statements | None]:
        """The kept answers for a command's number, locked while it runs; None for a command without a number."""
        given = command.get("txnNumber")
        if given is None:
            yield None
            return
        if "autocommit" in command.fields or "startTransaction" in command.fields:
            raise CommandError(20, "Transactions are not supported here; only single writes can be repeated")
        session = command.document("lsid")
        if order.field(session, b"id\x00") is None:
            raise CommandError(72, "Transaction number requires a session ID to also be specified")
        number = command.integer("txnNumber")
        with self._lock:
            kept = self._sessions.setdefault(session, Statements())
            self._sessions.move_to_end(session)
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        with kept.lock:  # the first attempt may still be running
            if number < kept.number:
                raise CommandError(
                    TOO_OLD, f"Retryable write with txnNumber {number} is prohibited: {kept.number} has started"
                )
            if number > kept.number:
                kept.number, kept.answers = number, {}
            yield kept

    def end(self, command: Command) -> None:
        """Forget the sessions that a client has ended."""
        given = command.get("endSessions")
        with self._lock:
            for _, data in order.items(given[1]) if given is not None and given[0] == 4 else ():
                self._sessions.pop(data, None)
