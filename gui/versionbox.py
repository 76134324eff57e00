"""The drop-down that chooses A or B: its letter on the accent, the version, a caret; for any number of versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QComboBox, QListView, QSizePolicy, QStyle, QStyleOptionComboBox, QWidget

from gui import symbols, theme, wording
from gui.cells import Index
from gui.history import name_of
from model.canonical import Value
from model.records import Version


class VersionChoices(QAbstractListModel):
    """The versions that can be compared, newest first; both boxes share it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.versions: list[Version] = []
        self._rows: dict[Value | None, int] = {}

    def fill(self, versions: Sequence[Version]) -> None:
        """Offer other versions."""
        self.beginResetModel()
        self.versions = [one for one in versions if one.state != "missing"]
        self._rows = {one.v: row for row, one in enumerate(self.versions)}
        self.endResetModel()

    def row_of(self, v: Value | None) -> int:
        """The row of a version; -1 where it is not offered."""
        return self._rows.get(v, -1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's default)
        return 0 if parent.isValid() else len(self.versions)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self.versions):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            one = self.versions[index.row()]
            rest = [
                "current" if one.current else "",
                wording.moment(one.at),
                one.state if one.state != "present" else "",
            ]
            return "   ".join([name_of(one), ", ".join(part for part in rest if part)]).rstrip()
        return None


class VersionBox(QComboBox):
    """Chooses one version. ``picked`` carries it."""

    picked = Signal(object)

    def __init__(self, letter: str, choices: VersionChoices, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._letter, self._choices = letter, choices
        self._shown: Version | None = None
        self.setAccessibleName(f"Version {letter}")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMaxVisibleItems(16)
        view = QListView()
        view.setUniformItemSizes(True)
        self.setView(view)
        self.setModel(choices)
        self.activated.connect(self._activated)
        theme.signals.changed.connect(self.updateGeometry)

    def put(self, version: Version | None) -> None:
        """Show a version."""
        self._shown = version
        self.setCurrentIndex(-1 if version is None else self._choices.row_of(version.v))
        self.setToolTip("" if version is None else f"{name_of(version)}, {wording.moment(version.at) or 'no date'}")
        self.setAccessibleDescription("" if version is None else name_of(version))
        self.updateGeometry()
        self.update()

    def again(self) -> None:
        """The choices are others: find the shown version among them."""
        self.put(self._shown)

    @property
    def version(self) -> Version | None:
        """The version shown."""
        return self._shown

    def _activated(self, row: int) -> None:
        if 0 <= row < len(self._choices.versions):
            chosen = self._choices.versions[row]
            if self._shown is None or chosen.v != self._shown.v:
                self.picked.emit(chosen)

    def _words(self) -> str:
        return "" if self._shown is None else name_of(self._shown)

    def sizeHint(self) -> QSize:
        words = QFontMetricsF(theme.mono(12)).horizontalAdvance(self._words() or "v1")
        return QSize(round(words) + theme.px(24 + 8 + 8 + 12 + 8), theme.px(26))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def showPopup(self) -> None:
        longest = QFontMetricsF(self.view().font()).horizontalAdvance("v100000   current, 20 Nov 2026 14:26, unproven")
        self.view().setMinimumWidth(round(longest) + theme.px(24))
        super().showPopup()

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        state = option.state
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        radius = theme.px(6)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver) and self.isEnabled()
        painter.setPen(QPen(theme.colour("btn"), 1))
        painter.setBrush(theme.colour("hover" if hovered else "surface"))
        painter.drawRoundedRect(box, radius, radius)
        shape = QPainterPath()
        shape.addRoundedRect(QRectF(self.rect()), radius, radius)
        letter = QRectF(0, 0, theme.px(24), self.height())
        painter.save()
        painter.setClipPath(shape)
        painter.fillRect(letter, theme.colour("acc" if self.isEnabled() else "btn"))
        painter.restore()
        painter.setFont(theme.font(12, 600))
        painter.setPen(theme.colour("accText"))
        painter.drawText(letter, int(Qt.AlignmentFlag.AlignCenter), self._letter)
        painter.setFont(theme.mono(12))
        painter.setPen(theme.colour("text" if self.isEnabled() else "text3"))
        words = QRectF(theme.px(32), 0, self.width() - theme.px(32 + 24), self.height())
        painter.drawText(words.adjusted(0, 0, 4, 0), int(Qt.AlignmentFlag.AlignVCenter), self._words())
        symbols.chevron(painter, QPointF(self.width() - theme.px(14), self.height() / 2 + 0.5), True)
        if self.hasFocus():
            painter.setPen(QPen(theme.colour("acc"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), radius, radius)
        painter.end()
