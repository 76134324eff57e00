"""One item in detail: stored documents before and after, the affected fields, the writes as they would be sent."""

from __future__ import annotations

from collections.abc import Collection, Hashable

from msgspec import Struct
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHeaderView, QPlainTextEdit, QStackedWidget, QWidget

from gui import copying, tasks
from gui.language import tr, translated
from gui.paging import RowsModel
from gui.parts.differences.diff_grouping import Plan as DiffPlan
from gui.parts.differences.diff_grouping import plan as planned
from gui.parts.differences.diff_model import DiffModel
from gui.parts.differences.diff_table import DiffTable, SidesDelegate
from gui.style import boxes, states, theme, wording
from gui.style.cells import Cell, CellTree, Index, full_width, value
from gui.style.states import OneLine, button, tool, words
from gui.views.repair.repair_words import digest
from model.diff import diff
from model.errors import Unreadable
from model.foundation.records import Outcome
from model.session.repairs import DryItem, Item
from model.values.canonical import without


class _StoredLine(Struct, frozen=True):
    op: str  # add, remove, replace, or "" if nothing changes
    place: str
    before: str
    after: str


class _LinesModel(RowsModel[_StoredLine]):
    """Collection, before, after: one row for each stored document of the item."""

    headers = ("", tr("Collection"), tr("Before"), tr("After"), "")  # the last column is above the types of the fields

    def key(self, row: _StoredLine) -> Hashable:
        return row

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        tint = {"add": "addT", "remove": "remT", "replace": "chgT", "": ""}[row.op]
        match index.column():
            case 0:
                return Cell(change=row.op)
            case 1:
                return value(row.place, tip=row.place)
            case 4:
                return Cell()
        shown = row.before if index.column() == 2 else row.after
        if not shown:
            return Cell(hatch=True, accessible=tr("not there"))
        return value(shown, "text" if row.op else "text2", ground=tint, tip=shown)


