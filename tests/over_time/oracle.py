"""The oracle: it edits at random, remembers each state, and knows what the store alone can still prove."""

from __future__ import annotations

import copy
import datetime as dt
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import bson

from tests.over_time.sources import Doc, Source

AUTHORS = [f"user-{n}" for n in range(20)]
START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
PAUSES = (1, 1000, 60_000, 3_600_000)  # milliseconds between two edits
EDITS_OF_ONE = 8
DELETES, RETURNS, JUMPS, LOSSES = 0.05, 0.2, 0.01, 0.2
FAR = dt.datetime.max.replace(tzinfo=dt.UTC)
NEVER = dt.datetime.min.replace(tzinfo=dt.UTC)
Steps: TypeAlias = tuple[str, ...]


@dataclass
class Event:
    """One version as the oracle remembers it; ``at`` as it was stored, which a clock that jumped made wrong."""

    id: Any
    v: int
    at: dt.datetime | None
    author: str | None
    content: Doc | None  # None: deleted
    kind: str = ""
    paths: set[Steps] = field(default_factory=set)
    lost: bool = False
    unfounded: bool = False  # it builds upon a lost one


@dataclass
class Life:
    """The versions of one document; ``gone`` where it was deleted and nothing says when."""

    events: list[Event] = field(default_factory=list)
    gone: bool = False

    @property
    def there(self) -> bool:
        """Whether the document is there now."""
        return bool(self.events) and not self.gone and self.events[-1].content is not None

    @property
    def content(self) -> Doc:
        """The newest content."""
        return self.events[-1].content or {}

    def possible(self, moment: dt.datetime) -> list[int]:
        """Which of the versions can have been current at a moment, by what is stored; -1: none, not yet.

        A version was, where it may have begun by then and the next one may have begun later. A time that is not known
        lies between those around it. None is possible where the times contradict the order just there.
        """
        times = [None if each.lost else each.at for each in self.events] + ([None] if self.gone else [])
        earliest = [max((t for t in times[: n + 1] if t is not None), default=NEVER) for n in range(len(times))]
        latest = [min((t for t in times[n:] if t is not None), default=FAR) for n in range(len(times))]
        found = [] if latest[0] <= moment else [-1]
        for n, begun in enumerate(earliest):
            if begun <= moment and (n + 1 == len(times) or latest[n + 1] > moment):
                found.append(n)
        return found

    def readable(self, n: int) -> bool:
        """Whether the version of a number of :meth:`possible` can still be read."""
        return 0 <= n < len(self.events) and not (self.events[n].lost or self.events[n].unfounded)


