"""Counters that are raised in two steps, and the tokens that remain if a writer dies between them.

Step one adds a token to a document's ``pending`` list; step two removes it and raises the counter in one write. A
remaining token is finished by sending exactly the step two that its writer would have sent::

    {_id, pending: t, applied: {$ne: t}}   →   {$pull: {pending: t}, $inc: {count: 1}, $push: {applied: t}}

``$push`` is sent only if the collection keeps an ``applied`` list. The token in the filter is the guard: a second
write matches nothing, so it does no harm to repeat it, late or twice. Only ``applied`` can detect a step one that
arrives after its step two. So counting from here always keeps that list, and it guards step one too::

    {_id, pending: {$ne: t}, applied: {$ne: t}}   →   {$push: {pending: t}}

A token can also be dropped, which forgets its event; each of the four steps is the inverse of another one. A token
that is pending and applied was counted already and is only removed. A counter that is missing, or is null because a
sum over nothing was stored in it, counts from zero; if it holds anything else than a number, a person must decide.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Literal, TypeAlias

from bson import Int64, ObjectId
from msgspec import Struct
from msgspec.structs import replace

from model import text
from model.errors import Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Checkpoint, Outcome, PendingToken, no_checkpoint
from model.server.guards import by_id, exact
from model.server.retry import End, Port, Write, run
from model.storage.foreign_guard import raised_with
from model.text.names import id_name
from model.values import canonical
from model.values.canonical import Value
from model.values.decimals import CONTEXT, decimal_of, decimal_value
from model.values.kinds import NUMBERS

# For these types a server's equality is exact; it is not for 1 and 1.0, or for null and a missing field.
_EXACT = (canonical.OBJECT_ID, canonical.STRING, canonical.BINARY, canonical.DATE, canonical.OBJECT)
_OWNERS = ("owner", "by", "writer", "host")
_AMOUNTS = ("amount", "inc", "n")

Step: TypeAlias = Literal["add", "finish", "drop", "back"]
INVERSE: dict[Step, Step] = {"add": "drop", "drop": "add", "finish": "back", "back": "finish"}


class TwoStepCounters(Struct, frozen=True):
    """The counters of one collection: the names of their fields, and their grace period."""

    ns: str
    pending: str
    applied: str
    counter: str
    keeps_applied: bool  # finished tokens are noted in ``applied``
    grace: dt.timedelta  # a younger token may belong to a living writer
    lock: str = ""  # another program's lock field, which rises by one with each step


def counters(server: Port, profile: CollectionProfile) -> TwoStepCounters:
    """The counters of a collection; one query tells whether finished tokens are kept."""
    kept = next(server.find(profile.ns, {profile.applied: {"$exists": True}}, projection={"_id": 1}, limit=1), None)
    return replace(named(profile), keeps_applied=kept is not None)


def named(profile: CollectionProfile) -> TwoStepCounters:
    """The counters of a collection from its field names alone, without a query.

    :func:`within` tells for a single document whether finished tokens are kept.
    """
    name = profile.counter or "count"
    return TwoStepCounters(
        profile.ns, profile.pending, profile.applied, name, False, profile.grace, profile.counted_lock
    )


def tokens(
    server: Port, of: TwoStepCounters, now: dt.datetime, checkpoint: Checkpoint = no_checkpoint
) -> Iterator[PendingToken]:
    """Every token in a ``pending`` list, document by document in the order of their ids."""
    shown = {of.pending: 1, of.applied: 1, of.counter: 1}
    left = server.find(of.ns, {f"{of.pending}.0": {"$exists": True}}, sort={"_id": 1}, projection=shown)
    done = 0
    for raw in left:
        for token in tokens_of(raw, of, now):
            done += 1
            checkpoint(done, None)
            yield token


def find(server: Port, of: TwoStepCounters, id: Value, token: Value, now: dt.datetime) -> PendingToken | None:
    """One token in its current state; None if it is no longer pending."""
    for raw in server.find(of.ns, {"_id": id}, limit=1):
        return token_in(raw, of, token, now)
    return None


def token_in(
    raw: bytes | None, of: TwoStepCounters, token: Value, now: dt.datetime | None = None
) -> PendingToken | None:
    """One token in a document that was read; None if it is not pending there."""
    listed = tokens_of(raw, of, now or dt.datetime.now(dt.UTC)) if raw is not None else ()
    return next((each for each in listed if each.token == token), None)


def tokens_of(raw: bytes, of: TwoStepCounters, now: dt.datetime) -> Iterator[PendingToken]:
    """The tokens in the ``pending`` list of one stored document."""
    id = canonical.get(raw, ("_id",))
    pending = canonical.get(raw, _steps(of.pending))
    if id is None or pending is None or pending.type != canonical.ARRAY:
        return
    applied = canonical.get(raw, _steps(of.applied))
    listed = set(canonical.items(applied)) if applied is not None and applied.type == canonical.ARRAY else set()
    counter = canonical.get(raw, _steps(of.counter))
    # A token that is listed twice counts once: one write takes out both.
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


def _problem(token: Value, applied: Value | None, of: TwoStepCounters, counter: Value | None, twice: bool) -> str:
    if token.type not in _EXACT:
        return f"The token {text.shown(token)} is a value of type {token.kind}, which no filter finds exactly."
    if applied is not None and applied.type != canonical.ARRAY:
        return f"{of.applied} is a value of type {applied.kind}, not a list; mend it by hand."
    if not twice and counter is not None and counter.type not in (*NUMBERS, canonical.NULL):
        return f"{of.counter} is {text.shown(counter)}, which is not a number; set it with an edit."
    if not twice and counter is not None and counter.type in (canonical.INT32, canonical.INT64):
        amount = _said_by(token)[2]
        if not -(2**63) <= int(counter.python()) + amount < 2**63:
            return f"{of.counter} is {text.shown(counter)} and has no room for {amount}; set it with an edit."
    return ""


def _said_by(token: Value) -> tuple[dt.datetime | None, str | None, int]:
    """Time, owner and amount that a token itself states."""
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
    """The result of ``$inc`` on a counter: its type stays, but an Int32 that overflows becomes Int64."""
    if counter is None or counter.type == canonical.NULL:
        return Value.of(amount)
    if counter.type == canonical.DECIMAL128:
        return decimal_value(CONTEXT.add(decimal_of(counter.data), Decimal(amount)))
    number = counter.python()
    return Value.of(Int64(number + amount) if counter.type == canonical.INT64 else number + amount)


def in_turn(tokens: Iterable[PendingToken]) -> list[tuple[Value | None, Value | None]]:
    """The counter before and after each token, if they are finished in sequence.

    A None before means a missing counter; a None after means that the counter cannot hold the sum, or that the token
    cannot be finished.
    """
    raised: dict[tuple[str, Value, str], Value | None] = {}
    made = []
    for token in tokens:
        place = token.ns, token.id, token.field
        before = raised.get(place, token.counter)
        if token.applied or token.problem:
            made.append((before, before if token.applied else None))
            continue
        try:
            raised[place] = after = _sum(before, token.amount)
        except OverflowError:
            after = None
        made.append((before, after))
    return made


# --- writing


def token_of(by: int, owner: str | None) -> Value:
    """A new token, which states its age, and its amount and owner if needed."""
    # It carries the time at which it was made, so whoever finds it left behind knows its age.
    made = ObjectId()
    if by == 1 and owner is None:
        return Value.of(made)
    said: list[tuple[str, object]] = [("t", made), ("amount", by), *([("owner", owner)] if owner is not None else [])]
    return Value.document(canonical.document((name, Value.of(part)) for name, part in said))


def stand(server: Port, of: TwoStepCounters, id: Value, token: Value) -> tuple[bytes | None, bool, bool]:
    """The document that a token belongs to, and whether it is pending and applied there, read at one moment."""
    for raw in server.find(of.ns, {"_id": id}):
        if canonical.get(raw, ("_id",)) != id:  # 1.0 was found for 1
            continue
        pending, applied = (canonical.get(raw, _steps(name)) for name in (of.pending, of.applied))
        return raw, token in _listed(pending), token in _listed(applied)
    return None, False, False


def _listed(value: Value | None) -> list[Value]:
    return canonical.items(value) if value is not None and value.type == canonical.ARRAY else []


def within(of: TwoStepCounters, raw: bytes) -> TwoStepCounters:
    """The counters as one document has them: it keeps finished tokens if it has a list for them."""
    lock = of.lock if of.lock and canonical.get(raw, (of.lock,)) is not None else ""
    keeps = of.keeps_applied or canonical.get(raw, _steps(of.applied)) is not None
    return replace(of, keeps_applied=keeps, lock=lock)


def hindrance(raw: bytes, of: TwoStepCounters, token: Value) -> str:
    """Why a token cannot be counted in this document, one sentence; "" if it can."""
    waiting, counter = canonical.get(raw, _steps(of.pending)), canonical.get(raw, _steps(of.counter))
    if waiting is not None and waiting.type != canonical.ARRAY:
        return f"{of.pending} is a value of type {waiting.kind}, not a list; mend it by hand."
    if counter is not None and counter.type == canonical.NULL:
        return ""
    return _problem(token, canonical.get(raw, _steps(of.applied)), of, counter, twice=False)


def token_at(of: TwoStepCounters, id: Value, token: Value, raw: bytes | None = None) -> PendingToken:
    """The token that somebody names; with its document, the counter is known too."""
    at, owner, amount = _said_by(token)
    counter = canonical.get(raw, _steps(of.counter)) if raw is not None else None
    after = _sum(counter, amount) if raw is not None else None
    return PendingToken(of.ns, id, token, owner, at, of.counter, amount, counter, after, False, False)


def new_document(of: TwoStepCounters, id: Value, token: Value) -> Write:
    """The insert of a counter's document with its first token; of several writers, the index on ``_id`` accepts one."""
    made = canonical.document([("_id", id), *([(of.lock, Value.of(0))] if of.lock else [])])
    parts = ((of.counter, Value.of(0)), (of.pending, canonical.array([token])), (of.applied, canonical.array([])))
    for name, value in parts:
        made = canonical.put(made, _steps(name), value)
    return Write(of.ns, "insert", {}, made, "a new counter", ())


