"""The base of all pages. A page composes panels and wires their signals; panels never know of each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QWidget

from gui import messages, subscriptions
from gui.actions import Handlers
from gui.language import tr
from gui.pages.page_request import ConditionStart, FieldStart, PageRequest, PairStart, TakenStart
from gui.parts.document_side import DocumentSide, remembered
from gui.style import boxes, preferences, wording
from gui.style.title import Title

if TYPE_CHECKING:
    from gui.subscriptions import DraftNews
    from gui.views.compare.diff_panel import DiffPanel
    from model.foundation.news import News
    from model.foundation.records import CollectionInfo, Outcome
    from model.session import Session
    from model.session.guarded_writing import Conflict
    from model.values.canonical import Path, Value

OnShow: TypeAlias = "tuple[str, Mapping[Value, bytes | None], int]"
PAUSE = 200  # milliseconds between two readings while many documents are written in a row


class Page(QWidget):
    """Base of the pages; :meth:`handlers` says what each action does here.

    A page hears of every write to its connection's data and then calls its own ``shows`` and ``follow``; and, in
    :meth:`after_silence`, ``dirty`` and ``do_refresh``.
    """

    changed = Signal()  # title, unsaved mark, facts or status changed
    asked = Signal(object)  # PageRequest
    other_asked = Signal(object, str)  # a document to be compared with another one, and its side: a or b
    sight_asked = Signal(object)  # QWidget: the part of the page that somebody asked for
    closed = Signal()
    layout_asked = Signal()  # show why the collection has its layout, and other ways to read it

    kind = ""
    icon = ""

    def __init__(self, session: Session, ns: str = "", id: Value | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session, self.ns, self.id = session, ns, id
        boxes.ground(self, "surface")
        self.answers = True
        self._again = False
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE)
        self._pause.timeout.connect(self._follow_again)
        remembered.changed.connect(self.changed)
        subscriptions.signals.written.connect(self._heard)
        subscriptions.signals.drafts.connect(self.draft_changed)

    def put_switch(self, switch: QWidget) -> None:
        """Show the switch between the views of this tab, in place of the page's title."""
        title = self.findChild(Title)
        if isinstance(title, Title):
            title.put(switch)

    def _put(self, panel: QWidget) -> None:
        """Fill the page with one panel, which gets the page's focus."""
        boxes.column(self).addWidget(panel)
        self.setFocusProxy(panel)

    @property
    def title(self) -> str:
        """The tab's words."""
        return self.ns.partition(".")[2]

    @property
    def tip(self) -> str:
        """The tab's tooltip."""
        return self.ns if self.id is None else f"{self.ns} / {wording.plain(self.id)}"

    @property
    def dirty(self) -> bool:
        """Whether something is not saved."""
        return False

    @property
    def busy(self) -> bool:
        """Whether something is under way here that should not end because another view is wanted."""
        return False

    @property
    def waiting(self) -> int:
        """How many items are left to do here, for the count in the sidebar."""
        return 0

    def facts(self) -> set[str]:
        """The facts that hold here, for the table of actions."""
        return {"page"}

    def reasons(self) -> dict[str, str]:
        """Why facts do not hold, one sentence each."""
        return {}

    def status(self) -> tuple[list[str], list[str]]:
        """Text for the left and the right of the status line: place and keys, and the zone of dates."""
        return [], [preferences.zone()]

    @property
    def explained(self) -> Sequence[QWidget]:
        """The parts that advice on this page speaks of, and should not cover."""
        return ()

    def panes(self) -> Sequence[QWidget]:
        """The widgets that F6 visits, in order."""
        return [self]

    @property
    def sessions(self) -> Sequence[Session]:
        """The connections whose documents are shown."""
        return (self.session,)

    # --- one side of a comparison with any other document

    def side(self) -> DocumentSide | None:
        """The version that would be compared with the remembered one; None if none is in front."""
        return None if self.id is None else DocumentSide(self.session, self.ns, self.id)

    def side_facts(self) -> set[str]:
        """The facts about the version remembered."""
        return {"remembered"} if remembered.side is not None else set()

    def handlers(self) -> Handlers:
        """What each action does here, by the action's id."""
        return {
            "remember": self.do_remember,
            "compare-remembered": self.do_compare_remembered,
            "compare-other": self.do_compare_other,
            "refresh": self.do_refresh,
        }

    def do_remember(self) -> None:
        self.remember(self.side())

    def remember(self, side: DocumentSide | None) -> None:
        """Remember a version for a comparison."""
        if side is not None:
            remembered.put(side)
            messages.tell(
                self, tr("{name} is remembered; choose another one, and Compare › Compare with it", name=side.name)
            )

    def do_compare_remembered(self) -> None:
        self.compare_remembered(self.side())

    def compare_remembered(self, side: DocumentSide | None) -> None:
        """Compare the remembered version with another one."""
        if side is not None and remembered.side is not None:
            self.asked.emit(PageRequest("pair", side.ns, side.id, PairStart(remembered.side, side)))

    def do_compare_other(self) -> None:
        self.compare_other(self.side())

    def compare_other(self, side: DocumentSide | None) -> None:
        """Ask for another document to compare a version with."""
        if side is not None:
            self.other_asked.emit(side, "b")

    # --- requests from the panels of a document

    def _serve(self, diff: DiffPanel) -> None:
        """Serve the requests of a comparison between two versions of a document."""
        diff.open_asked.connect(self._open_document)
        diff.field_asked.connect(self._show_field)
        diff.find_asked.connect(self._find_when)
        diff.take_asked.connect(partial(self._take_over, diff))
        diff.showing.connect(self.changed)

    def _open_document(self, id: Value) -> None:
        self.asked.emit(PageRequest("document", self.ns, id))

    def _show_field(self, path: Path, v: Value | None = None) -> None:
        if self.id is not None:
            self.asked.emit(PageRequest("field", self.ns, self.id, FieldStart(path, v)))

    def _find_when(self, filter: str) -> None:
        if self.id is not None:
            self.asked.emit(PageRequest("bisect", self.ns, self.id, ConditionStart(filter)))

    def _take_over(self, diff: DiffPanel, source: bytes, path: Path, name: str, _: str) -> None:
        if diff.id is not None:
            self.asked.emit(PageRequest("document", self.ns, diff.id, TakenStart(source, path, name)))

    def _merge(self, id: Value, conflict: Conflict) -> None:
        self.asked.emit(PageRequest("merge", self.ns, id, conflict, "instead"))

    # --- requests from the window

    def answer(self, request: PageRequest, again: bool) -> None:
        """Hear that a request brought the page to the front; ``again`` if it was open before."""

    def do_refresh(self) -> None:
        """Read again."""

    # --- news from elsewhere

    def _heard(self, item: News) -> None:
        if all(item.data != session.data for session in self.sessions) or not self.shows(item):
            return
        if self._pause.isActive():
            self._again = True
        else:
            self._pause.start()
            self.follow()

    def _follow_again(self) -> None:
        if self._again:
            self._again = False
            self._pause.start()
            self.follow()

    @property
    def is_behind(self) -> bool:
        """Whether a write has not been read here yet."""
        return self._again

    def on_show(self) -> Sequence[OnShow]:
        """The documents on show: their collection, each id with the document as it was read, and their total bytes.

        None stands for a document that was not kept as it was read.
        """
        return ()

    def on_show_of(self, session: Session) -> Sequence[OnShow]:
        """The documents on show that belong to a connection."""
        return self.on_show() if session is self.session else ()

    def pulse_of(self, session: Session) -> Callable[[], object] | None:
        """A call whose answer changes when rows come or go that are not on show; None if there is nothing to ask.

        It asks a server or a file, so it runs in a task.
        """
        return None

    def shows(self, item: News) -> bool:
        """Whether a write may concern what is shown here."""
        return False

    def follow(self) -> None:
        """Read what was written; selection, open nodes and typed text stay."""
        self.do_refresh()

    def draft_changed(self, item: DraftNews) -> None:
        """Hear that a draft was kept or dropped."""

    def writes_to(self, outcome: Outcome, ns: str) -> bool:
        """Whether an outcome is about the page's document, or about its whole collection."""
        return outcome.ns == ns and (outcome.id is None or self.id is None or outcome.id == self.id)

    def after_silence(self) -> None:
        """Read again: the server answers again, and documents may have changed meanwhile."""
        if not self.dirty:
            self.do_refresh()

    def databases_changed(self) -> None:
        """Hear that the list of databases changed."""

    def layout_changed(self) -> None:
        """Read again in the collection's new layout; an edit stays."""
        self.do_refresh()

    def recognised(self, info: CollectionInfo) -> None:
        """Read again if its collection has another layout than the one by which it was shown at first."""

    def writes_changed(self) -> None:
        """Update the actions: writing is now allowed, or no longer."""

    def say_answering(self, answers: bool) -> None:
        """Note whether the server answers; repeated calls with one answer do nothing."""
        if answers != self.answers:
            self.answers = answers
            self.answering_changed()

    def hear_silence(self, silent: Collection[Session]) -> None:
        """Hear which open connections do not answer; one of those whose documents are shown here is enough."""
        self.say_answering(not any(session in silent for session in self.sessions))

    def answering_changed(self) -> None:
        """Offer actions that need the server, and promise its news, only while it :attr:`answers`."""

    def leave(self) -> None:
        """Keep unsaved work before the tab closes."""

    def retire(self) -> None:
        """Stop hearing news: the tab is closed, but a message may still offer to undo what was done in it."""
        remembered.changed.disconnect(self.changed)
        subscriptions.signals.written.disconnect(self._heard)
        subscriptions.signals.drafts.disconnect(self.draft_changed)

    def memory(self) -> PageRequest:
        """The request that opens this page again in the next run."""
        return PageRequest(self.kind, self.ns, self.id)
