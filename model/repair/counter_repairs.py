"""Repairs of counters: too low, not a number, or with tokens left between step one and step two."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from model import text
from model.checks.rules import listed
from model.counting import pending
from model.counting.pending import TwoStepCounters
from model.errors import Refused
from model.foundation.records import PendingToken
from model.layouts.base import Layout
from model.repair.items import Item
from model.repair.steps import DocumentChange, Prepared, RepairContext, Step, nothing, refused
from model.scan import sequences
from model.scan.sequences import Sequences, Target
from model.server.known_types import takes_types
from model.storage.foreign_guard import raised
from model.storage.reserved_fields import INT64_MAX, number_of, whole_number
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Path, Value
from model.values.decimals import decimal_value
from model.values.kinds import NUMBERS

# --- S1


def raise_counter(ground: RepairContext, item: Item) -> Prepared:
    """Raise the counter to the highest number in use; it is never lowered."""
    layout, name = ground.layouts(item.finding.ns), item.finding.id
    p = layout.profile
    if name is None:
        return refused("The plan does not say which counter this is about.")
    raw = ground.current(layout, name)
    if raw is None:
        return nothing(f"The counter {id_name(name)} is gone.")
    path: Path = tuple((p.counter or "seq").split("."))
    seq = c.get(raw, path)
    now = number_of(seq)
    if seq is None or now is None or seq.type == c.STRING:
        return refused(f"The counter {id_name(name)} is not a number; set it with an edit.")
    target = _target(ground, item, layout)
    if target is None:
        return refused(f"It is not known which field the counter {id_name(name)} numbers; state it in a profile.")
    highest = max(_numbers(ground, target.ns, ".".join(target.path)), default=None)
    if highest is None or highest <= now:
        return nothing(f"The counter {id_name(name)} is not behind any more.")
    if highest > INT64_MAX:
        return refused(f"{target.ns} holds a number that is larger than any counter; mend that first.")
    right = _of_its_type(highest, seq)
    body = {"$max": {".".join(map(str, path)): right}}  # never lowers, even if the guard missed a change
    label, after = f"the counter {id_name(name)}", c.put(raw, path, right)
    step = ground.operated(layout.ns, label, raw, after, body, f"the counter goes up to {highest}")
    return Prepared(
        "would",
        f"{id_name(name)}, from {text.shown(seq)} to {text.shown(right)}",
        f"{id_name(name)} went from {text.shown(seq)} to {text.shown(right)}.",
        (step,),
        "One update with $max, which never lowers a counter, and which applies only if the counter is as it was seen.",
    )


def _target(ground: RepairContext, item: Item, layout: Layout) -> Target | None:
    name = item.finding.id
    others = {seen.ns: ground.layouts(seen.ns).profile for seen in item.seen if seen.ns != layout.ns}
    stated = layout.profile.targets.get(str(name.python())) if name is not None and name.type == c.STRING else None
    if stated is not None and stated[0] not in others:
        others[stated[0]] = ground.layouts(stated[0]).profile
    if name is None or name.type != c.STRING:
        return None
    return Sequences(ground.server, layout.profile, others).target(str(name.python()))


def _of_its_type(number: int, like: Value) -> Value:
    if like.type == c.DOUBLE:
        return Value.of(float(number))
    return decimal_value(str(number)) if like.type == c.DECIMAL128 else whole_number(number, like)


def _numbers(ground: RepairContext, ns: str, field: str) -> Iterator[int]:
    """The highest number in a field, for each type; a fraction counts as the next whole number."""
    endless: dict[int, object] = {c.DOUBLE: math.inf, c.DECIMAL128: decimal_value("Infinity")}
    known = takes_types(ground.server, ns, [c.DECIMAL128])
    for kind in NUMBERS:
        if kind == c.DECIMAL128 and not known:
            continue
        below = {"$lt": endless[kind]} if kind in endless else {}
        filter = {field: {"$type": kind, "$not": {"$type": c.ARRAY}, **below}}
        for raw in ground.server.find(ns, filter, {field: -1}, {field: 1}, limit=1):
            value = c.get(raw, tuple(field.split(".")))
            found = sequences.number_of(value) if value is not None else None
            if found is not None:
                yield math.ceil(found)


# --- T3


def set_counter(ground: RepairContext, item: Item) -> Prepared:
    """Set the counter to a person's number, by a swap on its stored value."""
    layout = ground.layouts(item.finding.ns)
    path: Path = tuple((layout.profile.counter or "count").split("."))
    raw = ground.current(layout, item.finding.id) if item.finding.id is not None else None
    if raw is None:
        return nothing("The document is gone.")
    value = text.value_from_text(item.answer or "null")
    before = c.get(raw, path)
    if before == value:
        return nothing(f"{'.'.join(map(str, path))} is {text.shown(value)} already.")
    if len(path) > 1 and c.get(raw, path[:-1]) is None:
        return refused(f"There is no {'.'.join(map(str, path[:-1]))} to hold the counter; mend that by an edit.")
    was = "is missing" if before is None else f"is {text.shown(before)}"
    return Prepared(
        "would",
        f"{'.'.join(map(str, path))}, which {was}, to {text.shown(value)}",
        f"{'.'.join(map(str, path))} is {text.shown(value)} now.",
        (ground.swapped(layout.ns, "the document", raw, c.put(raw, path, value), "the counter that a person gave"),),
        "One update of the counter, which applies only if every byte of the document is as it was seen.",
    )


