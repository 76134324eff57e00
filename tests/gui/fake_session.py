"""Histories made for the tests of timeline and diff view: of any length, with any gap, read as slowly as needed."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, cast

from model.diff import diff
from model.diff.comparison_rules import EXACT, ComparisonRules
from model.errors import Unreachable
from model.foundation.records import Checkpoint, Opened, State, Stored, Version, WatchTurn, no_checkpoint
from model.history.comparison import Comparison
from model.over_time.watched import Watched
from model.session import Session
from model.values import canonical
from model.values.canonical import Value

START = dt.datetime(2024, 3, 12, 8, 0, tzinfo=dt.UTC)
ID = Value.of("K-204117")


def number(n: int) -> Value:
    """A version number."""
    return Value.of(n)


def told(
    n: int,
    *,
    stored: Stored = "archive",
    state: State = "present",
    current: bool = False,
    changed: int | None = None,
    content: bytes | None = None,
    detail: str = "",
) -> Version:
    """One version; a day lies between two."""
    missing = state == "missing"
    return Version(
        v=number(n),
        at=None if missing else START + dt.timedelta(days=n),
        author=None,
        stored="none" if missing else stored,
        state=state,
        current=current,
        hash=None if missing else f"{n:040x}",
        bytes=None if missing else 100 + n,
        detail=detail,
        content=content,
        raw=content,
        changed=changed,
    )


def story(last: int, missing: Sequence[int] = (), damaged: Sequence[int] = ()) -> list[Version]:
    """Versions ``last`` to 1, newest first; the last is the current one, in the document."""
    made = []
    for n in range(last, 0, -1):
        state: State = "missing" if n in missing else "damaged" if n in damaged else "present"
        detail = "hash differs" if n in damaged else ""
        place: Stored = "document" if n == last else "archive"
        changed = None if n == 1 or n in missing or n - 1 in missing else n % 5 + 1
        made.append(told(n, stored=place, state=state, current=n == last, changed=changed, detail=detail))
    return made


MARTA = story(14, missing=(4, 5, 6), damaged=(9,))
"""The history in the pictures: 14 versions, 11 kept."""


class Told:
    """A session that knows some histories; ``gate`` holds the reading after ``before_gate`` versions."""

    source = "told:"

    def __init__(self, histories: dict[Value, list[Version]] | None = None) -> None:
        self.read_only = False
        self.histories = histories if histories is not None else {ID: MARTA}
        self.contents: dict[Value | None, bytes] = {}
        self.gate = threading.Event()
        self.gate.set()
        self.before_gate = 0
        self.fails: Exception | None = None
        self.on_compare: Callable[[], None] | None = None
        self.turns: list[WatchTurn] = []
        self.history: Any = self
        self.time: Any = self
        self.catalogue: Any = self
        self.trust: Any = self

    def as_session(self) -> Session:
        """Itself, as what the panels take."""
        return cast(Session, self)

    def chain_reading(self, ns: str, id: Value) -> Any:
        """The reading of a chain that a test has put in place of ``chain``."""
        chain = cast(Any, self).chain
        return SimpleNamespace(read=lambda checkpoint, partial=None: chain(ns, id, checkpoint, partial))

    def versions(
        self, ns: str, id: Value, checkpoint: Checkpoint = no_checkpoint, changed: bool = True, early: bool = False
    ) -> Iterator[Version]:
        """The versions, newest first."""
        if self.fails is not None:
            raise self.fails
        for n, one in enumerate(self.histories.get(id, [])):
            if n >= self.before_gate:
                while not self.gate.wait(0.01):
                    checkpoint(n, None)
            yield one

    def is_watched(self, ns: str) -> bool:
        """Whether conditions are watched."""
        return bool(self.turns)

    def watched(self, places: Sequence[str], ids: Sequence[Value], checkpoint: Checkpoint = no_checkpoint) -> Watched:
        """Where watched conditions turned in a document."""
        turns = [turn for turn in self.turns if turn.id in ids]

        class Known(Watched):
            def __iter__(self) -> Iterator[WatchTurn]:
                yield from turns

        return Known([], unread=[] if turns else ["The condition is not understood."])

    def version(self, ns: str, id: Value, v: Value | None = None) -> Version:
        """One version with its content."""
        found = next(one for one in self.histories[id] if one.v == v)
        content = self.contents[v]
        return found.but(content=content, raw=content)

    def open(self, ns: str, id: Value, v: Value | None = None) -> Opened:
        """One version with its content, for reading."""
        if self.fails is not None:
            raise self.fails
        found = self.version(ns, id, v)
        return Opened(ns, id, found, ("_id",), False, "", found.raw or b"")

    def rules(self, ns: str) -> ComparisonRules:
        """The rules of the profile: none."""
        return EXACT

    def compare(
        self, ns: str, id: Value, v: Value | None, w: Value | None, rules: ComparisonRules = EXACT
    ) -> Comparison:
        """Two versions and what differs."""
        if self.on_compare is not None:
            self.on_compare()
        if self.fails is not None:
            raise self.fails
        a, b = self.version(ns, id, v), self.version(ns, id, w)
        before, after = (Value.document(each.content or b"") for each in (a, b))
        return Comparison(a, b, rules.compare(before, after), rules)


def compared(a: dict[str, Any], b: dict[str, Any]) -> Comparison:
    """Two documents as v1 and v2, the latter current."""
    return compared_bytes(canonical.encode(a), canonical.encode(b))


def compared_bytes(a: bytes, b: bytes) -> Comparison:
    """The same from BSON."""
    old = told(1, content=a)
    new = told(2, stored="document", current=True, content=b)
    return Comparison(old, new, diff(a, b))


UNREACHABLE = Unreachable("staging did not answer within 5 s; check that the server is up, then try again.")
