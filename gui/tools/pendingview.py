"""Pending tokens: what finishing each would do, the write beforehand, then one guarded write a token and a report."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Hashable
from functools import partial

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QHeaderView, QPlainTextEdit, QSplitter, QVBoxLayout, QWidget

from gui import messages, tasks
from gui.look import icons, states, theme, wording
from gui.look.cells import Cell, CellTree, Index, Span, plain, value
from gui.look.states import StateStack, button, words
from gui.paging import RowsModel, refill
from model import text
from model.records import Outcome, PendingToken, Sending
from model.session import Session

AGES = (("All tokens", None), ("Older than 1 h", 1), ("Older than 24 h", 24), ("Older than 7 days", 168))
WIDTHS = (36, 170, 120, 200, 90, 90, 70, 90)
NARROW = (36, 150, 76, 120, 86, 76, 68, 72)  # the same in a window of 1024, so that the last column says something
_ENDS = {
    "applied": ("check", "acc", "Finished"),
    "skipped": ("minus", "text2", "Skipped"),
    "refused": ("warning-circle", "err", "Refused"),
    "conflict": ("warning", "warn", "Changed meanwhile"),
    "unknown": ("question", "warn", "Not known"),
}


class TokensModel(RowsModel[PendingToken]):
    """Tokens with a tick each; only those that can be finished can be ticked."""

    headers = ("", "Document", "Collection", "Token", "Owner", "Age", "Amount", "Counter", "Dry run")
    right_headers = frozenset({5, 6, 7})
    ticked_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.unticked: set[Hashable] = set()
        self.ends: dict[Hashable, Outcome] = {}
        self.now = dt.datetime.now(dt.UTC)

    def key(self, row: PendingToken) -> Hashable:
        return row.ns, row.id, row.token

    def can_tick(self, row: PendingToken) -> bool:
        """Old enough, without a question that only a person can answer, and not dealt with yet."""
        return row.stale and not row.problem and self.key(row) not in self.ends

    def is_ticked(self, row: PendingToken) -> bool:
        """Whether finishing would include it."""
        return self.can_tick(row) and self.key(row) not in self.unticked

    def ticked(self) -> list[PendingToken]:
        """What finishing would include, in the order shown."""
        return [row for row in self.rows if self.is_ticked(row)]

    def tick(self, rows: list[PendingToken], on: bool) -> None:
        """Tick or untick."""
        for row in rows:
            (self.unticked.discard if on else self.unticked.add)(self.key(row))
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, len(self.headers) - 1))
        self.ticked_changed.emit()

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        dim = "text" if self.is_ticked(row) else "text3"
        match index.column():
            case 0:
                state = Qt.CheckState.Checked if self.is_ticked(row) else Qt.CheckState.Unchecked
                said = "ticked" if self.is_ticked(row) else "not ticked"
                return Cell(check=state if self.can_tick(row) else None, accessible=said)
            case 1:
                return value(wording.plain(row.id), middle=True)
            case 2:
                return plain(row.ns.partition(".")[2], "text2")
            case 3:
                return value(text.shown(row.token), dim, middle=True)
            case 4:
                return plain(row.owner or "not known", "text2" if row.owner else "text3")
            case 5:
                return plain(wording.age(row.at, self.now), dim, right=True)
            case 6:
                return value(f"{row.amount:+d}", dim, right=True)
            case 7:
                return value("missing" if row.counter is None else text.shown(row.counter), dim, right=True)
        icon, token, said = self.verdict(row)
        return Cell(spans=(Span(said, "text2"),), icon=icon, icon_token=token, tip=said)

    def verdict(self, row: PendingToken) -> tuple[str, str, str]:
        """Icon, colour and words for what would happen to a token, or did."""
        end = self.ends.get(self.key(row))
        if end is not None:
            icon, token, said = _ENDS[end.kind]
            return icon, token, said if end.kind == "applied" else f"{said}: {end.detail}"
        if row.problem:
            return "warning", "warn", row.problem
        if not row.stale:
            return "minus", "text2", "Younger than the grace period: left out" if row.at else "Age not known: left out"
        if row.applied:
            return "check", "acc", "Counted already: only taken out of the list"
        before = "0" if row.counter is None else text.shown(row.counter)
        after = "" if row.after is None else text.shown(row.after)
        return "check", "acc", f"Would make {row.field} {before} → {after}"


class PreviewModel(RowsModel[tuple[str, str, str, str]]):
    """Field, before, after of the chosen token's document."""

    headers = ("", "Field", "Before", "After")

    def key(self, row: tuple[str, str, str, str]) -> Hashable:
        return row

    def cell(self, index: Index) -> Cell:
        op, name, before, after = self.rows[index.row()]
        tint = {"add": "addT", "remove": "remT", "replace": "chgT"}[op]
        match index.column():
            case 0:
                return Cell(change=op)
            case 1:
                return value(name)
        shown = before if index.column() == 2 else after
        return value(shown, ground=tint) if shown else Cell(hatch=True, accessible="not there")


