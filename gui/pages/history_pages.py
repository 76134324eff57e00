"""The pages that follow one document through its versions: the change map and the blame."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QAbstractItemModel
from PySide6.QtWidgets import QLineEdit, QWidget

from gui import copying, messages, tasks
from gui.actions import Handlers
from gui.language import tr
from gui.pages.base import OnShow, Page
from gui.pages.document_writes import DocumentWrites
from gui.pages.page_request import CollectionStart, ConditionStart, FieldStart, PageRequest, TakingBackStart
from gui.style import wording
from gui.style.layout_words import layout_sentence
from gui.views.history.bisect_panel import BisectPanel
from gui.views.history.blame_panel import BlamePanel
from gui.views.history.chain_panel import ChainPanel
from gui.views.history.change_map_panel import ChangeMapPanel
from gui.views.history.field_panel import FieldPanel
from model.errors import Refused
from model.foundation.news import News
from model.foundation.records import CollectionInfo, Version
from model.session import Session
from model.session.history_reading import Key, TrackedElement, key_text, locate
from model.values.canonical import Path, Value


class _ChainPage(Page):
    """Base of the pages about one document's versions: a panel that reads the document again after writes."""

    words = ""
    hint = ""
    """The keys of the rows on show, as a hint."""

    def __init__(self, session: Session, ns: str, id: Value, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, id, parent)
        self._id: Value = id
        self._layout_words = ""
        self._had_rows = False
        self.writes = DocumentWrites(session, ns, self)
        self.writes.merge_asked.connect(self._merge)
        tasks.run(lambda _: session.catalogue.info(ns), done=self._known, failed=self._unknown, owner=self, key="info")

    def _follow_in(
        self, panel: ChainPanel | BisectPanel, model: QAbstractItemModel, line: QLineEdit | None = None
    ) -> None:
        """Fill the page with the panel that follows the document; Find leads to its ``line``."""
        self._panel, self._model, self._line = panel, model, line
        self._put(panel)
        panel.compare_asked.connect(self._compare)
        for turned in (panel.stack.turned, model.modelReset, model.rowsInserted, model.rowsRemoved):
            turned.connect(self._rows_changed)

    @property
    def _has_rows(self) -> bool:
        """Whether there are rows to use keys on; else a state is shown in their place."""
        return self._panel.stack.kind == "content" and self._model.rowCount() > 0

    def _rows_changed(self) -> None:
        if self._has_rows != self._had_rows:
            self._had_rows = self._has_rows
            self.changed.emit()

    def _known(self, info: CollectionInfo) -> None:
        self._layout_words = layout_sentence(info).partition(":")[0]
        self.changed.emit()

    def _unknown(self, error: BaseException) -> None:
        pass  # the panel reads the document as well, and says why it failed

    def _compare(self, a: Version, b: Version) -> None:
        self.asked.emit(PageRequest("collection", self.ns, self._id, CollectionStart(a=a.v, b=b.v)))

    @property
    def title(self) -> str:
        return f"{self.words}: {wording.plain(self._id)}"

    def facts(self) -> set[str]:
        made = {"page", "document", "readable"}
        if not self.session.trust.read_only:
            made.add("writable")
        if self._line is not None:
            made.add("find")
        return made

    def status(self) -> tuple[list[str], list[str]]:
        left = [f"{self.ns} / {wording.plain(self._id)}"]
        if self._layout_words:
            left.append(self._layout_words)
        return [*left, self.hint] if self._has_rows else left, super().status()[1]

    def leave(self) -> None:
        self._panel.stop()

    # --- actions

    def do_refresh(self) -> None:
        self._panel.refresh()

    def handlers(self) -> Handlers:
        return {
            **super().handlers(),
            "compare": self.do_compare,
            "find": self.do_find,
            "history": self.do_history,
            "copy-id": self.do_copy_id,
        }

    def do_compare(self) -> None:
        self._panel.compare()

    def do_find(self) -> None:
        if self._line is not None:
            self._line.setFocus()
            self._line.selectAll()

    def do_history(self) -> None:
        self.asked.emit(PageRequest("collection", self.ns, self._id, CollectionStart(pane="history")))

    def do_copy_id(self) -> None:
        copying.put(wording.copied(self._id))
        messages.copied(self, tr("The id is copied"))

    def on_show(self) -> Sequence[OnShow]:
        return [(self.ns, {self._id: None}, 0)]

    def shows(self, item: News) -> bool:
        return item.moved and self.writes_to(item.outcome, self.ns)


class ChangeMapPage(_ChainPage):
    """The change map of a document."""

    kind = "map"
    icon = "grid-four"
    words = tr("Change map")
    hint = tr("Arrow keys move the cell; Home and End go to the first and last change of a field; Enter compares")

    def __init__(self, session: Session, ns: str, id: Value, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, id, parent)
        self.panel = ChangeMapPanel(session, ns, id, self)
        self._follow_in(self.panel, self.panel.model)
        self.panel.restore_asked.connect(self._restore)
        self.panel.loaded.connect(self.changed)

    def _restore(self, version: Version, key: Key) -> None:
        session, ns, id, v = self.session, self.ns, self._id, version.v
        keys = self.panel.model.chain.keys

        if v is None:
            return  # a document without versions has no earlier value
        tasks.run(
            lambda _: restorable(session.history.version(ns, id, v), session.history.version(ns, id), key, keys),
            done=partial(self._restore_at, v),
            failed=partial(messages.fail, self),
            owner=self,
            key="place",
        )

    def _restore_at(self, v: Value, path: Path) -> None:
        self.writes.restore(self._id, v, [path])

    def answering_changed(self) -> None:
        self.panel.say_answering(self.answers)

    def writes_changed(self) -> None:
        self.panel.say_writable()

    @property
    def explained(self) -> Sequence[QWidget]:
        return (self.panel.legend,)

    def panes(self) -> Sequence[QWidget]:
        return [self.panel.grid, self.panel.orders["document"], self.panel.compare_button]


