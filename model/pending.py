"""Counters that are raised in two steps, and the tokens left where a writer died between them.

Step one adds a token to a document's ``pending`` list, step two takes it out and raises the counter in one write.
A token that stays is finished by sending the very step two that its writer would have sent::

    {_id, pending: t, applied: {$ne: t}}   →   {$pull: {pending: t}, $inc: {count: 1}, $push: {applied: t}}

``$push`` only where the collection keeps an ``applied`` list. The token in the filter is the guard: whoever comes
second matches nothing, so a repeated, late or doubled write does no harm. A token that is pending and applied was
counted already and is only taken out. A counter that is missing, or null since a sum over nothing was stored in it,
counts from zero; one that holds anything else but a number is a person's decision. Nothing here adds up totals.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from bson import Decimal128, Int64, ObjectId
from bson.decimal128 import create_decimal128_context

from model import canonical, text
from model.canonical import Value
from model.errors import Refused, Unreadable
from model.guards import by_id, exact
from model.names import id_name
from model.profile import CollectionProfile
from model.records import Checkpoint, Outcome, PendingToken, no_checkpoint
from model.resilient import End, Port, Write, run

_NUMBERS = (canonical.DOUBLE, canonical.INT32, canonical.INT64, canonical.DECIMAL128)
# A server's equality tells these apart exactly; 1 and 1.0, or null and nothing, it does not.
_EXACT = (canonical.OBJECT_ID, canonical.STRING, canonical.BINARY, canonical.DATE, canonical.OBJECT)
_OWNERS = ("owner", "by", "writer", "host")
_AMOUNTS = ("amount", "inc", "n")
_CONTEXT = create_decimal128_context()


@dataclass(frozen=True)
class Counters:
    """How one collection keeps its counters."""

    ns: str
    pending: str
    applied: str
    counter: str
    keeps_applied: bool  # finished tokens are noted in ``applied``
    grace: dt.timedelta  # a younger token may still belong to a living writer


def counters(server: Port, profile: CollectionProfile) -> Counters:
    """The counters of a collection; one look into it tells whether finished tokens are kept."""
    kept = next(server.find(profile.ns, {profile.applied: {"$exists": True}}, projection={"_id": 1}, limit=1), None)
    name = profile.counter or "count"
    return Counters(profile.ns, profile.pending, profile.applied, name, kept is not None, profile.grace)


def tokens(
    server: Port, of: Counters, now: dt.datetime, checkpoint: Checkpoint = no_checkpoint
) -> Iterator[PendingToken]:
    """Every token in a ``pending`` list, document by document in the order of their ids."""
    shown = {of.pending: 1, of.applied: 1, of.counter: 1}
    left = server.find(of.ns, {f"{of.pending}.0": {"$exists": True}}, sort={"_id": 1}, projection=shown)
    done = 0
    for raw in left:
        for token in _tokens_of(raw, of, now):
            done += 1
            checkpoint(done, None)
            yield token


def find(server: Port, of: Counters, id: Value, token: Value, now: dt.datetime) -> PendingToken | None:
    """One token as it stands now; None where it is not pending any more."""
    for raw in server.find(of.ns, {"_id": id}, limit=1):
        return next((t for t in _tokens_of(raw, of, now) if t.token == token), None)
    return None


def _tokens_of(raw: bytes, of: Counters, now: dt.datetime) -> Iterator[PendingToken]:
    id = canonical.get(raw, ("_id",))
    pending = canonical.get(raw, _steps(of.pending))
    if id is None or pending is None or pending.type != canonical.ARRAY:
        return
    applied = canonical.get(raw, _steps(of.applied))
    listed = set(canonical.items(applied)) if applied is not None and applied.type == canonical.ARRAY else set()
    counter = canonical.get(raw, _steps(of.counter))
    for token in dict.fromkeys(canonical.items(pending)):
        at, owner, amount = _said_by(token)
        twice = token in listed
        problem = _problem(token, applied, of, counter, twice)
        yield PendingToken(
            ns=of.ns,
            id=id,
            token=token,
            owner=owner,
            at=at,
            field=of.counter,
            amount=0 if twice else amount,
            counter=counter,
            after=counter if twice else None if problem else _sum(counter, amount),
            stale=at is not None and now - at >= of.grace,
            applied=twice,
            problem=problem,
        )


def _problem(token: Value, applied: Value | None, of: Counters, counter: Value | None, twice: bool) -> str:
    if token.type not in _EXACT:
        return f"The token {text.shown(token)} is a value of type {token.kind}, which no filter finds exactly."
    if applied is not None and applied.type != canonical.ARRAY:
        return f"{of.applied} is a value of type {applied.kind} and no list; mend it by hand."
    if not twice and counter is not None and counter.type not in (*_NUMBERS, canonical.NULL):
        return f"{of.counter} is {text.shown(counter)}, which is no number; say by an edit what it is."
    return ""


def _said_by(token: Value) -> tuple[dt.datetime | None, str | None, int]:
    """Time, owner and amount that a token tells of itself."""
    if token.type == canonical.OBJECT_ID:
        return ObjectId(token.data).generation_time, None, 1
    if token.type != canonical.OBJECT:
        return None, None, 1
    at, owner, amount = None, None, 1
    for name, value in canonical.fields(token.data):
        if value.type == canonical.OBJECT_ID and at is None:
            at = ObjectId(value.data).generation_time
        elif value.type == canonical.STRING and name in _OWNERS:
            owner = str(value.python())
        elif value.type in (canonical.INT32, canonical.INT64) and name in _AMOUNTS:
            amount = int(value.python())
    return at, owner, amount


def _sum(counter: Value | None, amount: int) -> Value:
    """What ``$inc`` makes of a counter: its type stays, an Int32 that overflows becomes Int64."""
    if counter is None or counter.type == canonical.NULL:
        return Value.of(amount)
    number = counter.python()
    if isinstance(number, Decimal128):
        return Value.of(Decimal128(_CONTEXT.add(number.to_decimal(), Decimal(amount))))
    return Value.of(Int64(number + amount) if counter.type == canonical.INT64 else number + amount)


# --- writing


def step_two(server: Port, token: PendingToken, of: Counters) -> Write:
    """The write that finishes a token; reads where the token is a document.

    ``$pull`` takes a document for a condition, and would take out others that meet it. Such a token leaves by setting
    the list without it, guarded by the whole list.
    """
    guard = by_id(token.id) | {of.pending: token.token}
    body: dict[str, dict[str, object]] = {"$pull": {of.pending: token.token}}
    if token.token.type == canonical.OBJECT and (waiting := _pending_now(server, token, of)) is not None:
        guard |= exact(of.pending, canonical.array(waiting))
        body = {"$set": {of.pending: canonical.array(t for t in waiting if t != token.token)}}
    if token.applied:
        return Write(
            of.ns, "update", guard | {of.applied: token.token}, body, "take out a token that was counted already"
        )
    guard[of.applied] = {"$ne": token.token}
    if token.counter is not None and token.counter.type == canonical.NULL:
        # $inc refuses null. The type test keeps this from overwriting a number that another writer stored meanwhile.
        guard[of.counter] = {"$type": "null"}
        body["$set"] = {**body.get("$set", {}), of.counter: token.amount}
    else:
        body["$inc"] = {of.counter: token.amount}
    if of.keeps_applied:
        body["$push"] = {of.applied: token.token}
    return Write(of.ns, "update", guard, body, "finish a token")


def step_back(token: PendingToken, of: Counters) -> Write:
    """The inverse of :func:`step_two`: the token is pending again, and the counter without it."""
    guard = by_id(token.id) | {of.pending: {"$ne": token.token}}
    body: dict[str, object] = {"$push": {of.pending: token.token}}
    if token.applied:
        guard[of.applied] = token.token
        return Write(of.ns, "update", guard, body, "put a token back")
    body["$inc"] = {of.counter: -token.amount}
    if of.keeps_applied:
        guard[of.applied] = token.token
        body["$pull"] = {of.applied: token.token}
    return Write(of.ns, "update", guard, body, "put a token back")


def send(server: Port, token: PendingToken, of: Counters, back: bool = False) -> Outcome:
    """Send step two, or its inverse, and say how it ended."""

    def landed() -> bool | None:
        waiting = _pending_now(server, token, of)
        return None if waiting is None else (token.token in waiting) is back

    end = run(server, step_back(token, of) if back else step_two(server, token, of), landed)
    now = _counter_now(server, token, of) if end.kind == "applied" else ""
    return _outcome(token, of, end, back, now)


def _counter_now(server: Port, token: PendingToken, of: Counters) -> str:
    """The counter as a clause, read again: other writers raise it too."""
    try:
        for raw in server.find(of.ns, {"_id": token.id}, projection={of.counter: 1}, limit=1):
            counter = canonical.get(raw, _steps(of.counter))
            return f"{of.counter} is {'missing' if counter is None else text.shown(counter)} now"
    except Refused:
        return f"{of.counter} could not be read again"
    return "the document is gone since"


def _pending_now(server: Port, token: PendingToken, of: Counters) -> list[Value] | None:
    """The list that a token stands in; None where its document or the list is gone."""
    for raw in server.find(of.ns, {"_id": token.id}, projection={of.pending: 1}, limit=1):
        left = canonical.get(raw, _steps(of.pending))
        return canonical.items(left) if left is not None and left.type == canonical.ARRAY else None
    return None


def _outcome(token: PendingToken, of: Counters, end: End, back: bool, now: str) -> Outcome:
    kind, detail = end.kind, end.sentence
    who = f"Token {token_name(token.token)} of {id_name(token.id)}"
    if kind == "applied":
        how = "put back" if back else "taken out, as it was counted already" if token.applied else "finished"
        detail = f"{who} was {how}: {now}."
    elif kind == "conflict" and not back:
        # Nothing matched, so the token is gone or stands elsewhere than it was seen: the work is done or not ours.
        return Outcome("skipped", of.ns, token.id, f"{who} changed since it was listed; nothing was written.")
    elif kind == "conflict":
        detail = f"{who} is pending again already, or is not where it was left; nothing was written."
    return Outcome(kind, of.ns, token.id, detail or f"{who} could not be finished.")


def effect(token: PendingToken) -> str:
    """What finishing would do, in a clause: ``would be finished: count + 1 (41 now)``."""
    if token.applied:
        return "would be taken out, as it was counted already"
    now = "none so far" if token.counter is None else f"{text.shown(token.counter)} now"
    return f"would be finished: {token.field} + {token.amount} ({now})"


def explain(token: PendingToken) -> str:
    """What the write does and what guards it, for the preview."""
    if token.applied:
        return "The token was counted already and is only taken out, if it is still both pending and applied."
    return (
        f"{token.field} goes up by {token.amount} as the token is taken out, in one write, and only while the token is "
        "still pending and not applied: sending it twice changes nothing more."
    )


def token_name(token: Value) -> str:
    """A token as people read it: the hexadecimal digits of an ObjectId, else as it is displayed."""
    return str(token.python()) if token.type == canonical.OBJECT_ID else text.shown(token, limit=60)


def to_fields(token: PendingToken, of: Counters) -> dict[str, str]:
    """What the journal must keep of a token so that it can be put back."""
    return {
        "token": text.value_text(token.token),
        "pending": of.pending,
        "applied": of.applied,
        "counter": of.counter,
        "keeps_applied": "yes" if of.keeps_applied else "",
        "was_applied": "yes" if token.applied else "",
        "amount": str(token.amount),
    }


def from_fields(ns: str, id: Value, kept: dict[str, str], grace: dt.timedelta) -> tuple[PendingToken, Counters]:
    """The inverse of :func:`to_fields`; the counter's value is not part of it."""
    of = Counters(ns, kept["pending"], kept["applied"], kept["counter"], bool(kept["keeps_applied"]), grace)
    try:
        token = text.value_from_text(kept["token"])
    except (KeyError, ValueError):
        raise Unreadable("The journal's entry does not say which token it was; nothing can be put back.") from None
    at, owner, _ = _said_by(token)
    amount, was_applied = int(kept["amount"]), bool(kept["was_applied"])
    return PendingToken(ns, id, token, owner, at, of.counter, amount, None, None, True, was_applied), of


def _steps(name: str) -> tuple[str, ...]:
    return tuple(name.split("."))
