"""The five things to try: each opens the sample at the right place and says what to do there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gui import messages, tasks
from gui.pages.document_pages import DocumentPage
from gui.pages.page_request import CollectionStart, PageRequest
from gui.style import wording
from gui.window.workspace import Workspace
from model.session import Session, things
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.session import Thing

HINTS = {
    "compare": "Pick any two versions on the timeline: a click sets B, a click with Shift sets A. "
    "Ctrl+Up and Ctrl+Down go through the changes.",
    "map": "Full ink is in force now, pale ink was overwritten since; hatched columns are versions that are not kept. "
    "The arrow keys move the cell, Enter compares, Ctrl+Shift+B lists who set what.",
    "race": "While you read this, a colleague has changed the document. Change any field and save with Ctrl+S.",
    "restore": "A is the old version. Restore a single field from its menu in the comparison, or more with "
    "Restore from A…; Undo brings back what was.",
    "repair": "Choose a class at the left. Every item shows what its repair would write, and each can be taken back.",
}


@dataclass(frozen=True)
class _Found:
    thing: Thing
    id: Value | None
    versions: tuple[Value, ...]


class SampleGuide(QObject):
    """Leads to a thing's place in the window."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace

    def first(self, session: Session) -> None:
        """Open the first thing's document, when the sample is opened for the first time."""
        self._find(session, things()[0], say=False)

    def begin(self, session: Session, thing: Thing) -> None:
        """Go to a thing's place."""
        if thing.action == "repair":
            self._workspace.open(session, PageRequest("repair", thing.ns))
            messages.hint(self._workspace, HINTS["repair"])
            return
        self._workspace.show_work()
        self._find(session, thing, say=True)

    def _find(self, session: Session, thing: Thing, say: bool) -> None:
        def work(_: tasks.Progress) -> _Found:
            id = session.find_id(thing.ns, thing.id)
            return _Found(thing, id, tuple(session.find_version(thing.ns, id, str(v)) for v in thing.versions))

        tasks.run(
            work,
            done=partial(self._go, session, say),
            failed=self._failed,
            owner=self,
            key="thing",
            title=f"Opening {thing.id}",
        )

    def _go(self, session: Session, say: bool, place: _Found) -> None:
        thing = place.thing
        if place.id is None:
            return
        if thing.action == "race":
            page = self._workspace.open(session, PageRequest("document", thing.ns, place.id))
            if isinstance(page, DocumentPage):
                self._race(page, place.id)
            return
        if thing.action == "map":
            self._workspace.open(session, PageRequest("map", thing.ns, place.id))
            messages.hint(self._workspace, HINTS["map"])
            return
        a = place.versions[0] if place.versions else None
        b = place.versions[1] if len(place.versions) > 1 else None
        self._workspace.open(session, PageRequest("collection", thing.ns, place.id, CollectionStart(a=a, b=b)))
        if say:
            messages.hint(self._workspace, HINTS[thing.action])

    def _race(self, page: DocumentPage, id: Value) -> None:
        session, ns = page.session, page.ns
        if page.editor.is_loaded:
            self._overtake(session, ns, id)
            return

        # The editor has to begin from the version before the colleague came.
        def loaded(_: object) -> None:
            page.editor.loaded.disconnect(loaded)
            self._overtake(session, ns, id)

        page.editor.loaded.connect(loaded)

    def _overtake(self, session: Session, ns: str, id: Value) -> None:
        tasks.run(
            lambda _: session.colleague(ns, id),
            done=self._overtaken,
            failed=self._failed,
            owner=self,
            title=f"Editing {wording.plain(id)} as a colleague",
        )

    def _overtaken(self, _: object) -> None:
        messages.hint(self._workspace, HINTS["race"])

    def _failed(self, error: BaseException) -> None:
        messages.fail(self._workspace, error)
