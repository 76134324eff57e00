"""What a collection was recognised as and why, and the sheet in which a person states another layout.

Every key of the layout is shown, filled with what was recognised; each change is tried on three documents. Nothing
here waits for the server: late answers are ignored, and one trial runs at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from gui import messages, tasks
from gui.language import tr, translated
from gui.parts.notices import Pill
from gui.parts.reading import Reading
from gui.style import boxes, theme
from gui.style.scrolling import Scrolling
from gui.style.sheet import Sheet
from gui.style.stacking_split import StackingSplit
from gui.style.states import Glyph, PlainLabel, button, hair, words
from gui.style.wording import tip
from gui.style.wrapping_row import WrappingRow
from gui.views.stating.key_form import KeyForm
from gui.views.stating.key_row import Choice
from gui.views.stating.trial_pane import TrialPane, TrialRow, rows_of
from model.errors import Refused

if TYPE_CHECKING:
    from model.foundation.records import CollectionInfo
    from model.session import Session
    from model.session.layout_statements import ProfileEdit, Statement, Trial

WIDTH, STACKED = 1120, 700  # u; in a narrower dialog the preview is below the keys
HEIGHT = 700  # u, of everything between title and buttons; in a lower window that scrolls
SCROLLBAR = 10  # the width of the form's scroll bar, with which the row above aligns
PAUSE = 250  # milliseconds after the last key press until the documents are read
FILE = "layouts.toml"
ABOUT = int(Qt.ItemDataRole.UserRole) + 1  # a layout in a few words

Filled = tuple[str, Mapping[str, str], Mapping[str, str], str]
"""A layout, the texts of its keys, their defaults, and why they could not be recognised."""


class LayoutSheet(Sheet):
    """``changed`` carries the collection's name when its layout was changed."""

    changed = Signal(str)

    def __init__(self, parent: QWidget, session: Session, ns: str) -> None:
        super().__init__(parent, WIDTH)
        self._session, self._ns = session, ns
        self._statements = session.statements
        self._statement: Statement | None = None
        self._edit: ProfileEdit | None = None
        self._task: tasks.Task | None = None
        self._again = False
        self._why_not = ""
        self.setAccessibleName(tr("Layout"))
        self.badge = Pill()
        self.title = words(tr("Layout of {ns}", ns=ns), "title")
        self.grounds = words("", "body2", wrap=True)
        self.layout_choice = Choice(editable=False)
        self.layout_choice.setAccessibleName(tr("Layout"))
        self.layout_choice.setItemDelegate(_WithMeaning(self.layout_choice))
        self.about = words("", "hint", wrap=True)
        self.form = KeyForm()
        self.trial = TrialPane()
        in_trial = partial(Reading, self, self.trial.states, stops="at once")
        self._filling = in_trial(failed=self._not_filled, stopped=self.reject, key="fill")
        self._trying = in_trial(failed=self._not_tried, stopped=self._drop_trial, again=self._try, key="trial")
        self.trouble = words("", "error", wrap=True)
        self.question = boxes.ground(QWidget(), "lostline")
        self.asked = words("", wrap=True)
        self.agree = button(tr("Save"), self._keep, "small")
        self.refuse = button(tr("Do not save"), self._drop_question, "small", "quiet")
        self.keep = button(tr("Save as profile…"), self.pick_file, icon="file-text")
        self.look = button(tr("Look for a history"), self.look_for_history, "quiet", icon="magnifying-glass")
        self.look.setToolTip(tip(tr("Try the usual shapes of histories, and fill in one that fits")))
        self.look.hide()
        self.forget = button(tr("Leave it to recognition"), self._forget, "quiet")
        self.cancel = button(tr("Cancel"), self.reject)
        self.use = button(tr("Use this layout"), self._use, "main")
        self._still = QTimer(self)
        self._still.setSingleShot(True)
        self._still.setInterval(PAUSE)
        self._still.timeout.connect(self._try)
        self.finished.connect(self._stop)
        self._build()
        self.form.changed.connect(self._edited)
        self.layout_choice.currentIndexChanged.connect(self._other_layout)
        self._ready(False)
        self._begin()

    # --- parts

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(1, 1, 1, 1)
        column.setSpacing(0)
        head = QVBoxLayout()
        head.setContentsMargins(theme.px(24), theme.px(20), theme.px(24), theme.px(6))
        line = QHBoxLayout()
        line.setSpacing(theme.px(10))
        line.addWidget(self.title)
        line.addWidget(self.badge)
        line.addStretch(1)
        head.addLayout(line)
        column.addLayout(head)
        column.addWidget(_Between(self._between()), 1)
        column.addWidget(self._question())
        column.addWidget(hair())
        column.addLayout(self._foot())

    def _between(self) -> QWidget:
        """The part between the title and the buttons."""
        made = boxes.ground(QWidget(), "surface")
        column = boxes.column(made)
        said = boxes.row(x=24, y=0)
        said.addWidget(self.grounds)
        column.addLayout(said)
        column.addSpacing(theme.px(14))
        column.addWidget(hair())
        column.addWidget(self._body(), 1)
        return made

    def _body(self) -> QWidget:
        left = boxes.ground(QWidget(), "surface")
        beside = boxes.column(left)
        top = QHBoxLayout()
        top.setContentsMargins(theme.px(24), theme.px(12), theme.px(16 + SCROLLBAR), 0)
        top.setSpacing(theme.px(12))
        self._name = PlainLabel(tr("&Layout"))
        self._name.setBuddy(self.layout_choice)
        top.addWidget(self._name)
        top.addWidget(self.layout_choice, 1)
        beside.addLayout(top)
        below = QHBoxLayout()
        below.setContentsMargins(theme.px(24 + 12), theme.px(2), theme.px(16 + SCROLLBAR), theme.px(10))
        below.setSpacing(0)
        self._indent = QWidget()
        below.addWidget(self._indent)
        below.addWidget(self.about, 1)
        beside.addLayout(below)
        beside.addWidget(self.form, 1)
        split = _Body(left, self.trial, sizes=(440, 680), room=STACKED)
        split.setHandleWidth(1)
        split.turned.connect(self.trial.stack)
        split.setStretchFactor(0, 2)
        split.setStretchFactor(1, 3)
        return split

    def _question(self) -> QWidget:
        row = boxes.row(self.question, 24, 8)
        row.addWidget(Glyph("question", "warn"))
        row.addWidget(self.asked, 1)
        row.addWidget(self.agree)
        row.addWidget(self.refuse)
        self.question.hide()
        return self.question

    def _foot(self) -> WrappingRow:
        row = boxes.wrapping(x=24, y=14)
        row.addWidget(self.keep)
        row.addWidget(self.look)
        row.addWidget(self.forget)
        row.addWidget(self.trouble, 4)
        row.addStretch(1)
        ends = boxes.row(x=0, y=0)
        ends.addWidget(self.cancel)
        ends.addWidget(self.use)
        row.addLayout(ends)
        return row

    def first(self) -> QWidget | None:
        return self.layout_choice

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab goes down the keys, then through the preview, then along the foot, including keys out of sight."""
        rows = [row.editor for row in self.form.rows.values()]
        preview = (self.trial.table, self.trial.copy, self.trial.toml)
        foot = (self.agree, self.refuse, self.keep, self.look, self.forget, self.cancel, self.use)
        there = [part for part in (self.layout_choice, *rows, *preview, *foot) if part.isVisible() and part.isEnabled()]
        now = self.focusWidget()
        at = next((i for i, part in enumerate(there) if now is part or part.isAncestorOf(now or self)), -1)
        if there:
            to = there[(at + (1 if forward else -1)) % len(there)]
            if to in rows:
                self.form.ensureWidgetVisible(to, 0, theme.px(60))
            to.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
        return True

    # --- what is known

    def _begin(self) -> None:
        statements, ns = self._statements, self._ns

        def begin(_: tasks.Progress) -> tuple[Statement, Filled]:
            begun = statements.begin(ns)
            name = begun.texts["layout"]
            return begun, (name, begun.texts, statements.defaults(begun.info.ns, name), "")

        self._filling.ask(begin, self._begun, tr("Reading three documents"), title=tr("Looking at {ns}", ns=ns))

    def _not_filled(self, error: BaseException) -> None:
        self.trial.show_failed(error, self._filling.again)

    def _begun(self, found: tuple[Statement, Filled]) -> None:
        self._statement, filled = found
        info = self._statement.info
        self._ns = info.ns
        self.title.setText(tr("Layout of {ns}", ns=info.ns))
        self.badge.put(info.writer or info.layout)
        self.grounds.setText(grounds(info, self._statement.stated))
        self.forget.setVisible(self._statement.stated)
        self.look.setVisible(info.unversioned and not self._statement.stated)
        self.layout_choice.blockSignals(True)
        for name, about in self._session.statements.layouts.items():
            self.layout_choice.addItem(name, name)
            self.layout_choice.setItemData(self.layout_choice.count() - 1, translated(about), ABOUT)
        self.layout_choice.setCurrentIndex(self.layout_choice.findData(info.layout))
        self.layout_choice.blockSignals(False)
        self._place()
        self._fill(filled)
        self._ready(True)
        self.layout_choice.setFocus(Qt.FocusReason.PopupFocusReason)

    def _other_layout(self, _: int) -> None:
        statements, ns, name = self._statements, self._ns, str(self.layout_choice.currentData())

        def fill(_: tasks.Progress) -> Filled:
            texts, why = statements.filled(ns, name)
            return name, texts, statements.defaults(ns, name), why

        self._still.stop()
        self._filling.ask(fill, self._fill, tr("Reading three documents"), title=tr("Looking at {ns}", ns=ns))

    def _other_writer(self, writer: str) -> None:
        """Handle the choice of a program: its histories have their own layout and keys."""
        statements, ns = self._statements, self._ns

        def fill(_: tasks.Progress) -> Filled:
            name, texts = statements.of_writer(ns, writer)
            return name, texts, statements.defaults(ns, name), ""

        self._still.stop()
        self._filling.ask(fill, self._writer_known, tr("Reading three documents"))

    def look_for_history(self) -> None:
        """Fill in a reading that replays what can be checked, if one does."""
        statements, ns = self._statements, self._ns

        def look(progress: tasks.Progress) -> tuple[Filled, str] | None:
            found = statements.offered(ns, progress)
            if found is None:
                return None
            name, texts, said = found
            return (name, texts, statements.defaults(ns, name), ""), said

        self._still.stop()
        self._filling.ask(look, self._looked, tr("Trying the usual shapes of histories"))

    def _looked(self, found: tuple[Filled, str] | None) -> None:
        if found is None:
            self._edited("")
            self._say(tr("No history was found that fits; state its keys here if you know one."))
            return
        filled, said = found
        self.grounds.setText(tr("Offered, not proven: {said}", said=translated(said)))
        self._show_other(filled, tr("offered"))

    def _writer_known(self, filled: Filled) -> None:
        self._show_other(filled, tr("recognised"))

    def _show_other(self, filled: Filled, how: str) -> None:
        self.layout_choice.blockSignals(True)
        self.layout_choice.setCurrentIndex(self.layout_choice.findData(filled[0]))
        self.layout_choice.blockSignals(False)
        self.form.forget_told()
        self._fill(filled, how)

    def _fill(self, filled: Filled, how: str = "") -> None:
        name, texts, defaults, self._why_not = filled
        statement = self._statement
        if statement is None or name != self.layout_choice.currentData():
            return
        as_now = statement.stated and name == statement.info.layout
        self.form.show_keys(
            self._statements.keys(name), texts, defaults, tr("in use") if as_now else how or tr("recognised")
        )
        self.about.setText(str(self.layout_choice.currentData(ABOUT)))
        self._name.setFixedWidth(self.form.label_width)
        self._indent.setFixedWidth(self.form.label_width)
        self._offer()
        self._edited("")

    # --- names to choose from

    def _offer(self) -> None:
        statement = self._statement
        if statement is None:
            return
        for row in self.form.rows.values():
            if row.key.kind == "collection":
                row.offer(statement.collections)
            elif row.key.kind == "numbering":
                db = statement.info.ns.partition(".")[0]
                row.offer([*(way for way in self._statements.numberings if way != "counter"), f"counter:{db}.counters"])
            elif row.key.kind == "field" and row.key.place == "collection":
                row.offer(statement.names)
        self._offer_others()

    def _offer_others(self) -> None:
        """Offer names from another collection, or from a sub-document; they have to be looked up."""
        statement, statements, ns = self._statement, self._statements, self._ns
        if statement is None:
            return
        texts = self.form.texts
        archive, inside = texts.get("archive", ""), texts.get("current", "") if "prev" in texts else ""

        def list_names(_: tasks.Progress) -> dict[str, Sequence[str]]:
            there = archive in statement.collections
            return {
                "archive": statements.names(archive) if there else (),
                "current": statements.names(ns, inside) if inside else statement.names,
            }

        tasks.run(list_names, done=self._names_known, failed=self._no_names, owner=self, key="names")

    def _names_known(self, found: dict[str, Sequence[str]]) -> None:
        for row in self.form.rows.values():
            if row.key.kind == "field" and row.key.place in found:
                row.offer(found[row.key.place])

    def _no_names(self, error: BaseException) -> None:
        pass  # they can be typed; the trial says why the server does not answer

    # --- the trial

    def _edited(self, key: str) -> None:
        self._drop_question()
        if key == "writer" and self.form.texts["writer"]:
            self._other_writer(self.form.texts["writer"])
            return
        if key in ("archive", "current"):
            self._offer_others()
        _, troubles = self._statements.entry(self._texts)
        self.form.show_troubles(troubles)
        self._say(tr("{troubles} cannot be as stated.", troubles=", ".join(troubles)) if troubles else "")
        self._can_use(not troubles)
        if troubles:
            self._still.stop()
            self._drop_trial()
        else:
            self._still.start()

    @property
    def _texts(self) -> dict[str, str]:
        return {**self.form.texts, "layout": str(self.layout_choice.currentData())}

    def _try(self) -> None:
        if self._task is not None and self._task.running:
            self._again = True  # one at a time: a slow server must not be asked more
            self._task.drop()
            return
        self._again = False
        statements, ns, told = self._statements, self._ns, self.form.told
        entry, _ = statements.entry(self._texts)

        def try_out(progress: tasks.Progress) -> tuple[Trial, list[TrialRow]]:
            trial = statements.tried(ns, entry, told, progress)
            return trial, rows_of(trial)

        said, title = tr("Reading three documents"), tr("Reading three documents of {ns}", ns=ns)
        self._task = self._trying.ask(try_out, self._tried, said, title=title)
        self._task.finished.connect(self._try_newest)

    def _stop(self) -> None:
        """Read nothing more for the preview, because nobody sees it any longer."""
        self._still.stop()
        self._give_up()

    def _give_up(self) -> None:
        """Ignore the answer of a running trial, and start no further one."""
        self._again = False
        if self._task is not None:
            self._task.drop()

    def _try_newest(self) -> None:
        if self._again:
            self._try()

    def _drop_trial(self) -> None:
        self._give_up()
        if not self.trial.model.rows:
            self.trial.show_trouble(tr("Nothing was read."))
        else:
            self.trial.states.show_content()

    def _tried(self, found: tuple[Trial, list[TrialRow]]) -> None:
        self.trial.show_trial(*found)
        self._can_use(True)
        self._say(translated(self._why_not), "second")

    def _not_tried(self, error: BaseException) -> None:
        if isinstance(error, Refused) and type(error) is Refused:
            self.trial.show_trouble(translated(str(error)))
            self._can_use(False)
        else:
            self.trial.show_failed(error, self._trying.again)

    # --- results

    def _ready(self, known: bool) -> None:
        for part in (self.layout_choice, self.keep, self.use):
            part.setEnabled(known)
        if not known:
            self.forget.hide()

    def _can_use(self, can: bool) -> None:
        self.use.setEnabled(can)
        self.keep.setEnabled(can)

    def _say(self, sentence: str, role: str = "error") -> None:
        self.trouble.setText(sentence)
        self.trouble.setProperty("role", role)
        self.trouble.style().unpolish(self.trouble)
        self.trouble.style().polish(self.trouble)

    def _use(self) -> None:
        statements, ns = self._statements, self._ns
        entry, troubles = statements.entry(self._texts)
        if not troubles:
            self._ready(False)
            tasks.run(lambda _: statements.use(ns, entry), done=self._used, failed=self._failed, owner=self, key="use")

    def _used(self, info: CollectionInfo) -> None:
        self._end(
            tr(
                "{ns} is read as {layout} until it is disconnected; a profile would keep that",
                ns=info.ns,
                layout=info.layout,
            )
        )

    def _forget(self) -> None:
        statements, ns = self._statements, self._ns
        self._ready(False)
        tasks.run(lambda _: statements.forget(ns), done=self._forgot, failed=self._failed, owner=self, key="use")

    def _forgot(self, info: CollectionInfo) -> None:
        self._end(tr("{ns} is recognised as {layout} again", ns=info.ns, layout=info.layout))

    def _failed(self, error: BaseException) -> None:
        self._ready(True)
        self._say(tasks.describe(error)[0])

    def _end(self, said: str) -> None:
        host = self._host
        self.accept()
        messages.tell(host, said)
        self.changed.emit(self._ns)

    # --- storing it in a profile

    def pick_file(self) -> None:
        """Ask for the file; the statement is merged into it and never replaces it, so no warning is needed."""
        start = self._session.catalogue.profile_file or Path.cwd() / FILE
        path, _ = QFileDialog.getSaveFileName(
            self.window(),
            tr("Save as profile"),
            str(start),
            tr("Profiles (*.toml)"),
            options=QFileDialog.Option.DontConfirmOverwrite,
        )
        if path:
            self.save_to(Path(path if Path(path).suffix else f"{path}.toml"))

    def save_to(self, path: Path) -> None:
        """Store the statement in this file; if that states something else about the collection, ask first."""
        statements, ns, told = self._statements, self._ns, self.form.told
        entry, troubles = statements.entry(self._texts)
        if troubles:
            return
        self._drop_question()
        tasks.run(
            lambda _: statements.in_file(path, ns, entry, told),
            done=self._merged,
            failed=self._failed,
            owner=self,
            key="file",
        )

    def _merged(self, edit: ProfileEdit) -> None:
        self._edit = edit
        if not edit.changed and not edit.kept:
            self._keep()
            return
        self.asked.setText(question(edit, self._ns))
        self.agree.setText(tr("Save to {name}", name=edit.path.name))
        self.question.show()
        self.agree.setFocus()

    def _drop_question(self) -> None:
        self._edit = None
        self.question.hide()

    def _keep(self) -> None:
        session, edit, ns = self._session, self._edit, self._ns
        if edit is not None:
            self._ready(False)
            tasks.run(
                lambda _: (edit.path, session.statements.keep(edit, ns)),
                done=self._kept,
                failed=self._failed,
                owner=self,
                key="use",
            )

    def _kept(self, kept: tuple[Path, bool]) -> None:
        path, in_use = kept
        other = self._session.catalogue.profile_file
        also = "" if in_use or other is None else tr("; {name} still states all else", name=other.name)
        self._end(tr("{ns} is stated in {path}{also}", ns=self._ns, path=path, also=also))


class _Between(Scrolling):
    """Scrolls if the window is too low; title and buttons stay visible."""

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), theme.px(HEIGHT))


class _Body(StackingSplit):
    """Keys and preview; they take all the room, and ask for no more than they need."""

    def sizeHint(self) -> QSize:
        return self.minimumSizeHint()


class _WithMeaning(QStyledItemDelegate):
    """Lists each layout with its meaning; the field itself shows only the name."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().initStyleOption(option, index)
        option.text = f"{index.data()}: {index.data(ABOUT)}"

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        wide = option.fontMetrics.horizontalAdvance(f"{index.data()}: {index.data(ABOUT)}")
        return QSize(wide + theme.px(24), theme.px(26))


def grounds(info: CollectionInfo, stated: bool) -> str:
    """What a collection was recognised as, and why."""
    sure = "" if stated else tr(" ({share} % sure)", share=round(100 * info.confidence))
    also = (
        tr(" It fits {alternatives} as well.", alternatives=tr(" or ").join(info.alternatives))
        if info.alternatives
        else ""
    )
    return tr(
        "Taken for {layout}, {about}{sure}. {why}{also}",
        layout=info.layout,
        about=translated(info.about),
        sure=sure,
        why=translated(info.why),
        also=also,
    )


def question(edit: ProfileEdit, ns: str) -> str:
    """What a file already says about a collection, and how that would change."""
    changes = [
        tr("{key} = {old} is removed", key=key, old=old)
        if not new
        else tr("{key} = {old} becomes {new}", key=key, old=old, new=new)
        if old
        else tr("{key} becomes {new}", key=key, new=new)
        for key, old, new in edit.changed
    ]
    stays = [tr("{key} = {value} stays", key=key, value=value) for key, value in edit.kept]
    return tr(
        "{name} states {ns} already: {changes}.", name=edit.path.name, ns=ns, changes=", ".join([*changes, *stays])
    )
