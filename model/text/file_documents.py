"""The documents in a file, one by one: BSON, CSV, or Extended JSON by lines or in an array; gzipped or not."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from model import text
from model.errors import NotFound, Refused, Unreadable
from model.foundation import input_files
from model.text import csv_form
from model.text.encodings import unicode_of
from model.text.json_reader import Unread, is_blank, read_all, read_each
from model.values import canonical as c

LONGEST_LINE = 256 << 20  # bytes of the largest document in its longest notation, with room to spare
LONGEST_TEXT = 1 << 30  # bytes of an array, or of documents over several lines, which are read whole
_GZIP = b"\x1f\x8b"
_AGAIN = "dump it again"


def documents_of(path: Path) -> Iterator[bytes]:
    """The documents of a file of any form; ``.csv`` has a head line.

    Raises ``NotFound``, ``Unreadable`` with the place, or ``Refused``.
    """
    try:
        with opened(path) as packed:
            stream = packed if path.name.lower().removesuffix(".gz").endswith(".bson") else in_utf8(packed)
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
    """The documents in pasted text: a single one, several in a row, or an array.

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
    """A file as a stream of bytes, unpacked if it is gzipped. Raises ``Unreadable`` if unpacking fails."""
    with cast(io.BufferedReader, input_files.opened(path)) as plain:
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


