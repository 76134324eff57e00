"""Every operation of the product that writes, and the data that it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import bson
from msgspec.structs import replace

from model.errors import Refused
from model.foundation.findings import Finding
from model.foundation.records import Outcome
from model.layouts.registry import WRITABLE
from model.repair.plan import Plan
from model.values.canonical import Value
from tests.blackpipe.scenes import BESIDE, DB, HELD_APART, ID, NS, OLD, OTHER, PAST, STATS, Ground


@dataclass(frozen=True)
class Operation:
    """One thing that a person can ask for: what is prepared, and what is done under faults."""

    layout: str
    name: str
    prepare: Callable[[Ground], object]
    act: Callable[[Ground, Any], Outcome]  # given what was prepared
    numbering: str = ""

    @property
    def in_steps(self) -> bool:
        """Whether it is two writes with an entry each, and what is between them may stay."""
        return self.name.startswith("count")

    @property
    def repeatable(self) -> bool:
        """Whether doing it again with the same token, entry or id counts once."""
        return self.layout == "once" and "number" not in self.name and self.name != "insert by counter"


class NotDone(Exception):
    """What had to be there before an operation could not be made."""


def done(outcome: Outcome) -> str:
    """The journal's entry of an outcome that must be applied; "" where a plan has several."""
    if outcome.kind != "applied":
        raise NotDone(outcome)
    return outcome.entry or ""


def three_versions(at: Ground) -> None:
    """A document that was created and edited twice."""
    at.clear()
    done(at.session.writing.create(NS, bson.encode({"name": "Eva", "hits": 1, "tags": ["a"]}), ID))
    for hits in (2, 3):
        done(at.session.edit(NS, ID, {"hits": hits}))


def _saved_three_times(at: Ground) -> None:
    """A document that another program saved three times, with the rows that it wrote."""
    at.clear()
    states = [{"name": "Eva", "hits": hits, "tags": ["a"]} for hits in (1, 2, 3)]
    if at.layout == "vermongo":
        rows = [{"_id": {"_id": "K-1", "_version": v}, **each, "_version": v} for v, each in enumerate(states[:2], 1)]
        now: dict[str, Any] = {"_id": "K-1", **states[2], "_version": 3}
    else:
        rows = [
            {"_id": OLD[v], **each, **({"refVersion": v - 1} if v else {}), "refId": "K-1", "__v": 0}
            for v, each in enumerate(states)
        ]
        now = {"_id": "K-1", **states[2], "__v": 2}
    at.pipe.load(NS, [bson.encode(now)])
    at.pipe.load(PAST, list(map(bson.encode, rows)))


def _saved_and_edited(at: Ground) -> str:
    _saved_three_times(at)
    return done(_edit(at, None))


def _edit(at: Ground, _: object) -> Outcome:
    return at.session.edit(NS, ID, {"hits": 7})


def _replace(at: Ground, _: object) -> Outcome:
    opened = at.session.writing.open(NS, ID)
    return at.session.writing.save(NS, ID, opened.base, bson.encode({"tags": ["b"], "hits": 7}))


def _create(at: Ground, _: object) -> Outcome:
    return at.session.writing.create(NS, bson.encode({"name": "Jonas", "hits": 1}), OTHER)


def _delete(at: Ground, _: object) -> Outcome:
    return at.session.writing.delete(NS, ID, at.session.history.version(NS, ID))


def _restore(at: Ground, _: object) -> Outcome:
    return at.session.writing.restore(NS, ID, Value.of(1))


def _undo(at: Ground, entry: str) -> Outcome:
    return at.session.way_back.undo(entry)


def _after(act: Callable[[Ground, object], Outcome]) -> Callable[[Ground], str]:
    """What prepares the undo of an act: the act, and its entry."""

    def prepare(at: Ground) -> str:
        three_versions(at)
        return done(act(at, None))

    return prepare


def _without_index(at: Ground) -> None:
    at.clear()
    at.pipe.store.drop(DB)
    at.pipe.load(NS, [bson.encode({"_id": "K-1", "docId": "K-1", "v": 1})])
    if at.layout == "archive":
        at.pipe.load(PAST, [bson.encode({"_id": "K-1", "docId": "K-1", "v": 0})])


def _index(at: Ground, _: object) -> Outcome:
    return at.session.indexes.create(NS)


def _counter(**fields: Any) -> Callable[[Ground], None]:
    def prepare(at: Ground) -> None:
        at.clear()
        doc = {"_id": "day", "count": 41, "pending": OLD[:2], **fields}
        at.pipe.load(STATS, [bson.encode({name: value for name, value in doc.items() if value != "none"})])

    return prepare


def _finish(at: Ground, _: object) -> Outcome:
    tokens = [token for token in at.session.tokens.pending(STATS) if token.token == Value.of(OLD[0])]
    return next(
        iter(at.session.tokens.finish(tokens, confirmed=True)), Outcome("skipped", STATS, None, "It is finished.")
    )


def _finished(at: Ground) -> str:
    _counter(applied=OLD[2:3])(at)
    return done(_finish(at, None))


def _put_back(at: Ground) -> str:
    return done(at.session.way_back.undo(_finished(at)))


def _drop(at: Ground, _: object) -> Outcome:
    tokens = [token for token in at.session.tokens.pending(STATS) if token.token == Value.of(OLD[0])]
    return next(iter(at.session.tokens.drop(tokens, confirmed=True)), Outcome("skipped", STATS, None, "It is dropped."))


