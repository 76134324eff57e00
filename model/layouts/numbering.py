"""Where the next version's number comes from, by a profile's ``numbering``.

``next``: the number read, plus one; the unique index or the guard lets only one writer have it.
``time``: the clock in milliseconds, and always later than the version read; clocks that disagree make long jumps.
``counter:db.collection``: a document ``{_id: <id>, seq: n}`` for each document hands out numbers; a writer that dies or
loses leaves a gap, behind which the states of ``deltas`` are unproven.

Where a version is a document of its own, the last two do not keep writers apart: two that began from one version
would get two numbers, both inserts would go through, and the higher would hide the lower. There the version that is
followed is marked first with the number of the one to come (:func:`claimed`): whoever marks it decides, all others who
began there insert under the same number, and the unique index lets one of them in.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from model import canonical as c
from model.canonical import Value
from model.collection import CollectionProfile
from model.errors import Refused
from model.guards import by_id, exact, physical_id
from model.layouts.fields import number_of, time_of, version_damage, whole_number
from model.resilient import Port, Write

TRIES = 20
MILLISECOND = dt.timedelta(milliseconds=1)


def first(profile: CollectionProfile, now: dt.datetime) -> Value:
    """The version of a new document."""
    return Value.of(now) if profile.numbering == "time" else whole_number(1)


def following(base: Value | None, profile: CollectionProfile, now: dt.datetime) -> Value:
    """The version after ``base``, before any counter is asked; raises ``Refused`` where ``base`` is no version."""
    if base is None or version_damage(base):
        what = "has none" if base is None else f"is a {base.kind}"
        raise Refused(f"A version is a whole number or a date, and this document's {what}; mend that first.")
    if base.type == c.DATE:
        earlier = time_of(base)
        if earlier is None:
            raise Refused("The version of this document is a date beyond the year 9999; mend that first.")
        return Value.of(max(now, earlier + MILLISECOND))
    if profile.numbering == "time":
        raise Refused("The profile numbers versions by time, and this document's version is a number; correct either.")
    number = number_of(base)
    assert number is not None
    if number >= 2**63 - 1:
        raise Refused("The version of this document is the largest number there is; mend that first.")
    return whole_number(number + 1, base)


def decides(profile: CollectionProfile, base: Value | None) -> bool:
    """Whether the number itself keeps writers apart: it follows from the base alone."""
    return profile.numbering == "next" and (base is None or base.type != c.DATE)


def claimed(server: Port, ns: str, base: bytes, names: Sequence[str], claim: str, number: Callable[[], Value]) -> Value:
    """The number of the version that follows ``base``: the one it is marked with, else ``number``, and so marked.

    A mark is set where there is none and never changed, so that one which lands late does no harm either.
    """
    physical = physical_id(base)
    where = by_id(physical)
    for name in names:
        where |= exact(name, c.get(base, (name,)))
    for _ in range(TRIES):
        raw = next(iter(server.find(ns, where, limit=1)), None)
        if raw is None:
            return number()  # it is gone, or another: the writer will see that
        if (there := c.get(raw, (claim,))) is not None:
            return there
        drawn = number()
        unmarked = where | exact(claim, None)
        reply = server.send(Write(ns, "update", unmarked, {"$set": {claim: drawn}}, "the number of the next version"))
        if reply.applied == "yes":
            return drawn
        if reply.error is not None and reply.applied == "no":
            raise reply.error
    raise Refused("The number of the next version could not be settled; try again.")


def draw(server: Port, profile: CollectionProfile, id: Value, proposed: Value) -> Value:
    """The number that the profile's counter hands out, never below ``proposed``; that itself without a counter.

    Each number goes to one writer: the counter moves by a guarded write, and one in doubt is left unused.
    """
    ns = profile.numbering.removeprefix("counter:")
    wanted = number_of(proposed)
    if ns == profile.numbering or proposed.type == c.DATE or wanted is None:
        return proposed
    for _ in range(TRIES):
        raw = next(iter(server.find(ns, by_id(id), limit=1)), None)
        if raw is None:
            reply = server.send(Write(ns, "insert", {}, c.document([("_id", id), ("seq", proposed)])))
            drawn = proposed
        else:
            seq = c.get(raw, ("seq",))
            number = number_of(seq)
            if seq is None or number is None or version_damage(seq):
                raise Refused(f"The counter for this document in {ns} is no whole number; mend that first.")
            drawn = whole_number(max(number + 1, wanted), seq)
            reply = server.send(Write(ns, "update", by_id(id) | exact("seq", seq), {"$set": {"seq": drawn}}))
        if reply.applied == "yes":
            return drawn
        if reply.error is not None and not reply.duplicate and reply.applied == "no":
            raise reply.error
    raise Refused(f"The counter for this document in {ns} is moved by others all the time; try again.")
