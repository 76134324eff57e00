"""The plan's items of the chosen classes: a tick, the finding, and the answer of the dry run or repair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

from msgspec.structs import replace
from PySide6.QtCore import Signal

from gui.language import tr, translated
from gui.paging import RowsModel
from gui.parts.ticked_list import tick_cell
from gui.style import wording
from gui.style.cells import Badge, Cell, Index, Span, plain, value
from gui.views.repair.repair_words import ENDS, VERDICTS, badge, done_word
from model.foundation.records import Kind, Outcome
from model.session.repairs import REPAIRS, DryItem, Item, Plan, class_of, waits

ID, FOUND, WRITTEN, SIZE, SAID = range(1, 6)
WIDTHS = (44, 112, 250, 150, 90)
NARROW = (44, 92, 152, 134, 64)  # the widths in a window of 1024 pixels


class ItemsModel(RowsModel[Item]):
    """Some items of a plan; :attr:`plan` is the whole plan, with ticks and answers."""

    right_headers = frozenset({SIZE})
    ticked_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.plan: Plan | None = None
        self.codes: tuple[str, ...] = ()
        self.dry: dict[int, DryItem] = {}
        self.ends: dict[int, Outcome] = {}

    @property
    def headers(self) -> tuple[str, ...]:  # type: ignore[override]
        """The column headers; the last one says whether rows were already repaired."""
        return (
            "",
            tr("Document"),
            tr("What was found"),
            tr("Written"),
            tr("Size"),
            tr("Result") if self.ends else tr("Dry run"),
        )

    def key(self, row: Item) -> Hashable:
        return row.no

    def put(self, plan: Plan | None, codes: Sequence[str]) -> None:
        """Show the items of some classes."""
        self.plan, self.codes = plan, tuple(codes)
        self.fill([item for item in plan.items if item.finding.code in codes] if plan is not None else [])

    def change(self, plan: Plan) -> None:
        """Show the same items with new ticks or answers."""
        self.plan = plan
        self.rows = [plan.item(row.no) for row in self.rows]
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, SAID))
        self.ticked_changed.emit()

    def can_tick(self, row: Item) -> bool:
        """Whether a person may tick or untick the item."""
        dry = self.dry.get(row.no)
        doable = dry is None or dry.verdict in ("would", "asks")
        return row.repair is not None and row.no not in self.ends and doable

    def is_ticked(self, row: Item) -> bool:
        """Whether the item will be repaired."""
        return row.ticked and self.can_tick(row)

    def is_on(self, row: Item) -> bool:
        """Whether a press removes the tick; a tick set by a person stays theirs while an answer is missing."""
        return self.is_ticked(row) or row.do != "no"

    def ticked(self) -> list[Item]:
        """The items that will be repaired, in the order shown."""
        return [row for row in self.rows if self.is_ticked(row)]

    def tick(self, rows: Sequence[Item], on: bool) -> None:
        """Tick or untick."""
        plan = self.plan
        if plan is None or not rows:
            return
        changed = {row.no: plan.with_ticked(row.no, on).item(row.no) for row in rows}
        self.change(replace(plan, items=tuple(changed.get(item.no, item) for item in plan.items)))

    def left_out(self, row: Item) -> bool:
        """Whether the item is skipped because it is young, and no person ticked it."""
        if row.repair is None:
            return waits(row.finding)
        return row.do == "no" and row.finding.young

    def said(self, row: Item) -> tuple[str, str, str]:
        """Icon, colour and text for an item's end, expected or real."""
        end = self.ends.get(row.no)
        if end is not None:
            # One word for the end; the sentence is in the tooltip and in the preview.
            known = REPAIRS.get(row.repair or "") if end.kind == "applied" else None
            return (
                *ENDS[end.kind],
                translated(known.done).capitalize() if known is not None else translated(end.detail),
            )
        dry = self.dry.get(row.no)
        if self.left_out(row):
            return (*VERDICTS["young"], tr("Younger than the grace period: left out"))
        if row.repair is None:
            return "info", "text2", translated(row.advice) or tr("There is no repair for it")
        if row.asks:
            return (*VERDICTS["asks"], tr("Needs an answer below"))
        if dry is None:
            return "", "", ""
        # Two words for the repair; the whole sentence is in the tooltip and in the preview.
        words = translated(dry.text.partition(":")[0]) if dry.verdict == "would" else translated(dry.text)
        return (*VERDICTS[dry.verdict], words)

    def counts(self) -> str:
        """How the shown items would end, or did, on one line."""
        numbers = {row.no for row in self.rows}
        ends: Counter[str] = Counter(
            "unsent" if end.unsent else end.kind for no, end in self.ends.items() if no in numbers
        )
        repairs = [str(row.repair) for row in self.rows if row.repair]
        done = done_word(repairs) if repairs else tr("repaired")
        return "     ".join(_ended(ends, done) if ends else filter(None, self._foreseen(done, bool(repairs))))

    def _foreseen(self, done: str, repairs: bool) -> tuple[str, ...]:
        """How many items would end in each way; "" for a way not worth mentioning."""
        left_out = {row.no for row in self.rows if self.left_out(row)}
        numbers = {row.no for row in self.rows} - left_out
        verdicts = Counter(dry.verdict for no, dry in self.dry.items() if no in numbers)
        young = len(left_out)
        person = sum(1 for row in self.rows if row.repair is None and not waits(row.finding))
        return (
            tr("{verdicts} would be {done}", verdicts=wording.count(verdicts["would"]), done=done) if repairs else "",
            tr("{young} left out, too young", young=wording.count(young)) if young else "",
            tr("{verdicts} wait for an answer", verdicts=wording.count(verdicts["asks"])) if verdicts["asks"] else "",
            tr("{verdicts} changed since the scan", verdicts=wording.count(verdicts["changed"])) if repairs else "",
            tr("{verdicts} would be refused", verdicts=wording.count(verdicts["refused"])) if repairs else "",
            tr("{person} need a person", person=wording.count(person)) if person else "",
        )

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        finding = row.finding
        match index.column():
            case 0:
                return tick_cell(self.can_tick(row), self.is_ticked(row))
            case 1:
                return value("" if finding.id is None else wording.plain(finding.id), middle=True)
            case 2:
                ink, ground = badge(class_of(finding.code))
                badges = (Badge(finding.code, ink, ground),) if len(self.codes) > 1 else ()
                tip = f"{finding.ns}: {translated(finding.detail)}"
                return Cell(spans=(Span(translated(finding.detail)),), badges=badges, badges_left=True, tip=tip)
            case 3:
                return plain(wording.moment(finding.at), "text2")
            case 4:
                size = len(finding.evidence[-1].raw) if finding.evidence else None
                return value("" if size is None else wording.size(size), "text2", right=True)
        icon, token, words = self.said(row)
        dry, end = self.dry.get(row.no), self.ends.get(row.no)
        tip = (
            translated(end.detail)
            if end is not None
            else translated(dry.text)
            if dry is not None and not row.asks
            else words
        )
        return Cell(spans=(Span(words, "text2"),), icon=icon, icon_token=token, tip=tip)


def _ended(ends: Counter[str], done: str) -> list[str]:
    """How many items ended in each way that occurred."""
    named: dict[Kind | Literal["unsent"], str] = {
        "applied": done,
        "skipped": tr("skipped"),
        "conflict": tr("changed meanwhile"),
        "refused": tr("refused"),
        "unsent": tr("not sent"),
        "unknown": tr("not known"),
    }
    return [f"{wording.count(ends[kind])} {said}" for kind, said in named.items() if ends[kind]]
