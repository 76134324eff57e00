"""The menu of a change in a list: first its version and its document, then what the list adds."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QWidget

from gui import copying
from gui.language import tr
from gui.style import wording
from gui.views.activity.activity_words import compare_said
from model.session.through_time import Activity


class ChangeMenu(QMenu):
    """What a person can do with one change."""

    def __init__(
        self,
        row: Activity,
        compare: Callable[[Activity], object],
        document: Callable[[Activity], object],
        activity: Callable[[Activity], object],
        parent: QWidget,
    ) -> None:
        """``document`` opens the change's document, ``activity`` asks for all its changes."""
        super().__init__(parent)
        self._row = row
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setToolTipsVisible(True)
        name = wording.item(wording.plain(row.id))
        self.add(compare_said(row), lambda: compare(row))
        self.add(tr("Open {name}", name=name), lambda: document(row))
        self.add(tr("Activity of {name}", name=name), lambda: activity(row))
        self.addSeparator()

    def add(self, said: str, call: Callable[[], object], why: str = "") -> None:
        """Add a line; it is disabled if ``why`` gives a reason."""
        action = self.addAction(said, lambda: call())
        action.setEnabled(not why)
        action.setToolTip(wording.tip(why or said))  # without a tooltip Qt uses the line, as markup

    def add_copying(self) -> None:
        """Add the line that copies the document's id."""
        self.add(tr("Copy the id"), lambda: copying.put(wording.copied(self._row.id)))
