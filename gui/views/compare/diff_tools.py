"""The row above a comparison: the versions, the number of changes, previous and next, restore."""

from __future__ import annotations

import math

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QIcon, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QCheckBox, QMenu, QSizePolicy, QToolButton, QWidget

from gui.language import tr
from gui.style import boxes, icons, states, symbols, theme, wording
from gui.style.giving_way import GivingWay
from gui.views.compare.version_box import VersionBox, VersionChoices

NARROW = 1060  # in less width texts give way to the counts; they also do to save a line
COUNTED = (
    ("add", tr("added")), ("remove", tr("removed")), ("replace", tr("changed")), ("retype", tr("retyped")),
    ("move", tr("moved")), ("reorder", tr("reordered")), ("text", tr("text edited")),
)  # fmt: skip


class Counts(QWidget):
    """The number of changes of each kind, as badges; those that do not fit are in the tooltip."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._badges: list[tuple[str, str]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setMinimumHeight(theme.px(26))

    def put(self, counts: dict[str, int]) -> None:
        """Show other counts."""
        self._badges = [(op, f"{counts[op]:,} {word}") for op, word in COUNTED if counts.get(op)]
        words = ", ".join(label for _, label in self._badges)
        self.setToolTip(wording.tip(words))
        self.setAccessibleName(words or tr("no changes"))
        self.updateGeometry()
        self.update()

    @property
    def words(self) -> list[str]:
        """The badges' texts."""
        return [label for _, label in self._badges]

    def sizeHint(self) -> QSize:
        return QSize(theme.px(320), theme.px(26))

    def minimumSizeHint(self) -> QSize:
        return QSize(max(theme.px(96), math.ceil(self._wide(self._short))), theme.px(26))

    @property
    def _short(self) -> list[tuple[str, str]]:
        """The badges without words: the symbols say the same."""
        return [(op, label.split(" ")[0]) for op, label in self._badges]

    @staticmethod
    def _wide(badges: list[tuple[str, str]]) -> float:
        gap = theme.px(8)
        return sum(symbols.badge_width(label, op) + gap for op, label in badges) - gap

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        x, middle, gap = 0.0, self.height() / 2, theme.px(8)
        badges = self._badges if self._wide(self._badges) <= self.width() else self._short
        for op, label in badges:
            ink, ground, _, _ = symbols.CHANGES[op]
            if x + symbols.badge_width(label, op) > self.width():
                break
            x = symbols.badge(painter, x, middle, label, ink, ground, op) + gap
        painter.end()


class _OnlyChanges(QCheckBox):
    """A tick that has an icon in place of its text if that gave way; the tooltip says the text."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self._words = words
        self.setIconSize(QSize(theme.px(16), theme.px(16)))
        self.setAccessibleName(words)

    def setText(self, text: str) -> None:
        super().setText(text)
        self.setIcon(QIcon() if text else icons.icon("git-diff"))
        self.setToolTip("" if text else wording.tip(self._words))


class DiffTools(QWidget):
    """The controls; the panel connects them. ``wrapped``: their number of lines changed."""

    wrapped = Signal()

    def __init__(self, choices: VersionChoices, others: VersionChoices, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = boxes.wrapping(self, 16, 7)
        row.wrapped.connect(self.wrapped)
        self.box_a, self.box_b = VersionBox("A", choices), VersionBox("B", others)
        self.swap = _tool("arrows-left-right", tr("Swap A and B"), boxed=False)
        self.counts = Counts()
        self.position = states.words("", "second")
        self.up = _tool("arrow-up", tr("Previous change (Ctrl+Up)"))
        self.down = _tool("arrow-down", tr("Next change (Ctrl+Down)"))
        self.only = _OnlyChanges(tr("Only changes"))
        self.only.setProperty("small", True)
        self.only.setChecked(True)
        self.inline = _tool("rows", tr("Both values in one column (Ctrl+I)"))
        self.inline.setCheckable(True)
        self.hidden = states.button("", None, "small", "quiet", icon="eye-slash")
        self.hidden.setToolTip(tr("Fields whose changes are hidden here: see the list, show them again"))
        self.hidden.hide()
        self.rules = _tool("sliders-horizontal", tr("What does not count as a difference"))
        self.rule_menu = QMenu(self.rules)
        self.rules.setMenu(self.rule_menu)
        self.rules.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.copy = _tool("copy", tr("Copy the diff"))
        self.copies = QMenu(self.copy)
        self.copy.setMenu(self.copies)
        self.copy.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.restore = states.button(tr("Restore from A…"), None, "small", icon="arrow-counter-clockwise")
        self.restore.setAccessibleName(tr("Restore from A…"))
        self._head = states.words(tr("Compare"), "head")
        row.addWidget(self._head)
        row.addWidget(self.box_a)
        row.addWidget(self.swap)
        row.addWidget(self.box_b)
        row.addSpacing(theme.px(12))
        row.addWidget(self.counts, 1)
        steps = boxes.row(x=0, y=0)
        for part in (self.position, self.up, self.down):
            steps.addWidget(part)
        row.addLayout(steps)
        row.addSpacing(theme.px(4))
        row.addWidget(self.only)
        row.addWidget(self.hidden)
        row.addWidget(self.inline)
        row.addWidget(self.rules)
        row.addWidget(self.copy)
        row.addWidget(self.restore)
        self._said = ("", "")  # the position, at length and in short
        self._way = GivingWay(self, row)
        self._give_way()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._head.setVisible(self.width() >= theme.px(NARROW))
        self._give_way()

    def _give_way(self) -> None:
        """Choose the longest texts that fit into one line: the button gives way first, the tick last."""
        texts = (tr("Restore from A…"), tr("Restore…"), "")
        self._way.put(
            (self.only, (tr("Only changes"), "")),
            (self.position, self._said),
            (self.restore, texts[1:] if self.width() < theme.px(NARROW) else texts),
        )

    def say(self, number: int, total: int) -> None:
        """Show the number of the current change, from 1, and the total."""
        said = tr("Change {number:,} of {total:,}", number=number, total=total) if total else ""
        self._said = (said, tr("{number:,} of {total:,}", number=number, total=total) if total else "")
        self.position.setAccessibleName(said)
        self.position.setToolTip(wording.tip(said))
        self._give_way()
        self.up.setEnabled(number > 1)
        self.down.setEnabled(number < total)

    def say_hidden(self, paths: int, changes: int) -> None:
        """Show how many changes are hidden, by how many paths."""
        self.hidden.setVisible(paths > 0)
        self.hidden.setText(tr("{changes:,} hidden", changes=changes))
        said = tr(
            "{changes} hidden by {paths}", changes=wording.many(changes, "change"), paths=wording.many(paths, "path")
        )
        self.hidden.setAccessibleName(said)
        self.hidden.setToolTip(wording.tip(tr("{said}; see the list, show them again", said=said)))


def _tool(icon: str, words: str, boxed: bool = True) -> QToolButton:
    made = QToolButton()
    made.setIcon(icons.icon(icon))
    made.setIconSize(QSize(theme.px(14), theme.px(14)))
    made.setToolTip(wording.tip(words))
    made.setAccessibleName(words)
    made.setProperty("boxed", boxed)
    made.setFixedSize(theme.px(26), theme.px(26))
    return made
