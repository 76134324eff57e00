"""The tabs and their pages: opening, replacing, closing, bringing back; and what pages ask of one another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from gui import messages
from gui.pages.collection_page import CollectionPage, Page, Request
from gui.pages.document_pages import DocumentPage, MergePage
from gui.pages.history_pages import BlamePage, ChangeMapPage
from gui.pages.repair_pages import HealthPage, RepairPage
from gui.pages.tool_pages import CheckPage, DraftsPage, JournalPage, MigratePage, PendingPage
from gui.style import boxes, preferences, wording
from gui.style.states import StateView
from gui.window.tabs import Tabs
from model import text
from model.errors import Refused
from model.records import Draft, Outcome
from model.session import Conflict, Session
from model.values.canonical import Value

MOST_RESTORED = 12


class TabArea(QWidget):
    """Everything right of the sidebar. ``written`` follows a write through any page."""

    current_changed = Signal()  # another page is in front
    page_changed = Signal()  # the page in front is another now
    written = Signal(object, object)  # Session, Outcome
    tended = Signal(object, object)  # Session, Request: the window knows which connections are production
    new_asked = Signal()
    drafts_touched = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.pages: list[Page] = []
        self.tabs = Tabs()
        self.tabs.chosen.connect(self._tab_chosen)
        self.tabs.close_asked.connect(self.close_at)
        self.tabs.new_asked.connect(self.new_asked)
        self.tabs.moved.connect(self._tab_moved)
        self.empty = StateView()
        self._stack = QStackedWidget()
        self._stack.addWidget(self.empty)
        column = boxes.column(self)
        column.addWidget(self.tabs)
        column.addWidget(self._stack, 1)
        self.say_empty()

    def say_reading(self, name: str) -> None:
        """The collections to choose from are not known yet."""
        self.empty.put("hourglass", "text2", f"Reading the collections of {name}")

    def say_empty(self) -> None:
        """No tab is open."""
        self.empty.put(
            "table",
            "text2",
            "No collection is open",
            "Choose one at the left, or find it by its name.",
            [("Find a collection…", self.new_asked.emit)],
        )

    # --- which pages there are

    @property
    def page(self) -> Page | None:
        """The page in front."""
        at = self.tabs.bar.currentIndex()
        return self.pages[at] if 0 <= at < len(self.pages) else None

    def pages_of(self, session: Session) -> Iterator[Page]:
        """The pages of one connection."""
        return (page for page in list(self.pages) if page.session is session)

    def show_page(self, page: Page) -> None:
        """Bring a page to the front."""
        self.tabs.bar.setCurrentIndex(self.pages.index(page))

    def _tab_chosen(self, at: int) -> None:
        if 0 <= at < len(self.pages):
            self._stack.setCurrentWidget(self.pages[at])
        else:
            self._stack.setCurrentWidget(self.empty)
        self.current_changed.emit()

    def _tab_moved(self, start: int, end: int) -> None:
        self.pages.insert(end, self.pages.pop(start))

    def _insert(self, page: Page, at: int = -1) -> None:
        at = len(self.pages) if at < 0 else at
        self.pages.insert(at, page)
        self._stack.addWidget(page)
        page.changed.connect(partial(self._page_changed, page))
        page.asked.connect(partial(self._asked, page))
        page.written.connect(partial(self._written, page))
        self.tabs.insert(at, page.title, page.icon)
        self._page_changed(page)
        self.show_page(page)
        page.setFocus()

    def _page_changed(self, page: Page) -> None:
        if page not in self.pages:
            return
        was = self.tabs.is_dirty(self.pages.index(page))
        self.tabs.put(self.pages.index(page), page.title.replace("&", "&&"), page.icon, page.dirty, page.tip)
        if was != page.dirty:
            self.drafts_touched.emit()
        if page is self.page:
            self.page_changed.emit()

    # --- opening

    def collection(self, session: Session, ns: str, anew: bool = False) -> CollectionPage:
        """The page of a collection, a new one where there is none or one is wanted."""
        if not anew:
            for page in self.pages_of(session):
                if isinstance(page, CollectionPage) and page.ns == ns:
                    self.show_page(page)
                    return page
        made = CollectionPage(session, ns)
        self._insert(made)
        return made

    def document(self, session: Session, ns: str, id: Value, draft: Draft | None = None) -> Page:
        """The page of a document: its editor, or its merge where one is going on."""
        for page in self.pages_of(session):
            if isinstance(page, DocumentPage | MergePage) and page.ns == ns and page.id == id:
                self.show_page(page)
                return page
        made = DocumentPage(session, ns, id, draft)
        self._insert(made)
        return made

    def tool(self, session: Session, kind: str, ns: str = "") -> Page:
        """The page of pending tokens, journal, drafts or the server's check."""
        for page in self.pages_of(session):
            if page.kind == kind and page.ns == ns:
                self.show_page(page)
                page.do_refresh()
                return page
        made: Page
        if kind == "pending":
            made = PendingPage(session, ns)
        elif kind == "journal":
            made = JournalPage(session)
        elif kind == "check":
            made = CheckPage(session)
        elif kind == "migrate":
            made = MigratePage(session, ns)
        else:
            made = DraftsPage(session)
        self._insert(made)
        return made

    def repairs(self, session: Session, place: str, id: Value | None = None, production: bool = False) -> RepairPage:
        """The repair centre for a database, a collection or a document; for everything where ``place`` is empty."""
        for page in self.pages_of(session):
            if isinstance(page, RepairPage) and page.ns == place and page.id == id:
                self.show_page(page)
                return page
        made = RepairPage(session, place, id, production)
        self._insert(made)
        return made

    def health(self, session: Session, place: str, id: Value | None = None, production: bool = False) -> HealthPage:
        """How the findings of a place went over time."""
        for page in self.pages_of(session):
            if isinstance(page, HealthPage) and page.ns == place and page.id == id:
                self.show_page(page)
                return page
        made = HealthPage(session, place, id, production)
        self._insert(made)
        return made

    def chain(self, session: Session, kind: str, ns: str, id: Value) -> Page:
        """The page that follows a document through its versions: its change map or its blame."""
        for page in self.pages_of(session):
            if page.kind == kind and page.ns == ns and page.id == id:
                self.show_page(page)
                return page
        made = ChangeMapPage(session, ns, id) if kind == "map" else BlamePage(session, ns, id)
        self._insert(made)
        return made

    def merge(self, session: Session, ns: str, id: Value, conflict: Conflict) -> MergePage:
        """The merge of a document, in place of its editor."""
        at = -1
        for page in self.pages_of(session):
            if isinstance(page, DocumentPage | MergePage) and page.ns == ns and page.id == id:
                at = self.pages.index(page)
                self._drop(page)
        made = MergePage(session, ns, id, conflict)
        self._insert(made, at)
        return made

    # --- what pages ask

    def _asked(self, page: Page, request: Request) -> None:
        session, id = page.session, request.id
        if request.kind == "close":
            self.close_page(page)
        elif request.kind in ("health", "repairs"):
            self.tended.emit(session, request)
        elif id is None:
            return
        elif request.kind == "document":
            self.document(session, request.ns, id)
        elif request.kind in ("history", "compare"):
            shown = self.collection(session, request.ns)
            shown.show_document(id)
            shown.do_history() if request.kind == "history" else shown.do_compare()
        elif request.kind == "versions":
            self.collection(session, request.ns).show_document(id, *request.versions)
        elif request.kind in ("map", "blame"):
            self.chain(session, request.kind, request.ns, id)
        elif request.kind == "merge" and request.conflict is not None:
            self.merge(session, request.ns, id, request.conflict)
        elif request.kind in ("merged", "discarded"):
            at = self.pages.index(page)
            self._drop(page)
            self._insert(DocumentPage(session, request.ns, id), at)
            self.drafts_touched.emit()
        elif request.kind == "draft" and request.draft is not None:
            self._open_draft(page, request.draft)
        elif request.kind == "draft-discarded":
            self._draft_discarded(session, request)

    def _open_draft(self, page: Page, draft: Draft) -> None:
        if draft.source != page.session.source:
            messages.note(page, f"This draft belongs to {draft.source}. Connect to it, then open the draft again.")
            return
        self.document(page.session, draft.ns, draft.id, draft)

    def _draft_discarded(self, session: Session, request: Request) -> None:
        for page in self.pages_of(session):
            if isinstance(page, DocumentPage) and page.ns == request.ns and page.id == request.id:
                page.editor.discard()
        self.drafts_touched.emit()

    def _written(self, page: Page, outcome: Outcome) -> None:
        for other in self.pages_of(page.session):
            if other is not page or isinstance(other, CollectionPage):
                other.after_write(outcome)
        self.written.emit(page.session, outcome)
        self.drafts_touched.emit()

    # --- closing

    def close_at(self, at: int) -> None:
        """Close a tab; an edit in it is kept as a draft, and that is said."""
        if 0 <= at < len(self.pages):
            self.close_page(self.pages[at])

    def close_page(self, page: Page) -> None:
        """Close a page; see :meth:`close_at`."""
        unsaved = page.dirty and page.id is not None
        session, ns, id = page.session, page.ns, page.id
        self._drop(page)
        if unsaved and id is not None:
            again = partial(self.document, session, ns, id)
            messages.tell(self, f"Your edit of {wording.plain(id)} is kept as a draft", None, [("Open again", again)])
            self.drafts_touched.emit()

    def close_session(self, session: Session) -> None:
        """Close every page of a connection."""
        for page in self.pages_of(session):
            self._drop(page)

    def leave(self) -> None:
        """Keep what must not be lost, in every page."""
        for page in self.pages:
            page.leave()

    def unsaved(self) -> list[Page]:
        """The pages with an edit that is not saved."""
        return [page for page in self.pages if page.dirty]

    def _drop(self, page: Page) -> None:
        page.leave()
        at = self.pages.index(page)
        self.pages.remove(page)
        self._stack.removeWidget(page)
        page.hide()
        page.deleteLater()
        self.tabs.remove(at)
        self._tab_chosen(self.tabs.bar.currentIndex())

    # --- across runs

    def memory(self, session: Session) -> list[dict[str, str]]:
        """What brings a connection's tabs back."""
        return [page.memory() for page in self.pages_of(session)]

    def restore(self, session: Session, memory: object) -> int:
        """Open the tabs of an earlier run again; returns how many."""
        opened = 0
        for one in memory if isinstance(memory, list) else []:
            if not isinstance(one, dict) or opened >= MOST_RESTORED:
                continue
            kind, ns = str(one.get("kind", "")), str(one.get("ns", ""))
            if kind == "collection" and ns:
                page = self.collection(session, ns, anew=True)
                if one.get("filter"):
                    page.browser.bar.set_filter(str(one["filter"]))
            elif kind in ("document", "map", "blame") and ns:
                try:
                    id = text.value_from_text(str(one.get("id", "")))
                except Refused:
                    continue
                if kind == "document":
                    self.document(session, ns, id)
                else:
                    self.chain(session, kind, ns, id)
            elif kind in ("pending", "journal", "drafts"):
                self.tool(session, kind, ns)
            else:
                continue
            opened += 1
        return opened


def remember(desk: TabArea, session: Session) -> None:
    """Keep a connection's tabs for the next run."""
    preferences.remember(f"tabs/{session.source}", desk.memory(session))


def remembered(session: Session) -> object:
    """What :func:`remember` kept."""
    return preferences.remembered(f"tabs/{session.source}", [])
