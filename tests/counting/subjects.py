"""What is simulated: sequences, two-step counters, cleanup beside live writers, apply-once lists, hashed documents."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import bson
from bson import ObjectId

from model.counting import pending
from model.errors import Refused
from model.foundation.records import Outcome
from model.profile import stated
from model.server.retry import Port
from model.values.canonical import Value, hash_of, without
from tests.counting.schedule_support import WRITERS, Doc, Run, exactly_once, result
from tests.counting.schedule_support import Result as Result
from tests.simulation.schedule import Crew

COUNTERS, STATS, TEAMS, USERS, CARTS = "shop.counters", "shop.stats", "shop.teams", "shop.users", "shop.carts"
DAY = "2016-06-28"


def token(run: Run) -> ObjectId:
    """A token that the seed alone decides."""
    return ObjectId(run.rng.randbytes(12))


# --- sequences


def counter(seed: int, crew: Crew, shown: bool = False) -> Result:
    """Four writers draw numbers from one counter: none goes to two, and none above the counter."""
    run = Run(seed, "sequence", [stated(COUNTERS, "sequence")], crew, shown)
    if run.rng.random() < 0.7:
        run.insert(COUNTERS, {"_id": "orders", "seq": run.rng.choice((0, 41, 7.0))})
    for writer in range(WRITERS):
        once = run.once(run.port())
        draws = range(run.rng.randint(1, 3))
        run.add([(f"w{writer}n{n}", lambda once=once: once.next(COUNTERS, "orders", create=True)) for n in draws])
    wrong = run.run()
    last = max((int(doc["seq"]) for doc in run.docs(COUNTERS)), default=0)
    drawn = Counter(int(t.outcome.value.python()) for t in run.told if t.outcome and t.outcome.value is not None)
    wrong += [f"{number} was handed out {count} times" for number, count in drawn.items() if count > 1]
    wrong += [f"{number} was handed out and the counter is at {last}" for number in drawn if number > last]
    wrong += [
        f"{t.what} was told {t.kind} with a number" for t in run.told if (t.kind == "applied") is not _numbered(t)
    ]
    return result(run, wrong)


def _numbered(told: Any) -> bool:
    return told.outcome is not None and told.outcome.value is not None


def loop(seed: int, crew: Crew, shown: bool = False) -> Result:
    """Four writers insert under the number after the highest: each document is there once, under its own number."""
    run = Run(seed, "optimistic loop", [stated(USERS, "plain"), stated(COUNTERS, "sequence")], crew, shown)
    where, drawn = run.rng.choice(("", "number")), run.rng.random() < 0.3
    if where:
        run.machine.unique(USERS, (where,))
    if drawn:
        run.insert(COUNTERS, {"_id": "users", "seq": run.rng.randint(0, 4)})
    if run.rng.random() < 0.5:
        run.insert(USERS, {"_id": 3, "number": 3, "mark": "first"})
    source = (COUNTERS, "users") if drawn else None
    for writer in range(WRITERS):
        once, deeds = run.once(run.port()), []
        for n in range(run.rng.randint(1, 2)):
            mark = f"w{writer}d{n}"
            deeds.append((mark, lambda once=once, mark=mark: once.insert_next(USERS, {"mark": mark}, where, source)))
        run.add(deeds)
    wrong = run.run()
    marks = Counter(doc["mark"] for doc in run.docs(USERS))
    wrong += exactly_once(run.told, lambda mark: marks[mark])
    numbers = {doc["mark"]: doc[where or "_id"] for doc in run.docs(USERS)}
    for told in run.told:
        if told.outcome is not None and told.kind == "applied" and told.outcome.value != Value.of(numbers[told.what]):
            wrong.append(f"{told.what} has the number {numbers[told.what]}, and was told {told.outcome.value}")
    return result(run, wrong)


# --- two-step counters


def counts(seed: int, crew: Crew, shown: bool = False) -> Result:
    """Four writers count, some of them the same event: each event is counted once, late duplicates too."""
    run = Run(seed, "two-step counts", [stated(STATS, "pending")], crew, shown)
    _begin(run)
    _live(run)
    return result(run, run.run() + miscounts(run))


def cleanup(seed: int, crew: Crew, shown: bool = False) -> Result:
    """The same beside one or two runs of the cleanup, which spare no token for its youth."""
    run = Run(seed, "cleanup", [stated(STATS, "pending")], crew, shown)
    _begin(run)
    _live(run)
    for _ in range(run.rng.randint(1, 2)):
        port = run.port()
        run.jobs.append(lambda port=port: [sweep(run, port) for _ in range(run.rng.randint(1, 3))])  # type: ignore[misc]
    return result(run, run.run() + miscounts(run))


def sweep(run: Run, port: Port) -> list[Outcome]:
    """One run of the cleanup; one that loses its connection stops."""
    writer = run.writer(port)
    try:
        of = pending.counters(port, stated(STATS, "pending"))
        found = list(pending.tokens(port, of, dt.datetime.now(dt.UTC)))
        return list(writer.tokens(found, "finish", True, lambda done, total: None))
    except Refused:
        return []


def _begin(run: Run) -> None:
    chance = run.rng.random()
    left = [token(run) for _ in range(run.rng.randint(0, 2))]
    run.left = left if chance < 0.8 else []  # type: ignore[attr-defined]
    if chance < 0.4:
        run.insert(STATS, {"_id": DAY, "count": 0, "pending": left, "applied": []})
    elif chance < 0.6:
        run.insert(STATS, {"_id": DAY, "count": 0, "pending": left})
    elif chance < 0.7:
        run.insert(STATS, {"_id": DAY, "count": None, "pending": left})
    elif chance < 0.8:
        run.insert(STATS, {"_id": DAY, "pending": left})


def _live(run: Run) -> None:
    shared = [token(run) for _ in range(2)]
    for _ in range(WRITERS):
        once, deeds = run.once(run.port()), []
        for _ in range(run.rng.randint(1, 2)):
            own = run.rng.choice(shared) if run.rng.random() < 0.3 else token(run)
            whole: Any = {"t": own, "amount": 3, "owner": "billing"} if own not in shared and _third(run) else own
            deeds.append((whole, lambda once=once, whole=whole: once.count(STATS, DAY, whole, create=True)))
        run.add(deeds)


def _third(run: Run) -> bool:
    return run.rng.random() < 0.3


def amount(token: Any) -> int:
    """What a token stands for."""
    return int(token["amount"]) if isinstance(token, dict) else 1


def miscounts(run: Run) -> list[str]:
    """What is wrong with the total: the tokens left over are finished first, as the next night would."""
    sweep(run, run.sound())
    docs = run.docs(STATS)
    if len(docs) > 1:
        return [f"{len(docs)} documents for one day"]
    doc: Doc = docs[0] if docs else {"applied": [], "pending": [], "count": 0}
    said = [f"left pending: {doc['pending']}"] if doc.get("pending") else []
    applied = doc.get("applied", [])
    there = [each for each in applied if each not in run.left]  # type: ignore[attr-defined]
    asked = Counter(str(told.what) for told in run.told)
    # Who is refused an event that another writer was given as well learns nothing of the other.
    own = [told for told in run.told if asked[str(told.what)] == 1 or told.kind not in ("refused", "conflict")]
    said += exactly_once(own, there.count)
    wanted = sum(amount(each) for each in (*there, *run.left))  # type: ignore[attr-defined]
    if (doc.get("count") or 0) != wanted:
        said.append(f"the counter is {doc.get('count')}, and {wanted} were counted")
    return said


# --- apply-once lists


def processed(seed: int, crew: Crew, shown: bool = False) -> Result:
    """Four writers apply entries, many of them the same: one document, each entry in the list and the total once."""
    profile = stated(TEAMS, "processed", id="id", counter="wins")
    run = Run(seed, "apply once", [profile], crew, shown)
    run.machine.unique(TEAMS, ("id",))
    if run.rng.random() < 0.5:
        run.insert(TEAMS, {"id": 9999, "wins": 0, "_id": 1})
    worth = {entry: run.rng.randint(1, 5) for entry in ("brasil-2014", "germany-2006", "france-1998")}
    for _ in range(WRITERS):
        once, deeds = run.once(run.port()), []
        for entry in run.rng.sample(sorted(worth), run.rng.randint(1, 2)):
            by = worth[entry]
            deeds.append((entry, lambda once=once, e=entry, by=by: once.process(TEAMS, 9999, e, by, create=True)))
        run.add(deeds)
    wrong = run.run()
    docs = run.docs(TEAMS)
    if len(docs) > 1:
        return result(run, [*wrong, f"{len(docs)} documents for one key"])
    listed = docs[0].get("processed", []) if docs else []
    # Who is told "refused" speaks for itself: another may have applied the same entry.
    own = [told for told in run.told if told.kind not in ("refused", "conflict")]
    wrong += exactly_once(own, listed.count)
    total, wanted = docs[0]["wins"] if docs else 0, sum(worth[entry] for entry in listed)
    if total != wanted:
        wrong.append(f"the total is {total}, and the entries make {wanted}")
    return result(run, wrong)


# --- documents whose version is their hash


def hashed(seed: int, crew: Crew, shown: bool = False) -> Result:
    """Four writers insert and update beside a twin of equal content: nothing is doubled, confused or unsealed."""
    run = Run(seed, "hashed", [stated(CARTS, "hashed")], crew, shown)
    first = run.once(run.sound())
    for id in (1, 2):
        assert first.insert(CARTS, {"n": 0, "t": 1}, id).kind == "applied"
    for writer in range(WRITERS):
        once, mark = run.once(run.port()), f"w{writer}"
        if run.rng.random() < 0.4:
            id = run.rng.choice((None, f"cart-{writer}"))
            run.add([(mark, lambda once=once, m=mark, id=id: once.insert(CARTS, {"new": m}, id))])
        else:
            run.add([(mark, lambda once=once, m=mark: _marked(once, m, run))])
    wrong = run.run()
    docs = run.docs(CARTS)
    marks = Counter(name for doc in docs for name in (*doc, doc.get("new")) if str(name).startswith("w"))
    marks.update({name: doc[name] - 1 for doc in docs for name in doc if name.startswith("w") and doc[name] > 1})
    wrong += exactly_once(run.told, lambda mark: marks[mark])
    for raw in run.machine.documents(CARTS):
        doc = bson.decode(raw)
        if doc["_versioned_id"] != hash_of(without(raw, ("_id", "_versioned_id", "_w"))):
            wrong.append(f"the hash of {doc['_id']} is not that of its content")
        if doc["_id"] == 2 and any(name.startswith("w") for name in doc):
            wrong.append(f"the twin was written: {doc}")
    return result(run, wrong)


def _marked(once: Any, mark: str, run: Run) -> Outcome:
    for _ in range(6):
        try:
            base = once._catalogue.layout(CARTS).version(Value.of(1))
        except Refused as error:
            return Outcome("refused", CARTS, None, str(error))
        doc = bson.decode(base.content)
        doc = {k: v for k, v in doc.items() if k != "t"} if run.rng.random() < 0.2 else doc | {"t": 3 - doc.get("t", 1)}
        outcome: Outcome = once.update(CARTS, 1, base.v, doc | {mark: doc.get(mark, 0) + 1})
        if outcome.kind != "conflict":
            return outcome
    return outcome


SUBJECTS: dict[str, Callable[..., Result]] = {
    "sequence": counter,
    "optimistic loop": loop,
    "two-step counts": counts,
    "cleanup": cleanup,
    "apply once": processed,
    "hashed": hashed,
}


def names() -> Sequence[str]:
    """The subjects that must be sound."""
    return list(SUBJECTS)
