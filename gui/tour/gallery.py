"""States and parts on one page: what every view is made of, as the real widgets draw it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gui.style import boxes, focus_ring, symbols, theme
from gui.style.states import Choice, StateView, button, words

PLACES = ("document", "archive", "prev", "delta")
OPERATIONS = ("add", "move", "remove", "reorder", "replace", "text", "retype")
BADGES = (
    ("archive", "typ", "typT", ""),
    ("2 unresolved", "warn", "warnT", "conflict"),
    ("1 added", "add", "addT", "add"),
    ("1 removed", "rem", "remT", "remove"),
    ("4 changed", "chg", "chgT", "replace"),
    ("1 retyped", "typ", "typT", "retype"),
)


class _Mark(QWidget):
    def __init__(self, stored: str, state: str, current: bool = False) -> None:
        super().__init__()
        self._what = (stored, state, current)
        self.setFixedSize(theme.px(40), theme.px(30))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        stored, state, current = self._what
        centre = QRectF(self.rect()).center()
        if state != "missing":
            symbols.version_mark(painter, centre, stored, state, current)
            return
        box = QRectF(centre.x() - theme.px(12), centre.y() - theme.px(9), theme.px(24), theme.px(18))
        symbols.hatch(painter, box)
        painter.setPen(QPen(theme.colour("ctl"), 1, Qt.PenStyle.DashLine))
        painter.drawLine(box.topLeft(), box.bottomLeft())
        painter.drawLine(box.topRight(), box.bottomRight())


class _Operation(QWidget):
    def __init__(self, op: str) -> None:
        super().__init__()
        self._op = op
        self.setFixedSize(theme.px(24), theme.px(24))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour(symbols.CHANGES[self._op][1]))
        painter.drawRoundedRect(QRectF(self.rect()), theme.px(4), theme.px(4))
        symbols.change(painter, QRectF(self.rect()), self._op)


class _Badges(QWidget):
    """The badges, in as many lines as the width requires."""

    def __init__(self) -> None:
        super().__init__()
        self._lay_out()

    def _lay_out(self) -> list[tuple[float, float]]:
        """Each badge's left edge and vertical middle."""
        x, middle, places = 0.0, float(theme.px(11)), []
        for text, _, _, symbol in BADGES:
            wide = symbols.badge_width(text, symbol)
            if x and x + wide > self.width():
                x, middle = 0.0, middle + theme.px(24)
            places.append((x, middle))
            x += wide + theme.px(8)
        self.setFixedHeight(round(middle) + theme.px(11))
        return places

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._lay_out()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        for (x, middle), (text, ink, ground, symbol) in zip(self._lay_out(), BADGES, strict=True):
            symbols.badge(painter, x, middle, text, ink, ground, symbol)


