"""The drafts: unsaved edits stored on this computer, each tied to the version it began from."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtWidgets import QWidget

from gui import messages, subscriptions, tasks
from gui.language import tr
from gui.paging import RowsModel, refill
from gui.parts.reading import Reading
from gui.style import boxes, states, wording
from gui.style.cells import Cell, CellTree, Index, plain, value
from gui.style.states import StateStack, button
from gui.subscriptions import DraftNews
from model.diff import changed_fields
from model.foundation.records import Draft
from model.session import Session

WIDTHS, NARROW = (220, 240, 100, 120, 160), (120, 140, 60, 80, 140)
FROM, SOURCE = 2, 5  # dispensable: an edit continues from there by itself, and most drafts belong to open sources


class DraftsModel(RowsModel[tuple[Draft, int]]):
    """Drafts, newest first, each with the number of fields it changes."""

    headers = (tr("Document"), tr("Collection"), tr("From"), tr("Changes"), tr("Kept"), tr("Source"))

    def key(self, row: tuple[Draft, int]) -> Hashable:
        return row[0].source, row[0].ns, row[0].id

    def cell(self, index: Index) -> Cell:
        draft, changes = self.rows[index.row()]
        match index.column():
            case 0:
                return value(wording.plain(draft.id), middle=True, indent=8)
            case 1:
                return plain(draft.ns, "text2", middle=True)
            case 2:
                return value(wording.version(draft.base_v))
            case 3:
                return plain(wording.many(changes, "field"))
            case 4:
                return plain(wording.moment(draft.kept_at))
        return plain(draft.source, "text2", middle=True)


class DraftsPanel(QWidget):
    """The list of drafts, with buttons to open and to discard them."""

    open_asked = Signal(object)  # Draft

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        boxes.ground(self, "surface")
        self.model = DraftsModel()
        self.list = CellTree(row_height=28)
        self.list.as_list(self.model, tr("Drafts"))
        self.list.narrow_below(900, NARROW, WIDTHS, (FROM,))
        self.list.activated.connect(self._activated)
        self.list.selectionModel().currentRowChanged.connect(self._chosen)
        column = boxes.column(self)
        row, _ = boxes.titled(
            tr("Drafts"), tr("Edits that are not saved. They stay when a tab or the window is closed.")
        )
        self.discard = button(tr("Discard…"), self._ask, "small", icon="trash")
        row.addWidget(self.discard)
        self.open = button(tr("Go on editing"), self._open, "small")
        row.addWidget(self.open)
        column.addLayout(row)
        column.addWidget(states.hair())
        self.states = StateStack(self.list)
        self.states.turned.connect(self._chosen)
        column.addWidget(self.states, 1)
        self.reading = Reading(
            self, self.states, has=lambda: bool(self.model.rows), title=tr("The drafts could not be read")
        )
        self.setFocusProxy(self.list)
        self._chosen()
        self.refresh()

    @property
    def draft(self) -> Draft | None:
        """The chosen draft; None if no list is shown."""
        row = None if self.states.is_unread else self.model.at(self.list.currentIndex())
        return None if row is None else row[0]

    def refresh(self) -> None:
        """Read the drafts again."""
        self.reading.ask(partial(_changed, self._session), self._shown, tr("Reading the drafts"))

    def _shown(self, rows: list[tuple[Draft, int]]) -> None:
        of_others = any(draft.source != self._session.source for draft, _ in rows)
        if of_others:
            self.list.setColumnHidden(SOURCE, False)
        self.list.narrow_below(900, NARROW, WIDTHS, (FROM,) if of_others else (FROM, SOURCE))
        refill(self.list, self.model, rows)
        if not rows:
            self.states.show_empty(tr("There are no drafts"), tr("An edit that you do not save at once is kept here."))
            return
        self.states.show_content()
        if not self.list.selectionModel().hasSelection():
            self.list.setCurrentIndex(self.model.index(0, 0))

    def _chosen(self, *_: object) -> None:
        draft = self.draft
        here = draft is not None and draft.source == self._session.source
        self.open.setEnabled(here)
        self.open.setToolTip(
            wording.tip(
                "" if here or draft is None else tr("It belongs to {source}; open that first.", source=draft.source)
            )
        )
        self.discard.setEnabled(draft is not None)

    def _activated(self, _: QModelIndex) -> None:
        self._open()

    def _open(self) -> None:
        if self.draft is not None and self.open.isEnabled():
            self.open_asked.emit(self.draft)

    def _ask(self) -> None:
        draft = self.draft
        if draft is not None:
            messages.confirm(
                self,
                tr("Discard your edit of {id}?", id=wording.plain(draft.id)),
                tr("What you changed is forgotten. The document in the database is not touched."),
                tr("Discard 1 draft"),
                self._discard,
                danger=True,
                icon="trash",
            )

    def _discard(self) -> None:
        draft = self.draft
        if draft is None:
            return
        session = self._session
        tasks.run(
            lambda _: session.drafts.discard(draft.source, draft.ns, draft.id),
            done=partial(self._gone, draft),
            failed=partial(messages.fail, self),
            owner=self,
        )

    def _gone(self, draft: Draft, _: object) -> None:
        subscriptions.signals.drafts.emit(DraftNews(draft.source, draft.ns, draft.id, discarded=True))
        self.refresh()


def _changed(session: Session, progress: tasks.Progress) -> list[tuple[Draft, int]]:
    """The drafts, each with the number of fields it changes."""
    rows = []
    for at, draft in enumerate(session.drafts.all()):
        progress(at, None)
        rows.append((draft, changed_fields(draft.base_content, draft.content)))
    return rows
