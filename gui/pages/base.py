"""The base of all pages. A page composes panels and wires their signals; panels never know of each other."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gui.pages.page_request import PageRequest
from gui.style import boxes, preferences, wording
from model.records import Draft, Outcome
from model.session import Session
from model.values.canonical import Value


class Page(QWidget):
    """Base of the pages. ``do_…`` methods are what the actions' table names.

    It calls down to ``dirty`` and ``do_refresh`` alone, in :meth:`after_silence`.
    """

    changed = Signal()  # title, unsaved, facts or status are others now
    asked = Signal(object)  # PageRequest
    written = Signal(object)  # Outcome
    discarded = Signal(object)  # Draft
    closed = Signal()
    layout_asked = Signal()  # what the collection is taken for, and how else it could be read

    kind = ""
    wants_rail = False
    icon = ""

    def __init__(self, session: Session, ns: str = "", id: Value | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session, self.ns, self.id = session, ns, id
        boxes.ground(self, "surface")

    def _put(self, panel: QWidget) -> None:
        """Fill the page with a panel, which takes the focus for it."""
        boxes.column(self).addWidget(panel)
        self.setFocusProxy(panel)

    @property
    def title(self) -> str:
        """The tab's words."""
        return self.ns.partition(".")[2]

    @property
    def tip(self) -> str:
        """The tab's tooltip."""
        return self.ns if self.id is None else f"{self.ns} / {wording.plain(self.id)}"

    @property
    def dirty(self) -> bool:
        """Whether something is not saved."""
        return False

    @property
    def waiting(self) -> int:
        """How much is left to be done here, for the count in the sidebar."""
        return 0

    def facts(self) -> set[str]:
        """The facts that hold here, for the actions' table."""
        return {"page"}

    def reasons(self) -> dict[str, str]:
        """Why a fact is not the case, one sentence each."""
        return {}

    def status(self) -> tuple[list[str], list[str], bool]:
        """Words for the left and the right of the status line, and whether tasks are shown there."""
        return [], [preferences.zone()], True

    def panes(self) -> Sequence[QWidget]:
        """The widgets that F6 goes through, in order."""
        return [self]

    def answer(self, request: PageRequest, again: bool) -> None:
        """The page is in front because it was asked for, ``again`` where it was open before."""

    def do_refresh(self) -> None:
        """Read again."""

    def after_write(self, outcome: Outcome) -> None:
        """Something was written through another page of the same connection."""

    def after_discard(self, draft: Draft) -> None:
        """A draft was discarded through another page of the same connection."""

    def after_silence(self) -> None:
        """Read anew, as the server answers again and documents may have changed meanwhile."""
        if not self.dirty:
            self.do_refresh()

    def layout_changed(self) -> None:
        """The collection is read by another layout now."""

    def writes_changed(self) -> None:
        """Offer the actions that fit, as writing was allowed, or is not any more."""

    def leave(self) -> None:
        """Keep unsaved work, as the tab closes."""

    def memory(self) -> PageRequest:
        """The request that opens this page again in a later run."""
        return PageRequest(self.kind, self.ns, self.id)
