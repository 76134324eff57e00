"""Where a plan differs from what a scan would propose today, and the consent to do only the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from gui.language import tr, translated
from gui.style import boxes, theme, wording
from gui.style.states import Glyph, words
from model.session.repairs import DryItem


class DifferenceBar(QWidget):
    """Shown if parts of a plan are not, or no longer, what a scan proposes; ``agreed_changed``: its box was ticked."""

    agreed_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "lostline")
        self._known: frozenset[tuple[int, str]] = frozenset()
        self.text = words("", wrap=True)
        self.box = QCheckBox(tr("Leave out what differs, do the rest"))
        self.box.toggled.connect(self.agreed_changed)
        column = QVBoxLayout()
        column.setSpacing(theme.px(6))
        column.addWidget(self.text)
        column.addWidget(self.box)
        whole = boxes.row(self, 16, 8)
        whole.addWidget(Glyph("warning", "warn"), 0, Qt.AlignmentFlag.AlignTop)
        whole.addLayout(column, 1)
        self.hide()

    @property
    def agreed(self) -> bool:
        """Whether differing items, if there are any, may be left out."""
        return not self._known or self.box.isChecked()

    def put(self, items: Sequence[DryItem]) -> None:
        """Show how many items differ, and how; a consent holds only for exactly these."""
        known = frozenset((item.no, item.text) for item in items)
        if known != self._known:
            self._known = known
            self.box.blockSignals(True)  # the caller looks at the consent next
            self.box.setChecked(False)
            self.box.blockSignals(False)
        ways = Counter(translated(item.text).rstrip(".") for item in items)
        how = " ".join(f"{wording.count(number)}: {way}." for way, number in ways.items())
        differing = wording.many(len(items), "item")
        self.text.setText(tr("Different from what a scan proposes today: {items}. {how}", items=differing, how=how))
        self.setVisible(bool(items))
