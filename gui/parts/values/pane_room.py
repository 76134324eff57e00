"""The height of a value pane below a list: as much as the value needs, up to most of the room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QSplitter

if TYPE_CHECKING:
    from gui.parts.values.value_pane import ValuePane

MOST = 0.66  # of the height of list and pane together


class PaneRoom(QObject):
    """Gives a pane, the last part of a splitter, more height when a value needs it, until a person moves the divider.

    The height is not reduced while the pane is open: nothing jumps from one value to the next.
    """

    def __init__(self, split: QSplitter, pane: ValuePane) -> None:
        super().__init__(pane)
        self._split, self._pane = split, pane
        self._by_hand = False
        split.splitterMoved.connect(self._drawn)
        pane.filled.connect(self._fit)

    def _drawn(self, *_: object) -> None:
        self._by_hand = True

    def _fit(self) -> None:
        sizes = self._split.sizes()
        whole = sum(sizes)
        wanted = min(round(whole * MOST), self._pane.wanted_height)
        if self._by_hand or self._pane.isHidden() or wanted <= sizes[-1]:
            return
        others = whole - sizes[-1]
        left = whole - wanted
        self._split.setSizes([*(round(size * left / max(1, others)) for size in sizes[:-1]), wanted])
