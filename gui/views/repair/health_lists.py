"""The two lists of the health page: each class over the scans, and the scans themselves."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QStyleOptionViewItem, QWidget

from gui.language import tr, translated
from gui.paging import RowsModel
from gui.style import theme, wording
from gui.style.cells import Badge, Cell, CellDelegate, CellTree, Index, Span, plain, value
from gui.views.repair.repair_words import badge, code_badge
from model.session.health import Counted, Course, step_text, steps, told
from model.session.repairs import class_of

CLASS, BARS, FIRST, BEFORE, LAST, CHANGE = range(6)
SHOWN = 24
"""Scans that are drawn; older ones are in the list of scans."""
_PITCH, _BAR = 10, 7


class CoursesModel(RowsModel[Course]):
    """A row for each class ever found in a place."""

    headers = (tr("Class"), tr("Over the scans"), tr("First"), tr("Before"), tr("Now"), tr("Since the first scan"))
    right_headers = frozenset({FIRST, BEFORE, LAST})
    spoken_at = None  # the class and its course are already a sentence

    def key(self, row: Course) -> Hashable:
        return row.code

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        found = class_of(row.code)
        match index.column():
            case 0:
                said = f"{row.code}, {translated(found.title)}: {spoken(row)}"
                tip = f"{translated(found.meaning)} {translated(found.today)}".strip()
                return Cell(
                    spans=(Span(translated(found.title)),),
                    badges=(code_badge(found),),
                    badges_left=True,
                    accessible=said,
                    tip=tip,
                    indent=8,
                )
            case 1:
                return Cell(accessible=spoken(row), tip=spoken(row))
            case 2:
                return value(wording.count(row.first) if row.known else "", "text2", right=True)
            case 3:
                return value(wording.count(row.known[-2]) if len(row.known) > 1 else "", "text2", right=True)
            case 4:
                return value(wording.count(row.last) if row.known else "", right=True)
        return _change(row)


def _change(row: Course) -> Cell:
    by = row.last - row.first
    if len(row.known) < 2:
        return plain(tr("One scan so far") if row.known else "", "text2")
    if not row.last:
        gone = tr("Gone") if row.first else tr("None now; some in between")
        return Cell(spans=(Span(gone),), tick=True)
    if by > 0:
        said = tr("New") if not row.first else tr("{by} more", by=wording.count(by))
        return Cell(badges=(Badge(said, "warn", "warnT"),))
    return plain(tr("{said} fewer", said=wording.count(-by)) if by else tr("The same"), "text" if by else "text2")


def spoken(row: Course) -> str:
    """A course as a sentence, for people who cannot see the bars: ``15, 15, 1 findings in the last 3 scans``."""
    said = ", ".join(tr("not known") if count is None else wording.count(count) for count in row.counts[-SHOWN:])
    shown = min(len(row.counts), SHOWN)
    if shown == 1:
        return tr("{said} in one scan", said=said)
    return tr("{said} in the last {shown} scans, oldest first", said=said, shown=shown)


class BarsDelegate(CellDelegate):
    """Draws cells as elsewhere, and bars in the column of courses."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        model = index.model()
        if index.column() == BARS and isinstance(model, CoursesModel):
            row = model.rows[index.row()]
            painter.save()
            bars(painter, QRectF(option.rect), row.counts, badge(class_of(row.code))[0])
            painter.restore()


def bars(painter: QPainter, rect: QRectF, counts: Sequence[int | None], ink: str) -> None:
    """A bar per scan, old to new, the last one coloured; flat: no findings, a slash: the scan was stopped."""
    pitch, width = theme.px(_PITCH), theme.px(_BAR)
    room = rect.adjusted(theme.px(8), theme.px(5), -theme.px(8), -theme.px(5))
    counts = counts[-max(1, min(SHOWN, int((room.width() + pitch - width) // pitch))) :]
    most = max((count for count in counts if count is not None), default=0)
    base = round(room.bottom())
    last = max((at for at, count in enumerate(counts) if count is not None), default=-1)
    for at, count in enumerate(counts):
        x = round(room.left()) + at * pitch
        if count is None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(theme.colour("ctl"), 1))
            painter.drawLine(QPointF(x, base), QPointF(x + width, base - width))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            continue
        # One of very many must still be visible.
        high = max(theme.px(3), round(room.height() * count / most)) if count else theme.px(2)
        token = ("acc" if not count else ink) if at == last else "ctl"
        painter.fillRect(QRectF(x, base - high, width, high), theme.colour(token))


class CourseList(CellTree):
    """The view of the classes."""

    WIDTHS = (290, 258, 72, 72, 72, 200)
    NARROW = (226, 258, 62, 66, 62, 180)
    DISPENSABLE = (3, 2)  # the counts before, which the bars show too

    def __init__(self, model: CoursesModel, parent: QWidget | None = None) -> None:
        super().__init__(parent, delegate=BarsDelegate(None, 28))
        self.itemDelegate().setParent(self)
        self.as_list(model, tr("Findings by class, over the scans"))
        self.narrow_below(1000, self.NARROW, self.WIDTHS, dispensable=self.DISPENSABLE)


class ScansModel(RowsModel[tuple[Counted, Counted | None]]):
    """Scans, newest first, each with the one it is compared with."""

    headers = (
        tr("When"),
        tr("Documents"),
        tr("Took"),
        tr("Findings"),
        tr("By class, and the change since the scan before"),
    )
    right_headers = frozenset({1, 2, 3})

    def key(self, row: tuple[Counted, Counted | None]) -> Hashable:
        return row[0].at, row[0].subject

    def cell(self, index: Index) -> Cell:
        scan, before = self.rows[index.row()]
        match index.column():
            case 0:
                return plain(wording.moment(scan.at), indent=8)
            case 1:
                return value(wording.count(scan.documents), "text2", right=True)
            case 2:
                return value(took(scan.seconds), "text2", right=True)
            case 3:
                return value(wording.count(scan.findings), right=True)
        said = told(scan, before) or tr("Nothing found")
        left = tr("{unchecked} not checked", unchecked=wording.count(scan.unchecked)) if scan.unchecked else ""
        spans = [Span(tr("Nothing found"), "text2")] if not steps(scan, before) else []
        for step in steps(scan, before):
            moved = step[1] != step[2]
            spans += [Span(", ", "text2")] if spans else []
            spans += [Span(step_text(*step), "text" if moved else "text2", weight=600 if moved else 0)]
        spans += [Span(f"    {left}", "text2")] if left else []
        stopped = () if scan.whole else (Badge(tr("Stopped"), "warn", "warnT"),)
        words = ", ".join(filter(None, (tr("stopped before its end") if stopped else "", said, left)))
        tip = (
            words
            if scan.whole
            else tr("{words}. A stopped scan did not see everything, so it is not compared.", words=words)
        )
        return Cell(spans=tuple(spans), badges=stopped, badges_left=True, accessible=words, tip=tip)


class ScanList(CellTree):
    """The view of the scans."""

    def __init__(self, model: ScansModel, parent: QWidget | None = None) -> None:
        super().__init__(parent, row_height=28)
        self.as_list(model, tr("Scans, newest first"), (160, 100, 80, 84, 400))


def took(seconds: float) -> str:
    """``0.4 s``, ``12 s``, ``3 min``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else tr("{seconds:.0f} min", seconds=seconds / 60)
