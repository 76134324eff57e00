"""The change map of one document: its fields by its versions, the changes, and which are still in force."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QFileDialog, QVBoxLayout, QWidget

from gui import messages, tasks
from gui.language import tr
from gui.parts.values.value_pane import ValuePane
from gui.style import boxes, preferences, states, theme, wording
from gui.style.cells import Span
from gui.style.giving_way import GivingWay
from gui.style.states import StateStack, button, tool, words
from gui.style.title import Title
from gui.views.history import map_sizes
from gui.views.history.chain_panel import ChainPanel
from gui.views.history.map_grid import MapView
from gui.views.history.map_model import ORDERS, MapMark, MapModel, MapRow
from gui.views.history.map_painter import version_name
from gui.views.history.map_parts import MapLegend, Said
from gui.views.history.map_words import happened, value_at, values
from model.errors import Refused
from model.session import Session
from model.session.history_reading import Chain
from model.values.canonical import Value

NARROW = 600  # u; in a narrower panel the map comes first
LEGEND = 420  # u that the legend keeps beside a button


class ChangeMapPanel(ChainPanel):
    """Shows a document's versions, and the newer part while older ones arrive.

    ``restore_asked`` carries a version and the key of a field.
    """

    restore_asked = Signal(object, object)
    key = "chain"
    in_parts = True

    def __init__(self, session: Session, ns: str, id: Value, parent: QWidget | None = None) -> None:
        super().__init__(session, ns, id, parent)
        self._reading_value: tasks.Task | None = None
        self._is_narrow = False
        self._answers = True
        self.model = MapModel(self)
        self.view = MapView(self.model)
        self.grid = self.view.grid
        self.stack = StateStack()
        whole = boxes.column(self)
        whole.addWidget(self._title_row())
        whole.addWidget(states.hair())
        whole.addWidget(self.stack, 1)
        content = QWidget(self.stack.place)
        self._content = column = boxes.column(content)
        self.values, self._value_line = ValuePane(), states.hair()
        self.values.setMaximumHeight(theme.px(240))
        self.values.hide()
        self._value_line.hide()
        self.values.closed.connect(self._close_value)
        self.legend, self._legend_line = self._legend_row(), states.hair()
        for part, stretch in (
            (self.legend, 0),
            (self._legend_line, 0),
            (self.view, 1),
            (self._value_line, 0),
            (self.values, 0),
            (states.hair(), 0),
            (self._detail_row(), 0),
        ):
            column.addWidget(part, stretch)
        self.stack.put(content)
        self.setFocusProxy(self.grid)
        self.grid.moved.connect(self._say)
        self.grid.opened.connect(self.compare)
        self.grid.wanted_value.connect(self._show_value)
        self.grid.zoom_asked.connect(self._zoom)
        preferences.signals.changed.connect(self._preference)
        self.stack.turned.connect(self._say_title)
        self._say_title()
        self.refresh()

    # --- parts

    def _title_row(self) -> QWidget:
        made = QWidget()
        row = boxes.wrapping(made, 16, 8, gap=10, least=44)
        self.name = Said()
        row.addWidget(Title(tr("Change map")))
        row.addWidget(self.name, 1)
        self._order_word = words(tr("Order"), "second")
        row.addWidget(self._order_word)
        segments, self._orders = boxes.segments(self, [said for _, said in ORDERS], tr("Order of fields: {}"))
        self.orders = dict(zip((order for order, _ in ORDERS), self._orders.buttons(), strict=True))
        self._orders.idToggled.connect(self._ordered)
        row.addLayout(segments)
        self.zoom_out = tool("magnifying-glass-minus", tr("Narrower columns (−)"), lambda: self._zoom(-1))
        self.zoom_in = tool("magnifying-glass-plus", tr("Wider columns (+)"), lambda: self._zoom(1))
        for one_tool in (self.zoom_out, self.zoom_in):
            one_tool.setProperty("boxed", True)
            row.addWidget(one_tool)
        self.save = button(tr("Save picture…"), self._save_picture, "small", icon="image")
        self.save.setAccessibleName(tr("Save picture…"))
        self.save.setToolTip(tr("Save picture…"))
        row.addWidget(self.save)
        self._way = GivingWay(made, row, (self.save, (tr("Save picture…"), "")))
        self._fit_segments()
        theme.signals.changed.connect(self._fit_segments)
        return made

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow panel the map comes before its legend, with fewer words above."""
        super().resizeEvent(event)
        is_narrow = self.width() < theme.px(NARROW)
        if is_narrow == self._is_narrow:
            return
        self._is_narrow = is_narrow
        self._order_word.setVisible(not is_narrow)
        last = self._content.count() - 2
        for at, part in enumerate((self._legend_line, self.legend) if is_narrow else (self.legend, self._legend_line)):
            self._content.removeWidget(part)
            self._content.insertWidget(last + at if is_narrow else at, part)

    def _fit_segments(self) -> None:
        # The checked one is bolder, and Qt reserves the room for that weight.
        metrics = QFontMetricsF(theme.font(12, 600))
        for one in self._orders.buttons():
            one.setMinimumWidth(round(metrics.horizontalAdvance(one.text())) + theme.px(22))

    def _legend_row(self) -> QWidget:
        made = boxes.ground(QWidget(), "sunken")
        row = boxes.wrapping(made, 16, 0)
        legend = MapLegend()
        legend.setMinimumWidth(theme.px(LEGEND))
        row.addWidget(legend, 1)
        self.fold = button("", self._toggle_fold, "small", "quiet")
        self.fold.setMinimumHeight(0)
        self.fold.hide()
        row.addWidget(self.fold)
        return made

    def _detail_row(self) -> QWidget:
        made = boxes.ground(QWidget(), "sunken")
        row = boxes.wrapping(made, 16, 8, gap=10)
        lines = QVBoxLayout()
        lines.setSpacing(0)
        self.first, self.second = Said(), Said()
        lines.addWidget(self.first)
        lines.addWidget(self.second)
        row.addLayout(lines, 1)
        self.compare_button = button(tr("Compare"), self.compare, icon="git-diff")
        self.restore = button(tr("Restore this value…"), self._restore, icon="arrow-counter-clockwise")
        row.addWidget(self.compare_button)
        row.addWidget(self.restore)
        return made

    # --- reading

    @property
    def _has_chain(self) -> bool:
        return bool(self.model.versions)

    def _put(self, chain: Chain) -> None:
        fresh = not self._has_chain
        here = self.grid.currentIndex()
        key = self.model.rows[here.row()].track.key if here.isValid() else None
        version = self.model.versions[here.column()] if here.isValid() else None
        bar = self.grid.horizontalScrollBar()
        from_end = bar.maximum() - bar.value()
        self.model.put(chain)
        self.view.show_newest()
        if not fresh:
            bar.setValue(bar.maximum() - from_end)
        if self.model.rows:
            column = self.model.column_of(version) if version is not None else -1
            column = column if column >= 0 else self.model.newest
            row = next((i for i, one in enumerate(self.model.rows) if one.track.key == key), None)
            if row is None:  # just opened: as much of the latest changes as fits is in sight
                last = max(one.last_column for one in self.model.rows)
                changed = [i for i, one in enumerate(self.model.rows) if one.last_column == last]
                self.grid.go(changed[-1], column)
                row = changed[0]
            self.grid.go(row, column)
        self._say_title()
        if chain.complete and not self.model.rows:
            self.stack.show_empty(
                tr("No field to follow"), tr("The versions that are kept have no content that can be read.")
            )
        elif chain.complete:
            self.stack.show_content()
        elif self.stack.kind != "content":
            self.stack.show_content()  # the newer part can be used while the rest arrives
            self.reading.show_reading()

    def _keep(self) -> None:
        if self.model.chain.complete:
            self.stack.show_content()
        else:
            self.stack.show_part(tr("Reading was stopped; the oldest versions are not in the map"), self.read_on)

    # --- texts

    def _preference(self, name: str) -> None:
        if name == "zone":
            self.view.redraw()  # years and days depend on the zone
            self._say()

    def _say_title(self) -> None:
        seen = bool(self.model.rows) and not self.stack.is_unread
        summary = self.model.summary() if self.model.versions and not self.stack.is_unread else ""
        self.name.put(Span(summary, "text2", sans=True))
        self.fold.setVisible(bool(self.model.folded))
        fields = wording.many(self.model.folded, "field")
        self.fold.setText(
            tr("Fold {fields}", fields=fields)
            if self.model.unfolded
            else tr("Show {fields} that always change", fields=fields)
        )
        self.zoom_out.setEnabled(seen and self.grid.sizes.zoom > map_sizes.NARROWEST)
        self.zoom_in.setEnabled(seen and self.grid.sizes.zoom < self.view.widest)
        self.save.setEnabled(seen)

    def say_writable(self) -> None:
        """Update whether restoring is offered: the connection's permission changed."""
        self._say()

    def say_answering(self, answers: bool) -> None:
        """Offer restoring only while the server answers."""
        self._answers = answers
        self._say()

    def _current(self) -> tuple[MapRow, int] | None:
        here = self.grid.currentIndex()
        if not here.isValid() or here.row() >= len(self.model.rows):
            return None
        return self.model.rows[here.row()], here.column()

    def _say(self) -> None:
        current = self._current()
        if current is None:
            self.first.put()
            self.second.put()
            self.compare_button.setEnabled(False)
            self.restore.setEnabled(False)
            return
        row, column = current
        mark = row.by_column.get(column)
        self.first.put(*happened(self.model, row, column))
        self.second.put(*values(self.model, row, column))
        self._say_buttons(row, column, mark)
        if not self.values.isHidden():
            self._show_value()

    def _say_buttons(self, row: MapRow, column: int, mark: MapMark | None) -> None:
        pair = self._pair(column, mark)
        self.compare_button.setEnabled(pair is not None)
        if pair is not None:
            self.compare_button.setText(
                tr(
                    "Compare {model} and {model2}",
                    model=version_name(self.model, pair[0]),
                    model2=version_name(self.model, pair[1]),
                )
            )
        else:
            self.compare_button.setText(tr("Compare"))
        why = self._why_not(row, column)
        self.restore.setEnabled(not why)
        self.restore.setToolTip(wording.tip(why))

    def _pair(self, column: int, mark: MapMark | None) -> tuple[int, int] | None:
        """The version at the crosshair, or the first after its gap, and the version before it."""
        column = mark.column if mark is not None else column
        before = self.model.before(column)
        if before is None or not self.model.readable(column):
            return None
        return before, column

    def _why_not(self, row: MapRow, column: int) -> str:
        """Why the value at the crosshair cannot be restored; "" if it can."""
        if self._session.trust.read_only:
            return tr("{name} is open read-only", name=wording.source(self._session.name, first=True))
        if not self._answers:
            return wording.silent(self._session.name)
        if not row.track.key or not self.model.readable(column):
            return tr("There is no value here")
        seen = row.seen(column)
        if seen is None:
            return tr("{name} is not there in {model}", name=row.name, model=version_name(self.model, column))
        setter = row.setter(column)
        newest = row.marks[-1] if row.marks else None
        if row.track.now is not None and setter == newest:
            return tr("This value is in force now")
        return ""

    # --- actions

    def _ordered(self, at: int, on: bool) -> None:
        if on:
            self._arrange(ORDERS[at][0], self.model.unfolded)

    def _toggle_fold(self) -> None:
        self._arrange(self.model.order, not self.model.unfolded)

    def _arrange(self, order: str, unfolded: bool) -> None:
        current = self._current()
        self.model.arrange(order, unfolded)
        if self.model.rows:
            key, column = (current[0].track.key, current[1]) if current else ((), self.model.newest)
            row = next((i for i, one in enumerate(self.model.rows) if one.track.key == key), 0)
            self.grid.go(row, column)
        self._say_title()

    def _zoom(self, by: int) -> None:
        self.view.zoom(by)
        self._say_title()

    def compare(self) -> None:
        """Ask to compare the versions before and after the change at the crosshair."""
        current = self._current()
        if current is None:
            return
        pair = self._pair(current[1], current[0].by_column.get(current[1]))
        if pair is not None:
            self.compare_asked.emit(self.model.versions[pair[0]], self.model.versions[pair[1]])

    def _restore(self) -> None:
        current = self._current()
        if current is not None and not self._why_not(*current):
            self.restore_asked.emit(self.model.versions[current[1]], current[0].track.key)

    def _show_value(self) -> None:
        """Show the whole value at the crosshair below."""
        current = self._current()
        if current is None:
            return
        row, column = current
        if self._reading_value is not None:
            self._reading_value.drop()  # of a cell that the crosshair has left
        title = tr("{name} in {model}", name=row.name, model=version_name(self.model, column))
        seen = row.seen(column) if self.model.readable(column) else None
        if seen is None or seen.value is not None:
            self._open_value((title, seen.value if seen else None))
            return
        session, ns, id, key = self._session, self.ns, self.id, row.track.key
        v, keys = self.model.versions[column].v, self.model.chain.keys
        self._reading_value = tasks.run(
            lambda _: (title, value_at(session.history.version(ns, id, v), key, keys)),
            done=self._open_value,
            failed=partial(messages.fail, self),
            owner=self,
        )

    def _open_value(self, found: tuple[str, Value | None]) -> None:
        self.values.show_value(*found)
        self._value_line.show()
        self.values.show()

    def _close_value(self) -> None:
        if self._reading_value is not None:
            self._reading_value.drop()
        self.values.hide()
        self._value_line.hide()
        self.grid.setFocus(Qt.FocusReason.OtherFocusReason)

    def _save_picture(self) -> None:
        name = wording.file_name(f"change-map-{wording.plain(self.id)[:60]}", ".png")
        path, _ = QFileDialog.getSaveFileName(
            self, tr("Save the whole map as a picture"), name, tr("PNG picture (*.png)")
        )
        if path:
            self.save_to(path)

    def save_to(self, path: str) -> None:
        """Save the whole map as a PNG, and say so."""
        draw = self.view.picture()

        def save(_: tasks.Progress) -> str:
            if not draw().save(path):
                raise Refused(tr("{path} cannot be written; choose another place.", path=path))
            return path

        tasks.run(save, done=self._saved, failed=partial(messages.fail, self), owner=self, title=tr("Saving the map"))

    def _saved(self, path: str) -> None:
        messages.tell(self, tr("The map is saved as {path}", path=path))