def step_one(token: PendingToken, of: TwoStepCounters) -> Write:
    """The write that makes a token pending, unless it is pending or counted; a late duplicate matches nothing.

    It adds a missing ``applied`` list, so that whoever finishes the token notes it there.
    """
    guard = by_id(token.id) | {of.pending: {"$ne": token.token}}
    body: dict[str, object] = {"$push": {of.pending: token.token}}
    if of.keeps_applied:
        guard[of.applied] = {"$ne": token.token, "$type": "array"}
    else:
        guard[of.applied] = {"$exists": False}
        body["$set"] = {of.applied: canonical.array([])}
    return Write(of.ns, "update", guard, raised_with(body, of.lock), "add a token")


def step_two(server: Port, token: PendingToken, of: TwoStepCounters) -> Write:
    """The write that finishes a token; reads the document if the token is a document."""
    guard, body = _taken_out(server, token, of)
    if token.applied:
        guard[of.applied] = token.token
        return Write(of.ns, "update", guard, raised_with(body, of.lock), "take out a token that was counted already")
    # If the list was added meanwhile, the token has to be noted there, which this write would not do.
    guard[of.applied] = {"$ne": token.token} if of.keeps_applied else {"$exists": False}
    if token.counter is not None and token.counter.type == canonical.NULL:
        # $inc refuses null. The type test prevents overwriting a number that another writer has stored since.
        guard[of.counter] = {"$type": "null"}
        body["$set"] = {**body.get("$set", {}), of.counter: token.amount}
    else:
        body["$inc"] = {of.counter: token.amount}
    if of.keeps_applied:
        body["$push"] = {of.applied: token.token}
    return Write(of.ns, "update", guard, raised_with(body, of.lock), "finish a token")