def _countable(at: Ground) -> None:
    at.clear()
    at.pipe.load(f"{DB}.counters", [bson.encode({"_id": "orders", "seq": 41})])
    at.pipe.load(STATS, [bson.encode({"_id": "day", "count": 41, "pending": []})])
    at.pipe.load(f"{DB}.teams", [bson.encode({"_id": 1, "id": 9999, "wins": 1, "history": ["brasil-2014"]})])
    at.pipe.index(f"{DB}.teams", "id", unique=True)
    at.pipe.load(f"{DB}.users", [bson.encode({"_id": 7, "name": "Eva"})])
    done(at.session.once.insert(f"{DB}.carts", {"total": 1}, "K-1"))


def _changed(at: Ground) -> Outcome:
    cart = at.session.history.version(f"{DB}.carts", ID)
    if cart.v is None:  # what came back was malformed
        raise Refused("The version that came back is none.")
    return at.session.once.update(f"{DB}.carts", ID, cart.v, {"total": 2})


def _do(act: Callable[[Ground], Outcome], at: Ground, _: object) -> Outcome:
    return act(at)


ONCE: dict[str, Callable[[Ground], Outcome]] = {
    "next number": lambda at: at.session.once.next(f"{DB}.counters", "orders"),
    "first number": lambda at: at.session.once.next(f"{DB}.counters", "invoices", create=True),
    "insert under the next number": lambda at: at.session.once.insert_next(f"{DB}.users", {"name": "Jonas"}),
    "insert by counter": lambda at: at.session.once.insert_next(
        f"{DB}.users", {"name": "Jonas"}, counter=(f"{DB}.counters", "orders")
    ),
    "count": lambda at: at.session.once.count(STATS, "day", OLD[3]),
    "count for the first time": lambda at: at.session.once.count(STATS, "morrow", OLD[3], create=True),
    "process": lambda at: at.session.once.process(f"{DB}.teams", 9999, "germany-2006"),
    "process for the first time": lambda at: at.session.once.process(f"{DB}.teams", 7, "germany-2006", create=True),
    "insert with a hash": lambda at: at.session.once.insert(f"{DB}.carts", {"total": 1}, "K-2"),
    "update by hash": _changed,
}


def _damaged(plant: Callable[[Ground], None]) -> Callable[[Ground], Plan]:
    """What prepares a repair: three versions, the damage, and the plan that a scan makes of it."""

    def prepare(at: Ground) -> Plan:
        if at.layout == "pending":
            plant(at)
        else:
            three_versions(at)
            plant(at)
        scan = at.session.scans.scan([STATS if at.layout == "pending" else NS])
        plan = at.session.repairs.plan([found for found in scan if isinstance(found, Finding)])
        if not any(item.repair for item in plan.items):
            raise NotDone(plan)
        return plan

    return prepare


def _repair(at: Ground, plan: Plan) -> Outcome:
    """All items of the plan as one outcome, the least certain first."""
    outcomes = [outcome for _, outcome in at.session.repairs.apply(plan)]
    for kind in ("unknown", "conflict", "refused", "skipped"):
        if found := [outcome for outcome in outcomes if outcome.kind == kind]:
            return replace(found[0], entry=None)
    return replace(outcomes[0], entry=None)


def _lower_all(at: Ground) -> None:
    at.eyes[DB]["things"].update_many({}, {"$unset": {"current": ""}})


def _phantom(at: Ground) -> None:
    at.eyes[DB]["things_past"].insert_one({"_id": OLD[0], "docId": "K-1", "v": 9, "name": "Eva"})


def operations() -> list[Operation]:
    """All of them."""
    found: list[Operation] = []
    for layout, kind in WRITABLE.items():
        found += [
            Operation(layout, "edit", three_versions, _edit),
            Operation(layout, "replace", three_versions, _replace),
            Operation(layout, "create", three_versions, _create),
            Operation(layout, "delete", three_versions, _delete),
            Operation(layout, "undo an edit", _after(_edit), _undo),
            Operation(layout, "undo a create", _after(_create), _undo),
            Operation(layout, "undo a delete", _after(_delete), _undo),
        ]
        if kind.numbered and not kind.fed:  # nobody feeds an archive here
            found.append(Operation(layout, "restore", three_versions, _restore))
        if layout in (*HELD_APART, "archive"):
            found.append(Operation(layout, "create an index", _without_index, _index))
    for layout in BESIDE:
        found += [
            Operation(layout, "edit", _saved_three_times, _edit),
            Operation(layout, "replace", _saved_three_times, _replace),
            Operation(layout, "restore", _saved_three_times, _restore),
            Operation(layout, "undo an edit", _saved_and_edited, _undo),
        ]
    for layout in ("versions", "archive"):
        found.append(Operation(layout, "edit by counter", three_versions, _edit, f"counter:{DB}.numbers"))
    found += [
        Operation("pending", "finish", _counter(), _finish),
        Operation("pending", "finish and note", _counter(applied=OLD[2:3]), _finish),
        Operation("pending", "finish from null", _counter(count=None), _finish),
        Operation("pending", "finish from nothing", _counter(count="none"), _finish),
        Operation("pending", "take out", _counter(applied=OLD[:1]), _finish),
        Operation("pending", "drop", _counter(), _drop),
        Operation("pending", "undo a finish", _finished, _undo),
        Operation("pending", "redo a finish", _put_back, _undo),
    ]
    found += [
        Operation("flagged", "repair a flag", _damaged(_lower_all), _repair),
        Operation("archive", "repair a phantom", _damaged(_phantom), _repair),
        Operation("pending", "repair a token", _damaged(_counter(pending=OLD[:1])), _repair),
    ]
    for name, act in ONCE.items():
        found.append(Operation("once", name, _countable, partial(_do, act)))
    return found
