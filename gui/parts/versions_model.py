"""The versions of one document as rows, newest first; the strip and the list draw from it.

A run of missing versions is one row. Versions arrive in chunks, newest first, so rows are only added at the end, and
a row's number never changes while its document is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QObject, Signal

from gui.language import tr, translated
from gui.style import wording
from gui.style.cells import Badge, Cell, CellModel, Index, Span, plain, value

if TYPE_CHECKING:
    from model.foundation.records import Version, WatchTurn
    from model.values.canonical import Value

MARK, VERSION, AT, AUTHOR, REASON, OPERATION, WATCHED, STORED, CHANGED, SIZE, HASH = range(11)
PLACES = {"document": tr("document"), "archive": tr("archive"), "prev": tr("prev"), "delta": tr("delta"), "none": ""}


class VersionMark(Struct, frozen=True):
    """One place on the line: an existing version, or ``count`` missing ones from ``oldest`` to ``newest``."""

    newest: Version
    oldest: Version
    count: int = 1

    @property
    def missing(self) -> bool:
        """Whether nothing is stored here."""
        return self.newest.state == "missing"

    @property
    def name(self) -> str:
        """``v11``, ``v4–v6 missing``."""
        if not self.missing:
            return name_of(self.newest)
        first, last = name_of(self.oldest), name_of(self.newest)
        return (
            tr("{first} missing", first=first)
            if self.count == 1
            else tr("{first}–{last} missing", first=first, last=last)
        )

    @property
    def span(self) -> str:
        """``v11``, ``v4–v6``: without saying that it is missing."""
        first, last = name_of(self.oldest), name_of(self.newest)
        return last if self.count == 1 else f"{first}–{last}"

    @property
    def under(self) -> str:
        """The second line under a mark: its date, or words if it has none."""
        if self.missing:
            return translated(self.newest.detail) or tr("retention or loss")
        if not self.newest.landed:
            return tr("never landed")
        if self.newest.state == "damaged":
            return translated(self.newest.detail) or tr("damaged")
        if self.newest.state == "present" and self.newest.detail and not self.newest.current:
            return translated(self.newest.detail)
        return tr("current") if self.newest.current else wording.day(self.newest.at) or tr("no date")

    @property
    def words(self) -> str:
        """Everything about it in one line, for tooltips and screen readers."""
        if self.missing:
            return f"{self.name}, {self.under}"
        one = self.newest
        parts = [
            self.name,
            tr("current") if one.current else "",
            wording.moment(one.at),
            tr("stored in {places}", places=PLACES[one.stored]),
        ]
        if one.state != "present":
            parts.append(f"{translated(one.state)}: {translated(one.detail)}" if one.detail else translated(one.state))
        elif one.detail:
            parts.append(translated(one.detail))
        if one.changed is not None:
            parts.append(wording.many(one.changed, "field") + tr(" changed"))
        if one.author:
            parts.append(tr("by {author}", author=one.author))
        if one.reason:
            parts.append(tr("reason: {reason}", reason=one.reason))
        if one.operation:
            parts.append(tr("operation: {operation}", operation=one.operation))
        return ", ".join(part for part in parts if part)

    @property
    def tip(self) -> str:
        """The words with size and hash."""
        one = self.newest
        lines = [self.words]
        if one.bytes is not None and not self.missing:
            own = wording.size(one.bytes)
            stored = own if one.stored_bytes is None else wording.size(one.stored_bytes)
            lines.append(tr("{stored} as stored, {own} of it the content", stored=stored, own=own))
        if one.hash and not self.missing:
            lines.append(tr("SHA-1 {hash}", hash=one.hash))
        return "\n".join(lines)


def name_of(version: Version) -> str:
    """``v11``; a document without versions is ``current``."""
    return wording.version(version.v) or (tr("current") if version.current else tr("no version"))


def turn_words(turn: WatchTurn) -> str:
    """The turn of a watched condition as a clause: ``“Overdue” holds from here on``."""
    if turn.proven:
        return (
            tr("“{watch}” holds from here on", watch=turn.watch)
            if turn.holds
            else tr("“{watch}” no longer holds from here on", watch=turn.watch)
        )
    named = {"watch": turn.watch, "before": wording.version(turn.before), "v": wording.version(turn.v)}
    return (
        tr("“{watch}” began to hold between {before} and {v}, not proven", **named)
        if turn.holds
        else tr("“{watch}” ceased to hold between {before} and {v}, not proven", **named)
    )


class VersionsModel(CellModel):
    """Rows, newest first. ``a`` and ``b`` are the rows of the two compared versions, or None."""

    headers = (
        "",
        tr("Version"),
        tr("Date"),
        tr("Author"),
        tr("Reason"),
        tr("Operation"),
        tr("Watched"),
        tr("Stored in"),
        tr("Changed"),
        tr("Size"),
        tr("Hash"),
    )
    right_headers = frozenset((CHANGED, SIZE))
    chosen = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.marks: list[VersionMark] = []
        self.versions: list[Version] = []
        self.missing = 0
        self.a: int | None = None
        self.b: int | None = None
        self.kinds: set[tuple[str, str]] = set()
        self.authors = self.reasons = self.operations = False
        self.counted = False
        self._rows: dict[Value | None, int] = {}
        self._turns: dict[Value | None, list[WatchTurn]] = {}

    # --- filling

    def put_turns(self, turns: Sequence[WatchTurn]) -> None:
        """Show where watched conditions turned in this document."""
        if not turns and not self._turns:
            return
        self._turns = {}
        for turn in turns:
            self._turns.setdefault(turn.v, []).append(turn)
        self.refresh()

    def reset(self, versions: Sequence[Version]) -> None:
        """Show another document, starting with its newest versions."""
        self.beginResetModel()
        self.marks, self.versions, self.missing = [], [], 0
        self.a = self.b = None
        self.kinds, self._rows = set(), {}
        self.authors = self.reasons = self.operations = self.counted = False
        self._take(versions)
        self.endResetModel()

    def extend(self, versions: Sequence[Version]) -> None:
        """Append older versions."""
        if not versions:
            return
        last, before = len(self.marks) - 1, list(self.marks[-1:])
        added = len(_marks(versions, before)) - len(before)
        if added:
            self.beginInsertRows(QModelIndex(), last + 1, last + added)
        self._take(versions)
        if added:
            self.endInsertRows()
        if last >= 0:
            self.dataChanged.emit(self.index(last, 0), self.index(last, len(self.headers) - 1))

    def _take(self, versions: Sequence[Version]) -> None:
        keep = len(self.marks) - 1 if self.marks else 0
        self.marks[keep:] = _marks(versions, self.marks[-1:])
        self.versions.extend(versions)
        for row in range(keep, len(self.marks)):
            mark = self.marks[row]
            if not mark.missing:
                self._rows.setdefault(mark.newest.v, row)
        for one in versions:
            self.missing += one.state == "missing"
            self.kinds.add(("none" if one.state == "missing" else one.stored, one.state))
            self.authors = self.authors or one.author is not None
            self.reasons = self.reasons or one.reason is not None
            self.operations = self.operations or one.operation is not None
            self.counted = self.counted or one.changed is not None

    # --- lookups

    def row_of(self, v: Value | None) -> int | None:
        """The row of an existing version."""
        return self._rows.get(v)

    def version_at(self, row: int | None) -> Version | None:
        """The version at a row; None for a gap."""
        if row is None or not 0 <= row < len(self.marks) or self.marks[row].missing:
            return None
        return self.marks[row].newest

    @property
    def watched(self) -> bool:
        """Whether any watched condition turned."""
        return bool(self._turns)

    def turns_at(self, row: int) -> Sequence[WatchTurn]:
        """The watched conditions that turned in the version at a row."""
        version = self.version_at(row)
        return self._turns.get(version.v, ()) if version is not None else ()

    def current(self) -> Version | None:
        """The current version, once it has arrived."""
        return next((mark.newest for mark in self.marks[:64] if mark.newest.current), None)

    def before(self, row: int) -> int | None:
        """The row of the next older version that exists."""
        return next((i for i in range(row + 1, len(self.marks)) if not self.marks[i].missing), None)

    def summary(self) -> str:
        """``14 versions, 11 kept, 3 missing``, and a short note on the current one."""
        total = sum(version.landed for version in self.versions)
        words = wording.many(total, "version")
        if self.missing:
            words = tr(
                "{words}, {total} kept, {missing} missing",
                words=words,
                total=wording.count(total - self.missing),
                missing=wording.count(self.missing),
            )
        above = len(self.versions) - total
        never = tr("{above} above the current one, never landed", above=wording.count(above)) if above else ""
        return "; ".join(filter(None, (words, never, self.note.partition(";")[0])))

    def is_a(self, row: int, other: bool = False) -> bool:
        """Whether choosing a row makes it A, because it is older than B; the opposite with ``other``."""
        return (self.b is not None and row > self.b) != other

    @property
    def note(self) -> str:
        """The note beside the current version's state: how far its archive is behind."""
        one = self.current()
        return translated(one.detail) if one is not None and one.state == "present" else ""

    def choose(self, a: int | None, b: int | None) -> None:
        """Set the rows to compare; gaps are ignored."""
        a = a if self.version_at(a) is not None else None
        b = b if self.version_at(b) is not None else None
        if (a, b) == (self.a, self.b):
            return
        touched = {row for row in (a, b, self.a, self.b) if row is not None and row < len(self.marks)}
        self.a, self.b = a, b
        for row in touched:
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(self.headers) - 1))
        self.chosen.emit()

    def refresh(self) -> None:
        """Draw everything again, after the zone changed."""
        if self.marks:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.marks) - 1, len(self.headers) - 1))

    # --- Qt's interface

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's default)
        return 0 if parent.isValid() else len(self.marks)

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        if parent.isValid() or not (0 <= row < len(self.marks) and 0 <= column < len(self.headers)):
            return QModelIndex()
        return self.createIndex(row, column)

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        return QModelIndex()

    def cell(self, index: Index) -> Cell:
        row, column = index.row(), index.column()
        mark = self.marks[row]
        if column == MARK:
            return Cell(accessible=self.words(row), tip="\n".join((mark.tip, *map(turn_words, self.turns_at(row)))))
        if column == VERSION:
            badges = tuple(
                Badge(letter, "accText", "acc") for letter, chosen in (("A", self.a), ("B", self.b)) if chosen == row
            )
            return value(mark.name, "text2" if mark.missing else "text", badges=badges, weight=500 if badges else 400)
        if mark.missing:
            return plain(mark.under, "text3", size=12) if column == AT else Cell()
        if column == WATCHED:
            turns = "; ".join(map(turn_words, self.turns_at(row)))
            return Cell(spans=(Span(turns, "text2"),), size=12, tip=turns)
        return CELLS[column](mark)

    def words(self, row: int) -> str:
        """A row in words, with the conditions that turned and whether it is A or B."""
        role = tr(" and ").join(name for name, at in (("A", self.a), ("B", self.b)) if at == row)
        words = ", ".join((self.marks[row].words, *map(turn_words, self.turns_at(row))))
        return words + (tr(", chosen as {role}", role=role) if role else "")


