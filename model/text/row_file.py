"""A list of documents written to a file as it is read: lines of canonical Extended JSON, or BSON as in a dump.

The file appears under its name when it is whole; until then, and where the work is stopped, there is none.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from model import text
from model.errors import Refused, Unreadable
from model.records import Checkpoint, Row, no_checkpoint

ENDINGS = (".jsonl", ".bson")


@dataclass(frozen=True)
class Written:
    """The result of :func:`write_rows`; ``left_out`` are documents that do not decode."""

    path: Path
    documents: int
    bytes: int
    left_out: int


def write_rows(
    rows: Iterable[Row], path: Path, total: int | None = None, checkpoint: Checkpoint = no_checkpoint
) -> Written:
    """Write documents to a file, one after the other; its ending says in which form: ``.bson``, else lines of JSON.

    Raises ``Refused`` where the file cannot be written; an older file of that name is kept then, and where the
    checkpoint raises ``Cancelled``.
    """
    binary = path.suffix.lower() == ".bson"
    count = left_out = size = 0
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise Refused(f"{path} cannot be written ({error.strerror}); choose another place.") from None
    try:
        with os.fdopen(handle, "wb") as file:
            for row in rows:
                checkpoint(count, total)
                data = _form(row, binary)
                if data is None:
                    left_out += 1
                    continue
                file.write(data)
                count, size = count + 1, size + len(data)
        os.replace(name, path)
    except OSError as error:
        raise Refused(f"{path} cannot be written ({error.strerror}); make room or choose another place.") from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
    checkpoint(count, count)
    return Written(path, count, size, left_out)


def _form(row: Row, binary: bool) -> bytes | None:
    if not row.readable:
        return None
    if binary:
        return bytes(row.raw)
    try:
        return (text.to_text(row.raw) + "\n").encode()
    except (Unreadable, UnicodeEncodeError):  # half a character: only BSON holds it
        return None
