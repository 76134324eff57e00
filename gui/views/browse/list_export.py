"""Exports the listed documents to a file: all pages, with progress and Stop in the status line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from gui import copying, messages, tasks
from gui.language import tr
from gui.style import wording
from gui.views.browse.query import Query, listed
from model.foundation.records import Row
from model.session import Session

if TYPE_CHECKING:  # most lists show the present, and are exported by nobody
    from model.session.through_time import HistoryList
    from model.text.row_file import Written

KINDS = (
    tr("Lines of Extended JSON (*.jsonl)"),
    tr("CSV with the type of each column (*.csv)"),
    tr("BSON, as mongodump writes it (*.bson)"),
)


class ListExport(QObject):
    """The exports of one page."""

    def __init__(self, session: Session, ns: str, page: QWidget) -> None:
        super().__init__(page)
        self._session, self._ns, self._page = session, ns, page

    def ask(self, query: Query) -> None:
        """Ask for a file, then write the documents of a query to it."""
        if path := self._path(tr("Export the listed documents")):
            self.write(query, path)

    def ask_rows(self, rows: Sequence[Row], of: HistoryList | None = None) -> None:
        """Ask for a file, then write some listed documents to it; ``of`` is the list if it is one of the past."""
        if path := self._path(tr("Export {documents}", documents=wording.many(len(rows), "document"))):
            self.write_rows(rows, path, of)

    def _path(self, title: str) -> str:
        name = wording.file_name(self._ns.partition(".")[2], ".jsonl")
        path, kind = QFileDialog.getSaveFileName(self._page, title, name, ";;".join(KINDS))
        return _ending(path, kind) if path else ""

    def write(self, query: Query, path: str) -> None:
        """Write the documents of a query to a file."""
        session, ns, q = self._session, self._ns, query

        def export(progress: tasks.Progress) -> Written:
            if q.is_of_now:
                return session.exchange.export(ns, path, q.filter, q.sort, q.any_version, progress, q.skip, q.limit)
            return session.exchange.export_list(listed(session, ns, q), path, q.skip, q.limit, progress)

        self._start(export, path)

    def write_rows(self, rows: Sequence[Row], path: str, of: HistoryList | None = None) -> None:
        """Write some whole documents to a file."""
        session, ns = self._session, self._ns

        def export(progress: tasks.Progress) -> Written:
            if of is not None:
                return session.exchange.export_list(of.only(rows), path, checkpoint=progress)
            return session.exchange.export_rows(ns, path, rows, progress)

        self._start(export, path)

    def _start(self, work: Callable[[tasks.Progress], Written], path: str) -> None:
        task = tasks.run(
            work,
            done=self._done,
            failed=partial(messages.fail, self._page),
            cancelled=self._stopped,
            owner=self,
            title=tr("Exporting {ns}", ns=self._ns),
        )
        line = messages.note(
            self._page, tr("Exporting {ns} to {path}", ns=self._ns, path=path), [(tr("Stop"), task.cancel)]
        )
        task.finished.connect(line.leave)

    def _done(self, written: Written) -> None:
        said = tr(
            "{documents}, {bytes}, written to {path}",
            documents=wording.many(written.documents, "document"),
            bytes=wording.size(written.bytes),
            path=written.path,
        )
        losses = []
        if written.rearranged:
            which = wording.many(written.rearranged, "document has", "documents have")
            losses.append(tr("{which} another order of fields than the table", which=which))
        if written.left_out:
            which = wording.many(written.left_out, "document was", "documents were")
            losses.append(tr("{which} left out, as this form cannot hold them or they are gone", which=which))
        if written.formulas:
            which = wording.many(written.formulas, "cell begins", "cells begin")
            losses.append(tr("{which} with =, +, - or @, which spreadsheets take for formulas", which=which))
        if losses:
            messages.note(self._page, f"{said}; {tr(' and ').join(losses)}.")
            return
        copy = partial(copying.put, str(written.path))
        messages.tell(self._page, said, None, [(tr("Copy the path"), copy)])

    def _stopped(self) -> None:
        messages.tell(self._page, tr("The export of {ns} was stopped; no file was written", ns=self._ns))


def _ending(path: str, kind: str) -> str:
    """The path with the ending of the chosen format, if it has none."""
    from model.text.row_file import ENDINGS

    if path.lower().endswith((*ENDINGS, ".json", ".ndjson")):
        return path
    return path + {KINDS[1]: ".csv", KINDS[2]: ".bson"}.get(kind, ".jsonl")
