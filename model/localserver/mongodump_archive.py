"""Archives from ``mongodump --archive``: one file with all collections, whose blocks are interleaved.

A magic number, documents with the metadata of each collection up to a terminator, then blocks: a header that names a
collection, its documents, a terminator. Source: https://github.com/mongodb/mongo-tools/tree/master/common/archive
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

from model.errors import Refused, Unreadable
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
from model.localserver.local_server import LocalServer
from model.values import canonical as c
from model.values.canonical import Value

MAGIC = b"\x6d\xe2\x99\x81"
MOST = 2 << 30
"""The most bytes of documents in an archive: all are held in memory."""

_END = b"\xff\xff\xff\xff"


class _CutOff(Exception):
    """The archive ends early or is damaged; ``str()`` says which."""


def load(server: LocalServer, stream: IO[bytes], path: Path) -> None:
    """Load all collections of an archive as far as it can be read; raises ``Unreadable`` and ``Refused``."""
    stream.read(len(MAGIC))
    described: dict[tuple[str, str], Metadata] = {}
    documents: dict[tuple[str, str], list[bytes]] = {}
    trouble, size = "", 0
    try:
        _next(stream)  # about the archive itself: versions of server and tools
        while (raw := _next(stream)) is not None:
            head = dict(c.fields(raw))
            place = _text(head.get("db")), _text(head.get("collection"))
            documents[place] = []
            try:
                described[place] = Metadata.read(_text(head.get("metadata")) or "{}")
            except Unreadable as error:
                where = str(error).rstrip(".")
                server.tell(
                    f"The metadata of {'.'.join(place)} in {path} cannot be read ({where}), so it has no indexes."
                )
        while (raw := _next(stream, may_end=True)) is not None:
            head = dict(c.fields(raw))
            into = documents.setdefault((_text(head.get("db")), _text(head.get("collection"))), [])
            while (raw := _next(stream)) is not None:
                into.append(raw)
                size += len(raw)
                if size > MOST:
                    raise Refused(
                        f"{path} holds more than {MOST >> 20:,} MB; restore it with mongorestore --archive, "
                        "and dump into a folder, whose files are read in place."
                    )
    except (_CutOff, Unreadable, EOFError) as error:
        trouble = str(error) or "its packed data end too early"
    if trouble and not documents:
        raise Unreadable(f"{path} is not a whole archive of mongodump: {trouble}; dump it again.")
    if trouble:
        server.tell(f"{path} is cut off or damaged: {trouble}; dump it again. What comes before is shown.")
    for (database, collection), raws in documents.items():
        series = described.get((database, collection.removeprefix("system.buckets.")), Metadata())
        _show(server, database, collection, raws, described.get((database, collection), series))


def _show(server: LocalServer, database: str, collection: str, raws: list[bytes], metadata: Metadata) -> None:
    if c.get(metadata.options, ("viewOn",)) is not None:
        return  # a view has no documents of its own
    if not raws and c.get(metadata.options, ("timeseries",)) is not None:
        return  # its documents are in its buckets, which have its metadata too
    ns = free_namespace(server, database_name(database), collection_name(collection or "documents"))
    adopt(server, ns, metadata)
    load_documents(server, ns, raws)
    show_measurements(server, ns, metadata)
    add_indexes(server, ns, metadata)


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
