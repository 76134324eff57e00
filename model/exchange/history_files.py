"""A history in files of any form: :func:`export_history` writes it, :func:`history_files` opens it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from model.checks.external_sort import ExternalSort
from model.errors import NotFound
from model.exchange import git_program
from model.exchange.git_history import GitHistory, git_export
from model.exchange.history_origin import HistoryOrigin
from model.exchange.kept_version import KeptVersion, kept_versions
from model.exchange.version_folder import VersionFolder, folder_export
from model.exchange.version_lines import VersionLines, lines_export
from model.foundation.records import Checkpoint, no_checkpoint
from model.layouts.base import Layout
from model.layouts.history_batches import together
from model.storage.reserved_fields import place_of
from model.values.canonical import Value

Form: TypeAlias = Literal["git", "folder", "jsonl"]
TOGETHER = 10_000  # versions without contents that are sorted in memory


class HistoryFiles(Protocol):
    """The versions in files of an export. Raises ``Unreadable`` for what cannot be read."""

    @property
    def origin(self) -> HistoryOrigin:
        """The collection that they come from."""

    def refs(self) -> Iterator[tuple[KeptVersion, Any]]:
        """Each version, with or without its content, and a plain value with which :meth:`read` finds it."""

    def read(self, refs: Sequence[Any]) -> Iterator[KeptVersion]:
        """The versions for these values, with contents."""


class HistoryExport(Protocol):
    """An export while it is written."""

    written: int
    other: list[str]
    """The names of the versions that differ in an earlier export, and stay there as they are."""

    def add(self, kept: KeptVersion) -> bool:
        """Take one version; False if an earlier export already has it."""


_FORMS: dict[Form, Callable[[Path, HistoryOrigin, Checkpoint], AbstractContextManager[HistoryExport]]] = {
    "git": git_export,
    "folder": folder_export,
    "jsonl": lines_export,
}


class ExportedDocument(Struct, frozen=True):
    """One document of an export: the number of its versions, and of those that are new in the files."""

    id: Value
    versions: int
    written: int


class ExportedHistory(Struct):
    """An export while it is made: iterate over it once, to get each document. The totals are known afterwards."""

    layout: Layout
    ids: Iterable[Value]
    path: Path
    form: Form
    checkpoint: Checkpoint = no_checkpoint
    documents: int = 0
    versions: int = 0
    written: int = 0
    left: tuple[str, ...] = ()  # sentences on what was left out
    other: tuple[str, ...] = ()  # names of the versions that differ in the files

    def __iter__(self) -> Iterator[ExportedDocument]:
        """Write one document after another. Only in a folder do files appear before all are written."""
        left: list[str] = []
        with _FORMS[self.form](self.path, HistoryOrigin.of(self.layout), self.checkpoint) as into:
            for id, layout in together(self.layout, self.ids):
                several, before = 0, into.written
                try:
                    for kept in kept_versions(layout, id, left):
                        self.checkpoint(self.versions, None)
                        into.add(kept)
                        several, self.versions = several + 1, self.versions + 1
                except NotFound:  # deleted since it was listed
                    continue
                self.documents += 1
                yield ExportedDocument(id, several, into.written - before)
        self.written, self.left, self.other = into.written, tuple(left), tuple(into.other)


def history_files(path: Path) -> HistoryFiles:
    """The history in a folder or file; raises ``Refused`` if there is none, ``NotFound`` if the path does not exist."""
    if not path.is_dir():
        return VersionLines.opened(path)
    if git_program.repository(path) is not None:
        return GitHistory.opened(path)
    return VersionFolder.opened(path)


def by_document(files: HistoryFiles, step: Checkpoint) -> Iterator[tuple[Value, list[Any]]]:
    """The documents of a history; for each, the values with which :meth:`HistoryFiles.read` finds its versions,
    oldest first.

    Versions are sorted by number; a deletion without a number is last.
    """
    with ExternalSort(TOGETHER) as versions:
        for done, (kept, ref) in enumerate(files.refs(), 1):
            step(done, None)
            versions.add(_key(kept), (kept.id.type, kept.id.data, ref))
        id: Value | None = None
        refs: list[Any] = []
        for _, rows in versions.groups():
            for kind, data, ref in rows:
                its = Value(kind, data)
                if id is not None and its != id:
                    yield id, refs
                    refs = []
                id = its
                refs.append(ref)
        if id is not None:
            yield id, refs


def _key(kept: KeptVersion) -> bytes:
    """Sorts versions by document, then number; equal ones stay in their order."""
    id, place = kept.id, place_of(kept.v)
    number = 2**64 - 1 if kept.v is None else 2**63 + place if place is not None else 0
    return bytes([id.type]) + len(id.data).to_bytes(4) + id.data + number.to_bytes(9)
