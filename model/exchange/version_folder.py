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
from model.exchange.file_names import file_name, folder_name, version_file_name
from model.exchange.history_origin import HistoryOrigin, history_origin
from model.exchange.kept_version import KeptVersion, kept_version
from model.foundation.input_files import whole_input
from model.foundation.records import Checkpoint
from model.text.file_documents import LONGEST_LINE, decoded
from model.text.names import id_name, version_name

ORIGIN = "palimpsest-history.json"


class FolderExport(Struct):
    """An export into a folder while it is written."""

    folder: Path
    written: int = 0
    other: list[str] = field(default_factory=list)  # versions that differ in the folder
    _ours: set[Path] = field(default_factory=set)  # files of the current document that this export wrote

    def add(self, kept: KeptVersion) -> bool:
        """Write one version; False if the folder already has it."""
        place = self.folder / folder_name(kept.id) / file_name(kept.id)
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
    said = folder / ORIGIN
    try:
        if said.is_file():
            there = VersionFolder.opened(folder).origin
            if there.ns != origin.ns:
                raise Refused(f"{folder} holds the history of {there.ns}; export {origin.ns} into another folder.")
        elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise Refused(f"{folder} is not empty, and no export wrote it; choose an empty folder.")
        else:
            folder.mkdir(parents=True, exist_ok=True)
            _put(said, _encoded(origin.document))
    except OSError as error:
        raise Refused(f"{folder} cannot be written ({error.strerror}); choose another place.") from None
    yield FolderExport(folder)


def _encoded(document: bytes) -> bytes:
    return (text.to_text(document, indent=2) + "\n").encode("utf-8", "backslashreplace")


def _put(path: Path, data: bytes) -> None:
    """Write a file completely or not at all."""
    aside = path.with_name(f".{path.name}.part")
    aside.write_bytes(data)
    os.replace(aside, path)


class VersionFolder(Struct, frozen=True):
    """The versions in a folder that an export wrote."""

    folder: Path
    origin: HistoryOrigin

    @classmethod
    def opened(cls, folder: Path) -> VersionFolder:
        """The history in a folder; raises ``Refused`` if there is none."""
        try:
            return cls(folder, history_origin(_document(folder / ORIGIN)))
        except NotFound:
            raise Refused(f"{folder} holds no history that an export wrote; give another folder.") from None

    def refs(self) -> Iterator[tuple[KeptVersion, str]]:
        """Each version and its file."""
        for path in sorted(self.folder.glob("*/*/*.json")):
            yield _version(path), str(path)

    def read(self, refs: Sequence[str]) -> Iterator[KeptVersion]:
        """The versions in some files."""
        return (_version(Path(ref)) for ref in refs)


def _version(path: Path) -> KeptVersion:
    try:
        return kept_version(_document(path))
    except Unreadable as error:
        said = str(error).rstrip(".")
        raise Unreadable(f"{path} cannot be imported: {said}; export the history again.") from None


def _document(path: Path) -> bytes:
    try:
        return text.from_text(decoded(whole_input(path, LONGEST_LINE)))
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}; check its name.") from None
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror or error}).") from None
