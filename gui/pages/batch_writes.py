"""Deleting or inserting several documents from one page: a plan is shown, then run, then offered for undo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from gui import messages, tasks
from gui.language import tr, translated
from gui.style import wording
from gui.views.browse.delete_sheet import DeleteSheet
from gui.views.browse.history_in_sheet import HistoryInSheet, HistoryPlaceSheet
from gui.views.browse.insert_sheet import InsertSheet
from model.foundation.records import Kind, Outcome
from model.session import Session
from model.session.batch_writing import DeletionPlan, Documents, InsertionPlan, Run
from model.session.data_exchange import ImportPlan
from model.text.file_documents import documents_of
from model.values.canonical import Value

FILES = tr("Documents (*.json *.jsonl *.ndjson *.csv *.bson *.gz);;All files (*)")
HISTORIES = tr("Lines of JSON (*.jsonl);;All files (*)")
WHOLE = "", True
"""Undo of a run when nothing is known that cannot be undone."""
_STAYED: dict[Kind, str] = {
    "conflict": tr("changed meanwhile and stayed"), "refused": tr("refused"), "skipped": tr("skipped")
}  # fmt: skip


class BatchWrites(QObject):
    """The batch writes of one page."""

    def __init__(self, session: Session, ns: str, page: QWidget, production: bool = False) -> None:
        super().__init__(page)
        self._session, self._ns, self._page = session, ns, page
        self._production = production

    # --- delete

    def delete(self, ids: Sequence[Value]) -> DeleteSheet:
        """Show what deleting documents would do; delete them once agreed."""
        session, ns = self._session, self._ns
        sheet = DeleteSheet(self._page, ns, len(ids), self._production)
        sheet.agreed.connect(self._delete)
        task = tasks.run(
            lambda progress: session.batches.deletion(ns, ids, progress),
            done=sheet.show_plan,
            failed=sheet.show_failed,
            owner=sheet,
            title=tr("Reading {documents}", documents=wording.many(len(ids), "document")),
        )
        task.progressed.connect(sheet.states.progress)
        sheet.finished.connect(task.cancel)
        sheet.open()
        return sheet

    def _delete(self, plan: DeletionPlan) -> None:
        session = self._session
        self._carry_out(
            lambda progress: session.batches.delete(plan, progress, confirmed=True),
            "deleted",
            tr("Deleting {documents} of {ns}", documents=wording.many(len(plan.going), "document"), ns=self._ns),
        )

    # --- insert

    def pick_file(self) -> None:
        """Ask for a file, then import it."""
        path, _ = QFileDialog.getOpenFileName(self._page, tr("Import into {ns}", ns=self._ns), "", FILES)
        if path:
            self.read_file(path)

    def read_file(self, path: str) -> InsertSheet:
        """Show what importing a file would do; import it once agreed."""
        return self.insert(lambda: documents_of(Path(path)), path)

    def insert(self, documents: Documents, source: str) -> InsertSheet:
        """Show what inserting documents would do; insert them once agreed."""
        session, ns = self._session, self._ns
        sheet = InsertSheet(self._page, ns, source, self._production)
        sheet.agreed.connect(partial(self._insert, documents))
        task = tasks.run(
            lambda progress: session.batches.insertion(ns, documents, progress),
            done=sheet.show_plan,
            failed=sheet.show_failed,
            owner=sheet,
            title=tr("Reading {source}", source=source),
        )
        task.progressed.connect(sheet.states.progress)
        sheet.finished.connect(task.cancel)
        sheet.open()
        return sheet

    def _insert(self, documents: Documents, plan: InsertionPlan) -> None:
        session, ns = self._session, self._ns
        self._carry_out(
            lambda progress: session.batches.insert(ns, documents, progress, confirmed=True, total=plan.documents),
            "inserted",
            tr("Inserting {documents} into {ns}", documents=wording.many(plan.would, "document"), ns=ns),
        )

    # --- histories

    def pick_history(self) -> HistoryPlaceSheet:
        """Ask for the collection and the files of a history, then import it."""
        sheet = HistoryPlaceSheet(self._page, self._ns)
        sheet.chosen.connect(self._pick_history)
        sheet.open()
        return sheet

    def _pick_history(self, ns: str, folder: bool) -> None:
        title = tr("Import a history into {ns}", ns=ns)
        if folder:
            path = QFileDialog.getExistingDirectory(self._page, title)
        else:
            path, _ = QFileDialog.getOpenFileName(self._page, title, "", HISTORIES)
        if path:
            self.read_history(ns, path)

    def read_history(self, ns: str, path: str) -> HistoryInSheet:
        """Show what importing a history would do; import it once agreed."""
        session = self._session
        sheet = HistoryInSheet(self._page, ns, path, self._production)
        sheet.agreed.connect(partial(self._import_history, ns, path))
        task = tasks.run(
            lambda progress: session.exchange.history_import(ns, path).plan(progress),
            done=sheet.show_plan,
            failed=sheet.show_failed,
            owner=sheet,
            title=tr("Reading {source}", source=path),
        )
        task.progressed.connect(sheet.states.progress)
        sheet.finished.connect(task.cancel)
        sheet.open()
        return sheet

    def _import_history(self, ns: str, path: str, plan: ImportPlan) -> None:
        session = self._session
        self._carry_out(
            lambda progress: session.exchange.history_import(ns, path).apply(progress, confirmed=True),
            "imported",
            tr("Importing {documents} into {ns}", documents=wording.many(plan.would, "document"), ns=ns),
        )

    # --- the run

    def _carry_out(self, begin: Callable[[tasks.Progress], Run], done: str, title: str) -> None:
        session, held = self._session, list[Run]()

        def write(progress: tasks.Progress) -> tuple[str, bool]:
            held.append(begin(progress))
            for _ in held[0]:
                pass
            return session.way_back.lacking(held[0].id)

        task = tasks.run(
            write,
            done=partial(self._ended, held, done, ""),
            failed=partial(self._failed, held, done),
            cancelled=partial(self._ended, held, done, tr("Stopped: "), WHOLE),
            owner=self,
            title=title,
        )
        line = messages.note(self._page, title, [(tr("Stop"), task.cancel)])
        task.finished.connect(line.leave)

    def _failed(self, held: list[Run], done: str, error: BaseException) -> None:
        messages.fail(self._page, error)
        if held and held[0].done:
            self._ended(held, done, tr("Before that "), WHOLE)

    def _ended(self, held: list[Run], done: str, before: str, way_back: tuple[str, bool]) -> None:
        lacking, way = way_back
        run = held[0] if held else None
        outcomes = run.done if run is not None else []
        said = f"{before}{report(outcomes, done)}"
        way = way and any(outcome.kind == "applied" for outcome in outcomes)
        undo = partial(self._undo, run.id) if run is not None and way else None
        if lacking:
            said = f"{said.rstrip('.')}. {translated(lacking)}"
        elif all(outcome.kind == "applied" for outcome in outcomes):
            messages.tell_of_run(self._page, said, undo)
            return
        messages.note(self._page, said, messages.run_choices(undo))

    def _undo(self, run: str) -> None:
        session = self._session
        task = tasks.run(
            lambda progress: list(session.way_back.undo_run(run, progress)),
            done=self._undone,
            failed=partial(messages.fail, self._page),
            owner=self,
            title=tr("Undoing"),
        )
        line = messages.note(self._page, tr("Undoing"), [(tr("Stop"), task.cancel)])
        task.finished.connect(line.leave)

    def _undone(self, outcomes: list[Outcome]) -> None:
        said = tr("Undone: {report}", report=report(outcomes, tr("as before")))
        if all(outcome.kind == "applied" for outcome in outcomes):
            messages.tell(self._page, said)
        else:
            messages.note(self._page, said)


def report(outcomes: Sequence[Outcome], done: str) -> str:
    """A run's outcomes in a sentence: the number of each kind, with the first reason."""
    counts = Counter(outcome.kind for outcome in outcomes)
    parts = [f"{wording.many(counts['applied'], 'document')} {done}"]
    parts += [f"{wording.count(counts[kind])} {said}" for kind, said in _STAYED.items() if counts[kind]]
    if counts["unknown"]:
        parts.append(tr("{counts} unknown, the journal can look again", counts=wording.count(counts["unknown"])))
    first = next((translated(outcome.detail) for outcome in outcomes if outcome.kind not in ("applied", "unknown")), "")
    return ", ".join(parts) + (f". {first}" if first else "")
