"""Blame: each field of the current version beside the version that last set it, its date and its author."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QHeaderView, QLineEdit, QMenu, QWidget

from gui import copying
from gui.language import tr
from gui.paging import RowsModel, refill
from gui.parts.fields.field_values import condition_on
from gui.parts.values.value_text import copied
from gui.style import boxes, preferences, states, theme, wording
from gui.style.cells import Cell, CellTree, Index, Span, plain, value
from gui.style.clear_cross import ClearCross
from gui.style.giving_way import GivingWay
from gui.style.states import StateStack, button, words
from gui.style.title import Title
from gui.views.history.chain_panel import ChainPanel
from gui.views.history.map_model import WORDS
from gui.views.history.map_words import value_at
from model import text
from model.errors import Refused
from model.foundation.records import Version
from model.session import Session
from model.session.history_reading import Blame, Chain, FieldSet, SeenValue, key_parts, key_text
from model.values import canonical
from model.values.canonical import Value

CHANGE, FIELD, SET, WHEN, BY, BEFORE, VALUE = range(7)  # the widest last: else the other columns would be far apart
WIDTHS = (36, 240, 110, 150, 120, 150, 300)
SYMBOLS = {"set": "replace", "add": "add", "retype": "retype", "remove": "remove", "": ""}


class BlameModel(RowsModel[Blame]):
    """One row per field, in the order of the document."""

    headers = ("", tr("Field"), tr("Last set"), tr("When"), tr("By"), tr("Before"), tr("Value"))
    spoken_at = FIELD

    def key(self, row: Blame) -> Hashable:
        return row.key

    def cell(self, index: Index) -> Cell:
        row, column = self.rows[index.row()], index.column()
        if column == CHANGE:
            return Cell(change=SYMBOLS.get(row.op, ""), accessible=WORDS.get(row.op, tr("from the start")))
        if column == FIELD:
            parts = key_parts(row.key)
            lead, own = "".join(parts[:-1]), parts[-1]
            lead, own = (lead + ".", own[1:]) if own.startswith(".") else (lead, own)
            return Cell(spans=(Span(lead, "text3"), Span(own)), mono=True, size=12, tip=key_text(row.key))
        if column == SET:
            return value(set_in(row), tip=doubt(row))
        if column == WHEN:
            return when_cell(row.version)
        if column == BY:
            return by_cell(row.version)
        if column == BEFORE:
            return _before_cell(row)
        return seen_cell(row.now)


def seen_cell(seen: SeenValue, token: str = "text") -> Cell:
    """A value, or type and length if it is too long to be kept; the tooltip has the type."""
    if seen.value is None:
        return value(f"{seen.kind}, {wording.size(seen.size)}", "text2")
    return value(text.shown(seen.value, preferences.zone()), token, tip=seen.kind)


def _before_cell(row: Blame) -> Cell:
    """The value that the version replaced."""
    if row.before is not None:
        return seen_cell(row.before, "text2")
    return plain(tr("not there") if row.op == "add" else "", "text3", size=12)


def by_cell(version: Version) -> Cell:
    """A version's author, and its reason if there is one."""
    by, why = version.author, version.reason
    return Cell(
        spans=(Span(by or tr("not known"), "text2" if by else "text3"), *((Span(f"  {why}", "text3"),) if why else ())),
        size=12,
    )


def when_cell(version: Version) -> Cell:
    """A version's date."""
    moment = wording.moment(version.at)
    return plain(moment or tr("no date"), "text" if moment else "text3", size=12)


def doubt(row: Blame | FieldSet) -> str:
    """Why a version is uncertain."""
    if row.since is None:
        return "" if row.op else tr("As it was from the start")
    if not row.op:
        return tr("The versions before {v} are missing; it may be older", v=wording.version(row.version.v))
    return tr("Somewhere in {set_in}: the versions between are missing", set_in=set_in(row))


def set_in(row: Blame | FieldSet) -> str:
    """``v57``, ``v17–v20`` over a gap, ``v12 or before`` if the beginning is missing."""
    name = wording.version(row.version.v) or tr("current")
    if row.since is None:
        return name
    return f"{wording.version(row.since.v)}–{name}" if row.op else tr("{name} or before", name=name)


