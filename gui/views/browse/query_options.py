"""The sheet for all of a query but its filter: order, columns, skip and limit."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gui.language import tr, translated
from gui.paging import RowsModel
from gui.parts.completing_line import CompletingLine
from gui.parts.completion import Offer, in_fields, in_order
from gui.style import boxes, theme, wording
from gui.style.cells import Cell, CellTree, Index, plain, value
from gui.style.sheet import Sheet
from gui.style.states import button, words
from gui.views.browse.query import Query, field_names
from model import text
from model.errors import Refused
from model.session.query_help import FieldSurvey, FieldUse

Part = Literal["order", "columns", "limits"]


class FieldChoices(RowsModel[FieldUse]):
    """The fields of a collection, ticked if they are columns."""

    headers = (tr("Field"), tr("Types"), tr("Documents"))
    right_headers = frozenset((2,))

    def __init__(self) -> None:
        super().__init__()
        self.ticked: frozenset[str] = frozenset()
        self.documents = 0

    def key(self, row: FieldUse) -> Hashable:
        return row.path

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        if index.column() == 0:
            on = row.path in self.ticked
            state = Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
            said = f"{row.path}, {(tr('a column') if on else tr('no column'))}"
            return value(row.path, check=state, accessible=said, indent=8)
        if index.column() == 1:
            return plain(row.kinds, "text2")
        share = round(100 * row.documents / self.documents) if self.documents else 0
        return plain(
            f"{share} %" if share else "< 1 %",
            "text2",
            right=True,
            tip=tr(
                "{documents} of {documents2}",
                documents=row.documents,
                documents2=wording.many(self.documents, "document"),
            ),
        )

    def tick(self, names: list[str]) -> None:
        """Tick only the fields with these names."""
        self.ticked = frozenset(names)
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, 0))


class QueryOptions(Sheet):
    """Asks for the rest of a query; ``agreed`` carries the whole query."""

    agreed = Signal(object)  # Query

    def __init__(self, parent: QWidget, query: Query, part: Part = "order", shown: Sequence[str] = ()) -> None:
        """Ask for ``query``; ``shown`` are the columns of a list for which it names none."""
        super().__init__(parent, 640)
        self._query, self._part = query, part
        self._shown = "" if query.fields else ", ".join(shown)
        self._survey = FieldSurvey()
        self.setAccessibleName(tr("Order, columns and limits"))
        self.order = CompletingLine(self._order_words)
        self.order.setText(query.sort)
        self.order.setPlaceholderText(tr("premium.gross descending, _id"))
        self.columns = CompletingLine(self._field_words)
        self.columns.setText(query.fields or self._shown)
        self.columns.setPlaceholderText(tr("status, premium.gross"))
        self.columns.textChanged.connect(self._columns_typed)
        self.skip, self.limit = _number(tr("Skip"), query.skip), _number(tr("Limit"), query.limit)
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Find a field"))
        self.search.setAccessibleName(tr("Find a field"))
        self.search.textChanged.connect(self._fill)
        self.every = button(tr("All fields"), self._take_all, "small")
        self.every.setToolTip(wording.tip(tr("Show every field of the documents as a column")))
        self.every.setEnabled(False)
        self.model = FieldChoices()
        self.list = CellTree(row_height=24)
        self.list.as_list(self.model, tr("Fields that can be columns"), (330, 170))
        self.list.setMinimumHeight(self.fitting(28 + 24 * 9, 400))
        self.list.clicked.connect(self._clicked)
        self.list.installEventFilter(self)
        self.about = words(tr("Reading the fields…"), "hint")
        self.trouble = words("", "error", wrap=True)
        self.trouble.hide()
        self.run = button(tr("Run"), self._agree, "main")
        self._lay_out()
        for line in (self.order, self.columns, self.skip, self.limit):
            line.returnPressed.connect(self._agree)
        self._columns_typed()

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(theme.px(16))
        form.setVerticalSpacing(theme.px(8))
        for name, line in ((tr("Order"), self.order), (tr("Columns"), self.columns)):
            boxes.add_field(form, name, line)
        bounds = boxes.wrapping(x=0, y=0)
        bounds.addWidget(self.skip)
        bounds.addWidget(words(tr("documents, then list"), "second"))
        limit = boxes.row(x=0, y=0)
        limit.addWidget(self.limit)
        limit.addWidget(words(tr("at most"), "second"))
        bounds.addLayout(limit)
        bounds.addStretch(1)
        boxes.add_field(form, tr("Skip"), bounds)
        above = boxes.wrapping(x=0, y=0)
        above.addWidget(words(tr("Fields of this collection"), "head"))
        above.addStretch(1)
        above.addWidget(self.every)
        above.addWidget(self.search)
        foot = QHBoxLayout()
        foot.setSpacing(theme.px(8))
        foot.addWidget(button(tr("Reset"), self._reset, "quiet"))
        foot.addStretch(1)
        foot.addWidget(button(tr("Cancel"), self.reject))
        foot.addWidget(self.run)
        column = QVBoxLayout(self)
        column.setContentsMargins(*(self.inset,) * 4)
        column.setSpacing(theme.px(12))
        column.addWidget(words(tr("Order, columns and limits"), "title"))
        column.addLayout(form)
        column.addLayout(above)
        column.addWidget(self.list, 1)
        column.addWidget(self.about)
        column.addWidget(self.trouble)
        column.addLayout(foot)

    def first(self) -> QWidget | None:
        return {"order": self.order, "columns": self.search, "limits": self.skip}[self._part]

    # --- the fields

    def show_fields(self, survey: FieldSurvey) -> None:
        """List the fields of the collection."""
        self._survey = survey
        self.model.documents = survey.documents
        looked = wording.many(survey.documents, "document")
        self.about.setText(tr("Found in {looked} of the collection", looked=looked))
        self.every.setEnabled(bool(survey.fields))
        self._fill()

    def say_unknown(self, sentence: str) -> None:
        """Say why the fields are unknown; columns can still be typed."""
        self.about.setText(sentence)

    def _fill(self) -> None:
        needle = self.search.text().strip().lower()
        self.model.fill([use for use in self._survey.fields if needle in use.path.lower()])

    def _order_words(self, typed: str, at: int, asked: bool) -> Offer | None:
        return in_order(typed, at, self._survey.fields, asked)

    def _field_words(self, typed: str, at: int, asked: bool) -> Offer | None:
        return in_fields(typed, at, self._survey.fields, asked)

    # --- columns

    def _columns_typed(self) -> None:
        self.model.tick(field_names(self.columns.text()))

    def _take_all(self) -> None:
        """Take every field at the top of the documents."""
        names = (use.path for use in self._survey.fields if use.path != "_id")
        self.columns.setText(", ".join(name for name in names if len(text.path_from_text(name)) == 1))

    def _clicked(self, index: Index) -> None:
        row = self.model.at(index)
        if row is not None:
            self._toggle(row.path)

    def _toggle(self, path: str) -> None:
        names = field_names(self.columns.text())
        names = [name for name in names if name != path] if path in names else [*names, path]
        self.columns.setText(", ".join(names))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.list and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            row = self.model.at(self.list.currentIndex())
            if event.key() == Qt.Key.Key_Space and row is not None:
                self._toggle(row.path)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._agree()
                return True
        return super().eventFilter(watched, event)

    # --- the end

    def _reset(self) -> None:
        for line in (self.order, self.columns, self.skip, self.limit):
            line.clear()

    def _agree(self) -> None:
        try:
            if self.order.text().lstrip().startswith("{"):
                text.loose(self.order.text())
            skip, limit = _whole(tr("Skip"), self.skip), _whole(tr("Limit"), self.limit)
        except Refused as error:
            self.trouble.setText(translated(str(error)))
            self.trouble.show()
            return
        fields = self.columns.text().strip()
        fields = "" if fields == self._shown else fields
        asked = replace(self._query, sort=self.order.text().strip(), fields=fields, skip=skip, limit=limit)
        self.accept()
        self.agreed.emit(asked)


def _number(name: str, now: int) -> QLineEdit:
    made = QLineEdit(str(now) if now else "")
    made.setAccessibleName(name)
    made.setPlaceholderText(tr("none") if name == tr("Skip") else tr("all"))
    made.setFixedWidth(theme.px(96))
    made.setProperty("mono", True)
    return made


def _whole(name: str, line: QLineEdit) -> int:
    typed = line.text().replace(",", "").strip()
    if not typed:
        return 0
    if not typed.isascii() or not typed.isdigit() or int(typed) > 2**31 - 1:
        raise Refused(
            tr("{name} is a whole number of documents, and {line} is none.", name=name, line=line.text().strip())
        )
    return int(typed)
