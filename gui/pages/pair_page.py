"""The page of two documents side by side."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from gui.actions import Handlers
from gui.language import tr
from gui.pages.base import OnShow, Page
from gui.pages.page_request import PageRequest, PairStart, TakenStart
from gui.parts.document_side import DocumentSide
from gui.style import wording
from gui.views.compare.pair_panel import PairPanel
from model.foundation.news import News
from model.session import Session
from model.values.canonical import Path


class PairPage(Page):
    """Two documents side by side, from any collections and connections; the one at the right opened it."""

    kind = "pair"
    icon = "git-diff"

    def __init__(self, session: Session, start: PairStart, parent: QWidget | None = None) -> None:
        super().__init__(session, start.right.ns, start.right.id, parent)
        self.panel = PairPanel(start.left, start.right, self)
        self._put(self.panel)
        self.panel.take_asked.connect(self._take)
        self.panel.showing.connect(self.changed)
        self.panel.open_asked.connect(self._open)
        self.panel.other_asked.connect(self.other_asked)

    def _open(self, side: DocumentSide) -> None:
        self.asked.emit(PageRequest("collection", side.ns, side.id, session=side.session))

    def _take(self, into: DocumentSide, source: bytes, path: Path, name: str) -> None:
        start = TakenStart(source, path, name)
        self.asked.emit(PageRequest("document", into.ns, into.id, start, session=into.session))

    @property
    def title(self) -> str:
        return tr("{id} and {id2}", id=wording.plain(self.panel.left.id), id2=wording.plain(self.panel.right.id))

    @property
    def tip(self) -> str:
        first, second = self._sides
        if first.place != second.place:
            return tr(
                "{first} and {second}", first=f"{first.name}, {first.place}", second=f"{second.name}, {second.place}"
            )
        if first.name == second.name:
            return f"{first.name}, {first.place}"
        return tr("{first} and {second}", first=first.name, second=f"{second.name}, {second.place}")

    def answer(self, request: PageRequest, again: bool) -> None:
        if again and isinstance(request.start, PairStart):
            self.ns, self.id = request.start.right.ns, request.start.right.id
            self.panel.show_pair(request.start.left, request.start.right)
            self.changed.emit()

    def side(self) -> DocumentSide | None:
        """The document at the right."""
        return self.panel.right

    def facts(self) -> set[str]:
        facts = super().facts()
        if self.panel.diff.comparison is not None:
            facts |= {"diff", "pair"}
            if self.panel.diff.inline.isChecked():
                facts.add("inline")
        return facts

    def panes(self) -> Sequence[QWidget]:
        return [self.panel.diff]

    @property
    def sessions(self) -> Sequence[Session]:
        return tuple(dict.fromkeys(side.session for side in self._sides))

    @property
    def _sides(self) -> tuple[DocumentSide, DocumentSide]:
        return self.panel.left, self.panel.right

    def on_show_of(self, session: Session) -> Sequence[OnShow]:
        shown = zip(self._sides, self.panel.sizes, strict=True)
        return [(side.ns, {side.id: None}, size) for side, size in shown if side.session is session]

    def shows(self, item: News) -> bool:
        return item.moved and any(
            item.data == side.session.data and item.outcome.ns == side.ns and item.outcome.id in (None, side.id)
            for side in self._sides
        )

    def status(self) -> tuple[list[str], list[str]]:
        left, right = (f"{side.ns} / {wording.plain(side.id)}" for side in self._sides)
        return [tr("{id} and {id2}", id=left, id2=right)], super().status()[1]

    def answering_changed(self) -> None:
        self.panel.diff.say_answering(self.answers)

    def writes_changed(self) -> None:
        self.panel.diff.say_writable()

    def memory(self) -> PageRequest:
        return PageRequest(self.kind, self.ns, self.id, PairStart(self.panel.left, self.panel.right))

    # --- actions

    def handlers(self) -> Handlers:
        return {**self.panel.diff.handlers(), **super().handlers()}

    def do_refresh(self) -> None:
        self.panel.refresh()
