"""The question before several documents are deleted: each with its version, and what stays."""

from __future__ import annotations

from collections.abc import Hashable

from PySide6.QtWidgets import QWidget

from gui.language import tr, translated
from gui.paging import RowsModel
from gui.style import wording
from gui.style.cells import Cell, CellTree, Index, plain, value
from gui.style.states import button
from gui.views.browse.plan_sheet import PlanSheet
from model.session.batch_writing import Deleted, DeletionPlan

MANY = 25  # above this number, the collection's name has to be typed


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
            said = tr("Stays: {why_not}", why_not=translated(row.why_not))
            return plain(said, "warn", icon="minus", icon_token="warn")
        return plain(tr("Would be deleted"), "text2", icon="check-bold")


class DeleteSheet(PlanSheet):
    """Shows what deleting some documents would do."""

    def __init__(self, parent: QWidget, ns: str, count: int, production: bool) -> None:
        documents = wording.many(count, "document")
        super().__init__(parent, 640, ns, tr("Delete {documents} of {ns}?", documents=documents, ns=ns))
        self.model = DeletedModel()
        self.list = CellTree(row_height=24)
        self.list.as_list(self.model, tr("Documents that would be deleted"), (220, 90))
        delete = button(tr("Delete {documents}", documents=documents), None, "danger", icon="trash", token="surface")
        self._build(self.list, 9, delete, typed=production or count > MANY)

    def show_plan(self, plan: DeletionPlan) -> None:
        """Show what would happen to each document."""
        self.model.fill(plan.items)
        going, staying = len(plan.going), len(plan.items) - len(plan.going)
        stays = f", {wording.many(staying, 'document stays', 'documents stay')}" if staying else ""
        documents = wording.many(going, "document")
        self.report.setText(
            tr(
                "{documents} would be deleted{stays}, each only if it is still as listed here. {kept} Undo "
                "brings all of them back.",
                documents=documents,
                stays=stays,
                kept=translated(plan.kept),
            )
        )
        self.states.show_content()
        self._give_up_room(len(plan.items))
        self._offer(plan, going, tr("Delete {documents}", documents=documents))

    def show_failed(self, error: BaseException) -> None:
        """Say why there is no plan."""
        self.states.show_failed(error, None, tr("The documents could not be read"))
