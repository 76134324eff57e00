"""The question before a restore: a comparison of the present with the result, and a tick for each field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QSize, Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.language import tr
from gui.parts.differences.diff_grouping import Plan
from gui.parts.differences.diff_model import FIELD, DiffModel
from gui.parts.differences.diff_node import DiffNode
from gui.parts.differences.diff_table import DiffTable
from gui.parts.reason_line import ReasonLine
from gui.style import boxes, icons, theme, wording
from gui.style.cells import Cell, Index
from gui.style.sheet import Sheet
from gui.style.states import button, words
from model.diff import Operation
from model.values.canonical import Path

WIDTH, ROWS = 960, 14


class Restoring(Struct, frozen=True):
    """A restore as worked out: its changes, and the paths it restores; None for everything."""

    title: str
    text: str
    titles: tuple[str, str]  # of the present, and of the result
    plan: Plan
    paths: tuple[Path, ...] | None
    in_parts: bool  # whether single fields can be restored
    takes_reason: bool = False  # whether the new version can have a reason


def units(ops: Iterable[Operation], paths: Sequence[Path] | None = None) -> dict[Path, Path]:
    """The field to restore for each change: an array as a whole, because its positions mean nothing elsewhere."""
    made: dict[Path, Path] = {}
    for op in ops:
        asked = next((path for path in paths or () if op.path[: len(path)] == path), None)
        depth = next((at for at, step in enumerate(op.path) if isinstance(step, int)), len(op.path))
        made[op.path] = asked or op.path[:depth]
    whole = sorted({unit for unit in made.values() if unit}, key=len)
    for at, unit in made.items():  # a field that is restored as a whole includes its parts
        made[at] = next((each for each in whole if unit[: len(each)] == each), unit)
    return made


class RestoreModel(DiffModel):
    """A comparison with a tick for each change; changes that can only be restored together are ticked together."""

    def __init__(self, asked: Restoring) -> None:
        super().__init__()
        self.units = units(asked.plan.changes, asked.paths)
        there = {unit for unit in self.units.values() if unit}
        self.ticked: set[Path] = set(there) if asked.in_parts and len(there) > 1 else set()
        self.of = len(self.ticked)

    def unit(self, node: DiffNode | None) -> Path | None:
        """The field that a row's tick is for; None for a row without a tick."""
        if not self.of or node is None or node.op is None:
            return None
        return self.units.get(node.op.path) or None

    def tick(self, wanted: Iterable[Path], on: bool) -> None:
        """Tick or untick fields."""
        self.ticked = self.ticked | set(wanted) if on else self.ticked - set(wanted)
        self.redraw()

    def cell(self, index: Index) -> Cell:
        cell, unit = super().cell(index), self.unit(self.node(index))
        if index.column() != FIELD or unit is None:
            return cell
        on = unit in self.ticked
        state = Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
        said = f"{cell.accessible or cell.text}, {tr('ticked') if on else tr('not ticked')}"
        return replace(cell, check=state, accessible=said)


class RestoreSheet(Sheet):
    """The sheet. ``agreed`` carries the paths to restore: the given ones, or the ticked ones."""

    agreed = Signal(object)

    def __init__(self, parent: QWidget, asked: Restoring) -> None:
        super().__init__(parent, WIDTH)
        self._asked = asked
        self.title = asked.title
        self.setAccessibleName(asked.title)
        self.setAccessibleDescription(asked.text)
        self.model = RestoreModel(asked)
        self.table = DiffTable(self.model)
        self.table.setAccessibleName(tr("What would change"))
        self.table.value_asked.connect(self._toggle_current)
        self.table.clicked.connect(self._clicked)
        self.table.escaped.connect(self.reject)
        self.model.show(asked.plan, asked.titles, True)
        self.model.go(0)
        rows = min(ROWS, max(4, len(asked.plan.changes) + 3))
        self.table.setMinimumHeight(theme.px(28 + 24 * rows))
        column = QVBoxLayout(self)
        column.setContentsMargins(1, theme.px(24), 1, theme.px(20))
        column.setSpacing(theme.px(8))
        column.addLayout(self._head())
        column.addWidget(self.table, 1)
        column.addLayout(self._foot())
        self._say()

    def _head(self) -> QVBoxLayout:
        made = boxes.column()
        made.setContentsMargins(theme.px(24), 0, theme.px(24), theme.px(8))
        made.setSpacing(theme.px(6))
        made.addWidget(words(self._asked.title, "title", wrap=True))
        made.addWidget(words(self._asked.text, "second", wrap=True))
        return made

    def _foot(self) -> QVBoxLayout:
        whole = boxes.column()
        row = boxes.wrapping()
        row.setContentsMargins(theme.px(12), theme.px(8), theme.px(24), theme.px(8))  # aligns its tick below the title
        self.all = button("", self._tick_all, "quiet", "small")
        self.all.setIconSize(QSize(theme.px(20), theme.px(16)))
        self.all.setVisible(bool(self.model.of))
        row.addWidget(self.all)
        row.addStretch(1)
        self.reason = ReasonLine()
        self.reason.setVisible(self._asked.takes_reason)
        self.reason.returnPressed.connect(self._yes)
        row.addWidget(self.reason, 2)
        self.cancel = button(tr("Cancel"), self.reject)
        self.verb = button("", self._yes, "main")
        ends = boxes.row(x=0, y=0)
        ends.addWidget(self.cancel)
        ends.addWidget(self.verb)
        row.addLayout(ends)
        whole.addLayout(row)
        return whole

    def first(self) -> QWidget | None:
        return self.verb

    # --- ticks

    def _clicked(self, index: QModelIndex) -> None:
        if index.column() == FIELD:
            self._toggle(index)

    def _toggle_current(self) -> None:
        self._toggle(self.table.currentIndex())

    def _toggle(self, index: QModelIndex) -> None:
        unit = self.model.unit(self.model.node(index))
        if unit is not None:
            self.model.tick([unit], unit not in self.model.ticked)
            self.table.viewport().update()
            self._say()

    def _tick_all(self) -> None:
        there = {unit for unit in self.model.units.values() if unit}
        self.model.tick(there, len(self.model.ticked) < len(there))
        self.table.viewport().update()
        self._say()

    def _say(self) -> None:
        of, ticked = self.model.of, len(self.model.ticked)
        self.all.setText(
            tr("{ticked} of {fields} ticked", ticked=wording.count(ticked), fields=wording.many(of, "field"))
        )
        self.all.setIcon(icons.tick(ticked, of))
        changes = [op for op in self._asked.plan.changes if not of or self.model.units[op.path] in self.model.ticked]
        count = len(self._asked.plan.changes) if ticked == of else len(changes)
        self.verb.setText(tr("Restore {changes}", changes=wording.many(count, "change")))
        self.verb.setEnabled(bool(count))
        self.verb.setToolTip("" if count else tr("No field is ticked"))

    def _yes(self) -> None:
        if not self.verb.isEnabled():
            return
        every = len(self.model.ticked) == self.model.of
        self.accept()
        self.agreed.emit(self._asked.paths if every else tuple(sorted(self.model.ticked, key=str)))


__all__ = ["RestoreSheet", "Restoring", "units"]
