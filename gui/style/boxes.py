"""The arrangement of a panel's parts beside and below one another, and the ground below them. Sizes are in u."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QButtonGroup,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLayout,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from gui.style import theme
from gui.style.states import words
from gui.style.wrapping_row import WrappingRow

W = TypeVar("W", bound=QWidget)
BESIDE_BUTTONS = 220  # u that words keep beside buttons, before these go on below


def ground(widget: W, name: str) -> W:
    """Give a widget the ground that the style sheet has under a name."""
    widget.setObjectName(name)
    widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    return widget


def column(owner: QWidget | None = None) -> QVBoxLayout:
    """Parts below one another, without edges or gaps."""
    made = QVBoxLayout() if owner is None else QVBoxLayout(owner)
    made.setContentsMargins(0, 0, 0, 0)
    made.setSpacing(0)
    return made


def row(owner: QWidget | None = None, x: float = 16, y: float = 10, gap: float = 8) -> QHBoxLayout:
    """Parts beside one another; ``x`` and ``y`` are free at its ends and above and below it."""
    made = QHBoxLayout() if owner is None else QHBoxLayout(owner)
    made.setContentsMargins(theme.px(x), theme.px(y), theme.px(x), theme.px(y))
    made.setSpacing(theme.px(gap))
    return made


def add_field(form: QFormLayout, name: str, field: QWidget | QLayout) -> None:
    """Add a field to a form, with its name at its middle, where Qt has it a little above that."""
    label = words(name, "field")
    form.addRow(label, field)
    if isinstance(field, QWidget):
        label.setBuddy(field)


def wrapping(
    owner: QWidget | None = None, x: float = 16, y: float = 10, gap: float = 8, least: float = 0
) -> WrappingRow:
    """As :func:`row`, but in several lines where there is no room for one; all are ``least`` high with their edges."""
    made = WrappingRow(owner, lambda: theme.px(least))
    made.setContentsMargins(theme.px(x), theme.px(y), theme.px(x), theme.px(y))
    made.setSpacing(theme.px(gap))
    return made


def segments(owner: QWidget, names: Sequence[str], said: str = "{}") -> tuple[QHBoxLayout, QButtonGroup]:
    """Buttons side by side of which one is chosen, at first the first; their ids are their places.

    ``said`` names one for screen readers, with its own name in braces.
    """
    beside, group = row(x=0, y=0, gap=0), QButtonGroup(owner)
    for at, name in enumerate(names):
        made = QPushButton(name)
        made.setCheckable(True)
        made.setChecked(at == 0)
        made.setAutoDefault(False)
        made.setProperty("segment", "first" if at == 0 else "last" if at == len(names) - 1 else "mid")
        made.setAccessibleName(said.format(name))
        group.addButton(made, at)
        beside.addWidget(made)
    return beside, group


def titled(title: str, said: str = "") -> tuple[WrappingRow, QLabel]:
    """The row at the top of a tool, with its name and a line below that; buttons come behind them, or below."""
    made = wrapping()
    left = QVBoxLayout()
    left.setSpacing(theme.px(4))
    left.addWidget(words(title, "title"))
    line = words(said, "second", wrap=True)
    line.setMinimumWidth(theme.px(BESIDE_BUTTONS))
    left.addWidget(line)
    made.addLayout(left, 1)
    return made, line


def split(*parts: QWidget, across: bool = False, parent: QWidget | None = None) -> QSplitter:
    """Parts below one another (or ``across`` it), whose shares a person can change and none of which vanishes.

    What is made with it for a parent becomes a part as well. It asks each part for its size as it takes it, and what
    has been asked is styled anew with every move: parts of many widgets come into it when it is where it stays.
    """
    made = QSplitter(Qt.Orientation.Horizontal if across else Qt.Orientation.Vertical, parent)
    made.setChildrenCollapsible(False)
    for part in parts:
        made.addWidget(part)
    return made


def share(split: QSplitter, *sizes: float) -> None:
    """Give the parts these sizes, in u, or what there is in their proportion."""
    split.setSizes([theme.px(size) for size in sizes])
