"""What a server really guarantees: each promise with its measurement and advice; the worst stand out."""

from __future__ import annotations

import datetime as dt
from functools import partial

from msgspec import Struct
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QScrollArea, QSpacerItem, QVBoxLayout, QWidget

from gui import tasks
from gui.language import tr, translated
from gui.parts.reading import Reading
from gui.style import boxes, theme, wording
from gui.style.states import Glyph, StateStack, button, words
from model.foundation.guarantee import Guarantee
from model.session import Session

MARKS = {
    "safe": ("check-circle", "acc", tr("Holds")),
    "unsafe": ("warning-circle", "err", tr("Unsafe")),
    "limited": ("info", "warn", tr("Limited")),
    "unknown": ("question", "warn", tr("Not measured")),
}
BESIDE = 320  # u that sentences have beside their titles; with less, they are below
LINES = 4  # rows of the grid per promise


class _Shown(Struct, frozen=True):
    """One promise as drawn."""

    glyph: Glyph
    verdict: QLabel
    title: QLabel
    sentences: tuple[QLabel, ...]


class CheckPanel(QWidget):
    """Runs the whole check on request and shows it; nothing is measured without a click."""

    measured = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.found: list[Guarantee] = []
        self._had_focus = False
        self._at: dt.datetime | None = None  # when the last complete measurement ended
        self._broken_off = False
        self._answers = True
        self.run = button(tr("Measure"), self.refresh, "small", icon="play")
        self._summary = words("", "second", wrap=True)
        head = boxes.ground(QWidget(), "sunken")
        row = QHBoxLayout(head)
        row.setContentsMargins(theme.px(16), theme.px(12), theme.px(16), theme.px(12))
        column = QVBoxLayout()
        column.setSpacing(theme.px(2))
        column.addWidget(words(tr("What this server guarantees"), "title"))
        column.addWidget(self._summary)
        row.addLayout(column, 1)
        row.addWidget(self.run, 0, Qt.AlignmentFlag.AlignTop)
        self._rows = QWidget()
        self._rows.setObjectName("surface")
        self._rows.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._grid = QGridLayout(self._rows)
        self._grid.setContentsMargins(theme.px(16), theme.px(16), theme.px(16), theme.px(16))
        self._grid.setHorizontalSpacing(theme.px(12))
        self._grid.setVerticalSpacing(theme.px(4))
        self._grid.setColumnStretch(3, 1)
        self._shown: list[_Shown] = []
        self._is_below = False  # whether the sentences are below the titles
        scroll = QScrollArea()
        scroll.setObjectName("scrolled")
        scroll.setAccessibleName(tr("Guarantees"))
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self._rows)
        self.states = StateStack(scroll)
        self.states.setAccessibleName(tr("What this server guarantees"))
        self.states.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.states.turned.connect(self._say)
        self.reading = Reading(
            self,
            self.states,
            again=self.refresh,
            failed=self._not_measured,
            stopped=self._stopped,
            title=tr("The server could not be measured"),
        )
        whole = boxes.column(self)
        whole.addWidget(head)
        whole.addWidget(self.states, 1)
        self.setFocusProxy(self.run)
        theme.signals.changed.connect(self._restyle)
        self._idle()
        self.say_writable()

    def _idle(self) -> None:
        if not self.found:
            self.states.show_empty(
                tr("Nothing is measured until you ask"),
                tr(
                    "The check writes into a scratch database of its own, {database}, and drops it at the end: eight "
                    "writers at once, every type, the order of fields, retried writes, change streams, the clock. It "
                    "takes some seconds.",
                    database=self._session.trust.scratch,
                ),
                icon="hard-drives",
            )
        self._say()

    def _say(self) -> None:
        """Say what is known now."""
        source, known = wording.source(self._session.source, first=True), self._session.trust.measured
        if self.reading.is_on or self.states.kind == "loading":
            said = tr("{source} is being measured now.", source=source)
            if self.reading.is_on and not self.found and self.states.kind == "content":
                said += " " + tr("The results below are of the previous measurement.")
        elif self.states.kind == "failed" or self._broken_off:
            said = tr("{source} was not measured to the end this time.", source=source)
        elif self.found:
            bad = sum(1 for each in self.found if each.verdict == "unsafe")
            said = _verdict(source, self._at, wording.many(bad, "promise") if bad else "")
        elif known is not None:
            said = _verdict(source, known.at, wording.many(len(known.unsafe), "promise") if known.unsafe else "")
        else:
            said = tr("{source} was not measured yet.", source=source)
        self._summary.setText(said)

    def say_writable(self) -> None:
        """Offer measuring, which writes, if the connection allows it and its server answers."""
        why = ""
        if self._session.trust.barred:
            why = translated(self._session.trust.barred)
        elif self._session.trust.read_only:
            why = tr(
                "{name} is open read-only; measuring writes to a scratch database.",
                name=wording.source(self._session.name, first=True),
            )
        elif not self._answers:
            why = tr(
                "{name} does not answer now, so nothing can be measured.",
                name=wording.source(self._session.name, first=True),
            )
        self.run.setEnabled(not why and not self.reading.is_on)
        self.run.setToolTip(wording.tip(why))

    def say_answering(self, answers: bool) -> None:
        """Offer measuring only while the server answers."""
        self._answers = answers
        self.say_writable()

    def refresh(self) -> None:
        """Measure everything again."""
        session = self._session
        self.found = []
        self._broken_off = False
        self._had_focus = self.run.hasFocus()  # a disabled button passes the focus on, to the one that allows writes
        self.run.setEnabled(False)
        if self._had_focus:
            self.states.setFocus()
        said = tr("Measuring {name}", name=wording.source(session.name))
        self.reading.ask(partial(_measure, session), self._done, said, title=said, partial=self._add)
        self._say()

    def _add(self, found: Guarantee) -> None:
        if not self.found:
            self._clear()
        self.found.append(found)
        icon, token, said = MARKS[found.verdict]
        detail = words(translated(found.detail), wrap=True)
        detail.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        detail.setAccessibleName(
            f"{translated(found.title)}: {said}. {translated(found.detail)} {translated(found.advice)}"
        )
        advice = (words(translated(found.advice), "second", wrap=True),) if found.advice else ()
        self._shown.append(
            _Shown(Glyph(icon, token), words(said, "strong"), words(translated(found.title)), (detail, *advice))
        )
        if self._has_no_room_beside() == self._is_below:
            self._place(len(self._shown) - 1)
        else:
            self._arrange()
        self.states.show_content()
        self._say()

    def _place(self, number: int) -> None:
        """Lay out one promise: its sentences beside its title, or below it."""
        one, at, top = self._shown[number], number * LINES, Qt.AlignmentFlag.AlignTop
        one.title.setWordWrap(self._is_below)
        self._grid.addWidget(one.glyph, at, 0, top)
        self._grid.addWidget(one.verdict, at, 1, top)
        if self._is_below:
            self._grid.addWidget(one.title, at, 2, 1, 2)
        else:
            self._grid.addWidget(one.title, at, 2, top)
        for line, sentence in enumerate(one.sentences):
            if self._is_below:
                self._grid.addWidget(sentence, at + line + 1, 1, 1, 3)
            else:
                self._grid.addWidget(sentence, at + line, 3)
        self._grid.addItem(QSpacerItem(0, theme.px(12)), at + LINES - 1, 3)
        self._grid.setRowStretch(at, 0)
        self._grid.setRowStretch(at + LINES, 1)

    def _has_no_room_beside(self) -> bool:
        """Whether sentences beside the titles would wrap into many short lines."""
        if not self._shown:
            return False
        columns = zip(*((one.verdict, one.title) for one in self._shown), strict=True)
        taken = sum(max(each.fontMetrics().horizontalAdvance(each.text()) for each in column) for column in columns)
        room: int = self.width() - taken - theme.px(2 * 16 + 16 + 3 * 12)
        return room < theme.px(BESIDE)

    def _arrange(self) -> None:
        """Lay out all promises for the present width."""
        self._is_below = self._has_no_room_beside()
        while self._grid.takeAt(0) is not None:
            pass
        for number in range(len(self._shown)):
            self._place(number)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _restyle(self) -> None:
        QTimer.singleShot(0, self, self._fit)  # by then the texts have their new size

    def _fit(self) -> None:
        if self._has_no_room_beside() != self._is_below:
            self._arrange()

    def _clear(self) -> None:
        self._shown = []
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()

    def _ready(self) -> None:
        self.say_writable()
        if self._had_focus and self.states.hasFocus():
            self.run.setFocus()

    def _done(self, _: None) -> None:
        self._at = dt.datetime.now(dt.UTC)
        self._ready()
        self._idle()
        self.measured.emit()

    def _not_measured(self, error: BaseException) -> None:
        self._ready()
        self._broken_off = True
        self.reading.show_failed(error)
        self._say()

    def _stopped(self) -> None:
        self._ready()
        self._broken_off = True
        self.found = []
        self._idle()


def _measure(session: Session, progress: tasks.Progress) -> None:
    for each in session.trust.check(False, progress):
        progress.put(each)


def _verdict(source: str, at: dt.datetime | None, broken: str) -> str:
    """When a source was measured, and the result; ``broken`` counts its broken promises."""
    moment = wording.moment(at)
    if broken:
        return tr("{source} was measured on {at}; found: {promises} broken.", source=source, at=moment, promises=broken)
    return tr("{source} was measured on {at}; nothing unsafe was found.", source=source, at=moment)