class PendingPanel(QWidget):
    """The clean-up of counters that are raised in two steps; ``ns`` None is every collection of the source."""

    finished = Signal(object)  # the collections that were written to
    closed = Signal()

    def __init__(self, session: Session, ns: str | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self.ns = session, ns
        self._sending: Sending | None = None
        self._task: tasks.Task | None = None
        self._written = False
        self.setObjectName("surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.model = TokensModel()
        self.model.ticked_changed.connect(self._said)
        self.list = _TokenTree(self.model)
        self.list.selectionModel().currentRowChanged.connect(self._chosen)
        self.preview = PreviewModel()
        self.code = QPlainTextEdit()
        self.code.setReadOnly(True)
        self.code.setObjectName("plainjson")
        self.code.setAccessibleName("The write that finishes this token")
        self.code.setFont(theme.mono(11))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._title_row())
        column.addWidget(states.hair())
        upper = QWidget()
        inner = QVBoxLayout(upper)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(0)
        inner.addWidget(self.list, 1)
        inner.addWidget(self._ticks_row())
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.addWidget(upper)
        split.addWidget(self._preview_part())
        split.setSizes([theme.px(340), theme.px(260)])
        self.states = StateStack(split)
        column.addWidget(self.states, 1)
        column.addWidget(states.hair())
        column.addLayout(self._report_row())
        column.addWidget(self._foot())
        self.setFocusProxy(self.list)
        self.refresh()

    # --- its parts

    def _title_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(theme.px(16), theme.px(10), theme.px(16), theme.px(10))
        row.setSpacing(theme.px(8))
        left = QVBoxLayout()
        left.setSpacing(theme.px(4))
        left.addWidget(words("Pending tokens", "title"))
        self._about = words(
            "Step one was written and step two never was, so the counter is behind by what these tokens stand for.",
            "second",
            wrap=True,
        )
        left.addWidget(self._about)
        row.addLayout(left, 1)
        self.ages = QComboBox()
        self.ages.setAccessibleName("Which tokens are shown")
        for name, hours in AGES:
            self.ages.addItem(name, hours)
        self.ages.currentIndexChanged.connect(self._filter_changed)
        row.addWidget(self.ages)
        self._again = button("Scan again", self.refresh, "small", icon="arrows-clockwise")
        row.addWidget(self._again)
        return row

    def _ticks_row(self) -> QWidget:
        made = QWidget()
        made.setObjectName("toolrow")
        made.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(made)
        row.setContentsMargins(theme.px(8), theme.px(5), theme.px(16), theme.px(5))
        row.setSpacing(theme.px(8))
        self._all = button("", self._tick_all, "quiet", "small")
        row.addWidget(self._all)
        row.addStretch(1)
        row.addWidget(words("Each is finished only if it is still pending and was not applied.", "second"))
        return made

    def _preview_part(self) -> QWidget:
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(16), theme.px(6), theme.px(16), theme.px(6))
        head.setSpacing(theme.px(8))
        head.addWidget(words("Preview", "head"))
        self._which = words("", "second")
        self._which.setFont(theme.mono(12))
        head.addWidget(self._which, 1)
        self._copy = button("Copy as PyMongo", self._copy_code, "small", icon="copy")
        self._copy_shell = button("Copy as mongosh", self._copy_mongosh, "quiet", "small")
        head.addWidget(self._copy_shell)
        head.addWidget(self._copy)
        column.addLayout(head)
        column.addWidget(states.hair())
        tree = CellTree()
        tree.setRootIsDecorated(False)
        tree.setIndentation(0)
        tree.setModel(self.preview)
        tree.setAccessibleName("What finishing this token changes")
        tree.setSelectionMode(CellTree.SelectionMode.NoSelection)
        tree.header().resizeSection(0, theme.px(36))
        tree.header().resizeSection(1, theme.px(110))
        tree.header().resizeSection(2, theme.px(215))
        self._preview_tree = tree
        split = QSplitter()
        split.setChildrenCollapsible(False)
        split.addWidget(tree)
        split.addWidget(self.code)
        split.setSizes([theme.px(560), theme.px(600)])
        column.addWidget(split, 1)
        return made

    def _report_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(theme.px(16), theme.px(9), theme.px(16), theme.px(9))
        self.report = words("", wrap=True)
        row.addWidget(self.report, 1)
        self._save = button("Copy report", self._copy_report, "quiet", "small")
        row.addWidget(self._save)
        return row

    def _foot(self) -> QWidget:
        made = QWidget()
        made.setObjectName("toolrow")
        made.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(made)
        row.setContentsMargins(theme.px(16), theme.px(10), theme.px(16), theme.px(10))
        row.setSpacing(theme.px(8))
        self._note = words("Nothing has been written yet. What is written stands in the journal.", "second", wrap=True)
        row.addWidget(self._note, 1)
        self.cancel = button("Cancel", self._cancel)
        row.addWidget(self.cancel)
        self.go = button("Finish", self._ask, "main")
        row.addWidget(self.go)
        return made

    # --- reading

    def refresh(self) -> None:
        """Look for tokens again; ticks and place stay."""
        session, ns, hours = self._session, self.ns, self.ages.currentData()
        age = None if hours is None else dt.timedelta(hours=hours)

        def work(progress: tasks.Progress) -> list[PendingToken]:
            return list(session.pending(ns, age, progress))

        self.states.show_loading("Looking for pending tokens", self._stop)
        self._task = tasks.run(
            work, done=self._shown, failed=self._failed, owner=self, cancelled=self._stopped, key="tokens",
            title="Looking for pending tokens",
        )  # fmt: skip
        self._task.progressed.connect(self.states.progress)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _stopped(self) -> None:
        self.states.show_content()

    def _failed(self, error: BaseException) -> None:
        self.states.show_failed(error, self.refresh)

    def _shown(self, tokens: list[PendingToken]) -> None:
        self.model.now = dt.datetime.now(dt.UTC)
        self.model.ends = {}
        self._written = False
        refill(self.list, self.model, tokens)
        if tokens:
            self.states.show_content()
            if not self.list.selectionModel().hasSelection():
                self.list.setCurrentIndex(self.model.index(0, 0))
        else:
            older = self.ages.currentData() is not None
            self.states.show_empty(
                "No token is pending" if not older else "No token is that old",
                "Every counter has been raised by the step that follows its token.",
                [("Show all tokens", partial(self.ages.setCurrentIndex, 0))] if older else [],
                icon="check-circle",
            )
        self._said()

    def _filter_changed(self) -> None:
        self.refresh()

    # --- the chosen token

    def _chosen(self, now: QModelIndex) -> None:
        token = self.model.at(now)
        self._sending = None
        self._copy.setEnabled(False)
        self._copy_shell.setEnabled(False)
        if token is None:
            self.preview.fill([])
            self.code.clear()
            self._which.clear()
            return
        self._which.setText(wording.plain(token.id))
        self.preview.fill(_preview(token))
        session = self._session

        def work(_: tasks.Progress) -> Sending:
            return session.preview_finish(token)

        tasks.run(work, done=self._previewed, failed=self._no_preview, owner=self, key="preview")

    def _previewed(self, sending: Sending) -> None:
        self._sending = sending
        self.code.setPlainText(f"{sending.pymongo}\n\n# {sending.explanation}")
        self._copy.setEnabled(True)
        self._copy_shell.setEnabled(True)

    def _no_preview(self, error: BaseException) -> None:
        self.code.setPlainText(tasks.describe(error)[0])

    def _copy_code(self) -> None:
        if self._sending is not None:
            QGuiApplication.clipboard().setText(self._sending.pymongo)

    def _copy_mongosh(self) -> None:
        if self._sending is not None:
            QGuiApplication.clipboard().setText(self._sending.mongosh)

    # --- ticks and report

    def _tick_all(self) -> None:
        able = [row for row in self.model.rows if self.model.can_tick(row)]
        self.model.tick(able, on=len(self.model.ticked()) < len(able))

    def _said(self) -> None:
        ticked, rows = self.model.ticked(), self.model.rows
        able = sum(self.model.can_tick(row) for row in rows)
        tokens = wording.many(len(rows), "token")
        self._all.setText(f"{wording.count(len(ticked))} of {tokens} ticked")
        box = "check" if ticked and len(ticked) == able else "minus"
        self._all.setIcon(icons.icon(box, "acc" if ticked else "text3"))
        self._all.setEnabled(able > 0)
        self._all.setToolTip("Tick all that can be finished" if len(ticked) < able else "Untick all")
        self.report.setText(self._report())
        self.go.setText(f"Finish {wording.many(len(ticked), 'token')}" if ticked else "Finish")
        why = ""
        if self._session.read_only:
            why = f"{self._session.name} is open read-only; to finish tokens, allow writes."
        elif not ticked:
            why = "No token is ticked."
        self.go.setEnabled(not why and not self._busy())
        self.go.setToolTip(why)

    def _report(self) -> str:
        ends: Counter[str] = Counter(end.kind for end in self.model.ends.values())
        if ends:
            said = {"applied": "finished", "skipped": "skipped", "conflict": "changed meanwhile",
                    "refused": "refused", "unknown": "not known"}  # fmt: skip
            return "Report:  " + "    ".join(f"{wording.count(ends[k])} {w}" for k, w in said.items() if ends[k])
        rows = self.model.rows
        young = sum(not row.stale for row in rows)
        asks = sum(bool(row.problem) for row in rows if row.stale)
        return (
            f"Dry run:  {wording.count(len(self.model.ticked()))} would be finished    "
            f"{wording.count(young)} left out, too young    {wording.count(asks)} need a person"
        )

    def _copy_report(self) -> None:
        lines = [self.report.text()]
        for row in self.model.rows:
            token = text.shown(row.token)
            lines.append(f"{row.ns}  {wording.plain(row.id)}  {token}  {self.model.verdict(row)[2]}")
        QGuiApplication.clipboard().setText("\n".join(lines))
        messages.tell(self, "The report is in the clipboard.")

    # --- writing

    def _busy(self) -> bool:
        return self._task is not None and self._task.running and self._task.key == "finish"

    def _ask(self) -> None:
        ticked = self.model.ticked()
        if ticked:
            count = wording.many(len(ticked), "token")
            messages.confirm(
                self,
                f"Finish {count}?",
                "Each is one guarded write: the step that its writer would have sent. A token that has been finished "
                "meanwhile is skipped, and undo stays in the journal.",
                f"Finish {count}",
                self._finish,
            )

    def _finish(self) -> None:
        session, ticked = self._session, self.model.ticked()

        def work(progress: tasks.Progress) -> None:
            for at, outcome in enumerate(session.finish(ticked, progress)):
                progress.put((ticked[at], outcome))

        self._task = tasks.run(
            work, done=self._ended, failed=self._broke, owner=self, cancelled=self._ended, partial=self._one_ended,
            key="finish", title=f"Finishing {wording.many(len(ticked), 'token')}",
        )  # fmt: skip
        self.cancel.setText("Stop")
        self._said()

    def _one_ended(self, part: tuple[PendingToken, Outcome]) -> None:
        token, outcome = part
        self.model.ends[self.model.key(token)] = outcome
        self.model.touch(self.model.row_of(self.model.key(token)))
        self._said()

    def _ended(self, _: object = None) -> None:
        self._written = True
        self.cancel.setText("Close")
        self._said()
        ends = list(self.model.ends.values())
        done = [end for end in ends if end.kind == "applied"]
        self._note.setText("What was written stands in the journal, each token with its way back.")
        if done:
            entries = [end.entry for end in done if end.entry is not None]
            undo = partial(self._undo, entries) if entries else None
            messages.tell(self, f"{wording.many(len(done), 'token')} finished.", undo)
            self.finished.emit({end.ns for end in done})
        unknown = [end for end in ends if end.kind == "unknown"]
        if unknown:
            messages.doubt(
                self, f"It is not known whether {wording.many(len(unknown), 'token')} was finished.", self.refresh
            )

    def _broke(self, error: BaseException) -> None:
        self._ended()
        messages.fail(self, error)

    def _undo(self, entries: list[str]) -> None:
        session = self._session

        def work(progress: tasks.Progress) -> list[Outcome]:
            ended = []
            for at, entry in enumerate(reversed(entries)):
                progress(at, len(entries))
                ended.append(session.undo(entry))
            return ended

        tasks.run(work, done=self._undone, failed=self._broke, owner=self, title="Undoing")

    def _undone(self, ended: list[Outcome]) -> None:
        back = sum(end.kind == "applied" for end in ended)
        messages.tell(self, f"{wording.many(back, 'token')} pending again.")
        for end in ended:
            if end.kind != "applied":
                messages.fail(self, end.detail)
        self.refresh()
        self.finished.emit({end.ns for end in ended})

    def _cancel(self) -> None:
        if self._busy() and self._task is not None:
            self._task.cancel()
        else:
            self.closed.emit()


