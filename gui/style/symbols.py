"""The painted symbols: changes, marks of stored versions, badges, hatching.

Symbols are painted, never typed, so that no font can lack or distort them. They use logical pixels on any painter;
:func:`gui.style.theme.px` scales them with the system font.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF

from gui.language import tr
from gui.style import icons, theme

# operation -> (token of the symbol, tint, stronger tint for the differing characters, words)
CHANGES: dict[str, tuple[str, str, str, str]] = {
    "add": ("add", "addT", "addS", tr("added")),
    "remove": ("rem", "remT", "remS", tr("removed")),
    "replace": ("chg", "chgT", "chgS", tr("changed")),
    "retype": ("typ", "typT", "typS", tr("type only")),
    "move": ("chg", "chgT", "chgS", tr("moved")),
    "reorder": ("chg", "chgT", "chgS", tr("reordered")),
    "text": ("chg", "chgT", "chgS", tr("text edited")),
}


def change(painter: QPainter, rect: QRectF, op: str, token: str = "", width: float = 12) -> None:
    """Draw the symbol of an operation (or ``conflict``: an exclamation mark) centred in a rectangle."""
    ink = theme.colour(token or ("warn" if op == "conflict" else CHANGES[op][0]))
    half = theme.px(width) / 2
    x, y = rect.center().x(), rect.center().y()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    pen = QPen(
        ink, max(1.4, theme.px(16) / 10), Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin
    )
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    u = half / 6
    if op in ("add", "remove"):
        painter.drawLine(QPointF(x - 5 * u, y), QPointF(x + 5 * u, y))
        if op == "add":
            painter.drawLine(QPointF(x, y - 5 * u), QPointF(x, y + 5 * u))
    elif op == "replace":
        painter.drawPath(_wave(x, y, u))
    elif op == "text":
        painter.drawPath(_wave(x, y - 2.6 * u, u))
        painter.drawPath(_wave(x, y + 2.6 * u, u))
    elif op == "retype":
        painter.drawPolyline(_points(x, y, u, (-5.5, -2.2), (5.5, -2.2), (2.8, -4.9)))
        painter.drawPolyline(_points(x, y, u, (5.5, 2.2), (-5.5, 2.2), (-2.8, 4.9)))
    elif op == "move":
        _arrow(painter, x - 5.5 * u, y, 11 * u, 0, u * 1.4)
    elif op == "reorder":
        _arrow(painter, x - 2.8 * u, y + 5 * u, 0, -10 * u, u)
        _arrow(painter, x + 2.8 * u, y - 5 * u, 0, 10 * u, u)
    elif op == "conflict":
        painter.drawLine(QPointF(x, y - 5 * u), QPointF(x, y + 1.2 * u))
        painter.drawPoint(QPointF(x, y + 5 * u))
    painter.restore()


def _points(x: float, y: float, u: float, *at: tuple[float, float]) -> QPolygonF:
    return QPolygonF([QPointF(x + dx * u, y + dy * u) for dx, dy in at])


def _wave(x: float, y: float, u: float) -> QPainterPath:
    path = QPainterPath(QPointF(x - 5.6 * u, y + 1.5 * u))
    path.cubicTo(QPointF(x - 4 * u, y - 2.8 * u), QPointF(x - 1.9 * u, y - 1.3 * u), QPointF(x, y))
    path.cubicTo(QPointF(x + 1.9 * u, y + 1.3 * u), QPointF(x + 4 * u, y + 2.8 * u), QPointF(x + 5.6 * u, y - 1.5 * u))
    return path


def _arrow(painter: QPainter, x: float, y: float, dx: float, dy: float, u: float) -> None:
    tip = QPointF(x + dx, y + dy)
    painter.drawLine(QPointF(x, y), tip)
    sx, sy = (1 if dx > 0 else -1 if dx < 0 else 0), (1 if dy > 0 else -1 if dy < 0 else 0)
    head = 2.6 * u
    for side in (-1, 1):
        painter.drawLine(tip, QPointF(tip.x() - sx * head + side * sy * head, tip.y() - sy * head + side * sx * head))


def chevron(painter: QPainter, centre: QPointF, down: bool, token: str = "text2") -> None:
    """Draw the caret of a branch or drop-down, 8 wide: down if it is open, else to the right."""
    u = theme.px(8) / 8
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    cap, join = Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin
    painter.setPen(QPen(theme.colour(token), 1.3 * u, Qt.PenStyle.SolidLine, cap, join))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    x, y = centre.x(), centre.y()
    ends = ((-4, -2), (0, 2), (4, -2)) if down else ((-2, -4), (2, 0), (-2, 4))
    painter.drawPolyline(QPolygonF([QPointF(x + dx * u, y + dy * u) for dx, dy in ends]))
    painter.restore()


def mark_path(centre: QPointF, stored: str, radius: float) -> QPainterPath:
    """The outline of a version's mark: circle document, square archive, diamond prev, triangle delta."""
    path = QPainterPath()
    x, y, r = centre.x(), centre.y(), radius
    if stored == "archive":
        path.addRoundedRect(QRectF(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8), r * 0.25, r * 0.25)
    elif stored == "prev":
        path.addPolygon(
            QPolygonF(
                [QPointF(x, y - r * 1.2), QPointF(x + r * 1.2, y), QPointF(x, y + r * 1.2), QPointF(x - r * 1.2, y)]
            )
        )
        path.closeSubpath()
    elif stored == "delta":
        path.addPolygon(
            QPolygonF(
                [QPointF(x, y - r * 1.15), QPointF(x + r * 1.15, y + r * 0.9), QPointF(x - r * 1.15, y + r * 0.9)]
            )
        )
        path.closeSubpath()
    else:
        path.addEllipse(centre, r, r)
    return path


