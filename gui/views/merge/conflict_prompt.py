"""The prompt after a save found another version in the database: first both sides, then the choices.

The prompt writes nothing; it only reports the choice. Overwriting asks a second time, and lists the loss.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QPushButton, QVBoxLayout, QWidget

from gui.language import tr
from gui.parts.fields.edit_changes import Change, EditChanges, around
from gui.style import boxes, preferences, theme, wording
from gui.style.cells import Badge, Cell, CellModel, CellTree, Index, Span, full_width, plain
from gui.style.scrolling import Scrolling
from gui.style.sheet import Sheet
from gui.style.states import Glyph, button, words
from gui.style.wording import many, moment, version
from gui.style.wrapping_row import WrappingRow
from model import text
from model.merge import Decision
from model.session.guarded_writing import Conflict, Remains
from model.values import canonical
from model.values.canonical import Path, Value

WIDTH, COLUMNS, BADGES = 784, (208, 160), 144
SMALL = 560  # u; in a narrower prompt the last column is shorter, so that both sides can be read
THEIRS, BADGE = 2, 3  # the column with the database's value, and the one with who changed it
BESIDE = 300  # u needed above and below the list
LONGEST = 4000  # characters of a text in which differences are looked for
ROW = 28  # u
ROWS = 8  # more rows than these scroll
NUMBERS = (
    tr("no"),
    tr("one"),
    tr("two"),
    tr("three"),
    tr("four"),
    tr("five"),
    tr("six"),
    tr("seven"),
    tr("eight"),
    tr("nine"),
)


class Clash(Struct, frozen=True):
    """One field that the database changed, beside the edit's change to it."""

    theirs: Change
    mine: Change | None  # the edit's change at, above or below that place
    needs_choice: bool

    @property
    def same(self) -> bool:
        """Whether both made the same change."""
        return self.mine is not None and (self.mine.op, self.mine.new) == (self.theirs.op, self.theirs.new)


def clashes(conflict: Conflict) -> list[Clash]:
    """The fields that the database changed; those that need a person come first."""
    base = conflict.base.content
    if conflict.theirs is None or conflict.theirs.content is None or base is None:
        return []
    theirs = EditChanges(base, conflict.theirs.content, conflict.keys)
    mine = EditChanges(base, conflict.mine, conflict.keys)
    asked = conflict.merge.conflicts if conflict.merge is not None else ()
    edited, waiting = _ByPlace([own.old_path for own in mine.all]), _ByPlace([one.path for one in asked])
    added = _Elements(mine.all, asked)
    moves: dict[Path, int] = {}
    for i, own in enumerate(mine.all):
        if own.op == "move":
            moves.setdefault(own.old_path[:-1], i)
    found = []
    for change in theirs.all:
        near = edited.near(change.old_path)
        # Moves in one array meet, whichever elements they move.
        if change.op == "move" and change.old_path[:-1] in moves:
            near.append(moves[change.old_path[:-1]])
        beside = [i for i in near if _meet(mine.all[i], change)]
        # The change of exactly this field, if there is one, else the first around or inside it.
        at = min(beside, key=lambda i: (mine.all[i].old_path != change.old_path, i), default=None)
        needs_choice = any(_waits(asked[i], change) for i in waiting.near(change.old_path))
        if at is None and change.is_element:
            at, waits = added.beside(change)
            needs_choice = needs_choice or waits
        found.append(Clash(change, None if at is None else mine.all[at], needs_choice))
    return sorted(found, key=lambda clash: not clash.needs_choice)


