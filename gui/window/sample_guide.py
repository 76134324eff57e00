"""The five things to try: each opens the sample at the right place and says what to do there."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import QObject
from shiboken6 import isValid

from gui import messages, tasks
from gui.language import tr
from gui.pages.page_request import CollectionStart, PageRequest
from gui.style import wording
from model import text
from model.session import Session
from model.things_to_try import THINGS, Thing

if TYPE_CHECKING:
    from gui.pages.base import Page
    from gui.pages.document_pages import DocumentPage
    from gui.window.workspace import Workspace
    from model.values.canonical import Path, Value

HINTS = {
    "compare": tr(
        "Pick any two versions on the timeline: a click sets B, a click with Shift sets A. "
        "Ctrl+Up and Ctrl+Down go through the changes."
    ),
    "map": tr(
        "Full colour: the value is in force now. Pale: overwritten since. Hatched columns: versions that are "
        "not kept. The arrow keys move the cell, Enter compares, Ctrl+Shift+B lists who set what."
    ),
    "race": tr(
        "Give {field} another value (type it on the chosen row, then Enter). A colleague sets it to something else "
        "while you type. Save with Ctrl+S all the same: you are asked before anything is lost."
    ),
    "restore": tr(
        "A is the old version. Restore a single field from its menu in the comparison, or more with "
        "Restore from A…; Undo brings back what was."
    ),
    "repair": tr(
        "Choose a class at the left. Every item shows what its repair would write, and each can be taken back."
    ),
}


class _Found(Struct, frozen=True):
    thing: Thing
    id: Value | None
    versions: tuple[Value, ...]


def contested(before: bytes, after: bytes, own: Collection[str]) -> Path:
    """A field that differs, for trying a conflict: a text if there is one, none of a layout's ``own`` fields."""
    from model.diff import Replace, Retype, diff

    changed = [op for op in diff(before, after) if isinstance(op, Replace | Retype) and op.path[0] not in own]
    texts = [op for op in changed if op.new.kind == "String"]
    return next((op.path for op in (*texts, *changed) if not op.new.is_container), ())


class SampleGuide(QObject):
    """Leads to the place of a thing to try."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._hint: messages.MessageLine | None = None
        self._about: Page | None = None
        workspace.current_changed.connect(self._page_in_front)

    def _say(self, words: str) -> None:
        """Say what to do on the current page, for a minute or until another page is in front."""
        self._leave()
        self._about = self._workspace.page
        self._hint = messages.hint(self._workspace, words, (), self._about.explained if self._about is not None else ())
        self._hint.leave_after(messages.FAILED_SECONDS)

    def _leave(self) -> None:
        if self._hint is not None and isValid(self._hint):
            self._hint.leave()
        self._hint = None

    def _page_in_front(self) -> None:
        if self._workspace.page is not self._about:
            self._leave()

    def first(self, session: Session) -> None:
        """Open the first thing's document when the sample is opened for the first time."""
        self._find(session, THINGS[0], say=False)

    def begin(self, session: Session, thing: Thing) -> None:
        """Go to the place of a thing to try."""
        if thing.action == "repair":
            self._workspace.open(session, PageRequest("repair", thing.ns))
            self._say(HINTS["repair"])
            return
        self._workspace.show_work()
        self._find(session, thing, say=True)

    def _find(self, session: Session, thing: Thing, say: bool) -> None:
        def find(_: tasks.Progress) -> _Found:
            id = session.documents.find_id(thing.ns, thing.id)
            return _Found(
                thing, id, tuple(session.catalogue.reading.find_version(thing.ns, id, str(v)) for v in thing.versions)
            )

        tasks.run(
            find,
            done=partial(self._go, session, say),
            failed=partial(messages.fail, self._workspace),
            owner=self,
            key="thing",
            title=tr("Opening {id}", id=thing.id),
        )

    def _go(self, session: Session, say: bool, place: _Found) -> None:
        thing = place.thing
        if place.id is None:
            return
        if thing.action == "race":
            page = self._workspace.open(session, PageRequest("document", thing.ns, place.id))
            from gui.pages.document_pages import DocumentPage

            if isinstance(page, DocumentPage):
                self._race(page, place.id)
            return
        if thing.action == "map":
            self._workspace.open(session, PageRequest("map", thing.ns, place.id))
            self._say(HINTS["map"])
            return
        a = place.versions[0] if place.versions else None
        b = place.versions[1] if len(place.versions) > 1 else None
        is_searching = self._workspace.is_searching
        page = self._workspace.open(session, PageRequest("collection", thing.ns, place.id, CollectionStart(a=a, b=b)))
        if is_searching and not say:
            self._workspace.focus_search()
        if say:
            self._say(HINTS[thing.action])
        else:
            page.sight_asked.emit(page)  # nobody asked for the comparison: the page starts with its list

    def _race(self, page: DocumentPage, id: Value) -> None:
        if page.editor.is_loaded:
            self._look_for_field(page, id)
            return

        def loaded(_: object) -> None:
            page.editor.loaded.disconnect(loaded)
            self._look_for_field(page, id)

        page.editor.loaded.connect(loaded)

    def _look_for_field(self, page: DocumentPage, id: Value) -> None:
        session, ns = page.session, page.ns

        def find_contested(_: tasks.Progress) -> Path:
            from model.values.canonical import EMPTY

            before, after = session.history.version(ns, id).content or EMPTY, session.colleague.content(ns, id)
            return contested(before, after, tuple(session.catalogue.info(ns).fields.values()))

        tasks.run(
            find_contested,
            done=partial(self._lead, page, id),
            failed=partial(messages.fail, self._workspace),
            owner=self,
            key="field",
        )

    def _lead(self, page: DocumentPage, id: Value, path: Path) -> None:
        if page is not self._workspace.page or not path:
            return
        self._say(HINTS["race"].format(field=text.path_text(path)))
        page.editor.show_tree()
        page.editor.reveal(path)
        if page.dirty:
            self._overtake(page, id)
            return

        # A clean editor would follow the colleague at once, and the edit would meet no conflict.
        def typed(dirty: bool) -> None:
            if dirty:
                page.editor.dirty_changed.disconnect(typed)
                self._overtake(page, id)

        page.editor.dirty_changed.connect(typed)

    def _overtake(self, page: DocumentPage, id: Value) -> None:
        session, ns = page.session, page.ns
        tasks.run(
            lambda _: session.colleague.change(ns, id),
            done=_nothing,
            failed=partial(messages.fail, self._workspace),
            owner=self,
            title=tr("Editing {id} as a colleague", id=wording.plain(id)),
        )


def _nothing(_: object) -> None:
    pass
