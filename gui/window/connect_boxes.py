"""The fields of the connection dialog: text, secrets, choices, files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QFileDialog, QFormLayout, QHBoxLayout, QLineEdit, QWidget

from gui.language import tr
from gui.style import theme
from gui.style.states import button


def form_of(owner: QWidget) -> QFormLayout:
    """A form that fills its owner."""
    form = QFormLayout(owner)
    form.setContentsMargins(0, 0, 0, 0)
    form.setHorizontalSpacing(theme.px(16))
    form.setVerticalSpacing(theme.px(8))
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    return form


def align(forms: Iterable[QFormLayout]) -> None:
    """Align the fields of several forms, behind the widest of their labels.

    A form by itself limits a label's height to 7/4 of its size hint, and places it too high beside a higher field.
    """
    role = QFormLayout.ItemRole
    rows = [(form, row) for form in forms for row in range(form.rowCount())]
    items = [(form.itemAt(row, role.LabelRole), form.itemAt(row, role.FieldRole)) for form, row in rows]
    labels = [
        (label, box.sizeHint().height() if box is not None and not box.hasHeightForWidth() else 0)
        for item, box in items
        if item is not None and (label := item.widget()) is not None
    ]
    wide = max(label.sizeHint().width() for label, _ in labels)
    for label, high in labels:
        label.setMinimumSize(wide, high)


def in_lines(box: QCheckBox, width: int) -> str:
    """The text of a tick box, broken into lines of a width in pixels; Qt itself does not wrap it."""
    box.ensurePolished()
    lines, metrics = [""], box.fontMetrics()
    for word in box.text().split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and metrics.horizontalAdvance(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return "\n".join(lines)


def field(example: str, name: str) -> QLineEdit:
    """A field that shows an example while it is empty."""
    made = QLineEdit()
    made.setPlaceholderText(example)
    made.setAccessibleName(name)
    return made


def secret_field(name: str, example: str = "") -> QLineEdit:
    """A field that shows dots."""
    made = field(example, name)
    made.setEchoMode(QLineEdit.EchoMode.Password)
    return made


def choices(name: str, given: Sequence[tuple[str, str]]) -> QComboBox:
    """A list of values to choose from, each with its text."""
    made = QComboBox()
    made.setProperty("tall", True)
    made.setAccessibleName(name)
    for value, said in given:
        made.addItem(said, value)
    return made


def file_box(field: QLineEdit, title: str) -> QWidget:
    """A field for a file, with a button beside it that chooses one."""
    box = QWidget()
    row = QHBoxLayout(box)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(theme.px(8))
    row.addWidget(field, 1)

    def choose() -> None:
        path, _ = QFileDialog.getOpenFileName(box, title)
        if path:
            field.setText(path)

    pick = button(tr("Choose…"), choose)
    pick.setAccessibleName(title)
    row.addWidget(pick)
    box.setFocusProxy(field)
    return box


def change_text(box: QLineEdit, text: str) -> None:
    """Set a field's text if it differs; a person who is typing keeps the cursor's place."""
    if box.text() != text:
        blocker = QSignalBlocker(box)
        box.setText(text)
        blocker.unblock()
