"""The page of two collections side by side; each pair of documents opens in its comparison."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from gui.language import tr
from gui.pages.base import Page
from gui.pages.page_request import CollectionsStart, PageRequest, PairStart
from gui.parts.document_side import DocumentSide
from gui.views.compare.collections_panel import CollectionsPanel
from model.session import Session


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
        self.panel.compared.connect(self.changed)

    def _open(self, here: DocumentSide | None, there: DocumentSide | None) -> None:
        if here is not None and there is not None:
            start = PairStart(here, there)
            self.asked.emit(PageRequest("pair", there.ns, there.id, start, session=there.session))
        elif (side := here or there) is not None:
            self.asked.emit(PageRequest("collection", side.ns, side.id, session=side.session))

    @property
    def title(self) -> str:
        return tr("Two collections: {name}", name=self.ns.partition(".")[2])

    def facts(self) -> set[str]:
        return super().facts() | {"collection"}

    def status(self) -> tuple[list[str], list[str]]:
        return [self.ns, tr("What differs between two collections")], super().status()[1]

    def panes(self) -> Sequence[QWidget]:
        return [self.panel.collection, self.panel.list]

    def memory(self) -> PageRequest:
        return PageRequest(self.kind, self.ns)

    def do_refresh(self) -> None:
        self.panel.compare()