class _Ringed(QWidget):
    """A control with its focus ring."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        room = theme.px(focus_ring.GAP + focus_ring.WIDTH)
        row.setContentsMargins(room, room, room, room)
        row.addWidget(inside)

    def paintEvent(self, event: QPaintEvent) -> None:
        focus_ring.paint(QPainter(self), QRectF(self.rect()))


def _card(title: str, remark: str = "") -> tuple[QFrame, QVBoxLayout]:
    card = QFrame()
    card.setProperty("card", True)
    column = QVBoxLayout(card)
    column.setContentsMargins(theme.px(20), theme.px(14), theme.px(20), theme.px(14))
    column.setSpacing(theme.px(8))
    head = QHBoxLayout()
    head.setSpacing(theme.px(8))
    head.addWidget(words(title, "head"))
    head.addWidget(words(remark, "second"))
    head.addStretch(1)
    column.addLayout(head)
    return card, column


class Gallery(QWidget):
    """Marks, changes, controls and states."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "page")
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(32), theme.px(24), theme.px(32), theme.px(24))
        column.setSpacing(theme.px(16))
        head = QVBoxLayout()
        head.setSpacing(theme.px(2))
        head.addWidget(words("States and parts", "title"))
        head.addWidget(words("One vocabulary for every view", "second"))
        column.addLayout(head)
        upper = QHBoxLayout()
        upper.setSpacing(theme.px(16))
        upper.addWidget(self._places(), 4)
        upper.addWidget(self._changes(), 3)
        upper.addWidget(self._controls(), 6)
        column.addLayout(upper)
        grid = QGridLayout()
        grid.setSpacing(theme.px(16))
        for at, (name, view) in enumerate(_states()):
            grid.addWidget(_state_card(name, view), at // 3, at % 3)
        for at in range(3):
            grid.setColumnStretch(at, 1)
        column.addLayout(grid, 1)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFocus()

    def _places(self) -> QWidget:
        card, column = _card("Where a version is stored", "shape and state")
        grid = QGridLayout()
        grid.setVerticalSpacing(theme.px(2))
        for at, stored in enumerate(PLACES):
            grid.addWidget(words(stored, "second"), 0, at + 1, Qt.AlignmentFlag.AlignHCenter)
        for row, state in enumerate(("present", "unproven", "damaged"), 1):
            grid.addWidget(words(state, "second"), row, 0)
            for at, stored in enumerate(PLACES):
                mark = _Mark(stored, state, stored == "document" and state == "present")
                grid.addWidget(mark, row, at + 1, Qt.AlignmentFlag.AlignHCenter)
        grid.addWidget(words("missing", "second"), 4, 0)
        grid.addWidget(_Mark("none", "missing"), 4, 1, Qt.AlignmentFlag.AlignHCenter)
        grid.addWidget(words("a break in the line", "second"), 4, 2, 1, 3)
        column.addLayout(grid)
        column.addStretch(1)
        return card

    def _changes(self) -> QWidget:
        card, column = _card("Changes", "symbol before colour")
        grid = QGridLayout()
        grid.setSpacing(theme.px(8))
        for at, op in enumerate(OPERATIONS):
            grid.addWidget(_Operation(op), at // 2, at % 2 * 2)
            grid.addWidget(words(symbols.CHANGES[op][3]), at // 2, at % 2 * 2 + 1)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        column.addLayout(grid)
        column.addStretch(1)
        return card

    def _controls(self) -> QWidget:
        card, column = _card("Controls", "32 high, 26 in tool rows")
        disabled = button("Disabled")
        disabled.setEnabled(False)
        hovered = button("Hover")
        hovered.setProperty("drawn", "hover")  # as under the pointer, which pictures lack
        column.addLayout(_row([button("Normal"), hovered, _Ringed(button("Focus")), disabled]))
        danger = button("Remove 14", None, "danger", icon="trash", token="surface")
        quiet = button("Quiet", None, "quiet", icon="plus")
        column.addLayout(_row([button("Primary", None, "main"), danger, button("Overwrite…", None, "warnText"), quiet]))
        good, focused, bad = QLineEdit("hb-117"), QLineEdit("hb-117"), QLineEdit("12,50")
        focused.setProperty("drawn", "focus")
        bad.setProperty("bad", True)
        for field in (good, focused, bad):
            field.setProperty("mono", True)
            field.setMinimumWidth(theme.px(90))
        wrong = QWidget()
        under = QVBoxLayout(wrong)
        under.setContentsMargins(0, 0, 0, 0)
        under.setSpacing(theme.px(2))
        under.addWidget(bad)
        under.addWidget(words("Not a Decimal128: use a point", "error"))
        fields = _row([good, focused, wrong])
        for field in (good, focused):
            fields.setAlignment(field, Qt.AlignmentFlag.AlignTop)
        column.addLayout(fields)
        ticks = []
        for said, state in (
            ("off", Qt.CheckState.Unchecked),
            ("on", Qt.CheckState.Checked),
            ("some", Qt.CheckState.PartiallyChecked),
        ):
            tick = QCheckBox(said)
            tick.setTristate(state == Qt.CheckState.PartiallyChecked)
            tick.setCheckState(state)
            ticks.append(tick)
        column.addLayout(_row([*ticks, _segments(self)]))
        column.addWidget(_Badges())
        column.addStretch(1)
        return card


def _segments(owner: QWidget) -> QWidget:
    box = QWidget()
    row = QHBoxLayout(box)
    row.setContentsMargins(theme.px(16), 0, 0, 0)
    row.setSpacing(0)
    group = QButtonGroup(owner)
    for said, place in (("One", "first"), ("Two", "mid"), ("Three", "last")):
        made = QPushButton(said)
        made.setCheckable(True)
        made.setProperty("segment", place)
        made.setChecked(said == "One")
        group.addButton(made)
        row.addWidget(made)
    return box


def _row(parts: Sequence[QWidget]) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(theme.px(8))
    for part in parts:
        row.addWidget(part)
    row.addStretch(1)
    return row


def _states() -> list[tuple[str, StateView]]:
    def nothing() -> None: ...

    def made(*what: object, choices: Sequence[Choice] = (), main: bool = False) -> StateView:
        view = StateView()
        icon, token, title, help = (str(part) for part in what)
        view.put(icon, token, title, help, choices, main)
        return view

    loading = made("hourglass", "text2", "Reading versions of K-118240", "", choices=[("Stop", nothing)])
    loading.progress(37, 60)
    return [
        (
            "Empty",
            made(
                "tray", "text2", "No document matches this filter",
                "41,316 documents are in contracts. The filter asks for status “activ”.",
                choices=[("Clear the filter", nothing)],
            ),
        ),
        ("Loading", loading),
        (
            "Failed",
            made(
                "warning-circle", "err", "staging did not answer within 5 s",
                "Nothing was written. Check that the server is up and that this computer may reach stg-db-1, then try "
                "again.",
                choices=[("Try again", nothing), ("Copy details", nothing)],
            ),
        ),
        (
            "Read-only",
            made(
                "lock-simple", "warn", "production is open read-only",
                "You can look, compare and copy. To edit, reconnect and allow writes.",
                choices=[("Reconnect…", nothing)],
            ),
        ),
        (
            "Outcome unknown",
            made(
                "question", "warn", "It is not known whether v15 was saved",
                "The connection was lost after the write was sent. It may still arrive. Your draft is kept, and saving "
                "is held until this is settled.",
                choices=[("Check again", nothing), ("Copy the write token", nothing)], main=True,
            ),
        ),
        (
            "Done",
            made(
                "check-circle", "acc", "5 tokens finished",
                "One was skipped because it changed since it was listed. Everything written is in the journal.",
                choices=[("Undo this write", nothing), ("Show the journal", nothing)],
            ),
        ),
    ]  # fmt: skip


def _state_card(name: str, view: StateView) -> QWidget:
    card = QFrame()
    card.setProperty("card", True)
    column = QVBoxLayout(card)
    column.setContentsMargins(1, theme.px(14), 1, 1)
    column.setSpacing(0)
    head = words(name, "column")
    head.setContentsMargins(theme.px(20), 0, 0, 0)
    column.addWidget(head)
    view.setObjectName("bare")
    view.setContentsMargins(theme.px(4), 0, theme.px(4), 0)
    column.addWidget(view, 1)
    return card


__all__ = ["Gallery"]
