"""The resolver's table, one row per place: the opened version, my edit, the database's, and the value taken."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TypeAlias

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QMenu, QStyleOptionViewItem, QWidget

from gui.language import tr
from gui.parts.differences import diff_cells
from gui.parts.differences.diff_cells import moved_names
from gui.parts.fields.edit_changes import marked
from gui.parts.values import value_text
from gui.style import theme
from gui.style.cells import Badge, Cell, CellDelegate, CellModel, CellTree, Index, Span, full_width, plain, spoken
from gui.style.wording import count, version
from gui.views.merge.resolution import Resolution
from model import text
from model.diff import same_value
from model.merge import Decision
from model.values import canonical
from model.values.canonical import Value

SYMBOL, FIELD, BASE, MINE, THEIRS, DECISION = range(6)
SIDES = {BASE: "base", MINE: "mine", THEIRS: "theirs"}
TIGHT = 760  # a narrower table has little room for text beside the values
BARE = 560  # a still narrower one has none: symbol, ticks and colours show the decision
ROW = 36
MEASURED = 40  # decisions, of which the column is as wide as the widest
WRITTEN, BEFORE = 20_000, 12  # bytes of a container that is written out; characters before its difference
LEAST = 8  # differing characters that have to be visible
Spans: TypeAlias = tuple[Span, ...]
NAMED = 60  # names of an order that a cell lists


def operation(decision: Decision, taken: Value | None, in_array: bool = False) -> str:
    """The symbol for what a decision does to the opened version; array elements move, fields are reordered."""
    if decision.kind == "order":
        return "move" if in_array else "reorder"
    if decision.base is None:
        return "add" if taken is not None else ""
    if taken is None:
        return "remove"
    if taken == decision.base:
        return ""
    if taken.type != decision.base.type and same_value(decision.base, taken):
        return "retype"
    return "text" if decision.kind == "text" else "replace"


class DecisionModel(CellModel):
    """A row per decision, then one with the number of unchanged fields."""

    def __init__(self, resolution: Resolution, zone: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.resolution, self.zone = resolution, zone
        self.unchanged: int | None = None
        self._short = False
        self._room = 30  # characters that fit into a side
        self._drawn: dict[tuple[Value, Value, bool], Spans] = {}
        self.headers = self._headers()

    headers: tuple[str, ...] = ("", "", "", "", "", "")
    spoken_at = FIELD

    @property
    def full_headers(self) -> tuple[str, ...]:
        """The headers of the sides in full."""
        conflict = self.resolution.conflict
        was, now = version(conflict.base.v), version(conflict.theirs.v) if conflict.theirs is not None else ""
        return (
            tr("When you opened it   {was}", was=was),
            tr("Your edit   draft"),
            tr("In the database   {now}", now=now),
        )

    def _headers(self) -> tuple[str, ...]:
        conflict = self.resolution.conflict
        was, now = version(conflict.base.v), version(conflict.theirs.v) if conflict.theirs is not None else ""
        short = (tr("Opened {was}", was=was), tr("Your draft"), tr("Database {now}", now=now))
        return ("", tr("Field"), *(short if self._short else self.full_headers), tr("Decision"))

    def show(self, resolution: Resolution) -> None:
        """Show a resolution, or its next state after a choice."""
        if resolution is self.resolution:
            last = self.index(self.rowCount() - 1, DECISION)
            self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self.resolution = resolution
        self.headers = self._headers()
        self.endResetModel()

    def shorten(self, on: bool) -> None:
        """Use one word for each side, or the full header."""
        if on != self._short:
            self._short = on
            self.headers = self._headers()
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, BASE, THEIRS)

    def set_room(self, characters: int) -> None:
        """Set how many characters fit into a side: longer values are cut around their difference."""
        if characters != self._room:
            self._room, self._drawn = characters, {}

    def decisions_width(self) -> int:
        """The width at which the first decisions are in one line each."""
        first = range(min(len(self.resolution.rows), MEASURED))
        return 1 + int(max((full_width(self.cell(self.index(row, DECISION))) for row in first), default=0))

    def count_unchanged(self, number: int) -> None:
        """Show how many fields are the same on all sides."""
        self.unchanged = number
        row = self.rowCount() - 1
        self.dataChanged.emit(self.index(row, 0), self.index(row, DECISION))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's signature)
        return 0 if parent.isValid() else len(self.resolution.rows) + 1

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        there = not parent.isValid() and 0 <= row < self.rowCount() and 0 <= column <= DECISION
        return self.createIndex(row, column) if there else QModelIndex()

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        return QModelIndex()

    def is_row(self, index: Index) -> bool:
        """Whether it is a decision's row, not the last one, which only counts."""
        return index.isValid() and index.row() < len(self.resolution.rows)

    # --- cells

    def cell(self, index: Index) -> Cell:
        if not self.is_row(index):
            said = (
                tr("{fields} unchanged", fields=count(self.unchanged))
                if self.unchanged is not None
                else tr("the rest unchanged")
            )
            return plain(said, "text2", size=12) if index.column() == FIELD else Cell()
        decision, column = self.resolution.decision(index.row()), index.column()
        if column == SYMBOL:
            if decision.open:
                return Cell(change="conflict", bar="warn", indent=4, accessible=tr("conflict, not decided"))
            return Cell(change=operation(decision, decision.result, self._in_array(decision)), indent=4)
        if column == FIELD:
            return Cell(
                spans=(Span(decision.place),), mono=True, size=12, middle=True, accessible=self._words(index.row())
            )
        if column == DECISION:
            return self._decision(decision, index.row())
        return self._side(decision, SIDES[column])

    def _in_array(self, decision: Decision) -> bool:
        if decision.kind != "order" or not decision.path:
            return False
        there = canonical.get(self.resolution.base, decision.path)
        return there is not None and there.type == canonical.ARRAY

    def row_said(self, index: Index) -> str:
        if not self.is_row(index):
            return spoken(self.cell(index))
        decision = self.resolution.decision(index.row())
        sides = [self._side_words(side, self._side(decision, side)) for side in SIDES.values()]
        return ", ".join((self._words(index.row()), *sides))

    def _words(self, row: int) -> str:
        decision = self.resolution.decision(row)
        state = tr("not decided") if decision.open else self._decision(decision, row).text
        return f"{decision.place}, {state}"

    def _side(self, decision: Decision, side: str) -> Cell:
        value = {"base": decision.base, "mine": decision.mine, "theirs": decision.theirs}[side]
        taken = not decision.open and self._takes(decision, side)
        made = self._value(decision, side, value, taken)
        state = tr("not decided") if decision.open else tr("taken") if taken else tr("not taken")
        made = replace(made, accessible=f"{decision.place}, {self._side_words(side, made)}, {state}")
        if decision.open:
            return replace(made, ground="warnT", radio=False)
        if decision.conflict:
            return replace(made, ground="accTint" if taken else "", radio=taken)
        return replace(made, ground="accTint" if taken else "", tick=taken)

    @staticmethod
    def _side_words(side: str, shown: Cell) -> str:
        who = {"base": tr("when you opened it"), "mine": tr("your edit"), "theirs": tr("in the database")}[side]
        return f"{who}: {shown.text}"

    @staticmethod
    def _takes(decision: Decision, side: str) -> bool:
        if isinstance(decision.action, Value):
            return False
        if decision.action == "both":
            return side in ("mine", "theirs")
        if decision.who == "both" and decision.mine == decision.theirs and decision.action in ("mine", "theirs"):
            return side in ("mine", "theirs")
        return decision.action == side

    def _value(self, decision: Decision, side: str, value: Value | None, taken: bool) -> Cell:
        if value is None:
            return plain(tr("not there"), "text2", size=12)
        if decision.kind == "order":
            return self._order(decision, side, value)
        kinds = {v.type for v in (decision.base, decision.mine, decision.theirs) if v is not None}
        behind = (Span(f"  {value.kind}", "text2", sans=True),) if len(kinds) > 1 else ()
        in_lines = self._short and bool(behind)  # without its type, values would look alike
        spans = self._spans(decision, side, value, taken)
        return Cell(spans=(*spans, *behind), mono=True, size=12, wrap=in_lines)

    def _spans(self, decision: Decision, side: str, value: Value, taken: bool) -> Spans:
        """A value with its difference from another side marked, if it is merged or too long to be visible whole."""
        aside = side != "base" and not decision.conflict
        same = aside and value == decision.base
        merged = aside and taken and not value.is_container
        if decision.conflict and (written := self._written(decision, value)):
            return written
        other = self._beside(decision, side, value)
        if other is not None and self._is_cut(value, other):
            spans = self._around(value, other, decision.conflict or merged)
            return tuple(replace(span, token="text2") for span in spans) if same else spans
        if other is not None and merged:
            return marked(value, other, self.zone, "chgS")
        return (Span(text.shown(value, self.zone, 200), "text2" if same else "text"),)

    def _written(self, decision: Decision, value: Value) -> Spans:
        """A list or document written out around its difference from another side; () if its outline tells enough."""
        others = [one for one in (decision.base, decision.mine, decision.theirs) if one is not None and one != value]
        outline = text.shown(value, self.zone)
        alike = [one for one in others if one.is_container and text.shown(one, self.zone) == outline]
        if not value.is_container or not alike or max(len(one.data) for one in (value, *alike)) > WRITTEN:
            return ()
        here, there = text.relaxed_value(value), text.relaxed_value(alike[-1])
        start = value_text.common(here, there)
        tail = value_text.common_end(here, there, min(len(here), len(there)) - start)
        end = len(here) - tail
        cut = max(0, start - BEFORE) if end > self._room else 0
        head = Span(("…" if cut else "") + here[cut:start])
        return head, Span(here[start:end], mark="chgS"), Span(here[end : end + self._room])

    @staticmethod
    def _beside(decision: Decision, side: str, value: Value) -> Value | None:
        """The value of another side to compare this one with; None if their types differ."""
        other = decision.base if side != "base" else decision.mine if decision.mine != value else decision.theirs
        alike = other is not None and value.type == other.type and not value.is_container
        return other if alike else None

    def _is_cut(self, value: Value, other: Value) -> bool:
        """Whether the difference would be beyond the column's edge."""
        if not self._room < max(len(value.data), len(other.data)) < diff_cells.HUGE:
            return False
        shown = [diff_cells.shown(one, self.zone) for one in (value, other)]
        return value_text.common(*shown) + LEAST > self._room or value.type == canonical.BINARY

    def _around(self, value: Value, other: Value, mark: bool) -> Spans:
        """A long value cut to the words around its first difference from another: else both may look alike."""
        key = (value, other, mark)
        if key not in self._drawn:
            spans = diff_cells.marked(other, value, None, self.zone, self._room, "chgS")[1]
            self._drawn[key] = spans if mark else tuple(replace(span, mark="") for span in spans)
        return self._drawn[key]

    def _order(self, decision: Decision, side: str, value: Value) -> Cell:
        """The fields' names or the elements' keys in one side's order; those that moved are marked."""
        here = _names(value, self.zone)
        moved = _moved(decision.base, value, self.zone) if side != "base" and decision.base else frozenset()
        start = 0
        if len(here) > NAMED:  # from the first that moved
            start = max(0, next((at for at, name in enumerate(here) if name in moved), 0) - 1)
        end = min(len(here), start + NAMED)
        spans = [Span("[ … " if start else "[ ", "text2")]
        for at in range(start, end):
            spans.append(Span(here[at], mark="chgS" if here[at] in moved else ""))
            spans.append(Span(", " if at + 1 < len(here) else " ]", "text2"))
        if end < len(here):
            spans.append(Span(tr("… {here:,} more ]", here=len(here) - end), "text2"))
        return Cell(spans=tuple(spans), mono=True, size=12)

    def _decision(self, decision: Decision, row: int) -> Cell:
        hint = renamed(decision)
        made = replace(self._decided(decision, row), wrap=True)
        return replace(made, spans=(*made.spans, Span(f"; {hint}", "text2"))) if hint else made

    def _decided(self, decision: Decision, row: int) -> Cell:
        if decision.open:
            badge = Badge(tr("Choose one"), "warn", "warnT", "conflict")
            return plain(clash(decision), "text2", size=12, badges=(badge,), badges_left=True)
        if decision.conflict or self.resolution.is_overridden(row):
            badge = Badge(tr("Decided") if decision.conflict else tr("Changed"), "acc", "accTint", "check")
            return plain(self._taken(decision), "text2", size=12, badges=(badge,), badges_left=True)
        who = {
            "theirs": tr("Only the database"),
            "mine": tr("Only you"),
            "both": tr("Both, the same change") if decision.mine == decision.theirs else tr("Both: they fit together"),
        }[decision.who]
        return plain(who, "text2", size=12, badges=(Badge(tr("Merged"), symbol="check"),), badges_left=True)

    def _taken(self, decision: Decision) -> str:
        if isinstance(decision.action, Value):
            return tr("Yours, typed: {action}", action=text.shown(decision.action, self.zone, 40))
        was = version(self.resolution.conflict.base.v)
        return {
            "base": tr("As in {was}", was=was) if was else tr("As you opened it"),
            "mine": tr("Yours"),
            "theirs": tr("The database's"),
            "both": tr("Both"),
        }[decision.action]


