"""The pages of the repair centre: findings with their plan, findings over time, and taking changes back."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.actions import Handlers
from gui.language import tr
from gui.pages.base import OnShow, Page
from gui.pages.page_request import PageRequest, TakingBackStart
from gui.style import boxes, states, wording
from gui.views.repair.health_panel import HealthPanel
from gui.views.repair.plan_kind import TAKING_BACK
from gui.views.repair.repair_panel import RepairPanel
from gui.views.repair.taking_back_panel import TakingBackPanel
from model.foundation.news import News
from model.session import Session
from model.session.guarded_writing import Conflict
from model.values.canonical import Value

WATCHED = 100  # documents that are checked for other programs' writes
LARGE = 2**20  # bytes, given as their size so that they are compared by version and token


class _PlacePage(Page):
    words = ""

    @property
    def title(self) -> str:
        what = self.ns or wording.source(self.session.name)
        return f"{self.words}: {what if self.id is None else wording.plain(self.id)}"

    @property
    def tip(self) -> str:
        return tr(
            "{words} in {ns} of {name}",
            words=self.words,
            ns=self.ns or tr("all databases"),
            name=wording.source(self.session.name),
        )


class RepairPage(_PlacePage):
    """Damage in a database (or all, one collection, one document), and its repair."""

    kind = "repair"
    icon = "wrench"
    words = tr("Repairs")

    def __init__(
        self, session: Session, place: str = "", id: Value | None = None, production: bool = False,
        parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(session, place, id, parent)
        ids = [id] if id is not None else None
        asks = id is None and not session.is_local and (production or not session.is_near)
        self.panel = RepairPanel(session, [place] if place else [], ids, production, parent=self, asks=asks)
        self._put(self.panel)
        self.panel.place_changed.connect(self._moved)
        self.panel.closed.connect(self.closed)
        self.panel.changed.connect(self.changed)
        self.panel.pane.health_asked.connect(self.do_health)

    def status(self) -> tuple[list[str], list[str]]:
        left = [
            self.ns or wording.source(self.session.name, first=True),
            tr("No transaction is needed: each item is one guarded write"),
            tr("Every repair is kept in the journal"),
        ]
        return left, super().status()[1]

    @property
    def explained(self) -> Sequence[QWidget]:
        return (self.panel.preview,)

    def panes(self) -> Sequence[QWidget]:
        return [self.panel.pane.tree, self.panel.list, self.panel.preview]

    def put_switch(self, switch: QWidget) -> None:
        line = boxes.row(x=16, y=6)
        line.addWidget(switch)
        line.addStretch(1)
        column = self.layout()
        assert isinstance(column, QVBoxLayout)
        column.insertLayout(0, line)
        column.insertWidget(1, states.hair())

    @property
    def busy(self) -> bool:
        """Also while there are findings: another scan would be needed to see them again."""
        return self.panel.busy or self.panel.scanner.running or self.panel.plan is not None

    @property
    def waiting(self) -> int:
        return self.panel.pane.total

    def writes_changed(self) -> None:
        self.panel.say_writable()

    def answering_changed(self) -> None:
        self.panel.say_answering(self.answers)

    def leave(self) -> None:
        self.panel.scanner.stop()

    def after_silence(self) -> None:
        if self.panel.plan is None:
            self.do_refresh()
        else:
            self.panel.dry_run()  # not another scan, for which nobody asked: ticks, answers and the report stay

    def do_refresh(self) -> None:
        if self.panel.consent is None and not self.panel.scanner.running and not self.panel.busy:
            self.panel.scan()

    def _moved(self) -> None:
        self.ns = self.panel.place
        self.changed.emit()

    def _heard(self, item: News) -> None:
        ns = item.outcome.ns
        here = self.ns in ("", ns, ns.partition(".")[0]) and self.id in (None, item.outcome.id)
        if item.data == self.session.data and item.moved and here:
            self.panel.follow(ns, item.outcome.id)

    def handlers(self) -> Handlers:
        return {**super().handlers(), "health": self.do_health}

    def do_health(self) -> None:
        """Show the findings of this place over time."""
        self.asked.emit(PageRequest("health", self.ns, self.id))


class HealthPage(_PlacePage):
    """The findings in a database (or all, one collection, one document) over the scans made from this computer."""

    kind = "health"
    icon = "chart-bar"
    words = tr("Health")

    def __init__(
        self, session: Session, place: str = "", id: Value | None = None, production: bool = False,
        parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(session, place, id, parent)
        asks = id is None and not session.is_local and (production or not session.is_near)
        self.panel = HealthPanel(session, place, [id] if id is not None else None, production, self, asks)
        self._put(self.panel)
        self.panel.place_changed.connect(self._moved)
        self.panel.repairs_asked.connect(self._repairs)

    @property
    def tip(self) -> str:
        return tr(
            "Findings over time in {ns} of {name}",
            ns=self.ns or tr("all databases"),
            name=wording.source(self.session.name),
        )

    def status(self) -> tuple[list[str], list[str]]:
        return [self.tip], super().status()[1]

    def panes(self) -> Sequence[QWidget]:
        return [self.panel.class_list, self.panel.scan_list]

    def answering_changed(self) -> None:
        self.panel.say_answering(self.answers)

    def leave(self) -> None:
        self.panel.leave()

    def do_refresh(self) -> None:
        self.panel.refresh()

    def _moved(self) -> None:
        self.ns = self.panel.place
        self.changed.emit()

    def _repairs(self) -> None:
        self.asked.emit(PageRequest("repair", self.ns, self.id))


class TakingBackPage(Page):
    """A plan over documents of one collection, such as changes taken back, or one change in all of them."""

    kind = "taking-back"
    icon = "arrow-counter-clockwise"

    def __init__(
        self, session: Session, ns: str, start: TakingBackStart, production: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, ns, parent=parent)
        self._start = start
        self._written: set[Value] = set()
        self._kind = start.kind or TAKING_BACK
        self.panel = TakingBackPanel(session, ns, start.chosen, production, self, self._kind)
        self._put(self.panel)
        self.panel.closed.connect(self.closed)
        self.panel.changed.connect(self.changed)
        self.panel.conflict_found.connect(self._decide)

    def _decide(self, id: Value, conflict: Conflict) -> None:
        self.asked.emit(PageRequest("merge", self.ns, id, conflict))

    def answer(self, request: PageRequest, again: bool) -> None:
        same = isinstance(request.start, TakingBackStart) and request.start.kind is self._start.kind
        if again and same and isinstance(request.start, TakingBackStart) and not self.panel.busy:
            self._start = request.start
            self.panel.put(request.start.chosen)

    def memory(self) -> PageRequest:
        return replace(super().memory(), start=self._start)

    @property
    def title(self) -> str:
        return f"{self._kind.title}: {self.ns.partition('.')[2]}"

    @property
    def tip(self) -> str:
        return self._kind.place(self.ns, wording.source(self.session.name))

    def status(self) -> tuple[list[str], list[str]]:
        left = [
            self.ns,
            tr("No transaction is needed: each document is one guarded write"),
            tr("The whole run is kept in the journal"),
        ]
        return left, super().status()[1]

    def panes(self) -> Sequence[QWidget]:
        return [self.panel.list, self.panel.table]

    def on_show(self) -> Sequence[OnShow]:
        waiting: dict[Value, bytes | None] = {
            row.id: None for row in self.panel.model.rows[:WATCHED] if row.id not in self.panel.model.ends
        }
        return [(self.ns, waiting, LARGE)]

    def shows(self, item: News) -> bool:
        here = item.moved and item.outcome.ns == self.ns and item.outcome.id is not None
        if here and item.outcome.id is not None:
            self._written.add(item.outcome.id)
        return here

    def follow(self) -> None:
        written, self._written = self._written, set()
        self.panel.follow(written)

    def after_silence(self) -> None:
        self.do_refresh()

    def writes_changed(self) -> None:
        self.panel.say_writable()

    def answering_changed(self) -> None:
        self.panel.say_answering(self.answers)

    def do_refresh(self) -> None:
        if not self.panel.model.ends:
            self.panel.dry_run()