class ItemPreview(QWidget):
    """The preview of one item; ``stepped`` asks for the item above (-1) or below (1)."""

    stepped = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._dry: DryItem | None = None
        self.lines = _LinesModel()
        self.fields = DiffModel()
        self.code = QPlainTextEdit()
        self.code.setReadOnly(True)
        self.code.setObjectName("plainjson")
        self.code.setAccessibleName(tr("The writes of this item"))
        self.code.setFont(theme.mono(11))
        self._which = OneLine("second", middle=True)  # an id, which may be long
        self._which.setFont(theme.mono(12))
        self._of = words("", "second")
        self.up = tool("arrow-up", tr("The item above"), self._up)
        self.down = tool("arrow-down", tr("The item below"), self._down)
        self.writes = button(tr("Writes"), self._switch, "small", "quiet")
        self.copy = button(tr("Copy as PyMongo"), self._copy_pymongo, "small", icon="copy")
        self.copy_shell = button(tr("Copy as mongosh"), self._copy_shell, "small", "quiet")
        head = boxes.wrapping(y=6)
        head.addWidget(words(tr("Preview"), "head"))
        head.addWidget(self._which, 1)
        for part in (self._of, self.up, self.down, self.writes, self.copy_shell, self.copy):
            head.addWidget(part)
        documents = QWidget()
        column = boxes.column(documents)
        self.table = CellTree()
        self.table.setItemDelegate(SidesDelegate(self.table))
        self.table.as_list(self.lines, tr("Stored documents before and after"))
        self.table.setSelectionMode(CellTree.SelectionMode.NoSelection)
        self.table.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.table.header().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.at_stake = DiffTable(self.fields)
        self.at_stake.setAccessibleName(tr("The fields at stake"))
        self.at_stake.header().sectionResized.connect(self._align)
        self._same = words("", "second", wrap=True)
        self._note = ""  # how it ended, or advice if there is no repair
        self._same.setContentsMargins(theme.px(56), theme.px(4), theme.px(16), theme.px(8))
        column.addWidget(self.table)
        column.addWidget(self.at_stake, 1)
        column.addWidget(self._same)
        column.addStretch(0)  # without fields to show, the other parts are at the top
        self._pages = QStackedWidget()
        whole = boxes.column(self)
        whole.addLayout(head)
        whole.addWidget(states.hair())
        whole.addWidget(self._pages, 1)
        self._pages.addWidget(documents)
        self._pages.addWidget(self.code)
        self.put(None, None, 0, 0)

    def _align(self) -> None:
        """Align before and after with the two sides of the fields."""
        room = (self.at_stake if self.at_stake.isVisible() else self.table).viewport().width()
        for at, width in enumerate(self.at_stake.widths(room)):
            self.table.header().resizeSection(at, width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._align()

    def put(
        self, item: Item | None, dry: DryItem | None, at: int, of: int, own: Collection[str] = ("_id",),
        end: Outcome | None = None,
    ) -> None:  # fmt: skip
        """Show an item; ``dry`` is its dry run's answer, if there is one, ``end`` how it ended.

        ``own`` are the fields that the layout keeps for itself: copies of one content may rightly differ in them.
        """
        self._dry = dry
        sending = dry.sending if dry is not None and dry.changes else None
        self._which.setText("" if item is None or item.finding.id is None else wording.plain(item.finding.id))
        self._of.setText(tr("{at} of {of}", at=at + 1, of=of) if of else "")
        self.up.setEnabled(at > 0)
        self.down.setEnabled(at + 1 < of)
        for part in (self.copy, self.copy_shell, self.writes):
            part.setEnabled(sending is not None)
        self.code.setPlainText(
            "" if sending is None else f"{sending.short_pymongo}\n\n# {translated(sending.explanation)}"
        )
        if sending is None:
            self._show_writes(False)
        rows = [] if item is None else _lines(item, dry)
        self.lines.fill(rows)
        places = (self.lines.cell(self.lines.index(row, 1)) for row in range(len(rows)))
        self.at_stake.beside = max(map(full_width, places), default=0.0)
        self.table.setFixedHeight(theme.px(28) + max(1, min(len(rows), 5)) * theme.px(24))
        pair = None if item is None else _pair(item, dry, own)
        self.fields.show(None, ("", ""), True)
        self.at_stake.setVisible(pair is not None)
        self._note = translated(end.detail) if end is not None else translated(item.advice) if item is not None else ""
        self._say(self._note if pair is None else "")  # beside fields there is no room to spare; the row has a tooltip
        tasks.drop(self, "fields")  # of the former item
        if pair is None:
            return
        a, b, titles = pair
        tasks.run(
            lambda progress: (planned(a, b, diff(a, b), progress), titles),
            done=self._compared,
            failed=self._not_compared,
            owner=self,
            key="fields",
        )

    def _compared(self, found: tuple[DiffPlan, tuple[str, str]]) -> None:
        self.fields.show(*found, True)
        if not found[0].changes:
            self.at_stake.hide()
            self._say(tr("Both hold the same content. {note}", note=self._note).strip())

    def _not_compared(self, error: BaseException) -> None:
        self._say(tasks.describe(error)[0])

    def _say(self, sentence: str) -> None:
        self._same.setText(sentence)
        self._same.setVisible(bool(sentence))

    def _up(self) -> None:
        self.stepped.emit(-1)

    def _down(self) -> None:
        self.stepped.emit(1)

    def _switch(self) -> None:
        self._show_writes(self._pages.currentWidget() is not self.code)

    def _show_writes(self, on: bool) -> None:
        self._pages.setCurrentIndex(1 if on else 0)
        self.writes.setText(tr("Documents") if on else tr("Writes"))

    def _copy_pymongo(self) -> None:
        if self._dry is not None:
            copying.put(self._dry.sending.pymongo)

    def _copy_shell(self) -> None:
        if self._dry is not None:
            copying.put(self._dry.sending.mongosh)


def _place(ns: str) -> str:
    return ns.partition(".")[2]


def _lines(item: Item, dry: DryItem | None) -> list[_StoredLine]:
    """The lines of the unchanged documents, then those of the changed ones."""
    changes = dry.changes if dry is not None else ()
    touched = {raw for change in changes for raw in (change.before, change.after) if raw is not None}
    rows = []
    for each in item.finding.evidence:
        if each.raw not in touched:
            name = wording.version(each.v) if each.v is not None else each.name
            said = f"{name}   {(tr('unchanged') if changes else digest(each.raw))}"
            rows.append(_StoredLine("", _place(each.ns), said, said))
    for change in changes:
        op = "add" if change.before is None else "remove" if change.after is None else "replace"
        label = f"{translated(change.label)}   " if change.label else ""
        before = f"{label}{digest(change.before)}" if change.before is not None else ""
        after = f"{label}{digest(change.after)}" if change.after is not None else ""
        rows.append(_StoredLine(op, _place(change.ns), before, after))
    return rows


def _pair(item: Item, dry: DryItem | None, own: Collection[str]) -> tuple[bytes, bytes, tuple[str, str]] | None:
    """The two documents whose fields are compared, each with its name."""
    for change in dry.changes if dry is not None else ():
        if change.before is not None and change.after is not None:
            return change.before, change.after, (tr("Before"), tr("After"))
    seen = item.finding.evidence
    if len(seen) < 2:
        return None
    a, b = seen[0], seen[-1]
    try:
        return without(a.raw, own), without(b.raw, own), (translated(a.name), translated(b.name))
    except Unreadable:
        return None
