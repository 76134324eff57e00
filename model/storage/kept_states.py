"""States of long histories of deltas, kept in files of this computer, so that one version is read from near it.

A file holds one document's states after every so many versions, each with two digests: of the stored version that it
ends with, and of all versions up to it. What is told from a kept state is told as of the time when all of them were
read: whoever uses it sees that its last version still stands, byte for byte, and that those after it follow without a
gap, but not that no earlier one was changed. So nothing is ever written from it, and who reads all compares the digest.

A file belongs to a server, to the collection's UUID, to the id, to the profile, and to the code that made it, and lasts
a day. Its beginning has a checksum, and each state one of its own, so that a damaged file is never used.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import struct
import time
from array import array
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

from msgspec import Struct

from model.foundation import kept_files
from model.foundation.whole_files import whole_file
from model.storage.delta_folding import rebuilt
from model.values import canonical as c
from model.values.canonical import Value

LASTS = 24 * 3600
"""Seconds until all versions are read again."""
AGAIN = 3600
"""Seconds after which a reading of all versions keeps the states anew."""
STEP = 16  # versions between two states, if there is room
MOST = 8 << 20  # bytes of the states of one document
ALL = 128 << 20  # bytes of all files
_FORM = b"states 1"
_SIZES = struct.Struct("<dII")  # when all were read, the versions between two states, the states
_DIGEST = 16  # bytes of a digest
_PARTS = 3  # digests of each state
_NAMED = len(_FORM) + _DIGEST  # where the digest of the file's own name stands, behind the checksum
_START = _NAMED + _DIGEST + _SIZES.size
_LARGEST = 2 * MOST  # bytes of a file that is read


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()


class KeptHistory(Struct, frozen=True):
    """The states after every ``step`` versions of one document."""

    at: float
    """When all versions were read, in seconds since 1970."""
    step: int
    ends: Sequence[int]
    """Where each state ends in ``states``."""
    digests: bytes
    """Three of each state: of itself, of the stored version that it ends with, of all up to that, oldest first."""
    states: bytes

    @property
    def highest(self) -> int:
        """The number of the last version with a state; 0 if there is none."""
        return len(self.ends) * self.step

    def below(self, number: int) -> int:
        """The highest number with a state that is not above ``number``; 0 if there is none."""
        return max(0, min(number, self.highest)) // self.step * self.step

    def state(self, number: int) -> bytes | None:
        """The state after as many versions as :meth:`below` returns; None if it is damaged."""
        at = number // self.step - 1
        if at < 0:
            return c.EMPTY
        found = self.states[self.ends[at - 1] if at else 0 : self.ends[at]]
        return found if _digest(found) == self._digest(at, 0) else None

    def holds(self, first: int, rows: Sequence[bytes]) -> bool:
        """Whether stored versions from number ``first`` on are those with which states were kept, where any were."""
        numbers = range(-(-first // self.step) * self.step, min(self.highest, first + len(rows) - 1) + 1, self.step)
        return all(_digest(rows[number - first]) == self._digest(number // self.step - 1, 1) for number in numbers)

    def is_of(self, stored: Sequence[bytes]) -> bool:
        """Whether the states were made from these stored versions, given with the highest number first."""
        if not 0 < self.highest <= len(stored):
            return False
        digest = hashlib.blake2b(digest_size=_DIGEST)
        for raw in reversed(stored[len(stored) - self.highest :]):
            digest.update(raw)
        return digest.digest() == self._digest(len(self.ends) - 1, 2)

    def _digest(self, at: int, part: int) -> bytes:
        place = (at * _PARTS + part) * _DIGEST
        return self.digests[place : place + _DIGEST]

    @property
    def moment(self) -> dt.datetime:
        """When all versions were read."""
        return dt.datetime.fromtimestamp(int(self.at), dt.UTC)


def kept_from(stored: Sequence[bytes], own: Collection[str], at: float) -> KeptHistory:
    """The states of a history without doubts and removed fields, its stored versions given with the highest first.

    Raises ``Unreadable``.
    """
    step, held, upto = STEP, 0, hashlib.blake2b(digest_size=_DIGEST)
    states: list[bytes] = []
    digests: list[bytes] = []
    done, count = 0, len(stored)
    while done + step <= count:
        rows = stored[count - done - step : count - done][::-1]
        states.append(rebuilt(rows, own, states[-1] if states else c.EMPTY))
        for raw in rows:
            upto.update(raw)
        digests.append(_digest(states[-1]) + _digest(rows[-1]) + upto.copy().digest())
        held += len(states[-1])
        done += step
        # Too large together: every second one stays, at twice the distance.
        if held > MOST and len(states) > 1 and len(states) % 2 == 0:
            states, digests, step = states[1::2], digests[1::2], step * 2
            held = sum(map(len, states))
    return KeptHistory(at, step, [*accumulate(map(len, states))], b"".join(digests), b"".join(states))


class StatesOf(Struct, frozen=True):
    """The kept states of one collection, as it is now."""

    kept: StateFiles
    ns: str
    uuid: Callable[[], str]
    """Asks for the collection's UUID; "" if the server reports none, and then nothing is kept."""
    profile: str
    """All that the profile says, by which the versions are read."""

    def get(self, id: Value) -> KeptHistory | None:
        """What is kept of a document; None if there is nothing, or if it is of another collection."""
        if not self.kept.files(self.ns, id):
            return None
        uuid = self.uuid()
        return self.kept.read(self.ns, uuid, id, self.profile) if uuid else None

    def keep(self, id: Value, found: KeptHistory) -> None:
        """Keep the states of a document instead of those kept before."""
        if uuid := self.uuid():
            self.kept.write(self.ns, uuid, id, self.profile, found)

    def forget(self, id: Value) -> None:
        """Throw away what is kept of a document."""
        self.kept.forget(self.ns, id)


