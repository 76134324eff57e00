"""A list of documents written to a file while it is read: canonical Extended JSON by lines, BSON as in a dump, or
CSV.

The file appears under its name only when it is complete; if the work is stopped, there is no file.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct

from model import text
from model.errors import Refused, Unreadable
from model.foundation.records import Checkpoint, Row, no_checkpoint
from model.foundation.whole_files import whole_file
from model.text import csv_form

ENDINGS = (".jsonl", ".bson", ".csv")


class Written(Struct, frozen=True):
    """The result of :func:`write_rows`; ``left_out`` counts documents that cannot be decoded."""

    path: Path
    documents: int
    bytes: int
    left_out: int
    rearranged: int = 0  # documents whose fields change their order, because a table has only one
    formulas: int = 0  # cells and heads of a table that spreadsheets take for formulas

    @property
    def notes(self) -> list[str]:
        """What the file does not hold as it was, or what may be mistaken, one sentence each."""
        found = (
            (self.rearranged, "document has another order of fields than the table", "documents have another order of "
             "fields than the table"),
            (self.left_out, "document was left out, as this form cannot hold it", "documents were left out, as this "
             "form cannot hold them"),
            (self.formulas, "cell begins with =, +, - or @, which spreadsheets take for a formula", "cells begin with "
             "=, +, - or @, which spreadsheets take for formulas"),
        )  # fmt: skip
        return [f"{count:,} {one if count == 1 else several}." for count, one, several in found if count]


def write_rows(
    rows: Iterable[Row], path: Path, total: int | None = None, checkpoint: Checkpoint = no_checkpoint
) -> Written:
    """Write documents to a file, one by one, in the form of its ending: ``.bson``, ``.csv``, else JSON lines.

    Raises ``Refused`` if the file cannot be written. Then, and if the checkpoint raises ``Cancelled``, an older file
    of that name stays as it is.
    """
    if path.suffix.lower() == ".csv":
        return _write_table(rows, path, total, checkpoint)
    binary = path.suffix.lower() == ".bson"
    count = left_out = size = 0
    try:
        with whole_file(path) as file:
            for row in rows:
                checkpoint(count, total)
                data = _form(row, binary)
                if data is None:
                    left_out += 1
                    continue
                file.write(data)
                count, size = count + 1, size + len(data)
    except OSError as error:
        raise Refused(f"{path} cannot be written ({error.strerror}); make room or choose another place.") from None
    checkpoint(count, count)
    return Written(path, count, size, left_out)


def _write_table(rows: Iterable[Row], path: Path, total: int | None, checkpoint: Checkpoint) -> Written:
    """Write a table. The documents go to a temporary file first, because the columns depend on all of them."""
    plan, left_out = csv_form.ColumnPlan(), 0
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:

            def fit() -> Iterator[Row]:
                nonlocal left_out
                for row in rows:
                    if row.readable and _form(row, False) is not None:
                        plan.note(row.raw)
                        yield row
                    else:
                        left_out += 1

            aside = Path(folder) / "documents.bson"
            write_rows(fit(), aside, total, checkpoint)
            with aside.open("rb") as documents, whole_file(path) as file:
                table = io.TextIOWrapper(file, encoding="utf-8", newline="")
                counts = csv_form.write(_watched(documents, total, checkpoint), plan.columns, table)
                table.detach()  # flushes the text, and leaves the file open
                size = file.tell() if file.seekable() else 0
    except OSError as error:
        raise Refused(f"{path} cannot be written ({error.strerror}); make room or choose another place.") from None
    return Written(path, counts.written, size, left_out + counts.left_out, counts.rearranged, counts.formulas)


def _watched(stream: IO[bytes], total: int | None, checkpoint: Checkpoint) -> Iterator[bytes]:
    count = 0
    while head := stream.read(4):
        checkpoint(count, total)
        yield head + stream.read(int.from_bytes(head, "little") - 4)
        count += 1


def _form(row: Row, binary: bool) -> bytes | None:
    if not row.readable:
        return None
    if binary:
        return bytes(row.raw)
    try:
        return (text.to_text(row.raw) + "\n").encode()
    except (Unreadable, UnicodeEncodeError):  # half a character: only BSON can store it
        return None
