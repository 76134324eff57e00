"""The left of the repair centre: the findings by class, the scan's buttons, and the places not checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMenu, QSizePolicy, QVBoxLayout, QWidget

from gui import messages, tasks
from gui.language import tr
from gui.style import boxes, states, symbols, theme, wording
from gui.style.states import button, tool, words
from gui.views.repair.class_tree import ROW, ClassModel, ClassTree
from gui.views.repair.repair_words import not_checked
from gui.views.repair.scan_consent import Agreement
from gui.views.repair.scanner import Scanner
from model.session import Session
from model.session.repairs import Plan


class Tag(QWidget):
    """A badge as a widget."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text, self._ink, self._ground = "", "typ", "typT"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.signals.changed.connect(self.update)

    def put(self, text: str, ink: str = "typ", ground: str = "typT") -> None:
        """Show a word; "" hides the badge."""
        self._text, self._ink, self._ground = text, ink, ground
        self.setAccessibleName(text)
        self.setVisible(bool(text))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(round(symbols.badge_width(self._text)) + 1 if self._text else 0, theme.px(20))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._text:
            symbols.badge(QPainter(self), 0, self.height() / 2, self._text, self._ink, self._ground)


WORDED = 270  # the least width at which the button above has text
ROWS = 4  # visible classes if their findings are below them


