"""Sends a write that survives one failure: it repeats the guarded write once, and asks "did mine land?".

:mod:`model.server.port` defines a write and its outcome, :mod:`model.server.server` sends it; this module also
exports both names.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pymongo
from msgspec.structs import replace

from model.errors import Refused
from model.server.port import End, Port, Reply, Terms, Write, bson_of
from model.server.server import Server

__all__ = ["End", "Port", "Reply", "Server", "Terms", "Write", "bson_of", "run"]

FOUND = "The answer was lost, and exactly this content is there now, from this write or an equal one."
GRACE = 1.0  # extra seconds after the time-out to find out how a write in doubt ended


def run(server: Port, write: Write, landed: Callable[[], bool | None] | None, repeatable: bool = True) -> End:
    """Send a guarded write; in doubt ask ``landed``, and repeat the write once.

    ``landed`` looks for the write's token: True if it is there, False if not, None if nobody can tell. Without
    ``landed`` (no token) nothing is repeated and doubt ends as unknown; so does a write in doubt that is not
    ``repeatable``, unless it is found. A server that stops answering is given up ``GRACE`` after its time-out, even
    with questions left.
    """
    began = time.monotonic()
    first = server.send(write)
    if first.applied == "yes":
        return _clear(first, write)
    with _what_is_left(server, began):
        # Such as a lost race between two operations inside the server; the guard makes a second try harmless.
        if first.applied == "no" and first.retry:  # rejected, and nothing was done
            first = server.send(write)
        if first.applied != "unknown":
            end = _clear(first, write)
            if end.kind == "refused" and landed is not None and not server.read_only and _asked(landed) is True:
                # For example, mongo-java-server applies an update and then fails to answer.
                return End("applied", reply=first)
            return end
        # Without a token nobody can tell our write from an equal one, so nothing is repeated.
        if landed is None:
            return End("unknown", first.sentence, first)
        return _after_doubt(server, write, landed, repeatable, first)


def _after_doubt(server: Port, write: Write, landed: Callable[[], bool | None], repeatable: bool, first: Reply) -> End:
    """The end of a write whose first try may have been applied: it is looked for, and tried once more."""
    there = _asked(landed)
    if there is True:
        return End("applied", first.lasting or ("" if repeatable else FOUND), first)
    if there is False and not first.retry:  # the server answered, so nothing is on its way any more
        return End("refused", first.sentence, first)
    if not repeatable:
        return End("unknown", first.sentence, first)
    # Safe in every case: if the first try was applied, the guard does not fit any more, or the unique index refuses.
    second = server.send(write)
    if second.applied == "yes":
        return replace(_clear(second, write), retried=True)
    there = _asked(landed)
    if there is True:
        return End("applied", second.lasting, second, retried=True)
    # A clean "no match", or a duplicate of this very write, after doubt: the base is gone for good, so the first try
    # cannot land later. Anything else, even a refusal, says nothing about the first try.
    if there is False and second.applied == "no" and _missed(second, write):
        return End("conflict", reply=second, retried=True)
    return End("unknown", second.sentence or first.sentence, second, retried=True)


def _what_is_left(server: Port, began: float) -> AbstractContextManager[None]:
    """A time limit: what remains of the write's time, for looking and trying again."""
    patience = getattr(server, "patience", None)
    if patience is None:
        return nullcontext()  # a port without time limits, as in tests
    return pymongo.timeout(max(GRACE, patience + GRACE - (time.monotonic() - began)))


def _asked(landed: Callable[[], bool | None]) -> bool | None:
    try:
        return landed()
    except Refused:
        return None


def _clear(reply: Reply, write: Write) -> End:
    if reply.applied == "yes":
        return End("applied", reply.sentence, reply)
    return End("conflict" if _missed(reply, write) else "refused", reply.sentence, reply)


def _missed(reply: Reply, write: Write) -> bool:
    """Whether a write was not applied because its guard found another state."""
    return write.is_lost_to(reply.duplicate) if reply.duplicate is not None else not reply.sentence
