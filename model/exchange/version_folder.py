"""A history as a folder: a folder for each document with a file for each version, and a file on its origin.

Each file is a :class:`.KeptVersion` as indented Extended JSON.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field

from model import text
from model.errors import NotFound, Refused, Unreadable
from model.exchange.export_total import ExportTotal
from model.exchange.file_names import file_name, folder_name, version_file_name
from model.exchange.history_origin import HistoryOrigin, history_origin
from model.exchange.kept_version import KeptVersion, kept_version, not_importable
from model.foundation.input_files import whole_input
from model.foundation.records import Checkpoint
from model.text.file_documents import LONGEST_LINE, decoded
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

ORIGIN = "palimpsest-history.json"
_TOTAL = "total"  # the last field of the file on the origin, once an export is finished


class FolderExport(Struct):
    """An export into a folder while it is written."""

    folder: Path
    total: ExportTotal  # of all versions in the folder
    written: int = 0
    other: list[str] = field(default_factory=list)  # versions that differ in the folder
    _ours: set[Path] = field(default_factory=set)  # files of the current document that this export wrote

    def add(self, kept: KeptVersion) -> bool:
        """Write one version; False if the folder already has it."""
        place = self.folder / _place(kept.id)
        data = _encoded(kept.document)
        path = place / f"{_name(kept)}.json"
        if path in self._ours:  # two versions are stored under one number
            path = place / f"{_name(kept, kept.document)}.json"
        try:
            place.mkdir(parents=True, exist_ok=True)
            there = path.read_bytes() if path.exists() else None
            if there is None:
                _put(path, data)
        except OSError as error:
            raise Refused(f"{path} cannot be written ({error.strerror}); make room or choose another place.") from None
        self._ours = {each for each in self._ours if each.parent == place} | {path}
        if there is not None:
            if there != data:
                self.other.append(f"{version_name(kept.v)} of {id_name(kept.id)}")
            return False
        self.written += 1
        self.total.add(kept.proof)
        return True


def _name(kept: KeptVersion, twice: bytes | None = None) -> str:
    if kept.v is None:
        after = kept.gap.removesuffix(".").rpartition(" ")[2]
        return f"deleted-after-{after}" if after.isalnum() else "deleted"
    return version_file_name(kept.v, twice)


@contextmanager
def folder_export(folder: Path, origin: HistoryOrigin, step: Checkpoint) -> Iterator[FolderExport]:
    """Export into an empty folder, or one with an earlier export of this collection.

    Raises ``Refused`` for any other folder.
    """
    said, total = folder / ORIGIN, ExportTotal()
    try:
        if said.is_file():
            there = VersionFolder.opened(folder)
            if there.origin.ns != origin.ns:
                raise Refused(
                    f"{folder} holds the history of {there.origin.ns}; export {origin.ns} into another folder."
                )
            origin = there.origin
            for done, (kept, _) in enumerate(there.versions(), 1):
                step(done, None)
                total.add(kept.proof)
        elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise Refused(f"{folder} is not empty, and no export wrote it; choose an empty folder.")
        else:
            folder.mkdir(parents=True, exist_ok=True)
            _put(said, _encoded(origin.document))
    except OSError as error:
        raise Refused(f"{folder} cannot be written ({error.strerror}); choose another place.") from None
    yield FolderExport(folder, total)
    try:
        _put(said, _encoded(c.document([*c.fields(origin.document), (_TOTAL, Value.of(total.said))])))
    except OSError as error:
        raise Refused(f"{said} cannot be written ({error.strerror}); make room and export again.") from None


def _encoded(document: bytes) -> bytes:
    return (text.to_text(document, indent=2) + "\n").encode("utf-8", "backslashreplace")


def _put(path: Path, data: bytes) -> None:
    """Write a file completely or not at all; only its owner can read it."""
    aside = path.with_name(f".{path.name}.part")
    aside.unlink(missing_ok=True)
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
    os.replace(aside, path)


class VersionFolder(Struct, frozen=True):
    """The versions in a folder that an export wrote."""

    folder: Path
    origin: HistoryOrigin
    total: object  # as the export said it; None if it was not finished

    @classmethod
    def opened(cls, folder: Path) -> VersionFolder:
        """The history in a folder; raises ``Refused`` if there is none."""
        try:
            said = c.fields(_document(folder / ORIGIN))
        except NotFound:
            raise Refused(f"{folder} holds no history that an export wrote; give another folder.") from None
        origin = c.document([each for each in said if each[0] != _TOTAL])
        total = dict(said).get(_TOTAL)
        return cls(folder, history_origin(origin, folder / ORIGIN), total.python() if total is not None else None)

    def refs(self) -> Iterator[tuple[KeptVersion, str]]:
        """Each version and its file."""
        total = ExportTotal()
        for kept, path in self.versions():
            total.add(kept.proof)
            yield kept, path
        total.check(self.total, self.folder)

    def versions(self) -> Iterator[tuple[KeptVersion, str]]:
        """Each version and its file, also of an export that was not finished."""
        for path in sorted(self.folder.rglob("*.json")):
            if path != self.folder / ORIGIN:
                yield self._version(path), str(path)

    def read(self, refs: Sequence[str]) -> Iterator[KeptVersion]:
        """The versions in some files."""
        return (self._version(Path(ref)) for ref in refs)

    def _version(self, path: Path) -> KeptVersion:
        try:
            kept = kept_version(_document(path))
            names = (_name(kept), _name(kept, kept.document) if kept.v is not None else "")
            if path.parent != self.folder / _place(kept.id) or path.name not in [f"{name}.json" for name in names]:
                raise Unreadable("it was moved or renamed since the export")
            return kept
        except Unreadable as error:
            raise not_importable(path, error) from None


def _place(id: Value) -> Path:
    """The folder of a document within an export."""
    return Path(folder_name(id), file_name(id))


def _document(path: Path) -> bytes:
    try:
        return text.from_text(decoded(whole_input(path, LONGEST_LINE)))
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}; check its name.") from None
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror or error}).") from None
