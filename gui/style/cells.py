"""One way to draw every list and tree: a model returns :class:`Cell` values, one delegate paints them.

``CellModel`` subclasses return a ``Cell`` under :data:`CELL`; display and accessible text follow from it.
``CellTree`` is the view: full-width selection with an accent bar, chevrons, focus ring inside the cell, header rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, zip_longest
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr, replace
from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QFont,
    QFontMetrics,
    QFontMetricsF,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionHeader,
    QStyleOptionViewItem,
    QToolTip,
    QTreeView,
    QWidget,
)

from gui import turns
from gui.style import focus_ring, icons, preferences, symbols, theme, wording
from gui.style.live_resize import StandsStill
from gui.style.scrolling import put_viewport
from model.foundation.hidden_characters import plain as seen
from model.foundation.hidden_characters import visible

CELL = int(Qt.ItemDataRole.UserRole) + 1
SHORTER = CELL + 1  # of a header: its texts for less and less room, from the longest
MEASURED = 100  # rows whose texts decide how wide a column should be
BY_HAND = (QHeaderView.ResizeMode.Interactive, QHeaderView.ResizeMode.Fixed)
LEAST, FEWEST = 72, 40  # a column's least widths if there is too little room for all texts, or for these as well
ID = 120  # up to this width, ids are shown whole before dispensable columns appear
LONG, MIDDLE = 260, 100  # up to this width, texts get room before headers do; the second is for texts cut in the middle
WHOLE = 400  # up to this width, texts get room before other columns get more than they need
SHORT = 200  # width that possibly long texts keep beside a dispensable column
BRIEF = 112  # width of the last column's texts before the other texts are shown whole
LATER = 100  # milliseconds until the columns are fitted to new texts in existing rows
HEAD_MARGIN = 6  # Qt's margin at each side of a header's text, besides the padding
ENDING = 6  # characters at the end of a text that a cut leaves
VALUE = 56  # width of a value that a note after it leaves
Index = QModelIndex | QPersistentModelIndex


class Span(Struct, frozen=True):
    """A run of text in one colour; ``mark`` is the background token of differing characters."""

    text: str
    token: str = "text"
    mark: str = ""
    weight: int = 0  # 0: the cell's
    sans: bool = False  # our own word beside a value, not in fixed width
    struck: bool = False  # a removed text

    def __post_init__(self) -> None:
        if not (self.text.isascii() and self.text.isprintable()):
            force_setattr(self, "text", seen(self.text))


class Badge(Struct, frozen=True):
    """A badge after the text or, with ``right``, at the right edge."""

    text: str
    ink: str = "typ"
    ground: str = "typT"
    symbol: str = ""
    like: str = ""  # the text of the badge whose width this one takes, so that the texts after them align


class Cell(Struct, frozen=True):
    """The content of one cell. Colours are token names."""

    spans: tuple[Span, ...] = ()
    mono: bool = False
    size: float = 13
    weight: int = 400
    right: bool = False  # align right, for numbers
    middle: bool = False  # elide in the middle: ids and paths
    shared: int = 0  # leading characters that texts beside it have too: a cut in the middle is made there
    wrap: bool = False  # wrap into two lines if one is too narrow
    ground: str = ""
    hatch: bool = False  # hatched: the absent side
    icon: str = ""
    icon_token: str = "text2"
    change: str = ""  # an operation's symbol (or "conflict"), painted instead of text
    badges: tuple[Badge, ...] = ()
    badges_right: bool = False
    badges_left: bool = False  # before the text
    bar: str = ""  # a 3 px bar at the left edge
    caret: bool = False  # a drop-down can be opened here
    tick: bool = False
    marks: tuple[tuple[str, str, bool], ...] | None = None  # a small history
    check: Qt.CheckState | None = None
    radio: bool | None = None  # a radio button; True: checked
    tip: str = ""
    accessible: str = ""
    indent: int = 0

    def __post_init__(self) -> None:
        if self.accessible:
            force_setattr(self, "accessible", visible(self.accessible))

    @property
    def text(self) -> str:
        """The text without badges."""
        return "".join(span.text for span in self.spans)


def plain(text: str, token: str = "text", **more: Any) -> Cell:
    """A cell with one run of text."""
    return Cell(spans=(Span(text, token),) if text else (), **more)


def value(text: str, token: str = "text", **more: Any) -> Cell:
    """A cell with a value: fixed width, 12."""
    return Cell(spans=(Span(text, token),) if text else (), mono=True, size=12, **more)


class CellDelegate(QStyledItemDelegate):
    """Paints cells; a subclass adds editors."""

    def __init__(self, parent: QWidget | None = None, row_height: float = 24) -> None:
        super().__init__(parent)
        self.row_height = row_height

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(theme.px(40), theme.px(self.row_height))

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.text = ""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        cell = index.data(CELL)
        if not isinstance(cell, Cell):
            return
        rect = QRectF(option.rect)
        painter.save()
        painter.setClipRect(rect, Qt.ClipOperation.IntersectClip)
        state = option.state
        if cell.hatch:
            symbols.hatch(painter, rect)
        elif cell.ground and not (cell.ground == "surface" and state & QStyle.StateFlag.State_Selected):
            painter.fillRect(rect, theme.colour(cell.ground))
        if cell.bar:
            painter.fillRect(QRectF(rect.left(), rect.top(), theme.px(3), rect.height()), theme.colour(cell.bar))
        self._content(painter, rect.adjusted(theme.px(8), 0, -theme.px(8), 0), cell, option)
        if state & QStyle.StateFlag.State_HasFocus and state & QStyle.StateFlag.State_Active:
            painter.setPen(QPen(theme.colour("acc"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), theme.px(4), theme.px(4))
        painter.restore()

    def _content(self, painter: QPainter, rect: QRectF, cell: Cell, option: QStyleOptionViewItem) -> None:
        middle = rect.center().y()
        left, right = rect.left() + theme.px(cell.indent), rect.right()
        if cell.change:
            symbols.change(painter, QRectF(left, rect.top(), theme.px(14), rect.height()), cell.change)
            left += theme.px(20)
        if cell.check is not None:
            left = _check(painter, left, middle, cell.check)
        if cell.radio is not None:
            left = _radio(painter, left, middle, cell.radio)
        if cell.tick:
            icons.paint(painter, QRectF(left, middle - theme.px(7), theme.px(14), theme.px(14)), "check", "acc")
            left += theme.px(20)
        if cell.icon:
            side = theme.px(16)
            icons.paint(painter, QRectF(left, middle - side / 2, side, side), cell.icon, cell.icon_token)
            left += theme.px(24)
        if cell.marks is not None:
            symbols.miniature(painter, QRectF(left, rect.top(), right - left, rect.height()), cell.marks)
        if cell.caret:
            side = theme.px(12)
            symbols.chevron(painter, QPointF(right - side / 2, middle), True)
            right -= side + theme.px(6)
        if cell.badges_right:
            for badge in reversed(cell.badges):
                right -= symbols.badge_width(badge.text, badge.symbol)
                symbols.badge(painter, right, middle, badge.text, badge.ink, badge.ground, badge.symbol)
                right -= theme.px(6)
        if cell.badges_left:
            for badge in cell.badges:
                said, look = badge.text, (badge.ink, badge.ground, badge.symbol, badge.like)
                left = symbols.badge(painter, left, middle, said, *look) + theme.px(8)
        room = right - left
        if cell.badges and not cell.badges_right and not cell.badges_left:
            room -= sum(symbols.badge_width(b.text, b.symbol) + theme.px(8) for b in cell.badges)
        end = self._text(painter, QRectF(left, rect.top(), max(0.0, room), rect.height()), cell)
        if not cell.badges_right and not cell.badges_left:
            x = end + (theme.px(8) if cell.spans else 0)
            for badge in cell.badges:
                said = symbols.badge_cut(badge.text, badge.symbol, right - x)
                x = symbols.badge(painter, x, middle, said, badge.ink, badge.ground, badge.symbol) + theme.px(6)

    def _text(self, painter: QPainter, rect: QRectF, cell: Cell) -> float:
        spans = cell.spans
        if not spans:
            return rect.right() if cell.right else rect.left()
        look = (cell.mono, cell.size, cell.weight)
        width = sum(_advance(look, span) for span in spans)
        if cell.wrap and width > rect.width() + 0.5:
            return _two_lines(painter, rect, cell)
        if width > rect.width() + 0.5:
            behind = spans[-1:] if len(spans) > 1 and spans[-1].sans else ()  # a note after a value is not cut off
            room = rect.width() - sum(_advance(look, span) for span in behind)
            if behind and room < min(theme.px(VALUE), sum(_advance(look, span) for span in spans[:-1])):
                behind, room = (), rect.width()  # except if nothing would be left of the value
            spans = (*_elided(spans[:-1] if behind else spans, look, room, cell.middle, cell.shared), *behind)
            width = sum(_advance(look, span) for span in spans)
        x = rect.right() - width if cell.right else rect.left()
        for span in spans:
            step = _advance(look, span)
            if span.mark:
                painter.save()
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(theme.colour(span.mark))
                half = _face(*look)[1].height() / 2
                painter.drawRoundedRect(
                    QRectF(x - 1, rect.center().y() - half, step + 2, half * 2), theme.px(2), theme.px(2)
                )
                painter.restore()
            painter.setFont(_face(*_look(look, span), span.struck)[0])
            painter.setPen(theme.colour(span.token))
            painter.drawText(QRectF(x, rect.top(), step + 2, rect.height()), _ONE_LINE, span.text)
            x += step
        return x

    def helpEvent(self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index) -> bool:
        cell = index.data(CELL)
        if event.type() == QEvent.Type.ToolTip and isinstance(cell, Cell):
            fits = full_width(cell) <= view.visualRect(index).width()
            tip = cell.tip or index.data(Qt.ItemDataRole.ToolTipRole) or ("" if fits else cell.text[:2000])
            QToolTip.showText(event.globalPos(), wording.tip(tip), view)
            return True
        return super().helpEvent(event, view, option, index)


def full_width(cell: Cell) -> float:
    """The width at which nothing of a cell is cut off."""
    signs = {20: bool(cell.change), 24: cell.check is not None or bool(cell.icon), 21: cell.radio is not None}
    beside: float = sum(theme.px(wide) for wide, there in signs.items() if there) + theme.px(cell.indent)
    beside += theme.px(20) * bool(cell.tick) + theme.px(18) * bool(cell.caret)
    beside += sum(symbols.badge_width(badge.like or badge.text, badge.symbol) + theme.px(8) for badge in cell.badges)
    beside += symbols.miniature_width(cell.marks) if cell.marks else 0
    look = (cell.mono, cell.size, cell.weight)
    return theme.px(16) + beside + sum(_advance(look, span) for span in cell.spans)


def _two_lines(painter: QPainter, rect: QRectF, cell: Cell) -> float:
    """Draw a sentence in two lines, broken between words or before a note after a value; the rest is cut."""
    look = (cell.mono, cell.size, cell.weight)
    metrics, last = _face(*look)[1], cell.spans[-1]
    said = cell.text
    if cell.mono and last.sans:  # our own word gets the second line for itself
        cut = len(said) - len(last.text)
        below = replace(last, text=last.text.strip())
    else:
        cut = next((at for at in _gaps(said) if metrics.horizontalAdvance(said[:at]) <= rect.width()), 0)
        below = replace(cell.spans[0], text=said[cut:].strip())
    lines = [*([replace(cell.spans[0], text=said[:cut].strip())] if cut else []), below]
    high = metrics.height()
    top = rect.center().y() - high * len(lines) / 2
    for at, line in enumerate(lines):
        painter.setFont(_face(*_look(look, line))[0])
        painter.setPen(theme.colour(line.token))
        cut_line = _cut(_look(look, line), line.text, rect.width() + 1, False)
        painter.drawText(QRectF(rect.left(), top + at * high, rect.width() + 2, high), _ONE_LINE, cut_line)
    return rect.right()


def _gaps(said: str) -> list[int]:
    """Where a sentence may be broken, from the last place to the first."""
    return [at for at in range(len(said) - 1, 0, -1) if said[at] == " "]


_ONE_LINE = int(Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)
_Look: TypeAlias = tuple[bool, float, int]
"""Whether fixed width, the design's size, the weight."""


