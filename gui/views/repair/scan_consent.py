"""The question before a server's first scan: where, at which pace, and how much that is."""

from __future__ import annotations

from msgspec import Struct
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QWidget

from gui import tasks
from gui.language import tr
from gui.style import boxes, preferences, theme, wording
from gui.style.states import button, words
from model import text
from model.session import Session
from model.session.scans import ScanEstimate

EVERYWHERE = tr("All databases")
_HINTS = (
    tr("Gently: small batches with rests between them, from a secondary where there is one."),
    tr("Fast: as quickly as the server answers."),
)


class Agreement(Struct, frozen=True):
    """What a person agreed to for a server: the places to read, and the pace."""

    places: tuple[str, ...]
    gently: bool

    @classmethod
    def kept(cls, session: Session) -> Agreement | None:
        """The agreement for this source; None if nobody was asked yet."""
        found = preferences.remembered(_key(session))
        if not isinstance(found, dict) or not isinstance(found.get("places"), list):
            return None
        return cls(tuple(map(str, found["places"])), bool(found.get("gently")))

    def covers(self, place: str) -> bool:
        """Whether it covers a place: that one, or one around it."""
        return any(each in ("", place) or place.startswith(f"{each}.") for each in self.places)

    def keep(self, session: Session) -> None:
        """Remember it for this source."""
        preferences.remember(_key(session), {"places": list(self.places), "gently": self.gently})


def agreed(session: Session, place: str) -> Agreement | None:
    """The agreement that covers a scan of this place; None if a person has to be asked first."""
    kept = Agreement.kept(session)
    return kept if kept is not None and kept.covers(place) else None


def _key(session: Session) -> str:
    return f"scans/{session.source}"


class ScanConsent(QWidget):
    """Asks for scope and pace. ``given`` carries the chosen place and whether the pace is gentle."""

    given = Signal(str, bool)
    declined = Signal()

    def __init__(self, session: Session, place: str, production: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "surface")
        self._session = session
        self.scope = QComboBox()
        self.scope.setAccessibleName(tr("Where to look"))
        database = place.partition(".")[0]
        for each in dict.fromkeys((place, database, "")):
            self.scope.addItem(text.plain(each) or EVERYWHERE, each)
        self.scope.activated.connect(self._estimate)
        pace, self.paces = boxes.segments(self, (tr("Gently"), tr("Fast")), tr("{}: the pace of the scan"))
        pace.addStretch(1)
        self.paces.button(0 if production else 1).setChecked(True)
        self.paces.idClicked.connect(self._say)
        self._hint = words("", "hint", wrap=True)
        self.estimate = words("", "second", wrap=True)
        self._found: ScanEstimate | None = None
        self.go = button(tr("Look for damage"), self._go, "main")
        form = QFormLayout()
        form.setHorizontalSpacing(theme.px(16))
        form.setVerticalSpacing(theme.px(8))
        boxes.add_field(form, tr("&Where"), self.scope)
        boxes.add_field(form, tr("Pace"), pace)
        form.addRow("", self._hint)
        form.addRow(tr("About"), self.estimate)
        column = boxes.column(self)
        column.setContentsMargins(theme.px(16), theme.px(24), theme.px(16), theme.px(24))
        column.setSpacing(theme.px(12))
        marked = tr(", which is marked as production") if production else ""
        column.addWidget(
            words(
                tr("Look for damage on {name}{marked}?", name=wording.source(session.name), marked=marked),
                "title",
                wrap=True,
            )
        )
        column.addWidget(
            words(
                tr(
                    "A scan reads every document there once, archives too, and writes nothing. Your choice "
                    "is remembered for this server."
                ),
                "second",
                wrap=True,
            )
        )
        column.addLayout(form)
        row = boxes.row(x=0, y=0)
        row.addWidget(self.go)
        row.addWidget(button(tr("Not now"), self.declined.emit))
        row.addStretch(1)
        column.addLayout(row)
        column.addStretch(1)
        self.setMaximumWidth(theme.px(720))
        self.setFocusProxy(self.scope)
        self._estimate()

    @property
    def gently(self) -> bool:
        """Whether the gentle pace is chosen."""
        return self.paces.checkedId() == 0

    @property
    def place(self) -> str:
        """The place that is chosen; "" for all databases."""
        return str(self.scope.currentData())

    def _estimate(self, _: int = 0) -> None:
        session, place = self._session, self.place
        self._found = None
        self._say()
        tasks.run(
            lambda progress: session.scans.estimate([place] if place else [], progress),
            done=self._estimated,
            failed=self._unknown,
            owner=self,
            key="estimate",
        )

    def _estimated(self, found: ScanEstimate) -> None:
        self._found = found
        self._say()

    def _unknown(self, error: BaseException) -> None:
        self.estimate.setText(tr("The amount is not known: {describe}", describe=tasks.describe(error)[0]))

    def _say(self, _: int = 0) -> None:
        self._hint.setText(_HINTS[0 if self.gently else 1])
        found = self._found
        if found is None:
            self.estimate.setText(tr("Counting…"))
            return
        counted = wording.many(found.documents, "document")
        more = (
            tr(" and {collections} that could not be counted", collections=wording.many(found.uncounted, "collection"))
            if found.uncounted
            else ""
        )
        seconds = found.seconds("gentle" if self.gently else "fast")
        where = wording.many(found.collections, "collection")
        self.estimate.setText(f"{where}, {counted}{more}: {_span(seconds)}{(tr(' or more') if more else '')}")

    def _go(self) -> None:
        before = Agreement.kept(self._session)
        places = (*(before.places if before is not None else ()), self.place)
        Agreement(tuple(dict.fromkeys(places)), self.gently).keep(self._session)
        tasks.tasks.drop(self, "estimate")
        self.given.emit(self.place, self.gently)


def _span(seconds: float) -> str:
    """A rough time, because no better one is known in advance."""
    if seconds < 10:
        return tr("a few seconds")
    if seconds < 100:
        return tr("about {seconds:.0f} seconds", seconds=round(seconds, -1))
    if seconds < 5400:
        return tr("about {max} minutes", max=max(2, round(seconds / 60)))
    return tr("about {seconds:g} hours", seconds=round(seconds / 3600, 1))