# An order can have thousands of names, and is needed at every paint.
@lru_cache(maxsize=16)
def _names(value: Value, zone: str) -> tuple[str, ...]:
    return tuple(text.shown(one, zone, 40) for one in canonical.items(value))


@lru_cache(maxsize=16)
def _moved(base: Value, value: Value, zone: str) -> frozenset[str]:
    """The names that moved compared with the base; none unless both have the same names, once each."""
    before, here = list(_names(base, zone)), list(_names(value, zone))
    together = sorted(here) == sorted(before) and len(set(here)) == len(here)
    return frozenset(moved_names(before, here)) if together else frozenset()


def renamed(decision: Decision) -> str:
    """``it may have become charge`` if a field seems renamed; else ""."""
    way, _, name = decision.hint.partition(" ")[2].partition(" ")
    if not name:
        return ""
    return tr("it may have become {name}", name=name) if way == "to" else tr("it may have been {name}", name=name)


def clash(decision: Decision) -> str:
    """Why a place needs a person, in a few words."""
    if decision.base is None:
        return tr("both added it")
    if decision.hint == "moved":
        return (
            tr("you removed it, the database moved it")
            if decision.mine is None
            else tr("the database removed it, you moved it")
        )
    if decision.mine is None:
        return tr("you removed it, the database changed it")
    if decision.theirs is None:
        return tr("the database removed it, you changed it")
    return {"order": tr("both reordered it"), "inserted": tr("both added here")}.get(
        decision.kind, tr("both changed it")
    )


