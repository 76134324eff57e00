"""The history of one field: each version that set it, with its value; a list, and for numbers and dates a line."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QLineEdit, QMenu, QPushButton, QWidget

from gui import copying, tasks
from gui.language import tr
from gui.paging import RowsModel, refill
from gui.parts.fields.field_values import condition_on
from gui.parts.values.value_text import copied
from gui.style import boxes, preferences, states, theme, wording
from gui.style.cells import Cell, CellTree, Index, Span, plain, value
from gui.style.clear_cross import ClearCross
from gui.style.giving_way import GivingWay
from gui.style.stacking_split import StackingSplit
from gui.style.states import StateStack, button, words
from gui.style.title import Title
from gui.views.history.blame_panel import SYMBOLS, FieldList, by_cell, doubt, seen_cell, set_in, when_cell
from gui.views.history.chain_panel import ChainPanel
from gui.views.history.field_plot import FieldPlot
from gui.views.history.map_model import WORDS
from gui.views.history.map_words import value_at
from model.errors import Refused
from model.foundation.records import Version
from model.session import Session
from model.session.history_reading import Chain, FieldSet, Key, SeenValue, Track, key_parts, key_text
from model.values.canonical import Path, Value

CHANGE, VERSION, WHEN, BY, BEFORE, AFTER = range(6)
WIDTHS = (28, 110, 150, 140, 260, 260)
STACKED = 620  # u; in a narrower panel the fields are below the history of the chosen one


class _Fields(RowsModel[Track]):
    """The fields of all versions, and how often each was set."""

    headers = (tr("Field"), tr("Changes"))
    right_headers = frozenset((1,))

    def key(self, row: Track) -> Hashable:
        return row.key

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        if index.column() == 1:
            return plain(wording.count(len(row.changes)), "text2", size=12, right=True)
        parts = key_parts(row.key)
        token = "text" if row.path is not None else "text3"
        gone = "" if row.path is not None else tr(", not in the current version")
        return Cell(
            spans=(Span("".join(parts), token),),
            mono=True, size=12, middle=True, indent=8, tip=key_text(row.key), accessible=key_text(row.key) + gone,
        )  # fmt: skip


class SetRow(Struct, frozen=True):
    """One setting of the field, with the age of its version."""

    age: int
    made: FieldSet


class SettingsModel(RowsModel[SetRow]):
    """The versions that set a field, newest first."""

    headers = ("", tr("Version"), tr("When"), tr("By"), tr("Before"), tr("After"))
    spoken_at = VERSION

    def key(self, row: SetRow) -> Hashable:
        return row.made.version.v, row.made.op

    def cell(self, index: Index) -> Cell:
        made = self.rows[index.row()].made
        column = index.column()
        if column == CHANGE:
            said = WORDS.get(made.op, tr("from the start"))
            return Cell(change=SYMBOLS.get(made.op, ""), accessible=said, tip=said)
        if column == VERSION:
            return value(set_in(made), tip=doubt(made))
        if column == WHEN:
            return when_cell(made.version)
        if column == BY:
            return by_cell(made.version)
        seen = made.before if column == BEFORE else made.after
        if seen is None:
            if column == BEFORE and not made.op:
                return plain(tr("there from the start"), "text3", size=12)
            return plain(tr("not there"), "text3", size=12)
        return seen_cell(seen, "text2" if column == BEFORE else "text")


class FieldPanel(ChainPanel):
    """All fields at the left, the chosen one's history at the right. ``find_asked`` carries a filter."""

    find_asked = Signal(str)
    take_back_asked = Signal(object, object)  # the Version whose change of the field is meant, and the field's Key
    key = "field"

    def __init__(self, session: Session, ns: str, id: Value, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, id, parent)
        self.chain: Chain | None = None
        self.track: Track | None = None
        self._wanted: tuple[Path, Value | None] | None = None
        self._answers = True
        self._build()
        self.refresh()

    def _build(self) -> None:
        self.fields = _Fields()
        self.list = CellTree(row_height=28)
        self.list.as_list(self.fields, tr("Fields of all versions"), (220, 76))
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.selectionModel().currentRowChanged.connect(self._chosen)
        self.search = QLineEdit()
        self.search.setProperty("small", True)
        self.search.setPlaceholderText(tr("Field"))
        self.search.setAccessibleName(tr("Find a field"))
        ClearCross(self.search)
        self.search.textChanged.connect(self._fill_fields)
        self.stack = StateStack()
        self.stack.turned.connect(self._offer)
        column = boxes.column(self)
        column.addWidget(self._title_row())
        column.addWidget(states.hair())
        column.addWidget(self.stack, 1)
        left = QWidget()
        left_column = boxes.column(left)
        searching = boxes.row(x=16, y=6)
        searching.addWidget(self.search)
        left_column.addLayout(searching)
        left_column.addWidget(states.hair())
        left_column.addWidget(self.list, 1)
        self._inner = StateStack()
        self.split = StackingSplit(
            left, self._inner, sizes=(300, 900), room=STACKED, above=1, most=0.32, parent=self.stack.place
        )
        self.split.setHandleWidth(1)
        self.split.setStretchFactor(1, 1)
        self.name = words("", "head")
        self.name.setFont(theme.mono(13, 600))
        self.summary = words("", "second")
        self.plot = FieldPlot()
        self.plot.chosen.connect(self._plot_chosen)
        segments, group = boxes.segments(self, (tr("By version"), tr("By time")))
        self.by_version, self.by_time = group.buttons()
        self.by_time.toggled.connect(self.plot.set_by_time)
        self.model = SettingsModel()
        self.settings = FieldList(row_height=28)
        self.settings.as_list(self.model, tr("Versions that set the field, newest first"), WIDTHS)
        self.settings.setTreePosition(VERSION)
        header = self.settings.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(CHANGE, QHeaderView.ResizeMode.Fixed)
        for side in (BEFORE, AFTER):
            header.setSectionResizeMode(side, QHeaderView.ResizeMode.Stretch)
        self.settings.opened.connect(self.compare)
        self.settings.doubleClicked.connect(lambda _: self.compare())
        self.settings.copy_asked.connect(self._copy)
        self.settings.selectionModel().currentRowChanged.connect(self._setting_chosen)
        self.settings.customContextMenuRequested.connect(self._menu)
        right = QWidget(self._inner.place)
        right_column = boxes.column(right)
        head = boxes.wrapping(x=16, y=8, gap=10)
        head.addWidget(self.name)
        head.addWidget(self.summary, 1)
        head.addLayout(segments)
        right_column.addLayout(head)
        right_column.addWidget(self.plot)
        right_column.addWidget(self.settings, 1)
        self._inner.put(right)
        self.stack.put(self.split)
        self.setFocusProxy(self.settings)
        preferences.signals.changed.connect(self._fill)

    def _title_row(self) -> QWidget:
        made = QWidget()
        row = boxes.wrapping(made, 16, 8, gap=10, least=44)
        row.addWidget(Title(tr("History of a field")))
        row.addStretch(1)
        self.compare_button = button(tr("Compare"), self.compare, "small", icon="git-diff")
        self.find_button = button(tr("Find when…"), self.find_when, "small", icon="magnifying-glass")
        self.find_button.setToolTip(tr("Find the versions at which a condition on this field turned true or false"))
        self.take_back_button = button(
            tr("Take back this field…"), self.take_back, "small", icon="arrow-counter-clockwise"
        )
        for each in (self.compare_button, self.find_button, self.take_back_button):
            row.addWidget(each)
        self.find_button.setAccessibleName(tr("Find when…"))
        self._comparing = tr("Compare")
        self._way = GivingWay(made, row, *self._texts(self._comparing))
        return made

    def _texts(self, comparing: str) -> tuple[tuple[QPushButton, Sequence[str]], ...]:
        """The texts of the buttons above, of which the last one gives way first."""
        return (
            (self.take_back_button, (tr("Take back this field…"),)),
            (self.compare_button, (comparing, tr("Compare"))),
            (self.find_button, (tr("Find when…"), "")),
        )

    # --- reading

    def show_field(self, path: Path, v: Value | None = None) -> None:
        """Show the field at a path of version ``v``, or of the current one, once the versions are read."""
        self._wanted = path, v
        if self.chain is not None:
            self._look_up()

    @property
    def _has_chain(self) -> bool:
        return self.chain is not None

    def _put(self, chain: Chain) -> None:
        self.chain = chain
        self._fill_fields()
        if self.fields.rowCount() or self.search.text():
            self.stack.show_content()
        else:
            self.stack.show_empty(tr("This document has no fields"), tr("Its versions are empty or cannot be read."))
        self._look_up()

    def _look_up(self) -> None:
        if self._wanted is None or self.chain is None:
            return
        (path, v), self._wanted = self._wanted, None
        session, ns, id = self._session, self.ns, self.id
        tasks.run(
            lambda _: session.history.field_key(ns, id, path, v),
            done=self._found,
            failed=self._not_found,
            owner=self,
            key="field-key",
        )

    def _not_found(self, error: BaseException) -> None:
        self.summary.setText(tasks.describe(error)[0])

    def _found(self, key: Key) -> None:
        """Choose a field; if it contains others, list these."""
        if self.chain is None:
            return
        track = self.chain.track(key)
        if track is None:
            name = key_text(key)
            inside = f"{name}."
            self.search.setText(
                inside if any(key_text(each.key).startswith(inside) for each in self.chain.tracks) else name
            )
            track = self.fields.rows[0] if self.fields.rows else None
        elif self.fields.row_of(track.key) < 0:
            self.search.clear()
        if track is not None:
            at = self.fields.row_of(track.key)
            self.list.setCurrentIndex(self.fields.index(at, 0))
            self.list.scrollTo(self.fields.index(at, 0))

    def _fill_fields(self, *_: object) -> None:
        if self.chain is None:
            return
        wanted = self.search.text().casefold().strip()
        hidden = {track.key for track in self.chain.tracks if track.identity} | {()}
        rows = [
            track for track in self.chain.tracks if track.key not in hidden and wanted in key_text(track.key).casefold()
        ]
        refill(self.list, self.fields, rows)
        if rows:
            self._inner.show_content()
            if not self.list.currentIndex().isValid():
                self.list.setCurrentIndex(self.fields.index(0, 0))
        else:
            said = tr(
                "No version has a field with “{wanted}” in its name. Look for other words, or show all.",
                wanted=self.search.text().strip()[:120],
            )
            self._inner.show_empty(tr("No field matches"), said, [(tr("Show all fields"), self.search.clear)])
        self._chosen()

    def _chosen(self, *_: object) -> None:
        before, self.track = self.track, self.fields.at(self.list.currentIndex())
        self._fill()
        if self.track is not None and before is not None and before.key != self.track.key:
            self.settings.setCurrentIndex(self.model.index(0, VERSION))  # the newest change, of another field

    def _fill(self, *_: object) -> None:
        chain, track = self.chain, self.track
        if chain is None or track is None:
            self.name.setText("")
            self.summary.setText("")
            self.model.fill([])
            self.plot.hide()
            self._offer()
            return
        ages = {id(one): age for age, one in enumerate(chain.versions)}
        rows = [SetRow(ages[id(made.version)], made) for made in chain.course(track)]
        self.name.setText(key_text(track.key))
        changes = sum(bool(row.made.op) for row in rows)
        kept = tr(
            "{changes} in {versions}",
            changes=wording.many(changes, "change"),
            versions=wording.many(len(chain.read), "version"),
        )
        self.summary.setText(kept if track.path is not None else tr("{kept}; not in the current version", kept=kept))
        refill(self.settings, self.model, rows)
        self.plot.put(chain, track)
        for made in (self.by_version, self.by_time):
            made.setVisible(bool(self.plot.points) and self.plot.has_times)
        if rows and not self.settings.currentIndex().isValid():
            self.settings.setCurrentIndex(self.model.index(0, VERSION))
        self._offer()

    # --- the chosen version

    @property
    def row(self) -> SetRow | None:
        """The chosen row."""
        return self.model.at(self.settings.currentIndex())

    def _setting_chosen(self, *_: object) -> None:
        self.plot.mark(self.row.age if self.row is not None else -1)
        self._offer()

    def _plot_chosen(self, age: int) -> None:
        at = next((i for i, row in enumerate(self.model.rows) if row.age == age), -1)
        if at >= 0:
            self.settings.setCurrentIndex(self.model.index(at, VERSION))
            self.settings.setFocus()

    def _pair(self) -> tuple[Version, Version] | None:
        """The version that set the field, and the last readable one before it."""
        row, chain = self.row, self.chain
        if row is None or chain is None or not row.made.op or self.stack.is_unread:
            return None
        older = next((age for age in sorted(chain.read) if age > row.age), None)
        return None if older is None else (chain.versions[older], row.made.version)

    def _offer(self) -> None:
        pair = self._pair()
        self.compare_button.setEnabled(pair is not None)
        said = (
            tr("Compare")
            if pair is None
            else tr("Compare {names}", names=tr(" and ").join(wording.version(one.v) for one in pair))
        )
        self._comparing = said
        self._way.put(*self._texts(said))
        self.compare_button.setAccessibleName(said)
        self.compare_button.setToolTip(wording.tip(said))
        self.find_button.setEnabled(self.track is not None and not self.stack.is_unread)
        why = self._why_not()
        self.take_back_button.setEnabled(not why)
        self.take_back_button.setToolTip(
            wording.tip(why or tr("Undo this change of the field; later edits of others stay"))
        )
        self.plot.mark(self.row.age if self.row is not None else -1)

    def compare(self) -> None:
        """Ask to compare the version that set the field with the one before it."""
        pair = self._pair()
        if pair is not None:
            self.compare_asked.emit(*pair)

    def _why_not(self) -> str:
        """Why the chosen change of the field cannot be taken back; "" if it can."""
        row = self.row
        if self._session.trust.read_only:
            return tr(
                "{name} is open read-only; to take changes back, allow writes.",
                name=wording.source(self._session.name, first=True),
            )
        if not self._answers:
            return wording.silent(self._session.name)
        if row is None or self.stack.is_unread:
            return tr("Choose the version that set the field first.")
        if not row.made.op or self._pair() is None:
            return tr("The field was there from the start, so there is no value before it.")
        return ""

    def say_writable(self) -> None:
        """Update whether taking back is offered: the connection's permission changed."""
        self._offer()

    def say_answering(self, answers: bool) -> None:
        """Offer taking back only while the server answers."""
        self._answers = answers
        self._offer()

    def take_back(self) -> None:
        """Ask to take the chosen change of the field back."""
        row, track = self.row, self.track
        if row is not None and track is not None and not self._why_not():
            self.take_back_asked.emit(row.made.version, track.key)

    def find_when(self) -> None:
        """Ask for the versions at which a condition on this field turns, starting with the chosen value."""
        if self.track is not None:
            row = self.row
            seen = row.made.after if row is not None else None
            self.find_asked.emit(condition_on(self.track.key, seen.value if seen is not None else None))

    def _copy(self) -> None:
        row = self.row
        column = self.settings.currentIndex().column()
        if row is None or self.track is None:
            return
        if column not in (BEFORE, AFTER):
            said = self.model.cell(self.settings.currentIndex()).text
            copying.copy(self, 0, lambda: said)
            return
        pair, session, ns, id, key = self._pair(), self._session, self.ns, self.id, self.track.key
        keys = self.chain.keys if self.chain is not None else ()
        seen = row.made.before if column == BEFORE else row.made.after
        version = row.made.version if column == AFTER or pair is None else pair[0]
        if seen is not None:
            copying.copy(
                self, seen.size if seen.value else None, lambda: _whole(seen, session, ns, id, version, key, keys)
            )

    def _menu(self, point: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        compare = menu.addAction(self._comparing)
        compare.setEnabled(self._pair() is not None)
        compare.triggered.connect(lambda: self.compare())
        take_back = menu.addAction(self.take_back_button.text())
        take_back.setEnabled(self.take_back_button.isEnabled())
        take_back.setToolTip(wording.tip(self._why_not() or take_back.text()))
        take_back.triggered.connect(lambda: self.take_back())
        menu.addAction(tr("Find when…")).triggered.connect(lambda: self.find_when())
        menu.addAction(tr("Copy")).triggered.connect(lambda: self._copy())
        menu.popup(self.settings.viewport().mapToGlobal(point))


def _whole(
    seen: SeenValue, session: Session, ns: str, id: Value, version: Version, key: Key, keys: Sequence[str]
) -> str:
    """A value; a long one was not kept while the versions were read, and is read again."""
    found = seen.value if seen.value is not None else value_at(session.history.version(ns, id, version.v), key, keys)
    if found is None:
        raise Refused(tr("{key} is not there any more; read the history again.", key=key_text(key)))
    return copied(found)