def _when(mark: VersionMark) -> Cell:
    words = wording.moment(mark.newest.at)
    return Cell(spans=(Span(words or tr("no date"), "text" if words else "text3"),), size=12)


def _word(word: str | None) -> Cell:
    return plain(word or "", "text2", size=12)


def _stored(mark: VersionMark) -> Cell:
    one = mark.newest
    notes = [Badge(tr("current"), "acc", "accTint")] if one.current else []
    if one.state == "damaged":
        notes.append(Badge(mark.under, "err", "errT"))
    elif one.state == "unproven":
        notes.append(Badge(tr("unproven"), "warn", "warnT"))
    elif one.detail and not one.current:
        notes.append(Badge(translated(one.detail)))
    return plain(PLACES[one.stored], "text2", size=12, badges=tuple(notes))


def _changed(mark: VersionMark) -> Cell:
    count = mark.newest.changed
    return plain("" if count is None else wording.many(count, "field"), "text2", size=12, right=True)


def _size(mark: VersionMark) -> Cell:
    one = mark.newest
    stored, own = (None if each is None else wording.size(each) for each in (one.stored_bytes, one.bytes))
    tip = "" if own is None else tr("as stored; the content alone is {own}", own=own)
    return replace(value(stored or own or "", "text2", right=True), tip=tip)


def _hash(mark: VersionMark) -> Cell:
    one = mark.newest
    if not one.hash:
        return Cell(accessible=tr("hash unknown"))
    short = one.hash[:8]
    badge = Badge(short, "err", "errT") if one.state == "damaged" else Badge(short)
    said = tr("SHA-1 {hash}", hash=one.hash)
    return Cell(badges=(badge,), tip=said, accessible=said)


CELLS: dict[int, Callable[[VersionMark], Cell]] = {
    AT: _when,
    AUTHOR: lambda mark: _word(mark.newest.author),
    REASON: lambda mark: _word(mark.newest.reason),
    OPERATION: lambda mark: _word(mark.newest.operation),
    STORED: _stored,
    CHANGED: _changed,
    SIZE: _size,
    HASH: _hash,
}
"""The cells of an existing version, by column."""


def _marks(versions: Sequence[Version], before: Sequence[VersionMark]) -> list[VersionMark]:
    """The marks for versions; a missing one joins the mark before it if that is missing as well."""
    made = list(before)
    for one in versions:
        if one.state == "missing" and made and made[-1].missing:
            made[-1] = VersionMark(made[-1].newest, one, made[-1].count + 1)
        else:
            made.append(VersionMark(one, one))
    return made
