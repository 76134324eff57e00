"""The rows of a document list: columns about a document, its history and its health."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any

from PySide6.QtCore import QModelIndex, Qt, Signal

from gui.language import tr, translated
from gui.paging import RowsModel
from gui.parts.writes_in_doubt import DOUBTS
from gui.style import preferences, wording
from gui.style.cells import Badge, Cell, Index, Span, plain, value
from gui.views.browse.query import EVERYTHING, Query, field_names
from model import text
from model.errors import Refused
from model.foundation.records import CollectionInfo, Matches, Outline, Row, Version
from model.values import canonical
from model.values.canonical import Path, Value

HEADS = {
    "id": "_id",
    "of": tr("Version of"),
    "version": tr("Version"),
    "matches": tr("Found in"),
    "history": tr("History"),
    "preview": tr("Document"),
    "at": tr("Last change"),
    "size": tr("Size"),
    "health": tr("Health"),
    "since": tr("As it was since"),
    "gone": tr("Deleted"),
    "author": tr("By"),
    "reason": tr("Reason"),
    "proof": tr("Proof"),
}
OF_OUTLINES, OF_MATCHES, OF_SIZES = ("history", "at", "author", "health"), ("matches",), ("size",)
"""The columns whose cells need what is read after the page."""
OBJECT_ID = re.compile("[0-9a-f]{24}")
PREVIEWED = 18  # fields
LARGE = 256 * 1024  # bytes; in a list, a larger document is only named
WIDTHS = {"id": 150, "of": 170, "version": 72, "matches": 150, "history": 160, "preview": 220, "at": 168,
          "size": 104, "health": 260, "field": 140, "since": 168, "gone": 168, "author": 130, "reason": 160,
          "proof": 190}  # fmt: skip


def columns_for(info: CollectionInfo | None, query: Query = EVERYTHING) -> tuple[str, ...]:
    """The columns for a layout."""
    if info is not None and not query.is_of_now:
        numbered = ("version",) if "version" in info.fields else ()
        if query.moment:
            return ("id", *numbered, "preview", "since", "size", "proof")
        reasons = ("reason",) if "reason" in info.fields else ()
        return ("id", *numbered, "preview", "gone", "author", *reasons)
    if info is not None and info.keeps_history:
        numbered = ("version",) if "version" in info.fields else ()
        return ("id", *numbered, "history", "at", *_signed(info), "size", "health")
    if info is not None and info.belongs_to is not None:
        numbered = ("version",) if "version" in info.fields else ()
        return ("of", *numbered, "id", "preview", "at", "size", "health")
    if info is not None and "hash" in info.fields and info.belongs_to is None:
        return ("id", "version", "preview", "at", "size", "health")
    return ("id", "preview", "size", "health")


def _signed(info: CollectionInfo) -> tuple[str, ...]:
    """The column with who changed a document last, where that is known."""
    return ("author",) if "author" in info.fields else ()


SHOWN = ("archive", "prev", "counter", "pending", "applied", "processed")
"""Roles whose fields are not beside the content, or are the content, such as a counter's value."""