# Making fonts and measuring took most of the time of a paint, and a paint of many rows must not drop a frame.
@lru_cache(maxsize=256)
def _face(mono: bool, size: float, weight: int, struck: bool = False) -> tuple[QFont, QFontMetricsF]:
    font = theme.mono(size, weight) if mono else theme.font(size, weight)
    font.setStrikeOut(struck)
    return font, QFontMetricsF(font)


@lru_cache(maxsize=16384)
def _width(look: _Look, text: str) -> float:
    return _face(*look)[1].horizontalAdvance(text)


@lru_cache(maxsize=4096)
def _cut(look: _Look, text: str, room: float, middle: bool) -> str:
    side = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
    said = _face(*look)[1].elidedText(text, side, room)
    # Beside a dot of the text, or an ellipsis of its own, the mark of a cut would not be seen as one.
    return said if said == text else said.replace("….", "…") if middle else said.replace("……", "…")


@lru_cache(maxsize=4096)
def _cut_before(look: _Look, text: str, room: float, shared: int) -> str:
    """A text cut among its first ``shared`` characters, so that those in which it differs are seen."""
    differs = text[min(shared, max(0, len(text) - ENDING)) :]
    left = room - _width(look, "…" + differs)
    if left < 0:
        return _cut(look, text, room, True)
    head = next((text[:n] for n in range(len(text) - len(differs), 0, -1) if _width(look, text[:n]) <= left), "")
    return f"{head}…{differs}"