# --- T1 and T2


def finish_token(ground: RepairContext, item: Item) -> Prepared:
    """Send step two for each old token, as its writer would have done."""
    return _tokens(ground, item, applied=False)


def take_out_token(ground: RepairContext, item: Item) -> Prepared:
    """Remove tokens from the list that were already counted."""
    return _tokens(ground, item, applied=True)


def _tokens(ground: RepairContext, item: Item, applied: bool) -> Prepared:
    layout, id = ground.layouts(item.finding.ns), item.finding.id
    raw = ground.at(layout.ns, item.seen[0].id) if item.seen else None
    if raw is None or id is None:
        return nothing("The document is gone.")
    if reason := layout.foreign.uncounted():
        return refused(reason)
    of = pending.within(pending.counters(ground.server, layout.profile), raw)
    found = [token for token in pending.tokens_of(raw, of, ground.now()) if token.applied is applied]
    due = [token for token in found if applied or token.stale]
    wanted = [token for token in due if not token.problem]
    if due and not wanted:
        return refused(due[0].problem)
    if not wanted:
        return nothing("No token of it is left to settle.")
    steps: list[Step] = []
    for token in wanted:
        now = next(t for t in pending.tokens_of(raw, of, ground.now()) if t.token == token.token)
        after = _after(raw, now, of)
        kept = {f"two_{name}": value for name, value in pending.to_fields(now, of).items()}
        write = pending.step_two(ground.server, now, of)
        landed = partial(pending.landed, ground.server, now, of, "finish")
        steps.append(Step(write, DocumentChange(of.ns, "the document", raw, after), landed=landed, extra=kept))
        raw = after
        if now.token.type == c.OBJECT:
            break  # each write names the whole list, so the next is prepared after this one
    said, done = _settled(wanted, of, applied)
    return Prepared("would", said, done, tuple(steps), pending.explain(wanted[0]))


def _settled(tokens: list[PendingToken], of: TwoStepCounters, applied: bool) -> tuple[str, str]:
    """What settling some tokens would do, and a sentence on it once it is done."""
    names = listed([pending.token_name(token.token) for token in tokens], 3)
    one = len(tokens) == 1
    who = f"token {names}" if one else f"{len(tokens)} tokens ({names})"
    if applied:
        said, done = f"{who}, which {'was' if one else 'were'} counted already", "taken out, as it was counted already"
    else:
        so_far = "nothing" if tokens[0].counter is None else text.shown(tokens[0].counter)
        said = f"{who}: {of.counter} + {sum(token.amount for token in tokens)} ({so_far} now)"
        done = "finished"
    done = done if one else done.replace("it was", "they were")
    return said, f"{who[:1].upper()}{who[1:]} {'was' if one else 'were'} {done}."


def _after(raw: bytes, token: PendingToken, of: TwoStepCounters) -> bytes:
    """The document after step two."""
    waiting = c.get(raw, tuple(of.pending.split(".")))
    assert waiting is not None
    lock = c.get(raw, (of.lock,)) if of.lock else None
    if lock is not None and (higher := raised(lock)) is not None:
        raw = c.put(raw, (of.lock,), higher)
    raw = c.put(raw, tuple(of.pending.split(".")), c.array(t for t in c.items(waiting) if t != token.token))
    if token.applied:
        return raw
    if token.after is None:
        raise Refused("What the counter would be is not known.")
    raw = c.put(raw, tuple(of.counter.split(".")), token.after)
    if of.keeps_applied:
        path: Path = tuple(of.applied.split("."))
        listed = c.get(raw, path)
        raw = c.put(raw, path, c.array([*(c.items(listed) if listed is not None else []), token.token]))
    return raw