class _Elements:
    """Pairs the elements added by the edit with those added by the database: positions do not tell."""

    def __init__(self, mine: Sequence[Change], asked: Sequence[Decision]) -> None:
        self._mine = {(own.old_path[:-1], own.new): i for i, own in enumerate(mine) if own.is_element}
        self._asked: dict[tuple[Path, Value], Decision] = {}
        for decision in asked:
            if decision.base is None and decision.path and isinstance(decision.path[-1], int):
                # By value: elements that both sides insert have no common place.
                for value in _elements(decision, decision.theirs):
                    self._asked[decision.path[:-1], value] = decision

    def beside(self, change: Change) -> tuple[int | None, bool]:
        """The number of the edit's change, if there is one, and whether a person has to choose."""
        array, new = change.old_path[:-1], change.new
        decision = self._asked.get((array, new)) if new is not None else None
        if decision is None:
            return self._mine.get((array, new)), False
        there = (self._mine.get((array, value)) for value in _elements(decision, decision.mine))
        return next((i for i in there if i is not None), None), True


def _elements(decision: Decision, value: Value | None) -> list[Value]:
    """The elements that one side adds."""
    if value is None:
        return []
    return canonical.items(value) if decision.kind == "inserted" else [value]


class _ByPlace:
    """Finds paths at, above or below a path without looking at each: both sides may have thousands."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._at: dict[Path, list[int]] = {}
        for i, path in enumerate(paths):
            self._at.setdefault(path, []).append(i)
        self._sorted = sorted((_steps(path), i) for i, path in enumerate(paths))

    def near(self, path: Path) -> list[int]:
        """The numbers of the paths at, above or below a path."""
        steps = _steps(path)
        first, last = (bisect_left(self._sorted, (key, -1)) for key in (steps, (*steps, (2, ""))))
        below = [i for _, i in self._sorted[first:last]]
        return [i for depth in range(len(path)) for i in self._at.get(path[:depth], ())] + below


def _steps(path: Path) -> tuple[tuple[int, str | int], ...]:
    """A path as a sort key: names and positions are never compared, and (2, "") sorts after all steps."""
    return tuple((int(isinstance(step, str)), step) for step in path)


def _meet(a: Change, b: Change) -> bool:
    """Whether two changes are at the same place, or one inside the other."""
    if a.op == b.op == "move" and a.old_path[:-1] == b.old_path[:-1]:
        return True  # elements of one array that both reordered
    return a.touches(b.old_path) and b.touches(a.old_path)


def _waits(decision: Decision, change: Change) -> bool:
    """Whether a change waits for a decision; a decision about an order does not decide the values in it."""
    if decision.kind != "order":
        return change.touches(decision.path)
    container = change.old_path[:-1] if change.op == "move" else change.old_path
    return change.op in ("move", "reorder") and container == decision.path


class ClashModel(CellModel):
    """The prompt's table."""

    headers = (tr("Changed in the database"), tr("Your edit"), tr("In the database"), "")
    spoken_at = 0

    def __init__(self, rows: list[Clash], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = rows
        self._zone = preferences.zone()
        self._is_brief = self._is_briefest = False

    def be_brief(self, header: bool, badges: bool) -> None:
        """Use a short ``header`` and short ``badges``; the tooltips have the long texts."""
        if (header, badges) != (self._is_brief, self._is_briefest):
            self._is_brief, self._is_briefest = header, badges
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, 0)
            last = self.index(len(self.rows) - 1, BADGE)
            self.dataChanged.emit(self.index(0, BADGE), last)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if self._is_brief and section == 0 and orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return tr("Field")
            if role == Qt.ItemDataRole.ToolTipRole:
                return wording.tip(self.headers[0])
        return super().headerData(section, orientation, role)

    @property
    def badge_width(self) -> int:
        """The pixels in which every badge can be read."""
        return math.ceil(
            max((full_width(self.cell(self.index(row, BADGE))) for row in range(len(self.rows))), default=0)
        )

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's signature)
        return 0 if parent.isValid() else len(self.rows)

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        there = not parent.isValid() and 0 <= row < len(self.rows)
        return self.createIndex(row, column) if there else QModelIndex()

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        return QModelIndex()

    def cell(self, index: Index) -> Cell:
        clash = self.rows[index.row()]
        if index.column() == 0:
            said = text.path_text(clash.theirs.path) or tr("order of the fields")
            return Cell(spans=(Span(said),), mono=True, size=12, middle=True, indent=16)
        if index.column() == 1:
            return self._mine(clash)
        if index.column() == 2:
            return self._side(clash.theirs)
        return self._badge(clash)

    def _badge(self, clash: Clash) -> Cell:
        """Who changed it; the short word replaces the long one, which screen readers hear."""
        sign: tuple[str, ...] = ()
        if clash.needs_choice:
            said, brief, sign = tr("Both changed"), tr("Both"), ("warn", "warnT", "conflict")
        elif clash.mine is None:
            said, brief = tr("Only the database"), tr("Database")
        elif clash.same:
            said, brief = tr("Both, the same"), tr("The same")
        else:
            said, brief = tr("Both changed"), tr("Both")
        if not self._is_briefest:
            return Cell(badges=(Badge(said, *sign),))
        return Cell(badges=(Badge(brief, *sign),), tip=said, accessible=said)

    def _mine(self, clash: Clash) -> Cell:
        if clash.mine is None:
            return plain(tr("not changed"), "text2", size=12)
        if len(clash.mine.old_path) > len(clash.theirs.old_path):
            return plain(tr("changed inside"), "text2", size=12)
        return self._side(clash.mine)

    def _side(self, change: Change) -> Cell:
        if change.op == "remove":
            return plain(tr("removed"), "text2", size=12)
        if change.op == "reorder":
            return plain(tr("in another order"), "text2", size=12)
        word = {"add": tr("added"), "move": tr("moved")}.get(change.op, "")
        if change.old is not None and change.new is not None and change.old.type != change.new.type:
            word = change.new.kind
        spans: tuple[Span, ...] = ()
        if change.new is not None:
            spans = (Span(self._worded(change)),)
        return Cell(spans=(*spans, Span(f"  {word}", "text2", sans=True)) if word else spans, mono=True, size=12)

    def _worded(self, change: Change) -> str:
        """The new value; a long text only as the words that differ, because both sides may begin and end alike."""
        assert change.new is not None
        shown = text.shown(change.new, self._zone, LONGEST)
        if change.old is None or change.old.type != change.new.type or change.new.is_container:
            return shown[:120]
        return around(shown, text.shown(change.old, self._zone, LONGEST))


