"""How the next version gets its number, by a profile's ``numbering``; :func:`promise` states the guarantees.

``next``: the number read, plus one; the unique index or the guard lets only one writer have it. ``loop``: as
``next``, but an edit that names no base is repeated on the newest version if somebody was faster. ``time``: the clock
in milliseconds, and always later than the version read; clocks that disagree make long jumps.
``counter:db.collection``: a document ``{_id: <id>, seq: n}`` per document hands out numbers; a writer that fails
leaves a gap.

If each version is a document, clock and counter do not separate writers: two that started from one version would get
two numbers, both inserts would succeed, and the higher would hide the lower. So the version read is first marked with
the number of the next one (:func:`claimed`). Whoever sets the mark decides; all others who started there insert with
the same number, and the unique index accepts one.
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
TOLD = " A number that the mark leaves out is not a gap: nobody used it."
UNTOLD = " Here they are not marked: a gap is told as either, and no repair is offered for it."
MILLISECOND = dt.timedelta(milliseconds=1)


def promise(profile: CollectionProfile, own_documents: bool) -> str:
    """A few sentences on how a collection's versions get their numbers, and what that guarantees."""
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
    """The number after ``base``, before a counter is asked; raises ``Refused`` if ``base`` is not a version number."""
    if base is None or version_damage(base):
        what = "has none" if base is None else f"is a {base.kind}"
        raise Refused(f"A version is a whole number or a date, and this document's {what}; mend that first.")
    if base.type == c.DATE:
        earlier = time_of(base)
        if earlier is None:
            raise Refused("The version of this document is a date beyond the year 9999; mend that first.")
        # The clock of whoever wrote the base may be ahead of this one.
        return Value.of(max(now, earlier + MILLISECOND))
    if profile.numbering == "time":
        raise Refused("The profile numbers versions by time, and this document's version is a number; correct either.")
    number = number_of(base)
    assert number is not None
    if number >= 2**63 - 1:
        raise Refused("The version of this document is the largest number there is; mend that first.")
    return whole_number(number + 1, base)


def decides(profile: CollectionProfile, base: Value | None) -> bool:
    """Whether the number alone separates writers, because it follows from the base."""
    return profile.numbering in ("next", "loop") and (base is None or base.type != c.DATE)


def claimed(server: Port, ns: str, base: bytes, names: Sequence[str], claim: str, number: Callable[[], Value]) -> Value:
    """The number of the version after ``base``: the one with which it is marked, else ``number``, which becomes the
    mark.

    An existing mark is never changed, so a mark that arrives late does no harm.
    """
    physical = physical_id(base)
    where = unchanged(base, names)
    for _ in range(TRIES):
        raw = next(iter(server.find(ns, where, limit=1)), None)
        if raw is None:
            return number()  # it is gone or changed: the write itself will detect that
        if (there := c.get(raw, (claim,))) is not None:
            return there
        drawn = number()
        reply = server.send(marking(ns, physical, where, claim, drawn))
        if reply.applied == "yes":
            return drawn
        # Otherwise somebody else has marked it, or the mark may still arrive: look again.
        if reply.error is not None and reply.applied == "no":
            raise reply.error
    raise Refused("The number of the next version could not be settled; try again.")


def marking(ns: str, physical: Value, where: Terms, claim: str, number: Value) -> Write:
    """The write that marks a version with the next one's number, unless it has a mark."""
    body = {"$set": {claim: number}}
    return Write(
        ns, "update", by_id(physical) | dict(where) | exact(claim, None), body, "the number of the next version"
    )


def drawing(server: Port, profile: CollectionProfile, id: Value, proposed: Value) -> tuple[Value, Write | None]:
    """The number that the profile's counter would give now, and the write that draws it; None without a counter."""
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
        raise Refused(f"The counter for this document in {ns} is not a whole number; mend that first.")
    # A counter that is behind, as after an import, catches up.
    drawn = whole_number(max(number + 1, wanted), seq)
    body = {"$set": {"seq": drawn}}
    return drawn, Write(ns, "update", by_id(id) | exact("seq", seq), body, "the counter hands out the number")


def draw(server: Port, profile: CollectionProfile, id: Value, proposed: Value) -> Value:
    """The next number of the profile's counter, at least ``proposed``; ``proposed`` itself without a counter.

    Each number goes to one writer: the counter moves by a guarded write. A number whose write is in doubt is never
    used.
    """
    for _ in range(TRIES):
        drawn, write = drawing(server, profile, id, proposed)
        if write is None:
            return drawn
        reply = server.send(write)
        if reply.applied == "yes":
            return drawn
        # Somebody else began the counter at this moment: the next try draws from theirs.
        lost = reply.duplicate is not None and write.is_lost_to(reply.duplicate)
        if reply.error is not None and not lost and reply.applied == "no":
            raise reply.error
    ns = profile.numbering.removeprefix("counter:")
    raise Refused(f"The counter for this document in {ns} is changed by others all the time; try again.")


class VersionPlace(NamedTuple):
    """A collection of stored versions, the path of the document's id in each, and what else identifies them."""

    ns: str
    id: str
    where: Terms = MappingProxyType({})
