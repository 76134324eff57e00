"""The filter of an activity: a span, an author, a field and a document, each in a line of its own."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from gui.language import tr, translated
from gui.parts.completing_line import CompletingLine
from gui.parts.completion import Completion, Offer
from gui.style import boxes, preferences, theme, wording
from gui.style.clear_cross import ClearCross
from gui.style.states import OneLine, button, words
from model.errors import Refused
from model.text.moments import Moment, moment_from_text
from model.text.paths import path_from_text
from model.values.canonical import Path

MOST = 40  # authors offered at once
RECENT = "1d"  # the first span asked for where the last change is not known: all changes would be read from a server
WEEK, MONTH, ALL = tr("The last 7 days"), tr("The last 30 days"), tr("All changes")
WIDER = {RECENT: ("7d", WEEK), "7d": ("30d", MONTH), "30d": ("", ALL)}  # each span, the next one to look at, in words


class Asked(Struct, frozen=True):
    """The filter's lines as values. ``document`` is an id as it was typed."""

    since: dt.datetime | None = None
    until: dt.datetime | None = None
    author: str | None = None
    path: Path = ()
    document: str = ""
    note: str = ""  # sentences on what was added to the times

    def __bool__(self) -> bool:
        return bool(self.since or self.until or self.author or self.path or self.document)


class ActivityFilter(QWidget):
    """The lines; Return in any of them, or the button, starts looking."""

    looked = Signal()

    def __init__(self, with_document: bool) -> None:
        super().__init__()
        boxes.ground(self, "toolrow")
        self._wider = WIDER
        self.authors: Sequence[str] = ()
        self.since = self._line(QLineEdit(), tr("Since"), tr("Since: 2026-11-01 09:30, 2026-11-01 or 7d"))
        self.until = self._line(QLineEdit(), tr("Until"), tr("Until, included: 2026-11-01 09:30, 2026-11-01 or 7d"))
        self.author = self._line(CompletingLine(self._offered), tr("Author"), tr("Author, the whole name"))
        self.path = self._line(QLineEdit(), tr("Field"), tr("Field, such as premium.gross: at it, below and above"))
        self.document = self._line(QLineEdit(), tr("Document"), tr("The id of a document"))
        self.look = button(tr("Look"), self.looked.emit, "small")
        self.wider = button("", self.widen, "small", "quiet")
        self.since.textChanged.connect(self._say_wider)
        self.clear_button = button(tr("Clear"), self.clear, "small", "quiet")
        self.said = OneLine("second")  # the panel places it
        self.trouble = words("", "error", wrap=True)
        self.trouble.setContentsMargins(theme.px(16), theme.px(4), theme.px(16), 0)
        self.trouble.hide()
        row = boxes.wrapping(x=16, y=0)
        for part, share in ((self.since, 3), (self.until, 3), (self.author, 3), (self.path, 4), (self.document, 3)):
            row.addWidget(part, share)
        row.addWidget(self.look)
        row.addWidget(self.wider)
        row.addWidget(self.clear_button)
        column = boxes.column(self)
        column.setContentsMargins(0, theme.px(8), 0, theme.px(8))
        column.addLayout(row)
        column.addWidget(self.trouble)
        self.document.setVisible(with_document)  # not before it has a parent: it would become a window
        self.setFocusProxy(self.since)
        self._hint()
        self._say_wider()
        preferences.signals.changed.connect(self._hint)

    def begin_at(self, last: dt.date) -> None:
        """Ask for the last day with changes; a week and 30 days, which can be asked for next, end with it too."""
        said = (last, last - dt.timedelta(days=6), last - dt.timedelta(days=29))
        day, week, month = map(dt.date.isoformat, said)
        self._wider = WIDER | {day: (week, WEEK), week: (month, MONTH), month: ("", ALL)}
        self.since.setText(day)

    def widen(self) -> None:
        """Look further back: at a week, at 30 days, at all changes."""
        if (then := self._wider.get(self.since.text().strip())) is not None:
            self.since.setText(then[0])
            self.looked.emit()

    @property
    def wider_said(self) -> str:
        """What looking further back would show; "" if a person chose the span."""
        return self._wider.get(self.since.text().strip(), ("", ""))[1]

    def _say_wider(self) -> None:
        self.wider.setText(self.wider_said)
        self.wider.setVisible(bool(self.wider_said))

    def _line(self, made: QLineEdit, name: str, tip: str) -> QLineEdit:
        made.setProperty("small", True)
        made.setProperty("mono", False)
        made.setPlaceholderText(name)
        made.setAccessibleName(name)
        made.setToolTip(wording.tip(tip))
        ClearCross(made)
        made.setMinimumWidth(theme.px(72))
        made.returnPressed.connect(self.looked)
        return made

    def _offered(self, typed: str, at: int, asked: bool) -> Offer | None:
        wanted = typed.strip().casefold()
        if not wanted and not asked:
            return None
        fitting = [name for name in self.authors if wanted in name.casefold() and name != typed][:MOST]
        choices = tuple(Completion(name, "", name) for name in fitting)
        return Offer(0, len(typed), choices) if choices else None

    # --- what is asked

    def asked(self) -> Asked:
        """The lines as values; raises ``Refused`` for an invalid time or path."""
        since, until = self._moment(self.since), self._moment(self.until)
        if since is not None and until is not None and since.at > until.at:
            raise Refused(tr("“Since” is later than “until”; swap them."))
        note = " ".join(each.note for each in (since, until) if each is not None and each.note)
        path = path_from_text(self.path.text().strip()) if self.path.text().strip() else ()
        return Asked(
            since.at if since is not None else None,
            until.at if until is not None else None,
            self.author.text().strip() or None,
            path,
            self.document.text().strip() if not self.document.isHidden() else "",
            note,
        )

    @staticmethod
    def _moment(line: QLineEdit) -> Moment | None:
        written = line.text().strip()
        return moment_from_text(written, zone=preferences.zone()) if written else None

    def say(self, asked: Asked) -> None:
        """Say what was added to the times."""
        self.said.setText(translated(asked.note) or self._zone_said())
        self.trouble.hide()

    def refuse(self, error: BaseException) -> None:
        """Say what is wrong with the lines."""
        self.trouble.setText(translated(str(error)))
        self.trouble.show()

    def _hint(self, *_: object) -> None:
        self.said.setText(self._zone_said())

    @staticmethod
    def _zone_said() -> str:
        return tr("A time without a zone is taken in {zone}, as in the settings.", zone=preferences.zone())

    def clear(self) -> None:
        """Clear all lines and look again."""
        for line in (self.since, self.until, self.author, self.path, self.document):
            line.clear()
        self.looked.emit()
