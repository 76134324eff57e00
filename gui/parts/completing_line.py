"""A line edit with completions below it: the arrows choose one, Enter or Tab takes it, Ctrl+Space asks for them."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QWidget

from gui.language import tr
from gui.paging import RowsModel
from gui.parts.completion import Completion, Offer
from gui.style import boxes, theme
from gui.style.cells import Cell, CellTree, Index, Span

SHOWN = 8  # words shown at once
WIDE = 420
STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: SHOWN, Qt.Key.Key_PageUp: -SHOWN}
TAKES = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab)


class _Words(RowsModel[Completion]):
    headers = ("",)

    def key(self, row: Completion) -> Hashable:
        return row

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        remark = (Span(f"   {row.remark}", "text3", sans=True),) if row.remark else ()
        return Cell(spans=(Span(row.word), *remark), mono=True, size=12, indent=4)


class CompletingLine(QLineEdit):
    """``words`` gets the text, the cursor's position, and whether the person asked for words."""

    def __init__(self, words: Callable[[str, int, bool], Offer | None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._offer: Offer | None = None
        self.setProperty("mono", True)
        self.textEdited.connect(self._edited)
        self._frame: QFrame | None = None
        self.model = _Words()

    # --- the completions

    @property
    def offered(self) -> tuple[Completion, ...]:
        """The words below the line; () if there are none."""
        return self._offer.choices if self._offer is not None else ()

    def _edited(self, _: str) -> None:
        self._show(self._words(self.text(), self.cursorPosition(), False))

    def offer_again(self) -> None:
        """Offer words for what is typed, because more words are known now."""
        if self.hasFocus() and self.text():
            self._edited(self.text())

    def _show(self, offer: Offer | None) -> None:
        self._offer = offer
        if offer is None:
            self.setAccessibleDescription("")
            if self._frame is not None:
                self._frame.hide()
            return
        frame = self._made()
        self.model.fill(offer.choices)
        self.list.setCurrentIndex(self.model.index(0, 0))
        row = self.list.sizeHintForRow(0)
        frame.resize(theme.px(WIDE), min(SHOWN, len(offer.choices)) * row + 2)
        left = self.cursorRect().left()
        place = self.mapTo(self.window(), QPoint(left, self.height() + theme.px(2)))
        place.setX(max(0, min(place.x(), self.window().width() - frame.width() - theme.px(8))))
        if place.y() + frame.height() > self.window().height():
            place.setY(self.mapTo(self.window(), QPoint(0, 0)).y() - frame.height() - theme.px(2))
        frame.move(place)
        frame.show()
        frame.raise_()

    def _made(self) -> QFrame:
        """The list, a child of the line's present window: over everything else, and never focused."""
        if self._frame is None or self._frame.parent() is not self.window():
            self._frame = frame = boxes.ground(QFrame(self.window()), "dropdown")
            self.destroyed.connect(frame.deleteLater)
            self.list = CellTree(row_height=24)
            self.list.setHeaderHidden(True)
            self.list.as_list(self.model, tr("Possible words"))
            self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            self.list.led = True
            self.list.clicked.connect(self._clicked)
            self.list.selectionModel().currentRowChanged.connect(self._say_word)
            column = boxes.column(frame)
            column.addWidget(self.list)
        return self._frame

    def _say_word(self) -> None:
        """Tell screen readers the chosen word, because the focus stays in the line."""
        row = self.model.at(self.list.currentIndex())
        self.setAccessibleDescription(
            "" if row is None else tr("{word}, one of {offered} words", word=row.word, offered=len(self.offered))
        )
        from PySide6.QtGui import QAccessible, QAccessibleEvent  # large, and few starts complete a word

        changed = QAccessible.Event.DescriptionChanged
        QAccessible.updateAccessibility(QAccessibleEvent(self, changed))

    def _clicked(self, index: Index) -> None:
        self._take(index.row())

    def _take(self, at: int) -> None:
        offer, self._offer = self._offer, None
        self._show(None)
        if offer is None or not 0 <= at < len(offer.choices):
            return
        taken = offer.choices[at].text
        self.setSelection(offer.start, offer.end - offer.start)
        self.insert(taken)
        if taken.endswith('")'):  # put the cursor between the quotes
            self.setCursorPosition(self.cursorPosition() - 2)
        self.textEdited.emit(self.text())

    # --- keys

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and self.offered:
            key = Qt.Key(event.key())
            mine = key in STEPS or key in TAKES or key == Qt.Key.Key_Escape
            if mine and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
                if event.type() == QEvent.Type.KeyPress:
                    self._key(key)
                event.accept()
                return True
        return super().event(event)

    def _key(self, key: Qt.Key) -> None:
        now = self.list.currentIndex().row()
        if key in STEPS:
            self.list.setCurrentIndex(self.model.index(max(0, min(now + STEPS[key], len(self.offered) - 1)), 0))
        elif key in TAKES:
            self._take(now)
        else:
            self._show(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._show(self._words(self.text(), self.cursorPosition(), True))
            event.accept()
            return
        super().keyPressEvent(event)
        if self.offered and event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End):
            self._show(None)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._show(None)

    def hideEvent(self, event: object) -> None:
        self._show(None)
        super().hideEvent(event)  # type: ignore[arg-type]
