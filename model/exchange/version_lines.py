"""A history as lines of JSON, one per version, each a :class:`.KeptVersion`.

The first line also has the history's origin, as ``"collection"``; the last line of each export, ``"total"``.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

from msgspec import Struct, field

from model import text
from model.errors import NotFound, Refused, Unreadable
from model.exchange.export_total import ExportTotal
from model.exchange.history_origin import HistoryOrigin, history_origin
from model.exchange.kept_version import KeptVersion, kept_version, not_importable
from model.exchange.known_versions import KnownVersions, known_versions
from model.foundation.input_files import check_input
from model.foundation.records import Checkpoint
from model.text.file_documents import LONGEST_LINE, decoded
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

_ORIGIN, _TOTAL = "collection", "total"


class LinesExport(Struct):
    """An export into a file while it is written."""

    file: IO[bytes]
    origin: HistoryOrigin
    known: KnownVersions
    empty: bool  # whether it has no lines yet
    total: ExportTotal  # of all versions in the file
    written: int = 0
    other: list[str] = field(default_factory=list)  # versions that differ in the file
    _held: bytes | None = None  # the last version, which is written when it is known whether others follow

    def add(self, kept: KeptVersion) -> bool:
        """Write one version; False if the file already has it."""
        raw = kept.document
        stands = self.known.stands(_name(kept), raw)
        if stands is not None:
            if not stands:
                self.other.append(f"{version_name(kept.v)} of {id_name(kept.id)}")
            return False
        if self.empty and not self.written:
            raw = c.document([*c.fields(raw), (_ORIGIN, Value.document(self.origin.document))])
        self._write()
        self._held = raw
        self.written += 1
        self.total.add(kept.proof)
        return True

    def end(self) -> None:
        """Write the last line, with the total."""
        self._write((_TOTAL, Value.of(self.total.said)))

    def _write(self, *more: tuple[str, Value]) -> None:
        if self._held is not None:
            raw = c.document([*c.fields(self._held), *more])
            self.file.write((text.to_text(raw) + "\n").encode("utf-8", "backslashreplace"))


@contextmanager
def lines_export(path: Path, origin: HistoryOrigin, step: Checkpoint) -> Iterator[LinesExport]:
    """Export into a new file, or append to an earlier export of this collection.

    The file appears under its name only when it is complete. Raises ``Refused`` for any other file.
    """
    there, total = None, ExportTotal()
    if path.exists() and (path.is_dir() or path.stat().st_size):
        there = VersionLines.opened(path)
        if there.origin.ns != origin.ns:
            raise Refused(f"{path} holds the history of {there.origin.ns}; export {origin.ns} into another file.")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise Refused(f"{path} cannot be written ({error.strerror}); choose another place.") from None
    try:
        with os.fdopen(handle, "wb") as file, known_versions() as known:
            if there is not None:
                for done, (kept, _) in enumerate(there.refs(), 1):
                    step(done, None)
                    known.note(_name(kept), kept.document)
                    total.add(kept.proof)
                with path.open("rb") as before:
                    shutil.copyfileobj(before, file)
            made = LinesExport(file, origin, known, there is None, total)
            yield made
            made.end()
        os.replace(name, path)
    except OSError as error:
        raise Refused(f"{path} cannot be written ({error.strerror}); make room or choose another place.") from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def _name(kept: KeptVersion) -> bytes:
    """A version's identity: its document and number; for a deletion without a number, the version that was deleted."""
    return c.document([("id", kept.id), ("v", kept.v or Value.of(kept.gap))])


class VersionLines(Struct, frozen=True):
    """The versions in a file that an export wrote."""

    path: Path
    origin: HistoryOrigin

    @classmethod
    def opened(cls, path: Path) -> VersionLines:
        """The history in a file; raises ``Refused`` if there is none."""
        try:
            check_input(path)
            with path.open("rb") as file:
                said = c.get(text.from_text(decoded(file.readline(LONGEST_LINE))), (_ORIGIN,))
        except IsADirectoryError:
            raise Refused(f"{path} is a folder, and no export wrote it; name a file.") from None
        except FileNotFoundError:
            raise NotFound(f"There is no file or folder {path}; check its name.") from None
        except OSError as error:
            raise Refused(f"{path} cannot be read ({error.strerror or error}).") from None
        except Unreadable:
            said = None
        if said is None or said.type != c.OBJECT:
            raise Refused(f"{path} holds no history that an export wrote; give another file.")
        return cls(path, history_origin(said.data, path))

    def refs(self) -> Iterator[tuple[KeptVersion, int]]:
        """Each version, and the offset of its line."""
        at, total, said = 0, ExportTotal(), None
        with self.path.open("rb") as file:
            for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 1):
                if line.strip():
                    kept, said = self._version(line, f"Line {number} of {self.path}", first=at == 0)
                    total.add(kept.proof)
                    yield kept, at
                at += len(line)
        total.check(said, self.path)

    def read(self, refs: Sequence[int]) -> Iterator[KeptVersion]:
        """The versions in these lines, with contents."""
        with self.path.open("rb") as file:
            for at in refs:
                file.seek(at)
                where = f"The line at byte {at} of {self.path}"
                yield self._version(file.readline(LONGEST_LINE), where, first=at == 0)[0]

    def _version(self, line: bytes, where: str, first: bool) -> tuple[KeptVersion, object]:
        """The version in a line, and the total if an export ended there."""
        try:
            fields = c.fields(text.from_text(decoded(line).strip()))
            extra = (_ORIGIN, _TOTAL) if first else (_TOTAL,)
            total = dict(fields).get(_TOTAL)
            kept = kept_version(c.document([each for each in fields if each[0] not in extra]))
            return kept, None if total is None else total.python()
        except Unreadable as error:
            raise not_importable(where, error) from None
