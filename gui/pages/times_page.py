"""The page of two times of a collection, with a comparison of each document that differs."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from gui.actions import Handlers
from gui.language import tr
from gui.pages.base import Page
from gui.pages.document_writes import DocumentWrites
from gui.pages.page_request import CollectionStart, PageRequest, TimesStart
from gui.parts.document_side import DocumentSide
from gui.style import boxes
from gui.views.compare.diff_panel import DiffPanel
from gui.views.compare.times_panel import TimesPanel, version_of
from model.foundation.news import News
from model.session import Session
from model.session.through_time import Compared
from model.values.canonical import Value


class TimesPage(Page):
    """Two times of a collection: the documents added, removed and changed, and a comparison of the chosen one."""

    kind = "times"
    icon = "clock-counter-clockwise"

    def __init__(
        self, session: Session, ns: str, start: object = None, production: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, ns, parent=parent)
        self.split = boxes.split()
        boxes.column(self).addWidget(self.split)
        self.panel = TimesPanel(session, ns, self.split)
        self.diff = DiffPanel(session, ns, self.split)
        boxes.share(self.split, 420, 360)
        self.writes = DocumentWrites(session, ns, self, production)
        self.setFocusProxy(self.panel)
        self.panel.chosen.connect(self._choose)
        self.panel.open_asked.connect(self._open_history)
        self.panel.compared.connect(self.changed)
        self.diff.ab_chosen.connect(self._compare_others)
        self.diff.restore_asked.connect(self.writes.restore)
        self._serve(self.diff)
        self.writes.merge_asked.connect(self._merge)
        if isinstance(start, TimesStart):
            self.panel.first.put(start.first)

    def answer(self, request: PageRequest, again: bool) -> None:
        if again and isinstance(request.start, TimesStart) and request.start.first is not None:
            self.panel.first.put(request.start.first)

    def _choose(self, row: Compared | None) -> None:
        self.id = row.id if row is not None else None
        sides = [version_of(each) for each in (row.before, row.after)] if row is not None else []
        there = [each for each in sides if each is not None]
        if row is None or not there:
            self.diff.clear()
        else:
            self.diff.set_ab_choices(there[::-1])
            self.diff.compare(row.id, there[0] if len(there) == 2 else None, there[-1])
        self.changed.emit()

    def _compare_others(self, a: Value | None, b: Value | None) -> None:
        versions = {each.v: each for each in self.diff.choices.versions}
        if self.id is not None and b in versions:
            self.diff.compare(self.id, versions.get(a), versions[b])

    def _open_history(self, row: Compared) -> None:
        a, b = (each.v if each is not None else None for each in (row.before, row.after))
        start = CollectionStart(a=a, b=b) if a is not None else CollectionStart(a=b)
        self.asked.emit(PageRequest("collection", self.ns, row.id, start))

    @property
    def title(self) -> str:
        return tr("Two times: {name}", name=self.ns.partition(".")[2])

    def side(self) -> DocumentSide | None:
        row = self.panel.row
        after = row.after or row.before if row is not None else None
        return None if row is None or after is None else DocumentSide(self.session, self.ns, row.id, after.v)

    def facts(self) -> set[str]:
        facts = super().facts() | {"collection", "versions"}
        if self.id is not None:
            facts |= {"document", "readable"}
        if self.diff.comparison is not None:
            facts |= {"diff"}
            if not self.diff.why_not_restore():
                facts.add("restorable")
            if self.diff.inline.isChecked():
                facts.add("inline")
        return facts

    def reasons(self) -> dict[str, str]:
        return {"restorable": self.diff.why_not_restore()}

    def status(self) -> tuple[list[str], list[str]]:
        return [self.ns, tr("What differs between two times")], super().status()[1]

    def panes(self) -> Sequence[QWidget]:
        return [self.panel.first, self.panel.list, self.diff]

    def shows(self, item: News) -> bool:
        return item.moved and self.panel.is_of_now and self.writes_to(item.outcome, self.ns)

    def answering_changed(self) -> None:
        self.diff.say_answering(self.answers)

    def writes_changed(self) -> None:
        self.diff.say_writable()

    def memory(self) -> PageRequest:
        return PageRequest(self.kind, self.ns)

    # --- actions

    def do_refresh(self) -> None:
        self.panel.refresh()

    def handlers(self) -> Handlers:
        return {**self.diff.handlers(), **super().handlers(), "history": self.do_history}

    def do_history(self) -> None:
        if self.panel.row is not None:
            self._open_history(self.panel.row)
