"""The recognition of the sample, kept in a file, because each start would spend a second to find the same.

It is valid for the documents that the sample's server loaded, until somebody writes there, and for the code that made
it. The file starts with a checksum of the rest, so that a damaged file is never used.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

import model
import resources
from model.foundation import kept_files
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import CollectionInfo
from model.foundation.whole_files import whole_file

Recognised: TypeAlias = tuple[CollectionInfo, CollectionProfile]

_KEPT = 30 * 24 * 3600  # seconds until a file that nobody has written is deleted
_MOST = 64 << 20  # bytes of the largest file that is read
_DIGEST = hashlib.sha256().digest_size
_SWEEP = 3600.0  # seconds from one look for old files to the next
_swept: dict[tuple[Path, str], float] = {}
"""When a folder was last looked through for old files of a kind."""


class KeptRecognition:
    """The files in a folder; ``loaded`` returns the name of what the server holds, "" after it was written to."""

    def __init__(self, folder: Path, loaded: Callable[[], str]) -> None:
        self._folder, self._loaded = folder, loaded

    def all_of(self, db: str, recognise: Callable[[], Iterator[Recognised]]) -> Iterator[Recognised]:
        """Each collection of a database with its layout, from the file; else recognised, and then kept."""
        path = self._path(db)
        if path is not None and (kept := read(path, Recognised)):
            yield from kept
            return
        # Written only once it is complete: a stopped run must not leave half a database as the whole.
        found = []
        for each in recognise():
            found.append(each)
            yield each
        if path is not None and path == self._path(db):  # nobody has written meanwhile
            write(path, found, Recognised)

    def left(self, db: str) -> list[Recognised]:
        """Each collection of a database with its layout, from the file; [] without one."""
        path = self._path(db)
        return read(path, Recognised) if path is not None else []

    def one(self, ns: str, recognise: Callable[[], Recognised | None]) -> Recognised | None:
        """One collection with its layout, from its own file or the database's; else recognised, and then kept."""
        for place in (ns.partition(".")[0], ns):
            path = self._path(place)
            kept: list[Recognised] = [] if path is None else read(path, Recognised)
            if (found := next((each for each in kept if each[0].ns == ns), None)) is not None:
                return found
        made = recognise()
        if made is not None and path is not None and path == self._path(ns):
            write(path, [made], Recognised)
        return made

    def _path(self, place: str) -> Path | None:
        """The file for a database, or for one collection."""
        loaded = self._loaded()
        if not loaded:
            return None
        return self._folder / f"recognised-{name_for(loaded, place)}"


def name_for(*told: str) -> str:
    """The end of a file's name, for what this code recognises in a place of a source."""
    return hashlib.sha256("\0".join((*told, _state_of_code())).encode()).hexdigest()[:32]


@cache
def _state_of_code() -> str:
    """Identifies the code and presets of recognition by times and sizes of files, as Python does for its caches."""
    told = [os.stat(sys.executable)]
    for room in (*model.__path__, *resources.__path__):
        for above, below, files in os.walk(room):
            below[:] = [name for name in below if name != "__pycache__"]
            told += [os.stat(os.path.join(above, name)) for name in sorted(files) if name.endswith((".py", ".toml"))]
    return hashlib.sha256(repr([(each.st_size, each.st_mtime_ns) for each in told]).encode()).hexdigest()


def read(path: Path, kind: Any) -> list[Any]:
    """What a file has of a kind; empty if it is missing or damaged."""
    data = kept_files.bytes_of(path, _MOST) or b""
    digest, body = data[:_DIGEST], data[_DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        return []
    try:
        return _as(kind).decode(body)
    except kept_files.DAMAGE:
        return []


@cache
def _as(kind: Any) -> msgspec.json.Decoder[list[Any]]:
    return msgspec.json.Decoder(list[kind])


def write(path: Path, found: Sequence[object], kind: Any, lasts: float = _KEPT) -> None:
    """Keep things of a kind in a file; nothing happens if that fails. Older ones with such a name are deleted.

    What would not come back as it is, such as a date in an index or a name that is no UTF-8, is not kept.
    """
    try:
        body = msgspec.json.encode(found, enc_hook=_number)
        if _as(kind).decode(body) != list(found):
            return
    except kept_files.DAMAGE:
        return
    with suppress(OSError):  # it is recognised again next time
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(path, lasting=False) as file:
            file.write(hashlib.sha256(body).digest() + body)
        _delete_old(path.parent, path.name.partition("-")[0], lasts)


def _number(value: object) -> int:
    if isinstance(value, int):  # of the driver's own type
        return int(value)
    raise TypeError(type(value).__name__)


def _delete_old(folder: Path, kind: str, lasts: float) -> None:
    """Delete the files of a kind that nobody has written for some seconds; rarely, as each of them is looked at."""
    now = time.monotonic()
    if now - _swept.get((folder, kind), -_SWEEP) < _SWEEP:
        return
    _swept[folder, kind] = now
    for each in folder.glob(f"{kind}-*"):
        if each.stat().st_mtime < time.time() - lasts:
            each.unlink()
