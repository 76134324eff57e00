"""Eight writers at once: whether a swap has one winner, and whether a unique index accepts one insert."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from bson import ObjectId
from msgspec import Struct

from model.errors import Refused, Unreachable
from model.foundation.records import Checkpoint
from model.guarantees.scratch import Scratch
from model.server.guards import by_id
from model.server.retry import Write, run
from model.values import canonical as c
from model.values.canonical import Value

WRITERS = 8
_PATIENCE = 60.0  # seconds that a writer waits for the others
LIMIT = 30.0  # seconds after which a race ends with the rounds done so far


class Race(Struct, frozen=True):
    """The result of some rounds; in each, all writers tried to win one thing."""

    rounds: int  # rounds done; fewer than requested if the server is slow
    wins: int  # writes that the server acknowledged
    shared: int  # rounds with more than one winner
    unknown: int  # writes whose outcome is unknown
    stored: int  # at the end: the version reached, or the documents there
    trouble: str = ""  # the first error message of refused writes


def swaps(scratch: Scratch, rounds: int, checkpoint: Checkpoint) -> Race:
    """In each round, all writers read one version and try to swap it for the next one, each with its own token.

    Every other round sends a replacement instead of an update, and two of four request the written document.
    ``stored`` is the version at the end.
    """
    ns, id = scratch.ns("swaps"), Value.of(ObjectId())
    scratch.command({"insert": "swaps", "documents": [{"_id": id, "v": 0}]})

    def read() -> int:
        raw = next(iter(scratch.server.find(ns, {"_id": id}, limit=1)), None)
        if raw is None:
            raise Refused("The document that the writers swap is not there; run the check again.")
        found = c.get(raw, ("v",))
        return int(found.python()) if found is not None else -1

    def swap(number: int) -> Write:
        base = read()
        guard, returns = by_id(id) | {"v": base}, number % 4 > 1
        # Both kinds of write, because a server may check the filter of one of them at another moment than it writes.
        if number % 2:
            body = c.document([("_id", id), ("v", Value.of(base + 1)), ("_w", Value.of(ObjectId()))])
            return Write(ns, "replace", guard, body, returns=returns)
        return Write(ns, "update", guard, {"$set": {"v": base + 1, "_w": ObjectId()}}, returns=returns)

    return _race(scratch, rounds, swap, read, checkpoint)


def insertions(scratch: Scratch, rounds: int, checkpoint: Checkpoint) -> Race:
    """In each round, all writers insert one key under a unique index. ``stored`` counts the documents at the end.

    Raises ``Refused`` if the index cannot be created.
    """
    ns = scratch.ns("unique")
    scratch.server.create_index(ns, {"docId": 1, "v": 1}, unique=True)

    def insert(number: int) -> Write:
        pairs = [("_id", ObjectId()), ("docId", "one"), ("v", number)]
        return Write(ns, "insert", {}, c.document((name, Value.of(value)) for name, value in pairs))

    most = rounds * WRITERS + 1  # so many at most are inserted, and a server may tell of more without end
    return _race(scratch, rounds, insert, lambda: sum(1 for _ in scratch.server.find(ns, limit=most)), checkpoint)


def _race(
    scratch: Scratch,
    rounds: int,
    write: Callable[[int], Write],
    stored: Callable[[], int],
    checkpoint: Checkpoint,
) -> Race:
    barrier, until = threading.Barrier(WRITERS, timeout=_PATIENCE), time.monotonic() + LIMIT
    lock = threading.Lock()
    wins: list[int] = []
    unanswered: list[int] = []  # writes per round; the race ends if a server answers none
    over = threading.Event()
    unknown: list[str] = []
    troubles: list[str] = []
    stop: list[BaseException] = []

    def work(first: bool) -> None:
        try:
            for number in range(rounds):
                if first:
                    checkpoint(number, rounds)
                    # A server that answers nobody would let each further round wait for its time-outs.
                    silent = unanswered[-1:] == [WRITERS]
                    unanswered.append(0)
                    if silent or (wins and time.monotonic() > until):
                        over.set()
                    else:
                        wins.append(0)
                made = write(number)
                barrier.wait()  # everybody has read this version
                if over.is_set():
                    return
                # Without a question whether it landed, so that nothing is repeated: the server is measured, not this
                # program.
                end = run(scratch.server, made, None)
                with lock:
                    unanswered[number] += end.reply is not None and isinstance(end.reply.error, Unreachable)
                    if end.kind == "applied":
                        wins[number] += 1
                    elif end.kind == "unknown":
                        unknown.append(end.sentence)
                    elif end.kind == "refused":
                        troubles.append(end.sentence)
                barrier.wait()  # and nobody reads before all have written
        except threading.BrokenBarrierError:
            pass  # another writer has stopped, and said why
        except BaseException as error:
            with lock:
                stop.append(error)
            # The others wait for this writer, and would wait for the whole of their patience.
            barrier.abort()

    writers = [threading.Thread(target=work, args=(False,), daemon=True) for _ in range(WRITERS - 1)]
    for each in writers:
        each.start()
    # One of the writers is this thread, because only it may call the checkpoint.
    work(True)
    for each in writers:
        each.join()
    if stop:
        raise stop[0]
    if barrier.broken:
        raise Refused("The writers could not be synchronised: the server did not answer in a minute; try again.")
    return Race(
        len(wins),
        sum(wins),
        sum(1 for each in wins if each > 1),
        len(unknown),
        stored(),
        (troubles or unknown or [""])[0],
    )
