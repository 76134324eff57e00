"""The result of a statement: what contradicts it, three documents as they would be read, the profile's lines."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QPlainTextEdit, QVBoxLayout, QWidget

from gui import copying
from gui.language import tr, translated
from gui.paging import RowsModel
from gui.parts.fields.edit_changes import Change, EditChanges, around
from gui.style import boxes, preferences, theme, wording
from gui.style.cells import Cell, CellTree, Index, Span, plain, value
from gui.style.states import Glyph, StateStack, button, hair, words
from model import text

if TYPE_CHECKING:
    from model.session.layout_statements import Trial, TriedDocument

MOST = 3  # changes of one difference that are listed; others are only counted
BESIDE, BELOW = 16, 24  # u; where it begins beside the keys, and below them
LINES = 6  # lines of the profile shown at once
LONGEST = 4000  # characters of a text in which differences are looked for


class TrialRow(Struct, frozen=True):
    """A document, the title of one of its differences, a change in it, or a note on unlisted ones."""

    at: tuple[int, ...]
    document: TriedDocument | None = None
    said: str = ""
    change: Change | None = None


def rows_of(trial: Trial) -> list[TrialRow]:
    """All rows; takes time for large documents."""
    return [row for at, document in enumerate(trial.documents) for row in _document(at, document)]


def _document(at: int, document: TriedDocument) -> Iterator[TrialRow]:
    yield TrialRow((at,), document)
    both = document.first is not None and document.last is not None
    for n, (comparison, name) in enumerate(
        ((document.first, tr("First difference")), (document.last, tr("Last difference")))
    ):
        if comparison is None:
            continue
        a, b = wording.version(comparison.a.v), wording.version(comparison.b.v)
        pair = f", {a} → {b}" if a and b else ""
        yield TrialRow((at, n), said=f"{(name if both else tr('The only difference'))}{pair}")
        changes = EditChanges(comparison.a.content or b"", comparison.b.content or b"").all
        for i, change in enumerate(changes[:MOST]):
            yield TrialRow((at, n, i), change=change)
        if len(changes) > MOST:
            yield TrialRow(
                (at, n, MOST),
                said=tr("and {more_changes}", more_changes=wording.many(len(changes) - MOST, "more change")),
            )
        elif not changes:
            yield TrialRow((at, n, MOST), said=tr("nothing differs"))


class TrialModel(RowsModel[TrialRow]):
    """The rows of a trial."""

    headers = (tr("Document and field"), tr("Before"), tr("After"))

    def __init__(self) -> None:
        super().__init__()
        self._further = 0  # u; extra indentation of the rows

    def move_in(self, further: int) -> None:
        """Indent the rows further."""
        self._further = further
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, 0))

    def key(self, row: TrialRow) -> Hashable:
        return row.at

    def cell(self, index: Index) -> Cell:
        row, column = self.rows[index.row()], index.column()
        if row.document is not None:
            return self._of_document(row.document, column)
        if row.change is not None:
            return self._of_change(row.change, column)
        if column:
            return Cell()
        return plain(row.said, "text2" if len(row.at) == 2 else "text3", size=12, indent=8 + self._further)

    def _of_document(self, document: TriedDocument, column: int) -> Cell:
        if column == 0:
            spans = (Span(wording.plain(document.id), weight=600),)
            return Cell(spans=spans, mono=True, size=12, middle=True, indent=8 + self._further)
        if column == 1:
            marks = document.outline.marks if document.outline is not None else None
            return Cell(marks=marks, accessible=found_words(document))
        if document.trouble:
            said = translated(document.trouble)
            return Cell(spans=(Span(said, "err"),), size=12, tip=said)
        return plain(found_words(document), size=12, tip=found_words(document))

    def _of_change(self, change: Change, column: int) -> Cell:
        if column == 0:
            said = text.path_text(change.path) or tr("order of the fields")
            indent = 20 + self._further
            return Cell(change=change.op, spans=(Span(said),), mono=True, size=12, middle=True, indent=indent)
        one, other = (change.old, change.new) if column == 1 else (change.new, change.old)
        if one is None:
            return Cell(hatch=change.op in ("add", "remove"), accessible=tr("absent"))
        shown = text.shown(one, preferences.zone(), LONGEST)
        if other is None or other.type != one.type or one.is_container:
            return value(shown[:200])
        return value(around(shown, text.shown(other, preferences.zone(), LONGEST)))


def found_words(document: TriedDocument) -> str:
    """``6 versions``, ``6 versions, 2 missing``."""
    said = wording.many(document.versions, "version")
    said += tr(", {missing} missing", missing=wording.count(document.missing)) if document.missing else ""
    damaged = document.outline is not None and document.outline.severity == "error"
    return f"{said}: {translated(document.outline.health)}" if damaged and document.outline else said


class TrialPane(QWidget):
    """The right half of the sheet."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMinimumWidth(theme.px(300))
        self.where = words("", "second", wrap=True)
        self.model = TrialModel()
        self.table = CellTree(row_height=24)
        self.table.as_list(self.model, tr("Three documents as they would be read"), (190, 170))
        self.table.header().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.states = StateStack(self.table)
        self.against = boxes.ground(QWidget(), "lostline")
        self._against = QVBoxLayout(self.against)
        self._against.setContentsMargins(theme.px(BESIDE), theme.px(8), theme.px(16), theme.px(8))
        self._against.setSpacing(theme.px(4))
        self.toml = QPlainTextEdit()
        self.toml.setReadOnly(True)
        self.toml.setObjectName("code")
        self.toml.setFont(theme.mono(11))
        self.toml.setTabChangesFocus(True)
        self.toml.setAccessibleName(tr("The lines of a profile"))
        head = QVBoxLayout()
        head.setContentsMargins(theme.px(BESIDE), theme.px(10), theme.px(24), theme.px(8))
        head.setSpacing(theme.px(2))
        self.title = words(tr("Three documents, read this way"), "head")
        head.addWidget(self.title)
        head.addWidget(self.where)
        foot = QHBoxLayout()
        foot.setContentsMargins(theme.px(BESIDE), theme.px(6), theme.px(24), theme.px(4))
        foot.addWidget(words(tr("In a profile"), "head"))
        foot.addStretch(1)
        self.copy = button(tr("Copy"), self._copy, "small", icon="copy")
        foot.addWidget(self.copy)
        lines = QHBoxLayout()
        lines.setContentsMargins(theme.px(BESIDE), 0, theme.px(24), theme.px(8))
        lines.addWidget(self.toml)
        column = boxes.column(self)
        column.addLayout(head)
        column.addWidget(self.against)
        column.addWidget(self.states, 1)
        column.addWidget(hair())
        column.addLayout(foot)
        column.addLayout(lines)
        self._parts = (head, self._against, foot, lines)
        self.against.hide()
        self._fit()
        theme.signals.changed.connect(self._fit)

    def _fit(self) -> None:
        line = self.toml.fontMetrics().lineSpacing()
        self.toml.setFixedHeight(LINES * line + theme.px(24))

    def stack(self, is_low: bool) -> None:
        """Align with the keys above, or, beside them, with the edge of its own half."""
        edge = BELOW if is_low else BESIDE
        for part in self._parts:
            margins = part.contentsMargins()
            margins.setLeft(theme.px(edge))
            part.setContentsMargins(margins)
        self.table.setObjectName("inset" if is_low else "")
        header = self.table.header()
        header.style().unpolish(header)
        header.style().polish(header)
        self.model.move_in(edge - BESIDE)

    def show_trial(self, trial: Trial, rows: Sequence[TrialRow]) -> None:
        """Show the result of a statement."""
        self.where.setText(
            f"{trial.info.layout.capitalize()}: {translated(trial.info.where) or translated(trial.info.about)}."
        )
        self.toml.setPlainText(trial.toml.rstrip("\n"))
        self._say_against(trial.against)
        self.model.fill(rows)
        if rows:
            self.states.show_content()
        elif trial.against:
            self.states.show_empty(
                tr("No document can be read this way"), tr("The reasons are listed above."), icon="warning"
            )
        else:
            self.states.show_empty(tr("There is no document yet"), tr("A preview needs documents to read."))

    def show_trouble(self, sentence: str) -> None:
        """Say why there is no preview."""
        self._say_against(())
        self.where.setText("")
        self.toml.clear()
        self.model.fill([])
        self.states.show_empty(tr("There is nothing to preview"), sentence, icon="warning")

    def show_failed(self, error: BaseException, again: Callable[[], object]) -> None:
        """Say why the documents could not be read."""
        self._say_against(())
        self.states.show_failed(error, again, tr("The documents could not be read"))

    def _say_against(self, against: Sequence[str]) -> None:
        sentences = [translated(each) for each in against]
        while (item := self._against.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for sentence in sentences:
            line = QWidget()
            row = QHBoxLayout(line)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(theme.px(8))
            row.addWidget(Glyph("warning", "warn"), 0, Qt.AlignmentFlag.AlignTop)
            row.addWidget(words(sentence, "second", wrap=True), 1)
            self._against.addWidget(line)
        self.against.setAccessibleName(" ".join(sentences))
        self.against.setVisible(bool(sentences))

    def _copy(self) -> None:
        copying.put(self.toml.toPlainText() + "\n")

    def sizeHint(self) -> QSize:
        return QSize(theme.px(560), theme.px(460))