def _taken_out(
    server: Port, token: PendingToken, of: TwoStepCounters
) -> tuple[dict[str, object], dict[str, dict[str, object]]]:
    """Filter and operators that remove a token from the list; reads the document if the token is a document.

    ``$pull`` treats a document as a condition, and would remove all tokens that meet it. Instead, the list is set to
    one without the token, guarded by the whole list.
    """
    guard = by_id(token.id) | {of.pending: token.token}
    if token.token.type == canonical.OBJECT and (waiting := _pending_now(server, token, of)) is not None:
        guard |= exact(of.pending, canonical.array(waiting))
        return guard, {"$set": {of.pending: canonical.array(t for t in waiting if t != token.token)}}
    return guard, {"$pull": {of.pending: token.token}}


def step_drop(server: Port, token: PendingToken, of: TwoStepCounters) -> Write:
    """The write that removes a token uncounted, while it is pending and not counted."""
    guard, body = _taken_out(server, token, of)
    guard = guard | {of.applied: {"$ne": token.token}}
    return Write(of.ns, "update", guard, raised_with(body, of.lock), "drop a token")


def step_back(token: PendingToken, of: TwoStepCounters) -> Write:
    """The inverse of :func:`step_two`: the token is pending again, and the counter lower by its amount."""
    guard = by_id(token.id) | {of.pending: {"$ne": token.token}}
    body: dict[str, object] = {"$push": {of.pending: token.token}}
    if token.applied:
        guard[of.applied] = token.token
        return Write(of.ns, "update", guard, raised_with(body, of.lock), "put a token back")
    body["$inc"] = {of.counter: -token.amount}
    if of.keeps_applied:
        guard[of.applied] = token.token
        body["$pull"] = {of.applied: token.token}
    return Write(of.ns, "update", guard, raised_with(body, of.lock), "put a token back")


