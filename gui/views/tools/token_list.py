"""The list of pending tokens: its filters, its ticks, each token's verdict, and the fields that change."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Mapping, Sequence

from msgspec import Struct
from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHeaderView

from gui.language import tr, translated
from gui.paging import RowsModel
from gui.style import theme, wording
from gui.style.cells import Cell, CellTree, Index, Span, plain, value
from model import text
from model.foundation.records import Outcome, PendingToken
from model.session.left_tokens import LeftTokens
from model.values.canonical import Value

AGES = (
    (tr("All tokens"), None),
    (tr("Older than 1 h"), 1),
    (tr("Older than 24 h"), 24),
    (tr("Older than 7 days"), 168),
)
WIDTHS = (44, 170, 120, 200, 90, 90, 70, 90)
NARROW = (44, 150, 76, 120, 86, 76, 68, 72)  # at 1024 pixels, so that the last column is useful
COLLECTION, TOKEN, OWNER, AMOUNT, COUNTER = 2, 3, 4, 6, 7
STATES = (
    tr("All states"),
    tr("Can be finished"),
    tr("Inside the grace period"),
    tr("Counted already"),
    tr("Need a person"),
)
_ENDS = {
    "applied": ("check", "acc", tr("Finished")),
    "skipped": ("minus", "text2", tr("Skipped")),
    "refused": ("warning-circle", "err", tr("Refused")),
    "conflict": ("warning", "warn", tr("Changed meanwhile")),
    "unknown": ("question", "warn", tr("Not known")),
}


class TokensModel(RowsModel[PendingToken]):
    """Tokens with ticks; only those that can be finished can be ticked."""

    headers = (
        "",
        tr("Document"),
        tr("Collection"),
        tr("Token"),
        tr("Owner"),
        tr("Age"),
        tr("Amount"),
        tr("Counter"),
        tr("Dry run"),
    )
    right_headers = frozenset({5, 6, 7})
    ticked_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.said: dict[Hashable, bool] = {}  # what a person ticked or unticked; the only ticks of young tokens
        self.ends: dict[Hashable, Outcome] = {}
        self.dropped: set[Hashable] = set()
        self.whole_ns = False  # several databases may have a collection of that name
        self._turns: dict[Hashable, tuple[Value | None, Value | None]] | None = None
        self.now = dt.datetime.now(dt.UTC)

    def key(self, row: PendingToken) -> Hashable:
        return row.ns, row.id, row.token

    def can_tick(self, row: PendingToken) -> bool:
        """Whether a token can be ticked: it needs no decision by a person, and was not handled yet."""
        return not row.problem and self.key(row) not in self.ends

    def is_ticked(self, row: PendingToken) -> bool:
        """Whether a token would be handled: an old one unless unticked, a young one only if ticked."""
        return self.can_tick(row) and self.said.get(self.key(row), is_old(row))

    def ticked(self) -> list[PendingToken]:
        """The tokens that would be handled, in the order shown."""
        return [row for row in self.rows if self.is_ticked(row)]

    def tick(self, rows: Sequence[PendingToken], on: bool) -> None:
        """Tick or untick."""
        for row in rows:
            self.said[self.key(row)] = on
        self._turns = None
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, len(self.headers) - 1))
        self.ticked_changed.emit()

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        dim = "text" if self.is_ticked(row) else "text3"
        match index.column():
            case 0:
                state = Qt.CheckState.Checked if self.is_ticked(row) else Qt.CheckState.Unchecked
                said = tr("ticked") if self.is_ticked(row) else tr("not ticked")
                return Cell(check=state if self.can_tick(row) else None, indent=8, accessible=said)
            case 1:
                return value(wording.plain(row.id), middle=True, tip=f"{row.ns} / {wording.plain(row.id)}")
            case 2:
                return plain(row.ns if self.whole_ns else row.ns.partition(".")[2], "text2", middle=True, tip=row.ns)
            case 3:
                return value(text.shown(row.token), dim, middle=True)
            case 4:
                return plain(row.owner or tr("not known"), "text2" if row.owner else "text3")
            case 5:
                return plain(wording.age(row.at, self.now), dim, right=True)
            case 6:
                return value(f"{row.amount:+d}", dim, right=True)
            case 7:
                return value(tr("missing") if row.counter is None else text.shown(row.counter), dim, right=True)
        icon, token, said = self.verdict(row)
        return Cell(spans=(Span(said, "text2"),), icon=icon, icon_token=token, tip=said)

    def fill(self, rows: Sequence[PendingToken], more: bool = False) -> None:
        self._turns = None
        super().fill(rows, more)

    def turns(self) -> dict[Hashable, tuple[Value | None, Value | None]]:
        """The counter before and after each token that would be finished; tokens above it are finished first."""
        if self._turns is None:
            rows = [row for row in self.rows if self.is_ticked(row) or self._is_counted(row)]
            self._turns = dict(zip(map(self.key, rows), LeftTokens.in_turn(rows), strict=True))
        return self._turns

    def _is_counted(self, row: PendingToken) -> bool:
        end = self.ends.get(self.key(row))
        return end is not None and end.kind == "applied" and self.key(row) not in self.dropped

    def verdict(self, row: PendingToken) -> tuple[str, str, str]:
        """Icon, colour and text for a token's end, expected or real."""
        end = self.ends.get(self.key(row))
        if end is not None:
            icon, token, said = _ENDS[end.kind]
            if end.kind == "applied":
                return icon, token, tr("Dropped") if self.key(row) in self.dropped and not row.applied else said
            return icon, token, f"{said}: {translated(end.detail)}"
        if row.problem:
            return "warning", "warn", translated(row.problem)
        if row.applied:
            return "check", "acc", tr("Counted already: only taken out of the list")
        if not row.stale and not self.is_ticked(row):
            return (
                "minus",
                "text2",
                tr("Inside the grace period: left out") if row.at else tr("Age not known: left out"),
            )
        then, made = self.turns().get(self.key(row), (row.counter, row.after))
        before = "0" if then is None else text.shown(then)
        after = "" if made is None else text.shown(made)
        if row.stale:
            return (
                "check",
                "acc",
                tr("Would make {field} {before} → {after}", field=row.field, before=before, after=after),
            )
        return (
            "warning",
            "warn",
            tr("Young; would make {field} {before} → {after}", field=row.field, before=before, after=after),
        )


