"""The sample, built once and kept in a file: building takes two seconds, reading what a command needs takes little.

The file holds each collection's documents in compressed blocks, which are unpacked when needed, and their order in
each index, so that nothing must be sorted. Its name is a digest of the code that builds the sample, and it ends with
a digest of its other bytes; so a file of another program version, or a damaged one, is never used. Times relative to
the opening are noted by their place, and set anew.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import model
from model import values
from model.foundation import kept_files
from model.foundation.whole_files import whole_file
from model.localserver import store
from model.localserver.kept_documents import Dated, KeptDocuments, Order
from model.localserver.local_server import LocalServer
from model.mql import order
from model.values import canonical as c

if TYPE_CHECKING:
    from model.localserver.sample import IndexSpec
    from model.localserver.store import Collection

_FORM = b"palimpsest sample 2\n"
_BUILT_FOR = 1_700_000_000, 1_711_111_111  # two opening times: the values that differ between them are relative to it
_BLOCK = 128 << 10  # bytes of documents that are unpacked together
_FAST = 3  # half the time of zlib's default, and a quarter more bytes
_KEPT = 30 * 24 * 3600  # seconds after which another version's file is removed
_MOST = 256 << 20  # bytes of the largest file that is read
_DIGEST = hashlib.sha256().digest_size
_head = struct.Struct("<I")


def fill(server: LocalServer, folder: Path | None) -> None:
    """Load the sample into an empty server from its file in a folder; writes that file if it is missing."""
    path = None if folder is None else folder / f"sample-{_digest_of_code()}"
    data = None if path is None else _read(path)
    if data is None:
        data = _packed()
        if path is not None:
            with suppress(OSError):  # it is built again next time
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with whole_file(path) as file:
                    file.write(data)
                for other in path.parent.glob("sample-*"):
                    if other != path and other.stat().st_mtime < time.time() - _KEPT:
                        other.unlink()
    _load(server, data, int(time.time()))
    server.loaded = data[-_DIGEST:].hex()


def _digest_of_code() -> str:
    """A digest of all code on which the sample's bytes and the order of its documents depend."""
    found = hashlib.sha256(_FORM + model.__version__.encode())
    rooms = (Path(__file__).parent / "sample", *map(Path, values.__path__))
    orders = filter(Path.exists, (Path(store.__file__), Path(order.__file__)))
    sources = [*(file for room in rooms for file in sorted(room.glob("*.py"))), *orders]
    for source in sources:
        found.update(source.name.encode() + b"\0" + source.read_bytes())
    if not sources:  # a compiled program has no source files
        program = Path(sys.executable).stat()
        found.update(f"{program.st_size} {program.st_mtime_ns}".encode())
    return found.hexdigest()[:32]


def _read(path: Path) -> bytes | None:
    """The file's bytes; None if it is missing or damaged."""
    data = kept_files.bytes_of(path, _MOST) or b""
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    return data if body.startswith(_FORM) and hashlib.sha256(body).digest() == digest else None


def _packed() -> bytes:
    """The file's bytes."""
    listed: list[dict[str, object]] = []
    packed = bytearray()

    def kept(data: bytes) -> tuple[int, int]:
        """The offset and length of a stored piece."""
        at, piece = len(packed), zlib.compress(data, _FAST)
        packed.extend(piece)
        return at, len(piece)

    for (made, indexes), (other, _) in zip(*map(_built, _BUILT_FOR), strict=True):
        documents, others = list(made.docs.values()), list(other.docs.values())
        pairs = enumerate(zip(documents, others, strict=True))
        told = {
            "ns": made.ns,
            "indexes": indexes,
            "count": made.count,
            "size": made.size,
            "dated": [found for position, (raw, later) in pairs for found in _dated(position, raw, later)],
            "blocks": [(first, *kept(b"".join(block))) for first, block in _blocks(documents)],
            "orders": {
                name: (*kept(_positions(len(found)).pack(*found)), dated) for name, found, dated in _orders(made, other)
            },
        }
        listed.append(told)
    head = json.dumps(listed).encode()
    body = b"".join((_FORM, _head.pack(len(head)), head, packed))
    return body + hashlib.sha256(body).digest()


def _built(now: int) -> Iterator[tuple[Collection, Sequence[IndexSpec]]]:
    """Each collection as loaded, with its indexes verified."""
    from model.localserver.sample import build  # most starts find the file

    server = LocalServer()
    for ns, indexes, raws in build(now):
        server.load(ns, raws)
        for keys, unique in indexes:
            server.index(ns, keys, unique)
        database, _, name = ns.partition(".")
        yield server.store.make(database, name), indexes


def _blocks(documents: Sequence[bytes]) -> Iterator[tuple[int, Sequence[bytes]]]:
    """Groups of documents that are unpacked together, each with the position of its first one."""
    first = size = 0
    for position, raw in enumerate(documents):
        if size and size + len(raw) > _BLOCK:
            yield first, documents[first:position]
            first, size = position, 0
        size += len(raw)
    if documents:
        yield first, documents[first:]


def _orders(made: Collection, later: Collection) -> Iterator[tuple[str, Sequence[int], Sequence[int]]]:
    """Indexes with exactly one key per document: the positions in their order, without and with dated keys."""
    for name, index in made.indexes.items():
        keys, others = made.keys(index), later.keys(later.indexes[name])
        if keys is not None and others is not None:
            dated = {at for at, key in keys.items() if key != others[at]}
            yield name, [at for at in keys if at not in dated], sorted(dated)


def _dated(position: int, raw: bytes, other: bytes) -> Iterator[Dated]:
    """The times in which two builds of one document differ."""
    if raw == other:
        return
    for start, kind in _places(raw, 0):
        if kind == c.OBJECT_ID and raw[start : start + 4] != other[start : start + 4]:
            yield Dated(position, start, kind, _BUILT_FOR[0] - int.from_bytes(raw[start : start + 4], "big"))
        elif kind == c.DATE and raw[start : start + 8] != other[start : start + 8]:
            yield Dated(position, start, kind, _BUILT_FOR[0] - int.from_bytes(raw[start : start + 8], "little") // 1000)


def _places(raw: bytes, at: int) -> Iterator[tuple[int, int]]:
    """The offset and type of each value in the document at ``at``, at any depth."""
    for _, kind, start, _ in c.elements(raw, at):
        if kind in (c.OBJECT, c.ARRAY):
            yield from _places(raw, start)
        else:
            yield start, kind


def _load(server: LocalServer, data: bytes, now: int) -> None:
    (length,) = _head.unpack_from(data, len(_FORM))
    begin = len(_FORM) + _head.size
    start = begin + length

    def piece(at: int, length: int) -> bytes:
        return data[start + at : start + at + length]

    for each in json.loads(data[begin:start]):
        blocks = [(first, piece(*place)) for first, *place in each["blocks"]]
        documents = KeptDocuments(blocks, each["count"], (Dated(*place) for place in each["dated"]), now)
        orders = {
            name: partial(_order, piece(at, length), dated, each["count"])
            for name, (at, length, dated) in each["orders"].items()
        }
        server.expect(each["ns"], documents, each["size"], orders)
        for keys, unique in each["indexes"]:
            server.index(each["ns"], [(path, way) for path, way in keys], unique)


def _order(packed: bytes, dated: Sequence[int], count: int) -> Order:
    return _positions(count - len(dated)).unpack(zlib.decompress(packed)), dated


def _positions(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}I")
