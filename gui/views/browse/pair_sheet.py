"""The sheet that compares two documents of a list."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gui import tasks
from gui.parts.differences import diff_grouping
from gui.parts.differences.diff_model import DiffModel
from gui.parts.differences.diff_table import DiffTable
from gui.style import theme, wording
from gui.style.sheet import Sheet
from gui.style.states import StateStack, button, words
from model.diff import diff
from model.records import Row
from model.session import Session
from model.values.canonical import EMPTY


class PairSheet(Sheet):
    """Reads both documents as they are now; their ids are not compared."""

    def __init__(self, parent: QWidget, session: Session, ns: str, a: Row, b: Row) -> None:
        super().__init__(parent, 1080)
        self._names = (_name(a), _name(b))
        title = f"{self._names[0]} and {self._names[1]}"
        self.setAccessibleName(f"Comparison of {title}")
        self.changes = DiffModel(self)
        self.tree = DiffTable(self.changes)
        self.tree.setAccessibleName(f"What differs between {title}")
        self.states = StateStack(self.tree)
        self.states.setMinimumHeight(self.fitting(460, 200))
        self.said = words("", "second")
        self._close = button("Close", self.accept, "main")
        foot = QHBoxLayout()
        foot.addWidget(self.said)
        foot.addStretch(1)
        foot.addWidget(self._close)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(12))
        column.addWidget(words(title, "title", wrap=True))
        column.addWidget(self.states, 1)
        column.addLayout(foot)

        def work(progress: tasks.Progress) -> diff_grouping.Plan:
            before, after = (session.version(ns, row.id).content or EMPTY for row in (a, b))
            return diff_grouping.plan(before, after, diff(before, after), progress)

        self._task = tasks.run(
            work, done=self._compared, failed=self._failed, owner=self, title="Comparing two documents"
        )
        self.finished.connect(self._stop)
        self.states.show_loading("Reading both documents", self.reject)

    def first(self) -> QWidget | None:
        return self._close

    def _stop(self) -> None:
        self._task.cancel()

    def _compared(self, plan: diff_grouping.Plan) -> None:
        self.changes.show(plan, self._names, True)
        count = self.changes.count
        self.said.setText(f"{wording.many(count, 'difference')}" if count else "Both have the very same content")
        self.states.show_content()

    def _failed(self, error: BaseException) -> None:
        self.states.show_failed(error, None, "They could not be compared")


def _name(row: Row) -> str:
    """A document with its version, as the head of a column."""
    return f"{wording.plain(row.id)} {wording.version(row.version)}".strip() if row.version else wording.plain(row.id)
