"""The workspace between the window's title row and its messages: the welcome page, or the sidebar and the tabs.

Each is made when it is first shown: a window started with a source has neither at first.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from gui import subscriptions, tasks
from gui.pages.page_request import CollectionStart, PageRequest
from gui.style import boxes, focus_keeper, preferences, theme, wording
from gui.window.opening import PATIENCE, OpeningPage
from gui.window.whole_picture import WholePicture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gui.pages.base import Page
    from gui.window.connection_watch import LostLine
    from gui.window.open_sessions import OpenSessions
    from gui.window.opening import Opening
    from gui.window.sidebar import Sidebar
    from gui.window.tab_area import TabArea
    from gui.window.welcome_panel import WelcomePanel
    from gui.window.work_area import WorkArea
    from model.foundation.news import News
    from model.session import Session
    from model.userdata.connections import SavedConnection

NARROW = 1160  # a window that is narrower when it opens its first source begins with a folded sidebar


class Workspace(QWidget):
    """The place of the current page, which the sidebar marks; ``changed`` is emitted when that changes."""

    changed = Signal()
    made = Signal()  # the sidebar and the tabs were made
    welcome_made = Signal()
    stop_asked = Signal(object)  # Opening
    current_changed = Signal()  # another page is current

    def __init__(self, sessions: OpenSessions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sessions = sessions
        self._waiting = self._pending = 0  # findings on show, and tokens
        self.is_opening = False  # a page is; what has changed with it is told once, at the end
        self._stack = QStackedWidget(self)
        self._whole = WholePicture(self, at_once=True)
        self._area: WorkArea | None = None
        self._saved: Sequence[SavedConnection] = ()
        self._welcome: WelcomePanel | None = None
        self._being_opened: tuple[Opening, str] | None = None
        boxes.column(self).addWidget(self._stack)
        self._counted_of: Session | None = None  # the connection whose drafts and tokens the sidebar counts
        self._counting = QTimer(self)
        self._counting.setSingleShot(True)
        self._counting.setInterval(400)
        self._counting.timeout.connect(self.count)
        subscriptions.signals.written.connect(self._written)
        subscriptions.signals.drafts.connect(self.count_soon)

    # --- its parts

    @property
    def welcome(self) -> WelcomePanel:
        """The welcome page."""
        if self._welcome is None:
            from gui.window.welcome_panel import WelcomePanel

            self._welcome = WelcomePanel(self._stack)
            self._stack.addWidget(self._welcome)
            self._welcome.set_recent(self._saved)
            self._welcome.left.connect(self.show_work)
            self.welcome_made.emit()
        return self._welcome

    @property
    def sidebar(self) -> Sidebar:
        """The sidebar with connections and collections."""
        return self._work().sidebar

    @property
    def lost(self) -> LostLine:
        """The line above the tabs while a server does not answer."""
        return self._work().lost

    @property
    def tab_area(self) -> TabArea:
        """The tabs with their pages."""
        return self._work().tab_area

    @property
    def is_made(self) -> bool:
        """Whether sidebar and tabs were made."""
        return self._area is not None

    def _work(self) -> WorkArea:
        if self._area is None:
            from gui.window.work_area import WorkArea

            folded = self.folded
            self._area = made = WorkArea(self._sessions.production, self._stack)
            self._stack.addWidget(made)
            made.sidebar.set_saved(self._saved)
            made.sidebar.looked_at.connect(self.prepare)
            made.sidebar.collection_asked.connect(self._open_collection)
            made.sidebar.sheet_asked.connect(self._open_sheet)
            made.sidebar.activity_asked.connect(self._open_activity)
            made.sidebar.layout_changed.connect(self._layout_changed)
            made.sidebar.databases_changed.connect(self._databases_changed)
            made.sidebar.recognised.connect(self._recognised)
            made.sidebar.fold_changed.connect(self.changed)
            made.tab_area.current_changed.connect(self._page_in_front)
            made.tab_area.current_changed.connect(self.current_changed)
            made.tab_area.page_changed.connect(self.changed)
            made.sidebar.unfold_asked.connect(self.toggle_sidebar)
            made.sidebar.fold(folded, at_once=True)
            self.made.emit()
        return self._area

    def set_saved(self, saved: Sequence[SavedConnection]) -> None:
        """List the saved connections."""
        self._saved = saved
        if self._welcome is not None:
            self._welcome.set_recent(saved)
        if self._area is not None:
            self._area.sidebar.set_saved(saved)

    # --- the current page

    @property
    def at_welcome(self) -> bool:
        """Whether the welcome page, or what a window starts with, fills it: no page of a connection is current."""
        return self._area is None or self._stack.currentWidget() is not self._area

    @property
    def is_awaited(self) -> bool:
        """Whether the last picture is still shown, until a new page is whole."""
        return self._whole.is_awaited

    @property
    def is_page_awaited(self) -> bool:
        """Whether the last page is still shown, until a new one is whole."""
        return self._area is not None and self._area.tab_area.is_awaited

    def await_page(self) -> None:
        """Give the first page as long as its source was given, if nothing was drawn yet: it is not seen in pieces."""
        if self.is_awaited:
            self._whole.await_it(PATIENCE)

    @property
    def front(self) -> QWidget:
        """The part beside the sidebar, or the part that fills all."""
        return (self._stack.currentWidget() or self) if self.at_welcome else self.tab_area

    @property
    def page(self) -> Page | None:
        """The current page; None at the welcome page."""
        return None if self.at_welcome else self.tab_area.page

    @property
    def session(self) -> Session | None:
        """The connection of the current page, else the one opened last."""
        page = None if self._area is None else self._area.tab_area.page
        if page is not None:
            return page.session
        return self._sessions.all[-1] if self._sessions.all else None

    def await_source(self) -> None:
        """Start without the welcome page: a source is about to be opened."""
        page = OpeningPage(self._stack)
        self._stack.addWidget(page)
        self.setFocusProxy(page)
        page.setFocus()
        self.changed.emit()

    @property
    def _opening_page(self) -> OpeningPage | None:
        """The page of a window that is being opened with a source, while it is shown."""
        page = self._stack.currentWidget()
        return page if isinstance(page, OpeningPage) else None

    def begin(self, opening: Opening, title: str) -> None:
        """Say that a source is being opened, with a button that stops it."""
        self._being_opened = (opening, title)
        if (page := self._opening_page) is not None:
            page.say(title, partial(self.stop_asked.emit, opening))
            self._whole.await_it(PATIENCE)
        else:
            self.welcome.begin(opening, title)

    def end(self, opening: Opening | None = None, error: BaseException | None = None) -> None:
        """Nothing is being opened any longer; after a failure, the welcome page shows the source and the reason."""
        self._being_opened = None
        if self._opening_page is not None:
            self.show_welcome()
        if opening is not None and error is not None:
            self.welcome.fail(opening, error)
        elif self._welcome is not None:
            self._welcome.end()

    def opened(self) -> None:
        """Forget what was typed for a source, because it is open."""
        self._being_opened = None
        if self._welcome is not None:
            self._welcome.end()
            self._welcome.clear()

    def show_welcome(self) -> None:
        """Show the welcome page."""
        session = self.session
        self.welcome.set_open(wording.source(session.name) if session is not None else "")
        self._stack.setCurrentWidget(self.welcome)
        self.setFocusProxy(self.welcome)
        self.welcome.first.setFocus()
        if self._being_opened is not None:
            self.welcome.begin(*self._being_opened)
        self.changed.emit()

    def show_work(self) -> None:
        """Show connections and tabs."""
        if self.at_welcome:
            self.setFocusProxy(self.tab_area)
            self._stack.setCurrentWidget(self._work())
            self.tab_area.focus_page()
        self.changed.emit()

    def focus_search(self) -> None:
        """Focus what finds a collection: the line in the sidebar, or the button of the empty page if that is folded."""
        if focus_keeper.can_have(self.sidebar.search):
            self.sidebar.search.setFocus()
        else:
            self.tab_area.empty.focus_choice()

    @property
    def is_searching(self) -> bool:
        """Whether a name is being typed in the sidebar; a page that nobody asked for leaves the focus there."""
        return self._area is not None and self.sidebar.search.hasFocus() and bool(self.sidebar.search.text())

    def open(self, session: Session, request: PageRequest) -> Page:
        """Show the tabs, with the requested page in front."""
        self.is_opening = True
        try:
            self.show_work()
            return self.tab_area.open(session, request)
        finally:
            self.is_opening = False
            self.changed.emit()

    def prepare(self) -> None:
        """Make what is likely to be opened next, as a person looks for something."""
        if self._area is not None and (session := self.session) is not None:
            self._area.tab_area.make_ahead(session)

    def show_state(self) -> None:
        """Show which servers do not answer, and how much is left to do in the repair centre."""
        if self._area is None:
            return
        session = None if self.at_welcome else self.session
        watch = self._sessions.watch(session)
        self.lost.put(watch)
        self.sidebar.touch(self._sessions.silent)
        open_here = [] if session is None else list(self.tab_area.pages_of(session))
        for page in open_here:
            page.hear_silence(self._sessions.silent)
        self._waiting = max((page.waiting for page in open_here), default=0)
        self._count_repairs()

    def _page_in_front(self) -> None:
        page = self.tab_area.page
        self.sidebar.set_current(self.session, page.ns if page is not None else "")
        self.sidebar.set_tool(page.kind if page is not None else "")
        if self._counted_of is not None and self._counted_of is not self.session:
            self.count()
        self.changed.emit()

    def _open_sheet(self, session: Session, ns: str, sheet: Literal["export", "import", "indexes"]) -> None:
        self.open(session, PageRequest("collection", ns, start=CollectionStart(pane=sheet)))

    def _open_activity(self, session: Session, place: str) -> None:
        self.open(session, PageRequest("activity", place))

    def _open_collection(self, session: Session, ns: str, anew: bool) -> None:
        self.open(session, PageRequest("collection", ns, way="beside" if anew else "show"))

    def _layout_changed(self, session: Session, ns: str) -> None:
        for page in self.tab_area.pages_of(session):
            if page.ns == ns:
                page.layout_changed()

    def _recognised(self, session: Session) -> None:
        """Hold what pages show by the layouts of an earlier run against those of now."""
        known = {info.ns: info for info in self.sidebar.ns_known(session)}
        for page in self.tab_area.pages_of(session):
            if page.ns in known:
                page.recognised(known[page.ns])

    def _databases_changed(self, session: Session) -> None:
        for page in self.tab_area.pages_of(session):
            page.databases_changed()

    # --- folding

    def toggle_sidebar(self) -> None:
        """Fold or unfold the sidebar, which nothing else does; every window begins with what was chosen last."""
        self.sidebar.fold(not self.sidebar.folded)
        preferences.put("sidebar", "folded" if self.sidebar.folded else "open")

    @property
    def folded(self) -> bool:
        """Whether the sidebar is folded to its rail, or will be when it is made."""
        if self._area is not None:
            return self._area.sidebar.folded
        chosen = str(preferences.get("sidebar"))
        return chosen == "folded" if chosen else self.width() < theme.px(NARROW)

    # --- counts

    def _written(self, item: News) -> None:
        self.count_soon()
        for session in self._sessions.all:
            known = {info.ns for info in self.sidebar.ns_known(session)}
            if item.moved and session.data == item.data and known and item.outcome.ns not in known:
                self.sidebar.read(session)

    def count_soon(self, *_: object) -> None:
        """Count drafts and tokens again, once nothing has changed for a moment."""
        self._counting.start()

    def count(self) -> None:
        """Count drafts, and waiting tokens if that costs little."""
        self._counted_of = session = self.session
        if session is None:
            return

        # On a server, looking for tokens reads whole collections: that is only done on request.
        known = self.sidebar.ns_known(session) if session.is_local else []
        places = [info.ns for info in known if info.counts == "tokens"]

        def count(_: tasks.Progress) -> tuple[int, int]:
            pending = sum(1 for ns in places for _ in session.tokens.pending(ns))  # as many as the page lists
            return len(session.drafts.all()), pending

        tasks.run(count, done=self._counted, failed=_nothing, owner=self, key="counts")

    def _counted(self, counts: tuple[int, int]) -> None:
        drafts, self._pending = counts
        self.sidebar.set_count("journal", drafts, wording.many(drafts, "draft"))
        self._count_repairs()

    def _count_repairs(self) -> None:
        """Count the findings of the last scan; without one, the pending tokens."""
        if self._waiting:
            self.sidebar.set_count("repair", self._waiting, wording.many(self._waiting, "finding"))
        else:
            self.sidebar.set_count("repair", self._pending, wording.many(self._pending, "pending token"))


def _nothing(_: object) -> None:
    pass
