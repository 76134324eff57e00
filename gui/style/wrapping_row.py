"""A row of parts that continues in further lines if a narrow window, or large text, has no room for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec import Struct, field
from PySide6.QtCore import QCoreApplication, QEvent, QRect, QSize, Qt, Signal
from PySide6.QtWidgets import QLayout, QLayoutItem, QSpacerItem, QWidget, QWidgetItem

WRAPPED = QEvent.Type(QEvent.registerEventType())
"""The type of the event that lets a row tell of another number of lines."""


class _Part(Struct, frozen=True, eq=False, dict=True):
    """One item of the row, its share of spare room, and the sizes that the item reported."""

    item: QLayoutItem
    share: int
    _heights: dict[int, int] = field(default_factory=dict)

    @cached_property
    def is_space(self) -> bool:
        """Whether it is an invisible gap."""
        return self.item.spacerItem() is not None

    @cached_property
    def least(self) -> int:
        """The least width, in pixels; a gap may vanish."""
        return 0 if self.is_space else self._least.width()

    @cached_property
    def wanted(self) -> int:
        """The preferred width, in pixels."""
        return max(self.least, self._hint.width())

    @cached_property
    def wraps(self) -> bool:
        """Whether its height depends on its width."""
        return self.item.hasHeightForWidth()

    @cached_property
    def height(self) -> int:
        """The preferred height, in pixels, at any width."""
        return self._hint.height()

    def height_at(self, width: int) -> int:
        """The preferred height at a width."""
        if not self.wraps:
            return self.height
        if width not in self._heights:
            self._heights[width] = self.item.heightForWidth(width)
        return self._heights[width]

    def room(self, width: int, height: int) -> int:
        """The height that it takes in a line."""
        if self.item.expandingDirections() & Qt.Orientation.Vertical:
            return height
        return min(height, max(self.height_at(width), self._least.height()))

    @cached_property
    def _least(self) -> QSize:
        return self.item.minimumSize()

    @cached_property
    def _hint(self) -> QSize:
        return self.item.sizeHint()


class WrappingRow(QLayout):
    """A row like that of ``QHBoxLayout``, in as many lines as its width requires.

    A line is as high as its highest part; parts are centred in it. Qt gets the height for the width of the last
    arrangement, so that splitters, which know no height for a width, make room as well.
    """

    wrapped = Signal()  # the number of lines changed, and with it the height

    def __init__(self, owner: QWidget | None = None, least: Callable[[], int] = lambda: 0) -> None:
        super().__init__(*(() if owner is None else (owner,)))
        self._least = least  # the height of the whole row; one set on its owner would ignore the number of lines
        self._items: list[tuple[QLayoutItem, int]] = []  # each with its share of spare room
        self._shown: list[_Part] | None = None  # the visible ones, until anything about them changes
        self._lines: dict[int, list[tuple[list[_Part], int]]] = {}  # by width: the parts of each line, and its height
        self._height = 0
        self._width = 0

    # --- filled like QHBoxLayout

    def addWidget(self, widget: QWidget, share: int = 0) -> None:
        self.addChildWidget(widget)
        self._add(QWidgetItem(widget), share)

    def addLayout(self, layout: QLayout, share: int = 0) -> None:
        """Add parts that stay together."""
        self.addChildLayout(layout)
        self._add(layout, share)

    def addSpacing(self, pixels: int) -> None:
        """Add a gap; none is left at the end of a line."""
        self._add(QSpacerItem(pixels, 0), 0)

    def addStretch(self, share: int = 1) -> None:
        """Add a gap that takes spare room."""
        self._add(QSpacerItem(0, 0), share)

    def addItem(self, item: QLayoutItem) -> None:
        self._add(item, 0)

    def _add(self, item: QLayoutItem, share: int) -> None:
        self._items.append((item, share))
        self.invalidate()

    # --- Qt's interface

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index][0] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        if not 0 <= index < len(self._items):
            return None
        self._forget()
        return self._items.pop(index)[0]

    def invalidate(self) -> None:
        self._forget()
        super().invalidate()

    def _forget(self) -> None:
        self._shown = None
        self._lines.clear()

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation.Horizontal

    def sizeHint(self) -> QSize:
        shown = self._parts()
        return self._size(sum(part.wanted for part in shown) + self._gaps(shown))

    def minimumSize(self) -> QSize:
        return self._size(max((part.least for part in self._parts()), default=0))

    def _size(self, wide: int) -> QSize:
        edges, lines = self.contentsMargins(), self._broken(self._width)
        high = sum(high for _, high in lines) + self.spacing() * (len(lines) - 1)
        high = max(self._least(), high + edges.top() + edges.bottom())
        return QSize(wide + edges.left() + edges.right(), high)

    @property
    def in_one_line(self) -> int:
        """The least width at which everything is in one line, in pixels."""
        shown, edges = self._parts(), self.contentsMargins()
        return sum(part.least for part in shown) + self._gaps(shown) + edges.left() + edges.right()

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        inner = rect.marginsRemoved(self.contentsMargins())
        self._width = inner.width()
        lines = self._broken(self._width)
        height = sum(high for _, high in lines)
        y = inner.y() + max(0, inner.height() - height - self.spacing() * (len(lines) - 1)) // 2
        for line, high in lines:
            self._arrange(line, QRect(inner.x(), y, inner.width(), high))
            y += high + self.spacing()
        if height != self._height:
            self._height = height
            self._ask_for_height()

    def _ask_for_height(self) -> None:
        """Make the widgets around ask for the present height, before they use the former one at this width."""
        self.invalidate()
        if (owner := self.parentWidget()) is not None:
            owner.updateGeometry()
        QCoreApplication.postEvent(self, QEvent(WRAPPED))

    def customEvent(self, event: QEvent) -> None:
        """Tell of another height; a layout that is being arranged takes no other size."""
        self.wrapped.emit()

    # --- lines

    def _parts(self) -> list[_Part]:
        if self._shown is None:
            parts = (_Part(item, share) for item, share in self._items)
            self._shown = [part for part in parts if part.is_space or not part.item.isEmpty()]
        return self._shown

    def _gaps(self, line: Sequence[_Part]) -> int:
        """The gaps between the parts of a line; a spacer brings its own."""
        seen = sum(not part.is_space for part in line)
        return self.spacing() * max(0, seen - 1)

    def _broken(self, width: int) -> list[tuple[list[_Part], int]]:
        """The parts by line, each line with its height; one line while the width is unknown."""
        if width not in self._lines:
            self._lines[width] = [(line, self._high(line, width)) for line in self._break(width)]
        return self._lines[width]

    def _break(self, width: int) -> list[list[_Part]]:
        lines: list[list[_Part]] = [[]]
        taken, seen = 0, False  # of the last line: its width so far, and whether it has visible parts
        stretch: list[_Part] = []  # the one before right-aligned parts, which keeps them there in further lines
        for part in self._parts():
            if part.is_space:
                stretch = [part] if part.share else stretch
            else:
                wide = part.least + (taken + self.spacing() if seen else 0)
                if width and seen and wide > width:
                    if [lines[-1][-1]] == stretch:
                        del lines[-1][-1]
                    lines.append([*stretch])
                    wide = part.least
                taken, seen = wide, True
            lines[-1].append(part)
        return lines

    def _high(self, line: Sequence[_Part], width: int) -> int:
        """The height of a line at a width at which text wraps; 0: the width is not known yet."""
        shown = [part for part in line if not part.is_space]
        if not width or not any(part.wraps for part in shown):
            return max((part.height for part in shown), default=0)
        widths = self._widths(line, width)
        return max(part.height_at(wide) for part, wide in zip(line, widths, strict=True) if not part.is_space)

    def _widths(self, line: Sequence[_Part], width: int) -> list[int]:
        """Each part's preferred width, less if that is too much; spare room goes to parts with a share."""
        widths = [part.wanted for part in line]
        spare = width - self._gaps(line) - sum(widths)
        if spare < 0:
            gives = [wide - part.least for wide, part in zip(widths, line, strict=True)]
            total = sum(gives)
            widths = [wide + spare * give // total if total else wide for wide, give in zip(widths, gives, strict=True)]
        elif shares := sum(part.share for part in line):
            widths = [wide + spare * part.share // shares for wide, part in zip(widths, line, strict=True)]
        return widths

    def _arrange(self, line: Sequence[_Part], room: QRect) -> None:
        """Place the parts of a line."""
        widths = self._widths(line, room.width())
        x, first = room.x(), True
        for part, wide in zip(line, widths, strict=True):
            if not part.is_space:
                x += 0 if first else self.spacing()
                first = False
                high = part.room(wide, room.height())
                part.item.setGeometry(QRect(x, room.y() + (room.height() - high) // 2, wide, high))
            x += wide
