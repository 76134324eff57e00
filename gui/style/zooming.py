"""Text larger or smaller than the system's: all sizes of the design follow, in open windows as well.

Some widgets choose their sizes again with a new theme; the sizes that others got when they were made are multiplied
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct
from PySide6.QtCore import QSize
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QBoxLayout,
    QFormLayout,
    QGridLayout,
    QHeaderView,
    QLayout,
    QSpacerItem,
    QTreeView,
    QWidget,
)

from gui.style import preferences, theme
from gui.style.wrapping_row import WrappingRow

STEPS = (80, 90, 100, 110, 125, 150, 175, 200)
UNBOUNDED = (1 << 24) - 1  # Qt's value for a size without limit
SIDES = ("Left", "Top", "Right", "Bottom")
SIZED = (QHeaderView.ResizeMode.Interactive, QHeaderView.ResizeMode.Fixed)
OWN_WIDTHS = "own widths"  # a property of headers whose view sizes the columns itself when the zoom changes
_KEPT = "sizes of the design"


class _Measure(Struct, frozen=True):
    """One size of a widget: its name, its present pixels, and the call that sets it."""

    name: str
    pixels: int
    put: Callable[[int], object]


def step(by: int) -> int:
    """The zoom in percent so many steps away, or the last one in that direction."""
    now = int(preferences.get("zoom"))
    at = min(range(len(STEPS)), key=lambda at: abs(STEPS[at] - now))
    return STEPS[max(0, min(len(STEPS) - 1, at + by))]


def apply(percent: int) -> None:
    """Draw everything at this size."""
    before = theme.scale()
    was = {widget: {each.name: each.pixels for each in _measures(widget)} for widget in QApplication.allWidgets()}
    theme.zoom_to(percent / 100)
    for widget, pixels in was.items():
        _rescale(widget, pixels, before, theme.scale())


def _rescale(widget: QWidget, before: dict[str, int], old: float, new: float) -> None:
    """Set each size that the widget did not choose again by itself, from the design's unrounded size."""
    kept = widget.property(_KEPT) or {}
    for each in list(_measures(widget)):
        if before.get(each.name) != each.pixels:
            continue
        exact, made = kept.get(each.name, (0.0, -1))
        if made != each.pixels:
            exact = each.pixels / old
        wanted = max(1, round(exact * new))
        kept[each.name] = [exact, wanted]
        if wanted != each.pixels:
            each.put(wanted)
    widget.setProperty(_KEPT, kept)


def _measures(widget: QWidget) -> Iterator[_Measure]:
    """The sizes set on a widget and its layout, except a window's bounds, which people change."""
    if not widget.isWindow():
        yield from _bounds(widget)
    if isinstance(widget, QAbstractButton):
        icon = widget.iconSize()
        yield _Measure("icon width", icon.width(), lambda px: widget.setIconSize(QSize(px, widget.iconSize().height())))
        yield _Measure(
            "icon height", icon.height(), lambda px: widget.setIconSize(QSize(widget.iconSize().width(), px))
        )
    if isinstance(widget, QTreeView) and widget.indentation():
        yield _Measure("indentation", widget.indentation(), widget.setIndentation)
    if isinstance(widget, QHeaderView) and not widget.property(OWN_WIDTHS):
        for at in range(widget.count()):
            if widget.sectionResizeMode(at) in SIZED:
                yield _Measure(f"section {at}", widget.sectionSize(at), partial(widget.resizeSection, at))
    layout = widget.layout()
    if layout is not None:
        yield from _spaces(layout, "layout")


def _bounds(widget: QWidget) -> Iterator[_Measure]:
    for name, pixels, put in (
        ("least width", widget.minimumWidth(), widget.setMinimumWidth),
        ("least height", widget.minimumHeight(), widget.setMinimumHeight),
        ("most width", widget.maximumWidth(), widget.setMaximumWidth),
        ("most height", widget.maximumHeight(), widget.setMaximumHeight),
    ):
        if 0 < pixels < UNBOUNDED:
            yield _Measure(name, pixels, put)


def _spaces(layout: QLayout, name: str) -> Iterator[_Measure]:
    margins = layout.contentsMargins()
    for side in SIDES:
        if pixels := getattr(margins, side.lower())():
            yield _Measure(f"{name} {side}", pixels, partial(_put_margin, layout, side))
    if isinstance(layout, QFormLayout | QGridLayout):
        for way in ("horizontal", "vertical"):
            if (pixels := getattr(layout, f"{way}Spacing")()) > 0:
                yield _Measure(f"{name} {way}", pixels, getattr(layout, f"set{way.capitalize()}Spacing"))
    elif layout.spacing() > 0:
        yield _Measure(f"{name} spacing", layout.spacing(), layout.setSpacing)
    for at in range(layout.count()):
        item = layout.itemAt(at)
        inner = item.layout() if item is not None else None
        if inner is not None:
            yield from _spaces(inner, f"{name}.{at}")
        elif (
            item is not None
            and isinstance(layout, QBoxLayout | WrappingRow)
            and (spacer := item.spacerItem()) is not None
        ):
            pixels = max(spacer.sizeHint().width(), spacer.sizeHint().height())
            if pixels:
                yield _Measure(f"{name}.{at} space", pixels, partial(_put_space, layout, spacer))


def _put_margin(layout: QLayout, side: str, pixels: int) -> None:
    margins = layout.contentsMargins()
    getattr(margins, f"set{side}")(pixels)
    layout.setContentsMargins(margins)


def _put_space(layout: QLayout, spacer: QSpacerItem, pixels: int) -> None:
    hint, policy = spacer.sizeHint(), spacer.sizePolicy()
    wide, high = pixels if hint.width() else 0, pixels if hint.height() else 0
    spacer.changeSize(wide, high, policy.horizontalPolicy(), policy.verticalPolicy())
    layout.invalidate()