class _InUtf8(io.RawIOBase):
    """Recodes a stream of text to UTF-8."""

    def __init__(self, stream: io.BufferedReader, encoding: str) -> None:
        self._stream, self._decoder = stream, codecs.getincrementaldecoder(encoding)()
        self._rest = b""

    def readable(self) -> bool:
        """Always true; it cannot be written to."""
        return True

    def readinto(self, into: Any) -> int:
        """Fill a buffer; raises ``Unreadable`` for bytes that are not text."""
        while not self._rest:
            data = self._stream.read(io.DEFAULT_BUFFER_SIZE)
            try:
                self._rest = self._decoder.decode(data, final=not data).encode("utf-8")
            except UnicodeError as error:
                raise Unreadable(f"The file begins as UTF-16, but what follows is not UTF-16 ({error}).") from None
            if not data:
                break
        size = min(len(into), len(self._rest))
        into[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def in_utf8(stream: io.BufferedReader) -> io.BufferedReader:
    """A stream without its byte order mark, recoded to UTF-8 if it is UTF-16; other streams stay as they are.

    PowerShell writes UTF-16 when a program's output goes to a file.
    """
    head = stream.peek(4)[:4]
    encoding = unicode_of(head)
    for mark in (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if head.startswith(mark) and (mark == codecs.BOM_UTF8 or encoding != "utf-8"):
            stream.read(len(mark))
            break
    return stream if encoding == "utf-8" else io.BufferedReader(_InUtf8(stream, encoding))


def looks_like_text(head: bytes) -> bool:
    """Whether a file that begins with these bytes is text with documents; Robo 3T puts a comment first."""
    head = head.lstrip()
    return head[:1] in (b"{", b"[", b"") or head.startswith((b"/*", b"//"))


class LeftOut:
    """Counts the lines of a file that cannot be read, and keeps the first error."""

    def __init__(self) -> None:
        self.count = 0
        self._first = ""

    def note(self, error: Unreadable) -> None:
        """Count another one."""
        self._first = self._first or str(error)
        self.count += 1

    def sentence(self, shown: int) -> str:
        """A sentence on what was left out, next to ``shown`` documents."""
        if self.count == 1:
            return f"{self._first} The other documents, {shown:,}, are shown."
        return f"{self._first} {self.count:,} cannot be read in all; the other documents, {shown:,}, are shown."


def bson_documents(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    """The documents of a ``.bson`` file as they are; only their outer length is checked."""
    at = number = 0
    while head := stream.read(4):
        number += 1
        size = int.from_bytes(head, "little", signed=True)
        if len(head) == 4 and not 5 <= size <= c.LONGEST_DOCUMENT:
            raise Unreadable(_no_document(path, at, number))
        raw = head + stream.read(max(0, size - 4))
        if len(head) < 4 or len(raw) < size:
            if number == 1:
                raise Unreadable(f"{path} is not BSON, or is cut off inside its first document; {_AGAIN}.")
            raise Unreadable(
                f"{path} is cut off in the middle of document {number}, which begins at byte {at}; "
                f"{_AGAIN}, or keep only its first {at} bytes."
            )
        if raw[-1] != 0:
            raise Unreadable(_no_document(path, at, number))
        yield raw
        at += size


def _no_document(path: Path, at: int, number: int) -> str:
    if number == 1:
        return f"{path} is not BSON: it does not begin with a document; give a .bson file or Extended JSON lines."
    return (
        f"{path} is damaged: document {number}, at byte {at}, is not a BSON document; "
        f"{_AGAIN}, or keep only its first {at} bytes."
    )


def json_documents(stream: IO[bytes], path: Path, left_out: LeftOut | None = None) -> Iterator[bytes]:
    """The documents of a file, in any notation: one per line, in one array, or each over several lines.

    Unreadable lines go to ``left_out``. Raises ``Unreadable`` for the first one if that is None, or if nothing can be
    read.
    """
    said = _Told(left_out)
    for number, line in enumerate(iter(partial(stream.readline, LONGEST_LINE + 1), b""), 1):
        if len(line) > LONGEST_LINE:
            raise Unreadable(f"Line {number} of {path} is longer than any document; it cannot be one.")
        if not line.strip():
            continue
        try:
            yield text.any_document(decoded(line).strip())
        except Unreadable as error:
            if not said.count and not said.errors and line.strip()[:1] in (b"{", b"[", b"/"):
                whole = line + stream.read(LONGEST_TEXT)
                if stream.read(1):
                    much = f"{path} has more than {LONGEST_TEXT >> 20:,} MB in one array or on lines of their own"
                    raise Unreadable(
                        f"{much}; write a document on each line, which are read one after the other."
                    ) from None
                yield from _spread(whole, path, number, said)
                break
            if not _is_comment(line):
                said.note(_bad_line(path, number, error))
        else:
            said.count += 1
    said.finish()


class _Told:
    """Counts the documents of a file that were read, and collects the lines that could not be."""

    def __init__(self, left_out: LeftOut | None) -> None:
        self.count = 0
        self.errors: list[Unreadable] = []
        self._left_out = left_out

    def note(self, error: Unreadable) -> None:
        """Take a line that cannot be read; raises ``error`` if there is nowhere to collect it."""
        if self._left_out is None:
            raise error from None
        self._left_out.note(error)
        self.errors = self.errors or [error]

    def finish(self) -> None:
        """Raise the first error if nothing was read."""
        if self.errors and not self.count:
            raise self.errors[0] from None


def _is_comment(line: bytes) -> bool:
    return line.lstrip().startswith(b"/") and is_blank(line.decode("utf-8", "replace"))


def decoded(data: bytes) -> str:
    """The text of bytes in UTF-8; raises ``Unreadable`` with the place."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"byte {error.start + 1} is not UTF-8.") from None


def _bad_line(path: Path, number: int, error: Unreadable) -> Unreadable:
    # The error of a single line always calls it line 1.
    where = re.sub(r"^Line 1, column", "column", str(error)).rstrip(".")
    return Unreadable(f"Line {number} of {path} is not Extended JSON: {where}; mend the line, or take it out.")


_BROKEN = re.compile("[\udc80-\udcff]")  # a byte that is not UTF-8, as Python decodes it


def _spread(data: bytes, path: Path, line: int, said: _Told) -> Iterator[bytes]:
    """The documents that take several lines each, or are in one array; ``data`` begins at line ``line``."""
    is_broken = False
    try:
        whole = decoded(data)
    except Unreadable:
        whole = data.decode("utf-8", "surrogateescape")
        is_broken = True
    at, counted = line, 0
    for start, end, value in read_each(whole):
        at, counted = at + whole.count("\n", counted, start), start
        if isinstance(value, Unread):
            if value.is_cut_off:
                which = f"the document that begins in line {at} does not end"
                said.note(Unreadable(f"{path} is cut off: {which}; export it again."))
            else:
                place = _moved(str(value.error), line - 1)
                said.note(Unreadable(f"The document at line {at} of {path} is not Extended JSON: {place}"))
        elif is_broken and (character := _BROKEN.search(whole, start, end)) is not None:
            number = at + whole.count("\n", start, character.start())
            said.note(Unreadable(f"Line {number} of {path} is not UTF-8; mend the line, or take it out."))
        elif value.type != c.OBJECT:
            what = "has something that is not a document; mend the line, or take it out"
            said.note(Unreadable(f"Line {at} of {path} {what}."))
        else:
            said.count += 1
            yield value.data


def _moved(error: str, lines: int) -> str:
    return re.sub(r"^Line (\d+)", lambda found: f"Line {int(found[1]) + lines}", error)
