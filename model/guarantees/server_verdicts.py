"""The verdicts of checks, kept by source, so that nobody edits unknowingly on a server that loses edits.

Each source has a file in the data folder's ``servers``, so that simultaneous checks do not overwrite each other. A
finding holds for the server version that was measured; an override holds for its connection until somebody revokes
it.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import time
from collections.abc import Sequence, Set
from functools import lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict, replace

from model.errors import Refused
from model.foundation import kept_files
from model.foundation.guarantee import NEEDS, Guarantee, WriteKind, relies
from model.userdata import folders as homes

LATELY = 1.0
"""For this many seconds, writes do not look again whether another program has stored new findings."""


class Measured(Struct, frozen=True):
    """The findings of the last check of a source."""

    at: dt.datetime
    version: str  # of the server then
    unsafe: tuple[str, ...] = ()  # a sentence for each unsafe point
    allowed: bool = False  # somebody edits there nevertheless
    checks: tuple[str, ...] = ()  # the check that found each of `unsafe`

    def refuses(self, writes: Set[WriteKind]) -> str:
        """What is unsafe for writes of these kinds, the first sentence; "" if nothing is, or if somebody allowed it."""
        checks = (*self.checks, *[""] * (len(self.unsafe) - len(self.checks)))
        met = (said for check, said in zip(checks, self.unsafe, strict=False) if relies(check, writes))
        return "" if self.allowed else next(met, "")

    @property
    def refused(self) -> tuple[str, ...]:
        """The writes that are refused unless somebody allows them, as people call them."""
        told = tuple(NEEDS[check].called for check in self.checks if check in NEEDS)
        return told if len(told) == len(self.unsafe) else ("every write",)


def _needed(found: Measured) -> Measured:
    """Findings without those that no write needs, which earlier versions kept as well."""
    if len(found.checks) != len(found.unsafe) or {*found.checks} <= NEEDS.keys():
        return found
    pairs = [(check, said) for check, said in zip(found.checks, found.unsafe, strict=True) if check in NEEDS]
    return replace(found, checks=tuple(check for check, _ in pairs), unsafe=tuple(said for _, said in pairs))


class ServerVerdicts:
    """The stored findings of one person's checks."""

    def __init__(self, home: Path | None = None) -> None:
        self._home = homes.chosen(home)
        self._place = str(self._home or "")  # compared at each write, and comparing paths is slow

    def measured(self, source: str, version: str) -> Measured | None:
        """The findings on a source for this version of its server; None if it was never measured."""
        file = _file(homes.place(self._home), source)
        try:
            now = os.lstat(file)  # most often there is none
        except OSError:
            return None
        found = _read(file, (now.st_ino, now.st_mtime_ns, now.st_size))
        return _needed(found) if found is not None and found.version == version else None

    def lately(self, source: str, version: str) -> Measured | None:
        """The findings as of at most :data:`LATELY` seconds ago; those stored by this program count at once."""
        asked = self._place, source, version
        at, found = _known.get(asked, (-math.inf, None))
        if time.monotonic() - at > LATELY:
            at, found = _known[asked] = time.monotonic(), self.measured(source, version)
        return found

    def keep(self, source: str, version: str, found: Sequence[Guarantee]) -> Measured:
        """Store the findings of a check; those that it did not measure, and an override, stay."""
        before = self.measured(source, version)
        unsafe = {each.check: each.detail for each in found if each.verdict == "unsafe"}
        measured = {each.check for each in found if each.verdict != "unknown"}
        if before is not None:
            earlier = zip(before.checks, before.unsafe, strict=False)
            unsafe |= {check: detail for check, detail in earlier if check not in measured}
        allowed = before is not None and before.allowed
        made = Measured(dt.datetime.now(dt.UTC), version, tuple(unsafe.values()), allowed, tuple(unsafe))
        self._put(source, made)
        return made

    def allow(self, source: str, version: str, allowed: bool) -> None:
        """Store whether this source may be edited although its server is unsafe."""
        before = self.measured(source, version) or Measured(dt.datetime.now(dt.UTC), version)
        self._put(source, replace(before, allowed=allowed))

    def _put(self, source: str, made: Measured) -> None:
        found = asdict(made) | {"at": made.at.isoformat(timespec="seconds"), "source": source}
        homes.folder(self._home, "servers")
        homes.keep(_file(homes.place(self._home), source), json.dumps(found, indent=1, sort_keys=True))
        _known.clear()


_known: dict[tuple[str, str, str], tuple[float, Measured | None]] = {}


@lru_cache
def _read(file: Path, state: tuple[int, ...]) -> Measured | None:
    """The content of a file in this state; another program may change it. A damaged one is set aside."""
    try:
        return kept_files.content(file, _measured)
    except Refused as refusal:
        kept_files.notices.tell(str(refusal))
        return None


def _measured(written: str) -> Measured:
    """The findings in a file's text; raises one of ``model.foundation.kept_files.DAMAGE``."""
    found = json.loads(written)
    unsafe, checks = found["unsafe"], found.get("checks", [])
    if not all(isinstance(each, str) for each in [*unsafe, *checks]) or isinstance(unsafe, str | dict):
        raise TypeError(unsafe)
    return Measured(
        kept_files.moment(kept_files.text_in(found, "at")),
        kept_files.text_in(found, "version"),
        tuple(unsafe),
        kept_files.flag_in(found, "allowed"),
        tuple(checks),
    )


@lru_cache
def _file(home: Path, source: str) -> Path:
    return home / "servers" / f"{homes.name_of(source)}.json"
