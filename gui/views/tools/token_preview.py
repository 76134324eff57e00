"""The chosen token: the fields that finishing or dropping it touches, and the exact write, to read and to copy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal, TypeAlias

from PySide6.QtWidgets import (
    QHeaderView,
    QPlainTextEdit,
    QWidget,
)

from gui import copying, tasks
from gui.language import tr, translated
from gui.style import boxes, states, theme, wording
from gui.style.cells import CellTree
from gui.style.states import button, words
from gui.views.tools.token_list import PreviewModel, touched
from model.foundation.records import PendingToken, Sending
from model.session import Session

What: TypeAlias = Literal["finish", "drop"]
FINISH: What = "finish"
DROP: What = "drop"


class TokenPreview(QWidget):
    """Shows one token at a time; nothing is written here."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._token: PendingToken | None = None
        self._sending: Sending | None = None
        self._what: What = "finish"
        self.model = PreviewModel()
        self.code = QPlainTextEdit()
        self.code.setReadOnly(True)
        self.code.setObjectName("plainjson")
        self.code.setAccessibleName(tr("The write for this token"))
        self.code.setFont(theme.mono(11))
        column = boxes.column(self)
        head = boxes.wrapping(y=6)
        head.addWidget(words(tr("Preview"), "head"))
        self._which = words("", "second")
        self._which.setFont(theme.mono(12))
        head.addWidget(self._which, 1)
        segments, group = boxes.segments(self, (tr("If finished"), tr("If dropped")))
        self.finishing, self.dropping = group.buttons()
        for one, what in ((self.finishing, FINISH), (self.dropping, DROP)):
            one.setFixedHeight(theme.px(26))
            one.clicked.connect(partial(self._look_at, what))
        head.addLayout(segments)
        head.addSpacing(theme.px(8))
        self._copy = button(tr("Copy as PyMongo"), self._copy_code, "small", icon="copy")
        self._copy_shell = button(tr("Copy as mongosh"), self._copy_mongosh, "quiet", "small")
        head.addWidget(self._copy_shell)
        head.addWidget(self._copy)
        column.addLayout(head)
        column.addWidget(states.hair())
        tree = CellTree()
        tree.as_list(self.model, tr("What finishing or dropping this token changes"), (76,))
        tree.setSelectionMode(CellTree.SelectionMode.NoSelection)
        tree.header().setStretchLastSection(False)
        for at in (1, 2, 3):
            tree.header().setSectionResizeMode(at, QHeaderView.ResizeMode.Stretch)
        split = boxes.split(tree, self.code, across=True)
        boxes.share(split, 600, 560)
        column.addWidget(split, 1)

    def show_token(self, token: PendingToken | None) -> None:
        """Show what finishing and dropping a token would do."""
        self._token, self._sending = token, None
        self._copy.setEnabled(False)
        self._copy_shell.setEnabled(False)
        tasks.drop(self, "preview")  # of the former token
        if token is None:
            self.model.fill([])
            self.code.clear()
            self._which.clear()
            return
        self._which.setText(wording.plain(token.id))
        session, drop = self._session, self._what == "drop"

        def preview(_: tasks.Progress) -> tuple[PendingToken, Mapping[str, str], Sending, Sending]:
            fields = session.catalogue.info(token.ns).fields
            finish = session.tokens.preview(token)
            return token, fields, session.tokens.preview(token, drop=True) if drop else finish, finish

        tasks.run(preview, done=self._previewed, failed=self._no_preview, owner=self, key="preview")

    def _look_at(self, what: What, _: bool = False) -> None:
        self._what = what
        self.show_token(self._token)

    def _previewed(self, found: tuple[PendingToken, Mapping[str, str], Sending, Sending]) -> None:
        token, fields, sending, finish = found
        self._sending = sending
        self.model.fill(touched(token, fields, '"$push"' in finish.pymongo))
        self.code.setPlainText(f"{sending.pymongo}\n\n# {translated(sending.explanation)}")
        self._copy.setEnabled(True)
        self._copy_shell.setEnabled(True)

    def _no_preview(self, error: BaseException) -> None:
        self.model.fill(touched(self._token, {}, keeps=False) if self._token is not None else [])
        self.code.setPlainText(tasks.describe(error)[0])

    def _copy_code(self) -> None:
        if self._sending is not None:
            copying.put(self._sending.pymongo)

    def _copy_mongosh(self) -> None:
        if self._sending is not None:
            copying.put(self._sending.mongosh)
