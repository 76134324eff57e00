"""The tabs and their pages: opening, replacing, closing, restoring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import QEvent, QPoint, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication, QFrame, QMenu, QStackedWidget, QWidget

from gui import messages, tasks, turns
from gui.language import tr
from gui.pages import page_registry
from gui.pages.base import Page
from gui.pages.page_request import PageRequest
from gui.pages.sleeping_page import SleepingPage
from gui.style import boxes, focus_keeper, preferences, theme, wording
from gui.style.scrolling import FromTop
from gui.style.states import StateView
from gui.style.wrapping_row import WRAPPED
from gui.window.tabs import Tabs
from gui.window.view_switch import ViewSwitch
from gui.window.whole_picture import WholePicture

if TYPE_CHECKING:
    from gui.pages.collection_page import CollectionPage
    from model.session import Session

MOST_RESTORED = 12
MOST_CLOSED = 20
KEPT_AFTER = 500  # milliseconds without a change before the tabs are remembered
PATIENCE = 150  # milliseconds in which the page in front is still seen, while a new one is made and read
LEAST = 448  # the width that a small window leaves with the largest text; every page fits it


class ClosedTab(Struct, frozen=True):
    """A tab that a person closed: the request that reopens it, and its position."""

    session: Session
    request: PageRequest
    at: int


class _PageStack(QStackedWidget):
    """The pages. The stack is never smaller than the current page needs; beyond that, it scrolls."""

    def __init__(self) -> None:
        super().__init__()
        self.currentChanged.connect(self.updateGeometry)

    def minimumSizeHint(self) -> QSize:
        least = theme.px(LEAST)
        return QSize(least, self.heightForWidth(max(self.width(), least)))

    def heightForWidth(self, width: int) -> int:
        """The height of the current page, with its wrapped text; Qt would ask all pages."""
        page = self.currentWidget()
        if page is None:
            return 0
        layout = page.layout()
        wrapped = layout is not None and layout.hasHeightForWidth()
        lowest = layout.totalMinimumHeightForWidth(width) if layout is not None and wrapped else 0
        return max(page.minimumSizeHint().height(), lowest)


class _PageView(FromTop):
    """Shows the current page; a page that was left comes back at its scroll position.

    A part that was asked for stays at the top while what is above it arrives, until a person scrolls.
    """

    def __init__(self, stack: _PageStack, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("pageview")
        self.setWidget(stack)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._pages = stack
        self._left: dict[int, tuple[QPoint, bool]] = {}  # each page's scroll position, by id, and if touched
        self._part: QWidget | None = None
        self.verticalScrollBar().rangeChanged.connect(self._keep_part)
        self.verticalScrollBar().actionTriggered.connect(self._let_go)

    def show_part(self, part: QWidget) -> None:
        """Scroll a part of the current page to the top, as far as possible."""
        self._part = part
        self._keep_part()

    def _keep_part(self, *_: int) -> None:
        if self._part is not None and self._pages.isAncestorOf(self._part):
            self.verticalScrollBar().setValue(self._part.mapTo(self._pages, QPoint()).y())

    def _let_go(self, *_: int) -> None:
        self._part = None

    def show_page(self, page: QWidget) -> None:
        """Bring a page to the front."""
        self._part = None
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        self._left[id(self._pages.currentWidget())] = QPoint(across.value(), down.value()), self.untouched
        self._pages.setCurrentWidget(page)
        for kind in (QEvent.Type.LayoutRequest, WRAPPED, QEvent.Type.LayoutRequest):
            QApplication.sendPostedEvents(None, kind)  # rows that wrap have their height, and the bars the page's range
        self.begin()
        if id(page) in self._left:
            at, self.untouched = self._left[id(page)]
            across.setValue(at.x())
            down.setValue(at.y())

    def forget(self, page: QWidget) -> None:
        """Forget a closed page."""
        self._left.pop(id(page), None)


class TabArea(QWidget):
    """Everything to the right of the sidebar.

    ``production`` says of a connection whether it is marked as one where mistakes are costly.
    """

    current_changed = Signal()  # another page is current
    page_changed = Signal()  # the current page changed
    new_asked = Signal()
    list_asked = Signal()
    layout_asked = Signal(object, str)  # Session, collection
    other_asked = Signal(object, str)  # a document to be compared with another one, and its side: a or b

    def __init__(self, production: Callable[[Session], bool], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._production = production
        self.number = 1  # of the window
        self.pages: list[Page] = []
        self.closed: list[ClosedTab] = []
        """The closed tabs that can be reopened, the last one at the end."""
        self.tabs = Tabs(self)
        self.tabs.chosen.connect(self._tab_chosen)
        self.tabs.close_asked.connect(self.close_at)
        self.tabs.new_asked.connect(self.new_asked)
        self.tabs.list_asked.connect(self.list_asked)
        self.tabs.moved.connect(self._tab_moved)
        self._stack = _PageStack()
        self._view = _PageView(self._stack, self)
        self.empty = StateView(self._stack)
        self._stack.addWidget(self.empty)
        column = boxes.column(self)
        column.addWidget(self.tabs)
        column.addWidget(self._view, 1)
        self._ahead: CollectionPage | None = None  # made for the collection that is opened next
        self._retired: list[Page] = []  # closed, but a message still offers to undo what was done in them
        self._soon = QTimer(self)  # a button closes its message before it calls the page
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self._let_go)
        tasks.tasks.changed.connect(self.let_go_soon)
        self._restored: list[Session] = []  # the tabs of the last run are back
        self._touched: list[Session] = []  # their tabs are not remembered as they are
        self._keeping = QTimer(self)
        self._keeping.setSingleShot(True)
        self._keeping.setInterval(KEPT_AFTER)
        self._keeping.timeout.connect(self._keep_touched)
        self._whole = WholePicture(self._view)
        self._places: dict[int, QWidget] = {}  # the control focused last, by the page's id
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._focus_moved)
        self.setFocusProxy(self.tabs.plus)
        self.say_empty()

    def say_reading(self, name: str, stop: Callable[[], object]) -> None:
        """Say that the collections are being read; the button calls ``stop``."""
        said = tr("Reading the collections of {name}", name=wording.source(name))
        self.empty.put("hourglass", "text2", said, tr("Choose one at the left at any time."), [(tr("Stop"), stop)])

    def say_empty(self) -> None:
        """Say that no tab is open; keys that were at the button go on to the next one."""
        here = QApplication.focusWidget()
        is_there = here is not None and self.empty.isAncestorOf(here)
        self.empty.put(
            "table",
            "text2",
            tr("No collection is open"),
            tr("Choose one at the left, or find it by its name."),
            [(tr("Find a collection…"), self.new_asked.emit)],
        )
        if is_there:
            self.empty.focus_choice()

    # --- the pages

    @property
    def page(self) -> Page | None:
        """The current page."""
        at = self.tabs.bar.currentIndex()
        return self.pages[at] if 0 <= at < len(self.pages) else None

    @property
    def is_awaited(self) -> bool:
        """Whether the last picture is still shown, until a new page is whole."""
        return self._whole.is_awaited

    def pages_of(self, session: Session) -> Iterator[Page]:
        """The pages of one connection."""
        return (page for page in list(self.pages) if page.session is session)

    def show_page(self, page: Page) -> None:
        """Bring a page to the front."""
        self.tabs.bar.setCurrentIndex(self.pages.index(page))

    def _tab_chosen(self, at: int) -> None:
        menu = QApplication.activePopupWidget()
        if isinstance(menu, QMenu):  # of the page being left: its actions would happen out of sight
            menu.close()
        shown = self.pages[at] if 0 <= at < len(self.pages) else None
        here = QApplication.focusWidget()
        inside = here is not None and self._stack.isAncestorOf(here)
        place = self._places.get(id(shown))
        self.setFocusProxy(shown if shown is not None else self.tabs.plus)
        self._view.show_page(shown if shown is not None else self.empty)
        if inside:
            focus_keeper.give(place if focus_keeper.can_have(place) else shown or self.tabs.plus)
        if isinstance(shown, SleepingPage):
            QTimer.singleShot(0, self, self._wake_front)  # not while the bar tells which tab was chosen
        self.current_changed.emit()

    def focus_page(self) -> None:
        """Focus the current page, where it last had the focus."""
        place = self._places.get(id(self.page))
        focus_keeper.give(place if focus_keeper.can_have(place) else self.page or self.tabs.plus)

    @Slot(QWidget, QWidget)
    def _focus_moved(self, _: QWidget | None, now: QWidget | None) -> None:
        page = self.page
        if page is not None and now is not None and page.isAncestorOf(now):
            self._places[id(page)] = now

    def _tab_moved(self, start: int, end: int) -> None:
        self.pages.insert(end, self.pages.pop(start))

    def _insert(self, page: Page, at: int = -1) -> None:
        self._add(page, at)
        self.show_page(page)
        focus_keeper.give(page)

    def _add(self, page: Page, at: int = -1) -> None:
        """Give a page a tab, which stays behind the front one."""
        at = len(self.pages) if at < 0 else at
        self.pages.insert(at, page)
        self._stack.addWidget(page)
        page.changed.connect(partial(self._page_changed, page))
        page.asked.connect(partial(self._asked, page))
        page.other_asked.connect(self.other_asked)
        page.sight_asked.connect(partial(self._show_part, page))
        page.closed.connect(partial(self.close_page, page))
        page.layout_asked.connect(partial(self.layout_asked.emit, page.session, page.ns))
        if not isinstance(page, SleepingPage) and (views := page_registry.views_beside(page.kind)):
            switch = ViewSwitch(views, page.kind)
            switch.asked.connect(partial(self._switch, page))
            page.put_switch(switch)
        self.tabs.insert(at, page.title, page.icon)
        self._page_changed(page)

    def _page_changed(self, page: Page) -> None:
        if page not in self.pages:
            return
        self._keep_soon(page.session)
        self._put_titles()
        if page is self.page:
            self.page_changed.emit()

    def _put_titles(self) -> None:
        """Title the tabs; those of one title and icon also say their database, connection or both, as it takes to
        tell them apart."""
        alike: dict[tuple[str, str], list[Page]] = {}
        for page in self.pages:
            alike.setdefault((page.title, page.icon), []).append(page)
        for at, page in enumerate(self.pages):
            tip, others = page.tip, alike[page.title, page.icon]
            apart = [_database(page)] if len({_database(one) for one in others}) > 1 else []
            if len({id(one.session) for one in others}) > 1:
                apart.append(wording.source(page.session.name))
                tip = f"{tip} – {wording.source(page.session.name)}"
            said = f"{page.title} – {', '.join(apart)}" if apart else page.title
            self.tabs.put(at, said, page.icon, page.dirty, tip)

    # --- opening

    def open(self, session: Session, request: PageRequest) -> Page:
        """Bring the page for a request to the front, or make it; every page is opened here."""
        there = [page for page in self.pages_of(session) if page_registry.is_about(page, request)]
        fits = [page for page in there if page_registry.shows(page, request)]
        if fits and request.way == "show":
            page = self._awake(fits[0])
            self.show_page(page)
            page.answer(request, again=True)
            return page
        return self._make(session, request, [] if request.way == "beside" else there)

    def _make(self, session: Session, request: PageRequest, instead: Sequence[Page]) -> Page:
        """Open a new page, in place of others unless they are busy."""
        at = -1
        for page in instead:
            if not page.busy:
                at = self.pages.index(page)
                self._drop(page)
        self._whole.await_it(PATIENCE)
        made = self._made_ahead(session, request)
        if made is None:
            made = page_registry.PAGES[request.kind].make(session, request, self._production(session), self._stack)
        self._insert(made, at)
        self._view.begin()
        made.answer(request, again=False)
        return made

    def make_ahead(self, session: Session) -> None:
        """Make a page for a collection while a person looks for one: then it only has to be filled."""
        turns.later(self, partial(self._make_ahead, session))

    def _make_ahead(self, session: Session) -> None:
        from gui.pages.collection_page import CollectionPage

        if self._ahead is not None and self._ahead.session is session:
            return
        self._forget_ahead()
        self._ahead = made = CollectionPage(session, "", self._production(session), self._stack)
        made.resize(self._stack.size())
        turns.later(made, partial(_lay_out, made))  # behind its parts

    def _made_ahead(self, session: Session, request: PageRequest) -> Page | None:
        """The page that was made ahead, now with the requested collection; None if there is none for that."""
        made = self._ahead
        fits = made is not None and request.kind == made.kind and session is made.session
        if made is None or not fits or made.production != self._production(session):
            return None
        self._ahead = None
        made.show_collection(request.ns)
        return made

    def _forget_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead.retire()
            self._ahead.deleteLater()
            self._ahead = None

    def _switch(self, page: Page, kind: str) -> None:
        """Show another view in a page's tab, or in its own if the page is busy."""
        request = page_registry.view_of(page, kind)
        there = [other for other in self.pages_of(page.session) if other.kind == kind]
        if any(page_registry.is_about(other, request) for other in there):
            self.open(page.session, request)
        else:
            self._make(page.session, request, [page])

    # --- news from pages

    def _asked(self, page: Page, request: PageRequest) -> None:
        self.open(request.session or page.session, request)

    def _show_part(self, page: Page, part: QWidget) -> None:
        if page is self.page:
            self._view.show_part(part)

    # --- closing

    def close_at(self, at: int) -> None:
        """Close a tab; an edit in it is kept as a draft, and a message says so."""
        if 0 <= at < len(self.pages):
            self.close_page(self.pages[at])

    def close_page(self, page: Page) -> None:
        """Close a page; an edit in it is kept as a draft, and a message says so."""
        unsaved = page.dirty and page.id is not None
        session, ns, id = page.session, page.ns, page.id
        asked = page_registry.reopened(page.memory())
        self.closed = [*self.closed, ClosedTab(session, asked, self.pages.index(page))][-MOST_CLOSED:]
        self._drop(page)
        if unsaved and id is not None:
            again = partial(self.open, session, PageRequest("document", ns, id))
            messages.tell(
                self,
                tr("Your edit of {id} is kept as a draft", id=wording.plain(id)),
                None,
                [(tr("Open again"), again)],
            )

    def reopen(self) -> None:
        """Reopen the tab closed last, at its position; nothing if there is none."""
        if self.closed:
            last = self.closed.pop()
            page = self.open(last.session, last.request)
            if last.at < len(self.pages):
                self.tabs.bar.moveTab(self.pages.index(page), last.at)

    def close_session(self, session: Session) -> None:
        """Close all pages of a connection."""
        self.closed = [each for each in self.closed if each.session is not session]
        area = messages.area(self)
        for page in [*self.pages_of(session), *(page for page in self._retired if page.session is session)]:
            for line in area.of(page):
                if line.kind == "done":
                    line.leave()  # its undo is no longer possible
        for page in [page for page in self.pages if session in page.sessions]:
            self._drop(page)
        if self._ahead is not None and self._ahead.session is session:
            self._forget_ahead()
        self._touched = [each for each in self._touched if each is not session]
        self._restored = [each for each in self._restored if each is not session]

    def leave(self) -> None:
        """Make every page keep its unsaved work."""
        for page in self.pages:
            page.leave()

    def unsaved(self) -> list[Page]:
        """The pages with unsaved edits."""
        return [page for page in self.pages if page.dirty]

    def _drop(self, page: Page) -> None:
        page.leave()
        tasks.tasks.stop_reading(page)
        at = self.pages.index(page)
        self.pages.remove(page)
        self._places.pop(id(page), None)
        self.tabs.remove(at)
        self._keep_soon(page.session)
        self._put_titles()
        self._tab_chosen(self.tabs.bar.currentIndex())
        self._stack.removeWidget(page)
        self._view.forget(page)
        page.hide()
        if messages.area(self).of(page):
            page.retire()
            self._retired.append(page)
        else:
            page.deleteLater()

    def let_go_soon(self) -> None:
        """Delete the closed pages that nothing needs, after the present events."""
        if self._retired:
            self._soon.start()

    def _let_go(self) -> None:
        """Delete the closed pages that no message and no running work needs."""
        area = messages.area(self)
        for page in list(self._retired):
            if not area.of(page) and not tasks.tasks.of(page):
                self._retired.remove(page)
                page.deleteLater()

    # --- across runs

    def keep(self, session: Session) -> None:
        """Remember a connection's tabs for the next run."""
        preferences.remember(self._kept_as(session), self.memory(session))

    def _keep_soon(self, session: Session) -> None:
        """Remember tabs shortly: a crash should not lose them, nor what is opened before they are back."""
        if session in self._restored and all(each is not session for each in self._touched):
            self._touched.append(session)
        self._keeping.start()

    def _keep_touched(self) -> None:
        touched, self._touched = self._touched, []
        for session in touched:
            self.keep(session)

    def bring_back(self, session: Session) -> int:
        """Open the tabs that a connection had in the last run; returns their number. One in front stays there."""
        self._restored.append(session)
        return self.restore(session, preferences.remembered(self._kept_as(session), []))

    def _kept_as(self, session: Session) -> str:
        """The key under which the tabs are stored; each window has its own."""
        return f"tabs/{session.source}" if self.number == 1 else f"tabs-{self.number}/{session.source}"

    def memory(self, session: Session) -> list[dict[str, object]]:
        """The requests that restore a connection's tabs, each with the tab's title."""
        pages = list(self.pages_of(session))
        kept = [page_registry.kept(page.memory()) | {"title": page.title} for page in pages]
        return [one | {"front": True} if page is self.page else one for page, one in zip(pages, kept, strict=True)]

    def restore(self, session: Session, memory: object) -> int:
        """Open the tabs listed by :meth:`memory`; returns their number.

        Only the one in front is made now, the others when they are first shown.
        """
        known = [(page_registry.remembered(one), one) for one in (memory if isinstance(memory, list) else [])]
        wanted = [(request, one) for request, one in known if request is not None][:MOST_RESTORED]
        front = next((at for at, (_, one) in enumerate(wanted) if one.get("front")), len(wanted) - 1)
        for at, (request, one) in enumerate(wanted):
            there = [page for page in self.pages_of(session) if page_registry.is_about(page, request)]
            if at == front or (there and request.way == "show"):
                self.open(session, request)
            else:
                icon = page_registry.PAGES[request.kind].page.icon
                self._add(SleepingPage(session, request, str(one.get("title", "")), icon, self._stack))
        return len(wanted)

    def _awake(self, page: Page) -> Page:
        """The page that a restored tab stands for; any other page itself."""
        if not isinstance(page, SleepingPage):
            return page
        focus = QApplication.focusWidget()
        made = self._make(page.session, page.request, [page])
        if focus is not None and not self._stack.isAncestorOf(focus):
            focus.setFocus()  # as on the bar of tabs, where the arrow keys go on
        return made

    def _wake_front(self) -> None:
        if self.page is not None:
            self._awake(self.page)


def _lay_out(page: Page) -> None:
    """Give the parts of a page that nobody sees yet their styles and places: Qt does so for what is shown only."""
    page.move(-page.width(), 0)
    page.show()
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    page.hide()


def _database(page: Page) -> str:
    return page.ns.partition(".")[0]
