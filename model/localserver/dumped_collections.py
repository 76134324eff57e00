"""Collections of a dump in a server: their names, options, indexes, and for time series their measurements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias
from urllib.parse import unquote

from msgspec import Struct, field

from model import text
from model.errors import Unreadable
from model.localserver.command_table import parse_index
from model.localserver.large_file import LargeFile
from model.localserver.local_server import LocalServer
from model.localserver.physical_ids import repeated_id
from model.localserver.store import SYSTEM
from model.localserver.time_buckets import Series, measurements
from model.mql import order
from model.mql.command_error import CommandError
from model.values import canonical as c
from model.values.canonical import Value

MEASURED = 64 << 20
"""The most bytes of measurements that are held in memory; compressed buckets grow many times."""
InFile: TypeAlias = Callable[[Series, Callable[[int], str]], LargeFile]
"""Makes the file of a series' measurements, with the sentence on a number of unreadable buckets."""

_BUCKETS = "system.buckets."
_OWN_DATABASES = ("admin", "config", "local")
_OPLOGS = ("oplog", "oplog.rs", "oplog.$main")


class Metadata(Struct):
    """What mongodump noted of a collection: its full name, which a file's may cut short, its options and indexes."""

    name: str = ""
    options: bytes = c.EMPTY
    indexes: list[Value] = field(default_factory=list)

    def named(self, collection: str) -> str:
        """The full name of a collection, from its file's; a time series and its buckets share their metadata."""
        return self.name if self.name and not collection.startswith(_BUCKETS) else collection

    @classmethod
    def read(cls, written: str) -> Metadata:
        """The metadata from its text, in any notation; raises ``Unreadable``."""
        found = dict(c.fields(text.any_document(written)))
        name, options, indexes = found.get("collectionName"), found.get("options"), found.get("indexes")
        return cls(
            str(name.python()) if name is not None and name.type == c.STRING else "",
            options.data if options is not None and options.type == c.OBJECT else c.EMPTY,
            c.items(indexes) if indexes is not None and indexes.type == c.ARRAY else [],
        )


def plain_name(name: str) -> str:
    """The text of a file name with any bytes; mongodump encodes ``/`` and ``%`` with ``%``."""
    return unquote(name).encode("utf-8", "replace").decode("utf-8").replace("\0", "_")


def database_name(folder: str) -> str:
    """A database's name from a folder's: servers do not allow dots and spaces in it."""
    return re.sub(r'[/\\. "$]', "_", plain_name(folder))[:60] or "dump"


def collection_name(name: str) -> str:
    """A collection name that drivers accept: no dots at the ends or next to each other, and no dollars."""
    return re.sub(r"^\.|\.$|\.(?=\.)|[$\0]", "_", name)


def free_namespace(server: LocalServer, database: str, collection: str) -> str:
    """The namespace, numbered if two names have become equal: two collections must not be mixed."""
    name, number = collection, 1
    while server.store.get(database, name) is not None:
        number += 1
        name = f"{collection}_{number}"
    return f"{database}.{name}"


def is_buckets(ns: str) -> bool:
    """Whether a collection holds the buckets of a time series."""
    return ns.partition(".")[2].startswith(_BUCKETS)


def adopt(server: LocalServer, ns: str, metadata: Metadata) -> None:
    """Create a collection of a dump; one that its server kept for itself is marked, and can only be read."""
    database, _, name = ns.partition(".")
    is_own = database in _OWN_DATABASES or name.startswith("system.") or name in _OPLOGS
    server.adopt(ns, metadata.options, SYSTEM if is_own else "collection")


def load_documents(server: LocalServer, ns: str, documents: Iterable[bytes]) -> None:
    """Load the documents of a collection, and tell of each ``_id`` that occurs several times."""
    seen: set[tuple[int, bytes]] = set()
    twice: list[Value] = []

    def watched() -> Iterator[bytes]:
        for raw in documents:
            try:
                id = order.field(raw, b"_id\0")
            except (Unreadable, CommandError, IndexError):
                id = None
            if id is not None and id in seen:
                twice.append(Value(*id))
            elif id is not None:
                seen.add(id)
            yield raw

    server.load(ns, watched())
    if twice:
        server.tell(repeated_id(ns, twice[0], len(twice) - 1))


def add_indexes(server: LocalServer, ns: str, metadata: Metadata) -> None:
    """Add the indexes of a collection; leave out an invalid one, and tell of it."""
    for number, spec in enumerate(metadata.indexes, 1):
        try:
            if spec.type != c.OBJECT:
                raise CommandError(67, "it is not a document")
            index = parse_index(spec.data)
            if index.keys != [("_id", 1)]:
                server.add_index(ns, index)
        except (CommandError, Unreadable, ValueError, TypeError, OverflowError) as error:
            said = error.message if isinstance(error, CommandError) else str(error)
            server.tell(
                f"{_named(spec, number)} of {ns} is left out, because no server of today takes it: {said.rstrip('.')}."
            )


def _named(spec: Value, number: int) -> str:
    name = c.get(spec.data, ("name",)) if spec.type == c.OBJECT else None
    if name is None or name.type != c.STRING:
        return f"Index {number}"
    return f"The index {text.plain(str(name.python()))}"


def show_measurements(
    server: LocalServer, ns: str, metadata: Metadata, in_file: InFile | None = None, is_large: bool = False
) -> None:
    """Show the buckets of a time series also as its measurements, in a collection with the series' name.

    Those of a large file, and more than :data:`MEASURED` bytes, are read from the file that ``in_file`` makes.
    """
    if not is_buckets(ns):
        return
    database, _, name = ns.partition(".")
    series = Series.of(metadata.options)
    shown = free_namespace(server, database, name.removeprefix(_BUCKETS))

    def said(broken: int) -> str:
        return f"The measurements in unreadable buckets of {shown} ({broken:,}) are left out; {ns} lists all buckets."

    server.adopt(shown, metadata.options)
    rows, broken = ([], 0) if is_large else _measured(server.stored(ns), series, in_file is not None)
    if rows is None or is_large:
        assert in_file is not None
        file = in_file(series, said)
        try:
            server.begin(shown, file)
        except Unreadable:  # not a single measurement
            file.close()
            server.tell(said(1))
        return
    server.load(shown, rows)
    if broken:
        server.tell(said(broken))


def _measured(buckets: Iterable[bytes], series: Series, may_stop: bool) -> tuple[list[bytes] | None, int]:
    """The measurements of buckets and the number of unreadable ones; no measurements if these are too many."""
    rows: list[bytes] = []
    size = broken = 0
    for raw in buckets:
        try:
            found = measurements(raw, series)
        except Unreadable:
            broken += 1
            continue
        rows += found
        size += sum(map(len, found))
        if may_stop and size > MEASURED:
            return None, broken
    return rows, broken
