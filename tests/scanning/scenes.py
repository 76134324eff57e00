"""The scenes: for each class, documents with just that damage, among sound ones.

Every scene is a function of a half-made :class:`Scene` and a number of plants; it expects exactly what it plants.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import bson
from bson import Binary, Int64, ObjectId

from model.values import canonical as c
from model.values.canonical import Value
from tests.scanning.support import NOW, Dice, Names, Scene, content_hash

Plant = Callable[[Scene, int], None]
SCENES: dict[str, tuple[str, Plant]] = {}
"""Name → (layout, function); the name begins with the class."""

OLD, YOUNG = NOW - dt.timedelta(days=30), NOW - dt.timedelta(hours=2)
MOMENT = dt.timedelta(days=1)


def scene(name: str, layout: str) -> Callable[[Plant], Plant]:
    """Register a scene."""

    def registered(plant: Plant) -> Plant:
        SCENES[name] = (layout, plant)
        return plant

    return registered


def made(name: str, db: str, names: Names, seed: int, plants: int) -> Scene:
    """The scene of a name, planted."""
    layout, plant = SCENES[name]
    it = Scene(name, db, names, Dice(seed), layout, dict(_FIELDS[layout](db, names)))
    plant(it, plants)
    return it


def _own(_: str, n: Names) -> dict[str, Any]:
    return {"id": n.id, "version": n.v, "token": n.token, "hash": n.hash, "at": n.at}


def _archived(db: str, n: Names) -> dict[str, Any]:
    past = {"archive": f"{db}.things_past", "archive_id": n.archive_id}
    return {**past, "version": n.v, "token": n.token, "hash": n.hash, "at": n.at}


_FIELDS: dict[str, Callable[[str, Names], dict[str, Any]]] = {
    "versions": _own,
    "flagged": lambda db, n: {**_own(db, n), "current": n.current},
    "deltas": lambda db, n: {**_own(db, n), "removed": n.removed},
    "archive": _archived,
    "stream": _archived,
    "embedded": lambda db, n: {
        "current": n.sub, "prev": n.prev, "version": n.v, "token": n.token, "hash": n.hash, "at": n.at,
    },
    "nested": lambda db, n: {"prev": n.prev, "version": n.v, "token": n.token, "hash": n.hash, "at": n.at},
    "hashed": lambda db, n: {"hash": n.hash, "token": n.token},
    "plain": lambda db, n: {},
    "pending": lambda db, n: {"pending": n.pending, "applied": n.applied, "counter": n.count},
    "processed": lambda db, n: {"processed": n.processed, "id": n.key},
    "sequence": lambda db, n: {"counter": n.seq, "targets": {"invoices": f"{db}.invoices:number"}},
}  # fmt: skip


# --- documents


def ids(it: Scene) -> Iterator[Any]:
    """Ids of every usual type, each once."""
    number = it.first
    while True:
        number += 1
        yield (
            f"K-{number:06d}",
            number,
            Int64(10**10 + number),
            it.dice.oid(),
            number + 0.5,
            {"land": "de", "no": number},
        )[number % 6]


def own(it: Scene, id: Any, v: Any, content: dict[str, Any], at: dt.datetime, **more: Any) -> bytes:
    """A version that is a document of its own."""
    n = it.names
    return it.put({"_id": it.dice.oid(at), n.id: id, n.v: v, n.token: it.dice.oid(at), **content, n.at: at, **more})


def life(it: Scene, id: Any, versions: Sequence[Any], **more: Any) -> list[bytes]:
    """Versions of one document, one a day."""
    return [own(it, id, v, it.dice.content(), OLD + day * MOMENT, **more) for day, v in enumerate(versions)]


def current(it: Scene, id: Any, v: Any, content: dict[str, Any], at: dt.datetime = OLD) -> None:
    """A current document beside an archive."""
    n = it.names
    it.put({"_id": id, n.v: v, n.token: it.dice.oid(at), **content, n.at: at})


def row(
    it: Scene, id: Any, v: Any, content: dict[str, Any], at: dt.datetime = OLD, physical: Any = None, **more: Any
) -> None:
    """A row of the archive."""
    n = it.names
    physical = it.dice.oid(at) if physical is None else physical
    it.put({"_id": physical, n.archive_id: id, n.v: v, n.token: it.dice.oid(at), **content, n.at: at, **more}, it.past)


def pair(it: Scene, id: Any, top: int, lacking: Sequence[int] = (), kind: type = int) -> dict[str, Any]:
    """A document and its archive, sound but for what it lacks; the current content."""
    content: dict[str, Any] = {}
    for v in range(1, top + 1):
        content = it.dice.content()
        if (v < top or it.layout == "stream") and v not in lacking:
            row(it, id, kind(v), content, OLD + v * MOMENT)
    current(it, id, kind(top), content, OLD + top * MOMENT)
    return content


def around(it: Scene, sound: Callable[[Any], Any], taken: Iterator[Any], count: int) -> None:
    """Sound documents among the others."""
    for _ in range(count):
        sound(next(taken))


# --- versions that are documents


def _v1(it: Scene, count: int, flag: bool = False) -> None:
    taken = ids(it)
    for plant in range(count):
        id, content = next(taken), it.dice.content()
        at = OLD + 1.5 * MOMENT
        life(it, id, (1, 2, 4))
        equal = plant % 3 != 0
        for copy in range(2 + plant % 2):
            own(it, id, 3, content if equal or not copy else content | {"status": f"other {copy}"}, at)
        if flag:
            it.stored[it.ns][-3 - plant % 2] = _with(it.stored[it.ns][-3 - plant % 2], it.names.current)
        it.expect("V1", id, [3], "remove-duplicate" if equal else None)
    around(it, lambda id: _sound(it, id), taken, count // 2)


def _with(raw: bytes, flag: str) -> bytes:
    return c.put(raw, (flag,), Value.of(True))


def _sound(it: Scene, id: Any, kind: type = int) -> None:
    raws = life(it, id, [kind(v) for v in range(1, 2 + it.dice.randrange(6))])
    if it.layout == "flagged":
        it.stored[it.ns].remove(raws[-1])
        it.put(_with(raws[-1], it.names.current))


@scene("V1 versions", "versions")
def _(it: Scene, count: int) -> None:
    _v1(it, count)


@scene("V1 versions by an index", "versions")
def _(it: Scene, count: int) -> None:
    _v1(it, count)
    it.indexes.append((it.ns, [(it.names.id, 1), (it.names.v, 1)]))


@scene("V1 flagged", "flagged")
def _(it: Scene, count: int) -> None:
    _v1(it, count, flag=True)


@scene("V1 deltas", "deltas")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id, content, n = next(taken), it.dice.content(), it.names
        life(it, id, (1, 2, 4))
        same = plant % 2 == 0
        at = OLD + 1.5 * MOMENT
        own(it, id, 3, content, at, **{n.removed: ["zone"]})
        own(it, id, 3, content, at, **{n.removed: ["zone" if same else "agent"]})
        it.expect("V1", id, [3], "remove-duplicate" if same else None)


@scene("V1 archive", "archive")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id, content = next(taken), it.dice.content()
        pair(it, id, 5, (2,))
        at = OLD + 2 * MOMENT
        row(it, id, 2, content, at)
        row(it, id, 2, content if plant % 2 else content | {"status": "other"}, at)
        it.expect("V1", id, [2], "remove-duplicate" if plant % 2 else None)


@scene("V2 versions", "versions")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        kept, gone = (((1, 2, 5), (3, 4)), ((3, 4), (1, 2)), ((1, 3, 5), (2, 4)), ((7,), range(1, 7)))[plant % 4]
        life(it, id, kept)
        it.expect("V2", id, list(gone))
    around(it, lambda id: _sound(it, id, Int64), taken, count // 2)


@scene("V2 flagged", "flagged")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for _ in range(count):
        id = next(taken)
        life(it, id, (1, 2))
        own(it, id, 4, it.dice.content(), OLD + 9 * MOMENT, **{it.names.current: True})
        it.expect("V2", id, [3])
    around(it, lambda id: _sound(it, id), taken, count // 2)


@scene("V2 counted versions", "versions")
def _(it: Scene, count: int) -> None:
    it.fields["numbering"] = f"counter:{it.db}.numbers"
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        lost, told = (((4,), [4, 5]), ((6,), [6, 7, 8]), ((4, 6), [4, 5, 6, 7, 8]), ((1,), [1, 2, 3]))[plant % 4]
        _drawn(it, id, lost)
        it.expect("V2", id, told)
    for _ in range(count):
        _drawn(it, next(taken))


@scene("D1 counted deltas", "deltas")
def _(it: Scene, count: int) -> None:
    it.fields["numbering"] = f"counter:{it.db}.numbers"
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        lost, told = (((4,), [4, 5]), ((1,), [1, 2, 3]))[plant % 2]
        _drawn(it, id, lost)
        it.expect("D1", id, told)
    for _ in range(count):
        _drawn(it, next(taken))


def _drawn(it: Scene, id: Any, lost: Sequence[int] = ()) -> None:
    """Versions 1, 4, 6 and 9, each marked with the next, but for those that are lost; nobody used the others."""
    numbers = (1, 4, 6, 9)
    for day, v in enumerate(numbers):
        if v not in lost:
            marks = {f"{it.names.token}_next": numbers[day + 1]} if v != 9 else {}
            own(it, id, v, it.dice.content(), OLD + day * MOMENT, **marks)


@scene("V3 versions", "versions")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    odd: tuple[Any, ...] = ("3", 3.0, bson.Decimal128("3"))
    for plant in range(count):
        id = next(taken)
        wrong = odd[plant % 3]
        life(it, id, (1, 2, wrong, 4) if plant % 2 else (1, 2, wrong))
        it.expect("V3", id, [wrong], "convert-version")
    around(it, lambda id: _sound(it, id), taken, count)


@scene("V3 a date among numbers", "versions")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for _ in range(count):
        id = next(taken)
        life(it, id, (1, 2, NOW))
        it.expect("V3", id, [NOW], "convert-version")
    around(it, lambda id: _sound(it, id), taken, count * 2)


@scene("V3 archive", "archive")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id, content = next(taken), it.dice.content()
        if plant % 2:
            pair(it, id, 4, (2,))
            row(it, id, "2", content, OLD + 2 * MOMENT)
            it.expect("V3", id, ["2"], "convert-version")
        else:
            row(it, id, 1, content)
            row(it, id, 2, content)
            current(it, id, 3.0, content)
            it.expect("V3", id, [3.0], "convert-version")


@scene("V3 embedded", "embedded")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        numbers: list[Any] = [1, 2, 3, 4]
        numbers[plant % 4] = str(numbers[plant % 4])
        chain(it, id, numbers)
        it.expect("V3", id, [numbers[plant % 4]], "convert-version")


@scene("C1 flagged", "flagged")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        raised: Sequence[int] = ((), (3, 4), (2,), (1, 2, 4))[plant % 4]
        for v in range(1, 5):
            flag = {it.names.current: True} if v in raised else {it.names.current: False} if plant % 3 == 0 else {}
            own(it, id, v, it.dice.content(), OLD + v * MOMENT, **flag)
        it.expect("C1", id, sorted({*raised, 4}), "set-current-flag")
    around(it, lambda id: _sound(it, id), taken, count // 2)


@scene("D1 deltas", "deltas")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        kept, gone = (((1, 2, 4), [3]), ((2, 3), [1]), ((5, 6), [1, 2, 3, 4]))[plant % 3]
        life(it, id, kept)
        it.expect("D1", id, gone)
    around(it, lambda id: _sound(it, id), taken, count // 2)


@scene("M1 versions", "versions")
def _(it: Scene, count: int) -> None:
    it.fields["numbering"] = "time"
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        times = [OLD + day * MOMENT for day in range(4)]
        told = [*times]
        told[2] = times[1] if plant % 2 else times[0] - MOMENT
        for at, v in zip(times, told, strict=True):
            own(it, id, v, it.dice.content(), at)
        it.expect("M1", id, None)
    around(it, lambda id: life(it, id, [OLD + day * MOMENT for day in range(3)]), taken, count)


@scene("M1 embedded", "embedded")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        times = [OLD + day * MOMENT for day in range(4)]
        times[2] = times[1] if plant % 2 else times[0] - MOMENT
        chain(it, id, times)
        it.expect("M1", id, None)
    around(it, lambda id: chain(it, id, [OLD + day * MOMENT for day in range(3)]), taken, count)


@scene("M1 times of numbers", "versions")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for _ in range(count):
        id = next(taken)
        for v, day in ((1, 1), (2, 5), (3, 4), (4, 4)):  # equal times are no trouble: the numbers tell the order
            own(it, id, v, it.dice.content(), OLD + day * MOMENT)
        it.expect("M1", id, [2, 3])
    around(it, lambda id: _sound(it, id), taken, count)


# --- archives


@scene("A1 archive", "archive")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        content = pair(it, id, 1 + plant % 4)
        v = 1 + plant % 4
        way = plant % 5
        if way == 0:
            row(it, id, v, content, OLD)
        elif way == 1:
            row(it, id, v, content, YOUNG)
        elif way == 2:  # its token tells the age
            row(it, id, v, content, OLD, physical=f"row {plant}")
        elif way == 3:
            row(it, id, v, content, YOUNG, physical=f"row {plant}")
        else:  # nothing does
            n = it.names
            it.put({"_id": f"row {plant}", n.archive_id: id, n.v: v, **content, n.at: OLD}, it.past)
        it.expect("A1", id, [v], "remove-residue" if way in (0, 2) else None)
    around(it, lambda id: pair(it, id, 3, kind=Int64), taken, count // 2)
    it.indexes.append((it.past, [(it.names.archive_id, 1), (it.names.v, 1)]))


@scene("A2 archive", "archive")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for _ in range(count):
        id = next(taken)
        content = pair(it, id, 3)
        row(it, id, 3, content | {"status": "as it was"})
        it.expect("A2", id, [3], "save-as-version")


@scene("A3 archive", "archive")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        pair(it, id, 3)
        phantoms = [4] if plant % 2 else [4, 6]
        for v in phantoms:
            row(it, id, v, it.dice.content(), YOUNG if plant % 3 else OLD)
        it.expect("A3", id, phantoms, "remove-phantom")
    around(it, lambda id: pair(it, id, 3), taken, count // 2)
    it.indexes.append((it.past, [(it.names.archive_id, 1), (it.names.v, 1)]))


@scene("A4 archive", "archive")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        top, gone = ((5, [2, 3]), (4, [1]), (4, [3]), (3, [1, 2]))[plant % 4]
        pair(it, id, top, gone)
        it.expect("A4", id, gone)
    around(it, lambda id: pair(it, id, 4), taken, count // 2)


@scene("A5 archive", "archive")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for _ in range(count):
        id = next(taken)
        for v in (1, 2, 3):
            row(it, id, v, it.dice.content(), OLD + v * MOMENT)
        it.expect("A5", id, [1, 2, 3], "restore-document")
    around(it, lambda id: pair(it, id, 4), taken, count // 2)
    it.indexes.append((it.past, [(it.names.archive_id, 1), (it.names.v, 1)]))


@scene("R1 stream", "stream")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        way = plant % 4
        if way == 3:
            content = it.dice.content()
            row(it, id, 1, content)
            current(it, id, 1, content | {"status": "changed in place"})
            it.expect("R1", id, [1], None)
            continue
        gone = ([4], [2], [2, 4])[way]
        pair(it, id, 4, gone)
        it.expect("R1", id, gone, "archive-current" if 4 in gone else None)
    around(it, lambda id: pair(it, id, 3), taken, count // 2)
    it.indexes.append((it.past, [(it.names.archive_id, 1), (it.names.v, 1)]))


# --- one document


def part(it: Scene, v: Any, day: int, **more: Any) -> dict[str, Any]:
    """A version inside a document."""
    at = OLD + day * MOMENT
    return {it.names.v: v, it.names.token: it.dice.oid(at), **it.dice.content(), it.names.at: at, **more}


def chain(it: Scene, id: Any, numbers: Sequence[Any], **more: Any) -> None:
    """A document with versions inside, in this order; the last is the current one."""
    told = [part(it, v, day) for day, v in enumerate(numbers)]
    it.put({"_id": id, it.names.sub: told[-1], it.names.prev: told[:-1], **more})


@scene("E1 embedded", "embedded")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    n = it.names
    for plant in range(count):
        id, way = next(taken), plant % 6
        if way == 0:
            chain(it, id, (1, 3, 4))
            it.expect("E1", id, [2])
        elif way == 1:
            chain(it, id, (2, 3))
            it.expect("E1", id, [1])
        elif way == 2:
            at = {n.at: OLD}
            told = [part(it, v, 0, **at) for v in (1, 3, 2, 4)]
            it.put({"_id": id, n.sub: told[-1], n.prev: told[:-1]})
            it.expect("E1", id, [2], "rebuild-prev")
        elif way in (3, 4):
            told = [part(it, v, v) for v in (1, 2, 3)]
            again = told[1] | {n.token: it.dice.oid()} | ({} if way == 3 else {"status": "other"})
            it.put({"_id": id, n.sub: told[2], n.prev: [told[0], told[1], again]})
            it.expect("E1", id, [2], "rebuild-prev" if way == 3 else None)
        else:
            it.put({"_id": id, n.sub: part(it, 3, 3)})
            it.expect("E1", id, [1, 2])
    around(it, lambda id: chain(it, id, range(1, 2 + it.dice.randrange(5))), taken, count // 2)


@scene("E1 nested", "nested")
def _(it: Scene, count: int) -> None:
    taken, n = ids(it), it.names
    for plant in range(count * 2):
        id = next(taken)
        numbers = ((1, 2, 3), (1, 3, 2, 4), (1, 2, 4), (2, 3))[plant % 4 if plant < count else 0]
        told = [part(it, v, 0) for v in numbers]
        it.put({"_id": id, **told[-1], n.prev: told[:-1]})
        if numbers != (1, 2, 3):
            gone = {(1, 3, 2, 4): [2], (1, 2, 4): [3], (2, 3): [1]}[numbers]
            it.expect("E1", id, gone)


@scene("E2 embedded", "embedded")
def _(it: Scene, count: int) -> None:
    taken, n = ids(it), it.names
    for plant in range(count):
        id = next(taken)
        told = [part(it, v, v) | {"scan": Binary(bytes(5 << 20))} for v in (1, 2, 3)]
        raw = bson.encode({"_id": id, n.sub: told[-1], n.prev: told[:-1]})
        short = 1 if plant % 2 else 0
        rest = (15 << 20) - len(raw) - short
        told[0]["scan"] = Binary(bytes((5 << 20) + rest))
        assert len(it.put({"_id": id, n.sub: told[-1], n.prev: told[:-1]})) == (15 << 20) - short
        if not short:
            it.expect("E2", id, (), "move-to-archive")


def sealed(it: Scene, content: dict[str, Any], id: Any, said: str | None = None, **more: Any) -> str:
    """A document with its hash."""
    n = it.names
    digest = content_hash(content) if said is None else said
    token = {n.token: it.dice.oid()} if it.dice.random() < 0.5 else {}
    it.put({"_id": id, **content, n.hash: digest, **token, **more})
    return digest


@scene("H1 hashed", "hashed")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        content = it.dice.content() | {"number": plant}
        id = content_hash(content) if plant % 3 else next(taken)
        stored = {name: content[name] for name in sorted(content)} if plant % 2 else content | {"net": -1.0}
        if stored == content and list(stored) == list(content):
            stored = {name: content[name] for name in reversed(content)}
        it.expect("H1", id, [sealed(it, stored, id, content_hash(content))], "rebuild-hash")
    for plant in range(count):
        sealed(it, it.dice.content() | {"number": -plant}, next(taken))


@scene("H1 archive", "archive")
def _(it: Scene, count: int) -> None:
    taken, n = ids(it), it.names
    for plant in range(count):
        id = next(taken)
        content = it.dice.content()
        row(it, id, 1, content, **{n.hash: content_hash(content)})
        row(
            it,
            id,
            2,
            content,
            **{n.hash: content_hash(content | {"net": -1.0} if plant % 2 else content)},
        )
        now = it.dice.content()
        it.put({"_id": id, n.v: 3, **now, n.hash: content_hash(now) if plant % 2 else "0" * 40})
        it.expect("H1", id, [2 if plant % 2 else 3], "rebuild-hash")


@scene("H1 deltas", "deltas")
def _(it: Scene, count: int) -> None:
    taken, n = ids(it), it.names
    for plant in range(count * 2):
        id, base = next(taken), it.dice.content()
        own(it, id, 1, base, OLD)
        state = base | {"status": "changed"}
        digest = content_hash(state) if plant % 2 else content_hash(base)
        own(it, id, 2, {"status": "changed"}, OLD, **{n.hash: digest})
        if plant % 2 == 0 and state != base:
            it.expect("H1", id, [2], "rebuild-hash")


@scene("H2 hashed", "hashed")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(0, count, 2):
        content = it.dice.content() | {"number": plant}
        for id in (next(taken), next(taken)):
            it.expect("H2", id, [sealed(it, content, id)])
    for plant in range(count):
        sealed(it, it.dice.content() | {"number": -1 - plant}, next(taken))


# --- patterns


@scene("S1 S2 sequence", "sequence")
def _(it: Scene, count: int) -> None:
    n, invoices = it.names, f"{it.db}.invoices"
    it.others.append({"ns": invoices, "layout": "plain"})
    it.put({"_id": "invoices", n.seq: 1000 + count})
    it.expect("S1", "invoices", (), "raise-counter")
    for number in range(1, 1002 + count):
        kept: Any = number
        if number <= count:
            kept = number + 1 if number % 2 else f"{number:05d}"
            it.expect("S2", kept, (), None, invoices)
            if number % 2:
                it.put({"_id": Int64(10**9 + number), "number": kept}, invoices)
        it.put({"_id": it.dice.oid(), "number": kept}, invoices)


@scene("S1 sequences", "sequence")
def _(it: Scene, count: int) -> None:
    n = it.names
    it.fields["targets"] = {f"t{i}": f"{it.db}.t{i}:number" for i in range(count)}
    for i in range(count):
        behind = i % 2 == 0
        it.put({"_id": f"t{i}", n.seq: (9.0, 9, Int64(9))[i % 3] if behind else 10})
        it.others.append({"ns": f"{it.db}.t{i}", "layout": "versions", "id": n.id, "version": n.v})
        for id in range(1, 11):
            for v in (1, 2):  # both have the number of their document
                it.put({"_id": it.dice.oid(), n.id: f"t{id}", n.v: v, "number": id}, f"{it.db}.t{i}")
        if behind:
            it.expect("S1", f"t{i}", (), "raise-counter")


@scene("P1 processed", "processed")
def _(it: Scene, count: int) -> None:
    n = it.names
    for key in range(count * 2):
        for _ in range(2 + key % 2 if key < count else 1):
            it.put({"_id": it.dice.oid(), n.key: f"cup {key}", n.processed: ["2018", "2022"], "wins": 2})
        if key < count:
            it.expect("P1", f"cup {key}")


@scene("P2 processed", "processed")
def _(it: Scene, count: int) -> None:
    n = it.names
    for key in range(count * 2):
        done: list[Any] = ["2018", "2022", it.dice.oid(), 5, 5.0]
        if key < count:
            done.insert(it.dice.randrange(4), done[key % 5])
            it.expect("P2", f"cup {key}", (), "remove-repeats")
        it.put({"_id": it.dice.oid(), n.key: f"cup {key}", n.processed: done, "wins": 2})


def counted(it: Scene, id: Any, pending: list[Any], applied: list[Any] | None, **counter: Any) -> None:
    """A two-step counter."""
    n = it.names
    done = {} if applied is None else {n.applied: applied}
    it.put({"_id": id, n.pending: pending, **done, **({n.count: counter["c"]} if counter else {})})


@scene("T1 pending", "pending")
def _(it: Scene, count: int) -> None:
    taken, dice = ids(it), it.dice
    for plant in range(count):
        id, way = next(taken), plant % 6
        old, young = dice.oid(OLD), dice.oid(YOUNG)
        applied = [dice.oid(OLD)] if plant % 2 else None
        if way == 0:
            counted(it, id, [old, dice.oid(OLD)], applied, c=7)
        elif way == 1:
            counted(it, id, [old, young], applied, c=Int64(7))
        elif way == 2:
            counted(it, id, [old], applied, c=None)  # a null counter with an old token is T1
        elif way == 3:
            counted(it, id, [old], applied)  # and so is a missing one
        elif way == 4:
            counted(it, id, [young], applied, c=7)
        else:
            counted(it, id, [Binary(dice.randbytes(16), 4)], applied, c=7)
        it.expect("T1", id, (), "finish-token" if way < 4 else None)
    around(it, lambda id: counted(it, id, [], [dice.oid(YOUNG)], c=1.0), taken, count // 2)


@scene("T2 pending", "pending")
def _(it: Scene, count: int) -> None:
    taken, dice = ids(it), it.dice
    for plant in range(count):
        id, token = next(taken), dice.oid(OLD if plant % 2 else YOUNG)
        counted(it, id, [token], [dice.oid(OLD), token], c=2)
        it.expect("T2", id, (), "take-out-token")


@scene("T3 pending", "pending")
def _(it: Scene, count: int) -> None:
    taken, dice, n = ids(it), it.dice, it.names
    for plant in range(count):
        id, way = next(taken), plant % 6
        if way == 5:
            it.put({"_id": id, n.count: None})  # as a sum over nothing leaves it
        elif way == 0:
            counted(it, id, [], [dice.oid(OLD)], c=None)
        elif way == 1:
            counted(it, id, [], [dice.oid(OLD)])
        elif way == 2:
            counted(it, id, [], [], c="36")
        elif way == 3:
            counted(it, id, [dice.oid(YOUNG)], [], c=None)
        else:
            counted(it, id, [dice.oid(YOUNG)], [])
        it.expect("T3", id, (), None if way in (3, 4) else "set-counter")
    around(it, lambda id: counted(it, id, [], [], c=0), taken, count // 2)


# --- bytes


def broken(kind: int, id: Any) -> bytes:
    """A document that some drivers stop at, or change."""
    text = c.Value(c.STRING, b"\x02\x00\x00\x00\xff\x00")
    oid = ObjectId("65f0a1c29b1e8a0012c4d7aa")
    name = b"\x05\x00\x00\x00test\x00"
    values = (
        text,
        c.Value(c.SYMBOL, b"\x02\x00\x00\x00a\x00"),
        c.Value(c.DB_POINTER, name + oid.binary),
        c.Value(c.UNDEFINED, b""),
        c.Value(c.REGEX, b"^K\0zi\0"),
        c.Value(c.DATE, (253_402_300_800_000).to_bytes(8, "little", signed=True)),
        c.Value(c.BOOLEAN, b"\x02"),
    )
    pairs = [("_id", Value.of(id)), ("a", Value.of(1))]
    if kind == len(values):
        return c.document([*pairs, ("a", Value.of(2))])
    inside = Value.document(c.document([("deep", values[kind])]))
    return c.document([*pairs, ("x", values[kind] if kind % 2 else inside)])


KINDS = 8


@scene("B1 plain", "plain")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        it.put(broken(plant % KINDS, id))
        it.expect("B1", id)
    around(it, lambda id: it.put({"_id": id, **it.dice.content()}), taken, count)


@scene("B1 versions", "versions")
def _(it: Scene, count: int) -> None:
    taken, n = ids(it), it.names
    for plant in range(count):
        id, kind = next(taken), plant % KINDS
        life(it, id, (1, 3))
        physical = it.dice.oid()
        raw = broken(kind, physical)
        it.put(c.document([("_id", Value.of(physical)), (n.id, Value.of(id)), (n.v, Value.of(2)), *c.fields(raw)[1:]]))
        it.expect_broken(id, 2, physical)


@scene("B1 archive", "archive")
def _(it: Scene, count: int) -> None:
    taken, n = ids(it), it.names
    for plant in range(count):
        id, kind = next(taken), plant % KINDS
        pair(it, id, 3, (2,))
        physical = it.dice.oid()
        raw = broken(kind, physical)
        own_fields = [("_id", Value.of(physical)), (n.archive_id, Value.of(id)), (n.v, Value.of(2))]
        it.put(c.document([*own_fields, *c.fields(raw)[1:]]), it.past)
        it.expect_broken(id, 2, physical)
