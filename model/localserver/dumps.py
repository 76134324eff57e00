"""Dumps by mongodump and mongoexport, read into an in-process server.

A folder (a dump's root with a folder for each database, or one database's folder), one ``.bson`` file, or one file
of Extended JSON with a document on each line; each of them gzipped or not. Files are read, never written.

The folder's name is the database's, the file's name the collection's. A JSON file whose name has a dot,
("shop.contracts.json"), names both.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast
from urllib.parse import unquote

from model import text
from model.errors import NotFound, Refused, Unreadable
from model.localserver.command_table import parse_index
from model.localserver.local_server import LocalServer
from model.mql.command_error import CommandError
from model.values import canonical as c

LONGEST_DOCUMENT = 16 * 1024 * 1024 + 16 * 1024  # the limit of servers, and room for their own additions
_ARCHIVE = b"\x6d\xe2\x99\x81"
_GZIP = b"\x1f\x8b"
_AGAIN = "dump it again"


def open_dump(path: str | Path, writable: bool = False) -> LocalServer:
    """Open a dump in a server of its own, which is read-only unless ``writable``; the files stay as they are.

    Raises ``NotFound``, ``Unreadable`` (with the place and the way out) or ``Refused``.
    """
    source = Path(path).expanduser()
    server = LocalServer()
    try:
        if source.is_dir():
            _folder(server, source.resolve())
        elif source.is_file():
            _file(server, source.resolve(), _database_name(source.resolve().parent.name))
        else:
            raise NotFound(
                f"{source} is not there: give a dump's folder, a .bson file, or a file of Extended JSON lines."
            )
    except OSError as error:
        raise Refused(f"{source} cannot be read: {error.strerror or error}.") from None
    server.read_only = not writable
    return server


def _folder(server: LocalServer, root: Path) -> None:
    found = False
    for folder in [root, *sorted(p for p in root.iterdir() if p.is_dir() and not p.name.startswith("."))]:
        names: set[str] = set()
        for file in sorted(p for p in folder.iterdir() if _is_bson(p)):
            if _stem(file) in names:
                raise Refused(f"{file} and its plain twin are both there; move one of them away.")
            names.add(_stem(file))
            _file(server, file, _database_name(folder.name))
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


def _file(server: LocalServer, path: Path, database: str) -> None:
    with _opened(path) as stream:
        head = stream.peek(4)
        if head.startswith(_ARCHIVE):
            raise Refused(f"{path} is a mongodump archive; unpack it (mongorestore --archive), and dump into a folder.")
        named = path.name.removesuffix(".gz")
        if named.endswith(".metadata.json"):
            raise Refused(f"{path} describes a collection and holds no documents; give its .bson file or its folder.")
        is_text = not named.endswith(".bson") and _looks_like_text(stream.peek(64))
        collection = _plain(_stem(path)) or "documents"
        if is_text and "." in collection.strip("."):
            given, _, rest = collection.strip(".").partition(".")
            database, collection = _database_name(given), rest
        metadata = {} if is_text else _metadata(path)
        if (full := metadata.get("collectionName")) is not None and full.type == c.STRING:
            collection = str(full.python())
        ns = _free(server, database, _collection_name(collection))
        server.adopt(ns, _options(metadata))
        server.load(ns, _lines(stream, path) if is_text else _documents(stream, path))
    for spec in _indexes(metadata):
        _add_index(server, ns, spec, path)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    with path.open("rb") as plain:
        packed = plain.peek(2).startswith(_GZIP)
        stream: io.BufferedReader = plain
        if packed:
            stream = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=plain)))
        try:
            yield stream
        except EOFError:
            raise Unreadable(f"{path} is cut off: its gzip data ends too early; copy it or {_AGAIN}.") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise Unreadable(f"{path} is damaged gzip data ({error}); copy it or {_AGAIN}.") from None


def _looks_like_text(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[", b"")


def _documents(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    """The documents of a ``.bson`` file as they are; only their outer length has to be right."""
    at = number = 0
    while head := stream.read(4):
        number += 1
        size = int.from_bytes(head, "little", signed=True)
        if len(head) == 4 and not 5 <= size <= LONGEST_DOCUMENT:
            raise Unreadable(_no_document(path, at, number))
        raw = head + stream.read(max(0, size - 4))
        if len(head) < 4 or len(raw) < size:
            if number == 1:
                raise Unreadable(f"{path} is no BSON, or is cut off inside its first document; {_AGAIN}.")
            raise Unreadable(
                f"{path} is cut off in the middle of document {number}, which begins at byte {at}; "
                f"{_AGAIN}, or keep only its first {at} bytes to open the {number - 1} before."
            )
        if raw[-1] != 0:
            raise Unreadable(_no_document(path, at, number))
        yield raw
        at += size


def _no_document(path: Path, at: int, number: int) -> str:
    if number == 1:
        return f"{path} is no BSON: it does not begin with a document; give a .bson file or Extended JSON lines."
    return (
        f"{path} is damaged: document {number}, at byte {at}, is no BSON document; "
        f"{_AGAIN}, or keep only its first {at} bytes to open those before."
    )


def _lines(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    """The documents of a file with one on each line; also of one array, or of indented documents."""
    first = True
    for number, line in enumerate(stream, 1):
        if first:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip():
            continue
        try:
            yield text.from_text(_decoded(line).strip())
        except Unreadable as error:
            if first and line.strip()[:1] in (b"{", b"["):
                whole = line + stream.read()
                try:
                    written = _decoded(whole)
                except Unreadable as no_text:
                    raise _bad_line(path, number, no_text) from None
                yield from _spread(written, path, number, error)
                return
            raise _bad_line(path, number, error) from None
        first = False


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"byte {error.start + 1} is no UTF-8.") from None


def _bad_line(path: Path, number: int, error: Unreadable) -> Unreadable:
    # The error of a single line calls it line 1.
    where = re.sub(r"^Line 1, column", "column", str(error)).rstrip(".")
    return Unreadable(f"Line {number} of {path} is no Extended JSON: {where}; mend the line, or take it out.")


_OUTER = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\]]', re.DOTALL)


def _spread(whole: str, path: Path, line: int, error: Unreadable) -> Iterator[bytes]:
    """The documents that take several lines each, or stand in one array: cut where the outer braces close."""
    depth = 0
    level = 1 if whole.lstrip().startswith("[") else 0
    start: int | None = None
    after = 0
    for token in _OUTER.finditer(whole):
        symbol = token.group()
        if symbol in "{[":
            if symbol == "{" and depth == level:
                start = token.start()
                _nothing_between(whole, after, start, path, line)
            depth += 1
        elif symbol in "}]":
            depth -= 1
            if depth == level and start is not None:
                try:
                    yield text.from_text(whole[start : token.end()])
                except Unreadable as inner:
                    at = line + whole.count("\n", 0, start)
                    raise Unreadable(f"The document at line {at} of {path} is no Extended JSON: {inner}") from None
                start, after = None, token.end()
    _nothing_between(whole, after, len(whole) if start is None else start, path, line)
    if start is not None or depth != 0:
        if start is None:
            raise _bad_line(path, line, error)
        at = line + whole.count("\n", 0, start)
        raise Unreadable(f"{path} is cut off: the document that begins in line {at} does not end; export it again.")


def _nothing_between(whole: str, start: int, end: int, path: Path, line: int) -> None:
    if whole[start:end].strip(" \t\r\n,[]"):
        at = line + whole.count("\n", 0, start + len(whole[start:end]) - len(whole[start:end].lstrip(" \t\r\n,[]")))
        raise Unreadable(f"Line {at} of {path} has something that is no document; mend the line, or take it out.")


def _metadata(path: Path) -> dict[str, c.Value]:
    """The metadata that mongodump noted beside a ``.bson`` file: options and indexes; none without that file."""
    for suffix in (".metadata.json", ".metadata.json.gz"):
        beside = path.with_name(_stem(path) + suffix)
        if not beside.is_file():
            continue
        with _opened(beside) as stream:
            data = stream.read()
        try:
            return dict(c.fields(text.from_text(_decoded(data))))
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