class Oracle:
    """Edits documents at random in one source, and remembers everything."""

    def __init__(self, source: Source, seed: object, damage: bool = True) -> None:
        """Without ``damage`` no clock jumps and no version is lost."""
        self.source, self.dice, self.damage = source, random.Random(f"{seed}"), damage
        self.layout = source.layout
        self.now = START
        self.edits = 0
        self.lives: dict[Any, Life] = {}

    def run(self, edits: int) -> None:
        """Edit so often, or until all documents are gone for good; then lose some versions."""
        documents = max(2, edits // EDITS_OF_ONE)
        while self.edits < edits and sum(life.gone for life in self.lives.values()) < documents:
            self.now += self._pause()
            id = self.source.key(self.dice.randrange(documents))
            life = self.lives.setdefault(id, Life())
            author = self.dice.choice(AUTHORS)
            if life.gone:
                continue  # nobody could tell its second life from an edit
            if not life.there:
                self._note(id, life, self._new(), "create", author)
            elif self.source.fate != "none" and self.dice.random() < DELETES:
                self._delete(id, life, author)
            else:
                self._edit(id, life, author)
        if self.damage:
            self._lose()

    def _pause(self) -> dt.timedelta:
        pause = dt.timedelta(milliseconds=self.dice.choice(PAUSES))
        return max(self.source.unit, pause // self.source.unit * self.source.unit)

    def _clock(self, life: Life) -> dt.datetime:
        """The time by the clock of whoever writes, which is sometimes hours behind."""
        jumps = self.damage and life.events and not self.source.lines_up_by_time and self.dice.random() < JUMPS
        return self.now - dt.timedelta(hours=self.dice.randrange(1, 48)) if jumps else self.now

    def _new(self) -> Doc:
        return {"n": self.dice.randrange(9), "deep": {"a": 1, "b": {"c": "x"}}, "tags": ["a"]}

    def _delete(self, id: Any, life: Life, author: str) -> None:
        at = self._clock(life)
        self.source.delete(id, life.content, at, author)
        self.edits += 1
        if self.source.fate == "whole":
            del self.lives[id]
        elif self.source.fate == "silent":
            life.gone = True
        else:
            self._remember(id, life, None, at, author)

    def _edit(self, id: Any, life: Life, author: str) -> None:
        content = copy.deepcopy(life.content)
        old = [each.content for each in life.events[:-1] if each.content is not None]
        if old and self.dice.random() < RETURNS:
            content = copy.deepcopy(self.dice.choice(old))
        else:
            for change in self.dice.sample(("n", "deep", "tags", "note"), self.dice.randrange(1, 3)):
                if change == "n":
                    content["n"] = self.dice.randrange(9)
                elif change == "deep":
                    content["deep"] = {**content["deep"], "a": self.dice.randrange(9)}
                elif change == "tags":
                    content["tags"] = self.dice.sample(["a", "b", "c"], self.dice.randrange(3))
                elif "note" in content and self.dice.random() < 0.5:
                    del content["note"]
                else:
                    content["note"] = {"text": self.dice.choice("xyz")}
        if content != life.content:
            self._note(id, life, content, "save", author)

    def _note(self, id: Any, life: Life, content: Doc, deed: str, author: str) -> None:
        at = self._clock(life)
        if deed == "create":
            self.source.create(id, content, at, author)
        else:
            self.source.save(id, life.content, content, at, author)
        self.edits += 1
        self._remember(id, life, content, at, author)

    def _remember(self, id: Any, life: Life, content: Doc | None, at: dt.datetime, author: str) -> None:
        kept = at if self.source.keeps_time else None
        by = author if self.source.keeps_author else None
        life.events.append(Event(id, len(life.events) + 1, kept, by, copy.deepcopy(content)))

    def _lose(self) -> None:
        """Take a version out of the middle of some histories; those of deltas that build upon it are lost with it."""
        for id, life in self.lives.items():
            inner = [n for n in range(1, len(life.events) - 1) if life.events[n].content is not None]
            if not inner or self.dice.random() >= LOSSES:
                continue
            n = self.dice.choice(inner)
            if self.source.lose(id, life.events[n].v):
                life.events[n].lost = True
                for later in life.events[n + 1 :] if self.source.builds_up else ():
                    if later.content is None:
                        break  # what is created behind it is whole again
                    later.unfounded = True

    # --- what the store can still tell

    @property
    def events(self) -> list[Event]:
        """Every change that is stored, with its kind and paths."""
        found = []
        for life in self.lives.values():
            found += list(_told(life.events))
        return found


def _told(events: Sequence[Event]) -> Iterator[Event]:
    kept: list[Doc] = []
    before: Event | None = None
    for event in events:
        if not event.lost:
            told = copy.copy(event)
            if event.content is None:
                told.kind = "deleted"
            elif event.unfounded or (before is not None and before.lost):
                told.kind = "unknown"
            else:
                base = before.content if before is not None else None
                told.paths = set(paths(base or {}, event.content))
                # The state just before does not count, nor does the one before that where it is the same.
                earlier = kept[:-1] if base is not None else kept
                told.kind = "restored" if event.content in earlier else "edited" if base is not None else "created"
            if event.content is not None and not event.unfounded:
                kept.append(event.content)
            yield told
        before = event


def paths(before: Doc, after: Doc, above: Steps = ()) -> Iterator[Steps]:
    """The paths at which two contents differ, as deep as sub-documents go."""
    for name in {**before, **after}:
        was, now = before.get(name), after.get(name)
        if isinstance(was, dict) and isinstance(now, dict):
            yield from paths(was, now, (*above, name))
        elif name not in before or name not in after or bson.encode({"": was}) != bson.encode({"": now}):
            yield (*above, name)
