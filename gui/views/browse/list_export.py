"""Writing the listed documents to a file: every page of them, with progress in the status line and a way to stop."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from gui import copying, messages, tasks
from gui.style import wording
from gui.views.browse.query import Query
from model.session import Session
from model.text.row_file import ENDINGS, Written

KINDS = ("Lines of Extended JSON (*.jsonl)", "BSON, as mongodump writes it (*.bson)")


class ListExport(QObject):
    """Exports for one page."""

    def __init__(self, session: Session, ns: str, page: QWidget) -> None:
        super().__init__(page)
        self._session, self._ns, self._page = session, ns, page
        self.task: tasks.Task | None = None

    def ask(self, query: Query) -> None:
        """Ask for a file, then write the documents that a query lists to it."""
        name = f"{self._ns.partition('.')[2]}.jsonl".replace("/", "-")
        path, kind = QFileDialog.getSaveFileName(self._page, "Export the listed documents", name, ";;".join(KINDS))
        if path:
            self.write(query, _ending(path, kind))

    def write(self, query: Query, path: str) -> None:
        """Write the documents that a query lists to a file."""
        session, ns = self._session, self._ns

        def work(progress: tasks.Progress) -> Written:
            return session.export(ns, path, query.filter, query.sort, query.any_version, progress)

        self.task = task = tasks.run(
            work,
            done=self._done,
            failed=self._failed,
            cancelled=self._stopped,
            owner=self,
            title=f"Exporting {ns}",
        )
        line = messages.note(self._page, f"Exporting {ns} to {path}", [("Stop", task.cancel)])
        task.finished.connect(line.leave)

    def _done(self, written: Written) -> None:
        said = (
            f"{wording.many(written.documents, 'document')}, {wording.size(written.bytes)}, written to {written.path}"
        )
        if written.left_out:
            left = wording.many(written.left_out, "document does", "documents do")
            messages.note(self._page, f"{said}; {left} not decode and were left out.")
            return
        copy = partial(copying.put, str(written.path))
        messages.tell(self._page, said, None, [("Copy the path", copy)])

    def _failed(self, error: BaseException) -> None:
        messages.fail(self._page, error)

    def _stopped(self) -> None:
        messages.tell(self._page, f"The export of {self._ns} was stopped; no file was written")


def _ending(path: str, kind: str) -> str:
    """The path with the ending of the kind that was chosen, where it has none."""
    if path.lower().endswith((*ENDINGS, ".json", ".ndjson")):
        return path
    return path + (".bson" if kind == KINDS[1] else ".jsonl")
