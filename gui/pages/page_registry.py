"""The registry of pages, a row each: how one is made, what it is about, what opens it, whether it comes back.

Whoever asks for a page hands a :class:`~gui.pages.page_request.PageRequest` to the tabs; nothing else knows the kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from gui.actions import Item, item, line, with_pages
from gui.language import tr
from gui.pages.activity_page import ActivityPage
from gui.pages.base import Page
from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage, MergePage
from gui.pages.history_pages import BisectPage, BlamePage, ChangeMapPage, FieldPage
from gui.pages.page_request import CollectionStart, PageRequest, PairStart, TakingBackStart
from gui.pages.pair_page import PairPage
from gui.pages.repair_pages import HealthPage, RepairPage, TakingBackPage
from gui.pages.times_page import TimesPage
from gui.pages.tool_pages import CheckPage, DraftsPage, JournalPage, MigratePage, PendingPage
from gui.views.browse.query import Query
from model import text
from model.errors import Refused
from model.records import Draft
from model.session import Conflict, Session
from resources import manual

# A place is all databases, one of them, a collection or a document.
OnePer = Literal["connection", "place", "collection", "document"]


@dataclass(frozen=True)
class SidebarEntry:
    """A line at the foot of the sidebar, with the colours of its count."""

    text: str
    ink: str
    ground: str


@dataclass(frozen=True)
class PageKind:
    """One row. Its page says kind, icon and title; ``make`` is told whether the connection is production."""

    page: type[Page]
    make: Callable[[Session, PageRequest, bool], Page]
    one_per: OnePer
    topic: str = manual.FIRST  # the page of the manual about it
    tab_of: str = ""  # the kind whose tab it shares
    restored: bool = False  # in the next run
    actions: tuple[Item, ...] = ()
    entry: SidebarEntry | None = None
    entry_of: str = ""  # the kind whose entry leads here

    @property
    def kind(self) -> str:
        """The row's name."""
        return self.page.kind


def _document(session: Session, asked: PageRequest, production: bool) -> Page:
    draft = asked.start if isinstance(asked.start, Draft) else None
    return DocumentPage(session, asked.ns, asked.document, draft, production)


def _pair(session: Session, asked: PageRequest, _: bool) -> Page:
    if not isinstance(asked.start, PairStart):
        raise ValueError("A comparison of two documents begins with both, and none was handed over.")
    return PairPage(session, asked.start)


def _taking_back(session: Session, asked: PageRequest, production: bool) -> Page:
    if not isinstance(asked.start, TakingBackStart):
        raise ValueError("Taking back begins with the changes that are meant, and none were handed over.")
    return TakingBackPage(session, asked.ns, asked.start, production)


def _merge(session: Session, asked: PageRequest, _: bool) -> Page:
    if not isinstance(asked.start, Conflict):
        raise ValueError("A merge begins with a conflict, and none was handed over.")
    return MergePage(session, asked.ns, asked.document, asked.start)


