"""The question before several documents are inserted: the fields and types that were read, and what is left out."""

from __future__ import annotations

from collections.abc import Hashable

from PySide6.QtWidgets import QWidget

from gui.language import tr, translated
from gui.paging import RowsModel
from gui.style import boxes, theme, wording
from gui.style.cells import Cell, CellTree, Index, plain, value
from gui.style.states import button
from gui.views.browse.plan_sheet import HEAD, ROW, PlanSheet
from model.session.batch_writing import InsertionPlan
from model.session.query_help import FieldUse

FIELDS, REASONS, GAP = 11, 3, 8  # rows of each list at most, and the gap between them


class ReadFields(RowsModel[FieldUse]):
    """The fields of the documents read."""

    headers = (tr("Field"), tr("Types"), tr("In"))

    def __init__(self) -> None:
        super().__init__()
        self.own: frozenset[str] = frozenset()

    def key(self, row: FieldUse) -> Hashable:
        return row.path

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        left = row.path.partition(".")[0] in self.own
        if index.column() == 0:
            return value(row.path, "text3" if left else "text", indent=8)
        if index.column() == 1:
            return plain(tr("left out: the layout's own") if left else row.kinds, "text3" if left else "text2")
        return plain(wording.many(row.documents, "document"), "text2")


class StayOut(RowsModel[tuple[str, str]]):
    """The documents that would not be inserted, with the reasons."""

    headers = (tr("Document"), tr("Why it stays out"))

    def key(self, row: tuple[str, str]) -> Hashable:
        return row

    def cell(self, index: Index) -> Cell:
        name, why = self.rows[index.row()]
        return value(name, middle=True, indent=8) if index.column() == 0 else plain(translated(why), "warn")


class InsertSheet(PlanSheet):
    """Shows what inserting documents would do, once all were read."""

    def __init__(self, parent: QWidget, ns: str, source: str, production: bool) -> None:
        super().__init__(parent, 720, ns, tr("Import into {ns}", ns=ns))
        self.fields, self.staying = ReadFields(), StayOut()
        self.list, self.reasons = CellTree(row_height=ROW), CellTree(row_height=ROW)
        self.list.as_list(self.fields, tr("Fields that were read"), (290, 230))
        self.reasons.as_list(self.staying, tr("Documents that stay out"), (220,))
        content = QWidget()
        inside = boxes.column(content)
        inside.addWidget(self.list)
        inside.addSpacing(theme.px(GAP))
        inside.addWidget(self.reasons)
        inside.addStretch(1)
        self._build(content, FIELDS, button(tr("Insert"), None, "main"), typed=production, source=source)

    def _place(self) -> None:
        self._share_room()
        super()._place()

    def _share_room(self) -> None:
        """Give each list whole rows: a few to the reasons, and to the fields as many as fit."""
        if self._plan is None:
            return
        row = theme.px(ROW)
        room = min(theme.px(HEAD + ROW * FIELDS), self._host.height() - 2 * self._edge - self._beside())
        below = 0
        if self.staying.rows:
            most = max(1, (room // 2 - theme.px(HEAD)) // row)
            self.reasons.setFixedHeight(theme.px(HEAD) + row * min(len(self.staying.rows), REASONS, most))
            below = self.reasons.height() + theme.px(GAP)
        rows = max(1, (room - below - theme.px(HEAD)) // row)
        self.list.setFixedHeight(theme.px(HEAD) + row * min(rows, FIELDS))
        self.states.setFixedHeight(self.list.height() + (below or theme.px(GAP)))

    def _beside(self) -> int:
        """The height of everything but the lists, in pixels."""
        return self._least(self.room).height() - self.states.minimumHeight()

    def show_plan(self, plan: InsertionPlan) -> None:
        """Show what would happen to the documents."""
        self.fields.own = frozenset(plan.own)
        self.fields.fill(plan.fields.fields)
        self.staying.fill(plan.reasons)
        self.reasons.setVisible(bool(plan.reasons))
        said = [
            tr(
                "{documents} of {documents2} would be inserted.",
                documents=wording.many(plan.would, "document"),
                documents2=wording.count(plan.documents),
            )
        ]
        if plan.taken:
            had = wording.many(plan.taken, "document has", "documents have")
            said.append(tr("{had} an id that is taken: the document that has it stays as it is.", had=had))
        if plan.unfit:
            said.append(tr("{documents} cannot be stored here.", documents=wording.many(plan.unfit, "document")))
        said += [translated(plan.begins), tr("Each is one guarded write; undo takes all of them back.")]
        self.report.setText(" ".join(filter(None, said)))
        if plan.documents:
            self.states.show_content()
        else:
            self.states.show_empty(tr("There is no document in it"), tr("Choose another file."))
        self._offer(plan, plan.would, tr("Insert {documents}", documents=wording.many(plan.would, "document")))
        self._place()

    def show_failed(self, error: BaseException) -> None:
        """Say why there is no plan."""
        self.states.show_failed(error, None, tr("Nothing can be imported"))