class BlamePage(_ChainPage):
    """The blame of a document: the version that last set each field."""

    kind = "blame"
    icon = "user-list"
    words = tr("Blame")
    hint = tr("Enter compares the version that set the field with the one before it; Ctrl+Shift+B shows the change map")

    def __init__(self, session: Session, ns: str, id: Value, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, id, parent)
        self.panel = BlamePanel(session, ns, id, self)
        self._follow_in(self.panel, self.panel.model, self.panel.search)
        self.panel.field_asked.connect(self._show_field)
        self.panel.find_asked.connect(self._find_when)
        self.panel.loaded.connect(self.changed)

    def handlers(self) -> Handlers:
        to_map = self.do_change_map
        return {**super().handlers(), "change-map": to_map, "blame": to_map}  # this page's keys lead there and back

    def do_change_map(self) -> None:
        self.asked.emit(PageRequest("map", self.ns, self._id))

    def panes(self) -> Sequence[QWidget]:
        return [self.panel.list, self.panel.search]


class FieldPage(_ChainPage):
    """The history of one field of a document."""

    kind = "field"
    icon = "chart-bar"
    words = tr("Field")
    hint = tr("Enter compares the version that set the field with the one before it")

    def __init__(self, session: Session, ns: str, id: Value, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, id, parent)
        self.panel = FieldPanel(session, ns, id, self)
        self._follow_in(self.panel, self.panel.model, self.panel.search)
        self.panel.find_asked.connect(self._find_when)
        self.panel.take_back_asked.connect(self._take_back)
        self.panel.loaded.connect(self.changed)

    def _take_back(self, version: Version, key: Key) -> None:
        session, ns, id, v = self.session, self.ns, self._id, version.v
        keys = self.panel.chain.keys if self.panel.chain is not None else ()
        if v is None:
            return  # a document without versions has no earlier value
        tasks.run(
            lambda _: place_of(session.history.version(ns, id, v), key, keys),
            done=partial(self._take_back_at, v),
            failed=partial(messages.fail, self),
            owner=self,
            key="place",
        )

    def _take_back_at(self, v: Value, path: Path) -> None:
        from model.session.batch_writing import Chosen  # brings the rooms of repair, which no history needs

        chosen = Chosen(self._id, (v,), paths=(path,))
        self.asked.emit(PageRequest("taking-back", self.ns, start=TakingBackStart((chosen,))))

    def answering_changed(self) -> None:
        self.panel.say_answering(self.answers)

    def writes_changed(self) -> None:
        self.panel.say_writable()

    def answer(self, request: PageRequest, again: bool) -> None:
        if isinstance(request.start, FieldStart):
            self.panel.show_field(request.start.path, request.start.v)

    def memory(self) -> PageRequest:
        path = self.panel.track.path if self.panel.track is not None else None
        return replace(super().memory(), start=FieldStart(path) if path is not None else None)

    def panes(self) -> Sequence[QWidget]:
        return [self.panel.list, self.panel.settings, self.panel.search]


class BisectPage(_ChainPage):
    """The versions of a document at which a condition turns."""

    kind = "bisect"
    icon = "magnifying-glass"
    words = tr("Find when")
    hint = tr("Enter compares the version at which the condition turns with the one before it")

    def __init__(self, session: Session, ns: str, id: Value, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, id, parent)
        self.panel = BisectPanel(session, ns, id, self)
        self._follow_in(self.panel, self.panel.model, self.panel.input)

    def answer(self, request: PageRequest, again: bool) -> None:
        if isinstance(request.start, ConditionStart):
            self.panel.ask(request.start.filter)

    def memory(self) -> PageRequest:
        condition = self.panel.input.text().strip()
        return replace(super().memory(), start=ConditionStart(condition) if condition else None)

    def panes(self) -> Sequence[QWidget]:
        return [self.panel.input, self.panel.list]


def place_of(version: Version, key: Key, keys: Sequence[str]) -> Path:
    """Where a field is in a version that set it or took it out; raises ``Refused`` if the version lacks its element."""
    content = version.content or b""
    for kept in range(len(key), -1, -1):
        above, inside = locate(content, key[:kept], keys) if content else None, key[kept:]
        if above is not None and not any(isinstance(step, TrackedElement) for step in inside):
            return (*above, *(step for step in inside if not isinstance(step, TrackedElement)))
    raise Refused(
        tr("The change took out the whole element of {key}; take it back from the timeline.", key=key_text(key))
    )


def restorable(old: Version, now: Version, key: Key, keys: Sequence[str]) -> Path:
    """Where a field is in both versions; raises ``Refused`` if its element is at another place by now."""
    there = locate(old.content or b"", key, keys) if old.content else None
    here = locate(now.content or b"", key, keys) if now.content else None
    if there is None:
        raise Refused(tr("{key} is not there in that version any more; refresh the map.", key=key_text(key)))
    if any(isinstance(step, TrackedElement) for step in key) and there != here:
        name = key_text(key[: 1 + max(i for i, step in enumerate(key) if isinstance(step, TrackedElement))])
        state = tr("is at another place") if here is not None else tr("is not there")
        raise Refused(
            tr(
                "{name} {state} in the current version; edit the document to bring its value back.",
                name=name,
                state=state,
            )
        )
    return there
