"""Dumps by mongodump and mongoexport, read into an in-process server.

A folder (a dump's root with a folder for each database, or one database's folder), one ``.bson`` file, or one file
of Extended JSON with a document on each line; each of them gzipped or not. Files are read, never written.

The folder's name is the database's, the file's name the collection's. A JSON file whose name has a dot,
("shop.contracts.json"), names both.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from model import text
from model.errors import NotFound, Refused, Unreadable
from model.localserver.command_table import parse_index
from model.localserver.large_file import LargeFile
from model.localserver.local_server import LocalServer
from model.mql.command_error import CommandError
from model.text.file_documents import bson_documents, decoded, json_documents, looks_like_text, opened
from model.values import canonical as c

IN_MEMORY = 64 << 20
"""Bytes of a dump's documents that are read into memory; a file above that is read where it lies."""

ALL = 1 << 62
PACKED = 10  # times as large as packed a file is taken to be
_ARCHIVE = b"\x6d\xe2\x99\x81"


def open_dump(path: str | Path, writable: bool = False, cache: Path | None = None) -> LocalServer:
    """Open a dump in a server of its own, which is read-only unless ``writable``; the files stay as they are.

    What fits into :data:`IN_MEMORY` is read at once, and all of it where it is writable. Of larger ``.bson`` files the
    first documents are there, until a client has had them read; the notes on them lie in ``cache``. Raises
    ``NotFound``, ``Unreadable`` (with the place and the way out) or ``Refused``.
    """
    source = Path(path).expanduser()
    server = LocalServer()
    opening = _Opening(server, None if writable else cache, ALL if writable else IN_MEMORY)
    try:
        if source.is_dir():
            _folder(opening, source.resolve())
        elif source.is_file():
            _file(opening, source.resolve(), _database_name(source.resolve().parent.name))
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

    def takes(self, path: Path) -> bool:
        """Whether a file is small enough for memory; a packed one is taken for ten times as large."""
        size = path.stat().st_size * (PACKED if path.name.endswith(".gz") else 1)
        if size > self.left:
            return False
        self.left -= size
        return True


def _folder(opening: _Opening, root: Path) -> None:
    found = False
    for folder in [root, *sorted(p for p in root.iterdir() if p.is_dir() and not p.name.startswith("."))]:
        names: set[str] = set()
        for file in sorted(p for p in folder.iterdir() if _is_bson(p)):
            if _stem(file) in names:
                raise Refused(f"{file} and its plain twin are both there; move one of them away.")
            names.add(_stem(file))
            _file(opening, file, _database_name(folder.name))
            found = True
    if not found:
        raise Refused(f"{root} holds no .bson file: give the folder that mongodump wrote, or one file.")


def _is_bson(path: Path) -> bool:
    return path.name.endswith((".bson", ".bson.gz")) and not path.name.startswith(".") and path.is_file()


def _stem(path: Path) -> str:
    return re.sub(r"\.(bson|json|jsonl|ndjson|ejson|txt)$", "", path.name.removesuffix(".gz"))


def _plain(name: str) -> str:
    """A file's name as text, whatever bytes it has; mongodump writes ``/`` and ``%`` with ``%``."""
    return unquote(name).encode("utf-8", "replace").decode("utf-8").replace("\0", "_")


def _database_name(folder: str) -> str:
    """A database's name out of a folder's: servers take no dots and spaces in one."""
    return re.sub(r'[/\\. "$]', "_", _plain(folder))[:60] or "dump"


def _collection_name(name: str) -> str:
    """A collection's name that drivers take: they refuse dots at its ends or next to each other, and dollars."""
    return re.sub(r"^\.|\.$|\.(?=\.)|[$\0]", "_", name)


def _free(server: LocalServer, database: str, collection: str) -> str:
    """The namespace, with a number where two names have become one: two collections must not be mixed."""
    name, number = collection, 1
    while server.store.get(database, name) is not None:
        number += 1
        name = f"{collection}_{number}"
    return f"{database}.{name}"


def _file(opening: _Opening, path: Path, database: str) -> None:
    server = opening.server
    with opened(path) as stream:
        head = stream.peek(4)
        if head.startswith(_ARCHIVE):
            raise Refused(f"{path} is a mongodump archive; unpack it (mongorestore --archive), and dump into a folder.")
        named = path.name.removesuffix(".gz")
        if named.endswith(".metadata.json"):
            raise Refused(f"{path} describes a collection and holds no documents; give its .bson file or its folder.")
        is_text = not named.endswith(".bson") and looks_like_text(stream.peek(64))
        collection = _plain(_stem(path)) or "documents"
        if is_text and "." in collection.strip("."):
            given, _, rest = collection.strip(".").partition(".")
            database, collection = _database_name(given), rest
        metadata = {} if is_text else _metadata(path)
        if (full := metadata.get("collectionName")) is not None and full.type == c.STRING:
            collection = str(full.python())
        ns = _free(server, database, _collection_name(collection))
        server.adopt(ns, _options(metadata))
        if is_text:
            server.load(ns, json_documents(stream, path))
        elif opening.takes(path):
            server.load(ns, bson_documents(stream, path))
        else:
            server.begin(ns, LargeFile(path, opening.cache))
    for spec in _indexes(metadata):
        _add_index(server, ns, spec, path)


def _metadata(path: Path) -> dict[str, c.Value]:
    """The metadata that mongodump noted beside a ``.bson`` file: options and indexes; none without that file."""
    for suffix in (".metadata.json", ".metadata.json.gz"):
        beside = path.with_name(_stem(path) + suffix)
        if not beside.is_file():
            continue
        with opened(beside) as stream:
            data = stream.read()
        try:
            return dict(c.fields(text.from_text(decoded(data))))
        except Unreadable as error:
            where = str(error).rstrip(".")
            raise Unreadable(f"{beside} is no Extended JSON: {where}; take it away to open without indexes.") from None
    return {}


def _options(metadata: dict[str, c.Value]) -> bytes:
    options = metadata.get("options")
    return options.data if options is not None and options.type == c.OBJECT else c.EMPTY


def _indexes(metadata: dict[str, c.Value]) -> list[bytes]:
    found = metadata.get("indexes")
    items = c.items(found) if found is not None and found.type == c.ARRAY else []
    return [item.data for item in items if item.type == c.OBJECT]


def _add_index(server: LocalServer, ns: str, spec: bytes, path: Path) -> None:
    try:
        index = parse_index(spec)
    except CommandError as error:
        raise Unreadable(f"The metadata beside {path} has an index that makes no sense: {error.message}") from None
    if index.keys != [("_id", 1)]:
        server.add_index(ns, index)
