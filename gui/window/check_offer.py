"""Offers, in the status line, to measure whether a server keeps two writers apart; warns of one that does not."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gui import messages, tasks
from gui.language import tr, translated
from gui.pages.page_request import PageRequest
from gui.style import preferences, wording

if TYPE_CHECKING:
    from gui.window.workspace import Workspace
    from model.foundation.guarantee import Guarantee
    from model.session import Session


class CheckOffer(QObject):
    """Reports the verdict on a connection's server, and opens the check's page; ``changed``: there is a verdict."""

    changed = Signal()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._unmeasured: list[weakref.ref[Session]] = []

    def begin(self, session: Session) -> None:
        """Report the verdict on a server just connected; if there is none, the status line says so."""
        if session.is_local:
            return
        known = session.trust.measured
        if known is not None:
            if known.unsafe:
                self.warn(session)
            return
        if not session.trust.read_only and not preferences.remembered(f"unmeasured/{session.source}", False):
            self._unmeasured.append(weakref.ref(session))
            self.changed.emit()

    def advice(self, session: Session | None) -> str:
        """What the status line says of a connection whose server nobody has measured; "" if there is nothing."""
        known = session is not None and any(each() is session for each in self._unmeasured)
        return tr("Server not measured yet") if known else ""

    def offer(self, session: Session) -> None:
        """Offer to measure a server, because a person asked what is not measured."""
        messages.hint(
            self._workspace,
            tr(
                "Whether {name} keeps two writers apart has not been measured yet. That takes a second, in a "
                "scratch database, {database}, that is dropped afterwards.",
                name=wording.source(session.name),
                database=session.trust.scratch,
            ),
            [(tr("Measure"), partial(self.measure, session)), (tr("Not now"), partial(self._leave, session))],
        )

    def _leave(self, session: Session) -> None:
        preferences.remember(f"unmeasured/{session.source}", True)
        self._forget(session)

    def _forget(self, session: Session) -> None:
        self._unmeasured = [each for each in self._unmeasured if each() is not session]
        self.changed.emit()

    def measure(self, session: Session) -> None:
        """Measure the server with the quick check."""
        self._forget(session)
        tasks.run(
            lambda progress: list(session.trust.check(True, progress)),
            done=partial(self._measured, session),
            failed=partial(messages.fail, self._workspace),
            owner=self,
            key=f"check {session.source}",
            title=tr("Measuring {name}", name=wording.source(session.name)),
        )

    def _measured(self, session: Session, found: list[Guarantee]) -> None:
        if any(each.verdict == "unsafe" for each in found):
            self.warn(session)
        elif doubt := [translated(each.detail) for each in found if each.verdict == "unknown"]:
            messages.note(
                self._workspace,
                tr(
                    "{name} could not be measured. {doubt}",
                    name=wording.source(session.name, first=True),
                    doubt=doubt[0],
                ),
            )
        else:
            messages.tell(
                self._workspace,
                tr(
                    "{name} keeps writers apart: of two that swap, one wins, and its unique indexes hold",
                    name=wording.source(session.name, first=True),
                ),
                None,
                [(tr("All checks"), partial(self.show, session))],
            )
        self.changed.emit()

    def warn(self, session: Session) -> None:
        """Warn that a server is unsafe, and say what that means here."""
        known = session.trust.measured
        if known is None or not known.unsafe:
            return
        details = (tr("Details"), partial(self.show, session))
        if known.allowed:
            text = tr(
                "{name} is unsafe to write to, and editing is allowed here all the same. {unsafe}",
                name=wording.source(session.name, first=True),
                unsafe=translated(known.unsafe[0]),
            )
            messages.note(self._workspace, text, [details, (tr("Refuse editing"), partial(self.allow, session, False))])
            return
        messages.note(
            self._workspace,
            tr(
                "{name} is unsafe to write to, so this is refused: {writes}. {unsafe}",
                name=wording.source(session.name, first=True),
                writes="; ".join(map(translated, known.refused)),
                unsafe=translated(known.unsafe[0]),
            ),
            [details, (tr("Allow editing…"), partial(self.ask, session))],
        )

    def show(self, session: Session) -> None:
        """Open the page with the full check."""
        self._workspace.open(session, PageRequest("check"))

    def ask(self, session: Session) -> None:
        """Ask before editing is allowed on an unsafe server."""
        known = session.trust.measured
        messages.confirm(
            self._workspace,
            tr("Allow editing on {name}?", name=wording.source(session.name)),
            tr(
                "{unsafe} An edit of yours, or of somebody else, can be lost without a word: on this server "
                "the guard of a write does not protect it.",
                unsafe=translated(known.unsafe[0]) if known and known.unsafe else "",
            ).strip(),
            tr("Allow editing"),
            partial(self.allow, session, True),
            danger=True,
            typed=session.name,
        )

    def allow(self, session: Session, allowed: bool) -> None:
        """Override the refusal for this connection, or refuse again."""
        session.trust.allow_unsafe(allowed)
        how = tr("allowed") if allowed else tr("refused")
        messages.tell(self._workspace, tr("Editing on {name} is {how} now", name=wording.source(session.name), how=how))
        for page in self._workspace.tab_area.pages_of(session):
            page.do_refresh()
        self.changed.emit()
