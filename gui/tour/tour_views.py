"""The views of the tour, each reached as a person would reach it, in one window over the sample."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

from PySide6.QtCore import QEvent, QEventLoop, QItemSelectionModel, QTimer
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from gui import tasks
from gui.language import tr
from gui.messages import MessageLine, Question
from gui.pages.activity_page import ActivityPage
from gui.pages.base import Page
from gui.pages.collection_page import CollectionPage
from gui.pages.collections_page import CollectionsPage
from gui.pages.document_pages import DocumentPage, MergePage
from gui.pages.history_pages import BlamePage, ChangeMapPage, FieldPage
from gui.pages.page_request import ConditionStart, FieldStart, PageRequest
from gui.pages.pair_page import PairPage
from gui.pages.repair_pages import RepairPage, TakingBackPage
from gui.pages.times_page import TimesPage
from gui.pages.tool_pages import JournalPage, MigratePage, PendingPage
from gui.parts.document_side import DocumentSide
from gui.parts.values.value_pane import ValueDialog
from gui.style.states import PATIENCE, StateView
from gui.tour.gallery import Gallery
from gui.tour.outage import Outage
from gui.views.activity.activity_model import AUTHOR
from gui.views.browse.time_sheet import TimeSheet
from gui.views.compare.restore_sheet import RestoreSheet
from gui.views.edit.editor_parts import BOTH
from gui.views.repair.erasing_sheet import ErasingSheet
from gui.views.repair.retention_sheet import RetentionSheet
from gui.window.connect_dialog import ConnectDialog
from gui.window.connection_watch import ConnectionWatch
from gui.window.opening import Opening
from gui.window.window import Window
from model import text
from model.errors import Refused
from model.foundation.records import Draft
from model.session import Session
from model.userdata.connections import Connections, SavedConnection
from model.values import canonical
from model.values.canonical import Value

NS, ID = "insurance.contracts", "K-204117"
PARTNERS = "insurance.partners"  # of which some are in insurance_2019 too
LONG, CROSSHAIR = "K-118240", ("premium.gross", 43)  # the change map's document, and its crosshair
UNPROVEN, REASONED = "K-204120", "insurance.customers"
THEN, GONE = dt.datetime(2026, 11, 18, 20, tzinfo=dt.UTC), "K-204115"
"""A time of the sample with a document that cannot be proven, and the document that is shown as deleted."""
SOUND, ABSENT = "insurance.customers", "nobody wrote this"  # a sound collection, and words that no search finds
LEFT = 11  # the row of a document that is not shown elsewhere
STATED = "K-204109"  # the document shown in each state
OTHERS = (
    ("payload", "shop.posts", "6b030fefec6ce9378f3274c4", ("16", "18")),
    ("javers", "shop.items", "K-2", ("18", "19")),
)
"""Histories written by other programs: the example, its collection, the document and the versions shown."""
BASE = "12"  # the version that the unsaved edit began from
EDITS = {
    ("billing", "interval"): '"quarterly"',
    ("deductible",): '{"$numberDecimal": "250.00"}',
    ("notes",): '"Roof redone 2024. Call ahead."',
}
LONGEST = 600_000  # milliseconds that one view may take; a busy computer can need minutes
SOON = 1000  # milliseconds; longer timers are for people, not for work
ROUNDS = 5  # late texts are shown in the first, get their height in the second, move others in the third
QUIET = 60  # milliseconds without a task before a view counts as complete


def settle(done: Callable[[], bool] | None = None) -> None:
    """Wait until nothing is running and ``done`` holds; raises ``Refused`` if that takes too long."""
    loop = QEventLoop()
    quiet, limit = QTimer(), QTimer()
    quiet.setInterval(QUIET)
    limit.setSingleShot(True)
    late: list[bool] = []

    def look() -> None:
        if not tasks.tasks.running and not _about_to() and (done is None or done()):
            loop.quit()

    def give_up() -> None:
        late.append(True)
        loop.quit()

    quiet.timeout.connect(look)
    limit.timeout.connect(give_up)
    quiet.start()
    limit.start(LONGEST)
    loop.exec()
    for _ in range(ROUNDS):
        QApplication.processEvents()
    if late:
        raise Refused(f"A view was not complete within {LONGEST // 60_000} minutes; this computer is too busy for it.")


def _about_to() -> bool:
    """Whether a panel is about to start something, such as reading what saving would send."""
    timers = (timer for widget in QApplication.topLevelWidgets() for timer in widget.findChildren(QTimer))
    return any(timer.isSingleShot() and timer.isActive() and timer.interval() <= SOON for timer in timers)


class TourViews:
    """One window, taken through its views."""

    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size
        now = dt.datetime.now(dt.UTC)
        self._saved = (
            SavedConnection("staging", "mongodb://stg-db-1,stg-db-2,stg-db-3/", last_used=now),
            SavedConnection("production", "mongodb+srv://claims.db.example/", True, True, now - dt.timedelta(days=1)),
            SavedConnection("dump 2026-11-19", "~/dumps/2026-11-19/insurance", last_used=now - dt.timedelta(days=2)),
        )
        for saved in reversed(self._saved):
            Connections().save(saved)
        self.window = Window(source_follows=True)
        self.window.resize(*size)
        self.window.show()
        self._gallery: Gallery | None = None

    def close(self) -> None:
        """Close the window and the sample."""
        self.window.close_quietly()
        if self._gallery is not None:
            self._gallery.deleteLater()

    @property
    def _session(self) -> Session:
        return self.window.sessions[0]

    def views(self) -> Iterator[tuple[str, QWidget]]:
        """Each view's name, and the widget that shows it now."""
        window = self.window
        window.resize(*self._size)
        window.workspace.begin(
            Opening("mongodb+srv://claims.db.example/"), tr("Connecting to {title}", title="production")
        )
        settle()
        yield "opening", window
        window.workspace.end()
        window.workspace.welcome.set_recent(self._saved)
        window.workspace.show_welcome()
        settle()
        yield "welcome", window
        window.connecting.ask(Opening("mongodb+srv://claims.db.example/", "production", True, True))
        settle()
        yield "connect", window
        dialog = window.findChildren(ConnectDialog)[-1]
        dialog.uri.setText("mongodb://eva:secret@127.0.0.1:9/shop?tls=true&authMechanism=MONGODB-AWS")
        dialog.show_part(tr("Login"))
        yield "connect-login", self._still()
        dialog.show_part("TLS")
        dialog.test.click()
        yield "connect-test", self._still()
        dialog.ssh.setText("eva@bastion")
        dialog.show_part("SSH")
        yield "connect-ssh", self._still()
        self._close_sheets()
        window.connecting.open_sample()
        settle(lambda: bool(window.sessions) and isinstance(window.workspace.tab_area.page, CollectionPage))
        self._outage = Outage(self._session)
        yield "main", window
        yield from self._browsing()
        yield from self._restoring()
        yield from self._giving_reasons()
        yield from self._editing()
        yield from self._in_each_state()
        yield from self._following()
        yield from self._tools()
        for other in OTHERS:
            yield from self._another_program(*other)
        yield from self._contradicted()
        window.commands.do_settings()
        yield "settings", self._still()
        self._close_sheets()
        window.commands.do_about()
        yield "about", self._still()
        self._close_sheets()
        window.commands.do_palette()
        yield "palette", self._still()
        self._close_sheets()
        window.commands.do_shortcuts()
        yield "keys", self._still()
        self._close_sheets()
        window.actions_.trigger("help")
        help = window.commands.help
        assert help is not None
        help.resize(*self._size)
        settle()
        yield "help", help
        help.hide()
        self._gallery = Gallery()
        self._gallery.resize(*self._size)
        self._gallery.show()
        settle()
        yield "states", self._gallery
        self._gallery.hide()

    def _browsing(self) -> Iterator[tuple[str, QWidget]]:
        page = self.window.workspace.tab_area.page
        assert isinstance(page, CollectionPage)
        for kind in ("journal", "health", "check"):
            self.window.workspace.open(self._session, PageRequest(kind))
            yield f"{kind}-empty", self._still()
            self.window.commands.do_close_tab()
        page.timeline.as_list.click()
        page.sight_asked.emit(page.timeline)
        yield "history", self._still()
        page.timeline.as_list.click()
        page.diff.read_in_words()
        settle()
        words = self.window.findChild(ValueDialog)
        assert words is not None
        settle(lambda: words.pane.sides.left.value is not None)
        yield "words", words
        words.reject()
        page.timeline.show_alone(2)
        page.sight_asked.emit(page.diff)
        yield "version", self._still()
        session = self._session
        page.timeline.set_ab(
            *(session.catalogue.reading.find_version(NS, session.documents.find_id(NS, ID), v) for v in ("11", "14"))
        )
        settle()
        page.diff.set_inline(True)
        page.diff.hide_path(("premium", "gross"))
        yield "diff-inline", self._still()
        page.diff.do_hidden_fields()
        yield "diff-hidden", self._still()
        self._close_sheets()
        page.diff.set_inline(False)
        page.diff.show_again(None)
        sheet = self.window.commands.state_layout(self._session, "insurance.claims")
        settle(lambda: bool(sheet.form.rows))
        sheet.form.rows["author"].put("signedBy")  # which no document has
        yield "layout", self._still()
        self._close_sheets()
        plain = self.window.workspace.open(self._session, PageRequest("collection", "reporting.texts"))
        assert isinstance(plain, CollectionPage)
        settle(lambda: plain.diff.document.opened is not None)
        plain.show_document(Value.of("letter"))
        settle()
        plain.diff.document.reveal(("body",))
        plain.diff.document.toggle_value()
        plain.sight_asked.emit(plain.diff)
        yield "document", self._still()
        self.window.workspace.open(self._session, PageRequest("collection", "insurance.contracts_history"))
        yield "archive", self._still()
        for _ in range(2):
            self.window.commands.do_close_tab()
        self.window.workspace.open(self._session, PageRequest("collection", NS))
        page.sight_asked.emit(page.browser)
        page.browser.show_json(True)
        yield "json", self._still()
        page.browser.show_json(False)
        page.browser.set_filter('{ "status": "activ" }')
        settle()
        yield "empty", self.window
        page.browser.bar.set_filter('{ "status": "active"')
        page.browser.bar.run_button.click()
        yield "bad-filter", self._still()
        page.browser.clear_filter()
        settle()
        yield from self._without_content("list", page)
        yield from self._in_the_way("list", page, partial(self._delete, page), NS)
        page.browser.list.setCurrentIndex(page.browser.model.index(0, 0))
        yield from self._querying(page)

    def _querying(self, page: CollectionPage) -> Iterator[tuple[str, QWidget]]:
        bar = page.browser.bar
        bar.input.setFocus()
        bar.fields_wanted.emit()
        settle()
        bar.input.setText("{ status: 'active', prem")
        bar.input.textEdited.emit(bar.input.text())
        yield "completion", self._still()
        bar.input.clear()
        bar.input.textEdited.emit("")
        page.browser.set_filter('{ "status": "active" }')
        bar.choose("columns")
        yield "columns", self._still()
        self._close_sheets()
        page.browser.explain()
        yield "explain", self._still()
        self._close_sheets()
        page.browser.clear_filter()
        settle()
        yield from self._batches(page)
        yield from self._over_time(page)
        yield from self._two_collections()

    def _over_time(self, page: CollectionPage) -> Iterator[tuple[str, QWidget]]:
        """The collection at a past time, two times of it, and its deleted documents."""
        session, window, bar = self._session, self.window, page.browser.bar
        bar.choose_time()
        sheet = next(each for each in page.window().findChildren(TimeSheet) if each.isVisible())
        sheet.line.put(THEN)
        yield "as-of-time", self._still()
        sheet.show_then.click()
        settle(lambda: page.browser.ran.at == THEN)
        page.show_document(Value.of(UNPROVEN))
        yield "as-of", self._still()
        page.do_two_times()
        times = window.workspace.tab_area.page
        assert isinstance(times, TimesPage)
        yield "two-times-first", self._still()
        for line, years in ((times.panel.first, 30), (times.panel.then, 29)):
            line.put(THEN - years * dt.timedelta(days=365))
        times.panel.run.click()
        yield "two-times-empty", self._still()
        times.panel.first.put(THEN)
        times.panel.then.put(THEN + dt.timedelta(days=2))
        times.panel.run.click()
        settle(lambda: bool(times.panel.model.rows))
        yield "two-times", self._still()
        yield from self._without_content("two-times", times)
        yield from self._in_the_way("two-times", times)
        window.commands.do_close_tab()
        gone = session.documents.find_id(NS, GONE)
        session.writing.delete(NS, gone, session.history.version(NS, gone))
        bar.toggle_deleted()
        settle(lambda: len(page.browser.model.rows) > 1)
        yield "deleted", self._still()
        entry = next(each for each in session.journal.entries(source=session.source) if each.action == "delete")
        session.way_back.undo(entry.id)
        bar.back_to_now()
        settle(lambda: page.browser.ran.is_of_now)

    def _two_collections(self) -> Iterator[tuple[str, QWidget]]:
        self.window.workspace.open(self._session, PageRequest("collection", PARTNERS))
        self.window.commands.do_two_collections()
        page = self.window.workspace.tab_area.page
        assert isinstance(page, CollectionsPage)
        yield "two-collections-first", self._still()
        other = page.panel.collection.text()
        page.panel.collection.setText(PARTNERS)
        page.panel.compare()
        settle()
        yield "two-collections-empty", self._still()
        page.panel.collection.setText(other)
        page.panel.compare()
        settle(lambda: bool(page.panel.counts))
        page.panel.model.tick([row for row in page.panel.model.rows if row.change == "behind"], on=True)
        yield "two-collections", self._still()
        page.panel.ways.aboutToShow.emit()
        page.panel.ways.actions()[1].trigger()  # to this one, which lacks them
        settle(lambda: isinstance(self.window.workspace.tab_area.page, TakingBackPage))
        yield "copies", self._still()
        self.window.commands.do_close_tab()
        yield from self._without_content("two-collections", page)
        yield from self._in_the_way("two-collections", page)
        for _ in range(2):
            self.window.commands.do_close_tab()

    def _batches(self, page: CollectionPage) -> Iterator[tuple[str, QWidget]]:
        flags = QItemSelectionModel.SelectionFlag
        for at in (1, 4):
            page.browser.list.selectionModel().select(page.browser.model.index(at, 0), flags.Select | flags.Rows)
        page.do_delete_picked()
        yield "delete-picked", self._still()
        self._close_sheets()
        page.do_compare_picked()
        yield "pair", self._still()
        yield from self._of_front("pair")
        pair = self.window.workspace.page
        assert isinstance(pair, PairPage)
        left, right = pair.panel.left, pair.panel.right
        pair.panel.show_pair(left, left)
        yield "pair-empty", self._still()
        pair.panel.show_pair(left, right)
        settle()
        self.window.commands.choose_other(DocumentSide(self._session, NS, Value.of(ID)), "b")
        yield "other-document", self._still()
        self._close_sheets()
        self.window.commands.do_close_tab()
        page.do_erase()
        erasing = next(each for each in self.window.findChildren(ErasingSheet) if each.isVisible())
        erasing.paths.setText("holder")
        erasing.look.click()
        settle(lambda: bool(erasing.found.text()))
        yield "erasing", self._still()
        self._close_sheets()
        page.do_retain()
        rule = next(each for each in self.window.findChildren(RetentionSheet) if each.isVisible())
        rule.keep.setText("2")
        yield "retention-rule", self._still()
        rule.show_plan.click()
        settle(lambda: isinstance(self.window.workspace.tab_area.page, TakingBackPage))
        yield "retention", self._still()
        self.window.commands.do_close_tab()
        row = page.browser.picked[0]
        new = canonical.document([("_id", Value.of("K-900001")), *canonical.fields(row.raw)[1:]])
        page.batches.insert(lambda: [new, row.raw], "contracts.jsonl")
        yield "import", self._still()
        self._close_sheets()
        page.do_new_document()
        yield "new-document", self._still()
        self._close_sheets()
        page.do_delete()
        settle(lambda: bool(self.window.findChildren(Question)))
        yield "delete", self._still()
        self._close_sheets()
        page.browser.list.setCurrentIndex(page.browser.model.index(0, 0))

    def _giving_reasons(self) -> Iterator[tuple[str, QWidget]]:
        """An edit with its reason, in a collection with a stated field for it."""
        session, window = self._session, self.window
        texts = {**session.statements.begin(REASONED).texts, "reason": "why"}
        entry, _ = session.statements.entry(texts)
        session.statements.use(REASONED, entry)
        row = next(iter(session.documents.page(REASONED, limit=1).rows))
        page = window.workspace.open(session, PageRequest("document", REASONED, row.id))
        assert isinstance(page, DocumentPage)
        settle(lambda: page.editor.is_loaded)
        first = next(iter(canonical.fields(page.editor.content)))[0]
        other = canonical.put(canonical.EMPTY, (first,), Value.of("transferred"))
        page.editor.take_over(other, (first,), "the letter")
        page.editor.foot.reason.setText("Moved to the agency in Bremen, letter of 17 November")
        page.editor.foot.reason.setCursorPosition(0)
        self._close_messages()
        yield "reason", self._still()
        page.editor.discard()
        window.workspace.tab_area.close_page(page)
        session.statements.forget(REASONED)

    def _editing(self) -> Iterator[tuple[str, QWidget]]:
        session, window = self._session, self.window
        id = session.documents.find_id(NS, ID)
        window.workspace.open(session, PageRequest("drafts"))
        yield "drafts-empty", self._still()
        window.commands.do_close_tab()
        page = self._edit(id, "")
        yield "editor", window
        page.editor.head.last_set.click()
        yield "editor-last-set", self._still()
        page.editor.head.last_set.click()
        page.editor.show_json(True)
        yield "editor-json", self._still()
        page.editor.show_view(BOTH)
        page.editor.reveal(("holder", "phone"))
        yield "editor-both", self._still()
        page.editor.show_json(False)
        page.editor.find("phone")
        page.do_replace()
        yield "replace", self._still()
        page.editor.replacing.hide()
        page.editor.find("")
        window.workspace.open(session, PageRequest("drafts"))
        yield "drafts", self._still()
        yield from self._of_front("drafts")
        window.commands.do_close_tab()
        window.workspace.tab_area.close_page(page)
        page = self._edit(id, BASE)
        page.do_save()
        settle(lambda: page.prompt is not None)
        yield "prompt", window
        assert page.prompt is not None
        page.prompt.buttons["review"].click()
        settle(lambda: isinstance(window.workspace.tab_area.page, MergePage))
        yield "resolver", window
        merging = window.workspace.tab_area.page
        assert isinstance(merging, MergePage)
        yield from self._in_the_way("resolver", merging)
        merging.resolver.choose_all("mine")
        settle(lambda: not merging.resolver.save_reason)
        yield from self._unknown("resolver-unknown", merging, merging.resolver.save, NS)

    def _restoring(self) -> Iterator[tuple[str, QWidget]]:
        session, page = self._session, self.window.workspace.tab_area.page
        assert isinstance(page, CollectionPage)
        id = session.documents.find_id(NS, ID)
        page.writes.restore(id, session.catalogue.reading.find_version(NS, id, "11"))
        settle(lambda: bool(self.window.findChildren(RestoreSheet)))
        yield "restore", self._still()
        self._close_sheets()

    def _another_program(self, name: str, ns: str, id: str, compared: tuple[str, str]) -> Iterator[tuple[str, QWidget]]:
        """A history written by another program, from a small dump of its database."""
        window, open_ones = self.window, len(self.window.sessions)
        with as_file(files("resources").joinpath("examples", name)) as folder:
            window.connecting.open(Opening(str(folder), read_only=True))
            settle(lambda: len(window.sessions) > open_ones)
            session = window.sessions[-1]
            found = session.documents.find_id(ns, id)
            page = window.workspace.open(session, PageRequest("collection", ns, found))
            assert isinstance(page, CollectionPage)
            settle(lambda: bool(page.timeline.model.versions))
            page.timeline.set_ab(*(session.catalogue.reading.find_version(ns, found, v) for v in compared))
            page.sight_asked.emit(page.diff)
            yield name, self._still()
            page.timeline.as_list.click()
            page.sight_asked.emit(page.timeline)
            yield f"{name}-list", self._still()
            page.timeline.as_list.click()
            window.connecting.disconnect_session(session)
            settle(lambda: len(window.sessions) == open_ones)

    def _in_each_state(self) -> Iterator[tuple[str, QWidget]]:
        """The states of a page that people rarely see."""
        session, window = self._session, self.window
        id = session.documents.find_id(NS, STATED)
        page = window.workspace.open(session, PageRequest("document", NS, id))
        assert isinstance(page, DocumentPage)
        settle(lambda: page.editor.is_loaded)
        yield from self._read_only("read-only", page)
        yield from self._offline("offline", page)
        other = canonical.put(canonical.EMPTY, ("status",), Value.of("lapsed"))
        page.editor.take_over(other, ("status",), "the letter")
        self._close_messages()
        yield from self._unknown("unknown", page, page.do_save, NS)
        page.editor.discard()
        window.workspace.tab_area.close_page(page)
        self._outage.silence()
        unread = window.workspace.open(session, PageRequest("document", NS, id))
        yield "failed", self._still()
        self._try_again(unread)
        yield "loading", self._waiting()
        self._outage.end()
        settle()
        window.workspace.tab_area.close_page(unread)

    def _contradicted(self) -> Iterator[tuple[str, QWidget]]:
        """A document in a collection whose profile states a version that no document has."""
        session, statements = self._session, self._session.statements
        entry, _ = statements.entry({**statements.begin(NS).texts, "version": "revision"})
        with TemporaryDirectory() as folder:
            session.statements.keep(statements.in_file(Path(folder, "profile.toml"), NS, entry), NS)
        page = self.window.workspace.open(session, PageRequest("document", NS, session.documents.find_id(NS, STATED)))
        assert isinstance(page, DocumentPage)
        settle(lambda: page.editor.is_loaded)
        yield "doubt", self._still()
        self.window.workspace.tab_area.close_page(page)
        statements.forget(NS)

    def _of_front(
        self, name: str, write: Callable[[], object] | None = None, ns: str = ""
    ) -> Iterator[tuple[str, QWidget]]:
        page = self.window.workspace.tab_area.page
        assert page is not None
        yield from self._without_content(name, page)
        yield from self._in_the_way(name, page, write, ns)

    def _in_the_way(
        self, name: str, page: Page, write: Callable[[], object] | None = None, ns: str = ""
    ) -> Iterator[tuple[str, QWidget]]:
        """A view on a read-only connection, on a lost one, and after a write with unknown outcome."""
        yield from self._read_only(f"{name}-read-only", page)
        yield from self._offline(f"{name}-offline", page)
        if write is not None:
            yield from self._unknown(f"{name}-unknown", page, write, ns)

    def _unknown(
        self, name: str, page: Page, write: Callable[[], object], ns: str = ""
    ) -> Iterator[tuple[str, QWidget]]:
        """A view after a write with unknown outcome; then the write is looked for."""

        def lose() -> None:
            self._outage.lose_write(ns)
            write()
            settle()

        yield from self._unanswered(name, page, lose)
        lines = (each for each in self.window.findChildren(MessageLine) if each.kind == "unknown" and each.isVisible())
        if (line := next(lines, None)) is not None:
            line.buttons[0].click()
        settle()
        self._close_messages()

    def _delete(self, page: CollectionPage) -> None:
        page.browser.list.setCurrentIndex(page.browser.model.index(LEFT, 0))
        settle()
        page.do_delete()
        settle(lambda: bool(self.window.findChildren(Question)))
        self._agree()

    def _agree(self) -> None:
        """Answer yes to the open question."""
        question = next(each for each in self.window.findChildren(Question) if each.isVisible())
        if question.field is not None:
            question.field.setText(question._typed)
        question.verb.click()

    def _read_only(self, name: str, page: Page) -> Iterator[tuple[str, QWidget]]:
        """A page on a connection that allows no writes."""
        window = self.window
        window.commands.do_allow_writes()
        yield name, self._still()
        self._session.trust.read_only = False
        page.writes_changed()
        window.update_state()
        self._close_messages()

    def _offline(self, name: str, page: Page) -> Iterator[tuple[str, QWidget]]:
        """A page whose server stopped answering."""
        yield from self._unanswered(name, page, self._outage.silence)

    def _unanswered(self, name: str, page: Page, begin: Callable[[], object]) -> Iterator[tuple[str, QWidget]]:
        """A page during an outage; then the server answers again."""
        with self._watched(page) as watch:
            begin()
            watch.ask()
            settle()
            watch._timer.stop()  # no second passes in a picture
            yield name, self.window
            self._outage.end()
            watch.ask()
            settle()

    @contextmanager
    def _watched(self, page: Page) -> Iterator[ConnectionWatch]:
        """A watch over the sample, as if it were a remote server."""
        watch = ConnectionWatch(self._session, page)
        watch._timer.stop()  # it asks when the tour says so
        watch.changed.connect(self.window.update_state)
        watch.found.connect(page.after_silence)
        self.window._sessions._watches[id(self._session)] = watch
        yield watch
        del self.window._sessions._watches[id(self._session)]
        watch.deleteLater()

    def _without_content(
        self, name: str, page: Page, read: Callable[[], object] | None = None
    ) -> Iterator[tuple[str, QWidget]]:
        """A view whose content may not be read, and one that reads it for the first time after Try again."""
        self._outage.deny()
        (read or page.do_refresh)()
        settle()
        yield f"{name}-failed", self.window
        self._try_again(page)
        yield f"{name}-loading", self._waiting()
        self._outage.end()
        settle()

    def _try_again(self, page: Page) -> None:
        """Press the state's button, and let the reading wait."""
        offered = (each for state in page.findChildren(StateView) for each in state.findChildren(QPushButton))
        again = next(each for each in offered if each.isVisible() and each.text() == tr("Try again"))
        self._outage.hold()
        again.click()

    def _waiting(self) -> QWidget:
        """The window, once it says that it waits."""
        loop = QEventLoop()
        QTimer.singleShot(PATIENCE + QUIET, loop.quit)
        loop.exec()
        QApplication.sendPostedEvents()  # the button that came last gets its place only now
        return self.window

    def _edit(self, id: Value, base: str) -> DocumentPage:
        """Open an unsaved edit that began from a version; "" is the current one."""
        session, window = self._session, self.window
        v = session.catalogue.reading.find_version(NS, id, base) if base else None
        began = session.history.version(NS, id, v)
        content = began.content or canonical.EMPTY
        edited = content
        for path, value in EDITS.items():
            edited = canonical.put(edited, path, text.value_from_text(value))
        session.drafts.keep(Draft(session.source, NS, id, began.v, content, edited, dt.datetime.now(dt.UTC)))
        page = window.workspace.open(session, PageRequest("document", NS, id))
        assert isinstance(page, DocumentPage)
        settle(lambda: page.editor.is_loaded)
        self._close_messages()
        return page

    def _following(self) -> Iterator[tuple[str, QWidget]]:
        session, window = self._session, self.window
        id = session.documents.find_id(NS, LONG)
        page = window.workspace.open(session, PageRequest("map", NS, id))
        assert isinstance(page, ChangeMapPage)
        panel = page.panel
        settle(lambda: panel.model.chain.complete)
        panel.grid.setFocus()
        row = next(at for at, one in enumerate(panel.model.rows) if one.name == CROSSHAIR[0])
        panel.grid.go(row, CROSSHAIR[1] - 1)
        yield "change-map", self._still()
        yield from self._of_front("change-map")
        blamed = window.workspace.open(session, PageRequest("blame", NS, id))
        assert isinstance(blamed, BlamePage)
        yield "blame", self._still()
        blamed.panel.search.setText(ABSENT)
        yield "blame-empty", self._still()
        blamed.panel.search.clear()
        yield from self._of_front("blame")
        followed = window.workspace.open(session, PageRequest("field", NS, id, FieldStart(("premium", "gross"))))
        assert isinstance(followed, FieldPage)
        yield "field", self._still()
        followed.panel.search.setText(ABSENT)
        yield "field-empty", self._still()
        followed.panel.search.clear()
        yield from self._of_front("field")
        never = window.workspace.open(session, PageRequest("bisect", NS, id, ConditionStart('{ "status": "sold" }')))
        yield "bisect-empty", self._still()
        window.workspace.tab_area.close_page(never)
        window.workspace.open(session, PageRequest("bisect", NS, id, ConditionStart('{ "riders": { $size: 2 } }')))
        yield "bisect", self._still()
        yield from self._of_front("bisect")
        yield from self._activity()
        listed = window.workspace.open(session, PageRequest("collection", NS))
        assert isinstance(listed, CollectionPage)
        listed.browser.bar._any.click()
        listed.browser.set_filter('{ "premium.gross": { "$gte": 500 } }')
        settle(lambda: bool(listed.browser.model.matches))
        yield "found-in", window
        listed.browser.bar._current.click()
        listed.browser.clear_filter()
        settle()

    def _activity(self) -> Iterator[tuple[str, QWidget]]:
        window = self.window
        self._outage.silence()
        page = window.workspace.open(self._session, PageRequest("activity", "insurance.claims"))
        assert isinstance(page, ActivityPage)
        panel = page.panel
        yield "activity-failed", self._still()
        self._try_again(page)
        yield "activity-loading", self._waiting()
        self._outage.end()
        yield "activity", self._still()
        yield from self._in_the_way("activity", page)
        panel.grouping.button(AUTHOR).click()
        assert panel.newest is not None
        panel.choose_day(panel.newest.days[-1][0])
        yield "activity-day", self._still()
        yield from self._taking_back(page)
        yield from self._live(page)
        panel.choose_day(None)
        panel.filter.author.setText("hb-9")
        panel.look()
        yield "activity-empty", self._still()
        window.workspace.tab_area.close_page(page)

    def _live(self, page: ActivityPage) -> Iterator[tuple[str, QWidget]]:
        """New versions, as if the sample's were written now; two more wait because a row is chosen."""
        assert page.panel.newest is not None
        rows = page.panel.newest.rows[:22]
        page.show_live()
        live = page.live
        assert live is not None
        settle(lambda: live.since is not None)
        yield "activity-live-empty", self._still()
        yield from self._in_the_way("activity-live", page)
        live.pause_button.click()
        live.take(rows[:1:-1])
        live.view.setCurrentIndex(live.model.index(1, 0))
        live.take(rows[1::-1])
        yield "activity-live", self._still()
        page.show_past()

    def _taking_back(self, page: ActivityPage) -> Iterator[tuple[str, QWidget]]:
        """Taking back what an import did on one day: the plan only, nothing is written."""
        page.panel.choose_day(None)
        page.panel.filter.author.setText("import-7")
        page.panel.filter.since.setText("2026-11-10")
        page.panel.look()
        settle()
        page.panel.tree.selectAll()
        page.panel.take_back_button.click()
        plan = self.window.workspace.page
        assert isinstance(plan, TakingBackPage)
        settle()
        plan.panel.list.setCurrentIndex(plan.panel.model.index(1, 1))
        yield "take-back", self._still()
        yield from self._of_front("take-back")
        plan.panel.list.setCurrentIndex(plan.panel.model.index(0, 1))
        yield "take-back-later-edit", self._still()
        yield from self._unknown("take-back-unknown", plan, plan.panel.go.click)
        self.window.workspace.tab_area.close_page(plan)
        page.panel.filter.since.clear()

    def _tools(self) -> Iterator[tuple[str, QWidget]]:
        session, window = self._session, self.window
        undone = session.edit(NS, "K-204111", set={"status": "lapsed"})
        assert undone.entry is not None
        session.way_back.undo(undone.entry)
        outcome = session.edit(NS, "K-204118", set={"status": "suspended"})
        page = window.workspace.open(session, PageRequest("pending"))
        yield "pending", self._still()
        yield from self._of_front("pending")
        assert isinstance(page, PendingPage)
        page.panel.search.setText(ABSENT)
        yield "pending-empty", self._still()
        page.panel.search.clear()
        page.panel.preview.dropping.click()
        page.panel.model.tick([row for row in page.panel.model.rows if not row.stale], True)
        page.panel.drop.click()
        yield "pending-drop", self._still()
        yield from self._unknown("pending-unknown", page, self._agree)
        counted = window.workspace.open(session, PageRequest("collection", "reporting.campaigns"))
        assert isinstance(counted, CollectionPage)
        settle(lambda: counted.id is not None)
        counted.do_process_entry()
        yield "process-entry", self._still()
        self._close_sheets()
        noted = window.workspace.open(session, PageRequest("journal"))
        yield "journal", self._still()
        assert isinstance(noted, JournalPage)
        edit = next(at for at, each in enumerate(noted.panel.model.rows) if each.id == outcome.entry)
        noted.panel.list.setCurrentIndex(noted.panel.model.index(edit, 0))
        yield from self._of_front("journal", noted.panel.undo.click, NS)
        moving = window.workspace.open(session, PageRequest("migrate", "insurance.claims"))
        assert isinstance(moving, MigratePage)
        moving.panel.layout_choice.setCurrentIndex(moving.panel.layout_choice.findData("archive"))
        yield "migrate-empty", self._still()
        moving.panel.try_it()
        yield "migrate", self._still()
        yield from self._without_content("migrate", moving, moving.panel.try_it)
        yield from self._in_the_way("migrate", moving, moving.panel.go.click)
        for each in list(window.workspace.tab_area.pages):
            if each.kind in ("blame", "field", "bisect", "pending", "journal", "migrate") or each is counted:
                window.workspace.tab_area.close_page(each)  # as many tabs as people have, not as many as a tour opens
        window.actions_.trigger("repairs")
        yield "repair", self._still()
        repairing = window.workspace.tab_area.page
        assert isinstance(repairing, RepairPage)
        yield from self._of_front("repair", repairing.panel.apply, f"{NS}_history")
        page = window.workspace.open(session, PageRequest("repair", "insurance.invoices"))
        assert isinstance(page, RepairPage)
        settle()
        page.panel.ask_first()
        yield "scan-consent", self._still()
        window.commands.do_close_tab()
        sound = window.workspace.open(session, PageRequest("repair", SOUND))
        assert isinstance(sound, RepairPage)
        settle(lambda: sound.panel.states.kind == "empty")
        yield "repair-empty", self._still()
        window.commands.do_close_tab()
        yield from self._healing()
        page = window.workspace.open(session, PageRequest("check"))
        page.do_refresh()
        yield "check", self._still()
        yield from self._of_front("check")

    def _healing(self) -> Iterator[tuple[str, QWidget]]:
        """Repair the findings of a scan class by class, so that the health page has several scans to show."""
        session, window = self._session, self.window
        page = window.workspace.tab_area.page
        assert isinstance(page, RepairPage)
        panel = page.panel
        panel.scan()  # the report still names what was lost before
        settle(lambda: panel.plan is not None)
        for code in ("A3", "A1"):
            panel.choose((code,))
            settle()
            panel.apply()
            settle()
            panel.scan()
            settle(lambda: panel.plan is not None)
        for line in window.findChildren(MessageLine):
            line.leave()
        window.workspace.open(session, PageRequest("health", page.ns))
        yield "health", self._still()
        yield from self._of_front("health")

    def _still(self) -> QWidget:
        settle()
        return self.window

    def _close_messages(self) -> None:
        for line in list(self.window.messages.lines):
            line.leave()

    def _close_sheets(self) -> None:
        from gui.style.sheet import Sheet

        for sheet in self.window.findChildren(Sheet):
            sheet.reject()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