def step(server: Port, token: PendingToken, of: TwoStepCounters, what: Step) -> Write:
    """The write of a step; reads the document if the token is a document."""
    if what in ("add", "back"):
        return step_one(token, of) if what == "add" else step_back(token, of)
    return step_two(server, token, of) if what == "finish" else step_drop(server, token, of)


def send(server: Port, token: PendingToken, of: TwoStepCounters, what: Step = "finish") -> Outcome:
    """Send a step, and return how it ended."""
    end = run(server, step(server, token, of, what), lambda: landed(server, token, of, what))
    now = _counter_now(server, token, of) if end.kind == "applied" else None
    outcome = _outcome(token, of, end, what, _now_said(of, now))
    return replace(outcome, value=now) if isinstance(now, Value) else outcome


def landed(server: Port, token: PendingToken, of: TwoStepCounters, what: Step) -> bool | None:
    """Whether a step is done, by anybody; None if nobody can tell.

    Without an ``applied`` list, a missing token counts as finished, although somebody may have dropped it just then.
    """
    raw, waits, counted = stand(server, of, token.id, token.token)
    if raw is None:
        return None
    if what in ("add", "back"):
        return waits or (what == "add" and counted)
    if waits:
        return False
    known = of.keeps_applied and not token.applied
    return counted is (what == "finish") if known else True


def _counter_now(server: Port, token: PendingToken, of: TwoStepCounters) -> Value | str | None:
    """The counter, read again because other writers raise it too; a clause if that fails."""
    try:
        for raw in server.find(of.ns, {"_id": token.id}, projection={of.counter: 1}, limit=1):
            return canonical.get(raw, _steps(of.counter))
    except Refused:
        return f"{of.counter} could not be read again"
    return "the document is gone since"


def _now_said(of: TwoStepCounters, now: Value | str | None) -> str:
    if isinstance(now, str):
        return now
    return f"{of.counter} is {'missing' if now is None else text.shown(now)} now"


def _pending_now(server: Port, token: PendingToken, of: TwoStepCounters) -> list[Value] | None:
    """The list that contains a token; None if its document or the list is missing."""
    for raw in server.find(of.ns, {"_id": token.id}, projection={of.pending: 1}, limit=1):
        left = canonical.get(raw, _steps(of.pending))
        return canonical.items(left) if left is not None and left.type == canonical.ARRAY else None
    return None


