"""The sheet that shows how the server answers a query, and the collection's indexes with their use."""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QSizePolicy, QVBoxLayout, QWidget

from gui import copying, messages, tasks
from gui.language import tr, translated
from gui.paging import RowsModel
from gui.parts.reading import Reading
from gui.style import theme, wording
from gui.style.cells import Cell, CellTree, Index, plain, value
from gui.style.sheet import Sheet
from gui.style.states import Glyph, StateStack, button, hair, words
from gui.views.browse.query import Query
from model.session import Session
from model.session.collection_indexes import Indexes, IndexUse
from model.session.query_help import Explained

WIDTHS = (150, 220, 150, 72)
HEAD, ROW, AIR = 28, 24, 4  # u
LOW = 400  # u; in a lower window the parts are closer together
NO_BREAK = "\N{NO-BREAK SPACE}"


class IndexList(RowsModel[IndexUse]):
    """The indexes of a collection."""

    headers = (tr("Index"), tr("Fields"), tr("Properties"), tr("Used"), tr("Counted since"))
    right_headers = frozenset((3,))

    def key(self, row: IndexUse) -> Hashable:
        return row.name

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        match index.column():
            case 0:
                return value(row.name, indent=8)
            case 1:
                return value(row.keys, "text2")
            case 2:
                return plain(", ".join(map(translated, row.traits)), "text2")
            case 3:
                said = "N/A" if row.uses is None else wording.count(row.uses)
                return value(said, "text3" if not row.uses else "text", right=True)
        return plain(wording.moment(row.since), "text2")


