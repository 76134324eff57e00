"""Dumps by mongodump and mongoexport, read into an in-process server.

A dump is a folder (with a folder for each database, or one database's folder), one ``.bson`` file, or one file of
Extended JSON with a document on each line; all may be gzipped. Files are read, never written.

The folder's name is the database's, the file's name the collection's. The name of a JSON file may have a dot
("shop.contracts.json"), and then names both.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from model.errors import NotFound, Refused, Unreadable
from model.localserver import mongodump_archive
from model.localserver.dumped_collections import (
    Metadata,
    add_indexes,
    adopt,
    collection_name,
    database_name,
    free_namespace,
    load_documents,
    plain_name,
    show_measurements,
)
from model.localserver.large_file import LargeFile, bomb, is_bomb
from model.localserver.local_server import LocalServer
from model.localserver.time_buckets import MeasurementsFile
from model.text.file_documents import (
    LeftOut,
    bson_documents,
    decoded,
    in_utf8,
    json_documents,
    looks_like_text,
    opened,
)

IN_MEMORY = 64 << 20
"""The most bytes of a dump's documents that are read into memory; beyond it, files are read from disk."""

ALL = 1 << 62
PACKED = 10  # the size of a gzipped file is assumed to grow by this factor
_MOST_METADATA = 16 << 20  # bytes
_HEAD = 512  # bytes that show a file of another kind
_OTHERS = (
    (0, b"PK\x03\x04", "a zip archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"\xfd7zXZ\0", "packed by xz"),
    (0, b"\x28\xb5\x2f\xfd", "packed by zstd"),
    (0, b"BZh", "packed by bzip2"),
)
"""The first bytes of other kinds of files, and their offset."""


def open_dump(path: str | Path, writable: bool = False, cache: Path | None = None) -> LocalServer:
    """Open a dump in a server of its own, which is read-only unless ``writable``; the files never change.

    Documents up to :data:`IN_MEMORY` are read at once; if writable, all of them. Of larger ``.bson`` files, only the
    first documents are there until a client asks to read on; notes on them go to ``cache``. Raises ``NotFound``,
    ``Unreadable`` (with the place and what to do) or ``Refused``.
    """
    source = Path(path).expanduser()
    server = LocalServer()
    opening = _Opening(server, None if writable else cache, ALL if writable else IN_MEMORY)
    try:
        if source.is_dir():
            _folder(opening, source.resolve())
        elif source.is_file():
            _file(opening, source.resolve(), database_name(source.resolve().parent.name))
        else:
            raise NotFound(
                f"{source} is not there: give a dump's folder, a .bson file, or a file of Extended JSON lines."
            )
    except OSError as error:
        server.close()
        raise Refused(f"{source} cannot be read: {error.strerror or error}.") from None
    except BaseException:
        server.close()
        raise
    server.read_only = not writable
    return server


class _Opening(Struct):
    server: LocalServer
    cache: Path | None
    left: int  # bytes that may still be read into memory

    @property
    def is_writable(self) -> bool:
        """Whether everything is held in memory, so that it can be edited."""
        return self.left > ALL >> 1

    def takes(self, path: Path) -> bool:
        """Whether a file fits into memory; a gzipped one counts ten times."""
        size = _unpacked_size(path)
        if size > self.left:
            return False
        self.left -= size
        return True


def _unpacked_size(path: Path) -> int:
    """About how many bytes a file has when it is unpacked."""
    with path.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    return path.stat().st_size * (PACKED if is_packed else 1)


def _folder(opening: _Opening, root: Path) -> None:
    opened_files, refusals = 0, []
    for folder in [root, *sorted(p for p in root.iterdir() if p.is_dir() and not p.name.startswith("."))]:
        names: set[str] = set()
        for file in sorted(p for p in folder.iterdir() if _is_bson(p)):
            if _stem(file) in names:
                raise Refused(f"{file} and its plain twin are both there; move one of them away.")
            names.add(_stem(file))
            try:
                _file(opening, file, database_name(folder.name))
                opened_files += 1
            except Unreadable as error:
                refusals.append(error)
                opening.server.tell(str(error))
    if refusals and not opened_files:
        raise refusals[0]
    if not opened_files:
        raise Refused(f"{root} holds no .bson file: give the folder that mongodump wrote, or one file.")


def _is_bson(path: Path) -> bool:
    return path.name.endswith((".bson", ".bson.gz")) and not path.name.startswith(".") and path.is_file()


def _stem(path: Path) -> str:
    return re.sub(r"\.(bson|json|jsonl|ndjson|ejson|txt)$", "", path.name.removesuffix(".gz"))


def _file(opening: _Opening, path: Path, database: str) -> None:
    server = opening.server
    named = path.name.removesuffix(".gz")
    with opened(path) as packed:
        _refuse_others(path, named, packed.peek(_HEAD)[:_HEAD])
        if packed.peek(4).startswith(mongodump_archive.MAGIC):
            place = mongodump_archive.ArchivePlace(
                opening.cache, min(opening.left, IN_MEMORY), _unpacked_size(path), opening.is_writable
            )
            mongodump_archive.load(server, packed, path, place)
            return
        stream = packed if named.endswith(".bson") else in_utf8(packed)
        is_text = not named.endswith(".bson") and looks_like_text(stream.peek(64))
        collection = plain_name(_stem(path)) or "documents"
        if is_text and "." in collection.strip("."):
            given, _, rest = collection.strip(".").partition(".")
            database, collection = database_name(given), rest
        cache = None if opening.cache is None else opening.cache.with_name(f"{opening.cache.name}-measurements")
        in_file = partial(MeasurementsFile, path, cache)
        metadata = Metadata() if is_text else _metadata(server, path, collection)
        ns = free_namespace(server, database, collection_name(metadata.named(collection)))
        adopt(server, ns, metadata)
        try:
            if is_text:
                left_out = LeftOut()
                number = _load(server, ns, _bounded(json_documents(stream, path, left_out), path), path)
                if left_out.count:
                    server.tell(left_out.sentence(number))
            elif opening.takes(path):
                _load(server, ns, _bounded(bson_documents(stream, path), path), path)
                show_measurements(server, ns, metadata, None if opening.is_writable else in_file)
            else:
                server.begin(ns, LargeFile(path, opening.cache))
                show_measurements(server, ns, metadata, in_file, is_large=True)
        except Unreadable:
            server.forget(ns)
            raise
    add_indexes(server, ns, metadata)


def _refuse_others(path: Path, named: str, head: bytes) -> None:
    """Raise ``Refused`` for files of other kinds, recognised by their first bytes."""
    if named.endswith(".metadata.json"):
        raise Refused(f"{path} describes a collection and holds no documents; give its .bson file or its folder.")
    kind = next((kind for at, mark, kind in _OTHERS if head[at : at + len(mark)] == mark), None)
    if kind is not None:
        raise Refused(f"{path} is {kind}; unpack it, and give the folder or the file that comes out.")


def _bounded(documents: Iterable[bytes], path: Path) -> Iterator[bytes]:
    """Documents as they come; raises ``Refused`` where a packed file unpacks to more than any dump."""
    size, packed = 0, path.stat().st_size
    for raw in documents:
        size += len(raw)
        if is_bomb(packed, size):
            raise Refused(bomb(path))
        yield raw


def _load(server: LocalServer, ns: str, documents: Iterable[bytes], path: Path) -> int:
    """Load a file's documents as far as it can be read, and tell if it ends early; returns their number."""
    shown = 0

    def readable() -> Iterator[bytes]:
        nonlocal shown
        try:
            for raw in documents:
                shown += 1
                yield raw
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            if not shown:
                raise
            server.tell(f"{path} is cut off or damaged ({error}); the documents before that, {shown:,}, are shown.")
        except Unreadable as error:
            if not shown:
                raise
            server.tell(f"{error} The documents before that, {shown:,}, are shown.")

    load_documents(server, ns, readable())
    return shown


def _metadata(server: LocalServer, path: Path, collection: str) -> Metadata:
    """The options and indexes that mongodump noted next to a ``.bson`` file; empty without that file."""
    stem = re.sub(r"^system\.buckets\.", "", _stem(path))
    for suffix in (".metadata.json", ".metadata.json.gz"):
        beside = path.with_name(stem + suffix)
        if not beside.is_file():
            continue
        try:
            with opened(beside) as stream:
                data = in_utf8(stream).read(_MOST_METADATA)
            return Metadata.read(decoded(data))
        except Unreadable as error:
            where = str(error).rstrip(".")
            server.tell(f"{beside} cannot be read ({where}), so {collection} is shown without its indexes.")
    return Metadata()
