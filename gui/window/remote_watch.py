"""Other programs' writes: asks for the shown documents now and then, and reports changes like any write.

Small documents are compared whole, large ones by version and token; the first answer is compared with what the page
has read, if it kept that. A list whose collection gained or lost rows is read again, and so is a journal that another
process wrote to. The page in front is asked for often enough that a write is seen within five seconds, also by a slow
server. Asking for the tabs behind it never takes more than a twentieth of the time. All is asked less often while
nobody uses the window.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

from msgspec import Struct
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from shiboken6 import isValid

from gui import tasks
from gui.language import tr
from gui.pages.base import Page
from model.errors import Refused
from model.foundation import news
from model.foundation.news import News

if TYPE_CHECKING:
    from gui.window.open_sessions import OpenSessions
    from gui.window.workspace import Workspace
    from model.session import Session
    from model.values.canonical import Value

EVERY = 3_000  # milliseconds between two requests
WITHIN = 5_000  # milliseconds in which a write is seen in front
SHARE = 20  # after a request for the tabs behind, pause this many times its duration
AWAY = 5  # times less often while another program is in front
SOON = 300  # milliseconds after other documents are shown

Marks: TypeAlias = "dict[str, dict[Value, bytes]]"
_Wanted: TypeAlias = "dict[str, tuple[dict[Value, set[bytes]], int]]"
"""The documents as they were read, and their total bytes."""
_Asked = dict[Page, Callable[[], object]]  # pages, each with the call that tells whether rows came or went
_Pulses = dict[Page, object]


class _Found(Struct, frozen=True):
    """A connection's answer."""

    session: Session
    behind: bool  # whether it is about the tabs behind the front one
    marks: Marks
    others: dict[str, set[Value]]  # the documents that differ from what a page shows
    pulses: _Pulses
    took: float  # seconds


class RemoteWatch(QObject):
    """Asks the servers of a window's connections; for data in this process the writers tell the news."""

    def __init__(self, workspace: Workspace, sessions: OpenSessions) -> None:
        super().__init__(workspace)
        self._workspace, self._sessions = workspace, sessions
        self._known: dict[tuple[int, bool], Marks] = {}  # of each session, in front and behind, as last seen
        self.pulses: WeakKeyDictionary[Page, object] = WeakKeyDictionary()  # each page's, as last seen
        self._asking: set[tuple[int, bool]] = set()
        self._due: dict[int, float] = {}  # when each session's tabs behind are asked for again, by the steady clock
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.ask)
        self._timer.start(EVERY)
        workspace.current_changed.connect(self._soon)

    def known(self, session: Session) -> Marks:
        """The marks of a connection's documents, as last seen."""
        there = self._known.get((id(session), True), {})
        front = self._known.get((id(session), False), {})
        return {ns: there.get(ns, {}) | front.get(ns, {}) for ns in there.keys() | front.keys()}

    def _soon(self) -> None:
        self._timer.start(min(SOON, EVERY))

    def ask(self) -> None:
        """Ask each server for the documents on show."""
        area = self._workspace.tab_area
        for session in self._sessions.all:
            watch = self._sessions.watch(session)
            if session.is_local or (watch is not None and watch.lost is not None):
                continue
            self._ask_for(session, [page for page in area.pages if page is area.page], behind=False)
            if time.monotonic() >= self._due.get(id(session), 0.0):
                self._ask_for(session, [page for page in area.pages if page is not area.page], behind=True)
        self._timer.start(EVERY)

    def _ask_for(self, session: Session, pages: Sequence[Page], behind: bool) -> None:
        wanted: _Wanted = {}
        asked: _Asked = {}
        for page in pages:
            if (pulse := page.pulse_of(session)) is not None:
                asked[page] = pulse
            for ns, shown, size in page.on_show_of(session):
                there, bytes_ = wanted.setdefault(ns, ({}, 0))
                for each, raw in shown.items():
                    there.setdefault(each, set()).update(() if raw is None else (raw,))
                wanted[ns] = (there, bytes_ + size)
        if (wanted or asked) and (id(session), behind) not in self._asking:
            self._asking.add((id(session), behind))
            tasks.run(
                partial(_answer, session, behind, wanted, asked),
                done=self._answered,
                failed=self._failed,
                owner=self,
            )

    def _answered(self, found: _Found) -> None:
        from model.foundation.records import Outcome

        session, before, part = found.session, self.known(found.session), (id(found.session), found.behind)
        before |= {ns: before.get(ns, {}) | there for ns, there in self._known.get(part, {}).items()}
        self._known[part] = found.marks
        self._rest(found)
        if session not in self._sessions.all:
            self._known.pop(part, None)
            self._due.pop(id(session), None)
            return
        for ns, there in found.marks.items():
            known = before.get(ns, {})
            for each, mark in there.items():
                # At the first look only a page's own reading tells whether a document has changed.
                if known[each] != mark if each in known else each in found.others[ns]:
                    news.tell(News(session.data, Outcome("applied", ns, each, tr("Another program wrote it."))))
        for page in filter(isValid, found.pulses):
            pulse = found.pulses[page]
            if self.pulses.get(page, pulse) != pulse:  # a first answer is not a change
                page.do_refresh()
            self.pulses[page] = pulse

    def _failed(self, error: BaseException) -> None:
        self._asking.clear()  # another watch tells whether the server answers
        self._timer.start(EVERY)

    def _rest(self, found: _Found) -> None:
        self._asking.discard((id(found.session), found.behind))
        # While another program is in front, the server is asked less often.
        away = QGuiApplication.applicationState() != Qt.ApplicationState.ApplicationActive
        long = round(max(EVERY, found.took * 1000 * SHARE) * (AWAY if away else 1))
        if found.behind:
            self._due[id(found.session)] = time.monotonic() + long / 1000
        else:
            self._timer.start(long if away else rest(found.took))


def rest(took: float) -> int:
    """The pause in milliseconds between requests that take so many seconds, for a write to be seen in time.

    A write may miss one request and wait for the next one's end. No server is asked for more than half of the time.
    """
    request = round(took * 1000)
    return min(EVERY, max(WITHIN - 2 * request, request))


def _answer(session: Session, behind: bool, wanted: _Wanted, asked: _Asked, _: tasks.Progress) -> _Found:
    """A mark of each document (b"" if missing), the documents that differ from what a page shows, and the pulses."""
    began = time.monotonic()
    found: Marks = {}
    others: dict[str, set[Value]] = {}
    for ns, (shown, size) in wanted.items():
        there = session.documents.marks(ns, tuple(shown), size)
        found[ns] = {each: there.get(each, b"") for each in shown}
        others[ns] = {
            each
            for each, raws in shown.items()
            if any(session.documents.mark(ns, raw, size) not in (None, found[ns][each]) for raw in raws)
        }
    pulses: _Pulses = {}
    for page, pulse in asked.items():
        with suppress(Refused):  # not answering, or not allowed; the page says so itself when it reads
            pulses[page] = pulse()
    return _Found(session, behind, found, others, pulses, time.monotonic() - began)
