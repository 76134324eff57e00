"""The page of a collection: its documents, the history of the chosen one, and a comparison of two versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QPushButton, QWidget

from gui import copying, messages, rest, tasks
from gui.actions import Handlers
from gui.language import tr
from gui.pages.base import OnShow, Page
from gui.pages.history_export import HistoryExport
from gui.pages.page_request import (
    CollectionStart,
    PageRequest,
    PairStart,
    TakingBackStart,
    TimesStart,
)
from gui.parts.document_side import DocumentSide, remembered
from gui.parts.later_part import LaterPart
from gui.style import boxes, focus_keeper, preferences, theme, wording
from gui.style.layout_words import guard_sentence, layout_sentence
from gui.style.states import button
from gui.views.browse.browser_panel import BrowserPanel
from gui.views.browse.list_export import ListExport
from gui.views.browse.query import EVERYTHING
from gui.views.compare.diff_panel import DiffPanel
from gui.views.timeline.timeline_panel import TimelinePanel
from model.foundation.news import News
from model.foundation.records import CollectionInfo, Row, Version
from model.session import Session
from model.values import canonical
from model.values.canonical import Path, Value

if TYPE_CHECKING:
    from gui.pages.batch_writes import BatchWrites
    from gui.pages.document_writes import DocumentWrites
    from gui.views.repair.plan_kind import PlanKind
    from model.session.batch_writing import Rule

LISTED, FEWEST = 18, 9
"""Rows of documents: as many are in sight before the comparison gets more than it needs, and before a list of versions
borrows height; fewer are not made room for."""
KEPT, ALONE = "collection/comparison", "collection/alone"
COMPARISON = 142  # u; its tools and three rows
HISTORY = 144  # u; its name and a strip


class CollectionPage(Page):
    """The documents of a collection, the history of the chosen one, and a comparison of two versions.

    It can be made before it is known of which collection: :meth:`show_collection` then fills it.
    """

    kind = "collection"
    icon = "table"

    def __init__(self, session: Session, ns: str, production: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, parent=parent)
        self._chosen_row: Row | None = None
        self._of_now = True  # whether it was chosen in a list of the present, where the choice follows its document
        self._wanted_ab: tuple[Value, Value | None, Value | None] | None = None
        self._awaited: tuple[QWidget, Value, QWidget | None] | None = None  # a part, its document, the focus before
        self._missing_index = ""
        self._written: set[Value] = set()  # documents that were written and not read since
        self._all_written = False
        self._chain_buttons: list[QPushButton] = []
        self.split = boxes.split()
        self.split.setHandleWidth(1)
        boxes.column(self).addWidget(self.split)
        self.browser = BrowserPanel(session, ns, self.split)
        self._history_part = LaterPart(self._make_timeline, self.split)
        self._comparison_part = LaterPart(self._make_diff, self.split)
        self.production = production
        for at, stretch in enumerate((1, 0, 0)):
            self.split.setStretchFactor(at, stretch)
        kept = preferences.remembered(KEPT)
        self._below = kept if isinstance(kept, int) and kept > 0 else None
        """The height of the comparison beside a whole strip, in pixels, if a person chose one."""
        self._own = 0  # that of a list of versions
        self.browser.alone.setChecked(preferences.remembered(ALONE, False) is True)
        self.split.installEventFilter(self)
        self.split.splitterMoved.connect(self._split_moved)
        self.setFocusProxy(self.browser)
        self._wire()

    def show_collection(self, ns: str) -> None:
        """Show a collection on a page that was made without one."""
        self.ns = ns
        for part in (self._history_part, self._comparison_part):
            if part.is_made:
                part.get().ns = ns
        self.browser.show_collection(ns)

    @cached_property
    def exporter(self) -> ListExport:
        """Exports of the list."""
        return ListExport(self.session, self.ns, self)

    @cached_property
    def histories(self) -> HistoryExport:
        """Exports of histories."""
        return HistoryExport(self.session, self.ns, self)

    @cached_property
    def writes(self) -> DocumentWrites:
        """Writes of one document, loaded at the first use."""
        from gui.pages.document_writes import DocumentWrites

        made = DocumentWrites(self.session, self.ns, self, self.production)
        made.several_asked.connect(self._insert_several)
        made.merge_asked.connect(self._merge)
        return made

    @cached_property
    def batches(self) -> BatchWrites:
        """Batch deletes and inserts. Most pages never need them, so their modules are loaded at the first use."""
        from gui.pages.batch_writes import BatchWrites

        return BatchWrites(self.session, self.ns, self, self.production)

    @property
    def timeline(self) -> TimelinePanel:
        """The history of the chosen document."""
        return self._history_part.get()

    @property
    def diff(self) -> DiffPanel:
        """The comparison of two of its versions."""
        return self._comparison_part.get()

    def _make_timeline(self, parent: QWidget) -> TimelinePanel:
        made = TimelinePanel(self.session, self.ns, parent)
        made.loaded.connect(self._history_read)
        made.loaded.connect(self._arrived)
        made.compared.connect(self._compare)
        made.cleared.connect(self._nothing_compared)
        made.restore_asked.connect(self._restore)
        made.take_back_asked.connect(self._take_back)
        made.fitted.connect(self._form_changed)
        made.remember_asked.connect(self._remember)
        made.compare_remembered_asked.connect(self._compare_remembered)
        for label, icon, call in (
            (tr("Change map"), "grid-four", self.do_change_map),
            (tr("Blame"), "user-list", self.do_blame),
        ):
            tool = button(label, call, "small", icon=icon)
            tool.setEnabled(False)
            tool.setAccessibleName(label)
            made.add_tool(tool)
            self._chain_buttons.append(tool)
        self._fit(made)
        return made

    def _make_diff(self, parent: QWidget) -> DiffPanel:
        made = DiffPanel(self.session, self.ns, parent)
        made.ab_chosen.connect(self._versions_picked)
        made.showing.connect(self._arrived)
        made.restore_asked.connect(self._restore)
        made.tools.wrapped.connect(self._divide)
        made.say_answering(self.answers)
        self._serve(made)
        return made

    def _wire(self) -> None:
        self.browser.chosen.connect(self._choose)
        self.browser.alone.toggled.connect(self._put_alone)
        self.browser.open_asked.connect(self._open_row)
        self.browser.new_asked.connect(self.do_new_document)
        self.browser.export_asked.connect(self.do_export)
        self.browser.times_asked.connect(self.do_two_times)
        self.browser.restore_asked.connect(self._restore_row)
        self.browser.journal_asked.connect(partial(self.asked.emit, PageRequest("journal")))
        self.browser.layout_asked.connect(self.layout_asked)
        self.browser.loaded.connect(self._loaded)
        self.browser.menu_asked.connect(self._fill_menu)
        self.browser.many_asked.connect(self._fill_menu_of_many)
        self.browser.picked_changed.connect(self.changed)

    # --- between panels

    def _choose(self, row: Row | None) -> None:
        before, self._chosen_row = self._chosen_row, row
        self._show_parts()
        self.diff.name = _version_named(row)
        self.id = row.id if row is not None else None
        if self._awaited is not None and row is not None and row.id != self._awaited[1]:
            self._awaited = None
        for one in self._chain_buttons:
            one.setEnabled(row is not None and row.readable)
        if row is None or not row.readable or self.browser.alone.isChecked():
            self.timeline.show_document(None)
            self.diff.clear()
        else:
            now, was_now = self.browser.ran.is_of_now, self._of_now
            same = before is not None and before.id == row.id and (before.version == row.version or (now and was_now))
            self._of_now = now
            self.timeline.show_document(row.id, keep=same)
            if self.browser.ran.moment and not same:
                self.timeline.set_ab(row.version, None)
            if self._wanted_ab is not None and self._wanted_ab[0] == row.id:
                self.timeline.set_ab(self._wanted_ab[1], self._wanted_ab[2])
                self._wanted_ab = None
        self.changed.emit()

    def _show_parts(self) -> None:
        """Show the parts that have something to show: a list without rows, or one that is wanted alone, takes all."""
        info, page = self.browser.info, self.browser.page
        below = not self.browser.alone.isChecked() and (page is None or bool(page.rows))
        versions = info is None or info.keeps_history or (not info.belongs_to and "hash" in info.fields)
        history, comparison = self._history_part, self._comparison_part
        if (below, below and versions) != (not comparison.isHidden(), not history.isHidden()):
            comparison.setVisible(below)
            history.setVisible(below and versions)
            self._divide()

    def _put_alone(self, on: bool) -> None:
        preferences.remember(ALONE, on)
        self._choose(self._chosen_row)

    def _history_read(self, versions: list[Version]) -> None:
        self.diff.set_ab_choices(versions)
        self.changed.emit()

    def _nothing_compared(self) -> None:
        self.diff.clear()

    def _versions_picked(self, a: Value | None, b: Value | None) -> None:
        self.timeline.set_ab(a, b)

    def _compare(self, a: Version | None, b: Version) -> None:
        id = self.timeline.shown_id  # one chosen just now may still be read: the flags are another's
        if self._chosen_row is not None and id is not None:
            self.diff.compare(id, a, b)

    def _loaded(self, _: object) -> None:
        self._divide()
        self.changed.emit()
        if not self._missing_index:
            rest.later(self, self._look_for_index)

    def _look_for_index(self) -> None:
        """Find out whether an index is missing, which may take a look at many documents."""
        session, ns = self.session, self.ns
        if session.trust.read_only:
            return
        tasks.run(
            lambda _: session.indexes.missing(ns) or "",
            done=self._index_known,
            failed=self._index_unknown,
            owner=self,
            key="index",
        )

    def _index_known(self, reason: str) -> None:
        if reason != self._missing_index:
            self._missing_index = reason
            self.changed.emit()

    def _index_unknown(self, error: BaseException) -> None:
        pass  # the write itself reports the reason

    def _restore(self, id: Value, v: Value, paths: Sequence[Path] | None) -> None:
        shown = self.diff.comparison
        self.writes.restore(id, v, paths, shown.b.v if shown is not None and shown.b.current else None)

    def _take_back(self, id: Value, v: Value) -> None:
        from model.session.batch_writing import Chosen

        self.asked.emit(PageRequest("taking-back", self.ns, start=TakingBackStart((Chosen(id, (v,)),))))

    def _restore_row(self, row: Row) -> None:
        """Restore a document as it is listed."""
        if row.version is not None:
            self.writes.restore(row.id, row.version)

    def _open_row(self, id: Value) -> None:
        """Open a document. In a list of the past, open its history with its version chosen."""
        if self.browser.ran.is_of_now:
            self._open_document(id)
        else:
            self.do_history()

    def _fill_menu(self, menu: QMenu, row: Row) -> None:
        info = self.browser.info
        if row.of is not None and info is not None and info.belongs_to is not None:
            main = info.belongs_to.partition(".")[2]
            menu.addAction(
                wording.item(tr("Show {version_named} in {main}", version_named=_version_named(row), main=main)),
                partial(self._show_in_history, row),
            )
        if not row.readable:
            return
        menu.addAction(tr("Export…"), partial(self.exporter.ask_rows, [row], self.browser.listed))
        if not self.browser.ran.is_of_now and row.version is not None and not self.session.trust.read_only:
            name = wording.version(row.version)
            menu.addAction(wording.item(tr("Restore {name}…", name=name)), partial(self._restore_row, row))
        if info is not None and info.keeps_history:
            menu.addSeparator()
            for label, kind in ((tr("Who changed what"), "blame"), (tr("Look for damage"), "repair")):
                menu.addAction(label, partial(self.asked.emit, PageRequest(kind, self.ns, row.id)))
        compare = menu.addMenu(tr("Compare"))
        compare.addAction(tr("Compare with another document…"), partial(self._compare_row_with_other, row))
        compare.addAction(tr("Remember for a comparison"), partial(self._remember_row, row))
        if (side := remembered.side) is not None:
            words = wording.item(tr("Compare with {name} of {place}", name=side.name, place=side.place), 80)
            compare.addAction(words, partial(self._compare_row, row))
        if "writable" not in self.facts():
            return
        menu.addSeparator()
        menu.addAction(tr("Delete…"), partial(self.writes.delete, row.id))
        more = menu.addMenu(tr("More"))
        more.addAction(tr("Duplicate…"), partial(self.writes.duplicate, row.id))
        for fact, label, call in (
            ("numbers", tr("Take the next number…"), self.do_next_number),
            ("tokens", tr("Count once…"), self.do_count_once),
            ("entries", tr("Process an entry…"), self.do_process_entry),
        ):
            if fact in self.facts():
                more.addAction(label, call)
        more.addAction(tr("Purge with all versions…"), partial(self.writes.purge, row.id))
        more.addAction(tr("Erase fields for good…"), partial(self.writes.erase, row.id))
        if self.session.is_sample:
            more.addAction(tr("Edit as a colleague"), partial(self.writes.colleague, row.id))

    def side(self) -> DocumentSide | None:
        """The chosen document, in version B if that is not the current one."""
        if self.id is None:
            return None
        _, b = self.timeline.chosen()
        there = b is not None and not b.current and self.timeline.shown_id == self.id
        return DocumentSide(self.session, self.ns, self.id, b.v if there and b is not None else None)

    def _side_of(self, row: Row) -> DocumentSide:
        """A document of the list; in a list of the past, as it was then."""
        return DocumentSide(self.session, self.ns, row.id, None if self.browser.ran.is_of_now else row.version)

    def _remember_row(self, row: Row) -> None:
        self.remember(self._side_of(row))

    def _compare_row_with_other(self, row: Row) -> None:
        self.compare_other(DocumentSide(self.session, self.ns, row.id))

    def _compare_row(self, row: Row) -> None:
        self.compare_remembered(self._side_of(row))

    def _remember(self, v: Value | None) -> None:
        if self.id is not None:
            self.remember(DocumentSide(self.session, self.ns, self.id, v))

    def _compare_remembered(self, v: Value | None) -> None:
        if self.id is not None:
            self.compare_remembered(DocumentSide(self.session, self.ns, self.id, v))

    def _show_in_history(self, row: Row) -> None:
        """Go from a row of an archive to the history that it belongs to, with its version as A."""
        info = self.browser.info
        if info is not None and info.belongs_to is not None and row.of is not None:
            self.asked.emit(PageRequest("collection", info.belongs_to, row.of, CollectionStart(a=row.version)))

    def _fill_menu_of_many(self, menu: QMenu, rows: Sequence[Row]) -> None:
        menu.addAction(tr("Export {documents}…", documents=wording.many(len(rows), "document")), self.do_export_picked)
        if len(rows) == 2:
            menu.addAction(tr("Compare the two"), self.do_compare_picked)
        if "writable" in self.facts():
            menu.addSeparator()
            menu.addAction(
                tr("Change {documents}…", documents=wording.many(len(rows), "document")), self.do_change_many
            )
            if self.browser.info is not None and self.browser.info.keeps_history:
                menu.addAction(tr("Remove earlier versions…"), self.do_retain)
            menu.addAction(
                tr("Delete {documents}…", documents=wording.many(len(rows), "document")), self.do_delete_picked
            )

    def _insert_several(self, documents: Sequence[bytes]) -> None:
        self.batches.insert(
            lambda: documents, tr("{documents} as they were typed", documents=wording.many(len(documents), "document"))
        )

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.split and event.type() == QEvent.Type.Resize:
            self._divide()
        return super().eventFilter(watched, event)

    def _divide(self) -> None:
        """Share the height among the parts by what they hold; a person may choose that of the comparison.

        What a short history leaves goes to the comparison: the list stays as it is from document to document.
        """
        history, comparison = self._history_part, self._comparison_part
        if comparison.isHidden():
            return
        there, browser = self._height, self.browser
        tools = self.diff.minimumHeight() if comparison.is_made else 0
        least, fewest = max(theme.px(COMPARISON), tools), browser.height_for(FEWEST)
        rest = there - self._strip
        if self._below is not None:
            above = rest - self._below
        else:
            above = rest - least - max(0, rest - least - browser.height_for(LISTED)) // 2
            above = min(above, max(fewest, browser.height_for(browser.rows_a_page)))
        own = 0 if history.isHidden() else history.minimumHeight() if history.is_made else theme.px(HISTORY)
        if own and history.is_made and self.timeline.as_list.isChecked():  # borrows from the comparison, then the list
            wanted = self._own or self.timeline.wanted
            own += max(0, min(wanted - own, rest - least - min(above, fewest)))
            above = min(above, there - own - least)
        self.split.setSizes([max(1, above), own, max(1, there - above - own)])

    @property
    def _height(self) -> int:
        """The height of all parts, in pixels."""
        return self.split.height() - 2 * self.split.handleWidth()

    @property
    def _strip(self) -> int:
        """The height that is kept for the history, whether a short one needs it or not."""
        part = self._history_part
        return 0 if part.isHidden() else self.timeline.whole if part.is_made else theme.px(HISTORY)

    def _split_moved(self, *_: object) -> None:
        above, own, _below = self.split.sizes()
        self._own = own if self.timeline.as_list.isChecked() else 0
        self._below = max(1, self._height - self._strip - above)
        preferences.remember(KEPT, self._below)

    def _form_changed(self) -> None:
        self._own = 0
        self._fit(self.timeline)
        self._divide()

    def _fit(self, timeline: TimelinePanel) -> None:
        """Let the history have the height that its form needs."""
        self._history_part.setMinimumHeight(timeline.minimumHeight())
        self._history_part.setMaximumHeight(timeline.maximumHeight())

    # --- requests from the window

    def answer(self, request: PageRequest, again: bool) -> None:
        start = request.start if isinstance(request.start, CollectionStart) else CollectionStart()
        if start.query != EVERYTHING:
            self.browser.put(start.query)
        if request.id is not None:
            self.show_document(request.id, start.a, start.b)
        wanted = request.id if request.id is not None else self.id
        in_front: dict[str, Callable[[], object]] = {
            "history": lambda: self._bring(self._history(), wanted),
            "compare": lambda: self._bring(self.diff, wanted),
            "export": partial(self.exporter.ask, EVERYTHING),
            "import": self.do_import,
            "indexes": self.do_explain,
        }
        if start.pane:
            in_front[start.pane]()

    def show_document(self, id: Value, a: Value | None = None, b: Value | None = None) -> None:
        """Choose a document, and two of its versions if they are given."""
        if a is not None or b is not None:
            self.browser.alone.setChecked(False)
            if self._chosen_row is not None and self._chosen_row.id == id:
                self.timeline.set_ab(a, b)
                self.sight_asked.emit(self.diff)
                return
            self._wanted_ab = (id, a, b)
        self.browser.select(id)
        if a is not None or b is not None:
            self.sight_asked.emit(self.diff)

    def facts(self) -> set[str]:
        row, picked, info = self._chosen_row, self.browser.picked, self.browser.info
        ran, of_now = self.browser.ran, self.browser.ran.is_of_now
        writes = not self.session.trust.read_only and self.answers and (info is None or info.belongs_to is None)
        true = {
            "document": row is not None,
            "readable": row is not None and row.readable,
            "several": len(picked) > 1,
            "two-picked": len(picked) == 2 and all(each.readable for each in picked),
            "versions": info is not None and info.keeps_history,
            "past": not of_now,
            "deleted": not of_now and bool(ran.deleted),
            "writable": of_now and writes,
            "sample": self.session.is_sample,
            "json": self.browser.is_json,
            "only-list": self.browser.alone.isChecked(),
            "index-missing": bool(self._missing_index),
        }
        facts = {"page", "list", "collection", "find", *(name for name, holds in true.items() if holds)}
        if info is not None and info.counts:
            facts.add(info.counts)
        return facts | self._facts_of_diff()

    def _facts_of_diff(self) -> set[str]:
        if not self._comparison_part.is_made or self.diff.comparison is None:
            return set()
        true = {
            "diff": True,
            "pair": self.diff.swap.isEnabled(),
            "restorable": not self.diff.why_not_restore(),
            "inline": self.diff.inline.isChecked(),
        }
        return {name for name, holds in true.items() if holds}

    def reasons(self) -> dict[str, str]:
        info = self.browser.info
        is_made = self._comparison_part.is_made
        why_not = self.diff.why_not_restore() if is_made else tr("Nothing is compared yet.")
        is_alone = is_made and self.diff.is_alone
        said = {
            "document": tr("No document is chosen"),
            "pair": tr("One version is shown by itself") if is_alone else tr("Nothing is compared yet"),
            "restorable": why_not,
            "readable": tr("This document does not decode; it is never written"),
            "numbers": tr("{ns} holds no counters that hand out numbers", ns=self.ns),
            "tokens": tr("{ns} keeps no counters that are raised in two steps", ns=self.ns),
            "entries": tr("{ns} keeps no apply-once lists", ns=self.ns),
        }
        if self.session.trust.read_only:
            said["writable"] = tr("{name} is open read-only", name=wording.source(self.session.name, first=True))
        elif not self.answers:
            said["writable"] = wording.silent(self.session.name)
        elif not self.browser.ran.is_of_now:
            said["writable"] = tr("The list shows a past state; go back to now first")
        elif info is not None and info.belongs_to is not None:
            said["writable"] = tr("An archive is written by saving the current document only")
        return said

    def status(self) -> tuple[list[str], list[str]]:
        info = self.browser.info
        left = [self.ns]
        if info is not None:
            left += [layout_sentence(info), guard_sentence(info, self.session.trust.read_only)]
        return left, super().status()[1]

    @property
    def explained(self) -> Sequence[QWidget]:
        return (self._history_part, self._comparison_part)

    def panes(self) -> Sequence[QWidget]:
        history: list[QWidget] = [] if self._is_history_brief else [self.timeline]
        comparison: list[QWidget] = [] if self._comparison_part.isHidden() else [self.diff]
        return [self.browser.bar.input, self.browser.list, *history, *comparison]

    def on_show(self) -> Sequence[OnShow]:
        rows = [row for row in self.browser.model.rows if row.readable]
        ran = self.browser.ran
        in_part = bool(ran.fields) or ran.any_version
        shown = {row.id: None if in_part else row.raw for row in rows}
        return [(self.ns, shown, sum(row.bytes for row in rows))] if rows else ()

    def pulse_of(self, session: Session) -> Callable[[], object] | None:
        if session is not self.session or not self.browser.ran.is_of_now or self.browser.info is None:
            return None
        return partial(session.documents.pulse, self.ns)

    def shows(self, item: News) -> bool:
        info, id = self.browser.info, item.outcome.id
        here = item.moved and item.outcome.ns in (self.ns, info.belongs_to if info is not None else "")
        if here and id is not None and item.outcome.ns == self.ns:
            self._written.add(id)
        elif here:
            self._all_written = True
        return here

    def follow(self) -> None:
        written, self._written, everything, self._all_written = self._written, set(), self._all_written, False
        if everything:
            self.browser.refresh()
        else:
            self.browser.follow(written)

    def layout_changed(self) -> None:
        self.browser.reread_info()

    def recognised(self, info: CollectionInfo) -> None:
        if self.browser.info is None or not info.reads_as(self.browser.info):
            self.browser.reread_info()

    def answering_changed(self) -> None:
        if self._comparison_part.is_made:
            self.diff.say_answering(self.answers)

    def writes_changed(self) -> None:
        if self._comparison_part.is_made:
            self.diff.say_writable()
        self._loaded(None)  # asks again whether an index that writing needs is missing

    def memory(self) -> PageRequest:
        return PageRequest(self.kind, self.ns, self.id, CollectionStart(self.browser.bar.query))

    # --- actions

    def do_refresh(self) -> None:
        self.browser.refresh()

    def handlers(self) -> Handlers:
        return {
            **self.diff.handlers(),
            **super().handlers(),
            "find": self.do_find,
            "as-json": self.do_as_json,
            "only-list": self.browser.alone.toggle,
            "explain": self.do_explain,
            "query-options": partial(self.browser.bar.choose, "columns"),
            "as-of": self.browser.bar.choose_time,
            "deleted": self.browser.bar.toggle_deleted,
            "back-to-now": self.browser.bar.back_to_now,
            "two-times": self.do_two_times,
            "copy-id": self.do_copy_id,
            "copy-document": self.do_copy_document,
            "paste": self.do_paste,
            "export": self.do_export,
            "export-picked": self.do_export_picked,
            "import": self.do_import,
            "export-history": self.histories.ask,
            "export-document-history": self.do_export_document_history,
            "import-history": self.do_import_history,
            "delete-picked": self.do_delete_picked,
            "change-many": self.do_change_many,
            "retain": self.do_retain,
            "compare-picked": self.do_compare_picked,
            "open-document": self.do_open_document,
            "new-document": self.do_new_document,
            "insert-next": self.do_insert_next,
            "next-number": self.do_next_number,
            "count-once": self.do_count_once,
            "process-entry": self.do_process_entry,
            "duplicate": self.do_duplicate,
            "delete": self.do_delete,
            "purge": self.do_purge,
            "erase": self.do_erase,
            "remove-version": self.do_remove_version,
            "colleague": self.do_colleague,
            "create-index": self.do_create_index,
            "history": self.do_history,
            "compare": self.do_compare,
            "change-map": self.do_change_map,
            "blame": self.do_blame,
        }

    def do_find(self) -> None:
        self.browser.bar.input.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.browser.bar.input.selectAll()

    def do_as_json(self) -> None:
        self.browser.show_json(not self.browser.is_json)
        self.changed.emit()

    def do_explain(self) -> None:
        self.browser.explain()

    def do_two_times(self) -> None:
        self.asked.emit(PageRequest("times", self.ns, start=TimesStart(self.browser.ran.at)))

    def do_copy_id(self) -> None:
        if self._chosen_row is not None:
            copying.put(wording.copied(self._chosen_row.id))
            messages.copied(self, tr("The id is copied"))

    def do_copy_document(self) -> None:
        if self._chosen_row is not None:
            self.browser.copy([self._chosen_row])

    def do_paste(self) -> None:
        """Insert the documents on the clipboard, once it is shown what that does; none replaces another one."""
        pasted = QGuiApplication.clipboard().text()
        if pasted.strip():
            from model.text.file_documents import documents_in  # with what unpacks files

            self.batches.insert(lambda: documents_in(pasted), tr("the clipboard"))
        else:
            messages.tell(self, tr("There is no document on the clipboard"))

    def do_export(self) -> None:
        self.exporter.ask(self.browser.ran)

    def do_export_picked(self) -> None:
        self.exporter.ask_rows(self.browser.picked, self.browser.listed)

    def do_import(self) -> None:
        self.batches.pick_file()

    def do_export_document_history(self) -> None:
        if self._chosen_row is not None:
            self.histories.ask(self._chosen_row.id)

    def do_import_history(self) -> None:
        self.batches.pick_history()

    def do_delete_picked(self) -> None:
        self.batches.delete([row.id for row in self.browser.picked])

    def do_change_many(self) -> None:
        """One change in the picked documents, or in all that the list's filter finds."""
        picked, filter = [row.id for row in self.browser.picked], self.browser.ran.filter
        if len(picked) > 1:
            self._change(picked)
            return
        session, ns = self.session, self.ns
        tasks.run(
            lambda progress: session.changing.matching(ns, filter, progress),
            done=self._change,
            failed=partial(messages.fail, self),
            owner=self,
            key="change",
            title=tr("Listing documents"),
        )

    def _change(self, ids: Sequence[Value]) -> None:
        from gui.views.repair.plan_kind import CHANGING

        self._plan(CHANGING, ids)

    def _plan(self, kind: PlanKind, ids: Sequence[Value]) -> None:
        from model.session.batch_writing import Chosen

        start = TakingBackStart(tuple(Chosen(id, ()) for id in ids), kind)
        self.asked.emit(PageRequest("taking-back", self.ns, start=start, way="beside"))

    def do_retain(self) -> None:
        """Earlier versions of the picked documents, or of all, removed by a rule."""
        from gui.views.repair.retention_sheet import RetentionSheet

        picked = [row.id for row in self.browser.picked]
        some = picked if len(picked) > 1 else []
        sheet = RetentionSheet(self, wording.many(len(some), "document") if some else self.ns)
        sheet.agreed.connect(partial(self._retain, some))
        sheet.open()

    def _retain(self, some: Sequence[Value], rule: Rule) -> None:
        """List the documents that a rule concerns, and show the plan for them."""
        from gui.views.repair.plan_kind import retaining

        session, ns = self.session, self.ns
        title = tr("Looking for versions that may go")
        task = tasks.run(
            lambda progress: session.retaining.concerned(ns, rule, some, progress),
            done=partial(self._retainable, retaining(rule)),
            failed=partial(messages.fail, self),
            owner=self,
            key="retain",
            title=title,
        )
        line = messages.note(self, title, [(tr("Stop"), task.cancel)])
        task.finished.connect(line.leave)

    def _retainable(self, kind: PlanKind, ids: Sequence[Value]) -> None:
        if ids:
            self._plan(kind, ids)
        else:
            messages.tell(self, tr("By this rule all versions stay"))

    def do_compare_picked(self) -> None:
        a, b = map(self._side_of, self.browser.picked)
        self.asked.emit(PageRequest("pair", self.ns, b.id, PairStart(a, b)))

    def do_open_document(self) -> None:
        if self._chosen_row is not None:
            self._open_row(self._chosen_row.id)

    def do_create_index(self) -> None:
        self.writes.create_index()

    def do_new_document(self) -> None:
        self.writes.create()

    def do_insert_next(self) -> None:
        self.writes.insert_next()

    def do_next_number(self) -> None:
        if self._chosen_row is not None:
            self.writes.next_number(self._chosen_row.id)

    def do_count_once(self) -> None:
        self.writes.count(self.id)

    def do_process_entry(self) -> None:
        from model.session.exactly_once import totals

        info, row = self.browser.info, self._chosen_row
        fields = info.fields if info is not None else {}
        key, raw = fields.get("id", "_id"), row.raw if row is not None else canonical.EMPTY
        numbers = totals(raw, (key, fields.get("processed", "processed")))
        self.writes.process(canonical.get(raw, (key,)) if row is not None else None, numbers, fields.get("counter", ""))

    def do_duplicate(self) -> None:
        if self._chosen_row is not None:
            self.writes.duplicate(self._chosen_row.id)

    def do_delete(self) -> None:
        if self._chosen_row is not None:
            self.writes.delete(self._chosen_row.id)

    def do_purge(self) -> None:
        if self._chosen_row is not None:
            self.writes.purge(self._chosen_row.id)

    def do_erase(self) -> None:
        if self._chosen_row is not None:
            self.writes.erase(self._chosen_row.id)

    def do_remove_version(self) -> None:
        shown = self.diff.comparison
        if self.id is not None and shown is not None and shown.a.v is not None:
            self.writes.remove_version(self.id, shown.a.v)

    def do_colleague(self) -> None:
        if self._chosen_row is not None:
            self.writes.colleague(self._chosen_row.id)

    def do_history(self) -> None:
        self._bring(self._history(), self.id)

    def do_compare(self) -> None:
        self._bring(self.diff, self.id)

    def _history(self) -> QWidget:
        """The part that tells the history; the comparison shows a document without earlier versions."""
        self.browser.alone.setChecked(False)
        return self.diff if self._is_history_brief else self.timeline

    @property
    def _is_history_brief(self) -> bool:
        return self._history_part.isHidden() or self.timeline.is_brief

    def _bring(self, part: QWidget, id: Value | None) -> None:
        """Show a part and focus it; if it has nothing of the document yet, as soon as it has."""
        self._awaited = None
        self.browser.alone.setChecked(False)
        if focus_keeper.can_have(part):
            part.setFocus(Qt.FocusReason.ShortcutFocusReason)
        elif id is not None:
            self._awaited = part, id, QApplication.focusWidget()
        self.sight_asked.emit(part)

    def _arrived(self) -> None:
        """Focus the awaited part once it is there, unless the focus has moved meanwhile."""
        if self._awaited is None:
            return
        part, id, before = self._awaited
        part = self.diff if part is self.timeline and self.timeline.is_brief else part
        if QApplication.focusWidget() is not before:
            self._awaited = None
        elif id == self.id and focus_keeper.can_have(part):
            self._awaited = None
            part.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def do_change_map(self) -> None:
        self._follow("map")

    def do_blame(self) -> None:
        self._follow("blame")

    def _follow(self, kind: str) -> None:
        if self._chosen_row is not None and self._chosen_row.readable:
            self.asked.emit(PageRequest(kind, self.ns, self._chosen_row.id))


def _version_named(row: Row | None) -> str:
    """``K-204117 v3`` for a row of an archive; "" for any other."""
    if row is None or row.of is None:
        return ""
    return f"{wording.plain(row.of)} {wording.version(row.version)}".rstrip()