class DocumentsModel(RowsModel[Row]):
    """The documents of one page, with the outlines of their histories as they arrive."""

    columns_change = Signal()  # a view that still holds rows as columns change below them may end the process

    def __init__(self) -> None:
        super().__init__()
        self.columns: tuple[str, ...] = columns_for(None)
        self.paths: list[tuple[str, Path]] = []
        self.outlines: dict[Value, Outline] = {}
        self.matches: dict[Value, Matches] = {}
        self.sizes: dict[Value, int] = {}  # of stored documents of which the page has only a part
        self._in_part = False  # whether the query names the fields that it wants
        self.id_field = "_id"
        self.headers = self._heads()
        self._roles: Mapping[str, str] = {}
        self._signed_beside = False
        self._locked: frozenset[str] = frozenset()
        self._cells: dict[tuple[int, int], Cell] = {}
        self._common: dict[str, int] = {}  # by column, while the rows are the same

    def key(self, row: Row) -> Hashable:
        return row.id

    def set_columns(
        self,
        info: CollectionInfo | None,
        query: Query,
        telling: Sequence[Path] = (),
        own: Collection[str] = (),
    ) -> None:
        """Fit the columns to a layout and to a query; where they change, the list is empty until it is filled.

        The columns of content are the fields that the query names, else ``telling`` ones. ``own`` are names of the
        layout, which are no content.
        """
        self.matches, self.sizes, self._in_part = {}, {}, bool(query.fields)
        paths = [] if query.fields else [(text.path_text(path), path) for path in telling]
        for name in field_names(query.fields):
            try:
                paths.append((name, text.path_from_text(name)))
            except Refused:
                continue
        base = columns_for(info, query)
        middle = base.index("version") + 1 if "version" in base else 1
        if query.any_version and query.filter:
            base = (*base[:middle], "matches", *base[middle:])
            middle += 1
        columns = (*base[:middle], *(f"field:{name}" for name, _ in paths), *base[middle:])
        self._roles = roles = info.fields if info is not None else {}
        self._signed_beside = info is not None and info.signed_beside
        self.id_field = roles.get("id", "_id") if info is not None and info.belongs_to is None else "_id"
        shown = {roles[role] for role in SHOWN if role in roles}
        self._locked = frozenset((*(name for name in roles.values()), *own, "_id")) - shown
        if columns == self.columns and paths == self.paths:
            self.headers = self._heads()
            return
        self.columns_change.emit()
        self.beginResetModel()
        self.rows, self.columns, self.paths = [], columns, paths
        self.headers = self._heads()
        self._cells.clear()
        self.endResetModel()

    def _heads(self) -> tuple[str, ...]:
        """The column headers."""
        names = {f"field:{name}": name for name, _ in self.paths}
        return tuple(self.id_field if c == "id" else HEADS.get(c) or names[c] for c in self.columns)

    def sort_field(self, column: str) -> str:
        """The field that a column is ordered by; "" if the column combines several."""
        if column.startswith("field:"):
            return column.removeprefix("field:")
        return self.id_field if column == "id" else self._roles.get(column, "") if column in ("version", "at") else ""

    @property
    def right_headers(self) -> frozenset[int]:  # type: ignore[override]
        """The columns with right-aligned headers, above numbers."""
        return frozenset(at for at, name in enumerate(self.columns) if name in ("version", "size"))

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's default)
        return len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.ToolTipRole and index.isValid():
            row = self.rows[index.row()]
            return preview(row, self._locked) if self.columns[index.column()] in ("id", "preview") else None
        return super().data(index, role)

    def fill(self, rows: Sequence[Row], more: bool = False) -> None:
        self._cells.clear()
        self._common.clear()
        if self.rows:
            super().fill(rows, more)
        else:
            self.add(rows, more)

    def put_matches(self, found: Matches) -> None:
        """Show which versions match the filter."""
        self.matches[found.id] = found
        self._renew(found.id, OF_MATCHES)

    def in_part(self) -> list[Row]:
        """The rows that are only a part of their stored document."""
        return [row for row in self.rows if row.readable and (self._in_part or not row.whole)]

    def put_sizes(self, sizes: Mapping[Value, int]) -> None:
        """Show how large the stored documents are."""
        self.sizes.update(sizes)
        for id in sizes:
            self._renew(id, OF_SIZES)

    def put_outline(self, outline: Outline) -> None:
        """Show the outline of a history."""
        self.outlines[outline.id] = outline
        self._renew(outline.id, OF_OUTLINES)

    def _renew(self, id: Value, names: Collection[str]) -> None:
        """Draw some cells of a document again; the others are neither made nor measured again."""
        at = self.row_of(id)
        columns = [column for column, name in enumerate(self.columns) if name in names]
        if at >= 0 and columns:
            for column in columns:
                self._cells.pop((at, column), None)
            self.dataChanged.emit(self.index(at, columns[0]), self.index(at, columns[-1]))

    def forget_cells(self) -> None:
        """Make all cells again when they are next drawn."""
        self._cells.clear()

    def cell(self, index: Index) -> Cell:
        spot = (index.row(), index.column())
        made = self._cells.get(spot)
        if made is None:
            made = self._cells[spot] = self._cell(self.rows[spot[0]], self.columns[spot[1]])
        return made

    def _cell(self, row: Row, column: str) -> Cell:
        if column in ("id", "of"):
            id = row.id if column == "id" else row.of
            if id is None:
                return Cell()
            indent = 8 if self.columns[0] == column else 0
            said, whole = id_said(id), wording.plain(id)
            return value(said, middle=True, shared=self._shared(column), indent=indent, accessible=whole)
        if column in ("since", "gone"):
            return plain(wording.moment(row.at), "text2", size=12) if row.at else _unknown()
        drawn: dict[str, Callable[[Row], Cell]] = {
            "version": _version,
            "matches": self._matches,
            "at": self._at,
            "author": self._author,
            "reason": lambda row: plain(row.reason, "text2") if row.reason else plain(""),
            "proof": self._proof,
            "size": self._size,
            "history": self._history,
            "health": self._health,
            "preview": self._preview,
        }
        draw = drawn.get(column)
        return draw(row) if draw is not None else self._field(row, column)

    def _shared(self, column: str) -> int:
        """How many leading characters the ids of a column have in common."""
        if column not in self._common:
            said = [id_said(id) for row in self.rows if (id := row.id if column == "id" else row.of) is not None]
            low, high = min(said, default=""), max(said, default="")
            pairs = enumerate(zip(low, high, strict=False))
            self._common[column] = next((at for at, (a, b) in pairs if a != b), 0)
        return self._common[column]

    def _at(self, row: Row) -> Cell:
        """When a document was changed last, from its own field or from its history."""
        outline = self.outlines.get(row.id)
        at = row.at or (outline.at if outline is not None else None)
        if at is not None:
            return plain(wording.moment(at), "text2", size=12)
        if outline is None and "history" in self.columns:
            return Cell()  # its history is still being read
        field = self._roles.get("at", "")
        why = (
            tr("This document has no date in {field}.", field=field)
            if field
            else tr("No field here tells when a version was written.")
        )
        return plain("–", "text3", size=12, tip=why, accessible=why)

    def _author(self, row: Row) -> Cell:
        """Who changed a document last, or deleted it; the tooltip says why."""
        outline = self.outlines.get(row.id)
        if self._signed_beside:
            if outline is None:
                return Cell()  # its history is still being read
            by, why = outline.author or "", outline.reason or ""
        else:
            by, why = (self._told(row, role) for role in ("author", "reason"))
        by, why = row.author or by, row.reason or why
        return plain(by, "text2", size=12, tip=why) if by else _unknown()

    def _told(self, row: Row, role: str) -> str:
        """The text in the field with this role; "" if there is none."""
        name = self._roles.get(role, "")
        found = self._found(row, (name,)) if name and row.readable and row.raw else None
        return str(found.python()) if found is not None and found.type == canonical.STRING else ""

    def _matches(self, row: Row) -> Cell:
        found = self.matches.get(row.id)
        if found is None:
            return Cell()
        names = [_run(*run) for run in found.runs]
        if not names:
            return plain(
                tr("no version"), "text3", size=12, tip=tr("It has changed since the list was read, or cannot be read.")
            )
        all_of_it = len(found.versions) == found.looked > 1
        said = tr("all {versions}", versions=wording.many(found.looked, "version")) if all_of_it else ", ".join(names)
        count = wording.many(len(found.versions), "version")
        return value(
            said,
            tip=tr(
                "{names}: {count} of {looked}", names=", ".join(names), count=count, looked=wording.count(found.looked)
            ),
        )

    def _size(self, row: Row) -> Cell:
        """The length of the stored document; at least that of the part that was read."""
        if not row.bytes:
            return Cell()  # the document is missing, or its content is unknown
        size = self.sizes.get(row.id)
        if size is None and (self._in_part or not row.whole):
            tip = tr("The list reads only a part of it; open it to see how large it is.")
            return value(f"≥ {wording.size(row.bytes)}", "text2", right=True, tip=tip)
        size = row.bytes if size is None else size
        return value(wording.size(size), "text2", right=True, tip=tr("{bytes} bytes", bytes=wording.count(size)))

    def _history(self, row: Row) -> Cell:
        outline = self.outlines.get(row.id)
        if outline is None:
            return Cell()
        missing = sum(1 for mark in outline.marks if mark[1] == "missing")
        current = next((at for at, mark in enumerate(outline.marks, 1) if mark[2]), len(outline.marks))
        above = len(outline.marks) - current
        said = wording.many(current, "version") + (tr(", {missing} missing", missing=missing) if missing else "")
        said += tr(", {above} above the current one", above=above) if above else ""
        return Cell(marks=outline.marks, tip=said, accessible=tr("history: {said}", said=said))

    def _health(self, row: Row) -> Cell:
        if not row.readable:
            return Cell(badges=(Badge(tr("Does not decode"), "err", "errT", "conflict"),),
                        tip=tr("Its bytes are not valid BSON; it is shown and never written."))  # fmt: skip
        outline = self.outlines.get(row.id)
        if outline is None:
            return Cell()
        if outline.severity == "sound":
            if "history" not in self.columns and outline.health == "Sound":
                return Cell()
            icon = "trash" if outline.health.partition(",")[0] == "Deleted" else "check-bold"
            return Cell(spans=(Span(health_said(outline.health), "text2"),), size=12, icon=icon)
        ink = "err" if outline.severity == "error" else "warn"
        said = health_said(outline.health)
        return Cell(badges=(Badge(said, ink, f"{ink}T", "conflict"),), tip=said)

    def _proof(self, row: Row) -> Cell:
        if row.doubt is None:
            return Cell(spans=(Span(tr("Proven"), "text2"),), size=12, icon="check-bold")
        said = DOUBTS[row.doubt]
        tip = tr("It is not proven that {name} was like this then: {said}.", name=wording.plain(row.id), said=said)
        return Cell(badges=(Badge(said, "warn", "warnT", "conflict"),), tip=tip, accessible=tip)

    def _preview(self, row: Row) -> Cell:
        if not row.readable:
            return value(f"{row.raw[:24].hex(' ')} …", "text3")
        if row.doubt is not None and row.version is None:
            return _unknown()
        raw = canonical.without(row.raw, self._locked)
        return value(text.shown(Value.document(raw), preferences.zone(), 300), "text2")

    def _field(self, row: Row, column: str) -> Cell:
        path = next(path for name, path in self.paths if column == f"field:{name}")
        found = self._found(row, path) if row.readable else None
        if found is None:
            return Cell(spans=(Span(tr("not there"), "text3"),), size=12)
        return value(text.shown(found, preferences.zone()))

    def _found(self, row: Row, path: Path) -> Value | None:
        """A value of the current version; a filter does not name the sub-document that is the content."""
        inside = self._roles.get("current", "")
        for place in (path, (inside, *path)) if inside else (path,):
            with suppress(Refused):
                if (found := canonical.get(row.raw, place)) is not None:
                    return found
        return None


