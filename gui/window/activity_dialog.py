"""The running work: each task with its progress and a stop button."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from gui import tasks
from gui.language import tr
from gui.style import theme, wording
from gui.style.sheet import Sheet
from gui.style.states import button, words


class _TaskLine(QWidget):
    def __init__(self, task: tasks.Task) -> None:
        super().__init__()
        self.task = task
        self._said = words(task.title, "", wrap=True)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(theme.px(140))
        self._bar.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.px(12))
        row.addWidget(self._said, 1)
        row.addWidget(self._bar)
        self.stop = button(tr("Stop"), task.cancel, "small", "quiet")
        self.stop.setAccessibleName(tr("Stop: {title}", title=task.title))
        row.addWidget(self.stop)
        task.progressed.connect(self._reached)

    def _reached(self, done: int, total: int | None) -> None:
        self._bar.setVisible(bool(total))
        if total:
            self._bar.setRange(0, total)
            self._bar.setValue(min(done, total))
        if said := wording.progress(self.task):
            self._said.setText(f"{self.task.title}: {said}")


class ActivityDialog(Sheet):
    """The list of tasks, kept up to date while it is open."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, 520)
        self.setAccessibleName(tr("Tasks"))
        self.lines: list[_TaskLine] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        self._column.setSpacing(theme.px(12))
        self._column.addWidget(words(tr("Tasks"), "title"))
        self._none = words(tr("No tasks running"), "second")
        self._column.addWidget(self._none)
        row = QHBoxLayout()
        row.addStretch(1)
        self.close_button = button(tr("Close"), self.accept)
        row.addWidget(self.close_button)
        self._column.addLayout(row)
        tasks.tasks.changed.connect(self._fill)
        self._fill()

    def first(self) -> QWidget | None:
        return self.close_button

    def _fill(self) -> None:
        running = [task for task in tasks.tasks.running if task.title]
        for line in [line for line in self.lines if line.task not in running]:
            self.lines.remove(line)
            self._column.removeWidget(line)
            line.hide()
            line.deleteLater()
        known: list[QObject] = [line.task for line in self.lines]
        for task in running:
            if task not in known:
                line = _TaskLine(task)
                self.lines.append(line)
                self._column.insertWidget(self._column.count() - 1, line)
        self._none.setVisible(not self.lines)
        if self.isVisible():
            self._place()
