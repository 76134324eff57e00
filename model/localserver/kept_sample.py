"""The sample, built once and kept in a file: building it takes a second, and reading what a command asks for little.

The file holds a compressed block for each collection, which is unpacked when its first document is asked for. Its name
is made of the code that builds the sample, and its last bytes of all the others: one of another program, and one that
is damaged, is never read. What is dated from the moment of opening is noted by its place and dated anew.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import model
from model import values
from model.localserver.local_server import LocalServer
from model.values import canonical as c
from model.whole_files import whole_file

if TYPE_CHECKING:
    from model.localserver.sample import IndexSpec

_FORM = b"palimpsest sample 1\n"
_BUILT_FOR = 1_700_000_000, 1_711_111_111  # two moments: what differs between them is dated from the opening
_KEPT = 30 * 24 * 3600  # seconds after which the file of another program goes
_DIGEST = hashlib.sha256().digest_size
_length = struct.Struct("<i").unpack_from
_head = struct.Struct("<I")


class _Dated(NamedTuple):
    """A place in a document that holds a time: seconds at the head of an ObjectId, or milliseconds of a date."""

    position: int
    offset: int
    kind: int
    earlier: int  # seconds before the opening


def fill(server: LocalServer, folder: Path | None) -> None:
    """Load the sample into an empty server, from the file in a folder, which is written there where it is missing."""
    path = None if folder is None else folder / f"sample-{_digest_of_code()}"
    data = None if path is None else _read(path)
    if data is None:
        data = _packed()
        if path is not None:
            with suppress(OSError):  # it is built again the next time
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with whole_file(path) as file:
                    file.write(data)
                for other in path.parent.glob("sample-*"):
                    if other != path and other.stat().st_mtime < time.time() - _KEPT:
                        other.unlink()
    _load(server, data, int(time.time()))


def _digest_of_code() -> str:
    """The name of all code that decides on a byte of the sample."""
    found = hashlib.sha256(_FORM + model.__version__.encode())
    rooms = (Path(__file__).parent / "sample", *map(Path, values.__path__))
    sources = [file for room in rooms for file in sorted(room.glob("*.py"))]
    for source in sources:
        found.update(source.name.encode() + b"\0" + source.read_bytes())
    if not sources:  # a program that was compiled as a whole has no sources beside it
        program = Path(sys.executable).stat()
        found.update(f"{program.st_size} {program.st_mtime_ns}".encode())
    return found.hexdigest()[:32]


def _read(path: Path) -> bytes | None:
    """The file's bytes; None where there is none, or a damaged one."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    return data if body.startswith(_FORM) and hashlib.sha256(body).digest() == digest else None


def _packed() -> bytes:
    """The file's bytes."""
    listed, blocks, at = [], [], 0
    for (ns, indexes, documents), (_, _, others) in zip(*map(_built, _BUILT_FOR), strict=True):
        block = zlib.compress(b"".join(documents))
        pairs = enumerate(zip(documents, others, strict=True))
        dated = [found for position, (raw, other) in pairs for found in _dated(position, raw, other)]
        counted = {"count": len(documents), "size": sum(map(len, documents))}
        listed.append({"ns": ns, "indexes": indexes, "dated": dated, "at": at, "length": len(block), **counted})
        blocks.append(block)
        at += len(block)
    head = json.dumps(listed).encode()
    body = b"".join((_FORM, _head.pack(len(head)), head, *blocks))
    return body + hashlib.sha256(body).digest()


def _built(now: int) -> Iterator[tuple[str, Sequence[IndexSpec], list[bytes]]]:
    """Each collection as it is loaded, its indexes tried."""
    from model.localserver.sample import build  # most starts find the file

    server = LocalServer()
    for ns, indexes, raws in build(now):
        server.load(ns, raws)
        for keys, unique in indexes:
            server.index(ns, keys, unique)
        database, _, name = ns.partition(".")
        yield ns, indexes, list(server.store.make(database, name).docs.values())


def _dated(position: int, raw: bytes, other: bytes) -> Iterator[_Dated]:
    """The times in which two builds of one document differ."""
    if raw == other:
        return
    for start, kind in _places(raw, 0):
        if kind == c.OBJECT_ID and raw[start : start + 4] != other[start : start + 4]:
            yield _Dated(position, start, kind, _BUILT_FOR[0] - int.from_bytes(raw[start : start + 4], "big"))
        elif kind == c.DATE and raw[start : start + 8] != other[start : start + 8]:
            yield _Dated(
                position, start, kind, _BUILT_FOR[0] - int.from_bytes(raw[start : start + 8], "little") // 1000
            )


def _places(raw: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Where each value of the document at ``at`` begins, however deep, and its type."""
    for _, kind, start, _ in c.elements(raw, at):
        if kind in (c.OBJECT, c.ARRAY):
            yield from _places(raw, start)
        else:
            yield start, kind


def _load(server: LocalServer, data: bytes, now: int) -> None:
    begin = len(_FORM) + _head.size
    (head,) = _head.unpack_from(data, len(_FORM))
    for each in json.loads(data[begin : begin + head]):
        at = begin + head + each["at"]
        block = data[at : at + each["length"]]
        dated = [_Dated(*place) for place in each["dated"]]
        server.expect(each["ns"], partial(_unpacked, block, dated, now), each["count"], each["size"])
        for keys, unique in each["indexes"]:
            server.index(each["ns"], [(path, way) for path, way in keys], unique)


def _unpacked(block: bytes, dated: Iterable[_Dated], now: int) -> list[bytes]:
    """The documents of a block, dated from ``now``."""
    data = zlib.decompress(block)
    found, at = [], 0
    while at < len(data):
        end = at + _length(data, at)[0]
        found.append(data[at:end])
        at = end
    for position, offset, kind, earlier in dated:
        seconds = now - earlier
        written = struct.pack(">I", seconds) if kind == c.OBJECT_ID else struct.pack("<q", seconds * 1000)
        raw = found[position]
        found[position] = raw[:offset] + written + raw[offset + len(written) :]
    return found
