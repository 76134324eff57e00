"""What a worker was about to do, and what it was told about it: lines of JSON, each on disk before it continues."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class LedgerFull(Exception):
    """Nothing can be noted: what was not sent is not sent any more, and how what was sent ended nobody is told."""


class Ledger:
    """The ledger of one life of a worker; its times are by the clock that all processes of a computer share."""

    def __init__(self, path: Path, home: str) -> None:
        self._home = home  # whose journal has its writes
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        self._number = 0

    def begin(self, what: str, **said: Any) -> int:
        """Note something that is about to be done; returns its number."""
        self._number += 1
        self._write({"number": self._number, "what": what, "home": self._home, **said})
        return self._number

    def end(self, number: int, outcome: str, **said: Any) -> None:
        """Note how it ended."""
        self._write({"number": number, "outcome": outcome, **said})

    def _write(self, row: dict[str, Any]) -> None:
        try:
            os.write(self._file, json.dumps(row | {"at": time.monotonic()}).encode() + b"\n")
            os.fsync(self._file)
        except OSError as error:
            raise LedgerFull from error


@dataclass(frozen=True)
class Attempt:
    """Something that a worker tried: how it ended is "" where nobody was told."""

    what: str
    said: dict[str, Any]
    outcome: str
    told: dict[str, Any]


def attempts(path: Path) -> Iterator[Attempt]:
    """What one life of a worker tried; its last line may be half a line."""
    begun: dict[int, dict[str, Any]] = {}
    ended: dict[int, dict[str, Any]] = {}
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            row = json.loads(line)
            (ended if "outcome" in row else begun)[row["number"]] = row
    for number, said in begun.items():
        told = ended.get(number, {})
        yield Attempt(said["what"], said, told.get("outcome", ""), told)
