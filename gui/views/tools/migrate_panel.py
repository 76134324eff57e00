"""Moving a collection to another layout: a dry run, the copying, the comparison, and the new profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from gui import copying, messages, tasks
from gui.language import tr, translated
from gui.paging import RowsModel
from gui.parts.reading import Reading
from gui.style import boxes, focus_keeper, states, theme, wording
from gui.style.cells import Cell, CellTree, Index, Span, value
from gui.style.states import DropDown, StateStack, button, words
from model.foundation.records import Outcome
from model.session import Session
from model.session.data_exchange import ADOPTED_LAYOUTS, Adoption, Checked, Migration
from model.values.canonical import Value

LANGUAGES = {"python": "Python", "node": "Node", "java": "Java"}
SHORTEST = 20  # characters of a layout's text that are always shown
MOST = 1000  # documents that are listed; others are only counted
_ICONS = {
    "applied": ("check", "acc"),
    "skipped": ("minus", "text2"),
    "refused": ("warning-circle", "err"),
    "conflict": ("warning", "warn"),
    "unknown": ("question", "warn"),
}


class OutcomesModel(RowsModel[Outcome]):
    """Documents, each with its outcome."""

    headers = (tr("Document"), tr("What happens"))

    def key(self, row: Outcome) -> Hashable:
        return row.id

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        if index.column() == 0:
            return value("" if row.id is None else wording.plain(row.id), middle=True, indent=8)
        icon, token = _ICONS[row.kind]
        return Cell(spans=(Span(translated(row.detail)),), icon=icon, icon_token=token, tip=translated(row.detail))


class MigratePanel(QWidget):
    """One collection; nothing is written before "Copy and verify"."""

    def __init__(self, session: Session, ns: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self.ns = session, ns
        self._counts: Counter[str] = Counter()
        self._answers = True
        self._stay: set[Value | None] = set()  # documents that the new layout cannot hold
        self._pressed: QWidget | None = None  # the focused widget when the work began
        boxes.ground(self, "surface")
        self.layout_choice = DropDown()
        self.layout_choice.setProperty("tall", True)
        self.layout_choice.setAccessibleName(tr("The new layout"))
        now = session.catalogue.info(ns).layout
        for name, to in session.exchange.layouts.items():
            if name != now:
                self.layout_choice.addItem(f"{name}: {translated(to.about)}", name)
        self.target = QLineEdit()
        self.target.setAccessibleName(tr("The new collection"))
        self.newest = QCheckBox(tr("Take the newest version only; earlier ones stay where they are"))
        self.dry = button(tr("Dry run"), self.try_it, icon="play")
        self.go = button(tr("Copy and verify"), self.copy, "main")
        self.back = button(tr("Take back…"), self._ask_back, "quiet")
        self.model = OutcomesModel()
        self.list = CellTree(row_height=28)
        self.list.as_list(self.model, tr("Documents"), (220,))
        self.toml = QPlainTextEdit()
        self.toml.setReadOnly(True)
        self.toml.setObjectName("plainjson")
        self.toml.setFont(theme.mono(11))
        self.toml.setAccessibleName(tr("What to put into a profile"))
        self.why = words("", "second", wrap=True)
        self.why.hide()
        self.language = DropDown()
        self.language.setAccessibleName(tr("Language of the code"))
        for name, language in LANGUAGES.items():
            self.language.addItem(language, name)
        self.copy_code = button(tr("Copy the code"), self._copy_code, "small", icon="copy")
        self._names: dict[str, str] = {}  # of version and token in a collection that keeps no versions yet
        self.report = messages.report()
        self._assemble(now)
        self.layout_choice.currentIndexChanged.connect(self._chosen)
        self.target.textChanged.connect(self._other)
        self.newest.toggled.connect(self._other)
        self._chosen()
        self._report(tr("Nothing has been written yet."))
        if session.catalogue.info(ns).unversioned:
            propose = lambda _: session.exchange.adoption(ns)  # noqa: E731
            tasks.run(propose, done=self._adopt, failed=lambda _: None, owner=self, key="adopt")

    def _assemble(self, now: str) -> None:
        head = QVBoxLayout()
        head.setContentsMargins(theme.px(16), theme.px(16), theme.px(16), theme.px(16))
        head.setSpacing(theme.px(8))
        head.addWidget(words(tr("Move to another layout"), "title"))
        head.addWidget(
            words(
                tr(
                    "Its layout is “{now}” now. "
                    "Every document's whole history is copied beside it and compared "
                    "byte for byte. The old collection stays as it is; people may go on writing, and copying "
                    "again brings it over.",
                    now=now,
                ),
                "second",
                wrap=True,
            )
        )
        head.addWidget(self.why)
        for field in (self.layout_choice, self.target):
            field.setMaximumWidth(theme.px(460))
        # A list of long texts would be as wide as the longest.
        self.layout_choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.layout_choice.setMinimumContentsLength(SHORTEST)
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        form.setSpacing(theme.px(8))
        boxes.add_field(form, tr("Layout"), self.layout_choice)
        boxes.add_field(form, tr("New collection"), self.target)
        form.addRow("", self.newest)
        head.addLayout(form)
        row = boxes.wrapping(x=0, y=0)
        for part in (self.dry, self.go, self.back):
            row.addWidget(part)
        row.addStretch(1)
        head.addLayout(row)
        self.states = StateStack()
        self.states.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.states.setAccessibleName(tr("What happens"))
        self.reading = Reading(self, self.states, key="move")
        whole = boxes.column(self)
        whole.addLayout(head)
        whole.addWidget(states.hair())
        whole.addWidget(self.states, 1)
        split = boxes.split(parent=self.states.place)
        self._inner = StateStack(self.list, split)
        below = QWidget(split)
        column = boxes.column(below)
        title = QHBoxLayout()
        title.setContentsMargins(theme.px(16), theme.px(6), theme.px(16), theme.px(6))
        title.addWidget(words(tr("In a profile"), "head"))
        title.addStretch(1)
        title.addWidget(self.language)
        title.addWidget(self.copy_code)
        title.addWidget(button(tr("Copy"), self._copy_toml, "small", icon="copy"))
        column.addLayout(title)
        column.addWidget(self.toml)
        boxes.share(split, 330, 200)
        self.states.put(split)
        self._foot = QWidget()
        foot = boxes.column(self._foot)
        foot.addWidget(states.hair())
        foot.addLayout(said := QHBoxLayout())
        said.setContentsMargins(theme.px(16), theme.px(10), theme.px(16), theme.px(10))
        said.addWidget(self.report)
        whole.addWidget(self._foot)
        self.setFocusProxy(self.layout_choice)

    # --- a collection that keeps no versions yet

    def _adopt(self, found: Adoption) -> None:
        """Take over the layout that suits the collection, and say why."""
        self._names = {"version": found.version, "token": found.token}
        self.why.setText(
            tr("{layout} suits it: {why}", layout=found.layout, why=" ".join(map(translated, found.reasons)))
        )
        self.why.show()
        self.layout_choice.setCurrentIndex(self.layout_choice.findData(found.layout))
        self._other()

    @property
    def _adopts(self) -> bool:
        """Whether there is code for the chosen layout."""
        return bool(self._names) and self.layout_choice.currentData() in ADOPTED_LAYOUTS

    def _copy_code(self) -> None:
        session, ns, to, target = self._session, self.ns, str(self.layout_choice.currentData()), self.target.text()
        language = str(self.language.currentData())
        code = lambda _: session.exchange.adoption(ns, to=to, target=target.strip()).code(language)  # noqa: E731
        tasks.run(code, done=self._code_copied, failed=self._no_code, owner=self, key="code")

    def _code_copied(self, code: str) -> None:
        copying.put(code)
        self._report(tr("The code that reads and saves documents is on the clipboard."))

    def _no_code(self, error: BaseException) -> None:
        self._report(tasks.describe(error)[0])

    # --- the form

    def _chosen(self, *_: object) -> None:
        name = str(self.layout_choice.currentData())
        self.newest.setVisible(self._session.exchange.layouts[name].newest_alone)
        self.target.setText(f"{self.ns}_{name}")
        self._other()

    def _other(self, *_: object) -> None:
        """Drop the results, because another move is asked for now."""
        self.model.fill([])
        self._report("")
        self._inner.show_empty(
            tr("What would be copied?"),
            tr("A dry run says for each document how copying would end, and writes nothing."),
            icon="copy",
        )
        for part in (self.language, self.copy_code):
            part.setVisible(self._adopts)
        self._show_toml()
        self._ready()

    def _making(self) -> Callable[[], Migration]:
        """A call that makes the requested move; for a task, which must not access the window."""
        session, ns, name = self._session, self.ns, str(self.layout_choice.currentData())
        target, newest = self.target.text().strip(), not self.newest.isHidden() and self.newest.isChecked()
        fields = self._names if self._adopts else None
        return lambda: session.exchange.migration(ns, name, target, fields, newest)

    @property
    def _misnamed(self) -> str:
        """Why the new collection's name is invalid; "" if it is valid."""
        database, _, collection = self.target.text().strip().partition(".")
        return "" if database and collection else tr("Name the new collection as database.collection.")

    def _show_toml(self) -> None:
        if self._misnamed:
            tasks.drop(self, "toml")
            self.toml.clear()
            return
        make = self._making()
        tasks.run(lambda _: make().toml, done=self.toml.setPlainText, failed=self._no_toml, owner=self, key="toml")

    def _no_toml(self, error: BaseException) -> None:
        self.toml.setPlainText(tasks.describe(error)[0])

    def say_writable(self) -> None:
        """Update whether copying is offered: the connection's permission changed."""
        self._ready()

    def say_answering(self, answers: bool) -> None:
        """Offer trying, copying and taking back only while the server answers."""
        self._answers = answers
        self._ready()

    def _ready(self) -> None:
        busy = self.reading.is_on
        why = (
            tr("{name} is open read-only; to copy, allow writes.", name=wording.source(self._session.name, first=True))
            if self._session.trust.read_only
            else ""
        )
        name = self._session.name
        untried = self._misnamed or ("" if self._answers else wording.unread(name))
        why = self._misnamed or why or ("" if self._answers else wording.silent(name))
        parts = (self.dry, self.go, self.back, self.layout_choice, self.target, self.newest)
        if busy and (pressed := next((part for part in parts if part.hasFocus()), None)) is not None:
            self._pressed = pressed
            self.states.setFocus()  # a disabled control passes the focus on, to wherever the next one is
        self.dry.setEnabled(not busy and not untried)
        self.dry.setToolTip(wording.tip(untried))
        for part in (self.go, self.back):
            part.setEnabled(not busy and not why)
            part.setToolTip(wording.tip(why))
        for field in (self.layout_choice, self.target, self.newest):
            field.setEnabled(not busy)
        if not busy and self.states.hasFocus():
            focus_keeper.give(self._pressed, self.layout_choice)

    # --- running

    def try_it(self) -> None:
        """Show for each document how copying would end."""
        stopped = tr("Stopped. Nothing has been written.")
        title, broken = tr("Looking at what would be copied"), tr("The dry run did not come to its end")
        self._run(title, lambda m, p: m.dry_run(p), self._tried, stopped, broken)

    def copy(self) -> None:
        """Copy until nothing is left, then compare."""
        make, stopped = self._making(), tr("Stopped. Copying again continues where it stopped.")
        self._run(tr("Moving {ns}", ns=self.ns), lambda m, p: m.run(p), partial(self._copied, make), stopped)

    def _run(
        self,
        title: str,
        what: Callable[[Migration, tasks.Progress], Iterator[Outcome]],
        done: Callable[[object], None],
        stopped: str,
        broken: str = "",
    ) -> None:
        make = self._making()
        self._counts.clear()
        self._report("")
        self.model.fill([])
        self._show_toml()

        again = partial(self._run, title, what, done, stopped, broken)
        self.reading.ask(
            lambda progress: _move(what, make(), progress),
            done,
            title,
            title=title,
            partial=self._found,
            failed=partial(self._broke, again, title, broken),
            stopped=partial(self._stopped, stopped),
        ).finished.connect(self._ready)
        self._ready()

    def stop(self) -> None:
        """Stop the running work, because the tab closes."""
        self.reading.stop()

    def _found(self, rows: list[Outcome]) -> None:
        self._counts = Counter(each.kind for each in rows)
        self._stay = {each.id for each in rows if each.kind == "refused"}
        order = ("refused", "conflict", "unknown", "applied", "skipped")
        self.model.fill(sorted(rows, key=lambda each: order.index(each.kind))[:MOST])
        if rows:
            self._inner.show_content()
        else:
            self._inner.show_empty(tr("There is no document to copy"), tr("{ns} is empty.", ns=self.ns))

    def _tried(self, _: object) -> None:
        self.states.show_content()
        left = self._counts["refused"]
        said = tr("Dry run: {documents} would be copied", documents=wording.many(self._counts["applied"], "document"))
        said += (
            tr(", {counts} are there already", counts=wording.count(self._counts["skipped"]))
            if self._counts["skipped"]
            else ""
        )
        said += tr(", {left} cannot be held and would stay", left=wording.count(left)) if left else ""
        self._report(tr("{said}. Nothing has been written.", said=said))

    def _copied(self, make: Callable[[], Migration], _: object) -> None:
        self.states.show_content()
        title = tr("Comparing {ns}", ns=self.ns)
        self.reading.ask(
            lambda progress: list(make().verify(progress)),
            self._verified,
            title,
            title=title,
            failed=partial(self._not_ended, partial(self._copied, make, None), title, ""),
            stopped=partial(self._stopped, tr("Stopped. Everything is copied, and not all of it is compared.")),
        ).finished.connect(self._ready)
        self._ready()

    def _verified(self, found: list[Checked]) -> None:
        self.states.show_content()
        equal = [each for each in found if each.versions and not each.wrong]
        wrong = [each.wrong for each in found if each.wrong and each.id not in self._stay]
        stay = sum(bool(each.wrong) and each.id in self._stay for each in found)
        versions = sum(each.versions for each in equal)
        said = tr(
            "{versions} of {documents} are equal in both places",
            versions=wording.many(versions, "version"),
            documents=wording.many(len(equal), "document"),
        )
        said += tr(", {documents} cannot be held and stay", documents=wording.many(stay, "document")) if stay else ""
        if wrong:
            said += tr("; {wrong} are not: {wrong2}", wrong=wording.count(len(wrong)), wrong2=wrong[0].rstrip("."))
        elif not stay:
            messages.tell(
                self, tr("{ns} is in {target} too, every version equal", ns=self.ns, target=self.target.text())
            )
        self._report(tr("{said}. The old collection stays as it is.", said=said))

    def _broke(self, again: Callable[[], None], title: str, broken: str, error: BaseException) -> None:
        """Say how far an interrupted run came; ``broken`` is the title of one that writes nothing."""
        self._not_ended(again, title, broken, error)
        if broken:
            self._report(tr("Nothing has been written."))
        elif self._counts:
            done, unknown = (wording.many(self._counts[kind], "document") for kind in ("applied", "unknown"))
            said = tr("{done} done before it broke off", done=done)
            said += tr("; whether {unknown} arrived is not known", unknown=unknown) if self._counts["unknown"] else ""
            self._report(tr("{said}. Run it again to continue where it stopped.", said=said))

    def _not_ended(self, again: Callable[[], None], title: str, broken: str, error: BaseException) -> None:
        self.states.forget_content()
        self.states.show_failed(error, again, broken or tr("{title} did not come to its end", title=title))

    def _stopped(self, said: str) -> None:
        self.states.show_content()
        self._report(said)

    def _ask_back(self) -> None:
        messages.confirm(
            self,
            tr("Take {target} back?", target=self.target.text()),
            tr("What the move wrote there is removed; what somebody changed since stays."),
            tr("Take back"),
            partial(
                self._run,
                tr("Taking back {target}", target=self.target.text()),
                lambda m, p: m.take_back(p),
                self._taken,
                tr("Stopped. Taking back again continues where it stopped."),
            ),
            danger=True,
        )

    def _taken(self, _: object) -> None:
        self.states.show_content()
        kept = self._counts["conflict"] + self._counts["refused"]
        said = tr("{documents} taken back", documents=wording.many(self._counts["applied"], "document"))
        self._report(f"{said}{(tr(', {kept} stay', kept=wording.count(kept)) if kept else '')}.")

    def _report(self, said: str) -> None:
        self.report.setText(said)
        self._foot.setVisible(bool(said))

    def _copy_toml(self) -> None:
        copying.put(self.toml.toPlainText())


def _move(
    what: Callable[[Migration, tasks.Progress], Iterator[Outcome]], migration: Migration, progress: tasks.Progress
) -> None:
    """Report the last outcome of each document, once all were moved or the move was interrupted."""
    last: dict[Value | None, Outcome] = {}
    try:
        for outcome in what(migration, progress):
            last[outcome.id] = outcome
    except Exception:
        if last:  # else it is not known whether there is anything to do
            progress.put(list(last.values()))
        raise
    progress.put(list(last.values()))
