"""Documents with two kinds of damage: each is reported, unless it follows from the other."""

from __future__ import annotations

from typing import Any

from model.values import canonical as c
from model.values.canonical import Value
from tests.scanning.scenes import (
    MOMENT,
    OLD,
    SCENES,
    YOUNG,
    chain,
    counted,
    current,
    ids,
    life,
    own,
    pair,
    part,
    row,
    scene,
    sealed,
)
from tests.scanning.support import NOW, Scene, content_hash

__all__ = ["SCENES"]


@scene("V1 V2 together", "versions")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for _ in range(count):
        id, content = next(taken), it.dice.content()
        life(it, id, (1, 3))
        own(it, id, 3, content, OLD + MOMENT)
        own(it, id, 5, content, OLD + 9 * MOMENT)
        it.expect("V1", id, [3], None)
        it.expect("V2", id, [2, 4])


@scene("V2 V3 together", "versions")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count * 2):
        id = next(taken)
        if plant % 2:
            life(it, id, (1, 2))
            continue
        life(it, id, (1, "2", 5))
        it.expect("V3", id, ["2"], "convert-version")
        it.expect("V2", id, [3, 4])


@scene("V1 C1 together", "flagged")
def _(it: Scene, count: int) -> None:
    taken, flag = ids(it), {it.names.current: True}
    for plant in range(count):
        id, content = next(taken), it.dice.content()
        own(it, id, 1, it.dice.content(), OLD, **flag)
        for _ in range(2):  # the top twice: what is below still carries the flag
            own(it, id, 2, content, OLD + MOMENT, **(flag if plant % 2 else {}))
        it.expect("V1", id, [2], "remove-duplicate")
        it.expect("C1", id, [1, 2], "set-current-flag")


@scene("V1 at the top, flagged twice", "flagged")
def _(it: Scene, count: int) -> None:
    taken, flag = ids(it), {it.names.current: True}
    for _ in range(count):
        id, content = next(taken), it.dice.content()
        own(it, id, 1, it.dice.content(), OLD)
        for _ in range(2):  # settled with the duplicate: no other version has the flag
            own(it, id, 2, content, OLD + MOMENT, **flag)
        it.expect("V1", id, [2], "remove-duplicate")


@scene("V3 C1 together", "flagged")
def _(it: Scene, count: int) -> None:
    taken, flag = ids(it), {it.names.current: True}
    for _ in range(count):
        id = next(taken)
        life(it, id, (1,), **flag)
        own(it, id, "2", it.dice.content(), OLD + MOMENT)
        it.expect("V3", id, ["2"], "convert-version")
        it.expect("C1", id, [1, "2"], "set-current-flag")


@scene("A1 A3 A4 together", "archive")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for _ in range(count):
        id = next(taken)
        content = pair(it, id, 4, (2,))
        row(it, id, 4, content)
        row(it, id, 5, it.dice.content(), YOUNG)
        it.expect("A1", id, [4], "remove-residue")
        it.expect("A3", id, [5], "remove-phantom")
        it.expect("A4", id, [2])


@scene("A2 A4 H1 together", "archive")
def _(it: Scene, count: int) -> None:
    taken, n = ids(it), it.names
    for _ in range(count):
        id = next(taken)
        content = pair(it, id, 3, (1,))
        row(it, id, 3, content | {"status": "as it was"}, **{n.hash: "1" * 40})
        it.expect("A2", id, [3], "save-as-version")
        it.expect("A4", id, [1])
        it.expect("H1", id, [3], "rebuild-hash")


@scene("V1 A3 together", "archive")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for _ in range(count):
        id, content = next(taken), it.dice.content()
        pair(it, id, 3, (1,))
        for _ in range(2):
            row(it, id, 1, content, OLD + MOMENT)
            row(it, id, 4, content)  # one row more for the phantom: removing it removes both
        it.expect("V1", id, [1], "remove-duplicate")
        it.expect("A3", id, [4], "remove-phantom")


@scene("A5 V3 together", "archive")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count * 2):
        id = next(taken)
        if plant % 2:
            pair(it, id, 2)
            continue
        row(it, id, 1, it.dice.content())
        row(it, id, 2.0, it.dice.content())
        it.expect("A5", id, [1, 2.0], "restore-document")
        it.expect("V3", id, [2.0], "convert-version")


