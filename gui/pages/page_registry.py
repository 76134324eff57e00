"""The registry of pages, one row each: how a page is made, what it is about, what opens it, whether it is restored.

Whoever wants a page hands a :class:`~gui.pages.page_request.PageRequest` to the tabs; nothing else knows the kinds.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from gui.actions import Item, item, line, unlisted, with_pages
from gui.language import tr
from gui.pages.base import Page
from gui.pages.page_request import CollectionStart, PageRequest, PairStart, TakingBackStart
from gui.views.browse.query import Query
from model import text
from model.errors import Refused
from resources import manual

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from model.session import Session

# A place is all databases, one database, a collection or a document.
OnePer = Literal["connection", "place", "collection or connection", "collection", "document"]


class SidebarEntry(Struct, frozen=True):
    """A line at the foot of the sidebar, with the colours of its count."""

    text: str
    ink: str
    ground: str
    of_front: str = ""  # the action that opens the page about the collection in front


class PageKind(Struct, frozen=True):
    """One row. The page's class gives icon and title, and is imported when the first of its pages opens.

    ``making`` gets the page's class, and whether the connection is production.
    """

    kind: str
    place: str  # file and name of the page's class
    making: Callable[[Callable[..., Page], Session, PageRequest, bool], Page]
    one_per: OnePer
    topic: str = manual.FIRST  # the manual's page about it
    tab_of: str = ""  # the kind whose tab it shares
    view: str = ""  # what it is called among the views of that tab, between which a person switches
    restored: bool = False  # reopened in the next run
    actions: tuple[Item, ...] = ()
    entry: SidebarEntry | None = None
    entry_of: str = ""  # the kind whose entry leads to this page

    @property
    def page(self) -> type[Page]:
        """The class of this kind of page."""
        file, _, name = self.place.partition(":")
        found: type[Page] = getattr(importlib.import_module(f"gui.pages.{file}"), name)
        return found

    def make(self, session: Session, asked: PageRequest, production: bool, parent: QWidget) -> Page:
        """Make a page of this kind."""
        return self.making(partial(self.page, parent=parent), session, asked, production)


def _document(page: Callable[..., Page], session: Session, asked: PageRequest, production: bool) -> Page:
    from model.foundation.records import Draft

    draft = asked.start if isinstance(asked.start, Draft) else None
    return page(session, asked.ns, asked.document, draft, production)


def _pair(page: Callable[..., Page], session: Session, asked: PageRequest, _: bool) -> Page:
    if not isinstance(asked.start, PairStart):
        raise ValueError("A comparison of two documents begins with both, and none was handed over.")
    return page(session, asked.start)


def _taking_back(page: Callable[..., Page], session: Session, asked: PageRequest, production: bool) -> Page:
    if not isinstance(asked.start, TakingBackStart):
        raise ValueError("Taking back begins with the changes that are meant, and none were handed over.")
    return page(session, asked.ns, asked.start, production)


def _merge(page: Callable[..., Page], session: Session, asked: PageRequest, _: bool) -> Page:
    from model.session.guarded_writing import Conflict

    if not isinstance(asked.start, Conflict):
        raise ValueError("A merge begins with a conflict, and none was handed over.")
    return page(session, asked.ns, asked.document, asked.start)


# Menus and sidebar list them in this order.
_ROWS = (
    PageKind(
        "collection",
        "collection_page:CollectionPage",
        lambda page, session, asked, production: page(session, asked.ns, production),
        "collection",
        "documents",
        restored=True,
    ),
    PageKind("document", "document_pages:DocumentPage", _document, "document", "editing", restored=True),
    PageKind("merge", "document_pages:MergePage", _merge, "document", "merging", tab_of="document"),
    PageKind(
        "map",
        "history_pages:ChangeMapPage",
        lambda page, session, asked, _: page(session, asked.ns, asked.document),
        "document",
        "blame",
        restored=True,
        actions=(unlisted("Compare", "change-map", tr("Change map"), "", "document", icon="grid-four",
            about="document"),),
        view=tr("Change map"),
    ),
    PageKind(
        "blame",
        "history_pages:BlamePage",
        lambda page, session, asked, _: page(session, asked.ns, asked.document),
        "document",
        "blame",
        restored=True,
        actions=(item("Compare", "blame", tr("Who changed what"), "Ctrl+Shift+B", "document", icon="user-list",
            about="document"),),
        tab_of="map",
        view=tr("Blame"),
    ),
    PageKind(
        "field",
        "history_pages:FieldPage",
        lambda page, session, asked, _: page(session, asked.ns, asked.document),
        "document",
        "blame",
        restored=True,
        actions=(unlisted("Compare", "field", tr("History of a field"), "", "document", icon="chart-bar",
            about="document"),),
        tab_of="map",
        view=tr("One field"),
    ),
    PageKind(
        "bisect",
        "history_pages:BisectPage",
        lambda page, session, asked, _: page(session, asked.ns, asked.document),
        "document",
        "blame",
        restored=True,
        actions=(
            unlisted("Compare", "bisect", tr("Find when this became true…"), "", "document", icon="magnifying-glass",
                 about="document"),
        ),
        tab_of="map",
        view=tr("Find when"),
    ),
    PageKind("pair", "pair_page:PairPage", _pair, "connection", "comparing"),
    PageKind(
        "times",
        "times_page:TimesPage",
        lambda page, session, asked, production: page(session, asked.ns, asked.start, production),
        "collection",
        "activity",
        actions=(
            item("Compare", "two-times", tr("Two times of this collection…"), "", "versions", about="collection"),
        ),
    ),
    PageKind(
        "collections",
        "collections_page:CollectionsPage",
        lambda page, session, asked, _: page(session, asked.ns, asked.start),
        "collection",
        "comparing",
        actions=(
            item("Compare", "two-collections", tr("Compare with another collection…"), "", "collection",
                about="collection"),
        ),
    ),
    PageKind(
        "drafts",
        "tool_pages:DraftsPage",
        lambda page, session, *_: page(session),
        "connection",
        "editing",
        restored=True,
        actions=(unlisted("View", "drafts", tr("Drafts"), "", "session", icon="note-pencil", about="connection"),),
        tab_of="journal",
        view=tr("Drafts"),
        entry_of="journal",
    ),
    PageKind(
        "activity",
        "activity_page:ActivityPage",
        lambda page, session, asked, _: page(session, asked.ns, asked.id),
        "place",
        "activity",
        restored=True,
        actions=(
            unlisted("View", "activity", tr("Activity"), "", "session", icon="pulse", about="connection"),
            unlisted("View", "activity-collection", tr("Activity in this collection"), "Ctrl+Shift+G", "collection",
                about="collection"),
            unlisted("View", "activity-document", tr("Activity of this document"), "", "document", about="document"),
        ),
        entry=SidebarEntry(tr("Activity"), "typ", "typT", "activity-collection"),
    ),
    PageKind(
        "repair",
        "repair_pages:RepairPage",
        lambda page, session, asked, production: page(session, asked.ns, asked.id, production),
        "place",
        "repairing",
        actions=(
            unlisted("Repair", "repairs", tr("Look for damage"), "Ctrl+Shift+R", "session", icon="wrench",
                about="database"),
            unlisted("Repair", "repairs-collection", tr("Look for damage in this collection"), "", "collection",
                 about="collection"),
            unlisted("Repair", "repairs-document", tr("Look for damage in this document"), "", "document",
                about="document"),
            line("Repair"),
        ),
        entry=SidebarEntry(tr("Repairs"), "warn", "warnT"),
        view=tr("Findings"),
    ),
    PageKind("taking-back", "repair_pages:TakingBackPage", _taking_back, "collection", "activity"),
    PageKind(
        "health",
        "repair_pages:HealthPage",
        lambda page, session, asked, production: page(session, asked.ns, asked.id, production),
        "place",
        "scanning",
        actions=(
            unlisted("Repair", "health", tr("Health: findings over time"), "", "session", icon="chart-bar",
                about="database"),
        ),
        entry_of="repair",
        tab_of="repair",
        view=tr("Over time"),
    ),
    PageKind(
        "pending",
        "tool_pages:PendingPage",
        lambda page, session, asked, production: page(session, asked.ns, production),
        "collection or connection",
        "pending",
        restored=True,
        actions=(unlisted("Repair", "pending", tr("Pending tokens"), "", "session", icon="hourglass",
            about="connection"),),
        tab_of="repair",
        view=tr("Pending tokens"),
        entry_of="repair",
    ),
    PageKind(
        "migrate",
        "tool_pages:MigratePage",
        lambda page, session, asked, _: page(session, asked.ns),
        "collection",
        "migrating",
        actions=(
            item("Repair", "migrate", tr("Move to another layout…"), "", "collection", icon="swap", about="collection"),
        ),
    ),
    PageKind(
        "journal",
        "tool_pages:JournalPage",
        lambda page, session, *_: page(session),
        "connection",
        "journal",
        restored=True,
        actions=(item("View", "journal", tr("My edits"), "", "session", icon="notebook", about="connection"),),
        entry=SidebarEntry(tr("My edits"), "acc", "accTint"),
        view=tr("Journal"),
    ),
    PageKind(
        "check",
        "tool_pages:CheckPage",
        lambda page, session, *_: page(session),
        "connection",
        "servers",
        actions=(item("File", "check", tr("Check this server…"), "", "session", icon="hard-drives",
            about="connection"),),
    ),
)  # fmt: skip

PAGES = {row.kind: row for row in _ROWS}
ACTIONS = with_pages(action for row in _ROWS for action in row.actions)
_OPENED_BY = {action.id: row.kind for row in _ROWS for action in row.actions if action.id}


def topic_of(page: Page | None) -> str:
    """The manual's page about a page of the window; the manual's first page if none is in front."""
    return manual.FIRST if page is None else PAGES[page.kind].topic


def views_beside(kind: str) -> list[PageKind]:
    """The kinds of page between which a person switches within a tab; empty if there is one only."""
    shared = PAGES[kind].tab_of or kind
    return [row for row in _ROWS if row.view and (row.tab_of or row.kind) == shared]


def view_of(page: Page, kind: str) -> PageRequest:
    """The request for another view in the tab of a page, about the same place."""
    if PAGES[kind].one_per == "connection":
        return PageRequest(kind)
    if PAGES[kind].one_per == "collection or connection":
        return PageRequest(kind, page.ns if "." in page.ns else "")
    return PageRequest(kind, page.ns, page.id)


def shows(page: Page, asked: PageRequest) -> bool:
    """Whether an open page that is about a request's place shows what is asked for, not another view of it."""
    return page.kind == asked.kind or not PAGES[asked.kind].view


