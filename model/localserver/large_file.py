"""A ``.bson`` file too large for memory: it is read through once, and its documents are then found on disk.

The first reading notes where each document begins and whether ids ascend, and unpacks a gzipped file. It can be
stopped at any time, and continues from there, even in another process.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import struct
import sys
import threading
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol, TypeAlias, cast

from msgspec import Struct, convert
from msgspec.structs import asdict

from model.errors import Refused, Unreadable
from model.foundation import kept_files
from model.foundation.input_files import opened, whole_text
from model.foundation.whole_files import whole_file
from model.localserver.disk_order import DiskEntries, Entry, checksum, sorted_on_disk, write_entries
from model.localserver.documents_on_disk import CHUNK, DocumentsOnDisk, id_key
from model.localserver.dump_cache import DumpCache
from model.localserver.physical_ids import identified
from model.localserver.time_limit import UNLIMITED, TimeLimit
from model.mql.command_error import CommandError
from model.mql.order import NULL_KEY, Key
from model.values import canonical as c
from model.values.canonical import Value

HEAD_BYTES, HEAD_MOST = 4 << 20, 2000
"""The first documents, shown at once: at most this many, and about this many bytes."""

SPARE = 512 << 20  # bytes of disk space to leave free
BOMB_FROM, BOMB_TIMES = 2 << 30, 250
"""Above this many unpacked bytes, a file that has grown by this factor is not unpacked further."""

CHECKED = 1 << 30
"""Unpacked bytes that are compared with their checksum at each opening; to read more would take seconds."""

EACH = 5e-6  # seconds per document that building an index takes at least
_NOTED_EVERY = 64 << 20  # bytes between two notes of the progress
_AGAIN = "dump it again"
_OBJECT_ID = b"\x07_id\x00"
_length = struct.Struct("<i").unpack_from

Step: TypeAlias = Callable[[int, int], None]
"""Called with bytes done and total bytes; raises an error to stop."""

_Last: TypeAlias = bytes | Key | None
"""The id of the document before: its bytes if it is an ObjectId, else its key."""


def is_bomb(packed: int, unpacked: int) -> bool:
    """Whether a file of ``packed`` bytes that has at least so many ``unpacked`` ones can be no dump."""
    return unpacked > max(BOMB_FROM, BOMB_TIMES * packed)


def bomb(path: Path) -> str:
    """What is said of a packed file that unpacks to far more than a dump."""
    return (
        f"{path} unpacks to more than {BOMB_TIMES} times its size, as no dump does; "
        "if it is meant so, unpack it with gunzip and open the file that comes out."
    )


class _Said(Struct, frozen=True):
    """What is noted of a kept index."""

    count: int
    unique: bool
    multikey: bool
    places: int  # the checksum of the offsets of its entries


class _Noted(Struct):
    """How far a file was read."""

    end: int = 0  # unpacked bytes up to the end of the last complete document
    documents: int = 0
    places: int = 0  # the checksum of the offsets of these documents
    unpacked: int = 0  # the checksum of the unpacked bytes, if the file is packed
    ascending: bool = True  # whether ids ascend so far
    repeated: int = 0  # documents with the id of the one before, as long as ids ascend
    first_repeated: int = -1  # the position of the first one
    whole: bool = False  # whether the reading is finished
    trouble: str = ""  # a sentence on why nothing after ``end`` can be read


class KeptIndex(NamedTuple):
    """The entries of an index on disk."""

    entries: DiskEntries
    unique: bool  # no two have equal keys
    multikey: bool


class IndexRows(Protocol):
    """What a file needs of an index to build it."""

    multikey: bool

    def keys_of(self, raw: bytes) -> list[tuple[Key, ...]]:
        """A document's entries."""