class ConflictPrompt(Sheet):
    """Asks what to do. ``chosen``: review, take, save_new, overwrite, history, create_again, discard, cancel."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget, conflict: Conflict, ns: str, id: Value) -> None:
        super().__init__(parent, WIDTH)
        self.conflict, self.ns, self.id = conflict, ns, id
        self.rows = clashes(conflict)
        self.buttons: dict[str, QPushButton] = {}
        self.table: CellTree | None = None
        self._first: QPushButton | None = None
        self._page: QWidget | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(1, 1, 1, 1)
        self.setAccessibleName(tr("The document changed"))
        self._ask()

    def first(self) -> QWidget | None:
        return self._first

    # --- pages

    def _new_page(self, icon: str, token: str, title: str, line: str) -> QVBoxLayout:
        if self._page is not None:
            self._column.removeWidget(self._page)
            self._page.hide()
            self._page.deleteLater()
        self.buttons = {}
        self.table = None
        self._page = QWidget()
        page = boxes.column(self._page)
        page.setContentsMargins(0, 0, 0, self.inset)
        page.setSpacing(theme.px(8))
        told = QWidget()
        column = boxes.column(told)
        page.addWidget(Scrolling(told))
        head = QHBoxLayout()
        head.setContentsMargins(self.inset, self.inset, self.inset, self.inset - theme.px(4))
        head.setSpacing(theme.px(16))
        glyph = Glyph(icon, token, 22)
        head.addWidget(glyph, 0, Qt.AlignmentFlag.AlignTop)
        if self.conflict.typed_on:
            line += " " + tr("You typed on while it was being sent; this is your edit as it is on the screen now.")
        said = QVBoxLayout()
        said.setSpacing(theme.px(6))
        said.addWidget(words(title, "title", wrap=True))
        self.line = words(line, "body2", wrap=True)
        said.addWidget(self.line)
        head.addLayout(said, 1)
        column.addLayout(head)
        self._column.addWidget(self._page)
        self.title = title
        self.setAccessibleDescription(f"{title}. {line}")
        return column

    def _list(self, column: QVBoxLayout, rows: list[Clash]) -> None:
        if not rows:
            return
        table = CellTree(row_height=ROW)
        model = ClashModel(rows, table)
        table.as_list(model, tr("What changed in the database"), COLUMNS)
        header = table.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(THEIRS, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(BADGE, QHeaderView.ResizeMode.Fixed)
        table.setObjectName("inset")
        self.table = table
        for line in (True, False):
            rule = boxes.ground(QWidget(), "hair")
            rule.setFixedHeight(1)
            if line:
                column.addWidget(rule)
                column.addWidget(table)
            else:
                column.addWidget(rule)

    def _place(self) -> None:
        """Fit to the window; a low one shows fewer rows at once."""
        if self.table is not None:
            model = self.table.model()
            assert isinstance(model, ClashModel)
            is_narrow = self.room < theme.px(WIDTH)
            model.be_brief(is_narrow, self.room < theme.px(SMALL))
            badges = theme.px(BADGES)
            self.table.header().resizeSection(BADGE, min(badges, model.badge_width) if is_narrow else badges)
            room = (self._host.height() - theme.px(BESIDE)) // theme.px(ROW)
            rows = min(self.table.model().rowCount(), ROWS, max(2, room - 1))
            self.table.setFixedHeight(theme.px(ROW * (rows + 1) + 2))
        super()._place()

    def _text(self, column: QVBoxLayout, sentence: str) -> None:
        body = words(sentence, "body2", wrap=True)
        self.body = body
        above, below = (self.inset - theme.px(gap) for gap in (8, 12))
        body.setContentsMargins(self.inset, above if self.table is not None else 0, self.inset, below)
        column.addWidget(body)

    def _row(self) -> WrappingRow:
        """The row of buttons, which stays visible whatever scrolls above it."""
        row = boxes.wrapping(y=0)
        row.setContentsMargins(self.inset, 0, self.inset, 0)
        assert self._page is not None
        page = self._page.layout()
        assert isinstance(page, QVBoxLayout)
        page.addLayout(row)
        return row

    def _button(self, row: WrappingRow | QHBoxLayout, name: str, label: str, *marks: str) -> QPushButton:
        made = button(label, lambda: self._choose(name), *marks)
        self.buttons[name] = made
        row.addWidget(made)
        return made

    # --- what is asked

    def _ask(self) -> None:
        ask = {
            "deleted": self._deleted,
            "identical": self._identical,
            "types": self._types,
            "aba": self._came_back,
        }.get(self.conflict.kind, self._changed)
        ask()
        self._turned()

    def _turned(self) -> None:
        """Fit the sheet to the page now in front."""
        if self.isVisible() and self._page is not None and self._first is not None:
            self._page.show()  # else the layout ignores it until the next event
            self._place()
            self._first.setFocus(Qt.FocusReason.PopupFocusReason)

    def _moved(self) -> str:
        """``v11 → v12 by ab-117, 3 Nov 2026 10:14, why``: from what was opened to what is in the database."""
        base, theirs = self.conflict.base, self.conflict.theirs
        if theirs is None or theirs.v == base.v:
            return ""
        was, now = version(base.v), version(theirs.v)
        moved = f"{was} → {now}" if was and now else ""
        if not theirs.author:
            return moved
        who = theirs.author
        by = tr("the newest by {author}", author=who) if moved else tr("Changed by {author}", author=who)
        return ", ".join(part for part in (moved, by, moment(theirs.at), theirs.reason or "") if part)

    def _said(self, *parts: str) -> str:
        lead = ", ".join(part for part in parts if part)
        return (
            tr("{lead}. Your edit is kept; nothing was written.", lead=lead)
            if lead
            else tr("Your edit is kept; nothing was written.")
        )

    def _changed(self) -> None:
        column = self._new_page(
            "git-merge",
            "acc",
            tr("This document changed since you opened it"),
            self._said(self._moved(), many(len(self.rows), "field")),
        )
        self._list(column, self.rows)
        self._text(column, _advice(self.rows))
        self._ways()

    def _types(self) -> None:
        column = self._new_page(
            "git-merge",
            "acc",
            tr("Only types or order changed since you opened it"),
            self._said(self._moved(), many(len(self.rows), "field")),
        )
        self._list(column, self.rows)
        self._text(
            column,
            tr("The values read the same; they are stored as another type or in another order. ") + _advice(self.rows),
        )
        self._ways()

    def _ways(self) -> None:
        row = self._row()
        self._first = self._button(row, "review", tr("Review and merge"), "main")
        self._button(row, "take", tr("Take the database's"))
        self._button(row, "save_new", tr("Save as a new document"))
        row.addStretch(1)
        apart = boxes.row(x=0, y=0)
        self._button(apart, "ask_overwrite", tr("Overwrite…"), "warnText")
        self._button(apart, "cancel", tr("Cancel"))
        row.addLayout(apart)

    def _deleted(self) -> None:
        was = version(self.conflict.base.v)
        column = self._new_page(
            "trash",
            "warn",
            tr("This document was deleted since you opened it"),
            self._said(tr("You opened {was}", was=was) if was else ""),
        )
        remains = self.conflict.remains
        self._text(column, " ".join([*_left(remains), _again(remains, bool(was)), tr("Discard forgets your edit.")]))
        row = self._row()
        is_left = remains is not None and remains.versions > 0
        look = self._button(row, "history", tr("Show what is left"), "main") if is_left else None
        self._button(row, "create_again", tr("Create again"))
        self._button(row, "discard", tr("Discard"))
        row.addStretch(1)
        cancel = self._button(row, "cancel", tr("Cancel"))
        self._first = look or cancel  # neither writes

    def _identical(self) -> None:
        moved = self._moved()
        column = self._new_page(
            "check-circle",
            "acc",
            tr("Your edit is already in the database"),
            (f"{moved}. " if moved else "") + tr("Nothing was written."),
        )
        self._text(column, tr("Someone made the same change meanwhile, so there is nothing left to save."))
        row = self._row()
        self._first = self._button(row, "take", tr("Show what is there"), "main")
        row.addStretch(1)
        self._button(row, "cancel", tr("Cancel"))

    def _came_back(self) -> None:
        now = version(self.conflict.theirs.v) if self.conflict.theirs is not None else ""
        column = self._new_page(
            "git-merge", "acc", tr("The version moved on, but the content came back"), self._said(self._moved())
        )
        self._text(
            column,
            tr("Someone changed this document and changed it back. Nobody's work is lost by saving your edit")
            + (tr(" over {now}.", now=now) if now else "."),
        )
        row = self._row()
        self._first = self._button(
            row, "overwrite", tr("Save over {now}", now=now) if now else tr("Save my edit"), "main"
        )
        self._button(row, "review", tr("Review"))
        self._button(row, "take", tr("Take the database's"))
        row.addStretch(1)
        self._button(row, "cancel", tr("Cancel"))

    def _overwrite(self) -> None:
        """Ask the second question: list the changes that would be lost, with the focus on Cancel."""
        lost = [clash for clash in self.rows if not clash.same]
        now = version(self.conflict.theirs.v) if self.conflict.theirs is not None else ""
        column = self._new_page(
            "warning",
            "err",
            tr("Overwrite {now} with your edit?", now=now)
            if now
            else tr("Overwrite what is in the database with your edit?"),
            tr("{changes} made in the database since you opened it would be lost:", changes=many(len(lost), "change"))
            if lost
            else tr("Your edit has all that was changed in the database since you opened it; nothing would be lost."),
        )
        self._list(column, lost)
        kept = tr("{now} stays in the history where the layout keeps one. ", now=now) if now else ""
        self._text(
            column,
            tr(
                "{kept}Your edit is saved only if the database is still {said}; if it changes again, you "
                "are asked again.",
                kept=kept,
                said=tr("at ") + now if now else tr("as it is shown here"),
            ),
        )
        row = self._row()
        row.addStretch(1)
        self._first = self._button(row, "back", tr("Cancel"))
        self._button(
            row,
            "overwrite",
            tr("Overwrite {fields}", fields=many(len(lost), "field")) if lost else tr("Overwrite"),
            "danger",
        )
        self._turned()

    def _choose(self, name: str) -> None:
        if name == "ask_overwrite":
            self._overwrite()
        elif name == "back":
            self._ask()
        elif name == "cancel":
            self.reject()
        else:
            self.chosen.emit(name)
            self.accept()

    def reject(self) -> None:
        self.chosen.emit("cancel")
        super().reject()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and "back" in self.buttons:
            self._ask()
            return
        super().keyPressEvent(event)


def _left(remains: Remains | None) -> list[str]:
    """Who deleted the document, and what is left of it."""
    if remains is None:
        return []
    at = moment(remains.deleted_at)
    if remains.deleted_by and at:
        who = tr("{author} deleted it, {at}.", author=remains.deleted_by, at=at)
    elif at:
        who = tr("It was deleted {at}; nothing tells by whom.", at=at)
    else:
        who = tr("Nothing tells who deleted it, or when.")
    last = remains.last
    if last is None:
        return [who, tr("None of its versions is stored any more.")]
    said = ", ".join(part for part in (version(last.v), moment(last.at), last.author or "") if part)
    return [
        who,
        tr("Still stored: {versions}, the newest {last}.", versions=many(remains.versions, "version"), last=said),
    ]


def _again(remains: Remains | None, numbered: bool) -> str:
    """What creating the document again does."""
    follows = remains.follows if remains is not None else None
    if remains is None or follows is None:
        if numbered:
            return tr("Create again saves your edit as a new document with the same id and a new history.")
        return tr("Create again saves your edit as a new document with the same id.")
    last = version(follows.v)
    if remains.is_stored:
        return tr("Create again saves your edit as the version after {last}; those before it stay.", last=last)
    return tr(
        "Create again brings its versions back as they were read last, up to {last}, and saves your edit as the next.",
        last=last,
    )


def _number(count: int) -> str:
    return NUMBERS[count] if count < len(NUMBERS) else str(count)


def _advice(rows: list[Clash]) -> str:
    asked = sum(clash.needs_choice for clash in rows)
    touched = sum(clash.mine is not None for clash in rows)
    alone = tr("the others merge by themselves and are shown")
    if asked == 0:
        how = (
            tr("You changed {touched} of these fields as well, and both changes fit together", touched=_number(touched))
            if touched
            else (tr("You changed none of these fields"))
        )
        return tr("{how}. The edits merge by themselves; Review and merge shows the result first.", how=how)
    lead = tr(
        "You changed {touched} of these fields as well. Review and merge asks you about", touched=_number(touched)
    )
    if touched > asked:
        return tr("{lead} {asked} of them; {alone}.", lead=lead, asked=_number(asked), alone=alone)
    those = tr("that one") if asked == 1 else tr("those {asked}", asked=_number(asked))
    return f"{lead} {those}; {alone}." if asked < len(rows) else f"{lead} {those}."


__all__ = ["Clash", "ClashModel", "ConflictPrompt", "clashes"]