class PreviewModel(RowsModel[tuple[str, str, str, str]]):
    """The fields that a token touches: now, after finishing it, after dropping it."""

    headers = (tr("Field"), tr("Now"), tr("Finished"), tr("Dropped"))

    def key(self, row: tuple[str, str, str, str]) -> Hashable:
        return row

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        said, now = row[index.column()], row[1]
        if index.column() == 0:
            return value(said, indent=8)  # aligned with its header
        if index.column() == 1 or said == now:
            return value(said or tr("not there"), "text" if said else "text3")
        ground = "remT" if not said else "chgT" if now else "addT"
        return value(said, ground=ground) if said else Cell(hatch=True, accessible=tr("not there"))


def touched(token: PendingToken, fields: Mapping[str, str], keeps: bool) -> list[tuple[str, str, str, str]]:
    """The rows of the preview: field, now, finished, dropped; "" if a field is missing.

    ``fields`` names the lists; ``keeps`` says whether finished tokens are noted in one.
    """
    shown = text.shown(token.token)
    counted = shown if token.applied else ""
    now = "" if token.counter is None else text.shown(token.counter)
    done = now if token.applied or token.after is None else text.shown(token.after)
    rows = [(fields.get("pending", "pending"), shown, "", "")]
    if keeps or counted:
        rows.append((fields.get("applied", "applied"), counted, shown, counted))
    return [*rows, (token.field, now, done, now)]


def is_old(token: PendingToken) -> bool:
    """Whether a token may be handled by default: it is old, or counted already."""
    return token.stale or token.applied


class Filter(Struct, frozen=True):
    """The filters of the list."""

    age: dt.timedelta | None = None
    state: int = 0  # an index in STATES
    ns: str = ""
    words: str = ""

    def takes(self, token: PendingToken, now: dt.datetime) -> bool:
        """Whether a token is listed."""
        if self.age is not None and (token.at is None or now - token.at < self.age):
            return False
        if self.ns and token.ns != self.ns:
            return False
        young = not is_old(token)
        states = (True, not young and not token.problem, young, token.applied, bool(token.problem))
        said = f"{wording.plain(token.id)} {text.shown(token.token)} {token.owner or ''}".lower()
        return states[self.state] and all(word in said for word in self.words.lower().split())


class TokenTree(CellTree):
    """The view of the list; Space, or a click on a box, ticks it."""

    def __init__(self, model: TokensModel) -> None:
        super().__init__(row_height=28)
        self._tokens = model
        self.as_list(model, tr("Pending tokens"))
        self.setSelectionMode(CellTree.SelectionMode.ExtendedSelection)
        self.clicked.connect(self._clicked)
        self.narrow_below(1080, NARROW, WIDTHS, dispensable=(COUNTER, AMOUNT, OWNER, COLLECTION, TOKEN))
        self.setMinimumHeight(theme.px(84))
        self.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)

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