DONE: dict[Step, str] = {"add": "is pending", "finish": "was finished", "drop": "was dropped", "back": "was put back"}
_LEFT: dict[Step, str] = {
    "add": "could not be added",
    "finish": "could not be finished",
    "drop": "could not be dropped",
    "back": "could not be put back",
}


def _outcome(token: PendingToken, of: TwoStepCounters, end: End, what: Step, now: str) -> Outcome:
    kind, detail = end.kind, end.sentence
    name, owner = token_name(token.token), id_name(token.id)
    who = f"Token {name} of {owner}"
    if kind == "applied":
        counted = what == "finish" and token.applied
        done = "was taken out, as it was counted already" if counted else DONE[what]
        detail = f"Token {name} of {owner} {done}: {now}."
    elif kind == "conflict" and what in ("finish", "drop"):
        # Nothing matched, so the token is gone or has changed since it was listed: there is nothing to do here.
        return Outcome("skipped", of.ns, token.id, f"{who} changed since it was listed; nothing was written.")
    elif kind == "conflict":
        where = "is pending or was counted already" if what == "add" else "is pending again already"
        detail = f"Token {name} of {owner} {where}, or is not where it was left; nothing was written."
    return Outcome(kind, of.ns, token.id, detail or f"Token {name} of {owner} {_LEFT[what]}.")


def effect(token: PendingToken) -> str:
    """The effect of finishing a token, as a clause: ``would be finished: count + 1 (41 now)``."""
    if token.applied:
        return "would be taken out, as it was counted already"
    now = "none so far" if token.counter is None else f"{text.shown(token.counter)} now"
    return f"would be finished: {token.field} + {token.amount} ({now})"


def explain(token: PendingToken, what: Step = "finish") -> str:
    """The effect of the write and its guard, for the preview."""
    if what == "drop" and not token.applied:
        return (
            f"The token is taken out and {token.field} stays, in one write, and only while the token is still pending "
            "and not applied: what it stands for will not be counted."
        )
    if token.applied:
        return "The token was counted already and is only taken out, if it is still both pending and applied."
    return (
        f"{token.field} goes up by {token.amount} as the token is taken out, in one write, and only while the token is "
        "still pending and not applied: sending it twice changes nothing more."
    )


def token_name(token: Value) -> str:
    """A token as people read it: the hexadecimal digits of an ObjectId, else as displayed."""
    return str(token.python()) if token.type == canonical.OBJECT_ID else text.shown(token, limit=60)


def to_fields(token: PendingToken, of: TwoStepCounters) -> dict[str, str]:
    """What the journal keeps of a token to put it back."""
    return {
        "token": text.value_text(token.token),
        "pending": of.pending,
        "applied": of.applied,
        "counter": of.counter,
        "keeps_applied": "yes" if of.keeps_applied else "",
        "was_applied": "yes" if token.applied else "",
        "amount": str(token.amount),
        "lock": of.lock,
    }


def from_fields(ns: str, id: Value, kept: dict[str, str], grace: dt.timedelta) -> tuple[PendingToken, TwoStepCounters]:
    """The inverse of :func:`to_fields`, without the counter's value."""
    names, lock = (kept["pending"], kept["applied"], kept["counter"]), kept.get("lock", "")
    of = TwoStepCounters(ns, *names, bool(kept["keeps_applied"]), grace, lock)
    try:
        token = text.value_from_text(kept["token"])
    except (KeyError, ValueError):
        raise Unreadable("The journal's entry does not say which token it was; nothing can be put back.") from None
    at, owner, _ = _said_by(token)
    amount, was_applied = int(kept["amount"]), bool(kept["was_applied"])
    return PendingToken(ns, id, token, owner, at, of.counter, amount, None, None, True, was_applied), of


def step_of(kept: dict[str, str]) -> Step:
    """The step that a journal entry is about; older entries only state a direction."""
    for step in INVERSE:
        if kept.get("step") == step:
            return step
    return "back" if kept.get("direction") == "back" else "finish"


def _steps(name: str) -> tuple[str, ...]:
    return tuple(name.split("."))
