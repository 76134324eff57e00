"""The documents of a file, one after the other: BSON, Extended JSON by lines or in an array, CSV; gzipped or not."""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, cast

from model import text
from model.errors import NotFound, Refused, Unreadable
from model.text import csv_form, scalars
from model.text.json_reader import read_all
from model.values import canonical as c

LONGEST_LINE = 256 << 20  # bytes of the largest document in its longest notation, and room
LONGEST_TEXT = 1 << 30  # bytes of an array, or of documents on several lines each, which are read at once
_GZIP = b"\x1f\x8b"
_AGAIN = "dump it again"


def documents_of(path: Path) -> Iterator[bytes]:
    """The documents of a file, whatever its form; ``.csv`` is one with a head line.

    Raises ``NotFound``, ``Unreadable`` with the place, or ``Refused``.
    """
    try:
        with opened(path) as stream:
            named = path.name.lower().removesuffix(".gz")
            if named.endswith(".csv"):
                with io.TextIOWrapper(stream, "utf-8-sig", newline="") as written:
                    yield from csv_form.read(written, str(path))
            elif not named.endswith(".bson") and looks_like_text(stream.peek(64)):
                yield from json_documents(stream, path)
            else:
                yield from bson_documents(stream, path)
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}; check its name.") from None
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror or error}).") from None


def documents_in(written: str) -> list[bytes]:
    """The documents of a text as somebody pasted it: one, several below one another, or an array of them.

    They may be in the notation of the shell. Raises ``Unreadable`` with the place.
    """
    found = read_all(written)
    if len(found) == 1 and found[0].type == c.ARRAY:
        found = c.items(found[0])
    other = next((value for value in found if value.type != c.OBJECT), None)
    if other is not None:
        raise Unreadable(f"There is a value of type {other.kind} among the documents; write each of them as {{…}}.")
    return [value.data for value in found]


@contextlib.contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """A file as a stream of bytes, unpacked where it is gzipped. Raises ``Unreadable`` where that fails on the way."""
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


def looks_like_text(head: bytes) -> bool:
    """Whether a file that begins so is text with documents."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[", b"")


def bson_documents(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    """The documents of a ``.bson`` file as they are; only their outer length has to be right."""
    at = number = 0
    while head := stream.read(4):
        number += 1
        size = int.from_bytes(head, "little", signed=True)
        if len(head) == 4 and not 5 <= size <= c.LONGEST_DOCUMENT:
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


def json_documents(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    """The documents of a file with one on each line; also of one array, or of indented documents."""
    first = True
    for number, line in enumerate(iter(partial(stream.readline, LONGEST_LINE + 1), b""), 1):
        if len(line) > LONGEST_LINE:
            raise Unreadable(f"Line {number} of {path} is longer than any document; it cannot be one.")
        if first:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip():
            continue
        try:
            yield text.from_text(decoded(line).strip())
        except Unreadable as error:
            if first and line.strip()[:1] in (b"{", b"["):
                whole = line + stream.read(LONGEST_TEXT)
                if stream.read(1):
                    much = f"{path} has more than {LONGEST_TEXT >> 20:,} MB in one array or on lines of their own"
                    raise Unreadable(
                        f"{much}; write a document on each line, which are read one after the other."
                    ) from None
                try:
                    written = decoded(whole)
                except Unreadable as no_text:
                    raise _bad_line(path, number, no_text) from None
                yield from _spread(written, path, number, error)
                return
            raise _bad_line(path, number, error) from None
        first = False


def decoded(data: bytes) -> str:
    """Bytes as the text in UTF-8 that they are; raises ``Unreadable`` with the place."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"byte {error.start + 1} is no UTF-8.") from None


def _bad_line(path: Path, number: int, error: Unreadable) -> Unreadable:
    # The error of a single line calls it line 1.
    where = re.sub(r"^Line 1, column", "column", str(error)).rstrip(".")
    return Unreadable(f"Line {number} of {path} is no Extended JSON: {where}; mend the line, or take it out.")


_OUTER = re.compile(scalars.QUOTED + r"|[{}\[\]]", re.DOTALL)


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