class _DecisionDelegate(CellDelegate):
    """Paints lines between rows and sides."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        whole = QRectF(option.rect)
        option.rect = option.rect.adjusted(0, 0, -1, -1)
        super().paint(painter, option, index)
        ink = theme.colour("border")
        model = index.model()
        if not isinstance(model, DecisionModel) or not model.is_row(index):
            return
        painter.fillRect(QRectF(whole.left(), whole.bottom() - 1, whole.width(), 1), ink)
        if FIELD <= index.column() < DECISION:
            painter.fillRect(QRectF(whole.right() - 1, whole.top(), 1, whole.height()), ink)


class DecisionTable(CellTree):
    """Arrows move between cells, Space and Enter take a cell's side; a click does so if a choice is due.

    Space outside the sides, and the menu, show the whole values.
    """

    taken = Signal(int, str)  # row, side
    reopened = Signal(int)
    whole_asked = Signal()
    escaped = Signal()
    row_changed = Signal()

    def __init__(self, model: DecisionModel, parent: QWidget | None = None) -> None:
        super().__init__(parent, ROW, _DecisionDelegate(None, ROW))
        self.itemDelegate().setParent(self)
        self.rows = model
        self.as_list(model, tr("What both sides changed"))
        self.setSelectionMode(CellTree.SelectionMode.NoSelection)
        self.setObjectName("decisions")
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(SYMBOL, QHeaderView.ResizeMode.Fixed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        tight, bare = (self.viewport().width() < theme.px(44 + less) for less in (TIGHT, BARE))  # values come first
        symbol = theme.px(28 if bare else 44)
        room = self.viewport().width() - symbol
        field = max(theme.px(90 if bare else 104 if tight else 136), min(theme.px(240), int(room * 0.12)))
        least = theme.px(150) if tight else max(theme.px(232), min(theme.px(300), self.rows.decisions_width()))
        decision = 0 if bare else max(least, min(theme.px(300), int(room * 0.21)))
        side = max(theme.px(60), (room - field - decision) // 3)
        if bare and self.currentIndex().column() == DECISION:
            self.setCurrentIndex(self.currentIndex().siblingAtColumn(THEIRS))
        self.setColumnHidden(DECISION, bare)
        words = self.header().fontMetrics()
        self.rows.shorten(side < max(map(words.horizontalAdvance, self.rows.full_headers)) + theme.px(28))
        widths = (symbol, field, side, side, side, room - field - 3 * side)
        for column, width in enumerate(widths[:DECISION] if bare else widths):
            self.setColumnWidth(column, width)
        letter = QFontMetricsF(theme.mono(12)).horizontalAdvance("0")
        self.rows.set_room(int((side - theme.px(40)) / letter))

    @property
    def row(self) -> int:
        """The current decision's row; -1 if there is none."""
        index = self.currentIndex()
        return index.row() if self.rows.is_row(index) else -1

    def go(self, row: int, column: int = -1) -> None:
        """Make a row current."""
        here = self.currentIndex().column()
        index = self.rows.index(row, column if column >= 0 else here if here in SIDES else MINE)
        self.setCurrentIndex(index)
        self.scrollTo(index)

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        self.viewport().update()
        self.row_changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index, key = self.currentIndex(), event.key()
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and index.isValid():
            last = THEIRS if self.isColumnHidden(DECISION) else DECISION
            column = min(max(index.column() + (1 if key == Qt.Key.Key_Right else -1), FIELD), last)
            self.setCurrentIndex(index.siblingAtColumn(column))
        elif key in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter) and index.column() in SIDES:
            if self.row >= 0:
                self.taken.emit(self.row, SIDES[index.column()])
        elif key == Qt.Key.Key_Space and self.row >= 0:
            self.whole_asked.emit()
        elif key == Qt.Key.Key_Escape:
            self.escaped.emit()
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self.row >= 0:
            self.reopened.emit(self.row)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        index, where = self.menu_place(event)
        if not self.rows.is_row(index):
            return
        self.setCurrentIndex(index)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Show the whole values"), self.whole_asked.emit)
        if index.column() in SIDES:
            menu.addAction(tr("Take this side"), partial(self.taken.emit, index.row(), SIDES[index.column()]))
        menu.popup(self.viewport().mapToGlobal(where))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index == self.currentIndex() and index.column() in SIDES:
            row = self.row
            if row >= 0 and self.rows.resolution.decision(row).conflict:
                self.taken.emit(row, SIDES[index.column()])

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if index.column() in SIDES and self.rows.is_row(index):
            self.taken.emit(index.row(), SIDES[index.column()])
        super().mouseDoubleClickEvent(event)
