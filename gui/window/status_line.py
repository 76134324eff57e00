"""The last row of the window: text of the current page, the profile, the zone, advice, and the running work."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QWidget

from gui import tasks
from gui.language import tr
from gui.style import boxes, theme, wording
from gui.style.states import OneLine, words

HEIGHT = 27
FIRST = 110  # u; the first text names the collection, and with less room would be useless
BRIEF = 0.3  # seconds; work that is over sooner is not named, so that the line stands still
NAME = 200  # u; a wider profile name is cut in the middle


class _Elided(OneLine):
    # A sentence in the status line is cut instead of widening the window.
    def __init__(self, middle: bool = False) -> None:
        self.room = 0  # the pixels that it may take
        self.least = 0  # the width, in u, that it keeps
        super().__init__("second", middle)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.setMinimumWidth(0)

    def sizeHint(self) -> QSize:
        """The size of the sentence, within its room."""
        whole = super().sizeHint()
        return QSize(min(whole.width(), self.room), whole.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(min(self.wide, theme.px(self.least)), super().minimumSizeHint().height())


class StatusLine(QWidget):
    """The status line: the page's text on both sides, and the running work in between."""

    tasks_asked = Signal()
    advice_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "statusline")
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(theme.px(16), 1, theme.px(16), 0)
        self._row.setSpacing(theme.px(16))
        self._left: list[_Elided] = []
        self._right: list[_Elided] = []
        self._shown = (0, 0)  # the number of texts at the left and at the right
        self._row.addStretch(1)
        self.advice = QPushButton()
        self.advice.setObjectName("taskbutton")
        self.advice.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.advice.setToolTip(tr("Whether it keeps two writers apart: press to see what a measurement does"))
        self.advice.clicked.connect(self.advice_asked)
        self.advice.hide()
        self._row.addWidget(self.advice)
        self.profile = words("", "second")
        self.profile.hide()
        self._row.addWidget(self.profile)
        self.tasks = QPushButton()  # a tool button would keep room beside its text
        self.tasks.setObjectName("taskbutton")
        self.tasks.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.tasks.setToolTip(tr("What is being done"))
        self.tasks.clicked.connect(self.tasks_asked)
        self._row.addWidget(self.tasks)
        self.with_tasks = True
        self._named: list[tasks.Task] = []
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(round(BRIEF * 1000))
        self._soon.timeout.connect(self._count)
        tasks.tasks.changed.connect(self._changed)
        tasks.tasks.progressed.connect(self._progressed)
        theme.signals.changed.connect(self._restyle)
        self._restyle()
        self._count()

    def _restyle(self) -> None:
        self.setFixedHeight(theme.px(HEIGHT) + 1)

    def put(self, left: Sequence[str], right: Sequence[str], with_tasks: bool = True) -> None:
        """Show texts at the left and at the right."""
        left, right = list(filter(None, left)), list(filter(None, right))
        while len(self._left) < len(left):
            made = _Elided(middle=not self._left)  # a path differs from others at its end
            made.least = 0 if self._left else FIRST
            self._row.insertWidget(len(self._left), made)
            self._left.append(made)
        while len(self._right) < len(right):
            label = _Elided()
            self._row.insertWidget(self._row.count() - 1, label)
            self._right.append(label)
        for parts, said in ((self._left, left), (self._right, right)):
            for at, part in enumerate(parts):
                part.setText(said[at] if at < len(said) else "")
        self._shown = len(left), len(right)
        self.with_tasks = with_tasks
        self._count()

    def show_advice(self, said: str) -> None:
        """Show what is worth doing, as a button; "" hides it."""
        self.advice.setText(said)
        self.advice.setVisible(bool(said))
        self._share()

    def show_profile(self, file: Path | None) -> None:
        """Name the profile that states layouts; None if there is none."""
        self.profile.setVisible(file is not None)
        if file is not None:
            name = self.profile.fontMetrics().elidedText(file.name, Qt.TextElideMode.ElideMiddle, theme.px(NAME))
            self.profile.setText(tr("Profile {name}", name=name))
            self.profile.setAccessibleName(tr("Profile {name}", name=file.name))
            self.profile.setToolTip(wording.tip(tr("Layouts are stated in {file}", file=file)))
        self._share()

    def _progressed(self, task: tasks.Task) -> None:
        # A button that changes its width with every step would not stand still.
        if task.title and task.pace.rate is not None:
            self._count()

    def _changed(self) -> None:
        if any(not task.running for task in self._named):
            self._count()
        elif not self._soon.isActive():
            self._soon.start()

    def _count(self) -> None:
        """Name the work that has run for a while; what began since is looked at again."""
        titled = [task for task in tasks.tasks.running if task.title]
        running = self._named = [task for task in titled if time.monotonic() - task.began >= BRIEF]
        if running != titled and not self._soon.isActive():
            self._soon.start()
        if not running:
            self.tasks.setText(tr("No tasks running"))
        elif len(running) == 1:
            said = wording.progress(running[0])
            self.tasks.setText(f"{running[0].title}: {said}" if said else running[0].title)
        else:
            self.tasks.setText(tr("{running} tasks running", running=wording.count(len(running))))
        self.tasks.setVisible(self.with_tasks or bool(running))
        self._share()

    def _share(self) -> None:
        """Divide the room: the first text at the left gets some, those at the right all they need, the others the
        rest.

        Texts with too little room are hidden.
        """
        edges, gap = self._row.contentsMargins(), self._row.spacing()
        room = self.width() - edges.left() - edges.right()
        room -= sum(
            part.sizeHint().width() + gap for part in (self.advice, self.profile, self.tasks) if not part.isHidden()
        )
        left, right = self._left[: self._shown[0]], self._right[: self._shown[1]]
        first = min(left[0].wide, theme.px(FIRST)) + gap if left else 0
        for part in right:
            part.room = min(part.wide, max(0, room - first))
            room -= part.room + gap
        for at, part in enumerate(left):
            part.room = min(part.wide, max(0, room))
            if at and part.room < min(part.wide, theme.px(FIRST)):
                part.room = room = 0
            room -= part.room + gap
        for part in (*self._left, *self._right):
            part.setVisible(part.room > 0 and part in (*left, *right))
            part.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share()
