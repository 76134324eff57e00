"""The health of a place: its findings by class over the scans made from this computer, and the scans."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QComboBox, QStackedWidget, QWidget

from gui import messages
from gui.language import tr
from gui.paging import refill
from gui.parts.reading import Reading
from gui.style import boxes, states, theme, wording
from gui.style.states import DropDown, OneLine, StateStack, button, words
from gui.style.wrapping_row import WrappingRow
from gui.views.repair.health_lists import CourseList, CoursesModel, ScanList, ScansModel
from gui.views.repair.scan_consent import ScanConsent, agreed
from gui.views.repair.scanner import Scanner
from model import text
from model.session import Session
from model.session.health import Counted, compared, courses, subject
from model.values.canonical import Value

EVERYWHERE = tr("All databases")


class HealthPanel(QWidget):
    """Shows the summaries of a place's scans, and makes new scans."""

    place_changed = Signal()
    repairs_asked = Signal()

    def __init__(
        self, session: Session, place: str = "", ids: Sequence[Value] | None = None, production: bool = False,
        parent: QWidget | None = None, asks: bool = False,
    ) -> None:  # fmt: skip
        """With ``asks``, the first scan of such a place waits until scope and pace are agreed to."""
        super().__init__(parent)
        self._asks = asks
        self._session, self.place, self._ids, self._production = session, place, ids, production
        self.scanner: Scanner | None = None
        self._answers = True
        boxes.ground(self, "surface")
        self.classes, self.scans = CoursesModel(), ScansModel()
        self.class_list, self.scan_list = CourseList(self.classes), ScanList(self.scans)
        column = boxes.column(self)
        column.addLayout(self._title_row())
        column.addWidget(states.hair())
        self._stack = QStackedWidget()
        column.addWidget(self._stack, 1)
        self.states = StateStack(parent=self._stack)
        self._stack.addWidget(self.states)
        self.reading = Reading(
            self,
            self.states,
            again=self.refresh,
            failed=self._not_read,
            title=tr("What was kept of the scans could not be read"),
            stops="never",
        )
        split = boxes.split(parent=self.states.place)
        self._sound = StateStack(self.class_list, split)
        split.addWidget(self._lower())
        boxes.share(split, 420, 285)
        self.states.put(split)
        self.consent: ScanConsent | None = None
        self.setFocusProxy(self.class_list)

    def _title_row(self) -> WrappingRow:
        row, self.said = boxes.titled(tr("Health"))
        self.places = DropDown()
        self.places.setAccessibleName(tr("Where"))
        self.places.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.places.setMaximumWidth(theme.px(280))
        self.places.activated.connect(self._place_chosen)
        row.addWidget(self.places)
        row.addWidget(button(tr("Look at the findings"), self.repairs_asked.emit, "small", "quiet", icon="wrench"))
        self.again = button(tr("Scan now"), self.scan, "small", icon="arrows-clockwise")
        row.addWidget(self.again)
        return row

    def _lower(self) -> QWidget:
        made = QWidget()
        column = boxes.column(made)
        head = boxes.row(y=8)
        head.addWidget(words(tr("Scans"), "head"))
        self._how_many = OneLine("second")
        head.addWidget(self._how_many, 1)
        column.addLayout(head)
        column.addWidget(states.hair())
        column.addWidget(self.scan_list, 1)
        return made

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()  # another page may have made a scan

    # --- reading

    @property
    def _subject(self) -> tuple[str, str]:
        return subject([self.place] if self.place else [], self._ids)

    def refresh(self) -> None:
        """Read the stored summaries again."""
        if self.scanning:
            return
        health = self._session.health
        self.reading.ask(lambda _: health.scans(), self._shown, tr("Reading what was kept of the scans"))

    def _not_read(self, error: BaseException) -> None:
        self.said.hide()
        self.reading.show_failed(error)

    def _shown(self, every: list[Counted]) -> None:
        place, ids = self._subject
        self._fill_places({scan.place for scan in every if not scan.ids} | {place})
        mine = [scan for scan in every if scan.subject == (place, ids)]
        self.said.setText(_verdict(mine))
        self.said.setVisible(bool(mine))
        if not mine:
            self._show_none()
            return
        found = courses(mine[::-1])
        refill(self.class_list, self.classes, found)
        refill(self.scan_list, self.scans, compared(mine))
        self._how_many.setText(self._kept(len(mine)))
        self.states.show_content()
        if found:
            self._sound.show_content()
            if not self.class_list.selectionModel().hasSelection():
                self.class_list.setCurrentIndex(self.classes.index(0, 0))
        else:
            self._sound.show_empty(
                tr("Nothing was ever found here"),
                tr(
                    "In {scans}, each document was as its layout requires.",
                    scans=wording.many(len(mine), "scan"),
                ),
                icon="check-circle",
            )

    def _kept(self, count: int) -> str:
        where = tr("on this computer") if self._session.health.kept else tr("as long as this connection is open")
        return tr("{count}, kept {where}: counts alone, no document", count=wording.count(count), where=where)

    def _show_none(self) -> None:
        here = self._words()
        until = (
            "" if self._session.health.kept
            else tr(" These data are in memory, so the counts are kept as long as this connection is open.")
        )  # fmt: skip
        self.states.show_empty(
            tr("No scan of {here} was made from here yet", here=here),
            tr(
                "Each scan leaves its counts by class here, so that the next one shows whether a fix worked.{until}",
                until=until,
            ),
        )

    def _words(self) -> str:
        if self._ids is not None:
            return ", ".join(wording.plain(id) for id in self._ids[:3])
        return self.place or tr("all databases")

    def _fill_places(self, found: set[str]) -> None:
        """Offer the other places with scans; the box is hidden if there are none."""
        self.places.clear()
        for each in sorted(found):
            self.places.addItem(text.plain(each) or EVERYWHERE, each)
        self.places.setCurrentIndex(self.places.findData(self.place))
        self.places.setVisible(self._ids is None and len(found) > 1)
        self.places.setToolTip(tr("Where the scans looked"))

    def _place_chosen(self, at: int) -> None:
        self.place = str(self.places.itemData(at))
        self.place_changed.emit()
        self.refresh()

    # --- scanning

    @property
    def scanning(self) -> bool:
        """Whether a scan is running."""
        return self.scanner is not None and self.scanner.running

    def scan(self) -> None:
        """Scan this place again."""
        if self.scanning:
            return
        known = agreed(self._session, self.place)
        if self._asks and known is None:
            self._ask_first()
            return
        places = [self.place] if self.place else []
        gently = self._production if known is None else known.gently
        self.scanner = Scanner(self._session, places, self._ids, gently)
        self.scanner.progressed.connect(self.states.progress)
        self.scanner.ended.connect(self._scanned)
        self.scanner.failed.connect(self._scan_failed)
        self.scanner.begin()
        self._say_again()
        self.states.show_loading(tr("Looking for damage"), self.scanner.stop)

    def say_answering(self, answers: bool) -> None:
        """Offer scanning only while the server answers."""
        self._answers = answers
        self._say_again()

    def _say_again(self) -> None:
        why = "" if self._answers else wording.unread(self._session.name)
        self.again.setEnabled(not why and not self.scanning and self.consent is None)
        self.again.setToolTip(wording.tip(why))

    def _ask_first(self) -> None:
        if self.consent is None:
            self.consent = asked = ScanConsent(self._session, self.place, self._production)
            asked.given.connect(self._agreed)
            asked.declined.connect(self._end_question)
            self._stack.addWidget(asked)
            self._stack.setCurrentWidget(asked)
            self._say_again()
        self.consent.scope.setFocus()

    def _end_question(self) -> None:
        asked, self.consent = self.consent, None
        if asked is not None:
            self._stack.setCurrentIndex(0)
            self._stack.removeWidget(asked)
            asked.deleteLater()
        self._say_again()
        self.again.setFocus()

    def _agreed(self, place: str, _: bool) -> None:
        self._end_question()
        if place != self.place:
            self.place = place
            self.place_changed.emit()
        self.scan()

    def _scanned(self) -> None:
        self.scanner = None
        self._say_again()
        self.refresh()

    def _scan_failed(self, error: BaseException) -> None:
        self._scanned()
        messages.fail(self, error)

    def leave(self) -> None:
        """Stop a running scan or reading."""
        if self.scanner is not None:
            self.scanner.stop()


def _verdict(scans: Sequence[Counted]) -> str:
    """Whether it became better, in one sentence; the newest scan comes first."""
    whole = [scan for scan in scans if scan.whole]
    if not whole:
        return tr("The scans were stopped before their end, so nothing can be compared yet.") if scans else ""
    last, first = whole[0], whole[-1]
    now = tr("{findings} on {at}", findings=wording.many(last.findings, "finding"), at=wording.moment(last.at))
    if len(whole) == 1:
        return tr("{now}. Scan again after a fix, and this page shows what it changed.", now=now)
    by = last.findings - first.findings
    change = (
        tr("{by} {how} than", by=wording.count(abs(by)), how=tr("more") if by > 0 else tr("fewer"))
        if by
        else tr("as many as")
    )
    return tr(
        "{now}, {change} in the first of {whole} scans on {at}.",
        now=now,
        change=change,
        whole=len(whole),
        at=wording.moment(first.at),
    )