class StateFiles:
    """The files in a folder, for one server and user."""

    def __init__(self, folder: Path, source: str, named: Callable[..., str]) -> None:
        """``source`` is the server's address without a password; ``named`` makes a name of texts and of the code."""
        self.folder, self._source, self._named = folder, source, named

    def of(self, ns: str, uuid: Callable[[], str], profile: str) -> StatesOf:
        """The states of a collection that is read by this profile."""
        return StatesOf(self, ns, uuid, profile)

    def files(self, ns: str, id: Value) -> list[Path]:
        """The files about documents with this name and id, on whatever server."""
        with suppress(OSError):
            return [path for path in self.folder.iterdir() if path.name.startswith(f"states-{_place(ns, id)}-")]
        return []

    def forget(self, ns: str, id: Value) -> int:
        """Delete the files about documents with this name and id; returns how many there were."""
        found = 0
        for path in self.files(ns, id):
            path.unlink(missing_ok=True)
            found += 1
        return found

    def read(self, ns: str, uuid: str, id: Value, profile: str) -> KeptHistory | None:
        """What a file holds; None if there is none, or if it is damaged, too old, or about something else."""
        name = self._name(ns, uuid, id, profile)
        data = kept_files.bytes_of(self.folder / name, _LARGEST) or b""
        # Its own name is in it: a copy of another file under this name holds the states of something else.
        if len(data) < _START or data[: len(_FORM)] != _FORM or data[_NAMED : _NAMED + _DIGEST] != _told(name):
            return None
        at, step, count = _SIZES.unpack_from(data, _START - _SIZES.size)
        ends = array("I")
        middle = _START + count * ends.itemsize
        end = middle + count * _PARTS * _DIGEST
        if not count or end > len(data) or _digest(data[_NAMED:end]) != data[len(_FORM) : _NAMED]:
            return None
        ends.frombytes(data[_START:middle])
        found = KeptHistory(at, step, ends, data[middle:end], data[end:])
        return found if ends[-1] == len(found.states) and 0 <= time.time() - at < LASTS else None

    def write(self, ns: str, uuid: str, id: Value, profile: str, found: KeptHistory) -> None:
        """Keep states in a file; nothing happens if that fails."""
        if not found.ends or not self.folder.parent.is_dir():
            return  # who only reads needs no home, and is given none
        name = self._name(ns, uuid, id, profile)
        sizes = _SIZES.pack(found.at, found.step, len(found.ends))
        start = b"".join((_told(name), sizes, array("I", found.ends).tobytes(), found.digests))
        with suppress(OSError):  # all versions are read again next time
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            kept_files.clear(self.folder / name)
            with whole_file(self.folder / name) as file:
                file.write(b"".join((_FORM, _digest(start), start, found.states)))
            self._tidy()

    def _tidy(self) -> None:
        """Delete what is too old, and the oldest files if all of them are too large."""
        room = ALL
        seen = [(path.stat(), path) for path in self.folder.glob("states-*")]
        for state, path in sorted(seen, key=lambda each: each[0].st_mtime, reverse=True):
            room -= state.st_size
            if room < 0 or state.st_mtime < time.time() - LASTS:
                path.unlink(missing_ok=True)

    def _name(self, ns: str, uuid: str, id: Value, profile: str) -> str:
        return f"states-{_place(ns, id)}-{self._named(self._source, ns, uuid, _key(id), profile)}"


def _place(ns: str, id: Value) -> str:
    return _told(f"{ns}\0{_key(id)}").hex()


def _key(id: Value) -> str:
    return f"{id.type} {id.data.hex()}"  # the ids 1 and 1.0 are those of two documents


def _told(text: str) -> bytes:
    return _digest(text.encode("utf-8", "surrogateescape"))
