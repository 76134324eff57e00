"""The query to a collection: filter, order, fields, and whether earlier versions count too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
    QWidgetAction,
)

from gui.style import boxes, preferences, theme, wording
from gui.style.states import button, tool, words
from model import text
from model.errors import Refused
from model.records import CollectionInfo
from model.values import canonical

REMEMBERED = 20


@dataclass(frozen=True)
class Query:
    """A query as people typed it."""

    filter: str = ""
    sort: str = ""
    fields: str = ""
    any_version: bool = False


def sort_words(sort: str) -> str:
    """``_id ascending`` for a sort of one field, the text itself otherwise."""
    try:
        raw = text.loose(sort)
    except Refused:
        return sort
    pairs = canonical.fields(raw)
    if not pairs:
        return "_id ascending"
    name, way = pairs[0]
    said = f"{name} {'descending' if text.shown(way).startswith('-') else 'ascending'}"
    return said if len(pairs) == 1 else f"{said}, {len(pairs) - 1} more"


class QueryBar(QWidget):
    """The bar above a document list; ``asked`` is emitted when the query should run."""

    asked = Signal()

    def __init__(self, source: str, ns: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "surface")
        self._key = f"queries/{source}/{ns}"
        self._sort, self._fields = "", ""
        self._roles: Mapping[str, str] = {}
        self._past = tool("funnel", "Earlier filters", self._show_past, 32)
        self.input = QLineEdit()
        self.input.setAccessibleName("Filter")
        self.input.setProperty("mono", True)
        self.input.setPlaceholderText('Filter, for example { "status": "active" }')
        self.input.returnPressed.connect(self._run)
        self.input.textEdited.connect(self.clear_error)
        self.input.installEventFilter(self)
        self._current = QPushButton("Current")
        self._any = QPushButton("Any version")
        self._which = QButtonGroup(self)
        for at, (made, mark) in enumerate(((self._current, "first"), (self._any, "last"))):
            made.setProperty("segment", mark)
            made.setProperty("tall", True)
            made.setCheckable(True)
            made.setAutoDefault(False)
            self._which.addButton(made, at)
        self._current.setChecked(True)
        self._current.setToolTip("The filter looks at current versions")
        self._any.setToolTip("The filter looks at earlier versions too; the list shows the documents as they are now")
        self._which.idClicked.connect(self._which_clicked)
        self.sort_button = button("_id ascending", self._choose_sort, icon="sort-ascending")
        self.sort_button.setAccessibleName("Order")
        self.fields_button = button("All fields", self._choose_fields, icon="columns")
        self.fields_button.setAccessibleName("Fields shown")
        self.run_button = button("Find", self._run, "main")
        row = QHBoxLayout()
        row.setContentsMargins(theme.px(8), theme.px(8), theme.px(16), theme.px(8))
        row.setSpacing(theme.px(8))
        row.addWidget(self._past)
        row.setSpacing(theme.px(8))
        row.addWidget(self.input, 1)
        switch = QHBoxLayout()
        switch.setSpacing(0)
        switch.addWidget(self._current)
        switch.addWidget(self._any)
        row.addLayout(switch)
        row.addWidget(self.sort_button)
        row.addWidget(self.fields_button)
        row.addWidget(self.run_button)
        self._error = words("", "error", wrap=True)
        self._error.setContentsMargins(theme.px(48), 0, theme.px(16), theme.px(8))
        self._error.hide()
        column = boxes.column(self)
        column.addLayout(row)
        column.addWidget(self._error)
        self.set_info(None)

    # --- state

    @property
    def query(self) -> Query:
        """The query as it stands in the bar."""
        return Query(self.input.text().strip(), self._sort, self._fields, self._any.isChecked())

    def set_info(self, info: CollectionInfo | None) -> None:
        """Fit the bar to a collection's layout."""
        self._roles = info.fields if info is not None else {}
        layered = info is not None and info.keeps_history
        self._current.setVisible(layered)
        self._any.setVisible(layered)

    def set_filter(self, filter: str) -> None:
        """Put a filter into the bar without running it."""
        self.input.setText(filter)
        self.clear_error()

    def show_error(self, sentence: str) -> None:
        """Say the error of the query below the bar; its text stays."""
        self._error.setText(sentence)
        self._error.show()
        self._mark(True)

    def clear_error(self) -> None:
        """Take the error away."""
        self._error.hide()
        self._mark(False)

    def show_note(self, sentence: str) -> None:
        """Say below the bar that something failed although the query ran."""
        self._error.setText(sentence)
        self._error.show()

    @property
    def error(self) -> str:
        """The error below the bar."""
        return "" if self._error.isHidden() else self._error.text()

    def _mark(self, bad: bool) -> None:
        if bool(self.input.property("bad")) != bad:
            self.input.setProperty("bad", bad)
            self.input.style().unpolish(self.input)
            self.input.style().polish(self.input)

    # --- running

    def _run(self) -> None:
        query = self.query
        try:
            text.loose(query.filter)
        except Refused as error:
            self.show_error(f"This filter cannot be read. {error}")
            self.input.setFocus()
            return
        self.clear_error()
        if query.filter:
            past = [query.filter, *(old for old in self.past() if old != query.filter)]
            preferences.remember(self._key, past[:REMEMBERED])
        self.asked.emit()

    def _which_clicked(self, _: int) -> None:
        self.asked.emit()

    # --- earlier filters

    def past(self) -> list[str]:
        """The filters that ran here, newest first."""
        kept = preferences.remembered(self._key, [])
        return [str(one) for one in kept] if isinstance(kept, list) else []

    def _show_past(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for filter in self.past():
            shown = filter if len(filter) <= 90 else filter[:89] + "…"
            menu.addAction(shown.replace("&", "&&"), partial(self._take_past, filter))
        if not self.past():
            menu.addAction("No filter ran here yet").setEnabled(False)
        else:
            menu.addSeparator()
            menu.addAction("Forget these filters", self._forget)
        menu.popup(self.input.mapToGlobal(self.input.rect().bottomLeft()))

    def _forget(self) -> None:
        preferences.remember(self._key, [])

    def _take_past(self, filter: str) -> None:
        self.set_filter(filter)
        self._run()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.input and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Down and self.past():
                self._show_past()
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and event.modifiers():
                self._run()
                return True
        return False

    # --- order and fields

    def _choose_sort(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        names = [self._roles.get("id", "_id"), self._roles.get("version", ""), self._roles.get("at", "")]
        for name in dict.fromkeys(name for name in names if name):
            for way, said in ((1, "ascending"), (-1, "descending")):
                sort = f'{{ "{name}": {way} }}'
                action = menu.addAction(wording.item(f"{name} {said}"), partial(self.set_sort, sort))
                action.setCheckable(True)
                action.setChecked(sort == self._sort or (not self._sort and name == names[0] and way == 1))
        menu.addSeparator()
        _typed(menu, "Another order", '{ "premium.gross": -1 }', self._sort, self.set_sort)
        menu.popup(self.sort_button.mapToGlobal(self.sort_button.rect().bottomLeft()))

    def set_sort(self, sort: str) -> None:
        """Take another order and run."""
        try:
            text.loose(sort)
        except Refused as error:
            self.show_error(f"This order cannot be read. {error}")
            return
        self._sort = sort.strip()
        self.sort_button.setText(sort_words(self._sort).replace("&", "&&"))
        self._run()

    def _choose_fields(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        action = menu.addAction("No further columns", partial(self.set_fields, ""))
        action.setCheckable(True)
        action.setChecked(not self._fields)
        menu.addSeparator()
        _typed(menu, "Show these fields as columns", "status, premium.gross", self._fields, self.set_fields)
        menu.popup(self.fields_button.mapToGlobal(self.fields_button.rect().bottomLeft()))

    def set_fields(self, fields: str) -> None:
        """Show some fields as columns and run; "" shows none beside the usual columns."""
        self._fields = fields.strip()
        names = field_names(self._fields)
        said = "All fields" if not names else names[0] if len(names) == 1 else f"{len(names)} fields"
        self.fields_button.setText(said.replace("&", "&&"))
        self._run()


def field_names(fields: str) -> list[str]:
    """The fields of a projection as it was typed: ``a, b.c`` or ``{ a: 1, "b.c": 1 }``."""
    if fields.lstrip().startswith("{"):
        try:
            return [
                name
                for name, way in canonical.fields(text.loose(fields))
                if text.shown(way) not in ("0", "false", "0.0")
            ]
        except Refused:
            return []
    return [name.strip() for name in fields.split(",") if name.strip()]


def _typed(menu: QMenu, label: str, example: str, now: str, take: object) -> None:
    """A line in a menu to type into; Enter takes it."""
    field = QLineEdit(now)
    field.setPlaceholderText(example)
    field.setAccessibleName(label)
    field.setProperty("mono", True)
    field.setMinimumWidth(theme.px(280))
    box = QWidget()
    column = QVBoxLayout(box)
    column.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(8))
    column.setSpacing(theme.px(4))
    column.addWidget(words(label, "hint"))
    column.addWidget(field)
    action = QWidgetAction(menu)
    action.setDefaultWidget(box)
    menu.addAction(action)

    def taken() -> None:
        menu.close()
        assert callable(take)
        take(field.text())

    field.returnPressed.connect(taken)
