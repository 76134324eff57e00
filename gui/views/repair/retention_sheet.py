"""The sheet for the rule by which earlier versions stay."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QFormLayout, QLineEdit, QVBoxLayout, QWidget

from gui.language import tr, translated
from gui.style import boxes, theme
from gui.style.sheet import Sheet
from gui.style.states import button, words
from model.errors import Refused

NUMBER = 90  # u


class RetentionSheet(Sheet):
    """Asks which versions stay; ``agreed`` carries the rule."""

    agreed = Signal(object)

    def __init__(self, parent: QWidget, place: str) -> None:
        """``place`` names the documents that are meant."""
        super().__init__(parent, 560)
        title = tr("Remove earlier versions")
        self.setAccessibleName(title)
        self.keep, self.younger, self.hold = QLineEdit(), QLineEdit(), QLineEdit()
        self.daily = QCheckBox(tr("Beyond that, keep the newest of each day"))
        self.keep.setPlaceholderText(tr("20"))
        self.younger.setPlaceholderText(tr("30d"))
        self.hold.setPlaceholderText(tr('{ status: "disputed" }'))
        self.hold.setProperty("mono", True)
        self.trouble = words("", "error", wrap=True)
        self.show_plan = button(tr("Show what would go"), self._agree, "main")
        form = QFormLayout()
        form.setHorizontalSpacing(theme.px(16))
        form.setVerticalSpacing(theme.px(12))
        for name, field in (
            (tr("Keep the newest"), self.keep),
            (tr("Keep what is younger than"), self.younger),
            (tr("Keep what matches"), self.hold),
        ):
            field.textChanged.connect(self._fit)
            field.returnPressed.connect(self._agree)
            boxes.add_field(form, name, field)
        for short in (self.keep, self.younger):
            short.setMaximumWidth(theme.px(NUMBER))
        form.insertRow(2, "", self.daily)
        self.daily.toggled.connect(self._fit)
        foot = boxes.row(x=0, y=0)
        foot.addWidget(words(tr("Nothing has been written yet."), "hint"))
        foot.addStretch(1)
        foot.addWidget(button(tr("Cancel"), self.reject))
        foot.addWidget(self.show_plan)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(12))
        column.addWidget(words(title, "title"))
        about = tr("{place}: a version stays if any of this keeps it. The current one always stays.", place=place)
        column.addWidget(words(about, "second", wrap=True))
        column.addLayout(form)
        column.addWidget(self.trouble)
        column.addLayout(foot)
        self._fit()

    def first(self) -> QWidget | None:
        return self.keep

    def _fit(self) -> None:
        self.trouble.hide()
        told = self.keep.text().strip() or self.younger.text().strip() or self.daily.isChecked()
        self.show_plan.setEnabled(bool(told))

    def _agree(self) -> None:
        from model.session.batch_writing import typed_rule

        if not self.show_plan.isEnabled():
            return
        keep, younger, hold = (each.text().strip() for each in (self.keep, self.younger, self.hold))
        try:
            rule = typed_rule(keep, younger, self.daily.isChecked(), hold)
        except Refused as error:
            self.trouble.setText(translated(str(error)))
            self.trouble.show()
            self._place()
            return
        self.accept()
        self.agreed.emit(rule)
