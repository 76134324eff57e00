"""Two documents side by side, from one or two collections and connections, each in any version."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QToolButton, QWidget

from gui import tasks
from gui.language import tr
from gui.parts.document_side import DocumentSide
from gui.parts.notices import Pill
from gui.parts.reading import Reading
from gui.style import boxes, states, theme, wording
from gui.style.states import StateStack, tool, words
from gui.views.compare.comparison_source import PairSource
from gui.views.compare.diff_panel import DiffPanel
from model.errors import NotFound
from model.foundation.records import Version
from model.values.canonical import Path, Value

_Histories = tuple[list[Version], list[Version]]


class PairPanel(QWidget):
    """Compares two documents. ``take_asked`` carries the side whose draft takes it, a content, a path and a name."""

    take_asked = Signal(object, object, object, str)
    showing = Signal()
    open_asked = Signal(object)  # the side whose document to show in its collection
    other_asked = Signal(object, str)  # the side that stays, and the side that needs another document: a or b

    def __init__(self, left: DocumentSide, right: DocumentSide, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "surface")
        self.left, self.right = left, right
        self._versions: _Histories = ([], [])
        self.diff = DiffPanel(PairSource(left, right), left.ns, pair=True)
        self.diff.ab_chosen.connect(self._choose)
        self.diff.swap_asked.connect(self._swap)
        self.diff.take_asked.connect(self._take)
        self.diff.showing.connect(self.showing)
        head = QWidget()
        row = boxes.wrapping(head, 16, 8, gap=8)
        row.addWidget(words(tr("Two documents"), "title"))
        row.addSpacing(theme.px(8))
        self.labels: list[tuple[QLabel, QLabel]] = []
        self.choosers: list[QToolButton] = []
        for letter in ("A", "B"):
            side = boxes.row(x=0, y=0)
            name, place = words("", ""), words("", "second")
            name.setFont(theme.mono(12, 600))
            side.addWidget(Pill(letter, "accText", "acc"))
            side.addWidget(name)
            side.addWidget(place)
            side.addWidget(
                tool(
                    "clock-counter-clockwise",
                    tr("Show the document of {letter} with its history", letter=letter),
                    partial(self._open, letter),
                )
            )
            choose = tool(
                "magnifying-glass",
                tr("Choose another document for {letter}…", letter=letter),
                partial(self._ask, letter),
            )
            side.addWidget(choose)
            row.addLayout(side)
            self.choosers.append(choose)
            row.addSpacing(theme.px(12))
            self.labels.append((name, place))
        row.addStretch(1)
        self.stack = StateStack(self.diff)
        self.reading = Reading(
            self, self.stack, has=self._is_read, again=self.refresh, title=tr("These documents could not be read")
        )
        column = boxes.column(self)
        column.addWidget(head)
        column.addWidget(states.hair())
        column.addWidget(self.stack, 1)
        self.setFocusProxy(self.diff)
        self.refresh()

    def _open(self, letter: str) -> None:
        self.open_asked.emit(self.left if letter == "A" else self.right)

    def _ask(self, letter: str) -> None:
        self.other_asked.emit(self.right if letter == "A" else self.left, letter.lower())

    @property
    def sizes(self) -> tuple[int, int]:
        """The size of each document in bytes."""
        shown = self.diff.comparison
        return (0, 0) if shown is None else (len(shown.a.content or b""), len(shown.b.content or b""))

    def show_pair(self, left: DocumentSide, right: DocumentSide) -> None:
        """Compare two other documents."""
        self.left, self.right = left, right
        self.diff.set_source(PairSource(left, right), left.ns)
        self.stack.forget_content()
        self._versions = ([], [])
        self.refresh()

    def refresh(self) -> None:
        """Read both documents again."""
        left, right = self.left, self.right
        for side, (name, place) in zip((left, right), self.labels, strict=True):
            name.setText(wording.plain(side.id))
            place.setText(side.place)
        said = tr("Reading two documents")
        self.reading.ask(partial(_histories, left, right), self._read, said, title=said)

    def _is_read(self) -> bool:
        return self.stack.kind == "content" and bool(self._versions[0])

    def _read(self, found: _Histories) -> None:
        self._versions = found
        self.stack.show_content()
        self.diff.set_sides(*found)
        self._compare()

    def _compare(self) -> None:
        a, b = (_chosen(all, side.v) for all, side in zip(self._versions, (self.left, self.right), strict=True))
        self.diff.names = wording.plain(self.left.id), wording.plain(self.right.id)
        self.diff.compare(self.left.id, a, b)

    def _choose(self, v: Value | None, w: Value | None) -> None:
        self.left = DocumentSide(self.left.session, self.left.ns, self.left.id, v)
        self.right = DocumentSide(self.right.session, self.right.ns, self.right.id, w)
        self._compare()

    def _swap(self) -> None:
        self.show_pair(self.right, self.left)

    def _take(self, source: bytes, path: Path, name: str, side: str) -> None:
        """A's value goes into the draft of B's document, and the reverse."""
        from_, into = (self.left, self.right) if side == "a" else (self.right, self.left)
        self.take_asked.emit(into, source, path, f"{wording.plain(from_.id)} {name}")


def _histories(left: DocumentSide, right: DocumentSide, progress: tasks.Progress) -> _Histories:
    made = []
    for side in (left, right):
        made.append(list(side.session.history.versions(side.ns, side.id, progress, changed=False)))
        if not made[-1]:
            raise NotFound(
                tr("{id} is not in {ns} any more; choose another document.", id=wording.plain(side.id), ns=side.ns)
            )
    return made[0], made[1]


def _chosen(versions: list[Version], v: Value | None) -> Version:
    """The version with this number, else the current one, else the newest that exists."""
    there = [one for one in versions if one.state != "missing"] or versions
    named = next((one for one in there if v is not None and one.v == v), None)
    return named or next((one for one in there if one.current), there[0])
