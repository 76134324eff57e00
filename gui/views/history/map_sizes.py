"""The sizes of a change map, shared by its widgets and a saved picture."""

from __future__ import annotations

from msgspec import Struct

from gui.style import theme

ROW = 18
NARROWEST, USUAL, WIDEST = 8, 16, 24
FILLING = 96  # the widest column of a short history that fills the width


class MapSizes(Struct, frozen=True):
    """The sizes of a map: ``zoom`` is the width of a column in the design's pixels."""

    zoom: float = USUAL

    @property
    def column(self) -> int:
        """The width of a column."""
        return theme.px(self.zoom)

    @property
    def row(self) -> int:
        """The height of a row."""
        return theme.px(ROW)

    def middle(self, column: int) -> float:
        """The middle of a column."""
        return column * self.column + self.column / 2
