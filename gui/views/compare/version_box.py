"""The drop-down that chooses A or B: its letter on the accent colour, the version, a caret; scales to any number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QComboBox,
    QListView,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QStyleOptionViewItem,
    QWidget,
)
from shiboken6 import isValid

from gui.language import tr, translated
from gui.parts.versions_model import name_of
from gui.style import symbols, theme, wording
from gui.style.cells import CELL, Badge, Cell, CellDelegate, Index, Span
from model.foundation.records import Version
from model.values.canonical import Value

ROW, MOST = 28, 14  # height of a row, and rows visible at once


class VersionChoices(QAbstractListModel):
    """The versions that can be compared, newest first; both boxes use it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.versions: list[Version] = []
        self._rows: dict[Value | None, int] = {}

    def fill(self, versions: Sequence[Version]) -> None:
        """Replace the versions."""
        self.beginResetModel()
        self.versions = [one for one in versions if one.state != "missing"]
        self._rows = {one.v: row for row, one in enumerate(self.versions)}
        self.endResetModel()

    def row_of(self, v: Value | None) -> int:
        """The row of a version; -1 if it is not offered."""
        return self._rows.get(v, -1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's default)
        return 0 if parent.isValid() else len(self.versions)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self.versions):
            return None
        if role == CELL:
            return self._cell(self.versions[index.row()])
        if role == Qt.ItemDataRole.DisplayRole:
            one = self.versions[index.row()]
            state = translated(one.state) if one.state != "present" else ""
            rest = (tr("current") if one.current else "", wording.moment(one.at), state)
            return "   ".join([name_of(one), ", ".join(part for part in rest if part)]).rstrip()
        return None

    def _cell(self, one: Version) -> Cell:
        notes = [Badge(tr("current"), "acc", "accTint")] if one.current else []
        if one.state != "present":
            notes.append(
                Badge(translated(one.state), *(("err", "errT") if one.state == "damaged" else ("warn", "warnT")))
            )
        name = name_of(one).ljust(max(8, len(name_of(self.versions[0])) + 2))
        spans = (Span(name), Span(wording.moment(one.at) or tr("no date"), "text2"))
        return Cell(spans=spans, mono=True, size=12, badges=tuple(notes))


class _VersionDelegate(CellDelegate):
    """A row of the drop-down, in the selection's colour while hovered."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if option.state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            painter.fillRect(option.rect, theme.colour("sel"))
        super().paint(painter, option, index)


class _Popup(QListView):
    """The list below a box. ``taken`` carries a row."""

    taken = Signal(int)

    def __init__(self, owner: QWidget, choices: VersionChoices) -> None:
        super().__init__(owner)
        self.setWindowFlags(Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("dropdown")
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self.setItemDelegate(_VersionDelegate(self, ROW))
        self.setAccessibleName(owner.accessibleName())
        self._choices = choices
        self.setModel(choices)
        self.clicked.connect(self._take)

    def open_below(self, owner: QWidget, row: int) -> None:
        """Show it below a widget, or above if there is no room, at the chosen row."""
        longest = max([8, *(len(name_of(one)) + 2 for one in self._choices.versions[:1])]) + len("20 Nov 2026 14:26")
        words = QFontMetricsF(theme.mono(12)).horizontalAdvance("0" * longest)
        size = QSize(round(words) + theme.px(190), theme.px(ROW) * min(MOST, len(self._choices.versions)) + 2)
        below, above = owner.mapToGlobal(owner.rect().bottomLeft()), owner.mapToGlobal(owner.rect().topLeft())
        room = owner.screen().availableGeometry()
        fits = below.y() + size.height() <= room.bottom() or above.y() - size.height() < room.top()
        left = max(room.left(), min(below.x(), room.right() - size.width()))
        top = below.y() + theme.px(2) if fits else above.y() - size.height() - theme.px(2)
        self.setGeometry(QRect(QPoint(left, top), size))
        self.show()
        self.setFocus()
        if row >= 0:
            self.setCurrentIndex(self._choices.index(row, 0))
            self.scrollTo(self.currentIndex(), QListView.ScrollHint.PositionAtCenter)

    def _take(self, index: QModelIndex) -> None:
        if index.isValid():
            self.close()
            self.taken.emit(index.row())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        index = self.indexAt(event.position().toPoint())
        if index.isValid():
            self.setCurrentIndex(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._take(self.currentIndex())
        elif event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)


class VersionBox(QComboBox):
    """Chooses one version. ``picked`` carries it."""

    picked = Signal(object)
    _popup: _Popup | None = None  # on the class as well: Qt hides the list once more while the box is destroyed

    def __init__(self, letter: str, choices: VersionChoices, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._letter, self._choices = letter, choices
        self._shown: Version | None = None
        self.setAccessibleName(tr("Version {letter}", letter=letter))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setModel(choices)
        self.activated.connect(self._activated)
        theme.signals.changed.connect(self.updateGeometry)
        self.put(None)

    def put(self, version: Version | None) -> None:
        """Show a version."""
        self._shown = version
        self.setCurrentIndex(-1 if version is None else self._choices.row_of(version.v))
        self.setToolTip(wording.tip("" if version is None else _told(version)))
        self.setAccessibleDescription("" if version is None else name_of(version))
        self.setEnabled(version is not None or len(self._choices.versions) > 1)  # else there is nothing to choose
        self.updateGeometry()
        self.update()

    def again(self) -> None:
        """Find the shown version among the new choices."""
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
        return tr("none") if self._shown is None else name_of(self._shown)

    def sizeHint(self) -> QSize:
        words = QFontMetricsF(theme.mono(12)).horizontalAdvance(self._words() or "v1")
        return QSize(round(words) + theme.px(24 + 8 + 8 + 12 + 8), theme.px(26))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def showPopup(self) -> None:
        # Qt's own size asks every row for its text and icon, which takes seconds for 100,000 versions.
        self.hidePopup()
        self._popup = _Popup(self, self._choices)
        self._popup.taken.connect(self._activated)
        self._popup.open_below(self, -1 if self._shown is None else self._choices.row_of(self._shown.v))

    def hidePopup(self) -> None:
        if self._popup is not None and isValid(self._popup):
            self._popup.close()
        self._popup = None

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
        painter.setPen(theme.colour("accText" if self.isEnabled() else "text"))
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


def _told(version: Version) -> str:
    """``v11, 03 Nov 2026 10:14, by ab-117, why``."""
    by = tr("by {author}", author=version.author) if version.author else ""
    parts = (name_of(version), wording.moment(version.at) or tr("no date"), by, version.reason)
    return ", ".join(part for part in parts if part)
