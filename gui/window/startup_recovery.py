"""What a program that died left behind: edits that were kept, and writes in doubt.

Both are named at the start. Writes in doubt are looked for once their source is open.

A process that died between sending a write and learning its outcome leaves such an entry in the journal. Data in
memory are gone with their process, so only writes to servers are named.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from gui import messages, tasks
from gui.language import tr
from gui.style import preferences, wording
from gui.style.wording import many
from model.foundation import kept_files

if TYPE_CHECKING:
    from gui.messages import MessageLine
    from gui.style.states import Choice
    from model.foundation.records import Draft, Entry, Outcome
    from model.session import Session


LEFT = "left"  # the time at which the last window was closed


class StartupRecovery(QObject):
    """Quiet lines at a window's foot. ``show_asked`` carries a session, ``connect_asked`` a source."""

    show_asked = Signal(object)
    connect_asked = Signal(str)

    def __init__(self, workspace: QWidget) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._lines: dict[str, MessageLine] = {}  # of writes in doubt, by source
        self._edits: dict[str, MessageLine] = {}  # of kept edits

    def look(self) -> None:
        """Name the sources with kept edits and with writes in doubt; called at the start."""
        tasks.run(lambda _: _left(), done=self._found, failed=self._unknown, owner=self, key="start")
        since = preferences.remembered(LEFT, "")
        tasks.run(lambda _: _kept_since(since), done=self._edits_found, failed=self._unknown, owner=self, key="edits")

    def leave(self) -> None:
        """Remember that the program was left in an orderly way: a person knows of the edits kept until now."""
        preferences.remember(LEFT, dt.datetime.now(dt.UTC).isoformat())

    def _edits_found(self, drafts: Sequence[Draft]) -> None:
        for source in dict.fromkeys(draft.source for draft in drafts):
            edits = many(sum(draft.source == source for draft in drafts), "edit was", "edits were")
            line = messages.note(
                self._workspace,
                tr("{edits} kept; open {source} to go on.", edits=edits, source=wording.source(source)),
                [(tr("Open"), partial(self.connect_asked.emit, source))],
            )
            self._edits[source] = line

    def _found(self, entries: Sequence[Entry]) -> None:
        for source in dict.fromkeys(entry.source for entry in entries):
            if source in self._lines:
                continue
            mine = [one for one in entries if one.source == source]
            words = tr(
                "{said}; {how} went to {source}.",
                said=said(mine),
                how=tr("it") if len(mine) == 1 else tr("they"),
                source=source,
            )
            self._say(source, words, [(tr("Connect"), partial(self.connect_asked.emit, source))])

    def _unknown(self, error: BaseException) -> None:
        pass  # the journal itself says why it cannot be read

    def opened(self, session: Session) -> None:
        """Offer to look for a source's writes, because it is now open; its tabs have its kept edits."""
        line = self._edits.pop(session.source, None)
        if line is not None and isValid(line):
            line.leave()
        if session.is_local:
            return
        tasks.run(
            lambda _: [entry for entry in session.journal.unsettled() if entry.source == session.source],
            done=partial(self._can_look, session),
            failed=self._unknown,
            owner=self,
        )

    def _can_look(self, session: Session, entries: Sequence[Entry]) -> None:
        if line := self._lines.pop(session.source, None):
            line.leave()
        if entries:
            again, show = partial(self._look_again, session, entries), partial(self.show_asked.emit, session)
            self._say(session.source, f"{said(entries)}.", [(tr("Look again"), again), (tr("Show"), show)])

    def _say(self, source: str, words: str, choices: Sequence[Choice]) -> None:
        self._lines[source] = line = messages.note(self._workspace, words, choices)
        line.gone.connect(partial(self._gone, source))

    def _gone(self, source: str, line: object) -> None:
        if self._lines.get(source) is line:
            del self._lines[source]

    def _look_again(self, session: Session, entries: Sequence[Entry]) -> None:
        def look(progress: tasks.Progress) -> list[Outcome]:
            found = []
            for done, entry in enumerate(entries):
                progress(done, len(entries))
                found.append(session.way_back.look_again(entry.id))
            return found

        tasks.run(
            look,
            done=partial(self._looked, session),
            failed=partial(messages.fail, self._workspace),
            owner=self,
            title=tr("Looking for writes of unknown outcome"),
        )

    def _looked(self, session: Session, outcomes: Sequence[Outcome]) -> None:
        there = sum(one.kind == "applied" for one in outcomes)
        open_ = sum(one.kind == "unknown" for one in outcomes)
        lost = len(outcomes) - there - open_
        parts = [(there, tr("arrived")), (lost, tr("did not arrive")), (open_, tr("still unknown"))]
        told = ", ".join(f"{number} {words}" for number, words in parts if number)
        show: Choice = (tr("Show"), partial(self.show_asked.emit, session))
        if open_:
            messages.note(
                self._workspace,
                tr("Looked for {writes}: {told}.", writes=many(len(outcomes), "write"), told=told),
                [show],
            )
        else:
            messages.tell(
                self._workspace,
                tr("Looked for {writes}: {told}", writes=many(len(outcomes), "write"), told=told),
                None,
                [show],
            )


def said(entries: Sequence[Entry]) -> str:
    """``2 writes from before have no known outcome``."""
    return tr(
        "{writes} from before {how} no known outcome",
        writes=many(len(entries), "write"),
        how=tr("has") if len(entries) == 1 else tr("have"),
    )


def _kept_since(moment: object) -> list[Draft]:
    """The edits kept since then, an ISO 8601 time; all for anything else."""
    from model.userdata.drafts import Drafts

    try:
        since = kept_files.moment(str(moment))
    except ValueError:
        since = dt.datetime.min.replace(tzinfo=dt.UTC)
    return [draft for draft in Drafts().all() if draft.kept_at > since]


def _left() -> list[Entry]:
    from model.userdata.journal import Journal

    journal = Journal()
    if not journal.path.exists():
        return []
    return [entry for entry in journal.unsettled() if "://" in entry.source]
