"""Phosphor icons, drawn as vectors in a token's colour at any pixel ratio."""

from __future__ import annotations

from functools import cache
from importlib import resources

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPen, QPixmap, QPixmapCache
from PySide6.QtSvg import QSvgRenderer

from gui.style import theme
from gui.style.vector_engine import VectorEngine


@cache
def _svg(name: str) -> str:
    return resources.files("resources").joinpath("icons", f"{name}.svg").read_text("utf-8")


@cache
def _renderer(name: str, hex_colour: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(_svg(name).replace("currentColor", hex_colour).encode()))


def paint(painter: QPainter, rect: QRectF, name: str, token: str = "text2") -> None:
    """Draw an icon into a rectangle."""
    _renderer(name, getattr(theme.tokens(), token)).render(painter, rect)


def paint_tick(painter: QPainter, box: QRectF, state: Qt.CheckState, enabled: bool = True) -> None:
    """Draw a tick box: empty, ticked, or with a bar if only some are ticked."""
    on = state != Qt.CheckState.Unchecked
    fill = "acc" if enabled else "text3"
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.colour(fill if on else "ctl"), 1))
    painter.setBrush(theme.colour(fill if on else "surface"))
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), theme.px(4), theme.px(4))
    painter.restore()
    if on:
        name = "check-bold" if state == Qt.CheckState.Checked else "minus-bold"
        paint(painter, box.adjusted(2, 2, -2, -2), name, "accText" if enabled else "surface")


class _IconEngine(VectorEngine):
    # The token is looked up at each paint, so a new theme needs no new icons.
    def __init__(self, name: str, token: str, on: str) -> None:
        super().__init__()
        self._name, self._token, self._on = name, token, on

    def _ink(self, mode: QIcon.Mode, state: QIcon.State) -> str:
        if mode == QIcon.Mode.Disabled:
            return "ctl"  # the ink of hints is too similar to buttons without a border
        return self._on if state == QIcon.State.On and self._on else self._token

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        side = min(rect.width(), rect.height())
        square = QRectF(rect.x() + (rect.width() - side) / 2, rect.y() + (rect.height() - side) / 2, side, side)
        paint(painter, square, self._name, self._ink(mode, state))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        colour = getattr(theme.tokens(), self._ink(mode, state))
        key, made = f"{self._name} {colour} {size.width()} {size.height()}", QPixmap()
        if not QPixmapCache.find(key, made):  # every button asks for it at each paint
            made = super().pixmap(size, mode, state)
            QPixmapCache.insert(key, made)
        return made

    def clone(self) -> QIconEngine:
        return _IconEngine(self._name, self._token, self._on)


class _Tick(_IconEngine):
    def __init__(self, state: Qt.CheckState) -> None:
        super().__init__("", "", "")
        self._ticked = state

    pixmap = VectorEngine.pixmap

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        side = min(rect.width(), rect.height())
        box = QRectF(rect.x(), rect.y() + (rect.height() - side) / 2, side, side)
        paint_tick(painter, box, self._ticked, mode != QIcon.Mode.Disabled)

    def clone(self) -> QIconEngine:
        return _Tick(self._ticked)


def tick(ticked: int, rows: int) -> QIcon:
    """The tick box of a whole list: full only if all rows are ticked."""
    whole = Qt.CheckState.Checked if ticked >= rows else Qt.CheckState.PartiallyChecked
    return QIcon(_Tick(whole if ticked else Qt.CheckState.Unchecked))


def icon(name: str, token: str = "text2", on: str = "") -> QIcon:
    """An icon in a token's colour; ``on`` is its colour when checked."""
    return QIcon(_IconEngine(name, token, on))
