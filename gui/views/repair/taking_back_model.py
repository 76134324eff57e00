"""The documents with changes to take back: a tick, the dry run's answer, and how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from msgspec.structs import replace
from PySide6.QtCore import Signal

from gui.language import tr, translated
from gui.paging import RowsModel
from gui.parts.ticked_list import tick_cell
from gui.style import wording
from gui.style.cells import Badge, Cell, Index, Span, value
from gui.views.repair.plan_kind import TAKING_BACK, Drawn, PlanKind
from gui.views.repair.repair_words import ENDS
from model.foundation.records import Outcome
from model.session.batch_writing import Chosen
from model.values.canonical import Value

ID, VERSIONS, SAID = range(1, 4)
WIDTHS = (44, 220, 260, 90)
NARROW = (44, 130, 150, 70)  # the widths in a window of 1024 pixels
LACKS = Badge(tr("empties a field"), "warn", "warnT")


class TakingBackModel(RowsModel[Chosen]):
    """The documents, each with the dry run's answer and its end."""

    ticked_changed = Signal()
    spoken_at = 1

    def __init__(self, kind: PlanKind = TAKING_BACK) -> None:
        super().__init__()
        self.kind = kind
        self.drawn: dict[Value, Drawn] = {}
        self.ends: dict[Value, Outcome] = {}
        self._unticked: set[Value] = set()

    @property
    def headers(self) -> tuple[str, ...]:  # type: ignore[override]
        """The column headers; the last one says whether anything was written."""
        return "", tr("Document"), *self.kind.columns, tr("Result") if self.ends else tr("Dry run")

    @property
    def fitting(self) -> tuple[Sequence[int], Sequence[int]]:
        """The widths of all columns but the last in a narrow window and in a wide one."""
        count = len(self.headers) - 1
        return NARROW[:count], WIDTHS[:count]

    def key(self, row: Chosen) -> Hashable:
        return row.id

    def put(self, rows: Sequence[Chosen]) -> None:
        """Show only these documents."""
        self.drawn, self.ends, self._unticked = {}, {}, set()
        self.fill(rows)

    def can_tick(self, row: Chosen) -> bool:
        """Whether the document would be written, and was not yet."""
        drawn = self.drawn.get(row.id)
        return drawn is not None and drawn.kind == "applied" and row.id not in self.ends

    def is_ticked(self, row: Chosen) -> bool:
        """Whether it will be written."""
        return self.can_tick(row) and row.id not in self._unticked

    def is_on(self, row: Chosen) -> bool:
        """Whether a press removes the tick."""
        return self.is_ticked(row)

    def ticked(self) -> list[Chosen]:
        """The documents that will be written, guarded by what the dry run read."""
        return [
            replace(row, current=self._current(row))
            for row in self.rows
            if self.is_ticked(row)
        ]  # fmt: skip

    def _current(self, row: Chosen) -> Value | None:
        base = self.drawn[row.id].base
        return None if base is None else base.v

    def tick(self, rows: Sequence[Chosen], on: bool) -> None:
        """Tick or untick."""
        ids = {row.id for row in rows if self.can_tick(row)}
        self._unticked = self._unticked - ids if on else self._unticked | ids
        self.redraw()
        self.ticked_changed.emit()

    def redraw(self) -> None:
        """Draw every row again."""
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, self.columnCount() - 1))

    def said(self, row: Chosen) -> tuple[str, str, str]:
        """Icon, colour and text for a document's end, expected or real."""
        end, drawn = self.ends.get(row.id), self.drawn.get(row.id)
        if end is not None:
            return (*ENDS[end.kind], self.kind.done[end.kind])
        return ("", "", "") if drawn is None else self.kind.verdicts[drawn.kind]

    def detail(self, row: Chosen) -> str:
        """The whole sentence about a document."""
        end, drawn = self.ends.get(row.id), self.drawn.get(row.id)
        if end is not None:
            return translated(end.detail)
        if drawn is None:
            return ""
        left = [why for _, why in drawn.left]
        told = "" if drawn.kind == "applied" else drawn.detail  # which sounds as if it were done
        parts = [told, drawn.warning, *(why for why in left if why not in told)]
        return " ".join(translated(part) for part in parts if part)

    def counts(self) -> str:
        """How the documents would end, or did, on one line."""
        ends = Counter(str(end.kind) for end in self.ends.values())
        kinds = Counter(drawn.kind for id, drawn in self.drawn.items() if id not in self.ends)
        parts = [f"{wording.count(ends[kind])} {self.kind.done[kind].lower()}" for kind in self.kind.done if ends[kind]]
        foreseen = [
            said.replace("{count}", wording.count(kinds[kind]))
            for kind, said in self.kind.counted.items()
            if kinds[kind]
        ]
        would = [each for each in self.drawn.values() if each.kind == "applied" and each.id not in self.ends]
        return "     ".join(filter(None, [*parts, *foreseen, self.kind.summed(would) if would else ""]))

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        drawn = self.drawn.get(row.id)
        match index.column():
            case 0:
                return tick_cell(self.can_tick(row), self.is_ticked(row))
            case 1:
                return value(wording.plain(row.id), middle=True)
            case at if at < 2 + len(self.kind.columns):
                said = self.kind.cells(row, drawn)[at - 2]
                return value(said, "text2", middle=True, tip=said)
        icon, token, words = self.said(row)
        badges = (LACKS,) if drawn is not None and drawn.warning and row.id not in self.ends else ()
        tip = self.detail(row)
        return Cell(spans=(Span(words, "text2"),), icon=icon, icon_token=token, badges=badges, tip=tip)