def _forget_faces() -> None:
    for kept in (_face, _width, _cut, _cut_before):
        kept.cache_clear()


theme.signals.scaled.connect(_forget_faces)


def _look(look: _Look, span: Span) -> _Look:
    """How a run is drawn inside a cell of some look."""
    return (look[0] and not span.sans, look[1], span.weight or look[2])


def _advance(look: _Look, span: Span) -> float:
    return _width(_look(look, span), span.text)


def _elided(spans: tuple[Span, ...], look: _Look, width: float, middle: bool, shared: int = 0) -> tuple[Span, ...]:
    if middle and len(spans) == 1 and shared:
        return (replace(spans[0], text=_cut_before(look, spans[0].text, width, shared)),)
    if middle and len(spans) == 1:
        return (replace(spans[0], text=_cut(look, spans[0].text, width, True)),)
    kept: list[Span] = []
    for span in spans:
        need = _width(look, span.text)
        if need <= width:
            kept.append(span)
            width -= need
            continue
        while kept and _width(look, "…") > width:  # a cut without a mark would read as the whole
            span = kept.pop()
            width += _width(look, span.text)
        rest = _cut(look, span.text + "…", width, False)
        kept.append(replace(span, text=rest, mark=span.mark if rest.strip("… ") else ""))
        break
    return tuple(kept)