# Menus and sidebar list them in this order.
_ROWS = (
    PageKind(
        CollectionPage,
        lambda session, asked, production: CollectionPage(session, asked.ns, production),
        "collection",
        "documents",
        restored=True,
    ),
    PageKind(DocumentPage, _document, "document", "editing", restored=True),
    PageKind(MergePage, _merge, "document", "merging", tab_of="document"),
    PageKind(
        ChangeMapPage,
        lambda session, asked, _: ChangeMapPage(session, asked.ns, asked.document),
        "document",
        "blame",
        restored=True,
        actions=(item("Compare", "change-map", tr("Change map"), "", "document", icon="grid-four", about="document"),),
    ),
    PageKind(
        BlamePage,
        lambda session, asked, _: BlamePage(session, asked.ns, asked.document),
        "document",
        "blame",
        restored=True,
        actions=(item("Compare", "blame", tr("Blame"), "Ctrl+Shift+B", "document", icon="user-list",
            about="document"),),
    ),
    PageKind(
        FieldPage,
        lambda session, asked, _: FieldPage(session, asked.ns, asked.document),
        "document",
        "blame",
        restored=True,
        actions=(item("Compare", "field", tr("History of a field"), "", "document", icon="chart-bar",
            about="document"),),
    ),
    PageKind(
        BisectPage,
        lambda session, asked, _: BisectPage(session, asked.ns, asked.document),
        "document",
        "blame",
        restored=True,
        actions=(
            item("Compare", "bisect", tr("Find when this became true…"), "", "document", icon="magnifying-glass",
                 about="document"),
        ),
    ),
    PageKind(PairPage, _pair, "connection", "comparing"),
    PageKind(
        TimesPage,
        lambda session, asked, production: TimesPage(session, asked.ns, asked.start, production),
        "collection",
        "activity",
        actions=(
            item("Compare", "two-times", tr("Two times of this collection…"), "", "versions", about="collection"),
        ),
    ),
    PageKind(
        DraftsPage,
        lambda session, *_: DraftsPage(session),
        "connection",
        "editing",
        restored=True,
        actions=(item("View", "drafts", tr("Drafts"), "", "session", icon="note-pencil", about="connection"),),
        entry=SidebarEntry(tr("Drafts"), "acc", "accTint"),
    ),
    PageKind(
        ActivityPage,
        lambda session, asked, production: ActivityPage(session, asked.ns, asked.id, production),
        "place",
        "activity",
        restored=True,
        actions=(
            item("View", "activity", tr("Activity"), "", "session", icon="pulse", about="connection"),
            item("View", "activity-collection", tr("Activity in this collection"), "Ctrl+Shift+G", "collection",
                about="collection"),
            item("View", "activity-document", tr("Activity of this document"), "", "document", about="document"),
        ),
        entry=SidebarEntry(tr("Activity"), "typ", "typT"),
    ),
    PageKind(
        RepairPage,
        lambda session, asked, production: RepairPage(session, asked.ns, asked.id, production),
        "place",
        "repairing",
        actions=(
            item("Repair", "repairs", tr("Look for damage"), "Ctrl+Shift+R", "session", icon="wrench",
                about="database"),
            item("Repair", "repairs-collection", tr("Look for damage in this collection"), "", "collection",
                 about="collection"),
            item("Repair", "repairs-document", tr("Look for damage in this document"), "", "document",
                about="document"),
            line("Repair"),
        ),
        entry=SidebarEntry(tr("Repair centre"), "warn", "warnT"),
    ),
    PageKind(TakingBackPage, _taking_back, "collection", "activity"),
    PageKind(
        HealthPage,
        lambda session, asked, production: HealthPage(session, asked.ns, asked.id, production),
        "place",
        "scanning",
        actions=(
            item("Repair", "health", tr("Health: findings over time"), "", "session", icon="chart-bar",
                about="database"),
        ),
        entry_of="repair",
    ),
    PageKind(
        PendingPage,
        lambda session, asked, production: PendingPage(session, asked.ns, production),
        "place",
        "pending",
        restored=True,
        actions=(item("Repair", "pending", tr("Pending tokens"), "", "session", icon="hourglass", about="connection"),),
        entry=SidebarEntry(tr("Pending tokens"), "warn", "warnT"),
    ),
    PageKind(
        MigratePage,
        lambda session, asked, _: MigratePage(session, asked.ns),
        "collection",
        "migrating",
        actions=(
            item("Repair", "migrate", tr("Move to another layout…"), "", "collection", icon="swap", about="collection"),
        ),
    ),
    PageKind(
        JournalPage,
        lambda session, *_: JournalPage(session),
        "connection",
        "journal",
        restored=True,
        actions=(item("View", "journal", tr("Journal"), "", "session", icon="notebook", about="connection"),),
        entry=SidebarEntry(tr("Journal"), "typ", "typT"),
    ),
    PageKind(
        CheckPage,
        lambda session, *_: CheckPage(session),
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
    """The page of the manual about a page of the window; the first one where none is in front."""
    return manual.FIRST if page is None else PAGES[page.kind].topic


def is_about(page: Page, asked: PageRequest) -> bool:
    """Whether a page of the connection stands where the one that is asked for would."""
    here, wanted = PAGES[page.kind], PAGES[asked.kind]
    if (here.tab_of or here.kind) != (wanted.tab_of or wanted.kind):
        return False
    if wanted.one_per == "connection":
        return True
    return page.ns == asked.ns and (wanted.one_per == "collection" or page.id == asked.id)


def asked_by(action: Item, front: Page | None) -> PageRequest | None:
    """The page that an action opens while ``front`` is in front; None where it opens none, or nothing fits it there."""
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
    """The request by which a closed page comes back; a collection may have several, each with a filter of its own."""
    return replace(asked, way="beside") if asked.kind == CollectionPage.kind else asked


def kept(asked: PageRequest) -> dict[str, object]:
    """A request as it is kept for the next run."""
    made: dict[str, object] = {"kind": asked.kind, "ns": asked.ns}
    if asked.id is not None:
        made["id"] = text.value_text(asked.id)
    if isinstance(asked.start, CollectionStart):
        made["query"] = asked.start.query.kept()
    return made


def remembered(memory: object) -> PageRequest | None:
    """The request that :func:`kept` wrote in an earlier run; None where its page does not come back."""
    if not isinstance(memory, dict):
        return None
    row, ns = PAGES.get(str(memory.get("kind", ""))), str(memory.get("ns", ""))
    if row is None or not row.restored or (row.one_per in ("collection", "document") and not ns):
        return None
    if row.one_per == "collection":
        # A person may have had several tabs of one collection.
        query = Query.remembered(memory.get("query", memory.get("filter"))) or Query()
        return PageRequest(row.kind, ns, start=CollectionStart(query), way="beside")
    if row.one_per != "document" and "id" not in memory:
        return PageRequest(row.kind, ns)
    try:
        return PageRequest(row.kind, ns, text.value_from_text(str(memory.get("id", ""))))
    except Refused:
        return None
