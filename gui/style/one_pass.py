"""A part of a window that drew nothing for a while is drawn in one pass."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QRect, Qt
from PySide6.QtGui import QRegion
from PySide6.QtWidgets import QWidget

_COVER = "cover"


def draw(part: QWidget, without: Sequence[QWidget] = ()) -> None:
    """Let a part draw again, after ``part.setUpdatesEnabled(False)``, and draw all of it now.

    ``without`` are parts of it that still draw nothing. Qt would mark each widget by itself: an opaque one is then
    drawn with all that is in it, and what is in it and not opaque once more. So the place is marked as a whole first.
    """
    window = part.window()
    region = QRegion(place(part, window))
    for each in without:
        region -= place(each, window)
    _mark(window, region)
    part.setUpdatesEnabled(True)
    # Not left to Qt: its own request may have come while nothing was drawn, and it makes no other one.
    QCoreApplication.sendEvent(window, QEvent(QEvent.Type.UpdateRequest))


def place(part: QWidget, window: QWidget) -> QRect:
    """Where a part is in its window."""
    return QRect(part.mapTo(window, QPoint()), part.size())


def _mark(window: QWidget, region: QRegion) -> None:
    """Mark a region of a window to be drawn, as Qt does where something was shown and hidden."""
    cover = window.findChild(QWidget, _COVER, Qt.FindChildOption.FindDirectChildrenOnly)
    if not isinstance(cover, QWidget):
        cover = QWidget(window)  # kept: Qt draws the place of one that is deleted anew
        cover.setObjectName(_COVER)
        cover.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
    cover.setGeometry(window.rect())
    cover.setMask(region)
    cover.show()
    cover.hide()
