"""A layout's keys, one below the other; the form scrolls if they do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from gui.language import tr
from gui.style import boxes, theme
from gui.views.stating.key_row import KeyRow

if TYPE_CHECKING:
    from model.session.layout_statements import ProfileKey


class KeyForm(QScrollArea):
    """``changed`` carries the key that a person changed."""

    changed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, KeyRow] = {}
        self.label_width = theme.px(60)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(self.horizontalScrollBarPolicy().ScrollBarAlwaysOff)
        self.setAccessibleName(tr("The keys of the layout"))
        boxes.ground(self.viewport(), "surface")

    def show_keys(
        self, keys: Sequence[ProfileKey], texts: Mapping[str, str], defaults: Mapping[str, str], origin: str
    ) -> None:
        """Show these keys; ``origin`` says where texts come from that are not defaults."""
        told = {name: row.text for name, row in self.rows.items() if row.told}
        metrics = QFontMetricsF(theme.mono(12))
        names = (metrics.horizontalAdvance(key.name) for key in keys)
        self.label_width = max(theme.px(60), int(max(names, default=0)) + 2)
        inner = boxes.ground(QWidget(), "surface")
        column = QVBoxLayout(inner)
        column.setContentsMargins(theme.px(24), theme.px(4), theme.px(16), theme.px(4))
        column.setSpacing(0)
        self.rows = {}
        for key in keys:
            row = KeyRow(key, texts.get(key.name, ""), defaults.get(key.name, ""), origin, self.label_width)
            if key.name in told:
                row.put(told[key.name])  # what a person typed for the former layout also counts for this one
            row.changed.connect(partial(self.changed.emit, key.name))
            self.rows[key.name] = row
            column.addWidget(row)
        column.addStretch(1)
        self.setWidget(inner)

    def forget_told(self) -> None:
        """Forget the typed texts: the keys shown next do not take them over."""
        self.rows = {}

    @property
    def texts(self) -> dict[str, str]:
        """The text in each row."""
        return {name: row.text for name, row in self.rows.items()}

    @property
    def told(self) -> tuple[str, ...]:
        """The keys that a person changed."""
        return tuple(name for name, row in self.rows.items() if row.told)

    def show_troubles(self, troubles: Mapping[str, str]) -> None:
        """Show in each row why its text is invalid."""
        for name, row in self.rows.items():
            row.show_trouble(troubles.get(name, ""))

    def sizeHint(self) -> QSize:
        return QSize(theme.px(400), theme.px(560))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme.px(330), theme.px(120))
