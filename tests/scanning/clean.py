"""Documents without damage, some of which look damaged; and states that are legal and only mentioned.

Clean are Int64 versions, versions that are dates or milliseconds, content that returned, equal contents and equal
hashes of versions, flags that say false, deltas with nulls and removed fields, tokens that were applied, numbers with
gaps. Mentioned without a repair are young tokens, equal hashes of equal documents, and versions that a rule of
retention removed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

from bson import Int64

from tests.scanning import scenes
from tests.scanning.support import NOW, Dice, Names, Scene, content_hash

LAYOUTS = (
    "versions", "flagged", "embedded", "archive", "deltas", "stream", "hashed", "plain", "pending", "processed",
    "sequence", "dated versions", "dated embedded", "dated archive", "timed versions", "timed archive",
    "timed embedded", "counted versions", "counted flagged", "counted deltas",
    "nested", "dated nested",
)  # fmt: skip
DAY = dt.timedelta(days=1)


def clean(layout: str, db: str, names: Names, seed: int, documents: int, first: int = 0) -> Scene:
    """A scene with about so many stored documents and nothing to tell."""
    when, _, kind = layout.rpartition(" ")
    it = Scene(f"clean {layout}", db, names, Dice(seed), kind, dict(scenes._FIELDS[kind](db, names)))
    n, it.first = names, first
    if when == "counted":
        it.fields["numbering"] = f"counter:{db}.numbers"
    if kind in ("versions", "flagged", "deltas") and seed % 2:
        it.indexes.append((it.ns, [(n.id, 1), (n.v, 1)]))
    if kind in ("archive", "stream"):
        it.indexes.append((it.past, [(n.archive_id, 1), (n.v, 1)]))
    if kind == "sequence":
        it.others.append({"ns": f"{db}.invoices", "layout": "plain"})
        it.put({"_id": "invoices", n.seq: 10 * documents})
    taken, one = scenes.ids(it), _ONE[kind]
    while sum(map(len, it.stored.values())) < documents:
        one(it, next(taken), _versions(it, when))
    return it


def _versions(it: Scene, when: str) -> list[Any]:
    top = 1 + it.dice.randrange(6)
    if when == "counted":  # by a counter, some of whose numbers nobody used
        return sorted([*it.dice.sample(range(2, 30), top - 1), 1])
    if when == "timed":  # milliseconds, as whole numbers
        return [Int64((scenes.OLD + day * DAY).timestamp() * 1000) for day in range(top)]
    if when == "dated":
        return [scenes.OLD + day * DAY for day in range(top)]
    kind = Int64 if it.dice.random() < 0.3 else int
    return [kind(v) for v in range(1, top + 1)]


def _contents(it: Scene, count: int) -> Iterator[dict[str, Any]]:
    """Contents one after the other; now and then an earlier one comes back."""
    seen: list[dict[str, Any]] = []
    for _ in range(count):
        back = seen and it.dice.random() < 0.3
        seen.append(it.dice.choice(seen) if back else it.dice.content())
        yield seen[-1]


def _own(it: Scene, id: Any, versions: list[Any]) -> None:
    n, hashed = it.names, it.dice.random() < 0.5
    for day, (v, content) in enumerate(zip(versions, _contents(it, len(versions)), strict=True)):
        more: dict[str, Any] = {n.hash: content_hash(content)} if hashed else {}
        if it.name.startswith("clean counted") and day + 1 < len(versions):
            more[f"{n.token}_next"] = versions[day + 1]
        if it.layout == "flagged":
            if day == len(versions) - 1:
                more[n.current] = it.dice.choice((True, 1))
            elif it.dice.random() < 0.5:
                more[n.current] = it.dice.choice((False, 0, None))
        scenes.own(it, id, v, content, scenes.OLD + day * DAY, **more)


def _deltas(it: Scene, id: Any, versions: list[Any]) -> None:
    n, state = it.names, it.dice.content()
    marks = [{f"{n.token}_next": v} if it.name.startswith("clean counted") else {} for v in versions[1:]] + [{}]
    scenes.own(it, id, versions[0], state, scenes.OLD, **{n.hash: content_hash(state)}, **marks[0])
    for day, v in enumerate(versions[1:], 1):
        change = {"status": f"state {day}", "zone": None}
        gone = ["net"] if day == 2 else []
        state = {name: value for name, value in state.items() if name not in gone} | change
        more = {n.hash: content_hash(state), **({n.removed: gone} if gone else {})}
        scenes.own(it, id, v, change, scenes.OLD + day * DAY, **more, **marks[day])


def _archived(it: Scene, id: Any, versions: list[Any]) -> None:
    n = it.names
    for day, (v, content) in enumerate(zip(versions, _contents(it, len(versions)), strict=True)):
        at, last = scenes.OLD + day * DAY, day == len(versions) - 1
        sealed = {n.hash: content_hash(content)}
        if not last or it.layout == "stream":
            scenes.row(it, id, v, content, at, **sealed)
        if last:
            scenes.current(it, id, v, content, at)


def _embedded(it: Scene, id: Any, versions: list[Any]) -> None:
    n = it.names
    told = [
        {n.v: v, n.token: it.dice.oid(), **content, n.hash: content_hash(content), n.at: scenes.OLD + day * DAY}
        for day, (v, content) in enumerate(zip(versions, _contents(it, len(versions)), strict=True))
    ]
    more = {} if len(told) == 1 and it.dice.random() < 0.5 else {n.prev: told[:-1]}
    it.put({"_id": id, **told[-1], **more} if it.layout == "nested" else {"_id": id, n.sub: told[-1], **more})


def _hashed(it: Scene, id: Any, _: list[Any]) -> None:
    content = it.dice.content() | {"unique": it.dice.oid()}
    scenes.sealed(it, content, id if it.dice.random() < 0.5 else content_hash(content))


def _plain(it: Scene, id: Any, _: list[Any]) -> None:
    it.put({"_id": id, **it.dice.content(), it.names.v: "3", it.names.hash: "0" * 40})


def _pending(it: Scene, id: Any, _: list[Any]) -> None:
    n, dice = it.names, it.dice
    count = dice.choice((0, 7, 1.5, Int64(2**40)))
    done = [dice.oid(NOW - dt.timedelta(minutes=dice.randrange(10**5))) for _ in range(dice.randrange(4))]
    it.put({"_id": id, n.pending: [], n.count: count, **dice.choice(({}, {n.applied: done}))})


def _processed(it: Scene, id: Any, _: list[Any]) -> None:
    n, dice = it.names, it.dice
    it.put(
        {"_id": dice.oid(), n.key: id, n.processed: dice.sample(("2002", "2006", "2010", 5, 5.0, None), 4), "wins": 4}
    )


def _counted(it: Scene, id: Any, _: list[Any]) -> None:
    number = 7 * len(it.stored.get(f"{it.db}.invoices", ())) + 1
    it.put({"_id": id, "number": it.dice.choice((number, Int64(number), float(number)))}, f"{it.db}.invoices")


_ONE: dict[str, Callable[[Scene, Any, list[Any]], None]] = {
    "versions": _own,
    "flagged": _own,
    "deltas": _deltas,
    "archive": _archived,
    "stream": _archived,
    "embedded": _embedded,
    "nested": _embedded,
    "hashed": _hashed,
    "plain": _plain,
    "pending": _pending,
    "processed": _processed,
    "sequence": _counted,
}


def legal(which: str, db: str, names: Names, seed: int, documents: int) -> Scene:
    """States that are told without a repair: young tokens, equal hashes of equal documents, retention by a rule."""
    kind, tell = _LEGAL[which]
    it = Scene(which, db, names, Dice(seed), kind, dict(scenes._FIELDS[kind](db, names)))
    taken = scenes.ids(it)
    for _ in range(documents):
        tell(it, next(taken))
    return it


def _young(it: Scene, id: Any) -> None:
    scenes.counted(it, id, [it.dice.oid(NOW - dt.timedelta(hours=23))], [], c=3)
    it.expect("T1", id)


def _equal(it: Scene, id: Any) -> None:
    content = it.dice.content() | {"unique": it.dice.oid()}
    for twin in (id, it.dice.oid()):
        it.expect("H2", twin, [scenes.sealed(it, content, twin)])


def _kept(it: Scene, id: Any) -> None:
    scenes.life(it, id, (8, 9, 10))
    it.expect("V2", id, range(1, 8))


_LEGAL: dict[str, tuple[str, Callable[[Scene, Any], None]]] = {
    "young tokens": ("pending", _young),
    "equal hashes of equal documents": ("hashed", _equal),
    "retention by rule": ("versions", _kept),
}
LEGAL = tuple(_LEGAL)
