"""One page of the manual, with the hits of a search marked."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QImage,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QTextBrowser, QTextEdit, QWidget

from gui.help import manual_dress
from gui.language import tr
from gui.style import theme
from resources import manual

WIDEST = 800  # longer lines are hard to read
_BY_KEY = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason)
_AROUND = 40  # u of context around a hit


class ManualView(QTextBrowser):
    """Shows Markdown. ``asked`` tells of a clicked link, not followed; ``found`` tells when the hits change."""

    asked = Signal(str)
    found = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("manual")
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._markdown, self._words = "", ""
        self._hits: list[QTextCursor] = []
        self._at = -1
        self._wide = 0
        self.anchorClicked.connect(self._clicked)
        theme.signals.changed.connect(self._again)

    def show_page(self, title: str, markdown: str) -> None:
        """Show a page from its beginning."""
        self._markdown = markdown
        self.setAccessibleName(tr("Help: {title}", title=title))
        self._draw()
        self.verticalScrollBar().setValue(0)

    def go_to(self, heading: str) -> None:
        """Scroll to a heading, as links name it; "" is the beginning."""
        if heading:
            self.scrollToAnchor(heading)
        else:
            self.verticalScrollBar().setValue(0)

    @property
    def place(self) -> int:
        """How far the page is scrolled; settable."""
        return self.verticalScrollBar().value()

    @place.setter
    def place(self, value: int) -> None:
        self.verticalScrollBar().setValue(value)

    # --- finding

    @property
    def hits(self) -> tuple[int, int]:
        """The number of the current hit, from 1, and the number of all; 0 if there is none."""
        return self._at + 1, len(self._hits)

    def mark(self, words: str) -> None:
        """Mark these words everywhere; "" marks nothing. The first hit in sight or below becomes current."""
        self._words = words
        self._find()
        top = self.cursorForPosition(self.viewport().rect().topLeft()).position()
        below = (at for at, hit in enumerate(self._hits) if hit.selectionEnd() >= top)
        self._put(next(below, 0) if self._hits else -1)

    def step(self, by: int) -> bool:
        """Go to the next hit, or the one before; False if this page has no more."""
        if not 0 <= self._at + by < len(self._hits):
            return False
        self._put(self._at + by)
        return True

    def go_to_hit(self, last: bool) -> None:
        """Go to the first hit of the page, or to the last."""
        self._put(len(self._hits) - 1 if last else min(0, len(self._hits) - 1))

    def _find(self) -> None:
        self._hits = []
        if self._words:
            hit = self.document().find(self._words)
            while not hit.isNull():
                self._hits.append(hit)
                hit = self.document().find(self._words, hit)

    def _put(self, at: int) -> None:
        self._at = at
        marks = []
        for number, hit in enumerate(self._hits):
            mark = QTextEdit.ExtraSelection()
            mark.cursor = hit
            ink, ground = ("accText", "acc") if number == at else ("text", "sel")
            mark.format.setForeground(theme.colour(ink))
            mark.format.setBackground(theme.colour(ground))
            marks.append(mark)
        self.setExtraSelections(marks)
        if at >= 0:
            there = QTextCursor(self._hits[at])
            there.clearSelection()
            self.setTextCursor(there)
            self._bring_into_sight(there)
        self.found.emit()

    def _bring_into_sight(self, there: QTextCursor) -> None:
        """Scroll to a place that is out of sight, with some lines above it."""
        box, room = self.cursorRect(there), self.viewport().height()
        if not theme.px(_AROUND) <= box.top() <= room - theme.px(_AROUND):
            self.place += box.top() - room // 3

    # --- drawing

    def _draw(self) -> None:
        self.document().setMarkdown(self._markdown)
        manual_dress.dress(self.document())

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """A picture of the manual, in the ink and letters of the theme and as sharp as the screen is."""
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return super().loadResource(kind, name)
        svg = manual.picture(QUrl(name).fileName()).replace("currentColor", theme.tokens().text2)
        svg = svg.replace("sans-serif", theme.font().family())
        drawn, ratio = QSvgRenderer(svg.encode()), self.devicePixelRatioF()
        around = 2 * (theme.px(manual_dress.MARGIN) + self.frameWidth()) + self.verticalScrollBar().sizeHint().width()
        size, room = drawn.defaultSize(), min(self.width(), theme.px(WIDEST)) - around
        size.scale(min(room, theme.px(size.width())), theme.px(size.height()), Qt.AspectRatioMode.KeepAspectRatio)
        made = QImage(size * ratio, QImage.Format.Format_ARGB32_Premultiplied)
        made.fill(Qt.GlobalColor.transparent)
        painter = QPainter(made)
        drawn.render(painter)
        painter.end()
        made.setDevicePixelRatio(ratio)
        return made

    def _again(self) -> None:
        place, at = self.place, self._at
        self._draw()
        self._find()
        self._put(min(at, len(self._hits) - 1))
        self.place = place

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring(event.reason() in _BY_KEY)
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._ring(False)
        super().focusOutEvent(event)

    def _ring(self, shown: bool) -> None:
        """Show the focus ring only to people who use keys; around a page that was just opened it means nothing."""
        if shown != bool(self.property("ringed")):
            self.setProperty("ringed", shown)
            # Qt evaluates the style sheet's property selectors only while polishing.
            self.style().unpolish(self)
            self.style().polish(self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        spare = self.width() - theme.px(WIDEST)
        self.setViewportMargins(0, 0, max(0, spare), 0)
        super().resizeEvent(event)
        before, self._wide = self._wide, self.width()
        if "![" in self._markdown and before != self._wide:  # its pictures take the width there is
            self._again()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(0, -self.place)
        painter.setPen(QPen(QColor(theme.colour("border")), 1))
        painter.setBrush(theme.colour("sunken"))
        for box in self._code_boxes():
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), theme.px(6), theme.px(6))
        painter.end()
        super().paintEvent(event)

    def _code_boxes(self) -> list[QRectF]:
        """Where the blocks of code stand, in the document."""
        layout, pad = self.document().documentLayout(), theme.px(manual_dress.CODE)
        left = theme.px(manual_dress.MARGIN)
        width = self.document().textWidth() - 2 * left
        found: list[QRectF] = []
        was_code = False
        for block in manual_dress.blocks(self.document()):
            code = manual_dress.is_code(block)
            if code:
                box = layout.blockBoundingRect(block)
                found = [*found[:-1], found[-1].united(box)] if was_code else [*found, box]
            was_code = code
        return [QRectF(left, box.top() - pad, width, box.height() + 2 * pad) for box in found]

    def _clicked(self, link: QUrl) -> None:
        self.asked.emit(link.toString())
