"""What goes wrong in a pipe: on cue, as a plan says, or drawn from a seed."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from model.errors import NotFound, Refused
from model.foundation.input_files import whole_text
from model.foundation.toml_text import tables
from model.localserver.wire import Command

FAULTS: Mapping[str, str] = {
    "lose-request": "the request does not reach the server, and the connection ends",
    "lose-reply": "the server carries it out, and the connection ends before its reply",
    "late": "the connection ends, and the request reaches the server afterwards",
    "delay": "the reply comes later",
    "repeat": "the request reaches the server twice, and the first reply is told",
    "cut": "the server carries it out, and the connection ends in the midst of its reply",
    "stall": "the server carries it out, and nothing more comes on the connection, which ends at last",
}
WRITES = ("insert", "update", "delete", "findAndModify", "findandmodify", "bulkWrite")
QUIET = frozenset(
    {"hello", "isMaster", "ismaster", "ping", "buildInfo", "buildinfo", "saslStart", "saslContinue", "authenticate"}
    | {"logout", "getnonce", "endSessions", "killCursors", "killSessions", "OP_QUERY"}
)
"""Commands that never fail: a connection that cannot begin tests nothing."""
UNSAID = {"late": None, "delay": 0.5, "stall": 2.0}
"""Seconds where none are stated; what is late without any lands with later traffic."""
_MOST_SECONDS = 3600


class Fault(Struct, frozen=True):
    """One thing that goes wrong with one message."""

    do: str
    seconds: float | None = None


class Faults(Protocol):
    """Decides what happens to each message, in the order in which they come."""

    lands: float
    """The chance, at each message, that the one longest on its way arrives."""

    def next(self, command: Command) -> Fault | None:
        """The fault of this message; None to pass it on."""

    def roll(self) -> float:
        """A number from 0 to 1."""

    def end(self) -> None:
        """Let nothing go wrong any more."""


class Cue(Struct):
    """A fault of a plan: which messages it is for, and from which of them on."""

    fault: Fault
    commands: tuple[str, ...] = ()  # () means all writes
    ns: str = ""  # "" means all
    nth: int = 1  # the first of the messages that fit
    times: int = 1  # this many from there on; 0: all
    seen: int = 0

    def fits(self, command: Command) -> bool:
        """Whether it is for this message; counts it."""
        names = self.commands or WRITES
        if command.name not in names or (self.ns and self.ns != ns_of(command)):
            return False
        self.seen += 1
        return self.seen >= self.nth and (not self.times or self.seen < self.nth + self.times)


class FaultPlan:
    """Faults on cue."""

    lands = 0.0

    def __init__(self, cues: Sequence[Cue]) -> None:
        self._cues = list(cues)

    @classmethod
    def load(cls, path: str | Path) -> FaultPlan:
        """Read a plan: TOML with ``[[fault]]`` tables, or a JSON object a line. Raises ``Refused`` or ``NotFound``."""
        try:
            text = whole_text(path)
            rows = _lines(text) if text.lstrip()[:1] == "{" else _tables(text)
        except FileNotFoundError:
            raise NotFound(f"There is no plan {path}; check the path.") from None
        except UnicodeDecodeError:
            raise Refused(f"The plan {path} is not UTF-8 text; save it as UTF-8.") from None
        except OSError as error:
            raise Refused(f"The plan {path} cannot be read: {error.strerror or error}.") from None
        except (ValueError, RecursionError) as error:
            raise Refused(f"The plan {path} cannot be read: {str(error).rstrip('.')}.") from None
        cues = []
        for number, row in enumerate(rows, 1):
            try:
                cues.append(_cue(row))
            except ValueError as error:
                raise Refused(f"The plan {path}, fault {number}: {error}.") from None
        if not cues:
            raise Refused(f"The plan {path} has no fault; write [[fault]] for each (see `palimpsest help pipe`).")
        return cls(cues)

    def next(self, command: Command) -> Fault | None:
        """The first cue that is for this message; each of them counts it."""
        due = [cue.fault for cue in self._cues if cue.fits(command)]
        return due[0] if due else None

    def roll(self) -> float:
        """Nothing is left to chance."""
        return 1.0

    def end(self) -> None:
        """Forget all cues."""
        self._cues.clear()


class Drawn:
    """Faults drawn from a seed."""

    lands = 0.08

    def __init__(self, seed: int, doubt: float = 0.3, cuts: float = 0.01, kinds: Sequence[str] = tuple(FAULTS)) -> None:
        """``doubt`` is the chance of a write to meet one of the ``kinds``, ``cuts`` that of another message to be
        lost.
        """
        self.doubt, self.cuts, self.kinds = doubt, cuts, tuple(kinds)
        self._rng = random.Random(seed)

    def next(self, command: Command) -> Fault | None:
        """What the dice say."""
        if command.name not in WRITES:
            return Fault("lose-request") if self._rng.random() < self.cuts else None
        if self._rng.random() >= self.doubt:
            return None
        do = self._rng.choice(self.kinds)
        return Fault(do, round(self._rng.uniform(0.01, 0.3), 3) if do in ("delay", "stall") else None)

    def roll(self) -> float:
        """A number from the same dice."""
        return self._rng.random()

    def end(self) -> None:
        """Draw nothing any more."""
        self.doubt = self.cuts = 0.0


def ns_of(command: Command) -> str:
    """The collection that a command is about; "" if it names none."""
    named = command.fields.get(command.name)
    if command.name == "getMore":
        named = command.fields.get("collection")
    name = named.python() if named is not None and named.type == 2 else ""
    return f"{command.database}.{name}" if name else ""


def said(counts: Counter[str]) -> str:
    """How often each fault came, in words; "" if none did."""
    return ", ".join(f"{counts[name]} × {name}" for name in FAULTS if counts[name])


def _lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _tables(text: str) -> list[Any]:
    data = tables(text)
    if unknown := sorted(set(data) - {"fault"}):
        raise ValueError(f"there is no key {unknown[0]!r} here; faults are stated in [[fault]]")
    found = data.get("fault", [])
    if not isinstance(found, list):
        raise ValueError("write [[fault]] with two brackets, once for each fault")
    return found


def _cue(row: Any) -> Cue:
    if not isinstance(row, dict):
        raise ValueError("each fault is an object")
    if unknown := sorted(set(row) - {"do", "command", "ns", "nth", "times", "seconds"}):
        raise ValueError(f"there is no key {unknown[0]!r}")
    do = str(row.get("do"))
    if do not in FAULTS:
        raise ValueError(f"do is one of {', '.join(FAULTS)}")
    commands = row.get("command", [])
    commands = [commands] if isinstance(commands, str) else commands
    if not isinstance(commands, list) or not all(isinstance(each, str) and each for each in commands):
        raise ValueError("command is a command's name, or a list of them")
    if quiet := [each for each in commands if each in QUIET]:
        raise ValueError(f"{quiet[0]} always passes")
    ns = row.get("ns", "")
    if not isinstance(ns, str) or (ns and "." not in ns):
        raise ValueError("ns is database.collection")
    seconds = row.get("seconds", UNSAID.get(do))
    if do == "late" and seconds is None:
        seconds = 0.5
    if seconds is not None and (not _is_number(seconds) or not 0 <= seconds <= _MOST_SECONDS):
        raise ValueError(f"seconds is a number up to {_MOST_SECONDS}")
    return Cue(Fault(do, seconds), tuple(commands), ns, _count(row, "nth", 1), _count(row, "times", 0))


def _count(row: Mapping[str, Any], name: str, least: int) -> int:
    found = row.get(name, 1)
    if not isinstance(found, int) or isinstance(found, bool) or found < least:
        raise ValueError(f"{name} is a whole number from {least} on")
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
