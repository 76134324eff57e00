"""Phosphor icons, drawn as vectors in a token's colour at whatever ratio the screen has."""

from __future__ import annotations

from functools import cache
from importlib import resources

from PySide6.QtCore import QByteArray, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from gui.look import theme


@cache
def _svg(name: str) -> str:
    return resources.files("resources").joinpath("icons", f"{name}.svg").read_text("utf-8")


@cache
def _renderer(name: str, hex_colour: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(_svg(name).replace("currentColor", hex_colour).encode()))


def paint(painter: QPainter, rect: QRectF, name: str, token: str = "text2") -> None:
    """Draw an icon into a rectangle."""
    _renderer(name, getattr(theme.tokens(), token)).render(painter, rect)


class _Engine(QIconEngine):
    # The token is looked up at each paint, so a change of theme needs no new icons.
    def __init__(self, name: str, token: str, on: str) -> None:
        super().__init__()
        self._name, self._token, self._on = name, token, on

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        token = self._on if state == QIcon.State.On and self._on else self._token
        if mode == QIcon.Mode.Disabled:
            token = "text3"
        side = min(rect.width(), rect.height())
        square = QRectF(rect.x() + (rect.width() - side) / 2, rect.y() + (rect.height() - side) / 2, side, side)
        paint(painter, square, self._name, token)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        made = QPixmap(size)
        made.fill(Qt.GlobalColor.transparent)
        painter = QPainter(made)
        self.paint(painter, QRect(QPoint(0, 0), size), mode, state)
        painter.end()
        return made

    def clone(self) -> QIconEngine:
        return _Engine(self._name, self._token, self._on)


def icon(name: str, token: str = "text2", on: str = "") -> QIcon:
    """An icon in a token's colour; ``on`` is the colour while checked."""
    return QIcon(_Engine(name, token, on))
