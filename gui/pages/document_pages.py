"""The pages of one document: its editor, and the merge after somebody else saved first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QShortcut
from PySide6.QtWidgets import QWidget

from gui import copying, messages, tasks
from gui.actions import Handlers
from gui.language import tr
from gui.pages.base import OnShow, Page
from gui.pages.document_writes import DocumentWrites
from gui.pages.history_export import HistoryExport
from gui.pages.page_request import CollectionStart, FieldStart, PageRequest, TakenStart
from gui.parts.values.pane_room import PaneRoom
from gui.parts.values.value_pane import ValuePane
from gui.style import boxes, preferences, wording
from gui.style.layout_words import layout_sentence
from gui.subscriptions import DraftNews
from gui.views.browse.query import Query
from gui.views.edit.editor_panel import EditorPanel
from gui.views.merge.conflict_prompt import ConflictPrompt
from gui.views.merge.resolver_panel import ResolverPanel
from model import text
from model.foundation.news import News
from model.foundation.records import CollectionInfo, Draft, Opened, Outcome
from model.session import Session
from model.session.guarded_writing import Conflict
from model.values.canonical import Path, Value


def hand_over_keys(panel: QWidget, kept: Sequence[str] = ()) -> None:
    """Silence a panel's own shortcuts: the window's actions use these keys, and two owners would silence both."""
    for shortcut in panel.findChildren(QShortcut, options=Qt.FindChildOption.FindDirectChildrenOnly):
        if shortcut.key().toString() not in kept:
            shortcut.setEnabled(False)


def _what_is_left(ns: str, id: Value) -> PageRequest:
    """The request for the history of a deleted document, in the list of those that were deleted."""
    return PageRequest("collection", ns, id, CollectionStart(Query(deleted=True), pane="history"))


class DocumentPage(Page):
    """A document in the editor. A failed swap leads to the prompt, and from there to a merge."""

    kind = "document"
    icon = "file-text"

    def __init__(
        self,
        session: Session,
        ns: str,
        id: Value,
        draft: Draft | None = None,
        production: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(session, ns, id, parent)
        self._id: Value = id
        self._opened: Opened | None = None
        self._belongs_to = ""
        self._value_at: Path = ()
        self.layout_words = ""
        self.prompt: ConflictPrompt | None = None
        self._split = boxes.split()
        self._split.setHandleWidth(1)
        boxes.column(self).addWidget(self._split)
        self.editor = EditorPanel(session, ns, id, draft, self._split)
        hand_over_keys(self.editor, kept=("Ctrl+B", "Ctrl+L"))
        self.writes = DocumentWrites(session, ns, self, production)
        self.histories = HistoryExport(session, ns, self)
        self.value = ValuePane(self._split)
        self.value.hide()
        self.value.closed.connect(self._hide_value)
        self._split.setStretchFactor(0, 3)
        self._split.setStretchFactor(1, 1)
        PaneRoom(self._split, self.value)
        self.setFocusProxy(self.editor)
        self.editor.dirty_changed.connect(self._touched)
        self.editor.loaded.connect(self._loaded)
        self.editor.saved.connect(self._saved)
        self.editor.conflict_found.connect(self.ask_conflict)
        self.editor.history_asked.connect(self.do_history)
        self.editor.compare_asked.connect(self.do_compare)
        self.editor.layout_asked.connect(self.layout_asked)
        self.editor.whole_asked.connect(self._show_value)
        self.editor.menus.field_asked.connect(self._show_field)
        self.editor.menus.find_asked.connect(self._find_when)
        self.editor.shown.connect(self._value_again)
        self.writes.merge_asked.connect(self._merge)
        tasks.run(lambda _: session.catalogue.info(ns), done=self._info_known, failed=self._info_unknown, owner=self)

    # --- between panels

    def answer(self, request: PageRequest, again: bool) -> None:
        if isinstance(request.start, TakenStart):
            self.editor.take_over(request.start.source, request.start.path, request.start.name)
        elif isinstance(request.start, FieldStart):
            self.editor.begin_at(request.start.path)

    def _info_known(self, info: CollectionInfo) -> None:
        self.layout_words = layout_sentence(info).partition(":")[0]
        self._belongs_to = info.belongs_to or ""
        self.changed.emit()

    def _info_unknown(self, error: BaseException) -> None:
        pass  # the editor says why the collection cannot be read

    def _touched(self, *_: object) -> None:
        self.changed.emit()

    def _loaded(self, opened: Opened) -> None:
        self._opened = opened
        self.changed.emit()

    def _saved(self, outcome: Outcome) -> None:
        self.writes.ended(outcome)
        self.changed.emit()
        if outcome.id is not None and outcome.id != self._id:
            self.asked.emit(PageRequest("document", self.ns, outcome.id))

    def ask_conflict(self, conflict: Conflict) -> None:
        """Say that somebody else saved first, and ask what to do."""
        if self.prompt is not None:
            return
        self.prompt = ConflictPrompt(self, conflict, self.ns, self._id)
        self.prompt.chosen.connect(partial(self._conflict_answered, conflict))
        self.prompt.open()

    def _conflict_answered(self, conflict: Conflict, choice: str) -> None:
        self.prompt = None
        if choice == "review":
            self.editor.keep_now()
            self._merge(self._id, conflict)
        elif choice == "history":
            self.editor.keep_now()
            self.asked.emit(_what_is_left(self.ns, self._id))
        elif choice != "cancel":
            self.editor.act_on(conflict, choice)

    def _show_value(self, value: Value, path: Path) -> None:
        if self.value.isVisible():
            self._hide_value()
            return
        self._value_at = path
        self.value.show_value(text.path_text(path), value)
        self.value.show()

    def _value_again(self) -> None:
        """Show the open value as it is now; nothing if its field is gone."""
        if self.value.isHidden():
            return
        node = self.editor.model.node(self.editor.model.find(self._value_at))
        if node is not None:
            self.value.show_value(text.path_text(self._value_at), node.value)
        elif self.value.isAncestorOf(self.window().focusWidget() or self.window()):
            self._hide_value()
        else:
            self.value.hide()

    def _hide_value(self) -> None:
        self.value.hide()
        self.editor.setFocus()

    # --- requests from the window

    @property
    def title(self) -> str:
        return wording.plain(self._id)

    @property
    def dirty(self) -> bool:
        return self.editor.is_dirty

    def facts(self) -> set[str]:
        facts = {"page", "document", "find", "find-next", "replace", "undo", "redo"}
        if self.editor.is_loaded:
            facts.add("readable")
        if self.editor.is_dirty:
            facts.add("dirty")
        if not self.session.trust.read_only:
            facts.add("writable")
        if self.session.is_sample:
            facts.add("sample")
        return facts

    def reasons(self) -> dict[str, str]:
        said = {"dirty": tr("Nothing is changed")}
        if self.session.trust.read_only:
            said["writable"] = tr("{name} is open read-only", name=wording.source(self.session.name, first=True))
        return said

    def status(self) -> tuple[list[str], list[str]]:
        left = [f"{self.ns} / {wording.plain(self._id)}"]
        opened = self._opened
        if opened is not None and opened.document:
            # The stored document, with the history that some layouts keep inside; the tree shows it without.
            left.append(wording.size(len(opened.base.raw or opened.document)))
        if self.layout_words:
            left.append(self.layout_words)
        zone = preferences.zone()
        return (
            left,
            [tr("Dates shown in {zone}, stored in UTC", zone=zone) if zone != "UTC" else tr("Dates shown in UTC")],
        )

    def panes(self) -> Sequence[QWidget]:
        return [self.editor.tree, self.editor.side, self.editor.foot.save]

    def on_show(self) -> Sequence[OnShow]:
        opened = self._opened
        if opened is None:
            return ()
        # Otherwise the tree shows a part of what is stored, or content made from several documents.
        stored = opened.document if opened.document == opened.base.raw else None
        return [(self.ns, {self._id: stored}, len(opened.document))]

    def shows(self, item: News) -> bool:
        archived = bool(self._belongs_to) and item.outcome.ns == self._belongs_to
        return item.moved and (archived or self.writes_to(item.outcome, self.ns))

    def follow(self) -> None:
        self.editor.follow()

    def answering_changed(self) -> None:
        self.editor.say_answering(self.answers)

    def writes_changed(self) -> None:
        self.editor.say_writable()

    def draft_changed(self, item: DraftNews) -> None:
        if item.discarded and (item.source, item.ns, item.id) == (self.session.source, self.ns, self._id):
            self.editor.discard()

    def leave(self) -> None:
        self.editor.keep_now()

    # --- actions

    def do_refresh(self) -> None:
        self.editor.reload()

    def handlers(self) -> Handlers:
        return {
            **super().handlers(),
            "save": self.do_save,
            "discard": self.editor.foot.discard.click,
            "undo": self.editor.undo,
            "redo": self.editor.redo,
            "find": self.editor.focus_find,
            "replace": self.do_replace,
            "find-next": self.editor.find_next,
            "find-previous": self.editor.find_previous,
            "history": self.do_history,
            "compare": self.do_compare,
            "copy-id": self.do_copy_id,
            "copy-document": self.do_copy_document,
            "export-document-history": partial(self.histories.ask, self._id),
            "duplicate": partial(self.writes.duplicate, self._id),
            "delete": self.do_delete,
            "purge": partial(self.writes.purge, self._id),
            "erase": partial(self.writes.erase, self._id),
            "colleague": self.do_colleague,
        }

    def do_save(self) -> None:
        self.editor.save()

    def do_replace(self) -> None:
        self.editor.focus_replace()

    def do_history(self) -> None:
        self.asked.emit(PageRequest("collection", self.ns, self._id, CollectionStart(pane="history")))

    def do_compare(self) -> None:
        self.asked.emit(PageRequest("collection", self.ns, self._id, CollectionStart(pane="compare")))

    def do_copy_id(self) -> None:
        copying.put(wording.copied(self._id))
        messages.copied(self, tr("The id is copied"))

    def do_copy_document(self) -> None:
        if self._opened is not None:
            raw, name = self._opened.document, wording.plain(self._id)
            copying.copy(
                self, len(raw), lambda: text.to_text(raw, 2), tr("{name} is copied as Extended JSON", name=name)
            )

    def do_delete(self) -> None:
        self.writes.delete(self._id)

    def do_colleague(self) -> None:
        self.writes.colleague(self._id)


class MergePage(Page):
    """An edit and the database's version, merged field by field."""

    kind = "merge"
    icon = "git-merge"

    def __init__(self, session: Session, ns: str, id: Value, conflict: Conflict, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, id, parent)
        self._id: Value = id
        self.resolver = ResolverPanel(session, ns, id, conflict, self)
        self.writes = DocumentWrites(session, ns, self)
        self._put(self.resolver)
        hand_over_keys(self.resolver)
        self.resolver.saved.connect(self._saved)
        self.resolver.changed.connect(self.changed)
        self.resolver.moved.connect(self._moved)
        self.resolver.discarded.connect(self._back_to_the_editor)

    def _saved(self, outcome: Outcome) -> None:
        place = self.resolver.place
        self.writes.ended(outcome)
        self._back_to_the_editor(place)

    def _moved(self, conflict: Conflict) -> None:
        """Say that the document was deleted, or already has my edit; the panel merges any other change by itself."""
        prompt = ConflictPrompt(self, conflict, self.ns, self._id)
        prompt.chosen.connect(partial(self._answered, conflict))
        prompt.open()

    def _answered(self, conflict: Conflict, choice: str) -> None:
        if choice == "history":
            self.asked.emit(_what_is_left(self.ns, self._id))
        else:
            self.resolver.act_on(conflict, choice)

    def _back_to_the_editor(self, place: Path = ()) -> None:
        start = FieldStart(place) if place else None
        self.asked.emit(PageRequest("document", self.ns, self._id, start, "instead"))

    @property
    def title(self) -> str:
        return tr("Merge: {id}", id=wording.plain(self._id))

    @property
    def dirty(self) -> bool:
        return True

    def facts(self) -> set[str]:
        return {"page", "merge", "undo", "redo", "dirty"}

    def status(self) -> tuple[list[str], list[str]]:
        left = [
            f"{self.ns} / {wording.plain(self._id)}",
            self.resolver.draft.said,
            tr("Ctrl+PgUp and Ctrl+PgDown: previous and next conflict"),
            tr("Shift with Ctrl+1, 2, 3: all unresolved"),
        ]
        return left, super().status()[1]

    def panes(self) -> Sequence[QWidget]:
        return [self.resolver.table, self.resolver.tree, self.resolver.head.save]

    def leave(self) -> None:
        self.resolver.draft.flush()

    def on_show(self) -> Sequence[OnShow]:
        return [(self.ns, {self._id: None}, len(self.resolver.resolution.theirs))]

    def shows(self, item: News) -> bool:
        return item.moved and self.writes_to(item.outcome, self.ns)

    def follow(self) -> None:
        self.resolver.follow()

    def answering_changed(self) -> None:
        self.resolver.say_answering(self.answers)

    def writes_changed(self) -> None:
        self.resolver.say_writable()

    def memory(self) -> PageRequest:
        # The draft survives: it opens in the editor, and meets the conflict again on saving.
        return PageRequest("document", self.ns, self._id)

    # --- actions

    def do_refresh(self) -> None:
        self.resolver.look_again()

    def handlers(self) -> Handlers:
        return {
            **super().handlers(),
            "save": self.do_save,
            "undo": self.resolver.undo,
            "redo": self.resolver.redo,
            "next-conflict": self.resolver.next_conflict,
            "previous-conflict": self.resolver.previous_conflict,
            "take-opened": partial(self.resolver.choose_current, "base"),
            "take-mine": partial(self.resolver.choose_current, "mine"),
            "take-database": partial(self.resolver.choose_current, "theirs"),
            "take-opened-all": partial(self.resolver.choose_all, "base"),
            "take-mine-all": partial(self.resolver.choose_all, "mine"),
            "take-database-all": partial(self.resolver.choose_all, "theirs"),
            "discard": self.resolver.head.discard.click,
        }

    def do_save(self) -> None:
        self.resolver.save()
