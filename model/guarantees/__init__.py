"""A server's real guarantees, measured in a scratch database, in words that a team can act on.

Some servers speak the protocol, yet let two writers win one swap; others lack an index, a type or a clock. Each
guarantee is measured separately: a server may enforce unique indexes and still lose swaps.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from model.errors import Cancelled, NotAllowed, Refused, Unreachable
from model.foundation.guarantee import Guarantee, Verdict
from model.foundation.records import Checkpoint, no_checkpoint
from model.guarantees import fidelity, races, replies
from model.guarantees.races import WRITERS, Race
from model.guarantees.scratch import Scratch
from model.server import guards
from model.server.retry import Server
from model.values.canonical import EMPTY

ROUNDS, QUICK_ROUNDS = 100, 25
SKEW = dt.timedelta(seconds=2)
WRONG = dt.timedelta(hours=1)


def check(
    server: Server, quick: bool = False, checkpoint: Checkpoint = no_checkpoint, database: str = ""
) -> Iterator[Guarantee]:
    """Measure each guarantee in turn; ``quick`` measures only swaps and unique indexes, in a second or two.

    It writes only into a ``database`` of its own, by default a new one, which is dropped at the end. Raises
    ``NotAllowed`` if that database may not be written, ``Unreachable`` if the server is lost, and the errors of
    ``checkpoint``.
    """
    rounds = QUICK_ROUNDS if quick else ROUNDS
    total = 2 * rounds if quick else 2 * rounds + 7
    done = 0

    def step(at: int, _: int | None = None) -> None:
        checkpoint(done + at, total)

    with Scratch(server, database) as scratch:
        yield _swaps(scratch, rounds, step)
        done += rounds
        yield _unique(scratch, rounds, step)
        done += rounds
        if quick:
            return
        for measure in (_types, _order, _exact, _names, _retries, _streams, _clock):
            step(0)
            try:
                yield measure(scratch)
            except Unreachable:
                raise
            except Refused as error:
                name, title = _TITLES[measure.__name__.removeprefix("_")]
                yield Guarantee(name, title, "unknown", f"It could not be measured: {error}")
            done += 1
        step(0)


_TITLES = {
    "swaps": ("swaps", "Atomic swaps"),
    "unique": ("unique", "Unique indexes"),
    "types": ("types", "Types come back exact"),
    "order": ("order", "Fields keep their order"),
    "exact": ("exact", "Values compare exactly"),
    "names": ("names", "Odd field names"),
    "retries": ("retries", "Retryable writes"),
    "streams": ("streams", "Change streams"),
    "clock": ("clock", "Clock"),
}


def _made(name: str, verdict: Verdict, detail: str, advice: str = "") -> Guarantee:
    check, title = _TITLES[name]
    return Guarantee(check, title, verdict, detail, advice)


def _swaps(scratch: Scratch, rounds: int, step: Checkpoint) -> Guarantee:
    race = races.swaps(scratch, rounds, step)
    if race.shared or race.wins > race.stored:
        return _made(
            "swaps",
            "unsafe",
            f"{WRITERS} writers swapped the same version: in {race.shared} of {race.rounds} rounds more than one was "
            f"told that it won ({race.wins} wins for {race.stored} versions).",
            "Edits can be lost here without anybody being told: do not let several writers work on this server.",
        )
    return _passed("swaps", race, f"swapped the same version {race.rounds} times: exactly one won, every time.")


def _unique(scratch: Scratch, rounds: int, step: Checkpoint) -> Guarantee:
    try:
        race = races.insertions(scratch, rounds, step)
    except (Cancelled, Unreachable):
        raise
    except NotAllowed as error:
        return _made("unique", "unknown", f"It could not be measured: {error}")
    except Refused as error:
        return _made(
            "unique",
            "unsafe",
            f"No unique index can be made: {error}",
            "Layouts with a document for every version, and archives, cannot be written safely here.",
        )
    if race.shared or race.stored > race.rounds:
        return _made(
            "unique",
            "unsafe",
            f"{WRITERS} writers inserted the same key: in {race.shared} of {race.rounds} rounds more than one got in "
            f"({race.stored} documents for {race.rounds} keys).",
            "Two documents can carry the same id and version here: do not let several writers work on this server.",
        )
    return _passed("unique", race, f"inserted the same key {race.rounds} times: exactly one got in, every time.")


def _passed(name: str, race: Race, said: str) -> Guarantee:
    """The verdict of a race without losses: safe if the race proves anything."""
    if race.unknown or race.wins < race.rounds:
        why = f": {race.trouble}" if race.trouble else "."
        doubt = f"Only {race.wins} of {race.rounds} rounds had a winner that is known{why}"
        return _made(name, "unknown", doubt, "Run the check again on a quiet connection.")
    return _made(name, "safe", f"{WRITERS} writers {said}")


def _types(scratch: Scratch) -> Guarantee:
    common, rare = fidelity.types(scratch, fidelity.COMMON), fidelity.types(scratch, fidelity.RARE)
    refused = ", ".join((*common.refused, *rare.refused))
    changed = ", ".join((*common.changed, *rare.changed))
    parts = [f"{len(common.same) + len(rare.same)} kinds of value come back byte for byte."]
    if changed:
        parts.append(f"Changed silently: {changed}.")
    if refused:
        parts.append(f"Refused: {refused}.")
    detail = " ".join(parts)
    if common.changed:
        return _made("types", "unsafe", detail, "Do not store these here: what is read is not what was written.")
    if changed or refused:
        return _made("types", "limited", detail, "Keep these kinds of value out of documents on this server.")
    return _made("types", "safe", detail)


def _order(scratch: Scratch) -> Guarantee:
    found = fidelity.orders(scratch)
    added = "" if found.added else " $set adds new fields in an order of its own."
    if not found.inserted:
        return _made(
            "order",
            "unsafe",
            f"An inserted document comes back with its fields in another order.{added}",
            "Hashes of stored documents mean nothing here; do not use the layout hashed.",
        )
    if not found.replaced:
        why = f" {found.trouble}" if found.trouble else ""
        return _made(
            "order",
            "limited",
            f"Inserted documents keep their order; a replacement comes back in another one.{why}{added}",
            "Compare what was stored, not what was sent, before trusting a hash.",
        )
    return _made("order", "safe", f"Inserted and replaced documents keep the order of their fields.{added}")


def _exact(scratch: Scratch) -> Guarantee:
    id = scratch.insert("exact", EMPTY)
    able = guards.abilities(scratch.server, scratch.ns("exact"), id)
    if able.texts and able.root and able.arrays:
        return _made("exact", "safe", "Filters can tell 1.0 from 1.00, 0.0 from -0.0, and one order from another.")
    missing = [
        what
        for what, there in (
            ("1.0 from 1.00 and 0.0 from -0.0", able.texts),
            ("whole documents with their order", able.root),
            ("arrays element by element", able.arrays),
        )
        if not there
    ]
    return _made(
        "exact",
        "limited",
        f"Filters cannot tell apart: {'; '.join(missing)}.",
        "Edits are guarded by version and token; where a guard on content would be too loose, it is refused.",
    )


def _names(scratch: Scratch) -> Guarantee:
    refused = fidelity.names(scratch)
    if fidelity.doubles_the_id(scratch):
        return _made(
            "names",
            "limited",
            "A document that a pipeline writes whole, with its _id, comes back with two fields _id.",
            "Edits from here leave the _id out; other programs must too: such a document can never be written again.",
        )
    if fidelity.damages_dots(scratch):
        return _made(
            "names",
            "limited",
            "An edit of another field harms a document in which a field's name has a dot.",
            "Keep such names out of this server: other programs can damage such documents.",
        )
    if refused:
        return _made(
            "names",
            "limited",
            f"Fields cannot be stored whose names have {' or '.join(refused)}.",
            "Such fields of a dump or another server cannot be brought here.",
        )
    return _made("names", "safe", "Names with dots, with a dollar in front, and empty ones are stored as they are.")


def _retries(scratch: Scratch) -> Guarantee:
    facts = scratch.server.facts()
    times = replies.times_counted(scratch)
    if times == 1:
        return _made("retries", "safe", "A write that was sent twice under one number took effect once.")
    if times > 1 and facts.topology != "standalone" and scratch.server.resends:
        return _made(
            "retries",
            "limited",
            "A write that was sent twice under one number took effect twice, and drivers resend on this server. Writes "
            "from here survive that: their guards match only once.",
            "Add retryWrites=false to the addresses of other programs.",
        )
    if times > 1 and facts.topology != "standalone":
        return _made(
            "retries",
            "limited",
            "A write that was sent twice under one number took effect twice; this connection does not resend.",
            "Keep retryWrites=false in the address, and add it to those of other programs.",
        )
    return _made(
        "retries",
        "limited",
        "The server does not recognise a write that it has seen before, as standalone servers do not.",
        "A lost answer is settled by the write token; where a collection may have none, the outcome is unknown.",
    )


def _streams(scratch: Scratch) -> Guarantee:
    if why := replies.tells_of_changes(scratch):
        return _made(
            "streams",
            "limited",
            f"There are no change streams. {why}",
            "An archive can only be fed by asking again and again, which misses what changes in between.",
        )
    return _made("streams", "safe", "A change stream reported an insert.")


def _clock(scratch: Scratch) -> Guarantee:
    off = replies.clock(scratch)
    if off is None:
        return _made("clock", "unknown", "The server does not say what time it has.")
    seconds = abs(off.total_seconds())
    if seconds < SKEW.total_seconds():
        return _made("clock", "safe", f"The server's clock is within {max(seconds, 0.05):.1f} s of this computer's.")
    how = f"The server's clock is {_span(seconds)} behind this computer's."
    if off > dt.timedelta(0):
        how = f"The server's clock is {_span(seconds)} ahead of this computer's."
    advice = "Set both clocks by a time server: the ages of tokens and versions depend on them."
    return _made("clock", "unsafe" if seconds >= WRONG.total_seconds() else "limited", how, advice)


def _span(seconds: float) -> str:
    for name, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {name}"
    return f"{seconds:.0f} seconds"
