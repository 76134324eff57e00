"""The source of the next version's number, by a profile's ``numbering``; :func:`promise` tells the promises of each.

``next``: the number read, plus one; the unique index or the guard lets only one writer have it.
``loop``: as ``next``; an edit that names no base is made again on the newest version where somebody was faster.
``time``: the clock in milliseconds, and always later than the version read; clocks that disagree make long jumps.
``counter:db.collection``: a document ``{_id: <id>, seq: n}`` for each document hands out numbers; a writer that dies or
loses leaves a gap.

Where a version is a document of its own, clock and counter do not keep writers apart: two that began from one version
would get two numbers, both inserts would go through, and the higher would hide the lower. There the version that is
followed is marked first with the number of the one to come (:func:`claimed`): whoever marks it decides, all others who
began there insert under the same number, and the unique index lets one of them in.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import NamedTuple

from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.server.guards import by_id, exact, physical_id, unchanged
from model.server.retry import Port, Terms, Write
from model.storage.numbering_ways import WAYS
from model.storage.reserved_fields import number_of, time_of, version_damage, whole_number
from model.values import canonical as c
from model.values.canonical import Value

TRIES = 20
MARKED = " The version that is followed is marked with the number of the next one ({claim}), which keeps writers apart."
UNMARKED = " Nothing keeps two writers apart without a token to mark versions by, so edits are refused."
TOLD = " A number that the mark leaves out is no gap: nobody used it."
UNTOLD = " Here they are not marked: a gap is told as either, and no repair is offered for it."
MILLISECOND = dt.timedelta(milliseconds=1)


def promise(profile: CollectionProfile, own_documents: bool) -> str:
    """A few sentences on how versions of a collection get their numbers, with the promises and limits of that."""
    said = WAYS[profile.numbering.partition(":")[0]]
    if own_documents and not decides(profile, None):
        said += MARKED.format(claim=f"{profile.token}_next") if profile.token else UNMARKED
    if profile.numbering.startswith("counter:"):
        said += TOLD if own_documents and profile.token else UNTOLD
    return said


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
    return profile.numbering in ("next", "loop") and (base is None or base.type != c.DATE)


def claimed(server: Port, ns: str, base: bytes, names: Sequence[str], claim: str, number: Callable[[], Value]) -> Value:
    """The number of the version that follows ``base``: the one it is marked with, else ``number``, and so marked.

    A mark is set where there is none and never changed, so that one which lands late does no harm either.
    """
    physical = physical_id(base)
    where = unchanged(base, names)
    for _ in range(TRIES):
        raw = next(iter(server.find(ns, where, limit=1)), None)
        if raw is None:
            return number()  # it is gone, or another: the writer will see that
        if (there := c.get(raw, (claim,))) is not None:
            return there
        drawn = number()
        reply = server.send(marking(ns, physical, where, claim, drawn))
        if reply.applied == "yes":
            return drawn
        if reply.error is not None and reply.applied == "no":
            raise reply.error
    raise Refused("The number of the next version could not be settled; try again.")


def marking(ns: str, physical: Value, where: Terms, claim: str, number: Value) -> Write:
    """The write that marks a version with the number of the next one, if it is not marked."""
    body = {"$set": {claim: number}}
    return Write(
        ns, "update", by_id(physical) | dict(where) | exact(claim, None), body, "the number of the next version"
    )


def drawing(server: Port, profile: CollectionProfile, id: Value, proposed: Value) -> tuple[Value, Write | None]:
    """The number that the profile's counter would hand out now, and the write that draws it; None without a counter."""
    ns = profile.numbering.removeprefix("counter:")
    wanted = number_of(proposed)
    if ns == profile.numbering or proposed.type == c.DATE or wanted is None:
        return proposed, None
    raw = next(iter(server.find(ns, by_id(id), limit=1)), None)
    if raw is None:
        return proposed, Write(ns, "insert", {}, c.document([("_id", id), ("seq", proposed)]), "the counter begins", ())
    seq = c.get(raw, ("seq",))
    number = number_of(seq)
    if seq is None or number is None or version_damage(seq):
        raise Refused(f"The counter for this document in {ns} is no whole number; mend that first.")
    drawn = whole_number(max(number + 1, wanted), seq)
    body = {"$set": {"seq": drawn}}
    return drawn, Write(ns, "update", by_id(id) | exact("seq", seq), body, "the counter hands out the number")


def draw(server: Port, profile: CollectionProfile, id: Value, proposed: Value) -> Value:
    """The number that the profile's counter hands out, never below ``proposed``; that itself without a counter.

    Each number goes to one writer: the counter moves by a guarded write, and one in doubt is left unused.
    """
    for _ in range(TRIES):
        drawn, write = drawing(server, profile, id, proposed)
        if write is None:
            return drawn
        reply = server.send(write)
        if reply.applied == "yes":
            return drawn
        lost = reply.duplicate is not None and write.is_lost_to(reply.duplicate)
        if reply.error is not None and not lost and reply.applied == "no":
            raise reply.error
    ns = profile.numbering.removeprefix("counter:")
    raise Refused(f"The counter for this document in {ns} is moved by others all the time; try again.")


class VersionPlace(NamedTuple):
    """A collection with stored versions, the path that names the document in each, and what else tells them."""

    ns: str
    id: str
    where: Terms = MappingProxyType({})
