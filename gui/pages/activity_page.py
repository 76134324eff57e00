"""The page of activity: who changed what in a connection, a database, a collection or a document, past or live."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from gui import copying, messages
from gui.actions import Handlers
from gui.language import tr
from gui.pages.base import OnShow, Page
from gui.pages.page_request import CollectionStart, PageRequest, TakingBackStart
from gui.style import wording
from gui.style.front_layout import FrontLayout
from gui.views.activity.activity_panel import ActivityPanel
from gui.views.activity.live_panel import LivePanel
from model.foundation.news import News
from model.session import Session
from model.session.through_time import Activity
from model.values.canonical import Value

WATCHED = 100  # documents on show that are checked for other programs' writes
LARGE = 2**20  # bytes, given as their size so that they are compared by version and token


class ActivityPage(Page):
    """The changes, each opening a comparison; follows what is written while it is open.

    In live mode it shows new versions instead.
    """

    kind = "activity"
    icon = "pulse"

    def __init__(
        self, session: Session, place: str = "", id: Value | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, place, id, parent)
        self._written: set[tuple[str, Value]] = set()
        self._whole = False  # whether more was written than single documents
        self.panel = ActivityPanel(session, place, id, self)
        self.live: LivePanel | None = None
        self._modes = FrontLayout(self)
        self._modes.addWidget(self.panel)
        self.setFocusProxy(self.panel)
        self.panel.live_asked.connect(self.show_live)
        self.panel.compare_asked.connect(self._compare)
        self.panel.open_asked.connect(self._open)
        self.panel.activity_asked.connect(self._activity_of)
        self.panel.take_back_asked.connect(self._take_back)
        self.panel.wider_asked.connect(self._widen)
        self.panel.stack.turned.connect(self.changed)  # its keys are told only while there are rows
        self.panel.read_ended.connect(self.changed)

    @property
    def is_live(self) -> bool:
        """Whether new versions are shown as they come."""
        return self.live is not None and self._modes.currentWidget() is self.live

    def show_live(self) -> None:
        """Switch to new versions as they come."""
        if self.live is None:
            self.live = LivePanel(self.session, self.ns, self.panel.place_said, self)
            self.live.open_asked.connect(self._compare)
            self.live.document_asked.connect(self._open)
            self.live.activity_asked.connect(self._activity_of)
            self.live.past_asked.connect(self.show_past)
            self.live.stack.turned.connect(self.changed)
            self._modes.addWidget(self.live)
            self.live.say_answering(self.answers)
        self._show(self.live, self.live.modes.button(1))

    def show_past(self) -> None:
        """Switch to past changes."""
        self._show(self.panel, self.panel.modes.button(0))

    def _show(self, panel: QWidget, chosen: QWidget) -> None:
        self._modes.setCurrentWidget(panel)
        self.setFocusProxy(panel)
        chosen.setFocus()  # where the pressed button was
        self.changed.emit()

    def _compare(self, row: Activity) -> None:
        start = CollectionStart(a=row.older, b=row.v) if row.v is not None else CollectionStart(pane="history")
        self.asked.emit(PageRequest("collection", row.ns, row.id, start))

    def _open(self, row: Activity) -> None:
        self.asked.emit(PageRequest("collection", row.ns, row.id))

    def _activity_of(self, row: Activity) -> None:
        self.asked.emit(PageRequest("activity", row.ns, row.id))

    def _widen(self, place: str) -> None:
        self.asked.emit(PageRequest("activity", place))

    def _take_back(self, rows: Sequence[Activity]) -> None:
        from model.session.batch_writing import Chosen  # brings the rooms of repair, which no activity needs

        several: dict[Value, list[Value]] = {}
        for row in rows:
            if row.v is not None:
                several.setdefault(row.id, []).append(row.v)
        path = self.panel.asked.path  # the rows are changes of this field: what else they changed stays
        paths = (path,) if path else ()
        chosen = tuple(Chosen(id, tuple(versions), paths=paths) for id, versions in several.items())
        self.asked.emit(PageRequest("taking-back", rows[0].ns, start=TakingBackStart(chosen)))

    def answering_changed(self) -> None:
        self.panel.say_answering(self.answers)
        if self.live is not None:
            self.live.say_answering(self.answers)

    @property
    def title(self) -> str:
        what = self.ns.partition(".")[2] or self.ns or wording.source(self.session.name)
        return tr("Activity: {what}", what=what if self.id is None else wording.plain(self.id))

    @property
    def tip(self) -> str:
        name = wording.source(self.session.name)
        if not self.ns:
            return tr("Who changed what in {name}", name=name)
        return tr("Who changed what in {place} of {name}", place=self.panel.place_said, name=name)

    def facts(self) -> set[str]:
        made = {"page", "find"}
        if "." in self.ns:
            made.add("collection")
        if self.id is not None:
            made |= {"document", "readable"}
        return made

    def status(self) -> tuple[list[str], list[str]]:
        left = [self.panel.place_said]
        if self.live is not None and self.is_live:
            if self.live.stack.kind == "content":
                left.append(tr("Enter shows a version in its timeline; Esc lets the list go on"))
        elif self.panel.stack.kind == "content":
            left.append(tr("Enter compares a version with the one before it; Ctrl and Shift pick several"))
        return left, super().status()[1]

    def panes(self) -> Sequence[QWidget]:
        if self.live is not None and self.is_live:
            return [self.live.pause_button, self.live.view]
        return [self.panel.filter.since, self.panel.strip, self.panel.tree]

    # --- what is written meanwhile

    def on_show(self) -> Sequence[OnShow]:
        found: dict[str, dict[Value, bytes | None]] = {}
        if self.is_live:
            return ()
        for row in self.panel.rows[:WATCHED]:
            found.setdefault(row.ns, {})[row.id] = None
        return [(ns, ids, LARGE) for ns, ids in found.items()]

    def shows(self, item: News) -> bool:
        outcome = item.outcome
        here = self.ns in ("", outcome.ns, outcome.ns.partition(".")[0]) and self.id in (None, outcome.id)
        if not (item.moved and here):
            return False
        if outcome.id is None:
            self._whole = True
        else:
            self._written.add((outcome.ns, outcome.id))
        return True

    def follow(self) -> None:
        written, self._written = self._written, set()
        whole, self._whole = self._whole, False
        if whole:
            self.panel.refresh()
        else:
            self.panel.follow(written)

    def leave(self) -> None:
        self.panel.stop()
        if self.live is not None:
            self.live.rest()

    def writes_changed(self) -> None:
        self.panel.say_writable()

    def databases_changed(self) -> None:
        if not self.ns:
            self.layout_changed()

    def layout_changed(self) -> None:
        self.panel.refresh()
        if self.live is not None:
            self.live.restart()

    # --- actions

    def do_refresh(self) -> None:
        if self.live is not None and self.is_live:
            self.live.show_newest()
        else:
            self.panel.refresh()

    def handlers(self) -> Handlers:
        return {
            **super().handlers(),
            "compare": self.do_compare,
            "find": self.do_find,
            "history": self.do_history,
            "copy-id": self.do_copy_id,
        }

    def do_compare(self) -> None:
        if self.live is not None and self.is_live:
            self.live.open()
        else:
            self.panel.compare()

    def do_find(self) -> None:
        self.show_past()
        self.panel.filter.since.setFocus()
        self.panel.filter.since.selectAll()

    def do_history(self) -> None:
        self.asked.emit(PageRequest("collection", self.ns, self.id, CollectionStart(pane="history")))

    def do_copy_id(self) -> None:
        if self.id is not None:
            copying.put(wording.copied(self.id))
            messages.copied(self, tr("The id is copied"))
