"""Where the next version's number comes from, by a profile's ``numbering``.

``next``: the number read, plus one; the unique index or the guard lets only one writer have it.
``time``: the clock in milliseconds, and always later than the version read; clocks that disagree make long jumps, never
a doubled version, because the same guard decides.
``counter:db.collection``: a document ``{_id: <id>, seq: n}`` for each document hands out numbers; a writer that dies or
loses leaves a gap.
"""

from __future__ import annotations

import datetime as dt

from model import canonical as c
from model.canonical import Value
from model.errors import Refused
from model.guards import by_id, exact
from model.layouts.fields import number_of, time_of, version_damage, whole_number
from model.profile import CollectionProfile
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
