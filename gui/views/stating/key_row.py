"""One key of a profile in the sheet: its name, its text, and its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QComboBox, QCompleter, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gui.language import tr, translated
from gui.style import theme
from gui.style.states import DropDown, words

if TYPE_CHECKING:
    from model.session.layout_statements import ProfileKey


class Choice(DropDown):
    """A drop-down that also accepts typed text; the wheel scrolls the form and changes no choice."""

    def __init__(self, editable: bool = True) -> None:
        super().__init__()
        self.setEditable(editable)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.setMaxVisibleItems(14)
        self.setProperty("mono", editable)
        if (completer := self.completer()) is not None:
            completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
            completer.setFilterMode(Qt.MatchFlag.MatchContains)
            completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)

    def offer(self, texts: Sequence[str]) -> None:
        """Offer these texts; the present text stays."""
        typed = self.currentText()
        self.blockSignals(True)
        self.clear()
        self.addItems(list(texts))
        self.setCurrentText(typed)
        self.setEditText(typed)
        self.blockSignals(False)

    def showPopup(self) -> None:
        # The list may be wider than the field: it has names with their meanings.
        wide = self.view().sizeHintForColumn(0) + theme.px(24)
        self.view().setMinimumWidth(max(self.width(), wide))
        super().showPopup()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def minimumSizeHint(self) -> QSize:
        return QSize(theme.px(90), super().minimumSizeHint().height())


class KeyRow(QWidget):
    """``changed`` is emitted whenever a person changes the text."""

    changed = Signal()

    def __init__(self, key: ProfileKey, text: str, default: str, origin: str, label_width: int) -> None:
        super().__init__()
        self.key, self._first, self._default, self._origin = key, text, default, origin
        self._trouble = ""
        self.editor: QComboBox | QLineEdit
        if key.kind in ("span", "names", "value"):
            self.editor = line = QLineEdit(text)
            line.setProperty("small", True)
            line.textChanged.connect(self._edited)
        else:
            self.editor = choice = Choice(editable=key.kind != "choice")
            choice.offer(list(dict.fromkeys(("", *key.choices))) if key.choices else [])
            choice.setCurrentText(text)
            choice.currentTextChanged.connect(self._edited)
            edit = choice.lineEdit()
            line = edit if edit is not None else QLineEdit()
        line.setProperty("mono", True)
        line.setPlaceholderText(
            translated(key.empty) or default or (tr("as in {example}", example=key.example) if key.example else "")
        )
        self.editor.setAccessibleName(key.name)
        self.editor.setAccessibleDescription(translated(key.about))
        name = words(key.name)
        name.setFont(theme.mono(12))
        name.setBuddy(self.editor)
        name.setFixedWidth(label_width)
        first = QHBoxLayout()
        first.setSpacing(theme.px(12))
        first.addWidget(name)
        first.addWidget(self.editor, 1)
        self.about = words(translated(key.about), "hint", wrap=True)
        self.state = words("", "hint")
        second = QHBoxLayout()
        second.setSpacing(theme.px(8))
        second.addSpacing(label_width + theme.px(12))
        second.addWidget(self.about, 1)
        second.addWidget(self.state, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, theme.px(10))
        column.setSpacing(theme.px(2))
        column.addLayout(first)
        column.addLayout(second)
        self._say()

    @property
    def text(self) -> str:
        """The present text."""
        return self.editor.currentText() if isinstance(self.editor, QComboBox) else self.editor.text()

    @property
    def told(self) -> bool:
        """Whether a person changed the text."""
        return self.text.strip() != self._first

    def put(self, text: str) -> None:
        """Type a text, as a person would."""
        if isinstance(self.editor, QComboBox):
            self.editor.setCurrentText(text)
            self.editor.setEditText(text)
        else:
            self.editor.setText(text)

    def offer(self, texts: Sequence[str]) -> None:
        """Offer these names."""
        if isinstance(self.editor, Choice):
            self.editor.offer(texts)

    def show_trouble(self, trouble: str) -> None:
        """Show why the text is invalid instead of the key's meaning; "" if it is valid."""
        if trouble != self._trouble:
            self._trouble = trouble
            self.about.setText(translated(f"{self.key.name} {trouble}" if trouble else self.key.about))
            self.editor.setAccessibleDescription(self.about.text())
            self.about.setProperty("role", "error" if trouble else "hint")
            self.about.style().unpolish(self.about)
            self.about.style().polish(self.about)

    def _edited(self, _: str) -> None:
        self._say()
        self.changed.emit()

    def _say(self) -> None:
        text = self.text.strip()
        said = (
            tr("stated") if self.told else "" if not text else tr("default") if text == self._default else self._origin
        )
        self.state.setText(said)
        self.state.setProperty("role", "strong" if self.told else "hint")
        self.state.style().unpolish(self.state)
        self.state.style().polish(self.state)