class _TokenTree(CellTree):
    def __init__(self, model: TokensModel) -> None:
        super().__init__(row_height=28)
        self._tokens = model
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self.setSelectionMode(CellTree.SelectionMode.ExtendedSelection)
        self.setModel(model)
        self.setAccessibleName("Pending tokens")
        self.clicked.connect(self._clicked)
        self._narrow: bool | None = None
        self.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.viewport().width() < theme.px(1080)
        if narrow != self._narrow:
            self._narrow = narrow
            for at, width in enumerate(NARROW if narrow else WIDTHS):
                self.header().resizeSection(at, theme.px(width))

    def _clicked(self, index: QModelIndex) -> None:
        if index.column() == 0:
            self._toggle([index])

    def _toggle(self, indexes: list[QModelIndex]) -> None:
        rows = [row for index in indexes if (row := self._tokens.at(index)) is not None and self._tokens.can_tick(row)]
        self._tokens.tick(rows, on=not all(self._tokens.is_ticked(row) for row in rows))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space:
            self._toggle(self.selectionModel().selectedRows(0) or [self.currentIndex().siblingAtColumn(0)])
        else:
            super().keyPressEvent(event)


def _preview(token: PendingToken) -> list[tuple[str, str, str, str]]:
    shown = text.shown(token.token)
    rows = [("remove", "pending", shown, "")]
    if not token.applied and token.after is not None:
        before = "" if token.counter is None else text.shown(token.counter)
        rows.append(("replace" if before else "add", token.field, before, text.shown(token.after)))
    return rows
