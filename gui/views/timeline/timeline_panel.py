"""The versions of one document: a strip from old to new or a list from new to old, and the two to compare.

Versions are read in a task and arrive in chunks, newest first. Shown versions stay until newer ones are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QPushButton,
    QStackedLayout,
    QToolButton,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from gui import copying, tasks
from gui.language import tr, translated
from gui.parts.document_name import DocumentName
from gui.parts.document_side import remembered
from gui.parts.values.value_pane import StoredDialog
from gui.parts.versions_model import VersionsModel, name_of
from gui.style import boxes, icons, preferences, states, theme, wording
from gui.views.timeline.strip import HEIGHT, Strip
from gui.views.timeline.version_list import ROW, StripLegend, VersionList
from model.errors import Unreachable
from model.foundation.records import Version, WatchTurn
from model.session import Session
from model.values.canonical import Value

UNBOUNDED = (1 << 24) - 1  # Qt's value for no maximum
BESIDE = 8  # u; the margins of the legend
PAUSE = 0.1  # seconds after which the versions read so far are passed on


class _Note(QWidget):
    """A state shown instead of the strip: icon, sentence, help, at most two buttons, in little height."""

    def __init__(self) -> None:
        super().__init__()
        self._glyph = states.Glyph(size=20)
        self.title, self.help = states.words("", "head", wrap=True), states.words("", "second", wrap=True)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(theme.px(8))
        column = QVBoxLayout()
        column.setSpacing(theme.px(4))
        column.addWidget(self.title)
        column.addWidget(self.help)
        column.addSpacing(theme.px(2))
        column.addLayout(self._buttons)
        column.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(16), theme.px(10), theme.px(16), theme.px(6))
        row.setSpacing(theme.px(10))
        row.addWidget(self._glyph, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(column, 1)

    def put(self, icon: str, token: str, title: str, help: str = "", choices: Sequence[states.Choice] = ()) -> None:
        """Show a state."""
        self._glyph.set(icon, token)
        self.title.setText(title)
        self.help.setText(help)
        self.help.setVisible(bool(help))
        while (item := self._buttons.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for at, (label, call) in enumerate(choices):
            self._buttons.addWidget(states.button(label, call, "small", *(() if at == 0 else ("quiet",))))
        self._buttons.addStretch(1)


class TimelinePanel(QWidget):
    """Shows the history of one document, in which two versions are chosen.

    ``compared`` carries the two versions, A then B; A is None if there is only one version. ``loaded`` carries all
    versions, newest first, once they were read. ``restore_asked`` carries id, version number and None. ``cleared``
    says that no version is shown: they could not be read, or there are none.

    A history of one version is only named in the header: there is nothing to choose in a strip of it.

    It reads without a :class:`.Reading`: versions appear while others are read, how far that is stands beside them, and
    a state has only the height of the strip.
    """

    compared = Signal(object, object)
    loaded = Signal(object)
    restore_asked = Signal(object, object, object)
    take_back_asked = Signal(object, object)  # the document's id, and the version whose changes to take back
    cleared = Signal()
    fitted = Signal()  # its height changed
    remember_asked = Signal(object)  # a version's number: remember it for a comparison with another document
    compare_remembered_asked = Signal(object)

    def __init__(self, session: Session, ns: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self.ns = session, ns
        self.id: Value | None = None
        self._shown_id: Value | None = None
        self._wanted: tuple[Value | None, Value | None] | None = None
        self._task: tasks.Task | None = None
        self._waiting: list[Version] = []
        self._quietly = self._keep = self._alone = False
        self._worded: dict[QPushButton, str] = {}  # the buttons at the right end, with their words
        self._fitted: tuple[object, ...] = ()  # what the header was fitted for
        self.is_brief = False
        """Whether only the header is shown, because there is one version."""
        self._told: tuple[Version | None, Version | None] = (None, None)
        self.model = VersionsModel(self)
        boxes.ground(self, "surface")
        self._build()
        self.model.chosen.connect(self._tell)
        preferences.signals.changed.connect(self._preference)
        self._empty()

    def _build(self) -> None:
        self.strip, self.list, self._note = Strip(self.model), VersionList(self.model), _Note()
        column = boxes.column(self)
        column.addWidget(self._header())
        column.addWidget(self._line)
        self._forms = QWidget()  # a stacked layout without a widget would show its first page as a window
        column.addWidget(self._forms, 1)
        self._stack = QStackedLayout(self._forms)
        for page in (self.strip, self.list, self._note):
            self._stack.addWidget(page)
        for form in (self.strip, self.list):
            form.a_asked.connect(self._set_a)
            form.b_asked.connect(self._set_b)
            form.menu_asked.connect(self._menu)
        self.setFocusProxy(self.strip)

    def _header(self) -> QWidget:
        header = QWidget()
        header.setObjectName("timelineHeader")
        row = boxes.wrapping(header, 16, 7, gap=10)
        row.wrapped.connect(self._fit_height)
        self._name = DocumentName()
        self._summary = states.words("", "second")
        self._legend, self._line = StripLegend(self.model), QWidget()
        self._below = StripLegend(self.model)
        boxes.row(self._line, x=BESIDE, y=0).addWidget(self._below)
        self._line.hide()
        self._busy = states.words("", "second")
        self._stop = states.button(tr("Stop"), self._stopped, "small", "quiet")
        self._busy.hide()
        self._stop.hide()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(states.PATIENCE)
        self._timer.timeout.connect(self._say_busy)
        row.addWidget(self._name)
        row.addWidget(self._summary)
        self._space = QWidget()  # takes the room of the legend, so that the buttons stand at the right
        self._space.hide()
        row.addWidget(self._legend, 1)
        row.addWidget(self._space, 1)
        row.addWidget(self._busy)
        row.addWidget(self._stop)
        segments, group = boxes.segments(self, (tr("By version"), tr("By time")))
        self.by_version, self.by_time = group.buttons()
        self._fit_segments()
        theme.signals.changed.connect(self._fit_segments)
        self.by_time.toggled.connect(self.strip.set_by_time)
        row.addLayout(segments)
        self.as_list = QToolButton()
        self.as_list.setCheckable(True)
        self.as_list.setProperty("boxed", True)
        self.as_list.setIcon(icons.icon("list-bullets"))
        self.as_list.setIconSize(QSize(theme.px(16), theme.px(16)))
        self.as_list.setFixedSize(theme.px(26), theme.px(26))
        self.as_list.setToolTip(tr("Show as a list, newest first"))
        self.as_list.setAccessibleName(tr("Show versions as a list"))
        self.as_list.toggled.connect(self._show_form)
        row.addWidget(self.as_list)
        self._last_tool: QWidget = self.as_list
        self._tools = row
        return header

    def _quiet(self, on: bool) -> None:
        """Leave the legend's room empty while something else is said beside it."""
        self._legend.quiet(on)
        self._below.quiet(on)
        self._fit_legend()

    def _fit_legend(self) -> None:
        """Show all of the legend: beside the name, there beside buttons without words, or in a line of its own."""
        self._legend.again()
        self._below.again()
        fitted = (self.width(), self._legend.sizeHint(), self._name.sizeHint(), self._summary.text(), theme.scale())
        if fitted != self._fitted and self._busy.isHidden():
            self._fitted = fitted
            for beside, words in ((True, True), (True, False), (False, True), (False, False)):
                self._legend.setVisible(beside)
                self._space.setVisible(not beside)
                self._line.setVisible(not beside)
                self._put_words(words)
                if self._tools.sizeHint().width() <= self.width() or (words and not self._legend.entries()):
                    break
        self._fit_height()

    def _put_words(self, on: bool) -> None:
        """Show the words of the buttons at the right end, or only their icons."""
        for button, words in self._worded.items():
            states.say(button, words if on else "")
            button.setToolTip("" if on else wording.tip(words))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_legend()

    def _fit_segments(self) -> None:
        # The checked one is bolder, and Qt reserves the room for that weight.
        metrics = QFontMetricsF(theme.font(12, 600))
        for made in (self.by_version, self.by_time):
            made.setMinimumWidth(round(metrics.horizontalAdvance(made.text())) + theme.px(24))

    def add_tool(self, button: QPushButton) -> None:
        """Add a button at the right end of the header."""
        self._worded[button] = button.text()
        self._tools.addWidget(button)
        self.setTabOrder(self._last_tool, button)
        self._last_tool = button

    # --- reading

    def show_document(self, id: Value | None, keep: bool = False) -> None:
        """Read a document's versions; with ``keep``, if it is already shown, the chosen two and the scroll position
        stay.

        B moves on if it was the current version, and so do both if they were the newest two.
        """
        same = id is not None and id == self._shown_id
        if not (keep and id == self.id):  # else two requested while it was being read are still wanted
            self._wanted = None
        self._keep = keep and same
        self._alone = self._alone and self._keep
        if not same:
            tasks.drop(self, "watches")
            self.model.put_turns([])
        self.id = id
        if id is None:
            self._end()
            if self._task is not None:
                self._task.drop()
                self._task = None
            self._shown_id = None
            self.model.reset([])
            self._empty()
            return
        self._waiting, self._quietly = [], same
        session, ns = self._session, self.ns

        def versions(progress: tasks.Progress) -> Iterator[Version]:
            for one in session.history.versions(ns, id, progress, early=True):
                _ = one.state, one.changed  # computed here, not in the window that shows all of them
                yield one

        def read(progress: tasks.Progress) -> int:
            total = 0
            for batch in tasks.portions(versions(progress), PAUSE):
                progress.put((id, batch))
                total += len(batch)
            return total

        self._timer.start()
        self._task = tasks.run(
            read,
            done=self._done,
            failed=self._failed,
            cancelled=self._cancelled,
            partial=self._arrived,
            owner=self,
            title=tr("Reading versions of {id}", id=wording.plain(id)),
            key="history",
        )

    def set_ab(self, v_a: Value | None, v_b: Value | None) -> None:
        """Choose the compared versions by their numbers; those that have not arrived yet are chosen when they do.

        Without a number, B is the current version, or the newest of a deleted document; if A is that one, it is
        compared with the one before it.
        """
        self._alone = False
        current = self.model.current()
        a, b = self.model.row_of(v_a), self.model.row_of(v_b)
        if v_b is None and a is not None and current is not None:
            b = self.model.row_of(current.v)
        elsewhere = self.id != self._shown_id or self._quietly  # the shown versions are about to be replaced
        if self._task is not None and (elsewhere or a is None or b is None):
            self._wanted = (v_a, v_b)
            return
        if v_b is None and a is not None and b is None:
            b = self.model.before(-1)
        a, b = self.model.a if a is None else a, self.model.b if b is None else b
        self.model.choose(self.model.before(b) if b is not None and a == b else a, b)

    @property
    def shown_id(self) -> Value | None:
        """The document whose versions are shown; another may have been asked for."""
        return self._shown_id

    def chosen(self) -> tuple[Version | None, Version | None]:
        """The versions under the flags."""
        return self.model.version_at(self.model.a), self.model.version_at(self.model.b)

    def _arrived(self, part: tuple[Value, list[Version]]) -> None:
        _, versions = part
        if self._quietly:  # a document is read again: the shown versions stay until all are there
            self._waiting.extend(versions)
            self._say_busy_again()
            return
        if not versions:
            return
        if self.id != self._shown_id:
            self._begin(versions)
        else:
            self.model.extend(versions)
            self._choose()
        self._say()

    def _begin(self, versions: Sequence[Version], told: tuple[Version | None, Version | None] = (None, None)) -> None:
        self._shown_id = self.id
        self._told = told
        self.model.reset(versions)
        self._choose()
        self._show_form()

    def _replace(self, versions: Sequence[Version]) -> None:
        """Show the document as it is now, at the same scroll position."""
        told = self._told
        if self._keep and self._wanted is None:
            self._want_chosen(versions)
        bar, rows = self.strip.horizontalScrollBar(), self.list.verticalScrollBar()
        # From the new end: rows are only added at the old one.
        place = bar.maximum() - bar.value()
        marked = [(form, form.currentIndex().column(), self._again_at(form)) for form in (self.strip, self.list)]
        top = self.model.version_at(self.list.indexAt(QPoint()).row()) if rows.value() else None
        self._begin(versions, told if self._keep else (None, None))
        bar.setValue(bar.maximum() - place)
        for form, column, again_at in marked if self._keep else ():
            if (row := again_at()) is not None:
                form.setCurrentIndex(self.model.index(row, column))
        if self._keep and top is not None and (row := self.model.row_of(top.v)) is not None:
            self.list.scrollTo(self.model.index(row, 0), QTreeView.ScrollHint.PositionAtTop)

    def _want_chosen(self, versions: Sequence[Version]) -> None:
        """Ask for the versions chosen now, unless they are the ones that a document opens with."""
        a, b = self.chosen()
        newest = self.model.b is None or (b is not None and b.current)
        before = self.model.before(self.model.b) if self.model.b is not None else None
        if b is not None and not (newest and self.model.a == before):
            now = next((one.v for one in versions if one.current), b.v) if newest else b.v
            self._wanted = (a.v if a is not None else None, now)

    def _again_at(self, form: Strip | VersionList) -> Callable[[], int | None]:
        """Finds the row of a form's mark among new versions: it stays with its flag, else with its version."""
        row = form.currentIndex().row()
        if row in (self.model.a, self.model.b):
            is_b = row == self.model.b
            return lambda: self.model.b if is_b else self.model.a
        version = self.model.version_at(row)
        return lambda: None if version is None else self.model.row_of(version.v)

    def _choose(self) -> None:
        """Choose the requested versions, else the newest and the one before it."""
        model = self.model
        if self._wanted is not None and (self._choose_wanted(*self._wanted) or self._task is not None):
            return
        if model.b is None:
            current = model.current()
            b = model.row_of(current.v) if current else model.before(-1)
            model.choose(model.a, b)
        if model.a is None and model.b is not None and not self._alone:
            model.choose(model.before(model.b), model.b)

    def _choose_wanted(self, wanted_a: Value | None, wanted_b: Value | None) -> bool:
        """Choose the requested versions as far as they exist; returns whether that was possible."""
        model, done = self.model, self._task is None
        a, b = model.row_of(wanted_a), model.row_of(wanted_b)
        if wanted_b is None and a is not None:
            current = model.current()
            b = model.row_of(current.v) if current is not None else b
            b = model.before(-1) if done and b is None else b
        if a is not None and a == b:
            a = model.before(a)
        if b is None or not (a is not None or done or self._alone):
            return False
        self._wanted = None if a is not None else self._wanted
        model.choose(model.before(b) if a is None and not self._alone else a, b)
        return True

    def _done(self, total: int) -> None:
        self._task = None
        self._end()
        if self._quietly:
            self._replace(self._waiting)
            self._waiting = []
        elif not total:
            self.model.reset([])
            self._shown_id = self.id
        self._choose()
        self._wanted = None
        self._say()
        self._show_form()
        if not self.model.marks:
            self.cleared.emit()
            self._show_note(
                "tray", "text2", tr("No version of this document is there"), tr("It may have been deleted.")
            )
        _, b = self.chosen()
        if b is not None and self._told != self.chosen():
            self._tell()
        self._judge()
        self.loaded.emit(list(self.model.versions))

    def _judge(self) -> None:
        """Find where the conditions that the profile watches turned, if it watches any."""
        id = self._shown_id
        if id is None or not self.model.marks or not self._session.catalogue.is_watched(self.ns):
            return
        session, ns = self._session, self.ns

        def judge(progress: tasks.Progress) -> tuple[list[WatchTurn], list[str]]:
            found = session.time.watched([ns], [id], progress)
            return list(found), found.unread

        tasks.run(
            judge,
            done=self._judged,
            failed=self._not_judged,
            owner=self,
            title=tr("Checking the watched conditions of {id}", id=wording.plain(id)),
            key="watches",
        )

    def _judged(self, found: tuple[list[WatchTurn], list[str]]) -> None:
        turns, unread = found
        self.model.put_turns(turns)
        self._say()
        self.strip.viewport().update()
        if unread:
            self._tell_unjudged(translated(unread[0]))

    def _not_judged(self, error: BaseException) -> None:
        self._tell_unjudged(tasks.describe(error)[0])

    def _tell_unjudged(self, why: str) -> None:
        summary = self.model.summary()
        self._summary.setText(tr("{summary}; watched conditions are not known", summary=summary))
        self._summary.setToolTip(wording.tip(why))

    def _failed(self, error: BaseException) -> None:
        self._task = None
        self._end()
        sentence, details = tasks.describe(error)
        if self._quietly and self.model.marks and isinstance(error, Unreachable):  # what was read stays
            self._waiting, self._wanted = [], None
            self._say()
            self._summary.setText(tr("{summary}; could not be read again", summary=self.model.summary()))
            self._summary.setToolTip(wording.tip(sentence))
            return
        name = self._show_none()
        copy: Callable[[], object] = lambda: copying.put(details)  # noqa: E731 (a choice wants a callable)
        choices = [(tr("Try again"), self._again), (tr("Copy details"), copy)]
        self._show_note(
            "warning-circle", "err", tr("The versions of {name} could not be read", name=name), sentence, choices
        )

    def _show_none(self) -> str:
        """Show no versions, because none could be read; returns the document's name."""
        name = wording.plain(self.id) if self.id is not None else tr("this document")
        self._shown_id = None
        self.model.reset([])
        self.cleared.emit()
        self._name.put(name)
        self._summary.setText("")
        self._quiet(True)
        return name

    def _cancelled(self) -> None:
        self._task = None
        self._end()
        if self.id == self._shown_id and self.model.marks:
            self._choose()
            self._say()
            self._summary.setText(tr("{summary}; reading was stopped", summary=self.model.summary()))
            self.loaded.emit(list(self.model.versions))
            return
        self._show_none()
        self._show_note("hourglass", "text2", tr("Reading was stopped"), "", [(tr("Read again"), self._again)])

    def _again(self) -> None:
        self.show_document(self.id)

    def _stopped(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _end(self) -> None:
        self._timer.stop()
        self._busy.hide()
        self._stop.hide()
        self._quiet(False)

    # --- texts

    def _say_busy(self) -> None:
        self._quiet(True)
        self._busy.show()
        self._stop.show()
        self._say_busy_again()

    def _say_busy_again(self) -> None:
        if self._busy.isHidden() or self.id is None:
            return
        seen = len(self._waiting) if self._quietly else len(self.model.versions) if self.id == self._shown_id else 0
        name = wording.plain(self.id)
        so_far = tr(": {seen} so far", seen=wording.count(seen)) if seen else ""
        self._busy.setText(tr("Reading versions of {name}{so_far}", name=name, so_far=so_far))

    def _say(self) -> None:
        if self.id is not None:
            self._name.put(wording.plain(self.id))
        self._summary.setText(self.model.summary())
        self._summary.setToolTip(wording.tip(self.model.note))
        self._fit_legend()
        self.list.fit()
        self._say_busy_again()

    def _empty(self) -> None:
        self._name.put("")
        self._summary.setText("")
        self._quiet(True)
        help = tr("The versions of the document chosen in the list appear here.")
        self._show_form()
        self._show_note("clock-counter-clockwise", "text2", tr("No document is chosen"), help)

    def _show_note(self, icon: str, token: str, title: str, help: str, choices: Sequence[states.Choice] = ()) -> None:
        """Show a state in place of the versions."""
        self._note.put(icon, token, title, help, choices)
        self._stack.setCurrentWidget(self._note)
        self._forms.show()
        self.is_brief = False
        self._fit_height()

    def _show_form(self) -> None:
        on, some = self.as_list.isChecked(), bool(self.model.marks)
        self.by_version.setEnabled(some and not on)
        self.by_time.setEnabled(some and not on)
        self.as_list.setEnabled(some)
        form = self.list if on else self.strip
        if self._task is None or len(self.model.marks) != 1:  # more of them may still arrive
            self.is_brief = len(self.model.marks) == 1
        self._forms.setVisible(on or not self.is_brief)
        self.setFocusProxy(form)
        self._fit_height()
        if self._shown_id is not None and self.model.marks:
            self._stack.setCurrentWidget(form)
            self._quiet(False)

    def _preference(self, name: str) -> None:
        if name == "zone":
            self.model.refresh()
            self.strip.viewport().update()

    # --- choosing

    def _compare_with(self, a: int, b: int | None) -> None:
        self._alone = False
        self.model.choose(a, b)

    def show_alone(self, row: int) -> None:
        """Show the version at a row by itself."""
        self._alone = True
        self.model.choose(None, row)

    def _set_a(self, row: int) -> None:
        self._alone = False
        self.model.choose(row, self.model.b)

    def _set_b(self, row: int) -> None:
        if self._alone:
            self.show_alone(row)
        else:
            self.model.choose(self.model.a, row)

    def _tell(self) -> None:
        a, b = self.chosen()
        alone = a is None and self._task is not None  # the version before it may still arrive
        if b is not None and not alone and (a, b) != self._told:
            self._told = (a, b)
            self.compared.emit(a, b)

    def _menu(self, row: int, where: QPoint) -> None:
        menu = self.menu(row)
        if menu is not None:
            menu.popup(where)

    def _may_take_back(self, row: int) -> tuple[bool, str]:
        """Whether a version can be taken back, and why not."""
        one, before = self.model.version_at(row), self.model.before(row)
        if self._session.trust.read_only:
            return False, tr("This connection is read-only.")
        if one is None or one.v is None or one.deleted or before is None:
            return False, tr("No version is there before it.")
        return True, ""

    def menu(self, row: int) -> QMenu | None:
        """The menu of the version at a row; None for a gap."""
        one, id = self.model.version_at(row), self._shown_id
        if one is None or id is None:
            return None
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        name, current = name_of(one), self.model.current()
        target = self.model.row_of(current.v) if current else None

        def add(
            words: str, call: Callable[[], object], enabled: bool = True, why: str = "", within: QMenu = menu
        ) -> QAction:
            action = within.addAction(wording.item(words))
            action.triggered.connect(lambda: call())
            action.setEnabled(enabled)
            action.setToolTip(wording.tip(why or words))
            return action

        menu.setToolTipsVisible(True)
        add(tr("Set {name} as A", name=name), lambda: self._set_a(row))
        add(tr("Set {name} as B", name=name), lambda: self._set_b(row))
        compare = menu.addMenu(tr("Compare"))
        compare.setToolTipsVisible(True)
        is_older = target is not None and target != row
        add(tr("Compare with current"), lambda: self._compare_with(row, target), is_older, within=compare)
        remember = partial(self.remember_asked.emit, one.v)
        add(tr("Remember {name} for a comparison", name=name), remember, within=compare)
        if remembered.side is not None:
            words = wording.item(
                tr("Compare with {name} of {place}", name=remembered.side.name, place=remembered.side.place), 80
            )
            add(words, lambda: self.compare_remembered_asked.emit(one.v), within=compare)
        add(tr("Show {name} by itself", name=name), lambda: self.show_alone(row))
        menu.addSeparator()
        why = (
            tr("This version says that the document is deleted.") if one.deleted else tr("This is the current version.")
        )
        why = tr("This connection is read-only.") if self._session.trust.read_only else why
        may = not self._session.trust.read_only and not one.current and not one.deleted and one.v is not None
        add(tr("Restore {name}…", name=name), lambda: self.restore_asked.emit(id, one.v, None), may, "" if may else why)
        add(tr("Take back {name}…", name=name), lambda: self.take_back_asked.emit(id, one.v), *self._may_take_back(row))
        add(tr("Show as stored…"), lambda: self._show_stored(id, one))
        add(tr("Copy hash"), lambda: copying.put(one.hash or ""), bool(one.hash))
        return menu

    def _show_stored(self, id: Value, one: Version) -> None:
        title = tr("{id}, {one}, as stored", id=wording.plain(id), one=name_of(one))
        dialog = StoredDialog(title, self)
        session, ns, v = self._session, self.ns, one.v

        def read_raw(progress: tasks.Progress) -> bytes | None:
            raw = session.history.seen(ns, id, v).raw
            return None if raw is None else session.history.stored(ns, raw)

        tasks.run(read_raw, done=dialog.show_raw, failed=dialog.show_error, owner=dialog, title=tr("Reading a version"))
        dialog.open()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit_height()

    @property
    def wanted(self) -> int:
        """The height at which nothing of its present form is out of sight, in pixels."""
        if not self.as_list.isChecked():
            return self.minimumHeight()
        rows = max(1, self.model.rowCount())
        return self._head + self.list.header().height() + rows * theme.px(ROW)

    @property
    def whole(self) -> int:
        """The height with the strip, but without a line for the legend, in pixels."""
        return self._head + theme.px(HEIGHT)

    @property
    def _head(self) -> int:
        return max(theme.px(40), self._tools.sizeHint().height())

    def _fit_height(self) -> None:
        """Fit the height: the strip has a fixed one, because more would be empty; the list takes all it can."""
        listed = self.as_list.isChecked()
        least = self._head if self.is_brief and not listed else self.whole
        least += 0 if self._line.isHidden() else self._below.height_for(self.width() - 2 * theme.px(BESIDE))
        most = UNBOUNDED if listed else least
        if (least, most) != (self.minimumHeight(), self.maximumHeight()):
            self.setMinimumHeight(least)
            self.setMaximumHeight(most)
            self.fitted.emit()