class ExplainSheet(Sheet):
    """Asks the server when it opens; the two answers come separately, and closing cancels both."""

    def __init__(self, parent: QWidget, session: Session, ns: str, query: Query) -> None:
        super().__init__(parent, 820)
        self._ns, self._query = ns, query
        self.setAccessibleName(tr("How this query is answered"))
        said = QWidget()
        self._said = QVBoxLayout(said)
        self._said.setContentsMargins(0, 0, 0, 0)
        self._said.setSpacing(theme.px(8))
        self.states = StateStack(said)
        self.states.setMinimumHeight(theme.px(96))
        self._reserve(QSizePolicy.Policy.Ignored)
        self.plan = QPlainTextEdit()
        self.plan.setReadOnly(True)
        self.plan.setProperty("mono", True)
        self.plan.setAccessibleName(tr("The server's own answer"))
        self.plan.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.plan.setMinimumHeight(self.fitting(220, 560))
        self.plan.hide()
        self.model = IndexList()
        self.list = CellTree(row_height=ROW)
        self.list.as_list(self.model, tr("Indexes of {ns}", ns=ns), WIDTHS)
        self.list.setMinimumHeight(self.fitting(HEAD + ROW * 5, 420))
        self.note = words("", "hint", wrap=True)
        self.note.hide()
        self._show_plan = button(tr("Show the server's plan"), self._toggle_plan, "quiet")
        self._show_plan.setEnabled(False)
        self._close = button(tr("Close"), self.accept, "main")
        self._lay_out()
        self._reading = Reading(
            self,
            self.states,
            failed=self._not_explained,
            stopped=self.reject,
            title=tr("This query is not explained"),
            key="explanation",
            stops="at once",
        )
        self.finished.connect(self._reading.drop)
        self._reading.ask(
            lambda _: session.queries.explain(ns, query.filter, query.sort, query.any_version),
            self._explained,
            tr("Asking the server how it answers this query"),
            title=tr("Explaining a query to {ns}", ns=ns),
        )
        tasks.run(
            lambda _: session.indexes.listed(ns), done=self._listed, failed=self._not_listed, owner=self, key="indexes"
        )

    def _lay_out(self) -> None:
        foot = QHBoxLayout()
        foot.setSpacing(theme.px(8))
        foot.addWidget(self._show_plan)
        foot.addStretch(1)
        foot.addWidget(self._close)
        is_low = self._host.height() < theme.px(LOW)
        gap = 0 if is_low else theme.px(8)
        asked = words(self._query.words, "second", wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(*(self.inset,) * 4)
        column.setSpacing(theme.px(4 if is_low else 8))
        column.addWidget(words(tr("How this query is answered"), "title"))
        column.addWidget(asked)
        column.addSpacing(gap)
        column.addWidget(self.states)
        column.addWidget(self.plan, 1)
        column.addSpacing(gap)
        column.addWidget(hair())
        column.addWidget(words(tr("Indexes of {ns}", ns=self._ns), "head"))
        column.addWidget(self.list, 1)
        column.addWidget(self.note)
        column.addSpacing(gap)
        column.addLayout(foot)

    def first(self) -> QWidget | None:
        return self._close

    # --- the explanation

    def _explained(self, found: tuple[Explained, ...]) -> None:
        for each in found:
            self._said.addLayout(self._line(each, several=len({one.ns for one in found}) > 1))
        self._said.addStretch(1)
        self.plan.setPlainText("\n".join(each.plan for each in found))
        self._show_plan.setEnabled(bool(found))
        self.states.setMinimumHeight(0)
        self.states.show_content()
        self._give_up_room()

    def _reserve(self, policy: QSizePolicy.Policy) -> None:
        """Set whether the sentences are as high as the state that may replace them."""
        self.states.state.setSizePolicy(QSizePolicy.Policy.Preferred, policy)

    def _line(self, each: Explained, several: bool) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        row.addWidget(Glyph("warning", "warn") if each.missing else Glyph("check-circle", "acc"))
        where = tr("In {ns}: ", ns=each.ns) if several else ""
        sentence = translated(each.sentence)
        if each.missing:  # lines break between the fields of an index, not within one
            sentence = sentence.replace(each.missing, re.sub(r"(?<=[{:]) | (?=})", NO_BREAK, each.missing))
        said = words(f"{where}{sentence}", wrap=True)
        row.addWidget(said, 1)
        if each.missing:
            call = partial(self._copy_index, each)
            copy = button(tr("Copy the command"), call, "small", icon="copy")
            copy.setToolTip(tr("The line for mongosh that creates the missing index; nothing is created from here"))
            row.addWidget(copy)
        return row

    def _copy_index(self, each: Explained) -> None:
        db, _, name = each.ns.partition(".")
        copying.put(f'db.getSiblingDB("{db}").getCollection("{name}").createIndex({each.missing})')
        messages.copied(self._host, tr("The command is copied"))

    def _not_explained(self, error: BaseException) -> None:
        self._reserve(QSizePolicy.Policy.Preferred)
        self.states.setMinimumHeight(theme.px(120))
        self._reading.show_failed(error)
        self._place()

    def _toggle_plan(self) -> None:
        shown = self.plan.isHidden()
        self.plan.setVisible(shown)
        self._show_plan.setText(tr("Hide the server's plan") if shown else tr("Show the server's plan"))
        self._place()

    # --- the indexes

    def _listed(self, found: Indexes) -> None:
        self.model.fill(found.rows)
        unused = [row.name for row in found.rows if row.uses == 0 and row.name != "_id_"]
        never = tr("Not used so far: {unused}.", unused=", ".join(unused)) if unused else ""
        self._say(translated(found.note) or never)
        self._give_up_room()

    def _give_up_room(self) -> None:
        """Leave no empty room in a window too low for the dialog: else its buttons would be out of sight."""
        if self.is_scrolled:
            if self.model.rows:
                needed = theme.px(HEAD + ROW * len(self.model.rows) + AIR)
                self.list.setFixedHeight(min(self.list.minimumHeight(), needed))
            self._place()

    def _not_listed(self, error: BaseException) -> None:
        self._say(tr("The indexes could not be read. {describe}", describe=tasks.describe(error)[0]))

    def _say(self, noted: str) -> None:
        self.note.setText(noted)
        self.note.setVisible(bool(noted))
