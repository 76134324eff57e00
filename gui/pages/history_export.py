"""Exports of histories from one page: first the format is asked for, then the place, then everything is written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from gui import copying, messages, tasks
from gui.language import tr, translated
from gui.style import wording
from gui.views.browse.history_out_sheet import HistoryOutSheet
from model.text.moments import Moment
from model.userdata import folders
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.session import Session
    from model.session.data_exchange import ExportedHistory, Form

T = TypeVar("T")


class HistoryExport(QObject):
    """The exports of histories from one page."""

    def __init__(self, session: Session, ns: str, page: QWidget) -> None:
        super().__init__(page)
        self._session, self._ns, self._page = session, ns, page

    def ask(self, id: Value | None = None) -> HistoryOutSheet:
        """Ask for a format, then export the history of one document, or of all."""
        if id is None:
            what = tr("Every version of every document of {ns}.", ns=self._ns)
        else:
            what = tr("Every version of {name}.", name=wording.plain(id))
        sheet = HistoryOutSheet(self._page, what, id is None)
        sheet.chosen.connect(partial(self._chosen, sheet, id))
        sheet.open()
        return sheet

    def _chosen(self, sheet: HistoryOutSheet, id: Value | None, form: str) -> None:
        name = wording.file_name(self._ns.partition(".")[2], "")
        if form == "report":
            since, until = sheet.since.moment, sheet.until.moment
            kind = tr("Web page (*.html)")
            path, _ = QFileDialog.getSaveFileName(self._page, tr("Write the report to"), f"{name}.html", kind)
            if path:
                self.report(path, id, since, until)
            return
        if form == "jsonl":
            kind = tr("Lines of JSON (*.jsonl)")
            path, _ = QFileDialog.getSaveFileName(self._page, tr("Export the history to"), f"{name}.jsonl", kind)
        else:
            path = QFileDialog.getExistingDirectory(self._page, tr("Export the history to an empty folder"))
        if path:
            self.write(path, "git" if form == "git" else "folder" if form == "folder" else "jsonl", id)

    def write(self, path: str, form: Form, id: Value | None = None) -> None:
        """Write the history of one document, or of all, to a place."""
        session, ns = self._session, self._ns

        def export(progress: tasks.Progress) -> ExportedHistory:
            made = session.exchange.export_history(ns, path, form, id, progress)
            for _ in made:
                pass
            return made

        self._start(export, self._written, path)

    def report(self, path: str, id: Value | None, since: Moment | None = None, until: Moment | None = None) -> None:
        """Write a report on one document, or on all within a span of time, to a file."""
        session, ns = self._session, self._ns

        def write(progress: tasks.Progress) -> str:
            if id is not None:
                made = session.time.report(ns, id, progress)
            else:
                first, last = (None if each is None else each.at for each in (since, until))
                made = session.time.report_of_span(ns, first, last, checkpoint=progress)
            folders.write(Path(path), made)
            return path

        self._start(write, self._reported, path)

    def _start(self, work: Callable[[tasks.Progress], T], done: Callable[[T], None], path: str) -> None:
        title = tr("Exporting the history of {ns}", ns=self._ns)
        task = tasks.run(
            work, done=done, failed=partial(messages.fail, self._page), cancelled=self._stopped, owner=self, title=title
        )
        line = messages.note(self._page, f"{title}: {path}", [(tr("Stop"), task.cancel)])
        task.finished.connect(line.leave)

    def _written(self, made: ExportedHistory) -> None:
        said = tr(
            "{versions} of {documents} written to {path}",
            versions=wording.many(made.written, "version"),
            documents=wording.many(made.documents, "document"),
            path=made.path,
        )
        losses = [translated(each) for each in made.left[:3]]
        if made.other:
            losses.append(tr("{count} are different there and were left alone.", count=wording.count(len(made.other))))
        if losses:
            messages.note(self._page, f"{said}; {' '.join(losses)}")
            return
        messages.tell(self._page, said, None, [(tr("Copy the path"), partial(copying.put, str(made.path)))])

    def _reported(self, path: str) -> None:
        said = tr("The report is in {path}", path=path)
        messages.tell(self._page, said, None, [(tr("Copy the path"), partial(copying.put, path))])

    def _stopped(self) -> None:
        messages.tell(self._page, tr("The export of the history of {ns} was stopped", ns=self._ns))
