"""Archives from ``mongodump --archive``: one file with all collections, whose blocks are interleaved.

A magic number, documents with the metadata of each collection up to a terminator, then blocks: a header that names a
collection, its documents, a terminator. Source: https://github.com/mongodb/mongo-tools/tree/master/common/archive

A small archive is read into memory. The documents of a larger one are sorted into a file for each collection, in the
cache folder of the archive; the next time these files are there already.
"""

from __future__ import annotations

import gzip
import json
import shutil
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

from msgspec import Struct, field

from model.errors import Refused, Unreadable
from model.foundation.whole_files import whole_file
from model.localserver.dump_cache import DumpCache
from model.localserver.dumped_collections import (
    Metadata,
    add_indexes,
    adopt,
    collection_name,
    database_name,
    free_namespace,
    load_documents,
    show_measurements,
)
from model.localserver.large_file import SPARE, LargeFile, bomb, is_bomb
from model.localserver.local_server import LocalServer
from model.localserver.time_buckets import MeasurementsFile
from model.text.file_documents import bson_documents
from model.values import canonical as c
from model.values.canonical import Value

MAGIC = b"\x6d\xe2\x99\x81"
MOST = 2 << 30
"""The most bytes of documents in an archive that is opened writable: all are held in memory."""

_END = b"\xff\xff\xff\xff"
_CHECKED_EVERY = 64 << 20  # bytes between two looks at the room that is left
_OPEN = 200  # files at once
_LIST = "archive.json"
_NOTES = "notes"  # the folder of the notes on its files


class _CutOff(Exception):
    """The archive ends early or is damaged; ``str()`` says which."""


class ArchivePlace(Struct, frozen=True):
    """Where large archives are sorted into files, and how much of them fits into memory."""

    cache: Path | None
    in_memory: int  # bytes
    expected: int  # about how many bytes the archive has when it is unpacked
    writable: bool = False


class _ArchivedCollection(Struct):
    """One collection of an archive: its documents in memory, or a file with them."""

    database: str
    collection: str
    metadata: str = ""  # as the archive has it
    size: int = 0
    raws: list[bytes] = field(default_factory=list)
    file: Path | None = None


class _Archive(Struct):
    """The collections of an archive as far as it was read."""

    parts: dict[tuple[str, str], _ArchivedCollection] = field(default_factory=dict)
    trouble: str = ""

    def part(self, head: bytes) -> _ArchivedCollection:
        """The collection that a header or a prelude names."""
        fields = dict(c.fields(head))
        place = _text(fields.get("db")), _text(fields.get("collection"))
        return self.parts.setdefault(place, _ArchivedCollection(*place, _text(fields.get("metadata"))))


def load(server: LocalServer, stream: IO[bytes], path: Path, place: ArchivePlace) -> None:
    """Load all collections of an archive as far as it can be read; raises ``Unreadable`` and ``Refused``."""
    cache = None
    if not place.writable and place.expected > place.in_memory:
        cache = DumpCache(path, place.cache, _NOTES)
        server.leave_at_end(cache)
    found = _kept(cache.path) if cache is not None else None
    if found is None:
        found = _read(stream, path, place, cache)
    if found.trouble and not found.parts:
        raise Unreadable(f"{path} is not a whole archive of mongodump: {found.trouble}; dump it again.")
    if found.trouble:
        server.tell(f"{path} is cut off or damaged: {found.trouble}; dump it again. What comes before is shown.")
    described = {key: _metadata(server, path, part) for key, part in found.parts.items() if part.metadata}
    left = place.in_memory
    for (database, collection), part in sorted(found.parts.items(), key=lambda each: each[1].size):
        series = described.get((database, collection.removeprefix("system.buckets.")), Metadata())
        fits = part.file is None or part.size <= left
        left -= part.size if fits else 0
        _show(server, part, described.get((database, collection), series), None if fits or cache is None else cache)


def _read(stream: IO[bytes], path: Path, place: ArchivePlace, cache: DumpCache | None) -> _Archive:
    """The collections out of the archive itself."""
    found = _Archive()
    files = _Files(cache.path if cache is not None else None)
    try:
        _fill(found, stream, path, place, files)
    except (_CutOff, Unreadable, EOFError, gzip.BadGzipFile, zlib.error) as error:
        found.trouble = str(error) or "its packed data end too early"
    except OSError as error:
        if not files.count or cache is None:
            raise
        raise Refused(f"{path} cannot be sorted into {cache.path}: {error.strerror or error}.") from None
    finally:
        if files.count:
            for part in found.parts.values():
                if part.file is None and part.size:
                    files.begin(part)
        files.close()
    if cache is not None and files.count:
        _note(cache.path, found)
        cache.finish()
        found = _kept(cache.path) or found
    return found


