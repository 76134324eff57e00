"""The arrows in the current row of a comparison, which take one difference into the document's draft."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QCursor, QKeySequence, QShortcut
from PySide6.QtWidgets import QToolButton

from gui.language import tr
from gui.parts.differences.diff_model import A, B
from gui.parts.differences.diff_table import DiffTable
from gui.style import states, theme, wording

SIDE = 22


class TakeArrows(QObject):
    """Two buttons over the current row. ``taken`` carries the side, ``a`` or ``b``.

    Each lies at the end of its value; the keys are Alt+Right for A's value and Alt+Left for B's. If another
    comparison appears while the pointer is on a button, both hide until the pointer moves or a key is pressed: a
    click would take another difference.
    """

    taken = Signal(str)

    def __init__(self, table: DiffTable) -> None:
        super().__init__(table)
        self._table = table
        self._may = {"a": False, "b": False}
        self._gone = False
        self.buttons: dict[str, QToolButton] = {}
        for side, icon, keys in (("a", "arrow-right", "Alt+Right"), ("b", "arrow-left", "Alt+Left")):
            made = states.tool(
                icon, tr("Take {upper}'s value into the draft ({keys})", upper=side.upper(), keys=keys), None, SIDE
            )
            made.setParent(table.viewport())
            made.setProperty("boxed", True)
            made.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            made.setCursor(Qt.CursorShape.ArrowCursor)
            made.clicked.connect(lambda _=False, side=side: self.taken.emit(side))
            made.hide()
            self.buttons[side] = made
            key = QShortcut(QKeySequence(keys), table)
            key.setContext(Qt.ShortcutContext.WidgetShortcut)
            key.activated.connect(lambda side=side: self.taken.emit(side))
        table.selectionModel().currentChanged.connect(self.place)
        table.model().modelAboutToBeReset.connect(self._go_from_the_pointer)
        table.model().modelReset.connect(self.place)
        table.model().rowsInserted.connect(self.place)
        table.expanded.connect(self.place)
        table.collapsed.connect(self.place)
        table.verticalScrollBar().valueChanged.connect(self.place)
        table.header().sectionResized.connect(self.place)
        table.viewport().setMouseTracking(True)
        table.viewport().installEventFilter(self)
        table.installEventFilter(self)

    def name(self, into_a: str, into_b: str) -> None:
        """Name the draft that takes B's value, and the one that takes A's."""
        for side, into, keys in (("a", into_b, "Alt+Right"), ("b", into_a, "Alt+Left")):
            words = tr("Take {upper}'s value into {into} ({keys})", upper=side.upper(), into=into, keys=keys)
            self.buttons[side].setToolTip(wording.tip(words))
            self.buttons[side].setAccessibleName(words)

    def offer(self, from_a: bool, from_b: bool) -> None:
        """Set which sides something can be taken from."""
        self._may = {"a": from_a, "b": from_b}
        self.place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.place()
        elif self._gone and event.type() in (QEvent.Type.MouseMove, QEvent.Type.Leave, QEvent.Type.KeyPress):
            self._gone = False
            self.place()
        return False

    def _go_from_the_pointer(self) -> None:
        if any(
            each.isVisible() and each.rect().contains(each.mapFromGlobal(QCursor.pos()))
            for each in self.buttons.values()
        ):
            self._gone = True

    def place(self, *_: object) -> None:
        """Put the buttons into the current row, or hide them if there is nothing to take."""
        index, model = self._table.currentIndex(), self._table.rows
        node = model.node(index)
        changed = node is not None and not node.is_hidden and (node.op is not None or node.kind == "parent")
        left, right = (self._table.visualRect(index.siblingAtColumn(column)) for column in (A, B))
        row = left if model.inline or right.isEmpty() else right
        for side, button in self.buttons.items():
            seen = changed and self._may[side] and not row.isEmpty() and not self._gone
            button.setVisible(seen)
            if seen:
                wide = theme.px(SIDE)
                own = left if side == "a" or model.inline else right
                x = own.right() - wide - theme.px(6)
                if model.inline and side == "b":
                    x -= wide + theme.px(4)
                button.move(x, row.top() + (row.height() - wide) // 2)
                button.raise_()