def version_mark(
    painter: QPainter, centre: QPointF, stored: str, state: str, current: bool, chosen: bool = False, radius: float = 7
) -> None:
    """Draw a version: its shape tells the place, its outline the state; only the current one is filled, with a halo."""
    r = theme.px(radius)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    width = max(1.6, theme.px(16) / 9)
    if current:
        painter.setPen(QPen(theme.colour("acc"), width))
        painter.setBrush(theme.colour("surface"))
        painter.drawPath(mark_path(centre, stored, r * 1.6))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("err" if state == "damaged" else "acc"))
        painter.drawPath(mark_path(centre, stored, r * 1.05))
        ink = theme.colour("surface")
    else:
        ink = theme.colour("err" if state == "damaged" else "acc" if chosen else "text2")
        painter.setPen(QPen(ink, width, Qt.PenStyle.DashLine if state == "unproven" else Qt.PenStyle.SolidLine))
        painter.setBrush(theme.colour("accTint" if chosen else "errT" if state == "damaged" else "surface"))
        painter.drawPath(mark_path(centre, stored, r))
    if state == "damaged":
        painter.setPen(QPen(ink, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawLine(QPointF(centre.x(), centre.y() - r * 0.45), QPointF(centre.x(), centre.y() + r * 0.1))
        painter.drawPoint(QPointF(centre.x(), centre.y() + r * 0.5))
    painter.restore()


def turn(painter: QPainter, centre: QPointF, holds: bool, proven: bool) -> None:
    """Draw the turn of a watched condition: up and filled if it begins to hold, down and hollow if it ceases.

    An unproven one is dashed.
    """
    half, high = theme.px(5), theme.px(4) * (1 if holds else -1)
    path = QPainterPath(QPointF(centre.x() - half, centre.y() + high))
    path.lineTo(centre.x() + half, centre.y() + high)
    path.lineTo(centre.x(), centre.y() - high)
    path.closeSubpath()
    ink = theme.colour("text2")
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(ink, theme.px(12) / 10, Qt.PenStyle.SolidLine if proven else Qt.PenStyle.DotLine))
    painter.setBrush(ink if holds and proven else Qt.BrushStyle.NoBrush)
    painter.drawPath(path)
    painter.restore()


def hatch(painter: QPainter, rect: QRectF, ground: str = "", step: float = 6, token: str = "hatch") -> None:
    """Fill a rectangle with diagonal lines, which mean absent or missing."""
    painter.save()
    painter.setClipRect(rect, Qt.ClipOperation.IntersectClip)
    if ground:
        painter.fillRect(rect, theme.colour(ground))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.colour(token), theme.px(14) / 10))
    gap = theme.px(step)
    x = rect.left() - rect.height() - (rect.left() % gap)
    while x < rect.right():
        painter.drawLine(QPointF(x, rect.bottom()), QPointF(x + rect.height(), rect.top()))
        x += gap
    painter.restore()