class _Files:
    """A file for each collection of a large archive, few of them open at once."""

    def __init__(self, folder: Path | None) -> None:
        self.folder, self.count = folder, 0
        self._open: dict[Path, IO[bytes]] = {}

    def begin(self, part: _ArchivedCollection) -> None:
        """Write what a collection has so far into a file of its own."""
        assert self.folder is not None
        part.file = self.folder / f"{self.count}.bson"
        self.count += 1
        part.file.unlink(missing_ok=True)
        for raw in part.raws:
            self.write(part.file, raw)
        part.raws = []

    def write(self, file: Path, raw: bytes) -> None:
        """Write a document behind the others."""
        if (there := self._open.get(file)) is None:
            if len(self._open) >= _OPEN:
                self.close()
            there = self._open[file] = file.open("ab")
        there.write(raw)

    def close(self) -> None:
        """Close all files; the next document opens its own again."""
        for each in self._open.values():
            each.close()
        self._open = {}


def _fill(found: _Archive, stream: IO[bytes], path: Path, place: ArchivePlace, files: _Files) -> None:
    total = checked = 0
    stream.read(len(MAGIC))
    _next(stream)  # about the archive itself: versions of server and tools
    while (raw := _next(stream)) is not None:
        found.part(raw)
    while (raw := _next(stream, may_end=True)) is not None:
        part = found.part(raw)
        while (raw := _next(stream)) is not None:
            part.size += len(raw)
            total += len(raw)
            if part.file is None:
                part.raws.append(raw)
            else:
                files.write(part.file, raw)
            if files.folder is None and total > MOST:
                raise Refused(
                    f"{path} holds more than {MOST >> 20:,} MB, which do not fit into memory; open it without "
                    "--into-memory, which reads it from disk."
                )
            if files.folder is not None and total - checked > min(place.in_memory, _CHECKED_EVERY):
                _check_room(path, files.folder, total)
                checked = total
                for each in found.parts.values():
                    if each.file is None and each.size:
                        files.begin(each)


def _check_room(path: Path, folder: Path, total: int) -> None:
    if is_bomb(path.stat().st_size, total):
        raise Refused(bomb(path))
    if shutil.disk_usage(folder).free < SPARE + _CHECKED_EVERY:
        raise Refused(f"There is no room to sort {path} in {folder}; make room there, or dump into a folder instead.")


def _note(folder: Path, found: _Archive) -> None:
    """Note which file has which collection, once all are written."""
    parts = [
        {"db": part.database, "collection": part.collection, "metadata": part.metadata, "size": part.size,
         "file": part.file.name if part.file is not None else ""}
        for part in found.parts.values()
    ]  # fmt: skip
    with whole_file(folder / _LIST) as file:
        file.write(json.dumps({"parts": parts, "trouble": found.trouble}).encode())


def _kept(folder: Path) -> _Archive | None:
    """The collections that an earlier reading has sorted into files; None if it did not come to its end."""
    try:
        said = json.loads((folder / _LIST).read_text("utf-8"))
        parts = {}
        for each in said["parts"]:
            part = _ArchivedCollection(each["db"], each["collection"], each["metadata"], each["size"])
            part.file = folder / each["file"] if each["file"] else None
            if part.file is not None and part.file.stat().st_size != part.size:
                return None
            parts[part.database, part.collection] = part
        return _Archive(parts, said["trouble"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _metadata(server: LocalServer, path: Path, part: _ArchivedCollection) -> Metadata:
    try:
        return Metadata.read(part.metadata)
    except Unreadable as error:
        where, name = str(error).rstrip("."), f"{part.database}.{part.collection}"
        server.tell(f"The metadata of {name} in {path} cannot be read ({where}), so it has no indexes.")
        return Metadata()


def _show(server: LocalServer, part: _ArchivedCollection, metadata: Metadata, cache: DumpCache | None) -> None:
    """Show a collection: in memory, or as a large file with its notes in a cache folder."""
    if c.get(metadata.options, ("viewOn",)) is not None:
        return  # a view has no documents of its own
    if not part.size and c.get(metadata.options, ("timeseries",)) is not None:
        return  # its documents are in its buckets, which have its metadata too
    ns = free_namespace(server, database_name(part.database), collection_name(part.collection or "documents"))
    adopt(server, ns, metadata)
    if cache is not None and part.file is not None and part.size:
        server.begin(ns, LargeFile(part.file, cache.path / _NOTES))
        show_measurements(server, ns, metadata, partial(MeasurementsFile, part.file, None), is_large=True)
    else:
        load_documents(server, ns, _documents(part))
        show_measurements(server, ns, metadata)
    add_indexes(server, ns, metadata)


def _documents(part: _ArchivedCollection) -> Iterator[bytes]:
    if part.file is None:
        yield from part.raws
        return
    with part.file.open("rb") as stream:
        yield from bson_documents(stream, part.file)


def _text(value: Value | None) -> str:
    return str(value.python()) if value is not None and value.type == c.STRING else ""


def _next(stream: IO[bytes], may_end: bool = False) -> bytes | None:
    """The next document; None at a terminator, or with ``may_end`` at the end of the file."""
    head = stream.read(4)
    if head == _END or (not head and may_end):
        return None
    size = int.from_bytes(head, "little", signed=True)
    if len(head) < 4 or not 5 <= size <= c.LONGEST_DOCUMENT:
        raise _CutOff("it ends too early" if len(head) < 4 else f"a document cannot have {size:,} bytes")
    raw = head + stream.read(size - 4)
    if len(raw) < size or raw[-1]:
        raise _CutOff("it ends inside a document" if len(raw) < size else "a document does not end where it says")
    return raw
