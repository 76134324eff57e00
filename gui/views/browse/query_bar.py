"""The query to a collection: filter, order, fields, whether earlier versions count too, and the time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLineEdit, QMenu, QPushButton, QVBoxLayout, QWidget

from gui.language import tr, translated
from gui.parts.completing_line import CompletingLine
from gui.parts.completion import Offer, in_filter
from gui.style import boxes, theme, wording
from gui.style.sheet import Sheet
from gui.style.states import button, say, tool, words
from gui.views.browse.past_queries import PastQueries
from gui.views.browse.query import Query, field_names, sort_pairs, sort_words
from gui.views.browse.query_options import Part, QueryOptions
from gui.views.browse.time_sheet import TimeSheet
from model import text
from model.errors import Refused
from model.foundation.records import CollectionInfo
from model.session.query_help import FieldSurvey, filter_by_id

LONGEST = 90  # characters of a query in a menu
ICONS_BELOW = 780  # u; a narrower bar shows order and limits as an icon only: it has one line for all
BRIEF_BELOW = 560  # u; a narrower one has a shorter filter, too
TIMES = tr("As of a time, two times, deleted documents")


class QueryBar(QWidget):
    """The bar above a document list; ``asked`` is emitted when the query should run.

    ``fields_wanted`` is emitted when a person begins to type: words are offered once :meth:`show_survey` has the
    fields.
    """

    asked = Signal()
    unreadable = Signal()  # it should run, but cannot be read; the bar says why
    fields_wanted = Signal()
    explain_asked = Signal()
    times_asked = Signal()  # compare two times
    columns_chosen = Signal(str)  # a person chose columns; "" leaves that to the list again

    def __init__(self, source: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._source, self._ns = source, ""
        boxes.ground(self, "surface")
        self.past = PastQueries(source, "")
        self._rest = Query()  # the query without its filter and its choice of versions
        self._columns: list[str] = []  # the fields that the list shows when no person chose any
        self._layered = self._is_archive = False
        self._survey: FieldSurvey | None = None
        self._sheet: QueryOptions | None = None
        self._roles: Mapping[str, str] = {}
        self._past = tool("funnel", tr("Earlier and saved queries"), self._show_past, 32)
        self.input = CompletingLine(self._words)
        self.input.setAccessibleName(tr("Filter"))
        self.input.setPlaceholderText(tr('Filter, for example { "status": "active" }, or an id'))
        self.input.returnPressed.connect(self._run)
        self.input.textEdited.connect(self.clear_error)
        self.input.installEventFilter(self)
        self._current = QPushButton(tr("Current"))
        self._any = QPushButton(tr("Any version"))
        self._which = QButtonGroup(self)
        for at, (made, mark) in enumerate(((self._current, "first"), (self._any, "last"))):
            made.setProperty("segment", mark)
            made.setProperty("tall", True)
            made.setCheckable(True)
            made.setAutoDefault(False)
            self._which.addButton(made, at)
        self._current.setChecked(True)
        self._current.setToolTip(tr("The filter looks at current versions"))
        self._any.setToolTip(
            tr("The filter looks at earlier versions too; the list shows the documents as they are now")
        )
        self._which.idClicked.connect(self._which_clicked)
        self.shape_button = button(sort_words(""), self._show_shape, icon="sliders-horizontal")
        self.shape_button.setAccessibleName(tr("Order, columns and limits"))
        self.explain_button = tool("chart-bar", tr("Explain this query, and the indexes"), self.explain_asked.emit, 32)
        self.time_button = tool("clock-counter-clockwise", TIMES, self._show_times, 32)
        self.time_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.run_button = button(tr("Find"), self._run, "main")
        row = boxes.wrapping(x=0, y=0)
        row.addWidget(self.input, 1)
        switch = QHBoxLayout()
        switch.setSpacing(0)
        switch.addWidget(self._current)
        switch.addWidget(self._any)
        row.addLayout(switch)
        row.addWidget(self.shape_button)
        row.addWidget(self.time_button)
        row.addWidget(self.explain_button)
        row.addWidget(self.run_button)
        whole = QHBoxLayout()
        whole.setContentsMargins(theme.px(8), theme.px(8), theme.px(16), theme.px(8))
        whole.setSpacing(theme.px(8))
        whole.addWidget(self._past, 0, Qt.AlignmentFlag.AlignTop)
        whole.addLayout(row, 1)  # further lines begin below the filter, as its error does
        self._error = words("", "error", wrap=True)
        self._error.setContentsMargins(theme.px(48), 0, theme.px(16), theme.px(8))
        self._error.hide()
        column = boxes.column(self)
        column.addLayout(whole)
        column.addWidget(self._error)
        self.set_info(None)

    def show_collection(self, ns: str) -> None:
        """Ask for documents of a collection; until then there is none."""
        self._ns = ns
        self.past = PastQueries(self._source, ns)

    # --- state

    @property
    def query(self) -> Query:
        """The query in the bar."""
        any_version = self._any.isChecked() and self._rest.is_of_now
        return replace(self._rest, filter=self.input.text().strip(), any_version=any_version)

    def set_info(self, info: CollectionInfo | None) -> None:
        """Fit the bar to a collection's layout."""
        self._roles = info.fields if info is not None else {}
        layered = info is not None and info.keeps_history
        self._layered = layered
        self._is_archive = info is not None and info.belongs_to is not None
        self._say_shown()
        self.time_button.setVisible(layered)
        self._fit_which()

    def set_filter(self, filter: str) -> None:
        """Put a filter into the bar without running it."""
        self.input.setText(filter)
        self.clear_error()

    def show_error(self, sentence: str) -> None:
        """Show the query's error below the bar; its text stays."""
        self._error.setText(sentence)
        self._error.show()
        self._mark(True)

    def clear_error(self) -> None:
        """Remove the error."""
        self._error.hide()
        self._mark(False)

    def show_note(self, sentence: str) -> None:
        """Show below the bar that something failed although the query ran."""
        self._error.setText(sentence)
        self._error.show()

    @property
    def error(self) -> str:
        """The error below the bar."""
        return "" if self._error.isHidden() else self._error.text()

    @property
    def is_bad(self) -> bool:
        """Whether the error is about the text in the bar."""
        return bool(self.input.property("bad"))

    def _mark(self, bad: bool) -> None:
        if self.is_bad != bad:
            self.input.setProperty("bad", bad)
            self.input.style().unpolish(self.input)
            self.input.style().polish(self.input)

    # --- running

    def _run(self) -> None:
        id_field = self._roles.get("archive_id") if self._is_archive else self._roles.get("id")
        if by_id := filter_by_id(self.input.text(), id_field or "_id"):
            self.input.setText(by_id)
        query = self.query
        try:
            text.loose(query.filter)
        except Refused as error:
            self.show_error(tr("This filter cannot be read. {error}", error=translated(str(error))))
            self.input.setFocus()
            self.unreadable.emit()
            return
        self.clear_error()
        self.past.note(query)
        self.asked.emit()

    def _which_clicked(self, _: int) -> None:
        self.asked.emit()

    # --- present, past and deleted documents

    def _show_times(self) -> None:
        menu = self.times_menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.time_button.mapToGlobal(self.time_button.rect().bottomLeft()))

    def times_menu(self) -> QMenu:
        """The menu of other lists than the present documents."""
        menu = QMenu(self)
        menu.addAction(tr("As of a time…"), self.choose_time)
        menu.addAction(tr("Compare two times…"), self.times_asked.emit)
        deleted = menu.addAction(tr("Deleted documents"), self.toggle_deleted)
        deleted.setCheckable(True)
        deleted.setChecked(self._rest.deleted)
        menu.addSeparator()
        menu.addAction(tr("Back to now"), self.back_to_now).setEnabled(not self._rest.is_of_now)
        return menu

    def choose_time(self) -> None:
        """Ask for the time to show."""
        sheet = TimeSheet(self, self._ns, self._rest.at)
        sheet.agreed.connect(self.go_to)
        sheet.open()

    def go_to(self, at: dt.datetime | None) -> None:
        """Show the documents at a time, or as they are now."""
        self._put(replace(self._rest, moment="" if at is None else at.isoformat(), deleted=False))
        self._run()

    def toggle_deleted(self) -> None:
        """Show the deleted documents, or the present ones again."""
        self._put(replace(self._rest, moment="", deleted=not self._rest.deleted))
        self._run()

    def back_to_now(self) -> None:
        """Show the documents as they are now."""
        self.go_to(None)

    def _fit_which(self) -> None:
        for made in (self._current, self._any):
            made.setVisible(self._layered and self._rest.is_of_now)
        self.explain_button.setVisible(self._rest.is_of_now)

    # --- completions

    def show_survey(self, survey: FieldSurvey) -> None:
        """Offer the fields of the collection from now on."""
        self._survey = survey
        self.input.offer_again()
        if self._sheet is not None:
            self._sheet.show_fields(survey)

    def say_fields_unknown(self, sentence: str) -> None:
        """Say why no fields can be offered."""
        if self._sheet is not None:
            self._sheet.say_unknown(sentence)

    def _words(self, typed: str, at: int, asked: bool) -> Offer | None:
        if self._survey is None:
            self.fields_wanted.emit()
            return in_filter(typed, at, (), asked)
        return in_filter(typed, at, self._survey.fields, asked)

    # --- earlier and saved queries

    def _show_past(self) -> None:
        menu = self.past_menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.input.mapToGlobal(self.input.rect().bottomLeft()))

    def past_menu(self) -> QMenu:
        """The menu of saved and earlier queries."""
        menu = QMenu(self)
        saved, ran = self.past.saved(), self.past.ran()
        for name, query in saved.items():
            menu.addAction(wording.item(f"{name}:  {query.words}", LONGEST), partial(self.take, query))
        if saved:
            menu.addSeparator()
        for query in ran:
            menu.addAction(wording.item(query.words, LONGEST), partial(self.take, query))
        if not ran:
            menu.addAction(tr("No query ran here yet")).setEnabled(False)
        menu.addSeparator()
        save = menu.addAction(tr("Save this query…"), self._ask_name)
        save.setEnabled(self.query != Query())
        if saved:
            forget = menu.addMenu(tr("Forget a saved query"))
            for name in saved:
                forget.addAction(wording.item(name), partial(self.past.forget, name))
        if ran:
            menu.addAction(tr("Forget the earlier queries"), self.past.forget_ran)
        return menu

    def _ask_name(self) -> None:
        asked = _NameSheet(self, self.query)
        asked.named.connect(self.past.save)
        asked.open()

    def take(self, query: Query) -> None:
        """Put a whole query into the bar and run it."""
        self.put(query)
        self._run()

    def put(self, query: Query) -> None:
        """Put a whole query into the bar without running it."""
        self.set_filter(query.filter)
        (self._any if query.any_version else self._current).setChecked(True)
        self._put(query)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.input and event.type() == QEvent.Type.FocusIn and self._survey is None:
            self.fields_wanted.emit()
        if watched is self.input and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Down and not self.input.offered and self.past.ran():
                self._show_past()
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and event.modifiers():
                self._run()
                return True
        return False

    # --- order, columns and limits

    def _show_shape(self) -> None:
        menu = self.shape_menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.shape_button.mapToGlobal(self.shape_button.rect().bottomLeft()))

    def shape_menu(self) -> QMenu:
        """The menu of usual orders, and of the parts of the sheet for order, columns and limits."""
        menu = QMenu(self)
        names = [self._roles.get("id", "_id"), self._roles.get("version", ""), self._roles.get("at", "")]
        for name in dict.fromkeys(name for name in names if name):
            for way, said in ((1, tr("ascending")), (-1, tr("descending"))):
                sort = f'{{ "{name}": {way} }}'
                action = menu.addAction(wording.item(f"{name} {said}"), partial(self.set_sort, sort))
                action.setCheckable(True)
                action.setChecked(sort_pairs(self._rest.sort or names[0]) == [(name, way < 0)])
        menu.addAction(tr("Another order…"), partial(self.choose, "order"))
        menu.addSeparator()
        menu.addAction(tr("Columns…"), partial(self.choose, "columns"))
        menu.addAction(tr("Skip and limit…"), partial(self.choose, "limits"))
        return menu

    def set_sort(self, sort: str) -> None:
        """Set another order and run."""
        if sort.lstrip().startswith("{"):
            try:
                text.loose(sort)
            except Refused as error:
                self.show_error(tr("This order cannot be read. {error}", error=translated(str(error))))
                return
        self._put(replace(self._rest, sort=sort.strip()))
        self._run()

    def sort_by(self, field: str) -> None:
        """Sort by a field: first ascending, then descending, then in the original order."""
        now = sort_pairs(self._rest.sort)
        if now != [(field, False)] and now != [(field, True)]:
            self.set_sort(f'{{ "{field}": 1 }}')
        else:
            self.set_sort("" if now[0][1] else f'{{ "{field}": -1 }}')

    def set_fields(self, fields: str) -> None:
        """Show fields as columns and run; "" shows only the usual columns."""
        self._chosen(replace(self._rest, fields=fields.strip()))

    def say_columns(self, names: list[str]) -> None:
        """Say which fields the list shows as columns when no person chose any."""
        self._columns = names
        self._say_shown()

    def choose(self, part: Part) -> None:
        """Open the sheet with order, columns and limits, focused on one of them."""
        self._sheet = sheet = QueryOptions(self, self._rest, part, self._columns)
        sheet.agreed.connect(self._chosen)
        sheet.finished.connect(self._sheet_closed)
        if self._survey is not None:
            sheet.show_fields(self._survey)
        else:
            self.fields_wanted.emit()
        sheet.open()

    def _sheet_closed(self) -> None:
        self._sheet = None

    def _chosen(self, query: Query) -> None:
        if query.fields != self._rest.fields:
            self.columns_chosen.emit(query.fields)
        self._put(query)
        self._run()

    def _put(self, rest: Query) -> None:
        """Set all of a query but its filter, and show it on the buttons."""
        self._rest = replace(rest, filter="", any_version=False)
        self._say_shown()
        said = tr("Deleted") if rest.deleted else wording.moment(rest.at, exact=True)
        self.time_button.setText(f" {said}" if said else "")
        wide = self.time_button.sizeHint().width() + theme.px(8) if said else theme.px(32)
        self.time_button.setFixedWidth(wide)
        self.time_button.setAccessibleName(tr("{said}: other times", said=said) if said else TIMES)
        self._fit_which()

    def _say_shown(self) -> None:
        """Show order and limits on their button, or only in its tooltip if the bar is narrow."""
        said = ", ".join(filter(None, (sort_words(self._rest.sort, self._roles.get("id", "_id")), self._rest.bounds)))
        is_narrow = self.width() < theme.px(ICONS_BELOW)
        self.input.setMinimumWidth(theme.px(160 if self.width() < theme.px(BRIEF_BELOW) else 200))
        say(self.shape_button, "" if is_narrow else said.replace("&", "&&"))
        names = ", ".join(field_names(self._rest.fields) or self._columns)
        columns = tr("Columns: {names}", names=names) if names else ""
        self.shape_button.setToolTip(wording.tip("\n".join(filter(None, (said, columns)))))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._say_shown()

    def minimumSizeHint(self) -> QSize:
        """The height for the present width, with all lines of an error."""
        return super().minimumSizeHint().expandedTo(QSize(0, self.heightForWidth(self.width())))


class _NameSheet(Sheet):
    """Asks for the name under which a query is saved."""

    named = Signal(str, object)  # Query

    def __init__(self, parent: QWidget, query: Query) -> None:
        super().__init__(parent, 480)
        self._query = query
        self.setAccessibleName(tr("Save this query"))
        self.name = QLineEdit()
        self.name.setAccessibleName(tr("Name of the query"))
        self.name.setPlaceholderText(tr("A name for it"))
        self.name.textChanged.connect(self._typed)
        self.name.returnPressed.connect(self._agree)
        self.save = button(tr("Save the query"), self._agree, "main")
        self.save.setEnabled(False)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(button(tr("Cancel"), self.reject))
        foot.addWidget(self.save)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(12))
        column.addWidget(words(tr("Save this query"), "title"))
        column.addWidget(words(query.words, "second", wrap=True))
        column.addWidget(self.name)
        column.addLayout(foot)

    def first(self) -> QWidget | None:
        return self.name

    def _typed(self, name: str) -> None:
        self.save.setEnabled(bool(name.strip()))

    def _agree(self) -> None:
        if self.name.text().strip():
            self.accept()
            self.named.emit(self.name.text().strip(), self._query)