PITCH = 9  # distance between the marks of a miniature history


def miniature(painter: QPainter, rect: QRectF, marks: Sequence[tuple[str, str, bool]]) -> None:
    """A document's history in one line, old to new: small squares, slashes for missing versions, the current one
    filled.

    If the marks do not fit, the newest are drawn, and an ellipsis stands for the older ones.
    """
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    pitch, side = theme.px(PITCH), theme.px(5)
    room = max(1, int(rect.width() // pitch) - 1)
    x, y = rect.left(), rect.center().y()
    if len(marks) > room:
        painter.setPen(theme.colour("text3"))
        painter.setFont(theme.mono(11))
        painter.drawText(QRectF(x, rect.top(), pitch * 2, rect.height()), int(Qt.AlignmentFlag.AlignVCenter), "…")
        marks = marks[-(room - 2) :]
        x += pitch * 2
    for stored, state, current in marks:
        centre = QPointF(x + side / 2, y)
        if state == "missing":
            painter.setPen(QPen(theme.colour("ctl"), 1))
            painter.drawLine(QPointF(x, y + side * 0.6), QPointF(x + side * 0.8, y - side * 0.6))
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            ink = "err" if state == "damaged" else "acc" if current else "ctl"
            painter.setBrush(theme.colour(ink))
            if current:
                painter.drawEllipse(centre, side * 0.75, side * 0.75)
            elif stored == "prev":
                painter.drawPath(mark_path(centre, "prev", side * 0.5))
            elif stored == "delta":
                painter.drawPath(mark_path(centre, "delta", side * 0.55))
            elif stored == "document":
                painter.drawEllipse(centre, side * 0.55, side * 0.55)
            else:
                painter.drawRect(QRectF(x, y - side / 2, side, side))
        x += pitch
    painter.restore()


def miniature_width(marks: Sequence[tuple[str, str, bool]]) -> float:
    """The width that :func:`miniature` needs for all marks."""
    return theme.px(PITCH) * (len(marks) + 1)


@lru_cache(maxsize=4096)
def badge_width(text: str, symbol: str = "") -> float:
    """The width of a badge that :func:`badge` draws."""
    beside = theme.px(15 if text else 10) if symbol else 0  # an icon alone has equal room at both sides
    return QFontMetricsF(theme.font(11, 500)).horizontalAdvance(text) + theme.px(12) + beside


theme.signals.scaled.connect(badge_width.cache_clear)


def badge_cut(text: str, symbol: str, room: float) -> str:
    """A badge's text, cut if it is too wide."""
    left = room - (badge_width(text, symbol) - badge_width(text)) - theme.px(12)
    return QFontMetricsF(theme.font(11, 500)).elidedText(text, Qt.TextElideMode.ElideRight, max(0.0, left))


def badge(
    painter: QPainter,
    x: float,
    middle: float,
    text: str,
    ink: str = "typ",
    ground: str = "typT",
    symbol: str = "",
    like: str = "",
) -> float:
    """Draw a badge 18 high at ``x``, centred on ``middle``; returns the x after it.

    ``symbol`` is an operation, ``conflict``, or an icon's name. With high contrast a border replaces the tint. The
    badge is as wide as one with the text ``like``.
    """
    width = badge_width(like or text, symbol)
    height = theme.px(18)
    box = QRectF(x, middle - height / 2, width, height)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.colour("ctl"), 1) if theme.is_strong() else Qt.PenStyle.NoPen)
    painter.setBrush(QBrush(QColor(theme.colour(ground))))
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5) if theme.is_strong() else box, theme.px(4), theme.px(4))
    left = x + theme.px(6) + (width - badge_width(text, symbol)) / 2
    if symbol:
        if symbol in CHANGES or symbol == "conflict":
            change(painter, QRectF(left - theme.px(1), box.top(), theme.px(12), height), symbol, ink, 10)
        else:
            side = theme.px(12)
            icons.paint(painter, QRectF(left - theme.px(1), middle - side / 2, side, side), symbol, ink)
        left += theme.px(15)
    painter.setFont(theme.font(11, 500))
    painter.setPen(theme.colour(ink))
    painter.drawText(
        QRectF(left, box.top(), width, height), int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), text
    )
    painter.restore()
    return x + width