class ClassPane(QWidget):
    """The classes of damage found by a scan, with its progress and its buttons."""

    scan_asked = Signal(bool)  # True: continue a stopped scan
    plan_opened = Signal(object)  # Plan
    health_asked = Signal()

    def __init__(self, scanner: Scanner, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scanner = scanner
        self.plan: Plan | None = None
        """The plan that saving would save, with the present ticks and answers."""
        boxes.ground(self, "sidebar")
        self.setMinimumWidth(theme.px(230))
        self.model = ClassModel()
        self.tree = ClassTree(self.model)
        self.tree.setObjectName("sidebartree")
        self._count = Tag()
        self.again = button(tr("Scan again"), partial(self.scan_asked.emit, False), "small", icon="arrows-clockwise")
        self.again.setAccessibleName(tr("Scan again"))
        self.more = tool("dots-three", tr("More"), self._menu)
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(16), theme.px(6), theme.px(8), theme.px(6))
        head.setSpacing(theme.px(8))
        head.addWidget(words(tr("Findings"), "head"))
        head.addWidget(self._count)
        head.addStretch(1)
        head.addWidget(self.again)
        head.addWidget(self.more)
        self.doubts = words("", "second", wrap=True)
        self.doubts.setObjectName("doubts")
        self.doubts.setContentsMargins(theme.px(16), theme.px(8), theme.px(12), theme.px(8))
        self.doubts.hide()
        self.done = words("", "second", wrap=True)
        self.left_out = words("", "second", wrap=True)
        self.hold = button(tr("Pause"), self._hold, "small")
        self.stop = button(tr("Stop"), scanner.stop, "small", "quiet")
        self.on = button(tr("Go on"), partial(self.scan_asked.emit, True), "small")
        self._run = QWidget()
        row = QHBoxLayout(self._run)
        row.setContentsMargins(0, theme.px(4), 0, 0)
        row.setSpacing(theme.px(8))
        for part in (self.hold, self.stop, self.on):
            row.addWidget(part)
        row.addStretch(1)
        foot = QVBoxLayout()
        foot.setContentsMargins(theme.px(16), theme.px(10), theme.px(12), theme.px(12))
        foot.setSpacing(theme.px(4))
        foot.addWidget(self.done)
        foot.addWidget(self.left_out)
        foot.addWidget(self._run)
        whole = boxes.column(self)
        whole.addLayout(head)
        whole.addWidget(states.hair())
        whole.addWidget(self.doubts)
        whole.addWidget(self.tree, 1)
        whole.addWidget(states.hair())
        whole.addLayout(foot)
        scanner.progressed.connect(self._progress)
        self._why_not = ""
        self.total = 0
        self._is_low = False
        self.put({})
        self.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.again.setText(tr("Scan again") if self.width() >= theme.px(WORDED) else "")

    def stack(self, is_low: bool) -> None:
        """Show a few classes above the text about them, and no empty list; or all classes beside it."""
        self._is_low = is_low
        self.tree.setMinimumHeight(theme.px(ROWS * ROW) if is_low else 0)
        self.tree.setVisible(not is_low or self.total > 0)

    # --- content

    def put(self, counts: Mapping[str, int]) -> None:
        """Show the number of findings of each class."""
        self.total = total = sum(counts.values())
        self._count.put(wording.count(total) if total else "", "warn", "warnT")
        self.model.put(counts)
        self.tree.expandAll()
        self.stack(self._is_low)

    def begin(self) -> None:
        """Show that a scan is running."""
        self.plan = None
        self.put({})
        self.done.setText(tr("Scanning…"))
        for part in (self.left_out, self.doubts):
            part.setText("")
            part.hide()
        self._buttons()

    def _progress(self, done: int, total: int | None) -> None:
        of = tr(" of {total}", total=wording.count(total)) if total else ""
        self.done.setText(tr("{done}{of} documents so far", done=wording.count(done), of=of))

    def end(self, plan: Plan | None = None) -> None:
        """Show that no scan is running; ``plan`` came from the last one, or from a file."""
        self.plan = plan
        scanner = self._scanner
        if plan is not None and plan.note:
            self.done.setText(
                tr("A plan of {made}, from {name}.", made=wording.moment(plan.made), name=Path(plan.note).name)
            )
        elif scanner.at is not None:
            at = wording.moment(scanner.at)[-5:]
            how = tr("Scanned") if scanner.whole else tr("Failed after") if scanner.broken else tr("Stopped after")
            self.done.setText(
                tr(
                    "{how} {documents} in {span}, {at}",
                    how=how,
                    documents=wording.many(scanner.documents, "document"),
                    span=_span(scanner.seconds),
                    at=at,
                )
            )
        else:
            self.done.setText("")
        left = not_checked(plan.unchecked if plan is not None else scanner.unchecked)
        self.left_out.setText(left)
        self.left_out.setVisible(bool(left))
        doubts = "\n\n".join(plan.doubts.values()) if plan is not None else ""
        self.doubts.setText(doubts)
        self.doubts.setVisible(bool(doubts))
        self._buttons()

    def _buttons(self) -> None:
        running = self._scanner.running and self.plan is None
        for part in (self.again, self.on):
            part.setEnabled(not running and not self._why_not)
            part.setToolTip(wording.tip(self._why_not))
        self.hold.setVisible(running)
        self.stop.setVisible(running)
        self.hold.setText(tr("Go on") if self._scanner.held else tr("Pause"))
        self.on.setVisible(not running and self._scanner.can_go_on)
        self._run.setVisible(running or self._scanner.can_go_on)

    def hold_back(self, why_not: str) -> None:
        """Offer no scan, and say why; "": offer it."""
        self._why_not = why_not
        self._buttons()

    def _hold(self) -> None:
        self._scanner.hold(not self._scanner.held)
        self._buttons()

    # --- files

    def _menu(self) -> None:
        menu = self.menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.more.mapToGlobal(self.more.rect().bottomLeft()))

    def menu(self) -> QMenu:
        """The menu with more actions on a scan and its plan."""
        menu = QMenu(self)
        menu.addAction(tr("Save the plan…"), self._save).setEnabled(self.plan is not None and bool(self.plan.items))
        menu.addAction(tr("Open a plan…"), self._open)
        menu.addSeparator()
        menu.addAction(tr("Health: findings over time"), self.health_asked.emit)
        menu.addSeparator()
        gently = menu.addAction(tr("Scan gently: small batches, with rests"))
        gently.setCheckable(True)
        gently.setChecked(self._scanner.gently)
        gently.toggled.connect(self._gently)
        return menu

    def _gently(self, on: bool) -> None:
        self._scanner.gently = on
        if (kept := Agreement.kept(self._scanner.session)) is not None:
            Agreement(kept.places, on).keep(self._scanner.session)

    def _save(self) -> None:
        plan = self.plan
        path, _ = QFileDialog.getSaveFileName(self, tr("Save the plan"), "repair-plan.json", tr("Plans (*.json)"))
        if path and plan is not None:
            tasks.run(
                lambda _: plan.save(path),
                done=partial(self._kept, tr("The plan"), path),
                failed=partial(messages.fail, self),
                owner=self,
            )

    def _open(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, tr("Open a plan"), "", tr("Plans (*.json);;All files (*)"))
        if path:
            self.load(path)

    def load(self, path: str) -> None:
        """Read a plan from a file; it replaces the findings."""
        session = self._scanner.session
        tasks.run(
            lambda _: session.repairs.load(path),
            done=self.plan_opened.emit,
            failed=partial(messages.fail, self),
            owner=self,
        )

    def save_report(
        self, session: Session, plan: Plan, results: Sequence[tuple[int, str, str]], applied: bool, run: str
    ) -> None:
        """Ask for a file and write the report into it."""
        kinds = tr("A page (*.html);;JSON (*.json)")
        path, _ = QFileDialog.getSaveFileName(self, tr("Save the report"), "repair-report.html", kinds)
        if path:
            self.write_report(path, session, plan, results, applied, run)

    def write_report(
        self, path: str, session: Session, plan: Plan, results: Sequence[tuple[int, str, str]], applied: bool, run: str
    ) -> None:
        """Write the report as a page, or as JSON if the file's name ends so."""
        make = session.repairs.report_json if path.endswith(".json") else session.repairs.report_html
        tasks.run(
            lambda _: session.repairs.keep_report(path, make(plan, results, applied, run)),
            done=partial(self._kept, tr("The report"), path),
            failed=partial(messages.fail, self),
            owner=self,
        )

    def _kept(self, what: str, path: str, _: object) -> None:
        messages.tell(self, tr("{what} is in {path}", what=what, path=path))


def _span(seconds: float) -> str:
    if seconds < 1:
        return tr("under a second")
    return f"{seconds:.0f} s" if seconds < 120 else tr("{seconds:.0f} min", seconds=seconds / 60)
