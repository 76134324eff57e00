"""Settings: colours, contrast, language, zone of dates, motion, pages and rows; all but the language work at once."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gui.language import LANGUAGES, tr
from gui.paging import SIZES
from gui.style import boxes, preferences, theme
from gui.style.sheet import Sheet
from gui.style.states import button, hair, words

THEMES = (("system", tr("As the system")), ("light", tr("Light")), ("dark", tr("Dark")))
CONTRASTS = (("system", tr("As the system")), ("normal", tr("Normal")), ("high", tr("High")))
MOTIONS = (("system", tr("As the system")), ("less", tr("Reduced")), ("full", tr("Full")))
HEIGHTS = (("compact", tr("Compact")), ("roomy", tr("Roomy")))
SPEECHES = (("system", tr("As the system")), *LANGUAGES.items())


class Segments(QWidget):
    """A few choices side by side, of which one is selected."""

    def __init__(self, name: str, choices: tuple[tuple[str, str], ...], key: str) -> None:
        super().__init__()
        self._key = key
        self._values = [value for value, _ in choices]
        self.group = QButtonGroup(self)
        self.setAccessibleName(name)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for at, (value, said) in enumerate(choices):
            made = QPushButton(said)
            made.setCheckable(True)
            made.setAutoDefault(False)
            made.setAccessibleName(f"{name}: {said}")
            made.setProperty("segment", "first" if at == 0 else "last" if at == len(choices) - 1 else "mid")
            made.setChecked(value == str(preferences.get(key)))
            self.group.addButton(made, at)
            row.addWidget(made)
        row.addStretch(1)
        self.group.idClicked.connect(self._chosen)

    def _chosen(self, at: int) -> None:
        value: object = self._values[at]
        preferences.put(self._key, int(str(value)) if str(value).isdigit() else value)


def _hinted(field: QWidget, hint: str) -> QVBoxLayout:
    """A field with a hint right below it. As a row of the form, the hint would get two lines of height."""
    made = boxes.column()
    made.setSpacing(theme.px(4))
    made.addWidget(field)
    made.addWidget(words(hint, "hint", wrap=True))
    return made


class SettingsDialog(Sheet):
    """The sheet where a person chooses the settings."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, 520)
        self.setAccessibleName(tr("Settings"))
        self.theme = Segments(tr("Colours"), THEMES, "theme")
        self.contrast = Segments(tr("Contrast"), CONTRASTS, "contrast")
        self.language = Segments(tr("Language"), SPEECHES, "language")
        self.rows = Segments(tr("Documents a page"), tuple((str(n), str(n)) for n in SIZES), "page_size")
        self.heights = Segments(tr("Rows of a list"), HEIGHTS, "rows")
        self.zone = QComboBox()
        self.zone.setAccessibleName(tr("Time zone"))
        self.zone.addItem(tr("As the system ({zone})", zone=preferences.system_zone()), "")
        for name in preferences.zones():
            self.zone.addItem(name, name)
        self.zone.setCurrentIndex(max(0, self.zone.findData(str(preferences.get("zone")))))
        self.zone.setMaxVisibleItems(16)
        self.zone.currentIndexChanged.connect(self._zone_chosen)
        self.motion = Segments(tr("Motion"), MOTIONS, "motion")
        form = QFormLayout()
        form.setHorizontalSpacing(theme.px(16))
        form.setVerticalSpacing(theme.px(12))
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        form.addRow(tr("Colours"), self.theme)
        form.addRow(tr("Contrast"), self.contrast)
        form.addRow(tr("Language"), _hinted(self.language, tr("Taken at the next start.")))
        form.addRow(tr("Time zone"), _hinted(self.zone, tr("Dates are stored in UTC and shown in this zone.")))
        form.addRow(tr("Documents a page"), self.rows)
        form.addRow(tr("Rows of a list"), self.heights)
        form.addRow(tr("Motion"), _hinted(self.motion, tr("Reduced: only progress moves.")))
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(16))
        column.addWidget(words(tr("Settings"), "title"))
        column.addLayout(form)
        column.addWidget(hair())
        row = QHBoxLayout()
        row.addStretch(1)
        self.done_button = button(tr("Close"), self.accept, "main")
        row.addWidget(self.done_button)
        column.addLayout(row)

    def first(self) -> QWidget | None:
        return self.theme.group.checkedButton() or self.done_button

    def _zone_chosen(self, at: int) -> None:
        preferences.put("zone", str(self.zone.itemData(at)))
