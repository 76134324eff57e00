"""The pages of a whole connection: pending tokens, the journal, drafts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QWidget

from gui import messages, tasks
from gui.language import tr
from gui.pages.base import Page
from gui.pages.page_request import PageRequest
from gui.style import wording
from gui.subscriptions import DraftNews
from gui.views.tools.check_panel import CheckPanel
from gui.views.tools.drafts_panel import DraftsPanel
from gui.views.tools.journal_panel import JournalPanel
from gui.views.tools.migrate_panel import MigratePanel
from gui.views.tools.pending_panel import PendingPanel
from model import text
from model.errors import Refused
from model.foundation.news import News
from model.foundation.records import Draft, Entry
from model.session import Session
from model.session.guarded_writing import Conflict


class _ToolPage(Page):
    words = ""

    @property
    def title(self) -> str:
        return self.words

    @property
    def tip(self) -> str:
        return tr("{words} of {name}", words=self.words, name=wording.source(self.session.name))

    def status(self) -> tuple[list[str], list[str]]:
        return [self.tip], super().status()[1]

    def panes(self) -> Sequence[QWidget]:
        return [self.focusProxy() or self]

    def answer(self, request: PageRequest, again: bool) -> None:
        if again:
            self.do_refresh()


class PendingPage(_ToolPage):
    """Tokens between step one and step two of a counter."""

    kind = "pending"
    icon = "hourglass"
    words = tr("Pending tokens")

    def __init__(self, session: Session, ns: str = "", production: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, parent=parent)
        self._written: set[str] = set()  # collections that were written and not read since
        self.panel = PendingPanel(session, ns or None, self)
        self.panel.set_production(production)
        self._put(self.panel)
        self.panel.closed.connect(self.closed)

    @property
    def busy(self) -> bool:
        """Also while it says how each token ended."""
        return self.panel.busy or bool(self.panel.model.ends)

    def shows(self, item: News) -> bool:
        here = item.moved and not self.panel.busy and self.ns in ("", item.outcome.ns)
        if here:
            self._written.add(item.outcome.ns)
        return here

    def follow(self) -> None:
        """Look for tokens again if a collection of counters was written; that reads all such collections."""
        session, written, self._written = self.session, self._written, set()
        tasks.run(
            lambda _: any(session.catalogue.info(ns).counts == "tokens" for ns in written),
            done=self._know,
            failed=self._not_known,
            owner=self,
        )

    def after_silence(self) -> None:
        if not self.panel.model.ends:  # else people could no longer read how each token ended
            self.panel.refresh()

    def databases_changed(self) -> None:
        if not self.ns and not self.panel.busy:
            self.panel.refresh()

    def _know(self, counters: bool) -> None:
        if counters:
            self.panel.follow()

    def _not_known(self, error: BaseException) -> None:
        self.panel.follow()  # it says why nothing can be read

    def writes_changed(self) -> None:
        self.panel.say_writable()

    def answering_changed(self) -> None:
        self.panel.say_answering(self.answers)

    def do_refresh(self) -> None:
        self.panel.refresh()


class JournalPage(_ToolPage):
    """The writes made from this computer, each with its undo."""

    kind = "journal"
    icon = "notebook"
    words = tr("Journal")

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent=parent)
        self.panel = JournalPanel(session, self)
        self._put(self.panel)
        self.panel.conflict_found.connect(self._conflict)

    def _conflict(self, entry: Entry, conflict: Conflict) -> None:
        try:
            id = text.value_from_text(entry.document)
        except Refused:
            return
        self.asked.emit(PageRequest("merge", entry.ns, id, conflict, "instead"))

    def writes_changed(self) -> None:
        self.panel.say_writable()

    def answering_changed(self) -> None:
        self.panel.say_answering(self.answers)

    def do_refresh(self) -> None:
        self.panel.refresh()

    def pulse_of(self, session: Session) -> Callable[[], object] | None:
        return session.journal.pulse if session is self.session else None

    def shows(self, item: News) -> bool:
        return item.outcome.entry is not None


class DraftsPage(_ToolPage):
    """Edits that are not saved yet."""

    kind = "drafts"
    icon = "note-pencil"
    words = tr("Drafts")

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent=parent)
        self.panel = DraftsPanel(session, self)
        self._put(self.panel)
        self.panel.open_asked.connect(self._open)

    def _open(self, draft: Draft) -> None:
        if draft.source != self.session.source:
            messages.note(
                self,
                tr("This draft belongs to {source}. Connect to it, then open the draft again.", source=draft.source),
            )
            return
        self.asked.emit(PageRequest("document", draft.ns, draft.id, draft))

    def do_refresh(self) -> None:
        self.panel.refresh()

    def draft_changed(self, item: DraftNews) -> None:
        self.panel.refresh()


class CheckPage(_ToolPage):
    """The guarantees of the server."""

    kind = "check"
    icon = "hard-drives"
    words = tr("Server check")

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent=parent)
        self.panel = CheckPanel(session, self)
        self._put(self.panel)
        self.panel.measured.connect(self.changed)

    def writes_changed(self) -> None:
        self.panel.say_writable()

    def answering_changed(self) -> None:
        self.panel.say_answering(self.answers)

    def after_silence(self) -> None:
        pass  # measuring writes to the server, so only a person starts it

    def do_refresh(self) -> None:
        self.panel.refresh()


class MigratePage(_ToolPage):
    """Moving a collection to another layout."""

    kind = "migrate"
    icon = "swap"

    def __init__(self, session: Session, ns: str, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, parent=parent)
        self.panel = MigratePanel(session, ns, self)
        self._put(self.panel)

    @property
    def title(self) -> str:
        return tr("Move: {ns}", ns=self.ns.partition(".")[2])

    @property
    def tip(self) -> str:
        return tr("Moving {ns} of {name} to another layout", ns=self.ns, name=wording.source(self.session.name))

    def leave(self) -> None:
        self.panel.stop()  # copying again continues where this one stopped

    def writes_changed(self) -> None:
        self.panel.say_writable()

    def answering_changed(self) -> None:
        self.panel.say_answering(self.answers)