@scene("D1 V1 together", "deltas")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for _ in range(count):
        id, content = next(taken), it.dice.content()
        life(it, id, (1, 4))
        for _ in range(2):
            own(it, id, 2, content, OLD + MOMENT / 2)
        it.expect("D1", id, [3])
        it.expect("V1", id, [2], "remove-duplicate")


@scene("E1 H1 V3 together", "embedded")
def _(it: Scene, count: int) -> None:
    taken, n = ids(it), it.names
    for plant in range(count * 2):
        id = next(taken)
        if plant % 2:
            chain(it, id, (1, 2))
            continue
        told = [part(it, v, day) for day, v in enumerate((1, "3", 5))]
        told[0][n.hash] = content_hash({"another": "content"})
        it.put({"_id": id, n.sub: told[-1], n.prev: told[:-1]})
        it.expect("E1", id, [2, 4])
        it.expect("V3", id, ["3"], "convert-version")
        it.expect("H1", id, [1], "rebuild-hash")


@scene("H1 H2 together", "hashed")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        content = it.dice.content() | {"number": plant}
        one, other = next(taken), next(taken)
        digest = sealed(it, content, one)
        sealed(it, content | {"number": -1}, other, digest)
        it.expect("H1", other, [digest], "rebuild-hash")
        it.expect("H2", one, [digest])
        it.expect("H2", other, [digest])


@scene("R1 A5 together", "stream")
def _(it: Scene, count: int) -> None:
    taken = ids(it)
    for plant in range(count):
        id = next(taken)
        if plant % 2:
            pair(it, id, 3, (1, 3))
            it.expect("R1", id, [1, 3], "archive-current")
        else:
            row(it, id, 2, it.dice.content())
            it.expect("A5", id, [2], "restore-document")


@scene("T1 T2 together", "pending")
def _(it: Scene, count: int) -> None:
    taken, dice = ids(it), it.dice
    for _ in range(count):
        id, twice = next(taken), dice.oid(OLD)
        counted(it, id, [twice, dice.oid(OLD)], [twice], c=4)
        it.expect("T1", id, (), "finish-token")
        it.expect("T2", id, (), "take-out-token")


@scene("T1 T3 together", "pending")
def _(it: Scene, count: int) -> None:
    taken, dice = ids(it), it.dice
    for _ in range(count):
        id = next(taken)
        counted(it, id, [dice.oid(OLD)], [], c="four")  # finished once somebody has said the count
        it.expect("T1", id)
        it.expect("T3", id, (), "set-counter")


@scene("P1 P2 together", "processed")
def _(it: Scene, count: int) -> None:
    n = it.names
    for key in range(count):
        for done in (["2018", "2018"], ["2022"]):
            it.put({"_id": it.dice.oid(), n.key: key, n.processed: done})
        it.expect("P1", key)
        it.expect("P2", key, (), "remove-repeats")


@scene("B1 V2 together", "versions")
def _(it: Scene, count: int) -> None:
    taken, n = ids(it), it.names
    for _ in range(count):
        id, physical = next(taken), it.dice.oid()
        life(it, id, (1,))
        pairs: list[tuple[str, Any]] = [("_id", physical), (n.id, id), (n.v, 3)]
        broken = ("x", c.Value(c.BOOLEAN, b"\x07"))
        it.put(c.document([*((name, Value.of(value)) for name, value in pairs), broken]))
        it.expect_broken(id, 3, physical)
        it.expect("V2", id, [2])


@scene("B1 A3 together", "archive")
def _(it: Scene, count: int) -> None:
    taken, n = ids(it), it.names
    for _ in range(count):
        id, physical = next(taken), it.dice.oid()
        current(it, id, 1, it.dice.content(), NOW)
        pairs: list[tuple[str, Any]] = [("_id", physical), (n.archive_id, id), (n.v, 2)]
        broken = ("x", c.Value(c.UNDEFINED, b""))
        it.put(c.document([*((name, Value.of(value)) for name, value in pairs), broken]), it.past)
        it.expect_broken(id, 2, physical)
        # What may not be written back is not moved about either.
        it.expect_for_damage("A3", id, [2], physical, "remove-phantom")
