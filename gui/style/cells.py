"""One way to draw every list and tree: a model hands out a :class:`Cell`, one delegate paints it.

``CellModel`` subclasses return a ``Cell`` under :data:`CELL`; display and accessible text follow from it.
``CellTree`` is the view: full-width selection with an accent bar, chevrons, focus ring inside the cell, header rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
)
from PySide6.QtGui import QFocusEvent, QFont, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QTreeView,
    QWidget,
)

from gui.style import icons, symbols, theme, wording
from model.hidden_characters import visible
from model.text.display import plain as seen

CELL = int(Qt.ItemDataRole.UserRole) + 1
MEASURED = 100  # rows whose words say how wide a column should be
BY_HAND = (QHeaderView.ResizeMode.Interactive, QHeaderView.ResizeMode.Fixed)
LEAST = 72  # of a column in a view that is too narrow for all of them
VALUE = 56  # what a word behind a value leaves of it
LAST = 260  # what the last column keeps, whose words may come later
SHORT, SHORTEST = 200, 112  # what it keeps beside columns that can be done without, and beside the words of the others
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class Span:
    """A run of text in one colour; ``mark`` is the token behind differing characters."""

    text: str
    token: str = "text"
    mark: str = ""
    weight: int = 0  # 0: the cell's
    sans: bool = False  # a word of ours beside a value, not in fixed width
    struck: bool = False  # a removed text

    def __post_init__(self) -> None:
        if not (self.text.isascii() and self.text.isprintable()):
            object.__setattr__(self, "text", seen(self.text))


@dataclass(frozen=True)
class Badge:
    """A badge after (or, with ``right``, at the right edge of) the text."""

    text: str
    ink: str = "typ"
    ground: str = "typT"
    symbol: str = ""


@dataclass(frozen=True)
class Cell:
    """The content of one cell. Colours are token names."""

    spans: tuple[Span, ...] = ()
    mono: bool = False
    size: float = 13
    weight: int = 400
    right: bool = False  # numbers stand right
    middle: bool = False  # elide in the middle: ids and paths
    wrap: bool = False  # two lines where one is too narrow
    ground: str = ""
    hatch: bool = False  # the absent side
    icon: str = ""
    icon_token: str = "text2"
    change: str = ""  # an operation's symbol (or "conflict"), painted in place of text
    badges: tuple[Badge, ...] = ()
    badges_right: bool = False
    badges_left: bool = False  # before the text
    bar: str = ""  # a 3 px bar at the left edge
    caret: bool = False  # a drop-down can be opened here
    tick: bool = False
    marks: tuple[tuple[str, str, bool], ...] | None = None  # a history in miniature
    check: Qt.CheckState | None = None
    radio: bool | None = None  # a choice that can be taken; True: taken
    tip: str = ""
    accessible: str = ""
    indent: int = 0

    def __post_init__(self) -> None:
        if self.accessible:
            object.__setattr__(self, "accessible", visible(self.accessible))

    @property
    def text(self) -> str:
        """The words alone."""
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
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        if cell.hatch:
            symbols.hatch(painter, rect)
        elif cell.ground and not (chosen and cell.ground == "surface"):
            painter.fillRect(rect, theme.colour(cell.ground))
        if cell.bar:
            painter.fillRect(QRectF(rect.left(), rect.top(), theme.px(3), rect.height()), theme.colour(cell.bar))
        self._content(painter, rect.adjusted(theme.px(8), 0, -theme.px(8), 0), cell, option)
        focus = bool(option.state & QStyle.StateFlag.State_HasFocus) and bool(
            option.state & QStyle.StateFlag.State_Active
        )
        if focus:
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
                left = symbols.badge(painter, left, middle, badge.text, badge.ink, badge.ground, badge.symbol)
                left += theme.px(8)
        room = right - left
        if cell.badges and not cell.badges_right and not cell.badges_left:
            room -= sum(symbols.badge_width(b.text, b.symbol) + theme.px(8) for b in cell.badges)
        end = self._text(painter, QRectF(left, rect.top(), max(0.0, room), rect.height()), cell)
        if not cell.badges_right and not cell.badges_left:
            x = end + (theme.px(8) if cell.spans else 0)
            for badge in cell.badges:
                x = symbols.badge(painter, x, middle, badge.text, badge.ink, badge.ground, badge.symbol) + theme.px(6)

    def _text(self, painter: QPainter, rect: QRectF, cell: Cell) -> float:
        spans = cell.spans
        if not spans:
            return rect.right() if cell.right else rect.left()
        look = (cell.mono, cell.size, cell.weight)
        width = sum(_advance(look, span) for span in spans)
        if cell.wrap and width > rect.width() + 0.5:
            return _two_lines(painter, rect, cell)
        if width > rect.width() + 0.5:
            behind = spans[-1:] if len(spans) > 1 and spans[-1].sans else ()  # a word behind a value is not cut off
            room = rect.width() - sum(_advance(look, span) for span in behind)
            if behind and room < min(theme.px(VALUE), sum(_advance(look, span) for span in spans[:-1])):
                behind, room = (), rect.width()  # unless nothing would be left of the value
            spans = (*_elided(spans[:-1] if behind else spans, look, room, cell.middle), *behind)
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
    """The width that a cell needs so that nothing of it is cut off."""
    signs = {20: bool(cell.change), 24: cell.check is not None or bool(cell.icon), 21: cell.radio is not None}
    beside: float = sum(theme.px(wide) for wide, there in signs.items() if there) + theme.px(cell.indent)
    beside += theme.px(20) * bool(cell.tick) + theme.px(18) * bool(cell.caret)
    beside += sum(symbols.badge_width(badge.text, badge.symbol) + theme.px(8) for badge in cell.badges)
    look = (cell.mono, cell.size, cell.weight)
    return theme.px(16) + beside + sum(_advance(look, span) for span in cell.spans)


def _two_lines(painter: QPainter, rect: QRectF, cell: Cell) -> float:
    """Draw a sentence in two lines, broken between words, the second cut where it is too long; all in one colour."""
    font, metrics = _face(cell.mono, cell.size, cell.weight)
    said = cell.text
    cut = next((at for at in _gaps(said) if metrics.horizontalAdvance(said[:at]) <= rect.width()), 0)
    rest = metrics.elidedText(said[cut:].strip(), Qt.TextElideMode.ElideRight, int(rect.width()))
    lines = [said[:cut].strip(), rest] if cut else [rest]
    painter.setFont(font)
    painter.setPen(theme.colour(cell.spans[0].token))
    high = metrics.height()
    top = rect.center().y() - high * len(lines) / 2
    for at, line in enumerate(lines):
        painter.drawText(QRectF(rect.left(), top + at * high, rect.width() + 2, high), _ONE_LINE, line)
    return rect.right()


def _gaps(said: str) -> list[int]:
    """Where a sentence may be broken, last first."""
    return [at for at in range(len(said) - 1, 0, -1) if said[at] == " "]


_ONE_LINE = int(Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)
_Look: TypeAlias = tuple[bool, float, int]
"""Whether in fixed width, the size of the design, the weight."""


# Making a font and measuring with it took most of the time of a paint; a paint of many rows must not miss a beat.
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
    return _face(*look)[1].elidedText(text, side, room)


def _forget_faces() -> None:
    for kept in (_face, _width, _cut):
        kept.cache_clear()


theme.signals.changed.connect(_forget_faces)


def _look(look: _Look, span: Span) -> _Look:
    """The way that one run is drawn in a cell of a look."""
    return (look[0] and not span.sans, look[1], span.weight or look[2])


def _advance(look: _Look, span: Span) -> float:
    return _width(_look(look, span), span.text)


def _elided(spans: tuple[Span, ...], look: _Look, width: float, middle: bool) -> tuple[Span, ...]:
    if middle and len(spans) == 1:
        return (replace(spans[0], text=_cut(look, spans[0].text, width, True)),)
    kept: list[Span] = []
    for span in spans:
        need = _width(look, span.text)
        if need <= width:
            kept.append(span)
            width -= need
            continue
        while kept and _width(look, "…") > width:  # a cut without a sign of it would read as the whole
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


class CellModel(QAbstractItemModel):
    """Base of the models: subclasses give ``cell(index)``; the other roles follow from it."""

    headers: tuple[str, ...] = ()
    right_headers: frozenset[int] = frozenset()

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
            cell = self.cell(index)
            words = [symbols.CHANGES[cell.change][3]] if cell.change in symbols.CHANGES else []
            said = [*words, cell.text, *(badge.text for badge in cell.badges)]
            return cell.accessible or " ".join(part for part in said if part)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.headers):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.headers[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section in self.right_headers else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None


def _first(index: Index) -> QModelIndex:
    return index.sibling(index.row(), 0)


class CellTree(QTreeView):
    """The view of a :class:`CellModel`."""

    def __init__(
        self, parent: QWidget | None = None, row_height: float = 24, delegate: CellDelegate | None = None
    ) -> None:
        super().__init__(parent)
        self._fitting: tuple[float, Sequence[float], Sequence[float]] | None = None
        self._given: tuple[float, ...] = ()  # the widths of the first columns where there is room for all of them
        self._narrow: bool | None = None
        self._dispensable: tuple[int, ...] = ()
        self._is_fitting = self._sized_by_hand = False
        self._soon = QTimer(self)  # once for all rows that come together
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self.fit_columns)
        self._lit = QRect()  # the row that is drawn as lying under the pointer
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
        self.led = False  # chosen in by a line that has the focus itself
        header = self.header()
        header.setHighlightSections(False)
        header.setSectionsMovable(False)
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setMinimumSectionSize(theme.px(24))
        header.setFixedHeight(theme.px(28))
        header.sectionResized.connect(self._sized)
        theme.signals.changed.connect(self._restyle)

    def as_list(self, model: QAbstractItemModel, name: str, widths: Iterable[float] = ()) -> None:
        """Show rows that have none below them; ``name`` is for screen readers, ``widths`` are of the first columns."""
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self.setModel(model)
        self.setAccessibleName(name)
        model.modelReset.connect(self._soon.start)
        model.rowsInserted.connect(self._soon.start)
        self._resize_columns(widths)

    def narrow_below(
        self, room: float, narrow: Sequence[float], widths: Sequence[float], dispensable: Sequence[int] = ()
    ) -> None:
        """Give the columns ``widths``, or the ``narrow`` ones where there is less ``room``; the last takes the rest.

        Room that the last does not need goes to those whose words would be cut, until a person sizes a column. The
        ``dispensable`` columns are hidden, one after the other, where words of the others would be cut beside them, and
        where no row has a word in them.
        """
        self._fitting = (room, narrow, widths)
        self._dispensable = tuple(dispensable)

    def focusInEvent(self, event: QFocusEvent) -> None:
        had = self.currentIndex().isValid()
        super().focusInEvent(event)
        self.viewport().update()
        if not had and self.currentIndex().isValid():  # Qt makes the first row the current one and leaves it unselected
            self.setCurrentIndex(self.currentIndex().siblingAtColumn(max(0, self.treePosition())))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._keep_current(event.oldSize().height())
        self.fit_columns()

    def fit_columns(self) -> None:
        """Fit the columns to the view's width, where no person sized one."""
        if self._fitting is None:
            self._squeeze()
            return
        room, narrow, widths = self._fitting
        is_narrow = self.viewport().width() < theme.px(room)
        if is_narrow == self._narrow and self._sized_by_hand:
            return
        self._narrow, self._sized_by_hand = is_narrow, False
        least = [theme.px(width) for width in (narrow if is_narrow else widths)]
        needs = self._needs(len(least) + 1)
        self._is_fitting = True
        last = min(theme.px(LAST), max(round(needs[-1]), theme.px(LEAST)))
        if self._dispensable and self.model().rowCount():
            last = self._do_without(least, needs, last)
        seen = sum(0 if self.isColumnHidden(at) else width for at, width in enumerate(least))
        spare = self.viewport().width() - seen - max(round(needs[-1]), theme.px(LAST))
        least = self._squeezed(least, seen + last - self.viewport().width(), needs)
        for at, width in enumerate(least):
            if self.isColumnHidden(at):
                continue
            more = max(0, min(spare, round(needs[at] + 0.5) - width))
            spare -= more
            least[at] = width + more
        for at, width in enumerate(self._levelled(least, needs)):
            self.header().resizeSection(at, width)
        self._is_fitting = False

    def _do_without(self, least: Sequence[int], needs: Sequence[float], last: int) -> int:
        """Hide the columns that there is no room for; returns the width of the last, whose words are cut first."""
        words = [round(need + 0.5) or width for need, width in zip(needs, least, strict=False)]
        room = self.viewport().width()
        taken = sum(words[at] for at in range(len(words)) if at not in self._dispensable or needs[at])
        for at in self._dispensable:
            goes = bool(needs[at]) and taken + theme.px(SHORT) > room
            taken -= words[at] if goes else 0
            self.setColumnHidden(at, goes or not needs[at])
        return max(min(theme.px(SHORTEST), last), min(last, room - taken))

    def _needs(self, columns: int) -> list[float]:
        """The widths that the first rows need in each column so that nothing of them is cut."""
        model = self.model()
        needs = [0.0] * columns
        for row in range(min(model.rowCount(), MEASURED)):
            for at in range(columns):
                cell = model.index(row, at).data(CELL)
                if isinstance(cell, Cell) and (cell.spans or cell.badges):
                    needs[at] = max(needs[at], full_width(cell))
        return needs

    def _fit_again(self) -> None:
        self._sized_by_hand, self._narrow = False, None
        self.fit_columns()

    def _squeeze(self) -> None:
        """Take from the columns what the view is too narrow for; all of them stay in sight."""
        if not self._given or self._sized_by_hand:
            return
        widths = [theme.px(width) for width in self._given]
        header = self.header()
        further = [at for at in range(len(widths), header.count()) if not header.isSectionHidden(at)]
        rest = sum(theme.px(LEAST) if header.stretchLastSection() else header.sectionSize(at) for at in further)
        seen = sum(0 if self.isColumnHidden(at) else width for at, width in enumerate(widths))
        self._is_fitting = True
        over, level = seen + rest - self.viewport().width(), header.stretchLastSection() and len(further) == 1
        made = widths
        if over > 0 or level:
            needs = self._needs(len(widths) + 1)
            made = self._squeezed(widths, over, needs)
            made = self._levelled(made, needs) if level else made
        for at, width in enumerate(made):
            header.resizeSection(at, width)
        self._is_fitting = False

    def _levelled(self, widths: Sequence[int], needs: Sequence[float]) -> list[int]:
        """The widths in which words that would be cut have taken the empty room of other columns.

        The column behind these takes the rest of the view; it and each of them are made no wider than ``LAST``.
        """
        seen = [not self.isColumnHidden(at) for at in range(len(widths))]
        rest = self.viewport().width() - sum(w for w, shown in zip(widths, seen, strict=True) if shown)
        made, seen = [*widths, rest], [*seen, True]
        words = [round(need + 0.5) for need in needs]
        header = self.header()
        heads = [0 if header.isHidden() else header.sectionSizeHint(at) for at in range(len(made))]
        for wanted in (words, [max(pair) for pair in zip(words, heads, strict=True)]):  # headers take what words leave
            made = self._shared(made, wanted, seen)
        return made[:-1]

    @staticmethod
    def _shared(widths: Sequence[int], needs: Sequence[int], seen: Sequence[bool]) -> list[int]:
        """The widths after columns that lack some of their ``needs`` have taken what others have beyond theirs."""
        columns = list(zip(widths, needs, seen, strict=True))
        lacks = [max(0, min(need, theme.px(LAST)) - wide) * shown for wide, need, shown in columns]
        spare = [max(0, wide - max(need, theme.px(LEAST))) * shown for wide, need, shown in columns]
        moved = min(sum(lacks), sum(spare))
        if not moved:
            return list(widths)
        given = [int(moved * lack / sum(lacks)) for lack in lacks]
        taken = [math.ceil(sum(given) * part / sum(spare)) for part in spare]
        return [wide + more - less for wide, more, less in zip(widths, given, taken, strict=True)]

    def _squeezed(self, widths: Sequence[int], over: int, needs: Sequence[float]) -> list[int]:
        """The widths of the first columns without the pixels that are too many; none below ``LEAST``.

        Empty room goes first, then words.
        """
        made = list(widths)
        if over <= 0:
            return made
        words = [max(theme.px(LEAST), round(need + 0.5)) for need in needs[: len(made)]]
        for floors in (words, [theme.px(LEAST)] * len(made)):
            gives = [
                max(0, wide - floor) * (not self.isColumnHidden(at))
                for at, (wide, floor) in enumerate(zip(made, floors, strict=True))
            ]
            part = min(1.0, max(0, over) / sum(gives)) if any(gives) else 0.0
            taken = [math.ceil(part * give) for give in gives]
            over -= sum(taken)
            made = [wide - less for wide, less in zip(made, taken, strict=True)]
        return made

    def _sized(self, column: int, old: int, new: int) -> None:
        if not old or not new:
            return  # it is hidden, or shown again
        header, given = self.header(), self._given if self._fitting is None else self._fitting[2]
        follows = header.stretchLastSection() and column == header.count() - 1
        of_person = self.isVisible() and not self._is_fitting and header.sectionResizeMode(column) in BY_HAND
        if of_person and column < len(given) and not follows:
            self._sized_by_hand = True

    @property
    def is_fitting(self) -> bool:
        """Whether the columns are being fitted to the view, and nobody sizes them."""
        return self._is_fitting

    def keep_columns(self) -> None:
        """Leave the columns as they are: a person sized them earlier."""
        self._sized_by_hand = True

    def _keep_current(self, before: int) -> None:
        """Keep the current row in sight where the view has become lower than it was."""
        current = self.currentIndex()
        if current.isValid() and self.viewport().height() < before:
            row = self.visualRect(current)
            if row.bottom() >= self.viewport().height() and row.top() < before:
                self.scrollTo(current)

    def _resize_columns(self, widths: Iterable[float]) -> None:
        self._given = tuple(widths)
        self._sized_by_hand = False
        self._squeeze()

    def _restyle(self) -> None:
        if not self._sized_by_hand:
            QTimer.singleShot(0, self, self._fit_again)  # the zoom sizes the columns by then
        self.header().setFixedHeight(theme.px(28))
        self.setIndentation(theme.px(15) if self.rootIsDecorated() else 0)
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus() and not self.visualRect(self.currentIndex()).intersects(self.viewport().rect()):
            painter = QPainter(self.viewport())  # no cell shows the focus
            width = theme.px(2)
            painter.setPen(QPen(theme.colour("acc"), width))
            painter.drawRect(QRectF(self.viewport().rect()).adjusted(width / 2, width / 2, -width / 2, -width / 2))

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
        elif self.underMouse() and self._pointed() == _first(index):
            self._lit = row
            painter.fillRect(row, theme.colour("hover"))
        super().drawRow(painter, option, index)

    def viewportEvent(self, event: QEvent) -> bool:
        """Draw the row anew that the pointer has left; Qt forgets which one that is where a model is filled anew."""
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


__all__ = ["CELL", "Badge", "Cell", "CellDelegate", "CellModel", "CellTree", "Span", "full_width", "plain", "value"]
