"""The published forms: the same schedules must convict each of them, or else these prove nothing.

They are written as their authors show them, with the retry that the authors recommend: once more after an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import bson
from bson import ObjectId

from model.foundation.records import Outcome
from model.profile import stated
from model.server.retry import Port, Reply, Write
from model.values.canonical import Value, hash_of
from tests.counting.schedule_support import WRITERS, Doc, Result, Run, exactly_once, result
from tests.counting.subjects import CARTS, DAY, STATS, TEAMS, USERS, _begin, _live, token
from tests.simulation.schedule import Crew


def _twice(port: Port, write: Write) -> Reply:
    reply = port.send(write)
    return port.send(write) if reply.applied == "unknown" else reply


def _told(ns: str, done: bool) -> Outcome:
    return Outcome("applied" if done else "unknown", ns, None, "")


def _first(port: Port, ns: str, filter: Mapping[str, Any], sort: Mapping[str, int] | None = None) -> Doc:
    found = next(port.find(ns, filter, sort=sort, limit=1), None)
    return bson.decode(found) if found is not None else {}


def optimistic_loop(seed: int, crew: Crew, shown: bool = False) -> Result:
    """The highest plus one, until the insert goes through; a lost reply begins again."""
    run = Run(seed, "published optimistic loop", [], crew, shown, strict=False)
    run.odds.read_fails = 0

    def insert(port: Port, mark: str) -> Outcome:
        for _ in range(20):
            doc = {"_id": _first(port, USERS, {}, {"_id": -1}).get("_id", 0) + 1, "mark": mark}
            reply = port.send(Write(USERS, "insert", {}, bson.encode(doc)))
            if reply.applied == "yes":
                return _told(USERS, True)
        return _told(USERS, False)

    for writer in range(WRITERS):
        port, mark = run.port(), f"w{writer}"
        run.add([(mark, lambda port=port, mark=mark: insert(port, mark))])
    wrong = run.run()
    marks = Counter(doc["mark"] for doc in run.docs(USERS))
    return result(run, wrong + exactly_once(run.told, lambda mark: marks[mark]))


def raised_twice(seed: int, crew: Crew, shown: bool = False) -> Result:
    """``$inc`` with upsert, and once more after an error."""
    run = Run(seed, "published $inc, retried once", [], crew, shown, strict=False)
    run.insert(STATS, {"_id": DAY, "count": 0})
    for writer in range(WRITERS):
        port, name = run.port(), f"w{writer}"
        write = Write(STATS, "update", {"_id": DAY}, {"$inc": {"count": 1, name: 1}})
        run.add([(name, lambda port=port, write=write: _told(STATS, _twice(port, write).applied == "yes"))])
    wrong = run.run()
    doc = run.docs(STATS)[0]
    return result(run, wrong + exactly_once(run.told, lambda name: int(doc.get(name, 0))))


def two_steps(seed: int, crew: Crew, shown: bool = False) -> Result:
    """Step one by ``$addToSet``, step two by ``$pull`` and ``$inc``, no list of those applied."""
    run = Run(seed, "published two steps", [stated(STATS, "pending")], crew, shown, strict=False)
    run.odds.read_fails = 0
    run.insert(STATS, {"_id": DAY, "count": 0})

    def count(port: Port, own: ObjectId) -> Outcome:
        one = Write(STATS, "upsert", {"_id": Value.of(DAY)}, {"$addToSet": {"pending": own}})
        two = Write(STATS, "update", {"_id": DAY, "pending": own}, {"$pull": {"pending": own}, "$inc": {"count": 1}})
        sent = _twice(port, one).applied == "yes"
        return _told(STATS, sent and _twice(port, two).applied == "yes")

    for _ in range(WRITERS):
        port, own = run.port(), token(run)
        run.add([(own, lambda port=port, own=own: count(port, own))])
    wrong = run.run()
    doc = run.docs(STATS)[0]
    # What is still pending is counted by the next night's cleanup, whatever it was.
    total, most = doc.get("count", 0) + len(doc.get("pending", [])), len(run.told)
    least = sum(told.kind == "applied" for told in run.told)
    if not least <= total <= most:
        wrong.append(f"the counter comes to {total}, of {least} acknowledged and {most} events")
    return result(run, wrong)


def cleaned_by_sum(seed: int, crew: Crew, shown: bool = False) -> Result:
    """Our writers beside the published cleanup: aggregate the sum, ``$set`` it and ``$unset`` the list."""
    run = Run(seed, "published cleanup", [stated(STATS, "pending")], crew, shown, strict=False)
    _begin(run)
    _live(run)
    port = run.port()

    def clean() -> None:
        for raw in list(port.find(STATS, {"pending.0": {"$exists": True}})):
            doc = bson.decode(raw)
            add = doc["count"] + len(doc["pending"]) if doc.get("count") is not None else None
            body = {"$set": {"count": add}, "$unset": {"pending": True}}
            _twice(port, Write(STATS, "update", {"_id": doc["_id"]}, body))

    run.odds.read_fails = 0
    run.jobs.append(clean)
    wrong = run.run()
    doc = next(iter(run.docs(STATS)), {})
    if doc and doc.get("count", 0) is None:
        return result(run, [*wrong, "the counter is null"])
    counted = doc.get("count", 0) + sum(_amount(each) for each in doc.get("pending", []) if each not in _listed(doc))
    told = {str(each.what): _amount(each.what) for each in run.told if each.kind in ("applied", "skipped")}
    possible = {str(each.what): _amount(each.what) for each in run.told}
    left = len(run.left)  # type: ignore[attr-defined]
    if not sum(told.values()) + left <= counted <= sum(possible.values()) + left:
        wrong.append(f"the counter comes to {counted}, and {sum(told.values()) + left} were acknowledged or left over")
    return result(run, wrong)


def _listed(doc: Doc) -> list[Any]:
    listed: list[Any] = doc.get("applied", [])
    return listed


def _amount(token: Any) -> int:
    return int(token["amount"]) if isinstance(token, dict) else 1


def processed_upsert(seed: int, crew: Crew, shown: bool = False, unique: bool = False) -> Result:
    """The processed pattern with ``upsert``: a new document where the entry is in the list already."""
    name = "published apply once, upsert under a unique index" if unique else "published apply once, upsert"
    run = Run(seed, name, [], crew, shown, strict=False)
    if unique:
        run.machine.unique(TEAMS, ("id",))

    def apply(port: Port, entry: str) -> Outcome:
        where = {"id": Value.of(9999), "processed": {"$nin": [entry]}}
        body = {"$inc": {"wins": 1}, "$addToSet": {"processed": entry}}
        reply = _twice(port, Write(TEAMS, "upsert", where, body))
        return Outcome("applied" if reply.applied == "yes" else "refused", TEAMS, None, "")

    for _ in range(WRITERS):
        port, entry = run.port(), run.rng.choice(("brasil-2014", "germany-2006"))
        run.add([(entry, lambda port=port, entry=entry: apply(port, entry))])
    wrong = run.run()
    docs = run.docs(TEAMS)
    if len(docs) > 1:
        wrong.append(f"{len(docs)} documents for one key")
    listed = Counter(entry for doc in docs for entry in doc["processed"])
    return result(run, wrong + exactly_once(run.told, lambda entry: listed[entry]))


def idempotent_document(seed: int, crew: Crew, shown: bool = False) -> Result:
    """``IdempotentDocument``: the update finds its document by the hash alone, and an error is tried once more."""
    run = Run(seed, "published hash-versioned document", [], crew, shown, strict=False)
    run.odds.read_fails = 0
    content: Doc = {"n": 0}
    for id in (1, 2):
        run.insert(CARTS, {"_id": id, **content, "_versioned_id": hash_of(bson.encode(content))})

    def save(port: Port, id: int, mark: str) -> Outcome:
        for _ in range(6):
            doc = _first(port, CARTS, {"_id": id})
            old = doc["_versioned_id"]
            fields = {k: v for k, v in doc.items() if k not in ("_id", "_versioned_id")}
            fields[mark] = fields.get(mark, 0) + 1
            new = hash_of(bson.encode(fields))
            write = Write(CARTS, "update", {"_versioned_id": old}, {"$set": fields | {"_versioned_id": new}})
            if _twice(port, write).applied == "yes":
                return _told(CARTS, True)
        return _told(CARTS, False)

    for writer in range(WRITERS):
        port, mark, id = run.port(), f"w{writer}", run.rng.choice((1, 2))
        run.add([((mark, id), lambda port=port, mark=mark, id=id: save(port, id, mark))])
    wrong = run.run()
    found = {(name, doc["_id"]): doc[name] for doc in run.docs(CARTS) for name in doc if name.startswith("w")}
    wrong += exactly_once(run.told, lambda what: int(found.get(what, 0)))
    wanted = {told.what for told in run.told}
    wrong += [f"{name} is in document {id}, which is another's" for name, id in found if (name, id) not in wanted]
    return result(run, wrong)


def _under_index(seed: int, crew: Crew, shown: bool = False) -> Result:
    return processed_upsert(seed, crew, shown, unique=True)


PUBLISHED: dict[str, Callable[..., Result]] = {
    "published optimistic loop": optimistic_loop,
    "published $inc, retried once": raised_twice,
    "published two steps": two_steps,
    "published cleanup": cleaned_by_sum,
    "published apply once, upsert": processed_upsert,
    "published apply once, upsert under a unique index": _under_index,
    "published hash-versioned document": idempotent_document,
}
