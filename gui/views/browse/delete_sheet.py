"""The question before several documents are deleted: each of them with its version, and what stays."""

from __future__ import annotations

from collections.abc import Hashable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from gui.language import tr, translated
from gui.paging import RowsModel
from gui.style import theme, wording
from gui.style.cells import Cell, CellTree, Index, plain, value
from gui.style.sheet import Sheet
from gui.style.states import StateStack, button, words
from model.session import Deleted, DeletionPlan

MANY = 25  # documents for which the name of the collection is typed


class DeletedModel(RowsModel[Deleted]):
    """The documents of a plan."""

    headers = (tr("Document"), tr("Version"), tr("Dry run"))

    def key(self, row: Deleted) -> Hashable:
        return row.id

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        if index.column() == 0:
            return value(wording.plain(row.id), middle=True, indent=8)
        if index.column() == 1:
            return value(row.version, "text2")
        if row.why_not:
            return plain(tr("Stays: {why_not}", why_not=row.why_not), "warn", icon="minus", icon_token="warn")
        return plain(tr("Would be deleted"), "text2", icon="check-bold")


class DeleteSheet(Sheet):
    """Shows the plan once it is read; ``agreed`` carries it. The focus is on Cancel."""

    agreed = Signal(object)  # DeletionPlan

    def __init__(self, parent: QWidget, ns: str, count: int, production: bool) -> None:
        super().__init__(parent, 640)
        self._name = ns.partition(".")[2]
        self._asks = production or count > MANY
        self._plan: DeletionPlan | None = None
        title = tr("Delete {documents} of {ns}?", documents=wording.many(count, "document"), ns=ns)
        self.setAccessibleName(title)
        self.model = DeletedModel()
        self.list = CellTree(row_height=24)
        self.list.as_list(self.model, tr("Documents that would be deleted"), (220, 90))
        self.states = StateStack(self.list)
        self.states.setMinimumHeight(self.fitting(28 + 24 * 9, 320))
        self.report = words("", "second", wrap=True)
        self.field = QLineEdit()
        self.ask = QLabel(tr("Type {name} to go on", name=self._name))
        self.field.setAccessibleName(self.ask.text())
        self.ask.setBuddy(self.field)
        self.field.textChanged.connect(self._fit)
        self.cancel = button(tr("Cancel"), self.reject)
        self.delete = button(
            tr("Delete {documents}", documents=wording.many(count, "document")),
            self._agree,
            "danger",
            icon="trash",
            token="surface",
        )
        self.delete.setEnabled(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(8))
        column.addWidget(words(title, "title", wrap=True))
        column.addWidget(self.states, 1)
        column.addWidget(self.report)
        if self._asks:
            column.addWidget(self.ask)
            column.addWidget(self.field)
        foot = QHBoxLayout()
        foot.setSpacing(theme.px(8))
        foot.addWidget(words(tr("Nothing has been written yet."), "hint"))
        foot.addStretch(1)
        foot.addWidget(self.cancel)
        foot.addWidget(self.delete)
        column.addSpacing(theme.px(8))
        column.addLayout(foot)
        self.states.show_loading(tr("Reading the documents"), self.reject)

    def first(self) -> QWidget | None:
        return self.cancel

    def show_plan(self, plan: DeletionPlan) -> None:
        """Show what would become of each document."""
        self._plan = plan
        self.model.fill(plan.items)
        going, staying = len(plan.going), len(plan.items) - len(plan.going)
        stays = f", {wording.many(staying, 'document stays', 'documents stay')}" if staying else ""
        self.report.setText(
            tr(
                "{documents} would be deleted{stays}. Each goes only if it is still as listed here. {kept} "
                "Undo brings all of them back.",
                documents=wording.many(going, "document"),
                stays=stays,
                kept=translated(plan.kept),
            )
        )
        self.delete.setText(tr("Delete {documents}", documents=wording.many(going, "document")))
        self.states.show_content()
        self._fit()

    def show_failed(self, error: BaseException) -> None:
        """Say why there is no plan."""
        self.states.show_failed(error, None, tr("The documents could not be read"))

    def _fit(self) -> None:
        typed = not self._asks or self.field.text().strip() == self._name
        self.delete.setEnabled(self._plan is not None and bool(self._plan.going) and typed)

    def _agree(self) -> None:
        plan = self._plan
        if plan is not None and self.delete.isEnabled():
            self.accept()
            self.agreed.emit(plan)
