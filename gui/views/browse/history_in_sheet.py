"""The question before a history is imported: where it goes, and what would happen to each document."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gui.language import tr, translated
from gui.paging import RowsModel
from gui.style import theme, wording
from gui.style.cells import Cell, CellTree, Index, plain, value
from gui.style.sheet import Sheet
from gui.style.states import PlainLabel, button, words
from gui.views.browse.plan_sheet import PlanSheet
from model.session.data_exchange import ArrivingDocument, ImportPlan


class HistoryPlaceSheet(Sheet):
    """Asks for the collection that receives a history; ``chosen`` carries it, and whether a folder is to be picked."""

    chosen = Signal(str, bool)

    def __init__(self, parent: QWidget, ns: str) -> None:
        super().__init__(parent, 560)
        self.setAccessibleName(tr("Import history"))
        self.place = QLineEdit(ns)
        self.place.setProperty("mono", True)
        named = PlainLabel(tr("Into the collection"))
        named.setBuddy(self.place)
        self.place.setAccessibleName(named.text())
        self.folder = button(tr("From a repository or folder…"), partial(self._choose, True), "main")
        self.file = button(tr("From a file…"), partial(self._choose, False))
        foot = QHBoxLayout()
        foot.setSpacing(theme.px(8))
        foot.addStretch(1)
        foot.addWidget(button(tr("Cancel"), self.reject))
        foot.addWidget(self.file)
        foot.addWidget(self.folder)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(12))
        column.addWidget(words(tr("Import history"), "title"))
        about = tr("What was exported comes back with its ids, versions, times, authors and reasons.")
        further = tr("A collection that is not there yet gets the layout of the exported one.")
        column.addWidget(words(f"{about} {further}", "second", wrap=True))
        column.addWidget(named)
        column.addWidget(self.place)
        column.addLayout(foot)
        self.place.textChanged.connect(self._fit)

    def first(self) -> QWidget | None:
        return self.place

    def _fit(self) -> None:
        db, dot, name = self.place.text().strip().partition(".")
        for one in (self.folder, self.file):
            one.setEnabled(bool(db and dot and name))

    def _choose(self, folder: bool) -> None:
        self.accept()
        self.chosen.emit(self.place.text().strip(), folder)


class ArrivingModel(RowsModel[ArrivingDocument]):
    """The documents of a plan."""

    headers = (tr("Document"), tr("Dry run"))

    def key(self, row: ArrivingDocument) -> Hashable:
        return row.id

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        if index.column() == 0:
            return value(wording.plain(row.id), middle=True, indent=8)
        said = translated(row.detail)
        if row.kind == "applied":
            return plain(tr("Would be imported: {said}", said=said), "text2", icon="check-bold")
        return plain(said, "text2" if row.kind == "skipped" else "warn")


class HistoryInSheet(PlanSheet):
    """Shows what importing a history would do, once it was read entirely."""

    def __init__(self, parent: QWidget, ns: str, source: str, production: bool) -> None:
        super().__init__(parent, 720, ns, tr("Import a history into {ns}", ns=ns))
        self.model = ArrivingModel()
        self.list = CellTree(row_height=24)
        self.list.as_list(self.model, tr("Documents of the history"), (260,))
        self._build(self.list, 11, button(tr("Import"), None, "main"), typed=production, source=source)

    def show_plan(self, plan: ImportPlan) -> None:
        """Show what would happen to the documents."""
        self.model.fill(plan.first)
        said = [
            tr(
                "{documents} of {all} would be imported, {versions} in all.",
                documents=wording.many(plan.would, "document"),
                all=wording.count(plan.documents),
                versions=wording.many(plan.versions, "version"),
            )
        ]
        if plan.there:
            said.append(tr("There already: {count}.", count=wording.count(plan.there)))
        said += map(translated, plan.losses)
        said.append(tr("Each write is guarded; undo takes all of them back."))
        self.report.setText(" ".join(said))
        self.states.show_content()
        self._offer(plan, plan.would, tr("Import {documents}", documents=wording.many(plan.would, "document")))

    def show_failed(self, error: BaseException) -> None:
        """Say why there is no plan."""
        self.states.show_failed(error, None, tr("Nothing can be imported"))
