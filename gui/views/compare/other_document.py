"""Asks for a document to compare with: from any open connection, any collection, any version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gui import tasks
from gui.language import tr
from gui.parts.completing_line import CompletingLine
from gui.parts.completion import Completion, Offer
from gui.parts.document_side import DocumentSide
from gui.style import boxes, theme, wording
from gui.style.sheet import Sheet
from gui.style.states import button, words
from model import text

if TYPE_CHECKING:
    from model.session import Session


class OtherDocument(Sheet):
    """Starts at the place of the first document. ``chosen`` carries a side that was found."""

    chosen = Signal(object)  # DocumentSide

    def __init__(self, parent: QWidget, there: DocumentSide, places: Mapping[Session, Sequence[str]]) -> None:
        """Offer the connections in ``places``, each with its collections."""
        super().__init__(parent, 560)
        self._places, self._there = places, there
        self._sessions = list(places)
        title = tr("Compare {name} with another document", name=there.name)
        self.setAccessibleName(title)
        self.connection = QComboBox()
        self.connection.setProperty("tall", True)
        self.connection.addItems([text.plain(session.name) for session in self._sessions])
        self.connection.setCurrentIndex(self._sessions.index(there.session) if there.session in self._sessions else 0)
        self.collection = CompletingLine(self._names)
        self.collection.setText(there.ns)
        self.id = QLineEdit(wording.typed(there.id))
        self.id.setProperty("mono", True)
        self.version = QLineEdit()
        self.version.setProperty("mono", True)
        self.version.setPlaceholderText(tr("left empty: the current one"))
        form = QFormLayout()
        form.setHorizontalSpacing(theme.px(12))
        form.setVerticalSpacing(theme.px(8))
        for label, field in (
            (tr("Connection"), self.connection),
            (tr("Collection"), self.collection),
            (tr("Document"), self.id),
            (tr("Version"), self.version),
        ):
            boxes.add_field(form, label, field)
        for line in (self.collection, self.id, self.version):
            line.textChanged.connect(self._fit)
            line.returnPressed.connect(self._look)
        self.connection.currentIndexChanged.connect(self._fit)
        self.trouble = words("", "error", wrap=True)
        self.itself = words(tr("This is the same document: name another one, or a version."), "hint", wrap=True)
        self.compare = button(tr("Compare"), self._look, "main", icon="git-diff", token="accText")
        foot = QHBoxLayout()
        foot.setSpacing(theme.px(8))
        foot.addStretch(1)
        foot.addWidget(button(tr("Cancel"), self.reject))
        foot.addWidget(self.compare)
        column = QVBoxLayout(self)
        column.setContentsMargins(*(self.inset,) * 4)
        column.setSpacing(theme.px(8))
        column.addWidget(words(title, "title", wrap=True))
        column.addWidget(words(there.place, "second", wrap=True))
        column.addSpacing(theme.px(4))
        column.addLayout(form)
        column.addWidget(self.itself)
        column.addWidget(self.trouble)
        column.addLayout(foot)
        self._fit()

    def first(self) -> QWidget | None:
        return self.connection if len(self._sessions) > 1 else self.id

    @property
    def _session(self) -> Session:
        return self._sessions[self.connection.currentIndex()]

    def _names(self, typed: str, at: int, asked: bool) -> Offer | None:
        """The collections that contain the typed words; all if the person asked."""
        names = [name for name in self._places[self._session] if asked or (typed.lower() in name.lower() != typed)]
        if not names or names == [typed]:
            return None
        return Offer(0, len(typed), tuple(Completion(name, "", name) for name in names))

    def _fit(self) -> None:
        self.trouble.setText("")
        place = self._session, self.collection.text().strip(), self.id.text().strip()
        there = self._there.session, self._there.ns, wording.typed(self._there.id)
        is_itself = place == there and self._there.v is None and not self.version.text().strip()
        self.itself.setVisible(is_itself)
        self.trouble.setVisible(not is_itself)
        self.compare.setEnabled(all(place) and not is_itself)
        self.compare.setAccessibleDescription(self.itself.text() if is_itself else "")

    def _look(self) -> None:
        """Look the document up; the sheet closes when it is found."""
        if not self.compare.isEnabled():
            return
        session, ns = self._session, self.collection.text().strip()
        typed, numbered = self.id.text().strip(), self.version.text().strip()

        def find(_: tasks.Progress) -> DocumentSide:
            id = session.documents.find_id(ns, typed)
            v = session.catalogue.reading.find_version(ns, id, numbered) if numbered else None
            return DocumentSide(session, ns, id, v)

        self.compare.setEnabled(False)
        tasks.run(
            find,
            done=self._found,
            failed=self._refused,
            owner=self,
            key="look",
            title=tr("Looking for {typed} in {ns}", typed=typed, ns=ns),
        )

    def _found(self, side: DocumentSide) -> None:
        self.accept()
        self.chosen.emit(side)

    def _refused(self, error: BaseException) -> None:
        self._fit()
        self.trouble.setText(tasks.describe(error)[0])
        self.setFixedHeight(self.sizeHint().height())
