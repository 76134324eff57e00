"""Compares what each kind of page shows with the database at this moment: a sentence per stale field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gui.pages.activity_page import ActivityPage
from gui.pages.base import Page
from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage, MergePage
from gui.pages.history_pages import BisectPage, BlamePage, ChangeMapPage, FieldPage
from gui.pages.pair_page import PairPage
from gui.pages.repair_pages import RepairPage
from gui.pages.tool_pages import DraftsPage, JournalPage, PendingPage
from gui.style import wording
from gui.views.browse.query import listed
from model.errors import NotFound, Refused
from model.foundation.findings import Finding
from model.foundation.records import PendingToken, Version
from model.history.chain import key_text
from model.over_time.newest import known
from model.session import Session
from model.values import canonical
from model.values.canonical import Value

COUNTERS = ("insurance.stats", "insurance_2019.stats")
"""The collections of the sample with tokens: to look for them means to look at every collection."""

SEQUENCES = "insurance.counters"
"""The counters of the sample, by which a scan judges the numbers in the collections beside them."""


def stale(page: Page) -> list[str]:
    """What a page shows and is not so, or not any more."""
    for kind, look in _LOOKS.items():
        if isinstance(page, kind):
            return [f"{page.kind}: {wrong}" for wrong in look(page)]
    return []


def now(session: Session, ns: str, id: Value) -> Version | None:
    """The current version; None for a document that is not there."""
    try:
        return session.history.version(ns, id)
    except NotFound:
        return None


def _collection(page: CollectionPage) -> Iterator[str]:
    browser, session, ns = page.browser, page.session, page.ns
    query = browser.ran
    skip, most = query.skip + browser._skip, browser.pager.size
    if query.limit:
        most = min(most, query.limit - browser._skip)
    if query.is_of_now:
        read = session.documents.page(
            ns, query.filter, query.sort, query.fields, skip, most, any_version=query.any_version
        )
    else:
        read = listed(session, ns, query).page(skip, most)
    fresh = read.rows
    shown = [(row.id, row.version, row.raw) for row in browser.model.rows]
    if shown != [(row.id, row.version, row.raw) for row in fresh]:
        yield "the list"
    row = browser.row if query.is_of_now else None
    if row is None or not row.readable or row.id not in {each.id for each in fresh}:
        return
    told = browser.model.outlines.get(row.id)
    if told is not None and told != next(session.documents.outlines(ns, [row.id])):
        yield f"the history in miniature of {wording.plain(row.id)}"
    versions = list(session.history.versions(ns, row.id))
    if page.timeline.shown_id != row.id or page.timeline.model.versions != versions:
        yield f"the versions of {wording.plain(row.id)}"
        return
    a, b = page.timeline.chosen()
    shown_b = page.diff.comparison.b if page.diff.comparison is not None and not page.diff.is_alone else None
    if b is None or shown_b is None:
        return
    if (shown_b.v, shown_b.current) != (b.v, b.current) or shown_b.content != session.history.version(
        ns, row.id, b.v
    ).content:
        yield "B of the comparison"
    assert page.diff.comparison is not None
    if a is not None and page.diff.comparison.a.content != session.history.version(ns, row.id, a.v).content:
        yield "A of the comparison"


def _document(page: DocumentPage) -> Iterator[str]:
    editor, there = page.editor, now(page.session, page.ns, page.editor.id)
    base, said = editor.base, editor.head.now.said
    if there is None:
        # An edit that was reverted stays with the badge: it can be taken up again, and its base is nowhere else.
        if said != "deleted in the database" and (editor.is_dirty or editor.states.kind != "failed"):
            yield f"the editor of a deleted document says {said!r}"
        return
    if editor.states.kind != "content" or base is None:
        yield "the editor of a document that is there"
        return
    behind = (base.v, base.content) != (there.v, there.content)
    name = wording.version(there.v)
    wanted = (f"{name} in the database" if name else "changed in the database") if behind else ""
    if said != wanted:
        yield f"the badge says {said!r} and not {wanted!r}"
    # no document moves under an open cell, and an edit that was taken back by its steps can be done again
    may_be_behind = editor.is_dirty or editor.tree.has_editor or editor.can_redo
    if behind and not may_be_behind:
        yield f"the clean editor stands on {wording.version(base.v)} and not on {name}"
    if not editor.is_dirty and editor.content != (base.content if may_be_behind else there.content):
        yield "the fields"
    rows = editor.model.root.children or ()
    if not behind and _locked(page) != {row.name: row.value for row in rows if row.kind == "locked"}:
        yield "the locked fields"
    if editor.head.base.said != (f"from {wording.version(base.v)}" if base.v is not None else ""):
        yield f"the header says {editor.head.base.said!r}"


def _locked(page: DocumentPage) -> dict[str, Value]:
    opened = page.session.writing.open(page.ns, page.editor.id)
    return {name: value for name, value in canonical.fields(opened.document) if name in opened.locked}


def _merge(page: MergePage) -> Iterator[str]:
    there, theirs = now(page.session, page.ns, page._id), page.resolver.resolution.conflict.theirs
    told = page.resolver.notices.lines.get("moved")
    said = told.text if told is not None else ""
    if there is None and "deleted" not in said:
        yield "the merge of a document that is gone"
    merged = theirs is not None and there is not None and (theirs.v, theirs.content) == (there.v, there.content)
    if there is not None and not merged and "already" not in said:
        yield "the database's side of the merge"


def _map(page: ChangeMapPage) -> Iterator[str]:
    if now(page.session, page.ns, page._id) is None:
        return
    fresh = page.session.history.chain(page.ns, page._id)
    if page.panel.model.chain.versions != fresh.versions:
        yield "the versions of the map"
    elif page.panel.model.chain.blame() != fresh.blame():
        yield "the fields of the map"


def _blame(page: BlamePage) -> Iterator[str]:
    if now(page.session, page.ns, page._id) is None:
        return
    chain = page.session.history.chain(page.ns, page._id)
    identities = {track.key for track in chain.tracks if track.identity}
    fresh, panel = tuple(row for row in chain.blame() if row.key not in identities), page.panel
    if panel._all != fresh or (not panel.search.text() and tuple(panel.model.rows) != fresh):
        yield "the blame"


def _field(page: FieldPage) -> Iterator[str]:
    panel = page.panel
    if now(page.session, page.ns, page._id) is None or panel.chain is None:
        return
    chain = page.session.history.chain(page.ns, page._id)
    wanted = panel.search.text().casefold().strip()
    hidden = {track.key for track in chain.tracks if track.identity} | {()}
    keys = [track.key for track in chain.tracks if track.key not in hidden]
    if [track.key for track in panel.fields.rows] != [key for key in keys if wanted in key_text(key).casefold()]:
        yield "the fields of all versions"
    track = chain.track(panel.track.key) if panel.track is not None else None
    if track is not None and tuple(row.made for row in panel.model.rows) != chain.course(track):
        yield f"the history of {key_text(track.key)}"


def _bisect(page: BisectPage) -> Iterator[str]:
    panel = page.panel
    if now(page.session, page.ns, page._id) is None or not panel.ran or panel.found is None:
        return
    if panel.found != page.session.history.bisect(page.ns, page._id, panel.ran):
        yield f"the turns of {panel.ran}"


def _pair(page: PairPage) -> Iterator[str]:
    comparison = page.panel.diff.comparison
    if comparison is None or page.panel.stack.kind != "content":
        return
    for side, shown in ((page.panel.left, comparison.a), (page.panel.right, comparison.b)):
        there = now(side.session, side.ns, side.id)
        if side.v is None and there is not None and (shown.v, shown.content) != (there.v, there.content):
            yield f"{side.name} of the comparison"


def _activity(page: ActivityPage) -> Iterator[str]:
    if page.id is None:
        return
    try:
        merges = page.session.history.merges()
        fresh = [known(each, merges) for each in page.session.time.activity([page.ns], id=page.id)]
    except Refused:  # a collection without versions has none
        fresh = []
    if list(page.panel.rows) != fresh:
        yield f"the activity of {wording.plain(page.id)}"


def _journal(page: JournalPage) -> Iterator[str]:
    source = None if page.panel.everywhere.isChecked() else page.session.source
    fresh = page.session.journal.entries(len(page.panel.model.rows) + 1, source)
    if page.panel.model.rows != fresh[: len(page.panel.model.rows)] or (not page.panel.model.rows and fresh):
        yield "the entries"


def _drafts(page: DraftsPage) -> Iterator[str]:
    fresh = [(draft.ns, draft.id, draft.content) for draft in page.session.drafts.all()]
    if [(row.ns, row.id, row.content) for row, _ in page.panel.model.rows] != fresh:
        yield "the drafts"


def _repair(page: RepairPage) -> Iterator[str]:
    panel = page.panel
    if panel.plan is None:
        return
    # Of all databases, only the collections that were written may have other findings than when they were read.
    written = {entry.ns for entry in page.session.journal.entries(1000, page.session.source) if not entry.gone}
    places = {page.ns} if "." in page.ns else {ns for ns in written if ns.startswith(page.ns)}
    counters = {SEQUENCES} if any(ns.startswith("insurance.") for ns in places) else set()  # they tell of others too
    scan = page.session.scans.scan(sorted(places | counters), None if page.id is None else [page.id]) if places else ()
    fresh = {(each.code, each.ns, each.id, each.versions) for each in scan if isinstance(each, Finding)}
    findings = [(item, item.finding) for item in panel.plan.items if item.finding.ns in places or page.id is not None]
    left = {item.no for item, each in findings if (each.code, each.ns, each.id, each.versions) in fresh}
    shown = {item.no for item, _ in findings if not panel._is_over(item)}
    if shown != left:
        yield f"the findings: {len(shown)} are said to be left, {len(left)} are"
    whole = sum(not panel._is_over(item) for item in panel.plan.items)
    if panel.pane.total != whole:
        yield f"the count of findings: {panel.pane.total} for {whole}"


def _pending(page: PendingPage) -> Iterator[str]:
    if not page.panel.model.ends:
        places = (
            [page.ns]
            if page.ns
            else [ns for ns in COUNTERS if page.session.catalogue.database in ("", ns.partition(".")[0])]
        )
        fresh = [(token.id, token.token) for place in places for token in _tokens_of(page, place)]
        if sorted(map(str, fresh)) != sorted(str((token.id, token.token)) for token in page.panel.tokens):
            yield "the tokens"


def _tokens_of(page: PendingPage, place: str) -> list[PendingToken]:
    try:
        return list(page.session.tokens.pending(place))
    except Refused:
        return []  # the collection keeps none, as the page says


_LOOKS: dict[type[Page], Callable[[Any], Iterator[str]]] = {
    CollectionPage: _collection,
    DocumentPage: _document,
    MergePage: _merge,
    ChangeMapPage: _map,
    BlamePage: _blame,
    FieldPage: _field,
    BisectPage: _bisect,
    PairPage: _pair,
    ActivityPage: _activity,
    JournalPage: _journal,
    DraftsPage: _drafts,
    RepairPage: _repair,
    PendingPage: _pending,
}
