"""The document list of one collection, by filter, order and page; the histories are added as they are read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QPlainTextEdit, QStackedWidget, QWidget

from gui import copying, rest, tasks
from gui.language import tr, translated
from gui.paging import Pager, refill
from gui.parts.notices import Notices
from gui.parts.reading import Reading
from gui.parts.writes_in_doubt import DOUBTS
from gui.style import boxes, preferences, states, theme, wording
from gui.style.cells import BY_HAND, CellTree
from gui.style.states import StateStack, tool, words
from gui.views.browse.documents_model import WIDTHS, DocumentsModel, as_json
from gui.views.browse.query import EVERYTHING, Query, listed, sort_pairs
from gui.views.browse.query_bar import QueryBar
from gui.views.browse.remembered_columns import RememberedColumns
from model import text
from model.errors import NotFound, Refused, Unreachable
from model.foundation.records import CollectionInfo, Matches, Outline, Page, Row
from model.session import Session
from model.values.canonical import Path, Value

if TYPE_CHECKING:  # most lists show the present, and are not explained
    from gui.views.browse.explain_sheet import ExplainSheet
    from model.session.through_time import HistoryList

LOW = 400  # u; a lower window has no room for rows beside many words
HEIGHTS = {"compact": 22, "roomy": 28}  # u; of a row
SCROLLED = 6  # columns of content; more are not squeezed into the width of the list
HAIRS = 2  # pixels; the lines below the query bar and above the foot


class DocumentTree(CellTree):
    """The rows of documents; Ctrl+C copies whole documents."""

    copy_asked = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_asked.emit()  # Qt would copy the drawn text of one cell
        else:
            super().keyPressEvent(event)


class BrowserPanel(QWidget):
    """The documents of one collection, a page at a time; without a collection, it waits for :meth:`show_collection`."""

    chosen = Signal(object)  # Row, or None
    open_asked = Signal(object)  # an id
    new_asked = Signal()
    export_asked = Signal()
    layout_asked = Signal()
    loaded = Signal(object)  # Page
    picked_changed = Signal()
    menu_asked = Signal(object, object)  # QMenu, Row: others add actions for a document
    many_asked = Signal(object, object)  # QMenu, Rows: and for several
    times_asked = Signal()  # compare two times
    journal_asked = Signal()
    restore_asked = Signal(object)  # Row: restore the document as it is listed

    def __init__(self, session: Session, ns: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self.ns = session, ""
        self._info: CollectionInfo | None = None
        self._skip = 0
        self._ran = EVERYTHING
        self._due: set[Value] = set()  # documents whose miniature histories are still to be read
        self._all_due = True
        self._reading = (self._ran, 0)  # the running query and its first row
        self._wanted: Value | None = None
        self._left: Value | None = None
        """The document that was chosen before the list could not be read."""
        self._reading_fields = False
        self._page: Page | None = None
        self._is_behind = False  # the shown rows are outdated and not read again yet
        self._own: frozenset[str] = frozenset()  # the fields of the layout
        self._columns = RememberedColumns(session.source, "")
        self._telling: tuple[Path, ...] | None = None
        """The fields that tell the documents apart; None until some have been seen."""
        self.listed: HistoryList | None = None  # the source of a list that does not show the present
        self._listed_by = EVERYTHING
        self.bar = QueryBar(session.source)
        self.bar.columns_chosen.connect(lambda fields: self._columns.choose(fields))
        self.bar.asked.connect(self._run_new)
        self.bar.unreadable.connect(self._unreadable)
        self.bar.fields_wanted.connect(self._read_fields)
        self.bar.explain_asked.connect(self.explain)
        self.bar.times_asked.connect(self.times_asked)
        self.notices = Notices()
        self.model = DocumentsModel()
        self.list = DocumentTree(row_height=_row_height())
        self.list.copy_asked.connect(self._copy_picked)
        self.list.as_list(self.model, "")
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.list.setMinimumHeight(theme.px(84))
        self.list.activated.connect(self._activated)
        self.list.customContextMenuRequested.connect(self._menu)
        self.list.selectionModel().currentRowChanged.connect(self._current_changed)
        self.list.header().setSectionsClickable(True)
        self.list.header().sectionClicked.connect(self._sort_by_column)
        self.list.column_sized.connect(self._column_sized)
        self.model.columns_change.connect(self.list.reset)
        self.model.modelReset.connect(self._fit_columns)
        self.model.rowsInserted.connect(self._fit_columns)
        self._json_is_new = False  # nothing has been shown in it since it was opened
        self.json = QPlainTextEdit()
        self.json.setReadOnly(True)
        self.json.setObjectName("plainjson")
        self.json.setProperty("mono", True)
        self.json.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        column = boxes.column(self)
        column.addWidget(self.bar)
        column.addWidget(states.hair())
        column.addWidget(self.notices)
        self.states = StateStack()
        self.reading = Reading(
            self,
            self.states,
            again=self._again,
            failed=self._not_read,
            stopped=self._stopped,
            key="documents",
        )
        column.addWidget(self.states, 1)
        self._views = QStackedWidget(self.states.place)
        self._views.addWidget(self.list)
        self._views.addWidget(self.json)
        self.states.put(self._views)
        self.pager = Pager("document", int(preferences.get("page_size")))
        self.pager.page_asked.connect(self.show_page)
        self.pager.size_chosen.connect(self._size_chosen)
        self._picked_words = words("", "second")
        self.list.selectionModel().selectionChanged.connect(self._say_picked)
        self._as_json = tool("file-text", tr("Show as JSON"), None)
        self._as_json.setCheckable(True)
        self._as_json.toggled.connect(self.show_json)
        self.alone = tool("table", tr("Only the list, without history and comparison"), None)
        self.alone.setCheckable(True)
        self.pager.add_tool(self._picked_words)
        self.pager.add_tool(self.alone)
        self.pager.add_tool(self._as_json)
        self.pager.add_tool(tool("info", tr("What this collection is taken for, and why"), self.layout_asked.emit))
        self.pager.add_tool(tool("export", tr("Export the list…"), self.export_asked.emit))
        column.addWidget(states.hair())
        column.addWidget(self.pager)
        self.setFocusProxy(self.list)
        self._restyle()
        self._fit_columns()
        theme.signals.changed.connect(self._restyle)
        preferences.signals.changed.connect(self._preference_changed)
        if ns:
            self.show_collection(ns)

    def show_collection(self, ns: str) -> None:
        """List the documents of a collection, the only one that the panel ever lists."""
        self.ns = ns
        self._columns = RememberedColumns(self._session.source, ns)
        self._telling = self._columns.telling()
        self.bar.show_collection(ns)
        self.put(EVERYTHING)
        self.list.setAccessibleName(tr("Documents of {ns}", ns=ns))
        self.json.setAccessibleName(tr("Documents of {ns} as JSON", ns=ns))
        self.reading.title = tr("{ns} could not be read", ns=ns)
        self._begin()

    # --- for other parts

    @property
    def info(self) -> CollectionInfo | None:
        """The collection, once it is known."""
        return self._info

    @property
    def row(self) -> Row | None:
        """The chosen document."""
        return self.model.at(self.list.currentIndex())

    @property
    def _chosen_id(self) -> Value | None:
        return self.row.id if self.row is not None else None

    @property
    def picked(self) -> list[Row]:
        """The selected documents, in the order of the list."""
        found = (self.model.at(index) for index in sorted(self.list.selectionModel().selectedRows()))
        return [row for row in found if row is not None]

    @property
    def page(self) -> Page | None:
        """The page shown."""
        return self._page

    def height_for(self, rows: int) -> int:
        """The height at which this many rows are in sight below what stands above them, in pixels."""
        beside = sum(part.sizeHint().height() for part in (self.bar, self.pager, self.notices) if not part.isHidden())
        return beside + HAIRS + self.list.header().height() + rows * theme.px(_row_height())

    @property
    def rows_a_page(self) -> int:
        """The rows to make room for: those of a list that has no more, else those of a whole page."""
        rows = len(self._page.rows) if self._page is not None else 0
        return rows if rows and not self._skip and not self.is_json else self.pager.size

    @property
    def is_json(self) -> bool:
        """Whether the page is shown as JSON."""
        return self._as_json.isChecked()

    def refresh(self) -> None:
        """Read the page again, or the one being read; selection and scroll position stay."""
        self.listed = None
        self._is_behind = True
        self._run(*(self._reading if self._running() else (self._ran, self._skip)))

    def follow(self, written: Collection[Value]) -> None:
        """Read the page again, but only the histories of some documents, which were written."""
        all_due = self._all_due
        self.refresh()
        self._all_due = all_due
        self._due.update(written)

    def reread_info(self) -> None:
        """Read the facts about the collection again, because its layout changed."""
        self._begin()

    def put(self, query: Query) -> None:
        """Put a query into the bar without running it; if it names no columns, those that a person chose here."""
        self.bar.put(query if query.fields else replace(query, fields=self._columns.chosen()))

    def set_filter(self, filter: str) -> None:
        """Put a filter into the bar and run it."""
        self.bar.set_filter(filter)
        self._run_new()

    def clear_filter(self) -> None:
        """Show all documents."""
        self.set_filter("")
        self.list.setFocus()

    def select(self, id: Value) -> None:
        """Choose a document; if it is not on this page, filter for it."""
        at = self.model.row_of(id)
        if at >= 0:
            self.list.setCurrentIndex(self.model.index(at, 0))
            self.list.scrollTo(self.model.index(at, 0))
            return
        self._wanted = id
        if self._page is not None and not self._running():
            self._go_to_wanted()

    def show_page(self, page: int) -> None:
        """Read another page, numbered from 0."""
        self._run(self._ran, page * self.pager.size)

    def show_json(self, on: bool) -> None:
        """Show the page as Extended JSON, or as a list."""
        self._as_json.setChecked(on)
        self._json_is_new = on
        self._views.setCurrentWidget(self.json if on else self.list)
        if on:
            self._fill_json()

    def explain(self) -> ExplainSheet:
        """Show how the server answers the query in the bar, and which indexes there are."""
        from gui.views.browse.explain_sheet import ExplainSheet

        sheet = ExplainSheet(self, self._session, self.ns, self.bar.query)
        sheet.open()
        return sheet

    def stop(self) -> None:
        """Stop reading."""
        self.reading.stop()

    @property
    def ran(self) -> Query:
        """The query whose documents are listed."""
        return self._ran

    # --- reading

    def _begin(self) -> None:
        session, ns = self._session, self.ns
        tasks.run(
            lambda _: session.documents.opened(ns),
            done=self._info_known,
            failed=self._not_read,
            owner=self,
            key="info",
            title=tr("Reading {ns}", ns=ns),
        )
        self.states.show_loading(tr("Reading {ns}", ns=ns), self.stop)

    def _info_known(self, read: tuple[CollectionInfo, frozenset[str]]) -> None:
        if self._info is not None and self._info.fields != read[0].fields:
            self._telling = None  # by another layout other fields are content
        self._info, self._own = info, _ = read
        self.bar.set_info(info)
        self._run(self._ran if self._page is not None else self.bar.query, self._skip)

    def _run_new(self) -> None:
        self.listed = None
        self._run(self.bar.query, 0)

    def _running(self) -> bool:
        return self.reading.is_on

    def _run(self, query: Query, skip: int) -> None:
        session, ns, limit = self._session, self.ns, self.pager.size
        self._reading, self._all_due = (query, skip), True
        # Other columns do not need another list.
        known = self.listed if replace(query, fields="") == self._listed_by else None
        work = partial(_with_telling, session, ns, query, skip, limit, known, self._telling)
        title = said = tr("Reading {ns}", ns=ns)
        if (
            self._page is not None and query.moment != self._ran.moment
        ):  # the old rows stay until the new ones are there
            then = wording.moment(self._ran.at, exact=True) if self._ran.moment else tr("now")
            said = tr("Reading {ns}; these rows are still as of {then}", ns=ns, then=then)
        self.reading.ask(work, partial(self._show, query, skip), said, title=title)

    def _show(self, query: Query, skip: int, read: tuple[Page, HistoryList | None, tuple[Path, ...]]) -> None:
        page, self.listed, telling = read
        if len(page.rows) > 1 and not query.fields and telling != self._telling:
            self._telling = telling
            self._columns.tell(telling)
        self.bar.say_columns([text.path_text(path) for path in telling])
        self._listed_by = replace(query, fields="")
        if (query, skip) != (self._ran, self._skip) and all(row.id != self._chosen_id for row in page.rows):
            self.list.setCurrentIndex(QModelIndex())  # another list starts at its first row
        self._ran, self._skip, self._page, self._is_behind = query, skip, page, False
        if query == self.bar.query or not self.bar.is_bad:
            self.bar.clear_error()
        self._say_times()
        before, picked = self.row, {row.id for row in self.picked}
        self._note_due(page.rows)
        refit = partial(self.model.set_columns, self._info, query, telling, self._own)
        refill(self.list, self.model, page.rows, refit=refit)
        self._mark_order(query)
        self._pick_again(picked)
        if self._as_json.isChecked():
            self._fill_json()
        note = translated(page.total_note)
        self.pager.show_page(skip, len(page.rows), page.total, note, page.more, page.milliseconds)
        if page.rows:
            self.states.show_content()
            if query.is_of_now:
                self._read_outlines(page, self._in_sight())
                self._read_sizes(self.model.in_part())
            self._read_matches(query, [row.id for row in page.rows if row.readable])
            if page.total is None:
                self._count_longer(query)
        else:
            self._show_empty(query)
        self._choose_after(before)
        self.loaded.emit(page)

    def _read_fields(self) -> None:
        """Read the fields of the collection, once a person types."""
        session, ns = self._session, self.ns
        if self._reading_fields:
            return
        self._reading_fields = True
        tasks.run(
            lambda _: session.queries.fields(ns),
            done=self.bar.show_survey,
            failed=self._no_fields,
            owner=self,
            key="fields",
            title=tr("Reading the fields of {ns}", ns=ns),
        )

    def _no_fields(self, error: BaseException) -> None:
        self._reading_fields = False  # the next typed word asks again
        self.bar.say_fields_unknown(tr("The fields are not known. {describe}", describe=tasks.describe(error)[0]))

    def _count_longer(self, query: Query) -> None:
        """Count again with more time than the page had; the rows are already shown."""
        session, ns, found = self._session, self.ns, self.listed

        def count(progress: tasks.Progress) -> tuple[int | None, str]:
            if found is not None:
                return found.count(progress), ""
            return session.documents.count(ns, query.filter, query.any_version)

        tasks.run(
            count,
            done=partial(self._counted, query),
            failed=self._not_counted,
            cancelled=self._counting_stopped,
            owner=self,
            key="count",
            title=tr("Counting {ns}", ns=ns),
        )

    def _counted(self, query: Query, found: tuple[int | None, str]) -> None:
        page = self._page
        if query == self._ran and page is not None:
            total, note = bounded(query, found[0]), translated(found[1])
            self.pager.show_page(self._skip, len(page.rows), total, note, page.more, page.milliseconds)
            self._say_times()

    def _counting_stopped(self) -> None:
        pass  # the foot already says N/A, with the reason

    def _say_times(self) -> None:
        """Say which time the list shows, and what in it cannot be proven."""
        query, found = self._ran, self.listed
        if query.is_of_now or found is None:
            self.notices.clear("times")
            return
        brief = tr("Deleted documents")
        if query.moment:
            brief = tr("As it stood on {moment}.", moment=wording.moment(query.at, exact=True))
            said = tr(
                "As it stood on {moment} ({zone}), to be read only.",
                moment=wording.moment(query.at, exact=True),
                zone=preferences.zone(),
            )
            if query.at is not None and query.at > dt.datetime.now(dt.UTC):
                said += " " + tr("That is in the future, so the documents are shown as they are now.")
            if doubts := found.doubts:
                each = ". ".join(f"{DOUBTS[kind]}: {wording.count(n)}" for kind, n in doubts.most_common())
                some = wording.many(doubts.total(), "document cannot", "documents cannot")
                said += " " + tr("{some} be proven. {each}.", some=some, each=each)
                brief += " " + tr("{some} be proven.", some=some)
            else:
                said += " " + tr("All documents are proven.")
        else:
            said = tr("Documents that are gone, each with its last version; the one chosen has its history below.")
        said = " ".join([said, *map(translated, found.notes)])
        choices = [(tr("Back to now"), self.bar.back_to_now)]
        if query.moment:
            choices.append((tr("Another time…"), self.bar.choose_time))
        elif not self._session.trust.read_only and self._page is not None and self._page.rows:
            choices.insert(0, (tr("Restore…"), self._restore_chosen))
        self.notices.put("times", "past", said, choices, closable=False, brief=brief if self._is_low else "")

    @property
    def _is_low(self) -> bool:
        """Whether the window has no room for rows beside all the words of a notice."""
        return self.window().height() < theme.px(LOW)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._say_times()

    def _restore_chosen(self) -> None:
        if self.row is not None:
            self.restore_asked.emit(self.row)

    def _not_counted(self, error: BaseException) -> None:
        pass  # the foot already says N/A, with the reason

    def _choose_after(self, before: Row | None) -> None:
        if self._wanted is not None:
            self._go_to_wanted()
        elif not self.model.rows:
            self.chosen.emit(None)
        elif not self.list.currentIndex().isValid():
            at = -1 if self._left is None else self.model.row_of(self._left)
            self.list.setCurrentIndex(self.model.index(max(0, at), 0))
        elif before is not None:
            self.chosen.emit(self.row)  # its document may have a newer version

    def _go_to_wanted(self) -> None:
        wanted, self._wanted = self._wanted, None
        if wanted is None:
            return
        at = self.model.row_of(wanted)
        if at >= 0:
            self.list.setCurrentIndex(self.model.index(at, 0))
            self.list.scrollTo(self.model.index(at, 0))
            return
        filter = f'{{ "{self.model.id_field}": {text.value_text(wanted)} }}'
        if self._ran.filter != filter:
            self.set_filter(filter)

    def _show_empty(self, query: Query) -> None:
        name = self.ns.partition(".")[2]
        if query.moment and not query.filter:
            then = wording.moment(query.at, exact=True)
            self.states.show_empty(
                tr("{name} had no documents then", name=name),
                tr("None of its versions is as old as {then}.", then=then),
                [(tr("Another time…"), self.bar.choose_time)],
                icon="clock-counter-clockwise",
            )
            return
        if query.deleted and not query.filter:
            self.states.show_empty(
                tr("No deleted document is known in {name}", name=name),
                tr("This collection keeps nothing of deleted documents. What Palimpsest deleted is in the journal."),
                [(tr("Open the journal"), self.journal_asked.emit)],
            )
            return
        if not query.filter:
            self.states.show_empty(
                tr("{name} has no documents yet", name=name),
                tr("What is inserted shows up here after a refresh."),
                [(tr("New document…"), self.new_asked.emit)] if not self._session.trust.read_only else [],
            )
            return
        known = self._info.documents if self._info is not None else None
        there = (
            tr("{documents} in {name}. ", documents=wording.many(known, "document is", "documents are"), name=name)
            if known
            else ""
        )
        asked = query.filter if len(query.filter) <= 120 else query.filter[:119] + "…"
        where = tr("in any version of a document") if query.any_version else tr("in the current version of a document")
        where = (
            tr("as it stood then")
            if query.moment
            else tr("in the last version of a document")
            if query.deleted
            else where
        )
        there = there if query.is_of_now else ""
        self.states.show_empty(
            tr("No document matches this filter"),
            tr("{there}The filter asks for {asked} {where}.", there=there, asked=asked, where=where),
            [(tr("Clear the filter"), self.clear_filter)],
        )

    def _not_read(self, error: BaseException) -> None:
        asked = self._reading[0]
        if isinstance(error, Refused) and not isinstance(error, Unreachable | NotFound) and asked != EVERYTHING:
            # The query is wrong: the bar says so below it, and the former rows stay.
            self.bar.show_error(translated(str(error)))
            if self._page is None and asked.is_of_now:
                self._run(EVERYTHING, 0)  # opened with words that never ran: list what was listed while they were typed
                return
            self._say_not_run()
            if self._is_behind and self._reading != (self._ran, self._skip):
                self._run(self._ran, self._skip)
            return
        self.listed = None  # trying again reads it from the start
        self.reading.show_failed(error)
        if self.states.kind != "content":
            self._left, self._page = self._chosen_id or self._left, None
            self.model.fill([])
            self.pager.show_page(0, 0, None, "", False, None)
            self.chosen.emit(None)

    def _unreadable(self) -> None:
        if self.states.kind == "empty" and not self._running():
            self._say_not_run()

    def _say_not_run(self) -> None:
        """Keep the former rows; without any, drop the earlier query's message."""
        if self._page is not None and self._page.rows:
            self.states.show_content()
        else:
            self.states.show_empty(tr("The query did not run"), tr("Correct it above and run it again."), icon="funnel")
            self.pager.show_page(0, 0, None, "", False, None)

    def _again(self) -> None:
        if self._info is None:
            self._begin()
        else:
            self._run(self.bar.query, self._skip)

    def _stopped(self) -> None:
        if self._page is not None and self._page.rows:
            self.states.show_content()
            if self._is_behind:
                self.bar.show_note(tr("Reading was stopped; these rows were read before it."))
        else:
            self.states.show_empty(tr("Stopped"), tr("Nothing was read."), [(tr("Read again"), self._again)])

    def _note_due(self, rows: Sequence[Row]) -> None:
        """Note the documents whose histories must be read: all, or those that changed."""
        before = {row.id: row.raw for row in self.model.rows}
        changed = {row.id for row in rows if before.get(row.id) != row.raw or row.id not in self.model.outlines}
        there = {row.id for row in rows}
        self._due = there if self._all_due else (self._due | changed) & there
        self._all_due = False

    def _read_sizes(self, rows: Sequence[Row]) -> None:
        """Ask for the sizes of documents of which the page has only a part."""
        session, ns = self._session, self.ns
        tasks.drop(self, "sizes")
        if rows:
            read = partial(session.documents.sizes, ns, rows)
            tasks.run(lambda _: read(), done=self.model.put_sizes, failed=_no_sizes, owner=self, key="sizes")

    def _in_sight(self) -> list[Row]:
        """The rows that can be seen now: what a person looks at is read first."""
        top, height = self.list.indexAt(QPoint(0, 0)).row(), self.list.rowHeight(self.model.index(0, 0))
        if top < 0 or height <= 0:  # it is not laid out yet
            return list(self.model.rows)
        return list(self.model.rows[top : top + self.list.viewport().height() // height + 1])

    def _read_outlines(self, page: Page, rows: Sequence[Row]) -> None:
        """Read the histories of these documents of a page, if they are due, and later those of the others."""
        if page is not self._page:
            return
        session, ns, asked = self._session, self.ns, {row.id for row in rows}
        due = [row.id for row in page.rows if row.readable and row.id in self._due]
        ids = [id for id in due if id in asked] or due
        if not ids:
            return

        def read(progress: tasks.Progress) -> None:
            for outline in session.documents.outlines(ns, ids, progress):
                progress.put(outline)

        tasks.run(
            read,
            done=partial(self._outlines_done, page, len(ids) < len(due)),
            failed=self._outlines_failed,
            partial=self._outline_known,
            owner=self,
            key="outlines",
            title=tr("Reading histories of {ns}", ns=ns),
        )

    def _read_matches(self, query: Query, ids: list[Value]) -> None:
        """Find out which versions of the listed documents match the filter, if it searched all versions."""
        session, ns = self._session, self.ns
        tasks.drop(self, "matches")
        if not ids or not query.any_version or not query.filter:
            return

        def look(progress: tasks.Progress) -> None:
            for found in session.documents.matching(ns, ids, query.filter, progress):
                progress.put(found)

        tasks.run(
            look,
            done=self._matches_done,
            failed=self._matches_failed,
            partial=self._matches_known,
            owner=self,
            key="matches",
            title=tr("Looking for the versions found in {ns}", ns=ns),
        )

    def _matches_known(self, found: Matches) -> None:
        self.model.put_matches(found)

    def _matches_failed(self, error: BaseException) -> None:
        self.bar.show_note(tr("The versions found are not known. {describe}", describe=tasks.describe(error)[0]))

    def _outline_known(self, outline: Outline) -> None:
        self._due.discard(outline.id)
        self.model.put_outline(outline)

    def _outlines_done(self, page: Page, more: bool, _: None) -> None:
        if more:
            rest.later(self, partial(self._read_outlines, page, page.rows))

    def _matches_done(self, _: None) -> None:
        pass

    def _outlines_failed(self, error: BaseException) -> None:
        sentence, _ = tasks.describe(error)
        self.bar.show_note(tr("The histories could not be read. {sentence}", sentence=sentence))

    # --- the list

    def _fit_columns(self) -> None:
        header, columns = self.list.header(), self.model.columns
        header.setStretchLastSection(False)
        policy, modes = Qt.ScrollBarPolicy, QHeaderView.ResizeMode
        many = len(self.model.paths) > SCROLLED
        self.list.setHorizontalScrollBarPolicy(policy.ScrollBarAsNeeded if many else policy.ScrollBarAlwaysOff)
        for at, name in enumerate(columns):
            takes_rest = name in ("history", "preview") and not many
            header.setSectionResizeMode(at, modes.Stretch if takes_rest else modes.Interactive)
            self.list.setColumnHidden(at, False)
        if many:
            self.list.resize_columns(())
            for at, name in enumerate(columns):
                header.resizeSection(at, theme.px(self._width(name)))
        else:
            self.list.resize_columns((self._width(name) for name in columns), self._dispensable())
        kept = preferences.remembered_dict(self._widths_kept)
        for at, name in enumerate(columns):
            wide = kept.get(name)  # earlier programs stored a width for a stretching column, too
            if isinstance(wide, int) and wide and header.sectionResizeMode(at) in BY_HAND:
                header.resizeSection(at, wide)
                self.list.keep_columns()

    def _dispensable(self) -> list[int]:
        """The columns that give way in a narrow list, the first one first."""
        columns = self.model.columns
        content = [] if self._ran.fields else [name for name in columns if name.startswith("field:")]
        goes = ["size", *reversed(content[1:]), *([] if "gone" in columns else ["author"])]
        # The timeline has the chosen document's history; without problems the health column says nothing.
        goes += ["history"] if "history" in columns else ["at", "health"]
        if "matches" in columns:
            goes += ["at"]  # people ask which versions were found
        if self.model.paths or "since" in columns or "gone" in columns:
            goes += ["preview"]  # and for the time; the document is shown below
        goes += content[:1]
        return [columns.index(name) for name in dict.fromkeys(goes) if name in columns]

    def _mark_order(self, query: Query) -> None:
        """Show the sort arrow above the column that the order uses, if there is one."""
        pairs = sort_pairs(query.sort) or [(self.model.id_field, False)]
        columns = [self.model.sort_field(name) for name in self.model.columns]
        header = self.list.header()
        at = columns.index(pairs[0][0]) if pairs[0][0] in columns else -1
        header.setSortIndicatorShown(at >= 0)
        if at >= 0:
            way = Qt.SortOrder.DescendingOrder if pairs[0][1] else Qt.SortOrder.AscendingOrder
            header.setSortIndicator(at, way)

    def _sort_by_column(self, at: int) -> None:
        field = self.model.sort_field(self.model.columns[at])
        if field:
            self.bar.sort_by(field)

    def _width(self, name: str) -> int:
        if name == "id" and "history" not in self.model.columns:
            return 210
        return WIDTHS["field" if name.startswith("field:") else name]

    def _column_sized(self, at: int, _: int, wide: int) -> None:
        kept = preferences.remembered_dict(self._widths_kept)
        preferences.remember(self._widths_kept, {**kept, self.model.columns[at]: wide})

    @property
    def _widths_kept(self) -> str:
        """The key under which the widths of these columns are remembered."""
        return f"widths/{','.join(name.partition(':')[0] for name in self.model.columns)}"

    def _current_changed(self, now: QModelIndex, before: QModelIndex) -> None:
        row = self.model.at(now)
        if row is not None:
            self.chosen.emit(row)

    def _pick_again(self, ids: set[Value]) -> None:
        """Select the documents that were selected before a refresh and are still listed."""
        selection, flags = self.list.selectionModel(), QItemSelectionModel.SelectionFlag
        for at, row in enumerate(self.model.rows if len(ids) > 1 else []):
            if row.id in ids:
                selection.select(self.model.index(at, 0), flags.Select | flags.Rows)

    def _say_picked(self) -> None:
        several = len(self.list.selectionModel().selectedRows())
        self._picked_words.setText(tr("{several} picked", several=wording.count(several)) if several > 1 else "")
        self.picked_changed.emit()

    def _activated(self, index: QModelIndex) -> None:
        row = self.model.at(index)
        if row is not None:
            self.open_asked.emit(row.id)

    def _menu(self, at: QPoint) -> None:
        row = self.model.at(self.list.indexAt(at))
        if row is None:
            return
        picked = self.picked
        menu = self.menu_for_many(picked) if len(picked) > 1 and row in picked else self.menu_for(row)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.list.viewport().mapToGlobal(at))

    def menu_for(self, row: Row) -> QMenu:
        """The menu of a document."""
        menu = QMenu(self)
        menu.addAction(tr("Open"), partial(self.open_asked.emit, row.id))
        copies = menu.addMenu(tr("Copy"))
        copies.addAction(tr("Copy the id"), partial(copying.put, wording.copied(row.id)))
        if row.readable:
            copies.addAction(tr("Copy as Extended JSON"), partial(self.copy, [row]))
        self.menu_asked.emit(menu, row)
        return menu

    def menu_for_many(self, rows: Sequence[Row]) -> QMenu:
        """The menu of several documents."""
        menu = QMenu(self)
        menu.addAction(tr("Copy the ids"), partial(copying.put, "\n".join(wording.copied(row.id) for row in rows)))
        named = tr("Copy {documents} as Extended JSON", documents=wording.many(len(rows), "document"))
        menu.addAction(named, partial(self.copy, rows))
        self.many_asked.emit(menu, rows)
        return menu

    def copy(self, rows: Sequence[Row]) -> None:
        """Copy whole documents as Extended JSON: one in several lines, several in a line each."""
        session, ns = self._session, self.ns
        rows = [row for row in rows if row.readable]
        if not rows:
            return
        parts = {row.id for row in self.model.in_part()}
        in_part = self._ran.is_of_now and any(row.id in parts for row in rows)

        def words() -> bytes:
            raws = [session.history.stored(ns, row.raw) for row in rows]
            if in_part:
                raws = [row.raw for row in session.exchange.whole(ns, rows) if row.readable]
            indent = 2 if len(rows) == 1 else None
            return b"\n".join(text.to_utf8(raw, indent) for raw in raws)

        said = tr("Copied as Extended JSON: {documents}", documents=wording.many(len(rows), "document"))
        copying.copy(self, None if in_part else sum(row.bytes for row in rows), words, said)

    def _copy_picked(self) -> None:
        self.copy(self.picked)

    def _fill_json(self) -> None:
        rows = list(self.model.rows)
        tasks.run(lambda _: as_json(rows), done=self._put_json, failed=self._no_json, owner=self, key="json")

    def _put_json(self, shown: tuple[str, list[int]]) -> None:
        said, lines = shown
        place, at = self.json.verticalScrollBar().value(), self.list.currentIndex().row()
        cursor = self.json.textCursor()
        anchor, position = cursor.anchor(), cursor.position()
        end = max(anchor, position)
        before = self.json.toPlainText()[:end] if end else ""
        self.json.setPlainText(said)
        if end and said.startswith(before):  # the selected text is still there
            cursor.setPosition(anchor)
            cursor.setPosition(position, QTextCursor.MoveMode.KeepAnchor)
            self.json.setTextCursor(cursor)
        if self._json_is_new and 0 <= at < len(lines):
            place = lines[at]  # the chosen document, which was in sight in the list
            self.json.setTextCursor(QTextCursor(self.json.document().findBlockByNumber(place)))
        self._json_is_new = False
        self.json.verticalScrollBar().setValue(place)

    def _no_json(self, error: BaseException) -> None:
        self.json.setPlainText(f"// {tasks.describe(error)[0]}")

    # --- choices

    def _size_chosen(self, size: int) -> None:
        preferences.put("page_size", size)
        self._run(self._ran, self._skip // size * size)

    def _preference_changed(self, name: str) -> None:
        if name == "zone":
            self.model.forget_cells()
            self.list.viewport().update()
        elif name == "rows":
            self.list.set_row_height(_row_height())
        elif name == "page_size" and self.pager.size != int(preferences.get("page_size")):
            self.pager.set_size(int(preferences.get("page_size")))

    def _restyle(self) -> None:
        self.list.viewport().update()


def _row_height() -> int:
    """The height of a row that a person chose, in u."""
    return HEIGHTS.get(str(preferences.get("rows")), HEIGHTS["compact"])


def _page(
    session: Session,
    ns: str,
    query: Query,
    skip: int,
    limit: int,
    known: HistoryList | None,
    progress: tasks.Progress,
) -> tuple[Page, HistoryList | None]:
    """A page of a query's list. A list of the past comes from histories, maybe ``known``, and is returned too."""
    most = min(limit, query.limit - skip) if query.limit else limit
    if not query.is_of_now:
        found = known or listed(session, ns, query)
        return within(query, found.page(query.skip + skip, most, progress)), found
    page = session.documents.page(
        ns,
        query.filter,
        query.sort,
        query.fields,
        query.skip + skip,
        most,
        any_version=query.any_version,
        checkpoint=progress,
    )
    return within(query, page), None


def _with_telling(
    session: Session,
    ns: str,
    query: Query,
    skip: int,
    limit: int,
    known: HistoryList | None,
    telling: tuple[Path, ...] | None,
    progress: tasks.Progress,
) -> tuple[Page, HistoryList | None, tuple[Path, ...]]:
    """A page, and the fields that tell its documents apart: they are columns from the first moment."""
    page, found = _page(session, ns, query, skip, limit, known, progress)
    if not query.fields:
        telling = session.documents.telling(ns, page.rows, telling)
    return page, found, telling or ()


def bounded(query: Query, found: int | None) -> int | None:
    """How many of the documents found by its filter a query lists."""
    if found is None:
        return None
    left = max(0, found - query.skip)
    return min(left, query.limit) if query.limit else left


def within(query: Query, page: Page) -> Page:
    """A page within the query's bounds: positions count from the first listed document."""
    skip = page.skip - query.skip
    ends = bool(query.limit) and skip + len(page.rows) >= query.limit
    return replace(page, skip=skip, total=bounded(query, page.total), more=page.more and not ends)


def _no_sizes(_: BaseException) -> None:
    """The rows say that they are at least as large as what was read."""