def preview(row: Row, locked: Collection[str] = ()) -> str:
    """The first fields of a document, one per line, for its tooltip."""
    if not row.readable:
        return ""
    if row.bytes > LARGE:
        return tr("{bytes}; open it to read it", bytes=wording.size(row.bytes))
    zone = preferences.zone()
    pairs = [(name, value) for name, value in canonical.fields(row.raw) if name not in locked]
    lines = [f"{text.name_text(name)}: {text.shown(value, zone, 80)}" for name, value in pairs[:PREVIEWED]]
    rest = len(pairs) - PREVIEWED
    more = [tr("and {further_fields}", further_fields=wording.many(rest, "further field"))] if rest > 0 else []
    return "\n".join([text.value_text(row.id)[:200], *lines, *more])


def id_said(id: Value) -> str:
    """An id in a list: an ObjectId by its digits alone, and a text that looks like one in quotes."""
    if id.type == canonical.OBJECT_ID:
        return id.data.hex()
    said = wording.plain(id)
    return f'"{said}"' if id.type == canonical.STRING and OBJECT_ID.fullmatch(said) else said


def _unknown() -> Cell:
    return plain(tr("not known"), "text3", size=12)


def _run(oldest: Version, newest: Version) -> str:
    """``v3``, or ``v4–v7`` for consecutive versions."""
    first, last = (wording.version(one.v) or "current" for one in (oldest, newest))
    return first if oldest is newest else f"{first}–{last}"


def as_json(rows: Sequence[Row]) -> tuple[str, list[int]]:
    """Documents as Extended JSON, one below the other, and the line where each begins, from 0.

    Large ones are only given by their size.
    """
    parts: list[str] = []
    for row in rows:
        name = wording.plain(row.id)
        if row.bytes > LARGE:
            parts.append(tr("// {name}: {bytes}, open it to read it", name=name, bytes=wording.size(row.bytes)))
            continue
        try:
            parts.append(text.readable(row.raw))
        except Refused as error:
            parts.append(f"// {name}: {error}")
    lines = accumulate((part.count("\n") + 1 for part in parts[:-1]), initial=0)
    return "\n".join(parts), list(lines)


def health_said(health: str) -> str:
    """A document's health in the window's language; each thing that it names is translated."""
    return ", ".join(map(translated, health.split(", ")))


def _version(row: Row) -> Cell:
    if row.version is None:
        return plain("")
    said = wording.version(row.version)
    return value(said, right=True, tip=text.shown(row.version), accessible=tr("version {said}", said=said))
