"""Users of a locking program and users of the product take turns on one item, in a random order.

Each increases the quantity of one of its lines by one, from what was read: a library as its own users do; the product
by an edit that also reverses the lines, so that a save by position hits another line, and sets a title. After a
conflict, they read and try again. In the end, each line must count what was acknowledged, and the title must be the
last edit's.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from model.foundation.records import Opened
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value
from tests.writers.guards.lockers import FIELD, LOST, Locker

NS = "shop.items"
SKUS = ("A", "B", "C", "D", "E")
STATED = {"efcore": "inc"}
"""How the locks move that are asked for, because other programs have fields of such names that are none."""
LIBRARY, EDITORS, TRIES = 2, 2, 8


@dataclass
class Told:
    """What came of the interleavings."""

    turns: int = 0
    between: int = 0  # edits that were applied between a read of the library and its save
    turned_away: int = 0  # saves of the library that were told of it
    conflicts: int = 0  # edits that were told of a save
    wrong: list[str] = field(default_factory=list)


@dataclass
class _Turn:
    """One interleaving, step by step."""

    name: str
    locker: Locker
    session: Session
    items: Any
    id: str
    rng: random.Random
    told: Told
    due: Counter[str] = field(default_factory=Counter)  # what each line has to count
    title: str = "new"
    raised: int = 0
    held: dict[str, int] = field(default_factory=dict)  # user of the library -> edits applied when it read

    def run(self) -> None:
        """Let all take their turns, then look."""
        steps = [self._library(f"u{n}", SKUS[n]) for n in range(LIBRARY)]
        steps += [self._editor(f"e{n}", self.rng.choice(SKUS)) for n in range(EDITORS)]
        while steps:
            at = self.rng.randrange(len(steps))
            if next(steps[at], None) is None:
                del steps[at]
        self._look()

    def _library(self, who: str, sku: str) -> Iterator[bool]:
        for _ in range(TRIES):
            self.locker.read(who, self.id)
            seen = self.raised
            yield True
            said = self.locker.save(who, sku)
            self.told.between += self.raised > seen
            if said == "saved":
                self.due[sku] += 1
                yield True
                return
            if said.split(" ")[0] != LOST[self.name]:
                self._wrong(f"the library says {said}")
                return
            self.told.turned_away += 1
        self._wrong(f"{who} was turned away {TRIES} times")

    def _editor(self, who: str, sku: str) -> Iterator[bool]:
        id = Value.of(self.id)
        for number in range(TRIES):
            opened = self.session.writing.open(NS, id)
            yield True
            title = f"{who}.{number}"
            outcome = self.session.writing.save(NS, id, opened.base, _edited(opened, sku, title))
            if outcome.kind == "applied":
                self.due[sku] += 1
                self.raised += 1
                self.title = title
                yield True
                return
            if outcome.kind != "conflict":
                self._wrong(f"the edit ended {outcome.kind}: {outcome.detail}")
                return
            self.told.conflicts += 1
        self._wrong(f"{who} met a conflict {TRIES} times")

    def _look(self) -> None:
        stored = self.items.find_one({"_id": self.id})
        self.told.turns += 1
        counted = {line["sku"]: line["qty"] for line in stored["lines"]}
        if sorted(line["sku"] for line in stored["lines"]) != sorted(SKUS):
            self._wrong(f"the lines are {stored['lines']}")
        elif counted != {sku: self.due[sku] for sku in SKUS}:
            self._wrong(f"the lines count {counted} and not {dict(self.due)}")
        elif stored["title"] != self.title:
            self._wrong(f"the title is {stored['title']!r} and not {self.title!r}, which was acknowledged last")

    def _wrong(self, said: str) -> None:
        self.told.wrong.append(f"{self.id}: {said}")


def _edited(opened: Opened, sku: str, title: str) -> bytes:
    """The content with one more of a sku, the last line in front, and another title."""
    content = opened.base.content or c.EMPTY
    lines = c.get(content, ("lines",))
    assert lines is not None
    made = []
    for line in c.items(lines):
        quantity = c.get(line.data, ("qty",))
        assert quantity is not None
        more = Value(quantity.type, (int(quantity.python()) + 1).to_bytes(len(quantity.data), "little"))
        mine = c.get(line.data, ("sku",)) == Value.of(sku)
        made.append(Value.document(c.put(line.data, ("qty",), more)) if mine else line)
    content = c.put(content, ("lines",), c.array([made[-1], *made[:-1]]))
    return c.put(content, ("title",), Value.of(title))


def judged(
    name: str, locker: Locker, session: Session, items: Any, seed: int, interleavings: int, careless: bool = False
) -> Told:
    """What comes of so many interleavings; ``careless`` is an editor that takes the lock for an ordinary field."""
    told, rng = Told(), random.Random(seed)
    for number in range(interleavings):
        locker.create(f"I-{number}", SKUS)
    if name in STATED:
        session.catalogue.state_guard(NS, STATED[name])
    lock = session.catalogue.info(NS).fields.get("guard")
    if lock != FIELD[name]:
        told.wrong.append(f"the lock that was recognised is {lock}")
    if careless:
        session.catalogue.state_guard(NS, "none")
    for number in range(interleavings):
        _Turn(name, locker, session, items, f"I-{number}", rng, told).run()
    return told