def _check(painter: QPainter, left: float, middle: float, state: Qt.CheckState) -> float:
    side = theme.px(16)
    box = QRectF(left, middle - side / 2, side, side)
    icons.paint_tick(painter, box, state)
    return left + side + theme.px(8)


def _radio(painter: QPainter, left: float, middle: float, taken: bool) -> float:
    side = theme.px(15)
    centre = QPointF(left + side / 2, middle)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.colour("acc" if taken else "ctl"), 1.2))
    painter.setBrush(theme.colour("surface"))
    painter.drawEllipse(centre, side / 2, side / 2)
    if taken:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("acc"))
        painter.drawEllipse(centre, side / 4, side / 4)
    painter.restore()
    return left + side + theme.px(6)


def raised(widths: Sequence[int], wanted: Sequence[int], room: int) -> list[int]:
    """The widths raised towards the wanted ones as far as there is room; what lacks least is raised first."""
    made, left = list(widths), room - sum(widths)
    lacks = sorted(
        (more, at) for at, (wide, want) in enumerate(zip(widths, wanted, strict=True)) if (more := want - wide)
    )
    for so_far, (lack, at) in enumerate(lacks):
        more = max(0, min(lack, left // (len(lacks) - so_far)))
        made[at] += more
        left -= more
    return made


class CellModel(QAbstractItemModel):
    """Base of the models: subclasses give ``cell(index)``; the other roles follow from it."""

    headers: tuple[str, ...] = ()
    right_headers: frozenset[int] = frozenset()
    spoken_at: int | None = None
    """The column for which screen readers get the whole row, that of the arrow keys; None: they get only the cell."""

    def cell(self, index: Index) -> Cell:
        """The cell at an index; only reads memory."""
        raise NotImplementedError

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(self.headers)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == CELL:
            return self.cell(index)
        if role == Qt.ItemDataRole.DisplayRole:
            return self.cell(index).text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self.row_said(index) if index.column() == self.spoken_at else spoken(self.cell(index))
        return None

    def row_said(self, index: Index) -> str:
        """A whole row for a screen reader: the text of a cell, then the others with their headers."""
        parts = [spoken(self.cell(index))]
        for column, header in enumerate(self.headers):
            beside = self.cell(index.sibling(index.row(), column)) if column != index.column() else None
            said = spoken(beside) if beside is not None else ""
            if beside is not None and said:
                parts.append(said if beside.accessible or not header else f"{header}: {said}")
        return ", ".join(filter(None, parts))

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.headers):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.headers[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section in self.right_headers else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None


def spoken(cell: Cell) -> str:
    """The text of a cell for a screen reader."""
    words = [symbols.CHANGES[cell.change][3]] if cell.change in symbols.CHANGES else []
    said = [*words, cell.text, *(badge.text for badge in cell.badges)]
    return cell.accessible or " ".join(part for part in said if part)


def _first(index: Index) -> QModelIndex:
    return index.sibling(index.row(), 0)


class _HeldHeader(QHeaderView, StandsStill):
    """A header that knows whether a person drags it; else a change of size is not a person's.

    Text in several parts, ``v11, current, 03 Nov 2026 10:14``, loses its last parts before a word is cut, unless the
    model has shorter texts.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.is_held = False
        self.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)  # as in a tree's own

    ground = "sunken"

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.is_painted_still(event):
            super().paintEvent(event)

    def initStyleOptionForIndex(self, option: QStyleOptionHeader, index: int) -> None:
        super().initStyleOptionForIndex(option, index)
        option.fontMetrics = QFontMetrics(theme.font(11, 600))  # else Qt cuts small text where larger text would end
        said = str(self.model().headerData(index, self.orientation()) or "")
        parts = said.split(", ")
        shorter: Sequence[str] = self.model().headerData(index, self.orientation(), SHORTER) or [
            ", ".join(parts[:to]) for to in range(len(parts) - 1, 0, -1)
        ]
        if shorter:
            room = self.sectionSize(index) - self.free(index)
            fitting = (each for each in (said, *shorter) if _width((False, 11, 600), each) <= room)
            option.text = next(fitting, shorter[-1])

    def free(self, at: int) -> int:
        """The pixels beside a section's text: padding, and the sort arrow if there is one."""
        is_sorted = self.isSortIndicatorShown() and self.sortIndicatorSection() == at
        return theme.px(16 + 8 * (at == 0) + 16 * is_sorted + 2 * HEAD_MARGIN)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.is_held = True
        super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.is_held = True
        super().mouseDoubleClickEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        self.is_held = False


class CellTree(QTreeView, StandsStill):
    """The view of a :class:`CellModel`."""

    column_sized = Signal(int, int, int)
    """A person resized a column with the mouse: which one, its old and its new width."""

    def __init__(
        self, parent: QWidget | None = None, row_height: float = 24, delegate: CellDelegate | None = None
    ) -> None:
        super().__init__(parent)
        put_viewport(self)
        self.setHeader(_HeldHeader(self))
        self._given: tuple[float, ...] = ()  # the widths of the first columns, if there is room for all
        self._narrow: tuple[float, ...] = ()  # their widths in a narrower view
        self._narrow_room = 0.0
        self._was_narrow: bool | None = None
        self._dispensable: tuple[int, ...] = ()
        self._is_fitting = self._sized_by_hand = self._is_fit_due = False
        self._measured: dict[int, dict[int, tuple[float, float]]] = {}  # by row, then column, for the present texts
        self._hears_of_words = False
        self._soon, self._later = QTimer(self), QTimer(self)  # once for all rows, or texts, that come together
        for timer, wait in ((self._soon, 0), (self._later, LATER)):
            timer.setSingleShot(True)
            timer.setInterval(wait)
            timer.timeout.connect(self._fit_later)
        self._lit = QRect()  # the row drawn as hovered
        self.pointed = QModelIndex()  # the row under the pointer, asked for once a painting: X answers from afar
        self.setItemDelegate(delegate or CellDelegate(self, row_height))
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.setIndentation(theme.px(15))
        self.setMouseTracking(True)
        self.led = False  # a focused line edit moves its selection
        header = self.header()
        header.setHighlightSections(False)
        header.setSectionsMovable(False)
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.setMinimumSectionSize(theme.px(24))
        header.setFixedHeight(theme.px(28))
        header.sectionResized.connect(self._sized)
        theme.signals.scaled.connect(self._rescale)
        theme.signals.changed.connect(self.viewport().update)

    def as_list(self, model: QAbstractItemModel, name: str, widths: Iterable[float] = ()) -> None:
        """Show rows without children; ``name`` is for screen readers, ``widths`` are those of the first columns."""
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self._hears_of_words = True
        for moved in (model.modelReset, model.layoutChanged, model.rowsInserted, model.rowsRemoved, model.rowsMoved):
            moved.connect(self._forget_words)
        preferences.signals.changed.connect(self._forget_words)  # times change with the zone
        self.setModel(model)
        self.setAccessibleName(name)
        model.modelReset.connect(self._soon.start)
        model.rowsInserted.connect(self._soon.start)
        model.dataChanged.connect(self._words_came)
        self.resize_columns(widths)

    def narrow_below(
        self, room: float, narrow: Sequence[float], widths: Sequence[float], dispensable: Sequence[int] = ()
    ) -> None:
        """Give the columns ``widths``, or ``narrow`` ones if there is less ``room``; the last takes the rest.

        Texts of the last column may come later: room is kept for them. The ``dispensable`` columns are hidden, one
        after the other, if they are empty, or if texts of other columns would be cut beside them.
        """
        self._narrow_room, self._narrow, self._given = room, tuple(narrow), tuple(widths)
        self._dispensable = tuple(dispensable)

    def set_row_height(self, height: float) -> None:
        """Give the rows another height, in u."""
        delegate = self.itemDelegate()
        assert isinstance(delegate, CellDelegate)
        delegate.row_height = height
        self.doItemsLayout()

    def focusInEvent(self, event: QFocusEvent) -> None:
        had = self.currentIndex().isValid()
        super().focusInEvent(event)
        self.viewport().update()
        if not had and self.currentIndex().isValid():  # Qt makes the first row current and leaves it unselected
            self.setCurrentIndex(self.currentIndex().siblingAtColumn(max(0, self.treePosition())))

    def setCurrentIndex(self, index: Index) -> None:
        """Choose a single row.

        If several can be selected, Qt treats a key that is held down as a person's choice: with Ctrl+R still down,
        the former selection would stay beside the new row.
        """
        if self.selectionMode() == QAbstractItemView.SelectionMode.ExtendedSelection:
            flags = QItemSelectionModel.SelectionFlag
            self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        else:
            super().setCurrentIndex(index)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.customContextMenuRequested.emit(self.menu_place(event)[1])

    def menu_place(self, event: QContextMenuEvent) -> tuple[QModelIndex, QPoint]:
        """The cell that a menu is for, and the menu's point in the viewport; by key it is the current cell.

        For a key, Qt gives the point in the view, headers included: in the viewport that is the row below.
        """
        if event.reason() != QContextMenuEvent.Reason.Keyboard:
            return self.indexAt(event.pos()), event.pos()
        here = self.currentIndex()
        if self.isColumnHidden(here.column()):
            here = here.siblingAtColumn(self.header().logicalIndexAt(0))
        self.scrollTo(here)
        return here, self.visualRect(here).intersected(self.viewport().rect()).center()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._keep_current(event.oldSize().height())
        self.fit_columns()

    def _fit_later(self) -> None:
        turns.later(self, self.fit_columns)

    def fit_columns(self) -> None:
        """Fit the columns to the view's width, unless a person sized one.

        Room goes first to texts up to ``LONG``, then to headers, to the texts of the last column, to ids that were
        cut in the middle, to texts up to ``WHOLE``, and to the given widths; the rest goes to longer texts. If it is
        too little for all, columns that lack little get that, and the others share. A hidden view is fitted when it
        is shown; rows that stand still, when they go on.
        """
        self._is_fit_due = not self.isVisible() or self.still is not None
        if not self._is_fit_due:
            self._fit_columns()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.catch_up()

    def _fit_columns(self) -> None:
        is_narrow = self.viewport().width() < theme.px(self._narrow_room)
        if not self._given or (self._sized_by_hand and (not self._narrow or is_narrow == self._was_narrow)):
            return
        self._was_narrow, self._sized_by_hand = is_narrow, False
        self._is_fitting = True
        header, room = self.header(), self.viewport().width()
        words, whole = self._needs(header.count())
        given = [theme.px(width) for width in (self._narrow if is_narrow else self._given)]
        self._do_without(given, [max(n, min(w, theme.px(ID))) for n, w in zip(words, whole, strict=True)], room)
        shown = [at for at in range(header.count()) if not header.isSectionHidden(at)]
        fewest, *stages = zip(*(self._stages(at, given, words[at], whole[at]) for at in shown), strict=True)
        made = list(fewest)
        for wanted in stages:
            made = raised(made, wanted, room)
        for at, width in zip(shown, made, strict=True):
            if header.sectionResizeMode(at) in BY_HAND:
                header.resizeSection(at, width)
        self._is_fitting = False

    def _stages(self, at: int, given: Sequence[int], words: int, whole: int) -> tuple[int, ...]:
        """The widths that a column is raised to, in ascending order."""
        header, long, takes_rest = self.header(), theme.px(LONG), self._takes_rest(at)
        if header.sectionResizeMode(at) == QHeaderView.ResizeMode.Fixed or not (at < len(given) or takes_rest):
            return (given[at] if at < len(given) else header.sectionSize(at),) * 10
        awaits = takes_rest and bool(self._narrow)
        air = given[at] if at < len(given) else long if awaits else theme.px(LEAST)
        if at == self.treePosition() and self.rootIsDecorated():
            words = max(words, min(air, words + 2 * self.indentation()))  # rows further in may be expanded later
        head = 0 if header.isHidden() else min(long, self._head_width(at))
        least = min(air, theme.px(LEAST), max(words, head) if words else air)
        words = words or (long if awaits else 0)
        first = min(words, theme.px(BRIEF)) if takes_rest else words
        fewest, ids = min(least, theme.px(FEWEST)), min(theme.px(SHORT), whole)
        short, fits = first if takes_rest else words, min(theme.px(WHOLE), whole)
        return tuple(accumulate((fewest, least, first, short, head, words, ids, fits, air, whole), max))

    def _do_without(self, given: Sequence[int], words: Sequence[int], room: int) -> None:
        """Hide the dispensable columns that are empty, or that leave too little room for other texts."""
        if not self._dispensable or not self.model().rowCount():
            return
        claims = self._claims(given, words)
        stretched = QHeaderView.ResizeMode.Stretch  # its texts come later, and nothing else may move for them
        filled = {at for at in self._dispensable if words[at] or self.header().sectionResizeMode(at) == stretched}
        others = {at for at in range(len(claims)) if at not in self._dispensable and not self.isColumnHidden(at)}
        taken = sum(claims[at] for at in filled | others)
        for at in self._dispensable:
            goes = at in filled and taken > room
            taken -= claims[at] if goes else 0
            self.setColumnHidden(at, goes or at not in filled)

    def _claims(self, given: Sequence[int], words: Sequence[int]) -> list[int]:
        """The width that each column claims beside the others."""
        heads = [min(theme.px(LEAST), self._head_width(at)) for at in range(len(words))]
        claims = [max(need or wide, head) for need, wide, head in zip_longest(words, given, heads, fillvalue=0)]
        claims = [
            min(claim, theme.px(BRIEF if at in self._dispensable else SHORT)) if self._takes_rest(at) else claim
            for at, claim in enumerate(claims)
        ]
        if self._narrow:
            claims[-1] = theme.px(SHORT)  # its texts may come later: no column appears or disappears then
        return claims

    def _takes_rest(self, at: int) -> bool:
        """Whether a column takes the room that the others leave."""
        header = self.header()
        if header.sectionResizeMode(at) == QHeaderView.ResizeMode.Stretch:
            return True
        return header.stretchLastSection() and all(map(header.isSectionHidden, range(at + 1, header.count())))

    def _needs(self, columns: int) -> tuple[list[int], list[int]]:
        """The widths at which the texts of the first rows can be read, and at which nothing is cut; 0: no text."""
        if not self._hears_of_words:
            self._forget_words()
        rows, enough = min(self.model().rowCount(), MEASURED), max(self.viewport().width(), theme.px(LONG))
        words, whole = [0.0] * columns, [0.0] * columns
        for at in range(columns):
            for row in range(rows):
                measured = self._measured.setdefault(row, {})
                if at not in measured:
                    measured[at] = self._measure(row, at)
                said, wide = measured[at]
                words[at], whole[at] = max(words[at], said), max(whole[at], wide)
                if wide > enough:  # long values need not be made only to be measured
                    break
        return [math.ceil(need) for need in words], [math.ceil(need) for need in whole]

    def _measure(self, row: int, column: int) -> tuple[float, float]:
        """The width at which a cell's text can be read, and the one at which nothing is cut; 0: no text."""
        model = self.model()
        cell = model.data(model.index(row, column), CELL)
        if not isinstance(cell, Cell) or not (cell.spans or cell.badges or cell.marks):
            return 0.0, 0.0
        wide = full_width(cell)
        return min(wide, theme.px(MIDDLE if cell.middle else LONG)), wide

    def _head_width(self, at: int) -> int:
        """The width at which a header is not cut."""
        said = self.model().headerData(at, Qt.Orientation.Horizontal) or ""
        header = self.header()
        assert isinstance(header, _HeldHeader)
        return math.ceil(_width((False, 11, 600), said)) + header.free(at) if said else 0

    def _forget_words(self) -> None:
        self._measured.clear()

    def _words_came(self, first: QModelIndex, last: QModelIndex) -> None:
        for row in range(first.row(), min(last.row() + 1, MEASURED)):
            for column in range(first.column(), last.column() + 1):
                self._measured.get(row, {}).pop(column, None)
        is_seen = self.visualRect(first).top() < self.viewport().height()  # else nothing moves for what nobody sees
        if self._given and is_seen and not self._later.isActive():
            self._later.start(LATER if self.updatesEnabled() else 0)  # what is not drawn yet moves for nobody

    def _sized(self, column: int, old: int, new: int) -> None:
        header = self.header()
        if self._is_fitting or not (isinstance(header, _HeldHeader) and header.is_held):
            return
        is_seen = old and new  # else it is hidden, or shown again
        if is_seen and header.sectionResizeMode(column) in BY_HAND and not self._takes_rest(column):
            self._sized_by_hand = self._sized_by_hand or column < len(self._given)
            self.column_sized.emit(column, old, new)

    def keep_columns(self) -> None:
        """Leave the columns as they are: a person resized them earlier."""
        self._sized_by_hand = True

    def scrollTo(
        self, index: Index, hint: QAbstractItemView.ScrollHint = QAbstractItemView.ScrollHint.EnsureVisible
    ) -> None:
        """Scroll to a row, so that no half row is left below the header."""
        bar = self.verticalScrollBar()
        before = bar.value()
        super().scrollTo(index, hint)
        self._end_at_a_row()  # Qt sometimes allows less scrolling
        if bar.value() <= before:
            return
        first = self.visualRect(self.indexAt(QPoint(0, 0)))
        if first.top() < 0 and self.visualRect(index).top() > first.bottom():
            bar.setValue(bar.value() + first.bottom() + 1)

    def updateGeometries(self) -> None:
        before = self.verticalScrollBar().value()
        super().updateGeometries()
        if self._end_at_a_row():
            self.verticalScrollBar().setValue(before)

    def _end_at_a_row(self) -> bool:
        """Extend scrolling so that at the end of the list, too, a whole row is below the header."""
        bar, row = self.verticalScrollBar(), self.rowHeight(self.model().index(0, 0)) if self.model() is not None else 0
        over = bar.maximum() % row if row > 0 else 0
        if over:
            bar.setMaximum(bar.maximum() + row - over)
        return bool(over)

    def _keep_current(self, before: int) -> None:
        """Keep the current row in sight when the view gets lower."""
        current = self.currentIndex()
        if current.isValid() and self.viewport().height() < before:
            row = self.visualRect(current)
            if row.bottom() >= self.viewport().height() and row.top() < before:
                self.scrollTo(current)

    def resize_columns(self, widths: Iterable[float], dispensable: Sequence[int] = ()) -> None:
        """Set the first columns' widths for a view with room for all; ``dispensable`` as in :meth:`narrow_below`."""
        self._given, self._dispensable = tuple(widths), tuple(dispensable)
        self._sized_by_hand = False
        self._fit_columns()

    def _rescale(self) -> None:
        self._forget_words()
        if not self._sized_by_hand:
            self._soon.start()  # by then the zoom has resized the columns
        self.header().setFixedHeight(theme.px(28))
        self.setIndentation(theme.px(15) if self.rootIsDecorated() else 0)
        self.viewport().update()

    def catch_up(self) -> None:
        if self._is_fit_due:
            self.fit_columns()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.is_painted_still(event):
            return
        self.pointed = self._pointed() if self.underMouse() else QModelIndex()
        super().paintEvent(event)
        if self.hasFocus() and not self.visualRect(self.currentIndex()).intersects(self.viewport().rect()):
            focus_ring.frame(self.viewport())  # no cell shows the focus

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def drawRow(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = QRect(0, option.rect.top(), self.viewport().width(), option.rect.height())
        selection = self.selectionModel()
        chosen = selection is not None and selection.isRowSelected(index.row(), index.parent())
        if chosen:
            active = self.hasFocus() or self.isAncestorOf(self.window().focusWidget() or self) or self.led
            painter.fillRect(row, theme.colour("sel" if active else "selOff"))
            painter.fillRect(QRect(0, row.top(), theme.px(3), row.height()), theme.colour("acc"))
        elif self.pointed.isValid() and self.pointed == _first(index):
            self._lit = row
            painter.fillRect(row, theme.colour("hover"))
        super().drawRow(painter, option, index)

    def viewportEvent(self, event: QEvent) -> bool:
        """Redraw the row that the pointer left; Qt forgets it when a model is refilled."""
        moved = event.type() in (QEvent.Type.HoverMove, QEvent.Type.HoverLeave)
        if moved and not self._lit.contains(self.viewport().mapFromGlobal(self.cursor().pos())):
            self.viewport().update(self._lit)
            self._lit = QRect()
        return super().viewportEvent(event)

    def _pointed(self) -> QModelIndex:
        return _first(self.indexAt(self.viewport().mapFromGlobal(self.cursor().pos())))

    def drawBranches(self, painter: QPainter, rect: QRect, index: Index) -> None:
        model = self.model()
        if model is None or not model.hasChildren(_first(index)):
            return
        side = theme.px(12)
        middle = QPointF(rect.right() - side / 2 - 0.5, rect.top() + rect.height() / 2)
        symbols.chevron(painter, middle, self.isExpanded(_first(index)))


__all__ = [
    "CELL",
    "Badge",
    "Cell",
    "CellDelegate",
    "CellModel",
    "CellTree",
    "Span",
    "full_width",
    "plain",
    "raised",
    "spoken",
    "value",
]