class _Building:
    """An index that is or was being built."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.thread: threading.Thread | None = None
        self.done = 0
        self.kept: KeptIndex | None = None
        self.error: CommandError | None = None


class LargeFile:
    """One large file of a dump: its first documents at once, and all of them once it was read."""

    def __init__(self, path: Path, cache: Path | None) -> None:
        self.path = path
        with opened(path) as file:
            self._packed = file.read(2) == b"\x1f\x8b"
        self.size = path.stat().st_size
        self._cache = DumpCache(path, cache)
        self._noted = self._read_note()
        self._closed = threading.Event()
        self._buildings: dict[str, _Building] = {}
        self._turn = threading.Lock()  # build one index at a time: each takes memory and reads the whole file
        self.documents: DocumentsOnDisk | None = None

    @property
    def read(self) -> bool:
        """Whether it was read to the end."""
        return self._noted.whole

    @property
    def ascending(self) -> bool:
        """Whether its documents are in the order of their ids."""
        return self._noted.ascending

    @property
    def trouble(self) -> str:
        """Why the rest of the file cannot be read, one sentence; "" if it can."""
        return self._noted.trouble

    @property
    def repeated(self) -> tuple[Value, int] | None:
        """The first ``_id`` that several documents have, and how many more documents repeat one; None if none does.

        In a file whose ids do not ascend only the first is known, from the index by ``_id``.
        """
        if self.documents is None or self._noted.first_repeated < 0:
            return None
        id = c.get(self.documents[self._noted.first_repeated], ("_id",))
        return None if id is None else (id, self._noted.repeated)

    def note_repeated(self, position: int) -> None:
        """Note a document that has the id of another one."""
        if self._noted.first_repeated < 0:
            self._noted.first_repeated = position

    def head(self) -> list[bytes]:
        """The first documents; raises ``Unreadable`` if there is not a single one."""
        found: list[bytes] = []
        left = HEAD_BYTES
        with self._opened() as stream:
            while left > 0 and len(found) < HEAD_MOST and (raw := _next(stream)):
                found.append(identified(raw, len(found)))
                left -= len(raw)
        if not found:
            raise Unreadable(
                f"{self.path} is not BSON, or is cut off inside its first document; give a .bson file, or {_AGAIN}."
            )
        return found

    # --- the first reading

    def go_on(self, step: Step) -> DocumentsOnDisk:
        """Read on to the end; an error of ``step`` stops it, and a later call continues from there."""
        if not self._noted.whole:
            try:
                self._read_on(step)
            finally:
                self._note()
            self._cache.finish()
        if self.documents is None:
            self.documents = self._held()
        return self.documents

    def _held(self) -> DocumentsOnDisk:
        path = self._cache.path / "unpacked.bson" if self._packed else self.path
        return DocumentsOnDisk(path, self._cache.path / "places", self._noted.documents, self._noted.end)

    def _opened(self) -> IO[bytes]:
        return cast("IO[bytes]", gzip.open(self.path, "rb")) if self._packed else self.path.open("rb")

    def _unpacked(self, plain: IO[bytes]) -> IO[bytes]:
        """The documents in a packed file; ``read1`` returns some of them, ``seek`` skips those before an offset."""
        return cast("IO[bytes]", gzip.GzipFile(fileobj=plain))

    def _read_on(self, step: Step) -> None:
        noted, folder = self._noted, self._cache.path
        last = self._last_id()
        begun = self.path.stat()
        with ExitStack() as files:
            plain = files.enter_context(self.path.open("rb"))
            places = files.enter_context((folder / "places").open("ab"))
            stream, spool = cast("IO[bytes]", plain), None
            if self._packed:
                stream = self._unpacked(plain)
                spool = files.enter_context((folder / "unpacked.bson").open("ab"))
                spool.truncate(noted.end)
            stream.seek(noted.end)  # packed data before that are unpacked once more and dropped
            places.truncate(8 * noted.documents)
            rest, next_note = b"", noted.end + _NOTED_EVERY
            while not noted.whole:
                step(min(plain.tell(), self.size), self.size)
                if self._closed.is_set():
                    raise Refused(f"{self.path} was closed while it was read.")
                data, how = self._piece(stream)
                if spool is not None:
                    self._spool(spool, data, noted.end + len(rest))
                buffer = rest + data
                found, done, last = self._documents_in(buffer, noted.end, last)
                written = _little_endian(found)
                places.write(written)
                noted.places = zlib.crc32(written, noted.places)
                if spool is not None:
                    noted.unpacked = zlib.crc32(memoryview(buffer)[:done], noted.unpacked)
                noted.end += done
                noted.documents += len(found)
                rest = buffer[done:]
                self._end_where(rest, not data, how)
                if noted.end >= next_note and spool is None:
                    places.flush()
                    self._note()
                    next_note = noted.end + _NOTED_EVERY
        now = self.path.stat()
        if (now.st_size, now.st_mtime_ns) != (begun.st_size, begun.st_mtime_ns):
            self._noted = _Noted()
            raise Refused(f"{self.path} was written to while it was read; open it again when it is whole.")

    def _piece(self, stream: IO[bytes]) -> tuple[bytes, str]:
        """The next bytes, and if the file then ends badly, how."""
        if not self._packed:
            return stream.read(CHUNK), ""
        parts, left = [], CHUNK
        try:
            while left > 0 and (part := cast("gzip.GzipFile", stream).read1(left)):
                parts.append(part)  # part by part, so that an error keeps what was unpacked before it
                left -= len(part)
        except EOFError:
            return b"".join(parts), f"is cut off: its gzip data end too early; copy it or {_AGAIN}"
        except (gzip.BadGzipFile, zlib.error) as error:
            return b"".join(parts), f"is damaged: its gzip data make no sense ({error}); copy it or {_AGAIN}"
        return b"".join(parts), ""

    def _end_where(self, rest: bytes, ended: bool, how: str) -> None:
        """End the reading at bytes that are not a document, and at the end of the file."""
        number, at = f"{self._noted.documents + 1:,}", f"{self._noted.end:,}"
        size = _length(rest)[0] if len(rest) >= 4 else 0
        if len(rest) >= 4 and (not 5 <= size <= c.LONGEST_DOCUMENT or len(rest) >= size):
            how = f"is damaged: document {number}, at byte {at}, is not a BSON document; {_AGAIN}"
        elif ended and rest and not how:
            how = f"is cut off: document {number}, which begins at byte {at}, is not whole; {_AGAIN}"
        if how:
            before = f"{self._noted.documents:,}"
            self._noted.trouble = f"{self.path} {how}. The {before} documents before that are shown."
        self._noted.whole = ended or bool(how)

    def _documents_in(self, data: bytes, base: int, last: _Last) -> tuple[array[int], int, _Last]:
        """The offsets of the complete documents in a piece, where they end, and the last one's id."""
        found = array("Q")
        add, length = found.append, _length
        at, end, ascending = 0, len(data), self._noted.ascending
        while at + 4 < end:
            size = length(data, at)[0]
            stop = at + size
            if stop > end or not 5 <= size <= c.LONGEST_DOCUMENT or data[stop - 1]:
                break
            if ascending:
                mark = data[at + 4 : at + 21]  # ObjectIds can be compared as bytes; other ids need a key
                if mark.startswith(_OBJECT_ID) and isinstance(last, bytes):
                    ascending, repeats = last <= mark, last == mark
                    last = mark
                else:
                    key = id_key(data[at:stop])
                    before = (35, last[5:]) if isinstance(last, bytes) else last
                    ascending = (before is None or before <= key) and data[at + 4] != c.ARRAY
                    repeats = before == key != NULL_KEY
                    last = mark if mark.startswith(_OBJECT_ID) else key
                if repeats:
                    self.note_repeated(self._noted.documents + len(found))
                    self._noted.repeated += 1
            add(base + at)
            at = stop
        self._noted.ascending = ascending
        return found, at, last

    def _last_id(self) -> _Last:
        if not self._noted.documents:
            return None
        documents = self._held()
        try:
            return id_key(documents[len(documents) - 1])
        finally:
            documents.close()

    def _spool(self, spool: IO[bytes], data: bytes, at: int) -> None:
        """Store unpacked bytes; raises ``Refused`` if there is no room, or the file is a bomb."""
        unpacked = at + len(data)
        if is_bomb(self.size, unpacked):
            raise Refused(bomb(self.path))
        if shutil.disk_usage(self._cache.path).free < SPARE + len(data):
            raise Refused(
                f"There is no room to unpack {self.path} in {self._cache.path}; make room there, or unpack it "
                "elsewhere with gunzip and open the file that comes out."
            )
        spool.write(data)

    def _read_note(self) -> _Noted:
        folder = self._cache.path
        try:
            noted = convert(json.loads(whole_text(folder / "noted.json")), _Noted)
            data = (folder / "unpacked.bson" if self._packed else self.path).stat()
            sound = 0 <= noted.end <= data.st_size and 0 <= 5 * noted.documents <= noted.end
            sound = sound and checksum(folder / "places", 8 * noted.documents) == noted.places
            if self._packed and noted.end <= CHECKED:
                sound = sound and checksum(folder / "unpacked.bson", noted.end) == noted.unpacked
            return noted if sound else _Noted()
        except (OSError, *kept_files.DAMAGE):
            return _Noted()

    def _note(self) -> None:
        self._write("noted.json", asdict(self._noted))

    def _write(self, name: str, said: dict[str, Any]) -> None:
        """Write a small file into the cache folder."""
        _write(self._cache.path / name, said)

    # --- its indexes

    def index(
        self, definition: str, index: IndexRows, allowed: TimeLimit = UNLIMITED, step: Step | None = None
    ) -> KeptIndex:
        """The entries of an index, built unless they are on disk already.

        Raises ``CommandError`` 50 if that takes longer than allowed; it is still built, for the next time. An error
        of ``step`` stops the building.
        """
        digest = hashlib.sha256(definition.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        building = self._buildings.setdefault(digest, _Building())
        with building.lock:
            if building.kept is None:
                building.kept = self._kept(digest)
            if building.kept is not None:
                return building.kept
            if building.thread is None:
                building.stop.clear()
                building.thread = threading.Thread(
                    target=self._build, args=(building, digest, index), name="palimpsest-index", daemon=True
                )
                building.thread.start()
            thread = building.thread
        if step is None:
            left = allowed.left
            hopeless = left is not None and left < EACH * len(self.documents or ())
            thread.join(0 if hopeless else left)
        else:
            self._watch(building, thread, step)
        if thread.is_alive():
            raise CommandError(50, f"operation exceeded time limit: an index of {self.path} is still being built")
        with building.lock:
            building.thread = None
            building.kept = building.kept or self._kept(digest)
            if building.kept is None:
                raise building.error or CommandError(2, f"an index of {self.path} was lost; open it again")
            return building.kept

    def _watch(self, building: _Building, thread: threading.Thread, step: Step) -> None:
        documents = max(1, len(self.documents or ()))
        try:
            while thread.is_alive():
                step(self.size * min(building.done, documents) // documents, self.size)
                thread.join(0.1)
        except BaseException:
            building.stop.set()
            thread.join()
            building.thread = None
            raise

    def _build(self, building: _Building, digest: str, index: IndexRows) -> None:
        assert self.documents is not None
        documents = self.documents

        def rows() -> Iterator[Entry]:
            for position, raw in documents.stream():
                if not position % 1024:
                    building.done = position
                    if self._closed.is_set() or building.stop.is_set():
                        raise CommandError(11600, f"{self.path} was closed")
                for keys in index.keys_of(raw):
                    yield keys, position

        folder = self._cache.path
        try:
            with self._turn:
                count, unique = write_entries(sorted_on_disk(rows(), folder=folder), *_files(folder, digest))
            said = _Said(count, unique, index.multikey, checksum(_files(folder, digest)[1], 8 * count))
            _write(folder / f"{digest}.json", asdict(said))
        except CommandError as error:
            building.error = error
        except (OSError, Refused) as error:
            building.error = CommandError(14031, f"an index cannot be kept in {folder}: {error}; make room there")

    def _kept(self, digest: str) -> KeptIndex | None:
        file, places = _files(self._cache.path, digest)
        try:
            said = convert(json.loads(whole_text(self._cache.path / f"{digest}.json")), _Said)
            if places.stat().st_size != 8 * said.count or checksum(places, 8 * said.count) != said.places:
                return None
            return KeptIndex(DiskEntries(file, places, said.count), said.unique, said.multikey)
        except (OSError, *kept_files.DAMAGE):
            return None

    def stop(self) -> None:
        """Stop all reading and building."""
        self._closed.set()

    def close(self) -> None:
        """Close everything."""
        self.stop()
        for building in self._buildings.values():
            if (thread := building.thread) is not None:
                thread.join()
            if building.kept is not None:
                building.kept.entries.close()
        if self.documents is not None:
            self.documents.close()
        self._cache.leave()


def _next(stream: IO[bytes]) -> bytes:
    """The next document of a stream; empty if there is no complete one."""
    try:
        start = stream.read(4)
        size = _length(start)[0] if len(start) == 4 else 0
        raw = start + stream.read(size - 4) if 5 <= size <= c.LONGEST_DOCUMENT else b""
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return b""
    return raw if raw and len(raw) == size and not raw[-1] else b""


def _files(folder: Path, digest: str) -> tuple[Path, Path]:
    return folder / f"{digest}.entries", folder / f"{digest}.places"


def _little_endian(numbers: array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _write(path: Path, said: dict[str, Any]) -> None:
    try:
        with whole_file(path) as file:
            file.write(json.dumps(said).encode())
    except OSError as error:
        raise Refused(f"{path} cannot be written ({error.strerror or error}); make room there.") from None
