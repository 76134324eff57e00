"""A command in a process of its own that is killed at one of its writes, really: by SIGKILL."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pymongo import monitoring
from pymongo.synchronous.pool import Connection

WRITES = ("insert", "update", "delete", "findAndModify")
Moment: TypeAlias = Literal["before", "unanswered", "answered"]
MOMENTS: tuple[Moment, ...] = ("before", "unanswered", "answered")
"""Before a write is sent; once its answer has come and nobody has read that; once it is read, and noted nowhere."""
PROCESSES = multiprocessing.get_context("forkserver")
KILLED = -signal.SIGKILL
Subject: TypeAlias = Callable[[list[str]], int]
"""What a process does: the command line, or a script in its place."""


class _Executioner(monitoring.CommandListener):
    """Counts the writes of this process, and ends it at one of them."""

    def __init__(self, at: int, moment: Moment) -> None:
        self.at, self.moment, self.writes = at, moment, 0
        self.due = False  # the answer that comes next is that of the write

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        if event.command_name not in WRITES:
            return
        self.writes, number = self.writes + 1, self.writes
        if number != self.at:
            return
        if self.moment == "before":
            _die()
        self.due = True

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        pass

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        pass

    def receiving(self, real: Callable[..., Any], connection: Any, *asked: Any) -> Any:
        """Read an answer, unless the process ends before it or behind it."""
        if not self.due:
            return real(connection, *asked)
        if self.moment == "unanswered":
            select.select([connection.conn.get_conn], [], [])
            _die()
        real(connection, *asked)
        return _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _victim(subject: Subject, words: list[str], home: Path, at: int, moment: Moment) -> None:
    os.environ["PALIMPSEST_HOME"] = str(home)
    executioner, real = _Executioner(at, moment), Connection.receive_message
    monitoring.register(executioner)
    Connection.receive_message = lambda *asked: executioner.receiving(real, *asked)  # type: ignore[method-assign]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        status = subject(words)
    (home.parent / f"{home.name}.said").write_text(f"{executioner.writes} {status}\n{out.getvalue()}", "utf-8")


def command(words: list[str]) -> int:
    """The program itself."""
    from model.commands import command_line

    return command_line.main(words)


def run(
    subject: Subject, words: list[str], home: Path, at: int = -1, moment: Moment = "before"
) -> tuple[int, int, str]:
    """Run a subject, killed at a write counted from 0 if it has so many.

    The number of writes, the exit status and what it said; the status of a process that was killed is ``KILLED``.
    """
    PROCESSES.set_forkserver_preload(["model.commands.command_line", "model.session", "tests.killed_plans.scenes"])
    process = PROCESSES.Process(target=_victim, args=(subject, words, home, at, moment))
    process.start()
    process.join()
    if process.exitcode == KILLED:
        return at, KILLED, ""
    assert process.exitcode == 0, f"{words} ended with {process.exitcode}"
    first, _, said = (home.parent / f"{home.name}.said").read_text("utf-8").partition("\n")
    writes, status = map(int, first.split())
    return writes, status, said
