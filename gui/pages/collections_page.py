"""The page of two collections side by side; pairs open in their comparison, ticked ones in a plan to copy them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from PySide6.QtWidgets import QWidget

from gui import messages
from gui.language import tr
from gui.pages.base import Page
from gui.pages.page_request import CollectionsStart, PageRequest, PairStart, TakingBackStart
from gui.parts.document_side import DocumentSide
from gui.style import wording
from gui.views.compare.collections_panel import CollectionsPanel
from model.foundation.news import News
from model.session import Session
from model.session.two_collections import Standing
from model.values.canonical import Value


class CollectionsPage(Page):
    """A collection beside another one, of any open connection."""

    kind = "collections"
    icon = "git-diff"

    def __init__(self, session: Session, ns: str, start: object = None, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, parent=parent)
        places = start.places if isinstance(start, CollectionsStart) else {}
        self.panel = CollectionsPanel(session, ns, places, self)
        self._put(self.panel)
        self.panel.pair_asked.connect(self._open)
        self.panel.copy_asked.connect(self._copy)
        self.panel.compared.connect(self.changed)

    def _open(self, here: DocumentSide | None, there: DocumentSide | None) -> None:
        if here is not None and there is not None:
            start = PairStart(here, there)
            self.asked.emit(PageRequest("pair", there.ns, there.id, start, session=there.session))
        elif (side := here or there) is not None:
            self.asked.emit(PageRequest("collection", side.ns, side.id, session=side.session))

    def _copy(
        self, whence: tuple[Session, str], whither: tuple[Session, str], key: str, rows: Sequence[Standing]
    ) -> None:
        """Show the plan that copies documents."""
        from gui.views.repair.plan_kind import copying
        from model.session.batch_writing import Chosen
        from model.session.two_collections import new_copies

        session, ns = whither
        found: dict[Value, Standing] = {}
        for row in rows:
            id = row.here if row.there is None else row.there
            if id is not None and found.setdefault(id, row) is not row:
                name = wording.plain(row.key)
                messages.fail(self, tr("{name} is left out: its id is another document's over there.", name=name))
        kind = copying(whence, ns, key, found, new_copies())
        start = TakingBackStart(tuple(Chosen(id, ()) for id in found), kind)
        self.asked.emit(PageRequest("taking-back", ns, start=start, way="beside", session=session))

    @property
    def title(self) -> str:
        return tr("Two collections: {name}", name=self.ns.partition(".")[2])

    def facts(self) -> set[str]:
        return super().facts() | {"collection"}

    def status(self) -> tuple[list[str], list[str]]:
        return [self.ns, tr("What differs between two collections")], super().status()[1]

    def panes(self) -> Sequence[QWidget]:
        return [self.panel.collection, self.panel.list]

    @property
    def sessions(self) -> Sequence[Session]:
        return tuple(dict.fromkeys(session for session, _ in self.panel.sides))

    def hear_silence(self, silent: Collection[Session]) -> None:
        super().hear_silence(silent)
        self.panel.say_silent(silent)

    def shows(self, item: News) -> bool:
        places = ((session.data, ns) for session, ns in self.panel.sides)
        return item.moved and self.panel.is_read and (item.data, item.outcome.ns) in places

    def follow(self) -> None:
        self.panel.follow()

    def memory(self) -> PageRequest:
        return PageRequest(self.kind, self.ns)

    def do_refresh(self) -> None:
        self.panel.compare()
