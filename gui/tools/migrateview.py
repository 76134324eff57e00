"""Moving a collection to another layout: what it would do, doing it, comparing both, and what to put into a profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
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

from gui import messages, tasks
from gui.look import boxes, states, theme, wording
from gui.look.cells import Cell, CellTree, Index, Span, value
from gui.look.states import StateStack, button, words
from gui.paging import RowsModel
from model.migrate import Migration
from model.records import Outcome
from model.session import Session

MOST = 1000  # documents that are listed; the others are counted
_ICONS = {
    "applied": ("check", "acc"),
    "skipped": ("minus", "text2"),
    "refused": ("warning-circle", "err"),
    "conflict": ("warning", "warn"),
    "unknown": ("question", "warn"),
}


class OutcomesModel(RowsModel[Outcome]):
    """Documents and what becomes of each."""

    headers = ("Document", "What happens")

    def key(self, row: Outcome) -> Hashable:
        return row.id

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        if index.column() == 0:
            return value("" if row.id is None else wording.plain(row.id), middle=True, indent=8)
        icon, token = _ICONS[row.kind]
        return Cell(spans=(Span(row.detail),), icon=icon, icon_token=token, tip=row.detail)


class MigratePanel(QWidget):
    """One collection; nothing is written before "Copy and verify"."""

    moved = Signal()

    def __init__(self, session: Session, ns: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self.ns = session, ns
        self._task: tasks.Task | None = None
        self._counts: Counter[str] = Counter()
        boxes.ground(self, "surface")
        self.layout_choice = QComboBox()
        self.layout_choice.setAccessibleName("The new layout")
        now = session.info(ns).layout
        for name, about in session.histories.items():
            if name != now:
                self.layout_choice.addItem(f"{name}: {about}", name)
        self.target = QLineEdit()
        self.target.setAccessibleName("The new collection")
        self.newest = QCheckBox("Take the newest version only; earlier ones stay where they are")
        self.dry = button("Dry run", self.try_it, icon="play")
        self.go = button("Copy and verify", self.copy, "main")
        self.back = button("Take back…", self._ask_back, "quiet")
        self.model = OutcomesModel()
        self.list = CellTree(row_height=28)
        self.list.as_list(self.model, "Documents", (220,))
        self.toml = QPlainTextEdit()
        self.toml.setReadOnly(True)
        self.toml.setObjectName("plainjson")
        self.toml.setFont(theme.mono(11))
        self.toml.setAccessibleName("What to put into a profile")
        self.report = words("Nothing has been written yet.", wrap=True)
        self._assemble(now)
        self.layout_choice.currentIndexChanged.connect(self._chosen)
        self._chosen()

    def _assemble(self, now: str) -> None:
        head = QVBoxLayout()
        head.setContentsMargins(theme.px(16), theme.px(16), theme.px(16), theme.px(16))
        head.setSpacing(theme.px(8))
        head.addWidget(words(f"Move {self.ns} to another layout", "title"))
        head.addWidget(
            words(
                f"Its layout is {now} now. Every document's whole history is copied beside it and compared byte for "
                "byte. The old collection stays as it is; people may go on writing, and copying again brings it over.",
                "second",
                wrap=True,
            )
        )
        for field in (self.layout_choice, self.target):
            field.setMaximumWidth(theme.px(460))
        form = QFormLayout()
        form.setSpacing(theme.px(8))
        form.addRow("Layout", self.layout_choice)
        form.addRow("New collection", self.target)
        form.addRow("", self.newest)
        head.addLayout(form)
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        for part in (self.dry, self.go, self.back):
            row.addWidget(part)
        row.addStretch(1)
        head.addLayout(row)
        below = QWidget()
        column = boxes.column(below)
        title = QHBoxLayout()
        title.setContentsMargins(theme.px(16), theme.px(6), theme.px(16), theme.px(6))
        title.addWidget(words("In a profile", "head"))
        title.addStretch(1)
        title.addWidget(button("Copy", self._copy_toml, "small", icon="copy"))
        column.addLayout(title)
        column.addWidget(self.toml)
        split = boxes.split(self.list, below, sizes=(330, 200))
        self.states = StateStack(split)
        foot = QHBoxLayout()
        foot.setContentsMargins(theme.px(16), theme.px(10), theme.px(16), theme.px(10))
        foot.addWidget(self.report)
        whole = boxes.column(self)
        whole.addLayout(head)
        whole.addWidget(states.hair())
        whole.addWidget(self.states, 1)
        whole.addWidget(states.hair())
        whole.addLayout(foot)
        self.setFocusProxy(self.layout_choice)

    # --- what is asked for

    def _chosen(self, *_: object) -> None:
        name = str(self.layout_choice.currentData())
        self.target.setText(f"{self.ns}_{name}")
        self.newest.setVisible(name in ("hashed", "plain"))
        self.model.fill([])
        self._show_toml()
        self._ready()

    def _migration(self) -> Migration:
        name = str(self.layout_choice.currentData())
        return self._session.migration(
            self.ns, name, self.target.text().strip(), None, self.newest.isVisible() and self.newest.isChecked()
        )

    def _show_toml(self) -> None:
        def work(_: tasks.Progress) -> str:
            return self._migration().toml

        tasks.run(work, done=self.toml.setPlainText, failed=self._no_toml, owner=self, key="toml")

    def _no_toml(self, error: BaseException) -> None:
        self.toml.setPlainText(tasks.describe(error)[0])

    def say_writable(self) -> None:
        """Offer to copy, or not, as the connection allows now."""
        self._ready()

    def _ready(self) -> None:
        busy = self._task is not None and self._task.running
        why = f"{self._session.name} is open read-only; to copy, allow writes." if self._session.read_only else ""
        self.dry.setEnabled(not busy)
        for part in (self.go, self.back):
            part.setEnabled(not busy and not why)
            part.setToolTip(why)
        for field in (self.layout_choice, self.target, self.newest):
            field.setEnabled(not busy)

    # --- doing it

    def try_it(self) -> None:
        """Say for each document what copying would do."""
        self._run("Looking at what would be copied", lambda m, p: m.dry_run(p), self._tried)

    def copy(self) -> None:
        """Copy until nothing is left to do, then compare."""
        self._run(f"Moving {self.ns}", lambda m, p: m.run(p), self._copied)

    def _run(
        self,
        title: str,
        what: Callable[[Migration, tasks.Progress], Iterator[Outcome]],
        done: Callable[[object], None],
    ) -> None:
        moving = self._migration()
        self._counts.clear()
        self.model.fill([])
        self._show_toml()

        def work(progress: tasks.Progress) -> None:
            last = {}
            for outcome in what(moving, progress):
                last[outcome.id] = outcome
            progress.put(list(last.values()))

        self._task = tasks.run(
            work,
            done=done,
            failed=self._failed,
            cancelled=self._stopped,
            partial=self._found,
            owner=self,
            key="move",
            title=title,
        )
        self._task.progressed.connect(self.states.progress)
        self._task.finished.connect(self._ready)
        self.states.show_loading(title, self._task.cancel)
        self._ready()

    def _found(self, rows: list[Outcome]) -> None:
        self._counts = Counter(each.kind for each in rows)
        order = ("refused", "conflict", "unknown", "applied", "skipped")
        self.model.fill(sorted(rows, key=lambda each: order.index(each.kind))[:MOST])

    def _tried(self, _: object) -> None:
        self.states.show_content()
        left = self._counts["refused"]
        said = f"Dry run: {wording.many(self._counts['applied'], 'document')} would be copied"
        said += f", {wording.count(self._counts['skipped'])} are there already" if self._counts["skipped"] else ""
        said += f", {wording.count(left)} cannot be held and would stay" if left else ""
        self.report.setText(f"{said}. Nothing has been written.")

    def _copied(self, _: object) -> None:
        self.states.show_content()
        moving = self._migration()

        def work(progress: tasks.Progress) -> tuple[int, int, list[str]]:
            found = list(moving.verify(progress))
            return len(found), sum(each.versions for each in found), [each.wrong for each in found if each.wrong]

        self._task = tasks.run(
            work, done=self._verified, failed=self._failed, cancelled=self._stopped, owner=self, key="move",
            title=f"Comparing {self.ns}",
        )  # fmt: skip
        self._task.finished.connect(self._ready)
        self._ready()

    def _verified(self, found: tuple[int, int, list[str]]) -> None:
        documents, versions, wrong = found
        said = f"{wording.many(versions, 'version')} of {wording.many(documents, 'document')} are equal in both places"
        if wrong:
            said += f"; {wording.count(len(wrong))} are not: {wrong[0]}"
        else:
            messages.tell(self, f"{self.ns} is in {self.target.text()} too, every version equal")
        self.report.setText(f"{said}. The old collection stays as it is.")
        self.moved.emit()

    def _failed(self, error: BaseException) -> None:
        self.states.show_failed(error, self.try_it, "The collection could not be moved")

    def _stopped(self) -> None:
        self.states.show_content()
        self.report.setText("Stopped. Copying again goes on where it ended.")

    def _ask_back(self) -> None:
        messages.confirm(
            self,
            f"Take {self.target.text()} back?",
            "What the migration has put there is removed where it is still exactly that; what somebody changed stays.",
            "Take back",
            partial(self._run, "Taking back", lambda m, p: m.take_back(p), self._taken),
            danger=True,
        )

    def _taken(self, _: object) -> None:
        self.states.show_content()
        kept = self._counts["conflict"] + self._counts["refused"]
        said = f"{wording.many(self._counts['applied'], 'document')} taken back"
        self.report.setText(f"{said}{f', {wording.count(kept)} stay' if kept else ''}.")
        self.moved.emit()

    def _copy_toml(self) -> None:
        QGuiApplication.clipboard().setText(self.toml.toPlainText())