def is_about(page: Page, asked: PageRequest) -> bool:
    """Whether a page shows what a request asks for."""
    here, wanted = PAGES[page.kind], PAGES[asked.kind]
    if (here.tab_of or here.kind) != (wanted.tab_of or wanted.kind):
        return False
    if wanted.one_per == "connection":
        return True
    return page.ns == asked.ns and (wanted.one_per == "collection" or page.id == asked.id)


def asked_by(action: Item, front: Page | None) -> PageRequest | None:
    """The page that an action opens while ``front`` is in front; None if it opens none, or none fits there."""
    if action.id not in _OPENED_BY:
        return None
    kind = _OPENED_BY[action.id]
    ns, id = (front.ns, front.id) if front is not None else ("", None)
    if action.about == "connection":
        return PageRequest(kind)
    if action.about == "database":
        return PageRequest(kind, ns.partition(".")[0])
    if action.about == "collection":
        return PageRequest(kind, ns) if ns else None
    return PageRequest(kind, ns, id) if id is not None else None


def reopened(asked: PageRequest) -> PageRequest:
    """The request that reopens a closed page; a collection may have several tabs, each with a filter of its own."""
    return replace(asked, way="beside") if asked.kind == "collection" else asked


def kept(asked: PageRequest) -> dict[str, object]:
    """A request as it is stored for the next run."""
    made: dict[str, object] = {"kind": asked.kind, "ns": asked.ns}
    if asked.id is not None:
        made["id"] = text.value_text(asked.id)
    if isinstance(asked.start, CollectionStart):
        made["query"] = asked.start.query.kept()
    return made


def remembered(memory: object) -> PageRequest | None:
    """The request that :func:`kept` stored in an earlier run; None if its page is not restored."""
    if not isinstance(memory, dict):
        return None
    row, ns = PAGES.get(str(memory.get("kind", ""))), str(memory.get("ns", ""))
    if row is None or not row.restored or (row.one_per in ("collection", "document") and not ns):
        return None
    if row.one_per == "collection":
        # There may have been several tabs of one collection.
        query = Query.remembered(memory.get("query", memory.get("filter"))) or Query()
        return PageRequest(row.kind, ns, start=CollectionStart(query), way="beside")
    if row.one_per != "document" and "id" not in memory:
        return PageRequest(row.kind, ns)
    try:
        return PageRequest(row.kind, ns, text.value_from_text(str(memory.get("id", ""))))
    except Refused:
        return None