class FieldList(CellTree):
    """A list in which Return opens a row and Ctrl+C copies a whole cell."""

    opened = Signal()
    copy_asked = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_asked.emit()  # Qt would copy the drawn text, which may be cut
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.opened.emit()
            return
        super().keyPressEvent(event)


class BlamePanel(ChainPanel):
    """The list, a line to find fields in it, and the way to the comparison and the map."""

    field_asked = Signal(object)  # the path of a field whose history to show
    find_asked = Signal(str)  # a filter
    key = "blame"

    def __init__(self, session: Session, ns: str, id: Value, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, id, parent)
        self._chain: Chain | None = None
        self._all: tuple[Blame, ...] = ()
        self.model = BlameModel()
        self.list = FieldList(row_height=28)
        self.list.as_list(self.model, tr("Fields and the versions that last set them"))
        self.list.resize_columns(WIDTHS, dispensable=(VALUE, BEFORE))
        self.list.setTreePosition(FIELD)  # the column that the arrow keys start in
        self.list.opened.connect(self.compare)
        self.list.copy_asked.connect(self._copy)
        self.list.doubleClicked.connect(self._double)
        self.list.customContextMenuRequested.connect(self._menu)
        header = self.list.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(CHANGE, QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        self.list.selectionModel().currentRowChanged.connect(self._chosen)
        self.stack = StateStack(self.list)
        column = boxes.column(self)
        column.addWidget(self._title_row())
        column.addWidget(states.hair())
        column.addWidget(self.stack, 1)
        self.stack.turned.connect(self._say_known)
        self.setFocusProxy(self.list)
        preferences.signals.changed.connect(self._fill)
        self.refresh()

    def _title_row(self) -> QWidget:
        made = QWidget()
        row = boxes.wrapping(made, 16, 8, gap=10, least=44)
        row.addWidget(Title(tr("Blame")))
        self.summary = words("", "second")
        row.addWidget(self.summary)
        row.addStretch()
        self.search = QLineEdit()
        self.search.setProperty("small", True)
        self.search.setPlaceholderText(tr("Field, version or name"))
        self.search.setAccessibleName(tr("Find in the list"))
        ClearCross(self.search)
        self.search.setMinimumWidth(theme.px(180))
        self.search.textChanged.connect(self._fill)
        row.addWidget(self.search)
        self.compare_button = button(tr("Compare"), self.compare, "small", icon="git-diff")
        row.addWidget(self.compare_button)
        self.compare_button.setEnabled(False)
        self._comparing = tr("Compare")
        self._way = GivingWay(made, row, (self.compare_button, (self._comparing,)))
        return made

    # --- reading

    @property
    def _has_chain(self) -> bool:
        return self._chain is not None

    def _put(self, chain: Chain) -> None:
        self._chain = chain
        identities = {track.key for track in chain.tracks if track.identity}
        self._all = tuple(row for row in chain.blame() if row.key not in identities)
        self._fill()

    def _fill(self, *_: object) -> None:
        if self._chain is None:
            return
        wanted = self.search.text().casefold().strip()
        rows = [row for row in self._all if wanted in _searched(row)] if wanted else list(self._all)
        refill(self.list, self.model, rows)
        setters = {row.version.v for row in self._all}
        said = tr(
            "{fields}, set by {versions}",
            fields=wording.many(len(self._all), "field"),
            versions=wording.many(len(setters), "version"),
        )
        above = [version for version in self._chain.versions if not version.landed]
        if above:
            names = ", ".join(wording.version(version.v) for version in above)
            said = tr("{said}; {names} never landed and is left out", said=said, names=names)
        self.summary.setText(tr("{said}; {rows} shown", said=said, rows=wording.count(len(rows))) if wanted else said)
        if rows:
            self.stack.show_content()
            if not self.list.currentIndex().isValid():
                self.list.setCurrentIndex(self.model.index(0, FIELD))
        elif wanted:
            self.stack.show_empty(
                tr("No field matches"),
                tr("Nothing has “{wanted}” in its name, version or author.", wanted=self.search.text().strip()[:120]),
                [(tr("Show all fields"), self.search.clear)],
            )
        else:
            self.stack.show_empty(
                tr("This document has no fields"), tr("Its current version is empty or cannot be read.")
            )
        self._chosen()

    def _say_known(self) -> None:
        """Count, and offer comparing, only while the counted fields are visible."""
        self.summary.setVisible(not self.stack.is_unread)
        self._chosen()

    # --- the chosen row

    def _copy(self) -> None:
        """Put the whole value or path of the cell on the clipboard."""
        here = self.list.currentIndex()
        if not 0 <= here.row() < len(self.model.rows):
            return
        row = self.model.rows[here.row()]
        if here.column() == VALUE:
            session, ns, id = self._session, self.ns, self.id
            size = row.now.size if row.now.value is not None else None
            keys = self._chain.keys if self._chain is not None else ()
            copying.copy(self, size, lambda: _whole(row, session, ns, id, keys))
        else:
            said = key_text(row.key) if here.column() == FIELD else self.model.cell(here).text
            copying.copy(self, 0, lambda: said)

    def _menu(self, point: QPoint) -> None:
        row = self.model.at(self.list.indexAt(point))
        if row is not None:
            self.menu(row).popup(self.list.viewport().mapToGlobal(point))

    def menu(self, row: Blame) -> QMenu:
        """The menu of a field."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        compare = menu.addAction(self._comparing)
        compare.setEnabled(self._pair() is not None)
        compare.triggered.connect(lambda: self.compare())
        name = wording.item(key_text(row.key))
        menu.addAction(tr("History of {name}", name=name)).triggered.connect(lambda: self.field_asked.emit(row.path))
        filter = condition_on(row.key, row.now.value)
        menu.addAction(tr("Find when this became true…")).triggered.connect(lambda: self.find_asked.emit(filter))
        menu.addSeparator()
        menu.addAction(tr("Copy")).triggered.connect(lambda: self._copy())
        return menu

    def _pair(self) -> tuple[int, int] | None:
        """The ages of the version that set the chosen field and of the version before it."""
        at = self.list.currentIndex().row()
        if self._chain is None or self.stack.is_unread or not 0 <= at < len(self.model.rows):
            return None
        row = self.model.rows[at]
        if not row.op:
            return None
        age = next(i for i, one in enumerate(self._chain.versions) if one is row.version)
        older = next((i for i in sorted(self._chain.read) if i > age), None)
        return None if older is None else (older, age)

    def _chosen(self, *_: object) -> None:
        pair = self._pair()
        self.compare_button.setEnabled(pair is not None)
        self._comparing = tr("Compare")
        if pair is not None and self._chain is not None:
            older, newer = (wording.version(self._chain.versions[age].v) for age in pair)
            self._comparing = tr("Compare {older} and {newer}", older=older, newer=newer)
        self._way.put((self.compare_button, (self._comparing, tr("Compare"), "")))
        self.compare_button.setAccessibleName(self._comparing)
        self.compare_button.setToolTip(wording.tip(self._comparing))

    def _double(self, index: QModelIndex) -> None:
        self.compare()

    def compare(self) -> None:
        """Ask to compare the version that set the chosen field with the one before it."""
        pair = self._pair()
        if pair is not None and self._chain is not None:
            self.compare_asked.emit(self._chain.versions[pair[0]], self._chain.versions[pair[1]])


def _whole(row: Blame, session: Session, ns: str, id: Value, keys: Sequence[str]) -> str:
    """A field's value; a long one was not kept while the versions were read, and is read again."""
    found = row.now.value
    if found is None and any(isinstance(step, int) for step in row.key):  # in an array without keys
        found = canonical.get(session.history.version(ns, id).content or canonical.EMPTY, row.path)
    elif found is None:
        found = value_at(session.history.version(ns, id), row.key, keys)
    if found is None:
        raise Refused(tr("{key} is not there any more; refresh the list.", key=key_text(row.key)))
    return copied(found)


def _searched(row: Blame) -> str:
    return f"{key_text(row.key)} {set_in(row)} {row.version.author or ''}".casefold()
