"""The layout of a panel's parts beside and below one another, and their backgrounds. Sizes are in u."""

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
from gui.style.title import Title
from gui.style.wrapping_row import WrappingRow

W = TypeVar("W", bound=QWidget)
BESIDE_BUTTONS = 220  # u that text keeps beside buttons before they wrap below it


def ground(widget: W, name: str) -> W:
    """Give a widget the background that the style sheet defines for a name."""
    widget.setObjectName(name)
    widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    return widget


def column(owner: QWidget | None = None) -> QVBoxLayout:
    """Parts below one another, without margins or gaps."""
    made = QVBoxLayout() if owner is None else QVBoxLayout(owner)
    made.setContentsMargins(0, 0, 0, 0)
    made.setSpacing(0)
    return made


def row(owner: QWidget | None = None, x: float = 16, y: float = 10, gap: float = 8) -> QHBoxLayout:
    """Parts beside one another; ``x`` and ``y`` are the margins."""
    made = QHBoxLayout() if owner is None else QHBoxLayout(owner)
    made.setContentsMargins(theme.px(x), theme.px(y), theme.px(x), theme.px(y))
    made.setSpacing(theme.px(gap))
    return made


def named(name: str, *parts: QWidget) -> QVBoxLayout:
    """A field below its name, and what belongs to it below that; without a name, level with such fields."""
    made = column()
    made.setSpacing(theme.px(4))
    label = words(name or " ", "head")
    label.setBuddy(parts[0])
    for each in (label, *parts):
        made.addWidget(each)
    return made


def add_field(form: QFormLayout, name: str, field: QWidget | QLayout) -> None:
    """Add a field to a form under a name, for screen readers too unless it has another one.

    The name is centred beside the field, while Qt puts it slightly higher.
    """
    label = words(name, "field")
    form.addRow(label, field)
    if isinstance(field, QWidget):
        label.setBuddy(field)
        field.setAccessibleName(field.accessibleName() or name.replace("&", ""))


def wrapping(
    owner: QWidget | None = None, x: float = 16, y: float = 10, gap: float = 8, least: float = 0
) -> WrappingRow:
    """Like :func:`row`, but in several lines if one is too narrow; each is at least ``least`` high with margins."""
    made = WrappingRow(owner, lambda: theme.px(least))
    made.setContentsMargins(theme.px(x), theme.px(y), theme.px(x), theme.px(y))
    made.setSpacing(theme.px(gap))
    return made


def segments(owner: QWidget, names: Sequence[str], said: str = "{}") -> tuple[QHBoxLayout, QButtonGroup]:
    """Adjacent buttons of which one is chosen, at first the first; their ids are their positions.

    ``said`` names a button for screen readers, with its text in place of the braces.
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
    """The row at the top of a tool: its name with a line below; buttons follow at the right, or below."""
    made = wrapping()
    left = QVBoxLayout()
    left.setSpacing(theme.px(4))
    left.addWidget(Title(title))
    line = words(said, "second", wrap=True)
    line.setMinimumWidth(theme.px(BESIDE_BUTTONS))
    left.addWidget(line)
    made.addLayout(left, 1)
    return made, line


def split(*parts: QWidget, across: bool = False, parent: QWidget | None = None) -> QSplitter:
    """Parts below one another (or ``across``); people can move the dividers, and no part can collapse.

    A widget made with the splitter as its parent becomes a part as well. The splitter asks each added part for its
    size, and such a part is styled again whenever it moves: add parts with many widgets only once the splitter is in
    its place.
    """
    made = QSplitter(Qt.Orientation.Horizontal if across else Qt.Orientation.Vertical, parent)
    made.setChildrenCollapsible(False)
    for part in parts:
        made.addWidget(part)
    return made


def share(split: QSplitter, *sizes: float) -> None:
    """Give the parts these sizes, in u, or the available room in their proportion."""
    split.setSizes([theme.px(size) for size in sizes])
